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
 *
 * Members ..._va are GPU addresses of the process.
 */
struct vgpu_cp_queue_regs {
	/** @mqd_mc: MC address at which the CP loads and saves the registers of the queue */
	u64 mqd_mc;
	/** @ring_va: address of the ring, 256-byte aligned */
	u64 ring_va;
	/**
	 * @rptr_va: address to which the CP writes its read pointer. PM4: 32 bits, dword offset in
	 * the ring. AQL: 64 bits, packets since creation of the queue
	 */
	u64 rptr_va;
	/**
	 * @wptr_va: address to which user space writes the 64-bit write pointer. It counts dwords
	 * (PM4) or packets (AQL) since creation of the queue
	 */
	u64 wptr_va;
	/** @eop_va: address of the end-of-pipe buffer, 256-byte aligned, or 0 */
	u64 eop_va;
	/** @save_va: address of the context save area, or 0 */
	u64 save_va;
	/** @ring_bytes: bytes of the ring, a power of two */
	u32 ring_bytes;
	/** @eop_bytes: bytes of the end-of-pipe buffer */
	u32 eop_bytes;
	/** @save_bytes: bytes of the context save area */
	u32 save_bytes;
	/** @stack_bytes: bytes of the control stack in the context save area */
	u32 stack_bytes;
	/** @doorbell_offset: byte offset of the doorbell in BAR 2 */
	u32 doorbell_offset;
	/** @priority: 0 to 15 */
	u8 priority;
	/** @aql: true: packets are AQL; false: packets are PM4 */
	bool aql;
	/** @gws: waves of the queue use global wave sync */
	bool gws;
};

/**
 * struct vgpu_cp_saved - layout of a queue's context save area, in bytes
 */
struct vgpu_cp_saved {
	/** @stack_offset: start of the used part of the control stack, which grows down */
	u32 stack_offset;
	/** @stack_bytes: length of the used part of the control stack */
	u32 stack_bytes;
	/** @wave_offset: end of the saved waves; their start is @wave_offset - @wave_bytes */
	u32 wave_offset;
	/** @wave_bytes: length of the saved waves */
	u32 wave_bytes;
};

/**
 * struct vgpu_mqd_state - progress of a queue, without the settings of struct
 * vgpu_cp_queue_regs
 */
struct vgpu_mqd_state {
	/** @wptr: write pointer, dwords since creation of the queue */
	u64 wptr;
	/** @ib_va: address of the indirect buffer in progress */
	u64 ib_va;
	/** @rptr: read pointer, dword offset in the ring */
	u32 rptr;
	/** @status: value of CP_HQD_HQ_STATUS1 */
	u32 status;
	/**
	 * @ib_control: value of CP_HQD_IB_CONTROL: length of the indirect buffer, and a bit that is
	 * set while the buffer is in progress
	 */
	u32 ib_control;
	/** @ib_rptr: dwords of the indirect buffer that have been executed */
	u32 ib_rptr;
	/** @sh: registers that SET_SH_REG sets, including the masks of compute units */
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
