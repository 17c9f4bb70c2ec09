# SPDX-License-Identifier: GPL-2.0-or-later
"""What the guest kernel says on its console that means something is wrong."""

import re

TIME = re.compile(rb"^(?:<\d+>)?\[[ \d.]+\]\s*(?:\[[ TC\d]+\]\s*)?")

# After these the guest cannot go on.
FATAL = re.compile(rb"Kernel panic - not syncing|^BUG: (?!KASAN|sleeping function|scheduling while|soft lockup|workqueue)|^Oops\b|kernel BUG at|general protection fault")

# After these it can, but something is wrong: warnings, and what KASAN, lockdep, kmemleak and the like report.
REPORTS = re.compile(
    rb"^BUG: KASAN|^WARNING: |possible circular locking|possible recursive locking|suspicious RCU usage"
    rb"|inconsistent lock state|possible irq lock inversion|bad unlock balance|^INFO: task .* blocked"
    rb"|^ODEBUG: |^DMA-API: .*(?:error|leak|not freed)|^UBSAN: |^unreferenced object"
    rb"|\bkmemleak: [1-9]\d* new suspected|_(?:add|del) corruption|detected stalls on|self-detected stall"
    rb"|soft lockup|BUG: workqueue|scheduling while atomic|sleeping function called from invalid context|Memory manager not clean"
)


class Watcher:
    """Reads the console as it comes and remembers the first fatal line and the first report."""

    def __init__(self) -> None:
        self.partial = b""
        self.fatal = ""
        self.report = ""
        self.last = ""

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the console."""
        *lines, self.partial = (self.partial + data).split(b"\n")
        for line in lines:
            self._line(line)

    def _line(self, raw: bytes) -> None:
        line = TIME.sub(b"", raw.rstrip(b"\r"))
        text = line.decode(errors="replace").strip()
        if text:
            self.last = text
        if FATAL.search(line):
            # The panic's own line says less than the oops before it.
            self.fatal = self.fatal or text
        elif REPORTS.search(line):
            self.report = self.report or text
