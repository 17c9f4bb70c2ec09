# SPDX-License-Identifier: GPL-2.0-or-later
"""Configures and builds a QEMU that contains the device. The build tree is in the cache; the finished
binaries are copied to the checkout's build folder."""

import os
import shlex
import shutil
import sys
import threading
from pathlib import Path

from vgpu_tools.base.environment import path_with
from vgpu_tools.base.errors import Failure
from vgpu_tools.base.paths import BUILD, CACHE, CONFIGS, INCLUDE, QEMU_DEVICE
from vgpu_tools.build import apt, fingerprint, sources
from vgpu_tools.build.steps import Job, Step, jobs

BINARY = "qemu-system-x86_64"
QTEST = "tests/qtest/vgpu-kfd/vgpu-kfd-test"
BENCH = "tests/qtest/vgpu-kfd/vgpu-kfd-bench"
MODEL_FUZZER = "tests/qtest/vgpu-kfd/vgpu-kfd-fuzz"
GENERIC_FUZZER = "qemu-fuzz-x86_64"
VARIANTS = ("release", "sanitizers", "delays")


def flags(variant: str) -> list[str]:
    """Return the arguments of configure for a variant: those in configs/qemu.flags, then those in
    configs/qemu-VARIANT.flags if that file exists."""
    words: list[str] = []
    for name in ("qemu.flags", f"qemu-{variant}.flags"):
        file = CONFIGS / name
        if file.exists():
            lines = (line.split("#", 1)[0] for line in file.read_text().splitlines())
            words += [word for line in lines for word in line.split()]
    return words


def folder(variant: str) -> Path:
    """Return the folder in the checkout's build folder to which the steps copy a variant's binaries."""
    return BUILD / ("qemu" if variant == "release" else f"qemu-{variant}")


def binary(variant: str = "release") -> Path:
    """Return the path to which the step build() copies QEMU's binary."""
    return folder(variant) / BINARY


def qtest(variant: str = "release") -> Path:
    """Return the path to which the step build_qtest() copies the device's qtest program."""
    return folder(variant) / Path(QTEST).name


def bench() -> Path:
    """Return the path of the device's benchmark program."""
    return folder("release") / Path(BENCH).name


def model_fuzzer(variant: str = "release") -> Path:
    """Return the path of the fuzzer that compares the device with a model."""
    return folder(variant) / Path(MODEL_FUZZER).name


def generic_fuzzer() -> Path:
    """Return the path of QEMU's own fuzzer of devices, which is built with sanitizers."""
    return folder("sanitizers") / GENERIC_FUZZER


def firmware_beside(variant: str) -> None:
    """Link the firmware below the folder of the binary, where a QEMU without -L looks for
    firmware."""
    place = folder(variant) / "qemu-bundle/usr/local/share/qemu"
    place.mkdir(parents=True, exist_ok=True)
    for path in [path for folder in sources.firmware()[1] for path in folder.iterdir()]:
        link = place / path.name
        link.unlink(missing_ok=True)
        link.symlink_to(path)


def with_firmware(variant: str = "release") -> Path:
    """Write a script, named like the emulator, that starts QEMU with the firmware. Return the
    script's path. The script exists because some tests accept a path to QEMU but no arguments."""
    script = folder(variant) / "with-firmware" / BINARY
    folders = " ".join(f"-L {shlex.quote(str(path))}" for path in sources.firmware()[1])
    if variant == "delays":
        folders += ' -global "vgpu-kfd.x-delays=${VGPU_TEST_DELAYS:-1}"'
    text = f'#!/bin/sh\nexec {shlex.quote(str(binary(variant)))} {folders} "$@"\n'
    if not script.exists() or script.read_text() != text:
        script.parent.mkdir(parents=True, exist_ok=True)
        new = script.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
        new.write_text(text)
        new.chmod(0o755)
        new.replace(script)
    return script


def tree(variant: str = "release") -> Path:
    """Return the build tree in the cache. Each combination of source tree and configuration has
    its own build tree."""
    return CACHE / f"qemu-{variant}-{fingerprint.of(sources.qemu().step.key, flags(variant))}"


def build(variant: str = "release") -> Step:
    """Return the step that builds QEMU. Raises Failure if `variant` is not one of VARIANTS."""
    return _step(variant, f"qemu-{variant}", "QEMU", BINARY, binary(variant), _needs(variant))


def build_qtest(variant: str = "release") -> Step:
    """Return the step that builds the device's qtest program, after QEMU."""
    return _step(variant, f"qtest-{variant}", "qtest of the device", QTEST, qtest(variant), [build(variant)])


def build_bench() -> Step:
    """Return the step that builds vgpu-kfd-bench, which measures the speed of the device without a guest."""
    return _step("release", "qemu-bench", "benchmark of the device", BENCH, bench(), [build("release")])


def build_model_fuzzer(variant: str = "release") -> Step:
    """Return the step that builds the model fuzzer, which compares the device with a model. The step
    runs after the step that builds QEMU."""
    name, output = f"model-fuzzer-{variant}", model_fuzzer(variant)
    return _step(variant, name, "fuzzer of the device", MODEL_FUZZER, output, [build(variant)])


def build_generic_fuzzer() -> Step:
    """Return the step that builds QEMU's own fuzzer of devices, with sanitizers."""
    return _step(
        "sanitizers", "generic-fuzzer", "QEMU's fuzzer", GENERIC_FUZZER, generic_fuzzer(), _needs("sanitizers")
    )


def _needs(variant: str) -> list[Step]:
    """Return the steps that must be up to date before a variant is built."""
    packages = [apt.host_packages("packages-sanitizers")] if variant == "sanitizers" else []
    return [*packages, sources.qemu().step]


def _step(variant: str, name: str, title: str, target: str, output: Path, needs: list[Step]) -> Step:
    """Return a step that builds one target of a variant's build tree with ninja and copies the
    result to the build folder."""
    if variant not in VARIANTS:
        raise Failure(f"no QEMU variant '{variant}': there are {', '.join(VARIANTS)}", status=2)
    source = sources.qemu()
    work = tree(variant)
    tools = Path(sys.executable).parent
    ninja = tools / "ninja"

    def make(job: Job) -> None:
        source.hook(job, QEMU_DEVICE)
        work.mkdir(parents=True, exist_ok=True)
        if not (work / "build.ninja").exists():
            configure: list[str | Path] = [
                source.tree / "configure",
                f"--python={sys.executable}",
                f"--ninja={ninja}",
                *flags(variant),
            ]
            job.run(configure, cwd=work, env={"PATH": path_with(tools)})
        job.run([ninja, jobs(), target], cwd=work)
        output.parent.mkdir(parents=True, exist_ok=True)
        new = output.with_name(output.name + ".new")
        shutil.copy2(work / target, new)
        new.replace(output)

    inputs = fingerprint.of(flags(variant), QEMU_DEVICE, INCLUDE)
    return Step(
        name, title if variant == "release" else f"{title} ({variant})", make, inputs, [output], needs, lock="qemu"
    )
