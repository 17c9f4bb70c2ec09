/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: reports of VM faults: interrupt entries, and the retry CAM that
 * merges those of one page.
 */
#ifndef HW_MISC_VGPU_KFD_IH_FAULT_H
#define HW_MISC_VGPU_KFD_IH_FAULT_H

#include "vgpu/ih.h"
#include "hw/misc/vgpu-kfd/core/stall.h"
#include "hw/misc/vgpu-kfd/memory/client.h"
#include "hw/misc/vgpu-kfd/memory/span.h"

/* Begin and end the timer of the retry CAM. BQL held. */
void vgpu_cam_init(VGPUState *s);
void vgpu_cam_destroy(VGPUState *s);

/*
 * Report a no-retry fault at @va: status, address, interrupt. With @quiet it
 * only leaves its mark in the status. Any thread.
 */
void vgpu_fault_report_noretry(VGPUClient *c, unsigned vmid, uint64_t va,
                               const VGPUSpan *span, bool quiet);
/*
 * Report a retry fault at @va, unless the CAM says that it is known, and fill
 * in why, cam, serial and until of @stall, which on entry describes the last
 * stall of the same access (or none: serial 0). Any thread.
 */
void vgpu_fault_report_retry(VGPUClient *c, unsigned vmid, uint64_t va,
                             bool write, VGPUStall *stall);
/*
 * An access that stalled without the CAM succeeds: lift the limit. Any thread.
 */
void vgpu_fault_ratelimit_clear(VGPUClient *c, unsigned vmid, uint64_t va);
/* Is there still a reason to wait, under the CAM and VMID invalidations? */
bool vgpu_fault_pending(VGPUState *s, const VGPUStall *stall);
/*
 * An entry for a fault that nobody has: @retry takes a CAM slot, if the CAM is
 * on and has one. Any thread.
 */
void vgpu_fault_report_spurious(VGPUState *s, unsigned hub, unsigned vmid,
                                uint64_t va, bool write, bool retry);

/* Number of the last fault; wraps. Any thread. */
uint32_t vgpu_fault_serial(VGPUState *s);
/* query.c: the retry CAM for query-vgpu. s->lock held. */
VgpuCamInfoList *vgpu_query_cam(VGPUState *s);
/* Injections into entries of faults. BQL held. */
void vgpu_fault_inject_init(VGPUState *s);
void vgpu_fault_inject_destroy(VGPUState *s);
/* Drop delayed entries. s->lock held. */
void vgpu_fault_inject_reset(VGPUState *s);

#endif /* HW_MISC_VGPU_KFD_IH_FAULT_H */
