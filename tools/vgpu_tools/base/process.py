# SPDX-License-Identifier: GPL-2.0-or-later
"""Ends child processes, returns their output, and describes how they ended. Also has the number of
CPUs."""

import ctypes
import math
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TypeVar

from vgpu_tools.base.environment import clean_environment

CPUS = len(os.sched_getaffinity(0))
END_SECONDS = 10.0  # time between SIGTERM and SIGKILL
PAUSE_SECONDS = 0.05  # time between two checks whether a process has ended
PR_SET_PDEATHSIG = 1
T = TypeVar("T")
_prctl = ctypes.CDLL(None).prctl  # looked up at import: a forked child must not call dlsym(), which takes a lock


def die_with_parent(number: signal.Signals) -> None:
    """Call in a child before exec. The kernel sends the child the signal `number` when the thread that started the
    child ends."""
    _prctl(PR_SET_PDEATHSIG, number)


def output_of(command: Sequence[str | Path]) -> str:
    """Run a command and return the text on its standard output. A command that fails counts as a command without
    output. Error messages are dropped. Raises OSError if the command cannot be started."""
    result = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, env=clean_environment(), check=False
    )
    return result.stdout if result.returncode == 0 else ""


def how_it_ended(returncode: int) -> str:
    """Return in words how a process ended. `returncode` is that of subprocess: negative if a signal
    ended the process."""
    if returncode >= 0:
        return f"exit status {returncode}"
    try:
        return signal.Signals(-returncode).name
    except ValueError:  # a real-time signal
        return f"signal {-returncode}"


def end_process(process: "subprocess.Popen[bytes]", seconds: float = END_SECONDS, *, group: bool = False) -> None:
    """End a process: SIGTERM first, SIGKILL after `seconds`. Returns when the process has ended.

    With `group`, end all processes of the process's group, and return at the latest `seconds` after SIGKILL.
    The process must have been started with start_new_session=True.
    """
    if not _ended(process, signal.SIGTERM, seconds, group):
        _ended(process, signal.SIGKILL, seconds if group else math.inf, group)


def watch_group(
    start: Callable[[], "subprocess.Popen[bytes]"],
    watch: Callable[["subprocess.Popen[bytes]"], T],
    seconds: float = END_SECONDS,
) -> T:
    """Start a process in a group of its own, watch it, and end the group, also after an exception.

    `start` starts the process with start_new_session=True and returns it, or raises. The result is that of `watch`,
    which may return before the process ends. `seconds` is as for end_process().

    SIGINT (Ctrl-C) and SIGTERM end `watch` by the exception of their handler, but do not end this function before the
    group has ended: a signal during `start` is handled when `watch` begins, and all signals after the first one are
    dropped until the group has ended.
    """
    with _signals_held() as held:
        process = start()
        try:
            with held.handled():
                return watch(process)
        finally:
            end_process(process, seconds, group=True)


def _ended(process: "subprocess.Popen[bytes]", number: signal.Signals, seconds: float, group: bool) -> bool:
    """Send a signal to a process or, with `group`, to its group. Return whether the process has ended, or the group is
    empty, within `seconds`."""
    end = time.monotonic() + seconds
    wanted: int = number
    while time.monotonic() < end:
        # Even if `group` is set, call poll(), because poll() reaps the leader of the group. As a zombie,
        # the leader would still count as a member of the group.
        if process.poll() is not None and not group:
            return True
        try:
            if group:
                os.killpg(process.pid, wanted)
            else:
                process.send_signal(wanted)
        except ProcessLookupError:
            return True
        wanted = 0
        time.sleep(PAUSE_SECONDS)
    return False


class _Held:
    """Signals that have come while their handlers are replaced by `handle()`."""

    def __init__(self) -> None:
        self.before: dict[int, Callable[[int, FrameType | None], object]] = {}  # the replaced handlers, by signal
        self._came: int | None = None  # the first signal
        self._handling = False  # whether the first signal is handled at once
        self._handled = False

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Handle the first signal, at once or later. Drop the others."""
        if self._came is None:
            self._came = number
            if self._handling:
                self._handle_first(frame)

    def _handle_first(self, frame: FrameType | None = None) -> None:
        if self._came is not None and not self._handled:
            self._handled = True
            self.before[self._came](self._came, frame)

    @contextmanager
    def handled(self) -> Iterator[None]:
        """Handle a signal as soon as it comes while the block runs, and at its start the one that has come before."""
        try:
            self._handling = True
            self._handle_first()
            yield
        finally:
            self._handling = False

    def end(self) -> None:
        """Put the handlers back. Handle a signal that has come and has not been handled."""
        for number, handler in self.before.items():
            signal.signal(number, handler)
        self._handle_first()


@contextmanager
def _signals_held() -> Iterator[_Held]:
    """Hold SIGINT and SIGTERM while the block runs, if Python functions handle them. Outside the main thread the
    function has no effect, because Python runs all handlers in the main thread."""
    held = _Held()
    try:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                handler = signal.getsignal(number)
                if callable(handler):
                    held.before[number] = handler
                    signal.signal(number, held.handle)
        yield held
    finally:
        held.end()
