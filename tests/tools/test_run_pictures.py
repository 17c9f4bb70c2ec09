# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests the command ./vgpu pictures: the numbers of the pictures, computed from the text of a recording.
Catches: a picture shows a number that the run did not have. No test boots a guest or draws a picture."""

import json
import tempfile
from pathlib import Path
from typing import Any

from avocado import Test

from vgpu_tools.base.errors import Failure
from vgpu_tools.docs import run_pictures
from vgpu_tools.docs.site import axis
from vgpu_tools.trace import figures, runs, timeline
from vgpu_tools.trace.record import Recording

# Four faults, by serial:
# 1: The driver migrates memory when it handles the fault.
# 2: The device replays the access while the driver handles the fault.
# 3: The device replays the access before the driver receives the fault.
# 4: The driver denies the access.
DEVICE = """\
7@1000000001.000000:vgpu_fault gpu0 hub=1 vmid=3 va=0x5000 write=1 retry=1 serial=1 cam=0
7@1000000001.000001:vgpu_stall gpu0 sdma0 queue=2 vmid=3 va=0x5000 write=1 why=4 serial=1
6@1000000001.000100:vgpu_cam_ack gpu0 cam=0 used=1 serial=1
7@1000000001.000101:vgpu_replay gpu0 sdma0 queue=2 vmid=3 va=0x5000 write=1 serial=1
7@1000000001.000200:vgpu_fault gpu0 hub=1 vmid=3 va=0x6000 write=0 retry=1 serial=2 cam=0
7@1000000001.000201:vgpu_stall gpu0 sdma0 queue=2 vmid=3 va=0x6000 write=0 why=4 serial=2
7@1000000001.000226:vgpu_replay gpu0 sdma0 queue=2 vmid=3 va=0x6000 write=0 serial=2
6@1000000001.000230:vgpu_cam_ack gpu0 cam=0 used=1 serial=2
7@1000000001.000300:vgpu_fault gpu0 hub=1 vmid=3 va=0x7000 write=0 retry=1 serial=3 cam=0
7@1000000001.000301:vgpu_stall gpu0 sdma0 queue=2 vmid=3 va=0x7000 write=0 why=4 serial=3
7@1000000001.000310:vgpu_replay gpu0 sdma0 queue=2 vmid=3 va=0x7000 write=0 serial=3
6@1000000001.000340:vgpu_cam_ack gpu0 cam=0 used=1 serial=3
7@1000000001.000400:vgpu_fault gpu0 hub=1 vmid=3 va=0x8000 write=0 retry=1 serial=4 cam=0
7@1000000001.000401:vgpu_stall gpu0 sdma0 queue=2 vmid=3 va=0x8000 write=0 why=4 serial=4
6@1000000001.000435:vgpu_queue gpu0 sdma0 queue=2 vmid=3 cntl=0x00001000 rptr=0x0 wptr=0x40
6@1000000001.000440:vgpu_cam_ack gpu0 cam=0 used=1 serial=4
"""
# The driver's side of the four faults. Time stamps are in ns; time stamp 0 is 1,000,000,000 s after 1970.
GUEST = """\
== before
faults_retry 0
== after
faults_retry 4
== lost
overrun: 0
== trace
sh-66 (     66) [000] ..... 900000000: tracing_mark_write: vgpu begin
sh-66 (     66) [000] ..... 900010000: tracing_mark_write: vgpu sizes 67108864 1073741824
sh-67 (     67) [001] ..... 998000000: tracing_mark_write: vgpu memory 1048576 0
sh-66 (     66) [000] ..... 999000000: tracing_mark_write: vgpu phase first, of two
sh-67 (     67) [001] ..... 999500000: tracing_mark_write: vgpu memory 1048576 0
kw-10 (     10) [0] ..... 1000020000: svm_fault: gpu=0xa serial=1 pasid=9 vmid=3 page=0x5 write retry cam=0 ts=100
kw-10 (     10) [0] ..... 1000030000: svm_migrate_begin: pasid=9 gpu=0xa to vram first=0x5 pages=2
kw-10 (     10) [0] ..... 1000035000: svm_unmap: pasid=9 [0x5 0x6] event=6
kw-10 (     10) [0] ..... 1000060000: svm_migrate: pasid=9 gpu=0xa to vram first=0x5 pages=2 moved=2 by gpu fault
kw-10 (     10) [0] ..... 1000099000: svm_service: serial=1 pasid=9 page=0x5 repaired [0x5 0x6]
kw-10 (     10) [0] ..... 1000100000: vgpu_cam_ack: cam=0
kw-10 (     10) [0] ..... 1000210000: svm_fault: gpu=0xa serial=2 pasid=9 vmid=3 page=0x6 read retry cam=0 ts=120
kw-10 (     10) [0] ..... 1000220000: svm_migrate: pasid=9 gpu=0xa to vram first=0x6 pages=1 moved=-12 by gpu fault
kw-10 (     10) [0] ..... 1000228000: svm_service: serial=2 pasid=9 page=0x6 repaired [0x6 0x6]
kw-10 (     10) [0] ..... 1000230000: vgpu_cam_ack: cam=0
sh-66 (     66) [000] ..... 1000250000: tracing_mark_write: vgpu phase second
kw-10 (     10) [0] ..... 1000320000: svm_fault: gpu=0xa serial=3 pasid=9 vmid=3 page=0x7 read retry cam=0 ts=130
kw-10 (     10) [0] ..... 1000330000: svm_service: serial=3 pasid=9 page=0x7 stale [0x7 0x7]
kw-10 (     10) [0] ..... 1000340000: vgpu_cam_ack: cam=0
kw-10 (     10) [0] ..... 1000420000: svm_fault: gpu=0xa serial=4 pasid=9 vmid=3 page=0x8 read retry cam=0 ts=140
kw-10 (     10) [0] ..... 1000430000: svm_service: serial=4 pasid=9 page=0x8 denied [0x8 0x8]
kw-10 (     10) [0] ..... 1000440000: vgpu_cam_ack: cam=0
sh-67 (     67) [001] ..... 1000500000: tracing_mark_write: vgpu memory 1048576 0
prog-70 (     70) [001] ..... 1001500000: vgpu_bo_move: bo=0000000011 size=1048576 from vram to gtt evicted
prog-70 (     70) [001] ..... 1001600000: vgpu_bo_move: bo=0000000012 size=2097152 from system to gtt
prog-70 (     70) [001] ..... 1002100000: vgpu_bo_move: bo=0000000011 size=1048576 from gtt to vram
sh-67 (     67) [001] ..... 1002500000: tracing_mark_write: vgpu memory 2097152 1048576
kswapd0-40 (     40) [0] ..... 1002600000: svm_migrate: pasid=0 gpu=0xa to system first=0x5 pages=2 moved=2 by eviction
sh-66 (     66) [000] ..... 1003000000: tracing_mark_write: vgpu phase end
sh-66 (     66) [000] ..... 1800000000: tracing_mark_write: vgpu end
== end
"""
# The table that the demo printed during this recording.
ROWS = """\
│ step │ what was done                      │     bytes │ faults │ replays │      time │ verdict │
│      │ 1. A first part                    │           │        │         │           │         │
│ 1.1  │ a step, without bytes              │         0 │      0 │       0 │    0.1 ms │ ✓ holds │
│      │ 3. Memory from malloc, XNACK on    │           │        │         │           │         │
│ 3.1  │ engine faults its way              │   128 MiB │      3 │       3 │    0.4 ms │ ✗ FAILS │
│ 3.2  │ another step                       │    10 KiB │      1 │       0 │    9.9 ms │ ✓ holds │
"""
SECOND = 1_000_000_000
START = SECOND * SECOND  # start of the recording: 1,000,000,000 s since 1970, in ns


def joined(guest: str = GUEST) -> timeline.Sides:
    """Return the device's and the driver's side of the recording. `guest` is the text that the guest recorded."""
    return timeline.join(Recording(DEVICE, guest, (START, 0), (START + 2 * SECOND, 2 * SECOND)))


def rows() -> list[tuple[int, str]]:
    """Return the demo's rows, each with its time of arrival in ns since 1970. The rows of the last
    two steps (3.1 and 3.2) arrive at the same time."""
    at = {"1.1": 999_000, "3.1": 1_000_437, "3.2": 1_000_437}
    return [(START + at.get(line[2:5], 0) * 1000, line) for line in ROWS.splitlines()]


class Numbers(Test):
    """The numbers that the command `./vgpu pictures` computes from a recording."""

    def test_latency(self) -> None:
        """Catches: a section of a fault's latency (figures.PARTS) is too long or too short; a failed migration counts
        as a migration; a fault without a repair of its own is counted."""
        sides = joined()
        self.assertEqual(sides.doubts, [])
        cuts = [figures.cuts(fault) for fault in sides.device.faults]
        # Fault 3 is not counted, because the repair of another fault caused its replay. Fault 4 is not counted, because
        # it is denied.
        self.assertEqual(cuts, [[20.0, 79.0, 2.0], [10.0, 16.0, 0.0], None, None])
        found = figures.latency([sides, sides])
        self.assertEqual([group.name for group in found.groups], [figures.IN_PLACE, figures.MIGRATED])
        place, migrated = found.groups
        self.assertEqual((place.median, place.p99, place.parts), (26.0, 26.0, [10.0, 16.0, 0.0]))
        self.assertEqual((migrated.median, migrated.parts), (101.0, [20.0, 79.0, 2.0]))
        for group, us in ((place, 26), (migrated, 101)):
            (bin_,) = [number for number, count in enumerate(group.counts) if count]
            self.assertEqual(group.counts[bin_], 2)
            self.assertTrue(found.edges[bin_] <= us < found.edges[bin_ + 1], (found.edges, us))
        self.assertEqual(len(found.edges), len(place.counts) + 1)
        self.assertIn("4 left out", found.text)

    def test_pressure(self) -> None:
        """Catches: a fault or move is in a wrong bin; a rate has a wrong unit (correct: faults per ms, MiB per ms)."""
        found = figures.pressure(joined())
        self.assertEqual([(one.title, one.begin, one.end) for one in found.phases], [
            ("first, of two", 0.0, 1.25), ("second", 1.25, 4.0),
        ])  # fmt: skip
        self.assertEqual(found.bin_ms, 1)
        two_pages = round(2 / 256, 4)
        # The first placement of BO 12 and the failed migration of page 0x6 are no moves.
        self.assertEqual(found.rates, {
            "faults": [0.0, 4.0, 0.0, 0.0],
            "SVM to VRAM": [0.0, two_pages, 0.0, 0.0],
            "SVM to system": [0.0, 0.0, 0.0, two_pages],
            "BOs to VRAM": [0.0, 0.0, 0.0, 1.0],
            "BOs to GTT": [0.0, 0.0, 1.0, 0.0],
        })  # fmt: skip
        # Repeated samples are dropped, but each change of the memory in use stays.
        memory = found.memory
        self.assertEqual((memory.size, memory.times), (64.0, [-1.0, 1.5, 3.5]))
        self.assertEqual((memory.vram, memory.gtt), ([1.0, 1.0, 2.0], [0.0, 0.0, 1.0]))

    def test_bins(self) -> None:
        """Catches: a long run has more than figures.BINS bins; the value of a bin wider than 1 ms is not divided by the
        bin's width in ms."""
        end = "1003000000: tracing_mark_write: vgpu phase end"
        found = figures.pressure(joined(GUEST.replace(end, end.replace("1003", "1699"))))
        self.assertEqual((found.bin_ms, len(found.rates["faults"])), (5, 140))
        self.assertEqual(found.rates["faults"][0], 0.8)

    def test_demo(self) -> None:
        """Catches: a step has a wrong time, or overlaps another step; a fault or move is lost, or is counted outside of
        the time axis."""
        found = figures.demo(joined(), rows())
        self.assertEqual([(one.name, one.begin, one.end) for one in found.steps], [
            ("1.1", 0.0, 0.1), ("3.1", 1.137, 1.537), ("3.2", 1.537, 1.537),
        ])  # fmt: skip
        self.assertEqual([(one.name, one.title, one.begin, one.end) for one in found.parts], [
            ("1", "A first part", 0.0, 0.1), ("3", "Memory from malloc, XNACK on", 1.137, 1.537),
        ])  # fmt: skip
        self.assertEqual(found.spans["fault, raise to replay"], [(1.1, 1.201), (1.3, 1.326), (1.4, 1.41)])
        self.assertEqual(found.spans["fault, another end"], [(1.5, 1.535)])
        self.assertEqual(found.spans["SVM migrates to VRAM"], [(1.13, 1.16)])
        self.assertEqual(len(found.spans["service"]), 4)
        self.assertEqual(found.points["replay"], [1.201, 1.326, 1.41])
        late = [(at + 2_000_000 if "│ 3.2" in line else at, line) for at, line in rows()]
        self.assertEqual(found.points["BO moves to GTT"], [])
        self.assertEqual(figures.demo(joined(), late).points["BO moves to GTT"], [2.6])

    def test_nothing(self) -> None:
        """Catches: a picture is drawn of a run without faults, samples, phases or steps."""
        for lost, make in (
            ("vgpu sizes", figures.pressure),
            ("vgpu phase end", figures.pressure),
            ("vgpu memory", lambda sides: figures.demo(sides, rows())),
        ):
            with self.assertRaisesRegex(Failure, "pictures: the run has no"):
                make(joined(GUEST.replace(lost, "other")))
        with self.assertRaisesRegex(Failure, "no steps"):
            figures.demo(joined(), [])
        with self.assertRaisesRegex(Failure, "no repaired fault"):
            figures.latency([])

    def test_lines(self) -> None:
        """Catches: a line or a character that arrives in two pieces is not put together again."""
        lines = runs.Lines()
        for data in (b"a\nb", b"c \xe2\x94", b"\x82\nd"):
            lines(data)
        self.assertEqual([line for _, line in lines.lines], ["a", "bc │"])
        self.assertEqual(lines.text(), "a\nbc │\nd")


