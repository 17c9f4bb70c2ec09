/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: tests accesses between devices over XGMI and PCIe, and unplugging.
 */
#include "qemu/osdep.h"
#include "hw/pci/pci_regs.h"
#include "qobject/qdict.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/hold.h"
#include "tests/qtest/vgpu-kfd/lib/ih.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"
#include "tests/qtest/vgpu-kfd/lib/qmp.h"
#include "tests/qtest/vgpu-kfd/lib/sdma-queue.h"
#include "tests/qtest/vgpu-kfd/memory/hive-fixture.h"
#include "tests/qtest/vgpu-kfd/memory/suite.h"

#define VRAM        HIVE_VRAM
#define VMID        4
#define VA          0x111100000000ull
#define PEER_AT     (192 * GiB)
#define PEER_MMIO   0xe1000000u
#define COPIES      300
#define BYTES       (4 * MiB)
/*
 * Rounds of two tests that unplug a device while its engines run. There are
 * many rounds, because a single round may miss a race.
 */
#define HIVE_ROUNDS     24
#define SETTLE_ROUNDS   12

#define WIDE_ID     0x700000009ull

#define PAIR(props) "-device vgpu-kfd,vram=64M" props

/* Map the BARs of the second device. stop_pair() frees the result. */
static QVGPU *map_peer(QVGPU *v)
{
    QVGPU *p = g_new0(QVGPU, 1);

    *p = *v;
    p->pci = qpci_device_find(v->bus, QPCI_DEVFN(2, 0));
    g_assert_nonnull(p->pci);
    p->bar[VGPU_BAR_VRAM] = PEER_AT;
    p->bar[VGPU_BAR_DOORBELL] = PEER_AT + 32 * GiB;
    p->bar[VGPU_BAR_MMIO] = PEER_MMIO;
    qvgpu_map_bars(p);
    return p;
}

static void stop_pair(QVGPU *v, QVGPU *p)
{
    g_free(p->pci);
    g_free(p);
    qvgpu_stop(v);
}

static bool buffer_is(const uint8_t *buf, uint8_t byte, size_t len)
{
    return buf[0] == byte && !memcmp(buf, buf + 1, len - 1);
}

/*
 * Catches: the registers of a device show a wrong node, hive or set of links.
 */
static void test_registers(void)
{
    QVGPU *v = qvgpu_start_sized("64M,hive=h0",
                                 "-object vgpu-hive,id=h0,hive-id=0x700000009 "
                                 "-object vgpu-hive,id=h1 "
                                 PAIR(",hive=h0 ") PAIR(",hive=h1"));
    QVGPU *p = map_peer(v);

    hive_expect_place(v, 0, 1, 2, WIDE_ID);
    hive_expect_place(p, 1, 1, 1, WIDE_ID);
    stop_pair(v, p);
}

/*
 * Catches: VRAM of a peer is at a wrong address; a device's own VRAM is not at
 * the address of the device's node; an access beyond the last node does not
 * fault.
 */
static void test_memory(void)
{
    QVGPU *v = qvgpu_start_sized("64M,hive=h0", HIVE_OBJECT PAIR(",hive=h0"));
    QVGPU *p = map_peer(v);
    uint64_t src = qvgpu_alloc(v, QVGPU_VRAM, QVGPU_PAGE, QVGPU_PAGE);
    uint64_t back = qvgpu_ram_page(v);
    QVGPUSpace space;
    QVGPUIrq irq;

    /* Copy through the aperture, to and from the last page of node 1. */
    qvgpu_fill(v, src, 1, 0, QVGPU_PAGE);
    hive_copy(v, NULL, qvgpu_mc(v, src), hive_mc(v, 2 * VRAM - QVGPU_PAGE),
              QVGPU_PAGE);
    qvgpu_expect(v, PEER_AT + VRAM - QVGPU_PAGE, 1, 0, QVGPU_PAGE);
    qvgpu_expect_byte(v, v->bar[VGPU_BAR_VRAM] + VRAM - QVGPU_PAGE, 0,
                      QVGPU_PAGE);
    hive_copy(v, NULL, hive_mc(v, 2 * VRAM - QVGPU_PAGE), qvgpu_mc(v, back),
              QVGPU_PAGE);
    qvgpu_expect(v, back, 1, 0, QVGPU_PAGE);

    /*
     * Copy through page tables. One page-table entry maps 1 GiB: first the VRAM
     * of node 0, then the VRAM of node 1, then addresses without memory.
     */
    qvgpu_space_init(&space, v, VMID, QVGPU_RAM);
    qvgpu_space_set_retry(&space, false);
    qvgpu_space_set(&space, VA & ~(1 * GiB - 1), VGPU_LEVEL_PDB1,
                    QVGPU_PTE_RW | VGPU_PDE_PTE);
    qvgpu_fill(v, v->bar[VGPU_BAR_VRAM] + VRAM - 100, 2, 0, 100);
    qvgpu_fill(v, PEER_AT, 2, 100, 300);
    hive_copy(v, &space, (VA & ~(1 * GiB - 1)) + VRAM - 100,
              (VA & ~(1 * GiB - 1)) + VRAM + 0x1000, 400);
    qvgpu_expect(v, PEER_AT + 0x1000, 2, 0, 400);
    g_assert_false(qvgpu_ih_pending(v));
    hive_copy(v, &space, (VA & ~(1 * GiB - 1)) + VRAM,
              (VA & ~(1 * GiB - 1)) + 2 * VRAM, 4);
    qvgpu_ih_next(v, &irq);
    g_assert_cmphex(irq.data[1] & IH_FAULT_D1__RETRY, ==, 0);
    stop_pair(v, p);
}

