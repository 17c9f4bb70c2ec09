/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: injections into invalidations: an invalidation is never
 * acknowledged (inv-no-ack), or is acknowledged before translations are dropped
 * (inv-early-ack). The delay until the translations are dropped is in
 * QEMU_CLOCK_VIRTUAL, which stops with the machine.
 */
#include "qemu/osdep.h"
#include "qemu/timer.h"
#include "hw/misc/vgpu-kfd/core/vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/inject/inject.h"
#include "hw/misc/vgpu-kfd/memory/hub.h"
#include "hw/misc/vgpu-kfd/memory/internal.h"
#include "hw/misc/vgpu-kfd/memory/memory.h"

/*
 * Set the timer to the due time of the earliest delayed invalidation. The
 * caller holds s->lock.
 */
static void late_drops_arm(VGPUState *s)
{
    int64_t first = INT64_MAX;
    unsigned h, i;

    for (h = 0; h < VGPU_NUM_HUBS; h++) {
        for (i = 0; i < VGPU_NUM_VMIDS; i++) {
            if (s->memory->late_drops.due[h][i]) {
                first = MIN(first, s->memory->late_drops.due[h][i]);
            }
        }
    }
    if (first != INT64_MAX) {
        vgpu_timer_anticipate(&s->memory->late_drops.timer, first);
    }
}

static void late_drops_expired(void *opaque)
{
    VGPUState *s = opaque;
    int64_t now = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    uint32_t dropped[VGPU_NUM_HUBS] = { 0 };
    unsigned h, i;

    WITH_QEMU_LOCK_GUARD(&s->lock) {
        for (h = 0; h < VGPU_NUM_HUBS; h++) {
            for (i = 0; i < VGPU_NUM_VMIDS; i++) {
                int64_t due = s->memory->late_drops.due[h][i];

                if (due && due <= now) {
                    s->memory->late_drops.due[h][i] = 0;
                    dropped[h] |= 1u << i;
                }
            }
            vgpu_invalidate_vmids(s, h, dropped[h]);
        }
        late_drops_arm(s);
    }
    for (h = 0; h < VGPU_NUM_HUBS; h++) {
        if (dropped[h]) {
            vgpu_clients_wake(s, 1u << h, dropped[h], -1);
        }
    }
}

uint32_t vgpu_invalidate_inject(VGPUState *s, unsigned hub, unsigned eng,
                                uint32_t *vmids)
{
    uint32_t no_ack = 0, requested = *vmids;
    unsigned i;

    for (i = 0; i < VGPU_NUM_VMIDS; i++) {
        VGPUSite site = {
            .hub = hub, .vmid = i, .va = eng,
            .engine = VGPU_SITE_NONE, .queue = VGPU_SITE_NONE,
        };
        VGPUInjectHit hit;

        if (!(requested & (1u << i))) {
            continue;
        }
        if (vgpu_inject_fires(s, VGPU_INJECT_KIND_INV_NO_ACK, &site, NULL)) {
            no_ack |= 1u << i;
        } else if (vgpu_inject_fires(s, VGPU_INJECT_KIND_INV_EARLY_ACK, &site,
                                     &hit)) {
            *vmids &= ~(1u << i);
            s->memory->late_drops.due[hub][i] = vgpu_inject_due(hit.arg);
            late_drops_arm(s);
        }
    }
    return no_ack;
}

void vgpu_invalidate_inject_reset(VGPUState *s)
{
    memset(s->memory->late_drops.due, 0, sizeof(s->memory->late_drops.due));
    vgpu_timer_del(&s->memory->late_drops.timer);
}

void vgpu_invalidate_inject_init(VGPUState *s)
{
    vgpu_timer_init(&s->memory->late_drops.timer, DEVICE(s), late_drops_expired,
                    s);
}

void vgpu_invalidate_inject_destroy(VGPUState *s)
{
    vgpu_timer_destroy(&s->memory->late_drops.timer);
}
