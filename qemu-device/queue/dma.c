/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: memory accesses of queues by GPU address. A retry fault stalls the
 * queue, which repeats the access later. A no-retry fault is reported, and the
 * access is redirected: see vgpu_gpuvm_map_default().
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "vgpu/device_info.h"
#include "hw/misc/vgpu-kfd/core/counters.h"
#include "hw/misc/vgpu-kfd/core/stall.h"
#include "hw/misc/vgpu-kfd/core/trace.h"
#include "hw/misc/vgpu-kfd/core/vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/ih/fault.h"
#include "hw/misc/vgpu-kfd/inject/inject.h"
#include "hw/misc/vgpu-kfd/memory/client.h"
#include "hw/misc/vgpu-kfd/memory/iommu.h"
#include "hw/misc/vgpu-kfd/memory/phys.h"
#include "hw/misc/vgpu-kfd/memory/span.h"
#include "hw/misc/vgpu-kfd/queue/dma.h"

#define PREFETCH            256
#define PREFETCH_LINE       64

static bool stall_is_fault(const VGPUStall *stall)
{
    return stall->why >= VGPU_WAIT_CAM && stall->why <= VGPU_WAIT_RETRY;
}

static void dma_begin(VGPUView *v)
{
    v->client->queue = v->queue;
    v->client->iotlb = &v->iotlb;
    /*
     * Record the invalidation counters before vgpu_client_begin() drops stale
     * translations. In the reverse order, the counters could include an
     * invalidation that vgpu_client_begin() has missed. Then an IOMMU request
     * made with a stale translation would count as current.
     */
    vgpu_iommu_begin(v->client->s, &v->iotlb, v->client->hub, v->vmid);
    vgpu_client_begin(v->client);
}

/*
 * If the first byte of @span is poisoned, shorten @span to this byte and return
 * true. Otherwise end @span before the next byte that may be poisoned.
 */
static bool dma_poisoned(VGPUView *v, uint64_t va, VGPUSpan *span)
{
    VGPUSite site = vgpu_client_site(v->client, v->vmid, span->addr);
    uint64_t clean;

    clean = vgpu_inject_vram_poison(v->client->s, &site, span->len);
    span->len = MIN(span->len, MAX(clean, 1));
    return !clean;
}

/*
 * Stall for an IOMMU translation. The other members of v->stall may describe an
 * earlier retry fault. Keep them: dma_resolve() compares the repeated access
 * with this fault.
 */
static VGPUDmaResult dma_wait_iommu(VGPUView *v)
{
    v->stall.iommu = true;
    return VGPU_DMA_STALL;
}

/*
 * Report the no-retry fault in @span, and replace @span by the result of
 * vgpu_gpuvm_map_default().
 */
static VGPUDmaResult dma_redirect(VGPUView *v, uint64_t va, uint64_t len,
                                  VGPUSpan *span)
{
    VGPUSpan fault = *span;

    /*
     * Map the default page before the report: the mapping may stall for the
     * IOMMU, and the repeated access would report the fault twice.
     */
    vgpu_gpuvm_map_default(v->client, v->vmid, va, len, span);
    if (span->kind == VGPU_TARGET_WAIT) {
        return dma_wait_iommu(v);
    }
    vgpu_fault_report_noretry(v->client, v->vmid, va, &fault, v->faulted);
    v->faulted = true;
    return VGPU_DMA_FAULT;
}

/*
 * Handle the fault in @span, if any. @span is the translation of @va. @invs is
 * the value of dma_invalidations() before this translation. Return:
 * - VGPU_DMA_OK: access the memory in @span.
 * - VGPU_DMA_FAULT: a no-retry fault. Access the memory in @span, which now is
 *   the result of vgpu_gpuvm_map_default().
 * - VGPU_DMA_STALL: do not access @span. v->stall has the reason.
 */
