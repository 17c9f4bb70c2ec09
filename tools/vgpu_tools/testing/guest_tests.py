# SPDX-License-Identifier: GPL-2.0-or-later
"""The suites that run in a guest: KUnit, and the programs of tests.list (full) and tests/basic.toml (basic pass)."""

import contextlib
import itertools
import os
import re
import shlex
import signal
import subprocess
import threading
import time
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from vgpu_tools.base import progress
from vgpu_tools.base.errors import Failure
from vgpu_tools.base.paths import PROGRAMS, ROOT
from vgpu_tools.base.process import how_it_ended
from vgpu_tools.build import qemu, rootfs, sources
from vgpu_tools.build.steps import Step
from vgpu_tools.guest.console import excerpt
from vgpu_tools.guest.run_folder import MACHINE
from vgpu_tools.testing import children, limits
from vgpu_tools.testing.report import summary
from vgpu_tools.testing.suite import Plan, in_order
from vgpu_tools.testing.tap import Case, parse

FULL_LIST = PROGRAMS / "tests.list"
BASIC_LIST = ROOT / "tests/basic.toml"
BOOT_SECONDS = {"release": 30, "debug": 60}  # until the first line of output; kmemleak's search at the end is as long
KUNIT_SECONDS = 55  # until the results, which come all at once
# Between two results of the programs: longer than a case may take there (tap.c), so that the program itself reports
# a hang. On the slowest host (limits.MOST) that is within 4 minutes in the basic pass.
BASIC_SILENT_SECONDS, SILENT_SECONDS = 55, 110
DUMP_SECONDS = 30  # for a guest whose time is up to say where it stands
KUNIT_MODULE = "vgpu_kfd_kunit"
CONSOLE = re.compile(r"console log: (.+)$", re.MULTILINE)  # in what the launcher says of a guest at fault
PROCESSOR = re.compile(r"CPU#|RIP=|ISR|IRR")  # in what QEMU says of processors and their interrupt controllers
PROGRAM = re.compile(r"^# program (\S+)$", re.MULTILINE)
FAILED = re.compile(rb"^not ok\b.*\n", re.MULTILINE)


def steps(flavour: str) -> list[Step]:
    """What a guest of one kernel needs."""
    return [sources.firmware()[0], qemu.build(), rootfs.build(flavour)]


@dataclass
class Guest:
    """A guest of a suite: programs that run in it one after the other, the launcher's options, and the names of cases
    that each program leaves out."""

    programs: list[str]
    options: list[str]
    left_out: dict[str, list[str]] = field(default_factory=dict)

    def command(self, environment: dict[str, str]) -> list[str]:
        """The shell command that runs the programs, each behind a line with its name."""
        lines = [f"export {name}={shlex.quote(value)}" for name, value in environment.items()]
        for program in self.programs:
            names = self.left_out.get(program)
            prefix = f"VGPU_TEST_LEAVE_OUT={shlex.quote(chr(10).join(names))} " if names else ""
            lines += [f"printf '\\n# program %s\\n' {program}", f"{prefix}{program} || bad=1"]
        return ["sh", "-c", "\n".join([*lines, "exit ${bad:-0}"])]


def full_list() -> list[Guest]:
    """The guests of tests.list."""
    guests = []
    for line in FULL_LIST.read_text().splitlines():
        if words := shlex.split(line, comments=True):
            programs = list(itertools.takewhile(lambda word: not word.startswith("-"), words))
            guests.append(Guest(programs, words[len(programs) :]))
    return guests


def basic_list(flavour: str) -> list[Guest]:
    """The guests of tests/basic.toml for one kernel. Every program there is one of tests.list."""
    try:
        content = tomllib.loads(BASIC_LIST.read_text())[flavour]
        left_out = content.get("leave-out", {})
        guests = [Guest(list(one["programs"]), shlex.split(one.get("options", ""))) for one in content["guest"]]
    except (OSError, tomllib.TOMLDecodeError, KeyError, TypeError, ValueError) as error:
        raise Failure(f"{BASIC_LIST}: {error!r}", status=2) from None
    known = {program for guest in full_list() for program in guest.programs}
    used = {program for guest in guests for program in guest.programs}
    if wrong := sorted((used - known) | (left_out.keys() - used)):
        raise Failure(f"{BASIC_LIST}: {wrong[0]} is not in {FULL_LIST.name}, or in no guest of '{flavour}'", status=2)
    for guest in guests:
        guest.left_out = {program: left_out[program] for program in guest.programs if program in left_out}
    return guests


