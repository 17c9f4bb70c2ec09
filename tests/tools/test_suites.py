# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests the logic of ./vgpu test: the choice of suites for changed files, time limits, budgets and
reports. No test starts a guest."""

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
    """Stands in for a guest that has printed `text` and runs until give_up()."""

    def __init__(self, text: str) -> None:
        self.output = bytearray(text.encode())
        self.ended = threading.Event()

    def give_up(self) -> None:
        """End the guest."""
        self.ended.set()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until give_up() has been called, at most `seconds`. Return whether it has been
        called."""
        return self.ended.wait(seconds)


def files() -> list[str]:
    """Return the names of all files that git tracks."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [name for name in said.split("\0") if name]


class Changed(Test):
    """Selection of suites by changed files (--changed)."""

    def test_every_file_has_a_rule(self) -> None:
        """Catches: a tracked file has no rule, so that --changed fails for it."""
        rules = changed.load()
        for name in files():
            changed.choose(rules, [name])

    def test_programs_exist(self) -> None:
        """Catches: a rule names a guest program or a file of tests that does not exist."""
        listed = {program for guest in guest_tests.full_list() for program in guest.programs}
        for rule in changed.load():
            self.assertLessEqual({name for name in rule.programs if "\\" not in name}, listed)
            for name in rule.machines:
                self.assertTrue(
                    "\\" in name or any((folder / f"{name}.py").exists() for folder in avocado_tests.TESTS), name
                )

    def test_groups(self) -> None:
        """The paths in a rule are regular expressions. In the rule's programs, "\\1" stands for the text that the first
        group in the path matched. Catches: choose() does not replace "\\1"; choose() leaves out the tests of one of
        several changed files."""
        choice = changed.choose(
            changed.load(), ["guest-rootfs/programs/tests/render/vgpu-test-cs.c", "docs/hardware.md", "README.md"]
        )
        self.assertEqual(choice.programs, {"vgpu-test-cs"})
        self.assertEqual(choice.suites, {"check", "guest-release", "guest-debug", "registers"})

    def test_removal(self) -> None:
        """Catches: a change of the driver's removal, of its TLB flushes or of its sleep does not run the tests in which
        the host unplugs the GPU, lets a hub hang, or wakes the guest."""
        rules = changed.load()
        for name in ("vgpu_drv.c", "vgpu_pm.c", "hw/vgpu_gmc_flush.c", "hw/vgpu_hw_suspend.c", "reset/vgpu_reset.c"):
            choice = changed.choose(rules, [f"guest-driver/{name}"])
            self.assertLessEqual({"test_unplug", "test_sleep"}, choice.machines, name)
            self.assertIn("avocado", choice.suites, name)

    def test_bad_tables(self) -> None:
        """Catches: load() accepts a table that has an unknown suite or key, a malformed expression, or a rule without
        paths; choose() accepts a file without a rule."""
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
        """Catches: --changed or --since misses a changed or an untracked file; --since misses a file of a commit that
        came after the given commit; --changed without any change does not select the last commit's files; an unknown
        commit is accepted."""
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
    """The suites and programs of a pass (basic, full or long)."""

    def test_levels(self) -> None:
        """Catches: a pass lacks a suite that a smaller pass has; a suite that the user named is left out; an unknown
        name is accepted."""
        names = [{suite.name for suite in registry.choose([], level)} for level in (BASIC, FULL, LONG)]
        self.assertLessEqual(names[0], names[1])
        self.assertLess(names[1], names[2])
        self.assertEqual([suite.name for suite in registry.choose(["kunit"], BASIC)], ["kunit-release", "kunit-debug"])
        with self.assertRaisesRegex(Failure, "nonsense"):
            registry.choose(["nonsense"], BASIC)

    def test_stages(self) -> None:
        """Catches: suites run at the same time although their values of `beside` differ or are
        empty. (Only suites with the same value, which is not empty, may do so.)"""
        suites = [
            Suite(name, list, lambda *_: [], beside=beside)
            for name, beside in zip("abcde", ["", "x", "x", "", "y"], strict=True)
        ]
        self.assertEqual(
            ["".join(one.name for one in stage) for stage in registry.stages(suites)], ["a", "bc", "d", "e"]
        )

    def test_basic_list(self) -> None:
        """Catches: tests/basic.toml has a program that is not in tests.list. (basic_list() then raises Failure.)"""
        for flavour in ("release", "debug"):
            self.assertTrue(guest_tests.basic_list(flavour))

    def test_restricted(self) -> None:
        """Catches: a guest is started although none of its programs is selected; an unknown program is ignored."""
        chosen = guest_tests.listed("release", Plan(FULL, programs=frozenset({"vgpu-test-svm"})))
        self.assertEqual({program for guest in chosen for program in guest.programs}, {"vgpu-test-svm"})
        with self.assertRaisesRegex(Failure, "nonsense"):
            guest_tests.listed("release", Plan(FULL, programs=frozenset({"nonsense"})))

    def test_long_on_debug(self) -> None:
        """Catches: a guest of the debug kernel boots only to skip all its cases; this guest does not run on the release
        kernel or in the long pass; a program that has no other guest is called unknown."""
        marked = {program for guest in guest_tests.full_list() if guest.long_on_debug for program in guest.programs}
        self.assertEqual(marked, {"vgpu-test-svm-peer", "vgpu-test-svm-torture"})
        with tempfile.TemporaryDirectory() as folder:
            table = Path(folder) / "tests.list"
            table.write_text("long-on-debug: a c --gpus 4\na b --gpus 2\n")
            with mock.patch.object(guest_tests, "FULL_LIST", table):
                for flavour, seconds, want in (("release", 0, "42"), ("debug", 0, "2"), ("debug", 3, "42")):
                    chosen = guest_tests.listed(flavour, Plan(LONG if seconds else FULL, seconds=seconds))
                    self.assertEqual("".join(guest.options[1] for guest in chosen), want)
                    self.assertEqual(chosen[-1].programs, ["a", "b"])
                self.assertEqual(guest_tests.listed("debug", Plan(FULL, programs=frozenset({"c"}))), [])

    def test_in_order(self) -> None:
        """Catches: results come in the order of completion instead of the list's order."""

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
        """Catches: with --fail-fast, the guest of the failed case or another guest still runs after the failure."""
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
        """Catches: a name in VGPU_TEST_LEAVE_OUT (cases that do not run) is changed by the shell if the name contains
        quotes or blanks."""
        guest = guest_tests.Listed(["echo"], [], {"echo": ["it's", "b c"]})
        script = guest.command({"A": "x y"})[2].replace("echo ||", "printenv VGPU_TEST_LEAVE_OUT A ||")
        said = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True).stdout
        self.assertEqual(said, "\n# program echo\nit's\nb c\nx y\n")


