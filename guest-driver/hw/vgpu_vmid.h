/* SPDX-License-Identifier: GPL-2.0 */
/* Ranges of VMIDs, by their use. VMID 0 is the kernel's. */
#ifndef VGPU_VMID_H
#define VGPU_VMID_H

#include <linux/bits.h>
#include <linux/types.h>

/* VMIDs of render-node jobs. As in amdgpu on compute-only GPUs, KFD has the VMIDs from 3 on. */
#define VGPU_FIRST_GFX_VMID	1
#define VGPU_LAST_GFX_VMID	2
/* VMIDs of KFD's SDMA queues. */
#define VGPU_FIRST_KFD_VMID	3
#define VGPU_LAST_KFD_VMID	11
/* VMIDs that the CP assigns to the processes of a run list. */
#define VGPU_FIRST_HWS_VMID	12
#define VGPU_LAST_HWS_VMID	15
#define VGPU_HWS_VMIDS		\
	((u32)GENMASK(VGPU_LAST_HWS_VMID, VGPU_FIRST_HWS_VMID))

#endif /* VGPU_VMID_H */