/*
 * Copy scattered pages to contiguous pages of a peer. Catches: for each page of
 * the source, the device translates all of the destination that is left.
 */
static void test_scattered_to_peer(void)
{
    enum { PAGES = 64 };
    const uint64_t to = VA + 2 * MiB, len = PAGES * QVGPU_PAGE;
    QVGPU *v = qvgpu_start_sized("64M,hive=h0", HIVE_OBJECT PAIR(",hive=h0"));
    QVGPU *p = map_peer(v);
    uint64_t src, hits = 0;
    QVGPUSpace space;
    unsigned i;

    qvgpu_space_init(&space, v, VMID, QVGPU_VRAM);
    src = qvgpu_alloc(v, QVGPU_RAM, len, QVGPU_PAGE);
    for (i = 0; i < PAGES; i++) {
        /* The factor is odd, so that each page is mapped once. */
        uint64_t page = src + i * 37 % PAGES * QVGPU_PAGE;

        qvgpu_fill(v, page, 1, i * QVGPU_PAGE, QVGPU_PAGE);
        qvgpu_space_map(&space, VA + i * QVGPU_PAGE, page, QVGPU_PAGE);
        qvgpu_space_set(&space, to + i * QVGPU_PAGE, VGPU_LEVEL_PTB,
                        QVGPU_PTE_RW | (VRAM + i * QVGPU_PAGE));
    }
    /* The first copy fills the TLB. */
    for (i = 0; i < 2; i++) {
        qtest_memset(v->qts, PEER_AT, 0, len);
        hits = qvgpu_counter(v, VGPU_CNT_TLB_HITS);
        hive_copy(v, &space, VA, to, len);
        hits = qvgpu_counter(v, VGPU_CNT_TLB_HITS) - hits;
        qvgpu_expect(v, PEER_AT, 1, 0, len);
    }
    /*
     * A page counts three hits: two of the source, one of the destination. The
     * first map of the destination counts a hit for each page.
     */
    g_assert_cmpuint(hits, <, 6 * PAGES);
    stop_pair(v, p);
}

/* Catches: an engine of a device without a hive cannot reach a peer's BAR 0. */
static void test_pcie_peer(void)
{
    QVGPU *v = qvgpu_start_sized("64M", PAIR(""));
    QVGPU *p = map_peer(v);
    uint64_t src = qvgpu_ram_page(v);
    QVGPUSpace space;

    g_assert_cmphex(qvgpu_mm_rd(v, MC_VM_XGMI_LFB_CNTL), ==, 0);
    g_assert_cmphex(qvgpu_rd(v, VGPU_XGMI_LINKS), ==, 0);
    qvgpu_space_init(&space, v, VMID, QVGPU_RAM);
    qvgpu_space_map(&space, VA, src, QVGPU_PAGE);
    qtest_writeq(v->qts, qvgpu_space_slot(&space, VA + QVGPU_PAGE,
                                          VGPU_LEVEL_PTB),
                 QVGPU_PTE_RW | VGPU_PTE_SYSTEM | (PEER_AT + QVGPU_PAGE));
    qvgpu_fill(v, src, 3, 0, QVGPU_PAGE);
    hive_copy(v, &space, VA, VA + QVGPU_PAGE, QVGPU_PAGE);
    qvgpu_expect(v, PEER_AT + QVGPU_PAGE, 3, 0, QVGPU_PAGE);
    stop_pair(v, p);
}

