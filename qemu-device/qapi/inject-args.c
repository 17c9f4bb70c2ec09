/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: arguments of vgpu-inject. Each kind has members of its own; here
 * they become the filter that inject/ compares occasions with, and the kind's
 * parameter. Entry: vgpu_inject_parse().
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "vgpu/cp.h"
#include "vgpu/gmc.h"
#include "vgpu/sdma.h"
#include "hw/misc/vgpu-kfd/core/vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/memory/xgmi.h"
#include "hw/misc/vgpu-kfd/qapi/inject-args.h"

#define AT_ONCE_MAX     1024u   /* occasions of a kind that happens at once */

/* Addresses that members of a kind name. */
typedef struct Where {
    const char *name;           /* of the members that start stands for */
    bool has;                   /* any of them is there */
    uint64_t first;
    bool has_length;
    uint64_t length;
} Where;

#define WHERE(_name, _branch, _member) (Where) {                        \
    .name = (_name),                                                    \
    .has = (_branch)->has_##_member, .first = (_branch)->_member,       \
    .has_length = (_branch)->has_length, .length = (_branch)->length,   \
}

bool vgpu_inject_is_immediate(VgpuInjectKind kind)
{
    return kind == VGPU_INJECT_KIND_FAULT_SPURIOUS ||
           kind == VGPU_INJECT_KIND_VRAM_LOST ||
           kind == VGPU_INJECT_KIND_SURPRISE_REMOVAL;
}

/* A number of a filter, or what is not compared. */
static int number(bool has, unsigned value)
{
    return has ? (int)value : VGPU_SITE_ANY;
}

static int hub_number(bool has, VgpuHubKind kind)
{
    return number(has, kind == VGPU_HUB_KIND_MM ? VGPU_HUB_MM : VGPU_HUB_GFX);
}

static void set_queue(VGPUFilter *f, const VgpuInjectQueue *q)
{
    f->vmid = number(q->has_vmid, q->vmid);
    f->engine = number(q->has_engine, q->engine);
    f->me = number(q->has_me, q->me);
    f->pipe = number(q->has_pipe, q->pipe);
    f->queue = number(q->has_queue, q->queue);
}

static void set_access(VGPUFilter *f, const VgpuInjectAccess *a)
{
    set_queue(f, qapi_VgpuInjectAccess_base(a));
    f->hub = hub_number(a->has_hub, a->hub);
}

static void set_sdma(VGPUFilter *f, const VgpuInjectSdma *sdma)
{
    f->vmid = number(sdma->has_vmid, sdma->vmid);
    f->engine = number(sdma->has_engine, sdma->engine);
    f->queue = number(sdma->has_queue, sdma->queue);
}

/* From @where on, or from the address that start, its old name, says. */
static bool set_range(VGPUFilter *f, const VgpuInjection *w, Where where,
                      Error **errp)
{
    if (w->has_start && where.has) {
        error_setg(errp, "start is an old name of %s: give one of them",
                   where.name);
        return false;
    }
    if (where.has_length && !where.length) {
        error_setg(errp, "length must not be 0");
        return false;
    }
    f->first = w->has_start ? w->start : where.first;
    if (where.has_length && where.length - 1 < UINT64_MAX - f->first) {
        f->last = f->first + where.length - 1;
    }
    return true;
}

static bool set_walk(VGPUFilter *f, const VgpuInjection *w,
                     const VgpuInjectWalk *walk, Error **errp)
{
    set_access(f, qapi_VgpuInjectWalk_base(walk));
    return set_range(f, w, WHERE("va", walk, va), errp);
}

static bool set_corrupt(VGPUInjectArgs *a, const VgpuInjection *w,
                        const VgpuInjectCorrupt *c, Error **errp)
{
    a->arg = c->q_xor;
    return set_walk(&a->filter, w, qapi_VgpuInjectCorrupt_base(c), errp);
}

static bool set_late(VGPUInjectArgs *a, const VgpuInjection *w,
                     const VgpuInjectLate *l, Error **errp)
{
    a->arg = l->has_walks ? l->walks : 1;
    return set_walk(&a->filter, w, qapi_VgpuInjectLate_base(l), errp);
}

