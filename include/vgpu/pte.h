/* SPDX-License-Identifier: MIT */
/*
 * Page-table entries of gfx90a: 64-bit, little endian. There are four levels of
 * tables: PDB2 (the root), PDB1, PDB0 and PTB. Each table is one page of 512
 * entries.
 *
 * Sources: Linux amdgpu_vm.h and gmc_v9_0.c.
 */
#ifndef VGPU_PTE_H
#define VGPU_PTE_H

#define VGPU_PTE_VALID			(1ull << 0)
/* 1: ADDR is a bus address; 0: ADDR is in VRAM. */
#define VGPU_PTE_SYSTEM			(1ull << 1)
#define VGPU_PTE_SNOOPED		(1ull << 2)
#define VGPU_PTE_TMZ			(1ull << 3)
#define VGPU_PTE_EXECUTABLE		(1ull << 4)
#define VGPU_PTE_READABLE		(1ull << 5)
#define VGPU_PTE_WRITEABLE		(1ull << 6)
#define VGPU_PTE_FRAG			(0x1full << 7)	/* log2(pages of a fragment) */
#define VGPU_PTE_ADDR			0x0000fffffffff000ull
#define VGPU_PTE_PRT			(1ull << 51)
#define VGPU_PDE_PTE			(1ull << 54)	/* in PDB2, PDB1: the entry is a leaf */
/*
 * TF: translate further. As the driver sets PAGE_TABLE_BLOCK_SIZE to 9, entries
 * of PDB0 have the format of a PTE. Such an entry without TF maps 2^9 pages
 * (2 MiB). An entry with TF points to a PTB.
 */
#define VGPU_PTE_TF			(1ull << 56)
#define VGPU_PTE_MTYPE			(3ull << 57)
#define VGPU_MTYPE_NC			0
#define VGPU_MTYPE_RW			1
#define VGPU_MTYPE_CC			2
#define VGPU_MTYPE_UC			3

#define VGPU_PDE_VALID			(1ull << 0)
#define VGPU_PDE_SYSTEM			(1ull << 1)
#define VGPU_PDE_COHERENT		(1ull << 2)
#define VGPU_PDE_ADDR			0x0000ffffffffffc0ull
#define VGPU_PDE_BFS			(0x1full << 59)	/* block fragment size; 9 in PDB1 */

/*
 * An access through an entry with these bits raises a no-retry fault, except in
 * VMID 0. The driver writes such an entry if it cannot repair a retry fault.
 */
#define VGPU_PTE_NORETRY	(VGPU_PTE_VALID | VGPU_PTE_SYSTEM | VGPU_PTE_PRT)

#define VGPU_PAGE_SHIFT			12
#define VGPU_PAGE_SIZE			(1u << VGPU_PAGE_SHIFT)
#define VGPU_PT_ENTRIES			512
#define VGPU_PT_SHIFT			9
#define VGPU_LEVEL_PDB2			3
#define VGPU_LEVEL_PDB1			2
#define VGPU_LEVEL_PDB0			1
#define VGPU_LEVEL_PTB			0
/* log2 of the bytes that an entry of a table of level l covers. */
#define VGPU_LEVEL_SHIFT(l)		(VGPU_PAGE_SHIFT + VGPU_PT_SHIFT * (l))
#define VGPU_VA_BITS			48

#endif /* VGPU_PTE_H */
