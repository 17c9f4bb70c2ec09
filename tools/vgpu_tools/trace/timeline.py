# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes one timeline of a recording, for Perfetto. Each fault is a slice from its raise to its replay. The driver's
activities, such as the service of faults, are slices, too. Flows connect a fault with its service and its replay."""

from dataclasses import dataclass, field

from vgpu_tools.trace.device import WAITS, Device, Fault, Span, Stall, engine_name
from vgpu_tools.trace.driver import KERNEL_THREADS, Driver
from vgpu_tools.trace.events import Axis, Event, counters, device_events, guest_events, lost, pairs, sections
from vgpu_tools.trace.perfetto import Slice, Timeline, Value
from vgpu_tools.trace.record import Recording

# Ids of synthetic processes and threads, above any pid of a guest.
DEVICE_PID = 1_000_000_000
DRIVER_PID = 1_100_000_000
TRACE_PID = 1_200_000_000
FIRST_TID = 1_300_000_000
TRACKS = {"eviction": "queues", "life": "SVM state"}  # names of tracks of a process
FLOWS = 32  # bits of the fault's serial in a flow id; the device's index is in the bits above


@dataclass
class Outcome:
    """The timeline, the counts of its events, and doubts: inconsistencies in the recording."""

    timeline: Timeline
    faults: int = 0
    serviced: int = 0
    replayed: int = 0
    migrations: int = 0
    doubts: list[str] = field(default_factory=list)
    clock_ns: int = 0  # distance between the bounds of the clock offset; 0: no guest events

    def text(self) -> str:
        """Return the counts as one line of text, which ./vgpu trace prints."""
        clock = f", clocks within {self.clock_ns / 1000:g} us" if self.clock_ns else ""
        return (
            f"{self.faults} faults, {self.serviced} answered by the driver, {self.replayed} replayed, "
            f"{self.migrations} migrations{clock}"
        )


@dataclass
class Sides:
    """The device's and the driver's side of a recording. The guest's times have been converted to the host's time."""

    device: Device
    driver: Driver
    events: list[Event]  # the guest's events
    doubts: list[str]
    clock_ns: int = 0  # see Outcome


def join(recording: Recording) -> Sides:
    """Join each fault of the device with the driver's events of that fault."""
    device = Device(device_events(recording.device))
    sides = Sides(device, Driver([], {}), [], [])
    part = sections(recording.guest)
    if "end" in part:
        sides.events, joined = _guest(recording, part, sides)
        sides.driver = Driver(sides.events, joined)
    elif recording.whole:
        sides.doubts.append("the driver's part is missing: the guest ended before it could be read")
    if sides.driver.unmatched:
        sides.doubts.append(f"{sides.driver.unmatched} faults of the driver are not in the device's trace")
    _doubt_order(device.faults, sides)
    return sides


def make(recording: Recording) -> Outcome:
    """Make the timeline of a recording. Return the timeline, the counts of the recording's events, and the
    inconsistencies that were found in the recording (doubts)."""
    sides = join(recording)
    faults = sides.device.faults
    outcome = Outcome(
        Timeline(),
        faults=len(faults),
        serviced=sum(1 for fault in faults if fault.service),
        replayed=sum(1 for fault in faults if fault.replayed),
        migrations=len(sides.driver.migrations),
        doubts=sides.doubts,
        clock_ns=sides.clock_ns,
    )
    _Picture(recording, sides.device, sides.driver, outcome).draw()
    return outcome


def _guest(recording: Recording, part: dict[str, str], sides: Sides) -> tuple[list[Event], dict[int, Fault]]:
    """Return the guest's events, with their times converted from the guest's ticks to the host's time. Also return a
    dictionary from id() of each `svm_fault` event to the Fault in the device's trace, if the trace has that fault."""
    device = sides.device
    events = guest_events(part["trace"])
    if gone := lost(part["lost"]):
        sides.doubts.append(f"the guest had no room for {gone} events")
    raised: dict[int, list[Event]] = {}
    for fault in device.faults:
        raised.setdefault(fault.serial, []).append(fault.event)
    by_event = {id(fault.event): fault for fault in device.faults}
    received = [event for event in events if event.name == "svm_fault"]
    joined = {id(theirs): by_event[id(ours)] for ours, theirs in pairs(raised, received)}
    marks = {event.text: event.at for event in events if event.name == "tracing_mark_write"}
    axis = Axis(recording.start, recording.end)
    before = [(recording.start[0], marks["vgpu begin"])]
    after = [(recording.end[0], marks["vgpu end"])]
    before += [(joined[id(event)].raised, event.at) for event in received if id(event) in joined]
    after += _answers(events, joined)
    axis.fit(before, after)
    sides.clock_ns = max(1, axis.high - axis.low)
    if axis.wrong():
        sides.doubts.append(axis.wrong())
    begin, end = axis.time(marks["vgpu begin"]), axis.time(marks["vgpu end"])
    _doubt_counters(part, sum(1 for fault in device.faults if begin <= fault.raised <= end), sides)
    for event in events:
        event.at = axis.time(event.at)
    return events, joined


