/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: tests the device behind an IOMMU (intel-iommu or amd-iommu). The
 * IOMMU maps RAM at bus addresses that are equal to the RAM addresses. The
 * tests map further pages at bus addresses above RAM (macro IOVA).
 */
#include "qemu/osdep.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/hold.h"
#include "tests/qtest/vgpu-kfd/lib/ih.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"
#include "tests/qtest/vgpu-kfd/lib/sdma-queue.h"
#include "tests/qtest/vgpu-kfd/memory/suite.h"

#define VMID            4
#define OTHER_VMID      9               /* no queue uses this VMID */
#define INV_ENGINE      5
#define VA              0x111100000000ull
#define COPIES          1500
#define STOPS           16
/* interrupts in one test; their entries must fit in the ring (127 entries) */
#define TRAPS           100

#define IOVA            (512 * MiB)     /* bus address above the end of RAM */
/*
 * Bus address without a translation. The last table for this address is not in
 * RAM. The table of intel-iommu (at HOLE) cannot be read. The table of
 * amd-iommu (at IOAPIC) has only invalid entries.
 */
#define IOVA_LOST       (IOVA + 2 * MiB)
#define HOLE            0x30000000u     /* bus address without memory */
/*
 * Registers of the I/O APIC, used as a table of amd-iommu. All entries read as
 * 0, so they are invalid.
 */
#define IOAPIC          0xfec00000u

#define VTD             0xfed90000u     /* registers of intel-iommu in q35 */
#define VTD_GCMD        (VTD + 0x18)
#define VTD_GSTS        (VTD + 0x1c)
#define VTD_RTADDR      (VTD + 0x20)
#define VTD_FSTS        (VTD + 0x34)
#define VTD_FECTL       (VTD + 0x38)
#define VTD_FEDATA      (VTD + 0x3c)
#define VTD_FEADDR      (VTD + 0x40)
#define VTD_IOTLB       (VTD + 0xf8)
#define VTD_FRCD        (VTD + 0x220)
#define VTD_TE          (1u << 31)
#define VTD_SRTP        (1u << 30)
#define VTD_PPF         (1u << 1)
#define VTD_RW          3ull
#define VTD_LARGE       0x80ull

#define AMD             0xfed80000u     /* registers of amd-iommu */
#define AMD_DEVTAB      (AMD + 0x0)
#define AMD_CMDBUF      (AMD + 0x8)
#define AMD_CONTROL     (AMD + 0x18)
#define AMD_CMD_TAIL    (AMD + 0x2008)
/* enables IOMMU and command buffer */
#define AMD_ENABLE      (1u << 0 | 1u << 12)
#define AMD_RW          (3ull << 61)
#define AMD_PRESENT     1ull
#define AMD_LEVEL(n)    ((uint64_t)(n) << 9)    /* level of the next table */
#define AMD_INV_PAGES   (3ull << 60)

typedef struct Iommu Iommu;
struct Iommu {
    const char *device;
    /* Build the tables, and enable translation in the IOMMU. */
    void (*enable)(Iommu *m, QVGPU *v);
    /* Return the IOMMU table entry that maps @page. */
    uint64_t (*entry)(uint64_t page);
    /* Invalidate all translations of the IOMMU. */
    void (*invalidate)(Iommu *m, QVGPU *v);
    /*
     * CPU address of the IOMMU table that translates the bus addresses from
     * IOVA to IOVA_LOST - 1
     */
    uint64_t pages;
    uint64_t cmdbuf;
    uint32_t tail;
};

static uint64_t vtd_entry(uint64_t page)
{
    return page | VTD_RW;
}

