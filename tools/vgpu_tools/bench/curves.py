# SPDX-License-Identifier: GPL-2.0-or-later
"""The curves of ./vgpu bench-curves: how a cost grows with a number n. Also the JSON file with measured curves.

`vgpu-bench curve`, `vgpu-kfd-bench walk` and `migration.py` measure the values. Names are keys in their output.
"""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field, ValidationError

from vgpu_tools.base.data import why
from vgpu_tools.base.errors import Failure
from vgpu_tools.base.files import write_whole
from vgpu_tools.bench.fit import Fit, fit

FORMAT: Literal["vgpu-kfd curves 1"] = "vgpu-kfd curves 1"
NO_CURVES = "a bench.json has no curves: ./vgpu bench-curves writes them to a file of its own"
PAGE = 4096  # bytes; memory is counted in pages
NO_VALUE = "no value was measured"  # the reason of a point that nobody gave another reason
# Laws: of a cost of all n together, of such a cost if n is so small that log n hides much, of a cost of one among n
MANY, FEW, ONE = "n log n", "n", "log n"


@dataclass(frozen=True)
class Curve:
    """A curve: what is measured, at which numbers, and how it may grow."""

    name: str
    label: str
    part: str  # what measures it; a key of POINTS
    unit: str
    law: str = MANY
    # True: the value is memory in bytes, and the table shows the bytes of each of the n objects
    each: bool = False
    above_zero: bool = False  # True: the value at n = 0 is subtracted from the others

    @property
    def group(self) -> str:
        """The picture that has the curve."""
        return GROUPS[self.part]

    @property
    def x(self) -> str:
        """What n counts."""
        return COUNTED[self.part]


POINTS = {
    "ranges": [1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000],
    "bos": [100, 300, 1_000, 3_000, 10_000, 30_000, 100_000],
    "memory": [64, 128, 256, 512, 1_024, 2_048, 4_096],
    "processes": [1, 3, 10, 30, 100],
    "queues": [1, 3, 10, 30, 100, 300, 1_000],
    "gpus": [1, 2, 4, 8],
    "idle": [0, 1, 2, 4, 8],
    "load": [1, 2, 4, 8],
    "walk": [1, 2, 3, 4],
    "migration": [256, 512, 1_024, 2_048, 4_096],
}
COUNTED = {
    "ranges": "ranges",
    "bos": "BOs",
    "memory": "MiB mapped",
    "processes": "processes",
    "queues": "queues",
    "gpus": "GPUs",
    "idle": "GPUs",
    "load": "GPUs",
    "walk": "entries read",
    "migration": "MiB of VRAM",
}
GROUPS = {part: part for part in POINTS} | {"processes": "queues", "idle": "gpus", "load": "gpus", "walk": "memory"}

CURVES = (
    Curve("ranges-set", "SET_ATTR of n ranges", "ranges", "ms"),
    Curve("ranges-lookup", "look-up of one range (GET_ATTR)", "ranges", "us", ONE),
    Curve("ranges-munmap", "munmap of n ranges", "ranges", "ms"),
    Curve("ranges-exit", "end of a process with n ranges", "ranges", "ms"),
    Curve("ranges-kernel", "kernel memory of n ranges", "ranges", "B", each=True),
    Curve("ranges-qemu", "memory of QEMU for n ranges", "ranges", "B", each=True),
    Curve("bos-create", "create and map n BOs", "bos", "ms"),
    Curve("bos-among", "create, map and free one BO beside n", "bos", "us", ONE),
    Curve("bos-free", "free n BOs", "bos", "ms"),
    Curve("bos-exit", "end of a process with n BOs", "bos", "ms"),
    Curve("bos-kernel", "kernel memory of n BOs", "bos", "B", each=True),
    Curve("bos-qemu", "memory of QEMU for n BOs", "bos", "B", each=True),
    Curve("memory-map", "map scattered pages (SET_ATTR ACCESS)", "memory", "ms"),
    Curve("memory-unmap", "unmap them (SET_ATTR NO_ACCESS)", "memory", "ms"),
    Curve("memory-munmap", "munmap of mapped memory", "memory", "ms"),
    Curve("memory-exit", "end of a process with mapped memory", "memory", "ms"),
    Curve("walk", "page-table walk that reads n entries", "walk", "ns", FEW),
    Curve("processes-all", "n processes with 8 queues each, until all end", "processes", "ms"),
    Curve("queues-create", "CREATE_QUEUE of n compute queues", "queues", "ms"),
    Curve("queues-round", "a fence on each of n queues", "queues", "ms"),
    Curve("queues-destroy", "DESTROY_QUEUE of n compute queues", "queues", "ms"),
    Curve("queues-exit", "end of a process with n queues", "queues", "ms"),
    Curve("queues-kernel", "kernel memory of n queues", "queues", "B", each=True),
    Curve("queues-qemu", "memory of QEMU for n queues", "queues", "B", each=True),
    Curve("gpus-map", "map a BO on n GPUs by one call", "gpus", "us", FEW),
    Curve("load", "load of the module with n GPUs", "load", "ms", FEW),
    Curve("idle-kernel", "kernel memory of n idle GPUs", "idle", "B", FEW, each=True, above_zero=True),
    Curve("idle-qemu", "memory of QEMU for n idle GPUs", "idle", "B", FEW, each=True, above_zero=True),
    Curve("idle-vram", "VRAM in use of n idle GPUs", "idle", "B", FEW, each=True, above_zero=True),
    Curve("downtime-idle", "migration, idle engine: downtime", "migration", "ms"),
    Curve("downtime-busy", "migration, busy engine: downtime", "migration", "ms"),
    Curve("sent-idle", "migration, idle engine: bytes sent", "migration", "B"),
    Curve("sent-busy", "migration, busy engine: bytes sent", "migration", "B"),
    Curve("ratio-idle", "migration, idle engine: bytes sent of bytes dirty", "migration", "x", ONE),
    Curve("ratio-busy", "migration, busy engine: bytes sent of bytes dirty", "migration", "x", ONE),
)
BY_NAME = {curve.name: curve for curve in CURVES}

