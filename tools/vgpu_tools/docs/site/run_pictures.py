# SPDX-License-Identifier: GPL-2.0-or-later
"""Draws the pictures of runs: `python -m vgpu_tools.docs.site.run_pictures FOLDER`. Reads numbers (trace/figures.py) as
JSON from standard input. The same numbers give the same SVG files.
"""

import io
import json
import re
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from vgpu_tools.docs.site import fault_picture, life_picture, path_picture
from vgpu_tools.docs.site.axis import Numbers, Warp, duration, microseconds
from vgpu_tools.docs.site.style import (
    BAND,
    BLUE,
    CARD,
    DARK,
    GREEN,
    GREY,
    NOTE,
    ORANGE,
    PURPLE,
    RED,
    SETTINGS,
    TEXT,
    footer,
)

WIDTH = 8.8  # inches: 634 points, which are 845 pixels
CHARACTER = 5.2  # mean width of a character of the smaller texts, in points, rounded up
LANES = (
    ("fault, raise to replay", ORANGE),
    ("fault, another end", RED),
    ("service", BLUE),
    ("replay", GREY),
    ("invalidation", GREY),
    ("SVM migrates to VRAM", GREEN),
    ("SVM migrates to system", PURPLE),
    ("BO moves to VRAM", GREEN),
    ("BO moves to GTT", PURPLE),
    ("queues off", RED),
)
HALF = 0.32  # half of a bar's height, in lanes
# Matches the digits after the second decimal of a coordinate. These digits are removed from the SVG,
# because a difference of less than 0.01 points cannot be seen.
LONG = re.compile(r"(?<=\.\d\d)\d+")


def _memory(axes: Axes, memory: Numbers, xs: Sequence[float]) -> None:
    axes.step(xs, memory["vram"], where="post", color=BLUE, linewidth=1.2, label="VRAM in use")
    axes.step(xs, memory["gtt"], where="post", color=ORANGE, linewidth=1.2, label="GTT in use")
    axes.axhline(memory["size"], color=BLUE, linewidth=0.8, linestyle=(0, (4, 3)), label="size of VRAM")
    axes.set_ylim(0, 1.1 * max([memory["size"], *memory["gtt"]]))
    axes.set_ylabel("MiB")
    axes.grid(axis="y")


def _legend(axes: Axes, columns: int) -> None:
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 0.98), ncols=columns, borderaxespad=0.0, handlelength=1.4)


def demo(data: Numbers, run: Numbers) -> Figure:
    """Draw the demo's timeline: a lane for each kind of event, and the memory in use below the
    lanes."""
    figure = Figure(figsize=(WIDTH, 5.6))
    lanes, memory = figure.subplots(2, 1, sharex=True, height_ratios=(3.2, 1.0))
    figure.subplots_adjust(left=0.185, right=0.95, top=0.86, bottom=0.125, hspace=0.13)
    warp = Warp(data["steps"])
    for axes in (lanes, memory):
        for x, to, _ in warp.columns:
            axes.axvspan(x, to, color=BAND, linewidth=0, zorder=0)
    points_per_unit = WIDTH * 72 * 0.765 / warp.length
    for part in data["parts"]:
        own = [(x, to) for x, to, step in warp.columns if step["name"].startswith(f"{part['name']}.")]
        x, to = own[0][0], own[-1][1]
        wide = max(8, int((to - x) * points_per_unit / CHARACTER))
        lines = textwrap.wrap(f"{part['name']}. {part['title']}", wide, max_lines=4, placeholder=" …")
        lanes.text(x, -1.5, "\n".join(lines), va="bottom", fontsize=7.5, fontweight="bold")
    for x, to, step in warp.columns:
        lanes.text((x + to) / 2, -0.85, step["name"], ha="center", va="center", fontsize=7.5)
    for lane, (name, color) in enumerate(LANES):
        spans = [*data["spans"].get(name, ()), *((at, at) for at in data["points"].get(name, ()))]
        found = [(float(begin), float(end)) for begin, end in spans]
        bars = warp.bars(found)
        lanes.broken_barh(bars, (lane - HALF, 2 * HALF), facecolor=color, edgecolor=color, linewidth=0.5)
        lanes.text(warp.length * 1.008, lane, str(len(found)), va="center", color=TEXT if found else NOTE)
    lanes.set_yticks(range(len(LANES)), [name for name, _ in LANES])
    lanes.set_ylim(len(LANES) - 0.4, -1.2)
    lanes.set_xlim(0, warp.length)
    lanes.tick_params(length=0)
    lanes.spines[["left", "bottom"]].set_visible(False)
    used = warp.between(data["memory"])
    _memory(memory, used, [warp.place(at) for at in used["times"]])
    _legend(memory, 3)
    centres = [(x + to) / 2 for x, to, _ in warp.columns]
    memory.set_xticks(centres, [duration(step["end"] - step["begin"]).replace(" ", "\n") for *_, step in warp.columns])
    memory.tick_params(axis="x", length=0, labelsize=7)
    memory.set_xlabel("each column is a step with its duration; the columns are not to one scale", fontsize=7.5)
    footer(figure, run)
    return figure


