# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes seed inputs of QEMU's generic fuzzer. An input is a list of register writes, which make the device execute a
packet.
"""

import struct
from collections.abc import Iterable
from pathlib import Path

SEPARATOR = b"FUZZ"
OP_WRITE, LONG, REGISTERS = 3, 2, 1  # operation, access size, index of the register window

# Registers, by their dword numbers in the register window (docs/hardware.md).
MM_INDEX, MM_DATA = 0x0, 0x1
HUB = 0x1AB80
SDMA = 0x1260
QUEUES = 0x58
IH_RB_CNTL, IH_RB_BASE, IH_CAM_CNTL, IH_CAM_ACK = 0x1120, 0x1121, 0x118A, 0x1144

CP_HQD, CP_INTERRUPTS, GRBM_GFX_CNTL, RLC_CP_SCHEDULERS = 0x3245, 0x3085, 0x2022, 0xECAA

FB = 0x8000 << 24  # address of VRAM in VMID 0 after a reset
# Offsets in VRAM.
RING, TABLES, DATA, IH_RING, MQD, LIST = 0x10000, 0x20000, 0x30000, 0x40000, 0x50000, 0x60000

Write = tuple[int, int]  # register, value


def _vram(at: int, dwords: Iterable[int]) -> list[Write]:
    """Return the register writes that store dwords in VRAM, from the offset `at` on."""
    # Store the packets and page tables by register writes, so that the fuzzer mutates them, too.
    writes = []
    for i, dword in enumerate(dwords):
        writes += [(MM_INDEX, 1 << 31 | at + 4 * i), (MM_DATA, dword)]
    return writes


def _queue(number: int, vmid: int, base: int, dwords: list[int], retries: int = 0) -> list[Write]:
    """Return the register writes that put packets into a ring and run them on a queue of SDMA0. The
    result also has `retries` writes to IH_CAM_ACK, each of which acknowledges a retry fault."""
    first = SDMA + 0x80 + QUEUES * number
    enable = 1 | 8 << 1 | 1 << 12 | 1 << 23 | vmid << 24
    return [
        *_vram(RING, dwords),
        (first + 1, base >> 8 & 0xFFFFFFFF),
        (first + 2, base >> 40),
        (first + 8, base + 0x800 >> 32),
        (first + 9, base + 0x800 & 0xFFFFFFFF),
        (SDMA + 0x1C, 1),
        (first, enable),
        (first + 5, 4 * len(dwords)),
        *[(IH_CAM_ACK, 0)] * retries,
        (first, 0),
    ]


def _space(vmid: int, pages: list[int], leaf: int) -> list[Write]:
    """Return the register writes that make an address space: 4 KiB pages from address 0 on, and a 2
    MiB page at address 2 MiB. `pages` and `leaf` are offsets in VRAM; 0 in `pages` is an invalid
    page."""
    flags = 1 | 1 << 5 | 1 << 6
    tables = [TABLES + 0x1000 * i for i in range(4)]
    return [
        *_vram(tables[0], [tables[1] | 1, 0]),
        *_vram(tables[1], [tables[2] | 1, 9 << 27]),
        *_vram(tables[2], [tables[3] | 1, 1 << 24, leaf | flags, 0]),
        *_vram(tables[3], [word for page in pages for word in (page | flags if page else 0, 0)]),
        (HUB + 0xAB + 2 * vmid, tables[0] | 1),
        (HUB + 0xEB + 2 * vmid, 0xFFFFFFFF),
        (HUB + 0xEC + 2 * vmid, 0xF),
        (HUB + 0x40 + vmid, 0x7FFE85),
        (HUB + 0x63, 0x7C0000 | 1 << vmid),
    ]


INTERRUPTS = [
    (IH_RB_BASE, FB + IH_RING >> 8 & 0xFFFFFFFF),
    (IH_RB_CNTL, 1 | 6 << 1 | 1 << 16 | 1 << 17 | 4 << 28),
    (IH_CAM_CNTL, 1 << 16 | 0xF),
]


def _packets(base: int) -> dict[str, list[int]]:
    """Return SDMA packets by kind, with data at the address `base`."""
    low, high = base & 0xFFFFFFFF, base >> 32
    there = (low + 0x123, high)
    here = (low, high)
    return {
        "nop": [2 << 16, 0, 0],
        "copy": [1, 99, 0, *here, *there],
        "broadcast": [1 | 1 << 27, 99, 0, *here, *there, low + 0x801, high],
        "rect": [1 | 4 << 8 | 2 << 29, *here, 1, 15 << 13, 63, *there, 0, 7 << 13, 63, 3 | 2 << 16, 1],
        "write": [2, *here, 1, 1, 2],
        "indirect": [4, low - DATA + RING + 0x100 & 0xFFFFFFFF, high, 8, 0, 0],
        "fence": [5, *here, 1],
        "trap": [6, 1],
        "poll": [8 | 3 << 28 | 1 << 31, *here, 1, 0xFFFFFFFF, 2 << 16],
        "register": [8 | 1 << 8, 4 * HUB, *here],
        "condition": [9, *here, 1, 2, 0, 0],
        "add": [10 | 47 << 25, *here, 1, 0, 0, 0, 0],
        "compare": [10 | 1 << 16 | 40 << 25, *here, 1, 0, 0, 0, 1],
        "fill": [11 | 2 << 30, *here, 1, 99],
        "entries": [12, *here, 0x61, 0, 0x1000, 0, 0x1000, 0, 7],
        "time": [13 | 2 << 8, *here],
        "hub": [14 | 0xF << 28, HUB + 0x63, 0x7C0002],
        "skip": [15, 1, 0],
    }


def _hqd(ring: int) -> dict[int, int]:
    """Return the values of the HQD registers of a privileged compute queue of VMID 0 with a ring of
    512 dwords. The keys are register numbers, relative to CP_HQD."""
    return {
        0x8: FB + ring >> 8 & 0xFFFFFFFF,
        0x9: FB + ring >> 40,
        0xB: FB + ring + 0x800 & 0xFFFFFFFF,
        0xC: FB + ring + 0x800 >> 32,
        0x11: 1 << 30 | 8,
    }


def _compute(dwords: list[int], aql: bool = False) -> list[Write]:
    """Return the register writes that put packets into a ring and run them on a queue of MEC 1.
    The queue is also the KIQ."""
    return [
        *_vram(RING, dwords),
        (CP_INTERRUPTS, 0xFFFFFFFF),
        (RLC_CP_SCHEDULERS, 0xA0),
        (GRBM_GFX_CNTL, 1 << 2),
        *[(CP_HQD + register, value) for register, value in _hqd(RING).items()],
        (CP_HQD + 0x35, int(aql)),
        (CP_HQD + 0x2, 1),
        (CP_HQD + 0x36, len(dwords)),
        (CP_HQD + 0x18, 1),
    ]


def _pm4(opcode: int, *dwords: int) -> list[int]:
    return [0xC0000002 | len(dwords) - 1 << 16 | opcode << 8, *dwords]


def _pm4_packets() -> dict[str, list[int]]:
    """Return PM4 packets by kind, as lists of dwords. If a packet needs other packets before it, its
    list begins with SET_RESOURCES, or with SET_RESOURCES and MAP_QUEUES."""
    here, there = (DATA, FB >> 32), (DATA + 0x100, FB >> 32)
    resources = _pm4(0xA0, 0xFF00, 0xFFFFFFFF, 0xFFFFFFFF, 0, 0, 0, 0)
    map_queue = _pm4(0xA2, 1 << 29 | 1 << 13, 0x1000, MQD, FB >> 32, *here)
    return {
        "nop": _pm4(0x10, 0, 0),
        "write": _pm4(0x37, 5 << 8, *here, 1, 2),
        "register": _pm4(0x37, 0, HUB + 0x63, 0, 0x7C0002),
        "copy": _pm4(0x40, 1 | 5 << 8 | 1 << 16, *here, *there),
        "release": _pm4(0x49, 0x514, 2 << 29 | 2 << 24, *here, 1, 2, 3),
        "wait": _pm4(0x3C, 1 << 4 | 3, *here, 0, 1, 4),
        "indirect": _pm4(0x3F, LIST, FB >> 32, 32),
        "event": _pm4(0x46, 4 << 8),
        "acquire": _pm4(0x58, 0, 0, 0, 0, 0, 0),
        "shader": _pm4(0x76, 0x200, 1, 2),
        "dispatch": _pm4(0x15, 1, 1, 1, 1),
        "map": resources + map_queue + _pm4(0xA4, 3 << 30, 0, *there, 1, 2),
        "unmap": resources + map_queue + _pm4(0xA3, 2 << 4 | 1 << 29, 0, 0, 0, 0),
        "flush": _pm4(0x98, 1 << 4 | 5 << 5),
        "list": resources + _pm4(0xA5, LIST, FB >> 32, 28 | 1 << 23) + _pm4(0xA3, 2 << 4, 0, 0, 0, 0),
    }


def _mapped() -> list[Write]:
    """Return the register writes that store an MQD and a run list. The packets of _pm4_packets() refer to
    both. The run list has one process with one queue."""
    list_of_all = [
        *_pm4(0xA1, 5 | 1 << 25, TABLES | 1, *[0] * 18),
        *_pm4(0xA2, 1 << 29 | 1 << 4, 0x1000, MQD, FB >> 32, DATA, FB >> 32),
    ]
    image = [write for register, value in _hqd(DATA).items() for write in _vram(MQD + 4 * (128 + register), [value])]
    return [*image, *_vram(LIST, list_of_all)]


def _aql_packets() -> dict[str, list[int]]:
    """Return AQL packets by kind, each with a completion signal."""
    signal = [DATA, FB >> 32]
    return {
        "kernel": [2, *[0] * 13, *signal],
        "and": [3, 0, *signal, *[0] * 10, *signal],
        "or": [5, 0, *signal, *signal, *[0] * 8, *signal],
        "value": [2 << 16, 0, *signal, 1, 0, 1, 0, 1, *[0] * 5, *signal],
        "pm4": [1 << 16, *_pm4(0x3F, LIST, FB >> 32, 8), *[0] * 9, *signal],
    }


def inputs() -> dict[str, bytes]:
    """Return all seed inputs of the fuzzer, by name."""
    found: dict[str, list[Write]] = {}
    for name, dwords in _packets(FB + DATA).items():
        found[f"vmid0-{name}"] = [*INTERRUPTS, *_queue(0, 0, FB + RING, dwords)]
    # In VMID 1, page 0 is the ring, pages 1 and 4 are data, and pages 2 and 3 are invalid.
    for name, dwords in _packets(0x1F80).items():
        found[f"vmid1-{name}"] = [
            *INTERRUPTS,
            *_space(1, [RING, DATA, 0, 0, DATA], 0x200000),
            *_queue(2, 1, 0, dwords, retries=2),
        ]
    for name, dwords in _pm4_packets().items():
        found[f"pm4-{name}"] = [*INTERRUPTS, *_mapped(), *_compute(dwords)]
    for name, dwords in _aql_packets().items():
        found[f"aql-{name}"] = [*INTERRUPTS, *_mapped(), *_compute(dwords, aql=True)]
    return {name: encode(writes) for name, writes in found.items()}


def encode(writes: Iterable[Write]) -> bytes:
    """Return an input in the format of QEMU's generic fuzzer: an operation for each write, with SEPARATOR between the
    operations."""
    return SEPARATOR.join(
        struct.pack("<BBBxxIQ", OP_WRITE, LONG, REGISTERS, 4 * register, value) for register, value in writes
    )


def write(folder: Path) -> None:
    """Write the seed inputs into `folder`. Other files in the folder stay."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in inputs().items():
        (folder / name).write_bytes(content)