def _answers(events: list[Event], joined: dict[int, Fault]) -> list[tuple[int, int]]:
    """Return a pair of times for each acknowledgement of a retry fault: when the device received the acknowledgement
    (ns), and when the driver wrote it (ticks). Only acknowledgements in both traces count."""
    slots: dict[tuple[int, int], Fault] = {}
    found = []
    for event in events:
        if event.name == "svm_fault" and id(event) in joined and " no-retry " not in event.text:
            slots[event.thread, event.number("cam")] = joined[id(event)]
        elif event.name == "vgpu_cam_ack":
            fault = slots.pop((event.thread, event.number("cam")), None)
            if fault and fault.acknowledged:
                found.append((fault.acknowledged, event.at))
    return found


def _doubt_counters(part: dict[str, str], faults: int, sides: Sides) -> None:
    old = counters(part["before"])
    new = counters(part["after"])
    counted = sum(new.get(name, 0) - old.get(name, 0) for name in ("faults_retry", "faults_noretry"))
    if counted != faults:
        sides.doubts.append(f"the devices counted {counted} faults, their trace has {faults} (or one was reset)")


def _doubt_order(faults: list[Fault], sides: Sides) -> None:
    """Add a doubt for each effect that comes before its cause."""
    for fault in faults:
        # If the service did not repair the fault, set `begin` to 0, to disable the last check below:
        # another fault's repair may have caused a replay before this service.
        begin = fault.service.begin if fault.service and fault.service.name == "repaired" else 0
        if fault.received and fault.received < fault.raised:
            sides.doubts.append(f"fault {fault.serial} reached the driver before it was raised")
        if fault.replayed and fault.replayed < fault.raised:
            sides.doubts.append(f"fault {fault.serial} was replayed before it was raised")
        if fault.replayed and fault.replayed < begin:
            sides.doubts.append(f"fault {fault.serial} was replayed before its service began")


