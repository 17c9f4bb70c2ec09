/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzzer of vgpu-kfd: executes SDMA packets as docs/hardware.md defines them.
 * For simplicity, each byte is translated separately for each access.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "tests/qtest/vgpu-kfd/fuzz/fuzz.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"

/* The ring or indirect buffer that is executed. */
typedef struct Stream {
    FuzzQueue *q;
    unsigned vmid;
    uint64_t base;
    /*
     * Ring: size in bytes - 1, to wrap @pos. Indirect buffer, which does not
     * wrap: UINT64_MAX.
     */
    uint64_t mask;
    uint64_t pos;               /* position of the packet, in bytes */
    uint64_t end;
    unsigned depth;
} Stream;

/*
 * Translate @va; repeat this after each retry fault. If @va has memory, sets
 * @at and returns true. Otherwise, sets @data to what a read returns.
 */
static bool touch(FuzzQueue *q, unsigned vmid, uint64_t va, bool write,
                  FuzzPlace *at, uint8_t *data)
{
    FuzzCase *c = q->c;
    FuzzFault fault = { vmid, va / QVGPU_PAGE, write };
    FuzzHit hit;

    for (;;) {
        hit = fuzz_walk(c, vmid, va, write);
        if (hit.kind != FUZZ_HIT_RETRY) {
            break;
        }
        if (!fuzz_handle_fault(q, vmid, va, write, &hit)) {
            *data = 0;
            return false;
        }
    }
    *data = 0;
    if (hit.kind == FUZZ_HIT_MEMORY) {
        *at = hit.at;
        return true;
    }
    if (hit.kind == FUZZ_HIT_FAULT) {
        if (!q->reported) {
            q->reported = true;
            g_array_append_val(c->faults, fault);
        }
        if (c->default_page) {
            FuzzMem *m = &c->mem[QVGPU_RAM];

            *data = m->byte[c->default_page - m->base + va % QVGPU_PAGE];
        }
    }
    return false;
}

static uint8_t read_byte(FuzzQueue *q, unsigned vmid, uint64_t va,
                         uint8_t *undef, FuzzPlace *at, bool *real)
{
    uint8_t data;

    *undef = 0;
    *real = touch(q, vmid, va, false, at, &data);
    if (*real) {
        *undef = q->c->mem[at->kind].undef[at->off];
        data = q->c->mem[at->kind].byte[at->off];
    }
    return data;
}

static void put(FuzzCase *c, FuzzPlace at, uint8_t byte, uint8_t undef)
{
    FuzzMem *m = &c->mem[at.kind];

    m->byte[at.off] = byte;
    m->undef[at.off] = undef;
    m->used[at.off / QVGPU_PAGE] = FUZZ_USED;
}

static void write_byte(FuzzQueue *q, unsigned vmid, uint64_t va, uint8_t byte,
                       uint8_t undef)
{
    FuzzPlace at;
    uint8_t none;

    if (touch(q, vmid, va, true, &at, &none)) {
        put(q->c, at, byte, undef);
    }
}

void fuzz_store(FuzzQueue *q, unsigned vmid, uint64_t va, uint64_t val,
                unsigned len, uint8_t undef)
{
    unsigned i;

    for (i = 0; i < len; i++) {
        write_byte(q, vmid, va + i, val >> 8 * i, undef);
    }
}

uint64_t fuzz_load(FuzzQueue *q, unsigned vmid, uint64_t va, unsigned len,
                   uint8_t *undef)
{
    uint64_t val = 0;
    unsigned i;

    *undef = 0;
    for (i = 0; i < len; i++) {
        FuzzPlace at;
        uint8_t open;
        bool real;

        val |= (uint64_t)read_byte(q, vmid, va + i, &open, &at, &real)
               << 8 * i;
        *undef |= open;
    }
    return val;
}

/* Read the dword that a packet compares. Bits 1:0 of @va have no effect. */
static uint32_t read_dword(FuzzQueue *q, unsigned vmid, uint64_t va)
{
    uint8_t undef;

    return fuzz_load(q, vmid, va & ~3ull, 4, &undef);
}

static uint32_t fetch(Stream *s, uint64_t pos)
{
    uint32_t dw = 0;
    unsigned i;

    for (i = 0; i < 4; i++) {
        FuzzPlace at;
        uint8_t undef;
        bool real;
        uint64_t va = s->base + ((pos + i) & s->mask);

        dw |= (uint32_t)read_byte(s->q, s->vmid, va, &undef, &at, &real)
              << 8 * i;
        if (!real) {
            fuzz_fail(s->q->c, "error in the fuzzer: no packet at 0x%" PRIx64,
                      va);
        }
    }
    return dw;
}

