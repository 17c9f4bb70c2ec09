/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Test-side driver of vgpu-kfd: starts the hardware scheduler (KIQ and HIQ),
 * and builds run lists, as KFD does.
 */
#ifndef VGPU_TEST_HWS_H
#define VGPU_TEST_HWS_H

#include "tests/qtest/vgpu-kfd/lib/compute-queue.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"
#include "tests/qtest/vgpu-kfd/lib/sdma-queue.h"

#define QVGPU_HWS_VMIDS     0xff00u         /* VMIDs that KFD uses */
#define QVGPU_HWS_LIST      (32 * KiB)      /* bytes for a run list */

typedef struct QVGPUHws {
    QVGPU *v;
    QVGPUCompute kiq, hiq;
    uint64_t fence;             /* CPU address that QUERY_STATUS writes */
    uint64_t fences;            /* number of fences emitted so far */
    uint64_t list;              /* CPU address of the run list */
    uint32_t dwords;            /* dwords of the run list so far */
} QVGPUHws;

/* A process's address space, without a VMID: the scheduler assigns one. */
typedef struct QVGPUProcess {
    QVGPUSpace space;
    unsigned pasid;
    uint32_t sh_mem_config;
    unsigned num_gws;
} QVGPUProcess;

/* A compute queue of a process, with an MQD. The scheduler assigns an HQD. */
typedef struct QVGPUUserCompute {
    QVGPUCompute c;             /* c.me, c.pipe and c.queue are not used */
    uint64_t mqd;               /* CPU address of the MQD */
    bool gws;                   /* whether the queue's waves use GWS */
} QVGPUUserCompute;

/* An SDMA queue that the scheduler of the CP maps. */
typedef struct QVGPUUserSdma {
    QVGPUSdma q;                /* q.index is not used */
    uint64_t mqd;               /* CPU address of the MQD */
    uint64_t wptr_mem, wptr_va; /* CPU and GPU address of the polled wptr */
} QVGPUUserSdma;

/*
 * Enable VMIDs 8-15 in both hubs, load KIQ and map HIQ. Call
 * qvgpu_hws_resources() next, because the scheduler does not have VMIDs or HQDs
 * before that call.
 */
void qvgpu_hws_init(QVGPUHws *h, QVGPU *v);
/*
 * Emit SET_RESOURCES to HIQ. @vmids and @queues are bit masks of the VMIDs and
 * HQDs that the scheduler may use.
 */
void qvgpu_hws_resources(QVGPUHws *h, uint32_t vmids, uint64_t queues);
/*
 * As qvgpu_hws_resources(). @gws is a bit mask of the GWS resources that the
 * scheduler may use.
 */
void qvgpu_hws_resources_gws(QVGPUHws *h, uint32_t vmids, uint64_t queues,
                             uint64_t gws);
/*
 * Emit a fence to HIQ and wait until it is written. HIQ has then executed all
 * earlier packets.
 */
void qvgpu_hws_sync(QVGPUHws *h);
/*
 * Emit UNMAP_QUEUES to HIQ with @action (PM4_UNMAP_*), for the queues that
 * selector @sel selects with its operand @what.
 */
void qvgpu_hws_unmap(QVGPUHws *h, unsigned action, unsigned sel,
                     uint32_t what);

/* Write the HQD image of @c to the MQD at CPU address @mqd, as KFD does. */
void qvgpu_mqd_fill(QVGPUCompute *c, uint64_t mqd);
/* Set up a process with an empty page table in guest RAM. */
void qvgpu_process_init(QVGPUProcess *p, QVGPU *v, unsigned pasid);
/* Set up a queue of @p that uses the user doorbell @number. */
void qvgpu_user_compute_init(QVGPUUserCompute *q, QVGPU *v, QVGPUProcess *p,
                             unsigned number);
/* Write wptr to memory, where the device polls it, and ring the doorbell. */
void qvgpu_user_compute_kick(QVGPUUserCompute *q);
/* Wait until the reported rptr equals wptr. */
void qvgpu_user_compute_finish(QVGPUUserCompute *q);
/* Read a register from the HQD image in the MQD. */
uint32_t qvgpu_mqd_rd(QVGPUUserCompute *q, unsigned reg);

/*
 * Set up an SDMA queue of @engine in address space @s, with user doorbell
 * @number.
 */
void qvgpu_user_sdma_init(QVGPUUserSdma *u, QVGPU *v, QVGPUSpace *s,
                          unsigned engine, unsigned number);
void qvgpu_user_sdma_kick(QVGPUUserSdma *u);
void qvgpu_user_sdma_finish(QVGPUUserSdma *u);
/*
 * Write the queue's MAP_QUEUES packet, seven dwords, to @dw. @type is a value
 * of PM4_MAP_DW1__QUEUE_TYPE.
 */
void qvgpu_user_sdma_map(QVGPUUserSdma *u, unsigned type, uint32_t *dw);

/*
 * Start an empty list. The caller then adds each process with its queues, and
 * calls qvgpu_list_run().
 */
void qvgpu_list_begin(QVGPUHws *h);
/* Append @n dwords. The list must not exceed QVGPU_HWS_LIST bytes. */
void qvgpu_list_emit(QVGPUHws *h, const uint32_t *dw, unsigned n);
/* Add a process with a time slice of @ms milliseconds. */
void qvgpu_list_process(QVGPUHws *h, QVGPUProcess *p, unsigned ms);
/*
 * Add a queue to the process that was added last. @type is a value of
 * PM4_MAP_DW1__QUEUE_TYPE.
 */
void qvgpu_list_compute(QVGPUHws *h, QVGPUUserCompute *q, unsigned type);
/* Add an SDMA queue to the process that was added last. */
void qvgpu_list_sdma(QVGPUHws *h, QVGPUUserSdma *u);
/*
 * End the list with a chain packet to its start. Call before qvgpu_list_run().
 */
void qvgpu_list_chain(QVGPUHws *h);
/* Submit the list to HIQ. @processes is the process count in RUN_LIST. */
void qvgpu_list_run(QVGPUHws *h, unsigned processes);

#endif /* VGPU_TEST_HWS_H */
