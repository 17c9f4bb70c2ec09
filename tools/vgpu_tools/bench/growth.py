# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures how costs grow (./vgpu bench-curves), fits an exponent to each curve, prints a table, and writes
build/curves.json.

The time is bounded: a step that would begin after the limit of the whole command is left out, a guest is ended at its
limit, and vgpu-bench ends a measurement of one point at the limit of a point. Points that need more memory than the
host has are left out. The reasons are printed. A curve above its bar does not change the exit status.

Each complete point is kept at once (kept.py). If the run is interrupted, a measurement fails or the time is over, the
next run measures the rest.
"""

import shlex
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from vgpu_tools.base.environment import Environment
from vgpu_tools.base.errors import Failure
from vgpu_tools.base.paths import BENCH, BUILD, GUEST_DRIVER, INCLUDE, PROGRAMS, QEMU_DEVICE, ROOT
from vgpu_tools.base.process import CPUS, output_of
from vgpu_tools.bench import compare_curves, curve_guest, curves, host_memory, migration
from vgpu_tools.bench.curve_guest import CurveError, Recorder, Task
from vgpu_tools.bench.curves import BY_NAME, CURVES, POINTS, CurveFile, Measured
from vgpu_tools.bench.document import processor
from vgpu_tools.bench.kept import SUFFIX, Kept, Origin
from vgpu_tools.bench.measure import BenchError
from vgpu_tools.bench.measure import run as run_on_host
from vgpu_tools.bench.table import number
from vgpu_tools.build import fingerprint, qemu
from vgpu_tools.guest import accel
from vgpu_tools.guest.launch import comes_up

OUTPUT = BUILD / "curves.json"
SECONDS, POINT_SECONDS = 1800, 120  # limits of the whole command and of one point
LEAST_SECONDS = 30  # a step does not begin if less is left
BOOT_SECONDS = 60  # of the limit of a guest, for its boot
GUEST_SECONDS = 420  # most seconds of a guest with several points
IDLE_SECONDS, WALK_SECONDS = 120, 120
MIB, GIB = 1 << 20, 1 << 30
HOST_BYTES = GIB // 2  # QEMU's own memory, and what the host keeps free
LEAST_MIB = 2048  # RAM of a guest


@dataclass(frozen=True)
class InGuest:
    """A part that runs in one guest: the bytes of guest memory for n objects (`each`, beyond `base`), the VRAM that
    the guest has, and the bytes of VRAM that each object touches."""

    part: str
    each: float
    base: int = GIB
    vram: str = "1G"
    vram_each: int = 0
    gpus: int = 1

    def memory_mib(self, n: int) -> int:
        """Return the RAM in MiB that the guest needs for n objects, in steps of 256 MiB."""
        steps = -int(-(self.base + n * self.each) // (256 * MIB))
        return max(LEAST_MIB, 256 * steps)

    def host_bytes(self, n: int) -> int:
        """Return the bytes that the host needs for n objects."""
        return self.memory_mib(n) * MIB + n * self.vram_each + HOST_BYTES


# Bytes of an object are rounded up, because they only decide how large the guest is.
IN_GUEST = (
    InGuest("ranges", each=1536),
    InGuest("bos", each=8192, vram="2G", vram_each=4096),
    InGuest("memory", each=1.125 * MIB, base=GIB + GIB // 2),
    InGuest("processes", each=8 * MIB),
    InGuest("queues", each=65536),
    InGuest("gpus", each=0, vram="64M", vram_each=64 * MIB, gpus=max(POINTS["gpus"])),
)
WALKS = [n for n in POINTS["walk"] if n > 1]
FITS_IN_TLB = "the TLB has room for all leaves of this level, so that no access needs a walk"
TIME_OVER = "the command's time was over before"


class Clock:
    """The time that is left of the whole command."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """Return the seconds that are left."""
        return self._end - time.monotonic()


@dataclass(frozen=True)
class Context:
    """What all steps use."""

    recorder: Recorder
    environment: Environment
    clock: Clock
    point_seconds: int
    available: int  # bytes of the host's memory

    def open(self, part: str, points: Sequence[int]) -> list[int]:
        """Return the points of a part that are not complete."""
        return [n for n in points if (part, n) not in self.recorder.done]


@dataclass(frozen=True)
class Step:
    """A step: its name for the user, the points of each part that it measures, and the function that measures them."""

    label: str
    points: dict[str, list[int]]
    run: Callable[[Context], None]


def affordable(points: Sequence[int], needed: Callable[[int], int], available: int) -> tuple[list[int], dict[int, str]]:
    """Return the points for which the host has enough memory, and the reasons of the others. `needed` returns the bytes
    for a point, and grows with it."""
    kept = [n for n in points if needed(n) <= available]
    reasons = {
        n: f"needs {needed(n) / GIB:.1f} GiB of the host's memory, {available / GIB:.1f} GiB are available"
        for n in points
        if n not in kept
    }
    return kept, reasons


def _walk(context: Context) -> None:
    context.recorder.leave_out("walk", [1], FITS_IN_TLB)
    if not context.open("walk", WALKS):
        return
    seconds = min(WALK_SECONDS, context.clock.left())
    said = run_on_host([qemu.bench(), "walk"], seconds, {"QTEST_QEMU_BINARY": str(qemu.with_firmware())})
    for line in said.splitlines():
        context.recorder.line(line)
    context.recorder.complete("walk", WALKS)


def _part(what: InGuest) -> Callable[[Context], None]:
    """Return the function that measures a part in one guest."""

    def run(context: Context) -> None:
        kept, reasons = affordable(context.open(what.part, POINTS[what.part]), what.host_bytes, context.available)
        for n, reason in reasons.items():
            context.recorder.leave_out(what.part, [n], reason)
        if not kept:
            return
        words = ["--memory", f"{what.memory_mib(kept[-1])}M", "--vram", what.vram, "--gpus", str(what.gpus)]
        command = ["vgpu-bench", "curve", what.part, str(context.point_seconds), *map(str, kept)]
        seconds = min(GUEST_SECONDS, context.clock.left())
        curve_guest.run(Task(words, command, seconds, {what.part: kept}), context.environment, context.recorder)

    return run


def _gpus(n: int) -> Callable[[Context], None]:
    """Return the function that measures an idle guest with n GPUs, and the load of the module in it."""

    def run(context: Context) -> None:
        points = {part: [n] for part in _gpu_points(n) if context.open(part, [n])}
        if not points:
            return
        seconds = min(IDLE_SECONDS, context.clock.left())
        needed = LEAST_MIB * MIB + n * 64 * MIB + HOST_BYTES
        if needed > context.available:
            _, reasons = affordable([n], lambda _: needed, context.available)
            for part in points:
                context.recorder.leave_out(part, [n], reasons[n])
            return
        limit = str(min(context.point_seconds, IDLE_SECONDS - BOOT_SECONDS))
        script = " && ".join(shlex.join(["vgpu-bench", "curve", part, limit, str(n)]) for part in points)
        words = ["--gpus", str(n), "--vram", "64M"]
        task = Task(words, ["sh", "-c", script], seconds, points)
        curve_guest.run(task, context.environment, context.recorder)

    return run


def _gpu_points(n: int) -> dict[str, list[int]]:
    """Return the points that a guest with n GPUs measures. Without a GPU, the module is not loaded."""
    return {"idle": [n], "load": [n]} if n else {"idle": [n]}


def _migration(n: int) -> Callable[[Context], None]:
    """Return the function that measures migrations with n MiB of VRAM."""

    def run(context: Context) -> None:
        kept, reasons = affordable(context.open("migration", [n]), migration.needed, context.available)
        for left, reason in reasons.items():
            context.recorder.leave_out("migration", [left], reason)
        if not kept:
            return
        for kind in migration.KINDS:
            seconds = min(context.point_seconds, max(context.clock.left(), LEAST_SECONDS))
            moved = migration.migrate(n, kind, seconds, context.environment)
            migration.record(context.recorder, n, kind, moved)
        context.recorder.complete("migration", [n])

    return run


def steps(parts: Sequence[str]) -> list[Step]:
    """Return the steps of the given parts, or of all parts if none is given. Raises Failure for an unknown part."""
    if unknown := [part for part in parts if part not in POINTS]:
        raise Failure(f"bench-curves: no part {unknown[0]}: there are {', '.join(POINTS)}", status=2)
    found = [Step("page-table walks", {"walk": POINTS["walk"]}, _walk)]
    found += [Step(what.part, {what.part: POINTS[what.part]}, _part(what)) for what in IN_GUEST]
    found += [Step(f"idle guest, {n} GPUs", _gpu_points(n), _gpus(n)) for n in POINTS["idle"]]
    found += [Step(f"migration, {n} MiB of VRAM", {"migration": [n]}, _migration(n)) for n in POINTS["migration"]]
    return [step for step in found if not parts or set(parts) & step.points.keys()]


def _run_step(step: Step, context: Context) -> str:
    """Run a step; points without values get a reason. Return why the step failed; empty if it did not."""
    problem = ""
    if context.clock.left() < LEAST_SECONDS:
        reason = TIME_OVER
    else:
        context.recorder.begin()
        try:
            step.run(context)
            reason = ""
        except (CurveError, BenchError, Failure) as error:
            problem, reason = str(error), "the measurement failed"
    for part, points in step.points.items():
        if reason:
            context.recorder.leave_out(part, points, reason)
    return problem


def _run_steps(chosen: Sequence[Step], context: Context, progress: Console) -> list[str]:
    """Run the steps that have open points. Return why steps failed."""
    problems = []
    for step in chosen:
        if not any(context.open(part, points) for part, points in step.points.items()):
            continue
        progress.print(f"bench-curves: {step.label} ({context.clock.left():.0f} s left)", highlight=False)
        if problem := _run_step(step, context):
            problems.append(problem)
    return problems


def _tell(kept: Kept, progress: Console) -> None:
    """Print where the points of a run are that did not measure all."""
    if points := kept.points():
        text = f"bench-curves: {points} points are in {kept.path}; the next run measures the rest (--fresh: all)"
        progress.print(text, highlight=False, markup=False)


def measure(
    parts: Sequence[str], environment: Environment, seconds: int, point_seconds: int, progress: Console, kept: Kept
) -> tuple[CurveFile, list[str]]:
    """Measure the curves of the given parts (none: of all), without the points that `kept` has. Return the curves, and
    the problems that occurred. Each point is added to `kept` as soon as it is complete."""
    chosen = steps(parts)
    recorder = Recorder(kept.samples, kept.add)
    context = Context(recorder, environment, Clock(seconds), point_seconds, host_memory.available())
    measured = {part for step in chosen for part in step.points}
    earlier = sum(part in measured for part, _ in recorder.done)
    if earlier:
        progress.print(f"bench-curves: {earlier} points are those of an earlier run (--fresh: none)", highlight=False)
    try:
        problems = _run_steps(chosen, context, progress)
    except (KeyboardInterrupt, SystemExit):
        _tell(kept, progress)
        raise
    found = [curves.reduce(curve, recorder.samples, recorder.reasons) for curve in CURVES if curve.part in measured]
    for curve in found:
        if missing := [f"{left.n:,}" for left in curve.left_out if left.reason == curves.NO_VALUE]:
            problems.append(f"not measured: {curve.label}, {', '.join(missing)} {curve.x}")
    return _file(found, kept.origin, kept.runs if earlier else 1), problems


def origin(environment: Environment) -> Origin:
    """Return from where the values of this run come."""
    commit = output_of(["git", "-C", ROOT, "rev-parse", "--short=12", "HEAD"]).strip() or "unknown"
    if output_of(["git", "-C", ROOT, "status", "--porcelain", "--untracked-files=no"]).strip():
        commit += " and changes"
    accelerator = environment.accelerator or accel.choose(comes_up)
    trees = (environment.qemu_source, environment.kernel_source)
    return Origin(
        commit=commit,
        machine=f"{accelerator.upper()}, {CPUS} host CPUs",
        processor=processor(),
        sources=fingerprint.of(BENCH, GUEST_DRIVER, INCLUDE, PROGRAMS, QEMU_DEVICE, trees),
    )


def _file(found: list[Measured], source: Origin, runs: int) -> CurveFile:
    return CurveFile(
        command="./vgpu bench-curves",
        commit=source.commit,
        date=time.strftime("%Y-%m-%d", time.gmtime()),
        machine=source.machine,
        processor=source.processor,
        runs=runs,
        curves=found,
    )


def complete(file: CurveFile, problems: Sequence[str]) -> bool:
    """Return whether no measurement failed or was left out for lack of time, so that a further run has nothing to
    add."""
    return not problems and not any(left.reason == TIME_OVER for curve in file.curves for left in curve.left_out)


def verdict(curve: Measured) -> str:
    """Return the bar of a curve, and whether the curve meets it."""
    if curve.below is not None:
        return "  not resolved"
    if not curve.fit:
        return f"  {curve.law}: too few points"
    if not curve.fit.sure:
        return f"[yellow]?[/] {curve.law}: one point decides"
    return f"[green]✓[/] {curve.law}" if curve.fit.met else f"[red]✗[/] {curve.law}"


def each(curve: Measured) -> str:
    """Return the bytes of an object, or their upper limit; empty if the curve is not one of memory."""
    if curve.below is not None:
        return f"< {number(curve.below)}"
    return number(curve.per_object) if curve.per_object is not None else ""


def show(file: CurveFile, console: Console) -> None:
    """Print the table of curves, and the points that are left out."""
    runs = f", in {file.runs} runs that continued each other" if file.runs > 1 else ""
    table = Table(title=f"how costs grow (medians{runs})", title_justify="left")
    table.add_column("cost")
    for title in ("n", "from", "to", "unit", "exponent", "beyond log n", "last points", "bytes each"):
        table.add_column(title, justify="left" if title in ("n", "unit") else "right")
    table.add_column("bar")
    for curve in file.curves:
        first, last = (curve.points[0], curve.points[-1]) if curve.points else (None, None)
        ends = f"{first.n:,} … {last.n:,} {curve.x}" if first and last else curve.x
        values = [number(point.median) if point else "" for point in (first, last)]
        exponents = ["", "", ""]
        if curve.fit:
            exponents = [f"{curve.fit.exponent:.2f} ± {curve.fit.error:.2f}"]
            exponents += [f"{value:.2f}" for value in (curve.fit.beyond, curve.fit.tail)]
        table.add_row(curve.label, ends, *values, curve.unit, *exponents, each(curve), verdict(curve))
    console.print(table)
    for curve in file.curves:
        for left in curve.left_out:
            text = f"left out: {curve.label}, {left.n:,} {curve.x}: {left.reason}"
            console.print(text, highlight=False, markup=False)


def main(
    parts: Sequence[str],
    environment: Environment,
    seconds: int = SECONDS,
    point_seconds: int = POINT_SECONDS,
    output: Path = OUTPUT,
    fresh: bool = False,
) -> int:
    """Measure, print the table, and write the JSON file. Return 0, or 1 if a step failed. With `fresh`, the points of
    an earlier run that did not measure all are not used."""
    progress = Console(stderr=True)
    kept = Kept(output.with_suffix(SUFFIX), origin(environment), fresh)
    file, problems = measure(parts, environment, seconds, point_seconds, progress, kept)
    curves.write(file, output)
    show_file(file)
    for problem in problems:
        progress.print(f"bench-curves: {problem}", style="red", highlight=False, markup=False)
    if complete(file, problems):
        kept.drop({BY_NAME[curve.name].part for curve in file.curves})
    else:
        _tell(kept, progress)
    return 1 if problems else 0


def _console() -> Console:
    # Without a terminal, use a fixed width that has room for all columns of a table.
    return Console() if sys.stdout.isatty() else Console(width=190)


def show_file(file: CurveFile) -> None:
    """Print the table of curves on standard output."""
    show(file, _console())


def show_compared(base: CurveFile, now: CurveFile, name: str) -> None:
    """Print on standard output the curves beside those of an earlier run. `name` is the earlier run's file."""
    compare_curves.show(base, now, name, _console())
