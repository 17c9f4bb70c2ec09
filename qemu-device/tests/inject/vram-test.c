/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: tests injections into VRAM, and the loss of the device. */
#include "qemu/osdep.h"
#include "hw/pci/pci_regs.h"
#include "qobject/qdict.h"
#include "tests/qtest/vgpu-kfd/inject/suite.h"
#include "tests/qtest/vgpu-kfd/lib/compute-queue.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/ih.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"
#include "tests/qtest/vgpu-kfd/lib/qmp.h"
#include "tests/qtest/vgpu-kfd/lib/sdma-queue.h"

#define LEN         (16 * KiB)
#define POISON_AT   (2 * QVGPU_PAGE + 64)       /* byte offset in src */

typedef struct Vram {
    QVGPU *v;
    QVGPUSdma q;
    uint64_t src, dst;
} Vram;

static void vram_start(Vram *t)
{
    t->v = qvgpu_start();
    qvgpu_sdma_open(&t->q, t->v, 0, SDMA_QUEUE_GFX, NULL);
    t->src = qvgpu_alloc(t->v, QVGPU_VRAM, LEN, QVGPU_PAGE);
    t->dst = qvgpu_alloc(t->v, QVGPU_VRAM, LEN, QVGPU_PAGE);
    qvgpu_fill(t->v, t->src, 1, 0, LEN);
}

static uint64_t offset(Vram *t, uint64_t addr)
{
    return addr - t->v->bar[VGPU_BAR_VRAM];
}

static char *sum(Vram *t, uint64_t addr, uint64_t len)
{
    g_autofree uint8_t *buf = g_malloc(len);

    qtest_memread(t->v->qts, addr, buf, len);
    return g_compute_checksum_for_data(G_CHECKSUM_SHA256, buf, len);
}

/*
 * Catches: vram-lost leaves contents in its range, or changes contents outside
 * of the range; the new contents do not depend on the seed.
 */
static void test_lost(void)
{
    char *sums[3];
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(sums); i++) {
        g_autofree char *whole = NULL;
        uint32_t id;
        Vram t;

        vram_start(&t);
        id = qvgpu_inject(t.v, "'kind': 'vram-lost', 'seed': %u, "
                          "'offset': %" PRIu64 ", 'length': %" PRIu64, i / 2,
                          offset(&t, t.src) + 64, QVGPU_PAGE);
        g_assert_cmpuint(qvgpu_inject_fired(t.v, id), ==, 1);
        qvgpu_expect(t.v, t.src, 1, 0, 64);
        qvgpu_expect(t.v, t.src + 64 + QVGPU_PAGE, 1, 64 + QVGPU_PAGE,
                     LEN - 64 - QVGPU_PAGE);
        qvgpu_expect_byte(t.v, t.dst, 0, LEN);
        sums[i] = sum(&t, t.src, LEN);
        qvgpu_fill(t.v, t.src, 1, 0, LEN);
        whole = sum(&t, t.src, LEN);
        g_assert_cmpstr(sums[i], !=, whole);
        qvgpu_stop(t.v);
    }
    g_assert_cmpstr(sums[0], ==, sums[1]);
    g_assert_cmpstr(sums[0], !=, sums[2]);
    for (i = 0; i < ARRAY_SIZE(sums); i++) {
        g_free(sums[i]);
    }
}

/* Catches: VRAM is lost before the chosen reset, or again at a later reset. */
static void test_lost_at_reset(void)
{
    g_autofree char *before = NULL, *after = NULL, *later = NULL;
    uint32_t id;
    Vram t;

    vram_start(&t);
    id = qvgpu_inject(t.v, "'kind': 'vram-lost-at-reset', 'skip': 1, "
                      "'count': 1");
    before = sum(&t, t.src, LEN);
    qtest_system_reset(t.v->qts);
    qvgpu_map_bars(t.v);
    after = sum(&t, t.src, LEN);
    g_assert_cmpstr(before, ==, after);
    g_assert_cmpuint(qvgpu_inject_fired(t.v, id), ==, 0);
    g_free(after);
    qtest_system_reset(t.v->qts);
    qvgpu_map_bars(t.v);
    after = sum(&t, t.src, LEN);
    g_assert_cmpstr(before, !=, after);
    g_assert_cmpuint(qvgpu_inject_fired(t.v, id), ==, 1);
    qtest_system_reset(t.v->qts);
    qvgpu_map_bars(t.v);
    later = sum(&t, t.src, LEN);
    g_assert_cmpstr(after, ==, later);
    qvgpu_stop(t.v);
}

