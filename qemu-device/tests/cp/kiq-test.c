/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: tests the kernel interface queue (KIQ). */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "tests/qtest/vgpu-kfd/cp/suite.h"
#include "tests/qtest/vgpu-kfd/lib/compute-queue.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/hold.h"
#include "tests/qtest/vgpu-kfd/lib/hws.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"
#include "tests/qtest/vgpu-kfd/lib/qmp.h"
#include "tests/qtest/vgpu-kfd/lib/sdma-queue.h"

#define KIQ_ME      2
#define KIQ_PIPE    1

typedef struct Fixture {
    QVGPU *v;
    QVGPUSpace space;
    QVGPUCompute kiq, c;
    uint64_t page, va;          /* page in guest RAM, mapped at va */
    uint64_t mqd;
    uint64_t fence;             /* CPU address that QUERY_STATUS writes */
} Fixture;

static void setup_on(Fixture *f, QVGPU *v)
{
    f->v = v;
    qvgpu_space_init(&f->space, v, 5, QVGPU_VRAM);
    qvgpu_cp_setup(v);
    qvgpu_compute_init(&f->kiq, v, KIQ_ME, KIQ_PIPE, 0, NULL);
    f->kiq.doorbell = 0;
    qvgpu_compute_load(&f->kiq);
    qvgpu_wr(v, RLC_CP_SCHEDULERS, RLC_CP_SCHEDULERS__VALID |
             VGPU_PREP(RLC_CP_SCHEDULERS__ME, KIQ_ME) |
             VGPU_PREP(RLC_CP_SCHEDULERS__PIPE, KIQ_PIPE));
    f->page = qvgpu_ram_page(v);
    f->va = qvgpu_space_place(&f->space, f->page, QVGPU_PAGE);
    f->mqd = qvgpu_ram_page(v);
    f->fence = qvgpu_ram_page(v);
    /* Initialise queue c, and write the MQD fields that a driver sets. */
    qvgpu_compute_init(&f->c, v, 1, 3, 4, &f->space);
    qtest_writel(v->qts, f->mqd + 4 * (CP_MQD_HQD + CP_HQD_VMID), 5);
    qtest_writel(v->qts, f->mqd + 4 * (CP_MQD_HQD + CP_HQD_PQ_CONTROL),
                 f->c.control);
    qtest_writeq(v->qts, f->mqd + 4 * (CP_MQD_HQD + CP_HQD_PQ_BASE),
                 f->c.ring_va >> 8);
    qtest_writel(v->qts, f->mqd + 4 * (CP_MQD_HQD +
                 CP_HQD_PQ_RPTR_REPORT_ADDR), f->c.rptr_va);
    qtest_writel(v->qts, f->mqd + 4 * (CP_MQD_HQD +
                 CP_HQD_PQ_RPTR_REPORT_ADDR_HI), f->c.rptr_va >> 32);
    qtest_writel(v->qts, f->mqd + 4 * (CP_MQD_SH + 3), 0x5353);
}

static void setup(Fixture *f)
{
    setup_on(f, qvgpu_start());
}

/*
 * As setup(), but @h can hold QEMU's threads. Returns the test's mapping of a
 * VRAM page. @mc receives the GPU addresses of the page's first @n dwords.
 */
static uint32_t *setup_held(Fixture *f, QVGPUHold *h, uint64_t *mc, unsigned n)
{
    uint32_t *words;
    unsigned i;

    qvgpu_hold_init(h);
    setup_on(f, qvgpu_start_sized(QVGPU_HOLD_VRAM, h->args));
    words = qvgpu_hold_page(h, f->v, mc);
    for (i = 1; i < n; i++) {
        mc[i] = mc[0] + 4 * i;
    }
    return words;
}

