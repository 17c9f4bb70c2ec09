/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: tests of injections: the QMP command, the events on which an
 * injection acts, and the kinds that affect PTEs.
 */
#include "qemu/osdep.h"
#include <glib/gstdio.h>
#include "qobject/qdict.h"
#include "qobject/qlist.h"
#include "tests/qtest/vgpu-kfd/inject/suite.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/ih.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"
#include "tests/qtest/vgpu-kfd/lib/qmp.h"
#include "tests/qtest/vgpu-kfd/lib/sdma-queue.h"

#define VMID    5
#define VA      UINT64_C(0x400000000000)
#define PAGES   64

typedef struct Inject {
    QVGPU *v;
    QVGPUSpace space;
    QVGPUSdma q;
    uint64_t mem;               /* PAGES pages, mapped at VA */
} Inject;

static void inject_start_args(Inject *t, const char *args)
{
    t->v = qvgpu_start_args(args);
    qvgpu_space_init(&t->space, t->v, VMID, QVGPU_VRAM);
    qvgpu_sdma_open(&t->q, t->v, 0, SDMA_QUEUE_RLC(0), &t->space);
    t->mem = qvgpu_alloc(t->v, QVGPU_VRAM, PAGES * QVGPU_PAGE, QVGPU_PAGE);
    qvgpu_space_map(&t->space, VA, t->mem, PAGES * QVGPU_PAGE);
    /* Check that the queue can write to page VA. */
    qvgpu_pkt_fence(&t->q, VA, 0);
    qvgpu_sdma_finish(&t->q);
    /*
     * Page-table injections act only on pages that are not in the TLB. So empty
     * the TLB, which holds page VA. Then execute a NOP (header 0), which loads
     * the queue's own pages into the TLB: no injection must act on these pages.
     */
    qvgpu_invalidate(t->v, 1u << VMID);
    QVGPU_EMIT(&t->q, 0);
    qvgpu_sdma_finish(&t->q);
}

static void inject_start(Inject *t)
{
    inject_start_args(t, "");
}

/*
 * Emit writes to pages @first to @first + @n - 1. A write faults if an
 * injection lets the page-table entry of the page read as 0.
 */
static void touch(Inject *t, unsigned first, unsigned n)
{
    unsigned i;

    for (i = first; i < first + n; i++) {
        qvgpu_pkt_fence(&t->q, VA + i * QVGPU_PAGE, 1);
    }
}

/*
 * Run the emitted packets and acknowledge each fault, so that the queue
 * retries. Sets @pages[i] to 'x' if page i faults. Returns the number of
 * faults.
 */
static unsigned run(Inject *t, char *pages)
{
    unsigned faults = 0;
    QVGPUIrq irq;

    qvgpu_sdma_kick(&t->q);
    for (;;) {
        qvgpu_wait_until(qvgpu_sdma_idle(&t->q) || qvgpu_ih_pending(t->v));
        if (!qvgpu_ih_pending(t->v)) {
            return faults;
        }
        qvgpu_ih_next(t->v, &irq);
        pages[irq.data[0] - (uint32_t)(VA >> VGPU_PAGE_SHIFT)] = 'x';
        faults++;
        qvgpu_cam_ack(t->v, VGPU_GET(irq.data[2], IH_FAULT_D2__CAM_INDEX));
    }
}

