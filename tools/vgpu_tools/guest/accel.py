# SPDX-License-Identifier: GPL-2.0-or-later
"""Chooses the accelerator of a guest: KVM if a trial guest boots on KVM, else TCG. Also puts the rate
of the TSC on the command line of a TCG guest's kernel."""

import os
import threading
from collections.abc import Callable
from pathlib import Path

from vgpu_tools.base.errors import Failure
from vgpu_tools.base.paths import CACHE
from vgpu_tools.guest import tsc

CHOICES = {
    # Not "-cpu max", which takes a quarter more CPU time. ERMS is off because TCG executes REP MOVSB
    # byte by byte; TCG lacks the other three.
    "tcg": ["-accel", "tcg,thread=multi", "-cpu", "Haswell-noTSX,-erms,-pcid,-invpcid,-tsc-deadline"],
    "kvm": ["-accel", "kvm", "-cpu", "host"],
}
KVM = Path("/dev/kvm")
BOOT = Path("/proc/sys/kernel/random/boot_id")


def arguments(name: str) -> list[str]:
    """Return QEMU's arguments that select an accelerator and a CPU model. `name` is a key of CHOICES."""
    return CHOICES[name]


def kernel_arguments(name: str) -> list[str]:
    """Return the arguments of the guest's kernel: on TCG, the rate of the host's TSC, because a TCG
    guest reads this TSC."""
    # Without this argument, the kernel measures the rate. On a busy host the result may be wrong: the
    # guest's time runs several times too fast.
    khz = tsc.khz() if name == "tcg" else 0
    return [f"tsc_early_khz={khz}"] if khz else []


def check(name: str) -> None:
    """Check `name`, the value of VGPU_ACCEL. Raises Failure with status 2 if there is no such
    accelerator. An empty name is valid, and means that VGPU_ACCEL is not set."""
    if name and name not in CHOICES:
        raise Failure(f"VGPU_ACCEL={name}: there are {', '.join(CHOICES)}", status=2)


def choose(comes_up: Callable[[str], bool]) -> str:
    """Return the name of the accelerator that works on this host. `comes_up("kvm")` returns whether a trial guest boots
    on KVM."""
    if not os.access(KVM, os.R_OK | os.W_OK):
        return "tcg"
    # The cache keeps the result until the host's next boot.
    known, boot = CACHE / "accelerator", BOOT.read_text().strip()
    if known.exists():
        seen, name = known.read_text().split()
        if seen == boot:
            return name
    # A guest may fail to boot on KVM although /dev/kvm can be opened.
    name = "kvm" if comes_up("kvm") else "tcg"
    new = known.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
    new.write_text(f"{boot} {name}\n")
    new.replace(known)
    return name
