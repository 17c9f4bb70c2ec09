/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: tests that engines follow changes of the bus's memory map. */
#include "qemu/osdep.h"
#include "standard-headers/linux/pci_regs.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/hold.h"
#include "tests/qtest/vgpu-kfd/lib/ih.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"
#include "tests/qtest/vgpu-kfd/lib/sdma-queue.h"
#include "tests/qtest/vgpu-kfd/memory/suite.h"

#define VMID    7

/*
 * Catches: an engine still uses a bus address after the memory has moved away.
 */
static void test_moving_ram(void)
{
    const uint64_t va = 0x50000000, away = 80 * GiB;
    QVGPU *v = qvgpu_start();
    uint64_t src = qvgpu_ram_page(v), bar = v->bar[VGPU_BAR_VRAM], src_va;
    uint64_t at = qvgpu_alloc(v, QVGPU_VRAM, 2 * QVGPU_PAGE, QVGPU_PAGE) - bar;
    QVGPUSpace space;
    QVGPUSdma q;
    unsigned i;

    qvgpu_space_init(&space, v, VMID, QVGPU_RAM);
    qvgpu_space_set_retry(&space, false);
    qvgpu_sdma_open(&q, v, 0, SDMA_QUEUE_RLC(0), &space);
    src_va = qvgpu_space_place(&space, src, QVGPU_PAGE);
    qvgpu_space_set(&space, va, VGPU_LEVEL_PTB,
                    QVGPU_PTE_RW | VGPU_PTE_SYSTEM | (bar + at));
    qvgpu_space_set(&space, va + QVGPU_PAGE, VGPU_LEVEL_PTB,
                    QVGPU_PTE_RW | VGPU_PTE_SYSTEM | (away + at + QVGPU_PAGE));
    /*
     * Move BAR 0 between two addresses. The copy to BAR 0 must reach VRAM; the
     * copy to the other address must fault.
     */
    for (i = 0; i < 6; i++) {
        bool here = !(i & 1);

        v->bar[VGPU_BAR_VRAM] = here ? bar : away;
        qvgpu_map_bars(v);
        qvgpu_fill(v, src, i, 0, QVGPU_PAGE);
        qtest_memset(v->qts, v->bar[VGPU_BAR_VRAM] + at, 0xee, 2 * QVGPU_PAGE);
        qvgpu_pkt_copy(&q, src_va, va, QVGPU_PAGE);
        qvgpu_pkt_copy(&q, src_va, va + QVGPU_PAGE, QVGPU_PAGE);
        qvgpu_sdma_finish(&q);
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
 * Catches: after bus mastering is disabled, the device still writes to guest
 * memory through a mapping that the device made earlier.
 */
static void test_bus_master(void)
{
    QVGPU *v = qvgpu_start();
    uint64_t dst = qvgpu_ram_page(v), mc = qvgpu_mc(v, dst);
    uint64_t src = qvgpu_alloc(v, QVGPU_VRAM, QVGPU_PAGE, QVGPU_PAGE);
    uint16_t cmd = qpci_config_readw(v->pci, PCI_COMMAND);
    QVGPUSdma q;
    unsigned i;

    qvgpu_sdma_open_vram(&q, v, 0, SDMA_QUEUE_GFX, NULL, 4 * KiB);
    for (i = 1; i <= 6; i++) {
        bool master = i & 1;
        uint64_t faults = qvgpu_counter(v, VGPU_CNT_FAULTS_NORETRY);

        qpci_config_writew(v->pci, PCI_COMMAND, master ? cmd
                           : cmd & ~PCI_COMMAND_MASTER);
        qvgpu_fill(v, src, i, 0, QVGPU_PAGE);
        qvgpu_pkt_copy(&q, qvgpu_mc(v, src), mc, QVGPU_PAGE);
        qvgpu_sdma_finish(&q);
        /* Without bus mastering, the data of the previous round stays. */
        qvgpu_expect(v, dst, master ? i : i - 1, 0, QVGPU_PAGE);
        g_assert_cmpuint(qvgpu_counter(v, VGPU_CNT_FAULTS_NORETRY), ==,
                         faults + !master);
    }
    qvgpu_stop(v);
}

/*
 * Catches: a write that disables bus mastering completes while an engine is
 * within an access. The engine could then write to memory that the guest has
 * reused.
 */
static void test_bus_master_access(void)
{
    const uint64_t va = 0x50000000;
    QVGPUSpace space;
    uint64_t src;
    QVGPUSdma q;
    QVGPUHold h;
    uint16_t cmd;
    QVGPU *v;

    qvgpu_hold_init(&h);
    v = qvgpu_start_sized(QVGPU_HOLD_VRAM, h.args);
    cmd = qpci_config_readw(v->pci, PCI_COMMAND);
    g_assert_cmphex(cmd & PCI_COMMAND_MASTER, !=, 0);
    qvgpu_space_init(&space, v, VMID, QVGPU_VRAM);
    qvgpu_sdma_open_vram(&q, v, 0, SDMA_QUEUE_RLC(0), &space, 4 * KiB);
    src = qvgpu_alloc(v, QVGPU_VRAM, QVGPU_PAGE, QVGPU_PAGE);
    src = qvgpu_space_place(&space, src, QVGPU_PAGE);
    qvgpu_pkt_copy(&q, src, va, QVGPU_PAGE);

    /* Hold the engine within an access. The PCI write must wait for the end. */
    qvgpu_hold_access(&h, &q);
    qvgpu_hold_release_later(&h, v);
    qpci_config_writew(v->pci, PCI_COMMAND, cmd & ~PCI_COMMAND_MASTER);
    qvgpu_hold_access_end(&h, v);
    qvgpu_stop(v);
    qvgpu_hold_destroy(&h);
}

#define PEER_AT     (192 * GiB)
#define RP          QPCI_DEVFN(2, 0)
/* device below RP: bus 1, slot 0 (slot 32 of bus 0 overflows to bus 1) */
#define BEHIND      QPCI_DEVFN(32, 0)

/*
 * Catches: a write to a peer's PCI_COMMAND takes the peer's VRAM off the bus
 * while an engine is within an access to this VRAM.
 */
static void test_peer_access(void)
{
    const uint64_t va = 0x50000000;
    g_autofree char *args = NULL;
    QPCIDevice *peer;
    QVGPUSpace space;
    uint64_t dst;
    QVGPUSdma q;
    QVGPUHold h;
    QVGPU *v;

    qvgpu_hold_init(&h);
    args = g_strdup_printf("%s -device vgpu-kfd,vram=64M", h.args);
    v = qvgpu_start_sized(QVGPU_HOLD_VRAM, args);
    peer = qpci_device_find(v->bus, QPCI_DEVFN(2, 0));
    g_assert_nonnull(peer);
    qpci_config_writel(peer, PCI_BASE_ADDRESS_0, (uint32_t)PEER_AT);
    qpci_config_writel(peer, PCI_BASE_ADDRESS_1, PEER_AT >> 32);
    qpci_device_enable(peer);
    qtest_memset(v->qts, PEER_AT, 0x33, QVGPU_PAGE);
    dst = qvgpu_alloc(v, QVGPU_VRAM, QVGPU_PAGE, QVGPU_PAGE);
    qtest_memset(v->qts, dst, 0x44, QVGPU_PAGE);
    qvgpu_space_init(&space, v, VMID, QVGPU_VRAM);
    qvgpu_space_set(&space, va, VGPU_LEVEL_PTB,
                    QVGPU_PTE_RW | VGPU_PTE_SYSTEM | PEER_AT);
    qvgpu_sdma_open_vram(&q, v, 0, SDMA_QUEUE_RLC(0), &space, 4 * KiB);
    qvgpu_pkt_copy(&q, va, va + QVGPU_PAGE, QVGPU_PAGE);

    /*
     * Hold the engine within the copy. The engine has mapped the source page on
     * the bus, and faults at the destination, which has no page-table entry.
     */
    qvgpu_hold_access(&h, &q);
    g_assert_false(qvgpu_ih_pending(v));
    qvgpu_hold_release_later(&h, v);
    qpci_config_writew(peer, PCI_COMMAND, 0);
    qvgpu_hold_access_end(&h, v);

    /* The peer has left the bus, so the next access finds no memory. */
    qvgpu_time_passes(v);
    qvgpu_ih_next_fault(v, VMID, va, false, false);
    qvgpu_space_map(&space, va + QVGPU_PAGE, dst, QVGPU_PAGE);
    qvgpu_sdma_finish(&q);
    qvgpu_expect_byte(v, dst, 0, QVGPU_PAGE);
    g_free(peer);
    qvgpu_stop(v);
    qvgpu_hold_destroy(&h);
}

static bool maps_file(QVGPU *v, const char *path)
{
    g_autofree char *name = g_strdup_printf("/proc/%d/maps",
                                            (int)qtest_pid(v->qts));
    g_autofree char *maps = NULL;

    g_assert_true(g_file_get_contents(name, &maps, NULL, NULL));
    return strstr(maps, path);
}

/* Plug a device whose VRAM is mem0, and map its VRAM. Returns the root port. */
static QPCIDevice *plug_peer(QVGPU *v)
{
    QPCIDevice *rp = qpci_device_find(v->bus, RP), *peer;
    uint8_t exp = qpci_find_capability(rp, PCI_CAP_ID_EXP, 0);

    qpci_config_writel(rp, PCI_PRIMARY_BUS, 0x00010100);
    qpci_config_writel(rp, PCI_PREF_MEMORY_BASE, 0xfff10001);
    qpci_config_writel(rp, PCI_PREF_BASE_UPPER32, PEER_AT >> 32);
    qpci_config_writel(rp, PCI_PREF_LIMIT_UPPER32, (PEER_AT >> 32) + 15);
    qpci_device_enable(rp);
    qtest_qmp_device_add(v->qts, "vgpu-kfd", "peer",
                         "{ 'bus': 'rp0', 'memdev': 'mem0' }");
    qpci_config_writew(rp, exp + PCI_EXP_SLTCTL, PCI_EXP_SLTCTL_PWR_IND_ON);
    peer = qpci_device_find(v->bus, BEHIND);
    g_assert_nonnull(peer);
    qpci_config_writel(peer, PCI_BASE_ADDRESS_0, (uint32_t)PEER_AT);
    qpci_config_writel(peer, PCI_BASE_ADDRESS_1, PEER_AT >> 32);
    qpci_device_enable(peer);
    g_free(peer);
    return rp;
}

/*
 * Unplug a peer after an engine has looked up the peer's VRAM, before the
 * engine checks for bus changes. Returns whether the engine faults.
 */
static bool looks_again(void)
{
    const uint64_t va = 0x50000000;
    g_autofree char *path = NULL, *args = NULL;
    QVGPUSpace space;
    QPCIDevice *rp;
    QVGPUSdma q;
    QVGPUHold h;
    uint64_t src;
    uint8_t exp;
    bool again;
    QVGPU *v;
    int fd;

    fd = g_file_open_tmp("vgpu-peer-XXXXXX", &path, NULL);
    g_assert_cmpint(fd, >=, 0);
    close(fd);
    qvgpu_hold_init(&h);
    args = g_strdup_printf("%s -object memory-backend-file,id=mem0,size=64M,"
        "share=on,mem-path=%s "
        "-global ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off "
        "-device pcie-root-port,id=rp0,chassis=1,slot=1,addr=2", h.args, path);
    v = qvgpu_start_sized("64M,x-delay-point=window", args);
    rp = plug_peer(v);
    exp = qpci_find_capability(rp, PCI_CAP_ID_EXP, 0);

    /*
     * Of all memory that the queue accesses, only the peer's page is accessed
     * through the bus. The rest is the device's own VRAM.
     */
    qvgpu_space_init(&space, v, VMID, QVGPU_VRAM);
    qvgpu_space_set_retry(&space, false);
    qvgpu_sdma_open_vram(&q, v, 0, SDMA_QUEUE_RLC(0), &space, 4 * KiB);
    src = qvgpu_alloc(v, QVGPU_VRAM, QVGPU_PAGE, QVGPU_PAGE);
    src = qvgpu_space_place(&space, src, QVGPU_PAGE);
    qvgpu_space_set(&space, va, VGPU_LEVEL_PTB,
                    QVGPU_PTE_RW | VGPU_PTE_SYSTEM | PEER_AT);
    qvgpu_pkt_copy(&q, src, va, QVGPU_PAGE);
    qvgpu_hold_arm(&h, v, "vgpu_delay*", true);
    qvgpu_sdma_kick(&q);
    qvgpu_wait_until(qvgpu_hold_logged(&h));
    /*
     * The engine sleeps for 0.3 s (x-delay-point) after the look-up. Then the
     * engine logs a line, which blocks while the pipe is full.
     */
    qvgpu_hold_release_later(&h, v);
    /* Unplug: QEMU takes the peer off the bus, and waits for the engine. */
    qpci_config_writew(rp, exp + PCI_EXP_SLTCTL, PCI_EXP_SLTCTL_PCC |
                       PCI_EXP_SLTCTL_PWR_IND_OFF);
    g_assert_true(qvgpu_hold_waited(&h));
    g_assert_null(qpci_device_find(v->bus, BEHIND));
    qvgpu_sdma_finish(&q);
    /*
     * The engine faults, unless it checked for bus changes before the peer left
     * the bus. That can happen on a slow host.
     */
    again = qvgpu_ih_pending(v);
    if (again) {
        qvgpu_ih_next_fault(v, VMID, va, true, false);
    }
    qtest_qmp_eventwait(v->qts, "DEVICE_DELETED");
    g_assert_true(maps_file(v, path));
    qtest_qmp_assert_success(v->qts, "{ 'execute': 'object-del', "
                             "'arguments': { 'id': 'mem0' } }");
    qvgpu_wait_until(!maps_file(v, path));
    g_free(rp);
    qvgpu_stop(v);
    qvgpu_hold_destroy(&h);
    unlink(path);
    return again;
}

/*
 * Catches: an engine looks up memory on the bus, and keeps a reference to the
 * memory after the memory has left the bus. The memory is then never freed.
 */
static void test_stale_window(void)
{
    unsigned tries = 3;

    if (!qvgpu_has_delays()) {
        g_test_skip("only in a build with delays (./vgpu qtest delays)");
        return;
    }
    while (!looks_again()) {
        g_assert_cmpuint(--tries, >, 0);
    }
}

void qvgpu_add_bus_remap_tests(void)
{
    qtest_add_func("/vgpu-kfd/bus/moving-ram", test_moving_ram);
    qtest_add_func("/vgpu-kfd/bus/bus-master", test_bus_master);
    qtest_add_func("/vgpu-kfd/bus/bus-master-access", test_bus_master_access);
    qtest_add_func("/vgpu-kfd/bus/peer-access", test_peer_access);
    qtest_add_func("/vgpu-kfd/bus/stale-window", test_stale_window);
}
