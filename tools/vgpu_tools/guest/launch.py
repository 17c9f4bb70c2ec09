# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs a command in a new guest: `Run(guest, words, streams).execute()` returns a `Result`."""

import contextlib
import os
import secrets
import selectors
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, BinaryIO

from vgpu_tools.base import terminal
from vgpu_tools.base.errors import Failure
from vgpu_tools.guest import accel, agent, postmortem, qmp, run_folder
from vgpu_tools.guest.config import Guest
from vgpu_tools.guest.console import Watcher
from vgpu_tools.guest.emulator import Emulator
from vgpu_tools.guest.result import Result, Verdict

END_SECONDS = 5.0  # time for a guest to end after a panic, and for QEMU to end after SIGTERM
DUMP_SECONDS = 2.0  # time for a guest to dump its tasks after the timeout
PROBE_SECONDS = 10.0  # limit of comes_up(); a guest on a working KVM boots much faster
CHUNK = 65536
SEED_BYTES = 64  # size of the seed for a restored guest's random number generator

Sink = Callable[[bytes], None]


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of `data` to a descriptor, even if one write() takes only a part of the data."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def drop(data: bytes) -> None:
    """A sink that keeps nothing."""


@dataclass
class Streams:
    """Where the output and errors of a command in a guest go, and where its input comes from."""

    output: Sink = field(default=partial(write_all, 1))
    error: Sink = field(default=partial(write_all, 2))
    input: int | None = None  # a descriptor; None: no input
    # True: the command has a terminal, of the size of this process's terminal. `input` is then this process's terminal,
    # and is in raw mode during the run.
    terminal: bool = False


class Requests:
    """Requests to end a run. After give_up(), the guest dumps its tasks before the run ends. After stop(), the run
    ends without a dump. Other threads, signal handlers and the sinks of the run's streams may call both methods."""

    def __init__(self) -> None:
        self.given_up = False
        self.stopped = False
        self._wake: int | None = None  # an eventfd while the guest runs
        # Hold this lock to write to _wake or to close it. The lock is reentrant, because a signal
        # handler may call give_up() while the interrupted thread holds it.
        self._wake_lock = threading.RLock()

    def give_up(self) -> None:
        """End the run as if the timeout had passed: the guest dumps its tasks first."""
        self.given_up = True
        self._notify()

    def stop(self) -> None:
        """End the guest immediately, without a task dump."""
        self.stopped = True
        self._notify()

    def _notify(self) -> None:
        with self._wake_lock:
            if self._wake is not None:
                os.eventfd_write(self._wake, 1)

    @contextlib.contextmanager
    def waking(self, selector: selectors.BaseSelector) -> Iterator[None]:
        """While the `with` block runs, let give_up() and stop() wake the selector through an eventfd."""
        wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        try:
            selector.register(wake, selectors.EVENT_READ, partial(os.eventfd_read, wake))
            self._wake = wake
            yield
        finally:
            with self._wake_lock:
                self._wake = None
                os.close(wake)


