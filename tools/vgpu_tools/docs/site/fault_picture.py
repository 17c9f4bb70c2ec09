# SPDX-License-Identifier: GPL-2.0-or-later
"""Draws the picture "one-fault", which shows one fault from its raise to its replay. The engine, the interrupt, the
driver's worker and the replay have a lane each."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from vgpu_tools.docs.site.axis import Numbers, microseconds, ticks
from vgpu_tools.docs.site.style import BLUE, CARD, GREEN, GREY, NOTE, ORANGE, PURPLE, TEXT, footer

WIDTH, HEIGHT = 6.1, 3.9  # inches
POINTS = 380.0  # width of the axis, in points
LANE, BAR = 1.0, 0.4  # height of a lane, and of a bar in it
CHARACTER = 5.0  # mean width of a character, in points


def _bar(axes: Axes, place: tuple[float, float, float], color: str, said: str) -> None:
    """Draw a bar with a text: in the bar if there is room, otherwise right or left of the bar. `place` is begin, end,
    top."""
    begin, end, top = place
    length = float(axes.get_xlim()[1])
    thin = length * 1.5 / POINTS
    axes.broken_barh([(begin, max(end - begin, thin))], (top, BAR), facecolor=color, linewidth=0, zorder=2)
    y, need = top + BAR / 2, len(said) * CHARACTER / POINTS * length
    if end - begin > need:
        axes.text((begin + end) / 2, y, said, ha="center", va="center", color=CARD, zorder=3)
    elif length - end > need:
        axes.text(end + length * 0.01, y, said, va="center")
    else:
        axes.text(begin - length * 0.008, y, said, ha="right", va="center")


def draw(data: Numbers, run: Numbers) -> Figure:
    """Draw the fault."""
    figure = Figure(figsize=(WIDTH, HEIGHT))
    axes = figure.add_axes((0.04, 0.17, 0.92, 0.81))
    replayed, received = data["replayed"], data["received"]
    (begin, end), (first, last) = data["service"], data["migration"]
    length = max(replayed, end)
    axes.set_xlim(0, length * 1.02)
    axes.set_ylim(5.05, 0)
    lanes = (  # name of the lane; its track in Perfetto, or an explanation
        (f"engine {data['engine']}", data["tracks"]["engine"]),
        ("interrupt", "IH ring, interrupt, wake-up of the worker"),
        ("driver's worker", data["tracks"]["worker"]),
        ("", ""),
        ("acknowledge and replay", "the engine repeats the access"),
    )
    for number, (name, more) in enumerate(lanes):
        y, card = number * LANE + 0.3, {"facecolor": CARD, "edgecolor": "none", "pad": 1.0}
        axes.text(0, y, name, fontsize=9, fontweight="bold", va="center", bbox=card)
        axes.text(length, y, more, fontsize=7.5, color=NOTE, va="center", ha="right", bbox=card)
    for at in (received, end, replayed):
        axes.axvline(at, color=GREY, linewidth=0.6, linestyle=(0, (4, 3)), zorder=1)
    said = f"stalled at a {data['access']}, serial {data['serial']}: {microseconds(replayed)}"
    _bar(axes, (0, replayed, 0.5), ORANGE, said)
    _bar(axes, (0, received, 1.5), GREY, microseconds(received))
    _bar(axes, (begin, end, 2.5), BLUE, f"service: {microseconds(end - begin)}")
    moved = f"{data['kib']} KiB migrate to VRAM: {microseconds(last - first)}"
    _bar(axes, (first, last, 3.0), GREEN, moved)
    _bar(axes, (last, end, 3.45), PURPLE, f"map, write GPU entries: {microseconds(max(0.0, end - last))}")
    tail = min(end, replayed)
    _bar(axes, (tail, replayed, 4.5), GREY, f"{microseconds(replayed - tail)} after the service")
    axes.set_yticks([], [])
    axes.spines["left"].set_visible(False)
    marks = ticks(length)
    axes.set_xticks(marks, [f"{tick:g}" for tick in marks])
    note = f"µs from the raise of the fault; clocks of device and driver agree within {microseconds(data['clock'])}"
    axes.set_xlabel(note, fontsize=8, color=TEXT)
    footer(figure, run)
    return figure
