/* SPDX-License-Identifier: GPL-2.0 */
/* Functions of vgpu_kfd.ko that amdgpu.ko calls. */
#ifndef VGPU_DRV_H
#define VGPU_DRV_H

#include <linux/types.h>

bool vgpu_drv_has_cwsr(void);

#endif /* VGPU_DRV_H */