/*
 * Catches: a read next to the poisoned range fails; a read within the range
 * succeeds; a write to the range fails.
 */
static void test_poison(void)
{
    QVGPUSdma other;
    QVGPUIrq irq;
    uint32_t id;
    Vram t;

    vram_start(&t);
    qvgpu_sdma_open(&other, t.v, 1, SDMA_QUEUE_GFX, NULL);
    id = qvgpu_inject(t.v, "'kind': 'vram-poison', 'offset': %" PRIu64 ", "
                      "'length': 64", offset(&t, t.src) + POISON_AT);
    qvgpu_pkt_copy(&t.q, qvgpu_mc(t.v, t.src), qvgpu_mc(t.v, t.dst), LEN);
    qvgpu_sdma_kick(&t.q);
    qvgpu_ih_next(t.v, &irq);
    g_assert_cmphex(irq.client, ==, IH_CLIENT_SDMA(0));
    g_assert_cmpuint(irq.source, ==, IH_SRC_SDMA_ECC);
    g_assert_cmpuint(qvgpu_sdma_exception(&t.q), ==, VGPU_SDMA_EXC_POISON);
    g_assert_cmpuint(qvgpu_inject_fired(t.v, id), ==, 1);
    qvgpu_expect(t.v, t.dst, 1, 0, POISON_AT);
    qvgpu_expect_byte(t.v, t.dst + POISON_AT, 0, LEN - POISON_AT);

    /*
     * Reads next to the poisoned range and writes to the range are no errors.
     */
    qvgpu_pkt_copy(&other, qvgpu_mc(t.v, t.src), qvgpu_mc(t.v, t.dst),
                   POISON_AT);
    qvgpu_pkt_fence(&other, qvgpu_mc(t.v, t.src + POISON_AT), 0);
    qvgpu_sdma_finish(&other);
    g_assert_cmpuint(qvgpu_inject_fired(t.v, id), ==, 1);
    /* A read of only the last poisoned byte must cause the exception, too. */
    qvgpu_pkt_copy(&other, qvgpu_mc(t.v, t.src + POISON_AT + 63),
                   qvgpu_mc(t.v, t.dst), 1);
    qvgpu_sdma_kick(&other);
    qvgpu_wait_until(qvgpu_sdma_exception(&other) == VGPU_SDMA_EXC_POISON);
    g_assert_cmpuint(qvgpu_inject_fired(t.v, id), ==, 2);

    qvgpu_inject_remove(t.v, id);
    qvgpu_sdma_disable(&t.q);
    /* Restore the four bytes that the fence has overwritten. */
    qvgpu_fill(t.v, t.src, 1, 0, LEN);
    qvgpu_sdma_enable(&t.q);
    qvgpu_sdma_finish(&t.q);
    qvgpu_expect(t.v, t.dst, 1, 0, LEN);
    qvgpu_stop(t.v);
}

/*
 * Catches: a compute queue can read poisoned memory; the error stops other
 * queues, or is reported as another error.
 */
