# SPDX-License-Identifier: GPL-2.0-or-later
"""What is left of a guest that hung or a QEMU that died: where every thread stood, the core file."""

import contextlib
import resource
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

GDB_SECONDS = 20.0
CORE = "core"  # in a run's folder
CORE_PATTERN = Path("/proc/sys/kernel/core_pattern")


def allow_core() -> None:
    """For a child before exec: let it leave a core file, as large as the host's hard limit says."""
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))


def take_core(pid: int, folder: Path) -> str:
    """Move the core file that a dead child left in this process's working directory into a run's folder.

    Returns where a core is to be found, in words; '' if there is none. Where the host's core_pattern names another
    place or a program, only that is said.
    """
    pattern = CORE_PATTERN.read_text().strip() if CORE_PATTERN.exists() else CORE
    if "/" in pattern or pattern.startswith("|"):
        return f"core: by the host's core_pattern, {pattern}"
    for path in (Path(f"core.{pid}"), Path("core")):
        with contextlib.suppress(OSError):
            shutil.move(path, folder / CORE)
            return f"core: {folder / CORE}"
    return ""


def threads(pid: int) -> str:
    """Where each thread of a process stands: gdb's backtraces if gdb is installed, else what /proc says."""
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
