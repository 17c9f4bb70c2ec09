/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Page tables of one address space: layout, entries, growth. This code has no
 * locks and does not access registers; struct vgpu_vm_state (vgpu_vm_priv.h) adds both.
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
 * @entries: CPU mapping of its VGPU_PT_ENTRIES entries
 * @addr: offset in VRAM, for the hardware
 * @owner: data of the backend
 */
struct vgpu_pt_mem {
	__le64 __iomem *entries;
	u64 addr;
	void *owner;
};

struct vgpu_pt;

/*
 * Limit of the writes of one step: the split of a leaf (2 writes), runs of rising
 * and falling sizes in a PTB (2 * VGPU_PT_SHIFT), and the pointer to the PTB.
 */
#define VGPU_PT_STEP_WRITES	(2 * VGPU_PT_SHIFT + 4)

/**
 * struct vgpu_pt_ops - backend of a tree
 * @alloc: fill in @mem with a table of zeros; returns 0 or -ENOMEM
 * @free: free a table, which is zero again; called by vgpu_pt_free(). After
 *        vgpu_pt_fini() the backend frees the tables that are left on its own
 * @lock: called before vgpu_pt_reserve() changes the part of the tree that the
 *        other functions walk
 * @unlock: called after that change
 * @write: write @n entries, starting at entry @index: @value to the first, and @step
 *         more to each next one; returns false if the CPU must write them. NULL:
 *         the CPU writes all entries
 * @room: called before every step of at most VGPU_PT_STEP_WRITES writes; may be
 *        NULL
 * @io_begin: called before the CPU accesses entries; NULL if @io_end is NULL
 * @io_end: called after the CPU has accessed entries
 */
struct vgpu_pt_ops {
	int (*alloc)(struct vgpu_pt *pt, struct vgpu_pt_mem *mem);
	void (*free)(struct vgpu_pt *pt, const struct vgpu_pt_mem *mem);
	void (*lock)(struct vgpu_pt *pt);
	void (*unlock)(struct vgpu_pt *pt);
	bool (*write)(struct vgpu_pt *pt, const struct vgpu_pt_mem *mem,
		      unsigned int index, unsigned int n, u64 value, u64 step);
	void (*room)(struct vgpu_pt *pt);
	void (*io_begin)(const struct vgpu_pt *pt);
	void (*io_end)(const struct vgpu_pt *pt);
};

/**
 * struct vgpu_pt - a tree of page tables
 * @ops: backend
 * @vram_base: number to add to an offset in VRAM to get the address in an entry
 * @root: PDB2
 * @empty: list of tables that may be empty
 * @written: number of entries written since vm/ last reset it
 * @by_cpu: number of the entries in @written that the CPU wrote
 */
struct vgpu_pt {
	const struct vgpu_pt_ops *ops;
	u64 vram_base;
	struct vgpu_pt_table *root;
	struct list_head empty;
	u64 written;
	u64 by_cpu;
};

/* vgpu_pt_tree.c */
int vgpu_pt_init(struct vgpu_pt *pt, const struct vgpu_pt_ops *ops,
		 u64 vram_base);
void vgpu_pt_fini(struct vgpu_pt *pt);
u64 vgpu_pt_root_addr(const struct vgpu_pt *pt);
int vgpu_pt_reserve(struct vgpu_pt *pt, u64 first, u64 last);
void vgpu_pt_trim(struct vgpu_pt *pt,
		  bool (*keep)(struct vgpu_pt *pt, u64 first, u64 last),
		  struct list_head *out);
void vgpu_pt_free(struct vgpu_pt *pt, struct list_head *out);
void vgpu_pt_rebuild(struct vgpu_pt *pt);

/* vgpu_pt.c */
bool vgpu_pt_write(struct vgpu_pt *pt, u64 first,
		   const struct vgpu_vm_span *span, unsigned int max_frag);
bool vgpu_pt_clear(struct vgpu_pt *pt, u64 first, u64 last, u64 value);
u64 vgpu_pt_read(const struct vgpu_pt *pt, u64 page);

#endif /* VGPU_PT_H */
