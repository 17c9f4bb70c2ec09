/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: tests PM4 packets of compute queues. */
#include "qemu/osdep.h"
#include "tests/qtest/vgpu-kfd/cp/suite.h"
#include "tests/qtest/vgpu-kfd/lib/compute-queue.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/ih.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"

#define DST_MEM     VGPU_PREP(PM4_WRITE_DATA_DW1__DST_SEL, PM4_DST_MEM)

typedef struct Fixture {
    QVGPU *v;
    QVGPUSpace space;
    QVGPUCompute c;
    uint64_t page, va;          /* a zeroed page, mapped at va */
} Fixture;

static void setup(Fixture *f, bool user)
{
    f->v = qvgpu_start();
    qvgpu_space_init(&f->space, f->v, 3, QVGPU_VRAM);
    qvgpu_cp_setup(f->v);
    qvgpu_compute_init(&f->c, f->v, 1, 2, 5, user ? &f->space : NULL);
    f->page = qvgpu_ram_page(f->v);
    f->va = qvgpu_compute_place(&f->c, f->page, QVGPU_PAGE);
    qvgpu_compute_load(&f->c);
}

static uint32_t at(Fixture *f, unsigned offset)
{
    return qtest_readl(f->v->qts, f->page + offset);
}

/*
 * Catches: dwords are lost at the end of the ring; a NOP of one dword is taken
 * for a longer NOP.
 */
static void test_write_data(void)
{
    uint32_t i, single = PM4_HEADER(PM4_NOP, 2) | 0x3fff0000u;
    Fixture f;

    setup(&f, true);
    for (i = 1; i <= 600; i++) {
        qvgpu_pm4(&f.c, &single, 1);
        QVGPU_PM4(&f.c, PM4_NOP, 0xdead);
        QVGPU_PM4(&f.c, PM4_WRITE_DATA, DST_MEM, QVGPU_LO(f.va),
                  QVGPU_HI(f.va), i, ~i, i * 3);
        if (i % 60 == 0) {
            qvgpu_compute_finish(&f.c);
            g_assert_cmphex(at(&f, 0), ==, i);
            g_assert_cmphex(at(&f, 4), ==, ~i);
            g_assert_cmphex(at(&f, 8), ==, i * 3);
        }
    }
    /* All three values go to one address, which then holds the last value. */
    QVGPU_PM4(&f.c, PM4_WRITE_DATA, DST_MEM | PM4_WRITE_DATA_DW1__ONE_ADDR,
              QVGPU_LO(f.va + 16), QVGPU_HI(f.va + 16), 1, 2, 3);
    qvgpu_compute_finish(&f.c);
    g_assert_cmphex(at(&f, 16), ==, 3);
    g_assert_cmphex(at(&f, 20), ==, 0);
    qvgpu_stop(f.v);
}

static void release(Fixture *f, unsigned data_sel, unsigned int_sel,
                    uint64_t va, uint64_t data, uint32_t ctxid)
{
    QVGPU_PM4(&f->c, PM4_RELEASE_MEM, 0x514,
              VGPU_PREP(PM4_RELEASE_DW2__DATA_SEL, data_sel) |
              VGPU_PREP(PM4_RELEASE_DW2__INT_SEL, int_sel),
              QVGPU_LO(va), QVGPU_HI(va), QVGPU_LO(data), QVGPU_HI(data),
              ctxid);
}

/*
 * Catches: a value of DATA_SEL writes wrong data; a value of INT_SEL raises a
 * wrong interrupt, or none.
 */
