// SPDX-License-Identifier: GPL-2.0
/*
 * Writes and clears entries of gfx90a page tables (include/vgpu/pte.h), and splits leaves.
 *
 *	PDB2	points to PDB1 tables
 *	PDB1	points to PDB0 tables, with block fragment size 9 (VGPU_PDE_BFS)
 *	PDB0	points to PTBs (VGPU_PTE_TF), or has leaves: PTEs for 2 MiB
 *	PTB	has PTEs for one page each
 */
#include <linux/bitfield.h>
#include <linux/log2.h>

#include <kunit/visibility.h>

#include "vgpu_pt_priv.h"
#include "vgpu_vm.h"

#define LEAF_FRAG		VGPU_PT_SHIFT

/* Returns the entry of a @level table that points to a table at @addr. */
static u64 pt_pointer(const struct vgpu_pt *pt, unsigned int level, u64 addr)
{
	u64 pde = ((addr + pt->vram_base) & VGPU_PDE_ADDR) | VGPU_PDE_VALID;

	if (level == VGPU_LEVEL_PDB1)
		pde |= FIELD_PREP(VGPU_PDE_BFS, VGPU_PT_SHIFT);
	else if (level == VGPU_LEVEL_PDB0)
		pde |= VGPU_PTE_TF;
	return pde;
}

/*
 * Returns a PTE in a fragment: an aligned block of 2^@frag pages with contiguous memory and the
 * same flags. The TLB may hold one translation for the whole fragment.
 */
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

/* Let the backend write entries. Returns false if the CPU has to write them. */
static bool pt_backend_set(struct vgpu_pt *pt, struct vgpu_pt_table *table,
			   unsigned int index, unsigned int n, u64 value, u64 step)
{
	return pt->ops->write &&
	       pt->ops->write(pt, &table->mem, index, n, value, step);
}

/* Write entries by the CPU, between pt_io_begin() and pt_io_end(). */
static void pt_cpu_set(struct vgpu_pt_table *table, unsigned int index,
		       unsigned int n, u64 value, u64 step)
{
	for (; n; n--, value += step)
		writeq(value, &table->mem.entries[index++]);
}

/**
 * vgpu_pt_set() - write entries of a table
 * @pt: tree, locked
 * @table: table
 * @index: first entry
 * @n: number of entries
 * @value: value of the first entry
 * @step: difference between consecutive entries
 */
void vgpu_pt_set(struct vgpu_pt *pt, struct vgpu_pt_table *table,
		 unsigned int index, unsigned int n, u64 value, u64 step)
{
	pt->written += n;
	if (pt_backend_set(pt, table, index, n, value, step))
		return;
	pt->by_cpu += n;
	pt_io_begin(pt);
	pt_cpu_set(table, index, n, value, step);
	pt_io_end(pt);
}

/**
 * vgpu_pt_set_pointer() - write the pointer to a child table
 * @pt: tree, locked
 * @table: table above VGPU_LEVEL_PTB
 * @index: entry of the child
 */
void vgpu_pt_set_pointer(struct vgpu_pt *pt, struct vgpu_pt_table *table,
			 unsigned int index)
{
	vgpu_pt_set(pt, table, index, 1,
		    pt_pointer(pt, table->level, table->child[index]->mem.addr),
		    0);
}

/*
 * Let the backend make space for the writes of one step (VGPU_PT_STEP_WRITES). Called before
 * each step.
 */
static void pt_room(struct vgpu_pt *pt)
{
	if (pt->ops->room)
		pt->ops->room(pt);
}

/*
 * Returns true if a change of the entries needs a TLB flush. Entries that deny access count, too:
 * their flush is unnecessary but harmless.
 */
static bool pt_any_valid(const struct vgpu_pt_table *table, unsigned int index,
			 unsigned int n)
{
	return find_next_bit(table->valid, index + n, index) < index + n;
}

/*
 * Write entries of a PTB that map consecutive memory. Returns true if one of the
 * entries was valid before.
 */
