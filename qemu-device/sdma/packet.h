/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: declarations for the files that execute SDMA packets: packet.c,
 * packet-*.c and payload.c. The engine's thread calls all functions, for its
 * current queue, with no lock held.
 */
#ifndef HW_MISC_VGPU_KFD_SDMA_PACKET_H
#define HW_MISC_VGPU_KFD_SDMA_PACKET_H

#include "hw/misc/vgpu-kfd/sdma/internal.h"
#include "vgpu/sdma_packets.h"

static inline uint64_t vgpu_dw64(const uint32_t *dw)
{
    return dw[0] | (uint64_t)dw[1] << 32;
}

/*
 * Return the step's result for a packet whose only work is one memory access.
 * @access is the result of this access.
 */
static inline VGPUStep vgpu_sdma_dma_step(VGPUDmaResult access)
{
    return access == VGPU_DMA_STALL ? VGPU_STEP_STALL : VGPU_STEP_DONE;
}

/* Return the effects of injections on the packet that @q executes. */
static inline VGPUSdmaInjected *vgpu_sdma_injected(VGPUSdmaEngine *e,
                                                   const VGPUQueue *q)
{
    return &e->queues[q->exec.mem.queue].injected;
}

/* payload.c */

/*
 * In the functions below, @len is the length of the packet's payload in bytes.
 * x->done is the number of these bytes that are already done.
 */

/* Return true if payload is left and the time slice has not ended. */
bool vgpu_sdma_payload_more(const VGPUExec *x, uint64_t len);
/* Return the length of the next piece of the payload in bytes, at least 1. */
uint64_t vgpu_sdma_payload_piece(const VGPUExec *x, uint64_t len);
/*
 * Count @n bytes of the payload as done, and subtract their cost from the
 * budget of the time slice.
 */
void vgpu_sdma_payload_advance(VGPUExec *x, uint64_t n);
/*
 * Return VGPU_STEP_DONE if all of the payload is done, otherwise
 * VGPU_STEP_AGAIN.
 */
VGPUStep vgpu_sdma_payload_step(const VGPUExec *x, uint64_t len);
/*
 * Return the GPU address of the next payload byte. The payload begins at dword
 * @fixed of the packet. Set *@left to the number of contiguous bytes there.
 */
uint64_t vgpu_sdma_payload_address(const VGPUExec *x, unsigned fixed,
                                   uint64_t *left);
/*
 * Set the packet's length to @ndw dwords. VGPU_STEP_STALL: the rest is not yet
 * in the ring. VGPU_STEP_BAD_PACKET: the indirect buffer or ring is too short.
 */
VGPUStep vgpu_sdma_packet_extend(VGPUExec *x, uint64_t ndw);
/*
 * Push an interrupt entry of the queue. @source is IH_SRC_SDMA_*. @data0 and
 * @data1 are the first two dwords of the entry's source data.
 */
void vgpu_sdma_interrupt(VGPUSdmaEngine *e, VGPUQueue *q, unsigned source,
                         uint32_t data0, uint32_t data1);

/*
 * A function that executes or continues a packet. exec->dw holds only the
 * packet's fixed part. exec->done is 0 at the packet's start.
 */
typedef VGPUStep VGPUSdmaPacketFn(VGPUSdmaEngine *e, VGPUQueue *q);

/* packet-inject.c */

/* Mask of the kinds of injections that affect packets. */
#define VGPU_INJECT_PACKETS \
    (1u << VGPU_INJECT_KIND_SDMA_HANG | 1u << VGPU_INJECT_KIND_SDMA_SLOW | \
     1u << VGPU_INJECT_KIND_SDMA_WRONG_BYTE)
/*
 * Called when a packet starts. q->exec.dw holds the packet. Choose the
 * injections that act on the packet. Return VGPU_STEP_HANG if an injection
 * makes the packet hang, otherwise VGPU_STEP_DONE.
 */
VGPUStep vgpu_sdma_inject_begin(VGPUSdmaEngine *e, VGPUQueue *q);
/*
 * The injection sdma-wrong-byte has chosen one byte of a copy. If the last step
 * has copied this byte, make the byte wrong in the destination. @before is
 * q->exec.done before that step. @step is the result of that step. Return
 * VGPU_STEP_STALL if an access to the byte stalls, otherwise @step.
 */
VGPUStep vgpu_sdma_inject_wrong_byte(VGPUSdmaEngine *e, VGPUQueue *q,
                                     uint64_t before, VGPUStep step);
/* Stall for the time in which @bytes bytes are copied at @slow bytes/s. */
VGPUStep vgpu_sdma_inject_slow(VGPUExec *x, uint64_t slow, uint64_t bytes);

/* packet-copy.c */
VGPUSdmaPacketFn vgpu_sdma_copy_linear, vgpu_sdma_copy_broadcast;
VGPUSdmaPacketFn vgpu_sdma_copy_linear_rect;
/* packet-write.c */
VGPUSdmaPacketFn vgpu_sdma_write_linear, vgpu_sdma_const_fill;
VGPUSdmaPacketFn vgpu_sdma_ptepde_gen;
/* packet-sync.c */

/*
 * Wait @clocks ticks of the GPU clock before the next try of the packet. After
 * POLL_EAGER (packet-sync.c) tries, wait at least 1 ms.
 */
VGPUStep vgpu_sdma_poll_again(VGPUExec *x, unsigned clocks);
VGPUSdmaPacketFn vgpu_sdma_fence, vgpu_sdma_trap, vgpu_sdma_poll_regmem;
VGPUSdmaPacketFn vgpu_sdma_poll_reg_write_mem;
VGPUSdmaPacketFn vgpu_sdma_timestamp_set, vgpu_sdma_timestamp_get;
VGPUSdmaPacketFn vgpu_sdma_timestamp_get_global;
/* packet-atomic.c */
VGPUSdmaPacketFn vgpu_sdma_atomic;
/* packet-control.c */
VGPUSdmaPacketFn vgpu_sdma_nop, vgpu_sdma_indirect_buffer, vgpu_sdma_cond_exe;
VGPUSdmaPacketFn vgpu_sdma_pre_exe, vgpu_sdma_srbm_write;
/* Return true if SRBM_WRITE may write @reg, a dword offset in BAR 5. */
bool vgpu_sdma_srbm_allowed(uint32_t reg);

#endif /* HW_MISC_VGPU_KFD_SDMA_PACKET_H */
