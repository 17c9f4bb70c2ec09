// SPDX-License-Identifier: GPL-2.0
/*
 * Compare the results of svm_window(), svm_interval_cut() and the unmap log (svm/svm_interval.c)
 * with the expected pages, page by page. Catches: a bound is off by one; a cut or a join of
 * intervals loses or adds pages; wrapped timestamps are ordered wrongly.
 */
#include "svm/svm_interval.c"
#include "tests/lib/vgpu_mock.h"

#define MAP_PAGES	256

/* Set *@iv to a random interval within MAP_PAGES, and return a random page of it. */
static unsigned long svm_test_random(struct rnd_state *rnd, struct svm_interval *iv)
{
	u32 a = prandom_u32_state(rnd) % MAP_PAGES;
	u32 b = prandom_u32_state(rnd) % MAP_PAGES;

	*iv = (struct svm_interval){ min(a, b), max(a, b) };
	return iv->first + prandom_u32_state(rnd) % svm_interval_pages(*iv);
}

static void svm_test_window(struct kunit *test)
{
	struct rnd_state rnd;
	unsigned int round;

	vgpu_test_rnd(test, &rnd);
	for (round = 0; round < 2000; round++) {
		struct svm_interval bounds;
		unsigned long page = svm_test_random(&rnd, &bounds);
		unsigned int order = prandom_u32_state(&rnd) % 10;
		struct svm_interval win = svm_window(page, order, bounds);
		unsigned long i;

		for (i = 0; i < MAP_PAGES; i++) {
			bool in = i >> order == page >> order &&
				  svm_interval_has(bounds, i);

			KUNIT_ASSERT_EQ_MSG(test, in, svm_interval_has(win, i),
					    "round %u page %lu order %u at %lu",
					    round, page, order, i);
		}
	}
}

static void svm_test_window_large_order(struct kunit *test)
{
	struct svm_interval bounds = { 5, 1UL << 36 };
	struct svm_interval win;

	win = svm_window(1UL << 20, BITS_PER_LONG - 1, bounds);
	KUNIT_EXPECT_EQ(test, win.first, bounds.first);
	KUNIT_EXPECT_EQ(test, win.last, bounds.last);
	/* In C, a shift by BITS_PER_LONG is undefined, so svm_window() must not do this shift. */
	win = svm_window(1UL << 20, BITS_PER_LONG, bounds);
	KUNIT_EXPECT_EQ(test, win.first, bounds.first);
	KUNIT_EXPECT_EQ(test, win.last, bounds.last);
}

static void svm_test_window_avoid(struct kunit *test)
{
	struct svm_interval win = { 100, 199 };
	struct svm_interval got;

	got = svm_window_avoid(win, 150, (struct svm_interval){ 90, 120 });
	KUNIT_EXPECT_EQ(test, got.first, 121UL);
	KUNIT_EXPECT_EQ(test, got.last, 199UL);
	got = svm_window_avoid(win, 150, (struct svm_interval){ 151, 300 });
	KUNIT_EXPECT_EQ(test, got.first, 100UL);
	KUNIT_EXPECT_EQ(test, got.last, 150UL);
	got = svm_window_avoid(win, 150, (struct svm_interval){ 10, 20 });
	KUNIT_EXPECT_EQ(test, got.first, 100UL);
	KUNIT_EXPECT_EQ(test, got.last, 199UL);
}

/* Catches: a part that crosses a bound, is empty, or is not needed; a page without a part. */
static void svm_test_cut(struct kunit *test)
{
	struct rnd_state rnd;
	unsigned int round;

	vgpu_test_rnd(test, &rnd);
	for (round = 0; round < 2000; round++) {
		struct svm_interval part[SVM_INTERVAL_PARTS];
		struct svm_interval whole;
		unsigned long page = svm_test_random(&rnd, &whole);
		struct svm_interval iv = {
			page - min_t(u32, page, prandom_u32_state(&rnd) % 20),
			page + prandom_u32_state(&rnd) % 20,
		};
		unsigned int n = svm_interval_cut(whole, iv, part), i;

		KUNIT_ASSERT_EQ(test, n, 1 + (iv.first > whole.first) + (iv.last < whole.last));
		KUNIT_ASSERT_EQ(test, part[0].first, whole.first);
		KUNIT_ASSERT_EQ(test, part[n - 1].last, whole.last);
		for (i = 0; i < n; i++) {
			KUNIT_ASSERT_LE(test, part[i].first, part[i].last);
			KUNIT_ASSERT_EQ(test, svm_interval_has(iv, part[i].first),
					svm_interval_has(iv, part[i].last));
			if (i)
				KUNIT_ASSERT_EQ(test, part[i].first, part[i - 1].last + 1);
		}
	}
}

/* Catches: page 0 or page ULONG_MAX is a bound, and the page before or after it is computed. */
static void svm_test_cut_ends(struct kunit *test)
{
	const struct svm_interval all = { 0, ULONG_MAX };
	struct svm_interval part[SVM_INTERVAL_PARTS];

	KUNIT_EXPECT_EQ(test, svm_interval_cut(all, all, part), 1);
	KUNIT_EXPECT_EQ(test, part[0].first, 0UL);
	KUNIT_EXPECT_EQ(test, part[0].last, ULONG_MAX);
	KUNIT_EXPECT_EQ(test, svm_interval_cut(all, (struct svm_interval){ 0, 0 }, part), 2);
	KUNIT_EXPECT_EQ(test, part[0].last, 0UL);
	KUNIT_EXPECT_EQ(test, part[1].first, 1UL);
	KUNIT_EXPECT_EQ(test, svm_interval_cut(all, (struct svm_interval){ ULONG_MAX, ULONG_MAX },
					       part), 2);
	KUNIT_EXPECT_EQ(test, part[0].last, ULONG_MAX - 1);
	KUNIT_EXPECT_EQ(test, part[1].first, ULONG_MAX);
	KUNIT_EXPECT_EQ(test, part[1].last, ULONG_MAX);
}

