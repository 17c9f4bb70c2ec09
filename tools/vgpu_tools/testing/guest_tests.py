# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the suites in guests: KUnit, and the programs of tests.list (full pass) and tests/basic.toml
(basic pass)."""

import contextlib
import itertools
import re
import shlex
import time
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Protocol

from vgpu_tools.base import progress
from vgpu_tools.base.errors import Failure, refused_by_machine
from vgpu_tools.base.paths import BUILD, CACHE, PROGRAMS, ROOT
from vgpu_tools.base.process import how_it_ended
from vgpu_tools.build import qemu, rootfs, sources
from vgpu_tools.build.steps import Step
from vgpu_tools.guest import options, snapshot
from vgpu_tools.guest.background import Background
from vgpu_tools.guest.config import Guest
from vgpu_tools.guest.console import excerpt
from vgpu_tools.guest.result import Result, Verdict
from vgpu_tools.testing.children import Children
from vgpu_tools.testing.limits import Limit, Speed
from vgpu_tools.testing.report import summary
from vgpu_tools.testing.suite import Context, Plan, in_order
from vgpu_tools.testing.tap import Case, parse

FULL_LIST = PROGRAMS / "tests.list"
BASIC_LIST = ROOT / "tests/basic.toml"
# Limits until the guest's first output, by kernel. After the first output, SILENT_SECONDS or
# BASIC_SILENT_SECONDS applies.
BOOT_SECONDS = {"release": 30, "debug": 60}
# Limits between two outputs. They are longer than the search for leaks (kmemleak), which prints nothing. They are also
# longer than the limit of a case (tap.c), so that the test program can report a case that hangs.
BASIC_SILENT_SECONDS, SILENT_SECONDS = 55, 110
DUMP_SECONDS = 30  # time for a guest to dump its tasks after its limit
# First word of a line of tests.list: on the debug kernel the programs skip all their cases (tap_long_on_debug() in
# tap.h), unless the pass sets VGPU_TEST_SECONDS.
LONG_ON_DEBUG = "long-on-debug:"
KUNIT_MODULE = "vgpu_kfd_kunit"
PROCESSOR = re.compile(r"CPU#|RIP=|ISR|IRR")  # lines of `info registers` and `info lapic` to report
PROGRAM = re.compile(r"^# program (\S+)$", re.MULTILINE)
FAILED = re.compile(rb"^not ok\b.*\n", re.MULTILINE)


def steps(flavour: str) -> list[Step]:
    """Return the steps that build a guest of one kernel flavour."""
    return [sources.firmware()[0], qemu.build(), rootfs.build(flavour)]


@dataclass
class Listed:
    """A guest of a suite. `programs` run one after the other, `options` are options of ./vgpu
    run, and `left_out` has, by program, the names of cases that do not run. `long_on_debug`: see LONG_ON_DEBUG."""

    programs: list[str]
    options: list[str]
    left_out: dict[str, list[str]] = field(default_factory=dict)
    long_on_debug: bool = False

    def command(self, variables: dict[str, str]) -> list[str]:
        """Return the shell command that runs the programs and prints the name of each program
        before the program starts. `variables` are added to the programs' environment."""
        lines = [f"export {name}={shlex.quote(value)}" for name, value in variables.items()]
        for program in self.programs:
            names = self.left_out.get(program)
            prefix = f"VGPU_TEST_LEAVE_OUT={shlex.quote(chr(10).join(names))} " if names else ""
            lines += [f"printf '\\n# program %s\\n' {program}", f"{prefix}{program} || bad=1"]
        return ["sh", "-c", "\n".join([*lines, "exit ${bad:-0}"])]


def full_list() -> list[Listed]:
    """Return the guests of tests.list. Each line defines one guest: its programs and its options."""
    guests = []
    for line in FULL_LIST.read_text().splitlines():
        if words := shlex.split(line, comments=True):
            if long := words[0] == LONG_ON_DEBUG:
                del words[0]
            programs = list(itertools.takewhile(lambda word: not word.startswith("-"), words))
            guests.append(Listed(programs, words[len(programs) :], long_on_debug=long))
    return guests


