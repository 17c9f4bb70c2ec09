/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: tests the registers, the NBIO, the GPU clock, the device
 * information and the reset.
 */
#include "qemu/osdep.h"
#include "vgpu/cp.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"
#include "tests/qtest/vgpu-kfd/lib/sdma-queue.h"
#include "tests/qtest/vgpu-kfd/pci/suite.h"

/* A register without effect that keeps the value written to it. */
#define SCRATCH     (HUB(VGPU_HUB_MM) + VM_L2_CNTL3)

static void check_reset_values(QVGPU *v)
{
    static const struct {
        uint32_t reg;
        uint32_t val;
    } fixed[] = {
        { PCIE_INDEX2, 0 },
        { RCC_DOORBELL_APER_EN, 0 },
        { RCC_CONFIG_MEMSIZE, 64 },
        { RCC_IOV_FUNC_IDENTIFIER, 0 },
        { GPU_HDP_FLUSH_DONE, 0 },
        { BIF_SDMA0_DOORBELL_RANGE, 0 },
        { BIF_SDMA1_DOORBELL_RANGE, 0 },
        { BIF_SDMA2_DOORBELL_RANGE, 0 },
        { BIF_SDMA3_DOORBELL_RANGE, 0 },
        { BIF_SDMA4_DOORBELL_RANGE, 0 },
        { BIF_IH_DOORBELL_RANGE, 0 },
        { IH_RB_CNTL, 0 },
        { IH_RB_RPTR, 0 },
        { IH_RB_WPTR, 0 },
        { IH_RETRY_INT_CAM_CNTL, 0 },
        { ATC_VMID_PASID_MAPPING_UPDATE_STATUS, 0 },
        { VGPU_MAGIC, VGPU_MAGIC_VALUE },
        { VGPU_VERSION, VGPU_VERSION_VALUE },
        { VGPU_SDMA_COUNT, SDMA_NUM_ENGINES },
        { VGPU_FAULT_SERIAL, 0 },
    };
    unsigned i, n, h;

    for (i = 0; i < ARRAY_SIZE(fixed); i++) {
        if (qvgpu_rd(v, fixed[i].reg) != fixed[i].val) {
            g_error("register 0x%05x is 0x%08x out of reset, not 0x%08x",
                    fixed[i].reg, qvgpu_rd(v, fixed[i].reg), fixed[i].val);
        }
    }
    for (h = 0; h < VGPU_NUM_HUBS; h++) {
        g_assert_cmphex(qvgpu_rd(v, HUB(h) + MC_VM_FB_LOCATION_BASE), ==,
                        0x8000);
        g_assert_cmphex(qvgpu_rd(v, HUB(h) + MC_VM_FB_LOCATION_TOP), ==,
                        0x8003);
        g_assert_cmphex(qvgpu_rd(v, HUB(h) + MC_VM_FB_OFFSET), ==, 0);
        g_assert_cmphex(qvgpu_rd(v, HUB(h) + VM_L2_PROTECTION_FAULT_STATUS),
                        ==, 0);
        for (i = 0; i < VGPU_NUM_VMIDS; i++) {
            g_assert_cmphex(qvgpu_rd(v, HUB(h) + VM_CONTEXT_CNTL(i)) &
                            VM_CONTEXT_CNTL__ENABLE_CONTEXT, ==, 0);
        }
    }
    for (i = 0; i < SDMA_NUM_ENGINES; i++) {
        g_assert_cmphex(qvgpu_rd(v, SDMA_ENGINE(i) + SDMA_STATUS_REG) &
                        SDMA_STATUS_REG__IDLE, !=, 0);
        for (n = 0; n < SDMA_NUM_QUEUES; n++) {
            uint32_t q = SDMA_ENGINE(i) + SDMA_QUEUE(n);

            g_assert_cmphex(qvgpu_rd(v, q + SDMA_RB_CNTL), ==, 0);
            g_assert_cmphex(qvgpu_rd(v, q + SDMA_DOORBELL), ==, 0);
            g_assert_cmphex(qvgpu_rd(v, q + SDMA_CONTEXT_STATUS) &
                            (SDMA_CONTEXT_STATUS__IDLE |
                             SDMA_CONTEXT_STATUS__EXCEPTION), ==,
                            SDMA_CONTEXT_STATUS__IDLE);
        }
    }
    for (i = 0; i < VGPU_NUM_COUNTERS; i++) {
        g_assert_cmpuint(qvgpu_counter(v, i), ==, 0);
    }
}

