/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: allocation of VGPUMemory. VGPUMemory is freed with the device's
 * object, not at unrealize: the machine, peers and RCU may use the memory
 * regions after unrealize.
 */
#include "qemu/osdep.h"
#include "hw/misc/vgpu-kfd/core/vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/memory/internal.h"
#include "hw/misc/vgpu-kfd/memory/memory.h"

void vgpu_memory_alloc(VGPUState *s)
{
    s->memory = g_new0(VGPUMemory, 1);
    s->memory->s = s;
}

void vgpu_memory_free(VGPUState *s)
{
    g_free(s->memory);
}
