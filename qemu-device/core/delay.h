/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: delays in the threads of the device, to expose ordering bugs in
 * drivers and tests. Only builds with VGPU_KFD_DELAYS
 * (configs/qemu-delays.flags) have the delays, and the properties x-delays and
 * x-delay-point.
 */
#ifndef HW_MISC_VGPU_KFD_CORE_DELAY_H
#define HW_MISC_VGPU_KFD_CORE_DELAY_H

#include "qemu/thread.h"

typedef struct VGPUState VGPUState;

/* Points in the code that can be delayed. */
typedef enum VGPUDelayPoint {
    VGPU_DELAY_WAKE,            /* after a worker wakes up */
    VGPU_DELAY_TAKE,            /* before a worker takes a queue */
    VGPU_DELAY_DONE,            /* after a worker left a queue */
    VGPU_DELAY_IRQ,             /* before an MSI is sent */
    VGPU_DELAY_ACK,             /* before an invalidation is acknowledged */
    /* Before memory/phys.c publishes a VGPUWindow. */
    VGPU_DELAY_WINDOW,
    VGPU_DELAY_POINTS,
} VGPUDelayPoint;

#ifdef VGPU_KFD_DELAYS

/*
 * State of a device's delays. The delays model threads that a busy host does
 * not schedule. The host may be busy even while the machine is stopped, so
 * times are in ns of QEMU_CLOCK_REALTIME, which always runs.
 */
typedef struct VGPUDelays {
    /* Property x-delays: seed of random delays; 0: no random delays. */
    uint64_t seed;
    /*
     * Property x-delay-point: "wake", "take", "done", "irq", "ack" or "window".
     * The point with this name is delayed by 0.3 s, at most once a second.
     * NULL: property not set.
     */
    char *point_name;
    /*
     * VGPUDelayPoint that x-delay-point names, or -1 if the property is not
     * set.
     */
    int point;
    /* State of delay_random(). Accessed atomically. */
    uint64_t rng;
    /* Before this time, @point is not delayed again. Accessed atomically. */
    int64_t next;
    /* No invalidation is acknowledged before this time. Guarded by s->lock. */
    int64_t ack_due;
    QEMUTimer *irq_timer;       /* schedules @irq_bh after a delay */
    /* Bottom half that sends the MSI. Accessed atomically. */
    QEMUBH *irq_bh;
} VGPUDelays;

/**
 * vgpu_delay_init: parse the properties and create the timer
 * @s: device
 * @errp: set if x-delay-point is not the name of a point
 *
 * Context: BQL held.
 * Return: true on success; false, with @errp set, on an error.
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
 * Return: true if a timer schedules @bh; false if the caller must schedule @bh.
 */
bool vgpu_delay_irq(VGPUState *s, QEMUBH *bh);

/**
 * vgpu_delay_ack: check whether acknowledges of invalidations are delayed
 * @s: device
 * @request: true at the start of an invalidation, when a new delay may start
 *
 * Context: s->lock held.
 * Return: true while acknowledges must be delayed.
 */
bool vgpu_delay_ack(VGPUState *s, bool request);

/**
 * vgpu_delay_window: sleep if a delay is due at the point VGPU_DELAY_WINDOW
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
