// SPDX-License-Identifier: GPL-2.0
/*
 * Test the tree of ranges (svm/svm_tree.c). Catches: a search returns a neighbour of the page, or
 * no range although one overlaps; a walk skips a range or does not end at page ULONG_MAX; a
 * replacement leaves pages of the old range, or changes pages of its neighbours.
 */
#include <linux/mutex.h>

#include "svm/svm_range.h"
#include "svm/svm_tree.h"
#include "tests/lib/vgpu_mock.h"

#define TREE_PAGES	64u
#define TREE_ROUNDS	500u

/**
 * struct tree_mock - a tree of ranges without notifiers, and what must be in the tree
 */
struct tree_mock {
	/** @svms: only lock and tree are initialised */
	struct svm_range_list svms;
	/**
	 * @pool: ranges; svm_range.svms is NULL in a range that is not in the tree. During a
	 * replacement, there may be one range more than pages
	 */
	struct svm_range pool[TREE_PAGES + 1];
	/** @owner: the range that has page @base + n, or NULL */
	struct svm_range *owner[TREE_PAGES];
	/** @base: the first of the TREE_PAGES pages */
	unsigned long base;
	/** @rnd: random numbers */
	struct rnd_state rnd;
};

static struct tree_mock *tree_mock_new(struct kunit *test, unsigned long base)
{
	struct tree_mock *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, m);
	mutex_init(&m->svms.lock);
	svm_tree_init(&m->svms);
	m->base = base;
	vgpu_test_rnd(test, &m->rnd);
	return m;
}

static void tree_mock_end(struct tree_mock *m)
{
	mutex_lock(&m->svms.lock);
	svm_tree_destroy(&m->svms);
	mutex_unlock(&m->svms.lock);
}

static struct svm_range *tree_find(struct tree_mock *m, unsigned long page)
{
	struct svm_range *r;

	mutex_lock(&m->svms.lock);
	r = svm_range_find(&m->svms, page);
	mutex_unlock(&m->svms.lock);
	return r;
}

static struct svm_range *tree_first(struct tree_mock *m, unsigned long first,
				    unsigned long last)
{
	struct svm_range *r;

	mutex_lock(&m->svms.lock);
	r = svm_tree_first(&m->svms, (struct svm_interval){ first, last });
	mutex_unlock(&m->svms.lock);
	return r;
}

/* Write the ranges that overlap the pages to @seen, which has TREE_PAGES elements. */
static unsigned int tree_walk(struct tree_mock *m, unsigned long first,
			      unsigned long last, struct svm_range **seen)
{
	struct ma_state mas;
	struct svm_range *r;
	unsigned int n = 0;

	mutex_lock(&m->svms.lock);
	svm_for_each_range(r, &mas, &m->svms, first, last) {
		if (n == TREE_PAGES)
			break;
		seen[n++] = r;
	}
	mutex_unlock(&m->svms.lock);
	return n;
}

/* Return an unused range with the pages from index @first to index @last of @m->owner. */
static struct svm_range *tree_new(struct tree_mock *m, unsigned int first,
				  unsigned int last)
{
	struct svm_range *r = m->pool;

	while (r->svms)
		r++;
	r->svms = &m->svms;
	r->iv.first = m->base + first;
	r->iv.last = m->base + last;
	for (; first <= last; first++)
		m->owner[first] = r;
	return r;
}

static void tree_store(struct kunit *test, struct tree_mock *m,
		       unsigned int first, unsigned int last)
{
	struct svm_range *r = tree_new(m, first, last);
	int ret;

	mutex_lock(&m->svms.lock);
	ret = svm_tree_store(r);
	mutex_unlock(&m->svms.lock);
	KUNIT_ASSERT_EQ(test, ret, 0);
}

static void tree_erase(struct tree_mock *m, struct svm_range *r)
{
	unsigned int i;

	mutex_lock(&m->svms.lock);
	svm_tree_erase(r);
	mutex_unlock(&m->svms.lock);
	for (i = 0; i < TREE_PAGES; i++)
		if (m->owner[i] == r)
			m->owner[i] = NULL;
	r->svms = NULL;
}

