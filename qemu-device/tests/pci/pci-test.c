/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: tests PCI configuration space, properties and hotplug. */
#include "qemu/osdep.h"
#include "hw/pci/pci_regs.h"
#include "qobject/qdict.h"
#include "tests/qtest/libqos/pci-pc.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/pci/suite.h"

/*
 * Catches: the device has PCI ids that no driver supports, or the subsystem ids
 * of a real card.
 */
static void test_identity(void)
{
    QVGPU *v = qvgpu_start_cold("64M");
    QPCIDevice *pci = v->pci;

    g_assert_cmphex(qpci_config_readw(pci, PCI_VENDOR_ID), ==, 0x1002);
    g_assert_cmphex(qpci_config_readw(pci, PCI_DEVICE_ID), ==, 0x740f);
    g_assert_cmphex(qpci_config_readb(pci, PCI_REVISION_ID), ==, 0x02);
    g_assert_cmphex(qpci_config_readb(pci, PCI_CLASS_PROG), ==, 0x00);
    g_assert_cmphex(qpci_config_readw(pci, PCI_CLASS_DEVICE), ==, 0x1200);
    g_assert_cmphex(qpci_config_readw(pci, PCI_SUBSYSTEM_VENDOR_ID), ==,
                    0x1af4);
    g_assert_cmphex(qpci_config_readw(pci, PCI_SUBSYSTEM_ID), ==, 0x1100);
    g_assert_cmphex(qpci_config_readb(pci, PCI_HEADER_TYPE), ==,
                    PCI_HEADER_TYPE_NORMAL);
    g_assert_cmphex(qpci_config_readb(pci, PCI_INTERRUPT_PIN), ==, 0);
    qvgpu_stop(v);
}

/*
 * Catches: MSI has no 64-bit addresses; the PCI Express capability is missing.
 */
static void test_capabilities(void)
{
    QVGPU *v = qvgpu_start_cold("64M");
    uint8_t msi = qpci_find_capability(v->pci, PCI_CAP_ID_MSI, 0);
    uint8_t exp = qpci_find_capability(v->pci, PCI_CAP_ID_EXP, 0);
    uint16_t flags;

    g_assert_cmphex(msi, !=, 0);
    flags = qpci_config_readw(v->pci, msi + PCI_MSI_FLAGS);
    g_assert_cmphex(flags & PCI_MSI_FLAGS_64BIT, !=, 0);
    g_assert_cmphex(flags & PCI_MSI_FLAGS_QMASK, ==, 0);
    g_assert_cmphex(flags & PCI_MSI_FLAGS_ENABLE, ==, 0);

    /* An endpoint directly on pcie.0 is a Root Complex Integrated Endpoint. */
    g_assert_cmphex(exp, !=, 0);
    g_assert_cmpuint((qpci_config_readw(v->pci, exp + PCI_EXP_FLAGS) &
                      PCI_EXP_FLAGS_TYPE) >> 4, ==, PCI_EXP_TYPE_RC_END);
    qvgpu_stop(v);
}

static void check_bars(QVGPU *v, uint64_t vram)
{
    const uint32_t wide = PCI_BASE_ADDRESS_MEM_TYPE_64 |
                          PCI_BASE_ADDRESS_MEM_PREFETCH;
    uint32_t flags;

    g_assert_cmphex(qvgpu_bar_size(v->pci, VGPU_BAR_VRAM, &flags), ==, vram);
    g_assert_cmphex(flags, ==, wide);
    g_assert_cmphex(qvgpu_bar_size(v->pci, VGPU_BAR_DOORBELL, &flags), ==,
                    2 * MiB);
    g_assert_cmphex(flags, ==, wide);
    g_assert_cmphex(qvgpu_bar_size(v->pci, 4, &flags), ==, 0);
    g_assert_cmphex(qvgpu_bar_size(v->pci, VGPU_BAR_MMIO, &flags), ==,
                    512 * KiB);
    g_assert_cmphex(flags, ==, 0);
    g_assert_cmpuint(qvgpu_rd(v, RCC_CONFIG_MEMSIZE), ==, vram / MiB);
    /* Both registers count units of 16 MiB. */
    g_assert_cmpuint(qvgpu_mm_rd(v, MC_VM_FB_LOCATION_TOP) -
                     qvgpu_mm_rd(v, MC_VM_FB_LOCATION_BASE) + 1, ==,
                     vram >> 24);
}

