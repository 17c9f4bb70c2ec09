// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of SVM pages in VRAM (svm/migrate/):
 * - stuck_*(): eviction of pages in use
 * - touch_*(): concurrent CPU faults
 * - peer_*(): pages of several GPUs
 */
#include <linux/dma-resv.h>
#include <linux/iopoll.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>

#include "process/kfd_node.h"
#include "svm/migrate/svm_migrate.h"
#include "svm/migrate/svm_migrate_priv.h"
#include "svm/svm.h"
#include "svm/svm_node.h"
#include "tests/lib/svm_vram_mock.h"

#define TOUCHES		3u
#define TOUCH_TIMEOUT	(10 * HZ)

static void stuck_locked(struct kunit *test)
{
	struct svm_vram_mock *m = svm_vram_mock_new(test);

	svm_vram_mock_check(test, m, -EBUSY);
	KUNIT_EXPECT_TRUE(test, PageLocked(m->page));
	unlock_page(m->page);
	svm_vram_mock_release(test, m);
}

/*
 * The system begins to sleep while the pages are being made. Catches: svm_node_evict() looks at
 * the pages, whose struct page may not be initialised yet, or waits for a frozen work item.
 */
static void stuck_pending(struct kunit *test)
{
	struct svm_vram_mock *m = svm_vram_mock_new(test);

	m->sn.pending = true;
	KUNIT_EXPECT_EQ(test, svm_node_evict(&m->node, true), 0);
	m->sn.pending = false;
	unlock_page(m->page);
	svm_vram_mock_release(test, m);
}

/*
 * Expect @looks from svm_bo_evict_ok() and @want from svm_bo_vacate(). Call both functions
 * twice, because a call must not change the result of the next call.
 */
static void stuck_vacate(struct kunit *test, struct svm_vram_mock *m, bool looks,
			 bool want)
{
	struct vgpu_bo *bo = &m->bo;

	dma_resv_lock(bo->tbo.base.resv, NULL);
	KUNIT_EXPECT_EQ(test, svm_bo_evict_ok(bo), looks);
	KUNIT_EXPECT_EQ(test, svm_bo_vacate(bo), want);
	KUNIT_EXPECT_EQ(test, svm_bo_evict_ok(bo), looks);
	KUNIT_EXPECT_EQ(test, svm_bo_vacate(bo), want);
	dma_resv_unlock(bo->tbo.base.resv);
}

static void stuck_resv_fini(void *resv)
{
	dma_resv_fini(resv);
}

/*
 * Check that the eviction of the BO is refused while one of its pages is in use, or while a
 * migration has a reference to the BO.
 */
static void stuck_wanted(struct kunit *test)
{
	struct svm_vram_mock *m = svm_vram_mock_new(test);
	struct dma_resv *resv = &m->bo.tbo.base._resv;

	m->bo.tbo.base.resv = resv;
	dma_resv_init(resv);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, stuck_resv_fini,
							resv), 0);
	m->bo.owner = &m->sb;

	stuck_vacate(test, m, false, false);
	KUNIT_EXPECT_TRUE(test, PageLocked(m->page));
	unlock_page(m->page);
	get_page(m->page);
	stuck_vacate(test, m, false, false);
	put_page(m->page);
	KUNIT_EXPECT_EQ(test, page_ref_count(m->page), 1);
	KUNIT_EXPECT_EQ(test, kref_read(&m->sb.ref), 2);
	KUNIT_EXPECT_EQ(test, atomic_long_read(&m->sn.vram_pages), 1);
	put_page(m->page);
	/*
	 * No page is in use any more, so svm_bo_evict_ok() returns true. A migration still has a
	 * reference to the BO, so svm_bo_vacate() returns false.
	 */
	stuck_vacate(test, m, true, false);
	/* VRAM has lost its contents, so an eviction must not migrate them to system memory. */
	atomic_inc(&m->mock->vdev.hw->vram_epoch);
	stuck_vacate(test, m, false, false);
	refcount_set(&m->sb.ref.refcount, 0);
	stuck_vacate(test, m, true, true);
	m->bo.owner = NULL;
	stuck_vacate(test, m, true, true);
}

