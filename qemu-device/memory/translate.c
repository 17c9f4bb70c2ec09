/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: translation of GPU addresses through a client's hub. Leaves, from
 * the TLB or a page walk, are combined into spans of host memory.
 */
#include "qemu/osdep.h"
#include "vgpu/pte.h"
#include "hw/misc/vgpu-kfd/core/trace.h"
#include "hw/misc/vgpu-kfd/core/vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/memory/internal.h"
#include "hw/misc/vgpu-kfd/memory/phys.h"
#include "hw/misc/vgpu-kfd/memory/span.h"
#include "hw/misc/vgpu-kfd/memory/tlb-priv.h"

/*
 * Return the leaf at @va, from the TLB or a walk. Faults and ranges in
 * apertures are not stored in the TLB.
 */
static VGPULeaf gpuvm_lookup(VGPUClient *c, unsigned vmid, uint64_t va)
{
    VGPUState *s = c->s;
    VGPUTlb *tlb = c->tlb;
    /*
     * Read the generation before the walk, so that an invalidation during the
     * walk makes the new TLB entry stale.
     */
    uint32_t gen = qatomic_read(&tlb->hub->gen[vmid]);
    const VGPUTlbEntry *t = vgpu_tlb_find(tlb, vmid, va, gen);
    VGPULeaf leaf;

    if (t) {
        tlb->hits++;
        return (VGPULeaf) { .kind = t->kind, .addr = t->addr,
                            .shift = t->shift, .flags = t->flags };
    }
    leaf = vgpu_page_walk(c, vmid, va, gen);
    if (leaf.left || leaf.kind == VGPU_TARGET_WAIT) {
        return leaf;
    }
    tlb->misses++;
    trace_vgpu_walk(s->id, vmid, va, leaf.kind, leaf.addr, leaf.shift,
                    leaf.flags, leaf.error);
    if (leaf.kind < VGPU_TARGET_RETRY) {
        vgpu_tlb_insert(tlb, vmid, va, gen, &leaf);
    }
    return leaf;
}

/*
 * Translate @va to a span that ends where the leaf ends. The span is not mapped
 * to host memory. Return true if the span is from a leaf, so that the
 * translation may be cached.
 */
static bool gpuvm_translate(VGPUClient *c, unsigned vmid, uint64_t va,
                            VGPUAccessType type, VGPUSpan *span)
{
    static const struct {
        uint16_t needs;
        uint16_t fault;
    } types[] = {
        [VGPU_READ] = { VGPU_PTE_READABLE, VGPU_FAULT_CLASS(READ) },
        [VGPU_WRITE] = { VGPU_PTE_WRITEABLE, VGPU_FAULT_CLASS(WRITE) },
        [VGPU_EXECUTE] = { VGPU_PTE_EXECUTABLE, VGPU_FAULT_CLASS(EXECUTE) },
    };
    VGPULeaf leaf = gpuvm_lookup(c, vmid, va);
    uint64_t mask = (1ull << leaf.shift) - 1;

    *span = (VGPUSpan) {
        .kind = leaf.kind, .write = type == VGPU_WRITE,
        .walker_error = leaf.error, .fault = leaf.fault, .flags = leaf.flags,
    };
    if (leaf.left) {
        span->addr = leaf.addr;
        span->len = leaf.left;
    } else if (leaf.kind < VGPU_TARGET_RETRY) {
        if (leaf.flags & types[type].needs) {
            span->addr = leaf.addr + (va & mask);
            span->len = mask + 1 - (va & mask);
        } else {
            span->kind = vgpu_page_walk_fault_kind(c, vmid);
            span->fault = types[type].fault;
        }
    }
    return !leaf.left && span->kind < VGPU_TARGET_RETRY;
}

/*
 * Map @span to host memory, or set its kind to VGPU_TARGET_WAIT if the IOMMU's
 * translation is missing. Return false if there is no memory at the span's
 * address.
 */
static bool gpuvm_map_phys(VGPUClient *c, VGPUSpan *span)
{
    VGPUPhys found = vgpu_phys_map(c->s, c->iotlb, span);

    if (found == VGPU_PHYS_WAIT) {
        span->kind = VGPU_TARGET_WAIT;
    }
    return found != VGPU_PHYS_NONE;
}

void vgpu_gpuvm_map(VGPUClient *c, unsigned vmid, uint64_t va, uint64_t len,
                    VGPUAccessType type, VGPUSpan *span)
{
    VGPUTlb *tlb = c->tlb;
    uint32_t gen = qatomic_read(&tlb->hub->gen[vmid]);
    VGPUPeek *peek = &tlb->peek[type];
    VGPUSpan next;

    if (peek->valid && peek->va == va && peek->vmid == vmid &&
        peek->gen == gen) {
        *span = peek->span;
        tlb->hits++;
    } else {
        gpuvm_translate(c, vmid, va, type, span);
    }
    peek->valid = false;
    while (span->kind < VGPU_TARGET_RETRY && span->len < len &&
           va + span->len > va) {
        bool leaf = gpuvm_translate(c, vmid, va + span->len, type, &next);

        if (next.kind != span->kind ||
            (span->kind != VGPU_TARGET_ZERO &&
             next.addr != span->addr + span->len)) {
            *peek = (VGPUPeek) {
                .valid = leaf, .vmid = vmid, .gen = gen,
                .va = va + span->len, .span = next,
            };
            break;
        }
        span->len += next.len;
    }
    if (span->kind < VGPU_TARGET_RETRY) {
        span->len = MIN(span->len, len);
        if (span->kind == VGPU_TARGET_PEER) {
            vgpu_xgmi_inject_down(c->s, vgpu_client_site(c, vmid, span->addr));
        }
        if (!gpuvm_map_phys(c, span)) {
            span->kind = VGPU_TARGET_FAULT;
            span->walker_error = VGPU_WALKER_NACK;
            span->fault = VGPU_FAULT_CLASS(NACK);
        }
    }
    trace_vgpu_translate(c->s->id, c->hub, vmid, va, len, type, span->kind,
                         span->addr, span->len,
                         span->flags);
}

/*
 * @span is a no-retry fault. Return true if a read with this fault gets data of
 * the default page. The registers select this for each class of fault.
 */
static bool gpuvm_fault_is_redirected(VGPUClient *c, unsigned vmid,
                                      const VGPUSpan *span)
{
    const VGPUHub *hub = c->tlb->hub;
    uint32_t context = vgpu_fault_redirect_bit(span->fault);

    return (vgpu_hub_load(hub, VM_L2_PROTECTION_FAULT_CNTL) & span->fault) &&
           (!context || (vgpu_hub_load(hub, VM_CONTEXT_CNTL(vmid)) & context));
}

void vgpu_gpuvm_map_default(VGPUClient *c, unsigned vmid, uint64_t va,
                            uint64_t len, VGPUSpan *span)
{
    bool to_page = !span->write && gpuvm_fault_is_redirected(c, vmid, span);
    uint64_t off = va & (VGPU_PAGE_SIZE - 1);
    uint64_t page = vgpu_hub_load64(c->tlb->hub,
                                    VM_L2_PROTECTION_FAULT_DEFAULT_ADDR_LO32)
                    << VGPU_PAGE_SHIFT;

    *span = (VGPUSpan) {
        .kind = VGPU_TARGET_BUS, .write = span->write, .addr = page + off,
        .len = MIN(len, VGPU_PAGE_SIZE - off),
    };
    if (!to_page || !page || !gpuvm_map_phys(c, span)) {
        span->kind = VGPU_TARGET_ZERO;
        vgpu_phys_map(c->s, NULL, span);
    }
}
