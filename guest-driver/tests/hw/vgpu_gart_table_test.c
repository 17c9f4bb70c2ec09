// SPDX-License-Identifier: GPL-2.0
/*
 * Compare the GART's table and shadow with expected entries. Catches: a write outside of the given
 * range; a shadow that differs; wrong entries after a restore.
 */
#include "hw/vgpu_hw_priv.h"
#include "tests/lib/vgpu_mock.h"

#define ENTRIES		VGPU_MOCK_GART_PAGES
#define ROUNDS		500
#define FLAGS		0x77ull	/* valid, system, snooped, executable, readable, writable */

/**
 * struct table_mock - a GART and its expected contents
 * @mock: device
 * @table: the table
 * @want: expected entries of @table and of vgpu_gart.shadow
 * @addrs: addresses to bind
 */
struct table_mock {
	struct vgpu_mock *mock;
	u64 *table;
	u64 want[ENTRIES];
	dma_addr_t addrs[ENTRIES];
};

static struct table_mock *table_mock_new(struct kunit *test)
{
	struct table_mock *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	struct vgpu_gart *gart;

	KUNIT_ASSERT_NOT_NULL(test, m);
	m->mock = vgpu_mock_new(test);
	vgpu_mock_regs(test, m->mock);
	gart = &m->mock->hw.gart;
	gart->start = 0x10000000;
	gart->total = ENTRIES;
	gart->pages = ENTRIES;
	m->table = kunit_kcalloc(test, ENTRIES, sizeof(u64), GFP_KERNEL);
	gart->table = (__le64 __iomem __force *)m->table;
	gart->shadow = kunit_kcalloc(test, ENTRIES, sizeof(u64), GFP_KERNEL);
	KUNIT_ASSERT_TRUE(test, gart->table && gart->shadow);
	return m;
}

static void table_expect(struct kunit *test, struct table_mock *m)
{
	const struct vgpu_gart *gart = &m->mock->hw.gart;

	KUNIT_ASSERT_EQ(test, memcmp(m->table, m->want, sizeof(m->want)), 0);
	KUNIT_ASSERT_EQ(test, memcmp(gart->shadow, m->want, sizeof(m->want)),
			0);
}

/* Unbind a random range, or bind the range to random 48-bit addresses. */
static void table_change(struct table_mock *m)
{
	u64 page = vgpu_mock_random(m->mock, ENTRIES), i;
	u64 n = vgpu_mock_random(m->mock, min(300ull, ENTRIES - page) + 1);

	if (!vgpu_mock_random(m->mock, 3)) {
		vgpu_gart_unbind(&m->mock->vdev, page, n);
		memset(m->want + page, 0, n * sizeof(u64));
		return;
	}
	for (i = 0; i < n; i++) {
		m->addrs[i] = vgpu_mock_random(m->mock, BIT_ULL(36)) << 12;
		m->want[page + i] = m->addrs[i] | FLAGS;
	}
	vgpu_gart_bind(&m->mock->vdev, page, n, m->addrs);
}

static void table_random(struct kunit *test)
{
	struct table_mock *m = table_mock_new(test);
	unsigned int i;

	for (i = 0; i < ROUNDS; i++) {
		table_change(m);
		table_expect(test, m);
	}
}

/*
 * Check that one call can bind the whole table, and that calls with an empty range change
 * nothing.
 */
static void table_whole(struct kunit *test)
{
	struct table_mock *m = table_mock_new(test);
	u64 i;

	for (i = 0; i < ENTRIES; i++) {
		m->addrs[i] = (ENTRIES - i) << 12;
		m->want[i] = m->addrs[i] | FLAGS;
	}
	vgpu_gart_bind(&m->mock->vdev, 0, ENTRIES, m->addrs);
	vgpu_gart_bind(&m->mock->vdev, ENTRIES, 0, m->addrs);
	vgpu_gart_unbind(&m->mock->vdev, ENTRIES, 0);
	table_expect(test, m);
	vgpu_gart_unbind(&m->mock->vdev, 0, ENTRIES);
	memset(m->want, 0, sizeof(m->want));
	table_expect(test, m);
}

/* Catches: vgpu_gart_restore() leaves a corrupted entry in the table. */
static void table_restore(struct kunit *test)
{
	struct table_mock *m = table_mock_new(test);
	unsigned int round, i;

	for (round = 0; round < 20; round++) {
		for (i = 0; i < 20; i++)
			table_change(m);
		for (i = 0; i < 200; i++)
			m->table[vgpu_mock_random(m->mock, ENTRIES)] =
				vgpu_mock_random(m->mock, U64_MAX);
		vgpu_gart_restore(&m->mock->vdev);
		table_expect(test, m);
	}
	memset(m->table, 0xff, ENTRIES * sizeof(u64));
	vgpu_gart_restore(&m->mock->vdev);
	table_expect(test, m);
}

/*
 * Check that kernel memory is bound at the end of the table, and that fewer pages are left for
 * GTT.
 */
static void table_reserved(struct kunit *test)
{
	struct table_mock *m = table_mock_new(test);
	struct vgpu_gart *gart = &m->mock->hw.gart;
	u64 left = ENTRIES, i, k;

	for (i = 1; i < 20; i++) {
		dma_addr_t addr = vgpu_mock_random(m->mock, BIT_ULL(35)) << 12;
		u64 mc;

		left -= i;
		mc = vgpu_gart_bind_reserved(&m->mock->vdev, addr,
					     i * PAGE_SIZE);
		KUNIT_ASSERT_EQ(test, mc, 0x10000000 + left * PAGE_SIZE);
		KUNIT_ASSERT_EQ(test, gart->pages, left);
		KUNIT_ASSERT_EQ(test, gart->total, ENTRIES);
		for (k = 0; k < i; k++)
			m->want[left + k] = (addr + k * PAGE_SIZE) | FLAGS;
		table_expect(test, m);
	}
}

/* Check that vgpu_gart_flush() flushes the HDP and invalidates VMID 0 in both hubs. */
static void table_flush(struct kunit *test)
{
	struct table_mock *m = table_mock_new(test);
	unsigned int hub;

	vgpu_gart_flush(&m->mock->vdev);
	KUNIT_EXPECT_EQ(test, m->mock->writes[VGPU_REMAP_PAGE / 4], 1);
	for (hub = 0; hub < VGPU_NUM_HUBS; hub++) {
		u32 req = m->mock->regs[HUB(hub) + VM_INVALIDATE_ENG_REQ(17)];

		KUNIT_EXPECT_EQ(test, req & 0xffff, BIT(0));
	}
}

static struct kunit_case table_cases[] = {
	KUNIT_CASE(table_random),
	KUNIT_CASE(table_whole),
	KUNIT_CASE(table_restore),
	KUNIT_CASE(table_reserved),
	KUNIT_CASE(table_flush),
	{}
};

static struct kunit_suite table_suite = {
	.name = "vgpu_gart_table",
	.test_cases = table_cases,
};

kunit_test_suite(table_suite);
