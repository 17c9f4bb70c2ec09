# SPDX-License-Identifier: GPL-2.0-or-later
"""./vgpu test-delays: finds ordering bugs by delays of 0.3 s. Each run of a test has delays at one point only.
build/delays/COMMIT-KERNEL.json keeps the results.
"""

import re
import shlex
import subprocess
import time
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from vgpu_tools.base import progress
from vgpu_tools.base.data import why
from vgpu_tools.base.environment import Environment
from vgpu_tools.base.errors import Failure
from vgpu_tools.base.files import write_whole
from vgpu_tools.base.paths import BUILD, GUEST_DRIVER, INCLUDE, PROGRAMS, QEMU_DEVICE, ROOT
from vgpu_tools.build import fingerprint, qemu, rootfs, sources
from vgpu_tools.build.steps import ensure
from vgpu_tools.guest import options
from vgpu_tools.guest.background import Background
from vgpu_tools.guest.config import DELAY_POINTS, Guest
from vgpu_tools.testing import avocado_tests, guest_tests
from vgpu_tools.testing.suite import Context

EXCLUDED = ROOT / "tests/delays.toml"
FOLDER = BUILD / "delays"
FRAMES = "HOEXRIWDST"  # kinds of frames, see vgpu_tools/guest/agent.py
FRAME_TESTS = [ROOT / "tests/avocado/test_launcher.py"]
FRAME_SECONDS = 600
# Limit between two lines of output, on the reference machine. A case's limit (tap.c) is shorter, so
# that the program itself reports a hang.
SILENCE_SECONDS = 300
CASE = re.compile(r"# case (.*)")
COUNT = re.compile(r"# delay points: (\d+), (with peers|alone)")
POINT = re.compile(r"# delay point (\d+) of (\d+): (.*), 0x\w+, (\d+) times, at (.*)")
NO_POINTS = "no points for delays"  # text for the outcome "alone"
RESULT = re.compile(r"(not )?ok \d+ - (.*), (?:no delay|delay (0x\w+))( # SKIP.*)?")


@dataclass
class Record:
    """The result of a case: outcome, number of runs, and lines about each failed run."""

    # "passed", "failed", "skipped" or "alone". A case "alone" has no second process, no second thread and no timer, so
    # it runs without delays.
    outcome: str
    runs: int
    failures: list[list[str]]


@dataclass
class Kept:
    """The content of a file of results: records by "PROGRAM: CASE", and the names of the guests that have run all their
    cases."""

    guests: list[str] = field(default_factory=list)
    cases: dict[str, Record] = field(default_factory=dict)


_KEPT = TypeAdapter(Kept)


class Results:
    """The results of ./vgpu test-delays for a commit and a guest kernel, which are kept in a file. With uncommitted
    changes, the file's name contains a hash of the sources."""

    def __init__(self, kernel: str) -> None:
        commit = _git("rev-parse", "HEAD")[:12] or "none"
        if _git("status", "--porcelain"):
            commit += f"-{fingerprint.of(PROGRAMS, GUEST_DRIVER, QEMU_DEVICE, INCLUDE)}"
        FOLDER.mkdir(parents=True, exist_ok=True)
        self.file = FOLDER / f"{commit}-{kernel}.json"
        kept = Kept()
        try:
            kept = _KEPT.validate_json(self.file.read_bytes())
        except FileNotFoundError:
            pass
        except ValidationError as error:
            raise Failure(f"{self.file}: {why(error)}; remove it to begin anew", status=1) from None
        self.guests, self.cases = kept.guests, kept.cases

    def keep(self) -> None:
        """Write the file."""
        write_whole(self.file, _KEPT.dump_json(Kept(self.guests, self.cases), indent=1).decode() + "\n")

    def add(self, name: str, record: Record) -> None:
        """Store a case's record in the file, and print it."""
        self.cases[name] = record
        self.keep()
        outcome = f"{NO_POINTS} (one thread, no timer)" if record.outcome == "alone" else record.outcome
        progress.say(f"    {name}: {outcome}, {record.runs} runs")
        for lines in record.failures:
            progress.say("    failed: " + "\n        ".join(lines))