static void test_release_mem(void)
{
    const uint64_t data = 0x1122334455667788ull;
    uint64_t before;
    unsigned i;
    Fixture f;

    setup(&f, true);
    for (i = PM4_DATA_NONE; i <= PM4_DATA_64; i++) {
        release(&f, i, PM4_INT_NONE, f.va + 8 * i, data, 0x11);
    }
    before = qvgpu_clock(f.v);
    release(&f, PM4_DATA_GPU_CLOCK, PM4_INT_DATA_AFTER_WRITE, f.va + 24, data,
            0x12);
    qvgpu_compute_finish(&f.c);
    g_assert_cmphex(qtest_readq(f.v->qts, f.page), ==, 0);
    g_assert_cmphex(qtest_readq(f.v->qts, f.page + 8), ==, (uint32_t)data);
    g_assert_cmphex(qtest_readq(f.v->qts, f.page + 16), ==, data);
    g_assert_cmphex(qtest_readq(f.v->qts, f.page + 24), >=, before);
    g_assert_cmphex(qtest_readq(f.v->qts, f.page + 24), <=,
                    qvgpu_clock(f.v));
    g_assert_false(qvgpu_ih_pending(f.v));

    release(&f, PM4_DATA_NONE, PM4_INT_ONLY, 0, 0, 0x21);
    release(&f, PM4_DATA_32, PM4_INT_AFTER_WRITE, f.va, 5, 0x22);
    release(&f, PM4_DATA_NONE, PM4_INT_ALWAYS, 0, 0, 0x23);
    release(&f, PM4_DATA_NONE, PM4_INT_IF_32, f.va, 6, 0x24);
    release(&f, PM4_DATA_NONE, PM4_INT_IF_32, f.va, 5, 0x25);
    release(&f, PM4_DATA_NONE, PM4_INT_IF_64, f.va + 16, 0x55667788, 0x26);
    release(&f, PM4_DATA_NONE, PM4_INT_IF_64, f.va + 16, data, 0x27);
    qvgpu_compute_finish(&f.c);
    for (i = 0x21; i <= 0x27; i++) {
        if (i != 0x24 && i != 0x26) {
            qvgpu_compute_irq(&f.c, IH_SRC_CP_END_OF_PIPE, i);
        }
    }
    /* A pipe whose interrupts are disabled raises none. */
    qvgpu_wr(f.v, CP_PIPE_INT_CNTL(1, 2), 0);
    release(&f, PM4_DATA_32, PM4_INT_AFTER_WRITE, f.va, 7, 0x31);
    qvgpu_compute_finish(&f.c);
    g_assert_cmphex(at(&f, 0), ==, 7);
    g_assert_false(qvgpu_ih_pending(f.v));
    qvgpu_stop(f.v);
}

static void wait_mem(QVGPUCompute *c, unsigned function, uint64_t va,
                     uint32_t ref, uint32_t mask)
{
    QVGPU_PM4(c, PM4_WAIT_REG_MEM, PM4_WAIT_DW1__MEM_SPACE | function,
              QVGPU_LO(va), QVGPU_HI(va), ref, mask, 4);
}

/*
 * Catches: WAIT_REG_MEM blocks other queues; a dequeue cannot end WAIT_REG_MEM.
 */
static void test_wait(void)
{
    QVGPUCompute other;
    Fixture f;

    setup(&f, true);
    qvgpu_compute_init(&other, f.v, 2, 0, 0, NULL);
    qvgpu_compute_load(&other);
    wait_mem(&f.c, 3, f.va, 0x50, 0xf0);
    qvgpu_pm4_write(&f.c, f.va + 4, 1);
    qvgpu_compute_kick(&f.c);
    qvgpu_pm4_write(&other, qvgpu_mc(f.v, f.page) + 8, 2);
    qvgpu_compute_finish(&other);
    g_assert_cmphex(at(&f, 4), ==, 0);

    /*
     * Dequeue the queue during WAIT_REG_MEM. When the queue is activated,
     * WAIT_REG_MEM starts again.
     */
    qvgpu_compute_dequeue(&f.c);
    g_assert_cmphex(qvgpu_hqd_rd(&f.c, CP_HQD_PQ_RPTR), ==, 0);
    g_assert_cmphex(qvgpu_hqd_rd(&f.c, CP_HQD_PQ_WPTR_LO), ==, f.c.wptr);
    qtest_writel(f.v->qts, f.page, 0x5a);
    qtest_clock_step(f.v->qts, 1000000);
    qvgpu_pm4_write(&other, qvgpu_mc(f.v, f.page) + 8, 3);
    qvgpu_compute_finish(&other);
    g_assert_cmphex(at(&f, 4), ==, 0);
    qvgpu_hqd_wr(&f.c, CP_HQD_ACTIVE, 1);
    qvgpu_wait_until(at(&f, 4) == 1);

    /*
     * Test the other compare functions with true conditions. (Function 3,
     * equal, was tested above.)
     */
    wait_mem(&f.c, 0, f.va, 9, UINT32_MAX);
    wait_mem(&f.c, 1, f.va, 0x5b, UINT32_MAX);
    wait_mem(&f.c, 2, f.va, 0x5a, UINT32_MAX);
    wait_mem(&f.c, 4, f.va, 0x59, UINT32_MAX);
    wait_mem(&f.c, 5, f.va, 0x5a, UINT32_MAX);
    wait_mem(&f.c, 6, f.va, 0x59, UINT32_MAX);
    qvgpu_compute_finish(&f.c);
    qvgpu_stop(f.v);
}