static void vtd_enable(Iommu *m, QVGPU *v)
{
    uint64_t root = qvgpu_ram_page(v), context = qvgpu_ram_page(v);
    uint64_t table[3], addr;
    unsigned i;

    for (i = 0; i < 3; i++) {
        table[i] = qvgpu_ram_page(v);
        if (i) {
            qtest_writeq(v->qts, table[i - 1], table[i] | VTD_RW);
        }
    }
    for (addr = 0; addr < QVGPU_RAM_SIZE; addr += 2 * MiB) {
        qtest_writeq(v->qts, table[2] + (addr >> 21) * 8,
                     addr | VTD_LARGE | VTD_RW);
    }
    qtest_writeq(v->qts, table[2] + (IOVA >> 21) * 8, m->pages | VTD_RW);
    qtest_writeq(v->qts, table[2] + (IOVA_LOST >> 21) * 8, HOLE | VTD_RW);
    qtest_writeq(v->qts, root, context | 1);
    qtest_writeq(v->qts, context + v->pci->devfn * 16, table[0] | 1);
    qtest_writeq(v->qts, context + v->pci->devfn * 16 + 8, 1 << 8 | 2);

    qtest_writeq(v->qts, VTD_RTADDR, root);
    qtest_writel(v->qts, VTD_GCMD, VTD_SRTP);
    qtest_writel(v->qts, VTD_GCMD, VTD_TE);
    g_assert_cmphex(qtest_readl(v->qts, VTD_GSTS) & VTD_TE, !=, 0);
}

static void vtd_invalidate(Iommu *m, QVGPU *v)
{
    qtest_writeq(v->qts, VTD_IOTLB, 1ull << 63 | 1ull << 60);
    g_assert_cmphex(qtest_readq(v->qts, VTD_IOTLB) >> 63, ==, 0);
}

static uint64_t amd_entry(uint64_t page)
{
    return page | AMD_RW | AMD_PRESENT;
}

static void amd_enable(Iommu *m, QVGPU *v)
{
    uint64_t devtab = qvgpu_ram_page(v), root = qvgpu_ram_page(v);
    uint64_t table = qvgpu_ram_page(v), addr;
    uint64_t device = devtab + 32 * v->pci->devfn;

    for (addr = 0; addr < QVGPU_RAM_SIZE; addr += 2 * MiB) {
        qtest_writeq(v->qts, table + (addr >> 21) * 8, amd_entry(addr));
    }
    qtest_writeq(v->qts, table + (IOVA >> 21) * 8,
                 amd_entry(m->pages) | AMD_LEVEL(1));
    /*
     * Place the last table for IOVA_LOST at IOAPIC. test_stop() needs a table
     * that is not in RAM, so that the IOMMU takes the BQL to read the table.
     * The entries at IOAPIC are 0: no translation. At HOLE, the read would
     * fail, and amd-iommu has a bug (a shift by 64) after a failed read.
     */
    qtest_writeq(v->qts, table + (IOVA_LOST >> 21) * 8,
                 amd_entry(IOAPIC) | AMD_LEVEL(1));
    qtest_writeq(v->qts, root, amd_entry(table) | AMD_LEVEL(2));
    /* The device table entry is valid, translates, and selects domain 1. */
    qtest_writeq(v->qts, device, amd_entry(root) | AMD_LEVEL(3) | 2);
    qtest_writeq(v->qts, device + 8, 1);

    m->cmdbuf = qvgpu_ram_page(v);
    m->tail = 0;
    qtest_writeq(v->qts, AMD_DEVTAB, devtab);
    qtest_writeq(v->qts, AMD_CMDBUF, m->cmdbuf | 8ull << 56);
    qtest_writeq(v->qts, AMD_CONTROL, AMD_ENABLE);
}

static void amd_invalidate(Iommu *m, QVGPU *v)
{
    qtest_writeq(v->qts, m->cmdbuf + m->tail, AMD_INV_PAGES | 1ull << 32);
    qtest_writeq(v->qts, m->cmdbuf + m->tail + 8, 0);
    m->tail = (m->tail + 16) % QVGPU_PAGE;
    qtest_writeq(v->qts, AMD_CMD_TAIL, m->tail);
}