def _git(*words: str) -> str:
    return subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True, check=False).stdout.strip()


def _excluded() -> list[dict[str, str]]:
    entries: list[dict[str, str]] = tomllib.loads(EXCLUDED.read_text()).get("exclude", [])
    known = {program for guest in guest_tests.full_list() for program in guest.programs}
    for entry in entries:
        if not entry.get("reason") or entry.get("program") not in known or set(entry) - {"program", "case", "reason"}:
            raise Failure(f"{EXCLUDED}: {entry}: need a program of tests.list, a reason, perhaps a case", status=2)
    return entries


def _where(program: str, addresses: Sequence[str]) -> str:
    """Return the functions and source lines of return addresses, the innermost first."""
    calls = [hex(int(address, 16) - 1) for address in addresses]
    binary = rootfs.PROGRAMS_OUT / "obj" / program
    command: list[str | Path] = ["addr2line", "-f", "-s", "-i", "-e", binary, *calls]
    lines = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
    return " < ".join(
        f"{function} ({line.split()[0]})" for function, line in zip(lines[::2], lines[1::2], strict=False)
    )


def _lines(guest: Guest, command: Sequence[str], scale: float) -> Iterator[str]:
    """Run a command in a guest. Yield the lines of its output and, if the guest ends with an error, the error.

    The run is given up after SILENCE_SECONDS x `scale` without a line."""
    with Background(guest, command) as run:
        for line in run.lines(SILENCE_SECONDS * scale):
            if line is None:
                yield f"# silent for {SILENCE_SECONDS * scale:.0f} s: ended"
                run.give_up()
                break
            yield line
        for line in run.lines(guest_tests.DUMP_SECONDS * scale):
            if line is None:
                break
            yield line
    if sentence := run.result().sentence:
        yield f"vgpu: {sentence}"


class Reader:
    """Parses the output of a program that runs with VGPU_TEST_DELAY_POINT=each."""

    def __init__(self, program: str, words: Sequence[str], results: Results) -> None:
        """`words` are the guest's options, for the ./vgpu run command that repeats a failed case."""
        self.program, self.words, self.results = program, words, results
        self.case = ""
        self.record = Record("passed", 0, [])
        self.notes: list[str] = []
        # Failure outside of a case. At the plan line (1..N), take() sets `error` to "". A line "vgpu: ..." (no boot, or
        # an error of the kernel) becomes `error`.
        self.error = "the program ended without a plan (1..N)"

    def take(self, line: str) -> None:
        """Parse one line."""
        if line.startswith("vgpu: "):
            self.error = line
        if found := CASE.fullmatch(line):
            self.end()
            self.case, self.record, self.notes = found[1], Record("passed", 0, []), []
        elif found := RESULT.fullmatch(line):
            self._result(found)
            self.notes = []
        elif found := COUNT.fullmatch(line):
            if found[2] == "alone" and self.record.outcome == "passed":
                self.record.outcome = "alone"
        elif line.startswith("1.."):
            self.error = ""
            self.end()
        elif found := POINT.fullmatch(line):
            number, of, what, times, path = found.groups()
            where = _where(self.program, path.split())
            self.notes.append(f"# {times} times 0.3 s before {what} (point {number} of {of}): {where}")
        elif not re.fullmatch(r"# [\d.]+ s", line):
            self.notes.append(line)

    def _result(self, found: re.Match[str]) -> None:
        self.record.runs += 1
        if found[4]:
            self.record.outcome = "skipped"
        elif found[1]:
            self.fail(found[3])

    def fail(self, point: str | None) -> None:
        """Record that the case has failed with a delay at `point`. If `point` is None, there was no
        delay."""
        environment = f"env VGPU_TEST_DELAY_POINT={point} " if point else ""
        repeat = f"./vgpu run {shlex.join(self.words)} -- {environment}{self.program} {shlex.quote('=' + self.case)}"
        name = f"{self.program}: {self.case}, delay {point}" if point else f"{self.program}: {self.case}, no delay"
        self.record.outcome = "failed"
        self.record.failures.append([name, *self.notes[-20:], f"repeat: {repeat}"])

    def end(self) -> None:
        """End the current case. Called when the next case begins, when the plan ("1..N") comes, and when the guest
        ends within a case."""
        if self.case:
            self.results.add(f"{self.program}: {self.case}", self.record)
        self.case = ""


