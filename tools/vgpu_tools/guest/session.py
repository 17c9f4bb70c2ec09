# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs a guest that a test controls. A `Session` has the output and the exit status of the guest's command. If the
guest migrates to another QEMU, both QEMUs use the same `Session`, because the command goes on in the
new QEMU.
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

LIMIT_SECONDS = 120.0  # limit of each wait, on a host whose speed was not measured
LOOK_SECONDS = 0.05  # time between two queries of a migration or a job
CONSOLE_TAIL = 2000  # bytes of the console in a failure's message


class MachineError(AssertionError):
    """A machine, or the command in it, failed or timed out. The test fails with this error."""


class _Sent(BaseModel):
    """The memory that a migration has sent so far. `syncs`: how often QEMU has collected the dirty pages."""

    transferred: int = 0
    syncs: int = Field(0, alias="dirty-sync-count")


class Migration(BaseModel):
    """The reply to query-migrate. If there was no migration, the reply has no status, and `status` is "none".
    `downtime` is the time in ms in which the machine ran on neither side; it is known at the end."""

    status: str = "none"
    error: str = Field("", alias="error-desc")
    downtime: int | None = None
    ram: _Sent = Field(default_factory=_Sent)


class _Job(BaseModel):
    """A job in the reply to query-jobs."""

    id: str
    status: str
    error: str = ""


class Session:
    """A command in a guest. The guest may move from one QEMU to another."""

    def __init__(self, late_frames: str = "") -> None:
        """`late_frames` are the kinds of frames whose handling is delayed (agent.Late)."""
        self.decoder = agent.Decoder(agent.Late(late_frames))
        self.output = b""  # output of the command so far
        self.errors = b""
        self.status: int | None = None  # exit status of the command; None until it ends
        self.ready = False  # the agent has sent HELLO: the guest is up

    def feed(self, data: bytes) -> None:
        """Take the next bytes from the agent. A frame takes effect when its last byte has
        arrived."""
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
        """Return the number of complete lines of output received so far."""
        return self.output.count(b"\n")


class Machine:
    """A QEMU that runs during the `with` block. Methods that wait raise MachineError after `limit` seconds. All methods
    raise QMPError if QEMU ends during a QMP command."""

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
        """`incoming`: the URI from which QEMU loads the machine's state, instead of booting.
        `keyboard`: the path of the console's input socket. Empty: none."""
        self.session = session
        self.limit = limit
        self.log = folder / f"{name}.console"
        self.errors = folder / f"{name}.qemu"
        console = (
            f"socket,path={keyboard},server=on,wait=off,logfile={self.log}" if keyboard else f"file,path={self.log}"
        )
        # Use TCG by default, because the saved state of a TCG guest can be loaded on every host of
        # the tests.
        self._emulator = Emulator(guest, guest.accelerator or "tcg", self.errors, folder / f"{name}.command", console)
        self._incoming = ["-incoming", incoming] if incoming else []
        self._late = agent.Late(guest.late_frames)
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Self:
        # Connect to the monitor by a socket pair. If QEMU bound a socket, its path would exist
        # before QEMU listens, and an early connect() would fail.
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
        """Send a frame to the agent, after a delay if the guest's `late_frames` has this kind."""
        self._late.wait(kind)
        self.port.sendall(agent.frame(kind, payload))

    def run(self, *words: str) -> None:
        """Wait until the guest is up, then start a command."""
        self.until(lambda: self.session.ready, "the guest is up")
        self._late.wait(agent.RUN)
        self.port.sendall(agent.run(words, 0))

    def drain(self) -> None:
        """Read all frames that have arrived, without waiting."""
        self.port.setblocking(False)
        try:
            while data := self.port.recv(65536):
                self.session.feed(data)
        except (BlockingIOError, ConnectionResetError):  # no more data, or QEMU has ended
            pass
        self.port.setblocking(True)

    def until(self, holds: Callable[[], bool], what: str) -> None:
        """Read frames until `holds()` is true. Raises MachineError after `limit` seconds, or if QEMU ends. `what` names
        the condition in the message."""
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
                raise MachineError(f"QEMU ended before {what}: {self.errors.read_text()}")
            self.session.feed(data)
        self.port.settimeout(None)

    def rounds(self, more: int) -> None:
        """Wait until the command has printed `more` lines in addition to the lines that were read so far. Call drain()
        first, so that lines printed earlier do not count. Raises MachineError if the command ends."""
        goal = self.session.lines() + more
        self.until(
            lambda: self.session.lines() >= goal or self.session.status is not None, f"{more} more lines of output"
        )
        if self.session.status is not None:
            raise MachineError(f"ended with {self.session.status}: {self.session.errors!r}")

    def migrate(self, uri: str, downtime_ms: int = 60_000) -> Migration:
        """Migrate the machine to `uri`, wait for the completion, and return QEMU's figures; read the agent's frames
        meanwhile. QEMU stops the machine when it expects to send the rest within `downtime_ms`. Raises MachineError if
        the migration fails, is cancelled, or takes more than `limit` seconds."""
        self.monitor.cmd("migrate-set-parameters", **{"max-bandwidth": 0, "downtime-limit": downtime_ms})
        self.monitor.cmd("migrate", uri=uri)
        until = time.monotonic() + self.limit
        while (state := Migration.model_validate(self.monitor.cmd("query-migrate"))).status != "completed":
            if state.status in ("failed", "cancelled"):
                raise MachineError(f"migration {state.status}: {state.error}")
            if time.monotonic() > until:
                raise MachineError(f"migration not done within {self.limit:g} s: {state}")
            self.drain()
            time.sleep(LOOK_SECONDS)
        self.drain()
        return state

    def pause(self) -> None:
        """Stop the machine, then read the frames that were sent before the stop."""
        self.monitor.cmd("stop")
        self.drain()

    def job(self, command: str, **arguments: object) -> None:
        """Execute a QMP command that starts a job, and wait for the job's end. Raises MachineError if the job fails."""
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
        """Execute `snapshot-save` or `snapshot-load`. `node` is the qcow2 block node that stores
        the snapshot. The caller has stopped the machine. Raises MachineError if the QMP job fails."""
        self.job(command, tag="here", vmstate=node, devices=[node])

    def complaint(self) -> str:
        """Return the first error of the kernel on this machine's console; empty if the console
        has no error."""
        watcher = Watcher()
        watcher.feed(self.log.read_bytes() + b"\n")
        return watcher.fatal or watcher.report
