# SPDX-License-Identifier: GPL-2.0-or-later
"""Implements the protocol to the agent in the guest, over a virtio-serial port. A frame consists of
HEADER and the payload. Numbers are little endian.
"""

import struct
import time
from collections.abc import Iterator, Sequence

# Kinds of frames to the host, and their payloads:
#     H  state of the driver: absent, ready, failed, WAITING or RESTORED
#     O  standard output
#     E  standard error
#     X  exit status (4 bytes)
HELLO, STDOUT, STDERR, EXIT = b"HOEX"
# Kinds of frames to the guest, and their payloads:
#     R  flags (1 byte), rows, columns (2 bytes each), words of the command, each ended by NUL
#     I  standard input; empty: end of file
#     W  size of the terminal: rows, columns (2 bytes each)
#     D  empty; the guest dumps its tasks to the console
#     S  random bytes, which seed the kernel's random numbers
#     T  time of day: nanoseconds since 1970 (8 bytes)
RUN, STDIN, SIZE, DUMP, SEED, TIME = b"RIWDST"
# States in frame HELLO before the driver is loaded. WAITING: the guest is ready for a snapshot.
# RESTORED: the guest has SEED, and waits for TIME.
WAITING, RESTORED = "waiting", "restored"

TERMINAL = 0x01  # flag in frame R: run the command on a terminal
LEAKS = 0x02  # flag in frame R: run kmemleak after the command

MAX_PAYLOAD = 65536
HEADER = struct.Struct("<BI")  # kind of the frame, length of the payload in bytes

LATE_SECONDS = 0.3
LATE_FRAMES = 3


class Late:
    """Delays the first frames of some kinds on one connection, to expose ordering bugs."""

    def __init__(self, kinds: str) -> None:
        """`kinds` has the letters of the kinds of frames to delay: see HELLO and RUN. If `kinds` is
        empty, no frame is delayed."""
        self.kinds = kinds
        self.left = LATE_FRAMES

    def wait(self, kind: int) -> None:
        """Call before a frame is sent or handled. Sleeps LATE_SECONDS for each of the first
        LATE_FRAMES frames whose kind is in `kinds`."""
        if chr(kind) in self.kinds and self.left:
            self.left -= 1
            time.sleep(LATE_SECONDS)


def frame(kind: int, payload: bytes = b"") -> bytes:
    """Return the bytes of a frame. `kind` is a constant such as RUN. Raises ValueError if `payload` is longer than
    MAX_PAYLOAD."""
    if len(payload) > MAX_PAYLOAD:
        raise ValueError("frame too long")
    return HEADER.pack(kind, len(payload)) + payload


def run(words: Sequence[str], flags: int, rows: int = 24, columns: int = 80) -> bytes:
    """Return the frame that starts a command. Raises ValueError if the words are longer than MAX_PAYLOAD."""
    text = b"".join(word.encode(errors="surrogateescape") + b"\0" for word in words)
    return frame(RUN, struct.pack("<BHH", flags, rows, columns) + text)


def size(rows: int, columns: int) -> bytes:
    """Return the frame with the terminal's size."""
    return frame(SIZE, struct.pack("<HH", rows, columns))


def time_of_day(nanoseconds: int) -> bytes:
    """Return the frame that sets the clock of a restored guest: nanoseconds since 1970."""
    return frame(TIME, struct.pack("<Q", nanoseconds))


class Decoder:
    """Turns the bytes that come from the guest into frames."""

    def __init__(self, late: Late | None = None) -> None:
        """`late` delays the first frames of some kinds: see Late. None: no frame is delayed."""
        self.late = late or Late("")
        self.buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        """Take the next bytes from the agent. Yield the frames (kind, payload) that are now complete."""
        self.buffer += data
        while len(self.buffer) >= HEADER.size:
            kind, length = HEADER.unpack_from(self.buffer)
            end = HEADER.size + length
            if len(self.buffer) < end:
                return
            payload = bytes(self.buffer[HEADER.size : end])
            del self.buffer[:end]
            self.late.wait(kind)
            yield kind, payload
