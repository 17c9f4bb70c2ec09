/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: saved state that cannot be, and images that make it so. */
#include "qemu/osdep.h"
#include <glib/gstdio.h>
#include "vgpu-qos-hws.h"

#define VMID        6
#define DST         0x2222a1b20000ull
#define AT          (DST + 0x340)       /* a quadword that stands out */

/*
 * A packet in the saved state that reaches beyond its indirect buffer, or whose
 * length is not what its header says. Catches: an engine that fetches payload
 * where the buffer has none. Offsets are from the address of the stall: see
 * vmstate_vgpu_stall and vmstate_vgpu_exec.
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

void qvgpu_add_state_hostile_tests(void)
{
    qtest_add_func("/vgpu-kfd/state/refused/packet", test_packet);
}
