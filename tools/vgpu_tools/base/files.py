# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes files whose readers see the old or the new contents, never a part of them."""

from pathlib import Path


def write_whole(path: Path, text: str) -> None:
    """Write a file: first a temporary file beside it, which then replaces the file. The folder is created. An
    interrupted call leaves the old contents."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f"{path.name}.new")
    new.write_text(text)
    new.replace(path)
