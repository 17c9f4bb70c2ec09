# SPDX-License-Identifier: GPL-2.0-or-later
"""./vgpu stats: prints the state and the counters of a running guest's devices."""

import json
from pathlib import Path

from vgpu_tools.guest import qmp


def stats(socket: Path | None, as_json: bool) -> int:
    """Run ./vgpu stats. `socket` is the guest's QMP socket; if None, exactly one guest of this checkout must run.
    Raises Failure if there is no such guest, or if QEMU refuses the query."""
    path = qmp.find(socket)
    if as_json:
        print(json.dumps(qmp.command(path, "query-vgpu"), indent=2))
    else:
        print(qmp.command(path, "x-query-vgpu")["human-readable-text"], end="")
    return 0
