# SPDX-License-Identifier: GPL-2.0-or-later
"""Parses the options that several commands share, except those of a guest (guest/options.py)."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from vgpu_tools.base.arguments import Parser
from vgpu_tools.base.errors import Failure

if TYPE_CHECKING:
    from vgpu_tools.guest.config import Guest


def refuse_snapshot(guest: "Guest", name: str) -> None:
    """Raise Failure if the guest starts from a snapshot (--from), because the command `name` must
    observe the guest from the first instruction on."""
    if guest.snapshot:
        raise Failure(f"{name}: not with --from boot", status=2)


def operator_parser() -> Parser:
    """Return a parser with the option --qmp. The commands `inject`, `stats` and `trace` have this option."""
    parser = Parser()
    parser.add_argument("--qmp", type=Path)
    return parser


@dataclass(frozen=True)
class Repeated:
    """The options of check-recovery and check-cycles."""

    repeat: int
    kernel: str
    append: str


def repeated(words: list[str], times: int) -> Repeated:
    """Parse the options of check-recovery or check-cycles. `times` is the default of --repeat."""
    parser = Parser()
    parser.add_argument("--repeat", type=int, default=times)
    parser.add_argument("--kernel", choices=("release", "debug"), default="release")
    parser.add_argument("--append", default="")
    options = parser.parse_args(words)
    if options.repeat < 1:
        raise Failure(f"--repeat {options.repeat}: at least 1", status=2)
    return Repeated(options.repeat, options.kernel, options.append)
