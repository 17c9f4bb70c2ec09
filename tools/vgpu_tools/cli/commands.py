# SPDX-License-Identifier: GPL-2.0-or-later
"""A function for each command of ./vgpu. The function takes the words after the command and returns the exit status.

Each function imports modules when it is called, so that ./vgpu run starts fast.
"""

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from vgpu_tools.base import environment
from vgpu_tools.base.arguments import Parser, join_values
from vgpu_tools.base.errors import Failure
from vgpu_tools.cli.options import operator_parser, refuse_snapshot, repeated

if TYPE_CHECKING:
    from vgpu_tools.guest.launch import Streams
    from vgpu_tools.guest.options import Options

DEMO_MEMORY = "2G"
RUN_SECONDS = 600.0  # timeout of a run without --timeout


def run(words: list[str]) -> int:
    """./vgpu run"""
    from vgpu_tools.guest import options
    from vgpu_tools.guest.launch import Streams

    if "--" not in words:
        raise Failure("run needs '--' and a command (see ./vgpu help)", status=2)
    split = words.index("--")
    command = words[split + 1 :]
    if not command:
        raise Failure("run needs a command after '--'", status=2)
    return _execute(options.parse(words[:split], environment.read(), RUN_SECONDS), command, Streams())


def shell(words: list[str]) -> int:
    """./vgpu shell"""
    from vgpu_tools.guest import options
    from vgpu_tools.guest.launch import Streams

    given = environment.read()
    command = ["env", f"TERM={given.terminal}", "/bin/sh", "-l"]
    return _execute(options.parse(words, given), command, Streams(input=0, terminal=os.isatty(0)))


def _execute(options: "Options", command: list[str], streams: "Streams") -> int:
    """Run a command with the user's options. SIGUSR1 ends the run in the same way as the run's timeout."""
    from vgpu_tools.guest import snapshot
    from vgpu_tools.guest.launch import Run

    with snapshot.prepared(options.guest, environment.read().snapshots) as saved:
        run = Run(options.guest, command, streams, options.timeout, options.verbose, snapshot=saved)
        signal.signal(signal.SIGUSR1, lambda *_: run.give_up())
        return run.execute().check()


def gdb(words: list[str]) -> int:
    """./vgpu gdb"""
    from vgpu_tools.guest import gdb, options

    if not words or words[0] not in ("qemu", "kernel"):
        raise Failure("gdb needs 'qemu' or 'kernel' (see ./vgpu help)", status=2)
    split = words.index("--") if "--" in words else len(words)
    given, command = words[1:split], words[split + 1 :] or ["sleep", "1000000"]
    if words[0] == "kernel" and "--kernel" not in given:
        given = ["--kernel", "debug", *given]
    parsed = options.parse(given, environment.read())
    refuse_snapshot(parsed.guest, "gdb")
    parsed.guest.prepare()
    return gdb.debug(words[0], parsed.guest, command, parsed.verbose)


def build(words: list[str]) -> int:
    """./vgpu build"""
    from vgpu_tools.base.paths import BUILD
    from vgpu_tools.build import kernel, qemu, rootfs, sources
    from vgpu_tools.build.steps import ensure

    targets = {
        "qemu": lambda: [sources.firmware()[0], qemu.build_qtest()],
        "qemu-sanitizers": lambda: [qemu.build_qtest("sanitizers")],
        "kernel": lambda: [kernel.build("release"), kernel.build("debug")],
        "driver": lambda: [kernel.driver("release"), kernel.driver("debug")],
        "rootfs": lambda: [rootfs.build("release"), rootfs.build("debug")],
        "demo": lambda: [sources.firmware()[0], qemu.build(), rootfs.build("release")],
        "bench": lambda: [sources.firmware()[0], qemu.build(), qemu.build_bench(), rootfs.build("release")],
        # Guest.prepare() builds these two beside QEMU.
        "guest-release": lambda: [rootfs.build("release")],
        "guest-debug": lambda: [rootfs.build("debug")],
    }
    given = environment.read()
    named = {"qemu": given.qemu_source, "kernel": given.kernel_source}
    for word in words or ["demo"]:
        if word not in targets:
            raise Failure(f"no such target: {word} (there are {', '.join(targets)})", status=2)
        if named.get(word):
            for stamp in (BUILD / ".stamps").glob(f"{word}-*"):
                # Remove the stamp, so that the step runs: a stamp does not record the contents of
                # a source tree that the user named. In the step, ninja or kbuild finds the changed files.
                stamp.unlink()
        ensure(*targets[word]())
    return 0


