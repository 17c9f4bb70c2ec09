// SPDX-License-Identifier: GPL-2.0
/* Assigns VMIDs to address spaces. */
#include <drm/drm_drv.h>
#include <drm/drm_managed.h>

#include <kunit/visibility.h>

#include "hw/vgpu_gmc.h"
#include "hw/vgpu_hw.h"
#include "hw/vgpu_mmio.h"
#include "hw/vgpu_vmid.h"
#include "mm/vgpu_mm.h"
#include "vgpu_vm_priv.h"

static const struct vgpu_mm_vm_ops vm_ops = {
	.move_notify = vgpu_vm_bo_move_notify,
	.move_later = vgpu_vm_bo_move_later,
	.move_users = vgpu_vm_bo_move_users,
	.unmap_notify = vgpu_vm_bo_unmap_notify,
};

/**
 * vgpu_vmm_init() - initialise the VMID manager
 * @vdev: device; mm/ is initialised
 *
 * Return: 0 or -ENOMEM.
 */
int vgpu_vmm_init(struct vgpu_device *vdev)
{
	struct vgpu_vm_manager *vmm;
	int ret;

	/*
	 * drmm_kzalloc() frees vmm with the DRM device, not when the hardware is removed, because
	 * address spaces of open files outlive the hardware.
	 */
	vmm = drmm_kzalloc(&vdev->drm, sizeof(*vmm), GFP_KERNEL);
	if (!vmm)
		return -ENOMEM;
	vdev->vmm = vmm;
	ret = drmm_mutex_init(&vdev->drm, &vmm->lock);
	if (ret)
		return ret;
	vgpu_mm_set_vm_ops(vdev, &vm_ops);
	return 0;
}

/**
 * vgpu_vmm_fini() - drop all VMIDs, since the hardware is being removed
 * @vdev: device; unplugged, so that address spaces do not access the hardware any more
 *
 * This function writes no registers. vgpu_gmc_fini() disables the VM contexts of all VMIDs.
 */
void vgpu_vmm_fini(struct vgpu_device *vdev)
{
	mutex_lock(&vdev->vmm->lock);
	memset(vdev->vmm->vmid_owner, 0, sizeof(vdev->vmm->vmid_owner));
	mutex_unlock(&vdev->vmm->lock);
}

/**
 * vgpu_vmm_set_wait_jobs() - set the function that waits for jobs of the render node
 * @vdev: device
 * @wait_jobs: waits until no job in a given address space of the render node is on an engine
 *
 * After an unplug, vgpu_vm_enter() calls @wait_jobs before mapped memory is freed. @wait_jobs may
 * sleep.
 *
 * Context: bring-up, before user space can open the render node.
 */
void vgpu_vmm_set_wait_jobs(struct vgpu_device *vdev, void (*wait_jobs)(struct vgpu_vm *vm))
{
	vdev->vmm->wait_jobs = wait_jobs;
}

static int vmm_take_vmid(struct vgpu_vm_manager *vmm, struct vgpu_vm *vm)
{
	struct vgpu_vm_state *vs = to_vm_state(vm);
	int vmid = vs->compute ? VGPU_FIRST_KFD_VMID : VGPU_FIRST_GFX_VMID;
	int last = vs->compute ? VGPU_LAST_KFD_VMID : VGPU_LAST_GFX_VMID;

	mutex_lock(&vmm->lock);
	for (; vmid <= last; vmid++)
		if (!vmm->vmid_owner[vmid])
			break;
	if (vmid <= last)
		vmm->vmid_owner[vmid] = vm;
	else
		vmid = -ENOSPC;
	mutex_unlock(&vmm->lock);
	return vmid;
}

/**
 * vgpu_vm_is_lost() - whether the page tables were lost in a reset
 * @vm: address space
 *
 * Context: any.
 *
 * Return: true if VRAM was lost since the tables were created or restored.
 */
bool vgpu_vm_is_lost(struct vgpu_vm *vm)
{
	return READ_ONCE(vm->vram_epoch) !=
	       atomic_read(&vm->vdev->hw->vram_epoch);
}

