# SPDX-License-Identifier: GPL-2.0-or-later
"""The campaign of make check-recovery, in its short form.

Catches: a job that reports success after a fault, a fault without a report, a GART table that is not restored, lost BOs
that are not reported as lost."""

from launcher import GuestTest
from vgpu_tools.guest.config import Guest
from vgpu_tools.testing import recovery

TIMES = 2
KINDS = 14  # of failures


class Recovery(GuestTest):
    """The campaign of ./vgpu check-recovery."""

    def test_once(self) -> None:
        """Catches: a kind of failure that is not recovered, or leaves wrong data, in two rounds each."""
        guest = self.guest(Guest())
        guest.prepare()
        outcome = recovery.campaign(guest, TIMES, self.settings.limit)
        self.assertEqual(len(outcome.rows), KINDS)
        for row in outcome.rows:
            self.assertTrue(row.good(TIMES), row)
        self.assertEqual(outcome.complaint, "")
