# SPDX-License-Identifier: GPL-2.0-or-later
"""Draws the curves of ./vgpu bench-curves: `python -m vgpu_tools.docs.site.growth_pictures FOLDER`. Reads the JSON file
of the curves from standard input. The same numbers give the same SVG files.

A picture has the curves of one group, each on its own logarithmic axes: medians with the range of the samples, and the
curve's law from the first point on as a dashed line. A curve above its bar is red, and one whose bar is undecided is
grey.
"""

import json
import math
import sys
import textwrap
from pathlib import Path

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from vgpu_tools.docs.site.axis import Numbers
from vgpu_tools.docs.site.run_pictures import WIDTH, svg
from vgpu_tools.docs.site.style import BLUE, GREY, NOTE, RED, SETTINGS, footer

COLUMNS = 3
ROW_INCHES, FOOTER_INCHES = 2.3, 0.2  # heights of a row with its texts, and of the footer
ABOVE, BELOW, LEFT, RIGHT = 0.5, 0.45, 0.6, 0.1  # inches around the axes of a curve
TICKS = 4  # most labels of a horizontal axis
FLAT, SAME = 30, 1.2  # ratios of highest and lowest value: few powers of ten between them; labels would overlap
LINE = 38  # most characters of a line above the axes


def count(n: int) -> str:
    """Return a number for the horizontal axis: 1000 -> "1k"."""
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if n >= size and not n % (size // 10):
            return f"{n / size:g}{letter}"
    return str(n)


def law(curve: Numbers) -> list[float]:
    """Return the curve's law at its points. The law has the median of the first point there."""
    numbers = [point["n"] for point in curve["points"]]
    power = 1.0 if curve["law"].startswith("n") else 0.0
    raw = [n**power * (1.0 + math.log2(n) if "log" in curve["law"] else 1.0) for n in numbers]
    return [curve["points"][0]["median"] * value / raw[0] for value in raw]


def title(curve: Numbers) -> str:
    """Return the lines above a curve: its label, exponent and bar."""
    fit = curve["fit"]
    said = f"exponent {fit['exponent']:.2f} ± {fit['error']:.2f}" if fit else "too few points"
    below = curve.get("below")
    last = f"{said}; bar: {curve['law']}" if below is None else f"below {below:.3g} B each"
    return "\n".join([*textwrap.wrap(curve["label"], LINE), last])


def _ticks(axes: Axes, numbers: list[int]) -> None:
    step = math.ceil(len(numbers) / TICKS)
    shown = numbers[::-1][::step][::-1]  # the last number has a label
    axes.set_xticks(shown, [count(n) for n in shown])


def _value_ticks(axes: Axes, values: list[float]) -> None:
    """Label the lowest and the highest value of a curve that spans so little that its axis may have no power of ten."""
    least, most = min(values), max(values)
    if most < FLAT * least:
        shown = [least, most] if most > SAME * least else [most]
        axes.set_yticks(shown, [f"{value:.3g}" for value in shown])


def draw_one(axes: Axes, curve: Numbers) -> None:
    """Draw a curve."""
    axes.set_title(title(curve), fontsize=7)
    axes.set_xlabel(curve["x"], fontsize=7)
    axes.set_ylabel(curve["unit"], fontsize=7)
    axes.tick_params(labelsize=6.5)
    points = curve["points"]
    if not points:
        said = "no points" if curve.get("below") is None else "the growth is not resolved"
        axes.text(0.5, 0.5, said, transform=axes.transAxes, ha="center", color=NOTE)
        axes.set_xticks([], [])
        axes.set_yticks([], [])
        return
    fit = curve["fit"]
    color = GREY if not fit or not fit["sure"] else BLUE if fit["met"] else RED
    numbers, medians = [point["n"] for point in points], [point["median"] for point in points]
    # A range that reaches zero has no place on the axis: end its bar at a tenth of the median.
    below = [point["median"] - max(point["lowest"], point["median"] / 10) for point in points]
    above = [point["highest"] - point["median"] for point in points]
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.plot(numbers, law(curve), color=GREY, linewidth=0.9, linestyle=(0, (4, 3)))
    axes.errorbar(numbers, medians, [below, above], color=color, linewidth=1.2, marker="o", markersize=3, capsize=2)
    axes.minorticks_off()
    _ticks(axes, numbers)
    _value_ticks(axes, medians)
    axes.grid(axis="y")
    axes.set_axisbelow(True)


def draw(found: list[Numbers], run: Numbers) -> Figure:
    """Draw the curves of a group side by side, in rows of COLUMNS."""
    height = math.ceil(len(found) / COLUMNS) * ROW_INCHES + FOOTER_INCHES
    figure = Figure(figsize=(WIDTH, height))
    column = WIDTH / COLUMNS
    for number, curve in enumerate(found):
        left = number % COLUMNS * column + LEFT
        bottom = height - (number // COLUMNS + 1) * ROW_INCHES + BELOW
        wide, high = column - LEFT - RIGHT, ROW_INCHES - ABOVE - BELOW
        draw_one(figure.add_axes((left / WIDTH, bottom / height, wide / WIDTH, high / height)), curve)
    footer(figure, run)
    return figure


def main() -> None:
    """Draw all groups."""
    folder, data = Path(sys.argv[1]), json.load(sys.stdin)
    matplotlib.rcParams.update(SETTINGS)
    for group in dict.fromkeys(curve["group"] for curve in data["curves"]):
        found = [curve for curve in data["curves"] if curve["group"] == group]
        text = "; ".join(" ".join(title(curve).split()) for curve in found)
        (folder / f"{group}.svg").write_text(svg(draw(found, data), f"growth-{group}", {"text": text}, data))


if __name__ == "__main__":
    main()