def demo(words: list[str]) -> int:
    """./vgpu demo"""
    return run(["--kernel", "release", "--memory", DEMO_MEMORY, *words, "--", "vgpu-demo"])


def bench(words: list[str]) -> int:
    """./vgpu bench"""
    from vgpu_tools.bench import measure

    return measure.main(words, environment.read(), lambda: build(["bench"]))


def bench_curves(words: list[str]) -> int:
    """./vgpu bench-curves"""
    from vgpu_tools.bench import curves, growth
    from vgpu_tools.docs import growth_page

    parser = Parser()
    parser.add_argument("--seconds", type=int, default=1800)
    parser.add_argument("--point-seconds", type=int, default=120)
    parser.add_argument("--output", type=Path, default=growth.OUTPUT)
    parser.add_argument("--from", dest="given", type=Path)
    parser.add_argument("--base", type=Path)
    parser.add_argument("--publish", action="store_true")
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("parts", nargs="*")
    options = parser.parse_intermixed_args(words)
    if not 1 <= options.point_seconds <= 3600 or options.seconds < growth.LEAST_SECONDS:
        raise Failure(f"bench-curves: a point has 1 to 3600 s, all of it {growth.LEAST_SECONDS} s or more", status=2)
    if options.given and options.fresh:
        raise Failure("bench-curves: --from measures nothing: not with --fresh", status=2)
    if options.given and options.parts:
        raise Failure("bench-curves: --from shows all curves of a file: name no part", status=2)
    if options.publish and options.parts:
        raise Failure("bench-curves: --publish needs all curves: name no part", status=2)
    # Load the file first, so that it may be the one that --output replaces.
    base = curves.load(options.base) if options.base else None
    if options.given:
        growth.show_file(curves.load(options.given))
        status = 0
    else:
        growth.steps(options.parts)  # before the build: an unknown part is an error
        build(["bench"])
        limits = (options.seconds, options.point_seconds)
        status = growth.main(options.parts, environment.read(), *limits, options.output, fresh=options.fresh)
    if base:
        growth.show_compared(base, curves.load(options.given or options.output), str(options.base))
    if options.publish and status:
        raise Failure(f"bench-curves: not published: a measurement failed; {options.output} has the rest", status=1)
    if options.publish:
        print(*growth_page.publish(options.given or options.output), sep="\n")
    return status


def test(words: list[str]) -> int:
    """./vgpu test"""
    from vgpu_tools.testing import run
    from vgpu_tools.testing.suite import BASIC, FULL, LONG, Plan

    parser = Parser()
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--fail-fast", action="store_true")
    parser.add_argument("--changed", action="store_true")
    parser.add_argument("--since", default="")
    parser.add_argument("suites", nargs="*")
    options = parser.parse_args(words)
    if options.changed or options.since:
        if options.full or options.long:
            raise Failure("test --changed is a pass of its own: not with --full, --long (see ./vgpu help)", status=2)
        changed = run.run_changed(options.suites, options.since, options.fail_fast, environment.read())
        return 1 if changed.failed else 0
    if options.seconds < 1:
        raise Failure(f"--seconds {options.seconds}: at least 1", status=2)
    level = LONG if options.long else FULL if options.full else BASIC
    seconds = options.seconds if options.long else 0
    plan = Plan(level, seconds, options.fail_fast)
    return 1 if run.run(options.suites, plan, environment.read()).failed else 0


