// SPDX-License-Identifier: GPL-2.0-or-later
/* Emit SDMA packets. include/vgpu/sdma_packets.h defines their formats. */
#include <errno.h>
#include <string.h>

#include <vgpu/bits.h>
#include <vgpu/sdma_packets.h>

#include "device.h"
#include "sdma_queue.h"
#include "stats.h"

/* Largest number of bytes that one packet copies or fills, about as in ROCr. */
#define COPY_MAX	(1ull << 30)
#define FILL_MAX	(1ull << 22)

static uint32_t lo(uint64_t v)
{
	return (uint32_t)v;
}

static uint32_t hi(uint64_t v)
{
	return (uint32_t)(v >> 32);
}

static void count(uint64_t *counter, uint64_t bytes)
{
	__atomic_fetch_add(counter, bytes, __ATOMIC_RELAXED);
}

int vg_emit_copy(struct vg_queue *q, uint64_t dst, uint64_t src,
		 uint64_t bytes)
{
	while (bytes) {
		uint64_t n = bytes < COPY_MAX ? bytes : COPY_MAX;
		uint32_t *p = vg_queue_reserve(q, SDMA_COPY_LINEAR_DWORDS);

		if (!p)
			return -ETIMEDOUT;
		p[0] = SDMA_PKT(SDMA_OP_COPY, SDMA_SUBOP_COPY_LINEAR);
		p[1] = VGPU_PREP(SDMA_COPY_LINEAR_DW1__COUNT, lo(n - 1));
		p[2] = 0;
		p[3] = lo(src);
		p[4] = hi(src);
		p[5] = lo(dst);
		p[6] = hi(dst);
		count(&vg_tally()->bytes_copied, n);
		dst += n;
		src += n;
		bytes -= n;
	}
	return 0;
}

int vg_emit_fill(struct vg_queue *q, uint64_t dst, uint32_t value,
		 uint64_t bytes)
{
	while (bytes) {
		uint64_t n = bytes < FILL_MAX ? bytes : FILL_MAX;
		uint32_t *p = vg_queue_reserve(q, SDMA_CONST_FILL_DWORDS);

		if (!p)
			return -ETIMEDOUT;
		p[0] = SDMA_PKT(SDMA_OP_CONST_FILL, 0) |
		       VGPU_PREP(SDMA_CONST_FILL__SIZE, 2u);
		p[1] = lo(dst);
		p[2] = hi(dst);
		p[3] = value;
		p[4] = VGPU_PREP(SDMA_CONST_FILL_DW4__COUNT, lo(n - 1));
		count(&vg_tally()->bytes_filled, n);
		dst += n;
		bytes -= n;
	}
	return 0;
}

int vg_emit_write(struct vg_queue *q, uint64_t dst, const uint32_t *data,
		  unsigned int dwords)
{
	uint32_t *p;

	if (!dwords)
		return 0;
	p = vg_queue_reserve(q, SDMA_WRITE_LINEAR_DWORDS + dwords);
	if (!p)
		return -ETIMEDOUT;
	p[0] = SDMA_PKT(SDMA_OP_WRITE, SDMA_SUBOP_WRITE_LINEAR);
	p[1] = lo(dst);
	p[2] = hi(dst);
	p[3] = VGPU_PREP(SDMA_WRITE_LINEAR_DW3__COUNT, dwords - 1);
	memcpy(p + SDMA_WRITE_LINEAR_DWORDS, data, dwords * sizeof(*data));
	return 0;
}

int vg_emit_atomic_add(struct vg_queue *q, uint64_t addr, uint64_t value)
{
	uint32_t *p = vg_queue_reserve(q, SDMA_ATOMIC_DWORDS);

	if (!p)
		return -ETIMEDOUT;
	memset(p, 0, SDMA_ATOMIC_DWORDS * sizeof(*p));
	p[0] = SDMA_PKT(SDMA_OP_ATOMIC, 0) |
	       VGPU_PREP(SDMA_ATOMIC__OP, (uint32_t)SDMA_ATOMIC_ADD64);
	p[1] = lo(addr);
	p[2] = hi(addr);
	p[3] = lo(value);
	p[4] = hi(value);
	return 0;
}

int vg_emit_timestamp(struct vg_queue *q, unsigned int slot)
{
	uint64_t addr = q->ptrs.va + VG_QUEUE_TIMES + 8ull * slot;
	uint32_t *p;

	if (slot >= VG_QUEUE_NUM_TIMES)
		return vg_fail(-EINVAL, "time slot %u", slot);
	p = vg_queue_reserve(q, SDMA_TIMESTAMP_DWORDS);
	if (!p)
		return -ETIMEDOUT;
	p[0] = SDMA_PKT(SDMA_OP_TIMESTAMP, SDMA_SUBOP_TIMESTAMP_GET_GLOBAL);
	p[1] = lo(addr);
	p[2] = hi(addr);
	return 0;
}

int vg_emit_fence(struct vg_queue *q, uint32_t *seq)
{
	uint64_t addr = q->ptrs.va + VG_QUEUE_FENCE;
	uint32_t *p = vg_queue_reserve(q, SDMA_FENCE_DWORDS);

	if (!p)
		return -ETIMEDOUT;
	p[0] = SDMA_PKT(SDMA_OP_FENCE, 0);
	p[1] = lo(addr);
	p[2] = hi(addr);
	p[3] = ++q->seq;
	*seq = q->seq;
	return 0;
}