def _one_program(
    program: str, words: Sequence[str], only: str, excluded: Sequence[str], results: Results, context: Context
) -> bool:
    """Run the program's cases that have no result yet or were only skipped. Return False if guest or program failed
    outside of a case."""
    guest = options.parse(words, context.environment).guest
    guest.prepare()
    scale = context.speed.scale()
    prefix = f"{program}: "
    guest_name = f"guest of {shlex.join([program, *words])}"
    while True:
        done = [
            name.removeprefix(prefix)
            for name, record in results.cases.items()
            if name.startswith(prefix) and record.outcome != "skipped"
        ]
        variables = ["VGPU_TEST_DELAY_POINT=each", f"VGPU_TEST_SCALE={scale:.2f}"]
        # The cases of vgpu-test-svm-matrix depend on the guest, so the names in `done` may be unknown in this guest.
        for variable, names in ("VGPU_TEST_DONE", done), ("VGPU_TEST_LEAVE_OUT", excluded):
            if names:
                variables.append(f"{variable}=" + "\n".join(sorted(names)))
        command = ["env", *variables, program, *([only] if only else [])]
        reader = Reader(program, words, results)
        for line in _lines(guest, command, scale):
            reader.take(line)
        # If the guest has ended within a case, this case has failed, and the remaining cases run in a new guest.
        if reader.case:
            reader.record.runs += 1
            reader.fail(None)
            reader.end()
            continue
        # Remove the guest's failure of an earlier run. A failure outside of a case is recorded under the guest's name.
        results.cases.pop(guest_name, None)
        if reader.error:
            notes = [note for note in reader.notes[-20:] if note != reader.error]
            results.add(guest_name, Record("failed", 1, [[guest_name, *notes, reader.error]]))
        return not reader.error


def _guests(kernel: str) -> list[guest_tests.Listed]:
    """Return the guests of tests.list that have cases on `kernel`, with the option for `kernel`."""
    guests = guest_tests.with_cases(guest_tests.full_list(), kernel)
    return [replace(guest, options=["--kernel", kernel, *guest.options]) for guest in guests]


def _of_programs(wanted: str, only: str, kernel: str, results: Results, context: Context) -> None:
    """Run the programs of tests.list, each case once for each of the case's delay points
    (guest-rootfs/programs/lib/delay.h)."""
    excluded = _excluded()
    for entry in excluded:
        if wanted in ("", entry["program"]):
            name = f"{entry['program']}: {entry.get('case', 'all')}"
            results.cases.setdefault(name, Record("skipped", 1, [[name, entry["reason"]]]))
    # tests.list may have several guests for a program. A case runs in the first guest that does not skip the case.
    for guest in _guests(kernel):
        for program in guest.programs:
            name = f"{program} {shlex.join(guest.options)} {only}"
            mine = [entry for entry in excluded if entry["program"] == program]
            if (wanted and program != wanted) or name in results.guests or any("case" not in one for one in mine):
                continue
            start = time.monotonic()
            progress.say(f"==> {name}")
            if _one_program(program, guest.options, only, [one["case"] for one in mine], results, context):
                results.guests.append(name)
                results.keep()
            progress.say(f"    {progress.clock(time.monotonic() - start)}")


