/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: workloads for injections. Each workload waits for the end of one
 * step before it starts the next one, so that the events on which an injection
 * can act come in a fixed order.
 */
#include "qemu/osdep.h"
#include "hw/pci/pci_regs.h"
#include "qobject/qdict.h"
#include "qobject/qlist.h"
#include "tests/qtest/vgpu-kfd/inject/workloads.h"
#include "tests/qtest/vgpu-kfd/lib/compute-queue.h"
#include "tests/qtest/vgpu-kfd/lib/ih.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"
#include "tests/qtest/vgpu-kfd/lib/qmp.h"
#include "tests/qtest/vgpu-kfd/lib/sdma-queue.h"

#define GART_VA     UINT64_C(0x7fff00000000)
#define ROUNDS      4
#define INV_ENG     17
#define PEER_SRC    (64 * MiB)

void workload_inject(Workload *r)
{
    r->id = qvgpu_inject(r->v, "%s, 'seed': %u", r->members, r->seed);
}

void workload_log_irqs(Workload *r)
{
    while (qvgpu_ih_pending(r->v)) {
        QVGPUIrq irq;

        qvgpu_ih_next(r->v, &irq);
        g_string_append_printf(r->log, "irq %02x %u %02x %u %x %x %x %x\n",
                               irq.client, irq.source, irq.ring, irq.vmid,
                               irq.data[0], irq.data[1], irq.data[2],
                               irq.data[3]);
    }
}

static void log_sum(Workload *r, uint64_t addr, uint64_t len)
{
    g_autofree uint8_t *buf = g_malloc(len);
    g_autofree char *sum = NULL;

    qtest_memread(r->v->qts, addr, buf, len);
    sum = g_compute_checksum_for_data(G_CHECKSUM_SHA256, buf, len);
    g_string_append_printf(r->log, "memory %s\n", sum);
}

void workload_log_memory(Workload *r)
{
    log_sum(r, r->src, WORKLOAD_PAGES * QVGPU_PAGE);
    log_sum(r, r->dst, WORKLOAD_PAGES * QVGPU_PAGE);
}

/*
 * Acknowledge every CAM slot in use, even if the interrupt ring has no entry
 * for the fault of the slot. Returns the number of acknowledged slots.
 */
static unsigned ack_all(Workload *r)
{
    QDict *info = qvgpu_query(r->v);
    QListEntry *entry;
    unsigned n = 0;

    QLIST_FOREACH_ENTRY(qdict_get_qlist(info, "cam"), entry) {
        QDict *cam = qobject_to(QDict, qlist_entry_obj(entry));

        qvgpu_cam_ack(r->v, qdict_get_int(cam, "slot"));
        n++;
    }
    qobject_unref(info);
    return n;
}

/*
 * For each of the WORKLOAD_PAGES pages at @va, copy the first 8 bytes to @dst,
 * and log bytes 0 and 7 of the copy.
 */
static void look(Workload *r, QVGPUSdma *q, uint64_t va, uint64_t dst)
{
    unsigned i;

    for (i = 0; i < WORKLOAD_PAGES; i++) {
        uint8_t bytes[8];

        qvgpu_pkt_copy(q, va + i * QVGPU_PAGE, dst + i * 8, 8);
        qvgpu_sdma_finish(q);
        workload_log_irqs(r);
        qtest_memread(r->v->qts, r->dst + i * 8, bytes, sizeof(bytes));
        g_string_append_printf(r->log, "page %u: %02x %02x\n", i, bytes[0],
                               bytes[7]);
    }
}

static uint64_t page(Workload *r, unsigned round, unsigned i)
{
    return r->src + (i + round) % WORKLOAD_PAGES * QVGPU_PAGE;
}

