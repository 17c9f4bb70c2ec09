# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests ./vgpu trace -o FILE with the text of a recording. Catches: an event is joined to a wrong
fault; an event is left out; a time in the timeline is wrong."""

from pathlib import Path

from avocado import Test
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace

from vgpu_tools.base.errors import Failure
from vgpu_tools.trace import events, perfetto, timeline
from vgpu_tools.trace.perfetto import Slice, Timeline
from vgpu_tools.trace.record import Recording

# The faults with serial 1 of gpu0 and gpu1 have the same page and VMID. The driver repairs gpu0's fault and denies
# gpu1's fault.
DEVICE = """\
qemu-system-x86_64: something else
7@1000000001.000000:vgpu_fault gpu0 hub=1 vmid=3 va=0x5000 write=1 retry=1 serial=1 cam=0
7@1000000001.000002:vgpu_stall gpu0 sdma0 queue=2 vmid=3 va=0x5000 write=1 why=4 serial=1
8@1000000001.000003:vgpu_fault_merged gpu0 hub=1 vmid=3 va=0x5008 write=0 serial=1 cam=0
8@1000000001.000004:vgpu_stall gpu0 sdma1 queue=2 vmid=3 va=0x5008 write=0 why=4 serial=1
7@1000000001.000005:vgpu_stall gpu0 sdma0 queue=2 vmid=3 va=0x5000 write=1 why=4 serial=1
8@1000000001.000006:vgpu_fault gpu0 hub=1 vmid=3 va=0x6000 write=0 retry=1 serial=2 cam=1
8@1000000001.000007:vgpu_stall gpu0 sdma1 queue=3 vmid=3 va=0x6000 write=0 why=4 serial=2
6@1000000001.000100:vgpu_cam_ack gpu0 cam=0 used=1 serial=1
7@1000000001.000101:vgpu_replay gpu0 sdma0 queue=2 vmid=3 va=0x5000 write=1 serial=1
8@1000000001.000102:vgpu_replay gpu0 sdma1 queue=2 vmid=3 va=0x5008 write=0 serial=1
6@1000000001.000110:vgpu_cam_ack gpu0 cam=1 used=1 serial=2
8@1000000001.000111:vgpu_replay gpu0 sdma1 queue=3 vmid=3 va=0x6000 write=0 serial=2
9@1000000001.500000:vgpu_fault gpu1 hub=1 vmid=3 va=0x5000 write=1 retry=1 serial=1 cam=0
9@1000000001.500001:vgpu_stall gpu1 sdma0 queue=2 vmid=3 va=0x5000 write=1 why=4 serial=1
6@1000000001.500050:vgpu_queue gpu1 sdma0 queue=2 vmid=3 cntl=0x00001000 rptr=0x0 wptr=0x40
6@1000000001.500060:vgpu_cam_ack gpu1 cam=0 used=1 serial=1
9@1000000001.600000:vgpu_fault gpu1 hub=1 vmid=3 va=0x9000 write=0 retry=0 serial=2 cam=0
"""
# PASID 9 belongs to pid 70 during the faults, and to pid 90 afterwards. The times of the events in GUEST are
# in ns. Time 0 in GUEST is the time 1000000000.000000 in DEVICE.
GUEST = """\
== before
faults_retry 5
== after
faults_retry 8
faults_noretry 1
== lost
overrun: 0
dropped events: 0
== trace
# tracer: nop
              sh-66 [000] ..... 900000000: tracing_mark_write: vgpu begin
           prog-70 (     70) [001] ..... 950000000: vgpu_vm_map: pasid=9 [0x1 0x2] bo=0000000011 offset=0 flags=0x60
           prog-71 (     70) [001] ..... 951000000: vgpu_vm_map: pasid=9 [0x3 0x4] bo=0000000012 offset=0 flags=0x60
kworker/0-10 [0] ..... 1000020000: svm_fault: gpu=0xa0 serial=1 pasid=9 vmid=3 page=0x5 write retry cam=0 ts=100000000
kworker/0-10 [0] ..... 1000021000: svm_fault: gpu=0xa0 serial=2 pasid=9 vmid=3 page=0x6 read retry cam=1 ts=100000600
kworker/0-10 (-------) [0] ..... 1000025000: svm_migrate_begin: pasid=9 gpu=0x1 to vram first=0x5 pages=2
kworker/0-10 (-------) [0] ..... 1000030000: svm_unmap: pasid=9 [0x5 0x6] event=6
kworker/0-10 [0] ..... 1000080000: svm_migrate: pasid=9 gpu=0x1 to vram first=0x5 pages=2 moved=2 by gpu fault
kworker/0-10 (-------) [0] ..... 1000099000: svm_service: serial=1 pasid=9 page=0x5 repaired [0x5 0x6]
kworker/0-10 (-------) [0] ..... 1000100000: vgpu_cam_ack: cam=0
kworker/0-10 (-------) [0] ..... 1000109000: vgpu_cam_ack: cam=1
kworker/1-11 [0] ..... 1500020000: svm_fault: gpu=0xa1 serial=1 pasid=9 vmid=3 page=0x5 write retry cam=0 ts=150000000
kworker/1-11 [0] ..... 1500055000: svm_service: serial=1 pasid=9 page=0x5 denied [0x5 0x5]
kworker/1-11 [0] ..... 1500059000: vgpu_cam_ack: cam=0
kworker/1-11 [0] ..... 1600020000: svm_fault: gpu=0xa1 serial=2 pasid=9 vmid=3 page=0x9 read no-retry cam=0 ts=160000000
           prog-70 [001] ..... 1700000000: vgpu_process_evict: pid=70
