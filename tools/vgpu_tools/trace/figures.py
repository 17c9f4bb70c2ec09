# SPDX-License-Identifier: GPL-2.0-or-later
"""Computes the values that the pictures of runs show (./vgpu pictures). Times are in ms from the axis's start,
latencies in us, memory in MiB.
"""

import math
import re
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from vgpu_tools.base.errors import Failure
from vgpu_tools.trace.device import Fault, Span
from vgpu_tools.trace.events import Event
from vgpu_tools.trace.timeline import Sides

MIB, PAGE = 1 << 20, 4096
MARK = "tracing_mark_write"
SIZES, MEMORY, PHASE = "vgpu sizes ", "vgpu memory ", "vgpu phase "  # marks that a run writes (runs.py)
PHASES_END = "end"  # the last phase mark
TO_VRAM = "migrate to vram"  # the names of migrations to VRAM begin with this (driver.py)
# Rows of the table that vgpu-demo prints. PART matches the title of a part, STEP a step with its
# bytes, faults, replays and time.
PART = re.compile(r"│ +│ (\d)\. (.+?) +│")
STEP = re.compile(r"│ (\d\.\d) +│ (.+?) +│ +\S.*? +│ +\d+ +│ +\d+ +│ +([\d.]+) ms +│")
BINS = 250  # largest number of bins on an axis of time
BIN_WIDTHS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)  # possible widths of a bin, in ms
PER_DECADE = 10  # bins for each factor of 10 in latency
REPAIRED = "repaired"
IN_PLACE, MIGRATED = "mapped in place", "migrated to VRAM"
PARTS = ("raised to received", "received to serviced", "serviced to replayed")


@dataclass
class Memory:
    """Use of VRAM and GTT by all processes, sampled in the guest."""

    size: float = 0.0  # size of VRAM
    times: list[float] = field(default_factory=list)
    vram: list[float] = field(default_factory=list)
    gtt: list[float] = field(default_factory=list)


@dataclass
class Part:
    """An interval with a name: a part of the demo, a step of the demo, or a phase of a run."""

    name: str
    title: str
    begin: float
    end: float


@dataclass
class Demo:
    """The numbers of the demo's timeline. All times are in ms after the first step's begin."""

    parts: list[Part]
    steps: list[Part]
    spans: dict[str, list[tuple[float, float]]]  # pairs of begin and end, by lane (row of the picture)
    points: dict[str, list[float]]  # times, by lane
    memory: Memory
    text: str


@dataclass
class Pressure:
    """The numbers of the picture "pressure": faults and migrations while programs use more memory
    than the VRAM has. Each list in `rates` has a value for each bin: faults per ms, or MiB per ms."""

    phases: list[Part]
    bin_ms: int
    rates: dict[str, list[float]]
    memory: Memory
    text: str


@dataclass
class Group:
    """The latencies of a group of faults. A latency has three sections, see PARTS. `parts` has the
    median duration of each section."""

    name: str
    counts: list[int]  # number of faults in each bin
    median: float
    p99: float
    parts: list[float]


@dataclass
class Latency:
    """The numbers of the picture "fault-latency". The latency of a fault is the time from its raise
    by the device to the replay of the access."""

    edges: list[float]
    parts: tuple[str, ...]
    groups: list[Group]
    text: str


def _memory(events: Iterable[Event], place: Callable[[int], float]) -> Memory:
    """Return the memory in use, from the samples that a run has written to the trace. Of successive
    equal samples only the first and the last are kept. `place` converts a time to ms on the
    axis."""
    memory = Memory()
    samples: list[tuple[float, float, float]] = []  # time, VRAM, GTT
    for event in events:
        if event.name != MARK:
            continue
        if event.text.startswith(SIZES):
            memory.size = int(event.text.removeprefix(SIZES).split()[0]) / MIB
        elif event.text.startswith(MEMORY):
            vram, gtt = (int(number) / MIB for number in event.text.removeprefix(MEMORY).split())
            if len(samples) > 1 and all(one[1:] == (vram, gtt) for one in samples[-2:]):
                samples.pop()  # the middle one of three equal samples
            samples.append((place(event.at), vram, gtt))
    if not samples or not memory.size:
        raise Failure("pictures: the run has no samples of the memory in use", status=1)
    memory.times, memory.vram, memory.gtt = map(list, zip(*samples, strict=True))
    return memory


def _moves(events: Iterable[Event], start: str, end: str) -> list[Event]:
    return [one for one in events if one.name == "vgpu_bo_move" and f" from {start} to {end}" in one.text]


def _migrations(spans: Iterable[Span], to_vram: bool) -> list[Span]:
    """Return the migrations that moved pages to VRAM or, without `to_vram`, to system memory."""
    return [one for one in spans if one.name.startswith(TO_VRAM) == to_vram and int(one.args["moved"]) > 0]


