/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: workloads that the tests inject errors into. */
#ifndef VGPU_TEST_WORKLOADS_H
#define VGPU_TEST_WORKLOADS_H

#include "tests/qtest/vgpu-kfd/lib/device.h"

#define WORKLOAD_VMID   5
#define WORKLOAD_VA     UINT64_C(0x400000000000)
#define WORKLOAD_PAGES  24

/*
 * What a workload sees goes into @log, nothing that depends on the time does.
 */
typedef struct Workload {
    QVGPU *v;
    GString *log;
    uint64_t src, dst;          /* pages of VRAM, WORKLOAD_PAGES each */
    uint32_t id;                /* of the injection; 0: not injected yet */
    const char *members;        /* of the injection, without its seed */
    unsigned seed;
} Workload;

/* The occasions come from here on. */
void workload_inject(Workload *r);

/* Each does the same work however often it is called. */
/* Translate, change entries, invalidate. */
void workload_pages_vmid(Workload *r);
void workload_pages_gart(Workload *r);
/* Packets, until the engine hangs. */
void workload_fences(Workload *r);
/* Copy src, which has a pattern, to dst, over errors. */
void workload_copies(Workload *r);
/* The same, a dword a page, by the CP. */
void workload_compute(Workload *r);
void workload_doorbells(Workload *r);
/* Retry faults, one after the other. */
void workload_faults(Workload *r);
/* Interrupts. */
void workload_traps(Workload *r);
void workload_invalidations(Workload *r);
/* For what happens at once. */
void workload_nothing(Workload *r);
void workload_resets(Workload *r);
/* The VRAM of a second device. */
void workload_peer(Workload *r);

/* Log and drop the interrupt entries that are there. */
void workload_log_irqs(Workload *r);
/* Log all of src and dst. */
void workload_log_memory(Workload *r);

#endif /* VGPU_TEST_WORKLOADS_H */
