// SPDX-License-Identifier: GPL-2.0
/*
 * Implements the second half of amdgpu's CS ioctl: validates and maps the job's BOs, collects the
 * job's dependencies, and pushes the job to the scheduler.
 */
#include <linux/dma-fence-chain.h>
#include <linux/sched/signal.h>
#include <drm/amdgpu_drm.h>
#include <drm/drm_drv.h>

#include "hw/vgpu_hw.h"
#include "mm/vgpu_bo.h"
#include "mm/vgpu_mm.h"
#include "mm/vgpu_userptr.h"
#include "vm/vgpu_vm.h"
#include "vm/vgpu_vm_bo.h"
#include "vgpu_cs.h"

/*
 * Number of fence slots to reserve in each reservation: one for the fence of the job, and one for
 * the fence of a move of the BO.
 */
#define CS_FENCES	2

/* Reserve all BOs. Returns 0 or an error of drm_exec, which may be -EDEADLK. */
static int cs_lock_each(struct vgpu_cs *cs)
{
	struct drm_exec *exec = &cs->exec;
	u32 i;
	int ret;

	ret = drm_exec_prepare_obj(exec, cs->vf->root, CS_FENCES);
	for (i = 0; !ret && cs->list && i < cs->list->n; i++)
		ret = drm_exec_prepare_obj(exec, &cs->list->bo[i]->tbo.base,
					   CS_FENCES);
	if (!ret && cs->user_fence)
		ret = drm_exec_prepare_obj(exec, &cs->user_fence->tbo.base,
					   CS_FENCES);
	return ret;
}

/*
 * Validate a BO in its domain. If VRAM has no room, evict other BOs if @evict is true, or use
 * GTT if @evict is false.
 */
static int cs_place_bo(struct vgpu_bo *bo, bool evict)
{
	u32 domain = bo->domains;

	if (bo->tbo.pin_count)
		return 0;
	if (bo->userptr)
		return vgpu_userptr_bind(bo);
	/* The render node's page tables map no memory of AMDGPU_GEM_DOMAIN_CPU, so use GTT. */
	if (!(domain & ~(u32)AMDGPU_GEM_DOMAIN_CPU))
		domain = AMDGPU_GEM_DOMAIN_GTT;
	if (domain & AMDGPU_GEM_DOMAIN_VRAM && !evict)
		return vgpu_bo_validate_no_evict(bo);
	return vgpu_bo_validate(bo, domain, true);
}

static int cs_place(struct vgpu_bo *bo)
{
	return cs_place_bo(bo, true);
}

static int cs_place_no_evict(struct vgpu_bo *bo)
{
	return cs_place_bo(bo, false);
}

static int cs_place_all(struct vgpu_cs *cs, vgpu_bo_fn place)
{
	struct drm_gem_object *gem;
	int ret;

	ret = vgpu_file_do_always(cs->vf, place);
	if (ret)
		return ret;
	drm_exec_for_each_locked_object(&cs->exec, gem) {
		if (gem == cs->vf->root)
			continue;
		ret = place(gem_to_vgpu_bo(gem));
		if (ret)
			return ret;
	}
	return 0;
}

/*
 * If jobs of the file may be running, wait until all clears and moves of the BOs end. The caller
 * then maps the BOs, and the running jobs can access the BOs at once. No job may access memory
 * that is still being cleared or moved.
 */
static int cs_wait_content(struct vgpu_cs *cs)
{
	struct drm_gem_object *gem;
	long left = 1;

	if (!vgpu_file_busy(cs->vf))
		return 0;
	drm_exec_for_each_locked_object(&cs->exec, gem) {
		left = dma_resv_wait_timeout(gem->resv, DMA_RESV_USAGE_KERNEL,
					     true, MAX_SCHEDULE_TIMEOUT);
		if (left < 0)
			return left;
	}
	return 0;
}

/*
 * The kernel's ring writes the user fence, so the BO of the user fence needs an address in VMID
 * 0.
 */
