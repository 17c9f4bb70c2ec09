// SPDX-License-Identifier: GPL-2.0
/*
 * Implements amdgpu's CTX, SCHED and VM ioctls.
 *
 * A context has two rings: scheduler entities, not hardware rings. Jobs of a ring run in order.
 */
#include <linux/capability.h>
#include <linux/file.h>
#include <linux/nospec.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <drm/amdgpu_drm.h>
#include <drm/drm_auth.h>

#include <kunit/visibility.h>

#include "hw/vgpu_hw.h"
#include "reset/vgpu_reset.h"
#include "vm/vgpu_vm.h"
#include "vgpu_file.h"

/* Exclusive end of the range of ids. As in amdgpu, contexts have ids 1 to 4095. */
#define CTX_ID_END	4096

static u64 ctx_resets(struct vgpu_device *vdev)
{
	return vgpu_stat_read(vdev, VGPU_STAT_ENGINE_RESETS) +
	       vgpu_stat_read(vdev, VGPU_STAT_DEVICE_RESETS);
}

static void ctx_state_free(struct kref *ref)
{
	kfree(container_of(ref, struct vgpu_ctx_state, ref));
}

/**
 * vgpu_ctx_state_put() - drop a reference to the state of a context
 * @state: state; freed with its last reference
 *
 * Context: any; does not sleep.
 */
void vgpu_ctx_state_put(struct vgpu_ctx_state *state)
{
	kref_put(&state->ref, ctx_state_free);
}

static bool ctx_priority_ok(s32 priority)
{
	switch (priority) {
	case AMDGPU_CTX_PRIORITY_VERY_LOW:
	case AMDGPU_CTX_PRIORITY_LOW:
	case AMDGPU_CTX_PRIORITY_NORMAL:
	case AMDGPU_CTX_PRIORITY_HIGH:
	case AMDGPU_CTX_PRIORITY_VERY_HIGH:
		return true;
	default:
		return false;
	}
}

static enum drm_sched_priority ctx_sched_priority(s32 priority)
{
	if (priority < AMDGPU_CTX_PRIORITY_NORMAL)
		return DRM_SCHED_PRIORITY_LOW;
	if (priority > AMDGPU_CTX_PRIORITY_NORMAL)
		return DRM_SCHED_PRIORITY_HIGH;
	return DRM_SCHED_PRIORITY_NORMAL;
}

static void ctx_free(struct kref *ref)
{
	struct vgpu_ctx *ctx = container_of(ref, struct vgpu_ctx, ref);
	unsigned int i, j;

	for (i = 0; i < VGPU_CTX_RINGS; i++) {
		drm_sched_entity_destroy(&ctx->ring[i].entity);
		for (j = 0; j < VGPU_CTX_FENCES; j++)
			dma_fence_put(ctx->ring[i].fences[j]);
	}
	vgpu_ctx_state_put(ctx->state);
	/*
	 * Callback drm_sched_entity_wakeup() may read the
	 * entity, and drm_sched_entity_destroy() does not wait for the end of the callback. The
	 * grace period does, because the callback runs with a spinlock held.
	 */
	kfree_rcu(ctx, rcu);
}

/**
 * vgpu_ctx_put() - drop a reference to a context
 * @ctx: context
 *
 * The last drop waits until all jobs of the context have started. A fatal signal ends the wait. A
 * process that exits waits at most one second for each ring. Jobs that have not started after the
 * wait end with -ESRCH.
 *
 * Context: sleeps.
 */
void vgpu_ctx_put(struct vgpu_ctx *ctx)
{
	kref_put(&ctx->ref, ctx_free);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_ctx_put);

/**
 * vgpu_ctx_get() - look up a context
 * @vf: file
 * @id: id of the context
 *
 * Return: a reference to the context, or NULL if the id is unknown.
 */
struct vgpu_ctx *vgpu_ctx_get(struct vgpu_file *vf, u32 id)
{
	struct vgpu_ctx *ctx;

	mutex_lock(&vf->lock);
	ctx = idr_find(&vf->ctxs, id);
	if (ctx)
		kref_get(&ctx->ref);
	mutex_unlock(&vf->lock);
	return ctx;
}

static struct vgpu_ctx *ctx_create(struct vgpu_device *vdev, s32 priority)
{
	struct vgpu_ctx *ctx;
	unsigned int i;
	int ret;