/* Catches: the reset value of a register differs from the specification. */
static void test_reset_values(void)
{
    QVGPU *v = qvgpu_start_cold("64M");

    check_reset_values(v);
    qvgpu_stop(v);
}

/*
 * Catches: a system reset does not reset a queue, a ring or a counter, or
 * clears VRAM.
 */
static void test_system_reset(void)
{
    QVGPU *v = qvgpu_start();
    uint64_t buf = qvgpu_alloc(v, QVGPU_VRAM, QVGPU_PAGE, QVGPU_PAGE);
    QVGPUSpace space;
    QVGPUSdma q, stalled;

    qvgpu_fill(v, buf, 3, 0, QVGPU_PAGE);
    qvgpu_space_init(&space, v, 5, QVGPU_VRAM);
    qvgpu_sdma_open(&q, v, 0, SDMA_QUEUE_GFX, NULL);
    qvgpu_pkt_trap(&q, 1);
    qvgpu_pkt_poll_mem(&q, QVGPU_POLL_EQ, qvgpu_mc(v, q.rptr) + 64, 1,
                       UINT32_MAX, QVGPU_POLL_FOREVER);
    qvgpu_sdma_kick(&q);
    qvgpu_sdma_open(&stalled, v, 0, SDMA_QUEUE_RLC(0), &space);
    qvgpu_pkt_fence(&stalled, 0x123000, 1);
    qvgpu_sdma_kick(&stalled);
    qvgpu_wait_until(qvgpu_counter(v, VGPU_CNT_FAULTS_RETRY) == 1);

    qtest_system_reset(v->qts);
    qvgpu_map_bars(v);
    check_reset_values(v);
    /* VRAM keeps its contents. */
    qvgpu_expect(v, buf, 3, 0, QVGPU_PAGE);
    qvgpu_stop(v);
}

/* Catches: an unassigned register has an effect or does not read as 0. */
static void test_unknown_registers(void)
{
    static const uint32_t holes[] = {
        0x2, 0x5, 0x8000, 0x10000, 0x1dfff, VGPU_BASE - 1,
        VGPU_COUNTER(VGPU_NUM_COUNTERS), VGPU_MMIO_DWORDS - 1,
        SDMA_ENGINE(4) + SDMA_QUEUE(SDMA_NUM_QUEUES),
        SDMA_ENGINE(0) + SDMA_QUEUE(SDMA_NUM_QUEUES),
    };
    QVGPU *v = qvgpu_start_cold("64M");
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(holes); i++) {
        qvgpu_wr(v, holes[i], 0xffffffff);
        if (qvgpu_rd(v, holes[i])) {
            g_error("register 0x%05x reads 0x%08x", holes[i],
                    qvgpu_rd(v, holes[i]));
        }
    }
    check_reset_values(v);
    qvgpu_stop(v);
}

/*
 * Catches: a register value crashes or hangs the device; a reset does not reset
 * a register. The values switch every enable bit on and off.
 */
static void test_all_registers_survive(void)
{
    static const uint32_t values[] = { 0xffffffff, 0, 0x55555555, 0xaaaaaaaa };
    QVGPU *v = qvgpu_start_cold("64M");
    g_autofree uint32_t *all = g_malloc(VGPU_MMIO_BAR_SIZE);
    unsigned i, n;

    for (i = 0; i < ARRAY_SIZE(values); i++) {
        for (n = 0; n < VGPU_MMIO_DWORDS; n++) {
            all[n] = values[i];
        }
        qtest_bufwrite(v->qts, v->bar[VGPU_BAR_MMIO], all, VGPU_MMIO_BAR_SIZE);
        qtest_bufread(v->qts, v->bar[VGPU_BAR_MMIO], all, VGPU_MMIO_BAR_SIZE);
    }
    qtest_system_reset(v->qts);
    qvgpu_map_bars(v);
    check_reset_values(v);
    qvgpu_stop(v);
}

