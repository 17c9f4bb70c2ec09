# SPDX-License-Identifier: GPL-2.0-or-later
"""Computes the data for the picture "svm-life" from the recording of `vgpu-svm-life`. The picture
shows how SVM's state of a process is created and torn down.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from vgpu_tools.base.errors import Failure
from vgpu_tools.trace.device import Fault, Span
from vgpu_tools.trace.events import Event
from vgpu_tools.trace.figures import MARK, REPAIRED, TO_VRAM
from vgpu_tools.trace.timeline import Sides

STEP = "vgpu life "  # the marks of vgpu-svm-life begin with this
# The mark COPIED ends the first panel of the picture, the mark UNMAP starts the second panel.
COPIED, UNMAP = "the copy is complete", "munmap of B"
PROGRAM, PROCESS, LIST, NOTIFIER, FAULT, MIGRATION = LANES = (
    "program",
    "process",
    "range list",
    "notifier",
    "fault",
    "migration",
)
RANGES = ("range A", "range B")  # lanes of the ranges, in the order of their creation
# Lane and text of the driver's events that have the pid of the process. Events of ranges have only the PASID: see
# _Run._event().
STATES = {
    "vgpu_process_alloc": (PROCESS, "structure allocated"),
    "vgpu_process_hash": (PROCESS, "in the hash: lookups find it"),
    "vgpu_process_unhash": (PROCESS, "out of the hash"),
    "vgpu_process_free": (PROCESS, "freed, after BOs and VMs"),
    "svm_list_init": (LIST, "created"),
    "svm_list_drain": (LIST, "faults not repaired any more"),
    "svm_list_fini": (LIST, "teardown begins"),
    "svm_list_idle": (LIST, "no work item runs"),
    "svm_list_empty": (LIST, "all ranges removed"),
    "svm_list_free": (LIST, "freed"),
}
NOTIFIED = {0: "munmap", 5: "exit", 6: "migration"}  # by enum mmu_notifier_event of the guest's kernel


@dataclass(frozen=True)
class Mark:
    """An event in the picture. In a mark of a Panel, `at` is in us from the panel's start. In a mark of _Run, `at`
    is in ns since 1970."""

    at: float
    lane: str
    text: str


@dataclass(frozen=True)
class Bar:
    """The time in which an object exists, or an activity runs. The times have the units of Mark.at. If
    a bar of a Panel would begin before the panel or end after it, the bar is cut there."""

    lane: str
    begin: float
    end: float


@dataclass
class Panel:
    """One of the picture's two panels. Each panel has its own axis of time."""

    title: str
    length: float
    marks: list[Mark]
    bars: list[Bar]


@dataclass
class Life:
    """The data for the picture "svm-life". The first panel shows how the SVM state of a process is created, the second
    panel how this state is torn down."""

    lanes: tuple[str, ...]
    panels: list[Panel]
    text: str


