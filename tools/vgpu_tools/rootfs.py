# SPDX-License-Identifier: GPL-2.0-or-later
"""The mini root file system: an initramfs of busybox, the modules, the agent and the guest programs."""

import os
import stat
import subprocess
from collections.abc import Iterable
from pathlib import Path

from vgpu_tools import apt, fingerprint, kernel, sources
from vgpu_tools.paths import BENCH, BUILD, INCLUDE, PROGRAMS, ROOTFS
from vgpu_tools.steps import Job, Step, jobs

MINI = ROOTFS / "mini"
FOLDERS = "bin dev etc mnt mnt/share proc root run sbin sys tmp usr usr/bin usr/sbin lib lib64 var"
PROGRAMS_OUT = BUILD / "programs"


def image(flavour: str) -> Path:
    """The initramfs for a kernel flavour."""
    return BUILD / f"rootfs-mini-{flavour}.cpio"


class Archive:
    """A cpio archive in the "newc" format that the kernel unpacks; everything in it belongs to root.

    It is not compressed: an emulated CPU unpacks slower than the host reads.
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
        """Add /dev/console, which init's output needs before /dev is mounted."""
        self._entry("dev/console", stat.S_IFCHR | 0o600, b"", (5, 1))

    def tree(self, base: Path) -> None:
        """Add everything below a folder."""
        for where, folders, files in os.walk(base):
            for name in sorted(folders):
                self._path(Path(where) / name, base)
            for name in sorted(files):
                self._path(Path(where) / name, base)

    def _path(self, path: Path, base: Path) -> None:
        name = str(path.relative_to(base))
        if path.is_symlink():
            self.link(name, str(path.readlink()))
        elif path.is_dir():
            self.folder(name)
        else:
            self.file(name, path.read_bytes(), path.stat().st_mode & 0o777)

    def _entry(self, name: str, mode: int, content: bytes, device: tuple[int, int] = (0, 0)) -> None:
        self.inode += 1
        links = 2 if stat.S_ISDIR(mode) else 1
        raw = name.encode() + b"\0"
        fields = (self.inode, mode, 0, 0, links, 0, len(content), 0, 0, *device, len(raw), 0)
        head = b"070701" + b"".join(b"%08X" % field for field in fields) + raw
        self.output.write(head + bytes(-len(head) % 4) + content + bytes(-len(content) % 4))


def libraries(binaries: Iterable[Path]) -> set[Path]:
    """Shared libraries, and the loader, that binaries of this machine need."""
    found: set[Path] = set()
    for binary in binaries:
        for word in apt.output_of(["ldd", binary]).split():
            if word.startswith("/"):
                found.add(Path(word))
    return found


def programs() -> Step:
    """The step that builds the guest programs."""

    def make(job: Job) -> None:
        PROGRAMS_OUT.mkdir(parents=True, exist_ok=True)
        for path in PROGRAMS_OUT.iterdir():
            if path.is_file():  # one that has lost its source must not live on
                path.unlink()
        job.run(["make", "-C", PROGRAMS, jobs(), f"OUT={PROGRAMS_OUT}", f"KERNEL_HEADERS={kernel.headers()}"])

    inputs = fingerprint.of(PROGRAMS, BENCH / "guest", INCLUDE)
    return Step("programs", "guest programs", make, inputs, [PROGRAMS_OUT], [kernel.build("release")])


def agent() -> tuple[Step, Path]:
    """The step that builds the launcher's agent, and the binary."""
    binary = BUILD / "agent"

    def make(job: Job) -> None:
        job.run(["gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-static", "-o", binary, MINI / "agent.c", "-lutil"])

    return Step("agent", "agent", make, fingerprint.of(MINI / "agent.c"), [binary], [apt.host_packages()]), binary


def build(flavour: str) -> Step:
    """The step that puts the initramfs together."""
    shell_step, shell = sources.busybox()
    agent_step, agent_binary = agent()

    def make(job: Job) -> None:
        new = image(flavour).with_suffix(".new")
        archive = Archive(new)
        for folder in FOLDERS.split():
            archive.folder(folder)
        archive.console()
        archive.file("init", (MINI / "init").read_bytes(), 0o755)
        for file in sorted((MINI / "etc").iterdir()):
            archive.file(f"etc/{file.name}", file.read_bytes())
        archive.file("bin/busybox", shell.read_bytes(), 0o755)
        for applet in subprocess.run([shell, "--list"], capture_output=True, text=True, check=True).stdout.split():
            if applet != "busybox":
                archive.link(f"bin/{applet}", "busybox")
        archive.file("sbin/vgpu-agent", agent_binary.read_bytes(), 0o755)
        made = [path for path in sorted(PROGRAMS_OUT.iterdir()) if path.is_file() and os.access(path, os.X_OK)]
        for path in made:
            archive.file(f"usr/bin/{path.name}", path.read_bytes(), 0o755)
        for path in sorted(libraries(made)):
            archive.file(str(path)[1:], path.read_bytes(), 0o755)
        archive.tree(kernel.modules(flavour))
        archive.close()
        new.replace(image(flavour))
        job.note(f"{image(flavour).stat().st_size} bytes")

    return Step(
        f"rootfs-{flavour}",
        f"root file system ({flavour})",
        make,
        fingerprint.of(MINI),
        [image(flavour)],
        [kernel.driver(flavour), shell_step, agent_step, programs()],
    )
