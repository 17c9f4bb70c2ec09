/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: save and load of the device's event counters. */
#include "qemu/osdep.h"
#include "migration/qemu-file-types.h"
#include "migration/vmstate.h"
#include "hw/misc/vgpu-kfd/core/counters.h"

static int get_stat64(QEMUFile *f, void *pv, size_t size,
                      const VMStateField *field)
{
    stat64_set(pv, qemu_get_be64(f));
    return 0;
}

static int put_stat64(QEMUFile *f, void *pv, size_t size,
                      const VMStateField *field, JSONWriter *vmdesc)
{
    qemu_put_be64(f, stat64_get(pv));
    return 0;
}

const VMStateInfo vgpu_vmstate_info_stat64 = {
    .name = "stat64",
    .get = get_stat64,
    .put = put_stat64,
};
