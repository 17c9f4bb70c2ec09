/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: tests SDMA copies from scattered pages, copies with two
 * destinations, and copies of rectangles.
 */
#include "qemu/osdep.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/ih.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"
#include "tests/qtest/vgpu-kfd/lib/sdma-queue.h"
#include "tests/qtest/vgpu-kfd/sdma/suite.h"

#define VMID    4

static void pkt_broadcast(QVGPUSdma *q, uint64_t src, uint64_t dst1,
                          uint64_t dst2, uint64_t bytes)
{
    QVGPU_EMIT(q, SDMA_PKT(SDMA_OP_COPY, SDMA_SUBOP_COPY_LINEAR) |
               SDMA_COPY_LINEAR__BROADCAST, bytes - 1, 0, QVGPU_LO(src),
               QVGPU_HI(src), QVGPU_LO(dst1), QVGPU_HI(dst1), QVGPU_LO(dst2),
               QVGPU_HI(dst2));
}

/*
 * Catches: the copy to the second destination is missing, too short or too
 * long; the broadcast packet is parsed as a packet of 7 dwords, so that the
 * fence is lost.
 */
static void test_broadcast(void)
{
    static const uint64_t sizes[] = { 1, 5, 4096, 70001, 5 * MiB + 3 };
    QVGPU *v = qvgpu_start();
    uint64_t span = 6 * MiB, src, dst[2], fence = qvgpu_ram_page(v);
    uint64_t sum = 0;
    unsigned i, n;
    QVGPUSdma q;

    qvgpu_sdma_open(&q, v, 0, SDMA_QUEUE_GFX, NULL);
    src = qvgpu_alloc(v, QVGPU_RAM, span, QVGPU_PAGE);
    dst[0] = qvgpu_alloc(v, QVGPU_VRAM, span, QVGPU_PAGE);
    dst[1] = qvgpu_alloc(v, QVGPU_RAM, span, QVGPU_PAGE);
    qvgpu_fill(v, src, 1, 0, span);
    for (i = 0; i < ARRAY_SIZE(sizes); i++) {
        for (n = 0; n < 2; n++) {
            qvgpu_fill(v, dst[n], 2, 0, span);
        }
        pkt_broadcast(&q, qvgpu_mc(v, src) + 3, qvgpu_mc(v, dst[0]) + 64,
                      qvgpu_mc(v, dst[1]) + 77, sizes[i]);
        qvgpu_pkt_fence(&q, qvgpu_mc(v, fence), i + 1);
        qvgpu_sdma_finish(&q);
        g_assert_cmphex(qtest_readl(v->qts, fence), ==, i + 1);
        for (n = 0; n < 2; n++) {
            uint64_t at = n ? 77 : 64;

            qvgpu_expect(v, dst[n], 2, 0, at);
            qvgpu_expect(v, dst[n] + at, 1, 3, sizes[i]);
            qvgpu_expect(v, dst[n] + at + sizes[i], 2, at + sizes[i], 64);
        }
        sum += sizes[i];
    }
    g_assert_cmpuint(qvgpu_counter(v, VGPU_CNT_BYTES_COPIED), ==, sum);
    qvgpu_stop(v);
}

/*
 * Every fourth page of each destination is unmapped, but never the same page of
 * both. Catches: bytes are lost or counted twice when one of the destinations
 * faults.
 */
