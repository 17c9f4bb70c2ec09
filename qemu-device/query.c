/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: what an operator sees: query-vgpu, and `info vgpu` for a person.
 *
 * Handlers run under the BQL. An engine is looked at while its thread is at
 * rest (vgpu_worker_hold()), so that a queue's stall and pointers belong
 * together; faults and interrupts are looked at under s->lock.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/qapi-commands-vgpu-kfd.h"
#include "qapi/type-helpers.h"
#include "monitor/monitor.h"
#include "hw/misc/vgpu-kfd/qapi/query.h"

QEMU_BUILD_BUG_ON(VGPU_COUNTER__MAX != VGPU_NUM_COUNTERS);

static VgpuHubKind hub_kind(unsigned hub)
{
    return hub == VGPU_HUB_MM ? VGPU_HUB_KIND_MM : VGPU_HUB_KIND_GFX;
}

VgpuStall *vgpu_query_stall(const VGPUStall *stall)
{
    VgpuStall *info = g_new0(VgpuStall, 1);

    if (stall->bus) {
        info->why = VGPU_STALL_REASON_BUS;
        return info;
    }
    switch (stall->why) {
    case VGPU_WAIT_WPTR:
        info->why = VGPU_STALL_REASON_WPTR;
        return info;
    case VGPU_WAIT_CAM:
        info->why = VGPU_STALL_REASON_CAM;
        break;
    case VGPU_WAIT_CAM_FREE:
        info->why = VGPU_STALL_REASON_CAM_FREE;
        break;
    case VGPU_WAIT_RETRY:
        info->why = VGPU_STALL_REASON_RETRY;
        break;
    case VGPU_WAIT_REG:
        info->why = VGPU_STALL_REASON_REGISTER;
        return info;
    default:
        info->why = VGPU_STALL_REASON_POLL;
        return info;
    }
    info->has_vmid = info->has_va = info->has_write = true;
    info->vmid = stall->vmid;
    info->va = stall->va;
    info->write = stall->write;
    info->has_serial = stall->serial;
    info->serial = stall->serial;
    info->has_cam = stall->why == VGPU_WAIT_CAM;
    info->cam = info->has_cam ? stall->cam : 0;
    return info;
}

/* NULL for a queue that is off and empty. Engine held. */
static VgpuQueueInfo *queue_info(const VGPUEngine *e, unsigned n)
{
    const VGPUQueue *q = &e->queues[n];
    VgpuQueueInfo *info;

    if (!vgpu_queue_enabled(q) && !vgpu_queue_pending(q) && !q->exception) {
        return NULL;
    }
    info = g_new0(VgpuQueueInfo, 1);
    info->queue = n;
    info->vmid = VGPU_GET(qatomic_read(&q->regs[SDMA_RB_CNTL]),
                          SDMA_RB_CNTL__RB_VMID);
    info->rptr = q->rptr;
    info->wptr = q->wptr;
    info->indirect = q->exec.ib_depth;
    info->has_exception = q->exception;
    info->exception = q->exception;
    if (q->exception) {
        info->state = VGPU_QUEUE_STATE_ERROR;
    } else if (!vgpu_queue_enabled(q)) {
        info->state = VGPU_QUEUE_STATE_DISABLED;
    } else if (q->wait != VGPU_WAIT_NONE) {
        info->state = VGPU_QUEUE_STATE_STALLED;
        info->stall = vgpu_query_stall(&q->exec.mem.stall);
    } else {
        info->state = vgpu_queue_pending(q) ? VGPU_QUEUE_STATE_READY
                                            : VGPU_QUEUE_STATE_IDLE;
    }
    return info;
}

