/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: where an SDMA queue's packets come from: the ring, which wraps, or
 * an indirect buffer.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "hw/misc/vgpu-kfd/sdma/internal.h"

unsigned vgpu_sdma_vmid(const VGPUExec *x)
{
    return x->ib_depth ? x->ib[x->ib_depth - 1].vmid : x->ring_vmid;
}

bool vgpu_sdma_priv(const VGPUExec *x)
{
    return x->priv && vgpu_sdma_vmid(x) == x->ring_vmid;
}

uint64_t vgpu_sdma_position(const VGPUExec *x, uint64_t pos, uint64_t *left)
{
    if (x->ib_depth) {
        const VGPUIndirect *ib = &x->ib[x->ib_depth - 1];

        *left = ib->size - pos;
        return ib->base + pos * 4;
    } else {
        uint64_t off = (pos * 4) & (x->ring_bytes - 1);

        *left = (x->ring_bytes - off) / 4;
        return x->ring_base + off;
    }
}

VGPUAccess vgpu_sdma_fetch(VGPUExec *x, uint64_t pos, uint32_t *dw, unsigned n)
{
    VGPUAccess ret = VGPU_ACCESS_OK;

    while (n && ret == VGPU_ACCESS_OK) {
        uint64_t left;
        uint64_t va = vgpu_sdma_position(x, pos, &left);
        unsigned i, part = MIN(n, left);

        ret = vgpu_access_read(&x->mem, va, dw, part * 4);
        for (i = 0; i < part && ret == VGPU_ACCESS_OK; i++) {
            dw[i] = le32_to_cpu(dw[i]);
        }
        pos += part;
        dw += part;
        n -= part;
    }
    return ret;
}