class Drawing(Test):
    """The parts of the drawing that do not need matplotlib."""

    def test_axis(self) -> None:
        """Catches: a later time has a lower position on the axis; a bar before the first step or after the last one is
        drawn; touching bars are not joined; there is no memory sample at the start or at the end of the axis."""
        steps: list[dict[str, Any]] = [
            {"name": "1.1", "begin": 0.0, "end": 1.0},
            {"name": "1.2", "begin": 1.0, "end": 401.0},
            {"name": "2.1", "begin": 405.0, "end": 405.0},
        ]
        warp = axis.Warp(steps)
        self.assertAlmostEqual(warp.length, axis.LENGTH)
        places = [warp.place(ms) for ms in (-1.0, 0.0, 0.5, 1.0, 200.0, 401.0, 403.0, 405.0, 500.0)]
        self.assertEqual(places, sorted(places))
        self.assertEqual((places[0], places[-1]), (0.0, warp.length))
        widths = {step["name"]: to - x for x, to, step in warp.columns}
        self.assertGreater(widths["1.2"], widths["1.1"])
        self.assertEqual(widths["2.1"], axis.COLUMN)
        memory = {"size": 9.0, "times": [-5.0, -2.0, 7.0, 500.0], "vram": [1.0, 2.0, 3.0, 4.0], "gtt": [0.0] * 4}
        used = warp.between(memory)
        self.assertEqual((used["times"], used["vram"]), ([0.0, 7.0, 405.0], [2.0, 3.0, 3.0]))
        self.assertEqual(warp.between({**memory, "times": [500.0] * 4})["times"], [])
        self.assertEqual(warp.bars([(-9.0, -1.0), (406.0, 407.0)]), [])
        self.assertEqual(len(warp.bars([(10.0, 20.0), (20.0, 30.0), (300.0, 300.0)])), 2)

    def test_times(self) -> None:
        """Catches: a duration has the wrong unit or too many digits."""
        for ms, text in ((0.41, "0.41 ms"), (38.2, "38 ms"), (410, "410 ms"), (1030, "1 s"), (12400, "12 s")):
            self.assertEqual(axis.duration(ms), text)
        self.assertEqual((axis.microseconds(340), axis.microseconds(3800)), ("340 µs", "3.8 ms"))

    def test_facts(self) -> None:
        """Catches: the text beside the pictures lacks the command, the commit, the date, or an inconsistency that the
        run reported; a file without numbers is accepted."""
        run = {"command": "c", "commit": "1a", "date": "2026-01-02", "machine": "m", "clock_us": {"demo": 61.1}}
        data = {"run": {**run, "doubts": ["demo: odd"]}, **{name: {"text": name} for name in run_pictures.NAMES}}
        text = run_pictures.facts(json.dumps(data))
        lines = ("command: c", "commit: 1a", "date: 2026-01-02", "inconsistent: demo: odd", "pressure.svg: pressure")
        for line in lines:
            self.assertIn(f"{line}\n", text)
        for wrong in ("", "[]", "{}", json.dumps({"run": run})):
            with self.assertRaisesRegex(Failure, "no numbers of runs"):
                run_pictures.facts(wrong)

    def test_folder(self) -> None:
        """Catches: a folder that cannot be used is noticed only after the runs."""
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "file").touch()
            run_pictures.check(Path(folder) / "new")
            for wrong in ("file", "no/new"):
                with self.assertRaisesRegex(Failure, "want a folder"):
                    run_pictures.check(Path(folder) / wrong)
