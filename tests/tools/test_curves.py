# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests ./vgpu bench-curves: fits, the output of the guest's program, missing points, and limits. No test boots a
guest. test_growth_page.py tests the page that is generated from the curves."""

import io
import json
import math
import os
import re
import tempfile
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import rich.console
from avocado import Test

from vgpu_tools.base.environment import NOTHING_SET
from vgpu_tools.base.errors import Failure
from vgpu_tools.base.paths import BENCH, QEMU_DEVICE
from vgpu_tools.bench import curve_guest, curves, fit, growth, host_memory, migration
from vgpu_tools.bench.curve_guest import CurveError, Recorder
from vgpu_tools.bench.curves import BY_NAME, CURVES, POINTS, CurveFile, Measured
from vgpu_tools.bench.kept import Kept, Origin
from vgpu_tools.docs import growth_page
from vgpu_tools.guest.launch import Streams
from vgpu_tools.guest.result import Result, Verdict
from vgpu_tools.guest.session import Migration

NUMBERS = [100, 1_000, 10_000, 100_000]
GIB = 1 << 30


def pairs(cost: Callable[[float], float], numbers: Sequence[int] = NUMBERS) -> list[tuple[float, float]]:
    return [(float(n), cost(n)) for n in numbers]


def judged(cost: Callable[[float], float], law: str, numbers: Sequence[int] = NUMBERS) -> fit.Fit:
    found = fit.fit(pairs(cost, numbers), law)
    assert found
    return found


class Fits(Test):
    """Exponents of synthetic data, and the bar."""

    def test_exponents(self) -> None:
        """Catches: a slope that is not that of the logarithms; the division by log n is left out."""
        for power in (0.0, 0.5, 1.0, 2.0):
            found = judged(lambda n, power=power: 7 * n**power, "n log n")  # type: ignore[misc]
            self.assertAlmostEqual(found.exponent, power)
            self.assertAlmostEqual(found.error, 0.0)
            self.assertLess(found.beyond, power)
        exact = judged(lambda n: 3 * n * fit.logarithm(n), "n log n")
        self.assertAlmostEqual(exact.beyond, 1.0)
        self.assertAlmostEqual(exact.tail, 1.0)
        self.assertGreater(exact.exponent, 1.05)

    def test_bar(self) -> None:
        """Catches: linear or n log n misses the bar of n log n; quadratic, or n to the power of 1.5, meets it; a cost
        of one among n that grows as the square root of n meets the bar of log n."""
        for cost, law, met in (
            (lambda n: n, "n log n", True),
            (lambda n: n * math.log(n), "n log n", True),
            (lambda n: 5.0, "n log n", True),
            (lambda n: n**1.5, "n log n", False),
            (lambda n: n * n, "n log n", False),
            (lambda n: 5.0, "log n", True),
            (lambda n: math.log(n), "log n", True),
            (lambda n: math.sqrt(n), "log n", False),
            (lambda n: n, "log n", False),
        ):
            self.assertEqual(judged(cost, law).met, met, (cost(100), law))
        for numbers in ([1, 2, 4, 8], [2, 3, 4], [64, 1024, 4096]):
            self.assertTrue(judged(lambda n: n, "n log n", numbers).met, numbers)
            self.assertFalse(judged(lambda n: n**3, "n log n", numbers).met, numbers)
        self.assertFalse(judged(lambda n: n * n, "n log n", [1, 2, 4, 8]).met)
        for numbers in ([1, 2, 4, 8], [2, 3, 4]):
            self.assertTrue(judged(lambda n: n, "n", numbers).met, numbers)
            self.assertFalse(judged(lambda n: n * n, "n", numbers).met, numbers)
        self.assertFalse(judged(lambda n: n**1.5, "n", [1, 2, 4, 8]).met)

    def test_hidden(self) -> None:
        """Catches: a quadratic cost meets the bar, because a constant hides it at small n."""
        found = judged(lambda n: 200 + n * n, "n log n", POINTS["queues"])
        self.assertLess(found.beyond, fit.limit([(1, 1), (1000, 1)], 1.0))
        self.assertGreater(found.tail, fit.limit([(100, 1), (1000, 1)], 1.0))
        self.assertEqual((found.met, found.sure), (False, True))

    def test_one_point(self) -> None:
        """Catches: a single noisy point decides; a curve that clearly misses its bar is undecided."""
        noisy = judged(lambda n: 2 * n if n == 1_000_000 else n, "n log n", POINTS["ranges"])
        self.assertEqual((noisy.met, noisy.sure), (False, False))
        for power, met in ((1.0, True), (2.0, False)):
            found = judged(lambda n, power=power: n**power, "n log n", POINTS["ranges"])  # type: ignore[misc]
            self.assertEqual((found.met, found.sure), (met, True))

    def test_spread(self) -> None:
        """Catches: measurements that vary by a fifth miss the bar; the error of the slope is not computed."""
        factors = (1.2, 0.9, 1.1, 1.0)
        found = fit.fit([(n, n * factor) for n, factor in zip(NUMBERS, factors, strict=True)], "n log n")
        assert found
        self.assertTrue(found.met)
        self.assertTrue(0.005 < found.error < 0.1, found)

    def test_too_few(self) -> None:
        """Catches: two points give an exponent; a value of zero or below is an error, or counts as a point; several
        values at one n count as several points."""
        self.assertIsNone(fit.fit([], "n log n"))
        self.assertIsNone(fit.fit([(1, 1), (2, 2)], "n log n"))
        self.assertIsNone(fit.fit([(1, 1), (2, 2), (4, 0.0), (8, -1.0), (0, 5.0)], "n log n"))
        self.assertIsNone(fit.fit([(1, 1), (2, 2), (2, 3)], "n log n"))
        self.assertEqual(fit.slope([(1, 1), (2, 2)]), (1.0, 0.0))
        with self.assertRaises(ValueError):
            fit.slope([(2, 1), (2, 2)])
        with self.assertRaises(ValueError):
            fit.slope([(1, 1), (2, 0)])


class Reduced(Test):
    """Curves from samples."""

    def reduced(self, name: str, cost: Callable[[int], float], **reasons: str) -> Measured:
        """Return the curve with a sample at each of its points. `reasons` maps the names n1000, ... of points without a
        sample to reasons."""
        curve = BY_NAME[name]
        missing = {int(key[1:]): reason for key, reason in reasons.items()}
        samples = {(name, n): [cost(n)] * 3 for n in POINTS[curve.part] if n not in missing}
        return curves.reduce(curve, samples, {(curve.part, n): reason for n, reason in missing.items() if reason})

    def test_points(self) -> None:
        """Catches: a point is lost, has the wrong median, or is neither a point nor left out; a point that nobody
        explained has no reason."""
        found = self.reduced("ranges-set", lambda n: n / 100, n1000000="no memory", n300000="")
        self.assertEqual([point.n for point in found.points], POINTS["ranges"][:-2])
        self.assertEqual((found.points[0].median, found.points[0].samples), (10.0, 3))
        reasons = {left.n: left.reason for left in found.left_out}
        self.assertEqual(reasons, {1_000_000: "no memory", 300_000: curves.NO_VALUE})
        assert found.fit
        self.assertAlmostEqual(found.fit.exponent, 1.0)
        self.assertIsNone(found.per_object)

    def test_memory(self) -> None:
        """Catches: the bytes of an object include the constant part; memory that did not grow is a point, or an
        error."""
        found = self.reduced("bos-kernel", lambda n: 100_000 + 2_000 * n if n > 100 else -4096.0)
        self.assertEqual([point.n for point in found.points], POINTS["bos"][1:])
        assert found.per_object
        self.assertAlmostEqual(found.per_object, 2000)
        self.assertIn("less than the measurement resolves", found.left_out[0].reason)
        nothing = self.reduced("ranges-qemu", lambda n: 0.0)
        self.assertEqual((nothing.points, nothing.fit, nothing.per_object), ([], None, None))
        self.assertEqual(len(nothing.left_out), len(POINTS["ranges"]))

    def test_resolution(self) -> None:
        """Catches: noise of QEMU's memory gets an exponent, points and bytes of an object, instead of an upper limit
        with the resolution; memory that shrinks by more than the resolution gives a limit below its noise; growth
        beyond the resolution counts as noise; a curve of times has a resolution."""
        curve, noise = BY_NAME["ranges-qemu"], (-300_000.0, 0.0, 700_000.0)

        def measured(each: float, factor: float = 1.0) -> Measured:
            samples = {(curve.name, n): [factor * one + each * n for one in noise] for n in POINTS["ranges"]}
            samples[curve.name, 1_000] = [50_000.0]
            return curves.reduce(curve, samples, {})

        found = measured(0.0)
        self.assertEqual((found.points, found.fit, found.per_object), ([], None, None))
        self.assertEqual(found.resolution, 1_000_000)
        self.assertAlmostEqual(found.below or 0, 1_000_000 / 999_000)
        self.assertEqual({left.reason for left in found.left_out}, {
            "the memory grows by less than the measurement resolves (977 KiB)",
        })  # fmt: skip
        self.assertEqual((growth.each(found), growth.verdict(found)), ("< 1", "  not resolved"))
        below = measured(0.5).below
        self.assertAlmostEqual(below or 0, (500_000 - 50_000 + 1_000_000) / 999_000)
        below = measured(-2.0).below
        self.assertAlmostEqual(below or 0, 2_050_000 / 999_000)
        grows = measured(100.0)
        self.assertIsNone(grows.below)
        self.assertEqual(len(grows.points), len(POINTS["ranges"]))
        assert grows.per_object
        self.assertAlmostEqual(grows.per_object, 100, delta=0.2)
        self.assertTrue(growth.each(grows).startswith("100"))
        still = measured(0.0, 0.0)
        self.assertEqual(still.resolution, curves.PAGE)
        times = curves.reduce(BY_NAME["ranges-set"], {("ranges-set", n): [5.0, 6.0] for n in POINTS["ranges"]}, {})
        self.assertEqual((times.resolution, times.below), (None, None))

    def test_above_zero(self) -> None:
        """Catches: the memory of a guest without GPUs counts as memory of the GPUs; the guest without GPUs is a point;
        without its measurement, absolute values are used."""
        found = self.reduced("idle-kernel", lambda n: 5e6 + n * 1e6)
        self.assertEqual([(point.n, point.median) for point in found.points], [(n, n * 1e6) for n in (1, 2, 4, 8)])
        self.assertEqual(found.per_object, 1e6)
        without = self.reduced("idle-kernel", lambda n: 5e6, n0="no memory")
        self.assertEqual((without.points, [left.n for left in without.left_out]), ([], [1, 2, 4, 8]))

    def test_definitions(self) -> None:
        """Catches: a curve has a law, a part or a group that does not exist; two curves have the same name; no program
        prints a curve."""
        self.assertEqual(len(BY_NAME), len(CURVES))
        self.assertEqual({curve.group for curve in CURVES}, set(growth_page.TITLES))
        self.assertEqual({curve.part for curve in CURVES}, set(POINTS))
        sources = [*(BENCH / "guest").glob("*.c"), QEMU_DEVICE / "tests" / "bench.c"]
        text = "".join(path.read_text() for path in sources)
        for curve in CURVES:
            self.assertIn(curve.law, fit.LAWS)
            stem, _, last = curve.name.rpartition("-")
            if curve.part == "migration":
                self.assertIn(last, migration.KINDS)
            elif last == "exit":
                self.assertRegex(text, rf'\{{ "{stem}", curve_\w+, true \}}')
            elif last == "kernel" and stem != "idle":
                self.assertIn(f'curve_memory_end("{stem}", n)', text)
            elif last in ("qemu", "vram"):
                self.assertRegex(text, rf'curve_(hold|memory_begin)\("{stem}", n')
            else:
                self.assertRegex(text, rf'"{curve.name}\\?"')
        busy = re.findall(r"#define BO_BYTES\s+\((\d+) \* VG_MIB\)", (BENCH / "guest" / "vram_load.c").read_text())
        self.assertEqual([int(size) * migration.MIB for size in busy], [migration.BUSY_BYTES])


class Output(Test):
    """Lines that the guest's program prints."""

    def test_values(self) -> None:
        """Catches: a value goes to another curve or point; a line that is no JSON is an error; a reason is lost, or a
        later reason replaces it."""
        recorder = Recorder()
        for line in (
            "booted",
            '{"curve": "ranges-set", "n": 1000, "value": 7.5, "unit": "ms"}',
            '{"curve": "ranges-set", "n": 1000, "value": 8.5, "unit": "ms"}',
            '{"part": "ranges", "n": 1000000, "left_out": "no end within 120 s"}',
        ):
            self.assertIsNone(recorder.line(line))
        recorder.leave_out("ranges", [300_000, 1_000_000], "later")
        self.assertEqual(recorder.samples, {("ranges-set", 1000): [7.5, 8.5]})
        self.assertEqual(recorder.reasons[("ranges", 1_000_000)], "no end within 120 s")
        self.assertEqual(recorder.reasons[("ranges", 300_000)], "later")

    def test_malformed(self) -> None:
        """Catches: a malformed line is ignored, or ends the command with a traceback."""
        good = {"curve": "ranges-set", "n": 1000, "value": 7.5, "unit": "ms"}
        for change in (
            {"value": "fast"},
            {"value": None},
            {"value": float("nan")},
            {"value": 1e300},
            {"n": 1001},
            {"n": "many"},
            {"unit": "us"},
            {"curve": "ranges"},
            {"more": 1},
        ):
            with self.assertRaisesRegex(CurveError, "no value of a curve"):
                Recorder().line(json.dumps({**good, **change}))
        for line in (
            "{",
            "{}",
            '{"curve": "ranges-set", "n": 1000',
            '{"part": "ranges", "n": 7, "left_out": "x"}',
            '{"part": "no", "n": 1000, "left_out": "x"}',
            '{"part": "no", "n": 1000, "hold": "before"}',
            '{"part": "ranges", "n": 1000, "hold": "now"}',
            '{"part": "ranges", "n": 1000, "left_out": "<b>"}',
            '{"part": "ranges", "n": 1000, "left_out": "' + "x" * 201 + '"}',
            '{"a": ' + "[" * 100_000,
        ):
            with self.assertRaisesRegex(CurveError, "no value of a curve"):
                Recorder().line(line)

    def test_too_many(self) -> None:
        """Catches: a program that prints values or waits without end uses the memory of the host, or lets the host wait
        for room in the pipe of the answers."""
        recorder = Recorder()
        for _ in range(curve_guest.MOST_SAMPLES):
            recorder.add("ranges-set", 1000, 1.0, "ms")
        with self.assertRaisesRegex(CurveError, "more than"):
            recorder.add("ranges-set", 1000, 1.0, "ms")
        before = curve_guest.Hold(part="bos", n=100, hold="before")
        recorder.held(before, host_memory.Used(1, 1, 1))
        with self.assertRaisesRegex(CurveError, "no memory was measured after"):
            recorder.held(before, host_memory.Used(1, 1, 1))
        with self.assertRaisesRegex(CurveError, "a line of more than"):
            curve_guest.Lines(lambda line: None)(b"x" * (curve_guest.LINE_BYTES + 1))

    def test_hold(self) -> None:
        """Catches: the memory before the objects is not subtracted; VRAM counts as memory of QEMU; memory after the
        objects without memory before them is taken as zero before."""
        recorder = Recorder()
        for when, own in (("before", 1000), ("after", 5000)):
            hold = recorder.line(f'{{"part": "queues", "n": 10, "hold": "{when}"}}')
            assert hold
            recorder.held(hold, host_memory.Used(own, 77, 99))
        self.assertEqual(recorder.samples, {("queues-qemu", 10): [4000]})
        idle = recorder.line('{"part": "idle", "n": 8, "hold": "idle"}')
        assert idle
        recorder.held(idle, host_memory.Used(30, 40, 50))
        self.assertEqual((recorder.samples["idle-qemu", 8], recorder.samples["idle-vram", 8]), ([30], [40]))
        after = recorder.line('{"part": "queues", "n": 10, "hold": "after"}')
        assert after
        with self.assertRaisesRegex(CurveError, "no memory was measured before"):
            recorder.held(after, host_memory.Used(1, 1, 1))

    def test_lines(self) -> None:
        """Catches: a line that arrives in two pieces is taken as two lines; an incomplete line is taken."""
        taken: list[str] = []
        lines = curve_guest.Lines(taken.append)
        for piece in (b"a\nb", b"c\r\n", b"{"):
            lines(piece)
        self.assertEqual(taken, ["a", "bc"])