/* The page is copied before the kernel refuses to migrate it. */
static void stuck_referenced(struct kunit *test)
{
	struct svm_vram_mock *m = svm_move_mock_new(test)->m;

	unlock_page(m->page);
	svm_vram_mock_check(test, m, -EBUSY);
	KUNIT_EXPECT_FALSE(test, PageLocked(m->page));
	svm_vram_mock_release(test, m);
}

/* Catches: a failed copy is reported like a page that is locked or referenced. */
static void stuck_not_copied(struct kunit *test)
{
	struct svm_vram_mock *m = svm_move_mock_new(test)->m;

	unlock_page(m->page);
	/* No copy is accepted. */
	m->mock->mman.ready = false;
	svm_vram_mock_check(test, m, -ENODEV);
	KUNIT_EXPECT_FALSE(test, PageLocked(m->page));
	m->mock->mman.ready = true;
	svm_vram_mock_release(test, m);
}

/**
 * struct touch_thread - a thread whose CPU fault finds a page in VRAM
 * @vmf: argument of the fault handler
 * @task: thread
 * @ret: return value of svm_migrate_to_ram()
 * @done: completed when svm_migrate_to_ram() has returned
 */
struct touch_thread {
	struct vm_fault vmf;
	struct task_struct *task;
	vm_fault_t ret;
	struct completion done;
};

static int touch_main(void *arg)
{
	struct touch_thread *t = arg;

	allow_signal(SIGKILL);
	t->ret = svm_migrate_to_ram(&t->vmf);
	complete(&t->done);
	return 0;
}

/*
 * Take a reference to @page, as do_swap_page() does, and start a thread that calls
 * svm_migrate_to_ram(). The caller of touch_start() drops this reference at the end of the test.
 */
static struct touch_thread *touch_start(struct kunit *test, struct page *page)
{
	struct touch_thread *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, t);
	init_completion(&t->done);
	t->vmf.page = page;
	get_page(page);
	t->task = kthread_run(touch_main, t, "svm-touch-test");
	KUNIT_ASSERT_FALSE(test, IS_ERR(t->task));
	return t;
}

/* Wait until the page has @want references. */
static void touch_expect_refs(struct kunit *test, struct page *page, int want)
{
	int refs;

	KUNIT_EXPECT_EQ(test, read_poll_timeout(page_ref_count, refs, refs == want,
						USEC_PER_MSEC,
						jiffies_to_usecs(TOUCH_TIMEOUT), false,
						page), 0);
}

static void touch_expect(struct kunit *test, struct touch_thread *t, struct page *page,
			 vm_fault_t want)
{
	KUNIT_ASSERT_TRUE(test, wait_for_completion_timeout(&t->done, TOUCH_TIMEOUT));
	KUNIT_EXPECT_TRUE(test, t->ret == want);
	KUNIT_EXPECT_PTR_EQ(test, t->vmf.page, page);
}

/*
 * While one fault moves a page, later faults of this page wait. Check that the waiting faults drop
 * their page references.
 */
static void touch_lends(struct kunit *test)
{
	struct svm_vram_mock *m = svm_vram_mock_new(test);
	struct touch_thread *t[TOUCHES];
	struct svm_touch_waiter unused;
	struct svm_touch first;
	unsigned int i;

	unlock_page(m->page);
	KUNIT_ASSERT_TRUE(test, svm_touch_begin(&m->sb, &first, m->page, &unused));
	for (i = 0; i < TOUCHES; i++)
		t[i] = touch_start(test, m->page);
	touch_expect_refs(test, m->page, 1);
	for (i = 0; i < TOUCHES; i++)
		KUNIT_EXPECT_FALSE(test, completion_done(&t[i]->done));
	svm_touch_end(&m->sb, &first);
	for (i = 0; i < TOUCHES; i++)
		touch_expect(test, t[i], m->page, 0);
	/*
	 * svm_touch_end() has taken a page reference for each waiting fault. The test drops these
	 * references, as do_swap_page() would.
	 */
	KUNIT_EXPECT_EQ(test, page_ref_count(m->page), 1 + TOUCHES);
	KUNIT_EXPECT_TRUE(test, list_empty(&m->sb.touches));
	for (i = 0; i < TOUCHES; i++)
		put_page(m->page);
	svm_vram_mock_release(test, m);
}

