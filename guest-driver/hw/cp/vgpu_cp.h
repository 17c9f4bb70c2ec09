/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Command processor. A run list names the compute queues that may run. vgpu_cp*.c documents the
 * functions.
 */
#ifndef VGPU_HW_CP_H
#define VGPU_HW_CP_H

#include <linux/sizes.h>
#include <linux/types.h>

struct drm_printer;
struct vgpu_cp_queue_regs;
struct vgpu_device;

/*
 * A run list has a process packet for each process, followed by the queue packets of this
 * process. The last packet chains to the start.
 */
#define VGPU_CP_PROCESS_DWORDS	21
#define VGPU_CP_QUEUE_DWORDS	7
#define VGPU_CP_CHAIN_DWORDS	4
#define VGPU_CP_LIST_BYTES	SZ_128K
#define VGPU_CP_LIST_DWORDS	(VGPU_CP_LIST_BYTES / 4 - VGPU_CP_CHAIN_DWORDS)
#define VGPU_CP_NUM_USER_QUEUES	24
#define VGPU_CP_NUM_GWS		64

/* vgpu_cp.c */
__le32 *vgpu_cp_next_list(struct vgpu_device *vdev);
int vgpu_cp_run(struct vgpu_device *vdev, u32 dwords, u32 lost);
u32 vgpu_cp_lost(struct vgpu_device *vdev);

/* vgpu_cp_hqd.c */
void vgpu_cp_print_hqds(struct vgpu_device *vdev, struct drm_printer *p);
void vgpu_cp_print_list(struct vgpu_device *vdev, struct drm_printer *p);

/* vgpu_cp_emit.c */
void vgpu_cp_emit_process(__le32 *dw, u16 pasid, u64 root_pde, u32 num_gws);
void vgpu_cp_emit_queue(__le32 *dw, const struct vgpu_cp_queue_regs *regs);

#endif /* VGPU_HW_CP_H */
