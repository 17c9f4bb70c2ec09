# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests the comparison of two runs of the benchmarks: `make bench BASE=FILE`."""

import io
import json
import tempfile
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

import rich.console
from avocado import Test

from vgpu_tools.base.environment import NOTHING_SET
from vgpu_tools.base.errors import Failure
from vgpu_tools.bench import compare, measure
from vgpu_tools.bench.document import Document, load, processor, write
from vgpu_tools.bench.rows import DISK_READ, Key, Result, Results, Row

FAULT = Key("fault-single", 4096, "us")
RATE = Key("sdma-vram-vram", 64 << 20, "GB/s")
FACTS = {"machine": "x86_64", "processor": "A", "cpus": 2, "time": "2026-01-02T03:04:05Z", "options": []}


def reduced(**samples: Sequence[float]) -> Results:
    """Return the results of samples, by the names of three keys: fault, disk, rate."""
    keys = {"fault": FAULT, "disk": DISK_READ, "rate": RATE}
    return measure.reduce({keys[name]: list(values) for name, values in samples.items()})


def document(results: Results, **facts: object) -> Document:
    return Document.model_validate({**FACTS, "results": list(results.values()), **facts})


class Compare(Test):
    """The marks of rows, and the printed table."""

    def change(self, before: Results, now: Results, label: str) -> compare.Change:
        """Return the only change whose reference has this label."""
        (found,) = [one for one in compare.changes(before, now) if one.row.against_label == label]
        return found

    def test_quartiles(self) -> None:
        """Catches: quartiles that a single outlier moves; quartiles outside of the samples; one sample is an error."""
        self.assertEqual(measure.quartiles([1.0, 2.0, 3.0, 4.0, 1000.0]), (2.0, 4.0))
        self.assertEqual(measure.quartiles([1.0, 3.0]), (1.5, 2.5))
        self.assertEqual(measure.quartiles([7.0]), (7.0, 7.0))
        (result,) = reduced(fault=[3.0, 1.0, 2.0, 5.0, 4.0]).values()
        self.assertEqual((result.median, result.lower_quartile, result.upper_quartile), (3.0, 2.0, 4.0))

    def test_beyond(self) -> None:
        """Catches: a change within the spread is marked, or one beyond the spread is not; quartiles that touch count
        as apart."""
        values = [100.0, 105.0, 110.0, 115.0, 120.0, 125.0, 130.0, 135.0, 140.0]
        before = reduced(fault=values, disk=[90.0] * 5)
        for shift, differs in ((0.0, False), (20.0, False), (21.0, True), (-21.0, True)):
            now = reduced(fault=[value + shift for value in values], disk=[90.0] * 5)
            self.assertEqual(self.change(before, now, "null disk read").differs, differs, shift)

    def test_quartiles_of_few(self) -> None:
        """Catches: quartiles of few samples, which often do not overlap by chance, give a mark."""
        values = [100.0, 110.0, 120.0, 130.0, 140.0]
        before = reduced(fault=values, disk=[90.0] * 5)
        for shift, differs in ((21.0, False), (40.0, False), (41.0, True)):
            now = reduced(fault=[value + shift for value in values], disk=[90.0] * 5)
            self.assertEqual(self.change(before, now, "null disk read").differs, differs, shift)

    def test_direction(self) -> None:
        """Catches: a rate that grows is called worse; a time that grows is called better; the bar's direction is
        ignored."""
        before = reduced(fault=[100.0, 101.0, 102.0], disk=[90.0] * 3, rate=[5.0, 5.1, 5.2])
        now = reduced(fault=[200.0, 201.0, 202.0], disk=[90.0] * 3, rate=[9.0, 9.1, 9.2])
        found = {one.row.key: one for one in compare.changes(before, now)}
        self.assertEqual([found[key].differs for key in (FAULT, DISK_READ, RATE)], [True, False, True])
        self.assertEqual([found[key].better for key in (FAULT, RATE)], [False, True])
        self.assertTrue(compare.lower_is_better(Row("x", Key("x", 0, "%"), absolute_bar=1, lower_is_better=True)))
        self.assertFalse(compare.lower_is_better(Row("x", Key("x", 0, "%"), absolute_bar=90)))

    def test_ratio(self) -> None:
        """Catches: a machine that is slower in all rows gives a mark at the ratio; a ratio that changed has no mark,
        because each of the two values moved within its spread."""
        before = reduced(fault=[100.0, 101.0, 102.0], disk=[50.0, 50.5, 51.0])
        slower = reduced(fault=[200.0, 202.0, 204.0], disk=[100.0, 101.0, 102.0])
        change = self.change(before, slower, "null disk read")
        self.assertEqual((change.differs, change.ratio_differs), (True, False))
        change = self.change(before, reduced(fault=[100.0, 101.0, 102.0], disk=[80.0, 81.0, 82.0]), "null disk read")
        self.assertEqual((change.differs, change.ratio_differs), (False, True))
        zero = self.change(before, reduced(fault=[100.0] * 3, disk=[0.0] * 3), "null disk read")
        self.assertIsNone(zero.now_ratio)
        self.assertFalse(zero.ratio_differs)

    def test_few_samples(self) -> None:
        """Catches: one sample, which has no spread, is marked as different."""
        before, now = reduced(fault=[100.0], disk=[1.0]), reduced(fault=[200.0], disk=[1.0])
        change = self.change(before, now, "null disk read")
        self.assertEqual((change.judged, change.differs, change.ratio_differs), (False, False, False))
        self.assertIn("2 have fewer than 3 samples", compare.summary(list(compare.changes(before, now))))
        before, now = reduced(fault=[100.0] * 3, disk=[50.0]), reduced(fault=[100.0] * 3, disk=[80.0])
        self.assertFalse(self.change(before, now, "null disk read").ratio_differs)

    def test_no_number(self) -> None:
        """Catches: a program prints a value that is no number, which a median or a later BASE cannot use."""
        for value in ("NaN", "Infinity", "-nan"):
            line = f'{{"name": "fault-single", "bytes": 4096, "value": {value}, "unit": "us"}}'
            with self.assertRaisesRegex(measure.BenchError, "no sample"):
                measure.collect({}, line)

    def test_summary(self) -> None:
        """Catches: a result that is in two rows counts twice; better and worse are exchanged."""
        before = reduced(fault=[100.0] * 3, disk=[90.0] * 3, rate=[5.0] * 3)
        now = reduced(fault=[200.0] * 3, disk=[90.0] * 3, rate=[9.0] * 3)
        found = list(compare.changes(before, now))
        self.assertEqual(len([one for one in found if one.row.key == FAULT]), 2)
        self.assertTrue(compare.summary(found).startswith("2 of 3 results differ beyond the spread: 1 better, 1 worse"))

    def shown(self, base: Document, now: Document) -> str:
        output = io.StringIO()
        compare.show(base, now, "old.json", rich.console.Console(file=output, width=220))
        return output.getvalue()

    def test_table(self) -> None:
        """Catches: the table lacks a row, a mark or the earlier value; a row of one run only is not named; another host
        is not named; a file without quartiles is used without a note."""
        base = document(reduced(fault=[100.0] * 3, disk=[90.0] * 3))
        now = document(reduced(fault=[200.0] * 3, rate=[5.0] * 3), cpus=8, options=["--cpus", "4"])
        text = self.shown(base, now)
        self.assertIn("compared with old.json of 2026-01-02T03:04:05Z", text)
        line = next(line for line in text.splitlines() if "one fault, raise to replay" in line)
        for words in ("100 (100 … 100)", "200 (200 … 200)", "2.00 x", "worse"):
            self.assertIn(words, line)
        self.assertIn("not in this run: anchor: 4 KiB read of a null disk (us)", text)
        self.assertIn("not in the earlier run: SDMA copy VRAM to VRAM (GB/s)", text)
        self.assertIn("other host or guests: cpus: 2, now 8", text)
        self.assertIn("other host or guests: options: none, now --cpus 4", text)
        self.assertNotIn("processor", text)
        self.assertNotIn("no quartiles", text)
        old = document({FAULT: Result("fault-single", 4096, "us", 100.0, 90.0, 210.0, 3)})
        text = self.shown(old, now)
        self.assertIn("old.json has no quartiles", text)
        self.assertIn("0 of 1 results differ", text)


