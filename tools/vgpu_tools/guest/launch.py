# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs a command in a guest: starts QEMU, talks to the agent, and judges how it went."""

import contextlib
import ctypes
import fcntl
import itertools
import os
import re
import secrets
import selectors
import shlex
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from vgpu_tools.base import terminal
from vgpu_tools.base.errors import TIMED_OUT, Failure
from vgpu_tools.base.paths import RUNS
from vgpu_tools.base.process import how_it_ended
from vgpu_tools.guest import accel, agent, postmortem, qmp
from vgpu_tools.guest.config import Guest
from vgpu_tools.guest.console import Watcher

MACHINE, THREADS = "machine.txt", "threads.txt"  # beside the console log of a guest whose time is up
KEEP_RUNS = 40  # logs of that many runs stay
KEEP_FAILED = 40  # and those of that many older runs that failed
LOCK = "lock"  # in a run's folder; held until the run is over
FAILED = "failed"  # in a run's folder; says why the run failed
END_SECONDS = 5.0  # a guest that says it dies, and a QEMU that was told to end, get this long
DUMP_SECONDS = 2.0  # a guest whose time is up gets this long to say what hangs
PROBE_SECONDS = 10.0  # a guest on KVM is up long before
LOOK_SECONDS = 1.0  # a signal may bring the deadline forward while nothing else happens
CHUNK = 65536
PR_SET_PDEATHSIG = 1
SEED_BYTES = 64  # for the random number generator of a restored guest
_attempts = itertools.count()  # the last part of the names of runs' folders: none is used twice


@dataclass
class Streams:
    """Descriptors of the command's streams; without `input` it gets none."""

    input: int | None = None
    output: int = 1
    error: int = 2
    terminal: bool = False


