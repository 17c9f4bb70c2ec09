/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: fault injection. An occasion is an event at which an injection may
 * take effect: see inject.h. The functions keep the device's injections, and
 * decide which injections take effect at an occasion.
 */
#include "qemu/osdep.h"
#include "qemu/queue.h"
#include "qemu/thread.h"
#include "qemu/timer.h"
#include "qapi/clone-visitor.h"
#include "qapi/qapi-visit-vgpu-kfd.h"
#include "vgpu/device_info.h"
#include "vgpu/gmc.h"
#include "hw/misc/vgpu-kfd/core/counters.h"
#include "hw/misc/vgpu-kfd/core/trace.h"
#include "hw/misc/vgpu-kfd/core/vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/inject/inject.h"

#define LATE_PTE_SLOTS  256     /* number of slots in VGPUInjection.late */

QEMU_BUILD_BUG_ON(VGPU_INJECT_KIND__MAX > 32);

/*
 * A slot of VGPUInjection.late, for one page-table entry. While the injection
 * delays a change of the entry, walks read the slot's old value.
 */
typedef struct VGPULatePte {
    /*
     * (Address of the page-table entry | VGPUTargetKind of its memory) + 1; 0
     * if the slot is empty.
     */
    uint64_t key;
    uint64_t seen;              /* value that the last walk has read */
    /* The page-table entry changed, but walks still read @seen. */
    bool pending;
    uint32_t left;              /* number of further walks that read @seen */
} VGPULatePte;

/*
 * An injection. Guarded by s->inject->lock. To change @next, a thread holds the
 * BQL as well.
 */
struct VGPUInjection {
    QTAILQ_ENTRY(VGPUInjection) next;
    uint32_t id;                /* id in the reply of vgpu-inject; constant */
    VgpuInjection *what;        /* arguments of the command; constant */
    VGPUInjectArgs args;        /* checked and converted @what; constant */
    /* Number of occasions that matched the filter. */
    uint64_t seen;
    /* Number of occasions at which the injection took effect. */
    uint64_t fired;
    uint64_t random;            /* state of the random number generator */
    /* LATE_PTE_SLOTS slots for kinds pte-late and gart-late, else NULL. */
    VGPULatePte *late;
    /* Mask of nodes to which this injection took the link down. */
    uint32_t links;
};

struct VGPUInjector {
    /* Mask of nodes to which the link is down. Accessed atomically. */
    uint32_t links_down;
    QemuMutex lock;             /* guards @list and @count; innermost lock */
    QTAILQ_HEAD(, VGPUInjection) list;
    unsigned count;             /* at most VGPU_INJECTIONS_MAX */
};

/*
 * Id of the injection that was added last to any device. Guarded by the BQL.
 */
static uint32_t last_id;

/*
 * Return the next number of Sebastiano Vigna's splitmix64, which hashes a
 * counter.
 */
