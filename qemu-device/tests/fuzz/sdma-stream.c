/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzzer of vgpu-kfd: generates rings, indirect buffers and their packets. A
 * packet accesses only memory of its own queue, or addresses without memory.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "tests/qtest/vgpu-kfd/fuzz/fuzz.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"

#define MAX_LEN         (32 * KiB)

/*
 * Choose an offset in the queue's part of memory @kind for @len bytes of data.
 * Up to @more of these bytes may lie beyond the end of the part.
 */
static uint64_t stretch(FuzzQueue *q, QVGPUKind kind, uint64_t len,
                        uint64_t more)
{
    FuzzRng *r = &q->c->rng;
    uint64_t end = FUZZ_DATA_END * QVGPU_PAGE;

    if (len <= end + more && fuzz_chance(r, 40)) {
        uint64_t least = len > more ? len - more : 1;

        return FUZZ_PART - least - fuzz_below(r, end - least + 1);
    }
    return fuzz_below(r, fuzz_front_pages(kind) * QVGPU_PAGE - len + 1);
}

/*
 * Return how many bytes of an access may lie beyond the queue's part: MAX_LEN
 * if no memory of @kind follows the part, otherwise 0.
 */
static uint64_t beyond(FuzzQueue *q, QVGPUKind kind)
{
    FuzzCase *c = q->c;
    uint64_t end = c->mem[kind].base + FUZZ_MEM;

    return q->part == FUZZ_QUEUES - 1 &&
           end == (kind == QVGPU_RAM ? c->ram_size : c->vram_size) ? MAX_LEN
                                                                   : 0;
}

static uint64_t pick_vmid0(FuzzQueue *q, uint64_t len)
{
    FuzzCase *c = q->c;
    FuzzRng *r = &c->rng;
    QVGPUKind kind = fuzz_chance(r, 60) ? QVGPU_RAM : QVGPU_VRAM;

    if (fuzz_chance(r, 50)) {
        return c->gart + q->part * FUZZ_GART_PAGES * QVGPU_PAGE +
               fuzz_below(r, FUZZ_GART_USED * QVGPU_PAGE);
    }
    return (kind == QVGPU_RAM ? c->agp : c->fb) + c->mem[kind].base +
           fuzz_part(q, kind, stretch(q, kind, len, beyond(q, kind))).off;
}

uint64_t fuzz_pick_va(FuzzQueue *q, unsigned vmid, uint64_t len)
{
    FuzzCase *c = q->c;
    FuzzRng *r = &c->rng;
    QVGPUKind kind = fuzz_chance(r, 60) ? QVGPU_RAM : QVGPU_VRAM;
    uint64_t base = q->base[vmid], mib2 = FUZZ_PART, off;

    if (!vmid) {
        return pick_vmid0(q, len);
    }
    switch (fuzz_below(r, 20)) {
    case 0 ... 11:
        return base + fuzz_below(r, FUZZ_LOW_PAGES * QVGPU_PAGE);
    case 12 ... 14:
        return base + mib2 - 1 - fuzz_below(r, len + 2 * QVGPU_PAGE);
    case 15 ... 17:
        return base + (kind == QVGPU_RAM ? mib2 : 2 * mib2) +
               stretch(q, kind, len, MAX_LEN);
    case 18:
        off = c->mem[kind].base + fuzz_part(q, kind, 0).off;
        return QEMU_ALIGN_DOWN(base, GiB) +
               (kind == QVGPU_RAM ? GiB : 2 * GiB) + off +
               stretch(q, kind, len, beyond(q, kind));
    default:
        /*
         * The leaf of 512 GiB maps bus addresses: RAM, or VRAM in BAR 0.
         * An access may end after the last byte of RAM or of VRAM, because the
         * next MAX_LEN bus addresses are unused.
         */
        off = c->mem[kind].base + fuzz_part(q, kind, 0).off;
        return q->huge[vmid] + (kind == QVGPU_VRAM ? c->vram_bus : 0) + off +
               stretch(q, kind, len, beyond(q, kind));
    }
}

