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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

from vgpu_tools.base.environment import clean_environment

CPUS = len(os.sched_getaffinity(0))
END_SECONDS = 10.0  # time between SIGTERM and SIGKILL
PAUSE_SECONDS = 0.05  # time between two checks whether a process has ended
PR_SET_PDEATHSIG = 1
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
    # Python runs signal handlers in the main thread. There, SIGINT (Ctrl-C) or SIGTERM would end this function before
    # the group has ended. So ignore both signals.
    with _without_interrupts() if group else nullcontext():
        if not _ended(process, signal.SIGTERM, seconds, group):
            _ended(process, signal.SIGKILL, seconds if group else math.inf, group)


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


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Ignore SIGINT and SIGTERM while the block runs. Outside the main thread the function has no
    effect, because Python lets only the main thread set handlers, and runs all handlers there."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
