# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs all benchmarks, prints medians and ranges, and writes build/bench.json.

A missed bar (the goal for a result) does not change the exit status.
"""

import argparse
import platform
import shlex
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pydantic import BaseModel, FiniteFloat, ValidationError
from rich.console import Console

from vgpu_tools.base.arguments import join_values
from vgpu_tools.base.data import why
from vgpu_tools.base.environment import Environment, inherited_environment
from vgpu_tools.base.errors import Failure, refused_by_machine
from vgpu_tools.base.paths import BENCH, BUILD, CACHE, ROOT
from vgpu_tools.base.process import CPUS
from vgpu_tools.bench import compare
from vgpu_tools.bench.document import Document, load, processor, write
from vgpu_tools.bench.rows import FAULTING, PEERS, Key, Result, Results
from vgpu_tools.bench.table import show
from vgpu_tools.build import qemu
from vgpu_tools.guest import options, snapshot
from vgpu_tools.guest.launch import Run, Streams

GUEST_LIMIT = 900  # seconds that a benchmark program may take in a guest
MEMORY_GUEST = ("--vram", "2G", "--memory", "5G")  # large enough for 1 GiB in VRAM and 1 GiB in GTT
PEERS_GUEST = ("--gpus", str(PEERS), "--vram", "64M")
ROCM_GUEST = ("--rootfs", "rocm")
FAULTING_GUEST = ("--gpus", str(FAULTING), "--vram", "128M", "--memory", "3G")
OVERCOMMIT_GUEST = ("--vram", "64M")  # little, so that 30 s have many evictions
# Arguments of QEMU: a disk whose reads do no work on the host. vgpu-bench finds the disk by its serial number.
NULL_DISK = (
    "-drive if=none,id=null,driver=null-co,size=1G,read-zeroes=on -device virtio-blk-pci,drive=null,serial=vgpu-null"
)
HOST_PROGRAMS = ("memcpy", "wakeup")  # sources in bench/host


class BenchError(Exception):
    """A measurement failed; the text names the command and the reason."""


Samples = dict[Key, list[float]]


class Sample(BaseModel):
    """A measured value: a line of JSON that a benchmark prints."""

    name: str
    bytes: int
    unit: str
    value: FiniteFloat


def run(command: Sequence[str | Path], limit: float, env: Mapping[str, str] | None = None) -> str:
    """Run a command and return its output. Raises BenchError if the command fails or takes more than `limit` seconds.
    `env` is added to the environment."""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(
            words,
            cwd=ROOT,
            env=inherited_environment(env),
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
    """Add the samples of a program's output: each line that starts with "{" is a sample in JSON.
    Raises BenchError if a sample is malformed."""
    for line in text.splitlines():
        if not line.startswith("{"):
            continue
        try:
            sample = Sample.model_validate_json(line)
        except ValidationError as error:
            raise BenchError(f"no sample: {line}: {why(error)}") from error
        samples[Key(sample.name, sample.bytes, sample.unit)].append(sample.value)


def measure_host(samples: Samples) -> None:
    """Build and run the programs that measure the host, and add their samples."""
    folder = BUILD / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    flags = ("-O2", "-Wall", "-Wextra", "-Werror", "-pthread")
    for name in HOST_PROGRAMS:
        run(["gcc", *flags, "-o", folder / name, BENCH / "host" / f"{name}.c"], 60)
        collect(samples, run([folder / name], 120))


def measure_device(samples: Samples) -> None:
    """Run vgpu-kfd-bench, which measures the device through qtest without a guest, and add its
    samples."""
    collect(samples, run([qemu.bench()], 300, {"QTEST_QEMU_BINARY": str(qemu.with_firmware())}))


def measure_boot(samples: Samples, options: Sequence[str], times: int) -> None:
    """Add samples of the wall time of `./vgpu run -- true`. The number of samples is `times`. One more
    run comes first: it fills the caches, and gives no sample."""
    for i in range(times + 1):
        start = time.monotonic()
        run([ROOT / "vgpu", "run", *options, "--", "true"], 300)
        if i:
            samples[Key("run-true", 0, "s")].append(time.monotonic() - start)


def with_null_disk(words: Sequence[str]) -> list[str]:
    """Return options of ./vgpu run that also give the guest the disk NULL_DISK. The disk is appended to the last
    --qemu-args in `words`, because options.parse() takes the last --qemu-args only."""
    mark = "--qemu-args="
    joined = join_values(words)
    given = [word.removeprefix(mark) for word in joined if word.startswith(mark)]
    others = [word for word in joined if not word.startswith(mark)]
    return [*others, mark + " ".join([*given[-1:], NULL_DISK])]


def in_guest(samples: Samples, words: Sequence[str], command: Sequence[str], environment: Environment) -> None:
    """Add the samples that a command prints in a new guest. `words` are options of ./vgpu run."""
    text = shlex.join([str(ROOT / "vgpu"), "run", "--timeout", str(GUEST_LIMIT), *words, "--", *command])
    output, errors = bytearray(), bytearray()
    try:
        parsed = options.parse(words, environment, GUEST_LIMIT)
        with snapshot.prepared(parsed.guest, environment.snapshots) as saved:
            streams = Streams(output.extend, errors.extend)
            result = Run(parsed.guest, command, streams, parsed.timeout, parsed.verbose, snapshot=saved).execute()
    except Failure as failure:
        raise BenchError(f"{text}: status {failure.status}: vgpu: {failure}") from failure
    except OSError as error:
        if not (sentence := refused_by_machine(error, (BUILD, CACHE))):
            raise
        raise BenchError(f"{text}: vgpu: {sentence}") from error
    said = errors.decode(errors="replace") + (f"vgpu: {result.sentence}\n" if result.sentence else "")
    sys.stderr.write(said)
    if result.exit_status:
        last = (said.strip().splitlines() or ["no message"])[-1]
        raise BenchError(f"{text}: status {result.exit_status}: {last}")
    collect(samples, output.decode(errors="replace"))


def quartiles(values: Sequence[float]) -> tuple[float, float]:
    """Return the lower and the upper quartile of one or more values, interpolated between neighbouring values."""
    if len(values) < 2:
        return values[0], values[0]
    lower, _, upper = statistics.quantiles(values, n=4, method="inclusive")
    return lower, upper


def reduce(samples: Samples) -> Results:
    return {
        key: Result(
            key.name, key.bytes, key.unit, statistics.median(got), min(got), max(got), len(got), *quartiles(got)
        )
        for key, got in samples.items()
    }


def document(results: Results, options: Sequence[str]) -> Document:
    """Return what the JSON file has: the host, the time, the options of the guests and every result."""
    return Document(
        machine=platform.machine(),
        processor=processor(),
        cpus=CPUS,
        time=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        options=list(options),
        results=list(results.values()),
    )


def _steps(
    samples: Samples, options: Sequence[str], boots: int, environment: Environment
) -> list[tuple[str, Callable[[], None]]]:
    """Return the steps of a benchmark, each as a name and a function that adds samples to
    `samples`. Each guest is started with `options`, which are options of ./vgpu run."""

    def guest(program: str, *part: str, more: Sequence[str] = ()) -> Callable[[], None]:
        return lambda: in_guest(samples, [*options, *more], [program, *part], environment)

    def boot_alone() -> None:
        # Not in the guests of all_parts(): the kernel finds their null disk during the boot, which takes time.
        for _ in range(boots):
            guest("vgpu-bench", "boot")()

    def all_parts() -> None:
        for _ in range(boots):  # each round boots a new guest
            in_guest(samples, with_null_disk(options), ["vgpu-bench"], environment)

    return [
        ("the host", lambda: measure_host(samples)),
        ("the device alone", lambda: measure_device(samples)),
        (f"{boots} warm boots", lambda: measure_boot(samples, options, boots)),
        (f"the boot of {boots} guests", boot_alone),
        (f"vgpu-bench in {boots} guests", all_parts),
        ("the memory manager", guest("vgpu-bench", "memory", more=MEMORY_GUEST)),
        ("KFD's calls", guest("vgpu-bench", "kfd")),
        ("100 processes", guest("vgpu-bench", "crowd")),
        ("faults of many queues", guest("vgpu-bench", "fault-crowd", more=FAULTING_GUEST)),
        ("processes that need more memory", guest("vgpu-bench", "overcommit", more=OVERCOMMIT_GUEST)),
        (f"{PEERS} GPUs", guest("vgpu-bench", "peers", more=PEERS_GUEST)),
        ("shared virtual memory", guest("vgpu-bench", "svm", more=MEMORY_GUEST)),
        ("ROCr", guest("vgpu-test-rocr", "bench", more=ROCM_GUEST)),
        (f"{FAULTING} GPUs", guest("vgpu-bench", "svm-gpus", more=FAULTING_GUEST)),
    ]


def nothing() -> None:
    """The default of main()'s `prepare`."""


