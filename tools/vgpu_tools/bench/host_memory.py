# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads the memory of the host: how much is available, and how much a QEMU uses for itself and for its RAM blocks."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from vgpu_tools.base.errors import Failure

KIB = 1024
MEMINFO = Path("/proc/meminfo")
CGROUP = Path("/sys/fs/cgroup")
RAM_BLOCKS = "info ramblock"  # command of QEMU's monitor, for parse_blocks()
BLOCK = re.compile(
    r"^\s*(?P<name>\S.*?)\s+\d+ \w+\s+0x[0-9a-f]+ 0x[0-9a-f]+ 0x(?P<size>[0-9a-f]+) 0x(?P<host>[0-9a-f]+)\s+r[ow]\s*$"
)
MAPPING = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) ([-rwxsp]{4}) ")
USED = re.compile(r"^(?:Pss|SwapPss):\s+(\d+) kB")


@dataclass(frozen=True)
class Block:
    """A RAM block of QEMU: memory of the guest, such as its RAM or a GPU's VRAM, at addresses of QEMU's process."""

    name: str
    start: int
    end: int


@dataclass(frozen=True)
class Used:
    """Memory of a QEMU in bytes (PSS: pages that processes share count in part). `own` is memory outside of all RAM
    blocks, `vram` the memory of the GPUs' VRAM, and `blocks` that of all RAM blocks. `own` is also without the code
    that TCG generates (mappings that are writable and executable), because it grows with all code that the guest
    runs."""

    own: int
    vram: int
    blocks: int


def parse_blocks(text: str) -> list[Block]:
    """Return the RAM blocks in the output of the monitor's command RAM_BLOCKS. Raises Failure if there are none."""
    found = []
    for line in text.splitlines():
        if match := BLOCK.match(line):
            start = int(match["host"], 16)
            found.append(Block(match["name"], start, start + int(match["size"], 16)))
    if not found:
        raise Failure(f"curves: QEMU's monitor lists no RAM block: {text[:200]!r}", status=1)
    return found


def parse_used(maps: Iterable[str], blocks: Sequence[Block]) -> Used:
    """Return the memory that a process uses. `maps` are the lines of its /proc/PID/smaps."""
    own = vram = all_blocks = 0
    inside: list[Block] = []
    generated = False
    for line in maps:
        if match := MAPPING.match(line):
            start, end = int(match[1], 16), int(match[2], 16)
            inside = [block for block in blocks if start < block.end and end > block.start]
            generated = match[3].startswith("rwx")
        elif match := USED.match(line):
            size = int(match[1]) * KIB
            own += 0 if inside or generated else size
            all_blocks += size if inside else 0
            vram += size if any(block.name.endswith("vgpu-kfd.vram") for block in inside) else 0
    return Used(own, vram, all_blocks)


def used(pid: int, blocks: Sequence[Block]) -> Used:
    """Return the memory that the QEMU with this process id uses."""
    with Path(f"/proc/{pid}/smaps").open() as maps:
        return parse_used(maps, blocks)


def available(meminfo: Path = MEMINFO, cgroup: Path = CGROUP) -> int:
    """Return how many bytes guests may use: what the host has left, at most what the control group allows."""
    match = re.search(r"^MemAvailable:\s+(\d+) kB", meminfo.read_text(), re.M)
    if not match:
        raise Failure(f"curves: {meminfo} has no MemAvailable", status=1)
    left = int(match[1]) * KIB
    try:
        most, now = ((cgroup / name).read_text().strip() for name in ("memory.max", "memory.current"))
    except OSError:  # the root of the control groups has no limit, and no such files
        return left
    return left if most == "max" else max(0, min(left, int(most) - int(now)))
