# SPDX-License-Identifier: GPL-2.0-or-later
"""Draws the picture svm-life: two panels in which time runs downwards, with a row for each event
and a lane for each object.

The rows are equally high. Only the axis at the left is to scale.
"""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from vgpu_tools.docs.site.axis import Numbers, ticks
from vgpu_tools.docs.site.style import BAND, BLUE, GREEN, GREY, GRID, NOTE, ORANGE, PURPLE, RED, TEXT, footer

WIDTH, PITCH = 440.0, 14.5  # width of the picture and height of a row, in points
HEAD, FOOT = 88.0, 20.0  # height of a panel's title and headings, and of the footer
# Distances from the picture's left edge, in points. AXIS: the time axis. LEADER: the left edge of the rows; lines lead
# from the axis to this edge. TIMES: the right edge of the event's time in each row.
AXIS, LEADER, TIMES = 40.0, 62.0, 102.0
FIRST, LANE = 114.0, 14.5  # first lane, and the width of a lane
BAR, MARK = 4.2, 4.6  # width of a bar, and size of a mark
COLORS = {
    "program": GREY,
    "process": BLUE,
    "range list": PURPLE,
    "range A": GREEN,
    "range B": GREEN,
    "notifier": RED,
    "fault": ORANGE,
    "migration": GREEN,
}


def draw(data: Numbers, run: Numbers) -> Figure:
    """Draw the panels one below the other. The height of a panel depends on its number of
    events."""
    rows = [len(panel["marks"]) for panel in data["panels"]]
    height = FOOT + sum(HEAD + number * PITCH for number in rows)
    figure = Figure(figsize=(WIDTH / 72, height / 72))
    top = height
    for panel, number in zip(data["panels"], rows, strict=True):
        bottom = top - HEAD - number * PITCH
        axes = figure.add_axes((0.0, bottom / height, 1.0, (top - bottom) / height))
        axes.set_axis_off()
        axes.set_xlim(0, WIDTH)
        axes.set_ylim(number - 0.5, -0.5 - HEAD / PITCH)
        _panel(axes, panel, data["lanes"])
        top = bottom
    footer(figure, run)
    return figure


def _panel(axes: Axes, panel: Numbers, lanes: Sequence[str]) -> None:
    places = {lane: FIRST + number * LANE for number, lane in enumerate(lanes)}
    marks = panel["marks"]
    axes.text(8, -0.5 - (HEAD - 22) / PITCH, panel["title"], fontsize=9.5, fontweight="bold", va="center")
    for lane, x in places.items():
        axes.text(x - 2, -0.9, lane, rotation=55, ha="left", va="bottom", rotation_mode="anchor", color=COLORS[lane])
    axes.text(TIMES, -0.95, "µs", ha="right", va="center", color=NOTE)
    _axis(axes, panel)
    for number, mark in enumerate(marks):
        if number % 2 == 0:
            axes.broken_barh([(LEADER, WIDTH - LEADER)], (number - 0.5, 1.0), facecolor=BAND, zorder=0)
        axes.text(TIMES, number, f"{mark['at']:,.0f}".replace(",", "\u202f"), ha="right", va="center")
        label = f"{mark['lane']}: {mark['text']}"
        axes.text(FIRST + len(lanes) * LANE, number, label, va="center", color=TEXT, fontsize=8.5)
    for bar in panel["bars"]:
        begin, end = _row(marks, bar, "begin", -0.6), _row(marks, bar, "end", len(marks) - 0.45)
        color = COLORS[bar["lane"]]
        x = places[bar["lane"]] - BAR / 2
        axes.broken_barh([(x, BAR)], (begin, end - begin), facecolor=color, alpha=0.45, linewidth=0, zorder=2)
    for number, mark in enumerate(marks):
        x, color = places[mark["lane"]], COLORS[mark["lane"]]
        axes.plot([x], [number], marker="o", markersize=MARK, color=color, zorder=3)


def _row(marks: Sequence[Numbers], bar: Numbers, end: str, outside: float) -> float:
    """Return the row where a bar begins or ends. `end` is "begin" or "end". The bar begins or ends at a mark (event) in
    the bar's lane (column), at the time `bar[end]`. If there is no such mark, return `outside`."""
    # Several marks may match. The bar begins at the first of them or ends at the last.
    rows = [row for row, mark in enumerate(marks) if (mark["lane"], mark["at"]) == (bar["lane"], bar[end])]
    return float(rows[0 if end == "begin" else -1]) if rows else outside


def _axis(axes: Axes, panel: Numbers) -> None:
    """Draw the axis to scale. Draw a line from each event's time on the axis to the event's row."""
    last, length = len(panel["marks"]) - 1, panel["length"] or 1.0
    axes.plot([AXIS, AXIS], [0, last], color=NOTE, linewidth=0.8)
    for tick in ticks(length):
        y = last * tick / length
        axes.plot([AXIS - 3, AXIS], [y, y], color=NOTE, linewidth=0.8)
        axes.text(AXIS - 5, y, f"{tick:g}", ha="right", va="center", fontsize=7.5, color=NOTE)
    for number, mark in enumerate(panel["marks"]):
        xs, ys = [AXIS, AXIS + 4, LEADER - 2, LEADER], [last * mark["at"] / length] * 2 + [number] * 2
        axes.plot(xs, ys, color=GREY, linewidth=0.5)
    axes.plot([LEADER, LEADER], [-0.5, last + 0.5], color=GRID, linewidth=0.5)
