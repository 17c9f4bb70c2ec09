/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: XGMI. All devices of a hive (hive.c) use the same offsets for the
 * hive's VRAM: the VRAM of node n begins at n * (VRAM size of one device). The
 * FB aperture and page-table entries give access to all these offsets.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/host-utils.h"
#include "exec/memory.h"
#include "vgpu/bits.h"
#include "hw/misc/vgpu-kfd/core/trace.h"
#include "hw/misc/vgpu-kfd/core/vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/inject/inject.h"
#include "hw/misc/vgpu-kfd/memory/hive.h"
#include "hw/misc/vgpu-kfd/memory/internal.h"
#include "hw/misc/vgpu-kfd/memory/span.h"
#include "hw/misc/vgpu-kfd/memory/xgmi.h"

/*
 * Return the node number that @s gets in its hive, or -1 with @errp set. The
 * caller holds the BQL.
 */
static int xgmi_find_node(VGPUState *s, Error **errp)
{
    VGPUHive *h = s->hive;
    int n, lowest = -1;

    for (n = VGPU_XGMI_NODES - 1; n >= 0; n--) {
        if (!h->node[n]) {
            lowest = n;
        } else if (h->node[n]->vram_size != s->vram_size) {
            error_setg(errp, "all devices of a hive must have as much VRAM as "
                       "the first");
            return -1;
        }
    }
    if (s->node == VGPU_NODE_AUTO) {
        if (lowest < 0) {
            error_setg(errp, "a hive has at most %u devices", VGPU_XGMI_NODES);
        }
        return lowest;
    }
    if (s->node < 0 || s->node >= VGPU_XGMI_NODES) {
        error_setg(errp, "node must be from 0 to %u, not %d",
                   VGPU_XGMI_NODES - 1, s->node);
        return -1;
    }
    if (h->node[s->node]) {
        error_setg(errp, "node %d of the hive is taken by %s", s->node,
                   h->node[s->node]->id);
        return -1;
    }
    return s->node;
}

bool vgpu_xgmi_join(VGPUState *s, Error **errp)
{
    int n;

    if (!s->hive) {
        if (s->node != VGPU_NODE_AUTO) {
            error_setg(errp, "node needs a hive: property hive is missing");
            return false;
        }
        return true;
    }
    n = xgmi_find_node(s, errp);
    if (n < 0) {
        return false;
    }
    s->node = n;
    s->memory->hive = s->hive;
    s->memory->xgmi_node = n;
    s->memory->vram_base = n * s->vram_size;
    QEMU_LOCK_GUARD(&s->hive->lock);
    s->hive->node[n] = s;
    return true;
}

/*
 * For each node of the hive, wait for accesses in progress, but not for later
 * ones. The caller holds the BQL.
 */
static void xgmi_drain_nodes(VGPUHive *h)
{
    unsigned n;

    for (n = 0; n < VGPU_XGMI_NODES; n++) {
        if (h->node[n]) {
            vgpu_clients_drain(h->node[n]);
        }
    }
}

void vgpu_xgmi_leave(VGPUState *s)
{
    VGPUHive *h = s->memory->hive;

    if (!h) {
        return;
    }
    WITH_QEMU_LOCK_GUARD(&h->lock) {
        h->node[s->memory->xgmi_node] = NULL;
    }
    xgmi_drain_nodes(h);
    s->memory->hive = NULL;
}

/*
 * Return the mask of all nodes in the hive, @s included. Return 0 if @s is in
 * no hive.
 */
static uint32_t xgmi_nodes_present(VGPUState *s)
{
    uint32_t mask = 0;
    unsigned n;

    if (s->memory->hive) {
        QEMU_LOCK_GUARD(&s->memory->hive->lock);
        for (n = 0; n < VGPU_XGMI_NODES; n++) {
            mask |= s->memory->hive->node[n] ? 1u << n : 0;
        }
    }
    return mask;
}

/*
 * Return true if the link between @s and @peer is down at either end, or @s or
 * @peer was removed. The caller holds the hive's lock.
 */
static bool xgmi_link_is_down(VGPUState *s, VGPUState *peer)
{
    return qatomic_read(&s->removed) || qatomic_read(&peer->removed) ||
           (vgpu_inject_links_down(s) & (1u << peer->memory->xgmi_node)) ||
           (vgpu_inject_links_down(peer) & (1u << s->memory->xgmi_node));
}

