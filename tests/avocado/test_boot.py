# SPDX-License-Identifier: GPL-2.0-or-later
"""Boots with one and with two GPUs: would catch a device that firmware or driver cannot place, or a lost node."""

from launcher import GuestTest
from vgpu_tools.guest.config import Guest


class Boot(GuestTest):
    """The driver takes every GPU, and each is where user space looks for it."""

    def boots(self, gpus: int) -> None:
        """Boot with `gpus` GPUs and count them everywhere they should show."""
        nodes = "/sys/class/kfd/kfd/topology/nodes"
        script = (
            f"ls {nodes} | wc -l; ls /dev/dri | grep -c renderD;"
            "grep -l 0x740f /sys/bus/pci/devices/*/device | wc -l;"
            f"cat {nodes}/*/gpu_id | sort -u | wc -l; test -c /dev/kfd"
        )
        counts = [int(line) for line in self.succeeds(Guest(gpus=gpus), script).split()]
        # nodes with the CPU's, render nodes, PCI functions, distinct ids with the CPU's 0
        self.assertEqual(counts, [gpus + 1, gpus, gpus, gpus + 1])

    def test_one_gpu(self) -> None:
        """One GPU."""
        self.boots(1)

    def test_two_gpus(self) -> None:
        """Two GPUs."""
        self.boots(2)

    def test_no_gpu(self) -> None:
        """Without a GPU the guest comes up all the same."""
        self.succeeds(Guest(gpus=0), "true")

    def test_vram_size(self) -> None:
        """The VRAM that was asked for is BAR 0, and the driver found it, less the little that it keeps for itself."""
        script = "cd /sys/bus/pci/drivers/vgpu_kfd/0*/ && stat -c %s resource0 && cat mem_info_vram_total"
        window, total = map(int, self.succeeds(Guest(vram="256M"), script).split())
        self.assertEqual(window, 256 << 20)
        self.assertTrue(window - (4 << 20) <= total <= window, total)

    def test_demo(self) -> None:
        """What the README begins with; would catch counters of device and driver that do not agree."""
        self.succeeds(Guest(memory="2G"), "vgpu-demo")

    def test_behind_an_iommu(self) -> None:
        """The demo holds where bus addresses are not the memory's; would catch DMA past the vIOMMU, and a driver that
        takes physical addresses for bus addresses."""
        guest = Guest(memory="2G", qemu_args=["-device", "intel-iommu"])
        self.succeeds(guest, "test -e /sys/class/iommu/dmar0 && vgpu-demo")
