# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs programs in guests for ./vgpu pictures, and records a trace of each run. Computes from the runs the data for
the documentation's pictures, and writes the data as JSON. The entry point is `take()`.
"""

import json
import os
import shlex
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from vgpu_tools.base import progress
from vgpu_tools.base.environment import Environment
from vgpu_tools.base.errors import Failure
from vgpu_tools.base.paths import BUILD, ROOT
from vgpu_tools.base.process import output_of
from vgpu_tools.guest import accel, options
from vgpu_tools.guest.launch import Streams, comes_up
from vgpu_tools.trace import figures, life, one_fault, record, timeline

FOLDER = BUILD / "pictures"  # holds the output of the programs, and DATA
DATA = FOLDER / "runs.json"
COMMAND = "./vgpu pictures"
SECONDS = 300.0  # timeout of a run
# Shell script: runs a command, and traces the use of VRAM and GTT every 5 ms. `read -t` sleeps without starting a
# process.
SAMPLED = f"""\
marker={record.MARKER}
for device in /sys/class/drm/renderD*/device; do
	[ ! -e "$device/mem_info_vram_used" ] || break
done
read -r vram <"$device/mem_info_vram_total" && read -r gtt <"$device/mem_info_gtt_total" &&
	echo "{figures.SIZES}$vram $gtt" >$marker && mkfifo /tmp/vgpu.pace && exec 8<>/tmp/vgpu.pace || exit 125
while :; do
	read -r vram <"$device/mem_info_vram_used"
	read -r gtt <"$device/mem_info_gtt_used"
	echo "{figures.MEMORY}$vram $gtt" >$marker
	read -r -t 0.005 nothing <&8
done &
sampler=$!
"$@" 8<&-
status=$?
kill $sampler
exit $status
"""
# Each phase of PRESSURE: its title, and its program with an argument. Each program uses more memory than the VRAM has.
PHASES = (
    ("four processes, buffers of 1.5 x VRAM", ("vgpu-test-evict", "=processes at work take turns")),
    ("shared memory of 1.5 x VRAM", ("vgpu-test-svm-evict", "=itself, with retry")),
    ("shared memory, buffers and the CPU", ("vgpu-test-svm-evict", "=all at once, with retry")),
)


def _phases() -> str:
    """Return a shell script that runs the programs of PHASES, and marks the beginning of each in the trace."""
    lines = []
    for title, words in PHASES:
        lines += [f"echo '{figures.PHASE}{title}' >{record.MARKER}", shlex.join(words)]
    return " && ".join([*lines, f"echo '{figures.PHASE}{figures.PHASES_END}' >{record.MARKER}"])


@dataclass(frozen=True)
class Workload:
    """A run: options of the guest, the command in the guest, and whether the memory in use is sampled during the
    command."""

    name: str
    options: tuple[str, ...]
    words: tuple[str, ...]
    sampled: bool = True


DEMO = Workload("demo", ("--memory", "2G"), ("vgpu-demo",))
PRESSURE = Workload("pressure", ("--vram", "64M"), ("sh", "-c", _phases()))
# In FAULTS two queues copy between pages. Each page faults separately and stays in system memory.
FAULTS = Workload("faults", ("--vram", "64M"), ("sh", "-c", "sleep 3 | vgpu-svm-loop copy"))
# The sleep keeps the recording running until the driver has torn down the process, which happens
# after the process has exited.
LIFE = Workload("life", ("--vram", "64M"), ("sh", "-c", f"vgpu-svm-life {record.MARKER} && sleep 1"), sampled=False)


@dataclass
class Lines:
    """Takes the output of a command, and keeps each line with the host's time (ns since 1970) when the line arrived."""

    lines: list[tuple[int, str]] = field(default_factory=list)
    rest: bytes = b""

    def __call__(self, data: bytes) -> None:
        now = time.time_ns()
        *whole, self.rest = (self.rest + data).split(b"\n")
        self.lines += [(now, line.decode(errors="replace")) for line in whole]

    def text(self) -> str:
        """Return the output without the times."""
        return "".join(f"{line}\n" for _, line in self.lines) + self.rest.decode(errors="replace")


@dataclass(frozen=True)
class Recorded:
    """The recording of a run that has ended well, and the lines of the run's output with their
    times."""

    sides: timeline.Sides
    lines: Sequence[tuple[int, str]]


def _run(workload: Workload, environment: Environment) -> Recorded:
    """Record a run. Raises Failure if the guest or its command fails, or if the recording has no
    events of the driver."""
    parsed = options.parse(workload.options, environment, SECONDS)
    output, errors = Lines(), Lines()
    with progress.step(f"{workload.name} in a guest"):
        words = ["sh", "-c", SAMPLED, "sh", *workload.words] if workload.sampled else workload.words
        result, recording = record.record(parsed, words, Streams(output, errors))
    log = FOLDER / f"{workload.name}.log"
    log.write_text(output.text() + errors.text())
    if status := result.check():
        raise Failure(f"pictures: {workload.name}: exit status {status}; output: {log}", status=1)
    sides = timeline.join(recording)
    for doubt in sides.doubts:
        print(f"vgpu: pictures: {workload.name}: inconsistent: {doubt}", file=sys.stderr)
    if not sides.events:
        raise Failure(f"pictures: {workload.name}: the recording has no events of the driver", status=1)
    return Recorded(sides, output.lines)


def origin(command: str, accelerator: str) -> dict[str, str]:
    """Return from where measured numbers come: command, commit, date, machine."""
    commit = output_of(["git", "-C", ROOT, "rev-parse", "--short=12", "HEAD"]).strip() or "unknown"
    if output_of(["git", "-C", ROOT, "status", "--porcelain", "--untracked-files=no"]).strip():
        commit += " and changes"
    return {
        "command": command,
        "commit": commit,
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "machine": f"{accelerator.upper()}, {os.cpu_count()} host CPUs",
    }


def facts(accelerator: str, runs: dict[str, Recorded]) -> dict[str, object]:
    """Return the facts for the captions: command, commit, date, machine, precision of the clocks, and doubts
    (inconsistencies that were found in the recordings)."""
    return {
        **origin(COMMAND, accelerator),
        "clock_us": {name: run.sides.clock_ns / 1000 for name, run in runs.items()},
        "doubts": [f"{name}: {doubt}" for name, run in runs.items() for doubt in run.sides.doubts],
    }


def take(environment: Environment) -> Path:
    """Record all runs. Write the numbers for the pictures to the file DATA, and return the path DATA."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    options.parse((), environment).guest.prepare()
    runs = {one.name: _run(one, environment) for one in (DEMO, PRESSURE, FAULTS, LIFE)}
    demo, pressure, faults = runs[DEMO.name], runs[PRESSURE.name], runs[FAULTS.name]
    data = {
        "run": facts(environment.accelerator or accel.choose(comes_up), runs),
        "demo-timeline": asdict(figures.demo(demo.sides, demo.lines)),
        "pressure": asdict(figures.pressure(pressure.sides)),
        "fault-latency": asdict(figures.latency([faults.sides, pressure.sides])),
        "one-fault": asdict(one_fault.one_fault(demo.sides)),
        "svm-life": asdict(life.life(runs[LIFE.name].sides)),
    }
    DATA.write_text(json.dumps(data, ensure_ascii=False) + "\n")
    return DATA
