/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: registers and doorbells of the interrupt handler.
 */
#include "qemu/osdep.h"
#include "qemu/log.h"
#include "vgpu/bits.h"
#include "hw/misc/vgpu-kfd/core/regs.h"
#include "hw/misc/vgpu-kfd/core/trace.h"
#include "hw/misc/vgpu-kfd/ih/ih.h"
#include "hw/misc/vgpu-kfd/ih/internal.h"

#define CLIENT_CFG_BITS     0x01ffffffu

#define OFF(reg)            ((reg) - OSSSYS_BASE)
/* Number of the ring to which the register at offset @off belongs. */
#define RING_OF(off)        (((off) - OFF(IH_RB_CNTL)) / IH_RING(1))
#define DOORBELL_BITS \
    (IH_DOORBELL_RPTR__OFFSET | IH_DOORBELL_RPTR__ENABLE)

static uint32_t *ih_store(VGPUState *s, unsigned inst)
{
    return s->ih->regs;
}

uint16_t vgpu_ih_pasid(VGPUState *s, unsigned vmid, bool mm_hub)
{
    return vgpu_ih_reg(s, mm_hub ? IH_VMID_LUT_MM(vmid) : IH_VMID_LUT(vmid));
}

void vgpu_ih_set_pasid(VGPUState *s, unsigned vmid, uint16_t pasid)
{
    qatomic_set(&s->ih->regs[OFF(IH_VMID_LUT(vmid))], pasid);
    qatomic_set(&s->ih->regs[OFF(IH_VMID_LUT_MM(vmid))], pasid);
}

static void cntl_written(VGPUState *s, unsigned inst, unsigned off,
                         uint32_t old, uint32_t val)
{
    unsigned ring = RING_OF(off);

    if ((val & IH_RB_CNTL__RB_ENABLE) && !vgpu_ih_ring_bytes(s, ring) &&
        vgpu_reg_warn_once(s, OSSSYS_BASE + off)) {
        qemu_log_mask(LOG_GUEST_ERROR,
                      "%s: interrupt ring %u has an invalid size\n", s->id,
                      ring);
    }
    vgpu_ih_cntl_written(s, ring, val);
}

static uint32_t rptr_read(VGPUState *s, unsigned inst, unsigned off)
{
    QEMU_LOCK_GUARD(&s->lock);
    return s->ih->rings[RING_OF(off)].rptr;
}

static void rptr_written(VGPUState *s, unsigned inst, unsigned off,
                         uint32_t old, uint32_t val)
{
    vgpu_ih_set_rptr(s, RING_OF(off), val);
}

static uint32_t wptr_read(VGPUState *s, unsigned inst, unsigned off)
{
    QEMU_LOCK_GUARD(&s->lock);
    return vgpu_ih_wptr(&s->ih->rings[RING_OF(off)]);
}

static void wptr_written(VGPUState *s, unsigned inst, unsigned off,
                         uint32_t old, uint32_t val)
{
    vgpu_ih_set_wptr(s, RING_OF(off), val);
}

static uint32_t *client_cfg(VGPUState *s)
{
    return &s->ih->client_cfg[VGPU_GET(vgpu_ih_reg(s, IH_CLIENT_CFG_INDEX),
                                      IH_CLIENT_CFG_INDEX__INDEX)];
}

static uint32_t client_cfg_read(VGPUState *s, unsigned inst, unsigned off)
{
    return *client_cfg(s);
}

static void client_cfg_written(VGPUState *s, unsigned inst, unsigned off,
                               uint32_t old, uint32_t val)
{
    qatomic_set(client_cfg(s), val & CLIENT_CFG_BITS);
}

static void cam_ack_written(VGPUState *s, unsigned inst, unsigned off,
                            uint32_t old, uint32_t val)
{
    vgpu_cam_ack(s, val & IH_RETRY_CAM_ACK__INDEX);
}

static void cam_cntl_written(VGPUState *s, unsigned inst, unsigned off,
                             uint32_t old, uint32_t val)
{
    if ((old & ~val) & IH_RETRY_INT_CAM_CNTL__ENABLE) {
        vgpu_cam_flush(s);
    }
}

static uint32_t status_read(VGPUState *s, unsigned inst, unsigned off)
{
    /*
     * The IH is idle if no entry and no pointer write-back waits for an IOMMU
     * translation.
     */
    QEMU_LOCK_GUARD(&s->lock);
    if (!QSIMPLEQ_EMPTY(&s->ih->deferred) || s->ih->pointer_deferred) {
        return 0;
    }
    return IH_STATUS__IDLE;
}

#define CNTL_BITS   (~IH_RB_CNTL__WPTR_OVERFLOW_CLEAR)
/* Bits of IH_RB_CNTL that only ring 0 has. */
#define RING0_BITS  (IH_RB_CNTL__WPTR_WRITEBACK_ENABLE | \
                     IH_RB_CNTL__ENABLE_INTR | IH_RB_CNTL__RPTR_REARM)

#define RPTR_REG    { .exists = true, .read = rptr_read, \
                      .written = rptr_written }
