# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests ./vgpu mutants: the index, the choice of suites, stored verdicts, the worktree and the processes of a run."""

import json
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO
from unittest import mock

from avocado import Test

from vgpu_tools.base.errors import Failure
from vgpu_tools.base.paths import ROOT
from vgpu_tools.cli import commands
from vgpu_tools.testing import mutants

ONE = {"name": "one", "file": "qemu-device/a.c", "defect": "d", "origin": "named", "kind": "data"}
REPORT = """<testsuite name="qtest"><testcase name="good"/><testcase name="skipped"><skipped/></testcase>
<testcase name="bad"><failure message="no"/></testcase><testcase name="worse"><error/></testcase></testsuite>"""


def index(folder: Path, *entries: dict[str, str]) -> Path:
    place = folder / "mutants.toml"
    place.write_text("".join("[[mutant]]\n" + "".join(f'{k} = "{v}"\n' for k, v in one.items()) for one in entries))
    return place


class FakeTree(mutants.Tree):
    """A worktree in which build, demo and suites do not run, but have the results that the test gives."""

    def __init__(self, place: Path, **suites: str) -> None:
        """The keys in `suites` are "build", "demo" and names of suites, with "_" instead of "-". The values are
        explained in run()."""
        super().__init__(place)
        self.suites = suites
        self.called: list[str] = []
        (self.tree / "build/results").mkdir(parents=True)

    def reset(self, commit: str) -> None:
        """Record the call."""
        self.called.append("reset")

    def apply(self, mutant: mutants.Mutant, check: bool = False) -> None:
        """Record the call."""
        self.called.append("apply")

    def run(self, log: TextIO, *words: str) -> int:
        """Record the call, and write the report of a suite. Return the exit status."""
        self.called.append(" ".join(words))
        # The values in self.suites are for build, demo and suites:
        # - "": success
        # - "broken": failure. A suite with this value writes no report.
        # - other text: failure. For a suite, the text is the name of the failed case in the report.
        what = self.suites.get(words[-1].replace("-", "_"), "") if words[0] == "test" else self.suites.get(words[0], "")
        if words[0] == "test" and what != "broken":
            bad = f'<testcase name="{what}"><failure/></testcase>' if what else ""
            report = self.tree / "build/results" / f"{words[-1]}.xml"
            report.write_text(f'<testsuite><testcase name="good"/>{bad}</testsuite>')
        return 1 if what else 0


