/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Test-side runs of vgpu-kfd that injections are let loose on. */
#ifndef VGPU_TEST_WORKLOADS_H
#define VGPU_TEST_WORKLOADS_H

#include "tests/qtest/vgpu-kfd/lib/device.h"

#define RUN_VMID    5
#define RUN_VA      UINT64_C(0x400000000000)
#define RUN_PAGES   24

/* A run. What it sees goes into @log, nothing that depends on the time does. */
typedef struct Run {
    QVGPU *v;
    GString *log;
    uint64_t src, dst;          /* RUN_PAGES of VRAM each; src: a pattern */
    uint32_t id;                /* of the injection; 0: not injected yet */
    const char *members;        /* of the injection, without its seed */
    unsigned seed;
} Run;

/* The occasions come from here on. */
void run_inject(Run *r);

/* Each does the same work however often it is called. */
void run_pages_vmid(Run *r);    /* translate, change entries, invalidate */
void run_pages_gart(Run *r);
void run_fences(Run *r);        /* packets, until the engine hangs */
void run_copies(Run *r);        /* out of src into dst, over errors */
void run_compute(Run *r);       /* the same, a dword a page, by the CP */
void run_doorbells(Run *r);
void run_faults(Run *r);        /* retry faults, one after the other */
void run_traps(Run *r);         /* interrupts */
void run_invalidations(Run *r);
void run_nothing(Run *r);       /* for what happens at once */
void run_resets(Run *r);
void run_peer(Run *r);          /* the VRAM of a second device */

/* Interrupt entries that are there, forgetting them. */
void run_log_irqs(Run *r);
/* All of src and dst. */
void run_log_memory(Run *r);

#endif /* VGPU_TEST_WORKLOADS_H */
