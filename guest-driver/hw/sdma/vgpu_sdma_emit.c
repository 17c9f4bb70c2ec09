// SPDX-License-Identifier: GPL-2.0
/* Writes the packets of the kernel's SDMA jobs. Specification: include/vgpu/sdma_packets.h. */
#include <kunit/static_stub.h>
#include <kunit/visibility.h>

#include "vgpu/sdma_packets.h"
#include "hw/vgpu_hw_priv.h"
#include "vgpu_sdma.h"
#include "vgpu_sdma_priv.h"

/* Value of SDMA_POLL_REGMEM__FUNC: wait until the register has the given value. */
#define POLL_EQUAL	3u
/* Poll interval in GPU clocks: 10 us. */
#define POLL_CLOCKS	1000u

/**
 * vgpu_sdma_emit_copy() - write a COPY_LINEAR packet
 * @dw: buffer for SDMA_COPY_LINEAR_DWORDS dwords
 * @src: MC address
 * @dst: MC address
 * @bytes: 1 to VGPU_SDMA_MAX_COPY
 *
 * Return: the number of dwords written.
 */
unsigned int vgpu_sdma_emit_copy(u32 *dw, u64 src, u64 dst, u32 bytes)
{
	WARN_ON_ONCE(!bytes || bytes > VGPU_SDMA_MAX_COPY);

	dw[0] = SDMA_PKT(SDMA_OP_COPY, SDMA_SUBOP_COPY_LINEAR);
	dw[1] = VGPU_PREP(SDMA_COPY_LINEAR_DW1__COUNT, bytes - 1);
	dw[2] = 0;
	dw[3] = lower_32_bits(src);
	dw[4] = upper_32_bits(src);
	dw[5] = lower_32_bits(dst);
	dw[6] = upper_32_bits(dst);
	return SDMA_COPY_LINEAR_DWORDS;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_sdma_emit_copy);

/**
 * vgpu_sdma_emit_fill() - write a CONST_FILL packet
 * @dw: buffer for SDMA_CONST_FILL_DWORDS dwords
 * @dst: MC address, a multiple of 4
 * @value: dword to fill with
 * @bytes: 4 to VGPU_SDMA_MAX_COPY, a multiple of 4
 *
 * Return: the number of dwords written.
 */
unsigned int vgpu_sdma_emit_fill(u32 *dw, u64 dst, u32 value, u32 bytes)
{
	WARN_ON_ONCE(!bytes || bytes > VGPU_SDMA_MAX_COPY ||
		     (dst | bytes) % 4);

	dw[0] = SDMA_OP_CONST_FILL | VGPU_PREP(SDMA_CONST_FILL__SIZE, 2u);
	dw[1] = lower_32_bits(dst);
	dw[2] = upper_32_bits(dst);
	dw[3] = value;
	dw[4] = VGPU_PREP(SDMA_CONST_FILL_DW4__COUNT, bytes - 1);
	return SDMA_CONST_FILL_DWORDS;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_sdma_emit_fill);

/**
 * vgpu_sdma_emit_ptepde() - write a PTEPDE packet
 * @dw: buffer for SDMA_PTEPDE_DWORDS dwords
 * @dst: MC address of the first entry
 * @flags: bits that the engine ORs into every entry
 * @addr: address in the first entry
 * @incr: difference of the addresses in consecutive entries
 * @count: number of entries, 1 to 2^19
 *
 * Return: the number of dwords written.
 */
unsigned int vgpu_sdma_emit_ptepde(u32 *dw, u64 dst, u64 flags, u64 addr,
				   u64 incr, u32 count)
{
	WARN_ON_ONCE(!count || count > SDMA_PTEPDE_DW9__COUNT + 1);

	dw[0] = SDMA_PKT(SDMA_OP_PTEPDE, SDMA_SUBOP_PTEPDE_GEN);
	dw[1] = lower_32_bits(dst);
	dw[2] = upper_32_bits(dst);
	dw[3] = lower_32_bits(flags);
	dw[4] = upper_32_bits(flags);
	dw[5] = lower_32_bits(addr);
	dw[6] = upper_32_bits(addr);
	dw[7] = lower_32_bits(incr);
	dw[8] = upper_32_bits(incr);
	dw[9] = VGPU_PREP(SDMA_PTEPDE_DW9__COUNT, count - 1);
	return SDMA_PTEPDE_DWORDS;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_sdma_emit_ptepde);

/**
 * vgpu_sdma_emit_poll() - write a POLL_REGMEM packet without time limit
 * @dw: buffer for SDMA_POLL_REGMEM_DWORDS dwords
 * @reg: register, dword offset in BAR 5
 * @mask: bits to compare
 * @value: value to wait for, within @mask
 * @clocks: GPU clocks between two reads, at most 65535
 */
void vgpu_sdma_emit_poll(u32 *dw, u32 reg, u32 mask, u32 value, u32 clocks)
{
	dw[0] = SDMA_OP_POLL_REGMEM |
		VGPU_PREP(SDMA_POLL_REGMEM__FUNC, POLL_EQUAL);
	dw[1] = reg * 4;
	dw[2] = 0;
	dw[3] = value;
	dw[4] = mask;
	dw[5] = SDMA_POLL_REGMEM_DW5__RETRY |
		VGPU_PREP(SDMA_POLL_REGMEM_DW5__INTERVAL, clocks);
}

static u32 *emit_poll_zero(u32 *dw, u32 reg)
{
	vgpu_sdma_emit_poll(dw, reg, U32_MAX, 0, POLL_CLOCKS);
	return dw + SDMA_POLL_REGMEM_DWORDS;
}

/**
 * vgpu_sdma_emit_end() - write the packets that end a job
 * @ring: ring; its fence_seqno is the number of the job
 * @dw: buffer for SDMA_EPILOGUE_DWORDS dwords
 *
 * Context: the caller holds @ring->lock.
 */
void vgpu_sdma_emit_end(const struct vgpu_sdma_ring *ring, u32 *dw)
{
	KUNIT_STATIC_STUB_REDIRECT(vgpu_sdma_emit_end, ring, dw);

	*dw++ = SDMA_OP_FENCE;
	*dw++ = lower_32_bits(ring->fence_mc);
	*dw++ = upper_32_bits(ring->fence_mc);
	*dw++ = lower_32_bits(ring->fence_seqno);
	/* "DOC: the gate" in vgpu_sdma_fault.c explains these polls. */
	dw = emit_poll_zero(dw, VGPU_FAULT_STATUS_REG);
	dw = emit_poll_zero(dw, VGPU_GATE_REG);
	*dw++ = SDMA_OP_TRAP;
	*dw++ = ring->fence_seqno & SDMA_TRAP_DW1__CONTEXT;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_sdma_emit_end);