static uint64_t length(FuzzRng *r)
{
    switch (fuzz_below(r, 10)) {
    case 0 ... 3:
        return 1 + fuzz_below(r, 64);
    case 4 ... 7:
        return 1 + fuzz_below(r, QVGPU_PAGE);
    default:
        return 1 + fuzz_below(r, MAX_LEN);
    }
}

void fuzz_stream_emit(FuzzQueue *q, GArray *to, const uint32_t *dw, unsigned n)
{
    FuzzCase *c = q->c;
    unsigned number = c->npackets++, i;
    uint32_t nop = SDMA_PKT(SDMA_OP_NOP, 0) |
                   VGPU_PREP(SDMA_NOP__COUNT, n - 1);
    guint at = to->len;

    if (q->compute) {
        nop = PM4_HEADER(PM4_NOP, 2) & ~PM4_HDR__COUNT;
        nop |= VGPU_PREP(PM4_HDR__COUNT, n > 1 ? n - 2 : PM4_COUNT_HEADER_ONLY);
    }
    g_array_append_vals(to, dw, n);
    for (i = 0; c->drop && i < c->drop->len; i++) {
        if (g_array_index(c->drop, unsigned, i) == number) {
            g_array_index(to, uint32_t, at) = nop;
        }
    }
}
#define EMIT(...) FUZZ_EMIT(q, to, __VA_ARGS__)

FuzzPlace fuzz_special_alloc(FuzzQueue *q, unsigned pages)
{
    QVGPUKind kind = fuzz_chance(&q->c->rng, 60) ? QVGPU_RAM : QVGPU_VRAM;
    FuzzPlace at = fuzz_part(q, kind,
                        (FUZZ_SPECIAL + q->specials[kind]) * QVGPU_PAGE);

    q->specials[kind] += pages;
    g_assert_cmpuint(q->specials[kind], <=, FUZZ_SPECIALS);
    return at;
}

bool fuzz_special_left(FuzzQueue *q, unsigned pages)
{
    return MAX(q->specials[0], q->specials[1]) + pages <= FUZZ_SPECIALS;
}

uint64_t fuzz_special_va(FuzzQueue *q, unsigned vmid, FuzzPlace at)
{
    FuzzPlace first = fuzz_part(q, at.kind, FUZZ_SPECIAL * QVGPU_PAGE);

    if (!vmid) {
        return (at.kind == QVGPU_RAM ? q->c->agp : q->c->fb) +
               q->c->mem[at.kind].base + at.off;
    }
    return q->base[vmid] + at.off - first.off + QVGPU_PAGE *
           (FUZZ_SPECIAL_VA + (at.kind == QVGPU_RAM ? 0 : FUZZ_SPECIALS));
}

void fuzz_put_dwords(FuzzCase *c, FuzzPlace at, uint64_t mask, uint64_t from,
                       const GArray *dw)
{
    FuzzMem *m = &c->mem[at.kind];
    unsigned i;

    for (i = 0; i < dw->len; i++) {
        uint64_t off = at.off + ((from + 4 * i) & mask);

        stl_le_p(m->byte + off, g_array_index(dw, uint32_t, i));
        m->used[off / QVGPU_PAGE] = FUZZ_USED;
    }
}

static void make_stream(FuzzQueue *q, unsigned vmid, unsigned depth,
                        unsigned room, GArray *to);

static void make_indirect(FuzzQueue *q, unsigned vmid, unsigned depth,
                          GArray *to)
{
    FuzzCase *c = q->c;
    FuzzRng *r = &c->rng;
    g_autoptr(GArray) dw = g_array_new(false, false, 4);
    FuzzPlace at = fuzz_special_alloc(q, 2);
    unsigned field = 0;
    uint64_t va;

    at.off += fuzz_below(r, QVGPU_PAGE) & ~3ull;
    if (q->priv && vmid == q->vmid && fuzz_chance(r, 60)) {
        field = c->vmids[fuzz_below(r, c->nspaces)];
    } else if (fuzz_chance(r, 30)) {
        field = vmid;
    }
    vmid = field ? field : vmid;
    make_stream(q, vmid, depth + 1, 1024, dw);
    fuzz_put_dwords(c, at, UINT64_MAX, 0, dw);
    va = fuzz_special_va(q, vmid, at);
    EMIT(SDMA_PKT(SDMA_OP_INDIRECT, 0) |
         VGPU_PREP(SDMA_INDIRECT__VMID, field), QVGPU_LO(va), QVGPU_HI(va),
         dw->len, 0, 0);
}

