// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the steps of a migration (svm/migrate/):
 * - move_*(): loss of VRAM, allocation of system pages
 * - pipe_*(): two chunks in progress
 */
#include <linux/dma-fence.h>
#include <linux/dma-mapping.h>
#include <linux/migrate.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/sched/mm.h>

#include <kunit/static_stub.h>
#include <kunit/test-bug.h>

#include "svm/migrate/svm_migrate.h"
#include "svm/migrate/svm_pipe.h"
#include "svm/svm.h"
#include "tests/lib/svm_vram_mock.h"

#define SOME_FIRST	8u	/* number of the first page in VRAM that migrates */
#define SOME_PAGES	70u
#define SOME_CALLS	4u
/* Pages of SOME_PAGES that do not migrate. */
#define SOME_HOLE	10u
#define SOME_PINNED	20u
#define SOME_LEFT	30u
/* The 36th page that migrates: the calls before have allocated 32 and 3 pages. */
#define SOME_FAILED	38u

/* Prepare a migration of the page to system memory. move_undo() undoes the call. */
static long move_prepare(struct svm_move_mock *mv)
{
	mv->move.npages = 1;
	mv->move.to_vram = false;
	mv->move.src[0] = migrate_pfn(page_to_pfn(mv->m->page)) | MIGRATE_PFN_MIGRATE;
	return svm_move_alloc_system(&mv->m->node, &mv->move);
}

static void move_undo(struct svm_move_mock *mv)
{
	svm_move_dma_unmap(&mv->m->dev, &mv->move);
	svm_move_abort(&mv->move);
}

/* Prepare a migration to VRAM that clears the page: there is no system page. */
static void move_prepare_clear(struct svm_move_mock *mv)
{
	mv->move.npages = 1;
	mv->move.to_vram = true;
	mv->move.sys[0] = 0;
	mv->move.vram[0] = SVM_MOCK_OFFSET;
	mv->move.vram_epoch = atomic_read(&mv->m->mock->vdev.hw->vram_epoch);
}

static int move_copy(struct svm_move_mock *mv)
{
	svm_move_submit(&mv->m->node, &mv->move);
	return svm_move_wait(&mv->m->node, &mv->move);
}

/* Lose the content of VRAM, as a reset of the device may do. */
static void move_lose_vram(struct svm_move_mock *mv)
{
	memset(mv->m->vram, 0xff, SVM_MOCK_VRAM);
	atomic_inc(&mv->m->mock->vdev.hw->vram_epoch);
}

/*
 * A page migrates to system memory. VRAM is lost after the test of the page, and before the copy.
 * Catches: the copy reads the epoch itself, after the loss, and succeeds. The process would then
 * read lost content, and get no SIGBUS.
 */
static void move_source_lost(struct kunit *test)
{
	struct svm_move_mock *mv = svm_move_mock_new(test);
	struct svm_vram_mock *m = mv->m;
	void *content = m->vram + SVM_MOCK_OFFSET;
	struct page *page;

	prandom_bytes_state(&m->mock->rnd, content, PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, move_prepare(mv), 1);
	KUNIT_EXPECT_EQ(test, move_copy(mv), 0);
	page = migrate_pfn_to_page(mv->move.dst[0]);
	KUNIT_EXPECT_TRUE(test, page && !memcmp(page_address(page), content, PAGE_SIZE));
	move_undo(mv);

	KUNIT_EXPECT_EQ(test, move_prepare(mv), 1);
	move_lose_vram(mv);
	KUNIT_EXPECT_EQ(test, move_copy(mv), -ECANCELED);
	move_undo(mv);

	/* A lost page is not copied at all. It stays in VRAM, and does not prevent a sleep. */
	KUNIT_EXPECT_EQ(test, move_prepare(mv), -EIO);
	unlock_page(m->page);
	KUNIT_EXPECT_EQ(test, svm_node_evict(&m->node, true), 0);
	svm_vram_mock_release(test, m);
}

/*
 * A page migrates to VRAM. VRAM is lost after the allocation of the BO, and before the copy.
 * Catches: the migration succeeds. The page would then count as lost because of svm_bo.vram_epoch,
 * although system memory still has the content.
 */
