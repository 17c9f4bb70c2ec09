# SPDX-License-Identifier: GPL-2.0-or-later
"""Fetches the source trees of QEMU and Linux, the firmware and busybox, once each, into the cache.

Source.hook() adds the device or the driver to a tree in the cache, never to a tree that the user named.
"""

import filecmp
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from vgpu_tools.base import environment
from vgpu_tools.base.paths import CACHE, INCLUDE
from vgpu_tools.build import apt, fingerprint
from vgpu_tools.build.steps import Job, Step
from vgpu_tools.build.versions import pins, source_folder

SOURCES = CACHE / "src"
# Copies of include/, qemu-device/ and guest-driver/, in a folder for each source tree of QEMU or Linux. The trees link
# to the copies, not to a checkout of this project: several checkouts may use the same tree.
OVERLAYS = CACHE / "overlay"


@dataclass
class Source:
    """A source tree that the device or the driver is added to."""

    step: Step  # makes the tree
    tree: Path
    renew: Callable[[Job], None]  # makes the tree again, without the changes of apply.sh
    named: bool  # the tree is a copy of a tree of the user, who may change that tree at any time

    def hook(self, job: Job, part: Path) -> None:
        """Add `part` (QEMU_DEVICE or GUEST_DRIVER) to the tree, or update `part` in the tree."""
        overlay = OVERLAYS / self.tree.name
        mirror(part, overlay / part.name)
        mirror(INCLUDE, overlay / INCLUDE.name)
        hooks = fingerprint.of(overlay / part.name / "apply.sh", overlay / part.name / "patches")
        # The file `marker` holds the value of `hooks` in the last hook() of this tree. It is empty if that hook()
        # did not complete. The file does not exist before the first hook().
        marker = self.tree.with_name(self.tree.name + ".hooked")
        # A user's tree may have changed, so always renew the copy. Renew a fetched tree if apply.sh or the patches have
        # changed, or the last hook() did not complete.
        if self.named or (marker.exists() and marker.read_text() != hooks):
            self.renew(job)
        marker.write_text("")
        job.run([overlay / part.name / "apply.sh", self.tree])
        marker.write_text(hooks)


def mirror(source: Path, target: Path) -> None:
    """Make the source files in `target` equal to those in `source`. Files that are equal already keep their time
    stamps, and so are not compiled again. Checkouts that share the cache also share `target`."""
    wanted = {path.relative_to(source) for path in fingerprint.source_files(source)}
    target.mkdir(parents=True, exist_ok=True)
    for path in fingerprint.source_files(target):
        if path.relative_to(target) not in wanted:
            path.unlink()
    for name in sorted(wanted):
        old, new = source / name, target / name
        same_mode = new.exists() and not (old.stat().st_mode ^ new.stat().st_mode) & 0o111
        if not same_mode or not filecmp.cmp(old, new, shallow=False):
            new.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(old, new)


def _named(what: str, folder: Path) -> Source:
    """Return a Source for `folder`, a tree that the user named. Each build of QEMU or the kernel copies
    `folder` to the Source's tree. `folder` itself is never written to."""
    tree = SOURCES / f"{what}-{fingerprint.of(str(folder))}"

    def renew(job: Job) -> None:
        tree.mkdir(parents=True, exist_ok=True)
        job.run(["rsync", "-a", "--delete", "--exclude=.git", f"{folder}/", f"{tree}/"])

    needs = [apt.host_packages()]
    step = Step(f"source-{what}-named", f"{what} source", renew, str(folder), [tree], needs, shared=True, lock=what)
    return Source(step, tree, renew, named=True)


