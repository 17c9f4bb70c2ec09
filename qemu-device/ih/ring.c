/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: the rings of the interrupt handler. Only ring 0 has a pointer
 * write-back and the MSI. Entries in ring 1 or 2 are announced by an entry in
 * ring 0.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/log.h"
#include "qemu/main-loop.h"
#include "hw/pci/msi.h"
#include "vgpu/bits.h"
#include "vgpu/device_info.h"
#include "vgpu/gmc.h"
#include "hw/misc/vgpu-kfd/core/clock.h"
#include "hw/misc/vgpu-kfd/core/counters.h"
#include "hw/misc/vgpu-kfd/core/delay.h"
#include "hw/misc/vgpu-kfd/core/trace.h"
#include "hw/misc/vgpu-kfd/ih/ih.h"
#include "hw/misc/vgpu-kfd/ih/internal.h"
#include "hw/misc/vgpu-kfd/inject/inject.h"
#include "hw/misc/vgpu-kfd/memory/hub.h"
#include "hw/misc/vgpu-kfd/memory/phys.h"
#include "hw/misc/vgpu-kfd/memory/span.h"

#define RING_MIN_BYTES      256u
/* IH_RB_WPTR.OFFSET (bits 17:2) can hold byte offsets below 256 KiB. */
#define RING_MAX_BYTES      (256u * KiB)
#define TIMESTAMP_MASK      MAKE_64BIT_MASK(0, 48)

void vgpu_ih_reset(VGPUState *s)
{
    vgpu_fault_reset(s);
    memset(s->ih->client_cfg, 0, sizeof(s->ih->client_cfg));
    memset(s->ih->rings, 0, sizeof(s->ih->rings));
    s->ih->unannounced = 0;
    s->ih->last_timestamp = 0;
    vgpu_ih_cancel(s);
}

/*
 * Return the value of the register of @ring that corresponds to @reg of ring 0.
 */
static uint32_t ih_ring_reg(VGPUState *s, unsigned ring, uint32_t reg)
{
    return vgpu_ih_reg(s, reg + IH_RING(ring));
}

uint32_t vgpu_ih_ring_bytes(VGPUState *s, unsigned ring)
{
    unsigned order = VGPU_GET(ih_ring_reg(s, ring, IH_RB_CNTL),
                              IH_RB_CNTL__RB_SIZE) + 2;
    uint32_t bytes = order < 31 ? 1u << order : 0;

    return bytes >= RING_MIN_BYTES && bytes <= RING_MAX_BYTES ? bytes : 0;
}

uint32_t vgpu_ih_wptr(const VGPUIhRing *r)
{
    return r->wptr | (r->overflow ? IH_RB_WPTR__RB_OVERFLOW : 0);
}

/*
 * The caller of the static functions below holds s->lock, except for
 * ih_send_msi() and ih_irq_bh().
 */

/*
 * Map @len bytes for a write. Return VGPU_PHYS_NONE if the bytes are not
 * contiguous in host memory.
 */
static VGPUPhys ih_map_whole(VGPUState *s, VGPUSpan *to, VGPUTargetKind kind,
                             uint64_t addr, uint64_t len)
{
    VGPUPhys found;

    *to = (VGPUSpan) { .kind = kind, .write = true, .addr = addr, .len = len };
    vgpu_iommu_begin(s, &s->ih->iotlb, VGPU_NUM_HUBS, 0);
    found = vgpu_phys_map(s, &s->ih->iotlb, to);
    if (found == VGPU_PHYS_OK && to->len != len) {
        vgpu_phys_unmap(s, to, 0);
        return VGPU_PHYS_NONE;
    }
    return found;
}

/*
 * Map the address of ring 0's pointer write-back. Return VGPU_PHYS_NONE if the
 * write-back is disabled.
 */
static VGPUPhys ih_map_wptr_writeback(VGPUState *s, VGPUSpan *to)
{
    uint64_t addr = vgpu_ih_reg(s, IH_RB_WPTR_ADDR_LO) |
                    (uint64_t)vgpu_ih_reg(s, IH_RB_WPTR_ADDR_HI) << 32;

    if (!(vgpu_ih_reg(s, IH_RB_CNTL) & IH_RB_CNTL__WPTR_WRITEBACK_ENABLE)) {
        return VGPU_PHYS_NONE;
    }
    return ih_map_whole(s, to, VGPU_TARGET_BUS, addr, sizeof(uint32_t));
}

