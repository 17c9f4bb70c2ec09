/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: the two VM hubs: apertures, contexts, fault status, the retry CAM
 * and invalidation.
 */
#include "qemu/osdep.h"
#include "qemu/log.h"
#include "qemu/units.h"
#include "vgpu-kfd.h"
#include "trace.h"

void vgpu_gmc_reset(VGPUState *s)
{
    unsigned h;

    memset(s->hubs, 0, sizeof(s->hubs));
    memset(s->cam, 0, sizeof(s->cam));
    memset(s->atc_pasid, 0, sizeof(s->atc_pasid));
    s->atc_status = 0;
    for (h = 0; h < VGPU_NUM_HUBS; h++) {
        uint32_t *regs = s->hubs[h].regs;

        /* What the VBIOS of a card leaves: VRAM at 0x8000 << 24. */
        regs[MC_VM_FB_LOCATION_BASE] = 0x8000;
        regs[MC_VM_FB_LOCATION_TOP] =
            0x8000 + DIV_ROUND_UP(s->vram_size, 16 * MiB) - 1;
        regs[MC_VM_AGP_BOT] = 0xffffff;
        regs[VM_L2_PROTECTION_FAULT_CNTL] = 0x3ffc;
    }
    for (h = 0; h < VGPU_NUM_VMIDS; h++) {
        qatomic_inc(&s->gen[h]);
    }
}

static bool gmc_decode(uint32_t reg, unsigned *hub, unsigned *off)
{
    for (*hub = 0; *hub < VGPU_NUM_HUBS; (*hub)++) {
        uint32_t base = HUB(*hub);

        if (reg >= base && reg < base + HUB_SPAN) {
            *off = reg - base;
            return true;
        }
    }
    return false;
}

/* s->lock held. */
static void inv_settle_one(VGPUState *s, unsigned h, unsigned eng)
{
    VGPUHub *hub = &s->hubs[h];
    uint32_t waiting = 0, done;
    unsigned i;

    for (i = 0; i < VGPU_NUM_SDMA; i++) {
        if (hub->inv[eng].waiting[i] &&
            qatomic_load_acquire(&s->sdma[i].access) !=
            hub->inv[eng].seen[i]) {
            hub->inv[eng].waiting[i] = 0;
        }
        waiting |= hub->inv[eng].waiting[i];
    }
    done = hub->inv[eng].pending & ~waiting;
    if (done) {
        hub->inv[eng].pending &= ~done;
        hub->regs[VM_INVALIDATE_ENG_ACK(eng)] |= done;
        vgpu_count(s, VGPU_CNT_INVALIDATIONS, ctpop32(done));
        trace_vgpu_inv_ack(s->id, h, eng, done);
    }
}

void vgpu_gmc_settle(VGPUState *s)
{
    unsigned h, eng;

    QEMU_LOCK_GUARD(&s->lock);
    for (h = 0; h < VGPU_NUM_HUBS; h++) {
        for (eng = 0; eng < VGPU_NUM_INV_ENGINES; eng++) {
            if (s->hubs[h].inv[eng].pending) {
                inv_settle_one(s, h, eng);
            }
        }
    }
}

static void fault_clear(VGPUHub *hub)
{
    hub->regs[VM_L2_PROTECTION_FAULT_STATUS] = 0;
    hub->regs[VM_L2_PROTECTION_FAULT_ADDR_LO32] = 0;
    hub->regs[VM_L2_PROTECTION_FAULT_ADDR_HI32] = 0;
}

/*
 * Drop translations. The range registers are honoured by dropping more than
 * they ask for: the whole VMID.
 */
static void inv_request(VGPUState *s, unsigned h, unsigned eng, uint32_t val)
{
    VGPUHub *hub = &s->hubs[h];
    uint32_t vmids = val & VM_INVALIDATE_ENG_REQ__PER_VMID;
    unsigned i;

    trace_vgpu_inv_req(s->id, h, eng, val);
    WITH_QEMU_LOCK_GUARD(&s->lock) {
        hub->regs[VM_INVALIDATE_ENG_ACK(eng)] &= ~vmids;
        if (val & VM_INVALIDATE_ENG_REQ__CLEAR_FAULT) {
            fault_clear(hub);
        }
        for (i = 0; i < VGPU_NUM_VMIDS; i++) {
            if (vmids & (1u << i)) {
                qatomic_inc(&s->gen[i]);
            }
        }
        /* Generations first, then who is inside: pairs with access_begin(). */
        smp_mb();
        hub->inv[eng].pending |= vmids;
        for (i = 0; i < VGPU_NUM_SDMA; i++) {
            unsigned access = qatomic_read(&s->sdma[i].access);

            /* Engines translate through the MM hub only. */
            if (h == VGPU_HUB_MM && (access & 1)) {
                hub->inv[eng].waiting[i] |= vmids;
                hub->inv[eng].seen[i] = access;
            }
        }
        inv_settle_one(s, h, eng);
    }
    if (h == VGPU_HUB_MM) {
        vgpu_sdma_wake_vmids(s, vmids);
    }
}

