# SPDX-License-Identifier: GPL-2.0-or-later
"""Which accelerator runs the guest: KVM where it is seen to work, else TCG; and the rate that its kernel is told."""

import os
import threading
from collections.abc import Callable
from pathlib import Path

from vgpu_tools.base.errors import Failure
from vgpu_tools.base.paths import CACHE
from vgpu_tools.guest import tsc

CHOICES = {
    # A plain model: "max" costs TCG a quarter more CPU time, and ERMS makes the kernel copy by single bytes in it. The
    # other features are those that TCG does not have.
    "tcg": ["-accel", "tcg,thread=multi", "-cpu", "Haswell-noTSX,-erms,-pcid,-invpcid,-tsc-deadline"],
    "kvm": ["-accel", "kvm", "-cpu", "host"],
}
KVM = Path("/dev/kvm")
BOOT = Path("/proc/sys/kernel/random/boot_id")


def arguments(name: str) -> list[str]:
    """QEMU's arguments for an accelerator."""
    return CHOICES[name]


def kernel_arguments(name: str) -> list[str]:
    """What the guest's kernel shall be told.

    It would measure the rate of its TSC while others keep the host busy: its time then runs several times too fast,
    and every time limit in it is as much too short. With TCG that counter is the host's.
    """
    khz = tsc.khz() if name == "tcg" else 0
    return [f"tsc_early_khz={khz}"] if khz else []


def check(name: str) -> None:
    """Refuse an accelerator that VGPU_ACCEL= names and that does not exist."""
    if name and name not in CHOICES:
        raise Failure(f"VGPU_ACCEL={name}: there are {', '.join(CHOICES)}", status=2)


def choose(comes_up: Callable[[str], bool]) -> str:
    """The accelerator that works on this host.

    A /dev/kvm that opens says little: it is tried once in the life of the host's kernel with `comes_up`, which boots
    a guest on the accelerator it is given. What came of it is kept in the cache.
    """
    if not os.access(KVM, os.R_OK | os.W_OK):
        return "tcg"
    known, boot = CACHE / "accelerator", BOOT.read_text().strip()
    if known.exists():
        seen, name = known.read_text().split()
        if seen == boot:
            return name
    name = "kvm" if comes_up("kvm") else "tcg"
    new = known.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
    new.write_text(f"{boot} {name}\n")
    new.replace(known)
    return name