static void move_target_lost(struct kunit *test)
{
	struct svm_move_mock *mv = svm_move_mock_new(test);
	struct svm_vram_mock *m = mv->m;
	void *content = m->vram + SVM_MOCK_OFFSET;

	move_prepare_clear(mv);
	memset(content, 0xff, PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, move_copy(mv), 0);
	KUNIT_EXPECT_NULL(test, memchr_inv(content, 0, PAGE_SIZE));

	move_lose_vram(mv);
	KUNIT_EXPECT_EQ(test, move_copy(mv), -ECANCELED);
	unlock_page(m->page);
	svm_vram_mock_release(test, m);
}

/*
 * VRAM is lost after the copy has ended, and before the pages migrate. With two chunks in progress,
 * the kernel may run for milliseconds in between.
 * Catches: pages migrate to VRAM that has lost their content, although system memory still has it;
 * pages that were copied to system memory before the loss do not migrate.
 */
static void move_lost_after_copy(struct kunit *test)
{
	struct svm_move_mock *mv = svm_move_mock_new(test);
	struct svm_vram_mock *m = mv->m;

	KUNIT_EXPECT_EQ(test, move_prepare(mv), 1);
	svm_move_submit(&m->node, &mv->move);
	move_lose_vram(mv);
	KUNIT_EXPECT_EQ(test, svm_move_wait(&m->node, &mv->move), 0);
	move_undo(mv);

	move_prepare_clear(mv);
	svm_move_submit(&m->node, &mv->move);
	move_lose_vram(mv);
	KUNIT_EXPECT_EQ(test, svm_move_wait(&m->node, &mv->move), -ECANCELED);
	unlock_page(m->page);
	svm_vram_mock_release(test, m);
}

/**
 * struct some_mock - a migration whose allocation of a system page fails
 */
struct some_mock {
	/** @vram: pages in VRAM that migrate */
	struct page *vram[SOME_PAGES];
	/** @given: pages that some_alloc() has allocated, each with a reference of the test */
	struct page *given[SOME_PAGES];
	/** @n_given: number of elements of @given in use */
	unsigned int n_given;
	/** @asked: number of pages that each call of some_alloc() was asked for */
	unsigned long asked[SOME_CALLS];
	/** @calls: number of calls of some_alloc() */
	unsigned int calls;
};

/* Replaces svm_page_alloc_many(). The second call allocates 3 pages, the third call none. */
static unsigned long some_alloc(struct vm_area_struct *vma, unsigned long page,
				unsigned long n, struct page **pages)
{
	struct some_mock *s = kunit_get_current_test()->priv;
	unsigned long i;

	if (s->calls == SOME_CALLS)
		return 0;
	s->asked[s->calls] = n;
	if (s->calls == 1)
		n = min(n, 3ul);
	if (s->calls == 2)
		n = 0;
	s->calls++;
	for (i = 0; i < n && s->n_given < SOME_PAGES; i++) {
		pages[i] = alloc_page(GFP_KERNEL);
		if (!pages[i])
			break;
		get_page(pages[i]);
		s->given[s->n_given++] = pages[i];
	}
	return i;
}

/* Let SOME_PAGES pages in VRAM migrate, except for three of them. */
static void some_begin(struct svm_move_mock *mv, struct some_mock *s)
{
	struct svm_move *move = &mv->move;
	unsigned int i;

	svm_page_reserve(&mv->m->sb, SOME_PAGES);
	for (i = 0; i < SOME_PAGES; i++) {
		s->vram[i] = svm_page_get(&mv->m->sb, (SOME_FIRST + i) * PAGE_SIZE);
		move->src[i] = migrate_pfn(page_to_pfn(s->vram[i])) | MIGRATE_PFN_MIGRATE;
	}
	move->npages = SOME_PAGES;
	move->src[SOME_HOLE] = 0;
	move->src[SOME_PINNED] &= ~MIGRATE_PFN_MIGRATE;
	s->vram[SOME_LEFT]->zone_device_data =
		(void *)((uintptr_t)s->vram[SOME_LEFT]->zone_device_data | SVM_PAGE_LEFT);
}

