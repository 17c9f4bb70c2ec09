# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests the sleep states that only the host can end: suspend-to-idle (by a key) and hibernation (by
a new QEMU).
"""

import socket
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from launcher import GuestTest
from vgpu_tools.guest import agent
from vgpu_tools.guest.config import Guest
from vgpu_tools.guest.session import Machine, Session

VRAM, MEMORY = "128M", {"release": "512M", "debug": "1G"}
SWAP_BYTES = 1 << 30
TYPE_SECONDS = 0.5  # time between two newlines


class Sleep(GuestTest):
    """vgpu-test-suspend with BOs, a busy queue and SVM memory. The device loses its VRAM at
    every reset."""

    timeout = 840

    def sleeper(self, append: str = "", qemu_args: Sequence[str] = ()) -> Guest:
        """Return the options of a guest for the tests of sleep states. The guest's device loses
        its VRAM at every reset."""
        kernel = self.settings.kernel
        return Guest(
            vram=VRAM,
            memory=MEMORY[kernel],
            kernel=kernel,
            append=f"{append} {self.settings.append}",
            device_opts="vram-lost-on-reset=on",
            qemu_args=list(qemu_args),
        )

    def lines(self, session: Session) -> list[str]:
        """Return the program's output so far: the line "sleeps" before each sleep, "awake" after it."""
        return session.output.decode().splitlines()

    def end(self, machine: Machine, session: Session) -> None:
        machine.send(agent.STDIN)
        machine.until(lambda: session.status is not None, "the command's end")
        self.assertEqual((session.status, session.errors), (0, b""), session.output)
        self.assertEqual(self.lines(session), ["sleeps", "awake"] * self.settings.rounds)
        self.assertEqual(machine.complaint(), "")

    def test_idle(self) -> None:
        """Catches: memory is lost, or a queue is stuck, after suspend-to-idle."""
        with tempfile.TemporaryDirectory() as name:
            session, keyboard = self.session(), f"{name}/tty"
            with self.machine(session, Path(name), self.sleeper(), keyboard=keyboard) as machine:
                machine.run("vgpu-test-suspend", "freeze")
                for _ in range(self.settings.rounds):
                    machine.send(agent.STDIN, b"\n")
                    machine.rounds(1)
                    self.wake(machine, session, keyboard)
                self.end(machine, session)

    def wake(self, machine: Machine, session: Session, keyboard: str) -> None:
        """Send newlines to the console until the guest is awake. The program prints "sleeps" before
        the guest sleeps, and the host cannot see when the guest does so. A newline that arrives
        too early has no effect."""
        until = time.monotonic() + self.settings.limit
        while self.lines(session)[-1] == "sleeps" and session.status is None:
            self.assertLess(time.monotonic(), until, "the guest does not wake up")
            # Connect only for a moment. A connected client that does not read the console's output
            # would block the guest when the guest writes to the console.
            with socket.socket(socket.AF_UNIX) as typist:
                typist.connect(keyboard)
                typist.send(b"\n")
            time.sleep(TYPE_SECONDS)
            machine.drain()

    def test_disk(self) -> None:
        """Catches: memory is lost, or a queue is stuck, after hibernation. A new QEMU resumes from the disk each
        time."""
        with tempfile.TemporaryDirectory() as name:
            folder, session = Path(name), self.session()
            swap = folder / "swap"
            with swap.open("wb") as file:
                file.truncate(SWAP_BYTES)
            disk = ["-drive", f"file={swap},if=none,id=swap,format=raw", "-device", "virtio-blk-pci,drive=swap"]
            prepare = "mkswap /dev/vda >/dev/null && swapon /dev/vda"
            for round_ in range(self.settings.rounds + 1):
                guest = self.sleeper("resume=/dev/vda" if round_ else "", disk)
                with self.machine(session, folder, guest, f"boot{round_}") as machine:
                    if round_:
                        machine.rounds(1)
                    else:
                        machine.run("sh", "-c", f"{prepare} && exec vgpu-test-suspend disk")
                    if round_ == self.settings.rounds:
                        self.end(machine, session)
                        break
                    machine.send(agent.STDIN, b"\n")
                    machine.process.wait(self.settings.limit)
                    machine.drain()
                    self.assertEqual(self.lines(session)[-1], "sleeps", session.output)
                    self.assertEqual(machine.complaint(), "")
