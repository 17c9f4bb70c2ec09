// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Create user-mode compute queues (PM4 and AQL), reserve space in their rings, and emit PM4
 * packets.
 */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#include <vgpu/aql.h>
#include <vgpu/bits.h>
#include <vgpu/pm4.h>

#include "bo.h"
#include "compute_queue.h"
#include "device.h"
#include "sdma_queue.h"
#include "timeout.h"

#define EOP_BYTES	4096u
#define NOP		0x80000000u	/* PM4 packet of type 2, which is one dword long */
/* Event of RELEASE_MEM: flush the caches at the end of the pipe, then write the data. */
#define EVENT_TS	(0x14u | 5u << 8)

static volatile uint64_t *slot(const struct vg_cq *q, unsigned int off)
{
	return (volatile uint64_t *)((char *)q->ptrs.cpu + off);
}

static uint64_t property(const struct vg_gpu *gpu, const char *name)
{
	return vg_node_property(gpu->node, name, 0);
}

/*
 * Return the size in bytes of the debugger's area, with 32 bytes for each wave. In a context save
 * area, the debugger's area follows the saved state.
 */
static uint64_t debug_bytes(const struct vg_gpu *gpu)
{
	uint64_t cus = property(gpu, "simd_count") /
		       property(gpu, "simd_per_cu");
	uint64_t ses = property(gpu, "array_count") /
		       property(gpu, "simd_arrays_per_engine");
	uint64_t waves = cus * 40 < ses * 512 ? cus * 40 : ses * 512;

	return waves * 32;
}

int vg_save_area(struct vg *vg, struct vg_gpu *gpu, uint32_t kind,
		 struct vg_bo *bo)
{
	uint64_t size = property(gpu, "cwsr_size") + debug_bytes(gpu);
	int r;

	size = (size + VG_PAGE - 1) & ~(VG_PAGE - 1);
	r = vg_bo_alloc(vg, gpu, size, kind | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE,
			bo);
	return r ? r : vg_bo_map_gpu(bo);
}

void vg_cq_args(struct vg_cq *q, struct kfd_ioctl_create_queue_args *args)
{
	*args = (struct kfd_ioctl_create_queue_args) {
		.ring_base_address = q->ring.va,
		.ring_size = q->ring.size,
		.read_pointer_address = q->ptrs.va + VG_QUEUE_RPTR,
		.write_pointer_address = q->ptrs.va + VG_QUEUE_WPTR,
		.gpu_id = q->gpu->gpu_id,
		.queue_type = q->aql ? KFD_IOC_QUEUE_TYPE_COMPUTE_AQL :
				       KFD_IOC_QUEUE_TYPE_COMPUTE,
		.queue_percentage = 100,
		.queue_priority = 7,
		.eop_buffer_address = q->eop.va,
		.eop_buffer_size = EOP_BYTES,
		.ctx_save_restore_address = q->save->va,
		.ctx_save_restore_size = property(q->gpu, "cwsr_size"),
		.ctl_stack_size = property(q->gpu, "ctl_stack_size"),
	};
}

int vg_cq_prepare(struct vg *vg, struct vg_gpu *gpu, struct vg_bo *save,
		  uint32_t ring_bytes, bool aql, struct vg_cq *q)
{
	uint32_t *dw;
	uint64_t i;
	int r;

	memset(q, 0, sizeof(*q));
	q->vg = vg;
	q->gpu = gpu;
	q->save = save;
	q->aql = aql;
	r = vg_bo_create(vg, gpu, ring_bytes, VG_GTT, &q->ring);
	r = r ? r : vg_bo_create(vg, gpu, VG_PAGE, VG_GTT, &q->ptrs);
	r = r ? r : vg_bo_create(vg, gpu, EOP_BYTES, VG_VRAM, &q->eop);
	if (r) {
		vg_cq_release(q);
		return r;
	}
	memset(q->ptrs.cpu, 0, VG_PAGE);
	memset(q->ring.cpu, 0, ring_bytes);
	dw = q->ring.cpu;
	for (i = 0; aql && i < ring_bytes / 4; i += AQL_PACKET_DWORDS)
		dw[i] = AQL_INVALID;
	return 0;
}

