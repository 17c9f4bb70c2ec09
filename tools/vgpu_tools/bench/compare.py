# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the results of two runs of the benchmarks, and marks rows that differ beyond the spread.

The statistic: a row differs if the spreads of its samples do not overlap. The spread is the interquartile range. For
fewer than QUARTILE_SAMPLES samples it is the whole range: of two sets of five samples from the same distribution, one
in five has quartiles that do not overlap, but only one in a hundred has ranges that do not. Results without quartiles
(older files) also have the whole range. The ratio of a row to its reference differs if the ranges of the ratio do not
overlap: from low / high of the reference to high / low of the reference. Fewer than MIN_SAMPLES samples, of the row or
for a ratio of the reference, are not judged, because the spread of so few is not known.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text

from vgpu_tools.bench.document import Document
from vgpu_tools.bench.rows import Result, Results, Row, rows
from vgpu_tools.bench.table import number, size_text

MIN_SAMPLES = 3
QUARTILE_SAMPLES = 8


@dataclass(frozen=True)
class Spread:
    """A value with the range in which half of its samples are, or all if they are few. A ratio has the smaller number
    of samples of its two results."""

    value: float
    low: float
    high: float
    samples: int

    def apart(self, other: "Spread") -> bool:
        """Return whether the ranges do not overlap. False if there are too few samples."""
        enough = min(self.samples, other.samples) >= MIN_SAMPLES
        return enough and (self.high < other.low or other.high < self.low)


@dataclass(frozen=True)
class Change:
    """A row in both runs: the values before and now, and whether they differ beyond the spread."""

    row: Row
    before: Result
    now: Result
    before_ratio: Spread | None  # to the row's reference in the same run; None: without a reference
    now_ratio: Spread | None

    @property
    def judged(self) -> bool:
        """Whether both runs have enough samples of the row."""
        return min(self.before.samples, self.now.samples) >= MIN_SAMPLES

    @property
    def differs(self) -> bool:
        """Whether the value differs beyond the spread."""
        return spread(self.before).apart(spread(self.now))

    @property
    def ratio_differs(self) -> bool:
        """Whether the ratio to the reference differs beyond the spread."""
        before, now = self.before_ratio, self.now_ratio
        return before is not None and now is not None and before.apart(now)

    @property
    def better(self) -> bool:
        """Whether the value has changed in the wanted direction."""
        return (self.now.median < self.before.median) == lower_is_better(self.row)


def lower_is_better(row: Row) -> bool:
    """Return whether a smaller result is the better one. Rows without a goal: rates are better if they are higher,
    times and sizes if they are lower."""
    if row.bar is not None or row.absolute_bar is not None:
        return row.lower_is_better
    return not row.key.unit.endswith("/s")


def spread(result: Result) -> Spread:
    """Return a result with its interquartile range, or with its whole range if it has few samples or no quartiles."""
    low, high = result.lower_quartile, result.upper_quartile
    if low is None or high is None or result.samples < QUARTILE_SAMPLES:
        low, high = result.lowest, result.highest
    return Spread(result.median, low, high, result.samples)


def ratio(result: Result, results: Results, row: Row) -> Spread | None:
    """Return the ratio of a row's result to its reference; None if there is no reference above zero."""
    other = results.get(row.against) if row.against else None
    if not other:
        return None
    above, below = spread(result), spread(other)
    if min(below.low, below.value) <= 0:
        return None
    samples = min(above.samples, below.samples)
    return Spread(above.value / below.value, above.low / below.high, above.high / below.low, samples)


def changes(before: Results, now: Results) -> Iterator[Change]:
    """Yield the rows that both runs have, from top to bottom."""
    for row in rows(before | now):
        old, new = before.get(row.key), now.get(row.key)
        if old and new:
            yield Change(row, old, new, ratio(old, before, row), ratio(new, now, row))


def only_in_one(before: Results, now: Results) -> tuple[list[str], list[str]]:
    """Return the labels of the rows that only the earlier run has, and of those that only this run has."""
    all_rows = rows(before | now)
    gone = [f"{row.label} ({row.key.unit})" for row in all_rows if row.key in before and row.key not in now]
    new = [f"{row.label} ({row.key.unit})" for row in all_rows if row.key in now and row.key not in before]
    return list(dict.fromkeys(gone)), list(dict.fromkeys(new))


def mark(differs: bool, better: bool) -> str:
    """Return the text that marks a difference."""
    if not differs:
        return ""
    return "[green]better[/]" if better else "[red]worse[/]"


def _value(result: Result) -> str:
    found = spread(result)
    return f"{number(result.median)} ({number(found.low)} … {number(found.high)})"


def _cells(change: Change) -> list[str]:
    """Return the cells of a change after its label."""
    before, now, row = change.before, change.now, change.row
    times = f"{now.median / before.median:.2f} x" if before.median else ""
    ratios, ratio_mark = "", ""
    if change.before_ratio and change.now_ratio:
        ratios = f"{change.before_ratio.value:.2f} → {change.now_ratio.value:.2f} {row.against_label}"
        ratio_better = (change.now_ratio.value < change.before_ratio.value) == lower_is_better(row)
        ratio_mark = mark(change.ratio_differs, ratio_better)
    judged = mark(change.differs, change.better) if change.judged else "few samples"
    return [size_text(now.bytes), _value(before), _value(now), now.unit, times, judged, ratios, ratio_mark]


def summary(found: list[Change]) -> str:
    """Return a sentence with the numbers of rows that differ. A result that is in two rows counts once."""
    once = list({change.row.key: change for change in found}.values())
    differ = [change for change in once if change.differs]
    better = sum(change.better for change in differ)
    unjudged = sum(not change.judged for change in once)
    ratios = sum(change.ratio_differs for change in found)
    text = f"{len(differ)} of {len(once)} results differ beyond the spread: {better} better"
    text += f", {len(differ) - better} worse; {ratios} ratios to a reference differ"
    return f"{text}; {unjudged} have fewer than {MIN_SAMPLES} samples and are not judged" if unjudged else text


def show(base: Document, now: Document, name: str, console: Console) -> None:
    """Print a table of all rows of this run beside those of an earlier run. `name` is the earlier run's file."""
    before, after = base.by_key(), now.by_key()
    found = list(changes(before, after))
    table = Table(title=Text(f"compared with {name} of {base.time}"), title_justify="left")
    table.add_column("what")
    for title in ("size", "before (spread)", "now (spread)", "unit", "now"):
        table.add_column(title, justify="left" if title == "unit" else "right")
    for title in ("differs", "ratio to the reference", "differs"):
        table.add_column(title)
    for change in found:
        table.add_row(change.row.label, *_cells(change))
    console.print(table)
    for sentence in now.hosts_differ(base):
        console.print(f"other host or guests: {sentence}", style="yellow", highlight=False, markup=False)
    if any(result.lower_quartile is None for result in base.results):
        note = f"{name} has no quartiles: its whole ranges are used"
        console.print(note, style="yellow", highlight=False, markup=False)
    for title, labels in zip(("not in this run", "not in the earlier run"), only_in_one(before, after), strict=True):
        for label in labels:
            console.print(f"{title}: {label}", highlight=False, markup=False)
    console.print(summary(found), highlight=False, markup=False)