class Index(Test):
    """tests/mutants and its index."""

    def test_ours(self) -> None:
        """Catches: a patch does not apply, or changes another file than the index names; the number
        of mutants is wrong, in total or for an origin, a side (device, driver) or a kind."""
        listed = mutants.load()
        # Do not count a mutant with an origin "hole …": it reverts a bug fix that has a test of its own,
        # so it does not show whether the tests find unknown bugs.
        ranked = [one for one in listed if not one.origin.startswith("hole ")]
        self.assertEqual(len(ranked), 20)
        self.assertEqual(sum(one.origin == "named" for one in ranked), 10)
        self.assertGreaterEqual(sum(one.file.startswith("qemu-device/") for one in ranked), 8)
        self.assertGreaterEqual(sum(one.kind in ("order", "lifetime") for one in ranked), 6)
        for one in listed:
            text = one.patch.read_text()
            self.assertEqual([line for line in text.splitlines() if line.startswith("+++ ")], [f"+++ b/{one.file}"])
            # --cached checks the patch against git's index, because a mutant may be applied to the
            # files of this worktree, and the check against these files would then fail.
            there = ["git", "-C", str(ROOT), "apply", "--cached", "--check", str(one.patch)]
            self.assertEqual(subprocess.run(there, capture_output=True, check=False).returncode, 0, one.name)

    def test_bad(self) -> None:
        """Catches: an error in the index is not reported, or the message does not name the entry."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "one.patch").write_text("")
            self.assertEqual([one.name for one in mutants.load(index(folder, ONE))], ["one"])
            for entries, said in (
                ([ONE, ONE], "one is there twice"),
                ([ONE, {**ONE, "name": "two"}], "two"),
                ([{**ONE, "color": "red"}], "color"),
                ([], "mutant"),
            ):
                with self.assertRaisesRegex(Failure, said):
                    mutants.load(index(folder, *entries))
            (folder / "mutants.toml").write_text("[[mutant")
            with self.assertRaisesRegex(Failure, "mutants.toml"):
                mutants.load(folder / "mutants.toml")
        with self.assertRaisesRegex(Failure, "no index"):
            mutants.load(Path(name) / "mutants.toml")

    def test_choose(self) -> None:
        """Catches: mutants are chosen in another order than that of the index; an unknown name or pass is accepted."""
        listed = [mutants.Mutant(**{**ONE, "name": name}) for name in "abc"]
        self.assertEqual([one.name for one in mutants.choose(listed, [])], ["a", "b", "c"])
        self.assertEqual([one.name for one in mutants.choose(listed, ["c", "a"])], ["a", "c"])
        with self.assertRaisesRegex(Failure, "no such mutant: d"):
            mutants.choose(listed, ["d"])
        for words, said in ((["no-such-mutant"], "no-such-mutant"), (["--pass", "some"], "some")):
            with self.assertRaisesRegex(Failure, said):
                commands.mutants(words)


class Suites(Test):
    """The order of the suites, and the reading of a suite's report."""

    def test_order(self) -> None:
        """Catches: a suite is missing or repeated; the style checks are among the suites; the first
        suite is not the one that tests the mutated file."""
        for file, first in (
            ("qemu-device/ih/ring.c", "qtest"),
            ("guest-driver/svm/migrate/svm_bo.c", "kunit-release"),
            ("include/vgpu/ih.h", "kunit-release"),
        ):
            order = mutants.suites_for(file, "basic")
            self.assertEqual(order[0], first)
            self.assertEqual(len(order), len(set(order)))
            self.assertNotIn("check", order)
            self.assertTrue({"guest-release", "guest-debug", "avocado"} <= set(order))
        self.assertIn("qtest", mutants.suites_for("include/vgpu/ih.h", "basic"))
        self.assertNotIn("qtest", mutants.suites_for("guest-driver/vgpu_drv.c", "basic"))

    def test_order_of_changed(self) -> None:
        """Catches: the suites are not those that ./vgpu test --changed chooses; the suites are
        not in the registry's order; the style checks are among the suites."""
        self.assertEqual(
            mutants.suites_for("guest-driver/svm/migrate/svm_bo.c", "changed"), ["kunit-release", "guest-release"]
        )
        self.assertEqual(
            mutants.suites_for("qemu-device/ih/ring.c", "changed"),
            ["registers", "qtest", "fuzz-model", "guest-release"],
        )

    def test_first_failure(self) -> None:
        """Catches: first_failure() returns another case than the first failed case; first_failure() returns a case
        although the report has no failed case, is missing or is malformed."""
        with tempfile.TemporaryDirectory() as name:
            report = Path(name) / "a.xml"
            self.assertEqual(mutants.first_failure(report), "")
            report.write_text(REPORT)
            self.assertEqual(mutants.first_failure(report), "bad")
            report.write_text('<testsuite><testcase name="good"/></testsuite>')
            self.assertEqual(mutants.first_failure(report), "")
            report.write_text("<testsuite>")
            self.assertEqual(mutants.first_failure(report), "")