	ctx = kzalloc(sizeof(*ctx), GFP_KERNEL);
	if (!ctx)
		return ERR_PTR(-ENOMEM);
	ctx->state = kzalloc(sizeof(*ctx->state), GFP_KERNEL);
	if (!ctx->state) {
		kfree(ctx);
		return ERR_PTR(-ENOMEM);
	}
	kref_init(&ctx->ref);
	kref_init(&ctx->state->ref);
	spin_lock_init(&ctx->ring_lock);
	ctx->vdev = vdev;
	ctx->priority = priority;
	ctx->resets = ctx_resets(vdev);
	ctx->resets_seen = ctx->resets;
	ctx->state->vram_epoch = atomic_read(&vdev->hw->vram_epoch);
	for (i = 0; i < VGPU_CTX_RINGS; i++) {
		ctx->ring[i].next_seq = 1;
		ret = drm_sched_entity_init(&ctx->ring[i].entity,
					    ctx_sched_priority(priority),
					    vdev->hw->sched, VGPU_NUM_SDMA,
					    &ctx->state->guilty);
		if (ret)
			goto err;
	}
	return ctx;

err:
	while (i--)
		drm_sched_entity_destroy(&ctx->ring[i].entity);
	vgpu_ctx_state_put(ctx->state);
	kfree(ctx);
	return ERR_PTR(ret);
}

static int ctx_alloc(struct vgpu_file *vf, struct drm_file *file, s32 priority,
		     u32 *id)
{
	struct vgpu_ctx *ctx;
	int ret;

	if (priority > AMDGPU_CTX_PRIORITY_NORMAL && !capable(CAP_SYS_NICE) &&
	    !drm_is_current_master(file))
		return -EACCES;
	ctx = ctx_create(vf->vdev, priority);
	if (IS_ERR(ctx))
		return PTR_ERR(ctx);
	mutex_lock(&vf->lock);
	ret = idr_alloc(&vf->ctxs, ctx, 1, CTX_ID_END, GFP_KERNEL);
	mutex_unlock(&vf->lock);
	if (ret < 0) {
		vgpu_ctx_put(ctx);
		return ret;
	}
	*id = ret;
	return 0;
}

static int ctx_remove(struct vgpu_file *vf, u32 id)
{
	struct vgpu_ctx *ctx;

	mutex_lock(&vf->lock);
	ctx = idr_remove(&vf->ctxs, id);
	mutex_unlock(&vf->lock);
	if (!ctx)
		return -EINVAL;
	vgpu_ctx_put(ctx);
	return 0;
}

/**
 * vgpu_ctx_free_all() - drop the contexts of a file
 * @vf: file that is being closed
 */
void vgpu_ctx_free_all(struct vgpu_file *vf)
{
	struct vgpu_ctx *ctx;
	u32 id;

	idr_for_each_entry(&vf->ctxs, ctx, id) {
		idr_remove(&vf->ctxs, id);
		vgpu_ctx_put(ctx);
	}
}

static int ctx_query(struct vgpu_file *vf, u32 id, union drm_amdgpu_ctx_out *out)
{
	struct vgpu_ctx *ctx;
	int ret = -EINVAL;
	u64 resets;

	mutex_lock(&vf->lock);
	ctx = idr_find(&vf->ctxs, id);
	if (ctx) {
		resets = ctx_resets(vf->vdev);
		memset(out, 0, sizeof(*out));
		out->state.reset_status = ctx->resets_seen == resets ?
			AMDGPU_CTX_NO_RESET : AMDGPU_CTX_UNKNOWN_RESET;
		ctx->resets_seen = resets;
		ret = 0;
	}
	mutex_unlock(&vf->lock);
	return ret;
}

static int ctx_query2(struct vgpu_file *vf, u32 id, union drm_amdgpu_ctx_out *out)
{
	struct vgpu_device *vdev = vf->vdev;
	struct vgpu_ctx *ctx = vgpu_ctx_get(vf, id);

	if (!ctx)
		return -EINVAL;
	memset(out, 0, sizeof(*out));
	if (ctx->resets != ctx_resets(vdev))
		out->state.flags |= AMDGPU_CTX_QUERY2_FLAGS_RESET;
	if (ctx->state->vram_epoch != atomic_read(&vdev->hw->vram_epoch))
		out->state.flags |= AMDGPU_CTX_QUERY2_FLAGS_VRAMLOST;
	if (atomic_read(&ctx->state->guilty))
		out->state.flags |= AMDGPU_CTX_QUERY2_FLAGS_GUILTY;
	if (vgpu_reset_in_progress(vdev))
		out->state.flags |= AMDGPU_CTX_QUERY2_FLAGS_RESET_IN_PROGRESS;
	vgpu_ctx_put(ctx);
	return 0;
}

/*
 * Get or set the stable power state. The device has no power management, so only NONE is
 * accepted.
 */
static int ctx_pstate(struct vgpu_file *vf, u32 id, u32 want,
		      union drm_amdgpu_ctx_out *out)
{
	struct vgpu_ctx *ctx = vgpu_ctx_get(vf, id);

