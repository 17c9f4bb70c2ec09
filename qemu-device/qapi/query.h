/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: the parts of query-vgpu among themselves. */
#ifndef HW_MISC_VGPU_KFD_QUERY_H
#define HW_MISC_VGPU_KFD_QUERY_H

#include "qapi/qapi-types-vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/core/vgpu-kfd.h"

/* query.c: what a queue waits for. Its worker is held. */
VgpuStall *vgpu_query_stall(const VGPUStall *stall);
/* The same as text. */
void vgpu_print_stall(GString *buf, const VgpuStall *stall);

/* query-cp.c: the MECs. BQL held. */
VgpuComputeInfo *vgpu_query_compute(VGPUState *s);
void vgpu_print_compute(GString *buf, const VgpuComputeInfo *info);

#endif /* HW_MISC_VGPU_KFD_QUERY_H */
