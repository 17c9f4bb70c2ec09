# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests page faults that the device loses, repeats, delays or invents, and early acknowledgements
of TLB invalidations.

Catches: an injected fault kills a process.
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

LATE = 20_000_000  # delay of an interrupt entry, in ns
EARLY = 10_000_000_000  # ns between acknowledgement and invalidation; longer than the test
FREE_VMID = 15  # the highest VMID: no process has it, because the driver assigns the lowest free VMID


class Faults(GuestTest):
    """Runs vgpu-svm-loop, which checks every byte that the GPU copies or reads, while the device
    injects faults."""

    timeout = 600

    def test_lost(self) -> None:
        """Catches: a queue stalls for good after a lost fault, although the engine raises the fault again after 5 s."""
        self.disturbed("fault-drop", probability=0.05, count=3)

    def test_duplicate(self) -> None:
        """Catches: a process is killed, or its queue stalls, because of a duplicate interrupt entry of a fault."""
        self.disturbed("fault-duplicate")

    def test_delayed(self) -> None:
        """Catches: if the interrupt entry of a fault arrives after the entries of later faults, the fault is lost, or
        the driver denies the fault."""
        self.disturbed("fault-delay", probability=0.5, **{"delay-ns": LATE})

    def test_truncated(self) -> None:
        """Catches: a process is killed because of a spurious fault at a page beyond the end of a truncated file."""
        with self.loop("truncate") as machine:
            vmid, start, length = self.vmid(machine), *self.memory(machine)
            for _ in range(20):
                self.spurious(machine, 1, vmid=vmid, va=start, length=length, retry=True)
                # After a truncation, the driver ignores one fault that it cannot repair. The next such fault would
                # stop the queues. So wait until the program has truncated the file again.
                machine.rounds(1)

    def test_spurious(self) -> None:
        """Catches: a process is killed, or its queue stalls, because of a spurious fault in its VMID or in a VMID
        without a process."""
        with self.loop("copy") as machine:
            vmid, start, length = self.vmid(machine), *self.memory(machine)
            for write in (False, True):
                self.spurious(machine, 8, vmid=vmid, va=start, length=length, write=write, retry=True)
                for retry in (False, True):
                    self.spurious(machine, 8, vmid=FREE_VMID, length=1 << 47, write=write, retry=retry)

    def spurious(self, machine: Machine, count: int, **members: object) -> None:
        """Inject `count` spurious faults, which the device raises without delay. Then wait until
        the program reports one more round."""
        machine.monitor.inject("fault-spurious", count=count, **members)
        machine.drain()
        machine.rounds(1)

    def memory(self, machine: Machine) -> tuple[int, int]:
        """Return address and size of the program's memory, from the first line that the program printed."""
        words = machine.session.output.decode().splitlines()[0].replace(",", "").split()
        return int(words[2], 0), int(words[3], 0)

    def test_early_acknowledge(self) -> None:
        """Catches: vgpu-svm-loop does not detect a stale translation if the device acknowledges an invalidation too
        early."""
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
        """Run vgpu-svm-loop with an injection until the injection has fired three times. Then run two rounds without
        the injection."""
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
        """Run vgpu-svm-loop during the `with` block. Then check that the program exits with 0,
        without errors from the program or the guest's kernel."""
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
        """Run a new guest with one GPU during the `with` block."""
        with (
            tempfile.TemporaryDirectory() as name,
            self.machine(session, Path(name), Guest(vram="64M", memory="512M")) as machine,
        ):
            yield machine

    def vmid(self, machine: Machine) -> int:
        """Return the VMID of the only process with mapped queues."""
        (vmid,) = {one.vmid for one in machine.monitor.devices()[0].vmids if one.pasid}
        return vmid
