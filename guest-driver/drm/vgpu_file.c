// SPDX-License-Identifier: GPL-2.0
/*
 * Manages the address space and the handles of open files.
 *
 * Mappings are changed with vgpu_vm.va_lock held. A mapping that jobs may use is changed only while
 * no job of the file runs.
 */
#include <linux/slab.h>
#include <drm/amdgpu_drm.h>
#include <drm/drm_gem.h>

#include "mm/vgpu_bo.h"
#include "mm/vgpu_mm.h"
#include "process/kfd_mem.h"
#include "process/kfd_pasid.h"
#include "process/kfd_process.h"
#include "vm/vgpu_vm.h"
#include "vm/vgpu_vm_bo.h"
#include "vgpu_drm.h"
#include "vgpu_file.h"
#include "vgpu_sched.h"

/**
 * struct vgpu_handle - the handles of one BO in a file
 * @node: node in vgpu_file.handles
 * @always_link: link in vgpu_file.always; empty unless the BO is VM_ALWAYS_VALID
 * @bo: BO, to which the handles hold references
 * @n: number of handles
 */
struct vgpu_handle {
	struct rb_node node;
	struct list_head always_link;
	struct vgpu_bo *bo;
	unsigned int n;
};

static int handle_cmp(const void *key, const struct rb_node *node)
{
	const struct vgpu_bo *bo = key;
	const struct vgpu_handle *h = rb_entry(node, struct vgpu_handle, node);

	return bo < h->bo ? -1 : bo > h->bo;
}

static int handle_cmp_node(struct rb_node *new, const struct rb_node *node)
{
	return handle_cmp(rb_entry(new, struct vgpu_handle, node)->bo, node);
}

static void root_free(struct drm_gem_object *root)
{
	drm_gem_object_release(root);
	kfree(root);
}

static const struct drm_gem_object_funcs root_funcs = {
	.free = root_free,
};

/* Create the address space, with a PASID and @vf->root. The caller holds @vf->lock. */
static int file_create_vm(struct vgpu_file *vf)
{
	struct drm_gem_object *root;
	struct vgpu_vm *vm;
	int pasid, ret;

	pasid = kfd_pasid_alloc();
	if (pasid < 0)
		return pasid;
	root = kzalloc(sizeof(*root), GFP_KERNEL);
	if (!root) {
		kfd_pasid_free(pasid);
		return -ENOMEM;
	}
	vm = vgpu_vm_create(vf->vdev, pasid, false);
	if (IS_ERR(vm)) {
		kfree(root);
		kfd_pasid_free(pasid);
		return PTR_ERR(vm);
	}
	drm_gem_private_object_init(&vf->vdev->drm, root, PAGE_SIZE);
	root->funcs = &root_funcs;
	vf->pasid = pasid;
	vf->root = root;
	vm->jobs = root->resv;
	ret = vgpu_fault_add_file(vf);
	if (ret) {
		vgpu_vm_destroy(vm);
		vf->root = NULL;
		drm_gem_object_put(root);
		kfd_pasid_free(pasid);
		return ret;
	}
	/* Readers of vf->vm without the lock also see the fields set above. */
	smp_store_release(&vf->vm, vm);
	return 0;
}

/**
 * vgpu_file_vm() - create the address space of a file, unless it has one
 * @vf: file
 *
 * Context: takes vgpu_file.lock, and creates BOs with it held.
 *
 * Return: 0; -EINVAL if a KFD process has acquired the file; -ENOSPC if no PASID is free;
 * -ENOMEM.
 */
int vgpu_file_vm(struct vgpu_file *vf)
{
	int ret = 0;

	/* Pairs with the release in file_create_vm(). */
	if (smp_load_acquire(&vf->vm))
		return 0;
	mutex_lock(&vf->lock);
	if (vf->kfd_pasid)
		ret = -EINVAL;
	else if (!vf->vm)
		ret = file_create_vm(vf);
	mutex_unlock(&vf->lock);
	return ret;
}

/*
 * Implements kfd_render_ops.acquire. From then on, the file never submits jobs. After the process
 * with @pasid has ended, another process may acquire the file.
 */
static int file_acquire(struct drm_file *file, u16 pasid)
{
	struct vgpu_file *vf = to_vgpu_file(file);
	int ret = -EINVAL;

	mutex_lock(&vf->lock);
	if (!vf->vm) {
		WRITE_ONCE(vf->kfd_pasid, pasid);
		ret = 0;
	}
	mutex_unlock(&vf->lock);
	return ret;
}

static const struct kfd_render_ops file_render_ops = {
	.file_of = vgpu_drm_file_of,
	.acquire = file_acquire,
};

/**
 * vgpu_file_module_init() - set the operations by which KFD looks up and acquires open files
 *
 * Context: module init, before the first device.
 */