static void fetch_rest(Stream *s, uint32_t *dw, unsigned n)
{
    unsigned i;

    for (i = 1; i < n; i++) {
        dw[i] = fetch(s, s->pos + 4 * i);
    }
}

static uint64_t pair(const uint32_t *dw)
{
    return dw[0] | (uint64_t)dw[1] << 32;
}

/*
 * The places that a copy has read and written. The hash tables are sets: key()
 * converts a place to an element.
 */
typedef struct Copy {
    FuzzQueue *q;
    unsigned vmid;
    GHashTable *from;           /* places read */
    /* Places written at each destination; [1] is used by broadcasts only. */
    GHashTable *to[2];
    /*
     * True if a destination overlaps the source or the other destination. Then
     * the bytes that the copy writes are undefined.
     */
    bool met;
} Copy;

static gpointer key(FuzzPlace at)
{
    return GSIZE_TO_POINTER(at.off * 2 + at.kind + 2);
}

static void copy_begin(Copy *c, FuzzQueue *q, unsigned vmid)
{
    *c = (Copy) {
        .q = q, .vmid = vmid, .from = g_hash_table_new(NULL, NULL),
        .to = { g_hash_table_new(NULL, NULL), g_hash_table_new(NULL, NULL) },
    };
}

static void copy_end(Copy *c)
{
    g_hash_table_unref(c->from);
    g_hash_table_unref(c->to[0]);
    g_hash_table_unref(c->to[1]);
}

static void copy_met(Copy *c)
{
    GHashTableIter it;
    gpointer k;
    unsigned i;

    c->met = true;
    for (i = 0; i < 2; i++) {
        g_hash_table_iter_init(&it, c->to[i]);
        while (g_hash_table_iter_next(&it, &k, NULL)) {
            size_t place = GPOINTER_TO_SIZE(k) - 2;

            c->q->c->mem[place & 1].undef[place >> 1] = 1;
        }
    }
}

/*
 * Copy one byte from @src to @dst. @i is 1 for the second destination of a
 * broadcast, otherwise 0. Calls copy_met() if this byte is the first that shows
 * an overlap between ranges of the whole copy: see Copy.met.
 */
static void copy_byte(Copy *c, unsigned i, uint64_t dst, uint64_t src)
{
    FuzzPlace at;
    bool real, meet = false;
    uint8_t undef, none;
    uint8_t byte = read_byte(c->q, c->vmid, src, &undef, &at, &real);

    if (real) {
        g_hash_table_add(c->from, key(at));
        meet = g_hash_table_contains(c->to[0], key(at)) ||
               g_hash_table_contains(c->to[1], key(at));
    }
    if (touch(c->q, c->vmid, dst, true, &at, &none)) {
        g_hash_table_add(c->to[i], key(at));
        meet |= g_hash_table_contains(c->from, key(at)) ||
                g_hash_table_contains(c->to[!i], key(at));
        put(c->q->c, at, byte, undef || c->met);
    }
    if (meet && !c->met) {
        copy_met(c);
    }
}

static void do_copy(FuzzQueue *q, unsigned vmid, const uint32_t *dw,
                    bool broadcast)
{
    uint64_t len = (dw[1] & 0x3fffffff) + 1ull, first, end, i;
    Copy c;

    copy_begin(&c, q, vmid);
    /*
     * If the second destination faults, the oracle does not know how much of
     * the first is written. So disturb() must not compare memory.
     */
    q->loose = broadcast;
    for (first = 0; first < len; first = end) {
        end = broadcast ? MIN(first + 4096, len) : len;
        for (i = first; i < end && !q->c->failure->len; i++) {
            copy_byte(&c, 0, pair(&dw[5]) + i, pair(&dw[3]) + i);
        }
        for (i = first; broadcast && i < end && !q->c->failure->len; i++) {
            copy_byte(&c, 1, pair(&dw[7]) + i, pair(&dw[3]) + i);
        }
    }
    q->loose = false;
    copy_end(&c);
}

/*
 * Return the address of byte @b in element (@x, @y, @z) of a rectangle. @size:
 * bytes per element. @dw: description of the surface and the rectangle's start.
 */
static uint64_t rect_byte(const uint32_t *dw, unsigned size, uint64_t x,
                          uint64_t y, uint64_t z, unsigned b)
{
    uint64_t pitch = (dw[3] >> 13) + 1ull;
    uint64_t slice = (dw[4] & 0xfffffff) + 1ull;

    x += dw[2] & 0x3fff;
    y += dw[2] >> 16 & 0x3fff;
    z += dw[3] & 0x7ff;
    return pair(dw) + (x + y * pitch + z * slice) * size + b;
}

