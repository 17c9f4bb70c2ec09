// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Create user-mode SDMA queues, reserve space in their rings, submit packets and wait for fences.
 * The write pointer is a byte count that never wraps. The engine reads [rptr, wptr) modulo the
 * ring size.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <vgpu/sdma_packets.h>

#include "bo.h"
#include "device.h"
#include "sdma_queue.h"
#include "timeout.h"

static volatile uint64_t *ptr_slot(const struct vg_queue *q, unsigned int off)
{
	return (volatile uint64_t *)((char *)q->ptrs.cpu + off);
}

uint64_t vg_queue_rptr(const struct vg_queue *q)
{
	return *ptr_slot(q, VG_QUEUE_RPTR);
}

uint32_t vg_queue_fence_value(const struct vg_queue *q)
{
	return *(volatile uint32_t *)ptr_slot(q, VG_QUEUE_FENCE);
}

uint64_t vg_timestamp(const struct vg_queue *q, unsigned int slot)
{
	return ptr_slot(q, VG_QUEUE_TIMES)[slot];
}

/*
 * @offset is an mmap() offset: the offset of the process's doorbell slice (8 KiB), plus the offset
 * of the doorbell in the slice.
 */
void *vg_doorbell_map(struct vg *vg, uint64_t offset, void **page)
{
	uint64_t in_slice = offset & (VG_DOORBELL_SLICE - 1);
	void *p = mmap(NULL, VG_DOORBELL_SLICE, PROT_READ | PROT_WRITE,
		       MAP_SHARED, vg->kfd, (off_t)(offset - in_slice));

	if (p == MAP_FAILED) {
		vg_fail(-errno, "mmap of the doorbell page");
		return NULL;
	}
	*page = p;
	return (char *)p + in_slice;
}

int vg_queue_end(struct vg *vg, uint32_t id, void *page)
{
	struct kfd_ioctl_destroy_queue_args args = { .queue_id = id };
	int r = vg_ioctl(vg, AMDKFD_IOC_DESTROY_QUEUE, &args);

	if (r)
		vg_fail(r, "DESTROY_QUEUE %u", id);
	if (page)
		munmap(page, VG_DOORBELL_SLICE);
	return r;
}

int vg_queue_create_on(struct vg *vg, struct vg_gpu *gpu, uint32_t ring_bytes,
		       uint32_t type, uint32_t engine, struct vg_queue *q)
{
	struct kfd_ioctl_create_queue_args args = { 0 };
	int r;

	memset(q, 0, sizeof(*q));
	q->vg = vg;
	q->gpu = gpu;
	r = vg_bo_create(vg, gpu, ring_bytes, VG_GTT, &q->ring);
	if (r)
		return r;
	r = vg_bo_create(vg, gpu, VG_PAGE, VG_GTT, &q->ptrs);
	if (r)
		goto fail;
	memset(q->ptrs.cpu, 0, VG_PAGE);
	args = (struct kfd_ioctl_create_queue_args) {
		.ring_base_address = q->ring.va,
		.ring_size = ring_bytes,
		.read_pointer_address = q->ptrs.va + VG_QUEUE_RPTR,
		.write_pointer_address = q->ptrs.va + VG_QUEUE_WPTR,
		.gpu_id = gpu->gpu_id,
		.queue_type = type,
		.sdma_engine_id = engine,
		.queue_percentage = 100,
		.queue_priority = 7,
	};
	r = vg_ioctl(vg, AMDKFD_IOC_CREATE_QUEUE, &args);
	if (r) {
		vg_fail(r, "CREATE_QUEUE with a ring of %u bytes", ring_bytes);
		goto fail;
	}
	q->id = args.queue_id;
	q->doorbell = vg_doorbell_map(vg, args.doorbell_offset,
				      &q->doorbell_page);
	if (q->doorbell)
		return 0;
	vg_queue_destroy(q);
	return -ENOMEM;
fail:
	vg_bo_free(&q->ptrs);
	vg_bo_free(&q->ring);
	return r;
}

int vg_queue_create(struct vg *vg, struct vg_gpu *gpu, uint32_t ring_bytes,
		    struct vg_queue *q)
{
	return vg_queue_create_on(vg, gpu, ring_bytes, KFD_IOC_QUEUE_TYPE_SDMA,
				  0, q);
}

