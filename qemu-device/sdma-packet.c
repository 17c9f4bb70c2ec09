/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: what SDMA packets do.
 *
 * A packet's fixed part is fetched once and kept in q->exec; payload progress
 * is kept in exec->done, so that a stalled packet goes on where it was: a byte
 * counts as done when it was copied, not before.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/timer.h"
#include "qemu/units.h"
#include "vgpu/sdma_packets.h"
#include "vgpu-kfd.h"
#include "trace.h"

#define POLL_INTERVAL_NS    SCALE_MS
#define POLL_FOREVER        0xfff

/* Outcome of reaching for memory. */
typedef enum Access {
    ACCESS_OK,
    ACCESS_WAIT,                /* retry fault: stalled, queue->wait is set */
} Access;

static unsigned queue_vmid(const VGPUQueue *q)
{
    return VGPU_GET(q->regs[SDMA_RB_CNTL], SDMA_RB_CNTL__RB_VMID);
}

static uint64_t dw64(const uint32_t *dw)
{
    return dw[0] | (uint64_t)dw[1] << 32;
}

/*
 * Translations may be used from here to access_end(). The generation is noted,
 * so that a stall can tell whether an invalidation came in between.
 */
static void access_begin(VGPUSdma *e, VGPUQueue *q)
{
    qatomic_set(&e->access, e->access + 1);
    /* Say so, then look at generations: pairs with inv_request(). */
    smp_mb();
    q->gen_seen = qatomic_read(&e->s->gen[queue_vmid(q)]);
}

static void access_end(VGPUSdma *e)
{
    qatomic_store_release(&e->access, e->access + 1);
}

/*
 * Where @va leads. Retry faults stall the queue; no-retry faults are reported
 * and redirected to the default page for the rest of the page.
 */
static Access reach(VGPUSdma *e, VGPUQueue *q, uint64_t va, uint64_t len,
                    bool write, VGPUSpan *span)
{
    VGPUState *s = e->s;
    unsigned vmid = queue_vmid(q);
    const uint32_t *regs = s->hubs[VGPU_HUB_MM].regs;

    vgpu_translate(e, vmid, va, len, write, span);
    if (span->kind == VGPU_SPAN_FAULT_RETRY) {
        q->cam = vgpu_gmc_retry(s, VGPU_HUB_MM, vmid, va, write,
                                &q->cam_serial);
        if (q->cam != VGPU_CAM_NONE) {
            q->wait = VGPU_WAIT_CAM;
        } else if (s->ih.cam_cntl & IH_RETRY_INT_CAM_CNTL__ENABLE) {
            q->wait = VGPU_WAIT_CAM_FREE;
        } else {
            q->wait = VGPU_WAIT_TIMER;
            q->exec.poll_at = qemu_clock_get_ns(QEMU_CLOCK_REALTIME) +
                              POLL_INTERVAL_NS;
        }
        q->exec.stalled = true;
        q->exec.stall_write = write;
        q->exec.stall_va = va;
        return ACCESS_WAIT;
    }
    /* Other accesses of the packet may succeed before the one that stalled. */
    if (q->exec.stalled && q->exec.stall_va == va &&
        q->exec.stall_write == write) {
        q->exec.stalled = false;
        vgpu_count(s, VGPU_CNT_REPLAYS, 1);
        trace_vgpu_replay(s->id, vmid, va, q->cam_serial);
    }
    if (span->kind == VGPU_SPAN_FAULT) {
        vgpu_gmc_fault(s, VGPU_HUB_MM, vmid, va, write, span,
                       VGPU_CID_SDMA(e->index), q->exec.fault_reported);
        q->exec.fault_reported = true;
        span->kind = VGPU_SPAN_DEFAULT;
        span->addr = (regs[VM_L2_PROTECTION_FAULT_DEFAULT_ADDR_LO32] |
                      (uint64_t)regs[VM_L2_PROTECTION_FAULT_DEFAULT_ADDR_HI32]
                      << 32) << VGPU_PAGE_SHIFT;
        span->addr |= va & (VGPU_PAGE_SIZE - 1);
        span->len = MIN(len, VGPU_PAGE_SIZE - (va & (VGPU_PAGE_SIZE - 1)));
    }
    return ACCESS_OK;
}

