// SPDX-License-Identifier: GPL-2.0
/*
 * Writes memory that the CP reads: the packets of run lists, and MQDs. A queue's MQD holds the
 * state of the queue while the queue is not mapped. Formats: include/vgpu/pm4.h and cp.h.
 */
#include <linux/log2.h>
#include <kunit/visibility.h>

#include "vgpu/cp.h"
#include "vgpu/pm4.h"
#include "hw/vgpu_hw_priv.h"
#include "vgpu_cp.h"
#include "vgpu_cp_priv.h"
#include "vgpu_mqd.h"

/* Time slice of a process while other processes wait, in ms. */
#define RUN_QUANTUM_MS		10u

/*
 * MQD fields that the model's CP stores but does not use. The values are offsets in dwords from
 * dword CP_MQD_HQD of the MQD.
 */
#define MQD_CTX_SAVE_BASE	0x2b
#define MQD_CNTL_STACK_OFFSET	0x2e
#define MQD_CNTL_STACK_SIZE	0x2f
#define MQD_WG_STATE_OFFSET	0x30
#define MQD_CTX_SAVE_SIZE	0x31
#define MQD_PIPE_PRIORITY	0x05
#define MQD_QUEUE_PRIORITY	0x06

/* Dword offset of COMPUTE_STATIC_THREAD_MGMT_SEn in the MQD, by shader engine n. */
static const u8 mqd_se_mask[VGPU_CP_NUM_SE] = {
	23, 24, 26, 27, 39, 40, 41, 42,
};

/* Dword offset of COMPUTE_RESOURCE_LIMITS in the MQD, and the bit FORCE_SIMD_DIST of that dword. */
#define MQD_RESOURCE_LIMITS	22
#define MQD_FORCE_SIMD_DIST	0x00800000u

static u32 mqd_read(const __le32 *mqd, u32 reg)
{
	return le32_to_cpu(READ_ONCE(mqd[CP_MQD_HQD + reg]));
}

/**
 * vgpu_cp_emit_process() - write the packet that precedes the queues of a process
 * @dw: buffer for VGPU_CP_PROCESS_DWORDS dwords
 * @pasid: PASID of the process
 * @root_pde: root of its page tables, from vgpu_vm_schedule()
 * @num_gws: number of GWS (global wave sync) resources that the process needs, at most
 *           VGPU_CP_NUM_GWS. The CP gives GWS to one process at a time
 *
 * Context: any.
 */
void vgpu_cp_emit_process(__le32 *dw, u16 pasid, u64 root_pde, u32 num_gws)
{
	BUILD_BUG_ON(VGPU_CP_NUM_GWS != GWS_NUM);

	memset(dw, 0, VGPU_CP_PROCESS_DWORDS * sizeof(*dw));
	dw[0] = cpu_to_le32(PM4_HEADER(PM4_MAP_PROCESS,
				       VGPU_CP_PROCESS_DWORDS));
	dw[1] = cpu_to_le32(VGPU_PREP(PM4_PROCESS_DW1__PASID, (u32)pasid) |
			    VGPU_PREP(PM4_PROCESS_DW1__QUANTUM,
				      RUN_QUANTUM_MS));
	dw[2] = cpu_to_le32(lower_32_bits(root_pde));
	dw[3] = cpu_to_le32(upper_32_bits(root_pde));
	dw[13] = cpu_to_le32(VGPU_PREP(PM4_PROCESS_DW13__NUM_GWS, num_gws));
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_cp_emit_process);

/**
 * vgpu_cp_emit_queue() - write the packet that maps one queue into any free
 * hardware queue
 * @dw: buffer for VGPU_CP_QUEUE_DWORDS dwords
 * @regs: settings of the queue
 *
 * Context: any.
 */
