# SPDX-License-Identifier: GPL-2.0-or-later
"""Colours, matplotlib settings and the footer that all pictures of runs share. The background of a
picture is dark if the browser prefers dark colours. The colours of the data are readable on both
backgrounds."""

from matplotlib.figure import Figure

from vgpu_tools.docs.site.axis import Numbers

TEXT, NOTE, GRID, CARD, BAND = "#24292f", "#57606a", "#c9d1d9", "#ffffff", "#f0f2f5"
DARK = {TEXT: "#d5dbe2", NOTE: "#9aa4b0", GRID: "#3a424c", CARD: "#151a20", BAND: "#20262e"}
ORANGE, RED, BLUE, GREEN, PURPLE, GREY = "#d9730d", "#d1454b", "#3b82d6", "#2f9e57", "#9467c8", "#808a96"
SETTINGS = {
    "svg.hashsalt": "vgpu-kfd",
    "svg.fonttype": "none",
    "font.family": ["DejaVu Sans"],
    "font.size": 8.0,
    "text.color": TEXT,
    "axes.labelcolor": TEXT,
    "axes.edgecolor": GRID,
    "axes.facecolor": "none",
    "axes.titlesize": 8.0,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": GRID,
    "grid.linewidth": 0.5,
    "xtick.color": TEXT,
    "ytick.color": TEXT,
    "legend.frameon": False,
    "figure.facecolor": CARD,
}


def footer(figure: Figure, run: Numbers) -> None:
    """Write a line at the bottom of a picture. The line says how the picture's data were recorded: by which command
    (./vgpu pictures), when, at which commit, and on which machine."""
    words = f"{run['command']}, {run['date']}, commit {run['commit']}, {run['machine']}"
    figure.text(0.995, 0.008, words, ha="right", va="bottom", fontsize=6.5, color=NOTE)
