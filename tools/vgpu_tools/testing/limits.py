# SPDX-License-Identifier: GPL-2.0-or-later
"""Scales time limits to this host's speed.

A `Limit` is given in seconds on the reference machine, a quiet machine with two cores. On this host, the limit is
multiplied by the host's slowdown, `Speed.scale()`.
"""

import hashlib
import subprocess
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from vgpu_tools.base.environment import clean_environment
from vgpu_tools.base.errors import Failure
from vgpu_tools.base.process import CPUS, how_it_ended
from vgpu_tools.build import qemu
from vgpu_tools.testing import budget
from vgpu_tools.testing.children import Children

MOST = 4.0  # largest factor of a limit; bounded, so that a hang is still reported
STUCK_SECONDS = 120  # limit of the emulated work, which takes one second on the reference machine
ROM_BYTES = 65536
EXIT_PORT = 0x501  # I/O port of QEMU's isa-debug-exit
EXIT_STATUS = 1  # QEMU's exit status after a write of 0 to EXIT_PORT: (0 << 1) | 1
ROUNDS = 450_000_000
NATIVE_BYTES = 16 << 20
NATIVE_ROUNDS = 24


def _rom() -> bytes:
    """Return a firmware that counts down with a memory access in each iteration, then ends QEMU.
    The code runs in 16-bit real mode."""
    code = bytes.fromhex("31c0 8ed8 66b9") + ROUNDS.to_bytes(4, "little")  # xor ax,ax; mov ds,ax; mov ecx,ROUNDS
    code += bytes.fromhex("66 01 0e 0005")  # 1: add [0x500],ecx
    code += bytes.fromhex("66 49 75 f7")  # dec ecx; jnz 1b
    code += b"\xba" + EXIT_PORT.to_bytes(2, "little") + bytes.fromhex("30c0 ee f4 ebfd")  # mov dx; xor al; out; hlt
    reset = bytes.fromhex("ea 0000 00f0")  # jmp 0xf000:0, the first byte of the image
    return (code.ljust(ROM_BYTES - 16, b"\x90") + reset).ljust(ROM_BYTES, b"\x90")


def _emulated(children: Children) -> float:
    """Run the firmware of _rom() on TCG, and return the seconds that this takes."""
    with tempfile.NamedTemporaryFile(suffix=".rom") as rom:
        rom.write(_rom())
        rom.flush()
        options = "-nodefaults -no-user-config -display none -machine q35 -accel tcg -m 16M"
        exit_device = f"isa-debug-exit,iobase={EXIT_PORT:#x},iosize=4"
        command: list[str | Path] = [qemu.with_firmware(), *options.split(), "-bios", rom.name, "-device", exit_device]
        start = time.monotonic()
        with children.start(command, subprocess.DEVNULL, subprocess.PIPE, clean_environment()) as process:
            try:
                _, said = process.communicate(timeout=STUCK_SECONDS)
            except subprocess.TimeoutExpired:
                raise Failure(f"QEMU did not count to {ROUNDS} within {STUCK_SECONDS} s") from None
        if process.returncode != EXIT_STATUS:
            why = said.decode(errors="replace").strip()
            raise Failure(f"QEMU could not count: {how_it_ended(process.returncode)}: {why}")
        return time.monotonic() - start


def _native() -> float:
    """Do the native work of measure(): hash a fixed amount of data. Return the seconds that this takes."""
    data = bytes(NATIVE_BYTES)
    start = time.monotonic()
    for _ in range(NATIVE_ROUNDS):
        hashlib.blake2b(data)
    return time.monotonic() - start


def measure(children: Children) -> tuple[float, float]:
    """Return the seconds of the emulated (TCG) and of the native work. First the emulated work runs on all cores at the
    same time, then the native work does. For each, the slowest core counts."""
    with ThreadPoolExecutor(CPUS) as pool:
        emulated = max(pool.map(lambda _: _emulated(children), range(CPUS)))
        native = max(pool.map(lambda _: _native(), range(CPUS)))
    return emulated, native


def scale_of(emulated: float, native: float) -> float:
    """Return a host's slowdown compared with the reference machine: a factor from 1 (not slower) to MOST. The arguments
    are the host's results of `measure()`, in seconds."""
    reference = budget.load().host
    return min(MOST, max(1.0, emulated / reference.emulated, native / reference.native))


class Speed:
    """The speed of this host as one run of tests has measured it."""

    def __init__(self, children: Children, scale: float = 0.0) -> None:
        """A measurement starts QEMU through `children`, so that the end of the run also ends this
        QEMU. `scale` is the known result of an earlier measurement; 0: not measured."""
        self._children = children
        self._scale = scale
        self._lock = threading.Lock()

    def scale(self, again: bool = False) -> float:
        """Return this host's slowdown compared with the reference machine: a factor from 1 (not
        slower) to MOST. The first call measures the speed. With `again`, a later call repeats
        the measurement, and the larger factor counts."""
        with self._lock:
            if not self._scale or again:
                self._scale = max(self._scale, scale_of(*measure(self._children)))
            return self._scale


class Limit:
    """A time limit, counted from the creation of the object or from the last `renew()`."""

    def __init__(self, seconds: float, speed: Speed) -> None:
        """`seconds` is the limit on the reference machine; `speed` gives the factor for this
        host."""
        self.seconds = seconds
        self.speed = speed
        self.renew()

    def renew(self) -> None:
        """Start the limit again: time that has passed no longer counts."""
        self.start = time.monotonic()

    def reached(self) -> bool:
        """Return whether the limit has passed. Before the method returns True, it measures the
        speed again, because the host may have become slower."""
        passed = time.monotonic() - self.start
        if passed < self.seconds * self.speed.scale():
            return False
        return passed >= self.seconds * self.speed.scale(again=True)

    def __str__(self) -> str:
        """Return the limit as text for a message: the seconds on the reference machine and, if
        this host is slower, the host's factor."""
        scale = self.speed.scale()
        return f"{self.seconds:g} s" + (f" x {scale:.1f} (host speed)" if scale > 1 else "")
