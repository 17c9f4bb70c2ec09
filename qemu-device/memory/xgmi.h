/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: XGMI. The devices of a hive access each other's VRAM. */
#ifndef HW_MISC_VGPU_KFD_MEMORY_XGMI_H
#define HW_MISC_VGPU_KFD_MEMORY_XGMI_H

#include "qapi/qapi-types-vgpu-kfd.h"

/* Maximum number of devices in a hive. */
#define VGPU_XGMI_NODES         16

typedef struct VGPUState VGPUState;

/**
 * vgpu_xgmi_join: join the hive of property "hive", if set
 * @s: device; VGPU_NODE_AUTO in s->node becomes the lowest free number
 * @errp: set in these cases:
 *        - "node" is out of range, taken, or without a hive
 *        - the hive is full
 *        - the hive's devices have another size of VRAM
 *
 * Context: BQL held.
 * Return: true; false with @errp set.
 */
bool vgpu_xgmi_join(VGPUState *s, Error **errp);

/**
 * vgpu_xgmi_leave: leave the hive, and wait until no peer accesses VRAM
 * @s: device, whose threads have ended
 *
 * When all devices have left the hive, QMP command object-del may delete it.
 *
 * Context: BQL held.
 */
void vgpu_xgmi_leave(VGPUState *s);

/**
 * vgpu_xgmi_remove: after a surprise removal, wait until no peer accesses VRAM
 * @s: device that was removed; s->removed is set, so that peers begin no new
 *     accesses
 *
 * Context: BQL held.
 */
void vgpu_xgmi_remove(VGPUState *s);

/**
 * vgpu_xgmi_hive_id: read the id of the hive
 * @s: device
 *
 * Context: BQL held.
 * Return: id as the guest reads it, or 0 if the device is in no hive.
 */
uint64_t vgpu_xgmi_hive_id(VGPUState *s);

/**
 * vgpu_query_hive: describe the hive for query-vgpu
 * @s: device
 *
 * Context: BQL held.
 * Return: description, which the caller frees, or NULL if the device is in no
 * hive.
 */
VgpuHiveInfo *vgpu_query_hive(VGPUState *s);

/**
 * vgpu_xgmi_read_links: read register VGPU_XGMI_LINKS
 * @s: device
 *
 * The read lets xgmi-down injections take effect. If a link is down, the
 * function waits until no access in progress uses this link.
 *
 * Context: BQL held.
 * Return: mask of nodes whose link is up.
 */
uint32_t vgpu_xgmi_read_links(VGPUState *s);

#endif /* HW_MISC_VGPU_KFD_MEMORY_XGMI_H */