/* Catches: a link that is down carries data, or is down for one end only. */
static void test_link_down(void)
{
    QVGPU *v = qvgpu_start_sized("64M,hive=h0,id=a",
                                 HIVE_OBJECT PAIR(",hive=h0,id=b"));
    QVGPU *p = map_peer(v);
    uint64_t src = qvgpu_alloc(v, QVGPU_VRAM, QVGPU_PAGE, QVGPU_PAGE);
    uint64_t page = qvgpu_ram_page(v), dst = hive_mc(v, VRAM + 3 * QVGPU_PAGE);
    QVGPUSpace space;
    uint32_t id;

    qvgpu_space_init(&space, v, VMID, QVGPU_RAM);
    qvgpu_space_map(&space, VA, src, QVGPU_PAGE);
    qtest_writeq(v->qts, qvgpu_space_slot(&space, VA + QVGPU_PAGE,
                                          VGPU_LEVEL_PTB),
                 QVGPU_PTE_RW | (VRAM + 3 * QVGPU_PAGE));
    qvgpu_fill(v, src, 5, 0, QVGPU_PAGE);
    qvgpu_fill(v, page, 6, 0, QVGPU_PAGE);
    qvgpu_mm_wr64(v, VM_L2_PROTECTION_FAULT_DEFAULT_ADDR_LO32,
                  page >> VGPU_PAGE_SHIFT);
    id = qvgpu_inject(v, "'kind': 'xgmi-down', 'device': 'a', 'skip': 1, "
                      "'vmid': %u, 'node': 1, 'offset': %" PRIu64
                      ", 'length': %" PRIu64, VMID, 3 * QVGPU_PAGE,
                      QVGPU_PAGE);

    /*
     * The injection does not act on an access of VMID 0, nor on the read of
     * XGMI_LINKS. It skips the first access that matches ('skip': 1).
     */
    hive_copy(v, NULL, qvgpu_mc(v, src), dst, 8);
    hive_copy(v, &space, VA, VA + QVGPU_PAGE, 16);
    qvgpu_expect(v, PEER_AT + 3 * QVGPU_PAGE, 5, 0, 16);
    /*
     * Catches: the link goes down before the access on which the injection
     * acts.
     */
    g_assert_cmphex(qvgpu_rd(v, VGPU_XGMI_LINKS), ==, 2);
    g_assert_cmpuint(qvgpu_inject_fired(v, id), ==, 0);
    g_assert_false(qvgpu_ih_pending(v));

    /*
     * The next access that matches takes the link down for every access from
     * either end. Accesses that fault because of this are not retried.
     */
    hive_copy(v, &space, VA, VA + QVGPU_PAGE, 32);
    qvgpu_ih_next_fault(v, VMID, VA + QVGPU_PAGE, true, false);
    /* Catches: the access causes a fault of a wrong class. */
    g_assert_cmphex(VGPU_GET(qvgpu_mm_rd(v, VM_L2_PROTECTION_FAULT_STATUS),
                             VM_L2_PROTECTION_FAULT_STATUS__WALKER_ERROR), ==,
                    VGPU_WALKER_NACK);
    qvgpu_expect_byte(v, PEER_AT + 3 * QVGPU_PAGE + 16, 0, 16);
    g_assert_cmpuint(qvgpu_inject_fired(v, id), ==, 1);
    g_assert_cmpuint(qvgpu_counter(v, VGPU_CNT_INJECTIONS), ==, 1);
    g_assert_cmphex(qvgpu_rd(v, VGPU_XGMI_LINKS), ==, 0);
    g_assert_cmphex(qvgpu_rd(p, VGPU_XGMI_LINKS), ==, 0);
    g_assert_cmphex(qvgpu_query_links(v, 0), ==, 0);
    g_assert_cmphex(qvgpu_query_links(v, 1), ==, 0);
    hive_copy(v, &space, VA + QVGPU_PAGE, VA, 64);
    qvgpu_ih_next_fault(v, VMID, VA + QVGPU_PAGE, false, false);
    qvgpu_expect(v, src, 6, 0, 64);
    p->ram_next += QVGPU_RAM_SIZE / 2;
    qvgpu_bring_up(p);
    hive_copy(p, NULL, hive_mc(v, VRAM), qvgpu_mc(v, src + 128), 64);
    g_assert_cmphex(qvgpu_mm_rd(p, VM_L2_PROTECTION_FAULT_STATUS), !=, 0);
    qvgpu_expect(v, src + 128, 5, 128, 64);
    /* The CPU still reaches the peer's VRAM, because the CPU uses the bus. */
    qtest_writel(v->qts, PEER_AT, 1);
    g_assert_cmphex(qtest_readl(v->qts, PEER_AT), ==, 1);

    /* Catches: the link stays down after the injection ends. */
    qvgpu_inject_remove(v, id);
    g_assert_cmphex(qvgpu_rd(v, VGPU_XGMI_LINKS), ==, 2);
    g_assert_cmphex(qvgpu_rd(p, VGPU_XGMI_LINKS), ==, 1);
    hive_copy(v, &space, VA, VA + QVGPU_PAGE, 64);
    qvgpu_expect(v, PEER_AT + 3 * QVGPU_PAGE, 6, 0, 64);
    g_assert_false(qvgpu_ih_pending(v));

    /*
     * An access takes a link down if the access matches the injection. A read
     * of XGMI_LINKS counts as an access to each peer, here node 1. The
     * injection is for node 2, so the link to node 1 (bit 1) stays up.
     */
    id = qvgpu_inject(v, "'kind': 'xgmi-down', 'device': 'a', 'node': 2");
    g_assert_cmphex(qvgpu_rd(v, VGPU_XGMI_LINKS), ==, 2);
    qvgpu_inject_remove(v, id);
    /*
     * Use the deprecated argument 'start', the first address in the hive to
     * which accesses fail. The addresses of node 1 end at 2 * VRAM - 1, so the
     * link to node 1 stays up.
     */
    id = qvgpu_inject(v, "'kind': 'xgmi-down', 'device': 'a', "
                      "'start': %" PRIu64, 2 * VRAM);
    g_assert_cmphex(qvgpu_rd(v, VGPU_XGMI_LINKS), ==, 2);
    qvgpu_inject_remove(v, id);
    /*
     * This injection matches only accesses to the first byte of node 1's VRAM.
     * A read of XGMI_LINKS counts as such an access, so the link goes down.
     */
    id = qvgpu_inject(v, "'kind': 'xgmi-down', 'device': 'a', "
                      "'start': %" PRIu64 ", 'length': 1", VRAM);
    g_assert_cmphex(qvgpu_rd(v, VGPU_XGMI_LINKS), ==, 0);
    qvgpu_inject_remove(v, id);
    id = qvgpu_inject(v, "'kind': 'xgmi-down', 'device': 'b'");
    g_assert_cmphex(qvgpu_query_links(v, 1), ==, 1);
    g_assert_cmphex(qvgpu_rd(p, VGPU_XGMI_LINKS), ==, 0);
    g_assert_cmphex(qvgpu_rd(p, VGPU_XGMI_LINKS), ==, 0);
    g_assert_cmphex(qvgpu_rd(v, VGPU_XGMI_LINKS), ==, 0);
    g_assert_cmpuint(qvgpu_inject_fired(v, id), ==, 1);
    stop_pair(v, p);
}

