# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests runs of guests, with a fake QEMU.

Catches: a verdict is wrong; output is lost; a QEMU, descriptor or lock outlives its run.
"""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from pathlib import Path
from unittest import mock

from avocado import Test

from vgpu_tools.base.environment import Environment, inherited_environment
from vgpu_tools.base.errors import Failure
from vgpu_tools.base.paths import ROOT
from vgpu_tools.guest import launch, postmortem, run_folder
from vgpu_tools.guest.background import Background
from vgpu_tools.guest.config import Guest
from vgpu_tools.guest.launch import Run, Streams
from vgpu_tools.guest.result import Result, Verdict
from vgpu_tools.guest.session import Machine, MachineError, Session
from vgpu_tools.testing import guest_tests, kfdtest
from vgpu_tools.testing.suite import Context

SECONDS = 60.0  # limit of each wait, on any host
# A program that runs in place of QEMU. Argument 1 is the descriptor of the agent's socket. Argument 2 is the driver's
# state: "ready" or "failed"; with "broken", the program ends at once. Each word of the guest's command is an action
# for do().
QEMU = r"""
import os, signal, socket, struct, sys

port = socket.socket(fileno=int(sys.argv[1]))


def send(kind, payload):
    port.sendall(struct.pack("<BI", ord(kind), len(payload)) + payload)


def read(size):
    data = b""
    while len(data) < size:
        more = port.recv(size - len(data))
        if not more:
            sys.exit()
        data += more
    return data


def do(word):
    verb, _, text = word.partition(" ")
    if verb == "out":
        send("O", text.encode())
    elif verb == "err":
        send("E", text.encode())
    elif verb == "pid":
        send("O", f"{os.getpid()}\n".encode())
    elif verb == "exit":
        send("X", struct.pack("<I", int(text)))
    elif verb == "console":
        print(text, flush=True)
    elif verb == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif verb == "quit":
        print(text, file=sys.stderr, flush=True)
        sys.exit(len(text) > 0)


if sys.argv[2] == "broken":
    do("quit no such property")
print("up", flush=True)
send("H", sys.argv[2].encode())
while True:
    kind, size = struct.unpack("<BI", read(5))
    payload = read(size)
    if chr(kind) == "R":
        for word in payload[5:].decode().split("\0")[:-1]:
            do(word)
    elif chr(kind) == "D":
        print("dumped", flush=True)
"""
# A launcher that runs the program above in place of QEMU. Arguments: the folder of runs, the text of that program, then
# the arguments that ./vgpu would get.
LAUNCHER = """
import sys
from pathlib import Path
from vgpu_tools.cli.main import main
from vgpu_tools.guest import run_folder
from vgpu_tools.guest.config import Guest

run_folder.RUNS = Path(sys.argv[1])
Guest.prepare = lambda self: None
Guest.command = lambda self, port, *_: [sys.executable, "-ISc", sys.argv[2], str(port), "ready"]
sys.exit(main(sys.argv[3:]))
"""


def gone(pid: int) -> bool:
    """Return whether a process has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