/*
 * Catches: COPY_DATA uses a wrong source or width; EVENT_WRITE or ACQUIRE_MEM
 * is refused.
 */
static void test_copy_data(void)
{
    Fixture f;

    setup(&f, true);
    qtest_writeq(f.v->qts, f.page, 0x0102030405060708ull);
    QVGPU_PM4(&f.c, PM4_COPY_DATA, PM4_SRC_MEM | PM4_DST_MEM << 8,
              QVGPU_LO(f.va), QVGPU_HI(f.va), QVGPU_LO(f.va + 8),
              QVGPU_HI(f.va));
    QVGPU_PM4(&f.c, PM4_COPY_DATA, PM4_SRC_MEM | PM4_DST_L2 << 8 |
              PM4_COPY_DATA_DW1__COUNT_64,
              QVGPU_LO(f.va), QVGPU_HI(f.va), QVGPU_LO(f.va + 16),
              QVGPU_HI(f.va));
    QVGPU_PM4(&f.c, PM4_COPY_DATA, PM4_SRC_IMMEDIATE | PM4_DST_MEM << 8 |
              PM4_COPY_DATA_DW1__COUNT_64, 7, 8, QVGPU_LO(f.va + 24),
              QVGPU_HI(f.va));
    QVGPU_PM4(&f.c, PM4_EVENT_WRITE, 0x407);
    QVGPU_PM4(&f.c, PM4_ACQUIRE_MEM, 0, UINT32_MAX, 0xff, 0, 0, 4);
    qvgpu_compute_finish(&f.c);
    g_assert_cmphex(qtest_readq(f.v->qts, f.page + 8), ==, 0x05060708);
    g_assert_cmphex(qtest_readq(f.v->qts, f.page + 16), ==,
                    0x0102030405060708ull);
    g_assert_cmphex(qtest_readq(f.v->qts, f.page + 24), ==,
                    0x0000000800000007ull);
    qvgpu_stop(f.v);
}

/*
 * Move the packets of the ring, from dword @from on, to a new indirect buffer.
 * @dwords receives their length. Returns the GPU address of the buffer.
 */
static uint64_t to_buffer(Fixture *f, uint64_t from, uint32_t *dwords)
{
    uint64_t i, buf = qvgpu_ram_page(f->v);

    *dwords = f->c.wptr - from;
    for (i = 0; i < *dwords; i++) {
        qtest_writel(f->v->qts, buf + 4 * i, qtest_readl(f->v->qts,
                     f->c.ring + 4 * ((from + i) & (f->c.dwords - 1))));
    }
    f->c.wptr = from;
    return qvgpu_compute_place(&f->c, buf, QVGPU_PAGE);
}

