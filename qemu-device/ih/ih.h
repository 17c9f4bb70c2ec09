/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: the interrupt handler: rings of entries in memory, and the MSI. */
#ifndef HW_MISC_VGPU_KFD_IH_IH_H
#define HW_MISC_VGPU_KFD_IH_IH_H

#include "qapi/qapi-types-vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/core/regs.h"

extern const VGPUBlock vgpu_ih_block;
/* Parts of the device's saved state. The opaque pointer points to VGPUIh. */
extern const VMStateDescription vmstate_vgpu_irq;
extern const VMStateDescription vmstate_vgpu_ih;
extern const VMStateDescription vmstate_vgpu_faults;


/**
 * vgpu_ih_alloc: allocate s->ih
 * @s: device
 *
 * Context: instance_init.
 */
void vgpu_ih_alloc(VGPUState *s);

/**
 * vgpu_ih_free: free the state of the interrupt handler
 * @s: device
 *
 * Context: instance_finalize. If the device was realized, vgpu_ih_exit() was
 * called before.
 */
void vgpu_ih_free(VGPUState *s);

/**
 * vgpu_ih_init: create the bottom half that sends an MSI
 * @s: device
 *
 * Context: BQL held, before the first entry is pushed.
 */
void vgpu_ih_init(VGPUState *s);

/**
 * vgpu_ih_exit: drop queued entries and delete the bottom half
 * @s: device
 *
 * Context: BQL held, after the last entry is pushed.
 */
void vgpu_ih_exit(VGPUState *s);

/**
 * vgpu_ih_reset: reset rings, client configuration, retry CAM and fault reports
 * @s: device
 *
 * vgpu_reg_reset() resets the registers.
 *
 * Context: BQL and s->lock held.
 */
void vgpu_ih_reset(VGPUState *s);

/**
 * vgpu_ih_push: push an interrupt entry
 * @s: device
 * @client: IH_CLIENT_*; the client's register IH_CLIENT_CFG_DATA selects the
 *          ring that gets the entry
 * @source: IH_SRC_*
 * @ring: value of the entry's RING field; does not select the ring
 * @vmid: VMID
 * @mm_hub: @vmid is in the MM hub, not the GFX hub
 * @data: source data, four dwords
 *
 * Context: any thread, s->lock held.
 */
void vgpu_ih_push(VGPUState *s, uint8_t client, uint8_t source, uint8_t ring,
                  unsigned vmid, bool mm_hub, const uint32_t *data);

/**
 * vgpu_ih_pasid: read the PASID that interrupt entries of a VMID get
 * @s: device
 * @vmid: VMID
 * @mm_hub: as for vgpu_ih_push()
 *
 * Context: any thread.
 * Return: PASID.
 */
uint16_t vgpu_ih_pasid(VGPUState *s, unsigned vmid, bool mm_hub);

/**
 * vgpu_ih_set_pasid: set the PASID of a VMID, for both hubs
 * @s: device
 * @vmid: VMID
 * @pasid: PASID
 *
 * Context: any thread.
 */
void vgpu_ih_set_pasid(VGPUState *s, unsigned vmid, uint16_t pasid);

/**
 * vgpu_ih_doorbell: handle a doorbell in the interrupt handler's range
 * @s: device
 * @dword: offset in BAR 2, in dwords
 * @val: value
 *
 * Context: BQL held.
 */
void vgpu_ih_doorbell(VGPUState *s, uint32_t dword, uint32_t val);

/**
 * vgpu_ih_write_begin: announce a write to BAR 2 or BAR 5
 * @s: device
 *
 * An MSI that this write makes due is sent by vgpu_ih_write_end(), which spares
 * the wake-up of the main loop for the bottom half.
 *
 * Context: BQL held.
 */
void vgpu_ih_write_begin(VGPUState *s);

/**
 * vgpu_ih_write_end: send the MSI that a write to a BAR has made due
 * @s: device
 *
 * The MSI is a write to an address that the guest chooses, so it may even
 * unplug the device. The caller must not use @s afterwards.
 *
 * Context: BQL held, and no lock of the device.
 */
void vgpu_ih_write_end(VGPUState *s);

/**
 * vgpu_ih_resume: when the machine runs again, send the MSI that was due
 * @s: device
 *
 * Context: BQL held.
 */
void vgpu_ih_resume(VGPUState *s);

/**
 * vgpu_ih_cancel: cancel the MSI if one is due, and drop queued entries
 * @s: device
 *
 * Context: BQL and s->lock held.
 */
void vgpu_ih_cancel(VGPUState *s);

/**
 * vgpu_ih_flush: push the entries that wait for an IOMMU translation
 * @s: device
 * @all: true: push all entries; false: at most DEFERRED_BATCH, the rest later
 *
 * Context: BQL held, no lock of the device.
 * Return: false if the device was unplugged meanwhile.
 */
bool vgpu_ih_flush(VGPUState *s, bool all);

/**
 * vgpu_query_vmids: list the enabled VMIDs of both hubs for query-vgpu
 * (query.c)
 * @s: device
 *
 * Context: BQL held.
 * Return: list, which the caller frees.
 */
VgpuVmidInfoList *vgpu_query_vmids(VGPUState *s);

/**
 * vgpu_query_ih_ring: describe an interrupt ring for query-vgpu (query.c)
 * @s: device
 * @ring: below IH_NUM_RINGS
 *
 * Context: s->lock held.
 * Return: description, which the caller frees.
 */
VgpuInterruptInfo *vgpu_query_ih_ring(VGPUState *s, unsigned ring);

#endif /* HW_MISC_VGPU_KFD_IH_IH_H */
