// SPDX-License-Identifier: GPL-2.0
/*
 * Test the delayed freeing of page tables (vm/vgpu_vm_trim.c and vgpu_pt_tree.c). Catches: a
 * table is not freed, or is freed while it is reserved or used; a freed table has entries
 * (vgpu_vm_mock.c checks this); a flush is missing or redundant.
 */
#include "tests/lib/vgpu_vm_mock.h"

/*
 * Number of the window's tables: the root, two PDB1 and two PDB0 (the window crosses a boundary of
 * root entries), 3 + 6 PTBs.
 */
#define ALL_TABLES	(1 + 2 + 2 + 3 + 6)

static void trim_fill(struct kunit *test, struct vm_mock *m)
{
	unsigned int i, n;

	for (i = 0; i < VM_MOCK_WINDOW; i += n) {
		n = min(VM_MOCK_WINDOW - i, VM_MOCK_BO_PAGES);
		KUNIT_ASSERT_EQ(test, vm_mock_add(m, i / VM_MOCK_BO_PAGES, i, 0,
						  n), 0);
	}
	vm_mock_update(m);
}

/*
 * Catches: a table other than the root is left after an unmap of all pages; mappings that are made
 * after that get no tables.
 */
static void trim_all(struct kunit *test)
{
	struct vm_mock *m = vm_mock_new(test, false);
	unsigned int i, n;

	KUNIT_EXPECT_EQ(test, vm_mock_tables(m), 1);
	for (i = 0; i < 3; i++) {
		trim_fill(test, m);
		n = vm_mock_tables(m);
		KUNIT_EXPECT_EQ(test, n, ALL_TABLES);
		vm_mock_trim(m);
		KUNIT_EXPECT_EQ(test, vm_mock_tables(m), n);
		vm_mock_check(test, m);
		KUNIT_ASSERT_EQ(test, vm_mock_clear(m, 0, VM_MOCK_WINDOW), 0);
		/* A clear frees no table; only the trim below does. */
		KUNIT_EXPECT_EQ(test, vm_mock_tables(m), n);
		vm_mock_trim(m);
		KUNIT_EXPECT_EQ(test, vm_mock_tables(m), 1);
		vm_mock_check(test, m);
	}
}

/* Catches: the tables of a page that is still mapped are freed. */
static void trim_keeps_used(struct kunit *test)
{
	struct vm_mock *m = vm_mock_new(test, false);

	trim_fill(test, m);
	KUNIT_ASSERT_EQ(test, vm_mock_clear(m, 0, 2000), 0);
	KUNIT_ASSERT_EQ(test, vm_mock_clear(m, 2001, VM_MOCK_WINDOW - 2001), 0);
	vm_mock_trim(m);
	KUNIT_EXPECT_EQ(test, vm_mock_tables(m), 4);
	vm_mock_check(test, m);
}

/*
 * Catches: the tables of a BO that is moving are freed, so that the entries cannot be written
 * again after the move.
 */
static void trim_keeps_mapped(struct kunit *test)
{
	struct vm_mock *m = vm_mock_new(test, false);
	unsigned int n;

	KUNIT_ASSERT_EQ(test, vm_mock_add(m, 1, 100, 0, 1000), 0);
	n = vm_mock_tables(m);
	/* A trim before the entries are written must not free the tables of the mapping. */
	vm_mock_trim(m);
	KUNIT_EXPECT_EQ(test, vm_mock_tables(m), n);
	vm_mock_update(m);
	vm_mock_move(m, 1, TTM_PL_TT);
	vm_mock_trim(m);
	KUNIT_EXPECT_EQ(test, vm_mock_tables(m), n);
	m->limit = n;
	vm_mock_update(m);
	vm_mock_check(test, m);
	/*
	 * The move clears all entries, so the unmap finds no entry to clear. Check that the trim
	 * frees the tables nevertheless: no page is mapped any more.
	 */
	vm_mock_move(m, 1, TTM_PL_TT);
	vm_mock_unmap_all(m, 1);
	vm_mock_trim(m);
	KUNIT_EXPECT_EQ(test, vm_mock_tables(m), 1);
}