class _Picture:
    """Puts the faults and the stalls of the device, and the spans of the driver, on the timeline's
    tracks."""

    def __init__(self, recording: Recording, device: Device, driver: Driver, outcome: Outcome) -> None:
        self.zero = recording.start[0]
        self.device = device
        self.driver = driver
        self.outcome = outcome
        self.out = outcome.timeline
        self.devices = sorted({fault.device for fault in device.faults} | {stall.device for stall in device.stalls})
        self.tids: dict[tuple[str, str], int] = {}

    def draw(self) -> None:
        """Draw all tracks."""
        args: dict[str, Value] = {"started (ns since 1970)": self.zero, "summary": self.outcome.text()}
        args |= {f"doubt {number}": doubt for number, doubt in enumerate(self.outcome.doubts)}
        process = self.out.process("trace", TRACE_PID)
        self._add(process, "trace", Slice(0, 0, "start", "trace", args, instant=True))
        for index, name in enumerate(self.devices):
            self.out.process(name, DEVICE_PID + index)
        for fault in self.device.faults:
            self._fault(fault)
        for stall in self.device.stalls:
            if not (stall.fault and stall.fault.stall is stall):
                self._stall(stall)
        for event in self.device.resets:
            if event.who in self.devices:
                piece = Slice(self._at(event.at), self._at(event.at), event.name, "reset", instant=True)
                self._add(event.who, "resets", piece)
        self._driver()

    def _at(self, time: int) -> int:
        return max(0, time - self.zero)

    def _add(self, process: str, thread: str, piece: Slice) -> None:
        """Add a slice to a track, which gets a made-up thread id. (The tracks for the threads of guest programs have
        the thread ids of the guest instead: see _driver().)"""
        self.out.add(process, thread, piece, self.tids.setdefault((process, thread), FIRST_TID + len(self.tids)))

    def _flow(self, fault: Fault) -> int:
        return self.devices.index(fault.device) << FLOWS | fault.serial

    def _queue(self, stall: Stall) -> tuple[str, str]:
        """Return the track of a queue: the device, and a name with the engine, the queue's number and the queue's
        process."""
        name = f"{engine_name(stall.engine)} queue {stall.queue}"
        if not stall.fault or not stall.fault.pasid:
            return stall.device, name
        pid = stall.fault.process
        return stall.device, f"{name}, {self._process(pid)}" if pid else f"{name}, PASID {stall.fault.pasid}"

    def _process(self, pid: int) -> str:
        return f"{self.driver.names.get(pid, 'process')} {pid}"

    def _fault(self, fault: Fault) -> None:
        if fault.stall:
            track = self._queue(fault.stall)
        elif fault.engine >= 0:
            track = (fault.device, f"{engine_name(fault.engine)}, not retried")
        else:
            track = (fault.device, "of no queue")
        access = "write" if fault.write else "read"
        args: dict[str, Value] = {
            "serial": fault.serial,
            "address": fault.va,
            "access": access,
            "retry": fault.retry,
            "vmid": fault.vmid,
            "pasid": fault.pasid,
            "end": fault.stall.how if fault.stall else "acknowledged" if fault.acknowledged else "no queue waits",
        }
        if fault.process:
            args["pid"] = fault.process
        if fault.service:
            args["verdict"] = fault.service.name
            args["serviced by serial"] = int(fault.service.args["serial"])
        for name, at in (
            ("driver", fault.received),
            ("service's begin", fault.service.begin if fault.service else 0),
            ("service's end", fault.service.end if fault.service else 0),
            ("acknowledge", fault.acknowledged),
            ("replay", fault.replayed),
        ):
            if at:
                args[f"ns to {name}"] = at - fault.raised
        name = f"fault {fault.va:#x} {access}"
        flows = [self._flow(fault)]
        begin, end = self._at(fault.raised), self._at(max(fault.end, fault.raised))
        self._add(*track, Slice(begin, end, name, "fault", args, flows))
        if fault.stall and fault.stall.how == "replayed":
            piece = Slice(end, end, "replay", "replay", {"serial": fault.serial}, flows, last=True, instant=True)
            self._add(*track, piece)

    def _stall(self, stall: Stall) -> None:
        """Draw the stall of a queue that raised no fault, but waits for the fault of another queue,
        or for a CAM slot."""
        args: dict[str, Value] = {"serial": stall.serial, "address": stall.va, "vmid": stall.vmid, "end": stall.how}
        args["waits for"] = WAITS.get(stall.why, str(stall.why))
        piece = Slice(self._at(stall.begin), self._at(stall.end), f"stall {stall.va:#x}", "stall", args)
        self._add(*self._queue(stall), piece)

    def _driver(self) -> None:
        process = self.out.process("vgpu_kfd (guest)", DRIVER_PID)
        for span in self.driver.services:
            flows = [self._flow(fault) for fault in span.faults]
            args = span.args | {"thread": f"{span.task} {span.thread}", "faults": len(span.faults)}
            piece = self._piece(span, "service", f"service {span.args['serial']} {span.name}", args, flows)
            self._add(process, self._worker(span.device), piece)
        for span in self.driver.jobs if len(self.device.names) == 1 else []:
            # Leave out the jobs if there are several devices, because the tracepoints of jobs name
            # no device.
            args = span.args | {"submitted": self._at(int(span.args["submitted"]))}
            piece = self._piece(span, "job", f"job {span.args['seqno']}", args)
            self._add(process, f"copies (sdma{span.thread})", piece)
        for span in self.driver.recoveries:
            self._add(process, "recovery", self._piece(span, "recovery", span.name, span.args))
        for kind, spans in (("migration", self.driver.migrations), ("unmap", self.driver.unmaps)):
            for span in spans:
                piece = self._piece(span, kind, span.name, span.args)
                if service := self.driver.around(span):
                    self._add(process, self._worker(service.device), piece)
                elif span.task.startswith(KERNEL_THREADS):
                    self._add(process, f"{span.task} {span.thread}", piece)
                else:
                    owner = self.out.process(self._process(span.process), span.process)
                    self.out.add(owner, span.task, piece, span.thread)
        for kind, spans in (("life", self.driver.life), ("eviction", self.driver.evictions)):
            for span in spans:
                owner = self.out.process(self._process(span.process), span.process)
                self.out.add(owner, TRACKS[kind], self._piece(span, kind, span.name, span.args))

    @staticmethod
    def _worker(device: str) -> str:
        return f"{device or 'unknown'} fault worker"

    def _piece(
        self, span: Span, category: str, name: str, args: dict[str, int | str], flows: list[int] | None = None
    ) -> Slice:
        begin, end = self._at(span.begin), self._at(span.end)
        return Slice(begin, end, name, category, dict(args), flows or [], instant=begin == end)
