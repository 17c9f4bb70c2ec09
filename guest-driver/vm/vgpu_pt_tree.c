// SPDX-License-Identifier: GPL-2.0
/*
 * Grows, trims and rebuilds the tree of page tables. Notifiers, which clear entries, must not free
 * memory, so empty tables stay in the tree until vgpu_pt_trim().
 */
#include <linux/slab.h>

#include <kunit/visibility.h>

#include "vgpu_pt_priv.h"

/* Returns the number of pages that a table of @level translates. */
static u64 pt_table_pages(unsigned int level)
{
	return 1ull << (VGPU_PT_SHIFT * (level + 1));
}

static bool pt_is_empty(const struct vgpu_pt_table *table)
{
	if (table->level > VGPU_LEVEL_PTB)
		return !table->children;
	/*
	 * If the parent has a leaf for the same pages, the PTB has no valid entries, but does not
	 * count as empty: a split of the leaf needs this PTB.
	 */
	return bitmap_empty(table->valid, VGPU_PT_ENTRIES) &&
	       !test_bit(pt_index(table->first, table->level + 1),
			 table->parent->valid);
}

/**
 * vgpu_pt_note_empty() - put a table on the list for vgpu_pt_trim() if the table is empty
 * @pt: tree, locked
 * @table: any table except the root
 */
void vgpu_pt_note_empty(struct vgpu_pt *pt, struct vgpu_pt_table *table)
{
	if (list_empty(&table->empty_link) && pt_is_empty(table))
		list_add_tail(&table->empty_link, &pt->empty);
}

/**
 * vgpu_pt_note_used() - take a table off the list for vgpu_pt_trim()
 * @table: table that has got a valid entry, a child, or a leaf in front of it; the tree is locked
 *
 * Without tables on the list, no trim is needed.
 */
void vgpu_pt_note_used(struct vgpu_pt_table *table)
{
	list_del_init(&table->empty_link);
}

/* Allocate a table of zeros. The caller sets vgpu_pt_table.first and links the table. */
static struct vgpu_pt_table *pt_table_new(struct vgpu_pt *pt, unsigned int level, gfp_t gfp)
{
	size_t children = level > VGPU_LEVEL_PTB ? VGPU_PT_ENTRIES : 0;
	struct vgpu_pt_table *table;
	int ret;

	table = kzalloc(struct_size(table, child, children), gfp);
	if (!table)
		return ERR_PTR(-ENOMEM);
	table->level = level;
	INIT_LIST_HEAD(&table->empty_link);
	ret = -ENOMEM;
	if (level == VGPU_LEVEL_PDB0) {
		table->leaf = kcalloc(VGPU_PT_ENTRIES, sizeof(*table->leaf), gfp);
		if (!table->leaf)
			goto err;
	}
	ret = pt->ops->alloc(pt, &table->mem);
	if (ret)
		goto err;
	return table;

err:
	kfree(table->leaf);
	kfree(table);
	return ERR_PTR(ret);
}

static void pt_table_free(struct vgpu_pt_table *table)
{
	kfree(table->leaf);
	kfree(table);
}

static void pt_tree_free(struct vgpu_pt_table *table)
{
	unsigned int i;

	if (table->level > VGPU_LEVEL_PTB)
		for (i = 0; i < VGPU_PT_ENTRIES; i++)
			if (table->child[i])
				pt_tree_free(table->child[i]);
	pt_table_free(table);
}

/**
 * vgpu_pt_init() - create an empty tree
 * @pt: tree
 * @ops: backend
 * @vram_base: see struct vgpu_pt
 *
 * Return: 0, -ENOMEM, or the error of the backend's alloc.
 */
int vgpu_pt_init(struct vgpu_pt *pt, const struct vgpu_pt_ops *ops,
		 u64 vram_base)
{
	*pt = (struct vgpu_pt) { .ops = ops, .vram_base = vram_base };
	INIT_LIST_HEAD(&pt->empty);
	pt->root = pt_table_new(pt, VGPU_LEVEL_PDB2, GFP_KERNEL);
	if (IS_ERR(pt->root)) {
		int ret = PTR_ERR(pt->root);

		pt->root = NULL;
		return ret;
	}
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_pt_init);

