# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests ./vgpu fault-path with made-up recordings. Catches: a hop has a wrong duration, or the event of another fault;
a fault that lacks an event or has an impossible order is in the table; a guest's output raises an error that is no
Failure. No test boots a guest or draws a picture."""

import json
import os
import random
import re
import tempfile
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from unittest import mock

from avocado import Test

from vgpu_tools.base.errors import Failure
from vgpu_tools.base.paths import BENCH, GUEST_DRIVER, QEMU_DEVICE, ROOT
from vgpu_tools.bench import fault_path, path_table
from vgpu_tools.guest import qmp
from vgpu_tools.trace import hops, path_report
from vgpu_tools.trace.record import Recording
from vgpu_tools.trace.stations import BY_KEY, DEVICE_EVENTS, STATIONS

SECOND = 1_000_000_000
START = SECOND * SECOND  # host's time when the recording starts, in ns since 1970
GUEST = START - 123_456_789  # host's time at tick 0 of the guest, which ticks once a ns
FAULTS = 5
# Times of a fault's stations after its raise, in us. The optional stations "flushing" and "flushed" are missing.
AT = {
    "raised": 0, "ring": 4, "msi": 30, "irq": 70, "entry": 75, "queued": 80, "running": 120, "taken": 125,
    "looked": 130, "hmm": 150, "written": 160, "verdict": 165, "acked": 167, "cam": 168, "engine": 180,
    "replayed": 190,
}  # fmt: skip
US = 1000
WORKER, ENGINE = 35, 7  # ids of the worker's thread in the guest, and of the engine's thread of QEMU


class Made:
    """Makes the two parts of a recording. A fault is raised every millisecond, with serials from 1 on."""

    def __init__(self, rate: int = 1) -> None:
        self.rate = rate  # ticks of a ns
        self.device: list[str] = []
        self.guest: list[str] = []
        self.spans: list[tuple[int, int]] = []

    def round(self, serials: range, at_once: bool = False, shift: int = 0, **other: int) -> None:
        """Add a round. `at_once`: see made(). `shift`: a jump of the host's clock before the round, in ns. `other` are
        times of stations that differ from AT."""
        begin, end = START + (serials.start * 1000 - 500) * US, START + (serials.stop * 1000) * US
        self.spans.append((begin + shift, end + shift))
        self.mark(begin - GUEST, f"vgpu round {len(self.spans)}")
        for serial in serials:
            at = AT | other
            self.fault(serial, at | {"cam": at["acked"]} if at_once and serial == serials.start else at, shift)

    def mark(self, ns: int, text: str) -> None:
        self.guest.append(f" sh-66 (     66) [000] ..... {ns * self.rate}: tracing_mark_write: {text}")

    def fault(self, serial: int, at: dict[str, int], shift: int = 0) -> None:
        """Add the events of a fault."""
        page = 0x7F0000000 + 1024 * serial
        raised = START + serial * 1000 * US
        low = page & 0xFFFFFFFF
        texts = {
            "raised": f"hub=1 vmid=3 va={page << 12:#x} write=1 retry=1 serial={serial} cam=2",
            "ring": f"to=0 client=0x12 source=0 ring=0x90 vmid=3 data0={low:#010x} data1=0x47 data3={serial:#010x}",
            "msi": "",
            "cam": f"cam=2 used=1 serial={serial}",
            "engine": "client=0",
            "replayed": f"sdma0 queue=2 vmid=3 va={page << 12:#x} write=1 serial={serial}",
            "irq": "irq=30 name=vgpu_kfd",
            "entry": f"client=0x12 source=0 ring=0x90 vmid=3 pasid=9 ts=1 data={low:#x} 0x47 0x2 {serial:#x}",
            "queued": "work struct=00000000ab function=svm_fault_work [vgpu_kfd] workqueue=vgpu_svm req_cpu=64 cpu=1",
            "running": "prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> "
            f"next_comm=kworker/u9:1 next_pid={WORKER} next_prio=100",
            "taken": f"gpu=0xa serial={serial} pasid=9 vmid=3 page={page:#x} write retry cam=2 ts=1",
            "looked": f"pasid=9 [{page:#x} {page:#x}]",
            "hmm": f"pasid=9 [{page:#x} {page:#x}]",
            "written": f"pasid=9 [{page:#x} {page:#x}]",
            "flushing": "pasid=9 vmid=3",
            "flushed": "vmids=0x8",
            "verdict": f"serial={serial} pasid=9 page={page:#x} repaired [{page:#x} {page:#x}]",
            "acked": "cam=2",
        }
        for key, us in at.items():
            event, now = BY_KEY[key].event, raised + us * US
            if not BY_KEY[key].group:
                thread = {"msi": 6, "cam": 9}.get(key, ENGINE)
                stamp = f"{(now + shift) // SECOND}.{(now + shift) % SECOND // US:06}"
                self.device.append(f"{thread}@{stamp}:{event} gpu0 {texts[key]}".rstrip())
            else:
                task = {"irq": "<idle>-0", "entry": "<idle>-0", "queued": "<idle>-0", "running": "<idle>-0"}
                cpu = 0 if key in ("irq", "entry", "queued") else 1
                who = task.get(key, f"kworker/u9:1-{WORKER}")
                ticks = (now - GUEST) * self.rate
                self.guest.append(f" {who} (-------) [{cpu:03}] d.h1. {ticks}: {event}: {texts[key]}")
        # The worker sleeps after the acknowledgement: the next event of its thread.
        ticks = (raised + (at["acked"] + 5) * US - GUEST) * self.rate
        switch = (
            f"prev_comm=kworker/u9:1 prev_pid={WORKER} prev_prio=100 prev_state=I ==> next_comm=swapper/1 next_pid=0"
        )
        self.guest.append(f" kworker/u9:1-{WORKER} (-------) [001] d..2. {ticks}: sched_switch: {switch}")

    def recording(self, lost: int = 0) -> Recording:
        trace = "\n".join(self.guest)
        guest = f"== before\n== after\n== lost\noverrun: {lost}\n== trace\n{trace}\n== end\n"
        end = (START + SECOND, SECOND * self.rate)
        return Recording("\n".join(self.device), guest, (START, 0), end)

    def found(self) -> hops.Found:
        return hops.paths(self.recording(), self.spans)

    def edit(self, side: str, name: str, serial: int, change: Callable[[str], str]) -> None:
        """Change the line of an event: the `serial`-th with this name. A line that becomes empty is dropped."""
        lines: list[str] = getattr(self, side)
        numbers = [number for number, line in enumerate(lines) if re.search(rf"[: ]{name}[: ]|:{name}$", line)]
        lines[numbers[serial - 1]] = change(lines[numbers[serial - 1]])


def made(**other: int) -> Made:
    """Return a recording of one round with FAULTS faults. The first acknowledgement reaches the device at once, so that
    the clocks' offset is exact. `other` are times of stations that differ from AT."""
    one = Made()
    one.round(range(1, FAULTS + 1), True, **other)
    return one


