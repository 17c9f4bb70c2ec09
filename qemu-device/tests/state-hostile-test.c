/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: saved state that cannot be, and images that make it so. */
#include "qemu/osdep.h"
#include <glib/gstdio.h>
#include "vgpu-qos-hws.h"

#define VMID        6
#define DST         0x2222a1b20000ull
#define AT          (DST + 0x340)       /* a quadword that stands out */

/*
 * Catches: a saved packet that is loaded although it exceeds its indirect
 * buffer, or has another length than its header says: an engine never finishes
 * such a WRITE. Offsets count from the stall's address (vmstate_vgpu_stall).
 */
static void test_packet(void)
{
    enum { PAYLOAD = 12, AT_IB_SIZE = 33, AT_NDW = 123 };
    const unsigned dwords = SDMA_WRITE_LINEAR_DWORDS + PAYLOAD;
    uint32_t dw[SDMA_WRITE_LINEAR_DWORDS + PAYLOAD] = {
        SDMA_PKT(SDMA_OP_WRITE, SDMA_SUBOP_WRITE_LINEAR),
        QVGPU_LO(AT), QVGPU_HI(AT), PAYLOAD - 1, 1, 2, 3, 4,
    };
    g_autofree char *file = NULL;
    QVGPUSpace space;
    uint64_t ib, dst;
    QVGPUQueue q;
    unsigned slot;
    uint32_t n;

    QVGPU *v = qvgpu_start();

    qvgpu_space_init(&space, v, VMID, QVGPU_RAM);
    qvgpu_queue_open(&q, v, 1, SDMA_QUEUE_RLC(2), &space);
    dst = qvgpu_ram_page(v);
    qvgpu_emit(&q, dw, dwords);
    ib = qvgpu_to_buffer(&q, 0, &n);
    qvgpu_pkt_indirect(&q, 0, qvgpu_space_place(&space, ib, QVGPU_PAGE), n);
    qvgpu_kick(&q);
    slot = qvgpu_ih_next_fault(v, VMID, DST, true, true);

    file = qvgpu_save_restore(v, true);
    g_assert_true(qvgpu_loads_with(v, file, AT, AT_IB_SIZE, dwords));
    g_assert_false(qvgpu_loads_with(v, file, AT, AT_IB_SIZE, dwords - 1));
    g_assert_false(qvgpu_loads_with(v, file, AT, AT_NDW, dwords - 1));
    g_assert_false(qvgpu_loads_with(v, file, AT, AT_NDW, dwords + 1));
    g_unlink(file);

    qvgpu_cont(v);
    qvgpu_space_map(&space, DST, dst, QVGPU_PAGE);
    qvgpu_cam_ack(v, slot);
    qvgpu_finish(&q);
    for (n = 0; n < PAYLOAD; n++) {
        g_assert_cmphex(qtest_readl(v->qts, dst + AT - DST + 4 * n), ==,
                        dw[SDMA_WRITE_LINEAR_DWORDS + n]);
    }
    qvgpu_stop(v);
}

/*
 * Catches: garbage in the unused buffer entries of an MQD that the device keeps
 * and saves, so that its own saved state is refused.
 */
static void test_image(void)
{
    uint32_t map[7];
    QVGPUSpace space;
    QVGPUUserSdma u;
    uint64_t dst;
    QVGPUHws h;
    unsigned i;

    QVGPU *v = qvgpu_start();

    qvgpu_space_init(&space, v, VMID, QVGPU_RAM);
    qvgpu_hws_init(&h, v);
    dst = qvgpu_ram_page(v);
    qvgpu_space_map(&space, DST, dst, QVGPU_PAGE);
    qvgpu_user_sdma_init(&u, v, &space, 3, 0);
    /* The two buffers are what an image's work ends with. */
    for (i = SDMA_MQD_DWORDS - 10; i < SDMA_MQD_DWORDS; i++) {
        qtest_writel(v->qts, u.mqd + 4 * i, UINT32_MAX);
    }
    qvgpu_user_sdma_map(&u, 0, map);
    qvgpu_pm4(&h.hiq, map, ARRAY_SIZE(map));
    qvgpu_hws_sync(&h);
    qvgpu_save_restore(v, false);
    qvgpu_cont(v);
    qvgpu_pkt_fence(&u.q, AT, 0x600d);
    qvgpu_user_sdma_kick(&u);
    qvgpu_user_sdma_finish(&u);
    g_assert_cmphex(qtest_readl(v->qts, dst + AT - DST), ==, 0x600d);
    qvgpu_stop(v);
}

/*
 * Catches: VMID 0 among those that the scheduler gives to processes, which
 * get their page table installed where the driver's mappings are.
 */
static void test_vmid_mask(void)
{
    enum { AT_VMID_MASK = 9 };          /* low byte: follows the queue mask */
    const uint64_t queues = 0xa5b6c7d8e9f00112ull;
    g_autofree char *file = NULL;
    QVGPUHws h;

    QVGPU *v = qvgpu_start();

    qvgpu_hws_init(&h, v);
    qvgpu_hws_resources(&h, 0x1202, queues);
    qvgpu_hws_sync(&h);
    file = qvgpu_save_restore(v, true);
    g_assert_true(qvgpu_loads_with(v, file, queues, AT_VMID_MASK, 0x04));
    g_assert_false(qvgpu_loads_with(v, file, queues, AT_VMID_MASK, 0x03));
    g_unlink(file);
    qvgpu_stop(v);
}

void qvgpu_add_state_hostile_tests(void)
{
    qtest_add_func("/vgpu-kfd/state/refused/image", test_image);
    qtest_add_func("/vgpu-kfd/state/refused/packet", test_packet);
    qtest_add_func("/vgpu-kfd/state/refused/vmid-mask", test_vmid_mask);
}
