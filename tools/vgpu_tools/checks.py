# SPDX-License-Identifier: GPL-2.0-or-later
"""make check: style and static checks, each by the tool that its upstream uses."""

import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from vgpu_tools import fingerprint, kernel, sources
from vgpu_tools.paths import BUILD, GUEST_DRIVER, INCLUDE, QEMU_DEVICE, ROOT, ROOTFS
from vgpu_tools.steps import Step, clean_environment, jobs
from vgpu_tools.tap import Case

PYTHON = [path for path in (ROOT / "tools", ROOT / "tests", ROOT / "bench")]
C_SUFFIXES = (".c", ".h")

# What checkpatch asks of a driver inside one kernel tree, of every iterator macro, and of names in uAPI headers.
NOT_FOR_DRIVER = ("LINUX_VERSION_CODE", "CONSTANT_COMPARISON", "MACRO_ARG_REUSE", "CAMELCASE")


def steps() -> list[Step]:
    """What the checks need: both upstreams' source trees, and a kernel tree with KUnit to build the module against."""
    return [sources.qemu().step, sources.linux().step, kernel.build("debug")]


def c_files(*folders: Path) -> list[Path]:
    """C sources and headers below folders."""
    return [path for folder in folders for path in fingerprint.source_files(folder) if path.suffix in C_SUFFIXES]


def _command(log: Path, command: Sequence[str | Path], cwd: Path = ROOT) -> tuple[bool, str]:
    """Run a command; returns whether it was content, and what it said (which also goes to the log)."""
    words = [str(word) for word in command]
    result = subprocess.run(
        words, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=clean_environment(), check=False
    )
    said = result.stdout + result.stderr
    with log.open("a") as file:
        file.write(f"$ {' '.join(words)}\n{said}")
    return result.returncode == 0, said


def _device_style(log: Path) -> tuple[bool, str]:
    script = sources.qemu().tree / "scripts/checkpatch.pl"
    # Relative names: it knows by "tests/" what is a test.
    files = [path.relative_to(QEMU_DEVICE) for path in c_files(QEMU_DEVICE)]
    return _command(log, ["perl", script, "--no-tree", "--no-signoff", "--terse", "-f", *files], cwd=QEMU_DEVICE)


def _driver_style(log: Path) -> tuple[bool, str]:
    files = [*c_files(GUEST_DRIVER), GUEST_DRIVER / "Kconfig"]
    traces = [path for path in files if path.name.endswith("_trace.h")]  # TRACE_EVENT has a layout of its own
    others = [path for path in files if path not in traces]
    ignored = f"--ignore={','.join(NOT_FOR_DRIVER)}"
    results = [_command(log, [*_kernel_checkpatch(), ignored, "--strict", "-f", *others])]
    if traces:
        results.append(_command(log, [*_kernel_checkpatch(), "-f", *traces]))
    return all(content for content, _ in results), "".join(said for _, said in results)


def _header_style(log: Path) -> tuple[bool, str]:
    return _command(log, [*_kernel_checkpatch(), "-f", *c_files(INCLUDE)])


def _kernel_checkpatch() -> list[str | Path]:
    script = sources.linux().tree / "scripts/checkpatch.pl"
    return ["perl", script, "--no-tree", "--terse", "--no-summary"]


def _driver_static(log: Path) -> tuple[bool, str]:
    """Build the module out of tree with every warning of the kernel's, and sparse; any warning counts."""
    copy = BUILD / "check"
    for part in (GUEST_DRIVER, INCLUDE):
        sources.mirror(part, copy / part.name)
    make = ["make", "-C", copy / GUEST_DRIVER.name, f"KDIR={kernel.tree('debug')}", jobs()]
    _command(log, [*make, "clean"])
    content, said = _command(log, [*make, "W=1", "C=2"])
    warnings = [line for line in said.splitlines() if re.search(r"\b(warning|error):", line)]
    return content and not warnings, "\n".join(warnings) or said[-2000:]


def _python_lint(log: Path) -> tuple[bool, str]:
    return _command(log, [sys.executable, "-m", "ruff", "check", *PYTHON])


def _python_format(log: Path) -> tuple[bool, str]:
    return _command(log, [sys.executable, "-m", "ruff", "format", "--check", *PYTHON])


def _shell_syntax(log: Path) -> tuple[bool, str]:
    scripts = [ROOT / "vgpu", ROOT / ".ci/run", ROOTFS / "mini/init", GUEST_DRIVER / "hook.sh", QEMU_DEVICE / "hook.sh"]
    bad = ""
    for script in scripts:
        content, said = _command(log, ["sh", "-n", script])
        bad += "" if content else said
    return not bad, bad


def _licences(log: Path) -> tuple[bool, str]:
    """Every source file says its licence in its first lines."""
    wanted = (*C_SUFFIXES, ".py", ".sh")
    files = [path for path in _tracked() if path.suffix in wanted and path.exists()]
    bad = [str(path.relative_to(ROOT)) for path in files if "SPDX-License-Identifier:" not in path.read_text()[:300]]
    return bool(files) and not bad, "no SPDX line: " + (" ".join(bad) or "found no files to look at")


def _tracked() -> list[Path]:
    names = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, text=True, check=False).stdout
    return [ROOT / name for name in names.split("\0") if name]


CHECKS: dict[str, Callable[[Path], tuple[bool, str]]] = {
    "device style (QEMU's checkpatch)": _device_style,
    "driver style (the kernel's checkpatch --strict)": _driver_style,
    "contract headers' style (the kernel's checkpatch)": _header_style,
    "driver W=1 and sparse, out of tree": _driver_static,
    "Python lint (ruff)": _python_lint,
    "Python format (ruff)": _python_format,
    "shell syntax": _shell_syntax,
    "SPDX lines": _licences,
}


def run(log: Path) -> list[Case]:
    """Run all checks."""
    cases = []
    for name, check in CHECKS.items():
        start = time.monotonic()
        content, said = check(log)
        lines = said.strip().splitlines()
        why = "" if content else "\n".join(lines[:40] + ([f"... {len(lines) - 40} more"] if len(lines) > 40 else []))
        cases.append(Case(name, "passed" if content else "failed", why, time.monotonic() - start))
    return cases
