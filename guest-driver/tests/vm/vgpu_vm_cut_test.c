// SPDX-License-Identifier: GPL-2.0
/*
 * Test the order of an unmap's steps in vm/vgpu_vm_va.c and vgpu_vm_bo.c. Catches: the unmap frees
 * addresses before it has written all page-table entries.
 */
#include <kunit/test-bug.h>

#include "tests/lib/vgpu_vm_mock.h"

enum cut_by {
	CUT_CLEAR,
	CUT_UNMAP_VA,
	CUT_UNMAP_ALL,
};

/**
 * struct cut_case - pages that are unmapped from a mapping of VM_MOCK_BO_PAGES pages
 */
struct cut_case {
	/** @name: printed if the case fails */
	const char *name;
	/** @by: function that unmaps the pages */
	enum cut_by by;
	/** @first: first page to unmap, counted from VM_MOCK_FIRST */
	unsigned int first;
	/** @pages: number of pages to unmap */
	unsigned int pages;
	/** @prt: true for a PRT mapping, false for a mapping of BO 0 */
	bool prt;
};

/**
 * struct cut_watch - writes of page-table entries during an unmap
 */
struct cut_watch {
	/** @first: first page that is unmapped */
	u64 first;
	/** @last: last page that is unmapped */
	u64 last;
	/** @writes: number of calls of vgpu_pt_ops.write; if 0, the case has tested nothing */
	unsigned int writes;
	/**
	 * @late: number of writes when a fault could already create an SVM range at @first or @last
	 * (cut_is_free()). Such a write may overwrite entries of the range
	 */
	unsigned int late;
};

/* One 2 MiB leaf maps pages 87 to 598 of the window. A partial unmap splits this leaf into PTEs. */
static const struct cut_case cuts[] = {
	{ "head", CUT_CLEAR, 0, 100 },
	{ "tail", CUT_CLEAR, 1000, 100 },
	{ "middle of a leaf", CUT_CLEAR, 300, 50 },
	{ "page of a leaf", CUT_CLEAR, 87, 1 },
	{ "all", CUT_CLEAR, 0, VM_MOCK_BO_PAGES },
	{ "mapping by address", CUT_UNMAP_VA, 0, VM_MOCK_BO_PAGES },
	{ "mappings of a BO", CUT_UNMAP_ALL, 0, VM_MOCK_BO_PAGES },
	{ "middle of PRT", CUT_CLEAR, 300, 50, true },
	{ "all of PRT", CUT_CLEAR, 0, VM_MOCK_BO_PAGES, true },
};

/*
 * Return true if a fault could create an SVM range at @page now. A fault waits for alloc_lock, then
 * looks for a mapping (vgpu_vm_va_busy()).
 */
static bool cut_is_free(struct vgpu_vm_state *vm, u64 page)
{
	return !mutex_is_locked(&vm->alloc_lock) &&
	       !interval_tree_iter_first(&vm->bos, page, page);
}

/*
 * Replaces vgpu_pt_ops.write during an unmap. cut_watch.writes counts all writes; cut_watch.late
 * counts writes after the first or last unmapped page became free.
 */
static bool cut_write(struct vgpu_pt *pt, const struct vgpu_pt_mem *mem,
		      unsigned int index, unsigned int n, u64 value, u64 step)
{
	struct vgpu_vm_state *vm = container_of(pt, struct vgpu_vm_state, pt);
	struct cut_watch *w = kunit_get_current_test()->priv;

	w->writes++;
	if (cut_is_free(vm, w->first) || cut_is_free(vm, w->last))
		w->late++;
	return vgpu_vm_pt_ops.write(pt, mem, index, n, value, step);
}

static int cut_unmap(struct vm_mock *m, const struct cut_case *c)
{
	int ret = 0;

	switch (c->by) {
	case CUT_CLEAR:
		return vm_mock_clear(m, c->first, c->pages);
	case CUT_UNMAP_VA:
		ret = vm_mock_unmap_va(m, 0, c->first);
		memset(m->owner, 0, VM_MOCK_BO_PAGES);
		break;
	case CUT_UNMAP_ALL:
		vm_mock_unmap_all(m, 0);
		break;
	}
	return ret;
}

static void cut_one(struct kunit *test, struct vm_mock *m,
		    const struct cut_case *c)
{
	struct cut_watch w = {
		.first = VM_MOCK_FIRST + c->first,
		.last = VM_MOCK_FIRST + c->first + c->pages - 1,
	};
	int ret;

	if (c->prt)
		ret = vm_mock_prt(m, 0, VM_MOCK_BO_PAGES);
	else
		ret = vm_mock_add(m, 0, 0, 0, VM_MOCK_BO_PAGES);
	KUNIT_ASSERT_EQ_MSG(test, ret, 0, "%s", c->name);
	vm_mock_update(m);

	test->priv = &w;
	m->ops.write = cut_write;
	ret = cut_unmap(m, c);
	m->ops.write = vgpu_vm_pt_ops.write;
	test->priv = NULL;

	KUNIT_EXPECT_EQ_MSG(test, ret, 0, "%s", c->name);
	KUNIT_EXPECT_NE_MSG(test, w.writes, 0, "%s", c->name);
	KUNIT_EXPECT_EQ_MSG(test, w.late, 0, "%s", c->name);
	vm_mock_check(test, m);
	KUNIT_ASSERT_EQ(test, vm_mock_clear(m, 0, VM_MOCK_WINDOW), 0);
}

static void cut_order(struct kunit *test, bool sdma)
{
	struct vm_mock *m = vm_mock_new(test, sdma);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cuts); i++)
		cut_one(test, m, &cuts[i]);
}

static void cut_order_cpu(struct kunit *test)
{
	cut_order(test, false);
}

static void cut_order_sdma(struct kunit *test)
{
	cut_order(test, true);
}

static struct kunit_case cut_cases[] = {
	KUNIT_CASE(cut_order_cpu),
	KUNIT_CASE(cut_order_sdma),
	{}
};

static struct kunit_suite cut_suite = {
	.name = "vgpu_vm_cut",
	.test_cases = cut_cases,
};

kunit_test_suite(cut_suite);
