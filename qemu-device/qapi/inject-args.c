/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: arguments of the QMP command vgpu-inject. vgpu_inject_parse()
 * checks and converts the arguments. Arguments that select queues, VMIDs or
 * addresses become a VGPUFilter. A parameter of the effect, such as a delay,
 * becomes VGPUInjectArgs.arg.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "vgpu/cp.h"
#include "vgpu/gmc.h"
#include "vgpu/sdma.h"
#include "hw/misc/vgpu-kfd/core/vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/memory/xgmi.h"
#include "hw/misc/vgpu-kfd/qapi/inject-args.h"

/*
 * Maximum value of the argument "count" for a kind of injection that takes
 * effect during the command (vgpu_inject_is_immediate()).
 */
#define IMMEDIATE_COUNT_MAX 1024u

/*
 * A range of addresses or of other numbers, from the arguments of a command.
 * The kind of injection decides which argument gives @first, for example "va"
 * or "offset". The deprecated argument "start" can replace that argument, but
 * is not stored here.
 */
typedef struct InjectRange {
    /*
     * For error messages: name of the argument for @first, such as "va", or
     * both names if there are two such arguments.
     */
    const char *name;
    bool has;                   /* the command has an argument for @first */
    uint64_t first;
    bool has_length;
    uint64_t length;
} InjectRange;

#define INJECT_RANGE(_name, _branch, _member) (InjectRange) {           \
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

static int filter_number(bool has, unsigned value)
{
    return has ? (int)value : VGPU_SITE_ANY;
}

static int filter_hub(bool has, VgpuHubKind kind)
{
    return filter_number(has,
                         kind == VGPU_HUB_KIND_MM ? VGPU_HUB_MM : VGPU_HUB_GFX);
}

static void parse_queue(VGPUFilter *f, const VgpuInjectQueue *q)
{
    f->vmid = filter_number(q->has_vmid, q->vmid);
    f->engine = filter_number(q->has_engine, q->engine);
    f->me = filter_number(q->has_me, q->me);
    f->pipe = filter_number(q->has_pipe, q->pipe);
    f->queue = filter_number(q->has_queue, q->queue);
}

static void parse_access(VGPUFilter *f, const VgpuInjectAccess *a)
{
    parse_queue(f, qapi_VgpuInjectAccess_base(a));
    f->hub = filter_hub(a->has_hub, a->hub);
}

static void parse_sdma(VGPUFilter *f, const VgpuInjectSdma *sdma)
{
    f->vmid = filter_number(sdma->has_vmid, sdma->vmid);
    f->engine = filter_number(sdma->has_engine, sdma->engine);
    f->queue = filter_number(sdma->has_queue, sdma->queue);
}

/*
 * Set the range in @f, from w->start (deprecated) or range.first. Without a
 * length, the range has no end. Errors: two starts, or length 0.
 */
static bool parse_range(VGPUFilter *f, const VgpuInjection *w,
                        InjectRange range, Error **errp)
{
    if (w->has_start && range.has) {
        error_setg(errp, "start is an old name of %s: give one of them",
                   range.name);
        return false;
    }
    if (range.has_length && !range.length) {
        error_setg(errp, "length must not be 0");
        return false;
    }
    f->first = w->has_start ? w->start : range.first;
    if (range.has_length && range.length - 1 < UINT64_MAX - f->first) {
        f->last = f->first + range.length - 1;
    }
    return true;
}

static bool parse_walk(VGPUFilter *f, const VgpuInjection *w,
                       const VgpuInjectWalk *walk, Error **errp)
{
    parse_access(f, qapi_VgpuInjectWalk_base(walk));
    return parse_range(f, w, INJECT_RANGE("va", walk, va), errp);
}

static bool parse_corrupt(VGPUInjectArgs *a, const VgpuInjection *w,
                          const VgpuInjectCorrupt *c, Error **errp)
{
    a->arg = c->q_xor;
    return parse_walk(&a->filter, w, qapi_VgpuInjectCorrupt_base(c), errp);
}

static bool parse_late(VGPUInjectArgs *a, const VgpuInjection *w,
                       const VgpuInjectLate *l, Error **errp)
{
    a->arg = l->has_walks ? l->walks : 1;
    return parse_walk(&a->filter, w, qapi_VgpuInjectLate_base(l), errp);
}

static bool parse_hang(VGPUFilter *f, const VgpuInjection *w,
                       const VgpuInjectHang *h, Error **errp)
{
    parse_sdma(f, qapi_VgpuInjectHang_base(h));
    return parse_range(f, w, INJECT_RANGE("packet-va", h, packet_va), errp);
}

