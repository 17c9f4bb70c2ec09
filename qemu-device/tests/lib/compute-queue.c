/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Test-side driver of vgpu-kfd: sets up compute queues and emits PM4 packets.
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "qemu/bswap.h"
#include "qemu/host-utils.h"
#include "tests/qtest/vgpu-kfd/lib/compute-queue.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/ih.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"

#define INV_ENGINE      17

void qvgpu_gfx_wr(QVGPU *v, uint32_t reg, uint32_t val)
{
    qvgpu_wr(v, HUB(VGPU_HUB_GFX) + reg, val);
}

uint32_t qvgpu_gfx_rd(QVGPU *v, uint32_t reg)
{
    return qvgpu_rd(v, HUB(VGPU_HUB_GFX) + reg);
}

static void mirror(QVGPU *v, uint32_t first, uint32_t last)
{
    uint32_t reg;

    for (reg = first; reg <= last; reg++) {
        qvgpu_gfx_wr(v, reg, qvgpu_mm_rd(v, reg));
    }
}

void qvgpu_cp_setup(QVGPU *v)
{
    unsigned me, pipe, vmid;

    mirror(v, VM_CONTEXT_CNTL(0), VM_CONTEXT_CNTL(15));
    mirror(v, VM_CONTEXT_PAGE_TABLE_BASE_ADDR_LO32(0),
           VM_CONTEXT_PAGE_TABLE_END_ADDR_HI32(15));
    mirror(v, MC_VM_FB_OFFSET, MC_VM_FB_OFFSET);
    mirror(v, MC_VM_FB_LOCATION_BASE, MC_VM_SYSTEM_APERTURE_HIGH_ADDR);
    for (vmid = 1; vmid < VGPU_NUM_VMIDS; vmid++) {
        qvgpu_wr(v, IH_VMID_LUT(vmid), QVGPU_PASID(vmid));
    }
    for (me = 1; me <= CP_NUM_MECS; me++) {
        for (pipe = 0; pipe < CP_NUM_PIPES; pipe++) {
            qvgpu_wr(v, CP_PIPE_INT_CNTL(me, pipe), CP_INT_CNTL__TIME_STAMP |
                     CP_INT_CNTL__OPCODE_ERROR | CP_INT_CNTL__PRIV_REG);
        }
    }
    qvgpu_wr(v, CP_MEC_DOORBELL_RANGE_LOWER, 0);
    qvgpu_wr(v, CP_MEC_DOORBELL_RANGE_UPPER, 0xff8);
}

void qvgpu_gfx_invalidate(QVGPU *v, uint32_t vmids)
{
    qvgpu_gfx_wr(v, VM_INVALIDATE_ENG_ADDR_RANGE_LO32(INV_ENGINE), UINT32_MAX);
    qvgpu_gfx_wr(v, VM_INVALIDATE_ENG_ADDR_RANGE_HI32(INV_ENGINE), 0x1f);
    qvgpu_gfx_wr(v, VM_INVALIDATE_ENG_REQ(INV_ENGINE),
                 vmids | VM_INVALIDATE_ENG_REQ__L2_PTES |
                 VM_INVALIDATE_ENG_REQ__L2_PDE0 |
                 VM_INVALIDATE_ENG_REQ__L2_PDE1 |
                 VM_INVALIDATE_ENG_REQ__L2_PDE2 |
                 VM_INVALIDATE_ENG_REQ__L1_PTES);
    qvgpu_wait_until((qvgpu_gfx_rd(v, VM_INVALIDATE_ENG_ACK(INV_ENGINE)) &
                      vmids) == vmids);
}

uint64_t qvgpu_compute_place(QVGPUCompute *c, uint64_t addr, uint64_t len)
{
    return c->space ? qvgpu_space_place(c->space, addr, len)
                    : qvgpu_mc(c->v, addr);
}

static void select_queue(QVGPUCompute *c)
{
    qvgpu_wr(c->v, GRBM_GFX_CNTL, VGPU_PREP(GRBM_GFX_CNTL__MEID, c->me) |
             VGPU_PREP(GRBM_GFX_CNTL__PIPEID, c->pipe) |
             VGPU_PREP(GRBM_GFX_CNTL__QUEUEID, c->queue));
}

uint32_t qvgpu_hqd_rd(QVGPUCompute *c, unsigned reg)
{
    select_queue(c);
    return qvgpu_rd(c->v, CP_HQD + reg);
}

void qvgpu_hqd_wr(QVGPUCompute *c, unsigned reg, uint32_t val)
{
    select_queue(c);
    qvgpu_wr(c->v, CP_HQD + reg, val);
}

