/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: SDMA packets that copy. exec->done counts the bytes copied, so that
 * a stalled copy continues where it stopped.
 */
#include "qemu/osdep.h"
#include "vgpu/bits.h"
#include "vgpu/device_info.h"
#include "vgpu/pte.h"
#include "hw/misc/vgpu-kfd/core/counters.h"
#include "hw/misc/vgpu-kfd/sdma/packet.h"

#define ELEMENT_MAX     4       /* log2 of the largest element size in bytes */

static VGPUDmaResult sdma_copy_piece(VGPUSdmaEngine *e, VGPUExec *x,
                                     uint64_t dst, uint64_t src, uint64_t len)
{
    uint64_t n;
    VGPUDmaResult ret = vgpu_dma_copy(&x->mem, dst, src, len, &n);

    if (n) {
        vgpu_sdma_payload_advance(x, n);
        vgpu_count(e->s, VGPU_CNT_BYTES_COPIED, n);
    }
    return ret;
}

VGPUStep vgpu_sdma_copy_linear(VGPUSdmaEngine *e, VGPUQueue *q)
{
    VGPUExec *x = &q->exec;
    uint64_t len = VGPU_GET(x->dw[1], SDMA_COPY_LINEAR_DW1__COUNT) + 1ull;

    while (vgpu_sdma_payload_more(x, len)) {
        if (sdma_copy_piece(e, x, vgpu_dw64(&x->dw[5]) + x->done,
                            vgpu_dw64(&x->dw[3]) + x->done,
                            vgpu_sdma_payload_piece(x, len)) ==
            VGPU_DMA_STALL) {
            return VGPU_STEP_STALL;
        }
    }
    return vgpu_sdma_payload_step(x, len);
}

/*
 * Each piece is copied to both destinations. If one copy stalls, both copies of
 * the piece are repeated later.
 */
VGPUStep vgpu_sdma_copy_broadcast(VGPUSdmaEngine *e, VGPUQueue *q)
{
    VGPUExec *x = &q->exec;
    uint64_t len = VGPU_GET(x->dw[1], SDMA_COPY_LINEAR_DW1__COUNT) + 1ull;

    while (vgpu_sdma_payload_more(x, len)) {
        /*
         * A page at most, to limit the repetition after a stall. The end of the
         * time slice does not shorten the piece: the length decides which of
         * several faults comes first.
         */
        uint64_t n = MIN(len - x->done, VGPU_PAGE_SIZE);
        unsigned i;

        for (i = 0; i < 2; i++) {
            if (vgpu_dma_copy(&x->mem, vgpu_dw64(&x->dw[5 + 2 * i]) +
                              x->done, vgpu_dw64(&x->dw[3]) + x->done, n,
                              &n) == VGPU_DMA_STALL) {
                return VGPU_STEP_STALL;
            }
        }
        vgpu_sdma_payload_advance(x, n);
        vgpu_count(e->s, VGPU_CNT_BYTES_COPIED, n);
    }
    return vgpu_sdma_payload_step(x, len);
}

/*
 * Return the GPU address of element (@x, @y, @z) in the rectangle that @dw
 * describes. An element has 1 << @element bytes.
 */
static uint64_t sdma_rect_address(const uint32_t *dw, unsigned element,
                                  uint64_t x, uint64_t y, uint64_t z)
{
    uint64_t pitch = VGPU_GET(dw[3], SDMA_COPY_RECT_Z__PITCH) + 1ull;
    uint64_t slice = VGPU_GET(dw[4], SDMA_COPY_RECT_SLICE__PITCH) + 1ull;

    x += VGPU_GET(dw[2], SDMA_COPY_RECT_XY__X);
    y += VGPU_GET(dw[2], SDMA_COPY_RECT_XY__Y);
    z += VGPU_GET(dw[3], SDMA_COPY_RECT_Z__Z);
    return vgpu_dw64(dw) + ((z * slice + y * pitch + x) << element);
}

VGPUStep vgpu_sdma_copy_linear_rect(VGPUSdmaEngine *e, VGPUQueue *q)
{
    VGPUExec *x = &q->exec;
    unsigned element = VGPU_GET(x->dw[0], SDMA_COPY_RECT__ELEMENT);
    uint64_t row = (VGPU_GET(x->dw[11], SDMA_COPY_RECT_XY__X) + 1ull)
                   << element;
    uint64_t rows = VGPU_GET(x->dw[11], SDMA_COPY_RECT_XY__Y) + 1ull;
    /*
     * No overflow: X and Y have 14 bits each, Z has 11 bits, and @element is at
     * most 7. So the product is at most 2^(14 + 14 + 11 + 7).
     */
    uint64_t len = row * rows *
                   (VGPU_GET(x->dw[12], SDMA_COPY_RECT_Z__Z) + 1ull);

    if (element > ELEMENT_MAX) {
        return VGPU_STEP_BAD_PACKET;
    }
    while (vgpu_sdma_payload_more(x, len)) {
        uint64_t in_row = x->done % row, line = x->done / row;
        uint64_t src = sdma_rect_address(&x->dw[SDMA_COPY_RECT_SRC_DW], element,
                                         0, line % rows, line / rows) + in_row;
        uint64_t dst = sdma_rect_address(&x->dw[SDMA_COPY_RECT_DST_DW], element,
                                         0, line % rows, line / rows) + in_row;

        if (sdma_copy_piece(e, x, dst, src,
                            MIN(row - in_row,
                                vgpu_sdma_payload_piece(x, len))) ==
            VGPU_DMA_STALL) {
            return VGPU_STEP_STALL;
        }
    }
    return vgpu_sdma_payload_step(x, len);
}
