/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: timers on QEMU_CLOCK_VIRTUAL that any thread may set. */
#ifndef HW_MISC_VGPU_KFD_CORE_TIMER_H
#define HW_MISC_VGPU_KFD_CORE_TIMER_H

#include "qemu/timer.h"

/* Both members are constant from vgpu_timer_init() to vgpu_timer_destroy(). */
typedef struct VGPUTimer {
    QEMUTimer *timer;
    /*
     * Used only with icount. If the BQL is not held when a timer is set, the
     * vCPU can miss the timer's signal, and virtual time stops. So this BH
     * repeats the signal with the BQL held.
     */
    QEMUBH *notify_bh;
} VGPUTimer;

/**
 * vgpu_timer_init: create a timer
 * @t: timer; not armed on return
 * @dev: device that owns the timer
 * @cb: called in the main loop when the timer expires
 * @opaque: argument of @cb
 *
 * Context: BQL held.
 */
void vgpu_timer_init(VGPUTimer *t, DeviceState *dev, QEMUTimerCB *cb,
                     void *opaque);

/**
 * vgpu_timer_destroy: free a timer
 * @t: timer that no thread uses; may be armed
 *
 * Context: BQL held.
 */
void vgpu_timer_destroy(VGPUTimer *t);

/**
 * vgpu_timer_anticipate: let a timer expire at @ns or earlier
 * @t: timer; if @t is armed for an earlier time, nothing changes
 * @ns: time, ns, QEMU_CLOCK_VIRTUAL
 *
 * Context: any thread.
 */
void vgpu_timer_anticipate(VGPUTimer *t, int64_t ns);

/**
 * vgpu_timer_del: disarm a timer
 * @t: timer; need not be armed
 *
 * Context: BQL held.
 */
void vgpu_timer_del(VGPUTimer *t);

#endif /* HW_MISC_VGPU_KFD_CORE_TIMER_H */
