#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Draw lines at random from the sources of device and driver, and print the mutations of each line.

    tests/mutants/draw.py SEED [--device N] [--driver N] [--write FOLDER]

The same seed and the same sources give the same lines. Rules are in README.md, "Drawn mutants".
"""

import argparse
import difflib
import random
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SIDES = {"device": ("qemu-device/",), "driver": ("guest-driver/",)}
# Files from which no lines are drawn, because they have no behaviour, or because only some of
# the passes (basic, full, long) test them.
LEFT_OUT = re.compile(r"/tests/|trace|stubs|_print|query|dump|debugfs|/kfd_criu")
# Statements without effect on the tests: traces, logs, assertions, statistics, the destruction of a mutex, and (on x86)
# barriers.
TELLS = re.compile(
    r"\b(trace_\w+|drm_(err|warn|info|dbg)\w*|dev_(err|warn|info)\w*|pr_\w+|qemu_log\w*|error_setg\w*|WARN\w*|"
    r"assert\w*|g_assert\w*|lockdep_\w+|might_\w+|vgpu_stat_add|vgpu_count|(qemu_)?mutex_destroy|"
    r"cond_resched|smp_\w+|[rw]?mb|dma_[rw]mb|EXPORT_\w+)\s*\("
)
ERRORS = re.compile(r"^\s*(return (-E\w+|ERR_PTR\(.*\)|false|NULL)|goto \w+|break|continue|return)\s*;")
DECLARES = re.compile(
    r"^\s*(const |static |struct |unsigned |enum |bool |u?int\w* |u\d+ |s\d+ |long |char |void |size_t )"
)
SWAPS = (
    ("<=", "<"), (">=", ">"), ("==", "!="), ("!=", "=="), (" < ", " <= "), (" > ", " >= "),
    (" && ", " || "), (" || ", " && "), (" + 1", ""), (" - 1", ""), (" + ", " - "), (" - ", " + "),
    (" += ", " -= "), (" & ", " | "), (" | ", " & "), (" |= ", " &= "), (" << ", " >> "), (" >> ", " << "),
    ("true", "false"), ("false", "true"),
)  # fmt: skip
CONDITION = re.compile(r"^(\s*(?:\} else )?(?:if|while) \()(.*)(\)(?: \{)?)$")
STATEMENT = re.compile(r"^\s*(\*?[\w.>\[\]()*&-]+ [|&+-]?= .*|\w+\(.*\)|[\w.>\[\]-]+(\+\+|--));$")


@dataclass
class Line:
    """A source line that can be drawn for a mutation."""

    path: str
    number: int  # the first line is 1
    text: str

    def mutations(self) -> list[str]:
        """Return the possible replacements of the line, the preferred one first. An empty string removes the line."""
        new = []
        for old, other in SWAPS:
            if self.text.count(old) and not (old in "<>" and "->" in self.text.replace("->", "")):
                at = self.text.index(old)
                new.append(self.text[:at] + other + self.text[at + len(old) :])
        if found := CONDITION.match(self.text):
            new.append(f"{found[1]}!({found[2]}){found[3]}")
        if STATEMENT.match(self.text):
            new.append("")
        return list(dict.fromkeys(new))

    def patch(self, mutation: str) -> str:
        """Return the mutation as a patch for `git apply` in the checkout's top folder."""
        old = (ROOT / self.path).read_text().splitlines(keepends=True)
        new = [*old[: self.number - 1], *([mutation + "\n"] if mutation else []), *old[self.number :]]
        return "".join(difflib.unified_diff(old, new, f"a/{self.path}", f"b/{self.path}"))


def sources(side: str) -> list[str]:
    """Return the C files of a side ("device" or "driver"), in git's order."""
    listed = subprocess.run(
        ["git", "ls-files", *SIDES[side]], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    return [path for path in listed if path.endswith(".c") and not LEFT_OUT.search(path)]


def lines(path: str) -> Iterator[Line]:
    """Yield the lines of a file that are a complete statement or condition in a function, and not in an error path."""
    inside = comment = leaving = False
    before = ";"
    for number, text in enumerate((ROOT / path).read_text().splitlines(), 1):
        if text == "{":
            inside, leaving, before = True, False, "{"
            continue
        if text.startswith("}"):
            inside = False
        word = text.strip()
        comment = comment or word.startswith("/*")
        if not inside or comment or not word or word in ("{", "}", "} else {", "do {", "else"):
            comment = comment and "*/" not in word
            if word and not comment and not word.startswith("/*") and not word.endswith("*/"):
                before = word[-1]
            continue
        leaving = leaving or bool(re.match(r"\w*(err|fail|out)\w*:$", word))
        whole = before in ";{}:" and (word[-1] in ";{" or CONDITION.match(text) is not None)
        before = ";" if CONDITION.match(text) else word[-1]
        if whole and not leaving and not TELLS.search(text) and not ERRORS.match(text) and not DECLARES.match(text):
            yield Line(path, number, text)


def draw(seed: int, side: str) -> Iterator[Line]:
    """Yield all lines of a side ("device" or "driver") that have a mutation, shuffled by the seed."""
    all_lines = [line for path in sources(side) for line in lines(path) if line.mutations()]
    random.Random(f"{side} {seed}").shuffle(all_lines)
    return iter(all_lines)


def main() -> None:
    """Print the drawn lines and their mutations. With --write, write a patch for each mutation."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seed", type=int)
    parser.add_argument("--device", type=int, default=7)
    parser.add_argument("--driver", type=int, default=3)
    parser.add_argument("--write", type=Path, help="write a patch of each mutation into this folder")
    options = parser.parse_args()
    for side in SIDES:
        for place, line in zip(range(1, getattr(options, side) + 1), draw(options.seed, side), strict=False):
            print(f"{side} {place}: {line.path}:{line.number}: {line.text.strip()}")
            for choice, mutation in enumerate(line.mutations(), 1):
                print(f"    {choice}: {mutation.strip() or '(left out)'}")
                if options.write:
                    options.write.mkdir(parents=True, exist_ok=True)
                    (options.write / f"{side}-{place}-{choice}.patch").write_text(line.patch(mutation))


if __name__ == "__main__":
    main()
