/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzzer of vgpu-kfd: what a queue's packets do, by the book. Nothing here is
 * clever: every byte is translated by itself, every time, from the tables as
 * they are; a retry fault is a call that returns when it may be tried again.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "fuzz.h"

/* The packet stream that is executed: ring or indirect buffer. */
typedef struct Stream {
    FuzzQueue *q;
    unsigned vmid;
    uint64_t base;
    uint64_t mask;              /* of byte positions */
    uint64_t pos;               /* of the packet, in bytes */
    uint64_t end;
    unsigned depth;
} Stream;

uint64_t fuzz_get64(FuzzCase *c, FuzzPlace at)
{
    return ldq_le_p(c->mem[at.kind].byte + at.off);
}

void fuzz_put64(FuzzCase *c, FuzzPlace at, uint64_t val)
{
    FuzzMem *m = &c->mem[at.kind];

    stq_le_p(m->byte + at.off, val);
    m->used[at.off / QVGPU_PAGE] = FUZZ_USED;
}

/* Where an address of an entry, or of an aperture, leads. */
static FuzzHit memory(FuzzCase *c, bool system, uint64_t addr)
{
    FuzzHit hit = { .kind = FUZZ_HIT_FAULT };
    QVGPUKind kind = system ? QVGPU_RAM : QVGPU_VRAM;

    if (system && addr >= c->vram_bus &&
        addr - c->vram_bus < c->vram_size) {
        kind = QVGPU_VRAM;
        addr -= c->vram_bus;
    }
    if (addr >= (kind == QVGPU_RAM ? c->ram_size : c->vram_size)) {
        return hit;
    }
    if (addr < c->mem[kind].base) {
        fuzz_fail(c, "the fuzzer is wrong: address 0x%" PRIx64
                  " is none of its own", addr);
        return hit;
    }
    hit.kind = FUZZ_HIT_MEMORY;
    hit.at = (FuzzPlace) { kind, addr - c->mem[kind].base };
    return hit;
}

/* The same with FB_OFFSET, as entries have it. */
static FuzzHit entry_memory(FuzzCase *c, uint64_t entry, uint64_t addr)
{
    if (entry & VGPU_PTE_SYSTEM) {
        return memory(c, true, addr);
    }
    if (addr < c->fb_offset) {
        return (FuzzHit) { .kind = FUZZ_HIT_FAULT };
    }
    return memory(c, false, addr - c->fb_offset);
}

static FuzzHit leaf(FuzzCase *c, unsigned vmid, uint64_t pte, unsigned level,
                    uint64_t va, bool write, FuzzPlace slot)
{
    uint64_t size = 1ull << VGPU_LEVEL_SHIFT(level);
    uint64_t need = write ? VGPU_PTE_WRITEABLE : VGPU_PTE_READABLE;
    bool valid = pte & VGPU_PTE_VALID;

    if ((pte & VGPU_PTE_NORETRY) == VGPU_PTE_NORETRY) {
        return (FuzzHit) { .kind = FUZZ_HIT_FAULT };
    }
    if (!valid && (pte & VGPU_PTE_PRT)) {
        return (FuzzHit) { .kind = FUZZ_HIT_ZERO };
    }
    if (!valid || !(pte & need)) {
        return (FuzzHit) {
            .kind = c->space[vmid].retry ? FUZZ_HIT_RETRY : FUZZ_HIT_FAULT,
            .slot = slot, .level = level, .permission = valid,
        };
    }
    return entry_memory(c, pte, (pte & VGPU_PTE_ADDR & -size) +
                        (va & (size - 1)));
}

static FuzzHit walk_vmid0(FuzzCase *c, uint64_t va, bool write)
{
    uint64_t page = va / QVGPU_PAGE, first = c->gart / QVGPU_PAGE;
    FuzzPlace slot = c->gart_table;

    if (va >= c->fb && va < c->fb + c->vram_size) {
        return memory(c, false, va - c->fb);
    }
    if (va >= c->agp && va < c->agp + c->ram_size) {
        return memory(c, true, va - c->agp);
    }
    if (page < first || page >= first + c->gart_pages) {
        return (FuzzHit) { .kind = FUZZ_HIT_FAULT };
    }
    slot.off += (page - first) * 8;
    return leaf(c, 0, fuzz_get64(c, slot), VGPU_LEVEL_PTB, va, write, slot);
}

