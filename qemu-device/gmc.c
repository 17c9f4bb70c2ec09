/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: the two VM hubs: their registers and invalidation. SDMA
 * engines translate through the MM hub, compute queues through the GFX hub.
 */
#include "qemu/osdep.h"
#include "qemu/host-utils.h"
#include "hw/misc/vgpu-kfd/core/vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/core/trace.h"

/* What the VBIOS of a card leaves: VRAM at 0x8000 << 24. */
#define FB_LOCATION_RESET       0x8000u
#define FB_UNIT                 (16 * MiB)
#define PAGE_HI                 0x0000000fu     /* bits 47:44 of an address */
#define LAST_PAGE               ((1ull << (VGPU_VA_BITS - VGPU_PAGE_SHIFT)) - 1)
#define INV_REQ_LEAVES \
    (VM_INVALIDATE_ENG_REQ__L2_PTES | VM_INVALIDATE_ENG_REQ__L1_PTES)
#define INV_REQ_BITS \
    (VM_INVALIDATE_ENG_REQ__PER_VMID | VM_INVALIDATE_ENG_REQ__FLUSH_TYPE | \
     VM_INVALIDATE_ENG_REQ__L2_PTES | VM_INVALIDATE_ENG_REQ__L2_PDE0 | \
     VM_INVALIDATE_ENG_REQ__L2_PDE1 | VM_INVALIDATE_ENG_REQ__L2_PDE2 | \
     VM_INVALIDATE_ENG_REQ__L1_PTES | VM_INVALIDATE_ENG_REQ__CLEAR_FAULT)

static uint32_t *hub_store(VGPUState *s, unsigned hub)
{
    return s->hubs[hub].regs;
}

void vgpu_gmc_reset(VGPUState *s)
{
    unsigned h, v;

    for (h = 0; h < VGPU_NUM_HUBS; h++) {
        VGPUHub *hub = &s->hubs[h];

        memset(hub->inv, 0, sizeof(hub->inv));
        hub->regs[MC_VM_FB_LOCATION_TOP] =
            FB_LOCATION_RESET + vgpu_xgmi_span(s) / FB_UNIT - 1;
        for (v = 0; v < VGPU_NUM_VMIDS; v++) {
            qatomic_inc(&s->gen[h][v]);
        }
    }
}

/* Acknowledge what engines have passed. s->lock held. */
static void settle(VGPUState *s, unsigned h, unsigned eng)
{
    VGPUHub *hub = &s->hubs[h];
    uint32_t waiting = 0, done;
    unsigned i;

    for (i = 0; i < VGPU_NUM_CLIENTS; i++) {
        if (hub->inv[eng].waiting[i] &&
            qatomic_load_acquire(&s->clients[i]->access) !=
            hub->inv[eng].seen[i]) {
            hub->inv[eng].waiting[i] = 0;
        }
        waiting |= hub->inv[eng].waiting[i];
    }
    done = hub->inv[eng].pending & ~waiting & ~hub->inv[eng].mute;
    if (done) {
        uint32_t *ack = &hub->regs[VM_INVALIDATE_ENG_ACK(eng)];

        hub->inv[eng].pending &= ~done;
        qatomic_set(ack, *ack | done);
        vgpu_count(s, VGPU_CNT_INVALIDATIONS, ctpop32(done));
        trace_vgpu_inv_ack(s->id, h, eng, done);
    }
}

/* s->lock held. */
static void count_invs(VGPUState *s, unsigned h, uint32_t vmids)
{
    unsigned i;

    for (i = 0; i < VGPU_NUM_VMIDS; i++) {
        if (vmids & (1u << i)) {
            qatomic_inc(&s->invs[h][i]);
        }
    }
}

void vgpu_gmc_drop(VGPUState *s, unsigned h, uint32_t vmids)
{
    unsigned i;

    for (i = 0; i < VGPU_NUM_VMIDS; i++) {
        if (vmids & (1u << i)) {
            qatomic_inc(&s->gen[h][i]);
        }
    }
    count_invs(s, h, vmids);
}

void vgpu_hub_set_root(VGPUState *s, unsigned vmid, uint64_t root)
{
    unsigned h;

    for (h = 0; h < VGPU_NUM_HUBS; h++) {
        uint32_t *lo =
            &s->hubs[h].regs[VM_CONTEXT_PAGE_TABLE_BASE_ADDR_LO32(vmid)];

        qatomic_set(lo, root);
        qatomic_set(lo + 1, root >> 32);
    }
    WITH_QEMU_LOCK_GUARD(&s->lock) {
        for (h = 0; h < VGPU_NUM_HUBS; h++) {
            vgpu_gmc_drop(s, h, 1u << vmid);
        }
    }
    vgpu_clients_wake(s, (1u << VGPU_NUM_HUBS) - 1, 1u << vmid, -1);
}