static const Iommu vtd = {
    .device = "intel-iommu", .enable = vtd_enable, .entry = vtd_entry,
    .invalidate = vtd_invalidate,
};

static const Iommu amd = {
    .device = "amd-iommu", .enable = amd_enable, .entry = amd_entry,
    .invalidate = amd_invalidate,
};

/*
 * Start a machine with an IOMMU of @kind, which is not enabled. If QEMU lacks
 * this IOMMU, skip the test and return NULL.
 */
static QVGPU *start_sized(Iommu *m, const Iommu *kind, const char *vram,
                          const char *more)
{
    g_autofree char *args = g_strdup_printf("-device %s %s", kind->device,
                                            more);
    QVGPU *v;

    if (!qtest_has_device(kind->device)) {
        g_test_skip("this QEMU has no such IOMMU");
        return NULL;
    }
    v = qvgpu_start_sized(vram, args);
    *m = *kind;
    m->pages = qvgpu_ram_page(v);
    return v;
}

static QVGPU *start(Iommu *m, const Iommu *kind, const char *more)
{
    return start_sized(m, kind, "64M", more);
}

/*
 * As start_sized(), but the machine uses the log pipe and the VRAM of @h.
 * Initialises @h first. Destroys @h if the result is NULL.
 */
static QVGPU *start_held(Iommu *m, const Iommu *kind, QVGPUHold *h)
{
    QVGPU *v;

    qvgpu_hold_init(h);
    v = start_sized(m, kind, QVGPU_HOLD_VRAM, h->args);
    if (!v) {
        qvgpu_hold_destroy(h);
    }
    return v;
}

/*
 * Map page @n, counted from IOVA, to @page, or unmap it if @page is 0. Does not
 * invalidate the IOMMU's translations.
 */
static void set_page(Iommu *m, QVGPU *v, unsigned n, uint64_t page)
{
    qtest_writeq(v->qts, m->pages + 8 * n, page ? m->entry(page) : 0);
}

static void open_space(QVGPUSpace *space, QVGPU *v, bool retry)
{
    qvgpu_space_init(space, v, VMID, QVGPU_RAM);
    qvgpu_space_set_retry(space, retry);
}

/* Map page @n, counted from VA, to a bus address. */
static void set_bus(QVGPUSpace *space, unsigned n, uint64_t bus)
{
    qvgpu_space_set(space, VA + n * QVGPU_PAGE, VGPU_LEVEL_PTB,
                    QVGPU_PTE_RW | VGPU_PTE_SYSTEM | bus);
}

/*
 * Catches: bus addresses bypass the IOMMU, or keep their translation from
 * before the IOMMU was enabled; a denied page can be written; a translation is
 * used after the IOMMU's invalidation.
 */
