# SPDX-License-Identifier: GPL-2.0-or-later
"""./vgpu trace without -o: trace events of a running guest's devices, as QEMU writes them to its log."""

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
STAMP = re.compile(r"^\d+@\d+\.\d+:")  # with -msg timestamp=on
LOOK_SECONDS = 0.1  # between two looks at the log


def trace(socket: Path | None, patterns: Sequence[str], seconds: float) -> int:
    """./vgpu trace: list trace events, or switch some on and print what they say."""
    path = qmp.find(socket)
    if not patterns:
        for event in qmp.command(path, "trace-event-get-state", {"name": EVENTS}):
            print(f"{event['name']:24} {'on' if event['state'] == 'enabled' else 'off'}")
        return 0
    follow(path, patterns, seconds, lambda line: print(line, flush=True))
    return 0


def follow(path: Path, patterns: Sequence[str], seconds: float, say: Callable[[str], None]) -> None:
    """Hand on what trace events say for some seconds, or (0) until interrupted; they are switched on for that long."""
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
    """Those that came: an exception could come between reading lines and handing them on. Ignored ones stay so."""
    came: list[int] = []
    before = signal.getsignal(signal.SIGINT)
    if before != signal.SIG_IGN:
        signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield came
    finally:
        signal.signal(signal.SIGINT, before)


def _log(path: Path) -> Path:
    """Where a QEMU writes its log: its standard error, if that is a file."""
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
    """As it was before, if the guest still runs."""
    try:
        for pattern in patterns:
            _switch(path, pattern, False)
        for name in was_on:
            _switch(path, name, True)
    except Failure as failure:
        print(f"vgpu: {failure}", file=sys.stderr)


def _look(log: TextIO, rest: str, patterns: Sequence[str], say: Callable[[str], None]) -> str:
    """Hand on the events' new lines; `rest` and the result are the beginning of a line that is not whole yet."""
    *lines, rest = (rest + log.read()).split("\n")
    for line in lines:
        name = STAMP.sub("", line).partition(" ")[0]
        if any(fnmatch(name, pattern) for pattern in patterns):
            say(line)
    return rest