void vgpu_xgmi_remove(VGPUState *s)
{
    VGPUHive *h = s->memory->hive;

    if (!h) {
        return;
    }
    /*
     * Peers map VRAM of @s under the hive's lock. After this unlock, peers read
     * s->removed as true and map no more. Then wait for accesses in progress.
     */
    qemu_mutex_lock(&h->lock);
    qemu_mutex_unlock(&h->lock);
    xgmi_drain_nodes(h);
}

void vgpu_xgmi_inject_down(VGPUState *s, VGPUSite site)
{
    uint64_t n = site.va / s->vram_size;

    if (vgpu_inject_armed(s, 1u << VGPU_INJECT_KIND_XGMI_DOWN) &&
        s->memory->hive && n < VGPU_XGMI_NODES && n != s->memory->xgmi_node) {
        vgpu_inject_xgmi_down(s, &site, n);
    }
}

uint32_t vgpu_xgmi_links(VGPUState *s)
{
    VGPUHive *h = s->memory->hive;
    uint32_t mask = 0;
    unsigned n;

    if (h) {
        QEMU_LOCK_GUARD(&h->lock);
        for (n = 0; n < VGPU_XGMI_NODES; n++) {
            if (h->node[n] && h->node[n] != s &&
                !xgmi_link_is_down(s, h->node[n])) {
                mask |= 1u << n;
            }
        }
    }
    return mask;
}

uint64_t vgpu_xgmi_hive_id(VGPUState *s)
{
    return s->memory->hive ? s->memory->hive->id : 0;
}

VgpuHiveInfo *vgpu_query_hive(VGPUState *s)
{
    VgpuHiveInfo *info;

    if (!s->memory->hive) {
        return NULL;
    }
    info = g_new0(VgpuHiveInfo, 1);
    info->id = g_strdup(object_get_canonical_path_component(OBJECT(s->hive)));
    info->hive = s->memory->hive->id;
    info->node = s->memory->xgmi_node;
    info->links = vgpu_xgmi_links(s);
    return info;
}

uint32_t vgpu_xgmi_read_links(VGPUState *s)
{
    uint32_t peers = xgmi_nodes_present(s), links;
    unsigned n;

    for (n = 0; n < VGPU_XGMI_NODES; n++) {
        if (peers & (1u << n)) {
            vgpu_xgmi_inject_down(s, (VGPUSite) {
                .hub = VGPU_SITE_NONE, .vmid = VGPU_SITE_NONE,
                .engine = VGPU_SITE_NONE, .queue = VGPU_SITE_NONE,
                .va = n * s->vram_size,
            });
        }
    }
    links = vgpu_xgmi_links(s);
    if (links != (peers & ~(1u << s->memory->xgmi_node))) {
        /* Wait until no access uses a link that is reported as down. */
        xgmi_drain_nodes(s->memory->hive);
    }
    return links;
}

uint32_t vgpu_xgmi_lfb_cntl(VGPUState *s)
{
    uint32_t mask = xgmi_nodes_present(s);

    return mask ? VGPU_PREP(MC_VM_XGMI_LFB_CNTL__PF_LFB_REGION,
                            (uint32_t)s->memory->xgmi_node) |
                  VGPU_PREP(MC_VM_XGMI_LFB_CNTL__PF_MAX_REGION,
                            31u - clz32(mask)) : 0;
}

uint32_t vgpu_xgmi_lfb_size(VGPUState *s)
{
    return s->memory->hive ? s->vram_size >> 24 : 0;
}

uint64_t vgpu_xgmi_span(VGPUState *s)
{
    uint32_t mask = xgmi_nodes_present(s);

    return mask ? (32 - clz32(mask)) * s->vram_size : s->vram_size;
}

bool vgpu_xgmi_map(VGPUState *s, VGPUSpan *span)
{
    uint64_t n = span->addr / s->vram_size, off = span->addr % s->vram_size;
    VGPUHive *h = s->memory->hive;
    VGPUState *peer;

    if (!h || n >= VGPU_XGMI_NODES) {
        return false;
    }
    QEMU_LOCK_GUARD(&h->lock);
    peer = h->node[n];
    if (!peer || (peer != s && xgmi_link_is_down(s, peer))) {
        trace_vgpu_xgmi_refused(s->id, n, span->addr, span->write);
        return false;
    }
    memory_region_ref(peer->memory->vram);
    span->host = peer->memory->vram_ptr + off;
    span->len = MIN(span->len, s->vram_size - off);
    span->mapped = true;
    return true;
}