static void test_translate(const void *kind)
{
    Iommu m;
    QVGPU *v = start(&m, kind, "");
    QVGPUSpace space;
    uint64_t src, a, b;
    QVGPUSdma q;

    if (!v) {
        return;
    }
    src = qvgpu_alloc(v, QVGPU_VRAM, QVGPU_PAGE, QVGPU_PAGE);
    a = qvgpu_ram_page(v);
    b = qvgpu_ram_page(v);
    open_space(&space, v, false);
    qvgpu_space_map(&space, VA, src, QVGPU_PAGE);
    set_bus(&space, 1, IOVA);
    set_bus(&space, 2, IOVA + QVGPU_PAGE);
    qvgpu_sdma_open(&q, v, 0, SDMA_QUEUE_RLC(0), &space);
    qvgpu_fill(v, src, 6, 0, QVGPU_PAGE);

    /*
     * VA + QVGPU_PAGE is mapped to bus address IOVA. Until m.enable(), the bus
     * has no memory at IOVA. Afterwards, the IOMMU maps one page at IOVA.
     */
    qvgpu_pkt_copy(&q, VA, VA + QVGPU_PAGE, 8);
    qvgpu_sdma_finish(&q);
    qvgpu_ih_next_fault(v, VMID, VA + QVGPU_PAGE, true, false);
    set_page(&m, v, 0, a);
    m.enable(&m, v);
    qvgpu_pkt_copy(&q, VA, VA + QVGPU_PAGE, QVGPU_PAGE);
    qvgpu_sdma_finish(&q);
    qvgpu_expect(v, a, 6, 0, QVGPU_PAGE);
    g_assert_false(qvgpu_ih_pending(v));
    qvgpu_pkt_copy(&q, VA, VA + 2 * QVGPU_PAGE, 8);
    qvgpu_sdma_finish(&q);
    qvgpu_ih_next_fault(v, VMID, VA + 2 * QVGPU_PAGE, true, false);

    set_page(&m, v, 0, b);
    m.invalidate(&m, v);
    qvgpu_fill(v, src, 7, 0, QVGPU_PAGE);
    qvgpu_pkt_copy(&q, VA, VA + QVGPU_PAGE, QVGPU_PAGE);
    qvgpu_sdma_finish(&q);
    qvgpu_expect(v, a, 6, 0, QVGPU_PAGE);
    qvgpu_expect(v, b, 7, 0, QVGPU_PAGE);
    qvgpu_stop(v);
}

/*
 * Catches: after a retry fault, the replay uses a translation that the IOMMU
 * gave before the fault.
 */
static void test_replay(const void *kind)
{
    Iommu m;
    QVGPU *v = start(&m, kind, "");
    QVGPUSpace space;
    uint64_t a, b, c;
    QVGPUSdma q;
    unsigned cam;

    if (!v) {
        return;
    }
    a = qvgpu_ram_page(v);
    b = qvgpu_ram_page(v);
    c = qvgpu_ram_page(v);
    set_page(&m, v, 0, a);
    set_page(&m, v, 1, c);
    m.enable(&m, v);
    open_space(&space, v, true);
    set_bus(&space, 0, IOVA);
    qvgpu_sdma_open(&q, v, 0, SDMA_QUEUE_RLC(0), &space);
    qvgpu_fill(v, a, 1, 0, QVGPU_PAGE);
    qvgpu_fill(v, b, 2, 0, QVGPU_PAGE);

    qvgpu_pkt_copy(&q, VA, VA + QVGPU_PAGE, QVGPU_PAGE);
    qvgpu_sdma_kick(&q);
    cam = qvgpu_ih_next_fault(v, VMID, VA + QVGPU_PAGE, true, true);
    set_page(&m, v, 0, b);
    m.invalidate(&m, v);
    set_bus(&space, 1, IOVA + QVGPU_PAGE);
    qvgpu_cam_ack(v, cam);
    qvgpu_sdma_finish(&q);
    qvgpu_expect(v, c, 2, 0, QVGPU_PAGE);
    /*
     * Catches: a replay that waits for the IOMMU reports the fault again, or is
     * not counted as a replay.
     */
    g_assert_cmpuint(qvgpu_counter(v, VGPU_CNT_FAULTS_RETRY), ==, 1);
    g_assert_cmpuint(qvgpu_counter(v, VGPU_CNT_REPLAYS), ==, 1);
    g_assert_false(qvgpu_ih_pending(v));
    qvgpu_stop(v);
}

/*
 * Copy between two pages behind the IOMMU: each page needs a request. Between
 * the requests, invalidate @vmid of @hub. Returns the number of requests.
 */
