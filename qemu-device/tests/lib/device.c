/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Test-side driver of vgpu-kfd: starts a machine, and accesses registers and
 * memory.
 */
#include "qemu/osdep.h"
#include "hw/pci/pci_regs.h"
#include "qobject/qdict.h"
#include "qobject/qlist.h"
#include "tests/qtest/libqos/pci-pc.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/ih.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"

int64_t qvgpu_wait_us(void)
{
    const char *s = g_getenv("VGPU_TEST_SCALE");
    double scale = s ? g_ascii_strtod(s, NULL) : 0;

    if (scale < 1) {
        return 60 * G_USEC_PER_SEC;
    }
    return 30 * G_USEC_PER_SEC * MIN(scale, 4);
}

/* The machine whose virtual clock runs while a test waits, or NULL. */
static QVGPU *ticking;

QVGPU *qvgpu_time_passes(QVGPU *v)
{
    QVGPU *before = ticking;

    ticking = v;
    return before;
}

void qvgpu_waited(void)
{
    if (ticking) {
        qtest_clock_step(ticking->qts, QVGPU_STEP_NS);
    }
}

/*
 * BAR 0 and BAR 2 are above 4 GiB, so that the upper halves of their addresses
 * are not 0. The addresses are aligned for the largest VRAM. Guest RAM is below
 * 4 GiB.
 */
#define VRAM_AT         (64 * GiB)
#define DOORBELL_AT     (128 * GiB)
#define MMIO_AT         (0xe0000000ull)
#define RAM_FIRST       (1 * MiB)

#define MSI_DATA        0x4d53
/* log2 of the ring's dwords; 128 entries of 8 dwords */
#define IH_ORDER        10
/* MC address of guest RAM in VMID 0. */
#define AGP_AT          (1 * TiB)

static void remember(QPCIDevice *dev, int devfn, void *data)
{
    QPCIDevice **found = data;

    if (*found) {
        g_free(dev);
    } else {
        *found = dev;
    }
}

QPCIDevice *qvgpu_find(QPCIBus *bus)
{
    QPCIDevice *found = NULL;

    qpci_device_foreach(bus, VGPU_PCI_VENDOR_ID, VGPU_PCI_DEVICE_ID, remember,
                        &found);
    return found;
}

uint64_t qvgpu_bar_size(QPCIDevice *pci, unsigned bar, uint32_t *flags)
{
    uint8_t reg = PCI_BASE_ADDRESS_0 + 4 * bar;
    uint32_t lo = qpci_config_readl(pci, reg);
    uint64_t mask;

    *flags = lo & ~PCI_BASE_ADDRESS_MEM_MASK;
    qpci_config_writel(pci, reg, UINT32_MAX);
    mask = qpci_config_readl(pci, reg) & PCI_BASE_ADDRESS_MEM_MASK;
    qpci_config_writel(pci, reg, lo);
    if (*flags & PCI_BASE_ADDRESS_MEM_TYPE_64) {
        uint32_t hi = qpci_config_readl(pci, reg + 4);

        qpci_config_writel(pci, reg + 4, UINT32_MAX);
        mask |= (uint64_t)qpci_config_readl(pci, reg + 4) << 32;
        qpci_config_writel(pci, reg + 4, hi);
    } else if (mask) {
        mask |= 0xffffffffull << 32;
    }
    return -mask;
}

void qvgpu_map_bars(QVGPU *v)
{
    unsigned i;

    for (i = 0; i < 6; i++) {
        if (v->bar[i]) {
            qpci_config_writel(v->pci, PCI_BASE_ADDRESS_0 + 4 * i, v->bar[i]);
            if (v->bar[i] >> 32) {
                qpci_config_writel(v->pci, PCI_BASE_ADDRESS_1 + 4 * i,
                                   v->bar[i] >> 32);
            }
        }
    }
    qpci_device_enable(v->pci);
}

static QVGPU *start(const char *vram, const char *args)
{
    QVGPU *v = g_new0(QVGPU, 1);
    uint32_t flags;

    /*
     * An engine's own thread executes all packets, because tests hold it while
     * the main loop, which serves qtest, continues. @vram may override this.
     */
    v->args = g_strdup_printf("-machine q35 -nodefaults -m %uM "
                              "-global vgpu-kfd.inline-bytes=0 "
                              "-device vgpu-kfd,vram=%s %s",
                              (unsigned)(QVGPU_RAM_SIZE / MiB), vram, args);
    v->qts = qtest_init(v->args);
    v->bus = qpci_new_pc(v->qts, NULL);
    v->pci = qvgpu_find(v->bus);
    g_assert_nonnull(v->pci);

    v->vram_size = qvgpu_bar_size(v->pci, VGPU_BAR_VRAM, &flags);
    v->bar[VGPU_BAR_VRAM] = VRAM_AT;
    v->bar[VGPU_BAR_DOORBELL] = DOORBELL_AT;
    v->bar[VGPU_BAR_MMIO] = MMIO_AT;
    qvgpu_map_bars(v);
    v->vram_next = VRAM_AT;
    v->ram_next = RAM_FIRST;
    return v;
}