/* Catches: vgpu-inject accepts invalid arguments, or refuses valid ones. */
static void test_command(void)
{
    QVGPU *v = qvgpu_start_cold("64M");
    uint32_t id, other;
    QDict *info, *i;
    unsigned n;

    qvgpu_inject_refused(v, "'kind': 'nothing'");
    qvgpu_inject_refused(v, "'kind': 'pte-lost', 'device': 'nobody'");
    qvgpu_inject_refused(v, "'kind': 'pte-lost', 'vmid': 16");
    qvgpu_inject_refused(v, "'kind': 'pte-lost', 'engine': 5");
    qvgpu_inject_refused(v, "'kind': 'pte-lost', 'queue': 10");
    qvgpu_inject_refused(v, "'kind': 'pte-lost', 'probability': 1.5");
    qvgpu_inject_refused(v, "'kind': 'pte-lost', 'length': 0");
    qvgpu_inject_refused(v, "'kind': 'pte-lost', 'walks': 1");

    id = qvgpu_inject(v, "'kind': 'pte-late', 'walks': 3, 'seed': 7");
    other = qvgpu_inject(v, "'kind': 'gart-lost', 'device': "
                         "'/machine/peripheral-anon/device[0]'");
    g_assert_cmpuint(id, !=, other);
    info = qvgpu_query(v);
    g_assert_cmpuint(qlist_size(qdict_get_qlist(info, "injections")), ==, 2);
    i = qobject_to(QDict, qlist_peek(qdict_get_qlist(info, "injections")));
    g_assert_cmpuint(qdict_get_int(i, "id"), ==, id);
    g_assert_cmpuint(qdict_get_int(i, "fired"), ==, 0);
    g_assert_true(qdict_get_bool(i, "active"));
    i = qdict_get_qdict(i, "injection");
    g_assert_cmpstr(qdict_get_str(i, "kind"), ==, "pte-late");
    g_assert_cmpuint(qdict_get_int(i, "walks"), ==, 3);
    g_assert_cmpuint(qdict_get_int(i, "seed"), ==, 7);
    qobject_unref(info);

    qvgpu_inject_remove(v, id);
    info = qtest_qmp(v->qts, "{ 'execute': 'vgpu-inject-remove',"
                     "  'arguments': { 'id': %u } }", id);
    g_assert_true(qdict_haskey(info, "error"));
    qobject_unref(info);
    qvgpu_inject_remove(v, other);

    /* The number of injections is limited. */
    for (n = 0; n < 64; n++) {
        qvgpu_inject(v, "'kind': 'pte-lost'");
    }
    qvgpu_inject_refused(v, "'kind': 'pte-lost'");
    qvgpu_stop(v);
}

/*
 * Catches: vgpu-inject accepts a member that does not belong to the kind of
 * injection, or an address that is out of range, incomplete, or given twice.
 */
static void test_members(void)
{
    static const struct {
        const char *arguments;
        const char *says;
    } cases[] = {
        { "'kind': 'pte-lost', 'va': 0, 'start': 0", "old name of va:" },
        { "'kind': 'pte-lost', 'offset': 0", "'offset'" },
        { "'kind': 'sdma-hang', 'packet-va': 0, 'start': 0", "of packet-va:" },
        { "'kind': 'sdma-hang', 'me': 1", "'me'" },
        { "'kind': 'sdma-slow', 'bytes-per-second': 1, 'dst-va': 0, 'start': 0",
          "of dst-va:" },
        { "'kind': 'doorbell-lost', 'doorbell': 0, 'start': 0",
          "of doorbell:" },
        { "'kind': 'fault-drop', 'engine': 0", "'engine'" },
        { "'kind': 'ih-overflow', 'client': 0, 'start': 0",
          "of client and source:" },
        { "'kind': 'ih-overflow', 'source': 0", "source needs client" },
        { "'kind': 'ih-overflow', 'client': 0, 'length': 1",
          "give client and source" },
        { "'kind': 'inv-no-ack', 'inv-engine': 0, 'start': 0",
          "of inv-engine:" },
        { "'kind': 'inv-no-ack', 'inv-engine': 18", "must be below 18" },
        { "'kind': 'inv-no-ack', 'length': 1", "give inv-engine" },
        { "'kind': 'vram-lost', 'offset': 67108864", "must be below 67108864" },
        { "'kind': 'vram-poison', 'offset': 0, 'start': 0", "of offset:" },
        { "'kind': 'xgmi-down', 'node': 0, 'start': 0", "of node and offset:" },
        { "'kind': 'xgmi-down', 'node': 16", "must be below 16" },
        { "'kind': 'xgmi-down', 'offset': 0", "need node" },
        { "'kind': 'xgmi-down', 'length': 1", "need node" },
        { "'kind': 'surprise-removal', 'start': 0", "has no address" },
    };
    QVGPU *v = qvgpu_start_cold("64M");
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(cases); i++) {
        /* Catches: the error message fails to name the member that is wrong. */
        qvgpu_expect_refused(v, "vgpu-inject", cases[i].arguments,
                             cases[i].says);
    }
    qvgpu_stop(v);
}

/*
 * Catches: skip or count is off by one; an injection does not end after count
 * events.
 */
