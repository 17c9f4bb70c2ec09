/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: delays in the device's threads, to bring out faults of order in
 * drivers and tests. Only in builds with VGPU_KFD_DELAYS
 * (configs/qemu-delays.flags), which have two more properties:
 *
 *   x-delays         seed of random delays at all points; 0: none
 *   x-delay-point    a delay of 0.3 s at this point, at most one a second:
 *                    wake, take, done, irq, ack or window; where a thread
 *                    waits, vgpu_delay and vgpu_delay_end are traced
 *
 * Delays are host time: they stand for what a busy host does to threads, while
 * the machine is stopped, too.
 */
#ifndef HW_MISC_VGPU_KFD_CORE_DELAY_H
#define HW_MISC_VGPU_KFD_CORE_DELAY_H

#include "qemu/thread.h"

typedef struct VGPUState VGPUState;

typedef enum VGPUDelayPoint {
    VGPU_DELAY_WAKE,            /* a worker wakes up */
    VGPU_DELAY_TAKE,            /* before a worker takes a queue */
    VGPU_DELAY_DONE,            /* after it left the queue */
    VGPU_DELAY_IRQ,             /* before the MSI */
    VGPU_DELAY_ACK,             /* before an invalidation is acknowledged */
    VGPU_DELAY_WINDOW,          /* before a piece of RAM is remembered */
    VGPU_DELAY_POINTS,
} VGPUDelayPoint;

#ifdef VGPU_KFD_DELAYS

typedef struct VGPUDelays {
    uint64_t seed;
    char *point_name;
    int point;                  /* VGPUDelayPoint or -1 */
    uint64_t rng;               /* atomic */
    int64_t next;               /* ns, REALTIME: of the 0.3 s; atomic */
    int64_t ack_due;            /* the same; s->lock */
    QEMUTimer *irq_timer;       /* schedules irq_bh */
    QEMUBH *irq_bh;             /* atomic */
} VGPUDelays;

/* BQL held. */
bool vgpu_delay_init(VGPUState *s, Error **errp);
void vgpu_delay_destroy(VGPUState *s);
/*
 * The worker's thread waits, if it is to, without @lock, which the caller
 * holds. Return: whether the lock was dropped.
 */
bool vgpu_delay_worker(VGPUState *s, QemuMutex *lock, VGPUDelayPoint point);
/* Will @bh be scheduled later? The caller does so if not. Any thread. */
bool vgpu_delay_irq(VGPUState *s, QEMUBH *bh);
/*
 * Is an acknowledge still held back? @request: an invalidation begins. s->lock
 * held.
 */
bool vgpu_delay_ack(VGPUState *s, bool request);
/* The calling thread waits; it may hold s->lock. */
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