QVGPU *qvgpu_start_cold(const char *vram)
{
    return start(vram, "");
}

static void setup_vmid0(QVGPU *v)
{
    qvgpu_mm_wr(v, MC_VM_AGP_BOT, AGP_AT >> 24);
    qvgpu_mm_wr(v, MC_VM_AGP_TOP, (AGP_AT + QVGPU_RAM_SIZE - 1) >> 24);
    qvgpu_mm_wr(v, MC_VM_AGP_BASE, 0);
}

static void setup_msi(QVGPU *v)
{
    uint8_t cap = qpci_find_capability(v->pci, PCI_CAP_ID_MSI, 0);

    /* An MSI is a write to memory: here, to RAM that qvgpu_msi_take() reads. */
    v->msi = qvgpu_alloc(v, QVGPU_RAM, QVGPU_PAGE, QVGPU_PAGE);
    qpci_config_writel(v->pci, cap + PCI_MSI_ADDRESS_LO, v->msi);
    qpci_config_writel(v->pci, cap + PCI_MSI_ADDRESS_HI, v->msi >> 32);
    qpci_config_writew(v->pci, cap + PCI_MSI_DATA_64, MSI_DATA);
    qpci_config_writew(v->pci, cap + PCI_MSI_FLAGS,
                       qpci_config_readw(v->pci, cap + PCI_MSI_FLAGS) |
                       PCI_MSI_FLAGS_ENABLE);
}

static void setup_doorbells(QVGPU *v)
{
    unsigned i;

    for (i = 0; i < SDMA_NUM_ENGINES; i++) {
        uint32_t range = VGPU_PREP(BIF_DOORBELL_RANGE__SIZE,
                                   DOORBELL_SDMA_RANGE_DWORDS) |
                         (DOORBELL_SDMA(i) * 8 & BIF_DOORBELL_RANGE__OFFSET);

        qvgpu_wr(v, BIF_SDMA_DOORBELL_RANGE(i), range);
        qvgpu_wr(v, SDMA_ENGINE(i) + SDMA_CNTL, SDMA_CNTL__TRAP_ENABLE);
    }
    qvgpu_wr(v, BIF_IH_DOORBELL_RANGE,
             VGPU_PREP(BIF_DOORBELL_RANGE__SIZE, 8) |
             (DOORBELL_IH * 8 & BIF_DOORBELL_RANGE__OFFSET));
    qvgpu_wr(v, IH_DOORBELL_RPTR,
             IH_DOORBELL_RPTR__ENABLE | DOORBELL_IH * 2);
    qvgpu_wr(v, IH_DOORBELL_RETRY_CAM,
             IH_DOORBELL_RPTR__ENABLE | DOORBELL_IH_RETRY_CAM_DW);
    qvgpu_wr(v, RCC_DOORBELL_APER_EN,
             RCC_DOORBELL_APER_EN__BIF_DOORBELL_APER_EN);
}

QVGPU *qvgpu_start(void)
{
    return qvgpu_start_args("");
}

QVGPU *qvgpu_start_args(const char *args)
{
    return qvgpu_start_sized("64M", args);
}

QVGPU *qvgpu_start_sized(const char *vram, const char *args)
{
    QVGPU *v = start(vram, args);

    qvgpu_bring_up(v);
    return v;
}

void qvgpu_bring_up(QVGPU *v)
{
    unsigned i;

    setup_vmid0(v);
    setup_msi(v);
    setup_doorbells(v);
    for (i = 1; i < VGPU_NUM_VMIDS; i++) {
        qvgpu_wr(v, IH_VMID_LUT_MM(i), QVGPU_PASID(i));
    }
    qvgpu_wr(v, IH_RETRY_INT_CAM_CNTL, IH_RETRY_INT_CAM_CNTL__ENABLE |
             VGPU_PREP(IH_RETRY_INT_CAM_CNTL__CAM_SIZE, 0xfu));
    qvgpu_ih_init(v, IH_ORDER, IH_RB_CNTL__ENABLE_INTR);
}

void qvgpu_stop(QVGPU *v)
{
    if (ticking == v) {
        ticking = NULL;
    }
    g_free(v->pci);
    qpci_free_pc(v->bus);
    qtest_quit(v->qts);
    g_free(v->args);
    g_free(v);
}

bool qvgpu_has_delays(void)
{
    QTestState *qts = qtest_init("-machine none");
    QDict *reply = qtest_qmp(qts, "{ 'execute': 'device-list-properties', "
                             "'arguments': { 'typename': 'vgpu-kfd' } }");
    const QListEntry *e;
    bool has = false;

    QLIST_FOREACH_ENTRY(qdict_get_qlist(reply, "return"), e) {
        QDict *property = qobject_to(QDict, qlist_entry_obj(e));

        has |= g_str_equal(qdict_get_str(property, "name"), "x-delay-point");
    }
    qobject_unref(reply);
    qtest_quit(qts);
    return has;
}

uint32_t qvgpu_rd(QVGPU *v, uint32_t reg)
{
    return qtest_readl(v->qts, v->bar[VGPU_BAR_MMIO] + 4ull * reg);
}