static unsigned count_requests(QVGPUHold *h, QVGPUSdma *q, unsigned hub,
                               unsigned vmid)
{
    unsigned n;

    qvgpu_hold_arm(h, q->v, "vgpu_bus_wait", true);
    qvgpu_pkt_copy(q, VA, VA + QVGPU_PAGE, 64);
    qvgpu_sdma_kick(q);
    qvgpu_wait_until(qvgpu_hold_logged(h));
    /*
     * Do not wait for the acknowledge. The MM hub acknowledges only after the
     * engine's access has ended, and the test still holds this access.
     */
    qvgpu_wr(q->v, HUB(hub) + VM_INVALIDATE_ENG_REQ(INV_ENGINE),
             1u << vmid | VM_INVALIDATE_ENG_REQ__L2_PTES);
    n = qvgpu_hold_release(h);
    qvgpu_sdma_finish(q);
    return n + qvgpu_hold_release(h);
}

/*
 * Catches: an invalidation of another VMID or hub discards a queue's IOMMU
 * requests and replies, so that repeated invalidations starve the queue.
 */
static void test_invalidate(const void *kind)
{
    QVGPUHold h;
    Iommu m;
    QVGPU *v = start_held(&m, kind, &h);
    QVGPUSpace space;
    uint64_t src, dst;
    QVGPUSdma q;

    if (!v) {
        return;
    }
    src = qvgpu_ram_page(v);
    dst = qvgpu_ram_page(v);
    set_page(&m, v, 0, src);
    set_page(&m, v, 1, dst);
    m.enable(&m, v);
    qvgpu_space_init(&space, v, VMID, QVGPU_VRAM);
    set_bus(&space, 0, IOVA);
    set_bus(&space, 1, IOVA + QVGPU_PAGE);
    qvgpu_sdma_open_vram(&q, v, 0, SDMA_QUEUE_RLC(0), &space, 64 * KiB);
    qvgpu_fill(v, src, 1, 0, QVGPU_PAGE);

    /*
     * Two pages need two requests. The engine makes more requests if an
     * invalidation discards a request or a reply.
     */
    g_assert_cmpuint(count_requests(&h, &q, VGPU_HUB_MM, OTHER_VMID), ==, 2);
    g_assert_cmpuint(count_requests(&h, &q, VGPU_HUB_GFX, VMID), ==, 2);
    /*
     * Catches: an invalidation of the queue's own VMID and hub does not discard
     * the queue's requests and replies.
     */
    g_assert_cmpuint(count_requests(&h, &q, VGPU_HUB_MM, VMID), >, 2);
    qvgpu_expect(v, dst, 1, 0, 64);
    qvgpu_stop(v);
    qvgpu_hold_destroy(&h);
}

/*
 * Catches: interrupt entries are lost or reordered while their ring has no
 * translation; an entry is written although the IOMMU denies it.
 */
static void test_ring(const void *kind)
{
    Iommu m;
    QVGPU *v = start(&m, kind, "");
    uint64_t ring, dropped;
    QVGPUSpace space;
    QVGPUSdma q;
    QVGPUIrq irq;
    uint32_t cntl;
    unsigned i;

    if (!v) {
        return;
    }
    ring = qvgpu_ram_page(v);
    set_page(&m, v, 0, ring);
    m.enable(&m, v);
    cntl = qvgpu_rd(v, IH_RB_CNTL);
    qvgpu_wr(v, IH_RB_CNTL, 0);
    qvgpu_wr(v, IH_RB_BASE, IOVA >> 8);
    qvgpu_wr(v, IH_RB_CNTL, cntl);
    v->ih.ring = ring;
    open_space(&space, v, false);
    qvgpu_sdma_open(&q, v, 0, SDMA_QUEUE_RLC(0), &space);
    for (i = 1; i <= 100; i++) {
        qvgpu_pkt_trap(&q, i);
    }
    qvgpu_sdma_finish(&q);
    for (i = 1; i <= 100; i++) {
        qvgpu_ih_next(v, &irq);
        g_assert_cmphex(irq.client, ==, IH_CLIENT_SDMA(0));
        g_assert_cmpuint(irq.source, ==, IH_SRC_SDMA_TRAP);
        g_assert_cmphex(irq.pasid, ==, QVGPU_PASID(VMID));
        g_assert_cmphex(irq.data[0], ==, i);
    }
    qvgpu_wait_until(qvgpu_rd(v, IH_STATUS) == 1);
    g_assert_false(qvgpu_ih_pending(v));

    set_page(&m, v, 0, 0);
    m.invalidate(&m, v);
    dropped = qvgpu_counter(v, VGPU_CNT_IH_DROPPED);
    qvgpu_pkt_trap(&q, i++);
    qvgpu_sdma_finish(&q);
    qvgpu_wait_until(qvgpu_counter(v, VGPU_CNT_IH_DROPPED) == dropped + 1);
    g_assert_false(qvgpu_ih_pending(v));
    set_page(&m, v, 0, ring);
    m.invalidate(&m, v);
    qvgpu_pkt_trap(&q, i);
    qvgpu_sdma_finish(&q);
    qvgpu_ih_next(v, &irq);
    g_assert_cmphex(irq.data[0], ==, i);
    qvgpu_stop(v);
}

