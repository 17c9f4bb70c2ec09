// SPDX-License-Identifier: GPL-2.0
/*
 * Test svm_claim() (svm/svm_claim.c), which claims addresses at which a BO is about to be mapped.
 * Catches: a BO overlaps a range; a range is created over a BO that is not completely mapped yet; a
 * claim is not released.
 */
#include <linux/interval_tree.h>
#include <linux/sizes.h>

#include "process/kfd_process.h"
#include "svm/svm.h"
#include "svm/svm_range.h"
#include "svm/svm_tree.h"
#include "tests/lib/vgpu_mock.h"

#define CLAIM_RANGE_FIRST	1000ul
#define CLAIM_RANGE_LAST	1999ul
#define CLAIM_BYTES(pages)	((u64)(pages) << PAGE_SHIFT)

/*
 * A process with one range, and an address space for BOs on one GPU. svm_claim() needs no mm,
 * because no munmap is pending.
 */
struct claim_mock {
	struct kfd_process p;
	struct svm_range_list svms;
	struct kfd_process_device pdd;
	struct vgpu_vm_state vm;
	struct svm_range range;
	struct interval_tree_node bo;
};

static struct claim_mock *claim_mock_new(struct kunit *test)
{
	struct claim_mock *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	struct svm_range_list *svms;
	int ret;

	KUNIT_ASSERT_NOT_NULL(test, m);
	svms = &m->svms;
	svms->process = &m->p;
	m->p.svms = svms;
	mutex_init(&m->p.mutex);
	mutex_init(&svms->lock);
	mutex_init(&m->vm.alloc_lock);
	INIT_LIST_HEAD(&svms->deferred_range_list);
	svm_tree_init(svms);
	svms->n_gpus = 1;
	m->vm.bos = RB_ROOT_CACHED;
	m->pdd.vm = &m->vm.base;
	m->p.pdds[0] = &m->pdd;
	m->range.svms = svms;
	m->range.iv.first = CLAIM_RANGE_FIRST;
	m->range.iv.last = CLAIM_RANGE_LAST;
	mutex_lock(&svms->lock);
	ret = svm_tree_store(&m->range);
	mutex_unlock(&svms->lock);
	KUNIT_ASSERT_EQ(test, ret, 0);
	mutex_lock(&m->p.mutex);
	return m;
}

static void claim_mock_end(struct claim_mock *m)
{
	mutex_lock(&m->svms.lock);
	svm_tree_destroy(&m->svms);
	mutex_unlock(&m->svms.lock);
	mutex_unlock(&m->p.mutex);
}

static bool claim_busy(struct claim_mock *m, unsigned long first,
		       unsigned long last)
{
	bool busy;

	mutex_lock(&m->svms.lock);
	busy = svm_va_busy(&m->svms, (struct svm_interval){ first, last });
	mutex_unlock(&m->svms.lock);
	return busy;
}

/* Check that a claim that overlaps a range by one page fails, and leaves no claim. */
static void claim_taken(struct kunit *test)
{
	static const struct {
		unsigned long first, pages;
		int want;
	} c[] = {
		{ CLAIM_RANGE_FIRST - 10, 10, 0 },
		{ CLAIM_RANGE_FIRST - 10, 11, -EADDRINUSE },
		{ CLAIM_RANGE_FIRST, 1, -EADDRINUSE },
		{ CLAIM_RANGE_LAST, 1, -EADDRINUSE },
		{ CLAIM_RANGE_LAST + 1, 1, 0 },
		{ CLAIM_RANGE_FIRST - 1, 5000, -EADDRINUSE },
	};
	struct claim_mock *m = claim_mock_new(test);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(c); i++) {
		unsigned long last = c[i].first + c[i].pages - 1;

		KUNIT_EXPECT_EQ_MSG(test, svm_claim(&m->p,
						    CLAIM_BYTES(c[i].first),
						    CLAIM_BYTES(c[i].pages)),
				    c[i].want, "claim %u", i);
		KUNIT_EXPECT_EQ_MSG(test, claim_busy(m, c[i].first, last),
				    !c[i].want, "claim %u", i);
		svm_unclaim(&m->p);
		KUNIT_EXPECT_FALSE_MSG(test, claim_busy(m, 0, ULONG_MAX),
				       "claim %u", i);
	}
	/* A claim of a part of a page is a claim of the page. */
	KUNIT_EXPECT_EQ(test, svm_claim(&m->p,
					CLAIM_BYTES(CLAIM_RANGE_FIRST) - 1, 2),
			-EADDRINUSE);
	claim_mock_end(m);
}

/* Check that new ranges are refused only at the claimed pages. */
static void claim_held(struct kunit *test)
{
	struct claim_mock *m = claim_mock_new(test);

	KUNIT_ASSERT_EQ(test, svm_claim(&m->p, CLAIM_BYTES(100),
					CLAIM_BYTES(16)), 0);
	KUNIT_EXPECT_TRUE(test, claim_busy(m, 0, 100));
	KUNIT_EXPECT_TRUE(test, claim_busy(m, 107, 107));
	KUNIT_EXPECT_TRUE(test, claim_busy(m, 115, 200));
	KUNIT_EXPECT_FALSE(test, claim_busy(m, 0, 99));
	KUNIT_EXPECT_FALSE(test, claim_busy(m, 116, ULONG_MAX));
	/* Map the BO: after svm_unclaim(), the mapping prevents new ranges. */
	m->bo.start = 100;
	m->bo.last = 115;
	interval_tree_insert(&m->bo, &m->vm.bos);
	svm_unclaim(&m->p);
	KUNIT_EXPECT_TRUE(test, claim_busy(m, 107, 107));
	KUNIT_EXPECT_FALSE(test, claim_busy(m, 116, ULONG_MAX));
	claim_mock_end(m);
}

/* Check that claims of length 0, and claims whose end wraps, are refused. */
static void claim_nothing(struct kunit *test)
{
	struct claim_mock *m = claim_mock_new(test);

	KUNIT_EXPECT_EQ(test, svm_claim(&m->p, 0, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, svm_claim(&m->p, U64_MAX, 2), -EINVAL);
	KUNIT_EXPECT_EQ(test, svm_claim(&m->p, CLAIM_BYTES(1), U64_MAX),
			-EINVAL);
	KUNIT_EXPECT_FALSE(test, claim_busy(m, 0, ULONG_MAX));
	claim_mock_end(m);
}

static struct kunit_case claim_cases[] = {
	KUNIT_CASE(claim_taken),
	KUNIT_CASE(claim_held),
	KUNIT_CASE(claim_nothing),
	{}
};

static struct kunit_suite claim_suite = {
	.name = "svm_claim",
	.test_cases = claim_cases,
};

kunit_test_suite(claim_suite);