Samples = dict[tuple[str, int], list[float]]  # by curve and n
Reasons = Mapping[tuple[str, int], str]  # why there is no value, by part and n


class Point(BaseModel):
    """The samples of a curve at one n, reduced."""

    n: int
    median: float
    lowest: float
    highest: float
    samples: int


class LeftOut(BaseModel):
    """A number at which a curve has no usable value."""

    n: int
    reason: str


class Measured(BaseModel):
    """A measured curve. `fit` is None if there are too few points.

    The other fields are those of curves of memory, in bytes; None: not known. `per_object`: of one of the n objects.
    `resolution`: the largest difference between two samples at the same n. `below`: an upper limit of one object, if
    the memory grows by no more than the resolution from the first to the last n; such a curve has no points, because
    its values are noise.
    """

    name: str
    label: str
    group: str
    x: str
    unit: str
    law: str
    points: list[Point]
    left_out: list[LeftOut]
    fit: Fit | None
    per_object: float | None = None
    resolution: float | None = None
    below: float | None = None


class CurveFile(BaseModel):
    """The JSON file of measured curves: the host, the time, and the curves."""

    format: Literal["vgpu-kfd curves 1"] = FORMAT
    command: str
    commit: str
    date: str
    machine: str
    processor: str
    runs: int = 1  # number of runs that measured the points: more than one if a run continued an earlier one
    curves: list[Measured] = Field(min_length=1)


def _point(n: int, values: Sequence[float]) -> Point:
    return Point(n=n, median=statistics.median(values), lowest=min(values), highest=max(values), samples=len(values))


def _points(curve: Curve, samples: Samples) -> list[Point]:
    """Return the points of a curve in ascending order. The value at n = 0, if the curve has one, is subtracted."""
    found = {n: samples[curve.name, n] for n in POINTS[curve.part] if samples.get((curve.name, n))}
    if not curve.above_zero:
        return [_point(n, values) for n, values in found.items()]
    if 0 not in found:
        return []
    base = statistics.median(found[0])
    return [_point(n, [value - base for value in values]) for n, values in found.items() if n]


def _resolution(found: Sequence[Point]) -> float | None:
    """Return the largest difference between two samples of memory at the same n. None: no n has two samples."""
    spans = [point.highest - point.lowest for point in found if point.samples > 1]
    return max(PAGE, *spans) if spans else None


def _below(found: Sequence[Point], resolution: float | None) -> float | None:
    """Return an upper limit of the bytes of an object, if the memory does not grow by more than the resolution from the
    first to the last point. Otherwise return None."""
    if resolution is None or len(found) < 2:
        return None
    first, last = found[0], found[-1]
    grown = last.median - first.median
    if grown > resolution:
        return None
    # A shrinkage by more than the resolution shows that the noise is larger than the samples at one n show.
    return (max(grown, 0.0) + max(resolution, -grown)) / (last.n - first.n)


def reduce(curve: Curve, samples: Samples, reasons: Reasons) -> Measured:
    """Return a curve with its points, its fit, and the reasons of the points that are left out."""
    points, left_out = [], []
    measured = _points(curve, samples)
    found = {point.n: point for point in measured}
    resolution = _resolution(measured) if curve.each else None
    below = _below(measured, resolution)
    for n in POINTS[curve.part]:
        point = found.get(n)
        if curve.above_zero and not n:
            continue
        if point and below is not None and resolution is not None:
            reason = f"the memory grows by less than the measurement resolves ({resolution / 1024:,.0f} KiB)"
            left_out.append(LeftOut(n=n, reason=reason))
        elif point and point.median > 0:
            points.append(point)
        elif point:
            left_out.append(LeftOut(n=n, reason=f"{point.median:.4g} {curve.unit}: less than the measurement resolves"))
        else:
            left_out.append(LeftOut(n=n, reason=reasons.get((curve.part, n), NO_VALUE)))
    per_object = None
    if curve.each and len(points) > 1:
        first, last = points[0], points[-1]
        per_object = (last.median - first.median) / (last.n - first.n)
    return Measured(
        name=curve.name,
        label=curve.label,
        group=curve.group,
        x=curve.x,
        unit=curve.unit,
        law=curve.law,
        points=points,
        left_out=left_out,
        fit=fit([(point.n, point.median) for point in points], curve.law),
        per_object=per_object,
        resolution=resolution,
        below=below,
    )


def write(file: CurveFile, path: Path) -> None:
    """Write the JSON file."""
    write_whole(path, file.model_dump_json(indent=1) + "\n")


def parse(text: str, name: str) -> CurveFile:
    """Return the contents of a JSON file. `name` is the file's name in messages. Raises Failure if the text has another
    format."""
    try:
        return CurveFile.model_validate_json(text)
    except ValidationError as error:
        hint = f"; {NO_CURVES}" if '"results"' in text else ""
        raise Failure(f"curves: {name}: not a file of ./vgpu bench-curves: {why(error)}{hint}", status=2) from None


def load(path: Path) -> CurveFile:
    """Load a JSON file. Raises Failure if there is no such file, or if it has another format."""
    try:
        text = path.read_text()
    except FileNotFoundError:
        raise Failure(f"curves: {path}: no such file", status=2) from None
    except (OSError, UnicodeDecodeError) as error:
        raise Failure(f"curves: {path}: cannot be read: {error}", status=2) from None
    return parse(text, str(path))