class Run:
    """A guest from start to end.

    Call `execute()` once. If the thread that called `execute()` ends, QEMU is killed. Other threads, signal handlers
    and the sinks of the streams may call `give_up()` and `stop()`, also before `execute()`.
    """

    def __init__(
        self,
        guest: Guest,
        words: Sequence[str],  # the command and its arguments
        streams: Streams | None = None,  # None: no input; output and errors of this process
        timeout: float = 0,  # in seconds; 0: none
        verbose: bool = False,  # True: copy the console to standard error
        snapshot: BinaryIO | None = None,
        own_session: bool = False,  # True: signals of the terminal (Ctrl-C) do not reach QEMU
    ) -> None:
        """If `snapshot`, an open file, is given, the guest is restored from this file and does not
        boot. `guest` must then have the options of the guest that was saved. The caller closes
        `snapshot` after the run."""
        self.guest = guest
        self.words = words
        self.streams = streams or Streams()
        self.timeout = timeout
        self.verbose = verbose
        self.snapshot = snapshot
        self.own_session = own_session
        self._requests = Requests()
        self._running: Running | None = None  # set when QEMU has been started

    @property
    def running(self) -> "Running":
        """The running guest. Call only after QEMU has been started."""
        assert self._running
        return self._running

    def give_up(self) -> None:
        """End the run as its timeout does: the guest dumps its tasks, the verdict is TIMED_OUT or NOT_UP."""
        self._requests.give_up()

    def stop(self) -> None:
        """End the guest immediately, without a task dump. The verdict is STOPPED."""
        self._requests.stop()

    def execute(self) -> Result:
        """Run the command. Errors of the guest and of QEMU are in the Result; errors of this
        machine (files, no QEMU program) are raised as exceptions."""
        with run_folder.hold() as folder:
            return self.execute_in(folder)

    def execute_in(self, folder: Path) -> Result:
        """`execute()` in a folder that the caller has locked by run_folder.hold()."""
        try:
            running, timed_out = self._run_emulator(folder)
        except Failure as failure:  # from a sink, or from Saver if the guest could not be saved
            run_folder.mark_failed(folder, str(failure))
            raise
        result = running.result(timed_out)
        if result.failure:
            run_folder.mark_failed(folder, result.failure)
        return result

    def _run_emulator(self, folder: Path) -> tuple["Running", bool]:
        """Start QEMU and serve the guest until its end. Return the guest, and whether it timed out."""
        begun = time.monotonic()
        emulator = self._emulator(folder)
        with contextlib.ExitStack() as stack:
            start = self._prepare(emulator, stack)
            log = stack.enter_context((folder / run_folder.CONSOLE).open("wb", buffering=0))
            selector = stack.enter_context(selectors.PollSelector())
            stack.enter_context(self._requests.waking(selector))
            stack.enter_context(emulator)
            running = Running(self, self._requests, folder, emulator, log, selector, begun, start)
            self._running = running
            return running, running.attend()

    def _emulator(self, folder: Path) -> Emulator:
        accelerator = self.guest.accelerator or accel.choose(comes_up)
        log, record, socket = (folder / name for name in (run_folder.QEMU_LOG, run_folder.COMMAND, qmp.SOCKET))
        emulator = Emulator(self.guest, accelerator, log, record)
        emulator.own_session = self.own_session
        emulator.leaves_core = True
        if len(os.fsencode(socket)) <= qmp.MAX_PATH and "," not in str(socket):
            emulator.more += ["-qmp", f"unix:{socket},server=on,wait=off"]
        return emulator

    def _prepare(self, emulator: Emulator, stack: contextlib.ExitStack) -> "Callable[[Running], None]":
        """Add further arguments of QEMU to `emulator`. Add files and sockets that must stay open during the run to
        `stack`, which the caller closes after the run. Return the function to call when the guest is up."""
        if self.snapshot:
            # Pass the snapshot to QEMU as a descriptor, because another run may remove the file to
            # free disk space.
            emulator.more += ["-incoming", f"file:/proc/self/fd/{self.snapshot.fileno()}"]
            emulator.inherited.append(self.snapshot.fileno())
        return Running.start


