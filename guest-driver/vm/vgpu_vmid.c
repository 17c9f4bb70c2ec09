// SPDX-License-Identifier: GPL-2.0
/*
 * VMIDs: which address spaces the hardware knows.
 */
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
 * vgpu_vmm_init() - start to hand out VMIDs
 * @vdev: device; mm/ is up
 *
 * Return: 0 or -ENOMEM.
 */
int vgpu_vmm_init(struct vgpu_device *vdev)
{
	struct vgpu_vm_manager *vmm;
	int ret;

	/* Address spaces of open files outlive the hardware. */
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
 * vgpu_vmm_fini() - the hardware goes
 * @vdev: device; unplugged, so that address spaces do not touch it any more
 *
 * Contexts that address spaces still have are closed with the hubs.
 */
void vgpu_vmm_fini(struct vgpu_device *vdev)
{
	mutex_lock(&vdev->vmm->lock);
	memset(vdev->vmm->vmid_owner, 0, sizeof(vdev->vmm->vmid_owner));
	mutex_unlock(&vdev->vmm->lock);
}

/**
 * vgpu_vmm_set_wait_jobs() - set how to wait for jobs of the render node
 * @vdev: device
 * @wait_jobs: waits until no job of the render node's address space @vm is on an engine.
 *             Called once the device is unplugged, before memory goes that is mapped; may
 *             sleep
 *
 * Context: bring-up, before user space can open the render node.
 */
void vgpu_vmm_set_wait_jobs(struct vgpu_device *vdev, void (*wait_jobs)(struct vgpu_vm *vm))
{
	vdev->vmm->wait_jobs = wait_jobs;
}

static int vmm_take_vmid(struct vgpu_vm_manager *vmm, struct vgpu_vm *vm)
{
	int vmid = vm->compute ? VGPU_FIRST_KFD_VMID : VGPU_FIRST_GFX_VMID;
	int last = vm->compute ? VGPU_LAST_KFD_VMID : VGPU_LAST_GFX_VMID;

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
 * vgpu_vm_is_lost() - were the page tables lost in a reset?
 * @vm: address space
 *
 * Any context.
 *
 * Return: true if VRAM was lost since they were made.
 */
bool vgpu_vm_is_lost(struct vgpu_vm *vm)
{
	return READ_ONCE(vm->vram_epoch) !=
	       atomic_read(&vm->vdev->hw->vram_epoch);
}

/**
 * vgpu_vmids_in_use() - how many VMIDs address spaces have
 * @vdev: device
 *
 * Return: 0 to 15. Those that the CP hands out for turns are not counted.
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
 * vgpu_vm_get_vmid() - let the hardware use an address space
 * @vm: address space
 *
 * Gives it a VMID, if it has none. Does not allocate.
 *
 * Return: 0, -ENOSPC when all of its kind are taken, or -ECANCELED when its page tables were
 * lost in a reset.
 */
int vgpu_vm_get_vmid(struct vgpu_vm *vm)
{
	struct vgpu_device *vdev = vm->vdev;
	int ret = 0;

	mutex_lock(&vm->pt_lock);
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
	vgpu_gmc_set_pasid(vdev, ret, vm->pasid);
	vgpu_gmc_set_context(vdev, ret, vgpu_pt_root_addr(&vm->pt));
	WRITE_ONCE(vm->vmid, ret);
	ret = 0;
unlock:
	mutex_unlock(&vm->pt_lock);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_vm_get_vmid);

/**
 * vgpu_vm_put_vmid() - take the address space from the hardware
 * @vm: address space; no queue runs in it. Without a VMID nothing happens
 */
void vgpu_vm_put_vmid(struct vgpu_vm *vm)
{
	struct vgpu_device *vdev = vm->vdev;
	int idx;
	u8 vmid;

	mutex_lock(&vm->pt_lock);
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
	mutex_unlock(&vm->pt_lock);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_vm_put_vmid);

/**
 * vgpu_vm_schedule() - let run lists name an address space
 * @vm: address space
 * @root_pde: receives how they call it
 *
 * From now on translations are dropped in their VMIDs too, until the end of the
 * address space. Does not allocate.
 *
 * Return: 0, or -ECANCELED when its page tables were lost in a reset.
 */
int vgpu_vm_schedule(struct vgpu_vm *vm, u64 *root_pde)
{
	int ret = 0;

	mutex_lock(&vm->pt_lock);
	if (vgpu_vm_is_lost(vm)) {
		ret = -ECANCELED;
	} else {
		vgpu_hdp_flush(vm->vdev);
		WRITE_ONCE(vm->scheduled, true);
		*root_pde = vgpu_gmc_root_pde(vm->vdev,
					      vgpu_pt_root_addr(&vm->pt));
	}
	mutex_unlock(&vm->pt_lock);
	return ret;
}
