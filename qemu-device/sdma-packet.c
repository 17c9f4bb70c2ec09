/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: what SDMA packets do.
 *
 * A packet's fixed part is fetched once and kept in exec->dw, the progress of
 * its payload in exec->done, so that a stalled packet goes on where it was: a
 * byte counts as done when it was copied, not before.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/timer.h"
#include "vgpu/sdma_packets.h"
#include "vgpu-kfd.h"
#include "trace.h"

#define POLL_FOREVER        0xfff
#define POLL_EAGER          8           /* looks before the pace is slowed */
#define POLL_PACE_NS        SCALE_MS
#define POLL_TICK_NS        (NANOSECONDS_PER_SECOND / VGPU_CLOCK_HZ)

static uint64_t dw64(const uint32_t *dw)
{
    return dw[0] | (uint64_t)dw[1] << 32;
}

/* Dword in the ring or indirect buffer where the packet begins. */
static uint64_t position(const VGPUExec *x)
{
    return x->ib_depth ? x->ib[x->ib_depth - 1].pos : x->rptr / 4;
}

static VGPUStep do_nop(VGPUEngine *e, VGPUQueue *q)
{
    return VGPU_STEP_DONE;
}

/*
 * @len bytes from @src to @dst, of which exec->done are done. A chunk at most,
 * so that invalidations, disabling and other queues do not wait long.
 */
static VGPUStep copy(VGPUEngine *e, VGPUQueue *q, uint64_t dst, uint64_t src,
                     uint64_t len, uint64_t chunk)
{
    VGPUExec *x = &q->exec;
    uint64_t end = MIN(len, x->done + chunk);

    while (x->done < end) {
        uint64_t n;

        if (vgpu_access_copy(&x->mem, dst + x->done, src + x->done,
                             end - x->done, &n) == VGPU_ACCESS_STALL) {
            return VGPU_STEP_STALL;
        }
        x->done += n;
    }
    return x->done < len ? VGPU_STEP_AGAIN : VGPU_STEP_DONE;
}

static VGPUStep do_copy(VGPUEngine *e, VGPUQueue *q)
{
    VGPUExec *x = &q->exec;
    uint64_t before = x->done;
    VGPUStep step;

    if (x->dw[0] & SDMA_COPY_LINEAR__BROADCAST) {
        return VGPU_STEP_BAD_PACKET;
    }
    step = copy(e, q, dw64(&x->dw[5]), dw64(&x->dw[3]),
                VGPU_GET(x->dw[1], SDMA_COPY_LINEAR_DW1__COUNT) + 1ull,
                VGPU_CHUNK);
    vgpu_count(e->s, VGPU_CNT_BYTES_COPIED, x->done - before);
    return step;
}

/* The payload follows the packet: in the ring it may wrap. */
static VGPUStep do_write(VGPUEngine *e, VGPUQueue *q)
{
    VGPUExec *x = &q->exec;
    uint64_t len = (x->ndw - SDMA_WRITE_LINEAR_DWORDS) * 4ull;
    uint64_t left, src;

    src = vgpu_sdma_position(x, position(x) + SDMA_WRITE_LINEAR_DWORDS +
                               x->done / 4, &left);
    return copy(e, q, dw64(&x->dw[1]) & ~3ull, src - x->done, len, left * 4);
}

static VGPUStep do_fill(VGPUEngine *e, VGPUQueue *q)
{
    VGPUExec *x = &q->exec;
    uint64_t dst = dw64(&x->dw[1]);
    uint64_t len = VGPU_GET(x->dw[4], SDMA_CONST_FILL_DW4__COUNT) + 1ull;
    uint32_t data = x->dw[3];
    uint64_t end;

    switch (VGPU_GET(x->dw[0], SDMA_CONST_FILL__SIZE)) {
    case 0:
        data = (data & 0xff) * 0x01010101u;
        break;
    case 2:
        dst &= ~3ull;
        len = ROUND_UP(len, 4);
        break;
    default:
        return VGPU_STEP_BAD_PACKET;
    }
    end = MIN(len, x->done + VGPU_CHUNK);
    while (x->done < end) {
        uint64_t n;

        if (vgpu_access_fill(&x->mem, dst + x->done, data, x->done & 3,
                             end - x->done, &n) == VGPU_ACCESS_STALL) {
            return VGPU_STEP_STALL;
        }
        vgpu_count(e->s, VGPU_CNT_BYTES_FILLED, n);
        x->done += n;
    }
    return x->done < len ? VGPU_STEP_AGAIN : VGPU_STEP_DONE;
}