static void indirect(Fixture *f, uint64_t va, uint32_t dwords, uint32_t bits)
{
    QVGPU_PM4(&f->c, PM4_INDIRECT_BUFFER, QVGPU_LO(va), QVGPU_HI(va),
              dwords | bits | PM4_IB_DW3__VALID);
}

/*
 * Catches: the queue executes the packets behind a chain packet; a dequeue
 * loses the position in an indirect buffer.
 */
static void test_indirect(void)
{
    uint64_t first, second;
    uint32_t n1, n2;
    Fixture f;

    setup(&f, true);
    wait_mem(&f.c, 3, f.va, 1, UINT32_MAX);
    qvgpu_pm4_write(&f.c, f.va + 8, 2);
    second = to_buffer(&f, 0, &n2);
    QVGPU_PM4(&f.c, PM4_COPY_DATA, PM4_SRC_MEM | PM4_DST_MEM << 8,
              QVGPU_LO(f.va + 16), QVGPU_HI(f.va), QVGPU_LO(f.va + 4),
              QVGPU_HI(f.va));
    indirect(&f, second, n2, PM4_IB_DW3__CHAIN);
    /* The packet after the chain packet must not run. */
    qvgpu_pm4_write(&f.c, f.va + 12, 9);
    first = to_buffer(&f, 0, &n1);

    qtest_writel(f.v->qts, f.page + 16, 0x77);
    indirect(&f, first, n1, 0);
    qvgpu_compute_kick(&f.c);
    qvgpu_wait_until(at(&f, 4) == 0x77);
    /* rptr must not pass INDIRECT_BUFFER before the buffer is complete. */
    g_assert_cmphex(qtest_readl(f.v->qts, f.c.rptr), ==, 0);

    /*
     * Dequeue and activate the queue during WAIT_REG_MEM. The earlier COPY_DATA
     * must not run again and copy 0x78 to offset 4.
     */
    qvgpu_wait_until(qtest_readl(f.v->qts, f.page + 4) == 0x77);
    qtest_writel(f.v->qts, f.page + 16, 0x78);
    qvgpu_compute_dequeue(&f.c);
    g_assert_cmphex(qvgpu_hqd_rd(&f.c, CP_HQD_IB_CONTROL) &
                    CP_HQD_IB_CONTROL__PROCESSING_IB, !=, 0);
    qtest_writel(f.v->qts, f.page, 1);
    qvgpu_hqd_wr(&f.c, CP_HQD_ACTIVE, 1);
    qvgpu_compute_finish(&f.c);
    g_assert_cmphex(at(&f, 4), ==, 0x77);
    g_assert_cmphex(at(&f, 8), ==, 2);
    g_assert_cmphex(at(&f, 12), ==, 0);
    qvgpu_stop(f.v);
}

/*
 * Fail the test unless the queue stops at packet @pkt of @n dwords, raises the
 * interrupt of @source with error @code, and has @bits in CP_HQD_ERROR.
 */
static void expect_error(const uint32_t *pkt, unsigned n, unsigned source,
                         unsigned code, uint32_t bits)
{
    QVGPUCompute other;
    Fixture f;

    setup(&f, true);
    qvgpu_pm4_write(&f.c, f.va, 1);
    qvgpu_pm4(&f.c, pkt, n);
    qvgpu_pm4_write(&f.c, f.va + 4, 1);
    qvgpu_compute_kick(&f.c);
    qvgpu_compute_irq(&f.c, source, VGPU_PREP(IH_CP_ERROR__CODE, code) |
                      (f.c.doorbell / 8 & IH_CP_ERROR__DOORBELL));
    g_assert_cmphex(at(&f, 0), ==, 1);
    g_assert_cmphex(qvgpu_hqd_rd(&f.c, CP_HQD_ERROR), ==, bits);
    g_assert_cmpuint(qvgpu_counter(f.v, VGPU_CNT_QUEUE_ERRORS), ==, 1);

    /*
     * The stopped queue must ignore its doorbell, and it must be possible to
     * dequeue this queue. Another queue must still be able to run.
     */
    qvgpu_compute_kick(&f.c);
    qvgpu_compute_init(&other, f.v, 1, 2, 6, &f.space);
    qvgpu_compute_load(&other);
    qvgpu_pm4_write(&other, f.va + 8, 1);
    qvgpu_compute_finish(&other);
    g_assert_cmphex(at(&f, 4), ==, 0);
    g_assert_cmphex(qvgpu_hqd_rd(&f.c, CP_HQD_ACTIVE), ==, 1);
    qvgpu_compute_dequeue(&f.c);
    g_assert_cmphex(qvgpu_hqd_rd(&f.c, CP_HQD_PQ_RPTR), ==, 5);
    qvgpu_stop(f.v);
}