class Memory(Test):
    """Memory of QEMU and of the host."""

    BLOCKS = (
        "              Block Name    PSize              Offset               Used              Total"
        "                HVA  RO\r\n"
        "                  pc.ram    4 KiB  0x0000000000000000 0x0000000080000000 0x0000000080000000"
        " 0x00007f0000000000  rw\r\n"
        "0000:01:00.0/vgpu-kfd.vram    4 KiB  0x0000000080000000 0x0000000004000000 0x0000000004000000"
        " 0x00007e0000000000  rw\r\n"
        "   /rom@etc/acpi/tables    4 KiB  0x0000000100000000 0x0000000000020000 0x0000000000200000"
        " 0x00007d0000000000  ro\r\n"
    )
    MAPS = """\
55d000000000-55d000100000 rw-p 00000000 00:00 0 [heap]
Size:               1024 kB
Pss:                 300 kB
Pss_Dirty:           200 kB
SwapPss:               4 kB
7f0000000000-7f0080000000 rw-p 00000000 00:00 0
Pss:              500000 kB
7e0000000000-7e0000200000 rw-p 00000000 00:00 0
Pss:                2048 kB
7e0000200000-7e0004000000 rw-p 00200000 00:00 0
Pss:                1024 kB
7e0004000000-7e0005000000 rw-p 00000000 00:00 0
Pss:                  16 kB
7c0000000000-7c0040000000 rwxp 00000000 00:00 0
Pss:                9000 kB
"""

    def test_used(self) -> None:
        """Catches: RAM or VRAM of the guest counts as QEMU's own memory; a mapping beside a RAM block counts as the
        block; "Pss_Dirty" counts in addition; memory that the host has swapped out is lost; the code that TCG generates
        counts as memory of objects."""
        blocks = host_memory.parse_blocks(self.BLOCKS)
        self.assertEqual([block.name for block in blocks], [
            "pc.ram", "0000:01:00.0/vgpu-kfd.vram", "/rom@etc/acpi/tables",
        ])  # fmt: skip
        self.assertEqual((blocks[0].start, blocks[0].end), (0x7F0000000000, 0x7F0080000000))
        used = host_memory.parse_used(self.MAPS.splitlines(), blocks)
        self.assertEqual(used, host_memory.Used((300 + 4 + 16) << 10, 3072 << 10, (500_000 + 3072) << 10))
        with self.assertRaisesRegex(Failure, "lists no RAM block"):
            host_memory.parse_blocks("unknown command: 'info ramblock'\r\n")

    def test_available(self) -> None:
        """Catches: the limit of the control group is ignored, or is wrong without a limit."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            meminfo = folder / "meminfo"
            meminfo.write_text("MemTotal: 16777216 kB\nMemAvailable:    8388608 kB\n")
            self.assertEqual(host_memory.available(meminfo, folder), 8 * GIB)
            (folder / "memory.current").write_text(f"{GIB}\n")
            for most, left in (("max", 8 * GIB), (str(5 * GIB), 4 * GIB), (str(20 * GIB), 8 * GIB), ("0", 0)):
                (folder / "memory.max").write_text(f"{most}\n")
                self.assertEqual(host_memory.available(meminfo, folder), left)
            meminfo.write_text("")
            with self.assertRaisesRegex(Failure, "no MemAvailable"):
                host_memory.available(meminfo, folder)

    def test_affordable(self) -> None:
        """Catches: a point that the host cannot hold is measured; the reason lacks the sizes; a guest is smaller than
        its objects."""
        kept, reasons = growth.affordable([1, 2, 4], lambda n: n * GIB, 2 * GIB)
        self.assertEqual(kept, [1, 2])
        self.assertEqual(reasons, {4: "needs 4.0 GiB of the host's memory, 2.0 GiB are available"})
        part = growth.InGuest("memory", each=1 << 20)
        self.assertEqual([part.memory_mib(n) for n in (1, 1024, 1025)], [2048, 2048, 2304])
        for what in growth.IN_GUEST:
            most = POINTS[what.part][-1]
            self.assertGreaterEqual(what.memory_mib(most) * growth.MIB, what.base + most * what.each)
            self.assertGreater(what.host_bytes(most), what.memory_mib(most) * growth.MIB)

    def test_migration(self) -> None:
        """Catches: the target's memory is not counted; a busy engine's pages are counted for the first pass, or not at
        all for later ones; the figures of QEMU's reply are not found."""
        self.assertEqual(migration.needed(1024), 2 * (512 + 768 + 128) << 20)
        self.assertEqual(migration.dirty_bytes(1000, False, 5), 1000)
        self.assertEqual(migration.dirty_bytes(1000, True, 3), 1000 + 2 * migration.BUSY_BYTES)
        self.assertEqual(migration.dirty_bytes(1000, True, 0), 1000)
        answer = {"status": "completed", "downtime": 31, "ram": {"transferred": 7, "dirty-sync-count": 3, "total": 9}}
        state = Migration.model_validate(answer)
        self.assertEqual((state.downtime, state.ram.transferred, state.ram.syncs), (31, 7, 3))
        self.assertEqual(Migration.model_validate({}).status, "none")


