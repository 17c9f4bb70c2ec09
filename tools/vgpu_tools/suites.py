# SPDX-License-Identifier: GPL-2.0-or-later
"""make test: every suite, what it needs, and the sum of it all.

A suite returns cases; what it printed lies in build/results/NAME.log, its cases in build/results/NAME.xml.
"""

import contextlib
import itertools
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from vgpu_tools import checks, fuzz_seeds, qemu, registers, rootfs, sources, ui
from vgpu_tools.console import excerpt
from vgpu_tools.errors import Failure, how_it_ended
from vgpu_tools.launch import MACHINE
from vgpu_tools.paths import BUILD, CONFIGS, PROGRAMS, RESULTS, ROOT
from vgpu_tools.steps import Step, clean_environment, ensure
from vgpu_tools.tap import Case, parse, write_junit

QTEST_CASE_SECONDS = 180  # for one case: the longest takes 25 s with the sanitizers, and a wait in it 60 s at most
AVOCADO_SECONDS = 1200
FUZZ_SECONDS = 60
FUZZ_MORE_SECONDS = 600  # to look for a smaller case that fails, too
LOOK_SECONDS = 1.0  # between two looks at a log for new results
TEST_SECONDS = {"release": 240, "debug": 600}  # for one guest program; the debug kernel is many times slower
GUESTS = 2  # that run at a time, where there are as many CPUs
SANITIZER_OPTIONS = {
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",  # ASan stops by itself
    "ASAN_OPTIONS": "fast_unwind_on_malloc=0",  # so that a leak's whole stack is known
    "LSAN_OPTIONS": f"suppressions={CONFIGS / 'lsan.supp'}:print_suppressions=0",
}
FUZZ_HANG_SECONDS = 60  # an input that takes longer is a failure
KUNIT_MODULE = "vgpu_kfd_kunit"
CONSOLE = re.compile(r"console log: (.+)$", re.MULTILINE)  # in what the launcher says of a guest at fault
NAME, GIST = 120, 160  # characters of a failed case at the very end, where each is a line
PROCESSOR = re.compile(r"CPU#|RIP=|ISR|IRR")  # in what QEMU says of processors and their interrupt controllers
PROGRAM = re.compile(r"^# program (\S+)$", re.MULTILINE)


@dataclass
class Suite:
    """A named set of tests; `steps` are built before `run` is called with the suite's log file."""

    name: str
    steps: Callable[[], Sequence[Step]]
    run: Callable[[Path], list[Case]]
    long: bool = False  # only in make test-long


def _guest_steps(flavour: str) -> list[Step]:
    return [sources.firmware()[0], qemu.build(), rootfs.build(flavour)]


def _limit(seconds: int) -> int:
    """A time limit, with what the long form may take on top."""
    return seconds + 20 * int(os.environ.get("VGPU_TEST_SECONDS", "0"))


def _long(command: list[str]) -> list[str]:
    """A guest command that is told how long it may take."""
    seconds = os.environ.get("VGPU_TEST_SECONDS")
    return ["env", f"VGPU_TEST_SECONDS={seconds}", *command] if seconds else command


def _one_by_one(programs: Sequence[str]) -> list[str]:
    """A guest command that runs programs one after the other, each behind a line with its name."""
    script = r'for p; do printf "\n# program %s\n" "$p"; "$p" || bad=1; done; exit ${bad:-0}'
    return ["sh", "-c", script, "sh", *programs]


def _what_was_left(console: Path) -> str:
    """What a guest at fault said last and, if its time ran out, where its processors were, in a few lines."""
    lines = []
    with contextlib.suppress(FileNotFoundError):  # no processors were noted, or later runs took the folder's place
        lines += excerpt(console.read_bytes())
        machine = console.with_name(MACHINE).read_text()
        lines += [line for line in machine.splitlines() if PROCESSOR.match(line)]
    return "".join(f"  | {line}\n" for line in lines)


