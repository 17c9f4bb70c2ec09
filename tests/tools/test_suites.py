# SPDX-License-Identifier: GPL-2.0-or-later
"""The logic of ./vgpu test: which suites a change needs, time limits, budgets, reports. No guests."""

import io
import signal
import subprocess
import tempfile
import threading
import time
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

from avocado import Test

from vgpu_tools.base import environment
from vgpu_tools.base.errors import Failure
from vgpu_tools.base.paths import ROOT
from vgpu_tools.testing import (
    again,
    avocado_tests,
    budget,
    changed,
    device_tests,
    guest_tests,
    limits,
    registry,
    report,
    stress,
    suite,
)
from vgpu_tools.testing import run as suites
from vgpu_tools.testing.children import Children
from vgpu_tools.testing.suite import BASIC, FULL, LONG, Context, Outcome, Plan, Report, Suite
from vgpu_tools.testing.tap import Case, parse


class Printing:
    """A guest that prints something and then runs on until it is ended."""

    def __init__(self, text: str) -> None:
        self.output = bytearray(text.encode())
        self.ended = threading.Event()

    def give_up(self) -> None:
        """End it."""
        self.ended.set()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for its end."""
        return self.ended.wait(seconds)


def files() -> list[str]:
    """Names of all files that git tracks."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [name for name in said.split("\0") if name]


class Changed(Test):
    """From changed files to suites."""

    def test_every_file_has_a_rule(self) -> None:
        """Catches a folder that the table does not name: its changes would be refused."""
        rules = changed.load()
        for name in files():
            changed.choose(rules, [name])

    def test_programs_exist(self) -> None:
        """Catches a program or a machine in the table that is gone."""
        listed = {program for guest in guest_tests.full_list() for program in guest.programs}
        for rule in changed.load():
            self.assertLessEqual({name for name in rule.programs if "\\" not in name}, listed)
            for name in rule.machines:
                self.assertTrue(
                    "\\" in name or any((folder / f"{name}.py").exists() for folder in avocado_tests.TESTS), name
                )

    def test_groups(self) -> None:
        """A test program's source asks for that program; several files ask for the sum."""
        choice = changed.choose(
            changed.load(), ["guest-rootfs/programs/tests/render/vgpu-test-cs.c", "docs/hardware.md", "README.md"]
        )
        self.assertEqual(choice.programs, {"vgpu-test-cs"})
        self.assertEqual(choice.suites, {"check", "guest-release", "guest-debug", "registers"})

    def test_bad_tables(self) -> None:
        """An unknown suite, an unknown key, a broken expression, no paths, a file without a rule."""
        for text in (
            '[[rule]]\npaths = ["a"]\nsuites = ["nonsense"]\n',
            '[[rule]]\npaths = ["a"]\nsuits = []\n',
            '[[rule]]\npaths = ["("]\n',
            "[[rule]]\nsuites = []\n",
            "nonsense",
        ):
            with self.assertRaises(Failure, msg=text):
                changed.load(text)
        with self.assertRaises(Failure):
            changed.choose(changed.load('[[rule]]\npaths = ["a"]\n'), ["b"])

    def test_files(self) -> None:
        """Changed, new and committed files are seen. Catches a --changed that looks at commits only."""
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)

            def git(*words: str) -> None:
                subprocess.run(["git", "-C", folder, "-c", "user.name=t", "-c", "user.email=t", *words], check=True)

            git("init", "-q")
            for name in ("a", "b", "c"):
                (root / name).write_text("1")
                git("add", name)
                git("commit", "-qm", name)
            with mock.patch.object(changed, "ROOT", root):
                self.assertEqual(changed.files(), ["c"])
                (root / "a").write_text("2")
                (root / "new").write_text("1")
                self.assertEqual(changed.files(), ["a", "new"])
                self.assertEqual(changed.files("HEAD~1"), ["a", "c", "new"])
                with self.assertRaises(Failure):
                    changed.files("nonsense")


