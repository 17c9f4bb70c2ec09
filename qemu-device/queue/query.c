/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: describe why a queue waits, for the QMP command query-vgpu. */
#include "qemu/osdep.h"
#include "hw/misc/vgpu-kfd/core/stall.h"
#include "hw/misc/vgpu-kfd/queue/scheduler.h"

VgpuStall *vgpu_query_stall(const VGPUStall *stall)
{
    VgpuStall *info = g_new0(VgpuStall, 1);

    if (stall->iommu) {
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
