/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzzer of vgpu-kfd: generates the rings of compute queues, which contain PM4
 * packets, and loads the queues on the device.
 */
#include "qemu/osdep.h"
#include "qemu/host-utils.h"
#include "tests/qtest/vgpu-kfd/fuzz/fuzz.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"

#define MAX_PACKET      48              /* dwords */

static void make_packet(FuzzQueue *q, unsigned vmid, bool in_ib, GArray *to);

static void emit(FuzzQueue *q, GArray *to, unsigned op, uint32_t *dw,
                 unsigned n)
{
    dw[0] = PM4_HEADER(op, n);
    fuzz_stream_emit(q, to, dw, n);
}
#define EMIT(op, ...) do {                                      \
        uint32_t dw_[] = { 0, __VA_ARGS__ };                    \
        emit(q, to, op, dw_, ARRAY_SIZE(dw_));                  \
    } while (0)

/* Return one of the values of DST_SEL that select memory. */
static uint32_t memory(FuzzRng *r)
{
    static const uint8_t sel[] = { PM4_DST_MEM_SYNC, PM4_DST_L2, PM4_DST_MEM };

    return sel[fuzz_below(r, ARRAY_SIZE(sel))];
}

static void make_write_data(FuzzQueue *q, unsigned vmid, GArray *to)
{
    FuzzRng *r = &q->c->rng;
    unsigned n = 1 + fuzz_below(r, MAX_PACKET - 4), i;
    uint64_t va = fuzz_pick_va(q, vmid, 4 * n);
    uint32_t dw[MAX_PACKET];

    dw[1] = VGPU_PREP(PM4_WRITE_DATA_DW1__DST_SEL, memory(r)) |
            (fuzz_chance(r, 20) ? PM4_WRITE_DATA_DW1__ONE_ADDR : 0);
    dw[2] = va;
    dw[3] = va >> 32;
    for (i = 0; i < n; i++) {
        dw[4 + i] = fuzz_rnd(r);
    }
    emit(q, to, PM4_WRITE_DATA, dw, 4 + n);
}

static void make_copy_data(FuzzQueue *q, unsigned vmid, GArray *to)
{
    static const uint8_t from[] = {
        PM4_SRC_MEM, PM4_SRC_MEM, PM4_SRC_L2, PM4_SRC_L2, PM4_SRC_IMMEDIATE,
        PM4_SRC_CLOCK,
    };
    FuzzRng *r = &q->c->rng;
    uint32_t sel = from[fuzz_below(r, ARRAY_SIZE(from))];
    uint64_t src = fuzz_pick_va(q, vmid, 8), dst = fuzz_pick_va(q, vmid, 8);

    EMIT(PM4_COPY_DATA, VGPU_PREP(PM4_COPY_DATA_DW1__SRC_SEL, sel) |
         VGPU_PREP(PM4_COPY_DATA_DW1__DST_SEL, memory(r)) |
         (fuzz_chance(r, 50) ? PM4_COPY_DATA_DW1__COUNT_64 : 0),
         QVGPU_LO(src), QVGPU_HI(src), QVGPU_LO(dst), QVGPU_HI(dst));
}

static void make_release(FuzzQueue *q, unsigned vmid, GArray *to)
{
    FuzzRng *r = &q->c->rng;
    uint64_t va = fuzz_pick_va(q, vmid, 8), data = fuzz_rnd(r);
    uint32_t data_sel = fuzz_below(r, PM4_DATA_GDS);
    uint32_t int_sel = fuzz_below(r, PM4_INT_IF_64 + 1);
    /* q->part in bits 31:24 shows which queue has sent an interrupt. */
    uint32_t context = q->part << 24 | (fuzz_rnd(r) & 0xffffff);

    if (int_sel >= PM4_INT_IF_32 && fuzz_chance(r, 60)) {
        EMIT(PM4_RELEASE_MEM, 0x514,
             VGPU_PREP(PM4_RELEASE_DW2__DATA_SEL, (uint32_t)PM4_DATA_64),
             QVGPU_LO(va & ~7ull), QVGPU_HI(va),
             QVGPU_LO(data), QVGPU_HI(data));
    }
    EMIT(PM4_RELEASE_MEM, 0x514,
         VGPU_PREP(PM4_RELEASE_DW2__DATA_SEL, data_sel) |
         VGPU_PREP(PM4_RELEASE_DW2__INT_SEL, int_sel) |
         VGPU_PREP(PM4_RELEASE_DW2__DST_SEL, (uint32_t)fuzz_below(r, 2)),
         QVGPU_LO(va), QVGPU_HI(va), QVGPU_LO(data), QVGPU_HI(data), context);
}

