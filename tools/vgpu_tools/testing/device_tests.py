# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the suites of the device without a guest: qtest and the two fuzzers."""

import re
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path

from vgpu_tools.base.environment import clean_environment
from vgpu_tools.base.errors import Failure
from vgpu_tools.base.paths import BUILD, CONFIGS, RESULTS, ROOT
from vgpu_tools.base.process import how_it_ended
from vgpu_tools.build import qemu
from vgpu_tools.testing import fuzz_seeds
from vgpu_tools.testing.limits import Limit
from vgpu_tools.testing.suite import Context, Plan, in_order
from vgpu_tools.testing.tap import Case, parse

CASE_SECONDS = 60  # limit of one case; the longest case takes 25 s with the sanitizers
BASIC_FUZZ_SECONDS, FUZZ_SECONDS = 20, 60
SHRINK_SECONDS = 600  # limit for the model fuzzer to shrink a failing case
MODEL_HANG_SECONDS = 35  # the limit is the fuzzing time plus this; the model fuzzer itself gives up after 30 s
FUZZ_HANG_SECONDS = 60  # limit of one input of the generic fuzzer; a slower input is a failure
SANITIZER_OPTIONS = {
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",  # ASan halts by default
    "LSAN_OPTIONS": f"suppressions={CONFIGS / 'lsan.supp'}:print_suppressions=0",
}
# ASan finds the stack of each allocation by frame pointers, which GLib does not have: a report may lack frames. With
# this variable the stacks are complete, and the suite takes twice the time.
COMPLETE_STACKS = {"ASAN_OPTIONS": "fast_unwind_on_malloc=0"}
PREFIX = "/x86_64/vgpu-kfd/"
NO_PLAN = "1..0"  # GLib prints this line for each -p before the first case; it is dropped
RESULT = re.compile(r"^(not )?ok\b")
FUZZ_FAILED = re.compile(r"^# case 0x")  # the model fuzzer has found a failing case and shrinks it
NOT_BASIC_SANITIZED = ROOT / "tests/basic-sanitizers.txt"


def environment(variant: str, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of a program that starts a variant of QEMU; `more` are further
    variables."""
    own = {"QTEST_QEMU_BINARY": str(qemu.with_firmware(variant)), **SANITIZER_OPTIONS}
    return clean_environment({**own, **(more or {})})


class _Program:
    """A program that starts QEMU and prints TAP. The duration of a case is the time from the previous result's line (or
    from the program's start) to the line of its own result."""

    def __init__(
        self, words: Sequence[str | Path | int], env: dict[str, str], seconds: float, context: Context
    ) -> None:
        """`seconds` is the limit of the time between two results, on the reference machine."""
        self.words, self.env = words, env
        self.children = context.children
        self.limit = Limit(seconds, context.speed)
        self.lines: list[str] = []

    def run(self) -> int | None:
        """Run the program. Return its exit status, or None if the program was stopped because no result came within the
        limit."""
        with self.children.start(self.words, subprocess.PIPE, subprocess.STDOUT, self.env) as process:
            reader = threading.Thread(target=self._read, args=(process.stdout,), daemon=True)
            reader.start()
            while process.poll() is None and not self.limit.reached():
                reader.join(1.0)
                if not reader.is_alive():
                    process.wait()
            status = process.poll()
        reader.join()
        return status

    def _read(self, stream: Iterable[bytes]) -> None:
        before = time.monotonic()
        for raw in stream:
            line = raw.decode(errors="replace").rstrip("\n")
            if line == NO_PLAN:
                continue
            self.lines.append(line)
            if RESULT.match(line):
                now = time.monotonic()
                self.lines.append(f"# {now - before:.3f} s")
                before = now
                self.limit.renew()
            elif FUZZ_FAILED.match(line):
                self.limit.seconds = SHRINK_SECONDS
                self.limit.renew()

    def cases(self, name: str, status: int | None) -> list[Case]:
        """Return the cases in the output. Add a failed case if the program was stopped, died, or exited with a status
        that does not match the cases."""
        cases = parse("\n".join(self.lines), f"{name}: ")
        failed = any(case.outcome == "failed" for case in cases)
        last = "\n".join(self.lines[-5:])
        if status is None:
            cases.append(Case(f"{name}: end", "failed", f"stopped: no result for {self.limit}\n{last}"))
        elif status not in (0, 1) or (status and not failed):  # exit status 1: a case failed
            cases.append(Case(f"{name}: end", "failed", f"{how_it_ended(status)}\n{last}"))
        return cases or [Case(f"{name}: end", "failed", "no results")]


def _groups(program: Path, env: dict[str, str]) -> list[list[str]]:
    """Return the paths of all cases, grouped by the first component below PREFIX."""
    command = [str(program), "-l"]
    said = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=env, check=False)
    groups: dict[str, list[str]] = {}
    for path in filter(lambda line: line.startswith(PREFIX), said.stdout.splitlines()):
        groups.setdefault(path.removeprefix(PREFIX).split("/")[0], []).append(path)
    if not groups or said.returncode:
        raise Failure(f"{program} lists no cases: {said.stderr.strip()}")
    return list(groups.values())