/*
 * Catches: a machine stop hangs, because a worker calls the IOMMU and waits for
 * the BQL, while the main loop waits for the worker.
 */
static void test_stop(const void *kind)
{
    Iommu m;
    QVGPU *v = start(&m, kind, "");
    QVGPUSpace space;
    QVGPUSdma q;
    uint64_t dst;
    unsigned i;

    if (!v) {
        return;
    }
    m.enable(&m, v);
    dst = qvgpu_alloc(v, QVGPU_VRAM, QVGPU_PAGE, QVGPU_PAGE);
    open_space(&space, v, false);
    /*
     * The IOMMU's table for IOVA_LOST is not in RAM, so a call to the IOMMU
     * takes the BQL to read the table.
     */
    set_bus(&space, 0, IOVA_LOST);
    qvgpu_space_map(&space, VA + QVGPU_PAGE, dst, QVGPU_PAGE);
    qvgpu_sdma_init_ring(&q, v, 0, SDMA_QUEUE_RLC(0), &space, QVGPU_RAM,
                         64 * KiB);
    qvgpu_sdma_load(&q);
    qvgpu_fill(v, dst, 1, 0, QVGPU_PAGE);
    for (i = 0; i < COPIES; i++) {
        qvgpu_pkt_copy(&q, VA, VA + QVGPU_PAGE, 64);
    }
    qvgpu_sdma_kick(&q);
    for (i = 0; i < STOPS; i++) {
        qtest_qmp_assert_success(v->qts, "{ 'execute': 'stop' }");
        qtest_qmp_assert_success(v->qts, "{ 'execute': 'cont' }");
    }
    qvgpu_sdma_finish(&q);
    g_assert_cmpuint(qvgpu_counter(v, VGPU_CNT_FAULTS_NORETRY), ==, COPIES);
    qvgpu_expect_byte(v, dst, 0, 64);
    qvgpu_expect(v, dst + 64, 1, 64, QVGPU_PAGE - 64);
    qvgpu_stop(v);
}

/*
 * Catches: the device writes interrupt entries after its removal. (Entries that
 * wait for the IOMMU during the removal must be dropped.)
 */
static void test_remove(const void *kind)
{
    QVGPUHold h;
    Iommu m;
    QVGPU *v = start_held(&m, kind, &h);

    if (!v) {
        return;
    }
    m.enable(&m, v);
    /*
     * During the removal, the CP raises interrupts while the main loop is held.
     * The interrupt entries wait, because only the main loop calls the IOMMU.
     */
    qvgpu_hold_removal(&h, v, TRAPS);

    qvgpu_main_loop_pass(v);
    g_assert_cmphex(qvgpu_rd(v, VGPU_MAGIC), ==, UINT32_MAX);
    g_assert_false(qvgpu_ih_pending(v));
    qvgpu_expect_byte(v, v->ih.ring, 0, v->ih.bytes);
    qvgpu_stop(v);
    qvgpu_hold_destroy(&h);
}