void vgpu_cp_emit_queue(__le32 *dw, const struct vgpu_cp_queue_regs *regs)
{
	dw[0] = cpu_to_le32(PM4_HEADER(PM4_MAP_QUEUES, VGPU_CP_QUEUE_DWORDS));
	dw[1] = cpu_to_le32(VGPU_PREP(PM4_MAP_DW1__QUEUE_SEL, 1u) |
			    VGPU_PREP(PM4_MAP_DW1__ENGINE_SEL,
				      PM4_ENGINE_COMPUTE) |
			    (regs->gws ? PM4_MAP_DW1__GWS_CONTROL : 0) |
			    VGPU_PREP(PM4_MAP_DW1__NUM_QUEUES, 1u));
	dw[2] = cpu_to_le32(regs->doorbell_offset);
	dw[3] = cpu_to_le32(lower_32_bits(regs->mqd_mc));
	dw[4] = cpu_to_le32(upper_32_bits(regs->mqd_mc));
	dw[5] = cpu_to_le32(lower_32_bits(regs->wptr_va));
	dw[6] = cpu_to_le32(upper_32_bits(regs->wptr_va));
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_cp_emit_queue);

/**
 * vgpu_mqd_write() - set a register in an MQD
 * @mqd: MQD of a queue that is not mapped; VGPU_CP_MQD_BYTES bytes
 * @reg: offset of the register from CP_MQD_BASE_ADDR
 * @value: value that the CP loads into the register when it maps the queue
 */
void vgpu_mqd_write(__le32 *mqd, u32 reg, u32 value)
{
	WRITE_ONCE(mqd[CP_MQD_HQD + reg], cpu_to_le32(value));
}

/**
 * vgpu_mqd_write64() - set a pair of registers in an MQD
 * @mqd: MQD of a queue that is not mapped; VGPU_CP_MQD_BYTES bytes
 * @lo: the lower register of the two
 * @value: value of the pair
 */
void vgpu_mqd_write64(__le32 *mqd, u32 lo, u64 value)
{
	vgpu_mqd_write(mqd, lo, lower_32_bits(value));
	vgpu_mqd_write(mqd, lo + 1, upper_32_bits(value));
}

/**
 * vgpu_mqd_init() - write the MQD of a queue that has not run yet
 * @mqd: MQD, VGPU_CP_MQD_BYTES bytes; the old content is lost
 * @regs: settings of the queue
 *
 * The queue may use all compute units. vgpu_mqd_set_cu_mask(), vgpu_mqd_set_state() and packets of
 * the queue can change this.
 */
void vgpu_mqd_init(__le32 *mqd, const struct vgpu_cp_queue_regs *regs)
{
	unsigned int i;

	memset(mqd, 0, VGPU_CP_MQD_BYTES);
	for (i = 0; i < VGPU_CP_NUM_SE; i++)
		mqd[mqd_se_mask[i]] = cpu_to_le32(~0u);
	vgpu_mqd_write64(mqd, CP_MQD_BASE_ADDR, regs->mqd_mc);
	vgpu_mqd_write64(mqd, CP_HQD_PQ_RPTR_REPORT_ADDR, regs->rptr_va);
	vgpu_mqd_write64(mqd, CP_HQD_PQ_WPTR_POLL_ADDR, regs->wptr_va);
	vgpu_mqd_write(mqd, CP_HQD_PQ_DOORBELL_CONTROL, regs->doorbell_offset);
	vgpu_mqd_write64(mqd, CP_HQD_EOP_BASE_ADDR, regs->eop_va >> 8);
	if (regs->eop_bytes)
		/* A value of n means 2^(n + 1) dwords. The hardware's maximum is 2^11 dwords. */
		vgpu_mqd_write(mqd, CP_HQD_EOP_CONTROL,
			       min(0xa, order_base_2(regs->eop_bytes / 8)));
	if (regs->aql)
		vgpu_mqd_write(mqd, CP_HQD_AQL_CONTROL, 1);
	/*
	 * The control stack grows down from the offset stack_bytes, and the saved waves start at
	 * this offset. No state is saved yet, so both offsets are stack_bytes.
	 */
	vgpu_mqd_write64(mqd, MQD_CTX_SAVE_BASE, regs->save_va);
	vgpu_mqd_write(mqd, MQD_CTX_SAVE_SIZE, regs->save_bytes);
	vgpu_mqd_write(mqd, MQD_CNTL_STACK_SIZE, regs->stack_bytes);
	vgpu_mqd_write(mqd, MQD_CNTL_STACK_OFFSET, regs->stack_bytes);
	vgpu_mqd_write(mqd, MQD_WG_STATE_OFFSET, regs->stack_bytes);
	vgpu_mqd_set_ring(mqd, regs);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_mqd_init);

