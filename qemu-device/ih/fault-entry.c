/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: the interrupt entry of a VM fault. Format: IH_FAULT_* in
 * include/vgpu/ih.h.
 */
#include "qemu/osdep.h"
#include "vgpu/pte.h"
#include "hw/misc/vgpu-kfd/core/trace.h"
#include "hw/misc/vgpu-kfd/ih/internal.h"
#include "hw/misc/vgpu-kfd/inject/inject.h"

void vgpu_fault_send_entry(VGPUState *s, VGPUSite site, bool write, bool retry,
                           unsigned cam, uint32_t serial)
{
    unsigned hub = site.hub, vmid = site.vmid;
    uint64_t va = site.va;
    uint8_t ring = IH_RING_FAULT_VALID |
                   (write ? IH_RING_FAULT_WRITE : IH_RING_FAULT_READ);
    uint32_t data[4] = {
        va >> VGPU_PAGE_SHIFT,
        (va >> 44 & IH_FAULT_D1__VA_HI) |
        (write ? IH_FAULT_D1__WRITE : 0) | (retry ? IH_FAULT_D1__RETRY : 0),
        cam,
        serial,
    };

    if (vgpu_inject_armed(s, VGPU_INJECT_FAULT_IRQS)) {
        vgpu_fault_inject_entry(s, &site, ring, data);
    } else {
        vgpu_ih_push_fault(s, hub, vmid, ring, data);
    }
}

void vgpu_fault_send_first_entry(VGPUState *s, VGPUSite site, bool write,
                                 bool retry, unsigned cam, uint32_t serial)
{
    trace_vgpu_fault(s->id, site.hub, site.vmid, site.va, write, retry, serial,
                     cam);
    vgpu_fault_send_entry(s, site, write, retry, cam, serial);
}
