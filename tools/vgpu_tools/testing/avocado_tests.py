# SPDX-License-Identifier: GPL-2.0-or-later
"""The suite "avocado": tests of whole machines (tests/avocado) and of the tools (tests/tools). Logs: build/avocado."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ValidationError

from vgpu_tools.base import data
from vgpu_tools.base.environment import NOTHING_SET, Environment, clean_environment, path_with
from vgpu_tools.base.paths import BUILD, ROOT
from vgpu_tools.testing.limits import Limit
from vgpu_tools.testing.suite import AT_ONCE, Context, Plan
from vgpu_tools.testing.tap import Case

TESTS = (ROOT / "tests/avocado", ROOT / "tests/tools")
MODULES = (ROOT / "tools", TESTS[0])  # PYTHONPATH of the tests
SECONDS = 1200
OUTCOMES = {"PASS": "passed", "WARN": "passed", "SKIP": "skipped", "CANCEL": "skipped"}


@dataclass(frozen=True)
class Parameters:
    """Avocado's parameters of the tests (-p NAME=VALUE).

    tests/avocado/settings.py reads them. A member that is None is not passed, so that the default in the tests holds.
    """

    environment: Environment = NOTHING_SET
    scale: float | None = None  # how much slower than the reference machine this host is
    rounds: int | None = None
    kernel: str | None = None
    append: str | None = None  # appended to the kernel's command line
    timeout: float | None = None  # limit of each test in seconds; Avocado's own parameter

    def words(self) -> list[str]:
        """Return the options with which `avocado run` gets these parameters."""
        given = {
            "scale": None if self.scale is None else f"{self.scale:.2f}",
            "rounds": self.rounds,
            "kernel": self.kernel,
            "append": self.append,
            "timeout": None if self.timeout is None else f"{self.timeout:g}",
            "accelerator": self.environment.accelerator or None,
            "late_frames": self.environment.late_frames or None,
        }
        return [word for name, value in given.items() if value is not None for word in ("-p", f"{name}={value}")]


def _command(*words: str | Path) -> list[str]:
    """Return an `avocado run` command that a user can repeat in a shell."""
    path = os.pathsep.join(map(str, MODULES))
    return ["env", f"PYTHONPATH={path}", sys.executable, "-m", "avocado", "run", "--disable-sysinfo", *map(str, words)]


def _place(name: str) -> Path:
    """Return the path of `name` (FILE or FILE:TEST) in the folder of TESTS that has FILE."""
    file = name.partition(":")[0]
    return next((folder / name for folder in TESTS if (folder / file).exists()), TESTS[0] / name)


class _Test(BaseModel):
    """A test in Avocado's results.json, with the members that this module reads."""

    id: str
    status: str | None = None  # None if the test was never started
    logfile: str = ""
    fail_reason: str | None = None
    time_elapsed: float | None = None


class _Results(BaseModel):
    """Avocado's results.json."""

    tests: list[_Test]


def _cases(results: Path, parameters: Sequence[str]) -> list[Case]:
    file = results / "results.json"
    try:
        tests = _Results.model_validate_json(file.read_bytes()).tests
    except ValidationError as error:
        return [Case("avocado", "failed", f"{file}: {data.why(error)}")]
    cases = []
    for test in tests:
        name = test.id.rsplit("/", 1)[-1]
        outcome = OUTCOMES.get(test.status or "", "failed")
        why = "" if outcome == "passed" else f"{test.fail_reason or test.status or 'not run'}\nlog: {test.logfile}"
        case = Case(f"avocado: {name}", outcome, why, test.time_elapsed or 0.0)
        if outcome == "failed":
            case.again = _command(*parameters, _place(name))
        cases.append(case)
    return cases or [Case("avocado", "failed", "no tests were found")]


def run_files(
    log: Path,
    tests: Sequence[Path],
    seconds: float,
    parameters: Parameters,
    context: Context,
    options: Sequence[str] = ("--max-parallel-tasks=1",),
) -> list[Case]:
    """Run the tests of files or folders, with `options` of Avocado. Return their cases.

    `seconds` is the time limit of all tests together, on the reference machine.
    """
    results = BUILD / "avocado"
    shutil.rmtree(results, ignore_errors=True)
    results.mkdir(parents=True)
    where: list[str | Path] = ["--job-results-dir", results, "--json", results / "results.json"]
    given = parameters.words()
    command = _command(*options, *given, *where, *tests)
    path = path_with(Path(sys.executable).parent)
    limit = Limit(seconds, context.speed)
    with (
        log.open("wb") as file,
        context.children.start(command, file, subprocess.STDOUT, clean_environment({"PATH": path}), ROOT) as process,
    ):
        while process.poll() is None:
            if limit.reached():
                return [Case("avocado", "failed", f"not done after {limit}")]
            _wait(process)
    if not (results / "results.json").exists():
        return [Case("avocado", "failed", "no results")]
    return _cases(results, given)


def _wait(process: "subprocess.Popen[bytes]") -> None:
    try:
        process.wait(1.0)
    except subprocess.TimeoutExpired:
        return


def run(log: Path, plan: Plan, context: Context) -> list[Case]:
    """Run Avocado's tests. The basic pass leaves out tests with the tag "full"."""
    tests = TESTS if plan.machines is None else [_place(f"{name}.py") for name in sorted(plan.machines)]
    options = [f"--max-parallel-tasks={AT_ONCE}"]
    if plan.basic:
        options += ["--filter-by-tags=-full", "--filter-by-tags-include-empty"]
    parameters = Parameters(context.environment, context.speed.scale())
    return run_files(log, tests, SECONDS, parameters, context, options)