def pressure(data: Numbers, run: Numbers) -> Figure:
    """Draw three graphs over the same time, one below the other: memory in use, rate of faults, and
    rate of migrations."""
    figure = Figure(figsize=(WIDTH, 5.8))
    memory, faults, moves = figure.subplots(3, 1, sharex=True, height_ratios=(1.5, 1.0, 1.3))
    figure.subplots_adjust(left=0.075, right=0.985, top=0.905, bottom=0.105, hspace=0.34)
    length = data["phases"][-1]["end"]
    for axes in (memory, faults, moves):
        for phase in data["phases"][1::2]:
            axes.axvspan(phase["begin"], phase["end"], color=BAND, linewidth=0, zorder=0)
        axes.set_xlim(0, length)
        axes.grid(axis="y")
        axes.set_axisbelow(True)
    for phase in data["phases"]:
        wide = max(8, int((phase["end"] - phase["begin"]) / length * WIDTH * 72 * 0.91 / CHARACTER))
        title = textwrap.fill(f"{phase['name']}. {phase['title']}", wide)
        place = (phase["begin"], 1.13)
        memory.annotate(title, place, xycoords=("data", "axes fraction"), va="bottom", fontweight="bold")
    _memory(memory, data["memory"], data["memory"]["times"])
    _legend(memory, 3)
    width, rates = data["bin_ms"], data["rates"]
    edges = [number * width for number in range(len(rates["faults"]) + 1)]
    faults.stairs(rates["faults"], edges, fill=True, color=ORANGE)
    faults.set_ylabel("faults per ms")
    faults.set_ylim(0)
    for names, sign in ((("SVM to VRAM", "BOs to VRAM"), 1), (("SVM to system", "BOs to GTT"), -1)):
        below = [0.0] * (len(edges) - 1)
        for name, color in zip(names, (GREEN, BLUE) if sign > 0 else (PURPLE, ORANGE), strict=True):
            top = [base + sign * value for base, value in zip(below, rates[name], strict=True)]
            moves.stairs(top, edges, baseline=below, fill=True, color=color, label=name)
            below = top
    most = max((abs(value) for name in rates if name != "faults" for value in rates[name]), default=1.0)
    moves.axhline(0, color=GREY, linewidth=0.6)
    moves.set_ylabel("MiB moved per ms")
    for words, y, side in (("into VRAM", 0.97, "top"), ("out of VRAM", 0.03, "bottom")):
        moves.text(0.006, y, words, transform=moves.transAxes, va=side, fontsize=7.5, color=NOTE)
    if not most:
        moves.set_ylim(-1, 1)
    ticks = list(moves.get_yticks())
    moves.set_yticks(ticks, [f"{abs(tick):g}" for tick in ticks])
    _legend(moves, 4)
    moves.set_xlabel(f"ms; means of {width} ms")
    footer(figure, run)
    return figure


