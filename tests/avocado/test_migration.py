# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest is migrated while its GPU works: would catch state of the device that is not saved, dirty memory that is
not sent, and an engine that goes on at the source."""

import sys
import tempfile
from pathlib import Path

from avocado import Test

sys.path.insert(0, str(Path(__file__).parent))
from machine import Machine, Session, agent
from vgpu_tools.guest import Guest

VRAM, MEMORY = "256M", "512M"


class Migration(Test):
    """vgpu-copy-loop copies, faults and compares all the while."""

    def test_to_file_and_live(self) -> None:
        """To a file and back, then live to a second QEMU; the command ends well and no byte differed."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            state, live = f"file:{folder}/state", f"unix:{folder}/live"

            def guest() -> Guest:
                return Guest(vram=VRAM, memory=MEMORY)

            session = Session()
            with Machine(session, folder, "first", guest()) as first:
                first.run("vgpu-copy-loop")
                first.rounds(2)
                first.migrate(state)
                self.assertEqual(first.complaint(), "")
            with Machine(session, folder, "second", guest(), state) as second:
                second.rounds(2)
                with Machine(session, folder, "third", guest(), live) as third:
                    second.migrate(live)
                    self.assertEqual(second.complaint(), "")
                    third.rounds(2)
                    third.send(agent.STDIN)
                    third.until(lambda: session.status is not None, "the command's end")
                    self.assertEqual(third.complaint(), "")
            self.assertEqual((session.status, session.errors), (0, b""))
            numbers = [int(line.split()[1]) for line in session.output.splitlines()]
            self.assertEqual(numbers, list(range(1, len(numbers) + 1)))
