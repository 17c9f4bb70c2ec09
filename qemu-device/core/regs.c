/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: access to registers by dword offset in BAR 5. The functions find
 * the block and the register. The registers of each block are implemented in
 * the folder of the block.
 */
#include "qemu/osdep.h"
#include "qemu/bitmap.h"
#include "qemu/bitops.h"
#include "qemu/log.h"
#include "vgpu/pci.h"
#include "hw/misc/vgpu-kfd/core/regs.h"
#include "hw/misc/vgpu-kfd/core/vgpu-kfd.h"

/*
 * Return the block that contains @reg, or NULL. Set *@inst to the instance, and
 * *@off to the dword offset in the instance.
 */
static const VGPUBlock *regs_find_block(const VGPURegs *regs, uint32_t reg,
                                        unsigned *inst, unsigned *off)
{
    unsigned low = 0, high = regs->num_blocks;
    const VGPUBlock *b;

    /*
     * Invariant: blocks below index @low begin at @reg or below, and blocks
     * from index @high on begin above @reg.
     */
    while (low < high) {
        unsigned middle = (low + high) / 2;

        if (regs->blocks[middle]->base <= reg) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (!low) {
        return NULL;
    }
    b = regs->blocks[low - 1];
    reg -= b->base;
    if (reg >= b->span * b->count) {
        return NULL;
    }
    *inst = b->first + reg / b->span;
    *off = reg % b->span;
    return b;
}

static const VGPUReg *regs_find(const VGPURegs *regs, uint32_t reg,
                                const VGPUBlock **block, unsigned *inst,
                                unsigned *off)
{
    const VGPUBlock *b = regs_find_block(regs, reg, inst, off);

    *block = b;
    return b && b->regs[*off].exists ? &b->regs[*off] : NULL;
}

void vgpu_regs_init(VGPUState *s, const VGPUBlock *const *list, unsigned num,
                    bool (*is_alias)(VGPUState *s, uint32_t reg))
{
    unsigned i;

    for (i = 1; i < num; i++) {
        assert(list[i]->base >=
               list[i - 1]->base + list[i - 1]->span * list[i - 1]->count);
    }
    s->regs = (VGPURegs) {
        .blocks = list, .num_blocks = num, .is_alias = is_alias,
        .warned = bitmap_new(VGPU_MMIO_DWORDS),
    };
}

void vgpu_regs_exit(VGPUState *s)
{
    g_free(s->regs.warned);
}

bool vgpu_reg_warn_once(VGPUState *s, uint32_t reg)
{
    return !test_and_set_bit(reg, s->regs.warned);
}

uint32_t vgpu_reg_read(VGPUState *s, uint32_t reg)
{
    const VGPUBlock *b;
    const VGPUReg *r;
    unsigned inst, off;

    r = regs_find(&s->regs, reg, &b, &inst, &off);
    if (!r) {
        if (!s->regs.is_alias(s, reg) && vgpu_reg_warn_once(s, reg)) {
            qemu_log_mask(LOG_UNIMP, "%s: read of register 0x%05x, which does "
                          "not exist here\n", s->id, reg);
        }
        return 0;
    }
    return r->read ? r->read(s, inst, off)
                   : qatomic_read(&b->store(s, inst)[off]);
}

void vgpu_reg_write(VGPUState *s, uint32_t reg, uint32_t val)
{
    const VGPUBlock *b;
    const VGPUReg *r;
    unsigned inst, off;
    uint32_t old = 0;

    r = regs_find(&s->regs, reg, &b, &inst, &off);
    if (!r) {
        if (!s->regs.is_alias(s, reg) && vgpu_reg_warn_once(s, reg)) {
            qemu_log_mask(LOG_UNIMP, "%s: write of 0x%08x to register 0x%05x, "
                          "which does not exist here\n", s->id, val, reg);
        }
        return;
    }
    if (r->mask) {
        uint32_t *p = &b->store(s, inst)[off];

        old = *p;
        qatomic_set(p, (old & ~r->mask) | (val & r->mask));
    }
    if (r->written) {
        r->written(s, inst, off, old, val);
    } else if (!r->mask && vgpu_reg_warn_once(s, reg)) {
        qemu_log_mask(LOG_GUEST_ERROR, "%s: write of 0x%08x to read-only "
                      "register 0x%05x\n", s->id, val, reg);
    }
}

bool vgpu_reg_engine_read(VGPUState *s, uint32_t reg, uint32_t *val)
{
    unsigned inst, off;
    const VGPUBlock *b = regs_find_block(&s->regs, reg, &inst, &off);

    return b && b->engine_read && b->engine_read(s, inst, off, val);
}

bool vgpu_reg_engine_write(VGPUState *s, uint32_t reg, uint32_t val)
{
    unsigned inst, off;
    const VGPUBlock *b = regs_find_block(&s->regs, reg, &inst, &off);

    return b && b->engine_write && b->engine_write(s, inst, off, val);
}

void vgpu_reg_reset(VGPUState *s)
{
    unsigned i, inst, off;

    for (i = 0; i < s->regs.num_blocks; i++) {
        const VGPUBlock *b = s->regs.blocks[i];

        for (inst = b->first; b->store && inst < b->first + b->count; inst++) {
            uint32_t *store = b->store(s, inst);

            for (off = 0; off < b->span; off++) {
                qatomic_set(&store[off], b->regs[off].reset);
            }
        }
    }
    bitmap_zero(s->regs.warned, VGPU_MMIO_DWORDS);
}
