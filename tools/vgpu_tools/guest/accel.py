# SPDX-License-Identifier: GPL-2.0-or-later
"""Which accelerator runs the guest: KVM where it is seen to work, else TCG; and at what rate its clock ticks."""

import ctypes
import mmap
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path

from vgpu_tools.base.errors import Failure
from vgpu_tools.base.paths import CACHE

CHOICES = {
    # A plain model: "max" costs TCG a quarter more CPU time, and ERMS makes the kernel copy by single bytes in it. The
    # other features are those that TCG does not have.
    "tcg": ["-accel", "tcg,thread=multi", "-cpu", "Haswell-noTSX,-erms,-pcid,-invpcid,-tsc-deadline"],
    "kvm": ["-accel", "kvm", "-cpu", "host"],
}
KVM = Path("/dev/kvm")
RDTSC = bytes.fromhex("0f31 48c1e220 4809d0 c3")  # rdtsc; shl $32, %rdx; or %rdx, %rax; ret
RATE_SECONDS = 0.02
BOOT = Path("/proc/sys/kernel/random/boot_id")


def arguments(name: str) -> list[str]:
    """QEMU's arguments for an accelerator."""
    return CHOICES[name]


def kernel_arguments(name: str) -> list[str]:
    """What the guest's kernel shall be told.

    It would measure the rate of its TSC while others keep the host busy: its time then runs several times too fast,
    and every time limit in it is as much too short. With TCG that counter is the host's.
    """
    khz = tsc_khz() if name == "tcg" else 0
    return [f"tsc_early_khz={khz}"] if khz else []


def tsc_khz() -> int:
    """The rate of the host's time stamp counter; 0 if it has none, or does not let us read it."""
    if not (read := _tsc_reader()):
        return 0
    start, first = sample(read)
    time.sleep(RATE_SECONDS)
    end, last = sample(read)
    return (last - first) * 1_000_000 // (end - start)


def tsc_sample() -> tuple[int, int]:
    """CLOCK_MONOTONIC in nanoseconds and the host's time stamp counter, at one moment; (0, 0) if there is none."""
    read = _tsc_reader()
    return sample(read) if read else (0, 0)


def _tsc_reader() -> Callable[[], int] | None:
    """What reads the time stamp counter."""
    if platform.machine() != "x86_64":
        return None
    try:
        page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    except OSError:
        return None
    page.write(RDTSC)
    read = ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
    read.page = page  # lives as long as what runs in it
    return read


def sample(read: Callable[[], int]) -> tuple[int, int]:
    """CLOCK_MONOTONIC in nanoseconds and what `read` says, at one moment: of the attempt that was interrupted least."""

    def once() -> tuple[int, int, int]:
        """How long it took, time and counter."""
        before = time.monotonic_ns()
        ticks = read()
        after = time.monotonic_ns()
        return after - before, (before + after) // 2, ticks

    return min(once() for _ in range(32))[1:]


def choose(comes_up: Callable[[str], bool]) -> str:
    """The accelerator to use; VGPU_ACCEL= overrides.

    A /dev/kvm that opens says little: it is tried once in the life of the host's kernel with `comes_up`, which boots
    a guest on the accelerator it is given. What came of it is kept in the cache.
    """
    named = os.environ.get("VGPU_ACCEL", "")
    if named and named not in CHOICES:
        raise Failure(f"VGPU_ACCEL={named}: there are {', '.join(CHOICES)}", status=2)
    if named:
        return named
    if not os.access(KVM, os.R_OK | os.W_OK):
        return "tcg"
    known, boot = CACHE / "accelerator", BOOT.read_text().strip()
    if known.exists():
        seen, name = known.read_text().split()
        if seen == boot:
            return name
    name = "kvm" if comes_up("kvm") else "tcg"
    new = known.with_suffix(f".{os.getpid()}")
    new.write_text(f"{boot} {name}\n")
    new.replace(known)
    return name
