# SPDX-License-Identifier: GPL-2.0-or-later
"""./vgpu trace -o FILE: writes a timeline of a command's run, or of a running guest's devices."""

import sys
from collections.abc import Sequence
from pathlib import Path

from vgpu_tools.base.errors import Failure
from vgpu_tools.guest import qmp
from vgpu_tools.guest.options import Options
from vgpu_tools.operate import trace_log
from vgpu_tools.trace import record, timeline


def check(output: Path) -> None:
    """Raise Failure if the output file cannot be written. Call before the guest runs."""
    if output.is_dir() or not output.absolute().parent.is_dir():
        raise Failure(f"-o {output}: want a file in a folder that exists", status=2)


def run(output: Path, options: Options, words: Sequence[str]) -> int:
    """Run a command in a guest and write the timeline; returns the command's exit status."""
    if not words:
        raise Failure("trace needs a command after '--'", status=2)
    result, recording = record.record(options, words)
    try:
        _report(output, write(output, recording))
    except Failure as failure:
        if result.good:
            raise
        print(f"vgpu: {failure}", file=sys.stderr)
    return result.check()


def watch(output: Path, socket: Path | None, seconds: float) -> int:
    """Trace the devices of a running guest for `seconds` (0: until Ctrl-C), and write the timeline to `output`."""
    path = qmp.find(socket)
    if "timestamp=on" not in Path(f"/proc/{qmp.pid(path)}/cmdline").read_text():
        said = "this QEMU writes no time stamps; a guest started with --qemu-args '-msg timestamp=on' does"
        raise Failure(said, status=1)
    lines: list[str] = []
    start = record.clocks()
    trace_log.follow(path, record.EVENTS, seconds, lines.append)
    recording = record.Recording("\n".join(lines), "", start, record.clocks(), whole=False)
    _report(output, write(output, recording))
    return 0


def write(output: Path, recording: record.Recording) -> timeline.Outcome:
    """Write the timeline of a recording. Return the timeline, the counts of its events, and the inconsistencies that
    were found in the recording (doubts). Raises Failure if `output` cannot be written."""
    outcome = timeline.make(recording)
    try:
        outcome.timeline.write(output)
    except OSError as error:
        raise Failure(f"{output}: {error.strerror}", status=1) from None
    return outcome


def _report(output: Path, outcome: timeline.Outcome) -> None:
    print(f"vgpu: {output}: {outcome.text()}", file=sys.stderr)
    for doubt in outcome.doubts:
        print(f"vgpu: {output}: inconsistent: {doubt}", file=sys.stderr)
