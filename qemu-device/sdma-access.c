/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: memory as an SDMA queue sees it, in the VMID of what it executes.
 *
 * Faults are decided here. A retry fault stalls: nothing of the access has
 * happened, the queue tries it again later. A no-retry fault is reported, the
 * access goes to the default page.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "vgpu-kfd.h"
#include "trace.h"

unsigned vgpu_access_vmid(const VGPUExec *x)
{
    return x->ib_depth ? x->ib[x->ib_depth - 1].vmid : x->ring_vmid;
}

/* Translations may be used from here to access_end(). */
static void access_begin(VGPUEngine *e)
{
    qatomic_set(&e->access, e->access + 1);
    /* Say so, then look at generations: pairs with req_written(). */
    smp_mb();
}

static void access_end(VGPUEngine *e)
{
    qatomic_store_release(&e->access, e->access + 1);
    if (e->tlb_hits) {
        vgpu_count(e->s, VGPU_CNT_TLB_HITS, e->tlb_hits);
        e->tlb_hits = 0;
    }
    if (e->tlb_misses) {
        vgpu_count(e->s, VGPU_CNT_TLB_MISSES, e->tlb_misses);
        e->tlb_misses = 0;
    }
}

static bool stalled_by_fault(const VGPUStall *stall)
{
    return stall->why >= VGPU_WAIT_CAM;
}

/* The span at @va, faults decided. Unless it is OK, nothing stays mapped. */
static VGPUAccess reach(VGPUEngine *e, VGPUQueue *q, uint64_t va, uint64_t len,
                        bool write, VGPUSpan *span)
{
    VGPUState *s = e->s;
    VGPUExec *x = &q->exec;
    VGPUStall *stall = &x->stall;
    unsigned vmid = vgpu_access_vmid(x);
    uint32_t gen = qatomic_read(&s->gen[vmid]);
    bool again = stalled_by_fault(stall) && stall->va == va &&
                 stall->write == write;

    vgpu_gpuvm_map(e, vmid, va, len, write, span);
    if (span->kind == VGPU_TARGET_RETRY) {
        *stall = (VGPUStall) {
            .vmid = vmid, .va = va, .write = write, .gen = gen,
            .serial = again ? stall->serial : 0,
        };
        vgpu_fault_retry(s, VGPU_HUB_MM, vmid, va, write, stall);
        trace_vgpu_stall(s->id, e->index, q - e->queues, vmid, va, write,
                         stall->why, stall->serial);
        return VGPU_ACCESS_STALL;
    }
    if (again) {
        stall->why = VGPU_WAIT_NONE;
        if (span->kind != VGPU_TARGET_FAULT) {
            vgpu_count(s, VGPU_CNT_REPLAYS, 1);
            trace_vgpu_replay(s->id, e->index, q - e->queues, vmid, va, write,
                              stall->serial);
        }
    }
    if (span->kind == VGPU_TARGET_FAULT) {
        vgpu_fault_noretry(s, VGPU_HUB_MM, vmid, va, span,
                           VGPU_CID_SDMA(e->index), x->faulted);
        x->faulted = true;
        vgpu_gpuvm_map_default(e, va, len, span);
        return VGPU_ACCESS_FAULT;
    }
    return VGPU_ACCESS_OK;
}

/*
 * Can the span take @size bytes at once? False where writes vanish, and where
 * some other device's memory ends in the middle.
 */
static bool holds(const VGPUSpan *span, unsigned size)
{
    return span->host && span->len >= size &&
           QEMU_PTR_IS_ALIGNED(span->host, size);
}

VGPUAccess vgpu_access_copy(VGPUEngine *e, VGPUQueue *q, uint64_t dst,
                            uint64_t src, uint64_t len, uint64_t *done)
{
    VGPUAccess ret;
    VGPUSpan from, to;

    access_begin(e);
    ret = reach(e, q, src, len, false, &from);
    if (ret != VGPU_ACCESS_STALL) {
        ret = reach(e, q, dst, from.len, true, &to);
        if (ret != VGPU_ACCESS_STALL) {
            if (to.host) {
                /* Source and destination may be the same memory. */
                memmove(to.host, from.host, to.len);
            }
            *done = to.len;
            vgpu_phys_unmap(e->s, &to, to.len);
        }
        vgpu_phys_unmap(e->s, &from, from.len);
    }
    access_end(e);
    return ret;
}

VGPUAccess vgpu_access_fill(VGPUEngine *e, VGPUQueue *q, uint64_t dst,
                            uint32_t data, unsigned phase, uint64_t len,
                            uint64_t *done)
{
    uint8_t pattern[4 * KiB];
    VGPUAccess ret;
    VGPUSpan to;
    uint64_t off;

    access_begin(e);
    ret = reach(e, q, dst, len, true, &to);
    if (ret != VGPU_ACCESS_STALL) {
        data = ror32(data, 8 * (phase & 3));
        for (off = 0; off < MIN(to.len, sizeof(pattern)); off += 4) {
            stl_le_p(pattern + off, data);
        }
        for (off = 0; to.host && off < to.len; off += sizeof(pattern)) {
            memcpy(to.host + off, pattern, MIN(to.len - off, sizeof(pattern)));
        }
        *done = to.len;
        vgpu_phys_unmap(e->s, &to, to.len);
    }
    access_end(e);
    return ret;
}

