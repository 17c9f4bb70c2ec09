/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: the interrupt handler. Ring 0.
 */
#include "qemu/osdep.h"
#include "qemu/log.h"
#include "qemu/main-loop.h"
#include "hw/pci/msi.h"
#include "vgpu-kfd.h"
#include "trace.h"

#define RING_MIN_BYTES      256u
#define RING_MAX_BYTES      (256u * KiB)    /* the most that WPTR can say */
#define MC_SPACE_FB         4u
#define TIMESTAMP_MASK      MAKE_64BIT_MASK(0, 48)

#define OFF(reg)            ((reg) - OSSSYS_BASE)
#define DOORBELL_BITS \
    (IH_DOORBELL_RPTR__OFFSET | IH_DOORBELL_RPTR__ENABLE)

static uint32_t *ih_store(VGPUState *s, unsigned inst)
{
    return s->ih.regs;
}

void vgpu_ih_reset(VGPUState *s)
{
    s->ih.rptr = 0;
    s->ih.wptr = 0;
    s->ih.overflow = false;
    s->ih.lost = false;
    s->ih.last_timestamp = 0;
}

/* 0 if the ring cannot be. */
static uint32_t ring_bytes(VGPUState *s)
{
    unsigned order = VGPU_GET(vgpu_ih_reg(s, IH_RB_CNTL),
                              IH_RB_CNTL__RB_SIZE) + 2;
    uint32_t bytes = order < 31 ? 1u << order : 0;

    return bytes >= RING_MIN_BYTES && bytes <= RING_MAX_BYTES ? bytes : 0;
}

static uint32_t wptr_value(const VGPUIh *ih)
{
    return ih->wptr | (ih->overflow ? IH_RB_WPTR__RB_OVERFLOW : 0);
}

/* s->lock held, as for everything below. */
static void writeback(VGPUState *s)
{
    uint64_t addr = vgpu_ih_reg(s, IH_RB_WPTR_ADDR_LO) |
                    (uint64_t)vgpu_ih_reg(s, IH_RB_WPTR_ADDR_HI) << 32;
    uint32_t val = cpu_to_le32(wptr_value(&s->ih));

    if (vgpu_ih_reg(s, IH_RB_CNTL) & IH_RB_CNTL__WPTR_WRITEBACK_ENABLE) {
        /* The entry before the pointer to it. */
        smp_wmb();
        vgpu_phys_write(s, VGPU_TARGET_BUS, addr, &val, sizeof(val));
    }
}

static void raise_irq(VGPUState *s)
{
    if (vgpu_ih_reg(s, IH_RB_CNTL) & IH_RB_CNTL__ENABLE_INTR) {
        qemu_bh_schedule(s->irq_bh);
    }
}

void vgpu_ih_bh(void *opaque)
{
    VGPUState *s = opaque;
    PCIDevice *pci = PCI_DEVICE(s);

    if (msi_enabled(pci)) {
        vgpu_count(s, VGPU_CNT_MSI, 1);
        trace_vgpu_msi(s->id);
        msi_notify(pci, 0);
    }
}

static bool store_entry(VGPUState *s, const uint32_t *entry)
{
    uint64_t addr = ((vgpu_ih_reg(s, IH_RB_BASE) |
                      (uint64_t)vgpu_ih_reg(s, IH_RB_BASE_HI) << 32) << 8) +
                    s->ih.wptr;
    VGPUTargetKind kind = VGPU_TARGET_BUS;

    if (VGPU_GET(vgpu_ih_reg(s, IH_RB_CNTL), IH_RB_CNTL__MC_SPACE) ==
        MC_SPACE_FB) {
        uint64_t fb = (uint64_t)vgpu_hub_reg(s, VGPU_HUB_MM,
                                             MC_VM_FB_LOCATION_BASE) << 24;

        if (addr < fb) {
            return false;
        }
        addr -= fb;
        kind = VGPU_TARGET_VRAM;
    }
    return vgpu_phys_write(s, kind, addr, entry, IH_ENTRY_BYTES);
}

static uint64_t timestamp(VGPUIh *ih)
{
    ih->last_timestamp = MAX(vgpu_clock(), ih->last_timestamp + 1);
    return ih->last_timestamp & TIMESTAMP_MASK;
}

