// SPDX-License-Identifier: GPL-2.0
/*
 * Walk the page tables that vm/vgpu_pt.c writes, and compare the translations with the expected
 * ones. The walker pt_walk() uses the format in include/vgpu/pte.h and no code of vm/.
 */
#include "vgpu/bits.h"
#include "tests/lib/vgpu_mock.h"
#include "vm/vgpu_pt.h"
#include "vm/vgpu_vm.h"

#define MOCK_TABLES	256
/* A page-table entry holds VRAM_BASE plus an offset in VRAM. */
#define VRAM_BASE	0x2400000000ull
#define TABLES_AT	0x10000000ull		/* offset of the tables in VRAM */
#define WINDOW		4096u			/* number of checked pages: eight PTBs */
#define ROUNDS		1500
#define RW		(VGPU_PTE_VALID | VGPU_PTE_READABLE | \
			 VGPU_PTE_WRITEABLE)
#define RO		(VGPU_PTE_VALID | VGPU_PTE_READABLE)

/**
 * struct pt_mock - page tables in a part of VRAM, and their expected contents
 */
struct pt_mock {
	/** @pt: tree under test; to_pt_mock() finds the mock by the address of @pt */
	struct vgpu_pt pt;
	/** @mem: memory of the tables */
	__le64 (*mem)[VGPU_PT_ENTRIES];
	/** @n: number of tables that are allocated */
	unsigned int n;
	/** @limit: number of tables that may be allocated */
	unsigned int limit;
	/** @locked: true between vgpu_pt_ops.lock() and vgpu_pt_ops.unlock() */
	bool locked;
	/** @writes: number of calls of vgpu_pt_ops.write() since the last vgpu_pt_ops.room() */
	unsigned int writes;
	/** @most_writes: largest @writes since the last pt_do_write() or pt_do_clear() began */
	unsigned int most_writes;
	/** @first: first page of the window that is checked */
	u64 first;
	/**
	 * @want: expected entry of each page of the window, or 0 if the entry is invalid. Instead
	 * of an address in VRAM, @want has the offset in VRAM (the address minus @pt.vram_base)
	 */
	u64 want[WINDOW];
};

static struct pt_mock *to_pt_mock(struct vgpu_pt *pt)
{
	return container_of(pt, struct pt_mock, pt);
}

static int pt_mock_alloc(struct vgpu_pt *pt, struct vgpu_pt_mem *mem)
{
	struct pt_mock *m = to_pt_mock(pt);

	if (m->n == m->limit)
		return -ENOMEM;
	mem->entries = (__le64 __iomem __force *)m->mem[m->n];
	mem->addr = TABLES_AT + m->n++ * (u64)VGPU_PAGE_SIZE;
	return 0;
}

static void pt_mock_lock(struct vgpu_pt *pt)
{
	WARN_ON(to_pt_mock(pt)->locked);
	to_pt_mock(pt)->locked = true;
}

static void pt_mock_unlock(struct vgpu_pt *pt)
{
	WARN_ON(!to_pt_mock(pt)->locked);
	to_pt_mock(pt)->locked = false;
}

/* Count the call. Return false, so that the caller writes the entries by the CPU. */
static bool pt_mock_write(struct vgpu_pt *pt, const struct vgpu_pt_mem *mem,
			  unsigned int index, unsigned int n, u64 value, u64 step)
{
	struct pt_mock *m = to_pt_mock(pt);

	m->most_writes = max(m->most_writes, ++m->writes);
	return false;
}

static void pt_mock_room(struct vgpu_pt *pt)
{
	to_pt_mock(pt)->writes = 0;
}

static const struct vgpu_pt_ops pt_mock_ops = {
	.alloc = pt_mock_alloc,
	.lock = pt_mock_lock,
	.unlock = pt_mock_unlock,
	.write = pt_mock_write,
	.room = pt_mock_room,
};

static void pt_mock_fini(void *arg)
{
	vgpu_pt_fini(arg);
}

static struct pt_mock *pt_mock_new(struct kunit *test, u64 first)
{
	struct pt_mock *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, m);
	m->mem = kunit_kcalloc(test, MOCK_TABLES, sizeof(*m->mem), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, m->mem);
	m->limit = MOCK_TABLES;
	m->first = first;
	KUNIT_ASSERT_EQ(test, vgpu_pt_init(&m->pt, &pt_mock_ops, VRAM_BASE), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, pt_mock_fini,
							&m->pt), 0);
	return m;
}

