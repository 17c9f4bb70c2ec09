# SPDX-License-Identifier: GPL-2.0-or-later
"""All benchmarks: runs them, prints one table, writes build/bench.json.

What is measured in the guest comes from vgpu-bench (bench/guest), the device without a guest from vgpu-kfd-bench
(qemu-device/tests/bench.c), ROCr from vgpu-test-rocr, the host's memcpy from bench/host/memcpy.c, the time of a boot
from ./vgpu itself. Each sample is a line of JSON; what is shown is the median, and the spread beside it.
The bars are goals to look at, not tests: a missed one is marked and the exit status stays 0. Only what could not be
measured makes it 1.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from vgpu_tools.base.paths import BENCH, BUILD, ROOT
from vgpu_tools.build import qemu

MIB = 1 << 20
GUEST_LIMIT = 900  # seconds that vgpu-bench may take in the guest
MEMORY_GUEST = ("--vram", "2G", "--memory", "5G")  # room for 1 GiB in VRAM and in GTT
PEERS = 8  # GPUs that a BO is mapped on
PEERS_GUEST = ("--gpus", str(PEERS), "--vram", "64M")
ROCM_GUEST = ("--rootfs", "rocm")
FAULTING = 4  # GPUs that fault at once
FAULTING_GUEST = ("--gpus", str(FAULTING), "--vram", "128M", "--memory", "3G")


class BenchError(Exception):
    """Something could not be measured; the text says what."""


@dataclass(frozen=True)
class Key:
    """What was measured: name, bytes moved (0 where that means nothing), unit."""

    name: str
    bytes: int
    unit: str


@dataclass
class Result:
    """The samples of one key, reduced."""

    name: str
    bytes: int
    unit: str
    median: float
    lowest: float
    highest: float
    samples: int


Samples = dict[Key, list[float]]
Results = dict[Key, Result]


@dataclass(frozen=True)
class Row:
    """A row of the table: a result, what it is held against, and the bar for the ratio."""

    label: str
    key: Key
    against: Key | None = None
    against_label: str = ""
    bar: float | None = None
    absolute_bar: float | None = None
    lower_is_better: bool = False


def run(command: Sequence[str | Path], limit: float, env: Mapping[str, str] | None = None) -> str:
    """What a command prints; BenchError when it fails or takes too long. `env` is added to the environment."""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(
            words,
            cwd=ROOT,
            env={**os.environ, **(env or {})},
            capture_output=True,
            text=True,
            timeout=limit,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise BenchError(f"{' '.join(words)}: no end after {limit:.0f} s") from error
    except OSError as error:
        raise BenchError(f"{' '.join(words)}: {error}") from error
    sys.stderr.write(done.stderr)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise BenchError(f"{' '.join(words)}: status {done.returncode}: {last}")
    return done.stdout


def collect(samples: Samples, text: str) -> None:
    """Adds the JSON lines of a program's output."""
    for line in text.splitlines():
        if not line.startswith("{"):
            continue
        entry = json.loads(line)
        samples[Key(entry["name"], entry["bytes"], entry["unit"])].append(entry["value"])


def measure_host(samples: Samples) -> None:
    """The host's memcpy."""
    binary = BUILD / "bench" / "memcpy"
    binary.parent.mkdir(parents=True, exist_ok=True)
    run(["gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", binary, BENCH / "host" / "memcpy.c"], 60)
    collect(samples, run([binary], 120))


def measure_device(samples: Samples) -> None:
    """The device alone, driven through qtest."""
    collect(samples, run([qemu.bench()], 300, {"QTEST_QEMU_BINARY": str(qemu.with_firmware())}))


def measure_boot(samples: Samples, options: Sequence[str], times: int) -> None:
    """Wall time of a whole warm `./vgpu run -- true`; the first one warms."""
    for i in range(times + 1):
        start = time.monotonic()
        run([ROOT / "vgpu", "run", *options, "--", "true"], 300)
        if i:
            samples[Key("run-true", 0, "s")].append(time.monotonic() - start)


