# SPDX-License-Identifier: GPL-2.0-or-later
"""What the host does to GPUs that reach each other's VRAM: the link of a hive goes down, the owner goes without a word.

BOs (vgpu-test-peer) and shared virtual memory (vgpu-test-svm-peer).

Would catch a peer whose writes go nowhere and nobody is told, a mapping over a link that is down, and a guest that does
not survive a peer that is gone.
"""

import tempfile
from pathlib import Path

from launcher import GuestTest
from vgpu_tools.guest import agent
from vgpu_tools.guest.config import Guest
from vgpu_tools.guest.session import Machine, Session


class Peer(GuestTest):
    """The host's halves, on a hive of two."""

    timeout = 600

    def test_link(self) -> None:
        """The link goes down and comes up again."""
        self.link("vgpu-test-peer")

    def test_svm_link(self) -> None:
        """The same, under shared virtual memory."""
        self.link("vgpu-test-svm-peer")

    def link(self, program: str) -> None:
        """The link goes down and comes up again while a program uses it."""
        with tempfile.TemporaryDirectory() as name:
            session = self.session()
            with self.pair(session, Path(name)) as machine:
                machine.run(program, "link")
                machine.rounds(1)
                number = machine.monitor.inject("xgmi-down", device="gpu1", count=1)
                machine.send(agent.STDIN, b"\n")
                machine.rounds(1)
                machine.monitor.remove_injection(number)
                machine.send(agent.STDIN, b"\n")
                self.end(machine, "linked down up")
                self.assertEqual(machine.complaint(), "")

    def test_surprise(self) -> None:
        """The owner does not answer any more, then it is taken away."""
        with tempfile.TemporaryDirectory() as name:
            session = self.session()
            with self.pair(session, Path(name)) as machine:
                machine.run("vgpu-test-peer", "surprise")
                machine.rounds(1)
                machine.monitor.inject("surprise-removal", device="gpu0")
                machine.monitor.cmd("device_del", id="gpu0")
                machine.send(agent.STDIN, b"\n")
                self.end(machine, "working gone")

    def pair(self, session: Session, folder: Path) -> Machine:
        """Two GPUs, which the slots may take away."""
        append = f"pcie_ports=native {self.settings.append}"
        guest = Guest(gpus=2, hive=True, vram="128M", append=append, kernel=self.settings.kernel)
        return self.machine(session, folder, guest, "peer")

    def end(self, machine: Machine, words: str) -> None:
        """The command ends well, having printed this."""
        session = machine.session
        machine.until(lambda: session.status is not None, "the command's end")
        self.assertEqual((session.status, session.output.decode().split()), (0, words.split()), session.errors)
