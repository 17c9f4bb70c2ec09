/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: HMP command `info vgpu`, which prints the result of query-vgpu. */
#include "qemu/osdep.h"
#include "qemu/units.h"
#include "qapi/error.h"
#include "qapi/qapi-commands-vgpu-kfd.h"
#include "qapi/type-helpers.h"
#include "monitor/monitor.h"

static void print_stall(GString *buf, const VgpuStall *stall)
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
            print_stall(buf, q->value->stall);
        }
        g_string_append(buf, "\n");
    }
}

static void print_compute(GString *buf, const VgpuComputeInfo *info)
{
    const VgpuComputeQueueInfoList *q;

    g_string_append_printf(buf, "  MEC: %sTLB %u of %u\n",
                           info->halted ? "halted, " : "", info->tlb_used,
                           info->tlb_size);
    for (q = info->queues; q; q = q->next) {
        const VgpuComputeQueueInfo *i = q->value;

        g_string_append_printf(buf, "    queue %u.%u.%u (%s%s): VMID %u, rptr "
                               "0x%" PRIx64 " wptr 0x%" PRIx64 ", ", i->me,
                               i->pipe, i->queue, VgpuComputeRole_str(i->role),
                               i->aql ? ", AQL" : "", i->vmid, i->rptr,
                               i->wptr);
        if (i->has_doorbell) {
            g_string_append_printf(buf, "doorbell 0x%x, ", i->doorbell);
        }
        g_string_append(buf, VgpuQueueState_str(i->state));
        if (i->stall) {
            print_stall(buf, i->stall);
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
    print_compute(buf, info->compute);
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