static VGPUStep do_ptepde(VGPUEngine *e, VGPUQueue *q)
{
    VGPUExec *x = &q->exec;
    uint64_t dst = dw64(&x->dw[1]) & ~7ull;
    uint64_t incr = dw64(&x->dw[7]);
    uint64_t count = VGPU_GET(x->dw[9], SDMA_PTEPDE_DW9__COUNT) + 1ull;
    uint64_t end = MIN(count, x->done + VGPU_CHUNK / 8);

    while (x->done < end) {
        uint64_t n;

        if (vgpu_access_entries(&x->mem, dst + x->done * 8, dw64(&x->dw[3]),
                                dw64(&x->dw[5]) + x->done * incr, incr,
                                end - x->done, &n) == VGPU_ACCESS_STALL) {
            return VGPU_STEP_STALL;
        }
        vgpu_count(e->s, VGPU_CNT_PTES_WRITTEN, n);
        x->done += n;
    }
    return x->done < count ? VGPU_STEP_AGAIN : VGPU_STEP_DONE;
}

/*
 * Another VMID's buffer is for privileged queues; in the others' packets 0
 * stands for their own. Entered when the packet retires.
 */
static VGPUStep do_indirect(VGPUEngine *e, VGPUQueue *q)
{
    VGPUExec *x = &q->exec;
    unsigned vmid = VGPU_GET(x->dw[0], SDMA_INDIRECT__VMID);

    if (!x->priv && vmid && vmid != x->ring_vmid) {
        return VGPU_STEP_BAD_PACKET;
    }
    if (x->ib_depth == ARRAY_SIZE(x->ib) || (x->dw[1] & 3)) {
        return VGPU_STEP_BAD_PACKET;
    }
    return VGPU_STEP_DONE;
}

static VGPUStep do_fence(VGPUEngine *e, VGPUQueue *q)
{
    VGPUExec *x = &q->exec;
    uint32_t data = cpu_to_le32(x->dw[3]);

    /* What came before is seen before. */
    smp_wmb();
    return vgpu_access_write(&x->mem, dw64(&x->dw[1]) & ~3ull, &data,
                             sizeof(data)) == VGPU_ACCESS_STALL ?
           VGPU_STEP_STALL : VGPU_STEP_DONE;
}

uint8_t vgpu_queue_ih_ring(const VGPUEngine *e, const VGPUQueue *q)
{
    unsigned n = q - e->queues;

    return n < SDMA_QUEUE_RLC(0) ? 0 : n - SDMA_QUEUE_RLC(0);
}

static VGPUStep do_trap(VGPUEngine *e, VGPUQueue *q)
{
    VGPUExec *x = &q->exec;
    uint32_t data[4] = { x->dw[1] & SDMA_TRAP_DW1__CONTEXT };

    if (x->trap_enable) {
        QEMU_LOCK_GUARD(&e->s->lock);
        vgpu_ih_push(e->s, IH_CLIENT_SDMA(e->index), IH_SRC_SDMA_TRAP,
                     vgpu_queue_ih_ring(e, q), x->ring_vmid, true, data);
    }
    return VGPU_STEP_DONE;
}

/* Functions of POLL_REGMEM. */
enum { POLL_ALWAYS, POLL_LT, POLL_LE, POLL_EQ, POLL_NE, POLL_GE, POLL_GT };

static bool poll_holds(unsigned func, uint32_t val, uint32_t ref)
{
    switch (func) {
    case POLL_LT:
        return val < ref;
    case POLL_LE:
        return val <= ref;
    case POLL_EQ:
        return val == ref;
    case POLL_NE:
        return val != ref;
    case POLL_GE:
        return val >= ref;
    case POLL_GT:
        return val > ref;
    default:
        return true;
    }
}

/* Registers that an engine sees: hubs and the HDP flush. Others read 0. */
static uint32_t poll_reg(VGPUState *s, uint32_t reg)
{
    uint32_t val = 0;

    if (reg == GPU_HDP_FLUSH_DONE) {
        val = vgpu_nbio_hdp_done(s);
    } else {
        vgpu_gmc_poll(s, reg, &val);
    }
    return val;
}