/* Result of a page-table walk, which pt_walk() does without the code under test. */
struct walk {
	bool error;		/* the walk met a malformed entry */
	bool valid;
	u64 addr;		/* address of the page */
	u64 flags;		/* flags of the entry, without address and fragment */
	unsigned int frag;
};

/*
 * Return entry @index of the table at physical address @addr, or set w->error if there is no
 * table.
 */
static u64 pt_entry(const struct pt_mock *m, u64 addr, unsigned int index,
		    struct walk *w)
{
	u64 table = (addr - VRAM_BASE - TABLES_AT) / VGPU_PAGE_SIZE;

	if (addr % VGPU_PAGE_SIZE || addr < VRAM_BASE + TABLES_AT ||
	    table >= m->n) {
		w->error = true;
		return 0;
	}
	return le64_to_cpu(m->mem[table][index]);
}

static void pt_walk_leaf(struct walk *w, u64 entry, u64 page, unsigned int level)
{
	u64 size = BIT_ULL(VGPU_LEVEL_SHIFT(level));

	w->valid = true;
	w->addr = ALIGN_DOWN(entry & VGPU_PTE_ADDR, size) +
		  (page << VGPU_PAGE_SHIFT & (size - 1));
	w->flags = entry & ~(VGPU_PTE_ADDR | VGPU_PTE_FRAG);
	w->frag = VGPU_GET(entry, VGPU_PTE_FRAG);
}

static struct walk pt_walk(const struct pt_mock *m, u64 page)
{
	u64 table = VRAM_BASE + vgpu_pt_root_addr(&m->pt), entry;
	struct walk w = { 0 };
	int level;

	for (level = VGPU_LEVEL_PDB2; level >= VGPU_LEVEL_PTB; level--) {
		entry = pt_entry(m, table, page >> (VGPU_PT_SHIFT * level) &
				 (VGPU_PT_ENTRIES - 1), &w);
		if (w.error || !(entry & VGPU_PTE_VALID))
			return w;
		if (level == VGPU_LEVEL_PTB ||
		    (level == VGPU_LEVEL_PDB0 && !(entry & VGPU_PTE_TF))) {
			pt_walk_leaf(&w, entry, page, level);
			return w;
		}
		/*
		 * Report an error for entries that the driver never writes: pointers to system
		 * memory, leaves larger than 2 MiB, and PDB1 entries whose block fragment size
		 * (BFS) is not VGPU_PT_SHIFT.
		 */
		if (entry & (VGPU_PDE_SYSTEM | VGPU_PDE_PTE) ||
		    (level == VGPU_LEVEL_PDB1 &&
		     VGPU_GET(entry, VGPU_PDE_BFS) != VGPU_PT_SHIFT)) {
			w.error = true;
			return w;
		}
		table = entry & VGPU_PDE_ADDR;
	}
	return w;
}

/* Check that a walk of page @i of the window finds the expected translation. */
static void pt_check_page(struct kunit *test, const struct pt_mock *m,
			  unsigned int i, struct walk *w)
{
	u64 want = m->want[i];

	*w = pt_walk(m, m->first + i);
	KUNIT_ASSERT_FALSE_MSG(test, w->error, "page %u: malformed", i);
	KUNIT_ASSERT_EQ_MSG(test, w->valid, !!want, "page %u", i);
	if (!want)
		return;
	if (!(want & VGPU_PTE_SYSTEM))
		want += VRAM_BASE;
	KUNIT_ASSERT_EQ_MSG(test, w->addr | w->flags, want, "page %u", i);
}

/*
 * Check that all pages of the fragment of page @i are mapped alike, because the TLB caches the
 * fragment as one translation.
 */
static void pt_check_fragment(struct kunit *test, const struct walk *all,
			      unsigned int i, u64 first)
{
	u64 n = 1ull << all[i].frag, k;
	u64 page = first + i, start = ALIGN_DOWN(page, n);

	for (k = 0; k < n; k++) {
		unsigned int j = start + k - first;

		if (start + k < first || j >= WINDOW)
			continue;
		KUNIT_ASSERT_TRUE_MSG(test, all[j].valid, "page %u", i);
		KUNIT_ASSERT_EQ_MSG(test, all[j].flags, all[i].flags,
				    "page %u", i);
		KUNIT_ASSERT_EQ_MSG(test, all[j].addr,
				    all[i].addr + ((start + k - page) <<
						   VGPU_PAGE_SHIFT),
				    "page %u, fragment %u", i, all[i].frag);
	}
}

static void pt_check(struct kunit *test, const struct pt_mock *m,
		     struct walk *all)
{
	unsigned int i;