void qvgpu_compute_init(QVGPUCompute *c, QVGPU *v, unsigned me, unsigned pipe,
                        unsigned queue, QVGPUSpace *s)
{
    uint64_t page = qvgpu_alloc(v, QVGPU_RAM, QVGPU_PAGE, QVGPU_PAGE);
    uint64_t va;

    *c = (QVGPUCompute) {
        .v = v, .space = s, .me = me, .pipe = pipe, .queue = queue,
        .dwords = 1024,
        .control = VGPU_PREP(CP_HQD_PQ_CONTROL__QUEUE_SIZE, 9u) |
                   (s ? 0 : CP_HQD_PQ_CONTROL__PRIV_STATE),
        .doorbell = 0x4000 + 8 * (me * 32 + pipe * 8 + queue),
    };
    c->ring = qvgpu_alloc(v, QVGPU_RAM, c->dwords * 4, QVGPU_PAGE);
    c->ring_va = qvgpu_compute_place(c, c->ring, c->dwords * 4);
    va = qvgpu_compute_place(c, page, 16);
    c->rptr = page;
    c->rptr_va = va;
    c->wptr_mem = page + 8;
    c->wptr_va = va + 8;
}

void qvgpu_compute_load(QVGPUCompute *c)
{
    uint64_t wptr = c->wptr;

    select_queue(c);
    qvgpu_wr(c->v, CP_HQD + CP_HQD_VMID, c->space ? c->space->vmid : 0);
    qvgpu_wr(c->v, CP_HQD + CP_HQD_PQ_BASE, c->ring_va >> 8);
    qvgpu_wr(c->v, CP_HQD + CP_HQD_PQ_BASE_HI, c->ring_va >> 40);
    qvgpu_wr(c->v, CP_HQD + CP_HQD_PQ_RPTR, wptr & (c->dwords - 1));
    qvgpu_wr(c->v, CP_HQD + CP_HQD_PQ_RPTR_REPORT_ADDR, c->rptr_va);
    qvgpu_wr(c->v, CP_HQD + CP_HQD_PQ_RPTR_REPORT_ADDR_HI, c->rptr_va >> 32);
    qvgpu_wr(c->v, CP_HQD + CP_HQD_PQ_WPTR_POLL_ADDR, c->wptr_va);
    qvgpu_wr(c->v, CP_HQD + CP_HQD_PQ_WPTR_POLL_ADDR_HI, c->wptr_va >> 32);
    qvgpu_wr(c->v, CP_HQD + CP_HQD_PQ_CONTROL, c->control);
    qvgpu_wr(c->v, CP_HQD + CP_HQD_AQL_CONTROL, c->aql);
    qvgpu_wr(c->v, CP_HQD + CP_HQD_PQ_DOORBELL_CONTROL,
             CP_HQD_PQ_DOORBELL_CONTROL__EN | c->doorbell);
    qvgpu_wr(c->v, CP_HQD + CP_HQD_PQ_WPTR_LO, wptr);
    qvgpu_wr(c->v, CP_HQD + CP_HQD_PQ_WPTR_HI, wptr >> 32);
    qvgpu_wr(c->v, CP_HQD + CP_HQD_ACTIVE, CP_HQD_ACTIVE__ACTIVE);
}

void qvgpu_compute_open_vram(QVGPUCompute *c, QVGPU *v)
{
    qvgpu_compute_init(c, v, 1, 0, 0, NULL);
    c->ring = qvgpu_alloc(v, QVGPU_VRAM, c->dwords * 4, QVGPU_PAGE);
    c->ring_va = qvgpu_mc(v, c->ring);
    c->control |= CP_HQD_PQ_CONTROL__NO_UPDATE_RPTR;
    qvgpu_compute_load(c);
}

void qvgpu_compute_dequeue(QVGPUCompute *c)
{
    qvgpu_hqd_wr(c, CP_HQD_DEQUEUE_REQUEST, 1);
    qvgpu_wait_until(!qvgpu_hqd_rd(c, CP_HQD_ACTIVE));
}

void qvgpu_pm4(QVGPUCompute *c, const uint32_t *dw, unsigned n)
{
    unsigned i;

    for (i = 0; i < n; i++, c->wptr++) {
        qtest_writel(c->v->qts, c->ring + 4 * (c->wptr & (c->dwords - 1)),
                     dw[i]);
    }
}

void qvgpu_pm4_write(QVGPUCompute *c, uint64_t va, uint32_t val)
{
    QVGPU_PM4(c, PM4_WRITE_DATA,
              VGPU_PREP(PM4_WRITE_DATA_DW1__DST_SEL, PM4_DST_MEM),
              QVGPU_LO(va), QVGPU_HI(va), val);
}

void qvgpu_pm4_interrupt(QVGPUCompute *c, uint32_t context)
{
    QVGPU_PM4(c, PM4_RELEASE_MEM, 0,
              VGPU_PREP(PM4_RELEASE_DW2__INT_SEL, (uint32_t)PM4_INT_ONLY),
              0, 0, 0, 0, context);
}

