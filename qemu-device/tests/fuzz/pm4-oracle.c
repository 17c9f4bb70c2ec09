/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzzer of vgpu-kfd: the oracle, a model of the device, executes PM4 packets
 * of compute queues as docs/hardware.md defines them.
 */
#include "qemu/osdep.h"
#include "tests/qtest/vgpu-kfd/fuzz/fuzz.h"

/* At most FETCHED dwords of a packet are fetched before its execution. */
#define FETCHED     16

/* The ring or indirect buffer that is executed. */
typedef struct Stream {
    FuzzQueue *q;
    unsigned vmid;
    uint64_t base;
    uint64_t mask;              /* ring: size in bytes - 1; else UINT64_MAX */
    uint64_t pos;               /* byte position of the packet, not masked */
    uint64_t end;
} Stream;

static uint64_t pair(const uint32_t *dw)
{
    return dw[0] | (uint64_t)dw[1] << 32;
}

static uint32_t fetch(Stream *s, unsigned n)
{
    uint8_t undef;

    return fuzz_load(s->q, s->vmid, s->base + ((s->pos + 4 * n) & s->mask), 4,
                     &undef);
}

static void write_data(Stream *s, const uint32_t *dw, unsigned n)
{
    bool one = dw[1] & PM4_WRITE_DATA_DW1__ONE_ADDR;
    unsigned i;

    for (i = 4; i < n && !s->q->c->failure->len; i++) {
        uint32_t val = i < FETCHED ? dw[i] : fetch(s, i);

        fuzz_store(s->q, s->vmid, (pair(&dw[2]) & ~3ull) +
                   (one ? 0 : 4 * (i - 4)), val, 4, 0);
    }
}

static void copy_data(Stream *s, const uint32_t *dw)
{
    unsigned len = dw[1] & PM4_COPY_DATA_DW1__COUNT_64 ? 8 : 4;
    uint64_t align = ~(uint64_t)(len - 1), val = 0;
    uint8_t undef = 0;

    switch (VGPU_GET(dw[1], PM4_COPY_DATA_DW1__SRC_SEL)) {
    case PM4_SRC_MEM:
    case PM4_SRC_L2:
        val = fuzz_load(s->q, s->vmid, pair(&dw[2]) & align, len, &undef);
        break;
    case PM4_SRC_IMMEDIATE:
        val = pair(&dw[2]);
        break;
    default:
        undef = 1;              /* the GPU clock cannot be predicted */
        break;
    }
    fuzz_store(s->q, s->vmid, pair(&dw[4]) & align, val, len, undef);
}

static void release_mem(Stream *s, const uint32_t *dw, unsigned n)
{
    unsigned data_sel = VGPU_GET(dw[2], PM4_RELEASE_DW2__DATA_SEL);
    unsigned int_sel = VGPU_GET(dw[2], PM4_RELEASE_DW2__INT_SEL);
    uint64_t va = pair(&dw[3]), data = pair(&dw[5]);
    uint32_t context = n > 7 ? dw[7] : 0;
    FuzzQueue *q = s->q;
    uint8_t undef;
    bool irq;

    switch (int_sel) {
    case PM4_INT_IF_32:
        irq = fuzz_load(q, s->vmid, va & ~3ull, 4, &undef) == (uint32_t)data;
        q->open_traps |= undef;
        break;
    case PM4_INT_IF_64:
        irq = fuzz_load(q, s->vmid, va & ~7ull, 8, &undef) == data;
        q->open_traps |= undef;
        break;
    default:
        irq = int_sel == PM4_INT_ONLY || int_sel == PM4_INT_AFTER_WRITE ||
              int_sel == PM4_INT_ALWAYS;
        if (data_sel == PM4_DATA_32) {
            fuzz_store(q, s->vmid, va & ~3ull, data, 4, 0);
        } else if (data_sel == PM4_DATA_64) {
            fuzz_store(q, s->vmid, va & ~7ull, data, 8, 0);
        } else if (data_sel != PM4_DATA_NONE) {
            fuzz_store(q, s->vmid, va & ~7ull, 0, 8, 1);
        }
        break;
    }
    if (irq) {
        g_array_append_val(q->traps, context);
    }
}

static void run_buffer(Stream *s);

/*
 * Execute a packet. Returns by how many dwords the caller advances s->pos: the
 * packet's length or, for a chain packet, enough to end the buffer.
 */
static uint64_t do_packet(Stream *s, bool in_ib)
{
    FuzzQueue *q = s->q;
    uint32_t dw[FETCHED] = { 0 };
    unsigned i, n;

    q->reported = false;
    dw[0] = fetch(s, 0);
    n = VGPU_GET(dw[0], PM4_HDR__COUNT) + 2;
    if (dw[0] >> 30 == 2 ||
        (VGPU_GET(dw[0], PM4_HDR__OPCODE) == PM4_NOP && n == 0x4001)) {
        return 1;
    }
    for (i = 1; i < MIN(n, FETCHED); i++) {
        dw[i] = fetch(s, i);
    }
    switch (VGPU_GET(dw[0], PM4_HDR__OPCODE)) {
    case PM4_WRITE_DATA:
        write_data(s, dw, n);
        break;
    case PM4_COPY_DATA:
        copy_data(s, dw);
        break;
    case PM4_RELEASE_MEM:
        release_mem(s, dw, n);
        break;
    case PM4_WAIT_REG_MEM:
        fuzz_load(q, s->vmid, pair(&dw[2]) & ~3ull, 4, &(uint8_t) { 0 });
        break;
    case PM4_SET_SH_REG:
        for (i = FETCHED; i < n; i++) {
            fetch(s, i);
        }
        break;
    case PM4_INDIRECT_BUFFER:
        i = VGPU_GET(dw[3], PM4_IB_DW3__VMID);
        run_buffer(&(Stream) {
            .q = q, .vmid = q->vmid ? q->vmid : i,
            .base = pair(&dw[1]) & 0xfffffffffffcull, .mask = UINT64_MAX,
            .end = (dw[3] & PM4_IB_DW3__SIZE) * 4ull,
        });
        /*
         * Within an indirect buffer, this packet is a chain. The device never
         * returns from a chain, so end the buffer.
         */
        return in_ib ? s->end : n;
    default:
        break;
    }
    return n;
}

static void run_buffer(Stream *s)
{
    while (s->pos < s->end && !s->q->c->failure->len) {
        s->pos += 4 * do_packet(s, true);
    }
}

void fuzz_pm4_oracle_run(FuzzQueue *q)
{
    Stream s = {
        .q = q, .vmid = q->vmid, .base = q->q.ring_va, .mask = q->q.bytes - 1,
        .pos = q->first, .end = q->q.wptr,
    };

    while (s.pos < s.end && !q->c->failure->len) {
        s.pos += 4 * do_packet(&s, false);
        q->done = s.pos;
        q->reported = false;
        fuzz_store(q, s.vmid, q->q.rptr_va & ~7ull,
                   (s.pos & s.mask) / 4, 4, 0);
    }
}