/*
 * While an engine of device a accesses b's VRAM, remove device b or, if
 * @removed is NULL, take the link to device b down. Catches: the removal or the
 * link-down does not wait until the access ends.
 */
static void test_peer_gone(const void *removed)
{
    const uint64_t at = 3 * QVGPU_PAGE;
    g_autofree char *args = NULL;
    uint64_t own, back;
    QVGPUSpace space;
    QVGPUHold h;
    QVGPUSdma q;
    uint8_t *b;
    QVGPU *v;

    qvgpu_hold_init(&h);
    args = g_strdup_printf("%s " HIVE_OBJECT
                           PAIR(",hive=h0,id=b,memdev=vram"), h.args);
    /*
     * Leave the BARs of device b unmapped. With mapped BARs, the removal would
     * change the memory map, and this change waits for the engine. Then the
     * test would pass even if vgpu_xgmi_remove() did not wait.
     */
    v = qvgpu_start_sized("64M,hive=h0,id=a", args);
    b = (uint8_t *)h.vram + at;
    memset(b, 0xb5, QVGPU_PAGE);
    own = qvgpu_alloc(v, QVGPU_VRAM, QVGPU_PAGE, QVGPU_PAGE);
    back = qvgpu_alloc(v, QVGPU_VRAM, QVGPU_PAGE, QVGPU_PAGE);
    qtest_memset(v->qts, own, 0x11, QVGPU_PAGE);
    qtest_memset(v->qts, back, 0x22, QVGPU_PAGE);
    qvgpu_space_init(&space, v, VMID, QVGPU_VRAM);
    qvgpu_space_set(&space, VA, VGPU_LEVEL_PTB, QVGPU_PTE_RW | (VRAM + at));
    own = qvgpu_space_place(&space, own, QVGPU_PAGE);
    qvgpu_sdma_open_vram(&q, v, 0, SDMA_QUEUE_RLC(0), &space, 4 * KiB);
    qvgpu_pkt_copy(&q, VA, VA + QVGPU_PAGE, QVGPU_PAGE);
    if (!removed) {
        /*
         * Only an access to the first byte of node 1's VRAM triggers the
         * injection. The read of XGMI_LINKS below counts as such an access. The
         * copy does not trigger the injection, because it reads other bytes.
         */
        qvgpu_inject(v, "'kind': 'xgmi-down', 'device': 'a', 'node': 1, "
                     "'offset': 0, 'length': 1");
    }

    /*
     * The copy reads b's VRAM, and faults at its unmapped destination. Hold the
     * engine in this fault. The engine still has a pointer to the source in b's
     * VRAM, so the removal or link-down must wait for the engine.
     */
    qvgpu_hold_access(&h, &q);
    qvgpu_hold_release_later(&h, v);
    if (removed) {
        qvgpu_inject(v, "'kind': 'surprise-removal', 'device': 'b'");
    } else {
        g_assert_cmphex(qvgpu_rd(v, VGPU_XGMI_LINKS), ==, 0);
    }
    qvgpu_hold_access_end(&h, v);
    qvgpu_time_passes(v);
    g_assert_cmphex(qvgpu_rd(v, VGPU_XGMI_LINKS), ==, 0);

    /*
     * After the hold, the engine repeats the copy. Catches: the repeated copy
     * reads b's VRAM. (The read must cause a no-retry fault and return zeros.)
     */
    qvgpu_ih_next_fault(v, VMID, VA, false, false);
    qvgpu_space_map(&space, VA + QVGPU_PAGE, back, QVGPU_PAGE);
    /* A later write to the peer must fault, too, and have no effect. */
    qvgpu_pkt_copy(&q, own, VA, QVGPU_PAGE);
    qvgpu_sdma_finish(&q);
    qvgpu_ih_next_fault(v, VMID, VA, true, false);
    qvgpu_expect_byte(v, back, 0, QVGPU_PAGE);
    g_assert_true(buffer_is(b, 0xb5, QVGPU_PAGE));
    qvgpu_stop(v);
    qvgpu_hold_destroy(&h);
}

