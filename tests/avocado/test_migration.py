# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests migration and snapshots of a guest whose GPU is busy.

Catches: state of the device is not saved; dirty memory is not sent; an engine of the source still runs after the
migration."""

import copy
import tempfile
from pathlib import Path

from launcher import GuestTest
from vgpu_tools.guest import agent
from vgpu_tools.guest.config import Guest
from vgpu_tools.guest.session import Machine

VRAM, MEMORY = "256M", "512M"


class Migration(GuestTest):
    """Migration of a guest in which vgpu-copy-loop copies memory, causes faults and compares the
    data."""

    def test_to_file_and_live(self) -> None:
        """Catches: a migration to a file and back, or a live migration to another QEMU, loses state or memory."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            state, live = f"file:{folder}/state", f"unix:{folder}/live"
            guest = Guest(vram=VRAM, memory=MEMORY)
            session = self.session()
            with self.machine(session, folder, guest, "first") as first:
                first.run("vgpu-copy-loop")
                first.rounds(2)
                first.migrate(state)
                self.assertEqual(first.complaint(), "")
            with self.machine(session, folder, guest, "second", state) as second:
                second.rounds(2)
                with self.machine(session, folder, guest, "third", live) as third:
                    second.migrate(live)
                    self.assertEqual(second.complaint(), "")
                    third.rounds(2)
                    third.send(agent.STDIN)
                    third.until(lambda: session.status is not None, "the command's end")
                    self.assertEqual(third.complaint(), "")
            self.assertEqual((session.status, session.errors), (0, b""))
            numbers = [int(line.split()[1]) for line in session.output.splitlines()]
            self.assertEqual(numbers, list(range(1, len(numbers) + 1)))


class Snapshot(GuestTest):
    """snapshot-load in a running QEMU: the device must drop all state that is newer than the snapshot."""

    def test_save_and_load(self) -> None:
        """Catches: snapshot-load on a busy GPU does not replace all state of the device and all memory."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            session = self.session()
            guest = Guest(vram=VRAM, memory=MEMORY)
            with self.machine(session, folder, guest) as machine:
                node = self.disk(machine, folder)
                machine.run("vgpu-copy-loop")
                machine.rounds(2)
                machine.pause()
                machine.snapshot("snapshot-save", node)
                saved = copy.deepcopy(session)
                for _ in range(2):
                    machine.monitor.cmd("cont")
                    machine.rounds(2)
                    machine.pause()
                    machine.snapshot("snapshot-load", node)
                    # Forget the frames that arrived since the snapshot, because the restored guest
                    # sends them again.
                    machine.session = session = copy.deepcopy(saved)
                machine.monitor.cmd("cont")
                machine.rounds(2)
                machine.send(agent.STDIN)
                machine.until(lambda: session.status is not None, "the command's end")
                self.assertEqual(machine.complaint(), "")
            self.assertEqual((session.status, session.errors), (0, b""))
            numbers = [int(line.split()[1]) for line in session.output.splitlines()]
            self.assertEqual(numbers, list(range(1, len(numbers) + 1)))

    def disk(self, machine: Machine, folder: Path) -> str:
        """Create a qcow2 image that no device uses. Return the name of its node."""
        size = 2 << 30
        file = {"driver": "file", "filename": f"{folder}/state.qcow2"}
        machine.job("blockdev-create", options={"driver": "file", "filename": file["filename"], "size": 0})
        machine.monitor.cmd("blockdev-add", **{"node-name": "file", **file})
        machine.job("blockdev-create", options={"driver": "qcow2", "file": "file", "size": size})
        machine.monitor.cmd("blockdev-add", **{"node-name": "state", "driver": "qcow2", "file": "file"})
        return "state"
