// SPDX-License-Identifier: GPL-2.0
/*
 * Implements the first half of amdgpu's CS ioctl: parses the submission, chunk by chunk. No BO
 * is reserved here, and an error has no side effects.
 */
#include <linux/dma-fence-chain.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <drm/amdgpu_drm.h>

#include "mm/vgpu_bo.h"
#include "vgpu_cs.h"
#include "vgpu_sched.h"

/*
 * Limits of the number of chunks and of the length of one chunk, in bytes. They bound the memory
 * that a submission allocates.
 */
#define CS_MAX_CHUNKS		1024u
#define CS_MAX_CHUNK_BYTES	SZ_1M
/* Largest value of the size field of the INDIRECT packet. */
#define CS_MAX_IB_DWORDS	0xfffffu
/* The driver clears the low bits of an IB's address. The real chip's engine ignores them. */
#define CS_IB_ADDR_MASK		(~0x1full)

static int cs_copy_chunk(struct vgpu_cs_chunk *chunk, u64 user)
{
	struct drm_amdgpu_cs_chunk in;

	if (copy_from_user(&in, u64_to_user_ptr(user), sizeof(in)))
		return -EFAULT;
	chunk->id = in.chunk_id;
	chunk->bytes = (size_t)in.length_dw * 4;
	if (chunk->bytes > CS_MAX_CHUNK_BYTES)
		return -EINVAL;
	chunk->data = vmemdup_user(u64_to_user_ptr(in.chunk_data),
				   chunk->bytes);
	if (IS_ERR(chunk->data)) {
		int ret = PTR_ERR(chunk->data);

		chunk->data = NULL;
		return ret;
	}
	return 0;
}

static int cs_copy_chunks(struct vgpu_cs *cs, const struct drm_amdgpu_cs_in *in)
{
	const u64 __user *array = u64_to_user_ptr(in->chunks);
	u64 user;
	u32 i;
	int ret;

	if (!in->num_chunks || in->num_chunks > CS_MAX_CHUNKS)
		return -EINVAL;
	cs->chunks = kvcalloc(in->num_chunks, sizeof(*cs->chunks), GFP_KERNEL);
	if (!cs->chunks)
		return -ENOMEM;
	cs->num_chunks = in->num_chunks;
	for (i = 0; i < cs->num_chunks; i++) {
		if (copy_from_user(&user, &array[i], sizeof(user)))
			return -EFAULT;
		ret = cs_copy_chunk(&cs->chunks[i], user);
		if (ret)
			return ret;
	}
	return 0;
}

/*
 * Check an IB chunk, and set @cs->ring. All IBs of a job must be for one ring, because gangs
 * are not supported.
 */
static int cs_first_ib(struct vgpu_cs *cs,
		       const struct drm_amdgpu_cs_chunk_ib *ib)
{
	struct vgpu_ctx_ring *ring;
	int ret;

	ret = vgpu_ctx_ring(cs->ctx, ib->ip_type, ib->ip_instance, ib->ring,
			    &ring);
	if (ret)
		return ret;
	if ((cs->ring && cs->ring != ring) || cs->num_ibs == VGPU_MAX_IBS ||
	    ib->ib_bytes / 4 > CS_MAX_IB_DWORDS)
		return -EINVAL;
	cs->ring = ring;
	cs->num_ibs++;
	return 0;
}

static int cs_first_user_fence(struct vgpu_cs *cs,
			       const struct drm_amdgpu_cs_chunk_fence *fence)
{
	struct drm_gem_object *gem;

	if (cs->user_fence)
		return -EINVAL;
	gem = drm_gem_object_lookup(cs->file, fence->handle);
	if (!gem)
		return -EINVAL;
	cs->user_fence = gem_to_vgpu_bo(gem);
	cs->user_fence_at = fence->offset;
	if (gem->size != PAGE_SIZE || gem->import_attach ||
	    cs->user_fence->tbo.type != ttm_bo_type_device ||
	    fence->offset > PAGE_SIZE - sizeof(u64) || fence->offset % 4)
		return -EINVAL;
	return 0;
}

static int cs_first_bo_handles(struct vgpu_cs *cs,
			       const struct drm_amdgpu_bo_list_in *in)
{
	struct vgpu_bo_list *list;

	if (cs->list)
		return -EINVAL;
	list = vgpu_bo_list_read(cs->file, in);
	if (IS_ERR(list))
		return PTR_ERR(list);
	cs->list = list;
	return 0;
}

