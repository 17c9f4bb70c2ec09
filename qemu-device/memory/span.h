/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: what a GPU address leads to: a stretch of memory, or a fault.
 */
#ifndef HW_MISC_VGPU_KFD_MEMORY_SPAN_H
#define HW_MISC_VGPU_KFD_MEMORY_SPAN_H

#include "exec/hwaddr.h"

/* Where a GPU address leads. */
typedef enum VGPUTargetKind {
    VGPU_TARGET_VRAM,           /* addr: offset in VRAM */
    VGPU_TARGET_BUS,            /* addr: guest bus address */
    VGPU_TARGET_PEER,           /* addr: in the hive: node * segment + offset */
    VGPU_TARGET_ZERO,           /* reads zeros, writes vanish (PRT) */
    VGPU_TARGET_RETRY,          /* retry fault */
    VGPU_TARGET_FAULT,          /* no-retry fault */
    VGPU_TARGET_WAIT,           /* no IOMMU translation yet: VGPU_WAIT_IOMMU */
} VGPUTargetKind;

/* What an access is. A bool that says "write" is one, too. */
typedef enum VGPUAccessType {
    VGPU_READ,
    VGPU_WRITE,
    VGPU_EXECUTE,               /* fetch of instructions */
} VGPUAccessType;

/*
 * A run of GPU addresses that is one piece of host memory, or a fault. Valid
 * between vgpu_gpuvm_map() and vgpu_phys_unmap(); belongs to the thread that
 * called vgpu_gpuvm_map().
 */
typedef struct VGPUSpan {
    VGPUTargetKind kind;
    struct VGPUWindow *window;  /* phys.c: of a bus address, or NULL */
    hwaddr at;                  /* offset of the first byte in @window */
    bool write;                 /* mapped for a write */
    bool mapped;                /* vgpu_phys_unmap() has memory to release */
    uint8_t walker_error;       /* fault: VGPU_WALKER_* */
    /* fault: its class, a bit of VM_L2_PROTECTION_FAULT_CNTL__*_DEFAULT */
    uint16_t fault;
    uint16_t flags;             /* of its first leaf: VGPU_LEAF_* */
    uint8_t *host;              /* NULL: what is written here vanishes */
    uint64_t addr;              /* of the first byte, as @kind says */
    uint64_t len;               /* bytes */
} VGPUSpan;

/* Flags of a leaf: bits 11:0 of its page-table entry, and MTYPE. */
#define VGPU_LEAF_ENTRY         0x0fffu
#define VGPU_LEAF_MTYPE         0x3000u

#endif /* HW_MISC_VGPU_KFD_MEMORY_SPAN_H */
