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
 */
struct vm_mock {
	/** @vm: address space; tests map BOs in the VM_MOCK_WINDOW pages from VM_MOCK_FIRST on */
	struct vgpu_vm_state vm;
	/** @hw: vgpu_device.hw */
	struct vgpu_hw_state hw;
	/** @vmm: vgpu_device.vmm */
	struct vgpu_vm_manager vmm;
	/** @vdev: mock device; its registers are plain memory */
	struct vgpu_device *vdev;
	/** @ops: operations of the driver, except that the mock allocates and frees the tables */
	struct vgpu_pt_ops ops;
	/** @tables: memory of the page tables */
	__le64 (*tables)[VGPU_PT_ENTRIES];
	/** @used: bitmap of the tables that are allocated */
	DECLARE_BITMAP(used, VM_MOCK_TABLES);
	/** @limit: number of tables that may be allocated */
	unsigned int limit;
	/** @bos: BOs to map */
	struct mock_bo *bos;
	/**
	 * @owner: for each page of the window, index of the mapped BO plus 1; VM_MOCK_BOS + 1 for a
	 * PRT page; 0 for a page that is not mapped
	 */
	u8 owner[VM_MOCK_WINDOW];
	/** @at: for each page of the window, number of the page in the mapped BO */
	u16 at[VM_MOCK_WINDOW];
	/** @rnd: seeded by vgpu_test_rnd() */
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
