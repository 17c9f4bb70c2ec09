/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: memory. VRAM is the host memory behind BAR 0; bus addresses go
 * through the device's view of the bus (and so through a vIOMMU, if there is
 * one) and must lead to RAM: the registers of other devices are out of reach,
 * as reaching them takes the BQL.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/rcu.h"
#include "exec/memory.h"
#include "hw/pci/pci.h"
#include "vgpu-kfd.h"

/* What is read where nothing is. Never written. */
static uint8_t zeroes[64 * KiB];

static bool map_vram(VGPUState *s, VGPUSpan *span)
{
    if (span->addr >= s->vram_size) {
        return false;
    }
    memory_region_ref(&s->vram);
    span->host = s->vram_ptr + span->addr;
    span->len = MIN(span->len, s->vram_size - span->addr);
    span->mapped = true;
    return true;
}

/*
 * What address_space_map() does for RAM. For anything else that would make a
 * bounce buffer, which ends in an access to a device.
 */
static bool map_bus(VGPUState *s, VGPUSpan *span)
{
    AddressSpace *as = pci_get_address_space(PCI_DEVICE(s));
    hwaddr off, len = span->len;
    MemoryRegion *mr;

    RCU_READ_LOCK_GUARD();
    mr = address_space_translate(as, span->addr, &off, &len, span->write,
                                 MEMTXATTRS_UNSPECIFIED);
    if (!len || !memory_access_is_direct(mr, span->write,
                                         MEMTXATTRS_UNSPECIFIED)) {
        return false;
    }
    memory_region_ref(mr);
    span->host = memory_region_get_ram_ptr(mr) + off;
    span->len = len;
    span->mapped = true;
    return true;
}

bool vgpu_phys_map(VGPUState *s, VGPUSpan *span)
{
    span->mapped = false;
    switch (span->kind) {
    case VGPU_TARGET_VRAM:
        return map_vram(s, span);
    case VGPU_TARGET_BUS:
        return map_bus(s, span);
    default:
        span->host = span->write ? NULL : zeroes;
        span->len = MIN(span->len, sizeof(zeroes));
        return true;
    }
}

void vgpu_phys_unmap(VGPUState *s, VGPUSpan *span, uint64_t used)
{
    if (span->mapped) {
        /* Marks what was written dirty, drops code translated from it. */
        address_space_unmap(pci_get_address_space(PCI_DEVICE(s)), span->host,
                            span->len, span->write, used);
        span->mapped = false;
    }
}

bool vgpu_phys_load64(VGPUState *s, VGPUTargetKind kind, uint64_t addr,
                      uint64_t *val)
{
    VGPUSpan span = { .kind = kind, .addr = addr, .len = sizeof(*val) };

    if (!QEMU_IS_ALIGNED(addr, sizeof(*val))) {
        return false;
    }
    if (kind == VGPU_TARGET_VRAM) {
        if (addr >= s->vram_size) {
            return false;
        }
        *val = le64_to_cpu(qatomic_read((uint64_t *)(s->vram_ptr + addr)));
        return true;
    }
    if (!vgpu_phys_map(s, &span)) {
        return false;
    }
    if (span.len == sizeof(*val)) {
        *val = le64_to_cpu(qatomic_read((uint64_t *)span.host));
    }
    vgpu_phys_unmap(s, &span, sizeof(*val));
    return span.len == sizeof(*val);
}

bool vgpu_phys_write(VGPUState *s, VGPUTargetKind kind, uint64_t addr,
                     const void *buf, uint64_t len)
{
    VGPUSpan span = { .kind = kind, .write = true, .addr = addr, .len = len };
    bool whole;

    if (!vgpu_phys_map(s, &span)) {
        return false;
    }
    whole = span.len == len;
    if (whole) {
        memcpy(span.host, buf, len);
    }
    vgpu_phys_unmap(s, &span, whole ? len : 0);
    return whole;
}
