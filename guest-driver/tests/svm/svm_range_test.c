// SPDX-License-Identifier: GPL-2.0
/*
 * Test svm_range_create(), svm_range_split() and svm_range_remove() (svm/svm_range.c). Catches: a
 * range and its MMU notifier are removed while the GPU still has entries for the range's pages.
 * Then the GPU can access pages that the kernel reuses. Also catches: a split loses pages, their
 * order, or the GPUs that have entries for them; without memory for the tree, a new range stays.
 */
#include <linux/err.h>
#include <linux/io.h>
#include <linux/list.h>
#include <linux/mman.h>
#include <kunit/static_stub.h>

#include "process/kfd_node.h"
#include "process/kfd_process.h"
#include "svm/svm.h"
#include "svm/svm_node.h"
#include "svm/svm_range.h"
#include "svm/svm_tree.h"
#include "tests/lib/vgpu_vm_mock.h"

#define RANGE_PAGES	3u
#define RANGE_FIRST	((unsigned long)VM_MOCK_FIRST)
#define RANGE_LAST	(RANGE_FIRST + RANGE_PAGES - 1)
#define RANGE_FLAGS	(VM_MOCK_RW | VGPU_PTE_VALID | VGPU_PTE_SYSTEM)

/**
 * struct range_mock - a process with one range, mapped on one GPU
 */
struct range_mock {
	/** @p: process */
	struct kfd_process p;
	/** @pdd: the only element of @p.pdds */
	struct kfd_process_device pdd;
	/** @node: GPU */
	struct kfd_node node;
	/** @sn: SVM state of the GPU; only svm_node.node is set */
	struct svm_node sn;
	/** @vm: address space of @p */
	struct vm_mock *vm;
	/** @writes: number of register writes during svm_range_remove() */
	unsigned int writes;
	/**
	 * @late: number of @writes after the last range was removed from the list; must be 0,
	 * because the TLB flush must come before the removal
	 */
	unsigned int late;
};

/* Replaces vgpu_wreg(), which is called for the TLB flush after entries were cleared. */
static void range_wreg(struct vgpu_device *vdev, u32 reg, u32 value)
{
	struct range_mock *m = kunit_get_current_test()->priv;
	struct svm_range_list *svms = m->p.svms;

	writel(value, to_hw_state(vdev)->mmio + 4 * reg);
	m->writes++;
	if (list_empty(&svms->list))
		m->late++;
}

static struct range_mock *range_mock_new(struct kunit *test)
{
	struct range_mock *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, m);
	/* The test's thread has no mm. kunit_vm_mmap() attaches an mm to the thread. */
	KUNIT_ASSERT_NE(test, kunit_vm_mmap(test, NULL, 0, PAGE_SIZE, PROT_READ,
					    MAP_ANONYMOUS | MAP_PRIVATE, 0), 0);
	m->vm = vm_mock_new(test, false);
	spin_lock_init(&m->vm->hw.latch_lock);
	m->node.vdev = m->vm->vdev;
	m->node.svm = &m->sn;
	m->sn.node = &m->node;
	m->pdd.node = &m->node;
	m->pdd.process = &m->p;
	m->pdd.vm = &m->vm->vm.base;
	m->p.pdds[0] = &m->pdd;
	m->p.n_pdds = 1;
	m->p.mm = current->mm;
	m->p.lead_thread = current;
	test->priv = m;
	KUNIT_ASSERT_EQ(test, svm_range_list_init(&m->p), 0);
	return m;
}

/* Create the range and its page-table entries, as the repair of a fault does. */
static void range_mock_map(struct kunit *test, struct range_mock *m)
{
	struct svm_interval iv = { RANGE_FIRST, RANGE_LAST };
	const struct vgpu_vm_span span = {
		.addr = SZ_1G, .npages = RANGE_PAGES, .pte_flags = RANGE_FLAGS,
	};
	struct svm_range_list *svms = m->p.svms;
	const struct svm_attrs attrs = { };
	struct vgpu_vm *vm = &m->vm->vm.base;
	struct svm_range *r;

	mmap_write_lock(m->p.mm);
	mutex_lock(&svms->lock);
	r = svm_range_create(svms, iv, &attrs);
	mutex_unlock(&svms->lock);
	mmap_write_unlock(m->p.mm);
	KUNIT_ASSERT_FALSE(test, IS_ERR(r));

	KUNIT_ASSERT_EQ(test, vgpu_vm_reserve_tables(vm, iv.first, iv.last), 0);
	mutex_lock(&r->lock);
	set_bit(0, r->mapped);
	vgpu_vm_lock_pt(vm);
	vgpu_vm_write_spans(vm, iv.first, &span, 1);
	vgpu_vm_unlock_pt(vm);
	mutex_unlock(&r->lock);
	vgpu_vm_unreserve_tables(vm);
}