static VgpuEngineInfo *engine_info(VGPUState *s, unsigned i)
{
    VgpuEngineInfo *info = g_new0(VgpuEngineInfo, 1);
    VgpuQueueInfoList **tail = &info->queues;
    VGPUEngine *e = &s->engines[i];
    unsigned n;

    vgpu_worker_hold(&e->w);
    info->engine = i;
    info->halted = (e->regs[SDMA_FREEZE] & SDMA_FREEZE__FREEZE) ||
                   (e->regs[SDMA_F32_CNTL] & SDMA_F32_CNTL__HALT);
    info->hung = e->hung;
    info->tlb_used = vgpu_client_tlb_used(&e->client);
    info->tlb_size = VGPU_TLB_WAYS << VGPU_TLB_SETS_LOG2;
    for (n = 0; n < SDMA_NUM_QUEUES; n++) {
        VgpuQueueInfo *q = queue_info(e, n);

        if (q) {
            QAPI_LIST_APPEND(tail, q);
        }
    }
    vgpu_worker_release(&e->w);
    return info;
}

static VgpuVmidInfoList *vmid_infos(VGPUState *s)
{
    VgpuVmidInfoList *list = NULL, **tail = &list;
    unsigned h, v;

    for (h = 0; h < VGPU_NUM_HUBS; h++) {
        uint32_t disabled = vgpu_hub_reg(s, h, VM_CONTEXTS_DISABLE);

        for (v = 0; v < VGPU_NUM_VMIDS; v++) {
            uint32_t cntl = vgpu_hub_reg(s, h, VM_CONTEXT_CNTL(v));
            VgpuVmidInfo *info;

            if (!(cntl & VM_CONTEXT_CNTL__ENABLE_CONTEXT) ||
                (disabled & (1u << v))) {
                continue;
            }
            info = g_new0(VgpuVmidInfo, 1);
            info->hub = hub_kind(h);
            info->vmid = v;
            info->pasid = vgpu_ih_reg(s, h == VGPU_HUB_MM ?
                                      IH_VMID_LUT_MM(v) : IH_VMID_LUT(v)) &
                          IH_DW3__PASID;
            info->page_table_base =
                vgpu_hub_reg64(s, h, VM_CONTEXT_PAGE_TABLE_BASE_ADDR_LO32(v));
            info->retry =
                v && (cntl & VM_CONTEXT_CNTL__RETRY_PERMISSION_OR_INVALID);
            QAPI_LIST_APPEND(tail, info);
        }
    }
    return list;
}

/* s->lock held, as for the next two. */
static VgpuCamInfoList *cam_infos(VGPUState *s)
{
    VgpuCamInfoList *list = NULL, **tail = &list;
    unsigned i;

    for (i = 0; i < VGPU_CAM_SLOTS; i++) {
        if (s->cam[i].used) {
            VgpuCamInfo *info = g_new0(VgpuCamInfo, 1);

            info->slot = i;
            info->hub = hub_kind(s->cam[i].hub);
            info->vmid = s->cam[i].vmid;
            info->va = s->cam[i].page << VGPU_PAGE_SHIFT;
            info->serial = s->cam[i].serial;
            QAPI_LIST_APPEND(tail, info);
        }
    }
    return list;
}

static VgpuInvalidationInfoList *invalidation_infos(VGPUState *s)
{
    VgpuInvalidationInfoList *list = NULL, **tail = &list;
    unsigned h, eng;

    for (h = 0; h < VGPU_NUM_HUBS; h++) {
        for (eng = 0; eng < VGPU_NUM_INV_ENGINES; eng++) {
            if (s->hubs[h].inv[eng].pending) {
                VgpuInvalidationInfo *info = g_new0(VgpuInvalidationInfo, 1);

                info->hub = hub_kind(h);
                info->engine = eng;
                info->vmids = s->hubs[h].inv[eng].pending;
                QAPI_LIST_APPEND(tail, info);
            }
        }
    }
    return list;
}

static VgpuInterruptInfo *interrupt_info(VGPUState *s, unsigned ring)
{
    VgpuInterruptInfo *info = g_new0(VgpuInterruptInfo, 1);

    info->ring = ring;
    info->enabled = vgpu_ih_reg(s, IH_RB_CNTL + IH_RING(ring)) &
                    IH_RB_CNTL__RB_ENABLE;
    info->rptr = s->ih.rings[ring].rptr;
    info->wptr = s->ih.rings[ring].wptr;
    info->overflow = s->ih.rings[ring].overflow;
    return info;
}

