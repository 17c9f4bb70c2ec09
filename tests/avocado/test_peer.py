# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests two GPUs of a hive that access each other's VRAM, in BOs or in shared virtual memory. Meanwhile the host takes
the link between the GPUs down, or removes one GPU by surprise."""

import tempfile
from pathlib import Path

from launcher import GuestTest
from vgpu_tools.guest import agent
from vgpu_tools.guest.config import Guest
from vgpu_tools.guest.session import Machine, Session


class Peer(GuestTest):
    """Runs vgpu-test-peer and vgpu-test-svm-peer on a hive of two GPUs, and injects link failures
    and the removal of a GPU."""

    timeout = 600

    def test_link(self) -> None:
        """Catches: an access or a mapping over a link that is down gives no error; an access fails after the link is up
        again."""
        self.link("vgpu-test-peer")

    def test_svm_link(self) -> None:
        """Catches: an access to shared virtual memory over a link that is down gives no error; memory is mapped over a
        link that is down; memory is not mapped over the link after it is up again."""
        self.link("vgpu-test-svm-peer")

    def link(self, program: str) -> None:
        """Take the link between the GPUs down and up again while a program accesses VRAM over
        the link."""
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
        """Catches: the driver crashes or hangs, or the remaining GPU does not work any more, after
        the other GPU is removed by surprise. (The remaining GPU writes to the VRAM of the other GPU
        during the removal.)"""
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
        """Return a machine with two GPUs of one hive, in slots with native hot plug."""
        append = f"pcie_ports=native {self.settings.append}"
        guest = Guest(gpus=2, hive=True, vram="128M", append=append, kernel=self.settings.kernel)
        return self.machine(session, folder, guest, "peer")

    def end(self, machine: Machine, words: str) -> None:
        """Fail the test unless the command exits with 0 and its whole output is `words`. White space may differ."""
        session = machine.session
        machine.until(lambda: session.status is not None, "the command's end")
        self.assertEqual((session.status, session.output.decode().split()), (0, words.split()), session.errors)
