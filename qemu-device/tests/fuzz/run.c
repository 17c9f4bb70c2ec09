/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzzer of vgpu-kfd: runs a case. The device runs all queues together. The
 * oracle, a model of the device, runs one queue after the other.
 */
#include "qemu/osdep.h"
#include "tests/qtest/vgpu-kfd/fuzz/fuzz.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/ih.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"
#include "tests/qtest/vgpu-kfd/lib/sdma-queue.h"

void fuzz_fail(FuzzCase *c, const char *fmt, ...)
{
    va_list ap;

    if (!c->failure->len) {
        va_start(ap, fmt);
        g_string_append_vprintf(c->failure, fmt, ap);
        va_end(ap);
    }
}

void fuzz_drain_irqs(FuzzCase *c)
{
    while (qvgpu_ih_pending(c->v)) {
        QVGPUIrq irq;
        uint64_t va;
        unsigned n;

        qvgpu_ih_next(c->v, &irq);
        switch (irq.source) {
        case IH_SRC_SDMA_TRAP:
        case IH_SRC_CP_END_OF_PIPE:
            n = FUZZ_QUEUES - 1 - irq.data[0] / (1 << 24) % FUZZ_QUEUES;
            g_array_append_val(c->queue[n].seen_traps, irq.data[0]);
            break;
        case IH_SRC_VM_FAULT:
            va = ((uint64_t)irq.data[0] | (irq.data[1] & 0xfull) << 32)
                 << VGPU_PAGE_SHIFT;
            n = FUZZ_QUEUES - 1 - (va >> 39) / (VGPU_PT_ENTRIES / FUZZ_QUEUES);
            if (irq.data[1] & IH_FAULT_D1__RETRY) {
                g_array_append_val(c->queue[n].seen_stalls, irq);
            } else {
                FuzzFault f = { irq.vmid, va >> VGPU_PAGE_SHIFT,
                                irq.data[1] & IH_FAULT_D1__WRITE };

                g_array_append_val(c->seen_faults, f);
            }
            break;
        case IH_SRC_SDMA_POLL_TIMEOUT:
            break;              /* not an error: the queue continues */
        default:
            fuzz_fail(c, "interrupt of source %u, data 0x%x 0x%x", irq.source,
                      irq.data[0], irq.data[1]);
            break;
        }
    }
}

static void program(FuzzCase *c)
{
    uint64_t gart = c->mem[c->gart_table.kind].base + c->gart_table.off;
    uint64_t first = c->gart / QVGPU_PAGE;
    unsigned i;

    qvgpu_mm_wr(c->v, MC_VM_FB_OFFSET, c->fb_offset >> 24);
    qvgpu_mm_wr64(c->v, VM_L2_PROTECTION_FAULT_DEFAULT_ADDR_LO32,
                  c->default_page / QVGPU_PAGE);
    qvgpu_mm_wr64(c->v, VM_CONTEXT_PAGE_TABLE_BASE_ADDR_LO32(0),
                  VGPU_PDE_VALID |
                  (c->gart_table.kind == QVGPU_RAM ? VGPU_PDE_SYSTEM | gart
                                                   : gart + c->fb_offset));
    qvgpu_mm_wr64(c->v, VM_CONTEXT_PAGE_TABLE_START_ADDR_LO32(0), first);
    qvgpu_mm_wr64(c->v, VM_CONTEXT_PAGE_TABLE_END_ADDR_LO32(0),
                  first + c->gart_pages - 1);
    qvgpu_mm_wr(c->v, VM_CONTEXT_CNTL(0), VM_CONTEXT_CNTL__ENABLE_CONTEXT |
                VM_CONTEXT_CNTL__ALL_INTERRUPTS |
                VM_CONTEXT_CNTL__ALL_DEFAULTS);
    for (i = 0; i < c->nspaces; i++) {
        unsigned vmid = c->vmids[i];
        FuzzPlace root = c->space[vmid].root;
        uint64_t addr = c->mem[root.kind].base + root.off;
        QVGPUSpace s = { .v = c->v, .vmid = vmid };

        qvgpu_mm_wr64(c->v, VM_CONTEXT_PAGE_TABLE_BASE_ADDR_LO32(vmid),
                      VGPU_PDE_VALID |
                      (root.kind == QVGPU_RAM ? VGPU_PDE_SYSTEM | addr
                                              : addr + c->fb_offset));
        qvgpu_mm_wr64(c->v, VM_CONTEXT_PAGE_TABLE_START_ADDR_LO32(vmid), 0);
        qvgpu_mm_wr64(c->v, VM_CONTEXT_PAGE_TABLE_END_ADDR_LO32(vmid),
                      (1ull << (VGPU_VA_BITS - VGPU_PAGE_SHIFT)) - 1);
        qvgpu_space_set_retry(&s, c->space[vmid].retry);
    }
    qvgpu_wr(c->v, IH_RETRY_INT_CAM_CNTL,
             VGPU_PREP(IH_RETRY_INT_CAM_CNTL__CAM_SIZE, 0xfu) |
             (c->cam ? IH_RETRY_INT_CAM_CNTL__ENABLE : 0));
    /*
     * CAM off: let virtual time pass, because a queue repeats a faulting access
     * after a delay in virtual time. CAM on: stop virtual time, so that no
     * fault is reported again.
     */
    qvgpu_time_passes(c->cam ? NULL : c->v);
    qvgpu_invalidate(c->v, 0xffff);
    for (i = 0; i < c->nqueues && !c->queue[i].compute; i++) {
        continue;
    }
    if (i < c->nqueues) {
        qvgpu_cp_setup(c->v);
        qvgpu_gfx_wr(c->v, VM_L2_PROTECTION_FAULT_DEFAULT_ADDR_LO32,
                     c->default_page / QVGPU_PAGE);
        qvgpu_gfx_wr(c->v, VM_L2_PROTECTION_FAULT_DEFAULT_ADDR_LO32 + 1,
                     c->default_page / QVGPU_PAGE >> 32);
        qvgpu_gfx_invalidate(c->v, 0xffff);
    }
}