def measure_guest(samples: Samples, options: Sequence[str], times: int) -> None:
    """Everything that vgpu-bench measures, each time in a fresh guest."""
    for _ in range(times):
        command: list[str | Path] = [ROOT / "vgpu", "run", "--timeout", str(GUEST_LIMIT), *options, "--", "vgpu-bench"]
        collect(samples, run(command, GUEST_LIMIT + 60))


def measure_part(samples: Samples, options: Sequence[str], part: str, program: str = "vgpu-bench") -> None:
    """One part of vgpu-bench, or of another program, in a guest of its own."""
    command = [ROOT / "vgpu", "run", "--timeout", str(GUEST_LIMIT), *options, "--", program, part]
    collect(samples, run(command, GUEST_LIMIT + 60))


def reduce(samples: Samples) -> Results:
    """Medians and ranges."""
    return {
        key: Result(key.name, key.bytes, key.unit, statistics.median(got), min(got), max(got), len(got))
        for key, got in samples.items()
    }


def size_text(size: int) -> str:
    """4096 -> "4 KiB"; nothing for 0."""
    if not size:
        return ""
    return f"{size // MIB} MiB" if size >= MIB else f"{size // 1024} KiB"


def nearest(results: Results, name: str, size: int, unit: str) -> Key | None:
    """The measured key of that name whose size is closest."""
    keys = [key for key in results if key.name == name and key.unit == unit]
    return min(keys, key=lambda key: abs(key.bytes - size), default=None)


def copy_rows(results: Results) -> Iterable[Row]:
    """SDMA copies against the host's memcpy of the same size."""
    for name, label in (
        ("sdma-vram-vram", "SDMA copy VRAM to VRAM"),
        ("sdma-vram-gtt", "SDMA copy VRAM to GTT"),
        ("sdma-gtt-vram", "SDMA copy GTT to VRAM"),
    ):
        for key in sorted((key for key in results if key.name == name), key=lambda key: key.bytes):
            host = Key("host-memcpy", key.bytes, "GB/s")
            yield Row(label, key, host, "host memcpy", bar=0.5 if key.bytes == 64 * MIB else None)
    for key in sorted((key for key in results if key.name == "guest-memcpy"), key=lambda key: key.bytes):
        yield Row("guest memcpy", key, Key("host-memcpy", key.bytes, "GB/s"), "host memcpy")


def device_rows() -> Iterable[Row]:
    """The device without a guest; its copies against the memcpy that ran between them."""
    host = Key("device-memcpy", 64 * MIB, "GB/s")
    for name, label, bar in (
        ("device-copy-big", "device: copy in VRAM, 2 MiB leaves", 0.9),
        ("device-copy-gtt", "device: copy from 4 KiB pages of GTT", 0.6),
        ("device-copy-to-gtt", "device: copy to 4 KiB pages of GTT", 0.6),
    ):
        yield Row(label, Key(name, 64 * MIB, "GB/s"), host, "host memcpy", bar=bar)
    for name, label, unit, bar in (
        ("device-tlb-hit", "device: translation by TLB hit", "ns", 20.0),
        ("device-idle-cpu", "device: CPU time when idle", "%", 0.5),
        ("device-memory", "device: memory beyond VRAM", "MiB", 32.0),
    ):
        yield Row(label, Key(name, 0, unit), absolute_bar=bar, lower_is_better=True)
    yield Row("device: least share of 40 queues", Key("device-fairness", 0, "%"), absolute_bar=90.0)