/*
 * Catches: the trim frees the empty PTB that stays in the tree behind a 2 MiB leaf (a later split
 * of the leaf needs this PTB); this PTB stays in the list of empty tables.
 */
static void trim_keeps_behind_leaf(struct kunit *test)
{
	unsigned int leaf = -VM_MOCK_FIRST % VGPU_PT_ENTRIES, n;
	struct vm_mock *m = vm_mock_new(test, false);

	KUNIT_ASSERT_EQ(test, vm_mock_add(m, 0, leaf, leaf, VGPU_PT_ENTRIES),
			0);
	vm_mock_update(m);
	n = vm_mock_tables(m);
	KUNIT_EXPECT_TRUE(test, list_empty(&m->vm.pt.empty));
	vm_mock_trim(m);
	KUNIT_EXPECT_EQ(test, vm_mock_tables(m), n);
	KUNIT_ASSERT_EQ(test, vm_mock_clear(m, leaf + 7, 3), 0);
	vm_mock_check(test, m);
	vm_mock_unmap_all(m, 0);
	vm_mock_trim(m);
	KUNIT_EXPECT_EQ(test, vm_mock_tables(m), 1);
}

/* Catches: reserved tables are freed before vgpu_vm_unreserve_tables(). */
static void trim_reserved(struct kunit *test)
{
	struct vm_mock *m = vm_mock_new(test, false);
	const struct vgpu_vm_span span = {
		.npages = 700, .pte_flags = VM_MOCK_RW | VGPU_PTE_VALID,
	};

	KUNIT_ASSERT_EQ(test, vgpu_vm_reserve_tables(&m->vm.base, VM_MOCK_FIRST,
						     VM_MOCK_FIRST + 699), 0);
	vm_mock_trim(m);
	vgpu_vm_lock_pt(&m->vm.base);
	vgpu_vm_write_spans(&m->vm.base, VM_MOCK_FIRST, &span, 1);
	vgpu_vm_unlock_pt(&m->vm.base);
	vgpu_vm_unreserve_tables(&m->vm.base);
	vm_mock_trim(m);
	KUNIT_EXPECT_NE(test, vgpu_vm_read_pte(&m->vm.base, VM_MOCK_FIRST + 699), 0);
	vgpu_vm_clear_range(&m->vm.base, VM_MOCK_FIRST, VM_MOCK_FIRST + 699, false);
	vm_mock_trim(m);
	KUNIT_EXPECT_EQ(test, vm_mock_tables(m), 1);
}

/*
 * Reserve, write and clear the entries of some pages. Catches: a table with entries or children
 * stays in the list of empty tables, so that the driver queues the trim work after each repair of a
 * fault that creates a table; an empty table is not in the list.
 */
static void trim_lists_empty(struct kunit *test)
{
	const struct vgpu_vm_span span = {
		.npages = 700, .pte_flags = VM_MOCK_RW | VGPU_PTE_VALID,
	};
	u64 last = VM_MOCK_FIRST + span.npages - 1;
	struct vm_mock *m = vm_mock_new(test, false);
	struct list_head *empty = &m->vm.pt.empty;

	KUNIT_EXPECT_TRUE(test, list_empty(empty));
	KUNIT_ASSERT_EQ(test, vgpu_vm_reserve_tables(&m->vm.base, VM_MOCK_FIRST, last), 0);
	KUNIT_EXPECT_FALSE(test, list_empty(empty));
	vgpu_vm_lock_pt(&m->vm.base);
	vgpu_vm_write_spans(&m->vm.base, VM_MOCK_FIRST, &span, 1);
	vgpu_vm_unlock_pt(&m->vm.base);
	vgpu_vm_unreserve_tables(&m->vm.base);
	KUNIT_EXPECT_TRUE(test, list_empty(empty));
	vgpu_vm_clear_range(&m->vm.base, VM_MOCK_FIRST, last - 1, false);
	vgpu_vm_clear_range(&m->vm.base, last, last, false);
	KUNIT_EXPECT_FALSE(test, list_empty(empty));
	vm_mock_trim(m);
	KUNIT_EXPECT_TRUE(test, list_empty(empty));
	KUNIT_EXPECT_EQ(test, vm_mock_tables(m), 1);
}

