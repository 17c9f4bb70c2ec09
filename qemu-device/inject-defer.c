/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: interrupts and invalidations that go wrong on purpose. What is put
 * off waits for the virtual clock, which stands still while the machine does.
 */
#include "qemu/osdep.h"
#include "qemu/timer.h"
#include "hw/misc/vgpu-kfd/core/vgpu-kfd.h"

/* Set the timer to what is due first. s->lock held. */
static void arm(VGPUState *s)
{
    VGPUDeferred *d = &s->inject.deferred;
    int64_t first = INT64_MAX;
    unsigned i, h;

    for (i = 0; i < VGPU_LATE_IRQS; i++) {
        if (d->irqs[i].due) {
            first = MIN(first, d->irqs[i].due);
        }
    }
    for (h = 0; h < VGPU_NUM_HUBS; h++) {
        for (i = 0; i < VGPU_NUM_VMIDS; i++) {
            if (d->drop[h][i]) {
                first = MIN(first, d->drop[h][i]);
            }
        }
    }
    if (first != INT64_MAX) {
        timer_mod(d->timer, first);
    }
}

/* The entry that was due first, if it is; NULL if none is. s->lock held. */
static VGPULateIrq *next_due(VGPUDeferred *d, int64_t now)
{
    VGPULateIrq *next = NULL;
    unsigned i;

    for (i = 0; i < VGPU_LATE_IRQS; i++) {
        VGPULateIrq *irq = &d->irqs[i];

        if (irq->due && irq->due <= now && (!next || irq->due < next->due)) {
            next = irq;
        }
    }
    return next;
}

static void expired(void *opaque)
{
    VGPUState *s = opaque;
    VGPUDeferred *d = &s->inject.deferred;
    int64_t now = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    uint32_t dropped[VGPU_NUM_HUBS] = { 0 };
    VGPULateIrq *irq;
    unsigned h, i;

    WITH_QEMU_LOCK_GUARD(&s->lock) {
        while ((irq = next_due(d, now))) {
            irq->due = 0;
            vgpu_fault_irq(s, irq->hub, irq->vmid, irq->ring, irq->data);
        }
        for (h = 0; h < VGPU_NUM_HUBS; h++) {
            for (i = 0; i < VGPU_NUM_VMIDS; i++) {
                if (d->drop[h][i] && d->drop[h][i] <= now) {
                    d->drop[h][i] = 0;
                    dropped[h] |= 1u << i;
                }
            }
            vgpu_gmc_drop(s, h, dropped[h]);
        }
        arm(s);
    }
    for (h = 0; h < VGPU_NUM_HUBS; h++) {
        if (dropped[h]) {
            vgpu_clients_wake(s, 1u << h, dropped[h], -1);
        }
    }
}

/* False if too many wait already. s->lock held. */
static bool defer(VGPUState *s, const VGPULateIrq *irq)
{
    VGPUDeferred *d = &s->inject.deferred;
    unsigned i;

    for (i = 0; i < VGPU_LATE_IRQS; i++) {
        if (!d->irqs[i].due) {
            d->irqs[i] = *irq;
            arm(s);
            return true;
        }
    }
    return false;
}

/* In that many ns; never 0, which is for "none". */
static int64_t due_in(uint64_t ns)
{
    int64_t now = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);

    return MAX(now + (int64_t)MIN(ns, INT64_MAX / 2), 1);
}

void vgpu_inject_fault_irq(VGPUState *s, const VGPUSite *site, uint8_t ring,
                           const uint32_t *data)
{
    unsigned hub = site->hub, vmid = site->vmid;
    VGPUShot shot;

    if (vgpu_inject_fires(s, VGPU_INJECT_KIND_FAULT_DROP, site, NULL)) {
        return;
    }
    if (vgpu_inject_fires(s, VGPU_INJECT_KIND_FAULT_DUPLICATE, site, NULL)) {
        vgpu_fault_irq(s, hub, vmid, ring, data);
    }
    if (vgpu_inject_fires(s, VGPU_INJECT_KIND_FAULT_DELAY, site, &shot)) {
        VGPULateIrq irq = {
            .due = due_in(shot.arg), .hub = hub, .vmid = vmid, .ring = ring,
        };

        memcpy(irq.data, data, sizeof(irq.data));
        if (defer(s, &irq)) {
            return;
        }
    }
    vgpu_fault_irq(s, hub, vmid, ring, data);
}

uint32_t vgpu_inject_invalidation(VGPUState *s, unsigned hub, unsigned eng,
                                  uint32_t *vmids)
{
    uint32_t mute = 0, asked = *vmids;
    unsigned i;

    for (i = 0; i < VGPU_NUM_VMIDS; i++) {
        VGPUSite site = {
            .hub = hub, .vmid = i, .va = eng,
            .engine = VGPU_SITE_NONE, .queue = VGPU_SITE_NONE,
        };
        VGPUShot shot;

        if (!(asked & (1u << i))) {
            continue;
        }
        if (vgpu_inject_fires(s, VGPU_INJECT_KIND_INV_NO_ACK, &site, NULL)) {
            mute |= 1u << i;
        } else if (vgpu_inject_fires(s, VGPU_INJECT_KIND_INV_EARLY_ACK, &site,
                                     &shot)) {
            *vmids &= ~(1u << i);
            s->inject.deferred.drop[hub][i] = due_in(shot.arg);
            arm(s);
        }
    }
    return mute;
}

void vgpu_inject_defer_reset(VGPUState *s)
{
    VGPUDeferred *d = &s->inject.deferred;

    memset(d->irqs, 0, sizeof(d->irqs));
    memset(d->drop, 0, sizeof(d->drop));
    timer_del(d->timer);
}

void vgpu_inject_defer_init(VGPUState *s)
{
    s->inject.deferred.timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, expired, s);
}

void vgpu_inject_defer_destroy(VGPUState *s)
{
    timer_free(s->inject.deferred.timer);
}
