/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Test-side driver of vgpu-kfd: sets up compute queues and emits PM4 packets.
 * Programs an HQD as amdgpu does without a hardware scheduler.
 */
#ifndef VGPU_TEST_COMPUTE_QUEUE_H
#define VGPU_TEST_COMPUTE_QUEUE_H

#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"
#include "vgpu/cp.h"
#include "vgpu/pm4.h"

/*
 * A compute queue. Tests may change fields after qvgpu_compute_init() and
 * before qvgpu_compute_load().
 */
typedef struct QVGPUCompute {
    QVGPU *v;
    QVGPUSpace *space;          /* NULL for a privileged queue of VMID 0 */
    unsigned me, pipe, queue;
    uint32_t control;           /* CP_HQD_PQ_CONTROL */
    uint32_t aql;               /* CP_HQD_AQL_CONTROL */
    uint64_t ring, ring_va;     /* CPU and GPU address of the ring */
    uint64_t dwords;            /* ring size, a power of two */
    uint64_t rptr, rptr_va;     /* CPU and GPU address of the reported rptr */
    uint64_t wptr_mem, wptr_va; /* CPU and GPU address of the polled wptr */
    uint64_t wptr;              /* dwords emitted so far */
    uint32_t doorbell;          /* byte offset in BAR 2 */
} QVGPUCompute;

/*
 * Call after the test has set up its VMIDs, also VMID 0, in the MM hub. Copies
 * this set-up to the GFX hub, sets PASIDs, enables pipe interrupts.
 */
void qvgpu_cp_setup(QVGPU *v);
/* Read and write registers of the GFX hub. */
void qvgpu_gfx_wr(QVGPU *v, uint32_t reg, uint32_t val);
uint32_t qvgpu_gfx_rd(QVGPU *v, uint32_t reg);
/*
 * Invalidate all translations of the VMIDs in bit mask @vmids in the GFX hub,
 * and wait for the acknowledge.
 */
void qvgpu_gfx_invalidate(QVGPU *v, uint32_t vmids);

/* Initialise @c with a ring of 4 KiB in guest RAM. Does not write the HQD. */
void qvgpu_compute_init(QVGPUCompute *c, QVGPU *v, unsigned me, unsigned pipe,
                        unsigned queue, QVGPUSpace *s);
/*
 * Write the queue to its HQD and activate it. wptr is c->wptr, and rptr is
 * c->wptr modulo the ring size, so that the ring is empty.
 */
void qvgpu_compute_load(QVGPUCompute *c);
/*
 * Initialise and load a queue of VMID 0. The ring is in VRAM, and the queue
 * does not report rptr. Call qvgpu_cp_setup() first.
 */
void qvgpu_compute_open_vram(QVGPUCompute *c, QVGPU *v);
/*
 * Return a GPU address with which the queue can access the @len bytes at CPU
 * address @addr. If the queue has an address space, map the returned address.
 */
uint64_t qvgpu_compute_place(QVGPUCompute *c, uint64_t addr, uint64_t len);
/*
 * Read and write a register of the queue's HQD. @reg is an offset from CP_HQD.
 */
uint32_t qvgpu_hqd_rd(QVGPUCompute *c, unsigned reg);
void qvgpu_hqd_wr(QVGPUCompute *c, unsigned reg, uint32_t val);
/* Request a dequeue and wait until the HQD is inactive. */
void qvgpu_compute_dequeue(QVGPUCompute *c);

/* Put @n dwords into the ring. The device reads them only after a kick. */
void qvgpu_pm4(QVGPUCompute *c, const uint32_t *dw, unsigned n);
/*
 * Emit a packet with opcode @op. The other arguments are the dwords after the
 * packet's header.
 */
#define QVGPU_PM4(c, op, ...)                                           \
    do {                                                                \
        const uint32_t dw_[] = { 0, __VA_ARGS__ };                      \
        uint32_t pkt_[ARRAY_SIZE(dw_)];                                 \
        memcpy(pkt_, dw_, sizeof(dw_));                                 \
        pkt_[0] = PM4_HEADER(op, ARRAY_SIZE(dw_));                      \
        qvgpu_pm4(c, pkt_, ARRAY_SIZE(dw_));                            \
    } while (0)
/* Emit a write of one dword to GPU address @va. */
void qvgpu_pm4_write(QVGPUCompute *c, uint64_t va, uint32_t val);
/*
 * Emit a packet that raises an interrupt with @context when all earlier packets
 * are done.
 */
void qvgpu_pm4_interrupt(QVGPUCompute *c, uint32_t context);
/* Write c->wptr to the doorbell. */
void qvgpu_compute_kick(QVGPUCompute *c);
/* Kick, and wait until the reported rptr equals wptr. */
void qvgpu_compute_finish(QVGPUCompute *c);
/*
 * Wait for the next interrupt entry. Fail the test unless the entry has
 * @source, @data0, and the ME, pipe, queue number, VMID and PASID of @c.
 */
void qvgpu_compute_irq(QVGPUCompute *c, unsigned source, uint32_t data0);

/*
 * A gate: packets that a queue of VMID 0 executes in a loop until the test
 * opens the gate.
 */
#define QVGPU_GATE_BYTES    256

/*
 * Unlike WAIT_REG_MEM, a gate's loop also runs while the virtual clock stands
 * still, and while the main loop is held (lib/hold.h).
 */
typedef struct QVGPUGate {
    uint32_t *words;            /* the test's CPU mapping of the gate */
    /* Low half of the GPU address to which the open gate jumps. */
    uint32_t out;
} QVGPUGate;

/*
 * Write a gate to VRAM, and emit a packet that executes the gate.
 *
 * @va: GPU address of QVGPU_GATE_BYTES of VRAM
 * @words: the test's mapping of @va (qvgpu_hold_page())
 * @reg: register to read in each round, or 0
 */
void qvgpu_gate_emit(QVGPUGate *g, QVGPUCompute *c, uint64_t va,
                     uint32_t *words, uint32_t reg);
/* Let the queue leave the loop of its gate. */
void qvgpu_gate_open(QVGPUGate *g);
/*
 * Return the value that the gate's loop last read from its register, or 0
 * before the first read. The register is an argument of qvgpu_gate_emit().
 */
uint32_t qvgpu_gate_reg(QVGPUGate *g);
/* Emit NOPs whose execution takes longer than one time slice. */
void qvgpu_compute_pass_timeslice(QVGPUCompute *c);

#endif /* VGPU_TEST_COMPUTE_QUEUE_H */
