# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests the check of includes and imports (rooms.txt) on small trees and on this checkout."""

import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from avocado import Test

from vgpu_tools.base.paths import ROOT
from vgpu_tools.testing import rooms, rooms_file

HEAD = "[d]\nlow:\nmid: low\ntop: low mid\n"
C = {
    "d/low/low.c": "",
    "d/low/low.h": "",
    "d/low/low_priv.h": "",
    "d/mid/mid.c": "",
    "d/mid/mid.h": "",
    "d/top/top.c": "",
}
# Matches the name of a file in a README.md, or a list of functions in parentheses. The functions
# belong to the file that is named before the list.
NAMED = re.compile(r"`([\w/-]+\.[ch])`|\((`\w+\(\)`(?:,\s+`\w+\(\)`)*)\)")
PYTHON = {f"t/p/{name}": "" for name in ("__init__.py", "low/__init__.py", "low/a.py", "top/__init__.py", "top/b.py")}


def include(name: str) -> str:
    return f'#include "{name}"\n'


class Small(Test):
    """The check of includes and imports, on trees of a few files."""

    def found(self, listed: str, *trees: dict[str, str]) -> list[str]:
        """Return the violations in a tree of files. A later dictionary replaces files of earlier ones."""
        files = {"rooms.txt": listed}
        for tree in trees:
            files |= tree
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            wrong, self.sizes = rooms.check(Path(folder), sorted(files))
        return wrong

    def only(self, wrong: list[str], *words: str) -> None:
        self.assertEqual(len(wrong), 1, wrong)
        for word in words:
            self.assertIn(word, wrong[0])

    def test_allowed(self) -> None:
        """Catches: the check refuses an allowed include, in one of several spellings of the included file's path."""
        for name in ("../low/low.h", "low/low.h", "low.h"):
            self.assertEqual(self.found(HEAD, C, {"d/mid/mid.c": include(name)}), [], name)
        self.assertEqual(self.found(HEAD, C, {"d/low/low.c": include("low_priv.h")}), [])
        own = {"include/vgpu/x.h": "", "d/low/low.c": "#include <vgpu/x.h>\n#include <stdio.h>\n" + include("qemu/x.h")}
        self.assertEqual(self.found(HEAD, C, own), [])

    def test_upward(self) -> None:
        """Catches: the check accepts one of several spellings of a forbidden include; a message lacks FILE:LINE or
        "low -> mid"."""
        for line in (
            include("../mid/mid.h"), include("mid/mid.h"), include("mid.h"), include("hw/d/mid/mid.h"),
            "#include <mid/mid.h>\n", "#include <mid.h>\n", '# \tinclude  "mid.h" /* x */\n',
        ):  # fmt: skip
            wrong = self.found(HEAD.replace("[d]", "[d hw/d/]"), C, {"d/low/low.c": f"\n{line}"})
            self.only(wrong, "d/low/low.c:2: low -> mid (d/mid/mid.h)", "rooms.txt:2 does not allow it: low:")

    def test_not_code(self) -> None:
        """Catches: an include in a comment is found; line numbers after a comment are wrong; a string counts as a
        comment."""
        text = (
            '// #include "mid.h"\n/*\n#include "mid.h"\n*/\nchar *s = "/*";\nchar c = \'"\';\n#include "mid.h"\n/* */'
        )
        self.only(self.found(HEAD, C, {"d/low/low.c": text}), "d/low/low.c:7:")

    def test_faces(self) -> None:
        """Catches: the check accepts the include of a .c file, or of a header that other rooms may not include, or
        refuses an allowed header."""
        # rooms.txt allows room mid (folder d/mid) to use room low, and has no `face` line for room low. So room mid may
        # include neither a private header of room low (low_priv.h) nor a .c file.
        for name in ("low_priv.h", "low.c"):
            self.only(self.found(HEAD, C, {"d/mid/mid.c": include(name)}), "d/mid/mid.c:1: mid -> low", "rooms.txt:2")
        # With this `face` line, room mid may include low_priv.h, but no other header of room low.
        listed = f"{HEAD}face low:\n low_priv.h\n"
        self.assertEqual(self.found(listed, C, {"d/mid/mid.c": include("low_priv.h")}), [])
        self.only(self.found(listed, C, {"d/mid/mid.c": include("low.h")}), "no face of low", "rooms.txt:5")
        every = HEAD.replace("top: low mid", "top: *")
        self.assertEqual(self.found(every, C, {"d/top/top.c": include("low_priv.h")}), [])
        deep = {"d/low/in/deep.h": "", "d/mid/mid.c": include("low/in/deep.h")}
        self.assertEqual(self.found(f"{HEAD}face low: deep.h", C, deep), [])

    def test_circles(self) -> None:
        """Catches: the check accepts a circle of rooms in one of these cases:
        - The lines of rooms.txt allow rooms to use each other in a circle.
        - The lines allow rooms to use all rooms ("*"), and the includes form a circle."""
        self.only(self.found("[d]\nlow: top\nmid: low\ntop: mid\n", C), "a circle in what is allowed", "rooms.txt:2")
        uses = {"d/low/low.c": include("mid.h"), "d/mid/mid.c": include("low.h")}
        self.only(
            self.found("[d]\nlow: *\nmid: *\ntop:\n", C, uses), "a circle of rooms", "d/low/low.c:1", "d/mid/mid.c:1"
        )

    def test_known(self) -> None:
        """A `known` line of rooms.txt allows one include that the other lines forbid. Catches: this include is refused;
        another include between the same rooms is accepted; a stale `known` line is accepted."""
        uses = {"d/low/low.c": include("mid.h")}
        listed = f"{HEAD}known: low/low.c -> mid/mid.h\n"
        self.assertEqual(self.found(listed, C, uses), [])
        self.only(self.found(listed, C, uses, {"d/low/low.h": include("mid.h")}), "d/low/low.h:1")
        # A `known` line is stale if the include does not exist, or if another line allows the include.
        self.only(self.found(listed, C), "rooms.txt:5: stale")
        self.only(
            self.found("[d]\nlow: mid\nmid:\ntop:\nknown: low/low.c -> mid/mid.h\n", C, uses), "rooms.txt:5: stale"
        )

    def test_python(self) -> None:
        """Catches: a forbidden import is accepted (at module level, in a function, relative, or under TYPE_CHECKING);
        the use of another module's private name is accepted."""
        listed = "[t/p p.]\n.:\nlow:\ntop: low\n"
        for line in (
            "import p.top.b", "from p.top import b", "from p.top.b import x", "def f():\n    from p.top import b",
            "from ..top import b", "from ..top.b import x", "if TYPE_CHECKING:\n    import p.top.b as y",
        ):  # fmt: skip
            self.only(self.found(listed, PYTHON, {"t/p/low/a.py": line}), "t/p/low/a.py:", "low -> top (t/p/top/b.py)")
        self.assertEqual(
            self.found(listed, PYTHON, {"t/p/top/b.py": "import os\nfrom p.low import a\na.x = a.__name__"}), []
        )
        for line in ("from p.low.a import _x", "from p.low import a\na._x", "import p.low.a\np.low.a._x"):
            self.only(self.found(listed, PYTHON, {"t/p/top/b.py": line}), "_x is private to t/p/low/a.py")
        self.only(self.found(listed, PYTHON, {"t/p/low/a.py": "import ("}), "t/p/low/a.py:1: ")
        scripts = {
            "s/helper.py": "",
            "s/test.py": "import helper\nfrom p.top import b\nb._x",
            "t/p/low/a.py": "import helper",
        }
        self.only(self.found(f"{listed}/s: *\n", PYTHON, scripts), "t/p/low/a.py:1: low -> /s (s/helper.py)")

    def test_sections(self) -> None:
        """Catches: a room that may use all rooms of its section ("*") may also use rooms of another section."""
        other = {"e/x.c": include("hw/d/low/low.h")}
        listed = HEAD.replace("[d]", "[d hw/d/]")
        self.only(self.found(f"{listed}[e]\n.: *\n", C, other), "e/x.c:1: . -> /d/low (d/low/low.h)")
        self.assertEqual(self.found(f"{listed}[e]\n.: /d/low\n", C, other), [])

    def test_folders(self) -> None:
        """Catches: a file belongs to a wrong room. Catches: the check accepts a folder without a line in rooms.txt, an
        ambiguous include, or a header in include/vgpu that includes a header of a room."""
        nested = {"d/mid/in/in.c": include("mid/mid.h"), "d/mid/also/x.c": include("low/low.h")}
        # The line "mid/*" applies to room mid/in. It does not apply to room mid/also, which has its own line.
        listed = f"{HEAD}mid/*: low\nmid/also:\n"
        wrong = self.found(listed, C, nested)
        self.assertEqual(len(wrong), 2, wrong)
        self.assertIn("d/mid/also/x.c:1: mid/also -> low", wrong[0])
        self.assertIn("d/mid/in/in.c:1: mid/in -> mid", wrong[1])
        self.only(self.found(HEAD, C, {"other/x.c": ""}), "other/x.c: no line of rooms.txt has its folder")
        self.only(
            self.found(HEAD, C, {"d/mid/low.h": "", "d/top/top.c": include("low.h")}), "d/top/top.c:1: may be any of"
        )
        self.only(self.found(HEAD, C, {"include/vgpu/x.h": include("../../d/low/low.h")}), "include/vgpu/x.h:1: ")

    def test_declarations(self) -> None:
        """Catches: a prototype or an extern declaration in a .c file is accepted; a static declaration
        is refused. (With a prototype, a file could use another room without an include, and the check
        of includes would not find this use.)"""
        for line in (
            "int f(void);",
            "struct x *f(int a,\n\tint b);",
            "X(a)\nint f(void);",
            "void g(void)\n{\n\tint f(int);\n}",
        ):
            self.only(self.found(HEAD, C, {"d/low/low.c": line}), "d/low/low.c:", "prototype of f()")
        self.only(self.found(HEAD, C, {"d/low/low.c": "\nextern int x;"}), "d/low/low.c:2: extern")
        fine = """
            static int f(void);
            typedef int (*fn)(int);
            #define MAKE(x) int x(void);
            DEFINE_MUTEX(lock);
            static int g(int a) { int b = f(a); if (a) return f(b); else f(a); f(b); a = b *
                f(a); return sizeof(a); }
            char *s = "extern int f(void);"; // extern
            struct x y __attribute__((aligned(8))), z[2] QEMU_ALIGNED(8);
        """
        self.assertEqual(self.found(HEAD, C, {"d/low/low.c": fine, "d/low/low.h": "extern int x;\nint f(void);"}), [])

    def test_sizes(self) -> None:
        """Catches: a large file or folder is not in the list of sizes; a large file or folder counts as a violation."""
        large = {"d/low/low.h": "\n" * 301, "d/mid/mid.c": "\n" * 601, **{f"d/top/{n}.c": "" for n in range(25)}}
        self.assertEqual(self.found(HEAD, C, large), [])
        self.assertEqual([size.partition(":")[0] for size in self.sizes], ["d/low/low.h", "d/mid/mid.c", "d/top"])

    def test_malformed(self) -> None:
        """Catches: a malformed line is ignored; an error lacks the line number or the reason."""
        for text, line, words in (
            ("low:\n", 1, "before the first [FOLDER]"),
            (" low:\n", 1, "goes on with a line that is not there"),
            (f"{HEAD}nonsense\n", 5, "is none of"),
            (f"{HEAD}: low\n", 5, "names no folder"),
            (f"{HEAD}[x]\n", 5, "no folder x with sources"),
            (f"{HEAD}[d]\n", 5, "a second [d]"),
            (f"{HEAD}high: low\n", 5, "no folder d/high with sources"),
            (f"{HEAD}high/*: low\n", 5, "no folder like d/high/* with sources"),
            (f"{HEAD}low: mid\n", 5, "low is in line 2 already"),
            ("[d]\nlow mid: high # no\n", 2, "no room d/high"),
            ("[d]\nlow:\n# x\nmid: low\n low\n", 4, "low stands there twice"),
            ("[d]\nlow: low\n", 2, "names itself"),
            ("[d]\nlow:\nmid: low *\n", 3, "no room d/*"),
            (f"{HEAD}face high: low.h\n", 5, "no room high"),
            (f"{HEAD}face low: high.h\n", 5, "low has no file high.h"),
            (f"{HEAD}face low: low.h low.h\n", 5, "low.h stands there twice"),
            (f"{HEAD}face low: low.h\nface low: low_priv.h\n", 6, "in line 5 already"),
            (f"{HEAD}face: low.h\n", 5, "no room before the colon"),
            (f"{HEAD}known: low/low.c mid/mid.h\n", 5, "is not known: FILE -> FILE"),
            (f"{HEAD}known x: low/low.c -> mid/mid.h\n", 5, "is not known: FILE -> FILE"),
            (f"{HEAD}known: low/low.c -> mid/high.h\n", 5, "no source file d/mid/high.h"),
            (f"{HEAD}known: low/low.c -> mid/mid.h\nknown: low/low.c -> mid/mid.h\n", 6, "in line 5 already"),
        ):
            wrong = self.found(text, C)
            self.assertTrue(any(one.startswith(f"rooms.txt:{line}: ") and words in one for one in wrong), (text, wrong))
        with tempfile.TemporaryDirectory() as folder:
            self.only(rooms.check(Path(folder), ["a.c"])[0], "has no rooms.txt")


