/* SPDX-License-Identifier: GPL-2.0 */
/*
 * VMIDs of both hubs: root directories, PASIDs, TLB. Functions are documented in
 * vgpu_gmc.c and vgpu_gmc_flush.c.
 */
#ifndef VGPU_HW_GMC_H
#define VGPU_HW_GMC_H

#include <linux/types.h>

struct vgpu_device;

void vgpu_gmc_set_context(struct vgpu_device *vdev, unsigned int vmid,
			  u64 root_vram_offset);
void vgpu_gmc_clear_context(struct vgpu_device *vdev, unsigned int vmid);
u64 vgpu_gmc_root_pde(struct vgpu_device *vdev, u64 root_vram_offset);
void vgpu_gmc_set_pasid(struct vgpu_device *vdev, unsigned int vmid, u16 pasid);

/* vgpu_gmc_flush.c */
int vgpu_gmc_flush_tlb(struct vgpu_device *vdev, u32 vmid_mask);
int vgpu_gmc_try_flush(struct vgpu_device *vdev, u32 vmid_mask);
void vgpu_gmc_reset_begin(struct vgpu_device *vdev);
void vgpu_gmc_reset_end(struct vgpu_device *vdev, bool works);

#endif /* VGPU_HW_GMC_H */
