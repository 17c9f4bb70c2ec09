# SPDX-License-Identifier: GPL-2.0-or-later
"""./vgpu check-cycles: repeats suspend, removal and module reload of the GPU under load. After each cycle as much
memory must be in use as at the start. Prints a table; the logs are build/results/cycles*.log."""

import re
import time
from collections.abc import Sequence

from vgpu_tools.base import progress
from vgpu_tools.base.environment import Environment
from vgpu_tools.base.paths import RESULTS, ROOT
from vgpu_tools.guest.config import Guest
from vgpu_tools.testing.avocado_tests import Parameters, run_files
from vgpu_tools.testing.guest_tests import Watch, in_guest
from vgpu_tools.testing.suite import Context
from vgpu_tools.testing.tap import Case

START_SECONDS = 600
ROUND_SECONDS = {"release": 60, "debug": 240}  # limit of one round of all cases of a row of the table
HOST_ROUND_SECONDS = 120  # limit of one round of a test in BY_HOST, with either kernel
RELOADS = 5  # number of reloads of the module for each round of the other rows
SLEEP = ["--bzimage", "--vram", "128M"]
LOST = ["--device-opts", "vram-lost-on-reset=on"]
BY_HOST = ("test_unplug.py", "test_sleep.py")
ROUNDS = re.compile(r"^# (\d+ rounds.*)$", re.MULTILINE)


def _in_guest(repeat: int) -> list[tuple[str, list[str], list[str]]]:
    """Return those rows of the printed table whose tests need no action of the host during the run. Each row is a tuple
    of name, options of ./vgpu run, and command in the guest."""
    said = ["env", f"VGPU_TEST_ROUNDS={repeat}"]
    return [
        ("memory, VRAM lost", [*SLEEP, *LOST], [*said, "vgpu-test-suspend"]),
        ("memory, VRAM kept", SLEEP, [*said, "vgpu-test-suspend"]),
        ("remove, rescan", ["--vram", "256M"], [*said, "vgpu-test-unplug", "remove and rescan under load"]),
        ("module reload", ["--vram", "256M"], ["vgpu-test-reload", str(RELOADS * repeat)]),
    ]


def _show(row: str, cases: Sequence[Case], since: float, said: Sequence[str]) -> None:
    print(f"{row:19}{progress.clock(time.monotonic() - since)}", flush=True)
    for case in cases:
        why = f": {case.why}" if case.outcome != "passed" else ""
        print(f"    {case.outcome}: {case.name}{why}", flush=True)
    for line in said:
        print(f"    {line}", flush=True)


def check_cycles(repeat: int, kernel: str, append: str, environment: Environment) -> int:
    """Run all tests of ./vgpu check-cycles, each for `repeat` rounds, and print a table. Return 1 if a case failed or
    was skipped, else 0."""
    Guest(kernel=kernel).prepare()
    context = Context(environment)
    RESULTS.mkdir(parents=True, exist_ok=True)
    log = RESULTS / "cycles.log"
    log.write_text("")
    everything: list[Case] = []
    limit = START_SECONDS + ROUND_SECONDS[kernel] * repeat
    common = ["--kernel", kernel, f"--append={append}"]
    for row, words, command in _in_guest(repeat):
        start = time.monotonic()
        cases, said = in_guest([row], [*common, *words], command, Watch(context.speed, limit, limit), context)
        with log.open("a") as file:
            file.write(said)
        _show(row, cases, start, ROUNDS.findall(said))
        everything += cases

    start = time.monotonic()
    tests = [ROOT / "tests/avocado" / name for name in BY_HOST]
    parameters = Parameters(
        environment, rounds=repeat, kernel=kernel, append=append, timeout=START_SECONDS + HOST_ROUND_SECONDS * repeat
    )
    cases = run_files(RESULTS / "cycles-avocado.log", tests, len(tests) * limit, parameters, context)
    _show("slot; disk, idle", cases, start, [f"{repeat} rounds each"])
    everything += cases
    bad = sum(case.outcome != "passed" for case in everything)
    print(f"NOT all right: {bad} of {len(everything)}; log: {log}" if bad else "all right, each time")
    return 1 if bad else 0
