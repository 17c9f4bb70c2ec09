# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes the mini root file system: an initramfs of busybox, the modules, the agent and the guest
programs.

A guest that starts from a snapshot has the file system in two parts: see build_split().
"""

import os
import stat
import subprocess
from collections.abc import Iterable
from pathlib import Path

from vgpu_tools.base.paths import BENCH, BUILD, INCLUDE, PROGRAMS, ROOTFS
from vgpu_tools.base.process import output_of
from vgpu_tools.build import apt, erofs, fingerprint, kernel, sources
from vgpu_tools.build.steps import Job, Step, jobs

MINI = ROOTFS / "mini"
FOLDERS = "bin dev etc mnt mnt/share proc root run sbin sys tmp usr usr/bin usr/sbin lib lib64 var"
PROGRAMS_OUT = BUILD / "programs"
DISK_BYTES = 256 << 20  # fixed, because the guest in a snapshot has already read the size; the file is sparse


def image(flavour: str) -> Path:
    """Return the path of the initramfs for a kernel flavour."""
    return BUILD / f"rootfs-mini-{flavour}.cpio"


def base(flavour: str) -> Path:
    """Return the path of the initramfs without modules and programs."""
    return BUILD / f"rootfs-base-{flavour}.cpio"


def disk(flavour: str) -> Path:
    """Return the path of the disk image with the modules and programs that base() lacks."""
    return BUILD / f"rootfs-disk-{flavour}.erofs"


class Archive:
    """A cpio archive in the "newc" format, which the kernel unpacks. All files belong to root.

    The archive is not compressed: an emulated CPU would take longer to decompress it than the host
    takes to read a larger file.
    """

    def __init__(self, file: Path) -> None:
        self.output = file.open("wb")
        self.inode = 0

    def close(self) -> None:
        """End the archive."""
        self._entry("TRAILER!!!", 0, b"")
        self.output.close()

    def folder(self, name: str) -> None:
        """Add a folder."""
        self._entry(name, stat.S_IFDIR | 0o755, b"")

    def file(self, name: str, content: bytes, mode: int = 0o644) -> None:
        """Add a regular file."""
        self._entry(name, stat.S_IFREG | mode, content)

    def link(self, name: str, target: str) -> None:
        """Add a symbolic link."""
        self._entry(name, stat.S_IFLNK | 0o777, target.encode())

    def console(self) -> None:
        """Add /dev/console, because init writes to the console before /dev is mounted."""
        self._entry("dev/console", stat.S_IFCHR | 0o600, b"", (5, 1))

    def _entry(self, name: str, mode: int, content: bytes, device: tuple[int, int] = (0, 0)) -> None:
        self.inode += 1
        links = 2 if stat.S_ISDIR(mode) else 1
        raw = name.encode() + b"\0"
        fields = (self.inode, mode, 0, 0, links, 0, len(content), 0, 0, *device, len(raw), 0)
        head = b"070701" + b"".join(b"%08X" % field for field in fields) + raw
        self.output.write(head + bytes(-len(head) % 4) + content + bytes(-len(content) % 4))


def _tree(target: Archive | erofs.Image, top: Path) -> None:
    """Add everything below `top`, a folder of the host, to `target`."""
    for where, folders, files in os.walk(top):
        for path in [Path(where) / name for name in (*sorted(folders), *sorted(files))]:
            name = str(path.relative_to(top))
            if path.is_symlink():
                target.link(name, str(path.readlink()))
            elif path.is_dir():
                target.folder(name)
            else:
                target.file(name, path.read_bytes(), path.stat().st_mode & 0o777)


def libraries(binaries: Iterable[Path]) -> set[Path]:
    """Return the shared libraries and the loader of this machine that the binaries need."""
    found: set[Path] = set()
    for binary in binaries:
        for word in output_of(["ldd", binary]).split():
            if word.startswith("/"):
                found.add(Path(word))
    return found


def programs() -> Step:
    """Return the step that builds the guest programs in PROGRAMS_OUT. It needs the user-space headers
    of the release kernel."""

    def make(job: Job) -> None:
        PROGRAMS_OUT.mkdir(parents=True, exist_ok=True)
        for path in PROGRAMS_OUT.iterdir():
            if path.is_file():  # remove programs whose source is gone
                path.unlink()
        job.run(["make", "-C", PROGRAMS, jobs(), f"OUT={PROGRAMS_OUT}", f"KERNEL_HEADERS={kernel.headers()}"])

    inputs = fingerprint.of(PROGRAMS, BENCH / "guest", INCLUDE)
    return Step("programs", "guest programs", make, inputs, [PROGRAMS_OUT], [kernel.build("release")])


def agent() -> tuple[Step, Path]:
    """Return two values: the step that builds the agent, and the path of the agent's binary. The agent
    is the guest's first program, and runs the launcher's commands."""
    binary = BUILD / "agent"
    code = [MINI / "agent.c", MINI / "init.c"]

    def make(job: Job) -> None:
        job.run(["gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-static", "-o", binary, *code, "-lutil"])

    inputs = fingerprint.of(MINI / "agent.h", *code)
    return Step("agent", "agent", make, inputs, [binary], [apt.host_packages()]), binary


def build(flavour: str) -> Step:
    """Return the step that makes the whole root file system as one initramfs."""

    def make(job: Job) -> None:
        new = image(flavour).with_suffix(".new")
        archive = Archive(new)
        _put_base(archive)
        _put_programs(archive, flavour)
        archive.close()
        new.replace(image(flavour))
        job.note(f"{image(flavour).stat().st_size} bytes")

    name, title = f"rootfs-{flavour}", f"root file system ({flavour})"
    return Step(name, title, make, fingerprint.of(MINI), [image(flavour)], _needs(flavour))


def build_split(flavour: str) -> Step:
    """Return the step that makes the file system in two parts, base() and disk(), for guests that start
    from a snapshot.
    """

    def make(job: Job) -> None:
        new = base(flavour).with_suffix(".new")
        archive = Archive(new)
        _put_base(archive)
        archive.folder("lib/modules")
        archive.folder("run/vgpu")
        archive.close()
        new.replace(base(flavour))
        new = disk(flavour).with_suffix(".new")
        # The disk is no part of the snapshot. So a change of the modules and programs needs no new
        # snapshot.
        system = erofs.Image()
        system.folder("usr")
        system.folder("usr/bin")
        _put_programs(system, flavour)
        try:
            system.write(new, DISK_BYTES)
        except ValueError as error:
            raise job.fail(str(error)) from None
        new.replace(disk(flavour))

    name, title = f"rootfs-split-{flavour}", f"root file system in two parts ({flavour})"
    inputs = fingerprint.of(MINI, str(DISK_BYTES))
    return Step(name, title, make, inputs, [base(flavour), disk(flavour)], _needs(flavour))


def _needs(flavour: str) -> list[Step]:
    return [kernel.driver(flavour), sources.busybox()[0], agent()[0], programs()]


def _made_programs() -> list[Path]:
    return [path for path in sorted(PROGRAMS_OUT.iterdir()) if path.is_file() and os.access(path, os.X_OK)]


def _put_base(archive: Archive) -> None:
    """Add what every initramfs has: folders, busybox, init, the agent and shared libraries."""
    shell = sources.busybox()[1]
    for folder in FOLDERS.split():
        archive.folder(folder)
    archive.console()
    archive.link("init", "sbin/vgpu-agent")
    for file in sorted((MINI / "etc").iterdir()):
        archive.file(f"etc/{file.name}", file.read_bytes())
    archive.file("bin/busybox", shell.read_bytes(), 0o755)
    for applet in subprocess.run([shell, "--list"], capture_output=True, text=True, check=True).stdout.split():
        if applet != "busybox":
            archive.link(f"bin/{applet}", "busybox")
    archive.file("sbin/vgpu-agent", agent()[1].read_bytes(), 0o755)
    for script in ("devices", "root"):
        archive.file(f"sbin/vgpu-{script}", (MINI / script).read_bytes(), 0o755)
    for path in sorted(libraries(_made_programs())):
        archive.file(str(path)[1:], path.read_bytes(), 0o755)


def _put_programs(target: Archive | erofs.Image, flavour: str) -> None:
    for path in _made_programs():
        target.file(f"usr/bin/{path.name}", path.read_bytes(), 0o755)
    _tree(target, kernel.modules(flavour))