static void map(Fixture *f, uint32_t bits)
{
    uint64_t mqd = qvgpu_mc(f->v, f->mqd);

    QVGPU_PM4(&f->kiq, PM4_MAP_QUEUES,
              VGPU_PREP(PM4_MAP_DW1__NUM_QUEUES, 1u) | bits, f->c.doorbell,
              QVGPU_LO(mqd), QVGPU_HI(mqd),
              QVGPU_LO(f->c.wptr_va), QVGPU_HI(f->c.wptr_va));
}

static void unmap(Fixture *f, unsigned action, unsigned sel, uint32_t what)
{
    QVGPU_PM4(&f->kiq, PM4_UNMAP_QUEUES,
              VGPU_PREP(PM4_UNMAP_DW1__NUM_QUEUES, 1u) |
              VGPU_PREP(PM4_UNMAP_DW1__QUEUE_SEL, sel) | action,
              what, 0, 0, 0);
}

/*
 * Emit a fence to the KIQ and wait for it. The KIQ has then executed all its
 * packets.
 */
static void sync_kiq(Fixture *f)
{
    static uint64_t number = 0x100000001ull;
    uint64_t va = qvgpu_mc(f->v, f->fence);

    number++;
    QVGPU_PM4(&f->kiq, PM4_QUERY_STATUS,
              VGPU_PREP(PM4_QUERY_DW1__COMMAND, PM4_QUERY_FENCE_ACK), 0,
              QVGPU_LO(va), QVGPU_HI(va), QVGPU_LO(number), QVGPU_HI(number));
    qvgpu_compute_kick(&f->kiq);
    qvgpu_wait_until(qtest_readq(f->v->qts, f->fence) == number);
}

static bool active(Fixture *f)
{
    return qvgpu_hqd_rd(&f->c, CP_HQD_ACTIVE);
}

/*
 * Catches: a queue that is mapped again does not resume at its position, or
 * loses packets emitted meanwhile; a register in the MQD is not loaded or
 * saved.
 */
static void test_map(void)
{
    const uint32_t here = VGPU_PREP(PM4_MAP_DW1__QUEUE, 4u) |
                          VGPU_PREP(PM4_MAP_DW1__PIPE, 3u);
    unsigned round;
    Fixture f;

    setup(&f);
    for (round = 1; round <= 3; round++) {
        qvgpu_pm4_write(&f.c, f.va, round);
        /* The doorbell has no effect, because the queue is not mapped. */
        qvgpu_compute_kick(&f.c);
        qtest_writeq(f.v->qts, f.c.wptr_mem, f.c.wptr);
        map(&f, here);
        sync_kiq(&f);
        qvgpu_wait_until(qtest_readl(f.v->qts, f.page) == round);
        qvgpu_pm4_write(&f.c, f.va + 4, round);
        qvgpu_compute_finish(&f.c);
        g_assert_cmphex(qtest_readl(f.v->qts, f.page + 4), ==, round);
        QVGPU_PM4(&f.c, PM4_SET_SH_REG, 0x200, 0x1000 + round);
        qvgpu_compute_finish(&f.c);

        unmap(&f, PM4_UNMAP_PREEMPT, PM4_SEL_DOORBELLS, f.c.doorbell);
        sync_kiq(&f);
        g_assert_false(active(&f));
        g_assert_cmphex(qtest_readl(f.v->qts, f.mqd + 4 * (CP_MQD_HQD +
                        CP_HQD_PQ_WPTR_LO)), ==, f.c.wptr);
        g_assert_cmphex(qtest_readl(f.v->qts, f.mqd + 4 * (CP_MQD_HQD +
                        CP_HQD_PQ_RPTR)), ==, f.c.wptr);
        g_assert_cmphex(qtest_readl(f.v->qts, f.mqd + 4 * CP_MQD_SH), ==,
                        0x1000 + round);
        g_assert_cmphex(qtest_readl(f.v->qts, f.mqd + 4 * (CP_MQD_SH + 3)),
                        ==, 0x5353);
    }
    qvgpu_stop(f.v);
}

