/* SPDX-License-Identifier: GPL-2.0 */
/*
 * MQDs: the state of compute queues that are not mapped. Functions are documented in
 * vgpu_cp_emit.c.
 */
#ifndef VGPU_HW_MQD_H
#define VGPU_HW_MQD_H

#include <linux/types.h>

#define VGPU_CP_MQD_BYTES	2048
#define VGPU_CP_NUM_SE		8
#define VGPU_CP_NUM_SH		80

/**
 * struct vgpu_cp_queue_regs - settings of a user's compute queue
 * @mqd_mc: MC address of its MQD
 * @ring_va: ring, 256-byte aligned. @ring_va to @save_va are GPU addresses of the process
 * @rptr_va: address to which the CP writes its read pointer. PM4: dwords in the ring, 32
 *           bits; AQL: packets since creation, 64 bits
 * @wptr_va: address to which user space writes the write pointer, 64 bits. PM4: dwords
 *           since creation; AQL: packets since creation
 * @eop_va: end-of-pipe buffer, 256-byte aligned, or 0
 * @save_va: context save area, or 0
 * @ring_bytes: power of two
 * @eop_bytes: bytes of the end-of-pipe buffer
 * @save_bytes: bytes of the context save area
 * @stack_bytes: bytes of the control stack in the save area
 * @doorbell_offset: byte offset of the doorbell in BAR 2
 * @priority: 0 to 15
 * @aql: packets are AQL; otherwise PM4
 * @gws: waves of the queue use global wave sync
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
 * struct vgpu_cp_saved - layout of a queue's save area, bytes
 * @stack_offset: start of the control stack
 * @stack_bytes: length of the control stack
 * @wave_offset: end of the saved waves, which start at the end of the control stack
 * @wave_bytes: length of the saved waves
 */
struct vgpu_cp_saved {
	u32 stack_offset;
	u32 stack_bytes;
	u32 wave_offset;
	u32 wave_bytes;
};

/**
 * struct vgpu_mqd_state - progress of a queue, without the settings of struct
 * vgpu_cp_queue_regs
 * @wptr: write pointer, dwords since creation
 * @ib_va: indirect buffer in progress
 * @rptr: read pointer, dwords in the ring
 * @status: CP_HQD_HQ_STATUS1
 * @ib_control: CP_HQD_IB_CONTROL: length of the indirect buffer, and a bit that is set
 *              while it is in progress
 * @ib_rptr: dwords of the indirect buffer that have been executed
 * @sh: registers of SET_SH_REG, including the masks of compute units
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

void vgpu_mqd_init(__le32 *mqd, const struct vgpu_cp_queue_regs *regs);
void vgpu_mqd_set_ring(__le32 *mqd, const struct vgpu_cp_queue_regs *regs);
void vgpu_mqd_set_cu_mask(__le32 *mqd, const u32 se_mask[VGPU_CP_NUM_SE]);
void vgpu_mqd_set_gws(__le32 *mqd, bool gws);
void vgpu_mqd_saved(const __le32 *mqd, struct vgpu_cp_saved *saved);
void vgpu_mqd_get_state(const __le32 *mqd, struct vgpu_mqd_state *state);
int vgpu_mqd_set_state(__le32 *mqd, const struct vgpu_mqd_state *state);

#endif /* VGPU_HW_MQD_H */
