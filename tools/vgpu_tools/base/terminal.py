# SPDX-License-Identifier: GPL-2.0-or-later
"""The user's terminal: raw mode and its size."""

import contextlib
import os
import signal
import termios
import tty
from collections.abc import Callable, Iterator


def size() -> tuple[int, int]:
    """Rows and columns; 24 by 80 without a terminal."""
    for descriptor in (0, 1, 2):
        with contextlib.suppress(OSError):
            columns, rows = os.get_terminal_size(descriptor)
            return rows, columns
    return 24, 80


@contextlib.contextmanager
def raw(descriptor: int | None, resized: Callable[[], None]) -> Iterator[None]:
    """Put a terminal into raw mode for the block, and call `resized` on SIGWINCH. None: no terminal."""
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