def medians(found: hops.Found) -> dict[str, float]:
    return {hop.key: hop.median for hop in path_report.hops(found)}


def expected(at: dict[str, int] = AT) -> dict[str, float]:
    times = [(station.key, at[station.key]) for station in STATIONS if station.key in at]
    return {key: float(now - before) for (_, before), (key, now) in pairwise(times)}


class Pairing(Test):
    """hops.paths(): the stations of each fault."""

    def test_hops(self) -> None:
        """Catches: a hop begins or ends at a wrong event; the wake-up of a virtual CPU or of the engine is not seen;
        the shares of the hops are not parts of one sum."""
        found = made().found()
        self.assertEqual((found.dropped, found.doubts, len(found.paths)), (Counter(), [], FAULTS))
        self.assertEqual(medians(found), expected())
        self.assertEqual([path.total for path in found.paths], [190 * US] * FAULTS)
        shown = path_report.hops(found)
        self.assertAlmostEqual(sum(hop.share for hop in shown), 100, delta=0.1)
        woke = {hop.key: hop.woke for hop in shown if hop.woke is not None}
        self.assertEqual(woke, {"msi": 1.0, "irq": 1.0, "running": 1.0, "engine": 1.0})

    def test_awake(self) -> None:
        """Catches: an MSI of the thread that wrote the entry, an interrupt of a busy virtual CPU, a worker on the CPU
        of its interrupt, or an engine that spins counts as a wake-up."""
        one = made()
        one.guest = [line.replace("<idle>-0", "prog-70") for line in one.guest]
        one.guest = [line.replace("[001]", "[000]") for line in one.guest]
        one.device = [line for line in one.device if "vgpu_wake" not in line]
        one.device = [re.sub(r"^\d+@(.*:vgpu_msi )", rf"{ENGINE}@\1", line) for line in one.device]
        found = one.found()
        self.assertEqual(found.dropped, Counter())
        self.assertEqual(found.paths[1].woke, {"msi": False, "irq": False, "running": False, "engine": False})
        self.assertEqual(medians(found)["replayed"], 22.0)  # from the CAM to the replay
        rows = path_report.picture(report(one), None)["fault-path"]["panels"][0]["rows"]  # type: ignore[index]
        self.assertEqual({row["wakes"] for row in rows}, {"NOBODY"})

    def test_work(self) -> None:
        """Catches: the work item that runs on the CPU of the interrupt is not recognized, so that the time until it is
        queued counts as the wake-up of the worker."""
        one = made()
        one.guest = [line.replace("svm_fault_work", "svm_fault_local_work") for line in one.guest]
        found = one.found()
        self.assertEqual((found.dropped, medians(found)), (Counter(), expected()))

    def test_missing(self) -> None:
        """Catches: a fault without an event is in the table; its event is taken from another fault; an optional event
        is required."""
        for side, name, key in (
            ("device", "vgpu_ih_push", "ring"),
            ("device", "vgpu_msi", "msi"),
            ("device", "vgpu_cam_ack", "cam"),
            ("device", "vgpu_replay", "replayed"),
            ("guest", "vgpu_ih_entry", "entry"),
            ("guest", "svm_fault", "taken"),
            ("guest", "svm_hmm_begin", "looked"),
            ("guest", "svm_hmm_end", "hmm"),
            ("guest", "vgpu_vm_write", "written"),
            ("guest", "svm_service", "verdict"),
        ):
            one = made()
            one.edit(side, name, 3, lambda _: "")
            found = one.found()
            self.assertEqual(found.dropped, Counter({f"without {key}": 1}), name)
            self.assertEqual([path.serial for path in found.paths], [1, 2, 4, 5], name)
            self.assertEqual(medians(found), expected(), name)
        for side, name in (("guest", "workqueue_queue_work"), ("device", "vgpu_wake")):
            one = made()
            one.edit(side, name, 3, lambda _: "")
            self.assertEqual((one.found().dropped, len(one.found().paths)), (Counter(), FAULTS), name)

    def test_interrupt(self) -> None:
        """Catches: the interrupt of an earlier entry, or of another CPU, is taken for that of the fault."""
        one = made()
        one.edit("guest", "irq_handler_entry", 3, lambda _: "")
        # The last interrupt of this CPU is that of fault 2, before the MSI of fault 3.
        self.assertEqual(one.found().dropped, Counter({"out of order: irq": 1}))
        one = made()
        one.edit("guest", "irq_handler_entry", 1, lambda line: line.replace("[000]", "[001]"))
        self.assertEqual(one.found().dropped, Counter({"without irq": 1}))

    def test_others(self) -> None:
        """Catches: an event of another thread, of another work item, or of another GPU's fault with the same serial is
        taken for that of the fault."""
        one = made()
        raised = START - GUEST + 3000 * US
        page = 0x7F0000000 + 1024 * 3
        for us, who, event, text in (
            (76, "<idle>-0", "workqueue_queue_work", "work struct=00 function=other_work workqueue=events"),
            (
                77,
                "kworker/1:2-50",
                "svm_fault",
                f"gpu=0xb serial=3 pasid=8 vmid=4 page={page + 1:#x} write retry cam=2",
            ),
            (122, "prog-60", "svm_hmm_begin", "pasid=8 [0x5 0x5]"),
            (127, "prog-60", "svm_hmm_begin", "pasid=8 [0x5 0x5]"),
            (151, "prog-60", "svm_hmm_end", "pasid=8 [0x5 0x5]"),
            (163, "prog-60", "vgpu_vm_write", "pasid=8 [0x5 0x5]"),
            (163, "prog-60", "vgpu_vm_flush", "pasid=8 vmid=4"),
            (164, "prog-60", "vgpu_tlb_flush", "vmids=0x10"),
            (164, "kworker/1:2-50", "svm_service", f"serial=3 pasid=8 page={page + 1:#x} denied [0x5 0x5]"),
            (166, "kworker/1:2-50", "vgpu_cam_ack", "cam=2"),
            (169, "prog-60", "svm_fault", "serial=3"),
        ):
            one.guest.append(f" {who} (-------) [000] ..... {raised + us * US}: {event}: {text}")
        found = one.found()
        self.assertEqual((found.dropped, found.doubts), (Counter(), []))
        self.assertEqual({key: ns / US for key, ns in found.paths[2].hops()}, expected())

    def test_order(self) -> None:
        """Catches: a fault whose MSI comes after its interrupt is in the table; the order of lines in the logs matters
        (threads write them in another order than that of their times)."""
        one = made()
        one.edit("device", "vgpu_msi", 3, lambda line: re.sub(r"(\d\d\d)(?=:)", "110", line))
        found = one.found()
        self.assertEqual((found.dropped, len(found.paths)), (Counter({"out of order: irq": 1}), FAULTS - 1))
        one = made()
        head, *rest = one.guest
        random.Random(1).shuffle(rest)
        random.Random(2).shuffle(one.device)
        one.guest = [head, *rest]
        found = one.found()
        self.assertEqual((found.dropped, medians(found)), (Counter(), expected()))

    def test_replay_before_answer(self) -> None:
        """Catches: a replay that an invalidation caused has hops after the replay; a replay before the acknowledgement
        is accepted although nothing can have caused it."""
        flush = {"flushing": 161, "flushed": 163}
        early = made(**flush, replayed=162)
        early.device = [line for line in early.device if "vgpu_wake" not in line]
        found = early.found()
        self.assertEqual((found.dropped, found.early), (Counter(), FAULTS))
        self.assertEqual(list(found.paths[1].at)[-2:], ["flushing", "replayed"])
        self.assertEqual(found.paths[1].total, 162 * US)
        self.assertNotIn("engine", found.paths[1].woke)
        unexplained = made(replayed=162)
        self.assertEqual(unexplained.found().dropped, Counter({"out of order: replayed": FAULTS}))
        late = made(**flush).found()
        self.assertEqual((late.early, late.dropped), (0, Counter()))
        self.assertEqual(medians(late), expected(AT | flush))

    def test_dropped(self) -> None:
        """Catches: a fault beside another one, a serial that is raised twice, or a denied fault is in the table."""
        one = made()
        one.edit("device", "vgpu_replay", 2, lambda line: line.replace("002190", "003100"))
        found = one.found()
        self.assertEqual(found.dropped, Counter({"not alone": 2}))
        one = made()
        one.device.append(next(line for line in one.device if "vgpu_fault" in line and "serial=3" in line))
        self.assertEqual(one.found().dropped, Counter({"raised twice": 2}))
        one = made()
        one.edit("guest", "svm_service", 3, lambda line: line.replace("repaired", "denied"))
        self.assertEqual(one.found().dropped, Counter({"not repaired": 1}))