/*
 * Two threads wait until another fault has moved the page. The first thread is killed, and must
 * return before the move ends.
 */
static void touch_killed(struct kunit *test)
{
	struct svm_vram_mock *m = svm_vram_mock_new(test);
	struct svm_touch_waiter unused;
	struct touch_thread *t[2];
	struct svm_touch first;

	unlock_page(m->page);
	KUNIT_ASSERT_TRUE(test, svm_touch_begin(&m->sb, &first, m->page, &unused));
	t[0] = touch_start(test, m->page);
	t[1] = touch_start(test, m->page);
	touch_expect_refs(test, m->page, 1);
	send_sig(SIGKILL, t[0]->task, 1);
	touch_expect(test, t[0], m->page, VM_FAULT_SIGBUS);
	/*
	 * For the killed thread, svm_migrate_to_ram() must take a page reference before it returns:
	 * in the kernel, do_swap_page() would then drop this reference. The other reference is the
	 * mock's.
	 */
	KUNIT_EXPECT_EQ(test, page_ref_count(m->page), 2);
	/* svm_touch_end() must take a reference for the second thread only. */
	svm_touch_end(&m->sb, &first);
	touch_expect(test, t[1], m->page, 0);
	KUNIT_EXPECT_EQ(test, page_ref_count(m->page), 3);
	put_page(m->page);
	put_page(m->page);
	svm_vram_mock_release(test, m);
}

/* Check that faults of two pages do not wait for each other. */
static void touch_two_pages(struct kunit *test)
{
	struct svm_vram_mock *m = svm_vram_mock_new(test);
	struct svm_touch_waiter unused;
	struct svm_touch touch[2];
	struct page *other;

	svm_page_reserve(&m->sb, 1);
	other = svm_page_get(&m->sb, SVM_MOCK_OFFSET + PAGE_SIZE);
	unlock_page(m->page);
	unlock_page(other);
	KUNIT_EXPECT_TRUE(test, svm_touch_begin(&m->sb, &touch[0], m->page, &unused));
	KUNIT_EXPECT_TRUE(test, svm_touch_begin(&m->sb, &touch[1], other, &unused));
	svm_touch_end(&m->sb, &touch[0]);
	svm_touch_end(&m->sb, &touch[1]);
	KUNIT_EXPECT_EQ(test, page_ref_count(other), 1);
	put_page(other);
	svm_vram_mock_release(test, m);
}

static void *peer_owner(const struct svm_vram_mock *m)
{
	return svm_pgmap_owner(&m->node);
}

/*
 * Only @a and @b share a hive. Catches: two GPUs without a common hive have the same
 * dev_pagemap.owner, so HMM returns pages in unreachable VRAM.
 */
static void peer_owners(struct kunit *test)
{
	struct svm_vram_mock *a = svm_vram_mock_of(test, 7, 0);
	struct svm_vram_mock *b = svm_vram_mock_of(test, 7, 2);
	struct svm_vram_mock *other = svm_vram_mock_of(test, 8, 1);
	struct svm_vram_mock *alone[] = {
		svm_vram_mock_new(test), svm_vram_mock_new(test),
	};
	struct svm_vram_mock *all[] = { a, b, other, alone[0], alone[1] };
	unsigned int i;

	KUNIT_EXPECT_PTR_EQ(test, peer_owner(a), peer_owner(b));
	KUNIT_EXPECT_PTR_NE(test, peer_owner(a), peer_owner(other));
	KUNIT_EXPECT_PTR_NE(test, peer_owner(a), peer_owner(alone[0]));
	KUNIT_EXPECT_PTR_NE(test, peer_owner(alone[0]), peer_owner(alone[1]));
	for (i = 0; i < ARRAY_SIZE(all); i++) {
		/* HMM treats the owner NULL as "no owner", so no GPU may have it. */
		KUNIT_EXPECT_NOT_NULL(test, peer_owner(all[i]));
		unlock_page(all[i]->page);
		put_page(all[i]->page);
	}
}

static void peer_expect(struct kunit *test, struct svm_view *view,
			struct page *page, enum svm_place want, u64 addr)
{
	u64 got = addr;

