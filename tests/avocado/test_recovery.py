# SPDX-License-Identifier: GPL-2.0-or-later
"""Injects each failure that ./vgpu check-recovery knows, each of them TIMES times.

Catches: a job reports success although it faulted; a fault is not reported; the GART's table is not restored; lost BOs
are not reported as lost."""

from launcher import GuestTest
from vgpu_tools.guest.config import Guest
from vgpu_tools.testing import recovery

TIMES = 2
KINDS = 14  # number of kinds of failures


class Recovery(GuestTest):
    """The injected failures of ./vgpu check-recovery."""

    def test_once(self) -> None:
        """Catches: the driver does not recover from one of the kinds of failures, or data is wrong after the
        recovery."""
        guest = self.guest(Guest())
        guest.prepare()
        outcome = recovery.campaign(guest, TIMES, self.settings.limit)
        self.assertEqual(len(outcome.rows), KINDS)
        for row in outcome.rows:
            self.assertTrue(row.good(TIMES), row)
        self.assertEqual(outcome.complaint, "")
