/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: timers on QEMU_CLOCK_VIRTUAL that any thread may set. */
#include "qemu/osdep.h"
#include "hw/qdev-core.h"
#include "qemu/main-loop.h"
#include "system/cpu-timers.h"
#include "hw/misc/vgpu-kfd/core/timer.h"

static void notify_bh(void *opaque)
{
    qemu_clock_notify(QEMU_CLOCK_VIRTUAL);
}

void vgpu_timer_init(VGPUTimer *t, DeviceState *dev, QEMUTimerCB *cb,
                     void *opaque)
{
    t->timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, cb, opaque);
    t->notify_bh = qemu_bh_new_guarded(notify_bh, t,
                                       &dev->mem_reentrancy_guard);
}

void vgpu_timer_destroy(VGPUTimer *t)
{
    timer_free(t->timer);
    qemu_bh_delete(t->notify_bh);
}

void vgpu_timer_anticipate(VGPUTimer *t, int64_t ns)
{
    timer_mod_anticipate_ns(t->timer, ns);
    if (icount_enabled()) {
        qemu_bh_schedule(t->notify_bh);
    }
}

void vgpu_timer_del(VGPUTimer *t)
{
    timer_del(t->timer);
}