FuzzHit fuzz_walk(FuzzCase *c, unsigned vmid, uint64_t va, bool write)
{
    FuzzPlace table = c->space[vmid].root;
    int level;

    if (!vmid) {
        return walk_vmid0(c, va, write);
    }
    if (va >> VGPU_VA_BITS) {
        return (FuzzHit) { .kind = FUZZ_HIT_FAULT };
    }
    for (level = VGPU_LEVEL_PDB2; level >= VGPU_LEVEL_PTB; level--) {
        FuzzPlace slot = table;
        uint64_t entry;
        bool down;
        FuzzHit hit;

        slot.off += va >> VGPU_LEVEL_SHIFT(level) << 3 & 0xff8;
        entry = fuzz_get64(c, slot);
        switch (level) {
        case VGPU_LEVEL_PTB:
            down = false;
            break;
        case VGPU_LEVEL_PDB0:
            down = (entry & VGPU_PTE_VALID) && (entry & VGPU_PTE_TF) &&
                   (entry & VGPU_PTE_NORETRY) != VGPU_PTE_NORETRY;
            break;
        default:
            down = (entry & VGPU_PDE_VALID) && !(entry & VGPU_PDE_PTE);
            break;
        }
        if (!down) {
            return leaf(c, vmid, entry, level, va, write, slot);
        }
        hit = entry_memory(c, entry, entry & VGPU_PTE_ADDR);
        if (hit.kind != FUZZ_HIT_MEMORY) {
            return hit;
        }
        table = hit.at;
    }
    g_assert_not_reached();
}

