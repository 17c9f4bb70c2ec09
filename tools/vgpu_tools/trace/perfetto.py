# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes and reads timelines in Perfetto's format: processes, their threads, nested slices on the threads, and
flows."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TracePacket, TrackDescriptor, TrackEvent

from vgpu_tools.base.errors import Failure

SEQUENCE = 1  # id of the packets' only writer
Value = int | str | bool


@dataclass
class Slice:
    """A slice or, if `instant` is set, an instant on a track. Times are in ns since the trace's start."""

    begin: int
    end: int
    name: str
    category: str = ""
    args: dict[str, Value] = field(default_factory=dict)
    flows: list[int] = field(default_factory=list)  # ids of the slice's flows
    last: bool = False  # True: `flows` end in this slice; False: `flows` start or continue in this slice
    instant: bool = False
    process: str = ""  # only read() sets process and thread
    thread: str = ""


class Timeline:
    """A trace of processes and their threads. A thread has a track with slices, or several tracks if slices overlap
    without nesting. The threads of a process are in the order of their first use."""

    def __init__(self) -> None:
        self._processes: dict[str, int] = {}  # pid by name
        self._threads: dict[tuple[str, str], list[Slice]] = {}
        self._tids: dict[tuple[str, str], int] = {}

    def process(self, name: str, pid: int) -> str:
        """Add a process. If the process already exists, its pid does not change. Return `name`, for use as an argument
        of add()."""
        self._processes.setdefault(name, pid)
        return name

    def add(self, process: str, thread: str, piece: Slice, tid: int = 0) -> None:
        """Add a slice to a thread of a process. With tid 0 the track has a name, but no thread id."""
        self._tids.setdefault((process, thread), tid)
        self._threads.setdefault((process, thread), []).append(piece)

    def write(self, path: Path) -> None:
        """Write the timeline to a file, which is replaced if it exists. Slices of a process are left
        out if process() was not called for the process. Raises OSError if the file cannot be
        written."""
        trace = Trace()
        steps: list[tuple[int, int, TracePacket]] = []
        uuid = 0
        for process, pid in self._processes.items():
            uuid += 1
            parent = uuid
            described = _describe(trace, parent)
            described.process.pid = pid
            described.process.process_name = process
            for (owner, thread), slices in self._threads.items():
                if owner != process:
                    continue
                for number, lane in enumerate(_lanes(slices)):
                    uuid += 1
                    described = _describe(trace, uuid)
                    described.parent_uuid = parent
                    tid = self._tids[owner, thread]
                    if number or not tid:
                        described.name = f"{thread} ({number + 1})" if number else thread
                    else:
                        described.thread.pid = pid
                        described.thread.tid = tid
                        described.thread.thread_name = thread
                    for packet in _packets(lane, uuid):
                        steps.append((packet.timestamp, len(steps), packet))
        trace.packet.extend(packet for _, _, packet in sorted(steps, key=lambda step: step[:2]))
        trace.packet[0].sequence_flags = TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
        path.write_bytes(trace.SerializeToString())


def _describe(trace: Trace, uuid: int) -> TrackDescriptor:
    packet = trace.packet.add()
    packet.trusted_packet_sequence_id = SEQUENCE
    packet.track_descriptor.uuid = uuid
    return packet.track_descriptor


class _Lane:
    """Slices sorted by `begin`. Of any two slices, one contains the other, or they do not overlap."""

    def __init__(self) -> None:
        self.slices: list[Slice] = []
        self._ends: list[int] = []  # ends of the slices that are still open

    def take(self, piece: Slice) -> bool:
        """Add a slice. Return False, and do not add the slice, if it overlaps a slice of the lane without nesting in
        that slice."""
        ends = self._ends
        while ends and (ends[-1] < piece.begin or (ends[-1] == piece.begin and piece.end > piece.begin)):
            ends.pop()
        if ends and piece.end > ends[-1]:
            return False
        self.slices.append(piece)
        if not piece.instant:
            ends.append(piece.end)
        return True


