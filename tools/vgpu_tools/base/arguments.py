# SPDX-License-Identifier: GPL-2.0-or-later
"""Parses command lines."""

import argparse
from collections.abc import Sequence
from typing import NoReturn

from vgpu_tools.base.errors import Failure


class Parser(argparse.ArgumentParser):
    """The parser of the commands of ./vgpu. `./vgpu help` stands in for --help. Errors are raised as Failure, so that
    ./vgpu prints them like its other errors."""

    def __init__(self) -> None:
        super().__init__(prog="vgpu", add_help=False, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        raise Failure(f"{message} (see ./vgpu help)", status=2)


def join_values(words: Sequence[str]) -> list[str]:
    """Return the words with `--qemu-args VALUE` and `--device-opts VALUE` each joined to one word,
    `--OPTION=VALUE`.

    argparse refuses a value that is a separate word and begins with a dash, such as an argument of
    QEMU.
    """
    joined: list[str] = []
    rest = iter(words)
    for word in rest:
        if word in ("--qemu-args", "--device-opts") and (value := next(rest, None)) is not None:
            word = f"{word}={value}"
        joined.append(word)
    return joined
