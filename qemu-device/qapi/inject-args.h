/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: check of the arguments of the QMP command vgpu-inject. */
#ifndef HW_MISC_VGPU_KFD_QAPI_INJECT_ARGS_H
#define HW_MISC_VGPU_KFD_QAPI_INJECT_ARGS_H

#include "hw/misc/vgpu-kfd/inject/inject.h"

/**
 * vgpu_inject_is_immediate: check whether a kind of injection is immediate
 * @kind: kind of injection
 *
 * Return: true if the injection takes effect while the command vgpu-inject is
 * executed; false if the injection waits for an event in the device.
 */
bool vgpu_inject_is_immediate(VgpuInjectKind kind);

/**
 * vgpu_inject_parse: check the arguments of vgpu-inject
 * @s: device
 * @w: arguments
 * @args: set to the checked arguments
 * @errp: set if an argument is out of range or contradicts another
 *
 * Context: BQL held.
 * Return: true; false with @errp set.
 */
bool vgpu_inject_parse(VGPUState *s, const VgpuInjection *w,
                       VGPUInjectArgs *args, Error **errp);

#endif /* HW_MISC_VGPU_KFD_QAPI_INJECT_ARGS_H */
