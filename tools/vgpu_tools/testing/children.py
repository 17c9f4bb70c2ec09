# SPDX-License-Identifier: GPL-2.0-or-later
"""Starts the processes of a run of tests, and ends these processes and the guests of the run.
None of them outlives the run, not even after an exception or a signal."""

import contextlib
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any

from vgpu_tools.base.process import die_with_parent, end_process


class Children:
    """The children of one run. Thread-safe. After `end_all()`, start() and adopt() raise KeyboardInterrupt."""

    def __init__(self) -> None:
        self._ends: set[Callable[[], object]] = set()  # for each running child, the function that ends the child
        self._lock = threading.Lock()
        self._over = False

    @contextlib.contextmanager
    def start(
        self,
        words: Sequence[str | Path | int],
        stdout: int | IO[Any],
        stderr: int | IO[Any],
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> Iterator["subprocess.Popen[bytes]"]:
        """Start a process without input. At the end of the `with` block the process is ended by
        end_process()."""
        with self._lock:
            self._go_on()
            process = subprocess.Popen(
                [str(word) for word in words],
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                env=env,
                cwd=cwd,
                preexec_fn=partial(die_with_parent, signal.SIGTERM),
            )
            self._ends.add(process.terminate)
        try:
            yield process
        finally:
            end_process(process)
            with self._lock:
                self._ends.discard(process.terminate)

    @contextlib.contextmanager
    def adopt(self, end: Callable[[], object]) -> Iterator[None]:
        """While the block runs, let `end_all()` call `end`, a function that ends a guest or a process that the caller
        has started."""
        with self._lock:
            self._go_on()
            self._ends.add(end)
        try:
            yield
        finally:
            with self._lock:
                self._ends.discard(end)

    def end_all(self) -> None:
        """End the run: request all children to end, and refuse new ones. Does not wait."""
        with self._lock:
            self._over = True
            for end_one in self._ends:
                end_one()

    def _go_on(self) -> None:
        if self._over:
            raise KeyboardInterrupt
