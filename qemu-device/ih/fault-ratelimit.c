/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: rate limit of the entries of retry faults without the CAM. Each try
 * would make an entry, and a slow driver would drown in them. So the entries of
 * one page come further and further apart, while queues go on trying.
 */
#include "qemu/osdep.h"
#include "qemu/timer.h"
#include "vgpu/pte.h"
#include "hw/misc/vgpu-kfd/ih/internal.h"
#include "hw/misc/vgpu-kfd/memory/client.h"

#define PACE_MAX_NS         (64 * SCALE_MS)
#define PACE_FORGET_NS      (4 * PACE_MAX_NS)   /* since the last try */

/* When a slot was used last; -1: it is free. */
static int64_t last_use(const VGPUPace *p)
{
    return p->interval ? p->tried : -1;
}

/* The page's slot, or the one unused for longest. s->lock held. */
static VGPUPace *pace_slot(VGPUState *s, unsigned hub, unsigned vmid,
                           uint64_t page)
{
    VGPUPace *oldest = &s->ih->pace[0];
    unsigned i;

    for (i = 0; i < VGPU_PACE_SLOTS; i++) {
        VGPUPace *p = &s->ih->pace[i];

        if (p->interval && p->hub == hub && p->vmid == vmid &&
            p->page == page) {
            return p;
        }
        if (last_use(p) < last_use(oldest)) {
            oldest = p;
        }
    }
    *oldest = (VGPUPace) { .hub = hub, .vmid = vmid, .page = page };
    return oldest;
}

bool vgpu_fault_ratelimit(VGPUState *s, unsigned hub, unsigned vmid,
                          uint64_t page, int64_t now, uint32_t *serial)
{
    VGPUPace *p = pace_slot(s, hub, vmid, page);

    if (now - p->tried > PACE_FORGET_NS) {
        p->interval = 0;
    }
    p->tried = now;
    if (p->interval && now < p->due) {
        *serial = p->serial;
        return false;
    }
    p->interval = p->interval ? MIN(2 * p->interval, PACE_MAX_NS)
                              : VGPU_RETRY_INTERVAL_NS;
    p->due = now + p->interval;
    p->serial = s->ih->fault_serial + 1;
    return true;
}

void vgpu_fault_over(VGPUClient *c, unsigned vmid, uint64_t va)
{
    VGPUState *s = c->s;
    uint64_t page = va >> VGPU_PAGE_SHIFT;
    unsigned i;

    QEMU_LOCK_GUARD(&s->lock);
    for (i = 0; i < VGPU_PACE_SLOTS; i++) {
        VGPUPace *p = &s->ih->pace[i];

        if (p->hub == c->hub && p->vmid == vmid && p->page == page) {
            *p = (VGPUPace) { 0 };
        }
    }
}