class Time(Test):
    """Time limits, budgets of suites, and durations of cases."""

    def test_seconds(self) -> None:
        """Catches: the time of a case is not read from a line such as "# 1.500 s", or is read from another diagnostic
        line, such as "# took 3 s"."""
        cases = parse("1..2\nok 1 - a\n# 1.500 s\n# took 3 s\nnot ok 2 - b\n# 0.250 s\n")
        self.assertEqual([case.seconds for case in cases], [1.5, 0.25])

    def test_limit(self) -> None:
        """Catches: a limit is not scaled by the host's speed; reached() returns True without a new measurement of the
        speed."""
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
        """Catches: scale_of() returns a factor below 1 or above MOST for a host's slowdown."""
        host = budget.load().host
        self.assertEqual(limits.scale_of(host.emulated / 9, host.native / 9), 1.0)
        self.assertEqual(limits.scale_of(host.emulated * 2, host.native), 2.0)
        self.assertEqual(limits.scale_of(host.emulated, host.native * 99), limits.MOST)

    def test_budget(self) -> None:
        """Catches: a budget without a suite, or a suite without a budget, is accepted; a slow suite gives no
        warning."""
        one = budget.Budget(budget.Host(1, 1), {"a": 10})
        one.check(["a"])
        for names in ([], ["a", "b"]):
            with self.assertRaises(Failure):
                one.check(names)
        self.assertEqual(one.over("a", 15, 1), "")
        self.assertIn("a took 16 s", one.over("a", 16, 1))
        self.assertEqual(one.over("a", 16, 2), "")

    def test_real_hang(self) -> None:
        """Catches: the wait for a silent program has no limit; a program that was ended at the
        limit gives no failed case."""
        with mock.patch.object(limits, "measure", return_value=(1e-9, 1e-9)):
            program = device_tests._Program(["sleep", "60"], environment.clean_environment(), 0.2, Context())
            cases = program.cases("qtest", program.run())
        self.assertIn("no result for 0.2 s", cases[-1].why)


