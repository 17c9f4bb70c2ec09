// SPDX-License-Identifier: GPL-2.0
/*
 * The page tables of gfx90a (include/vgpu/pte.h).
 *
 * DOC: layout and leaves
 *
 *	PDB2 --> PDB1 --> PDB0 --> PTB --> page
 *	PDE      PDE      TF or    PTE
 *	         BFS 9    2 MiB PTE
 *
 * A PDB0 entry is a pointer to a PTB (TF set) or a PTE for 2 MiB. Where a PDB0
 * entry is a leaf, its PTB is there all the same, empty and out of sight: the
 * leaf can be taken apart again in a notifier, which must not allocate. So
 * vgpu_pt_reserve() makes PTBs for every page it is asked for, and nothing
 * else allocates.
 *
 * Entries are never read back to see what they hold: each table keeps a bitmap
 * of its valid leaves. A PTB behind a leaf has no bits set and only zeros.
 *
 * An entry's fragment field says how many pages around it are alike, and the
 * TLB believes it. Mappings that come and go whole may have it; those of which
 * single pages are taken away later must not (@max_frag 0).
 */
#include <linux/bitfield.h>
#include <linux/bitmap.h>
#include <linux/log2.h>
#include <linux/slab.h>

#include <kunit/visibility.h>

#include "vgpu_pt.h"

#define PT_INDEX_MASK		(VGPU_PT_ENTRIES - 1)
#define LEAF_PAGES		((u64)VGPU_PT_ENTRIES)	/* of a PDB0 leaf */
#define LEAF_FRAG		VGPU_PT_SHIFT
#define LAST_PAGE		(BIT_ULL(VGPU_VA_BITS - VGPU_PAGE_SHIFT) - 1)

/**
 * struct vgpu_pt_table - what the driver knows of a table
 * @mem: the table
 * @level: VGPU_LEVEL_*
 * @valid: entries that are leaves and have V set
 * @child: tables that the entries point to, above VGPU_LEVEL_PTB
 */
struct vgpu_pt_table {
	struct vgpu_pt_mem mem;
	unsigned int level;
	DECLARE_BITMAP(valid, VGPU_PT_ENTRIES);
	struct vgpu_pt_table *child[];
};

static unsigned int pt_index(u64 page, unsigned int level)
{
	return page >> (VGPU_PT_SHIFT * level) & PT_INDEX_MASK;
}

/* Pages from @page to the end of what its entry at @level covers. */
static u64 pt_pages_left(u64 page, unsigned int level)
{
	u64 span = 1ull << (VGPU_PT_SHIFT * level);

	return span - (page & (span - 1));
}

static void pt_set(struct vgpu_pt *pt, struct vgpu_pt_table *table,
		   unsigned int index, u64 value)
{
	writeq(value, &table->mem.entries[index]);
	pt->written++;
}

/* The entry of a @level table that points to a table at @addr. */
static u64 pt_pointer(const struct vgpu_pt *pt, unsigned int level, u64 addr)
{
	u64 pde = ((addr + pt->vram_base) & VGPU_PDE_ADDR) | VGPU_PDE_VALID;

	if (level == VGPU_LEVEL_PDB1)
		pde |= FIELD_PREP(VGPU_PDE_BFS, VGPU_PT_SHIFT);
	else if (level == VGPU_LEVEL_PDB0)
		pde |= VGPU_PTE_TF;
	return pde;
}

static u64 pt_leaf(const struct vgpu_pt *pt, u64 addr, u64 flags,
		   unsigned int frag)
{
	if (!(flags & VGPU_PTE_SYSTEM))
		addr += pt->vram_base;
	return (addr & VGPU_PTE_ADDR) | flags | FIELD_PREP(VGPU_PTE_FRAG, frag);
}

