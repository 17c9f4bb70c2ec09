/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: mapping and unmapping of SDMA queues for the CP. An unmap completes
 * when the engine's thread no longer executes the queue.
 */
#include "qemu/osdep.h"
#include "vgpu/bits.h"
#include "hw/misc/vgpu-kfd/core/trace.h"
#include "hw/misc/vgpu-kfd/core/vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/sdma/internal.h"
#include "hw/misc/vgpu-kfd/sdma/sdma.h"

/*
 * Return true if the engine's thread executes @q, an injected hang holds @q, or
 * the main loop writes a register for @q.
 */
static bool sdma_queue_in_use(const VGPUSdmaEngine *e, const VGPUSdmaQueue *q)
{
    return e->w.current == &q->queue || e->w.writing == &q->queue ||
           e->hung == 1 + vgpu_sdma_queue_number(e, q);
}

/*
 * Return the queue of RLC @rlc, or of any RLC if @rlc is negative. Return NULL
 * if none is free. The worker's lock is held.
 */
static VGPUSdmaQueue *sdma_find_rlc(VGPUSdmaEngine *e, int rlc)
{
    bool any = rlc < 0;
    unsigned first = SDMA_QUEUE_RLC(any ? 0 : rlc);
    unsigned n;

    for (n = first; n < SDMA_NUM_QUEUES && (any || n == first); n++) {
        VGPUSdmaQueue *q = &e->queues[n];

        if (q->mapped == VGPU_SDMA_UNMAPPED && !vgpu_sdma_enabled(q) &&
            !sdma_queue_in_use(e, q)) {
            return q;
        }
    }
    return NULL;
}

static bool sdma_mqd_is_listed(const VGPUSdmaEngine *e, uint64_t mqd_va)
{
    unsigned n;

    for (n = 0; n < SDMA_NUM_QUEUES; n++) {
        const VGPUSdmaQueue *q = &e->queues[n];

        if (q->listed && q->mapped != VGPU_SDMA_UNMAPPED &&
            q->mqd == mqd_va) {
            return true;
        }
    }
    return false;
}

bool vgpu_sdma_map(VGPUState *s, unsigned engine, const VGPUSdmaMap *m,
                   const uint32_t *image)
{
    VGPUSdmaEngine *e = &s->sdma->engines[engine];
    VGPUSdmaQueue *q;

    QEMU_LOCK_GUARD(&e->w.lock);
    /*
     * A run list (m->vmid >= 0) may name a queue that is still mapped or being
     * unmapped. Do not map such a queue to a second RLC.
     */
    if (m->vmid >= 0 && sdma_mqd_is_listed(e, m->mqd)) {
        return true;
    }
    q = sdma_find_rlc(e, m->queue);
    if (!q) {
        return false;
    }
    vgpu_sdma_mqd_load(e, q, image, m->vmid);
    q->regs[SDMA_RB_WPTR_POLL_ADDR_LO] = m->wptr;
    q->regs[SDMA_RB_WPTR_POLL_ADDR_HI] = m->wptr >> 32;
    q->regs[SDMA_DOORBELL_OFFSET] = m->doorbell & SDMA_DOORBELL_OFFSET__OFFSET;
    q->regs[SDMA_DOORBELL] = SDMA_DOORBELL__ENABLE;
    q->mapped = VGPU_SDMA_MAPPED;
    q->listed = m->vmid >= 0;
    q->fixed = m->fixed;
    q->mqd = m->mqd;
    q->queue.poll_wptr = m->wptr;
    vgpu_queue_wptr_moved(&q->queue);
    trace_vgpu_cp_sdma_map(s->id, e->index, vgpu_sdma_queue_number(e, q),
                           VGPU_GET(q->regs[SDMA_RB_CNTL],
                                    SDMA_RB_CNTL__RB_VMID),
                           m->mqd, m->doorbell, q->queue.rptr,
                           q->queue.exec.done);
    vgpu_worker_kick(&e->w);
    return true;
}