def _left_out(variant: str, plan: Plan, paths: Iterable[str]) -> set[str]:
    """Return the cases that the plan leaves out: in the basic pass with sanitizers, those that match a pattern in
    NOT_BASIC_SANITIZED. Raises Failure if a pattern matches no case."""
    if variant == "release" or not plan.basic:
        return set()
    left_out: set[str] = set()
    for line in NOT_BASIC_SANITIZED.read_text().splitlines():
        if pattern := line.split("#")[0].strip():
            fitting = {path for path in paths if fnmatch(path.removeprefix(PREFIX), pattern)}
            if not fitting:
                raise Failure(f"{NOT_BASIC_SANITIZED}: there is no case {pattern}", status=2)
            left_out |= fitting
    return left_out


def qtest(variant: str) -> Callable[[Path, Plan, Context], list[Case]]:
    """Return the function that runs the suite of the device's qtest program. The cases run in
    groups, AT_ONCE groups at a time."""

    def one(paths: list[str], plan: Plan, context: Context) -> tuple[list[Case], str]:
        selected = [word for path in paths for word in ("-p", path)]
        command: list[str | Path] = [qemu.qtest(variant), "--tap", "-k", *selected]
        variables = environment(variant, plan.variables(context))
        program = _Program(command, variables, CASE_SECONDS + 20 * plan.seconds, context)
        cases = program.cases("qtest", program.run())
        names = {case.name for case in cases}
        cases += [Case(f"qtest: {path}", "failed", "no result") for path in paths if f"qtest: {path}" not in names]
        for case in cases:
            path = case.name.removeprefix("qtest: ")
            if case.outcome == "failed" and path in paths:
                case.again = [str(ROOT / "vgpu"), "qtest", variant, "-p", path]
        return cases, "\n".join(program.lines) + "\n"

    def run(log: Path, plan: Plan, context: Context) -> list[Case]:
        groups = _groups(qemu.qtest(variant), environment(variant))
        left_out = _left_out(variant, plan, [path for paths in groups for path in paths])
        chosen = [[path for path in paths if path not in left_out] for paths in groups]
        chosen = sorted(filter(None, chosen), key=len, reverse=True)
        parts = in_order(lambda paths: one(paths, plan, context), chosen, log, plan, context.children)
        return [case for _, its_cases, _ in parts for case in its_cases]

    return run


def _fuzz_seconds(plan: Plan) -> int:
    return plan.seconds or (BASIC_FUZZ_SECONDS if plan.basic else FUZZ_SECONDS)


def model_fuzz(variant: str) -> Callable[[Path, Plan, Context], list[Case]]:
    """Return the function that runs the fuzzer that compares the device with a model, byte by
    byte."""

    def run(log: Path, plan: Plan, context: Context) -> list[Case]:
        seconds = _fuzz_seconds(plan)
        command: list[str | Path | int] = [qemu.model_fuzzer(variant), "--seconds", seconds]
        variables = environment(variant, plan.variables(context))
        program = _Program(command, variables, seconds + MODEL_HANG_SECONDS, context)
        cases = program.cases("fuzz", program.run())
        log.write_text("\n".join(program.lines) + "\n")
        return cases

    return run


def generic_fuzz(log: Path, plan: Plan, context: Context) -> list[Case]:
    """Run QEMU's generic fuzzer, which makes random accesses to registers, doorbells and
    configuration space."""
    seconds = _fuzz_seconds(plan)
    corpus = BUILD / "fuzz-corpus"  # inputs that reached new code; each run starts with them
    corpus.mkdir(parents=True, exist_ok=True)
    seeds = BUILD / "fuzz-seeds"
    fuzz_seeds.write(seeds)
    qemu.firmware_beside("sanitizers")
    command: list[str | Path] = [
        qemu.generic_fuzzer(),
        "--fuzz-target=generic-fuzz-vgpu-kfd",
        f"-max_total_time={seconds}",
        f"-timeout={round(FUZZ_HANG_SECONDS * context.speed.scale())}",
        "-rss_limit_mb=4096",
        "-detect_leaks=0",
        "-print_final_stats=1",
        f"-artifact_prefix={RESULTS}/fuzz-generic-",
        corpus,
        seeds,
    ]
    program = _Program(command, clean_environment(SANITIZER_OPTIONS), seconds + 2 * FUZZ_HANG_SECONDS, context)
    status = program.run()
    said = "\n".join(program.lines)
    log.write_text(said + "\n")
    if status == 0 and "Done " in said:
        return [Case("fuzz: generic", "passed", seconds=seconds)]
    if status is None:
        return [Case("fuzz: generic", "failed", f"not done after {program.limit}")]
    found = re.search(r"Test unit written to (\S+)", said)
    again = [str(word) for word in (*command[:2], found[1])] if found else []
    repeat = f"; repeat: {' '.join(again)}" if found else ""
    return [Case("fuzz: generic", "failed", f"{how_it_ended(status)}{repeat}", again=again)]
