# SPDX-License-Identifier: GPL-2.0-or-later
"""Prints results as a table. Each result has its range, the ratio to its reference, and whether
it reaches its bar (its goal)."""

from rich.console import Console
from rich.table import Table

from vgpu_tools.bench.rows import MIB, Result, Results, Row, rows


def size_text(size: int) -> str:
    """Return a size in KiB or MiB: 4096 -> "4 KiB"; empty for 0."""
    if not size:
        return ""
    return f"{size // MIB} MiB" if size >= MIB else f"{size // 1024} KiB"


def number(value: float) -> str:
    """Return a number as text: as a whole number if it rounds to 1000 or more, else with three
    significant digits."""
    if value >= 999.5:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def judge(row: Row, result: Result, ratio: float | None) -> str:
    """Return the text of the last column: the row's goal (`bar` or `absolute_bar`), and whether the
    result meets the goal."""
    met = row.met(result, ratio)
    if met is None:
        return ""
    sign = "≤" if row.lower_is_better else "≥"
    goal = f"{row.bar:g} x" if row.bar is not None and ratio is not None else f"{row.absolute_bar:g} {result.unit}"
    return f"[green]✓[/] {sign} {goal}" if met else f"[red]✗[/] {sign} {goal}"


class Notes:
    """Explanations of the goals that a table's rows miss. An explanation is printed once, with a number."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._unexplained: list[str] = []

    def mark(self, row: Row) -> str:
        """Return the number of the explanation of a missed goal, for its cell; empty if there is no explanation."""
        if not row.why:
            self._unexplained.append(f"{row.label}, against {row.against_label}" if row.against_label else row.label)
            return ""
        if row.why not in self._texts:
            self._texts.append(row.why)
        return f" ({self._texts.index(row.why) + 1})"

    def show(self, console: Console) -> None:
        """Print the explanations by their numbers, and the missed goals that have none."""
        for position, text in enumerate(self._texts, 1):
            console.print(f"({position}) {text}", highlight=False, markup=False)
        if self._unexplained:
            text = "; ".join(dict.fromkeys(self._unexplained))
            console.print(f"missed goals without an explanation: {text}", highlight=False, markup=False)


def show(results: Results, console: Console) -> list[str]:
    """Print the table, and below it the explanations of missed goals. Return the labels of rows without a
    measurement."""
    table = Table(title="vgpu-kfd benchmarks (medians)", title_justify="left")
    table.add_column("what")
    for title in ("size", "median", "unit", "range", "ratio"):
        table.add_column(title, justify="left" if title == "unit" else "right")
    table.add_column("against")
    table.add_column("bar")
    missing = []
    notes = Notes()
    previous = ""
    for row in rows(results):
        result = results.get(row.key)
        if result is None:
            missing.append(f"{row.label} ({row.key.unit})")
            continue
        other = results.get(row.against) if row.against else None
        ratio = result.median / other.median if other and other.median else None
        note = notes.mark(row) if row.met(result, ratio) is False else ""
        if previous and row.label != previous:
            table.add_section()
        table.add_row(
            row.label if row.label != previous else "",
            size_text(result.bytes),
            number(result.median),
            result.unit,
            f"{number(result.lowest)} … {number(result.highest)}",
            f"{ratio:.2f} x" if ratio is not None else "",
            f"{row.against_label} {number(other.median)}" if other else "",
            judge(row, result, ratio) + note,
        )
        previous = row.label
    console.print(table)
    notes.show(console)
    return missing