static void do_rect(FuzzQueue *q, unsigned vmid, const uint32_t *dw)
{
    unsigned size = 1 << (dw[0] >> 29), x, y, z, b;
    Copy c;

    copy_begin(&c, q, vmid);
    for (z = 0; z <= (dw[12] & 0x7ff); z++) {
        for (y = 0; y <= (dw[11] >> 16 & 0x3fff); y++) {
            for (x = 0; x <= (dw[11] & 0x3fff); x++) {
                for (b = 0; b < size && !q->c->failure->len; b++) {
                    copy_byte(&c, 0, rect_byte(&dw[6], size, x, y, z, b),
                              rect_byte(&dw[1], size, x, y, z, b));
                }
            }
        }
    }
    copy_end(&c);
}

static void do_fill(FuzzQueue *q, unsigned vmid, const uint32_t *dw)
{
    uint64_t size = 1 << (dw[0] >> 30), i;
    uint64_t dst = pair(&dw[1]) / size * size;
    uint64_t len = ((dw[4] & 0x3fffffff) / size + 1) * size;

    for (i = 0; i < len; i++) {
        write_byte(q, vmid, dst + i, dw[3] >> 8 * (i % size), 0);
    }
}

static uint64_t atomic(unsigned op, uint64_t old, uint64_t src, uint64_t cmp,
                       int64_t signed_old, int64_t signed_src)
{
    switch (op) {
    case SDMA_ATOMIC_SWAP:
        return src;
    case SDMA_ATOMIC_CMPSWAP:
        return old == cmp ? src : old;
    case SDMA_ATOMIC_ADD:
        return old + src;
    case SDMA_ATOMIC_SUB:
        return old - src;
    case SDMA_ATOMIC_SMIN:
        return signed_old < signed_src ? old : src;
    case SDMA_ATOMIC_UMIN:
        return old < src ? old : src;
    case SDMA_ATOMIC_SMAX:
        return signed_old < signed_src ? src : old;
    case SDMA_ATOMIC_UMAX:
        return old < src ? src : old;
    case SDMA_ATOMIC_AND:
        return old & src;
    case SDMA_ATOMIC_OR:
        return old | src;
    case SDMA_ATOMIC_XOR:
        return old ^ src;
    case SDMA_ATOMIC_INC:
        return old < src ? old + 1 : 0;
    default:
        return old == 0 || old > src ? src : old - 1;
    }
}

static void do_atomic(FuzzQueue *q, unsigned vmid, const uint32_t *dw)
{
    unsigned op = dw[0] >> 25, size = op & 0x20 ? 8 : 4, i;
    uint64_t va = pair(&dw[1]), src = pair(&dw[3]), cmp = pair(&dw[5]), old = 0;
    uint8_t open = 0, none;
    FuzzPlace at;

    if (!touch(q, vmid, va, true, &at, &none)) {
        return;
    }
    for (i = 0; i < size; i++) {
        open |= q->c->mem[at.kind].undef[at.off + i];
        old |= (uint64_t)q->c->mem[at.kind].byte[at.off + i] << 8 * i;
    }
    if (size == 4) {
        src = (uint32_t)src;
        old = atomic(op & 0x1f, old, src, (uint32_t)cmp, (int32_t)old,
                     (int32_t)src);
    } else {
        old = atomic(op & 0x1f, old, src, cmp, old, src);
    }
    fuzz_store(q, vmid, va, old, size, open);
}

static void run_stream(Stream *s);

