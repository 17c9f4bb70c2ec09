/* SPDX-License-Identifier: GPL-2.0 */
/*
 * MQDs: the state of a compute queue that is not mapped. Functions are documented in
 * vgpu_cp_emit.c.
 */
#ifndef VGPU_HW_MQD_H
#define VGPU_HW_MQD_H

#include <linux/types.h>

#define VGPU_CP_MQD_BYTES	2048
#define VGPU_CP_NUM_SE		8
#define VGPU_CP_NUM_SH		80

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

void vgpu_mqd_init(__le32 *mqd, const struct vgpu_cp_queue_regs *regs);
void vgpu_mqd_set_ring(__le32 *mqd, const struct vgpu_cp_queue_regs *regs);
void vgpu_mqd_set_cu_mask(__le32 *mqd, const u32 se_mask[VGPU_CP_NUM_SE]);
void vgpu_mqd_set_gws(__le32 *mqd, bool gws);
void vgpu_mqd_saved(const __le32 *mqd, struct vgpu_cp_saved *saved);
void vgpu_mqd_get_state(const __le32 *mqd, struct vgpu_mqd_state *state);
int vgpu_mqd_set_state(__le32 *mqd, const struct vgpu_mqd_state *state);

#endif /* VGPU_HW_MQD_H */
