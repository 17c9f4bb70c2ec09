/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: the registers of the two VM hubs and of ATHUB. SDMA engines
 * translate through the MM hub, compute queues through the GFX hub.
 */
#include "qemu/osdep.h"
#include "hw/misc/vgpu-kfd/core/regs.h"
#include "hw/misc/vgpu-kfd/core/vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/memory/hub.h"
#include "hw/misc/vgpu-kfd/memory/internal.h"
#include "hw/misc/vgpu-kfd/memory/memory.h"

/*
 * After a reset, the FB aperture begins at GPU address 0x8000 << 24, as the
 * VBIOS of a card sets it.
 */
#define FB_LOCATION_RESET       0x8000u
#define FB_UNIT                 (16 * MiB)
#define PAGE_HI                 0x0000000fu     /* bits 47:44 of an address */
#define INV_REQ_BITS \
    (VM_INVALIDATE_ENG_REQ__PER_VMID | VM_INVALIDATE_ENG_REQ__FLUSH_TYPE | \
     VM_INVALIDATE_ENG_REQ__L2_PTES | VM_INVALIDATE_ENG_REQ__L2_PDE0 | \
     VM_INVALIDATE_ENG_REQ__L2_PDE1 | VM_INVALIDATE_ENG_REQ__L2_PDE2 | \
     VM_INVALIDATE_ENG_REQ__L1_PTES | VM_INVALIDATE_ENG_REQ__CLEAR_FAULT)

static uint32_t *hub_store(VGPUState *s, unsigned hub)
{
    return s->memory->hubs[hub].regs;
}

uint32_t vgpu_hub_reg(VGPUState *s, unsigned hub, unsigned off)
{
    return vgpu_hub_load(&s->memory->hubs[hub], off);
}

uint64_t vgpu_hub_reg64(VGPUState *s, unsigned hub, unsigned lo)
{
    return vgpu_hub_load64(&s->memory->hubs[hub], lo);
}

uint32_t vgpu_hub_invalidations(VGPUState *s, unsigned hub, unsigned vmid)
{
    return qatomic_read(&s->memory->hubs[hub].invs[vmid]);
}

uint64_t vgpu_hub_fb_base(VGPUState *s, unsigned hub)
{
    return ((uint64_t)vgpu_hub_reg(s, hub, MC_VM_FB_LOCATION_BASE) << 24) +
           s->memory->vram_base;
}

void vgpu_hub_reset(VGPUState *s)
{
    unsigned h, v;

    for (h = 0; h < VGPU_NUM_HUBS; h++) {
        VGPUHub *hub = &s->memory->hubs[h];

        memset(hub->inv, 0, sizeof(hub->inv));
        hub->regs[MC_VM_FB_LOCATION_TOP] =
            FB_LOCATION_RESET + vgpu_xgmi_span(s) / FB_UNIT - 1;
        for (v = 0; v < VGPU_NUM_VMIDS; v++) {
            qatomic_inc(&s->memory->hubs[h].gen[v]);
        }
    }
}

void vgpu_hub_set_root(VGPUState *s, unsigned vmid, uint64_t root)
{
    unsigned h;

    for (h = 0; h < VGPU_NUM_HUBS; h++) {
        uint32_t *regs = s->memory->hubs[h].regs;
        uint32_t *lo = &regs[VM_CONTEXT_PAGE_TABLE_BASE_ADDR_LO32(vmid)];

        qatomic_set(lo, root);
        qatomic_set(lo + 1, root >> 32);
    }
    WITH_QEMU_LOCK_GUARD(&s->lock) {
        for (h = 0; h < VGPU_NUM_HUBS; h++) {
            vgpu_invalidate_vmids(s, h, 1u << vmid);
        }
    }
    vgpu_clients_wake(s, (1u << VGPU_NUM_HUBS) - 1, 1u << vmid, -1);
}

/*
 * The model has no other owner of the semaphore. Therefore each read returns 1,
 * which means that the guest has acquired the semaphore.
 */
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
        vgpu_hub_clear_fault(s, h);
    }
}

static bool hub_engine_read(VGPUState *s, unsigned h, unsigned off,
                            uint32_t *val)
{
    if (off >= VM_INVALIDATE_ENG_ACK(0) &&
        off < VM_INVALIDATE_ENG_ACK(VGPU_NUM_INV_ENGINES)) {
        *val = vgpu_invalidate_ack_read(s, h, off);
    } else {
        *val = vgpu_hub_reg(s, h, off);
    }
    return true;
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
        /*
         * Bits 12:2 stand for the classes of no-retry faults. As all are set,
         * reads with such faults get the default page. The model ignores bits
         * 29:13.
         */
        .reset = 0x3ffffffc,
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
        VGPU_REG_WRITTEN(INV_REQ_BITS, vgpu_invalidate_req_written),
    [VM_INVALIDATE_ENG_ACK(0) ...
     VM_INVALIDATE_ENG_ACK(VGPU_NUM_INV_ENGINES - 1)] =
        VGPU_REG_READ(vgpu_invalidate_ack_read),
    [VM_INVALIDATE_ENG_ADDR_RANGE_LO32(0) ...
     VM_INVALIDATE_ENG_ADDR_RANGE_HI32(VGPU_NUM_INV_ENGINES - 1)] =
        VGPU_REG_RW(UINT32_MAX),        /* only bits 4:0 of HI32 are used */
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
        /* Above AGP_TOP, so there is no AGP window. */
        .reset = 0x00ffffff,
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
    return s->memory->athub;
}

#define ATC(reg)    ((reg) - ATHUB_BASE)

void vgpu_athub_set_pasid(VGPUState *s, unsigned vmid, uint16_t pasid,
                          bool valid)
{
    uint32_t atc = pasid | (valid ? ATC_VMID_PASID_MAPPING__VALID : 0);

    qatomic_set(&s->memory->athub[ATC(ATC_VMID_PASID_MAPPING(vmid))], atc);
    qatomic_set(&s->memory->athub[ATC(ATC_VMID_PASID_MAPPING(vmid + 16))], atc);
}

static void pasid_written(VGPUState *s, unsigned inst, unsigned off,
                          uint32_t old, uint32_t val)
{
    s->memory->athub[ATC(ATC_VMID_PASID_MAPPING_UPDATE_STATUS)] |=
        1u << (off - ATC(ATC_VMID_PASID_MAPPING(0)));
}

static void pasid_status_written(VGPUState *s, unsigned inst, unsigned off,
                                 uint32_t old, uint32_t val)
{
    s->memory->athub[off] &= ~val;
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
