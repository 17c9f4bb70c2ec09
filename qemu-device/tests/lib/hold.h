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
    pid_t qemu;                 /* QEMU's process */
    /* Id of the thread that calls qvgpu_hold_release_later(); atomic. */
    int caller;
    bool released;              /* set by the thread @later; atomic */
    bool returned;              /* the command has returned; atomic */
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
 * @second: hold at the second event instead of the first
 *
 * A thread is held when its log line does not fit in the log pipe. If @second
 * is true, the pipe has 64 bytes free. Each log line must then have 33 to 64
 * bytes, so that the first line fits and the second does not.
 */
void qvgpu_hold_arm(QVGPUHold *h, QVGPU *v, const char *event, bool second);
/*
 * Return true if an event has been logged since qvgpu_hold_arm(). The caller
 * has called qvgpu_hold_arm() with @second set.
 */
bool qvgpu_hold_logged(QVGPUHold *h);
/*
 * Empty the log pipe; held threads continue. No thread is held until the pipe
 * is full again. Returns the number of lines removed.
 */
unsigned qvgpu_hold_release(QVGPUHold *h);
/*
 * Start a thread that calls qvgpu_hold_release() when a command waits. The test
 * then sends a command that must wait for the held thread, and calls
 * qvgpu_hold_waited().
 *
 * The command waits if the calling thread and all threads of QEMU sleep at the
 * same time: the command has not been answered, and no thread of QEMU is about
 * to answer it.
 */
void qvgpu_hold_release_later(QVGPUHold *h, QVGPU *v);
/*
 * Join the thread of qvgpu_hold_release_later(). Call this after the command
 * that must wait for the held thread. Returns false if the command has returned
 * without a wait.
 */
bool qvgpu_hold_waited(QVGPUHold *h);

/*
 * Kick @q, and hold the engine within one memory access. The next packet of @q
 * must have a retry fault: the engine logs this fault, and the full log pipe
 * blocks the engine. Disables the interrupts of retry faults.
 */
void qvgpu_hold_access(QVGPUHold *h, QVGPUSdma *q);
/*
 * Fail the test unless an operation (QMP, register or PCI access) has waited
 * for the engine held by qvgpu_hold_access(). The test calls
 * qvgpu_hold_release_later(), starts the operation, and then calls
 * qvgpu_hold_access_end(). Disables the trace events.
 */
void qvgpu_hold_access_end(QVGPUHold *h, QVGPU *v);
/*
 * Do a complete surprise removal, but hold the main loop at the point where
 * VRAM is removed from BAR 0. The main loop continues when the CP has raised
 * @interrupts interrupts.
 */
void qvgpu_hold_removal(QVGPUHold *h, QVGPU *v, unsigned interrupts);

/* Enable or disable the trace events that match @event. */
void qvgpu_trace(QVGPU *v, const char *event, bool enable);

#endif /* VGPU_TEST_HOLD_H */