/* The range that invalidation engine @eng is about. */
static VGPURange range_of(VGPUState *s, unsigned h, unsigned eng)
{
    uint64_t val = vgpu_hub_reg64(s, h,
                                  VM_INVALIDATE_ENG_ADDR_RANGE_LO32(eng));
    uint64_t page = VGPU_GET(val, VM_INVALIDATE_ENG_ADDR_RANGE__PAGE);
    uint64_t mask = 0;

    if (val & VM_INVALIDATE_ENG_ADDR_RANGE__S) {
        mask = MAKE_64BIT_MASK(0, cto64(page) + 1);
    }
    return (VGPURange) { .first = page & ~mask, .last = page | mask };
}

/* Drop the translations that engine @eng's request is about. s->lock held. */
static void drop(VGPUState *s, unsigned h, unsigned eng, uint32_t vmids)
{
    VGPUHub *hub = &s->hubs[h];
    VGPURange range = range_of(s, h, eng);
    uint32_t n = hub->num_ranges;

    trace_vgpu_inv_range(s->id, h, eng, vmids, range.first, range.last);
    if (!range.first && range.last >= LAST_PAGE) {
        vgpu_gmc_drop(s, h, vmids);
        return;
    }
    range.vmids = vmids;
    hub->ranges[n % VGPU_RANGE_LOG] = range;
    qatomic_store_release(&hub->num_ranges, n + 1);
    count_invs(s, h, vmids);
}

void vgpu_gmc_settle(VGPUState *s)
{
    unsigned h, eng;

    QEMU_LOCK_GUARD(&s->lock);
    for (h = 0; h < VGPU_NUM_HUBS; h++) {
        for (eng = 0; eng < VGPU_NUM_INV_ENGINES; eng++) {
            if (s->hubs[h].inv[eng].pending) {
                settle(s, h, eng);
            }
        }
    }
}

/* Drop translations. There are no directories in a TLB: leaves, or nothing. */
static void req_written(VGPUState *s, unsigned h, unsigned off, uint32_t old,
                        uint32_t val)
{
    unsigned eng = off - VM_INVALIDATE_ENG_REQ(0);
    uint32_t vmids = val & VM_INVALIDATE_ENG_REQ__PER_VMID;
    VGPUHub *hub = &s->hubs[h];
    uint32_t *ack = &hub->regs[VM_INVALIDATE_ENG_ACK(eng)];
    unsigned i;

    trace_vgpu_inv_req(s->id, h, eng, val);
    WITH_QEMU_LOCK_GUARD(&s->lock) {
        qatomic_set(ack, *ack & ~vmids);
        if (val & VM_INVALIDATE_ENG_REQ__CLEAR_FAULT) {
            vgpu_fault_clear(s, h);
        }
        /* A request that overtakes an older one answers for both. */
        vgpu_count(s, VGPU_CNT_INVALIDATIONS,
                   ctpop32(hub->inv[eng].pending & vmids));
        hub->inv[eng].pending |= vmids;
        hub->inv[eng].mute &= ~vmids;
        if (vgpu_inject_armed(s, VGPU_INJECT_INVALIDATIONS)) {
            hub->inv[eng].mute |= vgpu_inject_invalidation(s, h, eng, &vmids);
        }
        if (val & INV_REQ_LEAVES) {
            drop(s, h, eng, vmids);
        } else {
            count_invs(s, h, vmids);
        }
        /*
         * What is dropped first, then who is inside: pairs with
         * vgpu_client_begin().
         */
        smp_mb();
        for (i = 0; i < VGPU_NUM_CLIENTS; i++) {
            unsigned access = qatomic_read(&s->clients[i]->access);

            if (s->clients[i]->hub == h && (access & 1)) {
                hub->inv[eng].waiting[i] |= vmids;
                hub->inv[eng].seen[i] = access;
            }
        }
        if (!vgpu_delay_ack(s, true)) {
            settle(s, h, eng);
        }
    }
    vgpu_clients_wake(s, 1u << h, vmids, -1);
}

static uint32_t ack_read(VGPUState *s, unsigned h, unsigned off)
{
    QEMU_LOCK_GUARD(&s->lock);
    if (!vgpu_delay_ack(s, false)) {
        settle(s, h, off - VM_INVALIDATE_ENG_ACK(0));
    }
    return s->hubs[h].regs[off];
}

