// SPDX-License-Identifier: GPL-2.0
/*
 * Run jobs of vgpu_sdma_cpu.c on VRAM and GART pages, then compare the memory with arrays of the
 * expected bytes. Catches: a byte goes to the wrong place; a job with an invalid address succeeds.
 */
#include <linux/mm.h>

#include "hw/vgpu_hw_priv.h"
#include "tests/lib/vgpu_mock.h"

#define VRAM_BYTES	SZ_1M
#define FB_BASE		0x8000000000ull
#define PAGES		64u
#define SYS_BYTES	(PAGES * PAGE_SIZE)
#define GART_FIRST	10u		/* first GART page that is bound */
#define HOLE		(GART_FIRST + PAGES)
#define ROUNDS		200

/**
 * struct cpu_mock - memory and its expected contents
 * @mock: device
 * @vram: VRAM
 * @want_vram: expected contents of @vram
 * @page: pages of system memory, in the order in which the GART maps them
 * @want_sys: expected contents of @page
 */
struct cpu_mock {
	struct vgpu_mock *mock;
	u8 *vram;
	u8 *want_vram;
	struct page *page[PAGES];
	u8 *want_sys;
};

static void cpu_mock_fini(void *arg)
{
	struct cpu_mock *m = arg;
	unsigned int i;

	for (i = 0; i < PAGES; i++)
		if (m->page[i])
			__free_page(m->page[i]);
}

static struct cpu_mock *cpu_mock_new(struct kunit *test)
{
	struct cpu_mock *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	struct vgpu_hw_state *hw;
	unsigned int i;
	u64 *table;

	KUNIT_ASSERT_NOT_NULL(test, m);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, cpu_mock_fini, m),
			0);
	m->mock = vgpu_mock_new(test);
	vgpu_mock_regs(test, m->mock);
	hw = &m->mock->hw;
	m->vram = kunit_kzalloc(test, VRAM_BYTES, GFP_KERNEL);
	m->want_vram = kunit_kzalloc(test, VRAM_BYTES, GFP_KERNEL);
	m->want_sys = kunit_kzalloc(test, SYS_BYTES, GFP_KERNEL);
	hw->gart.total = VGPU_MOCK_GART_PAGES;
	hw->gart.shadow = kunit_kcalloc(test, hw->gart.total, sizeof(u64),
					GFP_KERNEL);
	table = kunit_kcalloc(test, hw->gart.total, sizeof(u64), GFP_KERNEL);
	KUNIT_ASSERT_TRUE(test, m->vram && m->want_vram && m->want_sys &&
			  hw->gart.shadow && table);
	hw->gart.table = (__le64 __iomem __force *)table;
	hw->base.vram = (void __iomem __force *)m->vram;
	hw->base.vram_size = VRAM_BYTES;
	hw->base.fb_base = FB_BASE;

	prandom_bytes_state(&m->mock->rnd, m->vram, VRAM_BYTES);
	memcpy(m->want_vram, m->vram, VRAM_BYTES);
	prandom_bytes_state(&m->mock->rnd, m->want_sys, SYS_BYTES);
	for (i = 0; i < PAGES; i++) {
		dma_addr_t addr;

		m->page[i] = alloc_page(GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, m->page[i]);
		memcpy(page_address(m->page[i]), m->want_sys + i * PAGE_SIZE,
		       PAGE_SIZE);
		addr = page_to_phys(m->page[i]);
		vgpu_gart_bind(&m->mock->vdev, GART_FIRST + i, 1, &addr);
	}
	return m;
}

static void cpu_expect(struct kunit *test, struct cpu_mock *m)
{
	unsigned int i;

	KUNIT_ASSERT_EQ(test, memcmp(m->vram, m->want_vram, VRAM_BYTES), 0);
	for (i = 0; i < PAGES; i++)
		KUNIT_ASSERT_EQ_MSG(test,
				    memcmp(page_address(m->page[i]),
					   m->want_sys + i * PAGE_SIZE,
					   PAGE_SIZE), 0, "page %u", i);
}

/*
 * Return a random address in VRAM or system memory. Sets *@want to the byte for this address in the
 * array of expected contents.
 */