def _ms(ns: int) -> float:
    return round(ns / 1e6, 4)


def _parts(lines: Sequence[tuple[int, str]]) -> tuple[int, list[Part], list[Part]]:
    """Find the demo's parts and steps in the demo's output. Return the start of the first step (ns), the parts, and the
    steps. `lines` has each line of the output with the time (ns) when the line arrived."""
    titles: dict[str, str] = {}
    rows: list[tuple[str, str, int, int]] = []  # name, title, begin and end in ns
    for at, line in lines:
        if found := PART.match(line):
            titles[found[1]] = found[2]
        elif found := STEP.match(line):
            # The demo prints a row at the end of each step, with the step's duration in ms.
            begin = at - int(float(found[3]) * 1e6)
            # If several rows arrive at the same time, `begin` may be before the end of the previous
            # step. The step then begins at that end.
            rows.append((found[1], found[2], max(begin, rows[-1][3]) if rows else begin, at))
    if not rows:
        raise Failure("pictures: the demo's output has no steps", status=1)
    zero = rows[0][2]
    steps = [Part(name, title, _ms(begin - zero), _ms(end - zero)) for name, title, begin, end in rows]
    parts = []
    for number, title in titles.items():
        if own := [step for step in steps if step.name.startswith(f"{number}.")]:
            parts.append(Part(number, title, own[0].begin, own[-1].end))
    return zero, parts, steps


def demo(sides: Sides, lines: Sequence[tuple[int, str]]) -> Demo:
    """Return the demo's timeline, with the events from the start of the first step to the end of the last step.

    `lines` is the demo's output: each line with the host's time (ns since 1970) when the line arrived."""
    zero, parts, steps = _parts(lines)

    def place(at: int) -> float:
        return _ms(at - zero)

    device, driver, events = sides.device, sides.driver, sides.events
    replayed = [one for one in device.faults if one.replayed]
    others = [one for one in device.faults if not one.replayed]
    spans: dict[str, list[tuple[float, float]]] = {
        "fault, raise to replay": [(place(one.raised), place(one.replayed)) for one in replayed],
        "fault, another end": [(place(one.raised), place(one.end)) for one in others],
    }
    for name, found in (
        ("service", driver.services),
        ("SVM migrates to VRAM", _migrations(driver.migrations, True)),
        ("SVM migrates to system", _migrations(driver.migrations, False)),
        ("queues off", driver.evictions),
    ):
        spans[name] = [(place(one.begin), place(one.end)) for one in found]
    points = {
        "replay": [place(one.replayed) for one in replayed],
        "invalidation": [place(one.begin) for one in driver.unmaps],
        "BO moves to GTT": [place(one.at) for one in _moves(events, "vram", "gtt")],
        "BO moves to VRAM": [place(one.at) for one in _moves(events, "gtt", "vram")],
    }
    if not replayed:
        raise Failure("pictures: the demo's run has no replayed fault", status=1)
    last = steps[-1].end
    spans = {name: [one for one in found if one[1] >= 0 and one[0] <= last] for name, found in spans.items()}
    points = {name: [at for at in found if 0 <= at <= last] for name, found in points.items()}
    numbers = {name: len(bars) for name, bars in spans.items()} | {name: len(times) for name, times in points.items()}
    text = f"{len(steps)} steps; " + "; ".join(f"{name}: {number}" for name, number in numbers.items())
    return Demo(parts, steps, spans, points, _memory(events, place), text)


def _phases(events: Iterable[Event]) -> tuple[int, list[Part]]:
    """Return the start of the first phase in ns, and the phases that a run has marked."""
    marks = [
        (event.at, event.text.removeprefix(PHASE))
        for event in events
        if event.name == MARK and event.text.startswith(PHASE)
    ]
    if len(marks) < 2 or marks[-1][1] != PHASES_END:
        raise Failure("pictures: the run has no phases, or no end of them", status=1)
    zero = marks[0][0]
    return zero, [
        Part(str(number), title, _ms(begin - zero), _ms(end - zero))
        for number, ((begin, title), (end, _)) in enumerate(pairwise(marks), 1)
    ]


