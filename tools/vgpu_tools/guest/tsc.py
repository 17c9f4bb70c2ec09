# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads the host's time stamp counter. khz() returns the counter's rate. now() reads the counter and CLOCK_MONOTONIC
at the same moment."""

import ctypes
import mmap
import platform
import time
from collections.abc import Callable

RDTSC = bytes.fromhex("0f31 48c1e220 4809d0 c3")  # rdtsc; shl $32, %rdx; or %rdx, %rax; ret
RATE_SECONDS = 0.02


class _Counter:
    """Reads the host's time stamp counter, by machine code in an executable page."""

    def __init__(self) -> None:
        """Raises OSError if the host refuses executable anonymous memory."""
        self._page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        self._page.write(RDTSC)
        place = ctypes.addressof(ctypes.c_char.from_buffer(self._page))
        self.read: Callable[[], int] = ctypes.CFUNCTYPE(ctypes.c_uint64)(place)  # valid while _page exists


def khz() -> int:
    """Return the rate of the host's time stamp counter in kHz; 0 if the host has no such counter or
    the counter cannot be read."""
    if not (counter := _counter()):
        return 0
    start, first = sample(counter.read)
    time.sleep(RATE_SECONDS)
    end, last = sample(counter.read)
    return (last - first) * 1_000_000 // (end - start)


def now() -> tuple[int, int]:
    """Return CLOCK_MONOTONIC in nanoseconds and the host's time stamp counter, taken at one moment; (0, 0) if there is
    no counter."""
    counter = _counter()
    return sample(counter.read) if counter else (0, 0)


def _counter() -> _Counter | None:
    if platform.machine() != "x86_64":
        return None
    try:
        return _Counter()
    except OSError:
        return None


def sample(read: Callable[[], int]) -> tuple[int, int]:
    """Return CLOCK_MONOTONIC in nanoseconds and the result of `read`, taken as close together as
    possible: the fastest of 32 attempts counts."""

    def once() -> tuple[int, int, int]:
        before = time.monotonic_ns()
        ticks = read()
        after = time.monotonic_ns()
        return after - before, (before + after) // 2, ticks

    return min(once() for _ in range(32))[1:]