class Scripted(Test):
    """Tests in which no emulator runs. The Python program in the constant `QEMU` runs instead."""

    timeout = 600

    def setUp(self) -> None:
        """Replace the emulator by the program in the constant `QEMU`, and the folder of runs by a
        temporary folder."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.runs = Path(folder.name)
        self.driver = "ready"
        for patch in (
            mock.patch.object(Guest, "prepare"),
            mock.patch.object(Guest, "command", lambda _, port, *more: self.command(port)),
            mock.patch.object(run_folder, "RUNS", self.runs),
            mock.patch.object(postmortem, "threads", return_value="stacks"),
            mock.patch.object(launch, "DUMP_SECONDS", 0.2),
        ):
            patch.start()
            self.addCleanup(patch.stop)
        self.guest = Guest(accelerator="tcg")
        self.output = bytearray()

    def command(self, port: int) -> list[str]:
        """Return the command line of the program that runs in place of QEMU."""
        return [sys.executable, "-ISc", QEMU, str(port), self.driver]

    def until(self, holds: Callable[[], bool]) -> None:
        end = time.monotonic() + SECONDS
        while not holds():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)


class Runs(Scripted):
    """Tests the class Run: the verdict, the time limit, requests to end a run, and what is left after errors."""

    def result(self, *words: str, timeout: float = 0) -> Result:
        """Run a command to its end, and return the result. Check that no process, lock or descriptor of the run is
        left."""
        before = set(os.listdir("/proc/self/fd"))
        run = Run(self.guest, words, Streams(self.output.extend, self.output.extend), timeout)
        result = run.execute()
        self.assertIsNotNone(run.running.process.returncode)
        self.assertFalse(run_folder.held(result.folder))
        self.assertEqual(set(os.listdir("/proc/self/fd")), before)
        return result

    def failed(self, result: Result) -> str:
        """Return the reason of the failure, read from the run's folder; empty if the run did not fail."""
        file = result.folder / run_folder.FAILED
        return file.read_text() if file.exists() else ""

    def test_status(self) -> None:
        """Catches: output is lost; the exit status changes; a failure is not recorded in the run's folder; a success is
        recorded as a failure."""
        result = self.result("out a", "err b", "exit 0")
        self.assertEqual((result.verdict, result.status, self.output), (Verdict.EXITED, 0, b"ab"))
        self.assertEqual(self.failed(result), "")
        result = self.result("exit 3")
        self.assertEqual((result.verdict, result.exit_status, result.sentence), (Verdict.EXITED, 3, ""))
        self.assertEqual(self.failed(result), "exit status 3\n")
        self.assertIn("up", result.console.read_text())

    def test_verdicts(self) -> None:
        """Catches: for one of the ways to fail, the verdict is wrong, the line with the reason is lost, or the failure
        is not recorded in the run's folder."""
        for words, verdict, said, qemu in (
            (["console Kernel panic - not syncing: x", "quit"], Verdict.KERNEL_DIED, "Kernel panic", 0),
            (["console WARNING: CPU: 0", "exit 0"], Verdict.KERNEL_REPORTED, "WARNING: CPU: 0", None),
            (["kill"], Verdict.QEMU_ENDED, "", -signal.SIGKILL),
            (["quit bad"], Verdict.QEMU_ENDED, "bad", 1),
            (["quit"], Verdict.GUEST_ENDED, "", 0),
        ):
            result = self.result(*words)
            self.assertEqual((result.verdict, result.qemu), (verdict, qemu), words)
            self.assertIn(said, result.said)
            self.assertEqual(self.failed(result), f"{result.sentence}\n")
        for driver, verdict in (("failed", Verdict.NO_DRIVER), ("broken", Verdict.QEMU_ENDED)):
            self.driver = driver
            result = self.result("exit 0")
            self.assertEqual((result.verdict, result.status), (verdict, None))
            self.assertEqual(self.failed(result), f"{result.sentence}\n")

    def test_time(self) -> None:
        """Catches: after a timeout, the guest gets no DUMP frame, or no backtraces are saved."""
        result = self.result("out x", timeout=1)
        self.assertEqual((result.verdict, result.limit, self.output), (Verdict.TIMED_OUT, 1, b"x"))
        self.assertIn("dumped", result.console.read_text())
        self.assertEqual((result.folder / run_folder.THREADS).read_text(), "stacks")
        self.assertIn("did not end within 1 s", self.failed(result))

    def test_calls(self) -> None:
        """Catches: give_up() has no effect if another thread calls it; stop() has no effect if the callback for output
        calls it, or if it is called before execute()."""
        run = Run(self.guest, ["out x"], Streams(self.output.extend))

        def give_up() -> None:
            self.until(lambda: bool(self.output))
            run.give_up()

        thread = threading.Thread(target=give_up)
        thread.start()
        result = run.execute()
        thread.join()
        self.assertEqual(result.verdict, Verdict.TIMED_OUT)

        stopped = Run(self.guest, ["out x"], Streams(lambda _: stopped.stop()))
        result = stopped.execute()
        self.assertEqual((result.verdict, result.status, self.failed(result)), (Verdict.STOPPED, None, ""))
        with self.assertRaisesRegex(Failure, "^the run was stopped"):
            result.check()

        early = Run(self.guest, ["out never"], Streams(self.output.extend))
        early.stop()
        self.assertEqual((early.execute().verdict, self.output), (Verdict.STOPPED, b"x"))

    def test_interrupted(self) -> None:
        """Catches: a QEMU, a lock or a descriptor is left after an exception."""

        def interrupt(_: bytes) -> None:
            raise KeyboardInterrupt

        before = set(os.listdir("/proc/self/fd"))
        run = Run(self.guest, ["out x"], Streams(interrupt))
        with self.assertRaises(KeyboardInterrupt):
            run.execute()
        self.assertIsNotNone(run.running.process.returncode)
        self.assertFalse(run_folder.held(run.running.folder))
        self.assertEqual(set(os.listdir("/proc/self/fd")), before)

    def test_failure(self) -> None:
        """Catches: a sink raises Failure, but the run's folder gets no file `failed`. (Without this file, later runs
        remove the folder too early.)"""

        def fail(_: bytes) -> None:
            raise Failure("not saved")

        run = Run(self.guest, ["out x"], Streams(fail))
        with self.assertRaisesRegex(Failure, "^not saved$"):
            run.execute()
        self.assertEqual((run.running.folder / run_folder.FAILED).read_text(), "not saved\n")

    def test_stopped_in_dump(self) -> None:
        """Catches: stop() does not end the wait for the task dump; backtraces are taken although stop() was called
        during the dump; the verdict is not STOPPED; QEMU outlives the run."""
        with mock.patch.object(launch, "DUMP_SECONDS", SECONDS):
            run = Run(self.guest, ["out x"], Streams(self.output.extend))

            def stop() -> None:
                self.until(lambda: bool(self.output))
                run.give_up()
                self.until(lambda: "dumped" in (run.running.folder / run_folder.CONSOLE).read_text())
                run.stop()

            thread = threading.Thread(target=stop)
            thread.start()
            result = run.execute()
            thread.join()
        self.assertEqual(result.verdict, Verdict.STOPPED)
        # If stop() has no effect on the wait, the run lasts longer than the wait of SECONDS for the dump.
        self.assertLess(result.seconds, SECONDS)
        self.assertFalse((result.folder / run_folder.THREADS).exists())
        self.assertIsNotNone(run.running.process.returncode)

    def test_no_program(self) -> None:
        """Catches: a missing QEMU program is reported as a failure of the guest; a file descriptor
        stays open."""
        before = set(os.listdir("/proc/self/fd"))
        with mock.patch.object(self, "command", return_value=["/nonexistent/qemu"]), self.assertRaises(OSError):
            Run(self.guest, []).execute()
        self.assertEqual(set(os.listdir("/proc/self/fd")), before)