/* Emit a packet that keeps the queue busy until the test writes 1 to @gate. */
static void wait_for(QVGPUSdma *q, uint64_t gate)
{
    qvgpu_pkt_poll_mem(q, QVGPU_POLL_EQ, qvgpu_mc(q->v, gate), 1, UINT32_MAX,
                       QVGPU_POLL_FOREVER);
}

/*
 * Catches: the memory of an unplugged peer is freed while an engine copies to
 * this memory, or is never freed; the peer's node in the hive is not freed.
 */
static void test_unplug_peer(void)
{
    QVGPU *v = qvgpu_start_sized("64M,hive=h0", HIVE_OBJECT HIVE_SLOT);
    uint64_t src = qvgpu_alloc(v, QVGPU_VRAM, BYTES, QVGPU_PAGE);
    uint64_t back = qvgpu_ram_page(v), gate = qvgpu_ram_page(v), at_gate;
    QVGPUSdma q;
    unsigned i;

    hive_plug(v, "");
    /*
     * Set FB_LOCATION_TOP of the first device, as a driver does after hotplug.
     */
    qvgpu_mm_wr(v, MC_VM_FB_LOCATION_TOP,
                qvgpu_mm_rd(v, MC_VM_FB_LOCATION_BASE) + 2 * (VRAM >> 24) - 1);
    hive_expect_place(v, 0, 1, 2, HIVE_ID);
    qvgpu_sdma_init_ring(&q, v, 0, 0, NULL, QVGPU_RAM, 64 * KiB);
    qvgpu_sdma_load(&q);
    for (i = 0; i < COPIES; i++) {
        qvgpu_pkt_copy(&q, qvgpu_mc(v, src), hive_mc(v, VRAM), BYTES);
    }
    at_gate = q.wptr;
    wait_for(&q, gate);
    qvgpu_pkt_copy(&q, qvgpu_mc(v, src), hive_mc(v, VRAM), BYTES);
    qvgpu_sdma_kick(&q);
    qvgpu_wait_until(qvgpu_sdma_rptr(&q) > 0);
    qtest_qmp_device_del(v->qts, "peer");
    g_assert_cmphex(qvgpu_rd(v, VGPU_XGMI_LINKS), ==, 0);
    /*
     * After the unplug, each copy faults and has no other effect. Clear the
     * status of these faults, to check that the last copy, which waits for
     * @gate, faults, too.
     */
    qvgpu_wait_until(qvgpu_sdma_rptr(&q) == at_gate);
    qvgpu_mm_wr(v, VM_L2_PROTECTION_FAULT_CNTL,
                qvgpu_mm_rd(v, VM_L2_PROTECTION_FAULT_CNTL) |
                VM_L2_PROTECTION_FAULT_CNTL__CLEAR_STATUS_ADDR);
    g_assert_cmphex(qvgpu_mm_rd(v, VM_L2_PROTECTION_FAULT_STATUS), ==, 0);
    qtest_writel(v->qts, gate, 1);
    qvgpu_time_passes(v);
    qvgpu_sdma_finish(&q);
    g_assert_cmphex(qvgpu_mm_rd(v, VM_L2_PROTECTION_FAULT_STATUS), !=, 0);

    hive_plug(v, "");
    qvgpu_fill(v, src, 4, 0, QVGPU_PAGE);
    hive_copy(v, NULL, qvgpu_mc(v, src), hive_mc(v, VRAM), QVGPU_PAGE);
    hive_copy(v, NULL, hive_mc(v, VRAM), qvgpu_mc(v, back), QVGPU_PAGE);
    qvgpu_expect(v, back, 4, 0, QVGPU_PAGE);
    qvgpu_stop(v);
}