static void some_end(struct kunit *test, struct svm_move_mock *mv, struct some_mock *s)
{
	unsigned int i;

	move_undo(mv);
	for (i = 0; i < s->n_given; i++) {
		KUNIT_EXPECT_EQ(test, page_ref_count(s->given[i]), 1);
		put_page(s->given[i]);
	}
	for (i = 0; i < SOME_PAGES; i++) {
		unlock_page(s->vram[i]);
		put_page(s->vram[i]);
	}
}

/*
 * One page of a chunk gets no system page. Catches: other pages of the chunk get none either, or
 * get that of their neighbour; a page that does not migrate gets one; system pages are left over
 * and leak; a page of a BO has no reference to the BO, or two.
 */
static void move_some(struct kunit *test)
{
	struct svm_move_mock *mv = svm_move_mock_new(test);
	struct some_mock *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);
	struct svm_vram_mock *m = mv->m;
	struct svm_move *move = &mv->move;
	unsigned int i, k = 0;

	KUNIT_ASSERT_NOT_NULL(test, s);
	test->priv = s;
	kunit_activate_static_stub(test, svm_page_alloc_many, some_alloc);
	some_begin(mv, s);
	KUNIT_EXPECT_EQ(test, kref_read(&m->sb.ref), 2 + SOME_PAGES);
	KUNIT_EXPECT_EQ(test, atomic_long_read(&m->sn.vram_pages), 1 + SOME_PAGES);

	KUNIT_EXPECT_EQ(test, svm_move_alloc_system(&m->node, move), SOME_PAGES - 4);
	KUNIT_EXPECT_EQ(test, s->asked[0], 32);
	KUNIT_EXPECT_EQ(test, s->asked[1], 32);
	KUNIT_EXPECT_EQ(test, s->asked[2], 32);
	KUNIT_EXPECT_EQ(test, s->asked[3], 31);
	KUNIT_EXPECT_EQ(test, s->n_given, SOME_PAGES - 4);
	for (i = 0; i < SOME_PAGES; i++) {
		struct page *page = migrate_pfn_to_page(move->dst[i]);

		if (i == SOME_HOLE || i == SOME_PINNED || i == SOME_LEFT || i == SOME_FAILED) {
			KUNIT_EXPECT_EQ(test, move->dst[i], 0);
			KUNIT_EXPECT_EQ(test, move->sys[i], DMA_MAPPING_ERROR);
			continue;
		}
		KUNIT_EXPECT_PTR_EQ(test, page, s->given[k++]);
		KUNIT_EXPECT_TRUE(test, page && PageLocked(page));
		KUNIT_EXPECT_NE(test, move->sys[i], DMA_MAPPING_ERROR);
		KUNIT_EXPECT_EQ(test, move->vram[i], (SOME_FIRST + i) * PAGE_SIZE);
	}

	some_end(test, mv, s);
	unlock_page(m->page);
	svm_vram_mock_release(test, m);
}

/* Replaces svm_page_alloc_many(): memory is short. */
static unsigned long lost_alloc(struct vm_area_struct *vma, unsigned long page,
				unsigned long n, struct page **pages)
{
	return 0;
}

/*
 * Of two pages in VRAM, a reset has lost one; memory is short for the other one. Catches: the
 * migration reports only the loss, so that a CPU fault of the second page raises SIGBUS and not an
 * out-of-memory fault, and a sleep of the system is not refused with -ENOMEM.
 */
static void move_lost_no_memory(struct kunit *test)
{
	struct svm_move_mock *mv = svm_move_mock_new(test);
	struct svm_bo *filled = kunit_kzalloc(test, sizeof(*filled), GFP_KERNEL);
	struct svm_vram_mock *m = mv->m;
	struct svm_move *move = &mv->move;
	struct page *page;

	KUNIT_ASSERT_NOT_NULL(test, filled);
	move_lose_vram(mv);
	/* A BO that was filled after the loss. */
	kref_init(&filled->ref);
	filled->node = &m->node;
	filled->vram_epoch = atomic_read(&m->mock->vdev.hw->vram_epoch);
	svm_page_reserve(filled, 1);
	page = svm_page_get(filled, SOME_FIRST * PAGE_SIZE);
	move->npages = 2;
	move->to_vram = false;
	move->src[0] = migrate_pfn(page_to_pfn(m->page)) | MIGRATE_PFN_MIGRATE;
	move->src[1] = migrate_pfn(page_to_pfn(page)) | MIGRATE_PFN_MIGRATE;

	kunit_activate_static_stub(test, svm_page_alloc_many, lost_alloc);
	KUNIT_EXPECT_EQ(test, svm_move_alloc_system(&m->node, move), -ENOMEM);
	kunit_deactivate_static_stub(test, svm_page_alloc_many);
	KUNIT_EXPECT_EQ(test, svm_move_alloc_system(&m->node, move), 1);
	KUNIT_EXPECT_EQ(test, move->dst[0], 0);
	KUNIT_EXPECT_NE(test, move->dst[1], 0);
	move_undo(mv);
	unlock_page(page);
	put_page(page);
	unlock_page(m->page);
	svm_vram_mock_release(test, m);
}

