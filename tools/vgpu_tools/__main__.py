# SPDX-License-Identifier: GPL-2.0-or-later
"""Entry point: python -m vgpu_tools."""

import sys

from vgpu_tools.cli.main import main

sys.exit(main(sys.argv[1:]))
