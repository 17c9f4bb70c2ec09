# SPDX-License-Identifier: GPL-2.0-or-later
"""A function for each command of ./vgpu: it takes the words behind the command and returns the exit status.

Each imports what it needs when it is called, so that ./vgpu run starts fast.
"""

import os
import sys
from pathlib import Path

from vgpu_tools.base.errors import Failure
from vgpu_tools.cli.options import Parser, join_values, operator_parser, parse_guest, refuse_snapshot, repeated

DEMO_MEMORY = "2G"
NAMED_SOURCES = {"qemu": "QEMU_SRC", "kernel": "KERNEL_SRC"}  # by what builds them


def run(words: list[str]) -> int:
    """./vgpu run"""
    from vgpu_tools.guest import snapshot
    from vgpu_tools.guest.launch import Run, Streams

    if "--" not in words:
        raise Failure("run wants '--' and a command (see ./vgpu help)", status=2)
    split = words.index("--")
    command = words[split + 1 :]
    if not command:
        raise Failure("run wants a command after '--'", status=2)
    options, guest = parse_guest(words[:split], timeout=600)
    guest.prepare()
    saved = snapshot.obtain(guest)
    return Run(guest, command, Streams(), options.timeout, options.verbose, snapshot=saved).execute()


def shell(words: list[str]) -> int:
    """./vgpu shell"""
    from vgpu_tools.guest import snapshot
    from vgpu_tools.guest.launch import Run, Streams

    options, guest = parse_guest(words)
    guest.prepare()
    streams = Streams(input=0, terminal=os.isatty(0))
    return Run(
        guest,
        ["env", f"TERM={os.environ.get('TERM', 'linux')}", "/bin/sh", "-l"],
        streams,
        options.timeout,
        options.verbose,
        snapshot=snapshot.obtain(guest),
    ).execute()


def gdb(words: list[str]) -> int:
    """./vgpu gdb"""
    from vgpu_tools.guest import gdb

    if not words or words[0] not in ("qemu", "kernel"):
        raise Failure("gdb wants 'qemu' or 'kernel' (see ./vgpu help)", status=2)
    split = words.index("--") if "--" in words else len(words)
    given, command = words[1:split], words[split + 1 :] or ["sleep", "1000000"]
    if words[0] == "kernel" and "--kernel" not in given:
        given = ["--kernel", "debug", *given]
    _, guest = parse_guest(given)
    refuse_snapshot(guest, "gdb")
    guest.prepare()
    return gdb.debug(words[0], guest, given, command)


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
    }
    for word in words or ["demo"]:
        if word not in targets:
            raise Failure(f"no such target: {word} (there are {', '.join(targets)})", status=2)
        if os.environ.get(NAMED_SOURCES.get(word, "")):
            for stamp in (BUILD / ".stamps").glob(f"{word}-*"):
                stamp.unlink()  # only ninja and kbuild can tell what changed in there
        ensure(*targets[word]())
    return 0


def demo(words: list[str]) -> int:
    """./vgpu demo"""
    return run(["--kernel", "release", "--memory", DEMO_MEMORY, *words, "--", "vgpu-demo"])


def bench(words: list[str]) -> int:
    """./vgpu bench"""
    from vgpu_tools.bench import measure

    build(["bench"])
    return measure.main(words)


def test(words: list[str]) -> int:
    """./vgpu test"""
    from vgpu_tools.testing import run
    from vgpu_tools.testing.suite import BASIC, FULL, LONG, Plan

    parser = Parser(prog="vgpu", add_help=False, allow_abbrev=False)
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
        return run.run_changed(options.suites, options.since, options.fail_fast)
    if options.seconds < 1:
        raise Failure(f"--seconds {options.seconds}: at least 1", status=2)
    level = LONG if options.long else FULL if options.full else BASIC
    plan = Plan(level, options.seconds if options.long else 0, options.fail_fast)
    return run.run(options.suites, plan)


