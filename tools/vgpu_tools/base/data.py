# SPDX-License-Identifier: GPL-2.0-or-later
"""Errors of data read from a file or a program that does not match its pydantic type."""

from pydantic import ValidationError


def why(error: ValidationError) -> str:
    """The first error, as one line."""
    first = error.errors()[0]
    place = ".".join(map(str, first["loc"]))
    return f"{place}: {first['msg']}" if place else first["msg"]
