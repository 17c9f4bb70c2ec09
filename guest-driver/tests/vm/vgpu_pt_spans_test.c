// SPDX-License-Identifier: GPL-2.0
/*
 * Map spans by vgpu_pt_write_spans() in one tree, and span by span by vgpu_pt_write() in a second
 * tree, and compare the memory of the tables. vgpu_pt_test.c tests vgpu_pt_write().
 */
#include "tests/lib/vgpu_mock.h"
#include "vm/vgpu_pt.h"
#include "vm/vgpu_vm.h"

#define TREE_TABLES	32u
#define TREE_VRAM_BASE	0x2400000000ull
/* Number of pages in which the tests map memory. */
#define TREE_WINDOW	4096u
/* First of these pages. The window crosses the end of a PDB1, of a PDB0 and of several PTBs. */
#define TREE_FIRST	(BIT_ULL(27) - TREE_WINDOW / 2 - 3)
#define SPANS		700u		/* most spans of one call */
#define ROUNDS		300u
#define RO		(VGPU_PTE_VALID | VGPU_PTE_READABLE)
#define RW		(RO | VGPU_PTE_WRITEABLE)

/**
 * struct tree_mock - page tables in memory
 */
struct tree_mock {
	/** @pt: tree under test; to_tree_mock() finds the mock by the address of @pt */
	struct vgpu_pt pt;
	/** @mem: memory of the tables */
	__le64 (*mem)[VGPU_PT_ENTRIES];
	/** @n: number of tables that are allocated */
	unsigned int n;
	/** @backend: vgpu_pt_ops.write() writes the entries, as SDMA does, and not the CPU */
	bool backend;
	/** @writes: number of calls of vgpu_pt_ops.write() since the last vgpu_pt_ops.room() */
	unsigned int writes;
	/** @most_writes: largest @writes so far */
	unsigned int most_writes;
	/** @io: true between vgpu_pt_ops.io_begin() and vgpu_pt_ops.io_end() */
	bool io;
	/** @io_begins: number of calls of vgpu_pt_ops.io_begin() */
	unsigned int io_begins;
	/**
	 * @io_misused: vgpu_pt_ops.io_begin() was called twice, or io_end() without io_begin(), or
	 * the backend wrote entries in between
	 */
	bool io_misused;
};

static struct tree_mock *to_tree_mock(const struct vgpu_pt *pt)
{
	return container_of(pt, struct tree_mock, pt);
}

static int tree_alloc(struct vgpu_pt *pt, struct vgpu_pt_mem *mem)
{
	struct tree_mock *t = to_tree_mock(pt);

	if (t->n == TREE_TABLES)
		return -ENOMEM;
	mem->entries = (__le64 __iomem __force *)t->mem[t->n];
	mem->addr = t->n++ * (u64)VGPU_PAGE_SIZE;
	return 0;
}

static void tree_lock(struct vgpu_pt *pt)
{
}

static bool tree_write(struct vgpu_pt *pt, const struct vgpu_pt_mem *mem, unsigned int index,
		       unsigned int n, u64 value, u64 step)
{
	__le64 *entries = (__le64 __force *)mem->entries;
	struct tree_mock *t = to_tree_mock(pt);

	t->most_writes = max(t->most_writes, ++t->writes);
	if (!t->backend)
		return false;
	t->io_misused |= t->io;
	for (; n; n--, value += step)
		entries[index++] = cpu_to_le64(value);
	return true;
}

static void tree_room(struct vgpu_pt *pt)
{
	to_tree_mock(pt)->writes = 0;
}

static void tree_io_begin(const struct vgpu_pt *pt)
{
	struct tree_mock *t = to_tree_mock(pt);

	t->io_misused |= t->io;
	t->io = true;
	t->io_begins++;
}

static void tree_io_end(const struct vgpu_pt *pt)
{
	struct tree_mock *t = to_tree_mock(pt);

	t->io_misused |= !t->io;
	t->io = false;
}

static const struct vgpu_pt_ops tree_ops = {
	.alloc = tree_alloc,
	.lock = tree_lock,
	.unlock = tree_lock,
	.write = tree_write,
	.room = tree_room,
	.io_begin = tree_io_begin,
	.io_end = tree_io_end,
};

static void tree_fini(void *arg)
{
	vgpu_pt_fini(arg);
}

