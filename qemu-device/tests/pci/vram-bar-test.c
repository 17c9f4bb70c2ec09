/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: tests VRAM from a backend, a BAR 0 smaller than VRAM, and a
 * resizable BAR.
 */
#include "qemu/osdep.h"
#include "qemu/host-utils.h"
#include "hw/pci/pci_regs.h"
#include "qobject/qdict.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/migration.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"
#include "tests/qtest/vgpu-kfd/lib/sdma-queue.h"
#include "tests/qtest/vgpu-kfd/pci/suite.h"

#define ECAM_AT     0xb0000000u         /* ecam() maps the window here */
#define PCIEXBAR    0x60
#define REBAR_AT    0x100
#define CODE(size)  (ctz64(size) - 20)

/* @offset is in VRAM, and may be beyond BAR 0. */
static uint32_t mm_rd(QVGPU *v, uint64_t offset)
{
    qvgpu_wr(v, MM_INDEX, MM_INDEX__APERTURE | offset);
    qvgpu_wr(v, MM_INDEX_HI, offset >> 31);
    return qvgpu_rd(v, MM_DATA);
}

static void mm_wr(QVGPU *v, uint64_t offset, uint32_t val)
{
    qvgpu_wr(v, MM_INDEX, MM_INDEX__APERTURE | offset);
    qvgpu_wr(v, MM_INDEX_HI, offset >> 31);
    qvgpu_wr(v, MM_DATA, val);
}

/* Return the GPU address, in VMID 0, of VRAM at @offset. */
static uint64_t mc(QVGPU *v, uint64_t offset)
{
    return qvgpu_mc(v, v->bar[VGPU_BAR_VRAM]) + offset;
}

static void copy(QVGPU *v, uint64_t src, uint64_t dst, uint64_t len)
{
    QVGPUSdma q;

    qvgpu_sdma_open(&q, v, 0, 0, NULL);
    qvgpu_pkt_copy(&q, src, dst, len);
    qvgpu_sdma_finish(&q);
}

/* Catches: VRAM is not the backend's memory, or has another size. */
static void test_memdev(void)
{
    QVGPU *v = qvgpu_start_sized("1G,memdev=m",
                                 "-object memory-backend-ram,id=m,size=128M");
    uint64_t vram = v->bar[VGPU_BAR_VRAM];
    uint64_t page = qvgpu_ram_page(v);

    g_assert_cmphex(v->vram_size, ==, 128 * MiB);
    g_assert_cmpuint(qvgpu_rd(v, RCC_CONFIG_MEMSIZE), ==, 128);
    qvgpu_fill(v, page, 1, 0, QVGPU_PAGE);
    copy(v, qvgpu_mc(v, page), mc(v, 128 * MiB - QVGPU_PAGE), QVGPU_PAGE);
    qvgpu_expect(v, vram + 128 * MiB - QVGPU_PAGE, 1, 0, QVGPU_PAGE);
    qvgpu_save_restore(v, false);
    qvgpu_expect(v, vram + 128 * MiB - QVGPU_PAGE, 1, 0, QVGPU_PAGE);
    qvgpu_stop(v);
}

static bool refused(QTestState *qts, const char *memdev, uint64_t visible)
{
    QDict *reply = qtest_qmp(qts, "{ 'execute': 'device_add', 'arguments': { "
                             "'driver': 'vgpu-kfd', 'bus': 'rp0', 'id': 'gpu', "
                             "'memdev': %s, 'visible-vram': %" PRIu64 " } }",
                             memdev, visible);
    bool error = qdict_haskey(reply, "error");

    qobject_unref(reply);
    return error;
}

/*
 * Catches: a backend is accepted although it has an invalid size or is used by
 * another device; a backend stays in use after a failed realize or an unplug.
 */