class Passes(Test):
    """Which suites and programs a pass has."""

    def test_levels(self) -> None:
        """Each pass has all that the smaller ones have, and a named suite is run in any."""
        names = [{suite.name for suite in registry.choose([], level)} for level in (BASIC, FULL, LONG)]
        self.assertLessEqual(names[0], names[1])
        self.assertLess(names[1], names[2])
        self.assertEqual([suite.name for suite in registry.choose(["kunit"], BASIC)], ["kunit-release", "kunit-debug"])
        with self.assertRaisesRegex(Failure, "nonsense"):
            registry.choose(["nonsense"], BASIC)

    def test_stages(self) -> None:
        """Only neighbours of the same `beside` run together."""
        suites = [
            Suite(name, list, lambda *_: [], beside=beside)
            for name, beside in zip("abcde", ["", "x", "x", "", "y"], strict=True)
        ]
        self.assertEqual(
            ["".join(one.name for one in stage) for stage in registry.stages(suites)], ["a", "bc", "d", "e"]
        )

    def test_basic_list(self) -> None:
        """tests/basic.toml names programs of tests.list, for both kernels."""
        for flavour in ("release", "debug"):
            self.assertTrue(guest_tests.basic_list(flavour))

    def test_restricted(self) -> None:
        """Guests without a wanted program are not started; a program that is in none is refused."""
        chosen = guest_tests.listed("release", Plan(FULL, programs=frozenset({"vgpu-test-svm"})))
        self.assertEqual({program for guest in chosen for program in guest.programs}, {"vgpu-test-svm"})
        with self.assertRaisesRegex(Failure, "nonsense"):
            guest_tests.listed("release", Plan(FULL, programs=frozenset({"nonsense"})))

    def test_in_order(self) -> None:
        """Parts come in order, also when a later one is done first."""

        second = threading.Event()

        def one(part: int) -> tuple[list[Case], str]:
            if part == 1:
                second.wait(60)
            second.set()
            return [Case(f"{part}", "failed")], f"said {part}\n"

        with tempfile.TemporaryDirectory() as folder, mock.patch.object(suite, "AT_ONCE", 2):
            log = Path(folder) / "log"
            self.assertEqual(
                [part for part, _, _ in suite.in_order(one, [1, 2, 3], log, Plan(), Children())], [1, 2, 3]
            )
            self.assertEqual(log.read_text(), "said 1\nsaid 2\nsaid 3\n")

    def test_fail_fast(self) -> None:
        """The first failed case ends its own guest and the other ones. Catches one that runs on for minutes."""
        context = Context(scale=1.0)

        def one(part: str) -> tuple[list[Case], str]:
            guest = Printing(part)
            with context.children.adopt(guest.give_up):
                watch = guest_tests.Watch(context.speed, 60, 60, fail_fast=True)
                watch.wait(guest)
            ran = guest_tests.Ran(0, guest.output.decode(), stopped=watch.failed(guest))
            return guest_tests.cases_of(["a", "b"], ran), f"said {part}\n"

        parts = ["", "# program a\nnot ok 1 - x\n", " "]
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(suite, "AT_ONCE", 2):
            start = time.monotonic()
            found = list(suite.in_order(one, parts, Path(folder) / "log", Plan(fail_fast=True), context.children))
        self.assertLess(time.monotonic() - start, 30)
        self.assertEqual([part for part, _, _ in found], parts[1:2])
        self.assertEqual(next((case.name, case.outcome) for case in found[0][1]), ("a: x", "failed"))

    def test_left_out(self) -> None:
        """Names reach the shell unharmed."""
        guest = guest_tests.Listed(["echo"], [], {"echo": ["it's", "b c"]})
        script = guest.command({"A": "x y"})[2].replace("echo ||", "printenv VGPU_TEST_LEAVE_OUT A ||")
        said = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True).stdout
        self.assertEqual(said, "\n# program echo\nit's\nb c\nx y\n")