void qvgpu_compute_kick(QVGPUCompute *c)
{
    qtest_writeq(c->v->qts, c->v->bar[VGPU_BAR_DOORBELL] + c->doorbell,
                 c->wptr);
}

void qvgpu_compute_finish(QVGPUCompute *c)
{
    qvgpu_compute_kick(c);
    qvgpu_wait_until(qtest_readl(c->v->qts, c->rptr) ==
                     (c->wptr & (c->dwords - 1)));
}

void qvgpu_compute_irq(QVGPUCompute *c, unsigned source, uint32_t data0)
{
    unsigned vmid = c->space ? c->space->vmid : 0;
    QVGPUIrq irq;

    qvgpu_ih_next(c->v, &irq);
    g_assert_cmphex(irq.client, ==, IH_CLIENT_CP);
    g_assert_cmpuint(irq.source, ==, source);
    g_assert_cmphex(irq.ring, ==, c->pipe | c->me << 2 | c->queue << 4);
    g_assert_cmpuint(irq.vmid, ==, vmid);
    g_assert_cmphex(irq.pasid, ==, vmid ? QVGPU_PASID(vmid) : 0);
    g_assert_false(irq.mm_hub);
    g_assert_cmphex(irq.data[0], ==, data0);
}

/* Layout of a gate: offsets from its start, in dwords. */
enum {
    /*
     * Packet that copies a register to the dword at GATE_REG. If parameter @reg
     * of qvgpu_gate_emit() is 0, this packet is a NOP.
     */
    GATE_COPY = 0,
    /* Packet that jumps to GATE_COPY or, when the gate is open, to GATE_OUT. */
    GATE_CHAIN = 6,
    GATE_LOOP_DWORDS = 10,      /* length of the two packets above */
    /*
     * NOP packet to which the open gate jumps. qvgpu_gate_open() changes only
     * the address in the jump packet. The length in the jump packet stays
     * GATE_LOOP_DWORDS, so the NOP must have this length.
     */
    GATE_OUT = 16,
    GATE_REG = 32,              /* dword to which GATE_COPY writes */
};

void qvgpu_gate_emit(QVGPUGate *g, QVGPUCompute *c, uint64_t va,
                     uint32_t *words, uint32_t reg)
{
    uint64_t seen = va + 4 * GATE_REG;
    const uint32_t control = GATE_LOOP_DWORDS | PM4_IB_DW3__VALID;
    const uint32_t copy[] = {
        PM4_HEADER(PM4_COPY_DATA, 6u), PM4_SRC_REG | PM4_DST_MEM << 8,
        reg, 0, QVGPU_LO(seen), QVGPU_HI(seen),
    };
    const uint32_t nothing[] = { PM4_HEADER(PM4_NOP, 6u) };
    const uint32_t chain[] = {
        PM4_HEADER(PM4_INDIRECT_BUFFER, 4u), QVGPU_LO(va), QVGPU_HI(va),
        control | PM4_IB_DW3__CHAIN,
    };
    unsigned i;

    g_assert(!c->space);
    *g = (QVGPUGate) { .words = words, .out = va + 4 * GATE_OUT };
    memset(words, 0, QVGPU_GATE_BYTES);
    for (i = 0; i < (reg ? ARRAY_SIZE(copy) : ARRAY_SIZE(nothing)); i++) {
        words[GATE_COPY + i] = cpu_to_le32(reg ? copy[i] : nothing[i]);
    }
    for (i = 0; i < ARRAY_SIZE(chain); i++) {
        words[GATE_CHAIN + i] = cpu_to_le32(chain[i]);
    }
    words[GATE_OUT] = cpu_to_le32(PM4_HEADER(PM4_NOP, GATE_LOOP_DWORDS));
    QVGPU_PM4(c, PM4_INDIRECT_BUFFER, QVGPU_LO(va), QVGPU_HI(va), control);
}

void qvgpu_gate_open(QVGPUGate *g)
{
    qatomic_set(&g->words[GATE_CHAIN + 1], cpu_to_le32(g->out));
}

uint32_t qvgpu_gate_reg(QVGPUGate *g)
{
    return le32_to_cpu(qatomic_read(&g->words[GATE_REG]));
}

void qvgpu_compute_pass_timeslice(QVGPUCompute *c)
{
    const uint32_t nop = 2u << 30;
    unsigned i;

    /*
     * A time slice has at most 256 steps, and each packet takes at least one
     * step. Therefore, 2 * 256 packets do not fit in one time slice.
     */
    for (i = 0; i < 2 * 256; i++) {
        qvgpu_pm4(c, &nop, 1);
    }
}
