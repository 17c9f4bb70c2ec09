/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: the interrupt handler: rings of entries in memory, and the MSI. */
#ifndef HW_MISC_VGPU_KFD_IH_IH_H
#define HW_MISC_VGPU_KFD_IH_IH_H

#include "qapi/qapi-types-vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/core/regs.h"

extern const VGPUBlock vgpu_ih_block;
/* Parts of the saved state: each of VGPUIh. */
extern const VMStateDescription vmstate_vgpu_irq;
extern const VMStateDescription vmstate_vgpu_ih;
extern const VMStateDescription vmstate_vgpu_faults;


/* Allocate and free s->ih: instance_init, instance_finalize. */
void vgpu_ih_alloc(VGPUState *s);
void vgpu_ih_free(VGPUState *s);
/* Before the first entry, and after the last one. BQL held. */
void vgpu_ih_init(VGPUState *s);
void vgpu_ih_exit(VGPUState *s);
/* Reset all but registers, and fault reports. BQL and s->lock held. */
void vgpu_ih_reset(VGPUState *s);
/*
 * Push an entry. @ring: ring field; @mm_hub: whose VMID; @data: four dwords.
 * Any thread, s->lock held.
 */
void vgpu_ih_push(VGPUState *s, uint8_t client, uint8_t source, uint8_t ring,
                  unsigned vmid, bool mm_hub, const uint32_t *data);
/* The PASID in entries of faults in @vmid; set for both hubs. Any thread. */
uint16_t vgpu_ih_pasid(VGPUState *s, unsigned vmid, bool mm_hub);
void vgpu_ih_set_pasid(VGPUState *s, unsigned vmid, uint16_t pasid);
/* A doorbell in the interrupt handler's range, by dword index. BQL held. */
void vgpu_ih_doorbell(VGPUState *s, uint32_t dword, uint32_t val);
/* The machine goes on: send an MSI that is due. BQL held. */
void vgpu_ih_resume(VGPUState *s);
/* Send no MSI, drop all queued entries. BQL and s->lock held. */
void vgpu_ih_cancel(VGPUState *s);
/*
 * Call the IOMMU and push queued entries: @all of them, or at most
 * DEFERRED_BATCH, so that the main loop is not blocked for long. False: as
 * vgpu_iommu_request(). BQL held, no lock of the device.
 */
bool vgpu_ih_flush(VGPUState *s, bool all);

/* query.c: for query-vgpu. VMIDs: BQL; a ring: s->lock held. */
VgpuVmidInfoList *vgpu_query_vmids(VGPUState *s);
VgpuInterruptInfo *vgpu_query_ih_ring(VGPUState *s, unsigned ring);

#endif /* HW_MISC_VGPU_KFD_IH_IH_H */