kworker/1-11 [0] ..... 1700500000: vgpu_process_restore: pid=70 result=0 took_ms=1 off_ms=2
          other-90 (     90) [001] ..... 1710000000: vgpu_vm_map: pasid=9 [0x1 0x2] bo=0000000013 offset=0 flags=0x60
          other-90 (     90) [001] ..... 1711000000: svm_list_init: pid=90 pasid=6
kworker/1-11 [0] ..... 1712000000: svm_range_unlink: pasid=6 [0x5 0x6]
kworker/1-11 [0] ..... 1713000000: svm_range_unlink: pasid=7 [0x5 0x6]
              sh-66 [000] ..... 1800000000: tracing_mark_write: vgpu end
== end
"""
SECOND = 1_000_000_000
MICRO = 1000


class Converter(Test):
    """Recorded text, converted to a file and read back."""

    def convert(self, device: str = DEVICE, guest: str = GUEST) -> tuple[timeline.Outcome, list[Slice]]:
        start, end = (SECOND * SECOND, 0), (SECOND * SECOND + 2 * SECOND, 2 * SECOND)
        outcome = timeline.make(Recording(device, guest, start, end))
        path = Path(self.workdir) / "trace"
        outcome.timeline.write(path)
        return outcome, perfetto.read(path)

    def test_faults(self) -> None:
        """Catches: a fault is lost, repeated, or on a wrong track; a fault is linked to the driver's service (repair or
        denial) of another fault."""
        outcome, found = self.convert()
        self.assertEqual(outcome.doubts, [])
        faults = [piece for piece in found if piece.category == "fault"]
        self.assertEqual(
            [(piece.process, piece.thread, piece.args["serial"], piece.args["end"]) for piece in faults],
            [
                ("gpu0", "sdma0 queue 2, prog 70", 1, "replayed"),
                ("gpu0", "sdma1 queue 3, prog 70", 2, "replayed"),
                ("gpu1", "sdma0 queue 2, prog 70", 1, "the queue left the engine"),
                ("gpu1", "sdma0, not retried", 2, "no queue waits"),
            ],
        )
        self.assertEqual(
            [(piece.begin - SECOND, piece.end - piece.begin) for piece in faults[:2]],
            [(0, 101 * MICRO), (6 * MICRO, 105 * MICRO)],
        )
        self.assertEqual([piece.args.get("verdict") for piece in faults], ["repaired", "repaired", "denied", None])
        services = [piece for piece in found if piece.category == "service"]
        self.assertEqual([piece.args["faults"] for piece in services], [2, 1])
        self.assertEqual([piece.end - piece.begin for piece in services], [78 * MICRO, 35 * MICRO])
        self.assertEqual([sorted(piece.flows) for piece in services], [[1, 2], [1 << 32 | 1]])
        self.assertEqual([piece.thread for piece in services], ["gpu0 fault worker", "gpu1 fault worker"])

    def test_same(self) -> None:
        """Catches: a fault of one device is joined to a service of the other device. (Here, a fault of gpu0 and a fault
        of gpu1 have the same serial, page and VMID, and nearly the same time.)"""
        device = DEVICE.replace("1000000001.5000", "1000000001.0001")
        guest = GUEST.replace(" 15000", " 10001").replace("ts=150000000", "ts=100000000")
        outcome, found = self.convert(device=device, guest=guest)
        self.assertEqual(outcome.doubts, [])
        services = [piece for piece in found if piece.category == "service"]
        self.assertEqual(
            [(piece.thread, sorted(piece.flows)) for piece in services],
            [("gpu0 fault worker", [1, 2]), ("gpu1 fault worker", [1 << 32 | 1])],
        )

    def test_others(self) -> None:
        """Catches: a stall, a migration, an eviction or an event of a range list has a wrong track, serial, name or
        duration."""
        found = self.convert()[1]
        # Only a queue that waits for another queue's fault gets a stall. Here, sdma1 queue 2 waits for the fault of
        # sdma0 (serial 1).
        (stall,) = [piece for piece in found if piece.category == "stall"]
        self.assertEqual((stall.thread, stall.args["serial"]), ("sdma1 queue 2, prog 70", 1))
        (migration,) = [piece for piece in found if piece.category == "migration"]
        self.assertEqual((migration.thread, migration.end - migration.begin), ("gpu0 fault worker", 55 * MICRO))
        (off,) = [piece for piece in found if piece.category == "eviction"]
        self.assertEqual((off.process, off.name, off.end - off.begin), ("prog 70", "queues off", 500 * MICRO))
        # An event of an unknown process (PASID 7) gets no track.
        life = [(piece.process, piece.thread, piece.name) for piece in found if piece.category == "life"]
        self.assertEqual(
            life,
            [("other 90", "SVM state", "range list created"), ("other 90", "SVM state", "range removed")],
        )

    def test_clock(self) -> None:
        """Catches: the offset between the clocks is wrong; `doubts` (the inconsistencies) stays empty although no
        offset fits all events."""
        outcome, found = self.convert()
        # With the lower bound of the clock offset, gpu0's fault 2 reaches the driver after 0 us. With the upper bound,
        # this fault reaches the driver after 15 us. `clock_ns` is the difference of the two bounds.
        self.assertEqual(outcome.clock_ns, 15 * MICRO)
        # These times use the upper bound of the clock offset. This bound assumes that the driver's acknowledgement of
        # serial 1 reaches the device without delay.
        first = next(piece for piece in found if piece.category == "fault")
        self.assertEqual((first.args["ns to driver"], first.args["ns to acknowledge"]), (20 * MICRO, 100 * MICRO))
        late = GUEST.replace(" 1500059000: vgpu_cam_ack", " 1500159000: vgpu_cam_ack")
        self.assertIn("more than causes allow", self.convert(guest=late)[0].doubts[0])

    def test_doubts(self) -> None:
        """Catches: `doubts` lacks one of these inconsistencies: lost events; a wrong count of faults; a
        recording without the driver's events; a replay before the service of its fault."""
        self.assertIn("no room for 7", self.convert(guest=GUEST.replace("overrun: 0", "overrun: 7"))[0].doubts[0])
        counted = self.convert(guest=GUEST.replace("faults_noretry 1", "faults_noretry 2"))[0].doubts
        self.assertIn("counted 5 faults, their trace has 4", counted[0])
        outcome, found = self.convert(guest=GUEST.replace("== end", ""))
        self.assertIn("driver's part is missing", outcome.doubts[0])
        self.assertEqual(sum(piece.category == "fault" for piece in found), 4)
        early = DEVICE.replace("01.000101:vgpu_replay", "01.000010:vgpu_replay")
        self.assertIn("replayed before its service began", self.convert(device=early)[0].doubts[0])

    def test_sections(self) -> None:
        """Catches: counters() does not sum the values of a counter that has one line for each device."""
        self.assertEqual(events.counters("a 1\nb 2\na 3\nx y\n"), {"a": 4, "b": 2})


