/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzzer of vgpu-kfd: generates a case from a seed: page tables, data, rings
 * and buffers.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "tests/qtest/vgpu-kfd/fuzz/fuzz.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"

uint64_t fuzz_rnd(FuzzRng *r)
{
    uint64_t x = r->state += 0x9e3779b97f4a7c15ull;

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

static FuzzPlace new_table(FuzzCase *c)
{
    QVGPUKind kind = fuzz_chance(&c->rng, 50) ? QVGPU_RAM : QVGPU_VRAM;
    FuzzPlace at = { kind, c->tables[kind]++ * QVGPU_PAGE };

    g_assert_cmpuint(at.off, <, FUZZ_PARTS_AT);
    c->mem[kind].used[at.off / QVGPU_PAGE] = FUZZ_USED;
    return at;
}

/* Return a page-table entry with @flags that points to the memory at @at. */
static uint64_t leads_to(FuzzCase *c, FuzzPlace at, uint64_t flags)
{
    uint64_t addr = c->mem[at.kind].base + at.off;

    return at.kind == QVGPU_RAM ? flags | VGPU_PTE_SYSTEM | addr
                                : flags | (addr + c->fb_offset);
}

/* Return a random choice of the entry bits that must have no effect. */
static uint64_t no_effect(FuzzRng *r)
{
    return fuzz_rnd(r) & (VGPU_PTE_SNOOPED | VGPU_PTE_EXECUTABLE |
                          VGPU_PTE_MTYPE);
}

uint64_t fuzz_case_pte(FuzzQueue *q, FuzzRng *r)
{
    QVGPUKind kind = fuzz_chance(r, 60) ? QVGPU_RAM : QVGPU_VRAM;
    uint64_t page = fuzz_below(r, fuzz_front_pages(kind) + FUZZ_DATA_END);

    if (page >= fuzz_front_pages(kind)) {
        page += FUZZ_PART / QVGPU_PAGE - FUZZ_DATA_END - fuzz_front_pages(kind);
    }
    return leads_to(q->c, fuzz_part(q, kind, page * QVGPU_PAGE),
                    QVGPU_PTE_RW | no_effect(r));
}

/*
 * Return a changed value of page-table entry @pte. The value has fewer rights
 * or is invalid. If @prt is true, the value may also be PRT or NORETRY.
 */
static uint64_t strange_pte(FuzzRng *r, uint64_t pte, bool prt)
{
    switch (fuzz_below(r, prt ? 7 : 5)) {
    case 0:
        return pte & ~VGPU_PTE_WRITEABLE;
    case 1:
        return pte & ~VGPU_PTE_READABLE;
    case 2:
        return pte & ~(VGPU_PTE_READABLE | VGPU_PTE_WRITEABLE);
    case 3:
        return pte & ~VGPU_PTE_VALID;
    case 4:
        return 0;
    case 5:
        return VGPU_PTE_PRT;
    default:
        return VGPU_PTE_NORETRY;
    }
}

/*
 * Write @entry as entry @i of @table. If the address space uses retry faults,
 * write an invalid entry instead in @broken percent of the calls.
 */
static void set_entry(FuzzCase *c, unsigned vmid, FuzzPlace table, unsigned i,
                      uint64_t entry, bool data, unsigned broken)
{
    FuzzBroken b = {
        .slot = { table.kind, table.off + 8 * i }, .want = entry, .data = data,
    };

    if (c->space[vmid].retry && fuzz_chance(&c->rng, broken)) {
        /*
         * After the fault, fault-handler.c repairs the entry: see FuzzBroken.
         */
        g_array_append_val(c->broken, b);
        entry &= fuzz_chance(&c->rng, 50) ? 0 : ~VGPU_PTE_VALID;
    }
    fuzz_put64(c, b.slot, entry);
}

static void make_pages(FuzzQueue *q, unsigned vmid, FuzzPlace ptb)
{
    FuzzCase *c = q->c;
    FuzzRng *r = &c->rng;
    uint64_t pte, off;
    unsigned i, kind;

    for (i = 0; i < VGPU_PT_ENTRIES; i++) {
        if (i == FUZZ_LOW_PAGES) {
            i = FUZZ_HIGH_VA;
        }
        pte = fuzz_case_pte(q, r);
        /*
         * Some neighbouring pages are also contiguous in memory, so that the
         * device can access them as one span (VGPUSpan).
         */
        if (fuzz_chance(r, 50)) {
            kind = fuzz_chance(r, 60) ? QVGPU_RAM : QVGPU_VRAM;
            pte = leads_to(c, fuzz_part(q, kind, i % fuzz_front_pages(kind) *
                                   QVGPU_PAGE), QVGPU_PTE_RW);
        }
        set_entry(c, vmid, ptb, i,
                  fuzz_chance(r, 15) ? strange_pte(r, pte, true) : pte, true,
                  8);
    }
    for (i = 0; i < 2 * FUZZ_SPECIALS; i++) {
        kind = i < FUZZ_SPECIALS ? QVGPU_RAM : QVGPU_VRAM;
        off = (FUZZ_SPECIAL + i % FUZZ_SPECIALS) * QVGPU_PAGE;
        pte = leads_to(c, fuzz_part(q, kind, off),
                       VGPU_PTE_VALID | VGPU_PTE_READABLE);
        if (i % FUZZ_SPECIALS == 0) {
            /* The engine reports its read pointer in this page. */
            pte |= VGPU_PTE_WRITEABLE;
        }
        set_entry(c, vmid, ptb, FUZZ_SPECIAL_VA + i, pte, false, 8);
    }
}

/*
 * Generate the queue's page tables in the address space of @vmid: a range of
 * 4-KiB pages (make_pages()), and leaves of 2 MiB or more.
 */
static void make_region(FuzzQueue *q, unsigned vmid)
{
    FuzzCase *c = q->c;
    FuzzRng *r = &c->rng;
    unsigned mine = VGPU_PT_ENTRIES / FUZZ_QUEUES;
    unsigned p2 = q->part * mine + fuzz_below(r, mine / 2);
    unsigned p3 = q->part * mine + mine / 2 + fuzz_below(r, mine / 2);
    unsigned p1 = fuzz_below(r, VGPU_PT_ENTRIES - 2);
    unsigned p0 = fuzz_below(r, VGPU_PT_ENTRIES - 3);
    FuzzPlace pdb1 = new_table(c), pdb0 = new_table(c), ptb = new_table(c);
    uint64_t at_zero = QVGPU_PTE_RW | VGPU_PDE_PTE;

    q->base[vmid] = (uint64_t)p2 << VGPU_LEVEL_SHIFT(VGPU_LEVEL_PDB2) |
                    (uint64_t)p1 << VGPU_LEVEL_SHIFT(VGPU_LEVEL_PDB1) |
                    (uint64_t)p0 << VGPU_LEVEL_SHIFT(VGPU_LEVEL_PDB0);
    q->huge[vmid] = (uint64_t)p3 << VGPU_LEVEL_SHIFT(VGPU_LEVEL_PDB2);
    set_entry(c, vmid, c->space[vmid].root, p2,
              leads_to(c, pdb1, VGPU_PDE_VALID), false, 6);
    /* Leaf of 512 GiB: bus addresses from 0. */
    set_entry(c, vmid, c->space[vmid].root, p3, at_zero | VGPU_PTE_SYSTEM,
              true, 6);
    set_entry(c, vmid, pdb1, p1,
              leads_to(c, pdb0, VGPU_PDE_VALID |
                       VGPU_PREP(VGPU_PDE_BFS, (uint64_t)9)), false, 6);
    /* Leaves of 1 GiB: bus addresses from 0, and VRAM (see make_vmid0()). */
    set_entry(c, vmid, pdb1, p1 + 1, at_zero | VGPU_PTE_SYSTEM, true, 6);
    set_entry(c, vmid, pdb1, p1 + 2, at_zero | c->fb_offset, true, 6);
    set_entry(c, vmid, pdb0, p0,
              leads_to(c, ptb, VGPU_PTE_VALID | VGPU_PTE_TF), false, 6);
    /* Leaves of 2 MiB: the queue's part of RAM, and its part of VRAM. */
    set_entry(c, vmid, pdb0, p0 + 1,
              leads_to(c, fuzz_part(q, QVGPU_RAM, 0),
                       QVGPU_PTE_RW | no_effect(r)), true, 6);
    set_entry(c, vmid, pdb0, p0 + 2,
              leads_to(c, fuzz_part(q, QVGPU_VRAM, 0),
                       QVGPU_PTE_RW | no_effect(r)), true, 6);
    make_pages(q, vmid, ptb);
}

static void make_gart(FuzzQueue *q)
{
    FuzzRng *r = &q->c->rng;
    FuzzPlace slot = q->c->gart_table;
    unsigned i;

    slot.off += q->part * FUZZ_GART_PAGES * 8;
    for (i = 0; i < FUZZ_GART_USED; i++, slot.off += 8) {
        uint64_t pte = fuzz_case_pte(q, r);

        fuzz_put64(q->c, slot,
                   fuzz_chance(r, 15) ? strange_pte(r, pte, false) : pte);
    }
}

/* Fill the queue's data pages, in RAM and in VRAM, with random bytes. */
static void make_data(FuzzQueue *q)
{
    unsigned kind;
    uint64_t i, k;

    for (kind = 0; kind < 2; kind++) {
        for (i = 0; i < FUZZ_PART / QVGPU_PAGE; i++) {
            FuzzPlace at = fuzz_part(q, kind, i * QVGPU_PAGE);

            if (i == fuzz_front_pages(kind)) {
                i = FUZZ_PART / QVGPU_PAGE - FUZZ_DATA_END - 1;
                continue;
            }
            for (k = 0; k < QVGPU_PAGE; k += 8, at.off += 8) {
                fuzz_put64(q->c, at, fuzz_rnd(&q->c->rng));
            }
        }
    }
}

static void make_vmid0(FuzzCase *c)
{
    FuzzRng *r = &c->rng;
    FuzzPlace at = { QVGPU_RAM, c->tables[QVGPU_RAM]++ * QVGPU_PAGE };
    unsigned i;

    c->fb_offset = 0;
    if (fuzz_chance(r, 60)) {
        c->fb_offset = fuzz_chance(r, 70) ? fuzz_below(r, 64) * GiB
                                          : fuzz_below(r, 4096) << 24;
        /*
         * VRAM starts at address fb_offset. make_region() makes a 1-GiB leaf
         * with this address. The device aligns the leaf's address down to
         * 1 GiB, so VRAM starts at byte fb_offset % GiB of the leaf.
         */
        if (c->fb_offset % GiB < 2 * c->vram_size) {
            /*
             * Make VRAM start at byte 0 of the leaf. fuzz_pick_va() uses byte N
             * of the leaf for byte N of VRAM. If VRAM started a little later,
             * byte N could be VRAM of another queue. If VRAM starts much later,
             * packets reach no VRAM through the leaf, which is harmless.
             */
            c->fb_offset = QEMU_ALIGN_DOWN(c->fb_offset, GiB);
        }
    }
    for (i = 0; i < QVGPU_PAGE; i += 8) {
        fuzz_put64(c, (FuzzPlace) { at.kind, at.off + i }, fuzz_rnd(r));
    }
    c->default_page = fuzz_chance(r, 80) ? c->mem[QVGPU_RAM].base + at.off : 0;
    c->gart = 2 * TiB + fuzz_below(r, GiB) * QVGPU_PAGE;
    c->gart_pages = FUZZ_QUEUES * FUZZ_GART_PAGES;
    c->gart_table = new_table(c);
}

void fuzz_case_make(FuzzCase *c)
{
    FuzzRng *r = &c->rng;
    unsigned i, k;

    make_vmid0(c);
    c->cam = fuzz_chance(r, 85);
    c->redone = false;
    c->save = fuzz_chance(r, 8);
    c->nspaces = 1 + fuzz_below(r, ARRAY_SIZE(c->vmids));
    for (i = 0; i < c->nspaces; i++) {
        do {
            c->vmids[i] = 1 + fuzz_below(r, VGPU_NUM_VMIDS - 1);
        } while (c->space[c->vmids[i]].used);
        c->space[c->vmids[i]].used = true;
        c->space[c->vmids[i]].retry = fuzz_chance(r, 75);
        c->space[c->vmids[i]].root = new_table(c);
    }
    c->nqueues = 1 + fuzz_below(r, FUZZ_QUEUES);
    for (i = 0; i < c->nqueues; i++) {
        FuzzQueue *q = &c->queue[i];

        q->c = c;
        q->part = FUZZ_QUEUES - 1 - i;
        make_data(q);
        make_gart(q);
        for (k = 0; k < c->nspaces; k++) {
            make_region(q, c->vmids[k]);
        }
        fuzz_sdma_stream_make(q);
    }
}