/* Catches: the table of a no-retry entry (VGPU_PTE_NORETRY) is freed. */
static void trim_keeps_no(struct kunit *test)
{
	struct vm_mock *m = vm_mock_new(test, false);
	u64 page = VM_MOCK_FIRST + 5;

	KUNIT_ASSERT_EQ(test, vgpu_vm_reserve_tables(&m->vm.base, page, page), 0);
	vgpu_vm_clear_range(&m->vm.base, page, page, true);
	vgpu_vm_unreserve_tables(&m->vm.base);
	vm_mock_trim(m);
	KUNIT_EXPECT_EQ(test, vgpu_vm_read_pte(&m->vm.base, page),
			VGPU_PTE_NORETRY);
	vgpu_vm_clear_range(&m->vm.base, page, page, false);
	vm_mock_trim(m);
	KUNIT_EXPECT_EQ(test, vm_mock_tables(m), 1);
}

/*
 * Catches: a trim flushes more than once for all tables that it frees, or flushes although it
 * frees none.
 */
static void trim_flushes_once(struct kunit *test)
{
	struct vm_mock *m = vm_mock_new(test, false);
	u64 before;

	trim_fill(test, m);
	before = vm_mock_flushes(m);
	vm_mock_trim(m);
	KUNIT_EXPECT_EQ(test, vm_mock_flushes(m), before);
	KUNIT_ASSERT_EQ(test, vm_mock_clear(m, 0, VM_MOCK_WINDOW), 0);
	KUNIT_EXPECT_EQ(test, vm_mock_flushes(m), before + 1);
	vm_mock_trim(m);
	KUNIT_EXPECT_EQ(test, vm_mock_flushes(m), before + 2);
	vm_mock_trim(m);
	KUNIT_EXPECT_EQ(test, vm_mock_flushes(m), before + 2);
}

/*
 * Let the allocation of a table fail. Catches: the next trim does not free the tables that the
 * failed call has allocated.
 */
static void trim_after_failure(struct kunit *test)
{
	struct vm_mock *m = vm_mock_new(test, false);
	unsigned int limit;

	for (limit = 1; limit < 6; limit++) {
		m->limit = limit;
		KUNIT_EXPECT_EQ(test, vm_mock_add(m, 0, 0, 0, VM_MOCK_BO_PAGES),
				-ENOMEM);
		vm_mock_trim(m);
		KUNIT_EXPECT_EQ(test, vm_mock_tables(m), 1);
	}
}

/*
 * Let the memory for tables be used up. Catches: a new mapping fails although freeing empty tables
 * would make room for its tables.
 */
static void trim_makes_room(struct kunit *test)
{
	struct vm_mock *m = vm_mock_new(test, false);

	KUNIT_ASSERT_EQ(test, vm_mock_add(m, 0, 0, 0, 1000), 0);
	vm_mock_update(m);
	m->limit = vm_mock_tables(m);
	KUNIT_EXPECT_EQ(test, vm_mock_add(m, 1, 3000, 0, 1000), -ENOMEM);
	vm_mock_unmap_all(m, 0);
	KUNIT_EXPECT_EQ(test, vm_mock_add(m, 1, 3000, 0, 1000), 0);
	vm_mock_update(m);
	vm_mock_check(test, m);
}

/*
 * Catches: vgpu_vm_try_reserve_tables() waits for alloc_lock; it allocates VRAM, which the mock
 * does not have, so that the test would crash; a failure leaves pool_only set, so that no later
 * call can allocate VRAM; tables that it reserves are freed.
 */