static void ih_write_wptr(VGPUState *s, VGPUSpan *to)
{
    stl_le_p(to->host, vgpu_ih_wptr(&s->ih->rings[0]));
    vgpu_phys_unmap(s, to, sizeof(uint32_t));
}

bool vgpu_ih_wptr_writeback(VGPUState *s)
{
    VGPUSpan to;
    VGPUPhys found = ih_map_wptr_writeback(s, &to);

    if (found == VGPU_PHYS_OK) {
        ih_write_wptr(s, &to);
    }
    return found != VGPU_PHYS_WAIT;
}

static void ih_raise_irq(VGPUState *s)
{
    if (!(vgpu_ih_reg(s, IH_RB_CNTL) & IH_RB_CNTL__ENABLE_INTR)) {
        return;
    }
    qatomic_set(&s->ih->irq_due, true);
    if (vgpu_delay_irq(s, s->ih->irq_bh)) {
        return;
    }
    /*
     * While a write to a BAR is in progress, the thread that holds the BQL is
     * the thread that writes.
     */
    if (bql_locked() && s->ih->in_write) {
        s->ih->irq_in_write = true;
    } else {
        qemu_bh_schedule(s->ih->irq_bh);
    }
}

/* Send the MSI, if one is due. The caller holds the BQL, and no other lock. */
static void ih_send_msi(VGPUState *s)
{
    PCIDevice *pci = PCI_DEVICE(s);

    /*
     * Clear irq_due before the MSI is sent. An entry that is pushed after the
     * clear sets irq_due again and gets another MSI.
     */
    if (qatomic_xchg(&s->ih->irq_due, false) && msi_enabled(pci)) {
        vgpu_count(s, VGPU_CNT_MSI, 1);
        trace_vgpu_msi(s->id);
        msi_notify(pci, 0);
    }
}

static void ih_irq_bh(void *opaque)
{
    ih_send_msi(opaque);
}

void vgpu_ih_write_begin(VGPUState *s)
{
    s->ih->in_write = true;
}

void vgpu_ih_write_end(VGPUState *s)
{
    bool irq = s->ih->irq_in_write;

    s->ih->in_write = false;
    s->ih->irq_in_write = false;
    if (irq) {
        ih_send_msi(s);
    }
}

void vgpu_ih_resume(VGPUState *s)
{
    if (s->ih->irq_due) {
        /*
         * The machine was stopped or saved between the push of an entry and its
         * MSI.
         */
        qemu_bh_schedule(s->ih->irq_bh);
    }
}

void vgpu_ih_cancel(VGPUState *s)
{
    qemu_bh_cancel(s->ih->irq_bh);
    /*
     * If irq_due stayed set, vgpu_ih_resume() would send the MSI when the
     * machine runs again.
     */
    qatomic_set(&s->ih->irq_due, false);
    vgpu_ih_drop_deferred(s);
}

void vgpu_ih_alloc(VGPUState *s)
{
    s->ih = g_new0(VGPUIh, 1);
}

void vgpu_ih_free(VGPUState *s)
{
    g_free(s->ih);
}

void vgpu_ih_init(VGPUState *s)
{
    QSIMPLEQ_INIT(&s->ih->deferred);
    s->ih->irq_bh = qemu_bh_new_guarded(ih_irq_bh, s,
                                        &DEVICE(s)->mem_reentrancy_guard);
}

void vgpu_ih_exit(VGPUState *s)
{
    WITH_QEMU_LOCK_GUARD(&s->lock) {
        vgpu_ih_drop_deferred(s);
    }
    qemu_bh_delete(s->ih->irq_bh);
}

/* Map the memory for the next entry of @ring. */
static VGPUPhys ih_map_entry(VGPUState *s, unsigned ring, VGPUSpan *to)
{
    uint64_t base = ih_ring_reg(s, ring, IH_RB_BASE) |
                    (uint64_t)ih_ring_reg(s, ring, IH_RB_BASE_HI) << 32;
    uint64_t addr = (base << 8) + s->ih->rings[ring].wptr;
    VGPUTargetKind kind = VGPU_TARGET_BUS;

    if (VGPU_GET(ih_ring_reg(s, ring, IH_RB_CNTL), IH_RB_CNTL__MC_SPACE) ==
        IH_MC_SPACE_FB) {
        uint64_t fb = vgpu_hub_fb_base(s, VGPU_HUB_MM);

        if (addr < fb) {
            return VGPU_PHYS_NONE;
        }
        addr -= fb;
        kind = VGPU_TARGET_VRAM;
    }
    return ih_map_whole(s, to, kind, addr, IH_ENTRY_BYTES);
}

