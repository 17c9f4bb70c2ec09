# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds the stations (stations.py) of each lone fault in a recording, on one axis of time, and computes the durations
of the hops between them. The entry point is `paths()`.

The events of a fault are found by its serial, page and CAM slot. The events between them that name no fault are found
by their thread or virtual CPU. A fault without a station, or with stations in an impossible order, is dropped and
counted: no hop is guessed.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from vgpu_tools.base.errors import Failure
from vgpu_tools.trace.events import STAMP_NS, Axis, Event, device_events, guest_events, lost, sections
from vgpu_tools.trace.figures import MARK, REPAIRED
from vgpu_tools.trace.record import Recording
from vgpu_tools.trace.stations import END, INVALIDATION, START, STATIONS

ROUND = "vgpu round "  # a mark with this text begins a round of the recording in the guest; a number follows
PAGE_SHIFT = 12
LOW = (1 << 32) - 1
DATA = re.compile(r"data=(0x[0-9a-f]{1,8}) 0x[0-9a-f]{1,8} 0x[0-9a-f]{1,8} (0x[0-9a-f]{1,8})$")
WORK = ("svm_fault_work", "svm_fault_local_work")  # functions of the fault worker's two work items
IDLE = 0  # thread id of the idle task of each virtual CPU
# Reasons for which a fault is dropped
MISSING, TWICE, CROWDED, UNREPAIRED, DISORDER = "without", "raised twice", "not alone", "not repaired", "out of order"


@dataclass
class Path:
    """A lone fault: the times of its stations in ns, by key, in the order of the path. The times are on the host's
    clock. `woke` has whether a virtual CPU or a thread was woken, for hops for which the trace shows it."""

    serial: int
    at: dict[str, int]
    woke: dict[str, bool] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """The time from the raise to the replay."""
        return self.at[END] - self.at[START]

    def hops(self) -> Iterator[tuple[str, int]]:
        """Yield the key and the duration of each hop. A hop has the key of the station where it ends."""
        before = self.at[START]
        for key, at in self.at.items():
            if key != START:
                yield key, at - before
            before = at


@dataclass
class Found:
    """The lone faults of a recording. `dropped` counts the other faults by reason."""

    paths: list[Path] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    early: int = 0  # number of paths that end before the acknowledgement: an invalidation caused the replay
    clock_ns: int = 0  # largest distance of the bounds of a round's clock offset
    doubts: list[str] = field(default_factory=list)


class _Dropped(Exception):
    """The fault cannot be used; the text is the reason."""


def value(event: Event, key: str) -> int:
    """Return a field of an event; -1 if the event lacks the field or the field is no number."""
    word = event.words.get(key, "")
    try:
        return int(word, 0)
    except ValueError:
        try:
            return int(word)  # a decimal number with leading zeros
        except ValueError:
            return -1


class _Side:
    """Events of one side of a round, in the order of their times, for look-ups by name."""

    def __init__(self, events: Iterable[Event]) -> None:
        self._named: dict[str, list[Event]] = {}
        self._threads: dict[int, list[Event]] = {}
        for event in events:
            self._named.setdefault(event.name, []).append(event)
            self._threads.setdefault(event.thread, []).append(event)

    def named(self, name: str) -> list[Event]:
        return self._named.get(name, [])

    def first(self, name: str, since: int, until: int, fits: Callable[[Event], bool]) -> Event | None:
        """Return the first event with a time from `since` to `until` that fits."""
        events = self.named(name)
        for number in range(bisect_left(events, since, key=lambda one: one.at), len(events)):
            if events[number].at > until:
                return None
            if fits(events[number]):
                return events[number]
        return None

    def last(self, name: str, since: int, until: int, fits: Callable[[Event], bool]) -> Event | None:
        """Return the last event with a time from `since` to `until` that fits."""
        events = self.named(name)
        for number in range(bisect_right(events, until, key=lambda one: one.at) - 1, -1, -1):
            if events[number].at < since:
                return None
            if fits(events[number]):
                return events[number]
        return None

    def next(self, event: Event) -> Event | None:
        """Return the next event of the same thread."""
        events = self._threads[event.thread]
        number = bisect_right(events, event.at, key=lambda one: one.at)
        return events[number] if number < len(events) else None


def _needed(event: Event | None, key: str) -> Event:
    if not event:
        raise _Dropped(f"{MISSING} {key}")
    return event


def _by_serial(events: Iterable[Event]) -> dict[int, list[Event]]:
    found: dict[int, list[Event]] = {}
    for event in events:
        found.setdefault(value(event, "serial"), []).append(event)
    return found


