/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Test-side driver of vgpu-kfd: hold a thread of QEMU in a trace event, so that
 * the order of two threads is certain where it would be a race.
 *
 * QEMU's log is a pipe, which the test fills before it enables the event: the
 * thread that logs the event blocks until the test empties the pipe. The thread
 * may be the main loop. QEMU serves neither qtest nor QMP then, and the test
 * follows the engines in VRAM, which it shares with QEMU.
 */
#ifndef VGPU_QOS_HOLD_H
#define VGPU_QOS_HOLD_H

#include "vgpu-qos.h"

/* For qvgpu_start_sized(): VRAM that the test shares. */
#define QVGPU_HOLD_VRAM     "64M,memdev=vram"

typedef struct QVGPUHold {
    char *dir;                  /* of both files */
    char *log;                  /* the pipe */
    char *file;                 /* VRAM */
    char *args;                 /* more arguments for QEMU */
    uint32_t *vram;             /* the test's mapping of VRAM */
    int fd;                     /* both ends of the pipe */
    int filled;                 /* bytes of the test in the pipe */
    GThread *later;             /* qvgpu_hold_release_later() */
    bool released;              /* by it; atomic */
} QVGPUHold;

/* Make pipe and VRAM for a QEMU that is started with @h->args. */
void qvgpu_hold_init(QVGPUHold *h);
/* After qvgpu_stop(). */
void qvgpu_hold_destroy(QVGPUHold *h);
/* The test's pointer to VRAM at the CPU address @addr. */
uint32_t *qvgpu_hold_vram(QVGPUHold *h, QVGPU *v, uint64_t addr);

/*
 * Enable the trace events that match @event. The thread that logs the first of
 * them is held; with @second, the first passes, and the thread that logs the
 * second one is held. Lines must have 33 to 64 bytes, which is checked for the
 * line that passes.
 */
void qvgpu_hold_arm(QVGPUHold *h, QVGPU *v, const char *event, bool second);
/* Has QEMU logged an event since the pipe was filled? */
bool qvgpu_hold_logged(QVGPUHold *h);
/*
 * Empty the pipe: threads go on, and no further ones are held. Returns the
 * number of events that were in the pipe.
 */
unsigned qvgpu_hold_release(QVGPUHold *h);
/*
 * Have a thread release in 0.2 s, for a test that shows that a command to QEMU
 * waits for the thread that is held.
 */
void qvgpu_hold_release_later(QVGPUHold *h);
/*
 * Wait for that thread, once. Returns whether it had released before this call:
 * the command did not complete earlier.
 */
bool qvgpu_hold_waited(QVGPUHold *h);

/* Enable or disable the trace events that match @event. */
void qvgpu_trace(QVGPU *v, const char *event, bool enable);

#endif /* VGPU_QOS_HOLD_H */