class Files(Test):
    """Files of earlier runs."""

    def setUp(self) -> None:
        self.place = tempfile.TemporaryDirectory()
        self.folder = Path(self.place.name)

    def tearDown(self) -> None:
        self.place.cleanup()

    def file(self, text: str) -> Path:
        path = self.folder / "base.json"
        path.write_text(text)
        return path

    def test_round_trip(self) -> None:
        """Catches: a result changes when it is written and loaded; a file of an earlier version cannot be loaded."""
        first = document(reduced(fault=[1.0, 2.0, 3.0]))
        path = self.folder / "new" / "bench.json"
        write(first, path)
        self.assertEqual(load(path), first)
        data = json.loads(path.read_text())
        del data["processor"]
        for result in data["results"]:
            del result["lower_quartile"], result["upper_quartile"]
        found = load(self.file(json.dumps(data)))
        self.assertEqual(found.results[0].lower_quartile, None)
        self.assertEqual(first.hosts_differ(found), [])

    def test_bad_files(self) -> None:
        """Catches: a missing file, a folder, another format or an empty file gives a traceback, or is accepted."""
        good = json.loads(document(reduced(fault=[1.0])).model_dump_json())
        for text, words in (
            ("", "not a file of ./vgpu bench"),
            ("no JSON", "not a file of ./vgpu bench"),
            ("[]", "not a file of ./vgpu bench"),
            ('{"curves": []}', "machine: Field required"),
            (json.dumps({**good, "results": [{"name": "x"}]}), r"results\.0\."),
            (json.dumps({**good, "results": []}), "has no results"),
        ):
            with self.assertRaisesRegex(Failure, words) as caught:
                load(self.file(text))
            self.assertEqual(caught.exception.status, 2)
        with self.assertRaisesRegex(Failure, "no.json: no such file"):
            load(self.folder / "no.json")
        with self.assertRaisesRegex(Failure, "cannot be read"):
            load(self.folder)
        (self.folder / "binary").write_bytes(b"\xff\xfe")
        with self.assertRaisesRegex(Failure, "cannot be read"):
            load(self.folder / "binary")

    def test_before_the_run(self) -> None:
        """Catches: a bad --base ends the command after the build and the measurement, not before them."""
        prepare = mock.Mock()
        with mock.patch.object(measure, "_steps") as steps, self.assertRaisesRegex(Failure, "no such file"):
            measure.main(["--base", f"{self.folder}/no.json"], NOTHING_SET, prepare)
        prepare.assert_not_called()
        steps.assert_not_called()

    def test_from(self) -> None:
        """Catches: --from measures or builds; the comparison is not printed; BASE may not be the file that the run
        replaces."""
        path = self.folder / "bench.json"
        write(document(reduced(fault=[1.0] * 3)), path)
        prepare, output = mock.Mock(), io.StringIO()
        with redirect_stdout(output), redirect_stderr(io.StringIO()):
            status = measure.main(["--from", str(path), "--base", str(path)], NOTHING_SET, prepare)
        self.assertEqual(status, 0)
        prepare.assert_not_called()
        self.assertIn("0 of 1 results differ", output.getvalue())
        with (
            mock.patch.object(measure, "_steps", return_value=[]),
            redirect_stdout(output),
            redirect_stderr(io.StringIO()),
        ):
            measure.main(["--base", str(path), "--output", str(path)], NOTHING_SET, prepare)
        prepare.assert_called_once()
        self.assertEqual(json.loads(path.read_text())["results"], [])

    def test_processor(self) -> None:
        """Catches: the model of the CPUs is not found; a host without the file is an error."""
        self.assertEqual(processor(self.file("processor\t: 0\nmodel name\t: A: B\n")), "A: B")
        self.assertEqual(processor(self.file("")), "")
        self.assertEqual(processor(self.folder / "no"), "")