static VGPUDmaResult dma_resolve(VGPUView *v, uint64_t va, uint64_t len,
                                 bool write, uint32_t invs, VGPUSpan *span)
{
    VGPUClient *c = v->client;
    VGPUState *s = c->s;
    VGPUStall *stall = &v->stall;
    unsigned vmid = v->vmid;
    bool again = stall_is_fault(stall) && stall->va == va &&
                 stall->write == write;

    if (span->kind == VGPU_TARGET_WAIT) {
        return dma_wait_iommu(v);
    }
    if (span->kind == VGPU_TARGET_RETRY) {
        *stall = (VGPUStall) {
            .hub = c->hub, .vmid = vmid, .va = va, .write = write, .invs = invs,
            .serial = again ? stall->serial : 0,
        };
        vgpu_fault_report_retry(c, vmid, va, write, stall);
        trace_vgpu_stall(s->id, c->index, v->queue, vmid, va, write,
                         stall->why, stall->serial);
        return VGPU_DMA_STALL;
    }
    if (again) {
        if (stall->why == VGPU_WAIT_RETRY) {
            vgpu_fault_ratelimit_clear(c, vmid, va);
        }
        stall->why = VGPU_WAIT_NONE;
        if (span->kind != VGPU_TARGET_FAULT) {
            vgpu_count(s, VGPU_CNT_REPLAYS, 1);
            trace_vgpu_replay(s->id, c->index, v->queue, vmid, va, write,
                              stall->serial);
        }
    }
    if (span->kind == VGPU_TARGET_FAULT) {
        return dma_redirect(v, va, len, span);
    }
    if (!write && span->kind == VGPU_TARGET_VRAM &&
        vgpu_inject_armed(s, 1u << VGPU_INJECT_KIND_VRAM_POISON) &&
        dma_poisoned(v, va, span)) {
        vgpu_phys_unmap(s, span, 0);
        *stall = (VGPUStall) {
            .why = VGPU_WAIT_POISON, .hub = c->hub, .vmid = vmid, .va = va,
        };
        return VGPU_DMA_STALL;
    }
    return VGPU_DMA_OK;
}

static uint32_t dma_invalidations(VGPUView *v)
{
    return vgpu_client_invalidations(v->client, v->vmid);
}

static VGPUDmaResult dma_map(VGPUView *v, uint64_t va, uint64_t len,
                             bool write, VGPUSpan *span)
{
    uint32_t invs = dma_invalidations(v);

    vgpu_gpuvm_map(v->client, v->vmid, va, len, write, span);
    return dma_resolve(v, va, len, write, invs, span);
}

/*
 * Return true if the host can access the first @size bytes of @span in one
 * atomic access. span->host is NULL if writes are dropped.
 */
static bool span_fits(const VGPUSpan *span, unsigned size)
{
    return span->host && span->len >= size &&
           QEMU_PTR_IS_ALIGNED(span->host, size);
}

/*
 * Prefetch the start of @span. The host CPU's hardware prefetcher continues
 * from there.
 */
static void span_prefetch(const VGPUSpan *span)
{
    uint64_t off;

    if (span->kind < VGPU_TARGET_RETRY) {
        for (off = 0; off < MIN(span->len, PREFETCH); off += PREFETCH_LINE) {
            __builtin_prefetch(span->host + off);
        }
    }
}

/*
 * The destination of a copy. A span of the destination stays mapped while
 * several spans of the source are copied to it.
 */
typedef struct DmaTarget {
    VGPUSpan span;
    uint64_t used;              /* bytes of @span that are copied or dropped */
    bool peer;                  /* a span was in another device's VRAM */
} DmaTarget;

static void dma_target_unmap(VGPUView *v, DmaTarget *to)
{
    vgpu_phys_unmap(v->client->s, &to->span, to->used);
    to->span = (VGPUSpan) { .mapped = false };
    to->used = 0;
}

/*
 * Map the destination at GPU address @dst, which has @left bytes. The next span
 * of the source has @len bytes.
 */
static VGPUDmaResult dma_target_map(VGPUView *v, DmaTarget *to, uint64_t dst,
                                    uint64_t left, uint64_t len)
{
    VGPUDmaResult ret;

    dma_target_unmap(v, to);
    /*
     * Map another device's VRAM anew for each span of the source: each map is
     * an event that an injection of kind xgmi-down may choose. After the first
     * such span, do not translate more than @len bytes in each map.
     */
    ret = dma_map(v, dst, to->peer ? len : left, true, &to->span);
    if (ret == VGPU_DMA_STALL) {
        /* Nothing is mapped. Leave no bytes for dma_copy_bytes(). */
        to->span = (VGPUSpan) { .mapped = false };
    } else if (to->span.kind == VGPU_TARGET_PEER) {
        to->peer = true;
        to->span.len = MIN(to->span.len, len);
    }
    return ret;
}

