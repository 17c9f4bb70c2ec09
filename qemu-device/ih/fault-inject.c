/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: injections that drop, duplicate or delay an interrupt entry. These
 * injections apply to the entries that report VM faults. Delays are on
 * QEMU_CLOCK_VIRTUAL, which stops with the machine.
 */
#include "qemu/osdep.h"
#include "qemu/timer.h"
#include "hw/misc/vgpu-kfd/ih/internal.h"
#include "hw/misc/vgpu-kfd/inject/inject.h"

/*
 * Set the timer to the earliest due time of the delayed entries. The caller
 * holds s->lock.
 */
static void late_irqs_arm(VGPUState *s)
{
    VGPULateIrqs *d = &s->ih->late_irqs;
    int64_t first = INT64_MAX;
    unsigned i;

    for (i = 0; i < VGPU_LATE_IRQS; i++) {
        if (d->irqs[i].due) {
            first = MIN(first, d->irqs[i].due);
        }
    }
    if (first != INT64_MAX) {
        vgpu_timer_anticipate(&d->timer, first);
    }
}

/*
 * Return the delayed entry with the earliest due time, or NULL if no entry is
 * due at time @now. The caller holds s->lock.
 */
static VGPULateIrq *late_irqs_next_due(VGPULateIrqs *d, int64_t now)
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

static void late_irqs_expired(void *opaque)
{
    VGPUState *s = opaque;
    int64_t now = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    VGPULateIrq *irq;

    QEMU_LOCK_GUARD(&s->lock);
    while ((irq = late_irqs_next_due(&s->ih->late_irqs, now))) {
        irq->due = 0;
        vgpu_ih_push_fault(s, irq->hub, irq->vmid, irq->ring, irq->data);
    }
    late_irqs_arm(s);
}

/*
 * Add a delayed entry. Return false if there are VGPU_LATE_IRQS delayed entries
 * already. The caller holds s->lock.
 */
static bool late_irqs_add(VGPUState *s, const VGPULateIrq *irq)
{
    VGPULateIrqs *d = &s->ih->late_irqs;
    unsigned i;

    for (i = 0; i < VGPU_LATE_IRQS; i++) {
        if (!d->irqs[i].due) {
            d->irqs[i] = *irq;
            late_irqs_arm(s);
            return true;
        }
    }
    return false;
}

void vgpu_fault_inject_entry(VGPUState *s, const VGPUSite *site, uint8_t ring,
                             const uint32_t *data)
{
    unsigned hub = site->hub, vmid = site->vmid;
    VGPUInjectHit hit;

    if (vgpu_inject_fires(s, VGPU_INJECT_KIND_FAULT_DROP, site, NULL)) {
        return;
    }
    if (vgpu_inject_fires(s, VGPU_INJECT_KIND_FAULT_DUPLICATE, site, NULL)) {
        vgpu_ih_push_fault(s, hub, vmid, ring, data);
    }
    if (vgpu_inject_fires(s, VGPU_INJECT_KIND_FAULT_DELAY, site, &hit)) {
        VGPULateIrq irq = {
            .due = vgpu_inject_due(hit.arg),
            .hub = hub, .vmid = vmid, .ring = ring,
        };

        memcpy(irq.data, data, sizeof(irq.data));
        if (late_irqs_add(s, &irq)) {
            return;
        }
    }
    vgpu_ih_push_fault(s, hub, vmid, ring, data);
}

void vgpu_fault_inject_reset(VGPUState *s)
{
    memset(s->ih->late_irqs.irqs, 0, sizeof(s->ih->late_irqs.irqs));
    vgpu_timer_del(&s->ih->late_irqs.timer);
}

void vgpu_fault_inject_init(VGPUState *s)
{
    vgpu_timer_init(&s->ih->late_irqs.timer, DEVICE(s), late_irqs_expired, s);
}

void vgpu_fault_inject_destroy(VGPUState *s)
{
    vgpu_timer_destroy(&s->ih->late_irqs.timer);
}
