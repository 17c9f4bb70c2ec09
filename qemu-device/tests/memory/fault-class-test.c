/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: tests the fault classes. Each class has an enable bit for
 * interrupts and one for redirection to the default page.
 */
#include "qemu/osdep.h"
#include "tests/qtest/vgpu-kfd/lib/ih.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"
#include "tests/qtest/vgpu-kfd/lib/sdma-queue.h"
#include "tests/qtest/vgpu-kfd/memory/suite.h"
#include "tests/qtest/vgpu-kfd/memory/page-walk-fixture.h"

#define CNTL(name)      VM_L2_PROTECTION_FAULT_CNTL__ ## name ## _DEFAULT
#define CONTEXT(name)   VM_CONTEXT_CNTL__ ## name
#define ALL_CLASSES     0x1ffcu
#define DEFAULT_SEED    5

typedef struct Case {
    uint64_t va;
    bool write;
    uint32_t cntl;              /* bit of the class in FAULT_CNTL */
    /* interrupt bit in VM_CONTEXT_CNTL, or 0 if the class has no such bit */
    uint32_t interrupt;
} Case;

/* At least one case of each class that SDMA can cause. */
static const Case cases[] = {
    { 1ull << 48, false, CNTL(RANGE), CONTEXT(RANGE_INTERRUPT) },
    { 0x018000000000ull, false, CNTL(PDE1), CONTEXT(PDE0_INTERRUPT) },
    { VA + 1 * GiB, false, CNTL(PDE0), CONTEXT(PDE0_INTERRUPT) },
    { VA + 4 * MiB, false, CNTL(VALID), CONTEXT(VALID_INTERRUPT) },
    { VA + 1 * QVGPU_PAGE, false, CNTL(VALID), CONTEXT(VALID_INTERRUPT) },
    { VA + 2 * QVGPU_PAGE, false, CNTL(READ), CONTEXT(READ_INTERRUPT) },
    { VA + 3 * QVGPU_PAGE, true, CNTL(WRITE), CONTEXT(WRITE_INTERRUPT) },
    { VA + 4 * QVGPU_PAGE, false, CNTL(NACK), 0 },
};

static void context(PageWalk *w, uint32_t bits)
{
    qvgpu_mm_wr(w->v, VM_CONTEXT_CNTL(PAGE_WALK_VMID),
                VM_CONTEXT_CNTL__ENABLE_CONTEXT |
                VGPU_PREP(VM_CONTEXT_CNTL__PAGE_TABLE_DEPTH, 2u) | bits);
}

static void class_start(PageWalk *w)
{
    uint64_t page, dflt;

    page_walk_start(w);
    page = qvgpu_alloc(w->v, QVGPU_VRAM, QVGPU_PAGE, QVGPU_PAGE);
    dflt = qvgpu_ram_page(w->v);
    qvgpu_fill(w->v, dflt, DEFAULT_SEED, 0, QVGPU_PAGE);
    qvgpu_mm_wr64(w->v, VM_L2_PROTECTION_FAULT_DEFAULT_ADDR_LO32, dflt >> 12);
    qvgpu_space_map(&w->space, VA, page, QVGPU_PAGE);
    qvgpu_space_set(&w->space, VA + 2 * QVGPU_PAGE, VGPU_LEVEL_PTB,
                    qvgpu_entry(w->v, page,
                                VGPU_PTE_VALID | VGPU_PTE_WRITEABLE));
    qvgpu_space_set(&w->space, VA + 3 * QVGPU_PAGE, VGPU_LEVEL_PTB,
                    qvgpu_entry(w->v, page,
                                VGPU_PTE_VALID | VGPU_PTE_READABLE));
    qvgpu_space_set(&w->space, VA + 4 * QVGPU_PAGE, VGPU_LEVEL_PTB,
                    LEAF(1ull << 40));
}

/*
 * Cause the fault of case @t. Fails the test unless the fault is latched.
 * Returns true if the fault raised an interrupt.
 */
static bool fault(PageWalk *w, const Case *t)
{
    bool came;

    page_walk_copy(w, t->write ? w->dst_va : t->va,
                   t->write ? t->va : w->dst_va, 256);
    g_assert_cmphex(qvgpu_mm_rd64(w->v, VM_L2_PROTECTION_FAULT_ADDR_LO32), ==,
                    t->va >> 12);
    came = qvgpu_ih_pending(w->v);
    if (came) {
        qvgpu_ih_next_fault(w->v, PAGE_WALK_VMID, t->va, t->write, false);
    }
    g_assert_false(qvgpu_ih_pending(w->v));
    qvgpu_mm_wr(w->v, VM_L2_PROTECTION_FAULT_CNTL,
                qvgpu_mm_rd(w->v, VM_L2_PROTECTION_FAULT_CNTL) |
                VM_L2_PROTECTION_FAULT_CNTL__CLEAR_STATUS_ADDR);
    return came;
}