	KUNIT_EXPECT_EQ(test, svm_page_place(view, page, &got), want);
	KUNIT_EXPECT_EQ(test, got, addr);
}

/*
 * Check svm_page_place() for accesses by two GPUs of a hive: @high is node 3 of the hive, and @low
 * is node 1. The GPU @alone is not in the hive.
 */
static void peer_places(struct kunit *test)
{
	struct svm_vram_mock *high = svm_vram_mock_of(test, 7, 3);
	struct svm_vram_mock *low = svm_vram_mock_of(test, 7, 1);
	struct svm_vram_mock *alone = svm_vram_mock_new(test);
	struct svm_vram_mock *all[] = { high, low, alone };
	struct page *page = alloc_page(GFP_KERNEL);
	struct svm_view view;
	unsigned int i, round;

	KUNIT_ASSERT_NOT_NULL(test, page);
	high->mock->regs[VGPU_XGMI_LINKS] = BIT(1);
	low->mock->regs[VGPU_XGMI_LINKS] = BIT(3);
	view = (struct svm_view) { .node = &high->node };
	for (round = 0; round < 2; round++) {
		peer_expect(test, &view, high->page, SVM_IN_VRAM, SVM_MOCK_OFFSET);
		peer_expect(test, &view, low->page, SVM_IN_PEER,
			    SVM_MOCK_OFFSET - 2ull * SVM_MOCK_SEGMENT);
		peer_expect(test, &view, page, SVM_IN_SYSTEM, 4711);
	}
	KUNIT_EXPECT_FALSE(test, view.lost);
	view = (struct svm_view) { .node = &low->node };
	peer_expect(test, &view, high->page, SVM_IN_PEER,
		    SVM_MOCK_OFFSET + 2ull * SVM_MOCK_SEGMENT);
	KUNIT_EXPECT_EQ(test, svm_page_place(&view, alone->page, &(u64){ 0 }),
			SVM_OUT_OF_REACH);
	KUNIT_EXPECT_FALSE(test, view.lost);

	/*
	 * While the link is down, the page of the peer is out of reach, and the GPU's own page
	 * stays in VRAM.
	 */
	high->mock->regs[VGPU_XGMI_LINKS] = BIT(0) | BIT(2);
	view = (struct svm_view) { .node = &high->node };
	KUNIT_EXPECT_EQ(test, svm_page_place(&view, low->page, &(u64){ 0 }),
			SVM_OUT_OF_REACH);
	peer_expect(test, &view, high->page, SVM_IN_VRAM, SVM_MOCK_OFFSET);

	/*
	 * The VRAM of node 1 (@low) is lost. With node 1 as the accessing GPU, the page of node 3
	 * (@high) is not lost, and the page of node 1 is lost.
	 */
	atomic_inc(&low->mock->vdev.hw->vram_epoch);
	view = (struct svm_view) { .node = &low->node };
	peer_expect(test, &view, high->page, SVM_IN_PEER,
		    SVM_MOCK_OFFSET + 2ull * SVM_MOCK_SEGMENT);
	KUNIT_EXPECT_FALSE(test, view.lost);
	peer_expect(test, &view, low->page, SVM_IN_VRAM, SVM_MOCK_OFFSET);
	KUNIT_EXPECT_TRUE(test, view.lost);

	for (i = 0; i < ARRAY_SIZE(all); i++) {
		unlock_page(all[i]->page);
		put_page(all[i]->page);
	}
	__free_page(page);
}

static struct kunit_case stuck_cases[] = {
	KUNIT_CASE_SLOW(stuck_locked),
	KUNIT_CASE_SLOW(stuck_referenced),
	KUNIT_CASE_SLOW(stuck_not_copied),
	KUNIT_CASE(stuck_pending),
	KUNIT_CASE(stuck_wanted),
	KUNIT_CASE(touch_lends),
	KUNIT_CASE(touch_killed),
	KUNIT_CASE(touch_two_pages),
	KUNIT_CASE(peer_owners),
	KUNIT_CASE(peer_places),
	{}
};

static struct kunit_suite stuck_suite = {
	.name = "svm_vram",
	.test_cases = stuck_cases,
};

kunit_test_suite(stuck_suite);
