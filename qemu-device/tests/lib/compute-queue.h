/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Test-side driver of vgpu-kfd: compute queues. Programs an HQD as amdgpu does
 * without a hardware scheduler.
 */
#ifndef VGPU_TEST_COMPUTE_QUEUE_H
#define VGPU_TEST_COMPUTE_QUEUE_H

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
/*
 * A queue of VMID 0 whose memory is all VRAM, loaded. rptr is not reported.
 * Call qvgpu_cp_setup() first.
 */
void qvgpu_compute_open_vram(QVGPUCompute *c, QVGPU *v);
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
/* Interrupt with @context, when everything before is done. */
void qvgpu_pm4_interrupt(QVGPUCompute *c, uint32_t context);
/* Ring the doorbell. */
void qvgpu_compute_kick(QVGPUCompute *c);
/* Kick; wait until rptr is reported to be where wptr is. */
void qvgpu_compute_finish(QVGPUCompute *c);
/* The next interrupt is this, of this queue. */
void qvgpu_compute_irq(QVGPUCompute *c, unsigned source, uint32_t data0);

/*
 * A gate in a queue of VMID 0: packets that repeat themselves, with time slices
 * of other queues between, until the test opens it. It lies in VRAM that the
 * test shares (lib/hold.h) and needs neither virtual time, as WAIT_REG_MEM
 * does, nor the main loop, which may be held.
 */
#define QVGPU_GATE_BYTES    256

typedef struct QVGPUGate {
    uint32_t *words;            /* the test's mapping of the gate */
    uint32_t out;               /* where it leads when it is open */
} QVGPUGate;

/*
 * Emit a gate in QVGPU_GATE_BYTES of VRAM at the GPU address @va, which the
 * test sees at @words: qvgpu_hold_page(). @reg: a register of a hub, see
 * qvgpu_gate_reg(), or 0.
 */
void qvgpu_gate_emit(QVGPUGate *g, QVGPUCompute *c, uint64_t va,
                     uint32_t *words, uint32_t reg);
void qvgpu_gate_open(QVGPUGate *g);
/* What the queue in the gate read last from the gate's register; 0 at first. */
uint32_t qvgpu_gate_reg(QVGPUGate *g);
/* Packets without effect that take the queue more than one time slice. */
void qvgpu_compute_pass_timeslice(QVGPUCompute *c);

#endif /* VGPU_TEST_COMPUTE_QUEUE_H */
