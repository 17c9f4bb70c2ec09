/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzzer of vgpu-kfd: translates an address as docs/hardware.md defines it.
 * Reads the page tables from the expected memory (FuzzMem), not from the
 * device.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "tests/qtest/vgpu-kfd/fuzz/fuzz.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"

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

/*
 * Return the memory at @addr. @addr is a bus address if @system is true, else
 * an offset in VRAM.
 */
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
        fuzz_fail(c, "error in the fuzzer: address 0x%" PRIx64
                  " is not its memory", addr);
        return hit;
    }
    hit.kind = FUZZ_HIT_MEMORY;
    hit.at = (FuzzPlace) { kind, addr - c->mem[kind].base };
    return hit;
}

/*
 * Return the memory at @addr. The caller computed @addr from page-table entry
 * @entry: a bus address if @entry has SYSTEM, else VRAM offset plus FB_OFFSET.
 */
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