static struct vgpu_pt_table *pt_table_new(struct vgpu_pt *pt,
					  unsigned int level)
{
	size_t children = level > VGPU_LEVEL_PTB ? VGPU_PT_ENTRIES : 0;
	struct vgpu_pt_table *table;
	int ret;

	table = kzalloc(struct_size(table, child, children), GFP_KERNEL);
	if (!table)
		return ERR_PTR(-ENOMEM);
	ret = pt->ops->alloc(pt, &table->mem);
	if (ret) {
		kfree(table);
		return ERR_PTR(ret);
	}
	table->level = level;
	return table;
}

static void pt_table_free(struct vgpu_pt_table *table)
{
	unsigned int i;

	if (table->level > VGPU_LEVEL_PTB)
		for (i = 0; i < VGPU_PT_ENTRIES; i++)
			if (table->child[i])
				pt_table_free(table->child[i]);
	kfree(table);
}

/**
 * vgpu_pt_init() - an empty tree
 * @pt: tree
 * @ops: backend
 * @vram_base: see struct vgpu_pt
 *
 * Return: 0 or what the backend's alloc returned.
 */
int vgpu_pt_init(struct vgpu_pt *pt, const struct vgpu_pt_ops *ops,
		 u64 vram_base)
{
	*pt = (struct vgpu_pt) { .ops = ops, .vram_base = vram_base };
	pt->root = pt_table_new(pt, VGPU_LEVEL_PDB2);
	if (IS_ERR(pt->root)) {
		int ret = PTR_ERR(pt->root);

		pt->root = NULL;
		return ret;
	}
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_pt_init);

/**
 * vgpu_pt_fini() - forget the tree
 * @pt: tree; no hardware walks it
 *
 * The tables' memory is the backend's to take back.
 */
void vgpu_pt_fini(struct vgpu_pt *pt)
{
	if (pt->root)
		pt_table_free(pt->root);
	pt->root = NULL;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_pt_fini);

/**
 * vgpu_pt_root_addr() - where the hardware finds the root
 * @pt: tree
 *
 * Return: its offset in VRAM.
 */
u64 vgpu_pt_root_addr(const struct vgpu_pt *pt)
{
	return pt->root->mem.addr;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_pt_root_addr);

/* The table below @table that translates @page; made if it is missing. */
static struct vgpu_pt_table *pt_child_get(struct vgpu_pt *pt,
					  struct vgpu_pt_table *table, u64 page)
{
	unsigned int index = pt_index(page, table->level);
	struct vgpu_pt_table *child = table->child[index];

	if (child)
		return child;
	child = pt_table_new(pt, table->level - 1);
	if (IS_ERR(child))
		return child;

	/* The new table is zero for the hardware before it can be found. */
	wmb();
	pt->ops->lock(pt);
	table->child[index] = child;
	pt_set(pt, table, index,
	       pt_pointer(pt, table->level, child->mem.addr));
	pt->ops->unlock(pt);
	return child;
}

/**
 * vgpu_pt_reserve() - make the tables for some pages
 * @pt: tree; nobody else may be in here
 * @first: first page
 * @last: last page, within the address space
 *
 * Entries in the pages can be written afterwards without allocating.
 *
 * Return: 0 or -ENOMEM; tables made by then stay.
 */
