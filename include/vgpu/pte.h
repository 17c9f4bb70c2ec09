/* SPDX-License-Identifier: MIT */
/*
 * Page-table entries of gfx90a (64-bit, little endian).
 *
 * Facts: Linux amdgpu_vm.h and gmc_v9_0.c. Geometry: 48-bit addresses, root
 * PDB2 -> PDB1 -> PDB0 -> PTB, 512 entries each, 4 KiB pages, each table one
 * 4 KiB page. "translate further" is on: the hardware is told depth 2 and
 * block size 9, PDB1 entries carry block fragment size 9, and PDB0 entries
 * are in PTE format: a 2 MiB leaf is a plain PTE, a pointer to a PTB has TF.
 * Leaves in PDB1 (1 GiB) and PDB2 (512 GiB) have bit 54 (PDE as PTE).
 */
#ifndef VGPU_PTE_H
#define VGPU_PTE_H

#define VGPU_PTE_VALID			(1ull << 0)
#define VGPU_PTE_SYSTEM			(1ull << 1)	/* bus address, else VRAM */
#define VGPU_PTE_SNOOPED		(1ull << 2)
#define VGPU_PTE_TMZ			(1ull << 3)
#define VGPU_PTE_EXECUTABLE		(1ull << 4)
#define VGPU_PTE_READABLE		(1ull << 5)
#define VGPU_PTE_WRITEABLE		(1ull << 6)
#define VGPU_PTE_FRAG			(0x1full << 7)	/* log2 of pages alike */
#define VGPU_PTE_ADDR			0x0000fffffffff000ull
#define VGPU_PTE_PRT			(1ull << 51)
#define VGPU_PDE_PTE			(1ull << 54)	/* leaf above PDB0 */
#define VGPU_PTE_TF			(1ull << 56)	/* PDB0: goes on to a PTB */
#define VGPU_PTE_MTYPE			(3ull << 57)
#define VGPU_MTYPE_NC			0
#define VGPU_MTYPE_RW			1
#define VGPU_MTYPE_CC			2
#define VGPU_MTYPE_UC			3

#define VGPU_PDE_VALID			(1ull << 0)
#define VGPU_PDE_SYSTEM			(1ull << 1)
#define VGPU_PDE_COHERENT		(1ull << 2)
#define VGPU_PDE_ADDR			0x0000ffffffffffc0ull
#define VGPU_PDE_BFS			(0x1full << 59)

/*
 * The entry that turns a retry fault into a no-retry one. A walker that
 * meets it in a context of depth > 0 reports a no-retry fault.
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
/* Bytes of address space per entry of a table at level l, as a shift. */
#define VGPU_LEVEL_SHIFT(l)		(VGPU_PAGE_SHIFT + VGPU_PT_SHIFT * (l))
#define VGPU_VA_BITS			48

#endif /* VGPU_PTE_H */
