# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads the environment variables that a user may set. Only this module reads these variables from
os.environ; other modules call read() or get an Environment as an argument."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Environment:
    """The values of the environment variables that a user may set. An unset variable is "" or
    None; only TERM has the default "linux"."""

    accelerator: str = ""  # VGPU_ACCEL: tcg, kvm
    late_frames: str = ""  # VGPU_FRAME_DELAY: kinds of frames to delay (letters of guest/agent.py)
    snapshots: Path | None = None  # VGPU_SNAPSHOTS: folder of the snapshots
    kunit_seed: str = ""  # VGPU_KUNIT_SEED: seed of the driver's KUnit tests
    delays: str = ""  # VGPU_TEST_DELAYS: seed of random delays in programs and device threads
    seed: str = ""  # VGPU_TEST_SEED: seed of the random numbers of guest tests
    terminal: str = "linux"  # TERM
    cache: Path | None = None  # XDG_CACHE_HOME
    qemu_source: str = ""  # QEMU_SRC: folder of the user's source tree
    kernel_source: str = ""  # KERNEL_SRC: folder of the user's source tree
    mirror: str = ""  # DEBIAN_MIRROR: URL of a mirror of Debian
    security_mirror: str = ""  # DEBIAN_SECURITY_MIRROR: URL of a mirror of its security updates


NOTHING_SET = Environment()


def read(variables: Mapping[str, str] | None = None) -> Environment:
    """Return the values in `variables`, or in this process's environment if `variables` is None."""
    known = os.environ if variables is None else variables

    def path(name: str) -> Path | None:
        return Path(known[name]) if known.get(name) else None

    return Environment(
        accelerator=known.get("VGPU_ACCEL", ""),
        late_frames=known.get("VGPU_FRAME_DELAY", ""),
        snapshots=path("VGPU_SNAPSHOTS"),
        kunit_seed=known.get("VGPU_KUNIT_SEED", ""),
        delays=known.get("VGPU_TEST_DELAYS", ""),
        seed=known.get("VGPU_TEST_SEED", ""),
        terminal=known.get("TERM", "linux"),
        cache=path("XDG_CACHE_HOME"),
        qemu_source=known.get("QEMU_SRC", ""),
        kernel_source=known.get("KERNEL_SRC", ""),
        mirror=known.get("DEBIAN_MIRROR", ""),
        security_mirror=known.get("DEBIAN_SECURITY_MIRROR", ""),
    )


def clean_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment for a child process: this process's variables, with LC_ALL=C and
    `extra` added. The variables in `outer`, which an outer make or the user's shell may have set,
    are left out."""
    outer = {"MAKEFLAGS", "MAKELEVEL", "MFLAGS", "MAKEOVERRIDES", "CDPATH", "PYTHONPATH", "O", "V", "W", "C"}
    variables = {name: value for name, value in os.environ.items() if name not in outer}
    return variables | {"LC_ALL": "C"} | dict(extra or {})


def inherited_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment for a child process that gets all variables of this process, also those
    that clean_environment() leaves out. A variable in `extra` replaces this process's value."""
    return {**os.environ, **(extra or {})}


def path_with(folder: Path) -> str:
    """Return a search path (PATH) for a child process. Programs in `folder` take precedence over
    programs in this process's PATH."""
    return f"{folder}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