static void test_poison_compute(void)
{
    QVGPU *v = qvgpu_start();
    uint64_t src = qvgpu_alloc(v, QVGPU_VRAM, QVGPU_PAGE, QVGPU_PAGE);
    uint64_t dst = qvgpu_alloc(v, QVGPU_VRAM, QVGPU_PAGE, QVGPU_PAGE);
    uint64_t from = qvgpu_mc(v, src), to = qvgpu_mc(v, dst);
    QVGPUCompute c, other;
    uint32_t id;

    qvgpu_compute_init(&c, v, 1, 0, 0, NULL);
    qvgpu_compute_init(&other, v, 2, 0, 0, NULL);
    qvgpu_cp_setup(v);
    qvgpu_compute_load(&c);
    qvgpu_compute_load(&other);
    qvgpu_fill(v, src, 1, 0, QVGPU_PAGE);
    id = qvgpu_inject(v, "'kind': 'vram-poison', 'hub': 'gfx', "
                      "'offset': %" PRIu64 ", 'length': 4",
                      src - v->bar[VGPU_BAR_VRAM] + 8);
    QVGPU_PM4(&c, PM4_COPY_DATA, PM4_SRC_MEM | PM4_DST_MEM << 8,
              QVGPU_LO(from + 8), QVGPU_HI(from), QVGPU_LO(to), QVGPU_HI(to));
    qvgpu_pm4_write(&c, to + 4, 1);
    qvgpu_compute_kick(&c);
    qvgpu_compute_irq(&c, IH_SRC_CP_ECC, 0);
    g_assert_cmpuint(qvgpu_inject_fired(v, id), ==, 1);
    g_assert_cmphex(qvgpu_hqd_rd(&c, CP_HQD_ERROR), ==, 0);

    /* Another queue reads next to the poison. */
    QVGPU_PM4(&other, PM4_COPY_DATA, PM4_SRC_MEM | PM4_DST_MEM << 8,
              QVGPU_LO(from + 12), QVGPU_HI(from), QVGPU_LO(to + 12),
              QVGPU_HI(to));
    qvgpu_compute_finish(&other);
    g_assert_cmphex(qtest_readl(v->qts, dst + 12), ==,
                    qtest_readl(v->qts, src + 12));
    g_assert_cmphex(qtest_readq(v->qts, dst), ==, 0);
    g_assert_cmpuint(qvgpu_inject_fired(v, id), ==, 1);
    g_assert_false(qvgpu_ih_pending(v));
    qvgpu_stop(v);
}

/*
 * Catches: a filter matches a compute queue that the filter excludes, or does
 * not match the queue that the filter names.
 */
static void test_compute_filter(void)
{
    static const struct {
        const char *filter;
        bool matches;
    } cases[] = {
        { "'me': 2, 'pipe': 1, 'queue': 3", true }, { "'pipe': 1", true },
        { "'me': 2", true }, { "'me': 1", false }, { "'pipe': 0", false },
        { "'me': 2, 'queue': 2", false }, { "'queue': 3", false },
        { "'hub': 'gfx'", true }, { "'hub': 'mm'", false },
        { "'engine': 0", false },
    };
    QVGPU *v = qvgpu_start();
    uint64_t page = qvgpu_alloc(v, QVGPU_VRAM, QVGPU_PAGE, QVGPU_PAGE);
    uint64_t va = 0x300000000000ull;
    QVGPUSpace space;
    QVGPUCompute c;
    QVGPUIrq irq;
    uint32_t id;
    unsigned i;

    qvgpu_inject_refused(v, "'kind': 'pte-lost', 'me': 3");
    qvgpu_inject_refused(v, "'kind': 'pte-lost', 'me': 0");
    qvgpu_inject_refused(v, "'kind': 'pte-lost', 'pipe': 4");
    qvgpu_inject_refused(v, "'kind': 'pte-lost', 'me': 1, 'queue': 8");
    qvgpu_inject_refused(v, "'kind': 'pte-lost', 'me': 1, 'engine': 1");
    qvgpu_space_init(&space, v, 7, QVGPU_VRAM);
    qvgpu_space_map(&space, va, page, QVGPU_PAGE);
    qvgpu_compute_init(&c, v, 2, 1, 3, &space);
    qvgpu_cp_setup(v);
    qvgpu_compute_load(&c);
    qvgpu_pm4_write(&c, va + 4, 1);
    qvgpu_compute_finish(&c);
    for (i = 0; i < ARRAY_SIZE(cases); i++) {
        qvgpu_gfx_invalidate(v, 1u << 7);
        id = qvgpu_inject(v, "'kind': 'pte-lost', 'count': 1, 'va': %"
                          PRIu64 ", 'length': 4096, %s", va, cases[i].filter);
        qvgpu_pm4_write(&c, va, i + 1);
        qvgpu_compute_kick(&c);
        if (cases[i].matches) {
            qvgpu_ih_next(v, &irq);
            qvgpu_cam_ack(v, VGPU_GET(irq.data[2], IH_FAULT_D2__CAM_INDEX));
        }
        qvgpu_compute_finish(&c);
        g_assert_cmphex(qtest_readl(v->qts, page), ==, i + 1);
        g_assert_cmpuint(qvgpu_inject_fired(v, id), ==, cases[i].matches);
        qvgpu_inject_remove(v, id);
    }
    /*
     * Catches: doorbell-lost does not affect the doorbell of a compute queue.
     */
    id = qvgpu_inject(v, "'kind': 'doorbell-lost', 'me': 2, 'pipe': 1, "
                      "'queue': 3, 'vmid': 7, 'count': 1");
    qvgpu_pm4_write(&c, va, 0x77);
    qvgpu_compute_kick(&c);
    g_assert_cmpuint(qvgpu_inject_fired(v, id), ==, 1);
    g_assert_cmphex(qtest_readl(v->qts, page), ==, i);
    qvgpu_compute_finish(&c);
    g_assert_cmphex(qtest_readl(v->qts, page), ==, 0x77);
    qvgpu_stop(v);
}

