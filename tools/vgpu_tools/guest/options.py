# SPDX-License-Identifier: GPL-2.0-or-later
"""Parses the options of ./vgpu run, which come from the command line, from tests.list or from a
benchmark."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vgpu_tools.base.arguments import Parser, join_values
from vgpu_tools.base.environment import Environment
from vgpu_tools.base.errors import Failure
from vgpu_tools.guest.config import Guest, split_arguments


@dataclass(frozen=True)
class Options:
    """The result of parse(). `guest` has passed Guest.check()."""

    guest: Guest
    timeout: float  # in seconds; 0: no timeout
    verbose: bool


def _parser(timeout: float) -> Parser:
    parser = Parser()
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


def parse(words: Sequence[str], environment: Environment, timeout: float = 0) -> Options:
    """Parse options. Raises Failure with status 2 if the options are wrong or the guest cannot start with them.

    `timeout` is the default of --timeout, in seconds; 0: no timeout.
    """
    options = _parser(timeout).parse_args(join_values(words))
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
        accelerator=environment.accelerator,
        late_frames=environment.late_frames,
    )
    guest.check()
    if options.start is not None:
        from vgpu_tools.guest import snapshot

        snapshot.check_name(options.start)
        snapshot.check(guest)
    return Options(guest, options.timeout, options.verbose)
