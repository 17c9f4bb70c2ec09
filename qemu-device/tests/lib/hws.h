/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Test-side driver of vgpu-kfd: the hardware scheduler. Brings up KIQ and HIQ,
 * and builds run lists, as KFD does.
 */
#ifndef VGPU_TEST_HWS_H
#define VGPU_TEST_HWS_H

#include "tests/qtest/vgpu-kfd/lib/compute-queue.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"
#include "tests/qtest/vgpu-kfd/lib/sdma-queue.h"

#define QVGPU_HWS_VMIDS     0xff00u         /* KFD's part of them */
#define QVGPU_HWS_LIST      (32 * KiB)      /* bytes */

typedef struct QVGPUHws {
    QVGPU *v;
    QVGPUCompute kiq, hiq;
    uint64_t fence;             /* QUERY_STATUS writes there */
    uint64_t fences;            /* how often it did */
    uint64_t list;              /* CPU address */
    uint32_t dwords;            /* in the list so far */
} QVGPUHws;

/* Where a process's memory is, without a VMID: the scheduler chooses it. */
typedef struct QVGPUProcess {
    QVGPUSpace space;
    unsigned pasid;
    uint32_t sh_mem_config;
    unsigned num_gws;
} QVGPUProcess;

/* A compute queue of a process, with an MQD instead of an HQD. */
typedef struct QVGPUUserCompute {
    QVGPUCompute c;             /* c.me and so on mean nothing */
    uint64_t mqd;               /* CPU address */
    bool gws;                   /* its waves use GWS */
} QVGPUUserCompute;

/* An SDMA queue of a process, with an MQD. */
typedef struct QVGPUUserSdma {
    QVGPUSdma q;                /* q.index means nothing */
    uint64_t mqd;               /* CPU address */
    uint64_t wptr_mem, wptr_va;
} QVGPUUserSdma;

/*
 * VMIDs 8-15 enabled in both hubs, KIQ, HIQ; nothing is given to the scheduler
 * yet.
 */
void qvgpu_hws_init(QVGPUHws *h, QVGPU *v);
void qvgpu_hws_resources(QVGPUHws *h, uint32_t vmids, uint64_t queues);
/* The same with resources of GWS, a bit each. */
void qvgpu_hws_resources_gws(QVGPUHws *h, uint32_t vmids, uint64_t queues,
                             uint64_t gws);
/* Wait until HIQ has done all its packets: a fence says so. */
void qvgpu_hws_sync(QVGPUHws *h);
void qvgpu_hws_unmap(QVGPUHws *h, unsigned action, unsigned sel,
                     uint32_t what);

/* Write to @mqd, a CPU address, what KFD writes into the MQD of @c. */
void qvgpu_mqd_fill(QVGPUCompute *c, uint64_t mqd);
void qvgpu_process_init(QVGPUProcess *p, QVGPU *v, unsigned pasid);
void qvgpu_user_compute_init(QVGPUUserCompute *q, QVGPU *v, QVGPUProcess *p,
                             unsigned number);
/* Write the pointer to memory, and ring. */
void qvgpu_user_compute_kick(QVGPUUserCompute *q);
/* Wait until rptr is reported to be where wptr is. */
void qvgpu_user_compute_finish(QVGPUUserCompute *q);
/* A dword of the HQD's image in the MQD. */
uint32_t qvgpu_mqd_rd(QVGPUUserCompute *q, unsigned reg);

void qvgpu_user_sdma_init(QVGPUUserSdma *u, QVGPU *v, QVGPUSpace *s,
                          unsigned engine, unsigned number);
void qvgpu_user_sdma_kick(QVGPUUserSdma *u);
void qvgpu_user_sdma_finish(QVGPUUserSdma *u);
/* The MAP_QUEUES of it: seven dwords. */
void qvgpu_user_sdma_map(QVGPUUserSdma *u, unsigned type, uint32_t *dw);

/* Begin a list; what it holds; run it. */
void qvgpu_list_begin(QVGPUHws *h);
void qvgpu_list_emit(QVGPUHws *h, const uint32_t *dw, unsigned n);
void qvgpu_list_process(QVGPUHws *h, QVGPUProcess *p, unsigned ms);
void qvgpu_list_compute(QVGPUHws *h, QVGPUUserCompute *q, unsigned type);
void qvgpu_list_sdma(QVGPUHws *h, QVGPUUserSdma *u);
/* The list's last packet sends the scheduler to its first again. */
void qvgpu_list_chain(QVGPUHws *h);
void qvgpu_list_run(QVGPUHws *h, unsigned processes);

#endif /* VGPU_TEST_HWS_H */
