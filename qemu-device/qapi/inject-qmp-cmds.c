/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: making things go wrong on purpose: the operator's commands.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/qapi-commands-vgpu-kfd.h"
#include "vgpu/cp.h"
#include "vgpu/gmc.h"
#include "vgpu/pte.h"
#include "vgpu/sdma.h"
#include "hw/misc/vgpu-kfd/core/vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/ih/fault.h"
#include "hw/misc/vgpu-kfd/inject/inject.h"
#include "hw/misc/vgpu-kfd/memory/vram.h"
#include "hw/misc/vgpu-kfd/pci/removal.h"

#define AT_ONCE_MAX     1024u   /* for kinds that happen at once */

static VGPUState *find_device(const char *name, Error **errp)
{
    bool ambiguous = false;
    Object *obj = object_resolve_path_type(name ?: "", TYPE_VGPU_KFD,
                                           &ambiguous);

    if (ambiguous) {
        error_setg(errp, "there are several vgpu-kfd devices%s%s: name one by "
                   "its id or path", name ? " that may be " : "", name ?: "");
    } else if (!obj || !DEVICE(obj)->realized) {
        error_setg(errp, "there is no vgpu-kfd device%s%s",
                   name ? " " : "", name ?: "");
    } else {
        return VGPU_KFD(obj);
    }
    return NULL;
}

/* Kinds whose occasion is the command itself. */
static bool is_immediate(const VgpuInjection *w)
{
    return w->kind == VGPU_INJECT_KIND_FAULT_SPURIOUS ||
           w->kind == VGPU_INJECT_KIND_VRAM_LOST ||
           w->kind == VGPU_INJECT_KIND_SURPRISE_REMOVAL;
}

static bool check_immediate(const VgpuInjection *w, Error **errp)
{
    if (w->has_skip || w->has_probability || w->has_engine || w->has_queue ||
        w->has_me || w->has_pipe) {
        error_setg(errp, "%s happens at once: skip, probability, engine, me, "
                   "pipe and queue make no sense", VgpuInjectKind_str(w->kind));
        return false;
    }
    if (w->count > AT_ONCE_MAX) {
        error_setg(errp, "count must be %u at most", AT_ONCE_MAX);
        return false;
    }
    return true;
}

/* Do the members make sense together? */
static bool check(const VgpuInjection *w, Error **errp)
{
    unsigned queues = w->has_me || w->has_pipe ? CP_NUM_QUEUES
                                               : SDMA_NUM_QUEUES;

    if (w->has_probability && !(w->probability >= 0 && w->probability <= 1)) {
        error_setg(errp, "probability must be from 0 to 1");
    } else if (w->has_vmid && w->vmid >= VGPU_NUM_VMIDS) {
        error_setg(errp, "vmid must be below %u", VGPU_NUM_VMIDS);
    } else if (w->has_engine && w->engine >= SDMA_NUM_ENGINES) {
        error_setg(errp, "engine must be below %u", SDMA_NUM_ENGINES);
    } else if (w->has_me && (!w->me || w->me > CP_NUM_MECS)) {
        error_setg(errp, "me must be from 1 to %u", CP_NUM_MECS);
    } else if (w->has_pipe && w->pipe >= CP_NUM_PIPES) {
        error_setg(errp, "pipe must be below %u", CP_NUM_PIPES);
    } else if (w->has_engine && (w->has_me || w->has_pipe)) {
        error_setg(errp, "engine is for SDMA, me and pipe are for compute");
    } else if (w->has_queue && w->queue >= queues) {
        error_setg(errp, "queue must be below %u", queues);
    } else if (w->has_length && !w->length) {
        error_setg(errp, "length must not be 0");
    } else if (w->kind == VGPU_INJECT_KIND_SDMA_SLOW &&
               !w->u.sdma_slow.bytes_per_second) {
        error_setg(errp, "bytes-per-second must not be 0");
    } else if (w->kind == VGPU_INJECT_KIND_SDMA_WRONG_BYTE &&
               w->u.sdma_wrong_byte.has_q_xor && !w->u.sdma_wrong_byte.q_xor) {
        error_setg(errp, "xor must not be 0");
    } else {
        return !is_immediate(w) || check_immediate(w, errp);
    }
    return false;
}

/*
 * The command is an occasion that @i, with arguments @w, takes. False: @i takes
 * no more occasions.
 */
static bool happen(VGPUState *s, VGPUInjection *i, const VgpuInjection *w)
{
    /* Rounded up; DIV_ROUND_UP() overflows where the length is near 2^64. */
    uint64_t pages = w->has_length ? (w->length - 1) / VGPU_PAGE_SIZE + 1 : 1;
    VGPUSite site = {
        .hub = w->has_hub && w->hub == VGPU_HUB_KIND_GFX ? VGPU_HUB_GFX
                                                         : VGPU_HUB_MM,
        .vmid = w->vmid, .engine = VGPU_SITE_NONE, .queue = VGPU_SITE_NONE,
        .va = w->start,
    };
    VGPUShot shot = { 0 };

    if (!vgpu_inject_now(s, i, &site, &shot)) {
        return false;
    }
    switch (w->kind) {
    case VGPU_INJECT_KIND_FAULT_SPURIOUS:
        vgpu_fault_spurious(s, site.hub, site.vmid,
                            w->start + shot.random % pages * VGPU_PAGE_SIZE,
                            w->u.fault_spurious.write,
                            w->u.fault_spurious.retry);
        break;
    case VGPU_INJECT_KIND_VRAM_LOST:
        vgpu_inject_lose(s, w, shot.random);
        break;
    default:
        break;
    }
    return true;
}

VgpuInjectionId *qmp_vgpu_inject(VgpuInjection *what, Error **errp)
{
    VGPUState *s = find_device(what->device, errp);
    VgpuInjectionId *id;
    VGPUInjection *i;

    if (!s || !check(what, errp)) {
        return NULL;
    }
    if (vgpu_inject_full(s)) {
        error_setg(errp, "the device has %u injections: remove some",
                   VGPU_INJECTIONS_MAX);
        return NULL;
    }
    if (what->kind == VGPU_INJECT_KIND_SURPRISE_REMOVAL &&
        !vgpu_remove(s, errp)) {
        return NULL;
    }
    i = vgpu_inject_add(s, what, is_immediate(what));
    while (is_immediate(what) && happen(s, i, what)) {
        /* as often as count says */
    }
    id = g_new0(VgpuInjectionId, 1);
    id->id = vgpu_inject_id(i);
    return id;
}

typedef struct Search {
    uint32_t id;
    bool found;
} Search;

static int remove_in(Object *obj, void *opaque)
{
    Search *search = opaque;

    if (!object_dynamic_cast(obj, TYPE_VGPU_KFD) || !DEVICE(obj)->realized) {
        return 0;
    }
    search->found = vgpu_inject_remove(VGPU_KFD(obj), search->id);
    return search->found;
}

void qmp_vgpu_inject_remove(uint32_t id, Error **errp)
{
    Search search = { .id = id };

    object_child_foreach_recursive(object_get_root(), remove_in, &search);
    if (!search.found) {
        error_setg(errp, "there is no injection %u", id);
    }
}