void workload_pages_vmid(Workload *r)
{
    QVGPUSpace space;
    unsigned round, i;
    uint64_t dst;
    QVGPUSdma q;

    qvgpu_space_init(&space, r->v, WORKLOAD_VMID, QVGPU_VRAM);
    /*
     * Use no-retry faults. The injection leaves a wrong page-table entry in the
     * TLB, so a retried access would fault without end.
     */
    qvgpu_space_set_retry(&space, false);
    qvgpu_sdma_open(&q, r->v, 0, SDMA_QUEUE_RLC(0), &space);
    dst = qvgpu_space_place(&space, r->dst, QVGPU_PAGE);
    workload_inject(r);
    for (round = 0; round < ROUNDS; round++) {
        for (i = 0; i < WORKLOAD_PAGES; i++) {
            qvgpu_space_map(&space, WORKLOAD_VA + i * QVGPU_PAGE,
                            page(r, round, i), QVGPU_PAGE);
        }
        qvgpu_invalidate(r->v, 1u << WORKLOAD_VMID);
        look(r, &q, WORKLOAD_VA, dst);
    }
}

void workload_pages_gart(Workload *r)
{
    uint64_t table = qvgpu_alloc(r->v, QVGPU_VRAM, QVGPU_PAGE, QVGPU_PAGE);
    unsigned round, i;
    QVGPUSdma q;

    qvgpu_mm_wr64(r->v, VM_CONTEXT_PAGE_TABLE_BASE_ADDR_LO32(0),
                  qvgpu_entry(r->v, table, VGPU_PDE_VALID));
    qvgpu_mm_wr64(r->v, VM_CONTEXT_PAGE_TABLE_START_ADDR_LO32(0),
                  GART_VA >> VGPU_PAGE_SHIFT);
    qvgpu_mm_wr64(r->v, VM_CONTEXT_PAGE_TABLE_END_ADDR_LO32(0),
                  (GART_VA >> VGPU_PAGE_SHIFT) + WORKLOAD_PAGES - 1);
    qvgpu_mm_wr(r->v, VM_CONTEXT_CNTL(0), VM_CONTEXT_CNTL__ENABLE_CONTEXT |
                VM_CONTEXT_CNTL__ALL_INTERRUPTS);
    qvgpu_sdma_open(&q, r->v, 0, SDMA_QUEUE_GFX, NULL);
    workload_inject(r);
    for (round = 0; round < ROUNDS; round++) {
        for (i = 0; i < WORKLOAD_PAGES; i++) {
            qtest_writeq(r->v->qts, table + i * 8,
                         qvgpu_entry(r->v, page(r, round, i), QVGPU_PTE_RW));
        }
        qvgpu_invalidate(r->v, 1);
        look(r, &q, GART_VA, qvgpu_mc(r->v, r->dst));
    }
}

static bool hangs(Workload *r)
{
    QDict *info = qvgpu_query(r->v);
    const QListEntry *entry = qlist_first(qdict_get_qlist(info, "engines"));
    bool hung = qdict_get_bool(qobject_to(QDict, qlist_entry_obj(entry)),
                               "hung");

    qobject_unref(info);
    return hung;
}

void workload_fences(Workload *r)
{
    unsigned i;
    QVGPUSdma q;

    qvgpu_sdma_open(&q, r->v, 0, SDMA_QUEUE_GFX, NULL);
    workload_inject(r);
    for (i = 0; i < WORKLOAD_PAGES && !hangs(r); i++) {
        qvgpu_pkt_fence(&q, qvgpu_mc(r->v, r->dst) + i * 4, i + 1);
        qvgpu_sdma_kick(&q);
        qvgpu_wait_until(qvgpu_sdma_idle(&q) || hangs(r));
    }
    g_string_append_printf(r->log, "packets %u\n", i);
}

