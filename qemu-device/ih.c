/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: interrupt handler. Ring 0. */
#include "qemu/osdep.h"
#include "qemu/log.h"
#include "qemu/main-loop.h"
#include "hw/pci/msi.h"
#include "system/dma.h"
#include "vgpu/doorbell.h"
#include "vgpu-kfd.h"
#include "trace.h"

#define IH_RB_MIN_BYTES     256u
/* The most that IH_RB_WPTR__OFFSET can say. */
#define IH_RB_MAX_BYTES     (256u * 1024)

void vgpu_ih_reset(VGPUState *s)
{
    memset(&s->ih, 0, sizeof(s->ih));
}

/* 0 if the ring cannot be. */
static uint32_t ring_bytes(const VGPUIh *ih)
{
    unsigned order = VGPU_GET(ih->cntl, IH_RB_CNTL__RB_SIZE) + 2;
    uint32_t bytes = order < 31 ? 1u << order : 0;

    return bytes >= IH_RB_MIN_BYTES && bytes <= IH_RB_MAX_BYTES ? bytes : 0;
}

static uint32_t wptr_value(const VGPUIh *ih)
{
    return ih->wptr | (ih->overflow ? IH_RB_WPTR__RB_OVERFLOW : 0);
}

static bool ih_store(VGPUState *s, uint64_t addr, const void *buf, size_t len)
{
    if (VGPU_GET(s->ih.cntl, IH_RB_CNTL__MC_SPACE) == 4) {
        uint64_t fb =
            (uint64_t)s->hubs[VGPU_HUB_MM].regs[MC_VM_FB_LOCATION_BASE] << 24;
        VGPUSpan span = { .kind = VGPU_SPAN_VRAM, .addr = addr - fb };

        if (addr < fb || addr - fb > s->vram_size - len) {
            return false;
        }
        vgpu_phys_write(s, &span, buf, len);
        return true;
    }
    return dma_memory_write(pci_get_address_space(PCI_DEVICE(s)), addr, buf,
                            len, MEMTXATTRS_UNSPECIFIED) == MEMTX_OK;
}

static void ih_writeback(VGPUState *s)
{
    if (s->ih.cntl & IH_RB_CNTL__WPTR_WRITEBACK_ENABLE) {
        stl_le_dma(pci_get_address_space(PCI_DEVICE(s)), s->ih.wptr_addr,
                   wptr_value(&s->ih), MEMTXATTRS_UNSPECIFIED);
    }
}

