# SPDX-License-Identifier: GPL-2.0-or-later
"""Sets the user's terminal to raw mode, and returns the terminal's size."""

import contextlib
import os
import signal
import termios
import tty
from collections.abc import Callable, Iterator


def size() -> tuple[int, int]:
    """Return (rows, columns) of the terminal at standard input, output or error; (24, 80) if none of
    them is a terminal."""
    for descriptor in (0, 1, 2):
        with contextlib.suppress(OSError):
            columns, rows = os.get_terminal_size(descriptor)
            return rows, columns
    return 24, 80


@contextlib.contextmanager
def raw(descriptor: int | None, resized: Callable[[], None]) -> Iterator[None]:
    """Put the terminal `descriptor` into raw mode while the block runs, and call `resized` on
    SIGWINCH. If `descriptor` is None, do nothing."""
    if descriptor is None:
        yield
        return
    before = termios.tcgetattr(descriptor)
    handler = signal.signal(signal.SIGWINCH, lambda *_: resized())
    try:
        tty.setraw(descriptor)
        yield
    finally:
        signal.signal(signal.SIGWINCH, handler)
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