/**
 * vgpu_pt_fini() - free the structures of a tree, but not the memory of its tables
 * @pt: tree; no hardware walks it
 *
 * The backend frees the memory of the tables.
 */
void vgpu_pt_fini(struct vgpu_pt *pt)
{
	if (pt->spare)
		pt_table_free(pt->spare);
	pt->spare = NULL;
	if (pt->root)
		pt_tree_free(pt->root);
	pt->root = NULL;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_pt_fini);

/**
 * vgpu_pt_root_addr() - get the address of the root
 * @pt: tree
 *
 * Return: offset of the root table in VRAM.
 */
u64 vgpu_pt_root_addr(const struct vgpu_pt *pt)
{
	return pt->root->mem.addr;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_pt_root_addr);

/* Returns a table of @level with zeros: the spare one, if @level is the lowest, or a new one. */
static struct vgpu_pt_table *pt_table_get(struct vgpu_pt *pt, unsigned int level)
{
	struct vgpu_pt_table *table = pt->spare;

	if (!table || level != VGPU_LEVEL_PTB)
		return pt_table_new(pt, level, GFP_KERNEL);
	pt->spare = NULL;
	return table;
}

/* Returns the table below @table that translates @page; creates it if it is missing. */
static struct vgpu_pt_table *pt_child_get(struct vgpu_pt *pt,
					  struct vgpu_pt_table *table, u64 page)
{
	unsigned int index = pt_index(page, table->level);
	struct vgpu_pt_table *child = table->child[index];

	if (child)
		return child;
	child = pt_table_get(pt, table->level - 1);
	if (IS_ERR(child))
		return child;
	child->first = ALIGN_DOWN(page, pt_table_pages(child->level));
	child->parent = table;

	/* Order the writes of the child's zeros before the write of the pointer to the child. */
	wmb();
	pt->ops->lock(pt);
	table->child[index] = child;
	table->children++;
	vgpu_pt_note_used(table);
	vgpu_pt_note_empty(pt, child);
	vgpu_pt_set_pointer(pt, table, index);
	pt->ops->unlock(pt);
	return child;
}

/**
 * vgpu_pt_reserve() - create all tables of some pages, so that writes need no allocation
 * @pt: tree, not locked; no other vgpu_pt_reserve() or vgpu_pt_trim() runs
 * @first: first page
 * @last: last page
 *
 * Return: 0, -EINVAL if @last is too large, -ENOMEM, or an error of vgpu_pt_ops.alloc.
 */
int vgpu_pt_reserve(struct vgpu_pt *pt, u64 first, u64 last)
{
	u64 page = first;

	if (WARN_ON_ONCE(last > LAST_PAGE))
		return -EINVAL;

	/* On an error, the tables already created stay in the tree. */
	while (page <= last) {
		struct vgpu_pt_table *table = pt->root;

		while (table->level > VGPU_LEVEL_PTB) {
			table = pt_child_get(pt, table, page);
			if (IS_ERR(table))
				return PTR_ERR(table);
		}
		page += pt_pages_left(page, VGPU_LEVEL_PDB0);
	}
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_pt_reserve);

/**
 * vgpu_pt_prepare() - allocate a PTB for a later vgpu_pt_reserve()
 * @pt: tree, not locked; no vgpu_pt_reserve() or vgpu_pt_drop_spare() runs
 *
 * Does nothing if a PTB is there already, or without memory.
 *
 * Context: does not wait for memory.
 */
void vgpu_pt_prepare(struct vgpu_pt *pt)
{
	struct vgpu_pt_table *table;

	if (pt->spare)
		return;
	table = pt_table_new(pt, VGPU_LEVEL_PTB, GFP_NOWAIT | __GFP_NOWARN);
	if (!IS_ERR(table))
		pt->spare = table;
}

/**
 * vgpu_pt_drop_spare() - free the PTB that vgpu_pt_prepare() has allocated
 * @pt: tree, not locked; no vgpu_pt_reserve() or vgpu_pt_prepare() runs
 *
 * No hardware has seen the table, so no TLB flush is needed.
 */