/* Small transfers that may cross pages; nothing is written unless all can. */
static Access mem_read(VGPUSdma *e, VGPUQueue *q, uint64_t va, void *buf,
                       uint64_t len)
{
    uint8_t *p = buf;
    Access ret = ACCESS_OK;

    access_begin(e, q);
    while (len && ret == ACCESS_OK) {
        VGPUSpan span;

        ret = reach(e, q, va, len, false, &span);
        if (ret == ACCESS_OK) {
            vgpu_phys_read(e->s, &span, p, span.len);
            p += span.len;
            va += span.len;
            len -= span.len;
        }
    }
    access_end(e);
    return ret;
}

static Access mem_write(VGPUSdma *e, VGPUQueue *q, uint64_t va,
                        const void *buf, uint64_t len)
{
    VGPUSpan span[2];
    Access ret;

    /* @len is at most 8: two pages. */
    access_begin(e, q);
    ret = reach(e, q, va, len, true, &span[0]);
    if (ret == ACCESS_OK && span[0].len < len) {
        ret = reach(e, q, va + span[0].len, len - span[0].len, true, &span[1]);
    }
    if (ret == ACCESS_OK) {
        vgpu_phys_write(e->s, &span[0], buf, span[0].len);
        if (span[0].len < len) {
            vgpu_phys_write(e->s, &span[1], buf + span[0].len,
                            len - span[0].len);
        }
    }
    access_end(e);
    return ret;
}

/* @n dwords at @pos (dwords) of what is being executed: ring or IB. */
static Access fetch(VGPUSdma *e, VGPUQueue *q, uint64_t pos, uint32_t *dw,
                    unsigned n)
{
    VGPUExec *x = &q->exec;
    Access ret = ACCESS_OK;
    unsigned i;

    if (x->ib_depth) {
        ret = mem_read(e, q, x->ib[x->ib_depth - 1].base + pos * 4, dw, n * 4);
    } else {
        uint64_t bytes = vgpu_sdma_ring_bytes(q);
        uint64_t base = ((uint64_t)q->regs[SDMA_RB_BASE_HI] << 32 |
                         q->regs[SDMA_RB_BASE]) << 8;
        uint64_t off = (pos * 4) & (bytes - 1);
        unsigned first = MIN(n, (bytes - off) / 4);

        ret = mem_read(e, q, base + off, dw, first * 4);
        if (ret == ACCESS_OK && first < n) {
            ret = mem_read(e, q, base, dw + first, (n - first) * 4);
        }
    }
    for (i = 0; i < n && ret == ACCESS_OK; i++) {
        dw[i] = le32_to_cpu(dw[i]);
    }
    return ret;
}

/* Dwords of the fixed part; 0: no such packet. */
static unsigned fixed_dwords(uint32_t header)
{
    switch (header & (SDMA_PKT__OP | SDMA_PKT__SUB_OP)) {
    case SDMA_PKT(SDMA_OP_NOP, 0):
        return 1;
    case SDMA_PKT(SDMA_OP_COPY, SDMA_SUBOP_COPY_LINEAR):
        return header & SDMA_COPY_LINEAR__BROADCAST ? 0
                                                    : SDMA_COPY_LINEAR_DWORDS;
    case SDMA_PKT(SDMA_OP_WRITE, SDMA_SUBOP_WRITE_LINEAR):
        return SDMA_WRITE_LINEAR_DWORDS;
    case SDMA_PKT(SDMA_OP_INDIRECT, 0):
        return SDMA_INDIRECT_DWORDS;
    case SDMA_PKT(SDMA_OP_FENCE, 0):
        return SDMA_FENCE_DWORDS;
    case SDMA_PKT(SDMA_OP_TRAP, 0):
        return SDMA_TRAP_DWORDS;
    case SDMA_PKT(SDMA_OP_POLL_REGMEM, 0):
        return SDMA_POLL_REGMEM_DWORDS;
    case SDMA_PKT(SDMA_OP_ATOMIC, 0):
        return SDMA_ATOMIC_DWORDS;
    case SDMA_PKT(SDMA_OP_CONST_FILL, 0):
        return SDMA_CONST_FILL_DWORDS;
    case SDMA_PKT(SDMA_OP_PTEPDE, SDMA_SUBOP_PTEPDE_GEN):
        return SDMA_PTEPDE_DWORDS;
    case SDMA_PKT(SDMA_OP_TIMESTAMP, SDMA_SUBOP_TIMESTAMP_GET_GLOBAL):
        return SDMA_TIMESTAMP_DWORDS;
    }
    return 0;
}

