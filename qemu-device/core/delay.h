/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: delays in the threads of the device, to expose ordering bugs in
 * drivers and tests. The code is compiled only into builds with VGPU_KFD_DELAYS
 * (configs/qemu-delays.flags), where the device has two more properties:
 *
 *   x-delays         seed of random delays at all points; 0: none
 *   x-delay-point    name of a point (wake, take, done, irq, ack, window) with
 *                    a delay of 0.3 s, at most once a second; trace events
 *                    vgpu_delay and vgpu_delay_end enclose each sleep there
 *
 * Delays are in host time and also elapse while the machine is stopped: they
 * model threads that a busy host does not run.
 */
#ifndef HW_MISC_VGPU_KFD_CORE_DELAY_H
#define HW_MISC_VGPU_KFD_CORE_DELAY_H

#include "qemu/thread.h"

typedef struct VGPUState VGPUState;

typedef enum VGPUDelayPoint {
    VGPU_DELAY_WAKE,            /* after a worker wakes up */
    VGPU_DELAY_TAKE,            /* before a worker takes a queue */
    VGPU_DELAY_DONE,            /* after a worker left a queue */
    VGPU_DELAY_IRQ,             /* before the MSI */
    VGPU_DELAY_ACK,             /* before an invalidation is acknowledged */
    VGPU_DELAY_WINDOW,          /* before phys.c publishes a window of RAM */
    VGPU_DELAY_POINTS,
} VGPUDelayPoint;

#ifdef VGPU_KFD_DELAYS

/* Delays of a device. Times: ns, QEMU_CLOCK_REALTIME. */
typedef struct VGPUDelays {
    uint64_t seed;              /* property x-delays */
    char *point_name;           /* property x-delay-point; NULL: none */
    /* VGPUDelayPoint that x-delay-point names; -1: none. */
    int point;
    uint64_t rng;               /* state of delay_random(); atomic */
    /* Earliest time of the next delay at @point; atomic. */
    int64_t next;
    int64_t ack_due;            /* no acknowledge before this time; s->lock */
    QEMUTimer *irq_timer;       /* schedules @irq_bh after a delay */
    QEMUBH *irq_bh;             /* bottom half that sends the MSI; atomic */
} VGPUDelays;

/**
 * vgpu_delay_init: parse the properties and create the timer
 * @s: device
 * @errp: set if x-delay-point is not the name of a point
 *
 * Context: BQL held.
 * Return: false with @errp set.
 */
bool vgpu_delay_init(VGPUState *s, Error **errp);

/**
 * vgpu_delay_destroy: free the timer
 * @s: device
 *
 * Context: BQL held.
 */
void vgpu_delay_destroy(VGPUState *s);

/**
 * vgpu_delay_worker: sleep in a worker's thread if a delay is due at @point
 * @s: device
 * @lock: lock of the worker; dropped while the thread sleeps
 * @point: VGPU_DELAY_WAKE, VGPU_DELAY_TAKE or VGPU_DELAY_DONE
 *
 * Context: the caller holds @lock.
 * Return: true if @lock was dropped.
 */
bool vgpu_delay_worker(VGPUState *s, QemuMutex *lock, VGPUDelayPoint point);

/**
 * vgpu_delay_irq: if a delay is due, let a timer schedule @bh after the delay
 * @s: device
 * @bh: bottom half that sends the MSI
 *
 * Context: any thread.
 * Return: true if a timer schedules @bh; false: the caller must schedule @bh.
 */
bool vgpu_delay_irq(VGPUState *s, QEMUBH *bh);

/**
 * vgpu_delay_ack: check whether acknowledges of invalidations are delayed
 * @s: device
 * @request: true at the start of an invalidation: a delay may start
 *
 * Context: s->lock held.
 * Return: true while no invalidation may be acknowledged.
 */
bool vgpu_delay_ack(VGPUState *s, bool request);

/**
 * vgpu_delay_window: sleep if a delay is due at VGPU_DELAY_WINDOW
 * @s: device
 *
 * Context: any thread. The caller may hold s->lock, which is not dropped.
 */
void vgpu_delay_window(VGPUState *s);

#else

static inline bool vgpu_delay_init(VGPUState *s, Error **errp)
{
    return true;
}

static inline void vgpu_delay_destroy(VGPUState *s)
{
}

static inline bool vgpu_delay_worker(VGPUState *s, QemuMutex *lock,
                                     VGPUDelayPoint point)
{
    return false;
}

static inline bool vgpu_delay_irq(VGPUState *s, QEMUBH *bh)
{
    return false;
}

static inline bool vgpu_delay_ack(VGPUState *s, bool request)
{
    return false;
}

static inline void vgpu_delay_window(VGPUState *s)
{
}

#endif

#endif /* HW_MISC_VGPU_KFD_CORE_DELAY_H */
