/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: reports of VM faults: interrupt entries, and the retry CAM, which
 * merges retry faults on one page.
 */
#ifndef HW_MISC_VGPU_KFD_IH_FAULT_H
#define HW_MISC_VGPU_KFD_IH_FAULT_H

#include "vgpu/ih.h"
#include "hw/misc/vgpu-kfd/core/stall.h"
#include "hw/misc/vgpu-kfd/memory/client.h"
#include "hw/misc/vgpu-kfd/memory/span.h"

/**
 * vgpu_cam_init: create the timer of the retry CAM
 * @s: device
 *
 * Context: BQL held.
 */
void vgpu_cam_init(VGPUState *s);

/**
 * vgpu_cam_destroy: free the timer of the retry CAM
 * @s: device
 *
 * Context: BQL held.
 */
void vgpu_cam_destroy(VGPUState *s);

/**
 * vgpu_fault_report_noretry: report a no-retry fault
 * @c: client
 * @vmid: VMID
 * @va: GPU address
 * @span: translation that ended in the fault
 * @quiet: true: push no interrupt entry
 *
 * The function sets fault status and fault address. Unless @quiet is set, it
 * pushes an interrupt entry if the interrupt bit of the fault's class is set in
 * VM_CONTEXT_CNTL, or if the class has no such bit.
 *
 * Context: any thread. Takes s->lock.
 */
void vgpu_fault_report_noretry(VGPUClient *c, unsigned vmid, uint64_t va,
                               const VGPUSpan *span, bool quiet);

/**
 * vgpu_fault_report_retry: report a retry fault, unless it was reported already
 * @c: client
 * @vmid: VMID
 * @va: GPU address
 * @write: the access is a write
 * @stall: The caller sets the members hub, vmid, va, write and invs for the
 *         access. The caller also sets member serial: to 0 at the first stall
 *         of an access, and at a later stall to the value from the stall
 *         before. (With it, an access is counted as merged only once.)
 *         The function sets member why, member cam for VGPU_WAIT_CAM, and
 *         member until for VGPU_WAIT_RETRY. It sets member serial to the serial
 *         number of the page's last reported fault, or to 0 if the interrupt is
 *         disabled or no CAM slot is free.
 *
 * If VM_L2_PROTECTION_FAULT_CNTL2.ENABLE_RETRY_INTERRUPT is 0, the function
 * pushes no interrupt entry. Otherwise:
 * - If the CAM is on, and the page has no CAM slot, the page gets a free slot,
 *   and the function pushes an entry. If no slot is free, no entry is pushed.
 * - If the CAM is on, and the page has a CAM slot already, the function pushes
 *   an entry only if the slot's resend time (VGPUCamSlot.due) is reached.
 * - If the CAM is off, the function pushes an entry only if the page's rate
 *   limit allows one.
 *
 * Context: any thread. Takes s->lock.
 */
void vgpu_fault_report_retry(VGPUClient *c, unsigned vmid, uint64_t va,
                             bool write, VGPUStall *stall);

/**
 * vgpu_fault_ratelimit_clear: end the rate limit of a page
 * @c: client
 * @vmid: VMID
 * @va: GPU address of an access that stalled with VGPU_WAIT_RETRY, and was then
 *      repeated without a retry fault
 *
 * Context: any thread. Takes s->lock.
 */
void vgpu_fault_ratelimit_clear(VGPUClient *c, unsigned vmid, uint64_t va);

/**
 * vgpu_fault_pending: check whether a stalled access has to wait
 * @s: device
 * @stall: stall for a retry fault
 *
 * Context: any thread. Takes s->lock.
 * Return: true if the access has to wait; false if the access is to be tried
 * again for one of these reasons:
 * - The VMID was invalidated.
 * - For VGPU_WAIT_CAM: the driver has acknowledged the CAM slot or disabled the
 *   CAM, or the slot's interrupt entry is to be sent again.
 * - For VGPU_WAIT_CAM_FREE: a CAM slot is free, or the CAM is off.
 */
bool vgpu_fault_pending(VGPUState *s, const VGPUStall *stall);

/**
 * vgpu_fault_report_spurious: for an injection, push the interrupt entry of a
 * fault that no access caused
 * @s: device
 * @hub: VGPU_HUB_*
 * @vmid: VMID
 * @va: GPU address
 * @write: true: the entry reports a write; false: a read
 * @retry: the fault is a retry fault. If the CAM is on, the entry has the
 *         page's CAM slot. If the page has no slot, the page gets a free slot.
 *         If no slot is free, nothing is pushed.
 *
 * Context: any thread. Takes s->lock.
 */
void vgpu_fault_report_spurious(VGPUState *s, unsigned hub, unsigned vmid,
                                uint64_t va, bool write, bool retry);

/**
 * vgpu_fault_serial: read the serial number of the last reported fault
 * @s: device
 *
 * Context: any thread.
 * Return: serial number, which wraps; 0 if there was no fault since the reset.
 */
uint32_t vgpu_fault_serial(VGPUState *s);

/**
 * vgpu_query_cam: list the used slots of the retry CAM for query-vgpu (query.c)
 * @s: device
 *
 * Context: s->lock held.
 * Return: list, which the caller frees.
 */
VgpuCamInfoList *vgpu_query_cam(VGPUState *s);

/**
 * vgpu_fault_inject_init: create the timer of delayed interrupt entries
 * @s: device
 *
 * Context: BQL held.
 */
void vgpu_fault_inject_init(VGPUState *s);

/**
 * vgpu_fault_inject_destroy: free the timer of delayed interrupt entries
 * @s: device
 *
 * Context: BQL held.
 */
void vgpu_fault_inject_destroy(VGPUState *s);

/**
 * vgpu_fault_inject_reset: drop delayed interrupt entries
 * @s: device
 *
 * Context: s->lock held.
 */
void vgpu_fault_inject_reset(VGPUState *s);

#endif /* HW_MISC_VGPU_KFD_IH_FAULT_H */