#define WPTR_REG    { .exists = true, .read = wptr_read, \
                      .written = wptr_written }

static const VGPUReg ih_regs[VGPU_IH_SPAN] = {
    [OFF(IH_VMID_LUT(0)) ... OFF(IH_VMID_LUT_MM(15))] =
        VGPU_REG_RW(IH_DW3__PASID),
    [OFF(IH_RB_CNTL)] = VGPU_REG_WRITTEN(CNTL_BITS, cntl_written),
    [OFF(IH_RB_BASE)] = VGPU_REG_RW(UINT32_MAX),
    [OFF(IH_RB_BASE_HI)] = VGPU_REG_RW(0xff),
    [OFF(IH_RB_RPTR)] = RPTR_REG,
    [OFF(IH_RB_WPTR)] = WPTR_REG,
    [OFF(IH_DOORBELL_RPTR)] = VGPU_REG_RW(DOORBELL_BITS),
    [OFF(IH_RB_CNTL + IH_RING(1))] =
        VGPU_REG_WRITTEN(CNTL_BITS & ~RING0_BITS, cntl_written),
    [OFF(IH_RB_BASE + IH_RING(1))] = VGPU_REG_RW(UINT32_MAX),
    [OFF(IH_RB_BASE_HI + IH_RING(1))] = VGPU_REG_RW(0xff),
    [OFF(IH_RB_RPTR + IH_RING(1))] = RPTR_REG,
    [OFF(IH_RB_WPTR + IH_RING(1))] = WPTR_REG,
    [OFF(IH_DOORBELL_RPTR + IH_RING(1))] = VGPU_REG_RW(DOORBELL_BITS),
    [OFF(IH_RB_CNTL + IH_RING(2))] =
        VGPU_REG_WRITTEN(CNTL_BITS & ~RING0_BITS, cntl_written),
    [OFF(IH_RB_BASE + IH_RING(2))] = VGPU_REG_RW(UINT32_MAX),
    [OFF(IH_RB_BASE_HI + IH_RING(2))] = VGPU_REG_RW(0xff),
    [OFF(IH_RB_RPTR + IH_RING(2))] = RPTR_REG,
    [OFF(IH_RB_WPTR + IH_RING(2))] = WPTR_REG,
    [OFF(IH_DOORBELL_RPTR + IH_RING(2))] = VGPU_REG_RW(DOORBELL_BITS),
    [OFF(IH_RB_WPTR_ADDR_HI)] = VGPU_REG_RW(0xffff),
    [OFF(IH_RB_WPTR_ADDR_LO)] = VGPU_REG_RW(~3u),
    [OFF(IH_DOORBELL_RETRY_CAM)] = VGPU_REG_RW(DOORBELL_BITS),
    [OFF(IH_RETRY_CAM_ACK)] = VGPU_REG_WRITTEN(0, cam_ack_written),
    [OFF(IH_CNTL)] = VGPU_REG_RW(UINT32_MAX),
    [OFF(IH_STATUS)] = VGPU_REG_READ(status_read),
    [OFF(IH_RETRY_INT_CAM_CNTL)] =
        VGPU_REG_WRITTEN(IH_RETRY_INT_CAM_CNTL__CAM_SIZE |
                         IH_RETRY_INT_CAM_CNTL__ENABLE, cam_cntl_written),
    [OFF(IH_CLIENT_CFG)] = {
        .exists = true, .reset = IH_CLIENT_CFG__TOTAL_CLIENT_NUM,
    },
    [OFF(IH_CLIENT_CFG_INDEX)] = VGPU_REG_RW(IH_CLIENT_CFG_INDEX__INDEX),
    [OFF(IH_CLIENT_CFG_DATA)] = {
        .exists = true, .read = client_cfg_read,
        .written = client_cfg_written,
    },
};

const VGPUBlock vgpu_ih_block = {
    .base = OSSSYS_BASE,
    .span = VGPU_IH_SPAN,
    .count = 1,
    .regs = ih_regs,
    .store = ih_store,
};

/* Return true if register @reg enables the doorbell at dword offset @dword. */
static bool ih_doorbell_is(VGPUState *s, uint32_t reg, uint32_t dword)
{
    uint32_t val = vgpu_ih_reg(s, reg);

    return (val & IH_DOORBELL_RPTR__ENABLE) &&
           VGPU_GET(val, IH_DOORBELL_RPTR__OFFSET) == dword;
}

void vgpu_ih_doorbell(VGPUState *s, uint32_t dword, uint32_t val)
{
    unsigned ring;

    if (ih_doorbell_is(s, IH_DOORBELL_RETRY_CAM, dword)) {
        vgpu_cam_ack(s, val);
        return;
    }
    for (ring = 0; ring < IH_NUM_RINGS; ring++) {
        if (ih_doorbell_is(s, IH_DOORBELL_RPTR + IH_RING(ring), dword)) {
            vgpu_ih_set_rptr(s, ring, val);
            return;
        }
    }
    trace_vgpu_doorbell_lost(s->id, dword * 4ull, val);
}