/* Create a tree that has all tables of the window. */
static struct tree_mock *tree_new(struct kunit *test, bool backend)
{
	struct tree_mock *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, t);
	t->mem = kunit_kcalloc(test, TREE_TABLES, sizeof(*t->mem), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, t->mem);
	t->backend = backend;
	KUNIT_ASSERT_EQ(test, vgpu_pt_init(&t->pt, &tree_ops, TREE_VRAM_BASE), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, tree_fini, &t->pt), 0);
	KUNIT_ASSERT_EQ(test, vgpu_pt_reserve(&t->pt, TREE_FIRST, TREE_FIRST + TREE_WINDOW - 1), 0);
	/* vgpu_pt_reserve() does not call vgpu_pt_ops.room(). */
	t->writes = 0;
	t->most_writes = 0;
	return t;
}

/**
 * struct spans_mock - two trees with the same tables
 */
struct spans_mock {
	/** @spans: tree in which vgpu_pt_write_spans() maps pages */
	struct tree_mock *spans;
	/** @single: tree in which vgpu_pt_write() maps the same pages */
	struct tree_mock *single;
	/** @list: spans to map; SPANS elements */
	struct vgpu_vm_span *list;
};

static struct spans_mock *spans_mock_new(struct kunit *test, bool backend)
{
	struct spans_mock *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, m);
	m->list = kunit_kcalloc(test, SPANS, sizeof(*m->list), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, m->list);
	m->spans = tree_new(test, backend);
	m->single = tree_new(test, false);
	return m;
}

static void spans_check(struct kunit *test, const struct spans_mock *m)
{
	const struct tree_mock *t = m->spans;

	KUNIT_ASSERT_EQ(test, memcmp(t->mem, m->single->mem, TREE_TABLES * sizeof(*t->mem)), 0);
	KUNIT_ASSERT_LE(test, t->most_writes, VGPU_PT_STEP_WRITES);
	KUNIT_ASSERT_FALSE(test, t->io);
	KUNIT_ASSERT_FALSE(test, t->io_misused);
}

/* Map the first @n elements of m->list from page @i of the window on, in both trees. */
static void spans_write(struct kunit *test, struct spans_mock *m, unsigned int i, unsigned int n)
{
	u64 page = TREE_FIRST + i;
	bool flush = false;
	unsigned int k;

	for (k = 0; k < n; k++) {
		flush |= vgpu_pt_write(&m->single->pt, page, &m->list[k], 0);
		page += m->list[k].npages;
	}
	KUNIT_ASSERT_EQ(test, vgpu_pt_write_spans(&m->spans->pt, TREE_FIRST + i, m->list, n),
			flush);
	spans_check(test, m);
}

/* Clear @n pages from page @i of the window on, in both trees. */
static void spans_clear(struct kunit *test, struct spans_mock *m, unsigned int i, unsigned int n)
{
	u64 first = TREE_FIRST + i, last = first + n - 1;
	bool flush = vgpu_pt_clear(&m->single->pt, first, last, 0);

	KUNIT_ASSERT_EQ(test, vgpu_pt_clear(&m->spans->pt, first, last, 0), flush);
	spans_check(test, m);
}

/* Fill m->list for the pages from @i of the window on. Returns the number of spans. */
static unsigned int spans_make(struct spans_mock *m, struct rnd_state *rnd, unsigned int i)
{
	unsigned int most = 1 + prandom_u32_state(rnd) % SPANS, n = 0;

	while (n < most && i < TREE_WINDOW) {
		/* Most spans have few pages. Some are longer than a PTB. */
		unsigned int longest = prandom_u32_state(rnd) % 64 ? 3 : 1200;
		unsigned int pages = min(1 + prandom_u32_state(rnd) % longest, TREE_WINDOW - i);
		u64 addr = (u64)(prandom_u32_state(rnd) & 0xfffff) << VGPU_PAGE_SHIFT;
		u64 flags = prandom_u32_state(rnd) & 1 ? RW : RO;

		/* Half of the spans can contain 2 MiB leaves. */
		if (prandom_u32_state(rnd) & 1)
			addr = ALIGN_DOWN(addr, SZ_2M) +
			       ((TREE_FIRST + i) << VGPU_PAGE_SHIFT & (SZ_2M - 1));
		if (prandom_u32_state(rnd) & 1)
			flags |= VGPU_PTE_SYSTEM;
		m->list[n++] = (struct vgpu_vm_span) {
			.addr = addr, .npages = pages, .pte_flags = flags,
		};
		i += pages;
	}
	return n;
}