def result(verdict: Verdict, status: int | None = None) -> Result:
    return Result(verdict, Path("/runs/1"), status=status, limit=9)


class Guests(Test):
    """A guest that is replaced by its output."""

    TASK = curve_guest.Task((), ["vgpu-bench", "curve", "bos", "120", "100"], 9, {"bos": POINTS["bos"]})

    def run_guest(self, output: bytes, ended: Result, errors: bytes = b"") -> tuple[Recorder, bytes]:
        """Run TASK in a guest that prints `output`. Return the recorder, and what the program read from its input."""
        recorder, heard = Recorder(), b""

        def execute(streams: Streams) -> Result:
            nonlocal heard
            streams.output(output)
            streams.error(errors)
            assert streams.input is not None
            os.set_blocking(streams.input, False)
            try:
                heard = os.read(streams.input, 100)
            except BlockingIOError:
                heard = b""
            return ended

        def start(guest: object, command: object, streams: Streams, timeout: float) -> SimpleNamespace:
            return SimpleNamespace(execute=lambda: execute(streams))

        used = iter([host_memory.Used(1, 0, 0), host_memory.Used(4, 0, 0)])
        with (
            mock.patch.object(curve_guest, "Run", start),
            mock.patch.object(curve_guest, "_used", lambda guest: next(used)),
            mock.patch("vgpu_tools.guest.config.Guest.prepare"),
            redirect_stderr(io.StringIO()),
        ):
            curve_guest.run(self.TASK, NOTHING_SET, recorder)
        return recorder, heard

    def test_run(self) -> None:
        """Catches: the program that waits gets no answer, or gets one without a question."""
        lines = b'{"part": "bos", "n": 100, "hold": "before"}\n{"part": "bos", "n": 100, "hold": "after"}\nx\n'
        recorder, heard = self.run_guest(lines, result(Verdict.EXITED, 0))
        self.assertEqual(recorder.samples, {("bos-qemu", 100): [3]})
        self.assertEqual(heard, b"\n\n")
        _, heard = self.run_guest(b"x\n", result(Verdict.EXITED, 0))
        self.assertEqual(heard, b"")

    def test_slow(self) -> None:
        """Catches: the points before the guest's limit are lost; the points after it have no reason; a limit counts as
        a failure."""
        line = b'{"curve": "bos-free", "n": 100, "value": 2, "unit": "ms"}\n'
        recorder, _ = self.run_guest(line, result(Verdict.TIMED_OUT))
        self.assertEqual(recorder.samples, {("bos-free", 100): [2.0]})
        self.assertEqual(recorder.reasons[("bos", 300)], "the guest reached its limit of 9 s before")

    def test_failed(self) -> None:
        """Catches: a program or a kernel that fails is taken for a measurement; the program's message is lost."""
        for ended, words in (
            (result(Verdict.EXITED, 1), "vgpu-bench: BOs: no memory"),
            (result(Verdict.KERNEL_REPORTED, 0), "the guest's kernel reported"),
        ):
            with self.assertRaisesRegex(CurveError, words):
                self.run_guest(b"", ended, b"vgpu-bench: BOs: no memory\n")
        with self.assertRaisesRegex(CurveError, "no value of a curve"):
            self.run_guest(b'{"curve": 1}\n', result(Verdict.EXITED, 0))