/* Total length, the fixed part being in exec->dw. */
static unsigned total_dwords(const VGPUExec *x, unsigned fixed)
{
    switch (x->dw[0] & SDMA_PKT__OP) {
    case SDMA_OP_NOP:
        return 1 + VGPU_GET(x->dw[0], SDMA_NOP__COUNT);
    case SDMA_OP_WRITE:
        return fixed + VGPU_GET(x->dw[3], SDMA_WRITE_LINEAR_DW3__COUNT) + 1;
    }
    return fixed;
}

static uint64_t position(const VGPUQueue *q)
{
    const VGPUExec *x = &q->exec;

    return x->ib_depth ? x->ib[x->ib_depth - 1].pos : q->rptr / 4;
}

/* Bring the next packet's fixed part into exec. */
static VGPUStep load_packet(VGPUSdma *e, VGPUQueue *q)
{
    VGPUExec *x = &q->exec;
    uint64_t pos = position(q), left;
    unsigned fixed;

    if (x->ib_depth) {
        left = x->ib[x->ib_depth - 1].size - pos;
    } else {
        left = (qatomic_read(&q->wptr) - q->rptr) / 4;
    }
    if (!left) {
        return VGPU_STEP_EMPTY;
    }
    if (fetch(e, q, pos, x->dw, 1) != ACCESS_OK) {
        return VGPU_STEP_WAIT;
    }
    fixed = fixed_dwords(x->dw[0]);
    if (!fixed || fixed > VGPU_PKT_MAX_DWORDS) {
        x->valid = true;                /* for the report */
        return VGPU_STEP_BAD;
    }
    if (left < fixed) {
        x->valid = x->ib_depth;
        return x->ib_depth ? VGPU_STEP_BAD : VGPU_STEP_EMPTY;
    }
    if (fetch(e, q, pos, x->dw, fixed) != ACCESS_OK) {
        return VGPU_STEP_WAIT;
    }
    /* The ring may have changed under us: the header decides anew. */
    if (fixed_dwords(x->dw[0]) != fixed) {
        x->valid = true;
        return VGPU_STEP_BAD;
    }
    x->ndw = total_dwords(x, fixed);
    if (left < x->ndw) {
        if (x->ib_depth || x->ndw * 4ull > vgpu_sdma_ring_bytes(q)) {
            x->valid = true;
            return VGPU_STEP_BAD;
        }
        return VGPU_STEP_EMPTY;
    }
    x->valid = true;
    x->fault_reported = false;
    x->done = 0;
    x->polls = 0;
    return VGPU_STEP_DONE;
}

static VGPUStep do_copy(VGPUSdma *e, VGPUQueue *q)
{
    VGPUExec *x = &q->exec;
    uint64_t total = (uint64_t)VGPU_GET(x->dw[1],
                                        SDMA_COPY_LINEAR_DW1__COUNT) + 1;
    uint64_t src = dw64(&x->dw[3]), dst = dw64(&x->dw[5]);
    uint64_t budget = VGPU_CHUNK;

    while (x->done < total && budget) {
        uint64_t len = MIN(total - x->done, budget);
        VGPUSpan from, to;

        access_begin(e, q);
        if (reach(e, q, src + x->done, len, false, &from) != ACCESS_OK ||
            reach(e, q, dst + x->done, from.len, true, &to) != ACCESS_OK) {
            access_end(e);
            return VGPU_STEP_WAIT;
        }
        vgpu_phys_copy(e->s, &to, &from, to.len);
        access_end(e);
        vgpu_count(e->s, VGPU_CNT_BYTES_COPIED, to.len);
        x->done += to.len;
        budget -= to.len;
    }
    return x->done < total ? VGPU_STEP_AGAIN : VGPU_STEP_DONE;
}