static bool set_hang(VGPUFilter *f, const VgpuInjection *w,
                     const VgpuInjectHang *h, Error **errp)
{
    set_sdma(f, qapi_VgpuInjectHang_base(h));
    return set_range(f, w, WHERE("packet-va", h, packet_va), errp);
}

static bool set_copy(VGPUFilter *f, const VgpuInjection *w,
                     const VgpuInjectCopy *c, Error **errp)
{
    set_sdma(f, qapi_VgpuInjectCopy_base(c));
    return set_range(f, w, WHERE("dst-va", c, dst_va), errp);
}

static bool set_slow(VGPUInjectArgs *a, const VgpuInjection *w,
                     const VgpuInjectSlow *s, Error **errp)
{
    if (!s->bytes_per_second) {
        error_setg(errp, "bytes-per-second must not be 0");
        return false;
    }
    a->arg = s->bytes_per_second;
    return set_copy(&a->filter, w, qapi_VgpuInjectSlow_base(s), errp);
}

static bool set_wrong_byte(VGPUInjectArgs *a, const VgpuInjection *w,
                           const VgpuInjectWrongByte *b, Error **errp)
{
    if (b->has_q_xor && !b->q_xor) {
        error_setg(errp, "xor must not be 0");
        return false;
    }
    a->arg = b->q_xor;
    return set_copy(&a->filter, w, qapi_VgpuInjectWrongByte_base(b), errp);
}

static bool set_doorbell(VGPUFilter *f, const VgpuInjection *w,
                         const VgpuInjectDoorbell *d, Error **errp)
{
    set_queue(f, qapi_VgpuInjectDoorbell_base(d));
    return set_range(f, w, WHERE("doorbell", d, doorbell), errp);
}

static bool set_fault(VGPUFilter *f, const VgpuInjection *w,
                      const VgpuInjectFault *fault, Error **errp)
{
    f->hub = hub_number(fault->has_hub, fault->hub);
    f->vmid = number(fault->has_vmid, fault->vmid);
    return set_range(f, w, WHERE("va", fault, va), errp);
}

static bool set_fault_delay(VGPUInjectArgs *a, const VgpuInjection *w,
                            const VgpuInjectFaultDelay *d, Error **errp)
{
    a->arg = d->delay_ns;
    return set_fault(&a->filter, w, qapi_VgpuInjectFaultDelay_base(d), errp);
}

static bool set_spurious(VGPUFilter *f, const VgpuInjection *w,
                         const VgpuInjectSpurious *s, Error **errp)
{
    f->hub = hub_number(s->has_hub, s->hub);
    f->vmid = number(s->has_vmid, s->vmid);
    return set_range(f, w, WHERE("va", s, va), errp);
}

static bool set_overflow(VGPUFilter *f, const VgpuInjection *w,
                         const VgpuInjectOverflow *o, Error **errp)
{
    Where where = {
        .name = "client and source", .has = o->has_client || o->has_source,
        .first = o->client << 8 | o->source,
        .has_length = o->has_length || o->has_client,
        .length = o->has_length ? o->length : o->has_source ? 1 : 0x100,
    };

    if (o->has_source && !o->has_client) {
        error_setg(errp, "source needs client");
        return false;
    }
    if (o->has_length && !w->has_start) {
        error_setg(errp, "length belongs to start: give client and source");
        return false;
    }
    f->hub = hub_number(o->has_hub, o->hub);
    f->vmid = number(o->has_vmid, o->vmid);
    return set_range(f, w, where, errp);
}

static bool set_invalidation(VGPUFilter *f, const VgpuInjection *w,
                             const VgpuInjectInvalidation *i, Error **errp)
{
    Where where = {
        .name = "inv-engine", .has = i->has_inv_engine, .first = i->inv_engine,
        .has_length = i->has_length || i->has_inv_engine,
        .length = i->has_length ? i->length : 1,
    };

    if (i->has_inv_engine && i->inv_engine >= VGPU_NUM_INV_ENGINES) {
        error_setg(errp, "inv-engine must be below %u", VGPU_NUM_INV_ENGINES);
        return false;
    }
    if (i->has_length && !w->has_start) {
        error_setg(errp, "length belongs to start: give inv-engine");
        return false;
    }
    f->hub = hub_number(i->has_hub, i->hub);
    f->vmid = number(i->has_vmid, i->vmid);
    return set_range(f, w, where, errp);
}

