# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs a command, such as another ./vgpu build, beside the build steps of this process.

The steps of both take different locks of the cache, or wait for each other.
"""

import shlex
import signal
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO

from vgpu_tools.base import progress
from vgpu_tools.base.environment import clean_environment
from vgpu_tools.base.errors import Failure
from vgpu_tools.base.process import die_with_parent, end_process, how_it_ended


def _show(lines: IO[bytes]) -> None:
    for line in lines:
        progress.say(line.decode(errors="replace").rstrip("\n"))


@contextmanager
def beside(command: Sequence[str | Path]) -> Iterator[None]:
    """Run `command` while the block runs, and show its standard error line by line. At the end of the block, wait for
    the command. Raises Failure if the command fails. If the block raises an exception, the command is ended."""
    words = [str(word) for word in command]
    process = subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=clean_environment(),
        preexec_fn=partial(die_with_parent, signal.SIGTERM),
    )
    assert process.stderr
    reader = threading.Thread(target=_show, args=(process.stderr,), daemon=True)
    reader.start()
    try:
        yield
        status = process.wait()
    except BaseException:  # for example KeyboardInterrupt
        end_process(process)
        raise
    reader.join()
    if status:
        raise Failure(f"{shlex.join(words)}: {how_it_ended(status)}", status=1)
