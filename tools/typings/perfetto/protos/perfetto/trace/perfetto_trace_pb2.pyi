# SPDX-License-Identifier: GPL-2.0-or-later
"""Types of Perfetto's generated messages, as far as vgpu_tools/trace/perfetto.py uses them."""

from collections.abc import Iterable, MutableSequence, Sequence
from typing import Literal, TypeVar, overload

_T = TypeVar("_T")

class _Messages(Sequence[_T]):
    def add(self) -> _T: ...
    def extend(self, items: Iterable[_T]) -> None: ...
    @overload
    def __getitem__(self, index: int) -> _T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[_T]: ...
    def __len__(self) -> int: ...

class _Message:
    def HasField(self, field_name: str) -> bool: ...
    def SerializeToString(self) -> bytes: ...
    def ParseFromString(self, serialized: bytes) -> int: ...

class ProcessDescriptor(_Message):
    pid: int
    process_name: str

class ThreadDescriptor(_Message):
    pid: int
    tid: int
    thread_name: str

class TrackDescriptor(_Message):
    uuid: int
    parent_uuid: int
    name: str
    @property
    def process(self) -> ProcessDescriptor: ...
    @property
    def thread(self) -> ThreadDescriptor: ...

class DebugAnnotation(_Message):
    name: str
    bool_value: bool
    string_value: str
    pointer_value: int
    int_value: int
    def WhichOneof(
        self, oneof_group: Literal["value"]
    ) -> Literal["bool_value", "string_value", "pointer_value", "int_value"]: ...

class TrackEvent(_Message):
    TYPE_SLICE_BEGIN: int
    TYPE_SLICE_END: int
    TYPE_INSTANT: int
    type: int
    track_uuid: int
    name: str
    @property
    def categories(self) -> MutableSequence[str]: ...
    @property
    def flow_ids(self) -> MutableSequence[int]: ...
    @property
    def terminating_flow_ids(self) -> MutableSequence[int]: ...
    @property
    def debug_annotations(self) -> _Messages[DebugAnnotation]: ...

class TracePacket(_Message):
    SEQ_INCREMENTAL_STATE_CLEARED: int
    trusted_packet_sequence_id: int
    timestamp: int
    sequence_flags: int
    @property
    def track_descriptor(self) -> TrackDescriptor: ...
    @property
    def track_event(self) -> TrackEvent: ...

class Trace(_Message):
    @property
    def packet(self) -> _Messages[TracePacket]: ...