def in_guest(
    programs: Sequence[str], options: Sequence[str], command: Sequence[str], seconds: int
) -> tuple[list[Case], str]:
    """Run a command that prints TAP, of one program or as _one_by_one(), in a guest of its own.

    Returns what it printed, too, for the log.
    """
    start = time.monotonic()
    launcher = [ROOT / "vgpu", "run", "--timeout", str(seconds), *options, "--", *command]
    result = subprocess.run(
        [str(word) for word in launcher],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    took = time.monotonic() - start
    output, errors = result.stdout.decode(errors="replace"), result.stderr.decode(errors="replace")
    if console := CONSOLE.search(errors):
        errors += _what_was_left(Path(console[1]))
    name = " ".join(programs)
    said = f"# {name}: {shlex.join(map(str, launcher))}\n{output}{errors}"
    said += f"# exit status {result.returncode}, {took:.0f} s\n"
    _, *sections = PROGRAM.split(output)
    printed = dict(zip(sections[::2], sections[1::2], strict=True)) or {programs[0]: output}
    cases = []
    for program in programs:
        cases += parse(printed.get(program, ""), f"{program}: ") or [
            Case(program, "failed", f"no results, exit status {result.returncode}\n{errors}")
        ]
    failed = any(case.outcome == "failed" for case in cases)
    if result.returncode not in (0, 1) or (result.returncode and not failed):  # 1 says no more than that a case failed
        cases.append(Case(f"{name}: exit", "failed", f"{how_it_ended(result.returncode)}\n{errors}"))
    elif not result.returncode and failed:
        cases.append(Case(f"{name}: exit", "failed", "a test failed, but the exit status is 0"))
    for case in cases:
        case.seconds = took / len(cases)
    return cases, said


def _kunit(flavour: str) -> Callable[[Path], list[Case]]:
    """Load the unit tests; the kernel picks a seed and prints it, VGPU_KUNIT_SEED gives one."""

    def run(log: Path) -> list[Case]:
        seed = os.environ.get("VGPU_KUNIT_SEED")
        parameters = f"seed={int(seed, 0)}" if seed else ""
        script = (
            f"modprobe {KUNIT_MODULE} {parameters} || exit 1; cd /sys/kernel/debug/kunit || exit 1;"
            f'for suite in *; do case " $(cat $suite/results)" in *"not ok"*) bad=1;; esac; cat $suite/results; done;'
            f"rmmod {KUNIT_MODULE} || exit 1; exit ${{bad:-0}}"
        )
        command = ["sh", "-c", script]
        cases, said = in_guest([f"kunit-{flavour}"], ["--kernel", flavour], command, TEST_SECONDS[flavour])
        log.write_text(said)
        return cases

    return run


def _qtest(log: Path, variant: str = "release") -> list[Case]:
    return _device_test(log, "qtest", [qemu.qtest(variant), "--tap", "-k"], _limit(QTEST_CASE_SECONDS), variant)


def _model_fuzz(log: Path, variant: str = "release") -> list[Case]:
    seconds = int(os.environ.get("VGPU_TEST_SECONDS", FUZZ_SECONDS))
    command = [qemu.model_fuzzer(variant), "--seconds", seconds]
    return _device_test(log, "fuzz", command, seconds + FUZZ_MORE_SECONDS, variant)


def _generic_fuzz(log: Path) -> list[Case]:
    """QEMU's generic fuzzer: random accesses to registers, doorbells and configuration space, until time is over."""
    seconds = int(os.environ.get("VGPU_TEST_SECONDS", FUZZ_SECONDS))
    corpus = BUILD / "fuzz-corpus"  # what reached something new; each run goes on from there
    corpus.mkdir(parents=True, exist_ok=True)
    seeds = BUILD / "fuzz-seeds"
    fuzz_seeds.write(seeds)
    qemu.firmware_beside("sanitizers")
    command = [
        qemu.generic_fuzzer(),
        "--fuzz-target=generic-fuzz-vgpu-kfd",
        f"-max_total_time={seconds}",
        f"-timeout={FUZZ_HANG_SECONDS}",
        "-rss_limit_mb=4096",
        "-detect_leaks=0",
        "-print_final_stats=1",
        f"-artifact_prefix={RESULTS}/fuzz-generic-",
        corpus,
        seeds,
    ]
    with log.open("wb") as file:
        try:
            status = subprocess.run(
                [str(word) for word in command],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                timeout=seconds + FUZZ_MORE_SECONDS,
                env=clean_environment(SANITIZER_OPTIONS),
                check=False,
            ).returncode
        except subprocess.TimeoutExpired:
            return [Case("fuzz: generic", "failed", f"not done after {seconds + FUZZ_MORE_SECONDS} s")]
    said = log.read_text(errors="replace")
    if status == 0 and "Done " in said:
        return [Case("fuzz: generic", "passed")]
    input_file = re.search(r"Test unit written to (\S+)", said)
    repeat = f"; repeat: {command[0]} {command[1]} {input_file[1]}" if input_file else ""
    return [Case("fuzz: generic", "failed", f"exit status {status}{repeat}")]


def device_environment(variant: str) -> dict[str, str]:
    """What a program that starts QEMU by itself wants to find in its environment."""
    return {"QTEST_QEMU_BINARY": str(qemu.with_firmware(variant)), **SANITIZER_OPTIONS}


def _device_test(log: Path, name: str, command: Sequence[str | Path | int], seconds: int, variant: str) -> list[Case]:
    """Run a program that starts QEMU by itself, without a guest, and prints TAP; `seconds` are for one result."""
    environment = clean_environment(device_environment(variant))
    words = [str(word) for word in command]
    with (
        log.open("wb") as file,
        subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=file, stderr=file, env=environment) as process,
    ):
        try:
            status = _end_or_silence(process, log, seconds)
        finally:
            process.kill()
    cases = parse(log.read_text(errors="replace"), f"{name}: ")
    failed = any(case.outcome == "failed" for case in cases)
    if status is None:
        cases.append(Case(f"{name}: end", "failed", f"stopped: no result for {seconds} s"))
    elif status not in (0, 1) or (status and not failed):  # 1 says no more than that a case failed
        cases.append(Case(f"{name}: end", "failed", how_it_ended(status)))
    return cases or [Case(f"{name}: end", "failed", "no results")]


