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
 * @mqd_mc: MC address of the queue's MQD
 * @ring_va: address of the ring, 256-byte aligned. The addresses @ring_va to @save_va are
 *           GPU addresses of the process
 * @rptr_va: address to which the CP writes its read pointer. In a PM4 queue the pointer has
 *           32 bits and is a dword offset in the ring; in an AQL queue it has 64 bits and
 *           counts packets since creation of the queue
 * @wptr_va: address to which user space writes the 64-bit write pointer, which counts
 *           dwords (PM4) or packets (AQL) since creation of the queue
 * @eop_va: address of the end-of-pipe buffer, 256-byte aligned, or 0
 * @save_va: address of the context save area, or 0
 * @ring_bytes: bytes of the ring, a power of two
 * @eop_bytes: bytes of the end-of-pipe buffer
 * @save_bytes: bytes of the context save area
 * @stack_bytes: bytes of the control stack in the save area
 * @doorbell_offset: byte offset of the doorbell in BAR 2
 * @priority: 0 to 15
 * @aql: true: packets are AQL; false: packets are PM4
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
 * struct vgpu_cp_saved - layout of a queue's context save area, in bytes
 * @stack_offset: start of the control stack
 * @stack_bytes: length of the control stack
 * @wave_offset: end of the saved waves, not their start. They start at the end of the control
 *               stack, @stack_offset + @stack_bytes
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
 * @ib_va: address of the indirect buffer in progress
 * @rptr: read pointer, dword offset in the ring
 * @status: value of CP_HQD_HQ_STATUS1
 * @ib_control: value of CP_HQD_IB_CONTROL: length of the indirect buffer, and a bit that is
 *              set while the buffer is in progress
 * @ib_rptr: dwords of the indirect buffer that have been executed
 * @sh: registers that SET_SH_REG sets, including the masks of compute units
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