/*
 * Catches: an access of less than 32 bits, or an unaligned access, reads or
 * changes a register.
 */
static void test_access_sizes(void)
{
    QVGPU *v = qvgpu_start_cold("64M");
    uint64_t at = v->bar[VGPU_BAR_MMIO] + 4ull * SCRATCH;

    qvgpu_wr(v, SCRATCH, 0x12345678);
    qvgpu_wr(v, SCRATCH + 1, 0);
    qtest_writeb(v->qts, at, 0xff);
    qtest_writeb(v->qts, at + 3, 0xff);
    qtest_writew(v->qts, at, 0xffff);
    qtest_writew(v->qts, at + 2, 0xffff);
    qtest_writel(v->qts, at + 1, 0xffffffff);
    qtest_writel(v->qts, at - 2, 0xffffffff);
    g_assert_cmphex(qvgpu_rd(v, SCRATCH), ==, 0x12345678);
    g_assert_cmphex(qtest_readb(v->qts, at), !=, 0x78);
    g_assert_cmphex(qtest_readw(v->qts, at), !=, 0x5678);
    g_assert_cmphex(qvgpu_rd(v, VGPU_MAGIC), ==, VGPU_MAGIC_VALUE);
    qvgpu_stop(v);
}

/*
 * Catches: PCIE_INDEX2 is taken for an offset in dwords instead of bytes;
 * PCIE_DATA2 accesses registers beyond the BAR; PCIE_DATA2 that addresses
 * itself recurses endlessly.
 */
static void test_indirect_window(void)
{
    QVGPU *v = qvgpu_start_cold("64M");

    qvgpu_wr(v, PCIE_INDEX2, 4 * SCRATCH);
    g_assert_cmphex(qvgpu_rd(v, PCIE_INDEX2), ==, 4 * SCRATCH);
    qvgpu_wr(v, PCIE_DATA2, 0xfeedc0de);
    g_assert_cmphex(qvgpu_rd(v, SCRATCH), ==, 0xfeedc0de);
    g_assert_cmphex(qvgpu_rd(v, PCIE_DATA2), ==, 0xfeedc0de);

    qvgpu_wr(v, PCIE_INDEX2, VGPU_MMIO_BAR_SIZE);
    qvgpu_wr(v, PCIE_DATA2, 1);
    g_assert_cmphex(qvgpu_rd(v, PCIE_DATA2), ==, 0);
    qvgpu_wr(v, PCIE_INDEX2, 0xfffffffc);
    qvgpu_wr(v, PCIE_DATA2, 1);
    g_assert_cmphex(qvgpu_rd(v, PCIE_DATA2), ==, 0);

    qvgpu_wr(v, PCIE_INDEX2, 4 * PCIE_DATA2);
    qvgpu_wr(v, PCIE_DATA2, 4 * PCIE_DATA2);
    qvgpu_rd(v, PCIE_DATA2);
    qvgpu_wr(v, PCIE_INDEX2, 4 * VGPU_MAGIC);
    g_assert_cmphex(qvgpu_rd(v, PCIE_DATA2), ==, VGPU_MAGIC_VALUE);
    qvgpu_stop(v);
}

/*
 * Catches: MM_DATA accesses VRAM at another offset than BAR 0 does; MM_DATA
 * accesses memory beyond the end of VRAM.
 */
