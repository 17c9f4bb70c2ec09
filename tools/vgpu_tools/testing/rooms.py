# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks the includes (C) and imports (Python) of all sources. A room is a folder of sources. The file rooms.txt says
which other rooms the files of a room may use.

`python -m vgpu_tools.testing.rooms [CHECKOUT]` prints the errors. The command also lists large files and folders,
which are no errors.
"""

import ast
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path, PurePosixPath
from posixpath import basename, dirname, join, normpath

from vgpu_tools.base.paths import ROOT
from vgpu_tools.testing.rooms_file import LIST, OPEN, Room, Rooms, circle

C_SUFFIXES = (".c", ".h", ".inc")
MOST_FILES, HEADER_LINES, SOURCE_LINES = 25, 300, 600  # larger folders and files are listed, and do not fail the check

NOT_CODE = re.compile(r"//(?:\\\n|[^\n])*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)
INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*([\"<])([^\">\n]+)[\">]", re.M)
DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.M)
# Matches a function's prototype: the words of a type, the name, and a parenthesis. The match begins at
# the start of a statement or a line. After the parenthesis, a semicolon must come before any brace:
# a brace would begin the function's body.
PROTOTYPE = re.compile(
    # The first word is not `static` (a static function), and does not begin another kind of statement (`return`).
    r"(?:^|[;{}]\s+)(?!(?:static|typedef|return|else|do|goto|case|asm|__asm__)\b)(?:[A-Za-z_]\w*[\s*]+)+"
    # The name is neither an attribute nor in capitals (a macro).
    r"(?!__attribute__|__aligned|[A-Z0-9_]+\b)([A-Za-z_]\w*)\s*\((?=[^;{}]*;)",
    re.M,
)


@dataclass(frozen=True)
class Use:
    """A line of a source that includes or imports a file of the checkout, `target`."""

    file: str
    line: int
    target: str
    private: str = ""  # private Python name (`_name`) of `target` that the line uses; "": none
    others: tuple[str, ...] = ()  # further files that an ambiguous name in an include can mean


def _blank(text: str, strings: bool) -> str:
    """Remove the comments from C text, and return the rest. If `strings` is set, also remove strings. The number of
    lines does not change."""

    def blank(match: re.Match[str]) -> str:
        return " " + "\n" * match[0].count("\n") if strings or match[0][0] == "/" else match[0]

    return NOT_CODE.sub(blank, text)


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def _c_uses(rooms: Rooms, file: str, text: str) -> Iterator[Use]:
    """Yield a Use for each include in a C file. Skip an include if the checkout does not have the included file."""
    room = rooms.of(file)
    section = room.section if room else None
    code = _blank(text, strings=False)
    for match in INCLUDE.finditer(code):
        name = match[2]
        # First, search in the folder of the C file, unless the include has angle brackets.
        tries = [join(dirname(file), name)] if match[1] == '"' else []
        # Second, search in the section's folder. For the driver, this folder is an include path of the build.
        tries += [join(section.folder, name)] if section else []
        # Third, if the name begins with the prefix of a section ("hw/misc/vgpu-kfd/"), search in this section's folder
        # for the rest of the name.
        for one in rooms.sections.values():
            if one.prefix.endswith("/") and name.startswith(one.prefix):
                tries.append(join(one.folder, name[len(one.prefix) :]))
        # Last, search in include/: all rooms may include the headers of include/vgpu/, as "vgpu/NAME.h".
        tries.append(join(dirname(OPEN), name))
        found = [path for path in map(normpath, tries) if path in rooms.files][:1]
        # A name without a folder may mean any file with this name in the C file's section, because a build may have an
        # include path for each folder.
        if not found and "/" not in name:
            same = (path for path in rooms.files if basename(path) == name)
            found = sorted(path for path in same if (other := rooms.of(path)) and other.section is section)
        if found:
            yield Use(file, _line(code, match.start()), found[0], others=tuple(found[1:]))


def _module(rooms: Rooms, file: str, name: str) -> str:
    """Return the file of the module `name` that `file` imports; "" if the module is not found."""
    room = rooms.of(file)
    way = name.replace(".", "/")
    # If the folder of `file` is a package, an import needs the package's name to find a module in this folder.
    folders = [] if join(dirname(file), "__init__.py") in rooms.files else [dirname(file)]
    tries = [join(folder, way) for folder in (*folders, *(room.section.scripts if room else ()))]
    # The prefix of a section, for example "vgpu_tools.", stands for the section's folder.
    for one in rooms.sections.values():
        if one.prefix.endswith(".") and f"{name}.".startswith(one.prefix):
            tries.insert(0, normpath(join(one.folder, way[len(one.prefix) :])))
    both = [path for one in tries for path in (f"{one}.py", f"{one}/__init__.py")]
    return next((path for path in both if path in rooms.files), "")


def _absolute(rooms: Rooms, file: str, node: ast.ImportFrom) -> str:
    """Return the absolute name of the module in `from MODULE import`, which may be relative."""
    if not node.level:
        return node.module or ""
    parents = PurePosixPath(file).parents
    folder = str(parents[min(node.level, len(parents)) - 1])
    for one in rooms.sections.values():
        if one.prefix.endswith(".") and f"{folder}/".startswith(f"{one.folder}/"):
            folder = one.prefix.rstrip(".") + folder[len(one.folder) :]
    return ".".join(filter(None, [*folder.split("/"), node.module]))


def _python_uses(rooms: Rooms, file: str, text: str) -> Iterator[Use]:
    """Yield each import of a module of the checkout in a Python file, also imports inside functions.
    Also yield each use of a private name of an imported module."""
    tree = ast.parse(text)
    modules: dict[str, str] = {}  # files of imported modules, by the names of the modules in this file

    def private(name: str) -> bool:
        return name.startswith("_") and not name.startswith("__")

    for node in ast.walk(tree):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        base = _absolute(rooms, file, node) if isinstance(node, ast.ImportFrom) else ""
        for alias in node.names:
            if target := _module(rooms, file, f"{base}.{alias.name}" if base else alias.name):
                modules[alias.asname or alias.name] = target
                yield Use(file, node.lineno, target)
            elif base and (module := _module(rooms, file, base)):
                yield Use(file, node.lineno, module, alias.name if private(alias.name) else "")
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and private(node.attr) and (owner := modules.get(ast.unparse(node.value))):
            yield Use(file, node.lineno, owner, node.attr)


def _declarations(file: str, text: str) -> Iterator[str]:
    """Yield an error for each prototype (of a function that is not static) and each extern in a .c file. With these
    declarations, a file could use another file without an #include, and the check of includes would miss this use."""
    code = DIRECTIVE.sub(lambda match: "\n" * match[0].count("\n"), _blank(text, strings=True))
    for match in re.finditer(r"\bextern\b", code):
        yield f"{file}:{_line(code, match.start())}: extern in a .c file: declare it in a header"
    for match in PROTOTYPE.finditer(code):
        yield f"{file}:{_line(code, match.start(1))}: prototype of {match[1]}() in a .c file: declare it in a header"


