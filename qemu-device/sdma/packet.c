/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: fetch and retirement of SDMA packets. packet-*.c execute the
 * packets. A stalled packet continues at exec->done, the progress of its
 * payload.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "vgpu/bits.h"
#include "vgpu/device_info.h"
#include "hw/misc/vgpu-kfd/core/counters.h"
#include "hw/misc/vgpu-kfd/core/trace.h"
#include "hw/misc/vgpu-kfd/core/vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/inject/inject.h"
#include "hw/misc/vgpu-kfd/sdma/packet.h"

#define HEADER          (SDMA_PKT__OP | SDMA_PKT__SUB_OP)
#define COPY_HEADER     (HEADER | SDMA_COPY_LINEAR__BROADCAST)

static const struct VGPUSdmaPacket {
    uint32_t mask;              /* bits of the packet's header to compare */
    uint32_t header;            /* value of the bits in @mask */
    unsigned dwords;            /* length of the packet's fixed part */
    VGPUSdmaPacketFn *step;
} sdma_packets[] = {
    { HEADER, SDMA_PKT(SDMA_OP_NOP, 0), 1, vgpu_sdma_nop },
    { COPY_HEADER, SDMA_PKT(SDMA_OP_COPY, SDMA_SUBOP_COPY_LINEAR),
      SDMA_COPY_LINEAR_DWORDS, vgpu_sdma_copy_linear },
    { COPY_HEADER, SDMA_PKT(SDMA_OP_COPY, SDMA_SUBOP_COPY_LINEAR) |
                   SDMA_COPY_LINEAR__BROADCAST,
      SDMA_COPY_BROADCAST_DWORDS, vgpu_sdma_copy_broadcast },
    { HEADER, SDMA_PKT(SDMA_OP_COPY, SDMA_SUBOP_COPY_LINEAR_RECT),
      SDMA_COPY_RECT_DWORDS, vgpu_sdma_copy_linear_rect },
    { HEADER, SDMA_PKT(SDMA_OP_WRITE, SDMA_SUBOP_WRITE_LINEAR),
      SDMA_WRITE_LINEAR_DWORDS, vgpu_sdma_write_linear },
    { HEADER, SDMA_PKT(SDMA_OP_INDIRECT, 0),
      SDMA_INDIRECT_DWORDS, vgpu_sdma_indirect_buffer },
    { HEADER, SDMA_PKT(SDMA_OP_FENCE, 0), SDMA_FENCE_DWORDS, vgpu_sdma_fence },
    { HEADER, SDMA_PKT(SDMA_OP_TRAP, 0), SDMA_TRAP_DWORDS, vgpu_sdma_trap },
    { HEADER, SDMA_PKT(SDMA_OP_POLL_REGMEM, SDMA_SUBOP_POLL_REGMEM),
      SDMA_POLL_REGMEM_DWORDS, vgpu_sdma_poll_regmem },
    { HEADER, SDMA_PKT(SDMA_OP_POLL_REGMEM, SDMA_SUBOP_POLL_REG_WRITE_MEM),
      SDMA_POLL_REG_WRITE_DWORDS, vgpu_sdma_poll_reg_write_mem },
    { HEADER, SDMA_PKT(SDMA_OP_COND_EXE, 0),
      SDMA_COND_EXE_DWORDS, vgpu_sdma_cond_exe },
    { HEADER, SDMA_PKT(SDMA_OP_ATOMIC, 0),
      SDMA_ATOMIC_DWORDS, vgpu_sdma_atomic },
    { HEADER, SDMA_PKT(SDMA_OP_CONST_FILL, 0),
      SDMA_CONST_FILL_DWORDS, vgpu_sdma_const_fill },
    { HEADER, SDMA_PKT(SDMA_OP_PTEPDE, SDMA_SUBOP_PTEPDE_GEN),
      SDMA_PTEPDE_DWORDS, vgpu_sdma_ptepde_gen },
    { HEADER, SDMA_PKT(SDMA_OP_TIMESTAMP, SDMA_SUBOP_TIMESTAMP_SET),
      SDMA_TIMESTAMP_DWORDS, vgpu_sdma_timestamp_set },
    { HEADER, SDMA_PKT(SDMA_OP_TIMESTAMP, SDMA_SUBOP_TIMESTAMP_GET),
      SDMA_TIMESTAMP_DWORDS, vgpu_sdma_timestamp_get },
    { HEADER, SDMA_PKT(SDMA_OP_TIMESTAMP, SDMA_SUBOP_TIMESTAMP_GET_GLOBAL),
      SDMA_TIMESTAMP_DWORDS, vgpu_sdma_timestamp_get_global },
    { HEADER, SDMA_PKT(SDMA_OP_SRBM_WRITE, 0),
      SDMA_SRBM_WRITE_DWORDS, vgpu_sdma_srbm_write },
    { HEADER, SDMA_PKT(SDMA_OP_PRE_EXE, 0),
      SDMA_PRE_EXE_DWORDS, vgpu_sdma_pre_exe },
};