/*
 * Copy @len bytes at @from to GPU address @dst, or only the first of these
 * bytes if the span of the destination ends before. @left is the number of
 * bytes from @dst to the end of the destination. Unless the access stalls, set
 * *@n to the bytes that were copied or dropped.
 */
static VGPUDmaResult dma_copy_bytes(VGPUView *v, DmaTarget *to, uint64_t dst,
                                    uint64_t left, const uint8_t *from,
                                    uint64_t len, uint64_t *n)
{
    VGPUDmaResult ret = VGPU_DMA_OK;

    if (to->used == to->span.len) {
        ret = dma_target_map(v, to, dst, left, len);
        if (ret == VGPU_DMA_STALL) {
            return ret;
        }
    }
    *n = MIN(len, to->span.len - to->used);
    if (to->span.host) {
        /* Source and destination may overlap in host memory. */
        memmove(to->span.host + to->used, from, *n);
    }
    to->used += *n;
    return ret;
}

VGPUDmaResult vgpu_dma_copy(VGPUView *v, uint64_t dst, uint64_t src,
                            uint64_t len, uint64_t *done)
{
    VGPUState *s = v->client->s;
    VGPUDmaResult ret = VGPU_DMA_OK, part;
    DmaTarget to = { .used = 0 };
    VGPUSpan from, next;
    uint32_t invs;

    *done = 0;
    dma_begin(v);
    invs = dma_invalidations(v);
    vgpu_gpuvm_map(v->client, v->vmid, src, len, false, &next);
    while (*done < len) {
        uint64_t at = src + *done, n = 0;

        from = next;
        part = dma_resolve(v, at, len - *done, false, invs, &from);
        if (part == VGPU_DMA_STALL) {
            ret = part;
            break;
        }
        ret = MAX(ret, part);
        /*
         * Translate and prefetch the next span before the copy of this span, so
         * that the memory latency of the next span overlaps with the copy.
         */
        next = (VGPUSpan) { .mapped = false };
        if (from.len < len - *done) {
            invs = dma_invalidations(v);
            vgpu_gpuvm_map(v->client, v->vmid, at + from.len,
                           len - *done - from.len, false, &next);
            span_prefetch(&next);
        }
        while (n < from.len) {
            uint64_t m;

            part = dma_copy_bytes(v, &to, dst + *done, len - *done,
                                  from.host + n, from.len - n, &m);
            if (part == VGPU_DMA_STALL) {
                break;
            }
            ret = MAX(ret, part);
            *done += m;
            n += m;
        }
        vgpu_phys_unmap(s, &from, from.len);
        if (part == VGPU_DMA_STALL) {
            ret = part;
            vgpu_phys_unmap(s, &next, 0);
            break;
        }
    }
    dma_target_unmap(v, &to);
    vgpu_client_end(v->client);
    return ret;
}

VGPUDmaResult vgpu_dma_fill(VGPUView *v, uint64_t dst,
                            uint32_t data, unsigned phase, uint64_t len,
                            uint64_t *done)
{
    uint8_t pattern[4 * KiB];
    VGPUDmaResult ret;
    VGPUSpan to;
    uint64_t off;

    dma_begin(v);
    ret = dma_map(v, dst, len, true, &to);
    if (ret != VGPU_DMA_STALL) {
        data = ror32(data, 8 * (phase & 3));
        for (off = 0; off < MIN(to.len, sizeof(pattern)); off += 4) {
            stl_le_p(pattern + off, data);
        }
        for (off = 0; to.host && off < to.len; off += sizeof(pattern)) {
            memcpy(to.host + off, pattern, MIN(to.len - off, sizeof(pattern)));
        }
        *done = to.len;
        vgpu_phys_unmap(v->client->s, &to, to.len);
    }
    vgpu_client_end(v->client);
    return ret;
}

