# SPDX-License-Identifier: GPL-2.0-or-later
"""The launcher's promises: bytes, exit statuses, and one clear sentence when a guest is at fault."""

import hashlib
import random
import re
import signal
import tempfile
import time
from pathlib import Path
from unittest import mock

from avocado import Test

from launcher import SCALE, run, vgpu
from vgpu_tools.base.errors import Failure
from vgpu_tools.guest import launch
from vgpu_tools.guest.config import Guest


class Passing(Test):
    """What goes through the launcher unchanged."""

    def test_streams(self) -> None:
        """Output and errors stay apart, and nothing is added."""
        result = run("echo out; echo err >&2; echo more > /dev/stderr", "--gpus", "0")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, b"out\n", b"err\nmore\n"))

    def test_status(self) -> None:
        """Exit statuses: small ones, large ones, a signal's, a missing command's."""
        for script, status in (
            ("exit 1", 1),
            ("exit 42", 42),
            ("exit 255", 255),
            ("kill -9 $$", 137),
            ("nonsense", 127),
        ):
            self.assertEqual(run(script, "--gpus", "0").returncode, status, script)
        self.assertEqual(vgpu("run", "--gpus", "0", "--", "no-such-command").returncode, 127)

    def test_bytes(self) -> None:
        """Two megabytes of every byte value through a shared folder and back over the pipe; would catch a terminal
        between, a lost frame, or output that is cut off at the command's end."""
        content = random.Random(1).randbytes(2 << 20)
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "data").write_bytes(content)
            result = run("cat /mnt/share/data", "--gpus", "0", "--share", folder)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(hashlib.sha256(result.stdout).digest(), hashlib.sha256(content).digest())

    def test_slow_reader(self) -> None:
        """A command that prints more than a pipe holds before it reads as much input; would catch an agent that waits
        for it to read while it waits to be read."""
        content = random.Random(2).randbytes(1 << 20)
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as printed:
            given.write(content)
            given.seek(0)
            words = ["sh", "-c", "head -c 1048576 /dev/zero; cat"]
            streams = launch.Streams(given.fileno(), printed.fileno())
            self.assertEqual(launch.Run(Guest(gpus=0), words, streams, timeout=60 * (SCALE or 1)).execute(), 0)
            printed.seek(0)
            self.assertEqual(hashlib.sha256(printed.read()).digest(), hashlib.sha256(bytes(1 << 20) + content).digest())

    def test_share_is_written(self) -> None:
        """What the guest writes into the shared folder is there afterwards."""
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(run("echo here > /mnt/share/file", "--gpus", "0", "--share", folder).returncode, 0)
            self.assertEqual((Path(folder) / "file").read_text(), "here\n")

    def test_arguments(self) -> None:
        """Words arrive as they were given: empty, with blanks, with quotes."""
        words = ["", "a b", "it's", "*", "ü"]
        result = vgpu("run", "--gpus", "0", "--", "printf", "[%s]", *words)
        self.assertEqual(result.stdout.decode(), "".join(f"[{word}]" for word in words))

    def test_shell(self) -> None:
        """The shell reads its input to the end and passes its status."""
        result = vgpu("shell", "--gpus", "0", data=b"echo $((6 * 7))\nexit 5\n")
        self.assertEqual((result.returncode, result.stdout), (5, b"42\n"))


class Hanging(launch.Run):
    """Its time begins with the command, however long the guest took to come up."""

    def _start(self) -> None:
        super()._start()
        self.timeout = 3
        self.deadline = time.monotonic() + self.timeout


class Killed(launch.Run):
    """Its QEMU ends with the command's beginning."""

    def _start(self) -> None:
        super()._start()
        self.process.send_signal(signal.SIGKILL)


class Refused(launch.Run):
    """The guest's driver reports that it did not take the GPU."""

    def _start(self) -> None:
        self.driver = "failed"
        super()._start()