static void load(FuzzQueue *q)
{
    QVGPU *v = q->c->v;
    unsigned i = q->q.index - SDMA_QUEUE_RLC(0);
    uint64_t wptr = q->q.wptr;

    if (q->compute) {
        fuzz_pm4_load(q);
        return;
    }
    q->q.v = v;
    q->q.doorbell = 0;
    if (q->q.index >= SDMA_QUEUE_RLC(0)) {
        q->q.doorbell = qvgpu_sdma_doorbell(1 + q->part, q->q.engine, i);
    }
    q->q.wptr = q->first;
    qvgpu_sdma_load(&q->q);
    q->q.wptr = wptr;
}

static void kick(FuzzQueue *q)
{
    if (q->compute) {
        qvgpu_compute_kick(&q->cq);
    } else {
        qvgpu_sdma_kick(&q->q);
    }
}

static void unload(FuzzQueue *q)
{
    if (q->compute) {
        qvgpu_compute_dequeue(&q->cq);
    } else {
        qvgpu_sdma_disable(&q->q);
    }
}

static bool same(GArray *a, GArray *b)
{
    return a->len == b->len &&
           (!a->len || !memcmp(a->data, b->data, (size_t)a->len *
                               g_array_get_element_size(a)));
}

static void check_queue(FuzzQueue *q)
{
    int64_t until = g_get_monotonic_time() + FUZZ_TIMEOUT_US;
    FuzzCase *c = q->c;

    while (!(q->compute ? fuzz_pm4_idle(q) : qvgpu_sdma_idle(&q->q)) &&
           !c->failure->len) {
        fuzz_drain_irqs(c);
        if (fuzz_stalls_left(q)) {
            fuzz_fail(c, "queue %u: unexpected retry fault", q->part);
        } else if (g_get_monotonic_time() > until) {
            fuzz_fail(c, "queue %u%s hangs, should go to 0x%" PRIx64, q->part,
                      q->compute ? " (compute)" : "", q->done);
        }
        qvgpu_waited();
    }
    fuzz_drain_irqs(c);
    if (q->compute) {
        fuzz_pm4_check(q);
    } else if (qvgpu_sdma_exception(&q->q)) {
        fuzz_fail(c, "queue %u: exception %u", q->part,
                  qvgpu_sdma_exception(&q->q));
    }
    if (!q->compute && qvgpu_sdma_rptr(&q->q) != q->done) {
        fuzz_fail(c, "queue %u: rptr is 0x%" PRIx64 ", should be 0x%" PRIx64,
                  q->part, qvgpu_sdma_rptr(&q->q), q->done);
    }
    if (!q->open_traps && !same(q->traps, q->seen_traps)) {
        fuzz_fail(c, "queue %u: %u traps, should be %u", q->part,
                  q->seen_traps->len, q->traps->len);
    }
}

/* Discard the previous case, and zero its pages for the next case. */
static void case_reset(FuzzCase *c)
{
    unsigned i, kind;

    for (kind = 0; kind < 2; kind++) {
        FuzzMem *m = &c->mem[kind];

        for (i = 0; i < FUZZ_PAGES; i++) {
            if (m->used[i]) {
                memset(m->byte + i * QVGPU_PAGE, 0, QVGPU_PAGE);
                memset(m->undef + i * QVGPU_PAGE, 0, QVGPU_PAGE);
                m->used[i]--;
            }
        }
        c->tables[kind] = 0;
    }
    for (i = 0; i < FUZZ_QUEUES; i++) {
        FuzzQueue *q = &c->queue[i];

        g_array_set_size(q->traps, 0);
        g_array_set_size(q->seen_traps, 0);
        g_array_set_size(q->seen_stalls, 0);
        q->taken = 0;
        q->open_traps = false;
    }
    g_array_set_size(c->broken, 0);
    g_array_set_size(c->faults, 0);
    g_array_set_size(c->seen_faults, 0);
    memset(c->space, 0, sizeof(c->space));
    c->npackets = 0;
    g_string_truncate(c->failure, 0);
}

bool fuzz_run(FuzzCase *c, uint64_t seed, const GArray *drop)
{
    unsigned i;

    case_reset(c);
    c->seed = seed;
    c->rng.state = seed;
    c->drop = drop;
    fuzz_case_make(c);
    fuzz_upload_memory(c);
    program(c);
    for (i = 0; i < c->nqueues; i++) {
        load(&c->queue[i]);
    }
    for (i = 0; i < c->nqueues; i++) {
        kick(&c->queue[i]);
    }
    if (fuzz_chance(&c->rng, 30)) {
        fuzz_save(c);
    }
    for (i = 0; i < c->nqueues && !c->failure->len; i++) {
        /*
         * The device's queues run meanwhile. A queue with a retry fault stalls
         * until the oracle reaches the same access and handles the fault.
         */
        fuzz_sdma_oracle_run(&c->queue[i]);
    }
    for (i = 0; i < c->nqueues && !c->failure->len; i++) {
        check_queue(&c->queue[i]);
    }
    if (!c->failure->len) {
        fuzz_check_faults(c);
        fuzz_check_pages(c, 0, FUZZ_PAGES);
    }
    for (i = 0; i < c->nqueues && !c->failure->len; i++) {
        unload(&c->queue[i]);
    }
    return !c->failure->len;
}
