# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes and removes the folders of runs in build/runs. A run locks its folder against removal by
other runs. Folders of failed runs stay longer.
"""

import contextlib
import fcntl
import itertools
import os
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from vgpu_tools.base.paths import RUNS

KEEP = 40  # number of newest folders that stay
KEEP_FAILED = 40  # number of older folders that stay because their runs failed
LOCK = "lock"
FAILED = "failed"  # file with the reason why the run failed
_numbers = itertools.count()  # last part of a folder's name, unique in this process
CONSOLE, QEMU_LOG, COMMAND = "console.log", "qemu.log", "command"
MACHINE, THREADS = "machine.txt", "threads.txt"  # written after a timeout


@contextlib.contextmanager
def hold() -> Iterator[Path]:
    """Make a folder for a run, and remove old ones. No other run removes the folder while the block runs."""
    RUNS.mkdir(parents=True, exist_ok=True)
    remove_old()
    folder = _make()
    with (folder / LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder


def mark_failed(folder: Path, why: str) -> None:
    """Record in a run's folder why the run failed. remove_old() keeps the folders of failed runs
    longer."""
    (folder / FAILED).write_text(f"{why}\n")


def remove_old() -> None:
    """Remove folders of runs. These stay: the newest KEEP folders; among the older ones, the newest KEEP_FAILED of
    failed runs; and folders with a held lock."""
    found = sorted((path for path in RUNS.iterdir() if path.is_dir() and not path.is_symlink()), key=_age)
    older = found[: -KEEP or None]
    failed = [path for path in older if (path / FAILED).exists()]
    kept = set(failed[-KEEP_FAILED:])
    for path in older:
        if path not in kept and not held(path):
            shutil.rmtree(path, ignore_errors=True)


def _age(folder: Path) -> list[int]:
    """Return the sort key of a run's folder: the numbers in its name (text would sort number 10 before number 2)."""
    return [int(number) for number in re.findall(r"\d+", folder.name)]


def held(folder: Path) -> bool:
    """Return whether the folder's lock is held, that is, whether the run of the folder has not ended."""
    try:
        with (folder / LOCK).open() as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        pass  # no lock file: the run ended before it took the lock
    return False


def _make() -> Path:
    base = time.strftime("%Y%m%d-%H%M%S")
    for attempt in _numbers:
        folder = RUNS / f"{base}-{os.getpid()}-{attempt}"
        with contextlib.suppress(FileExistsError):
            folder.mkdir()
            return folder
    raise AssertionError
