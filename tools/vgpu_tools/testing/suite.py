# SPDX-License-Identifier: GPL-2.0-or-later
"""Defines the classes for test suites, for their plans and for their results."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from vgpu_tools.base.environment import NOTHING_SET, Environment
from vgpu_tools.base.process import CPUS
from vgpu_tools.build.steps import Step
from vgpu_tools.testing.children import Children
from vgpu_tools.testing.limits import Speed
from vgpu_tools.testing.tap import Case

Part = TypeVar("Part")
BASIC, FULL, LONG = "basic", "full", "long"
AT_ONCE = max(1, min(2, CPUS))  # programs or guests of one suite that run at the same time


class Context:
    """The state that the suites of one run share: the user's environment, child processes, the host's speed."""

    def __init__(self, environment: Environment = NOTHING_SET, scale: float = 0.0) -> None:
        """`scale` is this host's slowdown (see limits.Speed), if it has been measured already. 0: the first use of
        `speed` measures the slowdown."""
        self.environment = environment
        self.children = Children()
        self.speed = Speed(self.children, scale)


@dataclass(frozen=True)
class Plan:
    """The plan of a run of tests. `programs`, `files` and `machines` restrict the run; None: no restriction."""

    level: str = BASIC  # the pass: BASIC, FULL or LONG
    seconds: int = 0  # duration of each test with a long form (LONG only); 0: not set
    fail_fast: bool = False  # end the run after the first suite, guest or program with a failed case
    programs: frozenset[str] | None = None  # guest programs to run
    # Files for checkpatch and pages for the suite "howto". The paths are relative to the checkout.
    files: tuple[str, ...] | None = None
    machines: frozenset[str] | None = None  # files of Avocado's tests, names without .py

    @property
    def basic(self) -> bool:
        """Whether this is the basic pass, in which suites take their short forms."""
        return self.level == BASIC

    def variables(self, context: Context) -> dict[str, str]:
        """Return the environment variables of test programs in C. VGPU_TEST_SECONDS selects the long form of the tests,
        VGPU_TEST_SHORT the short form."""
        environment, scale = context.environment, context.speed.scale()
        given = {
            "VGPU_TEST_SECONDS": str(self.seconds) if self.seconds else "",
            "VGPU_TEST_SHORT": "1" if self.basic and not self.seconds else "",
            "VGPU_TEST_DELAYS": environment.delays,
            "VGPU_TEST_SEED": environment.seed,
            "VGPU_TEST_SCALE": f"{scale:.2f}",
        }
        return {name: value for name, value in given.items() if value}


@dataclass(frozen=True)
class Suite:
    """Tests that `./vgpu test` selects by `name`, and that have one log file."""

    name: str
    steps: Callable[[], Sequence[Step]]  # returns the build steps that must be done before `run` is called
    run: Callable[[Path, Plan, Context], list[Case]]  # arguments: the suite's log file, the plan, the context
    lowest: str = BASIC  # smallest pass that has the suite: BASIC, FULL or LONG
    # Suites that are neighbours in the registry run at the same time if they have the same `beside`. A suite with an
    # empty `beside` runs alone.
    beside: str = ""

    def in_pass(self, level: str) -> bool:
        """Return whether this suite belongs to the pass `level` (BASIC, FULL or LONG)."""
        order = (BASIC, FULL, LONG)
        return order.index(self.lowest) <= order.index(level)


@dataclass
class Outcome:
    """A suite that has run: its cases, and its duration in seconds, without the builds before
    it."""

    suite: Suite
    cases: list[Case] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def failed(self) -> list[Case]:
        """The failed cases. If there are any, ./vgpu test returns 1."""
        return [case for case in self.cases if case.outcome == "failed"]


@dataclass
class Report:
    """The outcomes of all suites of a run. `seconds` is the duration of the run, builds
    included."""

    outcomes: list[Outcome] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def cases(self) -> list[Case]:
        """The cases of the suites that have run. With `fail_fast`, some suites may not have run."""
        return [case for outcome in self.outcomes for case in outcome.cases]

    @property
    def failed(self) -> list[Case]:
        """The failed cases of all suites. If there are any, ./vgpu test returns 1."""
        return [case for outcome in self.outcomes for case in outcome.failed]

    def count(self, outcome: str) -> int:
        """Return the number of cases with this outcome: "passed", "failed" or "skipped"."""
        return sum(case.outcome == outcome for case in self.cases)

    def seconds_of(self, suite: str) -> float:
        """Return the duration of a suite in seconds; 0 if the suite was not run."""
        return sum(outcome.seconds for outcome in self.outcomes if outcome.suite.name == suite)


def in_order(
    one: Callable[[Part], tuple[list[Case], str]], parts: Sequence[Part], log: Path, plan: Plan, children: Children
) -> Iterator[tuple[Part, list[Case], str]]:
    """Run the parts of a suite with `one`, AT_ONCE at a time. Yield each part with its cases and text. Log the text."""
    pool = ThreadPoolExecutor(AT_ONCE)
    try:
        futures = {pool.submit(one, part): part for part in parts}
        # With plan.fail_fast, do not keep the order of `parts`: a failed case must end the run at once, although
        # earlier parts still run.
        for future in as_completed(futures) if plan.fail_fast else futures:
            cases, said = future.result()
            with log.open("a") as file:
                file.write(said)
            yield futures[future], cases, said
            if plan.fail_fast and any(case.outcome == "failed" for case in cases):
                children.end_all()
                return
    finally:
        pool.shutdown(cancel_futures=True)