static void test_vram_window(void)
{
    QVGPU *v = qvgpu_start_cold("64M");
    uint64_t at = 64 * MiB - 4;

    qvgpu_wr(v, MM_INDEX_HI, 0);
    qvgpu_wr(v, MM_INDEX, MM_INDEX__APERTURE | at);
    qvgpu_wr(v, MM_DATA, 0xfeedc0de);
    g_assert_cmphex(qtest_readl(v->qts, v->bar[VGPU_BAR_VRAM] + at), ==,
                    0xfeedc0de);
    g_assert_cmphex(qvgpu_rd(v, MM_DATA), ==, 0xfeedc0de);
    qtest_writel(v->qts, v->bar[VGPU_BAR_VRAM] + at, 0x12345678);
    g_assert_cmphex(qvgpu_rd(v, MM_DATA), ==, 0x12345678);

    /* MM_DATA has no effect while MM_INDEX lacks the aperture bit. */
    qvgpu_wr(v, MM_INDEX, at);
    qvgpu_wr(v, MM_DATA, 1);
    g_assert_cmphex(qvgpu_rd(v, MM_DATA), ==, 0);
    /* MM_DATA has no effect at the first offset after VRAM. */
    qvgpu_wr(v, MM_INDEX, MM_INDEX__APERTURE | (at + 4));
    qvgpu_wr(v, MM_DATA, 1);
    g_assert_cmphex(qvgpu_rd(v, MM_DATA), ==, 0);
    /* MM_DATA has no effect far beyond the end of VRAM. */
    qvgpu_wr(v, MM_INDEX_HI, 1);
    qvgpu_wr(v, MM_INDEX, MM_INDEX__APERTURE | at);
    qvgpu_wr(v, MM_DATA, 1);
    g_assert_cmphex(qvgpu_rd(v, MM_DATA), ==, 0);
    qvgpu_wr(v, MM_INDEX_HI, UINT32_MAX);
    qvgpu_wr(v, MM_INDEX, UINT32_MAX);
    qvgpu_wr(v, MM_DATA, 1);
    g_assert_cmphex(qvgpu_rd(v, MM_DATA), ==, 0);
    g_assert_cmphex(qtest_readl(v->qts, v->bar[VGPU_BAR_VRAM] + at), ==,
                    0x12345678);
    qvgpu_stop(v);
}

/*
 * Catches: GPU_HDP_FLUSH_DONE does not report a requested flush, so that the
 * driver waits forever; GPU_HDP_FLUSH_DONE reports a flush that was not
 * requested; a guest can write GPU_HDP_FLUSH_DONE.
 */
static void test_hdp_flush(void)
{
    QVGPU *v = qvgpu_start_cold("64M");
    const uint32_t page = 0x7f000;

    qvgpu_wr(v, GPU_HDP_FLUSH_REQ, GPU_HDP_FLUSH__SDMA0);
    qvgpu_wait_until(qvgpu_rd(v, GPU_HDP_FLUSH_DONE) & GPU_HDP_FLUSH__SDMA0);
    g_assert_cmphex(qvgpu_rd(v, GPU_HDP_FLUSH_DONE) & GPU_HDP_FLUSH__SDMA1,
                    ==, 0);
    qvgpu_wr(v, GPU_HDP_FLUSH_DONE, UINT32_MAX);
    g_assert_cmphex(qvgpu_rd(v, GPU_HDP_FLUSH_DONE), ==,
                    GPU_HDP_FLUSH__SDMA0);

    qvgpu_wr(v, REMAP_HDP_MEM_FLUSH_CNTL, page);
    qvgpu_wr(v, REMAP_HDP_REG_FLUSH_CNTL, page + 4);
    g_assert_cmphex(qvgpu_rd(v, REMAP_HDP_MEM_FLUSH_CNTL), ==, page);
    g_assert_cmphex(qvgpu_rd(v, REMAP_HDP_REG_FLUSH_CNTL), ==, page + 4);
    qvgpu_wr(v, page / 4, 0);
    qvgpu_wr(v, page / 4 + 1, 0);
    qvgpu_stop(v);
}