VGPUDmaResult vgpu_dma_write_ptes(VGPUView *v, uint64_t dst,
                                  uint64_t flags, uint64_t first, uint64_t incr,
                                  uint64_t n, uint64_t *done)
{
    VGPUDmaResult ret;
    VGPUSpan to;
    uint64_t i;

    dma_begin(v);
    ret = dma_map(v, dst, n * 8, true, &to);
    if (ret != VGPU_DMA_STALL) {
        /*
         * If RAM ends within the first entry, the host cannot write this entry
         * atomically. Count it as done, so that the packet makes progress.
         */
        *done = MAX(to.len / 8, 1);
        for (i = 0; span_fits(&to, 8) && i < *done; i++) {
            /*
             * Write each entry atomically: page walks may read the table
             * meanwhile.
             */
            qatomic_set((uint64_t *)to.host + i,
                        cpu_to_le64(flags | (first + i * incr)));
        }
        vgpu_phys_unmap(v->client->s, &to, to.len);
    }
    vgpu_client_end(v->client);
    return ret;
}

VGPUDmaResult vgpu_dma_read(VGPUView *v, uint64_t va, void *buf,
                            unsigned len)
{
    VGPUDmaResult ret = VGPU_DMA_OK;
    uint8_t *p = buf;

    dma_begin(v);
    while (len && ret != VGPU_DMA_STALL) {
        VGPUDmaResult part;
        VGPUSpan from;

        part = dma_map(v, va, len, false, &from);
        if (part != VGPU_DMA_STALL) {
            memcpy(p, from.host, from.len);
            vgpu_phys_unmap(v->client->s, &from, from.len);
            p += from.len;
            va += from.len;
            len -= from.len;
        }
        ret = MAX(ret, part);
    }
    vgpu_client_end(v->client);
    return ret;
}

VGPUDmaResult vgpu_dma_write(VGPUView *v, uint64_t va,
                             const void *buf, unsigned len)
{
    VGPUDmaResult ret;
    VGPUSpan to;

    dma_begin(v);
    ret = dma_map(v, va, len, true, &to);
    if (ret != VGPU_DMA_STALL) {
        if (len == 8 && span_fits(&to, 8)) {
            qatomic_set((uint64_t *)to.host, ldq_he_p(buf));
        } else if (len == 4 && span_fits(&to, 4)) {
            qatomic_set((uint32_t *)to.host, ldl_he_p(buf));
        }
        vgpu_phys_unmap(v->client->s, &to, to.len);
    }
    vgpu_client_end(v->client);
    return ret;
}

static uint64_t dma_atomic32(uint32_t *p, VGPUAtomicFn *fn, uint64_t src,
                             uint64_t cmp)
{
    uint32_t old, seen = qatomic_read(p);

    do {
        old = seen;
        seen = qatomic_cmpxchg(p, old,
                               cpu_to_le32(fn(le32_to_cpu(old), src, cmp, 32)));
    } while (seen != old);
    return le32_to_cpu(old);
}

static uint64_t dma_atomic64(uint64_t *p, VGPUAtomicFn *fn, uint64_t src,
                             uint64_t cmp)
{
    uint64_t old, seen = qatomic_read(p);

    do {
        old = seen;
        seen = qatomic_cmpxchg(p, old,
                               cpu_to_le64(fn(le64_to_cpu(old), src, cmp, 64)));
    } while (seen != old);
    return le64_to_cpu(old);
}

VGPUDmaResult vgpu_dma_atomic(VGPUView *v, uint64_t va, unsigned size,
                              VGPUAtomicFn *fn, uint64_t src, uint64_t cmp,
                              uint64_t *old)
{
    VGPUDmaResult ret;
    VGPUSpan to;

    *old = 0;
    dma_begin(v);
    ret = dma_map(v, va, size, true, &to);
    if (ret != VGPU_DMA_STALL) {
        if (span_fits(&to, size)) {
            *old = size == 8 ? dma_atomic64((uint64_t *)to.host, fn, src, cmp)
                             : dma_atomic32((uint32_t *)to.host, fn, src, cmp);
        }
        vgpu_phys_unmap(v->client->s, &to, to.len);
    }
    vgpu_client_end(v->client);
    return ret;
}

static uint64_t dma_atomic_add(uint64_t old, uint64_t src, uint64_t cmp,
                               unsigned bits)
{
    return old + src;
}

VGPUDmaResult vgpu_dma_add64(VGPUView *v, uint64_t va, uint64_t n)
{
    uint64_t old;

    return vgpu_dma_atomic(v, va, 8, dma_atomic_add, n, 0, &old);
}