void vgpu_file_module_init(void)
{
	kfd_process_set_render_ops(&file_render_ops);
}

/**
 * vgpu_file_wait_idle() - wait until all jobs of a file are done
 * @vf: file with an address space
 * @interruptible: signals may end the wait
 *
 * Return: 0 or -ERESTARTSYS.
 */
int vgpu_file_wait_idle(struct vgpu_file *vf, bool interruptible)
{
	long left = dma_resv_wait_timeout(vf->root->resv,
					  DMA_RESV_USAGE_BOOKKEEP,
					  interruptible, MAX_SCHEDULE_TIMEOUT);

	return left < 0 ? left : 0;
}

/**
 * vgpu_file_busy() - look for pending or running jobs of a file
 * @vf: file with an address space
 *
 * Return: true if any job of @vf is not done. Also true while a VM_ALWAYS_VALID BO of @vf is
 * moved or cleared, because these BOs share the reservation that is tested.
 */
bool vgpu_file_busy(struct vgpu_file *vf)
{
	return !dma_resv_test_signaled(vf->root->resv, DMA_RESV_USAGE_BOOKKEEP);
}

/**
 * vgpu_file_open_bo() - count a new handle of a BO in a file
 * @gem: BO
 * @file: file that gets the handle
 *
 * Return: 0, -EPERM for a VM_ALWAYS_VALID BO of another file, -ENOMEM.
 */
int vgpu_file_open_bo(struct drm_gem_object *gem, struct drm_file *file)
{
	struct vgpu_file *vf = to_vgpu_file(file);
	struct vgpu_bo *bo = gem_to_vgpu_bo(gem);
	struct vgpu_handle *h, *new;
	struct rb_node *node;

	if (bo->root && bo->root != vf->root)
		return -EPERM;
	new = kzalloc(sizeof(*new), GFP_KERNEL);
	if (!new)
		return -ENOMEM;
	new->bo = bo;
	INIT_LIST_HEAD(&new->always_link);

	mutex_lock(&vf->lock);
	node = rb_find_add(&new->node, &vf->handles, handle_cmp_node);
	h = node ? rb_entry(node, struct vgpu_handle, node) : new;
	h->n++;
	mutex_unlock(&vf->lock);
	if (h != new) {
		kfree(new);
	} else if (bo->root) {
		dma_resv_lock(gem->resv, NULL);
		list_add_tail(&new->always_link, &vf->always);
		ttm_bo_set_bulk_move(&bo->tbo, &vf->bulk);
		dma_resv_unlock(gem->resv);
	}
	return 0;
}

/**
 * vgpu_file_do_always() - call a function for all VM_ALWAYS_VALID BOs of a file
 * @vf: file with an address space
 * @fn: function; an error ends the loop
 *
 * Context: the reservation of @vf->root is held.
 *
 * Return: 0 or the error of @fn.
 */
int vgpu_file_do_always(struct vgpu_file *vf, vgpu_bo_fn fn)
{
	struct vgpu_handle *h;
	int ret;

	dma_resv_assert_held(vf->root->resv);
	list_for_each_entry(h, &vf->always, always_link) {
		ret = fn(h->bo);
		if (ret)
			return ret;
	}
	return 0;
}

/**
 * vgpu_file_used() - move all VM_ALWAYS_VALID BOs of a file to the tail of the LRU lists
 * @vf: file with an address space
 *
 * Uses one bulk move, so the time does not depend on the number of BOs.
 *
 * Context: the reservation of @vf->root is held. Takes bdev.lru_lock.
 */
void vgpu_file_used(struct vgpu_file *vf)
{
	spinlock_t *lru_lock = &vgpu_mm_bdev(vf->vdev)->lru_lock;

	spin_lock(lru_lock);
	ttm_lru_bulk_move_tail(&vf->bulk);
	spin_unlock(lru_lock);
}

static bool file_has(struct vgpu_file *vf, struct vgpu_bo *bo)
{
	bool has;

	mutex_lock(&vf->lock);
	has = rb_find(bo, &vf->handles, handle_cmp);
	mutex_unlock(&vf->lock);
	return has;
}

/**
 * vgpu_file_has_bo_kfd() - look for a handle of a BO
 * @vf: file, acquired by a KFD process
 * @bo: BO
 *
 * Context: kfd_process.mutex of this process is held; no reservation.
 *
 * Return: true if found. Then, while the mutex is held, the caller may map @bo for the GPU.
 */
bool vgpu_file_has_bo_kfd(struct vgpu_file *vf, struct vgpu_bo *bo)
{
	return file_has(vf, bo);
}

/**
 * vgpu_file_has_bo() - look for a handle of a BO
 * @vf: file with an address space
 * @bo: BO
 *
 * Context: va_lock of @vf->vm is held; no reservation.
 *
 * Return: true if found. Then, while va_lock is held, the caller may map @bo for the GPU.
 */
