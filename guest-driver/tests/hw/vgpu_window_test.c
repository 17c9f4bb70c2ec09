// SPDX-License-Identifier: GPL-2.0
/*
 * Test the packets by which hw/vgpu_gart.c writes entries of transfer windows. A model of an engine
 * runs the packets. In window_by_cpu(), the CPU runs them (hw/sdma/vgpu_sdma_cpu.c).
 */
#include <linux/mm.h>

#include "hw/vgpu_hw_priv.h"
#include "tests/lib/vgpu_mock.h"

#define ENTRIES		VGPU_MOCK_GART_PAGES
#define WINDOWS		(VGPU_GTT_WINDOW_PAGES * VGPU_GTT_NUM_WINDOWS)
#define VRAM_BYTES	SZ_1M
#define TABLE_AT	(VRAM_BYTES / 2)
#define FB_BASE		0x8000000000ull
#define FLAGS		0x77ull	/* valid, system, snooped, executable, readable, writable */
#define MAX_PAGES	600u
#define MAX_DWORDS	(2 * MAX_PAGES + 4)
#define GUARD		0xa5a5a5a5u
#define ROUNDS		300

static_assert(TABLE_AT + ENTRIES * sizeof(u64) <= VRAM_BYTES);

/**
 * struct window_mock - a GART whose table is in VRAM
 * @mock: device
 * @vram: memory that replaces VRAM; the table is at offset TABLE_AT
 * @want: expected entries of the table
 * @addrs: addresses to bind
 * @dw: packets
 */
struct window_mock {
	struct vgpu_mock *mock;
	u8 *vram;
	u64 want[ENTRIES];
	dma_addr_t addrs[MAX_PAGES];
	u32 dw[MAX_DWORDS + 1];
};

static u64 *window_table(struct window_mock *m)
{
	return (u64 *)(m->vram + TABLE_AT);
}

static struct window_mock *window_mock_new(struct kunit *test)
{
	struct window_mock *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	struct vgpu_hw_state *hw;

	KUNIT_ASSERT_NOT_NULL(test, m);
	m->mock = vgpu_mock_new(test);
	vgpu_mock_regs(test, m->mock);
	hw = &m->mock->hw;
	m->vram = kunit_kzalloc(test, VRAM_BYTES, GFP_KERNEL);
	hw->gart.total = ENTRIES;
	hw->gart.windows = WINDOWS;
	hw->gart.table_vram = TABLE_AT;
	hw->gart.shadow = kunit_kcalloc(test, ENTRIES, sizeof(u64), GFP_KERNEL);
	KUNIT_ASSERT_TRUE(test, m->vram && hw->gart.shadow);
	hw->base.vram = (void __iomem __force *)m->vram;
	hw->gart.table = hw->base.vram + TABLE_AT;
	hw->base.vram_size = VRAM_BYTES;
	hw->base.fb_base = FB_BASE;
	return m;
}

/* Choose random addresses: single pages, and runs of contiguous pages of random length. */
static void window_addrs(struct window_mock *m, unsigned int npages)
{
	unsigned int alone = vgpu_mock_random(m->mock, 4);
	unsigned int i;
	u64 addr = 0;

	for (i = 0; i < npages; i++) {
		if (!i || !vgpu_mock_random(m->mock, 1 + 20 * alone))
			addr = vgpu_mock_random(m->mock, BIT_ULL(36)) << 12;
		m->addrs[i] = addr;
		addr = (addr + PAGE_SIZE) & VGPU_PTE_ADDR;
	}
}

static void engine_put(struct kunit *test, struct window_mock *m, u64 mc,
		       u64 pte)
{
	u64 index = (mc - FB_BASE - TABLE_AT) / sizeof(u64);

	KUNIT_ASSERT_LT(test, index, WINDOWS);
	KUNIT_ASSERT_EQ(test, mc % sizeof(u64), 0);
	window_table(m)[index] = pte;
}

static u64 pair(const u32 *dw)
{
	return dw[0] | (u64)dw[1] << 32;
}

/* Model of the engine: run the packets in @m->dw, which write entries of the GART's table. */
static void engine_run(struct kunit *test, struct window_mock *m,
		       unsigned int ndw)
{
	const u32 *dw = m->dw, *end = m->dw + ndw;
	u64 i, n;

	while (dw < end) {
		switch (dw[0]) {
		case 0x2:	/* WRITE_LINEAR */
			n = (dw[3] + 1) / 2;
			KUNIT_ASSERT_EQ(test, dw[3] % 2, 1);
			for (i = 0; i < n; i++)
				engine_put(test, m, pair(dw + 1) + 8 * i,
					   pair(dw + 4 + 2 * i));
			dw += 4 + 2 * n;
			break;
		case 0xc:	/* PTEPDE */
			for (i = 0; i <= dw[9]; i++)
				engine_put(test, m, pair(dw + 1) + 8 * i,
					   pair(dw + 3) | (pair(dw + 5) +
					   i * pair(dw + 7)));
			dw += 10;
			break;
		default:
			KUNIT_FAIL_AND_ABORT(test, "packet %#x", dw[0]);
		}
	}
	KUNIT_ASSERT_PTR_EQ(test, dw, end);
}

