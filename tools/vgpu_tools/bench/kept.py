# SPDX-License-Identifier: GPL-2.0-or-later
"""Keeps the measured points of ./vgpu bench-curves in a file until all are there. A run that is interrupted, or in
which a guest fails, loses only the point under measurement; the next run of the same sources on the same host measures
the rest. A point is kept when each of its curves has all its values.
"""

from collections.abc import Container
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from vgpu_tools.base.data import why
from vgpu_tools.base.errors import Failure
from vgpu_tools.base.files import write_whole
from vgpu_tools.bench.curves import BY_NAME, CURVES, Samples

SUFFIX = ".partial.json"  # replaces the suffix of the file of curves


class Origin(BaseModel):
    """From where values come. The values of runs with the same origin may be in one curve."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    commit: str
    machine: str
    processor: str
    sources: str  # hash of the sources of device, driver and programs, and of the names of the user's source trees


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")
    format: Literal["vgpu-kfd points 1"] = "vgpu-kfd points 1"
    origin: Origin
    runs: Annotated[int, Field(ge=1)]
    values: dict[str, dict[int, list[FiniteFloat]]]  # by curve and n


class Kept:
    """The points of earlier runs that did not measure all, and of this run. `runs` counts them, this run included.
    Points of another origin are not used, and the next point that is added replaces them."""

    def __init__(self, path: Path, origin: Origin, fresh: bool = False) -> None:
        """Load the file; with `fresh`, remove it. Without a file there are no points. Raises Failure if the file has
        another format."""
        self.path, self.origin, self.runs = path, origin, 1
        self.samples: Samples = {}
        if fresh:
            path.unlink(missing_ok=True)
        found = _load(path)
        if found and found.origin == origin:
            self.runs = found.runs + 1
            self.samples = {
                (name, n): values
                for name, points in found.values.items()
                for n, values in points.items()
                if name in BY_NAME and values
            }

    def points(self) -> int:
        """Return the number of points. A point belongs to a part, and may have values of several curves."""
        return len({(BY_NAME[name].part, n) for name, n in self.samples})

    def add(self, part: str, n: int, samples: Samples) -> None:
        """Add the values of a part's curves at n, and write the file."""
        for curve in CURVES:
            if curve.part == part and (curve.name, n) in samples:
                self.samples[curve.name, n] = list(samples[curve.name, n])
        self._write()

    def drop(self, parts: Container[str]) -> None:
        """Forget the points of parts of which all is measured. A file without points is removed."""
        self.samples = {key: values for key, values in self.samples.items() if BY_NAME[key[0]].part not in parts}
        if self.samples:
            self._write()
        else:
            self.path.unlink(missing_ok=True)

    def _write(self) -> None:
        values: dict[str, dict[int, list[float]]] = {}
        for (name, n), got in self.samples.items():
            values.setdefault(name, {})[n] = got
        file = _File(origin=self.origin, runs=self.runs, values=values)
        write_whole(self.path, file.model_dump_json(indent=1) + "\n")


def _load(path: Path) -> _File | None:
    try:
        return _File.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValidationError as error:
        raise Failure(f"bench-curves: {path}: {why(error)}; remove it, or measure with --fresh", status=2) from None
    except OSError as error:
        raise Failure(f"bench-curves: {path}: cannot be read: {error}", status=2) from None
