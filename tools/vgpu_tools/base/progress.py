# SPDX-License-Identifier: GPL-2.0-or-later
"""Shows the progress of long work on standard error: as a bar on a terminal, as plain lines
otherwise."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

PLAIN_INTERVAL = 30.0  # seconds between two plain lines of one step


def say(line: str) -> None:
    """Show a line to the user at once. Standard error keeps the line apart from a command's output."""
    print(line, file=sys.stderr, flush=True)


def clock(seconds: float) -> str:
    """Return a duration in minutes and seconds, rounded down. An hour is "60:00"."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


class Meter:
    """Progress of one step. `update` is cheap enough to be called for each line of a command's
    output."""

    def update(self, done: int, total: int) -> None:
        """Report that `done` of about `total` units are finished."""


class PlainMeter(Meter):
    """Prints a line at most every PLAIN_INTERVAL seconds."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.start = self.last = time.monotonic()

    def update(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self.last >= PLAIN_INTERVAL:
            self.last = now
            percent = min(99, 100 * done // max(total, 1))
            say(f"    {self.title}: {percent} % after {clock(now - self.start)}")


@contextmanager
def step(title: str) -> Iterator[Meter]:
    """Show the progress of a step while the block runs."""
    start = time.monotonic()
    if sys.stderr.isatty():
        with _bar(title) as meter:
            yield meter
    else:
        say(f"==> {title}")
        yield PlainMeter(title)
    say(f"    {title}: done in {clock(time.monotonic() - start)}")


@contextmanager
def _bar(title: str) -> Iterator[Meter]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(title, total=None)

        class Bar(Meter):
            def update(self, done: int, total: int) -> None:
                progress.update(task, completed=min(done, total), total=total)

        yield Bar()