/* Replace @r by two parts, or by three parts if @three is true. */
static void tree_replace(struct kunit *test, struct tree_mock *m,
			 struct svm_range *r, bool three)
{
	unsigned int first = r->iv.first - m->base, last = r->iv.last - m->base;
	unsigned int a = first + prandom_u32_state(&m->rnd) % (last - first - three);
	unsigned int b = three ? a + 1 + prandom_u32_state(&m->rnd) % (last - a - 1) : last;
	struct svm_range *part[3];
	unsigned int n = 0;
	int ret;

	part[n++] = tree_new(m, first, a);
	part[n++] = tree_new(m, a + 1, b);
	if (three)
		part[n++] = tree_new(m, b + 1, last);
	mutex_lock(&m->svms.lock);
	ret = svm_tree_replace(part, n);
	mutex_unlock(&m->svms.lock);
	r->svms = NULL;
	KUNIT_ASSERT_EQ(test, ret, 0);
}

/* Store, erase or replace a range at a random page. */
static void tree_change(struct kunit *test, struct tree_mock *m)
{
	unsigned int i = prandom_u32_state(&m->rnd) % TREE_PAGES, last = i;
	unsigned int room = prandom_u32_state(&m->rnd) % 8;
	bool two = prandom_u32_state(&m->rnd) % 2;
	struct svm_range *r = m->owner[i];

	if (!r) {
		while (room-- && last + 1 < TREE_PAGES && !m->owner[last + 1])
			last++;
		tree_store(test, m, i, last);
	} else if (prandom_u32_state(&m->rnd) % 2 || r->iv.first == r->iv.last) {
		tree_erase(m, r);
	} else {
		tree_replace(test, m, r, !two && r->iv.last - r->iv.first > 1);
	}
}

/* Compare the tree with @m->owner: every page, and a walk of the pages from @first to @last. */
static void tree_check(struct kunit *test, struct tree_mock *m,
		       unsigned int first, unsigned int last)
{
	struct svm_range *want[TREE_PAGES], *seen[TREE_PAGES];
	unsigned int i, n = 0;

	for (i = 0; i < TREE_PAGES; i++)
		KUNIT_ASSERT_PTR_EQ_MSG(test, tree_find(m, m->base + i), m->owner[i],
					"page %u", i);
	for (i = first; i <= last; i++)
		if (m->owner[i] && (!n || want[n - 1] != m->owner[i]))
			want[n++] = m->owner[i];
	KUNIT_ASSERT_PTR_EQ(test, tree_first(m, m->base + first, m->base + last),
			    n ? want[0] : NULL);
	KUNIT_ASSERT_EQ(test, tree_walk(m, m->base + first, m->base + last, seen), n);
	for (i = 0; i < n; i++)
		KUNIT_ASSERT_PTR_EQ_MSG(test, seen[i], want[i], "range %u", i);
}

static void tree_random(struct kunit *test)
{
	static const unsigned long bases[] = { 0, 1000, ULONG_MAX - TREE_PAGES + 1 };
	struct tree_mock *m;
	unsigned int i, round;

	for (i = 0; i < ARRAY_SIZE(bases); i++) {
		m = tree_mock_new(test, bases[i]);
		for (round = 0; round < TREE_ROUNDS; round++) {
			u32 a = prandom_u32_state(&m->rnd) % TREE_PAGES;
			u32 b = prandom_u32_state(&m->rnd) % TREE_PAGES;

			tree_change(test, m);
			tree_check(test, m, min(a, b), max(a, b));
		}
		tree_mock_end(m);
	}
}