def test_stress(words: list[str]) -> int:
    """./vgpu test-stress"""
    from vgpu_tools.testing import stress

    parser = Parser(prog="vgpu", add_help=False, allow_abbrev=False)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(words)
    if options.rounds < 1 or options.seed < 0:
        raise Failure("test-stress wants at least one round, and a seed of at least 0", status=2)
    return stress.run(options.rounds, options.seed)


def test_delays(words: list[str]) -> int:
    """./vgpu test-delays"""
    from vgpu_tools.testing import delays

    parser = Parser(prog="vgpu", add_help=False, allow_abbrev=False)
    parser.add_argument("--device", default="")
    parser.add_argument("--frames", action="store_true")
    parser.add_argument("program", nargs="?", default="")
    parser.add_argument("case", nargs="?", default="")
    options = parser.parse_args(words)
    return delays.run(options.program, options.case, options.device, options.frames)


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
    os.execve(program, [str(program), "--tap", "-k", *more], device_tests.environment(variant))


def check(words: list[str]) -> int:
    """./vgpu check"""
    return test(["check", "registers"])


def compile_commands(words: list[str]) -> int:
    """./vgpu compile-commands"""
    from vgpu_tools.build import compile_commands

    return compile_commands.write()


def check_recovery(words: list[str]) -> int:
    """./vgpu check-recovery"""
    from vgpu_tools.testing import recovery

    return recovery.check_recovery(repeated(words, 50))


def check_cycles(words: list[str]) -> int:
    """./vgpu check-cycles"""
    from vgpu_tools.testing import power_cycles

    return power_cycles.check_cycles(repeated(words, 20))


def kfdtest(words: list[str]) -> int:
    """./vgpu kfdtest"""
    from vgpu_tools.testing import kfdtest

    parser = Parser(prog="vgpu", add_help=False, allow_abbrev=False)
    parser.add_argument("--filter", default="")
    parser.add_argument("--classes", default="")
    parser.add_argument("--gpus", type=int, default=1)
    parser.add_argument("--hive", action="store_true")
    parser.add_argument("--kernel", choices=("release", "debug"), default="release")
    parser.add_argument("--seconds", type=int, default=0)
    return kfdtest.kfdtest(parser.parse_args(join_values(words)))


def mutants(words: list[str]) -> int:
    """./vgpu mutants"""
    from vgpu_tools.testing import mutants

    parser = Parser(prog="vgpu", add_help=False, allow_abbrev=False)
    parser.add_argument("--pass", dest="of", choices=mutants.PASSES, default="basic")
    parser.add_argument("names", nargs="*")
    return mutants.mutants(parser.parse_intermixed_args(words))


def inject(words: list[str]) -> int:
    """./vgpu inject"""
    from vgpu_tools.operate import inject

    parser = operator_parser()
    parser.add_argument("words", nargs="*")
    return inject.inject(parser.parse_intermixed_args(words))


def stats(words: list[str]) -> int:
    """./vgpu stats"""
    from vgpu_tools.operate import stats

    parser = operator_parser()
    parser.add_argument("--json", action="store_true")
    return stats.stats(parser.parse_args(words))


def trace(words: list[str]) -> int:
    """./vgpu trace"""
    from vgpu_tools.operate import trace_log

    split = words.index("--") if "--" in words else len(words)
    chooser = Parser(prog="vgpu", add_help=False, allow_abbrev=False)
    chooser.add_argument("-o", dest="output", type=Path)
    given, rest = chooser.parse_known_args(join_values(words[:split]))
    if given.output:
        from vgpu_tools.trace import command

        command.check(given.output)
        if split < len(words):
            options, guest = parse_guest(rest, timeout=600)
            refuse_snapshot(guest, "trace")
            guest.prepare()
            return command.run(given.output, guest, words[split + 1 :], options.timeout, options.verbose)
    elif split < len(words):
        raise Failure("to trace a command say '-o FILE' (see ./vgpu help)", status=2)
    parser = operator_parser()
    parser.add_argument("--seconds", type=float, default=0)
    if given.output:
        options = parser.parse_args(rest)
        return command.watch(given.output, options.qmp, options.seconds)
    parser.add_argument("patterns", nargs="*")
    return trace_log.trace(parser.parse_intermixed_args(words))