/*
 * Return a new timestamp. Timestamps are unique and ascend over all rings,
 * because a driver orders the entries of all rings by their timestamps.
 */
static uint64_t ih_timestamp(VGPUIh *ih)
{
    ih->last_timestamp = MAX(vgpu_clock(), ih->last_timestamp + 1);
    return ih->last_timestamp & TIMESTAMP_MASK;
}

/*
 * Return the write pointer of the ring after one more entry, or -1 if the ring
 * is off or has an invalid size.
 */
static int64_t ih_ring_next(VGPUState *s, unsigned ring)
{
    uint32_t bytes = vgpu_ih_ring_bytes(s, ring);

    if (!(ih_ring_reg(s, ring, IH_RB_CNTL) & IH_RB_CNTL__RB_ENABLE) || !bytes) {
        return -1;
    }
    return (s->ih->rings[ring].wptr + IH_ENTRY_BYTES) & (bytes - 1);
}

/* Return true if the ring has unread entries. */
static bool ih_ring_filled(VGPUState *s, unsigned ring)
{
    return s->ih->rings[ring].rptr != s->ih->rings[ring].wptr;
}

/*
 * Called when ring 0 overwrites an unread entry. That entry may have announced
 * ring 1 or 2. Mark each of these rings that has unread entries, so that the
 * ring is announced again.
 */
static void ih_ring_reannounce(VGPUState *s)
{
    unsigned ring;

    for (ring = 1; ring < IH_NUM_RINGS; ring++) {
        s->ih->unannounced |= ih_ring_filled(s, ring) ? 1u << ring : 0;
    }
}

/*
 * Reserve space for an entry. Return the write pointer after the entry. Return
 * -1 if the ring is off, or if the ring is full and WPTR_OVERFLOW_ENABLE is
 * clear.
 */
static int64_t ih_ring_reserve(VGPUState *s, unsigned ring)
{
    VGPUIhRing *r = &s->ih->rings[ring];
    uint32_t cntl = ih_ring_reg(s, ring, IH_RB_CNTL);
    int64_t next = ih_ring_next(s, ring);
    bool full = s->ih->full || next == r->rptr;

    /*
     * The injection applies to this entry only, also if the ring is off, and
     * not to an entry that announces the ring.
     */
    s->ih->full = false;
    if (next < 0) {
        return -1;
    }
    if (full) {
        trace_vgpu_ih_full(s->id, ring, r->wptr,
                           !!(cntl & IH_RB_CNTL__WPTR_OVERFLOW_ENABLE));
        if (!(cntl & IH_RB_CNTL__WPTR_OVERFLOW_ENABLE)) {
            return -1;
        }
        r->overflow = true;
        if (!ring) {
            ih_ring_reannounce(s);
        }
    }
    return next;
}

static void ih_ring_push(VGPUState *s, unsigned ring, const uint32_t *entry);

/*
 * Notify the driver of entries in @ring: raise the interrupt for ring 0, or
 * announce ring 1 or 2 by an entry in ring 0.
 */
static void ih_ring_notify(VGPUState *s, unsigned ring)
{
    VGPUIhRing *r = &s->ih->rings[ring];
    uint32_t entry[IH_ENTRY_DWORDS] = {
        VGPU_PREP(IH_DW0__CLIENT, (uint32_t)IH_CLIENT_IH) |
        VGPU_PREP(IH_DW0__SOURCE, (uint32_t)IH_SRC_RING) |
        VGPU_PREP(IH_DW0__RING, ring),
        [4] = vgpu_ih_wptr(r),
    };

    if (ring) {
        s->ih->unannounced &= ~(1u << ring);
        ih_ring_push(s, 0, entry);
    } else {
        ih_raise_irq(s);
    }
}

/*
 * Called when ring 0 may have space again. Announce each ring in
 * VGPUIh.unannounced that has unread entries, by an entry in ring 0.
 */
