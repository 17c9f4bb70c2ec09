# SPDX-License-Identifier: GPL-2.0-or-later
"""./vgpu stats: what the devices of a running guest are doing."""

import argparse
import json

from vgpu_tools.guest import qmp


def stats(options: argparse.Namespace) -> int:
    """./vgpu stats: what query-vgpu says."""
    path = qmp.find(options.qmp)
    if options.json:
        print(json.dumps(qmp.command(path, "query-vgpu"), indent=2))
    else:
        print(qmp.command(path, "x-query-vgpu")["human-readable-text"], end="")
    return 0
