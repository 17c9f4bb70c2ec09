/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: describe interrupt rings, retry CAM and VMIDs for the QMP command
 * query-vgpu.
 */
#include "qemu/osdep.h"
#include "vgpu/gmc.h"
#include "vgpu/pte.h"
#include "hw/misc/vgpu-kfd/ih/ih.h"
#include "hw/misc/vgpu-kfd/ih/internal.h"
#include "hw/misc/vgpu-kfd/memory/hub.h"

VgpuVmidInfoList *vgpu_query_vmids(VGPUState *s)
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
            info->hub = vgpu_hub_kind(h);
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

VgpuCamInfoList *vgpu_query_cam(VGPUState *s)
{
    VgpuCamInfoList *list = NULL, **tail = &list;
    unsigned i;

    for (i = 0; i < VGPU_RETRY_CAM_SLOTS; i++) {
        if (s->ih->cam[i].used) {
            VgpuCamInfo *info = g_new0(VgpuCamInfo, 1);

            info->slot = i;
            info->hub = vgpu_hub_kind(s->ih->cam[i].hub);
            info->vmid = s->ih->cam[i].vmid;
            info->va = s->ih->cam[i].page << VGPU_PAGE_SHIFT;
            info->serial = s->ih->cam[i].serial;
            QAPI_LIST_APPEND(tail, info);
        }
    }
    return list;
}

VgpuInterruptInfo *vgpu_query_ih_ring(VGPUState *s, unsigned ring)
{
    VgpuInterruptInfo *info = g_new0(VgpuInterruptInfo, 1);

    info->ring = ring;
    info->enabled = vgpu_ih_reg(s, IH_RB_CNTL + IH_RING(ring)) &
                    IH_RB_CNTL__RB_ENABLE;
    info->rptr = s->ih->rings[ring].rptr;
    info->wptr = s->ih->rings[ring].wptr;
    info->overflow = s->ih->rings[ring].overflow;
    return info;
}