void vgpu_ih_push(VGPUState *s, uint8_t client, uint8_t source, uint8_t ring,
                  unsigned vmid, bool mm_hub, const uint32_t *data)
{
    VGPUIh *ih = &s->ih;
    uint32_t cntl = vgpu_ih_reg(s, IH_RB_CNTL);
    uint32_t bytes = ring_bytes(s);
    uint32_t lut = mm_hub ? IH_VMID_LUT_MM(vmid) : IH_VMID_LUT(vmid);
    bool was_empty = ih->wptr == ih->rptr;
    uint32_t entry[IH_ENTRY_DWORDS];
    uint64_t ts;
    uint32_t next;
    unsigned i;

    if (!(cntl & IH_RB_CNTL__RB_ENABLE) || !bytes) {
        vgpu_count(s, VGPU_CNT_IH_DROPPED, 1);
        return;
    }
    next = (ih->wptr + IH_ENTRY_BYTES) & (bytes - 1);
    if (next == ih->rptr) {
        trace_vgpu_ih_full(s->id, ih->wptr,
                           !!(cntl & IH_RB_CNTL__WPTR_OVERFLOW_ENABLE));
        if (!(cntl & IH_RB_CNTL__WPTR_OVERFLOW_ENABLE)) {
            vgpu_count(s, VGPU_CNT_IH_DROPPED, 1);
            return;
        }
        ih->overflow = true;
    }

    ts = timestamp(ih);
    entry[0] = VGPU_PREP(IH_DW0__CLIENT, (uint32_t)client) |
               VGPU_PREP(IH_DW0__SOURCE, (uint32_t)source) |
               VGPU_PREP(IH_DW0__RING, (uint32_t)ring) |
               VGPU_PREP(IH_DW0__VMID, vmid) |
               (mm_hub ? IH_DW0__VMID_SRC : 0);
    entry[1] = ts;
    entry[2] = ts >> 32 & IH_DW2__TIMESTAMP_HI;
    entry[3] = vgpu_ih_reg(s, lut) & IH_DW3__PASID;
    memcpy(&entry[4], data, 4 * sizeof(*data));
    for (i = 0; i < IH_ENTRY_DWORDS; i++) {
        entry[i] = cpu_to_le32(entry[i]);
    }
    if (!store_entry(s, entry)) {
        if (!ih->lost) {
            qemu_log_mask(LOG_GUEST_ERROR,
                          "%s: no memory for the interrupt ring\n", s->id);
        }
        ih->lost = true;
        vgpu_count(s, VGPU_CNT_IH_DROPPED, 1);
        return;
    }
    ih->wptr = next;
    vgpu_count(s, VGPU_CNT_IH_ENTRIES, 1);
    trace_vgpu_ih_push(s->id, client, source, ring, vmid, data[0], data[1],
                       data[3], ih->wptr);
    writeback(s);
    if (was_empty) {
        raise_irq(s);
    }
}

/* The driver has read up to @val. What is left asks for another interrupt. */
static void set_rptr(VGPUState *s, uint32_t val)
{
    uint32_t bytes = ring_bytes(s);

    QEMU_LOCK_GUARD(&s->lock);
    s->ih.rptr = bytes ? val & IH_RB_WPTR__OFFSET & (bytes - 1) &
                         ~(IH_ENTRY_BYTES - 1) : 0;
    trace_vgpu_ih_rptr(s->id, s->ih.rptr, s->ih.wptr);
    if (s->ih.rptr != s->ih.wptr) {
        raise_irq(s);
    }
}

static void cntl_written(VGPUState *s, unsigned inst, unsigned off,
                         uint32_t old, uint32_t val)
{
    if ((val & IH_RB_CNTL__RB_ENABLE) && !ring_bytes(s) &&
        vgpu_reg_complain(s, IH_RB_CNTL)) {
        qemu_log_mask(LOG_GUEST_ERROR,
                      "%s: interrupt ring of impossible size\n", s->id);
    }
    QEMU_LOCK_GUARD(&s->lock);
    if ((val & IH_RB_CNTL__WPTR_OVERFLOW_CLEAR) && s->ih.overflow) {
        s->ih.overflow = false;
        writeback(s);
    }
    if ((val & IH_RB_CNTL__RB_ENABLE) && s->ih.rptr != s->ih.wptr) {
        raise_irq(s);
    }
}

