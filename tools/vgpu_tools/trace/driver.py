# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds the driver's side of a trace: how fault workers handle faults ("services"); migrations and unmappings;
the life and the evictions of processes; recoveries; jobs."""

from bisect import bisect_left
from collections.abc import Iterable

from vgpu_tools.trace.device import Fault, Span
from vgpu_tools.trace.events import Event

KERNEL_THREADS = ("kworker/", "<idle>", "ksoftirqd", "kswapd", "rcu")
# Tracepoints for the life of a process, of its SVM range list and of its ranges, with the name of each in the timeline.
LIFE = {
    "vgpu_process_alloc": "process allocated",
    "vgpu_process_hash": "process hashed",
    "vgpu_process_unhash": "process unhashed",
    "vgpu_process_free": "process freed",
    "svm_list_init": "range list created",
    "svm_list_drain": "faults are not repaired any more",
    "svm_list_fini": "teardown of the range list begins",
    "svm_list_idle": "no work item runs",
    "svm_list_empty": "all ranges removed",
    "svm_list_free": "range list freed",
    "svm_range_insert": "range inserted",
    "svm_range_unlink": "range removed",
}


class Driver:
    """Spans of the driver, from its tracepoints. The events have already been converted to the host's time."""

    def __init__(self, events: Iterable[Event], joined: dict[int, Fault]) -> None:
        """`joined` maps id() of an `svm_fault` event to the fault in the device's trace."""
        self.services: list[Span] = []
        self.migrations: list[Span] = []
        self.unmaps: list[Span] = []
        self.life: list[Span] = []  # instants: the events of LIFE
        self.evictions: list[Span] = []
        self.recoveries: list[Span] = []
        self.jobs: list[Span] = []  # `thread` is the number of the engine
        self.names: dict[int, str] = {}  # by process id: the name of the process's first thread in the trace
        self._owners: dict[int, int] = {}  # by PASID: the last process that had the PASID, because PASIDs are reused
        self.unmatched = 0  # number of `svm_fault` events whose fault is not in the device's trace
        self._joined = joined
        self._batch: dict[int, dict[int, Fault]] = {}  # by thread and CAM slot: faults not yet acknowledged
        self._idle: dict[int, int] = {}  # by thread: time of the last received fault, service or acknowledgement
        self._services: dict[int, list[Span]] = {}  # by thread, in the order of their end
        self._moving: dict[int, int] = {}  # by thread: start of the migration that has not ended
        self._off: dict[int, Event] = {}  # by process id: the eviction that has not ended
        self._reset: dict[int, Event] = {}  # by thread: the start of the reset
        self._submitted: dict[tuple[int, int], Event] = {}  # jobs in flight, by engine and seqno
        self._done: dict[int, int] = {}  # by engine: time when its last job completed
        last = 0
        for event in events:
            last = event.at
            if event.name in LIFE:
                self._alive(event)
            elif take := getattr(self, f"_{event.name}", None):
                take(event)
        for pid, event in self._off.items():
            self.evictions.append(
                Span(event.at, last, "queues off", pid, event.who, pid, args={"end": "the trace ends"})
            )

    def _svm_fault(self, event: Event) -> None:
        self._idle[event.thread] = event.at
        self._moving.pop(event.thread, None)
        fault = self._joined.get(id(event))
        if not fault:
            self.unmatched += 1
            return
        fault.received, fault.pasid = event.at, event.number("pasid")
        fault.process = self._owners.get(fault.pasid, 0)
        if fault.retry:
            self._batch.setdefault(event.thread, {})[event.number("cam")] = fault

    def _svm_service(self, event: Event) -> None:
        verdict = event.text.split("]")[0].split("[")[0].split()[-1]
        span = Span(self._idle.get(event.thread, event.at), event.at, verdict, event.thread, event.who)
        span.args = {"serial": event.number("serial"), "pasid": event.number("pasid"), "verdict": verdict}
        span.args["pages"] = event.text[event.text.index("[") :]
        self._moving.pop(event.thread, None)
        self._idle[event.thread] = event.at
        self.services.append(span)
        self._services.setdefault(span.thread, []).append(span)

    def _vgpu_cam_ack(self, event: Event) -> None:
        """Join the acknowledged fault with the last service of the same thread: each gets a reference to
        the other. This service may have been for another fault, because one service can repair the
        pages of several faults."""
        self._idle[event.thread] = event.at
        fault = self._batch.get(event.thread, {}).pop(event.number("cam"), None)
        if fault and event.thread in self._services:
            span = self._services[event.thread][-1]
            fault.answered, fault.service = event.at, span
            span.device = fault.device
            span.faults.append(fault)

    def _svm_migrate_begin(self, event: Event) -> None:
        self._moving[event.thread] = event.at

    def _svm_migrate(self, event: Event) -> None:
        words = event.text.split()
        name = f"migrate to {words[words.index('to') + 1]}, {event.text.partition(' by ')[2]}"
        begin = self._moving.pop(event.thread, event.at)
        args: dict[str, int | str] = {key: event.number(key) for key in ("pasid", "pages", "moved")}
        args |= {"gpu_id": event.words["gpu"], "first": event.words["first"]}
        self.migrations.append(Span(begin, event.at, name, event.thread, event.who, event.process, args=args))
        self._note(event)

    def _svm_unmap(self, event: Event) -> None:
        args: dict[str, int | str] = {"pasid": event.number("pasid"), "pages": event.text[event.text.index("[") :]}
        self._note(event)
        self.unmaps.append(Span(event.at, event.at, "unmap", event.thread, event.who, event.process, args=args))

    def _vgpu_vm_map(self, event: Event) -> None:
        self._note(event)

    def _alive(self, event: Event) -> None:
        """Add an event to `life`, with the id of the process that the event is about. The task that
        caused the event may belong to another process."""
        if event.name == "svm_list_init":
            self._owners[event.number("pasid")] = event.number("pid")
            self._note(event)
        # An event of a range has no process id, but the PASID of the process.
        pid = event.number("pid") if "pid" in event.words else self._owners.get(event.number("pasid"), 0)
        if not pid:
            return  # the process was created before the recording
        args: dict[str, int | str] = {"pages": event.text[event.text.index("[") :]} if "[" in event.text else {}
        args["thread"] = f"{event.who} {event.thread}"
        self.life.append(Span(event.at, event.at, LIFE[event.name], event.thread, event.who, pid, args=args))

    def around(self, span: Span) -> Span | None:
        """Return the service that contains the span: the same thread ran both, and the service lasted
        for the whole time of the span. Return None if there is no such service."""
        services = self._services.get(span.thread, [])
        at = bisect_left(services, span.end, key=lambda service: service.end)
        return services[at] if at < len(services) and services[at].begin <= span.begin else None

    def _note(self, event: Event) -> None:
        """Record the name of the process that caused the event, unless this is a kernel thread."""
        if not event.who.startswith(KERNEL_THREADS):
            self.names.setdefault(event.process, event.who)
            # Only the owner of a PASID causes `vgpu_vm_map`.
            if event.name == "vgpu_vm_map":
                self._owners[event.number("pasid")] = event.process

    def _vgpu_process_evict(self, event: Event) -> None:
        self._off.setdefault(event.number("pid"), event)

    def _vgpu_process_restore(self, event: Event) -> None:
        pid = event.number("pid")
        result = event.number("result")
        begin = event.at
        if not result and pid in self._off:
            begin = self._off.pop(pid).at
        args: dict[str, int | str] = {key: event.number(key) for key in ("result", "took_ms", "off_ms")}
        name = "queues off" if begin < event.at else "restore" if not result else "restore failed"
        self.evictions.append(Span(begin, event.at, name, pid, event.who, pid, args=args))

    def _vgpu_reset_begin(self, event: Event) -> None:
        self._reset[event.thread] = event

    def _vgpu_reset_end(self, event: Event) -> None:
        begin = self._reset.pop(event.thread, event)
        args: dict[str, int | str] = {"what": event.text.split()[0], "us": event.number("us")}
        args |= {"serial": begin.number("serial")} if "serial" in begin.words else {}
        self.recoveries.append(Span(begin.at, event.at, "recovery", event.thread, event.who, args=args))

    def _vgpu_sdma_submit(self, event: Event) -> None:
        self._submitted[event.number("engine"), event.number("seqno")] = event

    def _vgpu_sdma_done(self, event: Event) -> None:
        """Record the span of a job. The jobs of a ring run one after the other, so a job starts
        when it is submitted or when the job before it has completed, whichever is later."""
        engine = event.number("engine")
        if not (begin := self._submitted.pop((engine, event.number("seqno")), None)):
            return
        at = max(begin.at, self._done.get(engine, 0))
        self._done[engine] = event.at
        args: dict[str, int | str] = {"seqno": event.number("seqno"), "error": event.number("error")}
        args |= {"dwords": begin.number("dwords"), "submitted": begin.at}
        self.jobs.append(Span(at, event.at, "job", engine, begin.who, args=args))
