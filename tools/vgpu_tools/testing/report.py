# SPDX-License-Identifier: GPL-2.0-or-later
"""Prints the results of a run of tests, and writes the JUnit files."""

from collections.abc import Sequence

from vgpu_tools.base import progress
from vgpu_tools.base.paths import RESULTS
from vgpu_tools.testing import budget
from vgpu_tools.testing.suite import Outcome, Plan
from vgpu_tools.testing.tap import Case, write_junit

NAME, GIST = 120, 160  # most characters of a failed case's name and gist in the list at the end
SLOWEST = 10  # number of cases in the list of the slowest


def summary(cases: Sequence[Case]) -> str:
    """Return the numbers of passed, failed and skipped cases as one line. ./vgpu test prints this
    line for all cases of the run as its last line."""
    counts = [sum(case.outcome == outcome for case in cases) for outcome in ("passed", "failed", "skipped")]
    return "{} passed, {} failed, {} skipped".format(*counts)


def gist(case: Case) -> str:
    """Return one line that says why a case failed. If `case.gist` is empty, take a line of
    `case.why`: the last of the TAP comments ("# ..."), or the first line of any other text."""
    lines = case.why.strip().splitlines() or [""]
    return case.gist or (lines[-1] if lines[-1].startswith("#") else lines[0]).strip("# ")


def print_cases(cases: Sequence[Case], outcome: str) -> None:
    for case in cases:
        if case.outcome == outcome:
            why = case.why.strip().replace("\n", "\n        ")
            print(f"    {outcome}: {case.name}" + (f": {why}" if why else ""), flush=True)


def warning(outcome: Outcome, plan: Plan, scale: float) -> str:
    """Return a warning if a suite exceeds its budget on a host `scale` times slower than the reference; else ''.

    Only whole suites of the basic pass have a budget."""
    if not plan.basic or plan.programs is not None or plan.files is not None:
        return ""
    return budget.load().over(outcome.suite.name, outcome.seconds, scale)


def suite(outcome: Outcome, plan: Plan, scale: float) -> None:
    """Report a suite that has run, to the user and to RESULTS/NAME.xml. `scale` is as in warning()."""
    name = outcome.suite.name
    write_junit(RESULTS / f"{name}.xml", name, outcome.cases, warning(outcome, plan, scale))
    print_cases(outcome.cases, "skipped")
    print_cases(outcome.cases, "failed")
    log = RESULTS / f"{name}.log"
    print(f"{name}: {summary(outcome.cases)} ({progress.clock(outcome.seconds)}; log: {log})", flush=True)


def table(outcomes: Sequence[Outcome], plan: Plan, seconds: float, scale: float) -> None:
    """Print each suite's time and budget, the total time with builds, the slowest cases and the warnings."""
    allowed = budget.load().seconds if plan.basic else {}
    print(f"\n{'suite':24}{'cases':>6}{'seconds':>9}{'budget':>8}   (host {scale:.1f} x the reference's time)")
    for outcome in outcomes:
        name = outcome.suite.name
        limit = f"{allowed[name]:8.0f}" if name in allowed else f"{'':8}"
        print(f"{name:24}{len(outcome.cases):6}{outcome.seconds:9.0f}{limit}")
    print(f"{'all, with builds':24}{sum(len(outcome.cases) for outcome in outcomes):6}{seconds:9.0f}")
    cases = sorted((case for outcome in outcomes for case in outcome.cases), key=lambda case: -case.seconds)
    print("slowest cases:")
    for case in cases[:SLOWEST]:
        print(f"{case.seconds:8.1f} s  {case.name[:NAME]}")
    for outcome in outcomes:
        if text := warning(outcome, plan, scale):
            print(f"warning: {text}")
    print(flush=True)


def failures(outcomes: Sequence[Outcome]) -> None:
    """Print a line for each failed case. Call this after table(), so that only the totals follow
    these lines. A reader who has only the end of the log then still sees the failures."""
    for outcome in outcomes:
        for case in outcome.failed:
            print(f"{case.name[:NAME]}: {gist(case)[:GIST]}", flush=True)