static const struct VGPUSdmaPacket *sdma_packet_find(uint32_t header)
{
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(sdma_packets); i++) {
        if (sdma_packets[i].header == (header & sdma_packets[i].mask)) {
            return &sdma_packets[i];
        }
    }
    return NULL;
}

/*
 * x->dw has the fixed part of a packet, @fixed dwords. Return the length in
 * dwords of the whole packet.
 */
static uint32_t sdma_packet_dwords(const VGPUExec *x, unsigned fixed)
{
    switch (x->dw[0] & SDMA_PKT__OP) {
    case SDMA_OP_NOP:
        return fixed + VGPU_GET(x->dw[0], SDMA_NOP__COUNT);
    case SDMA_OP_WRITE:
        return fixed + VGPU_GET(x->dw[3], SDMA_WRITE_LINEAR_DW3__COUNT) + 1;
    default:
        return fixed;
    }
}

bool vgpu_sdma_packet_valid(const VGPUExec *x)
{
    const struct VGPUSdmaPacket *p = sdma_packet_find(x->dw[0]);

    return p && x->ndw == sdma_packet_dwords(x, p->dwords) &&
           (!x->ib_depth || x->ndw <= vgpu_exec_available(x));
}

/* Fetch @n dwords of the packet to exec->dw, beginning with dword @at. */
static VGPUStep sdma_packet_fetch(VGPUExec *x, unsigned at, unsigned n)
{
    switch (vgpu_exec_fetch(x, at, x->dw + at, n)) {
    case VGPU_DMA_STALL:
        return VGPU_STEP_STALL;
    case VGPU_DMA_FAULT:
        /*
         * After a fault, the dwords are not those of the packet, but come from
         * the default page or are zeros. Do not execute them.
         */
        return VGPU_STEP_BAD_RING;
    default:
        return VGPU_STEP_DONE;
    }
}

/* Fetch the fixed part of the next packet to exec->dw. */
static VGPUStep sdma_packet_load(VGPUSdmaEngine *e, VGPUQueue *q)
{
    VGPUExec *x = &q->exec;
    VGPUSdmaInjected *injected = vgpu_sdma_injected(e, q);
    const struct VGPUSdmaPacket *p;
    VGPUStep step;

    x->mem.faulted = false;
    step = sdma_packet_fetch(x, 0, 1);
    if (step != VGPU_STEP_DONE) {
        return step;
    }
    p = sdma_packet_find(x->dw[0]);
    if (!p) {
        return VGPU_STEP_BAD_PACKET;
    }
    step = vgpu_sdma_packet_extend(x, p->dwords);
    if (step != VGPU_STEP_DONE) {
        return step;
    }
    step = sdma_packet_fetch(x, 1, p->dwords - 1);
    if (step != VGPU_STEP_DONE) {
        return step;
    }
    step = vgpu_sdma_packet_extend(x, sdma_packet_dwords(x, p->dwords));
    if (step != VGPU_STEP_DONE) {
        return step;
    }
    x->packet = true;
    x->done = 0;
    x->polls = 0;
    injected->slow = 0;
    injected->wrong_xor = 0;
    trace_vgpu_packet(e->s->id, e->index, x->mem.queue, vgpu_exec_vmid(x),
                      vgpu_exec_pos(x) * 4, x->dw[0], x->ndw);
    return vgpu_inject_armed(e->s, VGPU_INJECT_PACKETS) ?
           vgpu_sdma_inject_begin(e, q) : VGPU_STEP_DONE;
}

