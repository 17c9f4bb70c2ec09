/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: what the operator's words for an injection mean. */
#ifndef HW_MISC_VGPU_KFD_QAPI_INJECT_ARGS_H
#define HW_MISC_VGPU_KFD_QAPI_INJECT_ARGS_H

#include "hw/misc/vgpu-kfd/inject/inject.h"

/* The command is the occasion of injections of @kind. */
bool vgpu_inject_is_immediate(VgpuInjectKind kind);
/* Check @w, an injection into @s, and put what it says into @args. */
bool vgpu_inject_parse(VGPUState *s, const VgpuInjection *w,
                       VGPUInjectArgs *args, Error **errp);

#endif /* HW_MISC_VGPU_KFD_QAPI_INJECT_ARGS_H */