static void test_skip_count(void)
{
    char pages[PAGES + 1] = "";
    Inject t;
    uint32_t id;
    unsigned i;

    inject_start(&t);
    id = qvgpu_inject(t.v, "'kind': 'pte-lost', 'vmid': %u, "
                      "'va': %" PRIu64 ", 'length': %" PRIu64 ", "
                      "'skip': 3, 'count': 2", VMID, VA,
                      PAGES * QVGPU_PAGE);
    touch(&t, 0, 8);
    g_assert_cmpuint(run(&t, pages), ==, 2);
    /*
     * Pages 0 to 2 are skipped. The entry of page 3 is lost in the first walk
     * and in the walk of the first replay. The second replay finds the entry.
     */
    for (i = 0; i < 8; i++) {
        g_assert_cmpint(pages[i], ==, i == 3 ? 'x' : 0);
    }
    g_assert_cmpuint(qvgpu_inject_fired(t.v, id), ==, 2);
    g_assert_cmpuint(qvgpu_counter(t.v, VGPU_CNT_INJECTIONS), ==, 2);
    g_assert_cmpuint(qvgpu_counter(t.v, VGPU_CNT_FAULTS_RETRY), ==, 2);
    qvgpu_stop(t.v);
}

/*
 * Catches: a filter matches an access that the filter excludes, or does not
 * match an access that the filter includes.
 */
static void test_filter(void)
{
    static const struct {
        const char *filter;
        bool matches;
    } cases[] = {
        { "'vmid': 5", true }, { "'vmid': 6", false },
        { "'hub': 'mm'", true }, { "'hub': 'gfx'", false },
        { "'engine': 0", true }, { "'engine': 1", false },
        { "'va': 70368744177664, 'length': 1", true },
        { "'va': 70368744177665, 'length': 4096", false },
        { "'va': 0, 'length': 70368744177664", false },
        { "'va': 0, 'length': 70368744177665", true },
        { "'length': 70368744177665", true },
        /* These filters use "start", the old name of member va. */
        { "'start': 70368744177664, 'length': 1", true },
        { "'start': 70368744177665, 'length': 4096", false },
        { "'probability': 0", false }, { "'probability': 1.0", true },
    };
    char pages[PAGES + 1] = "";
    Inject t;
    unsigned i;

    inject_start(&t);
    for (i = 0; i < ARRAY_SIZE(cases); i++) {
        uint32_t id = qvgpu_inject(t.v, "'kind': 'pte-lost', 'count': 1, %s",
                                   cases[i].filter);

        touch(&t, 0, 1);
        g_assert_cmpuint(run(&t, pages), ==, cases[i].matches);
        g_assert_cmpuint(qvgpu_inject_fired(t.v, id), ==, cases[i].matches);
        qvgpu_inject_remove(t.v, id);
        qvgpu_invalidate(t.v, 1u << VMID);
        /*
         * The NOP brings the ring back into the TLB, so that the next injection
         * does not act on the translation of the ring.
         */
        QVGPU_EMIT(&t.q, 0);
        qvgpu_sdma_finish(&t.q);
    }
    qvgpu_stop(t.v);
}

/*
 * Run a workload once with @seed. Sets @pages[i] to 'x' if page i faults.
 * Returns the trace.
 */
static char *seeded(unsigned seed, char *pages)
{
    g_autofree char *file = NULL;
    g_autofree char *args = NULL;
    char *trace;
    Inject t;
    int fd;

    fd = g_file_open_tmp("vgpu-inject-XXXXXX", &file, NULL);
    g_assert_cmpint(fd, >=, 0);
    close(fd);
    args = g_strdup_printf("-trace vgpu_inject -D %s", file);
    inject_start_args(&t, args);
    qvgpu_inject(t.v, "'kind': 'pte-lost', 'seed': %u, 'probability': 0.5, "
                 "'va': %" PRIu64, seed, VA);
    touch(&t, 0, PAGES);
    run(&t, pages);
    qvgpu_stop(t.v);
    g_assert_true(g_file_get_contents(file, &trace, NULL, NULL));
    g_unlink(file);
    g_assert_nonnull(strstr(trace, "kind=pte-lost injection=1 fired=1 "));
    return trace;
}

/*
 * Catches: two injections with the same seed hit different pages; two
 * injections with different seeds hit the same pages.
 */
static void test_seed(void)
{
    char pages[3][PAGES + 1] = { "" };
    g_autofree char *a = seeded(1, pages[0]);
    g_autofree char *b = seeded(1, pages[1]);
    g_autofree char *c = seeded(2, pages[2]);
    unsigned i, hit = 0;

    g_assert_cmpstr(a, ==, b);
    g_assert_true(!memcmp(pages[0], pages[1], PAGES));
    g_assert_cmpstr(a, !=, c);
    g_assert_false(!memcmp(pages[0], pages[2], PAGES));
    for (i = 0; i < PAGES; i++) {
        hit += pages[0][i] == 'x';
    }
    g_assert_cmpuint(hit, >, PAGES / 8);
    g_assert_cmpuint(hit, <, PAGES * 7 / 8);
}

