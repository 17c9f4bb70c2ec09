/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: the result of the translation of a GPU address: a span of memory,
 * or a fault.
 */
#ifndef HW_MISC_VGPU_KFD_MEMORY_SPAN_H
#define HW_MISC_VGPU_KFD_MEMORY_SPAN_H

/*
 * What a GPU address translates to. Comments that begin with "addr" give the
 * meaning of VGPUSpan.addr.
 */
typedef enum VGPUTargetKind {
    VGPU_TARGET_VRAM,           /* addr: offset in VRAM */
    VGPU_TARGET_BUS,            /* addr: guest bus address */
    VGPU_TARGET_PEER,           /* addr: node number * VRAM size + offset */
    VGPU_TARGET_ZERO,           /* reads give zeros, writes are dropped: PRT */
    VGPU_TARGET_RETRY,          /* retry fault */
    VGPU_TARGET_FAULT,          /* no-retry fault */
    VGPU_TARGET_WAIT,           /* the IOMMU has not replied yet */
} VGPUTargetKind;

/*
 * Type of an access. VGPU_READ is false and VGPU_WRITE is true, so that a bool
 * that is set for a write can be passed as the type.
 */
typedef enum VGPUAccessType {
    VGPU_READ,
    VGPU_WRITE,
    VGPU_EXECUTE,               /* fetch of instructions */
} VGPUAccessType;

/*
 * A range of GPU addresses whose bytes are contiguous in host memory, or a
 * fault. A span is valid from vgpu_gpuvm_map() to vgpu_phys_unmap(), in the
 * thread that called vgpu_gpuvm_map().
 */
typedef struct VGPUSpan {
    VGPUTargetKind kind;
    /* Window (phys.c) of a mapped span of kind VGPU_TARGET_BUS, else NULL. */
    struct VGPUWindow *window;
    bool write;                 /* mapped for a write */
    bool mapped;                /* vgpu_phys_unmap() has memory to release */
    uint8_t walker_error;       /* VGPU_WALKER_* of a fault */
    /* Class of a fault: one of VM_L2_PROTECTION_FAULT_CNTL__*_DEFAULT. */
    uint16_t fault;
    uint16_t flags;             /* VGPU_LEAF_* of the first leaf */
    /*
     * Host address, which must not be changed before vgpu_phys_unmap(). NULL if
     * writes are dropped.
     */
    uint8_t *host;
    uint64_t addr;              /* first byte's address: see VGPUTargetKind */
    uint64_t len;               /* bytes */
} VGPUSpan;

/* Flags of a leaf: bits 11:0 of its page-table entry, and the entry's MTYPE. */
#define VGPU_LEAF_ENTRY         0x0fffu
#define VGPU_LEAF_MTYPE         0x3000u

#endif /* HW_MISC_VGPU_KFD_MEMORY_SPAN_H */