/* Execute a packet. Returns its length in dwords. */
static uint64_t do_packet(Stream *s)
{
    FuzzQueue *q = s->q;
    uint32_t dw[SDMA_COPY_RECT_DWORDS];
    uint64_t i, n;

    q->reported = false;
    dw[0] = fetch(s, s->pos);
    switch (dw[0] & 0xffff) {
    case SDMA_PKT(SDMA_OP_NOP, 0):
        return 1 + (dw[0] >> 16 & 0x3fff);
    case SDMA_PKT(SDMA_OP_COPY, SDMA_SUBOP_COPY_LINEAR):
        n = dw[0] & SDMA_COPY_LINEAR__BROADCAST ? 9 : 7;
        fetch_rest(s, dw, n);
        do_copy(q, s->vmid, dw, n == 9);
        return n;
    case SDMA_PKT(SDMA_OP_COPY, SDMA_SUBOP_COPY_LINEAR_RECT):
        fetch_rest(s, dw, 13);
        do_rect(q, s->vmid, dw);
        return 13;
    case SDMA_PKT(SDMA_OP_WRITE, SDMA_SUBOP_WRITE_LINEAR):
        fetch_rest(s, dw, 4);
        n = (dw[3] & 0xfffff) + 1;
        for (i = 0; i < n * 4; i++) {
            uint64_t va = s->base + ((s->pos + 16 + i) & s->mask);
            FuzzPlace at;
            uint8_t undef, byte;
            bool real;

            byte = read_byte(q, s->vmid, va, &undef, &at, &real);
            write_byte(q, s->vmid, (pair(&dw[1]) & ~3ull) + i, byte, undef);
        }
        return 4 + n;
    case SDMA_PKT(SDMA_OP_INDIRECT, 0):
        fetch_rest(s, dw, 6);
        n = dw[0] >> 16 & 0xf;
        run_stream(&(Stream) {
            .q = q, .vmid = n ? n : s->vmid, .base = pair(&dw[1]),
            .mask = UINT64_MAX, .end = (dw[3] & 0xfffff) * 4ull,
            .depth = s->depth + 1,
        });
        return 6;
    case SDMA_PKT(SDMA_OP_FENCE, 0):
        fetch_rest(s, dw, 4);
        fuzz_store(q, s->vmid, pair(&dw[1]) & ~3ull, dw[3], 4, 0);
        return 4;
    case SDMA_PKT(SDMA_OP_TRAP, 0):
        fetch_rest(s, dw, 2);
        dw[1] &= 0xfffffff;
        g_array_append_val(q->traps, dw[1]);
        return 2;
    case SDMA_PKT(SDMA_OP_POLL_REGMEM, 0):
        fetch_rest(s, dw, 6);
        if (dw[0] >> 28 & 7) {
            read_dword(q, s->vmid, pair(&dw[1]));
        }
        return 6;
    case SDMA_PKT(SDMA_OP_ATOMIC, 0):
        fetch_rest(s, dw, 8);
        do_atomic(q, s->vmid, dw);
        return 8;
    case SDMA_PKT(SDMA_OP_COND_EXE, 0):
        fetch_rest(s, dw, 5);
        return read_dword(q, s->vmid, pair(&dw[1])) == dw[3]
               ? 5 : 5 + (dw[4] & 0x3fff);
    case SDMA_PKT(SDMA_OP_PRE_EXE, 0):
        fetch_rest(s, dw, 2);
        return dw[0] >> 16 & 1 ? 2 : 2 + (dw[1] & 0x3fff);
    case SDMA_PKT(SDMA_OP_CONST_FILL, 0):
        fetch_rest(s, dw, 5);
        do_fill(q, s->vmid, dw);
        return 5;
    case SDMA_PKT(SDMA_OP_PTEPDE, SDMA_SUBOP_PTEPDE_GEN):
        fetch_rest(s, dw, 10);
        n = (dw[9] & 0x7ffff) + 1;
        for (i = 0; i < n; i++) {
            fuzz_store(q, s->vmid, (pair(&dw[1]) & ~7ull) + 8 * i,
                       pair(&dw[3]) | (pair(&dw[5]) + i * pair(&dw[7])), 8, 0);
        }
        return 10;
    case SDMA_PKT(SDMA_OP_TIMESTAMP, SDMA_SUBOP_TIMESTAMP_GET_GLOBAL):
        fetch_rest(s, dw, 3);
        fuzz_store(q, s->vmid, pair(&dw[1]) & ~7ull, 0, 8, 1);
        return 3;
    default:
        fuzz_fail(q->c, "error in the fuzzer: packet 0x%08x at 0x%" PRIx64,
                  dw[0], s->base + (s->pos & s->mask));
        return 1;
    }
}

static void run_stream(Stream *s)
{
    while (s->pos < s->end && !s->q->c->failure->len) {
        s->pos += 4 * do_packet(s);
        if (!s->depth) {
            s->q->done = s->pos;
            fuzz_store(s->q, s->vmid, s->q->q.rptr_va, s->pos, 8, 0);
        }
    }
}

void fuzz_sdma_oracle_run(FuzzQueue *q)
{
    if (q->compute) {
        fuzz_pm4_oracle_run(q);
        return;
    }
    run_stream(&(Stream) {
        .q = q, .vmid = q->vmid, .base = q->q.ring_va, .mask = q->q.bytes - 1,
        .pos = q->first, .end = q->q.wptr,
    });
}
