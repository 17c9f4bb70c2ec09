/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: making things go wrong on purpose.
 *
 * Where something may go wrong the device asks vgpu_inject_armed(), one read,
 * and only if that holds describes the occasion and asks vgpu_inject_fires().
 * An injection's choices come from its own random numbers, drawn once for each
 * occasion that its filter lets through: the same seed and the same occasions
 * make the same choices.
 */
#ifndef HW_MISC_VGPU_KFD_INJECT_H
#define HW_MISC_VGPU_KFD_INJECT_H

#include "qemu/queue.h"
#include "qemu/thread.h"
#include "qapi/qapi-types-vgpu-kfd.h"

#define VGPU_SITE_NONE  (-1)    /* does not apply: a filter for it excludes */

/* An occasion. */
typedef struct VGPUSite {
    int hub;
    int vmid;
    int engine;
    int queue;
    uint64_t va;                /* or what the kind calls its address */
} VGPUSite;

/* Kinds that vgpu_inject_entry() is for. */
#define VGPU_INJECT_ENTRIES \
    (1u << VGPU_INJECT_KIND_PTE_CORRUPT | 1u << VGPU_INJECT_KIND_PTE_LOST | \
     1u << VGPU_INJECT_KIND_PTE_LATE | 1u << VGPU_INJECT_KIND_GART_CORRUPT | \
     1u << VGPU_INJECT_KIND_GART_LOST | 1u << VGPU_INJECT_KIND_GART_LATE)

/* An occasion was taken. */
typedef struct VGPUShot {
    uint64_t arg;               /* the kind's parameter */
    uint64_t random;
} VGPUShot;

typedef struct VGPUInjection VGPUInjection;

typedef struct VGPUInjector {
    uint32_t armed;             /* kinds that may fire, 1 << kind; atomic */
    QemuMutex lock;             /* the rest; no lock is taken under it */
    QTAILQ_HEAD(, VGPUInjection) list;
    unsigned count;
} VGPUInjector;

typedef struct VGPUState VGPUState;

void vgpu_inject_init(VGPUState *s);
void vgpu_inject_destroy(VGPUState *s);
/*
 * Does an injection of @kind take this occasion? @shot may be NULL. Any thread,
 * any lock.
 */
bool vgpu_inject_fires(VGPUState *s, VgpuInjectKind kind, const VGPUSite *site,
                       VGPUShot *shot);
/*
 * What a walk reads instead of @entry, which is at @addr of the memory that
 * @where tells apart, @leaf if it ends the walk. Any thread.
 */
uint64_t vgpu_inject_entry(VGPUState *s, const VGPUSite *site, unsigned where,
                           uint64_t addr, uint64_t entry, bool leaf);
/* For queries; the caller frees it. */
VgpuInjectionInfoList *vgpu_inject_infos(VGPUState *s);

#endif /* HW_MISC_VGPU_KFD_INJECT_H */