/* Catches: a removed device responds, immediately or after a system reset. */
static void test_removal(void)
{
    uint32_t id;
    QDict *info;
    unsigned i;
    Vram t;

    vram_start(&t);
    /* Remove the device while an engine is busy. */
    qvgpu_pkt_poll_mem(&t.q, QVGPU_POLL_EQ, qvgpu_mc(t.v, t.dst), 1,
                       UINT32_MAX, QVGPU_POLL_FOREVER);
    qvgpu_pkt_trap(&t.q, 1);
    qvgpu_sdma_kick(&t.q);
    id = qvgpu_inject(t.v, "'kind': 'surprise-removal'");
    g_assert_cmpuint(qvgpu_inject_fired(t.v, id), ==, 1);
    for (i = 0; i < 2; i++) {
        g_assert_cmphex(qpci_config_readl(t.v->pci, PCI_VENDOR_ID), ==,
                        UINT32_MAX);
        g_assert_cmphex(qpci_config_readw(t.v->pci, PCI_COMMAND), ==,
                        UINT16_MAX);
        if (!i) {
            g_assert_cmphex(qvgpu_rd(t.v, VGPU_MAGIC), ==, UINT32_MAX);
            qtest_writel(t.v->qts, t.src, 0);
            g_assert_cmphex(qtest_readl(t.v->qts, t.src), ==, UINT32_MAX);
            g_assert_cmphex(qtest_readq(t.v->qts,
                                        t.v->bar[VGPU_BAR_DOORBELL]), ==,
                            UINT64_MAX);
            qtest_writel(t.v->qts, t.dst, 1);
            g_assert_false(qvgpu_msi_take(t.v));
        }
        qtest_system_reset(t.v->qts);
    }
    info = qvgpu_query(t.v);
    g_assert_true(qdict_get_bool(info, "removed"));
    qobject_unref(info);
    qvgpu_inject_refused(t.v, "'kind': 'surprise-removal'");
    qvgpu_stop(t.v);
}

void qvgpu_add_inject_vram_tests(void)
{
    qtest_add_func("/vgpu-kfd/inject/vram-lost", test_lost);
    qtest_add_func("/vgpu-kfd/inject/vram-lost-at-reset", test_lost_at_reset);
    qtest_add_func("/vgpu-kfd/inject/vram-poison", test_poison);
    qtest_add_func("/vgpu-kfd/inject/vram-poison-compute",
                   test_poison_compute);
    qtest_add_func("/vgpu-kfd/inject/compute-filter", test_compute_filter);
    qtest_add_func("/vgpu-kfd/inject/surprise-removal", test_removal);
}
