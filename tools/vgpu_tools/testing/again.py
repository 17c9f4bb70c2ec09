# SPDX-License-Identifier: GPL-2.0-or-later
"""Repeats failed cases, each alone, with the command that the report prints for the user.

The report shows the rate of failures, which hints at the cause. A case stays failed even if every repetition passes.
"""

import shlex
import subprocess
import time
from collections.abc import Callable, Sequence

from vgpu_tools.base.environment import clean_environment
from vgpu_tools.testing.children import Children
from vgpu_tools.testing.tap import Case

TIMES, CASES, SECONDS = 10, 5, 180.0


def repeat(failed: Sequence[Case], say: Callable[[str], None], children: Children) -> None:
    """Repeat the first CASES failed cases that have a command, TIMES each, within SECONDS in all. Call `say` with lines
    for the user."""
    end = time.monotonic() + SECONDS
    chosen = [case for case in failed if case.again][:CASES]
    for number, case in enumerate(chosen):
        share = (end - time.monotonic()) / (len(chosen) - number)
        times, fails = _repeat(case.again, share, children)
        command = shlex.join(case.again)
        line = f"fails {fails} of {times}" if times else f"not repeated alone within {share:.0f} s"
        case.why = f"{case.why}\nalone: {line}: {command}".strip()
        say(f"    {case.name}: {line}; repeat: {command}")


def _repeat(command: Sequence[str], seconds: float, children: Children) -> tuple[int, int]:
    """Run a command TIMES times within `seconds`. Return the number of completed runs, and how many of them failed."""
    end, fails = time.monotonic() + seconds, 0
    for times in range(TIMES):
        with children.start(command, subprocess.DEVNULL, subprocess.DEVNULL, clean_environment()) as process:
            try:
                fails += process.wait(max(0.1, end - time.monotonic())) != 0
            except subprocess.TimeoutExpired:
                return times, fails
    return TIMES, fails