static void make_write(FuzzQueue *q, unsigned vmid, GArray *to)
{
    uint32_t dw[4 + 64];
    FuzzRng *r = &q->c->rng;
    unsigned i, n = 1 + fuzz_below(r, 64);
    uint64_t va = fuzz_pick_va(q, vmid, n * 4) & ~3ull;

    dw[0] = SDMA_PKT(SDMA_OP_WRITE, SDMA_SUBOP_WRITE_LINEAR);
    dw[1] = va + fuzz_below(r, 4);
    dw[2] = va >> 32;
    dw[3] = n - 1;
    for (i = 0; i < n; i++) {
        dw[4 + i] = fuzz_rnd(r);
    }
    fuzz_stream_emit(q, to, dw, 4 + n);
}

static void make_packet(FuzzQueue *q, unsigned vmid, unsigned depth,
                        GArray *to);

/* Generate a packet, usually with a conditional-execution packet before it. */
static void make_conditional(FuzzQueue *q, unsigned vmid, GArray *to)
{
    FuzzCase *c = q->c;
    FuzzRng *r = &c->rng;
    g_autoptr(GArray) dw = g_array_new(false, false, 4);
    uint64_t va = fuzz_pick_va(q, vmid, 4);
    uint32_t x = fuzz_rnd(r);

    make_packet(q, vmid, 2, dw);
    if (dw->len > 48) {
        /*
         * Add no condition, because the packet together with its condition
         * might not fit in the space that make_stream() has checked.
         */
    } else if (fuzz_chance(r, 30)) {
        EMIT(SDMA_PKT(SDMA_OP_PRE_EXE, 0) |
             VGPU_PREP(SDMA_PRE_EXE__DEVICES, x & 0xff), dw->len);
    } else {
        EMIT(SDMA_PKT(SDMA_OP_FENCE, 0), QVGPU_LO(va), QVGPU_HI(va), x);
        EMIT(SDMA_PKT(SDMA_OP_COND_EXE, 0), QVGPU_LO(va), QVGPU_HI(va),
             fuzz_chance(r, 60) ? x : x + 1, dw->len);
    }
    g_array_append_vals(to, dw->data, dw->len);
}

static void make_atomic(FuzzQueue *q, unsigned vmid, GArray *to)
{
    static const uint8_t ops[] = {
        SDMA_ATOMIC_SWAP, SDMA_ATOMIC_CMPSWAP, SDMA_ATOMIC_ADD,
        SDMA_ATOMIC_SUB, SDMA_ATOMIC_SMIN, SDMA_ATOMIC_UMIN,
        SDMA_ATOMIC_SMAX, SDMA_ATOMIC_UMAX, SDMA_ATOMIC_AND,
        SDMA_ATOMIC_OR, SDMA_ATOMIC_XOR, SDMA_ATOMIC_INC,
        SDMA_ATOMIC_DEC,
    };
    FuzzCase *c = q->c;
    FuzzRng *r = &c->rng;
    uint32_t op = ops[fuzz_below(r, ARRAY_SIZE(ops))] |
                  (fuzz_rnd(r) & (SDMA_ATOMIC_OP_64 | SDMA_ATOMIC_OP_NO_RTN));
    uint64_t va = fuzz_pick_va(q, vmid, 8) & ~7ull, src = fuzz_rnd(r);
    uint64_t cmp = fuzz_rnd(r);

    if (!(op & SDMA_ATOMIC_OP_64)) {
        va |= fuzz_rnd(r) & 4;
    }
    EMIT(SDMA_PKT(SDMA_OP_ATOMIC, 0) | VGPU_PREP(SDMA_ATOMIC__OP, op),
         QVGPU_LO(va), QVGPU_HI(va), QVGPU_LO(src), QVGPU_HI(src),
         QVGPU_LO(cmp), QVGPU_HI(cmp), 0);
}

