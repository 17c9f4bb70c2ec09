# SPDX-License-Identifier: GPL-2.0-or-later
"""Executes a run in its own thread, for callers that read the output while the guest runs."""

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import BinaryIO, Self

from vgpu_tools.guest.config import Guest
from vgpu_tools.guest.launch import Run, Streams
from vgpu_tools.guest.result import Result


class Background:
    """A run of a command in a guest. The run starts with the `with` block and is stopped at the block's end."""

    def __init__(
        self,
        guest: Guest,
        words: Sequence[str],
        on_output: Callable[[bytes], None] | None = None,
        own_session: bool = False,
        streams: Streams | None = None,
        snapshot: BinaryIO | None = None,
        verbose: bool = False,
    ) -> None:
        """The run's thread calls `on_output` with each piece of the command's output. The run has no timeout. Other
        parameters: see Run."""
        self.output = bytearray()  # the command's output so far
        self.errors = bytearray()
        self._on_output = on_output
        self._rest = b""  # the start of an incomplete line, for lines()
        self._pieces: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        # If the caller gives `streams`, all output goes there: `self.output` and `self.errors` stay empty, and
        # `on_output` is not called.
        streams = streams or Streams(self._take_output, self._take_error)
        self._run = Run(guest, words, streams, verbose=verbose, snapshot=snapshot, own_session=own_session)
        self._thread = threading.Thread(target=self._execute, name="guest", daemon=True)
        self._outcome: Result | BaseException | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._run.stop()
        self._thread.join()

    def give_up(self) -> None:
        """End the run as its timeout does; see Run.give_up()."""
        self._run.give_up()

    def stop(self) -> None:
        """See Run.stop()."""
        self._run.stop()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the end of the run, at most `seconds`. Return whether the run has ended."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def result(self) -> Result:
        """Wait for the end of the run. Return the result, or raise the exception of Run.execute()."""
        self._thread.join()
        if isinstance(self._outcome, BaseException):
            raise self._outcome
        assert self._outcome
        return self._outcome

    def lines(self, seconds: float) -> Iterator[str | None]:
        """Yield the lines of output and errors until the run ends; None after each `seconds` without output.

        The last line may be incomplete. A second call continues after the last line of the first call."""
        while True:
            try:
                piece = self._pieces.get(timeout=seconds)
            except queue.Empty:
                yield None
                continue
            if piece is None:
                self._pieces.put(None)  # for a second call of lines()
                break
            *whole, self._rest = (self._rest + piece).split(b"\n")
            for line in whole:
                yield line.decode(errors="replace").rstrip("\r")
        last, self._rest = self._rest, b""
        if last:
            yield last.decode(errors="replace").rstrip("\r")

    def _execute(self) -> None:
        try:
            self._outcome = self._run.execute()
        except BaseException as error:  # raised again by result()
            self._outcome = error
        finally:
            self._pieces.put(None)

    def _take_output(self, data: bytes) -> None:
        self.output += data
        self._pieces.put(data)
        if self._on_output:
            self._on_output(data)

    def _take_error(self, data: bytes) -> None:
        self.errors += data
        self._pieces.put(data)