def rows(results: Results) -> list[Row]:
    """The table, from top to bottom."""
    sweep = 64 * MIB
    minor = nearest(results, "cpu-minor-fault", sweep, "us/page")
    hmm_to = nearest(results, "test-hmm-to-device", sweep, "us/page")
    hmm_rate = nearest(results, "test-hmm-to-device", sweep, "GB/s")
    hmm_back = nearest(results, "test-hmm-touch-back", sweep, "us/page")
    table = [
        Row("boot until /dev/kfd is there (guest's clock)", Key("boot-to-kfd", 0, "ms")),
        Row("warm ./vgpu run -- true", Key("run-true", 0, "s"), absolute_bar=5.0, lower_is_better=True),
        *copy_rows(results),
        Row("4 KiB copy, packet to fence seen", Key("sdma-round-trip", 4096, "us")),
    ]
    for name, label in (
        ("sdma-first-byte-idle", "doorbell to first byte, idle engine"),
        ("sdma-first-byte", "doorbell to first byte, after work"),
    ):
        table.append(Row(label, Key(name, 0, "us"), absolute_bar=20.0, lower_is_better=True))
    table += device_rows()
    for name, label in (
        ("fault-read-present", "faults: engine reads memory the CPU has"),
        ("fault-write-untouched", "faults: engine writes untouched memory"),
    ):
        table += [
            Row(label, Key(name, sweep, "pages/s")),
            Row(label, Key(name, sweep, "faults/s")),
            Row(label, Key(name, sweep, "pages/fault"), absolute_bar=1.01),
        ]
    for key, label, bar in (
        (Key("fault-read-present", sweep, "us/page"), "faults: engine reads memory the CPU has, a page", 1),
        (Key("fault-single", 4096, "us"), "one fault, raise to replay", 6),
    ):
        table.append(Row(label, key, minor, "CPU minor fault", bar=bar, lower_is_better=True))
    for name, label, against, other in (
        ("migrate-to-vram", "prefetch to VRAM", hmm_to, "test_hmm to device"),
        ("migrate-touch-back", "CPU touch brings it back", hmm_back, "test_hmm touch"),
        ("migrate-prefetch-back", "prefetch back to system", hmm_back, "test_hmm touch"),
    ):
        key = nearest(results, name, sweep, "us/page")
        rate = nearest(results, name, sweep, "GB/s")
        if key and rate:
            same = hmm_rate if name == "migrate-to-vram" else None
            table.append(Row(label, rate, same, other if same else ""))
            table.append(Row(label, key, against, other, bar=1, lower_is_better=True))
    for key, label in (
        (minor, "CPU minor fault"),
        (hmm_to, "test_hmm, system to device"),
        (hmm_back, "test_hmm, CPU touch brings it back"),
    ):
        if key:
            table.append(Row(label, key))
    table += svm_rows()
    table += memory_rows(results)
    table += kfd_rows()
    return table


