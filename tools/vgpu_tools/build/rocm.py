# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes the rocm root file system: Debian with the ROCm user space, AMD's kfdtest, and vgpu-test-rocr."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from vgpu_tools.base.paths import CACHE, ROOTFS
from vgpu_tools.build import apt, fingerprint
from vgpu_tools.build.sources import SOURCES, only
from vgpu_tools.build.steps import Job, Step
from vgpu_tools.build.versions import pins

ROCM = ROOTFS / "rocm"
LEFT_OUT = ("/usr/share/man/*", "/usr/share/doc/*", "/usr/share/info/*", "/usr/share/locale/*")
# Matches the files in proc, sys and dev. The image leaves these files out: they belong to file
# systems that mmdebstrap mounts on these folders while the image is made.
MOUNTED = "^(proc|sys|dev)/.+"
TARGET = "/usr/local/lib/kfdtest"


def _program(name: str, source: Path, outputs: Sequence[str], hooks: Callable[[Job, Path], Sequence[str]]) -> Step:
    """Return a step that builds a program in a temporary Debian. This Debian has the same release as the guest.
    configs/versions.toml lists the Debian's packages: section `name`, key "tools".
    """
    pin = pins()[name]
    folder = SOURCES / name

    def make(job: Job) -> None:
        apt.configure(job)
        folder.mkdir(parents=True, exist_ok=True)
        for path in folder.iterdir():
            path.unlink()
        # hooks() may download sources to `folder`, and returns shell commands. _debian() unpacks a temporary Debian and
        # runs the commands. The commands build the program in this Debian, and copy `outputs` to `folder`. Then only
        # `outputs` stay in `folder`.
        _debian(job, pin["tools"], hooks(job, folder))
        for path in folder.iterdir():
            if path.name not in outputs:
                path.unlink()

    inputs = fingerprint.of(pin, pins()["debian"]["suite"], source)
    needs = [apt.host_packages(), apt.host_packages("packages-rocm")]
    return Step(name, name, make, inputs, [folder / output for output in outputs], needs, shared=True, lock="rocm")


def kfdtest() -> Step:
    pin = pins()["kfdtest"]
    script = ROCM / "build-kfdtest.sh"

    def hooks(job: Job, folder: Path) -> Sequence[str]:
        version = apt.choose(pin["package"], pin["version"], pin["series"], apt.source_versions(pin["package"]))
        apt.download_original(job, pin["package"], version, folder)
        return [
            'mkdir "$1/src"',
            f'tar -xf {only(job, folder, "*.orig.tar.*")} --strip-components=1 -C "$1/src"',
            f'cp {script} "$1/build.sh"',
            'chroot "$1" sh /build.sh',
            f"copy-out /out/kfdtest /out/kfdtest.exclude {folder}",
        ]

    return _program("kfdtest", script, ["kfdtest", "kfdtest.exclude"], hooks)


def rocr() -> Step:
    source = ROCM / "vgpu-test-rocr.c"

    def hooks(job: Job, folder: Path) -> Sequence[str]:
        flags = "-std=gnu11 -O2 -Wall -Wextra -Werror"
        return [
            f'cp {source} "$1/rocr.c"',
            f'chroot "$1" gcc {flags} -o /vgpu-test-rocr /rocr.c -lhsa-runtime64',
            f"copy-out /vgpu-test-rocr {folder}",
        ]

    return _program("rocr", source, ["vgpu-test-rocr"], hooks)


def image() -> Path:
    """Return the path of the root file system for --rootfs rocm. The step of build() makes this file."""
    return CACHE / "rocm.erofs"


def build() -> Step:
    """Return the step that makes the image. The steps that build kfdtest and vgpu-test-rocr run first."""
    test = kfdtest()
    ours = rocr()

    def make(job: Job) -> None:
        apt.configure(job)
        new = image().with_suffix(".new")
        new.unlink(missing_ok=True)
        hooks = [
            f'mkdir -p "$1{TARGET}" "$1/opt/vgpu/bin" "$1/mnt/share" "$1/run/lower"',
            *(f'cp {output} "$1{TARGET}/"' for output in test.outputs),
            f'ln -s {TARGET}/kfdtest "$1/usr/local/bin/kfdtest"',
            f'cp {ours.outputs[0]} "$1/usr/local/bin/"',
            # This image is read-only. The guest mounts a writable layer in memory over it (guest-rootfs/mini/root).
            f"mkfs.erofs -x-1 --exclude-regex='{MOUNTED}' {new} \"$1\"",
        ]
        _debian(job, pins()["rocm"]["packages"], hooks)
        new.replace(image())
        job.note(f"{image().stat().st_size} bytes")

    inputs = fingerprint.of(pins()["rocm"], pins()["debian"]["suite"], Path(__file__))
    return Step("rocm", "root file system (rocm)", make, inputs, [image()], [test, ours], shared=True, lock="rocm")


def _debian(job: Job, packages: Sequence[str], hooks: Sequence[str]) -> None:
    """Unpack a small Debian with `packages` in a temporary folder, run the shell commands `hooks` on the host, and
    remove the folder."""
    suite = pins()["debian"]["suite"]
    listing = apt.APT / "binary.list"
    lines = (apt.APT / "sources.list").read_text().splitlines(keepends=True)
    listing.write_text("".join(line for line in lines if line.startswith("deb ")))
    command: list[str | Path] = ["mmdebstrap", "--variant=minbase", "--format=null"]
    command += ["--mode=root"] if os.geteuid() == 0 else ["--mode=unshare"]
    command += [f"--dpkgopt=path-exclude={path}" for path in LEFT_OUT]
    command += ['--aptopt=Acquire::Languages "none"', f"--include={','.join(packages)}"]
    # In a hook, "$1" is the temporary folder. A hook writes its results outside of this folder, and may run programs in
    # it with chroot.
    command += [f"--customize-hook={hook}" for hook in hooks]
    job.run([*command, suite, "-", listing])
