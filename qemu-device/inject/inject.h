/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: fault injection.
 *
 * The effects of the kinds of injection are implemented in:
 *
 * - pte-corrupt, pte-lost, pte-late, gart-corrupt, gart-lost, gart-late:
 *   vgpu_inject_pte(), called by memory/page-walk.c
 * - inv-no-ack, inv-early-ack: memory/invalidate-inject.c
 * - vram-lost, vram-lost-at-reset: memory/vram.c
 * - vram-poison: vgpu_inject_vram_poison(), called by queue/dma.c
 * - xgmi-down: memory/xgmi.c
 * - fault-drop, fault-duplicate, fault-delay: ih/fault-inject.c
 * - fault-spurious: ih/fault.c
 * - ih-overflow: ih/ring.c
 * - sdma-hang, sdma-slow, sdma-wrong-byte: sdma/packet-inject.c
 * - doorbell-lost: vgpu_inject_doorbell_lost(), called by sdma/regs.c,
 *   cp/regs.c and pci/doorbell.c
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
 * An occasion is an event at which an injection may take effect. A VGPUSite
 * describes an occasion by hub, VMID, queue and address. vgpu_inject_fires()
 * compares this description with the filters of injections. @hub, @vmid,
 * @engine and @queue may be VGPU_SITE_NONE.
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
 * The filter of an injection. An occasion matches if its site matches all
 * members. Members @hub, @vmid, @engine, @queue, @me and @pipe can be
 * VGPU_SITE_ANY.
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
     * Initial value of VGPUInjection.random. Each occasion that matches @filter
     * draws one number: the same seed and occasions give the same choices.
     */
    uint64_t seed;
    uint64_t skip;              /* number of matching occasions to skip first */
    /*
     * Maximum number of occasions at which the injection takes effect; 0 means
     * no limit.
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
 * vgpu_inject_fires: check whether an injection takes effect at an event
 * @s: device
 * @kind: kind of injection
 * @site: event, such as a memory access, a packet or a doorbell write
 * @hit: filled in if an injection takes effect; may be NULL
 *
 * Context: any thread, with any locks except the injector's.
 * Return: true if an injection takes effect. The caller then executes the
 * effect.
 */
bool vgpu_inject_fires(VGPUState *s, VgpuInjectKind kind, const VGPUSite *site,
                       VGPUInjectHit *hit);

/**
 * vgpu_inject_doorbell_lost: check whether a doorbell write is to be lost
 * @s: device
 * @site: site that describes the queue; site.va is the byte offset of the
 *        doorbell; site.hub is ignored
 *
 * Context: any thread.
 * Return: true if an injection of kind doorbell-lost takes effect. The caller
 * then drops the write.
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
 * @site: client, VMID and GPU address of the walk
 * @where: VGPUTargetKind of @addr
 * @addr: address of the entry, a multiple of 8
 * @entry: value of the entry in memory
 * @leaf: true if @entry ends the walk
 *
 * Context: any thread.
 * Return: value that the walk uses instead of @entry.
 */
uint64_t vgpu_inject_pte(VGPUState *s, const VGPUSite *site, unsigned where,
                         uint64_t addr, uint64_t entry, bool leaf);

/**
 * vgpu_inject_xgmi_down: apply kind xgmi-down to an access to a node's VRAM
 * @s: device
 * @site: access; va is an address in the hive
 * @node: node whose VRAM is accessed, below VGPU_XGMI_NODES
 *
 * If an injection takes effect, the link to @node is down until the injection
 * is removed.
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
 * @site: access; va is the offset of the first byte in VRAM
 * @len: bytes, at least 1
 *
 * Context: any thread.
 * Return: 0 if the first byte is poisoned. Otherwise the number of bytes before
 * the next byte that may be poisoned, at most @len. If the number is below
 * @len, call again with a site for that byte.
 */
uint64_t vgpu_inject_vram_poison(VGPUState *s, const VGPUSite *site,
                                 uint64_t len);

/**
 * vgpu_inject_each: apply all injections of a kind to an event that concerns
 * the whole device, such as a reset
 * @s: device
 * @kind: kind of injection
 * @effect: called, with the injector's lock held, for each injection unless its
 *          arguments skip, count and threshold exclude this event. @f is the
 *          injection's filter. @random is a random number for random data
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
 * vgpu_inject_now: let an injection take effect during the command vgpu-inject
 * @s: device
 * @i: injection of an immediate kind (vgpu_inject_is_immediate()), with
 *     probability 1 and skip 0
 * @site: site for the trace; not compared with the filter
 * @hit: filled in if the injection took effect
 *
 * Return: true if the injection took effect; false if the injection has taken
 * effect args.count times already.
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
