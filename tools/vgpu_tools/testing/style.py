# SPDX-License-Identifier: GPL-2.0-or-later
"""make check: runs style and static checks. The driver is checked with Linux's tools, the device with
QEMU's tools.

checkpatch and the driver's static checks skip files that have passed and have not changed since.
"""

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from vgpu_tools.base.environment import clean_environment
from vgpu_tools.base.paths import BUILD, CACHE, GUEST_DRIVER, INCLUDE, QEMU_DEVICE, ROOT, ROOTFS
from vgpu_tools.build import fingerprint, kernel, sources
from vgpu_tools.build.steps import Step, cache_lock, jobs
from vgpu_tools.testing import founding, rooms
from vgpu_tools.testing.suite import AT_ONCE, Context, Plan
from vgpu_tools.testing.tap import Case

PYTHON = (ROOT / "tools", ROOT / "tests")
C_SUFFIXES = (".c", ".h")
PASSED = CACHE / "checkpatch"
TOOLS = ("gcc", "sparse")
KEEP_PASSED = 20000  # number of markers to keep

# Checks of checkpatch that do not fit the driver:
# - LINUX_VERSION_CODE, CONSTANT_COMPARISON: the driver supports several kernel versions.
# - MACRO_ARG_REUSE: the driver has iterator macros.
# - CAMELCASE: the driver uses names of the uAPI.
NOT_FOR_DRIVER = ("LINUX_VERSION_CODE", "CONSTANT_COMPARISON", "MACRO_ARG_REUSE", "CAMELCASE")


def steps() -> list[Step]:
    """Return the steps that the checks need: source trees of QEMU and Linux, and a built kernel
    with KUnit, against which the module is built."""
    return [sources.qemu().step, sources.linux().step, kernel.build("debug")]


def c_files(*folders: Path) -> list[Path]:
    return [path for folder in folders for path in fingerprint.source_files(folder) if path.suffix in C_SUFFIXES]


def _command(log: Path, command: Sequence[str | Path], cwd: Path = ROOT) -> tuple[bool, str]:
    """Run a command. Return whether the command succeeded, and its output, which is also appended to the log."""
    words = [str(word) for word in command]
    result = subprocess.run(
        words, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=clean_environment(), check=False
    )
    said = result.stdout + result.stderr
    with log.open("a") as file:
        file.write(f"$ {' '.join(words)}\n{said}")
    return result.returncode == 0, said


def _checkpatch(log: Path, script: Path, flags: Sequence[str], files: Iterable[Path], cwd: Path) -> tuple[bool, str]:
    """Run checkpatch (`script`: QEMU's or the kernel's) in `cwd` on `files`, except files that have
    passed before and have not changed since."""
    # If all files pass, each gets a marker: an empty file. The marker's name is a hash that covers the checked file's
    # content, so a changed file has no marker.
    markers = {
        file: PASSED / fingerprint.of(script, flags, str(file.relative_to(cwd)), file)
        for file in files
        if file.suffix in C_SUFFIXES or file.name == "Kconfig"
    }
    todo = [file for file, marker in markers.items() if not marker.exists()]
    if not todo:
        return True, ""
    names = [file.relative_to(cwd) for file in todo]
    content, said = _command(log, ["perl", script, "--no-tree", "--terse", *flags, "-f", *names], cwd=cwd)
    if content:
        PASSED.mkdir(parents=True, exist_ok=True)
        for file in todo:
            markers[file].touch()
        _forget_oldest()
    return content, said


def _forget_oldest() -> None:
    """Remove the oldest markers (see _checkpatch()), so that at most KEEP_PASSED markers stay."""
    markers = sorted(PASSED.iterdir(), key=lambda path: path.stat().st_mtime)
    for marker in markers[: -KEEP_PASSED or None]:
        marker.unlink(missing_ok=True)


def _in_plan(plan: Plan, files: Iterable[Path]) -> list[Path]:
    return [file for file in files if plan.files is None or str(file.relative_to(ROOT)) in plan.files]


def _device_style(log: Path, plan: Plan) -> tuple[bool, str]:
    script = sources.qemu().tree / "scripts/checkpatch.pl"
    # Names are relative to qemu-device/, so that the names of tests begin with "tests/". In
    # files with such names checkpatch allows more assertions of GLib.
    content, said = _checkpatch(log, script, ["--no-signoff"], _in_plan(plan, c_files(QEMU_DEVICE)), QEMU_DEVICE)
    patches = _in_plan(plan, sorted((QEMU_DEVICE / "patches").glob("*/*.patch")))
    if patches:  # checked as mails: each needs a Signed-off-by line
        mails, more = _command(log, ["perl", script, "--no-tree", "--terse", *patches])
        content, said = content and mails, said + more
    return content, said


def _driver_style(log: Path, plan: Plan) -> tuple[bool, str]:
    files = _in_plan(plan, [*c_files(GUEST_DRIVER), GUEST_DRIVER / "Kconfig"])
    traces = [path for path in files if path.name.endswith("_trace.h")]  # TRACE_EVENT's layout fails --strict
    others = [path for path in files if path not in traces]
    ignored = f"--ignore={','.join(NOT_FOR_DRIVER)}"
    results = [
        _checkpatch(log, _kernel_checkpatch(), ["--no-summary", ignored, "--strict"], others, ROOT),
        _checkpatch(log, _kernel_checkpatch(), ["--no-summary"], traces, ROOT),
    ]
    return all(content for content, _ in results), "".join(said for _, said in results)


def _header_style(log: Path, plan: Plan) -> tuple[bool, str]:
    return _checkpatch(log, _kernel_checkpatch(), ["--no-summary"], _in_plan(plan, c_files(INCLUDE)), ROOT)


