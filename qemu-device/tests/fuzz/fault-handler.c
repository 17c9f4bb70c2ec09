/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzzer of vgpu-kfd: handles retry faults as a driver does, and disturbs the
 * device in ways that must have no effect.
 */
#include "qemu/osdep.h"
#include "tests/qtest/vgpu-kfd/fuzz/fuzz.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/ih.h"
#include "tests/qtest/vgpu-kfd/lib/migration.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"
#include "tests/qtest/vgpu-kfd/lib/sdma-queue.h"

/*
 * Write @val to the page-table entry at @at, in the model and on the device,
 * while queues may use the table.
 */
static void poke(FuzzCase *c, FuzzPlace at, uint64_t val)
{
    fuzz_put64(c, at, val);
    qtest_writeq(c->v->qts, c->mem[at.kind].base + at.off +
                 (at.kind == QVGPU_RAM ? 0 : c->vram_bus), val);
}

/*
 * The TLB may hold a valid entry for @va. Invalidate the page of @va, or a
 * larger range that contains this page.
 */
static void invalidate(FuzzQueue *q, unsigned vmid, uint64_t va)
{
    unsigned order = fuzz_below(&q->rng, 24);

    if (q->compute) {
        qvgpu_gfx_invalidate(q->c->v, 1u << vmid);
    } else if (order > 12) {
        qvgpu_invalidate(q->c->v, 1u << vmid);
    } else {
        qvgpu_invalidate_range(q->c->v, 1u << vmid,
                               QEMU_ALIGN_DOWN(va, QVGPU_PAGE << order),
                               order);
    }
}

/*
 * Choose a value that a driver could write to @hit->slot, the page-table entry
 * that causes the fault, and write the value.
 */
static void repair(FuzzQueue *q, unsigned vmid, uint64_t va,
                   const FuzzHit *hit)
{
    uint64_t now = fuzz_get64(q->c, hit->slot), to;
    uint64_t leaf = hit->level >= VGPU_LEVEL_PDB1 ? VGPU_PDE_PTE : 0;
    unsigned i, dice = fuzz_below(&q->rng, 100);
    const FuzzBroken *b = NULL;

    for (i = 0; i < q->c->broken->len && !b; i++) {
        b = &g_array_index(q->c->broken, FuzzBroken, i);
        if (b->slot.kind != hit->slot.kind || b->slot.off != hit->slot.off ||
            b->want == now) {
            b = NULL;
        }
    }
    if (hit->permission) {
        to = now | VGPU_PTE_READABLE | VGPU_PTE_WRITEABLE;
    } else if (b && (!b->data || dice < 70)) {
        to = b->want;
    } else if (hit->level == VGPU_LEVEL_PTB && dice < 50) {
        to = fuzz_case_pte(q, &q->rng);
    } else if (dice % 2) {
        to = VGPU_PTE_PRT;
    } else {
        to = VGPU_PTE_NORETRY | leaf;
    }
    poke(q->c, hit->slot, to);
    if (hit->permission || fuzz_chance(&q->rng, 20)) {
        invalidate(q, vmid, va);
    }
}

static void freeze(QVGPU *v, unsigned engine)
{
    uint32_t reg = SDMA_ENGINE(engine) + SDMA_FREEZE;

    qvgpu_wr(v, reg, SDMA_FREEZE__FREEZE);
    qvgpu_wait_until(qvgpu_rd(v, reg) & SDMA_FREEZE__FROZEN);
    qvgpu_wr(v, reg, 0);
}

/*
 * Disturb the device, for example by an invalidation or a freeze. The results
 * of the queues must not change.
 */
