/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of vm/ share. Nobody outside the room includes it. */
#ifndef VGPU_VM_PRIV_H
#define VGPU_VM_PRIV_H

#include "../vgpu_device.h"

void vgpu_vm_publish(struct vgpu_vm *vm, bool changed);

#endif /* VGPU_VM_PRIV_H */
