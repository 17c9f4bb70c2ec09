# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads rooms.txt: which folders the files of a folder may use. The head of rooms.txt explains the grammar. Each error
names a line of rooms.txt."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from posixpath import basename, join, normpath
from re import compile as regex

LIST = "rooms.txt"
OPEN = "include/vgpu"  # headers of the hardware contract: every room may include them; they include only each other
PRIVATE = ("internal.h", "packet.h", "*_priv.h", "*-priv.h")  # not for other rooms, unless a `face` line lists them

SECTION = regex(r"\[\s*(\S+)(?:\s+(\S+))?\s*\]")
ENTRY = regex(r"(?:(face|known)(?=[\s:])\s*)?([^:]*?)\s*:\s*(.*)")
ARROW = regex(r"(\S+)\s*->\s*(\S+)")
FORMS = "[FOLDER PREFIX], FOLDER: ROOMS, face FOLDER: HEADERS, known: FILE -> FILE"


@dataclass(frozen=True)
class Section:
    """A section of rooms.txt: a list of rooms. A room is a folder with sources. The path of a room is relative to
    `folder`. A path with a leading "/" is relative to the top of the checkout."""

    folder: str
    # Text that stands for `folder` in include or import lines, for example "hw/misc/vgpu-kfd/" or
    # "vgpu_tools."; "" if there is no such text.
    prefix: str
    # The section's folders outside of `folder`. The check also searches these folders for modules that the
    # section's files import.
    scripts: list[str] = field(default_factory=list)

    def path(self, name: str) -> str:
        """Return the path of a room or file, relative to the top of the checkout. `name` is relative to `folder`. A
        `name` with a leading "/" is relative to the top of the checkout."""
        return name[1:].rstrip("/") if name.startswith("/") else normpath(join(self.folder, name))


@dataclass
class Room:
    """A room: a folder with sources, defined by a line of rooms.txt."""

    name: str
    folder: str
    section: Section
    line: int  # number of the line that defines the room
    text: str  # text of this line
    allowed: set[str] = field(default_factory=set)  # folders of the rooms that the files of this room may use
    everything: bool = False  # the files of this room may use all rooms of `section`
    # Headers that other rooms may use, from the room's `face` line. None: there is no `face` line, see is_face().
    faces: set[str] | None = None
    face_line: int = 0  # number of the room's `face` line; 0 if the room has none

    def is_face(self, file: str) -> bool:
        """Return whether other rooms may use a file of this room."""
        if file.endswith(".py"):
            return True
        if self.faces is not None:
            return file in self.faces
        return file.endswith(".h") and not any(fnmatchcase(basename(file), private) for private in PRIVATE)


def circle(arrows: Mapping[str, Iterable[str]]) -> list[str]:
    """Return a cycle of the graph `arrows` (nodes and the nodes that they use), with the first node repeated at the
    end; empty if there is no cycle."""
    done: set[str] = set()

    def visit(node: str, way: list[str]) -> list[str]:
        if node in way:
            return [*way[way.index(node) :], node]
        if node in done:
            return []
        for to in sorted(arrows.get(node, ())):
            if found := visit(to, [*way, node]):
                return found
        done.add(node)
        return []

    return next((found for node in sorted(arrows) if (found := visit(node, []))), [])


