# SPDX-License-Identifier: GPL-2.0-or-later
"""Defines the options of a guest, and makes QEMU's command line from them."""

import re
import shlex
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from vgpu_tools.base.errors import Failure
from vgpu_tools.base.paths import ROOT
from vgpu_tools.build import apt, kernel, qemu, rocm, rootfs, sources
from vgpu_tools.build.beside import beside
from vgpu_tools.build.steps import ensure
from vgpu_tools.guest import accel

MAX_GPUS = 8
CONSOLE_PIPE = "stdio,signal=off"
APPEND = "console=ttyS0 panic=-1 oops=panic tsc=reliable no_timer_check"
SIZE = re.compile(r"[1-9]\d*[KMGT]?")
DELAY_POINTS = ("wake", "take", "done", "irq", "ack", "window")  # qemu-device/core/delay.h
OPTION = re.compile(r"[a-z][a-z0-9-]*=[^,]+(,[a-z][a-z0-9-]*=[^,]+)*")


@dataclass(frozen=True)
class Guest:
    """A guest as the options of ./vgpu run and ./vgpu shell describe it."""

    gpus: int = 1
    vram: str = ""  # size of each GPU's VRAM; empty: the device's default
    memory: str = "2G"
    cpus: int = 2
    rootfs: str = "mini"  # "mini" or "rocm"
    kernel: str = "release"
    share: Path | None = None
    hive: bool = False  # True: the GPUs are joined to one XGMI hive
    device_opts: str = ""
    append: str = ""  # appended to the kernel's command line
    qemu_args: list[str] = field(default_factory=list)
    qmp: Path | None = None
    bzimage: bool = False  # boots slower, but can suspend to RAM
    snapshot: bool = False  # starts from a snapshot that was taken before the driver was loaded
    device_delays: str = ""  # delays device threads: a seed or one of DELAY_POINTS (QEMU variant "delays")
    accelerator: str = ""  # tcg or kvm; empty: accel.choose() decides
    late_frames: str = ""  # kinds of frames that launcher and agent delay (agent.Late)

    def check(self) -> None:
        """Raise Failure with status 2 if the guest cannot start with these options."""
        if not 0 <= self.gpus <= MAX_GPUS:
            raise Failure(f"--gpus {self.gpus}: there can be 0 to {MAX_GPUS}", status=2)
        if not 1 <= self.cpus <= 255:
            raise Failure(f"--cpus {self.cpus}: there can be 1 to 255", status=2)
        for name, value in (("--memory", self.memory), ("--vram", self.vram)):
            if value and not SIZE.fullmatch(value):
                raise Failure(f"{name} {value}: a size is a number and K, M, G or T", status=2)
        if self.device_opts and not OPTION.fullmatch(self.device_opts):
            raise Failure(f"--device-opts {self.device_opts}: want KEY=VALUE,…", status=2)
        if self.share and not self.share.is_dir():
            raise Failure(f"--share {self.share}: no such folder", status=2)
        if self.qmp and not self.qmp.absolute().parent.is_dir():
            raise Failure(f"--qmp {self.qmp}: no such folder", status=2)
        if self.device_delays and not self.device_delays.isdecimal() and self.device_delays not in DELAY_POINTS:
            raise Failure(f"--device-delays {self.device_delays}: want a seed or {', '.join(DELAY_POINTS)}", status=2)
        accel.check(self.accelerator)
        kernel.check_flavour(self.kernel)

    def on(self, accelerator: str, late_frames: str = "") -> Self:
        """Return a copy of this guest that runs on `accelerator`. `late_frames` says which
        frames between launcher and agent are delayed: a letter for each kind, see agent.Late."""
        return replace(self, accelerator=accelerator, late_frames=late_frames)

    def variant(self) -> str:
        """Return the variant of QEMU that the guest needs. Only the variant "delays" can delay the
        device's threads."""
        return "delays" if self.device_delays else "release"

    def prepare(self) -> None:
        """Build everything that the guest needs."""
        system = rootfs.build_split if self.snapshot else rootfs.build
        emulator, image = qemu.build(), kernel.build(self.kernel)
        if not emulator.fresh() and not image.fresh():
            # Much of a first build uses one CPU only: downloads, QEMU's configure, the links of the kernel. So build
            # QEMU and the guest's system at the same time. Both need the packages, so install these before.
            ensure(apt.host_packages())
            with beside([ROOT / "vgpu", "build", f"guest-{self.kernel}"]):
                ensure(sources.firmware()[0], emulator)
        ensure(sources.firmware()[0], emulator, image, system(self.kernel))
        if self.device_delays:
            ensure(qemu.build(self.variant()))
        if self.rootfs == "rocm":
            ensure(rocm.build())

    def command(self, agent_fd: int, accelerator: str, console: str = CONSOLE_PIPE) -> list[str]:
        """Return QEMU's command line. `agent_fd` is the descriptor of the agent's socket; `console` is a character
        device of QEMU (-chardev)."""
        words: list[str | Path] = [qemu.binary(self.variant())]
        for folder in sources.firmware()[1]:
            words += ["-L", folder]
        words += ["-nodefaults", "-no-user-config", "-nographic", "-no-reboot"]
        words += ["-name", "vgpu-kfd", "-machine", "q35,vmport=off,smbus=off,hpet=off,dump-guest-core=off"]
        # Hot plug is done by the PCIe ports (pciehp) and not by ACPI, as on real machines with such cards.
        words += ["-global", "ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off"]
        words += accel.arguments(accelerator)
        words += ["-smp", str(self.cpus), "-m", self.memory]
        words += ["-kernel", self.kernel_image(), "-initrd", self.initramfs()]
        append = [APPEND, *accel.kernel_arguments(accelerator), self.append]
        append += ["vgpu_wait=1"] if self.snapshot else []  # mini/init.c: the agent is then in state "waiting"
        append += [f"vgpu_agent_delay={self.late_frames}"] if self.late_frames else []
        if self.rootfs == "rocm":
            place = str(rocm.image()).replace(",", ",,")
            words += ["-drive", f"if=none,id=root,format=raw,read-only=on,file={place}"]
            words += ["-device", "virtio-blk-pci,drive=root"]
            append += ["vgpu_root=vda"]  # mini/root changes to this root
        words += ["-append", " ".join(word for word in append if word)]
        words += ["-chardev", f"{console},id=console", "-serial", "chardev:console"]
        words += ["-chardev", f"socket,id=agent,fd={agent_fd}", "-device", "virtio-serial-pci,max_ports=2"]
        words += ["-device", "virtserialport,chardev=agent,name=vgpu.agent"]
        options = [f"vram={self.vram}"] if self.vram else []
        options += [self.device_opts] if self.device_opts else []
        if self.device_delays:
            options += [f"{'x-delays' if self.device_delays.isdecimal() else 'x-delay-point'}={self.device_delays}"]
        if self.hive:
            words += ["-object", "vgpu-hive,id=hive0"]
        for index in range(self.gpus):
            # Number the GPUs' nodes in the hive, so that a GPU keeps its node when the guest is
            # saved and restored after another GPU was unplugged.
            node = [f"hive=hive0,node={index}"] if self.hive else []
            # Each GPU has its own root port, as a real card has. The port's 64-bit prefetchable
            # window holds VRAM.
            words += ["-device", f"pcie-root-port,id=port{index},chassis={index + 1},slot={index + 1}"]
            words += ["-device", ",".join(["vgpu-kfd", f"id=gpu{index}", f"bus=port{index}", *options, *node])]
        if self.share:
            place = str(self.share.resolve()).replace(",", ",,")
            words += ["-virtfs", f"local,path={place},mount_tag=share,security_model=none,multidevs=remap"]
        if self.snapshot:
            place = str(rootfs.disk(self.kernel)).replace(",", ",,")
            words += ["-drive", f"if=none,id=programs,format=raw,read-only=on,file={place}"]
            # Use the last free PCI slot, so that this disk does not change the device names of the
            # disks of --qemu-args.
            words += ["-device", "virtio-blk-pci,drive=programs,serial=vgpu-programs,addr=1d"]
            words += ["-global", "migration.mapped-ram=on"]
        if self.qmp:
            words += ["-qmp", f"unix:{str(self.qmp.absolute()).replace(',', ',,')},server=on,wait=off"]
        return [str(word) for word in words] + self.qemu_args

    def kernel_image(self) -> Path:
        """Return the path of the kernel that QEMU loads, a bzImage or an ELF file."""
        return kernel.bzimage(self.kernel) if self.bzimage else kernel.image(self.kernel)

    def initramfs(self) -> Path:
        """Return the path of the initramfs that QEMU loads. For a snapshot, this initramfs lacks
        modules and programs: they are on rootfs.disk(), which the guest mounts after the restore."""
        return rootfs.base(self.kernel) if self.snapshot else rootfs.image(self.kernel)


def split_arguments(text: str) -> list[str]:
    """Split the value of --qemu-args into words, by the shell's rules. Raises Failure if a quote is not closed."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise Failure(f"--qemu-args {text}: {error}", status=2) from None
