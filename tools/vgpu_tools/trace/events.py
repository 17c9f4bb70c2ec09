# SPDX-License-Identifier: GPL-2.0-or-later
"""Parses the lines of a recording. The device's events have the host's time. `Axis` converts the times of the guest's
events, which are ticks.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

DEVICE_LINE = re.compile(r"(\d+)@(\d+)\.(\d{6}):(vgpu_\w+) (\S+) ?(.*)")
# The numbers of a line are short, because Python refuses to convert a number of thousands of digits.
GUEST_LINE = re.compile(
    r"\s*(\S.*)-(\d{1,10})\s+(?:\(\s*([\d-]{1,10})\)\s+)?\[(\d{1,5})\]\s+\S+\s+(\d{1,20}): (\w+): ?(.*)"
)
WORD = re.compile(r"(\w+)=(\S+)")
SECTION = re.compile(r"^== (\w+)\n", re.MULTILINE)
STAMP_NS = 1000  # resolution of the device's stamps
GPU_TICK_NS = 10
NEAR_NS = 5_000_000  # longest time between a fault's line in the log and the fault's interrupt entry, on a busy host


@dataclass
class Event:
    """An event: a line of the device's log or of the guest's trace. `who` is the name of the device or of the task."""

    at: int  # ns since 1970 (event of the device), or ticks (event of the guest, until converted to ns since 1970)
    thread: int
    who: str
    name: str
    text: str
    words: dict[str, str] = field(default_factory=dict)
    process: int = 0  # process id of the task; the thread's id if ftrace has no process id
    cpu: int = -1  # virtual CPU of a guest's event

    def number(self, key: str) -> int:
        """Return the value of the field `key` as an integer. The event's text has fields as KEY=VALUE."""
        return int(self.words[key], 0)


def device_events(log: str) -> list[Event]:
    """Return the trace events in QEMU's log, in the order of their times."""
    events = []
    for line in log.splitlines():
        if match := DEVICE_LINE.fullmatch(line):
            thread, seconds, micros, name, device, text = match.groups()
            at = int(seconds) * 1_000_000_000 + int(micros) * 1000
            events.append(Event(at, int(thread), device, name, text, dict(WORD.findall(text))))
    return sorted(events, key=lambda event: event.at)


def guest_events(text: str) -> list[Event]:
    """Return the events in ftrace's output, in the order of their times. The times are ticks of the
    guest's time stamp counter."""
    events = []
    for line in text.splitlines():
        if match := GUEST_LINE.fullmatch(line):
            task, thread, group, cpu, ticks, name, said = match.groups()
            event = Event(int(ticks), int(thread), task, name, said, dict(WORD.findall(said)), cpu=int(cpu))
            event.process = int(group) if group and group.isdigit() else event.thread
            events.append(event)
    return sorted(events, key=lambda event: event.at)


def sections(text: str) -> dict[str, str]:
    """Split the guest's output at its lines "== NAME"; returns the parts by name."""
    parts = SECTION.split(text)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def lost(stats: str) -> int:
    """Return the number of events that ftrace lost because its buffers were full."""
    return sum(int(number) for number in re.findall(r"^(?:overrun|dropped events): (\d{1,20})$", stats, re.MULTILINE))


def counters(text: str) -> dict[str, int]:
    """Return the devices' counters by name, summed over all devices."""
    sums: dict[str, int] = {}
    for line in text.splitlines():
        name, _, number = line.partition(" ")
        if number.isdigit():
            sums[name] = sums.get(name, 0) + int(number)
    return sums