class Run:
    """One guest from start to end."""

    def __init__(
        self,
        guest: Guest,
        words: Sequence[str],
        streams: Streams,
        timeout: float = 0,
        verbose: bool = False,
        accelerator: str = "",
        snapshot: BinaryIO | None = None,
    ) -> None:
        """`timeout` is in seconds; 0 is none. `verbose` shows the console on standard error.

        `snapshot` is restored instead of a boot; the guest's options are those that it was taken with.
        """
        self.accelerator = accelerator
        self.snapshot = snapshot
        self.guest = guest
        self.words = words
        self.streams = streams
        self.timeout = timeout
        self.verbose = verbose
        self.folder = _new_folder()
        self.lock = (self.folder / LOCK).open("w")
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        self.console = self.folder / "console.log"
        self.watcher = Watcher()
        self.decoder = agent.Decoder()
        self.pending = bytearray()  # for the guest
        self.input_open = False
        self.driver = ""
        self.status: int | None = None
        self.ended: int | None = None  # how QEMU did, if by itself
        self.core = ""  # where its core file is, in words

    def execute(self) -> int:
        """Run the command; returns its exit status, or raises Failure when the guest is at fault.

        The file FAILED in the run's folder then says why, also for an exit status that is not 0.
        """
        why = ""
        try:
            status = self._execute()
            why = f"exit status {status}" if status else ""
        except Failure as failure:
            why = str(failure)
            raise
        finally:
            if why:
                (self.folder / FAILED).write_text(f"{why}\n")
        return status

    def _execute(self) -> int:
        self.deadline = time.monotonic() + self.timeout if self.timeout else float("inf")
        self.begun = time.monotonic()
        self.port, theirs = socket.socketpair()
        self.port.setblocking(False)
        command = self.guest.command(theirs.fileno(), self.accelerator or accel.choose(comes_up))
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGUSR1, lambda *_: self._give_up())
        if len(os.fsencode(self.folder / qmp.SOCKET)) <= qmp.MAX_PATH and "," not in str(self.folder):
            command += ["-qmp", f"unix:{self.folder / qmp.SOCKET},server=on,wait=off"]
        words, descriptors = self._extra()
        command += words
        (self.folder / "command").write_text(shlex.join(command) + "\n")
        with (
            self.lock,
            (self.folder / "qemu.log").open("wb") as errors,
            self.console.open("wb", buffering=0) as self.log,
            selectors.PollSelector() as self.selector,
            self.port,
            theirs,
        ):
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                pass_fds=[theirs.fileno(), *descriptors],
                preexec_fn=_die_with_parent,
            )
            theirs.close()
            try:
                timed_out = self._attend()
            finally:
                self.process.kill()
                self.process.wait()
        return self._verdict(timed_out)

    def _give_up(self) -> None:
        """SIGUSR1: the caller's time limit is reached."""
        self.deadline = time.monotonic()
        self.timeout = self.timeout or self.deadline - self.begun

    def _extra(self) -> tuple[list[str], list[int]]:
        """More arguments for QEMU, and descriptors that it inherits."""
        if not self.snapshot:
            return [], []
        # The descriptor still names the file when another run has removed it to make room.
        return ["-incoming", f"file:/proc/self/fd/{self.snapshot.fileno()}"], [self.snapshot.fileno()]

    def _attend(self) -> bool:
        """See the guest through; true if its time ran out."""
        assert self.process.stdout
        self.output: BinaryIO = self.process.stdout
        self.selector.register(self.output, selectors.EVENT_READ, self._read_console)
        self.selector.register(self.port, selectors.EVENT_READ, self._talk)
        if self.snapshot:
            self._send(agent.frame(agent.SEED, secrets.token_bytes(SEED_BYTES)))
        with terminal.raw(self.streams.input if self.streams.terminal else None, self._resized):
            over = self._pump(lambda: self.status is not None, lambda: self.deadline)
        timed_out = not over and not self.watcher.fatal
        if timed_out:
            self._send(agent.frame(agent.DUMP))
            end = time.monotonic() + DUMP_SECONDS
            self._pump(lambda: False, lambda: end)
            self._note_machine()
        if self.output not in self.selector.get_map():  # closed: it has gone, or is about to
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(END_SECONDS)
        self.ended = self.process.poll()
        if self.ended and self.ended < 0:
            self.core = postmortem.take_core(self.process.pid, self.folder)
        self.process.terminate()
        end = time.monotonic() + END_SECONDS
        self._pump(lambda: False, lambda: end)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(max(0.1, end - time.monotonic()))
        return timed_out

    def _note_machine(self) -> None:
        """Keep QEMU's state of the processors, where a lost interrupt shows, and the backtraces of its threads: virtual
        CPUs, the devices' engines."""
        (self.folder / THREADS).write_text(postmortem.threads(self.process.pid))
        words = ["info cpus", "info registers -a", *(f"info lapic {cpu}" for cpu in range(self.guest.cpus))]
        commands = [("human-monitor-command", {"command-line": line}) for line in words]
        with contextlib.suppress(Failure, qmp.Refused):
            answers = qmp.ask(self.folder / qmp.SOCKET, *commands)
            text = "".join(f"{line}\n{answer}\n" for line, answer in zip(words, answers, strict=True))
            (self.folder / MACHINE).write_text(text)

    def _pump(self, done: Callable[[], bool], deadline: Callable[[], float]) -> bool:
        """Move bytes until `done`, or QEMU's end; false when the deadline came first."""
        while not done() and self.output in self.selector.get_map():
            left = deadline() - time.monotonic()
            if left <= 0:
                return False
            for key, _ in self.selector.select(min(left, LOOK_SECONDS)):
                key.data()
        return True

    # What the selector calls

    def _read_console(self) -> None:
        data = os.read(self.output.fileno(), CHUNK)
        if not data:
            self.selector.unregister(self.output)
            return
        self.log.write(data)
        if self.verbose:
            _write_all(2, data)
        self.watcher.feed(data)
        if self.watcher.fatal:
            self.deadline = min(self.deadline, time.monotonic() + END_SECONDS)

    def _talk(self) -> None:
        self._send(b"")
        try:
            data = self.port.recv(CHUNK)
        except BlockingIOError:
            return
        except ConnectionResetError:
            data = b""
        if not data:
            self.selector.unregister(self.port)
            return
        for kind, payload in self.decoder.feed(data):
            self._take(kind, payload)

    def _read_input(self) -> None:
        assert self.streams.input is not None
        data = os.read(self.streams.input, CHUNK // 2)
        self.input_open = bool(data)
        self._send(agent.frame(agent.STDIN, data))

    def _resized(self) -> None:
        self._send(agent.size(*terminal.size()))

    # Frames

    def _take(self, kind: int, payload: bytes) -> None:
        if kind == agent.HELLO and payload.decode() == agent.RESTORED:
            self._send(agent.time_of_day(time.time_ns()))
        elif kind == agent.HELLO:
            self.driver = payload.decode()
            self._start()
        elif kind == agent.STDOUT:
            _write_all(self.streams.output, payload)
        elif kind == agent.STDERR:
            _write_all(self.streams.error, payload)
        elif kind == agent.EXIT:
            self.status = int.from_bytes(payload[:4], "little")

    def _start(self) -> None:
        flags = agent.TERMINAL if self.streams.terminal else 0
        if self.guest.kernel == "debug" and not self.streams.terminal:
            flags |= agent.LEAKS
        if self.driver == "failed" and not self.streams.terminal:
            raise Failure(f"the driver did not take the GPU; console log: {self.console}")
        self._send(agent.run(self.words, flags, *terminal.size()))
        self.input_open = self.streams.input is not None
        self._send(b"" if self.input_open else agent.frame(agent.STDIN))

    def _send(self, data: bytes) -> None:
        """Send to the guest what it takes now, the rest when it takes more; read no more input until then."""
        self.pending += data
        with contextlib.suppress(BlockingIOError, BrokenPipeError, ConnectionResetError):
            while self.pending:
                del self.pending[: self.port.send(self.pending)]
        watched = self.selector.get_map()
        if self.port in watched:
            more = selectors.EVENT_WRITE if self.pending else 0
            self.selector.modify(self.port, selectors.EVENT_READ | more, self._talk)
        if self.streams.input is None:
            return
        wanted = self.input_open and not self.pending
        if wanted and self.streams.input not in watched:
            self.selector.register(self.streams.input, selectors.EVENT_READ, self._read_input)
        elif not wanted and self.streams.input in watched:
            self.selector.unregister(self.streams.input)

    # How it went

    def _verdict(self, timed_out: bool) -> int:
        taken = (f"{self.core}; " if self.core else "") + (f"snapshot: {self.snapshot.name}; " if self.snapshot else "")
        where = f"{taken}console log: {self.console}"
        if self.watcher.fatal:
            raise Failure(f"the guest's kernel died: {self.watcher.fatal}; {where}")
        if timed_out:
            doing = "the command did not end" if self.driver else "the guest did not come up"
            raise Failure(f"{doing} within {self.timeout:g} s (--timeout); {where}", TIMED_OUT)
        if self.status is None:
            said = (self.folder / "qemu.log").read_text(errors="replace").strip().splitlines()
            if self.ended and said:
                log = f"{taken}log: {self.folder}/qemu.log"
                raise Failure(f"QEMU ended with {how_it_ended(self.ended)}: {said[-1]}; {log}")
            if self.ended:
                raise Failure(f"QEMU ended with {how_it_ended(self.ended)}; {where}")
            raise Failure(f"the guest ended before the command did; {where}")
        if self.watcher.report:
            code = f" (the command's exit status was {self.status})" if self.status else ""
            raise Failure(f"the guest's kernel reported: {self.watcher.report}{code}; {where}")
        return self.status


def comes_up(accelerator: str) -> bool:
    """Whether a guest without a GPU comes up with an accelerator."""
    try:
        return Run(Guest(gpus=0), ["true"], Streams(), PROBE_SECONDS, accelerator=accelerator).execute() == 0
    except Failure:
        return False


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _die_with_parent() -> None:
    postmortem.allow_core()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _goes_on(folder: Path) -> bool:
    """Whether the run that has this folder is not over."""
    try:
        with (folder / LOCK).open() as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        pass  # it never came to have one
    return False


def _age(folder: Path) -> list[int]:
    """Return the sort key of a run's folder: the numbers in its name (text would sort number 10 before number 2)."""
    return [int(number) for number in re.findall(r"\d+", folder.name)]


def _new_folder() -> Path:
    """A folder for a run's logs; the oldest ones go, those of failed runs later, and those of runs that go on never."""
    RUNS.mkdir(parents=True, exist_ok=True)
    old = sorted((path for path in RUNS.iterdir() if path.is_dir() and not path.is_symlink()), key=_age)
    older = old[: -KEEP_RUNS or None]
    failed = [path for path in older if (path / FAILED).exists()]
    kept = set(failed[-KEEP_FAILED:])
    for path in older:
        if path not in kept and not _goes_on(path):
            shutil.rmtree(path, ignore_errors=True)
    base = time.strftime("%Y%m%d-%H%M%S")
    for attempt in _attempts:
        folder = RUNS / f"{base}-{os.getpid()}-{attempt}"
        with contextlib.suppress(FileExistsError):
            folder.mkdir()
            return folder
    raise AssertionError