def twice(names: Iterable[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]


class Rooms:
    """The parsed rooms.txt. `errors` has the errors in rooms.txt; the other members are valid only
    if `errors` is empty."""

    def __init__(self, text: str, files: Iterable[str]) -> None:
        self.files = frozenset(files)
        self.errors: list[str] = []
        self.sections: dict[str, Section] = {}
        self.rooms: dict[str, Room] = {}
        self.known: dict[tuple[str, str], int] = {}
        self._folders = {str(parent) for file in self.files for parent in PurePosixPath(file).parents}
        later: list[tuple[int, str, Section, str, str]] = []
        section: Section | None = None
        for line, words in self._lines(text):
            if match := SECTION.fullmatch(words):
                section = self._section(line, match[1].rstrip("/"), match[2] or "")
            elif not section:
                self._wrong(line, f"stands before the first [FOLDER]: {words}")
            elif not (match := ENTRY.fullmatch(words)):
                self._wrong(line, f"is none of {FORMS}: {words}")
            elif match[1] == "known":
                self._know(line, section, words)
            elif match[1] == "face":
                later.append((line, "face", section, match[2], match[3]))
            else:
                for name in match[2].split() or [""]:
                    if "*" in name:
                        later.append((line, words, section, name, match[3]))
                    else:
                        self._room(line, words, section, name, match[3])
        # Handle patterns only after all lines that name a folder, because a pattern skips the folders of these lines.
        # Handle `face` lines last: they need all rooms.
        for entry in sorted(later, key=lambda entry: entry[1] == "face"):
            (self._faces if entry[1] == "face" else self._pattern)(*entry)
        self._check_allowed()

    def of(self, file: str) -> Room | None:
        """Return the room of a file: among the rooms whose folder contains the file, the room with the longest folder
        name."""
        return next((room for one in PurePosixPath(file).parents if (room := self.rooms.get(str(one)))), None)

    def _wrong(self, line: int, what: str) -> None:
        self.errors.append(f"{LIST}:{line}: {what}")

    def _lines(self, text: str) -> Iterator[tuple[int, str]]:
        """Yield number and text of each line, without comments. A line with a leading space
        continues the line above."""
        lines: list[tuple[int, str]] = []
        for number, raw in enumerate(text.splitlines(), 1):
            words = raw.partition("#")[0].rstrip()
            if words and not words[0].isspace():
                lines.append((number, words))
            elif words and lines:
                lines[-1] = lines[-1][0], f"{lines[-1][1]} {words.strip()}"
            elif words:
                self._wrong(number, f"goes on with a line that is not there: {words.strip()}")
        yield from lines

    def _section(self, line: int, folder: str, prefix: str) -> Section:
        if folder in self.sections:
            self._wrong(line, f"is a second [{folder}]")
        elif folder not in self._folders:
            self._wrong(line, f"there is no folder {folder} with sources")
        return self.sections.setdefault(folder, Section(folder, prefix))

    def _room(self, line: int, text: str, section: Section, name: str, allowed: str) -> None:
        folder, names = section.path(name), allowed.split()
        if not name:
            self._wrong(line, f"names no folder before the colon: {text}")
        elif folder not in self._folders:
            self._wrong(line, f"there is no folder {folder} with sources")
        elif folder in self.rooms:
            self._wrong(line, f"{name} is in line {self.rooms[folder].line} already")
        else:
            everything = names == ["*"]
            others = set() if everything else {section.path(one) for one in names}
            self.rooms[folder] = Room(name, folder, section, line, text, others, everything)
            if name.startswith("/"):
                section.scripts.append(folder)
            for one in twice(names):
                self._wrong(line, f"{one} stands there twice")

    def _know(self, line: int, section: Section, words: str) -> None:
        match = ARROW.fullmatch(words.removeprefix("known").lstrip().removeprefix(":").strip())
        if not match:
            self._wrong(line, f"is not known: FILE -> FILE: {words}")
            return
        pair = section.path(match[1]), section.path(match[2])
        for file in pair:
            if file not in self.files:
                self._wrong(line, f"there is no source file {file}")
        if pair in self.known:
            self._wrong(line, f"is in line {self.known[pair]} already: {words}")
        self.known.setdefault(pair, line)

    def _pattern(self, line: int, text: str, section: Section, name: str, allowed: str) -> None:
        """Add a room for each folder that matches the pattern `name`, unless another line of rooms.txt has already
        added this room."""
        like = section.path(name)
        found = {one for one in self._folders if fnmatchcase(one, like) and one.count("/") == like.count("/")}
        if not found:
            self._wrong(line, f"there is no folder like {like} with sources")
        for folder in sorted(found - self.rooms.keys()):
            inside = folder.startswith(f"{section.folder}/")
            self._room(line, text, section, folder[len(section.folder) + 1 :] if inside else f"/{folder}", allowed)

    def _faces(self, line: int, _: str, section: Section, name: str, words: str) -> None:
        """Set the faces of a room from a `face` line. `words` has the headers in this line. If a header
        is in a subfolder of the room, two forms are allowed: SUBFOLDER/x.h and x.h."""
        room = self.rooms.get(section.path(name)) if name else None
        if not room:
            self._wrong(line, f"there is no room {name or 'before the colon'}")
            return
        if room.faces is not None:
            self._wrong(line, f"the faces of {name} are in line {room.face_line} already")
        room.faces, room.face_line = set(), line
        for header in words.split():
            found = {join(room.folder, header)} & self.files
            if not found:
                found = {file for file in self.files if basename(file) == header and self.of(file) is room}
            if len(found) != 1:
                self._wrong(line, f"{name} has {len(found) or 'no'} {'files' if found else 'file'} {header}")
            room.faces |= found
        for one in twice(words.split()):
            self._wrong(line, f"{one} stands there twice")

    def _check_allowed(self) -> None:
        for room in self.rooms.values():
            for folder in sorted(room.allowed):
                if folder == room.folder:
                    self._wrong(room.line, f"{room.name} names itself: a room may use its own files anyway")
                elif folder not in self.rooms:
                    self._wrong(room.line, f"there is no room {folder}")
        if path := circle({folder: room.allowed - {folder} for folder, room in self.rooms.items()}):
            self._wrong(self.rooms[path[0]].line, f"a circle in what is allowed: {' -> '.join(path)}")
