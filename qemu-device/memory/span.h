/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: the result of the translation of a GPU address: a span of memory,
 * or a fault.
 */
#ifndef HW_MISC_VGPU_KFD_MEMORY_SPAN_H
#define HW_MISC_VGPU_KFD_MEMORY_SPAN_H

#include "exec/hwaddr.h"

/* Target of a GPU address, and meaning of VGPUSpan.addr. */
typedef enum VGPUTargetKind {
    VGPU_TARGET_VRAM,           /* addr: offset in VRAM */
    VGPU_TARGET_BUS,            /* addr: guest bus address */
    VGPU_TARGET_PEER,           /* addr: in the hive: node * segment + offset */
    VGPU_TARGET_ZERO,           /* reads zeros, drops writes (PRT) */
    VGPU_TARGET_RETRY,          /* retry fault */
    VGPU_TARGET_FAULT,          /* no-retry fault */
    VGPU_TARGET_WAIT,           /* no IOMMU translation yet: VGPU_WAIT_IOMMU */
} VGPUTargetKind;

/* Type of an access. A bool "write" converts to it: false is VGPU_READ. */
typedef enum VGPUAccessType {
    VGPU_READ,
    VGPU_WRITE,
    VGPU_EXECUTE,               /* fetch of instructions */
} VGPUAccessType;

/*
 * A range of GPU addresses in one piece of host memory, or a fault. Valid from
 * vgpu_gpuvm_map() to vgpu_phys_unmap(), in the thread that called
 * vgpu_gpuvm_map().
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
    uint16_t flags;             /* of the first leaf: VGPU_LEAF_* */
    uint8_t *host;              /* NULL: writes are dropped */
    uint64_t addr;              /* of the first byte; meaning: see @kind */
    uint64_t len;               /* bytes */
} VGPUSpan;

/* Flags of a leaf: bits 11:0 of its page-table entry, and MTYPE. */
#define VGPU_LEAF_ENTRY         0x0fffu
#define VGPU_LEAF_MTYPE         0x3000u

#endif /* HW_MISC_VGPU_KFD_MEMORY_SPAN_H */
