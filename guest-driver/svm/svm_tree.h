/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The tree of a process's ranges, svm_range_list.objects. The tree is a maple tree, the kernel's
 * B-tree, with page numbers as keys. A million ranges need 6 or 7 levels, where a binary tree needs
 * 20, and each level of a large tree costs a miss of cache and TLB. Ranges in the tree do not
 * overlap. svm_range_list.lock protects the tree, so the caller of each function but
 * svm_tree_init() holds this lock. svm_range_find() and svm_for_each_range() search the tree, too.
 */
#ifndef SVM_TREE_H
#define SVM_TREE_H

#include "svm_interval.h"

struct svm_range;
struct svm_range_list;

/**
 * svm_tree_init() - make the tree of a process empty
 * @svms: ranges of the process; svm_range_list.lock is initialised
 */
void svm_tree_init(struct svm_range_list *svms);

/**
 * svm_tree_first() - find the first range that overlaps pages
 * @svms: ranges of the process
 * @iv: pages
 *
 * Context: svm_range_list.lock is held.
 *
 * Return: the range with the lowest address that overlaps @iv, or NULL.
 */
struct svm_range *svm_tree_first(struct svm_range_list *svms, struct svm_interval iv);

/**
 * svm_tree_store() - add a range to the tree
 * @r: range that overlaps no range of the tree
 *
 * Context: sleeps; svm_range_list.lock is held.
 *
 * Return: 0, or -ENOMEM. After an error the tree is unchanged.
 */
int svm_tree_store(struct svm_range *r);

/**
 * svm_tree_replace() - replace a range by its parts
 * @part: the parts, in order of address; together they have exactly the pages of the range
 * @n: number of parts: 2 or 3
 *
 * Context: sleeps; svm_range_list.lock is held.
 *
 * Return: 0, or -ENOMEM. After an error the tree still has the range, and none of the parts.
 */
int svm_tree_replace(struct svm_range *const *part, unsigned int n);

/**
 * svm_tree_erase() - remove a range from the tree
 * @r: range in the tree
 *
 * Context: sleeps; svm_range_list.lock is held.
 */
void svm_tree_erase(struct svm_range *r);

/**
 * svm_tree_destroy() - remove all ranges from the tree, and free the tree's memory
 * @svms: ranges of the process
 *
 * Context: svm_range_list.lock is held.
 */
void svm_tree_destroy(struct svm_range_list *svms);

#endif /* SVM_TREE_H */
