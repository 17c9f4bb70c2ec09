/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: tests that a load refuses impossible saved state, and that the
 * contents of an MQD cannot cause such state.
 */
#include "qemu/osdep.h"
#include <glib/gstdio.h>
#include "qobject/qdict.h"
#include "qobject/qlist.h"
#include "tests/qtest/vgpu-kfd/lib/compute-queue.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/hws.h"
#include "tests/qtest/vgpu-kfd/lib/ih.h"
#include "tests/qtest/vgpu-kfd/lib/migration.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"
#include "tests/qtest/vgpu-kfd/lib/sdma-queue.h"
#include "tests/qtest/vgpu-kfd/pci/suite.h"

#define VMID        6
#define DST         0x2222a1b20000ull
/*
 * GPU address of the stall. To find the stall in a saved state, the tests
 * search the state for this value, which must occur only once.
 */
#define AT          (DST + 0x340)

/* A queue whose packet stalls at AT, since no page is mapped at DST. */
typedef struct Stalled {
    QVGPU *v;
    QVGPUSpace space;
    QVGPUSdma q;
    /*
     * Guest-physical address of the page that stalled_finish() maps at GPU
     * address DST.
     */
    uint64_t dst;
    unsigned slot;              /* slot in the retry CAM */
} Stalled;

/*
 * Start the machine and the queue. The caller then emits a packet that accesses
 * AT.
 */
static void stalled_init(Stalled *t)
{
    t->v = qvgpu_start();
    qvgpu_space_init(&t->space, t->v, VMID, QVGPU_RAM);
    qvgpu_sdma_open(&t->q, t->v, 1, SDMA_QUEUE_RLC(2), &t->space);
    t->dst = qvgpu_ram_page(t->v);
}

/* Run the packet until it stalls. */
static void stalled_kick(Stalled *t)
{
    qvgpu_sdma_kick(&t->q);
    t->slot = qvgpu_ih_next_fault(t->v, VMID, DST, true, true);
}

static void stalled_finish(Stalled *t)
{
    qvgpu_space_map(&t->space, DST, t->dst, QVGPU_PAGE);
    qvgpu_cam_ack(t->v, t->slot);
    qvgpu_sdma_finish(&t->q);
}

/*
 * Catches: a load accepts a packet that exceeds its indirect buffer, or a
 * packet that has another length than its header says. The engine would never
 * finish a WRITE packet of either kind.
 */
static void test_packet(void)
{
    /*
     * PAYLOAD: number of data dwords in the packet.
     *
     * The other two are byte offsets in the saved state. They count from the
     * saved GPU address of the stall. qvgpu_loads_with() finds this address by
     * its value, AT.
     * - AT_IB_SIZE: low byte of the indirect buffer's length in dwords
     * - AT_NDW: low byte of the packet's length in dwords
     */
    enum { PAYLOAD = 12, AT_IB_SIZE = 33, AT_NDW = 123 };
    const unsigned dwords = SDMA_WRITE_LINEAR_DWORDS + PAYLOAD;
    uint32_t dw[SDMA_WRITE_LINEAR_DWORDS + PAYLOAD] = {
        SDMA_PKT(SDMA_OP_WRITE, SDMA_SUBOP_WRITE_LINEAR),
        QVGPU_LO(AT), QVGPU_HI(AT), PAYLOAD - 1, 1, 2, 3, 4,
    };
    g_autofree char *file = NULL;
    uint64_t ib;
    uint32_t n;
    Stalled t;

    stalled_init(&t);
    qvgpu_sdma_emit(&t.q, dw, dwords);
    ib = qvgpu_sdma_to_buffer(&t.q, 0, &n);
    qvgpu_pkt_indirect(&t.q, 0, qvgpu_space_place(&t.space, ib, QVGPU_PAGE), n);
    stalled_kick(&t);

    file = qvgpu_save_restore(t.v, true);
    g_assert_true(qvgpu_loads_with(t.v, file, AT, AT_IB_SIZE, dwords));
    g_assert_false(qvgpu_loads_with(t.v, file, AT, AT_IB_SIZE, dwords - 1));
    g_assert_false(qvgpu_loads_with(t.v, file, AT, AT_NDW, dwords - 1));
    g_assert_false(qvgpu_loads_with(t.v, file, AT, AT_NDW, dwords + 1));
    g_unlink(file);

    qvgpu_cont(t.v);
    stalled_finish(&t);
    for (n = 0; n < PAYLOAD; n++) {
        g_assert_cmphex(qtest_readl(t.v->qts, t.dst + AT - DST + 4 * n), ==,
                        dw[SDMA_WRITE_LINEAR_DWORDS + n]);
    }
    qvgpu_stop(t.v);
}