class Time(Test):
    """Limits, budgets and seconds."""

    def test_seconds(self) -> None:
        """A case's own time is read; a figure in a diagnostic of a failed case is not."""
        cases = parse("1..2\nok 1 - a\n# 1.500 s\n# took 3 s\nnot ok 2 - b\n# 0.250 s\n")
        self.assertEqual([case.seconds for case in cases], [1.5, 0.25])

    def test_limit(self) -> None:
        """A limit is multiplied by the host's slowness, which is measured again when the limit is reached."""
        with (
            mock.patch.object(limits, "scale_of", side_effect=[1.0, 3.0, 3.0]) as measured,
            mock.patch.object(limits, "measure", return_value=(1, 1)),
            mock.patch("time.monotonic", side_effect=[0.0, 9.0, 11.0, 31.0]),
        ):
            limit = limits.Limit(10, limits.Speed(Children()))
            self.assertFalse(limit.reached())
            self.assertFalse(limit.reached())
            self.assertEqual(measured.call_count, 2)
            self.assertTrue(limit.reached())

    def test_bounds(self) -> None:
        """No host gets less than the time, or more than MOST times."""
        host = budget.load().host
        self.assertEqual(limits.scale_of(host.emulated / 9, host.native / 9), 1.0)
        self.assertEqual(limits.scale_of(host.emulated * 2, host.native), 2.0)
        self.assertEqual(limits.scale_of(host.emulated, host.native * 99), limits.MOST)

    def test_budget(self) -> None:
        """A budget without a suite and a suite without a budget are refused; a slow suite is a warning."""
        one = budget.Budget(budget.Host(1, 1), {"a": 10})
        one.check(["a"])
        for names in ([], ["a", "b"]):
            with self.assertRaises(Failure):
                one.check(names)
        self.assertEqual(one.over("a", 15, 1), "")
        self.assertIn("a took 16 s", one.over("a", 16, 1))
        self.assertEqual(one.over("a", 16, 2), "")

    def test_real_hang(self) -> None:
        """A program that prints nothing is stopped, and said to have been. Catches a wait without a bound."""
        with mock.patch.object(limits, "measure", return_value=(1e-9, 1e-9)):
            program = device_tests._Program(["sleep", "60"], environment.clean_environment(), 0.2, Context())
            cases = program.cases("qtest", program.run())
        self.assertIn("no result for 0.2 s", cases[-1].why)


