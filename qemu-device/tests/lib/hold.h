/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Holds a thread of QEMU in a trace event, to fix the order of two threads that
 * race. QEMU's log is a pipe, and a write to the full pipe blocks. While the
 * main loop is held, QEMU serves neither qtest nor QMP.
 */
#ifndef VGPU_TEST_HOLD_H
#define VGPU_TEST_HOLD_H

#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/sdma-queue.h"

/* Argument @vram of qvgpu_start_sized(): the test shares VRAM with QEMU. */
#define QVGPU_HOLD_VRAM     "64M,memdev=vram"

typedef struct QVGPUHold {
    char *dir;                  /* directory of @log and @file */
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
 * @second: true: hold the thread that logs the second event; false: the first
 *
 * A thread is held when its log line does not fit in the log pipe. If @second
 * is true, the pipe has 64 bytes free on return. Each log line must then have
 * 33 to 64 bytes, so that the first line fits and the second does not.
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
 * qvgpu_hold_release_later() are over. This shows that the command has waited
 * for the held thread, unless the command takes 0.2 s anyway, on a slow host.
 * Joins the thread of qvgpu_hold_release_later().
 */
bool qvgpu_hold_waited(QVGPUHold *h);

/*
 * Kick @q, and hold the engine within one memory access. Precondition: the next
 * packet of @q has a retry fault at each try. This function switches off the
 * interrupts of retry faults. The engine then logs two events in the access:
 * - vgpu_fault_silent: the access has begun; this function waits for the event
 * - vgpu_stall: the log of this event holds the engine
 */
void qvgpu_hold_access(QVGPUHold *h, QVGPUSdma *q);
/*
 * Fail the test if a command to QEMU has not waited for the held engine. The
 * test calls, in this order:
 * - qvgpu_hold_access(), then qvgpu_hold_release_later()
 * - the command to check, for example a register write
 * - this function
 * Also disables the trace events that qvgpu_hold_access() enabled.
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
