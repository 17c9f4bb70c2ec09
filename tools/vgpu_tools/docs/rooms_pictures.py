# SPDX-License-Identifier: GPL-2.0-or-later
"""Draws two pictures of a section of rooms.txt: the section's rooms (folders of the code) as layers,
and a table of which room may use which."""

from collections.abc import Mapping
from xml.etree.ElementTree import SubElement

from vgpu_tools.base.errors import Failure
from vgpu_tools.docs import svg
from vgpu_tools.testing.rooms_file import Room, Rooms

CELL, LABEL, MARGIN = 22.0, 150.0, 8.0  # side of a cell, width of a row's label, margin


def _section(rooms: Rooms, folder: str) -> dict[str, Room]:
    """Return the rooms in the section [`folder`] of rooms.txt, by name. A room is a folder with sources.
    Two kinds of rooms are left out: rooms that may use the whole section ("ROOM: *"), and rooms
    outside of `folder` ("/ROOM")."""
    found = {
        room.name: room
        for room in rooms.rooms.values()
        if room.section.folder == folder and not room.everything and not room.name.startswith("/")
    }
    if not found:
        raise Failure(f"docs: rooms.txt has no section [{folder}]")
    return found


def arrows(rooms: Rooms, folder: str) -> dict[str, set[str]]:
    """Return a graph of the rooms in the section `folder` (see _section()): for each room, the rooms
    that this room may use."""
    inside = _section(rooms, folder)
    names = {room.folder: name for name, room in inside.items()}
    return {name: {names[one] for one in room.allowed if one in names} for name, room in inside.items()}


def reduced(used: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """Return the transitive reduction of a graph without cycles. An arrow from A to B is removed if
    a longer path leads from A to B."""

    def below(name: str) -> set[str]:
        return set(used[name]).union(*(below(one) for one in used[name]))

    return {name: {one for one in to if not any(one in below(other) for other in to)} for name, to in used.items()}


def _title(name: str, folder: str) -> str:
    return f"the files of {folder}/" if name == "." else f"{name}/"


def layers(rooms: Rooms, folder: str, looks: Mapping[str, str]) -> str:
    """Return a graph of the rooms in the section `folder`, in Graphviz's language. An arrow from A to B
    means that A may use B. reduced() removes some arrows. `looks` has classes of site.css, by names of
    rooms and of top folders."""
    used = reduced(arrows(rooms, folder))
    lines = []
    for name in used:
        look = looks.get(name, looks.get(name.partition("/")[0], ""))
        lines.append(f"{svg.quoted(name)} [label={svg.quoted(_title(name, folder))}, class={svg.quoted(look)}]")
    lines += [f"{svg.quoted(name)} -> {svg.quoted(one)}" for name, to in used.items() for one in sorted(to)]
    return svg.graph(lines)


def matrix(rooms: Rooms, folder: str) -> str:
    """Return a table of the rooms in the section `folder`, as SVG. Each room has a row and a column. A mark means that
    the room of the row may use the room of the column."""
    used = arrows(rooms, folder)
    names = list(used)
    size = CELL * len(names)
    root = svg.picture(LABEL + size + LABEL / 2 + 2 * MARGIN, size + LABEL + 2 * MARGIN)
    for column, name in enumerate(names):
        x = MARGIN + LABEL + CELL * column
        turned = svg.text(root, x + CELL / 2 + 4, MARGIN + LABEL - 6, _title(name, folder), svg.SMALL, "start")
        turned.set("transform", f"rotate(-60 {x + CELL / 2 + 4:g} {MARGIN + LABEL - 6:g})")
    for row, name in enumerate(reversed(names)):
        y = MARGIN + LABEL + CELL * row
        svg.text(root, MARGIN + LABEL - 6, y + CELL - 7, _title(name, folder), svg.SMALL, "end")
        for column, other in enumerate(names):
            x = MARGIN + LABEL + CELL * column
            svg.box(root, x, y, CELL, CELL, "own" if other == name else "cell", 0)
            if other in used[name]:
                middle = {"cx": f"{x + CELL / 2:g}", "cy": f"{y + CELL / 2:g}", "r": "5"}
                SubElement(root, "circle", {"class": "mark", **middle})
    return svg.drawn(root)
