# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests how runs of ./vgpu bench-curves continue each other. No test boots a guest."""

import io
import tempfile
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

import rich.console
from avocado import Test

from vgpu_tools.base.environment import NOTHING_SET
from vgpu_tools.base.errors import Failure
from vgpu_tools.base.files import write_whole
from vgpu_tools.bench import curve_guest, curves, growth, migration
from vgpu_tools.bench.curve_guest import CurveError, Recorder
from vgpu_tools.bench.curves import CURVES, POINTS, CurveFile, Samples
from vgpu_tools.bench.kept import Kept, Origin

ORIGIN = Origin(commit="1a", machine="TCG", processor="A", sources="2b")


def line(name: str, n: int, value: float, unit: str = "ms") -> str:
    return f'{{"curve": "{name}", "n": {n}, "value": {value}, "unit": "{unit}"}}'


class Continued(Test):
    """The file of points, and a run that continues an earlier one."""

    def setUp(self) -> None:
        self.place = tempfile.TemporaryDirectory()
        self.folder = Path(self.place.name)
        self.path = self.folder / "curves.partial.json"

    def tearDown(self) -> None:
        self.place.cleanup()

    def kept(self, origin: Origin = ORIGIN, fresh: bool = False) -> Kept:
        return Kept(self.path, origin, fresh)

    def measured(self, steps: Sequence[growth.Step], kept: Kept, seconds: int = 100) -> tuple[CurveFile, list[str]]:
        console = rich.console.Console(file=io.StringIO())
        with mock.patch.object(growth, "steps", return_value=list(steps)):
            return growth.measure((), NOTHING_SET, seconds, 10, console, kept)

    def call(self, steps: Sequence[growth.Step], fresh: bool = False) -> tuple[int, str]:
        """Call growth.main() with these steps. Return its status, and its messages."""
        errors = io.StringIO()
        with (
            mock.patch.object(growth, "steps", return_value=list(steps)),
            mock.patch.object(growth, "origin", return_value=ORIGIN),
            redirect_stdout(io.StringIO()),
            redirect_stderr(errors),
        ):
            status = growth.main((), NOTHING_SET, 100, 10, self.folder / "curves.json", fresh)
        return status, " ".join(errors.getvalue().split())

    def step(self, asked: list[list[int]], ends: Callable[[], None] | None = None, after: int = 9) -> growth.Step:
        """Return a step that measures the curve gpus-map, and calls `ends` after this number of points. The points that
        the step has to measure are appended to `asked`."""

        def run(context: growth.Context) -> None:
            asked.append(context.open("gpus", POINTS["gpus"]))
            for number, n in enumerate(asked[-1]):
                if ends and number == after:
                    ends()
                context.recorder.line(line("gpus-map", n, 10.0 * n * len(asked), "us"))
            context.recorder.complete("gpus", POINTS["gpus"])

        return growth.Step("GPUs", {"gpus": POINTS["gpus"]}, run)

    def test_interrupted(self) -> None:
        """Catches: Ctrl-C loses the points that were measured before it; the point under measurement counts as
        complete; the next run measures all again, or mixes the two runs without a note."""

        def interrupt() -> None:
            raise KeyboardInterrupt

        asked: list[list[int]] = []
        with self.assertRaises(KeyboardInterrupt):
            self.measured([self.step(asked, interrupt, 3)], self.kept())
        again = self.kept()
        self.assertEqual(set(again.samples), {("gpus-map", 1), ("gpus-map", 2)})
        file, problems = self.measured([self.step(asked)], again)
        self.assertEqual((asked, problems), ([[1, 2, 4, 8], [4, 8]], []))
        (curve,) = file.curves
        self.assertEqual([(point.n, point.median) for point in curve.points], [(1, 10), (2, 20), (4, 80), (8, 160)])
        self.assertEqual(file.runs, 2)
        text = io.StringIO()
        growth.show(file, rich.console.Console(file=text, width=200))
        self.assertIn("in 2 runs", text.getvalue())

    def test_failed(self) -> None:
        """Catches: a guest that fails makes the next run measure complete points again; a run that measured all leaves
        its points to the next one; the user is not told where the points are."""

        def fail() -> None:
            raise CurveError("no guest")

        asked: list[list[int]] = []
        status, said = self.call([self.step(asked, fail, 2)])
        self.assertEqual(status, 1)
        self.assertIn("1 points are in", said)
        status, said = self.call([self.step(asked)])
        self.assertEqual(status, 0)
        self.assertIn("1 points are those of an earlier run", said)
        self.assertFalse(self.path.exists())
        self.assertEqual(self.call([self.step(asked)])[0], 0)
        self.assertEqual(asked, [[1, 2, 4, 8], [2, 4, 8], [1, 2, 4, 8]])
        self.assertEqual(curves.load(self.folder / "curves.json").runs, 1)

    def test_fresh(self) -> None:
        """Catches: --fresh uses points of the earlier run, or keeps their file; a complete part is dropped with the
        points of another part."""
        samples: Samples = {("gpus-map", 1): [1.0], ("load", 2): [3.0, 4.0]}
        kept = self.kept()
        kept.add("gpus", 1, samples)
        kept.add("load", 2, samples)
        kept.drop({"gpus"})
        self.assertEqual(self.kept().samples, {("load", 2): [3.0, 4.0]})
        self.assertEqual(self.kept(fresh=True).samples, {})
        self.assertFalse(self.path.exists())

    def test_origin(self) -> None:
        """Catches: points of another commit, of changed sources or of another host go into one curve with new ones."""
        self.kept().add("gpus", 1, {("gpus-map", 1): [1.0]})
        self.assertEqual(self.kept().runs, 2)
        for field in Origin.model_fields:
            other = self.kept(ORIGIN.model_copy(update={field: "other"}))
            self.assertEqual((other.samples, other.runs), ({}, 1), field)

    def test_file(self) -> None:
        """Catches: a file that is no file of points gives a traceback, or is ignored and replaced; an interrupted write
        leaves a part of the file."""
        self.kept().add("gpus", 1, {("gpus-map", 1): [1.0]})
        good = self.path.read_text()
        for text in ("", "[]", "{}", good.replace("points 1", "points 0"), good.replace("1.0", '"x"'), good[:-5]):
            self.path.write_text(text)
            with self.assertRaisesRegex(Failure, "remove it, or measure with --fresh"):
                self.kept()
        self.path.write_text(good)
        with mock.patch.object(Path, "replace", side_effect=KeyboardInterrupt), self.assertRaises(KeyboardInterrupt):
            write_whole(self.path, "a part")
        self.assertEqual(self.kept().samples, {("gpus-map", 1): [1.0]})

    def test_time(self) -> None:
        """Catches: a run whose time is over drops its points, so that a second run cannot measure the rest."""
        done = self.step([])
        late = growth.Step("late", {"load": POINTS["load"]}, lambda context: None)
        with mock.patch.object(growth.Clock, "left", side_effect=[100, 100, 100, 0]):
            self.assertEqual(self.call([done, late])[0], 0)
        self.assertEqual(self.kept().points(), len(POINTS["gpus"]))


