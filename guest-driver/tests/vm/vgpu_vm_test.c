// SPDX-License-Identifier: GPL-2.0
/*
 * Map, cut, move and clear BOs in an address space (vm/vgpu_vm_va.c and vgpu_vm_bo.c), and compare
 * the entries with a flat map of expected pages.
 */
#include "tests/lib/vgpu_vm_mock.h"

#define ROUNDS		600u

static bool vm_free(struct vm_mock *m, unsigned int i, unsigned int n)
{
	return !memchr_inv(m->owner + i, 0, n);
}

static u32 vm_place(struct vm_mock *m)
{
	return prandom_u32_state(&m->rnd) % 4 ? TTM_PL_TT : TTM_PL_SYSTEM;
}

/*
 * Catches: vgpu_vm_clear_mappings() removes wrong pages, or sets a wrong vgpu_vm_bo.offset; an
 * entry points to a moved BO's old memory; a fragment covers cleared pages.
 */
static void vm_random(struct kunit *test, bool sdma)
{
	struct vm_mock *m = vm_mock_new(test, sdma);
	unsigned int round;

	for (round = 0; round < ROUNDS; round++) {
		unsigned int k = prandom_u32_state(&m->rnd) % VM_MOCK_BOS;
		unsigned int i = prandom_u32_state(&m->rnd) % VM_MOCK_WINDOW;
		unsigned int n = 1 + prandom_u32_state(&m->rnd) %
				 min(VM_MOCK_WINDOW - i, VM_MOCK_BO_PAGES);
		unsigned int from = prandom_u32_state(&m->rnd) %
				    (VM_MOCK_BO_PAGES - n + 1);
		int want = vm_free(m, i, n) ? 0 : -EINVAL;

		switch (prandom_u32_state(&m->rnd) % 16) {
		case 0 ... 6:
			KUNIT_ASSERT_EQ(test, vm_mock_add(m, k, i, from, n), want);
			break;
		case 7:
			KUNIT_ASSERT_EQ(test, vm_mock_prt(m, i, n), want);
			break;
		case 8 ... 9:
			vm_mock_unmap_all(m, k);
			break;
		case 10:
			vm_mock_move(m, k, vm_place(m));
			break;
		case 11:
			vm_mock_move_later(m, k, vm_place(m));
			break;
		case 12:
			KUNIT_ASSERT_EQ(test, vm_mock_clear(m, i, n), 0);
			break;
		default:
			KUNIT_ASSERT_EQ(test, vm_mock_clear(m, i, 1 + n % 7), 0);
			break;
		}
		if (!(prandom_u32_state(&m->rnd) % 4))
			vm_mock_trim(m);
		if (round % 8)
			continue;
		vm_mock_update(m);
		vm_mock_check(test, m);
	}
	KUNIT_ASSERT_EQ(test, vm_mock_clear(m, 0, VM_MOCK_WINDOW), 0);
	vm_mock_trim(m);
	KUNIT_EXPECT_EQ(test, vm_mock_tables(m), 1);
}

static void vm_random_cpu(struct kunit *test)
{
	vm_random(test, false);
}

static void vm_random_sdma(struct kunit *test)
{
	vm_random(test, true);
}

/*
 * A cut leaves one mapping below the removed pages, and one above. Catches: the upper mapping is
 * not found by address; the lower mapping keeps old entries after a move of the BO.
 */
static void vm_cut_middle(struct kunit *test)
{
	struct vm_mock *m = vm_mock_new(test, false);

	KUNIT_ASSERT_EQ(test, vm_mock_add(m, 0, 0, 0, VM_MOCK_BO_PAGES), 0);
	vm_mock_update(m);
	KUNIT_ASSERT_EQ(test, vm_mock_clear(m, 500, 100), 0);
	vm_mock_check(test, m);
	KUNIT_EXPECT_EQ(test, vm_mock_unmap_va(m, 0, 500), -ENOENT);
	KUNIT_EXPECT_EQ(test, vm_mock_unmap_va(m, 1, 600), -ENOENT);
	KUNIT_EXPECT_EQ(test, vm_mock_unmap_va(m, 0, 600), 0);
	memset(m->owner + 600, 0, VM_MOCK_BO_PAGES - 600);
	vm_mock_check(test, m);
	KUNIT_EXPECT_EQ(test, vm_mock_unmap_va(m, 0, 600), -ENOENT);
	/* The remaining mapping follows a move of the BO. */
	vm_mock_move(m, 0, TTM_PL_TT);
	vm_mock_update(m);
	vm_mock_check(test, m);
}