static void ih_raise(VGPUState *s)
{
    if (s->ih.cntl & IH_RB_CNTL__ENABLE_INTR) {
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

void vgpu_ih_push(VGPUState *s, uint8_t client, uint8_t source, uint8_t ring,
                  unsigned vmid, bool mm_hub, const uint32_t *data)
{
    VGPUIh *ih = &s->ih;
    uint32_t bytes = ring_bytes(ih);
    uint64_t ts = MAX(vgpu_clock(), ih->last_ts + 1);
    uint32_t entry[IH_ENTRY_DWORDS] = { 0 };
    bool was_empty = ih->wptr == ih->rptr;
    uint32_t next;
    unsigned i;

    if (!(ih->cntl & IH_RB_CNTL__RB_ENABLE) || !bytes) {
        vgpu_count(s, VGPU_CNT_IH_DROPPED, 1);
        return;
    }
    next = (ih->wptr + IH_ENTRY_BYTES) & (bytes - 1);
    if (next == ih->rptr) {
        if (!(ih->cntl & IH_RB_CNTL__WPTR_OVERFLOW_ENABLE)) {
            vgpu_count(s, VGPU_CNT_IH_DROPPED, 1);
            trace_vgpu_ih_full(s->id, ih->wptr, 0);
            return;
        }
        ih->overflow = true;
        trace_vgpu_ih_full(s->id, ih->wptr, 1);
    }
    ih->last_ts = ts;

    entry[0] = VGPU_PREP(IH_DW0__CLIENT, (uint32_t)client) |
               VGPU_PREP(IH_DW0__SOURCE, (uint32_t)source) |
               VGPU_PREP(IH_DW0__RING, (uint32_t)ring) |
               VGPU_PREP(IH_DW0__VMID, vmid) |
               (mm_hub ? IH_DW0__VMID_SRC : 0);
    entry[1] = ts;
    entry[2] = ts >> 32 & IH_DW2__TIMESTAMP_HI;
    entry[3] = ih->lut[vmid + (mm_hub ? 16 : 0)] & IH_DW3__PASID;
    memcpy(&entry[4], data, 16);
    for (i = 0; i < IH_ENTRY_DWORDS; i++) {
        entry[i] = cpu_to_le32(entry[i]);
    }
    if (!ih_store(s, ih->base + ih->wptr, entry, sizeof(entry))) {
        qemu_log_mask(LOG_GUEST_ERROR,
                      "%s: interrupt ring at 0x%" PRIx64 " is no memory\n",
                      s->id, ih->base);
        vgpu_count(s, VGPU_CNT_IH_DROPPED, 1);
        return;
    }
    ih->wptr = next;
    vgpu_count(s, VGPU_CNT_IH_ENTRIES, 1);
    trace_vgpu_ih_push(s->id, client, source, vmid, data[0], data[1]);
    ih_writeback(s);
    if (was_empty) {
        ih_raise(s);
    }
}

static void ih_set_rptr(VGPUState *s, uint32_t val)
{
    uint32_t bytes = ring_bytes(&s->ih);

    s->ih.rptr = bytes ? val & IH_RB_WPTR__OFFSET & (bytes - 1) : 0;
    if (s->ih.rptr != s->ih.wptr) {
        ih_raise(s);
    }
}

static uint64_t *ih_addr_reg(VGPUIh *ih, uint32_t reg, unsigned *shift)
{
    switch (reg) {
    case IH_RB_BASE:
        *shift = 8;
        return &ih->base;
    case IH_RB_BASE_HI:
        *shift = 40;
        return &ih->base;
    case IH_RB_WPTR_ADDR_LO:
        *shift = 0;
        return &ih->wptr_addr;
    case IH_RB_WPTR_ADDR_HI:
        *shift = 32;
        return &ih->wptr_addr;
    }
    return NULL;
}

static uint32_t *ih_plain_reg(VGPUIh *ih, uint32_t reg)
{
    if (reg >= IH_VMID_LUT(0) && reg <= IH_VMID_LUT_MM(15)) {
        return &ih->lut[reg - IH_VMID_LUT(0)];
    }
    switch (reg) {
    case IH_RB_CNTL:
        return &ih->cntl;
    case IH_DOORBELL_RPTR:
        return &ih->doorbell;
    case IH_DOORBELL_RETRY_CAM:
        return &ih->cam_doorbell;
    case IH_RETRY_INT_CAM_CNTL:
        return &ih->cam_cntl;
    }
    return NULL;
}

bool vgpu_ih_read(VGPUState *s, uint32_t reg, uint32_t *val)
{
    VGPUIh *ih = &s->ih;
    uint32_t *plain = ih_plain_reg(ih, reg);
    unsigned shift;
    uint64_t *addr = ih_addr_reg(ih, reg, &shift);

    QEMU_LOCK_GUARD(&s->lock);
    if (plain) {
        *val = *plain;
    } else if (addr) {
        *val = shift == 40 ? *addr >> 40 & 0xff : *addr >> shift;
    } else if (reg == IH_RB_RPTR) {
        *val = ih->rptr;
    } else if (reg == IH_RB_WPTR) {
        *val = wptr_value(ih);
    } else if (reg == IH_STATUS) {
        *val = 1;                       /* idle */
    } else {
        return false;
    }
    return true;
}

bool vgpu_ih_write(VGPUState *s, uint32_t reg, uint32_t val)
{
    VGPUIh *ih = &s->ih;
    uint32_t *plain = ih_plain_reg(ih, reg);
    unsigned shift;
    uint64_t *addr = ih_addr_reg(ih, reg, &shift);

    if (reg == IH_RETRY_CAM_ACK) {
        vgpu_gmc_cam_ack(s, val & IH_RETRY_CAM_ACK__INDEX);
        return true;
    }

    QEMU_LOCK_GUARD(&s->lock);
    if (reg == IH_RB_CNTL) {
        if (val & IH_RB_CNTL__WPTR_OVERFLOW_CLEAR) {
            ih->overflow = false;
        }
        ih->cntl = val & ~IH_RB_CNTL__WPTR_OVERFLOW_CLEAR;
        if ((val & IH_RB_CNTL__RB_ENABLE) && !ring_bytes(ih)) {
            qemu_log_mask(LOG_GUEST_ERROR,
                          "%s: interrupt ring of impossible size\n", s->id);
        }
        if (ih->rptr != ih->wptr) {
            ih_raise(s);
        }
    } else if (plain) {
        *plain = reg >= IH_VMID_LUT(0) && reg <= IH_VMID_LUT_MM(15) ?
                 val & IH_DW3__PASID : val;
    } else if (addr) {
        switch (reg) {
        case IH_RB_BASE:
            *addr = deposit64(*addr, 8, 32, val);
            break;
        case IH_RB_BASE_HI:
            *addr = deposit64(*addr, 40, 8, val);
            break;
        default:
            *addr = deposit64(*addr, shift, 32, val);
            break;
        }
    } else if (reg == IH_RB_RPTR) {
        ih_set_rptr(s, val);
    } else if (reg == IH_RB_WPTR) {
        uint32_t bytes = ring_bytes(ih);

        ih->wptr = bytes ? val & IH_RB_WPTR__OFFSET & (bytes - 1) &
                           ~(IH_ENTRY_BYTES - 1) : 0;
        ih->overflow = false;
    } else {
        return reg == IH_CNTL || reg == IH_STATUS;
    }
    return true;
}

void vgpu_ih_doorbell(VGPUState *s, uint32_t dword, uint32_t val)
{
    uint32_t rptr_db, cam_db;

    rptr_db = s->ih.doorbell;
    cam_db = s->ih.cam_doorbell;
    if ((cam_db & IH_DOORBELL_RPTR__ENABLE) &&
        VGPU_GET(cam_db, IH_DOORBELL_RPTR__OFFSET) == dword) {
        vgpu_gmc_cam_ack(s, val);
    } else if ((rptr_db & IH_DOORBELL_RPTR__ENABLE) &&
               VGPU_GET(rptr_db, IH_DOORBELL_RPTR__OFFSET) == dword) {
        QEMU_LOCK_GUARD(&s->lock);
        ih_set_rptr(s, val);
    }
}
