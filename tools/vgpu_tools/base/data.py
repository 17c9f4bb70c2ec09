# SPDX-License-Identifier: GPL-2.0-or-later
"""Messages about data from a file or a program that does not match its pydantic type."""

from pydantic import ValidationError


def why(error: ValidationError) -> str:
    """Return the first error as one line: the place in the data, and the message."""
    first = error.errors()[0]
    place = ".".join(map(str, first["loc"]))
    return f"{place}: {first['msg']}" if place else first["msg"]