/*
 * Catches: BAR 0, MEMSIZE or an aperture does not have the size of property
 * vram.
 */
static void test_bars(void)
{
    static const struct {
        const char *vram;
        uint64_t bytes;
    } cases[] = {
        { "64M", 64 * MiB }, { "67108864", 64 * MiB }, { "256M", 256 * MiB },
        { "1G", 1 * GiB }, { "4G", 4 * GiB },
    };
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(cases); i++) {
        QVGPU *v = qvgpu_start_cold(cases[i].vram);

        check_bars(v, cases[i].bytes);
        qvgpu_stop(v);
    }
}

/*
 * Catches: a size of VRAM is computed in 32 bits; the largest size is refused;
 * VRAM is not sparse.
 */
static void test_bar_largest(void)
{
    QVGPU *v = qvgpu_start_cold("64G");

    check_bars(v, 64 * GiB);
    qvgpu_fill(v, v->bar[VGPU_BAR_VRAM] + 64 * GiB - 4096, 1, 0, 4096);
    qvgpu_expect(v, v->bar[VGPU_BAR_VRAM] + 64 * GiB - 4096, 1, 0, 4096);
    qvgpu_stop(v);
}

/* Catches: the default of property vram is not the documented 1 GiB. */
static void test_default_vram(void)
{
    QTestState *qts = qtest_init("-machine q35 -nodefaults -m 128M "
                                 "-device vgpu-kfd");
    QPCIBus *bus = qpci_new_pc(qts, NULL);
    QPCIDevice *pci = qvgpu_find(bus);
    uint32_t flags;

    g_assert_nonnull(pci);
    g_assert_cmphex(qvgpu_bar_size(pci, VGPU_BAR_VRAM, &flags), ==, 1 * GiB);
    g_free(pci);
    qpci_free_pc(bus);
    qtest_quit(qts);
}

/*
 * Catches: VRAM is too short, appears at several addresses, or is not zero
 * after the start.
 */
static void test_vram_is_memory(void)
{
    QVGPU *v = qvgpu_start_cold("64M");
    uint64_t vram = v->bar[VGPU_BAR_VRAM], off;

    qvgpu_expect_byte(v, vram, 0, 64 * KiB);
    for (off = 0; off < 64 * MiB; off += 4 * MiB) {
        qvgpu_fill(v, vram + off, 2, off, 8 * KiB);
    }
    qvgpu_fill(v, vram + 64 * MiB - 3, 2, 1, 3);
    for (off = 0; off < 64 * MiB; off += 4 * MiB) {
        qvgpu_expect(v, vram + off, 2, off, 8 * KiB);
    }
    qvgpu_expect(v, vram + 64 * MiB - 3, 2, 1, 3);
    qvgpu_stop(v);
}

/* Catches: a BAR responds while memory decoding is off. */
static void test_decode_off(void)
{
    QVGPU *v = qvgpu_start_cold("64M");
    uint16_t cmd = qpci_config_readw(v->pci, PCI_COMMAND);

    g_assert_cmphex(qvgpu_rd(v, VGPU_MAGIC), ==, VGPU_MAGIC_VALUE);
    qpci_config_writew(v->pci, PCI_COMMAND, cmd & ~PCI_COMMAND_MEMORY);
    g_assert_cmphex(qvgpu_rd(v, VGPU_MAGIC), !=, VGPU_MAGIC_VALUE);
    qpci_config_writew(v->pci, PCI_COMMAND, cmd);
    g_assert_cmphex(qvgpu_rd(v, VGPU_MAGIC), ==, VGPU_MAGIC_VALUE);
    qvgpu_stop(v);
}

