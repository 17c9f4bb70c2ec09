# SPDX-License-Identifier: GPL-2.0-or-later
"""./vgpu trace without -o: prints the trace events of a running guest's devices, as QEMU writes
them to its log."""

import contextlib
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import TextIO

from vgpu_tools.base.errors import Failure
from vgpu_tools.guest import qmp

EVENTS = "vgpu_*"
STAMP = re.compile(r"^\d+@\d+\.\d+:")  # prefix of each line of QEMU's log with -msg timestamp=on
LOOK_SECONDS = 0.1  # time between two reads of the log


def trace(socket: Path | None, patterns: Sequence[str], seconds: float) -> int:
    """./vgpu trace: list trace events, or enable some and print their lines."""
    path = qmp.find(socket)
    if not patterns:
        for event in qmp.command(path, "trace-event-get-state", {"name": EVENTS}):
            print(f"{event['name']:24} {'on' if event['state'] == 'enabled' else 'off'}")
        return 0
    follow(path, patterns, seconds, lambda line: print(line, flush=True))
    return 0


def follow(path: Path, patterns: Sequence[str], seconds: float, say: Callable[[str], None]) -> None:
    """Enable the trace events that match `patterns` for `seconds` (0: until Ctrl-C), and pass
    the events' lines in QEMU's log to `say`."""
    was_on = set()
    for pattern in patterns:
        events = qmp.command(path, "trace-event-get-state", {"name": pattern})
        was_on |= {event["name"] for event in events if event["state"] == "enabled"}
    with _log(path).open(errors="replace") as log, _interrupts() as interrupts:
        log.seek(0, 2)
        rest = ""
        try:
            for pattern in patterns:
                _switch(path, pattern, True)
            print(f"vgpu: following {' '.join(patterns)}; Ctrl-C ends it", file=sys.stderr, flush=True)
            end = time.monotonic() + seconds if seconds else float("inf")
            while not interrupts and time.monotonic() < end:
                rest = _look(log, rest, patterns, say)
                time.sleep(LOOK_SECONDS)
        finally:
            _switch_back(path, patterns, was_on)
        _look(log, rest, patterns, say)


@contextlib.contextmanager
def _interrupts() -> Iterator[list[int]]:
    """Append each SIGINT to a list while the block runs, because a KeyboardInterrupt could lose
    lines that were read and not yet passed on. If SIGINT is ignored, SIGINT stays ignored."""
    came: list[int] = []
    before = signal.getsignal(signal.SIGINT)
    if before != signal.SIG_IGN:
        signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield came
    finally:
        signal.signal(signal.SIGINT, before)


def _log(path: Path) -> Path:
    """Return the file to which QEMU writes its log, that is, QEMU's standard error. Raises
    Failure if standard error is no file."""
    stream = Path(f"/proc/{qmp.pid(path)}/fd/2")
    try:
        log = stream.readlink()
    except OSError as error:
        raise Failure(f"cannot see where QEMU writes its log: {error}", status=1) from None
    if not log.is_file():
        raise Failure(f"QEMU writes its log to {log}, not to a file that can be followed", status=1)
    return log


def _switch(path: Path, pattern: str, on: bool) -> None:
    qmp.command(path, "trace-event-set-state", {"name": pattern, "enable": on})


def _switch_back(path: Path, patterns: Sequence[str], was_on: set[str]) -> None:
    """Disable the events that were enabled for the trace, and enable again those that were enabled
    before the trace. Print an error if QEMU refuses or has ended."""
    try:
        for pattern in patterns:
            _switch(path, pattern, False)
        for name in was_on:
            _switch(path, name, True)
    except Failure as failure:
        print(f"vgpu: {failure}", file=sys.stderr)


def _look(log: TextIO, rest: str, patterns: Sequence[str], say: Callable[[str], None]) -> str:
    """Pass new lines of the log to `say` if their event matches one of `patterns`. Return the last line if it is
    incomplete, else "". `rest` is the return value of the previous call; "" in the first call."""
    *lines, rest = (rest + log.read()).split("\n")
    for line in lines:
        name = STAMP.sub("", line).partition(" ")[0]
        if any(fnmatch(name, pattern) for pattern in patterns):
            say(line)
    return rest