/*
 * Cut a mapping after its BO has moved. Catches: the next update does not write the entries of the
 * remaining parts of the mapping.
 */
static void vm_cut_moved(struct kunit *test)
{
	struct vm_mock *m = vm_mock_new(test, false);

	KUNIT_ASSERT_EQ(test, vm_mock_add(m, 1, 3, 7, 900), 0);
	vm_mock_update(m);
	vm_mock_move(m, 1, TTM_PL_TT);
	KUNIT_ASSERT_EQ(test, vm_mock_clear(m, 400, 1), 0);
	vm_mock_update(m);
	vm_mock_check(test, m);
}

/*
 * Clear one to three pages at a time in a 2 MiB leaf. Catches: a clear also changes the
 * translation of other pages.
 */
static void vm_cut_leaf(struct kunit *test, bool sdma)
{
	unsigned int leaf = -VM_MOCK_FIRST % VGPU_PT_ENTRIES, i;
	struct vm_mock *m = vm_mock_new(test, sdma);

	KUNIT_ASSERT_EQ(test, vm_mock_add(m, 0, 0, 0, VM_MOCK_BO_PAGES), 0);
	vm_mock_update(m);
	vm_mock_check(test, m);
	KUNIT_EXPECT_EQ(test, vgpu_vm_read_pte(&m->vm.base, VM_MOCK_FIRST + leaf),
			vgpu_vm_read_pte(&m->vm.base, VM_MOCK_FIRST + leaf + 511));
	for (i = 0; i < 24; i++) {
		KUNIT_ASSERT_EQ(test, vm_mock_clear(m, leaf + i * 19, 1 + i % 3), 0);
		vm_mock_check(test, m);
	}
}

static void vm_cut_leaf_cpu(struct kunit *test)
{
	vm_cut_leaf(test, false);
}

static void vm_cut_leaf_sdma(struct kunit *test)
{
	vm_cut_leaf(test, true);
}

/*
 * Map all pages of the mock's window to the memory at @addr, in spans of @len pages. Returns the
 * number of bytes that the page-table update took (VGPU_STAT_PT_BYTES).
 */
static u64 vm_write_spans(struct kunit *test, struct vm_mock *m, u64 addr,
			  unsigned int len)
{
	const u64 flags = VM_MOCK_RW | VGPU_PTE_VALID | VGPU_PTE_SYSTEM;
	atomic64_t *bytes = &m->vdev->stats[VGPU_STAT_PT_BYTES];
	u64 before = atomic64_read(bytes);
	unsigned int i, n = 0;
	struct vgpu_vm_span *spans;

	spans = kunit_kcalloc(test, DIV_ROUND_UP(VM_MOCK_WINDOW, len),
			      sizeof(*spans), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, spans);
	for (i = 0; i < VM_MOCK_WINDOW; i += len)
		spans[n++] = (struct vgpu_vm_span) {
			.addr = addr + vm_mock_bytes(i),
			.npages = min(len, VM_MOCK_WINDOW - i),
			.pte_flags = flags,
		};
	vgpu_vm_lock_pt(&m->vm.base);
	vgpu_vm_write_spans(&m->vm.base, VM_MOCK_FIRST, spans, n);
	vgpu_vm_unlock_pt(&m->vm.base);
	kunit_kfree(test, spans);
	for (i = 0; i < VM_MOCK_WINDOW; i++)
		KUNIT_ASSERT_EQ_MSG(test,
				    vgpu_vm_read_pte(&m->vm.base, VM_MOCK_FIRST + i),
				    (addr + vm_mock_bytes(i)) | flags,
				    "page %u, spans of %u", i, len);
	return atomic64_read(bytes) - before;
}

/*
 * Let SDMA write spans of growing length. Catches: an entry is lost when the job is full; a
 * long run of entries takes too many bytes.
 */
