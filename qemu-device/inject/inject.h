/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: fault injection. Files that execute the effects of each kind:
 *
 * - pte-*, gart-*: memory/page-walk.c
 * - inv-*: memory/invalidate-inject.c
 * - vram-lost, vram-lost-at-reset: memory/vram.c
 * - vram-poison: queue/dma.c
 * - xgmi-down: memory/xgmi.c
 * - fault-spurious: ih/fault.c; other fault-*: ih/fault-inject.c
 * - ih-overflow: ih/ring.c
 * - sdma-*: sdma/packet-inject.c
 * - doorbell-lost: sdma/regs.c, cp/regs.c, pci/doorbell.c
 * - surprise-removal: pci/surprise-removal.c
 */
#ifndef HW_MISC_VGPU_KFD_INJECT_INJECT_H
#define HW_MISC_VGPU_KFD_INJECT_INJECT_H

#include "qapi/qapi-types-vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/core/vgpu-kfd.h"

/* Value of a VGPUSite member that does not apply to the site. */
#define VGPU_SITE_NONE  (-1)
/* Wildcard: a VGPUFilter member with this value matches every site. */
#define VGPU_SITE_ANY   (-2)

/*
 * Describes an event at which an injection may take effect. Members @hub,
 * @vmid, @engine and @queue may be VGPU_SITE_NONE.
 */
typedef struct VGPUSite {
    int hub;                    /* VGPU_HUB_* */
    int vmid;
    int engine;                 /* number of an SDMA engine */
    /* Number of the queue in @engine, or in @pipe of @me. */
    int queue;
    /* MEC of the compute queue, 1 or 2; 0 if the site has no compute queue. */
    unsigned me;
    unsigned pipe;              /* pipe of the compute queue in MEC @me */
    /*
     * GPU address. For some kinds of injection: another number, such as the
     * offset in VRAM for kind vram-poison.
     */
    uint64_t va;
} VGPUSite;

/*
 * The filter of an injection. The injection may take effect at an event if the
 * VGPUSite of the event matches all members. Members @hub, @vmid, @engine,
 * @queue, @me and @pipe can be VGPU_SITE_ANY.
 */
typedef struct VGPUFilter {
    int hub;
    int vmid;
    int engine;
    /*
     * If both @me and @pipe are VGPU_SITE_ANY: number of a queue in an SDMA
     * engine. If @me or @pipe is a number: number of a compute queue in a pipe.
     */
    int queue;
    int me;
    int pipe;
    uint64_t first;             /* lowest VGPUSite.va that matches */
    uint64_t last;              /* highest VGPUSite.va that matches */
} VGPUFilter;

#define VGPU_FILTER_ALL {                                               \
    .hub = VGPU_SITE_ANY, .vmid = VGPU_SITE_ANY,                        \
    .engine = VGPU_SITE_ANY, .queue = VGPU_SITE_ANY,                    \
    .me = VGPU_SITE_ANY, .pipe = VGPU_SITE_ANY, .last = UINT64_MAX,     \
}

/* Checked arguments of an injection. */
typedef struct VGPUInjectArgs {
    VgpuInjectKind kind;
    VGPUFilter filter;
    uint64_t arg;               /* parameter of @kind, 0 if none */
    /*
     * Seed of the random numbers. Each event that matches @filter draws one
     * number, which decides whether the injection takes effect. The same seed
     * and events give the same decisions.
     */
    uint64_t seed;
    uint64_t skip;              /* number of matching events to skip first */
    /*
     * Maximum number of events at which the injection takes effect; 0 means no
     * limit.
     */
    uint64_t count;
    /*
     * The injection takes effect if a random 32-bit number is below @threshold.
     */
    uint64_t threshold;
} VGPUInjectArgs;

/*
 * Kinds that vgpu_inject_pte() handles: pte-* apply in VMIDs 1 to 15, and
 * gart-* in VMID 0.
 */