def listed(flavour: str, plan: Plan) -> list[Guest]:
    """The guests that a plan runs on one kernel."""
    guests = basic_list(flavour) if plan.basic and plan.programs is None else full_list()
    if plan.programs is None:
        return guests
    for guest in guests:
        guest.programs = [program for program in guest.programs if program in plan.programs]
    chosen = [guest for guest in guests if guest.programs]
    if missing := sorted(plan.programs - {program for guest in chosen for program in guest.programs}):
        raise Failure(f"{missing[0]} is in no guest of {FULL_LIST}", status=2)
    return chosen


@dataclass
class _Ran:
    """What a launcher printed and how it ended."""

    status: int
    output: str
    errors: str
    seconds: float
    stopped: bool  # at the first failed case


class _Launcher:
    """A ./vgpu run whose guest may be silent for a limited time."""

    def __init__(self, first: float, silent: float, fail_fast: bool = False) -> None:
        """`first` and `silent` are in seconds on the reference machine: until the first output, between two pieces.
        With `fail_fast` the guest is ended when it has printed the first failed case."""
        self.fail_fast = fail_fast
        self.output = bytearray()
        self.errors = bytearray()
        self.limit = limits.Limit(first)
        self.silent = silent

    def run(self, words: Sequence[str]) -> _Ran:
        """See it through; a launcher whose guest is silent for too long gets SIGUSR1 and gives up."""
        start = time.monotonic()
        with children.start(words, subprocess.PIPE, subprocess.PIPE) as process:
            threads = [
                threading.Thread(target=self._read, args=(process.stdout, self.output), daemon=True),
                threading.Thread(target=self._read, args=(process.stderr, self.errors), daemon=True),
            ]
            for thread in threads:
                thread.start()
            self._wait(process)
        for thread in threads:
            thread.join()
        output, errors = (data.decode(errors="replace") for data in (self.output, self.errors))
        return _Ran(process.returncode, output, errors, time.monotonic() - start, self._failed())

    def _read(self, stream: IO[bytes], data: bytearray) -> None:
        while more := os.read(stream.fileno(), 65536):
            data += more
            if data is self.output:
                self.limit.seconds = self.silent
                self.limit.renew()

    def _failed(self) -> bool:
        return self.fail_fast and bool(FAILED.search(self.output))

    def _wait(self, process: "subprocess.Popen[bytes]") -> None:
        while not self.limit.reached():
            if self._failed():
                return
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(1.0)
                return
        process.send_signal(signal.SIGUSR1)  # the launcher's time is up
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(DUMP_SECONDS * limits.scale())


def _what_was_left(errors: str) -> str:
    """What a guest at fault said last and, if its time ran out, where its processors were, in a few lines."""
    if not (found := CONSOLE.search(errors)):
        return ""
    console, lines = Path(found[1]), []
    with contextlib.suppress(FileNotFoundError):  # no processors were noted, or later runs took the folder's place
        lines += excerpt(console.read_bytes())
        machine = console.with_name(MACHINE).read_text()
        lines += [line for line in machine.splitlines() if PROCESSOR.match(line)]
    return "".join(f"  | {line}\n" for line in lines)


def _cases(programs: Sequence[str], ran: _Ran) -> list[Case]:
    """The cases of a guest's programs, with one more if the exit status does not fit them."""
    _, *sections = PROGRAM.split(ran.output)
    printed = dict(zip(sections[::2], sections[1::2], strict=True)) or {programs[0]: ran.output}
    cases = []
    if ran.stopped:
        return [case for program, said in printed.items() for case in parse(said, f"{program}: ")]
    for program in programs:
        cases += parse(printed.get(program, ""), f"{program}: ") or [
            Case(program, "failed", f"no results, exit status {ran.status}\n{ran.errors}")
        ]
    name = " ".join(programs)
    failed = any(case.outcome == "failed" for case in cases)
    if ran.status not in (0, 1) or (ran.status and not failed):  # 1 says no more than that a case failed
        cases.append(Case(f"{name}: exit", "failed", f"{how_it_ended(ran.status)}\n{ran.errors}"))
    elif not ran.status and failed:
        cases.append(Case(f"{name}: exit", "failed", "a test failed, but the exit status is 0"))
    return cases