static void vm_spans_sdma(struct kunit *test)
{
	const u64 end = VM_MOCK_FIRST + VM_MOCK_WINDOW - 1;
	struct vm_mock *m = vm_mock_new(test, true);
	/*
	 * Physical addresses start here, GPU addresses at vm_mock_va(0). Modulo 2 MiB, the two
	 * addresses of a page differ by one page, so no 2 MiB leaf can map a span.
	 */
	const u64 addr = vm_mock_va(1);
	unsigned int len;

	KUNIT_ASSERT_EQ(test, vgpu_vm_reserve_tables(&m->vm.base, VM_MOCK_FIRST, end),
			0);
	for (len = 1; len < 600; len += len / 4 + 1)
		KUNIT_EXPECT_LE(test,
				vm_write_spans(test, m, addr + len * SZ_1G, len),
				VM_MOCK_WINDOW * 8 * 105 / 100);
	KUNIT_EXPECT_LE(test, vm_write_spans(test, m, addr, VM_MOCK_WINDOW),
			(VM_MOCK_WINDOW / VGPU_PT_ENTRIES + 1) * 40);
	vgpu_vm_clear_range(&m->vm.base, VM_MOCK_FIRST, end, false);
	vgpu_vm_unreserve_tables(&m->vm.base);
}

static void vm_bad_ranges(struct kunit *test)
{
	struct vm_mock *m = vm_mock_new(test, false);
	const u64 end = BIT_ULL(VGPU_VA_BITS);
	struct vgpu_bo *bo = &m->bos[0].bo;
	const u64 size = bo->tbo.base.size;
	static const struct { u64 va, offset, size; } bad[] = {
		{ 0, 0, 0 }, { 1, 0, 4096 }, { 0, 8, 4096 }, { 0, 0, 100 },
		{ 0, 4096, VM_MOCK_BO_PAGES * 4096ull }, { 0, ~0xfffull, 8192 },
		{ 0, 0, ~0xfffull }, { ~0xfffull, 0, 8192 },
	};
	unsigned int i;

	mutex_lock(&m->vm.base.va_lock);
	mock_bo_lock(&m->bos[0]);
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		KUNIT_EXPECT_EQ_MSG(test,
				    vgpu_vm_bo_add(&m->vm.base, bo, bad[i].va,
						   bad[i].offset, bad[i].size,
						   VM_MOCK_RW), -EINVAL, "%u", i);
	KUNIT_EXPECT_EQ(test, vgpu_vm_bo_add(&m->vm.base, bo, end - size + 4096, 0,
					     size, VM_MOCK_RW), -EINVAL);
	KUNIT_EXPECT_EQ(test, vgpu_vm_bo_add(&m->vm.base, bo, end - size, 0, size,
					     VM_MOCK_RW), 0);
	KUNIT_EXPECT_EQ(test, vgpu_vm_bo_unmap_va(&m->vm.base, bo, end - size + 1),
			-ENOENT);
	KUNIT_EXPECT_EQ(test, vgpu_vm_clear_mappings(&m->vm.base, end, 4096),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, vgpu_vm_clear_mappings(&m->vm.base, 0, 17), -EINVAL);
	KUNIT_EXPECT_EQ(test, vgpu_vm_map_prt(&m->vm.base, end - size, 4096),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, vgpu_vm_clear_mappings(&m->vm.base, 0, end), 0);
	KUNIT_EXPECT_TRUE(test, list_empty(&bo->vm_mappings));
	mock_bo_unlock(&m->bos[0]);
	mutex_unlock(&m->vm.base.va_lock);
}

/*
 * Let the allocation of tables fail. Catches: the creation of a mapping does not return -ENOMEM;
 * the addresses of the failed mapping stay occupied.
 */
static void vm_no_memory(struct kunit *test)
{
	struct vm_mock *m = vm_mock_new(test, false);

	m->limit = 5;
	KUNIT_EXPECT_EQ(test, vm_mock_add(m, 0, 0, 0, VM_MOCK_BO_PAGES), -ENOMEM);
	KUNIT_EXPECT_EQ(test, vm_mock_prt(m, 0, VM_MOCK_BO_PAGES), -ENOMEM);
	KUNIT_EXPECT_TRUE(test, list_empty(&m->bos[0].bo.vm_mappings));
	vm_mock_update(m);
	vm_mock_check(test, m);
	m->limit = VM_MOCK_TABLES;
	KUNIT_EXPECT_EQ(test, vm_mock_add(m, 0, 0, 0, VM_MOCK_BO_PAGES), 0);
	vm_mock_update(m);
	vm_mock_check(test, m);
}