/* Catches: a guest can write an identity register or a counter. */
static void test_device_info(void)
{
    QVGPU *v = qvgpu_start_cold("64M");
    uint32_t reg;

    for (reg = VGPU_BASE; reg < VGPU_COUNTER(VGPU_NUM_COUNTERS); reg++) {
        qvgpu_wr(v, reg, 0x5a5a5a5a);
    }
    check_reset_values(v);

    qvgpu_wr(v, RCC_DOORBELL_APER_EN, 1);
    qtest_writel(v->qts, v->bar[VGPU_BAR_DOORBELL], 1);
    g_assert_cmpuint(qvgpu_counter(v, VGPU_CNT_DOORBELLS), ==, 1);
    /* The counter is 1, so this register, the high half, must be 0. */
    g_assert_cmpuint(qvgpu_rd(v, VGPU_COUNTER(VGPU_CNT_DOORBELLS) + 1), ==,
                     0);
    qvgpu_stop(v);
}

/*
 * Catches: the GPU clock has another rate than VGPU_CLOCK_HZ; a captured value
 * changes without a new capture.
 */
static void test_clock(void)
{
    QVGPU *v = qvgpu_start_cold("64M");
    uint64_t t0 = qvgpu_clock(v);

    qtest_clock_step(v->qts, 12340);
    /* Neither the time nor a write of 0 (no capture) changes the registers. */
    g_assert_cmphex(qvgpu_rd(v, RLC_GPU_CLOCK_COUNT_LSB), ==, (uint32_t)t0);
    qvgpu_wr(v, RLC_CAPTURE_GPU_CLOCK_COUNT, 0);
    g_assert_cmphex(qvgpu_rd(v, RLC_GPU_CLOCK_COUNT_LSB), ==, (uint32_t)t0);

    g_assert_cmpuint(qvgpu_clock(v) - t0, ==, 1234);
    g_assert_cmpuint(qvgpu_clock(v) - t0, ==, 1234);
    /* Step one hour, so that the high half of the clock is not 0. */
    qtest_clock_step(v->qts, 3600ll * 1000000000);
    g_assert_cmpuint(qvgpu_clock(v) - t0, ==,
                     1234 + 3600ull * VGPU_CLOCK_HZ);
    qvgpu_stop(v);
}

/*
 * Catches: ATC_VMID_PASID_MAPPING_UPDATE_STATUS does not confirm a PASID
 * mapping. amdgpu waits for the confirmation when it assigns a VMID.
 */
static void test_pasid_mapping(void)
{
    QVGPU *v = qvgpu_start_cold("64M");
    unsigned i;

    for (i = 1; i < 32; i += 5) {
        uint32_t map = ATC_VMID_PASID_MAPPING__VALID | (0x8000 + i);

        qvgpu_wr(v, ATC_VMID_PASID_MAPPING(i), map);
        qvgpu_wait_until(qvgpu_rd(v, ATC_VMID_PASID_MAPPING_UPDATE_STATUS) &
                         (1u << i));
        qvgpu_wr(v, ATC_VMID_PASID_MAPPING_UPDATE_STATUS, 1u << i);
        g_assert_cmphex(qvgpu_rd(v, ATC_VMID_PASID_MAPPING_UPDATE_STATUS), ==,
                        0);
        g_assert_cmphex(qvgpu_rd(v, ATC_VMID_PASID_MAPPING(i)), ==, map);
    }
    qvgpu_stop(v);
}

/* Catches: a write to a register of one hub changes the other hub. */
static void test_hubs_are_two(void)
{
    static const uint32_t kept[] = {
        VM_L2_CNTL, VM_L2_CNTL3, VM_L2_CNTL4, VM_CONTEXT_CNTL(0),
        VM_CONTEXT_CNTL(15), VM_CONTEXT_PAGE_TABLE_BASE_ADDR_LO32(3),
        VM_CONTEXT_PAGE_TABLE_START_ADDR_HI32(15),
        VM_CONTEXT_PAGE_TABLE_END_ADDR_LO32(0), MC_VM_FB_OFFSET,
        MC_VM_SYSTEM_APERTURE_LOW_ADDR, MC_VM_MX_L1_TLB_CNTL,
    };
    QVGPU *v = qvgpu_start_cold("64M");
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(kept); i++) {
        qvgpu_wr(v, HUB(VGPU_HUB_GFX) + kept[i], 0x100 + i);
        qvgpu_wr(v, HUB(VGPU_HUB_MM) + kept[i], 0x200 + i);
    }
    for (i = 0; i < ARRAY_SIZE(kept); i++) {
        g_assert_cmphex(qvgpu_rd(v, HUB(VGPU_HUB_GFX) + kept[i]), ==,
                        0x100 + i);
        g_assert_cmphex(qvgpu_rd(v, HUB(VGPU_HUB_MM) + kept[i]), ==,
                        0x200 + i);
    }
    qvgpu_stop(v);
}