static u32 mqd_ring_dwords(const __le32 *mqd)
{
	return 2u << VGPU_GET(mqd_read(mqd, CP_HQD_PQ_CONTROL),
			      CP_HQD_PQ_CONTROL__QUEUE_SIZE);
}

/*
 * Convert the read pointer from a ring of @from dwords to a ring of @to dwords, keeping the amount
 * of work left.
 */
static void mqd_move_rptr(__le32 *mqd, u32 from, u32 to)
{
	u32 wptr = mqd_read(mqd, CP_HQD_PQ_WPTR_LO);
	u32 status = mqd_read(mqd, CP_HQD_HQ_STATUS1);
	u32 left = (wptr - mqd_read(mqd, CP_HQD_PQ_RPTR)) & (from - 1);

	if (!left && (status & CP_HQD_HQ_STATUS1__FULL))
		left = from;
	status &= ~CP_HQD_HQ_STATUS1__FULL;
	if (left == to)
		status |= CP_HQD_HQ_STATUS1__FULL;
	vgpu_mqd_write(mqd, CP_HQD_PQ_RPTR, (wptr - left) & (to - 1));
	vgpu_mqd_write(mqd, CP_HQD_HQ_STATUS1, status);
}

/**
 * vgpu_mqd_set_ring() - set the ring and the priority of a queue
 * @mqd: MQD of a queue that is not mapped; VGPU_CP_MQD_BYTES bytes
 * @regs: settings of the queue; ring_va, ring_bytes, aql and priority are used
 *
 * Packets that have not been executed stay pending if they fit into the new ring.
 */
void vgpu_mqd_set_ring(__le32 *mqd, const struct vgpu_cp_queue_regs *regs)
{
	u32 dwords = regs->ring_bytes / 4;
	u32 control = VGPU_PREP(CP_HQD_PQ_CONTROL__QUEUE_SIZE,
				(u32)ilog2(dwords) - 1);

	if (mqd_ring_dwords(mqd) != dwords)
		mqd_move_rptr(mqd, mqd_ring_dwords(mqd), dwords);
	if (regs->aql)
		control |= CP_HQD_PQ_CONTROL__NO_UPDATE_RPTR;
	vgpu_mqd_write(mqd, CP_HQD_PQ_CONTROL, control);
	vgpu_mqd_write64(mqd, CP_HQD_PQ_BASE, regs->ring_va >> 8);
	/* The model stores the priority, but gives all queues equal time slices. */
	vgpu_mqd_write(mqd, MQD_PIPE_PRIORITY,
		       regs->priority < 7 ? 0 : regs->priority < 11 ? 1 : 2);
	vgpu_mqd_write(mqd, MQD_QUEUE_PRIORITY, regs->priority);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_mqd_set_ring);

/**
 * vgpu_mqd_set_cu_mask() - set the compute units on which a queue's shaders may
 * run
 * @mqd: MQD of a queue that is not mapped; VGPU_CP_MQD_BYTES bytes
 * @se_mask: for each shader engine, one bit for each compute unit
 */
void vgpu_mqd_set_cu_mask(__le32 *mqd, const u32 se_mask[VGPU_CP_NUM_SE])
{
	unsigned int i;

	for (i = 0; i < VGPU_CP_NUM_SE; i++)
		mqd[mqd_se_mask[i]] = cpu_to_le32(se_mask[i]);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_mqd_set_cu_mask);

/**
 * vgpu_mqd_set_gws() - set the wave distribution of a queue for global wave sync
 * @mqd: MQD of a queue that is not mapped; VGPU_CP_MQD_BYTES bytes
 * @gws: the queue uses global wave sync
 *
 * With global wave sync, sets MQD_FORCE_SIMD_DIST, as amdkfd does: the waves are distributed over
 * the SIMDs, so that all of them can be resident at the same time.
 */
void vgpu_mqd_set_gws(__le32 *mqd, bool gws)
{
	u32 limits = le32_to_cpu(READ_ONCE(mqd[MQD_RESOURCE_LIMITS]));

	limits &= ~MQD_FORCE_SIMD_DIST;
	limits |= gws ? MQD_FORCE_SIMD_DIST : 0;
	WRITE_ONCE(mqd[MQD_RESOURCE_LIMITS], cpu_to_le32(limits));
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_mqd_set_gws);

