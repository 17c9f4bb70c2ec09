/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: reports of VM faults: the retry CAM, and interrupt entries. The
 * status of no-retry faults in the hubs' registers is in fault-status.c.
 *
 * A retry fault's page stays in the CAM from its report until the driver
 * acknowledges the slot. Meanwhile accesses to that page join it and raise no
 * further interrupt, unless that takes so long that the first may be lost: then
 * the same entry is sent again.
 */
#include "qemu/osdep.h"
#include "qemu/log.h"
#include "qemu/timer.h"
#include "hw/misc/vgpu-kfd/core/vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/core/trace.h"

/* Without the CAM: between tries, and between entries for one page. */
#define RETRY_INTERVAL_NS   SCALE_MS
#define PACE_MAX_NS         (64 * SCALE_MS)
#define PACE_FORGET_NS      (4 * PACE_MAX_NS)   /* since the last try */

/*
 * With the CAM: from an entry to the same one again, if it takes that long. On
 * the virtual clock: who could acknowledge it stands still when that does.
 */
#define RESEND_NS           (5 * NANOSECONDS_PER_SECOND)
#define RESEND_MAX_NS       (20 * NANOSECONDS_PER_SECOND)

void vgpu_fault_irq(VGPUState *s, unsigned hub, unsigned vmid, uint8_t ring,
                    const uint32_t *data)
{
    vgpu_ih_push(s, hub == VGPU_HUB_MM ? IH_CLIENT_VMC : IH_CLIENT_UTCL2,
                 IH_SRC_VM_FAULT, ring, vmid, hub == VGPU_HUB_MM, data);
}

/* The interrupt's entry. s->lock held. */
static void entry_push(VGPUState *s, VGPUSite site, bool write, bool retry,
                       unsigned cam, uint32_t serial)
{
    unsigned hub = site.hub, vmid = site.vmid;
    uint64_t va = site.va;
    uint8_t ring = IH_RING_FAULT_VALID |
                   (write ? IH_RING_FAULT_WRITE : IH_RING_FAULT_READ);
    uint32_t data[4] = {
        va >> VGPU_PAGE_SHIFT,
        (va >> 44 & IH_FAULT_D1__VA_HI) |
        (write ? IH_FAULT_D1__WRITE : 0) | (retry ? IH_FAULT_D1__RETRY : 0),
        cam,
        serial,
    };

    if (vgpu_inject_armed(s, VGPU_INJECT_FAULT_IRQS)) {
        vgpu_inject_fault_irq(s, &site, ring, data);
    } else {
        vgpu_fault_irq(s, hub, vmid, ring, data);
    }
}

/* A fault that nobody was told of before. s->lock held. */
static void fault_push(VGPUState *s, VGPUSite site, bool write, bool retry,
                       unsigned cam, uint32_t serial)
{
    trace_vgpu_fault(s->id, site.hub, site.vmid, site.va, write, retry, serial,
                     cam);
    entry_push(s, site, write, retry, cam, serial);
}

void vgpu_fault_noretry(VGPUClient *c, unsigned vmid, uint64_t va,
                        const VGPUSpan *span, bool quiet)
{
    VGPUState *s = c->s;
    unsigned h = c->hub;
    uint32_t context = vgpu_fault_interrupts(span->fault);
    bool interrupt = !context || (vgpu_hub_reg(s, h, VM_CONTEXT_CNTL(vmid)) &
                                  context);

    trace_vgpu_fault_class(s->id, h, vmid, va, span->fault, span->walker_error,
                           interrupt);
    QEMU_LOCK_GUARD(&s->lock);
    vgpu_hub_latch_fault(c, vmid, va, span);
    if (!quiet && interrupt) {
        qatomic_set(&s->fault_serial, s->fault_serial + 1);
        vgpu_count(s, VGPU_CNT_FAULTS_NORETRY, 1);
        fault_push(s, vgpu_client_site(c, vmid, va), span->write, false, 0,
                   s->fault_serial);
    }
}