	for (i = 0; i < WINDOW; i++)
		pt_check_page(test, m, i, &all[i]);
	for (i = 0; i < WINDOW; i++)
		if (all[i].valid && all[i].frag)
			pt_check_fragment(test, all, i, m->first);
}

static bool pt_any_valid(const struct pt_mock *m, unsigned int i,
			 unsigned int n)
{
	while (n--)
		if (m->want[i++])
			return true;
	return false;
}

/*
 * Map [@i, @i + @n) of the window. Check that a flush is requested if and only if one of the
 * entries was valid before.
 */
static void pt_do_write(struct kunit *test, struct pt_mock *m, unsigned int i,
			unsigned int n, u64 addr, u64 flags, unsigned int frag)
{
	const struct vgpu_vm_span span = {
		.addr = addr, .npages = n, .pte_flags = flags,
	};
	bool flush = pt_any_valid(m, i, n);
	unsigned int k;

	m->most_writes = 0;
	KUNIT_ASSERT_EQ(test, vgpu_pt_write(&m->pt, m->first + i, &span, frag),
			flush);
	KUNIT_ASSERT_LE(test, m->most_writes, VGPU_PT_STEP_WRITES);
	for (k = 0; k < n; k++)
		m->want[i + k] = (addr + ((u64)k << VGPU_PAGE_SHIFT)) | flags;
}

static void pt_do_clear(struct kunit *test, struct pt_mock *m, unsigned int i,
			unsigned int n, u64 value)
{
	bool flush = pt_any_valid(m, i, n);
	unsigned int k;

	m->most_writes = 0;
	KUNIT_ASSERT_EQ(test, vgpu_pt_clear(&m->pt, m->first + i,
					    m->first + i + n - 1, value),
			flush);
	KUNIT_ASSERT_LE(test, m->most_writes, VGPU_PT_STEP_WRITES);
	for (k = 0; k < n; k++)
		m->want[i + k] = value;
}

/*
 * Write and clear random parts of the window. Catches: a misplaced entry; a leaf over too many
 * pages; a mapping lost at a leaf's split.
 */
static void pt_random(struct kunit *test, u64 first)
{
	struct pt_mock *m = pt_mock_new(test, first);
	struct rnd_state rnd;
	struct walk *all;
	unsigned int round;

	all = kunit_kcalloc(test, WINDOW, sizeof(*all), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, all);
	vgpu_test_rnd(test, &rnd);
	KUNIT_ASSERT_EQ(test, vgpu_pt_reserve(&m->pt, first,
					      first + WINDOW - 1), 0);
	for (round = 0; round < ROUNDS; round++) {
		unsigned int i = prandom_u32_state(&rnd) % WINDOW;
		unsigned int n = 1 + prandom_u32_state(&rnd) %
				 min(WINDOW - i, 1200u);
		u64 addr = (u64)(prandom_u32_state(&rnd) & 0xfffff) <<
			   VGPU_PAGE_SHIFT;
		u64 flags = prandom_u32_state(&rnd) & 1 ? RW : RO;

		/*
		 * For half of the spans, make virtual address and @addr equal modulo 2 MiB. Only
		 * such spans can contain 2 MiB leaves.
		 */
		if (prandom_u32_state(&rnd) & 1)
			addr = ALIGN_DOWN(addr, SZ_2M) +
			       ((first + i) << VGPU_PAGE_SHIFT & (SZ_2M - 1));
		if (prandom_u32_state(&rnd) & 1)
			flags |= VGPU_PTE_SYSTEM;

		switch (prandom_u32_state(&rnd) % 4) {
		case 0:
			pt_do_clear(test, m, i, n, 0);
			break;
		case 1:
			pt_do_clear(test, m, i, n, VGPU_PTE_NORETRY);
			break;
		default:
			/* Without fragments (0), as SVM does. */
			pt_do_write(test, m, i, n, addr, flags, 0);
			break;
		}
		if (round % 8 == 0)
			pt_check(test, m, all);
	}
	pt_check(test, m, all);
}

static void pt_random_low(struct kunit *test)
{
	pt_random(test, 16);
}

/* Let the window cross the end of a PDB0 table and of a PDB1 table. */
static void pt_random_boundary(struct kunit *test)
{
	pt_random(test, BIT_ULL(27) - WINDOW / 2 - 3);
}

static void pt_random_top(struct kunit *test)
{
	pt_random(test, BIT_ULL(36) - WINDOW);
}

/*
 * Write and clear random mappings with fragments. Each mapping is cleared as a whole, because a
 * partial clear would leave wrong fragments.
 */
