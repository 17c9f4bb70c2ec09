/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: queue of interrupt entries for rings behind an IOMMU. Code that
 * calls the IOMMU must hold the BQL, but not s->lock. vgpu_ih_push() holds
 * s->lock, so a bottom half calls the IOMMU and writes the entries.
 */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "hw/misc/vgpu-kfd/ih/ih.h"
#include "hw/misc/vgpu-kfd/ih/internal.h"

/*
 * Maximum number of deferred entries. Further entries are dropped, since they
 * would overflow the rings, which hold fewer entries.
 */
#define DEFERRED_MAX    (32 * KiB)
/*
 * Maximum number of entries that a call of vgpu_ih_flush() with @all false
 * pushes, so that the call does not block the main loop for long.
 */
#define DEFERRED_BATCH  256u

void vgpu_ih_drop_deferred(VGPUState *s)
{
    while (!QSIMPLEQ_EMPTY(&s->ih->deferred)) {
        VGPUIhDeferred *d = QSIMPLEQ_FIRST(&s->ih->deferred);

        QSIMPLEQ_REMOVE_HEAD(&s->ih->deferred, next);
        g_free(d);
    }
    s->ih->num_deferred = 0;
    s->ih->pointer_deferred = false;
}

void vgpu_ih_defer(VGPUState *s, unsigned ring, const uint32_t *entry)
{
    VGPUIhDeferred *d;

    if (s->ih->num_deferred == DEFERRED_MAX) {
        s->ih->full = false;
        vgpu_ih_drop_entry(s, entry);
        return;
    }
    d = g_new0(VGPUIhDeferred, 1);
    d->ring = ring;
    d->full = s->ih->full;
    s->ih->full = false;
    memcpy(d->entry, entry, sizeof(d->entry));
    QSIMPLEQ_INSERT_TAIL(&s->ih->deferred, d, next);
    s->ih->num_deferred++;
    vgpu_iommu_schedule(s);
}

/*
 * Push at most *@left queued entries, and decrement *@left for each. Return
 * false if a memory write needs a reply of the IOMMU first. Then the caller
 * must make the request in s->ih->iotlb, and call again. The caller holds
 * s->lock.
 */
static bool ih_push_deferred(VGPUState *s, unsigned *left)
{
    VGPUIhDeferred *d;

    while (*left && (d = QSIMPLEQ_FIRST(&s->ih->deferred))) {
        s->ih->full = d->full;
        if (!vgpu_ih_store_entry(s, d->ring, d->entry)) {
            s->ih->full = false;
            return false;
        }
        /*
         * Remove @d only after vgpu_ih_store_entry() has succeeded. @d is still
         * the head: that call can only append to the list.
         */
        QSIMPLEQ_REMOVE_HEAD(&s->ih->deferred, next);
        s->ih->num_deferred--;
        g_free(d);
        --*left;
    }
    if (s->ih->pointer_deferred && !vgpu_ih_wptr_writeback(s)) {
        return false;
    }
    s->ih->pointer_deferred = false;
    return true;
}

bool vgpu_ih_flush(VGPUState *s, bool all)
{
    unsigned left = all ? UINT_MAX : DEFERRED_BATCH;
    VGPUIommuReply reply;

    qemu_mutex_lock(&s->lock);
    if (s->ih->flushing) {
        /*
         * This call is nested: vgpu_iommu_request() below has called this
         * function again. The outer call pushes the queued entries.
         */
        qemu_mutex_unlock(&s->lock);
        return true;
    }
    s->ih->flushing = true;
    while (!ih_push_deferred(s, &left)) {
        uint64_t addr = s->ih->iotlb.addr;
        bool write = s->ih->iotlb.write;

        qemu_mutex_unlock(&s->lock);
        if (!vgpu_iommu_request(s, addr, write, &reply)) {
            return false;
        }
        qemu_mutex_lock(&s->lock);
        vgpu_iommu_put_reply(s, &s->ih->iotlb, &reply);
    }
    s->ih->iotlb.used = 0;
    s->ih->flushing = false;
    if (!QSIMPLEQ_EMPTY(&s->ih->deferred)) {
        vgpu_iommu_schedule(s);
    }
    qemu_mutex_unlock(&s->lock);
    return true;
}