def with_cases(guests: Sequence[Listed], flavour: str, seconds: int = 0) -> list[Listed]:
    """Return the guests in which not all cases are skipped. Print a line for each other guest. `flavour` is the kernel
    of the guests, `seconds` as in Plan."""
    chosen = []
    for guest in guests:
        if guest.long_on_debug and flavour == "debug" and not seconds:
            name = shlex.join([*guest.programs, *guest.options])
            progress.say(f"    {name}: not started, since each case takes minutes on the debug kernel")
        else:
            chosen.append(guest)
    return chosen


def basic_list(flavour: str) -> list[Listed]:
    """Return the guests of tests/basic.toml for one kernel. Raises Failure if a program is not in tests.list."""
    try:
        content = tomllib.loads(BASIC_LIST.read_text())[flavour]
        left_out = content.get("leave-out", {})
        guests = [Listed(list(one["programs"]), shlex.split(one.get("options", ""))) for one in content["guest"]]
    except (OSError, tomllib.TOMLDecodeError, KeyError, TypeError, ValueError) as error:
        raise Failure(f"{BASIC_LIST}: {error!r}", status=2) from None
    known = {program for guest in full_list() for program in guest.programs}
    used = {program for guest in guests for program in guest.programs}
    if wrong := sorted((used - known) | (left_out.keys() - used)):
        raise Failure(f"{BASIC_LIST}: {wrong[0]} is not in {FULL_LIST.name}, or in no guest of '{flavour}'", status=2)
    for guest in guests:
        guest.left_out = {program: left_out[program] for program in guest.programs if program in left_out}
    return guests


def listed(flavour: str, plan: Plan) -> list[Listed]:
    """Return the guests that a plan runs on one kernel, without those whose cases would all be skipped. Raises Failure
    if the plan names a program that no guest has."""
    guests = basic_list(flavour) if plan.basic and plan.programs is None else full_list()
    if plan.programs is not None:
        for guest in guests:
            guest.programs = [program for program in guest.programs if program in plan.programs]
        guests = [guest for guest in guests if guest.programs]
        if missing := sorted(plan.programs - {program for guest in guests for program in guest.programs}):
            raise Failure(f"{missing[0]} is in no guest of {FULL_LIST}", status=2)
    return with_cases(guests, flavour, plan.seconds)


class Watched(Protocol):
    """The part of Background that Watch needs. A test implements this part without a guest."""

    output: bytearray

    def give_up(self) -> None: ...
    def wait(self, seconds: float | None = None) -> bool: ...


class Watch:
    """Bounds the time that a guest may be silent."""

    def __init__(self, speed: Speed, first: float, silent: float, fail_fast: bool = False) -> None:
        """`first` is the limit until the first output, `silent` the limit between two outputs, both in seconds on the
        reference machine. If `fail_fast` is True, wait() also returns when the guest has printed a failed case."""
        self.fail_fast = fail_fast
        self.limit = Limit(first, speed)
        self.silent = silent

    def renew(self, _: bytes) -> None:
        """Set the length of the time limit to `silent`, and restart the limit. Called when the guest has printed
        something."""
        self.limit.seconds = self.silent
        self.limit.renew()

    def wait(self, guest: Watched) -> None:
        """Wait until the guest ends or, with `fail_fast`, prints a failed case. If the guest is silent for longer than
        the limit, end it; give_up() lets the guest dump its tasks first."""
        while not self.limit.reached():
            if self.failed(guest) or guest.wait(1.0):
                return
        guest.give_up()
        guest.wait(DUMP_SECONDS * self.limit.speed.scale())

    def failed(self, guest: Watched) -> bool:
        """Return whether the guest is to be stopped because a case has failed."""
        return self.fail_fast and bool(FAILED.search(guest.output))