static void test_broadcast_faults(void)
{
    enum { PAGES = 16 };
    const uint64_t len = PAGES * QVGPU_PAGE, at[2] = { 0x10000000, 0x20000000 };
    QVGPU *v = qvgpu_start();
    uint64_t src = qvgpu_alloc(v, QVGPU_RAM, len, QVGPU_PAGE), dst[2], src_va;
    QVGPUSpace space;
    QVGPUSdma q;
    unsigned n, i;

    qvgpu_space_init(&space, v, VMID, QVGPU_VRAM);
    qvgpu_sdma_open(&q, v, 2, SDMA_QUEUE_RLC(1), &space);
    src_va = qvgpu_space_place(&space, src, len);
    qvgpu_fill(v, src, 1, 0, len);
    for (n = 0; n < 2; n++) {
        dst[n] = qvgpu_alloc(v, n, len, QVGPU_PAGE);
        for (i = 0; i < PAGES; i++) {
            if (i % 4 != n + 1) {
                qvgpu_space_map(&space, at[n] + i * QVGPU_PAGE,
                                dst[n] + i * QVGPU_PAGE, QVGPU_PAGE);
            }
        }
    }
    pkt_broadcast(&q, src_va, at[0], at[1], len);
    qvgpu_sdma_kick(&q);
    for (i = 0; i < PAGES; i++) {
        for (n = 0; n < 2; n++) {
            if (i % 4 == n + 1) {
                uint64_t va = at[n] + i * QVGPU_PAGE;
                unsigned slot = qvgpu_ih_next_fault(v, VMID, va, true, true);

                qvgpu_space_map(&space, va, dst[n] + i * QVGPU_PAGE,
                                QVGPU_PAGE);
                qvgpu_cam_ack(v, slot);
            }
        }
    }
    qvgpu_sdma_finish(&q);
    for (n = 0; n < 2; n++) {
        qvgpu_expect(v, dst[n], 1, 0, len);
    }
    g_assert_cmpuint(qvgpu_counter(v, VGPU_CNT_BYTES_COPIED), ==, len);
    g_assert_false(qvgpu_ih_pending(v));
    qvgpu_stop(v);
}

/*
 * A broadcast begins when 64 bytes of the time slice's 2 MiB are left. The end
 * of its source and its second destination are unmapped. Catches: the end of
 * the time slice shortens the piece of 4 KiB, so that the second destination
 * faults before the source does.
 */
static void test_broadcast_piece(void)
{
    enum { LEN = 2048, FILL = 2 * MiB - 64 };
    const uint64_t from = 0x10000000, to[2] = { 0x20000000, 0x30000000 };
    const uint64_t page = QVGPU_PAGE, before = page - LEN / 2;
    QVGPU *v = qvgpu_start();
    uint64_t src = qvgpu_alloc(v, QVGPU_RAM, 2 * page, page);
    uint64_t dst = qvgpu_alloc(v, QVGPU_RAM, 2 * page, page);
    uint64_t filled = qvgpu_alloc(v, QVGPU_VRAM, 2 * MiB, page);
    QVGPUSpace space;
    unsigned n, slot;
    QVGPUSdma q;

    qvgpu_space_init(&space, v, VMID, QVGPU_VRAM);
    qvgpu_sdma_open(&q, v, 2, SDMA_QUEUE_RLC(1), &space);
    qvgpu_fill(v, src, 1, 0, 2 * page);
    qvgpu_space_map(&space, from, src, page);
    qvgpu_space_map(&space, to[0], dst, page);
    qvgpu_pkt_fill(&q, qvgpu_space_place(&space, filled, 2 * MiB), 7, FILL, 4);
    pkt_broadcast(&q, from + before, to[0], to[1], LEN);
    qvgpu_sdma_kick(&q);
    slot = qvgpu_ih_next_fault(v, VMID, from + page, false, true);
    qvgpu_space_map(&space, from + page, src + page, page);
    qvgpu_cam_ack(v, slot);
    slot = qvgpu_ih_next_fault(v, VMID, to[1], true, true);
    qvgpu_space_map(&space, to[1], dst + page, page);
    qvgpu_cam_ack(v, slot);
    qvgpu_sdma_finish(&q);
    for (n = 0; n < 2; n++) {
        qvgpu_expect(v, dst + n * page, 1, before, LEN);
    }
    qvgpu_stop(v);
}

/*
 * Copy scattered pages to contiguous memory. Catches: the device translates the
 * destination again for each page of the source; bytes after the end of a page
 * go to the wrong address.
 */