class Trials(Test):
    """The trial of one mutant, and the stored verdict."""

    @contextmanager
    def trial(
        self, verdict: mutants.Verdict | None = None, **suites: str
    ) -> Iterator[tuple[mutants.Trial, FakeTree, mutants.Store]]:
        """Yield a trial of the mutant ONE in a temporary folder, with its FakeTree and its
        Store."""
        with tempfile.TemporaryDirectory() as name, mock.patch.object(mutants, "MUTANTS", Path(name)):
            (Path(name) / "one.patch").write_text("patch")
            tree, store = FakeTree(Path(name), **suites), mutants.Store(Path(name) / "mutants.json")
            one = mutants.Mutant(**ONE)
            yield mutants.Trial(tree, store, one, verdict or mutants.Verdict("one", "c0", "basic")), tree, store

    def test_caught(self) -> None:
        """Catches: a suite runs after the first failure; the worktree is not reset; the verdict is not stored."""
        with self.trial(fuzz_model="a case") as (trial, tree, store):
            verdict = trial.run()
            self.assertEqual((verdict.state, verdict.suite, verdict.case), ("caught", "fuzz-model", "a case"))
            self.assertEqual(verdict.passed, ["qtest"])
            self.assertEqual(
                tree.called[:4], ["reset", "apply", "build demo", f"demo --timeout {mutants.DEMO_SECONDS}"]
            )
            self.assertEqual(tree.called[4:], ["test --fail-fast qtest", "test --fail-fast fuzz-model", "reset"])
            self.assertEqual(mutants.Store(store.path).of("patch", "one", "c0", "basic"), verdict)

    def test_survived(self) -> None:
        """Catches: a mutant counts as survived before every suite has run."""
        with self.trial(mutants.Verdict("one", "c0", "full")) as (trial, tree, _):
            self.assertEqual(trial.run().state, "survived")
            asked = [words.split()[-1] for words in tree.called if words.startswith("test")]
            self.assertEqual(asked, mutants.suites_for(ONE["file"], "full"))
            self.assertIn("test --fail-fast --full qtest", tree.called)

    def test_changed(self) -> None:
        """The pass "changed" of ./vgpu mutants runs only the suites that ./vgpu test --changed would choose. Catches:
        another suite runs; a suite runs without the option --changed."""
        with self.trial(mutants.Verdict("one", "c0", "changed"), fuzz_model="a case") as (trial, tree, store):
            self.assertEqual(trial.run().suite, "fuzz-model")
            asked = [words for words in tree.called if words.startswith("test")]
            self.assertEqual(
                asked, [f"test --fail-fast --changed {name}" for name in ("registers", "qtest", "fuzz-model")]
            )
            self.assertEqual(store.of("patch", "one", "c0", "full").state, "open")

    def test_no_mutant(self) -> None:
        """Catches: a mutant counts as caught by a test, although the build or ./vgpu demo failed before the tests."""
        for trial_of, state in (
            (self.trial(build="x"), "does not compile"),
            (self.trial(demo="x"), "dies in the demo"),
        ):
            with trial_of as (trial, tree, _):
                self.assertEqual(trial.run().state, state)
                self.assertFalse([words for words in tree.called if words.startswith("test")])
                self.assertEqual(tree.called[-1], "reset")

    def test_no_report(self) -> None:
        """Catches: a mutant gets a verdict although a suite wrote no report."""
        with self.trial(fuzz_model="broken") as (trial, tree, store):
            with self.assertRaisesRegex(Failure, "fuzz-model did not run on mutant one"):
                trial.run()
            self.assertEqual(store.of("patch", "one", "c0", "basic").state, "open")
            self.assertEqual(tree.called[-1], "reset")

    def test_resume(self) -> None:
        """Catches: a resumed trial repeats ./vgpu demo, or repeats a suite that passed before the interruption."""
        with self.trial(fuzz_model="broken") as (trial, _, store):
            with self.assertRaises(Failure):
                trial.run()
            left = mutants.Store(store.path).of("patch", "one", "c0", "basic")
            self.assertEqual(left.passed, ["qtest"])
        with self.trial(left, guest_release="late") as (trial, tree, _):
            self.assertEqual(trial.run().suite, "guest-release")
            self.assertNotIn("test --fail-fast qtest", tree.called)
            self.assertFalse([words for words in tree.called if words.startswith("demo")])

    def test_kept_for(self) -> None:
        """Catches: a verdict is used for another patch or commit; the full pass repeats a mutant that the basic pass
        has caught; a mutant that survived the basic pass counts as survived for the full pass, too."""
        with self.trial(qtest="a case") as (trial, _, store):
            trial.run()
            self.assertEqual(store.of("patch", "one", "c0", "full").state, "caught")
            for patch, commit, of in (("other", "c0", "basic"), ("patch", "c1", "basic"), ("patch", "c1", "full")):
                self.assertEqual(store.of(patch, "one", commit, of).state, "open")
        with self.trial() as (trial, _, store):
            trial.run()
            self.assertEqual(store.of("patch", "one", "c0", "full").state, "open")

    def test_store(self) -> None:
        """Catches: the file of verdicts cannot be read or written, and the error does not name the file."""
        with tempfile.TemporaryDirectory() as name:
            path = Path(name) / "mutants.json"
            for text in ("{", "[]", json.dumps({"k": {"color": "red"}})):
                path.write_text(text)
                with self.assertRaisesRegex(Failure, "mutants.json cannot be read"):
                    mutants.Store(path)
            path.unlink()
            full = OSError(28, "No space left on device")
            with (
                mock.patch.object(Path, "write_text", side_effect=full),
                self.assertRaisesRegex(Failure, "No space left"),
            ):
                mutants.Store(path).keep("patch", mutants.Verdict("one", "c0", "basic"))

    def test_room(self) -> None:
        """Catches: a trial starts although the disk is full."""
        with tempfile.TemporaryDirectory() as name:
            mutants.check_room(Path(name))
            with mock.patch.object(mutants, "ROOM", 1 << 62), self.assertRaisesRegex(Failure, name):
                mutants.check_room(Path(name))

    def test_table(self) -> None:
        """Catches: the table lacks suite, case or seconds of a caught mutant; the table lacks a surviving mutant."""
        one = mutants.Mutant(**ONE)
        caught = mutants.Verdict("one", "c0", "basic", "caught", "qtest", "a case", 12.4)
        lost = mutants.Verdict("one", "c0", "full", "survived", passed=["qtest", "avocado"])
        lines = mutants.table([(one, {"basic": caught, "full": lost})]).splitlines()
        self.assertEqual(len(lines), 2)
        self.assertIn("qtest, 12 s: a case", lines[0])
        self.assertIn("survived: qtest, avocado", lines[1])