def _end_or_silence(process: subprocess.Popen[bytes], log: Path, seconds: int) -> int | None:
    """Wait for a process's end; None if its log had no new result for that long."""
    results, since = 0, time.monotonic()
    while time.monotonic() - since <= seconds:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.wait(LOOK_SECONDS)
        now = len(parse(log.read_text(errors="replace")))
        if now != results:
            results, since = now, time.monotonic()
    return None


def listed_tests() -> list[tuple[list[str], list[str]]]:
    """The guests of tests.list: programs that run in one, and the launcher options that they need."""
    tests = []
    for line in (PROGRAMS / "tests.list").read_text().splitlines():
        if words := shlex.split(line, comments=True):
            programs = list(itertools.takewhile(lambda word: not word.startswith("-"), words))
            tests.append((programs, words[len(programs) :]))
    return tests


def _guest(flavour: str) -> Callable[[Path], list[Case]]:
    """Every listed guest, some at a time; what is said and logged is in the list's order."""

    def one(test: tuple[list[str], list[str]]) -> tuple[list[Case], str]:
        programs, options = test
        seconds = len(programs) * _limit(TEST_SECONDS[flavour])
        return in_guest(programs, ["--kernel", flavour, *options], _long(_one_by_one(programs)), seconds)

    def run(log: Path) -> list[Case]:
        cases: list[Case] = []
        tests = listed_tests()
        pool = ThreadPoolExecutor(min(GUESTS, len(os.sched_getaffinity(0))))
        try:
            for (programs, _), (its_cases, said) in zip(tests, pool.map(one, tests), strict=True):
                with log.open("a") as file:
                    file.write(said)
                ui.say(f"    {' '.join(programs)} ({flavour}): {summary(its_cases)}")
                cases += its_cases
        finally:
            pool.shutdown(cancel_futures=True)
        return cases

    return run


