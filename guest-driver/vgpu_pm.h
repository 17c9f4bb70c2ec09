/* SPDX-License-Identifier: GPL-2.0 */
/* PM callbacks and PM notifier of a device. */
#ifndef VGPU_PM_H
#define VGPU_PM_H

#include <linux/pm.h>

struct vgpu_device;

extern const struct dev_pm_ops vgpu_pm_ops;
int vgpu_pm_init(struct vgpu_device *vdev);
void vgpu_pm_fini(struct vgpu_device *vdev);

#endif /* VGPU_PM_H */
