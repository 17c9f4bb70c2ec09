/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: how PM4 and AQL packets access memory and registers, and wait for
 * values there; how the CP loads the write pointers of queues from memory, and
 * stores the read pointers to memory.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "vgpu/aql.h"
#include "vgpu/pci.h"
#include "hw/misc/vgpu-kfd/core/regs.h"
#include "hw/misc/vgpu-kfd/cp/internal.h"
#include "hw/misc/vgpu-kfd/memory/hub.h"

/*
 * Number of tries that a polling packet makes in consecutive time slices, one
 * in each. Further tries are 1 ms apart: see vgpu_cp_poll() and
 * vgpu_cp_poll_device().
 */
#define WAIT_TRIES      64

VGPUStep vgpu_cp_packet_error(VGPUExec *x, unsigned error)
{
    x->error = error;
    x->error_bits = 0;
    return VGPU_STEP_BAD_PACKET;
}

VGPUStep vgpu_cp_fetch(VGPUExec *x, uint64_t at, uint32_t *dw, unsigned n)
{
    switch (vgpu_exec_fetch(x, at, dw, n)) {
    case VGPU_DMA_STALL:
        return VGPU_STEP_STALL;
    case VGPU_DMA_FAULT:
        /*
         * The fault was reported already. The dwords are not those of the
         * packet, but come from the default page or are zeros. Do not execute
         * them.
         */
        x->error = 0;
        x->error_bits = x->ib_depth ? CP_HQD_ERROR__IB_UTCL1_ERROR
                                    : CP_HQD_ERROR__PQ_UTCL1_ERROR;
        return VGPU_STEP_BAD_PACKET;
    default:
        return VGPU_STEP_DONE;
    }
}

VGPUStep vgpu_cp_store(VGPUExec *x, uint64_t va, uint64_t val, unsigned len)
{
    VGPUDmaResult a;

    val = cpu_to_le64(val);
    if (len == 4) {
        uint32_t low = cpu_to_le32(le64_to_cpu(val));

        a = vgpu_dma_write(&x->mem, va & ~3ull, &low, 4);
    } else {
        a = vgpu_dma_write(&x->mem, va & ~7ull, &val, 8);
    }
    return cp_dma_stalls(a) ? VGPU_STEP_STALL : VGPU_STEP_DONE;
}

VGPUStep vgpu_cp_load(VGPUExec *x, uint64_t va, uint64_t *val, unsigned len)
{
    *val = 0;
    if (cp_dma_stalls(vgpu_dma_read(&x->mem, va & -(uint64_t)len, val, len))) {
        return VGPU_STEP_STALL;
    }
    *val = le64_to_cpu(*val);
    return VGPU_STEP_DONE;
}

/* Set the error of an unprivileged queue that accesses a register. */
static VGPUStep cp_privilege_error(VGPUExec *x)
{
    x->error = CP_ERROR_REGISTER_INVALID;
    x->error_bits = CP_HQD_ERROR__SUA_ERROR;
    return VGPU_STEP_BAD_PACKET;
}

VGPUStep vgpu_cp_write_reg(VGPUExec *x, uint32_t reg, uint32_t val)
{
    if (!x->priv) {
        return cp_privilege_error(x);
    }
    if (reg >= VGPU_MMIO_DWORDS) {
        return vgpu_cp_packet_error(x, CP_ERROR_REGISTER_INVALID);
    }
    return vgpu_exec_write_reg(x, reg, val);
}

VGPUStep vgpu_cp_read_reg(VGPUCp *cp, VGPUExec *x, uint32_t reg, uint32_t *val)
{
    if (!x->priv) {
        return cp_privilege_error(x);
    }
    if (!vgpu_hub_has(reg) || !vgpu_reg_engine_read(cp->s, reg, val)) {
        return vgpu_cp_packet_error(x, CP_ERROR_REGISTER_INVALID);
    }
    return VGPU_STEP_DONE;
}

VGPUStep vgpu_cp_poll(VGPUExec *x)
{
    return vgpu_exec_poll(x, WAIT_TRIES, 0);
}

VGPUStep vgpu_cp_poll_device(VGPUExec *x)
{
    return vgpu_exec_poll_device(x, WAIT_TRIES);
}

VGPUStep vgpu_cp_sync_pointers(CpQueue *q)
{
    VGPUExec *x = &q->queue.exec;
    VGPUStep step = VGPU_STEP_DONE;
    uint64_t val;

    x->mem.vmid = x->ring_vmid;
    if (x->poll_wptr) {
        x->mem.faulted = false;
        val = x->wptr;
        if (x->wptr_addr) {
            step = vgpu_cp_load(x, x->wptr_addr, &val, 8);
            val *= q->aql ? AQL_PACKET_DWORDS : 1;
        }
        if (step == VGPU_STEP_DONE) {
            x->poll_wptr = false;
            /*
             * wptr may be ahead of rptr by more than the size of the ring,
             * since user space may reserve packets before the ring has space
             * for them.
             */
            q->clamped = q->aql && (int64_t)(val - x->rptr) >
                                   (int64_t)x->ring_dwords;
            if (q->clamped) {
                val = x->rptr + x->ring_dwords;
            }
            if (!q->aql || val - x->rptr <= x->ring_dwords) {
                x->wptr = val;
            }
        }
    } else if (x->writeback) {
        x->mem.faulted = false;
        if (x->rptr_writeback) {
            step = q->aql ? vgpu_cp_store(x, x->rptr_addr, x->rptr / 16, 8)
                          : vgpu_cp_store(x, x->rptr_addr,
                                  x->rptr & (x->ring_dwords - 1), 4);
        }
        x->writeback = step != VGPU_STEP_DONE;
    }
    return step;
}
