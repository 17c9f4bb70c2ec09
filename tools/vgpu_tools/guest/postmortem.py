# SPDX-License-Identifier: GPL-2.0-or-later
"""Saves evidence of a guest that hung or a QEMU that died: the backtrace of each thread, the core
file."""

import contextlib
import resource
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

GDB_SECONDS = 20.0
CORE = "core"  # name of the core file in a run's folder
CORE_PATTERN = Path("/proc/sys/kernel/core_pattern")


def allow_core() -> None:
    """Call in a child before exec. Raises the child's core file limit to the hard limit."""
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))


def take_core(pid: int, folder: Path) -> str:
    """Move a dead child's core file from this process's working directory into a run's folder. Return a text for the
    user: the core's path, or the host's core_pattern if the core is elsewhere; '' without a core."""
    pattern = CORE_PATTERN.read_text().strip() if CORE_PATTERN.exists() else CORE
    # With "/" the pattern names another folder, with "|" a program that receives the core.
    if "/" in pattern or pattern.startswith("|"):
        return f"core: by the host's core_pattern, {pattern}"
    for path in (Path(f"core.{pid}"), Path("core")):
        with contextlib.suppress(OSError):
            shutil.move(path, folder / CORE)
            return f"core: {folder / CORE}"
    return ""


def threads(pid: int) -> str:
    """Return the state of each thread of a process: backtraces by gdb if gdb is installed and works, else the state in
    /proc."""
    if shutil.which("gdb"):
        command = ["gdb", "-p", str(pid), "-batch", "-nx", "-ex", "set pagination off", "-ex", "thread apply all bt 16"]
        with contextlib.suppress(subprocess.TimeoutExpired, OSError):
            said = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=GDB_SECONDS, check=False
            )
            if "Thread" in said.stdout:
                return said.stdout
    return "".join(_from_proc(pid))


def _from_proc(pid: int) -> Iterator[str]:
    for task in sorted(Path(f"/proc/{pid}/task").glob("*"), key=lambda path: int(path.name)):
        with contextlib.suppress(OSError):
            name = (task / "comm").read_text().strip()
            state = (task / "stat").read_text().rpartition(")")[2].split()[0]
            where = (task / "wchan").read_text().strip()
            call = (task / "syscall").read_text().strip()
            yield f"thread {task.name} {name}: state {state}, kernel function {where}, system call {call}\n"
