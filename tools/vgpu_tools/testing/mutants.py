# SPDX-License-Identifier: GPL-2.0-or-later
"""./vgpu mutants: tests whether the test suites catch the mutants of tests/mutants. A mutant is a patch with one
defect. build/results/mutants.json keeps the verdicts.
"""

import contextlib
import errno
import fcntl
import math
import os
import shutil
import subprocess
import time
import tomllib
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from pydantic import TypeAdapter, ValidationError

from vgpu_tools.base import progress
from vgpu_tools.base.data import why
from vgpu_tools.base.environment import clean_environment
from vgpu_tools.base.errors import Failure
from vgpu_tools.base.files import write_whole
from vgpu_tools.base.paths import BUILD, RESULTS, ROOT
from vgpu_tools.base.process import END_SECONDS, watch_group
from vgpu_tools.build import fingerprint
from vgpu_tools.testing import changed, registry
from vgpu_tools.testing.suite import BASIC, FULL

MUTANTS = ROOT / "tests/mutants"
PLACE = BUILD / "mutants"
STORE = RESULTS / "mutants.json"
CHANGED = "changed"  # the pass that ./vgpu test --changed runs for the mutant's file
PASSES = (BASIC, FULL, CHANGED)
GOALS = {BASIC: 0.9, FULL: 1.0, CHANGED: 1.0}  # share of the mutants that a pass has to catch
# Options of ./vgpu test for each pass.
OPTIONS: dict[str, list[str]] = {BASIC: [], FULL: ["--full"], CHANGED: ["--changed"]}
STYLE = "check"
# Order of the suites, by the folder of the changed file. Without STYLE: a style error or compiler
# warning shows nothing about the tests.
DEVICE_SUITES = ("qtest", "fuzz-model", "guest-release", "qtest-sanitizers", "avocado", "guest-debug", "registers")
DRIVER_SUITES = ("kunit-release", "guest-release", "kunit-debug", "guest-debug", "avocado")
OTHERS = ("fuzz-generic", "kunit-release", "kunit-debug")
DEMO_SECONDS = 300
ROOM = 2 << 30  # bytes of free disk space that a run needs
SUITE_END_SECONDS = 3 * END_SECONDS  # longer than 2 * END_SECONDS, in which ./vgpu ends its build steps
WIDTH = 70  # characters of a case's name in the table


@dataclass
class Mutant:
    """An entry of the index, mutants.toml."""

    name: str
    file: str  # the file that the patch changes
    defect: str
    origin: str  # "named", "drawn" with seed and place, or "hole" with its number (tests/mutants/README.md)
    kind: str  # order, lifetime, data or state

    @property
    def patch(self) -> Path:
        """The patch file, for `git apply`."""
        return MUTANTS / f"{self.name}.patch"


@dataclass
class Verdict:
    """The verdict on a mutant: did the suites of one test pass (basic, full or changed) catch the mutant? Until this is
    known, the state is "open"."""

    name: str
    commit: str
    of: str  # the test pass
    state: str = "open"  # open, caught, survived, dies in the demo, does not compile
    suite: str = ""
    case: str = ""
    seconds: float = 0  # duration of the suites until the failure
    passed: list[str] = field(default_factory=list)  # suites that ran and did not catch the mutant


_VERDICTS = TypeAdapter(dict[str, Verdict])


def load(index: Path = MUTANTS / "mutants.toml") -> list[Mutant]:
    """Read the index. Raises Failure unless the index names each patch of its folder exactly once."""
    try:
        entries = tomllib.loads(index.read_text())["mutant"]
        mutants = [Mutant(**{key: str(value) for key, value in entry.items()}) for entry in entries]
    except FileNotFoundError:
        raise Failure(f"no index of mutants: {index}", status=2) from None
    except (tomllib.TOMLDecodeError, KeyError, TypeError, AttributeError) as error:
        raise Failure(f"{index}: {error}", status=2) from None
    names = [mutant.name for mutant in mutants]
    for name in names:
        if names.count(name) > 1:
            raise Failure(f"{index}: {name} is there twice", status=2)
    patches = {path.stem for path in index.parent.glob("*.patch")}
    if wrong := sorted(patches.symmetric_difference(names)):
        raise Failure(f"{index}: no such patch, or a patch that is not listed: {', '.join(wrong)}", status=2)
    return mutants