#define RP              QPCI_DEVFN(2, 0)
/* device below RP: bus 1, slot 0 (slot 32 of bus 0 overflows to bus 1) */
#define BEHIND          QPCI_DEVFN(32, 0)

/*
 * Set the root port's windows for the BARs that qvgpu_map_bars() programs.
 * Returns the root port.
 */
static QPCIDevice *open_root_port(QPCIBus *bus)
{
    QPCIDevice *rp = qpci_device_find(bus, RP);

    g_assert_nonnull(rp);
    qpci_config_writel(rp, PCI_PRIMARY_BUS, 0x00010100);
    qpci_config_writel(rp, PCI_MEMORY_BASE, 0xe000e000);
    qpci_config_writel(rp, PCI_PREF_MEMORY_BASE, 0xfff10001);
    qpci_config_writel(rp, PCI_PREF_BASE_UPPER32, 64 * GiB >> 32);
    qpci_config_writel(rp, PCI_PREF_LIMIT_UPPER32, 160 * GiB >> 32);
    qpci_device_enable(rp);
    return rp;
}

/* Start a machine with an empty root port, rp0. plug() adds a device there. */
static QVGPU *start_slot(void)
{
    QVGPU *v = qvgpu_start_sized("64M", HIVE_OBJECT
        "-global ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off "
        "-device pcie-root-port,id=rp0,chassis=1,slot=1,addr=2");

    /*
     * Disable the first device, because plug() gives the same BAR addresses to
     * the new device.
     */
    qpci_config_writew(v->pci, PCI_COMMAND, 0);
    g_free(v->pci);
    v->pci = NULL;
    return v;
}

/*
 * Plug a device into the slot, in a hive unless @hive is empty, and bring it
 * up. Returns the root port.
 */