class _Round:
    """A round of the recording: a time in which both sides traced. The device's events have the host's time, the
    guest's events have ticks."""

    def __init__(self, device: Sequence[Event], guest: Sequence[Event]) -> None:
        self.device = _Side(device)
        self.guest = _Side(guest)
        self._raised = _by_serial(one for one in self.device.named("vgpu_fault") if value(one, "retry") == 1)
        self._replayed = _by_serial(self.device.named("vgpu_replay"))
        self._acknowledged = _by_serial(one for one in self.device.named("vgpu_cam_ack") if value(one, "used") == 1)
        self._taken = _by_serial(self.guest.named("svm_fault"))
        self._verdicts = _by_serial(self.guest.named("svm_service"))
        self._pushed: dict[tuple[int, int], Event] = {}
        for event in self.device.named("vgpu_ih_push"):
            self._pushed.setdefault((value(event, "data0"), value(event, "data3")), event)
        self._entries: dict[tuple[int, int], Event] = {}
        for event in self.guest.named("vgpu_ih_entry"):
            if match := DATA.search(event.text):
                self._entries.setdefault((int(match[1], 16), int(match[2], 16)), event)

    def faults(self) -> list[Event]:
        """Return the retry faults in the order of their raise."""
        return sorted((fault for same in self._raised.values() for fault in same), key=lambda one: one.at)

    def alone(self, faults: Sequence[Event], number: int) -> bool:
        """Return whether no other fault was pending between the raise and the replay of a fault."""
        fault, replay = faults[number], self._replay(faults[number])
        if number + 1 < len(faults) and (not replay or faults[number + 1].at <= replay.at):
            return False
        before = self._replay(faults[number - 1]) if number else None
        return not before or before.at <= fault.at

    def _replay(self, fault: Event) -> Event | None:
        same = self._replayed.get(value(fault, "serial"), [])
        return same[0] if same else None

    def events(self, fault: Event) -> dict[str, Event]:
        """Return the events of a fault by the keys of their stations, in no order. Raises _Dropped if a station that
        is not optional is missing."""
        serial = value(fault, "serial")
        if len(self._raised[serial]) > 1:
            raise _Dropped(TWICE)
        found = {"raised": fault, "replayed": _needed(self._replay(fault), "replayed")}
        self._interrupt(fault, found)
        self._service(fault, found)
        self._answer(serial, found)
        return found

    def _interrupt(self, fault: Event, found: dict[str, Event]) -> None:
        """Find the stations from the device to the interrupt handler."""
        key = (value(fault, "va") >> PAGE_SHIFT & LOW, value(fault, "serial"))
        ring = found["ring"] = _needed(self._pushed.get(key), "ring")
        # The device sends one MSI for several entries. The next MSI after the entry announces the entry.
        found["msi"] = _needed(self.device.first("vgpu_msi", ring.at, found["replayed"].at, lambda _: True), "msi")
        entry = found["entry"] = _needed(self._entries.get(key), "entry")
        on_cpu = self.guest.last("irq_handler_entry", 0, entry.at, lambda one: one.cpu == entry.cpu)
        found["irq"] = _needed(on_cpu, "irq")

    def _service(self, fault: Event, found: dict[str, Event]) -> None:
        """Find the stations of the worker."""
        serial, page = value(fault, "serial"), value(fault, "va") >> PAGE_SHIFT
        entry = found["entry"]
        taken = next((one for one in self._taken.get(serial, []) if value(one, "page") == page), None)
        taken = found["taken"] = _needed(taken, "taken")
        verdict = next((one for one in self._verdicts.get(serial, []) if one.thread == taken.thread), None)
        verdict = found["verdict"] = _needed(verdict, "verdict")
        if f" {REPAIRED} " not in verdict.text:
            raise _Dropped(UNREPAIRED)

        def ours(one: Event) -> bool:
            return one.thread == taken.thread

        def queues(one: Event) -> bool:
            return one.cpu == entry.cpu and one.words.get("function", "") in WORK

        def starts(one: Event) -> bool:
            return value(one, "next_pid") == taken.thread

        if queued := self.guest.first("workqueue_queue_work", entry.at, taken.at, queues):
            found["queued"] = queued
        if running := self.guest.last("sched_switch", entry.at, taken.at, starts):
            found["running"] = running
        found["looked"] = _needed(self.guest.first("svm_hmm_begin", taken.at, verdict.at, ours), "looked")
        found["hmm"] = _needed(self.guest.last("svm_hmm_end", taken.at, verdict.at, ours), "hmm")
        written = found["written"] = _needed(self.guest.last("vgpu_vm_write", taken.at, verdict.at, ours), "written")
        flushing = self.guest.first("vgpu_vm_flush", written.at, verdict.at, ours)
        flushed = self.guest.last("vgpu_tlb_flush", written.at, verdict.at, ours)
        if flushing and flushed:
            found["flushing"], found["flushed"] = flushing, flushed

    def _answer(self, serial: int, found: dict[str, Event]) -> None:
        """Find the stations from the verdict to the replay."""
        verdict, replayed, slot = found["verdict"], found["replayed"], value(found["raised"], "cam")

        def answers(one: Event) -> bool:
            return one.thread == verdict.thread and value(one, "cam") == slot

        acked = self.guest.first("vgpu_cam_ack", verdict.at, LOW << 32, answers)
        found["acked"] = _needed(acked, "acked")
        cam = found["cam"] = _needed(next(iter(self._acknowledged.get(serial, [])), None), "cam")
        woken = self.device.last("vgpu_wake", cam.at, replayed.at, lambda one: one.thread == replayed.thread)
        if woken:
            found["engine"] = woken

    def fit(self, axis: Axis, faults: Iterable[dict[str, Event]]) -> None:
        """Find the offset between the clocks. A register access is synchronous: the device's event comes after the
        guest's event before the access, and before the next event of the same thread. Only events that name the fault
        are used, because one wrong pair would move all hops between the two sides."""
        before: list[tuple[int, int]] = []
        after: list[tuple[int, int]] = []
        for found in faults:
            after.append((found["cam"].at, found["acked"].at))
            before.append((found["raised"].at, found["taken"].at))
            if later := self.guest.next(found["acked"]):
                before.append((found["cam"].at, later.at))
        axis.fit(before, after)


