/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: interrupt entries whose ring lies behind an IOMMU. The function
 * that pushes an entry holds s->lock and may run without the BQL, so it cannot
 * call the IOMMU (bus.c). The entry is queued here, without its timestamp,
 * until a bottom half has the translation.
 */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "vgpu-kfd.h"

#define LATE_MAX        (32 * KiB)      /* more than the largest rings hold */
#define LATE_BATCH      256u            /* pushed at once */

void vgpu_ih_init(VGPUState *s)
{
    QSIMPLEQ_INIT(&s->ih.late);
}

void vgpu_ih_drop_late(VGPUState *s)
{
    while (!QSIMPLEQ_EMPTY(&s->ih.late)) {
        VGPUIhLate *late = QSIMPLEQ_FIRST(&s->ih.late);

        QSIMPLEQ_REMOVE_HEAD(&s->ih.late, next);
        g_free(late);
    }
    s->ih.num_late = 0;
    s->ih.pointer_late = false;
}

void vgpu_ih_defer(VGPUState *s, unsigned ring, const uint32_t *entry)
{
    VGPUIhLate *late;

    if (s->ih.num_late == LATE_MAX) {
        vgpu_count(s, VGPU_CNT_IH_DROPPED, 1);
        return;
    }
    late = g_new0(VGPUIhLate, 1);
    late->ring = ring;
    late->full = s->ih.full;
    s->ih.full = false;
    memcpy(late->entry, entry, sizeof(late->entry));
    QSIMPLEQ_INSERT_TAIL(&s->ih.late, late, next);
    s->ih.num_late++;
    qemu_bh_schedule(s->bus_bh);
}

/*
 * Push at most *@left queued entries. An entry leaves the list after its push,
 * so that entries which the push itself causes are queued last. False: a
 * translation is missing; the request is in s->ih.bus.
 */
static bool push_late(VGPUState *s, unsigned *left)
{
    VGPUIhLate *late;

    while (*left && (late = QSIMPLEQ_FIRST(&s->ih.late))) {
        s->ih.full = late->full;
        if (!vgpu_ih_store(s, late->ring, late->entry)) {
            s->ih.full = false;
            return false;
        }
        QSIMPLEQ_REMOVE_HEAD(&s->ih.late, next);
        s->ih.num_late--;
        g_free(late);
        --*left;
    }
    if (s->ih.pointer_late && !vgpu_ih_writeback(s)) {
        return false;
    }
    s->ih.pointer_late = false;
    return true;
}

bool vgpu_ih_flush(VGPUState *s, bool all)
{
    unsigned left = all ? UINT_MAX : LATE_BATCH;
    VGPUBusAnswer answer;

    qemu_mutex_lock(&s->lock);
    if (s->ih.flushing) {
        /* Called from within vgpu_bus_ask() below. */
        qemu_mutex_unlock(&s->lock);
        return true;
    }
    s->ih.flushing = true;
    while (!push_late(s, &left)) {
        uint64_t addr = s->ih.bus.addr;
        bool write = s->ih.bus.write;

        qemu_mutex_unlock(&s->lock);
        if (!vgpu_bus_ask(s, addr, write, &answer)) {
            return false;
        }
        qemu_mutex_lock(&s->lock);
        vgpu_bus_put(s, &s->ih.bus, &answer);
    }
    s->ih.bus.used = 0;
    s->ih.flushing = false;
    if (!QSIMPLEQ_EMPTY(&s->ih.late)) {
        qemu_bh_schedule(s->bus_bh);
    }
    qemu_mutex_unlock(&s->lock);
    return true;
}