int vg_cq_release(struct vg_cq *q)
{
	int first = vg_bo_free(&q->eop);
	int r = vg_bo_free(&q->ptrs);

	first = first ? first : r;
	r = vg_bo_free(&q->ring);
	return first ? first : r;
}

int vg_cq_create(struct vg *vg, struct vg_gpu *gpu, struct vg_bo *save,
		 uint32_t ring_bytes, bool aql, struct vg_cq *q)
{
	struct kfd_ioctl_create_queue_args args;
	int r = vg_cq_prepare(vg, gpu, save, ring_bytes, aql, q);

	if (r)
		return r;
	vg_cq_args(q, &args);
	r = vg_ioctl(vg, AMDKFD_IOC_CREATE_QUEUE, &args);
	if (r) {
		vg_fail(r, "CREATE_QUEUE of a compute queue");
		vg_cq_release(q);
		return r;
	}
	q->id = args.queue_id;
	q->doorbell = vg_doorbell_map(vg, args.doorbell_offset,
				      &q->doorbell_page);
	if (q->doorbell)
		return 0;
	vg_cq_destroy(q);
	return -ENOMEM;
}

int vg_cq_destroy(struct vg_cq *q)
{
	int r, first;

	if (!q->ring.size)
		return 0;
	first = vg_queue_end(q->vg, q->id, q->doorbell_page);
	r = vg_cq_release(q);
	memset(q, 0, sizeof(*q));
	return first ? first : r;
}

int vg_cq_update(struct vg_cq *q, const struct vg_bo *ring, uint32_t percentage)
{
	struct kfd_ioctl_update_queue_args args = {
		.ring_base_address = ring ? ring->va : 0,
		.ring_size = ring ? ring->size : 0,
		.queue_id = q->id,
		.queue_percentage = percentage,
		.queue_priority = 7,
	};

	return vg_ioctl(q->vg, AMDKFD_IOC_UPDATE_QUEUE, &args);
}

uint64_t vg_cq_rptr(const struct vg_cq *q)
{
	uint64_t rptr = *slot(q, VG_QUEUE_RPTR);

	return q->aql ? rptr : (uint32_t)rptr;
}

