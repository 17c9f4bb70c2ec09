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
 * vgpu_pt_reserve() makes PTBs for every page it is asked for (vgpu_pt_tree.c),
 * and nothing else allocates.
 *
 * Entries are never read back to see what they hold: each table keeps a bitmap
 * of its leaves. A PTB behind a leaf has no bits set and only zeros.
 *
 * A leaf is valid, or says no (VGPU_PTE_NORETRY), or is VGPU_PTE_PRT alone: such
 * a page reads as zeros and forgets what is written. The TLB may hold any of
 * them.
 *
 * An entry's fragment field says how many pages around it are alike, and the
 * TLB believes it. Mappings that come and go whole may have it; those of which
 * single pages are taken away later must not (@max_frag 0).
 */
#include <linux/bitfield.h>
#include <linux/log2.h>

#include <kunit/visibility.h>

#include "vgpu_pt_priv.h"

#define LEAF_FRAG		VGPU_PT_SHIFT

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

static void pt_io_begin(const struct vgpu_pt *pt)
{
	if (pt->ops->io_begin)
		pt->ops->io_begin(pt);
}

static void pt_io_end(const struct vgpu_pt *pt)
{
	if (pt->ops->io_end)
		pt->ops->io_end(pt);
}

/**
 * vgpu_pt_set() - write entries of a table
 * @pt: tree, locked
 * @table: table
 * @index: first entry
 * @n: their number
 * @value: the first one
 * @step: what each next one is greater by
 */
void vgpu_pt_set(struct vgpu_pt *pt, struct vgpu_pt_table *table,
		 unsigned int index, unsigned int n, u64 value, u64 step)
{
	pt->written += n;
	if (pt->ops->write &&
	    pt->ops->write(pt, &table->mem, index, n, value, step))
		return;
	pt->by_cpu += n;
	pt_io_begin(pt);
	for (; n; n--, value += step)
		writeq(value, &table->mem.entries[index++]);
	pt_io_end(pt);
}

/**
 * vgpu_pt_set_pointer() - have an entry point to its table
 * @pt: tree, locked
 * @table: table above VGPU_LEVEL_PTB
 * @index: entry
 */
void vgpu_pt_set_pointer(struct vgpu_pt *pt, struct vgpu_pt_table *table,
			 unsigned int index)
{
	vgpu_pt_set(pt, table, index, 1,
		    pt_pointer(pt, table->level, table->child[index]->mem.addr),
		    0);
}

/* Before each step: there is room for what it writes. */
static void pt_room(struct vgpu_pt *pt)
{
	if (pt->ops->room)
		pt->ops->room(pt);
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
		/* One write for all of the largest size. */
		unsigned int run = frag == max_frag ? round_down(n, 1u << frag) :
						      1u << frag;

		vgpu_pt_set(pt, ptb, index, run, pt_leaf(pt, addr, flags, frag),
			    VGPU_PAGE_SIZE);
		index += run;
		addr += (u64)run << VGPU_PAGE_SHIFT;
		n -= run;
	}
	return changed;
}

/* @n entries of a PTB get the same value. Was one of them valid? */
static bool pt_fill_ptes(struct vgpu_pt *pt, struct vgpu_pt_table *ptb,
			 unsigned int index, unsigned int n, u64 value)
{
	bool changed = pt_any_valid(ptb, index, n);

	if (!changed && !value)
		return false;
	if (value)
		bitmap_set(ptb->valid, index, n);
	else
		bitmap_clear(ptb->valid, index, n);
	vgpu_pt_set(pt, ptb, index, n, value, 0);
	if (!value)
		vgpu_pt_note_empty(pt, ptb);
	return changed;
}

/* The PDB0 entry points to its PTB again, whatever that holds. */
static void pt_restore_pointer(struct vgpu_pt *pt, struct vgpu_pt_table *pdb0,
			       unsigned int index)
{
	/* The PTB's entries are there before it can be found. */
	wmb();
	__clear_bit(index, pdb0->valid);
	vgpu_pt_set_pointer(pt, pdb0, index);
}