static void trim_try_reserve(struct kunit *test)
{
	struct vm_mock *m = vm_mock_new(test, false);
	const struct vgpu_pt_ops mock_ops = m->ops;
	struct vgpu_vm *vm = &m->vm.base;
	const u64 page = VM_MOCK_FIRST;

	mutex_lock(&m->vm.alloc_lock);
	KUNIT_EXPECT_EQ(test, vgpu_vm_try_reserve_tables(vm, page, page), -EBUSY);
	mutex_unlock(&m->vm.alloc_lock);

	/* Let the driver allocate the tables, from a pool without pieces. */
	m->ops = vgpu_vm_pt_ops;
	KUNIT_EXPECT_EQ(test, vgpu_vm_try_reserve_tables(vm, page, page), -ENOMEM);
	m->ops = mock_ops;
	KUNIT_EXPECT_FALSE(test, m->vm.pool_only);
	KUNIT_EXPECT_EQ(test, vm_mock_tables(m), 1);

	KUNIT_ASSERT_EQ(test, vgpu_vm_try_reserve_tables(vm, page, page), 0);
	vm_mock_trim(m);
	KUNIT_EXPECT_EQ(test, vm_mock_tables(m), 4);
	vgpu_vm_unreserve_tables(vm);
	vm_mock_trim(m);
	KUNIT_EXPECT_EQ(test, vm_mock_tables(m), 1);
}

/*
 * Catches: a reservation allocates a table although one is prepared; the prepared table gets a
 * wrong place in the tree, so that its entry in the PDB0 stays when the table is freed
 * (vgpu_vm_mock.c checks this); more than one table is prepared, or one is never freed;
 * vgpu_vm_prepare_table() waits for alloc_lock, or allocates VRAM, which the mock does not have, so
 * that the test would crash.
 */
static void trim_prepared(struct kunit *test)
{
	const struct vgpu_vm_span span = {
		.npages = 1, .pte_flags = VM_MOCK_RW | VGPU_PTE_VALID,
	};
	struct vm_mock *m = vm_mock_new(test, false);
	const struct vgpu_pt_ops mock_ops = m->ops;
	const u64 page = VM_MOCK_FIRST + 700;
	struct vgpu_vm *vm = &m->vm.base;

	mutex_lock(&m->vm.alloc_lock);
	vgpu_vm_prepare_table(vm);
	mutex_unlock(&m->vm.alloc_lock);
	/* Let the driver allocate the table, from a pool without pieces. */
	m->ops = vgpu_vm_pt_ops;
	vgpu_vm_prepare_table(vm);
	m->ops = mock_ops;
	KUNIT_EXPECT_FALSE(test, m->vm.pool_only);
	KUNIT_EXPECT_EQ(test, vm_mock_tables(m), 1);

	vgpu_vm_prepare_table(vm);
	vgpu_vm_prepare_table(vm);
	KUNIT_EXPECT_EQ(test, vm_mock_tables(m), 2);
	/* Leave memory for the missing PDB1 and PDB0 only. */
	m->limit = 4;
	KUNIT_ASSERT_EQ(test, vgpu_vm_reserve_tables(vm, page, page), 0);
	m->limit = VM_MOCK_TABLES;
	vgpu_vm_lock_pt(vm);
	vgpu_vm_write_spans(vm, page, &span, 1);
	vgpu_vm_unlock_pt(vm);
	vgpu_vm_unreserve_tables(vm);
	KUNIT_EXPECT_NE(test, vgpu_vm_read_pte(vm, page), 0);
	vgpu_vm_prepare_table(vm);
	KUNIT_EXPECT_EQ(test, vm_mock_tables(m), 5);
	vgpu_vm_clear_range(vm, page, page, false);
	vm_mock_trim(m);
	KUNIT_EXPECT_EQ(test, vm_mock_tables(m), 1);
	/* The teardown frees this one. */
	vgpu_vm_prepare_table(vm);
}

static struct kunit_case trim_cases[] = {
	KUNIT_CASE(trim_all),
	KUNIT_CASE(trim_keeps_used),
	KUNIT_CASE(trim_keeps_mapped),
	KUNIT_CASE(trim_keeps_behind_leaf),
	KUNIT_CASE(trim_reserved),
	KUNIT_CASE(trim_lists_empty),
	KUNIT_CASE(trim_keeps_no),
	KUNIT_CASE(trim_flushes_once),
	KUNIT_CASE(trim_after_failure),
	KUNIT_CASE(trim_makes_room),
	KUNIT_CASE(trim_try_reserve),
	KUNIT_CASE(trim_prepared),
	{}
};

static struct kunit_suite trim_suite = {
	.name = "vgpu_trim",
	.test_cases = trim_cases,
};

kunit_test_suite(trim_suite);
