# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes the Markdown of generated pages: tables and headings."""

from collections.abc import Iterable, Sequence

from vgpu_tools.base.errors import Failure


def code(text: str) -> str:
    """Return `text` as Markdown's inline code. An empty text gets no backticks, so that its table
    cell stays empty."""
    return f"`{text}`" if text else ""


def _cell(text: str) -> str:
    """Return a text as the content of a cell: one line, with its pipes escaped."""
    return " ".join(text.split()).replace("|", "\\|")


def table(title: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table. The cells of `rows` are Markdown; `title` names the table in messages.

    Raises Failure if a row has not as many cells as `head`, or if there are no rows.
    """
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for row in rows:
        if len(row) != len(head):
            raise Failure(f"docs: a row of the table '{title}' has {len(row)} cells, not {len(head)}: {row[0]}")
        lines.append(f"| {' | '.join(map(_cell, row))} |")
    if len(lines) == 2:
        raise Failure(f"docs: the table '{title}' is empty; the parser does not understand its source any more")
    return "\n".join(lines) + "\n"


def page(title: str, *blocks: str) -> str:
    """Return a page in Markdown. Each of `blocks` is Markdown, for example a heading, a paragraph or a table. Empty
    blocks are left out."""
    return "\n\n".join((f"# {title}", *(block.strip() for block in blocks if block.strip()))) + "\n"
