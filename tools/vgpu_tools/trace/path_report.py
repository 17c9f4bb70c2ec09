# SPDX-License-Identifier: GPL-2.0-or-later
"""The breakdown of a lone fault as numbers: what ./vgpu fault-path saves, compares and draws. All times are in us."""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from vgpu_tools.base.data import why
from vgpu_tools.base.errors import Failure
from vgpu_tools.trace.hops import Found
from vgpu_tools.trace.stations import BY_KEY, STATIONS

FILE_BYTES = 1 << 20  # bytes of a saved file that are read
LONGEST_US = 1e9  # a longer time is no duration
NAME_LENGTH = 300
MOST = 0.5  # a hop counts as a wake-up if at least this part of its faults woke somebody
Us = Annotated[float, Field(ge=0, le=LONGEST_US, allow_inf_nan=False)]
Name = Annotated[str, Field(max_length=NAME_LENGTH)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Spread(_Model):
    """The distribution of a time: its median, and the bounds of the middle 80 % of the samples."""

    n: int = Field(ge=1, le=10_000_000)
    median: Us
    low: Us
    high: Us

    def text(self) -> str:
        return f"{self.median:.1f} us ({self.low:.1f} to {self.high:.1f}, {self.n} samples)"


class Hop(Spread):
    """The distribution of a hop's duration."""

    key: Name  # key of the station where the hop ends
    share: float = Field(ge=0, le=100)  # the median in % of the sum of all hops' medians
    # The part of the faults that woke somebody; None: the trace does not show it.
    woke: float | None = Field(default=None, ge=0, le=1)


class Report(_Model):
    """The breakdown of lone faults, and from where the numbers come."""

    format: Literal[1] = 1
    command: Name
    commit: Name
    date: Name
    machine: Name
    options: Name  # options of the guest; cut if they are long
    untraced: Spread  # the time between two packets of the engine with a fault in between, nothing traced
    traced: Spread  # the same with the trace on, in the same guest
    path: Spread  # from raise to replay, in the trace
    hops: list[Hop] = Field(min_length=1, max_length=50)
    anchors: dict[Name, Spread] = Field(default_factory=dict, max_length=20)
    # The ratio of untraced faults to reads of the null disk, of blocks that are measured in turn; no time
    blocks: Spread | None = None
    dropped: dict[Name, int] = Field(default_factory=dict, max_length=100)  # faults that are not in `hops`, by reason
    early: int = Field(default=0, ge=0)  # faults that an invalidation replayed before their acknowledgement
    clock_us: Us  # distance of the bounds of the clocks' offset
    doubts: list[Name] = Field(default_factory=list, max_length=100)

    @property
    def inflation(self) -> float:
        """The factor by which the trace lengthens a fault."""
        return self.traced.median / self.untraced.median if self.untraced.median else 0.0


def spread(values: Iterable[float]) -> Spread:
    """Return the distribution of at least one value. Raises Failure if a value is no duration."""
    found = sorted(values)
    if not found or not all(math.isfinite(one) and 0 <= one <= LONGEST_US for one in found):
        raise Failure("fault-path: the guest printed no durations", status=1)

    def rank(part: float) -> float:
        return round(found[max(0, math.ceil(part * len(found)) - 1)], 3)

    return Spread(n=len(found), median=round(statistics.median(found), 3), low=rank(0.1), high=rank(0.9))


def hops(found: Found) -> list[Hop]:
    """Return the hops of all paths, in their order."""
    durations: dict[str, list[float]] = {}
    woke: dict[str, list[bool]] = {}
    for path in found.paths:
        for key, ns in path.hops():
            durations.setdefault(key, []).append(ns / 1000)
        for key, whether in path.woke.items():
            woke.setdefault(key, []).append(whether)
    spreads = {key: spread(times) for key, times in durations.items()}
    total = sum(one.median for one in spreads.values()) or 1.0
    return [
        Hop(
            key=station.key,
            share=round(100 * one.median / total, 2),
            woke=round(statistics.mean(woke[station.key]), 4) if station.key in woke else None,
            **one.model_dump(),
        )
        for station in STATIONS
        if (one := spreads.get(station.key))
    ]


def report(
    found: Found,
    samples: tuple[Sequence[float], Sequence[float]],
    anchors: Mapping[str, Sequence[float]],
    blocks: Sequence[float],
    origin: Mapping[str, str],
    options: str,
) -> Report:
    """Return the report of a run. `samples` are the engine's times of faults, without and with the trace; `blocks` are
    the ratios of untraced faults to reads of the null disk."""
    if not found.paths:
        reasons = ", ".join(f"{reason}: {number}" for reason, number in sorted(found.dropped.items())) or "none raised"
        raise Failure(f"fault-path: no lone fault has all its events ({reasons})", status=1)
    untraced, traced = samples
    return Report(
        untraced=spread(untraced),
        traced=spread(traced),
        path=spread(path.total / 1000 for path in found.paths),
        hops=hops(found),
        anchors={name: spread(values) for name, values in anchors.items() if values},
        blocks=spread(blocks) if blocks else None,
        dropped=dict(found.dropped),
        early=found.early,
        clock_us=found.clock_ns / 1000,
        doubts=found.doubts,
        command=origin["command"],
        commit=origin["commit"],
        date=origin["date"],
        machine=origin["machine"],
        options=options[:NAME_LENGTH],
    )


def load(path: Path) -> Report:
    """Read a saved report. Raises Failure if the file cannot be read or has other contents."""
    try:
        with path.open("rb") as file:
            return Report.model_validate_json(file.read(FILE_BYTES))
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}", status=2) from None
    except ValidationError as error:
        raise Failure(f"{path}: not saved by ./vgpu fault-path --save: {why(error)}", status=2) from None