@dataclass
class Axis:
    """Converts the guest's ticks to the host's time. `start` and `end` give the rate of the host's time stamp counter.
    The guest's counter has the same rate and an unknown offset. `fit()` finds the offset."""

    start: tuple[int, int]  # when the recording starts: the host's time (ns since 1970) and time stamp counter
    end: tuple[int, int]  # the same when the recording ends
    offset: int = 0  # plain() + offset is the host's time, in ns
    low: int = 0  # lower bound of the offset, from causality
    high: int = 0  # upper bound

    def plain(self, ticks: int) -> int:
        """Convert ticks to nanoseconds since tick 0, without the offset to the host's time."""
        return ticks * (self.end[0] - self.start[0]) // (self.end[1] - self.start[1])

    def time(self, ticks: int) -> int:
        """Convert guest ticks to the host's time, in nanoseconds since 1970."""
        return self.plain(ticks) + self.offset

    def fit(self, before: Iterable[tuple[int, int]], after: Iterable[tuple[int, int]]) -> None:
        """Set the offset and its bounds. Each pair has the time of a host event (ns since 1970) and the ticks of a
        guest event."""
        # `before`: the host event causes the guest event, so each pair gives a lower bound of the offset. The bound may
        # be much too low: for example, a worker may run long after an interrupt.
        self.low = max(at - self.plain(ticks) for at, ticks in before)
        # `after`: the guest event causes the host event, so each pair gives an upper bound. The bound is close: for
        # example, a register write reaches the device within microseconds.
        self.high = min(at - self.plain(ticks) for at, ticks in after)
        # `high` is usually closer to the offset. The device's stamps (`at`) are rounded down, which lowers both bounds.
        # This can make `high` wrong. `low` stays a lower bound. Use `low` if `high` is below `low`.
        self.offset = max(self.low, self.high)

    def wrong(self) -> str:
        """Return a message if `low` is above `high` by more than STAMP_NS, else "". The message gives the difference.
        (A smaller difference can come from the rounding of the device's stamps.)"""
        if self.low <= self.high + STAMP_NS:
            return ""
        return f"the clocks of host and guest differ by {(self.low - self.high) // 1000} us more than causes allow"


def pairs(raised: dict[int, list[Event]], received: Iterable[Event]) -> Iterator[tuple[Event, Event]]:
    """Join each `svm_fault` event of the driver with the device's `vgpu_fault` event of the same fault. Yield pairs of
    device event and driver event. `raised` has the device events by serial. No event is joined twice.
    """
    found = []
    # The two events of a fault have the same serial, page, VMID and kind of access. `same` may also have
    # faults of a wrong device with equal values. The test with `whose` drops these faults, if _devices()
    # has found the right device.
    for event in received:
        key = (event.number("page"), event.number("vmid"), " write " in event.text)
        same = [
            fault
            for fault in raised.get(event.number("serial"), [])
            if (fault.number("va") >> 12, fault.number("vmid"), fault.words["write"] == "1") == key
        ]
        found.append((event, same))
    whose = _devices(found)
    # A gap is a device event's host time minus a driver event's GPU time. All correct pairs have nearly the same gap.
    gaps = [
        (fault.at - event.number("ts") * GPU_TICK_NS, event, fault)
        for event, same in found
        for fault in same
        if whose.get(event.words["gpu"], fault.who) == fault.who
    ]
    # A device repeats its serials after a reset, so several device events may match a driver event. The gap of
    # a correct pair is close to `usual`, so the loop takes pairs with such gaps first.
    usual = _densest([gap for gap, _, _ in gaps])
    taken: set[int] = set()
    for _, event, fault in sorted(gaps, key=lambda each: abs(each[0] - usual)):
        if not {id(event), id(fault)} & taken:
            taken |= {id(event), id(fault)}
            yield fault, event


def _devices(found: Iterable[tuple[Event, list[Event]]]) -> dict[str, str]:
    """Return the device of each gpu_id: the device that raised most of the faults with this gpu_id. A fault that
    several devices may have raised does not count."""
    votes: dict[str, Counter[str]] = {}
    for event, same in found:
        if len(devices := {fault.who for fault in same}) == 1:
            votes.setdefault(event.words["gpu"], Counter()).update(devices)
    return {gpu: names.most_common(1)[0][0] for gpu, names in votes.items()}


def _densest(values: list[int]) -> int:
    """Find the interval of the length NEAR_NS that contains the most values, and return the median
    of these values."""
    values = sorted(values)
    best, first, most = 0, 0, 0
    for last, value in enumerate(values):
        while value - values[first] > NEAR_NS:
            first += 1
        if last - first + 1 > most:
            best, most = values[(first + last) // 2], last - first + 1
    return best