/**
 * vgpu_mqd_saved() - get the layout of a queue's context save area
 * @mqd: MQD of a queue that is not mapped; VGPU_CP_MQD_BYTES bytes
 * @saved: receives the offsets and sizes
 */
void vgpu_mqd_saved(const __le32 *mqd, struct vgpu_cp_saved *saved)
{
	u32 stack = mqd_read(mqd, MQD_CNTL_STACK_SIZE);

	saved->stack_offset = mqd_read(mqd, MQD_CNTL_STACK_OFFSET);
	saved->wave_offset = mqd_read(mqd, MQD_WG_STATE_OFFSET);
	saved->stack_bytes = stack - saved->stack_offset;
	saved->wave_bytes = saved->wave_offset - stack;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_mqd_saved);

static u64 mqd_read64(const __le32 *mqd, u32 lo)
{
	return mqd_read(mqd, lo) | (u64)mqd_read(mqd, lo + 1) << 32;
}

/**
 * vgpu_mqd_get_state() - get the progress of a queue
 * @mqd: MQD of a queue that is not mapped; VGPU_CP_MQD_BYTES bytes
 * @state: receives the state
 */
void vgpu_mqd_get_state(const __le32 *mqd, struct vgpu_mqd_state *state)
{
	unsigned int i;

	BUILD_BUG_ON(VGPU_CP_NUM_SH != PM4_SH_COMPUTE_COUNT);

	state->wptr = mqd_read64(mqd, CP_HQD_PQ_WPTR_LO);
	state->ib_va = mqd_read64(mqd, CP_HQD_IB_BASE_ADDR);
	state->rptr = mqd_read(mqd, CP_HQD_PQ_RPTR);
	state->status = mqd_read(mqd, CP_HQD_HQ_STATUS1);
	state->ib_control = mqd_read(mqd, CP_HQD_IB_CONTROL);
	state->ib_rptr = mqd_read(mqd, CP_HQD_IB_RPTR);
	for (i = 0; i < VGPU_CP_NUM_SH; i++)
		state->sh[i] = le32_to_cpu(READ_ONCE(mqd[CP_MQD_SH + i]));
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_mqd_get_state);

/**
 * vgpu_mqd_set_state() - let a queue continue from the state of another queue
 * @mqd: MQD that vgpu_mqd_init() has written; the queue is not mapped
 * @state: state of the other queue, from user space. A forged @state gives no access to foreign
 *         memory: a state contains neither VMID nor privilege
 *
 * Return: 0, or -EINVAL for an impossible @state. On error @mqd is unchanged.
 */
int vgpu_mqd_set_state(__le32 *mqd, const struct vgpu_mqd_state *state)
{
	const u32 status = CP_HQD_HQ_STATUS1__PHASE |
			   CP_HQD_HQ_STATUS1__REPORT | CP_HQD_HQ_STATUS1__FULL;
	const u32 control = CP_HQD_IB_CONTROL__IB_SIZE |
			    CP_HQD_IB_CONTROL__PROCESSING_IB;
	unsigned int i;

	if (state->rptr >= mqd_ring_dwords(mqd) || state->status & ~status ||
	    state->ib_control & ~control || state->ib_va & 3 ||
	    state->ib_rptr > CP_HQD_IB_CONTROL__IB_SIZE)
		return -EINVAL;
	if (state->ib_control & CP_HQD_IB_CONTROL__PROCESSING_IB &&
	    state->ib_rptr > VGPU_GET(state->ib_control,
				      CP_HQD_IB_CONTROL__IB_SIZE))
		return -EINVAL;
	vgpu_mqd_write64(mqd, CP_HQD_PQ_WPTR_LO, state->wptr);
	vgpu_mqd_write64(mqd, CP_HQD_IB_BASE_ADDR, state->ib_va);
	vgpu_mqd_write(mqd, CP_HQD_PQ_RPTR, state->rptr);
	vgpu_mqd_write(mqd, CP_HQD_HQ_STATUS1, state->status);
	vgpu_mqd_write(mqd, CP_HQD_IB_CONTROL, state->ib_control);
	vgpu_mqd_write(mqd, CP_HQD_IB_RPTR, state->ib_rptr);
	for (i = 0; i < VGPU_CP_NUM_SH; i++)
		WRITE_ONCE(mqd[CP_MQD_SH + i], cpu_to_le32(state->sh[i]));
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_mqd_set_state);
