# SPDX-License-Identifier: GPL-2.0-or-later
"""Unplugs the GPU while processes use it: by the slot's button, by surprise, or by the power of its slot.

After the button and the surprise, another GPU is plugged in. The driver is also unbound from a GPU whose hub hangs.

Catches: the guest crashes, hangs or leaks; a resource of the removed GPU stays allocated in QEMU.
"""

import tempfile
import time
from pathlib import Path

from launcher import GuestTest
from vgpu_tools.guest import agent
from vgpu_tools.guest.config import Guest
from vgpu_tools.guest.session import Machine

VRAM = 256 << 20
NATIVE = "pcie_ports=native"  # because a kernel without ASPM does not request control of hot plug by _OSC
VMIDS = 16  # number of VMIDs of a hub
# Unbinds and binds the driver, each after a line of input. Prints a line before each, and the kernel's log at the end.
UNBIND = """
set -e
cd /sys/bus/pci/drivers/vgpu_kfd
gpu=$(echo 0*)
echo bound
read -r go
echo "$gpu" >unbind
echo unbound
read -r go
echo "$gpu" >bind
dmesg
"""


class Unplug(GuestTest):
    """Runs vgpu-test-unplug in the guest, and unplugs and plugs in the GPU with QMP's device_del
    and device_add."""

    timeout = 840

    def test_button(self) -> None:
        """Catches: an unplug by the button loses data. (QEMU removes the GPU only after the guest has
        released the GPU, so the driver has time to save the data.)"""
        self.campaign("button")

    def test_surprise(self) -> None:
        """Catches: the guest crashes, hangs or leaks when the device stops responding and is unplugged; a process reads
        wrong SVM data instead of getting SIGBUS. (A surprise removal may lose SVM data.)"""
        self.campaign("surprise")

    def test_slot_power(self) -> None:
        """Catches: an access to a BAR that waits for the BQL while the guest switches off the power of the GPU's
        slot reaches the unrealized device; QEMU crashes or writes freed memory."""
        guest = Guest(vram=f"{VRAM}", append=f"{NATIVE} {self.settings.append}", kernel=self.settings.kernel)
        for _ in range(self.settings.rounds):
            output = self.succeeds(guest, "vgpu-slot-off")
            self.assertEqual(output, b"the GPU is gone\n")

    def campaign(self, how: str) -> None:
        """Run rounds in which the GPU is unplugged (`how`: "button" or "surprise") and a new GPU
        is plugged in."""
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
                # Check the console only after orderly removals, because the kernel logs a surprise
                # removal as an error.
                if how == "button":
                    self.assertEqual(machine.complaint(), "")

    def line(self, machine: Machine, word: str) -> None:
        """Wait for the next line of the command's output. Check that the line is `word`."""
        machine.rounds(1)
        last = machine.session.output.decode().splitlines()[-1]
        self.assertEqual(last, word, machine.session.output.decode())

    def take(self, machine: Machine) -> None:
        """Unplug the device, and wait for QEMU's event DEVICE_DELETED."""
        machine.monitor.cmd("device_del", id="gpu0")
        end = time.monotonic() + self.settings.limit
        while (left := end - time.monotonic()) > 0:
            event = machine.monitor.event(left)
            if event and event.name == "DEVICE_DELETED" and event.data.get("device") == "gpu0":
                return
            if event and event.name == "DEVICE_UNPLUG_GUEST_ERROR":
                self.fail(str(event))
        self.fail("no DEVICE_DELETED")


class HungHub(GuestTest):
    """Unbinds the driver from an idle GPU whose GFX hub does not acknowledge invalidations. The kernel's log has a line
    for each TLB flush that is not acknowledged in time."""

    timeout = 600

    def test_reset(self) -> None:
        """Catches: the removal's first TLB flush fails when the driver accepts no recovery any more. Then the device is
        not reset, and memory is freed although the hub may still use old translations."""
        log, fired = self.unbind(count=1)
        self.assertEqual(fired, 1)
        self.assertEqual(log.count("did not invalidate"), 1, log)
        self.assertEqual(log.count("device was reset, VRAM kept"), 1, log)

    def test_given_up(self) -> None:
        """Catches: every TLB flush of the removal waits for the hub. Only two may wait: the first flush, of VMID 0, and
        the flush of all VMIDs in the reset, which fails."""
        log, fired = self.unbind()
        self.assertEqual(fired, 1 + VMIDS)
        self.assertEqual(log.count("did not invalidate"), 2, log)
        self.assertEqual(log.count("device cannot be recovered"), 1, log)

    def unbind(self, **members: object) -> tuple[str, int]:
        """Unbind the driver while the GFX hub hangs (`members`: arguments of the injection), then bind the driver
        again. Return the kernel's log, and the number of suppressed acknowledgements."""
        session = self.session()
        guest = Guest(vram="64M", memory="512M", append=self.settings.append, kernel=self.settings.kernel)
        with tempfile.TemporaryDirectory() as name, self.machine(session, Path(name), guest) as machine:
            machine.run("sh", "-c", UNBIND)
            machine.rounds(1)
            number = machine.monitor.inject("inv-no-ack", hub="gfx", **members)
            machine.send(agent.STDIN, b"\n")
            machine.rounds(1)
            fired = machine.monitor.devices()[0].injections[0].fired
            machine.monitor.remove_injection(number)
            machine.send(agent.STDIN, b"\n")
            machine.until(lambda: session.status is not None, "the command's end")
            self.assertEqual(session.status, 0, session.errors)
            self.assertEqual(machine.complaint(), "")
        return session.output.decode(), fired
