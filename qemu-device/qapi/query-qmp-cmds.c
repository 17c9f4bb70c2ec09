/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: QMP command query-vgpu. The reply combines the descriptions of the
 * device's blocks, such as sdma/ and cp/. The command runs under the BQL, and
 * reads the state of faults and interrupts under s->lock.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/qapi-commands-vgpu-kfd.h"
#include "vgpu/device_info.h"
#include "vgpu/ih.h"
#include "vgpu/sdma.h"
#include "hw/misc/vgpu-kfd/core/vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/cp/cp.h"
#include "hw/misc/vgpu-kfd/ih/fault.h"
#include "hw/misc/vgpu-kfd/ih/ih.h"
#include "hw/misc/vgpu-kfd/inject/inject.h"
#include "hw/misc/vgpu-kfd/memory/hub.h"
#include "hw/misc/vgpu-kfd/memory/xgmi.h"
#include "hw/misc/vgpu-kfd/sdma/sdma.h"

QEMU_BUILD_BUG_ON(VGPU_COUNTER__MAX != VGPU_NUM_COUNTERS);

static VgpuCounterValueList *query_counters(VGPUState *s)
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

static VgpuInfo *query_device(VGPUState *s)
{
    VgpuInfo *info = g_new0(VgpuInfo, 1);
    VgpuInterruptInfoList **rings = &info->interrupt_rings;
    VgpuEngineInfoList **tail = &info->engines;
    unsigned i;

    info->path = object_get_canonical_path(OBJECT(s));
    info->id = g_strdup(DEVICE(s)->id);
    info->vram_size = s->vram_size;
    for (i = 0; i < SDMA_NUM_ENGINES; i++) {
        QAPI_LIST_APPEND(tail, vgpu_query_sdma_engine(s, i));
    }
    info->compute = vgpu_query_compute(s);
    info->vmids = vgpu_query_vmids(s);
    info->hive = vgpu_query_hive(s);
    vgpu_invalidate_complete(s);
    WITH_QEMU_LOCK_GUARD(&s->lock) {
        info->fault_serial = vgpu_fault_serial(s);
        info->removed = s->removed;
        info->cam = vgpu_query_cam(s);
        info->invalidations = vgpu_query_invalidations(s);
        info->interrupts = vgpu_query_ih_ring(s, 0);
        for (i = 0; i < IH_NUM_RINGS; i++) {
            QAPI_LIST_APPEND(rings, vgpu_query_ih_ring(s, i));
        }
    }
    info->counters = query_counters(s);
    info->injections = vgpu_inject_infos(s);
    return info;
}

static int query_collect(Object *obj, void *opaque)
{
    VgpuInfoList ***tail = opaque;

    if (object_dynamic_cast(obj, TYPE_VGPU_KFD) &&
        qdev_is_realized(DEVICE(obj))) {
        VgpuInfo *info = query_device(VGPU_KFD(obj));

        QAPI_LIST_APPEND(*tail, info);
    }
    return 0;
}

VgpuInfoList *qmp_query_vgpu(Error **errp)
{
    VgpuInfoList *list = NULL, **tail = &list;

    object_child_foreach_recursive(object_get_root(), query_collect, &tail);
    return list;
}
