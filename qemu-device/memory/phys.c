/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: physical memory: VRAM, and bus addresses, which an IOMMU may
 * translate (iommu.c). A bus address must lead to RAM: registers of other
 * devices cannot be accessed, since that needs the BQL.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/rcu.h"
#include "exec/memory.h"
#include "hw/pci/pci.h"
#include "hw/misc/vgpu-kfd/core/delay.h"
#include "hw/misc/vgpu-kfd/core/vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/memory/internal.h"
#include "hw/misc/vgpu-kfd/memory/iommu.h"
#include "hw/misc/vgpu-kfd/memory/memory.h"
#include "hw/misc/vgpu-kfd/memory/phys.h"
#include "hw/misc/vgpu-kfd/memory/span.h"
#include "hw/misc/vgpu-kfd/memory/vram.h"

/*
 * A window: a range of bus addresses in one section of RAM, cached to save
 * address_space_translate(). Valid until the memory map of the bus changes.
 */
typedef struct VGPUWindow {
    struct rcu_head rcu;
    MemoryRegionCache cache;
    hwaddr start;
    hwaddr size;
    uint8_t *host;              /* host address of @start */
    /* True if writes and reads may use the window, false if only reads may. */
    bool write;
} VGPUWindow;

/* Bytes that a read gives where there is no memory. Never written. */
static uint8_t zeroes[64 * KiB];

static bool phys_map_vram(VGPUState *s, VGPUSpan *span)
{
    if (span->addr >= s->vram_size) {
        return false;
    }
    span->host = s->memory->vram_ptr + span->addr;
    span->len = MIN(span->len, s->vram_size - span->addr);
    span->mapped = true;
    return true;
}

static void window_free(VGPUWindow *w)
{
    address_space_cache_destroy(&w->cache);
    g_free(w);
}

/*
 * Replace window number @i by @w, which may be NULL. The caller holds
 * window_lock.
 */
static void window_replace(VGPUState *s, unsigned i, VGPUWindow *w)
{
    VGPUWindow *old = s->memory->windows[i];

    qatomic_rcu_set(&s->memory->windows[i], w);
    if (old) {
        call_rcu(old, window_free, rcu);
    }
}

/*
 * Add @w to s->memory->windows. Return false, without adding @w, if the bus
 * memory map has changed since window_init(). If bus_commit() has already
 * dropped the windows for this change, nothing would drop @w later. RCU read
 * lock held.
 */
static bool window_keep(VGPUState *s, AddressSpace *as, VGPUWindow *w)
{
    vgpu_delay_window(s);
    QEMU_LOCK_GUARD(&s->memory->window_lock);
    if (!address_space_cache_is_current(&w->cache, as)) {
        return false;
    }
    window_replace(s, s->memory->next_window++ % VGPU_BUS_WINDOWS, w);
    return true;
}

/*
 * Make @w the window of @addr. Return false if there is no RAM at @addr, or if
 * @write is true and the RAM is read-only. Set *@iommu to true if an IOMMU
 * translates @addr, else to false.
 */
static bool window_init(VGPUWindow *w, AddressSpace *as, hwaddr addr,
                        bool write, bool *iommu)
{
    MemoryRegionSection section;
    bool ram;

    /* Map one byte first, to read the size of the section. */
    address_space_cache_init(&w->cache, as, addr, 1, write);
    section = *address_space_cache_get_section(&w->cache);
    ram = address_space_cache_get_ptr(&w->cache);
    *iommu = memory_region_is_iommu(section.mr);
    address_space_cache_destroy(&w->cache);
    if (!ram || int128_gethi(section.size)) {
        return false;
    }
    w->start = section.offset_within_address_space;
    w->size = address_space_cache_init(&w->cache, as, w->start,
                                       int128_getlo(section.size), write);
    w->host = address_space_cache_get_ptr(&w->cache);
    w->write = write;
    if (!w->host || addr - w->start >= w->size) {
        address_space_cache_destroy(&w->cache);
        return false;
    }
    return true;
}

/*
 * Open the window that contains @addr, and add the window to
 * s->memory->windows. Return NULL if window_init() returns false. The caller
 * holds the RCU read lock.
 */
