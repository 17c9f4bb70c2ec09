# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line of ./vgpu."""

import argparse
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from vgpu_tools.base.errors import Failure, refused_by_machine
from vgpu_tools.base.paths import BUILD, CACHE

if TYPE_CHECKING:
    from vgpu_tools.guest.config import Guest

DEMO_MEMORY = "2G"
NAMED_SOURCES = {"qemu": "QEMU_SRC", "kernel": "KERNEL_SRC"}  # by what builds them

USAGE = """\
usage: ./vgpu run [options] -- COMMAND...      boot a guest, run COMMAND in it as root, exit as it does
       ./vgpu shell [options]                  boot a guest, with a shell
       ./vgpu gdb qemu|kernel [options] [-- COMMAND...]   QEMU, or the guest's kernel, under gdb
       ./vgpu inject [KIND [KEY=VALUE...]|remove ID] [--qmp PATH]   what goes wrong in a running guest
       ./vgpu stats [--json] [--qmp PATH]      what its devices are doing
       ./vgpu trace [--seconds S] [EVENT...] [--qmp PATH]   follow its trace events (vgpu_fault, 'vgpu_*'); list them
       ./vgpu trace -o FILE [options of run] -- COMMAND...   FILE: a timeline of device and driver (Perfetto)
       ./vgpu trace -o FILE [--seconds S] [--qmp PATH]   the same of a running guest's device, without its driver
       ./vgpu build TARGET...                  qemu kernel driver rootfs, or all (what make calls)
       ./vgpu qtest [release|sanitizers] [ARGUMENTS...]   the device's qtest program, with its own output (TAP)
       ./vgpu check-recovery [--repeat N] [--kernel debug] [--append ARGS]   GART lost, hangs, resets: a table
       ./vgpu check-cycles [--repeat N] [--kernel debug] [--append ARGS]   sleep, hot plug, module reload: a table
       ./vgpu mutants [--pass basic|full|changed] [NAME...]   does a pass catch the defects of tests/mutants? A table
       ./vgpu kfdtest [--filter PATTERNS] [--classes ABC] [--gpus N [--hive]] [--kernel debug] [--seconds S]
                                               AMD's test of KFD: results, sums; S seconds a test
       ./vgpu test [--full | --long [--seconds N]] [--fail-fast] [SUITE...]   the basic pass; every test; long forms
       ./vgpu test --changed [--since COMMIT] [--fail-fast] [SUITE...]   what the changed files can break
       ./vgpu test-stress [--rounds N] [--seed SEED]   the basic pass beside stress-ng, with random delays
       ./vgpu test-delays [--device POINT|all | --frames] [PROGRAM [CASE]]   a delay at each point in turn
       ./vgpu demo|bench|check|compile-commands   what make calls

options of run, shell and gdb:
  --gpus N             GPUs, 0 to 8 (1)
  --hive               they are one XGMI hive; else they have PCIe alone
  --vram SIZE          VRAM of each (1G)
  --memory SIZE        guest memory (2G)
  --cpus N             virtual CPUs (2)
  --rootfs NAME        mini, rocm (mini)
  --kernel NAME        release, debug (release)
  --share DIR          a host folder, at /mnt/share in the guest
  --device-opts K=V,.. properties of each vgpu-kfd device
  --device-delays D    delays in the devices' threads: a seed, or wake, take, done, irq, ack, window (docs/testing.md)
  --append ARGS        more of the kernel's command line (vgpu_kfd.PARAMETER=VALUE)
  --qemu-args ARGS     more arguments for QEMU
  --timeout S          seconds until a run is given up, 0 for never (600; shell: 0)
  --qmp PATH           a QMP socket at PATH
  --bzimage            boot as firmware does: slower, but the guest can sleep to memory
  --from boot          start from a snapshot of this machine, taken at its first use before the driver is loaded
  -v                   show the guest's console on standard error

exit status of run: the command's; 124 when its time ran out; 125 when the guest's kernel died or reported an error,
or could not be started; 126, 127 when the command could not be run, or was not found; 2 for wrong usage.
"""


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one sentence."""

    def error(self, message: str) -> NoReturn:
        raise Failure(f"{message} (see ./vgpu help)", status=2)


def guest_parser(timeout: float) -> Parser:
    """The options that run, shell and gdb share."""
    parser = Parser(prog="vgpu", add_help=False, allow_abbrev=False)
    parser.add_argument("--gpus", type=int, default=1)
    parser.add_argument("--hive", action="store_true")
    parser.add_argument("--vram", default="")
    parser.add_argument("--memory", default="2G")
    parser.add_argument("--cpus", type=int, default=2)
    parser.add_argument("--rootfs", choices=("mini", "rocm"), default="mini")
    parser.add_argument("--kernel", choices=("release", "debug"), default="release")
    parser.add_argument("--share", type=Path)
    parser.add_argument("--device-opts", default="")
    parser.add_argument("--device-delays", default="")
    parser.add_argument("--append", default="")
    parser.add_argument("--qemu-args", default="")
    parser.add_argument("--timeout", type=float, default=timeout)
    parser.add_argument("--qmp", type=Path)
    parser.add_argument("--bzimage", action="store_true")
    parser.add_argument("--from", dest="start")
    parser.add_argument("-v", dest="verbose", action="store_true")
    return parser


def parse_guest(words: Sequence[str], timeout: float = 0) -> tuple[argparse.Namespace, "Guest"]:
    """Options to a guest that can be started."""
    from vgpu_tools.guest.config import Guest, split_arguments

    options = guest_parser(timeout).parse_args(join_values(words))
    if options.timeout < 0:
        raise Failure(f"--timeout {options.timeout:g}: want seconds, or 0", status=2)
    guest = Guest(
        gpus=options.gpus,
        vram=options.vram,
        hive=options.hive,
        memory=options.memory,
        cpus=options.cpus,
        rootfs=options.rootfs,
        kernel=options.kernel,
        share=options.share,
        device_opts=options.device_opts,
        device_delays=options.device_delays,
        append=options.append,
        qemu_args=split_arguments(options.qemu_args),
        qmp=options.qmp,
        bzimage=options.bzimage,
        snapshot=options.start is not None,
    )
    guest.check()
    if options.start is not None:
        from vgpu_tools.guest import snapshot

        snapshot.check_name(options.start)
        snapshot.check(guest)
    return options, guest


def refuse_snapshot(guest: "Guest", name: str) -> None:
    """Refuse --from where a guest is looked at from its first instruction."""
    if guest.snapshot:
        raise Failure(f"{name}: not with --from boot", status=2)


def join_values(words: Sequence[str]) -> list[str]:
    """Let an option's value begin with a dash, as QEMU's arguments do."""
    joined: list[str] = []
    rest = iter(words)
    for word in rest:
        if word in ("--qemu-args", "--device-opts") and (value := next(rest, None)) is not None:
            word = f"{word}={value}"
        joined.append(word)
    return joined


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


def help_text(words: list[str]) -> int:
    """./vgpu help"""
    print(USAGE, end="")
    return 0


def operator_parser() -> Parser:
    """What inject, stats and trace share."""
    parser = Parser(prog="vgpu", add_help=False, allow_abbrev=False)
    parser.add_argument("--qmp", type=Path)
    return parser


def repeated(words: list[str], times: int) -> argparse.Namespace:
    """The options of check-recovery and check-cycles."""
    parser = Parser(prog="vgpu", add_help=False, allow_abbrev=False)
    parser.add_argument("--repeat", type=int, default=times)
    parser.add_argument("--kernel", choices=("release", "debug"), default="release")
    parser.add_argument("--append", default="")
    options = parser.parse_args(words)
    if options.repeat < 1:
        raise Failure(f"--repeat {options.repeat}: at least 1", status=2)
    return options


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


COMMANDS: dict[str, Callable[[list[str]], int]] = {
    "run": run,
    "shell": shell,
    "gdb": gdb,
    "build": build,
    "demo": demo,
    "bench": bench,
    "test": test,
    "test-delays": test_delays,
    "test-stress": test_stress,
    "qtest": qtest,
    "check": check,
    "compile-commands": compile_commands,
    "check-cycles": check_cycles,
    "check-recovery": check_recovery,
    "inject": inject,
    "kfdtest": kfdtest,
    "mutants": mutants,
    "stats": stats,
    "trace": trace,
    "help": help_text,
    "--help": help_text,
    "-h": help_text,
}


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def main(words: list[str]) -> int:
    """Run one command; returns the exit status."""
    name = words[0] if words else ""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # asyncio.run() replaces the default handler by one that drops Ctrl-C if its task is done by then.
        signal.signal(signal.SIGINT, _interrupt)
    try:
        if name not in COMMANDS:
            raise Failure(f"no such command: {name} (see ./vgpu help)" if name else USAGE.rstrip(), status=2)
        return COMMANDS[name](words[1:])
    except Failure as failure:
        print(f"vgpu: {failure}", file=sys.stderr)
        return failure.status
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except BrokenPipeError:
        sys.stderr.close()
        return 128 + signal.SIGPIPE
    except OSError as error:
        if not (sentence := refused_by_machine(error, (BUILD, CACHE))):
            raise
        print(f"vgpu: {sentence}", file=sys.stderr)
        return 1
