# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests the suite howto, which runs the scripts of the how-to pages and compares output with excerpts.

Catches: a script of a page is not run; output that lacks an expected line passes; a page names a file that does not
exist.
"""

import re
import subprocess
import tempfile
from pathlib import Path
from unittest import mock

from avocado import Test

from vgpu_tools.base.paths import ROOT
from vgpu_tools.testing import howto, limits
from vgpu_tools.testing.suite import Context, Plan

PAGE = """# A page

```sh
not run
```

```sh run seconds=5 status=3
echo one
exit 3
```

prints

```text
one
```

1. in a list:

   ```sh run
   cat <<'END'
     two
   END
   ```

````text
```
````

```sh run
true
```

```
no excerpt
```
"""
# Top folders of the checkout. If a page has a path in backticks that begins with such a folder, test_files() checks
# this path.
FOLDERS = "guest-driver|qemu-device|include|guest-rootfs|tools|tests|configs|bench|docs"


class Pages(Test):
    """howto.steps_of(), which reads a page."""

    def test_steps(self) -> None:
        """Catches: a block without "run" is a step; a step gets another step's script or excerpt; an option is ignored;
        the script of a step in a list keeps the indentation of the list."""
        steps = howto.steps_of(PAGE)
        self.assertEqual([step.line for step in steps], [7, 20, 30])
        self.assertEqual(steps[0], howto.Step(7, "echo one\nexit 3", ("one",), 5.0, 3))
        self.assertEqual(steps[1], howto.Step(20, "cat <<'END'\n  two\nEND", ("```",)))
        self.assertEqual(steps[2], howto.Step(30, "true"))
        self.assertEqual([step.title for step in steps], ["echo one", "cat <<'END'", "true"])
        self.assertEqual(len(howto.Step(1, "x" * 200).title), howto.WIDTH)

    def test_malformed(self) -> None:
        """Catches: a block without an end, an unknown option or an empty script is accepted."""
        for text, said in (
            ("a\n```sh run\ntrue\n", "line 2: the block has no end"),
            ("```sh run second=5\ntrue\n```\n", "line 1: unknown option 'second=5'"),
            ("```sh run\n\n```\n", "line 1: the script is empty"),
        ):
            with self.assertRaisesRegex(ValueError, said):
                howto.steps_of(text)
        self.assertEqual(howto.steps_of("```sh running\nfalse\n```\n"), [])


class Excerpts(Test):
    """howto.lacks() and howto.judge(), which compare output with an excerpt."""

    def test_present(self) -> None:
        """Catches: lacks() reports an excerpt as missing although the output has the excerpt."""
        output = "start\na 1 b\n\nlast  \nend\n"
        for expected in (
            [],
            ["..."],
            ["a 1 b"],
            ["a ... b", "", "last"],
            ["start", "...", "end"],
            ["...", "start", "...", "a 1 b", "...", "last", "end", "..."],
        ):
            self.assertEqual(howto.lacks(expected, output), "", expected)

    def test_absent(self) -> None:
        """Catches: an excerpt is found although the output has the excerpt's lines in another
        order, with a line between them, or with more text in a line; a dot in an excerpt matches
        any character."""
        output = "a\nb\nc\nx1y\n"
        for expected, part in (
            (["d"], "d"),
            (["b", "a"], "b\na"),
            (["a", "c"], "a\nc"),
            (["b", "...", "a"], "a"),
            (["a", "...", "a"], "a"),
            (["x"], "x"),
            (["x.y"], "x.y"),
            (["c", "x...z"], "c\nx...z"),
        ):
            self.assertEqual(howto.lacks(expected, output), part, expected)
        self.assertEqual(howto.lacks(["a"], ""), "a")

    def test_judge(self) -> None:
        """Catches: a step passes although its exit status is wrong, or although its script reached the time limit; the
        reason of a failure lacks the output."""
        step = howto.Step(1, "true", ("a",), status=1)
        self.assertEqual(howto.judge(step, 1, "a\n"), "")
        for status, output, said in (
            (0, "a\n", "exit status 0, should be 1\noutput:\na"),
            (None, "a\n", "not done after 180 s"),
            (1, "b\n", "not printed:\na\noutput:\nb"),
            (-9, "a\n", "SIGKILL, should be 1"),
        ):
            self.assertIn(said, howto.judge(step, status, output))
        self.assertIn("output:\n...\n", howto.judge(step, 0, "b\n" * 100))


