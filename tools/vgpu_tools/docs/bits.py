# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads docs/pictures/NAME.toml, a picture of bit fields:

header = "FILE"             # C header with the macros
[[words]]
label = "LABEL"
bits = 32
[words.fields]
MACRO = "LABEL"             # the bits of a mask
"HIGH:LOW" = "LABEL"
"""

import re
import tomllib
from collections.abc import Callable
from typing import Any

from vgpu_tools.base.errors import Failure
from vgpu_tools.docs.csource import macros, number

Reader = Callable[[str], str]  # returns the text of a file of the checkout, by its path from the top


def _bits(field: str, known: dict[str, str]) -> tuple[int, int]:
    """Return the lowest and the highest bit of `field`, a macro's name or "HIGH:LOW". Raises ValueError
    if `known` lacks the macro, or if the bits that are set in the macro's mask are not consecutive."""
    if match := re.fullmatch(r"(\d+):(\d+)", field):
        return int(match[2]), int(match[1])
    if field not in known:
        raise ValueError(f"the header has no macro {field}")
    mask = number(known[field], known)
    low, high = (mask & -mask).bit_length() - 1, mask.bit_length() - 1
    if not mask or mask != (1 << (high + 1)) - (1 << low):
        raise ValueError(f"{field} = {mask:#x} is no mask of consecutive bits")
    return low, high


def _register(fields: dict[str, str], bits: int, known: dict[str, str]) -> list[dict[str, Any]]:
    """Return fields in WaveDrom's form: in the order of their bits from bit 0 on, with nameless
    fields for bits that no field has. Raises ValueError for a field that overlaps another field
    or lies beyond the word."""
    found: list[dict[str, Any]] = []
    at = 0
    for low, high, label in sorted((*_bits(field, known), label) for field, label in fields.items()):
        if low < at or high >= bits:
            raise ValueError(f"the bits {high}:{low} ({label}) are taken, or beyond the word")
        found += [{"bits": low - at}] if low > at else []
        found.append({"bits": high + 1 - low, "name": label})
        at = high + 1
    return found + ([{"bits": bits - at}] if at < bits else [])


def words(source: str, name: str, read: Reader) -> list[dict[str, Any]]:
    """Return the [[words]] in the TOML text `source`, each with its label, its size and its fields in WaveDrom's form.
    `name` names the source in messages, `read` returns the text of a header. Raises Failure for a malformed source."""
    try:
        given = tomllib.loads(source)
        known = macros(read(given["header"]))
        return [word | {"fields": _register(word["fields"], word["bits"], known)} for word in given["words"]]
    except (KeyError, ValueError) as error:
        raise Failure(f"docs: {name}: {error}") from None