def test_stress(words: list[str]) -> int:
    """./vgpu test-stress"""
    from vgpu_tools.testing import stress

    parser = Parser()
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(words)
    if options.rounds < 1 or options.seed < 0:
        raise Failure("test-stress needs at least one round, and a seed of at least 0", status=2)
    return stress.run(options.rounds, options.seed, environment.read())


def test_delays(words: list[str]) -> int:
    """./vgpu test-delays"""
    from vgpu_tools.testing import delays

    parser = Parser()
    parser.add_argument("--device", default="")
    parser.add_argument("--frames", action="store_true")
    parser.add_argument("--kernel", choices=("release", "debug"), default="release")
    parser.add_argument("program", nargs="?", default="")
    parser.add_argument("case", nargs="?", default="")
    options = parser.parse_args(words)
    return delays.run(options.program, options.case, options.device, options.frames, options.kernel, environment.read())


def qtest(words: list[str]) -> int:
    """./vgpu qtest"""
    from vgpu_tools.build import qemu, sources
    from vgpu_tools.build.steps import ensure
    from vgpu_tools.testing import device_tests

    given = bool(words) and not words[0].startswith("-")
    variant, more = (words[0], words[1:]) if given else ("release", words)
    ensure(sources.firmware()[0], qemu.build_qtest(variant))
    sys.stdout.flush()
    program = qemu.qtest(variant)
    environment = device_tests.environment(variant, device_tests.COMPLETE_STACKS)
    os.execve(program, [str(program), "--tap", "-k", *more], environment)


def check(words: list[str]) -> int:
    """./vgpu check"""
    return test(["check", "registers"])


def docs(words: list[str]) -> int:
    """./vgpu docs"""
    from vgpu_tools.docs import command

    parser = Parser()
    parser.add_argument("--look", action="store_true")
    return command.docs(parser.parse_args(words).look)


def pictures(words: list[str]) -> int:
    """./vgpu pictures"""
    from vgpu_tools.docs import run_pictures
    from vgpu_tools.trace import runs

    parser = Parser()
    parser.add_argument("-o", dest="output", type=Path)
    parser.add_argument("--from", dest="numbers", type=Path)
    options = parser.parse_args(words)
    folder = options.output or run_pictures.PLACE
    run_pictures.check(folder)
    run_pictures.prepare()
    run_pictures.draw(options.numbers or runs.take(environment.read()), folder)
    print(*run_pictures.pictures(folder), sep="\n")
    return 0


