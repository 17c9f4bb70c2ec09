# SPDX-License-Identifier: GPL-2.0-or-later
"""Detects errors that the guest's kernel prints on its console."""

import re

TIME = re.compile(rb"^(?:<\d+>)?\[[ \d.]+\]\s*(?:\[[ TC\d]+\]\s*)?")

# The kernel continues after a line that begins with "BUG: " and one of these words.
SURVIVABLE = ("KASAN", "sleeping function", "scheduling while atomic", "soft lockup", "workqueue")

# Lines after which the guest does not continue: its kernel panics on an oops (oops=panic).
FATAL_PATTERNS = (
    "Kernel panic - not syncing",
    "^BUG: (?!" + "|".join(SURVIVABLE) + ")",
    r"^Oops\b",
    "kernel BUG at",
    r"^(segment-related )?general protection fault\b.*\[#\d+\]",  # older kernels print no "Oops: "
)

# Lines about errors after which the guest continues.
REPORT_PATTERNS = (
    "^BUG: ",
    "^WARNING: ",  # lockdep's reports begin with this, too
    "possible (circular|recursive) locking|possible irq lock inversion|inconsistent lock state|bad unlock balance",
    "suspicious RCU usage",
    "watchdog: BUG: soft lockup|detected stalls on|self-detected stall|^INFO: task .* blocked",
    r"kmemleak: [1-9]\d* new suspected|^unreferenced object",
    "^ODEBUG: |^UBSAN: |_(add|del) corruption",
    "^DMA-API: .*(error|leak|not freed)",
    "Memory manager not clean",  # drm_mm, TTM: allocations are left at takedown
)

# A line of the kernel's OOM killer: the guest has too little memory. The line alone is no error, because the
# command that the guest runs may succeed nevertheless.
OOM_KILLED = re.compile(rb"^Out of memory: Killed process ")

FATAL = re.compile("|".join(FATAL_PATTERNS).encode())
REPORTS = re.compile("|".join(REPORT_PATTERNS).encode())


class Watcher:
    """Reads the console and keeps the first fatal line, the first report, and the first line of the OOM killer."""

    def __init__(self) -> None:
        self.partial = b""
        self.fatal = ""
        self.report = ""
        self.killed = ""

    def feed(self, data: bytes) -> None:
        """Parse the next bytes of the console. An incomplete last line is kept for the next
        call."""
        *lines, self.partial = (self.partial + data).split(b"\n")
        for line in lines:
            self._line(line)

    def _line(self, raw: bytes) -> None:
        line = TIME.sub(b"", raw.rstrip(b"\r"))
        text = line.decode(errors="replace").strip()
        if FATAL.search(line):
            # Keep the first fatal line, because the oops before a panic names the cause.
            self.fatal = self.fatal or text
        elif REPORTS.search(line):
            self.report = self.report or text
        elif OOM_KILLED.search(line):
            self.killed = self.killed or text


def excerpt(console: bytes, most: int = 14) -> list[str]:
    """Return at most `most` lines of a console log. The first returned line is the first line of the
    log that matches FATAL or REPORTS. If no line matches, the last lines are returned."""
    lines = console.splitlines()
    means = (at for at, line in enumerate(lines) if REPORTS.search(said := TIME.sub(b"", line)) or FATAL.search(said))
    first = next(means, max(0, len(lines) - most))
    return [line.decode(errors="replace") for line in lines[first : first + most]]