/*
 * An MQD has garbage in the fields of indirect buffers that the queue does not
 * use. Catches: the device saves this garbage, and the load then refuses the
 * saved state, because the garbage is not valid.
 */
static void test_image(void)
{
    uint32_t map[7];
    QVGPUSpace space;
    QVGPUUserSdma u;
    uint64_t dst;
    QVGPUHws h;
    unsigned i;

    QVGPU *v = qvgpu_start();

    qvgpu_space_init(&space, v, VMID, QVGPU_RAM);
    qvgpu_hws_init(&h, v);
    dst = qvgpu_ram_page(v);
    qvgpu_space_map(&space, DST, dst, QVGPU_PAGE);
    qvgpu_user_sdma_init(&u, v, &space, 3, 0);
    /*
     * Write garbage to the MQD's last dwords: the state of both indirect
     * buffers, the packet's number of tries, and the time since the first try.
     */
    for (i = SDMA_MQD_DWORDS - 12; i < SDMA_MQD_DWORDS; i++) {
        qtest_writel(v->qts, u.mqd + 4 * i, UINT32_MAX);
    }
    qvgpu_user_sdma_map(&u, 0, map);
    qvgpu_pm4(&h.hiq, map, ARRAY_SIZE(map));
    qvgpu_hws_sync(&h);
    qvgpu_save_restore(v, false);
    qvgpu_cont(v);
    qvgpu_pkt_fence(&u.q, AT, 0x600d);
    qvgpu_user_sdma_kick(&u);
    qvgpu_user_sdma_finish(&u);
    g_assert_cmphex(qtest_readl(v->qts, dst + AT - DST), ==, 0x600d);
    qvgpu_stop(v);
}

/*
 * Catches: a load accepts a mask of the scheduler's VMIDs that contains VMID 0.
 * The scheduler would then install a process's page table over the driver's
 * mappings.
 */
static void test_vmid_mask(void)
{
    /*
     * Offset of the VMID mask's low byte from the start of the queue mask. The
     * saved state has the queue mask (8 bytes), then the VMID mask's high byte,
     * then the VMID mask's low byte.
     */
    enum { AT_VMID_MASK = 9 };
    const uint64_t queues = 0xa5b6c7d8e9f00112ull;
    g_autofree char *file = NULL;
    QVGPUHws h;

    QVGPU *v = qvgpu_start();

    qvgpu_hws_init(&h, v);
    qvgpu_hws_resources(&h, 0x1202, queues);
    qvgpu_hws_sync(&h);
    file = qvgpu_save_restore(v, true);
    g_assert_true(qvgpu_loads_with(v, file, queues, AT_VMID_MASK, 0x04));
    g_assert_false(qvgpu_loads_with(v, file, queues, AT_VMID_MASK, 0x03));
    g_unlink(file);
    qvgpu_stop(v);
}

static bool job_concluded(QVGPU *v)
{
    QDict *rsp = qtest_qmp(v->qts, "{ 'execute': 'query-jobs' }");
    const QListEntry *job = qlist_first(qdict_get_qlist(rsp, "return"));
    bool is = job && g_str_equal(qdict_get_str(qobject_to(QDict,
                                 qlist_entry_obj(job)), "status"),
                                 "concluded");

    qobject_unref(rsp);
    return is;
}

/*
 * Add a disk for snapshots. Returns the name of its file. The disk's clusters
 * are large, so that the device's state is contiguous in the file.
 */