static bool set_early_ack(VGPUInjectArgs *a, const VgpuInjection *w,
                          const VgpuInjectEarlyAck *e, Error **errp)
{
    a->arg = e->delay_ns;
    return set_invalidation(&a->filter, w, qapi_VgpuInjectEarlyAck_base(e),
                            errp);
}

static bool check_offset(VGPUState *s, uint64_t offset, Error **errp)
{
    if (offset >= s->vram_size) {
        error_setg(errp, "offset must be below %" PRIu64 ", the size of VRAM",
                   s->vram_size);
        return false;
    }
    return true;
}

static bool set_vram(VGPUState *s, VGPUFilter *f, const VgpuInjection *w,
                     const VgpuInjectVram *v, Error **errp)
{
    return check_offset(s, v->offset, errp) &&
           set_range(f, w, WHERE("offset", v, offset), errp);
}

static bool set_poison(VGPUState *s, VGPUFilter *f, const VgpuInjection *w,
                       const VgpuInjectPoison *p, Error **errp)
{
    set_access(f, qapi_VgpuInjectPoison_base(p));
    return check_offset(s, p->offset, errp) &&
           set_range(f, w, WHERE("offset", p, offset), errp);
}

/* A place in the hive: all of a node's VRAM, or a part. */
static bool set_link(VGPUState *s, VGPUFilter *f, const VgpuInjection *w,
                     const VgpuInjectLink *l, Error **errp)
{
    Where where = WHERE("node and offset", l, offset);

    set_access(f, qapi_VgpuInjectLink_base(l));
    if (l->has_node) {
        if (l->node >= VGPU_XGMI_NODES) {
            error_setg(errp, "node must be below %u", VGPU_XGMI_NODES);
            return false;
        }
        if (!check_offset(s, l->offset, errp)) {
            return false;
        }
        where.has = true;
        where.first = l->node * s->vram_size + l->offset;
        where.length = MIN(l->has_length ? l->length : UINT64_MAX,
                           s->vram_size - l->offset);
        where.has_length = true;
    } else if (l->has_offset || (l->has_length && !w->has_start)) {
        error_setg(errp, "offset and length need node");
        return false;
    }
    return set_range(f, w, where, errp);
}

static bool set_nothing(const VgpuInjection *w, Error **errp)
{
    if (w->has_start) {
        error_setg(errp, "%s has no address", VgpuInjectKind_str(w->kind));
        return false;
    }
    return true;
}