def latency(data: Numbers, run: Numbers) -> Figure:
    """Draw the histogram of the faults' latency, and the medians of the parts of this latency."""
    figure = Figure(figsize=(WIDTH, 4.8))
    counts, parts = figure.subplots(2, 1, height_ratios=(2.4, 1.0))
    figure.subplots_adjust(left=0.14, right=0.905, top=0.935, bottom=0.13, hspace=0.5)
    colors = (BLUE, PURPLE)
    groups = data["groups"]
    for group, color in zip(groups, colors, strict=False):
        number = sum(group["counts"])
        shares = [100 * count / number for count in group["counts"]]
        label = f"{group['name']}: {number} faults, median {microseconds(group['median'])}"
        counts.stairs(shares, data["edges"], fill=True, color=color, alpha=0.35)
        counts.stairs(shares, data["edges"], color=color, linewidth=1.3, label=label)
        counts.axvline(group["median"], color=color, linewidth=1.0, linestyle=(0, (4, 3)))
    counts.set_xscale("log")
    counts.set_xlim(data["edges"][0], data["edges"][-1])
    ticks = [10**power for power in range(0, 9) if data["edges"][0] <= 10**power <= data["edges"][-1]]
    counts.set_xticks(ticks, [microseconds(tick) for tick in ticks])
    counts.set_xlabel("from the raise of the fault to the replay of the access")
    counts.set_ylabel("% of the faults")
    counts.set_ylim(0)
    counts.grid()
    counts.set_axisbelow(True)
    counts.legend(loc="lower right", bbox_to_anchor=(1.0, 0.98), ncols=2, borderaxespad=0.0, handlelength=1.4)
    for row, group in enumerate(groups):
        left, total = 0.0, sum(group["parts"]) or 1.0
        for part, value, color in zip(data["parts"], group["parts"], (ORANGE, BLUE, GREEN), strict=True):
            share = 100 * value / total
            parts.barh(row, share, left=left, height=0.55, color=color, label=part if not row else None)
            if share > 7:
                parts.text(left + share / 2, row, microseconds(value), ha="center", va="center", color=CARD)
            left += share
        small = [microseconds(value) for value in group["parts"] if 100 * value / total <= 7]
        parts.text(100.8, row, ", ".join(small), va="center", fontsize=7)
    parts.set_yticks(range(len(groups)), [group["name"] for group in groups])
    parts.set_ylim(len(groups) - 0.5, -0.5)
    parts.set_xlim(0, 100)
    parts.set_xlabel("medians of the parts, in % of their sum")
    parts.tick_params(axis="y", length=0)
    parts.spines["left"].set_visible(False)
    _legend(parts, 3)
    footer(figure, run)
    return figure


DRAWERS = {
    "demo-timeline": demo,
    "pressure": pressure,
    "fault-latency": latency,
    "one-fault": fault_picture.draw,
    "svm-life": life_picture.draw,
    "fault-path": path_picture.draw,
}


def svg(figure: Figure, name: str, data: Numbers, run: Numbers) -> str:
    """Return a figure as SVG with a style for dark pages. The SVG lacks the time of its
    creation, so that the same numbers give the same file."""
    file = io.StringIO()
    said = f"{run['command']}, {run['date']}, commit {run['commit']}, {run['machine']}. {data['text']}"
    metadata = {"Title": f"vgpu-kfd: {name}", "Description": said, "Date": None, "Creator": None}
    figure.savefig(file, format="svg", metadata=metadata)
    rules = "".join(
        f'[style*="{what}: {light}"]{{{what}:{dark}!important}}'
        for light, dark in DARK.items()
        for what in ("fill", "stroke")
    )
    style = f"<style>@media (prefers-color-scheme: dark){{{rules}}}</style>"
    head, _, rest = file.getvalue().partition("<defs>")
    body = "\n".join(line.rstrip() for line in rest.splitlines())
    return f"{head[head.index('<svg') :]}{style}\n <defs>{LONG.sub('', body)}\n"


def main() -> None:
    """Draw the pictures whose numbers are given."""
    folder = Path(sys.argv[1])
    numbers = json.load(sys.stdin)
    matplotlib.rcParams.update(SETTINGS)
    for name in DRAWERS.keys() & numbers.keys():
        figure = DRAWERS[name](numbers[name], numbers["run"])
        (folder / f"{name}.svg").write_text(svg(figure, name, numbers[name], numbers["run"]))


if __name__ == "__main__":
    main()
