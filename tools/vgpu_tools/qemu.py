# SPDX-License-Identifier: GPL-2.0-or-later
"""QEMU with our device: configured and built in the cache, its binary put into the checkout's build folder."""

import os
import shlex
import shutil
import sys
from pathlib import Path

from vgpu_tools import fingerprint, sources
from vgpu_tools.errors import Failure
from vgpu_tools.paths import BUILD, CACHE, CONFIGS, INCLUDE, QEMU_DEVICE
from vgpu_tools.steps import Job, Step, jobs

BINARY = "qemu-system-x86_64"
QTEST = "tests/qtest/vgpu-kfd/vgpu-kfd-test"
VARIANTS = ("release", "sanitizers")


def flags(variant: str) -> list[str]:
    """Arguments of configure for a variant: configs/qemu.flags, and its own file where there is one."""
    words: list[str] = []
    for name in ("qemu.flags", f"qemu-{variant}.flags"):
        file = CONFIGS / name
        if file.exists():
            lines = (line.split("#", 1)[0] for line in file.read_text().splitlines())
            words += [word for line in lines for word in line.split()]
    return words


def folder(variant: str) -> Path:
    """Where the finished binaries of a variant are."""
    return BUILD / ("qemu" if variant == "release" else f"qemu-{variant}")


def binary(variant: str = "release") -> Path:
    """The emulator."""
    return folder(variant) / BINARY


def qtest(variant: str = "release") -> Path:
    """Our device's qtest program."""
    return folder(variant) / Path(QTEST).name


def with_firmware(variant: str = "release") -> Path:
    """A script called like the emulator that starts it with our firmware, for tests that give only a path."""
    script = folder(variant) / "with-firmware" / BINARY
    folders = " ".join(f"-L {shlex.quote(str(path))}" for path in sources.firmware()[1])
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text(f'#!/bin/sh\nexec {shlex.quote(str(binary(variant)))} {folders} "$@"\n')
    script.chmod(0o755)
    return script


def tree(variant: str = "release") -> Path:
    """The build tree in the cache: one for each source and configuration."""
    return CACHE / f"qemu-{variant}-{fingerprint.of(sources.qemu().step.key, flags(variant))}"


def build(variant: str = "release") -> Step:
    """The step that builds QEMU and our qtest program."""
    if variant not in VARIANTS:
        raise Failure(f"no QEMU variant '{variant}': there are {', '.join(VARIANTS)}", status=2)
    source = sources.qemu()
    work = tree(variant)

    def make(job: Job) -> None:
        source.hook(job, QEMU_DEVICE)
        work.mkdir(parents=True, exist_ok=True)
        ninja = shutil.which("ninja", path=os.path.dirname(sys.executable)) or "ninja"
        if not (work / "build.ninja").exists():
            job.run(
                [source.tree / "configure", f"--python={sys.executable}", f"--ninja={ninja}", *flags(variant)],
                cwd=work,
                env={"PATH": f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"},
            )
        job.run([ninja, jobs(), BINARY, QTEST], cwd=work)
        folder(variant).mkdir(parents=True, exist_ok=True)
        for name, target in ((BINARY, binary(variant)), (QTEST, qtest(variant))):
            new = target.with_name(target.name + ".new")
            shutil.copy2(work / name, new)
            new.replace(target)

    return Step(
        f"qemu-{variant}",
        "QEMU" if variant == "release" else f"QEMU ({variant})",
        make,
        fingerprint.of(flags(variant), QEMU_DEVICE, INCLUDE),
        [binary(variant), qtest(variant)],
        [source.step],
    )