VGPUSdmaUnmap vgpu_sdma_unmap_start(VGPUState *s, unsigned engine,
                                    unsigned queue, bool reset, uint64_t *mqd,
                                    uint32_t *image)
{
    VGPUSdmaEngine *e = &s->sdma->engines[engine];
    VGPUSdmaQueue *q = &e->queues[queue];
    bool save;

    QEMU_LOCK_GUARD(&e->w.lock);
    /* @reset has no effect on a queue that is already being unmapped. */
    if (q->mapped == VGPU_SDMA_MAPPED) {
        q->mapped = reset ? VGPU_SDMA_RESETTING : VGPU_SDMA_UNMAPPING;
        qatomic_and(&q->regs[SDMA_RB_CNTL], ~SDMA_RB_CNTL__RB_ENABLE);
        q->regs[SDMA_DOORBELL] = 0;
    }
    /*
     * The queue is also in use while the main loop writes a register for the
     * queue. Do not save the queue then: the saved exec->done would already
     * count the write. When mapped again, the queue would not wait for the
     * write.
     */
    if (sdma_queue_in_use(e, q)) {
        return VGPU_SDMA_UNMAP_HELD;
    }
    *mqd = q->mqd;
    save = q->mapped == VGPU_SDMA_UNMAPPING;
    vgpu_sdma_mqd_save(q, image);
    trace_vgpu_cp_sdma_unmap(s->id, e->index, queue, !save, q->queue.rptr,
                             q->queue.exec.done);
    return save ? VGPU_SDMA_UNMAP_SAVE : VGPU_SDMA_UNMAP_DROP;
}

void vgpu_sdma_unmap_finish(VGPUState *s, unsigned engine, unsigned queue)
{
    VGPUSdmaEngine *e = &s->sdma->engines[engine];
    VGPUSdmaQueue *q = &e->queues[queue];

    QEMU_LOCK_GUARD(&e->w.lock);
    /*
     * If the engine was reset after the unmap began, the queue is no longer
     * being unmapped. Then change nothing, because the driver may use the RLC
     * itself.
     */
    if (q->mapped > VGPU_SDMA_MAPPED) {
        q->mapped = VGPU_SDMA_UNMAPPED;
        q->listed = false;
        vgpu_queue_restart(&e->w, &q->queue);
    }
}

VGPUSdmaMapping vgpu_sdma_mapping(VGPUState *s, unsigned engine, unsigned queue)
{
    VGPUSdmaEngine *e = &s->sdma->engines[engine];
    const VGPUSdmaQueue *q = &e->queues[queue];

    QEMU_LOCK_GUARD(&e->w.lock);
    return (VGPUSdmaMapping) {
        .mapped = q->mapped == VGPU_SDMA_MAPPED,
        .unmapping = q->mapped > VGPU_SDMA_MAPPED,
        .listed = q->listed,
        .fixed = q->fixed,
        .vmid = VGPU_GET(q->regs[SDMA_RB_CNTL], SDMA_RB_CNTL__RB_VMID),
        .doorbell = q->regs[SDMA_DOORBELL_OFFSET],
    };
}

uint32_t vgpu_sdma_listed_vmids(VGPUState *s)
{
    uint32_t used = 0;
    unsigned i, n;

    for (i = 0; i < SDMA_NUM_ENGINES; i++) {
        VGPUSdmaEngine *e = &s->sdma->engines[i];

        QEMU_LOCK_GUARD(&e->w.lock);
        for (n = 0; n < SDMA_NUM_QUEUES; n++) {
            const VGPUSdmaQueue *q = &e->queues[n];

            if (q->listed && q->mapped != VGPU_SDMA_UNMAPPED) {
                used |= 1u << VGPU_GET(q->regs[SDMA_RB_CNTL],
                                       SDMA_RB_CNTL__RB_VMID);
            }
        }
    }
    return used;
}
