/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: the retry CAM. The first retry fault on a page takes a slot, and
 * pushes an interrupt entry. Further faults on the page push no entry until the
 * driver acknowledges the slot.
 */
#include "qemu/osdep.h"
#include "qemu/log.h"
#include "qemu/timer.h"
#include "migration/vmstate.h"
#include "hw/misc/vgpu-kfd/core/regs.h"
#include "hw/misc/vgpu-kfd/core/stall.h"
#include "hw/misc/vgpu-kfd/core/trace.h"
#include "hw/misc/vgpu-kfd/ih/internal.h"
#include "hw/misc/vgpu-kfd/inject/inject.h"
#include "hw/misc/vgpu-kfd/memory/client.h"
#include "hw/misc/vgpu-kfd/memory/hub.h"

/*
 * Shortest and longest interval after which an interrupt entry, which may have
 * been lost, is sent again. The intervals are in QEMU_CLOCK_VIRTUAL, because a
 * stopped guest cannot acknowledge.
 */
#define RESEND_NS           (5 * NANOSECONDS_PER_SECOND)
#define RESEND_MAX_NS       (20 * NANOSECONDS_PER_SECOND)

bool vgpu_cam_enabled(VGPUState *s)
{
    return vgpu_ih_reg(s, IH_RETRY_INT_CAM_CNTL) &
           IH_RETRY_INT_CAM_CNTL__ENABLE;
}

unsigned vgpu_cam_free_slot(VGPUState *s)
{
    unsigned i = 0;

    while (i < VGPU_RETRY_CAM_SLOTS && s->ih->cam[i].used) {
        i++;
    }
    return i;
}

unsigned vgpu_cam_find(VGPUState *s, unsigned hub, unsigned vmid, uint64_t page)
{
    unsigned i;

    for (i = 0; i < VGPU_RETRY_CAM_SLOTS; i++) {
        const VGPUCamSlot *c = &s->ih->cam[i];

        if (c->used && c->hub == hub && c->vmid == vmid && c->page == page) {
            break;
        }
    }
    return i;
}

void vgpu_cam_wait(VGPUState *s, unsigned slot, VGPUSite site, bool write,
                   VGPUStall *stall)
{
    int64_t now = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    VGPUCamSlot *c = &s->ih->cam[slot];

    if (!c->interval) {
        /*
         * The slot is new, or was loaded from a state that has no resend times.
         */
        c->interval = RESEND_NS;
        c->due = now + c->interval;
    } else if (now >= c->due) {
        c->interval = MIN(2 * c->interval, RESEND_MAX_NS);
        c->due = now + c->interval;
        trace_vgpu_fault_resent(s->id, c->serial, slot);
        vgpu_fault_send_entry(s, site, write, true, slot, c->serial);
    }
    stall->why = VGPU_WAIT_CAM;
    stall->cam = slot;
    stall->serial = c->serial;
    vgpu_timer_anticipate(&s->ih->cam_timer, c->due);
}

/*
 * Wake the queues that wait for a slot with an expired @due. If an access then
 * faults again, vgpu_cam_wait() sends the interrupt entry again.
 */
static void cam_timer_expired(void *opaque)
{
    VGPUState *s = opaque;
    int64_t now = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    uint32_t due = 0;
    unsigned i;

    WITH_QEMU_LOCK_GUARD(&s->lock) {
        for (i = 0; i < VGPU_RETRY_CAM_SLOTS; i++) {
            const VGPUCamSlot *c = &s->ih->cam[i];

            if (c->used && c->interval && c->due <= now) {
                due |= 1u << i;
            } else if (c->used && c->interval) {
                vgpu_timer_anticipate(&s->ih->cam_timer, c->due);
            }
        }
    }
    for (i = 0; i < VGPU_RETRY_CAM_SLOTS; i++) {
        if (due & (1u << i)) {
            vgpu_clients_wake(s, UINT_MAX, UINT32_MAX, i);
        }
    }
}