/**
 * vgpu_vmids_in_use() - count the VMIDs that address spaces have
 * @vdev: device
 *
 * Return: 0 to VGPU_LAST_KFD_VMID. VMIDs that the CP assigns for time slices are not counted.
 */
unsigned int vgpu_vmids_in_use(struct vgpu_device *vdev)
{
	struct vgpu_vm_manager *vmm = vdev->vmm;
	unsigned int i, n = 0;

	mutex_lock(&vmm->lock);
	for (i = 0; i < ARRAY_SIZE(vmm->vmid_owner); i++)
		n += vmm->vmid_owner[i] ? 1 : 0;
	mutex_unlock(&vmm->lock);
	return n;
}

/**
 * vgpu_vm_get_vmid() - assign a VMID to an address space, if it has none
 * @vm: address space
 *
 * Context: sleeps; takes pt_lock; does not allocate.
 *
 * Return: 0; -ENOSPC if no VMID is free (the render node and KFD have separate VMIDs); -ECANCELED
 * if the page tables of @vm were lost in a reset.
 */
int vgpu_vm_get_vmid(struct vgpu_vm *vm)
{
	struct vgpu_vm_state *vs = to_vm_state(vm);
	struct vgpu_device *vdev = vm->vdev;
	int ret = 0;

	mutex_lock(&vs->pt_lock);
	if (vgpu_vm_is_lost(vm)) {
		ret = -ECANCELED;
		goto unlock;
	}
	if (vm->vmid)
		goto unlock;
	ret = vmm_take_vmid(vdev->vmm, vm);
	if (ret < 0)
		goto unlock;

	vgpu_hdp_flush(vdev);
	vgpu_gmc_set_pasid(vdev, ret, vs->pasid);
	vgpu_gmc_set_context(vdev, ret, vgpu_pt_root_addr(&vs->pt));
	WRITE_ONCE(vm->vmid, ret);
	ret = 0;
unlock:
	mutex_unlock(&vs->pt_lock);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_vm_get_vmid);

/**
 * vgpu_vm_put_vmid() - free the VMID of an address space
 * @vm: address space; no queue runs in it
 *
 * Does nothing if @vm has no VMID.
 *
 * Context: sleeps; takes pt_lock.
 */
void vgpu_vm_put_vmid(struct vgpu_vm *vm)
{
	struct vgpu_vm_state *vs = to_vm_state(vm);
	struct vgpu_device *vdev = vm->vdev;
	int idx;
	u8 vmid;

	mutex_lock(&vs->pt_lock);
	vmid = vm->vmid;
	if (vmid) {
		WRITE_ONCE(vm->vmid, 0);
		if (drm_dev_enter(&vdev->drm, &idx)) {
			vgpu_gmc_clear_context(vdev, vmid);
			vgpu_gmc_set_pasid(vdev, vmid, 0);
			drm_dev_exit(idx);
		}
		mutex_lock(&vdev->vmm->lock);
		vdev->vmm->vmid_owner[vmid] = NULL;
		mutex_unlock(&vdev->vmm->lock);
	}
	mutex_unlock(&vs->pt_lock);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_vm_put_vmid);

/**
 * vgpu_vm_schedule() - get the root PDE of an address space, for packets in run lists
 * @vm: address space
 * @root_pde: receives the PDE of the root table on success
 *
 * After success, vgpu_vm_flush() flushes all VMIDs that the CP may assign to @vm.
 *
 * Context: sleeps; takes pt_lock; does not allocate.
 *
 * Return: 0, or -ECANCELED if the page tables were lost in a reset.
 */
int vgpu_vm_schedule(struct vgpu_vm *vm, u64 *root_pde)
{
	struct vgpu_vm_state *vs = to_vm_state(vm);
	int ret = 0;

	mutex_lock(&vs->pt_lock);
	if (vgpu_vm_is_lost(vm)) {
		ret = -ECANCELED;
	} else {
		vgpu_hdp_flush(vm->vdev);
		/* From now on vgpu_vm_flush() flushes all VMIDs that the CP may assign. */
		WRITE_ONCE(vs->scheduled, true);
		*root_pde = vgpu_gmc_root_pde(vm->vdev,
					      vgpu_pt_root_addr(&vs->pt));
	}
	mutex_unlock(&vs->pt_lock);
	return ret;
}
