/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Page tables of one address space, as memory: layout, entries, growth. Knows
 * neither locks nor the device; struct vgpu_vm (vgpu_vm.h) brings both.
 */
#ifndef VGPU_PT_H
#define VGPU_PT_H

#include <linux/io.h>
#include <linux/types.h>

#include "vgpu/pte.h"

struct vgpu_pt_table;

/**
 * struct vgpu_pt_mem - memory of one table
 * @entries: VGPU_PT_ENTRIES of them, for the CPU
 * @addr: where the hardware finds it: offset in VRAM
 */
struct vgpu_pt_mem {
	__le64 __iomem *entries;
	u64 addr;
};

struct vgpu_pt;

/**
 * struct vgpu_pt_ops - where tables come from
 * @alloc: fill in @mem with a table of zeros; 0 or -ENOMEM. It stays until
 *         the owner of @pt takes all back
 * @lock: called around changes that vgpu_pt_reserve() makes to what the other
 *        functions walk
 * @unlock: ...
 */
struct vgpu_pt_ops {
	int (*alloc)(struct vgpu_pt *pt, struct vgpu_pt_mem *mem);
	void (*lock)(struct vgpu_pt *pt);
	void (*unlock)(struct vgpu_pt *pt);
};

/**
 * struct vgpu_pt - a tree of page tables
 * @ops: backend
 * @vram_base: what is added to offsets in VRAM to make addresses in entries
 * @root: PDB2
 * @written: entries written, ever
 */
struct vgpu_pt {
	const struct vgpu_pt_ops *ops;
	u64 vram_base;
	struct vgpu_pt_table *root;
	u64 written;
};

/**
 * struct vgpu_vm_span - contiguous memory to map
 * @addr: bus address (with VGPU_PTE_SYSTEM in the flags) or offset in VRAM
 * @npages: length
 * @pte_flags: VGPU_PTE_* without address and fragment; V included
 */
struct vgpu_vm_span {
	u64 addr;
	u64 npages;
	u64 pte_flags;
};

int vgpu_pt_init(struct vgpu_pt *pt, const struct vgpu_pt_ops *ops,
		 u64 vram_base);
void vgpu_pt_fini(struct vgpu_pt *pt);
u64 vgpu_pt_root_addr(const struct vgpu_pt *pt);
int vgpu_pt_reserve(struct vgpu_pt *pt, u64 first, u64 last);
bool vgpu_pt_write(struct vgpu_pt *pt, u64 first,
		   const struct vgpu_vm_span *span, unsigned int max_frag);
bool vgpu_pt_clear(struct vgpu_pt *pt, u64 first, u64 last, u64 value);
u64 vgpu_pt_read(const struct vgpu_pt *pt, u64 page);

#endif /* VGPU_PT_H */
