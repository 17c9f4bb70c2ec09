# SPDX-License-Identifier: GPL-2.0-or-later
"""The suite "howto": runs the commands of the pages docs/first-hour.md and docs/howto/*.md in a copy of the checkout.

`Tree` is the copy. `steps_of()` reads the commands of a page.
"""

import re
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from vgpu_tools.base import progress
from vgpu_tools.base.environment import clean_environment
from vgpu_tools.base.errors import Failure
from vgpu_tools.base.paths import BUILD, ROOT
from vgpu_tools.base.process import END_SECONDS, die_with_parent, how_it_ended, watch_group
from vgpu_tools.build import qemu
from vgpu_tools.build import steps as build_steps
from vgpu_tools.testing import guest_tests, rooms
from vgpu_tools.testing.limits import Limit
from vgpu_tools.testing.suite import Context, Plan
from vgpu_tools.testing.tap import Case

PLACE = BUILD / "howto"
DOCS = ROOT / "docs"
SECONDS = 180.0  # limit of a step, with the builds that it causes
BUILD_SECONDS = 3600.0  # limit of the first build in the copy, which takes most of its parts from the cache
PREPARE = "./vgpu build qemu kernel driver rootfs"
RUN, TEXT, ANY = "sh run", "text", "..."
FENCE = re.compile(r"(?P<indent> *)(?P<fence>`{3,})(?P<info>[^`]*)")
OPTION = re.compile(r"(seconds|status)=(\d+)")
SHOWN = 40  # lines of output in the reason of a failed case
WIDTH = 60  # characters of a script's first line in a case's name


@dataclass(frozen=True)
class Block:
    """A fenced block of a page: the number of its first line, its info string, its lines without indentation."""

    line: int
    info: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Step:
    """A script of a page, and its expected result."""

    line: int  # line of the page where the block begins
    script: str
    expected: tuple[str, ...] = ()  # lines of the excerpt; empty: any output
    seconds: float = SECONDS
    status: int = 0

    @property
    def title(self) -> str:
        """A short form of the script for the name of a case, at most WIDTH characters."""
        first = self.script.strip().partition("\n")[0]
        return first if len(first) <= WIDTH else f"{first[: WIDTH - 4]} ..."


def pages() -> list[Path]:
    return [DOCS / "first-hour.md", *sorted((DOCS / "howto").glob("*.md"))]


def blocks(text: str) -> list[Block]:
    """Return the fenced blocks of a page. Raises ValueError for a block without an end."""
    found: list[Block] = []
    lines: list[str] = []
    start: tuple[int, re.Match[str]] | None = None
    for number, line in enumerate(text.splitlines(), 1):
        fence = FENCE.fullmatch(line.rstrip())
        if start is None:
            if fence:
                start, lines = (number, fence), []
        elif fence and not fence["info"] and len(fence["fence"]) >= len(start[1]["fence"]):
            found.append(Block(start[0], start[1]["info"].strip(), tuple(lines)))
            start = None
        else:
            lines.append(line.removeprefix(start[1]["indent"]))
    if start is not None:
        raise ValueError(f"line {start[0]}: the block has no end")
    return found


def steps_of(text: str) -> list[Step]:
    """Return the steps of a page: the fenced blocks with the info string "sh run". Raises ValueError for a malformed
    page."""
    found = []
    listed = blocks(text)
    for number, block in enumerate(listed):
        if not f"{block.info} ".startswith(f"{RUN} "):
            continue
        # Options after "sh run": "seconds=N", the time limit on the reference machine, and "status=N", the expected
        # exit status.
        given: dict[str, int] = {}
        for word in block.info.removeprefix(RUN).split():
            option = OPTION.fullmatch(word)
            if not option:
                raise ValueError(f"line {block.line}: unknown option '{word}'")
            given[option[1]] = int(option[2])
        # If the next block has the info string "text", the script must print that block, see `lacks()`.
        following = listed[number + 1] if number + 1 < len(listed) else None
        expected = following.lines if following and following.info == TEXT else ()
        script = "\n".join(block.lines)
        if not script.strip():
            raise ValueError(f"line {block.line}: the script is empty")
        found.append(Step(block.line, script, expected, float(given.get("seconds", SECONDS)), given.get("status", 0)))
    return found


def _pattern(line: str) -> re.Pattern[str]:
    """Return a regular expression for a line of an excerpt. In the line, "..." stands for any text."""
    return re.compile(".*".join(re.escape(part) for part in line.rstrip().split(ANY)))


def lacks(expected: Sequence[str], output: str) -> str:
    """Return the first part of `expected` that is missing in `output`, or "". Lines "..." divide `expected` into parts,
    which must occur in order."""
    printed = [line.rstrip() for line in output.splitlines()]
    at = 0
    part: list[str] = []
    for line in (*expected, ANY):
        if line.strip() != ANY:
            part.append(line)
            continue
        wanted = [_pattern(one) for one in part]
        last = len(printed) - len(wanted)
        while at <= last and not all(one.fullmatch(printed[at + number]) for number, one in enumerate(wanted)):
            at += 1
        if at > last:
            return "\n".join(part)
        at += len(wanted)
        part = []
    return ""