static char *add_disk(QVGPU *v)
{
    char *file;
    int fd = g_file_open_tmp("vgpu-kfd-XXXXXX", &file, NULL);

    g_assert_cmpint(fd, >=, 0);
    close(fd);
    qtest_qmp_assert_success(v->qts,
        "{ 'execute': 'blockdev-create', 'arguments': { 'job-id': 'create',"
        "  'options': { 'driver': 'qcow2', 'size': 1048576,"
        "    'cluster-size': 2097152,"
        "    'file': { 'driver': 'file', 'filename': %s } } } }", file);
    qvgpu_wait_until(job_concluded(v));
    qtest_qmp_assert_success(v->qts, "{ 'execute': 'job-dismiss',"
                             "  'arguments': { 'id': 'create' } }");
    qtest_qmp_assert_success(v->qts,
        "{ 'execute': 'blockdev-add', 'arguments': { 'driver': 'qcow2',"
        "  'node-name': 'disk',"
        "  'file': { 'driver': 'file', 'filename': %s } } }", file);
    return file;
}

/*
 * Write @byte to @file, @at bytes after the start of the 64-bit big-endian
 * value @quad. The test fails unless @quad occurs exactly once.
 */
static void patch(const char *file, uint64_t quad, int at, uint8_t byte)
{
    g_autofree char *buf = NULL;
    size_t len;
    int fd = open(file, O_WRONLY);

    g_assert_cmpint(fd, >=, 0);
    g_assert_true(g_file_get_contents(file, &buf, &len, NULL));
    g_assert_cmpint(pwrite(fd, &byte, 1, qvgpu_state_find(buf, len, quad) + at),
                    ==, 1);
    close(fd);
}

/*
 * Catches: after a load refuses a snapshot, invalid fields of the snapshot stay
 * in the device, and are used as indices when the machine continues.
 */
static void test_loadvm(void)
{
    /*
     * Offset, in bytes, in the saved state: from the field that has the value
     * AT to the high byte of exec.ib_depth (nesting depth of indirect buffers).
     */
    enum { AT_IB_DEPTH = 18 };
    g_autofree char *file = NULL, *ok = NULL, *loaded = NULL, *refused = NULL;
    uint64_t src;
    QVGPU *v;
    Stalled t;

    stalled_init(&t);
    v = t.v;
    src = qvgpu_ram_page(v);
    qvgpu_pkt_fence(&t.q, AT, 0x600d);
    stalled_kick(&t);
    file = add_disk(v);
    ok = qtest_hmp(v->qts, "savevm good");
    g_assert_cmpstr(ok, ==, "");
    loaded = qtest_hmp(v->qts, "loadvm good");
    g_assert_cmpstr(loaded, ==, "");
    stalled_finish(&t);
    g_assert_cmphex(qtest_readl(v->qts, t.dst + AT - DST), ==, 0x600d);

    patch(file, AT, AT_IB_DEPTH, 0x7f);
    refused = qtest_hmp(v->qts, "loadvm good");
    g_assert_cmpstr(refused, !=, "");
    qvgpu_cont(v);
    /* The device is in its reset state and works. */
    g_assert_cmphex(qvgpu_sdma_rd(&t.q, SDMA_RB_CNTL), ==, 0);
    g_assert_true(qvgpu_sdma_idle(&t.q));
    g_assert_cmphex(qvgpu_mm_rd(v, VM_CONTEXT_CNTL(VMID)) &
                    VM_CONTEXT_CNTL__ENABLE_CONTEXT, ==, 0);
    qvgpu_bring_up(v);
    qvgpu_fill(v, src, 7, 0, QVGPU_PAGE);
    qvgpu_sdma_open(&t.q, v, 1, SDMA_QUEUE_RLC(2), NULL);
    qvgpu_pkt_copy(&t.q, qvgpu_mc(v, src), qvgpu_mc(v, t.dst), QVGPU_PAGE);
    qvgpu_sdma_finish(&t.q);
    qvgpu_expect(v, t.dst, 7, 0, QVGPU_PAGE);
    g_unlink(file);
    qvgpu_stop(v);
}

void qvgpu_add_migration_hostile_tests(void)
{
    qtest_add_func("/vgpu-kfd/state/refused/image", test_image);
    qtest_add_func("/vgpu-kfd/state/refused/loadvm", test_loadvm);
    qtest_add_func("/vgpu-kfd/state/refused/packet", test_packet);
    qtest_add_func("/vgpu-kfd/state/refused/vmid-mask", test_vmid_mask);
}