static void pt_whole(struct kunit *test)
{
	struct pt_mock *m = pt_mock_new(test, 512);
	struct { unsigned int i, n; } bo[16] = { 0 };
	struct rnd_state rnd;
	unsigned int round;
	struct walk *all;
	u64 frags = 0;

	all = kunit_kcalloc(test, WINDOW, sizeof(*all), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, all);
	vgpu_test_rnd(test, &rnd);
	KUNIT_ASSERT_EQ(test, vgpu_pt_reserve(&m->pt, m->first,
					      m->first + WINDOW - 1), 0);
	for (round = 0; round < ROUNDS; round++) {
		unsigned int k = prandom_u32_state(&rnd) % ARRAY_SIZE(bo);
		unsigned int i = prandom_u32_state(&rnd) % WINDOW;
		unsigned int n = 1 + prandom_u32_state(&rnd) % (WINDOW - i);
		u64 addr = (u64)(prandom_u32_state(&rnd) & 0xffff) <<
			   VGPU_PAGE_SHIFT;

		if (bo[k].n) {
			pt_do_clear(test, m, bo[k].i, bo[k].n, 0);
			bo[k].n = 0;
		} else if (!pt_any_valid(m, i, n)) {
			pt_do_write(test, m, i, n, addr, RW, VGPU_PT_SHIFT);
			bo[k].i = i;
			bo[k].n = n;
		}
		if (round % 8 == 0) {
			pt_check(test, m, all);
			frags += all[i].valid && all[i].frag;
		}
	}
	/* Without fragments, the test would check nothing. */
	KUNIT_EXPECT_GT(test, frags, 0);
}

/*
 * Map 512 pages by one 2 MiB leaf. Then map all of them, except the first and last page, to other
 * memory. Catches: a step makes more than VGPU_PT_STEP_WRITES writes; a fragment is misaligned.
 */
static void pt_misaligned(struct kunit *test)
{
	struct pt_mock *m = pt_mock_new(test, 0);
	unsigned int shift, n = VGPU_PT_ENTRIES - 2;
	struct walk *all;

	all = kunit_kcalloc(test, WINDOW, sizeof(*all), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, all);
	KUNIT_ASSERT_EQ(test, vgpu_pt_reserve(&m->pt, 0, WINDOW - 1), 0);
	for (shift = 0; shift <= VGPU_PT_SHIFT; shift++) {
		/*
		 * Virtual page 1 maps to memory page 1 + 2^shift + 2048 (SZ_8M). The difference,
		 * 2^shift + 2048, allows aligned fragments of at most 2^shift pages.
		 */
		u64 memory = SZ_8M + ((1 + BIT_ULL(shift)) << VGPU_PAGE_SHIFT);

		pt_do_write(test, m, 0, VGPU_PT_ENTRIES, SZ_16M, RO, VGPU_PT_SHIFT);
		pt_do_write(test, m, 1, n, memory, RW, VGPU_PT_SHIFT);
		pt_check(test, m, all);
		/*
		 * The second write ends at page 510. A fragment of 256 pages at page 256 would
		 * include page 511, so the fragment there has at most 128 pages.
		 */
		KUNIT_EXPECT_EQ(test, all[VGPU_PT_ENTRIES / 2].frag,
				min(shift, VGPU_PT_SHIFT - 2));
	}
}

/*
 * Split two leaves by clears, then write them again. Catches: an aligned 2 MiB span is not written
 * as one leaf; an entry is wrong.
 */
static void pt_leaf_split(struct kunit *test)
{
	struct pt_mock *m = pt_mock_new(test, 1024);
	struct walk *all;
	u64 written;

	all = kunit_kcalloc(test, WINDOW, sizeof(*all), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, all);
	KUNIT_ASSERT_EQ(test, vgpu_pt_reserve(&m->pt, m->first,
					      m->first + WINDOW - 1), 0);
	written = m->pt.written;
	pt_do_write(test, m, 0, 1024, SZ_8M, RW, 0);
	KUNIT_EXPECT_EQ(test, m->pt.written - written, 2);
	pt_check(test, m, all);
	KUNIT_EXPECT_EQ(test, vgpu_pt_read(&m->pt, m->first + 5),
			vgpu_pt_read(&m->pt, m->first + 500));

	pt_do_clear(test, m, 100, 1, 0);
	pt_check(test, m, all);
	pt_do_clear(test, m, 511, 2, VGPU_PTE_NORETRY);
	pt_check(test, m, all);
	/* Write all 1024 pages: two 2 MiB leaves replace the tables of single pages. */
	pt_do_write(test, m, 0, 1024, SZ_16M, RO, 0);
	pt_check(test, m, all);
	pt_do_clear(test, m, 0, 1024, 0);
	pt_check(test, m, all);
	KUNIT_EXPECT_EQ(test, vgpu_pt_read(&m->pt, m->first), 0);
}