#define VGPU_INJECT_PTES \
    (1u << VGPU_INJECT_KIND_PTE_CORRUPT | 1u << VGPU_INJECT_KIND_PTE_LOST | \
     1u << VGPU_INJECT_KIND_PTE_LATE | 1u << VGPU_INJECT_KIND_GART_CORRUPT | \
     1u << VGPU_INJECT_KIND_GART_LOST | 1u << VGPU_INJECT_KIND_GART_LATE)

/* Parameters of the effect, filled in when an injection takes effect. */
typedef struct VGPUInjectHit {
    uint64_t arg;               /* parameter of the kind, 0 if none */
    uint64_t random;            /* random number, new for each effect */
} VGPUInjectHit;

/* Maximum number of injections that a device can have at one time. */
#define VGPU_INJECTIONS_MAX     64

typedef struct VGPUInjection VGPUInjection;

/**
 * vgpu_inject_alloc: allocate s->inject, at instance_init
 * @s: device
 */
void vgpu_inject_alloc(VGPUState *s);

/**
 * vgpu_inject_free: free s->inject, at instance_finalize
 * @s: device
 */
void vgpu_inject_free(VGPUState *s);

/**
 * vgpu_inject_init: initialise the injector, with no injections
 * @s: device
 *
 * Context: BQL held, before the first call of a function below.
 */
void vgpu_inject_init(VGPUState *s);

/**
 * vgpu_inject_destroy: remove all injections and destroy the lock
 * @s: device
 *
 * Context: BQL held. No other thread uses the injector any more.
 */
void vgpu_inject_destroy(VGPUState *s);

/**
 * vgpu_inject_armed: check whether injections of some kinds may fire
 * @s: device
 * @kinds: mask of kinds, 1 << VgpuInjectKind
 *
 * Call this function, which is fast, before vgpu_inject_fires().
 *
 * Context: any thread.
 * Return: true if vgpu_inject_fires() may return true for one of @kinds.
 */
static inline bool vgpu_inject_armed(VGPUState *s, uint32_t kinds)
{
    return unlikely(qatomic_read(&s->inject_armed) & kinds);
}

/**
 * vgpu_inject_fires: check whether an injection takes effect
 * @s: device
 * @kind: kind of injection
 * @site: event, such as a doorbell write
 * @hit: filled in on true; may be NULL
 *
 * Context: any thread, with any locks except the injector's.
 * Return: true if the caller is to execute the effect.
 */
bool vgpu_inject_fires(VGPUState *s, VgpuInjectKind kind, const VGPUSite *site,
                       VGPUInjectHit *hit);

/**
 * vgpu_inject_doorbell_lost: check whether to drop a doorbell write
 * @s: device
 * @site: queue; va is the doorbell's byte offset
 *
 * Context: any thread.
 * Return: true if the caller is to drop the write.
 */
static inline bool vgpu_inject_doorbell_lost(VGPUState *s, VGPUSite site)
{
    site.hub = VGPU_SITE_NONE;
    return vgpu_inject_armed(s, 1u << VGPU_INJECT_KIND_DOORBELL_LOST) &&
           vgpu_inject_fires(s, VGPU_INJECT_KIND_DOORBELL_LOST, &site, NULL);
}

/**
 * vgpu_inject_pte: apply injections to the read of a page-table entry
 * @s: device
 * @site: site of the walk
 * @where: VGPUTargetKind of @addr
 * @addr: address of the entry, a multiple of 8
 * @entry: value in memory
 * @leaf: @entry ends the walk
 *
 * Context: any thread.
 * Return: value for the walk.
 */
uint64_t vgpu_inject_pte(VGPUState *s, const VGPUSite *site, unsigned where,
                         uint64_t addr, uint64_t entry, bool leaf);

