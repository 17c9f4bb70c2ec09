/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Test-side driver of vgpu-kfd: holds a thread of QEMU in a trace event, so
 * that a test can fix the order of two threads that would otherwise race.
 *
 * QEMU's log is a pipe, which the test fills before it enables the event. The
 * thread that logs the event then blocks until the test empties the pipe. If
 * this thread is the main loop, QEMU serves neither qtest nor QMP, and the test
 * reads the progress of the engines from VRAM, which it shares with QEMU.
 */
#ifndef VGPU_TEST_HOLD_H
#define VGPU_TEST_HOLD_H

#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/sdma-queue.h"

/* Argument @vram of qvgpu_start_sized(): the test shares VRAM with QEMU. */
#define QVGPU_HOLD_VRAM     "64M,memdev=vram"

typedef struct QVGPUHold {
    char *dir;                  /* directory that contains log and file */
    char *log;                  /* name of the pipe for QEMU's log */
    char *file;                 /* name of the VRAM file */
    char *args;                 /* arguments for QEMU */
    uint32_t *vram;             /* the test's mapping of VRAM */
    int fd;                     /* the pipe, for reading and writing */
    int filled;                 /* bytes that qvgpu_hold_arm() wrote */
    GThread *later;             /* thread of qvgpu_hold_release_later() */
    bool released;              /* set by the thread @later; atomic */
} QVGPUHold;

/*
 * Make the pipe for QEMU's log and the file for VRAM. Start QEMU with @h->args
 * afterwards.
 */
void qvgpu_hold_init(QVGPUHold *h);
/* Remove the pipe and the file. Call after qvgpu_stop(). */
void qvgpu_hold_destroy(QVGPUHold *h);
/*
 * Allocate a page of VRAM that the test can access while the main loop is held.
 * @mc receives the page's GPU address in VMID 0. Returns the test's mapping.
 */
uint32_t *qvgpu_hold_page(QVGPUHold *h, QVGPU *v, uint64_t *mc);

/**
 * qvgpu_hold_arm: hold the thread that logs an event
 * @h: initialised by qvgpu_hold_init()
 * @v: the machine
 * @event: pattern of the trace events to enable
 * @second: false: hold the thread that logs the first event; true: let the
 *     first event pass, and hold the thread that logs the second one
 *
 * Fills the pipe for QEMU's log, because a thread is held while its log line
 * does not fit in the pipe. If @second is true, leaves 64 bytes free. In this
 * case, each log line must have 33 to 64 bytes, so that one line fits but not
 * two. qvgpu_hold_logged() checks the length of the first line.
 */
void qvgpu_hold_arm(QVGPUHold *h, QVGPU *v, const char *event, bool second);
/*
 * Return true if an event has been logged since qvgpu_hold_arm(). The caller
 * has called qvgpu_hold_arm() with @second set.
 */
bool qvgpu_hold_logged(QVGPUHold *h);
/*
 * Empty the log pipe. Held threads continue, and no thread is held until
 * further log lines have filled the pipe. Returns the number of lines that were
 * in the pipe.
 */
unsigned qvgpu_hold_release(QVGPUHold *h);
/*
 * Start a thread that calls qvgpu_hold_release() in 0.2 s. The test then sends
 * a command that must wait for the held thread, and calls qvgpu_hold_waited().
 */
void qvgpu_hold_release_later(QVGPUHold *h);
/*
 * Call when the test's command has completed. Returns true if the 0.2 s of
 * qvgpu_hold_release_later() were over before this call. The test takes this as
 * proof that the command has waited for the held thread. (On a slow host, the
 * command may need 0.2 s without a wait.) Joins the thread of
 * qvgpu_hold_release_later().
 */
bool qvgpu_hold_waited(QVGPUHold *h);

/*
 * Switch off the interrupts of retry faults, kick @q, and hold the engine
 * within one access. The next packet of @q must fault at each retry.
 *
 * In an access that faults without an interrupt, the engine logs two trace
 * events: first the fault, then the stall. The log pipe has space for only one
 * event. On return, the engine is therefore held where it logs the stall.
 */
void qvgpu_hold_access(QVGPUHold *h, QVGPUSdma *q);
/*
 * Check that a command to QEMU has waited for the engine held by
 * qvgpu_hold_access(). Before the command, the test has called
 * qvgpu_hold_release_later(). The test calls this function after the command,
 * and fails if the command completed before the release (qvgpu_hold_waited()).
 * Disables the trace events that qvgpu_hold_access() enabled.
 */
void qvgpu_hold_access_end(QVGPUHold *h, QVGPU *v);
/*
 * Remove the device by surprise. Hold the main loop while it removes the VRAM
 * from BAR 0. During the hold, the CP raises @interrupts interrupts. Then
 * release the main loop, and wait until the removal is complete.
 */
void qvgpu_hold_removal(QVGPUHold *h, QVGPU *v, unsigned interrupts);

/* Enable or disable the trace events that match @event. */
void qvgpu_trace(QVGPU *v, const char *event, bool enable);

#endif /* VGPU_TEST_HOLD_H */
