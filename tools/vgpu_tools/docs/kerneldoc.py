# SPDX-License-Identifier: GPL-2.0-or-later
"""Generates a page for each folder of the driver that has a `face` line in rooms.txt. The page describes
the headers in this line. Linux's kernel-doc extension for Sphinx inserts the comments of the sources."""

import re
from collections.abc import Mapping
from posixpath import basename

from vgpu_tools.base.errors import Failure
from vgpu_tools.docs.csource import COMMENT, comment_text
from vgpu_tools.testing.rooms_file import Room, Rooms

FOLDER = "guest-driver"
TITLE = re.compile(r"/\*\*\n \* (?:(struct|union|enum|typedef) )?(\w+)(\(\))?")
PROTOTYPE = re.compile(r"^(?!static|typedef|#|\s|\*)[\w \t*]+?\b(\w+)\(", re.M)


def documented(text: str) -> dict[str, str]:
    """Return the names that kernel-doc comments of a C source describe, each with "struct", "enum", ..., or "" for a
    function."""
    return {match[2]: match[1] or "" for match in TITLE.finditer(text) if match[1] or match[3]}


def declared(header: str) -> list[str]:
    """Return the functions that a header declares, except inline functions."""
    plain = COMMENT.sub("", header)
    return [name for name in PROTOTYPE.findall(plain) if not re.search(rf"\binline\b[^;{{]*\b{name}\(", plain)]


def _section(title: str, below: str) -> list[str]:
    return [title, below * len(title), ""]


def _face(header: str, sources: Mapping[str, str]) -> list[str]:
    """Return the reStructuredText on `header`: the header's first comment, its types, and the functions that the header
    declares. `sources` has the text of each file in the header's room (its folder), by path."""
    text = sources[header]
    lines = _section(basename(header), "-")
    head = next((comment_text(match[0]) for match in COMMENT.finditer(text) if "SPDX" not in match[0]), "")
    lines += [head.replace("*", "\\*").replace("_ ", "\\_ "), ""]
    if documented(text):
        lines += [f".. kernel-doc:: {header}", ""]
    functions = declared(text)
    for source, content in sources.items():
        if source.endswith(".c") and (names := [name for name in documented(content) if name in functions]):
            lines += [f".. kernel-doc:: {source}", f"   :identifiers: {' '.join(names)}", ""]
            functions = [name for name in functions if name not in names]
    if functions := [name for name in functions if name not in documented(text)]:
        listed = ", ".join(f"``{name}()``" for name in sorted(functions))
        lines += [f"Functions whose comment is not in kernel-doc's format: {listed}.", ""]
    return lines


def pages(rooms: Rooms, texts: Mapping[str, str]) -> dict[str, str]:
    """Return a page for each folder of the driver that has a `face` line in rooms.txt. This line lists the headers for
    other folders. The result's keys are page names. `texts` has the driver's sources by path. Raises Failure if no page
    has kernel-doc comments."""
    found: dict[str, str] = {}
    for room in rooms.rooms.values():
        if room.section.folder == FOLDER and room.faces:
            found[_name(room)] = _page(room, rooms, texts)
    if not any(".. kernel-doc::" in page for page in found.values()):
        raise Failure("docs: no face of the driver has a kernel-doc comment")
    return found


def _name(room: Room) -> str:
    return "driver" if room.name == "." else room.name.replace("/", "-")


def _page(room: Room, rooms: Rooms, texts: Mapping[str, str]) -> str:
    sources = {path: text for path, text in texts.items() if rooms.of(path) is room}
    title = f"{room.folder}/"
    users = sorted(
        one.name if one.name != "." else f"the files of {FOLDER}/ itself"
        for one in rooms.rooms.values()
        if room.folder in one.allowed and one.section.folder == FOLDER
    )
    lines = [*_section(title, "="), "The headers that other rooms may include, with the comments of their functions."]
    lines += [f"Rooms that may use this one: {', '.join(users) or 'none'}.", ""]
    for header in sorted(room.faces or ()):
        lines += _face(header, sources)
    return "\n".join(lines)
