/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: execution of dispatches, which is not implemented. */
#include "qemu/osdep.h"
#include "hw/misc/vgpu-kfd/shader/shader.h"

VGPUDispatchStep vgpu_shader_dispatch(const VGPUDispatch *d)
{
    return VGPU_DISPATCH_UNSUPPORTED;
}