@dataclass
class Ran:
    """The output of a guest's programs, and how the guest ended.

    `status` is the exit status of ./vgpu run. `sentence` describes an error of the guest itself, as
    opposed to a failed program; empty if the guest had no error.
    """

    status: int
    output: str = ""
    errors: str = ""
    sentence: str = ""
    left: str = ""  # excerpt of the logs, if the guest had an error
    seconds: float = 0.0
    stopped: bool = False  # the run was ended at the first failed case

    @property
    def diagnostics(self) -> str:
        """The text that explains a failed case: standard error of the programs, the sentence about
        the guest's error, and the excerpt of the logs."""
        return self.errors + (f"vgpu: {self.sentence}\n" if self.sentence else "") + self.left


def _run(guest: Guest, command: Sequence[str], watch: Watch, saved: BinaryIO | None, children: Children) -> Ran:
    start = time.monotonic()
    run = Background(guest, command, watch.renew, snapshot=saved)
    watch.limit.renew()  # builds or taking a snapshot may have used up the limit
    with children.adopt(run.stop), run:
        watch.wait(run)
    result = run.result()
    output, errors = (data.decode(errors="replace") for data in (run.output, run.errors))
    sentence = "" if result.verdict is Verdict.STOPPED else result.sentence
    left = _what_was_left(result) if sentence else ""
    seconds = time.monotonic() - start
    return Ran(result.exit_status, output, errors, sentence, left, seconds, watch.failed(run))


def _what_was_left(result: Result) -> str:
    """Return an excerpt of the guest's console and, after a timeout, of the state of its virtual CPUs."""
    lines: list[str] = []
    with contextlib.suppress(FileNotFoundError):  # there was no timeout, or later runs have removed the folder
        lines += excerpt(result.console.read_bytes())
        lines += [line for line in result.machine.read_text().splitlines() if PROCESSOR.match(line)]
    return "".join(f"  | {line}\n" for line in lines)


def cases_of(programs: Sequence[str], ran: Ran) -> list[Case]:
    """Return the cases of a guest's programs. If `ran.stopped` is True, return only the cases in the output.
    Otherwise, add a failed case for each program without results, and a failed case for a wrong exit status.
    The exit status must be 1 if a case has failed, else 0."""
    _, *sections = PROGRAM.split(ran.output)
    printed = dict(zip(sections[::2], sections[1::2], strict=True)) or {programs[0]: ran.output}
    cases = []
    if ran.stopped:
        return [case for program, said in printed.items() for case in parse(said, f"{program}: ")]
    gist = f"vgpu: {ran.sentence}" if ran.sentence else ""
    for program in programs:
        why = f"no results, exit status {ran.status}\n{ran.diagnostics}"
        cases += parse(printed.get(program, ""), f"{program}: ") or [Case(program, "failed", why, gist=gist)]
    name = " ".join(programs)
    failed = any(case.outcome == "failed" for case in cases)
    if ran.status not in (0, 1) or (ran.status and not failed):  # exit status 1: a case failed
        cases.append(Case(f"{name}: exit", "failed", f"{how_it_ended(ran.status)}\n{ran.diagnostics}", gist=gist))
    elif not ran.status and failed:
        cases.append(Case(f"{name}: exit", "failed", "a test failed, but the exit status is 0"))
    return cases


def in_guest(
    programs: Sequence[str],
    words: Sequence[str],
    command: Sequence[str],
    watch: Watch,
    context: Context,
) -> tuple[list[Case], str]:
    """Run a command that prints TAP (one program, or the result of Listed.command()) in a new guest.

    `words` are options of ./vgpu run. Returns the cases, and the output for the log.
    """
    try:
        guest = options.parse(words, context.environment).guest
        with snapshot.prepared(guest, context.environment.snapshots) as saved:
            ran = _run(guest, command, watch, saved, context.children)
    except Failure as failure:
        ran = Ran(failure.status, sentence=str(failure))
    except OSError as error:
        if not (sentence := refused_by_machine(error, (BUILD, CACHE))):
            raise
        ran = Ran(1, sentence=sentence)
    launcher = [str(ROOT / "vgpu"), "run", "--timeout", "0", *words, "--", *command]
    said = f"# {' '.join(programs)}: {shlex.join(launcher)}\n{ran.output}{ran.diagnostics}"
    said += f"# exit status {ran.status}, {ran.seconds:.1f} s\n"
    return cases_of(programs, ran), said


