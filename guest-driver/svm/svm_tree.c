// SPDX-License-Identifier: GPL-2.0
/* Implements the tree of a process's ranges. Functions are documented in svm_tree.h. */
#include <linux/bug.h>
#include <linux/gfp.h>
#include <linux/lockdep.h>
#include <linux/maple_tree.h>
#include <kunit/static_stub.h>
#include <kunit/visibility.h>

#include "svm_range.h"
#include "svm_tree.h"

void svm_tree_init(struct svm_range_list *svms)
{
	mt_init_flags(&svms->objects, MT_FLAGS_LOCK_EXTERN);
	mt_set_external_lock(&svms->objects, &svms->lock);
}
EXPORT_SYMBOL_IF_KUNIT(svm_tree_init);

struct svm_range *svm_tree_first(struct svm_range_list *svms, struct svm_interval iv)
{
	MA_STATE(mas, &svms->objects, iv.first, iv.first);

	lockdep_assert_held(&svms->lock);
	return mas_find(&mas, iv.last);
}
EXPORT_SYMBOL_IF_KUNIT(svm_tree_first);

/* Store @entry at the pages of @r. Returns 0 or -ENOMEM. */
static int svm_tree_put(struct svm_range *r, struct svm_range *entry, gfp_t gfp)
{
	MA_STATE(mas, &r->svms->objects, r->iv.first, r->iv.last);

	lockdep_assert_held(&r->svms->lock);
	return mas_store_gfp(&mas, entry, gfp);
}

int svm_tree_store(struct svm_range *r)
{
	KUNIT_STATIC_STUB_REDIRECT(svm_tree_store, r);
	return svm_tree_put(r, r, GFP_KERNEL);
}
EXPORT_SYMBOL_IF_KUNIT(svm_tree_store);

int svm_tree_replace(struct svm_range *const *part, unsigned int n)
{
	unsigned int i;
	int ret;

	/*
	 * part[1] divides the slot of the old range, which may need memory. Each other part then
	 * has exactly one slot, so it replaces a pointer and needs no memory.
	 */
	ret = svm_tree_store(part[1]);
	if (ret)
		return ret;
	for (i = 0; i < n; i++)
		if (i != 1)
			WARN_ON_ONCE(svm_tree_put(part[i], part[i],
						  GFP_KERNEL | __GFP_NOFAIL));
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(svm_tree_replace);

void svm_tree_erase(struct svm_range *r)
{
	/* A removal may merge nodes, which needs memory. The caller frees @r, so do not fail. */
	WARN_ON_ONCE(svm_tree_put(r, NULL, GFP_KERNEL | __GFP_NOFAIL));
}
EXPORT_SYMBOL_IF_KUNIT(svm_tree_erase);

void svm_tree_destroy(struct svm_range_list *svms)
{
	lockdep_assert_held(&svms->lock);
	__mt_destroy(&svms->objects);
}
EXPORT_SYMBOL_IF_KUNIT(svm_tree_destroy);
