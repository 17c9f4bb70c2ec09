# SPDX-License-Identifier: GPL-2.0-or-later
"""What ./vgpu check-cycles asks of the tests that it runs; else their short form on the release kernel."""

import os

ROUNDS = int(os.environ.get("VGPU_TEST_ROUNDS", "0")) or 2
KERNEL = os.environ.get("VGPU_TEST_KERNEL", "release")
APPEND = os.environ.get("VGPU_TEST_APPEND", "")
ROUND_LIMIT = 120  # seconds for one round, on the debug kernel too
