# SPDX-License-Identifier: GPL-2.0-or-later
"""Defines build steps. ensure() runs a step that is not up to date, after the steps that this step
needs. `Step` says when a step is up to date.
"""

import fcntl
import os
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from vgpu_tools.base import progress
from vgpu_tools.base.environment import clean_environment
from vgpu_tools.base.errors import StepFailed
from vgpu_tools.base.paths import BUILD, CACHE, LOGS
from vgpu_tools.base.process import watch_group
from vgpu_tools.build import fingerprint

NINJA = re.compile(rb"^\[(\d+)/(\d+)\]")
KBUILD = re.compile(rb"^  [A-Z]")


@dataclass
class Job:
    """A running build step: the file for its output, and the display of its progress."""

    step: str
    log: Path
    meter: progress.Meter

    def run(
        self,
        command: Sequence[str | Path],
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        expected_lines: int = 0,
    ) -> None:
        """Run a command with its output in the log. Raises StepFailed if the command fails.

        The progress is read from ninja's "[n/m]" or, with `expected_lines`, from the number of kbuild's
        lines. `env` is added to the environment.
        """
        words = [str(word) for word in command]
        with self.log.open("ab") as log:
            log.write(f"$ {' '.join(words)}\n".encode())
            log.flush()

            def start() -> "subprocess.Popen[bytes]":
                try:
                    return subprocess.Popen(
                        words,
                        cwd=cwd,
                        env=clean_environment(env),
                        stdin=subprocess.DEVNULL,
                        stdout=subprocess.PIPE,
                        stderr=subprocess.STDOUT,
                        start_new_session=True,
                    )
                except OSError as error:
                    raise StepFailed(self.step, self.log, f"cannot start {words[0]}: {error.strerror}") from None

            status = watch_group(start, lambda process: self._watch(process, log, expected_lines))
            if status != 0:
                log.flush()
                raise StepFailed(self.step, self.log, f"{Path(words[0]).name} exited with {status}")

    def _watch(self, process: "subprocess.Popen[bytes]", log: BinaryIO, expected_lines: int) -> int:
        """Copy the output of a command to the log until end of file, and show the progress that
        the lines report. Return the command's exit status."""
        assert process.stdout
        lines = 0
        for line in process.stdout:
            log.write(line)
            if found := NINJA.match(line):
                self.meter.update(int(found[1]), int(found[2]))
            elif expected_lines and KBUILD.match(line):
                lines += 1
                self.meter.update(lines, expected_lines)
        return process.wait()

    def fail(self, reason: str) -> StepFailed:
        """Return a StepFailed with the step's name and log. The caller has to raise it."""
        return StepFailed(self.step, self.log, reason)

    def note(self, line: str) -> None:
        """Log a fact that no command prints, for example a file's size. `line` has no line break."""
        with self.log.open("a") as log:
            log.write(line + "\n")


@dataclass
class Step:
    """A build step.

    If `check` is given, it returns whether the step is up to date. Otherwise the step is up to date if
    the file `stamp` holds `key`, and all `outputs` exist.
    """

    name: str
    title: str
    # Makes the outputs, after the steps in `needs` are up to date. During the call, this process
    # holds the cache lock that `lock` names.
    make: Callable[[Job], None]
    inputs: str = ""  # what the outputs depend on besides `needs`, for example a hash of source files
    outputs: Sequence[Path] = ()
    needs: Sequence["Step"] = ()
    shared: bool = False  # True: the stamp is in the cache, for all checkouts. False: in the checkout's build folder
    lock: str = "cache"  # steps that use the same part of the cache have the same lock
    check: Callable[[], bool] | None = None
    key: str = field(init=False)

    def __post_init__(self) -> None:
        below = [step.key for step in self.needs if step.check is None]
        self.key = fingerprint.of(self.name, self.inputs, below)

    @property
    def stamp(self) -> Path:
        """The file that holds the key of the last completed run."""
        return (CACHE if self.shared else BUILD) / ".stamps" / self.name

    def fresh(self) -> bool:
        """Return whether the step is up to date. The steps in `needs` are not checked."""
        if self.check:
            return self.check()
        try:
            return self.stamp.read_text() == self.key and all(output.exists() for output in self.outputs)
        except FileNotFoundError:
            return False


def ensure(*wanted: Step) -> None:
    """Bring steps, and the steps that they need, up to date. If a step is up to date already, the steps in its `needs`
    are not checked. So a build with nothing to do only reads source files and stamps."""
    for step in wanted:
        if step.fresh():
            continue
        ensure(*step.needs)
        with cache_lock(step.lock):
            if not step.fresh():
                _make(step)


def _make(step: Step) -> None:
    LOGS.mkdir(parents=True, exist_ok=True)
    log = LOGS / f"{step.name}.log"
    log.write_text("")
    step.stamp.parent.mkdir(parents=True, exist_ok=True)
    step.stamp.unlink(missing_ok=True)
    with progress.step(step.title) as meter:
        step.make(Job(step.name, log, meter))
    for output in step.outputs:
        if not output.exists():
            raise StepFailed(step.name, log, f"the step did not make {output}")
    step.stamp.write_text(step.key)


@contextmanager
def cache_lock(name: str) -> Iterator[None]:
    """Lock a part of the cache against other processes while the block runs. Waits until the lock is free."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / f"{name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress.say("    waiting for another build to finish")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def jobs() -> str:
    """Return the option of make and ninja for the number of parallel jobs."""
    return f"-j{os.cpu_count() or 2}"
