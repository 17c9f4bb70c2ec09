# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds the device's part of a trace: faults from raise to replay, and the queues that the faults
stall."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from vgpu_tools.trace.events import Event

# Number of SDMA engines (SDMA_NUM_ENGINES). Their ids are 0 to 4. The next id, 5, is the id of the
# compute engine (VGPU_CLIENT_CP).
SDMA_ENGINES = 5
# The event for which a stalled queue waits, by the value of the device's VGPUWait.
WAITS = {4: "acknowledgement", 5: "a free CAM slot", 6: "another try"}
RB_ENABLE = 1  # SDMA_RB_CNTL__RB_ENABLE


@dataclass
class Stall:
    """An interval in which a queue is stalled at one address."""

    device: str
    engine: int
    queue: int
    thread: int  # the engine's worker in QEMU
    vmid: int
    va: int
    write: bool
    serial: int  # serial of the fault that the queue waits for; 0: none
    why: int  # key of WAITS
    begin: int
    end: int = 0
    how: str = ""  # why the stall ended
    fault: "Fault | None" = None


@dataclass
class Span:
    """An activity of the driver, or an instant if `begin` equals `end`."""

    begin: int
    end: int
    name: str
    thread: int
    task: str
    process: int = 0
    device: str = ""  # the device whose faults a service served; empty for other spans
    args: dict[str, int | str] = field(default_factory=dict)
    faults: list["Fault"] = field(default_factory=list)  # faults that this service acknowledged


@dataclass
class Fault:
    """A fault that the device raised. `raised`, `acknowledged`, `replayed`, `received` and `answered` are times in ns
    since 1970, by the host's clock; 0: this did not happen, or is not in the trace."""

    device: str
    serial: int
    raised: int
    event: Event
    thread: int
    vmid: int
    va: int
    write: bool
    retry: bool
    stall: Stall | None = None  # stall of the queue that raised the fault
    engine: int = -1  # number of the engine; -1: unknown
    acknowledged: int = 0
    replayed: int = 0  # time of the first replay
    # The members below come from the driver's trace.
    received: int = 0
    pasid: int = 0
    process: int = 0  # id of the process with that PASID
    answered: int = 0  # time when the driver wrote the acknowledgement
    service: Span | None = None

    @property
    def end(self) -> int:
        """The end of the fault's slice in the timeline, in ns since 1970."""
        if self.stall:
            return self.stall.end
        return max(self.acknowledged, self.raised)


class Device:
    """The faults and stalls of a recording, of all devices together. `faults` are sorted by `raised`. `stalls` are in
    the order in which they ended in the log."""

    def __init__(self, events: Iterable[Event]) -> None:
        self.faults: list[Fault] = []
        self.stalls: list[Stall] = []
        self.resets: list[Event] = []
        self.names: set[str] = set()  # names of all devices in the log
        self.last = 0
        self._open: dict[tuple[str, int, int], Stall] = {}
        self._serial: dict[tuple[str, int], Fault] = {}
        self._engine: dict[int, int] = {}  # engine by thread
        for event in events:
            self.last = event.at
            self.names.add(event.who)
            if take := getattr(self, f"_{event.name.removeprefix('vgpu_')}", None):
                take(event)
        for stall in list(self._open.values()):
            self._end(stall, self.last, "the trace ends")
        for fault in self.faults:
            fault.engine = self._engine.get(fault.thread, -1)

    def _fault(self, event: Event) -> None:
        number = event.number
        fault = Fault(
            device=event.who,
            serial=number("serial"),
            raised=event.at,
            event=event,
            thread=event.thread,
            vmid=number("vmid"),
            va=number("va"),
            write=number("write") == 1,
            retry=number("retry") == 1,
        )
        self.faults.append(fault)
        self._serial[fault.device, fault.serial] = fault
        if not fault.retry:
            # A no-retry fault ends the queue's stall, because the access goes to the default page.
            for stall in list(self._open.values()):
                if (stall.device, stall.thread, stall.va) == (fault.device, fault.thread, fault.va):
                    self._end(stall, event.at, "met a no-retry entry")

    def _stall(self, event: Event) -> None:
        key = self._key(event)
        number = event.number
        serial, va, write = number("serial"), number("va"), number("write") == 1
        self._engine[event.thread] = key[1]
        fault = self._serial.get((event.who, serial)) if serial else None
        ours = fault is not None and fault.stall is None and fault.thread == event.thread
        begin = fault.raised if fault and ours else event.at
        if before := self._open.get(key):
            if (before.serial, before.va, before.write) == (serial, va, write):
                return  # the queue repeated the walk, and is still stalled
            self._end(before, begin, "faulted again" if before.va == va else "went elsewhere")
        stall = Stall(event.who, key[1], key[2], event.thread, number("vmid"), va, write, serial, number("why"), begin)
        stall.fault = fault
        if fault and ours:
            fault.stall = stall
        self._open[key] = stall

    def _replay(self, event: Event) -> None:
        if stall := self._open.get(self._key(event)):
            self._end(stall, event.at, "replayed")
        fault = self._serial.get((event.who, event.number("serial")))
        if fault and not fault.replayed:
            fault.replayed = event.at

    def _cam_ack(self, event: Event) -> None:
        fault = self._serial.get((event.who, event.number("serial")))
        if fault and event.number("used") and not fault.acknowledged:
            fault.acknowledged = event.at

    def _cp_sdma_unmap(self, event: Event) -> None:
        if stall := self._open.get(self._key(event)):
            self._end(stall, event.at, "the queue left the engine")

    def _queue(self, event: Event) -> None:
        if (stall := self._open.get(self._key(event))) and not event.number("cntl") & RB_ENABLE:
            self._end(stall, event.at, "the queue left the engine")

    def _cp_stop(self, event: Event) -> None:
        if stall := self._open.get((event.who, SDMA_ENGINES, event.number("queue"))):
            self._end(stall, event.at, "the queue left the engine")

    def _chip_reset(self, event: Event) -> None:
        self.resets.append(event)
        for stall in list(self._open.values()):
            if stall.device == event.who:
                self._end(stall, event.at, "reset")

    def _engine_reset(self, event: Event) -> None:
        self.resets.append(event)
        for stall in list(self._open.values()):
            if (stall.device, f"sdma{stall.engine}") == (event.who, event.text.split()[0]):
                self._end(stall, event.at, "reset")

    def _end(self, stall: Stall, at: int, how: str) -> None:
        stall.end, stall.how = max(at, stall.begin), how
        del self._open[stall.device, stall.engine, stall.queue]
        self.stalls.append(stall)

    @staticmethod
    def _key(event: Event) -> tuple[str, int, int]:
        """Return the key of a queue in `_open`: device, engine, queue."""
        return event.who, int(event.text.split()[0].removeprefix("sdma")), event.number("queue")


def engine_name(engine: int) -> str:
    """Return the name of an engine for the timeline. `engine` is an id (see SDMA_ENGINES)."""
    return f"sdma{engine}" if engine < SDMA_ENGINES else "compute"