static void test_scattered_source(void)
{
    enum { PAGES = 64 };
    const uint64_t from = 0x10000000, to = 0x20000000, skew = 100;
    const uint64_t len = PAGES * QVGPU_PAGE;
    QVGPU *v = qvgpu_start();
    uint64_t src, dst, hits = 0;
    QVGPUSpace space;
    QVGPUSdma q;
    unsigned i;

    qvgpu_space_init(&space, v, VMID, QVGPU_VRAM);
    qvgpu_sdma_open(&q, v, 0, SDMA_QUEUE_RLC(0), &space);
    src = qvgpu_alloc(v, QVGPU_RAM, len, QVGPU_PAGE);
    dst = qvgpu_alloc(v, QVGPU_VRAM, 2 * MiB, 2 * MiB);
    for (i = 0; i < PAGES; i++) {
        /* The factor is odd, so that each page is mapped once. */
        uint64_t page = src + i * 37 % PAGES * QVGPU_PAGE;

        qvgpu_fill(v, page, 1, i * QVGPU_PAGE, QVGPU_PAGE);
        qvgpu_space_map(&space, from + i * QVGPU_PAGE, page, QVGPU_PAGE);
    }
    qvgpu_space_set(&space, to, VGPU_LEVEL_PDB0,
                    qvgpu_entry(v, dst, QVGPU_PTE_RW));
    /* The first copy fills the TLB. */
    for (i = 0; i < 2; i++) {
        qtest_memset(v->qts, dst, 0, len);
        hits = qvgpu_counter(v, VGPU_CNT_TLB_HITS);
        qvgpu_pkt_copy(&q, from + skew, to + 5, len - skew);
        qvgpu_sdma_finish(&q);
        hits = qvgpu_counter(v, VGPU_CNT_TLB_HITS) - hits;
        qvgpu_expect_byte(v, dst, 0, 5);
        qvgpu_expect(v, dst + 5, 1, skew, len - skew);
        qvgpu_expect_byte(v, dst + 5 + len - skew, 0, skew - 5);
    }
    /*
     * Each page of the source counts two hits: one when the device looks for
     * contiguous pages, one when the device uses the translation. The packet,
     * its destination and the read pointer count a few more.
     */
    g_assert_cmpuint(hits, <, 5 * PAGES / 2);
    qvgpu_stop(v);
}

/*
 * A surface of a rectangle copy. All members except the address are in
 * elements.
 */
typedef struct Surface {
    uint64_t addr;              /* CPU address */
    uint32_t x, y, z, pitch, slice;
} Surface;

static void pkt_rect(QVGPUSdma *q, unsigned element, const Surface *src,
                     const Surface *dst, uint32_t w, uint32_t h, uint32_t d)
{
    const Surface *s[2] = { src, dst };
    unsigned i;

    QVGPU_EMIT(q, SDMA_PKT(SDMA_OP_COPY, SDMA_SUBOP_COPY_LINEAR_RECT) |
               VGPU_PREP(SDMA_COPY_RECT__ELEMENT, element));
    for (i = 0; i < 2; i++) {
        QVGPU_EMIT(q, QVGPU_LO(qvgpu_mc(q->v, s[i]->addr)),
                   QVGPU_HI(qvgpu_mc(q->v, s[i]->addr)),
                   s[i]->x | s[i]->y << 16,
                   s[i]->z | (s[i]->pitch - 1) << 13, s[i]->slice - 1);
    }
    QVGPU_EMIT(q, (w - 1) | (h - 1) << 16, d - 1);
}

/*
 * Catches: a parameter is read from another parameter's field; a parameter is
 * off by one; a position, a size or a pitch is not multiplied by the size of an
 * element.
 */