void vg_cq_submit(struct vg_cq *q)
{
	/* Order the stores: packets, then wptr, then the doorbell, which is mapped uncached. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	*slot(q, VG_QUEUE_WPTR) = q->wptr;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	*q->doorbell = q->aql ? q->wptr - 1 : q->wptr;
}

/* Return whether @n dwords (AQL: @n packets) are free in the ring. */
static bool has_room(const struct vg_cq *q, uint64_t n)
{
	uint64_t ring = q->ring.size / 4;

	if (q->aql)
		return q->wptr + n - vg_cq_rptr(q) <= ring / AQL_PACKET_DWORDS;
	/*
	 * One more dword of a PM4 ring stays free: the CP stores rptr modulo the ring size, so a
	 * full ring would look empty.
	 */
	return ((q->wptr - vg_cq_rptr(q)) & (ring - 1)) + n < ring;
}

static int wait_room(struct vg_cq *q, uint64_t n)
{
	uint64_t deadline = vg_deadline();

	if (has_room(q, n))
		return 0;
	vg_cq_submit(q);
	while (!has_room(q, n)) {
		if (vg_now() > deadline)
			return vg_fail(-ETIMEDOUT,
				       "compute queue %u makes no room: rptr %lu, wptr %lu",
				       q->id, vg_cq_rptr(q), q->wptr);
		vg_sleep_us(50);
	}
	return 0;
}

uint32_t *vg_cq_reserve(struct vg_cq *q, unsigned int dwords)
{
	uint64_t ring = q->ring.size / 4, at = q->wptr & (ring - 1);
	uint32_t *dw = q->ring.cpu;

	if (q->aql) {
		if (wait_room(q, 1))
			return NULL;
		at = q->wptr++ * AQL_PACKET_DWORDS & (ring - 1);
		/* The first dword keeps packet type INVALID until the caller writes this dword. */
		memset(dw + at + 1, 0, 60);
		return dw + at;
	}
	if (at + dwords > ring) {
		if (wait_room(q, ring - at))
			return NULL;
		for (; at < ring; at++, q->wptr++)
			dw[at] = NOP;
		at = 0;
	}
	if (wait_room(q, dwords))
		return NULL;
	q->wptr += dwords;
	return dw + at;
}

int vg_pm4_write(struct vg_cq *q, uint64_t dst, const uint32_t *data,
		 unsigned int n)
{
	uint32_t *p = vg_cq_reserve(q, 4 + n);

	if (!p)
		return -ETIMEDOUT;
	p[0] = PM4_HEADER(PM4_WRITE_DATA, 4 + n);
	p[1] = VGPU_PREP(PM4_WRITE_DATA_DW1__DST_SEL, PM4_DST_MEM) |
	       PM4_WRITE_DATA_DW1__CONFIRM;
	p[2] = (uint32_t)dst;
	p[3] = dst >> 32;
	memcpy(p + 4, data, n * 4);
	return 0;
}

int vg_pm4_wait(struct vg_cq *q, uint64_t at, uint32_t value)
{
	uint32_t *p = vg_cq_reserve(q, 7);

	if (!p)
		return -ETIMEDOUT;
	p[0] = PM4_HEADER(PM4_WAIT_REG_MEM, 7);
	p[1] = VGPU_PREP(PM4_WAIT_DW1__FUNCTION, 3u) | PM4_WAIT_DW1__MEM_SPACE;
	p[2] = (uint32_t)at;
	p[3] = at >> 32;
	p[4] = value;
	p[5] = ~0u;
	p[6] = 4;
	return 0;
}

int vg_pm4_release(struct vg_cq *q, uint64_t dst, uint64_t data,
		   unsigned int data_sel, unsigned int int_sel, uint32_t ctxid)
{
	uint32_t *p = vg_cq_reserve(q, 8);

	if (!p)
		return -ETIMEDOUT;
	p[0] = PM4_HEADER(PM4_RELEASE_MEM, 8);
	p[1] = EVENT_TS;
	p[2] = VGPU_PREP(PM4_RELEASE_DW2__DATA_SEL, data_sel) |
	       VGPU_PREP(PM4_RELEASE_DW2__INT_SEL, int_sel);
	p[3] = (uint32_t)dst;
	p[4] = dst >> 32;
	p[5] = (uint32_t)data;
	p[6] = data >> 32;
	p[7] = ctxid;
	return 0;
}

int vg_cq_emit_fence(struct vg_cq *q)
{
	return vg_pm4_release(q, q->ptrs.va + VG_QUEUE_FENCE, ++q->seq,
			      PM4_DATA_32, PM4_INT_NONE, 0);
}

int vg_cq_wait(struct vg_cq *q, unsigned int timeout_ms)
{
	return vg_wait_word(slot(q, VG_QUEUE_FENCE), q->seq, timeout_ms);
}

int vg_wait_word(volatile void *word, uint32_t value, unsigned int timeout_ms)
{
	uint64_t deadline = vg_now() + timeout_ms * 1000000ull;
	volatile uint32_t *at = word;
	unsigned int round = 0;

	while (*at != value) {
		if (vg_now() > deadline && *at != value)
			return vg_fail(-ETIMEDOUT,
				       "%u after %u ms, should be %u", *at,
				       timeout_ms, value);
		if (++round < 64)
			sched_yield();
		else
			vg_sleep_us(100);
	}
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return 0;
}

int vg_cq_finish(struct vg_cq *q, unsigned int timeout_ms)
{
	int r = vg_cq_emit_fence(q);

	if (r)
		return r;
	vg_cq_submit(q);
	return vg_cq_wait(q, timeout_ms);
}