/*
 * Catches: a worker without the BQL calls the IOMMU, which raises a fault
 * event. TCG then fails an assertion: interrupts need the BQL.
 */
static void test_report(void)
{
    /*
     * Firmware that has only HLT instructions. The IOMMU sends its fault event
     * to the CPU as an NMI. After the NMI, the CPU halts again.
     */
    static const char halt[64 * KiB] = { [0 ... 64 * KiB - 1] = 0xf4 };
    g_autofree char *path = NULL, *args = NULL;
    QVGPUSpace space;
    uint64_t record;
    QVGPUSdma q;
    uint64_t dst;
    QVGPU *v;
    Iommu m;
    int fd;

    if (!qtest_has_accel("tcg")) {
        g_test_skip("this QEMU has no TCG");
        return;
    }
    fd = g_file_open_tmp("vgpu-bios-XXXXXX", &path, NULL);
    g_assert_cmpint(fd, >=, 0);
    close(fd);
    g_assert_true(g_file_set_contents(path, halt, sizeof(halt), NULL));
    args = g_strdup_printf("-accel tcg -bios %s", path);
    v = start(&m, &vtd, args);
    unlink(path);
    if (!v) {
        return;
    }
    m.enable(&m, v);
    /*
     * The fault event is an NMI (MSI delivery mode 0x400), because the firmware
     * enables no maskable interrupts. The NMI (vector 2) jumps to the HLT at
     * f000:fff0.
     */
    qtest_writel(v->qts, 2 * 4, 0xf000fff0);
    qtest_writel(v->qts, VTD_FEDATA, 0x400);
    qtest_writel(v->qts, VTD_FEADDR, 0xfee00000);
    qtest_writel(v->qts, VTD_FECTL, 0);
    dst = qvgpu_alloc(v, QVGPU_VRAM, QVGPU_PAGE, QVGPU_PAGE);
    open_space(&space, v, false);
    set_bus(&space, 0, IOVA + QVGPU_PAGE);
    qvgpu_space_map(&space, VA + QVGPU_PAGE, dst, QVGPU_PAGE);
    qvgpu_sdma_open(&q, v, 0, SDMA_QUEUE_RLC(0), &space);
    qvgpu_pkt_copy(&q, VA, VA + QVGPU_PAGE, 64);
    qvgpu_sdma_finish(&q);
    qvgpu_ih_next_fault(v, VMID, VA, false, false);
    g_assert_cmphex(qtest_readl(v->qts, VTD_FSTS) & VTD_PPF, !=, 0);
    record = qtest_readq(v->qts, VTD_FRCD);
    g_assert_cmphex(record, ==, IOVA + QVGPU_PAGE);
    record = qtest_readq(v->qts, VTD_FRCD + 8);
    g_assert_cmphex(record >> 63, ==, 1);
    g_assert_cmphex(record & 0xffff, ==, v->pci->devfn);
    qvgpu_stop(v);
}

static void add(const char *name, const Iommu *kind,
                void (*test)(const void *kind))
{
    g_autofree char *path = g_strdup_printf("/vgpu-kfd/iommu/%s/%s",
                                            kind->device, name);

    qtest_add_data_func(path, kind, test);
}

void qvgpu_add_iommu_tests(void)
{
    const Iommu *const kinds[] = { &vtd, &amd };
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(kinds); i++) {
        add("translate", kinds[i], test_translate);
        add("replay", kinds[i], test_replay);
        add("invalidate", kinds[i], test_invalidate);
        add("ring", kinds[i], test_ring);
        add("stop", kinds[i], test_stop);
        add("remove", kinds[i], test_remove);
    }
    qtest_add_func("/vgpu-kfd/iommu/intel-iommu/report", test_report);
}
