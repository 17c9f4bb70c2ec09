# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests ./vgpu run and ./vgpu shell: streams, exit statuses, and the message about an error of the
guest, which must be one sentence."""

import contextlib
import hashlib
import random
import re
import signal
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from unittest import mock

from launcher import GuestTest
from vgpu_tools.base.errors import Failure
from vgpu_tools.guest import run_folder
from vgpu_tools.guest.config import Guest
from vgpu_tools.guest.emulator import Emulator
from vgpu_tools.guest.launch import Run, Running, Streams, write_all
from vgpu_tools.guest.result import Result, Verdict


class Passing(GuestTest):
    """The launcher passes the words, the streams and the exit status of a command through unchanged."""

    def test_streams(self) -> None:
        """Catches: output and errors are mixed; bytes are added."""
        result = self.call_run("echo out; echo err >&2; echo more > /dev/stderr", "--gpus", "0")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, b"out\n", b"err\nmore\n"))

    def test_status(self) -> None:
        """Catches: ./vgpu run changes the exit status of a command that exits, is killed by a
        signal, or is missing."""
        for script, status in (
            ("exit 1", 1),
            ("exit 42", 42),
            ("exit 255", 255),
            ("kill -9 $$", 137),
            ("nonsense", 127),
        ):
            self.assertEqual(self.call_run(script, "--gpus", "0").returncode, status, script)
        self.assertEqual(self.vgpu("run", "--gpus", "0", "--", "no-such-command").returncode, 127)

    def test_bytes(self) -> None:
        """Catches: a terminal changes bytes of the output; a frame from the agent to the launcher is
        lost; the output is truncated at the command's end."""
        content = random.Random(1).randbytes(2 << 20)
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "data").write_bytes(content)
            result = self.call_run("cat /mnt/share/data", "--gpus", "0", "--share", folder)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(hashlib.sha256(result.stdout).digest(), hashlib.sha256(content).digest())

    def test_slow_reader(self) -> None:
        """Catches: a deadlock in which the agent blocks on the command's input while the command
        blocks on its output."""
        content = random.Random(2).randbytes(1 << 20)
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as printed:
            given.write(content)
            given.seek(0)
            words = ["sh", "-c", "head -c 1048576 /dev/zero; cat"]
            streams = Streams(output=partial(write_all, printed.fileno()), input=given.fileno())
            result = Run(self.guest(Guest(gpus=0)), words, streams, timeout=60 * self.settings.factor).execute()
            self.assertEqual(result.status, 0, result.sentence)
            printed.seek(0)
            self.assertEqual(hashlib.sha256(printed.read()).digest(), hashlib.sha256(bytes(1 << 20) + content).digest())

    def test_share_is_written(self) -> None:
        """Catches: a file that the guest wrote to the shared folder does not appear on the host."""
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(
                self.call_run("echo here > /mnt/share/file", "--gpus", "0", "--share", folder).returncode, 0
            )
            self.assertEqual((Path(folder) / "file").read_text(), "here\n")

    def test_arguments(self) -> None:
        """Catches: the launcher changes a word of the command if the word is empty or has blanks,
        quotes, "*" or non-ASCII characters."""
        words = ["", "a b", "it's", "*", "ü"]
        result = self.vgpu("run", "--gpus", "0", "--", "printf", "[%s]", *words)
        self.assertEqual(result.stdout.decode(), "".join(f"[{word}]" for word in words))

    def test_shell(self) -> None:
        """Catches: ./vgpu shell loses input or the shell's exit status."""
        result = self.vgpu("shell", "--gpus", "0", data=b"echo $((6 * 7))\nexit 5\n")
        self.assertEqual((result.returncode, result.stdout), (5, b"42\n"))


class Refused(Run):
    """A run in which the launcher does not start the command, because the driver's state is
    "failed"."""

    def _prepare(self, emulator: Emulator, stack: contextlib.ExitStack) -> Callable[[Running], None]:
        start = super()._prepare(emulator, stack)

        def fail(running: Running) -> None:
            running.driver = "failed"
            start(running)

        return fail


