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
#ifndef VGPU_TEST_HOLD_H
#define VGPU_TEST_HOLD_H

#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/sdma-queue.h"

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
/*
 * Allocate a page of VRAM that the test can access while the main loop is held.
 * Returns the test's pointer; @mc receives the GPU address in VMID 0.
 */
uint32_t *qvgpu_hold_page(QVGPUHold *h, QVGPU *v, uint64_t *mc);

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

/*
 * Kick @q, whose next packet faults silently without end, and hold its engine
 * between two trace events of one access.
 */
void qvgpu_hold_access(QVGPUHold *h, QVGPUSdma *q);
/*
 * Assert that the command before has waited for qvgpu_hold_release_later(); let
 * the engine of qvgpu_hold_access() go on.
 */
void qvgpu_hold_access_end(QVGPUHold *h, QVGPU *v);
/*
 * Remove the device by surprise. The main loop is held when BAR 0 leaves the
 * bus. Meanwhile the CP raises @interrupts interrupts, all of them before the
 * removal is over.
 */
void qvgpu_hold_removal(QVGPUHold *h, QVGPU *v, unsigned interrupts);

/* Enable or disable the trace events that match @event. */
void qvgpu_trace(QVGPU *v, const char *event, bool enable);

#endif /* VGPU_TEST_HOLD_H */