static VGPUStep do_poll(VGPUEngine *e, VGPUQueue *q)
{
    VGPUExec *x = &q->exec;
    unsigned func = VGPU_GET(x->dw[0], SDMA_POLL_REGMEM__FUNC);
    unsigned retry = VGPU_GET(x->dw[5], SDMA_POLL_REGMEM_DW5__RETRY);
    int64_t pace = VGPU_GET(x->dw[5], SDMA_POLL_REGMEM_DW5__INTERVAL) *
                   POLL_TICK_NS;
    uint32_t val;

    if (func > POLL_GT) {
        return VGPU_STEP_BAD_PACKET;
    }
    if (func == POLL_ALWAYS) {
        return VGPU_STEP_DONE;          /* ROCr's "HDP flush" */
    }
    if (!(x->dw[0] & SDMA_POLL_REGMEM__MEM)) {
        /* A real HDP flush: dw2 names the register that asks for it. */
        if ((x->dw[0] & SDMA_POLL_REGMEM__HDP_FLUSH) && !x->polls &&
            x->dw[2] / 4 == GPU_HDP_FLUSH_REQ) {
            vgpu_nbio_hdp_request(e->s, x->dw[3]);
        }
        val = poll_reg(e->s, x->dw[1] / 4);
    } else if (vgpu_access_read(&x->mem, dw64(&x->dw[1]) & ~3ull, &val,
                                sizeof(val)) == VGPU_ACCESS_STALL) {
        return VGPU_STEP_STALL;
    } else {
        val = le32_to_cpu(val);
    }
    if (poll_holds(func, val & x->dw[4], x->dw[3])) {
        return VGPU_STEP_DONE;
    }
    if (retry != POLL_FOREVER && x->polls >= retry) {
        return VGPU_STEP_DONE;          /* gives up, as the chip does */
    }
    if (x->polls++ >= POLL_EAGER) {
        pace = MAX(pace, POLL_PACE_NS);
    }
    x->mem.stall = (VGPUStall) {
        .why = VGPU_WAIT_POLL,
        .until = qemu_clock_get_ns(QEMU_CLOCK_REALTIME) + pace,
    };
    return VGPU_STEP_STALL;
}

static VGPUStep do_atomic(VGPUEngine *e, VGPUQueue *q)
{
    VGPUExec *x = &q->exec;
    uint64_t va = dw64(&x->dw[1]);

    if (VGPU_GET(x->dw[0], SDMA_ATOMIC__OP) != SDMA_ATOMIC_ADD64 ||
        (x->dw[0] & SDMA_ATOMIC__LOOP) || (va & 7)) {
        return VGPU_STEP_BAD_PACKET;
    }
    return vgpu_access_add64(&x->mem, va, dw64(&x->dw[3])) ==
           VGPU_ACCESS_STALL ? VGPU_STEP_STALL : VGPU_STEP_DONE;
}

static VGPUStep do_timestamp(VGPUEngine *e, VGPUQueue *q)
{
    uint64_t now = cpu_to_le64(vgpu_clock());

    return vgpu_access_write(&q->exec.mem, dw64(&q->exec.dw[1]) & ~7ull, &now,
                             sizeof(now)) == VGPU_ACCESS_STALL ?
           VGPU_STEP_STALL : VGPU_STEP_DONE;
}

static const struct VGPUPacket {
    uint32_t header;            /* opcode and sub-opcode */
    unsigned dwords;            /* of the fixed part */
    VGPUStep (*step)(VGPUEngine *e, VGPUQueue *q);
} packets[] = {
    { SDMA_PKT(SDMA_OP_NOP, 0), 1, do_nop },
    { SDMA_PKT(SDMA_OP_COPY, SDMA_SUBOP_COPY_LINEAR),
      SDMA_COPY_LINEAR_DWORDS, do_copy },
    { SDMA_PKT(SDMA_OP_WRITE, SDMA_SUBOP_WRITE_LINEAR),
      SDMA_WRITE_LINEAR_DWORDS, do_write },
    { SDMA_PKT(SDMA_OP_INDIRECT, 0), SDMA_INDIRECT_DWORDS, do_indirect },
    { SDMA_PKT(SDMA_OP_FENCE, 0), SDMA_FENCE_DWORDS, do_fence },
    { SDMA_PKT(SDMA_OP_TRAP, 0), SDMA_TRAP_DWORDS, do_trap },
    { SDMA_PKT(SDMA_OP_POLL_REGMEM, 0), SDMA_POLL_REGMEM_DWORDS, do_poll },
    { SDMA_PKT(SDMA_OP_ATOMIC, 0), SDMA_ATOMIC_DWORDS, do_atomic },
    { SDMA_PKT(SDMA_OP_CONST_FILL, 0), SDMA_CONST_FILL_DWORDS, do_fill },
    { SDMA_PKT(SDMA_OP_PTEPDE, SDMA_SUBOP_PTEPDE_GEN), SDMA_PTEPDE_DWORDS,
      do_ptepde },
    { SDMA_PKT(SDMA_OP_TIMESTAMP, SDMA_SUBOP_TIMESTAMP_GET_GLOBAL),
      SDMA_TIMESTAMP_DWORDS, do_timestamp },
};

static const struct VGPUPacket *find_packet(uint32_t header)
{
    unsigned i;

    header &= SDMA_PKT__OP | SDMA_PKT__SUB_OP;
    for (i = 0; i < ARRAY_SIZE(packets); i++) {
        if (packets[i].header == header) {
            return &packets[i];
        }
    }
    return NULL;
}

