/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: reports of VM faults: no-retry faults, and retry faults with the
 * retry CAM (retry-cam.c) or without it (fault-ratelimit.c). The status of
 * no-retry faults in the hubs' registers is in memory/fault-status.c.
 */
#include "qemu/osdep.h"
#include "qemu/timer.h"
#include "vgpu/device_info.h"
#include "vgpu/gmc.h"
#include "vgpu/pte.h"
#include "hw/misc/vgpu-kfd/core/counters.h"
#include "hw/misc/vgpu-kfd/core/stall.h"
#include "hw/misc/vgpu-kfd/core/trace.h"
#include "hw/misc/vgpu-kfd/ih/internal.h"
#include "hw/misc/vgpu-kfd/inject/inject.h"
#include "hw/misc/vgpu-kfd/memory/client.h"
#include "hw/misc/vgpu-kfd/memory/hub.h"
#include "hw/misc/vgpu-kfd/memory/span.h"

void vgpu_fault_report_noretry(VGPUClient *c, unsigned vmid, uint64_t va,
                               const VGPUSpan *span, bool quiet)
{
    VGPUState *s = c->s;
    unsigned h = c->hub;
    uint32_t context = vgpu_fault_interrupt_bit(span->fault);
    /* Interrupts of a class without a bit in VM_CONTEXT_CNTL are enabled. */
    bool interrupt = !context || (vgpu_hub_reg(s, h, VM_CONTEXT_CNTL(vmid)) &
                                  context);

    trace_vgpu_fault_class(s->id, h, vmid, va, span->fault, span->walker_error,
                           interrupt);
    QEMU_LOCK_GUARD(&s->lock);
    vgpu_hub_latch_fault(c, vmid, va, span);
    if (!quiet && interrupt) {
        qatomic_set(&s->ih->fault_serial, s->ih->fault_serial + 1);
        vgpu_count(s, VGPU_CNT_FAULTS_NORETRY, 1);
        vgpu_fault_send_first_entry(s, vgpu_client_site(c, vmid, va),
                                    span->write, false, 0, s->ih->fault_serial);
    }
}

void vgpu_fault_reset(VGPUState *s)
{
    memset(s->ih->cam, 0, sizeof(s->ih->cam));
    vgpu_timer_del(&s->ih->cam_timer);
    memset(s->ih->pace, 0, sizeof(s->ih->pace));
    qatomic_set(&s->ih->fault_serial, 0);
}

void vgpu_fault_report_retry(VGPUClient *c, unsigned vmid, uint64_t va,
                             bool write, VGPUStall *stall)
{
    VGPUState *s = c->s;
    unsigned hub = c->hub;
    uint64_t page = va >> VGPU_PAGE_SHIFT;
    unsigned slot = 0;

    QEMU_LOCK_GUARD(&s->lock);
    if (!(vgpu_hub_reg(s, hub, VM_L2_PROTECTION_FAULT_CNTL2) &
          VM_L2_PROTECTION_FAULT_CNTL2__ENABLE_RETRY_INTERRUPT)) {
        /*
         * Do not report the fault. Try the access again later, since the driver
         * may map the page meanwhile.
         */
        trace_vgpu_fault_silent(s->id, hub, vmid, va);
        stall->why = VGPU_WAIT_RETRY;
        stall->until = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) +
                       VGPU_RETRY_INTERVAL_NS;
        stall->serial = 0;
        return;
    }
    if (vgpu_cam_enabled(s)) {
        slot = vgpu_cam_find(s, hub, vmid, page);
        if (slot < VGPU_RETRY_CAM_SLOTS) {
            /*
             * Count the access as merged only once. If the access has waited
             * for this slot before, @stall has the slot's serial number.
             */
            if (stall->serial != s->ih->cam[slot].serial) {
                vgpu_count(s, VGPU_CNT_FAULTS_MERGED, 1);
                trace_vgpu_fault_merged(s->id, hub, vmid, va, write,
                                        s->ih->cam[slot].serial, slot);
            }
            vgpu_cam_wait(s, slot, vgpu_client_site(c, vmid, va), write, stall);
            return;
        }
        slot = vgpu_cam_free_slot(s);
        if (slot == VGPU_RETRY_CAM_SLOTS) {
            trace_vgpu_cam_full(s->id, hub, vmid, va);
            stall->why = VGPU_WAIT_CAM_FREE;
            stall->serial = 0;
            return;
        }
        s->ih->cam[slot] = (VGPUCamSlot) {
            .used = true, .hub = hub, .vmid = vmid, .page = page,
            .serial = s->ih->fault_serial + 1,
        };
        vgpu_cam_wait(s, slot, vgpu_client_site(c, vmid, va), write, stall);
    } else {
        int64_t now = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
        bool joins = !stall->serial;

        stall->why = VGPU_WAIT_RETRY;
        stall->until = now + VGPU_RETRY_INTERVAL_NS;
        if (!vgpu_fault_ratelimit(s, hub, vmid, page, now, &stall->serial)) {
            if (joins) {
                vgpu_count(s, VGPU_CNT_FAULTS_MERGED, 1);
            }
            trace_vgpu_fault_paced(s->id, hub, vmid, va, write, stall->serial);
            return;
        }
    }
    qatomic_set(&s->ih->fault_serial, s->ih->fault_serial + 1);
    stall->serial = s->ih->fault_serial;
    vgpu_count(s, VGPU_CNT_FAULTS_RETRY, 1);
    vgpu_fault_send_first_entry(s, vgpu_client_site(c, vmid, va), write, true,
                                slot, stall->serial);
}

uint32_t vgpu_fault_serial(VGPUState *s)
{
    return qatomic_read(&s->ih->fault_serial);
}

void vgpu_fault_report_spurious(VGPUState *s, unsigned hub, unsigned vmid,
                                uint64_t va, bool write, bool retry)
{
    uint64_t page = va >> VGPU_PAGE_SHIFT;
    unsigned slot = 0;
    bool joins = false;
    uint32_t serial;

    QEMU_LOCK_GUARD(&s->lock);
    serial = s->ih->fault_serial + 1;
    if (retry && vgpu_cam_enabled(s)) {
        slot = vgpu_cam_find(s, hub, vmid, page);
        if (slot == VGPU_RETRY_CAM_SLOTS) {
            slot = vgpu_cam_free_slot(s);
        }
        if (slot == VGPU_RETRY_CAM_SLOTS) {
            trace_vgpu_cam_full(s->id, hub, vmid, va);
            return;
        }
        joins = s->ih->cam[slot].used;
        if (joins) {
            serial = s->ih->cam[slot].serial;
        } else {
            s->ih->cam[slot] = (VGPUCamSlot) {
                .used = true, .hub = hub, .vmid = vmid, .page = page,
                .serial = serial,
            };
        }
    }
    if (joins) {
        vgpu_count(s, VGPU_CNT_FAULTS_MERGED, 1);
    } else {
        qatomic_set(&s->ih->fault_serial, serial);
        vgpu_count(s, retry ? VGPU_CNT_FAULTS_RETRY :
                              VGPU_CNT_FAULTS_NORETRY, 1);
    }
    vgpu_fault_send_first_entry(s, (VGPUSite) {
        .hub = hub, .vmid = vmid, .va = va,
        .engine = VGPU_SITE_NONE, .queue = VGPU_SITE_NONE,
    }, write, retry, slot, serial);
}
