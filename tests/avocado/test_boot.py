# SPDX-License-Identifier: GPL-2.0-or-later
"""Boots of guests with no GPU, with one GPU and with two GPUs."""

from launcher import GuestTest
from vgpu_tools.guest.config import Guest


class Boot(GuestTest):
    """Guests boot; the driver binds to every GPU, and user space finds each GPU."""

    def boots(self, gpus: int) -> None:
        nodes = "/sys/class/kfd/kfd/topology/nodes"
        script = (
            f"ls {nodes} | wc -l; ls /dev/dri | grep -c renderD;"
            "grep -l 0x740f /sys/bus/pci/devices/*/device | wc -l;"
            f"cat {nodes}/*/gpu_id | sort -u | wc -l; test -c /dev/kfd"
        )
        counts = [int(line) for line in self.succeeds(Guest(gpus=gpus), script).split()]
        # Expected numbers: topology nodes (one of them is the CPU's), render nodes, PCI functions,
        # distinct gpu_ids (one of them is 0, the CPU's).
        self.assertEqual(counts, [gpus + 1, gpus, gpus, gpus + 1])

    def test_one_gpu(self) -> None:
        """Catches: firmware or kernel cannot place a BAR; the GPU has no topology node or no render node."""
        self.boots(1)

    def test_two_gpus(self) -> None:
        """Catches: a second GPU is missing, or has the gpu_id of the first."""
        self.boots(2)

    def test_no_gpu(self) -> None:
        self.succeeds(Guest(gpus=0), "true")

    def test_vram_size(self) -> None:
        """Catches: BAR 0 does not have the size of --vram; the driver reports more VRAM than
        --vram, or less than --vram minus 4 MiB."""
        script = "cd /sys/bus/pci/drivers/vgpu_kfd/0*/ && stat -c %s resource0 && cat mem_info_vram_total"
        window, total = map(int, self.succeeds(Guest(vram="256M"), script).split())
        self.assertEqual(window, 256 << 20)
        self.assertTrue(window - (4 << 20) <= total <= window, total)

    def test_demo(self) -> None:
        """Catches: the demo fails, for example because the counters of device and driver differ."""
        self.succeeds(Guest(memory="2G"), "vgpu-demo")

    def test_behind_an_iommu(self) -> None:
        """Catches: DMA of the device bypasses a vIOMMU; the driver uses physical addresses as bus addresses."""
        guest = Guest(memory="2G", qemu_args=["-device", "intel-iommu"])
        self.succeeds(guest, "test -e /sys/class/iommu/dmar0 && vgpu-demo")