def fault_path(words: list[str]) -> int:
    """./vgpu fault-path"""
    from rich.console import Console

    from vgpu_tools.base.paths import BUILD
    from vgpu_tools.bench import fault_path, path_table
    from vgpu_tools.docs import run_pictures
    from vgpu_tools.trace import path_report

    parser = Parser()
    parser.add_argument("--samples", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--save", type=Path)
    parser.add_argument("--from", dest="numbers", type=Path)
    parser.add_argument("--compare", type=Path)
    parser.add_argument("-o", dest="output", type=Path)
    split = words.index("--") if "--" in words else len(words)
    options = parser.parse_args(words[:split])
    # Find errors of the user before the guest runs.
    fault_path.check(options.samples, options.rounds)
    before = path_report.load(options.compare) if options.compare else None
    if options.output:
        run_pictures.check(options.output)
        run_pictures.prepare()
    if options.numbers:
        report = path_report.load(options.numbers)
    else:
        report = fault_path.take(words[split + 1 :], options.samples, options.rounds, environment.read())
        path_report.save(options.save or BUILD / "fault-path.json", report)
    path_table.show(report, before, Console() if sys.stdout.isatty() else Console(width=path_table.WIDTH))
    if options.output:
        text = path_table.text(report, before)
        print(*run_pictures.draw_path(path_report.picture(report, before), text, options.output), sep="\n")
    return 0


def compile_commands(words: list[str]) -> int:
    """./vgpu compile-commands"""
    from vgpu_tools.build import compile_commands

    return compile_commands.write()


def check_recovery(words: list[str]) -> int:
    """./vgpu check-recovery"""
    from vgpu_tools.guest.config import Guest
    from vgpu_tools.testing import recovery

    options = repeated(words, 50)
    guest = Guest(kernel=options.kernel, append=options.append, late_frames=environment.read().late_frames)
    return recovery.check_recovery(guest, options.repeat)


def check_cycles(words: list[str]) -> int:
    """./vgpu check-cycles"""
    from vgpu_tools.testing import power_cycles

    options = repeated(words, 20)
    return power_cycles.check_cycles(options.repeat, options.kernel, options.append, environment.read())


def kfdtest(words: list[str]) -> int:
    """./vgpu kfdtest"""
    from vgpu_tools.guest.config import Guest
    from vgpu_tools.testing import kfdtest

    parser = Parser()
    parser.add_argument("--filter", default="")
    parser.add_argument("--classes", default="")
    parser.add_argument("--gpus", type=int, default=1)
    parser.add_argument("--hive", action="store_true")
    parser.add_argument("--kernel", choices=("release", "debug"), default="release")
    parser.add_argument("--seconds", type=int, default=0)
    options = parser.parse_args(join_values(words))
    given = environment.read()
    guest = Guest(gpus=options.gpus, hive=options.hive, kernel=options.kernel)
    guest = guest.on(given.accelerator, given.late_frames)
    return kfdtest.kfdtest(guest, kfdtest.Choice(options.filter, options.classes, options.seconds))


def mutants(words: list[str]) -> int:
    """./vgpu mutants"""
    from vgpu_tools.testing import mutants

    parser = Parser()
    parser.add_argument("--pass", dest="of", choices=mutants.PASSES, default="basic")
    parser.add_argument("names", nargs="*")
    options = parser.parse_intermixed_args(words)
    return mutants.mutants(options.of, options.names)


def inject(words: list[str]) -> int:
    """./vgpu inject"""
    from vgpu_tools.operate import inject

    parser = operator_parser()
    parser.add_argument("words", nargs="*")
    options = parser.parse_intermixed_args(words)
    return inject.inject(options.qmp, options.words)


def stats(words: list[str]) -> int:
    """./vgpu stats"""
    from vgpu_tools.operate import stats

    parser = operator_parser()
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(words)
    return stats.stats(options.qmp, options.json)


def trace(words: list[str]) -> int:
    """./vgpu trace"""
    from vgpu_tools.operate import trace_log

    split = words.index("--") if "--" in words else len(words)
    chooser = Parser()
    chooser.add_argument("-o", dest="output", type=Path)
    given, rest = chooser.parse_known_args(join_values(words[:split]))
    if given.output:
        return _timeline(given.output, rest, words[split + 1 :] if split < len(words) else None)
    if split < len(words):
        raise Failure("to trace a command use '-o FILE' (see ./vgpu help)", status=2)
    parser = operator_parser()
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("patterns", nargs="*")
    asked = parser.parse_intermixed_args(words)
    return trace_log.trace(asked.qmp, asked.patterns, asked.seconds)


def _timeline(output: Path, words: list[str], command: list[str] | None) -> int:
    """./vgpu trace -o: trace a command in a new guest or, if `command` is None, the devices of a running guest."""
    from vgpu_tools.guest import options
    from vgpu_tools.trace import command as timelines

    timelines.check(output)
    if command is not None:
        parsed = options.parse(words, environment.read(), RUN_SECONDS)
        refuse_snapshot(parsed.guest, "trace")
        parsed.guest.prepare()
        return timelines.run(output, parsed, command)
    parser = operator_parser()
    parser.add_argument("--seconds", type=float, default=0)
    asked = parser.parse_args(words)
    return timelines.watch(output, asked.qmp, asked.seconds)
