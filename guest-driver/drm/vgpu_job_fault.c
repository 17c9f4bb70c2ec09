// SPDX-License-Identifier: GPL-2.0
/*
 * Handles VM faults of the render node's jobs. VMIDs of such jobs do not retry, and a job
 * continues after a fault. The driver logs the fault, and stores the last fault of each file
 * for AMDGPU_INFO_GPUVM_FAULT.
 */
#include <drm/drm_print.h>

#include "vgpu/bits.h"
#include "vgpu/gmc.h"
#include "vgpu/ih.h"
#include "hw/vgpu_ih.h"
#include "hw/vgpu_vmid.h"
#include "vgpu_file.h"
#include "vgpu_sched.h"

/* AMDGPU_VMHUB_TYPE_MM0, the hub of the SDMA engines. */
#define FAULT_HUB	1

/* Log and store the fault. Called in hard interrupt context. */
static void fault_irq(struct vgpu_device *vdev, const struct vgpu_iv_entry *iv,
		      void *arg)
{
	struct vgpu_sched *sched = vdev->sched;
	u32 status, rw = iv->data[1] & IH_FAULT_D1__WRITE;
	struct vgpu_file *vf;
	unsigned long flags;
	u64 addr;

	if (iv->vmid < VGPU_FIRST_GFX_VMID || iv->vmid > VGPU_LAST_GFX_VMID)
		return;
	addr = ((u64)iv->data[0] << 12) |
	       (u64)(iv->data[1] & IH_FAULT_D1__VA_HI) << 44;
	status = VGPU_PREP(VM_L2_PROTECTION_FAULT_STATUS__VMID, (u32)iv->vmid) |
		 (rw ? VM_L2_PROTECTION_FAULT_STATUS__RW : 0);

	xa_lock_irqsave(&sched->files, flags);
	vf = xa_load(&sched->files, iv->pasid);
	if (vf) {
		vf->fault.addr = addr;
		vf->fault.status = status;
		vf->fault.vmhub = FAULT_HUB;
	}
	xa_unlock_irqrestore(&sched->files, flags);
	drm_err_ratelimited(&vdev->drm,
			    "no-retry %s fault of a job at %#llx, vmid %u, pasid %u\n",
			    rw ? "write" : "read", addr, iv->vmid, iv->pasid);
}

/**
 * vgpu_fault_add_file() - register a file, so that faults in its address space are stored
 * @vf: file with an address space
 *
 * Return: 0 or -ENOMEM.
 */
int vgpu_fault_add_file(struct vgpu_file *vf)
{
	return xa_err(xa_store_irq(&vf->vdev->sched->files, vf->pasid, vf,
				   GFP_KERNEL));
}

/**
 * vgpu_fault_del_file() - undo vgpu_fault_add_file()
 * @vf: file; may be freed after this call, because the fault handler does not use it any more
 */
void vgpu_fault_del_file(struct vgpu_file *vf)
{
	xa_erase_irq(&vf->vdev->sched->files, vf->pasid);
}

/**
 * vgpu_fault_last() - return the last fault of a file's jobs
 * @vf: file
 * @fault: set to the fault, or to zeros if there was none
 */
void vgpu_fault_last(struct vgpu_file *vf,
		     struct drm_amdgpu_info_gpuvm_fault *fault)
{
	struct xarray *files = &vf->vdev->sched->files;
	unsigned long flags;

	xa_lock_irqsave(files, flags);
	*fault = vf->fault;
	xa_unlock_irqrestore(files, flags);
}

/**
 * vgpu_fault_init() - register the handler of jobs' faults
 * @vdev: device; its interrupts work
 *
 * Return: 0, or an error of vgpu_ih_register().
 */
int vgpu_fault_init(struct vgpu_device *vdev)
{
	xa_init_flags(&vdev->sched->files, XA_FLAGS_LOCK_IRQ);
	return vgpu_ih_register(vdev, IH_CLIENT_VMC, IH_SRC_VM_FAULT,
				fault_irq, NULL);
}

/**
 * vgpu_fault_fini() - unregister the handler of jobs' faults, and wait until it does not run
 * @vdev: device
 *
 * Context: may sleep.
 */
void vgpu_fault_fini(struct vgpu_device *vdev)
{
	vgpu_ih_unregister(vdev, IH_CLIENT_VMC, IH_SRC_VM_FAULT, fault_irq);
}