void vgpu_pt_drop_spare(struct vgpu_pt *pt)
{
	if (!pt->spare)
		return;
	pt->ops->free(pt, &pt->spare->mem);
	pt_table_free(pt->spare);
	pt->spare = NULL;
}

/**
 * vgpu_pt_find_pdb0() - find the PDB0 table that translates a page
 * @pt: tree, locked
 * @page: page
 * @skip: if the table does not exist, receives the number of pages, from @page on, that have no
 *        PDB0 table
 *
 * Return: the table or NULL.
 */
struct vgpu_pt_table *vgpu_pt_find_pdb0(const struct vgpu_pt *pt, u64 page,
					u64 *skip)
{
	struct vgpu_pt_table *table = pt->root;

	while (table->level > VGPU_LEVEL_PDB0) {
		unsigned int level = table->level;

		table = table->child[pt_index(page, level)];
		if (!table) {
			*skip = pt_pages_left(page, level);
			return NULL;
		}
	}
	return table;
}

static void pt_table_rebuild(struct vgpu_pt *pt, struct vgpu_pt_table *table)
{
	unsigned int i;

	bitmap_zero(table->valid, VGPU_PT_ENTRIES);
	vgpu_pt_set(pt, table, 0, VGPU_PT_ENTRIES, 0, 0);
	if (table->level > VGPU_LEVEL_PTB)
		for (i = 0; i < VGPU_PT_ENTRIES; i++) {
			if (!table->child[i])
				continue;
			pt_table_rebuild(pt, table->child[i]);
			vgpu_pt_set_pointer(pt, table, i);
		}
	if (table->parent)
		vgpu_pt_note_empty(pt, table);
}

/**
 * vgpu_pt_rebuild() - write all tables again, without the entries that map pages
 * @pt: tree, locked; no hardware walks it
 *
 * Called after the memory of the tables has lost its content. Writes the pointers to lower tables,
 * and zeros to all other entries. Neither allocates nor fails.
 */
void vgpu_pt_rebuild(struct vgpu_pt *pt)
{
	pt_table_rebuild(pt, pt->root);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_pt_rebuild);

/* Remove an empty table from the tree, then each ancestor that becomes empty. */
static void pt_unlink(struct vgpu_pt *pt, struct vgpu_pt_table *table,
		      struct list_head *out)
{
	while (table->parent && pt_is_empty(table)) {
		struct vgpu_pt_table *parent = table->parent;
		unsigned int index = pt_index(table->first, parent->level);

		parent->child[index] = NULL;
		parent->children--;
		vgpu_pt_set(pt, parent, index, 1, 0, 0);
		list_move_tail(&table->empty_link, out);
		table = parent;
	}
}

/**
 * vgpu_pt_trim() - remove empty tables from the tree
 * @pt: tree, locked; no vgpu_pt_reserve() runs
 * @keep: called with the first and last page of an empty table; returns true if the table must stay
 * @out: receives the removed tables; flush the TLB before vgpu_pt_free()
 */
void vgpu_pt_trim(struct vgpu_pt *pt,
		  bool (*keep)(struct vgpu_pt *pt, u64 first, u64 last),
		  struct list_head *out)
{
	struct vgpu_pt_table *table;
	LIST_HEAD(kept);

	while ((table = list_first_entry_or_null(&pt->empty,
						 struct vgpu_pt_table,
						 empty_link))) {
		u64 last = table->first + pt_table_pages(table->level) - 1;

		if (!pt_is_empty(table))
			list_del_init(&table->empty_link);
		else if (keep(pt, table->first, last))
			list_move_tail(&table->empty_link, &kept);
		else
			pt_unlink(pt, table, out);
	}
	list_splice(&kept, &pt->empty);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_pt_trim);

/**
 * vgpu_pt_free() - free the tables that vgpu_pt_trim() removed
 * @pt: tree
 * @out: list of tables; the TLB has been flushed since vgpu_pt_trim()
 */
void vgpu_pt_free(struct vgpu_pt *pt, struct list_head *out)
{
	struct vgpu_pt_table *table, *next;

	list_for_each_entry_safe(table, next, out, empty_link) {
		pt->ops->free(pt, &table->mem);
		pt_table_free(table);
	}
	INIT_LIST_HEAD(out);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_pt_free);
