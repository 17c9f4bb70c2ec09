/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: the two VM hubs: their registers, and invalidation of translations.
 */
#ifndef HW_MISC_VGPU_KFD_MEMORY_HUB_H
#define HW_MISC_VGPU_KFD_MEMORY_HUB_H

#include "vgpu/gmc.h"
#include "hw/misc/vgpu-kfd/core/regs.h"
#include "hw/misc/vgpu-kfd/memory/client.h"

extern const VGPUBlock vgpu_hub_gfx_block, vgpu_hub_mm_block;
extern const VGPUBlock vgpu_athub_block;

/**
 * vgpu_hub_reg: read the stored value of a hub's register
 * @s: device
 * @hub: VGPU_HUB_*
 * @off: dword offset in the hub, below HUB_SPAN
 *
 * Does not call VGPUReg.read().
 *
 * Context: any thread.
 * Return: value.
 */
uint32_t vgpu_hub_reg(VGPUState *s, unsigned hub, unsigned off);

/**
 * vgpu_hub_reg64: read the stored values of two registers of a hub
 * @s: device
 * @hub: VGPU_HUB_*
 * @lo: dword offset of the low half in the hub
 *
 * Context: any thread. The two reads together are not atomic.
 * Return: value.
 */
uint64_t vgpu_hub_reg64(VGPUState *s, unsigned hub, unsigned lo);

/**
 * vgpu_hub_invalidations: read the number of invalidations of a VMID
 * @s: device
 * @hub: VGPU_HUB_*
 * @vmid: VMID
 *
 * Context: any thread.
 * Return: number of all invalidations of @vmid in @hub, both of ranges and of
 * all pages. The number wraps.
 */
uint32_t vgpu_hub_invalidations(VGPUState *s, unsigned hub, unsigned vmid);

/**
 * vgpu_hub_fb_base: find this device's VRAM in the FB aperture of VMID 0
 * @s: device
 * @hub: VGPU_HUB_*
 *
 * Context: any thread.
 * Return: GPU address of the first byte of VRAM.
 */
uint64_t vgpu_hub_fb_base(VGPUState *s, unsigned hub);

/**
 * vgpu_hub_has: check whether a register belongs to a hub
 * @reg: dword offset in BAR 5
 *
 * Context: any thread.
 * Return: true if @reg is in the range of registers of one of the two hubs.
 */
static inline bool vgpu_hub_has(uint32_t reg)
{
    return reg - HUB(VGPU_HUB_GFX) < HUB_SPAN ||
           reg - HUB(VGPU_HUB_MM) < HUB_SPAN;
}

/**
 * vgpu_hub_kind: name a hub in a reply to query-vgpu
 * @hub: VGPU_HUB_*
 *
 * Return: QAPI value.
 */
static inline VgpuHubKind vgpu_hub_kind(unsigned hub)
{
    return hub == VGPU_HUB_MM ? VGPU_HUB_KIND_MM : VGPU_HUB_KIND_GFX;
}

/**
 * vgpu_query_invalidations: list invalidations that are not acknowledged
 * @s: device
 *
 * Context: the caller holds s->lock.
 * Return: list for query-vgpu, which the caller frees.
 */
VgpuInvalidationInfoList *vgpu_query_invalidations(VGPUState *s);

/**
 * vgpu_invalidate_vmids: invalidate all translations of VMIDs
 * @s: device
 * @hub: VGPU_HUB_*
 * @vmids: mask of VMIDs
 *
 * Accesses in progress may still use the old translations.
 *
 * Context: s->lock held.
 */
void vgpu_invalidate_vmids(VGPUState *s, unsigned hub, uint32_t vmids);

/**
 * vgpu_invalidate_complete: acknowledge pending invalidations
 * @s: device
 *
 * An invalidation stays pending if an access in progress may still use old
 * translations, or if an injection suppresses the acknowledge.
 *
 * Context: any thread. Takes s->lock.
 */
void vgpu_invalidate_complete(VGPUState *s);

/**
 * vgpu_fault_interrupt_bit: find the interrupt enable bit of a class of faults
 * @fault: class of no-retry faults: VGPUSpan.fault
 *
 * Context: any thread.
 * Return: bit of VM_CONTEXT_CNTL, or 0 if the interrupt is always enabled.
 */
uint32_t vgpu_fault_interrupt_bit(uint16_t fault);

/**
 * vgpu_hub_latch_fault: set fault status and address in a client's hub
 * @c: client
 * @vmid: VMID
 * @va: GPU address
 * @span: translation with the no-retry fault
 *
 * Context: s->lock held.
 */
void vgpu_hub_latch_fault(const VGPUClient *c, unsigned vmid, uint64_t va,
                          const VGPUSpan *span);

/**
 * vgpu_hub_set_root: set a VMID's page table in both hubs
 * @s: device
 * @vmid: VMID
 * @root: value of VM_CONTEXT_PAGE_TABLE_BASE_ADDR
 *
 * Also invalidates @vmid, and wakes queues with a retry fault.
 *
 * Context: any thread, no device lock held.
 */
void vgpu_hub_set_root(VGPUState *s, unsigned vmid, uint64_t root);

/**
 * vgpu_athub_set_pasid: set ATC_VMID_PASID_MAPPING of a VMID, for both hubs
 * @s: device
 * @vmid: VMID
 * @pasid: PASID
 * @valid: the mapping is valid
 *
 * Context: any thread.
 */
void vgpu_athub_set_pasid(VGPUState *s, unsigned vmid, uint16_t pasid,
                          bool valid);

#endif /* HW_MISC_VGPU_KFD_MEMORY_HUB_H */
