/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: tests injections into SDMA engines and doorbells. */
#include "qemu/osdep.h"
#include "qobject/qdict.h"
#include "qobject/qlist.h"
#include "tests/qtest/vgpu-kfd/inject/suite.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"
#include "tests/qtest/vgpu-kfd/lib/qmp.h"
#include "tests/qtest/vgpu-kfd/lib/sdma-queue.h"

#define LEN     (64 * KiB)

typedef struct Sdma {
    QVGPU *v;
    QVGPUSdma q;                /* engine 0, kernel queue */
    QVGPUSdma other;            /* engine 1, kernel queue */
    uint64_t src, dst;
} Sdma;

static void sdma_start(Sdma *t)
{
    t->v = qvgpu_start();
    qvgpu_sdma_open(&t->q, t->v, 0, SDMA_QUEUE_GFX, NULL);
    qvgpu_sdma_open(&t->other, t->v, 1, SDMA_QUEUE_GFX, NULL);
    t->src = qvgpu_alloc(t->v, QVGPU_VRAM, LEN, QVGPU_PAGE);
    t->dst = qvgpu_alloc(t->v, QVGPU_VRAM, LEN, QVGPU_PAGE);
    qvgpu_fill(t->v, t->src, 1, 0, LEN);
}

static void copy(Sdma *t, QVGPUSdma *q)
{
    qvgpu_pkt_copy(q, qvgpu_mc(t->v, t->src), qvgpu_mc(t->v, t->dst), LEN);
}

static bool hangs(QVGPU *v, unsigned engine)
{
    QDict *info = qvgpu_query(v);
    QListEntry *entry;
    bool hung = false;

    QLIST_FOREACH_ENTRY(qdict_get_qlist(info, "engines"), entry) {
        QDict *e = qobject_to(QDict, qlist_entry_obj(entry));

        if (qdict_get_int(e, "engine") == engine) {
            hung = qdict_get_bool(e, "hung");
        }
    }
    qobject_unref(info);
    return hung;
}

/*
 * Catches: a hang ends when the queue is disabled or the engine is frozen; a
 * hang affects other engines; a reset does not end a hang.
 */
static void test_hang(void)
{
    Sdma t;
    uint32_t id;

    sdma_start(&t);
    id = qvgpu_inject(t.v, "'kind': 'sdma-hang', 'engine': 0, 'skip': 1, "
                      "'count': 1");
    qvgpu_pkt_fence(&t.q, qvgpu_mc(t.v, t.dst), 1);
    copy(&t, &t.q);
    qvgpu_sdma_kick(&t.q);
    qvgpu_wait_until(hangs(t.v, 0));
    g_assert_cmpuint(qvgpu_inject_fired(t.v, id), ==, 1);
    g_assert_cmphex(qtest_readl(t.v->qts, t.dst), ==, 1);
    qvgpu_sdma_wr(&t.q, SDMA_RB_CNTL, t.q.cntl);
    g_assert_false(qvgpu_sdma_idle(&t.q));
    qvgpu_wr(t.v, SDMA_ENGINE(0) + SDMA_FREEZE, SDMA_FREEZE__FREEZE);
    g_assert_cmphex(qvgpu_rd(t.v, SDMA_ENGINE(0) + SDMA_FREEZE) &
                    SDMA_FREEZE__FROZEN, ==, 0);
    g_assert_cmphex(qvgpu_rd(t.v, SDMA_ENGINE(0) + SDMA_STATUS_REG) &
                    SDMA_STATUS_REG__IDLE, ==, 0);

    copy(&t, &t.other);
    qvgpu_sdma_finish(&t.other);
    qvgpu_expect(t.v, t.dst, 1, 0, LEN);
    g_assert_true(hangs(t.v, 0));
    g_assert_false(hangs(t.v, 1));

    qtest_system_reset(t.v->qts);
    g_assert_false(hangs(t.v, 0));
    qvgpu_stop(t.v);
}

/*
 * Catches: sdma-slow lets an engine copy faster than the limit, or copy wrong
 * data.
 */
static void test_slow(void)
{
    Sdma t;
    uint64_t start;
    uint32_t id;

    sdma_start(&t);
    qvgpu_time_passes(t.v);
    id = qvgpu_inject(t.v, "'kind': 'sdma-slow', 'engine': 0, "
                      "'bytes-per-second': %u", (unsigned)(LEN * 10));
    qvgpu_inject_refused(t.v, "'kind': 'sdma-slow', 'bytes-per-second': 0");
    copy(&t, &t.q);
    qvgpu_pkt_fence(&t.q, qvgpu_mc(t.v, t.src), 0);
    start = qvgpu_clock(t.v);
    qvgpu_sdma_finish(&t.q);
    g_assert_cmpuint(qvgpu_clock(t.v) - start, >=, VGPU_CLOCK_HZ / 10);
    qvgpu_expect(t.v, t.dst, 1, 0, LEN);
    g_assert_cmpuint(qvgpu_inject_fired(t.v, id), ==, 1);
    qvgpu_stop(t.v);
}