static QPCIDevice *plug(QVGPU *v, const char *hive)
{
    QPCIDevice *rp = open_root_port(v->bus);
    uint8_t exp = qpci_find_capability(rp, PCI_CAP_ID_EXP, 0);

    qtest_qmp_device_add(v->qts, "vgpu-kfd", "gpu", "{ 'bus': 'rp0', "
                         "'vram': 67108864, 'hive': %s }", hive);
    qpci_config_writew(rp, exp + PCI_EXP_SLTCTL, PCI_EXP_SLTCTL_PWR_IND_ON);
    v->pci = qpci_device_find(v->bus, BEHIND);
    g_assert_nonnull(v->pci);
    qvgpu_map_bars(v);
    v->vram_next = v->bar[VGPU_BAR_VRAM];
    qvgpu_bring_up(v);
    return rp;
}

/* Eject the device as a guest does: switch off the power of the slot. */
static void eject(QVGPU *v, QPCIDevice *rp)
{
    uint8_t exp = qpci_find_capability(rp, PCI_CAP_ID_EXP, 0);

    qpci_config_writew(rp, exp + PCI_EXP_SLTCTL, PCI_EXP_SLTCTL_PCC |
                       PCI_EXP_SLTCTL_PWR_IND_OFF);
    qtest_qmp_eventwait(v->qts, "DEVICE_DELETED");
    g_free(v->pci);
    v->pci = NULL;
    g_free(rp);
}

/*
 * Catches: the teardown of a device does not wait for the device's engines, or
 * never ends.
 */
static void test_unplug_busy(void)
{
    QVGPU *v = start_slot();
    unsigned i, round;

    for (round = 0; round < 2; round++) {
        QPCIDevice *rp = plug(v, "");
        uint64_t a, b;
        QVGPUSdma q;

        a = qvgpu_alloc(v, QVGPU_VRAM, BYTES, QVGPU_PAGE);
        b = qvgpu_alloc(v, QVGPU_RAM, BYTES, QVGPU_PAGE);
        qvgpu_sdma_init_ring(&q, v, 0, 0, NULL, QVGPU_RAM, 64 * KiB);
        qvgpu_sdma_load(&q);
        for (i = 0; i < COPIES; i++) {
            qvgpu_pkt_copy(&q, qvgpu_mc(v, a), qvgpu_mc(v, b), BYTES);
        }
        /*
         * Let the engine poll a page for the value 1. The test never writes
         * this value, so the engine stays busy until the device is removed.
         */
        wait_for(&q, qvgpu_ram_page(v));
        qvgpu_sdma_kick(&q);
        qvgpu_wait_until(qvgpu_sdma_rptr(&q) > 0);
        g_assert_false(qvgpu_sdma_idle(&q));
        eject(v, rp);
        g_assert_cmphex(qvgpu_rd(v, VGPU_MAGIC), !=, VGPU_MAGIC_VALUE);
    }
    qvgpu_stop(v);
}

/*
 * Catches: the hive is freed while engines of the hive's last device still read
 * the hive; an unplugged device keeps its node, so that the hive cannot be
 * deleted.
 */
static void test_unplug_last(void)
{
    QVGPU *v = start_slot();
    unsigned i, n, round;

    for (round = 0; round < HIVE_ROUNDS; round++) {
        QPCIDevice *rp = plug(v, "h0");
        QVGPUSdma q[SDMA_NUM_ENGINES];

        qvgpu_mm_wr(v, MC_VM_FB_LOCATION_TOP,
                    qvgpu_mm_rd(v, MC_VM_FB_LOCATION_BASE) +
                    2 * (VRAM >> 24) - 1);
        for (n = 0; n < SDMA_NUM_ENGINES; n++) {
            qvgpu_sdma_init_ring(&q[n], v, n, 0, NULL, QVGPU_RAM, 16 * KiB);
            qvgpu_sdma_load(&q[n]);
            /* Each access looks up node 1, which the hive does not have. */
            for (i = 0; i < COPIES / 3; i++) {
                qvgpu_pkt_copy(&q[n], hive_mc(v, VRAM),
                               hive_mc(v, VRAM + BYTES), BYTES);
            }
        }
        for (n = 0; n < SDMA_NUM_ENGINES; n++) {
            qvgpu_sdma_kick(&q[n]);
        }
        eject(v, rp);
        qtest_qmp_assert_success(v->qts, "{ 'execute': 'object-del',"
                                 "  'arguments': { 'id': 'h0' } }");
        qtest_qmp_assert_success(v->qts, "{ 'execute': 'object-add',"
                                 "  'arguments': { 'qom-type': 'vgpu-hive',"
                                 "                 'id': 'h0' } }");
    }
    qvgpu_stop(v);
}

