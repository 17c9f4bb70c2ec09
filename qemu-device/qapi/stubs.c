/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: QMP commands in a build without the device. */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/qapi-commands-vgpu-kfd.h"

VgpuInfoList *qmp_query_vgpu(Error **errp)
{
    return NULL;
}

HumanReadableText *qmp_x_query_vgpu(Error **errp)
{
    error_setg(errp, "vgpu-kfd is not compiled in");
    return NULL;
}

VgpuInjectionId *qmp_vgpu_inject(VgpuInjection *what, Error **errp)
{
    error_setg(errp, "vgpu-kfd is not compiled in");
    return NULL;
}

void qmp_vgpu_inject_remove(uint32_t id, Error **errp)
{
    error_setg(errp, "vgpu-kfd is not compiled in");
}
