# SPDX-License-Identifier: GPL-2.0-or-later
"""Draws the picture "fault-path": the hops of a lone fault from its raise to its replay, one below the other, at the
sums of the medians before them. A second panel has an earlier measurement, on the same axis."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from vgpu_tools.docs.site.axis import Numbers, ticks
from vgpu_tools.docs.site.style import BAND, BLUE, GREY, NOTE, ORANGE, RED, TEXT, footer

WIDTH, ROW = 8.4, 0.19  # width of the picture, and height of a row, in inches
TITLE, AXIS, FOOT = 0.56, 0.5, 0.22  # height of a panel's title and of its axis, and of the footer
LEFT, RIGHT = 0.315, 0.985  # bounds of the axis, in parts of the width
BAR = 0.62  # height of a bar, in rows
ROOM = 1.17  # length of the axis, in lengths of the longest fault: room for the text after the last bar
# Colour and text of each kind of wake-up (stations.Wakes)
KINDS = {
    "NOBODY": (GREY, "wakes nobody"),
    "HOST": (BLUE, "wakes a host thread"),
    "VCPU": (RED, "wakes a halted virtual CPU"),
    "OTHER_VCPU": (ORANGE, "wakes another halted virtual CPU"),
}


def draw(data: Numbers, run: Numbers) -> Figure:
    """Draw the panels."""
    panels = data["panels"]
    heights = [TITLE + AXIS + ROW * len(panel["rows"]) for panel in panels]
    height = sum(heights) + FOOT
    figure = Figure(figsize=(WIDTH, height))
    longest = max([1.0, *(row["begin"] + max(row["us"], row["high"]) for panel in panels for row in panel["rows"])])
    top = height
    for panel, tall in zip(panels, heights, strict=True):
        bottom = top - tall + AXIS
        axes = figure.add_axes((LEFT, bottom / height, RIGHT - LEFT, ROW * len(panel["rows"]) / height))
        _panel(axes, panel, longest)
        top -= tall
    footer(figure, run)
    return figure


def _panel(axes: Axes, panel: Numbers, longest: float) -> None:
    rows = panel["rows"]
    axes.set_xlim(0, longest * ROOM)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    for number, row in enumerate(rows):
        if number % 2 == 0:
            axes.broken_barh([(0, longest * ROOM)], (number - 0.5, 1.0), facecolor=BAND, linewidth=0, zorder=0)
        begin, us = row["begin"], row["us"]
        color, _ = KINDS[row["wakes"]]
        thin = longest * 0.002
        axes.broken_barh([(begin, max(us, thin))], (number - BAR / 2, BAR), facecolor=color, linewidth=0, zorder=2)
        axes.plot([begin + row["low"], begin + row["high"]], [number, number], color=TEXT, linewidth=0.8, zorder=3)
        end = begin + max(us, row["high"])
        axes.text(end + longest * 0.008, number, f"{us:.3g} µs, {row['share']:.0f} %", va="center", fontsize=7.5)
    axes.set_yticks(range(len(rows)), [row["name"] for row in rows])
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    marks = ticks(longest)
    axes.set_xticks(marks, [f"{tick:g}" for tick in marks])
    note = f"µs from the raise, traced; clocks joined within {panel['clock']:.0f} µs; line: 10 to 90 % of the faults"
    axes.set_xlabel(note, fontsize=7.5, color=NOTE)
    axes.annotate(
        panel["title"], (-LEFT / (RIGHT - LEFT) + 0.01, 1.0), xycoords="axes fraction", xytext=(0, 28),
        textcoords="offset points", fontweight="bold", va="center",
    )  # fmt: skip
    used = [kind for kind in KINDS if any(row["wakes"] == kind for row in rows)]
    for kind in used:
        axes.barh(0, 0, color=KINDS[kind][0], label=KINDS[kind][1])  # an empty bar, for the legend
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=len(used), borderaxespad=0.1, handlelength=1.0)
