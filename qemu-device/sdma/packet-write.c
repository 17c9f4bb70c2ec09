/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: SDMA packets that write data from the packet: WRITE_LINEAR, fills,
 * page-table entries.
 */
#include "qemu/osdep.h"
#include "vgpu/bits.h"
#include "vgpu/device_info.h"
#include "hw/misc/vgpu-kfd/core/counters.h"
#include "hw/misc/vgpu-kfd/sdma/packet.h"

/*
 * The payload follows the fixed part of the packet in the ring or indirect
 * buffer, and may wrap at the end of the ring.
 */
VGPUStep vgpu_sdma_write_linear(VGPUSdmaEngine *e, VGPUQueue *q)
{
    VGPUExec *x = &q->exec;
    uint64_t dst = vgpu_dw64(&x->dw[1]) & ~3ull;
    uint64_t len = (x->ndw - SDMA_WRITE_LINEAR_DWORDS) * 4ull;

    while (vgpu_sdma_payload_more(x, len)) {
        uint64_t left, n, src;
        VGPUDmaResult access;

        src = vgpu_sdma_payload_address(x, SDMA_WRITE_LINEAR_DWORDS, &left);
        access = vgpu_dma_copy(&x->mem, dst + x->done, src,
                               MIN(left, vgpu_sdma_payload_piece(x, len)), &n);
        if (n) {
            vgpu_sdma_payload_advance(x, n);
        }
        if (access == VGPU_DMA_STALL) {
            return VGPU_STEP_STALL;
        }
    }
    return vgpu_sdma_payload_step(x, len);
}

VGPUStep vgpu_sdma_const_fill(VGPUSdmaEngine *e, VGPUQueue *q)
{
    VGPUExec *x = &q->exec;
    uint64_t dst = vgpu_dw64(&x->dw[1]);
    uint64_t len = VGPU_GET(x->dw[4], SDMA_CONST_FILL_DW4__COUNT) + 1ull;
    unsigned size = VGPU_GET(x->dw[0], SDMA_CONST_FILL__SIZE);
    uint32_t data = x->dw[3];

    switch (size) {
    case 0:
        data = (data & 0xff) * 0x01010101u;
        break;
    case 1:
        data = (data & 0xffff) * 0x00010001u;
        break;
    case 2:
        break;
    default:
        return VGPU_STEP_BAD_PACKET;
    }
    dst &= ~((1ull << size) - 1);
    len = ROUND_UP(len, 1ull << size);
    while (vgpu_sdma_payload_more(x, len)) {
        uint64_t n;

        if (vgpu_dma_fill(&x->mem, dst + x->done, data, x->done & 3,
                          vgpu_sdma_payload_piece(x, len), &n) ==
            VGPU_DMA_STALL) {
            return VGPU_STEP_STALL;
        }
        vgpu_sdma_payload_advance(x, n);
        vgpu_count(e->s, VGPU_CNT_BYTES_FILLED, n);
    }
    return vgpu_sdma_payload_step(x, len);
}

VGPUStep vgpu_sdma_ptepde_gen(VGPUSdmaEngine *e, VGPUQueue *q)
{
    VGPUExec *x = &q->exec;
    uint64_t dst = vgpu_dw64(&x->dw[1]) & ~7ull;
    uint64_t incr = vgpu_dw64(&x->dw[7]);
    uint64_t len = (VGPU_GET(x->dw[9], SDMA_PTEPDE_DW9__COUNT) + 1ull) * 8;

    while (vgpu_sdma_payload_more(x, len)) {
        uint64_t n;

        if (vgpu_dma_write_ptes(&x->mem, dst + x->done, vgpu_dw64(&x->dw[3]),
                                vgpu_dw64(&x->dw[5]) + x->done / 8 * incr, incr,
                                DIV_ROUND_UP(vgpu_sdma_payload_piece(x, len),
                                             8),
                                &n) == VGPU_DMA_STALL) {
            return VGPU_STEP_STALL;
        }
        vgpu_sdma_payload_advance(x, n * 8);
        vgpu_count(e->s, VGPU_CNT_PTES_WRITTEN, n);
    }
    return vgpu_sdma_payload_step(x, len);
}
