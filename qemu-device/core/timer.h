/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: timers on QEMU_CLOCK_VIRTUAL that any thread may set.
 *
 * With icount, timer_mod() queues an empty work item for a vCPU, so that the
 * vCPU computes its next deadline again, and signals the vCPU's condition
 * variable. If the caller of timer_mod() does not hold the BQL, a vCPU that is
 * about to wait can miss the signal. The work item then stays in the queue.
 * While it is there, QEMU counts this vCPU as running, and does not advance the
 * clock. Therefore these timers also schedule a bottom half. It calls
 * qemu_clock_notify(), which queues a work item and signals once more. The vCPU
 * cannot miss this signal, because the bottom half holds the BQL.
 */
#ifndef HW_MISC_VGPU_KFD_CORE_TIMER_H
#define HW_MISC_VGPU_KFD_CORE_TIMER_H

#include "qemu/timer.h"

/* Both members are constant from vgpu_timer_init() to vgpu_timer_destroy(). */
typedef struct VGPUTimer {
    QEMUTimer *timer;
    QEMUBH *notify_bh;          /* calls qemu_clock_notify(); icount only */
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