static void test_bad_memory(void)
{
    QTestState *qts = qtest_init(
        "-machine q35 -nodefaults -m 128M "
        "-global ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off "
        "-object memory-backend-ram,id=odd,size=96M "
        "-object memory-backend-ram,id=tiny,size=32M "
        "-object memory-backend-ram,id=good,size=64M "
        "-object memory-backend-ram,id=used,size=64M "
        "-device vgpu-kfd,memdev=used "
        "-device pcie-root-port,id=rp0,chassis=1,slot=1");
    unsigned i;

    g_assert_true(refused(qts, "odd", 0));
    g_assert_true(refused(qts, "tiny", 0));
    g_assert_true(refused(qts, "used", 0));
    g_assert_true(refused(qts, "good", 128 * MiB));
    g_assert_true(refused(qts, "good", 1000000));
    g_assert_true(refused(qts, "good", 512 * KiB));
    for (i = 0; i < 3; i++) {
        g_assert_false(refused(qts, "good", 0));
        qtest_qmp_device_del(qts, "gpu");
    }
    qtest_quit(qts);
}

/*
 * Catches: BAR 0 maps more VRAM than visible-vram, or other memory; engines or
 * MM_DATA do not reach the right VRAM beyond BAR 0.
 */
static void test_visible(void)
{
    QVGPU *v = qvgpu_start_sized("4G,visible-vram=16M", "");
    uint64_t far = 4 * GiB - QVGPU_PAGE;
    uint64_t src = qvgpu_ram_page(v), back = qvgpu_ram_page(v);
    unsigned i;

    g_assert_cmphex(v->vram_size, ==, 16 * MiB);        /* size of BAR 0 */
    g_assert_cmpuint(qvgpu_rd(v, RCC_CONFIG_MEMSIZE), ==, 4 * KiB);
    qvgpu_fill(v, src, 2, 0, QVGPU_PAGE);
    copy(v, qvgpu_mc(v, src), mc(v, far), QVGPU_PAGE);
    for (i = 0; i < QVGPU_PAGE; i += 4) {
        g_assert_cmphex(mm_rd(v, far + i), ==, qtest_readl(v->qts, src + i));
    }
    mm_wr(v, far + 8, 0x12345678);
    copy(v, mc(v, far), qvgpu_mc(v, back), QVGPU_PAGE);
    g_assert_cmphex(qtest_readl(v->qts, back + 8), ==, 0x12345678);
    qvgpu_expect(v, back + 12, 2, 12, QVGPU_PAGE - 12);

    mm_wr(v, 16, 0xcafe0001);
    g_assert_cmphex(qtest_readl(v->qts, v->bar[VGPU_BAR_VRAM] + 16), ==,
                    0xcafe0001);
    /*
     * An access has no effect at the first offset after VRAM, or at an offset
     * that would wrap.
     */
    mm_wr(v, 4 * GiB, 1);
    g_assert_cmphex(mm_rd(v, 4 * GiB), ==, 0);
    qvgpu_wr(v, MM_INDEX_HI, UINT32_MAX);
    qvgpu_wr(v, MM_DATA, 1);
    g_assert_cmphex(qvgpu_rd(v, MM_DATA), ==, 0);
    qvgpu_stop(v);
}

/*
 * Map the PCI Express configuration window (ECAM). Returns the address of
 * the device's configuration space in this window.
 */
static uint64_t ecam(QVGPU *v)
{
    QPCIDevice *mch = qpci_device_find(v->bus, QPCI_DEVFN(0, 0));

    qpci_config_writel(mch, PCIEXBAR + 4, 0);
    qpci_config_writel(mch, PCIEXBAR, ECAM_AT | 1);
    g_free(mch);
    return ECAM_AT + ((uint64_t)v->pci->devfn << 12);
}

static uint64_t bar0_size(QVGPU *v)
{
    uint32_t flags;

    return qvgpu_bar_size(v->pci, VGPU_BAR_VRAM, &flags);
}

/* Request a size of BAR 0. Returns the size that the register then holds. */
static uint64_t resize(QVGPU *v, uint64_t size)
{
    uint64_t ctrl = ecam(v) + REBAR_AT + PCI_REBAR_CTRL;
    uint32_t val = qtest_readl(v->qts, ctrl);

    qtest_writel(v->qts, ctrl, VGPU_SET(val, PCI_REBAR_CTRL_BAR_SIZE,
                                        (uint32_t)CODE(size)));
    return 1ull << (20 + VGPU_GET(qtest_readl(v->qts, ctrl),
                                  PCI_REBAR_CTRL_BAR_SIZE));
}