/* Replace a 2 MiB leaf by 512 entries that translate alike. */
static void pt_split_leaf(struct vgpu_pt *pt, struct vgpu_pt_table *pdb0,
			  unsigned int index)
{
	u64 leaf = pdb0->leaf[index] & ~VGPU_PTE_FRAG;
	struct vgpu_pt_table *ptb = pdb0->child[index];

	vgpu_pt_set(pt, ptb, 0, VGPU_PT_ENTRIES, leaf,
		    leaf & VGPU_PTE_VALID ? VGPU_PAGE_SIZE : 0);
	bitmap_fill(ptb->valid, VGPU_PT_ENTRIES);
	pt_restore_pointer(pt, pdb0, index);
}

/* Was something valid there? */
static bool pt_write_leaf(struct vgpu_pt *pt, struct vgpu_pt_table *pdb0,
			  unsigned int index, u64 leaf)
{
	bool changed = test_bit(index, pdb0->valid);

	__set_bit(index, pdb0->valid);
	pdb0->leaf[index] = leaf;
	vgpu_pt_set(pt, pdb0, index, 1, leaf, 0);
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
		struct vgpu_pt_table *pdb0 = vgpu_pt_find_pdb0(pt, page, &skip);
		unsigned int index = pt_index(page, VGPU_LEVEL_PDB0);

		n = min(left, pt_pages_left(page, VGPU_LEVEL_PDB0));
		if (WARN_ON_ONCE(!pdb0 || !pdb0->child[index]))
			continue;
		pt_room(pt);
		if (pt_fits_leaf(page, addr, left)) {
			changed |= pt_write_leaf(pt, pdb0, index,
						 pt_leaf(pt, addr,
							 span->pte_flags,
							 LEAF_FRAG));
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
	if (value == VGPU_PTE_PRT && n == LEAF_PAGES)
		return pt_write_leaf(pt, pdb0, index, value);
	if (leaf && n < LEAF_PAGES) {
		pt_split_leaf(pt, pdb0, index);
		leaf = false;
	}
	/* Behind a leaf the PTB is empty: this prepares what comes in sight. */
	if (pt_fill_ptes(pt, ptb, pt_index(page, VGPU_LEVEL_PTB), n, value))
		return true;
	if (leaf) {
		pt_restore_pointer(pt, pdb0, index);
		vgpu_pt_note_empty(pt, ptb);
	}
	return leaf;
}

/**
 * vgpu_pt_clear() - set every entry of some pages to the same value
 * @pt: tree, locked
 * @first: first page
 * @last: last page
 * @value: 0, VGPU_PTE_NORETRY, or VGPU_PTE_PRT
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
		struct vgpu_pt_table *pdb0 = vgpu_pt_find_pdb0(pt, page, &n);

		if (pdb0) {
			n = min(last - page + 1,
				pt_pages_left(page, VGPU_LEVEL_PDB0));
			pt_room(pt);
			changed |= pt_clear_part(pt, pdb0, page, n, value);
		}
		page += n;
	}
	return changed;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_pt_clear);

/**
 * vgpu_pt_read() - the entry that translates a page
 * @pt: tree, locked; no write of another than the CPU is under way
 * @page: page
 *
 * Return: A PTB's entry or a 2 MiB leaf as it stands; 0 if there is none.
 */
u64 vgpu_pt_read(const struct vgpu_pt *pt, u64 page)
{
	unsigned int index = pt_index(page, VGPU_LEVEL_PDB0);
	struct vgpu_pt_table *pdb0;
	u64 skip, pte;

	if (page > LAST_PAGE)
		return 0;
	pdb0 = vgpu_pt_find_pdb0(pt, page, &skip);
	if (!pdb0 || !pdb0->child[index])
		return 0;
	if (test_bit(index, pdb0->valid))
		return pdb0->leaf[index];
	pt_io_begin(pt);
	pte = readq(&pdb0->child[index]->mem.entries[pt_index(page, 0)]);
	pt_io_end(pt);
	return pte;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_pt_read);