bool vgpu_gmc_read(VGPUState *s, uint32_t reg, uint32_t *val)
{
    unsigned h, off;

    if (reg == ATC_VMID_PASID_MAPPING_UPDATE_STATUS) {
        *val = s->atc_status;
        return true;
    }
    if (reg >= ATC_VMID_PASID_MAPPING(0) && reg <= ATC_VMID_PASID_MAPPING(31)) {
        *val = s->atc_pasid[reg - ATC_VMID_PASID_MAPPING(0)];
        return true;
    }
    if (!gmc_decode(reg, &h, &off)) {
        return false;
    }
    if (off >= VM_INVALIDATE_ENG_ACK(0) &&
        off < VM_INVALIDATE_ENG_ACK(VGPU_NUM_INV_ENGINES)) {
        QEMU_LOCK_GUARD(&s->lock);
        inv_settle_one(s, h, off - VM_INVALIDATE_ENG_ACK(0));
    }
    if (off >= VM_INVALIDATE_ENG_SEM(0) &&
        off < VM_INVALIDATE_ENG_SEM(VGPU_NUM_INV_ENGINES)) {
        *val = 1;                       /* acquired: there is one master */
        return true;
    }
    *val = qatomic_read(&s->hubs[h].regs[off]);
    return true;
}

bool vgpu_gmc_write(VGPUState *s, uint32_t reg, uint32_t val)
{
    VGPUHub *hub;
    unsigned h, off;

    if (reg == ATC_VMID_PASID_MAPPING_UPDATE_STATUS) {
        s->atc_status &= ~val;          /* write 1 to clear */
        return true;
    }
    if (reg >= ATC_VMID_PASID_MAPPING(0) && reg <= ATC_VMID_PASID_MAPPING(31)) {
        unsigned v = reg - ATC_VMID_PASID_MAPPING(0);

        s->atc_pasid[v] = val & (ATC_VMID_PASID_MAPPING__PASID |
                                 ATC_VMID_PASID_MAPPING__VALID);
        s->atc_status |= 1u << v;
        return true;
    }
    if (!gmc_decode(reg, &h, &off)) {
        return false;
    }
    hub = &s->hubs[h];

    if (off >= VM_INVALIDATE_ENG_REQ(0) &&
        off < VM_INVALIDATE_ENG_REQ(VGPU_NUM_INV_ENGINES)) {
        hub->regs[off] = val;
        inv_request(s, h, off - VM_INVALIDATE_ENG_REQ(0), val);
        return true;
    }
    if (off >= VM_INVALIDATE_ENG_ACK(0) &&
        off < VM_INVALIDATE_ENG_ACK(VGPU_NUM_INV_ENGINES)) {
        return true;                    /* read-only */
    }

    switch (off) {
    case VM_L2_STATUS:
    case VM_L2_PROTECTION_FAULT_STATUS:
    case VM_L2_PROTECTION_FAULT_ADDR_LO32:
    case VM_L2_PROTECTION_FAULT_ADDR_HI32:
        return true;                    /* read-only */
    case VM_L2_PROTECTION_FAULT_CNTL:
        if (val & VM_L2_PROTECTION_FAULT_CNTL__CLEAR_STATUS_ADDR) {
            QEMU_LOCK_GUARD(&s->lock);
            fault_clear(hub);
        }
        val &= ~VM_L2_PROTECTION_FAULT_CNTL__CLEAR_STATUS_ADDR;
        break;
    }
    qatomic_set(&hub->regs[off], val);
    return true;
}

static void fault_data(uint64_t va, bool write, uint32_t *data)
{
    data[0] = va >> VGPU_PAGE_SHIFT;
    data[1] = (va >> 44 & IH_FAULT_D1__VA_HI) |
              (write ? IH_FAULT_D1__WRITE : 0);
}

static uint8_t fault_ring(bool write)
{
    return IH_RING_FAULT_VALID |
           (write ? IH_RING_FAULT_WRITE : IH_RING_FAULT_READ);
}

static uint8_t fault_client(unsigned hub)
{
    return hub == VGPU_HUB_MM ? IH_CLIENT_VMC : IH_CLIENT_UTCL2;
}

