# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs `vgpu-bench curve` in a guest and collects its values. At each line with "hold", the program waits for a byte on
its standard input; meanwhile this module measures the memory of QEMU.

bench/guest/curves.c describes the lines.
"""

import json
import os
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from vgpu_tools.base.data import why
from vgpu_tools.base.environment import Environment
from vgpu_tools.base.errors import Failure, refused_by_machine
from vgpu_tools.base.paths import BUILD, CACHE
from vgpu_tools.bench import host_memory
from vgpu_tools.bench.curves import BY_NAME, CURVES, POINTS, Samples
from vgpu_tools.bench.host_memory import Used
from vgpu_tools.guest import options, qmp
from vgpu_tools.guest.launch import Run, Streams
from vgpu_tools.guest.result import Result, Verdict

LINE_BYTES = 4096  # most bytes of a line that the guest may print
ERROR_BYTES = 1 << 16  # last bytes of the command's standard error that are kept
MOST_SAMPLES = 100  # most values of a curve at one n
LARGEST = 1e18  # limit of a value


class CurveError(Exception):
    """A measurement failed; the text has the reason."""


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Value(_Line):
    curve: str
    n: int
    value: Annotated[FiniteFloat, Field(ge=-LARGEST, le=LARGEST)]
    unit: str


class _LeftOut(_Line):
    part: str
    n: int
    # The text goes to a generated page, so it must have no markup.
    left_out: Annotated[str, Field(max_length=200, pattern=r"^[\w ,.:;()-]*$")]


class Hold(_Line):
    """The program in the guest waits. "before" and "after": before objects are created, and while they exist."""

    part: str
    n: int
    hold: Literal["before", "after", "idle"]


def _parsed(line: str) -> _Value | _LeftOut | Hold:
    """Return a line as an object. Raises CurveError if the line is malformed."""
    try:
        data: Any = json.loads(line)
        kind: type[_Value] | type[_LeftOut] | type[Hold]
        kind = Hold if "hold" in data else _LeftOut if "left_out" in data else _Value
        return kind.model_validate(data)
    except (ValueError, RecursionError) as error:  # ValidationError is a ValueError
        reason = why(error) if isinstance(error, ValidationError) else str(error)
        raise CurveError(f"no value of a curve: {line}: {reason}") from error


def nothing(part: str, n: int, samples: Samples) -> None:
    """The default of a Recorder's `completed`."""


class Recorder:
    """The values of all curves, and the reasons why points are left out.

    A point is a number n of a part. It is complete if all curves of the part have all their values at n. `done` are the
    complete points. `completed` is called for each point that becomes complete. `kept` are the values of points that an
    earlier run completed.
    """

    def __init__(self, kept: Samples | None = None, completed: Callable[[str, int, Samples], None] = nothing) -> None:
        self.samples: Samples = defaultdict(list)
        self.samples.update({key: list(values) for key, values in (kept or {}).items()})
        self.reasons: dict[tuple[str, int], str] = {}
        self.done = {(BY_NAME[name].part, n) for name, n in self.samples}
        self._completed = completed
        self._place: tuple[str, int] | None = None  # the point under measurement
        self._before: dict[tuple[str, int], int] = {}  # QEMU's own memory before the objects, by part and n

    def begin(self) -> None:
        """Note that another program starts: the next line does not complete the point of the program before."""
        self._place = None

    def complete(self, part: str, points: Sequence[int]) -> None:
        """Note that a program has measured these points to the end. Points that are left out, or that lack the values
        of a curve, are not complete."""
        names = [curve.name for curve in CURVES if curve.part == part]
        for n in points:
            place = (part, n)
            if place in self.done or place in self.reasons or not all(self.samples.get((name, n)) for name in names):
                continue
            self.done.add(place)
            self._completed(part, n, self.samples)

    def _enter(self, part: str, n: int) -> None:
        """Note that a program printed a line about a point. It measures one point after the other, so the point of the
        lines before is complete."""
        if self._place and self._place != (part, n):
            before, number = self._place
            self.complete(before, [number])
        self._place = (part, n)

    def add(self, name: str, n: int, value: float, unit: str) -> None:
        """Add a value. Raises CurveError if there is no such curve, point or unit."""
        curve = BY_NAME.get(name)
        if not curve or n not in POINTS[curve.part] or unit != curve.unit:
            raise CurveError(f"no value of a curve: {name} at {n} in {unit}")
        if len(self.samples[name, n]) >= MOST_SAMPLES:
            raise CurveError(f"{name} at {n}: more than {MOST_SAMPLES} values")
        self.samples[name, n].append(value)

    def leave_out(self, part: str, points: Sequence[int], reason: str) -> None:
        """Note why points have no values. A point that has a reason keeps it."""
        for n in points:
            self.reasons.setdefault((part, n), reason)

    def line(self, line: str) -> Hold | None:
        """Take a line of a program's output. Return a Hold if the program waits. Lines that do not start with "{" are
        ignored. Raises CurveError if the line is malformed."""
        if not line.startswith("{"):
            return None
        found = _parsed(line)
        if isinstance(found, _Value):
            self.add(found.curve, found.n, found.value, found.unit)
            self._enter(BY_NAME[found.curve].part, found.n)
            return None
        if found.n not in POINTS.get(found.part, ()):
            raise CurveError(f"no value of a curve: {line}")
        self._enter(found.part, found.n)
        if isinstance(found, Hold):
            return found
        self.leave_out(found.part, [found.n], found.left_out)
        return None

    def held(self, hold: Hold, used: Used) -> None:
        """Take the memory of QEMU, measured while the program waits."""
        place = (hold.part, hold.n)
        match hold.hold:
            case "before":
                if place in self._before:
                    raise CurveError(f"{hold.part} at {hold.n}: no memory was measured after the objects")
                self._before[place] = used.own
            case "after":
                if place not in self._before:
                    raise CurveError(f"{hold.part} at {hold.n}: no memory was measured before the objects")
                self.add(f"{hold.part}-qemu", hold.n, used.own - self._before.pop(place), "B")
            case "idle":
                self.add(f"{hold.part}-qemu", hold.n, used.own, "B")
                self.add(f"{hold.part}-vram", hold.n, used.vram, "B")