/*
 * Generate one surface of a rectangle copy: write its five dwords to @dw. A
 * surface has at most MAX_LEN bytes.
 */
static void make_surface(FuzzQueue *q, unsigned vmid, unsigned element,
                         uint32_t *dw)
{
    FuzzRng *r = &q->c->rng;
    unsigned x = fuzz_below(r, 8), y = fuzz_below(r, 3), z = fuzz_below(r, 2);
    uint64_t va = fuzz_pick_va(q, vmid, MAX_LEN);

    dw[0] = va;
    dw[1] = va >> 32;
    dw[2] = VGPU_PREP(SDMA_COPY_RECT_XY__X, x) |
            VGPU_PREP(SDMA_COPY_RECT_XY__Y, y);
    dw[3] = VGPU_PREP(SDMA_COPY_RECT_Z__Z, z) |
            VGPU_PREP(SDMA_COPY_RECT_Z__PITCH,
                      (uint32_t)fuzz_below(r, 640 >> element));
    dw[4] = fuzz_below(r, 4096 >> element);
}

/*
 * Generate a rectangle copy. Each rectangle ends less than MAX_LEN bytes after
 * the start of its surface.
 */
static void make_rect(FuzzQueue *q, unsigned vmid, GArray *to)
{
    FuzzRng *r = &q->c->rng;
    uint32_t dw[SDMA_COPY_RECT_DWORDS];
    unsigned element = fuzz_below(r, 5);

    dw[0] = SDMA_PKT(SDMA_OP_COPY, SDMA_SUBOP_COPY_LINEAR_RECT) |
            VGPU_PREP(SDMA_COPY_RECT__ELEMENT, element);
    make_surface(q, vmid, element, &dw[SDMA_COPY_RECT_SRC_DW]);
    make_surface(q, vmid, element, &dw[SDMA_COPY_RECT_DST_DW]);
    /*
     * With the start from make_surface(), the last element is at most at
     * x = 7 + 31, y = 2 + 7 and z = 1 + 2. A slice has at most 4096 bytes, a
     * row 640, an element 16. The rectangle ends at most
     * 3 * 4096 + 9 * 640 + 39 * 16 = 18672 bytes after the surface's start.
     * This is less than MAX_LEN.
     */
    dw[11] = VGPU_PREP(SDMA_COPY_RECT_XY__X, (uint32_t)fuzz_below(r, 32)) |
             VGPU_PREP(SDMA_COPY_RECT_XY__Y, (uint32_t)fuzz_below(r, 8));
    dw[12] = fuzz_below(r, 3);
    fuzz_stream_emit(q, to, dw, ARRAY_SIZE(dw));
}

static void make_copy(FuzzQueue *q, unsigned vmid, GArray *to)
{
    FuzzCase *c = q->c;
    uint64_t len = length(&c->rng), src = fuzz_pick_va(q, vmid, len);
    uint64_t a = fuzz_pick_va(q, vmid, len), b = fuzz_pick_va(q, vmid, len);

    if (fuzz_chance(&c->rng, 85)) {
        EMIT(SDMA_PKT(SDMA_OP_COPY, SDMA_SUBOP_COPY_LINEAR), len - 1, 0,
             QVGPU_LO(src), QVGPU_HI(src), QVGPU_LO(a), QVGPU_HI(a));
    } else {
        EMIT(SDMA_PKT(SDMA_OP_COPY, SDMA_SUBOP_COPY_LINEAR) |
             SDMA_COPY_LINEAR__BROADCAST, len - 1, 0, QVGPU_LO(src),
             QVGPU_HI(src), QVGPU_LO(a), QVGPU_HI(a), QVGPU_LO(b),
             QVGPU_HI(b));
    }
}

