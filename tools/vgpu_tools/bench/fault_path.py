# SPDX-License-Identifier: GPL-2.0-or-later
"""./vgpu fault-path: records lone faults in a guest, in turn with and without the trace of their path, and makes the
breakdown. trace/hops.py has the pairing of events, trace/stations.py the table of hops. The entry point is `take()`.
"""

import os
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from vgpu_tools.base import progress
from vgpu_tools.base.environment import Environment
from vgpu_tools.base.errors import Failure
from vgpu_tools.bench import measure
from vgpu_tools.bench.rows import CPU_MINOR_FAULT, DISK_READ, FAULT_PER_READ, PIPE_ROUND_TRIP, REGISTER_READ, Key
from vgpu_tools.guest import accel, options, qmp
from vgpu_tools.guest.launch import Streams, comes_up
from vgpu_tools.trace import hops, path_report, record, runs
from vgpu_tools.trace.stations import DEVICE_EVENTS, GUEST_EVENTS

COMMAND = "./vgpu fault-path"
LIMIT = 300.0  # timeout of the run, in seconds
MOST_FAULTS = 1024  # MAX_COUNT of bench/guest/bench.h: faults of a call of vgpu-bench
MOST_ROUNDS = 32
OUTPUT_BYTES = 16 << 20  # most bytes that the guest may print
LINE_BYTES = 4096
LONE = Key("fault-single", 4096, "us")
ANCHORS = {
    "null disk read": DISK_READ,
    "two wake-ups": PIPE_ROUND_TRIP,
    "CPU minor fault": CPU_MINOR_FAULT,
    "register read": REGISTER_READ,
}
PHASE = "vgpu phase "  # the guest prints this and a phase, and waits for a line
OFF, ON, END = "off", "on", "end"  # phases: nothing is traced; both sides are traced; all is measured
# Script in the guest. Further arguments: faults of a phase, rounds. The samples are printed at the end of a phase,
# because the agent that forwards the output would keep a virtual CPU awake. The untraced faults are measured in turn
# with reads of the disk, so that both see the same machine. The traced ones are not, because the trace would have the
# reads.
SCRIPT = f"""\
{record.HEAD}
count=$1 rounds=$2
switch() {{
	for event in {" ".join(GUEST_EVENTS)}; do
		echo "$1" >"$trace/events/$event/enable" ||
			{{ echo "vgpu: the guest has no tracepoint $event" >&2; exit 125; }}
	done
}}
phase() {{
	echo "{PHASE}$1"
	read -r answer || exit 125
}}
measure() {{
	"$@" >/tmp/vgpu.samples 9>&- </dev/null || exit
}}
round=1
while [ "$round" -le "$rounds" ]; do
	phase {OFF}
	measure vgpu-bench fault-and-read "$count"
	cat /tmp/vgpu.samples
	phase {ON}
	switch 1
	echo "{hops.ROUND}$round" >$trace/trace_marker
	measure vgpu-bench fault-single "$count"
	switch 0
	cat /tmp/vgpu.samples
	round=$((round + 1))
done
phase {OFF}
measure vgpu-bench anchors
cat /tmp/vgpu.samples
measure vgpu-bench cpu-faults
cat /tmp/vgpu.samples
phase {END}
status=0
{record.TAIL}"""


