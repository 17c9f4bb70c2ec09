# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads the TAP and KTAP of test programs, and writes JUnit XML for CI systems."""

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

RESULT = re.compile(r"^(?P<indent>\s*)(?P<not>not )?ok\b\s*\d*\s*(?:- )?(?P<name>.*?)(?:\s*#\s*(?P<note>.*))?$")
PLAN = re.compile(r"^(?P<indent>\s*)1\.\.(?P<count>\d+)(?:\s*#\s*(?P<note>.*))?$")
VERSION = re.compile(r"^(?P<indent>\s*)K?TAP version \d+$")
BAIL = re.compile(r"^\s*Bail out!\s*(.*)$")
SECONDS = re.compile(r"^# (\d+\.\d+) s$")  # the line after a result: duration of the case
UNPRINTABLE = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd]")


@dataclass
class Case:
    """The result of one test."""

    name: str
    outcome: str  # "passed", "failed" or "skipped"
    why: str = ""  # reason of the outcome "failed" or "skipped"
    seconds: float = 0.0
    again: list[str] = field(default_factory=list)  # command that runs the case alone; empty: no such command
    gist: str = ""  # one line about a failure; empty: report.gist() takes a line of `why`


def parse(text: str, prefix: str = "") -> list[Case]:
    """Return the cases of a TAP or KTAP stream. If the number of results differs from the plan, a failed case is
    added."""
    cases: list[Case] = []
    open_blocks: dict[int, list[int]] = {}  # by indentation: numbers of planned (-1: no plan) and seen results
    failures: dict[int, int] = {}  # by indentation: number of failed results that no result summarises yet
    deepest = -1  # indentation of the last result; a less indented result summarises the results before it
    notes: list[str] = []

    def plan_kept(indent: int) -> None:
        planned, seen = open_blocks.pop(indent, [-1, 0])
        if planned >= 0 and planned != seen:
            cases.append(Case(f"{prefix}plan", "failed", f"{planned} tests were planned, {seen} reported"))

    for line in text.splitlines():
        if found := VERSION.match(line):  # a nested block or another stream begins
            for block in [block for block in open_blocks if block >= len(found["indent"])]:
                plan_kept(block)
                failures.pop(block, None)
        elif found := PLAN.match(line):
            indent = len(found["indent"])
            open_blocks.setdefault(indent, [-1, 0])[0] = int(found["count"])
            if found["count"] == "0":
                cases.append(Case(f"{prefix}all", "skipped", (found["note"] or "").removeprefix("SKIP").strip(" :")))
        elif found := RESULT.match(line):
            indent = len(found["indent"])
            inner_failed = 0
            for deeper in [block for block in open_blocks if block > indent]:
                plan_kept(deeper)
                inner_failed += failures.pop(deeper, 0)
            open_blocks.setdefault(indent, [-1, 0])[1] += 1
            failed, note = bool(found["not"]), found["note"] or ""
            sums_up = deepest > indent
            # A summary of nested results does not become a case, because each nested result is a case. Exception: the
            # summary says "not ok", and all nested results say "ok". Then only the summary shows the failure.
            if not sums_up or (failed and not inner_failed):
                skipped = note.upper().startswith("SKIP")
                outcome = (
                    "skipped" if skipped else "failed" if failed and not note.upper().startswith("TODO") else "passed"
                )
                why = note[4:].strip(" :") if skipped else "\n".join(notes[-20:]) if failed else ""
                cases.append(Case(prefix + (found["name"].strip() or "unnamed"), outcome, why))
            failures[indent] = failures.get(indent, 0) + failed
            deepest = indent
            notes = []
        elif found := BAIL.match(line):
            cases.append(Case(f"{prefix}bail out", "failed", found[1]))
        elif cases and not notes and (found := SECONDS.match(line.strip())):
            cases[-1].seconds = float(found[1])
        elif line.strip().startswith("#"):
            notes.append(line.strip())
    for indent in sorted(open_blocks, reverse=True):
        plan_kept(indent)
    return cases


def write_junit(file: Path, suite: str, cases: Sequence[Case], warning: str = "") -> None:
    """Write a suite's cases as JUnit XML; `warning` is for the suite as a whole."""
    counts = {outcome: sum(case.outcome == outcome for case in cases) for outcome in ("failed", "skipped")}
    root = ElementTree.Element(
        "testsuite",
        name=suite,
        tests=str(len(cases)),
        failures=str(counts["failed"]),
        skipped=str(counts["skipped"]),
        time=f"{sum(case.seconds for case in cases):.3f}",
    )
    for case in cases:
        element = ElementTree.SubElement(
            root, "testcase", classname=suite, name=UNPRINTABLE.sub("?", case.name), time=f"{case.seconds:.3f}"
        )
        if case.outcome != "passed":
            kind = "failure" if case.outcome == "failed" else "skipped"
            why = UNPRINTABLE.sub("?", case.why)
            ElementTree.SubElement(element, kind, message=why.partition("\n")[0]).text = why
    if warning:
        ElementTree.SubElement(root, "system-err").text = f"warning: {warning}"
    ElementTree.ElementTree(root).write(file, encoding="unicode", xml_declaration=True)
