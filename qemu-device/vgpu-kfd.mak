# SPDX-License-Identifier: GPL-2.0-or-later
#
# For configure --with-devices-x86_64=vgpu-kfd: devices that the tests need.
CONFIG_Q35=y
CONFIG_PCIE_PORT=y
CONFIG_VGPU_KFD=y
CONFIG_VTD=y
CONFIG_AMD_IOMMU=y
