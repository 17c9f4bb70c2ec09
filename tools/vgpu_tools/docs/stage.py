# SPDX-License-Identifier: GPL-2.0-or-later
"""Copies the pages of the checkout to the folder that Sphinx reads. The copies have the names that
place() returns. Links in the copies lead to the new names, and `<a id="x"></a>` becomes a target for
MyST.
"""

import re
import shutil
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from posixpath import dirname, join, normpath, relpath

from vgpu_tools.base.errors import Failure

LINK = re.compile(r"\]\(([^)\s]+)\)")
ANCHOR = re.compile(r'\s*<a id="([\w-]+)"></a>')
FENCE = re.compile(r"^\s*(```|~~~)")
TOP = {"README.md": "readme.md", "CONTRIBUTING.md": "contributing.md"}


def place(file: str) -> str:
    """Return the path of a page in the site. `file` is the path of the page's source in the checkout."""
    if file in TOP:
        return TOP[file]
    if file.startswith("docs/"):
        return file.removeprefix("docs/")
    return f"folders/{dirname(file)}.md" if file.endswith("/README.md") else f"folders/{file}"


def _label(file: str, anchor: str) -> str:
    """Return the name of the MyST target that replaces an anchor of the page `file`. The name begins with the
    page's name, because targets must be unique in the site."""
    return f"{place(file).removesuffix('.md').replace('/', '-')}-{anchor}"


class Stage:
    """The pages of a checkout, and the other files to which pages link."""

    def __init__(self, root: Path, files: Sequence[str], generated: Mapping[str, str]) -> None:
        """`files` are the names of the checkout's files, relative to `root`. `generated` has the texts of further
        pages, by the names that these pages would have in the checkout."""
        self.root = root
        self.pages = {file: (root / file).read_text() for file in files if file.endswith(".md")} | dict(generated)
        self.copies: set[str] = set()  # files to which pages link
        self.anchors = {file: set(ANCHOR.findall(text)) for file, text in self.pages.items()}

    def write(self, target: Path) -> None:
        """Write the pages, and the files to which the pages link, below a folder. A page is written only
        if its content differs, so that Sphinx reads only changed pages again."""
        for file, text in self.pages.items():
            # A page that is not Markdown is generated reStructuredText, and has no links to convert.
            put(target / place(file), self.converted(file) if file.endswith(".md") else text)
        for file in sorted(self.copies):
            copy = target / "files" / file
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(self.root / file, copy)

    def converted(self, file: str) -> str:
        """Return a page with its links and anchors changed for the site. Raises Failure for a link to a file that does
        not exist."""
        lines: list[str] = []
        fence = ""  # first line of the fenced block that contains the line; "": none
        for number, line in enumerate(self.pages[file].splitlines(), 1):
            if match := FENCE.match(line):
                fence = line if not fence else "" if fence.startswith(match[0]) else fence
            elif not fence:
                line = self._line(file, line, f"{file}:{number}", lines)
            elif fence.startswith("```{toctree}") and "*" in line and not self._matches(line):
                continue  # leave out the pattern, because Sphinx warns if no page matches it
            lines.append(line)
        return "\n".join(lines) + "\n"

    def _matches(self, pattern: str) -> bool:
        """Return whether a pattern of a table of contents matches the name of a page in the site."""
        return any(fnmatchcase(place(file).rpartition(".")[0], pattern) for file in self.pages)

    def _line(self, file: str, line: str, where: str, above: list[str]) -> str:
        """Return a line of text with the links changed to destinations in the site, and without the anchors. Each
        anchor becomes a MyST target, which is a line of its own at the end of the lines `above`."""
        for anchor in ANCHOR.findall(line):
            label = f"({_label(file, anchor)})="
            if above and not above[-1]:
                above[-1] = label
            else:
                above.append(label)
        return LINK.sub(lambda match: f"]({self._link(file, match[1], where)})", ANCHOR.sub("", line))

    def _link(self, file: str, to: str, where: str) -> str:
        """Return the destination in the site for a link on the page `file`. `to` is the link's destination in the
        checkout. Raises Failure, with the link's file and line from `where`, if `to` names a file that does not
        exist."""
        if re.match(r"[a-z]+:", to):
            return to
        path, _, anchor = to.partition("#")
        target = normpath(join(dirname(file), path)) if path else file
        if (self.root / target).is_dir():
            target = join(target, "README.md")
        if anchor and anchor in self.anchors.get(target, ()):
            return f"#{_label(target, anchor)}"
        if target in self.pages:
            here = relpath(place(target), dirname(place(file)) or ".")
            return f"{here}#{anchor}" if anchor and path else here if path else f"#{anchor}"
        if not (self.root / target).is_file():
            raise Failure(f"docs: {where}: a link to {to}, which does not exist")
        self.copies.add(target)  # a file that is no page: write() copies the file into the site
        return relpath(f"files/{target}", dirname(place(file)) or ".")


def put(file: Path, text: str) -> None:
    """Write `text` to a file. If the file has this text already, keep its modification time, so that Sphinx does not
    read it again."""
    if not file.exists() or file.read_text() != text:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
