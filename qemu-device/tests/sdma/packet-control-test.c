/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: tests the SDMA packets that skip other packets, access registers or
 * access clocks.
 */
#include "qemu/osdep.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/ih.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"
#include "tests/qtest/vgpu-kfd/lib/sdma-queue.h"
#include "tests/qtest/vgpu-kfd/sdma/suite.h"

#define VMID    6

static void pkt_cond(QVGPUSdma *q, uint64_t addr, uint32_t reference,
                     uint32_t count)
{
    QVGPU_EMIT(q, SDMA_PKT(SDMA_OP_COND_EXE, 0), QVGPU_LO(addr),
               QVGPU_HI(addr), reference, count);
}

static void pkt_srbm(QVGPUSdma *q, uint32_t reg, uint32_t val)
{
    QVGPU_EMIT(q, SDMA_PKT(SDMA_OP_SRBM_WRITE, 0) | SDMA_SRBM_WRITE__BYTE_EN,
               reg, val);
}

/*
 * Catches: the condition of COND_EXE is inverted; the count of dwords to skip
 * is off by one or includes the packet itself; skipped dwords are parsed.
 */
static void test_cond_exe(void)
{
    QVGPU *v = qvgpu_start();
    uint64_t at = qvgpu_ram_page(v), mc = qvgpu_mc(v, at);
    QVGPUSdma q;
    unsigned i;

    qvgpu_sdma_open(&q, v, 0, SDMA_QUEUE_GFX, NULL);
    for (i = 0; i < 200; i++) {
        uint32_t val = i & 1;

        qtest_writel(v->qts, at, 4 + val);
        qtest_writeq(v->qts, at + 8, 0);
        pkt_cond(&q, mc, 5, 4 + !val);
        qvgpu_pkt_fence(&q, mc + 8, 1);
        if (!val) {
            QVGPU_EMIT(&q, 0xffffffff);     /* would stop the queue if parsed */
        }
        qvgpu_pkt_fence(&q, mc + 12, 2);
        qvgpu_sdma_finish(&q);
        g_assert_cmphex(qtest_readl(v->qts, at + 8), ==, val);
        g_assert_cmphex(qtest_readl(v->qts, at + 12), ==, 2);
    }
    qvgpu_stop(v);
}

/*
 * Catches: COND_EXE skips past the write pointer, or past the end of an
 * indirect buffer; COND_EXE waits until the dwords to skip have arrived, but
 * does not read the condition again after the wait.
 */
static void test_cond_exe_in_parts(void)
{
    QVGPU *v = qvgpu_start();
    uint64_t at = qvgpu_ram_page(v), mc = qvgpu_mc(v, at), ib;
    uint32_t len;
    QVGPUSdma q, kq;

    qvgpu_sdma_open(&kq, v, 0, SDMA_QUEUE_GFX, NULL);
    qvgpu_sdma_open(&q, v, 0, SDMA_QUEUE_PAGE, NULL);
    pkt_cond(&q, mc, 1, 8);
    qvgpu_pkt_fence(&q, mc + 8, 1);
    qvgpu_sdma_kick(&q);
    qvgpu_sdma_pass(&kq);
    g_assert_false(qvgpu_sdma_idle(&q));
    g_assert_cmphex(qvgpu_sdma_rptr(&q), ==, 0);
    /*
     * COND_EXE applies to 8 dwords, and the engine waits, because only 4 have
     * arrived. The condition is false so far. Make the condition true before
     * the rest arrives: the engine must then execute all 8 dwords.
     */
    qtest_writel(v->qts, at, 1);
    qvgpu_pkt_fence(&q, mc + 12, 2);
    qvgpu_sdma_finish(&q);
    g_assert_cmphex(qtest_readl(v->qts, at + 8), ==, 1);
    g_assert_cmphex(qtest_readl(v->qts, at + 12), ==, 2);

    /*
     * Skip all dwords that follow COND_EXE in an indirect buffer. Then let
     * COND_EXE skip one dword more than the buffer has: this is an error.
     */
    qtest_writel(v->qts, at, 0);
    pkt_cond(&q, mc, 1, 4);
    qvgpu_pkt_fence(&q, mc + 8, 3);
    ib = qvgpu_sdma_to_buffer(&q, q.wptr - 36, &len);
    qvgpu_pkt_indirect(&q, 0, qvgpu_mc(v, ib), len);
    qvgpu_sdma_finish(&q);
    g_assert_cmphex(qtest_readl(v->qts, at + 8), ==, 1);
    qtest_writel(v->qts, ib + 16, 5);
    qvgpu_pkt_indirect(&q, 0, qvgpu_mc(v, ib), len);
    qvgpu_sdma_kick(&q);
    qvgpu_wait_until(qvgpu_sdma_exception(&q) == VGPU_SDMA_EXC_PACKET);
    qvgpu_stop(v);
}

