# SPDX-License-Identifier: GPL-2.0-or-later
"""Child processes: ending them, their output, their exit status in words; the number of CPUs."""

import ctypes
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from vgpu_tools.base.environment import clean_environment

CPUS = len(os.sched_getaffinity(0))
END_SECONDS = 10.0  # from SIGTERM to SIGKILL
PAUSE_SECONDS = 0.05  # between two checks whether a group is empty
PR_SET_PDEATHSIG = 1
_prctl = ctypes.CDLL(None).prctl  # looked up at import: dlsym() takes a lock, which a forked child must not


def die_with_parent(number: signal.Signals) -> None:
    """Call in a child before exec: the kernel sends it a signal when the thread that started it ends."""
    _prctl(PR_SET_PDEATHSIG, number)


def output_of(command: Sequence[str | Path]) -> str:
    """The standard output of a command; empty if the command fails."""
    result = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, env=clean_environment(), check=False
    )
    return result.stdout if result.returncode == 0 else ""


def how_it_ended(returncode: int) -> str:
    """The end of a process in words. `returncode` is that of subprocess."""
    if returncode >= 0:
        return f"exit status {returncode}"
    try:
        return signal.Signals(-returncode).name
    except ValueError:  # a real-time signal
        return f"signal {-returncode}"


def end_group(process: "subprocess.Popen[bytes]", seconds: float = END_SECONDS) -> None:
    """End a process and its group; returns when the group is empty, or `seconds` after SIGKILL.

    `process` was started with start_new_session=True. SIGTERM comes first, SIGKILL after `seconds`. In the main
    thread, SIGINT and SIGTERM have no effect while this function runs: a second Ctrl-C would leave the group behind.
    """
    with _without_interrupts():
        for number in (signal.SIGTERM, signal.SIGKILL):
            if _emptied(process, number, seconds):
                break


def _emptied(process: "subprocess.Popen[bytes]", number: signal.Signals, seconds: float) -> bool:
    """Send a signal to the group. Return whether the group is empty within `seconds`."""
    end = time.monotonic() + seconds
    wanted: int = number
    while time.monotonic() < end:
        try:
            os.killpg(process.pid, wanted)
        except ProcessLookupError:
            return True
        wanted = 0
        process.poll()  # reap the leader: a zombie still counts as a member of the group
        time.sleep(PAUSE_SECONDS)
    return False


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Ignore SIGINT and SIGTERM in the main thread. Other threads may not set handlers, and get no signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
