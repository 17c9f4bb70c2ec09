# SPDX-License-Identifier: GPL-2.0-or-later
"""The host takes the GPU away while processes use it, and gives another one: by the slot's button, and without a word.

Would catch a guest that crashes, hangs or leaks, SVM data that is lost without need or without a signal, and a device
that leaves something behind in QEMU.
"""

import tempfile
import time
from pathlib import Path

from avocado import Test

from settings import APPEND, KERNEL, ROUND_LIMIT, ROUNDS
from vgpu_tools.guest import agent
from vgpu_tools.guest.config import Guest
from vgpu_tools.guest.session import LIMIT, Machine, Session

VRAM = 256 << 20
NATIVE = "pcie_ports=native"  # our kernel asks for no control, as it has no ASPM


class Unplug(Test):
    """vgpu-test-unplug's load, and QMP's device_del and device_add."""

    timeout = 600 + ROUND_LIMIT * ROUNDS

    def test_button(self) -> None:
        """The guest is asked first: nothing is lost."""
        self.campaign("button")

    def test_surprise(self) -> None:
        """The device does not answer any more, then it is taken away."""
        self.campaign("surprise")

    def campaign(self, how: str) -> None:
        """Rounds of both."""
        with tempfile.TemporaryDirectory() as name:
            session = Session()
            guest = Guest(vram=f"{VRAM}", append=f"{NATIVE} {APPEND}", kernel=KERNEL)
            with Machine(session, Path(name), "only", guest) as machine:
                machine.run("vgpu-test-unplug", how)
                for round_ in range(ROUNDS):
                    if round_:
                        machine.send(agent.STDIN, b"\n")
                    self.line(machine, "working")
                    if how == "surprise":
                        machine.qmp.cmd("vgpu-inject", **{"kind": "surprise-removal", "device": "gpu0"})
                    self.take(machine)
                    self.line(machine, "gone")
                    machine.qmp.cmd("device_add", driver="vgpu-kfd", id="gpu0", bus="port0", vram=VRAM)
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
        machine.qmp.cmd("device_del", id="gpu0")
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            event = machine.qmp.pull_event(wait=LIMIT)
            if event and event["event"] == "DEVICE_DELETED" and event["data"].get("device") == "gpu0":
                return
            if event and event["event"] == "DEVICE_UNPLUG_GUEST_ERROR":
                self.fail(event)
        self.fail("no DEVICE_DELETED")
