/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: fair sharing between SDMA engines (docs/hardware.md, SDMA). Busy
 * engines copy equal amounts, because an engine that is too far ahead waits for
 * the others.
 */
#include "qemu/osdep.h"
#include "qemu/timer.h"
#include "qemu/units.h"
#include "hw/misc/vgpu-kfd/core/vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/sdma/internal.h"

/*
 * An engine waits if its lead over another busy engine is above this value. The
 * lead is the charge (VGPUSdmaEngine.charged) minus the other engine's charge.
 */
#define LEAD_KIB            (8 * KiB)
/*
 * A wait ends when the engine's lead has decreased to this value. A value below
 * LEAD_KIB avoids a wait after each time slice.
 */
#define RESUME_KIB          (LEAD_KIB / 2)
/*
 * Maximum wait, in ns of host time. An engine cannot catch up while the host
 * does not run its thread.
 */
#define WAIT_NS             (100 * SCALE_MS)

/*
 * Return true if the charge of @e exceeds the charge of another busy engine by
 * more than @kib KiB. Called by any thread.
 */
static bool share_is_ahead(const VGPUSdmaEngine *e, unsigned kib)
{
    unsigned i;

    for (i = 0; i < SDMA_NUM_ENGINES; i++) {
        const VGPUSdmaEngine *o = &e->s->sdma->engines[i];

        if (o != e && qatomic_read(&o->busy) &&
            (int)(qatomic_read(&e->charged) - qatomic_read(&o->charged)) >
            (int)kib) {
            return true;
        }
    }
    return false;
}

/*
 * Wake engines that need not wait any more. Called after @charged or @busy of
 * an engine has changed.
 */
static void share_wake(VGPUSdma *sdma)
{
    unsigned i;

    /*
     * Order the change of @charged or @busy before the reads of @yields: pairs
     * with the barrier in vgpu_sdma_share_yield().
     */
    smp_mb();
    for (i = 0; i < SDMA_NUM_ENGINES; i++) {
        const VGPUSdmaEngine *e = &sdma->engines[i];

        if (qatomic_read(&e->yields) && !share_is_ahead(e, RESUME_KIB)) {
            QEMU_LOCK_GUARD(&sdma->share_lock);
            qemu_cond_broadcast(&sdma->share_changed);
            return;
        }
    }
}

void vgpu_sdma_share_charge(VGPUSdmaEngine *e, unsigned kib)
{
    qatomic_set(&e->charged, e->charged + kib);
    share_wake(e->s->sdma);
}

/*
 * An engine that becomes busy gets the lowest charge of the other busy engines.
 * The engine's old charge would make the other engines wait.
 */
void vgpu_sdma_share_set_busy(VGPUSdmaEngine *e, bool busy)
{
    bool alone = true;
    unsigned i;

    if (e->busy == busy) {
        return;
    }
    for (i = 0; i < SDMA_NUM_ENGINES && busy; i++) {
        const VGPUSdmaEngine *o = &e->s->sdma->engines[i];
        unsigned charged = qatomic_read(&o->charged);

        if (o != e && qatomic_read(&o->busy) &&
            (alone || (int)(charged - e->charged) < 0)) {
            qatomic_set(&e->charged, charged);
            alone = false;
        }
    }
    qatomic_set(&e->busy, busy);
    share_wake(e->s->sdma);
}

void vgpu_sdma_share_set_off(VGPUSdma *sdma, bool off)
{
    QEMU_LOCK_GUARD(&sdma->share_lock);
    sdma->share_off = off;
    qemu_cond_broadcast(&sdma->share_changed);
}

bool vgpu_sdma_share_yield(VGPUSdmaEngine *e)
{
    VGPUSdma *sdma = e->s->sdma;
    int64_t left, end;

    if (e->yielded || !share_is_ahead(e, LEAD_KIB)) {
        e->yielded = false;
        return false;
    }
    e->yielded = true;
    qemu_mutex_unlock(&e->w.lock);
    WITH_QEMU_LOCK_GUARD(&sdma->share_lock) {
        qatomic_set(&e->yields, true);
        /*
         * Order the store to @yields before reads of @charged and @busy: pairs
         * with the barrier in share_wake().
         */
        smp_mb();
        end = get_clock() + WAIT_NS;
        while (!sdma->share_off && share_is_ahead(e, RESUME_KIB) &&
               (left = end - get_clock()) > 0) {
            qemu_cond_timedwait(&sdma->share_changed, &sdma->share_lock,
                                DIV_ROUND_UP(left, SCALE_MS));
        }
        qatomic_set(&e->yields, false);
    }
    qemu_mutex_lock(&e->w.lock);
    return true;
}