static VGPUStep do_fill(VGPUSdma *e, VGPUQueue *q)
{
    VGPUExec *x = &q->exec;
    uint64_t total = (uint64_t)VGPU_GET(x->dw[4],
                                        SDMA_CONST_FILL_DW4__COUNT) + 1;
    uint64_t dst = dw64(&x->dw[1]);
    unsigned size = VGPU_GET(x->dw[0], SDMA_CONST_FILL__SIZE);
    uint32_t data = x->dw[3];
    uint64_t budget = VGPU_CHUNK;

    if (size == 0) {
        data = (data & 0xff) * 0x01010101u;
    } else if (size != 2) {
        return VGPU_STEP_BAD;
    } else {
        dst &= ~3ull;
        total = (total + 3) & ~3ull;
    }
    while (x->done < total && budget) {
        VGPUSpan to;

        access_begin(e, q);
        if (reach(e, q, dst + x->done, MIN(total - x->done, budget), true,
                  &to) != ACCESS_OK) {
            access_end(e);
            return VGPU_STEP_WAIT;
        }
        vgpu_phys_fill(e->s, &to, data, x->done & 3, to.len);
        access_end(e);
        vgpu_count(e->s, VGPU_CNT_BYTES_FILLED, to.len);
        x->done += to.len;
        budget -= to.len;
    }
    return x->done < total ? VGPU_STEP_AGAIN : VGPU_STEP_DONE;
}

static VGPUStep do_write(VGPUSdma *e, VGPUQueue *q)
{
    VGPUExec *x = &q->exec;
    uint64_t total = (x->ndw - SDMA_WRITE_LINEAR_DWORDS) * 4ull;
    uint64_t dst = dw64(&x->dw[1]) & ~3ull;
    unsigned n = 0;

    while (x->done < total && n++ < 4096) {
        uint32_t data;

        if (fetch(e, q, position(q) + SDMA_WRITE_LINEAR_DWORDS + x->done / 4,
                  &data, 1) != ACCESS_OK) {
            return VGPU_STEP_WAIT;
        }
        data = cpu_to_le32(data);
        if (mem_write(e, q, dst + x->done, &data, 4) != ACCESS_OK) {
            return VGPU_STEP_WAIT;
        }
        x->done += 4;
    }
    return x->done < total ? VGPU_STEP_AGAIN : VGPU_STEP_DONE;
}

static VGPUStep do_ptepde(VGPUSdma *e, VGPUQueue *q)
{
    VGPUExec *x = &q->exec;
    uint64_t total = (uint64_t)VGPU_GET(x->dw[9], SDMA_PTEPDE_DW9__COUNT) + 1;
    uint64_t dst = dw64(&x->dw[1]) & ~7ull;
    uint64_t flags = dw64(&x->dw[3]), addr = dw64(&x->dw[5]);
    uint64_t incr = dw64(&x->dw[7]);
    unsigned n = 0;

    while (x->done < total && n++ < 4096) {
        uint64_t entry = cpu_to_le64(flags | (addr + x->done * incr));

        if (mem_write(e, q, dst + x->done * 8, &entry, 8) != ACCESS_OK) {
            return VGPU_STEP_WAIT;
        }
        x->done++;
        vgpu_count(e->s, VGPU_CNT_PTES_WRITTEN, 1);
    }
    return x->done < total ? VGPU_STEP_AGAIN : VGPU_STEP_DONE;
}

static VGPUStep do_indirect(VGPUSdma *e, VGPUQueue *q)
{
    VGPUExec *x = &q->exec;
    unsigned vmid = VGPU_GET(x->dw[0], SDMA_INDIRECT__VMID);
    uint32_t size = VGPU_GET(x->dw[3], SDMA_INDIRECT_DW3__SIZE);

    if (x->ib_depth == ARRAY_SIZE(x->ib) ||
        (vmid != queue_vmid(q) && vmid) || (x->dw[1] & 3)) {
        return VGPU_STEP_BAD;
    }
    x->pending_ib.base = dw64(&x->dw[1]);
    x->pending_ib.size = size;
    x->enter_ib = size;
    return VGPU_STEP_DONE;
}