/*
 * Catches: a fault ignores the interrupt bit of its class. (Faults of a class
 * without such a bit always raise interrupts.)
 */
static void test_interrupts(void)
{
    PageWalk w;
    unsigned i;

    class_start(&w);
    for (i = 0; i < ARRAY_SIZE(cases); i++) {
        const Case *t = &cases[i];

        /*
         * Set only the class's own interrupt bit. If the class has no such bit,
         * set none. The fault must raise an interrupt.
         */
        context(&w, VM_CONTEXT_CNTL__ALL_DEFAULTS | t->interrupt);
        g_assert_true(fault(&w, t));
        /*
         * Only the bits of other classes are set: the fault must not raise an
         * interrupt, unless its class has no bit.
         */
        context(&w, VM_CONTEXT_CNTL__ALL_DEFAULTS |
                (VM_CONTEXT_CNTL__ALL_INTERRUPTS & ~t->interrupt));
        g_assert_true(fault(&w, t) == !t->interrupt);
    }
    qvgpu_stop(w.v);
}

/*
 * Catches: the default page is read for a fault class that is not redirected.
 */
static void test_redirection(void)
{
    PageWalk w;
    unsigned i, n;

    class_start(&w);
    for (i = 0; i < ARRAY_SIZE(cases); i++) {
        const Case *t = &cases[i];
        const struct {
            uint32_t cntl, context;
            bool redirected;
        } ways[] = {
            { t->cntl, t->interrupt << 1, true },
            { ALL_CLASSES & ~t->cntl, VM_CONTEXT_CNTL__ALL_DEFAULTS, false },
            { ALL_CLASSES, VM_CONTEXT_CNTL__ALL_DEFAULTS & ~(t->interrupt << 1),
              !t->interrupt },
        };

        for (n = 0; n < ARRAY_SIZE(ways) && !t->write; n++) {
            qvgpu_mm_wr(w.v, VM_L2_PROTECTION_FAULT_CNTL, ways[n].cntl);
            context(&w, ways[n].context);
            qtest_memset(w.v->qts, w.dst, 0xee, 256);
            fault(&w, t);
            if (ways[n].redirected) {
                qvgpu_expect(w.v, w.dst, DEFAULT_SEED, t->va % QVGPU_PAGE,
                             256);
            } else {
                qvgpu_expect_byte(w.v, w.dst, 0, 256);
            }
        }
    }
    qvgpu_stop(w.v);
}

/*
 * Catches: a later fault overwrites the latched fault while ALLOW_SUBSEQUENT is
 * clear, or does not overwrite it while ALLOW_SUBSEQUENT is set.
 */
static void test_latching(void)
{
    PageWalk w;
    uint32_t status;

    class_start(&w);
    page_walk_copy(&w, VA + QVGPU_PAGE, w.dst_va, 4);
    status = qvgpu_mm_rd(w.v, VM_L2_PROTECTION_FAULT_STATUS);
    g_assert_cmphex(status & VM_L2_PROTECTION_FAULT_STATUS__MORE_FAULTS, ==, 0);
    page_walk_copy(&w, w.dst_va, VA + 5 * QVGPU_PAGE, 4);
    g_assert_cmphex(qvgpu_mm_rd(w.v, VM_L2_PROTECTION_FAULT_STATUS), ==,
                    status | VM_L2_PROTECTION_FAULT_STATUS__MORE_FAULTS);
    g_assert_cmphex(qvgpu_mm_rd64(w.v, VM_L2_PROTECTION_FAULT_ADDR_LO32), ==,
                    (VA >> 12) + 1);

    qvgpu_mm_wr(w.v, VM_L2_PROTECTION_FAULT_CNTL, ALL_CLASSES |
                VM_L2_PROTECTION_FAULT_CNTL__ALLOW_SUBSEQUENT);
    page_walk_copy(&w, w.dst_va, VA + 5 * QVGPU_PAGE, 4);
    g_assert_cmphex(qvgpu_mm_rd64(w.v, VM_L2_PROTECTION_FAULT_ADDR_LO32), ==,
                    (VA >> 12) + 5);
    g_assert_cmphex(qvgpu_mm_rd(w.v, VM_L2_PROTECTION_FAULT_STATUS) &
                    VM_L2_PROTECTION_FAULT_STATUS__RW, !=, 0);
    qvgpu_mm_wr(w.v, VM_L2_PROTECTION_FAULT_CNTL, ALL_CLASSES |
                VM_L2_PROTECTION_FAULT_CNTL__CLEAR_STATUS_ADDR);
    g_assert_cmphex(qvgpu_mm_rd(w.v, VM_L2_PROTECTION_FAULT_STATUS), ==, 0);
    qvgpu_stop(w.v);
}

