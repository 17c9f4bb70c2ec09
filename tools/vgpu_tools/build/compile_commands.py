# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes compile_commands.json for editors. The file has the compiler commands of the device, from
QEMU's build, and of the driver, from the kernel's build."""

import json
import os
from pathlib import Path
from typing import Any

from vgpu_tools.base import progress
from vgpu_tools.base.paths import GUEST_DRIVER, QEMU_DEVICE, ROOT
from vgpu_tools.build import kernel, qemu
from vgpu_tools.build.steps import Job, ensure


def _ours(entry: dict[str, Any], part: Path) -> dict[str, Any] | None:
    """If the entry's file is a copy of a file below `part`, return the entry with the path of the
    original; else None."""
    file = Path(os.path.realpath(Path(entry["directory"]) / entry["file"]))
    parts = file.parts
    if part.name not in parts:
        return None
    place = part.joinpath(*parts[parts.index(part.name) + 1 :])
    return entry | {"file": str(place)} if place.exists() else None


def write() -> int:
    """Build QEMU and the driver, then write compile_commands.json into the checkout's top
    folder."""
    ensure(qemu.build(), kernel.driver("release"))
    tree = kernel.tree("release")
    log = kernel.folder("release") / "compile-commands.log"
    log.write_text("")
    Job("compile-commands", log, progress.Meter()).run(["make", "-C", tree, "compile_commands.json"])
    entries = []
    for database, part in (
        (qemu.tree() / "compile_commands.json", QEMU_DEVICE),
        (tree / "compile_commands.json", GUEST_DRIVER),
    ):
        found = [_ours(entry, part) for entry in json.loads(database.read_text())]
        entries += [entry for entry in found if entry]
    target = ROOT / "compile_commands.json"
    target.write_text(json.dumps(entries, indent=1) + "\n")
    progress.say(f"{len(entries)} files in {target}")
    return 0
