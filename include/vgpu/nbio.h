/* SPDX-License-Identifier: MIT */
/*
 * Registers of NBIO 7.4 (bus interface) that the model has, including those of
 * the HDP flush.
 *
 * Sources: Linux asic_reg/nbio/nbio_7_4_{offset,sh_mask}.h (segment 2 is at
 * dword 0xd20), and nbio_v7_4.c.
 */
#ifndef VGPU_NBIO_H
#define VGPU_NBIO_H

#define NBIO_BASE			0x0d20

/*
 * Access to VRAM by registers: if APERTURE is set, MM_DATA is the dword of VRAM
 * at offset INDEX_HI << 31 | OFFSET.
 */
#define MM_INDEX			0x0000
#define MM_INDEX__OFFSET				0x7fffffffu
#define MM_INDEX__APERTURE				0x80000000u
#define MM_DATA				0x0001
#define MM_INDEX_HI			0x0006

/*
 * Indirect access to registers: an access to DATA2 accesses the register at
 * byte offset INDEX2 of BAR 5.
 */
#define PCIE_INDEX2			0x000e
#define PCIE_DATA2			0x000f

#define RCC_DOORBELL_APER_EN		(NBIO_BASE + 0x0c0)
#define RCC_DOORBELL_APER_EN__BIF_DOORBELL_APER_EN	0x00000001u

/* VRAM size in MiB; read-only. */
#define RCC_CONFIG_MEMSIZE		(NBIO_BASE + 0x0c3)

#define RCC_IOV_FUNC_IDENTIFIER		(NBIO_BASE + 0x0c5)	/* 0: no SR-IOV */

/* CPU access to VRAM through BAR 0. */
#define BIF_FB_EN			(NBIO_BASE + 0x0ff)
#define BIF_FB_EN__FB_READ_EN		0x00000001u
#define BIF_FB_EN__FB_WRITE_EN		0x00000002u

/*
 * HDP flush. If a bit of REQ is written as 1, the same bit of DONE reads as 1
 * when the flush is done.
 */
#define GPU_HDP_FLUSH_REQ		(NBIO_BASE + 0x106)
#define GPU_HDP_FLUSH_DONE		(NBIO_BASE + 0x107)
#define GPU_HDP_FLUSH__SDMA0		0x00000400u
#define GPU_HDP_FLUSH__SDMA1		0x00000800u

/*
 * Each of these registers holds a byte offset in BAR 5. A write at this offset
 * flushes the HDP. The model treats the two offsets alike.
 */
#define REMAP_HDP_MEM_FLUSH_CNTL	(NBIO_BASE + 0x12d)
#define REMAP_HDP_REG_FLUSH_CNTL	(NBIO_BASE + 0x12e)

/*
 * Each of these registers selects the doorbells of one block by a range of byte
 * offsets in a 4 KiB page. The same range applies to every page of BAR 2.
 */
#define BIF_SDMA0_DOORBELL_RANGE	(NBIO_BASE + 0x1d0)
#define BIF_SDMA1_DOORBELL_RANGE	(NBIO_BASE + 0x1d1)
#define BIF_IH_DOORBELL_RANGE		(NBIO_BASE + 0x1d2)
#define BIF_SDMA2_DOORBELL_RANGE	(NBIO_BASE + 0x1d6)
#define BIF_SDMA3_DOORBELL_RANGE	(NBIO_BASE + 0x1d7)
/* Aldebaran (gfx90a) has this register at offset 0x1d9, Arcturus at 0x1d8. */
#define BIF_SDMA4_DOORBELL_RANGE	(NBIO_BASE + 0x1d9)
#define BIF_SDMA_DOORBELL_RANGE(n)	((n) < 2 ? BIF_SDMA0_DOORBELL_RANGE + (n) : \
					 (n) < 4 ? BIF_SDMA2_DOORBELL_RANGE + (n) - 2 : \
					 BIF_SDMA4_DOORBELL_RANGE)
/* Byte offset of the block's first doorbell in the page. */
#define BIF_DOORBELL_RANGE__OFFSET	0x00000ffcu
/* Number of dwords. 0: no doorbell goes to the block. */
#define BIF_DOORBELL_RANGE__SIZE	0x001f0000u

#endif /* VGPU_NBIO_H */
