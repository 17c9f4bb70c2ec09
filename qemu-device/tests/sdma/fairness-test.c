/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: tests how SDMA queues and engines share the device. */
#include "qemu/osdep.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"
#include "tests/qtest/vgpu-kfd/lib/sdma-queue.h"
#include "tests/qtest/vgpu-kfd/sdma/suite.h"

#define QUEUES      (SDMA_NUM_ENGINES * SDMA_NUM_RLC)
#define SHARE       (64 * MiB)
#define RING        (128 * KiB)

/*
 * Return the bytes per packet of queue @i. The packets of queues differ in
 * size, so that a fair share in bytes is not a fair share in packets.
 */
static uint64_t packet_bytes(unsigned i)
{
    static const uint64_t bytes[] = { 64 * KiB, 1 * MiB, 300 * KiB, 128 * KiB };

    return bytes[i % ARRAY_SIZE(bytes)];
}

static void fill_ring(QVGPUSdma *q, uint64_t src, uint64_t dst,
                      uint64_t bytes)
{
    uint64_t start = q->wptr, packet = SDMA_COPY_LINEAR_DWORDS * 4;

    while (q->wptr + packet <= q->bytes &&
           (q->wptr - start) / packet * bytes < 4 * SHARE) {
        qvgpu_pkt_copy(q, src, dst, bytes);
    }
}

/*
 * Catches: 40 busy queues get equal numbers of packets instead of bytes; the
 * host's scheduler makes some engines faster.
 */
static void test_fair(void)
{
    QVGPU *v = qvgpu_start();
    uint64_t src = qvgpu_alloc(v, QVGPU_RAM, 1 * MiB, QVGPU_PAGE);
    uint64_t dst = qvgpu_alloc(v, QVGPU_VRAM, 1 * MiB, QVGPU_PAGE);
    uint64_t start[QUEUES], copied;
    double got[QUEUES], sum = 0, least = 1e9, most = 0;
    QVGPUSdma q[QUEUES];
    unsigned i;

    for (i = 0; i < QUEUES; i++) {
        qvgpu_sdma_init_ring(&q[i], v, i % SDMA_NUM_ENGINES,
                             SDMA_QUEUE_RLC(i / SDMA_NUM_ENGINES), NULL,
                             QVGPU_VRAM, RING);
        qvgpu_sdma_load(&q[i]);
        fill_ring(&q[i], qvgpu_mc(v, src), qvgpu_mc(v, dst), packet_bytes(i));
    }
    qtest_qmp_assert_success(v->qts, "{ 'execute': 'stop' }");
    for (i = 0; i < QUEUES; i++) {
        qvgpu_sdma_kick(&q[i]);
    }
    qtest_qmp_assert_success(v->qts, "{ 'execute': 'cont' }");
    /*
     * Count the bytes from a time at which all queues run. Stop the machine to
     * read the rptrs of all queues at the same time.
     */
    for (i = 0; i < QUEUES; i++) {
        qvgpu_wait_until(qvgpu_sdma_rptr(&q[i]));
    }
    qtest_qmp_assert_success(v->qts, "{ 'execute': 'stop' }");
    for (i = 0; i < QUEUES; i++) {
        start[i] = qvgpu_sdma_rptr(&q[i]);
    }
    copied = qvgpu_counter(v, VGPU_CNT_BYTES_COPIED);
    qtest_qmp_assert_success(v->qts, "{ 'execute': 'cont' }");
    qvgpu_wait_until(qvgpu_counter(v, VGPU_CNT_BYTES_COPIED) - copied >
                     QUEUES * SHARE);
    qtest_qmp_assert_success(v->qts, "{ 'execute': 'stop' }");
    for (i = 0; i < QUEUES; i++) {
        uint64_t packets = (qvgpu_sdma_rptr(&q[i]) - start[i]) /
                           (SDMA_COPY_LINEAR_DWORDS * 4);

        g_assert_cmphex(qvgpu_sdma_rptr(&q[i]), <, q[i].wptr);
        got[i] = packets * packet_bytes(i) / (double)MiB;
        sum += got[i];
        least = MIN(least, got[i]);
        most = MAX(most, got[i]);
    }
    g_test_message("%.1f MiB on average, %.1f to %.1f", sum / QUEUES, least,
                   most);
    g_assert_cmpfloat(least, >, 0.9 * sum / QUEUES);
    g_assert_cmpfloat(most, <, 1.1 * sum / QUEUES);
    qvgpu_stop(v);
}

/*
 * Catches: an engine waits for another engine whose work makes no progress. The
 * other engine is frozen, polls, or stalls on a fault.
 */
static void test_laggard(void)
{
    QVGPU *v = qvgpu_start();
    uint64_t src = qvgpu_alloc(v, QVGPU_RAM, 1 * MiB, QVGPU_PAGE);
    uint64_t dst = qvgpu_alloc(v, QVGPU_VRAM, 1 * MiB, QVGPU_PAGE);
    uint64_t at = qvgpu_ram_page(v);
    QVGPUSpace space;
    QVGPUSdma q, lag[3];
    unsigned i;

    qvgpu_time_passes(v);
    qvgpu_space_init(&space, v, 3, QVGPU_VRAM);
    for (i = 0; i < 3; i++) {
        qvgpu_sdma_open(&lag[i], v, 1 + i, SDMA_QUEUE_RLC(0),
                        i ? NULL : &space);
        if (i == 0) {
            qvgpu_pkt_fence(&lag[i], 0x1000, 1);
        } else if (i == 1) {
            qvgpu_pkt_poll_mem(&lag[i], QVGPU_POLL_EQ, qvgpu_mc(v, at), 1,
                               UINT32_MAX, QVGPU_POLL_FOREVER);
        } else {
            qvgpu_wr(v, SDMA_ENGINE(1 + i) + SDMA_FREEZE, SDMA_FREEZE__FREEZE);
            qvgpu_pkt_fence(&lag[i], qvgpu_mc(v, at), 1);
        }
        qvgpu_sdma_kick(&lag[i]);
    }
    qvgpu_sdma_init_ring(&q, v, 0, SDMA_QUEUE_RLC(0), NULL, QVGPU_VRAM, RING);
    qvgpu_sdma_load(&q);
    fill_ring(&q, qvgpu_mc(v, src), qvgpu_mc(v, dst), 1 * MiB);
    qvgpu_sdma_finish(&q);
    for (i = 0; i < 3; i++) {
        g_assert_false(qvgpu_sdma_idle(&lag[i]));
    }
    qvgpu_stop(v);
}

void qvgpu_add_fairness_tests(void)
{
    qtest_add_func("/vgpu-kfd/sdma-share/fair", test_fair);
    qtest_add_func("/vgpu-kfd/sdma-share/laggard", test_laggard);
}
