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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from rich.console import Console

from vgpu_tools.base.paths import BENCH, BUILD, ROOT
from vgpu_tools.bench.rows import FAULTING, PEERS, Key, Result, Results
from vgpu_tools.bench.table import show
from vgpu_tools.build import qemu

GUEST_LIMIT = 900  # seconds that vgpu-bench may take in the guest
MEMORY_GUEST = ("--vram", "2G", "--memory", "5G")  # room for 1 GiB in VRAM and in GTT
PEERS_GUEST = ("--gpus", str(PEERS), "--vram", "64M")
ROCM_GUEST = ("--rootfs", "rocm")
FAULTING_GUEST = ("--gpus", str(FAULTING), "--vram", "128M", "--memory", "3G")


class BenchError(Exception):
    """Something could not be measured; the text says what."""


Samples = dict[Key, list[float]]


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
