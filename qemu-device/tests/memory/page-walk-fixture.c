/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"
#include "tests/qtest/vgpu-kfd/lib/ih.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"
#include "tests/qtest/vgpu-kfd/lib/sdma-queue.h"
#include "tests/qtest/vgpu-kfd/memory/page-walk-fixture.h"

void page_walk_start_in(PageWalk *w, QVGPUKind tables)
{
    w->v = qvgpu_start();
    qvgpu_space_init(&w->space, w->v, PAGE_WALK_VMID, tables);
    qvgpu_space_set_retry(&w->space, false);
    qvgpu_sdma_open(&w->q, w->v, 0, SDMA_QUEUE_RLC(0), &w->space);
    w->dst = qvgpu_alloc(w->v, QVGPU_RAM, 64 * KiB, QVGPU_PAGE);
    w->dst_va = qvgpu_space_place(&w->space, w->dst, 64 * KiB);
}

void page_walk_start(PageWalk *w)
{
    page_walk_start_in(w, QVGPU_VRAM);
}

void page_walk_copy(PageWalk *w, uint64_t src, uint64_t dst, uint64_t len)
{
    qvgpu_pkt_copy(&w->q, src, dst, len);
    qvgpu_sdma_finish(&w->q);
}

void page_walk_expect_at(PageWalk *w, uint64_t va, uint64_t seed, uint64_t from,
                         uint64_t len)
{
    page_walk_copy(w, va, w->dst_va, len);
    g_assert_cmphex(qvgpu_mm_rd(w->v, VM_L2_PROTECTION_FAULT_STATUS), ==, 0);
    qvgpu_expect(w->v, w->dst, seed, from, len);
}

void page_walk_clear_fault(PageWalk *w)
{
    qvgpu_mm_wr(w->v, VM_L2_PROTECTION_FAULT_CNTL, 0x3ffc |
                VM_L2_PROTECTION_FAULT_CNTL__CLEAR_STATUS_ADDR);
}

void page_walk_expect_fault(PageWalk *w, uint64_t va, bool write,
                            unsigned walker)
{
    uint32_t status;

    if (write) {
        page_walk_copy(w, w->dst_va, va, 4);
    } else {
        page_walk_copy(w, va, w->dst_va, 4);
        qvgpu_expect_byte(w->v, w->dst, 0, 4);
    }
    status = qvgpu_mm_rd(w->v, VM_L2_PROTECTION_FAULT_STATUS);
    g_assert_cmpuint(VGPU_GET(status, VM_L2_PROTECTION_FAULT_STATUS__VMID),
                     ==, PAGE_WALK_VMID);
    g_assert_cmpuint(VGPU_GET(status, VM_L2_PROTECTION_FAULT_STATUS__RW), ==,
                     write);
    g_assert_cmpuint(VGPU_GET(status,
                              VM_L2_PROTECTION_FAULT_STATUS__WALKER_ERROR),
                     ==, walker);
    g_assert_cmphex(qvgpu_mm_rd64(w->v, VM_L2_PROTECTION_FAULT_ADDR_LO32), ==,
                    va >> 12);
    qvgpu_ih_next_fault(w->v, PAGE_WALK_VMID, va, write, false);
    g_assert_false(qvgpu_ih_pending(w->v));
    page_walk_clear_fault(w);
}
