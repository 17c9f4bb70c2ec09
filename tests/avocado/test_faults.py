# SPDX-License-Identifier: GPL-2.0-or-later
"""Faults that get lost, come twice, late, or that nobody has; invalidations that are acknowledged too early.

Would catch a fault that is lost for ever, one that is taken for another, a process that pays for what it has not done,
and a test that does not see what an early acknowledge does.
"""

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from launcher import GuestTest
from vgpu_tools.guest import agent
from vgpu_tools.guest.config import Guest
from vgpu_tools.guest.session import Machine, Session

LATE = 20_000_000  # ns, by which an entry comes later
EARLY = 10_000_000_000  # ns, by which an acknowledge is early: longer than the test
NOBODY = 15  # VMID: the driver gives out the lowest first


class Faults(GuestTest):
    """vgpu-svm-loop compares every byte."""

    timeout = 600

    def test_lost(self) -> None:
        """The engine sends it again, after 5 s."""
        self.disturbed("fault-drop", probability=0.05, count=3)

    def test_duplicate(self) -> None:
        """Every one comes twice."""
        self.disturbed("fault-duplicate")

    def test_delayed(self) -> None:
        """Each second one comes behind others."""
        self.disturbed("fault-delay", probability=0.5, **{"delay-ns": LATE})

    def test_truncated(self) -> None:
        """It comes when the file has lost the page: the process is not to blame, unless an engine insists."""
        with self.loop("truncate") as machine:
            vmid, start, length = self.vmid(machine), *self.memory(machine)
            for _ in range(20):
                self.spurious(machine, 1, vmid=vmid, va=start, length=length, retry=True)

    def test_spurious(self) -> None:
        """Of memory that the process has, in its VMID; and of anything, in one that nobody has."""
        with self.loop("copy") as machine:
            vmid, start, length = self.vmid(machine), *self.memory(machine)
            for write in (False, True):
                self.spurious(machine, 8, vmid=vmid, va=start, length=length, write=write, retry=True)
                for retry in (False, True):
                    self.spurious(machine, 8, vmid=NOBODY, length=1 << 47, write=write, retry=retry)

    def spurious(self, machine: Machine, count: int, **members: object) -> None:
        """Some at once, and a round that ends after that."""
        machine.monitor.inject("fault-spurious", count=count, **members)
        machine.drain()
        machine.rounds(1)

    def memory(self, machine: Machine) -> tuple[int, int]:
        """Where the program says that its memory is, and how much."""
        words = machine.session.output.decode().splitlines()[0].replace(",", "").split()
        return int(words[2], 0), int(words[3], 0)

    def test_early_acknowledge(self) -> None:
        """Is seen as what another page holds; without it all is well."""
        session = self.session()
        with self.alone(session) as machine:
            machine.run("vgpu-svm-loop", "exchange")
            machine.rounds(3)
            machine.monitor.inject("inv-early-ack", **{"vmid": self.vmid(machine), "delay-ns": EARLY})
            machine.until(lambda: session.status is not None, "the command's end")
            self.assertEqual(session.status, 1)
            self.assertIn(b"should be", session.errors)
            self.assertEqual(machine.complaint(), "")

    def disturbed(self, kind: str, **members: object) -> None:
        """Some rounds with it, some without."""
        with self.loop("copy") as machine:
            number = machine.monitor.inject(kind, **members)
            until = time.monotonic() + self.settings.limit
            while (fired := machine.monitor.devices()[0].injections[0].fired) < 3:
                self.assertLess(time.monotonic(), until, f"{fired} of {kind}")
                machine.rounds(1)
            machine.monitor.remove_injection(number)
            machine.drain()
            machine.rounds(2)

    @contextmanager
    def loop(self, what: str) -> Iterator[Machine]:
        """The program at work. It must end well, and nobody's fault may have been denied."""
        session = self.session()
        with self.alone(session) as machine:
            machine.run("vgpu-svm-loop", what)
            machine.rounds(2)
            yield machine
            machine.send(agent.STDIN)
            machine.until(lambda: session.status is not None, "the command's end")
            self.assertEqual((session.status, session.errors), (0, b""))
            self.assertEqual(machine.complaint(), "")

    @contextmanager
    def alone(self, session: Session) -> Iterator[Machine]:
        """A guest of its own."""
        with (
            tempfile.TemporaryDirectory() as name,
            self.machine(session, Path(name), Guest(vram="64M", memory="512M")) as machine,
        ):
            yield machine

    def vmid(self, machine: Machine) -> int:
        """Of the only process with queues on the hardware."""
        (vmid,) = {one.vmid for one in machine.monitor.devices()[0].vmids if one.pasid}
        return vmid
