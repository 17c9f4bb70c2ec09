/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: making things go wrong on purpose.
 *
 * Where something may go wrong the device calls vgpu_inject_armed(), one read,
 * and only if that holds describes the occasion and calls vgpu_inject_fires().
 * An injection's choices come from its own random numbers, drawn once for each
 * occasion that its filter lets through: the same seed and the same occasions
 * make the same choices.
 *
 * Where the effect of each kind is:
 *
 *   pte-corrupt, pte-lost, pte-late,     vgpu_inject_pte(), for
 *   gart-corrupt, gart-lost, gart-late     memory/page-walk.c
 *   inv-no-ack, inv-early-ack            memory/invalidate-inject.c
 *   vram-lost, vram-lost-at-reset        memory/vram.c
 *   vram-poison                          vgpu_inject_vram_poison(), for
 *                                          queue/dma.c
 *   xgmi-down                            memory/xgmi.c
 *   fault-drop, -duplicate, -delay       ih/fault-inject.c
 *   fault-spurious                       ih/fault.c
 *   ih-overflow                          ih/ring.c
 *   sdma-hang, sdma-slow,                sdma/packet-inject.c
 *   sdma-wrong-byte
 *   doorbell-lost                        vgpu_inject_doorbell_lost(), for
 *                                          sdma/regs.c, cp/regs.c,
 *                                          pci/doorbell.c
 *   surprise-removal                     pci/surprise-removal.c
 */
#ifndef HW_MISC_VGPU_KFD_INJECT_INJECT_H
#define HW_MISC_VGPU_KFD_INJECT_INJECT_H

#include "qapi/qapi-types-vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/core/vgpu-kfd.h"

#define VGPU_SITE_NONE  (-1)    /* does not apply: a filter for it excludes */
#define VGPU_SITE_ANY   (-2)    /* in a filter: not compared */

/*
 * An occasion: where it arises. The filters of injections are compared with
 * this. Of hub, vmid, engine and queue, one that does not apply is
 * VGPU_SITE_NONE.
 */
typedef struct VGPUSite {
    int hub;                    /* VGPU_HUB_* */
    int vmid;
    int engine;                 /* number of an SDMA engine */
    int queue;                  /* number in the SDMA engine or in the pipe */
    unsigned me;                /* MEC of a compute queue, from 1 on; 0: none */
    unsigned pipe;              /* pipe of a compute queue in that MEC */
    uint64_t va;                /* GPU address, or the kind's own address */
} VGPUSite;

/* Which occasions an injection looks at: all numbers of a site must fit. */
typedef struct VGPUFilter {
    int hub;                    /* these as in VGPUSite, or VGPU_SITE_ANY */
    int vmid;
    int engine;
    int queue;                  /* without me and pipe of an SDMA engine */
    int me;
    int pipe;
    uint64_t first;             /* lowest VGPUSite.va ... */
    uint64_t last;              /* ... and highest */
} VGPUFilter;

#define VGPU_FILTER_ALL {                                               \
    .hub = VGPU_SITE_ANY, .vmid = VGPU_SITE_ANY,                        \
    .engine = VGPU_SITE_ANY, .queue = VGPU_SITE_ANY,                    \
    .me = VGPU_SITE_ANY, .pipe = VGPU_SITE_ANY, .last = UINT64_MAX,     \
}

/* An injection, its arguments checked. */
typedef struct VGPUInjectArgs {
    VgpuInjectKind kind;
    VGPUFilter filter;
    uint64_t arg;               /* the kind's parameter; 0: none */
    uint64_t seed;              /* of its random numbers */
    uint64_t skip;              /* occasions to pass over first */
    uint64_t count;             /* occasions to take; 0: no limit */
    uint64_t threshold;         /* taken if a random 32-bit number is below */
} VGPUInjectArgs;

/* Kinds that vgpu_inject_pte() is for. */
#define VGPU_INJECT_PTES \
    (1u << VGPU_INJECT_KIND_PTE_CORRUPT | 1u << VGPU_INJECT_KIND_PTE_LOST | \
     1u << VGPU_INJECT_KIND_PTE_LATE | 1u << VGPU_INJECT_KIND_GART_CORRUPT | \
     1u << VGPU_INJECT_KIND_GART_LOST | 1u << VGPU_INJECT_KIND_GART_LATE)

