# SPDX-License-Identifier: GPL-2.0-or-later
"""Generates the page "How cost grows" from the JSON file of ./vgpu bench-curves, and publishes such a file: copies it
to docs/growth/ and draws the pictures there."""

from collections.abc import Sequence
from pathlib import Path

from vgpu_tools.base.errors import Failure
from vgpu_tools.base.paths import BUILD, ROOT
from vgpu_tools.bench import curves, fit
from vgpu_tools.bench.curves import CURVES, CurveFile, Measured
from vgpu_tools.bench.table import number
from vgpu_tools.build import docs_environment
from vgpu_tools.build.steps import ensure
from vgpu_tools.docs.tables import code, page, table

FOLDER = "docs/growth"
DATA = f"{FOLDER}/curves.json"
TITLES = {
    "ranges": "Ranges of shared virtual memory",
    "bos": "BOs",
    "memory": "Mapped memory",
    "queues": "Processes and queues",
    "gpus": "GPUs",
    "migration": "Live migration",
}
MEASURE = """\
`make bench-curves` measures the curves in at most 30 minutes, prints a table, and writes `build/curves.json`.
`make bench-curves PUBLISH=1` then also copies the file to `docs/growth/` and draws the pictures there; this page is
generated from that file. `make bench-curves FROM=FILE PUBLISH=1` publishes a file of an earlier run."""
NOT_MEASURED = "No curves are published in this checkout. " + MEASURE
HOW = f"""\
A curve is a cost at several numbers n. Its exponent is the slope of the medians on logarithmic axes, by least squares,
with the standard error of the slope: 1 for a cost that grows as n, 2 for n². The bar is a law: "n log n" for a cost of
all n together, or "n" if n is at most 8; "log n" for a cost of one among n. A curve meets the bar (✓) if by its slope
the cost grows, from the first to the last point, by at most a factor of {fit.TOLERANCE:g} more than the law. The last
{fit.TAIL_POINTS} points alone, in which a constant part of the cost hides less, must meet the bar, too. A missed bar is
✗. The bar is undecided (?) if the result would be the opposite without one of the points."""
MEMORY = """\
Memory of the kernel is the growth of slab, vmalloc, per-CPU memory, kernel stacks and page tables of the CPU in the
guest's `/proc/meminfo`. Memory of QEMU is the growth of the proportional set size (PSS) of its process, outside of the
RAM blocks that hold the guest's RAM and VRAM, and outside of the code that TCG generates. An object is the slope
between the first and the last point.

The resolution is the largest difference between two measurements at the same n. If the memory grows by no more than
that from the first to the last n, the values are noise: there is no curve, and the table has an upper limit, which is
the growth and the resolution divided by the number of objects. The device allocates nothing for a range, a BO or a
queue, because page tables and queue descriptors are in RAM and VRAM. What differs between two measurements are QEMU's
own buffers, such as the TLBs of the emulated CPUs."""


def _span(curve: Measured) -> str:
    if not curve.points:
        return curve.x
    return f"{curve.points[0].n:,} to {curve.points[-1].n:,} {curve.x}"


def _costs(curve: Measured) -> str:
    if not curve.points:
        return ""
    return f"{number(curve.points[0].median)} to {number(curve.points[-1].median)} {curve.unit}"


def _exponent(curve: Measured) -> str:
    if curve.below is not None:
        return "not resolved"
    return f"{curve.fit.exponent:.2f} ± {curve.fit.error:.2f}" if curve.fit else "too few points"


def _bar(curve: Measured) -> str:
    if curve.below is not None:
        return ""
    if not curve.fit:
        return curve.law
    mark = "?" if not curve.fit.sure else "✓" if curve.fit.met else "✗"
    return f"{mark} {curve.law}"


def _group(name: str, found: Sequence[Measured]) -> list[str]:
    """Return the heading, the table and the picture of a group of curves."""
    rows = [[curve.label, _span(curve), _costs(curve), _exponent(curve), _bar(curve)] for curve in found]
    alt = "; ".join(f"{curve.label}: exponent {_exponent(curve)}" for curve in found)
    alt = alt.replace("[", "(").replace("]", ")")
    picture = f"../growth/{name}.svg"
    return [
        f"## {TITLES[name]}",
        table(f"curves of {name}", ("curve", "n", "cost", "exponent", "bar"), rows),
        f"[![Curves on logarithmic axes with their law as a dashed line. {alt}.]({picture})]({picture})",
    ]


def _objects(found: Sequence[Measured]) -> list[str]:
    rows = []
    for curve in found:
        resolution = f"{number(curve.resolution)} B" if curve.resolution is not None else "not known"
        if curve.below is not None:
            rows.append([curve.label, f"below {number(curve.below)} B", resolution])
        elif curve.per_object is not None:
            rows.append([curve.label, f"{number(curve.per_object)} B", resolution])
    if not rows:
        return []
    return ["## Memory of an object", MEMORY, table("memory of objects", ("memory", "each", "resolution"), rows)]


def _left_out(found: Sequence[Measured]) -> list[str]:
    """Return the section about points without a value. Points of a curve with the same reason share a row."""
    rows = []
    for curve in found:
        by_reason: dict[str, list[int]] = {}
        for point in curve.left_out:
            by_reason.setdefault(point.reason, []).append(point.n)
        for reason, numbers in by_reason.items():
            rows.append([curve.label, ", ".join(f"{n:,}" for n in numbers), reason])
    return ["## Left out", table("points left out", ("curve", "n", "reason"), rows)] if rows else []


def growth_page(text: str | None) -> str:
    """Return the page. `text` is the contents of the file DATA; None: there is no such file. Raises Failure if the text
    has another format."""
    if text is None:
        return page("How cost grows", NOT_MEASURED)
    file = curves.parse(text, DATA)
    blocks = []
    for name in TITLES:
        if found := [curve for curve in file.curves if curve.group == name]:
            blocks += _group(name, found)
    processor = f" ({file.processor})" if file.processor else ""
    runs = f", in {file.runs} runs that continued each other" if file.runs > 1 else ""
    facts = (
        f"Measured by {code(file.command)} on {file.date}, commit {code(file.commit)}, {file.machine}{processor}{runs}."
    )
    blocks += [*_objects(file.curves), *_left_out(file.curves), "## Again", MEASURE]
    return page("How cost grows", facts, HOW, *blocks)


def check(file: CurveFile) -> None:
    """Raise Failure if a file lacks a curve of this version, so that the page would be incomplete."""
    if missing := {curve.name for curve in CURVES} - {curve.name for curve in file.curves}:
        raise Failure(f"curves: not published: there is no curve {', '.join(sorted(missing))}", status=1)


def publish(file: Path) -> list[Path]:
    """Copy a file of ./vgpu bench-curves to docs/growth/, and draw the pictures there. Return the files. Raises Failure
    if a curve is missing, or if the pictures cannot be drawn."""
    data = curves.load(file)
    check(data)
    ensure(docs_environment.environment())
    folder, cache = ROOT / FOLDER, BUILD / "docs-cache" / "matplotlib"
    for path in (folder, cache):
        path.mkdir(parents=True, exist_ok=True)
    text = data.model_dump_json(indent=1) + "\n"
    docs_environment.run("growth_pictures", [folder], text, {"MPLCONFIGDIR": str(cache)})
    (ROOT / DATA).write_text(text)
    return [ROOT / DATA, *(folder / f"{name}.svg" for name in TITLES)]