int vg_queue_destroy(struct vg_queue *q)
{
	int r, first;

	if (!q->ring.size)
		return 0;
	first = vg_queue_end(q->vg, q->id, q->doorbell_page);
	r = vg_bo_free(&q->ptrs);
	if (!first)
		first = r;
	r = vg_bo_free(&q->ring);
	if (!first)
		first = r;
	memset(q, 0, sizeof(*q));
	return first;
}

void vg_queue_submit(struct vg_queue *q)
{
	/* Order the stores: packets, then wptr, then the doorbell. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	*ptr_slot(q, VG_QUEUE_WPTR) = q->wptr;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	*q->doorbell = q->wptr;
}

/* Wait between two polls. Return false after @deadline. */
static bool poll_pause(unsigned int *round, uint64_t deadline)
{
	/*
	 * In the first rounds, only yield, because a short job ends sooner than a sleep. In later
	 * rounds, sleep, because a spinning vCPU takes host CPU time from the engine's thread.
	 */
	if (++*round < 64)
		sched_yield();
	else
		vg_sleep_us(*round < 256 ? 50 : 500);
	return vg_now() < deadline;
}

static int wait_space(struct vg_queue *q, uint64_t bytes)
{
	uint64_t deadline = vg_deadline();
	unsigned int round = 0;

	if (q->wptr + bytes - vg_queue_rptr(q) <= q->ring.size)
		return 0;
	vg_queue_submit(q);
	while (q->wptr + bytes - vg_queue_rptr(q) > q->ring.size)
		if (!poll_pause(&round, deadline))
			return vg_fail(-ETIMEDOUT,
				       "queue %u makes no room: rptr %lu, wptr %lu, ring of %lu bytes",
				       q->id, vg_queue_rptr(q), q->wptr,
				       q->ring.size);
	return 0;
}

uint32_t *vg_queue_reserve(struct vg_queue *q, unsigned int dwords)
{
	uint64_t bytes = dwords * 4ull;
	uint64_t at = q->wptr & (q->ring.size - 1);
	uint64_t pad = at + bytes > q->ring.size ? q->ring.size - at : 0;
	uint32_t *p;

	if (bytes > q->ring.size) {
		vg_fail(-E2BIG, "a packet of %u dwords", dwords);
		return NULL;
	}
	/* As in ROCr: a packet never crosses the end of the ring. One-dword NOPs fill the end. */
	if (pad) {
		if (wait_space(q, pad))
			return NULL;
		memset((char *)q->ring.cpu + at, SDMA_OP_NOP, pad);
		q->wptr += pad;
	}
	if (wait_space(q, bytes))
		return NULL;
	p = (void *)((char *)q->ring.cpu + (q->wptr & (q->ring.size - 1)));
	q->wptr += bytes;
	return p;
}

int vg_wait(struct vg_queue *q, uint32_t seq, unsigned int timeout_ms)
{
	uint64_t deadline = vg_now() + timeout_ms * 1000000ull;
	unsigned int round = 0;

	/* Fence values wrap; compare the signed difference. */
	while ((int32_t)(vg_queue_fence_value(q) - seq) < 0)
		if (!poll_pause(&round, deadline) &&
		    (int32_t)(vg_queue_fence_value(q) - seq) < 0)
			return vg_fail(-ETIMEDOUT,
				       "queue %u: fence %u has not come after %u ms (fence %u, rptr %lu, wptr %lu)",
				       q->id, seq, timeout_ms,
				       vg_queue_fence_value(q),
				       vg_queue_rptr(q), q->wptr);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return 0;
}

int vg_queue_finish(struct vg_queue *q, unsigned int timeout_ms)
{
	uint32_t seq;
	int r = vg_emit_fence(q, &seq);

	if (r)
		return r;
	vg_queue_submit(q);
	return vg_wait(q, seq, timeout_ms);
}

int vg_copy(struct vg_queue *q, void *dst, const void *src, uint64_t bytes)
{
	int r = vg_emit_copy(q, (uintptr_t)dst, (uintptr_t)src, bytes);

	return r ? r : vg_queue_finish(q, VG_TIMEOUT_MS);
}

int vg_fill(struct vg_queue *q, void *dst, uint32_t value, uint64_t bytes)
{
	int r = vg_emit_fill(q, (uintptr_t)dst, value, bytes);

	return r ? r : vg_queue_finish(q, VG_TIMEOUT_MS);
}