static void make_indirect(FuzzQueue *q, GArray *to, bool chain)
{
    FuzzCase *c = q->c;
    FuzzRng *r = &c->rng;
    g_autoptr(GArray) dw = g_array_new(false, false, 4);
    FuzzPlace at = fuzz_special_alloc(q, 1);
    unsigned n = 1 + fuzz_below(r, 8), vmid = q->vmid, field = 0;
    uint64_t va;

    if (!vmid && fuzz_chance(r, 60)) {
        vmid = field = c->vmids[fuzz_below(r, c->nspaces)];
    } else if (fuzz_chance(r, 30)) {
        /*
         * The device ignores the VMID in INDIRECT_BUFFER unless the queue has
         * VMID 0.
         */
        field = fuzz_below(r, VGPU_NUM_VMIDS);
        vmid = vmid ? vmid : field;
        if (vmid && !c->space[vmid].used) {
            vmid = q->vmid;
            field = 0;
        }
    }
    while (n--) {
        make_packet(q, vmid, true, dw);
    }
    if (fuzz_chance(r, 30) && fuzz_special_left(q, 1)) {
        /*
         * After a chain packet, the queue continues in the new buffer and does
         * not return. It must not execute the packet behind the chain packet.
         */
        make_indirect(q, dw, true);
        make_packet(q, vmid, true, dw);
    }
    fuzz_put_dwords(c, at, UINT64_MAX, 0, dw);
    va = fuzz_special_va(q, vmid, at);
    EMIT(PM4_INDIRECT_BUFFER, QVGPU_LO(va), QVGPU_HI(va),
         dw->len | (chain ? PM4_IB_DW3__CHAIN : 0) |
         VGPU_PREP(PM4_IB_DW3__VMID, field));
}

/* Generate a packet without effect, whose payload is not parsed. */
static void make_nothing(FuzzQueue *q, GArray *to)
{
    FuzzRng *r = &q->c->rng;
    uint32_t type2 = 0x80000000u | (fuzz_rnd(r) & 0xffff);
    uint32_t dw[MAX_PACKET];

    memset(dw, fuzz_rnd(r), sizeof(dw));
    switch (fuzz_below(r, 6)) {
    case 0:
        emit(q, to, PM4_NOP, dw, 2 + fuzz_below(r, 40));
        break;
    case 1:
        fuzz_stream_emit(q, to, &type2, 1);
        break;
    case 2:
        type2 = PM4_HEADER(PM4_NOP, 2) |
                VGPU_PREP(PM4_HDR__COUNT, (uint32_t)PM4_COUNT_HEADER_ONLY);
        fuzz_stream_emit(q, to, &type2, 1);
        break;
    case 3:
        EMIT(PM4_EVENT_WRITE, 4 | VGPU_PREP(PM4_EVENT__INDEX, 4u));
        break;
    case 4:
        emit(q, to, PM4_ACQUIRE_MEM, dw, 7);
        break;
    default:
        dw[1] = PM4_SH_COMPUTE_FIRST - PM4_SH_REG_FIRST + fuzz_below(r, 40);
        emit(q, to, PM4_SET_SH_REG, dw, 3 + fuzz_below(r, 30));
        break;
    }
}