class File(Test):
    """Files in Perfetto's format."""

    def write(self, *pieces: Slice) -> Path:
        """Write slices, all on one thread, to a file."""
        timeline = Timeline()
        for piece in pieces:
            timeline.add(timeline.process("p", 7), "t", piece, 8)
        path = Path(self.workdir) / "file"
        timeline.write(path)
        return path

    def test_nesting(self) -> None:
        """Catches: a slice that is written to a file and read back has another begin or end; two slices on one track
        overlap, although none contains the other."""
        given = [(0, 10, "a"), (2, 5, "b"), (5, 10, "c"), (10, 20, "e"), (10, 10, "d"), (15, 25, "f")]
        found = perfetto.read(self.write(*(Slice(*each) for each in given)))
        self.assertEqual([(piece.begin, piece.end, piece.name) for piece in found], given)
        self.assertEqual([piece.thread for piece in found], ["t"] * 5 + ["t (2)"])

    def test_refused(self) -> None:
        """Catches: a malformed file is read without Failure."""
        path = self.write(Slice(1, 9, "a"), Slice(2, 3, "b"))
        for spoil in (
            lambda trace: trace.packet.pop(),
            lambda trace: trace.packet.pop(2),
            lambda trace: trace.packet.pop(1),
            lambda trace: setattr(trace.packet[-1], "timestamp", 0),
        ):
            trace = Trace()
            trace.ParseFromString(path.read_bytes())
            spoil(trace)
            bad = path.with_suffix(".bad")
            bad.write_bytes(trace.SerializeToString())
            with self.assertRaises(Failure):
                perfetto.read(bad)