	if (!ctx)
		return -EINVAL;
	vgpu_ctx_put(ctx);
	if (want != AMDGPU_CTX_STABLE_PSTATE_NONE)
		return -EOPNOTSUPP;
	if (out)
		out->pstate.flags = AMDGPU_CTX_STABLE_PSTATE_NONE;
	return 0;
}

/**
 * vgpu_ctx_ioctl() - DRM_AMDGPU_CTX
 * @drm: DRM device
 * @data: union drm_amdgpu_ctx
 * @file: file of the contexts
 *
 * Return: 0; -EINVAL for unknown operations, flags and contexts; -EACCES for a priority above
 * NORMAL without CAP_SYS_NICE; -EOPNOTSUPP for a stable power state; -ENOMEM, -ENOSPC.
 */
int vgpu_ctx_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct vgpu_file *vf = to_vgpu_file(file);
	union drm_amdgpu_ctx *args = data;
	u32 op = args->in.op, id = args->in.ctx_id, flags = args->in.flags;
	s32 priority = args->in.priority;
	int ret;

	if (flags && op != AMDGPU_CTX_OP_SET_STABLE_PSTATE)
		return -EINVAL;
	/* An invalid priority stands for NORMAL: old user space does not set the priority. */
	if (!ctx_priority_ok(priority))
		priority = AMDGPU_CTX_PRIORITY_NORMAL;

	switch (op) {
	case AMDGPU_CTX_OP_ALLOC_CTX:
		ret = ctx_alloc(vf, file, priority, &id);
		if (!ret) {
			memset(args, 0, sizeof(*args));
			args->out.alloc.ctx_id = id;
		}
		return ret;
	case AMDGPU_CTX_OP_FREE_CTX:
		return ctx_remove(vf, id);
	case AMDGPU_CTX_OP_QUERY_STATE:
		return ctx_query(vf, id, &args->out);
	case AMDGPU_CTX_OP_QUERY_STATE2:
		return ctx_query2(vf, id, &args->out);
	case AMDGPU_CTX_OP_GET_STABLE_PSTATE:
		return ctx_pstate(vf, id, AMDGPU_CTX_STABLE_PSTATE_NONE,
				  &args->out);
	case AMDGPU_CTX_OP_SET_STABLE_PSTATE:
		if (flags > AMDGPU_CTX_STABLE_PSTATE_PEAK)
			return -EINVAL;
		return ctx_pstate(vf, id, flags, NULL);
	default:
		return -EINVAL;
	}
}

/**
 * vgpu_ctx_ring() - look up a ring of a context
 * @ctx: context
 * @ip: AMDGPU_HW_IP_*
 * @instance: instance of the IP
 * @ring: ring of the instance
 * @out: set to the ring
 *
 * Return: 0; -EINVAL for an unknown ring; or the error of the ring's last job.
 */
int vgpu_ctx_ring(struct vgpu_ctx *ctx, u32 ip, u32 instance, u32 ring,
		  struct vgpu_ctx_ring **out)
{
	if (ip != AMDGPU_HW_IP_DMA || instance || ring >= VGPU_CTX_RINGS)
		return -EINVAL;
	ring = array_index_nospec(ring, VGPU_CTX_RINGS);
	*out = &ctx->ring[ring];
	return drm_sched_entity_error(&ctx->ring[ring].entity);
}

/**
 * vgpu_ctx_fence() - return a job's fence, which is drm_sched_fence.finished
 * @ctx: context
 * @ring: ring of @ctx
 * @seq: number of the job, or ~0 for the last job
 *
 * Return: a reference to the fence; NULL if the job is done and the ring has dropped the
 * fence; ERR_PTR(-EINVAL) for a number that was not submitted yet.
 */
struct dma_fence *vgpu_ctx_fence(struct vgpu_ctx *ctx,
				 struct vgpu_ctx_ring *ring, u64 seq)
{
	struct dma_fence *fence = NULL;

	spin_lock(&ctx->ring_lock);
	if (seq == ~0ull)
		seq = ring->next_seq - 1;
	if (seq >= ring->next_seq)
		fence = ERR_PTR(-EINVAL);
	else if (ring->next_seq - seq <= VGPU_CTX_FENCES)
		fence = dma_fence_get(ring->fences[seq % VGPU_CTX_FENCES]);
	spin_unlock(&ctx->ring_lock);
	return fence;
}

/**
 * vgpu_ctx_throttle() - wait until a ring can keep the fence of one more job
 * @ctx: context
 * @ring: ring of @ctx
 *
 * Return: 0 or -ERESTARTSYS.
 */
