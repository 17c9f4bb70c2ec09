/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: tables of registers. Each block of the chip describes its registers
 * in tables of VGPUReg. The functions below find a register by its dword offset
 * in BAR 5, for the register window and for packets that write registers.
 *
 * hw/register.h would compare an address with each register of a block in turn,
 * and has an object for each (a hub: 336). A MemoryRegion for each block would
 * serve the register window only: engines read registers without the BQL, and
 * PCIE_DATA2 and packets have a register's number and no address.
 */
#ifndef HW_MISC_VGPU_KFD_CORE_REGS_H
#define HW_MISC_VGPU_KFD_CORE_REGS_H

typedef struct VGPUState VGPUState;

/*
 * A register: what a write changes, and what reading and writing does besides.
 * Tables are indexed by the offset in the block; an entry of zeros is no
 * register.
 */
typedef struct VGPUReg {
    bool exists;                /* false: no register at this offset */
    uint32_t mask;              /* bits that a write stores */
    uint32_t reset;             /* value after a reset of the chip */
    /* The value, where it is not simply what is stored. BQL held. */
    uint32_t (*read)(VGPUState *s, unsigned inst, unsigned off);
    /* A write of @val happened; @old was stored before. BQL held. */
    void (*written)(VGPUState *s, unsigned inst, unsigned off, uint32_t old,
                    uint32_t val);
} VGPUReg;

#define VGPU_REG_RW(m)      { .exists = true, .mask = (m) }
#define VGPU_REG_RO         { .exists = true }
#define VGPU_REG_READ(fn)   { .exists = true, .read = (fn) }
#define VGPU_REG_WRITTEN(m, fn) \
    { .exists = true, .mask = (m), .written = (fn) }

/* Instances of a block of registers, one after the other in BAR 5. */
typedef struct VGPUBlock {
    uint32_t base;              /* dword offset in BAR 5 */
    uint32_t span;              /* dwords of one instance */
    unsigned count;             /* instances */
    unsigned first;             /* @inst of the first instance */
    const VGPUReg *regs;        /* span entries */
    /* Where values are kept; NULL if every register has its read(). */
    uint32_t *(*store)(VGPUState *s, unsigned inst);
    /*
     * NULL, or: a packet of an engine reads or writes a register. False:
     * engines cannot. Any thread.
     */
    bool (*engine_read)(VGPUState *s, unsigned inst, unsigned off,
                        uint32_t *val);
    bool (*engine_write)(VGPUState *s, unsigned inst, unsigned off,
                         uint32_t val);
} VGPUBlock;

/* The registers of a device. Constant, but for @warned. */
typedef struct VGPURegs {
    const VGPUBlock *const *blocks;     /* ascending by base, disjoint */
    unsigned num_blocks;
    /* Whether an access to @reg, which is in no block, is not logged. */
    bool (*is_alias)(VGPUState *s, uint32_t reg);
    /* Bitmap by dword offset: vgpu_reg_warn_once() returned true. BQL. */
    unsigned long *warned;
} VGPURegs;

/*
 * The device has the registers of @blocks, @num of them, ascending by base and
 * disjoint. @is_alias: see VGPURegs. BQL held.
 */
void vgpu_regs_init(VGPUState *s, const VGPUBlock *const *blocks, unsigned num,
                    bool (*is_alias)(VGPUState *s, uint32_t reg));
void vgpu_regs_exit(VGPUState *s);
/* Read or write the register at dword offset @reg. BQL held. */
uint32_t vgpu_reg_read(VGPUState *s, uint32_t reg);
void vgpu_reg_write(VGPUState *s, uint32_t reg, uint32_t val);
/* The same for a packet of an engine. False: as VGPUBlock. Any thread. */
bool vgpu_reg_engine_read(VGPUState *s, uint32_t reg, uint32_t *val);
bool vgpu_reg_engine_write(VGPUState *s, uint32_t reg, uint32_t val);
/* True once for every register: a guest must not fill the log. BQL held. */
bool vgpu_reg_warn_once(VGPUState *s, uint32_t reg);
/* Bring every register to its reset value; engines are parked. BQL held. */
void vgpu_reg_reset(VGPUState *s);

#endif /* HW_MISC_VGPU_KFD_CORE_REGS_H */
