# SPDX-License-Identifier: GPL-2.0-or-later
"""Draws the lock order, which is read from the table of locks in docs/driver.md."""

import re
from dataclasses import dataclass

from vgpu_tools.base.errors import Failure
from vgpu_tools.docs import svg

SOURCE, HEADING = "docs/driver.md", "## Locks"
HEAD = ["lock", "folder", "protects", "waited for by reclaim or a notifier"]
# GAP is the space between two columns, BETWEEN the space between two boxes of a column.
COLUMNS, MARGIN, WIDTH, GAP, BETWEEN = 3, 8.0, 262.0, 30.0, 16.0
LINE = 15.0


@dataclass(frozen=True)
class Lock:
    """A row of the table of locks in docs/driver.md. A row may name several locks."""

    names: tuple[str, ...]
    kind: str  # the text in parentheses behind the names, for example "semaphore"; "": none
    room: str  # text of the column "folder"
    # "yes": memory reclaim or an MMU notifier may wait for the locks. "no": neither may wait. "other": the
    # table's last column begins with neither "yes" nor "no".
    waited: str


def locks(page: str) -> list[Lock]:
    """Return the rows of the table of locks, outermost lock first. Raises Failure if the page has no such table."""
    part = page.partition(f"\n{HEADING}\n")[2].partition("\n## ")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in part.splitlines() if line.startswith("|")]
    if len(rows) < 3 or rows[0] != HEAD:
        raise Failure(f"docs: {SOURCE}: no table with the columns {', '.join(HEAD)} below '{HEADING}'")
    found = []
    for name, room, _, waited in rows[2:]:
        kind = match[1] if (match := re.search(r"\(([^)]*)\)$", name)) else ""
        plain = name.removesuffix(f"({kind})").strip()
        names = re.findall(r"`([^`]+)`", plain) if plain.startswith("`") else [plain.replace("`", "")]
        word = re.split(r"\W", waited)[0]
        found.append(Lock(tuple(names), kind, room, word if word in ("yes", "no") else "other"))
    return found


def _height(lock: Lock) -> float:
    return LINE * (len(lock.names) + 1) + 8


def _columns(found: list[Lock]) -> list[list[Lock]]:
    """Divide the locks into columns of about the same height."""
    most = sum(map(_height, found)) / COLUMNS
    columns: list[list[Lock]] = [[]]
    filled = 0.0
    for one in found:
        if len(columns) < COLUMNS and filled + _height(one) / 2 > most * len(columns):
            columns.append([])
        columns[-1].append(one)
        filled += _height(one)
    return columns


def render(page: str) -> str:
    """Return the lock order as SVG: the locks in columns, numbered, with an arrow from each to the next. `page` is the
    text of docs/driver.md."""
    columns = _columns(locks(page))
    height = max(sum(_height(one) + BETWEEN for one in column) for column in columns)
    root = svg.picture(len(columns) * WIDTH + (len(columns) - 1) * GAP + 2 * MARGIN, height + 2 * MARGIN)
    count = 0
    for index, column in enumerate(columns):
        x, y = MARGIN + index * (WIDTH + GAP), MARGIN
        for place, one in enumerate(column):
            count += 1
            svg.box(root, x, y, WIDTH, _height(one), {"yes": "warn", "other": "memory"}.get(one.waited, ""))
            for number, name in enumerate(one.names):
                label = f"{count}  {name}" if not number else name
                svg.text(root, x + 8, y + LINE * (number + 1), label, svg.SMALL, "start")
            about = ", ".join(filter(None, (one.room, one.kind)))
            svg.text(root, x + WIDTH - 8, y + LINE * (len(one.names) + 1), about, 10, "end")
            y += _height(one)
            if place < len(column) - 1:
                svg.arrow(root, (x + WIDTH / 2, y), (x + WIDTH / 2, y + BETWEEN))
            elif index < len(columns) - 1:
                side = x + WIDTH + GAP / 2
                svg.line(root, (x + WIDTH / 2, y), (x + WIDTH / 2, y + BETWEEN / 2))
                svg.line(root, (x + WIDTH / 2, y + BETWEEN / 2), (side, y + BETWEEN / 2))
                svg.line(root, (side, y + BETWEEN / 2), (side, MARGIN + LINE))
                svg.arrow(root, (side, MARGIN + LINE), (x + WIDTH + GAP, MARGIN + LINE))
            y += BETWEEN
    return svg.drawn(root)