class _Run:
    """The marks and bars of the run; times are in ns since 1970."""

    def __init__(self, sides: Sides) -> None:
        self.sides = sides
        first = _first(sides.events, "svm_list_init")
        self.pid, self.pasid = first.number("pid"), first.number("pasid")
        self.ranges: dict[str, str] = {}  # lane of each range, by the range's pages
        self.marks: list[Mark] = []
        self.bars: list[Bar] = []
        self._served: set[int] = set()  # id() of the services that have marks
        self._since: dict[str, int] = {}  # by lane: the creation time of an object that still exists
        for event in sides.events:
            self._event(event)
        if len(self.ranges) != len(RANGES) or self._since:
            lost = sorted(self._since) or [f"{len(self.ranges)} ranges"]
            raise Failure(f"pictures: the run of vgpu-svm-life has no end of: {', '.join(lost)}", status=1)
        for fault in self._faults():
            self._fault(fault)
        self.marks.sort(key=lambda mark: mark.at)

    def _add(self, at: int, lane: str, text: str) -> None:
        self.marks.append(Mark(at, lane, text))

    def _bar(self, lane: str, begins: bool, at: int) -> None:
        """Begin the bar of an object at the object's creation, or complete the bar when the object is freed."""
        if begins:
            self._since[lane] = at
        elif lane in self._since:
            self.bars.append(Bar(lane, self._since.pop(lane), at))

    def _event(self, event: Event) -> None:
        if event.name == MARK and event.text.startswith(STEP):
            self._add(event.at, PROGRAM, event.text.removeprefix(STEP))
        elif event.name in STATES and event.number("pid") == self.pid:
            lane, text = STATES[event.name]
            self._add(event.at, lane, text)
            if event.name.endswith(("_alloc", "_init", "_free")):
                self._bar(lane, not event.name.endswith("_free"), event.at)
        elif "pasid" not in event.words or event.number("pasid") != self.pasid:
            return
        elif event.name in ("svm_range_insert", "svm_range_unlink"):
            self._range(event)
        elif event.name == "svm_unmap":
            why = NOTIFIED.get(event.number("event"), f"event {event.number('event')}")
            self._add(event.at, NOTIFIER, f"{why}: GPU entries of {self._name(event)} cleared")

    def _range(self, event: Event) -> None:
        inserted = event.name == "svm_range_insert"
        pages = _pages(event)
        if inserted and len(self.ranges) < len(RANGES):
            self.ranges.setdefault(pages, RANGES[len(self.ranges)])
        if lane := self.ranges.get(pages):
            self._add(event.at, lane, "inserted, notifier registered" if inserted else "removed, notifier released")
            self._bar(lane, inserted, event.at)

    def _name(self, event: Event) -> str:
        return self.ranges.get(_pages(event), "a range").removeprefix("range ")

    def _faults(self) -> Iterator[Fault]:
        for fault in self.sides.device.faults:
            if fault.pasid == self.pasid and fault.replayed and fault.service and fault.service.name == REPAIRED:
                yield fault

    def _fault(self, fault: Fault) -> None:
        service = fault.service
        assert service
        self._add(fault.raised, FAULT, "raised, the engine is stalled")
        self._add(fault.received, FAULT, "the worker takes the fault")
        self._add(fault.replayed, FAULT, "access replayed")
        self.bars.append(Bar(FAULT, fault.raised, fault.replayed))
        if id(service) in self._served:
            return  # the repair of another fault covered this one
        self._served.add(id(service))
        self._add(service.end, FAULT, "served, GPU entries written")
        for span in self.sides.driver.migrations:
            if self.sides.driver.around(span) is service and span.name.startswith(TO_VRAM):
                self._migration(span)

    def _migration(self, span: Span) -> None:
        self._add(span.begin, MIGRATION, "begins")
        self._add(span.end, MIGRATION, f"{span.args['moved']} pages are in VRAM")
        self.bars.append(Bar(MIGRATION, span.begin, span.end))

    def panel(self, title: str, begin: int, end: int) -> Panel:
        """Return the panel that shows the run from `begin` to `end`, in ns since 1970."""

        def place(at: float) -> float:
            return round((at - begin) / 1000, 1)

        marks = [replace(mark, at=place(mark.at)) for mark in self.marks if begin <= mark.at <= end]
        bars = [
            Bar(bar.lane, place(max(begin, bar.begin)), place(min(end, bar.end)))
            for bar in self.bars
            if bar.begin <= end and bar.end >= begin
        ]
        return Panel(title, place(end), marks, bars)

    def at(self, lane: str, text: str) -> int:
        """Return the time (ns since 1970) of the first mark on `lane` with this text. Raises Failure if
        there is none."""
        for mark in self.marks:
            if (mark.lane, mark.text) == (lane, text):
                return int(mark.at)
        raise Failure(f"pictures: the run of vgpu-svm-life has no event '{lane}: {text}'", status=1)


def _first(events: list[Event], name: str) -> Event:
    for event in events:
        if event.name == name:
            return event
    raise Failure(f"pictures: the run of vgpu-svm-life has no event {name}", status=1)


def _pages(event: Event) -> str:
    return event.text[event.text.index("[") : event.text.index("]") + 1]


def life(sides: Sides) -> Life:
    """Return both panels of a run of vgpu-svm-life."""
    run = _Run(sides)
    opened, copied = int(run.marks[0].at), run.at(PROGRAM, COPIED)
    unmapped, freed = run.at(PROGRAM, UNMAP), run.at(*STATES["vgpu_process_free"])
    panels = [
        run.panel("Creation, to the first access of the GPU", opened, copied),
        run.panel("Teardown, from the first munmap", unmapped, freed),
    ]
    if MIGRATION not in {mark.lane for mark in panels[0].marks}:
        raise Failure("pictures: the run of vgpu-svm-life has no migration to VRAM", status=1)
    created = run.at(*STATES["svm_list_init"]) - opened
    left = run.at(*STATES["vgpu_process_unhash"])
    begun, ended = run.at(*STATES["svm_list_fini"]), run.at(*STATES["svm_list_free"])
    text = "; ".join(
        [f"{len(panel.marks)} events in {panel.length:g} us" for panel in panels]
        + [f"list created {created / 1000:g} us after the open"]
        + [f"teardown of the list {(begun - left) / 1000:g} us after the process left the hash"]
        + [f"teardown took {(ended - begun) / 1000:g} us"]
    )
    lanes = (*LANES[:3], *RANGES, *LANES[3:])
    return Life(lanes, panels, text)