/*
 * Catches: the capability and the BAR have different sizes; the BAR is resized
 * while it is mapped; migration loses the size; a system reset keeps the size.
 */
static void test_resize(void)
{
    QVGPU *v = qvgpu_start_sized("256M,visible-vram=64M", "");
    uint64_t cfg = ecam(v), vram = v->bar[VGPU_BAR_VRAM];
    uint16_t cmd = qpci_config_readw(v->pci, PCI_COMMAND);
    const uint32_t wide = PCI_BASE_ADDRESS_MEM_TYPE_64 |
                          PCI_BASE_ADDRESS_MEM_PREFETCH;
    uint32_t flags;

    g_assert_cmphex(qtest_readw(v->qts, cfg + REBAR_AT), ==,
                    PCI_EXT_CAP_ID_REBAR);
    g_assert_cmphex(qtest_readl(v->qts, cfg + REBAR_AT + PCI_REBAR_CAP), ==,
                    0x1ff0);            /* sizes 1 MiB to 256 MiB */
    g_assert_cmphex(qtest_readl(v->qts, cfg + REBAR_AT + PCI_REBAR_CTRL), ==,
                    CODE(64 * MiB) << 8 | 1 << 5);
    qtest_writel(v->qts, vram + 4, 0x77);

    /*
     * The BAR is not resized while it is mapped, nor to a size that the
     * capability does not offer.
     */
    g_assert_cmphex(resize(v, 256 * MiB), ==, 64 * MiB);
    qpci_config_writew(v->pci, PCI_COMMAND, cmd & ~PCI_COMMAND_MEMORY);
    g_assert_cmphex(resize(v, 512 * MiB), ==, 64 * MiB);
    g_assert_cmphex(bar0_size(v), ==, 64 * MiB);

    g_assert_cmphex(resize(v, 256 * MiB), ==, 256 * MiB);
    g_assert_cmphex(qvgpu_bar_size(v->pci, VGPU_BAR_VRAM, &flags), ==,
                    256 * MiB);
    g_assert_cmphex(flags, ==, wide);
    qvgpu_map_bars(v);
    g_assert_cmphex(qtest_readl(v->qts, vram + 4), ==, 0x77);
    qtest_writel(v->qts, vram + 256 * MiB - 4, 0x88);
    g_assert_cmphex(mm_rd(v, 256 * MiB - 4), ==, 0x88);

    qvgpu_save_restore(v, false);
    g_assert_cmphex(qtest_readl(v->qts, vram + 256 * MiB - 4), ==, 0x88);
    g_assert_cmphex(bar0_size(v), ==, 256 * MiB);

    /*
     * Shrink the BAR, and map it at an address that is not aligned for the
     * larger size.
     */
    qpci_config_writew(v->pci, PCI_COMMAND, cmd & ~PCI_COMMAND_MEMORY);
    g_assert_cmphex(resize(v, 1 * MiB), ==, 1 * MiB);
    v->bar[VGPU_BAR_VRAM] = vram = vram + 3 * MiB;
    qvgpu_map_bars(v);
    g_assert_cmphex(qtest_readl(v->qts, vram + 4), ==, 0x77);
    mm_wr(v, 1 * MiB, 0x99);
    g_assert_cmphex(qtest_readl(v->qts, vram + 1 * MiB), !=, 0x99);
    qvgpu_save_restore(v, false);
    g_assert_cmphex(qtest_readl(v->qts, vram + 4), ==, 0x77);

    qtest_qmp_assert_success(v->qts, "{ 'execute': 'system_reset' }");
    qtest_qmp_eventwait(v->qts, "RESET");
    g_assert_cmphex(bar0_size(v), ==, 64 * MiB);
    qvgpu_stop(v);
}

void qvgpu_add_vram_bar_tests(void)
{
    qtest_add_func("/vgpu-kfd/vram/memdev", test_memdev);
    qtest_add_func("/vgpu-kfd/vram/bad-memory", test_bad_memory);
    qtest_add_func("/vgpu-kfd/vram/visible", test_visible);
    qtest_add_func("/vgpu-kfd/vram/resize", test_resize);
}