static bool compare(unsigned func, uint32_t val, uint32_t ref)
{
    switch (func) {
    case 0:
        return true;
    case 1:
        return val < ref;
    case 2:
        return val <= ref;
    case 3:
        return val == ref;
    case 4:
        return val != ref;
    case 5:
        return val >= ref;
    default:
        return val > ref;
    }
}

static VGPUStep do_poll(VGPUSdma *e, VGPUQueue *q)
{
    VGPUExec *x = &q->exec;
    unsigned func = VGPU_GET(x->dw[0], SDMA_POLL_REGMEM__FUNC);
    unsigned retry = VGPU_GET(x->dw[5], SDMA_POLL_REGMEM_DW5__RETRY);
    uint32_t val;

    if (func > 6) {
        return VGPU_STEP_BAD;
    }
    if (func == 0) {
        return VGPU_STEP_DONE;          /* also ROCr's "HDP flush" */
    }
    if (x->dw[0] & SDMA_POLL_REGMEM__MEM) {
        if (mem_read(e, q, dw64(&x->dw[1]) & ~3ull, &val, 4) != ACCESS_OK) {
            return VGPU_STEP_WAIT;
        }
        val = le32_to_cpu(val);
    } else {
        if ((x->dw[0] & SDMA_POLL_REGMEM__HDP_FLUSH) && !x->polls) {
            /* dw2 names the register that asks for what dw1 tells of. */
            vgpu_reg_poll_request(e->s, x->dw[2] / 4, x->dw[3]);
        }
        val = vgpu_reg_poll(e->s, x->dw[1] / 4);
    }
    if (compare(func, val & x->dw[4], x->dw[3])) {
        return VGPU_STEP_DONE;
    }
    if (retry != POLL_FOREVER && x->polls++ >= retry) {
        return VGPU_STEP_DONE;          /* gives up, as the chip does */
    }
    q->wait = VGPU_WAIT_TIMER;
    x->poll_at = qemu_clock_get_ns(QEMU_CLOCK_REALTIME) + POLL_INTERVAL_NS;
    return VGPU_STEP_WAIT;
}

static VGPUStep do_atomic(VGPUSdma *e, VGPUQueue *q)
{
    VGPUExec *x = &q->exec;
    uint64_t va = dw64(&x->dw[1]);
    VGPUStep step = VGPU_STEP_DONE;
    VGPUSpan span;

    if (VGPU_GET(x->dw[0], SDMA_ATOMIC__OP) != SDMA_ATOMIC_ADD64 ||
        (x->dw[0] & SDMA_ATOMIC__LOOP) || (va & 7)) {
        return VGPU_STEP_BAD;
    }
    access_begin(e, q);
    if (reach(e, q, va, 8, true, &span) != ACCESS_OK) {
        step = VGPU_STEP_WAIT;
    } else if (!vgpu_phys_add64(e->s, &span, dw64(&x->dw[3]))) {
        step = VGPU_STEP_BAD;
    }
    access_end(e);
    return step;
}

static VGPUStep do_fence(VGPUSdma *e, VGPUQueue *q)
{
    uint32_t data = cpu_to_le32(q->exec.dw[3]);

    return mem_write(e, q, dw64(&q->exec.dw[1]) & ~3ull, &data, 4) ==
           ACCESS_OK ? VGPU_STEP_DONE : VGPU_STEP_WAIT;
}

static VGPUStep do_timestamp(VGPUSdma *e, VGPUQueue *q)
{
    uint64_t now = cpu_to_le64(vgpu_clock());

    return mem_write(e, q, dw64(&q->exec.dw[1]) & ~7ull, &now, 8) ==
           ACCESS_OK ? VGPU_STEP_DONE : VGPU_STEP_WAIT;
}