static void test_rect(void)
{
    static const struct {
        unsigned element;
        Surface src, dst;
        uint32_t w, h, d;
    } cases[] = {
        { 0, { 0, 3, 2, 1, 100, 2000 }, { 0, 5, 1, 0, 64, 1000 }, 31, 9, 3 },
        { 0, { 0, 0, 0, 0, 1, 1 }, { 0, 0, 0, 0, 7, 7 }, 1, 300, 1 },
        { 1, { 0, 1, 1, 1, 50, 700 }, { 0, 9, 3, 2, 77, 900 }, 40, 7, 2 },
        { 2, { 0, 2, 0, 0, 128, 1 }, { 0, 0, 4, 0, 60, 1 }, 60, 20, 1 },
        { 3, { 0, 0, 7, 0, 33, 400 }, { 0, 1, 0, 1, 20, 300 }, 11, 2, 5 },
        { 4, { 0, 1, 1, 1, 10, 90 }, { 0, 2, 2, 2, 11, 99 }, 8, 6, 4 },
    };
    enum { SPAN = 32 * KiB };
    QVGPU *v = qvgpu_start();
    g_autofree uint8_t *from = g_malloc(SPAN), *want = g_malloc(SPAN);
    g_autofree uint8_t *have = g_malloc(SPAN);
    uint64_t src = qvgpu_alloc(v, QVGPU_RAM, SPAN, QVGPU_PAGE);
    uint64_t dst = qvgpu_alloc(v, QVGPU_VRAM, SPAN, QVGPU_PAGE);
    unsigned i, x, y, z;
    QVGPUSdma q;

    qvgpu_sdma_open(&q, v, 0, SDMA_QUEUE_GFX, NULL);
    for (i = 0; i < ARRAY_SIZE(cases); i++) {
        Surface s = cases[i].src, d = cases[i].dst;
        unsigned bytes = 1 << cases[i].element;

        s.addr = src;
        d.addr = dst;
        qvgpu_fill(v, src, 10 + i, 0, SPAN);
        qvgpu_fill(v, dst, 20 + i, 0, SPAN);
        qtest_bufread(v->qts, src, from, SPAN);
        qtest_bufread(v->qts, dst, want, SPAN);
        for (z = 0; z < cases[i].d; z++) {
            for (y = 0; y < cases[i].h; y++) {
                for (x = 0; x < cases[i].w; x++) {
                    unsigned a = (s.z + z) * s.slice + (s.y + y) * s.pitch +
                                 s.x + x;
                    unsigned b = (d.z + z) * d.slice + (d.y + y) * d.pitch +
                                 d.x + x;

                    g_assert_cmpuint(MAX(a, b) * bytes + bytes, <=, SPAN);
                    memcpy(want + b * bytes, from + a * bytes, bytes);
                }
            }
        }
        pkt_rect(&q, cases[i].element, &s, &d, cases[i].w, cases[i].h,
                 cases[i].d);
        qvgpu_sdma_finish(&q);
        qtest_bufread(v->qts, dst, have, SPAN);
        g_test_message("case %u", i);
        g_assert_cmpmem(have, SPAN, want, SPAN);
    }
    qvgpu_stop(v);
}

/*
 * Catches: the largest rectangle (2^43 bytes) overflows a counter, blocks other
 * queues of its engine, or keeps its queue from being disabled.
 */
static void test_rect_largest(void)
{
    QVGPU *v = qvgpu_start();
    Surface page = { .addr = qvgpu_ram_page(v), .pitch = 1, .slice = 1 };
    QVGPUSdma q, kq;

    qvgpu_sdma_open(&kq, v, 0, SDMA_QUEUE_GFX, NULL);
    qvgpu_sdma_open(&q, v, 0, SDMA_QUEUE_PAGE, NULL);
    pkt_rect(&q, 4, &page, &page, 1 << 14, 1 << 14, 1 << 11);
    qvgpu_sdma_kick(&q);
    qvgpu_wait_until(qvgpu_counter(v, VGPU_CNT_BYTES_COPIED) > 4 * MiB);
    qvgpu_sdma_pass(&kq);
    g_assert_false(qvgpu_sdma_idle(&q));
    qvgpu_sdma_disable(&q);
    g_assert_cmphex(qvgpu_sdma_rptr(&q), ==, 0);
    qvgpu_stop(v);
}

void qvgpu_add_packet_copy_tests(void)
{
    qtest_add_func("/vgpu-kfd/sdma-copy/broadcast", test_broadcast);
    qtest_add_func("/vgpu-kfd/sdma-copy/broadcast-faults",
                   test_broadcast_faults);
    qtest_add_func("/vgpu-kfd/sdma-copy/broadcast-piece", test_broadcast_piece);
    qtest_add_func("/vgpu-kfd/sdma-copy/scattered-source",
                   test_scattered_source);
    qtest_add_func("/vgpu-kfd/sdma-copy/rect", test_rect);
    qtest_add_func("/vgpu-kfd/sdma-copy/rect-largest", test_rect_largest);
}
