/* SPDX-License-Identifier: GPL-2.0 */
/* hw/: the command processor's compute queues. Part of vgpu_hw.h. */
#ifndef VGPU_CP_FACE_H
#define VGPU_CP_FACE_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/mutex.h>
#include <linux/sizes.h>
#include <linux/types.h>
#include <linux/wait.h>

struct drm_printer;
struct vgpu_device;

/* A run list: for each process its packet, then one for each of its queues. */
#define VGPU_CP_PROCESS_DWORDS	21
#define VGPU_CP_QUEUE_DWORDS	7
#define VGPU_CP_CHAIN_DWORDS	4
#define VGPU_CP_LIST_BYTES	SZ_128K
#define VGPU_CP_LIST_DWORDS	(VGPU_CP_LIST_BYTES / 4 - VGPU_CP_CHAIN_DWORDS)
#define VGPU_CP_MQD_BYTES	2048
#define VGPU_CP_NUM_USER_QUEUES	24
#define VGPU_CP_NUM_SE		8
#define VGPU_CP_NUM_SH		80
#define VGPU_CP_NUM_GWS		64

/**
 * struct vgpu_cp_queue_regs - a compute queue of a user
 * @mqd_mc: its MQD, MC address
 * @ring_va: ring, 256-byte aligned. This and the next in the process's addresses
 * @rptr_va: where the CP writes its read pointer: dwords in the ring (32 bits),
 *           AQL: packets ever (64 bits)
 * @wptr_va: where user space writes its own: 64 bits, dwords ever; AQL: packets
 * @eop_va: end-of-pipe buffer, 256-byte aligned, or 0
 * @save_va: context save area, or 0
 * @ring_bytes: power of two
 * @eop_bytes: length of the buffer
 * @save_bytes: length of the save area
 * @stack_bytes: of that, the control stack
 * @doorbell_offset: byte offset of the doorbell in BAR 2
 * @priority: 0 to 15
 * @aql: packets are AQL's, otherwise PM4
 * @gws: its waves use global wave sync
 */
struct vgpu_cp_queue_regs {
	u64 mqd_mc;
	u64 ring_va;
	u64 rptr_va;
	u64 wptr_va;
	u64 eop_va;
	u64 save_va;
	u32 ring_bytes;
	u32 eop_bytes;
	u32 save_bytes;
	u32 stack_bytes;
	u32 doorbell_offset;
	u8 priority;
	bool aql;
	bool gws;
};

/**
 * struct vgpu_cp_saved - what a queue's save area holds, bytes
 * @stack_offset: where the control stack begins
 * @stack_bytes: its length
 * @wave_offset: where the waves end
 * @wave_bytes: their length
 */
struct vgpu_cp_saved {
	u32 stack_offset;
	u32 stack_bytes;
	u32 wave_offset;
	u32 wave_bytes;
};

/**
 * struct vgpu_mqd_state - how far a queue has come; the rest of an MQD is what
 *			   struct vgpu_cp_queue_regs says
 * @wptr: write pointer, dwords ever
 * @ib_va: indirect buffer that it is in
 * @rptr: read pointer, dwords in the ring
 * @status: CP_HQD_HQ_STATUS1
 * @ib_control: CP_HQD_IB_CONTROL: is it in one, and its length
 * @ib_rptr: dwords of it that are done
 * @sh: registers of SET_SH_REG, the masks of compute units among them
 */
struct vgpu_mqd_state {
	u64 wptr;
	u64 ib_va;
	u32 rptr;
	u32 status;
	u32 ib_control;
	u32 ib_rptr;
	u32 sh[VGPU_CP_NUM_SH];
};

/* vgpu_cp.c: compute queues */
__le32 *vgpu_cp_next_list(struct vgpu_device *vdev);
int vgpu_cp_run(struct vgpu_device *vdev, u32 dwords);
u32 vgpu_cp_lost(struct vgpu_device *vdev);
void vgpu_cp_park(struct vgpu_device *vdev);
void vgpu_cp_unpark(struct vgpu_device *vdev, bool vram_lost);
void vgpu_cp_give_up(struct vgpu_device *vdev);

/* vgpu_cp_hqd.c */
void vgpu_cp_print_hqds(struct vgpu_device *vdev, struct drm_printer *p);
void vgpu_cp_print_list(struct vgpu_device *vdev, struct drm_printer *p);

/* vgpu_cp_emit.c */
void vgpu_cp_emit_process(__le32 *dw, u16 pasid, u64 root_pde, u32 num_gws);
void vgpu_cp_emit_queue(__le32 *dw, const struct vgpu_cp_queue_regs *regs);
void vgpu_mqd_init(__le32 *mqd, const struct vgpu_cp_queue_regs *regs);
void vgpu_mqd_set_ring(__le32 *mqd, const struct vgpu_cp_queue_regs *regs);
void vgpu_mqd_set_cu_mask(__le32 *mqd, const u32 se_mask[VGPU_CP_NUM_SE]);
void vgpu_mqd_set_gws(__le32 *mqd, bool gws);
void vgpu_mqd_saved(const __le32 *mqd, struct vgpu_cp_saved *saved);
void vgpu_mqd_get_state(const __le32 *mqd, struct vgpu_mqd_state *state);
int vgpu_mqd_set_state(__le32 *mqd, const struct vgpu_mqd_state *state);

#endif /* VGPU_CP_FACE_H */