class Failing(GuestTest):
    """Failures of guests, and wrong usage."""

    def says(self, error: bytes, pattern: str) -> str:
        """Check that `error`, the standard error of ./vgpu, is exactly one line that matches
        `pattern`. Return this line."""
        lines = error.decode().strip().splitlines()
        self.assertEqual(len(lines), 1, error)
        self.assertRegex(lines[0], pattern)
        return lines[0]

    def test_panic(self) -> None:
        """Catches: after a panic, the exit status is not 125; the message does not name a console log with the text of
        the panic."""
        result = self.call_run("echo c > /proc/sysrq-trigger; sleep 1000", "--gpus", "0")
        self.assertEqual(result.returncode, 125)
        sentence = self.says(result.stderr, "^vgpu: the guest's kernel died: .*; console log: ")
        log = re.search(r"console log: (\S+)$", sentence)
        assert log
        self.assertIn("Kernel panic", Path(log[1]).read_text(errors="replace"))

    def test_hang(self) -> None:
        """Catches: a timeout, during boot or during the command, does not end the run with status 124 and the right
        sentence."""
        result = self.vgpu("run", "--gpus", "0", "--timeout", "1", "--", "sleep", "1000")
        self.assertEqual(result.returncode, 124)
        self.says(result.stderr, r"^vgpu: the (guest|command) did not (come up|end) within 1 s .*console log: ")
        given_up = self.interrupted(lambda run: run.give_up())
        self.assertEqual((given_up.verdict, given_up.status, given_up.exit_status), (Verdict.TIMED_OUT, None, 124))
        self.assertRegex(given_up.sentence, r"^the command did not end within [\d.]+ s .*console log: ")
        self.assertTrue(given_up.machine.exists())

    def test_dead_qemu(self) -> None:
        """Catches: the message lacks the name of the signal that killed QEMU."""
        result = self.interrupted(lambda run: run.running.process.kill())
        self.assertEqual((result.verdict, result.qemu), (Verdict.QEMU_ENDED, -signal.SIGKILL))
        self.assertRegex(result.sentence, "^QEMU ended with SIGKILL; console log: ")
        self.assertEqual((result.folder / run_folder.FAILED).read_text(), f"{result.sentence}\n")

    def test_stop(self) -> None:
        """Catches: stop() does not end QEMU; a stopped run counts as failed."""
        result = self.interrupted(lambda run: run.stop())
        self.assertEqual((result.verdict, result.status), (Verdict.STOPPED, None))
        self.assertFalse((result.folder / run_folder.FAILED).exists())
        with self.assertRaisesRegex(Failure, "^the run was stopped; console log: "):
            result.check()

    def interrupted(self, what: Callable[[Run], None]) -> Result:
        """Run a command, and call `what(run)` when the command has printed its first output.
        Return the result."""
        streams = Streams(output=lambda _: what(run))
        run = Run(self.guest(Guest(gpus=0)), ["sh", "-c", "echo up; sleep 1000"], streams)
        return run.execute()

    def test_nothing_before(self) -> None:
        """Catches: a Run makes a folder before execute(); a command is started after stop()."""
        with tempfile.TemporaryDirectory() as name, mock.patch.object(run_folder, "RUNS", Path(name) / "runs"):
            output = bytearray()
            run = Run(self.guest(Guest(gpus=0)), ["echo", "up"], Streams(output=output.extend))
            self.assertEqual(list(Path(name).iterdir()), [])
            run.stop()
            self.assertEqual((run.execute().verdict, output), (Verdict.STOPPED, b""))

    def test_failed_runs(self) -> None:
        """Catches: the folder of a failed run lacks the file `failed`, so that later runs remove
        the folder as early as that of a successful run."""
        guest = self.guest(Guest(gpus=0))
        refused = Refused(guest, ["true"]).execute()
        self.assertRegex(refused.sentence, "^the driver did not take the GPU; ")
        self.assertEqual((refused.folder / run_folder.FAILED).read_text(), f"{refused.sentence}\n")
        for words, said in ((["false"], "exit status 1\n"), (["true"], None)):
            failed = Run(guest, words).execute().folder / run_folder.FAILED
            self.assertEqual(failed.read_text() if failed.exists() else None, said)

    def test_logs_stay(self) -> None:
        """Catches: later runs remove the folder of a running run, or of the newest failed run.

        This has happened: at the end of a long run of tests, the console log of a guest that had
        failed early was gone.
        """
        with (
            tempfile.TemporaryDirectory() as name,
            mock.patch.object(run_folder, "RUNS", Path(name)),
            mock.patch.object(run_folder, "KEEP_FAILED", 1),
        ):
            with run_folder.hold() as first:
                older = []
                for why in ("", "exit status 1", "exit status 2"):
                    with run_folder.hold() as folder:
                        older.append(folder)
                        if why:
                            run_folder.mark_failed(folder, why)
                for _ in range(run_folder.KEEP + 2):
                    with run_folder.hold():
                        pass
                self.assertEqual([folder.exists() for folder in (first, *older)], [True, False, False, True])
            with run_folder.hold():
                pass
            self.assertFalse(first.exists())

    def test_wrong_usage(self) -> None:
        """Catches: for wrong usage ./vgpu does not print exactly one sentence, or does not exit with status 2."""
        for words in (
            ("run", "--nonsense", "--", "true"),
            ("run", "true"),
            ("run", "--"),
            ("run", "--gpus", "9", "--", "true"),
            ("run", "--gpus", "many", "--", "true"),
            ("run", "--memory", "lots", "--", "true"),
            ("run", "--kernel", "newest", "--", "true"),
            ("run", "--rootfs", "none", "--", "true"),
            ("run", "--share", "/no/such/folder", "--", "true"),
            ("nonsense",),
        ):
            result = self.vgpu(*words)
            self.assertEqual(result.returncode, 2, words)
            self.says(result.stderr, "^vgpu: ")

    def test_bad_device_option(self) -> None:
        """Catches: the message about an option that QEMU refuses lacks QEMU's text."""
        result = self.call_run("true", "--device-opts", "no-such-property=1")
        self.assertEqual(result.returncode, 125)
        self.says(result.stderr, "^vgpu: QEMU ended with .*no-such-property")
