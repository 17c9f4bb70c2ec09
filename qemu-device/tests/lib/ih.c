/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Test-side driver of vgpu-kfd: sets up the interrupt ring and reads entries.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/ih.h"

void qvgpu_ih_init(QVGPU *v, unsigned order, uint32_t cntl)
{
    v->ih.bytes = 4u << order;
    v->ih.ring = qvgpu_alloc(v, QVGPU_RAM, v->ih.bytes, QVGPU_PAGE);
    v->ih.writeback = qvgpu_alloc(v, QVGPU_RAM, QVGPU_PAGE, QVGPU_PAGE);
    v->ih.rptr = 0;

    qvgpu_wr(v, IH_RB_CNTL, 0);
    qvgpu_wr(v, IH_RB_BASE, v->ih.ring >> 8);
    qvgpu_wr(v, IH_RB_BASE_HI, v->ih.ring >> 40);
    qvgpu_wr(v, IH_RB_WPTR_ADDR_LO, v->ih.writeback);
    qvgpu_wr(v, IH_RB_WPTR_ADDR_HI, v->ih.writeback >> 32);
    qvgpu_wr(v, IH_RB_RPTR, 0);
    qvgpu_wr(v, IH_RB_WPTR, 0);
    qvgpu_wr(v, IH_RB_CNTL, IH_RB_CNTL__RB_ENABLE |
             VGPU_PREP(IH_RB_CNTL__RB_SIZE, order) |
             IH_RB_CNTL__WPTR_WRITEBACK_ENABLE | IH_RB_CNTL__RPTR_REARM |
             VGPU_PREP(IH_RB_CNTL__MC_SPACE, 2u) | cntl);
}

uint32_t qvgpu_ih_writeback(QVGPU *v)
{
    return qtest_readl(v->qts, v->ih.writeback);
}

bool qvgpu_ih_pending(QVGPU *v)
{
    return (qvgpu_ih_writeback(v) & IH_RB_WPTR__OFFSET) != v->ih.rptr;
}

void qvgpu_ih_decode(QVGPU *v, uint32_t offset, QVGPUIrq *irq)
{
    uint32_t dw[IH_ENTRY_DWORDS];
    unsigned i;

    qtest_bufread(v->qts, v->ih.ring + offset, dw, sizeof(dw));
    for (i = 0; i < IH_ENTRY_DWORDS; i++) {
        dw[i] = le32_to_cpu(dw[i]);
    }
    *irq = (QVGPUIrq) {
        .client = VGPU_GET(dw[0], IH_DW0__CLIENT),
        .source = VGPU_GET(dw[0], IH_DW0__SOURCE),
        .ring = VGPU_GET(dw[0], IH_DW0__RING),
        .vmid = VGPU_GET(dw[0], IH_DW0__VMID),
        .mm_hub = dw[0] & IH_DW0__VMID_SRC,
        .timestamp = dw[1] |
                     (uint64_t)(dw[2] & IH_DW2__TIMESTAMP_HI) << 32,
        .pasid = VGPU_GET(dw[3], IH_DW3__PASID),
        .data = { dw[4], dw[5], dw[6], dw[7] },
    };
}

void qvgpu_ih_next(QVGPU *v, QVGPUIrq *irq)
{
    qvgpu_wait_until(qvgpu_ih_pending(v));
    qvgpu_ih_decode(v, v->ih.rptr, irq);
    v->ih.rptr = (v->ih.rptr + IH_ENTRY_BYTES) & (v->ih.bytes - 1);
    qvgpu_wr(v, IH_RB_RPTR, v->ih.rptr);
}

unsigned qvgpu_ih_next_fault(QVGPU *v, unsigned vmid, uint64_t va, bool write,
                             bool retry)
{
    QVGPUIrq irq;

    qvgpu_ih_next(v, &irq);
    g_assert_cmphex(irq.client, ==, IH_CLIENT_VMC);
    g_assert_cmpuint(irq.source, ==, IH_SRC_VM_FAULT);
    g_assert_cmphex(irq.ring, ==, IH_RING_FAULT_VALID |
                    (write ? IH_RING_FAULT_WRITE : IH_RING_FAULT_READ));
    g_assert_cmpuint(irq.vmid, ==, vmid);
    g_assert_true(irq.mm_hub);
    g_assert_cmphex(irq.pasid, ==, vmid ? QVGPU_PASID(vmid) : 0);
    g_assert_cmphex(irq.data[0], ==, (uint32_t)(va >> VGPU_PAGE_SHIFT));
    g_assert_cmphex(irq.data[1], ==, (uint32_t)(va >> 44 & 0xf) |
                    (write ? IH_FAULT_D1__WRITE : 0) |
                    (retry ? IH_FAULT_D1__RETRY : 0));
    if (retry) {
        g_assert_cmpuint(irq.data[2], <, VGPU_RETRY_CAM_SLOTS);
    }
    return VGPU_GET(irq.data[2], IH_FAULT_D2__CAM_INDEX);
}

void qvgpu_cam_ack(QVGPU *v, unsigned slot)
{
    qvgpu_wr(v, IH_RETRY_CAM_ACK, slot);
}

bool qvgpu_msi_take(QVGPU *v)
{
    bool came;

    qvgpu_main_loop_pass(v);
    came = qtest_readl(v->qts, v->msi);
    if (came) {
        /* Without this condition, an MSI after the read would be lost. */
        qtest_writel(v->qts, v->msi, 0);
    }
    return came;
}

void qvgpu_msi_wait(QVGPU *v)
{
    qvgpu_wait_until(qvgpu_msi_take(v));
}