static void disturb(FuzzQueue *q)
{
    FuzzCase *c = q->c;
    FuzzQueue *other = &c->queue[fuzz_below(&q->rng, c->nqueues)];

    if (fuzz_chance(&q->rng, 25)) {
        fuzz_save(c);
    }
    switch (fuzz_below(&q->rng, 16)) {
    case 0 ... 1:
        qvgpu_invalidate(c->v, fuzz_rnd(&q->rng) & 0xffff);
        qvgpu_gfx_invalidate(c->v, fuzz_rnd(&q->rng) & 0xffff);
        break;
    case 2 ... 3:
        if (other->compute) {
            qvgpu_compute_dequeue(&other->cq);
            qvgpu_hqd_wr(&other->cq, CP_HQD_ACTIVE, CP_HQD_ACTIVE__ACTIVE);
            c->redone = true;
        } else {
            qvgpu_sdma_disable(&other->q);
            qvgpu_sdma_enable(&other->q);
        }
        break;
    case 4:
        freeze(c->v, other->q.engine);
        break;
    case 5:
        /* A stop and a continue of the machine must have no effect. */
        qtest_qmp_assert_success(c->v->qts, "{ 'execute': 'stop' }");
        qtest_qmp_assert_success(c->v->qts, "{ 'execute': 'cont' }");
        break;
    case 6 ... 7:
        invalidate(q, c->vmids[fuzz_below(&q->rng, c->nspaces)],
                   fuzz_rnd(&q->rng) >> (64 - VGPU_VA_BITS));
        break;
    case 8 ... 9:
        if (!q->loose) {
            uint64_t at = FUZZ_PARTS_AT + q->part * FUZZ_PART;

            fuzz_check_pages(c, at / QVGPU_PAGE,
                             (at + FUZZ_PART) / QVGPU_PAGE);
        }
        break;
    default:
        break;
    }
}

void fuzz_save(FuzzCase *c)
{
    if (!c->save) {
        return;
    }
    c->save = false;
    c->all_saves++;
    c->redone = true;
    qvgpu_save_restore(c->v, false);
    qvgpu_cont(c->v);
}

static bool same_fault(const QVGPUIrq *a, const QVGPUIrq *b)
{
    return a->vmid == b->vmid && a->data[0] == b->data[0] &&
           !((a->data[1] ^ b->data[1]) & IH_FAULT_D1__WRITE);
}

/*
 * Without the CAM, the device reports a fault repeatedly. Skip reports of
 * faults that were handled before, unless the fault is @want.
 */
static void skip_repeats(FuzzQueue *q, const QVGPUIrq *want)
{
    QVGPUIrq *seen = (QVGPUIrq *)q->seen_stalls->data;
    unsigned i;

    while (!q->c->cam && q->taken < q->seen_stalls->len) {
        if (want && same_fault(&seen[q->taken], want)) {
            return;
        }
        for (i = 0; i < q->taken; i++) {
            if (same_fault(&seen[i], &seen[q->taken])) {
                break;
            }
        }
        if (i == q->taken) {
            return;
        }
        q->taken++;
    }
}

bool fuzz_stalls_left(FuzzQueue *q)
{
    skip_repeats(q, NULL);
    return q->taken != q->seen_stalls->len;
}

bool fuzz_handle_fault(FuzzQueue *q, unsigned vmid, uint64_t va, bool write,
                       const FuzzHit *hit)
{
    int64_t until = g_get_monotonic_time() + FUZZ_TIMEOUT_US;
    FuzzCase *c = q->c;
    QVGPUIrq irq = {
        .vmid = vmid, .data = { va >> VGPU_PAGE_SHIFT,
                                write ? IH_FAULT_D1__WRITE : 0 },
    };

    do {
        fuzz_drain_irqs(c);
        skip_repeats(q, &irq);
        if (q->seen_stalls->len != q->taken) {
            break;
        }
        if (g_get_monotonic_time() > until) {
            fuzz_fail(c, "queue %u: no retry fault at 0x%" PRIx64 " of VMID "
                      "%u (%s)", q->part, va, vmid, write ? "write" : "read");
        }
        qvgpu_waited();
    } while (!c->failure->len);
    if (c->failure->len) {
        return false;
    }
    irq = g_array_index(q->seen_stalls, QVGPUIrq, q->taken++);
    if (irq.vmid != vmid || irq.data[0] != (uint32_t)(va >> VGPU_PAGE_SHIFT) ||
        !(irq.data[1] & IH_FAULT_D1__WRITE) == write ||
        irq.mm_hub == q->compute) {
        fuzz_fail(c, "queue %u: retry fault at page 0x%x of VMID %u (0x%x), "
                  "should be at 0x%" PRIx64 " of VMID %u (%s)", q->part,
                  irq.data[0], irq.vmid, irq.data[1], va, vmid,
                  write ? "write" : "read");
        return false;
    }
    c->all_stalls++;
    disturb(q);
    if (!fuzz_chance(&q->rng, 10)) {
        repair(q, vmid, va, hit);
    }
    if (c->cam) {
        qvgpu_cam_ack(c->v, VGPU_GET(irq.data[2], IH_FAULT_D2__CAM_INDEX));
    }
    return !c->failure->len;
}
