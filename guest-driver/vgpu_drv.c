// SPDX-License-Identifier: GPL-2.0
/*
 * Module and PCI driver. The probe initialises the parts of a device in this order: reset/,
 * hw/, mm/, vm/, drm/, kfd/, system sleep. The removal undoes this in reverse order.
 */
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/rcupdate.h>

#include <drm/drm_drv.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>

#include "vgpu/pci.h"
#include "device/vgpu_device.h"
#include "drm/vgpu_drm.h"
#include "hw/sdma/vgpu_sdma_sched.h"
#include "hw/vgpu_gart.h"
#include "hw/vgpu_hw.h"
#include "hw/vgpu_recover.h"
#include "kfd/core/kfd_core.h"
#include "kfd/ioctl/kfd_module.h"
#include "mm/vgpu_mm.h"
#include "reset/vgpu_reset.h"
#include "vm/vgpu_vm.h"
#include "vgpu_drv.h"
#include "vgpu_pm.h"

static int vgpu_pci_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct vgpu_device *vdev;
	int ret;

	vdev = devm_drm_dev_alloc(&pdev->dev, &vgpu_drm_driver,
				  struct vgpu_device, drm);
	if (IS_ERR(vdev))
		return PTR_ERR(vdev);
	vdev->pdev = pdev;
	pci_set_drvdata(pdev, vdev);

	ret = pcim_enable_device(pdev);
	if (ret)
		return ret;

	ret = vgpu_reset_init(vdev);
	if (ret)
		return ret;
	ret = vgpu_hw_init(vdev, vgpu_reset_request);
	if (ret)
		goto err_reset;
	ret = vgpu_mm_init(vdev);
	if (ret)
		goto err_hw;
	ret = vgpu_vmm_init(vdev);
	if (ret)
		goto err_mm;
	ret = vgpu_sched_init(vdev);
	if (ret)
		goto err_vmm;
	ret = drm_dev_register(&vdev->drm, 0);
	if (ret)
		goto err_sched;
	ret = kfd_device_init(vdev);
	if (ret)
		goto err_drm;
	ret = vgpu_pm_init(vdev);
	if (ret)
		goto err_kfd;
	vgpu_reset_start(vdev);

	drm_info(&vdev->drm, "%llu MiB of VRAM, %llu MiB of GART\n",
		 vdev->hw->vram_size >> 20,
		 vgpu_gart_size(vdev) >> 20);
	return 0;

err_kfd:
	kfd_device_fini(vdev);
err_drm:
	drm_dev_unplug(&vdev->drm);
err_sched:
	vgpu_sched_fini(vdev);
err_vmm:
	vgpu_vmm_fini(vdev);
err_mm:
	vgpu_mm_fini(vdev);
err_hw:
	vgpu_hw_fini(vdev);
err_reset:
	vgpu_reset_fini(vdev);
	return ret;
}

/*
 * Called at unbind or removal of the device. Open files and mappings may outlive this call, so
 * their entry points check drm_dev_enter() or vgpu_mman.ready.
 */
static void vgpu_pci_remove(struct pci_dev *pdev)
{
	struct vgpu_device *vdev = pci_get_drvdata(pdev);

	vgpu_pm_fini(vdev);
	/*
	 * If a hub does not acknowledge this flush, the flush waits until the device was reset or
	 * given up. After vgpu_reset_stop() no recovery is accepted, so the teardown would free
	 * memory although the hub may use old translations. (If the device does not answer, all
	 * registers read as ones, and the flush does not wait.)
	 */
	vgpu_gart_flush(vdev);
	/*
	 * After this call no recovery starts. The CPU executes failed SDMA jobs that only copy,
	 * fill or write page tables. Other failed jobs end with an error.
	 */
	vgpu_reset_stop(vdev);
	if (!vgpu_hw_present(vdev)) {
		drm_err(&vdev->drm,
			"device does not answer: content of its VRAM is lost\n");
		/* Signal all fences, because the device completes no more jobs. */
		vgpu_sdma_give_up(vdev, false);
		vgpu_cp_give_up(vdev, false);
	}
	/* Processes lose the GPU, and SVM pages leave VRAM. */
	kfd_device_fini(vdev);
	/* Wait for ioctls and page faults in flight. */
	drm_dev_unplug(&vdev->drm);
	vgpu_sched_fini(vdev);
	vgpu_vmm_fini(vdev);
	vgpu_mm_fini(vdev);
	/* After this call, the device does no DMA and raises no interrupt. */
	vgpu_hw_fini(vdev);
	vgpu_reset_fini(vdev);
}

/* Stop the engines, so that no engine writes to memory of the next kernel. */
static void vgpu_pci_shutdown(struct pci_dev *pdev)
{
	struct vgpu_device *vdev = pci_get_drvdata(pdev);

	vgpu_reset_stop(vdev);
	vgpu_hw_quiesce(vdev);
	pci_clear_master(pdev);
}

/* The subsystem ids are QEMU's, so a real card of this type does not match. */
static const struct pci_device_id vgpu_pci_ids[] = {
	{ PCI_DEVICE_SUB(VGPU_PCI_VENDOR_ID, VGPU_PCI_DEVICE_ID,
			 VGPU_PCI_SUBVENDOR_ID, VGPU_PCI_SUBDEVICE_ID) },
	{ }
};
MODULE_DEVICE_TABLE(pci, vgpu_pci_ids);

static struct pci_driver vgpu_pci_driver = {
	.name = "vgpu_kfd",
	.id_table = vgpu_pci_ids,
	.probe = vgpu_pci_probe,
	.remove = vgpu_pci_remove,
	.shutdown = vgpu_pci_shutdown,
	.dev_groups = vgpu_sysfs_groups,
	.driver.pm = pm_sleep_ptr(&vgpu_pm_ops),
};

/**
 * vgpu_drv_has_cwsr() - whether waves of a queue can be saved and restored
 *
 * Called by amdgpu.ko, which shows the value to tools.
 *
 * Return: always false, since the device has no waves.
 */
bool vgpu_drv_has_cwsr(void)
{
	return false;
}
EXPORT_SYMBOL_GPL(vgpu_drv_has_cwsr);

static int __init vgpu_module_init(void)
{
	int ret;

	ret = vgpu_sdma_module_init();
	if (ret)
		return ret;
	vgpu_file_module_init();
	ret = kfd_init();
	if (ret)
		return ret;
	ret = pci_register_driver(&vgpu_pci_driver);
	if (ret)
		goto err_kfd;
	return 0;

err_kfd:
	kfd_exit();
	return ret;
}
module_init(vgpu_module_init);

/*
 * A task may be preempted at the end of vgpu_job_destroy() or kfd_process_free_notifier(). The
 * module's code is freed next, so wait until the task has left this code. (In a preemptible
 * kernel without ftrace, kprobes and BPF, synchronize_rcu_tasks() does not wait for the task.)
 */
static void __exit vgpu_module_exit(void)
{
	pci_unregister_driver(&vgpu_pci_driver);
	kfd_exit();
	synchronize_rcu_tasks();
}
module_exit(vgpu_module_exit);

MODULE_DESCRIPTION(VGPU_DRV_DESC);
MODULE_LICENSE("GPL");