/*
 * Catches: PRE_EXE does not skip packets for other devices; PRE_EXE skips
 * packets for this device.
 */
static void test_pre_exe(void)
{
    QVGPU *v = qvgpu_start();
    uint64_t at = qvgpu_ram_page(v), mc = qvgpu_mc(v, at);
    static const uint32_t devices[] = { 0, 1, 0xfe, 0xff };
    QVGPUSdma q;
    unsigned i;

    qvgpu_sdma_open(&q, v, 0, SDMA_QUEUE_GFX, NULL);
    for (i = 0; i < ARRAY_SIZE(devices); i++) {
        QVGPU_EMIT(&q, SDMA_PKT(SDMA_OP_PRE_EXE, 0) |
                   VGPU_PREP(SDMA_PRE_EXE__DEVICES, devices[i]), 4);
        qvgpu_pkt_fence(&q, mc + 8 * i, 1);
        qvgpu_pkt_fence(&q, mc + 8 * i + 4, 1);
        qvgpu_sdma_finish(&q);
        g_assert_cmphex(qtest_readl(v->qts, at + 8 * i), ==, devices[i] & 1);
        g_assert_cmphex(qtest_readl(v->qts, at + 8 * i + 4), ==, 1);
    }
    qvgpu_stop(v);
}

/*
 * Invalidate a page by packets, as amdgpu does. Catches: a register write is
 * done after later packets, or has no effect.
 */
static void test_srbm_write(void)
{
    QVGPU *v = qvgpu_start();
    const uint64_t va = 0x40000000;
    uint64_t a = qvgpu_ram_page(v), b = qvgpu_ram_page(v);
    uint64_t at = qvgpu_ram_page(v), slot;
    uint32_t mm = HUB(VGPU_HUB_MM);
    QVGPUSpace space;
    QVGPUSdma q;
    unsigned i;

    qvgpu_time_passes(v);
    qvgpu_space_init(&space, v, VMID, QVGPU_RAM);
    qvgpu_sdma_init(&q, v, 0, SDMA_QUEUE_GFX, &space);
    q.cntl |= SDMA_RB_CNTL__RB_PRIV;
    at = qvgpu_space_place(&space, at, QVGPU_PAGE);
    slot = qvgpu_space_slot(&space, va, VGPU_LEVEL_PTB);
    qvgpu_space_map(&space, va, a, QVGPU_PAGE);
    slot = qvgpu_space_place(&space, slot, 8);
    qvgpu_sdma_load(&q);
    qvgpu_wr(v, mm + VM_CONTEXT_PAGE_TABLE_END_ADDR_LO32(9), 0);
    for (i = 1; i <= 20; i++) {
        uint64_t page = i & 1 ? b : a;
        uint64_t pte = qvgpu_entry(v, page, QVGPU_PTE_RW);

        /*
         * The fence fills the TLB with the translation of va. The packet after
         * it replaces the PTE of va.
         */
        qvgpu_pkt_fence(&q, va, i);
        QVGPU_EMIT(&q, SDMA_PKT(SDMA_OP_WRITE, SDMA_SUBOP_WRITE_LINEAR),
                   QVGPU_LO(slot), QVGPU_HI(slot), 1, QVGPU_LO(pte),
                   QVGPU_HI(pte));
        pkt_srbm(&q, mm + VM_CONTEXT_PAGE_TABLE_END_ADDR_LO32(9), i);
        pkt_srbm(&q, mm + VM_INVALIDATE_ENG_ADDR_RANGE_LO32(3), va >> 11);
        pkt_srbm(&q, mm + VM_INVALIDATE_ENG_ADDR_RANGE_HI32(3), va >> 43);
        pkt_srbm(&q, mm + VM_INVALIDATE_ENG_REQ(3),
                 1u << VMID | VM_INVALIDATE_ENG_REQ__L1_PTES);
        QVGPU_EMIT(&q, SDMA_PKT(SDMA_OP_POLL_REGMEM, 0) |
                   VGPU_PREP(SDMA_POLL_REGMEM__FUNC, (uint32_t)QVGPU_POLL_EQ),
                   4 * (mm + VM_INVALIDATE_ENG_ACK(3)), 0, 1u << VMID,
                   1u << VMID,
                   VGPU_PREP(SDMA_POLL_REGMEM_DW5__RETRY, 0xfffu) | 10);
        /* This fence is after the acknowledge, so it must use the new page. */
        qvgpu_pkt_fence(&q, va + 8, i);
        qvgpu_sdma_finish(&q);
        g_assert_cmphex(qtest_readl(v->qts, page + 8), ==, i);
        g_assert_cmphex(qtest_readl(v->qts, page), !=, i);
        g_assert_cmphex(qvgpu_rd(v, mm +
                                 VM_CONTEXT_PAGE_TABLE_END_ADDR_LO32(9)), ==,
                        i);
    }
    qvgpu_stop(v);
}

