# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds the guest's kernel in its flavours (FLAVOURS), and the driver as a module of this kernel.

The image and the driver are two steps, so that a change of the driver's code builds only the driver.
"""

import re
import shutil
from pathlib import Path

from vgpu_tools.base.errors import Failure
from vgpu_tools.base.paths import BUILD, CACHE, CONFIGS, GUEST_DRIVER, INCLUDE
from vgpu_tools.build import fingerprint, sources
from vgpu_tools.build.steps import Job, Step, jobs

FLAVOURS = ("release", "debug")
EXPECTED_LINES = 2850  # lines that kbuild prints for one kernel; only the progress bar uses it


def check_flavour(flavour: str) -> None:
    """Check that a flavour exists. Raises Failure if not. The status is 2 (wrong usage), because the flavour
    may come from the command line."""
    if flavour not in FLAVOURS:
        raise Failure(f"no kernel '{flavour}': there are {', '.join(FLAVOURS)}", status=2)


def fragments(flavour: str) -> list[Path]:
    """Return the configuration fragments of a flavour. Options that no fragment sets are off. A
    later line overrides an earlier one."""
    return [CONFIGS / "kernel-common.config", CONFIGS / f"kernel-{flavour}.config"]


def folder(flavour: str) -> Path:
    """Return the folder of the finished kernel and modules of a flavour."""
    return BUILD / f"kernel-{flavour}"


def image(flavour: str) -> Path:
    """Return the kernel to boot: an ELF file without symbols. QEMU enters it directly (PVH),
    without decompression."""
    return folder(flavour) / "vmlinux"


def bzimage(flavour: str) -> Path:
    """Return the kernel as a bzImage, for guests that suspend to RAM.

    A wake-up is a reset. At a reset, QEMU writes an ELF kernel into memory, over the sleeping
    kernel. A bzImage is loaded by the firmware, only at boot.
    """
    return folder(flavour) / "bzImage"


def headers() -> Path:
    """Return the folder of the kernel's user-space headers."""
    return folder("release") / "headers" / "include"


def tree(flavour: str) -> Path:
    """Return the build tree in the cache (kbuild's O=). Each combination of source tree and
    configuration has its own build tree."""
    return CACHE / f"linux-{flavour}-{fingerprint.of(sources.linux().step.key, *fragments(flavour))}"


def _inputs(flavour: str) -> str:
    return fingerprint.of(*fragments(flavour), GUEST_DRIVER / "Kconfig", GUEST_DRIVER / "apply.sh")


def _bring_up(job: Job, flavour: str) -> None:
    """Build this checkout's kernel in the build tree, unless the last build there had the same inputs. Checkouts share
    the tree, so the last build may have been another checkout's."""
    source, work, inputs = sources.linux(), tree(flavour), _inputs(flavour)
    source.hook(job, GUEST_DRIVER)
    done = work / ".vgpu-done"  # holds the inputs of the last complete build in the build tree
    # Run kbuild in any case for a source tree of the user (KERNEL_SRC), because the user may have changed the tree.
    if done.exists() and done.read_text() == inputs and not source.named:
        return
    done.unlink(missing_ok=True)
    _configure(job, source.tree, work, fragments(flavour))
    # An empty CONFIG_DRM_VGPU_KFD leaves out the driver. A separate step builds the driver: see driver().
    command: list[str | Path] = ["make", "-C", work, jobs(), "CONFIG_DRM_VGPU_KFD=", "bzImage", "modules"]
    job.run(command, expected_lines=EXPECTED_LINES)
    job.run(["strip", "--strip-all", "-o", work / "vmlinux.boot", work / "vmlinux"])
    job.run(["make", "-C", work, "headers_install", f"INSTALL_HDR_PATH={work}/headers"])
    done.write_text(inputs)


def build(flavour: str) -> Step:
    """Return the step that builds the kernel image and the kernel's own modules. In the flavour
    "release", the step also provides the kernel's user-space headers."""
    check_flavour(flavour)
    work = tree(flavour)

    def make(job: Job) -> None:
        _bring_up(job, flavour)
        folder(flavour).mkdir(parents=True, exist_ok=True)
        shutil.copy2(work / "vmlinux.boot", image(flavour))
        shutil.copy2(work / "arch/x86/boot/bzImage", bzimage(flavour))
        if flavour == "release":
            shutil.rmtree(headers().parent, ignore_errors=True)
            shutil.copytree(work / "headers", headers().parent)

    name, title = f"kernel-{flavour}", f"guest kernel ({flavour})"
    outputs = [image(flavour), bzimage(flavour)] + ([headers()] if flavour == "release" else [])
    return Step(name, title, make, _inputs(flavour), outputs, [sources.linux().step], lock="linux")


def _configure(job: Job, source: Path, work: Path, wanted: list[Path]) -> None:
    work.mkdir(parents=True, exist_ok=True)
    everything = work / "fragments.config"
    everything.write_text("".join(fragment.read_text() for fragment in wanted))
    job.run(["make", "-C", source, f"O={work}", f"KCONFIG_ALLCONFIG={everything}", "allnoconfig"])
    have = set((work / ".config").read_text().splitlines())
    asked = {}
    for fragment in wanted:
        for line in map(str.strip, fragment.read_text().splitlines()):
            if option := re.match(r"(?:# )?(CONFIG_\w+)(?==| is not set$)", line):
                asked[option[1]] = (line, fragment.name)
    lost = [f"{line} ({name})" for line, name in asked.values() if not line.startswith("#") and line not in have]
    if lost:
        raise job.fail(f"options of configs/ that this kernel does not accept: {', '.join(lost)}")


def modules(flavour: str) -> Path:
    """Return the folder of the installed modules, with lib/modules/VERSION below it."""
    return folder(flavour) / "modules"


def driver(flavour: str) -> Step:
    """Return the step that builds the driver in the kernel's build tree, and installs all
    modules."""
    check_flavour(flavour)
    work = tree(flavour)
    target = modules(flavour)

    def make(job: Job) -> None:
        _bring_up(job, flavour)
        job.run(["make", "-C", work, jobs(), "modules"], expected_lines=80)
        shutil.rmtree(target, ignore_errors=True)
        job.run(["make", "-C", work, "modules_install", f"INSTALL_MOD_PATH={target}", "INSTALL_MOD_STRIP=1"])

    inputs = fingerprint.of(GUEST_DRIVER, INCLUDE)
    return Step(f"driver-{flavour}", f"driver ({flavour})", make, inputs, [target], [build(flavour)], lock="linux")
