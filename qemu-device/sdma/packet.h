/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: what the files of SDMA packets have in common. Everything here is
 * for the engine's thread, which holds no lock, and a queue that is current.
 */
#ifndef HW_MISC_VGPU_KFD_SDMA_PACKET_H
#define HW_MISC_VGPU_KFD_SDMA_PACKET_H

#include "hw/misc/vgpu-kfd/sdma/internal.h"
#include "vgpu/sdma_packets.h"

/* An address, or another pair of dwords, low half first. */
static inline uint64_t vgpu_dw64(const uint32_t *dw)
{
    return dw[0] | (uint64_t)dw[1] << 32;
}

/* What a packet comes to after an access to memory that is its whole work. */
static inline VGPUStep vgpu_sdma_dma_step(VGPUDmaResult access)
{
    return access == VGPU_DMA_STALL ? VGPU_STEP_STALL : VGPU_STEP_DONE;
}

/* What is injected into the packet. */
static inline VGPUSdmaInjected *vgpu_sdma_injected(VGPUSdmaEngine *e,
                                                   const VGPUQueue *q)
{
    return &e->queues[q->exec.mem.queue].injected;
}

/* payload.c */

/*
 * Is there still something to do for the packet in this time slice? @len: of
 * its payload, of which exec->done is done.
 */
bool vgpu_sdma_payload_more(const VGPUExec *x, uint64_t len);
/* The longest piece of the payload to do at once, in bytes; not 0. */
uint64_t vgpu_sdma_payload_piece(const VGPUExec *x, uint64_t len);
/* @n bytes of the payload are done: they count against the time slice. */
void vgpu_sdma_payload_advance(VGPUExec *x, uint64_t n);
/* The payload's end, or the time slice's. */
VGPUStep vgpu_sdma_payload_step(const VGPUExec *x, uint64_t len);
/*
 * Address of the first byte that is not done of what follows the @fixed part,
 * in dwords, and how many bytes follow without a break.
 */
uint64_t vgpu_sdma_payload_address(const VGPUExec *x, unsigned fixed,
                                   uint64_t *left);
/*
 * The packet takes @ndw dwords, fixed part and all. Not DONE if they are not
 * all there: it is to be tried again, or bad.
 */
VGPUStep vgpu_sdma_packet_extend(VGPUExec *x, uint64_t ndw);
/* An interrupt of the queue: IH_SRC_SDMA_@source. */
void vgpu_sdma_interrupt(VGPUSdmaEngine *e, VGPUQueue *q, unsigned source,
                         uint32_t data0, uint32_t data1);

/*
 * Each does its packet, or goes on with it: exec->dw has the fixed part, which
 * is all that a step may count on; exec->done is 0 at first.
 */
typedef VGPUStep VGPUSdmaPacketFn(VGPUSdmaEngine *e, VGPUQueue *q);

/* packet-inject.c */

/* What may be injected into a packet that begins: exec->dw has it. */
#define VGPU_INJECT_PACKETS \
    (1u << VGPU_INJECT_KIND_SDMA_HANG | 1u << VGPU_INJECT_KIND_SDMA_SLOW | \
     1u << VGPU_INJECT_KIND_SDMA_WRONG_BYTE)
VGPUStep vgpu_sdma_inject_begin(VGPUSdmaEngine *e, VGPUQueue *q);
/*
 * The packet's step came to @step, with bytes from @before to exec->done.
 * Spoils the wrong byte. What the step comes to with that.
 */
VGPUStep vgpu_sdma_inject_wrong_byte(VGPUSdmaEngine *e, VGPUQueue *q,
                                     uint64_t before, VGPUStep step);
/* Stall for as long as @bytes take at the speed @slow. */
VGPUStep vgpu_sdma_inject_slow(VGPUExec *x, uint64_t slow, uint64_t bytes);

/* packet-copy.c */
VGPUSdmaPacketFn vgpu_sdma_copy_linear, vgpu_sdma_copy_broadcast;
VGPUSdmaPacketFn vgpu_sdma_copy_linear_rect;
/* packet-write.c */
VGPUSdmaPacketFn vgpu_sdma_write_linear, vgpu_sdma_const_fill;
VGPUSdmaPacketFn vgpu_sdma_ptepde_gen;
/* packet-sync.c */

/* Try again after @clocks, later if there were many tries. */
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
/* May an SRBM_WRITE write this register? */
bool vgpu_sdma_srbm_allowed(uint32_t reg);

#endif /* HW_MISC_VGPU_KFD_SDMA_PACKET_H */
