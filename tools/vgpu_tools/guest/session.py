# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest that a test holds in its hands: its QEMU, its QMP socket, and the command that runs in it.

The launcher's own runs begin and end with one QEMU. Here a command may outlive it: machines that take over by
migration share a `Session`, which reads what the agent says wherever it says it.
"""

import contextlib
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, Field
from qemu.qmp import QMPError

from vgpu_tools.guest import agent
from vgpu_tools.guest.config import Guest
from vgpu_tools.guest.console import Watcher
from vgpu_tools.guest.emulator import Emulator
from vgpu_tools.guest.monitor import Monitor

LIMIT_SECONDS = 120.0  # for anything that is waited for, on a host whose speed was not measured
LOOK_SECONDS = 0.05  # between two looks at a migration or a job
CONSOLE_TAIL = 2000  # bytes of it that a failure tells


class MachineError(AssertionError):
    """What a machine, or the command in it, did not do; a failure of the test that holds it."""


class _Migration(BaseModel):
    """The answer to query-migrate; without a status there was no migration."""

    status: str = "none"
    error: str = Field("", alias="error-desc")


class _Job(BaseModel):
    """A member of the answer to query-jobs."""

    id: str
    status: str
    error: str = ""


class Session:
    """A command in a guest, whichever QEMU runs it."""

    def __init__(self, late_frames: str = "") -> None:
        """`late_frames` are kinds of frames that are handled late (agent.Late)."""
        self.decoder = agent.Decoder(agent.Late(late_frames))
        self.output = b""  # of the command, so far
        self.errors = b""
        self.status: int | None = None  # its exit status, once it has ended
        self.ready = False  # the agent has said that the guest is up

    def feed(self, data: bytes) -> None:
        """Take bytes from the agent."""
        for kind, payload in self.decoder.feed(data):
            if kind == agent.HELLO:
                self.ready = True
            elif kind == agent.STDOUT:
                self.output += payload
            elif kind == agent.STDERR:
                self.errors += payload
            elif kind == agent.EXIT:
                self.status = int.from_bytes(payload[:4], "little")

    def lines(self) -> int:
        """Whole lines of output so far."""
        return self.output.count(b"\n")


class Machine:
    """One QEMU, for as long as the `with` block runs, and what is done with it: frames, monitor, migration.

    QEMU ends at the latest with the thread that entered the block. What does not happen within `limit` seconds, or
    cannot happen any more, is a MachineError.
    """

    def __init__(
        self,
        session: Session,
        folder: Path,
        name: str,
        guest: Guest,
        incoming: str = "",
        keyboard: str = "",
        limit: float = LIMIT_SECONDS,
    ) -> None:
        """`incoming` is where the machine takes its state from, instead of booting. `keyboard` is the path of a socket
        to type at the console; without it there is none. Logs are files of `folder` that begin with `name`."""
        self.session = session
        self.limit = limit
        self.log = folder / f"{name}.console"
        self.errors = folder / f"{name}.qemu"
        console = (
            f"socket,path={keyboard},server=on,wait=off,logfile={self.log}" if keyboard else f"file,path={self.log}"
        )
        # TCG, whose machines can be saved and moved between any two hosts of the tests.
        self._emulator = Emulator(guest, guest.accelerator or "tcg", self.errors, folder / f"{name}.command", console)
        self._incoming = ["-incoming", incoming] if incoming else []
        self._late = agent.Late(guest.late_frames)
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Self:
        # Connected from the start: QEMU's own socket would be there a moment before one can connect to it.
        monitor, theirs = socket.socketpair()
        with theirs, contextlib.ExitStack() as stack:
            stack.enter_context(monitor)
            chardev = f"socket,id=qmp,fd={theirs.fileno()}"
            self._emulator.more = ["-chardev", chardev, "-mon", "chardev=qmp,mode=control", *self._incoming]
            self._emulator.inherited = [theirs.fileno()]
            stack.enter_context(self._emulator)
            self.process, self.port = self._emulator.process, self._emulator.port
            theirs.close()
            self.monitor = Monitor(monitor)
            try:
                self.monitor.connect()
            except QMPError as error:
                raise MachineError(f"QEMU did not start: {error}; {self.errors.read_text()}") from error
            stack.callback(self.monitor.close)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def send(self, kind: int, payload: bytes = b"") -> None:
        """A frame for the agent."""
        self._late.wait(kind)
        self.port.sendall(agent.frame(kind, payload))

    def run(self, *words: str) -> None:
        """Start a command, once the guest is up."""
        self.until(lambda: self.session.ready, "the guest is up")
        self._late.wait(agent.RUN)
        self.port.sendall(agent.run(words, 0))

    def drain(self) -> None:
        """Read what the agent has said so far."""
        self.port.setblocking(False)
        try:
            while data := self.port.recv(65536):
                self.session.feed(data)
        except (BlockingIOError, ConnectionResetError):  # nothing more now, or ever: QEMU has died
            pass
        self.port.setblocking(True)

    def until(self, holds: Callable[[], bool], what: str) -> None:
        """Read what the agent says until something holds."""
        until = time.monotonic() + self.limit
        while not holds():
            left = until - time.monotonic()
            if left <= 0:
                console = self.log.read_text(errors="replace")[-CONSOLE_TAIL:]
                raise MachineError(f"not within {self.limit:g} s: {what}; {self.session.errors!r}; console: {console}")
            self.port.settimeout(left)
            try:
                data = self.port.recv(65536)
            except TimeoutError:
                continue
            except ConnectionResetError:
                data = b""
            if not data:
                raise MachineError(f"QEMU went away before {what}: {self.errors.read_text()}")
            self.session.feed(data)
        self.port.settimeout(None)

    def rounds(self, more: int) -> None:
        """Wait until the command has printed that many more lines than were read; `drain()` reads what there is."""
        goal = self.session.lines() + more
        self.until(
            lambda: self.session.lines() >= goal or self.session.status is not None, f"{more} more lines of output"
        )
        if self.session.status is not None:
            raise MachineError(f"ended with {self.session.status}: {self.session.errors!r}")

    def migrate(self, uri: str) -> None:
        """Send the machine's state to `uri`, all of it."""
        self.monitor.cmd("migrate-set-parameters", **{"max-bandwidth": 0, "downtime-limit": 60000})
        self.monitor.cmd("migrate", uri=uri)
        until = time.monotonic() + self.limit
        while (state := _Migration.model_validate(self.monitor.cmd("query-migrate"))).status != "completed":
            if state.status in ("failed", "cancelled"):
                raise MachineError(f"migration {state.status}: {state.error}")
            if time.monotonic() > until:
                raise MachineError(f"migration not done within {self.limit:g} s: {state}")
            self.drain()
            time.sleep(LOOK_SECONDS)
        self.drain()

    def pause(self) -> None:
        """Stop the machine, and take what it had sent by then."""
        self.monitor.cmd("stop")
        self.drain()

    def job(self, command: str, **arguments: object) -> None:
        """A QMP command that is a job: wait for its end, which must be a good one."""
        self.monitor.cmd(command, **{"job-id": "job", **arguments})
        until = time.monotonic() + self.limit
        while (state := self._job("job")).status != "concluded":
            if time.monotonic() > until:
                raise MachineError(f"{command} not done within {self.limit:g} s: {state}")
            time.sleep(LOOK_SECONDS)
        self.monitor.cmd("job-dismiss", id="job")
        if state.error:
            raise MachineError(f"{command}: {state.error}")

    def _job(self, name: str) -> _Job:
        answer: list[Any] = self.monitor.cmd("query-jobs")
        for job in map(_Job.model_validate, answer):
            if job.id == name:
                return job
        raise MachineError(f"no job '{name}': {answer}")

    def snapshot(self, command: str, node: str) -> None:
        """`snapshot-save` or `snapshot-load` of the machine, which is stopped, in a qcow2 node."""
        self.job(command, tag="here", vmstate=node, devices=[node])

    def complaint(self) -> str:
        """What the kernel said on this machine's console that means something is wrong."""
        watcher = Watcher()
        watcher.feed(self.log.read_bytes() + b"\n")
        return watcher.fatal or watcher.report