def save(path: Path, one: Report) -> None:
    """Write a report to a file, which is replaced."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(one.model_dump_json(indent=1) + "\n")


def label(key: str) -> str:
    """Return what a hop does. A file of another version may have a hop without a station."""
    return BY_KEY[key].hop if key in BY_KEY else key


def wakes(hop: Hop) -> str:
    """Return who is woken in a hop, with the measured part of the faults if the trace shows it."""
    who = BY_KEY[hop.key].wakes.value if hop.key in BY_KEY else "unknown"
    return who if hop.woke is None else f"{who}: {100 * hop.woke:.0f} %"


def apart(one: Spread, other: Spread) -> bool:
    """Return whether two times differ beyond their spread."""
    return one.high < other.low or other.high < one.low


def _panel(title: str, one: Report) -> dict[str, object]:
    begin, rows = 0.0, []
    for hop in one.hops:
        station = BY_KEY.get(hop.key)
        woken = station.wakes.name if station and (hop.woke is None or hop.woke >= MOST) else "NOBODY"
        rows.append(
            {
                "name": label(hop.key),
                "begin": round(begin, 3),
                "us": hop.median,
                "low": hop.low,
                "high": hop.high,
                "share": hop.share,
                "wakes": woken,
            }
        )
        begin += hop.median
    return {"title": title, "rows": rows, "length": round(begin, 3), "clock": one.clock_us}


def picture(one: Report, before: Report | None) -> dict[str, object]:
    """Return the input of the drawing (docs/site/run_pictures.py)."""

    def title(name: str, shown: Report) -> str:
        untraced, inflation = shown.untraced.median, shown.inflation
        return f"{name}{untraced:.0f} µs untraced; the trace makes it {inflation:.2f} times as long"

    panels = [_panel(title("after: " if before else "a lone fault: ", one), one)]
    if before:
        panels.insert(0, _panel(title(f"before ({before.commit}): ", before), before))
    text = "; ".join(f"{label(hop.key)}: {hop.median:g} us" for hop in one.hops)
    return {
        "run": {"command": one.command, "commit": one.commit, "date": one.date, "machine": one.machine},
        "fault-path": {"panels": panels, "text": f"raise to replay: {one.path.text()}; {text}"},
    }
