# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest that a test holds in its hands: its QEMU, its QMP socket, and the command that runs in it.

The launcher's own runs begin and end with one QEMU. Here a command may outlive it: machines that take over by
migration share a `Session`, which reads what the agent says wherever it says it.
"""

import os
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

from qemu.qmp import QMPError
from qemu.qmp.legacy import QEMUMonitorProtocol

from vgpu_tools.guest import agent
from vgpu_tools.guest.config import Guest
from vgpu_tools.guest.console import Watcher

# How much slower than the reference machine a run of the suites found this host to be; 0: not measured.
SCALE = float(os.environ.get("VGPU_TEST_SCALE", "0"))
LIMIT = 30.0 * SCALE if SCALE else 120.0  # seconds for anything that is waited for
CONSOLE_TAIL = 2000  # bytes of it that a failure tells


class Session:
    """A command in a guest, whichever QEMU runs it."""

    def __init__(self) -> None:
        self.decoder = agent.Decoder()
        self.output = b""
        self.errors = b""
        self.status: int | None = None
        self.ready = False

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
    """One QEMU. `incoming` is where it takes its state from, instead of booting."""

    def __init__(
        self, session: Session, folder: Path, name: str, guest: Guest, incoming: str = "", keyboard: str = ""
    ) -> None:
        """`keyboard` is the path of a socket to type at the console; without it there is none."""
        self.session = session
        self.log = folder / f"{name}.console"
        console = (
            f"socket,path={keyboard},server=on,wait=off,logfile={self.log}" if keyboard else f"file,path={self.log}"
        )
        self.errors = folder / f"{name}.qemu"
        # Connected from the start: QEMU's own socket would be there a moment before one can connect to it.
        self.port, theirs = socket.socketpair()
        monitor, their_monitor = socket.socketpair()
        command = guest.command(theirs.fileno(), "tcg", console)
        command += ["-chardev", f"socket,id=qmp,fd={their_monitor.fileno()}", "-mon", "chardev=qmp,mode=control"]
        if incoming:
            command += ["-incoming", incoming]
        with theirs, their_monitor, self.errors.open("wb") as errors:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=errors,
                stderr=errors,
                pass_fds=[theirs.fileno(), their_monitor.fileno()],
            )
        self.qmp = QEMUMonitorProtocol(monitor)
        self._connect()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.qmp.close()
        self.process.kill()
        self.process.wait()
        self.port.close()

    def _connect(self) -> None:
        try:
            self.qmp.connect()
        except QMPError as error:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"QEMU did not start: {error}; {self.errors.read_text()}") from error

    def send(self, kind: int, payload: bytes = b"") -> None:
        """A frame for the agent."""
        self.port.sendall(agent.frame(kind, payload))

    def run(self, *words: str) -> None:
        """Start a command, once the guest is up."""
        self.until(lambda: self.session.ready, "the guest is up")
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
        until = time.monotonic() + LIMIT
        while not holds():
            left = until - time.monotonic()
            if left <= 0:
                console = self.log.read_text(errors="replace")[-CONSOLE_TAIL:]
                raise AssertionError(f"not within {LIMIT:g} s: {what}; {self.session.errors!r}; console: {console}")
            self.port.settimeout(left)
            try:
                data = self.port.recv(65536)
            except TimeoutError:
                continue
            except ConnectionResetError:
                data = b""
            if not data:
                raise AssertionError(f"QEMU went away before {what}: {self.errors.read_text()}")
            self.session.feed(data)
        self.port.settimeout(None)

    def rounds(self, more: int) -> None:
        """Wait until the command has printed that many more lines than were read; `drain()` reads what there is."""
        goal = self.session.lines() + more
        self.until(
            lambda: self.session.lines() >= goal or self.session.status is not None, f"{more} more lines of output"
        )
        if self.session.status is not None:
            raise AssertionError(f"ended with {self.session.status}: {self.session.errors!r}")

    def migrate(self, uri: str) -> None:
        """Send the machine's state to `uri`, all of it."""
        self.qmp.cmd("migrate-set-parameters", **{"max-bandwidth": 0, "downtime-limit": 60000})
        self.qmp.cmd("migrate", uri=uri)
        until = time.monotonic() + LIMIT
        while (state := self.qmp.cmd("query-migrate"))["status"] != "completed":
            if state["status"] in ("failed", "cancelled"):
                raise AssertionError(f"migration {state['status']}: {state.get('error-desc')}")
            if time.monotonic() > until:
                raise AssertionError(f"migration not done within {LIMIT:g} s: {state}")
            self.drain()
            time.sleep(0.05)
        self.drain()

    def pause(self) -> None:
        """Stop the machine, and take what it had sent by then."""
        self.qmp.cmd("stop")
        self.drain()

    def job(self, command: str, **arguments: object) -> None:
        """A QMP command that is a job: wait for its end, which must be a good one."""
        self.qmp.cmd(command, **{"job-id": "job", **arguments})
        until = time.monotonic() + LIMIT
        while (state := self.qmp.cmd("query-jobs")[0])["status"] != "concluded":
            if time.monotonic() > until:
                raise AssertionError(f"{command} not done within {LIMIT:g} s: {state}")
            time.sleep(0.02)
        self.qmp.cmd("job-dismiss", id="job")
        if "error" in state:
            raise AssertionError(f"{command}: {state['error']}")

    def snapshot(self, command: str, node: str) -> None:
        """`snapshot-save` or `snapshot-load` of the machine, which is stopped, in a qcow2 node."""
        self.job(command, tag="here", vmstate=node, devices=[node])

    def complaint(self) -> str:
        """What the kernel said on this machine's console that means something is wrong."""
        watcher = Watcher()
        watcher.feed(self.log.read_bytes() + b"\n")
        return watcher.fatal or watcher.report
