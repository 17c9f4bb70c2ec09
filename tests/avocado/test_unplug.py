# SPDX-License-Identifier: GPL-2.0-or-later
"""The host takes the GPU away while processes use it, and gives another one: by the slot's button, and without a word.

Would catch a guest that crashes, hangs or leaks, SVM data that is lost without need or without a signal, and a device
that leaves something behind in QEMU.
"""

import tempfile
import time
from pathlib import Path

from launcher import GuestTest
from vgpu_tools.guest import agent
from vgpu_tools.guest.config import Guest
from vgpu_tools.guest.session import Machine

VRAM = 256 << 20
NATIVE = "pcie_ports=native"  # our kernel asks for no control, as it has no ASPM


class Unplug(GuestTest):
    """vgpu-test-unplug's load, and QMP's device_del and device_add."""

    timeout = 840

    def test_button(self) -> None:
        """The guest is asked first: nothing is lost."""
        self.campaign("button")

    def test_surprise(self) -> None:
        """The device does not answer any more, then it is taken away."""
        self.campaign("surprise")

    def campaign(self, how: str) -> None:
        """Rounds of both."""
        with tempfile.TemporaryDirectory() as name:
            session = self.session()
            append = f"{NATIVE} {self.settings.append}"
            guest = Guest(vram=f"{VRAM}", append=append, kernel=self.settings.kernel)
            with self.machine(session, Path(name), guest) as machine:
                machine.run("vgpu-test-unplug", how)
                for round_ in range(self.settings.rounds):
                    if round_:
                        machine.send(agent.STDIN, b"\n")
                    self.line(machine, "working")
                    if how == "surprise":
                        machine.monitor.inject("surprise-removal", device="gpu0")
                    self.take(machine)
                    self.line(machine, "gone")
                    machine.monitor.cmd("device_add", driver="vgpu-kfd", id="gpu0", bus="port0", vram=VRAM)
                    self.line(machine, "back")
                machine.send(agent.STDIN)
                machine.until(lambda: session.status is not None, "the command's end")
                self.assertEqual(session.status, 0, session.output)
                # A device that went without an answer is an error, and said.
                if how == "button":
                    self.assertEqual(machine.complaint(), "")

    def line(self, machine: Machine, word: str) -> None:
        """The next line that the command prints."""
        machine.rounds(1)
        last = machine.session.output.decode().splitlines()[-1]
        self.assertEqual(last, word, machine.session.output.decode())

    def take(self, machine: Machine) -> None:
        """Take the device away, and wait until it is gone."""
        machine.monitor.cmd("device_del", id="gpu0")
        end = time.monotonic() + self.settings.limit
        while (left := end - time.monotonic()) > 0:
            event = machine.monitor.event(left)
            if event and event.name == "DEVICE_DELETED" and event.data.get("device") == "gpu0":
                return
            if event and event.name == "DEVICE_UNPLUG_GUEST_ERROR":
                self.fail(str(event))
        self.fail("no DEVICE_DELETED")