/* Acquired at once: there is one master. */
static uint32_t sem_read(VGPUState *s, unsigned h, unsigned off)
{
    return 1;
}

static void sem_written(VGPUState *s, unsigned h, unsigned off, uint32_t old,
                        uint32_t val)
{
}

static void fault_cntl_written(VGPUState *s, unsigned h, unsigned off,
                               uint32_t old, uint32_t val)
{
    if (val & VM_L2_PROTECTION_FAULT_CNTL__CLEAR_STATUS_ADDR) {
        QEMU_LOCK_GUARD(&s->lock);
        vgpu_fault_clear(s, h);
    }
}

static bool hub_engine_read(VGPUState *s, unsigned h, unsigned off,
                            uint32_t *val)
{
    if (off >= VM_INVALIDATE_ENG_ACK(0) &&
        off < VM_INVALIDATE_ENG_ACK(VGPU_NUM_INV_ENGINES)) {
        *val = ack_read(s, h, off);
    } else {
        *val = vgpu_hub_reg(s, h, off);
    }
    return true;
}

VgpuInvalidationInfoList *vgpu_query_invalidations(VGPUState *s)
{
    VgpuInvalidationInfoList *list = NULL, **tail = &list;
    unsigned h, eng;

    for (h = 0; h < VGPU_NUM_HUBS; h++) {
        for (eng = 0; eng < VGPU_NUM_INV_ENGINES; eng++) {
            if (s->hubs[h].inv[eng].pending) {
                VgpuInvalidationInfo *info = g_new0(VgpuInvalidationInfo, 1);

                info->hub = vgpu_hub_kind(h);
                info->engine = eng;
                info->vmids = s->hubs[h].inv[eng].pending;
                QAPI_LIST_APPEND(tail, info);
            }
        }
    }
    return list;
}

static uint32_t lfb_cntl_read(VGPUState *s, unsigned h, unsigned off)
{
    return vgpu_xgmi_lfb_cntl(s);
}

static uint32_t lfb_size_read(VGPUState *s, unsigned h, unsigned off)
{
    return vgpu_xgmi_lfb_size(s);
}

static const VGPUReg hub_regs[HUB_SPAN] = {
    [VM_L2_CNTL ... VM_L2_CNTL3] = VGPU_REG_RW(UINT32_MAX),
    [VM_L2_STATUS] = VGPU_REG_RO,
    [VM_L2_PROTECTION_FAULT_CNTL] = {
        .exists = true,
        .mask = ~VM_L2_PROTECTION_FAULT_CNTL__CLEAR_STATUS_ADDR,
        .reset = 0x3ffffffc,            /* every class to the default page */
        .written = fault_cntl_written,
    },
    [VM_L2_PROTECTION_FAULT_CNTL2] = {
        .exists = true, .mask = UINT32_MAX, .reset = 0x000a0000,
    },
    [VM_L2_PROTECTION_FAULT_STATUS ... VM_L2_PROTECTION_FAULT_ADDR_HI32] =
        VGPU_REG_RO,
    [VM_L2_PROTECTION_FAULT_DEFAULT_ADDR_LO32] = VGPU_REG_RW(UINT32_MAX),
    [VM_L2_PROTECTION_FAULT_DEFAULT_ADDR_HI32] = VGPU_REG_RW(PAGE_HI),
    [VM_L2_CNTL4] = VGPU_REG_RW(UINT32_MAX),
    [VM_CONTEXT_CNTL(0) ... VM_CONTEXT_CNTL(15)] = {
        .exists = true, .mask = 0x007fffff, .reset = 0x007ffe80,
    },
    [VM_CONTEXTS_DISABLE] = VGPU_REG_RW(0xffff),
    [VM_INVALIDATE_ENG_SEM(0) ...
     VM_INVALIDATE_ENG_SEM(VGPU_NUM_INV_ENGINES - 1)] = {
        .exists = true,
        .read = sem_read,
        .written = sem_written,
    },
    [VM_INVALIDATE_ENG_REQ(0) ...
     VM_INVALIDATE_ENG_REQ(VGPU_NUM_INV_ENGINES - 1)] =
        VGPU_REG_WRITTEN(INV_REQ_BITS, req_written),
    [VM_INVALIDATE_ENG_ACK(0) ...
     VM_INVALIDATE_ENG_ACK(VGPU_NUM_INV_ENGINES - 1)] =
        VGPU_REG_READ(ack_read),
    [VM_INVALIDATE_ENG_ADDR_RANGE_LO32(0) ...
     VM_INVALIDATE_ENG_ADDR_RANGE_HI32(VGPU_NUM_INV_ENGINES - 1)] =
        VGPU_REG_RW(UINT32_MAX),        /* of HI32, 4:0 count */
    [VM_CONTEXT_PAGE_TABLE_BASE_ADDR_LO32(0) ...
     VM_CONTEXT_PAGE_TABLE_END_ADDR_HI32(15)] = VGPU_REG_RW(UINT32_MAX),
    [MC_VM_FB_OFFSET] = VGPU_REG_RW(0x00ffffff),
    [MC_VM_SYSTEM_APERTURE_DEFAULT_ADDR_LSB] = VGPU_REG_RW(UINT32_MAX),
    [MC_VM_SYSTEM_APERTURE_DEFAULT_ADDR_MSB] = VGPU_REG_RW(PAGE_HI),
    [MC_VM_XGMI_LFB_CNTL] = VGPU_REG_READ(lfb_cntl_read),
    [MC_VM_XGMI_LFB_SIZE] = VGPU_REG_READ(lfb_size_read),
    [MC_VM_FB_LOCATION_BASE] = {
        .exists = true,
        .mask = 0x00ffffff,
        .reset = FB_LOCATION_RESET,
    },
    [MC_VM_FB_LOCATION_TOP ... MC_VM_AGP_TOP] = VGPU_REG_RW(0x00ffffff),
    [MC_VM_AGP_BOT] = {
        .exists = true,
        .mask = 0x00ffffff,
        .reset = 0x00ffffff,            /* above TOP: no window */
    },
    [MC_VM_AGP_BASE] = VGPU_REG_RW(0x00ffffff),
    [MC_VM_SYSTEM_APERTURE_LOW_ADDR ... MC_VM_SYSTEM_APERTURE_HIGH_ADDR] =
        VGPU_REG_RW(0x3fffffff),
    [MC_VM_MX_L1_TLB_CNTL] = VGPU_REG_RW(UINT32_MAX),
};

