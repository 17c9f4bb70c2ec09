# SPDX-License-Identifier: GPL-2.0-or-later
"""What the whole-system tests share: the launcher, called as a person would call it."""

import os
import signal
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCALE = float(os.environ.get("VGPU_TEST_SCALE", "0"))  # see vgpu_tools/guest/session.py
TIMEOUT = 45 * SCALE if SCALE else 120  # seconds of a guest
LIMIT = 60 * SCALE if SCALE else 300  # seconds that no launcher call may exceed


def hear_interrupts() -> None:
    """For preexec_fn: take SIGINT. A shell's background jobs, and what they start, ignore it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def vgpu(*words: str, data: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    """Call ./vgpu; `data` is its standard input."""
    command = [str(ROOT / "vgpu"), *words]
    return subprocess.run(command, input=data or b"", capture_output=True, timeout=LIMIT, check=False)


def run(script: str, *options: str) -> subprocess.CompletedProcess[bytes]:
    """Run a shell script in a guest."""
    return vgpu("run", "--timeout", f"{TIMEOUT:g}", *options, "--", "sh", "-c", script)