int vgpu_pt_reserve(struct vgpu_pt *pt, u64 first, u64 last)
{
	u64 page = first;

	if (WARN_ON_ONCE(last > LAST_PAGE))
		return -EINVAL;

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

/*
 * The PDB0 table that translates @page, or NULL; then *@skip is the number of
 * pages from @page on for which there is none.
 */
static struct vgpu_pt_table *pt_find_pdb0(const struct vgpu_pt *pt, u64 page,
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

static bool pt_any_valid(const struct vgpu_pt_table *table, unsigned int index,
			 unsigned int n)
{
	return find_next_bit(table->valid, index + n, index) < index + n;
}

/* Entries of a PTB that map consecutive memory. Was one of them valid? */
static bool pt_write_ptes(struct vgpu_pt *pt, struct vgpu_pt_table *ptb,
			  unsigned int index, unsigned int n, u64 addr,
			  u64 flags, unsigned int max_frag)
{
	bool changed = pt_any_valid(ptb, index, n);

	bitmap_set(ptb->valid, index, n);
	while (n) {
		u64 both = index | addr >> VGPU_PAGE_SHIFT |
			   LEAF_PAGES;	/* bounds it */
		unsigned int frag = min3(max_frag, (unsigned int)__ffs64(both),
					 (unsigned int)ilog2(n));
		unsigned int i;

		for (i = 0; i < 1u << frag; i++)
			pt_set(pt, ptb, index + i,
			       pt_leaf(pt, addr + ((u64)i << VGPU_PAGE_SHIFT),
				       flags, frag));
		index += 1u << frag;
		addr += (u64)VGPU_PAGE_SIZE << frag;
		n -= 1u << frag;
	}
	return changed;
}

/* @n entries of a PTB get the same value. Was one of them valid? */
static bool pt_fill_ptes(struct vgpu_pt *pt, struct vgpu_pt_table *ptb,
			 unsigned int index, unsigned int n, u64 value)
{
	bool changed = pt_any_valid(ptb, index, n);
	unsigned int i;

	if (!changed && !value)
		return false;
	if (value & VGPU_PTE_VALID)
		bitmap_set(ptb->valid, index, n);
	else
		bitmap_clear(ptb->valid, index, n);
	for (i = index; i < index + n; i++)
		pt_set(pt, ptb, i, value);
	return changed;
}

/* The PDB0 entry points to its PTB again, whatever that holds. */
static void pt_restore_pointer(struct vgpu_pt *pt, struct vgpu_pt_table *pdb0,
			       unsigned int index)
{
	/* The PTB's entries are there before it can be found. */
	wmb();
	__clear_bit(index, pdb0->valid);
	pt_set(pt, pdb0, index,
	       pt_pointer(pt, VGPU_LEVEL_PDB0, pdb0->child[index]->mem.addr));
}

/* Replace a 2 MiB leaf by 512 entries that translate alike. */
static void pt_split_leaf(struct vgpu_pt *pt, struct vgpu_pt_table *pdb0,
			  unsigned int index)
{
	u64 leaf = readq(&pdb0->mem.entries[index]) & ~VGPU_PTE_FRAG;
	struct vgpu_pt_table *ptb = pdb0->child[index];
	unsigned int i;

	for (i = 0; i < VGPU_PT_ENTRIES; i++)
		pt_set(pt, ptb, i, leaf + ((u64)i << VGPU_PAGE_SHIFT));
	bitmap_fill(ptb->valid, VGPU_PT_ENTRIES);
	pt_restore_pointer(pt, pdb0, index);
}

/* Was something valid there? */
static bool pt_write_leaf(struct vgpu_pt *pt, struct vgpu_pt_table *pdb0,
			  unsigned int index, u64 addr, u64 flags)
{
	bool changed = test_bit(index, pdb0->valid);

	__set_bit(index, pdb0->valid);
	pt_set(pt, pdb0, index, pt_leaf(pt, addr, flags, LEAF_FRAG));
	/* Out of sight now: leave it empty for the next split. */
	changed |= pt_fill_ptes(pt, pdb0->child[index], 0, VGPU_PT_ENTRIES, 0);
	return changed;
}

static bool pt_fits_leaf(u64 page, u64 addr, u64 npages)
{
	return npages >= LEAF_PAGES && IS_ALIGNED(page, LEAF_PAGES) &&
	       IS_ALIGNED(addr, LEAF_PAGES << VGPU_PAGE_SHIFT);
}

/**
 * vgpu_pt_write() - map a span
 * @pt: tree, locked
 * @first: first page; the tables for all of the span's pages are reserved
 * @span: memory and flags
 * @max_frag: largest fragment, log2 of pages; 0 if parts of the span will be
 *            changed
 *
 * Makes 2 MiB leaves where addresses allow.
 *
 * Return: whether an entry that was valid has changed: the caller flushes the
 * TLB then.
 */
bool vgpu_pt_write(struct vgpu_pt *pt, u64 first,
		   const struct vgpu_vm_span *span, unsigned int max_frag)
{
	u64 page = first, addr = span->addr, left = span->npages, skip, n;
	bool changed = false;

	for (; left; page += n, addr += n << VGPU_PAGE_SHIFT, left -= n) {
		struct vgpu_pt_table *pdb0 = pt_find_pdb0(pt, page, &skip);
		unsigned int index = pt_index(page, VGPU_LEVEL_PDB0);

		n = min(left, pt_pages_left(page, VGPU_LEVEL_PDB0));
		if (WARN_ON_ONCE(!pdb0 || !pdb0->child[index]))
			continue;
		if (pt_fits_leaf(page, addr, left)) {
			changed |= pt_write_leaf(pt, pdb0, index, addr,
						 span->pte_flags);
			continue;
		}
		if (test_bit(index, pdb0->valid))
			pt_split_leaf(pt, pdb0, index);
		changed |= pt_write_ptes(pt, pdb0->child[index],
					 pt_index(page, VGPU_LEVEL_PTB), n,
					 addr, span->pte_flags, max_frag);
	}
	return changed;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_pt_write);

/* Up to a PTB's worth of vgpu_pt_clear(). */
static bool pt_clear_part(struct vgpu_pt *pt, struct vgpu_pt_table *pdb0,
			  u64 page, u64 n, u64 value)
{
	unsigned int index = pt_index(page, VGPU_LEVEL_PDB0);
	struct vgpu_pt_table *ptb = pdb0->child[index];
	bool leaf = test_bit(index, pdb0->valid);

	if (!ptb)
		return false;
	if (leaf && n < LEAF_PAGES) {
		pt_split_leaf(pt, pdb0, index);
		leaf = false;
	}
	/* Behind a leaf the PTB is empty: this prepares what comes in sight. */
	if (pt_fill_ptes(pt, ptb, pt_index(page, VGPU_LEVEL_PTB), n, value))
		return true;
	if (leaf)
		pt_restore_pointer(pt, pdb0, index);
	return leaf;
}

/**
 * vgpu_pt_clear() - set every entry of some pages to the same value
 * @pt: tree, locked
 * @first: first page
 * @last: last page
 * @value: 0, or VGPU_PTE_NORETRY
 *
 * Where there are no tables nothing happens. Does not allocate.
 *
 * Return: whether an entry that was valid has changed: the caller flushes the
 * TLB then.
 */
bool vgpu_pt_clear(struct vgpu_pt *pt, u64 first, u64 last, u64 value)
{
	bool changed = false;
	u64 page = first, n;

	last = min(last, LAST_PAGE);
	while (page <= last) {
		struct vgpu_pt_table *pdb0 = pt_find_pdb0(pt, page, &n);

		if (pdb0) {
			n = min(last - page + 1,
				pt_pages_left(page, VGPU_LEVEL_PDB0));
			changed |= pt_clear_part(pt, pdb0, page, n, value);
		}
		page += n;
	}
	return changed;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_pt_clear);

/**
 * vgpu_pt_read() - the entry that translates a page
 * @pt: tree, locked
 * @page: page
 *
 * Return: A PTB's entry or a 2 MiB leaf as it stands; 0 if there is none.
 */
u64 vgpu_pt_read(const struct vgpu_pt *pt, u64 page)
{
	unsigned int index = pt_index(page, VGPU_LEVEL_PDB0);
	struct vgpu_pt_table *pdb0;
	u64 skip;

	if (page > LAST_PAGE)
		return 0;
	pdb0 = pt_find_pdb0(pt, page, &skip);
	if (!pdb0 || !pdb0->child[index])
		return 0;
	if (test_bit(index, pdb0->valid))
		return readq(&pdb0->mem.entries[index]);
	return readq(&pdb0->child[index]->mem.entries[pt_index(page, 0)]);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_pt_read);