/* Catches: pte-corrupt does not XOR the page-table entry with member 'xor'. */
static void test_corrupt(void)
{
    Inject t;
    uint32_t id;

    inject_start(&t);
    /* The XOR turns page 1's page-table entry into that of page 0. */
    g_assert_cmphex(t.mem & QVGPU_PAGE, ==, 0);
    id = qvgpu_inject(t.v, "'kind': 'pte-corrupt', 'va': %" PRIu64
                      ", 'count': 1, 'xor': 4096", VA + QVGPU_PAGE);
    qvgpu_pkt_fence(&t.q, VA + QVGPU_PAGE, 0x1234);
    qvgpu_sdma_finish(&t.q);
    g_assert_cmphex(qtest_readl(t.v->qts, t.mem), ==, 0x1234);
    g_assert_cmphex(qtest_readl(t.v->qts, t.mem + QVGPU_PAGE), ==, 0);
    g_assert_cmpuint(qvgpu_inject_fired(t.v, id), ==, 1);
    qvgpu_stop(t.v);
}

/*
 * Catches: after a change of a page-table entry, pte-late returns the old entry
 * on all later walks, or on none.
 */
static void test_late(void)
{
    char pages[PAGES + 1] = "";
    Inject t;
    uint32_t id;

    inject_start(&t);
    id = qvgpu_inject(t.v, "'kind': 'pte-late', 'va': %" PRIu64
                      ", 'walks': 3", VA);
    qvgpu_space_set(&t.space, VA, VGPU_LEVEL_PTB, 0);
    qvgpu_pkt_fence(&t.q, VA, 1);
    qvgpu_sdma_kick(&t.q);
    qvgpu_wait_until(qvgpu_ih_pending(t.v));
    /*
     * Catches: pte-late acts although the entry has not changed since the last
     * walk.
     */
    g_assert_cmpuint(qvgpu_inject_fired(t.v, id), ==, 0);
    /*
     * One fault is pending: a walk read 0 before this mapping. In the next
     * three walks, pte-late still returns 0, so these fault, too.
     */
    qvgpu_space_map(&t.space, VA, t.mem, QVGPU_PAGE);
    g_assert_cmpuint(run(&t, pages), ==, 1 + 3);
    g_assert_cmphex(qtest_readl(t.v->qts, t.mem), ==, 1);
    g_assert_cmpuint(qvgpu_inject_fired(t.v, id), ==, 1);
    qvgpu_stop(t.v);
}

#define GART_VA     UINT64_C(0x7fff00000000)

/*
 * Map a page at GART_VA for VMID 0, and open a queue. Returns the address of
 * the page's GART entry.
 */
static uint64_t gart_start(Inject *t, QVGPUSdma *kq)
{
    uint64_t table;

    inject_start(t);
    table = qvgpu_alloc(t->v, QVGPU_VRAM, QVGPU_PAGE, QVGPU_PAGE);
    qtest_writeq(t->v->qts, table, qvgpu_entry(t->v, t->mem, QVGPU_PTE_RW));
    qvgpu_mm_wr64(t->v, VM_CONTEXT_PAGE_TABLE_BASE_ADDR_LO32(0),
                  qvgpu_entry(t->v, table, VGPU_PDE_VALID));
    qvgpu_mm_wr64(t->v, VM_CONTEXT_PAGE_TABLE_START_ADDR_LO32(0),
                  GART_VA >> VGPU_PAGE_SHIFT);
    qvgpu_mm_wr64(t->v, VM_CONTEXT_PAGE_TABLE_END_ADDR_LO32(0),
                  GART_VA >> VGPU_PAGE_SHIFT);
    qvgpu_mm_wr(t->v, VM_CONTEXT_CNTL(0), VM_CONTEXT_CNTL__ENABLE_CONTEXT |
                VM_CONTEXT_CNTL__ALL_INTERRUPTS);
    qvgpu_invalidate(t->v, 1);
    qvgpu_sdma_open(kq, t->v, 1, SDMA_QUEUE_GFX, NULL);
    return table;
}

/*
 * Catches: on the page table of VMID 0 (the GART), gart-lost has no effect, or
 * pte-lost has an effect. (Only gart-lost must have an effect there.)
 */
