// SPDX-License-Identifier: GPL-2.0
/*
 * Keeps the buffers of a queue mapped. The buffers are BOs that user space has mapped. User space
 * cannot unmap a buffer while a queue uses it.
 */
#include "process/kfd_mem.h"
#include "process/kfd_process.h"
#include "kfd_queue.h"
#include "kfd_queue_priv.h"

/*
 * Return the mapping of the buffer at @va, or NULL. The mapping stays until kfd_queue_put_buffer().
 */
struct kfd_mem_attachment *
kfd_queue_get_buffer(struct kfd_process_device *pdd, u64 va, u64 bytes)
{
	struct kfd_mem_attachment *att = kgd_mem_find(pdd, va);

	/* As in amdgpu, the mapping must begin at the page of @va. */
	if (!att || att->va != ALIGN_DOWN(va, PAGE_SIZE))
		return NULL;
	/* As in amdgpu, a buffer of at least a page must be the whole mapping. */
	if (bytes >= PAGE_SIZE && bytes != att->size)
		return NULL;
	att->queue_refcount++;
	return att;
}

void kfd_queue_put_buffer(struct kfd_mem_attachment **att)
{
	if (*att)
		(*att)->queue_refcount--;
	*att = NULL;
}

void kfd_queue_put_buffers(struct kfd_queue *q)
{
	kfd_queue_put_buffer(&q->ring);
	kfd_queue_put_buffer(&q->rptr);
	kfd_queue_put_buffer(&q->wptr);
}

int kfd_queue_get_buffers(struct kfd_queue *q,
			  const struct kfd_queue_properties *props)
{
	/*
	 * The 8-byte read and write pointers must be aligned, so that they do not cross a page
	 * boundary. A ring must begin at a page boundary.
	 */
	if (!IS_ALIGNED(props->wptr_va | props->rptr_va, sizeof(u64)) ||
	    !IS_ALIGNED(props->ring_va, PAGE_SIZE))
		return -EINVAL;
	q->wptr = kfd_queue_get_buffer(q->pdd, props->wptr_va, PAGE_SIZE);
	q->rptr = kfd_queue_get_buffer(q->pdd, props->rptr_va, PAGE_SIZE);
	q->ring = kfd_queue_get_buffer(q->pdd, props->ring_va,
				       props->ring_bytes);
	if (!q->wptr || !q->rptr || !q->ring) {
		kfd_queue_put_buffers(q);
		return -EINVAL;
	}
	return 0;
}