int vgpu_ctx_throttle(struct vgpu_ctx *ctx, struct vgpu_ctx_ring *ring)
{
	struct dma_fence *fence;
	int ret = 0;

	spin_lock(&ctx->ring_lock);
	fence = dma_fence_get(ring->fences[ring->next_seq % VGPU_CTX_FENCES]);
	spin_unlock(&ctx->ring_lock);
	if (fence)
		ret = dma_fence_wait(fence, true);
	dma_fence_put(fence);
	return ret;
}

/**
 * vgpu_ctx_next_seq() - return the number of the next job
 * @ctx: context
 * @ring: ring of @ctx; the caller keeps other threads from submitting to it
 *
 * Return: the number, counted from 1 for each ring of a context.
 */
u64 vgpu_ctx_next_seq(struct vgpu_ctx *ctx, struct vgpu_ctx_ring *ring)
{
	u64 seq;

	spin_lock(&ctx->ring_lock);
	seq = ring->next_seq;
	spin_unlock(&ctx->ring_lock);
	return seq;
}

/**
 * vgpu_ctx_add_fence() - keep the fence of a new job
 * @ctx: context
 * @ring: ring of @ctx
 * @fence: drm_sched_fence.finished of the job; a reference is taken
 *
 * Return: the job's number.
 */
u64 vgpu_ctx_add_fence(struct vgpu_ctx *ctx, struct vgpu_ctx_ring *ring,
		       struct dma_fence *fence)
{
	struct dma_fence *old, **place;
	u64 seq;

	spin_lock(&ctx->ring_lock);
	seq = ring->next_seq++;
	place = &ring->fences[seq % VGPU_CTX_FENCES];
	old = *place;
	*place = dma_fence_get(fence);
	spin_unlock(&ctx->ring_lock);
	dma_fence_put(old);
	return seq;
}

static void ctx_set_priority(struct vgpu_ctx *ctx, s32 priority)
{
	unsigned int i;

	for (i = 0; i < VGPU_CTX_RINGS; i++)
		drm_sched_entity_set_priority(&ctx->ring[i].entity,
					      ctx_sched_priority(priority));
}

/**
 * vgpu_sched_ioctl() - DRM_AMDGPU_SCHED: set priorities of another file's contexts
 * @drm: DRM device
 * @data: union drm_amdgpu_sched
 * @file: DRM master
 *
 * Return: 0, or -EINVAL for an unknown operation, priority, file or context.
 */
int vgpu_sched_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	const union drm_amdgpu_sched *args = data;
	struct drm_file *target;
	struct vgpu_file *vf;
	struct vgpu_ctx *ctx;
	int ret = -EINVAL;
	u32 id;

	if ((args->in.op != AMDGPU_SCHED_OP_PROCESS_PRIORITY_OVERRIDE &&
	     args->in.op != AMDGPU_SCHED_OP_CONTEXT_PRIORITY_OVERRIDE) ||
	    !ctx_priority_ok(args->in.priority))
		return -EINVAL;

	CLASS(fd, f)(args->in.fd);
	if (fd_empty(f))
		return -EINVAL;
	target = vgpu_drm_file_of(fd_file(f), to_vgpu(drm));
	if (!target)
		return -EINVAL;
	vf = to_vgpu_file(target);

	mutex_lock(&vf->lock);
	if (args->in.op == AMDGPU_SCHED_OP_PROCESS_PRIORITY_OVERRIDE) {
		idr_for_each_entry(&vf->ctxs, ctx, id)
			ctx_set_priority(ctx, args->in.priority);
		ret = 0;
	} else {
		ctx = idr_find(&vf->ctxs, args->in.ctx_id);
		if (ctx) {
			ctx_set_priority(ctx, args->in.priority);
			ret = 0;
		}
	}
	mutex_unlock(&vf->lock);
	return ret;
}

/**
 * vgpu_vm_ioctl() - DRM_AMDGPU_VM: reserve a VMID, or end the reservation
 * @drm: DRM device
 * @data: union drm_amdgpu_vm
 * @file: file of the address space
 *
 * Return:
 * * 0
 * * -EINVAL: unknown operation or flag, or a KFD process has acquired @file
 * * -ENOSPC: no PASID is free
 * * -ENOMEM
 */
int vgpu_vm_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct vgpu_file *vf = to_vgpu_file(file);
	const union drm_amdgpu_vm *args = data;
	int ret;

	if (args->in.flags ||
	    (args->in.op != AMDGPU_VM_OP_RESERVE_VMID &&
	     args->in.op != AMDGPU_VM_OP_UNRESERVE_VMID))
		return -EINVAL;
	ret = vgpu_file_vm(vf);
	if (ret)
		return ret;
	WRITE_ONCE(vf->vm->vmid_reserved,
		   args->in.op == AMDGPU_VM_OP_RESERVE_VMID);
	return 0;
}