class Complete(Test):
    """Which points are complete."""

    def recorder(self) -> tuple[Recorder, list[tuple[str, int]]]:
        completed: list[tuple[str, int]] = []
        return Recorder(None, lambda part, n, samples: completed.append((part, n))), completed

    def test_points(self) -> None:
        """Catches: a point is complete while its program still measures it, or if it lacks a curve or was left out; the
        point of a program that failed is completed by the first line of the next program."""
        recorder, completed = self.recorder()
        names = [curve.name for curve in CURVES if curve.part == "memory"]
        for name in names:
            recorder.line(line(name, 64, 1.0))
        self.assertEqual(completed, [])
        recorder.line(line(names[0], 128, 1.0))
        self.assertEqual(completed, [("memory", 64)])
        recorder.begin()
        recorder.line(line("processes-all", 1, 1.0))
        recorder.line('{"part": "processes", "n": 3, "left_out": "no end"}')
        recorder.line(line("processes-all", 3, 1.0))
        recorder.complete("processes", [1, 3])
        recorder.complete("memory", [64, 128])
        self.assertEqual(completed, [("memory", 64), ("processes", 1)])
        again = Recorder({(name, 64): [1.0] for name in names})
        self.assertEqual(again.done, {("memory", 64)})

    def started(self, part: str, done: Sequence[int]) -> list[dict[str, list[int]]]:
        """Run the steps of a part of which these points are done. Return the points of each guest that starts."""
        names = [curve.name for curve in CURVES if curve.part == part]
        recorder = Recorder({(name, n): [1.0] for name in names for n in done})
        context = growth.Context(recorder, NOTHING_SET, growth.Clock(100), 10, 64 << 30)
        tasks: list[dict[str, list[int]]] = []
        moved = migration.Moved(1.0, 1, 1)
        with (
            mock.patch.object(curve_guest, "run", lambda task, environment, recorder: tasks.append(task.points)),
            mock.patch.object(migration, "migrate", return_value=moved) as migrate,
            mock.patch.object(growth, "run_on_host", return_value="") as walk,
        ):
            for step in growth.steps([part]):
                step.run(context)
        self.migrations, self.walks = migrate.call_count, walk.call_count
        return tasks

    def test_steps(self) -> None:
        """Catches: a guest measures points that are complete, or starts although all its points are."""
        self.assertEqual(self.started("bos", [100, 1_000]), [{"bos": [300, 3_000, 10_000, 30_000, 100_000]}])
        self.assertEqual(self.started("bos", POINTS["bos"]), [])
        idle = self.started("idle", [0, 1, 2, 4])
        self.assertEqual(idle, [{"load": [1]}, {"load": [2]}, {"load": [4]}, {"idle": [8], "load": [8]}])
        self.started("migration", [256, 512])
        self.assertEqual(self.migrations, len(migration.KINDS) * (len(POINTS["migration"]) - 2))
        self.started("walk", growth.WALKS)
        self.assertEqual(self.walks, 0)