static void sdma_enter_ib(VGPUExec *x)
{
    unsigned vmid = VGPU_GET(x->dw[0], SDMA_INDIRECT__VMID);
    unsigned own = vgpu_exec_vmid(x);
    VGPUIndirect *ib = &x->ib[x->ib_depth++];

    *ib = (VGPUIndirect) {
        .base = vgpu_dw64(&x->dw[1]),
        .size = VGPU_GET(x->dw[3], SDMA_INDIRECT_DW3__SIZE),
        .vmid = vmid ? vmid : own,
    };
}

/*
 * Advance past a complete packet. An INDIRECT_BUFFER packet enters its buffer.
 */
static void sdma_packet_retire(VGPUSdmaEngine *e, VGPUQueue *q)
{
    VGPUExec *x = &q->exec;

    vgpu_count(e->s, VGPU_CNT_PACKETS, 1);
    x->packet = false;
    if (x->ib_depth) {
        x->ib[x->ib_depth - 1].pos += x->ndw;
    } else {
        x->ring_ndw = x->ndw;
    }
    if ((x->dw[0] & SDMA_PKT__OP) == SDMA_OP_INDIRECT) {
        sdma_enter_ib(x);
    }
    /* The inner and the outer indirect buffer may end with the same packet. */
    while (x->ib_depth &&
           x->ib[x->ib_depth - 1].pos >= x->ib[x->ib_depth - 1].size) {
        x->ib_depth--;
    }
    if (!x->ib_depth) {
        /* The ring's packet is complete, with its indirect buffers. */
        x->rptr += x->ring_ndw * 4ull;
        x->writeback = x->rptr_writeback;
    }
}

/* Write rptr to its address in memory. The write may stall. */
static VGPUStep sdma_write_rptr(VGPUSdmaEngine *e, VGPUQueue *q)
{
    VGPUExec *x = &q->exec;
    uint64_t val = cpu_to_le64(x->rptr);

    /* A CPU that sees the new rptr must also see all stores of the packets. */
    smp_wmb();
    x->mem.vmid = x->ring_vmid;
    if (vgpu_dma_write(&x->mem, x->rptr_addr, &val, sizeof(val)) ==
        VGPU_DMA_STALL) {
        return VGPU_STEP_STALL;
    }
    x->writeback = false;
    return VGPU_STEP_DONE;
}

/*
 * Read wptr from memory, as the first step after MAP_QUEUES has mapped the
 * queue.
 */
static VGPUStep sdma_read_wptr(VGPUExec *x)
{
    bool faulted = x->mem.faulted;
    uint64_t val;

    x->mem.vmid = x->ring_vmid;
    switch (vgpu_dma_read(&x->mem, x->wptr_addr & ~7ull, &val,
                          sizeof(val))) {
    case VGPU_DMA_STALL:
        return VGPU_STEP_STALL;
    case VGPU_DMA_OK:
        x->wptr = le64_to_cpu(val);
        break;
    default:
        break;
    }
    x->mem.faulted = faulted;
    x->poll_wptr = false;
    return VGPU_STEP_DONE;
}

VGPUStep vgpu_sdma_packet_step(VGPUSdmaEngine *e, VGPUQueue *q)
{
    VGPUExec *x = &q->exec;
    const VGPUSdmaInjected *injected = vgpu_sdma_injected(e, q);
    VGPUStep step = VGPU_STEP_DONE;
    uint64_t moved = 0;

    if (x->poll_wptr) {
        return sdma_read_wptr(x);
    }
    x->mem.vmid = vgpu_exec_vmid(x);
    if (!x->writeback) {
        if (!x->packet) {
            step = sdma_packet_load(e, q);
        }
        if (step == VGPU_STEP_DONE) {
            uint64_t before = x->done;

            step = sdma_packet_find(x->dw[0])->step(e, q);
            if (injected->wrong_xor) {
                step = vgpu_sdma_inject_wrong_byte(e, q, before, step);
            }
            moved = x->done - before;
        }
        if (step == VGPU_STEP_DONE) {
            sdma_packet_retire(e, q);
        }
        if (injected->slow && moved && step != VGPU_STEP_STALL) {
            return vgpu_sdma_inject_slow(x, injected->slow, moved);
        }
    }
    return step == VGPU_STEP_DONE && x->writeback ?
           sdma_write_rptr(e, q) : step;
}