/**
 * vgpu_inject_xgmi_down: apply kind xgmi-down to an access to a node's VRAM
 * @s: device
 * @site: access; va is an address in the hive
 * @node: node with the VRAM, below VGPU_XGMI_NODES
 *
 * The link to @node then stays down until the injection is removed.
 *
 * Context: any thread.
 */
void vgpu_inject_xgmi_down(VGPUState *s, const VGPUSite *site, unsigned node);

/**
 * vgpu_inject_links_down: read which links are down because of injections
 * @s: device that has the injections
 *
 * Context: any thread.
 * Return: mask of the nodes at the other end of these links.
 */
uint32_t vgpu_inject_links_down(VGPUState *s);

/**
 * vgpu_inject_vram_poison: apply kind vram-poison to a read of VRAM
 * @s: device
 * @site: access; va is the first byte's offset in VRAM
 * @len: bytes, at least 1
 *
 * Context: any thread.
 * Return: 0 if the first byte is poisoned, else the number of good bytes at the
 * start of the access. If this number is below @len, the bytes behind the good
 * bytes have not been checked: call again for these bytes.
 */
uint64_t vgpu_inject_vram_poison(VGPUState *s, const VGPUSite *site,
                                 uint64_t len);

/**
 * vgpu_inject_each: apply all injections of a kind to an event of the device,
 * such as a reset
 * @s: device
 * @kind: kind of injection
 * @effect: called for each that takes effect, under the injector's lock
 *
 * Context: any thread, with any locks except the injector's.
 */
void vgpu_inject_each(VGPUState *s, VgpuInjectKind kind,
                      void (*effect)(VGPUState *s, const VGPUFilter *f,
                                     uint64_t random));

/**
 * vgpu_inject_due: compute when a delayed effect is due
 * @delay: ns from now
 *
 * Context: any thread.
 * Return: time in ns, QEMU_CLOCK_VIRTUAL; never 0.
 */
int64_t vgpu_inject_due(uint64_t delay);

/* The functions below serve monitor commands. The caller holds the BQL. */

/**
 * vgpu_inject_full: check the limit of injections
 * @s: device
 *
 * Return: true if the device has VGPU_INJECTIONS_MAX injections.
 */
bool vgpu_inject_full(VGPUState *s);

/**
 * vgpu_inject_add: add an injection
 * @s: device, with fewer than VGPU_INJECTIONS_MAX injections
 * @args: arguments as vgpu_inject_parse() returns them; copied
 * @what: the same arguments as the monitor command has passed them; copied for
 *        vgpu_inject_infos()
 *
 * Return: injection; owned by the injector.
 */
VGPUInjection *vgpu_inject_add(VGPUState *s, const VGPUInjectArgs *args,
                               const VgpuInjection *what);

/**
 * vgpu_inject_id: read the id of an injection
 * @i: injection
 *
 * Return: id as in the reply of vgpu-inject; unique among all devices.
 */
uint32_t vgpu_inject_id(const VGPUInjection *i);

/**
 * vgpu_inject_now: let an injection of command vgpu-inject take effect at once
 * @s: device
 * @i: injection of an immediate kind, with probability 1 and i->args.skip 0
 * @site: site for the trace
 * @hit: filled in on true
 *
 * Return: true; false if @i has already taken effect i->args.count times.
 */
bool vgpu_inject_now(VGPUState *s, VGPUInjection *i, const VGPUSite *site,
                     VGPUInjectHit *hit);

/**
 * vgpu_inject_remove: remove and free an injection
 * @s: device
 * @id: id of the injection, as vgpu_inject_id() returns it
 *
 * Return: true if the injection was removed; false if the device has no such
 * injection.
 */
bool vgpu_inject_remove(VGPUState *s, uint32_t id);

/**
 * vgpu_inject_infos: describe all injections
 * @s: device
 *
 * Return: list, which the caller frees.
 */
VgpuInjectionInfoList *vgpu_inject_infos(VGPUState *s);

#endif /* HW_MISC_VGPU_KFD_INJECT_INJECT_H */