/* Catches: SRBM_WRITE writes a register that is forbidden for SDMA rings. */
static void test_srbm_refused(void)
{
    static const uint32_t refused[] = {
        RCC_DOORBELL_APER_EN, SDMA_ENGINE(1) + SDMA_CNTL, IH_RB_CNTL,
        SDMA_ENGINE(0) + SDMA_QUEUE(2) + SDMA_RB_BASE, PCIE_INDEX2,
        HUB(VGPU_HUB_MM) + HUB_SPAN, HUB(VGPU_HUB_GFX) - 1, 0x3ffff,
    };
    QVGPU *v = qvgpu_start();
    QVGPUSdma q;
    unsigned i;

    qvgpu_sdma_open(&q, v, 1, SDMA_QUEUE_GFX, NULL);
    for (i = 0; i < ARRAY_SIZE(refused); i++) {
        uint32_t was = qvgpu_rd(v, refused[i]);
        QVGPUIrq irq;

        pkt_srbm(&q, refused[i], ~was);
        qvgpu_sdma_kick(&q);
        qvgpu_wait_until(qvgpu_sdma_exception(&q) == VGPU_SDMA_EXC_PACKET);
        qvgpu_ih_next(v, &irq);
        g_assert_cmpuint(irq.source, ==, IH_SRC_SDMA_ILLEGAL);
        g_assert_cmphex(qvgpu_rd(v, refused[i]), ==, was);
        qvgpu_sdma_disable(&q);
        qvgpu_sdma_load(&q);
    }
    qvgpu_stop(v);
}

/*
 * Disable a queue while a packet of the queue writes a register. Catches: the
 * queue never becomes idle; the write is lost.
 */
static void test_srbm_disable(void)
{
    QVGPU *v = qvgpu_start();
    uint32_t reg = HUB(VGPU_HUB_GFX) + MC_VM_AGP_BASE;
    QVGPUSdma q;
    unsigned i;

    qvgpu_sdma_open(&q, v, 0, SDMA_QUEUE_GFX, NULL);
    for (i = 1; i <= 50; i++) {
        pkt_srbm(&q, reg, i);
        qvgpu_sdma_kick(&q);
        qvgpu_sdma_disable(&q);
        qvgpu_sdma_enable(&q);
        qvgpu_sdma_finish(&q);
        g_assert_cmphex(qvgpu_rd(v, reg), ==, i);
    }
    qvgpu_stop(v);
}

/*
 * Catches: a POLL_REG_WRITE_MEM packet reads a wrong register, or writes more
 * than 32 bits to memory.
 */
static void test_reg_to_mem(void)
{
    QVGPU *v = qvgpu_start();
    uint64_t at = qvgpu_ram_page(v), mc = qvgpu_mc(v, at);
    QVGPUSdma q;

    qvgpu_sdma_open(&q, v, 0, SDMA_QUEUE_GFX, NULL);
    qtest_memset(v->qts, at, 0xee, 16);
    qvgpu_mm_wr(v, VM_L2_CNTL3, 0x12345678);
    QVGPU_EMIT(&q, SDMA_PKT(SDMA_OP_POLL_REGMEM, SDMA_SUBOP_POLL_REG_WRITE_MEM),
               4 * (HUB(VGPU_HUB_MM) + VM_L2_CNTL3), QVGPU_LO(mc + 4),
               QVGPU_HI(mc + 4));
    qvgpu_sdma_finish(&q);
    qvgpu_expect_byte(v, at, 0xee, 4);
    g_assert_cmphex(qtest_readl(v->qts, at + 4), ==, 0x12345678);
    qvgpu_expect_byte(v, at + 8, 0xee, 8);
    qvgpu_stop(v);
}