void vgpu_gmc_fault(VGPUState *s, unsigned h, unsigned vmid, uint64_t va,
                    bool write, const VGPUSpan *span, unsigned cid, bool quiet)
{
    VGPUHub *hub = &s->hubs[h];
    uint32_t *status = &hub->regs[VM_L2_PROTECTION_FAULT_STATUS];
    uint32_t data[4] = { 0 };

    QEMU_LOCK_GUARD(&s->lock);
    if (*status && !(hub->regs[VM_L2_PROTECTION_FAULT_CNTL] &
                     VM_L2_PROTECTION_FAULT_CNTL__ALLOW_SUBSEQUENT)) {
        *status |= VM_L2_PROTECTION_FAULT_STATUS__MORE_FAULTS;
    } else {
        uint32_t val = 0;

        val = VGPU_SET(val, VM_L2_PROTECTION_FAULT_STATUS__WALKER_ERROR,
                       span->walker_error);
        /* Permission bits: valid, read, write; which one denied the access. */
        val = VGPU_SET(val, VM_L2_PROTECTION_FAULT_STATUS__PERMISSION,
                       !span->permission ? 1u : write ? 4u : 2u);
        val = VGPU_SET(val, VM_L2_PROTECTION_FAULT_STATUS__MAPPING_ERROR,
                       span->walker_error == VGPU_WALKER_NACK);
        val = VGPU_SET(val, VM_L2_PROTECTION_FAULT_STATUS__CID, cid);
        val = VGPU_SET(val, VM_L2_PROTECTION_FAULT_STATUS__RW, write);
        val = VGPU_SET(val, VM_L2_PROTECTION_FAULT_STATUS__VMID, vmid);
        *status = val;
        hub->regs[VM_L2_PROTECTION_FAULT_ADDR_LO32] = va >> VGPU_PAGE_SHIFT;
        hub->regs[VM_L2_PROTECTION_FAULT_ADDR_HI32] = va >> 44;
    }
    if (quiet) {
        return;
    }
    s->serial++;
    vgpu_count(s, VGPU_CNT_FAULTS_NORETRY, 1);
    trace_vgpu_fault(s->id, vmid, va, write, 0, s->serial, 0);
    fault_data(va, write, data);
    data[3] = s->serial;
    vgpu_ih_push(s, fault_client(h), IH_SRC_VM_FAULT, fault_ring(write), vmid,
                 h == VGPU_HUB_MM, data);
}

uint32_t vgpu_gmc_retry(VGPUState *s, unsigned h, unsigned vmid, uint64_t va,
                        bool write, uint32_t *serial)
{
    uint64_t page = va >> VGPU_PAGE_SHIFT;
    uint32_t data[4] = { 0 };
    uint32_t slot = VGPU_CAM_NONE;
    unsigned i;

    QEMU_LOCK_GUARD(&s->lock);
    if (s->ih.cam_cntl & IH_RETRY_INT_CAM_CNTL__ENABLE) {
        for (i = 0; i < VGPU_CAM_SLOTS; i++) {
            VGPUCamSlot *c = &s->cam[i];

            if (c->used && c->hub == h && c->vmid == vmid && c->page == page) {
                vgpu_count(s, VGPU_CNT_FAULTS_MERGED, 1);
                *serial = c->serial;
                return i;
            }
            if (!c->used && slot == VGPU_CAM_NONE) {
                slot = i;
            }
        }
        if (slot == VGPU_CAM_NONE) {
            return slot;
        }
        s->cam[slot] = (VGPUCamSlot) {
            .used = true, .hub = h, .vmid = vmid, .page = page,
            .serial = s->serial + 1,
        };
    }
    *serial = ++s->serial;
    vgpu_count(s, VGPU_CNT_FAULTS_RETRY, 1);
    trace_vgpu_fault(s->id, vmid, va, write, 1, s->serial, slot);
    fault_data(va, write, data);
    data[1] |= IH_FAULT_D1__RETRY;
    data[2] = slot == VGPU_CAM_NONE ? 0 : slot;
    data[3] = s->serial;
    vgpu_ih_push(s, fault_client(h), IH_SRC_VM_FAULT, fault_ring(write), vmid,
                 h == VGPU_HUB_MM, data);
    return slot;
}

bool vgpu_gmc_cam_holds(VGPUState *s, uint32_t slot, uint32_t serial)
{
    QEMU_LOCK_GUARD(&s->lock);
    return s->cam[slot].used && s->cam[slot].serial == serial;
}

void vgpu_gmc_cam_ack(VGPUState *s, uint32_t slot)
{
    if (slot >= VGPU_CAM_SLOTS) {
        qemu_log_mask(LOG_GUEST_ERROR,
                      "%s: acknowledge of CAM slot %u, there are %u\n",
                      s->id, slot, VGPU_CAM_SLOTS);
        return;
    }
    trace_vgpu_cam_ack(s->id, slot, s->cam[slot].serial);
    WITH_QEMU_LOCK_GUARD(&s->lock) {
        s->cam[slot].used = false;
    }
    vgpu_sdma_wake_cam(s, slot);
}
