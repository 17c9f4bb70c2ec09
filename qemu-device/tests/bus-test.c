/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: memory on the bus that comes and goes. */
#include "qemu/osdep.h"
#include "standard-headers/linux/pci_regs.h"
#include "vgpu-qos.h"

#define VMID    7

/*
 * Catches: an engine that remembers where the bus led. The device's own BAR 0
 * is RAM on the bus; it moves, is switched off, and comes back, while a queue
 * copies to it by bus address.
 */
static void test_moving_ram(void)
{
    const uint64_t va = 0x50000000, away = 80 * GiB;
    QVGPU *v = qvgpu_start();
    uint64_t src = qvgpu_ram_page(v), bar = v->bar[VGPU_BAR_VRAM], src_va;
    uint64_t at = qvgpu_alloc(v, QVGPU_VRAM, 2 * QVGPU_PAGE, QVGPU_PAGE) - bar;
    QVGPUSpace space;
    QVGPUQueue q;
    unsigned i;

    qvgpu_space_init(&space, v, VMID, QVGPU_RAM);
    qvgpu_space_set_retry(&space, false);
    qvgpu_queue_open(&q, v, 0, SDMA_QUEUE_RLC(0), &space);
    src_va = qvgpu_space_place(&space, src, QVGPU_PAGE);
    qvgpu_space_set(&space, va, VGPU_LEVEL_PTB,
                    QVGPU_PTE_RW | VGPU_PTE_SYSTEM | (bar + at));
    qvgpu_space_set(&space, va + QVGPU_PAGE, VGPU_LEVEL_PTB,
                    QVGPU_PTE_RW | VGPU_PTE_SYSTEM | (away + at + QVGPU_PAGE));
    for (i = 0; i < 6; i++) {
        bool here = !(i & 1);

        v->bar[VGPU_BAR_VRAM] = here ? bar : away;
        qvgpu_map_bars(v);
        qvgpu_fill(v, src, i, 0, QVGPU_PAGE);
        qtest_memset(v->qts, v->bar[VGPU_BAR_VRAM] + at, 0xee, 2 * QVGPU_PAGE);
        qvgpu_pkt_copy(&q, src_va, va, QVGPU_PAGE);
        qvgpu_pkt_copy(&q, src_va, va + QVGPU_PAGE, QVGPU_PAGE);
        qvgpu_finish(&q);
        qvgpu_ih_next_fault(v, VMID, here ? va + QVGPU_PAGE : va, true, false);
        g_assert_false(qvgpu_ih_pending(v));
        if (here) {
            qvgpu_expect(v, bar + at, i, 0, QVGPU_PAGE);
            qvgpu_expect_byte(v, bar + at + QVGPU_PAGE, 0xee, QVGPU_PAGE);
        } else {
            qvgpu_expect_byte(v, away + at, 0xee, QVGPU_PAGE);
            qvgpu_expect(v, away + at + QVGPU_PAGE, i, 0, QVGPU_PAGE);
        }
    }
    qvgpu_stop(v);
}

/*
 * Catches: a device that goes on writing to memory after it was forbidden to
 * (bus mastering off), because it found it before.
 */
static void test_bus_master(void)
{
    QVGPU *v = qvgpu_start();
    uint64_t dst = qvgpu_ram_page(v), mc = qvgpu_mc(v, dst);
    uint64_t src = qvgpu_alloc(v, QVGPU_VRAM, QVGPU_PAGE, QVGPU_PAGE);
    uint16_t cmd = qpci_config_readw(v->pci, PCI_COMMAND);
    QVGPUQueue q;
    unsigned i;

    qvgpu_queue_init_ring(&q, v, 0, SDMA_QUEUE_GFX, NULL, QVGPU_VRAM, 4 * KiB);
    q.cntl &= ~SDMA_RB_CNTL__RPTR_WRITEBACK_ENABLE;
    qvgpu_queue_load(&q);
    for (i = 1; i <= 6; i++) {
        bool master = i & 1;
        uint64_t faults = qvgpu_counter(v, VGPU_CNT_FAULTS_NORETRY);

        qpci_config_writew(v->pci, PCI_COMMAND, master ? cmd
                           : cmd & ~PCI_COMMAND_MASTER);
        qvgpu_fill(v, src, i, 0, QVGPU_PAGE);
        qvgpu_pkt_copy(&q, qvgpu_mc(v, src), mc, QVGPU_PAGE);
        qvgpu_finish(&q);
        /* What was written last time stays. */
        qvgpu_expect(v, dst, master ? i : i - 1, 0, QVGPU_PAGE);
        g_assert_cmpuint(qvgpu_counter(v, VGPU_CNT_FAULTS_NORETRY), ==,
                         faults + !master);
    }
    qvgpu_stop(v);
}

void qvgpu_add_bus_tests(void)
{
    qtest_add_func("/vgpu-kfd/bus/moving-ram", test_moving_ram);
    qtest_add_func("/vgpu-kfd/bus/bus-master", test_bus_master);
}
