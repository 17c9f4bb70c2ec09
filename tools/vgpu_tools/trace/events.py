# SPDX-License-Identifier: GPL-2.0-or-later
"""What a recording's lines say, and one axis of time for both sides.

The host stamps the device's events with its time of day, in microseconds. The guest's tracepoints carry ticks of its
time stamp counter. That counter runs at the host's rate, so only an offset is unknown, and causes bound it: nothing
reaches the driver before the device raised it, and nothing that the driver writes reaches the device before.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

DEVICE_LINE = re.compile(r"(\d+)@(\d+)\.(\d{6}):(vgpu_\w+) (\S+) ?(.*)")
GUEST_LINE = re.compile(r"\s*(\S.*)-(\d+)\s+(?:\(\s*([\d-]+)\)\s+)?\[\d+\]\s+\S+\s+(\d+): (\w+): ?(.*)")
WORD = re.compile(r"(\w+)=(\S+)")
SECTION = re.compile(r"^== (\w+)\n", re.MULTILINE)
STAMP_NS = 1000  # what a stamp of the device leaves out
GPU_TICK_NS = 10
NEAR_NS = 5_000_000  # what lies between a fault's line and its interrupt entry, when others keep the host busy


@dataclass
class Event:
    """One line of either side. `who` is a device's name or a task's."""

    at: int  # ns since 1970 (device) or ticks (guest); later ns for both
    thread: int
    who: str
    name: str
    text: str
    words: dict[str, str] = field(default_factory=dict)
    process: int = 0  # of a task; its thread's number if ftrace does not know

    def number(self, key: str) -> int:
        """A word's value."""
        return int(self.words[key], 0)


def device_events(log: str) -> list[Event]:
    """The trace events in QEMU's log, in their order."""
    events = []
    for line in log.splitlines():
        if match := DEVICE_LINE.fullmatch(line):
            thread, seconds, micros, name, device, text = match.groups()
            at = int(seconds) * 1_000_000_000 + int(micros) * 1000
            events.append(Event(at, int(thread), device, name, text, dict(WORD.findall(text))))
    return sorted(events, key=lambda event: event.at)


def guest_events(text: str) -> list[Event]:
    """The lines of ftrace, in their order; stamps are ticks."""
    events = []
    for line in text.splitlines():
        if match := GUEST_LINE.fullmatch(line):
            task, thread, group, ticks, name, said = match.groups()
            event = Event(int(ticks), int(thread), task, name, said, dict(WORD.findall(said)))
            event.process = int(group) if group and group.isdigit() else event.thread
            events.append(event)
    return sorted(events, key=lambda event: event.at)


def sections(text: str) -> dict[str, str]:
    """What the guest sent, by the names in front of its parts."""
    parts = SECTION.split(text)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def lost(stats: str) -> int:
    """Events that ftrace's buffers had no room for."""
    return sum(int(number) for number in re.findall(r"^(?:overrun|dropped events): (\d+)$", stats, re.MULTILINE))


def counters(text: str) -> dict[str, int]:
    """The devices' counters, summed."""
    sums: dict[str, int] = {}
    for line in text.splitlines():
        name, _, number = line.partition(" ")
        if number.isdigit():
            sums[name] = sums.get(name, 0) + int(number)
    return sums


@dataclass
class Axis:
    """Turns the guest's ticks into the host's time."""

    start: tuple[int, int]  # the host's time and time stamp counter
    end: tuple[int, int]
    offset: int = 0  # ns to be added
    low: int = 0  # the offset's bounds
    high: int = 0

    def plain(self, ticks: int) -> int:
        """Nanoseconds at the host's rate, from nothing that means anything."""
        return ticks * (self.end[0] - self.start[0]) // (self.end[1] - self.start[1])

    def time(self, ticks: int) -> int:
        """The host's time."""
        return self.plain(ticks) + self.offset

    def fit(self, before: Iterable[tuple[int, int]], after: Iterable[tuple[int, int]]) -> None:
        """Find the offset.

        `before`: (host's time, guest's ticks) of what the host did first; `after`: of what the guest did first. A
        write to the device takes microseconds, an interrupt and a worker much longer: so the offset is at the upper
        bound, which makes the fastest write take no time.
        """
        self.low = max(at - self.plain(ticks) for at, ticks in before)
        self.high = min(at - self.plain(ticks) for at, ticks in after)
        self.offset = max(self.low, self.high)

    def wrong(self) -> str:
        """Why no offset fits, if none does."""
        if self.low <= self.high + STAMP_NS:
            return ""
        return f"the clocks of host and guest differ by {(self.low - self.high) // 1000} us more than causes allow"


def pairs(raised: dict[int, list[Event]], received: Iterable[Event]) -> Iterator[tuple[Event, Event]]:
    """Join the driver's `svm_fault` events with the device's `vgpu_fault`, by device and serial.

    After a reset a device counts again. Then the GPU's clock decides (the driver's event has it, from the interrupt
    entry): that runs as the host's does. No fault is joined twice.
    """
    found = []
    for event in received:
        key = (event.number("page"), event.number("vmid"), " write " in event.text)
        same = [
            fault
            for fault in raised.get(event.number("serial"), [])
            if (fault.number("va") >> 12, fault.number("vmid"), fault.words["write"] == "1") == key
        ]
        found.append((event, same))
    whose = _devices(found)
    gaps = [
        (fault.at - event.number("ts") * GPU_TICK_NS, event, fault)
        for event, same in found
        for fault in same
        if whose.get(event.words["gpu"], fault.who) == fault.who
    ]
    usual = _densest([gap for gap, _, _ in gaps])
    taken: set[int] = set()
    for _, event, fault in sorted(gaps, key=lambda each: abs(each[0] - usual)):
        if not {id(event), id(fault)} & taken:
            taken |= {id(event), id(fault)}
            yield fault, event


def _devices(found: Iterable[tuple[Event, list[Event]]]) -> dict[str, str]:
    """Which device a GPU of the driver's is: the one that most of its faults fit that fit one device only."""
    votes: dict[str, Counter[str]] = {}
    for event, same in found:
        if len(devices := {fault.who for fault in same}) == 1:
            votes.setdefault(event.words["gpu"], Counter()).update(devices)
    return {gpu: names.most_common(1)[0][0] for gpu, names in votes.items()}


def _densest(values: list[int]) -> int:
    """The value that has most others close by."""
    values = sorted(values)
    best, first, most = 0, 0, 0
    for last, value in enumerate(values):
        while value - values[first] > NEAR_NS:
            first += 1
        if last - first + 1 > most:
            best, most = values[(first + last) // 2], last - first + 1
    return best