/* Catches: UNMAP_QUEUES unmaps more or fewer queues than selected. */
static void test_select(void)
{
    const uint32_t chosen = VGPU_PREP(PM4_MAP_DW1__QUEUE_SEL, 1u);
    Fixture f;

    setup(&f);
    /* The resources contain a single HQD: ME 1, pipe 3, queue 4. */
    QVGPU_PM4(&f.kiq, PM4_SET_RESOURCES, 0, 1u << 28, 0, 0, 0, 0, 0);
    map(&f, chosen);
    sync_kiq(&f);
    g_assert_true(active(&f));
    unmap(&f, PM4_UNMAP_PREEMPT, PM4_SEL_PASID, QVGPU_PASID(6));
    unmap(&f, PM4_UNMAP_PREEMPT, PM4_SEL_DOORBELLS, f.c.doorbell + 8);
    sync_kiq(&f);
    g_assert_true(active(&f));
    unmap(&f, PM4_UNMAP_PREEMPT, PM4_SEL_PASID, QVGPU_PASID(5));
    sync_kiq(&f);
    g_assert_false(active(&f));

    map(&f, chosen | VGPU_PREP(PM4_MAP_DW1__QUEUE_TYPE, 2u));
    unmap(&f, PM4_UNMAP_PREEMPT, PM4_SEL_NON_STATIC, 0);
    sync_kiq(&f);
    g_assert_true(active(&f));
    unmap(&f, PM4_UNMAP_RESET, PM4_SEL_ALL, 0);
    sync_kiq(&f);
    g_assert_false(active(&f));
    /*
     * The KIQ is still active: UNMAP_QUEUES unmaps only queues that MAP_QUEUES
     * has mapped.
     */
    g_assert_cmphex(qvgpu_hqd_rd(&f.kiq, CP_HQD_ACTIVE), ==, 1);

    /* Without a free HQD, MAP_QUEUES is an error and the KIQ stops. */
    QVGPU_PM4(&f.kiq, PM4_SET_RESOURCES, 0, 0, 0, 0, 0, 0, 0);
    map(&f, chosen);
    qvgpu_compute_kick(&f.kiq);
    qvgpu_compute_irq(&f.kiq, IH_SRC_CP_BAD_OPCODE,
                      VGPU_PREP(IH_CP_ERROR__CODE,
                                CP_ERROR_PACKET_UNSUPPORTED));
    qvgpu_stop(f.v);
}

/* Catches: a user queue executes scheduling packets. */
static void test_others(void)
{
    QVGPUCompute c;
    Fixture f;

    setup(&f);
    qvgpu_compute_init(&c, f.v, 1, 0, 0, &f.space);
    qvgpu_compute_load(&c);
    QVGPU_PM4(&c, PM4_UNMAP_QUEUES, VGPU_PREP(PM4_UNMAP_DW1__QUEUE_SEL, 2u),
              0, 0, 0, 0);
    qvgpu_compute_kick(&c);
    qvgpu_compute_irq(&c, IH_SRC_CP_BAD_OPCODE,
                      VGPU_PREP(IH_CP_ERROR__CODE,
                                CP_ERROR_PACKET_UNSUPPORTED) |
                      (c.doorbell / 8 & IH_CP_ERROR__DOORBELL));
    qvgpu_stop(f.v);
}