@dataclass
class Conductor:
    """Takes the output of SCRIPT. When the guest announces a phase, switches the device's trace events and lets the
    guest go on."""

    rounds: int
    answer: int  # descriptor; a line that is written to it reaches the guest's script
    socket: Path | None = None  # QEMU's monitor
    lines: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))  # output by phase
    spans: list[tuple[int, int]] = field(default_factory=list)  # times in which both sides traced; ns since 1970
    _passed: list[str] = field(default_factory=list)
    _begin: int = 0
    _bytes: int = 0
    _rest: bytes = b""

    def prepare(self, folder: Path) -> None:
        """Set the socket. `folder` is that of the run."""
        self.socket = folder / qmp.SOCKET
        if len(os.fsencode(self.socket)) > qmp.MAX_PATH:
            raise Failure(f"{self.socket}: this path is too long for a socket", status=2)

    def __call__(self, data: bytes) -> None:
        self._bytes += len(data)
        *whole, self._rest = (self._rest + data).split(b"\n")
        if self._bytes > OUTPUT_BYTES or len(self._rest) > LINE_BYTES:
            raise Failure("fault-path: the guest prints too much", status=1)
        for line in whole:
            self._take(line.decode(errors="replace"))

    def _take(self, line: str) -> None:
        if line.startswith(PHASE):
            self._enter(line.removeprefix(PHASE))
        elif self._passed:
            self.lines[self._passed[-1]].append(line)

    def _enter(self, phase: str) -> None:
        plan = [OFF, ON] * self.rounds + [OFF, END]
        if plan[len(self._passed) : len(self._passed) + 1] != [phase]:
            raise Failure(f"fault-path: unexpected phase of the guest: {phase[:40]!r}", status=1)
        before = self._passed[-1] if self._passed else OFF
        if before == ON:
            self.spans.append((self._begin, time.time_ns()))
        if (before == ON) != (phase == ON):
            self._switch(phase == ON)
        self._begin = time.time_ns()
        self._passed.append(phase)
        os.write(self.answer, b"\n")

    def _switch(self, on: bool) -> None:
        assert self.socket
        commands = [("trace-event-set-state", {"name": event, "enable": on}) for event in DEVICE_EVENTS]
        try:
            qmp.ask(self.socket, *commands)
        except qmp.Refused as refused:
            raise Failure(f"QEMU refuses: {refused}", status=1) from None


def samples_of(lines: Sequence[str]) -> measure.Samples:
    """Return the samples in the output of a phase. Raises Failure if a sample is malformed."""
    samples: measure.Samples = defaultdict(list)
    try:
        measure.collect(samples, "\n".join(lines))
    except measure.BenchError as error:
        raise Failure(f"fault-path: {error}", status=1) from None
    return samples


def check(samples: int, rounds: int) -> None:
    """Raise Failure if the numbers of faults and of rounds are not possible."""
    if not 1 <= rounds <= MOST_ROUNDS:
        raise Failure(f"--rounds {rounds}: want 1 to {MOST_ROUNDS}", status=2)
    if not rounds <= samples <= rounds * MOST_FAULTS:
        raise Failure(f"--samples {samples}: want {rounds} to {rounds * MOST_FAULTS} with {rounds} rounds", status=2)


def _record(parsed: options.Options, samples: int, rounds: int) -> tuple[Conductor, record.Recording]:
    """Run SCRIPT in a guest. Raises Failure if the guest or the script fails."""
    source, answer = os.pipe()
    errors = bytearray()
    try:
        conductor = Conductor(rounds, answer)
        words = [str(-(-samples // rounds)), str(rounds)]
        streams = Streams(conductor, lambda data: errors.extend(data[: max(0, LINE_BYTES - len(errors))]), source)
        with progress.step("lone faults in a guest"):
            result, recording = record.record_script(parsed, SCRIPT, words, streams, (), conductor.prepare)
    finally:
        os.close(source)
        os.close(answer)
    if status := result.check():
        said = (errors.decode(errors="replace").strip().splitlines() or ["no message"])[-1]
        raise Failure(f"fault-path: exit status {status}: {said}", status=1)
    return conductor, recording


def take(words: Sequence[str], samples: int, rounds: int, environment: Environment) -> path_report.Report:
    """Record lone faults and return their breakdown. `words` are options of ./vgpu run. `samples` is the number of
    traced faults, over all rounds; each round has as many faults without the trace. Raises Failure if the guest fails
    or if no fault is complete."""
    parsed = options.parse(measure.with_null_disk(words), environment, LIMIT)
    if parsed.guest.gpus != 1 or parsed.guest.snapshot:
        raise Failure("fault-path: wants a guest with one GPU, and not --from boot", status=2)
    parsed.guest.prepare()
    conductor, recording = _record(parsed, samples, rounds)
    off, on = samples_of(conductor.lines[OFF]), samples_of(conductor.lines[ON])
    return path_report.report(
        hops.paths(recording, conductor.spans),
        (off[LONE], on[LONE]),
        {name: off[key] for name, key in ANCHORS.items()},
        off[FAULT_PER_READ],
        runs.origin(COMMAND, environment.accelerator or accel.choose(comes_up)),
        " ".join(words),
    )
