# SPDX-License-Identifier: GPL-2.0-or-later
"""The accelerator of a guest: KVM if a guest boots on it, else TCG; and the TSC rate on the kernel's command line."""

import os
import threading
from collections.abc import Callable
from pathlib import Path

from vgpu_tools.base.errors import Failure
from vgpu_tools.base.paths import CACHE
from vgpu_tools.guest import tsc

CHOICES = {
    # Not "max", which costs TCG a quarter more CPU time. With ERMS the kernel copies by REP MOVSB, which TCG executes
    # byte by byte. TCG lacks the other features.
    "tcg": ["-accel", "tcg,thread=multi", "-cpu", "Haswell-noTSX,-erms,-pcid,-invpcid,-tsc-deadline"],
    "kvm": ["-accel", "kvm", "-cpu", "host"],
}
KVM = Path("/dev/kvm")
BOOT = Path("/proc/sys/kernel/random/boot_id")


def arguments(name: str) -> list[str]:
    """QEMU's arguments for an accelerator."""
    return CHOICES[name]


def kernel_arguments(name: str) -> list[str]:
    """Arguments of the guest's kernel: with TCG the rate of the TSC.

    A TCG guest reads the host's counter. A kernel that measures its rate on a busy host gets a wrong rate: time in
    the guest then runs several times too fast, and every timeout in the guest is too short.
    """
    khz = tsc.khz() if name == "tcg" else 0
    return [f"tsc_early_khz={khz}"] if khz else []


def check(name: str) -> None:
    """Refuse a name in VGPU_ACCEL that is no accelerator."""
    if name and name not in CHOICES:
        raise Failure(f"VGPU_ACCEL={name}: there are {', '.join(CHOICES)}", status=2)


def choose(comes_up: Callable[[str], bool]) -> str:
    """The accelerator that works on this host.

    A /dev/kvm that opens may still not work. Once after each boot of the host, `comes_up` boots a guest on the
    accelerator of its argument and returns whether the guest came up. The cache keeps the result.
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
