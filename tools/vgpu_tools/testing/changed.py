# SPDX-License-Identifier: GPL-2.0-or-later
"""./vgpu test --changed: chooses the tests that the changed files can break, by the table tests/changed.toml.

The first rule of the table that matches a file lists the tests for this file.
"""

import re
import subprocess
import tomllib
from dataclasses import dataclass, field

from vgpu_tools.base.errors import Failure
from vgpu_tools.base.paths import ROOT
from vgpu_tools.testing import registry
from vgpu_tools.testing.suite import FULL, Plan

FILE = ROOT / "tests/changed.toml"
KEYS = {"paths", "suites", "programs", "machines"}
GUESTS = "guest-"  # prefix of the names of suites that run `programs`


@dataclass(frozen=True)
class Rule:
    """A row of the table tests/changed.toml."""

    paths: tuple[str, ...]  # regular expressions for a file's whole name
    suites: tuple[str, ...] = ()
    # In `programs` and `machines`, "\1" stands for a part of the file's name: the part that matched the first group
    # "(...)" of the regular expression.
    programs: tuple[str, ...] = ()  # programs of the guest suites
    machines: tuple[str, ...] = ()  # files of tests/avocado and tests/tools, without .py


@dataclass
class Choice:
    """The tests to run for some changed files."""

    files: list[str] = field(default_factory=list)
    suites: set[str] = field(default_factory=set)
    programs: set[str] = field(default_factory=set)
    machines: set[str] = field(default_factory=set)

    def plan(self, fail_fast: bool) -> Plan:
        """Return the plan for these tests. Guest programs run in their full form, because
        changed files select only few programs."""
        return Plan(
            FULL,
            fail_fast=fail_fast,
            programs=frozenset(self.programs),
            files=tuple(self.files),
            machines=frozenset(self.machines),
        )


def load(text: str = "") -> list[Rule]:
    """Read the rules in tests/changed.toml or, if given, in `text`. Raises Failure for unknown keys, unknown suites and
    malformed expressions."""
    known = {suite.name for suite in registry.SUITES}
    try:
        rows = tomllib.loads(text or FILE.read_text())["rule"]
        for row in rows:
            if wrong := sorted((row.keys() - KEYS) | (set(row.get("suites", ())) - known)):
                raise Failure(f"{FILE}: there is no suite or key '{wrong[0]}'", status=2)
            for path in row["paths"]:
                re.compile(path)
        return [Rule(**{key: tuple(value) for key, value in row.items()}) for row in rows]
    except (OSError, tomllib.TOMLDecodeError, KeyError, TypeError, re.error) as error:
        raise Failure(f"{FILE}: {error!r}", status=2) from None


def choose(rules: list[Rule], files: list[str]) -> Choice:
    """Choose the tests for files. Raises Failure if no rule matches a file, because then the table
    is incomplete."""
    choice = Choice(files)
    for file in files:
        match = next(
            ((rule, found) for rule in rules for path in rule.paths if (found := re.fullmatch(path, file))), None
        )
        if not match:
            raise Failure(f"{FILE}: no rule for {file}", status=2)
        rule, found = match
        choice.suites |= set(rule.suites)
        choice.programs |= {found.expand(name) for name in rule.programs}
        choice.machines |= {found.expand(name) for name in rule.machines}
    return choice


def _git(*words: str) -> list[str]:
    result = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=False)
    if result.returncode:
        raise Failure(f"git {' '.join(words)}: {result.stderr.strip()}", status=1)
    return [name for name in result.stdout.split("\0") if name]


def files(since: str = "") -> list[str]:
    """Return the names of the untracked files, and of the files that differ from the commit `since`; empty: HEAD."""
    new = _git("ls-files", "--others", "--exclude-standard", "-z")
    changed = _git("diff", "--name-only", "-z", since or "HEAD", "--")
    # Without any change since HEAD, return the files that HEAD changed.
    if not since and not changed and not new:
        changed = _git("diff", "--name-only", "-z", "HEAD^", "HEAD", "--")
    return sorted({*changed, *new})


def describe(choice: Choice) -> str:
    """Return the text that ./vgpu test --changed prints before the tests. At most eight changed files are named."""
    lines = [f"changed: {', '.join(map(str, choice.files[:8]))}" + (" ..." if len(choice.files) > 8 else "")]
    lines += [f"suites: {', '.join(suite.name for suite in registry.SUITES if suite.name in choice.suites) or 'none'}"]
    if choice.programs:
        lines.append(f"programs: {' '.join(sorted(choice.programs))}")
    if choice.machines:
        lines.append(f"machines: {' '.join(sorted(choice.machines))}")
    return "\n".join(lines)