/*
 * A CPU fault of a long-term pin gets system pages. Catches: the pages are movable, so that the pin
 * has to migrate them again; other pages are not movable; an eviction invokes the OOM killer.
 */
static void move_pinned(struct kunit *test)
{
	unsigned int flags;

	KUNIT_EXPECT_TRUE(test, svm_page_gfp(false) & __GFP_MOVABLE);
	KUNIT_EXPECT_FALSE(test, svm_page_gfp(false) & __GFP_RETRY_MAYFAIL);
	KUNIT_EXPECT_TRUE(test, svm_page_gfp(true) & __GFP_MOVABLE);
	KUNIT_EXPECT_TRUE(test, svm_page_gfp(true) & __GFP_RETRY_MAYFAIL);
	flags = memalloc_pin_save();
	KUNIT_EXPECT_FALSE(test, svm_page_gfp(false) & __GFP_MOVABLE);
	memalloc_pin_restore(flags);
}

static DEFINE_SPINLOCK(pipe_fence_lock);

static const char *pipe_fence_name(struct dma_fence *fence)
{
	return "pipe";
}

static const struct dma_fence_ops pipe_fence_ops = {
	.get_driver_name = pipe_fence_name,
	.get_timeline_name = pipe_fence_name,
};

/* Return the fence of a copy that has ended, with an error unless @error is 0. */
static struct dma_fence *pipe_fence(struct kunit *test, int error)
{
	struct dma_fence *fence = kzalloc(sizeof(*fence), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, fence);
	dma_fence_init(fence, &pipe_fence_ops, &pipe_fence_lock,
		       dma_fence_context_alloc(1), 1);
	if (error)
		dma_fence_set_error(fence, error);
	dma_fence_signal(fence);
	return fence;
}

/* Push a chunk that has no pages. @copies and @fence are values for struct svm_move. */
static struct svm_move *pipe_push(struct svm_pipe *pipe, long copies, struct dma_fence *fence)
{
	struct svm_move *m = svm_pipe_next(pipe);

	m->npages = 0;
	m->to_vram = false;
	m->args = (struct migrate_vma){ .vma = NULL };
	m->copies = copies;
	m->fence = fence;
	m->sb = NULL;
	m->event = (struct kfd_smi_move){ .smi = &pipe->node->smi };
	svm_pipe_push(pipe, m);
	return m;
}

static void pipe_init(struct kunit *test, struct svm_pipe *pipe, struct svm_vram_mock *m,
		      unsigned long last)
{
	struct svm_interval iv = { 1, last };

	KUNIT_ASSERT_EQ(test, svm_pipe_init(pipe, &m->node, iv), 0);
}

/*
 * A chunk is completed when the next one has been pushed. svm_move_wait() sets svm_move.fence to
 * NULL. Catches: the copy is waited for before the next chunk begins; the memory of a chunk in
 * progress is used for the next one; a chunk without a copy stays locked, or is completed before
 * the chunk before it.
 */