class Lines:
    """Splits output into lines, and calls a function with each complete line. Raises CurveError if a line is too
    long."""

    def __init__(self, take: Callable[[str], None]) -> None:
        self._take = take
        self._rest = b""

    def __call__(self, data: bytes) -> None:
        """Take the next bytes of the output."""
        *whole, self._rest = (self._rest + data).split(b"\n")
        if max(map(len, [*whole, self._rest])) > LINE_BYTES:
            raise CurveError(f"the guest prints a line of more than {LINE_BYTES} bytes")
        for line in whole:
            self._take(line.decode(errors="replace").rstrip("\r"))


@dataclass(frozen=True)
class Task:
    """What runs in a guest: options of ./vgpu run, a command, a limit in seconds, and the points of each part that the
    command measures."""

    words: Sequence[str]
    command: Sequence[str]
    seconds: float
    points: dict[str, list[int]]


def run(task: Task, environment: Environment, recorder: Recorder) -> None:
    """Run the task in a new guest, and record its values. If the guest or the command takes too long, the points
    without values get this as their reason. Raises CurveError if the guest or the command fails."""
    errors = bytearray()
    parsed = options.parse(task.words, environment, task.seconds)
    ours, theirs = os.pipe()
    with os.fdopen(ours, "rb", buffering=0), os.fdopen(theirs, "wb", buffering=0) as answer:

        def take(line: str) -> None:
            hold = recorder.line(line)
            if hold:
                recorder.held(hold, _used(guest))
                answer.write(b"\n")

        def complain(data: bytes) -> None:
            errors.extend(data)
            del errors[:-ERROR_BYTES]

        streams = Streams(Lines(take), complain, input=ours)
        guest = Run(parsed.guest, task.command, streams, parsed.timeout)
        try:
            parsed.guest.prepare()
            result = guest.execute()
        except Failure as failure:
            raise CurveError(f"{' '.join(task.command)}: {failure}") from failure
        except OSError as error:
            if not (sentence := refused_by_machine(error, (BUILD, CACHE))):
                raise
            raise CurveError(f"{' '.join(task.command)}: {sentence}") from error
    sys.stderr.write(errors.decode(errors="replace"))
    _judge(task, result, errors.decode(errors="replace"), recorder)


def _judge(task: Task, result: Result, said: str, recorder: Recorder) -> None:
    """Note which points are complete. Give the points without values a reason if the run was too slow. Raises
    CurveError if the run failed."""
    if result.verdict in (Verdict.TIMED_OUT, Verdict.NOT_UP):
        for part, points in task.points.items():
            recorder.leave_out(part, points, f"the guest reached its limit of {task.seconds:.0f} s before")
        return
    if result.exit_status:
        last = (said.strip().splitlines() or [f"status {result.exit_status}"])[-1]
        raise CurveError(f"{' '.join(task.command)}: {result.sentence or last}")
    for part, points in task.points.items():
        recorder.complete(part, points)


def _used(guest: Run) -> Used:
    """Return the memory of the guest's QEMU. Raises Failure if QEMU's monitor does not reply."""
    socket = guest.running.folder / qmp.SOCKET
    blocks = qmp.command(socket, "human-monitor-command", {"command-line": host_memory.RAM_BLOCKS})
    return host_memory.used(guest.running.process.pid, host_memory.parse_blocks(str(blocks)))