def svm_rows() -> Iterable[Row]:
    """Shared virtual memory at size."""
    big = 1024 * MIB
    for way, label in (("in", "1 GiB of SVM to VRAM"), ("out", "1 GiB of SVM back")):
        yield Row(
            label,
            Key(f"svm-big-{way}", big, "GB/s"),
            Key(f"svm-engine-{way}", big // 2, "GB/s"),
            "SDMA copies",
            bar=0.5,
        )
    for what, label in (("lookup", "attributes of one of N ranges"), ("split", "cutting one of N ranges in three")):
        few = Key(f"svm-{what}-1000", 0, "us")
        yield Row(f"{label}, N = 1,000", few)
        for ranges in (10_000, 100_000, 1_000_000):
            # As the logarithm: 6/3 at most.
            bar = 2 if ranges == 1_000_000 else None
            key = Key(f"svm-{what}-{ranges}", 0, "us")
            yield Row(f"{label}, N = {ranges:,}", key, few, "N = 1,000", bar=bar, lower_is_better=True)
    without = Key("unmap-without-kfd", big, "ms")
    unmap = Key("unmap-with-range", big, "ms")
    yield Row("munmap of 1 GiB that no GPU has mapped", unmap, without, "without KFD", bar=1.1, lower_is_better=True)
    one = Key("faults-by-1", 64 * MIB, "pages/s")
    key = Key(f"faults-by-{FAULTING}", 64 * MIB, "pages/s")
    yield Row(f"{FAULTING} GPUs fault at once", key, one, "one GPU", bar=1.6)


def memory_rows(results: Results) -> Iterable[Row]:
    """The memory manager against what the same guest does without it."""
    size = 2 * MIB
    yield Row("load of the module", Key("module-load", 0, "ms"), absolute_bar=150, lower_is_better=True)
    yield Row(
        "BO in VRAM: create, map, unmap, free",
        Key("bo-life", size, "us"),
        Key("cpu-life", size, "us"),
        "mmap, touch, munmap",
        bar=3,
        lower_is_better=True,
    )
    yield Row(
        "the same of a page, 100,000 BOs live",
        Key("bo-among-100000", 4096, "us"),
        Key("bo-among-1000", 4096, "us"),
        "1,000 BOs",
        bar=2,
        lower_is_better=True,
    )
    for writer in ("cpu", "sdma"):
        name, size = f"tables-{writer}", 1024 * MIB
        label = f"page tables, 4 KiB pages, by {writer.upper()}"
        yield Row(label, Key(name, size, "B/entry"), absolute_bar=8.4, lower_is_better=True)
        against = Key("tables-cpu", size, "ns/page") if writer == "sdma" else None
        yield Row(label, Key(name, size, "ns/page"), against, "by CPU" if against else "", lower_is_better=True)
    if key := nearest(results, "evict-and-back", 1024 * MIB, "ms"):
        against = Key("copy-out-and-in", key.bytes, "ms")
        yield Row("evict and bring back", key, against, "SDMA copies", bar=1.3, lower_is_better=True)


def kfd_rows() -> Iterable[Row]:
    """KFD's calls against what the same guest does without KFD, or with less of it."""
    for label, name, size, unit, against, other, bar in (
        ("BO in VRAM by KFD: create to free", "kfd-life", 2 * MIB, "us", "drm-life", "by the render node", 1.5),
        ("event: signal, wake, and back", "event-round-trip", 0, "us", "eventfd-round-trip", "eventfd", 3),
        ("100 processes with 8 queues: the slowest", "crowd-slowest", 0, "ms", "crowd-mean", "mean", 2),
    ):
        yield Row(label, Key(name, size, unit), Key(against, size, unit), other, bar=bar, lower_is_better=True)
    for way, label in (("in", "to VRAM"), ("out", "back")):
        key = Key(f"rocr-copy-{way}", 64 * MIB, "GB/s")
        yield Row(f"ROCr's asynchronous copy {label}", key, replace(key, name=f"rocr-engine-{way}"), "engine", bar=0.8)
    for kind, label in (("sdma", "SDMA"), ("pm4", "PM4"), ("aql", "AQL")):
        for step in ("create", "destroy"):
            key = Key(f"queue-{step}-{kind}", 0, "ms")
            yield Row(f"{step} a queue: {label}", key, absolute_bar=2, lower_is_better=True)
    for size in (4096, 2 * MIB, 16 * MIB):
        one = Key("map-gtt-1", size, "us")
        many = Key(f"map-gtt-{PEERS}", size, "us")
        yield Row(f"GTT mapped on {PEERS} GPUs by one call", many, one, "on one", bar=4, lower_is_better=True)


def number(value: float) -> str:
    """Three significant digits, without exponents."""
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def judge(row: Row, result: Result, ratio: float | None) -> str:
    """The last column: the bar and whether it is reached."""
    if row.bar is not None and ratio is not None:
        met = ratio <= row.bar if row.lower_is_better else ratio >= row.bar
        text = f"{'≤' if row.lower_is_better else '≥'} {row.bar:g} x"
    elif row.absolute_bar is not None:
        met = result.median <= row.absolute_bar if row.lower_is_better else result.median >= row.absolute_bar
        sign = "≤" if row.lower_is_better else "≥"
        text = f"{sign} {row.absolute_bar:g} {result.unit}"
    else:
        return ""
    return f"[green]✓[/] {text}" if met else f"[red]✗[/] {text}"


def show(results: Results, console: Console) -> list[str]:
    """Prints the table; returns the rows that have no measurement."""
    table = Table(title="vgpu-kfd benchmarks (medians)", title_justify="left")
    table.add_column("what")
    for title in ("size", "median", "unit", "range", "ratio"):
        table.add_column(title, justify="left" if title == "unit" else "right")
    table.add_column("against")
    table.add_column("bar")
    missing = []
    previous = ""
    for row in rows(results):
        result = results.get(row.key)
        if result is None:
            missing.append(f"{row.label} ({row.key.unit})")
            continue
        other = results.get(row.against) if row.against else None
        ratio = result.median / other.median if other and other.median else None
        if previous and row.label != previous:
            table.add_section()
        table.add_row(
            row.label if row.label != previous else "",
            size_text(result.bytes),
            number(result.median),
            result.unit,
            f"{number(result.lowest)} … {number(result.highest)}",
            f"{ratio:.2f} x" if ratio is not None else "",
            f"{row.against_label} {number(other.median)}" if other else "",
            judge(row, result, ratio),
        )
        previous = row.label
    console.print(table)
    return missing


def write(results: Results, options: Sequence[str], path: Path) -> None:
    """build/bench.json: machine, options and every result."""
    path.parent.mkdir(parents=True, exist_ok=True)
    document = {
        "machine": platform.machine(),
        "cpus": len(os.sched_getaffinity(0)),
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "options": list(options),
        "results": [asdict(result) for result in results.values()],
    }
    path.write_text(json.dumps(document, indent=1) + "\n")


def main(arguments: Sequence[str]) -> int:
    """Runs, shows, writes. 0, or 1 if something could not be measured."""
    parser = argparse.ArgumentParser(
        prog="vgpu bench", description="Runs all benchmarks; options behind -- go to ./vgpu run."
    )
    parser.add_argument("--boots", type=int, default=3, help="warm boots, and guests that run vgpu-bench (3)")
    parser.add_argument("--output", type=Path, default=BUILD / "bench.json", help="where the results go")
    parser.add_argument("options", nargs="*", help="options for ./vgpu run")
    chosen = parser.parse_args(arguments)

    # Piped, the table keeps its columns.
    console = Console() if sys.stdout.isatty() else Console(width=150)
    progress = Console(stderr=True)
    samples: Samples = defaultdict(list)
    problems: list[str] = []
    steps: tuple[tuple[str, Callable[[], None]], ...] = (
        ("host memcpy", lambda: measure_host(samples)),
        ("the device alone", lambda: measure_device(samples)),
        (f"{chosen.boots} warm boots", lambda: measure_boot(samples, chosen.options, chosen.boots)),
        (f"vgpu-bench in {chosen.boots} guests", lambda: measure_guest(samples, chosen.options, chosen.boots)),
        ("the memory manager", lambda: measure_part(samples, [*chosen.options, *MEMORY_GUEST], "memory")),
        ("KFD's calls", lambda: measure_part(samples, chosen.options, "kfd")),
        ("100 processes", lambda: measure_part(samples, chosen.options, "crowd")),
        (f"{PEERS} GPUs", lambda: measure_part(samples, [*chosen.options, *PEERS_GUEST], "peers")),
        ("shared virtual memory", lambda: measure_part(samples, [*chosen.options, *MEMORY_GUEST], "svm")),
        ("ROCr", lambda: measure_part(samples, [*chosen.options, *ROCM_GUEST], "bench", "vgpu-test-rocr")),
        (f"{FAULTING} GPUs", lambda: measure_part(samples, [*chosen.options, *FAULTING_GUEST], "svm-gpus")),
    )
    for label, step in steps:
        progress.print(f"bench: {label}", highlight=False)
        try:
            step()
        except BenchError as error:
            problems.append(str(error))
    results = reduce(samples)
    problems += [f"not measured: {label}" for label in show(results, console)]
    write(results, chosen.options, chosen.output)
    for problem in problems:
        progress.print(f"bench: {problem}", style="red", highlight=False, markup=False)
    return 1 if problems else 0