/* First pass: check the chunk's size, and collect what vgpu_job_create() needs. */
static int cs_first_look(struct vgpu_cs *cs, const struct vgpu_cs_chunk *chunk)
{
	switch (chunk->id) {
	case AMDGPU_CHUNK_ID_IB:
		if (chunk->bytes < sizeof(struct drm_amdgpu_cs_chunk_ib))
			return -EINVAL;
		return cs_first_ib(cs, chunk->data);
	case AMDGPU_CHUNK_ID_FENCE:
		if (chunk->bytes < sizeof(struct drm_amdgpu_cs_chunk_fence))
			return -EINVAL;
		return cs_first_user_fence(cs, chunk->data);
	case AMDGPU_CHUNK_ID_BO_HANDLES:
		if (chunk->bytes < sizeof(struct drm_amdgpu_bo_list_in))
			return -EINVAL;
		return cs_first_bo_handles(cs, chunk->data);
	case AMDGPU_CHUNK_ID_DEPENDENCIES:
	case AMDGPU_CHUNK_ID_SCHEDULED_DEPENDENCIES:
	case AMDGPU_CHUNK_ID_SYNCOBJ_IN:
	case AMDGPU_CHUNK_ID_SYNCOBJ_OUT:
	case AMDGPU_CHUNK_ID_SYNCOBJ_TIMELINE_WAIT:
	case AMDGPU_CHUNK_ID_SYNCOBJ_TIMELINE_SIGNAL:
		return 0;
	default:
		/* This includes AMDGPU_CHUNK_ID_CP_GFX_SHADOW, since there is no graphics ring. */
		return -EINVAL;
	}
}

/* Make the job depend on @fence. Takes over the reference on @fence, even after an error. */
static int cs_wait_for(struct vgpu_cs *cs, struct dma_fence *fence)
{
	return drm_sched_job_add_dependency(&cs->job->base.base, fence);
}

static int cs_dependency(struct vgpu_cs *cs,
			 const struct drm_amdgpu_cs_chunk_dep *dep,
			 bool scheduled)
{
	struct vgpu_ctx_ring *ring;
	struct dma_fence *fence;
	struct vgpu_ctx *ctx;
	int ret;

	ctx = vgpu_ctx_get(cs->vf, dep->ctx_id);
	if (!ctx)
		return -EINVAL;
	ret = vgpu_ctx_ring(ctx, dep->ip_type, dep->ip_instance, dep->ring,
			    &ring);
	fence = ret ? ERR_PTR(ret) : vgpu_ctx_fence(ctx, ring, dep->handle);
	vgpu_ctx_put(ctx);
	if (IS_ERR_OR_NULL(fence))
		return PTR_ERR_OR_ZERO(fence);
	if (scheduled) {
		struct dma_fence *finished = fence;

		fence = dma_fence_get(&to_drm_sched_fence(finished)->scheduled);
		dma_fence_put(finished);
	}
	return cs_wait_for(cs, fence);
}

static int cs_dependencies(struct vgpu_cs *cs,
			   const struct vgpu_cs_chunk *chunk)
{
	bool scheduled = chunk->id == AMDGPU_CHUNK_ID_SCHEDULED_DEPENDENCIES;
	const struct drm_amdgpu_cs_chunk_dep *dep = chunk->data;
	size_t i;
	int ret;

	for (i = 0; i < chunk->bytes / sizeof(*dep); i++) {
		ret = cs_dependency(cs, &dep[i], scheduled);
		if (ret)
			return ret;
	}
	return 0;
}

/*
 * Make the job depend on point @point of a syncobj. The function may wait until another thread
 * submits this point. The caller holds no locks.
 */
static int cs_syncobj_in(struct vgpu_cs *cs, u32 handle, u64 point, u64 flags)
{
	struct dma_fence *fence;
	int ret;

	ret = drm_syncobj_find_fence(cs->file, handle, point, flags, &fence);
	return ret ?: cs_wait_for(cs, fence);
}

static int cs_syncobjs_in(struct vgpu_cs *cs, const struct vgpu_cs_chunk *chunk)
{
	const struct drm_amdgpu_cs_chunk_sem *sem = chunk->data;
	size_t i;
	int ret;

	for (i = 0; i < chunk->bytes / sizeof(*sem); i++) {
		ret = cs_syncobj_in(cs, sem[i].handle, 0, 0);
		if (ret)
			return ret;
	}
	return 0;
}

static int cs_timelines_in(struct vgpu_cs *cs,
			   const struct vgpu_cs_chunk *chunk)
{
	const struct drm_amdgpu_cs_chunk_syncobj *in = chunk->data;
	size_t i;
	int ret;

	for (i = 0; i < chunk->bytes / sizeof(*in); i++) {
		ret = cs_syncobj_in(cs, in[i].handle, in[i].point, in[i].flags);
		if (ret)
			return ret;
	}
	return 0;
}

static int cs_signal_alloc(struct vgpu_cs *cs, size_t n)
{
	if (cs->signals)
		return -EINVAL;
	cs->signals = kvcalloc(n, sizeof(*cs->signals), GFP_KERNEL);
	return cs->signals ? 0 : -ENOMEM;
}

static int cs_signal_add(struct vgpu_cs *cs, u32 handle, u64 point)
{
	struct vgpu_cs_signal *signal = &cs->signals[cs->num_signals];

	signal->syncobj = drm_syncobj_find(cs->file, handle);
	if (!signal->syncobj)
		return -EINVAL;
	cs->num_signals++;
	signal->point = point;
	if (point) {
		signal->chain = dma_fence_chain_alloc();
		if (!signal->chain)
			return -ENOMEM;
	}
	return 0;
}