/* Catches: a search at the first or last page of a range, or directly beside it, is off by one. */
static void tree_edges(struct kunit *test)
{
	static const struct {
		unsigned long first, last;
		char want;	/* 'a' or 'b': range a or range b; '-': no range */
	} c[] = {
		{ 109, 109, '-' }, { 110, 110, 'a' }, { 119, 119, 'a' }, { 120, 120, '-' },
		{ 129, 129, '-' }, { 130, 130, 'b' }, { 131, 131, '-' },
		{ 0, 0, '-' }, { ULONG_MAX, ULONG_MAX, '-' },
		{ 0, 109, '-' }, { 0, 110, 'a' }, { 0, ULONG_MAX, 'a' },
		{ 110, 119, 'a' }, { 119, ULONG_MAX, 'a' }, { 119, 120, 'a' },
		{ 120, 129, '-' }, { 120, 130, 'b' }, { 120, ULONG_MAX, 'b' },
		{ 130, ULONG_MAX, 'b' }, { 131, ULONG_MAX, '-' },
	};
	struct tree_mock *m = tree_mock_new(test, 100);
	struct svm_range *a, *b, *want;
	unsigned int i;

	tree_store(test, m, 10, 19);
	tree_store(test, m, 30, 30);
	a = m->owner[10];
	b = m->owner[30];
	for (i = 0; i < ARRAY_SIZE(c); i++) {
		want = c[i].want == 'a' ? a : c[i].want == 'b' ? b : NULL;
		KUNIT_EXPECT_PTR_EQ_MSG(test, tree_first(m, c[i].first, c[i].last), want,
					"pages %lu to %lu", c[i].first, c[i].last);
		if (c[i].first == c[i].last)
			KUNIT_EXPECT_PTR_EQ_MSG(test, tree_find(m, c[i].first), want,
						"page %lu", c[i].first);
	}
	tree_erase(m, a);
	KUNIT_EXPECT_PTR_EQ(test, tree_first(m, 0, ULONG_MAX), b);
	tree_erase(m, b);
	KUNIT_EXPECT_NULL(test, tree_first(m, 0, ULONG_MAX));
	tree_mock_end(m);
}

/* Catches: a range with all pages, whose last page is ULONG_MAX, is not found, split or erased. */
static void tree_full(struct kunit *test)
{
	struct tree_mock *m = tree_mock_new(test, 0);
	struct svm_range *seen[TREE_PAGES] = {}, *part[3], *all = &m->pool[0];
	unsigned int i;
	int stored, replaced;

	for (i = 0; i < 4; i++)
		m->pool[i].svms = &m->svms;
	for (i = 0; i < 3; i++)
		part[i] = &m->pool[i + 1];
	all->iv = (struct svm_interval){ 0, ULONG_MAX };
	part[0]->iv = (struct svm_interval){ 0, 0 };
	part[1]->iv = (struct svm_interval){ 1, ULONG_MAX - 1 };
	part[2]->iv = (struct svm_interval){ ULONG_MAX, ULONG_MAX };

	mutex_lock(&m->svms.lock);
	stored = svm_tree_store(all);
	mutex_unlock(&m->svms.lock);
	KUNIT_EXPECT_EQ(test, stored, 0);
	KUNIT_EXPECT_PTR_EQ(test, tree_find(m, 0), all);
	KUNIT_EXPECT_PTR_EQ(test, tree_find(m, ULONG_MAX), all);
	KUNIT_EXPECT_EQ(test, tree_walk(m, 0, ULONG_MAX, seen), 1);

	mutex_lock(&m->svms.lock);
	replaced = svm_tree_replace(part, 3);
	mutex_unlock(&m->svms.lock);
	KUNIT_EXPECT_EQ(test, replaced, 0);
	KUNIT_EXPECT_EQ(test, tree_walk(m, 0, ULONG_MAX, seen), 3);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_PTR_EQ(test, seen[i], part[i]);
		KUNIT_EXPECT_PTR_EQ(test, tree_find(m, part[i]->iv.first), part[i]);
		KUNIT_EXPECT_PTR_EQ(test, tree_find(m, part[i]->iv.last), part[i]);
	}
	tree_erase(m, part[2]);
	KUNIT_EXPECT_NULL(test, tree_find(m, ULONG_MAX));
	KUNIT_EXPECT_PTR_EQ(test, tree_find(m, ULONG_MAX - 1), part[1]);
	tree_mock_end(m);
	KUNIT_EXPECT_NULL(test, tree_find(m, 0));
}

static struct kunit_case tree_cases[] = {
	KUNIT_CASE(tree_random),
	KUNIT_CASE(tree_edges),
	KUNIT_CASE(tree_full),
	{}
};

static struct kunit_suite tree_suite = {
	.name = "svm_tree",
	.test_cases = tree_cases,
};

kunit_test_suite(tree_suite);