def _lanes(slices: Iterable[Slice]) -> list[list[Slice]]:
    """Divide slices into lanes. Two slices of a lane either nest or do not overlap. Each slice goes
    to the first lane that can take the slice; if there is none, a lane is added."""
    lanes: list[_Lane] = []
    for piece in sorted(slices, key=lambda each: (each.begin, -each.end)):
        if not any(lane.take(piece) for lane in lanes):
            lanes.append(_Lane())
            lanes[-1].take(piece)
    return [lane.slices for lane in lanes]


def _packets(lane: Iterable[Slice], uuid: int) -> Iterator[TracePacket]:
    """Yield the packets for begin and end of nested slices, in the order of time."""
    ends: list[int] = []
    for piece in lane:
        while ends and (ends[-1] < piece.begin or (ends[-1] == piece.begin and piece.end > piece.begin)):
            yield _packet(ends.pop(), uuid, TrackEvent.TYPE_SLICE_END)
        kind = TrackEvent.TYPE_INSTANT if piece.instant else TrackEvent.TYPE_SLICE_BEGIN
        packet = _packet(piece.begin, uuid, kind)
        packet.track_event.name = piece.name
        packet.track_event.categories.append(piece.category)
        (packet.track_event.terminating_flow_ids if piece.last else packet.track_event.flow_ids).extend(piece.flows)
        for key, value in piece.args.items():
            _annotate(packet.track_event, key, value)
        yield packet
        if not piece.instant:
            ends.append(piece.end)
    while ends:
        yield _packet(ends.pop(), uuid, TrackEvent.TYPE_SLICE_END)


def _packet(at: int, uuid: int, kind: int) -> TracePacket:
    packet = TracePacket()
    packet.trusted_packet_sequence_id = SEQUENCE
    packet.timestamp = at
    packet.track_event.type = kind
    packet.track_event.track_uuid = uuid
    return packet


def _annotate(event: TrackEvent, key: str, value: Value) -> None:
    note = event.debug_annotations.add()
    note.name = key
    if isinstance(value, bool):
        note.bool_value = value
    elif isinstance(value, str):
        note.string_value = value
    elif key == "address":
        note.pointer_value = value
    else:
        note.int_value = value


def read(path: Path) -> list[Slice]:
    """Return the slices and instants of a file, sorted by `begin`. Raises Failure if a track lacks its process
    or descriptor, if the time goes back, or if a slice lacks its begin or end."""
    trace = Trace()
    trace.ParseFromString(path.read_bytes())
    tracks: dict[int, tuple[str, str]] = {}
    processes: dict[int, str] = {}
    open_slices: dict[int, list[Slice]] = {}
    found = []
    last = 0
    for packet in trace.packet:
        if packet.HasField("track_descriptor"):
            described = packet.track_descriptor
            if described.HasField("process"):
                processes[described.uuid] = described.process.process_name
            elif described.parent_uuid not in processes:
                raise Failure(f"{path}: track {described.uuid} has no process")
            else:
                name = described.thread.thread_name if described.HasField("thread") else described.name
                tracks[described.uuid] = (processes[described.parent_uuid], name)
            continue
        event = packet.track_event
        if packet.timestamp < last:
            raise Failure(f"{path}: time goes back at {packet.timestamp}")
        last = packet.timestamp
        if event.track_uuid not in tracks:
            raise Failure(f"{path}: track {event.track_uuid} has no descriptor")
        stack = open_slices.setdefault(event.track_uuid, [])
        if event.type == TrackEvent.TYPE_SLICE_END:
            if not stack:
                raise Failure(f"{path}: a slice ends at {last} without a begin")
            stack.pop().end = last
            continue
        piece = Slice(last, -1, event.name, "".join(event.categories))
        piece.process, piece.thread = tracks[event.track_uuid]
        piece.args = {note.name: getattr(note, note.WhichOneof("value")) for note in event.debug_annotations}
        piece.flows = [*event.flow_ids, *event.terminating_flow_ids]
        piece.last = bool(event.terminating_flow_ids)
        piece.instant = event.type == TrackEvent.TYPE_INSTANT
        if piece.instant:
            piece.end = last
        else:
            stack.append(piece)
        found.append(piece)
    if left := [piece.name for stack in open_slices.values() for piece in stack]:
        raise Failure(f"{path}: {left[0]} has no end")
    return found