static uint64_t inject_random(uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15ull;

    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

static bool inject_is_active(const VGPUInjection *i)
{
    return !i->args.count || i->fired < i->args.count;
}

/*
 * s->inject->lock guards the injections of the list. The static functions that
 * access injections expect that the caller holds this lock. Exception:
 * vgpu_inject_destroy() calls inject_remove_one() without the lock.
 */

/* Update the masks of kinds that may fire and of links that are down. */
static void inject_rearm(VGPUState *s)
{
    VGPUInjection *i;
    uint32_t armed = 0, down = 0;

    QTAILQ_FOREACH(i, &s->inject->list, next) {
        down |= i->links;
        if (inject_is_active(i) || i->late) {
            armed |= 1u << i->args.kind;
        }
    }
    qatomic_set(&s->inject_armed, armed);
    if (s->inject->links_down != down) {
        qatomic_set(&s->inject->links_down, down);
        trace_vgpu_xgmi_down(s->id, down);
    }
}

static bool filter_fits(int wanted, int have)
{
    return wanted == VGPU_SITE_ANY || wanted == have;
}

static bool inject_matches(const VGPUInjection *i, const VGPUSite *site)
{
    const VGPUFilter *f = &i->args.filter;
    bool compute = f->me != VGPU_SITE_ANY || f->pipe != VGPU_SITE_ANY;

    return filter_fits(f->hub, site->hub) &&
           filter_fits(f->vmid, site->vmid) &&
           filter_fits(f->engine, site->engine) &&
           filter_fits(f->me, site->me) &&
           filter_fits(f->pipe, site->me ? (int)site->pipe : VGPU_SITE_NONE) &&
           /*
            * If the filter gives neither me nor pipe (!compute), a number in
            * f->queue means an SDMA queue. A compute queue (site->me is not 0)
            * must not match this number. VGPU_SITE_NONE matches no number.
            */
           filter_fits(f->queue, site->me && !compute ? VGPU_SITE_NONE
                                                      : site->queue) &&
           site->va >= f->first && site->va <= f->last;
}

/*
 * Return the name of the queue or engine of @site for the trace. The name is
 * formatted in @buf unless it is constant.
 */
static const char *site_name(const VGPUSite *site, char *buf, size_t size)
{
    if (site->me) {
        snprintf(buf, size, "mec%u.%u.%d", site->me, site->pipe, site->queue);
    } else if (site->engine == VGPU_SITE_NONE) {
        return "-";
    } else if (site->queue == VGPU_SITE_NONE) {
        snprintf(buf, size, "sdma%d", site->engine);
    } else {
        snprintf(buf, size, "sdma%d.%d", site->engine, site->queue);
    }
    return buf;
}

/*
 * Decide by skip, count and a random number whether @i takes effect. If so,
 * fill in *@hit and return true. @site is only for the trace.
 */
static bool inject_take(VGPUState *s, VGPUInjection *i, const VGPUSite *site,
                        VGPUInjectHit *hit)
{
    uint64_t random = inject_random(&i->random);
    char buf[32];

    if (i->seen++ < i->args.skip || !inject_is_active(i) ||
        random >> 32 >= i->args.threshold) {
        return false;
    }
    i->fired++;
    vgpu_count(s, VGPU_CNT_INJECTIONS, 1);
    hit->arg = i->args.arg;
    hit->random = inject_random(&random);
    trace_vgpu_inject(s->id, VgpuInjectKind_str(i->args.kind), i->id, i->fired,
                      site->hub, site->vmid, site->va,
                      site_name(site, buf, sizeof(buf)), hit->random);
    if (!inject_is_active(i)) {
        inject_rearm(s);
    }
    return true;
}

uint32_t vgpu_inject_links_down(VGPUState *s)
{
    return qatomic_read(&s->inject->links_down);
}

bool vgpu_inject_fires(VGPUState *s, VgpuInjectKind kind, const VGPUSite *site,
                       VGPUInjectHit *hit)
{
    VGPUInjection *i;
    VGPUInjectHit unused;

    QEMU_LOCK_GUARD(&s->inject->lock);
    QTAILQ_FOREACH(i, &s->inject->list, next) {
        if (i->args.kind == kind && inject_matches(i, site) &&
            inject_take(s, i, site, hit ?: &unused)) {
            return true;
        }
    }
    return false;
}

void vgpu_inject_xgmi_down(VGPUState *s, const VGPUSite *site, unsigned node)
{
    VGPUInjection *i;
    VGPUInjectHit hit;

    QEMU_LOCK_GUARD(&s->inject->lock);
    QTAILQ_FOREACH(i, &s->inject->list, next) {
        if (i->args.kind == VGPU_INJECT_KIND_XGMI_DOWN &&
            !(i->links & (1u << node)) && inject_matches(i, site) &&
            inject_take(s, i, site, &hit)) {
            i->links |= 1u << node;
            inject_rearm(s);
            break;
        }
    }
}

/*
 * Return the value that a walk reads: either @entry, which is the value in
 * memory, or the older value that the last walk has read from this page-table
 * entry.
 */
static uint64_t inject_late_pte(VGPUState *s, VGPUInjection *i,
                                const VGPUSite *site, uint64_t key,
                                uint64_t entry)
{
    uint64_t hash = key * 0x9e3779b97f4a7c15ull >> 32;
    VGPULatePte *l = &i->late[hash % LATE_PTE_SLOTS];
    VGPUInjectHit hit;

    if (l->key != key || l->seen == entry) {
        *l = (VGPULatePte) { .key = key, .seen = entry };
        return entry;
    }
    if (!l->pending && inject_take(s, i, site, &hit)) {
        l->pending = true;
        l->left = hit.arg;
    }
    if (!l->left) {
        *l = (VGPULatePte) { .key = key, .seen = entry };
        return entry;
    }
    l->left--;
    return l->seen;
}

uint64_t vgpu_inject_pte(VGPUState *s, const VGPUSite *site, unsigned where,
                         uint64_t addr, uint64_t entry, bool leaf)
{
    bool gart = !site->vmid;
    VGPUInjection *i;
    VGPUInjectHit hit;

    QEMU_LOCK_GUARD(&s->inject->lock);
    QTAILQ_FOREACH(i, &s->inject->list, next) {
        if (!inject_matches(i, site)) {
            continue;
        }
        switch (i->args.kind) {
        case VGPU_INJECT_KIND_PTE_CORRUPT:
        case VGPU_INJECT_KIND_GART_CORRUPT:
            if (leaf && gart == (i->args.kind ==
                                 VGPU_INJECT_KIND_GART_CORRUPT) &&
                inject_take(s, i, site, &hit)) {
                entry ^= hit.arg ?: 1ull << (hit.random & 63);
            }
            break;
        case VGPU_INJECT_KIND_PTE_LOST:
        case VGPU_INJECT_KIND_GART_LOST:
            if (leaf && gart == (i->args.kind == VGPU_INJECT_KIND_GART_LOST) &&
                inject_take(s, i, site, &hit)) {
                entry = 0;
            }
            break;
        case VGPU_INJECT_KIND_PTE_LATE:
        case VGPU_INJECT_KIND_GART_LATE:
            if (gart == (i->args.kind == VGPU_INJECT_KIND_GART_LATE)) {
                entry = inject_late_pte(s, i, site, (addr | (where & 7)) + 1,
                                        entry);
            }
            break;
        default:
            break;
        }
    }
    return entry;
}

void vgpu_inject_each(VGPUState *s, VgpuInjectKind kind,
                      void (*effect)(VGPUState *s, const VGPUFilter *f,
                                     uint64_t random))
{
    VGPUInjection *i;

    QEMU_LOCK_GUARD(&s->inject->lock);
    QTAILQ_FOREACH(i, &s->inject->list, next) {
        VGPUSite site = {
            .hub = VGPU_SITE_NONE, .vmid = VGPU_SITE_NONE,
            .engine = VGPU_SITE_NONE, .queue = VGPU_SITE_NONE,
            .va = i->args.filter.first,
        };
        VGPUInjectHit hit;

        if (i->args.kind == kind && inject_matches(i, &site) &&
            inject_take(s, i, &site, &hit)) {
            effect(s, &i->args.filter, hit.random);
        }
    }
}

int64_t vgpu_inject_due(uint64_t delay)
{
    int64_t now = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);

    return MAX(now + (int64_t)MIN(delay, INT64_MAX / 2), 1);
}