static void pipe_overlaps(struct kunit *test)
{
	struct svm_vram_mock *m = svm_vram_mock_new(test);
	struct svm_move *first, *second, *third;
	unsigned long moved = 0;
	struct svm_pipe pipe;

	pipe_init(test, &pipe, m, SVM_CHUNK_PAGES);
	first = pipe_push(&pipe, 1, pipe_fence(test, 0));
	KUNIT_EXPECT_PTR_EQ(test, pipe.last, first);
	KUNIT_EXPECT_NOT_NULL(test, first->fence);
	second = pipe_push(&pipe, 1, pipe_fence(test, 0));
	KUNIT_EXPECT_PTR_NE(test, first, second);
	KUNIT_EXPECT_PTR_EQ(test, pipe.last, second);
	KUNIT_EXPECT_NULL(test, first->fence);
	KUNIT_EXPECT_NOT_NULL(test, second->fence);
	third = pipe_push(&pipe, 0, NULL);
	KUNIT_EXPECT_PTR_EQ(test, first, third);
	KUNIT_EXPECT_NULL(test, second->fence);
	KUNIT_EXPECT_NULL(test, pipe.last);
	KUNIT_EXPECT_EQ(test, svm_pipe_fini(&pipe, &moved), 0);
	unlock_page(m->page);
	svm_vram_mock_release(test, m);
}

/*
 * An interval in one chunk. Catches: svm_pipe_next() returns the memory of a chunk in progress, or
 * NULL.
 */
static void pipe_alone(struct kunit *test)
{
	struct svm_vram_mock *m = svm_vram_mock_new(test);
	unsigned long moved = 0;
	struct svm_move *move;
	struct svm_pipe pipe;

	pipe_init(test, &pipe, m, SVM_CHUNK_PAGES - 1);
	KUNIT_EXPECT_NULL(test, pipe.move[1]);
	move = pipe_push(&pipe, 1, pipe_fence(test, 0));
	KUNIT_EXPECT_NOT_NULL(test, move->fence);
	KUNIT_EXPECT_PTR_EQ(test, svm_pipe_next(&pipe), move);
	KUNIT_EXPECT_NULL(test, move->fence);
	KUNIT_EXPECT_NULL(test, pipe.last);
	KUNIT_EXPECT_EQ(test, svm_pipe_fini(&pipe, &moved), 0);
	unlock_page(m->page);
	svm_vram_mock_release(test, m);
}

/*
 * Two chunks fail while both are in progress, after earlier chunks have moved. Catches: the
 * migration reports success, or the error of the later chunk; an error of the submission is lost;
 * the pages that have moved are not reported, so that events and policy of a GPU fault count the
 * fault as one that moved nothing.
 */
static void pipe_fails(struct kunit *test)
{
	struct svm_vram_mock *m = svm_vram_mock_new(test);
	unsigned long moved = 2;
	struct svm_pipe pipe;

	pipe_init(test, &pipe, m, SVM_CHUNK_PAGES);
	pipe.moved = 7;
	pipe_push(&pipe, 1, pipe_fence(test, -ETIME));
	KUNIT_EXPECT_EQ(test, pipe.error, 0);
	pipe_push(&pipe, -ENOMEM, NULL);
	KUNIT_EXPECT_EQ(test, pipe.error, -EIO);
	KUNIT_EXPECT_NULL(test, pipe.last);
	KUNIT_EXPECT_EQ(test, svm_pipe_fini(&pipe, &moved), -EIO);
	KUNIT_EXPECT_EQ(test, moved, 9);

	pipe_init(test, &pipe, m, SVM_CHUNK_PAGES);
	pipe_push(&pipe, 1, ERR_PTR(-ECANCELED));
	KUNIT_EXPECT_EQ(test, svm_pipe_fini(&pipe, &moved), -ECANCELED);
	KUNIT_EXPECT_EQ(test, moved, 9);
	unlock_page(m->page);
	svm_vram_mock_release(test, m);
}

static struct kunit_case move_cases[] = {
	KUNIT_CASE(move_source_lost),
	KUNIT_CASE(move_target_lost),
	KUNIT_CASE(move_lost_after_copy),
	KUNIT_CASE(move_some),
	KUNIT_CASE(move_lost_no_memory),
	KUNIT_CASE(move_pinned),
	KUNIT_CASE(pipe_overlaps),
	KUNIT_CASE(pipe_alone),
	KUNIT_CASE(pipe_fails),
	{}
};

static struct kunit_suite move_suite = {
	.name = "svm_move",
	.test_cases = move_cases,
};

kunit_test_suite(move_suite);