static void make_packet(FuzzQueue *q, unsigned vmid, bool in_ib, GArray *to)
{
    FuzzRng *r = &q->c->rng;
    uint64_t va;

    switch (fuzz_below(r, 100)) {
    case 0 ... 29:
        make_write_data(q, vmid, to);
        break;
    case 30 ... 54:
        make_copy_data(q, vmid, to);
        break;
    case 55 ... 74:
        make_release(q, vmid, to);
        break;
    case 75 ... 79:
        /* The condition is true immediately, whatever memory holds. */
        va = fuzz_pick_va(q, vmid, 4);
        EMIT(PM4_WAIT_REG_MEM, PM4_WAIT_DW1__MEM_SPACE |
             (fuzz_chance(r, 50) ? 3 : 0), QVGPU_LO(va), QVGPU_HI(va), 0, 0, 4);
        break;
    case 80 ... 89:
        make_nothing(q, to);
        break;
    default:
        if (!in_ib && fuzz_special_left(q, 2)) {
            make_indirect(q, to, false);
        }
        break;
    }
}

void fuzz_pm4_stream_make(FuzzQueue *q, GArray *to)
{
    FuzzRng *r = &q->c->rng;
    unsigned n = 1 + fuzz_below(r, 24);
    FuzzQueue *o;

    do {
        q->cq.me = 1 + fuzz_below(r, CP_NUM_MECS);
        q->cq.pipe = fuzz_below(r, CP_NUM_PIPES);
        q->cq.queue = fuzz_below(r, CP_NUM_QUEUES);
        for (o = q->c->queue; o < q; o++) {
            if (o->compute && o->cq.me == q->cq.me &&
                o->cq.pipe == q->cq.pipe && o->cq.queue == q->cq.queue) {
                break;
            }
        }
    } while (o < q);
    /* fuzz_pm4_idle() waits until the device overwrites this value. */
    fuzz_put64(q->c, q->rptr, UINT64_MAX);
    /*
     * q->first is the start value of wptr in bytes. fuzz_sdma_stream_make()
     * adds the bytes of the packets, less than 1 MiB, to get q->q.wptr. This
     * sum stays below 2^62, and so does not overflow.
     */
    q->first = (fuzz_rnd(r) >> 2) % (UINT64_MAX / 4 - MiB) & ~3ull;
    while (n-- && to->len + 2 * MAX_PACKET <= q->q.bytes / 4) {
        make_packet(q, q->vmid, false, to);
    }
}

void fuzz_pm4_load(FuzzQueue *q)
{
    QVGPUCompute *c = &q->cq;

    c->v = q->c->v;
    q->space.vmid = q->vmid;
    c->space = q->vmid ? &q->space : NULL;
    c->dwords = q->q.bytes / 4;
    c->control = VGPU_PREP(CP_HQD_PQ_CONTROL__QUEUE_SIZE,
                           (uint32_t)ctz64(c->dwords) - 1) |
                 (q->priv ? CP_HQD_PQ_CONTROL__PRIV_STATE : 0);
    c->doorbell = 0x4000 + 8 * (c->me * 32 + c->pipe * 8 + c->queue);
    c->ring_va = q->q.ring_va;
    c->rptr_va = q->q.rptr_va;
    c->wptr = q->first / 4;
    qvgpu_hqd_wr(c, CP_HQD_ERROR, 0);
    qvgpu_hqd_wr(c, CP_HQD_IB_CONTROL, 0);
    qvgpu_compute_load(c);
    c->wptr = q->q.wptr / 4;
}

/*
 * Return true if the queue has executed all packets. In its last step, the
 * queue reports rptr to memory.
 */
bool fuzz_pm4_idle(FuzzQueue *q)
{
    uint32_t end = q->cq.wptr & (q->cq.dwords - 1);
    FuzzCase *c = q->c;
    uint64_t at = c->mem[q->rptr.kind].base + q->rptr.off;

    return qtest_readl(c->v->qts, at + (q->rptr.kind == QVGPU_RAM ? 0 :
                                        c->vram_bus)) == end &&
           qvgpu_hqd_rd(&q->cq, CP_HQD_PQ_RPTR) == end;
}

void fuzz_pm4_check(FuzzQueue *q)
{
    uint32_t error = qvgpu_hqd_rd(&q->cq, CP_HQD_ERROR);

    if (error) {
        fuzz_fail(q->c, "queue %u: CP_HQD_ERROR 0x%x", q->part, error);
    }
}