class Running:
    """A guest from the start of its QEMU to the guest's end. Also makes the Result of the run."""

    def __init__(
        self,
        run: Run,
        requests: Requests,
        folder: Path,
        emulator: Emulator,
        log: BinaryIO,
        selector: selectors.BaseSelector,
        begun: float,
        start: "Callable[[Running], None]",
    ) -> None:
        """`run` has the parameters of the guest and of its command. `log` receives the console.
        `begun` is the start of the run, in the time of time.monotonic(). `start` is called when
        the guest is up."""
        assert emulator.process.stdout
        self.guest = run.guest
        self.words = run.words
        self.streams = run.streams
        self.verbose = run.verbose
        self.snapshot = run.snapshot
        self.folder = folder
        self.begun = begun
        self.limit = run.timeout  # seconds; 0: none
        self.deadline = begun + self.limit if self.limit else float("inf")
        self.process = emulator.process
        self.watcher = Watcher()
        self.driver = ""  # state of the driver; empty until the agent reports it
        self.status: int | None = None
        self._requests = requests
        self._start_command = start
        self._output: IO[bytes] = emulator.process.stdout
        self._port = emulator.port
        self._port.setblocking(False)
        self._log = log
        self._selector = selector
        self._late = agent.Late(self.guest.late_frames)
        self._decoder = agent.Decoder(self._late)
        self._pending = bytearray()  # bytes still to be sent to the guest
        self._input_open = False
        self._refused = False  # True: the command was not started because the driver failed
        self._ended: int | None = None  # QEMU's return code; None: this run terminated QEMU
        self._core = ""

    def attend(self) -> bool:
        """Serve the guest until its end: log the console, exchange frames with the agent, and forward the command's
        input. Return whether the guest timed out."""
        self._selector.register(self._output, selectors.EVENT_READ, self._read_console)
        self._selector.register(self._port, selectors.EVENT_READ, self._talk)
        if self.snapshot:
            self._send(agent.SEED, secrets.token_bytes(SEED_BYTES))
        with terminal.raw(self.streams.input if self.streams.terminal else None, self._resized):
            over = self._pump(self._done, self._time_left)
        if self._requests.stopped or self._refused:
            return False
        timed_out = not over and not self.watcher.fatal
        if timed_out:
            if self._requests.given_up:
                self.limit = self.limit or time.monotonic() - self.begun
            self._send(agent.DUMP)
            self._pump(self._ends_now, _until(time.monotonic() + DUMP_SECONDS))
            if self._ends_now():
                return False
            self._note_machine()
        self._end_qemu()
        return timed_out

    def start(self) -> None:
        """Start the command. If the driver failed and the command has no terminal, end the run
        instead."""
        flags = agent.TERMINAL if self.streams.terminal else 0
        if self.guest.kernel == "debug" and not self.streams.terminal:
            flags |= agent.LEAKS
        if self.driver == "failed" and not self.streams.terminal:
            self._refused = True
            return
        self._late.wait(agent.RUN)
        self._queue(agent.run(self.words, flags, *terminal.size()))
        self._input_open = self.streams.input is not None
        if not self._input_open:
            self._send(agent.STDIN)
        self._flush()

    def _done(self) -> bool:
        return self.status is not None or self._refused or self._requests.stopped

    def _ends_now(self) -> bool:
        return self._requests.stopped

    def _time_left(self) -> float:
        return 0.0 if self._requests.given_up else self.deadline - time.monotonic()

    def _end_qemu(self) -> None:
        """Record how QEMU ended, if it ended by itself. Terminate a QEMU that still runs, and handle the rest of its
        output."""
        if self._output not in self._selector.get_map():  # console closed: QEMU has ended or is ending
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(END_SECONDS)
        self._ended = self.process.poll()
        if self._ended and self._ended < 0:
            self._core = postmortem.take_core(self.process.pid, self.folder)
        self.process.terminate()
        end = time.monotonic() + END_SECONDS
        self._pump(self._ends_now, _until(end))
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(max(0.1, end - time.monotonic()))

    def _note_machine(self) -> None:
        """Write two files to the run's folder: the backtraces of QEMU's threads, and the state of the virtual CPUs and
        of their local APICs. The second file is left out if QEMU's monitor gives no answer."""
        (self.folder / run_folder.THREADS).write_text(postmortem.threads(self.process.pid))
        # The state of a local APIC shows whether an interrupt was lost.
        words = ["info cpus", "info registers -a", *(f"info lapic {cpu}" for cpu in range(self.guest.cpus))]
        commands = [("human-monitor-command", {"command-line": line}) for line in words]
        with contextlib.suppress(Failure, qmp.Refused):
            answers = qmp.ask(self.folder / qmp.SOCKET, *commands)
            text = "".join(f"{line}\n{answer}\n" for line, answer in zip(words, answers, strict=True))
            (self.folder / run_folder.MACHINE).write_text(text)

    def _pump(self, done: Callable[[], bool], left: Callable[[], float]) -> bool:
        """Handle the selector's events until `done()` is true or QEMU closes its console, and
        return True. Return False if `left()`, which returns the remaining seconds, reaches 0
        first."""
        while not done() and self._output in self._selector.get_map():
            seconds = left()
            if seconds <= 0:
                return False
            for key, _ in self._selector.select(None if seconds == float("inf") else seconds):
                key.data()
        return True

    # Callbacks of the selector

    def _read_console(self) -> None:
        data = os.read(self._output.fileno(), CHUNK)
        if not data:
            self._selector.unregister(self._output)
            return
        self._log.write(data)
        if self.verbose:
            write_all(2, data)
        self.watcher.feed(data)
        if self.watcher.fatal:
            self.deadline = min(self.deadline, time.monotonic() + END_SECONDS)

    def _talk(self) -> None:
        self._flush()
        try:
            data = self._port.recv(CHUNK)
        except BlockingIOError:
            return
        except ConnectionResetError:
            data = b""
        if not data:
            self._selector.unregister(self._port)
            return
        for kind, payload in self._decoder.feed(data):
            self._take(kind, payload)

    def _read_input(self) -> None:
        assert self.streams.input is not None
        data = os.read(self.streams.input, CHUNK // 2)
        self._input_open = bool(data)
        self._send(agent.STDIN, data)

    def _resized(self) -> None:
        self._late.wait(agent.SIZE)
        self._queue(agent.size(*terminal.size()))

    # Frames

    def _take(self, kind: int, payload: bytes) -> None:
        if kind == agent.HELLO and payload.decode() == agent.RESTORED:
            self._late.wait(agent.TIME)
            self._queue(agent.time_of_day(time.time_ns()))
        elif kind == agent.HELLO:
            self.driver = payload.decode()
            self._start_command(self)
        elif kind == agent.STDOUT:
            self.streams.output(payload)
        elif kind == agent.STDERR:
            self.streams.error(payload)
        elif kind == agent.EXIT:
            self.status = int.from_bytes(payload[:4], "little")

    def _send(self, kind: int, payload: bytes = b"") -> None:
        self._late.wait(kind)
        self._queue(agent.frame(kind, payload))

    def _queue(self, data: bytes) -> None:
        self._pending += data
        self._flush()

    def _flush(self) -> None:
        """Send pending bytes to the agent without blocking. If some bytes do not fit, let the selector call again when
        the socket is writable. Until all bytes are sent, read no further input for the command."""
        with contextlib.suppress(BlockingIOError, BrokenPipeError, ConnectionResetError):
            while self._pending:
                del self._pending[: self._port.send(self._pending)]
        watched = self._selector.get_map()
        if self._port in watched:
            more = selectors.EVENT_WRITE if self._pending else 0
            self._selector.modify(self._port, selectors.EVENT_READ | more, self._talk)
        if self.streams.input is None:
            return
        wanted = self._input_open and not self._pending
        if wanted and self.streams.input not in watched:
            self._selector.register(self.streams.input, selectors.EVENT_READ, self._read_input)
        elif not wanted and self.streams.input in watched:
            self._selector.unregister(self.streams.input)

    # The result

    def result(self, timed_out: bool) -> Result:
        """Return the result. Call after attend(), whose return value is `timed_out`."""
        verdict, said = self._verdict(timed_out)
        return Result(
            verdict,
            self.folder,
            status=self.status,
            said=said,
            qemu=self._ended,
            limit=self.limit,
            seconds=time.monotonic() - self.begun,
            core=self._core,
            snapshot=str(self.snapshot.name) if self.snapshot else "",
        )

    def _verdict(self, timed_out: bool) -> tuple[Verdict, str]:
        """Return the verdict, and the line of the kernel or of QEMU that is the reason for the
        verdict."""
        if self._requests.stopped:
            return Verdict.STOPPED, ""
        if self._refused:
            return Verdict.NO_DRIVER, ""
        if self.watcher.fatal:
            return Verdict.KERNEL_DIED, self.watcher.fatal
        if timed_out:
            return Verdict.TIMED_OUT if self.driver else Verdict.NOT_UP, ""
        if self.status is None and self._ended:
            lines = (self.folder / run_folder.QEMU_LOG).read_text(errors="replace").strip().splitlines()
            return Verdict.QEMU_ENDED, lines[-1] if lines else ""
        if self.status is None:
            return Verdict.GUEST_ENDED, ""
        if self.watcher.report:
            return Verdict.KERNEL_REPORTED, self.watcher.report
        return Verdict.EXITED, self.watcher.killed


def _until(end: float) -> Callable[[], float]:
    """Return a function that returns the seconds left until `end`, for the parameter `left` of _pump(). `end` is a
    time of time.monotonic()."""
    return lambda: end - time.monotonic()


def comes_up(accelerator: str) -> bool:
    """Return whether a guest without a GPU boots on an accelerator and runs a command."""
    guest = Guest(gpus=0, accelerator=accelerator)
    result = Run(guest, ["true"], Streams(drop, drop), PROBE_SECONDS).execute()
    return result.good and result.status == 0