static bool parse_copy(VGPUFilter *f, const VgpuInjection *w,
                       const VgpuInjectCopy *c, Error **errp)
{
    parse_sdma(f, qapi_VgpuInjectCopy_base(c));
    return parse_range(f, w, INJECT_RANGE("dst-va", c, dst_va), errp);
}

static bool parse_slow(VGPUInjectArgs *a, const VgpuInjection *w,
                       const VgpuInjectSlow *s, Error **errp)
{
    if (!s->bytes_per_second) {
        error_setg(errp, "bytes-per-second must not be 0");
        return false;
    }
    a->arg = s->bytes_per_second;
    return parse_copy(&a->filter, w, qapi_VgpuInjectSlow_base(s), errp);
}

static bool parse_wrong_byte(VGPUInjectArgs *a, const VgpuInjection *w,
                             const VgpuInjectWrongByte *b, Error **errp)
{
    if (b->has_q_xor && !b->q_xor) {
        error_setg(errp, "xor must not be 0");
        return false;
    }
    a->arg = b->q_xor;
    return parse_copy(&a->filter, w, qapi_VgpuInjectWrongByte_base(b), errp);
}

static bool parse_doorbell(VGPUFilter *f, const VgpuInjection *w,
                           const VgpuInjectDoorbell *d, Error **errp)
{
    parse_queue(f, qapi_VgpuInjectDoorbell_base(d));
    return parse_range(f, w, INJECT_RANGE("doorbell", d, doorbell), errp);
}

static bool parse_fault(VGPUFilter *f, const VgpuInjection *w,
                        const VgpuInjectFault *fault, Error **errp)
{
    f->hub = filter_hub(fault->has_hub, fault->hub);
    f->vmid = filter_number(fault->has_vmid, fault->vmid);
    return parse_range(f, w, INJECT_RANGE("va", fault, va), errp);
}

static bool parse_fault_delay(VGPUInjectArgs *a, const VgpuInjection *w,
                              const VgpuInjectFaultDelay *d, Error **errp)
{
    a->arg = d->delay_ns;
    return parse_fault(&a->filter, w, qapi_VgpuInjectFaultDelay_base(d), errp);
}

/*
 * Members "write" and "retry" of @s are not converted: inject-qmp-cmds.c reads
 * them.
 */
static bool parse_spurious(VGPUFilter *f, const VgpuInjection *w,
                           const VgpuInjectSpurious *s, Error **errp)
{
    f->hub = filter_hub(s->has_hub, s->hub);
    f->vmid = filter_number(s->has_vmid, s->vmid);
    return parse_range(f, w, INJECT_RANGE("va", s, va), errp);
}