void qvgpu_wr(QVGPU *v, uint32_t reg, uint32_t val)
{
    qtest_writel(v->qts, v->bar[VGPU_BAR_MMIO] + 4ull * reg, val);
}

uint64_t qvgpu_counter(QVGPU *v, unsigned counter)
{
    uint64_t lo = qvgpu_rd(v, VGPU_COUNTER(counter));

    return lo | (uint64_t)qvgpu_rd(v, VGPU_COUNTER(counter) + 1) << 32;
}

uint64_t qvgpu_clock(QVGPU *v)
{
    uint64_t lo;

    qvgpu_wr(v, RLC_CAPTURE_GPU_CLOCK_COUNT, 1);
    lo = qvgpu_rd(v, RLC_GPU_CLOCK_COUNT_LSB);
    return lo | (uint64_t)qvgpu_rd(v, RLC_GPU_CLOCK_COUNT_MSB) << 32;
}

void qvgpu_main_loop_pass(QVGPU *v)
{
    unsigned i;

    /*
     * The main loop may serve the first read before due bottom halves, but the
     * second read only afterwards. The third read is a margin.
     */
    for (i = 0; i < 3; i++) {
        qvgpu_rd(v, VGPU_MAGIC);
    }
}

uint64_t qvgpu_alloc(QVGPU *v, QVGPUKind kind, uint64_t size, uint64_t align)
{
    uint64_t *next = kind == QVGPU_VRAM ? &v->vram_next : &v->ram_next;
    uint64_t end = kind == QVGPU_VRAM ? VRAM_AT + v->vram_size : QVGPU_RAM_SIZE;
    uint64_t addr = ROUND_UP(*next, align);

    g_assert_cmpuint(addr + size, <=, end);
    *next = addr + size;
    return addr;
}

uint64_t qvgpu_ram_page(QVGPU *v)
{
    return qvgpu_alloc(v, QVGPU_RAM, QVGPU_PAGE, QVGPU_PAGE);
}

bool qvgpu_is_vram(QVGPU *v, uint64_t addr)
{
    return addr >= VRAM_AT && addr < DOORBELL_AT;
}

uint64_t qvgpu_mc(QVGPU *v, uint64_t addr)
{
    if (qvgpu_is_vram(v, addr)) {
        return ((uint64_t)qvgpu_mm_rd(v, MC_VM_FB_LOCATION_BASE) << 24) +
               addr - VRAM_AT;
    }
    return AGP_AT + addr;
}

/* splitmix64: neighbouring words differ in all bytes. */
static uint64_t pattern_word(uint64_t seed, uint64_t i)
{
    uint64_t x = seed * 0xd1342543de82ef95ull + i * 0x9e3779b97f4a7c15ull;

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

static uint8_t *pattern(uint64_t seed, uint64_t from, uint64_t len)
{
    uint8_t *buf = g_malloc(len);
    uint64_t i;

    for (i = 0; i < len; i++) {
        buf[i] = pattern_word(seed, (from + i) / 8) >> (from + i) % 8 * 8;
    }
    return buf;
}

/* Split long transfers, because qtest is slow on long lines. */
static void transfer(QVGPU *v, uint64_t addr, void *buf, uint64_t len,
                     bool write)
{
    uint64_t off, n;

    for (off = 0; off < len; off += n) {
        n = MIN(len - off, 256 * KiB);
        if (write) {
            qtest_bufwrite(v->qts, addr + off, buf + off, n);
        } else {
            qtest_bufread(v->qts, addr + off, buf + off, n);
        }
    }
}

void qvgpu_fill(QVGPU *v, uint64_t addr, uint64_t seed, uint64_t from,
                uint64_t len)
{
    g_autofree uint8_t *buf = pattern(seed, from, len);

    transfer(v, addr, buf, len, true);
}

static void expect(QVGPU *v, uint64_t addr, const uint8_t *want, uint64_t len)
{
    g_autofree uint8_t *have = g_malloc(len);
    g_autofree char *say = NULL;
    uint64_t i = 0;

    transfer(v, addr, have, len, false);
    if (!len || !memcmp(have, want, len)) {
        return;
    }
    while (have[i] == want[i]) {
        i++;
    }
    say = g_strdup_printf("byte %" PRIu64 " of %" PRIu64 " at 0x%" PRIx64
                          " is 0x%02x, should be 0x%02x", i, len, addr,
                          have[i], want[i]);
    g_assertion_message(G_LOG_DOMAIN, __FILE__, __LINE__, G_STRFUNC, say);
}

void qvgpu_expect(QVGPU *v, uint64_t addr, uint64_t seed, uint64_t from,
                  uint64_t len)
{
    g_autofree uint8_t *want = pattern(seed, from, len);

    expect(v, addr, want, len);
}

void qvgpu_expect_byte(QVGPU *v, uint64_t addr, uint8_t byte, uint64_t len)
{
    g_autofree uint8_t *want = g_malloc(MAX(len, 1));

    memset(want, byte, len);
    expect(v, addr, want, len);
}
