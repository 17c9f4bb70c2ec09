/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Page tables of one address space: layout, entries, growth. The functions declared here do not
 * access registers, and take locks only through struct vgpu_pt_ops, which vgpu_vm_write.c
 * implements.
 */
#ifndef VGPU_PT_H
#define VGPU_PT_H

#include <linux/io.h>
#include <linux/list.h>
#include <linux/types.h>

#include "vgpu/pte.h"

struct vgpu_pt_table;
struct vgpu_vm_span;

/**
 * struct vgpu_pt_mem - memory of one table
 * @entries: CPU mapping of the table's VGPU_PT_ENTRIES entries
 * @addr: offset of the table in VRAM
 * @owner: pointer that only the backend (struct vgpu_pt_ops) uses
 */
struct vgpu_pt_mem {
	__le64 __iomem *entries;
	u64 addr;
	void *owner;
};

struct vgpu_pt;

/*
 * Largest number of calls of vgpu_pt_ops.write in one step. A step maps or unmaps pages in the
 * range of one PDB0 entry. From the first to the last page, fragments (2^n pages) grow, then
 * shrink. The calls:
 *
 * - 2 to split a leaf
 * - VGPU_PT_SHIFT for fragments of growing size
 * - 1 for all fragments of the largest size
 * - VGPU_PT_SHIFT for fragments of shrinking size
 * - 1 as a margin
 */
#define VGPU_PT_STEP_WRITES	(2 * VGPU_PT_SHIFT + 4)

/**
 * struct vgpu_pt_ops - backend of the page tables: functions that allocate, lock and write tables
 */
struct vgpu_pt_ops {
	/** @alloc: allocate a table of zeros, and describe it in @mem; returns 0 or -errno */
	int (*alloc)(struct vgpu_pt *pt, struct vgpu_pt_mem *mem);
	/**
	 * @free: free a table; all entries of the table are 0. Not called for tables that remain at
	 * vgpu_pt_fini(): the backend frees the memory of these tables itself
	 */
	void (*free)(struct vgpu_pt *pt, const struct vgpu_pt_mem *mem);
	/** @lock: called before vgpu_pt_reserve() links a new table into the tree */
	void (*lock)(struct vgpu_pt *pt);
	/** @unlock: called after vgpu_pt_reserve() has linked the table */
	void (*unlock)(struct vgpu_pt *pt);
	/**
	 * @write: write @n entries: entry @index + i gets the value @value + i * @step. If @write
	 * returns false or is NULL, the CPU writes these entries, and perhaps all further entries
	 * of the step
	 */
	bool (*write)(struct vgpu_pt *pt, const struct vgpu_pt_mem *mem,
		      unsigned int index, unsigned int n, u64 value, u64 step);
	/**
	 * @room: make space for VGPU_PT_STEP_WRITES calls of @write. Called before every step, and
	 * in vgpu_pt_write_spans() before each span that @write may write; may be NULL
	 */
	void (*room)(struct vgpu_pt *pt);
	/** @io_begin: called before the CPU accesses entries; NULL if @io_end is NULL */
	void (*io_begin)(const struct vgpu_pt *pt);
	/** @io_end: called after the CPU has accessed entries */
	void (*io_end)(const struct vgpu_pt *pt);
};

/**
 * struct vgpu_pt - a tree of page tables
 */
struct vgpu_pt {
	/** @ops: backend */
	const struct vgpu_pt_ops *ops;
	/** @vram_base: number to add to an offset in VRAM to get the address in an entry */
	u64 vram_base;
	/** @root: PDB2 */
	struct vgpu_pt_table *root;
	/** @empty: list of tables that may be empty */
	struct list_head empty;
	/**
	 * @spare: PTB that is not in the tree, or NULL. The next vgpu_pt_reserve() that needs a PTB
	 * takes it. The functions that change @spare exclude each other, as growth and trim do
	 */
	struct vgpu_pt_table *spare;
	/** @written: number of entries written since vgpu_vm_write.c last reset this counter */
	u64 written;
	/** @by_cpu: number of the entries in @written that the CPU wrote */
	u64 by_cpu;
};

/* vgpu_pt_tree.c */
int vgpu_pt_init(struct vgpu_pt *pt, const struct vgpu_pt_ops *ops,
		 u64 vram_base);
void vgpu_pt_fini(struct vgpu_pt *pt);
u64 vgpu_pt_root_addr(const struct vgpu_pt *pt);
int vgpu_pt_reserve(struct vgpu_pt *pt, u64 first, u64 last);
void vgpu_pt_prepare(struct vgpu_pt *pt);
void vgpu_pt_drop_spare(struct vgpu_pt *pt);
void vgpu_pt_trim(struct vgpu_pt *pt,
		  bool (*keep)(struct vgpu_pt *pt, u64 first, u64 last),
		  struct list_head *out);
void vgpu_pt_free(struct vgpu_pt *pt, struct list_head *out);
void vgpu_pt_rebuild(struct vgpu_pt *pt);

/* vgpu_pt.c */
bool vgpu_pt_write(struct vgpu_pt *pt, u64 first,
		   const struct vgpu_vm_span *span, unsigned int max_frag);
bool vgpu_pt_write_spans(struct vgpu_pt *pt, u64 first,
			 const struct vgpu_vm_span *spans, unsigned int n);
bool vgpu_pt_clear(struct vgpu_pt *pt, u64 first, u64 last, u64 value);
u64 vgpu_pt_read(const struct vgpu_pt *pt, u64 page);

#endif /* VGPU_PT_H */
