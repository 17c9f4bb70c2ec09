# SPDX-License-Identifier: GPL-2.0-or-later
"""Options that several commands share, and how they are read."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from vgpu_tools.base.errors import Failure

if TYPE_CHECKING:
    from vgpu_tools.guest.config import Guest


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