def pressure(sides: Sides) -> Pressure:
    """Return faults, migrations and memory in use over time. Raises Failure if the trace lacks faults,
    phases, the size of VRAM, or memory samples."""
    zero, phases = _phases(sides.events)
    length = phases[-1].end
    width = next((one for one in BIN_WIDTHS if length / one <= BINS), BIN_WIDTHS[-1])
    number = max(1, math.ceil(length / width))

    def place(at: int) -> float:
        return _ms(at - zero)

    def rate(found: Iterable[tuple[int, float]]) -> list[float]:
        """Return the sum of the values of each bin, divided by the bin's width in ms. `found` are pairs of a time in ns
        and a value."""
        bins = [0.0] * number
        for at, value in found:
            if 0 <= (bin_ := (at - zero) // (width * 1_000_000)) < number:
                bins[bin_] += value
        return [round(one / width, 4) for one in bins]

    def pages(to_vram: bool) -> list[tuple[int, float]]:
        spans = _migrations(sides.driver.migrations, to_vram)
        return [(one.end, int(one.args["moved"]) * PAGE / MIB) for one in spans]

    def bos(start: str, end: str) -> list[tuple[int, float]]:
        return [(one.at, one.number("size") / MIB) for one in _moves(sides.events, start, end)]

    rates = {
        "faults": rate((fault.raised, 1.0) for fault in sides.device.faults),
        "SVM to VRAM": rate(pages(True)),
        "SVM to system": rate(pages(False)),
        "BOs to VRAM": rate(bos("gtt", "vram")),
        "BOs to GTT": rate(bos("vram", "gtt")),
    }
    if not any(rates["faults"]):
        raise Failure("pictures: the run under pressure has no fault", status=1)
    sums = {name: sum(one) * width for name, one in rates.items()}
    text = f"{length / 1000:.1f} s, {sums.pop('faults'):.0f} faults, "
    text += ", ".join(f"{name}: {value:.0f} MiB" for name, value in sums.items())
    return Pressure(phases, width, rates, _memory(sides.events, place), text)


def cuts(fault: Fault) -> list[float] | None:
    """Return the durations of the sections (PARTS) of a fault's latency, in us. Return None if the
    fault was not replayed, if the fault's service did not repair the fault, or if the repair of
    another fault caused the replay."""
    service = fault.service
    if not fault.replayed or not service or service.name != REPAIRED:
        return None
    # If the replay came before the driver received this fault, the repair of another fault caused the replay.
    if not fault.raised <= fault.received <= fault.replayed:
        return None
    # The engine may replay the access before the service ends, as soon as the page-table entry is written. Then the
    # section "received to serviced" ends with the replay.
    serviced = max(fault.received, min(service.end, fault.replayed))
    times = (fault.raised, fault.received, serviced, fault.replayed)
    return [(end - begin) / 1000 for begin, end in pairwise(times)]


def _group(name: str, found: list[list[float]], first: int, number: int) -> Group:
    """Return the group `name`. Each list in `found` has the durations of the sections in PARTS for one fault, in us.
    Group.counts has `number` bins from bin `first` on, see _bin()."""
    totals = sorted(map(sum, found))
    counts = [0] * number
    for total in totals:
        counts[_bin(total) - first] += 1
    return Group(
        name,
        counts,
        round(statistics.median(totals), 1),
        round(totals[math.ceil(0.99 * len(totals)) - 1], 1),
        [round(statistics.median(part), 1) for part in zip(*found, strict=True)],
    )


def _bin(us: float) -> int:
    """Return the number of the bin of a latency. The bins are logarithmic. Bin 0 begins at 1 us, and also counts
    shorter latencies."""
    return math.floor(math.log10(max(us, 1.0)) * PER_DECADE + 1e-9)


def latency(recordings: Iterable[Sides]) -> Latency:
    """Return the distribution of the faults' latencies, in two groups: faults whose service
    migrated memory to VRAM, and other faults."""
    found: dict[str, list[list[float]]] = {IN_PLACE: [], MIGRATED: []}
    left_out = 0
    for sides in recordings:
        around = map(sides.driver.around, _migrations(sides.driver.migrations, True))
        migrated = {id(service) for service in around if service}
        for fault in sides.device.faults:
            if parts := cuts(fault):
                found[MIGRATED if id(fault.service) in migrated else IN_PLACE].append(parts)
            else:
                left_out += 1
    found = {name: some for name, some in found.items() if some}
    if not found:
        raise Failure("pictures: the runs have no repaired fault", status=1)
    bins = [_bin(sum(parts)) for some in found.values() for parts in some]
    first, number = min(bins), max(bins) - min(bins) + 1
    edges = [round(10 ** ((first + one) / PER_DECADE), 4) for one in range(number + 1)]
    groups = [_group(name, some, first, number) for name, some in found.items()]
    text = "; ".join(
        f"{sum(one.counts)} {one.name}: median {one.median:g} us, 99 % below {one.p99:g} us, medians of the parts "
        + " + ".join(f"{part:g}" for part in one.parts)
        for one in groups
    )
    return Latency(edges, PARTS, groups, f"{text}; {left_out} left out (stale, denied, or replayed before received)")