class Worktree(Test):
    """mutants.Tree, the git worktree in which mutants are applied. The tests use a temporary repository."""

    @contextmanager
    def repository(self) -> Iterator[tuple[mutants.Tree, Path]]:
        """Make a checkout with one commit, and a patch for its file. Yield the worktree, and the checkout's folder."""
        with tempfile.TemporaryDirectory() as name:
            root = Path(name) / "root"
            root.mkdir()
            for words in (["init", "-q"], ["config", "user.email", "a@b"], ["config", "user.name", "a"]):
                subprocess.run(["git", "-C", str(root), *words], check=True)
            (root / "file").write_text("old\n")
            (root / "vgpu").write_text("#!/bin/sh\nsleep 1000 & echo $! >pid\nwait\n")
            (root / "vgpu").chmod(0o755)
            subprocess.run(["git", "-C", str(root), "add", "."], check=True)
            subprocess.run(["git", "-C", str(root), "commit", "-qm", "x"], check=True)
            (root / "one.patch").write_text("--- a/file\n+++ b/file\n@@ -1 +1 @@\n-old\n+new\n")
            with mock.patch.object(mutants, "ROOT", root), mock.patch.object(mutants, "MUTANTS", root):
                yield mutants.Tree(Path(name) / "place"), root

    def test_reset(self) -> None:
        """Catches: changes of a mutant survive reset(); reset() keeps the folder at the worktree's path
        although the folder is no git worktree; reset() or apply() changes the checkout."""
        with self.repository() as (tree, root):
            one = mutants.Mutant(**ONE)
            tree.tree.mkdir(parents=True)
            (tree.tree / "rubbish").write_text("")
            tree.reset(tree.commit())
            self.assertFalse((tree.tree / "rubbish").exists())
            tree.apply(one, check=True)
            self.assertEqual((tree.tree / "file").read_text(), "old\n")
            tree.apply(one)
            self.assertEqual((tree.tree / "file").read_text(), "new\n")
            with self.assertRaisesRegex(Failure, "mutant one does not apply"):
                tree.apply(one)
            (tree.tree / "left").write_text("")
            tree.reset(tree.commit())
            self.assertEqual((tree.tree / "file").read_text(), "old\n")
            self.assertFalse((tree.tree / "left").exists())
            self.assertEqual((root / "file").read_text(), "old\n")

    def test_second_run(self) -> None:
        """Catches: a second run uses the worktree while the first run still uses it; the error
        lacks the process id of the first run."""
        with (
            self.repository() as (tree, _),
            tree.held(),
            self.assertRaisesRegex(Failure, "process [0-9]+"),
            mutants.Tree(tree.place).held(),
        ):
            pass

    def test_interrupted(self) -> None:
        """Catches: after Ctrl-C, a child process of ./vgpu is still running."""
        with self.repository() as (tree, _), (tree.place.parent / "log").open("w") as log:
            tree.reset(tree.commit())
            with (
                mock.patch.object(subprocess.Popen, "wait", side_effect=self.interrupt(tree)),
                self.assertRaises(KeyboardInterrupt),
            ):
                tree.run(log, "demo")
            pid = int((tree.tree / "pid").read_text())
            state = Path(f"/proc/{pid}/stat")
            self.assertTrue(not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z")

    def interrupt(self, tree: mutants.Tree) -> object:
        """Return a replacement of wait() that raises KeyboardInterrupt as soon as the command
        runs."""

        def wait(*_: object) -> int:
            while not (tree.tree / "pid").exists() or not (tree.tree / "pid").read_text().strip():
                pass
            raise KeyboardInterrupt

        return wait
