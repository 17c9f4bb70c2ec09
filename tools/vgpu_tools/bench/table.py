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
    if row.bar is not None and ratio is not None:
        met = ratio <= row.bar if row.lower_is_better else ratio >= row.bar
        text = f"{'≤' if row.lower_is_better else '≥'} {row.bar:g} x"
    elif row.absolute_bar is not None:
        met = result.median <= row.absolute_bar if row.lower_is_better else result.median >= row.absolute_bar
        sign = "≤" if row.lower_is_better else "≥"
        text = f"{sign} {row.absolute_bar:g} {result.unit}"
    else:
        return ""
    return f"[green]✓[/] {text}" if met else f"[red]✗[/] {text}"


def show(results: Results, console: Console) -> list[str]:
    """Print the table. Return the labels of rows without a measurement."""
    table = Table(title="vgpu-kfd benchmarks (medians)", title_justify="left")
    table.add_column("what")
    for title in ("size", "median", "unit", "range", "ratio"):
        table.add_column(title, justify="left" if title == "unit" else "right")
    table.add_column("against")
    table.add_column("bar")
    missing = []
    previous = ""
    for row in rows(results):
        result = results.get(row.key)
        if result is None:
            missing.append(f"{row.label} ({row.key.unit})")
            continue
        other = results.get(row.against) if row.against else None
        ratio = result.median / other.median if other and other.median else None
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
            judge(row, result, ratio),
        )
        previous = row.label
    console.print(table)
    return missing