class Here(Test):
    """This checkout must keep the rules of rooms.txt, and the documents must name existing files. Some tests add a
    forbidden line to a copy of the checkout: rooms.check() must report the line."""

    def setUp(self) -> None:
        self.files = rooms.files_of(ROOT)

    def named(self, name: str, below: str) -> str:
        return next(file for file in self.files if file.startswith(f"{below}/") and Path(file).name == name)

    def meant(self, page: Path, name: str) -> list[Path]:
        """Return the files that the README.md in folder `page` can mean by `name`. In a README.md of a/b/c, `name` can
        be relative to a/b/c, to a/b or to a."""
        tops = (page, Path(*page.parts[:1]), Path(*page.parts[:2]))
        return [top / name for top in dict.fromkeys(tops) if str(top / name) in self.files]

    def in_parentheses(self, page: Path) -> Iterator[tuple[str, str]]:
        """Yield the functions that the README.md of a folder names in parentheses, each with the
        file that is named before it."""
        for item in re.split(r"\n\n|\n- ", (ROOT / page / "README.md").read_text()):
            file = ""
            for name, functions in NAMED.findall(item):
                file = name or file
                for function in re.findall(r"\w+", functions) if file else ():
                    yield file, function

    def with_line(self, file: str, line: str) -> list[str]:
        """Return the violations in a copy of this checkout with a line added at the end of a file."""
        with tempfile.TemporaryDirectory() as folder:
            for name in self.files:
                if name.endswith((*rooms.C_SUFFIXES, ".py")) or name == "rooms.txt":
                    (Path(folder) / name).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(ROOT / name, Path(folder) / name)
            with (Path(folder) / file).open("a") as out:
                out.write(f"{line}\n")
            return rooms.check(Path(folder), self.files)[0]

    def caught(self, file: str, line: str, target: str) -> None:
        """Check that `line`, added to `file`, is the only violation. `target` is the file that `line` includes or
        imports."""
        wrong = self.with_line(file, line)
        self.assertEqual(len(wrong), 1, wrong)
        self.assertIn(f"{file}:", wrong[0])
        self.assertIn(f"({target})", wrong[0])

    def test_passes(self) -> None:
        """Catches: this checkout has a violation of rooms.txt."""
        self.assertEqual(rooms.check(ROOT, self.files)[0], [])

    def test_in_the_tree(self) -> None:
        """Catches: a folder of rooms.txt is listed neither in docs/tree.md nor in docs/driver.md."""
        pages = "".join((ROOT / "docs" / page).read_text() for page in ("tree.md", "driver.md"))
        lists = "".join(line for line in pages.splitlines(keepends=True) if "── " in line)
        listed = {Path(path).name for path in re.findall(r"── (\S+)", lists)}
        missing = {
            room
            for room in rooms_file.Rooms((ROOT / rooms_file.LIST).read_text(), self.files).rooms
            if Path(room).name not in listed
        }
        self.assertEqual(missing, set())

    def test_ways(self) -> None:
        """docs/tree.md describes how the device handles a packet or a fault. Its steps name files.
        docs/driver.md describes ways through the driver. Its steps name files and functions. Catches:
        a step names a file or a function that does not exist."""
        text = (ROOT / "docs/tree.md").read_text()
        steps = set(re.findall(r"`([a-z]+/[a-z-]+\.c)`", text))
        self.assertGreater(len(steps), 10)
        self.assertEqual({step for step in steps if f"qemu-device/{step}" not in self.files}, set())

        text = (ROOT / "docs/driver.md").read_text().split('<a id="ways"></a>')[1].split("\nThe `README.md` of each")[0]
        steps = set(re.findall(r"`([\w/]+\.c)`", text))
        self.assertGreater(len(steps), 25)
        self.assertEqual({step for step in steps if f"guest-driver/{step}" not in self.files}, set())
        names = set(re.findall(r"`(\w+)\(\)`", text))
        self.assertGreater(len(names), 5)
        sources = "".join((ROOT / file).read_text() for file in self.files if re.match(r"guest-driver/.*\.c$", file))
        self.assertEqual({name for name in names if not re.search(rf"^\w.*\b{name}\(", sources, re.MULTILINE)}, set())

    def test_in_a_readme(self) -> None:
        """Catches: a .c file of driver or device is not named in a README.md; a README.md names a file that does not
        exist."""
        inside = [Path(file) for file in self.files if file.startswith(("guest-driver/", "qemu-device/"))]
        sources = {file for file in inside if file.suffix == ".c"}
        pages = {file.parent for file in inside if file.name == "README.md"}
        named = {page: set(re.findall(r"`([\w/-]+\.c)`", (ROOT / page / "README.md").read_text())) for page in pages}
        known: set[Path] = set()
        for page, names in named.items():
            known |= {page / name for name in names}
            self.assertEqual({name for name in names if not self.meant(page, name)}, set(), page)
        tests = {file for file in sources if file.stem.endswith(("-test", "_test"))}
        self.assertEqual({str(file) for file in sources - tests - known}, set())

    def test_functions_in_a_readme(self) -> None:
        """Catches: a README.md of driver or device gives the wrong file for a function. (Such a README.md names the
        functions of a file in parentheses after the file.)"""
        pages = [Path(file).parent for file in self.files if re.match("(guest-driver|qemu-device)/.*README.md", file)]
        named = [(page, file, function) for page in pages for file, function in self.in_parentheses(page)]
        self.assertGreater(len(named), 200)
        missing = []
        for page, file, function in named:
            source = "".join((ROOT / path).read_text() for path in self.meant(page, file))
            if not re.search(rf"^(\w.*\W)?{function}\(", source, re.MULTILINE):
                missing.append(f"{page}: {file}: {function}()")
        self.assertEqual(missing, [])

    def test_queues_in_svm(self) -> None:
        """Catches: an include of a header of kfd/ in a file of svm/ is accepted."""
        target = self.named("kfd_queue.h", "guest-driver/kfd")
        line = f'#include "{target.removeprefix("guest-driver/")}"'
        self.caught(self.named("svm_range.c", "guest-driver/svm"), line, target)

    def test_device_in_its_tests(self) -> None:
        """Catches: the check accepts that a test of the device includes an internal header of the device."""
        target = self.named("vgpu-kfd.h", "qemu-device")
        line = f'#include "hw/misc/vgpu-kfd/{target.removeprefix("qemu-device/")}"'
        self.caught(self.named("pci-test.c", "qemu-device/tests"), line, target)

    def test_tool_upwards(self) -> None:
        """Catches: the check accepts that a file in vgpu_tools/base imports a module of vgpu_tools/testing, at the top
        of the file or in a function. (rooms.txt forbids such an import.)"""
        file, target = self.named("errors.py", "tools/vgpu_tools"), "tools/vgpu_tools/testing/run.py"
        self.caught(file, "from vgpu_tools.testing import run", target)
        self.caught(file, "\n\ndef late() -> None:\n    from vgpu_tools.testing.run import run_changed", target)