uint64_t vgpu_inject_vram_poison(VGPUState *s, const VGPUSite *site,
                                 uint64_t len)
{
    VGPUSite at = *site;
    VGPUInjection *i;
    VGPUInjectHit hit;

    QEMU_LOCK_GUARD(&s->inject->lock);
    QTAILQ_FOREACH(i, &s->inject->list, next) {
        if (i->args.kind != VGPU_INJECT_KIND_VRAM_POISON ||
            !inject_is_active(i)) {
            continue;
        }
        at.va = MAX(site->va, i->args.filter.first);
        if (at.va - site->va >= len || !inject_matches(i, &at)) {
            continue;
        }
        if (at.va != site->va) {
            len = at.va - site->va;
        } else if (inject_take(s, i, site, &hit)) {
            return 0;
        }
    }
    return len;
}

bool vgpu_inject_full(VGPUState *s)
{
    return s->inject->count == VGPU_INJECTIONS_MAX;
}

VGPUInjection *vgpu_inject_add(VGPUState *s, const VGPUInjectArgs *args,
                               const VgpuInjection *what)
{
    VGPUInjection *i = g_new0(VGPUInjection, 1);

    i->id = ++last_id;
    i->args = *args;
    i->what = QAPI_CLONE(VgpuInjection, what);
    if (args->count) {
        i->what->has_count = true;
        i->what->count = args->count;
    }
    i->random = args->seed;
    if (args->kind == VGPU_INJECT_KIND_PTE_LATE ||
        args->kind == VGPU_INJECT_KIND_GART_LATE) {
        i->late = g_new0(VGPULatePte, LATE_PTE_SLOTS);
    }
    WITH_QEMU_LOCK_GUARD(&s->inject->lock) {
        QTAILQ_INSERT_TAIL(&s->inject->list, i, next);
        s->inject->count++;
        inject_rearm(s);
    }
    return i;
}