def choose(mutants: Sequence[Mutant], names: Sequence[str]) -> list[Mutant]:
    """Return the mutants with these names, in the order of `mutants`. Return all mutants if `names` is empty. Raises
    Failure for an unknown name."""
    known = [mutant.name for mutant in mutants]
    for name in names:
        if name not in known:
            raise Failure(f"no such mutant: {name} (there are {', '.join(known)})", status=2)
    return [mutant for mutant in mutants if not names or mutant.name in names]


def suites_for(file: str, of: str) -> list[str]:
    """Return the suites that test a mutant of `file`, in the order in which they run. `of` is the name of the test pass
    (see PASSES)."""
    if of == CHANGED:
        chosen = changed.choose(changed.load(), [file]).suites - {STYLE}
        return [suite.name for suite in registry.SUITES if suite.name in chosen]
    first = DEVICE_SUITES if file.startswith("qemu-device/") else DRIVER_SUITES
    rest = (*DEVICE_SUITES, *DRIVER_SUITES, *OTHERS) if file.startswith("include/") else OTHERS
    return list(dict.fromkeys((*first, *rest)))


def key(patch: str, commit: str, of: str) -> str:
    """Return the key of a verdict in mutants.json: a hash of the patch's text, the commit, and `of`, the name of the
    test pass ("basic", "full" or "changed")."""
    return fingerprint.of("mutant", patch, commit, of)


class Store:
    """Verdicts in a file, which is replaced atomically."""

    def __init__(self, path: Path = STORE) -> None:
        self.path = path
        self.verdicts: dict[str, Verdict] = {}
        with contextlib.suppress(FileNotFoundError):
            try:
                self.verdicts = _VERDICTS.validate_json(path.read_bytes())
            except ValidationError as error:
                raise Failure(f"{path} cannot be read ({why(error)}): remove it", status=2) from None

    def of(self, patch: str, name: str, commit: str, of: str) -> Verdict:
        """Return the stored verdict of the test pass `of`, else a new verdict in state "open". If only
        BASIC has a verdict, this verdict also counts for FULL, unless its state is "open" or
        "survived". The reason: the full pass repeats the basic tests."""
        known = self.verdicts.get(key(patch, commit, of))
        if not known and of == FULL:
            basic = self.verdicts.get(key(patch, commit, BASIC))
            if basic and basic.state in ("caught", "dies in the demo", "does not compile"):
                return basic
        return known or Verdict(name, commit, of)

    def keep(self, patch: str, verdict: Verdict) -> None:
        """Store a verdict. A trial that is not finished also stores its verdict, in state "open", so that a later run
        can continue the trial."""
        self.verdicts[key(patch, verdict.commit, verdict.of)] = verdict
        try:
            write_whole(self.path, _VERDICTS.dump_json(self.verdicts, indent=1).decode() + "\n")
        except OSError as error:
            raise Failure(f"{self.path} cannot be written: {error.strerror}") from None


def first_failure(report: Path) -> str:
    """Return the name of the first failed case of a JUnit report; empty if there is no failed case or no report."""
    try:
        root = ElementTree.parse(report).getroot()
    except (FileNotFoundError, ElementTree.ParseError):
        return ""
    for case in root.iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            return case.get("name", "")
    return ""


def table(rows: Sequence[tuple[Mutant, Mapping[str, Verdict]]]) -> str:
    """Return the table that ./vgpu mutants prints: a line for each verdict."""
    lines = []
    for mutant, verdicts in rows:
        for of, verdict in verdicts.items():
            words = verdict.state
            if verdict.state == "caught":
                words = f"{verdict.suite}, {verdict.seconds:.0f} s: {verdict.case[:WIDTH]}"
            elif verdict.passed:
                words += f": {', '.join(verdict.passed)}"
            lines.append(f"{mutant.name:34} {mutant.kind:9} {of:7} {words}")
    return "\n".join(lines)