static VGPUWindow *window_open(VGPUState *s, AddressSpace *as, hwaddr addr,
                               bool write, bool *iommu)
{
    g_autofree VGPUWindow *w = g_new0(VGPUWindow, 1);

    while (window_init(w, as, addr, write, iommu)) {
        if (window_keep(s, as, w)) {
            return g_steal_pointer(&w);
        }
        address_space_cache_destroy(&w->cache);
    }
    return NULL;
}

static VGPUWindow *window_find(VGPUState *s, AddressSpace *as, hwaddr addr,
                               bool write)
{
    unsigned i;

    for (i = 0; i < VGPU_BUS_WINDOWS; i++) {
        VGPUWindow *w = qatomic_rcu_read(&s->memory->windows[i]);

        if (w && address_space_cache_is_current(&w->cache, as) &&
            addr - w->start < w->size && (w->write || !write)) {
            return w;
        }
    }
    return NULL;
}

/*
 * Set span->host to the host address of the RAM at @addr in @as, and shorten
 * @span to this RAM. If the return value is true, the RCU read lock is held
 * until vgpu_phys_unmap(). For return value and *@iommu, see window_init().
 */
static bool phys_map_window(VGPUState *s, AddressSpace *as, hwaddr addr,
                            VGPUSpan *span, bool *iommu)
{
    VGPUWindow *w;
    hwaddr off;

    *iommu = false;
    rcu_read_lock();
    w = window_find(s, as, addr, span->write);
    if (!w) {
        /*
         * Try a window for writes first, because reads can also use such a
         * window.
         */
        w = window_open(s, as, addr, true, iommu);
    }
    if (!w && !span->write && !*iommu) {
        w = window_open(s, as, addr, false, iommu);
    }
    if (!w) {
        rcu_read_unlock();
        return false;
    }
    off = addr - w->start;
    span->host = w->host + off;
    span->len = MIN(span->len, w->size - off);
    span->window = w;
    span->mapped = true;
    return true;
}

static VGPUPhys phys_map_bus(VGPUState *s, VGPUIotlb *iotlb, VGPUSpan *span)
{
    const VGPUIommuReply *r;
    hwaddr off, left;
    bool iommu;

    if (phys_map_window(s, pci_get_address_space(&s->parent_obj), span->addr,
                        span, &iommu)) {
        return VGPU_PHYS_OK;
    }
    if (!iommu) {
        return VGPU_PHYS_NONE;
    }
    r = vgpu_iommu_reply(s, iotlb, span->addr, span->write);
    if (!r) {
        return VGPU_PHYS_WAIT;
    }
    if (r->denied) {
        return VGPU_PHYS_NONE;
    }
    off = span->addr - r->start;
    left = r->last - span->addr;
    if (span->len > left) {
        span->len = left + 1;
    }
    return phys_map_window(s, r->as, r->addr + off, span, &iommu) ?
           VGPU_PHYS_OK : VGPU_PHYS_NONE;
}

/*
 * Drop all windows, as the bus memory map may have changed. Then wait for
 * accesses in progress. RCU keeps their RAM allocated, but after the change the
 * guest may use that RAM for something else. BQL held.
 */
static void bus_commit(MemoryListener *listener)
{
    VGPUState *s = container_of(listener, VGPUMemory, bus_listener)->s;
    unsigned i;

    qatomic_inc(&s->memory->bus_drops);
    WITH_QEMU_LOCK_GUARD(&s->memory->window_lock) {
        for (i = 0; i < VGPU_BUS_WINDOWS; i++) {
            window_replace(s, i, NULL);
        }
    }
    vgpu_bus_quiesce(s);
}

