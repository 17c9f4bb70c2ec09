# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests ./vgpu inject, stats and trace: their QMP commands and their output. The tests' QEMU runs
no guest."""

import json
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from avocado import Test

from launcher import ROOT, GuestTest, hear_interrupts
from vgpu_tools.base.errors import Failure
from vgpu_tools.build import qemu
from vgpu_tools.guest import qmp
from vgpu_tools.operate import inject
from vgpu_tools.trace import perfetto

SECONDS = 30  # limit of each wait, on the reference machine


class Values(Test):
    """inject.value(), which converts the VALUE of a KEY=VALUE."""

    def test_values(self) -> None:
        """Catches: a size, an address or a probability is read as another number; a text that is
        no value is accepted."""
        for text, want in (("7", 7), ("0x1000", 4096), ("4K", 4096), ("0.25", 0.25), ("true", True), ("false", False)):
            self.assertEqual(inject.value("key", text), want, text)
        with self.assertRaises(Failure):
            inject.value("key", "lots")


class Operator(GuestTest):
    """A QEMU with two vgpu-kfd devices. The vCPUs stay stopped (-S)."""

    @property
    def seconds(self) -> float:
        """The limit of each wait, in seconds."""
        return SECONDS * self.settings.factor

    def setUp(self) -> None:
        """Start the machine."""
        self.folder = tempfile.TemporaryDirectory()
        self.socket = Path(self.folder.name) / "qmp"
        self.start()

    def start(self, *more: str) -> None:
        command: list[str | Path] = [qemu.with_firmware(), "-machine", "q35", "-nodefaults", "-display", "none", "-S"]
        command += ["-device", "vgpu-kfd,id=gpu0,vram=64M", "-device", "vgpu-kfd,id=gpu1,vram=64M"]
        command += ["-qmp", f"unix:{self.socket},server=on,wait=off", *more]
        self.errors = (Path(self.folder.name) / "log").open("wb")
        self.qemu = subprocess.Popen(command, stderr=self.errors, stdin=subprocess.DEVNULL)
        self.until(lambda: qmp.alive(self.socket), "QEMU listens at its socket")

    def until(self, holds: Callable[[], bool], what: str) -> None:
        """Wait until `holds()` is true. `what` names the condition in the message of a failure."""
        end = time.monotonic() + self.seconds
        while not holds():
            self.assertIsNone(self.qemu.poll(), f"QEMU ended before {what}")
            self.assertLess(time.monotonic(), end, f"not within {self.seconds:g} s: {what}")
            time.sleep(0.05)

    def stop(self) -> None:
        """End the machine."""
        self.qemu.kill()
        self.qemu.wait()
        self.errors.close()
        self.socket.unlink(missing_ok=True)

    def tearDown(self) -> None:
        self.stop()
        self.folder.cleanup()

    def call(self, *words: str, status: int = 0) -> str:
        result = self.vgpu(*words, "--qmp", str(self.socket))
        self.assertEqual(result.returncode, status, (words, result.stderr))
        return (result.stdout if not status else result.stderr).decode()

    def test_inject(self) -> None:
        """Catches: the device gets another argument than the user gave; an injection is not listed; an injection is not
        removed."""
        number = self.call(
            "inject", "pte-late", "device=gpu1", "vmid=3", "va=0x1000", "length=4K", "probability=0.5", "walks=2"
        ).strip()
        (injection,) = [entry for device in json.loads(self.call("stats", "--json")) for entry in device["injections"]]
        self.assertEqual(str(injection["id"]), number)
        self.assertEqual(
            injection["injection"],
            {
                "kind": "pte-late",
                "device": "gpu1",
                "vmid": 3,
                "va": 4096,
                "length": 4096,
                "probability": 0.5,
                "walks": 2,
            },
        )
        self.assertIn(f"{number} gpu1: pte-late", self.call("inject"))
        self.call("inject", "remove", number)
        self.assertEqual(self.call("inject"), "")

    def test_inject_start(self) -> None:
        """Catches: a kind of injection refuses start= (the old name of va=), or length= together with start=."""
        kinds = ["pte-lost", "sdma-hang", "sdma-wrong-byte", "doorbell-lost", "fault-drop", "fault-spurious"]
        kinds += ["ih-overflow", "inv-no-ack", "vram-lost", "vram-poison", "xgmi-down"]
        for kind in kinds:
            self.call("inject", kind, "device=gpu0", "start=0x1000", "length=4K")
        for kind, line in zip(kinds, self.call("inject").splitlines(), strict=True):
            self.assertIn(f" {kind} ", line)
            self.assertIn(" length=4096 start=4096", line)

    def test_refusals(self) -> None:
        """Catches: a refusal has more than one line, does not name the error, or has a wrong exit status."""
        for words, status, said in (
            (["inject", "pte-lots", "device=gpu0"], 2, "there are pte-corrupt"),
            (["inject", "pte-lost"], 1, "several vgpu-kfd devices"),
            (["inject", "pte-lost", "device=gpu0", "vmid=16"], 1, "vmid must be below 16"),
            (["inject", "pte-lost", "device=gpu0", "walks=1"], 1, "walks"),
            (["inject", "pte-lost", "device=gpu0", "va=0", "start=0"], 1, "start is an old name of va"),
            (["inject", "pte-lost", "vmid"], 2, "want KEY=VALUE"),
            (["inject", "remove", "77"], 1, "no injection 77"),
        ):
            answer = self.call(*words, status=status)
            self.assertIn(said, answer)
            self.assertEqual(len(answer.splitlines()), 1, answer)
        self.assertIn("no such socket", self.vgpu("stats", "--qmp", "/nonexistent").stderr.decode())

    def test_stats(self) -> None:
        """Catches: a device is missing in the text that ./vgpu stats prints."""
        said = self.call("stats")
        self.assertIn("gpu0: 64 MiB", said)
        self.assertIn("gpu1: 64 MiB", said)

    def test_trace(self) -> None:
        """Catches: an enabled event is not printed; an event that is not enabled is printed; an event stays enabled
        after Ctrl-C."""
        self.assertIn("vgpu_inject", self.call("trace"))
        command: list[str | Path] = [ROOT / "vgpu", "trace", "vgpu_inject", "--qmp", self.socket]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=hear_interrupts
        ) as follower:
            assert follower.stdout and follower.stderr
            # If no line arrives, end the follower, so that readline() returns.
            silence = threading.Timer(2 * self.seconds, follower.kill)
            silence.start()
            try:
                self.assertIn(b"following", follower.stderr.readline())
                self.assertIn("on", self.state())
                self.call("inject", "fault-spurious", "device=gpu0", "vmid=3", "va=0x5000")
                line = follower.stdout.readline().decode()
                silence.cancel()
                follower.send_signal(signal.SIGINT)
                said = line + follower.communicate(timeout=self.seconds)[0].decode()
            finally:
                silence.cancel()
                follower.kill()
        self.assertIn("kind=fault-spurious", line)
        self.assertNotIn("vgpu_fault", said)
        self.assertIn("off", self.state())

    def test_timeline(self) -> None:
        """Catches: a fault is missing in the timeline; a timeline is written although QEMU
        prints no time stamps."""
        path = Path(self.folder.name) / "trace"
        self.assertIn("timestamp=on", self.call("trace", "-o", str(path), "--seconds", "1", status=1))
        self.stop()
        self.start("-msg", "timestamp=on")
        command: list[str | Path] = [ROOT / "vgpu", "trace", "-o", path, "--qmp", self.socket]
        with subprocess.Popen(command, stderr=subprocess.PIPE, preexec_fn=hear_interrupts) as follower:
            assert follower.stderr
            silence = threading.Timer(2 * self.seconds, follower.kill)
            silence.start()
            try:
                self.assertIn(b"following", follower.stderr.readline())
                self.call("inject", "fault-spurious", "device=gpu1", "vmid=3", "va=0x5000")
                follower.send_signal(signal.SIGINT)
                said = follower.communicate(timeout=self.seconds)[1].decode()
            finally:
                silence.cancel()
                follower.kill()
        (fault,) = [piece for piece in perfetto.read(path) if piece.category == "fault"]
        self.assertEqual((fault.process, fault.thread, fault.name), ("gpu1", "of no queue", "fault 0x5000 read"), said)

    def state(self, event: str = "vgpu_inject ") -> str:
        """Return the line that begins with `event` in the output of ./vgpu trace: the event's name, and "on" or
        "off"."""
        lines = self.vgpu("trace", "--qmp", str(self.socket)).stdout.decode().splitlines()
        return "".join(line for line in lines if line.startswith(event))