static void make_fill(FuzzQueue *q, unsigned vmid, GArray *to)
{
    FuzzCase *c = q->c;
    FuzzRng *r = &c->rng;
    uint32_t size = fuzz_below(r, 3), data = fuzz_rnd(r);
    uint64_t len = length(r);
    uint64_t va = fuzz_pick_va(q, vmid, ROUND_UP(len, 4)) &
                  ~((1ull << size) - 1);

    va += fuzz_below(r, 1 << size);
    EMIT(SDMA_PKT(SDMA_OP_CONST_FILL, 0) |
         VGPU_PREP(SDMA_CONST_FILL__SIZE, size), QVGPU_LO(va), QVGPU_HI(va),
         data, len - 1);
}

static void make_packet(FuzzQueue *q, unsigned vmid, unsigned depth,
                        GArray *to)
{
    FuzzCase *c = q->c;
    FuzzRng *r = &c->rng;
    uint64_t len = length(r), a, x = fuzz_rnd(r), y = fuzz_rnd(r);
    uint32_t dw[1 + 16] = { 0 };

    switch (fuzz_below(r, 100)) {
    case 0 ... 27:
        make_copy(q, vmid, to);
        break;
    case 28 ... 33:
        make_rect(q, vmid, to);
        break;
    case 34 ... 46:
        make_fill(q, vmid, to);
        break;
    case 47 ... 51:
        make_conditional(q, vmid, to);
        break;
    case 52 ... 61:
        make_write(q, vmid, to);
        break;
    case 62 ... 69:
        a = fuzz_pick_va(q, vmid, 4);
        EMIT(SDMA_PKT(SDMA_OP_FENCE, 0), QVGPU_LO(a), QVGPU_HI(a),
             QVGPU_LO(x));
        break;
    case 70 ... 77:
        make_atomic(q, vmid, to);
        break;
    case 78 ... 84:
        len = MAX(len / 8, 1);
        a = fuzz_pick_va(q, vmid, len * 8) & ~7ull;
        EMIT(SDMA_PKT(SDMA_OP_PTEPDE, SDMA_SUBOP_PTEPDE_GEN), QVGPU_LO(a),
             QVGPU_HI(a), QVGPU_LO(x), QVGPU_HI(x), QVGPU_LO(y), QVGPU_HI(y),
             QVGPU_LO(x + y), QVGPU_HI(x * y), len - 1);
        break;
    case 85 ... 87:
        a = fuzz_pick_va(q, vmid, 4);
        /*
         * The polls must not wait for virtual time, which run.c may have
         * stopped. Therefore, the packet's interval between polls is 0. RETRY
         * is below POLL_EAGER (sdma/packet-sync.c), because each further poll
         * would wait at least 1 ms.
         */
        EMIT(SDMA_PKT(SDMA_OP_POLL_REGMEM, 0) | SDMA_POLL_REGMEM__MEM |
             VGPU_PREP(SDMA_POLL_REGMEM__FUNC, (uint32_t)(x % 7)), QVGPU_LO(a),
             QVGPU_HI(a), QVGPU_LO(y), QVGPU_HI(y),
             VGPU_PREP(SDMA_POLL_REGMEM_DW5__RETRY, (uint32_t)(x >> 32 & 3)));
        break;
    case 88 ... 90:
        /* q->part in bits 31:24 shows which queue has sent an interrupt. */
        EMIT(SDMA_PKT(SDMA_OP_TRAP, 0), q->part << 24 | (x & 0xffffff));
        break;
    case 91:
        a = fuzz_pick_va(q, vmid, 8);
        EMIT(SDMA_PKT(SDMA_OP_TIMESTAMP, SDMA_SUBOP_TIMESTAMP_GET_GLOBAL),
             QVGPU_LO(a), QVGPU_HI(a));
        break;
    case 92 ... 93:
        dw[0] = SDMA_PKT(SDMA_OP_NOP, 0) |
                VGPU_PREP(SDMA_NOP__COUNT, (uint32_t)(x & 15));
        memset(dw + 1, y, sizeof(dw) - 4);
        fuzz_stream_emit(q, to, dw, 1 + (x & 15));
        break;
    default:
        if (depth < 2 && fuzz_special_left(q, 2)) {
            make_indirect(q, vmid, depth, to);
        }
        break;
    }
}