/*
 * Catches: a change of many mappings flushes more than once; a change flushes although no
 * entry was valid before it.
 */
static void vm_flush_once(struct kunit *test)
{
	struct vm_mock *m = vm_mock_new(test, false);
	unsigned int i;
	u64 before;

	for (i = 0; i < 40; i++)
		KUNIT_ASSERT_EQ(test, vm_mock_add(m, i % 2, i * 20, i, 10), 0);
	before = vm_mock_flushes(m);
	vm_mock_update(m);
	KUNIT_EXPECT_EQ(test, vm_mock_flushes(m), before);
	vm_mock_move(m, 0, TTM_PL_TT);
	KUNIT_EXPECT_EQ(test, vm_mock_flushes(m), before + 1);
	vm_mock_move(m, 0, TTM_PL_TT);
	KUNIT_EXPECT_EQ(test, vm_mock_flushes(m), before + 1);
	vm_mock_update(m);
	KUNIT_EXPECT_EQ(test, vm_mock_flushes(m), before + 1);
	KUNIT_ASSERT_EQ(test, vm_mock_clear(m, 5, 395), 0);
	KUNIT_EXPECT_EQ(test, vm_mock_flushes(m), before + 2);
	vm_mock_unmap_all(m, 1);
	KUNIT_EXPECT_EQ(test, vm_mock_flushes(m), before + 3);
	KUNIT_ASSERT_EQ(test, vm_mock_clear(m, 5, 395), 0);
	KUNIT_EXPECT_EQ(test, vm_mock_flushes(m), before + 3);
	vm_mock_check(test, m);
}

/* Catches: PRT entries are cleared without a TLB flush. (The TLB may hold PRT entries.) */
static void vm_prt_entries(struct kunit *test)
{
	struct vm_mock *m = vm_mock_new(test, false);
	u64 before;

	KUNIT_ASSERT_EQ(test, vm_mock_prt(m, 100, 2000), 0);
	vm_mock_check(test, m);
	KUNIT_EXPECT_EQ(test, vm_mock_add(m, 0, 2099, 0, 5), -EINVAL);
	KUNIT_EXPECT_EQ(test, vm_mock_prt(m, 0, 101), -EINVAL);
	before = vm_mock_flushes(m);
	KUNIT_ASSERT_EQ(test, vm_mock_clear(m, 700, 50), 0);
	KUNIT_EXPECT_EQ(test, vm_mock_flushes(m), before + 1);
	vm_mock_check(test, m);
	KUNIT_ASSERT_EQ(test, vm_mock_add(m, 2, 700, 9, 50), 0);
	vm_mock_update(m);
	vm_mock_check(test, m);
	mutex_lock(&m->vm.base.va_lock);
	KUNIT_EXPECT_EQ(test, vgpu_vm_bo_unmap_va(&m->vm.base, NULL, vm_mock_va(101)),
			-ENOENT);
	KUNIT_EXPECT_EQ(test, vgpu_vm_bo_unmap_va(&m->vm.base, NULL, vm_mock_va(700)),
			-ENOENT);
	KUNIT_EXPECT_EQ(test, vgpu_vm_bo_unmap_va(&m->vm.base, NULL, vm_mock_va(100)), 0);
	mutex_unlock(&m->vm.base.va_lock);
	memset(m->owner + 100, 0, 600);
	vm_mock_check(test, m);
	/* KUnit now calls vm_mock_fini(). This call removes the remaining PRT mappings. */
}

/*
 * At the first update, the reservation of BO 0 is held, and BO 1 is in system memory. So only the
 * second update can write the entries. Catches: the first update writes an entry of BO 0; the
 * second update does not write all entries of BO 0 and BO 1.
 */
