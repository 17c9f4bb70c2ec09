/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Test-side driver of vgpu-kfd: compute queues. Programs an HQD as amdgpu does
 * without a hardware scheduler.
 */
#ifndef VGPU_QOS_CP_H
#define VGPU_QOS_CP_H

#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"
#include "vgpu/cp.h"
#include "vgpu/pm4.h"

/* A compute queue. Fields may be changed between init and load. */
typedef struct QVGPUCompute {
    QVGPU *v;
    QVGPUSpace *space;          /* NULL: VMID 0, privileged */
    unsigned me, pipe, queue;
    uint32_t control;           /* CP_HQD_PQ_CONTROL */
    uint32_t aql;               /* CP_HQD_AQL_CONTROL */
    uint64_t ring, ring_va;     /* CPU and GPU address */
    uint64_t dwords;
    uint64_t rptr, rptr_va;     /* where the device reports it */
    uint64_t wptr_mem, wptr_va; /* where the device polls it */
    uint64_t wptr;              /* dwords emitted so far */
    uint32_t doorbell;          /* byte offset in BAR 2 */
} QVGPUCompute;

/*
 * The GFX hub as the MM hub: call it after spaces and VMID 0 are set up. Gives
 * VMIDs a PASID and lets pipes interrupt.
 */
void qvgpu_cp_setup(QVGPU *v);
/* Registers of the GFX hub. */
void qvgpu_gfx_wr(QVGPU *v, uint32_t reg, uint32_t val);
uint32_t qvgpu_gfx_rd(QVGPU *v, uint32_t reg);
/* Drop translations of the GFX hub. */
void qvgpu_gfx_invalidate(QVGPU *v, uint32_t vmids);

/* A queue with a ring of 4 KiB in guest RAM; not written to the device yet. */
void qvgpu_compute_init(QVGPUCompute *c, QVGPU *v, unsigned me, unsigned pipe,
                        unsigned queue, QVGPUSpace *s);
void qvgpu_compute_load(QVGPUCompute *c);
/* Address of memory in the queue's VMID. */
uint64_t qvgpu_compute_place(QVGPUCompute *c, uint64_t addr, uint64_t len);
/* HQD registers; select the queue first. */
uint32_t qvgpu_hqd_rd(QVGPUCompute *c, unsigned reg);
void qvgpu_hqd_wr(QVGPUCompute *c, unsigned reg, uint32_t val);
/* Dequeue and wait until it is. */
void qvgpu_compute_dequeue(QVGPUCompute *c);

void qvgpu_pm4(QVGPUCompute *c, const uint32_t *dw, unsigned n);
/* A packet by opcode and what follows the header. */
#define QVGPU_PM4(c, op, ...)                                           \
    do {                                                                \
        const uint32_t dw_[] = { 0, __VA_ARGS__ };                      \
        uint32_t pkt_[ARRAY_SIZE(dw_)];                                 \
        memcpy(pkt_, dw_, sizeof(dw_));                                 \
        pkt_[0] = PM4_HEADER(op, ARRAY_SIZE(dw_));                      \
        qvgpu_pm4(c, pkt_, ARRAY_SIZE(dw_));                            \
    } while (0)
/* Write one dword. */
void qvgpu_pm4_write(QVGPUCompute *c, uint64_t va, uint32_t val);
/* Ring the doorbell. */
void qvgpu_compute_kick(QVGPUCompute *c);
/* Kick; wait until rptr is reported to be where wptr is. */
void qvgpu_compute_finish(QVGPUCompute *c);
/* The next interrupt is this, of this queue. */
void qvgpu_compute_irq(QVGPUCompute *c, unsigned source, uint32_t data0);

/* Added with those of HQDs. */

#endif /* VGPU_QOS_CP_H */