static void pkt_timestamp(QVGPUSdma *q, uint32_t subop, uint64_t operand)
{
    QVGPU_EMIT(q, SDMA_PKT(SDMA_OP_TIMESTAMP, subop), QVGPU_LO(operand),
               QVGPU_HI(operand));
}

/*
 * Run a packet of TIMESTAMP on @q that writes a clock to CPU address @at.
 * Returns the clock.
 */
static uint64_t read_clock(QVGPUSdma *q, uint32_t subop, uint64_t at)
{
    qtest_writeq(q->v->qts, at, 0);
    pkt_timestamp(q, subop, qvgpu_mc(q->v, at));
    qvgpu_sdma_finish(q);
    return qtest_readq(q->v->qts, at);
}

/*
 * Catches: setting the local clock of an engine changes another engine's clock,
 * or the GPU clock that a packet reads; a local clock does not advance; the
 * reset of an engine keeps its local clock, or resets that of another engine.
 */
static void test_local_clock(void)
{
    static const uint64_t start[] = {
        0xfedcba9876543210ull, 0x123456789abcdef0ull,
    };
    const uint64_t ticks = 10 * 1000 / (1000000000 / VGPU_CLOCK_HZ);
    QVGPU *v = qvgpu_start();
    uint64_t at = qvgpu_ram_page(v), now;
    QVGPUSdma q[ARRAY_SIZE(start)];
    unsigned i;

    qtest_clock_step(v->qts, 1000000000);
    now = qvgpu_clock(v);
    for (i = 0; i < ARRAY_SIZE(q); i++) {
        qvgpu_sdma_open(&q[i], v, i, SDMA_QUEUE_GFX, NULL);
        g_assert_cmphex(read_clock(&q[i], SDMA_SUBOP_TIMESTAMP_GET, at), ==,
                        now);
        pkt_timestamp(&q[i], SDMA_SUBOP_TIMESTAMP_SET, start[i]);
        g_assert_cmphex(read_clock(&q[i], SDMA_SUBOP_TIMESTAMP_GET, at), ==,
                        start[i]);
    }
    qtest_clock_step(v->qts, 10 * 1000);
    for (i = 0; i < ARRAY_SIZE(q); i++) {
        g_assert_cmphex(read_clock(&q[i], SDMA_SUBOP_TIMESTAMP_GET, at), ==,
                        start[i] + ticks);
        g_assert_cmphex(read_clock(&q[i], SDMA_SUBOP_TIMESTAMP_GET_GLOBAL, at),
                        ==, now + ticks);
    }
    g_assert_cmphex(qvgpu_clock(v), ==, now + ticks);

    /* The reset disables the queue. */
    qvgpu_wr(v, SDMA_ENGINE(0) + SDMA_F32_CNTL, SDMA_F32_CNTL__RESET);
    qvgpu_wr(v, SDMA_ENGINE(0) + SDMA_F32_CNTL, 0);
    qvgpu_sdma_load(&q[0]);
    g_assert_cmphex(read_clock(&q[0], SDMA_SUBOP_TIMESTAMP_GET, at), ==,
                    now + ticks);
    g_assert_cmphex(read_clock(&q[1], SDMA_SUBOP_TIMESTAMP_GET, at), ==,
                    start[1] + ticks);
    qvgpu_stop(v);
}

void qvgpu_add_packet_control_tests(void)
{
    qtest_add_func("/vgpu-kfd/sdma-control/cond-exe", test_cond_exe);
    qtest_add_func("/vgpu-kfd/sdma-control/cond-exe-in-parts",
                   test_cond_exe_in_parts);
    qtest_add_func("/vgpu-kfd/sdma-control/pre-exe", test_pre_exe);
    qtest_add_func("/vgpu-kfd/sdma-control/srbm-write", test_srbm_write);
    qtest_add_func("/vgpu-kfd/sdma-control/srbm-refused", test_srbm_refused);
    qtest_add_func("/vgpu-kfd/sdma-control/srbm-disable", test_srbm_disable);
    qtest_add_func("/vgpu-kfd/sdma-control/reg-to-mem", test_reg_to_mem);
    qtest_add_func("/vgpu-kfd/sdma-control/local-clock", test_local_clock);
}
