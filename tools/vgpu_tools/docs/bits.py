# SPDX-License-Identifier: GPL-2.0-or-later
"""Draws the bit fields of words, whose positions come from masks in a C header.

A source (docs/pictures/NAME.bits) has one statement a line:

    # comment
    header FILE                 header with the masks, relative to the top of the checkout
    word BITS LABEL             a word of 32 or 64 bits; the fields after it are its fields
    MACRO LABEL                 a field: the bits of a mask
    HIGH:LOW LABEL              a field that no macro names
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from vgpu_tools.base.errors import Failure
from vgpu_tools.docs import svg
from vgpu_tools.docs.csource import macros, number

Reader = Callable[[str], str]  # returns the text of a file of the checkout, by its path from the top

ROW = 32  # bits in a row of the picture
BIT, MARGIN, NUMBERS, TITLE = 24.0, 8.0, 14.0, 26.0  # width of a bit, margin, height of bit numbers and of a title


@dataclass(frozen=True)
class Field:
    """A field of a word: its lowest and its highest bit."""

    low: int
    high: int
    label: str


@dataclass
class Word:
    """A word, its size in bits, and its fields."""

    bits: int
    label: str
    fields: list[Field] = field(default_factory=list)

    def add(self, one: Field, where: str) -> None:
        """Add a field. Raises Failure if the field overlaps another one, or if the word is too small."""
        if one.high >= self.bits or any(one.low <= other.high and other.low <= one.high for other in self.fields):
            raise Failure(f"docs: {where}: the bits {one.high}:{one.low} are taken, or beyond the word")
        self.fields.append(one)

    def all_fields(self) -> list[Field]:
        """Return the fields from bit 0 on, with fields without a label for the bits between them."""
        found: list[Field] = []
        at = 0
        for one in [*sorted(self.fields, key=lambda one: one.low), Field(self.bits, self.bits, "")]:
            if one.low > at:
                found.append(Field(at, one.low - 1, ""))
            if one.low < self.bits:
                found.append(one)
            at = one.high + 1
        return found


def _bits(mask: int, where: str) -> tuple[int, int]:
    """Return the lowest and the highest bit of a mask. Raises Failure if the bits between them are not all set."""
    low, high = (mask & -mask).bit_length() - 1, mask.bit_length() - 1
    if not mask or mask != (1 << (high + 1)) - (1 << low):
        raise Failure(f"docs: {where}: {mask:#x} is no mask of consecutive bits")
    return low, high


def parse(source: str, name: str, read: Reader) -> list[Word]:
    """Read a source; `name` names it in messages, `read` returns the text of a header. Raises Failure for an error."""
    known: dict[str, str] = {}
    words: list[Word] = []
    for index, line in enumerate(source.splitlines(), 1):
        where = f"{name}:{index}"
        if not line.strip() or line.startswith("#"):
            continue
        first, _, rest = line.partition(" ")
        if first == "header":
            known = macros(read(rest))
        elif first == "word":
            bits, _, label = rest.partition(" ")
            words.append(Word(int(bits), label))
        elif not words:
            raise Failure(f"docs: {where}: a field before the first word")
        elif match := re.fullmatch(r"(\d+):(\d+)", first):
            words[-1].add(Field(int(match[2]), int(match[1]), rest), where)
        elif first in known:
            words[-1].add(Field(*_bits(number(known[first], known), where), rest), where)
        else:
            raise Failure(f"docs: {where}: the header has no macro {first}")
    return words


def _label_lines(words: str, width: float) -> list[str]:
    """Return a label as lines that fit into a width; empty if they do not fit."""
    lines = svg.wrapped(words, width - 6, svg.SMALL)
    most = max((len(one) for one in lines), default=0)
    return lines if most * svg.SMALL * svg.CHARACTER <= width - 5 and len(lines) <= 2 else []


def _row_height(fields: list[Field], low: int) -> float:
    """Return the height of a row: enough for labels that have to be turned."""
    turned = [one.label for one in fields if one.label and not _label_lines(one.label, _width(one, low))]
    return max(36.0, 14 + max(map(len, turned), default=0) * svg.SMALL * svg.CHARACTER)


def _width(one: Field, low: int) -> float:
    """Return the width of the part of a field that is in the row that begins at bit `low`."""
    return (min(one.high, low + ROW - 1) - max(one.low, low) + 1) * BIT


class _Drawing:
    """Words while they are drawn. `y` is the lower edge of what has been drawn."""

    def __init__(self) -> None:
        self.width = ROW * BIT + 2 * MARGIN
        self.root = svg.picture(self.width, 0)
        self.y = 0.0

    def word(self, word: Word) -> None:
        """Draw a word: its label, and a row for each 32 bits, the highest first."""
        self.y += TITLE
        svg.text(self.root, MARGIN, self.y - 8, word.label, svg.SIZE, "start").set("class", "strong")
        for low in range(word.bits - ROW, -1, -ROW):
            self.row([one for one in word.all_fields() if one.high >= low and one.low < low + ROW], low)

    def row(self, fields: list[Field], low: int) -> None:
        """Draw a row: the bits from `low` on, with the numbers of each field's first and last bit above it."""
        height = _row_height(fields, low)
        self.y += NUMBERS
        for one in fields:
            high, lowest = min(one.high, low + ROW - 1), max(one.low, low)
            x, width = MARGIN + (low + ROW - 1 - high) * BIT, (high - lowest + 1) * BIT
            svg.box(self.root, x, self.y, width, height, "field" if one.label else "unused", 0)
            svg.text(self.root, x + BIT / 2, self.y - 3, str(high), 10)
            if high != lowest:
                svg.text(self.root, x + width - BIT / 2, self.y - 3, str(lowest), 10)
            self.label(one.label, x + width / 2, width, height)
        self.y += height + 4

    def label(self, words: str, x: float, width: float, height: float) -> None:
        """Write the label of a field around x, turned if the field is too narrow."""
        if lines := _label_lines(words, width):
            top = self.y + (height - 14 * len(lines)) / 2
            for index, one in enumerate(lines):
                svg.text(self.root, x, top + 14 * index + 11, one, svg.SMALL)
        elif words:
            middle = self.y + height / 2
            svg.text(self.root, x, middle + 4, words, svg.SMALL).set("transform", f"rotate(-90 {x:g} {middle:g})")


def render(source: str, name: str, read: Reader) -> str:
    """Return words as SVG; `name` names the source in messages, `read` returns the text of a header. Raises Failure for
    a malformed source."""
    words = parse(source, name, read)
    if not words:
        raise Failure(f"docs: {name}: no words")
    drawing = _Drawing()
    for word in words:
        drawing.word(word)
    svg.resize(drawing.root, drawing.width, drawing.y + MARGIN)
    return svg.drawn(drawing.root)