def _of_device(points: Sequence[str], wanted: str, kernel: str, results: Results, context: Context) -> None:
    """Run all guests of tests.list once for each of `points` (qemu-device/core/delay.h). In each run, the device's
    threads are delayed at one point. If `wanted` is not empty, the guests run only the program `wanted`."""
    for point in points:
        for guest in _guests(kernel):
            guest.programs = [name for name in guest.programs if wanted in ("", name)]
            name = f"{point}: {' '.join(guest.programs)} {shlex.join(guest.options)}"
            if not guest.programs or name in results.guests:
                continue
            more = ["--device-delays", point, *guest.options]
            progress.say(f"==> {name}")
            watch = guest_tests.Watch(context.speed, SILENCE_SECONDS, SILENCE_SECONDS)
            cases, said = guest_tests.in_guest(guest.programs, more, guest.command({}), watch, context)
            with (FOLDER / f"device-{point}.log").open("a") as log:
                log.write(said)
            for case in cases:
                case_name = f"device {point}: {shlex.join(guest.options)} {case.name}"
                its_program, _, its_name = case.name.partition(": ")
                repeat = f"./vgpu run {shlex.join(more)} -- {its_program} {shlex.quote('=' + its_name)}"
                why = (
                    [[case_name, *case.why.splitlines()[:20], f"repeat: {repeat}"]] if case.outcome == "failed" else []
                )
                results.add(case_name, Record(case.outcome, 1, why))
            results.guests.append(name)
            results.keep()


def _of_frames(results: Results, context: Context) -> None:
    """Run the launcher's tests once for each kind of frame. In each run, launcher and agent delay the first frames of
    that kind on each connection (agent.LATE_FRAMES)."""
    for kind in FRAMES:
        name = f"frames {kind}"
        if name in results.guests:
            continue
        progress.say(f"==> {name}")
        parameters = avocado_tests.Parameters(replace(context.environment, late_frames=kind))
        log = FOLDER / f"frames-{kind}.log"
        for case in avocado_tests.run_files(log, FRAME_TESTS, FRAME_SECONDS, parameters, context):
            case_name = f"{name}: {case.name}"
            repeat = f"repeat: {shlex.join(case.again)}"
            why = [[case_name, *case.why.splitlines()[:20], repeat]] if case.outcome == "failed" else []
            results.add(case_name, Record(case.outcome, 1, why))
        results.guests.append(name)
        results.keep()


def run(program: str, case: str, device: str, frames: bool, kernel: str, environment: Environment) -> int:
    """Run the tests that have no result yet, then print the totals. Return 0 if no test has failed, else 1.

    `kernel` is the kernel of the guests, release or debug; with `frames`, only release."""
    listed = {name for guest in guest_tests.full_list() for name in guest.programs}
    if program and program not in listed:
        raise Failure(f"no such program in tests.list: {program}", status=2)
    if device not in ("", "all", *DELAY_POINTS):
        raise Failure(f"--device {device}: want all or {', '.join(DELAY_POINTS)}", status=2)
    if frames and kernel != "release":
        raise Failure("--frames runs on the release kernel only", status=2)
    ensure(sources.firmware()[0], qemu.build("delays" if device else "release"), rootfs.build(kernel))
    results, context = Results(kernel), Context(environment)
    if frames:
        _of_frames(results, context)
    elif device:
        _of_device(DELAY_POINTS if device == "all" else [device], program, kernel, results, context)
    else:
        _of_programs(program, case, kernel, results, context)
    return _sum_up(results, program, "frames " if frames else "device " if device else "")


def _sum_up(results: Results, program: str, kind: str) -> int:
    counts = dict.fromkeys(("passed", "failed", "skipped", "alone"), 0)
    for name, record in sorted(results.cases.items()):
        its_kind = next((start for start in ("device ", "frames ") if name.startswith(start)), "")
        if its_kind != kind or program not in name:
            continue
        if record.outcome == "alone":
            counts["alone"] += 1
            if program:
                print(f"{NO_POINTS}: {name}")
            continue
        failed = len(record.failures) if record.outcome == "failed" else 0
        counts["skipped"] += record.outcome == "skipped"
        counts["failed"] += failed
        counts["passed"] += record.runs - failed if record.outcome != "skipped" else 0
        for lines in record.failures:
            print(f"{record.outcome}: " + "\n    ".join(lines))
    print(f"results: {results.file}")
    alone = f", {counts['alone']} with {NO_POINTS}" if counts["alone"] else ""
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped{alone}", flush=True)
    return 1 if counts["failed"] else 0