static u64 cpu_place(struct cpu_mock *m, bool vram, u32 bytes, u32 align,
		     u8 **want)
{
	u32 at = vgpu_mock_random(m->mock, (vram ? VRAM_BYTES : SYS_BYTES) -
				  bytes + 1) & -align;

	*want = (vram ? m->want_vram : m->want_sys) + at;
	return (vram ? FB_BASE : GART_FIRST * PAGE_SIZE) + at;
}

/* Emit a copy from a random address to another, between areas that do not overlap. */
static unsigned int cpu_emit_copy(struct cpu_mock *m, u32 *dw, u32 limit)
{
	u32 bytes = 1 + vgpu_mock_random(m->mock, limit);
	bool from = vgpu_mock_random(m->mock, 2);
	bool to = vgpu_mock_random(m->mock, 2);
	u64 src, dst;
	u8 *s, *d;

	do {
		src = cpu_place(m, from, bytes, 1, &s);
		dst = cpu_place(m, to, bytes, 1, &d);
	} while (from == to && s < d + bytes && d < s + bytes);
	memcpy(d, s, bytes);
	return vgpu_sdma_emit_copy(dw, src, dst, bytes);
}

static unsigned int cpu_emit_fill(struct cpu_mock *m, u32 *dw, u32 limit)
{
	u32 bytes = 4 + 4 * vgpu_mock_random(m->mock, limit / 4);
	u32 value = vgpu_mock_random(m->mock, BIT_ULL(32));
	u64 dst;
	u8 *d;

	dst = cpu_place(m, vgpu_mock_random(m->mock, 2), bytes, 4, &d);
	memset32((u32 *)d, value, bytes / 4);
	return vgpu_sdma_emit_fill(dw, dst, value, bytes);
}

static void cpu_copies(struct kunit *test)
{
	struct cpu_mock *m = cpu_mock_new(test);
	unsigned int i, n;
	u32 dw[8];

	for (i = 0; i < ROUNDS; i++) {
		n = cpu_emit_copy(m, dw, i % 2 ? 100 : SYS_BYTES / 4);
		KUNIT_ASSERT_EQ(test, vgpu_sdma_cpu_run(&m->mock->vdev, dw, n),
				0);
		cpu_expect(test, m);
	}
	KUNIT_EXPECT_EQ(test,
			vgpu_stat_read(&m->mock->vdev, VGPU_STAT_JOBS_BY_CPU),
			ROUNDS);
}

static void cpu_fills(struct kunit *test)
{
	struct cpu_mock *m = cpu_mock_new(test);
	unsigned int i, n;
	u32 dw[8];

	for (i = 0; i < ROUNDS; i++) {
		n = cpu_emit_fill(m, dw, i % 2 ? 100 : SYS_BYTES / 2);
		KUNIT_ASSERT_EQ(test, vgpu_sdma_cpu_run(&m->mock->vdev, dw, n),
				0);
		cpu_expect(test, m);
	}
}

/* Run jobs of many packets, in which later packets read the results of earlier packets. */
static void cpu_jobs(struct kunit *test)
{
	struct cpu_mock *m = cpu_mock_new(test);
	unsigned int i, k, n;
	u32 dw[160];

	for (i = 0; i < 20; i++) {
		for (k = 0, n = 0; k < 20; k++) {
			if (vgpu_mock_random(m->mock, 2))
				n += cpu_emit_copy(m, dw + n, 5000);
			else
				n += cpu_emit_fill(m, dw + n, 5000);
			dw[n++] = SDMA_OP_NOP;
		}
		KUNIT_ASSERT_EQ(test, vgpu_sdma_cpu_run(&m->mock->vdev, dw, n),
				0);
		cpu_expect(test, m);
	}
}

/*
 * Run copies that end at the last byte of VRAM and of system memory, and copies beyond these
 * bytes.
 */