def main(arguments: Sequence[str], environment: Environment, prepare: Callable[[], object] = nothing) -> int:
    """Run all steps, print the table, and write the JSON file. Return 0, or 1 if something could not be measured.
    `prepare` builds what the steps need; main() calls it when the arguments are known to be right. Raises Failure if a
    file of results cannot be used."""
    parser = argparse.ArgumentParser(
        prog="vgpu bench", description="Runs all benchmarks; options after -- go to ./vgpu run."
    )
    parser.add_argument("--boots", type=int, default=3, help="warm boots, and guests that run vgpu-bench (3)")
    parser.add_argument("--output", type=Path, default=BUILD / "bench.json", help="where the results go")
    parser.add_argument("--base", type=Path, help="results of an earlier run, with which the new results are compared")
    parser.add_argument("--from", dest="given", type=Path, help="show these results of an earlier run; measure nothing")
    parser.add_argument("options", nargs="*", help="options for ./vgpu run")
    chosen = parser.parse_args(arguments)
    # Load the files first, so that a file that cannot be used ends the command before the measurement, and so that
    # --base may name the file that --output replaces.
    base = load(chosen.base) if chosen.base else None
    given = load(chosen.given) if chosen.given else None

    # Without a terminal, use fixed widths that have room for all columns of the tables.
    console = Console() if sys.stdout.isatty() else Console(width=150)
    wider = Console() if sys.stdout.isatty() else Console(width=200)
    progress = Console(stderr=True)
    problems: list[str] = []
    if given:
        now = given
    else:
        prepare()
        samples = _measure(chosen.options, chosen.boots, environment, progress, problems)
        now = document(reduce(samples), chosen.options)
    missing = show(now.by_key(), console)
    if not given:
        problems += [f"not measured: {label}" for label in missing]
        write(now, chosen.output)
    if base:
        compare.show(base, now, str(chosen.base), wider)
    for problem in problems:
        progress.print(f"bench: {problem}", style="red", highlight=False, markup=False)
    return 1 if problems else 0


def _measure(
    options: Sequence[str], boots: int, environment: Environment, progress: Console, problems: list[str]
) -> Samples:
    """Run all steps, and return the samples. The reasons of failed steps are appended to `problems`."""
    samples: Samples = defaultdict(list)
    for label, step in _steps(samples, options, boots, environment):
        progress.print(f"bench: {label}", highlight=False)
        try:
            step()
        except BenchError as error:
            problems.append(str(error))
    return samples
