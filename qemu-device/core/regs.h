/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: tables of registers, and access to a register by its dword offset
 * in BAR 5. QEMU's hw/register.h is not used: its search for a register is
 * linear. MemoryRegions are not used: engines access registers without the BQL.
 */
#ifndef HW_MISC_VGPU_KFD_CORE_REGS_H
#define HW_MISC_VGPU_KFD_CORE_REGS_H

typedef struct VGPUState VGPUState;

/*
 * A register. Tables are indexed by the dword offset in the block; a table
 * entry of zeros means that there is no register.
 */
typedef struct VGPUReg {
    bool exists;
    uint32_t mask;              /* bits that a write stores */
    uint32_t reset;             /* value after a reset of the chip */
    /*
     * Return the value that a read gives. NULL: a read gives the stored value.
     * The caller holds the BQL.
     */
    uint32_t (*read)(VGPUState *s, unsigned inst, unsigned off);
    /*
     * Called under the BQL after a write was stored. NULL: no side effect.
     * @old: value before the write; 0 if VGPUReg.mask is 0
     * @val: written value, including the bits that are not in VGPUReg.mask
     */
    void (*written)(VGPUState *s, unsigned inst, unsigned off, uint32_t old,
                    uint32_t val);
} VGPUReg;

#define VGPU_REG_RW(m)      { .exists = true, .mask = (m) }
#define VGPU_REG_RO         { .exists = true }
#define VGPU_REG_READ(fn)   { .exists = true, .read = (fn) }
#define VGPU_REG_WRITTEN(m, fn) \
    { .exists = true, .mask = (m), .written = (fn) }

/* A block of registers, with one or more instances that follow each other. */
typedef struct VGPUBlock {
    uint32_t base;              /* dword offset in BAR 5 */
    uint32_t span;              /* dwords of one instance */
    unsigned count;             /* instances */
    /* For instance i, counted from 0, the callbacks get @first + i as @inst. */
    unsigned first;
    const VGPUReg *regs;        /* table of @span registers */
    /*
     * Return the array of an instance's stored values. Any thread reads the
     * array, atomically. The pointer @store is NULL if no register of the block
     * stores a value: then each has a read().
     */
    uint32_t *(*store)(VGPUState *s, unsigned inst);
    /*
     * Read or write a register for a packet of an engine, in any thread. Return
     * false if engines cannot access the register. NULL: engines can access no
     * register of the block.
     */
    bool (*engine_read)(VGPUState *s, unsigned inst, unsigned off,
                        uint32_t *val);
    bool (*engine_write)(VGPUState *s, unsigned inst, unsigned off,
                         uint32_t val);
} VGPUBlock;

/*
 * The registers of a device. The members are constant, but the bits in the
 * bitmap at @warned change.
 */
typedef struct VGPURegs {
    const VGPUBlock *const *blocks;     /* ascending by base, disjoint */
    unsigned num_blocks;
    /*
     * Called if no register is at @reg. Return true if the driver has remapped
     * a register to @reg: accesses are then correct, and not logged.
     */
    bool (*is_alias)(VGPUState *s, uint32_t reg);
    /*
     * Bitmap of the registers for which vgpu_reg_warn_once() has returned true.
     * Indexed by dword offset in BAR 5. Guarded by the BQL.
     */
    unsigned long *warned;
} VGPURegs;

/**
 * vgpu_regs_init: initialise s->regs
 * @s: device
 * @blocks: blocks of registers, ascending by base and disjoint; not copied
 * @num: number of blocks
 * @is_alias: value of VGPURegs.is_alias
 *
 * Context: BQL held.
 */
void vgpu_regs_init(VGPUState *s, const VGPUBlock *const *blocks, unsigned num,
                    bool (*is_alias)(VGPUState *s, uint32_t reg));

/**
 * vgpu_regs_exit: free the allocations of vgpu_regs_init()
 * @s: device
 *
 * Context: BQL held.
 */
void vgpu_regs_exit(VGPUState *s);

/**
 * vgpu_reg_read: read a register for the CPU
 * @s: device
 * @reg: dword offset in BAR 5, below VGPU_MMIO_DWORDS
 *
 * Context: BQL held.
 * Return: value; 0 if there is no such register.
 */
uint32_t vgpu_reg_read(VGPUState *s, uint32_t reg);

/**
 * vgpu_reg_write: write a register for the CPU
 * @s: device
 * @reg: dword offset in BAR 5, below VGPU_MMIO_DWORDS
 * @val: value
 *
 * A write of a register that is read-only or does not exist is ignored.
 *
 * Context: BQL held.
 */
void vgpu_reg_write(VGPUState *s, uint32_t reg, uint32_t val);

/**
 * vgpu_reg_engine_read: read a register for a packet of an engine
 * @s: device
 * @reg: dword offset in BAR 5
 * @val: set to the value
 *
 * Context: any thread.
 * Return: true on success; false if engines cannot read the register.
 */
bool vgpu_reg_engine_read(VGPUState *s, uint32_t reg, uint32_t *val);

/**
 * vgpu_reg_engine_write: write a register for a packet of an engine
 * @s: device
 * @reg: dword offset in BAR 5
 * @val: value
 *
 * Context: any thread.
 * Return: true on success; false if engines cannot write the register.
 */
bool vgpu_reg_engine_write(VGPUState *s, uint32_t reg, uint32_t val);

/**
 * vgpu_reg_warn_once: check whether to log an access to @reg
 * @s: device
 * @reg: dword offset in BAR 5, below VGPU_MMIO_DWORDS
 *
 * Context: BQL held.
 * Return: true at the first call for @reg since a chip reset.
 */
bool vgpu_reg_warn_once(VGPUState *s, uint32_t reg);

/**
 * vgpu_reg_reset: set all stored registers to their reset values
 * @s: device
 *
 * Context: BQL held, between vgpu_cp_hold() and vgpu_cp_release(), and between
 * vgpu_sdma_hold() and vgpu_sdma_release().
 */
void vgpu_reg_reset(VGPUState *s);

#endif /* HW_MISC_VGPU_KFD_CORE_REGS_H */
