# SPDX-License-Identifier: GPL-2.0-or-later
"""The guest sleeps where it cannot wake itself: to idle, until somebody types, and to disk, until another QEMU boots.

Would catch what vgpu-test-suspend would (it is what runs), and a driver that takes the device for what it was before
it lost its power.
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
TYPE_SECONDS = 0.5


class Sleep(GuestTest):
    """vgpu-test-suspend with BOs, a queue at work and SVM memory in a VRAM that every reset clears."""

    timeout = 840

    def sleeper(self, append: str = "", qemu_args: Sequence[str] = ()) -> Guest:
        """A machine that can sleep."""
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
        """What the program has printed."""
        return session.output.decode().splitlines()

    def end(self, machine: Machine, session: Session) -> None:
        """The program ends well, and the kernel had nothing to say."""
        machine.send(agent.STDIN)
        machine.until(lambda: session.status is not None, "the command's end")
        self.assertEqual((session.status, session.errors), (0, b""), session.output)
        self.assertEqual(self.lines(session), ["sleeps", "awake"] * self.settings.rounds)
        self.assertEqual(machine.complaint(), "")

    def test_idle(self) -> None:
        """A key wakes it."""
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
        """Nobody sees from outside whether it sleeps yet: type until it is awake."""
        until = time.monotonic() + self.settings.limit
        while self.lines(session)[-1] == "sleeps" and session.status is None:
            self.assertLess(time.monotonic(), until, "it does not wake up")
            # Not for longer: what the console says to us has to be read, or the guest waits.
            with socket.socket(socket.AF_UNIX) as typist:
                typist.connect(keyboard)
                typist.send(b"\n")
            time.sleep(TYPE_SECONDS)
            machine.drain()

    def test_disk(self) -> None:
        """Each time another QEMU goes on with what the last one left on a disk."""
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
