// SPDX-License-Identifier: GPL-2.0
/* Creates and removes the struct svm_node of a KFD node. */
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include <linux/workqueue.h>
#include <drm/drm_print.h>
#include <kunit/visibility.h>

#include "hw/vgpu_hw.h"
#include "process/kfd_node.h"
#include "svm/migrate/svm_migrate.h"
#include "svm.h"
#include "svm_fault.h"
#include "svm_node.h"

/*
 * Log whether the GPU supports SVM and, if not, the reason. @ret is the result of
 * svm_vram_init().
 */
static void svm_node_report(const struct kfd_node *node, int ret)
{
	const struct drm_device *drm = &node->vdev->drm;

	if (!ret)
		drm_info(drm, "SVM supported\n");
	else if (ret == -EOPNOTSUPP)
		drm_info(drm, "SVM not supported: kernel without CONFIG_DEVICE_PRIVATE\n");
	else
		drm_warn(drm, "SVM not supported: no device-private memory for VRAM, error %d\n",
			 ret);
}

void svm_node_ready(struct svm_node *sn, bool supported)
{
	sn->supported = supported;
	/* Pairs with smp_load_acquire() in svm_supported(). */
	smp_store_release(&sn->pending, false);
	smp_mb();	/* store sn->pending before wake_up_var() looks for waiting tasks */
	wake_up_var(&sn->pending);
}
EXPORT_SYMBOL_IF_KUNIT(svm_node_ready);

/*
 * Make the device-private pages. Linux initialises a struct page for each 4 KiB of VRAM, about
 * 70 ms for 1 GiB in a guest under TCG. The first process that opens KFD is the first user of the
 * pages, so the probe does not wait for them.
 */
static void svm_node_vram_work(struct work_struct *work)
{
	struct svm_node *sn = container_of(work, struct svm_node, vram_work);
	int ret = svm_vram_init(sn->node);

	svm_node_report(sn->node, ret);
	svm_node_ready(sn, !ret);
}

/**
 * svm_node_init() - allocate a GPU's SVM state, and start to serve its faults
 * @node: GPU, with interrupts enabled
 *
 * A work item makes the device-private pages of VRAM after the return. Without such pages,
 * svm_supported() returns false.
 *
 * Context: sleeps.
 *
 * Return: 0, -ENOMEM, or an error of vgpu_ih_register().
 */
int svm_node_init(struct kfd_node *node)
{
	struct svm_node *sn = kzalloc(sizeof(*sn), GFP_KERNEL);
	int ret;

	if (!sn)
		return -ENOMEM;
	node->svm = sn;
	sn->node = node;
	sn->vram_epoch = atomic_read(&node->vdev->hw->vram_epoch);
	ret = svm_fault_init(node);
	if (ret)
		goto err_free;

	sn->pending = true;
	INIT_WORK(&sn->vram_work, svm_node_vram_work);
	queue_work(sn->wq, &sn->vram_work);
	return 0;

err_free:
	node->svm = NULL;
	kfree(sn);
	return ret;
}

/**
 * svm_node_fini() - undo svm_node_init()
 * @node: GPU without processes
 *
 * Context: sleeps until the last device-private page is free.
 */
void svm_node_fini(struct kfd_node *node)
{
	struct svm_node *sn = node->svm;

	cancel_work_sync(&sn->vram_work);
	svm_fault_fini(node);
	svm_vram_fini(node);
	node->svm = NULL;
	kfree(sn);
}

/**
 * svm_supported() - whether a GPU supports SVM
 * @node: GPU, after svm_node_init()
 *
 * Context: sleeps until the device-private pages of VRAM are made. The creation of a process calls
 * this function for each of its GPUs, so afterwards a call for a GPU of a process does not sleep.
 *
 * Return: true if the kernel has device-private memory for the GPU.
 */
bool svm_supported(const struct kfd_node *node)
{
	struct svm_node *sn = node->svm;

	/* Pairs with smp_store_release() in svm_node_ready(). */
	if (!smp_load_acquire(&sn->pending))
		return sn->supported;
	/* Pairs with the same store. */
	wait_var_event(&sn->pending, !smp_load_acquire(&sn->pending));
	return sn->supported;
}
EXPORT_SYMBOL_IF_KUNIT(svm_supported);

/**
 * svm_vram_epoch_changed() - whether the content of VRAM was lost since the last call
 * @node: GPU
 *
 * Context: recovery only (struct vgpu_reset_client); calls are serialised by the caller.
 *
 * Return: true if VRAM was lost since the last call, or since svm_node_init().
 */
bool svm_vram_epoch_changed(struct kfd_node *node)
{
	int epoch = atomic_read(&node->vdev->hw->vram_epoch);
	bool changed = node->svm->vram_epoch != epoch;

	node->svm->vram_epoch = epoch;
	return changed;
}
