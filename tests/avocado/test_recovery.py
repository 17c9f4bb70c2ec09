# SPDX-License-Identifier: GPL-2.0-or-later
"""make check-recovery, once through: would catch a job that is taken for done though it met a fault, a fault that
nobody is told of, a table that is not written again, and BOs that are lost and do not say so."""

from launcher import GuestTest
from vgpu_tools.guest.config import Guest
from vgpu_tools.testing import recovery

TIMES = 2
KINDS = 14  # of failures


class Recovery(GuestTest):
    """The tool's own campaign."""

    def test_once(self) -> None:
        """Each kind of failure twice, everything right after each."""
        guest = self.guest(Guest())
        guest.prepare()
        outcome = recovery.campaign(guest, TIMES, self.settings.limit)
        self.assertEqual(len(outcome.rows), KINDS)
        for row in outcome.rows:
            self.assertTrue(row.good(TIMES), row)
        self.assertEqual(outcome.complaint, "")