/*
 * Catches: while interrupts of retry faults are disabled, a retry fault still
 * raises an interrupt, or does not stall the queue.
 */
static void test_retry_interrupt_off(void)
{
    const uint64_t va = VA + 1 * QVGPU_PAGE;
    PageWalk w;
    QVGPUSdma kq;
    uint64_t page;
    unsigned i;

    class_start(&w);
    qvgpu_space_set_retry(&w.space, true);
    qvgpu_sdma_open(&kq, w.v, 0, SDMA_QUEUE_GFX, NULL);
    qvgpu_mm_wr(w.v, VM_L2_PROTECTION_FAULT_CNTL2, 0);
    page = qvgpu_ram_page(w.v);
    qvgpu_pkt_fence(&w.q, va, 0x123);
    qvgpu_sdma_kick(&w.q);
    for (i = 0; i < 3; i++) {
        qvgpu_sdma_pass(&kq);
    }
    g_assert_false(qvgpu_sdma_idle(&w.q));
    g_assert_false(qvgpu_ih_pending(w.v));
    /* Catches: the fault is not reported after its interrupt is enabled. */
    qvgpu_time_passes(w.v);
    qvgpu_mm_wr(w.v, VM_L2_PROTECTION_FAULT_CNTL2,
                VM_L2_PROTECTION_FAULT_CNTL2__ENABLE_RETRY_INTERRUPT);
    i = qvgpu_ih_next_fault(w.v, PAGE_WALK_VMID, va, true, true);
    qvgpu_space_map(&w.space, va, page, QVGPU_PAGE);
    qvgpu_cam_ack(w.v, i);
    qvgpu_sdma_finish(&w.q);
    g_assert_cmphex(qtest_readl(w.v->qts, page), ==, 0x123);
    qvgpu_stop(w.v);
}

/*
 * Catches: an access of VMID 0 to the system aperture faults, or does not reach
 * the aperture's default page.
 */
static void test_system_aperture(void)
{
    QVGPU *v = qvgpu_start();
    uint64_t page = qvgpu_alloc(v, QVGPU_VRAM, QVGPU_PAGE, QVGPU_PAGE);
    uint64_t buf = qvgpu_ram_page(v);
    uint64_t entry = qvgpu_entry(v, page, 0);
    /* GPU address of the aperture, outside of VRAM and of the AGP window. */
    const uint64_t at = 0x00fe00000000ull;
    QVGPUSdma q;

    qvgpu_fill(v, page, 7, 0, QVGPU_PAGE);
    qvgpu_mm_wr64(v, MC_VM_SYSTEM_APERTURE_DEFAULT_ADDR_LSB, entry >> 12);
    qvgpu_mm_wr(v, MC_VM_SYSTEM_APERTURE_LOW_ADDR, at >> 18);
    qvgpu_mm_wr(v, MC_VM_SYSTEM_APERTURE_HIGH_ADDR, (at >> 18) + 1);
    qvgpu_sdma_open(&q, v, 0, SDMA_QUEUE_GFX, NULL);
    qvgpu_pkt_copy(&q, at + 0x7ffff - 99, qvgpu_mc(v, buf), 100);
    qvgpu_sdma_finish(&q);
    qvgpu_expect(v, buf, 7, QVGPU_PAGE - 100, 100);
    qvgpu_pkt_fence(&q, at + 8, 0xfeed);
    qvgpu_sdma_finish(&q);
    g_assert_cmphex(qtest_readl(v->qts, page + 8), ==, 0xfeed);
    g_assert_cmphex(qvgpu_mm_rd(v, VM_L2_PROTECTION_FAULT_STATUS), ==, 0);

    qvgpu_pkt_fence(&q, at + 0x80000, 0xbad);
    qvgpu_sdma_finish(&q);
    qvgpu_ih_next_fault(v, 0, at + 0x80000, true, false);
    qvgpu_stop(v);
}

void qvgpu_add_fault_class_tests(void)
{
    qtest_add_func("/vgpu-kfd/fault-class/interrupts", test_interrupts);
    qtest_add_func("/vgpu-kfd/fault-class/redirection", test_redirection);
    qtest_add_func("/vgpu-kfd/fault-class/latching", test_latching);
    qtest_add_func("/vgpu-kfd/fault-class/retry-interrupt-off",
                   test_retry_interrupt_off);
    qtest_add_func("/vgpu-kfd/fault-class/system-aperture",
                   test_system_aperture);
}