/*
 * Catches: a dispatch packet is accepted, although the device cannot run
 * kernels.
 */
static void test_dispatch(void)
{
    const uint32_t pkt[] = {
        PM4_HEADER(PM4_DISPATCH_DIRECT, 5), 1, 1, 1, 1,
    };

    expect_error(pkt, ARRAY_SIZE(pkt), IH_SRC_CP_BAD_OPCODE,
                 CP_ERROR_PACKET_UNSUPPORTED, 0);
}

/* Catches: an unknown opcode, or a packet of type 0, is skipped. */
static void test_bad_opcode(void)
{
    const uint32_t pkt[] = { PM4_HEADER(0xee, 2), 0 };
    const uint32_t type0[] = { 0x00012345, 0 };

    expect_error(pkt, ARRAY_SIZE(pkt), IH_SRC_CP_BAD_OPCODE,
                 CP_ERROR_PACKET_UNSUPPORTED, 0);
    expect_error(type0, ARRAY_SIZE(type0), IH_SRC_CP_BAD_OPCODE,
                 CP_ERROR_PACKET_RESERVED, 0);
}

/* Catches: a user queue can access registers. */
static void test_privilege(void)
{
    const uint32_t reg = HUB(VGPU_HUB_GFX) + VM_L2_CNTL;
    const uint32_t pkt[] = {
        PM4_HEADER(PM4_WRITE_DATA, 5), 0, reg, 0, 0x1234,
    };
    Fixture f;

    expect_error(pkt, ARRAY_SIZE(pkt), IH_SRC_CP_PRIV_REG,
                 CP_ERROR_REGISTER_INVALID, CP_HQD_ERROR__SUA_ERROR);

    setup(&f, false);
    QVGPU_PM4(&f.c, PM4_WRITE_DATA, 0, reg, 0, 0x1234, 0x5678);
    QVGPU_PM4(&f.c, PM4_WAIT_REG_MEM, 3, reg, 0, 0x1234, UINT32_MAX, 4);
    QVGPU_PM4(&f.c, PM4_COPY_DATA, PM4_SRC_REG | PM4_DST_MEM << 8, reg + 1, 0,
              QVGPU_LO(f.va), QVGPU_HI(f.va));
    /*
     * Write one register and wait for a second register, as the driver does to
     * invalidate TLBs.
     */
    QVGPU_PM4(&f.c, PM4_WAIT_REG_MEM, 3 | VGPU_PREP(PM4_WAIT_DW1__OPERATION, 1),
              HUB(VGPU_HUB_GFX) + VM_INVALIDATE_ENG_REQ(5),
              HUB(VGPU_HUB_GFX) + VM_INVALIDATE_ENG_ACK(5),
              0x80008, 0x8, 4);
    qvgpu_time_passes(f.v);
    qvgpu_compute_finish(&f.c);
    g_assert_cmphex(qvgpu_rd(f.v, reg), ==, 0x1234);
    g_assert_cmphex(at(&f, 0), ==, 0x5678);
    g_assert_cmphex(qvgpu_gfx_rd(f.v, VM_INVALIDATE_ENG_ACK(5)), ==, 8);
    qvgpu_stop(f.v);
}