/*
 * Map spans of random length and flags, and clear random pages. Catches:
 * - an entry is misplaced, lost, or has the flags of another span
 * - a span that crosses into another PTB is cut
 * - a leaf is not split, or not written
 * - a flush is not requested, or requested without need
 * - a backend gets more writes than it has space for
 */
static void spans_random(struct kunit *test, bool backend)
{
	struct spans_mock *m = spans_mock_new(test, backend);
	struct rnd_state rnd;
	unsigned int round;

	vgpu_test_rnd(test, &rnd);
	for (round = 0; round < ROUNDS; round++) {
		unsigned int i = prandom_u32_state(&rnd) % TREE_WINDOW;
		unsigned int n = 1 + prandom_u32_state(&rnd) % min(TREE_WINDOW - i, 1200u);

		if (prandom_u32_state(&rnd) % 4)
			spans_write(test, m, i, spans_make(m, &rnd, i));
		else
			spans_clear(test, m, i, n);
	}
	/* If the backend writes entries, the CPU writes none. */
	KUNIT_EXPECT_EQ(test, !m->spans->pt.by_cpu, backend);
}

static void spans_random_cpu(struct kunit *test)
{
	spans_random(test, false);
}

static void spans_random_backend(struct kunit *test)
{
	spans_random(test, true);
}

/* Fill m->list with @n single pages at descending addresses. Every third page is read-only. */
static void spans_make_scattered(struct spans_mock *m, unsigned int n)
{
	unsigned int k;

	for (k = 0; k < n; k++)
		m->list[k] = (struct vgpu_vm_span) {
			.addr = SZ_64M - ((u64)k << VGPU_PAGE_SHIFT),
			.npages = 1,
			.pte_flags = (k % 3 ? RW : RO) | VGPU_PTE_SYSTEM,
		};
}

/*
 * Map scattered pages: a whole PTB, then a part of a PTB, then pages before and in a leaf. Catches:
 * the access to the BARs begins anew for each span, which costs more than the entry; the leaf's
 * other pages lose their translation.
 */
static void spans_scattered(struct kunit *test)
{
	struct spans_mock *m = spans_mock_new(test, false);
	const struct vgpu_vm_span leaf = {
		.addr = SZ_8M, .npages = VGPU_PT_ENTRIES, .pte_flags = RW,
	};
	unsigned int ptb = -TREE_FIRST % VGPU_PT_ENTRIES, begins;
	u64 written;

	spans_make_scattered(m, VGPU_PT_ENTRIES);
	begins = m->spans->io_begins;
	written = m->spans->pt.written;
	spans_write(test, m, ptb, VGPU_PT_ENTRIES);
	KUNIT_EXPECT_EQ(test, m->spans->io_begins - begins, 1);
	KUNIT_EXPECT_EQ(test, m->spans->pt.written - written, VGPU_PT_ENTRIES);

	ptb += VGPU_PT_ENTRIES;
	spans_write(test, m, ptb + 7, 100);
	KUNIT_EXPECT_EQ(test, m->spans->io_begins - begins, 2);
	spans_clear(test, m, ptb + 50, 1);

	ptb += VGPU_PT_ENTRIES;
	m->list[0] = leaf;
	spans_write(test, m, ptb, 1);
	spans_make_scattered(m, 20);
	spans_write(test, m, ptb - 10, 20);
	KUNIT_EXPECT_EQ(test, vgpu_pt_read(&m->spans->pt, TREE_FIRST + ptb + 10),
			(leaf.addr + TREE_VRAM_BASE + 10 * VGPU_PAGE_SIZE) | RW);
	spans_clear(test, m, 0, TREE_WINDOW);
}

static struct kunit_case spans_cases[] = {
	KUNIT_CASE(spans_random_cpu),
	KUNIT_CASE(spans_random_backend),
	KUNIT_CASE(spans_scattered),
	{}
};

static struct kunit_suite spans_suite = {
	.name = "vgpu_pt_spans",
	.test_cases = spans_cases,
};

kunit_test_suite(spans_suite);