def _fault(rooms: Rooms, use: Use, room: Room) -> str:
    """`use` is an include or import in a file of `room`. Return an error message if `use` is forbidden, else "". A use
    that a `known` line of rooms.txt permits also gets a message here. check() drops this message."""
    other = rooms.of(use.target)
    if use.others:
        return f"{use.file}:{use.line}: may be any of {', '.join((use.target, *use.others))}: name its folder"
    if not other or (room.everything and other.section is room.section):
        return ""
    if use.private:
        return f"{use.file}:{use.line}: {use.private} is private to {use.target}"
    if other is room:
        return ""
    name = other.name if other.section is room.section else f"/{other.folder}"
    arrow = f"{use.file}:{use.line}: {room.name} -> {name} ({use.target})"
    if other.folder not in room.allowed:
        return f"{arrow}: {LIST}:{room.line} does not allow it: {room.text}"
    if not other.is_face(use.target):
        return f"{arrow}: it is no face of {name}, see {LIST}:{other.face_line or other.line}"
    return ""


def check(root: Path, files: Sequence[str]) -> tuple[list[str], list[str]]:
    """Check the sources among `files`, which are relative to `root`. Return the violations, and the large files."""
    sources = [file for file in files if file.endswith((*C_SUFFIXES, ".py"))]
    if not sources or not (root / LIST).exists():
        return [f"{root} has no {LIST}, or no sources"], []
    rooms = Rooms((root / LIST).read_text(errors="replace"), sources)
    if rooms.errors:
        return rooms.errors, []
    wrong: list[str] = []
    arrows: dict[str, dict[str, Use]] = defaultdict(dict)
    stale = dict(rooms.known)
    texts = {file: (root / file).read_text(errors="replace") for file in sources}
    for file, text in texts.items():
        room = rooms.of(file)
        read = _python_uses if file.endswith(".py") else _c_uses
        try:
            uses = list(dict.fromkeys(read(rooms, file, text)))
        except SyntaxError as error:
            wrong.append(f"{file}:{error.lineno}: {error.msg}")
            continue
        if not room and not file.startswith(f"{OPEN}/"):
            wrong.append(f"{file}: no line of {LIST} has its folder")
        for use in uses:
            other = rooms.of(use.target)
            said = _fault(rooms, use, room) if room else ""
            if file.startswith(f"{OPEN}/") and not use.target.startswith(f"{OPEN}/"):
                wrong.append(f"{file}:{use.line}: {OPEN} -> {use.target}: those headers include each other only")
            elif said and (file, use.target) in rooms.known and not use.others:
                # A `known` line of rooms.txt permits this use. The use is not added to `arrows`, so that circle()
                # ignores the use.
                stale.pop((file, use.target), None)
            elif said:
                wrong.append(said)
            elif room and other and other is not room:
                arrows[room.folder].setdefault(other.folder, use)
        wrong += _declarations(file, text) if file.endswith(".c") else []
    for (file, target), line in stale.items():
        wrong.append(f"{LIST}:{line}: stale: {file} does not use {target}, or is allowed to: remove the line")
    if path := circle(arrows):
        steps = (f"{to} ({arrows[at][to].file}:{arrows[at][to].line})" for at, to in pairwise(path))
        wrong.append(f"a circle of rooms: {path[0]} -> {' -> '.join(steps)}")
    return wrong, _sizes(texts)


def _sizes(texts: dict[str, str]) -> list[str]:
    """Return lines about large folders and files. The check does not fail because of these lines."""
    folders = Counter(map(dirname, texts))
    said = [
        f"{folder}: {count} sources, more than {MOST_FILES}" for folder, count in folders.items() if count > MOST_FILES
    ]
    for file, text in texts.items():
        most = HEADER_LINES if file.endswith(".h") else SOURCE_LINES
        if (lines := text.count("\n")) > most:
            said.append(f"{file}: {lines} lines, more than {most}")
    return sorted(said)


def files_of(root: Path) -> list[str]:
    """Return the names of the files of a checkout: tracked files, and untracked files that git does not ignore."""
    command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return sorted({name for name in said.split("\0") if name and (root / name).is_file()})


def main(words: Sequence[str]) -> int:
    """Check the includes and imports of a checkout (this one by default) against its rooms.txt, and print the
    violations. Return 1 if there are violations, else 0."""
    root = Path(words[0]) if words else ROOT
    wrong, sizes = check(root, files_of(root))
    print("\n".join([*(f"look at {size}" for size in sizes), *wrong, f"{len(wrong)} against {LIST}"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
