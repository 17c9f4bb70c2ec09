# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks the page docs/founding-documents.md. The page compares the driver with the founding documents: the articles
from which the project began.

`python -m vgpu_tools.testing.founding [FILE...]` prints the errors. Each FILE has the text of a founding document.
"""

import re
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from vgpu_tools.base.paths import ROOT

PAGE = "docs/founding-documents.md"
NAMES = "tests/founding-documents.toml"  # names in the founding documents; those in [others] need no row on the page
DRIVER = "guest-driver"
COLUMNS = ("here", "lock", "test")  # columns that refer to this project; "here" is the place in the driver

SPAN = re.compile(r"`([^`]+)`")
# Matches PATH or PATH:NAME, for example `svm/svm_range.h:svm_range_list.lock`. PATH is relative to guest-driver/ or to
# the checkout. For NAME see _file_error().
FILE = re.compile(r"([\w./-]+\.(?:c|h|md|py))(?::(.+))?")
# Matches TEST or TEST:CASE: a guest program (vgpu-test-svm:attributes), a KUnit test (vgpu_gtt_mgr_test:gtt_limit), or
# a Python test (test_peer:Link). See _test_error().
TEST = re.compile(r"(vgpu-test-[\w-]+|test_\w+|\w+_test)(?::(\w+))?")
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
STRUCT = re.compile(r"^struct (\w+) \{\n(.*?)^\}", re.M | re.S)
LOCK = re.compile(r"struct mutex|spinlock_t|struct xarray|struct srcu_struct|struct rw_semaphore")
GLOBAL_LOCK = re.compile(r"\bDEFINE_(?:MUTEX|SPINLOCK|SRCU|STATIC_SRCU|SEMAPHORE)\((\w+)")
KERNEL_LOCKS = {"mmap_lock"}
NAME = re.compile(r"[A-Za-z]\w*_\w+", re.ASCII)
DOCUMENT_STRUCT = re.compile(r"struct (\w+)\s*\{([^}]*)\}", re.ASCII)
DOCUMENT_MEMBER = re.compile(r"(\w+)(?:\[\w+\])?;", re.ASCII)
# Matches a use of a structure's member in a founding document, such as `prange->start`.
DOCUMENT_USE = re.compile(r"\b(svms|prange|cur)(?:->|\.)(\w+)", re.ASCII)
# Structures of the variables in DOCUMENT_USE. The founding documents use these structures, but do not define them.
DOCUMENT_USES = {"svms": "svm_range_list", "prange": "svm_range", "cur": "amdgpu_res_cursor"}


@dataclass(frozen=True)
class Row:
    """A row of a table. `heading` is the heading above the table, `line` the row's line number.

    `cells` has the cells of the row. The key is the name of the column. The first cell also has the key ""."""

    heading: str
    line: int
    cells: dict[str, str]


def rows(text: str) -> Iterator[Row]:
    """Yield the rows of all tables that have the columns in COLUMNS."""
    heading = ""
    head: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("#"):
            heading = line.lstrip("# ")
        if not line.startswith("|"):
            head = []
            continue
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if not head:
            head = cells
        elif not set(line) <= set("|-: ") and set(COLUMNS) <= set(head):
            yield Row(heading, number, {**dict(zip(head, cells, strict=False)), "": cells[0]})


@cache
def _code(path: Path) -> str:
    return COMMENT.sub("", path.read_text()) if path.is_file() else ""


@cache
def _locks(root: Path) -> frozenset[str]:
    """Return the locks of the driver: STRUCTURE.MEMBER, and names of global locks."""
    found: set[str] = set()
    for path in sorted((root / DRIVER).rglob("*.[ch]")):
        code = _code(path)
        found |= set(GLOBAL_LOCK.findall(code))
        for structure, body in STRUCT.findall(code):
            members = (line for line in body.splitlines() if LOCK.search(line))
            found |= {f"{structure}.{name}" for line in members for name in re.findall(r"(\w+);", line)}
    return frozenset(found)


@cache
def _file_error(root: Path, name: str, what: str) -> str:
    """Check that the file `name` exists and contains `what`: a function, a member of a struct, or another
    identifier. If `what` is empty, only check that the file exists. Return an error message, or "" if there is no
    error."""
    path = next((one for one in (root / DRIVER / name, root / name) if one.is_file()), None)
    if not path:
        return "no such file"
    if not what:
        return ""
    code = _code(path)
    if found := re.fullmatch(r"(\w+)\(\)", what):
        defined = rf"^(?:\w[\w \t*]*[\s*])?{found[1]}\("
        return "" if re.search(defined, code, re.M) else "no such function in the file"
    if found := re.fullmatch(r"(\w+)\.(\w+)", what):
        body = next((body for structure, body in STRUCT.findall(code) if structure == found[1]), None)
        if body is None:
            return "no such structure in the file"
        return "" if re.search(rf"\b{found[2]}\b", body) else "no such member"
    return "" if re.search(rf"\b{re.escape(what)}\b", code) else "no such name in the file"


@cache
def _test_error(root: Path, name: str, case: str) -> str:
    """Check that the test `name` exists and contains `case`: a test case, a function or a class. If `case` is empty,
    only check that the test exists. Return an error message, or "" if there is no error."""
    programs = root / "guest-rootfs/programs"
    if name.startswith("vgpu-test-"):
        paths = sorted((programs / "tests").glob(f"*/{name}.c"))
        listed = re.search(rf"(?<![\w-]){name}(?![\w-])", (programs / "tests.list").read_text())
        pattern = rf'\{{\s*"[^"]*",\s*{case}\b'
        if paths and not listed:
            return "not in tests.list"
    elif name.endswith("_test"):
        paths = sorted((root / DRIVER / "tests").glob(f"*/{name}.c"))
        pattern = rf"\bKUNIT_CASE\w*\({case}\b"
    else:
        paths = [path for folder in ("avocado", "tools") if (path := root / f"tests/{folder}/{name}.py").is_file()]
        pattern = rf"^\s*(?:def|class) {case}\b"
    if not paths:
        return "no such test"
    found = not case or any(re.search(pattern, path.read_text(), re.M) for path in paths)
    return "" if found else "no such case"


def _span_error(root: Path, span: str, column: str) -> str:
    """Check `span`, a text in backquotes on PAGE. Return an error message or "". `column` is the span's table
    column, or "" if the span may stand anywhere."""
    if column == "lock":
        return "" if span in _locks(root) | KERNEL_LOCKS else "no such lock"
    # Table columns refer to files of this project, so check these file names. Elsewhere, check only names with a "/".
    # Other names may be files of other projects, for example of amdgpu.
    if (found := FILE.fullmatch(span)) and (column or "/" in span):
        return _file_error(root, found[1], found[2] or "")
    if found := TEST.fullmatch(span):
        return _test_error(root, found[1], found[2] or "")
    # A span of a table column must be a reference. Other spans need not.
    return f"not of the kind that the column '{column}' has" if column else ""


def check(root: Path = ROOT, text: str = "") -> list[str]:
    """Check the page PAGE of the checkout `root`, and return the error messages. `text`, if given, is checked in place
    of the page's text."""
    text = text or (root / PAGE).read_text()
    names = tomllib.loads((root / NAMES).read_text())
    wrong: list[str] = []
    first: dict[str, set[str]] = {}  # names in the first columns, by the name in the heading
    tables = list(rows(text))
    for row in tables:
        named = set(NAME.findall(row.cells[""])) | {span.rstrip("()") for span in SPAN.findall(row.cells[""])}
        for key in [*SPAN.findall(row.heading), ""]:
            first.setdefault(key, set()).update(named)
        for column in COLUMNS:
            cell = row.cells.get(column, "")
            if not cell:
                wrong.append(f"{PAGE}:{row.line}: the column '{column}' is empty")
            for span in SPAN.findall(cell):
                if error := _span_error(root, span, column):
                    wrong.append(f"{PAGE}:{row.line}: {span}: {error}")
    for number, line in enumerate(text.splitlines(), 1):
        for span in SPAN.findall(line):
            if error := _span_error(root, span, ""):
                wrong.append(f"{PAGE}:{number}: {span}: {error}")
    for structure, members in names["members"].items():
        missing = [member for member in members if member not in first.get(structure, set())]
        wrong += [f"{PAGE}: no row of {structure}.{member}" for member in missing]
    wrong += [f"{PAGE}: no row of {name}" for name in names["rows"]["names"] if name not in first.get("", set())]
    return list(dict.fromkeys(wrong))