class Reports(Test):
    """What is printed of results."""

    def test_gist(self) -> None:
        """The sentence about a guest at fault comes before what its programs printed."""
        ran = guest_tests.Ran(124, errors="# noise\n", sentence="the command did not end; console log: x")
        (case, _) = guest_tests.cases_of(["a"], ran)
        self.assertEqual(report.gist(case), "vgpu: the command did not end; console log: x")
        self.assertIn("# noise\nvgpu: the command did not end", case.why)
        self.assertEqual(report.gist(Case("a", "failed", "# x\n# is 3")), "is 3")

    def test_parameters(self) -> None:
        """Avocado's tests get what they are asked for, and the environment gives the user's wishes alone."""
        given = environment.read({"VGPU_ACCEL": "tcg", "VGPU_TEST_SCALE": "9", "VGPU_TEST_DELAYS": "7"})
        words = avocado_tests.Parameters(given, scale=1.5, append="a=b c").words()
        self.assertEqual(words, ["-p", "scale=1.50", "-p", "append=a=b c", "-p", "accelerator=tcg"])
        self.assertEqual(avocado_tests.Parameters().words(), [])
        variables = Plan(LONG, seconds=3).variables(Context(given, 2))
        self.assertEqual(variables, {"VGPU_TEST_SECONDS": "3", "VGPU_TEST_DELAYS": "7", "VGPU_TEST_SCALE": "2.00"})
        self.assertEqual(Plan().variables(Context(scale=1)), {"VGPU_TEST_SHORT": "1", "VGPU_TEST_SCALE": "1.00"})

    def test_results(self) -> None:
        """What Avocado writes becomes cases with the command that repeats them; a file that is cut off is a failure."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "results.json"
            test = '{"id": "1-/x/test_a.py:A.test_b", "status": "FAIL", "logfile": "l", "fail_reason": "r", "x": 1}'
            file.write_text(f'{{"tests": [{test}]}}')
            (case,) = avocado_tests._cases(Path(folder), ["-p", "scale=1.00"])
            self.assertEqual((case.name, case.outcome), ("avocado: test_a.py:A.test_b", "failed"))
            self.assertEqual(case.why, "r\nlog: l")
            self.assertIn("scale=1.00", case.again)
            file.write_text(f'{{"tests": [{test}')
            (case,) = avocado_tests._cases(Path(folder), [])
            self.assertEqual((case.name, case.outcome), ("avocado", "failed"))
            self.assertIn(f"{file}: ", case.why)

    def test_again(self) -> None:
        """A failed case is repeated, stays failed, and the report says how often it fails alone."""
        with tempfile.TemporaryDirectory() as folder:
            flip = f"test -e {folder}/x && rm {folder}/x && exit 1; touch {folder}/x"
            case = Case("a", "failed", "why", again=["sh", "-c", flip])
            lines: list[str] = []
            again.repeat([case, Case("b", "failed")], lines.append, Children())
        self.assertEqual(case.outcome, "failed")
        self.assertIn("fails 5 of 10", case.why)
        self.assertEqual(len(lines), 1)

    def test_children(self) -> None:
        """A process that a suite has started ends with its block, or with the run, which then starts no other one."""
        children = Children()
        with children.start(["sleep", "60"], subprocess.DEVNULL, subprocess.DEVNULL) as process:
            self.assertIsNone(process.poll())
        self.assertIsNotNone(process.returncode)
        with children.start(["sleep", "60"], subprocess.DEVNULL, subprocess.DEVNULL) as process:
            children.end_all()
            self.assertEqual(process.wait(), -signal.SIGTERM)
        for ended in (children.start(["true"], subprocess.DEVNULL, subprocess.DEVNULL), children.adopt(self.fail)):
            with self.assertRaises(KeyboardInterrupt), ended:
                self.fail("started after the end")

    def test_runs_in_a_row(self) -> None:
        """A process runs suites as often as it likes. Catches a run that an earlier, broken one keeps from starting."""

        def run(_log: Path, _plan: Plan, context: Context) -> list[Case]:
            with context.children.start(["true"], subprocess.DEVNULL, subprocess.DEVNULL) as process:
                process.wait()
            if not broken:
                broken.append(True)
                raise OSError("no space")
            return [Case("a", "passed")]

        broken: list[bool] = []
        with (
            tempfile.TemporaryDirectory() as folder,
            mock.patch.object(registry, "SUITES", (Suite("one", list, run),)),
            mock.patch.object(registry, "steps_of_all", list),
            mock.patch.object(budget.Budget, "check"),
            mock.patch.object(limits, "measure", return_value=(1e-9, 1e-9)),
            mock.patch.object(suites, "RESULTS", Path(folder)),
            mock.patch.object(report, "RESULTS", Path(folder)),
            redirect_stdout(io.StringIO()),
            redirect_stderr(io.StringIO()),
        ):
            with self.assertRaisesRegex(OSError, "no space"):
                suites.run([], Plan(), environment.NOTHING_SET)
            self.assertEqual(suites.run([], Plan(), environment.NOTHING_SET).count("passed"), 1)

    def test_warning(self) -> None:
        """Only whole suites of the basic pass are held against a budget."""
        name = next(iter(budget.load().seconds))
        outcome = Outcome(Suite(name, list, lambda *_: []), [], 1e6)
        self.assertIn(name, report.warning(outcome, Plan(), 1.0))
        self.assertEqual(report.warning(outcome, Plan(FULL), 1.0), "")
        self.assertEqual(report.warning(outcome, Plan(programs=frozenset()), 1.0), "")

    def test_stress(self) -> None:
        """A round counts only if nothing failed, something passed, and there was a load."""
        twice = 2 * budget.load().seconds["qtest"]
        cases = [Case("a", "passed"), Case("b", "passed"), Case("c", "skipped")]
        report = Report([Outcome(Suite("qtest", list, lambda *_: []), cases, twice)])
        one = stress.judge(report, "c", 1, 1.0, Path("log"))
        self.assertEqual((one.passed, one.failed, one.skipped, one.load), (2, 0, 1, 2.0))
        self.assertTrue(one.good())
        self.assertEqual(stress.judge(Report(), "c", 1, 1.0, Path("log")).failed, 1)
        for passed, failed, load, good in (
            (1, 0, 2.0, True),
            (1, 1, 2.0, False),
            (0, 0, 2.0, False),
            (1, 0, 1.0, False),
        ):
            self.assertEqual(stress.Round("c", 1, 1.0, load, passed, failed, 0, "").good(), good)
