/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: functions that SDMA packets share: progress of the payload, length
 * of a packet, and interrupts.
 */
#include "qemu/osdep.h"
#include "vgpu/ih.h"
#include "hw/misc/vgpu-kfd/core/vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/ih/ih.h"
#include "hw/misc/vgpu-kfd/sdma/packet.h"

/*
 * Each piece of a payload subtracts its length from exec.budget, but at least
 * this number of bytes.
 */
#define PIECE_COST          256ull

bool vgpu_sdma_payload_more(const VGPUExec *x, uint64_t len)
{
    return x->done < len && x->budget > 0;
}

uint64_t vgpu_sdma_payload_piece(const VGPUExec *x, uint64_t len)
{
    /*
     * Round the budget up, so that a time slice does not end in the middle of a
     * dword or of a page-table entry.
     */
    return MIN(len - x->done, ROUND_UP(x->budget, 64));
}

void vgpu_sdma_payload_advance(VGPUExec *x, uint64_t n)
{
    x->done += n;
    x->budget -= MAX(n, PIECE_COST);
}

VGPUStep vgpu_sdma_payload_step(const VGPUExec *x, uint64_t len)
{
    return x->done < len ? VGPU_STEP_AGAIN : VGPU_STEP_DONE;
}

uint64_t vgpu_sdma_payload_address(const VGPUExec *x, unsigned fixed,
                                   uint64_t *left)
{
    uint64_t va = vgpu_exec_address(x, fixed + x->done / 4, left);

    *left = *left * 4 - x->done % 4;
    return va + x->done % 4;
}

uint8_t vgpu_sdma_ih_ring(unsigned queue)
{
    return queue < SDMA_QUEUE_RLC(0) ? 0 : queue - SDMA_QUEUE_RLC(0);
}

void vgpu_sdma_interrupt(VGPUSdmaEngine *e, VGPUQueue *q, unsigned source,
                         uint32_t data0, uint32_t data1)
{
    uint32_t data[4] = { data0, data1 };

    QEMU_LOCK_GUARD(&e->s->lock);
    vgpu_ih_push(e->s, IH_CLIENT_SDMA(e->index), source,
                 vgpu_sdma_ih_ring(q->exec.mem.queue),
                 vgpu_exec_vmid(&q->exec), true, data);
}

VGPUStep vgpu_sdma_packet_extend(VGPUExec *x, uint64_t ndw)
{
    if (vgpu_exec_available(x) >= ndw) {
        x->ndw = ndw;
        return VGPU_STEP_DONE;
    }
    /*
     * In the ring, the driver may still write the missing dwords. An indirect
     * buffer must hold whole packets.
     */
    if (x->ib_depth || ndw > x->ring_dwords) {
        return VGPU_STEP_BAD_PACKET;
    }
    return vgpu_exec_wait_wptr(x);
}