def _fetched(
    what: str, pin: dict[str, str], download: Callable[[Job, Path], None], unpack: Callable[[Job, Path, Path], None]
) -> Source:
    """Return a Source for a tree from Debian's archive.

    `download` fetches the package into a folder of the cache. `unpack` makes the tree from that
    folder. The folder is kept, so that renew() can make the tree again without a download.
    """
    name = f"{what}-{fingerprint.of(pin['version'], pins()['debian']['suite'])}"
    tree, kept = SOURCES / name, SOURCES / f"{name}.download"

    def renew(job: Job) -> None:
        shutil.rmtree(tree, ignore_errors=True)
        unpack(job, kept, tree)
        _date_back(tree, kept)

    def make(job: Job) -> None:
        shutil.rmtree(kept, ignore_errors=True)
        kept.mkdir(parents=True)
        apt.configure(job)
        download(job, kept)
        renew(job)
        tree.with_name(f"{name}.hooked").unlink(missing_ok=True)

    step = Step(
        f"source-{what}", f"{what} source", make, name, [tree, kept], [apt.host_packages()], shared=True, lock=what
    )
    return Source(step, tree, renew, named=False)


def _date_back(tree: Path, reference: Path) -> None:
    """If a file in `tree` is newer than the folder `reference`, give the file the time stamp of `reference`.

    Unpacking gives the current time to the files that Debian's patches change. With this time, make would
    compile these files again after each unpacking.
    """
    limit = reference.stat().st_mtime
    for where, _, files in os.walk(tree):
        for name in files:
            path = os.path.join(where, name)
            if os.lstat(path).st_mtime > limit:
                os.utime(path, (limit, limit), follow_symlinks=False)


def qemu() -> Source:
    """QEMU's source tree."""
    if folder := source_folder("QEMU_SRC", environment.read().qemu_source, "VERSION"):
        return _named("qemu", folder)
    pin = pins()["qemu"]

    def download(job: Job, kept: Path) -> None:
        version = apt.choose(pin["package"], pin["version"], pin["series"], apt.source_versions(pin["package"]))
        apt.download_source(job, pin["package"], version, kept)

    def unpack(job: Job, kept: Path, tree: Path) -> None:
        job.run(["dpkg-source", "--no-check", "--no-copy", "-x", only(job, kept, "*.dsc"), tree])

    return _fetched("qemu", pin, download, unpack)


def linux() -> Source:
    """Linux's source tree."""
    if folder := source_folder("KERNEL_SRC", environment.read().kernel_source, "Kbuild"):
        return _named("linux", folder)
    pin = pins()["linux"]

    def download(job: Job, kept: Path) -> None:
        version = apt.choose(pin["package"], pin["version"], pin["series"], apt.binary_versions(pin["package"]))
        apt.unpack_binary(job, pin["package"], kept, version)

    def unpack(job: Job, kept: Path, tree: Path) -> None:
        tree.mkdir()
        archive = only(job, kept, "usr/src/linux-source-*.tar.xz")
        job.run(["tar", "-xJf", archive, "--strip-components=1", "-C", tree])

    return _fetched("linux", pin, download, unpack)


def only(job: Job, folder: Path, pattern: str) -> Path:
    """Return the only file below a folder that matches a pattern. The step fails if none or several
    match."""
    found = list(folder.glob(pattern))
    if len(found) != 1:
        raise job.fail(f"the archive sent {len(found)} files {pattern} instead of one")
    return found[0]


def firmware() -> tuple[Step, list[Path]]:
    """Return the step that provides QEMU's firmware. Also return the folders of the firmware, which
    QEMU's option -L needs."""
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
    """Return the step that provides the guest's busybox, and the path of the binary."""
    package = pins()["busybox"]["package"]
    tree = SOURCES / "busybox"

    def make(job: Job) -> None:
        apt.configure(job)
        apt.unpack_binary(job, package, tree)
        binary = tree / "bin/busybox"
        if not binary.exists():  # in Debian releases with a merged /usr
            binary.parent.mkdir(exist_ok=True)
            shutil.copy2(tree / "usr/bin/busybox", binary)

    inputs = fingerprint.of(package, pins()["debian"]["suite"])
    return (
        Step("busybox", "busybox", make, inputs, [tree / "bin/busybox"], [apt.host_packages()], shared=True),
        tree / "bin/busybox",
    )