static void test_gart_lost(void)
{
    uint32_t lost, pte;
    QVGPUSdma kq;
    QVGPUIrq irq;
    Inject t;

    gart_start(&t, &kq);
    pte = qvgpu_inject(t.v, "'kind': 'pte-lost'");
    lost = qvgpu_inject(t.v, "'kind': 'gart-lost', 'count': 1");
    qvgpu_pkt_fence(&kq, GART_VA, 1);
    qvgpu_pkt_fence(&kq, GART_VA + 4, 2);
    qvgpu_sdma_finish(&kq);
    g_assert_cmpuint(qvgpu_inject_fired(t.v, pte), ==, 0);
    g_assert_cmpuint(qvgpu_inject_fired(t.v, lost), ==, 1);
    /*
     * The injection gart-lost makes the first write fault. This write has no
     * effect, because VMID 0 does not retry.
     */
    qvgpu_ih_next(t.v, &irq);
    g_assert_cmphex(irq.data[1] & IH_FAULT_D1__RETRY, ==, 0);
    g_assert_cmphex(qtest_readl(t.v->qts, t.mem), ==, 0);
    g_assert_cmphex(qtest_readl(t.v->qts, t.mem + 4), ==, 2);
    qvgpu_stop(t.v);
}

/*
 * Catches: gart-corrupt does not affect the page table of VMID 0; pte-corrupt
 * affects the page table of VMID 0; an invalidation does not end the
 * corruption.
 */
static void test_gart_corrupt(void)
{
    QVGPUSdma kq;
    uint32_t id;
    Inject t;

    gart_start(&t, &kq);
    g_assert_cmphex(t.mem & QVGPU_PAGE, ==, 0);
    qvgpu_inject(t.v, "'kind': 'pte-corrupt', 'xor': 8192");
    id = qvgpu_inject(t.v, "'kind': 'gart-corrupt', 'count': 1, 'xor': 4096");
    qvgpu_pkt_fence(&kq, GART_VA, 1);
    qvgpu_pkt_fence(&kq, GART_VA + 4, 2);
    qvgpu_sdma_finish(&kq);
    g_assert_cmphex(qtest_readq(t.v->qts, t.mem), ==, 0);
    g_assert_cmphex(qtest_readq(t.v->qts, t.mem + QVGPU_PAGE), ==,
                    0x200000001ull);
    g_assert_cmpuint(qvgpu_inject_fired(t.v, id), ==, 1);
    qvgpu_invalidate(t.v, 1);
    qvgpu_pkt_fence(&kq, GART_VA, 3);
    qvgpu_sdma_finish(&kq);
    g_assert_cmphex(qtest_readl(t.v->qts, t.mem), ==, 3);
    qvgpu_stop(t.v);
}

/* Catches: gart-late returns the old entry for too many walks, or for none. */
static void test_gart_late(void)
{
    uint64_t entry;
    QVGPUSdma kq;
    uint32_t id;
    unsigned i;
    Inject t;

    entry = gart_start(&t, &kq);
    id = qvgpu_inject(t.v, "'kind': 'gart-late', 'walks': 2");
    for (i = 1; i <= 4; i++) {
        uint64_t page = t.mem + (i < 4 ? 0 : QVGPU_PAGE);

        qvgpu_pkt_fence(&kq, GART_VA, i);
        qvgpu_sdma_finish(&kq);
        /*
         * Rounds 1 to 3 must write to the first page: after round 1 the GART
         * entry changes, but the injection delays the change for two walks.
         * Round 4 must write to the second page.
         */
        g_assert_cmphex(qtest_readl(t.v->qts, page), ==, i);
        /*
         * Let the GART entry map the second page. Only round 1 changes the
         * entry. Later rounds write the same value again.
         */
        qtest_writeq(t.v->qts, entry, qvgpu_entry(t.v, t.mem + QVGPU_PAGE,
                                                  QVGPU_PTE_RW));
        qvgpu_invalidate(t.v, 1);
    }
    g_assert_cmpuint(qvgpu_inject_fired(t.v, id), ==, 1);
    qvgpu_stop(t.v);
}

void qvgpu_add_inject_tests(void)
{
    qtest_add_func("/vgpu-kfd/inject/command", test_command);
    qtest_add_func("/vgpu-kfd/inject/members", test_members);
    qtest_add_func("/vgpu-kfd/inject/skip-count", test_skip_count);
    qtest_add_func("/vgpu-kfd/inject/filter", test_filter);
    qtest_add_func("/vgpu-kfd/inject/seed", test_seed);
    qtest_add_func("/vgpu-kfd/inject/pte-corrupt", test_corrupt);
    qtest_add_func("/vgpu-kfd/inject/pte-late", test_late);
    qtest_add_func("/vgpu-kfd/inject/gart-lost", test_gart_lost);
    qtest_add_func("/vgpu-kfd/inject/gart-corrupt", test_gart_corrupt);
    qtest_add_func("/vgpu-kfd/inject/gart-late", test_gart_late);
}
