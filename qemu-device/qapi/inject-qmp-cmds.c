/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: the QMP commands vgpu-inject and vgpu-inject-remove.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/qapi-commands-vgpu-kfd.h"
#include "vgpu/gmc.h"
#include "vgpu/pte.h"
#include "hw/misc/vgpu-kfd/core/vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/ih/fault.h"
#include "hw/misc/vgpu-kfd/inject/inject.h"
#include "hw/misc/vgpu-kfd/memory/vram.h"
#include "hw/misc/vgpu-kfd/pci/removal.h"
#include "hw/misc/vgpu-kfd/qapi/inject-args.h"

static VGPUState *inject_find_device(const char *name, Error **errp)
{
    bool ambiguous = false;
    Object *obj = object_resolve_path_type(name ?: "", TYPE_VGPU_KFD,
                                           &ambiguous);

    if (ambiguous) {
        error_setg(errp, "there are several vgpu-kfd devices%s%s: name one by "
                   "its id or path", name ? " that may be " : "", name ?: "");
    } else if (!obj || !qdev_is_realized(DEVICE(obj))) {
        error_setg(errp, "there is no vgpu-kfd device%s%s",
                   name ? " " : "", name ?: "");
    } else {
        return VGPU_KFD(obj);
    }
    return NULL;
}

/*
 * Push an interrupt entry for a fault at f->first. With spurious->length,
 * @random selects one of the pages in that many bytes.
 */
static void inject_fault_spurious(VGPUState *s, const VGPUFilter *f,
                                  const VgpuInjectSpurious *spurious,
                                  uint64_t random)
{
    /* Round up without DIV_ROUND_UP(), which overflows near 2^64. */
    uint64_t pages = spurious->has_length ?
                     (spurious->length - 1) / VGPU_PAGE_SIZE + 1 : 1;

    vgpu_fault_report_spurious(s, f->hub == VGPU_HUB_GFX ? VGPU_HUB_GFX
                                                         : VGPU_HUB_MM,
                               spurious->vmid,
                               f->first + random % pages * VGPU_PAGE_SIZE,
                               spurious->write, spurious->retry);
}

/*
 * Let injection @i take effect once, and return true. If @i has already taken
 * effect a->count times, only return false. @w has arguments that @a lacks.
 */
static bool inject_immediate(VGPUState *s, VGPUInjection *i,
                             const VGPUInjectArgs *a, const VgpuInjection *w)
{
    const VGPUFilter *f = &a->filter;
    VGPUSite site = {
        .hub = f->hub == VGPU_HUB_GFX ? VGPU_HUB_GFX : VGPU_HUB_MM,
        .vmid = MAX(f->vmid, 0), .engine = VGPU_SITE_NONE,
        .queue = VGPU_SITE_NONE, .va = f->first,
    };
    VGPUInjectHit hit = { 0 };

    if (!vgpu_inject_now(s, i, &site, &hit)) {
        return false;
    }
    switch (a->kind) {
    case VGPU_INJECT_KIND_FAULT_SPURIOUS:
        inject_fault_spurious(s, f, &w->u.fault_spurious, hit.random);
        break;
    case VGPU_INJECT_KIND_VRAM_LOST:
        vgpu_vram_inject_lost(s, f, hit.random);
        break;
    default:
        break;
    }
    return true;
}

VgpuInjectionId *qmp_vgpu_inject(VgpuInjection *what, Error **errp)
{
    VGPUState *s = inject_find_device(what->device, errp);
    VGPUInjectArgs args;
    VgpuInjectionId *id;
    VGPUInjection *i;

    if (!s || !vgpu_inject_parse(s, what, &args, errp)) {
        return NULL;
    }
    if (vgpu_inject_full(s)) {
        error_setg(errp, "the device has %u injections: remove some",
                   VGPU_INJECTIONS_MAX);
        return NULL;
    }
    if (args.kind == VGPU_INJECT_KIND_SURPRISE_REMOVAL &&
        !vgpu_surprise_remove(s, errp)) {
        return NULL;
    }
    i = vgpu_inject_add(s, &args, what);
    while (vgpu_inject_is_immediate(args.kind) &&
           inject_immediate(s, i, &args, what)) {
        /*
         * Each call of inject_immediate() in the condition lets the injection
         * take effect once. After args.count times, it returns false.
         */
    }
    id = g_new0(VgpuInjectionId, 1);
    id->id = vgpu_inject_id(i);
    return id;
}

typedef struct InjectSearch {
    uint32_t id;
    bool found;
} InjectSearch;

static int inject_remove_in(Object *obj, void *opaque)
{
    InjectSearch *search = opaque;

    if (!object_dynamic_cast(obj, TYPE_VGPU_KFD) ||
        !qdev_is_realized(DEVICE(obj))) {
        return 0;
    }
    search->found = vgpu_inject_remove(VGPU_KFD(obj), search->id);
    return search->found;
}

void qmp_vgpu_inject_remove(uint32_t id, Error **errp)
{
    InjectSearch search = { .id = id };

    object_child_foreach_recursive(object_get_root(), inject_remove_in,
                                   &search);
    if (!search.found) {
        error_setg(errp, "there is no injection %u", id);
    }
}
