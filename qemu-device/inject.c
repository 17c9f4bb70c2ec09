/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: making things go wrong on purpose: who takes which occasion. */
#include "qemu/osdep.h"
#include "qapi/clone-visitor.h"
#include "qapi/error.h"
#include "qapi/qapi-commands-vgpu-kfd.h"
#include "qapi/qapi-visit-vgpu-kfd.h"
#include "vgpu-kfd.h"
#include "trace.h"

#define INJECTIONS_MAX  64
#define AT_ONCE_MAX     1024u   /* for kinds that happen at once */
#define LATE_SLOTS      256     /* entries whose last value is known */

/* What a walk read last from an entry, as far as is remembered. */
typedef struct Late {
    uint64_t key;               /* its address and memory, + 1; 0: empty */
    uint64_t seen;
    bool pending;               /* it has changed, @seen is still read */
    uint32_t left;              /* for so many walks more */
} Late;

struct VGPUInjection {
    QTAILQ_ENTRY(VGPUInjection) next;
    uint32_t id;
    VgpuInjection *what;
    uint64_t seen;
    uint64_t fired;
    uint64_t random;            /* state of the generator */
    uint64_t threshold;         /* of 1 << 32: taken below it */
    Late *late;
};

QEMU_BUILD_BUG_ON(VGPU_INJECT_KIND__MAX > 32);

/* Ids are given out under the BQL, one after the other in all devices. */
static uint32_t last_id;

