# SPDX-License-Identifier: GPL-2.0-or-later
"""Source trees of QEMU and Linux, firmware and busybox: fetched once into the cache.

A tree in the cache is private to us: our code is hooked into it. It sees a copy of our code (the overlay), refreshed
by content, so that several checkouts can share one cache and the build tools' view of time stays right.
"""

import filecmp
import shutil
from pathlib import Path

from vgpu_tools import apt, fingerprint
from vgpu_tools.paths import CACHE, INCLUDE
from vgpu_tools.steps import Job, Step
from vgpu_tools.versions import pins, source_folder

SOURCES = CACHE / "src"


def mirror(source: Path, target: Path) -> None:
    """Make `target` hold the source files of `source`; a file is written only when its content differs."""
    wanted = {path.relative_to(source) for path in fingerprint.source_files(source)}
    target.mkdir(parents=True, exist_ok=True)
    for path in fingerprint.source_files(target):
        if path.relative_to(target) not in wanted:
            path.unlink()
    for name in wanted:
        old, new = source / name, target / name
        if (
            new.exists()
            and filecmp.cmp(old, new, shallow=False)
            and not (old.stat().st_mode ^ new.stat().st_mode) & 0o111
        ):
            continue
        new.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(old, new)


def hook(job: Job, part: Path, overlay: Path, tree: Path) -> None:
    """Copy a part of ours and the contract's headers into the overlay, and hook that part into a source tree."""
    mirror(part, overlay / part.name)
    mirror(INCLUDE, overlay / INCLUDE.name)
    job.run([overlay / part.name / "hook.sh", tree])


def _replace(old: Path, new: Path) -> None:
    shutil.rmtree(new, ignore_errors=True)
    old.rename(new)


def _copy_of(folder: Path, tree: Path) -> Step:
    """A private copy of a tree that the user named; renewed on `make qemu` and `make kernel`."""

    def make(job: Job) -> None:
        tree.mkdir(parents=True, exist_ok=True)
        job.run(["rsync", "-a", "--exclude=.git", f"{folder}/", f"{tree}/"])

    return Step(f"source-{tree.name}", f"copy of {folder}", make, str(folder), [tree], shared=True)


def qemu() -> tuple[Step, Path]:
    """The step that provides QEMU's source tree, and the tree."""
    if folder := source_folder("QEMU_SRC", "VERSION"):
        tree = SOURCES / f"qemu-named-{fingerprint.of(str(folder))}"
        return _copy_of(folder, tree), tree
    pin = pins()["qemu"]
    tree = SOURCES / f"qemu-{fingerprint.of(pin['version'], pins()['debian']['suite'])}"

    def make(job: Job) -> None:
        apt.configure(job)
        version = apt.choose(pin["package"], pin["version"], pin["series"], apt.source_versions(pin["package"]))
        download = SOURCES / "qemu.download"
        shutil.rmtree(download, ignore_errors=True)
        description = apt.download_source(job, pin["package"], version, download)
        job.run(["dpkg-source", "--no-check", "-x", description, download / "tree"])
        _replace(download / "tree", tree)
        shutil.rmtree(download)

    return Step("source-qemu", "QEMU source", make, tree.name, [tree], [apt.host_packages()], shared=True), tree


def linux() -> tuple[Step, Path]:
    """The step that provides Linux's source tree, and the tree."""
    if folder := source_folder("KERNEL_SRC", "Kbuild"):
        tree = SOURCES / f"linux-named-{fingerprint.of(str(folder))}"
        return _copy_of(folder, tree), tree
    pin = pins()["linux"]
    tree = SOURCES / f"linux-{fingerprint.of(pin['version'], pins()['debian']['suite'])}"

    def make(job: Job) -> None:
        apt.configure(job)
        version = apt.choose(pin["package"], pin["version"], pin["series"], apt.binary_versions(pin["package"]))
        download = SOURCES / "linux.download"
        shutil.rmtree(download, ignore_errors=True)
        apt.unpack_binary(job, pin["package"], download, version)
        archive = next(download.glob("usr/src/linux-source-*.tar.xz"), None)
        if not archive:
            raise job.fail(f"{pin['package']} holds no source archive")
        (download / "tree").mkdir()
        job.run(["tar", "-xJf", archive, "--strip-components=1", "-C", download / "tree"])
        _replace(download / "tree", tree)
        shutil.rmtree(download)

    return Step("source-linux", "Linux source", make, tree.name, [tree], [apt.host_packages()], shared=True), tree


def firmware() -> tuple[Step, list[Path]]:
    """The step that provides QEMU's firmware, and the folders to look in (-L)."""
    packages = pins()["firmware"]["packages"]
    tree = SOURCES / "firmware"

    def make(job: Job) -> None:
        apt.configure(job)
        for package in packages:
            apt.unpack_binary(job, package, tree)

    folders = [tree / "usr/share/qemu", tree / "usr/share/seabios"]
    inputs = fingerprint.of(packages, pins()["debian"]["suite"])
    return Step("firmware", "firmware", make, inputs, folders, [apt.host_packages()], shared=True), folders


def busybox() -> tuple[Step, Path]:
    """The step that provides the guest's busybox, and the binary."""
    package = pins()["busybox"]["package"]
    tree = SOURCES / "busybox"

    def make(job: Job) -> None:
        apt.configure(job)
        apt.unpack_binary(job, package, tree)
        binary = tree / "bin/busybox"
        if not binary.exists():  # the merged /usr of newer releases
            binary.parent.mkdir(exist_ok=True)
            shutil.copy2(tree / "usr/bin/busybox", binary)

    inputs = fingerprint.of(package, pins()["debian"]["suite"])
    return (
        Step("busybox", "busybox", make, inputs, [tree / "bin/busybox"], [apt.host_packages()], shared=True),
        tree / "bin/busybox",
    )