const VGPUBlock vgpu_hub_gfx_block = {
    .base = HUB_GFX_BASE,
    .span = HUB_SPAN,
    .count = 1,
    .first = VGPU_HUB_GFX,
    .regs = hub_regs,
    .store = hub_store,
    .engine_read = hub_engine_read,
};

const VGPUBlock vgpu_hub_mm_block = {
    .base = HUB_MM_BASE,
    .span = HUB_SPAN,
    .count = 1,
    .first = VGPU_HUB_MM,
    .regs = hub_regs,
    .store = hub_store,
    .engine_read = hub_engine_read,
};

static uint32_t *athub_store(VGPUState *s, unsigned inst)
{
    return s->athub;
}

#define ATC(reg)    ((reg) - ATHUB_BASE)

void vgpu_athub_set_pasid(VGPUState *s, unsigned vmid, uint16_t pasid,
                          bool valid)
{
    uint32_t atc = pasid | (valid ? ATC_VMID_PASID_MAPPING__VALID : 0);

    qatomic_set(&s->athub[ATC(ATC_VMID_PASID_MAPPING(vmid))], atc);
    qatomic_set(&s->athub[ATC(ATC_VMID_PASID_MAPPING(vmid + 16))], atc);
}

static void pasid_written(VGPUState *s, unsigned inst, unsigned off,
                          uint32_t old, uint32_t val)
{
    s->athub[ATC(ATC_VMID_PASID_MAPPING_UPDATE_STATUS)] |=
        1u << (off - ATC(ATC_VMID_PASID_MAPPING(0)));
}

/* Write 1 to clear. */
static void pasid_status_written(VGPUState *s, unsigned inst, unsigned off,
                                 uint32_t old, uint32_t val)
{
    s->athub[off] &= ~val;
}

static const VGPUReg athub_regs[VGPU_ATHUB_SPAN] = {
    [ATC(ATC_VMID_PASID_MAPPING_UPDATE_STATUS)] =
        VGPU_REG_WRITTEN(0, pasid_status_written),
    [ATC(ATC_VMID_PASID_MAPPING(0)) ... ATC(ATC_VMID_PASID_MAPPING(31))] =
        VGPU_REG_WRITTEN(ATC_VMID_PASID_MAPPING__PASID |
                         ATC_VMID_PASID_MAPPING__VALID, pasid_written),
};

const VGPUBlock vgpu_athub_block = {
    .base = ATHUB_BASE,
    .span = VGPU_ATHUB_SPAN,
    .count = 1,
    .regs = athub_regs,
    .store = athub_store,
};
