# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests the comparison of two runs of ./vgpu bench-curves: `make bench-curves BASE=FILE`. No test measures."""

import io
import tempfile
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from unittest import mock

import rich.console
from avocado import Test

from vgpu_tools.base.errors import Failure
from vgpu_tools.bench import compare_curves, curves, document, growth
from vgpu_tools.bench.curves import BY_NAME, POINTS, CurveFile, Samples
from vgpu_tools.cli import commands

NOISE = (0.95, 1.0, 1.05)  # factors of the samples at one n


def file(machine: str = "TCG", **curves_of: Sequence[float]) -> CurveFile:
    """Return a file of curves, by their names with "_" for "-". A curve has a list of medians at its first numbers."""
    found = []
    for key, medians in curves_of.items():
        curve = BY_NAME[key.replace("_", "-")]
        samples: Samples = {
            (curve.name, n): [median * factor for factor in NOISE]
            for n, median in zip(POINTS[curve.part], medians, strict=False)
        }
        found.append(curves.reduce(curve, samples, {}))
    return CurveFile(
        command="./vgpu bench-curves", commit="1a", date="2026-01-02", machine=machine, processor="A", curves=found
    )


class Compare(Test):
    """The marks of values and exponents, and the printed table."""

    def marks(self, base: CurveFile, now: CurveFile) -> dict[int | None, str]:
        """Return the marks of the only curve, by n; that of the exponent has the key None."""
        return {
            change.n: ("better" if change.better else "worse") if change.differs else ""
            for change in compare_curves.changes(base, now)
        }

    def test_values(self) -> None:
        """Catches: a value within the spread is marked, or one beyond it is not; a lower cost is called worse; the
        value of another n is compared."""
        base = file(gpus_map=[10, 20, 40, 80])
        marks = self.marks(base, file(gpus_map=[10.5, 20, 50, 60]))
        self.assertEqual([marks[n] for n in (1, 2, 4, 8)], ["", "", "worse", "better"])
        self.assertEqual(set(self.marks(base, base).values()), {""})

    def test_exponents(self) -> None:
        """Catches: an exponent that grew beyond its error is not marked, or one within it is; a smaller exponent is
        called worse; the exponent of three points is judged."""
        numbers = POINTS["queues"]
        wave = [1.2, 0.85, 1.1, 0.9, 1.15, 0.9, 1.1]
        linear = [n * factor for n, factor in zip(numbers, wave, strict=True)]
        steeper = [n**1.03 * factor for n, factor in zip(numbers, wave, strict=True)]
        square = [n**2 * factor for n, factor in zip(numbers, wave, strict=True)]
        base = file(queues_create=linear)
        self.assertEqual(self.marks(base, file(queues_create=steeper))[None], "")
        self.assertEqual(self.marks(base, file(queues_create=square))[None], "worse")
        self.assertEqual(self.marks(file(queues_create=square), base)[None], "better")
        few = list(compare_curves.changes(file(gpus_map=[1, 2, 4]), file(gpus_map=[1, 4, 16])))
        self.assertEqual([change.judged for change in few], [False, True, True, True])

    def test_few_samples(self) -> None:
        """Catches: a value of one sample, which has no spread, is marked."""
        base, now = file(gpus_map=[10, 20, 40, 80]), file(gpus_map=[10, 20, 40, 160])
        now.curves[0].points[-1].samples = 1
        self.assertEqual(self.marks(base, now)[8], "")
        texts = compare_curves.summary(list(compare_curves.changes(base, now)))
        self.assertEqual(
            texts[0],
            "0 of 4 values differ beyond the spread: 0 better, 0 worse; 1 have fewer than 3 samples and are not judged",
        )
        self.assertTrue(texts[1].startswith("0 of 1 exponents differ"))

    def test_table(self) -> None:
        """Catches: the table lacks a curve, a value, the exponent or a mark; points of one run only, or another host,
        are not named."""
        base = file(gpus_map=[10, 20, 40, 80], load=[70, 71, 72, 73])
        now = file("KVM", gpus_map=[10, 20, 60], queues_create=[1, 3, 10])
        output = io.StringIO()
        compare_curves.show(base, now, "old.json", rich.console.Console(file=output, width=190))
        text = output.getvalue()
        self.assertIn("compared with old.json of 2026-01-02, commit 1a", text)
        self.assertRegex(text, r"map a BO on n GPUs by one call +│ +exponent │ +1\.00 \(1\.00 … 1\.00\) │.*few points")
        self.assertRegex(text, r"4 GPUs │ +40 \(38 … 42\) │ +60 \(57 … 63\) │ us +│ 1\.50 x │ worse")
        self.assertIn("other host: machine: TCG, now KVM", text)
        self.assertNotIn("processor", text)
        self.assertIn("not in this run: map a BO on n GPUs by one call, 8 GPUs", text)
        self.assertIn("not in this run: load of the module with n GPUs, 1, 2, 4, 8 GPUs", text)
        self.assertIn("not in the earlier run: CREATE_QUEUE of n compute queues, 1, 3, 10 queues", text)

    def test_command(self) -> None:
        """Catches: --base is loaded after the measurement, so that it may not name the file that is replaced; --from
        with --base measures; a file of the other command gives no hint which command has the right one."""
        with tempfile.TemporaryDirectory() as name:
            path, other, bench = (Path(name) / one for one in ("curves.json", "new.json", "bench.json"))
            curves.write(file(gpus_map=[10, 20, 40, 80]), path)
            curves.write(file(gpus_map=[20, 40, 80, 160]), other)
            bench.write_text('{"results": []}')

            def measure(*_: object, fresh: bool) -> int:
                other.replace(path)
                return 0

            with (
                mock.patch.object(commands, "build") as build,
                mock.patch.object(growth, "main", side_effect=measure),
                redirect_stdout(io.StringIO()) as output,
            ):
                self.assertEqual(commands.bench_curves(["--from", str(other), "--base", str(path)]), 0)
                build.assert_not_called()
                self.assertIn("4 of 4 values differ beyond the spread: 0 better, 4 worse", output.getvalue())
                self.assertEqual(commands.bench_curves(["--base", str(path), "--output", str(path)]), 0)
                self.assertEqual(output.getvalue().count("4 of 4 values differ"), 2)
                build.reset_mock()
                with self.assertRaisesRegex(Failure, "a bench.json has no curves"):
                    commands.bench_curves(["--base", str(bench)])
                build.assert_not_called()
            with self.assertRaisesRegex(Failure, "curves are compared by ./vgpu bench-curves --base"):
                document.load(path)