/* Catches: an entry is wrong, missing or outside of the windows; packets exceed their buffer. */
static void window_entries(struct kunit *test)
{
	struct window_mock *m = window_mock_new(test);
	unsigned int round, i;

	for (round = 0; round < ROUNDS; round++) {
		unsigned int n = vgpu_mock_random(m->mock, MAX_PAGES + 1), ndw;
		u64 page = vgpu_mock_random(m->mock, WINDOWS - n + 1), bound;
		unsigned int room = MAX_DWORDS;

		if (vgpu_mock_random(m->mock, 2))
			room = vgpu_mock_random(m->mock, 2 * n + 5);
		window_addrs(m, n);
		memset(m->dw, 0xa5, sizeof(m->dw));
		ndw = vgpu_gart_emit_bind(&m->mock->vdev, m->dw, room, page, n,
					  m->addrs, &bound);
		KUNIT_ASSERT_LE(test, ndw, min(room, 2 * n + 4));
		KUNIT_ASSERT_EQ(test, m->dw[ndw], GUARD);
		KUNIT_ASSERT_LE(test, bound, n);
		if (room >= 2 * n + 4)
			KUNIT_ASSERT_EQ(test, bound, n);
		else if (room >= SDMA_PTEPDE_DWORDS && n)
			KUNIT_ASSERT_GT(test, bound, 0);
		for (i = 0; i < bound; i++)
			m->want[page + i] = m->addrs[i] | FLAGS;
		engine_run(test, m, ndw);
		KUNIT_ASSERT_EQ(test, memcmp(window_table(m), m->want,
					     sizeof(m->want)), 0);
	}
}

/* Check that one packet binds a whole run of contiguous pages. */
static void window_runs(struct kunit *test)
{
	struct window_mock *m = window_mock_new(test);
	unsigned int i;
	u64 bound;

	for (i = 0; i < MAX_PAGES; i++)
		m->addrs[i] = (1000 + i) * PAGE_SIZE;
	KUNIT_EXPECT_EQ(test, vgpu_gart_emit_bind(&m->mock->vdev, m->dw, 10, 7,
						  MAX_PAGES, m->addrs, &bound),
			10);
	KUNIT_EXPECT_EQ(test, bound, MAX_PAGES);
}

/*
 * Check the two packets of a flush. The first invalidates the PTEs of VMID 0 in the MM hub. The
 * second polls the hub's acknowledge.
 */
static void window_flush(struct kunit *test)
{
	unsigned int engine;
	u32 dw[10];

	for (engine = 0; engine < VGPU_NUM_SDMA; engine++) {
		u32 hub = 0x1ab80, inv = 4 + engine;

		memset(dw, 0xa5, sizeof(dw));
		KUNIT_EXPECT_EQ(test, vgpu_gart_emit_flush_tlb(engine, dw), 9);
		KUNIT_EXPECT_EQ(test, dw[0], 0xf000000e);
		KUNIT_EXPECT_EQ(test, dw[1], hub + 0x63 + inv);
		KUNIT_EXPECT_EQ(test, dw[2], 0x440001);
		KUNIT_EXPECT_EQ(test, dw[3], 0x30000008);
		KUNIT_EXPECT_EQ(test, dw[4], (hub + 0x75 + inv) * 4);
		KUNIT_EXPECT_EQ(test, dw[6], 1);
		KUNIT_EXPECT_EQ(test, dw[7], 1);
		/* 0xfff: no limit of retries */
		KUNIT_EXPECT_EQ(test, dw[8] >> 16, 0xfff);
		KUNIT_EXPECT_EQ(test, dw[9], GUARD);
		KUNIT_EXPECT_TRUE(test, vgpu_sdma_cpu_can(dw, 9));
		/*
		 * dw[1] names the register that starts the flush. Each SDMA engine uses one
		 * register, and the registers are consecutive. So dw[1] + 1 is valid, except for
		 * the last engine.
		 */
		dw[1]++;
		KUNIT_EXPECT_EQ(test, vgpu_sdma_cpu_can(dw, 9),
				engine + 1 < VGPU_NUM_SDMA);
		/* This register is behind the registers of all SDMA engines. */
		dw[1] += VGPU_NUM_SDMA;
		KUNIT_EXPECT_FALSE(test, vgpu_sdma_cpu_can(dw, 9));
	}
}

/*
 * Each SDMA engine with a transfer window uses one invalidation engine. Check that the range
 * registers of this invalidation engine cover exactly the pages of the window.
 */
