/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Registers, doorbells, counters and clock of a GPU. Registers are given by their dword
 * offset in BAR 5 (include/vgpu). Functions are documented in vgpu_mmio.c.
 */
#ifndef VGPU_HW_MMIO_H
#define VGPU_HW_MMIO_H

#include <linux/types.h>

struct vgpu_device;

u32 vgpu_rreg(struct vgpu_device *vdev, u32 reg);
void vgpu_wreg(struct vgpu_device *vdev, u32 reg, u32 value);
u64 vgpu_counter_read(struct vgpu_device *vdev, unsigned int index);
u64 vgpu_clock_read(struct vgpu_device *vdev);
void vgpu_hdp_flush(struct vgpu_device *vdev);
void vgpu_wdoorbell32(struct vgpu_device *vdev, u32 dword, u32 value);
void vgpu_wdoorbell64(struct vgpu_device *vdev, u32 byte_offset, u64 value);

#endif /* VGPU_HW_MMIO_H */