uint32_t vgpu_inject_id(const VGPUInjection *i)
{
    return i->id;
}

bool vgpu_inject_now(VGPUState *s, VGPUInjection *i, const VGPUSite *site,
                     VGPUInjectHit *hit)
{
    QEMU_LOCK_GUARD(&s->inject->lock);
    if (!inject_is_active(i)) {
        return false;
    }
    inject_take(s, i, site, hit);
    return true;
}

static void inject_remove_one(VGPUState *s, VGPUInjection *i)
{
    QTAILQ_REMOVE(&s->inject->list, i, next);
    s->inject->count--;
    qapi_free_VgpuInjection(i->what);
    g_free(i->late);
    g_free(i);
}

bool vgpu_inject_remove(VGPUState *s, uint32_t id)
{
    VGPUInjection *i, *next;
    bool found = false;

    QEMU_LOCK_GUARD(&s->inject->lock);
    QTAILQ_FOREACH_SAFE(i, &s->inject->list, next, next) {
        if (i->id == id) {
            inject_remove_one(s, i);
            found = true;
        }
    }
    inject_rearm(s);
    return found;
}

VgpuInjectionInfoList *vgpu_inject_infos(VGPUState *s)
{
    VgpuInjectionInfoList *list = NULL, **tail = &list;
    VGPUInjection *i;

    QEMU_LOCK_GUARD(&s->inject->lock);
    QTAILQ_FOREACH(i, &s->inject->list, next) {
        VgpuInjectionInfo *info = g_new0(VgpuInjectionInfo, 1);

        info->id = i->id;
        info->injection = QAPI_CLONE(VgpuInjection, i->what);
        info->seen = i->seen;
        info->fired = i->fired;
        info->active = inject_is_active(i);
        QAPI_LIST_APPEND(tail, info);
    }
    return list;
}

void vgpu_inject_alloc(VGPUState *s)
{
    s->inject = g_new0(VGPUInjector, 1);
}

void vgpu_inject_free(VGPUState *s)
{
    g_free(s->inject);
}

void vgpu_inject_init(VGPUState *s)
{
    qemu_mutex_init(&s->inject->lock);
    QTAILQ_INIT(&s->inject->list);
}

void vgpu_inject_destroy(VGPUState *s)
{
    VGPUInjection *i, *next;

    QTAILQ_FOREACH_SAFE(i, &s->inject->list, next, next) {
        inject_remove_one(s, i);
    }
    qemu_mutex_destroy(&s->inject->lock);
}