static void vm_moved_stays(struct kunit *test)
{
	struct vm_mock *m = vm_mock_new(test, false);
	struct ww_acquire_ctx ticket;

	KUNIT_ASSERT_EQ(test, vm_mock_add(m, 0, 0, 0, 50), 0);
	KUNIT_ASSERT_EQ(test, vm_mock_add(m, 1, 60, 0, 50), 0);
	vm_mock_move(m, 1, TTM_PL_SYSTEM);
	mutex_lock(&m->vm.base.va_lock);
	/* Reserve BO 0, so that vgpu_vm_update_moved() cannot reserve the BO. */
	mock_bo_lock(&m->bos[0]);
	KUNIT_EXPECT_EQ(test, vgpu_vm_update_moved(&m->vm.base, NULL, true), 0);
	mock_bo_unlock(&m->bos[0]);
	mutex_unlock(&m->vm.base.va_lock);
	KUNIT_EXPECT_EQ(test, vgpu_vm_read_pte(&m->vm.base, VM_MOCK_FIRST), 0);
	KUNIT_EXPECT_FALSE(test, list_empty(&m->vm.moved));
	vm_mock_move(m, 1, TTM_PL_TT);

	mutex_lock(&m->vm.base.va_lock);
	ww_acquire_init(&ticket, &reservation_ww_class);
	KUNIT_ASSERT_EQ(test, dma_resv_lock(m->bos[0].bo.tbo.base.resv,
					    &ticket), 0);
	KUNIT_EXPECT_EQ(test, vgpu_vm_update_moved(&m->vm.base, &ticket, false), 0);
	mock_bo_unlock(&m->bos[0]);
	ww_acquire_fini(&ticket);
	mutex_unlock(&m->vm.base.va_lock);
	vm_mock_check(test, m);
	KUNIT_EXPECT_TRUE(test, list_empty(&m->vm.moved));
}

static const char *mock_fence_name(struct dma_fence *fence)
{
	return "mock";
}

static const struct dma_fence_ops mock_fence_ops = {
	.get_driver_name = mock_fence_name,
	.get_timeline_name = mock_fence_name,
};

static DEFINE_SPINLOCK(mock_fence_lock);

/*
 * Catches: the fence of vgpu_vm_last_update() signals before all BOs have moved;
 * vgpu_vm_update_moved(), called with @idle = false, maps a BO that is still moving.
 */
static void vm_last_update(struct kunit *test)
{
	struct vm_mock *m = vm_mock_new(test, false);
	struct dma_fence *moves[3], *last;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(moves); i++) {
		struct mock_bo *b = &m->bos[i];

		moves[i] = kzalloc(sizeof(*moves[i]), GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, moves[i]);
		dma_fence_init(moves[i], &mock_fence_ops, &mock_fence_lock,
			       dma_fence_context_alloc(1), 1);
		mock_bo_lock(b);
		KUNIT_ASSERT_EQ(test,
				dma_resv_reserve_fences(b->bo.tbo.base.resv, 1),
				0);
		dma_resv_add_fence(b->bo.tbo.base.resv, moves[i],
				   DMA_RESV_USAGE_KERNEL);
		mock_bo_unlock(b);
		KUNIT_ASSERT_EQ(test, vm_mock_add(m, i, i * 100, 0, 100), 0);
	}
	mutex_lock(&m->vm.base.va_lock);
	last = vgpu_vm_last_update(&m->vm.base);
	KUNIT_EXPECT_TRUE(test, dma_fence_is_signaled(last));
	dma_fence_put(last);

	/*
	 * @idle is false: a running job could read the new memory before the move fills this
	 * memory. So no BO may be mapped yet.
	 */
	vgpu_vm_update_moved(&m->vm.base, NULL, false);
	for (i = 0; i < ARRAY_SIZE(moves); i++)
		KUNIT_EXPECT_EQ(test, vgpu_vm_read_pte(&m->vm.base, VM_MOCK_FIRST +
						       i * 100), 0);
	vgpu_vm_update_moved(&m->vm.base, NULL, true);
	last = vgpu_vm_last_update(&m->vm.base);
	for (i = 0; i < ARRAY_SIZE(moves); i++) {
		KUNIT_EXPECT_FALSE(test, dma_fence_is_signaled(last));
		dma_fence_signal(moves[i]);
		dma_fence_put(moves[i]);
	}
	KUNIT_EXPECT_EQ(test, dma_fence_wait_timeout(last, false, 10 * HZ) > 0,
			true);
	dma_fence_put(last);
	last = vgpu_vm_last_update(&m->vm.base);
	KUNIT_EXPECT_TRUE(test, dma_fence_is_signaled(last));
	dma_fence_put(last);
	mutex_unlock(&m->vm.base.va_lock);
	vm_mock_check(test, m);
}

