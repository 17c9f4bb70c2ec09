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
 * @quiet: only update the hub's fault status, push no interrupt entry
 *
 * Context: any thread. Takes s->lock.
 */
void vgpu_fault_report_noretry(VGPUClient *c, unsigned vmid, uint64_t va,
                               const VGPUSpan *span, bool quiet);

/**
 * vgpu_fault_report_retry: report a retry fault, unless already reported
 * @c: client
 * @vmid: VMID
 * @va: GPU address
 * @write: the access is a write
 * @stall: The caller sets member @serial to 0 before the first call for an
 *         access, and then does not change @serial. Each call sets @serial and
 *         @why. If the new @why uses @cam or @until, the call sets that member.
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
 * If the access waits for a free CAM slot and no slot is free, the next
 * acknowledge calls vgpu_clients_slot_freed(). The caller holds the lock of the
 * queue's worker, so that this call finds the queue waiting.
 *
 * Context: any thread. Takes s->lock.
 * Return: true: wait on; false: try the access again.
 */
bool vgpu_fault_pending(VGPUState *s, const VGPUStall *stall);

/**
 * vgpu_fault_report_spurious: report an injected fault, without an access
 * @s: device
 * @hub: VGPU_HUB_*
 * @vmid: VMID
 * @va: GPU address
 * @write: report a write, not a read
 * @retry: report a retry fault; needs a CAM slot if the CAM is on
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