class Clock(Test):
    """The axis of time that both sides share."""

    def test_rate(self) -> None:
        """Catches: ticks are taken for nanoseconds."""
        one = Made(rate=3)
        one.round(range(1, 6))
        self.assertEqual(medians(one.found())["entry"], 5.0)
        self.assertEqual(medians(one.found())["hmm"], 20.0)

    def test_offset(self) -> None:
        """Catches: the offset is not that of the fastest acknowledgement; its bounds do not use that the access of a
        register is synchronous."""
        one = Made()
        one.round(range(1, 6))  # each acknowledgement takes 1 us
        found = one.found()
        # The offset is 1 us too high: this is added to the hop that comes from the device, and missing in the other.
        self.assertEqual(medians(found)["irq"], 41.0)
        self.assertEqual(medians(found)["cam"], 0.0)
        self.assertEqual(sum(medians(found).values()), 190.0)
        # Bounds: 1 us above, and 4 us below, because the worker's next event comes 4 us after the CAM; and 1 us for
        # the rounding of the device's stamps.
        self.assertEqual(found.clock_ns, 6 * US)

    def test_rounds(self) -> None:
        """Catches: a correction of the host's clock between two rounds makes faults impossible, or makes hops longer;
        an event of one round is used in another."""
        one = Made()
        one.round(range(1, 6))
        one.round(range(11, 16), shift=70 * US)
        found = one.found()
        self.assertEqual((found.dropped, found.doubts, len(found.paths)), (Counter(), [], 10))
        self.assertEqual(medians(found)["irq"], 41.0)

    def test_impossible(self) -> None:
        """Catches: clocks that contradict each other are not reported."""
        one = made()
        one.edit("guest", "vgpu_cam_ack", 2, lambda line: re.sub(r"(\d{9,}): vgpu_cam", self.later, line))
        doubts = one.found().doubts
        self.assertEqual(len(doubts), 1)
        self.assertIn("more than causes allow", doubts[0])

    @staticmethod
    def later(match: re.Match[str]) -> str:
        return f"{int(match[1]) + 100 * US}: vgpu_cam"


