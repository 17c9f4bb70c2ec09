/* SPDX-License-Identifier: GPL-2.0 */
/* State and functions that vgpu_pt.c and vgpu_pt_tree.c share. */
#ifndef VGPU_PT_PRIV_H
#define VGPU_PT_PRIV_H

#include <linux/bitmap.h>
#include <linux/list.h>

#include "vgpu_pt.h"

#define PT_INDEX_MASK		(VGPU_PT_ENTRIES - 1)
#define LEAF_PAGES		((u64)VGPU_PT_ENTRIES)	/* pages that a PDB0 leaf maps */
#define LAST_PAGE		(BIT_ULL(VGPU_VA_BITS - VGPU_PAGE_SHIFT) - 1)

/**
 * struct vgpu_pt_table - a table of any level: the entries in VRAM, and the driver's record of them
 */
struct vgpu_pt_table {
	/** @mem: VRAM that holds the entries */
	struct vgpu_pt_mem mem;
	/** @level: VGPU_LEVEL_* */
	unsigned int level;
	/** @children: number of tables in @child */
	unsigned int children;
	/** @first: first page that the table translates */
	u64 first;
	/** @parent: the table above this one, or NULL for the root */
	struct vgpu_pt_table *parent;
	/**
	 * @empty_link: link in vgpu_pt.empty, from vgpu_pt_note_empty() until vgpu_pt_note_used()
	 * or vgpu_pt_trim()
	 */
	struct list_head empty_link;
	/**
	 * @valid: bitmap of the entries that are neither zero nor pointers. A valid entry maps
	 * memory (VGPU_PTE_VALID), denies access (VGPU_PTE_NORETRY), or is VGPU_PTE_PRT alone
	 */
	DECLARE_BITMAP(valid, VGPU_PT_ENTRIES);
	/**
	 * @leaf: in a PDB0 table, the values of the 2 MiB leaves by index; else NULL. leaf[i] is
	 * used only while bit i of @valid is set
	 */
	u64 *leaf;
	/**
	 * @child: tables below this one, by index; no elements in a PTB. In a PDB0, child[i] exists
	 * also while entry i is a leaf: a split of the leaf needs this PTB
	 */
	struct vgpu_pt_table *child[];
};

static inline unsigned int pt_index(u64 page, unsigned int level)
{
	return page >> (VGPU_PT_SHIFT * level) & PT_INDEX_MASK;
}

/*
 * An entry of a @level table translates a range of pages. Returns the number of pages from @page
 * (included) to the end of the range that contains @page.
 */
static inline u64 pt_pages_left(u64 page, unsigned int level)
{
	u64 span = 1ull << (VGPU_PT_SHIFT * level);

	return span - (page & (span - 1));
}

/* vgpu_pt.c */
void vgpu_pt_set(struct vgpu_pt *pt, struct vgpu_pt_table *table,
		 unsigned int index, unsigned int n, u64 value, u64 step);
void vgpu_pt_set_pointer(struct vgpu_pt *pt, struct vgpu_pt_table *table,
			 unsigned int index);

/* vgpu_pt_tree.c */
struct vgpu_pt_table *vgpu_pt_find_pdb0(const struct vgpu_pt *pt, u64 page,
					u64 *skip);
void vgpu_pt_note_empty(struct vgpu_pt *pt, struct vgpu_pt_table *table);
void vgpu_pt_note_used(struct vgpu_pt_table *table);

#endif /* VGPU_PT_PRIV_H */
