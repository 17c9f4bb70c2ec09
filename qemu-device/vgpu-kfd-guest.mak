# SPDX-License-Identifier: GPL-2.0-or-later
#
# For configure --with-devices-x86_64=vgpu-kfd-guest: the devices of the guests
# that ./vgpu starts. A QEMU with all its devices has 230 more files to compile.
CONFIG_Q35=y
CONFIG_PCIE_PORT=y
CONFIG_VGPU_KFD=y
CONFIG_VTD=y
CONFIG_AMD_IOMMU=y
CONFIG_VIRTIO_PCI=y
CONFIG_VIRTIO_SERIAL=y
CONFIG_VIRTIO_BLK=y
CONFIG_VIRTIO_9P=y
# For machines that users build by themselves (docs/howto/test-my-driver.md).
CONFIG_VIRTIO_NET=y
CONFIG_VGA_PCI=y
# For limits.py and doc_registers.py in tools/vgpu_tools/testing: isa-debug-exit
# ends QEMU, and pci-testdev is a device without properties of its own.
CONFIG_ISA_DEBUG=y
CONFIG_PCI_TESTDEV=y