/* Catches: a packet writes to a register number past the last register. */
static void test_last_register(void)
{
    Fixture f;

    setup(&f, false);
    QVGPU_PM4(&f.c, PM4_WRITE_DATA, 0, VGPU_MMIO_DWORDS - 1, 0, 1);
    qvgpu_compute_finish(&f.c);
    QVGPU_PM4(&f.c, PM4_WRITE_DATA, 0, VGPU_MMIO_DWORDS, 0, 1);
    qvgpu_compute_kick(&f.c);
    qvgpu_compute_irq(&f.c, IH_SRC_CP_BAD_OPCODE,
                      VGPU_PREP(IH_CP_ERROR__CODE, CP_ERROR_REGISTER_INVALID) |
                      (f.c.doorbell / 8 & IH_CP_ERROR__DOORBELL));
    qvgpu_stop(f.v);
}

/*
 * Catches: a fault stops other queues; an access that faulted is not replayed.
 */
static void test_fault(void)
{
    const uint64_t va = 0x123456000;
    QVGPUCompute other;
    QVGPUIrq irq;
    Fixture f;

    setup(&f, true);
    qvgpu_pm4_write(&f.c, va + 8, 0xabcd);
    qvgpu_pm4_write(&f.c, f.va, 1);
    qvgpu_compute_kick(&f.c);
    qvgpu_ih_next(f.v, &irq);
    g_assert_cmphex(irq.client, ==, IH_CLIENT_UTCL2);
    g_assert_cmphex(irq.ring, ==, IH_RING_FAULT_VALID | IH_RING_FAULT_WRITE);
    g_assert_cmphex(irq.pasid, ==, QVGPU_PASID(3));
    g_assert_cmphex(irq.data[0], ==, va >> VGPU_PAGE_SHIFT);
    g_assert_cmphex(irq.data[1], ==, IH_FAULT_D1__WRITE | IH_FAULT_D1__RETRY);

    qvgpu_compute_init(&other, f.v, 1, 2, 6, &f.space);
    qvgpu_compute_load(&other);
    qvgpu_pm4_write(&other, f.va + 4, 1);
    qvgpu_compute_finish(&other);
    g_assert_cmphex(at(&f, 0), ==, 0);

    qvgpu_space_map(&f.space, va, f.page, QVGPU_PAGE);
    qvgpu_gfx_invalidate(f.v, 1u << 3);
    qvgpu_cam_ack(f.v, VGPU_GET(irq.data[2], IH_FAULT_D2__CAM_INDEX));
    qvgpu_compute_finish(&f.c);
    g_assert_cmphex(at(&f, 0), ==, 1);
    g_assert_cmphex(at(&f, 8), ==, 0xabcd);
    g_assert_cmpuint(qvgpu_counter(f.v, VGPU_CNT_REPLAYS), ==, 1);

    /* A queue that is stalled on a fault can be dequeued. */
    qvgpu_pm4_write(&f.c, va + QVGPU_PAGE, 1);
    qvgpu_compute_kick(&f.c);
    qvgpu_ih_next(f.v, &irq);
    qvgpu_compute_dequeue(&f.c);
    qvgpu_stop(f.v);
}

void qvgpu_add_cp_pm4_tests(void)
{
    qtest_add_func("/vgpu-kfd/cp/write-data", test_write_data);
    qtest_add_func("/vgpu-kfd/cp/release-mem", test_release_mem);
    qtest_add_func("/vgpu-kfd/cp/wait", test_wait);
    qtest_add_func("/vgpu-kfd/cp/copy-data", test_copy_data);
    qtest_add_func("/vgpu-kfd/cp/indirect", test_indirect);
    qtest_add_func("/vgpu-kfd/cp/dispatch", test_dispatch);
    qtest_add_func("/vgpu-kfd/cp/bad-opcode", test_bad_opcode);
    qtest_add_func("/vgpu-kfd/cp/privilege", test_privilege);
    qtest_add_func("/vgpu-kfd/cp/last-register", test_last_register);
    qtest_add_func("/vgpu-kfd/cp/fault", test_fault);
}