VGPUAccess vgpu_access_entries(VGPUEngine *e, VGPUQueue *q, uint64_t dst,
                               uint64_t flags, uint64_t first, uint64_t incr,
                               uint64_t n, uint64_t *done)
{
    VGPUAccess ret;
    VGPUSpan to;
    uint64_t i;

    access_begin(e);
    ret = reach(e, q, dst, n * 8, true, &to);
    if (ret != VGPU_ACCESS_STALL) {
        /* Never 0: the caller counts on getting on. */
        *done = MAX(to.len / 8, 1);
        for (i = 0; holds(&to, 8) && i < *done; i++) {
            /* Walkers may read the table meanwhile: whole entries only. */
            qatomic_set((uint64_t *)to.host + i,
                        cpu_to_le64(flags | (first + i * incr)));
        }
        vgpu_phys_unmap(e->s, &to, to.len);
    }
    access_end(e);
    return ret;
}

VGPUAccess vgpu_access_read(VGPUEngine *e, VGPUQueue *q, uint64_t va, void *buf,
                            unsigned len)
{
    VGPUAccess ret = VGPU_ACCESS_OK;
    uint8_t *p = buf;

    access_begin(e);
    while (len && ret != VGPU_ACCESS_STALL) {
        VGPUAccess part;
        VGPUSpan from;

        part = reach(e, q, va, len, false, &from);
        if (part != VGPU_ACCESS_STALL) {
            memcpy(p, from.host, from.len);
            vgpu_phys_unmap(e->s, &from, from.len);
            p += from.len;
            va += from.len;
            len -= from.len;
        }
        ret = MAX(ret, part);
    }
    access_end(e);
    return ret;
}

VGPUAccess vgpu_access_write(VGPUEngine *e, VGPUQueue *q, uint64_t va,
                             const void *buf, unsigned len)
{
    VGPUAccess ret;
    VGPUSpan to;

    access_begin(e);
    ret = reach(e, q, va, len, true, &to);
    if (ret != VGPU_ACCESS_STALL) {
        if (len == 8 && holds(&to, 8)) {
            qatomic_set((uint64_t *)to.host, ldq_he_p(buf));
        } else if (len == 4 && holds(&to, 4)) {
            qatomic_set((uint32_t *)to.host, ldl_he_p(buf));
        }
        vgpu_phys_unmap(e->s, &to, to.len);
    }
    access_end(e);
    return ret;
}

VGPUAccess vgpu_access_add64(VGPUEngine *e, VGPUQueue *q, uint64_t va,
                             uint64_t add)
{
    VGPUAccess ret;
    VGPUSpan to;

    access_begin(e);
    ret = reach(e, q, va, 8, true, &to);
    if (ret != VGPU_ACCESS_STALL) {
        if (holds(&to, 8)) {
            uint64_t *p = (uint64_t *)to.host;
            uint64_t old, seen = qatomic_read(p);

            do {
                old = seen;
                seen = qatomic_cmpxchg(p, old,
                                       cpu_to_le64(le64_to_cpu(old) + add));
            } while (seen != old);
        }
        vgpu_phys_unmap(e->s, &to, to.len);
    }
    access_end(e);
    return ret;
}

uint64_t vgpu_access_position(const VGPUExec *x, uint64_t pos, uint64_t *left)
{
    if (x->ib_depth) {
        const VGPUIndirect *ib = &x->ib[x->ib_depth - 1];

        *left = ib->size - pos;
        return ib->base + pos * 4;
    } else {
        uint64_t off = (pos * 4) & (x->ring_bytes - 1);

        *left = (x->ring_bytes - off) / 4;
        return x->ring_base + off;
    }
}

VGPUAccess vgpu_access_fetch(VGPUEngine *e, VGPUQueue *q, uint64_t pos,
                             uint32_t *dw, unsigned n)
{
    VGPUAccess ret = VGPU_ACCESS_OK;

    while (n && ret == VGPU_ACCESS_OK) {
        uint64_t left;
        uint64_t va = vgpu_access_position(&q->exec, pos, &left);
        unsigned i, part = MIN(n, left);

        ret = vgpu_access_read(e, q, va, dw, part * 4);
        for (i = 0; i < part && ret == VGPU_ACCESS_OK; i++) {
            dw[i] = le32_to_cpu(dw[i]);
        }
        pos += part;
        dw += part;
        n -= part;
    }
    return ret;
}