static VGPUStep do_trap(VGPUSdma *e, VGPUQueue *q)
{
    uint32_t data[4] = { q->exec.dw[1] & SDMA_TRAP_DW1__CONTEXT };
    unsigned n = q - e->queues;

    if (e->regs[SDMA_CNTL] & SDMA_CNTL__TRAP_ENABLE) {
        QEMU_LOCK_GUARD(&e->s->lock);
        vgpu_ih_push(e->s, IH_CLIENT_SDMA0 + e->index, IH_SRC_SDMA_TRAP,
                     n < SDMA_QUEUE_RLC(0) ? 0 : n - SDMA_QUEUE_RLC(0),
                     queue_vmid(q), true, data);
    }
    return VGPU_STEP_DONE;
}

static VGPUStep execute(VGPUSdma *e, VGPUQueue *q)
{
    switch (q->exec.dw[0] & SDMA_PKT__OP) {
    case SDMA_OP_NOP:
        return VGPU_STEP_DONE;
    case SDMA_OP_COPY:
        return do_copy(e, q);
    case SDMA_OP_WRITE:
        return do_write(e, q);
    case SDMA_OP_INDIRECT:
        return do_indirect(e, q);
    case SDMA_OP_FENCE:
        return do_fence(e, q);
    case SDMA_OP_TRAP:
        return do_trap(e, q);
    case SDMA_OP_POLL_REGMEM:
        return do_poll(e, q);
    case SDMA_OP_ATOMIC:
        return do_atomic(e, q);
    case SDMA_OP_CONST_FILL:
        return do_fill(e, q);
    case SDMA_OP_PTEPDE:
        return do_ptepde(e, q);
    case SDMA_OP_TIMESTAMP:
        return do_timestamp(e, q);
    default:
        return VGPU_STEP_BAD;
    }
}

/* The packet is done: move on, in the IB or the ring. */
static void retire(VGPUSdma *e, VGPUQueue *q)
{
    VGPUExec *x = &q->exec;
    unsigned ndw = x->ndw;

    vgpu_count(e->s, VGPU_CNT_PACKETS, 1);
    trace_vgpu_packet(e->s->id, e->index, q - e->queues, queue_vmid(q),
                      x->dw[0]);
    x->valid = false;
    if (x->ib_depth) {
        x->ib[x->ib_depth - 1].pos += ndw;
    } else {
        x->ring_ndw = ndw;
    }
    if (x->enter_ib) {
        x->enter_ib = false;
        x->ib[x->ib_depth].base = x->pending_ib.base;
        x->ib[x->ib_depth].size = x->pending_ib.size;
        x->ib[x->ib_depth].pos = 0;
        x->ib_depth++;
    }
    while (x->ib_depth &&
           x->ib[x->ib_depth - 1].pos >= x->ib[x->ib_depth - 1].size) {
        x->ib_depth--;
    }
    if (!x->ib_depth) {
        WITH_QEMU_LOCK_GUARD(&e->lock) {
            q->rptr += x->ring_ndw * 4ull;
        }
        x->writeback = true;
    }
}

/* rptr to memory. A stall here is a stall of the queue like any other. */
static VGPUStep write_rptr(VGPUSdma *e, VGPUQueue *q)
{
    uint64_t va = (uint64_t)q->regs[SDMA_RB_RPTR_ADDR_HI] << 32 |
                  (q->regs[SDMA_RB_RPTR_ADDR_LO] & ~7u);
    uint64_t val = cpu_to_le64(q->rptr);

    if (q->regs[SDMA_RB_CNTL] & SDMA_RB_CNTL__RPTR_WRITEBACK_ENABLE) {
        q->exec.fault_reported = false;
        if (mem_write(e, q, va, &val, 8) != ACCESS_OK) {
            return VGPU_STEP_WAIT;
        }
    }
    q->exec.writeback = false;
    return VGPU_STEP_DONE;
}

VGPUStep vgpu_sdma_step(VGPUSdma *e, VGPUQueue *q)
{
    VGPUExec *x = &q->exec;
    VGPUStep step;

    if (x->writeback) {
        return write_rptr(e, q);
    }
    if (!x->valid) {
        step = load_packet(e, q);
        if (step != VGPU_STEP_DONE) {
            return step;
        }
    }
    step = execute(e, q);
    if (step == VGPU_STEP_DONE) {
        retire(e, q);
        if (x->writeback) {
            return write_rptr(e, q);
        }
    }
    return step;
}