static void cpu_edges(struct kunit *test)
{
	const u64 sys = (GART_FIRST + PAGES) * PAGE_SIZE - 5;
	const u64 vram = FB_BASE + VRAM_BYTES - 5;
	struct cpu_mock *m = cpu_mock_new(test);
	u32 dw[8];
	int n;

	memcpy(m->want_sys + SYS_BYTES - 5, m->want_vram + VRAM_BYTES - 5, 5);
	n = vgpu_sdma_emit_copy(dw, vram, sys, 5);
	KUNIT_EXPECT_EQ(test, vgpu_sdma_cpu_run(&m->mock->vdev, dw, n), 0);
	cpu_expect(test, m);
	/* The byte at vram + 5 is outside VRAM. The byte at sys + 5 is in an unbound GART page. */
	n = vgpu_sdma_emit_copy(dw, vram + 5, sys, 1);
	KUNIT_EXPECT_EQ(test, vgpu_sdma_cpu_run(&m->mock->vdev, dw, n),
			-EFAULT);
	n = vgpu_sdma_emit_copy(dw, vram, sys + 5, 1);
	KUNIT_EXPECT_EQ(test, vgpu_sdma_cpu_run(&m->mock->vdev, dw, n),
			-EFAULT);
	cpu_expect(test, m);
}

static void cpu_nowhere(struct kunit *test)
{
	const u64 bad[] = {
		HOLE << PAGE_SHIFT, (GART_FIRST - 1) << PAGE_SHIFT,
		(u64)VGPU_MOCK_GART_PAGES * PAGE_SIZE, FB_BASE - 4,
		FB_BASE + VRAM_BYTES, U64_MAX - 3,
	};
	struct cpu_mock *m = cpu_mock_new(test);
	unsigned int i, n;
	u32 dw[8];

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		n = vgpu_sdma_emit_copy(dw, bad[i], FB_BASE, 4);
		KUNIT_EXPECT_EQ_MSG(test,
				    vgpu_sdma_cpu_run(&m->mock->vdev, dw, n),
				    -EFAULT, "from %#llx", bad[i]);
		n = vgpu_sdma_emit_fill(dw, bad[i], 0, 4);
		KUNIT_EXPECT_EQ_MSG(test,
				    vgpu_sdma_cpu_run(&m->mock->vdev, dw, n),
				    -EFAULT, "fill at %#llx", bad[i]);
	}
	cpu_expect(test, m);
	KUNIT_EXPECT_EQ(test,
			vgpu_stat_read(&m->mock->vdev, VGPU_STAT_JOBS_BY_CPU),
			0);
}

/* Catches: a job with an unknown or truncated packet is partly executed. */
static void cpu_refuses(struct kunit *test)
{
	struct cpu_mock *m = cpu_mock_new(test);
	u32 dw[16] = {};
	int n;

	n = vgpu_sdma_emit_fill(dw, FB_BASE, 0x12345678, 64);
	dw[n] = SDMA_OP_TRAP;
	KUNIT_EXPECT_EQ(test, vgpu_sdma_cpu_run(&m->mock->vdev, dw, n + 2),
			-EOPNOTSUPP);
	n += vgpu_sdma_emit_copy(dw + n, FB_BASE, FB_BASE + 64, 64);
	KUNIT_EXPECT_EQ(test, vgpu_sdma_cpu_run(&m->mock->vdev, dw, n - 1),
			-EOPNOTSUPP);
	/* Make the device appear removed: the registers of a removed device read as all ones. */
	m->mock->regs[VGPU_MAGIC] = U32_MAX;
	KUNIT_EXPECT_EQ(test, vgpu_sdma_cpu_run(&m->mock->vdev, dw, n),
			-ENODEV);
	cpu_expect(test, m);
}

static struct kunit_case cpu_cases[] = {
	KUNIT_CASE(cpu_copies),
	KUNIT_CASE(cpu_fills),
	KUNIT_CASE(cpu_jobs),
	KUNIT_CASE(cpu_edges),
	KUNIT_CASE(cpu_nowhere),
	KUNIT_CASE(cpu_refuses),
	{}
};

static struct kunit_suite cpu_suite = {
	.name = "vgpu_sdma_cpu",
	.test_cases = cpu_cases,
};

kunit_test_suite(cpu_suite);
