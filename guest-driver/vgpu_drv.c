// SPDX-License-Identifier: GPL-2.0
/*
 * Module and PCI driver: brings the rooms of a device up in the order in
 * which they build on each other, and down in the reverse one.
 */
#include <linux/module.h>
#include <linux/pci.h>

#include <drm/drm_drv.h>
#include <drm/drm_managed.h>

#include "kfd/kfd_priv.h"
#include "vgpu/pci.h"
#include "vgpu_device.h"
#include "vgpu_drv.h"

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

	ret = vgpu_hw_init(vdev);
	if (ret)
		return ret;
	ret = vgpu_mm_init(vdev);
	if (ret)
		goto err_hw;
	ret = vgpu_vmm_init(vdev);
	if (ret)
		goto err_mm;
	ret = drm_dev_register(&vdev->drm, 0);
	if (ret)
		goto err_vmm;
	ret = kfd_device_init(vdev);
	if (ret)
		goto err_drm;

	drm_info(&vdev->drm, "%llu MiB of VRAM, %llu MiB of GART\n",
		 vdev->hw.vram_size >> 20,
		 (vdev->hw.gart.total << VGPU_PAGE_SHIFT) >> 20);
	return 0;

err_drm:
	drm_dev_unplug(&vdev->drm);
err_vmm:
	vgpu_vmm_fini(vdev);
err_mm:
	vgpu_mm_fini(vdev);
err_hw:
	vgpu_hw_fini(vdev);
	return ret;
}

static void vgpu_pci_remove(struct pci_dev *pdev)
{
	struct vgpu_device *vdev = pci_get_drvdata(pdev);

	kfd_device_fini(vdev);
	drm_dev_unplug(&vdev->drm);
	vgpu_vmm_fini(vdev);
	vgpu_mm_fini(vdev);
	vgpu_hw_fini(vdev);
}

/* The next kernel must not find engines that write to its memory. */
static void vgpu_pci_shutdown(struct pci_dev *pdev)
{
	struct vgpu_device *vdev = pci_get_drvdata(pdev);

	vgpu_hw_quiesce(vdev);
	pci_clear_master(pdev);
}

/* The subsystem ids are QEMU's: a real card of this type does not match. */
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
	/*
	 * Open files keep the module, and so the device, in place; taking the
	 * device from under them through sysfs is not supported.
	 */
	.driver.suppress_bind_attrs = true,
};

/**
 * vgpu_drv_has_cwsr() - whether waves of a queue can be saved and restored
 *
 * For amdgpu.ko, which shows it to tools. There are no waves yet.
 */
bool vgpu_drv_has_cwsr(void)
{
	return false;
}
EXPORT_SYMBOL_GPL(vgpu_drv_has_cwsr);

static int __init vgpu_module_init(void)
{
	int ret;

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

static void __exit vgpu_module_exit(void)
{
	pci_unregister_driver(&vgpu_pci_driver);
	kfd_exit();
}
module_exit(vgpu_module_exit);

MODULE_DESCRIPTION(VGPU_DRV_DESC);
MODULE_LICENSE("GPL");
