/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: tests each kind of reset, once for each state of an SDMA queue. */
#include "qemu/osdep.h"
#include "hw/pci/pci_regs.h"
#include "vgpu/psp.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/ih.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"
#include "tests/qtest/vgpu-kfd/lib/sdma-queue.h"
#include "tests/qtest/vgpu-kfd/pci/suite.h"

#define VMID        3
#define VA          0x111100000000ull
#define BYTES       (8 * MiB)
/* Number of copies, which together take longer than a reset. */
#define COPIES      400

typedef enum State { IDLE, COPYING, STALLED, POLLING, BAD, STATES } State;

/*
 * Bring queue @index of engine @engine into a state that lasts until the reset.
 */
static void enter(QVGPU *v, State state, unsigned engine, unsigned index,
                  QVGPUSdma *q)
{
    QVGPUSpace space;
    uint64_t a, b;
    unsigned i;

    switch (state) {
    case IDLE:
        qvgpu_sdma_open(q, v, engine, index, NULL);
        break;
    case COPYING:
        qvgpu_sdma_init_ring(q, v, engine, index, NULL, QVGPU_RAM, 64 * KiB);
        qvgpu_sdma_load(q);
        a = qvgpu_alloc(v, QVGPU_VRAM, BYTES, QVGPU_PAGE);
        b = qvgpu_alloc(v, QVGPU_RAM, BYTES, QVGPU_PAGE);
        for (i = 0; i < COPIES; i++) {
            qvgpu_pkt_copy(q, qvgpu_mc(v, a), qvgpu_mc(v, b), BYTES);
        }
        qvgpu_sdma_kick(q);
        break;
    case STALLED:
        qvgpu_space_init(&space, v, VMID, QVGPU_RAM);
        qvgpu_sdma_open(q, v, engine, index, &space);
        qvgpu_pkt_fence(q, VA, 1);
        qvgpu_sdma_kick(q);
        qvgpu_ih_next_fault(v, VMID, VA, true, true);
        break;
    case POLLING:
        qvgpu_sdma_open(q, v, engine, index, NULL);
        qvgpu_pkt_poll_mem(q, QVGPU_POLL_EQ, qvgpu_mc(v, qvgpu_ram_page(v)),
                           1, UINT32_MAX, QVGPU_POLL_FOREVER);
        qvgpu_sdma_kick(q);
        break;
    default:
        qvgpu_sdma_open(q, v, engine, index, NULL);
        QVGPU_EMIT(q, 0xff);
        qvgpu_sdma_kick(q);
        qvgpu_wait_until(qvgpu_sdma_exception(q) == VGPU_SDMA_EXC_PACKET);
    }
}

/* Fail the test unless a new queue @index of engine @engine copies. */
static void check_works(QVGPU *v, unsigned engine, unsigned index)
{
    uint64_t src = qvgpu_ram_page(v), dst = qvgpu_ram_page(v);
    QVGPUSdma q;

    qvgpu_fill(v, src, 5, 0, QVGPU_PAGE);
    qvgpu_sdma_open(&q, v, engine, index, NULL);
    qvgpu_pkt_copy(&q, qvgpu_mc(v, src), qvgpu_mc(v, dst), QVGPU_PAGE);
    qvgpu_sdma_finish(&q);
    qvgpu_expect(v, dst, 5, 0, QVGPU_PAGE);
}

static void flr(QVGPU *v)
{
    uint8_t exp = qpci_find_capability(v->pci, PCI_CAP_ID_EXP, 0);

    g_assert_cmphex(qpci_config_readl(v->pci, exp + PCI_EXP_DEVCAP) &
                    PCI_EXP_DEVCAP_FLR, !=, 0);
    qpci_config_writew(v->pci, exp + PCI_EXP_DEVCTL, PCI_EXP_DEVCTL_BCR_FLR);
    g_assert_cmphex(qpci_config_readw(v->pci, exp + PCI_EXP_DEVCTL) &
                    PCI_EXP_DEVCTL_BCR_FLR, ==, 0);
    g_assert_cmphex(qpci_config_readw(v->pci, PCI_COMMAND), ==, 0);
    qvgpu_map_bars(v);
}

static void mode1(QVGPU *v)
{
    g_assert_cmphex(qvgpu_rd(v, MP0_SMN_C2PMSG_64), ==,
                    MP0_SMN_C2PMSG__READY);
    qvgpu_wr(v, MP0_SMN_C2PMSG_64, PSP_CMD_MODE1_RESET);
    g_assert_cmphex(qvgpu_rd(v, MP0_SMN_C2PMSG_33), ==,
                    MP0_SMN_C2PMSG__READY);
}

static void system_reset(QVGPU *v)
{
    qtest_qmp_assert_success(v->qts, "{ 'execute': 'system_reset' }");
    qtest_qmp_eventwait(v->qts, "RESET");
    qvgpu_map_bars(v);
}

static void check_reset(QVGPU *v, unsigned engine, unsigned index)
{
    QVGPUSdma q = { .v = v, .engine = engine, .index = index };

    g_assert_cmphex(qvgpu_sdma_rd(&q, SDMA_RB_CNTL), ==, 0);
    g_assert_cmphex(qvgpu_sdma_rptr(&q), ==, 0);
    g_assert_cmphex(qvgpu_sdma_rd(&q, SDMA_RB_WPTR), ==, 0);
    g_assert_true(qvgpu_sdma_idle(&q));
    g_assert_cmpuint(qvgpu_sdma_exception(&q), ==, VGPU_SDMA_EXC_NONE);
}

