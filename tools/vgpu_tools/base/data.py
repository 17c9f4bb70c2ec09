# SPDX-License-Identifier: GPL-2.0-or-later
"""Data that comes from a file or from a program: it is what its type says, or the reader says why not."""

from pydantic import ValidationError


def why(error: ValidationError) -> str:
    """The first thing that is wrong, in a line."""
    first = error.errors()[0]
    place = ".".join(map(str, first["loc"]))
    return f"{place}: {first['msg']}" if place else first["msg"]