static bool cam_enabled(VGPUState *s)
{
    return vgpu_ih_reg(s, IH_RETRY_INT_CAM_CNTL) &
           IH_RETRY_INT_CAM_CNTL__ENABLE;
}

/* A free slot, or VGPU_CAM_SLOTS. s->lock held. */
static unsigned cam_free_slot(VGPUState *s)
{
    unsigned i = 0;

    while (i < VGPU_CAM_SLOTS && s->cam[i].used) {
        i++;
    }
    return i;
}

/* The slot of a page, or VGPU_CAM_SLOTS. s->lock held. */
static unsigned cam_find(VGPUState *s, unsigned hub, unsigned vmid,
                         uint64_t page)
{
    unsigned i;

    for (i = 0; i < VGPU_CAM_SLOTS; i++) {
        const VGPUCamSlot *c = &s->cam[i];

        if (c->used && c->hub == hub && c->vmid == vmid && c->page == page) {
            break;
        }
    }
    return i;
}

/* The page's slot, or the one unused for longest. s->lock held. */
static VGPUPace *pace_slot(VGPUState *s, unsigned hub, unsigned vmid,
                           uint64_t page)
{
    VGPUPace *oldest = &s->pace[0];
    unsigned i;

    for (i = 0; i < VGPU_PACE_SLOTS; i++) {
        VGPUPace *p = &s->pace[i];

        if (p->interval && p->hub == hub && p->vmid == vmid &&
            p->page == page) {
            return p;
        }
        if (p->tried < oldest->tried) {
            oldest = p;
        }
    }
    *oldest = (VGPUPace) { .hub = hub, .vmid = vmid, .page = page };
    return oldest;
}

/*
 * A retry fault without the CAM: each try would make an entry, and a slow
 * driver would drown in them. So the entries of one page come further and
 * further apart, while queues try on at their own pace. True: one is due;
 * otherwise *@serial is set to that of the last. s->lock held.
 */
static bool pace_due(VGPUState *s, unsigned hub, unsigned vmid, uint64_t page,
                     int64_t now, uint32_t *serial)
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
                              : RETRY_INTERVAL_NS;
    p->due = now + p->interval;
    p->serial = s->fault_serial + 1;
    return true;
}

void vgpu_fault_over(VGPUClient *c, unsigned vmid, uint64_t va)
{
    VGPUState *s = c->s;
    uint64_t page = va >> VGPU_PAGE_SHIFT;
    unsigned i;

    QEMU_LOCK_GUARD(&s->lock);
    for (i = 0; i < VGPU_PACE_SLOTS; i++) {
        VGPUPace *p = &s->pace[i];

        if (p->hub == c->hub && p->vmid == vmid && p->page == page) {
            *p = (VGPUPace) { 0 };
        }
    }
}

/*
 * The access waits for slot @slot of the CAM. The timer has it look again when
 * the slot's entry is due once more; whoever is first then sends it. s->lock
 * held.
 */
static void cam_wait(VGPUState *s, unsigned slot, VGPUSite site, bool write,
                     VGPUStall *stall)
{
    int64_t now = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    VGPUCamSlot *c = &s->cam[slot];

    if (!c->interval) {
        /* It is new, or was loaded: that does not tell when it is due. */
        c->interval = RESEND_NS;
        c->due = now + c->interval;
    } else if (now >= c->due) {
        c->interval = MIN(2 * c->interval, RESEND_MAX_NS);
        c->due = now + c->interval;
        trace_vgpu_fault_resent(s->id, c->serial, slot);
        entry_push(s, site, write, true, slot, c->serial);
    }
    stall->why = VGPU_WAIT_CAM;
    stall->cam = slot;
    stall->serial = c->serial;
    timer_mod_anticipate(s->cam_timer, c->due);
}

