/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: declarations shared by the files of SDMA packets. All functions are
 * called by the engine's thread for its current queue, with no lock held.
 */
#ifndef HW_MISC_VGPU_KFD_SDMA_PACKET_H
#define HW_MISC_VGPU_KFD_SDMA_PACKET_H

#include "hw/misc/vgpu-kfd/sdma/internal.h"
#include "vgpu/sdma_packets.h"

/* Combine two dwords, low half first. */
static inline uint64_t vgpu_dw64(const uint32_t *dw)
{
    return dw[0] | (uint64_t)dw[1] << 32;
}

/* Result of a packet whose only work is the access with result @access. */
static inline VGPUStep vgpu_sdma_dma_step(VGPUDmaResult access)
{
    return access == VGPU_DMA_STALL ? VGPU_STEP_STALL : VGPU_STEP_DONE;
}

/* Injections into the queue's packet. */
static inline VGPUSdmaInjected *vgpu_sdma_injected(VGPUSdmaEngine *e,
                                                   const VGPUQueue *q)
{
    return &e->queues[q->exec.mem.queue].injected;
}

/* payload.c */

/* @len: length of the payload in bytes; exec->done of them are done. */

/* Return whether payload is left to do in this time slice. */
bool vgpu_sdma_payload_more(const VGPUExec *x, uint64_t len);
/* Return the longest piece of the payload to do at once, in bytes; not 0. */
uint64_t vgpu_sdma_payload_piece(const VGPUExec *x, uint64_t len);
/* Count @n bytes of the payload as done, against the time slice. */
void vgpu_sdma_payload_advance(VGPUExec *x, uint64_t n);
/* Return VGPU_STEP_DONE at the end of the payload, or VGPU_STEP_AGAIN. */
VGPUStep vgpu_sdma_payload_step(const VGPUExec *x, uint64_t len);
/*
 * Return the address of the next byte of a payload that follows the @fixed
 * dwords of the packet. *@left: number of contiguous bytes from there on.
 */
uint64_t vgpu_sdma_payload_address(const VGPUExec *x, unsigned fixed,
                                   uint64_t *left);
/*
 * Set the length of the packet to @ndw dwords, fixed part included. If that
 * many are not available, stall until wptr moves, or return
 * VGPU_STEP_BAD_PACKET if an indirect buffer ends, or the ring is too small.
 */
VGPUStep vgpu_sdma_packet_extend(VGPUExec *x, uint64_t ndw);
/* Push an interrupt of the queue. @source: IH_SRC_SDMA_*. */
void vgpu_sdma_interrupt(VGPUSdmaEngine *e, VGPUQueue *q, unsigned source,
                         uint32_t data0, uint32_t data1);

/*
 * A function that executes a type of packet, or resumes the execution. exec->dw
 * holds the fixed part; no other part is fetched. exec->done is 0 at the start.
 */
typedef VGPUStep VGPUSdmaPacketFn(VGPUSdmaEngine *e, VGPUQueue *q);

/* packet-inject.c */

/* Kinds of injections into packets. */
#define VGPU_INJECT_PACKETS \
    (1u << VGPU_INJECT_KIND_SDMA_HANG | 1u << VGPU_INJECT_KIND_SDMA_SLOW | \
     1u << VGPU_INJECT_KIND_SDMA_WRONG_BYTE)
/*
 * Offer the packet in exec->dw, which begins, to injections. Return
 * VGPU_STEP_HANG if it is to hang.
 */
VGPUStep vgpu_sdma_inject_begin(VGPUSdmaEngine *e, VGPUQueue *q);
/*
 * Write the wrong byte if the step, which copied bytes @before to exec->done,
 * copied it. Return the new result of the step, which was @step.
 */
VGPUStep vgpu_sdma_inject_wrong_byte(VGPUSdmaEngine *e, VGPUQueue *q,
                                     uint64_t before, VGPUStep step);
/* Stall for the time that @bytes take at @slow bytes/s. */
VGPUStep vgpu_sdma_inject_slow(VGPUExec *x, uint64_t slow, uint64_t bytes);

/* packet-copy.c */
VGPUSdmaPacketFn vgpu_sdma_copy_linear, vgpu_sdma_copy_broadcast;
VGPUSdmaPacketFn vgpu_sdma_copy_linear_rect;
/* packet-write.c */
VGPUSdmaPacketFn vgpu_sdma_write_linear, vgpu_sdma_const_fill;
VGPUSdmaPacketFn vgpu_sdma_ptepde_gen;
/* packet-sync.c */

/* Try again after @clocks GPU clocks; after many tries, after 1 ms at least. */
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
/* Return whether an SRBM_WRITE may write @reg, a dword offset in BAR 5. */
bool vgpu_sdma_srbm_allowed(uint32_t reg);

#endif /* HW_MISC_VGPU_KFD_SDMA_PACKET_H */