void workload_copies(Workload *r)
{
    unsigned i, errors = 0;
    QVGPUSdma q;

    qvgpu_time_passes(r->v);
    qvgpu_sdma_open(&q, r->v, 0, SDMA_QUEUE_GFX, NULL);
    workload_inject(r);
    for (i = 0; i < WORKLOAD_PAGES; i++) {
        qvgpu_pkt_copy(&q, qvgpu_mc(r->v, r->src) + i * QVGPU_PAGE,
                       qvgpu_mc(r->v, r->dst) + i * QVGPU_PAGE, QVGPU_PAGE);
        qvgpu_sdma_kick(&q);
        qvgpu_wait_until(qvgpu_sdma_idle(&q) || qvgpu_sdma_exception(&q));
        while (qvgpu_sdma_exception(&q)) {
            g_string_append_printf(r->log, "copy %u: exception %u\n", i,
                                   qvgpu_sdma_exception(&q));
            g_assert_cmpuint(errors++, <, 20 * WORKLOAD_PAGES);
            qvgpu_sdma_disable(&q);
            workload_log_irqs(r);
            qvgpu_sdma_enable(&q);
            qvgpu_sdma_kick(&q);
            qvgpu_wait_until(qvgpu_sdma_idle(&q) ||
                             qvgpu_sdma_exception(&q));
        }
    }
}

void workload_compute(Workload *r)
{
    QVGPUCompute c;
    unsigned i;

    qvgpu_compute_init(&c, r->v, 1, 0, 0, NULL);
    qvgpu_cp_setup(r->v);
    qvgpu_compute_load(&c);
    workload_inject(r);
    for (i = 0; i < WORKLOAD_PAGES; i++) {
        uint64_t src = qvgpu_mc(r->v, r->src) + i * QVGPU_PAGE;
        uint64_t dst = qvgpu_mc(r->v, r->dst) + i * 4;

        QVGPU_PM4(&c, PM4_COPY_DATA, PM4_SRC_MEM | PM4_DST_MEM << 8,
                  QVGPU_LO(src), QVGPU_HI(src), QVGPU_LO(dst), QVGPU_HI(dst));
        qvgpu_compute_kick(&c);
        qvgpu_wait_until(qtest_readl(r->v->qts, c.rptr) ==
                         (c.wptr & (c.dwords - 1)) ||
                         qvgpu_ih_pending(r->v));
        if (qvgpu_ih_pending(r->v)) {
            /* After an error, log it and continue with the next packet. */
            g_string_append_printf(r->log, "packet %u\n", i);
            qvgpu_compute_dequeue(&c);
            workload_log_irqs(r);
            qvgpu_compute_load(&c);
            qtest_writel(r->v->qts, c.rptr, c.wptr & (c.dwords - 1));
        }
    }
}

void workload_doorbells(Workload *r)
{
    unsigned i;
    QVGPUSdma q;

    qvgpu_sdma_init(&q, r->v, 0, SDMA_QUEUE_GFX, NULL);
    q.doorbell = DOORBELL_SDMA(0) * 8;
    qvgpu_sdma_load(&q);
    workload_inject(r);
    for (i = 0; i < WORKLOAD_PAGES; i++) {
        qvgpu_pkt_fence(&q, qvgpu_mc(r->v, r->dst) + i * 4, i + 1);
        qvgpu_sdma_kick(&q);
        qvgpu_wait_until(qvgpu_sdma_idle(&q));
        g_string_append_printf(r->log, "wptr %x\n",
                               qvgpu_sdma_rd(&q, SDMA_RB_WPTR));
    }
}

void workload_faults(Workload *r)
{
    QVGPUSdma q, kq;
    QVGPUSpace space;
    unsigned i;

    qvgpu_space_init(&space, r->v, WORKLOAD_VMID, QVGPU_VRAM);
    qvgpu_sdma_open(&q, r->v, 0, SDMA_QUEUE_RLC(0), &space);
    qvgpu_sdma_open(&kq, r->v, 0, SDMA_QUEUE_GFX, NULL);
    workload_inject(r);
    for (i = 0; i < WORKLOAD_PAGES; i++) {
        uint64_t va = WORKLOAD_VA + i * QVGPU_PAGE;

        qvgpu_pkt_fence(&q, va, i + 1);
        qvgpu_sdma_kick(&q);
        qvgpu_wait_until(qvgpu_counter(r->v, VGPU_CNT_FAULTS_RETRY) == i + 1);
        qvgpu_sdma_pass(&kq);
        workload_log_irqs(r);
        g_string_append_printf(r->log, "fault %u\n", i);
        qtest_clock_step(r->v->qts, 1000000);
        workload_log_irqs(r);
        qvgpu_space_map(&space, va, page(r, 0, i), QVGPU_PAGE);
        g_assert_cmpuint(ack_all(r), ==, 1);
        qvgpu_sdma_finish(&q);
    }
}