static int cs_place_user_fence(struct vgpu_cs *cs)
{
	u64 mc;
	int ret;

	if (!cs->user_fence)
		return 0;
	ret = vgpu_bo_validate_gart(cs->user_fence);
	if (ret)
		return ret;
	mc = vgpu_bo_mc_addr(cs->user_fence);
	if (WARN_ON_ONCE(mc == VGPU_MC_NONE))
		return -EINVAL;
	cs->user_fence_mc = mc + cs->user_fence_at;
	return 0;
}

/* Reserve all BOs and validate them. After an error, no BO is reserved. */
static int cs_reserve(struct vgpu_cs *cs, vgpu_bo_fn place)
{
	struct drm_exec *exec = &cs->exec;
	int ret = 0;

	drm_exec_init(exec, DRM_EXEC_INTERRUPTIBLE_WAIT |
			    DRM_EXEC_IGNORE_DUPLICATES, 0);
	/* Validate inside the loop: TTM uses the loop's ticket to reserve BOs that it evicts. */
	drm_exec_until_all_locked(exec) {
		ret = cs_lock_each(cs);
		drm_exec_retry_on_contention(exec);
		if (!ret)
			ret = cs_place_all(cs, place);
		if (!ret)
			ret = cs_place_user_fence(cs);
		if (ret)
			break;
	}
	if (ret)
		drm_exec_fini(exec);
	return ret == -EINTR ? -ERESTARTSYS : ret;
}

/*
 * Return true if the job must wait for @fence:
 * - KERNEL: always
 * - WRITE, READ: only if @explicit is false and @fence is not from a job of the same file
 */
static bool cs_must_wait(struct vgpu_cs *cs, struct dma_fence *fence,
			 enum dma_resv_usage usage, bool explicit)
{
	struct drm_sched_fence *sched_fence;

	if (usage == DMA_RESV_USAGE_KERNEL)
		return true;
	if (explicit)
		return false;
	sched_fence = to_drm_sched_fence(fence);
	return !sched_fence || sched_fence->owner != cs->vf->vm;
}

static int cs_sync_to(struct vgpu_cs *cs, struct dma_resv *resv, bool explicit)
{
	struct dma_resv_iter cursor;
	struct dma_fence *fence;
	int ret;

	dma_resv_for_each_fence(&cursor, resv, DMA_RESV_USAGE_READ, fence) {
		if (!cs_must_wait(cs, fence, dma_resv_iter_usage(&cursor),
				  explicit))
			continue;
		ret = drm_sched_job_add_dependency(&cs->job->base.base,
						   dma_fence_get(fence));
		if (ret)
			return ret;
	}
	return 0;
}

static int cs_sync(struct vgpu_cs *cs)
{
	struct drm_gem_object *gem;
	bool explicit;
	int ret;

	drm_exec_for_each_locked_object(&cs->exec, gem) {
		explicit = gem != cs->vf->root &&
			   gem_to_vgpu_bo(gem)->flags &
				   AMDGPU_GEM_CREATE_EXPLICIT_SYNC;
		ret = cs_sync_to(cs, gem->resv, explicit);
		/*
		 * A move of the BO may have used a fence slot that cs_lock_each() has reserved.
		 * Reserve a slot again.
		 */
		if (!ret)
			ret = dma_resv_reserve_fences(gem->resv, 1);
		if (ret)
			return ret;
	}
	return drm_sched_job_add_dependency(&cs->job->base.base,
					    vgpu_vm_last_update(cs->vf->vm));
}

static void cs_signal(struct vgpu_cs *cs, struct dma_fence *fence)
{
	u32 i;

	for (i = 0; i < cs->num_signals; i++) {
		struct vgpu_cs_signal *signal = &cs->signals[i];

		if (signal->chain) {
			drm_syncobj_add_point(signal->syncobj, signal->chain,
					      fence, signal->point);
			signal->chain = NULL;
		} else {
			drm_syncobj_replace_fence(signal->syncobj, fence);
		}
	}
}

/*
 * Add the job's finished fence to the reservations, the context and the syncobjs, and push the
 * job. Cannot fail. Returns the job's number.
 */