static bool pt_write_ptes(struct vgpu_pt *pt, struct vgpu_pt_table *ptb,
			  unsigned int index, unsigned int n, u64 addr,
			  u64 flags, unsigned int max_frag)
{
	bool changed = pt_any_valid(ptb, index, n);
	u64 memory = addr >> VGPU_PAGE_SHIFT;

	/*
	 * A fragment of 2^f pages starts at a multiple of 2^f pages, in the PTB and in memory. This
	 * is possible only if the lowest f bits of @index and @memory are equal. So limit @max_frag
	 * to the position of the lowest bit in which @index and @memory differ.
	 */
	max_frag = min_t(unsigned int, max_frag,
			 __ffs64((index ^ memory) | LEAF_PAGES));
	bitmap_set(ptb->valid, index, n);
	while (n) {
		unsigned int frag = min3(max_frag,
					 (unsigned int)__ffs64(index | LEAF_PAGES),
					 (unsigned int)ilog2(n));
		/*
		 * Write all consecutive entries that have fragment size @max_frag by one
		 * call of vgpu_pt_set(). Each smaller fragment gets a call of its own.
		 */
		unsigned int run = frag == max_frag ? round_down(n, 1u << frag) :
						      1u << frag;

		vgpu_pt_set(pt, ptb, index, run, pt_leaf(pt, addr, flags, frag),
			    VGPU_PAGE_SIZE);
		index += run;
		addr += (u64)run << VGPU_PAGE_SHIFT;
		n -= run;
	}
	vgpu_pt_note_used(ptb);
	return changed;
}

/* Set @n entries of a PTB to the same value. Returns true if one of them was valid before. */
static bool pt_fill_ptes(struct vgpu_pt *pt, struct vgpu_pt_table *ptb,
			 unsigned int index, unsigned int n, u64 value)
{
	bool changed = pt_any_valid(ptb, index, n);

	if (!changed && !value)
		return false;
	if (value) {
		bitmap_set(ptb->valid, index, n);
		vgpu_pt_note_used(ptb);
	} else {
		bitmap_clear(ptb->valid, index, n);
	}
	vgpu_pt_set(pt, ptb, index, n, value, 0);
	if (!value)
		vgpu_pt_note_empty(pt, ptb);
	return changed;
}

/* Replace the leaf @index with a pointer to pdb0->child[@index], the PTB for the same pages. */
static void pt_restore_pointer(struct vgpu_pt *pt, struct vgpu_pt_table *pdb0,
			       unsigned int index)
{
	/* Order the writes of the PTB's entries before the write of the pointer to the PTB. */
	wmb();
	__clear_bit(index, pdb0->valid);
	vgpu_pt_set_pointer(pt, pdb0, index);
}

/*
 * Replace a 2 MiB leaf with 512 PTEs with the same translations. Does not allocate, because MMU
 * notifiers split leaves: vgpu_pt_reserve() has created the PTB.
 */
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

/* Write a 2 MiB leaf. Returns true if the leaf or an entry of its PTB was valid before. */
static bool pt_write_leaf(struct vgpu_pt *pt, struct vgpu_pt_table *pdb0,
			  unsigned int index, u64 leaf)
{
	bool changed = test_bit(index, pdb0->valid);

	__set_bit(index, pdb0->valid);
	vgpu_pt_note_used(pdb0->child[index]);
	pdb0->leaf[index] = leaf;
	vgpu_pt_set(pt, pdb0, index, 1, leaf, 0);
	/*
	 * Zero the PTB now, while the hardware uses the leaf instead. pt_clear_part() can then
	 * unmap the leaf by one write, which replaces the leaf with a pointer to the zeroed PTB.
	 */
	changed |= pt_fill_ptes(pt, pdb0->child[index], 0, VGPU_PT_ENTRIES, 0);
	return changed;
}

static bool pt_fits_leaf(u64 page, u64 addr, u64 npages)
{
	return npages >= LEAF_PAGES && IS_ALIGNED(page, LEAF_PAGES) &&
	       IS_ALIGNED(addr, LEAF_PAGES << VGPU_PAGE_SHIFT);
}

/**
 * vgpu_pt_write() - map a span, by 2 MiB leaves where possible
 * @pt: tree, locked
 * @first: first page; all tables exist (vgpu_pt_reserve())
 * @span: memory and flags
 * @max_frag: log2 of pages in the largest fragment of a PTB; 0: no fragments
 *
 * Return: true if the caller must flush the TLB.
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

/*
 * Returns how many of the @n spans, which map the pages from @page on, lie in the PTB of @page as a
 * whole. Sets *@pages to the number of pages of these spans.
 */
static unsigned int pt_count_spans(u64 page, const struct vgpu_vm_span *spans,
				   unsigned int n, u64 *pages)
{
	u64 all = pt_pages_left(page, VGPU_LEVEL_PDB0), left = all;
	unsigned int i;

	for (i = 0; i < n && spans[i].npages <= left; i++)
		left -= spans[i].npages;
	*pages = all - left;
	return i;
}

/*
 * Set the entries of a PTB from @index on, one for each page of @n spans that have @pages pages in
 * total. If the CPU writes the entries, the access to the BARs begins and ends only once.
 */
