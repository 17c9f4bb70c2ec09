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
    VGPU_TARGET_RETRY,          /* retry fault: the access will be repeated */
    VGPU_TARGET_FAULT,          /* no-retry fault: the access is redirected */
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
    VGPU_ACCESS_TYPES,
} VGPUAccessType;

/*
 * Result of the translation of a GPU address: contiguous memory (all kinds
 * before VGPU_TARGET_RETRY), a fault, or VGPU_TARGET_WAIT. Only the thread that
 * mapped the memory may use the memory, and only before vgpu_phys_unmap().
 */
typedef struct VGPUSpan {
    VGPUTargetKind kind;
    /* Window (phys.c) of a mapped span of kind VGPU_TARGET_BUS, else NULL. */
    struct VGPUWindow *window;
    bool write;                 /* mapped for a write */
    /* True if host memory is mapped, which vgpu_phys_unmap() has to release. */
    bool mapped;
    uint8_t walker_error;       /* VGPU_WALKER_* of a fault */
    /*
     * Class of a fault: a bit VM_L2_PROTECTION_FAULT_CNTL__*_DEFAULT. Reads
     * with such a fault get the default page only if this bit is set in
     * register VM_L2_PROTECTION_FAULT_CNTL.
     */
    uint16_t fault;
    uint16_t flags;             /* VGPU_LEAF_* of the first leaf */
    /*
     * Host address of the first byte; NULL if writes are dropped. Do not change
     * this member before vgpu_phys_unmap(), which needs the address.
     */
    uint8_t *host;
    uint64_t addr;              /* first byte's address: see VGPUTargetKind */
    uint64_t len;               /* bytes */
} VGPUSpan;

/* Flags of a leaf: bits 11:0 of its page-table entry, and the entry's MTYPE. */
#define VGPU_LEAF_ENTRY         0x0fffu
#define VGPU_LEAF_MTYPE         0x3000u

#endif /* HW_MISC_VGPU_KFD_MEMORY_SPAN_H */