class Failing(Test):
    """Guests at fault, and wrong usage."""

    def says(self, error: bytes, pattern: str) -> str:
        """Check that there is one sentence that matches; return it."""
        lines = error.decode().strip().splitlines()
        self.assertEqual(len(lines), 1, error)
        self.assertRegex(lines[0], pattern)
        return lines[0]

    def test_panic(self) -> None:
        """A panic is an error that names the console log, and the log has the panic."""
        result = run("echo c > /proc/sysrq-trigger; sleep 1000", "--gpus", "0")
        self.assertEqual(result.returncode, 125)
        sentence = self.says(result.stderr, "^vgpu: the guest's kernel died: .*; console log: ")
        log = re.search(r"console log: (\S+)$", sentence)
        self.assertIsNotNone(log)
        self.assertIn("Kernel panic", Path(log[1]).read_text(errors="replace"))

    def test_hang(self) -> None:
        """A guest whose time is up is given up, in its boot or in its command."""
        result = vgpu("run", "--gpus", "0", "--timeout", "1", "--", "sleep", "1000")
        self.assertEqual(result.returncode, 124)
        self.says(result.stderr, r"^vgpu: the (guest|command) did not (come up|end) within 1 s .*console log: ")
        with self.assertRaisesRegex(Failure, r"^the command did not end within 3 s .*console log: ") as raised:
            Hanging(Guest(gpus=0), ["sleep", "1000"], launch.Streams()).execute()
        self.assertEqual(raised.exception.status, 124)

    def test_dead_qemu(self) -> None:
        """A QEMU that a signal ends without a word: the signal is named."""
        run = Killed(Guest(gpus=0), ["sleep", "1000"], launch.Streams())
        with self.assertRaisesRegex(Failure, "^QEMU ended with SIGKILL; console log: "):
            run.execute()
        self.assertRegex((run.folder / launch.FAILED).read_text(), "^QEMU ended with SIGKILL; console log: ")

    def test_failed_runs(self) -> None:
        """Each way to fail is in the file `failed`, on which the run's folder depends to stay."""
        streams = launch.Streams()
        refused = Refused(Guest(gpus=0), ["true"], streams)
        with self.assertRaisesRegex(Failure, "^the driver did not take the GPU; "):
            refused.execute()
        self.assertRegex((refused.folder / launch.FAILED).read_text(), "^the driver did not take the GPU; ")
        for words, said in ((["false"], "exit status 1\n"), (["true"], None)):
            run = launch.Run(Guest(gpus=0), words, streams)
            run.execute()
            failed = run.folder / launch.FAILED
            self.assertEqual(failed.read_text() if failed.exists() else None, said)

    def test_logs_stay(self) -> None:
        """The logs of a run that goes on outlast any number of later ones, those of the newest failed runs, too.

        The console of a guest that died early in a long test run was gone at its end.
        """
        with (
            tempfile.TemporaryDirectory() as name,
            mock.patch.object(launch, "RUNS", Path(name)),
            mock.patch.object(launch, "KEEP_FAILED", 1),
        ):
            runs = [launch.Run(Guest(gpus=0), ["true"], launch.Streams()) for _ in range(4)]
            for run in runs:
                run.console.touch()
            for run in runs[1:]:
                run.lock.close()
            for run in runs[2:]:
                (run.folder / launch.FAILED).touch()
            for _ in range(launch.KEEP_RUNS + 2):
                launch.Run(Guest(gpus=0), ["true"], launch.Streams())
            self.assertEqual([run.console.exists() for run in runs], [True, False, False, True])

    def test_wrong_usage(self) -> None:
        """One sentence and status 2 for what the launcher does not know or cannot find."""
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
            result = vgpu(*words)
            self.assertEqual(result.returncode, 2, words)
            self.says(result.stderr, "^vgpu: ")

    def test_bad_device_option(self) -> None:
        """What QEMU refuses is said in QEMU's words."""
        result = run("true", "--device-opts", "no-such-property=1")
        self.assertEqual(result.returncode, 125)
        self.says(result.stderr, "^vgpu: QEMU ended with .*no-such-property")