/* Catches: INVALIDATE_TLBS invalidates the wrong VMID, or only one hub. */
static void test_invalidate(void)
{
    const uint32_t pasid = VGPU_PREP(PM4_INVALIDATE_DW1__PASID,
                                     (uint32_t)QVGPU_PASID(5));
    uint64_t other;
    Fixture f;

    setup(&f);
    other = qvgpu_ram_page(f.v);
    map(&f, VGPU_PREP(PM4_MAP_DW1__QUEUE, 4u) |
        VGPU_PREP(PM4_MAP_DW1__PIPE, 3u));
    sync_kiq(&f);
    qvgpu_pm4_write(&f.c, f.va, 1);
    qvgpu_compute_finish(&f.c);
    qvgpu_space_map(&f.space, f.va, other, QVGPU_PAGE);

    /* A request for another PASID leaves the old translation in the TLB. */
    QVGPU_PM4(&f.kiq, PM4_INVALIDATE_TLBS,
              VGPU_PREP(PM4_INVALIDATE_DW1__PASID, (uint32_t)QVGPU_PASID(6)));
    sync_kiq(&f);
    qvgpu_pm4_write(&f.c, f.va, 2);
    qvgpu_compute_finish(&f.c);
    g_assert_cmphex(qtest_readl(f.v->qts, f.page), ==, 2);
    g_assert_cmphex(qtest_readl(f.v->qts, other), ==, 0);

    QVGPU_PM4(&f.kiq, PM4_INVALIDATE_TLBS, pasid);
    sync_kiq(&f);
    g_assert_cmphex(qvgpu_gfx_rd(f.v, VM_INVALIDATE_ENG_ACK(3)) >> 5 & 1, ==,
                    1);
    g_assert_cmphex(qvgpu_mm_rd(f.v, VM_INVALIDATE_ENG_ACK(3)), ==, 0);
    qvgpu_pm4_write(&f.c, f.va, 3);
    qvgpu_compute_finish(&f.c);
    g_assert_cmphex(qtest_readl(f.v->qts, f.page), ==, 2);
    g_assert_cmphex(qtest_readl(f.v->qts, other), ==, 3);

    QVGPU_PM4(&f.kiq, PM4_INVALIDATE_TLBS,
              pasid | PM4_INVALIDATE_DW1__ALL_HUB);
    sync_kiq(&f);
    g_assert_cmphex(qvgpu_mm_rd(f.v, VM_INVALIDATE_ENG_ACK(3)), ==, 1u << 5);
    qvgpu_stop(f.v);
}

/*
 * Catches: INVALIDATE_TLBS never completes if its PASID moves to another VMID
 * meanwhile. Correct: wait for the ACK bit of the old VMID.
 */
static void test_invalidate_moved(void)
{
    uint32_t id;
    Fixture f;

    setup(&f);
    /* Suppress the acknowledge until the PASID has moved to VMID 7. */
    id = qvgpu_inject(f.v, "'kind': 'inv-no-ack', 'hub': 'gfx', 'vmid': 5");
    QVGPU_PM4(&f.kiq, PM4_INVALIDATE_TLBS,
              VGPU_PREP(PM4_INVALIDATE_DW1__PASID, (uint32_t)QVGPU_PASID(5)));
    qvgpu_compute_kick(&f.kiq);
    qvgpu_wait_until(qvgpu_gfx_rd(f.v, VM_INVALIDATE_ENG_REQ(3)) & 1u << 5);
    qvgpu_wr(f.v, IH_VMID_LUT(5), 0);
    qvgpu_wr(f.v, IH_VMID_LUT(7), QVGPU_PASID(5));
    /*
     * Remove the injection, and repeat the request of the INVALIDATE_TLBS
     * packet. The device now sets the ACK bit of VMID 5. The packet polls this
     * bit, and so completes.
     */
    qvgpu_inject_remove(f.v, id);
    qvgpu_gfx_wr(f.v, VM_INVALIDATE_ENG_REQ(3),
                 qvgpu_gfx_rd(f.v, VM_INVALIDATE_ENG_REQ(3)));
    sync_kiq(&f);
    g_assert_cmphex(qvgpu_gfx_rd(f.v, VM_INVALIDATE_ENG_ACK(3)), ==, 1u << 5);
    qvgpu_stop(f.v);
}

#define WRITTEN     VM_INVALIDATE_ENG_REQ(4)
#define WAITED_FOR  VM_INVALIDATE_ENG_ADDR_RANGE_LO32(5)
#define VMID_9      (1u << 9)           /* VMID 9 is not in use */
#define ENGINE      2