/*
 * Return the offset of the wrong byte in the destination, or LEN if no byte is
 * wrong. Fails the test if several bytes are wrong.
 */
static uint64_t wrong_byte(Sdma *t)
{
    g_autofree uint8_t *a = g_malloc(LEN);
    g_autofree uint8_t *b = g_malloc(LEN);
    uint64_t i, at = LEN;

    qtest_memread(t->v->qts, t->src, a, LEN);
    qtest_memread(t->v->qts, t->dst, b, LEN);
    for (i = 0; i < LEN; i++) {
        if (a[i] != b[i]) {
            g_assert_cmpuint(at, ==, LEN);
            at = i;
        }
    }
    return at;
}

/*
 * Catches: sdma-wrong-byte changes no byte or several bytes; the changed byte
 * does not depend on the seed.
 */
static void test_wrong_byte(void)
{
    uint64_t at[3];
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(at); i++) {
        Sdma t;
        uint32_t id;

        sdma_start(&t);
        id = qvgpu_inject(t.v, "'kind': 'sdma-wrong-byte', 'seed': %u, "
                          "'dst-va': %" PRIu64 ", 'length': 1, 'count': 1",
                          i / 2, qvgpu_mc(t.v, t.dst));
        copy(&t, &t.q);
        qvgpu_sdma_finish(&t.q);
        at[i] = wrong_byte(&t);
        g_assert_cmpuint(at[i], <, LEN);
        g_assert_cmpuint(qvgpu_inject_fired(t.v, id), ==, 1);
        copy(&t, &t.q);
        qvgpu_sdma_finish(&t.q);
        g_assert_cmpuint(wrong_byte(&t), ==, LEN);
        qvgpu_stop(t.v);
    }
    g_assert_cmpuint(at[0], ==, at[1]);
    g_assert_cmpuint(at[0], !=, at[2]);
}

/* Catches: a lost doorbell has an effect; the next doorbell is lost as well. */
static void test_doorbell_lost(void)
{
    Sdma t;
    uint32_t id;

    sdma_start(&t);
    qvgpu_sdma_disable(&t.q);
    t.q.doorbell = DOORBELL_SDMA(0) * 8;
    qvgpu_sdma_load(&t.q);
    id = qvgpu_inject(t.v, "'kind': 'doorbell-lost', 'engine': 0, "
                      "'queue': %u, 'count': 1", SDMA_QUEUE_GFX);
    qvgpu_pkt_fence(&t.q, qvgpu_mc(t.v, t.dst), 1);
    qvgpu_sdma_kick(&t.q);
    g_assert_cmpuint(qvgpu_inject_fired(t.v, id), ==, 1);
    g_assert_cmphex(qvgpu_sdma_rd(&t.q, SDMA_RB_WPTR), ==, 0);
    g_assert_true(qvgpu_sdma_idle(&t.q));
    qvgpu_sdma_finish(&t.q);
    g_assert_cmphex(qtest_readl(t.v->qts, t.dst), ==, 1);

    /* The doorbell of the IH's read pointer is lost once. */
    id = qvgpu_inject(t.v, "'kind': 'doorbell-lost', 'doorbell': %u, "
                      "'length': 4, 'count': 1", DOORBELL_IH * 8);
    qtest_writel(t.v->qts, t.v->bar[VGPU_BAR_DOORBELL] + DOORBELL_IH * 8, 32);
    g_assert_cmphex(qvgpu_rd(t.v, IH_RB_RPTR), ==, 0);
    g_assert_cmpuint(qvgpu_inject_fired(t.v, id), ==, 1);
    qtest_writel(t.v->qts, t.v->bar[VGPU_BAR_DOORBELL] + DOORBELL_IH * 8, 32);
    g_assert_cmphex(qvgpu_rd(t.v, IH_RB_RPTR), ==, 32);
    qvgpu_stop(t.v);
}

void qvgpu_add_inject_sdma_tests(void)
{
    qtest_add_func("/vgpu-kfd/inject/sdma-hang", test_hang);
    qtest_add_func("/vgpu-kfd/inject/sdma-slow", test_slow);
    qtest_add_func("/vgpu-kfd/inject/sdma-wrong-byte", test_wrong_byte);
    qtest_add_func("/vgpu-kfd/inject/doorbell-lost", test_doorbell_lost);
}
