# SPDX-License-Identifier: GPL-2.0-or-later
"""The entry point of ./vgpu: the help text, the table of commands, and the messages about
failures."""

import signal
import sys
from collections.abc import Callable
from typing import NoReturn

from vgpu_tools.base.errors import Failure, refused_by_machine
from vgpu_tools.base.paths import BUILD, CACHE
from vgpu_tools.cli import commands

USAGE = """\
usage: ./vgpu run [options] -- COMMAND...      boot a guest, run COMMAND in it as root, exit with its status
       ./vgpu shell [options]                  boot a guest, run a shell in it
       ./vgpu gdb qemu|kernel [options] [-- COMMAND...]   run QEMU or the guest's kernel under gdb
       ./vgpu inject [KIND [KEY=VALUE...]|remove ID] [--qmp PATH]   inject a failure, remove or list them
       ./vgpu stats [--json] [--qmp PATH]      show the state of a guest's devices
       ./vgpu trace [--seconds S] [EVENT...] [--qmp PATH]   follow or list trace events (vgpu_fault, 'vgpu_*')
       ./vgpu trace -o FILE [options of run] -- COMMAND...   write a timeline of device and driver (Perfetto)
       ./vgpu trace -o FILE [--seconds S] [--qmp PATH]   write a timeline of a running guest's devices
       ./vgpu build TARGET...                  build qemu, kernel, driver, rootfs, demo or bench (called by make)
       ./vgpu qtest [release|sanitizers] [ARGUMENTS...]   run the device's qtest program (TAP)
       ./vgpu check-recovery [--repeat N] [--kernel debug] [--append ARGS]   inject GART loss, hangs, resets: a table
       ./vgpu check-cycles [--repeat N] [--kernel debug] [--append ARGS]   sleep, hot plug, module reload: a table
       ./vgpu mutants [--pass basic|full|changed] [NAME...]   does a pass catch the defects of tests/mutants?
       ./vgpu kfdtest [--filter PATTERNS] [--classes ABC] [--gpus N [--hive]] [--kernel debug] [--seconds S]
                                               AMD's test of KFD: results, sums; S seconds a test
       ./vgpu test [--full | --long [--seconds N]] [--fail-fast] [SUITE...]   the basic pass; every test; long forms
       ./vgpu test --changed [--since COMMIT] [--fail-fast] [SUITE...]   what the changed files can break
       ./vgpu test-stress [--rounds N] [--seed SEED]   the basic pass beside stress-ng, with random delays
       ./vgpu test-delays [--kernel NAME] [--device POINT|all | --frames] [PROGRAM [CASE]]   a delay at each point in
                                               turn
       ./vgpu docs [--look]                    build the documentation site; --look: check it in a browser (TAP)
       ./vgpu pictures [-o FOLDER] [--from FILE]   record runs, draw their pictures in docs/pictures/runs (minutes);
                                               --from: draw the numbers of an earlier call (build/pictures/runs.json)
       ./vgpu fault-path [--samples N] [--rounds R] [--save FILE] [--compare FILE] [-o FOLDER] [-- OPTIONS OF RUN]
                                               a lone fault, hop by hop: a table; its numbers in FILE
                                               (build/fault-path.json); --compare: beside an earlier FILE; -o: a picture
       ./vgpu fault-path --from FILE [--compare FILE] [-o FOLDER]   show saved numbers
       ./vgpu bench-curves [--seconds S] [--point-seconds S] [--output FILE] [--base FILE] [--fresh] [--publish]
                           [PART...]
                                               how costs grow: curves of ranges, BOs, queues, ...; --publish: draw them;
                                               --fresh: use no points of an earlier run that did not end; --base: beside
                                               the curves of an earlier FILE
       ./vgpu bench-curves --from FILE [--base FILE] [--publish]   show, compare, publish the curves of an earlier call
       ./vgpu demo|bench|check|compile-commands   called by make

options of run, shell and gdb:
  --gpus N             GPUs, 0 to 8 (1)
  --hive               join the GPUs to one XGMI hive; without it they have PCIe only
  --vram SIZE          VRAM of each GPU (1G)
  --memory SIZE        guest memory (2G)
  --cpus N             virtual CPUs (2)
  --rootfs NAME        mini, rocm (mini)
  --kernel NAME        release, debug (release)
  --share DIR          mount a host folder at /mnt/share in the guest
  --device-opts K=V,.. properties of each vgpu-kfd device
  --device-delays D    delay the devices' threads: a seed, or wake, take, done, irq, ack, window (docs/testing.md)
  --append ARGS        append to the kernel's command line (vgpu_kfd.PARAMETER=VALUE)
  --qemu-args ARGS     more arguments for QEMU
  --timeout S          end the run after S seconds, 0: no limit (600; shell: 0)
  --qmp PATH           a QMP socket at PATH
  --bzimage            boot a bzImage by the firmware's protocol: slower, but the guest can sleep to memory
  --from boot          start from a snapshot of this machine; its first use takes one, before the driver is loaded
  -v                   show the guest's console on standard error

exit status of run: the command's; 124 after the timeout; 125 if the guest's kernel died or reported an error, or
if the guest could not be started; 126 if the command could not be run; 127 if it was not found; 2 for wrong usage.
"""


def help_text(words: list[str]) -> int:
    """./vgpu help"""
    print(USAGE, end="")
    return 0


COMMANDS: dict[str, Callable[[list[str]], int]] = {
    "run": commands.run,
    "shell": commands.shell,
    "gdb": commands.gdb,
    "build": commands.build,
    "demo": commands.demo,
    "bench": commands.bench,
    "bench-curves": commands.bench_curves,
    "test": commands.test,
    "test-delays": commands.test_delays,
    "test-stress": commands.test_stress,
    "qtest": commands.qtest,
    "check": commands.check,
    "docs": commands.docs,
    "fault-path": commands.fault_path,
    "pictures": commands.pictures,
    "compile-commands": commands.compile_commands,
    "check-cycles": commands.check_cycles,
    "check-recovery": commands.check_recovery,
    "inject": commands.inject,
    "kfdtest": commands.kfdtest,
    "mutants": commands.mutants,
    "stats": commands.stats,
    "trace": commands.trace,
    "help": help_text,
    "--help": help_text,
    "-h": help_text,
}


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def main(words: list[str]) -> int:
    """Run the command that `words` begins with, and print a failure as one sentence. Return the
    exit status."""
    name = words[0] if words else ""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # Avoid asyncio's handler: it only cancels the main task, and Ctrl-C is lost if the task completes
        # nevertheless. asyncio.run() replaces Python's default handler, but does not replace _interrupt().
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