/* The members of w->kind's own. */
static bool parse_kind(VGPUState *s, VGPUInjectArgs *a, const VgpuInjection *w,
                       Error **errp)
{
    VGPUFilter *f = &a->filter;

    switch (w->kind) {
    case VGPU_INJECT_KIND_PTE_CORRUPT:
        return set_corrupt(a, w, &w->u.pte_corrupt, errp);
    case VGPU_INJECT_KIND_PTE_LOST:
        return set_walk(f, w, &w->u.pte_lost, errp);
    case VGPU_INJECT_KIND_PTE_LATE:
        return set_late(a, w, &w->u.pte_late, errp);
    case VGPU_INJECT_KIND_GART_CORRUPT:
        return set_corrupt(a, w, &w->u.gart_corrupt, errp);
    case VGPU_INJECT_KIND_GART_LOST:
        return set_walk(f, w, &w->u.gart_lost, errp);
    case VGPU_INJECT_KIND_GART_LATE:
        return set_late(a, w, &w->u.gart_late, errp);
    case VGPU_INJECT_KIND_SDMA_HANG:
        return set_hang(f, w, &w->u.sdma_hang, errp);
    case VGPU_INJECT_KIND_SDMA_SLOW:
        return set_slow(a, w, &w->u.sdma_slow, errp);
    case VGPU_INJECT_KIND_SDMA_WRONG_BYTE:
        return set_wrong_byte(a, w, &w->u.sdma_wrong_byte, errp);
    case VGPU_INJECT_KIND_DOORBELL_LOST:
        return set_doorbell(f, w, &w->u.doorbell_lost, errp);
    case VGPU_INJECT_KIND_FAULT_SPURIOUS:
        return set_spurious(f, w, &w->u.fault_spurious, errp);
    case VGPU_INJECT_KIND_FAULT_DUPLICATE:
        return set_fault(f, w, &w->u.fault_duplicate, errp);
    case VGPU_INJECT_KIND_FAULT_DROP:
        return set_fault(f, w, &w->u.fault_drop, errp);
    case VGPU_INJECT_KIND_FAULT_DELAY:
        return set_fault_delay(a, w, &w->u.fault_delay, errp);
    case VGPU_INJECT_KIND_IH_OVERFLOW:
        return set_overflow(f, w, &w->u.ih_overflow, errp);
    case VGPU_INJECT_KIND_INV_NO_ACK:
        return set_invalidation(f, w, &w->u.inv_no_ack, errp);
    case VGPU_INJECT_KIND_INV_EARLY_ACK:
        return set_early_ack(a, w, &w->u.inv_early_ack, errp);
    case VGPU_INJECT_KIND_VRAM_LOST:
        return set_vram(s, f, w, &w->u.vram_lost, errp);
    case VGPU_INJECT_KIND_VRAM_LOST_AT_RESET:
        return set_vram(s, f, w, &w->u.vram_lost_at_reset, errp);
    case VGPU_INJECT_KIND_VRAM_POISON:
        return set_poison(s, f, w, &w->u.vram_poison, errp);
    case VGPU_INJECT_KIND_XGMI_DOWN:
        return set_link(s, f, w, &w->u.xgmi_down, errp);
    case VGPU_INJECT_KIND_SURPRISE_REMOVAL:
        return set_nothing(w, errp);
    default:
        g_assert_not_reached();
    }
}

/* Do the numbers of a filter make sense, and together? */
static bool check_filter(const VGPUFilter *f, Error **errp)
{
    bool compute = f->me != VGPU_SITE_ANY || f->pipe != VGPU_SITE_ANY;
    int queues = compute ? CP_NUM_QUEUES : SDMA_NUM_QUEUES;

    if (f->vmid >= VGPU_NUM_VMIDS) {
        error_setg(errp, "vmid must be below %u", VGPU_NUM_VMIDS);
    } else if (f->engine >= SDMA_NUM_ENGINES) {
        error_setg(errp, "engine must be below %u", SDMA_NUM_ENGINES);
    } else if (!f->me || f->me > CP_NUM_MECS) {
        error_setg(errp, "me must be from 1 to %u", CP_NUM_MECS);
    } else if (f->pipe >= CP_NUM_PIPES) {
        error_setg(errp, "pipe must be below %u", CP_NUM_PIPES);
    } else if (f->engine != VGPU_SITE_ANY && compute) {
        error_setg(errp, "engine is for SDMA, me and pipe are for compute");
    } else if (f->queue >= queues) {
        error_setg(errp, "queue must be below %d", queues);
    } else {
        return true;
    }
    return false;
}

static bool check_immediate(const VgpuInjection *w, Error **errp)
{
    if (w->has_skip || w->has_probability) {
        error_setg(errp, "%s happens at once: skip and probability make no "
                   "sense", VgpuInjectKind_str(w->kind));
        return false;
    }
    if (w->count > AT_ONCE_MAX) {
        error_setg(errp, "count must be %u at most", AT_ONCE_MAX);
        return false;
    }
    return true;
}

bool vgpu_inject_parse(VGPUState *s, const VgpuInjection *w,
                       VGPUInjectArgs *args, Error **errp)
{
    bool immediate = vgpu_inject_is_immediate(w->kind);
    double probability = w->has_probability ? w->probability : 1;

    *args = (VGPUInjectArgs) {
        .kind = w->kind, .seed = w->seed, .skip = w->skip,
        .count = w->count ?: immediate, .filter = VGPU_FILTER_ALL,
    };
    if (!(probability >= 0 && probability <= 1)) {
        error_setg(errp, "probability must be from 0 to 1");
        return false;
    }
    args->threshold = probability * (double)(1ull << 32);
    return parse_kind(s, args, w, errp) && check_filter(&args->filter, errp) &&
           (!immediate || check_immediate(w, errp));
}