static void window_ranges(struct kunit *test)
{
	struct window_mock *m = window_mock_new(test);
	unsigned int engine;

	m->mock->hw.gart.start = 0;
	KUNIT_ASSERT_EQ(test, vgpu_gmc_start(&m->mock->vdev), 0);
	for (engine = 0; engine < VGPU_NUM_SDMA; engine++) {
		const u32 *regs = m->mock->regs + 0x1ab80 + 0x87 +
				  2 * (4 + engine);
		u64 range = pair(regs), n;

		KUNIT_EXPECT_EQ(test, range & 1, 1);
		range >>= 1;
		for (n = 0; range & BIT_ULL(n); n++)
			;
		KUNIT_EXPECT_EQ(test, 2ull << n, VGPU_GTT_WINDOW_PAGES);
		KUNIT_EXPECT_EQ(test, range & ~GENMASK_ULL(n, 0),
				engine * VGPU_GTT_WINDOW_PAGES);
	}
}

static void window_free_pages(void *arg)
{
	__free_pages(arg, 1);
}

/* A CPU job copies VRAM to two pages through a window that maps the pages in swapped order. */
static void window_by_cpu(struct kunit *test)
{
	struct page *pages = alloc_pages(GFP_KERNEL | __GFP_ZERO, 1);
	struct window_mock *m = window_mock_new(test);
	struct vgpu_device *vdev = &m->mock->vdev;
	u64 mc = 5 * PAGE_SIZE, bound;
	unsigned int round, n;
	u8 *at;

	KUNIT_ASSERT_NOT_NULL(test, pages);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, window_free_pages,
							pages), 0);
	at = page_address(pages);
	m->addrs[0] = page_to_phys(pages) + PAGE_SIZE;
	m->addrs[1] = page_to_phys(pages);
	for (round = 0; round < 2; round++) {
		memset(at, 0, 2 * PAGE_SIZE);
		prandom_bytes_state(&m->mock->rnd, m->vram, 2 * PAGE_SIZE);
		n = vgpu_gart_emit_bind(vdev, m->dw, MAX_DWORDS, 5, 2, m->addrs,
					&bound);
		n += vgpu_gart_emit_flush_tlb(0, m->dw + n);
		n += vgpu_sdma_emit_copy(m->dw + n, FB_BASE, mc, 2 * PAGE_SIZE);
		KUNIT_ASSERT_EQ(test, vgpu_sdma_cpu_run(vdev, m->dw, n), 0);
		KUNIT_EXPECT_EQ(test, window_table(m)[5], m->addrs[0] | FLAGS);
		KUNIT_EXPECT_EQ(test, window_table(m)[6], m->addrs[1] | FLAGS);
		KUNIT_EXPECT_EQ(test, memcmp(at + PAGE_SIZE, m->vram,
					     PAGE_SIZE), 0);
		KUNIT_EXPECT_EQ(test, memcmp(at, m->vram + PAGE_SIZE,
					     PAGE_SIZE), 0);
		/* Overwrite the table with garbage, as a reset that loses VRAM does. */
		memset(window_table(m), 0xff, WINDOWS * sizeof(u64));
		/*
		 * The CPU must translate through the driver's copy (gart.shadow), not through the
		 * overwritten table. In the copy, only entries 5 and 6 are valid.
		 */
		n = vgpu_sdma_emit_copy(m->dw, FB_BASE, mc, PAGE_SIZE);
		KUNIT_EXPECT_EQ(test, vgpu_sdma_cpu_run(vdev, m->dw, n), 0);
		n = vgpu_sdma_emit_copy(m->dw, FB_BASE, mc + 2 * PAGE_SIZE, 4);
		KUNIT_EXPECT_EQ(test, vgpu_sdma_cpu_run(vdev, m->dw, n),
				-EFAULT);
	}
}

/*
 * Check that vgpu_gart_restore() does not change the windows' entries, because running jobs may use
 * them. Check that vgpu_gart_close_windows() clears these entries.
 */
static void window_restore(struct kunit *test)
{
	struct window_mock *m = window_mock_new(test);
	struct vgpu_device *vdev = &m->mock->vdev;
	u64 i;

	for (i = 0; i < ENTRIES; i++)
		window_table(m)[i] = i * PAGE_SIZE | FLAGS;
	KUNIT_EXPECT_EQ(test, vgpu_gart_restore(vdev), ENTRIES - WINDOWS);
	for (i = 0; i < ENTRIES; i++)
		KUNIT_ASSERT_EQ(test, window_table(m)[i],
				i < WINDOWS ? i * PAGE_SIZE | FLAGS : 0);
	vgpu_gart_close_windows(vdev);
	for (i = 0; i < ENTRIES; i++)
		KUNIT_ASSERT_EQ(test, window_table(m)[i], 0);
}

static struct kunit_case window_cases[] = {
	KUNIT_CASE(window_entries),
	KUNIT_CASE(window_runs),
	KUNIT_CASE(window_flush),
	KUNIT_CASE(window_ranges),
	KUNIT_CASE(window_by_cpu),
	KUNIT_CASE(window_restore),
	{}
};

static struct kunit_suite window_suite = {
	.name = "vgpu_window",
	.test_cases = window_cases,
};

kunit_test_suite(window_suite);