/*
 * Catches: the lookup of a register's block misses the first or the last
 * register of the block, or returns another block.
 */
static void test_every_block(void)
{
    uint32_t kept[16 + 3 * SDMA_NUM_ENGINES] = {
        GDS_GWS_VMID(0), GDS_GWS_VMID(15), MM_INDEX, PCIE_INDEX2,
        ATC_VMID_PASID_MAPPING(0), ATC_VMID_PASID_MAPPING(31),
        BIF_SDMA0_DOORBELL_RANGE, BIF_SDMA4_DOORBELL_RANGE, IH_VMID_LUT(0),
        IH_CNTL, SH_MEM_BASES, SH_MEM_CONFIG, CP_MEC_DOORBELL_RANGE_LOWER,
        CP_MEC_DOORBELL_RANGE_UPPER, CP_HQD + CP_MQD_BASE_ADDR,
        RLC_CP_SCHEDULERS,
    };
    QVGPU *v = qvgpu_start_cold("64M");
    unsigned i, n = 16;

    for (i = 0; i < SDMA_NUM_ENGINES; i++) {
        uint32_t engine = SDMA_ENGINE(i);

        kept[n++] = engine + SDMA_CHICKEN_BITS;
        kept[n++] = engine + SDMA_QUEUE(0) + SDMA_DUMMY_REG;
        kept[n++] = engine + SDMA_QUEUE(SDMA_NUM_QUEUES - 1) + SDMA_DUMMY_REG;
    }
    qvgpu_wr(v, GRBM_GFX_CNTL, VGPU_PREP(GRBM_GFX_CNTL__MEID, 1));
    for (i = 0; i < n; i++) {
        qvgpu_wr(v, kept[i], 4 * (i + 1));
    }
    for (i = 0; i < n; i++) {
        g_assert_cmphex(qvgpu_rd(v, kept[i]), ==, 4 * (i + 1));
    }
    g_assert_cmphex(qvgpu_rd(v, GRBM_GFX_CNTL), ==,
                    VGPU_PREP(GRBM_GFX_CNTL__MEID, 1));
    g_assert_cmphex(qvgpu_rd(v, GB_ADDR_CONFIG), ==, 0x2a114042);
    qvgpu_stop(v);
}

void qvgpu_add_regs_tests(void)
{
    qtest_add_func("/vgpu-kfd/regs/reset-values", test_reset_values);
    qtest_add_func("/vgpu-kfd/regs/system-reset", test_system_reset);
    qtest_add_func("/vgpu-kfd/regs/unknown", test_unknown_registers);
    qtest_add_func("/vgpu-kfd/regs/all-survive", test_all_registers_survive);
    qtest_add_func("/vgpu-kfd/regs/access-sizes", test_access_sizes);
    qtest_add_func("/vgpu-kfd/regs/indirect-window", test_indirect_window);
    qtest_add_func("/vgpu-kfd/regs/vram-window", test_vram_window);
    qtest_add_func("/vgpu-kfd/regs/hdp-flush", test_hdp_flush);
    qtest_add_func("/vgpu-kfd/regs/model-block", test_device_info);
    qtest_add_func("/vgpu-kfd/regs/clock", test_clock);
    qtest_add_func("/vgpu-kfd/regs/pasid-mapping", test_pasid_mapping);
    qtest_add_func("/vgpu-kfd/regs/hubs-are-two", test_hubs_are_two);
    qtest_add_func("/vgpu-kfd/regs/every-block", test_every_block);
}