class Reports(Test):
    """The texts that report the results of cases and suites."""

    def test_gist(self) -> None:
        """Catches: the gist of a failed case (one line that says why the case failed) is wrong; the case's `why` lacks
        the guest's standard error."""
        ran = guest_tests.Ran(124, errors="# noise\n", sentence="the command did not end; console log: x")
        (case, _) = guest_tests.cases_of(["a"], ran)
        # The guest failed, so the gist is Ran.sentence.
        self.assertEqual(report.gist(case), "vgpu: the command did not end; console log: x")
        self.assertIn("# noise\nvgpu: the command did not end", case.why)
        # Without a failure of the guest, the gist is the last line of `why`, if this line is a TAP comment.
        self.assertEqual(report.gist(Case("a", "failed", "# x\n# is 3")), "is 3")

    def test_parameters(self) -> None:
        """Catches: a parameter of Avocado's tests is lost or added; the scale is taken from the user's environment."""
        given = environment.read({"VGPU_ACCEL": "tcg", "VGPU_TEST_SCALE": "9", "VGPU_TEST_DELAYS": "7"})
        words = avocado_tests.Parameters(given, scale=1.5, append="a=b c").words()
        self.assertEqual(words, ["-p", "scale=1.50", "-p", "append=a=b c", "-p", "accelerator=tcg"])
        self.assertEqual(avocado_tests.Parameters().words(), [])
        variables = Plan(LONG, seconds=3).variables(Context(given, 2))
        self.assertEqual(variables, {"VGPU_TEST_SECONDS": "3", "VGPU_TEST_DELAYS": "7", "VGPU_TEST_SCALE": "2.00"})
        self.assertEqual(Plan().variables(Context(scale=1)), {"VGPU_TEST_SHORT": "1", "VGPU_TEST_SCALE": "1.00"})

    def test_results(self) -> None:
        """Catches: a result of Avocado is lost or has no command that repeats the test; a truncated
        file of results counts as passed."""
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
        """Catches: a failed case counts as passed because its repetition passed; the count of
        failures is wrong; a case without a command is repeated."""
        with tempfile.TemporaryDirectory() as folder:
            flip = f"test -e {folder}/x && rm {folder}/x && exit 1; touch {folder}/x"
            case = Case("a", "failed", "why", again=["sh", "-c", flip])
            lines: list[str] = []
            again.repeat([case, Case("b", "failed")], lines.append, Children())
        self.assertEqual(case.outcome, "failed")
        self.assertIn("fails 5 of 10", case.why)
        self.assertEqual(len(lines), 1)

    def test_children(self) -> None:
        """Catches: a process survives the `with` block that started it, or survives end_all(); a
        process starts after end_all()."""
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
        """Catches: a second run of tests in one process fails because the first run raised an exception."""

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
        """The time budget applies only to a whole suite in the basic pass. Catches: such a suite exceeds the budget
        without a warning; the full pass, or a part of a suite, causes a warning."""
        name = next(iter(budget.load().seconds))
        outcome = Outcome(Suite(name, list, lambda *_: []), [], 1e6)
        self.assertIn(name, report.warning(outcome, Plan(), 1.0))
        self.assertEqual(report.warning(outcome, Plan(FULL), 1.0), "")
        self.assertEqual(report.warning(outcome, Plan(programs=frozenset()), 1.0), "")

    def test_stress(self) -> None:
        """Catches: a round counts as green although a case failed, no case passed, or the load was too small."""
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