static u64 cs_push(struct vgpu_cs *cs)
{
	struct vgpu_job *job = cs->job;
	struct drm_gem_object *gem;
	struct dma_fence *fence;
	u64 seq;

	if (cs->user_fence)
		vgpu_job_add_user_fence(job, cs->user_fence_mc,
					vgpu_ctx_next_seq(cs->ctx, cs->ring));
	drm_sched_job_arm(&job->base.base);
	fence = dma_fence_get(&job->base.base.s_fence->finished);
	/*
	 * Moves of a BO wait for the fences in the BO's reservation. Removals of the file's GPU
	 * mappings wait for the fences in the reservation of vf->root.
	 */
	drm_exec_for_each_locked_object(&cs->exec, gem) {
		dma_resv_add_fence(gem->resv, fence, DMA_RESV_USAGE_WRITE);
		if (gem != cs->vf->root)
			ttm_bo_move_to_lru_tail_unlocked(&gem_to_vgpu_bo(gem)->tbo);
	}
	vgpu_file_used(cs->vf);
	seq = vgpu_ctx_add_fence(cs->ctx, cs->ring, fence);
	cs_signal(cs, fence);
	cs->job = NULL;
	drm_sched_entity_push_job(&job->base.base);
	dma_fence_put(fence);
	return seq;
}

/* Look up the pages of user pointers. The caller holds no locks. */
static int cs_find_pages(struct vgpu_cs *cs)
{
	int ret = 0;
	u32 i;

	for (i = 0; !ret && cs->list && i < cs->list->n; i++)
		if (cs->list->bo[i]->userptr)
			ret = vgpu_userptr_prepare(cs->list->bo[i]);
	return ret;
}

static bool cs_pages_valid(struct vgpu_cs *cs)
{
	u32 i;

	for (i = 0; cs->list && i < cs->list->n; i++)
		if (cs->list->bo[i]->userptr &&
		    !vgpu_userptr_valid(cs->list->bo[i]))
			return false;
	return true;
}

/*
 * Validate the BOs, and push the job. The caller holds va_lock. If pages or BOs move before
 * the job is pushed, returns -EAGAIN, and the caller starts again.
 */
static int cs_submit_locked(struct vgpu_cs *cs, u64 *seq)
{
	struct mutex *notifier_lock = vgpu_mm_notifier_lock(cs->vf->vdev);
	struct vgpu_vm *vm = cs->vf->vm;
	int ret;

	ret = vgpu_vm_clear_stale(vm, !vgpu_file_busy(cs->vf));
	if (ret)
		return ret;
	/*
	 * cs_reserve() returns -ENOMEM if VRAM is full. TTM 6.12 also reports -ENOMEM when it got
	 * -EDEADLK.
	 */
	ret = cs_reserve(cs, cs_place);
	/*
	 * The retry uses GTT if VRAM is full. The retry is also correct after -EDEADLK, because the
	 * first try has dropped all reservations.
	 */
	if (ret == -ENOMEM)
		ret = cs_reserve(cs, cs_place_no_evict);
	if (ret)
		return ret;
	/*
	 * All jobs of the file use one address space, so vgpu_vm_update_moved() also gives earlier
	 * jobs access to the BOs. These jobs do not wait for clears and copies, so wait here.
	 */
	ret = cs_wait_content(cs);
	if (!ret)
		ret = vgpu_vm_update_moved(vm, &cs->exec.ticket,
					   !vgpu_file_busy(cs->vf));
	if (!ret)
		ret = cs_sync(cs);
	if (!ret) {
		/*
		 * Hold both locks until cs_push() ends. Before the push, MMU notifiers and moves do
		 * not wait for this job, and could take its memory away.
		 */
		mutex_lock(notifier_lock);
		mutex_lock(&vm->push_lock);
		if (cs_pages_valid(cs) && !vgpu_vm_has_stale(vm))
			*seq = cs_push(cs);
		else
			ret = -EAGAIN;
		mutex_unlock(&vm->push_lock);
		mutex_unlock(notifier_lock);
	}
	drm_exec_fini(&cs->exec);
	return ret;
}