/* Total length, the fixed part being in exec->dw. */
static uint32_t total_dwords(const VGPUExec *x, unsigned fixed)
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

/*
 * The packet is @ndw dwords long, @left are there. In the ring the rest may
 * come; an indirect buffer must hold whole packets.
 */
static VGPUStep incomplete(VGPUExec *x, uint64_t ndw)
{
    if (x->ib_depth || ndw * 4 > x->ring_bytes) {
        return VGPU_STEP_BAD_PACKET;
    }
    x->mem.stall = (VGPUStall) { .why = VGPU_WAIT_WPTR };
    return VGPU_STEP_STALL;
}

static VGPUStep fetch(VGPUEngine *e, VGPUQueue *q, uint64_t pos, uint32_t *dw,
                      unsigned n)
{
    switch (vgpu_sdma_fetch(&q->exec, pos, dw, n)) {
    case VGPU_ACCESS_STALL:
        return VGPU_STEP_STALL;
    case VGPU_ACCESS_FAULT:
        /* The default page is no program. */
        return VGPU_STEP_BAD_RING;
    default:
        return VGPU_STEP_DONE;
    }
}

/* Bring the next packet's fixed part into exec. */
static VGPUStep load_packet(VGPUEngine *e, VGPUQueue *q)
{
    VGPUExec *x = &q->exec;
    const struct VGPUPacket *p;
    uint64_t pos = position(x), left;
    VGPUStep step;

    left = x->ib_depth ? x->ib[x->ib_depth - 1].size - pos
                       : (x->wptr - x->rptr) / 4;
    x->mem.faulted = false;
    step = fetch(e, q, pos, x->dw, 1);
    if (step != VGPU_STEP_DONE) {
        return step;
    }
    p = find_packet(x->dw[0]);
    if (!p) {
        return VGPU_STEP_BAD_PACKET;
    }
    if (left < p->dwords) {
        return incomplete(x, p->dwords);
    }
    step = fetch(e, q, pos + 1, x->dw + 1, p->dwords - 1);
    if (step != VGPU_STEP_DONE) {
        return step;
    }
    x->ndw = total_dwords(x, p->dwords);
    if (left < x->ndw) {
        return incomplete(x, x->ndw);
    }
    x->packet = true;
    x->done = 0;
    x->polls = 0;
    trace_vgpu_packet(e->s->id, e->index, q - e->queues, vgpu_sdma_vmid(x),
                      pos * 4, x->dw[0], x->ndw);
    return VGPU_STEP_DONE;
}

static void enter_indirect(VGPUExec *x)
{
    unsigned vmid = VGPU_GET(x->dw[0], SDMA_INDIRECT__VMID);
    VGPUIndirect *ib = &x->ib[x->ib_depth++];

    *ib = (VGPUIndirect) {
        .base = dw64(&x->dw[1]),
        .size = VGPU_GET(x->dw[3], SDMA_INDIRECT_DW3__SIZE),
        .vmid = vmid ? vmid : x->ring_vmid,
    };
}

/* The packet is done: move on, in the indirect buffer or the ring. */
static void retire(VGPUEngine *e, VGPUQueue *q)
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
        enter_indirect(x);
    }
    while (x->ib_depth &&
           x->ib[x->ib_depth - 1].pos >= x->ib[x->ib_depth - 1].size) {
        x->ib_depth--;
    }
    if (!x->ib_depth) {
        x->rptr += x->ring_ndw * 4ull;
        x->writeback = x->rptr_writeback;
    }
}

/* rptr to memory. A stall here is a stall of the queue like any other. */
static VGPUStep write_rptr(VGPUEngine *e, VGPUQueue *q)
{
    VGPUExec *x = &q->exec;
    uint64_t val = cpu_to_le64(x->rptr);

    /* What the packets wrote is seen before the pointer past them. */
    smp_wmb();
    x->mem.vmid = x->ring_vmid;
    if (vgpu_access_write(&x->mem, x->rptr_addr, &val, sizeof(val)) ==
        VGPU_ACCESS_STALL) {
        return VGPU_STEP_STALL;
    }
    x->writeback = false;
    return VGPU_STEP_DONE;
}

VGPUStep vgpu_packet_step(VGPUEngine *e, VGPUQueue *q)
{
    VGPUExec *x = &q->exec;
    VGPUStep step = VGPU_STEP_DONE;

    x->mem.vmid = vgpu_sdma_vmid(x);
    if (!x->writeback) {
        if (!x->packet) {
            step = load_packet(e, q);
        }
        if (step == VGPU_STEP_DONE) {
            step = find_packet(x->dw[0])->step(e, q);
        }
        if (step == VGPU_STEP_DONE) {
            retire(e, q);
        }
    }
    return step == VGPU_STEP_DONE && x->writeback ? write_rptr(e, q) : step;
}