class Tree:
    """The git worktree in which mutants are built and tested. The methods check out a commit, apply a mutant's patch,
    and run the worktree's ./vgpu."""

    def __init__(self, place: Path = PLACE) -> None:
        self.place = place
        self.tree = place / "tree"

    @contextmanager
    def held(self) -> Iterator[None]:
        """Lock the worktree while the block runs. Raises Failure if another run holds the lock."""
        self.place.mkdir(parents=True, exist_ok=True)
        with (self.place / "lock").open("a+") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                lock.seek(0)
                raise Failure(f"another run tests the mutants of this checkout: process {lock.read()}") from None
            _write_pid(lock)
            yield

    def git(self, *words: str | Path, there: bool = True) -> subprocess.CompletedProcess[str]:
        """Run git in the worktree or, with `there` False, in the checkout."""
        command = ["git", "-C", self.tree if there else ROOT, *words]
        return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)

    def commit(self) -> str:
        """Return the commit to which mutants are applied: the checkout's HEAD. Raises Failure if HEAD has no commit."""
        result = self.git("rev-parse", "HEAD", there=False)
        if result.returncode:
            raise Failure(f"no commit to make mutants of: {result.stderr.strip()}")
        return result.stdout.strip()

    def reset(self, commit: str) -> None:
        """Reset the worktree to a commit, and drop the changes that a mutant has left. Ignored files (the outputs of
        builds) stay."""
        if (self.tree / ".git").exists():
            self.git("reset", "-q", "--hard")
            if not self.git("checkout", "-q", "--force", "--detach", commit).returncode:
                self.git("clean", "-fdq")
                return
        shutil.rmtree(self.tree, ignore_errors=True)
        self.git("worktree", "prune", there=False)
        made = self.git("worktree", "add", "--force", "--detach", self.tree, commit, there=False)
        if made.returncode:
            raise Failure(f"cannot make the worktree {self.tree}: {made.stderr.strip()}")

    def apply(self, mutant: Mutant, check: bool = False) -> None:
        """Apply a mutant's patch, or with `check` only test whether the patch applies. Raises
        Failure if the patch does not apply."""
        result = self.git("apply", *(["--check"] if check else []), mutant.patch)
        if result.returncode:
            raise Failure(f"mutant {mutant.name} does not apply: {result.stderr.strip()}")

    def run(self, log: TextIO, *words: str) -> int:
        """Run ./vgpu in the worktree and return the exit status. The process group is ended before the method returns,
        and also after an exception."""
        log.write(f"$ ./vgpu {' '.join(words)}\n")
        log.flush()

        def start() -> "subprocess.Popen[bytes]":
            return subprocess.Popen(
                ["./vgpu", *words],
                cwd=self.tree,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=clean_environment(),
                start_new_session=True,
            )

        return watch_group(start, lambda process: process.wait(), SUITE_END_SECONDS)


def _write_pid(lock: TextIO) -> None:
    lock.seek(0)
    lock.truncate()
    lock.write(str(os.getpid()))
    lock.flush()


def check_room(*folders: Path) -> None:
    """Raise Failure if a folder has less than ROOM free, because a build or a test that fails on a
    full disk is no verdict on a mutant."""
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(folder).free
        if free < ROOM:
            raise Failure(
                f"{folder} has {free >> 20} MiB free, and mutants need {ROOM >> 20}: {os.strerror(errno.ENOSPC)}"
            )