static VgpuCounterValueList *counter_values(VGPUState *s)
{
    VgpuCounterValueList *list = NULL, **tail = &list;
    unsigned i;

    for (i = 0; i < VGPU_NUM_COUNTERS; i++) {
        VgpuCounterValue *c = g_new0(VgpuCounterValue, 1);

        c->counter = i;
        c->value = stat64_get(&s->counters[i]);
        QAPI_LIST_APPEND(tail, c);
    }
    return list;
}

static VgpuInfo *device_info(VGPUState *s)
{
    VgpuInfo *info = g_new0(VgpuInfo, 1);
    VgpuInterruptInfoList **rings = &info->interrupt_rings;
    VgpuEngineInfoList **tail = &info->engines;
    unsigned i;

    info->path = object_get_canonical_path(OBJECT(s));
    info->id = g_strdup(DEVICE(s)->id);
    info->vram_size = s->vram_size;
    for (i = 0; i < SDMA_NUM_ENGINES; i++) {
        QAPI_LIST_APPEND(tail, engine_info(s, i));
    }
    info->compute = vgpu_query_compute(s);
    info->vmids = vmid_infos(s);
    if (s->hive) {
        info->hive = g_new0(VgpuHiveInfo, 1);
        info->hive->hive = s->hive_id;
        info->hive->node = s->xgmi_node;
        info->hive->links = vgpu_xgmi_links(s);
    }
    vgpu_gmc_settle(s);
    WITH_QEMU_LOCK_GUARD(&s->lock) {
        info->fault_serial = s->fault_serial;
        info->removed = s->removed;
        info->cam = cam_infos(s);
        info->invalidations = invalidation_infos(s);
        info->interrupts = interrupt_info(s, 0);
        for (i = 0; i < IH_NUM_RINGS; i++) {
            QAPI_LIST_APPEND(rings, interrupt_info(s, i));
        }
    }
    info->counters = counter_values(s);
    info->injections = vgpu_inject_infos(s);
    return info;
}

static int collect(Object *obj, void *opaque)
{
    VgpuInfoList ***tail = opaque;

    if (object_dynamic_cast(obj, TYPE_VGPU_KFD) && DEVICE(obj)->realized) {
        VgpuInfo *info = device_info(VGPU_KFD(obj));

        QAPI_LIST_APPEND(*tail, info);
    }
    return 0;
}

VgpuInfoList *qmp_query_vgpu(Error **errp)
{
    VgpuInfoList *list = NULL, **tail = &list;

    object_child_foreach_recursive(object_get_root(), collect, &tail);
    return list;
}

void vgpu_print_stall(GString *buf, const VgpuStall *stall)
{
    g_string_append_printf(buf, ", waits for %s",
                           VgpuStallReason_str(stall->why));
    if (stall->has_va) {
        g_string_append_printf(buf, ": %s of 0x%" PRIx64 " in VMID %u",
                               stall->write ? "write" : "read", stall->va,
                               stall->vmid);
    }
    if (stall->has_serial) {
        g_string_append_printf(buf, ", fault %u", stall->serial);
    }
    if (stall->has_cam) {
        g_string_append_printf(buf, ", CAM slot %u", stall->cam);
    }
}

static void print_engine(GString *buf, const VgpuEngineInfo *e)
{
    const VgpuQueueInfoList *q;

    g_string_append_printf(buf, "  SDMA%u: %s%sTLB %u of %u\n", e->engine,
                           e->halted ? "halted, " : "",
                           e->hung ? "hangs, " : "", e->tlb_used, e->tlb_size);
    for (q = e->queues; q; q = q->next) {
        g_string_append_printf(buf, "    queue %u: VMID %u, rptr 0x%" PRIx64
                               " wptr 0x%" PRIx64 ", %s", q->value->queue,
                               q->value->vmid, q->value->rptr, q->value->wptr,
                               VgpuQueueState_str(q->value->state));
        if (q->value->has_exception) {
            g_string_append_printf(buf, " %u", q->value->exception);
        }
        if (q->value->stall) {
            vgpu_print_stall(buf, q->value->stall);
        }
        g_string_append(buf, "\n");
    }
}