def kunit(flavour: str) -> Callable[[Path, Plan, Context], list[Case]]:
    """Return the function that runs the suite of the driver's unit tests, by loading the module
    of these tests. VGPU_KUNIT_SEED sets the seed of the random numbers; without this variable
    the module chooses a seed."""

    def run(log: Path, _: Plan, context: Context) -> list[Case]:
        seed = context.environment.kunit_seed
        parameters = f"seed={int(seed, 0)}" if seed else ""
        # The kernel logs each result at once. Print these lines, so that `watch` sees the progress. Print "kernel:" in
        # front of each line: otherwise parse() would count each result twice, here and in the file `results`.
        progress = 'while read -r line; do case "$line" in *" ok "*) echo "kernel: ${line#*;}";; esac; done'
        script = (
            f"cat /dev/kmsg 2>/dev/null | {progress} &"
            f"modprobe {KUNIT_MODULE} {parameters} || exit 1; kill $!; cd /sys/kernel/debug/kunit || exit 1;"
            f'for suite in *; do case " $(cat $suite/results)" in *"not ok"*) bad=1;; esac; cat $suite/results; done;'
            f"rmmod {KUNIT_MODULE} || exit 1; exit ${{bad:-0}}"
        )
        # BASIC_SILENT_SECONDS is enough for every run, basic or full, because the guest prints each result as soon as
        # the case ends.
        watch = Watch(context.speed, BOOT_SECONDS[flavour], BASIC_SILENT_SECONDS)
        name, words = f"kunit-{flavour}", ["--kernel", flavour]
        cases, said = in_guest([name], words, ["sh", "-c", script], watch, context)
        log.write_text(said)
        return cases

    return run


def _alone(guest: Listed, flavour: str, cases: Sequence[Case]) -> None:
    """Set `again` in each failed case: the command that runs this case alone."""
    for case in cases:
        program, colon, name = case.name.partition(": ")
        if case.outcome == "failed" and colon and program in guest.programs and name not in ("plan", "exit"):
            words = ["--kernel", flavour, *guest.options]
            case.again = [str(ROOT / "vgpu"), "run", "--timeout", "180", *words, "--", program, f"={name}"]


def programs(flavour: str) -> Callable[[Path, Plan, Context], list[Case]]:
    """Return the function that runs the suite of guest programs, AT_ONCE guests at a time. Messages
    and log are in the order of the list of guests."""

    def one(guest: Listed, plan: Plan, context: Context) -> tuple[list[Case], str]:
        words = ["--kernel", flavour, *guest.options]
        if seed := context.environment.delays:  # delay the device's threads, too
            words += ["--device-delays", seed]
        silent = (BASIC_SILENT_SECONDS if plan.basic else SILENT_SECONDS) + 20 * plan.seconds
        watch = Watch(context.speed, BOOT_SECONDS[flavour], silent, plan.fail_fast)
        command = guest.command(plan.variables(context))
        cases, said = in_guest(guest.programs, words, command, watch, context)
        _alone(guest, flavour, cases)
        return cases, said

    def run(log: Path, plan: Plan, context: Context) -> list[Case]:
        cases: list[Case] = []
        parts = in_order(lambda guest: one(guest, plan, context), listed(flavour, plan), log, plan, context.children)
        for guest, its_cases, said in parts:
            took = said.rstrip().rpartition(", ")[2]
            progress.say(f"    {' '.join(guest.programs)} ({flavour}, {took}): {summary(its_cases)}")
            cases += its_cases
        return cases

    return run
