# SPDX-License-Identifier: GPL-2.0-or-later
"""make test-stress: runs the basic tests several times (rounds) while stress-ng loads the host. Test
programs and device threads have random delays.

build/stress.json keeps the rounds of all invocations.
"""

import contextlib
import random
import subprocess
import sys
import time
import traceback
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from vgpu_tools.base import progress
from vgpu_tools.base.data import why
from vgpu_tools.base.environment import Environment
from vgpu_tools.base.errors import Failure
from vgpu_tools.base.paths import BUILD, RESULTS, ROOT
from vgpu_tools.base.process import CPUS
from vgpu_tools.build import apt, qemu
from vgpu_tools.build.steps import ensure
from vgpu_tools.testing import budget
from vgpu_tools.testing import run as suites
from vgpu_tools.testing.children import Children
from vgpu_tools.testing.suite import Plan, Report

FILE = BUILD / "stress.json"
LOAD = 1.8  # smallest Round.load of a green round
MOST_SECONDS = 5400  # time limit of stress-ng; a round is shorter


@dataclass
class Round:
    """Result of a round: one run of the basic tests while stress-ng loads the host. `load` is the
    duration of the test suite `qtest` in this round, divided by the time budget of `qtest`."""

    commit: str
    seed: int
    seconds: float
    load: float
    passed: int
    failed: int
    skipped: int
    log: str

    def good(self) -> bool:
        """Return whether the round is green. A round with too little load is not green, because the round proves
        nothing."""
        return not self.failed and self.passed > 0 and self.load >= LOAD


_ROUNDS = TypeAdapter(list[Round])


def commit() -> str:
    """Return the checkout's commit, with the suffix -dirty if files differ from the commit."""
    words = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=12"]
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip() or "unknown"


def kept() -> list[Round]:
    """Return the rounds in the file. Raises Failure if the file is malformed."""
    try:
        return _ROUNDS.validate_json(FILE.read_bytes())
    except FileNotFoundError:
        return []
    except ValidationError as error:
        raise Failure(f"{FILE}: {why(error)}; remove it to begin anew", status=1) from None


def _keep(rounds: list[Round]) -> None:
    new = FILE.with_suffix(".new")
    new.write_bytes(_ROUNDS.dump_json(rounds, indent=1))
    new.replace(FILE)


def _load() -> list[str]:
    """Return the command of stress-ng: load on CPU, memory, I/O and context switches."""
    kinds = {"cpu": CPUS, "vm": 1, "vm-bytes": "512M", "iomix": 1, "iomix-bytes": "64M", "switch": 1}
    words = [word for kind, value in kinds.items() for word in (f"--{kind}", str(value))]
    return ["stress-ng", "--quiet", *words, "--temp-path", str(BUILD), "--timeout", f"{MOST_SECONDS}s"]


def _round(seed: int, log: Path, environment: Environment) -> Round:
    start = time.monotonic()
    with (
        log.open("w") as file,
        Children().start(_load(), subprocess.DEVNULL, subprocess.DEVNULL),
        contextlib.redirect_stdout(file),
        contextlib.redirect_stderr(file),
    ):
        try:
            report = suites.run([], Plan(), replace(environment, delays=str(seed)))
        except Exception as error:  # this round has failed; the following rounds run
            print(f"vgpu: {error}" if isinstance(error, Failure) else traceback.format_exc(), file=file)
            report = Report()
    return judge(report, commit(), seed, time.monotonic() - start, log)


def judge(report: Report, of: str, seed: int, seconds: float, log: Path) -> Round:
    """Return the result of a round. `report` is the report of its run of the basic tests. The argument `of` is the
    checkout's commit. A report without cases counts as one failed case."""
    load = report.seconds_of("qtest") / budget.load().seconds["qtest"]
    failed = report.count("failed") if report.cases else 1
    return Round(of, seed, seconds, load, report.count("passed"), failed, report.count("skipped"), str(log))


def run(rounds: int, seed: int, environment: Environment) -> int:
    """Run rounds with the seeds `seed`, `seed` + 1, ... (`seed` 0: random seeds). Print these rounds, and the rounds of
    earlier invocations on the same commit. Return 0 if the new rounds are green, else 1."""
    ensure(apt.host_packages("packages-stress"), qemu.build("delays"))
    RESULTS.mkdir(parents=True, exist_ok=True)
    known, new = kept(), []
    for number in range(rounds):
        one_seed = seed + number if seed else random.randrange(1, 1 << 31)
        progress.say(f"==> round {number + 1} of {rounds}, seed {one_seed}")
        log = RESULTS / f"stress-{one_seed}.log"
        new.append(_round(one_seed, log, environment))
        _keep(known + new)
        progress.say(f"    {describe(new[-1])}")
    rows = [one for one in known + new if one.commit == new[-1].commit]
    for one in rows:
        print(describe(one))
    good = sum(one.good() for one in rows)
    print(f"{good} passed, {len(rows) - good} failed, 0 skipped")
    sys.stdout.flush()
    return 0 if all(one.good() for one in new) else 1


def describe(one: Round) -> str:
    """Return one line about a round: its verdict, numbers of cases, duration and load."""
    verdict = "green" if one.good() else "RED" if one.failed or not one.passed else f"too little load (want {LOAD})"
    counts = f"{one.passed} passed, {one.failed} failed, {one.skipped} skipped"
    took = progress.clock(one.seconds)
    return f"{one.commit} seed {one.seed}: {verdict}, {counts}, {took}, qtest x {one.load:.1f}; {one.log}"