class Steps(Test):
    """The order of the steps, and what happens if one fails or the time is over."""

    def measured(self, steps: list[growth.Step], seconds: int = 100) -> tuple[CurveFile, list[str]]:
        console = rich.console.Console(file=io.StringIO())
        with (
            tempfile.TemporaryDirectory() as folder,
            mock.patch.object(growth, "steps", return_value=steps),
        ):
            kept = Kept(Path(folder) / "x", Origin(commit="1a", machine="TCG", processor="", sources="2b"))
            return growth.measure((), NOTHING_SET, seconds, 10, console, kept)

    def test_choice(self) -> None:
        """Catches: a part has no step, or a step of another part runs; an unknown part is ignored."""
        found = growth.steps(())
        self.assertEqual({part for step in found for part in step.points}, set(POINTS))
        points = [(part, n) for step in found for part, numbers in step.points.items() for n in numbers]
        self.assertEqual(sorted(points), sorted((part, n) for part, numbers in POINTS.items() for n in numbers))
        self.assertEqual([step.label for step in growth.steps(["bos", "walk"])], ["page-table walks", "bos"])
        self.assertEqual(len(growth.steps(["load"])), len(POINTS["load"]))
        with self.assertRaisesRegex(Failure, "no part bo: there are ranges, bos"):
            growth.steps(["bo"])

    def test_failure(self) -> None:
        """Catches: a step that fails ends the command, or loses the values of other steps; its points have no
        reason; a curve without values is no problem."""

        def good(context: growth.Context) -> None:
            for n in POINTS["gpus"]:
                context.recorder.add("gpus-map", n, n * 2.0, "us")

        def bad(context: growth.Context) -> None:
            context.recorder.add("walk", 2, 5.0, "ns")
            raise CurveError("walk: no engine")

        def silent(context: growth.Context) -> None:
            return

        file, problems = self.measured([
            growth.Step("a", {"walk": POINTS["walk"]}, bad),
            growth.Step("b", {"gpus": POINTS["gpus"]}, good),
            growth.Step("c", {"load": POINTS["load"]}, silent),
        ])  # fmt: skip
        self.assertEqual(problems, [
            "walk: no engine", "not measured: load of the module with n GPUs, 1, 2, 4, 8 GPUs",
        ])  # fmt: skip
        found = {curve.name: curve for curve in file.curves}
        self.assertEqual(set(found), {"walk", "gpus-map", "load"})
        self.assertEqual([point.n for point in found["walk"].points], [2])
        self.assertEqual({left.reason for left in found["walk"].left_out}, {"the measurement failed"})
        assert found["gpus-map"].fit
        self.assertTrue(found["gpus-map"].fit.met)
        output = io.StringIO()
        growth.show(file, rich.console.Console(file=output, width=200))
        text = output.getvalue()
        self.assertIn("1 … 8 GPUs", text)
        self.assertRegex(text, r"map a BO on n GPUs by one call.*✓ n ")
        self.assertIn("left out: page-table walk that reads n entries, 3 entries read: the measurement failed", text)

    def test_time(self) -> None:
        """Catches: a step begins when the command's time is over; its points have no reason."""
        run = mock.Mock()
        file, problems = self.measured([growth.Step("a", {"gpus": POINTS["gpus"]}, run)], growth.LEAST_SECONDS - 1)
        run.assert_not_called()
        self.assertEqual(problems, [])
        self.assertEqual({left.reason for left in file.curves[0].left_out}, {"the command's time was over before"})

    def started(self, part: str, available: int) -> list[tuple[curve_guest.Task, Recorder]]:
        """Run the steps of a part with this memory of the host. Return the tasks that started."""
        tasks = []
        recorder = Recorder()
        context = growth.Context(recorder, NOTHING_SET, growth.Clock(100), 10, available)
        with mock.patch.object(curve_guest, "run", lambda task, environment, recorder: tasks.append((task, recorder))):
            for step in growth.steps([part]):
                step.run(context)
        self.reasons = recorder.reasons
        return tasks

    def test_guests(self) -> None:
        """Catches: a guest gets points or memory that the host lacks; a guest's limit is longer than the time that is
        left; the guest has too few GPUs."""
        ((task, _),) = self.started("memory", 64 * GIB)
        self.assertEqual(list(task.command), ["vgpu-bench", "curve", "memory", "10", *map(str, POINTS["memory"])])
        self.assertLessEqual(task.seconds, 100)
        self.assertEqual(task.words[:2], ["--memory", "6144M"])
        ((task, _),) = self.started("memory", 4 * GIB)
        kept = task.points["memory"]
        self.assertEqual(kept, POINTS["memory"][: len(kept)])
        self.assertEqual([n for part, n in self.reasons], POINTS["memory"][len(kept) :])
        self.assertEqual(self.started("memory", GIB), [])
        self.assertEqual(len(self.reasons), len(POINTS["memory"]))
        ((task, _),) = self.started("gpus", 64 * GIB)
        self.assertEqual(task.words[-2:], ["--gpus", "8"])
        tasks = [task for task, _ in self.started("idle", 64 * GIB)]
        self.assertEqual([task.words[1] for task in tasks], ["0", "1", "2", "4", "8"])
        self.assertNotIn("load", tasks[0].command[-1])
        self.assertIn("vgpu-bench curve idle 10 8 && vgpu-bench curve load 10 8", tasks[-1].command[-1])
        self.assertEqual(self.started("idle", GIB), [])

    def test_migrations(self) -> None:
        """Catches: a migration starts that the host has no memory for; one kind of load is left out."""
        done = []

        def migrate(mib: int, kind: str, seconds: float, environment: object) -> migration.Moved:
            done.append((mib, kind))
            return migration.Moved(30, 2 * mib, mib)

        context = growth.Context(Recorder(), NOTHING_SET, growth.Clock(100), 10, 4 * GIB)
        with mock.patch.object(migration, "migrate", migrate):
            for step in growth.steps(["migration"]):
                step.run(context)
        self.assertEqual(done, [(mib, kind) for mib in (256, 512, 1024) for kind in ("idle", "busy")])
        self.assertEqual(set(context.recorder.reasons), {("migration", 2048), ("migration", 4096)})
        self.assertEqual(context.recorder.samples["ratio-busy", 512], [2.0])