static void print_device(GString *buf, const VgpuInfo *info)
{
    const VgpuInvalidationInfoList *inv;
    const VgpuCounterValueList *counter;
    const VgpuInterruptInfoList *ring;
    const VgpuInjectionInfoList *i;
    const VgpuEngineInfoList *e;
    const VgpuVmidInfoList *v;
    const VgpuCamInfoList *c;

    g_string_append_printf(buf, "%s: %s%" PRIu64 " MiB of VRAM, last fault %u"
                           "\n", info->id ?: info->path,
                           info->removed ? "removed, " : "",
                           info->vram_size / MiB, info->fault_serial);
    if (info->hive) {
        g_string_append_printf(buf, "  hive %" PRIu64 ": node %u, links 0x%04x"
                               "\n", info->hive->hive, info->hive->node,
                               info->hive->links);
    }
    for (e = info->engines; e; e = e->next) {
        print_engine(buf, e->value);
    }
    vgpu_print_compute(buf, info->compute);
    for (v = info->vmids; v; v = v->next) {
        g_string_append_printf(buf, "  VMID %u (%s): PASID 0x%x, page table "
                               "0x%" PRIx64 "%s\n", v->value->vmid,
                               VgpuHubKind_str(v->value->hub), v->value->pasid,
                               v->value->page_table_base,
                               v->value->retry ? ", faults retry" : "");
    }
    for (c = info->cam; c; c = c->next) {
        g_string_append_printf(buf, "  CAM slot %u: 0x%" PRIx64 " in VMID %u "
                               "(%s), fault %u\n", c->value->slot,
                               c->value->va, c->value->vmid,
                               VgpuHubKind_str(c->value->hub),
                               c->value->serial);
    }
    for (inv = info->invalidations; inv; inv = inv->next) {
        g_string_append_printf(buf, "  invalidation engine %u (%s): VMIDs "
                               "0x%04x to be acknowledged\n",
                               inv->value->engine,
                               VgpuHubKind_str(inv->value->hub),
                               inv->value->vmids);
    }
    for (ring = info->interrupt_rings; ring; ring = ring->next) {
        char number[8] = "";

        if (ring->value->ring) {
            snprintf(number, sizeof(number), " %u", ring->value->ring);
        }
        g_string_append_printf(buf, "  interrupt ring%s: %s, rptr 0x%x wptr "
                               "0x%x%s\n", number,
                               ring->value->enabled ? "on" : "off",
                               ring->value->rptr, ring->value->wptr,
                               ring->value->overflow ? ", overflow" : "");
    }
    for (counter = info->counters; counter; counter = counter->next) {
        g_string_append_printf(buf, "  %s: %" PRIu64 "\n",
                               VgpuCounter_str(counter->value->counter),
                               counter->value->value);
    }
    for (i = info->injections; i; i = i->next) {
        g_string_append_printf(buf, "  injection %u: %s, took %" PRIu64 " of %"
                               PRIu64 " occasions%s\n", i->value->id,
                               VgpuInjectKind_str(i->value->injection->kind),
                               i->value->fired, i->value->seen,
                               i->value->active ? "" : ", done");
    }
}

HumanReadableText *qmp_x_query_vgpu(Error **errp)
{
    g_autoptr(VgpuInfoList) list = qmp_query_vgpu(errp);
    g_autoptr(GString) buf = g_string_new("");
    const VgpuInfoList *info;

    for (info = list; info; info = info->next) {
        print_device(buf, info->value);
    }
    if (!list) {
        g_string_append(buf, "no vgpu-kfd device\n");
    }
    return human_readable_text_from_str(buf);
}

static void vgpu_query_register(void)
{
    monitor_register_hmp_info_hrt("vgpu", qmp_x_query_vgpu);
}

type_init(vgpu_query_register)
