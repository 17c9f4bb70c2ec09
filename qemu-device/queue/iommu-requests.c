/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: the bottom half that calls the IOMMU for queues that wait for a
 * translation (VGPU_WAIT_IOMMU), and for interrupt entries. See memory/iommu.c.
 */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "system/runstate.h"
#include "hw/misc/vgpu-kfd/core/stall.h"
#include "hw/misc/vgpu-kfd/core/vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/ih/ih.h"
#include "hw/misc/vgpu-kfd/memory/iommu.h"
#include "hw/misc/vgpu-kfd/queue/internal.h"
#include "hw/misc/vgpu-kfd/queue/queue.h"

/*
 * Return true if the main loop must call the IOMMU for queue @n of @w. If the
 * queue waits for the IOMMU but needs no call, end the wait. The caller holds
 * w->lock.
 */
static bool iommu_request_due(VGPUState *s, VGPUWorker *w, unsigned n)
{
    VGPUQueue *q = w->ops->queue(w, n);

    if (q->wait != VGPU_WAIT_IOMMU) {
        return false;
    }
    if (w->ops->runnable(w, n) &&
        vgpu_iommu_is_current(s, &q->exec.mem.iotlb.stamp)) {
        return true;
    }
    /*
     * The request is stale, or the queue may not run. Drop the request. The
     * access is repeated when the queue runs again.
     */
    q->wait = VGPU_WAIT_NONE;
    vgpu_worker_kick(w);
    return false;
}

/*
 * Call the IOMMU for all queues of @w that have requests. Return false if the
 * device was unplugged meanwhile: see vgpu_iommu_request().
 */
static bool iommu_serve_worker(VGPUState *s, VGPUWorker *w)
{
    unsigned n, num = w->ops->num_queues;

    for (n = 0; n < num; n++) {
        VGPUQueue *q = w->ops->queue(w, n);
        VGPUView *mem = &q->exec.mem;
        uint32_t number = 0;
        VGPUIommuReply reply;
        hwaddr addr = 0;
        bool write = false, due;

        WITH_QEMU_LOCK_GUARD(&w->lock) {
            due = iommu_request_due(s, w, n);
            if (due) {
                number = mem->stall.number;
                addr = mem->iotlb.addr;
                write = mem->iotlb.write;
            }
        }
        if (!due) {
            continue;
        }
        if (!vgpu_iommu_request(s, addr, write, &reply)) {
            return false;
        }
        WITH_QEMU_LOCK_GUARD(&w->lock) {
            /*
             * The CP may have mapped another queue to the same HQD meanwhile.
             * The number of the wait has then changed, and the reply is
             * dropped.
             */
            if (q->wait == VGPU_WAIT_IOMMU && mem->stall.number == number) {
                vgpu_iommu_put_reply(s, &mem->iotlb, &reply);
                q->wait = VGPU_WAIT_NONE;
                vgpu_worker_kick(w);
            }
        }
    }
    return true;
}

static void drop_reference(void *opaque)
{
    object_unref(OBJECT(opaque));
}

void vgpu_worker_serve_iommu(void *opaque)
{
    VGPUState *s = opaque;
    bool here;
    unsigned i;

    if (s->removed) {
        return;
    }
    object_ref(OBJECT(s));
    /*
     * Write queued interrupt entries to the rings even while the machine is
     * stopped. Rings are saved with the guest's memory, but queued entries are
     * not saved.
     */
    here = vgpu_ih_flush(s, false);
    /*
     * Stop if the device was unplugged meanwhile (!here). While the machine is
     * stopped, the requests stay pending. When the machine runs again,
     * vgpu_kfd_vm_state() schedules this bottom half.
     */
    for (i = 0; here && runstate_is_running() && i < VGPU_NUM_CLIENTS; i++) {
        here = iommu_serve_worker(s, s->workers->by_client[i]);
    }
    if (here) {
        object_unref(OBJECT(s));
    } else {
        /*
         * After this function returns, QEMU writes the device's reentrancy
         * guard, which is a member of @s. So free @s in another bottom half.
         */
        aio_bh_schedule_oneshot(qemu_get_aio_context(), drop_reference, s);
    }
}
