// SPDX-License-Identifier: GPL-2.0
/* Initialises and frees the state of KFD that is not bound to a single GPU. */
#include <linux/device.h>

#include "kfd/core/kfd_core.h"
#include "kfd/debug/kfd_debug.h"
#include "kfd/topology/kfd_topology.h"
#include "process/kfd_process.h"
#include "process/kfd_procfs.h"
#include "svm/svm.h"
#include "kfd_ioctl.h"
#include "kfd_module.h"

/**
 * kfd_init() - initialise KFD, and create /dev/kfd
 *
 * Context: module init, before the first kfd_device_init().
 *
 * Return: 0, -ENOMEM, or an error of the character device or of sysfs.
 */
int kfd_init(void)
{
	int ret;

	ret = kfd_dbg_module_init();
	if (ret)
		return ret;
	kfd_process_life_init();
	ret = svm_module_init();
	if (ret)
		goto err_dbg;
	ret = kfd_process_init();
	if (ret)
		goto err_svm;
	ret = kfd_chardev_init();
	if (ret)
		goto err_process;
	ret = kfd_topology_init(&kfd_device->kobj);
	if (ret)
		goto err_chardev;
	ret = kfd_procfs_init(&kfd_device->kobj);
	if (ret)
		goto err_topology;
	kfd_debugfs_init();
	return 0;

err_topology:
	kfd_topology_exit();
err_chardev:
	kfd_chardev_exit();
err_process:
	kfd_process_exit();
err_svm:
	svm_module_exit();
err_dbg:
	kfd_dbg_module_exit();
	return ret;
}

/**
 * kfd_exit() - undo kfd_init()
 *
 * Detaches the processes whose mm is still in use, and waits for their teardown.
 *
 * Context: module exit, after the last kfd_device_fini().
 */
void kfd_exit(void)
{
	kfd_process_detach_all(NULL);
	kfd_procfs_exit();
	kfd_topology_exit();
	kfd_chardev_exit();
	kfd_process_exit();
	/* Remove /sys/kernel/debug/kfd after the last process has removed its folder there. */
	kfd_debugfs_exit();
	svm_module_exit();
	kfd_dbg_module_exit();
}
