// SPDX-License-Identifier: GPL-2.0
/*
 * amdgpu.ko: provides /sys/module/amdgpu for tools, and does nothing else.
 *
 * rocminfo reads /sys/module/amdgpu/initstate. Test suites and management tools read the
 * parameters, which describe the driver vgpu_kfd.ko and do not configure the driver.
 */
#include <linux/module.h>

#include "vgpu_drv.h"

static int cwsr_enable;
module_param(cwsr_enable, int, 0444);
MODULE_PARM_DESC(cwsr_enable, "Waves are saved and restored (0: the device runs no waves)");

static int noretry;
module_param(noretry, int, 0444);
MODULE_PARM_DESC(noretry, "Retry faults are off (0: they are on)");

static int sched_policy;
module_param(sched_policy, int, 0444);
MODULE_PARM_DESC(sched_policy, "Queue scheduling (0: by the hardware, more queues than it has slots)");

static int mes;
module_param(mes, int, 0444);
MODULE_PARM_DESC(mes, "Micro engine scheduler (0: there is none)");

static int emu_mode;
module_param(emu_mode, int, 0444);
MODULE_PARM_DESC(emu_mode, "The GPU is emulated (1: it is, and slow)");

static int __init amdgpu_facade_init(void)
{
	/*
	 * Overwrite values that were given at load time. The call of vgpu_drv_has_cwsr() makes
	 * amdgpu.ko depend on vgpu_kfd.ko, so /sys/module/amdgpu exists only with the driver.
	 */
	cwsr_enable = vgpu_drv_has_cwsr();
	noretry = 0;
	sched_policy = 0;
	mes = 0;
	emu_mode = 1;
	return 0;
}
module_init(amdgpu_facade_init);

static void __exit amdgpu_facade_exit(void)
{
}
module_exit(amdgpu_facade_exit);

MODULE_DESCRIPTION("Name that ROCm tools look for; the driver is vgpu_kfd");
MODULE_LICENSE("GPL");