/*
 * Catches: a clear of addresses without tables creates tables, requests a flush, or visits
 * every page (and so takes very long).
 */
static void pt_clear_nothing(struct kunit *test)
{
	struct pt_mock *m = pt_mock_new(test, 0);
	unsigned int n = m->n;

	KUNIT_EXPECT_FALSE(test, vgpu_pt_clear(&m->pt, 0, BIT_ULL(36) - 1, 0));
	KUNIT_EXPECT_FALSE(test, vgpu_pt_clear(&m->pt, 5, ~0ull,
					       VGPU_PTE_NORETRY));
	KUNIT_EXPECT_EQ(test, m->n, n);
	KUNIT_EXPECT_EQ(test, vgpu_pt_read(&m->pt, 1234567), 0);
	KUNIT_EXPECT_EQ(test, vgpu_pt_read(&m->pt, ~0ull), 0);
}

/*
 * Let the allocation of a table fail in the middle of vgpu_pt_reserve(). Catches: the call
 * does not return -ENOMEM; the tree is inconsistent afterwards; a later call fails.
 */
static void pt_no_memory(struct kunit *test)
{
	struct pt_mock *m = pt_mock_new(test, 0);
	struct walk *all;

	all = kunit_kcalloc(test, WINDOW, sizeof(*all), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, all);
	/*
	 * Six tables are enough for the root, PDB1, PDB0 and three of eight PTBs. So the
	 * reservation fails, but these PTBs' pages can be written.
	 */
	m->limit = 6;
	KUNIT_EXPECT_EQ(test, vgpu_pt_reserve(&m->pt, 0, WINDOW - 1), -ENOMEM);
	pt_do_write(test, m, 0, 3 * 512, SZ_4M, RW, 0);
	pt_check(test, m, all);
	m->limit = MOCK_TABLES;
	KUNIT_ASSERT_EQ(test, vgpu_pt_reserve(&m->pt, 0, WINDOW - 1), 0);
	pt_do_write(test, m, 100, 3000, SZ_1M, RO, 0);
	pt_check(test, m, all);
	KUNIT_EXPECT_EQ(test, m->n, 3 + WINDOW / VGPU_PT_ENTRIES);
}

/*
 * Overwrite the tables with random data, then rebuild them. Catches: a table is missing; an entry
 * still maps a page.
 */
static void pt_rebuild(struct kunit *test)
{
	struct pt_mock *m = pt_mock_new(test, 1024);
	struct rnd_state rnd;
	struct walk *all;

	all = kunit_kcalloc(test, WINDOW, sizeof(*all), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, all);
	KUNIT_ASSERT_EQ(test, vgpu_pt_reserve(&m->pt, m->first,
					      m->first + WINDOW - 1), 0);
	pt_do_write(test, m, 0, 1024, SZ_8M, RW, 9);
	pt_do_write(test, m, 1024, 700, SZ_16M, RO, 9);
	pt_do_write(test, m, 3000, 5, SZ_1M, RO, 0);

	vgpu_test_rnd(test, &rnd);
	prandom_bytes_state(&rnd, m->mem, m->n * sizeof(*m->mem));
	vgpu_pt_rebuild(&m->pt);
	memset(m->want, 0, sizeof(m->want));
	pt_check(test, m, all);
	/*
	 * The rebuild has left no valid entry, and all of m->want is 0. So pt_do_write() expects
	 * that this write does not request a flush.
	 */
	pt_do_write(test, m, 0, 2048, SZ_8M, RW, 9);
	pt_check(test, m, all);
	pt_do_clear(test, m, 700, 20, 0);
	pt_check(test, m, all);
}

static struct kunit_case pt_cases[] = {
	KUNIT_CASE(pt_random_low),
	KUNIT_CASE(pt_random_boundary),
	KUNIT_CASE(pt_random_top),
	KUNIT_CASE(pt_whole),
	KUNIT_CASE(pt_misaligned),
	KUNIT_CASE(pt_leaf_split),
	KUNIT_CASE(pt_clear_nothing),
	KUNIT_CASE(pt_no_memory),
	KUNIT_CASE(pt_rebuild),
	{}
};

static struct kunit_suite pt_suite = {
	.name = "vgpu_pt",
	.test_cases = pt_cases,
};

kunit_test_suite(pt_suite);
