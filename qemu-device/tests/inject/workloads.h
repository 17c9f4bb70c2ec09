/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: workloads for the tests of injections. */
#ifndef VGPU_TEST_WORKLOADS_H
#define VGPU_TEST_WORKLOADS_H

#include "tests/qtest/vgpu-kfd/lib/device.h"

#define WORKLOAD_VMID   5
#define WORKLOAD_VA     UINT64_C(0x400000000000)
#define WORKLOAD_PAGES  24

/*
 * A workload and its machine. @log receives observations that do not depend on
 * time.
 */
typedef struct Workload {
    QVGPU *v;
    GString *log;
    uint64_t src, dst;          /* buffers of WORKLOAD_PAGES pages in VRAM */
    uint32_t id;                /* id of the injection; 0: not armed yet */
    /* Number of events that the injection acted on before the last reset. */
    uint64_t before_reset;
    const char *members;        /* arguments of vgpu-inject, without seed */
    unsigned seed;
} Workload;

/* Arm the injection, which ignores all events before this call. */
void workload_inject(Workload *r);

/* The workloads follow. Each does the same work in every run. */
/*
 * Translate pages, change their page-table entries and invalidate the TLB.
 * workload_pages_vmid() uses WORKLOAD_VMID, workload_pages_gart() the GART.
 */
void workload_pages_vmid(Workload *r);
void workload_pages_gart(Workload *r);
/* Run WORKLOAD_PAGES fence packets, or fewer if the engine hangs. */
void workload_fences(Workload *r);
/* Copy src, which holds a pattern, to dst. Continues after errors. */
void workload_copies(Workload *r);
/* As workload_copies(), with the CP. Copies one dword of each page. */
void workload_compute(Workload *r);
/* Run one packet for each doorbell write. Log RB_WPTR after each packet. */
void workload_doorbells(Workload *r);
/* Cause retry faults, one after the other. */
void workload_faults(Workload *r);
/* Raise interrupts. */
void workload_traps(Workload *r);
/*
 * Request TLB invalidations, and wait for each acknowledge. Do not wait if the
 * injection has fired for the request, because it may suppress the acknowledge.
 */
void workload_invalidations(Workload *r);
/*
 * Arm an injection that acts immediately. Run nothing else. Log the pending
 * interrupts, or that the device is gone.
 */
void workload_nothing(Workload *r);
/* Several times: reset the machine, and log a checksum of src. */
void workload_resets(Workload *r);
/* Copy from the VRAM of a second device. */
void workload_peer(Workload *r);

/* Log and take the pending interrupt entries. */
void workload_log_irqs(Workload *r);
/* Log checksums of src and dst. */
void workload_log_memory(Workload *r);

#endif /* VGPU_TEST_WORKLOADS_H */