static void make_stream(FuzzQueue *q, unsigned vmid, unsigned depth,
                        unsigned room, GArray *to)
{
    unsigned n = 1 + fuzz_below(&q->c->rng, depth ? 8 : 24);

    while (n-- && to->len + 4 + 64 <= room) {
        make_packet(q, vmid, depth, to);
    }
}

/*
 * Choose the engine and the index of an SDMA queue. No other queue of the case
 * may have the same engine and index.
 */
static void choose_slot(FuzzQueue *q)
{
    FuzzRng *r = &q->c->rng;
    FuzzQueue *o;

    do {
        q->q.engine = fuzz_below(r, VGPU_NUM_SDMA);
        q->q.index = fuzz_below(r, SDMA_NUM_QUEUES);
        for (o = q->c->queue; o < q; o++) {
            if (!o->compute && o->q.engine == q->q.engine &&
                o->q.index == q->q.index) {
                break;
            }
        }
    } while (o < q);
    q->first = (fuzz_rnd(r) & ~3ull) % (UINT64_MAX - MiB);
    if (q->q.index < SDMA_QUEUE_RLC(0)) {
        /*
         * Without a doorbell, qvgpu_sdma_kick() writes only the low half of
         * wptr. Clear bit 31, so that no increment carries into the high half.
         */
        q->first &= ~(uint64_t)(2 * GiB);
    }
}

void fuzz_sdma_stream_make(FuzzQueue *q)
{
    FuzzCase *c = q->c;
    FuzzRng *r = &c->rng;
    g_autoptr(GArray) dw = g_array_new(false, false, 4);
    unsigned order = 7 + fuzz_below(r, 6);      /* log2 of the ring's dwords */
    uint64_t bytes = 4ull << order;
    FuzzPlace ring;

    q->rng.state = fuzz_rnd(r);
    q->vmid = fuzz_chance(r, 15) ? 0 : c->vmids[fuzz_below(r, c->nspaces)];
    q->priv = fuzz_chance(r, 40);
    q->compute = fuzz_chance(r, 30);
    q->rptr = fuzz_part(q, fuzz_chance(r, 50) ? QVGPU_RAM : QVGPU_VRAM,
                        FUZZ_SPECIAL * QVGPU_PAGE + (fuzz_rnd(r) & 0xff8));
    q->specials[QVGPU_RAM] = q->specials[QVGPU_VRAM] = 1;
    ring = fuzz_special_alloc(q, DIV_ROUND_UP(bytes, QVGPU_PAGE));
    q->q.ring_va = fuzz_special_va(q, q->vmid, ring);
    q->q.rptr_va = fuzz_special_va(q, q->vmid, q->rptr);
    q->q.bytes = bytes;
    if (q->compute) {
        fuzz_pm4_stream_make(q, dw);
    } else {
        choose_slot(q);
        if (fuzz_chance(r, 20)) {
            q->q.rptr_va = fuzz_pick_va(q, q->vmid, 8) & ~7ull;
        }
        q->q.cntl = SDMA_RB_CNTL__RPTR_WRITEBACK_ENABLE |
                    VGPU_PREP(SDMA_RB_CNTL__RB_SIZE, order) |
                    VGPU_PREP(SDMA_RB_CNTL__RB_VMID, q->vmid) |
                    (q->priv ? SDMA_RB_CNTL__RB_PRIV : 0);
        make_stream(q, q->vmid, 0, bytes / 4, dw);
    }
    fuzz_put_dwords(c, ring, bytes - 1, q->first, dw);
    q->q.wptr = q->first + 4 * dw->len;
}