static void ih_announce_rings(VGPUState *s)
{
    unsigned ring;

    for (ring = 1; ring < IH_NUM_RINGS; ring++) {
        int64_t next = ih_ring_next(s, 0);

        if (next < 0 || next == s->ih->rings[0].rptr) {
            return;
        }
        if ((s->ih->unannounced & (1u << ring)) && ih_ring_filled(s, ring)) {
            ih_ring_notify(s, ring);
        }
    }
}

/* Write @entry with a new timestamp to @to, and unmap @to. */
static void ih_write_entry(VGPUState *s, VGPUSpan *to, const uint32_t *entry)
{
    uint64_t ts = ih_timestamp(s->ih);
    uint32_t le[IH_ENTRY_DWORDS];
    unsigned i;

    for (i = 0; i < IH_ENTRY_DWORDS; i++) {
        le[i] = cpu_to_le32(entry[i]);
    }
    le[1] = cpu_to_le32(ts);
    le[2] = cpu_to_le32(ts >> 32 & IH_DW2__TIMESTAMP_HI);
    memcpy(to->host, le, sizeof(le));
    vgpu_phys_unmap(s, to, sizeof(le));
    /* Order the entry before the write-back of the pointer. */
    smp_wmb();
}

void vgpu_ih_drop_entry(VGPUState *s, const uint32_t *entry)
{
    if (VGPU_GET(entry[0], IH_DW0__CLIENT) == IH_CLIENT_IH) {
        s->ih->unannounced |= 1u << VGPU_GET(entry[0], IH_DW0__RING);
    }
    vgpu_count(s, VGPU_CNT_IH_DROPPED, 1);
}

static void ih_ring_drop(VGPUState *s, unsigned ring, const uint32_t *entry,
                         bool no_memory)
{
    VGPUIhRing *r = &s->ih->rings[ring];

    if (no_memory && !r->lost) {
        qemu_log_mask(LOG_GUEST_ERROR,
                      "%s: no memory for interrupt ring %u\n", s->id, ring);
    }
    r->lost |= no_memory;
    vgpu_ih_drop_entry(s, entry);
}

bool vgpu_ih_store_entry(VGPUState *s, unsigned ring, const uint32_t *entry)
{
    VGPUIhRing *r = &s->ih->rings[ring];
    bool was_empty = r->wptr == r->rptr;
    bool enabled = ih_ring_reg(s, ring, IH_RB_CNTL) & IH_RB_CNTL__RB_ENABLE;
    VGPUPhys found = VGPU_PHYS_NONE, pointed = VGPU_PHYS_NONE;
    VGPUSpan to = { 0 }, pointer = { 0 };
    int64_t next;

    if (enabled && vgpu_ih_ring_bytes(s, ring)) {
        found = ih_map_entry(s, ring, &to);
    }
    if (found == VGPU_PHYS_OK && !ring) {
        pointed = ih_map_wptr_writeback(s, &pointer);
    }
    if (found == VGPU_PHYS_WAIT || pointed == VGPU_PHYS_WAIT) {
        vgpu_phys_unmap(s, &to, 0);
        return false;
    }
    next = ih_ring_reserve(s, ring);
    if (next < 0 || found != VGPU_PHYS_OK) {
        vgpu_phys_unmap(s, &to, 0);
        vgpu_phys_unmap(s, &pointer, 0);
        ih_ring_drop(s, ring, entry, next >= 0);
        return true;
    }
    ih_write_entry(s, &to, entry);
    r->wptr = next;
    vgpu_count(s, VGPU_CNT_IH_ENTRIES, 1);
    trace_vgpu_ih_push(s->id, ring, VGPU_GET(entry[0], IH_DW0__CLIENT),
                       VGPU_GET(entry[0], IH_DW0__SOURCE),
                       VGPU_GET(entry[0], IH_DW0__RING),
                       VGPU_GET(entry[0], IH_DW0__VMID), entry[4], entry[5],
                       entry[7], r->wptr);
    if (pointed == VGPU_PHYS_OK) {
        ih_write_wptr(s, &pointer);
    }
    if (was_empty) {
        ih_ring_notify(s, ring);
    }
    return true;
}

/*
 * Write @entry to @ring, or queue @entry until the bottom half has the IOMMU's
 * translation.
 */
static void ih_ring_push(VGPUState *s, unsigned ring, const uint32_t *entry)
{
    if (!QSIMPLEQ_EMPTY(&s->ih->deferred) ||
        !vgpu_ih_store_entry(s, ring, entry)) {
        vgpu_ih_defer(s, ring, entry);
    }
}