def _kernel_checkpatch() -> Path:
    return sources.linux().tree / "scripts/checkpatch.pl"


def _compilers() -> str:
    """Return a hash of the versions of gcc and sparse. The hash is a part of the build tree's name,
    so that all files are compiled again after a change of version."""
    versions = [
        subprocess.run([tool, "--version"], capture_output=True, text=True, check=False).stdout for tool in TOOLS
    ]
    return fingerprint.of(versions)


def _driver_static(log: Path, _: Plan) -> tuple[bool, str]:
    """Build the module out of tree with the kernel's warnings (W=1) and sparse; any warning is a failure.

    The build tree stays, so that make compiles only changed files. After a warning or an interrupted run, all files are
    compiled again.
    """
    with cache_lock("check"):
        tree = CACHE / f"check-{fingerprint.of(kernel.tree('debug').name, _compilers())}"
        quiet = tree / "no-warnings"
        known = quiet.exists()
        quiet.unlink(missing_ok=True)
        for part in (GUEST_DRIVER, INCLUDE):
            sources.mirror(part, tree / part.name)
        make: list[str | Path] = ["make", "-C", tree / GUEST_DRIVER.name, f"KDIR={kernel.tree('debug')}", jobs()]
        if not known:
            _command(log, [*make, "clean"])
        content, said = _command(log, [*make, "W=1", "C=1"])
        warnings = [line for line in said.splitlines() if re.search(r"\b(warning|error):", line)]
        if content and not warnings:
            quiet.touch()
            return True, ""
        return False, "\n".join(warnings) or said[-2000:]


def _python_lint(log: Path, _: Plan) -> tuple[bool, str]:
    return _command(log, [sys.executable, "-m", "ruff", "check", *PYTHON])


def _python_format(log: Path, _: Plan) -> tuple[bool, str]:
    return _command(log, [sys.executable, "-m", "ruff", "format", "--check", *PYTHON])


def _python_types(log: Path, _: Plan) -> tuple[bool, str]:
    """Check the types of tools and tests with mypy. The settings are in mypy.ini."""
    return _command(log, [sys.executable, "-m", "mypy", "--no-error-summary", f"--cache-dir={BUILD / 'mypy'}"])


def _shell_syntax(log: Path, _: Plan) -> tuple[bool, str]:
    scripts = [
        ROOT / "vgpu",
        ROOT / ".ci/run",
        ROOTFS / "mini/devices",
        ROOTFS / "mini/root",
        GUEST_DRIVER / "apply.sh",
        QEMU_DEVICE / "apply.sh",
    ]
    bad = ""
    for script in scripts:
        content, said = _command(log, ["sh", "-n", script])
        bad += "" if content else said
    return not bad, bad


def _licences(log: Path, _: Plan) -> tuple[bool, str]:
    """Check that every source file has an SPDX line in its first 300 characters."""
    wanted = (*C_SUFFIXES, ".py", ".sh")
    files = [path for path in _tracked() if path.suffix in wanted and path.exists()]
    bad = [str(path.relative_to(ROOT)) for path in files if "SPDX-License-Identifier:" not in path.read_text()[:300]]
    return bool(files) and not bad, "no SPDX line: " + (" ".join(bad) or "found no files to look at")


def _rooms(log: Path, _: Plan) -> tuple[bool, str]:
    """Check includes and imports against rooms.txt. Large files are listed in the log."""
    wrong, sizes = rooms.check(ROOT, rooms.files_of(ROOT))
    said = "\n".join(wrong)
    with log.open("a") as file:
        file.write("\n".join(["rooms.txt:", *sizes, said, ""]))
    return not wrong, said


def _founding(log: Path, _: Plan) -> tuple[bool, str]:
    """Check docs/founding-documents.md: everything that the page refers to must exist, and each name in
    tests/founding-documents.toml, except those below [others], must have a row on the page."""
    wrong = founding.check(ROOT)
    said = "\n".join(wrong)
    with log.open("a") as file:
        file.write(f"{founding.PAGE}:\n{said}\n")
    return not wrong, said


def _tracked() -> list[Path]:
    names = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, text=True, check=False).stdout
    return [ROOT / name for name in names.split("\0") if name]


# The slowest checks come first, because a slow check that started last would prolong the whole run.
CHECKS: dict[str, Callable[[Path, Plan], tuple[bool, str]]] = {
    "driver style (the kernel's checkpatch --strict)": _driver_style,
    "device style (QEMU's checkpatch)": _device_style,
    "driver W=1 and sparse, out of tree": _driver_static,
    "contract headers' style (the kernel's checkpatch)": _header_style,
    "Python lint (ruff)": _python_lint,
    "Python format (ruff)": _python_format,
    "Python types (mypy)": _python_types,
    "shell syntax": _shell_syntax,
    "SPDX lines": _licences,
    "includes and imports (rooms.txt)": _rooms,
    "names in docs/founding-documents.md": _founding,
}


def _one(name: str, log: Path, plan: Plan) -> Case:
    start = time.monotonic()
    content, said = CHECKS[name](log, plan)
    lines = said.strip().splitlines()
    why = "" if content else "\n".join(lines[:40] + ([f"... {len(lines) - 40} more"] if len(lines) > 40 else []))
    return Case(name, "passed" if content else "failed", why, time.monotonic() - start)


def run(log: Path, plan: Plan, _: Context) -> list[Case]:
    """Run all checks. Return a case for each check, in the order of CHECKS. Commands and their output are appended to
    `log`. `plan.files` restricts only the checks by checkpatch."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(lambda name: _one(name, log, plan), CHECKS))