static uint32_t rptr_read(VGPUState *s, unsigned inst, unsigned off)
{
    QEMU_LOCK_GUARD(&s->lock);
    return s->ih.rptr;
}

static void rptr_written(VGPUState *s, unsigned inst, unsigned off,
                         uint32_t old, uint32_t val)
{
    set_rptr(s, val);
}

static uint32_t wptr_read(VGPUState *s, unsigned inst, unsigned off)
{
    QEMU_LOCK_GUARD(&s->lock);
    return wptr_value(&s->ih);
}

static void wptr_written(VGPUState *s, unsigned inst, unsigned off,
                         uint32_t old, uint32_t val)
{
    uint32_t bytes = ring_bytes(s);

    QEMU_LOCK_GUARD(&s->lock);
    s->ih.wptr = bytes ? val & IH_RB_WPTR__OFFSET & (bytes - 1) &
                         ~(IH_ENTRY_BYTES - 1) : 0;
    s->ih.overflow = false;
}

static void ack_written(VGPUState *s, unsigned inst, unsigned off,
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
    return 1;                   /* idle: an entry is in memory at once */
}

static const VGPUReg ih_regs[VGPU_IH_SPAN] = {
    [OFF(IH_VMID_LUT(0)) ... OFF(IH_VMID_LUT_MM(15))] =
        VGPU_REG_RW(IH_DW3__PASID),
    [OFF(IH_RB_CNTL)] = VGPU_REG_WRITTEN(~IH_RB_CNTL__WPTR_OVERFLOW_CLEAR,
                                         cntl_written),
    [OFF(IH_RB_BASE)] = VGPU_REG_RW(UINT32_MAX),
    [OFF(IH_RB_BASE_HI)] = VGPU_REG_RW(0xff),
    [OFF(IH_RB_RPTR)] = {
        .exists = true, .read = rptr_read, .written = rptr_written,
    },
    [OFF(IH_RB_WPTR)] = {
        .exists = true, .read = wptr_read, .written = wptr_written,
    },
    [OFF(IH_RB_WPTR_ADDR_HI)] = VGPU_REG_RW(0xffff),
    [OFF(IH_RB_WPTR_ADDR_LO)] = VGPU_REG_RW(~3u),
    [OFF(IH_DOORBELL_RPTR)] = VGPU_REG_RW(DOORBELL_BITS),
    [OFF(IH_DOORBELL_RETRY_CAM)] = VGPU_REG_RW(DOORBELL_BITS),
    [OFF(IH_RETRY_CAM_ACK)] = VGPU_REG_WRITTEN(0, ack_written),
    [OFF(IH_CNTL)] = VGPU_REG_RW(UINT32_MAX),
    [OFF(IH_STATUS)] = VGPU_REG_READ(status_read),
    [OFF(IH_RETRY_INT_CAM_CNTL)] =
        VGPU_REG_WRITTEN(IH_RETRY_INT_CAM_CNTL__CAM_SIZE |
                         IH_RETRY_INT_CAM_CNTL__ENABLE, cam_cntl_written),
};

const VGPUBlock vgpu_ih_block = {
    .base = OSSSYS_BASE,
    .span = VGPU_IH_SPAN,
    .count = 1,
    .regs = ih_regs,
    .store = ih_store,
};

/* Does doorbell @dword ring what register @reg names? */
static bool rings(VGPUState *s, uint32_t reg, uint32_t dword)
{
    uint32_t val = vgpu_ih_reg(s, reg);

    return (val & IH_DOORBELL_RPTR__ENABLE) &&
           VGPU_GET(val, IH_DOORBELL_RPTR__OFFSET) == dword;
}

void vgpu_ih_doorbell(VGPUState *s, uint32_t dword, uint32_t val)
{
    if (rings(s, IH_DOORBELL_RETRY_CAM, dword)) {
        vgpu_cam_ack(s, val);
    } else if (rings(s, IH_DOORBELL_RPTR, dword)) {
        set_rptr(s, val);
    } else {
        trace_vgpu_doorbell_lost(s->id, dword * 4ull, val);
    }
}