/* Fill the ring with packets that read an invalidation acknowledge register. */
static void read_ack(QVGPUSdma *q)
{
    const uint64_t to = qvgpu_mc(q->v, qvgpu_ram_page(q->v));
    const uint32_t packet[SDMA_POLL_REG_WRITE_DWORDS] = {
        SDMA_PKT(SDMA_OP_POLL_REGMEM, SDMA_SUBOP_POLL_REG_WRITE_MEM),
        4 * (HUB(VGPU_HUB_MM) + VM_INVALIDATE_ENG_ACK(3)),
        QVGPU_LO(to), QVGPU_HI(to),
    };
    unsigned i, n = q->bytes / sizeof(packet) - 1;
    g_autofree uint32_t *dw = g_malloc(n * sizeof(packet));

    for (i = 0; i < n; i++) {
        memcpy(dw + i * ARRAY_SIZE(packet), packet, sizeof(packet));
    }
    qvgpu_sdma_emit(q, dw, n * ARRAY_SIZE(packet));
}

/*
 * Catches: an unplug frees the translation client of one engine while another
 * engine reads an acknowledge register. (The read uses the clients of the other
 * engines, to check whether their accesses have ended.)
 */
static void test_unplug_settling(void)
{
    const unsigned last = SDMA_NUM_ENGINES - 1;
    QVGPU *v = start_slot();
    unsigned i, n, round;

    for (round = 0; round < SETTLE_ROUNDS; round++) {
        QPCIDevice *rp = plug(v, "");
        QVGPUSdma q[SDMA_NUM_ENGINES];

        for (n = 0; n < SDMA_NUM_ENGINES; n++) {
            uint64_t a = qvgpu_alloc(v, QVGPU_VRAM, BYTES, QVGPU_PAGE);
            uint64_t b = qvgpu_alloc(v, QVGPU_VRAM, BYTES, QVGPU_PAGE);

            qvgpu_sdma_init_ring(&q[n], v, n, 0, NULL, QVGPU_RAM,
                                 n == last ? 256 * KiB : 16 * KiB);
            qvgpu_sdma_load(&q[n]);
            for (i = 0; n < last && i < COPIES; i++) {
                qvgpu_pkt_copy(&q[n], qvgpu_mc(v, a), qvgpu_mc(v, b), BYTES);
            }
        }
        /*
         * The last engine reads the register that acknowledges the invalidation
         * below. Each read looks at the translation clients of the other
         * engines. Catches: the unplug frees these clients during a read.
         */
        read_ack(&q[last]);
        for (n = 0; n < last; n++) {
            qvgpu_sdma_kick(&q[n]);
        }
        for (n = 0; n < last; n++) {
            qvgpu_wait_until(qvgpu_sdma_rptr(&q[n]) > 0);
        }
        qvgpu_sdma_kick(&q[last]);
        qvgpu_mm_wr(v, VM_INVALIDATE_ENG_REQ(3),
                    0xffff | VM_INVALIDATE_ENG_REQ__L2_PTES);
        eject(v, rp);
    }
    qvgpu_stop(v);
}

void qvgpu_add_xgmi_tests(void)
{
    qtest_add_func("/vgpu-kfd/hive/unplug-busy", test_unplug_busy);
    qtest_add_func("/vgpu-kfd/hive/unplug-last", test_unplug_last);
    qtest_add_func("/vgpu-kfd/hive/unplug-settling", test_unplug_settling);
    qtest_add_func("/vgpu-kfd/hive/registers", test_registers);
    qtest_add_func("/vgpu-kfd/hive/memory", test_memory);
    qtest_add_func("/vgpu-kfd/hive/scattered-to-peer", test_scattered_to_peer);
    qtest_add_func("/vgpu-kfd/hive/pcie-peer", test_pcie_peer);
    qtest_add_func("/vgpu-kfd/hive/link-down", test_link_down);
    qtest_add_data_func("/vgpu-kfd/hive/peer-removed", "", test_peer_gone);
    qtest_add_data_func("/vgpu-kfd/hive/peer-link-down", NULL, test_peer_gone);
    qtest_add_func("/vgpu-kfd/hive/unplug-peer", test_unplug_peer);
}