/* Entries are due again. If nobody waits for a slot, nobody sends its entry. */
static void cam_expired(void *opaque)
{
    VGPUState *s = opaque;
    int64_t now = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    uint32_t due = 0;
    unsigned i;

    WITH_QEMU_LOCK_GUARD(&s->lock) {
        for (i = 0; i < VGPU_CAM_SLOTS; i++) {
            const VGPUCamSlot *c = &s->cam[i];

            if (c->used && c->interval && c->due <= now) {
                due |= 1u << i;
            } else if (c->used && c->interval) {
                timer_mod_anticipate(s->cam_timer, c->due);
            }
        }
    }
    for (i = 0; i < VGPU_CAM_SLOTS; i++) {
        if (due & (1u << i)) {
            vgpu_clients_wake(s, UINT_MAX, UINT32_MAX, i);
        }
    }
}

void vgpu_fault_init(VGPUState *s)
{
    s->cam_timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, cam_expired, s);
}

void vgpu_fault_reset(VGPUState *s)
{
    memset(s->cam, 0, sizeof(s->cam));
    timer_del(s->cam_timer);
    memset(s->pace, 0, sizeof(s->pace));
    qatomic_set(&s->fault_serial, 0);
}

void vgpu_fault_post_load(VGPUState *s)
{
    memset(s->pace, 0, sizeof(s->pace));        /* another host's clock */
}

void vgpu_fault_destroy(VGPUState *s)
{
    timer_free(s->cam_timer);
}

void vgpu_fault_retry(VGPUClient *c, unsigned vmid, uint64_t va, bool write,
                      VGPUStall *stall)
{
    VGPUState *s = c->s;
    unsigned hub = c->hub;
    uint64_t page = va >> VGPU_PAGE_SHIFT;
    unsigned slot = 0;

    QEMU_LOCK_GUARD(&s->lock);
    if (!(vgpu_hub_reg(s, hub, VM_L2_PROTECTION_FAULT_CNTL2) &
          VM_L2_PROTECTION_FAULT_CNTL2__ENABLE_RETRY_INTERRUPT)) {
        /* Nobody is told; somebody may repair it all the same. */
        trace_vgpu_fault_silent(s->id, hub, vmid, va);
        stall->why = VGPU_WAIT_RETRY;
        stall->until = qemu_clock_get_ns(QEMU_CLOCK_REALTIME) +
                       RETRY_INTERVAL_NS;
        stall->serial = 0;
        return;
    }
    if (cam_enabled(s)) {
        slot = cam_find(s, hub, vmid, page);
        if (slot < VGPU_CAM_SLOTS) {
            /* Unless it is the same stall that looked again in vain. */
            if (stall->serial != s->cam[slot].serial) {
                vgpu_count(s, VGPU_CNT_FAULTS_MERGED, 1);
                trace_vgpu_fault_merged(s->id, hub, vmid, va, write,
                                        s->cam[slot].serial, slot);
            }
            cam_wait(s, slot, vgpu_client_site(c, vmid, va), write, stall);
            return;
        }
        slot = cam_free_slot(s);
        if (slot == VGPU_CAM_SLOTS) {
            trace_vgpu_cam_full(s->id, hub, vmid, va);
            stall->why = VGPU_WAIT_CAM_FREE;
            stall->serial = 0;
            return;
        }
        s->cam[slot] = (VGPUCamSlot) {
            .used = true, .hub = hub, .vmid = vmid, .page = page,
            .serial = s->fault_serial + 1,
        };
        cam_wait(s, slot, vgpu_client_site(c, vmid, va), write, stall);
    } else {
        int64_t now = qemu_clock_get_ns(QEMU_CLOCK_REALTIME);
        bool joins = !stall->serial;

        stall->why = VGPU_WAIT_RETRY;
        stall->until = now + RETRY_INTERVAL_NS;
        if (!pace_due(s, hub, vmid, page, now, &stall->serial)) {
            if (joins) {
                vgpu_count(s, VGPU_CNT_FAULTS_MERGED, 1);
            }
            trace_vgpu_fault_paced(s->id, hub, vmid, va, write, stall->serial);
            return;
        }
    }
    qatomic_set(&s->fault_serial, s->fault_serial + 1);
    stall->serial = s->fault_serial;
    vgpu_count(s, VGPU_CNT_FAULTS_RETRY, 1);
    fault_push(s, vgpu_client_site(c, vmid, va), write, true, slot,
               stall->serial);
}

