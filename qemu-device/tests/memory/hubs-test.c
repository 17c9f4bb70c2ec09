/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: tests the two hubs with one client each: a compute queue uses the
 * GFX hub, and an SDMA queue uses the MM hub.
 */
#include "qemu/osdep.h"
#include "tests/qtest/vgpu-kfd/lib/compute-queue.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/ih.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"
#include "tests/qtest/vgpu-kfd/lib/sdma-queue.h"
#include "tests/qtest/vgpu-kfd/memory/suite.h"

#define VMID    3
#define VA      0x123450000ull

typedef struct Hubs {
    QVGPU *v;
    QVGPUSpace space;           /* page tables that both hubs use */
    QVGPUCompute c;
    QVGPUSdma q;
} Hubs;

static void hubs_start(Hubs *t)
{
    t->v = qvgpu_start();
    qvgpu_space_init(&t->space, t->v, VMID, QVGPU_VRAM);
    qvgpu_cp_setup(t->v);
    qvgpu_compute_init(&t->c, t->v, 1, 0, 0, &t->space);
    qvgpu_compute_load(&t->c);
    qvgpu_sdma_open(&t->q, t->v, 0, SDMA_QUEUE_RLC(0), &t->space);
}

/* The compute queue uses the GFX hub, and the SDMA queue uses the MM hub. */
static void write_both(Hubs *t, uint32_t val)
{
    qvgpu_pm4_write(&t->c, VA, val);
    qvgpu_compute_finish(&t->c);
    qvgpu_pkt_fence(&t->q, VA + 4, val);
    qvgpu_sdma_finish(&t->q);
}

/*
 * Catches: an invalidation in one hub also has an effect in the other hub; an
 * invalidation has no effect in its own hub.
 */
static void test_translations(void)
{
    Hubs t;
    uint64_t old, new;

    hubs_start(&t);
    old = qvgpu_ram_page(t.v);
    new = qvgpu_ram_page(t.v);
    qvgpu_space_map(&t.space, VA, old, QVGPU_PAGE);
    write_both(&t, 1);
    qvgpu_space_map(&t.space, VA, new, QVGPU_PAGE);
    qvgpu_invalidate_range(t.v, 1u << VMID, VA, 0);
    write_both(&t, 2);
    g_assert_cmphex(qtest_readl(t.v->qts, old), ==, 2);
    g_assert_cmphex(qtest_readl(t.v->qts, old + 4), ==, 1);
    g_assert_cmphex(qtest_readl(t.v->qts, new), ==, 0);
    g_assert_cmphex(qtest_readl(t.v->qts, new + 4), ==, 2);

    qvgpu_space_map(&t.space, VA, old, QVGPU_PAGE);
    qvgpu_gfx_wr(t.v, VM_INVALIDATE_ENG_ADDR_RANGE_LO32(4), VA >> 11);
    qvgpu_gfx_wr(t.v, VM_INVALIDATE_ENG_REQ(4),
                 1u << VMID | VM_INVALIDATE_ENG_REQ__L1_PTES);
    qvgpu_wait_until(qvgpu_gfx_rd(t.v, VM_INVALIDATE_ENG_ACK(4)) &
                     (1u << VMID));
    write_both(&t, 3);
    g_assert_cmphex(qtest_readl(t.v->qts, old), ==, 3);
    g_assert_cmphex(qtest_readl(t.v->qts, new + 4), ==, 3);
    qvgpu_stop(t.v);
}

/*
 * Catches: a fault of one hub is latched in the other hub, or is reported with
 * the PASID that the other hub has for the VMID.
 */
static void test_faults(void)
{
    Hubs t;
    QVGPUIrq irq;
    uint32_t status;

    hubs_start(&t);
    qvgpu_gfx_wr(t.v, VM_CONTEXT_CNTL(VMID),
                 qvgpu_gfx_rd(t.v, VM_CONTEXT_CNTL(VMID)) &
                 ~VM_CONTEXT_CNTL__RETRY_PERMISSION_OR_INVALID);
    qvgpu_wr(t.v, IH_VMID_LUT(VMID), 0x8999);
    qvgpu_pm4_write(&t.c, VA, 1);
    qvgpu_compute_kick(&t.c);
    qvgpu_ih_next(t.v, &irq);
    g_assert_cmphex(irq.client, ==, IH_CLIENT_UTCL2);
    g_assert_false(irq.mm_hub);
    g_assert_cmpuint(irq.vmid, ==, VMID);
    g_assert_cmphex(irq.pasid, ==, 0x8999);
    g_assert_cmphex(irq.data[0], ==, VA >> 12);
    g_assert_cmphex(irq.data[1], ==, IH_FAULT_D1__WRITE);
    status = qvgpu_gfx_rd(t.v, VM_L2_PROTECTION_FAULT_STATUS);
    g_assert_cmpuint(VGPU_GET(status, VM_L2_PROTECTION_FAULT_STATUS__VMID),
                     ==, VMID);
    g_assert_cmphex(qvgpu_gfx_rd(t.v, VM_L2_PROTECTION_FAULT_ADDR_LO32), ==,
                    VA >> 12);
    g_assert_cmphex(qvgpu_mm_rd(t.v, VM_L2_PROTECTION_FAULT_STATUS), ==, 0);

    /* The page also faults in the MM hub, where faults are retried. */
    qvgpu_pkt_fence(&t.q, VA, 1);
    qvgpu_sdma_kick(&t.q);
    qvgpu_ih_next_fault(t.v, VMID, VA, true, true);
    g_assert_cmphex(qvgpu_mm_rd(t.v, VM_L2_PROTECTION_FAULT_STATUS), ==, 0);
    qvgpu_stop(t.v);
}

/* Catches: a CAM slot of one hub matches a fault of the other hub. */
static void test_cam(void)
{
    Hubs t;
    QVGPUIrq irq;
    uint64_t page;
    unsigned gfx, mm;

    hubs_start(&t);
    page = qvgpu_ram_page(t.v);
    qvgpu_pm4_write(&t.c, VA, 5);
    qvgpu_compute_kick(&t.c);
    qvgpu_ih_next(t.v, &irq);
    g_assert_cmphex(irq.client, ==, IH_CLIENT_UTCL2);
    gfx = VGPU_GET(irq.data[2], IH_FAULT_D2__CAM_INDEX);
    qvgpu_pkt_fence(&t.q, VA + 4, 5);
    qvgpu_sdma_kick(&t.q);
    mm = qvgpu_ih_next_fault(t.v, VMID, VA, true, true);
    g_assert_cmpuint(gfx, !=, mm);
    qvgpu_space_map(&t.space, VA, page, QVGPU_PAGE);
    qvgpu_cam_ack(t.v, mm);
    qvgpu_sdma_finish(&t.q);
    g_assert_cmphex(qtest_readl(t.v->qts, page + 4), ==, 5);
    g_assert_cmphex(qtest_readl(t.v->qts, page), ==, 0);
    qvgpu_cam_ack(t.v, gfx);
    qvgpu_compute_finish(&t.c);
    g_assert_cmphex(qtest_readl(t.v->qts, page), ==, 5);
    qvgpu_stop(t.v);
}

void qvgpu_add_hubs_tests(void)
{
    qtest_add_func("/vgpu-kfd/hubs/translations", test_translations);
    qtest_add_func("/vgpu-kfd/hubs/faults", test_faults);
    qtest_add_func("/vgpu-kfd/hubs/cam", test_cam);
}
