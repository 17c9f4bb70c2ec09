# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests the data of the pictures "svm-life" and "one-fault". Catches: a picture shows an event that did not happen, or
a wrong time or process."""

from avocado import Test

from vgpu_tools.base.errors import Failure
from vgpu_tools.docs.site import axis
from vgpu_tools.trace import life, one_fault, timeline
from vgpu_tools.trace.record import Recording

# The driver handles both faults of range A (0x5000, 0x6000) together. The picture svm-life does not show the fault of
# range B (0x9000), because no panel covers its time.
DEVICE = """\
7@1000000001.000500:vgpu_fault gpu0 hub=1 vmid=3 va=0x5000 write=0 retry=1 serial=1 cam=0
7@1000000001.000501:vgpu_stall gpu0 sdma0 queue=2 vmid=3 va=0x5000 write=0 why=4 serial=1
8@1000000001.000510:vgpu_fault gpu0 hub=1 vmid=3 va=0x6000 write=0 retry=1 serial=2 cam=1
8@1000000001.000511:vgpu_stall gpu0 sdma1 queue=2 vmid=3 va=0x6000 write=0 why=4 serial=2
6@1000000001.000700:vgpu_cam_ack gpu0 cam=0 used=1 serial=1
7@1000000001.000705:vgpu_replay gpu0 sdma0 queue=2 vmid=3 va=0x5000 write=0 serial=1
6@1000000001.000710:vgpu_cam_ack gpu0 cam=1 used=1 serial=2
8@1000000001.000712:vgpu_replay gpu0 sdma1 queue=2 vmid=3 va=0x6000 write=0 serial=2
7@1000000001.000900:vgpu_fault gpu0 hub=1 vmid=3 va=0x9000 write=0 retry=1 serial=3 cam=0
7@1000000001.000901:vgpu_stall gpu0 sdma0 queue=2 vmid=3 va=0x9000 write=0 why=4 serial=3
6@1000000001.000960:vgpu_cam_ack gpu0 cam=0 used=1 serial=3
7@1000000001.000970:vgpu_replay gpu0 sdma0 queue=2 vmid=3 va=0x9000 write=0 serial=3
"""
# Process 70 (PASID 9) is the program vgpu-svm-life; process 80 (PASID 8) is another program. The time stamps in
# GUEST are in ns. Time 0 in GUEST is the time 1000000000.000000 (in s) in DEVICE.
GUEST = """\
== before
faults_retry 0
== after
faults_retry 3
== lost
overrun: 0
== trace
sh-66 (     66) [000] ..... 900000000: tracing_mark_write: vgpu begin
life-70 (     70) [001] ..... 1000000000: tracing_mark_write: vgpu life opens /dev/kfd
life-70 (     70) [001] ..... 1000010000: vgpu_process_alloc: pid=70
life-70 (     70) [001] ..... 1000020000: svm_list_init: pid=70 pasid=9
life-70 (     70) [001] ..... 1000025000: vgpu_process_hash: pid=70
other-80 (     80) [000] ..... 1000026000: svm_list_init: pid=80 pasid=8
other-80 (     80) [000] ..... 1000027000: svm_range_insert: pasid=8 [0x5 0x6]
life-70 (     70) [001] ..... 1000100000: tracing_mark_write: vgpu life SET_ATTR of A
life-70 (     70) [001] ..... 1000110000: svm_range_insert: pasid=9 [0x5 0x6]
life-70 (     70) [001] ..... 1000120000: tracing_mark_write: vgpu life SET_ATTR of B
life-70 (     70) [001] ..... 1000130000: svm_range_insert: pasid=9 [0x9 0xa]
life-70 (     70) [001] ..... 1000400000: tracing_mark_write: vgpu life a queue reads A
kw-10 (     10) [0] ..... 1000520000: svm_fault: gpu=0xa serial=1 pasid=9 vmid=3 page=0x5 read retry cam=0 ts=100
kw-10 (     10) [0] ..... 1000521000: svm_fault: gpu=0xa serial=2 pasid=9 vmid=3 page=0x6 read retry cam=1 ts=101
kw-10 (     10) [0] ..... 1000550000: svm_migrate_begin: pasid=9 gpu=0xa to vram first=0x5 pages=2
kw-10 (     10) [0] ..... 1000650000: svm_migrate: pasid=9 gpu=0xa to vram first=0x5 pages=2 moved=2 by gpu fault
kw-10 (     10) [0] ..... 1000690000: svm_service: serial=1 pasid=9 page=0x5 repaired [0x5 0x6]
kw-10 (     10) [0] ..... 1000700000: vgpu_cam_ack: cam=0
kw-10 (     10) [0] ..... 1000710000: vgpu_cam_ack: cam=1
life-70 (     70) [001] ..... 1000800000: tracing_mark_write: vgpu life the copy is complete
kw-10 (     10) [0] ..... 1000920000: svm_fault: gpu=0xa serial=3 pasid=9 vmid=3 page=0x9 read retry cam=0 ts=140
kw-10 (     10) [0] ..... 1000930000: svm_migrate_begin: pasid=9 gpu=0xa to vram first=0x9 pages=2
kw-10 (     10) [0] ..... 1000940000: svm_migrate: pasid=9 gpu=0xa to vram first=0x9 pages=2 moved=2 by gpu fault
kw-10 (     10) [0] ..... 1000950000: svm_service: serial=3 pasid=9 page=0x9 repaired [0x9 0xa]
kw-10 (     10) [0] ..... 1000960000: vgpu_cam_ack: cam=0
life-70 (     70) [001] ..... 1002000000: tracing_mark_write: vgpu life munmap of B
life-70 (     70) [001] ..... 1002010000: svm_unmap: pasid=9 [0x9 0xa] event=0
other-80 (     80) [000] ..... 1002011000: svm_unmap: pasid=8 [0x5 0x6] event=0
kworker/0-11 (     11) [0] ..... 1002050000: svm_range_unlink: pasid=9 [0x9 0xa]
life-70 (     70) [001] ..... 1003000000: tracing_mark_write: vgpu life exits
life-70 (     70) [001] ..... 1003100000: svm_unmap: pasid=9 [0x5 0x6] event=5
life-70 (     70) [001] ..... 1003200000: vgpu_process_unhash: pid=70
life-70 (     70) [001] ..... 1003300000: svm_list_drain: pid=70 pasid=9
kworker/1-12 (     12) [1] ..... 1008000000: svm_list_fini: pid=70 pasid=9
kworker/1-12 (     12) [1] ..... 1008010000: svm_list_idle: pid=70 pasid=9
kworker/1-12 (     12) [1] ..... 1008020000: svm_range_unlink: pasid=9 [0x5 0x6]
kworker/1-12 (     12) [1] ..... 1008030000: svm_list_empty: pid=70 pasid=9
kworker/1-12 (     12) [1] ..... 1008100000: svm_list_free: pid=70 pasid=9
kworker/1-12 (     12) [1] ..... 1008500000: vgpu_process_free: pid=70
sh-66 (     66) [000] ..... 1800000000: tracing_mark_write: vgpu end
== end
"""
SECOND = 1_000_000_000
START = SECOND * SECOND  # start of the recording, in ns since 1970


def joined(guest: str = GUEST) -> timeline.Sides:
    """Return the device's and the driver's side of the recording. `guest` is the text that the guest recorded."""
    return timeline.join(Recording(DEVICE, guest, (START, 0), (START + 2 * SECOND, 2 * SECOND)))


def without(name: str, guest: str = GUEST) -> str:
    return "".join(f"{line}\n" for line in guest.splitlines() if name not in line)


class Life(Test):
    """The numbers in the picture svm-life."""

    def test_marks(self) -> None:
        """Catches: an event is lost, or has a wrong time or lane; an event of another process is shown; a repair
        appears twice."""
        sides = joined()
        self.assertEqual(sides.doubts, [])
        creation, teardown = life.life(sides).panels
        # The driver repaired both faults of range A (raised at 500.0 and 510.0) together. So the repair has only one
        # mark, at 690.0. The fault of range B has no mark, because this fault came between the times of the two panels.
        self.assertEqual([(mark.at, mark.lane) for mark in creation.marks], [
            (0.0, "program"), (10.0, "process"), (20.0, "range list"), (25.0, "process"), (100.0, "program"),
            (110.0, "range A"), (120.0, "program"), (130.0, "range B"), (400.0, "program"), (500.0, "fault"),
            (510.0, "fault"), (520.0, "fault"), (521.0, "fault"), (550.0, "migration"), (650.0, "migration"),
            (690.0, "fault"), (705.0, "fault"), (712.0, "fault"), (800.0, "program"),
        ])  # fmt: skip
        self.assertEqual([(mark.at, mark.lane) for mark in teardown.marks], [
            (0.0, "program"), (10.0, "notifier"), (50.0, "range B"), (1000.0, "program"), (1100.0, "notifier"),
            (1200.0, "process"), (1300.0, "range list"), (6000.0, "range list"), (6010.0, "range list"),
            (6020.0, "range A"), (6030.0, "range list"), (6100.0, "range list"), (6500.0, "process"),
        ])  # fmt: skip
        self.assertEqual((creation.length, teardown.length), (800.0, 6500.0))
        texts = [mark.text for mark in teardown.marks if mark.lane == "notifier"]
        self.assertEqual(texts, ["munmap: GPU entries of B cleared", "exit: GPU entries of A cleared"])

    def test_bars(self) -> None:
        """Catches: the bar of an object is too long or too short, or is on the lane of another
        object."""
        creation, teardown = life.life(joined()).panels
        bars = {(bar.lane, bar.begin, bar.end) for bar in creation.bars}
        self.assertEqual(bars, {
            ("process", 10.0, 800.0), ("range list", 20.0, 800.0), ("range A", 110.0, 800.0),
            ("range B", 130.0, 800.0), ("fault", 500.0, 705.0), ("fault", 510.0, 712.0), ("migration", 550.0, 650.0),
        })  # fmt: skip
        bars = {(bar.lane, bar.begin, bar.end) for bar in teardown.bars}
        self.assertEqual(bars, {
            ("process", 0.0, 6500.0), ("range list", 0.0, 6100.0), ("range A", 0.0, 6020.0), ("range B", 0.0, 50.0),
        })  # fmt: skip

    def test_text(self) -> None:
        """Catches: the numbers in the text beside the picture differ from the numbers in the
        picture."""
        found = life.life(joined())
        for words in (
            "19 events in 800 us",
            "13 events in 6500 us",
            "list created 20 us after the open",
            "4800 us after the process left the hash",
            "teardown took 100 us",
        ):
            self.assertIn(words, found.text)
        lanes = {mark.lane for panel in found.panels for mark in panel.marks}
        self.assertEqual(set(found.lanes), lanes)

    def test_broken(self) -> None:
        """Catches: a picture is drawn of a recording that lacks an event or a step."""
        for name in (
            "svm_list_init: pid=70",
            "svm_list_fini",
            "svm_list_free",
            "vgpu_process_free",
            "vgpu_process_unhash",
            "svm_range_insert: pasid=9 [0x9",
            "svm_range_unlink: pasid=9 [0x5",
            "svm_migrate",
            "munmap of B",
            "the copy is complete",
        ):
            with self.assertRaisesRegex(Failure, "pictures: the run of vgpu-svm-life has no"):
                life.life(joined(without("svm_list_init: pid=80", without(name))))


class OneFault(Test):
    """The data of the picture "one-fault", which shows the phases of one fault."""

    def test_choice(self) -> None:
        """Catches: one_fault() does not choose the fault with the median latency; one_fault() chooses a
        fault without a migration, or a fault without a service of its own. (The service of one fault can
        also repair other faults.)"""
        self.assertEqual(one_fault.one_fault(joined()).serial, 3)
        slow = one_fault.one_fault(joined(without("first=0x9")))
        self.assertEqual(slow.serial, 1)
        with self.assertRaisesRegex(Failure, "no repaired fault that migrated"):
            one_fault.one_fault(joined(without("svm_migrate")))
        with self.assertRaisesRegex(Failure, "no repaired fault that migrated"):
            one_fault.one_fault(joined(without("svm_migrate_begin")))

    def test_times(self) -> None:
        """Catches: a phase of the fault begins or ends at a wrong event; a track has another name in
        the picture than in Perfetto."""
        one = one_fault.one_fault(joined(without("first=0x9")))
        self.assertEqual((one.received, one.migration, one.answered, one.replayed), (20.0, (50.0, 150.0), 200.0, 205.0))
        self.assertEqual((one.service, one.kib, one.access), ((21.0, 190.0), 8, "read"))
        self.assertEqual(one.tracks["engine"], "gpu0: sdma0 queue 2")
        self.assertEqual(one.tracks["worker"], "vgpu_kfd (guest): gpu0 fault worker")
        for words in ("fault 1, read", "received after 20 us", "replayed after 205 us", "8 KiB 50 to 150 us"):
            self.assertIn(words, one.text)


class Axis(Test):
    """axis.ticks(), which both "svm-life" and "one-fault" use."""

    def test_ticks(self) -> None:
        """Catches: an axis has no ticks, too many ticks, or a tick beyond the end of the axis."""
        for length in (1.0, 9.5, 10.0, 99.9, 1234.0, 6500.0, 40000.0):
            found = axis.ticks(length)
            self.assertTrue(2 <= len(found) <= 7, (length, found))
            self.assertEqual((found[0], found[-1] <= length), (0.0, True), (length, found))