void vgpu_ih_push(VGPUState *s, uint8_t client, uint8_t source, uint8_t ring,
                  unsigned vmid, bool mm_hub, const uint32_t *data)
{
    uint32_t cfg = qatomic_read(&s->ih->client_cfg[client % IH_NUM_CLIENTS]);
    unsigned to = VGPU_GET(cfg, IH_CLIENT_CFG_DATA__RING_ID);
    uint32_t entry[IH_ENTRY_DWORDS] = {
        VGPU_PREP(IH_DW0__CLIENT, (uint32_t)client) |
        VGPU_PREP(IH_DW0__SOURCE, (uint32_t)source) |
        VGPU_PREP(IH_DW0__RING, (uint32_t)ring) |
        VGPU_PREP(IH_DW0__VMID, vmid) | (mm_hub ? IH_DW0__VMID_SRC : 0),
        [3] = vgpu_ih_reg(s, mm_hub ? IH_VMID_LUT_MM(vmid)
                                    : IH_VMID_LUT(vmid)) & IH_DW3__PASID,
    };
    VGPUSite site = {
        .hub = mm_hub ? VGPU_HUB_MM : VGPU_HUB_GFX, .vmid = vmid,
        .engine = VGPU_SITE_NONE, .queue = VGPU_SITE_NONE,
        .va = client << 8 | source,
    };

    if (qatomic_read(&s->removed)) {
        return;     /* a removed device must not access memory */
    }
    memcpy(&entry[4], data, 4 * sizeof(*data));
    if (to < IH_NUM_RINGS) {
        s->ih->full =
            vgpu_inject_armed(s, 1u << VGPU_INJECT_KIND_IH_OVERFLOW) &&
            vgpu_inject_fires(s, VGPU_INJECT_KIND_IH_OVERFLOW, &site, NULL);
        ih_ring_push(s, to, entry);
    } else {
        vgpu_count(s, VGPU_CNT_IH_DROPPED, 1);
    }
}

void vgpu_ih_push_fault(VGPUState *s, unsigned hub, unsigned vmid, uint8_t ring,
                        const uint32_t *data)
{
    vgpu_ih_push(s, hub == VGPU_HUB_MM ? IH_CLIENT_VMC : IH_CLIENT_UTCL2,
                 IH_SRC_VM_FAULT, ring, vmid, hub == VGPU_HUB_MM, data);
}

void vgpu_ih_set_rptr(VGPUState *s, unsigned ring, uint32_t val)
{
    VGPUIhRing *r = &s->ih->rings[ring];
    uint32_t bytes = vgpu_ih_ring_bytes(s, ring);

    QEMU_LOCK_GUARD(&s->lock);
    r->rptr = bytes ? val & IH_RB_WPTR__OFFSET & (bytes - 1) &
                      ~(IH_ENTRY_BYTES - 1) : 0;
    trace_vgpu_ih_rptr(s->id, ring, r->rptr, r->wptr);
    if (!ring) {
        ih_announce_rings(s);
    }
    if (ih_ring_filled(s, ring)) {
        ih_ring_notify(s, ring);
    }
}

void vgpu_ih_set_wptr(VGPUState *s, unsigned ring, uint32_t val)
{
    VGPUIhRing *r = &s->ih->rings[ring];
    uint32_t bytes = vgpu_ih_ring_bytes(s, ring);

    QEMU_LOCK_GUARD(&s->lock);
    r->wptr = bytes ? val & IH_RB_WPTR__OFFSET & (bytes - 1) &
                      ~(IH_ENTRY_BYTES - 1) : 0;
    r->overflow = false;
    if (!ring) {
        ih_announce_rings(s);
    }
}

void vgpu_ih_cntl_written(VGPUState *s, unsigned ring, uint32_t val)
{
    VGPUIhRing *r = &s->ih->rings[ring];

    QEMU_LOCK_GUARD(&s->lock);
    if ((val & IH_RB_CNTL__WPTR_OVERFLOW_CLEAR) && r->overflow) {
        r->overflow = false;
        if (!ring && !vgpu_ih_wptr_writeback(s)) {
            s->ih->pointer_deferred = true;
            vgpu_iommu_schedule(s);
        }
    }
    if (!ring) {
        ih_announce_rings(s);
    }
    if ((val & IH_RB_CNTL__RB_ENABLE) && ih_ring_filled(s, ring)) {
        ih_ring_notify(s, ring);
    }
}