def unknown(names: dict[str, dict[str, list[str]]], text: str) -> list[str]:
    """Find the identifiers in a founding document. Return those that the file NAMES does not list. `text` is the
    document, `names` is the parsed NAMES. An identifier is a word with an underscore, or "STRUCTURE.MEMBER"."""
    members = names["members"]
    known = {name for part in names.values() for some in part.values() for name in some}
    found: list[str] = []
    for structure, body in DOCUMENT_STRUCT.findall(text):
        found += [
            f"{structure}.{name}" for name in DOCUMENT_MEMBER.findall(body) if name not in members.get(structure, ())
        ]
    for variable, name in DOCUMENT_USE.findall(text):
        structure = DOCUMENT_USES[variable]
        if name not in members[structure] and name not in ("c", "h"):
            found.append(f"{structure}.{name}")
    found += [name for name in NAME.findall(text) if name not in known]
    return sorted(set(found))


def main(words: Sequence[str]) -> int:
    """Print the errors that check() finds in the page PAGE. `words` are paths of files with founding documents.
    What unknown() finds in these files is an error, too. Return 1 if there is an error, else 0."""
    names = tomllib.loads((ROOT / NAMES).read_text())
    wrong = check()
    for word in words:
        wrong += [f"{word}: {name} is not in {NAMES}" for name in unknown(names, Path(word).read_text())]
    print("\n".join([*wrong, f"{len(list(rows((ROOT / PAGE).read_text())))} rows, {len(wrong)} errors"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