uint32_t vgpu_fault_serial(VGPUState *s)
{
    return qatomic_read(&s->fault_serial);
}

bool vgpu_fault_pending(VGPUState *s, const VGPUStall *stall)
{
    QEMU_LOCK_GUARD(&s->lock);
    if (stall->invs != vgpu_hub_invalidations(s, stall->hub, stall->vmid)) {
        return false;
    }
    switch (stall->why) {
    case VGPU_WAIT_CAM:
        return s->cam[stall->cam].used &&
               s->cam[stall->cam].serial == stall->serial &&
               qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) < s->cam[stall->cam].due;
    case VGPU_WAIT_CAM_FREE:
        return cam_enabled(s) && cam_free_slot(s) == VGPU_CAM_SLOTS;
    default:
        return true;
    }
}

void vgpu_cam_ack(VGPUState *s, uint32_t slot)
{
    if (slot >= VGPU_CAM_SLOTS) {
        if (vgpu_reg_complain(s, IH_RETRY_CAM_ACK)) {
            qemu_log_mask(LOG_GUEST_ERROR,
                          "%s: acknowledge of CAM slot %u, there are %u\n",
                          s->id, slot, VGPU_CAM_SLOTS);
        }
        return;
    }
    WITH_QEMU_LOCK_GUARD(&s->lock) {
        trace_vgpu_cam_ack(s->id, slot, s->cam[slot].used,
                           s->cam[slot].serial);
        s->cam[slot].used = false;
    }
    vgpu_clients_wake(s, UINT_MAX, UINT32_MAX, slot);
}

void vgpu_cam_flush(VGPUState *s)
{
    WITH_QEMU_LOCK_GUARD(&s->lock) {
        memset(s->cam, 0, sizeof(s->cam));
    }
    vgpu_clients_wake(s, UINT_MAX, UINT32_MAX, -1);
}

void vgpu_fault_spurious(VGPUState *s, unsigned hub, unsigned vmid, uint64_t va,
                         bool write, bool retry)
{
    uint64_t page = va >> VGPU_PAGE_SHIFT;
    unsigned slot = 0;
    uint32_t serial;

    QEMU_LOCK_GUARD(&s->lock);
    serial = s->fault_serial + 1;
    if (retry && cam_enabled(s)) {
        slot = cam_find(s, hub, vmid, page);
        if (slot == VGPU_CAM_SLOTS) {
            slot = cam_free_slot(s);
        }
        if (slot == VGPU_CAM_SLOTS) {
            trace_vgpu_cam_full(s->id, hub, vmid, va);
            return;
        }
        if (s->cam[slot].used) {
            serial = s->cam[slot].serial;
        } else {
            s->cam[slot] = (VGPUCamSlot) {
                .used = true, .hub = hub, .vmid = vmid, .page = page,
                .serial = serial,
            };
        }
    }
    if (serial == s->fault_serial + 1) {
        qatomic_set(&s->fault_serial, serial);
    }
    vgpu_count(s, retry ? VGPU_CNT_FAULTS_RETRY : VGPU_CNT_FAULTS_NORETRY, 1);
    fault_push(s, (VGPUSite) {
        .hub = hub, .vmid = vmid, .va = va,
        .engine = VGPU_SITE_NONE, .queue = VGPU_SITE_NONE,
    }, write, retry, slot, serial);
}
