/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: hives: devices whose VRAM lies side by side. */
#ifndef HW_MISC_VGPU_KFD_MEMORY_XGMI_H
#define HW_MISC_VGPU_KFD_MEMORY_XGMI_H

#include "qapi/qapi-types-vgpu-kfd.h"

#define VGPU_XGMI_NODES         16          /* of a hive, at most */

typedef struct VGPUState VGPUState;

/*
 * Take the place in s->hive that s->node names, or the lowest that is free;
 * s->node names it then. BQL held.
 */
bool vgpu_xgmi_join(VGPUState *s, Error **errp);
/*
 * Leave it. This device's threads have ended: the hive may be deleted. When the
 * function returns, no peer uses our VRAM any more. BQL held.
 */
void vgpu_xgmi_leave(VGPUState *s);
/*
 * s->removed is set. When the function returns, no peer uses our VRAM any more.
 * BQL held.
 */
void vgpu_xgmi_remove(VGPUState *s);
/* The hive's number, as the guest reads it; 0: the device is in none. */
uint64_t vgpu_xgmi_hive_id(VGPUState *s);
/* For query-vgpu. NULL: in no hive. BQL held. */
VgpuHiveInfo *vgpu_query_hive(VGPUState *s);
/* Value of the register VGPU_XGMI_LINKS. BQL held. */
uint32_t vgpu_xgmi_read_links(VGPUState *s);

#endif /* HW_MISC_VGPU_KFD_MEMORY_XGMI_H */