static QTestState *start_with_root_port(void)
{
    /*
     * Use native hotplug instead of ACPI. The guest runs no software, so the
     * slot has no power, and QEMU unplugs a device immediately.
     */
    return qtest_init("-machine q35 -nodefaults -m 128M -global "
                      "ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off "
                      "-device pcie-root-port,id=rp0,chassis=1,slot=1");
}

/*
 * Catches: an invalid size of VRAM is rounded or accepted; a failed realize
 * leaves state behind, so that a valid device fails afterwards.
 */
static void test_bad_vram(void)
{
    static const uint64_t bad[] = {
        0, 1, 32 * MiB, 64 * MiB - 1, 64 * MiB + 1, 96 * MiB, 3 * GiB,
        64 * GiB + 1, 128 * GiB, 1ull << 63, UINT64_MAX,
    };
    QTestState *qts = start_with_root_port();
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(bad); i++) {
        QDict *reply = qtest_qmp(qts, "{ 'execute': 'device_add', "
                                 "'arguments': { 'driver': 'vgpu-kfd', "
                                 "'bus': 'rp0', 'id': 'gpu', "
                                 "'vram': %" PRIu64 " } }", bad[i]);

        if (!qdict_haskey(reply, "error")) {
            g_error("vram=%" PRIu64 " is accepted", bad[i]);
        }
        qobject_unref(reply);
    }
    qtest_qmp_device_add(qts, "vgpu-kfd", "gpu",
                         "{ 'bus': 'rp0', 'vram': 67108864 }");
    qtest_quit(qts);
}

/* Catches: unrealize leaves threads, memory regions or MSI state behind. */
static void test_plug_unplug(void)
{
    QTestState *qts = start_with_root_port();
    unsigned i;

    for (i = 0; i < 5; i++) {
        qtest_qmp_device_add(qts, "vgpu-kfd", "gpu",
                             "{ 'bus': 'rp0', 'vram': 67108864 }");
        qtest_qmp_device_del(qts, "gpu");
    }
    qtest_quit(qts);
}

static void count(QPCIDevice *dev, int devfn, void *data)
{
    unsigned *n = data;

    (*n)++;
    g_free(dev);
}

/* Catches: two devices share state, such as the name of a memory region. */
static void test_two_devices(void)
{
    QTestState *qts = qtest_init("-machine q35 -nodefaults -m 128M "
                                 "-device vgpu-kfd,vram=64M "
                                 "-device vgpu-kfd,vram=128M");
    QPCIBus *bus = qpci_new_pc(qts, NULL);
    unsigned n = 0;

    qpci_device_foreach(bus, VGPU_PCI_VENDOR_ID, VGPU_PCI_DEVICE_ID, count,
                        &n);
    g_assert_cmpuint(n, ==, 2);
    qpci_free_pc(bus);
    qtest_quit(qts);
}

void qvgpu_add_pci_tests(void)
{
    qtest_add_func("/vgpu-kfd/pci/identity", test_identity);
    qtest_add_func("/vgpu-kfd/pci/capabilities", test_capabilities);
    qtest_add_func("/vgpu-kfd/pci/bars", test_bars);
    qtest_add_func("/vgpu-kfd/pci/bar-largest", test_bar_largest);
    qtest_add_func("/vgpu-kfd/pci/default-vram", test_default_vram);
    qtest_add_func("/vgpu-kfd/pci/vram-is-memory", test_vram_is_memory);
    qtest_add_func("/vgpu-kfd/pci/decode-off", test_decode_off);
    qtest_add_func("/vgpu-kfd/pci/bad-vram", test_bad_vram);
    qtest_add_func("/vgpu-kfd/pci/plug-unplug", test_plug_unplug);
    qtest_add_func("/vgpu-kfd/pci/two-devices", test_two_devices);
}