static void write_any_reg(QVGPUCompute *c, uint32_t reg, uint32_t val)
{
    QVGPU_PM4(c, PM4_WRITE_DATA,
              VGPU_PREP(PM4_WRITE_DATA_DW1__DST_SEL, (uint32_t)PM4_DST_REG),
              reg, 0, val);
}

static void write_reg(QVGPUCompute *c, uint32_t reg, uint32_t val)
{
    write_any_reg(c, HUB(VGPU_HUB_MM) + reg, val);
}

/*
 * Emit gate number @n to the ring of @c. @words and @mc are from setup_held().
 * @reg is a register of the MM hub that the gate reads, or 0.
 */
static void emit_gate(QVGPUGate *g, QVGPUCompute *c, uint32_t *words,
                      const uint64_t *mc, unsigned n, uint32_t reg)
{
    /*
     * Skip the first QVGPU_GATE_BYTES of the page, which hold the test's own
     * dwords.
     */
    unsigned at = (n + 1) * QVGPU_GATE_BYTES;

    qvgpu_gate_emit(g, c, mc[0] + at, words + at / sizeof(*words),
                    reg ? HUB(VGPU_HUB_MM) + reg : 0);
}

/*
 * c[0] is unmapped during its register write. c[1] then gets the same HQD, and
 * requests another register write. Catches: c[1] continues when the write for
 * c[0] ends. (c[1] must wait until its own write ends.)
 */
static void test_reg_wait(void)
{
    enum { SECOND_WAITS, KIQ_PASSED, SECOND_DONE, DWORDS };
    const uint32_t here = VGPU_PREP(PM4_MAP_DW1__QUEUE, 4u) |
                          VGPU_PREP(PM4_MAP_DW1__PIPE, 3u);
    uint64_t mc[DWORDS];
    QVGPUCompute c[2];
    QVGPUGate gate[2];
    uint32_t *words;
    QVGPUHold h;
    unsigned i;
    Fixture f;

    words = setup_held(&f, &h, mc, DWORDS);
    for (i = 0; i < 2; i++) {
        qvgpu_compute_init(&c[i], f.v, 1, 3, 4, NULL);
    }
    write_reg(&c[0], WRITTEN, VMID_9);
    qvgpu_pm4_write(&c[1], mc[SECOND_WAITS], 1);
    write_reg(&c[1], WAITED_FOR, 0x600d);
    qvgpu_pm4_write(&c[1], mc[SECOND_DONE], 1);
    for (i = 0; i < 2; i++) {
        qtest_writeq(f.v->qts, c[i].wptr_mem, c[i].wptr);
        f.c = c[i];
        f.mqd = qvgpu_ram_page(f.v);
        qvgpu_mqd_fill(&f.c, f.mqd);
        map(&f, here);
        emit_gate(&gate[i], &f.kiq, words, mc, i, i ? 0 : WRITTEN);
        if (!i) {
            unmap(&f, PM4_UNMAP_PREEMPT, PM4_SEL_DOORBELLS, f.c.doorbell);
        }
    }
    qvgpu_pm4_write(&f.kiq, mc[KIQ_PASSED], 1);

    /*
     * Hold the main loop at trace event vgpu_inv_req, in the register write for
     * c[0]. The register then has the new value, but c[0] still waits for the
     * end of the write.
     */
    qvgpu_hold_arm(&h, f.v, "vgpu_inv_req", false);
    qvgpu_compute_kick(&f.kiq);
    /*
     * Until qvgpu_hold_release(), the test sends no qtest command, because the
     * held main loop would not answer the command.
     */
    qvgpu_wait_until(qvgpu_gate_reg(&gate[0]) == VMID_9);
    /* Let the KIQ unmap c[0], and map c[1] in the same HQD. */
    qvgpu_gate_open(&gate[0]);
    /*
     * c[1] sets SECOND_WAITS in one packet, and requests the write of register
     * WAITED_FOR in the next packet. Wait here for the first of these packets.
     */
    qvgpu_wait_until(qatomic_read(&words[SECOND_WAITS]));
    qvgpu_gate_open(&gate[1]);
    /*
     * c[1] sets SECOND_WAITS and requests the write in one time slice. After
     * this slice, the CP's thread runs the KIQ, which sets KIQ_PASSED. So
     * KIQ_PASSED proves that c[1] has requested the write.
     */
    qvgpu_wait_until(qatomic_read(&words[KIQ_PASSED]));
    g_assert_false(qvgpu_hold_logged(&h));
    qvgpu_wait_until(qvgpu_hold_release(&h));
    /* c[1] must not set SECOND_DONE before WAITED_FOR is written. */
    qvgpu_wait_until(qatomic_read(&words[SECOND_DONE]));
    g_assert_cmphex(qvgpu_mm_rd(f.v, WAITED_FOR), ==, 0x600d);
    qvgpu_stop(f.v);
    qvgpu_hold_destroy(&h);
}

