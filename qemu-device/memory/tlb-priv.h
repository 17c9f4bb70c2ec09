/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: the TLB of a client. Private to the files of memory/. */
#ifndef HW_MISC_VGPU_KFD_MEMORY_TLB_PRIV_H
#define HW_MISC_VGPU_KFD_MEMORY_TLB_PRIV_H

#include "qemu/host-utils.h"
#include "hw/misc/vgpu-kfd/memory/client.h"
#include "hw/misc/vgpu-kfd/memory/internal.h"
#include "hw/misc/vgpu-kfd/memory/span.h"

/* A leaf in a TLB. */
typedef struct VGPUTlbEntry {
    uint64_t key;               /* vgpu_tlb_key(), or 0 if the entry is empty */
    uint64_t addr;              /* VGPULeaf.addr */
    uint32_t gen;               /* value of VGPUHub.gen[vmid] before the walk */
    uint8_t shift;              /* log2 of the leaf's size in bytes */
    uint8_t kind;               /* VGPUTargetKind below VGPU_TARGET_RETRY */
    uint16_t flags;             /* VGPU_LEAF_* */
} VGPUTlbEntry;

typedef struct VGPUTlbSet {
    VGPUTlbEntry way[VGPU_TLB_WAYS];
    unsigned victim;            /* way to replace next, modulo VGPU_TLB_WAYS */
} VGPUTlbSet;

/*
 * Translation of the address directly after the span that the last
 * vgpu_gpuvm_map() of a VGPUAccessType returned. The next vgpu_gpuvm_map() of
 * this type probably begins at this address.
 */
typedef struct VGPUPeek {
    bool valid;
    uint8_t vmid;
    uint32_t gen;               /* hub->gen[vmid] before the translation */
    uint64_t va;
    /* Not mapped to host memory yet, so span.host is NULL. */
    VGPUSpan span;
} VGPUPeek;

/*
 * The PTB that the last walk of the access in progress has found. Not used by
 * later accesses: an invalidation is acknowledged when the access in progress
 * has ended, and directories are not cached after that.
 */
typedef struct VGPULastPtb {
    bool valid;
    uint8_t vmid;
    uint32_t gen;               /* hub->gen[vmid] before the walk */
    uint64_t number;            /* va >> VGPU_LEVEL_SHIFT(VGPU_LEVEL_PDB0) */
    uint64_t pde;               /* entry of PDB0 that points to the PTB */
} VGPULastPtb;

/*
 * A client's TLB. Except as noted, members are accessed by the client's thread,
 * or by a thread that stopped the client's worker: vgpu_worker_hold(),
 * vgpu_worker_park().
 */
struct VGPUTlb {
    VGPUHub *hub;               /* hub of the client; constant */
    /* VM_L2_PROTECTION_FAULT_STATUS.CID; constant */
    uint16_t cid;
    /*
     * Counter, odd while the client accesses memory. Written by the client's
     * thread, read by any thread, atomically.
     */
    unsigned access;
    /* Bit n is set if the TLB may have leaves of 1 << n bytes. */
    uint64_t shifts;
    VGPUPeek peek[VGPU_ACCESS_TYPES];
    VGPULastPtb last_ptb;
    /*
     * Number of invalidated ranges that have been applied to @set. If
     * hub->num_ranges differs, the hub has logged further ranges.
     */
    uint32_t ranges_done;
    uint32_t hits;              /* hits not yet added to s->counters */
    uint32_t misses;            /* misses not yet added to s->counters */
    VGPUTlbSet set[1 << VGPU_TLB_SETS_LOG2];
};

/*
 * Functions of the TLB. Context: the client's thread, or another thread that
 * holds the client's worker (vgpu_worker_hold()).
 */

/*
 * Return the key of the leaf of 1 << @shift bytes at @va. The key is unique.
 * It is never 0, because @shift is at least VGPU_PAGE_SHIFT.
 */
static inline uint64_t vgpu_tlb_key(unsigned vmid, uint64_t va, unsigned shift)
{
    return va >> shift << 10 | shift << 4 | vmid;
}

static inline VGPUTlbSet *vgpu_tlb_set(VGPUTlb *tlb, uint64_t key)
{
    /*
     * Fibonacci hashing distributes neighbouring pages, and pages at large
     * strides, over the sets.
     */
    return &tlb->set[(key * 0x9e3779b97f4a7c15ull) >>
                     (64 - VGPU_TLB_SETS_LOG2)];
}

/*
 * Return the TLB entry of generation @gen that translates @va, or NULL. Inline,
 * since each access calls this function.
 */
static inline const VGPUTlbEntry *vgpu_tlb_find(VGPUTlb *tlb, unsigned vmid,
                                                uint64_t va, uint32_t gen)
{
    uint64_t shifts;
    unsigned w;

    for (shifts = tlb->shifts; shifts; shifts &= shifts - 1) {
        uint64_t key = vgpu_tlb_key(vmid, va, ctz64(shifts));
        VGPUTlbSet *set = vgpu_tlb_set(tlb, key);

        for (w = 0; w < VGPU_TLB_WAYS; w++) {
            if (set->way[w].key == key && set->way[w].gen == gen) {
                return &set->way[w];
            }
        }
    }
    return NULL;
}

/*
 * Add @leaf, which translates @va, to the TLB. @gen is the value of
 * VGPUHub.gen[vmid] before the walk.
 */
void vgpu_tlb_insert(VGPUTlb *tlb, unsigned vmid, uint64_t va, uint32_t gen,
                     const VGPULeaf *leaf);
/*
 * Drop the TLB entries in the ranges that were invalidated since the last call.
 */
void vgpu_tlb_apply_invalidations(VGPUClient *c);

#endif /* HW_MISC_VGPU_KFD_MEMORY_TLB_PRIV_H */