/*
 * Move a BO while a job uses it. Catches: the BO's page-table entries are cleared before the
 * job and the move are done, or are not cleared afterwards.
 */
static void vm_stale(struct kunit *test)
{
	struct vm_mock *m = vm_mock_new(test, false);
	struct mock_bo *b = &m->bos[0];
	struct dma_resv *resv = b->bo.tbo.base.resv;
	struct dma_fence *job;
	u64 old, flushes;

	KUNIT_ASSERT_EQ(test, vm_mock_add(m, 0, 0, 0, 100), 0);
	KUNIT_ASSERT_EQ(test, vm_mock_add(m, 0, 200, 0, 100), 0);
	KUNIT_ASSERT_EQ(test, vm_mock_add(m, 1, 400, 0, 100), 0);
	vm_mock_update(m);
	old = vgpu_vm_read_pte(&m->vm.base, VM_MOCK_FIRST);
	job = kzalloc(sizeof(*job), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, job);
	dma_fence_init(job, &mock_fence_ops, &mock_fence_lock,
		       dma_fence_context_alloc(1), 1);
	mock_bo_lock(b);
	KUNIT_ASSERT_EQ(test, dma_resv_reserve_fences(resv, 1), 0);
	dma_resv_add_fence(resv, job, DMA_RESV_USAGE_WRITE);
	mock_bo_unlock(b);

	KUNIT_EXPECT_FALSE(test, vgpu_vm_has_stale(&m->vm.base));
	vm_mock_move_later(m, 0, TTM_PL_TT);
	KUNIT_EXPECT_TRUE(test, vgpu_vm_has_stale(&m->vm.base));
	mutex_lock(&m->vm.base.va_lock);
	vgpu_vm_update_moved(&m->vm.base, NULL, false);
	mutex_unlock(&m->vm.base.va_lock);
	KUNIT_EXPECT_EQ(test, vgpu_vm_read_pte(&m->vm.base, VM_MOCK_FIRST), old);
	KUNIT_EXPECT_TRUE(test, vgpu_vm_has_stale(&m->vm.base));
	/* A second move does not change the entries either. */
	vm_mock_move_later(m, 0, TTM_PL_TT);
	KUNIT_EXPECT_EQ(test, vgpu_vm_read_pte(&m->vm.base, VM_MOCK_FIRST), old);

	dma_fence_signal(job);
	dma_fence_put(job);
	flushes = vm_mock_flushes(m);
	mutex_lock(&m->vm.base.va_lock);
	KUNIT_EXPECT_EQ(test, vgpu_vm_clear_stale(&m->vm.base, false), 0);
	mutex_unlock(&m->vm.base.va_lock);
	KUNIT_EXPECT_FALSE(test, vgpu_vm_has_stale(&m->vm.base));
	KUNIT_EXPECT_EQ(test, vgpu_vm_read_pte(&m->vm.base, VM_MOCK_FIRST), 0);
	KUNIT_EXPECT_EQ(test, vgpu_vm_read_pte(&m->vm.base, VM_MOCK_FIRST + 250), 0);
	KUNIT_EXPECT_NE(test, vgpu_vm_read_pte(&m->vm.base, VM_MOCK_FIRST + 400), 0);
	KUNIT_EXPECT_GT(test, vm_mock_flushes(m), flushes);
	vm_mock_update(m);
	vm_mock_check(test, m);

	/*
	 * An unmap clears stale entries, and subtracts them from the count that vgpu_vm_has_stale()
	 * tests.
	 */
	vm_mock_move_later(m, 0, TTM_PL_TT);
	KUNIT_EXPECT_EQ(test, vm_mock_unmap_va(m, 0, 0), 0);
	memset(m->owner, 0, 100);
	KUNIT_EXPECT_EQ(test, vgpu_vm_read_pte(&m->vm.base, VM_MOCK_FIRST), 0);
	vm_mock_unmap_all(m, 0);
	KUNIT_EXPECT_FALSE(test, vgpu_vm_has_stale(&m->vm.base));
	vm_mock_check(test, m);
}