/*
 * Catches: the unmap of an SDMA queue does not wait until the register write of
 * an SRBM_WRITE ends. After the next map, the queue executes later packets
 * before this register write ends.
 */
static void test_srbm_unmapped(void)
{
    enum { KIQ_THERE, KIQ_PASSED, PONG, DONE, DWORDS };
    uint64_t mc[DWORDS], invalidations;
    QVGPUGate gate, ping;
    QVGPUCompute other;
    QVGPUUserSdma u;
    uint32_t dw[7];
    uint32_t *words;
    QVGPUHold h;
    Fixture f;

    words = setup_held(&f, &h, mc, DWORDS);
    qvgpu_user_sdma_init(&u, f.v, NULL, ENGINE, 0);
    QVGPU_EMIT(&u.q, SDMA_PKT(SDMA_OP_SRBM_WRITE, 0) | SDMA_SRBM_WRITE__BYTE_EN,
               HUB(VGPU_HUB_MM) + WRITTEN, VMID_9);
    qvgpu_pkt_fence(&u.q, mc[DONE], 1);
    qtest_writeq(f.v->qts, u.wptr_mem, u.q.wptr);
    qvgpu_user_sdma_map(&u, 0, dw);
    qvgpu_pm4(&f.kiq, dw, ARRAY_SIZE(dw));
    emit_gate(&gate, &f.kiq, words, mc, 0, WRITTEN);
    qvgpu_pm4_write(&f.kiq, mc[KIQ_THERE], 1);
    unmap(&f, PM4_UNMAP_PREEMPT, PM4_SEL_DOORBELLS, u.q.doorbell);
    qvgpu_pm4_write(&f.kiq, mc[KIQ_PASSED], 1);
    qvgpu_pm4(&f.kiq, dw, ARRAY_SIZE(dw));
    qvgpu_compute_init(&other, f.v, 1, 0, 0, NULL);
    qvgpu_compute_load(&other);
    emit_gate(&ping, &other, words, mc, 1, 0);
    qvgpu_compute_pass_timeslice(&other);
    qvgpu_pm4_write(&other, mc[PONG], 1);
    qvgpu_compute_kick(&other);
    invalidations = qvgpu_counter(f.v, VGPU_CNT_INVALIDATIONS);

    /*
     * Hold the main loop at trace event vgpu_inv_req, in the register write of
     * the SRBM_WRITE. The KIQ then tries the unmap before this write ends.
     */
    qvgpu_hold_arm(&h, f.v, "vgpu_inv_req", false);
    qvgpu_compute_kick(&f.kiq);
    /*
     * Until qvgpu_hold_release(), the test sends no qtest command, because the
     * held main loop would not answer the command.
     */
    qvgpu_wait_until(qvgpu_gate_reg(&gate) == VMID_9);
    qvgpu_gate_open(&gate);
    /* The KIQ writes KIQ_THERE directly before it unmaps the SDMA queue. */
    qvgpu_wait_until(qatomic_read(&words[KIQ_THERE]));
    /*
     * After gate @ping, @other executes NOPs for more than one time slice, and
     * then sets PONG. The CP's thread runs the KIQ between the slices of
     * @other. So PONG proves that the KIQ has tried the unmap.
     */
    qvgpu_gate_open(&ping);
    qvgpu_wait_until(qatomic_read(&words[PONG]));
    /* The unmap must not complete while the bottom half is held. */
    g_assert_cmphex(qatomic_read(&words[KIQ_PASSED]), ==, 0);
    qvgpu_wait_until(qvgpu_hold_release(&h));
    qvgpu_wait_until(qatomic_read(&words[DONE]));
    g_assert_cmphex(qatomic_read(&words[KIQ_PASSED]), ==, 1);
    g_assert_cmpuint(qvgpu_counter(f.v, VGPU_CNT_INVALIDATIONS), ==,
                     invalidations + 1);
    g_assert_cmpuint(qvgpu_counter(f.v, VGPU_CNT_QUEUE_ERRORS), ==, 0);
    qvgpu_stop(f.v);
    qvgpu_hold_destroy(&h);
}