bool vgpu_file_has_bo(struct vgpu_file *vf, struct vgpu_bo *bo)
{
	lockdep_assert_held(&vf->vm->va_lock);
	return file_has(vf, bo);
}

static void file_unmap_bo(struct vgpu_file *vf, struct vgpu_handle *h)
{
	struct vgpu_bo *bo = h->bo;
	bool mapped;

	/* va_lock keeps other threads from making mappings and submitting jobs. */
	mutex_lock(&vf->vm->va_lock);
	ttm_bo_reserve(&bo->tbo, false, false, NULL);
	list_del(&h->always_link);
	if (bo->root)
		ttm_bo_set_bulk_move(&bo->tbo, NULL);
	mapped = vgpu_vm_bo_count(vf->vm, bo);
	ttm_bo_unreserve(&bo->tbo);
	if (mapped) {
		/* Jobs in flight may use the mapping. */
		vgpu_file_wait_idle(vf, false);
		ttm_bo_reserve(&bo->tbo, false, false, NULL);
		vgpu_vm_bo_unmap_all(vf->vm, bo);
		ttm_bo_unreserve(&bo->tbo);
	}
	mutex_unlock(&vf->vm->va_lock);
}

/**
 * vgpu_file_close_bo() - note that a handle of a BO was closed
 * @gem: BO
 * @file: file
 *
 * When the last handle is closed, waits until the file's jobs are done, and removes the file's
 * mappings of the BO.
 *
 * Context: sleeps.
 */
void vgpu_file_close_bo(struct drm_gem_object *gem, struct drm_file *file)
{
	struct vgpu_file *vf = to_vgpu_file(file);
	struct vgpu_bo *bo = gem_to_vgpu_bo(gem);
	struct vgpu_handle *h = NULL;
	struct rb_node *node;

	mutex_lock(&vf->lock);
	node = rb_find(bo, &vf->handles, handle_cmp);
	if (node) {
		h = rb_entry(node, struct vgpu_handle, node);
		if (--h->n)
			h = NULL;
		else
			rb_erase(&h->node, &vf->handles);
	}
	mutex_unlock(&vf->lock);
	if (!h)
		return;

	if (vf->vm)
		file_unmap_bo(vf, h);
	else if (vf->kfd_pasid)
		kfd_gem_close(vf->vdev, file, vf->kfd_pasid, bo);
	kfree(h);
}

/**
 * vgpu_file_open() - create the struct vgpu_file of a file that is being opened
 * @drm: DRM device
 * @file: file
 *
 * Return: 0 or -ENOMEM.
 */
int vgpu_file_open(struct drm_device *drm, struct drm_file *file)
{
	struct vgpu_file *vf = kzalloc(sizeof(*vf), GFP_KERNEL);

	if (!vf)
		return -ENOMEM;
	vf->vdev = to_vgpu(drm);
	mutex_init(&vf->lock);
	vf->handles = RB_ROOT;
	INIT_LIST_HEAD(&vf->always);
	ttm_lru_bulk_move_init(&vf->bulk);
	idr_init_base(&vf->ctxs, 1);
	idr_init_base(&vf->lists, 1);
	file->driver_priv = vf;
	return 0;
}

/**
 * vgpu_file_close() - free the struct vgpu_file of a file that is being closed
 * @drm: DRM device
 * @file: file; the DRM core has closed its handles
 */
void vgpu_file_close(struct drm_device *drm, struct drm_file *file)
{
	struct vgpu_file *vf = to_vgpu_file(file);

	vgpu_ctx_free_all(vf);
	vgpu_bo_list_free_all(vf);
	WARN_ON_ONCE(!RB_EMPTY_ROOT(&vf->handles));
	if (vf->vm) {
		vgpu_file_wait_idle(vf, false);
		vgpu_fault_del_file(vf);
		vgpu_sched_vm_gone(vf->vm);
		vgpu_vm_destroy(vf->vm);
		kfd_pasid_free(vf->pasid);
		drm_gem_object_put(vf->root);
	}
	ttm_lru_bulk_move_fini(vgpu_mm_bdev(vf->vdev), &vf->bulk);
	idr_destroy(&vf->ctxs);
	idr_destroy(&vf->lists);
	mutex_destroy(&vf->lock);
	kfree(vf);
}

/**
 * vgpu_file_stop_jobs() - free a file's contexts
 * @file: file that is about to be closed; the handles are still open
 *
 * First waits until the file's jobs have started. If a fatal signal or a timeout ends the wait
 * early, jobs that have not started end with -ESRCH (see vgpu_ctx_put()).
 *
 * Context: sleeps.
 */
void vgpu_file_stop_jobs(struct drm_file *file)
{
	vgpu_ctx_free_all(to_vgpu_file(file));
}
