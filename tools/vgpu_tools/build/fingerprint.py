# SPDX-License-Identifier: GPL-2.0-or-later
"""Computes hashes of the inputs of build steps. A changed hash means that a step has to run
again."""

import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

IGNORED = {"__pycache__", ".ruff_cache", ".git"}
IGNORED_SUFFIXES = (".o", ".ko", ".mod", ".mod.c", ".cmd", ".a", ".pyc", ".swp", "~")
IGNORED_NAMES = {"Module.symvers", "modules.order", ".module-common.o"}


def source_files(folder: Path) -> Iterator[Path]:
    """Yield every source file below a folder, in a fixed order, without the outputs of builds."""
    for where, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in IGNORED)
        for name in sorted(files):
            if name not in IGNORED_NAMES and not name.endswith(IGNORED_SUFFIXES):
                yield Path(where) / name


def of(*parts: str | Path | Iterable[str]) -> str:
    """Return a short hash over strings, files, and whole folders (names, modes and contents)."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, Path):
            _add_path(digest, part)
        elif isinstance(part, str):
            digest.update(f"str {len(part)} {part}\n".encode())
        else:
            digest.update(f"list {of(*part)}\n".encode())
    return digest.hexdigest()[:20]


def _add_path(digest: "hashlib._Hash", path: Path) -> None:
    if not path.is_dir():
        files, base = ([path] if path.exists() else []), path.parent
    else:
        files, base = list(source_files(path)), path
    digest.update(f"path {path.name} {len(files)}\n".encode())
    for file in files:
        mode = file.stat().st_mode & 0o111
        digest.update(f"{file.relative_to(base)} {mode} ".encode())
        digest.update(hashlib.sha256(file.read_bytes()).digest())
