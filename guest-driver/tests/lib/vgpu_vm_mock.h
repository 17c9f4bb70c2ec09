/* SPDX-License-Identifier: GPL-2.0 */
/* A mock of an address space and its device, and a flat map of the expected page-table entries. */
#ifndef VGPU_VM_MOCK_H
#define VGPU_VM_MOCK_H

#include "vm/vgpu_vm_priv.h"
#include "vgpu_mock.h"

#define VM_MOCK_TABLES		128u
/* Number of pages of the window, the part of the GPU address space in which tests map BOs. */
#define VM_MOCK_WINDOW		4096u
/* Page number of the window's start. The window crosses the end of a PDB1, a PDB0 and a PTB. */
#define VM_MOCK_FIRST		(BIT_ULL(27) - 1111)
#define VM_MOCK_BOS		8u
#define VM_MOCK_BO_PAGES	1100u
#define VM_MOCK_RW		(VGPU_PTE_READABLE | VGPU_PTE_WRITEABLE)

struct mock_bo {
	struct vgpu_bo bo;
	struct ttm_resource res;
	struct ttm_tt tt;
	dma_addr_t pages[VM_MOCK_BO_PAGES];
};

/**
 * struct vm_mock - an address space on a mock device
 * @vm: address space; tests map BOs in a window of VM_MOCK_WINDOW pages at page VM_MOCK_FIRST
 * @hw: vgpu_device.hw
 * @vmm: vgpu_device.vmm
 * @vdev: mock device; its registers are plain memory
 * @ops: operations of the driver, with replaced functions that allocate and free tables
 * @tables: memory of the page tables
 * @used: bitmap of the tables that are allocated
 * @limit: number of tables that may be allocated
 * @bos: BOs to map
 * @owner: for each page of the window, index of the mapped BO plus 1; VM_MOCK_BOS + 1 for a PRT
 *         page; 0 for a page that is not mapped
 * @at: for each page of the window, number of the page in its BO
 * @rnd: random numbers
 */
struct vm_mock {
	struct vgpu_vm_state vm;
	struct vgpu_hw_state hw;
	struct vgpu_vm_manager vmm;
	struct vgpu_device *vdev;
	struct vgpu_pt_ops ops;
	__le64 (*tables)[VGPU_PT_ENTRIES];
	DECLARE_BITMAP(used, VM_MOCK_TABLES);
	unsigned int limit;
	struct mock_bo *bos;
	u8 owner[VM_MOCK_WINDOW];
	u16 at[VM_MOCK_WINDOW];
	struct rnd_state rnd;
};

/* Create a mock. If @sdma, SDMA packets write page-table entries, otherwise the CPU does. */
struct vm_mock *vm_mock_new(struct kunit *test, bool sdma);
u64 vm_mock_flushes(struct vm_mock *m);
unsigned int vm_mock_tables(struct vm_mock *m);
void vm_mock_trim(struct vm_mock *m);
u64 vm_mock_va(unsigned int i);
u64 vm_mock_bytes(unsigned int n);
void mock_bo_lock(struct mock_bo *b);
void mock_bo_unlock(struct mock_bo *b);
int vm_mock_add(struct vm_mock *m, unsigned int k, unsigned int i,
		unsigned int from, unsigned int n);
int vm_mock_prt(struct vm_mock *m, unsigned int i, unsigned int n);
int vm_mock_clear(struct vm_mock *m, unsigned int i, unsigned int n);
void vm_mock_update(struct vm_mock *m);
void vm_mock_unmap_all(struct vm_mock *m, unsigned int k);
int vm_mock_unmap_va(struct vm_mock *m, unsigned int k, unsigned int i);
void vm_mock_move(struct vm_mock *m, unsigned int k, u32 mem_type);
void vm_mock_move_later(struct vm_mock *m, unsigned int k, u32 mem_type);
void vm_mock_check(struct kunit *test, struct vm_mock *m);

#endif /* VGPU_VM_MOCK_H */