class Trial:
    """The trial of one mutant in one pass: the build, then ./vgpu demo, then the suites. The first failure ends the
    trial."""

    def __init__(self, tree: Tree, store: Store, mutant: Mutant, verdict: Verdict) -> None:
        self.tree = tree
        self.store = store
        self.mutant = mutant
        self.verdict = verdict
        self.content = mutant.patch.read_text()

    def _keep(self, state: str) -> None:
        self.verdict.state = state
        self.store.keep(self.content, self.verdict)

    def run(self) -> Verdict:
        """Run the build, the demo and the suites until one of them fails. Return the verdict."""
        log = self.tree.place / f"{self.mutant.name}-{self.verdict.of}.log"
        self.tree.reset(self.verdict.commit)
        self.tree.apply(self.mutant)
        try:
            with log.open("w") as file:
                self._run(file)
        finally:
            self.tree.reset(self.verdict.commit)
        return self.verdict

    def _run(self, log: TextIO) -> None:
        if self.tree.run(log, "build", "demo"):
            check_room(self.tree.place)
            progress.say(f"    {self.mutant.name} does not compile; log: {log.name}")
            self._keep("does not compile")
            return
        # `passed` has the suites that passed in an earlier, interrupted run. Do not run these suites
        # again. If `passed` is not empty, do not run the demo again: suites run only after the demo
        # has passed.
        if not self.verdict.passed and self.tree.run(log, "demo", "--timeout", str(DEMO_SECONDS)):
            check_room(self.tree.place)
            self._keep("dies in the demo")
            return
        for suite in suites_for(self.mutant.file, self.verdict.of):
            if suite not in self.verdict.passed and self._caught_by(suite, log):
                self._keep("caught")
                return
        self._keep("survived")

    def _caught_by(self, suite: str, log: TextIO) -> bool:
        """Run a suite. Return whether the suite caught the mutant. Raises Failure if the suite did not run."""
        report = self.tree.tree / "build/results" / f"{suite}.xml"
        report.unlink(missing_ok=True)
        start = time.monotonic()
        status = self.tree.run(log, "test", "--fail-fast", *OPTIONS[self.verdict.of], suite)
        self.verdict.seconds += time.monotonic() - start
        failed = first_failure(report)
        if status and not failed:
            check_room(self.tree.place)
            raise Failure(
                f"suite {suite} did not run on mutant {self.mutant.name}: exit status {status}; log: {log.name}"
            )
        if failed:
            self.verdict.suite, self.verdict.case = suite, failed
            return True
        self.verdict.passed.append(suite)
        self._keep("open")
        return False


def mutants(of: str, names: Sequence[str]) -> int:
    """Try the mutants of these names (no names: all) in the test pass `of` (see PASSES), and print the table of
    verdicts. Return 0 if the share of caught mutants reaches the pass's goal (GOALS), else 1."""
    chosen = choose(load(), names)
    tree, store = Tree(), Store()
    check_room(tree.place)
    with tree.held():
        commit = tree.commit()
        if tree.git("status", "--porcelain", "--untracked-files=no", there=False).stdout:
            progress.say("    uncommitted changes are not in the mutants")
        tree.reset(commit)
        for mutant in chosen:
            tree.apply(mutant, check=True)
        rows: list[tuple[Mutant, dict[str, Verdict]]] = []
        for number, mutant in enumerate(chosen, 1):
            content = mutant.patch.read_text()
            verdict = store.of(content, mutant.name, commit, of)
            if verdict.state == "open":
                progress.say(f"==> mutant {number} of {len(chosen)}: {mutant.name} ({of})")
                verdict = Trial(tree, store, mutant, verdict).run()
            rows.append((mutant, _known(store, content, verdict, commit)))
            progress.say(table([(mutant, {of: verdict})]))
    print(table(rows))
    caught = sum(verdicts[of].state == "caught" for _, verdicts in rows)
    print(f"{caught} of {len(rows)} caught by the {of} pass of {commit[:12]}")
    return 0 if caught >= math.ceil(GOALS[of] * len(rows)) else 1


def _known(store: Store, content: str, verdict: Verdict, commit: str) -> dict[str, Verdict]:
    """Return the verdicts on a mutant, by the name of the test pass. Open verdicts are left out."""
    found = {of: store.of(content, verdict.name, commit, of) for of in PASSES}
    return {of: one for of, one in found.items() if one.state != "open"}
