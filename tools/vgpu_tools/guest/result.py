# SPDX-License-Identifier: GPL-2.0-or-later
"""Defines `Result`, the result of a run. A `Result` also has the message for the user, and the exit status of ./vgpu
run."""

import signal
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from vgpu_tools.base.errors import LAUNCH_FAILED, TIMED_OUT, Failure
from vgpu_tools.base.process import how_it_ended
from vgpu_tools.guest import run_folder

STOPPED_STATUS = 128 + signal.SIGTERM


class Verdict(Enum):
    """How a run ended. The order is the precedence: launch.Run takes the first verdict that applies."""

    STOPPED = "the caller stopped the run"
    NO_DRIVER = "the driver did not take the GPU"
    KERNEL_DIED = "the guest's kernel died"
    NOT_UP = "the guest did not come up in time"
    TIMED_OUT = "the command did not end in time"
    QEMU_ENDED = "QEMU ended with an error before the command did"
    GUEST_ENDED = "the guest ended before the command did"
    KERNEL_REPORTED = "the guest's kernel reported an error"
    EXITED = "the command ended"


@dataclass(frozen=True)
class Result:
    """The verdict on one run of a guest, and the facts for the message to the user. `folder` has the run's logs."""

    verdict: Verdict
    folder: Path
    status: int | None = None  # exit status of the command; None: the command did not end
    said: str = ""  # line of the kernel or of QEMU that is the reason for the verdict
    qemu: int | None = None  # QEMU's return code (negative: the signal that ended QEMU); None: the run terminated QEMU
    limit: float = 0.0  # timeout in seconds; 0: none
    seconds: float = 0.0  # duration of the run
    core: str = ""  # text with the place of QEMU's core file; empty: no core file
    snapshot: str = ""  # path of the snapshot from which the guest was restored; empty: the guest booted

    @property
    def good(self) -> bool:
        """Whether the command ended and the kernel reported no error. The command itself may have failed: see
        `status`."""
        return self.verdict is Verdict.EXITED

    @property
    def console(self) -> Path:
        """The console's log."""
        return self.folder / run_folder.CONSOLE

    @property
    def machine(self) -> Path:
        """The file with the state of the virtual CPUs at the timeout; it exists only after a timeout."""
        return self.folder / run_folder.MACHINE

    @property
    def exit_status(self) -> int:
        """The exit status of ./vgpu run."""
        if self.good and self.status is not None:
            return self.status
        if self.verdict in (Verdict.TIMED_OUT, Verdict.NOT_UP):
            return TIMED_OUT
        return STOPPED_STATUS if self.verdict is Verdict.STOPPED else LAUNCH_FAILED

    @property
    def sentence(self) -> str:
        """The message for the user. Empty if the verdict is EXITED. Exception: if the command failed after an OOM
        kill, the message says that the guest ran out of memory."""
        taken = (f"{self.core}; " if self.core else "") + (f"snapshot: {self.snapshot}; " if self.snapshot else "")
        log = f"console log: {self.console}"
        match self.verdict:
            case Verdict.EXITED:
                if self.said and self.status:
                    status = f"the command's exit status was {self.status}"
                    return f"the guest ran out of memory (--memory): {self.said} ({status}); {log}"
                return ""
            case Verdict.STOPPED:
                return f"the run was stopped; {taken}{log}"
            case Verdict.NO_DRIVER:
                return f"the driver did not take the GPU; {log}"
            case Verdict.KERNEL_DIED:
                return f"the guest's kernel died: {self.said}; {taken}{log}"
            case Verdict.NOT_UP:
                return f"the guest did not come up within {self.limit:g} s (--timeout); {taken}{log}"
            case Verdict.TIMED_OUT:
                return f"the command did not end within {self.limit:g} s (--timeout); {taken}{log}"
            case Verdict.QEMU_ENDED:
                how = how_it_ended(self.qemu or 0)
                if self.said:
                    return f"QEMU ended with {how}: {self.said}; {taken}log: {self.folder / run_folder.QEMU_LOG}"
                return f"QEMU ended with {how}; {taken}{log}"
            case Verdict.GUEST_ENDED:
                return f"the guest ended before the command did; {taken}{log}"
            case Verdict.KERNEL_REPORTED:
                code = f" (the command's exit status was {self.status})" if self.status else ""
                return f"the guest's kernel reported: {self.said}{code}; {taken}{log}"

    @property
    def failure(self) -> str:
        """Why the guest or its command failed. Empty if both succeeded, or if the caller stopped the run."""
        if self.verdict is Verdict.STOPPED:
            return ""
        return self.sentence or (f"exit status {self.status}" if self.status else "")

    def check(self) -> int:
        """Return the command's exit status, which may be nonzero. Raise Failure only if there is a message for the
        user: see `sentence`."""
        if self.sentence:
            raise Failure(self.sentence, self.exit_status)
        return self.exit_status