/* Catches: a no-retry entry overwrites the entry of a page that is mapped. */
static void vm_deny(struct kunit *test)
{
	struct vm_mock *m = vm_mock_new(test, false);
	const u64 free = VM_MOCK_FIRST + 10;
	u64 flushes;

	KUNIT_ASSERT_EQ(test, vm_mock_add(m, 0, 0, 0, 10), 0);
	vm_mock_update(m);
	KUNIT_ASSERT_EQ(test, vgpu_vm_reserve_tables(&m->vm.base, free, free), 0);
	flushes = vm_mock_flushes(m);
	vgpu_vm_deny_page(&m->vm.base, free - 1);
	KUNIT_EXPECT_EQ(test, vm_mock_flushes(m), flushes);
	vm_mock_check(test, m);
	vgpu_vm_deny_page(&m->vm.base, free);
	KUNIT_EXPECT_EQ(test, vgpu_vm_read_pte(&m->vm.base, free), VGPU_PTE_NORETRY);
	vgpu_vm_clear_range(&m->vm.base, free, free, false);
	vgpu_vm_unreserve_tables(&m->vm.base);
	vm_mock_check(test, m);
}

/**
 * struct vm_jobs - counter of the waits for jobs of an address space
 * @m: address space
 * @waits: number of calls of vgpu_vm_manager.wait_jobs() for @m
 */
static struct vm_jobs {
	struct vm_mock *m;
	unsigned int waits;
} vm_jobs;

static void vm_count_waits(struct vgpu_vm *vm)
{
	if (vm == &vm_jobs.m->vm.base)
		vm_jobs.waits++;
}

/*
 * Unplug the device while jobs are on its engines. Catches: memory is freed while a job can access
 * it through page-table entries or the TLB.
 */
static void vm_unplugged(struct kunit *test)
{
	struct vm_mock *m = vm_mock_new(test, false);

	vm_jobs.m = m;
	vm_jobs.waits = 0;
	m->vdev->vmm->wait_jobs = vm_count_waits;
	KUNIT_ASSERT_EQ(test, vm_mock_add(m, 0, 0, 0, 8), 0);
	vm_mock_update(m);
	KUNIT_EXPECT_EQ(test, vm_jobs.waits, 0);

	m->vdev->drm.unplugged = true;
	vgpu_vm_publish_unlocked(&m->vm.base);
	KUNIT_EXPECT_EQ(test, vm_jobs.waits, 1);
	vgpu_vm_clear_range(&m->vm.base, VM_MOCK_FIRST, VM_MOCK_FIRST, false);
	KUNIT_EXPECT_EQ(test, vm_jobs.waits, 2);
	vgpu_vm_clear_pages(&m->vm.base, VM_MOCK_FIRST, VM_MOCK_FIRST, 0);
	KUNIT_EXPECT_EQ(test, vm_jobs.waits, 3);
	/* The address space of a KFD process has no jobs, so the clear must not wait for any. */
	m->vm.compute = true;
	vgpu_vm_clear_range(&m->vm.base, VM_MOCK_FIRST, VM_MOCK_FIRST, false);
	KUNIT_EXPECT_EQ(test, vm_jobs.waits, 3);
	m->vm.compute = false;
	m->vdev->drm.unplugged = false;
}

static struct kunit_case vm_cases[] = {
	KUNIT_CASE(vm_random_cpu),
	KUNIT_CASE(vm_random_sdma),
	KUNIT_CASE(vm_cut_middle),
	KUNIT_CASE(vm_cut_moved),
	KUNIT_CASE(vm_cut_leaf_cpu),
	KUNIT_CASE(vm_cut_leaf_sdma),
	KUNIT_CASE(vm_spans_sdma),
	KUNIT_CASE(vm_bad_ranges),
	KUNIT_CASE(vm_no_memory),
	KUNIT_CASE(vm_flush_once),
	KUNIT_CASE(vm_prt_entries),
	KUNIT_CASE(vm_moved_stays),
	KUNIT_CASE(vm_last_update),
	KUNIT_CASE(vm_stale),
	KUNIT_CASE(vm_deny),
	KUNIT_CASE(vm_unplugged),
	{}
};

static struct kunit_suite vm_suite = {
	.name = "vgpu_vm",
	.test_cases = vm_cases,
};

kunit_test_suite(vm_suite);
