# SPDX-License-Identifier: GPL-2.0-or-later
"""Computes the axis of the demo's timeline, on which each step is a column whose width grows with
the square root of the step's duration. Also formats times as text, and computes the ticks of other
axes."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

COLUMN, GAP = 30.0, 3.0  # least width of a step, and of the time between two steps
LENGTH = 1000.0  # length of the axis, in its own units
MERGED = 0.4  # bars that are closer than this are drawn as one

Numbers = dict[str, Any]


def duration(ms: float) -> str:
    """Return a duration in ms or s, with two significant digits or as a whole number."""
    if ms >= 1000:
        return f"{ms / 1000:.2g} s" if ms < 9950 else f"{ms / 1000:.0f} s"
    return f"{ms:.2g} ms" if ms < 99.5 else f"{ms:.0f} ms"


def microseconds(us: float) -> str:
    """Return a time in µs as text with a unit (µs, ms or s)."""
    return duration(us / 1000) if us >= 999.5 else f"{us:.0f} µs"


def ticks(length: float, most: int = 6) -> list[float]:
    """Return the ticks of an axis from 0 to `length`. The distance between two ticks is 1, 2 or 5 times a power of ten,
    and fits at most `most` times into the axis."""
    step = 10.0 ** math.floor(math.log10(max(length, 1.0) / most))
    step *= next(times for times in (1, 2, 5, 10) if length / (step * times) <= most)
    return [number * step for number in range(int(length / step + 1e-9) + 1)]


class Warp:
    """The axis of the demo's timeline, from first to last step. Each step has its own scale. A gap is the time between
    two steps. A gap is drawn narrower than a step that takes equally long."""

    def __init__(self, steps: Sequence[Numbers]) -> None:
        pieces: list[tuple[float, float, float, Numbers | None]] = []  # begin, end, weight, step
        at = steps[0]["begin"]
        for step in steps:
            if step["begin"] > at:
                pieces.append((at, step["begin"], 0.4, None))
            at = max(at, step["end"])
            pieces.append((step["begin"], at, 1.0, step))
        least = sum(COLUMN if piece[3] else GAP for piece in pieces)
        roots = sum(weight * math.sqrt(end - begin) for begin, end, weight, _ in pieces) or 1.0
        scale = max(0.0, LENGTH - least) / roots
        # Each step or gap as (begin, end) in ms, followed by (begin, end) on the axis.
        self.pieces: list[tuple[float, float, float, float]] = []
        self.columns: list[tuple[float, float, Numbers]] = []
        x = 0.0
        for begin, end, weight, column in pieces:
            to = x + (COLUMN if column else GAP) + scale * weight * math.sqrt(end - begin)
            self.pieces.append((begin, end, x, to))
            if column:
                self.columns.append((x, to, column))
            x = to
        self.length = x

    def place(self, ms: float) -> float:
        """Return the position of a time on the axis. A time before or after the axis has the
        position of the nearer end."""
        for begin, end, x, to in self.pieces:
            if ms <= end:
                return x + (to - x) * max(0.0, (ms - begin) / (end - begin)) if end > begin else x
        return self.length

    def between(self, memory: Numbers) -> Numbers:
        """Return the samples in `memory` from the start to the end of the axis. If `memory` has samples
        from before the start, the last such sample is moved to the start. The last sample of the result
        is repeated at the end of the axis."""
        first, last = self.pieces[0][0], self.pieces[-1][1]
        samples = list(zip(memory["times"], memory["vram"], memory["gtt"], strict=True))
        before = [(first, *values) for at, *values in samples if at < first][-1:]
        inside = before + [sample for sample in samples if first <= sample[0] <= last]
        inside += [(last, *values) for _, *values in inside[-1:]]
        times, vram, gtt = map(list, zip(*inside, strict=True)) if inside else ([], [], [])
        return {"size": memory["size"], "times": times, "vram": vram, "gtt": gtt}

    def bars(self, spans: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
        """Return spans as (begin, length) on the axis, without spans outside of the axis. Spans closer than MERGED are
        joined."""
        first, last = self.pieces[0][0], self.pieces[-1][1]
        joined: list[list[float]] = []
        for begin, end in sorted(spans):
            if end < first or begin > last:
                continue
            x, to = self.place(begin), self.place(end)
            if joined and x - joined[-1][1] < MERGED:
                joined[-1][1] = max(joined[-1][1], to)
            else:
                joined.append([x, to])
        return [(x, max(to - x, MERGED)) for x, to in joined]