/*
 * The byte at @va, for as long as it takes. False if there is none: it is a
 * zero, or @data says which (the default page's).
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
        if (!fuzz_stall(q, vmid, va, write, &hit)) {
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

/* @len bytes that stand or fall together: aligned, at most 8. */
static void write_word(FuzzQueue *q, unsigned vmid, uint64_t va, uint64_t val,
                       unsigned len, uint8_t undef)
{
    unsigned i;

    for (i = 0; i < len; i++) {
        write_byte(q, vmid, va + i, val >> 8 * i, undef);
    }
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
            fuzz_fail(s->q->c, "the fuzzer is wrong: no packet at 0x%" PRIx64,
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

/* Where the two meet, the contract leaves all of the destination open. */
static void do_copy(FuzzQueue *q, unsigned vmid, uint64_t dst, uint64_t src,
                    uint64_t len)
{
    g_autoptr(GHashTable) from = g_hash_table_new(NULL, NULL);
    g_autoptr(GHashTable) to = g_hash_table_new(NULL, NULL);
    bool meet = false;
    uint64_t i;

    for (i = 0; i < len && !q->c->failure->len; i++) {
        FuzzPlace f, t;
        bool real;
        uint8_t undef, none;
        uint8_t byte = read_byte(q, vmid, src + i, &undef, &f, &real);

        if (real) {
            gpointer key = GSIZE_TO_POINTER(f.off * 2 + f.kind + 2);

            g_hash_table_add(from, key);
            meet |= g_hash_table_contains(to, key);
        }
        if (touch(q, vmid, dst + i, true, &t, &none)) {
            gpointer key = GSIZE_TO_POINTER(t.off * 2 + t.kind + 2);

            g_hash_table_add(to, key);
            meet |= g_hash_table_contains(from, key);
            put(q->c, t, byte, undef);
        }
        if (meet) {
            GHashTableIter it;
            gpointer key;

            g_hash_table_iter_init(&it, to);
            while (g_hash_table_iter_next(&it, &key, NULL)) {
                size_t k = GPOINTER_TO_SIZE(key) - 2;

                q->c->mem[k & 1].undef[k >> 1] = 1;
            }
            g_hash_table_remove_all(to);
        }
    }
}

static void do_fill(FuzzQueue *q, unsigned vmid, const uint32_t *dw)
{
    uint64_t dst = pair(&dw[1]), len = (dw[4] & 0x3fffffff) + 1ull, i;
    bool dwords = dw[0] >> 30 == 2;

    if (dwords) {
        dst &= ~3ull;
        len = (len + 3) & ~3ull;
    }
    for (i = 0; i < len; i++) {
        write_byte(q, vmid, dst + i, dwords ? dw[3] >> 8 * (i & 3) : dw[3], 0);
    }
}

static void do_add(FuzzQueue *q, unsigned vmid, const uint32_t *dw)
{
    uint64_t va = pair(&dw[1]), val = 0;
    uint8_t open = 0, none;
    FuzzPlace at;
    unsigned i;

    if (!touch(q, vmid, va, true, &at, &none)) {
        return;
    }
    for (i = 0; i < 8; i++) {
        open |= q->c->mem[at.kind].undef[at.off + i];
        val |= (uint64_t)q->c->mem[at.kind].byte[at.off + i] << 8 * i;
    }
    write_word(q, vmid, va, val + pair(&dw[3]), 8, open);
}

static void run_stream(Stream *s);

/* Returns the packet's length in dwords. */
static uint64_t do_packet(Stream *s)
{
    FuzzQueue *q = s->q;
    uint32_t dw[SDMA_PTEPDE_DWORDS];
    uint64_t i, n;

    q->reported = false;
    dw[0] = fetch(s, s->pos);
    switch (dw[0] & 0xffff) {
    case SDMA_PKT(SDMA_OP_NOP, 0):
        return 1 + (dw[0] >> 16 & 0x3fff);
    case SDMA_PKT(SDMA_OP_COPY, SDMA_SUBOP_COPY_LINEAR):
        fetch_rest(s, dw, 7);
        do_copy(q, s->vmid, pair(&dw[5]), pair(&dw[3]),
                (dw[1] & 0x3fffffff) + 1ull);
        return 7;
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
            .q = q, .vmid = n ? n : q->vmid, .base = pair(&dw[1]),
            .mask = UINT64_MAX, .end = (dw[3] & 0xfffff) * 4ull,
            .depth = s->depth + 1,
        });
        return 6;
    case SDMA_PKT(SDMA_OP_FENCE, 0):
        fetch_rest(s, dw, 4);
        write_word(q, s->vmid, pair(&dw[1]) & ~3ull, dw[3], 4, 0);
        return 4;
    case SDMA_PKT(SDMA_OP_TRAP, 0):
        fetch_rest(s, dw, 2);
        dw[1] &= 0xfffffff;
        g_array_append_val(q->traps, dw[1]);
        return 2;
    case SDMA_PKT(SDMA_OP_POLL_REGMEM, 0):
        fetch_rest(s, dw, 6);
        if (dw[0] >> 28 & 7) {
            for (i = 0; i < 4; i++) {
                FuzzPlace at;
                uint8_t undef;
                bool real;

                read_byte(q, s->vmid, (pair(&dw[1]) & ~3ull) + i, &undef, &at,
                          &real);
            }
        }
        return 6;
    case SDMA_PKT(SDMA_OP_ATOMIC, 0):
        fetch_rest(s, dw, 8);
        do_add(q, s->vmid, dw);
        return 8;
    case SDMA_PKT(SDMA_OP_CONST_FILL, 0):
        fetch_rest(s, dw, 5);
        do_fill(q, s->vmid, dw);
        return 5;
    case SDMA_PKT(SDMA_OP_PTEPDE, SDMA_SUBOP_PTEPDE_GEN):
        fetch_rest(s, dw, 10);
        n = (dw[9] & 0x7ffff) + 1;
        for (i = 0; i < n; i++) {
            write_word(q, s->vmid, (pair(&dw[1]) & ~7ull) + 8 * i,
                       pair(&dw[3]) | (pair(&dw[5]) + i * pair(&dw[7])), 8, 0);
        }
        return 10;
    case SDMA_PKT(SDMA_OP_TIMESTAMP, SDMA_SUBOP_TIMESTAMP_GET_GLOBAL):
        fetch_rest(s, dw, 3);
        write_word(q, s->vmid, pair(&dw[1]) & ~7ull, 0, 8, 1);
        return 3;
    default:
        fuzz_fail(q->c, "the fuzzer is wrong: packet 0x%08x at 0x%" PRIx64,
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
            write_word(s->q, s->vmid, s->q->q.rptr_va, s->pos, 8, 0);
        }
    }
}

void fuzz_oracle_run(FuzzQueue *q)
{
    run_stream(&(Stream) {
        .q = q, .vmid = q->vmid, .base = q->q.ring_va, .mask = q->q.bytes - 1,
        .pos = q->first, .end = q->q.wptr,
    });
}