class Tree:
    """The copy of the checkout in which the suite runs the scripts of the documentation's pages. The copy is a git
    repository, and has its own build folder. `fill()` copies the checkout's files. `reset()` restores these files
    before the scripts of each page run."""

    def __init__(self, place: Path = PLACE, source: Path = ROOT) -> None:
        self.tree = place / "tree"
        self.source = source

    def _git(self, *words: str) -> str:
        identity = ["-c", "user.name=howto", "-c", "user.email=howto@localhost", "-c", "commit.gpgsign=false"]
        command = ["git", "-C", str(self.tree), *identity, *words]
        result = subprocess.run(command, capture_output=True, text=True, env=clean_environment(), check=False)
        if result.returncode:
            raise Failure(f"{shlex.join(command)}: {result.stderr.strip()}")
        return result.stdout

    def fill(self) -> None:
        """Make the copy hold the files of the checkout, uncommitted changes included, in a new commit. The copy's
        build/ stays."""
        self.tree.mkdir(parents=True, exist_ok=True)
        if not (self.tree / ".git").exists():
            self._git("init", "-q")
        self.reset()
        wanted = set(rooms.files_of(self.source))
        for name in self._git("ls-files", "-z").split("\0"):
            if name and name not in wanted:
                (self.tree / name).unlink(missing_ok=True)
        for name in wanted:
            (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(self.source / name, self.tree / name)
        self._git("add", "-A")
        self._git("commit", "-q", "--allow-empty", "-m", "the checkout")

    def reset(self) -> None:
        """Undo what scripts have changed, except in build/."""
        if self._git("rev-list", "-n", "1", "--all"):
            self._git("reset", "-q", "--hard")
        self._git("clean", "-fdqx", "-e", "/build/")

    def run(self, step: Step, context: Context) -> tuple[int | None, str]:
        """Run a script in a process group of its own, then end the processes of this group that still run. Return the
        script's exit status (None: the time limit was reached), and what the script printed."""
        output = self.tree.parent / "output"
        limit = Limit(step.seconds, context.speed)
        with output.open("wb") as file:

            def start() -> "subprocess.Popen[bytes]":
                return subprocess.Popen(
                    ["sh", "-e", "-c", step.script],
                    cwd=self.tree,
                    stdin=subprocess.DEVNULL,
                    stdout=file,
                    stderr=subprocess.STDOUT,
                    env=clean_environment(),
                    start_new_session=True,
                    preexec_fn=partial(die_with_parent, signal.SIGTERM),
                )

            def watch(process: "subprocess.Popen[bytes]") -> int | None:
                with context.children.adopt(process.terminate):
                    return _wait(process, limit)

            status = watch_group(start, watch, 3 * END_SECONDS)
        return status, output.read_text(errors="replace")


def _wait(process: "subprocess.Popen[bytes]", limit: Limit) -> int | None:
    while not limit.reached():
        try:
            return process.wait(1.0)
        except subprocess.TimeoutExpired:
            continue
    return None


def judge(step: Step, status: int | None, output: str) -> str:
    """Return why a step has failed; empty if its exit status and its output are as expected."""
    why = ""
    if status is None:
        why = f"not done after {step.seconds:g} s of the reference machine"
    elif status != step.status:
        why = f"{how_it_ended(status)}, should be {step.status}"
    elif part := lacks(step.expected, output):
        why = f"not printed:\n{part}"
    if why:
        lines = output.splitlines()
        why += "\noutput:\n" + "\n".join(["...", *lines[-SHOWN:]] if len(lines) > SHOWN else lines)
    return why


def _run_page(tree: Tree, page: Path, log: Path, context: Context) -> list[Case]:
    """Run the steps of a page. The steps after the first failed one are skipped."""
    cases: list[Case] = []
    failed = 0
    try:
        steps = steps_of(page.read_text())
    except ValueError as error:
        return [Case(f"howto: {page.name}", "failed", str(error))]
    tree.reset()
    for step in steps:
        name = f"howto: {page.name}:{step.line}: {step.title}"
        if failed:
            cases.append(Case(name, "skipped", f"the step in line {failed} has failed"))
            continue
        start = time.monotonic()
        status, output = tree.run(step, context)
        why = judge(step, status, output)
        cases.append(Case(name, "failed" if why else "passed", why, time.monotonic() - start))
        failed = step.line if why else 0
        with log.open("a") as file:
            file.write(f"# {page.name}:{step.line}\n{step.script}\n# prints:\n{output}\n# {why or 'as expected'}\n\n")
    return cases


def steps() -> list[build_steps.Step]:
    """Return the build steps that run before this suite. The suite itself builds in a copy of the
    checkout (see Tree). These builds are short, because the steps have filled the shared cache
    (paths.CACHE)."""
    return [qemu.build_qtest(), *guest_tests.steps("release"), *guest_tests.steps("debug")]


def run(log: Path, plan: Plan, context: Context) -> list[Case]:
    """Run the pages that are among the plan's files, or all pages if none is."""
    changed = [page for page in pages() if plan.files and str(page.relative_to(ROOT)) in plan.files]
    tree = Tree()
    tree.fill()
    start = time.monotonic()
    prepare = Step(0, PREPARE, seconds=BUILD_SECONDS)
    why = judge(prepare, *tree.run(prepare, context))
    cases = [Case(f"howto: {PREPARE}", "failed" if why else "passed", why, time.monotonic() - start)]
    for page in [] if why else changed or pages():
        progress.say(f"    {page.relative_to(ROOT)}")
        cases += _run_page(tree, page, log, context)
        if plan.fail_fast and any(case.outcome == "failed" for case in cases):
            break
    return cases