/*
 * After a loss of VRAM, rebuild the page tables of the file's address space. Only contexts created
 * after the loss use the new tables: jobs of older contexts end with -ECANCELED
 * (vgpu_ctx_state.vram_epoch).
 */
static int cs_restore_vm(struct vgpu_cs *cs)
{
	struct vgpu_vm *vm = cs->vf->vm;
	int ret;

	if (vm->vram_epoch == atomic_read(&cs->vf->vdev->hw->vram_epoch))
		return 0;
	ret = vgpu_file_wait_idle(cs->vf, true);
	if (!ret)
		vgpu_vm_restore_tables(vm);
	return ret;
}

static int cs_submit(struct vgpu_cs *cs, u64 *seq)
{
	struct mutex *va_lock = &cs->vf->vm->va_lock;
	int ret;

	do {
		ret = cs_find_pages(cs);
		if (ret)
			return ret;
		ret = mutex_lock_interruptible(va_lock);
		if (ret)
			return -ERESTARTSYS;
		/*
		 * This job's fence will replace the oldest fence in vgpu_ctx_ring.fences, so wait
		 * for the oldest. va_lock keeps other threads from submitting meanwhile.
		 */
		ret = vgpu_ctx_throttle(cs->ctx, cs->ring);
		if (!ret)
			ret = cs_restore_vm(cs);
		if (!ret)
			ret = cs_submit_locked(cs, seq);
		mutex_unlock(va_lock);
	} while (ret == -EAGAIN && !signal_pending(current));
	return ret == -EAGAIN ? -ERESTARTSYS : ret;
}

/* Hold off the device's removal until the job is pushed. */
static int cs_submit_device(struct vgpu_cs *cs, u64 *seq)
{
	int idx, ret;

	if (!drm_dev_enter(&cs->vf->vdev->drm, &idx))
		return -ENODEV;
	ret = cs_submit(cs, seq);
	drm_dev_exit(idx);
	return ret;
}

static int cs_file_vm(struct vgpu_file *vf)
{
	int idx, ret;

	if (!drm_dev_enter(&vf->vdev->drm, &idx))
		return -ENODEV;
	ret = vgpu_file_vm(vf);
	drm_dev_exit(idx);
	return ret;
}

static bool cs_vram_lost(const struct vgpu_cs *cs)
{
	return cs->ctx->state->vram_epoch !=
	       atomic_read(&cs->vf->vdev->hw->vram_epoch);
}

/**
 * vgpu_cs_ioctl() - DRM_AMDGPU_CS: submit a job
 * @drm: DRM device
 * @data: union drm_amdgpu_cs
 * @file: file of the context and handles
 *
 * Return:
 * * 0
 * * -EINVAL: unknown context, or a KFD process has acquired @file
 * * -ECANCELED: guilty context, or loss of VRAM since the context was created
 * * -ENODEV: the device was removed
 * * -ENOSPC: no PASID is free
 * * -ENOMEM, -ERESTARTSYS
 * * an error of vgpu_cs_parse(), vgpu_userptr_prepare() or vgpu_userptr_bind()
 */
int vgpu_cs_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	union drm_amdgpu_cs *args = data;
	struct vgpu_cs cs = {
		.vf = to_vgpu_file(file),
		.file = file,
	};
	u64 seq;
	int ret;

	if (!args->in.num_chunks)
		return -EINVAL;
	cs.ctx = vgpu_ctx_get(cs.vf, args->in.ctx_id);
	if (!cs.ctx)
		return -EINVAL;
	ret = cs_file_vm(cs.vf);
	if (!ret && (atomic_read(&cs.ctx->state->guilty) || cs_vram_lost(&cs)))
		ret = -ECANCELED;
	if (!ret)
		ret = vgpu_cs_parse(&cs, &args->in);
	if (!ret)
		ret = cs_submit_device(&cs, &seq);
	vgpu_cs_free(&cs);
	vgpu_ctx_put(cs.ctx);
	if (ret)
		return ret;
	memset(args, 0, sizeof(*args));
	args->out.handle = seq;
	return 0;
}
