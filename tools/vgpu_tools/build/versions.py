# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads the pinned versions from configs/versions.toml, and checks the source trees that the user
names instead."""

import functools
import tomllib
from pathlib import Path
from typing import Any

from vgpu_tools.base.errors import Failure
from vgpu_tools.base.paths import CONFIGS

FILE = CONFIGS / "versions.toml"


@functools.cache
def pins() -> dict[str, Any]:
    """Return the pinned versions: the tables of configs/versions.toml, by name."""
    return tomllib.loads(FILE.read_text())


def source_folder(variable: str, named: str, marker: str) -> Path | None:
    """Return the source tree that the user named, or None. `named` is the value of the environment variable `variable`;
    empty if the user named no tree.

    Raises Failure if the tree lacks the file `marker`.
    """
    if not named:
        return None
    folder = Path(named).expanduser().resolve()
    if not (folder / marker).is_file():
        raise Failure(f"{variable}={named} is no source tree: it has no {marker}", status=2)
    return folder