static bool svm_log_has(const struct svm_unmap_log *log, unsigned long page)
{
	unsigned int i;

	for (i = 0; i < log->n; i++)
		if (svm_interval_has(log->iv[i], page))
			return true;
	return false;
}

/*
 * A log must have exactly the added pages. After an overflow (inexact), the log is one interval
 * from the first to the last page.
 */
static void svm_test_unmap_log(struct kunit *test)
{
	unsigned int round, exact = 0, inexact = 0;
	struct rnd_state rnd;

	vgpu_test_rnd(test, &rnd);
	for (round = 0; round < 2000; round++) {
		unsigned int adds = 1 + prandom_u32_state(&rnd) % 8;
		DECLARE_BITMAP(map, MAP_PAGES);
		struct svm_unmap_log log = {};
		unsigned long i, first, last;

		bitmap_zero(map, MAP_PAGES);
		while (adds--) {
			u32 a = prandom_u32_state(&rnd) % MAP_PAGES;
			u32 n = 1 + prandom_u32_state(&rnd) % 20;
			u32 b = min_t(u32, a + n, MAP_PAGES) - 1;

			svm_unmap_log_add(&log, (struct svm_interval){ a, b });
			bitmap_set(map, a, b - a + 1);
		}
		first = find_first_bit(map, MAP_PAGES);
		last = find_last_bit(map, MAP_PAGES);

		KUNIT_ASSERT_LE(test, log.n, SVM_UNMAP_LOG_LEN);
		if (log.inexact) {
			inexact++;
			KUNIT_ASSERT_EQ(test, log.n, 1);
			KUNIT_ASSERT_EQ(test, log.iv[0].first, first);
			KUNIT_ASSERT_EQ(test, log.iv[0].last, last);
			continue;
		}
		exact++;
		for (i = 0; i < MAP_PAGES; i++)
			KUNIT_ASSERT_EQ_MSG(test, test_bit(i, map),
					    svm_log_has(&log, i),
					    "round %u page %lu", round, i);
	}
	/* The test must have checked exact and inexact logs. */
	KUNIT_EXPECT_GT(test, exact, 100);
	KUNIT_EXPECT_GT(test, inexact, 100);
}

/* Catches: memory that is freed page by page, in order, overflows the log. */
static void svm_test_unmap_log_sequence(struct kunit *test)
{
	struct svm_unmap_log log = {};
	unsigned long i;

	for (i = 0; i < 1000; i++)
		svm_unmap_log_add(&log, (struct svm_interval){ i, i });
	KUNIT_EXPECT_FALSE(test, log.inexact);
	KUNIT_EXPECT_EQ(test, log.n, 1);
	KUNIT_EXPECT_EQ(test, log.iv[0].first, 0UL);
	KUNIT_EXPECT_EQ(test, log.iv[0].last, 999UL);

	/*
	 * ULONG_MAX + 1 wraps around to 0. Nevertheless page ULONG_MAX is not adjacent to page 0,
	 * so the log must have two intervals now.
	 */
	svm_unmap_log_add(&log, (struct svm_interval){ ULONG_MAX, ULONG_MAX });
	KUNIT_EXPECT_EQ(test, log.n, 2);
}

static void svm_test_ts(struct kunit *test)
{
	u64 top = (1ull << 48) - 1;

	KUNIT_EXPECT_TRUE(test, svm_ts_after(2, 1));
	KUNIT_EXPECT_FALSE(test, svm_ts_after(1, 2));
	KUNIT_EXPECT_FALSE(test, svm_ts_after(1, 1));
	/* 3 is later than @top, because the 48-bit counter wraps after @top. */
	KUNIT_EXPECT_TRUE(test, svm_ts_after(3, top));
	KUNIT_EXPECT_FALSE(test, svm_ts_after(top, 3));
	/* The first argument is a 48-bit timestamp of an entry, the second is a 64-bit clock. */
	KUNIT_EXPECT_TRUE(test, svm_ts_after(5, (7ull << 48) + 4));
	KUNIT_EXPECT_FALSE(test, svm_ts_after(5, (7ull << 48) + 5));
}

static struct kunit_case svm_interval_cases[] = {
	KUNIT_CASE(svm_test_window),
	KUNIT_CASE(svm_test_window_large_order),
	KUNIT_CASE(svm_test_window_avoid),
	KUNIT_CASE(svm_test_cut),
	KUNIT_CASE(svm_test_cut_ends),
	KUNIT_CASE(svm_test_unmap_log),
	KUNIT_CASE(svm_test_unmap_log_sequence),
	KUNIT_CASE(svm_test_ts),
	{}
};

static struct kunit_suite svm_interval_suite = {
	.name = "vgpu_svm_interval",
	.test_cases = svm_interval_cases,
};

kunit_test_suite(svm_interval_suite);