/*
 * Catches: a register write of an SDMA queue is done after the engine has
 * reported that it is frozen.
 */
static void test_reg_frozen(void)
{
    enum { HELD, FREEZES, LOOKED, GOES, GONE, DONE, DWORDS };
    enum { HOLDS, FREEZE, LOOK, GO, GO_TOO, GATES };
    const uint32_t freeze = SDMA_ENGINE(ENGINE) + SDMA_FREEZE;
    uint64_t mc[DWORDS];
    QVGPUGate gate[GATES];
    QVGPUCompute c[3];
    QVGPUUserSdma u[2];
    uint32_t *words, dw[7];
    QVGPUHold h;
    unsigned i;
    Fixture f;

    words = setup_held(&f, &h, mc, DWORDS);
    for (i = 0; i < ARRAY_SIZE(c); i++) {
        qvgpu_compute_init(&c[i], f.v, 1, 0, i, NULL);
        qvgpu_compute_load(&c[i]);
    }
    write_reg(&c[0], WRITTEN, VMID_9);
    emit_gate(&gate[FREEZE], &c[1], words, mc, FREEZE, 0);
    qvgpu_pm4_write(&c[1], mc[FREEZES], 1);
    write_any_reg(&c[1], freeze, SDMA_FREEZE__FREEZE);
    emit_gate(&gate[HOLDS], &c[2], words, mc, HOLDS, WRITTEN);
    qvgpu_pm4_write(&c[2], mc[HELD], 1);
    emit_gate(&gate[LOOK], &c[2], words, mc, LOOK, 0);
    qvgpu_compute_pass_timeslice(&c[2]);
    qvgpu_pm4_write(&c[2], mc[LOOKED], 1);
    for (i = 0; i < ARRAY_SIZE(u); i++) {
        qvgpu_user_sdma_init(&u[i], f.v, NULL, ENGINE, i);
        qvgpu_pkt_fence(&u[i].q, mc[i ? GONE : GOES], 1);
        if (!i) {
            QVGPU_EMIT(&u[i].q, SDMA_PKT(SDMA_OP_SRBM_WRITE, 0) |
                       SDMA_SRBM_WRITE__BYTE_EN,
                       HUB(VGPU_HUB_MM) + WAITED_FOR, 0x600d);
            qvgpu_pkt_fence(&u[i].q, mc[DONE], 1);
        }
        qtest_writeq(f.v->qts, u[i].wptr_mem, u[i].q.wptr);
        emit_gate(&gate[i ? GO_TOO : GO], &f.kiq, words, mc,
                  i ? GO_TOO : GO, 0);
        qvgpu_user_sdma_map(&u[i], 0, dw);
        qvgpu_pm4(&f.kiq, dw, ARRAY_SIZE(dw));
    }
    qvgpu_compute_kick(&f.kiq);
    qvgpu_compute_kick(&c[1]);
    qvgpu_compute_kick(&c[2]);

    /*
     * A bottom half writes registers for all compute queues. Hold this bottom
     * half when its write for c[0] logs vgpu_inv_req.
     */
    qvgpu_hold_arm(&h, f.v, "vgpu_inv_req", false);
    qvgpu_compute_kick(&c[0]);
    /*
     * Until qvgpu_hold_release(), the test sends no qtest command, because the
     * held main loop would not answer the command.
     */
    qvgpu_wait_until(qvgpu_gate_reg(&gate[HOLDS]) == VMID_9);
    qvgpu_gate_open(&gate[HOLDS]);
    qvgpu_wait_until(qatomic_read(&words[HELD]));
    /*
     * Let c[1] request the register write that freezes the SDMA engine. The
     * main loop is held, so this write happens only after qvgpu_hold_release().
     */
    qvgpu_gate_open(&gate[FREEZE]);
    qvgpu_wait_until(qatomic_read(&words[FREEZES]));
    /*
     * After gate LOOK, c[2] executes NOPs for more than one time slice, and
     * then sets LOOKED. Between the slices of c[2], the CP's thread runs c[1],
     * which requests the freeze. So LOOKED proves that c[1] has requested the
     * freeze.
     */
    qvgpu_gate_open(&gate[LOOK]);
    qvgpu_wait_until(qatomic_read(&words[LOOKED]));
    /* The KIQ maps u[0], which sets GOES and requests a register write. */
    qvgpu_gate_open(&gate[GO]);
    qvgpu_wait_until(qatomic_read(&words[GOES]));
    /*
     * u[0] sets GOES and then requests the write, in one time slice. The same
     * thread runs u[1], which sets GONE. So GONE proves that u[0] has requested
     * the write.
     */
    qvgpu_gate_open(&gate[GO_TOO]);
    qvgpu_wait_until(qatomic_read(&words[GONE]));
    /*
     * Release the CP's bottom half, which then freezes the SDMA engine. After
     * the freeze, the SDMA engine's bottom half must not write WAITED_FOR for
     * u[0].
     */
    qvgpu_wait_until(qvgpu_hold_release(&h));
    qvgpu_main_loop_pass(f.v);
    g_assert_cmphex(qvgpu_rd(f.v, freeze), ==, SDMA_FREEZE__FREEZE |
                    SDMA_FREEZE__FROZEN);
    g_assert_cmphex(qvgpu_mm_rd(f.v, WAITED_FOR), !=, 0x600d);
    g_assert_cmphex(qatomic_read(&words[DONE]), ==, 0);
    qvgpu_wr(f.v, freeze, 0);
    qvgpu_wait_until(qatomic_read(&words[DONE]));
    g_assert_cmphex(qvgpu_mm_rd(f.v, WAITED_FOR), ==, 0x600d);
    qvgpu_stop(f.v);
    qvgpu_hold_destroy(&h);
}

void qvgpu_add_cp_kiq_tests(void)
{
    qtest_add_func("/vgpu-kfd/cp/kiq/map", test_map);
    qtest_add_func("/vgpu-kfd/cp/kiq/select", test_select);
    qtest_add_func("/vgpu-kfd/cp/kiq/invalidate", test_invalidate);
    qtest_add_func("/vgpu-kfd/cp/kiq/invalidate-moved", test_invalidate_moved);
    qtest_add_func("/vgpu-kfd/cp/kiq/others", test_others);
    qtest_add_func("/vgpu-kfd/cp/kiq/reg-wait", test_reg_wait);
    qtest_add_func("/vgpu-kfd/cp/kiq/srbm-unmapped", test_srbm_unmapped);
    qtest_add_func("/vgpu-kfd/cp/kiq/srbm-frozen", test_reg_frozen);
}