void workload_traps(Workload *r)
{
    unsigned i;
    QVGPUSdma q;

    qvgpu_sdma_open(&q, r->v, 0, SDMA_QUEUE_GFX, NULL);
    workload_inject(r);
    for (i = 0; i < WORKLOAD_PAGES; i++) {
        qvgpu_pkt_trap(&q, i);
        qvgpu_sdma_finish(&q);
        g_string_append_printf(r->log, "trap %u\n", i);
        workload_log_irqs(r);
    }
}

void workload_invalidations(Workload *r)
{
    unsigned i, vmid;

    workload_inject(r);
    qvgpu_mm_wr64(r->v, VM_INVALIDATE_ENG_ADDR_RANGE_LO32(INV_ENG),
                  0x1fffffffffull);
    for (i = 0; i < WORKLOAD_PAGES; i++) {
        uint64_t fired = qvgpu_inject_fired(r->v, r->id);
        uint32_t mask;

        vmid = i % VGPU_NUM_VMIDS;
        mask = 1u << vmid;
        qvgpu_mm_wr(r->v, VM_INVALIDATE_ENG_REQ(INV_ENG), mask |
                    VM_INVALIDATE_ENG_REQ__L2_PTES |
                    VM_INVALIDATE_ENG_REQ__L1_PTES);
        if (qvgpu_inject_fired(r->v, r->id) == fired) {
            qvgpu_wait_until(qvgpu_mm_rd(r->v,
                                         VM_INVALIDATE_ENG_ACK(INV_ENG)) &
                             mask);
        }
        g_string_append_printf(r->log, "ack %x\n",
                               qvgpu_mm_rd(r->v,
                                           VM_INVALIDATE_ENG_ACK(INV_ENG)));
    }
}

void workload_nothing(Workload *r)
{
    workload_inject(r);
    if (qpci_config_readl(r->v->pci, PCI_VENDOR_ID) == UINT32_MAX) {
        g_string_append(r->log, "gone\n");
    } else {
        workload_log_irqs(r);
    }
}

void workload_resets(Workload *r)
{
    unsigned i;

    workload_inject(r);
    for (i = 0; i < ROUNDS; i++) {
        r->before_reset = qvgpu_inject_fired(r->v, r->id);
        qtest_system_reset(r->v->qts);
        qvgpu_map_bars(r->v);
        log_sum(r, r->src, WORKLOAD_PAGES * QVGPU_PAGE);
    }
}

void workload_peer(Workload *r)
{
    unsigned i;
    QVGPUSdma q;

    qvgpu_sdma_open(&q, r->v, 0, SDMA_QUEUE_GFX, NULL);
    workload_inject(r);
    for (i = 0; i < WORKLOAD_PAGES; i++) {
        qvgpu_pkt_copy(&q, qvgpu_mc(r->v, r->v->bar[VGPU_BAR_VRAM]) + PEER_SRC,
                       qvgpu_mc(r->v, r->dst) + i * 8, 8);
        qvgpu_sdma_finish(&q);
        workload_log_irqs(r);
    }
    g_string_append_printf(r->log, "links %x status %x\n",
                           qvgpu_rd(r->v, VGPU_XGMI_LINKS),
                           qvgpu_mm_rd(r->v, VM_L2_PROTECTION_FAULT_STATUS));
}
