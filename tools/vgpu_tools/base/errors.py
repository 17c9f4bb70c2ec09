# SPDX-License-Identifier: GPL-2.0-or-later
"""Defines the errors for which the user gets a message instead of a traceback."""

import errno
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

TIMED_OUT = 124  # exit status of ./vgpu run after the timeout
LAUNCH_FAILED = 125  # exit status if the guest panicked, reported an error or did not start
REFUSED = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO)


def refused_by_machine(error: OSError, folders: Sequence[Path]) -> str:
    """Return the message for an error that the user can fix on the machine (full disk, permissions, I/O error). For a
    full disk, add the free space of `folders`. Return '' for any other error: a bug of the tools."""
    if error.errno not in REFUSED:
        return ""
    name = error.filename2 or error.filename
    said = os.strerror(error.errno)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        left = [f"{folder}: {shutil.disk_usage(folder).free >> 20} MiB free" for folder in folders if folder.exists()]
        said += f" ({', '.join(left)})"
    return f"{name}: {said}" if name else said


class Failure(Exception):
    """An error with a sentence for the user: the launcher prints the sentence and exits with `status`."""

    def __init__(self, sentence: str, status: int = LAUNCH_FAILED) -> None:
        super().__init__(sentence)
        self.status = status


class StepFailed(Failure):
    """A build step failed. The message names the step and its log, and has the log's last lines."""

    def __init__(self, step: str, log: Path, reason: str, lines: int = 15) -> None:
        text = log.read_text(errors="replace").splitlines() if log.exists() else []
        tail = "".join(f"\n  | {line}" for line in text[-lines:])
        super().__init__(f"step '{step}' failed: {reason}; log: {log}{tail}", status=1)
