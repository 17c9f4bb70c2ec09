/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: rate limit of retry faults while the CAM is off. A queue retries
 * every VGPU_RETRY_INTERVAL_NS. An interrupt entry for each retry could
 * overload the driver. Therefore the interval between the entries for a page
 * doubles, up to RATELIMIT_MAX_NS.
 */
#include "qemu/osdep.h"
#include "qemu/timer.h"
#include "migration/vmstate.h"
#include "vgpu/pte.h"
#include "hw/misc/vgpu-kfd/ih/internal.h"
#include "hw/misc/vgpu-kfd/memory/client.h"

#define RATELIMIT_MAX_NS    (64 * SCALE_MS)
/*
 * If a page is not accessed for longer than this time, the interval between the
 * page's interrupt entries starts at VGPU_RETRY_INTERVAL_NS again.
 */
#define RATELIMIT_RESET_NS  (4 * RATELIMIT_MAX_NS)

/*
 * Return the time of the last try to access a slot's page, or -1 if the slot is
 * free.
 */
static int64_t ratelimit_last_use(const VGPUFaultRateLimit *p)
{
    return p->interval ? p->tried : -1;
}

/*
 * Return the slot of a page in the table of rate limits. For a new page, take
 * the least recently used slot. The caller holds s->lock.
 */
static VGPUFaultRateLimit *ratelimit_slot(VGPUState *s, unsigned hub,
                                          unsigned vmid, uint64_t page)
{
    VGPUFaultRateLimit *oldest = &s->ih->pace[0];
    unsigned i;

    for (i = 0; i < VGPU_RATELIMIT_SLOTS; i++) {
        VGPUFaultRateLimit *p = &s->ih->pace[i];

        if (p->interval && p->hub == hub && p->vmid == vmid &&
            p->page == page) {
            return p;
        }
        if (ratelimit_last_use(p) < ratelimit_last_use(oldest)) {
            oldest = p;
        }
    }
    *oldest = (VGPUFaultRateLimit) { .hub = hub, .vmid = vmid, .page = page };
    return oldest;
}

bool vgpu_fault_ratelimit(VGPUState *s, unsigned hub, unsigned vmid,
                          uint64_t page, int64_t now, uint32_t *serial)
{
    VGPUFaultRateLimit *p = ratelimit_slot(s, hub, vmid, page);

    if (now - p->tried > RATELIMIT_RESET_NS) {
        p->interval = 0;
    }
    p->tried = now;
    if (p->interval && now < p->due) {
        *serial = p->serial;
        return false;
    }
    p->interval = p->interval ? MIN(2 * p->interval, RATELIMIT_MAX_NS)
                              : VGPU_RETRY_INTERVAL_NS;
    p->due = now + p->interval;
    p->serial = s->ih->fault_serial + 1;
    return true;
}

void vgpu_fault_ratelimit_clear(VGPUClient *c, unsigned vmid, uint64_t va)
{
    VGPUState *s = c->s;
    uint64_t page = va >> VGPU_PAGE_SHIFT;
    unsigned i;

    QEMU_LOCK_GUARD(&s->lock);
    for (i = 0; i < VGPU_RATELIMIT_SLOTS; i++) {
        VGPUFaultRateLimit *p = &s->ih->pace[i];

        if (p->hub == c->hub && p->vmid == vmid && p->page == page) {
            *p = (VGPUFaultRateLimit) { 0 };
        }
    }
}

static bool ratelimit_needed(void *opaque)
{
    const VGPUIh *ih = opaque;
    unsigned i;

    for (i = 0; i < VGPU_RATELIMIT_SLOTS; i++) {
        if (ih->pace[i].interval) {
            return true;
        }
    }
    return false;
}

static int ratelimit_post_load(void *opaque, int version_id)
{
    const VGPUFaultRateLimit *p = opaque;

    return p->tried >= 0 && p->due >= 0 && p->interval >= 0 &&
           p->interval <= RATELIMIT_MAX_NS ? 0 : -EINVAL;
}

static const VMStateDescription vmstate_ratelimit_slot = {
    .name = "vgpu-kfd/pace-slot",
    .version_id = 1,
    .minimum_version_id = 1,
    .post_load = ratelimit_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT8(hub, VGPUFaultRateLimit),
        VMSTATE_UINT8(vmid, VGPUFaultRateLimit),
        VMSTATE_UINT64(page, VGPUFaultRateLimit),
        VMSTATE_INT64(tried, VGPUFaultRateLimit),
        VMSTATE_INT64(due, VGPUFaultRateLimit),
        VMSTATE_INT64(interval, VGPUFaultRateLimit),
        VMSTATE_UINT32(serial, VGPUFaultRateLimit),
        VMSTATE_END_OF_LIST()
    },
};

const VMStateDescription vmstate_vgpu_fault_ratelimit = {
    .name = "vgpu-kfd/faults/pace",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = ratelimit_needed,
    .fields = (const VMStateField[]) {
        VMSTATE_STRUCT_ARRAY(pace, VGPUIh, VGPU_RATELIMIT_SLOTS, 1,
                             vmstate_ratelimit_slot, VGPUFaultRateLimit),
        VMSTATE_END_OF_LIST()
    },
};