/*
 * Catches: a reset hangs, or leaves work, stalled queues or interrupts; an
 * engine does not run afterwards. @lost: whether the reset must clear VRAM.
 */
static void check_chip(void (*reset)(QVGPU *), const char *args, bool lost)
{
    QVGPU *v = qvgpu_start_args(args);
    State state;

    for (state = 0; state < STATES; state++) {
        uint64_t keep = qvgpu_alloc(v, QVGPU_VRAM, QVGPU_PAGE, QVGPU_PAGE);
        QVGPUSdma q;

        qvgpu_fill(v, keep, 1, 0, QVGPU_PAGE);
        enter(v, state, 1, SDMA_QUEUE_RLC(3), &q);
        reset(v);
        check_reset(v, 1, SDMA_QUEUE_RLC(3));
        g_assert_cmphex(qvgpu_mm_rd(v, VM_CONTEXT_CNTL(VMID)) &
                        VM_CONTEXT_CNTL__ENABLE_CONTEXT, ==, 0);
        g_assert_cmphex(qvgpu_rd(v, IH_RB_WPTR), ==, 0);
        g_assert_cmpuint(qvgpu_counter(v, VGPU_CNT_PACKETS), ==, 0);
        g_assert_cmpuint(qvgpu_rd(v, VGPU_FAULT_SERIAL), ==, 0);
        if (lost) {
            qvgpu_expect_byte(v, keep, 0, QVGPU_PAGE);
        } else {
            qvgpu_expect(v, keep, 1, 0, QVGPU_PAGE);
        }
        qvgpu_bring_up(v);
        check_works(v, 1, SDMA_QUEUE_RLC(3));
        /* Let the next round reuse the memory of this round. */
        v->ram_next = 32 * MiB;
        v->vram_next = v->bar[VGPU_BAR_VRAM];
        qtest_memset(v->qts, v->ram_next, 0, 32 * MiB);
    }
    qvgpu_stop(v);
}

static void test_flr(void)
{
    check_chip(flr, "", false);
}

static void test_mode1(void)
{
    check_chip(mode1, "", false);
}

static void test_system(void)
{
    check_chip(system_reset, "", false);
}

/* Catches: with vram-lost-on-reset, a reset does not clear VRAM. */
static void test_vram_lost(void)
{
    const char *args = "-global vgpu-kfd.vram-lost-on-reset=on";

    check_chip(flr, args, true);
    check_chip(mode1, args, true);
}

/*
 * Catches: the device resets itself although the command in the mailbox is not
 * the mode-1 reset, or is in the wrong register.
 */
static void test_other_command(void)
{
    QVGPU *v = qvgpu_start();

    qvgpu_wr(v, MP0_SMN_C2PMSG_64, 0);
    qvgpu_wr(v, MP0_SMN_C2PMSG_64, 0x00060000);
    qvgpu_wr(v, MP0_SMN_C2PMSG_33, PSP_CMD_MODE1_RESET);
    g_assert_cmphex(qvgpu_rd(v, RCC_DOORBELL_APER_EN), !=, 0);
    check_works(v, 0, 0);
    qvgpu_stop(v);
}

/*
 * Catches: the reset of one engine affects a queue of another engine; after the
 * reset, a queue of the engine that was reset still waits or has an error.
 */
static void test_engine(void)
{
    QVGPU *v = qvgpu_start();
    uint32_t f32 = SDMA_ENGINE(2) + SDMA_F32_CNTL;
    State state;

    for (state = 0; state < STATES; state++) {
        uint64_t flag = qvgpu_ram_page(v);
        QVGPUSdma q, other;

        qvgpu_sdma_open(&other, v, 3, SDMA_QUEUE_RLC(1), NULL);
        qvgpu_pkt_poll_mem(&other, QVGPU_POLL_EQ, qvgpu_mc(v, flag), 1,
                           UINT32_MAX, QVGPU_POLL_FOREVER);
        qvgpu_sdma_kick(&other);
        enter(v, state, 2, SDMA_QUEUE_RLC(6), &q);

        qvgpu_wr(v, f32, SDMA_F32_CNTL__RESET);
        g_assert_cmphex(qvgpu_rd(v, f32), ==, SDMA_F32_CNTL__RESET);
        check_reset(v, 2, SDMA_QUEUE_RLC(6));
        qvgpu_wr(v, f32, 0);
        check_works(v, 2, SDMA_QUEUE_RLC(6));

        g_assert_false(qvgpu_sdma_idle(&other));
        qtest_writel(v->qts, flag, 1);
        qvgpu_time_passes(v);
        qvgpu_sdma_finish(&other);
        qvgpu_time_passes(NULL);
        v->ram_next = 32 * MiB;
        v->vram_next = v->bar[VGPU_BAR_VRAM];
        qtest_memset(v->qts, v->ram_next, 0, 32 * MiB);
    }
    qvgpu_stop(v);
}

void qvgpu_add_reset_tests(void)
{
    qtest_add_func("/vgpu-kfd/reset/function", test_flr);
    qtest_add_func("/vgpu-kfd/reset/mode1", test_mode1);
    qtest_add_func("/vgpu-kfd/reset/system", test_system);
    qtest_add_func("/vgpu-kfd/reset/vram-lost", test_vram_lost);
    qtest_add_func("/vgpu-kfd/reset/other-command", test_other_command);
    qtest_add_func("/vgpu-kfd/reset/engine", test_engine);
}