def in_guest(
    programs: Sequence[str],
    options: Sequence[str],
    command: Sequence[str],
    first: float,
    silent: float,
    fail_fast: bool = False,
) -> tuple[list[Case], str]:
    """Run a command that prints TAP, of one program or as Guest.command(), in a guest of its own.

    `first` and `silent` are the seconds, on the reference machine, until its first output and between two pieces of it;
    with `fail_fast` the guest ends at the first failed case. Returns the cases, and what it printed, for the log.
    """
    launcher = [str(ROOT / "vgpu"), "run", "--timeout", "0", *options, "--", *command]
    ran = _Launcher(first, silent, fail_fast).run(launcher)
    ran.errors += _what_was_left(ran.errors)
    said = f"# {' '.join(programs)}: {shlex.join(launcher)}\n{ran.output}{ran.errors}"
    said += f"# exit status {ran.status}, {ran.seconds:.1f} s\n"
    return _cases(programs, ran), said


def kunit(flavour: str) -> Callable[[Path, Plan], list[Case]]:
    """Load the unit tests; the kernel picks a seed and prints it, VGPU_KUNIT_SEED gives one."""

    def run(log: Path, plan: Plan) -> list[Case]:
        seed = plan.environment.kunit_seed
        parameters = f"seed={int(seed, 0)}" if seed else ""
        script = (
            f"modprobe {KUNIT_MODULE} {parameters} || exit 1; cd /sys/kernel/debug/kunit || exit 1;"
            f'for suite in *; do case " $(cat $suite/results)" in *"not ok"*) bad=1;; esac; cat $suite/results; done;'
            f"rmmod {KUNIT_MODULE} || exit 1; exit ${{bad:-0}}"
        )
        options, command = ["--kernel", flavour], ["sh", "-c", script]
        cases, said = in_guest([f"kunit-{flavour}"], options, command, KUNIT_SECONDS, KUNIT_SECONDS)
        log.write_text(said)
        return cases

    return run


def _alone(guest: Guest, flavour: str, cases: Sequence[Case]) -> None:
    """Note for each failed case the command that runs it alone."""
    for case in cases:
        program, colon, name = case.name.partition(": ")
        if case.outcome == "failed" and colon and program in guest.programs and name not in ("plan", "exit"):
            options = ["--kernel", flavour, *guest.options]
            case.again = [str(ROOT / "vgpu"), "run", "--timeout", "180", *options, "--", program, f"={name}"]


def programs(flavour: str) -> Callable[[Path, Plan], list[Case]]:
    """Every listed guest, some at a time; what is said and logged is in the list's order."""

    def one(guest: Guest, plan: Plan) -> tuple[list[Case], str]:
        variables = plan.variables(limits.scale())
        options = ["--kernel", flavour, *guest.options]
        if seed := plan.environment.delays:  # the device's threads, too
            options += ["--device-delays", seed]
        silent = (BASIC_SILENT_SECONDS if plan.basic else SILENT_SECONDS) + 20 * plan.seconds
        command = guest.command(variables)
        cases, said = in_guest(guest.programs, options, command, BOOT_SECONDS[flavour], silent, plan.fail_fast)
        _alone(guest, flavour, cases)
        return cases, said

    def run(log: Path, plan: Plan) -> list[Case]:
        cases: list[Case] = []
        for guest, its_cases, said in in_order(lambda guest: one(guest, plan), listed(flavour, plan), log, plan):
            took = said.rstrip().rpartition(", ")[2]
            progress.say(f"    {' '.join(guest.programs)} ({flavour}, {took}): {summary(its_cases)}")
            cases += its_cases
        return cases

    return run