def avocado(log: Path, tests: Sequence[Path] = (ROOT / "tests/avocado",), limit: int = AVOCADO_SECONDS) -> list[Case]:
    """Run avocado's tests, all of them or those of some files; their logs lie in build/avocado."""
    results = BUILD / "avocado"
    shutil.rmtree(results, ignore_errors=True)
    results.mkdir(parents=True)
    avocado = [sys.executable, "-m", "avocado", "run", "--max-parallel-tasks=1", "--disable-sysinfo"]
    command = [*avocado, "--job-results-dir", results, "--json", results / "results.json", *tests]
    with log.open("wb") as file:
        try:
            subprocess.run(
                [str(word) for word in command],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                timeout=limit,
                cwd=ROOT,
                env=clean_environment({"PATH": f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"}),
                check=False,
            )
        except subprocess.TimeoutExpired:
            return [Case("avocado", "failed", f"not done after {limit} s")]
    if not (results / "results.json").exists():
        return [Case("avocado", "failed", "no results")]
    outcomes = {"PASS": "passed", "WARN": "passed", "SKIP": "skipped", "CANCEL": "skipped"}
    cases = []
    for test in json.loads((results / "results.json").read_text())["tests"]:
        name = test["id"].rsplit("/", 1)[-1]
        outcome = outcomes.get(test["status"], "failed")
        why = "" if outcome == "passed" else f"{test.get('fail_reason') or test['status']}\nlog: {test['logfile']}"
        cases.append(Case(f"avocado: {name}", outcome, why, float(test.get("time_elapsed") or test.get("time") or 0)))
    return cases or [Case("avocado", "failed", "no tests were found")]


SUITES = (
    Suite("check", checks.steps, checks.run),
    Suite("registers", lambda: [sources.firmware()[0], qemu.build()], registers.run),
    Suite("qtest", lambda: [sources.firmware()[0], qemu.build_qtest()], _qtest),
    Suite("fuzz-model", lambda: [sources.firmware()[0], qemu.build_model_fuzzer()], _model_fuzz),
    Suite("fuzz-generic", lambda: [sources.firmware()[0], qemu.build_generic_fuzzer()], _generic_fuzz),
    Suite(
        "qtest-sanitizers",
        lambda: [sources.firmware()[0], qemu.build_qtest("sanitizers")],
        lambda log: _qtest(log, "sanitizers"),
    ),
    Suite(
        "fuzz-model-sanitizers",
        lambda: [sources.firmware()[0], qemu.build_model_fuzzer("sanitizers")],
        lambda log: _model_fuzz(log, "sanitizers"),
        long=True,
    ),
    Suite("kunit-release", lambda: _guest_steps("release"), _kunit("release")),
    Suite("kunit-debug", lambda: _guest_steps("debug"), _kunit("debug")),
    Suite("guest-release", lambda: _guest_steps("release"), _guest("release")),
    Suite("guest-debug", lambda: _guest_steps("debug"), _guest("debug")),
    Suite("avocado", lambda: _guest_steps("release"), avocado),
)

GROUPS = {"kunit": ("kunit-release", "kunit-debug")}  # names that stand for several suites


def summary(cases: Sequence[Case]) -> str:
    """The line that ends a run of tests."""
    counts = [sum(case.outcome == outcome for case in cases) for outcome in ("passed", "failed", "skipped")]
    return "{} passed, {} failed, {} skipped".format(*counts)


def gist(why: str) -> str:
    """The line of a failure's story that tells most: the launcher's verdict, a TAP test's last note, the first one."""
    lines = why.strip().splitlines() or [""]
    verdict = next((line for line in lines if line.startswith("vgpu: ")), "")
    return verdict or (lines[-1] if lines[-1].startswith("#") else lines[0]).strip("# ")


def run(names: Sequence[str], seconds: int = 0) -> int:
    """Run suites (all, if none is named); prints the sum last, returns 0 if nothing failed.

    `seconds` other than 0 asks for the long forms: suites that only they have, and, in the environment
    (VGPU_TEST_SECONDS) of qtest and of the guest tests, how long a test that can go on may do so.
    """
    known = {suite.name: suite for suite in SUITES}
    names = [one for name in names for one in GROUPS.get(name, (name,))]
    for name in names:
        if name not in known:
            raise Failure(f"no such suite: {name} (there are {', '.join((*known, *GROUPS))})", status=2)
    chosen = [known[name] for name in names] or [suite for suite in SUITES if seconds or not suite.long]
    if seconds:
        os.environ["VGPU_TEST_SECONDS"] = str(seconds)
    for suite in chosen:
        ensure(*suite.steps())
    RESULTS.mkdir(parents=True, exist_ok=True)
    everything: list[Case] = []
    for suite in chosen:
        everything += _run_one(suite)
    if len(chosen) > 1:
        _tell(everything, "failed")  # again: who sees only the end of the output wants to know
        for case in everything:
            if case.outcome == "failed":
                print(f"{case.name[:NAME]}: {gist(case.why)[:GIST]}", flush=True)
    print(summary(everything), flush=True)
    return 1 if any(case.outcome == "failed" for case in everything) else 0


def _tell(cases: Sequence[Case], outcome: str) -> None:
    """Print the cases that ended so, and why."""
    for case in cases:
        if case.outcome == outcome:
            why = case.why.strip().replace("\n", "\n        ")
            print(f"    {outcome}: {case.name}" + (f": {why}" if why else ""), flush=True)


def _run_one(suite: Suite) -> list[Case]:
    log = RESULTS / f"{suite.name}.log"
    log.write_text("")
    start = time.monotonic()
    ui.say(f"==> {suite.name}")
    try:
        cases = suite.run(log)
    except Failure as failure:
        cases = [Case(suite.name, "failed", str(failure))]
    write_junit(RESULTS / f"{suite.name}.xml", suite.name, cases)
    _tell(cases, "skipped")
    _tell(cases, "failed")
    print(f"{suite.name}: {summary(cases)} ({ui.clock(time.monotonic() - start)}; log: {log})", flush=True)
    return cases