def _placed(found: dict[str, Event], axis: Axis, slack: int) -> dict[str, int]:
    """Return the times of a fault's stations on the host's clock. Raises _Dropped if a station comes before the one
    that causes it by more than `slack`; by less, the station gets the time of its cause."""
    at: dict[str, int] = {}
    previous = 0
    for station in STATIONS:
        if not (event := found.get(station.key)):
            continue
        now = axis.time(event.at) if station.group else event.at
        if now < previous - slack:
            raise _Dropped(f"{DISORDER}: {station.key}")
        previous = at[station.key] = max(now, previous)
    return at


def _cut(found: dict[str, Event], axis: Axis) -> dict[str, Event]:
    """Return the stations of a fault that the engine has replayed because of an invalidation: without those after the
    replay. Any other fault keeps its stations."""
    if INVALIDATION not in found:
        return found
    replayed = found[END].at
    if axis.time(found["acked"].at) <= replayed or axis.time(found[INVALIDATION].at) > replayed:
        return found
    late = {
        station.key
        for station in STATIONS
        if (event := found.get(station.key))
        and (axis.time(event.at) if station.group else event.at) > replayed
        and station.key != END
    }
    return {key: event for key, event in found.items() if key not in late}


def _woke(found: dict[str, Event]) -> dict[str, bool]:
    """Return for hops of a fault whether the trace shows a wake-up: of the main loop, which sends the MSI for another
    thread, of a virtual CPU that was idle, or of the engine's thread."""
    irq = found["irq"]
    woke = {"msi": found["msi"].thread != found["ring"].thread, "irq": irq.thread == IDLE}
    if running := found.get("running"):
        woke["running"] = running.cpu != irq.cpu and value(running, "prev_pid") == IDLE
    if "cam" in found:
        woke["engine"] = "engine" in found
    return woke


def _round(device: Sequence[Event], guest: Sequence[Event], axis: Axis, out: Found) -> None:
    """Add the lone faults of a round to `out`."""
    one = _Round(device, guest)
    faults = one.faults()
    complete: list[tuple[int, dict[str, Event]]] = []
    for number, fault in enumerate(faults):
        try:
            found = one.events(fault)
            if not one.alone(faults, number):
                raise _Dropped(CROWDED)
            complete.append((value(fault, "serial"), found))
        except _Dropped as reason:
            out.dropped[str(reason)] += 1
    if not complete:
        return
    one.fit(axis, (found for _, found in complete))
    # The device's stamps are rounded down, so the upper bound may be STAMP_NS higher.
    out.clock_ns = max(out.clock_ns, axis.high + STAMP_NS - axis.low, STAMP_NS)
    if axis.wrong():
        out.doubts.append(axis.wrong())
    for serial, found in complete:
        kept = _cut(found, axis)
        try:
            path = Path(serial, _placed(kept, axis, STAMP_NS), _woke(kept))
        except _Dropped as reason:
            out.dropped[str(reason)] += 1
            continue
        out.early += kept is not found
        out.paths.append(path)


def _rounds(events: Sequence[Event]) -> list[list[Event]]:
    """Divide the guest's events by the marks ROUND. Events before the first mark are left out."""
    found: list[list[Event]] = []
    for event in events:
        if event.name == MARK and event.text.startswith(ROUND):
            found.append([])
        elif found:
            found[-1].append(event)
    return found


def paths(recording: Recording, spans: Sequence[tuple[int, int]]) -> Found:
    """Return the lone faults of a recording. `spans` are begin and end of each round by the host's clock, in ns since
    1970. Each round has its own clock offset, so that a correction of the host's clock during the run does no harm.
    Raises Failure if the guest's part does not fit."""
    part = sections(recording.guest)
    if "end" not in part:
        raise Failure("fault-path: the guest ended before its events could be read, or wrote too many", status=1)
    out = Found()
    if gone := lost(part.get("lost", "")):
        out.doubts.append(f"the guest had no room for {gone} events")
    device = device_events(recording.device)
    rounds = _rounds(guest_events(part.get("trace", "")))
    if len(rounds) != len(spans):
        raise Failure(f"fault-path: the guest recorded {len(rounds)} rounds, not {len(spans)}", status=1)
    for (begin, end), guest in zip(spans, rounds, strict=True):
        ours = [event for event in device if begin - STAMP_NS <= event.at <= end]
        _round(ours, guest, Axis(recording.start, recording.end), out)
    return out