static int cs_syncobjs_out(struct vgpu_cs *cs,
			   const struct vgpu_cs_chunk *chunk)
{
	const struct drm_amdgpu_cs_chunk_sem *sem = chunk->data;
	size_t i, n = chunk->bytes / sizeof(*sem);
	int ret = cs_signal_alloc(cs, n);

	for (i = 0; !ret && i < n; i++)
		ret = cs_signal_add(cs, sem[i].handle, 0);
	return ret;
}

static int cs_timelines_out(struct vgpu_cs *cs,
			    const struct vgpu_cs_chunk *chunk)
{
	const struct drm_amdgpu_cs_chunk_syncobj *out = chunk->data;
	size_t i, n = chunk->bytes / sizeof(*out);
	int ret = cs_signal_alloc(cs, n);

	for (i = 0; !ret && i < n; i++)
		ret = cs_signal_add(cs, out[i].handle, out[i].point);
	return ret;
}

/* Second pass: add IBs, dependencies and signals to the job. */
static int cs_second_look(struct vgpu_cs *cs, const struct vgpu_cs_chunk *chunk)
{
	const struct drm_amdgpu_cs_chunk_ib *ib = chunk->data;

	switch (chunk->id) {
	case AMDGPU_CHUNK_ID_IB:
		vgpu_job_add_ib(cs->job, ib->va_start & CS_IB_ADDR_MASK,
				ib->ib_bytes / 4);
		return 0;
	case AMDGPU_CHUNK_ID_DEPENDENCIES:
	case AMDGPU_CHUNK_ID_SCHEDULED_DEPENDENCIES:
		return cs_dependencies(cs, chunk);
	case AMDGPU_CHUNK_ID_SYNCOBJ_IN:
		return cs_syncobjs_in(cs, chunk);
	case AMDGPU_CHUNK_ID_SYNCOBJ_OUT:
		return cs_syncobjs_out(cs, chunk);
	case AMDGPU_CHUNK_ID_SYNCOBJ_TIMELINE_WAIT:
		return cs_timelines_in(cs, chunk);
	case AMDGPU_CHUNK_ID_SYNCOBJ_TIMELINE_SIGNAL:
		return cs_timelines_out(cs, chunk);
	default:
		return 0;
	}
}

/**
 * vgpu_cs_parse() - parse a submission
 * @cs: zero except for vf, file and ctx; needs vgpu_cs_free() even after an error
 * @in: arguments of the ioctl
 *
 * Context: may wait for user space; no locks, no section of drm_dev_enter().
 *
 * Return:
 * * 0, -EFAULT, -ENOMEM; -ERESTARTSYS on a signal
 * * -EINVAL: invalid argument, invalid BO for the user fence, or unknown syncobj to signal
 * * -ENOENT: unknown BO list, unknown BO in a list, unknown syncobj to wait for, or no SDMA engine
 *   for the job
 * * -ETIME: a timeline point was not submitted within five seconds
 * * error of a ring's last job, as in amdgpu: an IB or a dependency names a context's ring, and the
 *   last job on that ring failed with this error
 */
int vgpu_cs_parse(struct vgpu_cs *cs, const struct drm_amdgpu_cs_in *in)
{
	u32 i;
	int ret;

	ret = cs_copy_chunks(cs, in);
	for (i = 0; !ret && i < cs->num_chunks; i++)
		ret = cs_first_look(cs, &cs->chunks[i]);
	if (ret)
		return ret;
	if (!cs->ring)
		return -EINVAL;
	if (in->bo_list_handle) {
		if (cs->list)
			return -EINVAL;
		cs->list = vgpu_bo_list_get(cs->vf, in->bo_list_handle);
		if (!cs->list)
			return -ENOENT;
	}

	cs->job = vgpu_job_create(cs->vf->vdev, cs->vf->vm, cs->ctx->state,
				  &cs->ring->entity, cs->num_ibs);
	if (IS_ERR(cs->job)) {
		ret = PTR_ERR(cs->job);
		cs->job = NULL;
		return ret;
	}
	for (i = 0; !ret && i < cs->num_chunks; i++)
		ret = cs_second_look(cs, &cs->chunks[i]);
	return ret;
}

/**
 * vgpu_cs_free() - free the objects of a submission
 * @cs: submission; if its job was not pushed, the function also frees the job
 */
void vgpu_cs_free(struct vgpu_cs *cs)
{
	u32 i;

	for (i = 0; i < cs->num_signals; i++) {
		drm_syncobj_put(cs->signals[i].syncobj);
		dma_fence_chain_free(cs->signals[i].chain);
	}
	kvfree(cs->signals);
	if (cs->job)
		vgpu_job_destroy(cs->job);
	if (cs->user_fence)
		vgpu_bo_put(cs->user_fence);
	vgpu_bo_list_put(cs->list);
	for (i = 0; i < cs->num_chunks; i++)
		kvfree(cs->chunks[i].data);
	kvfree(cs->chunks);
}