void vgpu_phys_init(VGPUState *s)
{
    VGPUMemory *m = s->memory;

    /*
     * vgpu_phys_unmap() uses m->vram_cache to mark written VRAM dirty. This
     * MemoryRegionCache needs an AddressSpace for VRAM.
     */
    vgpu_vram_init_alias(s, &m->vram_whole, "vgpu-kfd.vram-whole",
                         s->vram_size);
    address_space_init(&m->vram_as, &m->vram_whole, "vgpu-kfd-vram");
    address_space_cache_init(&m->vram_cache, &m->vram_as, 0, s->vram_size,
                             true);

    qemu_mutex_init(&m->window_lock);
    m->bus_listener = (MemoryListener) {
        .name = TYPE_VGPU_KFD,
        .commit = bus_commit,
        .region_add = vgpu_iommu_region_add,
        .region_del = vgpu_iommu_region_del,
    };
    memory_listener_register(&m->bus_listener,
                             pci_get_address_space(PCI_DEVICE(s)));
}

void vgpu_phys_exit(VGPUState *s)
{
    VGPUMemory *m = s->memory;

    memory_listener_unregister(&m->bus_listener);
    bus_commit(&m->bus_listener);
    address_space_cache_destroy(&m->vram_cache);
    /*
     * Make the memory map of vram_as empty. QEMU drops a FlatView only when a
     * memory map changes. Until then, the FlatView that has VRAM would keep a
     * reference to the device.
     */
    memory_region_set_enabled(&m->vram_whole, false);
    address_space_destroy(&m->vram_as);
    qemu_mutex_destroy(&m->window_lock);
}

VGPUPhys vgpu_phys_map(VGPUState *s, VGPUIotlb *iotlb, VGPUSpan *span)
{
    span->mapped = false;
    span->window = NULL;
    switch (span->kind) {
    case VGPU_TARGET_VRAM:
        return phys_map_vram(s, span) ? VGPU_PHYS_OK : VGPU_PHYS_NONE;
    case VGPU_TARGET_BUS:
        return phys_map_bus(s, iotlb, span);
    case VGPU_TARGET_PEER:
        return vgpu_xgmi_map(s, span) ? VGPU_PHYS_OK : VGPU_PHYS_NONE;
    default:
        span->host = span->write ? NULL : zeroes;
        span->len = MIN(span->len, sizeof(zeroes));
        return VGPU_PHYS_OK;
    }
}

void vgpu_phys_unmap(VGPUState *s, VGPUSpan *span, uint64_t used)
{
    if (span->window) {
        if (span->write && used) {
            address_space_cache_invalidate(&span->window->cache,
                                           span->host - span->window->host,
                                           used);
        }
        span->window = NULL;
        span->mapped = false;
        rcu_read_unlock();
    } else if (span->mapped && span->kind == VGPU_TARGET_VRAM) {
        if (span->write && used) {
            address_space_cache_invalidate(&s->memory->vram_cache, span->addr,
                                           used);
        }
        span->mapped = false;
    } else if (span->mapped) {
        /* Mark written bytes dirty and drop TCG code translated from them. */
        address_space_unmap(pci_get_address_space(PCI_DEVICE(s)), span->host,
                            span->len, span->write, used);
        span->mapped = false;
    }
}

VGPUPhys vgpu_phys_load64(VGPUState *s, VGPUIotlb *iotlb, VGPUTargetKind kind,
                          uint64_t addr, uint64_t *val)
{
    VGPUSpan span = { .kind = kind, .addr = addr, .len = sizeof(*val) };
    const uint64_t *p;
    VGPUPhys found;

    if (!QEMU_IS_ALIGNED(addr, sizeof(*val))) {
        return VGPU_PHYS_NONE;
    }
    if (kind == VGPU_TARGET_VRAM) {
        if (addr >= s->vram_size) {
            return VGPU_PHYS_NONE;
        }
        p = (uint64_t *)(s->memory->vram_ptr + addr);
        *val = le64_to_cpu(qatomic_read(p));
        return VGPU_PHYS_OK;
    }
    found = vgpu_phys_map(s, iotlb, &span);
    if (found != VGPU_PHYS_OK) {
        return found;
    }
    if (span.len == sizeof(*val)) {
        *val = le64_to_cpu(qatomic_read((uint64_t *)span.host));
    }
    vgpu_phys_unmap(s, &span, sizeof(*val));
    return span.len == sizeof(*val) ? VGPU_PHYS_OK : VGPU_PHYS_NONE;
}