static void pt_set_spans(struct vgpu_pt *pt, struct vgpu_pt_table *ptb,
			 unsigned int index, unsigned int pages,
			 const struct vgpu_vm_span *spans, unsigned int n)
{
	const struct vgpu_vm_span *end = spans + n;
	bool by_cpu = false;

	pt->written += pages;
	for (; spans < end; spans++) {
		u64 value = pt_leaf(pt, spans->addr, spans->pte_flags, 0);

		if (!by_cpu) {
			pt_room(pt);
			by_cpu = !pt_backend_set(pt, ptb, index, spans->npages,
						 value, VGPU_PAGE_SIZE);
			if (by_cpu) {
				pt->by_cpu += pages;
				pt_io_begin(pt);
			}
		}
		if (by_cpu)
			pt_cpu_set(ptb, index, spans->npages, value,
				   VGPU_PAGE_SIZE);
		index += spans->npages;
		pages -= spans->npages;
	}
	if (by_cpu)
		pt_io_end(pt);
}

/*
 * Map @n spans, at least two, of @pages pages in total from @page on. All lie in one PTB, so none
 * is a leaf.
 */
static bool pt_write_in_ptb(struct vgpu_pt *pt, u64 page, u64 pages,
			    const struct vgpu_vm_span *spans, unsigned int n)
{
	unsigned int index = pt_index(page, VGPU_LEVEL_PDB0);
	unsigned int entry = pt_index(page, VGPU_LEVEL_PTB);
	struct vgpu_pt_table *pdb0, *ptb;
	bool changed;
	u64 skip;

	pdb0 = vgpu_pt_find_pdb0(pt, page, &skip);
	if (WARN_ON_ONCE(!pdb0 || !pdb0->child[index]))
		return false;
	ptb = pdb0->child[index];
	if (test_bit(index, pdb0->valid)) {
		pt_room(pt);
		pt_split_leaf(pt, pdb0, index);
	}
	changed = pt_any_valid(ptb, entry, pages);
	bitmap_set(ptb->valid, entry, pages);
	pt_set_spans(pt, ptb, entry, pages, spans, n);
	vgpu_pt_note_used(ptb);
	return changed;
}

/**
 * vgpu_pt_write_spans() - map consecutive pages, without fragments in PTBs
 * @pt: tree, locked
 * @first: first page; all tables exist (vgpu_pt_reserve())
 * @spans: memory and flags of the pages; no span is empty
 * @n: number of spans
 *
 * Writes what vgpu_pt_write() writes for each span if @max_frag is 0. Scattered memory has a span
 * for each page, so work that does not depend on the span is done once for each PTB.
 *
 * Return: true if the caller must flush the TLB.
 */
bool vgpu_pt_write_spans(struct vgpu_pt *pt, u64 first,
			 const struct vgpu_vm_span *spans, unsigned int n)
{
	bool changed = false;
	u64 page = first;

	while (n) {
		unsigned int k;
		u64 pages;

		k = pt_count_spans(page, spans, n, &pages);
		if (k > 1) {
			changed |= pt_write_in_ptb(pt, page, pages, spans, k);
		} else {
			/* The span needs more than one PTB, or no other span follows in its PTB. */
			changed |= vgpu_pt_write(pt, page, spans, 0);
			pages = spans->npages;
			k = 1;
		}
		page += pages;
		spans += k;
		n -= k;
	}
	return changed;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_pt_write_spans);

/*
 * Do the work of vgpu_pt_clear() for @n pages from @page on, all in the range of one PDB0 entry.
 */
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
	/*
	 * If a leaf maps the pages, the next step replaces the leaf by a pointer to the PTB. Write
	 * the PTB first, because the hardware uses the PTB as soon as the pointer is written.
	 */
	if (pt_fill_ptes(pt, ptb, pt_index(page, VGPU_LEVEL_PTB), n, value))
		return true;
	if (leaf) {
		pt_restore_pointer(pt, pdb0, index);
		vgpu_pt_note_empty(pt, ptb);
	}
	return leaf;
}

/**
 * vgpu_pt_clear() - set the entries of a range of pages to one value
 * @pt: tree, locked
 * @first: first page
 * @last: last page
 * @value: 0, VGPU_PTE_NORETRY, or VGPU_PTE_PRT
 *
 * Skips pages without tables. Does not allocate.
 *
 * Return: true if a valid entry was overwritten, so that the caller must flush the TLB.
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
 * vgpu_pt_read() - read the entry that translates a page
 * @pt: tree, locked; SDMA has completed its writes
 * @page: page
 *
 * Return: the entry of the PTB, or 0 if the page has no PTB. If a 2 MiB leaf translates the page:
 * the leaf, with the address of the leaf's first page.
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
