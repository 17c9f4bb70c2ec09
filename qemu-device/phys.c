/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: memory. VRAM is host memory of BAR 0; the rest is reached through
 * the bus (and so through a vIOMMU, if there is one).
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/units.h"
#include "system/dma.h"
#include "hw/pci/pci.h"
#include "exec/memory.h"
#include "vgpu-kfd.h"

/* A host window on a span; at least one byte unless ptr is NULL. */
typedef struct VGPUWindow {
    uint8_t *ptr;
    dma_addr_t len;
    bool mapped;
} VGPUWindow;

static void window_open(VGPUState *s, const VGPUSpan *span, uint64_t off,
                        uint64_t len, bool write, VGPUWindow *w)
{
    *w = (VGPUWindow) { .len = len };

    switch (span->kind) {
    case VGPU_SPAN_VRAM:
        w->ptr = s->vram_ptr + span->addr + off;
        break;
    case VGPU_SPAN_BUS:
        w->ptr = dma_memory_map(pci_get_address_space(PCI_DEVICE(s)),
                                span->addr + off, &w->len,
                                write ? DMA_DIRECTION_FROM_DEVICE
                                      : DMA_DIRECTION_TO_DEVICE,
                                MEMTXATTRS_UNSPECIFIED);
        w->mapped = w->ptr;
        break;
    default:
        break;
    }
}

static void window_close(VGPUState *s, const VGPUSpan *span, uint64_t off,
                         bool write, VGPUWindow *w, uint64_t used)
{
    if (w->mapped) {
        dma_memory_unmap(pci_get_address_space(PCI_DEVICE(s)), w->ptr, w->len,
                         write ? DMA_DIRECTION_FROM_DEVICE
                               : DMA_DIRECTION_TO_DEVICE, used);
    } else if (write && w->ptr) {
        memory_region_set_dirty(&s->vram, span->addr + off, used);
    }
}

/*
 * Bytes of the default page that stands for what could not be read. The page
 * repeats over the span.
 */
static void read_default(VGPUState *s, const VGPUSpan *span, uint64_t off,
                         uint8_t *buf, uint64_t len)
{
    uint64_t page = span->addr & ~(uint64_t)(VGPU_PAGE_SIZE - 1);
    uint64_t pos = (span->addr + off) & (VGPU_PAGE_SIZE - 1);

    while (len) {
        uint64_t n = MIN(len, VGPU_PAGE_SIZE - pos);

        if (!page || dma_memory_read(pci_get_address_space(PCI_DEVICE(s)),
                                     page + pos, buf, n,
                                     MEMTXATTRS_UNSPECIFIED) != MEMTX_OK) {
            memset(buf, 0, n);
        }
        buf += n;
        len -= n;
        pos = 0;
    }
}

static void read_at(VGPUState *s, const VGPUSpan *span, uint64_t off,
                    uint8_t *buf, uint64_t len)
{
    switch (span->kind) {
    case VGPU_SPAN_VRAM:
        memcpy(buf, s->vram_ptr + span->addr + off, len);
        break;
    case VGPU_SPAN_BUS:
        if (dma_memory_read(pci_get_address_space(PCI_DEVICE(s)),
                            span->addr + off, buf, len,
                            MEMTXATTRS_UNSPECIFIED) != MEMTX_OK) {
            /* What a PCIe master sees of an aborted read. */
            memset(buf, 0xff, len);
        }
        break;
    case VGPU_SPAN_DEFAULT:
        read_default(s, span, off, buf, len);
        break;
    default:
        memset(buf, 0, len);
        break;
    }
}

static void write_at(VGPUState *s, const VGPUSpan *span, uint64_t off,
                     const uint8_t *buf, uint64_t len)
{
    switch (span->kind) {
    case VGPU_SPAN_VRAM:
        memcpy(s->vram_ptr + span->addr + off, buf, len);
        memory_region_set_dirty(&s->vram, span->addr + off, len);
        break;
    case VGPU_SPAN_BUS:
        dma_memory_write(pci_get_address_space(PCI_DEVICE(s)),
                         span->addr + off, buf, len, MEMTXATTRS_UNSPECIFIED);
        break;
    default:
        break;
    }
}

void vgpu_phys_read(VGPUState *s, const VGPUSpan *span, void *buf, uint64_t len)
{
    read_at(s, span, 0, buf, len);
}

void vgpu_phys_write(VGPUState *s, const VGPUSpan *span, const void *buf,
                     uint64_t len)
{
    write_at(s, span, 0, buf, len);
}

void vgpu_phys_copy(VGPUState *s, const VGPUSpan *dst, const VGPUSpan *src,
                    uint64_t len)
{
    uint64_t off = 0;

    while (off < len) {
        uint64_t n = len - off;
        uint8_t bounce[4 * KiB];
        VGPUWindow from, to;

        window_open(s, src, off, n, false, &from);
        n = MIN(n, from.len);
        if (from.ptr) {
            window_open(s, dst, off, n, true, &to);
            n = MIN(n, to.len);
            if (to.ptr) {
                /* Source and destination may be the same memory. */
                memmove(to.ptr, from.ptr, n);
                window_close(s, dst, off, true, &to, n);
            } else {
                n = MIN(n, sizeof(bounce));
                write_at(s, dst, off, from.ptr, n);
            }
            window_close(s, src, off, false, &from, n);
        } else {
            n = MIN(len - off, sizeof(bounce));
            read_at(s, src, off, bounce, n);
            write_at(s, dst, off, bounce, n);
        }
        off += n;
    }
}

void vgpu_phys_fill(VGPUState *s, const VGPUSpan *dst, uint32_t data,
                    unsigned phase, uint64_t len)
{
    uint8_t pattern[4 * KiB + 4];
    uint64_t off = 0;
    size_t i;

    for (i = 0; i < sizeof(pattern); i += 4) {
        stl_le_p(pattern + i, data);
    }
    while (off < len) {
        uint64_t n = MIN(len - off, 4 * KiB);

        write_at(s, dst, off, pattern + ((phase + off) & 3), n);
        off += n;
    }
}

bool vgpu_phys_add64(VGPUState *s, const VGPUSpan *span, uint64_t add)
{
    VGPUWindow w;
    bool done = false;

    if (span->kind != VGPU_SPAN_VRAM && span->kind != VGPU_SPAN_BUS) {
        return true;                    /* a write that vanishes */
    }
    window_open(s, span, 0, 8, true, &w);
    if (w.ptr && w.len == 8 && QEMU_PTR_IS_ALIGNED(w.ptr, 8)) {
        uint64_t *p = (uint64_t *)w.ptr;
        uint64_t old = qatomic_read(p), seen;

        while ((seen = qatomic_cmpxchg(p, old,
                                       cpu_to_le64(le64_to_cpu(old) + add)))
               != old) {
            old = seen;
        }
        done = true;
    }
    window_close(s, span, 0, true, &w, done ? 8 : 0);
    return done;
}

bool vgpu_phys_read_entry(VGPUState *s, bool system, uint64_t addr,
                          uint64_t *entry)
{
    if (addr & 7) {
        return false;
    }
    if (system) {
        return ldq_le_dma(pci_get_address_space(PCI_DEVICE(s)), addr, entry,
                          MEMTXATTRS_UNSPECIFIED) == MEMTX_OK;
    }
    if (addr > s->vram_size - 8) {
        return false;
    }
    *entry = le64_to_cpu(qatomic_read((uint64_t *)(s->vram_ptr + addr)));
    return true;
}