class Signals(Scripted):
    """Signals that end the launcher."""

    def start(self) -> tuple["subprocess.Popen[str]", int]:
        """Start ./vgpu run with a command that does not end. Return the launcher, and the pid of the program that
        runs in place of QEMU."""
        words = ["run", "--timeout", "0", "--", "pid"]
        launcher = subprocess.Popen(
            [sys.executable, "-c", LAUNCHER, str(self.runs), QEMU, *words],
            env=inherited_environment({"PYTHONPATH": str(ROOT / "tools"), "VGPU_ACCEL": "tcg"}),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        self.addCleanup(launcher.kill)
        assert launcher.stdout
        return launcher, int(launcher.stdout.readline())

    def test_ends(self) -> None:
        """Catches: a QEMU outlives its launcher; the next run cannot remove the folder of the ended run."""
        for number, status in ((signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)):
            launcher, qemu = self.start()
            (folder,) = self.runs.iterdir()
            self.assertTrue(run_folder.held(folder))
            launcher.send_signal(number)
            _, errors = launcher.communicate(timeout=SECONDS)
            self.assertEqual((launcher.returncode, errors), (status, ""))
            self.until(partial(gone, qemu))
            self.assertFalse(run_folder.held(folder))
            with mock.patch.object(run_folder, "KEEP", 0):
                run_folder.remove_old()
            self.assertEqual(list(self.runs.iterdir()), [])

    def test_given_up(self) -> None:
        """Catches: SIGUSR1 does not end the run, or ends the run in another way than the timeout does; the signal
        handler deadlocks on a lock that the interrupted thread holds."""
        launcher, _ = self.start()
        for _ in range(10):
            launcher.send_signal(signal.SIGUSR1)
        _, errors = launcher.communicate(timeout=SECONDS)
        self.assertEqual(launcher.returncode, 124)
        self.assertRegex(errors, r"^vgpu: the command did not end within [\d.]+ s \(--timeout\); console log: \S+\n$")


class InBackground(Scripted):
    """Tests of the class Background, which starts a thread that runs a command in a guest."""

    def test_lines(self) -> None:
        """Catches: a line is lost or split; a last line without newline is lost; lines() waits after the end of the
        run."""
        begun = time.monotonic()
        with Background(self.guest, ["out a\nb", "out c\r\nd", "exit 0"]) as run:
            self.assertEqual(list(run.lines(SECONDS)), ["a", "bc", "d"])
            self.assertEqual(list(run.lines(SECONDS)), [])
        self.assertLess(time.monotonic() - begun, SECONDS)
        self.assertEqual((run.result().status, run.output), (0, b"a\nbc\r\nd"))

    def test_stopped(self) -> None:
        """Catches: a run outlives its `with` block; lines() blocks while the guest is silent."""
        with Background(self.guest, ["out a\n"]) as run:
            lines = run.lines(0.1)
            self.until(lambda: next(lines) == "a")
            self.assertIsNone(next(lines))
            self.assertFalse(run.wait(0))
        self.assertEqual((run.result().verdict, list(run.lines(SECONDS))), (Verdict.STOPPED, []))

    def test_raised(self) -> None:
        """Catches: an exception in the run's thread is lost, because result() does not raise it."""
        with (
            mock.patch.object(self, "command", return_value=["/nonexistent/qemu"]),
            Background(self.guest, []) as run,
        ):
            self.assertEqual(list(run.lines(SECONDS)), [])
            with self.assertRaises(FileNotFoundError):
                run.result()


class InSuites(Scripted):
    """The functions through which test suites run guests."""

    def in_guest(self, *words: str, first: float = SECONDS) -> list[tuple[str, str, str]]:
        """Call guest_tests.in_guest() for a test program with the name "a". The program does the actions `words` (see
        do() in `QEMU`). Return name, outcome and gist of each case."""
        context = Context(Environment(accelerator="tcg"), scale=1.0)
        watch = guest_tests.Watch(context.speed, first, first)
        with mock.patch("vgpu_tools.testing.limits.measure", return_value=(1e-9, 1e-9)):
            cases, _ = guest_tests.in_guest(["a"], [], words, watch, context)
        return [(case.name, case.outcome, case.gist) for case in cases]

    def test_cases(self) -> None:
        """Catches: a passed case is reported as failed; a failure of the guest gives no failed
        case, or the case's gist lacks the sentence about the failure."""
        self.assertEqual(self.in_guest("out 1..1\nok 1 - x\n", "exit 0"), [("a: x", "passed", "")])
        _, (name, outcome, gist) = self.in_guest(
            "out 1..1\nok 1 - x\n", "console Kernel panic - not syncing: x", "quit"
        )
        self.assertEqual((name, outcome), ("a: exit", "failed"))
        self.assertRegex(gist, "^vgpu: the guest's kernel died: Kernel panic - not syncing: x; console log: ")

    def test_silent(self) -> None:
        """Catches: the wait for a guest whose program prints no more output has no limit; the timeout is not recorded
        in the run's folder."""
        ((name, outcome, gist), _) = self.in_guest("err noise", first=0.5)
        self.assertEqual((name, outcome), ("a", "failed"))
        self.assertRegex(gist, r"^vgpu: the command did not end within [\d.]+ s")
        (folder,) = self.runs.iterdir()
        self.assertIn("did not end", (folder / run_folder.FAILED).read_text())

    def test_refused(self) -> None:
        """Catches: an OSError at the start of one guest ("Permission denied", a full disk) ends the suite, so that the
        suite's results are lost."""
        with mock.patch.object(self, "command", return_value=[str(self.runs)]):
            ((name, outcome, gist),) = self.in_guest("exit 0")
        self.assertEqual((name, outcome, gist), ("a", "failed", f"vgpu: {self.runs}: Permission denied"))

    def test_slow_build(self) -> None:
        """Catches: the time limit of a guest includes the time of builds before the guest's
        start."""
        context = Context(Environment(accelerator="tcg"), scale=1.0)
        watch = guest_tests.Watch(context.speed, SECONDS, SECONDS)

        def build() -> None:
            watch.limit.start -= 2 * SECONDS

        with (
            mock.patch.object(Guest, "prepare", side_effect=build),
            mock.patch("vgpu_tools.testing.limits.measure", return_value=(1e-9, 1e-9)),
        ):
            cases, _ = guest_tests.in_guest(["a"], [], ["out 1..1\nok 1 - x\n", "exit 0"], watch, context)
        self.assertEqual([(case.name, case.outcome) for case in cases], [("a: x", "passed")])

    def test_options(self) -> None:
        """Catches: wrong options of a guest end the run of tests instead of failing a case."""
        context = Context(scale=1.0)
        watch = guest_tests.Watch(context.speed, 1, 1)
        cases, _ = guest_tests.in_guest(["a"], ["--gpus", "9"], ["exit 0"], watch, context)
        self.assertEqual(cases[0].gist, "vgpu: --gpus 9: there can be 0 to 8")

    def test_kfdtest(self) -> None:
        """Catches: a test passes although its guest ended during the test; a guest that fails before the first test
        raises no Failure."""
        lines = "\n".join(["@@ begin A.One", "[  PASSED  ] 1 test.", "@@ end 0", "@@ begin A.Two", ""])
        for end, why in (
            ("kill", "the guest died: vgpu: QEMU ended with SIGKILL"),
            ("exit 1", "the guest died: @@ begin A.Two"),
        ):
            names = deque(["A.One", "A.Two", "A.Three"])
            with mock.patch.object(
                kfdtest, "Background", lambda *_, end=end: Background(self.guest, [f"out {lines}", end])
            ):
                results = list(kfdtest.Tests(self.guest, names, 60).run())
            self.assertEqual([result.outcome for result in results], ["PASS", "FAIL"])
            self.assertTrue(results[1].why.startswith(why), results[1].why)
            self.assertEqual(list(names), ["A.Three"])
        names = deque(["A.One"])
        with (
            mock.patch.object(kfdtest, "Background", lambda *_: Background(self.guest, ["quit bad"])),
            self.assertRaisesRegex(Failure, "^no guest: vgpu: QEMU ended with exit status 1: bad"),
        ):
            list(kfdtest.Tests(self.guest, names, 60).run())


class Machines(Scripted):
    """A machine that a test controls."""

    def test_no_start(self) -> None:
        """Catches: the error lacks QEMU's message when QEMU does not start; a process or a descriptor is left."""
        self.driver = "broken"
        open_files = []
        for _ in range(2):  # the first iteration creates the thread's event loop, which stays
            machine = Machine(Session(), self.runs, "only", self.guest)
            with self.assertRaisesRegex(MachineError, "^QEMU did not start: .*no such property"), machine:
                self.fail("it started")
            self.assertIsNotNone(machine.process.returncode)
            open_files.append(set(os.listdir("/proc/self/fd")))
        self.assertEqual(*open_files)
