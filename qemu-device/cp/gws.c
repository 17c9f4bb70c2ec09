/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: global wave sync (GWS): resources by which the waves of a dispatch
 * wait for each other. The model has no waves. It only allocates the resources:
 * each process with a VMID has a contiguous range.
 */
#include "qemu/osdep.h"
#include "qemu/bitops.h"
#include "qemu/host-utils.h"
#include "migration/vmstate.h"
#include "vgpu/bits.h"
#include "vgpu/gmc.h"
#include "hw/misc/vgpu-kfd/core/trace.h"
#include "hw/misc/vgpu-kfd/cp/internal.h"

/*
 * Return a mask of @num contiguous resources that are in mask @from. Return 0
 * if @from has no such range.
 */
static uint64_t gws_find_range(uint64_t from, unsigned num)
{
    unsigned base;

    for (base = 0; base + num <= GWS_NUM; base++) {
        uint64_t want = MAKE_64BIT_MASK(base, num);

        if ((from & want) == want) {
            return want;
        }
    }
    return 0;
}

static void gws_set(VGPUCp *cp, unsigned vmid, uint64_t mask)
{
    unsigned num = ctpop64(mask);

    if (mask != cp->hws.gws[vmid]) {
        trace_vgpu_hws_gws(cp->s->id, vmid, mask);
    }
    cp->hws.gws[vmid] = mask;
    qatomic_set(&cp->gws_vmid[vmid], VGPU_PREP(GDS_GWS_VMID__SIZE, num) |
                VGPU_PREP(GDS_GWS_VMID__BASE, num ? ctz64(mask) : 0u));
}

bool vgpu_cp_gws_grant(VGPUCp *cp, unsigned vmid, unsigned num)
{
    uint64_t spare = cp->gws_mask, mask = 0;
    unsigned v;

    if (num && ctpop64(cp->hws.gws[vmid]) == num) {
        return true;
    }
    for (v = 0; v < VGPU_NUM_VMIDS; v++) {
        spare &= v == vmid ? UINT64_MAX : ~cp->hws.gws[v];
    }
    if (num) {
        mask = gws_find_range(spare, num);
        if (!mask) {
            return false;
        }
    }
    gws_set(cp, vmid, mask);
    return true;
}

void vgpu_cp_gws_revoke(VGPUCp *cp, unsigned vmid)
{
    gws_set(cp, vmid, 0);
}

/*
 * Return true if the state differs from the reset state. Test hws.gws, too: for
 * a VMID with all 64 resources, gws_vmid[] has the reset value.
 */
static bool gws_needed(void *opaque)
{
    const VGPUCp *cp = opaque;
    unsigned v;

    for (v = 0; v < VGPU_NUM_VMIDS; v++) {
        if (cp->hws.gws[v] || cp->gws_vmid[v] != GDS_GWS_VMID_RESET) {
            return true;
        }
    }
    return cp->gws_mask || cp->hws.process.num_gws;
}

/*
 * Check that the resources of each VMID are contiguous, that only VMIDs of
 * processes have resources, and that no resource belongs to two VMIDs.
 */
static int gws_post_load(void *opaque, int version_id)
{
    VGPUCp *cp = opaque;
    uint64_t used = 0;
    unsigned v;

    if (cp->hws.process.num_gws > GWS_NUM) {
        return -EINVAL;
    }
    for (v = 0; v < VGPU_NUM_VMIDS; v++) {
        uint64_t mask = cp->hws.gws[v];

        if (mask && ((used & mask) || !(cp->hws.vmids & (1u << v)) ||
                     gws_find_range(mask, ctpop64(mask)) != mask)) {
            return -EINVAL;
        }
        used |= mask;
        cp->gws_vmid[v] &= GDS_GWS_VMID__BASE | GDS_GWS_VMID__SIZE;
    }
    return 0;
}

const VMStateDescription vmstate_vgpu_cp_gws = {
    .name = "vgpu-kfd/cp/gws",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = gws_needed,
    .post_load = gws_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT64(gws_mask, VGPUCp),
        VMSTATE_UINT32_ARRAY(gws_vmid, VGPUCp, VGPU_NUM_VMIDS),
        VMSTATE_UINT64_ARRAY(hws.gws, VGPUCp, VGPU_NUM_VMIDS),
        VMSTATE_UINT8(hws.process.num_gws, VGPUCp),
        VMSTATE_END_OF_LIST()
    },
};
