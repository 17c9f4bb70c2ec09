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
#ifndef HW_MISC_VGPU_KFD_INJECT_INJECT_H
#define HW_MISC_VGPU_KFD_INJECT_INJECT_H

#include "qemu/queue.h"
#include "qemu/thread.h"
#include "qapi/qapi-types-vgpu-kfd.h"
#include "vgpu/gmc.h"

#define VGPU_SITE_NONE  (-1)    /* does not apply: a filter for it excludes */

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

/* Kinds that vgpu_inject_entry() is for. */
#define VGPU_INJECT_ENTRIES \
    (1u << VGPU_INJECT_KIND_PTE_CORRUPT | 1u << VGPU_INJECT_KIND_PTE_LOST | \
     1u << VGPU_INJECT_KIND_PTE_LATE | 1u << VGPU_INJECT_KIND_GART_CORRUPT | \
     1u << VGPU_INJECT_KIND_GART_LOST | 1u << VGPU_INJECT_KIND_GART_LATE)

/* What the injection that takes an occasion does there. */
typedef struct VGPUShot {
    uint64_t arg;               /* the kind's parameter; 0: none */
    uint64_t random;            /* drawn for this occasion */
} VGPUShot;

#define VGPU_INJECTIONS_MAX 64      /* of a device */
#define VGPU_LATE_SLOTS     256     /* entries whose last value is known */

typedef struct VGPUInjection VGPUInjection;

/* The value that walks read from a page-table entry: a cache's slot. */
typedef struct VGPULate {
    uint64_t key;               /* entry's address and memory, + 1; 0: empty */
    uint64_t seen;              /* value that the last walk read */
    bool pending;               /* the entry has changed, walks read @seen */
    uint32_t left;              /* so many walks more read @seen */
} VGPULate;

/* An injection. s->inject.lock; @next also changes under the BQL only. */
struct VGPUInjection {
    QTAILQ_ENTRY(VGPUInjection) next;
    uint32_t id;                /* of vgpu-inject's reply; constant */
    VgpuInjection *what;        /* arguments of vgpu-inject; constant */
    uint64_t seen;              /* occasions that the filter let through */
    uint64_t fired;             /* occasions that were taken */
    uint64_t random;            /* state of the generator */
    uint64_t threshold;         /* taken if a random 32-bit number is below */
    VGPULate *late;             /* VGPU_LATE_SLOTS of them, or NULL */
    uint32_t links;             /* mask: nodes whose link it took down */
};

typedef struct VGPUInjector {
    uint32_t armed;             /* kinds that may fire, 1 << kind; atomic */
    uint32_t links_down;        /* mask: nodes whose link is down; atomic */
    QemuMutex lock;             /* list and count; no lock is taken under it */
    QTAILQ_HEAD(, VGPUInjection) list;
    unsigned count;             /* length of the list */
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
/*
 * Take down the link to @node if an injection takes this occasion. Any thread.
 */
void vgpu_inject_link(VGPUState *s, const VGPUSite *site, unsigned node);
/* Mask of the nodes whose link is down, at our end. Any thread. */
uint32_t vgpu_inject_links_down(VGPUState *s);
/*
 * How many of @len bytes at @site (va: offset in VRAM) can be read; 0: the
 * first cannot, and that was counted. Any thread.
 */
uint64_t vgpu_inject_poison(VGPUState *s, const VGPUSite *site, uint64_t len);
/*
 * Each injection of @kind takes an occasion that its filter lets through: for
 * those that do, @effect is called. @effect: the injector's lock held.
 */
void vgpu_inject_each(VGPUState *s, VgpuInjectKind kind,
                      void (*effect)(VGPUState *s, const VgpuInjection *w,
                                     uint64_t random));
/* When an effect is due after @delay ns: QEMU_CLOCK_VIRTUAL, never 0. */
int64_t vgpu_inject_due(uint64_t delay);
/* For queries; the caller frees it. */
VgpuInjectionInfoList *vgpu_inject_infos(VGPUState *s);

/* For the other inject*.c, injector lock held. */

bool vgpu_inject_may_fire(const VGPUInjection *i);
/* Is the occasion taken? */
bool vgpu_inject_take(VGPUState *s, VGPUInjection *i, const VGPUSite *site,
                      VGPUShot *shot);
/* The list, or who may fire, has changed. */
void vgpu_inject_rearm(VGPUState *s);
/* Take @i out of the list. */
void vgpu_inject_free(VGPUState *s, VGPUInjection *i);

#endif /* HW_MISC_VGPU_KFD_INJECT_INJECT_H */