class Hostile(Test):
    """Output of a guest that is not as expected."""

    def test_lines(self) -> None:
        """Catches: a line with a huge number, without a number or with broken text raises an error."""
        one = made()
        for name in ("svm_fault", "vgpu_ih_entry", "sched_switch", "svm_service", "vgpu_cam_ack"):
            for text in (
                "",
                "serial=",
                f"serial={'9' * 5000} page=0x cam=x data=0x",
                "data=0x1 0x2 0x3 zz [",
                "=" * 99,
            ):
                one.guest.append(f" kworker/u9:1-{WORKER} [001] ..... {700 * US}: {name}: {text}")
            one.guest.append(f" kworker/u9:1-{'9' * 5000} [001] ..... {'9' * 5000}: {name}: serial=1")
        found = one.found()
        self.assertEqual((found.dropped, medians(found)), (Counter(), expected()))

    def test_parts(self) -> None:
        """Catches: a recording that was cut, has another number of rounds, or has no complete fault is used."""
        one = made()
        cut = one.recording()
        cut.guest = cut.guest.replace("== end", "")
        with self.assertRaisesRegex(Failure, "ended before"):
            hops.paths(cut, one.spans)
        with self.assertRaisesRegex(Failure, "1 rounds, not 2"):
            hops.paths(one.recording(), one.spans * 2)
        self.assertIn("no room for 7", hops.paths(one.recording(lost=7), one.spans).doubts[0])
        one.guest = [line for line in one.guest if "svm_hmm_end" not in line]
        with self.assertRaisesRegex(Failure, rf"no lone fault .*without hmm: {FAULTS}"):
            report(one)

    def conductor(self, rounds: int = 1) -> fault_path.Conductor:
        return fault_path.Conductor(rounds, 99, Path("/socket"))

    def test_phases(self) -> None:
        """Catches: a sample is counted for the wrong phase; the device's events are on in a phase without trace; the
        guest goes on before they are switched; a guest that repeats or leaves out a phase is believed."""
        calls: list[str] = []

        def ask(path: Path, *commands: tuple[str, dict[str, object]]) -> list[object]:
            self.assertEqual([given["name"] for _, given in commands], list(DEVICE_EVENTS))
            calls.append(f"switch {commands[0][1]['enable']}")
            return []

        def write(descriptor: int, data: bytes) -> int:
            calls.append("go")
            return len(data)

        with mock.patch.object(qmp, "ask", ask), mock.patch.object(os, "write", write):
            one = self.conductor()
            one(b"early\nvgpu phase off\na\nvgpu pha")
            one(b"se on\nb\nvgpu phase off\nc\nvgpu phase end\n")
            for text in (b"vgpu phase on\n", b"vgpu phase off\nvgpu phase off\n", b"vgpu phase \xff\n"):
                with self.assertRaisesRegex(Failure, "unexpected phase"):
                    self.conductor()(text)
        self.assertEqual((one.lines["off"], one.lines["on"]), (["a", "c"], ["b"]))
        self.assertEqual(calls[:6], ["go", "switch True", "go", "switch False", "go", "go"])
        self.assertEqual(len(one.spans), 1)
        for wrong in (b"x" * 5000, b"x\n" * (fault_path.OUTPUT_BYTES // 2 + 1)):
            with self.assertRaisesRegex(Failure, "prints too much"):
                self.conductor()(wrong)

    def test_samples(self) -> None:
        """Catches: a malformed sample, or one that is no duration, raises an error that is no Failure."""
        line = '{"name": "fault-single", "bytes": 4096, "value": %s, "unit": "us"}'
        self.assertEqual(fault_path.samples_of(["x", line % 2])[fault_path.LONE], [2.0])
        with self.assertRaisesRegex(Failure, "no sample"):
            fault_path.samples_of([line % '"x"'])
        for values in ([], [1.0, float("nan")], [-1.0], [1e10]):
            with self.assertRaisesRegex(Failure, "no durations"):
                path_report.spread(values)

    def test_options(self) -> None:
        """Catches: long options of the guest raise an error that is no Failure after the measurement."""
        origin = {"command": "c", "commit": "1a", "date": "2026-01-02", "machine": "TCG"}
        one = path_report.report(made().found(), ([1.0], [1.0]), {}, [], origin, "x" * 999)
        self.assertEqual((len(one.options), one.blocks), (300, None))

    def test_script(self) -> None:
        """Catches: the untraced faults are measured apart from the disk's reads, so that the two see different states
        of the machine; the traced faults are measured with reads, whose interrupts would be in the trace; vgpu-bench
        has no such part."""
        script = fault_path.SCRIPT
        begin, end = script.index("\tswitch 1\n"), script.index("\tswitch 0\n")
        traced, untraced = script[begin:end], script[:begin] + script[end:]
        self.assertRegex(traced, r'vgpu-bench fault-single "\$count"')
        self.assertRegex(untraced, r'vgpu-bench fault-and-read "\$count"')
        self.assertNotIn("fault-and-read", traced)
        self.assertNotIn("fault-single", untraced)
        main = (BENCH / "guest" / "main.c").read_text()
        self.assertIn('{ "fault-single", NULL, bench_single_faults }', main)
        self.assertIn('{ "fault-and-read", NULL, bench_faults_and_reads }', main)

    def test_numbers(self) -> None:
        """Catches: a number of faults or rounds that vgpu-bench refuses is accepted; the largest number is refused."""
        fault_path.check(32 * 1024, 32)
        for samples, rounds in ((3, 4), (1025, 1), (4, 0), (99, 33)):
            with self.assertRaises(Failure):
                fault_path.check(samples, rounds)
        (most,) = re.findall(r"#define MAX_COUNT\s+(\d+)", (BENCH / "guest" / "bench.h").read_text())
        self.assertEqual(int(most), fault_path.MOST_FAULTS)


def report(one: Made, untraced: float = 200.0) -> path_report.Report:
    origin = {"command": "c", "commit": "1a", "date": "2026-01-02", "machine": "TCG"}
    anchors, blocks = {"null disk read": [100.0]}, [1.5, 2.5, 3.0]
    return path_report.report(one.found(), ([untraced], [2 * untraced]), anchors, blocks, origin, "")


class Shown(Test):
    """The report: saved, compared, printed."""

    def test_spread(self) -> None:
        """Catches: the bounds are not those of the middle 80 %; a single sample has none."""
        ten = path_report.spread([10.0, 1.0, 2.0, 9.0, 3.0, 8.0, 4.0, 7.0, 5.0, 6.0])
        self.assertEqual((ten.n, ten.low, ten.median, ten.high), (10, 1.0, 5.5, 9.0))
        one = path_report.spread([2.0])
        self.assertEqual((one.low, one.median, one.high), (2.0, 2.0, 2.0))

    def test_file(self) -> None:
        """Catches: a saved report differs when it is read; a file with other contents is accepted."""
        one = report(made())
        with tempfile.TemporaryDirectory() as name:
            path = Path(name) / "new" / "file"
            path_report.save(path, one)
            self.assertEqual(path_report.load(path), one)
            text = path.read_text()
            for wrong in (
                "",
                "{}",
                "[]",
                text.replace('"format": 1', '"format": 2'),
                text.replace('"commit"', '"commits"'),
                text.replace('"median": 5.0', '"median": -5.0', 1),
                text.replace('"median": 5.0', '"median": NaN', 1),
            ):
                path.write_text(wrong)
                with self.assertRaisesRegex(Failure, "not saved by"):
                    path_report.load(path)
            with self.assertRaisesRegex(Failure, "No such file"):
                path_report.load(path.parent / "none")

    def test_table(self) -> None:
        """Catches: the table lacks a hop, the cost of the trace, the ratio to the disk's read, or the faults that were
        left out; a sum is wrong."""
        one = made()
        one.edit("guest", "svm_hmm_end", 3, lambda _: "")
        text = path_table.text(report(one), None)
        for station in STATIONS:
            if station.key in AT and station.key != "raised":
                self.assertIn(station.hop, text)
        self.assertIn("traced: 400.0 us (400.0 to 400.0, 1 samples), 2.00 times as long", text)
        self.assertIn("takes 2.00 of them", text)
        self.assertIn("a block of untraced faults takes 2.50 of them (10 to 90 %: 1.50 to 3.00, 3 blocks)", text)
        self.assertIn("left out: 1 without hmm", text)
        self.assertRegex(text, r"sum of the medians +│ +190 ")
        self.assertRegex(text, r"hard interrupt begins +│ +40 .*21 % .*a halted virtual CPU: 100 %")

    def test_compare(self) -> None:
        """Catches: a difference has the wrong sign; a difference beyond the spread has no mark, or one within it has; a
        hop that only one of the runs has is left out."""
        before = report(made(flushing=161, flushed=164))
        after = report(made(cam=170, engine=220, replayed=230), 240.0)
        lines = path_table.text(after, before).splitlines()
        table = lines[next(number for number, line in enumerate(lines) if line.startswith("before (1a) and after")) :]

        def line(hop: str) -> str:
            return next(one for one in table if hop in one)

        self.assertRegex(line("engine's thread wakes"), r"12 .*50 .*\+38\.0 \*")
        self.assertRegex(line("handler reads"), r"\+0\.0 +│")
        self.assertRegex(line("invalidation requested"), r"3 .*—.*-3\.0 \*")
        self.assertRegex(line("lone fault, untraced"), r"200 .*240 .*\+40\.0 \*")
        numbers = path_report.picture(after, before)
        json.dumps(numbers)
        panels = numbers["fault-path"]["panels"]  # type: ignore[index]
        self.assertEqual([panel["title"].split()[0] for panel in panels], ["before", "after:"])
        rows = {row["name"]: row for row in panels[1]["rows"]}
        self.assertEqual(rows[BY_KEY["irq"].hop]["wakes"], "VCPU")
        self.assertEqual(rows[BY_KEY["irq"].hop]["begin"], 30.0)
        self.assertEqual(panels[1]["length"], 230.0)


class Table(Test):
    """The table of stations."""

    def test_events(self) -> None:
        """Catches: a station names an event that neither device nor driver has, or that the driver has in another
        group."""
        device = (QEMU_DEVICE / "trace-events").read_text()
        for event in DEVICE_EVENTS:
            self.assertRegex(device, rf"(?m)^{event}\(")
        groups: dict[str, str] = {}
        for path in GUEST_DRIVER.glob("*/*_trace.h"):
            text = path.read_text()
            (group,) = re.findall(r"#define TRACE_SYSTEM (\w+)", text)
            names = re.findall(r"TRACE_EVENT\((\w+),|DEFINE_EVENT\(\w+, (\w+),", text)
            groups |= {first or second: group for first, second in names}
        for station in STATIONS:
            if station.group.startswith("vgpu"):
                self.assertEqual(groups.get(station.event), station.group, station.event)
        work = (GUEST_DRIVER / "svm" / "svm_fault_queue.c").read_text()
        self.assertEqual(re.findall(r"INIT_WORK\(&q->\w+, (\w+)\);", work), list(hops.WORK))

    def test_page(self) -> None:
        """Catches: the table in docs/faults.md differs from the table that the tool uses."""
        page = (ROOT / "docs" / "faults.md").read_text()
        for station in STATIONS[1:]:
            clock = "guest" if station.group else "host"
            row = f"| {station.hop} | `{station.event}` | {clock} | {station.wakes.value} | {station.kvm} |"
            self.assertTrue(row in page, f"docs/faults.md lacks the row {row}")
