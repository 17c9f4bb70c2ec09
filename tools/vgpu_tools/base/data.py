# SPDX-License-Identifier: GPL-2.0-or-later
"""Turns pydantic's validation errors of files and of programs' output into messages for the
user."""

from pydantic import ValidationError


def why(error: ValidationError) -> str:
    """Return the first problem of a validation error as one line: the place in the data, then the
    message."""
    first = error.errors()[0]
    place = ".".join(map(str, first["loc"]))
    return f"{place}: {first['msg']}" if place else first["msg"]
