# SPDX-License-Identifier: GPL-2.0-or-later
"""./vgpu test: builds what the suites need, runs them, and reports."""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from vgpu_tools.base import progress
from vgpu_tools.base.environment import Environment
from vgpu_tools.base.errors import Failure
from vgpu_tools.base.paths import RESULTS
from vgpu_tools.build import qemu
from vgpu_tools.build.steps import ensure
from vgpu_tools.testing import again, budget, changed, registry, report
from vgpu_tools.testing.suite import BASIC, FULL, Context, Outcome, Plan, Report, Suite
from vgpu_tools.testing.tap import Case


def run(names: Sequence[str], plan: Plan, environment: Environment) -> Report:
    """Run the suites `names`; without names, all suites of `plan.level` (BASIC, FULL or LONG). May be called again,
    also after an exception."""
    budget.load().check(suite.name for suite in registry.SUITES if suite.in_pass(BASIC))
    chosen = registry.choose(names, plan.level)
    start = time.monotonic()
    ensure(*registry.steps_of_all())
    for suite in chosen:
        ensure(*suite.steps())
    if environment.delays and any(suite.name.startswith(changed.GUESTS) for suite in chosen):
        ensure(qemu.build("delays"))  # build here, not in a suite's thread, where Ctrl-C would wait for the build's end
    RESULTS.mkdir(parents=True, exist_ok=True)
    context = Context(environment)
    context.speed.scale()  # measure the speed before tests keep the host busy
    done = Report()
    try:
        for stage in registry.stages(chosen):
            done.outcomes += _run_stage(stage, plan, context)
            if plan.fail_fast and done.failed:
                break
        if done.failed and not plan.fail_fast:
            again.repeat(done.failed, lambda line: print(line, flush=True), context.children)
    except BaseException:
        context.children.end_all()
        raise
    done.seconds = time.monotonic() - start
    if len(chosen) > 1:
        report.table(done.outcomes, plan, done.seconds, context.speed.scale())
        report.failures(done.outcomes)
    print(report.summary(done.cases), flush=True)
    return done


def run_changed(names: Sequence[str], since: str, fail_fast: bool, environment: Environment) -> Report:
    """Run the tests that changed files can break. changed.files() finds the changed files, by comparison with the
    commit `since`. If `names` is not empty, only suites of these names run."""
    choice = changed.choose(changed.load(), changed.files(since))
    if names:
        choice.suites &= {suite.name for suite in registry.choose(names, FULL)}
    progress.say(changed.describe(choice))
    if choice.suites:
        return run(sorted(choice.suites), choice.plan(fail_fast), environment)
    print(report.summary([]))
    return Report()


def _run_stage(stage: Sequence[Suite], plan: Plan, context: Context) -> list[Outcome]:
    """Run suites at the same time. Report them in the order of `stage`."""
    for suite in stage:
        progress.say(f"==> {suite.name}")
    with ThreadPoolExecutor(len(stage)) as pool:
        try:
            outcomes = list(pool.map(lambda suite: _run_one(suite, plan, context), stage))
        except BaseException:
            context.children.end_all()
            raise
    for outcome in outcomes:
        report.suite(outcome, plan, context.speed.scale())
    return outcomes


def _run_one(suite: Suite, plan: Plan, context: Context) -> Outcome:
    log = RESULTS / f"{suite.name}.log"
    log.write_text("")
    start = time.monotonic()
    try:
        cases = suite.run(log, plan, context)
    except Failure as failure:
        cases = [Case(suite.name, "failed", str(failure))]
    return Outcome(suite, cases, time.monotonic() - start)