class Copies(Test):
    """Tests howto.Tree, the copy of the checkout. Also tests howto.run(), which runs the scripts of the how-to pages in
    this copy."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.source, self.place = Path(folder.name) / "source", Path(folder.name) / "place"
        self.source.mkdir()
        subprocess.run(["git", "-C", str(self.source), "init", "-q"], check=True)
        (self.source / ".gitignore").write_text("/build/\n*.o\n")
        (self.source / "kept").write_text("old\n")
        (self.source / "removed").write_text("old\n")
        self.tree = howto.Tree(self.place, self.source)
        self.context = Context(scale=1.0)

    def page(self, text: str) -> list[tuple[str, str]]:
        """Run the scripts of a how-to page that has this text, in the copy of the checkout. Return the
        outcome and the reason of each case. The first case is the preparation."""
        page, log = self.place / "page.md", self.place / "log"
        page.write_text(text)
        with (
            mock.patch.object(howto, "pages", return_value=[page]),
            mock.patch.object(howto, "Tree", return_value=self.tree),
            mock.patch.object(howto, "PREPARE", "mkdir -p build && echo made >>build/file"),
            mock.patch.object(howto, "ROOT", self.place),
        ):
            return [(case.outcome, case.why) for case in howto.run(log, Plan(), self.context)]

    def test_fill(self) -> None:
        """Catches: fill() does not copy a new or changed file of the checkout, or keeps a removed file in the copy.
        Catches: fill() deletes the results of builds from the copy. Catches: after fill() or reset(), the copy still
        has a change that a script made, or a folder with ignored files, so that the same script fails."""
        self.tree.fill()
        (self.tree.tree / "build").mkdir()
        (self.tree.tree / "build/file").write_text("built\n")
        (self.tree.tree / "kept").write_text("changed by a script\n")
        (self.tree.tree / "made").mkdir()
        (self.tree.tree / "made/file.o").write_text("by a script\n")
        (self.source / "removed").unlink()
        (self.source / "new").write_text("new\n")
        (self.source / "kept").write_text("newer\n")
        self.tree.fill()
        names = {path.name for path in self.tree.tree.iterdir()}
        self.assertEqual(names, {".git", ".gitignore", "build", "kept", "new"})
        self.assertEqual((self.tree.tree / "kept").read_text(), "newer\n")
        (self.tree.tree / "kept").write_text("changed by a script\n")
        self.tree.reset()
        self.assertEqual((self.tree.tree / "kept").read_text(), "newer\n")

    def test_page(self) -> None:
        """Catches: steps run in a wrong folder or order; a step runs after a failed step; a
        script goes on after a failed command."""
        self.place.mkdir()
        step = "```sh run\n{}\n```\n\n```text\n{}\n```\n"
        text = step.format("echo mine >>kept", "...") + step.format("cat kept build/file", "old\nmine\nmade")
        self.assertEqual(self.page(text), [("passed", "")] * 3)
        text += step.format("false\ntrue", "...") + step.format("true", "...")
        (prepared, first, second, third, fourth) = self.page(text.replace("\nmade", "\nmade\nmade"))
        self.assertEqual([prepared, first, second], [("passed", "")] * 3)
        self.assertEqual(third, ("failed", "exit status 1, should be 0\noutput:\n"))
        self.assertEqual(fourth, ("skipped", "the step in line 18 has failed"))
        self.assertEqual(self.page("```sh run\n")[1], ("failed", "line 1: the block has no end"))

    def test_limit(self) -> None:
        """Catches: a script that hangs is not ended at the time limit; a process that a script has
        started still runs after the script's end."""
        self.tree.fill()
        with mock.patch.object(limits, "measure", return_value=(1, 1)):
            status, output = self.tree.run(howto.Step(1, "sleep 1000 & echo $!; wait", seconds=0.5), self.context)
        self.assertIsNone(status)
        self.assertFalse(Path(f"/proc/{int(output)}/exe").exists())
        status, output = self.tree.run(howto.Step(1, "sleep 1000 & echo $!"), self.context)
        self.assertEqual(status, 0)
        self.assertFalse(Path(f"/proc/{int(output)}/exe").exists())


class Here(Test):
    """The pages of this checkout."""

    def test_steps(self) -> None:
        """Catches: a page is malformed, has no "```sh run" block, or does not end with the section about failures."""
        self.assertGreater(len(howto.pages()), 1)
        for page in howto.pages():
            text = page.read_text()
            self.assertTrue(howto.steps_of(text), page)
            heads = [line for line in re.sub("(?ms)^ *```.*?^ *```$", "", text).splitlines() if line.startswith("## ")]
            self.assertEqual(heads[-1], "## If it does not work", page)

    def test_files(self) -> None:
        """Catches: a page names a file that neither exists nor is created by the page's commands; a
        link leads to no file."""
        for page in howto.pages():
            text = page.read_text()
            made = set(re.findall(r"(?:cat >>?|\+\+\+ b/|mkdir (?:-p )?)([\w./-]+)", text))
            for name in re.findall(rf"`((?:{FOLDERS})/[\w./-]+)", text):
                self.assertTrue((ROOT / name).exists() or name in made, f"{page.name}: {name}")
            for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
                if "://" not in target:
                    self.assertTrue((page.parent / target).exists(), f"{page.name}: {target}")

    def test_width(self) -> None:
        for page in howto.pages():
            for number, line in enumerate(page.read_text().splitlines(), 1):
                self.assertLessEqual(len(line.expandtabs(8)), 100, f"{page.name}:{number}")
