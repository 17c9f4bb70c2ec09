# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the curves of two runs, and marks values and exponents that differ beyond the spread.

A value at one n differs if the ranges of its samples do not overlap (compare.py; a point has few samples, so its spread
is the whole range). Fewer than MIN_SAMPLES samples are not judged; this is often so at the largest n, where one sample
takes long. An exponent differs if the intervals of EXPONENT_ERRORS standard errors around it do not overlap. The
exponents of curves with fewer than EXPONENT_POINTS points are not judged, because their standard error is not known.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text

from vgpu_tools.bench.compare import MIN_SAMPLES, Spread, mark
from vgpu_tools.bench.curves import CurveFile, Measured, Point
from vgpu_tools.bench.table import number

EXPONENT_ERRORS = 2.0
EXPONENT_POINTS = 4


@dataclass(frozen=True)
class Change:
    """A value of a curve in both runs, at a number n; or the curve's exponent, if n is None. The spread of an exponent
    has the number of points as its samples. Lower is better: all curves are costs."""

    curve: Measured
    n: int | None
    before: Spread
    now: Spread

    @property
    def judged(self) -> bool:
        """Whether both runs have enough samples, or points."""
        return min(self.before.samples, self.now.samples) >= (MIN_SAMPLES if self.n is not None else EXPONENT_POINTS)

    @property
    def differs(self) -> bool:
        """Whether the values differ beyond the spread."""
        return self.judged and self.before.apart(self.now)

    @property
    def better(self) -> bool:
        """Whether the value is lower than before."""
        return self.now.value < self.before.value


def _value(point: Point) -> Spread:
    return Spread(point.median, point.lowest, point.highest, point.samples)


def _exponent(curve: Measured) -> Spread | None:
    if not curve.fit:
        return None
    error = EXPONENT_ERRORS * curve.fit.error
    return Spread(curve.fit.exponent, curve.fit.exponent - error, curve.fit.exponent + error, len(curve.points))


def changes(base: CurveFile, now: CurveFile) -> Iterator[Change]:
    """Yield the exponent and the values of each curve that both runs have, in the order of this run."""
    earlier = {curve.name: curve for curve in base.curves}
    for curve in now.curves:
        before = earlier.get(curve.name)
        if not before or before.unit != curve.unit:
            continue
        was, is_now = _exponent(before), _exponent(curve)
        if was and is_now:
            yield Change(curve, None, was, is_now)
        points = {point.n: point for point in before.points}
        for point in curve.points:
            if point.n in points:
                yield Change(curve, point.n, _value(points[point.n]), _value(point))


def only_in(one: CurveFile, other: CurveFile) -> list[str]:
    """Return a text for each curve that has points which the other run does not have."""
    known = {(curve.name, point.n) for curve in other.curves for point in curve.points}
    found = []
    for curve in one.curves:
        if only := [f"{point.n:,}" for point in curve.points if (curve.name, point.n) not in known]:
            found.append(f"{curve.label}, {', '.join(only)} {curve.x}")
    return found


def _cells(change: Change) -> list[str]:
    before, now = change.before, change.now
    marked = mark(change.differs, change.better)
    if change.n is None:
        values = [f"{one.value:.2f} ({one.low:.2f} … {one.high:.2f})" for one in (before, now)]
        difference = f"{now.value - before.value:+.2f}"
        return ["exponent", *values, "", difference, marked if change.judged else "few points"]
    values = [f"{number(one.value)} ({number(one.low)} … {number(one.high)})" for one in (before, now)]
    times = f"{now.value / before.value:.2f} x" if before.value else ""
    cells = [f"{change.n:,} {change.curve.x}", *values, change.curve.unit, times]
    return [*cells, marked if change.judged else "few samples"]


def _counted(found: Sequence[Change], what: str, few: str) -> str:
    differ = [change for change in found if change.differs]
    better = sum(change.better for change in differ)
    text = f"{len(differ)} of {len(found)} {what} differ beyond the spread: {better} better"
    text += f", {len(differ) - better} worse"
    unjudged = sum(not change.judged for change in found)
    return f"{text}; {unjudged} have fewer than {few} and are not judged" if unjudged else text


def summary(found: Sequence[Change]) -> list[str]:
    """Return a sentence with the number of values that differ, and one with the number of exponents."""
    values = [change for change in found if change.n is not None]
    exponents = [change for change in found if change.n is None]
    return [
        _counted(values, "values", f"{MIN_SAMPLES} samples"),
        _counted(exponents, "exponents", f"{EXPONENT_POINTS} points"),
    ]


def show(base: CurveFile, now: CurveFile, name: str, console: Console) -> None:
    """Print all curves of this run beside those of an earlier run. `name` is the earlier run's file."""
    found = list(changes(base, now))
    table = Table(title=Text(f"compared with {name} of {base.date}, commit {base.commit}"), title_justify="left")
    table.add_column("cost")
    for title in ("n", "before (spread)", "now (spread)", "unit", "now"):
        table.add_column(title, justify="left" if title == "unit" else "right")
    table.add_column("differs")
    previous = ""
    for change in found:
        label = change.curve.label
        if previous and label != previous:
            table.add_section()
        table.add_row(label if label != previous else "", *_cells(change))
        previous = label
    console.print(table)
    for what in ("machine", "processor"):
        before, after = getattr(base, what), getattr(now, what)
        if before != after:
            text = f"other host: {what}: {before or 'not known'}, now {after or 'not known'}"
            console.print(text, style="yellow", highlight=False, markup=False)
    for title, texts in (("not in this run", only_in(base, now)), ("not in the earlier run", only_in(now, base))):
        for text in texts:
            console.print(f"{title}: {text}", highlight=False, markup=False)
    for text in summary(found):
        console.print(text, highlight=False, markup=False)