/* Sebastiano Vigna's splitmix64: a counter, and a hash of it. */
static uint64_t draw(uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15ull;

    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

static bool may_fire(const VGPUInjection *i)
{
    return !i->what->count || i->fired < i->what->count;
}

/* injector lock held, as for all that has an injection below. */
static void rearm(VGPUState *s)
{
    VGPUInjection *i;
    uint32_t armed = 0;

    QTAILQ_FOREACH(i, &s->inject.list, next) {
        if (may_fire(i) || i->late) {
            armed |= 1u << i->what->kind;
        }
    }
    qatomic_set(&s->inject.armed, armed);
}

static bool matches(const VgpuInjection *w, const VGPUSite *site)
{
    int hub = w->hub == VGPU_HUB_KIND_MM ? VGPU_HUB_MM : VGPU_HUB_GFX;

    return (!w->has_hub || hub == site->hub) &&
           (!w->has_vmid || w->vmid == site->vmid) &&
           (!w->has_engine || w->engine == site->engine) &&
           (!w->has_queue || w->queue == site->queue) &&
           site->va >= w->start &&
           (!w->has_length || site->va - w->start < w->length);
}

static uint64_t arg_of(const VgpuInjection *w)
{
    switch (w->kind) {
    case VGPU_INJECT_KIND_PTE_CORRUPT:
        return w->u.pte_corrupt.q_xor;
    case VGPU_INJECT_KIND_GART_CORRUPT:
        return w->u.gart_corrupt.q_xor;
    case VGPU_INJECT_KIND_PTE_LATE:
        return w->u.pte_late.has_walks ? w->u.pte_late.walks : 1;
    case VGPU_INJECT_KIND_GART_LATE:
        return w->u.gart_late.has_walks ? w->u.gart_late.walks : 1;
    case VGPU_INJECT_KIND_SDMA_SLOW:
        return w->u.sdma_slow.bytes_per_second;
    case VGPU_INJECT_KIND_SDMA_WRONG_BYTE:
        return w->u.sdma_wrong_byte.q_xor;
    case VGPU_INJECT_KIND_FAULT_DELAY:
        return w->u.fault_delay.delay_ns;
    case VGPU_INJECT_KIND_INV_EARLY_ACK:
        return w->u.inv_early_ack.delay_ns;
    default:
        return 0;
    }
}

/* Is the occasion taken? */
static bool take(VGPUState *s, VGPUInjection *i, const VGPUSite *site,
                 VGPUShot *shot)
{
    const VgpuInjection *w = i->what;
    uint64_t random = draw(&i->random);

    if (i->seen++ < w->skip || !may_fire(i) ||
        random >> 32 >= i->threshold) {
        return false;
    }
    i->fired++;
    vgpu_count(s, VGPU_CNT_INJECTIONS, 1);
    shot->arg = arg_of(w);
    shot->random = draw(&random);
    trace_vgpu_inject(s->id, VgpuInjectKind_str(w->kind), i->id, i->fired,
                      site->hub, site->vmid, site->va, site->engine,
                      site->queue, shot->random);
    if (!may_fire(i)) {
        rearm(s);
    }
    return true;
}

bool vgpu_inject_fires(VGPUState *s, VgpuInjectKind kind, const VGPUSite *site,
                       VGPUShot *shot)
{
    VGPUInjection *i;
    VGPUShot unused;

    QEMU_LOCK_GUARD(&s->inject.lock);
    QTAILQ_FOREACH(i, &s->inject.list, next) {
        if (i->what->kind == kind && matches(i->what, site) &&
            take(s, i, site, shot ?: &unused)) {
            return true;
        }
    }
    return false;
}

/* What is read instead of @entry, which may have changed. */
static uint64_t late_entry(VGPUState *s, VGPUInjection *i,
                           const VGPUSite *site, uint64_t key, uint64_t entry)
{
    uint64_t hash = key * 0x9e3779b97f4a7c15ull >> 32;
    Late *l = &i->late[hash % LATE_SLOTS];
    VGPUShot shot;

    if (l->key != key || l->seen == entry) {
        *l = (Late) { .key = key, .seen = entry };
        return entry;
    }
    if (!l->pending && take(s, i, site, &shot)) {
        l->pending = true;
        l->left = shot.arg;
    }
    if (!l->left) {
        *l = (Late) { .key = key, .seen = entry };
        return entry;
    }
    l->left--;
    return l->seen;
}

uint64_t vgpu_inject_entry(VGPUState *s, const VGPUSite *site, unsigned where,
                           uint64_t addr, uint64_t entry, bool leaf)
{
    bool gart = !site->vmid;
    VGPUInjection *i;
    VGPUShot shot;

    QEMU_LOCK_GUARD(&s->inject.lock);
    QTAILQ_FOREACH(i, &s->inject.list, next) {
        if (!matches(i->what, site)) {
            continue;
        }
        switch (i->what->kind) {
        case VGPU_INJECT_KIND_PTE_CORRUPT:
        case VGPU_INJECT_KIND_GART_CORRUPT:
            if (leaf && gart == (i->what->kind ==
                                 VGPU_INJECT_KIND_GART_CORRUPT) &&
                take(s, i, site, &shot)) {
                entry ^= shot.arg ?: 1ull << (shot.random & 63);
            }
            break;
        case VGPU_INJECT_KIND_PTE_LOST:
        case VGPU_INJECT_KIND_GART_LOST:
            if (leaf && gart == (i->what->kind == VGPU_INJECT_KIND_GART_LOST) &&
                take(s, i, site, &shot)) {
                entry = 0;
            }
            break;
        case VGPU_INJECT_KIND_PTE_LATE:
        case VGPU_INJECT_KIND_GART_LATE:
            if (gart == (i->what->kind == VGPU_INJECT_KIND_GART_LATE)) {
                entry = late_entry(s, i, site, (addr | (where & 7)) + 1,
                                   entry);
            }
            break;
        default:
            break;
        }
    }
    return entry;
}

static VGPUState *find_device(const char *name, Error **errp)
{
    bool ambiguous = false;
    Object *obj = object_resolve_path_type(name ?: "", TYPE_VGPU_KFD,
                                           &ambiguous);

    if (ambiguous) {
        error_setg(errp, "there are several vgpu-kfd devices%s%s: name one by "
                   "its id or path", name ? " that may be " : "", name ?: "");
    } else if (!obj || !DEVICE(obj)->realized) {
        error_setg(errp, "there is no vgpu-kfd device%s%s",
                   name ? " " : "", name ?: "");
    } else {
        return VGPU_KFD(obj);
    }
    return NULL;
}

/* Kinds whose occasion is the command itself. */
static bool is_immediate(const VgpuInjection *w)
{
    return w->kind == VGPU_INJECT_KIND_FAULT_SPURIOUS ||
           w->kind == VGPU_INJECT_KIND_VRAM_LOST ||
           w->kind == VGPU_INJECT_KIND_SURPRISE_REMOVAL;
}

static bool check_immediate(const VgpuInjection *w, Error **errp)
{
    if (w->has_skip || w->has_probability || w->has_engine || w->has_queue) {
        error_setg(errp, "%s happens at once: skip, probability, engine and "
                   "queue make no sense", VgpuInjectKind_str(w->kind));
        return false;
    }
    if (w->count > AT_ONCE_MAX) {
        error_setg(errp, "count must be %u at most", AT_ONCE_MAX);
        return false;
    }
    return true;
}

/* Do the members make sense together? */
static bool check(const VgpuInjection *w, Error **errp)
{
    if (w->has_probability && !(w->probability >= 0 && w->probability <= 1)) {
        error_setg(errp, "probability must be from 0 to 1");
    } else if (w->has_vmid && w->vmid >= VGPU_NUM_VMIDS) {
        error_setg(errp, "vmid must be below %u", VGPU_NUM_VMIDS);
    } else if (w->has_engine && w->engine >= SDMA_NUM_ENGINES) {
        error_setg(errp, "engine must be below %u", SDMA_NUM_ENGINES);
    } else if (w->has_queue && w->queue >= SDMA_NUM_QUEUES) {
        error_setg(errp, "queue must be below %u", SDMA_NUM_QUEUES);
    } else if (w->has_length && !w->length) {
        error_setg(errp, "length must not be 0");
    } else if (w->kind == VGPU_INJECT_KIND_SDMA_SLOW &&
               !w->u.sdma_slow.bytes_per_second) {
        error_setg(errp, "bytes-per-second must not be 0");
    } else if (w->kind == VGPU_INJECT_KIND_SDMA_WRONG_BYTE &&
               w->u.sdma_wrong_byte.has_q_xor && !w->u.sdma_wrong_byte.q_xor) {
        error_setg(errp, "xor must not be 0");
    } else {
        return !is_immediate(w) || check_immediate(w, errp);
    }
    return false;
}

static void lose(VGPUState *s, const VgpuInjection *w, uint64_t seed)
{
    vgpu_phys_scramble(s, w->start, w->has_length ? w->length : UINT64_MAX,
                       seed);
}

void vgpu_inject_reset(VGPUState *s)
{
    VGPUInjection *i;

    QEMU_LOCK_GUARD(&s->inject.lock);
    QTAILQ_FOREACH(i, &s->inject.list, next) {
        VGPUSite site = {
            .hub = VGPU_SITE_NONE, .vmid = VGPU_SITE_NONE,
            .engine = VGPU_SITE_NONE, .queue = VGPU_SITE_NONE,
            .va = i->what->start,
        };
        VGPUShot shot;

        if (i->what->kind == VGPU_INJECT_KIND_VRAM_LOST_AT_RESET &&
            matches(i->what, &site) && take(s, i, &site, &shot)) {
            lose(s, i->what, shot.random);
        }
    }
}

uint64_t vgpu_inject_poison(VGPUState *s, const VGPUSite *site, uint64_t len)
{
    VGPUSite at = *site;
    VGPUInjection *i;
    VGPUShot shot;

    QEMU_LOCK_GUARD(&s->inject.lock);
    QTAILQ_FOREACH(i, &s->inject.list, next) {
        const VgpuInjection *w = i->what;

        if (w->kind != VGPU_INJECT_KIND_VRAM_POISON || !may_fire(i)) {
            continue;
        }
        at.va = MAX(site->va, w->start);
        if (at.va - site->va >= len || !matches(w, &at)) {
            continue;
        }
        if (at.va != site->va) {
            len = at.va - site->va;
        } else if (take(s, i, site, &shot)) {
            return 0;
        }
    }
    return len;
}

/* Take an occasion that this makes. */
static void happen(VGPUState *s, VGPUInjection *i)
{
    const VgpuInjection *w = i->what;
    uint64_t pages = w->has_length ? DIV_ROUND_UP(w->length, VGPU_PAGE_SIZE)
                                   : 1;
    VGPUSite site = {
        .hub = w->has_hub && w->hub == VGPU_HUB_KIND_GFX ? VGPU_HUB_GFX
                                                         : VGPU_HUB_MM,
        .vmid = w->vmid, .engine = VGPU_SITE_NONE, .queue = VGPU_SITE_NONE,
        .va = w->start,
    };
    VGPUShot shot = { 0 };

    WITH_QEMU_LOCK_GUARD(&s->inject.lock) {
        take(s, i, &site, &shot);
    }
    switch (w->kind) {
    case VGPU_INJECT_KIND_FAULT_SPURIOUS:
        vgpu_fault_spurious(s, site.hub, site.vmid,
                            w->start + shot.random % pages * VGPU_PAGE_SIZE,
                            w->u.fault_spurious.write,
                            w->u.fault_spurious.retry);
        break;
    case VGPU_INJECT_KIND_VRAM_LOST:
        lose(s, w, shot.random);
        break;
    default:
        break;
    }
}

VgpuInjectionId *qmp_vgpu_inject(VgpuInjection *what, Error **errp)
{
    VGPUState *s = find_device(what->device, errp);
    VgpuInjectionId *id;
    VGPUInjection *i;

    if (!s || !check(what, errp)) {
        return NULL;
    }
    /* Lists change under the BQL only. */
    if (s->inject.count == INJECTIONS_MAX) {
        error_setg(errp, "the device has %u injections: remove some",
                   INJECTIONS_MAX);
        return NULL;
    }
    if (what->kind == VGPU_INJECT_KIND_SURPRISE_REMOVAL &&
        !vgpu_remove(s, errp)) {
        return NULL;
    }
    i = g_new0(VGPUInjection, 1);
    i->id = ++last_id;
    i->what = QAPI_CLONE(VgpuInjection, what);
    i->random = what->seed;
    i->threshold = (what->has_probability ? what->probability : 1) *
                   (double)(1ull << 32);
    if (what->kind == VGPU_INJECT_KIND_PTE_LATE ||
        what->kind == VGPU_INJECT_KIND_GART_LATE) {
        i->late = g_new0(Late, LATE_SLOTS);
    }
    if (is_immediate(what) && !what->count) {
        i->what->has_count = true;
        i->what->count = 1;
    }
    WITH_QEMU_LOCK_GUARD(&s->inject.lock) {
        QTAILQ_INSERT_TAIL(&s->inject.list, i, next);
        s->inject.count++;
        rearm(s);
    }
    while (is_immediate(what) && may_fire(i)) {
        happen(s, i);
    }
    id = g_new0(VgpuInjectionId, 1);
    id->id = i->id;
    return id;
}

static void injection_free(VGPUState *s, VGPUInjection *i)
{
    QTAILQ_REMOVE(&s->inject.list, i, next);
    s->inject.count--;
    qapi_free_VgpuInjection(i->what);
    g_free(i->late);
    g_free(i);
}

typedef struct Search {
    uint32_t id;
    bool found;
} Search;

static int remove_in(Object *obj, void *opaque)
{
    Search *search = opaque;
    VGPUInjection *i, *next;
    VGPUState *s;

    if (!object_dynamic_cast(obj, TYPE_VGPU_KFD) || !DEVICE(obj)->realized) {
        return 0;
    }
    s = VGPU_KFD(obj);
    QEMU_LOCK_GUARD(&s->inject.lock);
    QTAILQ_FOREACH_SAFE(i, &s->inject.list, next, next) {
        if (i->id == search->id) {
            injection_free(s, i);
            search->found = true;
        }
    }
    rearm(s);
    return search->found;
}

void qmp_vgpu_inject_remove(uint32_t id, Error **errp)
{
    Search search = { .id = id };

    object_child_foreach_recursive(object_get_root(), remove_in, &search);
    if (!search.found) {
        error_setg(errp, "there is no injection %u", id);
    }
}

VgpuInjectionInfoList *vgpu_inject_infos(VGPUState *s)
{
    VgpuInjectionInfoList *list = NULL, **tail = &list;
    VGPUInjection *i;

    QEMU_LOCK_GUARD(&s->inject.lock);
    QTAILQ_FOREACH(i, &s->inject.list, next) {
        VgpuInjectionInfo *info = g_new0(VgpuInjectionInfo, 1);

        info->id = i->id;
        info->injection = QAPI_CLONE(VgpuInjection, i->what);
        info->seen = i->seen;
        info->fired = i->fired;
        info->active = may_fire(i);
        QAPI_LIST_APPEND(tail, info);
    }
    return list;
}

void vgpu_inject_init(VGPUState *s)
{
    qemu_mutex_init(&s->inject.lock);
    QTAILQ_INIT(&s->inject.list);
    vgpu_inject_defer_init(s);
}

void vgpu_inject_destroy(VGPUState *s)
{
    VGPUInjection *i, *next;

    vgpu_inject_defer_destroy(s);
    QTAILQ_FOREACH_SAFE(i, &s->inject.list, next, next) {
        injection_free(s, i);
    }
    qemu_mutex_destroy(&s->inject.lock);
}
