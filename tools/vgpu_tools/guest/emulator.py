# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs a QEMU with a guest: its process, and the socket to the agent. `Run` and `Machine` use this
module."""

import shlex
import signal
import socket
import subprocess
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import IO, Self

from vgpu_tools.base.process import die_with_parent
from vgpu_tools.guest import postmortem
from vgpu_tools.guest.config import CONSOLE_PIPE, Guest


class Emulator:
    """A QEMU that runs during the `with` block. Before the block no process runs and no file is written. QEMU is
    killed at the end of the block, or when the thread that entered the block ends (die_with_parent())."""

    def __init__(self, guest: Guest, accelerator: str, log: Path, record: Path, console: str = CONSOLE_PIPE) -> None:
        """The file `log` receives QEMU's standard error. The file `record` receives QEMU's command line.
        `console` is a character device of QEMU (-chardev)."""
        self.guest = guest
        self.accelerator = accelerator
        self.log = log
        self.record = record
        self.console = console
        self.more: list[str] = []  # further arguments of QEMU
        self.inherited: list[int] = []  # descriptors in those arguments, which QEMU inherits
        self.own_session = False  # True: QEMU has its own session, where Ctrl-C in the terminal does not reach it
        self.leaves_core = False  # True: QEMU may dump core into the working directory; see postmortem.take_core()

    def __enter__(self) -> Self:
        self.port, theirs = socket.socketpair()
        try:
            with theirs, self.log.open("wb") as errors:
                command = [*self.guest.command(theirs.fileno(), self.accelerator, self.console), *self.more]
                self.record.write_text(shlex.join(command) + "\n")
                self.process = self._start(command, [theirs.fileno(), *self.inherited], errors)
        except BaseException:
            self.port.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()
        self.port.close()

    def _start(self, command: Sequence[str], inherited: Sequence[int], errors: IO[bytes]) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if self.console == CONSOLE_PIPE else errors,
            stderr=errors,
            pass_fds=inherited,
            preexec_fn=partial(_prepare_child, self.leaves_core),
            start_new_session=self.own_session,
        )


def _prepare_child(leaves_core: bool) -> None:
    if leaves_core:
        postmortem.allow_core()
    die_with_parent(signal.SIGKILL)