/* What the injection that takes an occasion does there. */
typedef struct VGPUInjectHit {
    uint64_t arg;               /* the kind's parameter; 0: none */
    uint64_t random;            /* drawn for this occasion */
} VGPUInjectHit;

#define VGPU_INJECTIONS_MAX     64      /* of a device */

typedef struct VGPUInjection VGPUInjection;

/* Allocate and free the injector: instance_init, instance_finalize. */
void vgpu_inject_alloc(VGPUState *s);
void vgpu_inject_free(VGPUState *s);
/* Before the first occasion, and after the last one. BQL held. */
void vgpu_inject_init(VGPUState *s);
void vgpu_inject_destroy(VGPUState *s);

/* Is there an injection of one of @kinds, 1 << kind each? Any thread. */
static inline bool vgpu_inject_armed(VGPUState *s, uint32_t kinds)
{
    return unlikely(qatomic_read(&s->inject_armed) & kinds);
}

/*
 * Does an injection of @kind take this occasion? @hit may be NULL. Any thread,
 * any lock.
 */
bool vgpu_inject_fires(VGPUState *s, VgpuInjectKind kind, const VGPUSite *site,
                       VGPUInjectHit *hit);

/* Is the doorbell lost? site.va: its byte offset. Any thread. */
static inline bool vgpu_inject_doorbell_lost(VGPUState *s, VGPUSite site)
{
    site.hub = VGPU_SITE_NONE;
    return vgpu_inject_armed(s, 1u << VGPU_INJECT_KIND_DOORBELL_LOST) &&
           vgpu_inject_fires(s, VGPU_INJECT_KIND_DOORBELL_LOST, &site, NULL);
}

/*
 * What a walk reads instead of @entry, which is at @addr of the memory that
 * @where stands for, @leaf if it ends the walk. Any thread.
 */
uint64_t vgpu_inject_pte(VGPUState *s, const VGPUSite *site, unsigned where,
                         uint64_t addr, uint64_t entry, bool leaf);
/*
 * Take down the link to @node if an injection takes this occasion. Any thread.
 */
void vgpu_inject_xgmi_down(VGPUState *s, const VGPUSite *site, unsigned node);
/* Mask of the nodes whose link is down, at our end. Any thread. */
uint32_t vgpu_inject_links_down(VGPUState *s);
/*
 * How many of @len bytes at @site (va: offset in VRAM) can be read; 0: the
 * first cannot, and that was counted. Any thread.
 */
uint64_t vgpu_inject_vram_poison(VGPUState *s, const VGPUSite *site,
                                 uint64_t len);
/*
 * Each injection of @kind takes an occasion that its filter lets through: for
 * those that do, @effect is called. @effect: the injector's lock held.
 */
void vgpu_inject_each(VGPUState *s, VgpuInjectKind kind,
                      void (*effect)(VGPUState *s, const VGPUFilter *f,
                                     uint64_t random));
/* When an effect is due after @delay ns: QEMU_CLOCK_VIRTUAL, never 0. */
int64_t vgpu_inject_due(uint64_t delay);

/* These for the operator's commands. BQL held. */

/* Whether the device has as many injections as it may have. */
bool vgpu_inject_full(VGPUState *s);
/* Add an injection. vgpu_inject_infos() returns a copy of @what. */
VGPUInjection *vgpu_inject_add(VGPUState *s, const VGPUInjectArgs *args,
                               const VgpuInjection *what);
/* The number of @i in vgpu-inject's reply. */
uint32_t vgpu_inject_id(const VGPUInjection *i);
/*
 * The command itself is an occasion, at @site, which @i takes. False: @i takes
 * no more occasions.
 */
bool vgpu_inject_now(VGPUState *s, VGPUInjection *i, const VGPUSite *site,
                     VGPUInjectHit *hit);
/* Remove the injection with @id. False: the device has none. */
bool vgpu_inject_remove(VGPUState *s, uint32_t id);
/* The caller frees it. */
VgpuInjectionInfoList *vgpu_inject_infos(VGPUState *s);

#endif /* HW_MISC_VGPU_KFD_INJECT_INJECT_H */
