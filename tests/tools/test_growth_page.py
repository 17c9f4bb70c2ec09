# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests the page "How cost grows", which is generated from the file of ./vgpu bench-curves, and the command line of
./vgpu bench-curves. No test measures or draws a picture."""

import io
import tempfile
from contextlib import redirect_stdout
from pathlib import Path
from unittest import mock

from avocado import Test

from vgpu_tools.base.errors import Failure
from vgpu_tools.bench import curves, fit, growth
from vgpu_tools.bench.curves import CURVES, POINTS, CurveFile
from vgpu_tools.build import docs_environment
from vgpu_tools.cli import commands
from vgpu_tools.docs import growth_page


def complete() -> CurveFile:
    """Return a file with all curves. Costs follow the laws, except that of CREATE_QUEUE, which is quadratic."""
    found = []
    for curve in CURVES:
        samples = {}
        for n in POINTS[curve.part]:
            power = 2.0 if curve.name == "queues-create" else fit.LAWS[curve.law][0]
            samples[curve.name, n] = [7.0 * n**power]
        found.append(curves.reduce(curve, samples, {}))
    return CurveFile(
        command="./vgpu bench-curves", commit="1a", date="2026-01-02", machine="TCG", processor="A", curves=found
    )


class Page(Test):
    """The page "How cost grows", and the command line."""

    def setUp(self) -> None:
        self.place = tempfile.TemporaryDirectory()
        self.folder = Path(self.place.name)

    def tearDown(self) -> None:
        self.place.cleanup()

    def test_not_measured(self) -> None:
        """Catches: the page has a number or a picture without a measurement, or does not say how to measure."""
        text = growth_page.growth_page(None)
        self.assertIn("make bench-curves PUBLISH=1", text)
        for word in ("|", "✓", "✗", "growth/ranges.svg"):
            self.assertNotIn(word, text)

    def test_measured(self) -> None:
        """Catches: the page lacks a curve, a picture, the verdict, or the facts about the measurement."""
        file = complete()
        text = growth_page.growth_page(file.model_dump_json())
        self.assertIn("`./vgpu bench-curves` on 2026-01-02, commit `1a`, TCG (A)", text)
        for curve in CURVES:
            self.assertIn(f"| {curve.label} |", text)
        for name in growth_page.TITLES:
            self.assertIn(f"(../growth/{name}.svg)", text)
        self.assertIn(
            "| CREATE_QUEUE of n compute queues | 1 to 1,000 queues | 7 to 7,000,000 ms | 2.00 ± 0.00 | ✗ n", text
        )
        self.assertIn("| kernel memory of n BOs | 7 B | not known |", text)
        self.assertNotIn("## Left out", text)
        file.curves[0].left_out += [curves.LeftOut(n=n, reason="no memory") for n in (5, 6000)]
        text = growth_page.growth_page(file.model_dump_json())
        self.assertIn("| SET_ATTR of n ranges | 5, 6,000 | no memory |", text)
        assert file.curves[0].fit
        file.curves[0].fit.sure = False
        text = growth_page.growth_page(file.model_dump_json())
        self.assertRegex(text, r"\| SET_ATTR of n ranges \|.*\| \? n log n \|")

    def test_not_resolved(self) -> None:
        """Catches: the page has an exponent, a bar or bytes for memory that grows by less than the measurement
        resolves, or no upper limit; the resolution is missing."""
        file = complete()
        number = next(i for i, curve in enumerate(file.curves) if curve.name == "bos-qemu")
        samples: curves.Samples = {("bos-qemu", n): [-50_000.0, 50_000.0] for n in POINTS["bos"]}
        file.curves[number] = curves.reduce(CURVES[number], samples, {})
        text = growth_page.growth_page(file.model_dump_json())
        self.assertIn("| memory of QEMU for n BOs | BOs |  | not resolved |  |", text)
        self.assertIn("| memory of QEMU for n BOs | below 1 B | 100,000 B |", text)
        self.assertIn("grows by less than the measurement resolves (98 KiB) |", text)

    def test_files(self) -> None:
        """Catches: a missing file or another format gives a traceback; a file of some parts is published; a file
        changes when it is written and loaded."""
        path = self.folder / "curves.json"
        curves.write(complete(), path)
        self.assertEqual(curves.load(path), complete())
        with self.assertRaisesRegex(Failure, "no such file"):
            curves.load(self.folder / "no.json")
        with self.assertRaisesRegex(Failure, "cannot be read"):
            curves.load(self.folder)
        for text in ("", "{}", '{"results": []}', complete().model_dump_json().replace("curves 1", "curves 0")):
            with self.assertRaisesRegex(Failure, "not a file of ./vgpu bench-curves"):
                curves.parse(text, "x")
        some = complete()
        del some.curves[1:]
        curves.write(some, path)
        with mock.patch.object(growth_page, "ensure") as ensure, self.assertRaisesRegex(Failure, "no curve bos-among"):
            growth_page.publish(path)
        ensure.assert_not_called()

    def test_publish(self) -> None:
        """Catches: the pictures are drawn of other numbers than the published file has; the file is published although
        the drawing failed."""
        path = self.folder / "curves.json"
        curves.write(complete(), path)
        drawn = []
        with (
            mock.patch.object(growth_page, "ROOT", self.folder),
            mock.patch.object(growth_page, "BUILD", self.folder / "build"),
            mock.patch.object(growth_page, "ensure"),
            mock.patch.object(docs_environment, "run") as run,
        ):
            run.side_effect = lambda module, words, given, more: drawn.append((module, words, given))
            files = growth_page.publish(path)
            run.side_effect = Failure("docs: growth_pictures failed")
            files[0].unlink()
            with self.assertRaises(Failure):
                growth_page.publish(path)
            self.assertFalse(files[0].exists())
        ((module, words, given),) = drawn
        self.assertEqual((module, words), ("growth_pictures", [self.folder / "docs/growth"]))
        self.assertEqual(curves.parse(given, "given"), complete())
        self.assertEqual(len(files), 1 + len(growth_page.TITLES))

    def test_command(self) -> None:
        """Catches: wrong options are noticed after the build; --from measures; --publish publishes some parts only."""
        path = self.folder / "curves.json"
        curves.write(complete(), path)
        with (
            mock.patch.object(commands, "build") as build,
            mock.patch.object(growth, "main", return_value=1) as measure,
            mock.patch.object(growth_page, "publish", return_value=[Path("a.svg")]) as publish,
            redirect_stdout(io.StringIO()) as output,
        ):
            for words in (
                ["no"],
                ["--publish", "bos"],
                ["--from", str(path), "bos"],
                ["--seconds", "1"],
                ["--point-seconds", "0"],
                ["--from", f"{self.folder}/no.json"],
            ):
                with self.assertRaises(Failure):
                    commands.bench_curves(words)
            self.assertEqual(commands.bench_curves(["--from", str(path), "--publish"]), 0)
            build.assert_not_called()
            measure.assert_not_called()
            publish.assert_called_once_with(path)
            self.assertIn("CREATE_QUEUE of n compute queues", output.getvalue())
            self.assertEqual(commands.bench_curves(["bos", "--output", "x.json", "--seconds", "60"]), 1)
            build.assert_called_once_with(["bench"])
            self.assertEqual(measure.call_args.args[0], ["bos"])
            self.assertEqual(measure.call_args.args[2:], (60, 120, Path("x.json")))
            with self.assertRaisesRegex(Failure, "not published: a measurement failed"):
                commands.bench_curves(["--publish"])
            publish.assert_called_once_with(path)