static bool parse_overflow(VGPUFilter *f, const VgpuInjection *w,
                           const VgpuInjectOverflow *o, Error **errp)
{
    InjectRange range = {
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
    f->hub = filter_hub(o->has_hub, o->hub);
    f->vmid = filter_number(o->has_vmid, o->vmid);
    return parse_range(f, w, range, errp);
}

static bool parse_invalidation(VGPUFilter *f, const VgpuInjection *w,
                               const VgpuInjectInvalidation *i, Error **errp)
{
    InjectRange range = {
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
    f->hub = filter_hub(i->has_hub, i->hub);
    f->vmid = filter_number(i->has_vmid, i->vmid);
    return parse_range(f, w, range, errp);
}

static bool parse_early_ack(VGPUInjectArgs *a, const VgpuInjection *w,
                            const VgpuInjectEarlyAck *e, Error **errp)
{
    a->arg = e->delay_ns;
    return parse_invalidation(&a->filter, w, qapi_VgpuInjectEarlyAck_base(e),
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

static bool parse_vram(VGPUState *s, VGPUFilter *f, const VgpuInjection *w,
                       const VgpuInjectVram *v, Error **errp)
{
    return check_offset(s, v->offset, errp) &&
           parse_range(f, w, INJECT_RANGE("offset", v, offset), errp);
}

static bool parse_poison(VGPUState *s, VGPUFilter *f, const VgpuInjection *w,
                         const VgpuInjectPoison *p, Error **errp)
{
    parse_access(f, qapi_VgpuInjectPoison_base(p));
    return check_offset(s, p->offset, errp) &&
           parse_range(f, w, INJECT_RANGE("offset", p, offset), errp);
}

/*
 * If the argument "node" is present, make a range of offsets in the hive's
 * VRAM. The range is this node's VRAM, or the part of this VRAM that "offset"
 * and "length" give.
 */
static bool parse_link(VGPUState *s, VGPUFilter *f, const VgpuInjection *w,
                       const VgpuInjectLink *l, Error **errp)
{
    InjectRange range = INJECT_RANGE("node and offset", l, offset);

    parse_access(f, qapi_VgpuInjectLink_base(l));
    if (l->has_node) {
        if (l->node >= VGPU_XGMI_NODES) {
            error_setg(errp, "node must be below %u", VGPU_XGMI_NODES);
            return false;
        }
        if (!check_offset(s, l->offset, errp)) {
            return false;
        }
        range.has = true;
        range.first = l->node * s->vram_size + l->offset;
        range.length = MIN(l->has_length ? l->length : UINT64_MAX,
                           s->vram_size - l->offset);
        range.has_length = true;
    } else if (l->has_offset || (l->has_length && !w->has_start)) {
        error_setg(errp, "offset and length need node");
        return false;
    }
    return parse_range(f, w, range, errp);
}

static bool parse_no_members(const VgpuInjection *w, Error **errp)
{
    if (w->has_start) {
        error_setg(errp, "%s has no address", VgpuInjectKind_str(w->kind));
        return false;
    }
    return true;
}

/*
 * Convert the member of w->u for w->kind, and the deprecated member w->start,
 * to a->filter and a->arg.
 */
static bool parse_kind(VGPUState *s, VGPUInjectArgs *a, const VgpuInjection *w,
                       Error **errp)
{
    VGPUFilter *f = &a->filter;

    switch (w->kind) {
    case VGPU_INJECT_KIND_PTE_CORRUPT:
        return parse_corrupt(a, w, &w->u.pte_corrupt, errp);
    case VGPU_INJECT_KIND_PTE_LOST:
        return parse_walk(f, w, &w->u.pte_lost, errp);
    case VGPU_INJECT_KIND_PTE_LATE:
        return parse_late(a, w, &w->u.pte_late, errp);
    case VGPU_INJECT_KIND_GART_CORRUPT:
        return parse_corrupt(a, w, &w->u.gart_corrupt, errp);
    case VGPU_INJECT_KIND_GART_LOST:
        return parse_walk(f, w, &w->u.gart_lost, errp);
    case VGPU_INJECT_KIND_GART_LATE:
        return parse_late(a, w, &w->u.gart_late, errp);
    case VGPU_INJECT_KIND_SDMA_HANG:
        return parse_hang(f, w, &w->u.sdma_hang, errp);
    case VGPU_INJECT_KIND_SDMA_SLOW:
        return parse_slow(a, w, &w->u.sdma_slow, errp);
    case VGPU_INJECT_KIND_SDMA_WRONG_BYTE:
        return parse_wrong_byte(a, w, &w->u.sdma_wrong_byte, errp);
    case VGPU_INJECT_KIND_DOORBELL_LOST:
        return parse_doorbell(f, w, &w->u.doorbell_lost, errp);
    case VGPU_INJECT_KIND_FAULT_SPURIOUS:
        return parse_spurious(f, w, &w->u.fault_spurious, errp);
    case VGPU_INJECT_KIND_FAULT_DUPLICATE:
        return parse_fault(f, w, &w->u.fault_duplicate, errp);
    case VGPU_INJECT_KIND_FAULT_DROP:
        return parse_fault(f, w, &w->u.fault_drop, errp);
    case VGPU_INJECT_KIND_FAULT_DELAY:
        return parse_fault_delay(a, w, &w->u.fault_delay, errp);
    case VGPU_INJECT_KIND_IH_OVERFLOW:
        return parse_overflow(f, w, &w->u.ih_overflow, errp);
    case VGPU_INJECT_KIND_INV_NO_ACK:
        return parse_invalidation(f, w, &w->u.inv_no_ack, errp);
    case VGPU_INJECT_KIND_INV_EARLY_ACK:
        return parse_early_ack(a, w, &w->u.inv_early_ack, errp);
    case VGPU_INJECT_KIND_VRAM_LOST:
        return parse_vram(s, f, w, &w->u.vram_lost, errp);
    case VGPU_INJECT_KIND_VRAM_LOST_AT_RESET:
        return parse_vram(s, f, w, &w->u.vram_lost_at_reset, errp);
    case VGPU_INJECT_KIND_VRAM_POISON:
        return parse_poison(s, f, w, &w->u.vram_poison, errp);
    case VGPU_INJECT_KIND_XGMI_DOWN:
        return parse_link(s, f, w, &w->u.xgmi_down, errp);
    case VGPU_INJECT_KIND_SURPRISE_REMOVAL:
        return parse_no_members(w, errp);
    default:
        g_assert_not_reached();
    }
}

/*
 * Check that the numbers of the filter are in range and do not contradict each
 * other.
 */
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
        error_setg(errp, "%s takes effect at once: skip and probability "
                   "cannot be used", VgpuInjectKind_str(w->kind));
        return false;
    }
    if (w->count > IMMEDIATE_COUNT_MAX) {
        error_setg(errp, "count must be %u at most", IMMEDIATE_COUNT_MAX);
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
