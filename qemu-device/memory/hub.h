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

/* A register of a hub. Any thread. */
uint32_t vgpu_hub_reg(VGPUState *s, unsigned hub, unsigned off);
/* A pair of registers of a hub, the low half at @lo. Any thread. */
uint64_t vgpu_hub_reg64(VGPUState *s, unsigned hub, unsigned lo);
/* Number of invalidations of any page of @vmid in a hub. Any thread. */
uint32_t vgpu_hub_invalidations(VGPUState *s, unsigned hub, unsigned vmid);
/* Address of the first byte of our VRAM in the FB aperture. Any thread. */
uint64_t vgpu_hub_fb_base(VGPUState *s, unsigned hub);

/* Whether a hub has the register at dword offset @reg. */
static inline bool vgpu_hub_has(uint32_t reg)
{
    return reg - HUB(VGPU_HUB_GFX) < HUB_SPAN ||
           reg - HUB(VGPU_HUB_MM) < HUB_SPAN;
}

static inline VgpuHubKind vgpu_hub_kind(unsigned hub)
{
    return hub == VGPU_HUB_MM ? VGPU_HUB_KIND_MM : VGPU_HUB_KIND_GFX;
}

/* For query-vgpu: invalidations not acknowledged. s->lock held. */
VgpuInvalidationInfoList *vgpu_query_invalidations(VGPUState *s);
/* Drop the translations of VMIDs in mask @vmids. s->lock held. */
void vgpu_invalidate_vmids(VGPUState *s, unsigned hub, uint32_t vmids);
/* Acknowledge the invalidations that engines have passed. Any thread. */
void vgpu_invalidate_complete(VGPUState *s);
/*
 * Bit of VM_CONTEXT_CNTL that enables the interrupt of a no-retry fault of
 * class @fault (see VGPUSpan). 0: no bit, the interrupt is always enabled.
 */
uint32_t vgpu_fault_interrupt_bit(uint16_t fault);
/*
 * Set fault status and fault address of @c's hub for the no-retry fault in
 * @span, at @va, unless they hold an earlier fault. s->lock held.
 */
void vgpu_hub_latch_fault(const VGPUClient *c, unsigned vmid, uint64_t va,
                          const VGPUSpan *span);
/*
 * @vmid has the page table with root @root (as in the registers of the hubs)
 * from now on: drop its translations, wake stalled work. No lock held.
 */
void vgpu_hub_set_root(VGPUState *s, unsigned vmid, uint64_t root);
/* The PASID of @vmid for ATC requests. Any thread. */
void vgpu_athub_set_pasid(VGPUState *s, unsigned vmid, uint16_t pasid,
                          bool valid);

#endif /* HW_MISC_VGPU_KFD_MEMORY_HUB_H */