/* Check that the pages have entries, and that svm_range_list_fini() clears these in time. */
static void range_fini(struct kunit *test, struct range_mock *m)
{
	unsigned long page;

	for (page = RANGE_FIRST; page <= RANGE_LAST; page++)
		KUNIT_EXPECT_NE(test, vgpu_vm_read_pte(&m->vm->vm.base, page), 0);
	kunit_activate_static_stub(test, vgpu_wreg, range_wreg);
	svm_range_list_fini(&m->p);
	kunit_deactivate_static_stub(test, vgpu_wreg);

	for (page = RANGE_FIRST; page <= RANGE_LAST; page++)
		KUNIT_EXPECT_EQ(test, vgpu_vm_read_pte(&m->vm->vm.base, page), 0);
	KUNIT_EXPECT_EQ(test, m->late, 0);
}

static void range_remove(struct kunit *test)
{
	struct range_mock *m = range_mock_new(test);

	range_mock_map(test, m);
	range_fini(test, m);
	KUNIT_EXPECT_GT(test, m->writes, 0);
}

/*
 * Split the range around its middle page. Catches: a part is missing, or is not at its place in the
 * list; a part does not inherit that the GPU has entries, so that its notifier does not clear them;
 * the split clears entries; a range without a bound inside is replaced.
 */
static void range_split(struct kunit *test)
{
	struct range_mock *m = range_mock_new(test);
	const struct svm_interval middle = { RANGE_FIRST + 1, RANGE_FIRST + 1 };
	struct svm_range_list *svms = m->p.svms;
	unsigned long page = RANGE_FIRST;
	struct svm_range *r;
	int split, again;

	range_mock_map(test, m);
	mmap_write_lock(m->p.mm);
	mutex_lock(&svms->lock);
	split = svm_range_split(svm_range_find(svms, RANGE_FIRST), middle);
	r = svm_range_find(svms, middle.first);
	again = svm_range_split(r, middle);
	KUNIT_EXPECT_PTR_EQ(test, svm_range_find(svms, middle.first), r);
	list_for_each_entry(r, &svms->list, list) {
		KUNIT_EXPECT_EQ(test, r->iv.first, page);
		KUNIT_EXPECT_EQ(test, r->iv.last, page);
		KUNIT_EXPECT_TRUE(test, test_bit(0, r->mapped));
		KUNIT_EXPECT_PTR_EQ(test, svm_range_find(svms, page), r);
		page++;
	}
	mutex_unlock(&svms->lock);
	mmap_write_unlock(m->p.mm);

	KUNIT_EXPECT_EQ(test, split, 0);
	KUNIT_EXPECT_EQ(test, again, 0);
	KUNIT_EXPECT_EQ(test, page, RANGE_LAST + 1);
	range_fini(test, m);
}

/* Replaces svm_tree_store(): no memory for a node of the tree. */
static int range_store_fails(struct svm_range *r)
{
	return -ENOMEM;
}

/*
 * Split a range, and create another one, without memory for the tree. Catches: the error is
 * dropped; a new range stays in the list; the old range leaves the list or the tree, or loses its
 * entries. A notifier that stays in the mm is in freed memory, which KASAN finds at the next split.
 */
static void range_no_memory(struct kunit *test)
{
	struct range_mock *m = range_mock_new(test);
	const struct svm_interval middle = { RANGE_FIRST + 1, RANGE_FIRST + 1 };
	const struct svm_interval other = { RANGE_LAST + 1, RANGE_LAST + 1 };
	struct svm_range_list *svms = m->p.svms;
	const struct svm_attrs attrs = { };
	struct svm_range *r, *created;
	unsigned long page;
	int split, again;

	range_mock_map(test, m);
	mmap_write_lock(m->p.mm);
	mutex_lock(&svms->lock);
	r = svm_range_find(svms, RANGE_FIRST);
	kunit_activate_static_stub(test, svm_tree_store, range_store_fails);
	split = svm_range_split(r, middle);
	created = svm_range_create(svms, other, &attrs);
	kunit_deactivate_static_stub(test, svm_tree_store);
	KUNIT_EXPECT_TRUE(test, list_is_singular(&svms->list));
	KUNIT_EXPECT_PTR_EQ(test, list_first_entry(&svms->list, struct svm_range, list), r);
	for (page = RANGE_FIRST; page <= RANGE_LAST; page++)
		KUNIT_EXPECT_PTR_EQ(test, svm_range_find(svms, page), r);
	KUNIT_EXPECT_NULL(test, svm_range_find(svms, other.first));
	again = svm_range_split(r, middle);
	mutex_unlock(&svms->lock);
	mmap_write_unlock(m->p.mm);

	KUNIT_EXPECT_EQ(test, split, -ENOMEM);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(created), -ENOMEM);
	KUNIT_EXPECT_EQ(test, again, 0);
	for (page = RANGE_FIRST; page <= RANGE_LAST; page++)
		KUNIT_EXPECT_NE(test, vgpu_vm_read_pte(&m->vm->vm.base, page), 0);
	svm_range_list_fini(&m->p);
}

static struct kunit_case range_cases[] = {
	KUNIT_CASE(range_remove),
	KUNIT_CASE(range_split),
	KUNIT_CASE(range_no_memory),
	{}
};

static struct kunit_suite range_suite = {
	.name = "svm_range",
	.test_cases = range_cases,
};

kunit_test_suite(range_suite);