void vgpu_cam_init(VGPUState *s)
{
    vgpu_timer_init(&s->ih->cam_timer, DEVICE(s), cam_timer_expired, s);
}

void vgpu_cam_destroy(VGPUState *s)
{
    vgpu_timer_destroy(&s->ih->cam_timer);
}

bool vgpu_fault_pending(VGPUState *s, const VGPUStall *stall)
{
    const VGPUCamSlot *c = &s->ih->cam[stall->cam];

    QEMU_LOCK_GUARD(&s->lock);
    if (stall->invs != vgpu_hub_invalidations(s, stall->hub, stall->vmid)) {
        return false;
    }
    switch (stall->why) {
    case VGPU_WAIT_CAM:
        return c->used && c->serial == stall->serial &&
               qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) < c->due;
    case VGPU_WAIT_CAM_FREE:
        if (!vgpu_cam_enabled(s) ||
            vgpu_cam_free_slot(s) < VGPU_RETRY_CAM_SLOTS) {
            return false;
        }
        s->ih->slot_wanted = true;
        return true;
    default:
        return true;
    }
}

void vgpu_cam_ack(VGPUState *s, uint32_t slot)
{
    bool wanted = false;

    if (slot >= VGPU_RETRY_CAM_SLOTS) {
        if (vgpu_reg_warn_once(s, IH_RETRY_CAM_ACK)) {
            qemu_log_mask(LOG_GUEST_ERROR,
                          "%s: acknowledge of CAM slot %u of %u\n",
                          s->id, slot, VGPU_RETRY_CAM_SLOTS);
        }
        return;
    }
    WITH_QEMU_LOCK_GUARD(&s->lock) {
        trace_vgpu_cam_ack(s->id, slot, s->ih->cam[slot].used,
                           s->ih->cam[slot].serial);
        s->ih->cam[slot].used = false;
        wanted = s->ih->slot_wanted;
        s->ih->slot_wanted = false;
    }
    /*
     * Offer the slot before the replay: the queue that replays may fault again
     * at once, and would keep the slot from the queues that wait for one.
     */
    if (wanted) {
        vgpu_clients_slot_freed(s);
    }
    vgpu_clients_wake(s, UINT_MAX, UINT32_MAX, slot);
}

void vgpu_cam_flush(VGPUState *s)
{
    WITH_QEMU_LOCK_GUARD(&s->lock) {
        memset(s->ih->cam, 0, sizeof(s->ih->cam));
    }
    vgpu_clients_wake(s, UINT_MAX, UINT32_MAX, -1);
}

static bool cam_times_needed(void *opaque)
{
    const VGPUIh *ih = opaque;
    unsigned i;

    for (i = 0; i < VGPU_RETRY_CAM_SLOTS; i++) {
        if (ih->cam[i].used && ih->cam[i].interval) {
            return true;
        }
    }
    return false;
}

static int cam_time_post_load(void *opaque, int version_id)
{
    const VGPUCamSlot *c = opaque;

    return c->due >= 0 && c->interval >= 0 && c->interval <= RESEND_MAX_NS
           ? 0 : -EINVAL;
}

static const VMStateDescription vmstate_cam_time = {
    .name = "vgpu-kfd/cam-time",
    .version_id = 1,
    .minimum_version_id = 1,
    .post_load = cam_time_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_INT64(due, VGPUCamSlot),
        VMSTATE_INT64(interval, VGPUCamSlot),
        VMSTATE_END_OF_LIST()
    },
};

/*
 * The timer is not saved: after a load, the queues that wait for a slot try
 * their accesses again, and vgpu_cam_wait() sets the timer.
 */
const VMStateDescription vmstate_vgpu_cam_times = {
    .name = "vgpu-kfd/faults/cam-times",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = cam_times_needed,
    .fields = (const VMStateField[]) {
        VMSTATE_STRUCT_ARRAY(cam, VGPUIh, VGPU_RETRY_CAM_SLOTS, 1,
                             vmstate_cam_time, VGPUCamSlot),
        VMSTATE_END_OF_LIST()
    },
};
