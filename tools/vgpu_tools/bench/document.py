# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes the JSON file of a run of the benchmarks (bench.json), and loads such a file of an earlier run."""

from pathlib import Path

from pydantic import BaseModel, ValidationError

from vgpu_tools.base.data import why
from vgpu_tools.base.errors import Failure
from vgpu_tools.base.files import write_whole
from vgpu_tools.bench.rows import Key, Result, Results

CPU_INFO = Path("/proc/cpuinfo")


class Document(BaseModel):
    """The contents of a bench.json: the host, the time, the options of the guests and the results."""

    machine: str
    processor: str = ""  # model of the host's CPUs; empty: not known
    cpus: int
    time: str
    options: list[str]
    results: list[Result]

    def by_key(self) -> Results:
        """Return the results by their keys."""
        return {Key(one.name, one.bytes, one.unit): one for one in self.results}

    def hosts_differ(self, other: "Document") -> list[str]:
        """Return a sentence for each fact about the host or the guests that differs from `other`, an earlier run."""
        found = []
        for what in ("machine", "processor", "cpus", "options"):
            before, now = getattr(other, what), getattr(self, what)
            if before != now and before != "":
                found.append(f"{what}: {_text(before)}, now {_text(now)}")
        return found


def _text(value: object) -> str:
    return (" ".join(value) or "none") if isinstance(value, list) else str(value)


def processor(info: Path = CPU_INFO) -> str:
    """Return the model of the host's CPUs; empty if the file `info` does not name it."""
    if not info.is_file():
        return ""
    for line in info.read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return ""


def write(document: Document, path: Path) -> None:
    """Write a JSON file."""
    write_whole(path, document.model_dump_json(indent=1) + "\n")


def load(path: Path) -> Document:
    """Load the JSON file of an earlier run. Raises Failure if there is no such file, or if it has another format."""
    try:
        text = path.read_text()
    except FileNotFoundError:
        raise Failure(f"bench: {path}: no such file", status=2) from None
    except (OSError, UnicodeDecodeError) as error:
        raise Failure(f"bench: {path}: cannot be read: {error}", status=2) from None
    try:
        document = Document.model_validate_json(text)
    except ValidationError as error:
        hint = "; curves are compared by ./vgpu bench-curves --base" if '"curves"' in text else ""
        raise Failure(f"bench: {path}: not a file of ./vgpu bench: {why(error)}{hint}", status=2) from None
    if not document.results:
        raise Failure(f"bench: {path}: has no results", status=2)
    return document
