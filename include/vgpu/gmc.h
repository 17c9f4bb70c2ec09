/* SPDX-License-Identifier: MIT */
/*
 * Registers of the two VM hubs, the GFX hub (GC 9.4.2) and the MM hub
 * (MMHUB 1.7). Both hubs have the same layout.
 *
 * Sources: Linux asic_reg/gc/gc_9_4_2_offset.h, mmhub/mmhub_1_7_offset.h and
 * the sh_mask files of the same names; gmc_v9_0.c, gfxhub_v1_0.c, mmhub_v1_7.c.
 */
#ifndef VGPU_GMC_H
#define VGPU_GMC_H

#define VGPU_HUB_GFX			0	/* translates for compute queues */
#define VGPU_HUB_MM			1	/* translates for SDMA engines */
#define VGPU_NUM_HUBS			2
#define VGPU_NUM_VMIDS			16
#define VGPU_NUM_INV_ENGINES		18

#define HUB_GFX_BASE			(0x02000 + 0x0840)
#define HUB_MM_BASE			(0x1a000 + 0x0b80)
#define HUB_SPAN			0x150	/* dwords that a hub occupies */
#define HUB(h)				((h) == VGPU_HUB_MM ? HUB_MM_BASE : HUB_GFX_BASE)

/* Offsets of registers from HUB(h). */
#define VM_L2_CNTL			0x000
#define VM_L2_CNTL__ENABLE_L2_CACHE			0x00000001u
#define VM_L2_CNTL__ENABLE_L2_FRAGMENT_PROCESSING	0x00000002u
#define VM_L2_CNTL__ENABLE_DEFAULT_PAGE_OUT_TO_SYSTEM_MEMORY 0x00000800u
#define VM_L2_CNTL2			0x001
#define VM_L2_CNTL2__INVALIDATE_ALL_L1_TLBS		0x00000001u
#define VM_L2_CNTL2__INVALIDATE_L2_CACHE		0x00000002u
#define VM_L2_CNTL3			0x002
#define VM_L2_STATUS			0x003

#define VM_L2_PROTECTION_FAULT_CNTL	0x007
#define VM_L2_PROTECTION_FAULT_CNTL__CLEAR_STATUS_ADDR	0x00000001u
#define VM_L2_PROTECTION_FAULT_CNTL__ALLOW_SUBSEQUENT	0x00000002u
/*
 * If bit X_DEFAULT is set, an access with a fault of class X (RANGE, PDE0, ...)
 * goes to the default page. The model redirects only reads.
 */
#define VM_L2_PROTECTION_FAULT_CNTL__RANGE_DEFAULT	0x00000004u
#define VM_L2_PROTECTION_FAULT_CNTL__PDE0_DEFAULT	0x00000008u
#define VM_L2_PROTECTION_FAULT_CNTL__PDE1_DEFAULT	0x00000010u
#define VM_L2_PROTECTION_FAULT_CNTL__PDE2_DEFAULT	0x00000020u
#define VM_L2_PROTECTION_FAULT_CNTL__TF_DEFAULT		0x00000040u
#define VM_L2_PROTECTION_FAULT_CNTL__NACK_DEFAULT	0x00000080u
#define VM_L2_PROTECTION_FAULT_CNTL__DUMMY_DEFAULT	0x00000100u
#define VM_L2_PROTECTION_FAULT_CNTL__VALID_DEFAULT	0x00000200u
#define VM_L2_PROTECTION_FAULT_CNTL__READ_DEFAULT	0x00000400u
#define VM_L2_PROTECTION_FAULT_CNTL__WRITE_DEFAULT	0x00000800u
#define VM_L2_PROTECTION_FAULT_CNTL__EXECUTE_DEFAULT	0x00001000u
#define VM_L2_PROTECTION_FAULT_CNTL__CRASH_ON_NO_RETRY	0x40000000u
#define VM_L2_PROTECTION_FAULT_CNTL__CRASH_ON_RETRY	0x80000000u
#define VM_L2_PROTECTION_FAULT_CNTL2	0x008
#define VM_L2_PROTECTION_FAULT_CNTL2__ENABLE_RETRY_INTERRUPT	0x00080000u
/*
 * Describes the first no-retry fault since the register was cleared.
 * MORE_FAULTS is set if other no-retry faults followed.
 */
#define VM_L2_PROTECTION_FAULT_STATUS	0x00b
#define VM_L2_PROTECTION_FAULT_STATUS__MORE_FAULTS	0x00000001u
#define VM_L2_PROTECTION_FAULT_STATUS__WALKER_ERROR	0x0000000eu
#define VM_L2_PROTECTION_FAULT_STATUS__PERMISSION	0x000000f0u
#define VM_L2_PROTECTION_FAULT_STATUS__MAPPING_ERROR	0x00000100u
#define VM_L2_PROTECTION_FAULT_STATUS__CID		0x0003fe00u
#define VM_L2_PROTECTION_FAULT_STATUS__RW		0x00040000u
#define VM_L2_PROTECTION_FAULT_STATUS__ATOMIC		0x00080000u
#define VM_L2_PROTECTION_FAULT_STATUS__VMID		0x00f00000u
/* Page (VA >> 12) of the fault that STATUS describes. */
#define VM_L2_PROTECTION_FAULT_ADDR_LO32	0x00c
#define VM_L2_PROTECTION_FAULT_ADDR_HI32	0x00d
/* Bus address >> 12 of the default page. */
#define VM_L2_PROTECTION_FAULT_DEFAULT_ADDR_LO32	0x00e
#define VM_L2_PROTECTION_FAULT_DEFAULT_ADDR_HI32	0x00f
#define VM_L2_CNTL4			0x017

/* Values of WALKER_ERROR. */
#define VGPU_WALKER_OK			0
#define VGPU_WALKER_RANGE		1	/* address is not in START to END of the context */
#define VGPU_WALKER_PDE			2	/* a directory entry is invalid or malformed */
#define VGPU_WALKER_TRANSLATE_FURTHER	3	/* not reported by the model */
/* No memory at the address of the page or of its PTB (last-level table). */
#define VGPU_WALKER_NACK		4

/* Values of PERMISSION: the bit that the page-table entry lacks. */
#define VGPU_PERMISSION_VALID		1u
#define VGPU_PERMISSION_READ		2u
#define VGPU_PERMISSION_WRITE		4u
#define VGPU_PERMISSION_EXECUTE		8u

#define VM_CONTEXT_CNTL(v)		(0x040 + (v))
#define VM_CONTEXT_CNTL__ENABLE_CONTEXT			0x00000001u
/*
 * Number of levels below the root, which is PDB2. PTBs do not count, so the
 * driver writes 2, for PDB1 and PDB0. The model ignores this field.
 */
#define VM_CONTEXT_CNTL__PAGE_TABLE_DEPTH		0x00000006u
/* The driver writes 9 to this field. For the effect see VGPU_PTE_TF (pte.h). */
#define VM_CONTEXT_CNTL__PAGE_TABLE_BLOCK_SIZE		0x00000078u
#define VM_CONTEXT_CNTL__RETRY_PERMISSION_OR_INVALID	0x00000080u
#define VM_CONTEXT_CNTL__RETRY_OTHER			0x00000100u
#define VM_CONTEXT_CNTL__RANGE_INTERRUPT		0x00000200u
/*
 * Bits *_DEFAULT: a read with a fault of class X (RANGE, PDE0, ...) gets the
 * default page only if X_DEFAULT is set here and in
 * VM_L2_PROTECTION_FAULT_CNTL.
 */
#define VM_CONTEXT_CNTL__RANGE_DEFAULT			0x00000400u
#define VM_CONTEXT_CNTL__DUMMY_INTERRUPT		0x00000800u
#define VM_CONTEXT_CNTL__DUMMY_DEFAULT			0x00001000u
#define VM_CONTEXT_CNTL__PDE0_INTERRUPT			0x00002000u
#define VM_CONTEXT_CNTL__PDE0_DEFAULT			0x00004000u
#define VM_CONTEXT_CNTL__VALID_INTERRUPT		0x00008000u
#define VM_CONTEXT_CNTL__VALID_DEFAULT			0x00010000u
#define VM_CONTEXT_CNTL__READ_INTERRUPT			0x00020000u
#define VM_CONTEXT_CNTL__READ_DEFAULT			0x00040000u
#define VM_CONTEXT_CNTL__WRITE_INTERRUPT		0x00080000u
#define VM_CONTEXT_CNTL__WRITE_DEFAULT			0x00100000u
#define VM_CONTEXT_CNTL__EXECUTE_INTERRUPT		0x00200000u
#define VM_CONTEXT_CNTL__EXECUTE_DEFAULT		0x00400000u
#define VM_CONTEXT_CNTL__ALL_INTERRUPTS			0x002aaa00u
#define VM_CONTEXT_CNTL__ALL_DEFAULTS			0x00555400u

#define VM_CONTEXTS_DISABLE		0x050	/* bit n disables context n */
#define VM_INVALIDATE_ENG_SEM(e)	(0x051 + (e))

/*
 * A write drops the translations of the addresses in ADDR_RANGE of engine e,
 * for the VMIDs with a bit in PER_VMID.
 */
#define VM_INVALIDATE_ENG_REQ(e)	(0x063 + (e))
#define VM_INVALIDATE_ENG_REQ__PER_VMID			0x0000ffffu
#define VM_INVALIDATE_ENG_REQ__FLUSH_TYPE		0x00030000u	/* 0: legacy, 2: heavy */
#define VM_INVALIDATE_ENG_REQ__L2_PTES			0x00040000u
#define VM_INVALIDATE_ENG_REQ__L2_PDE0			0x00080000u
#define VM_INVALIDATE_ENG_REQ__L2_PDE1			0x00100000u
#define VM_INVALIDATE_ENG_REQ__L2_PDE2			0x00200000u
#define VM_INVALIDATE_ENG_REQ__L1_PTES			0x00400000u
#define VM_INVALIDATE_ENG_REQ__CLEAR_FAULT		0x00800000u
/*
 * ACK has one bit for each VMID. A write to REQ clears the ACK bits of the
 * VMIDs that the write selects. ACK bit n is set when no access uses a dropped
 * translation of VMID n any more.
 */
#define VM_INVALIDATE_ENG_ACK(e)	(0x075 + (e))
#define VM_INVALIDATE_ENG_ACK__PER_VMID			0x0000ffffu
/*
 * The pages to invalidate, in the format of PCIe ATS:
 * - S clear: page PAGE
 * - S set, n lowest bits of PAGE are ones, bit n is 0: a block of 2 << n pages,
 *   aligned to its size, that contains PAGE
 * - all bits set: all pages
 */
#define VM_INVALIDATE_ENG_ADDR_RANGE__S			0x0000000001ull	/* bit 0 of HI32:LO32 */
#define VM_INVALIDATE_ENG_ADDR_RANGE__PAGE		0x1ffffffffeull	/* VA >> 12 */
#define VM_INVALIDATE_ENG_ADDR_RANGE_LO32(e)	(0x087 + 2 * (e))
#define VM_INVALIDATE_ENG_ADDR_RANGE_HI32(e)	(0x088 + 2 * (e))

/*
 * Address of the root directory, on the bus or in VRAM, with flags VGPU_PDE_*.
 */
#define VM_CONTEXT_PAGE_TABLE_BASE_ADDR_LO32(v)	(0x0ab + 2 * (v))
#define VM_CONTEXT_PAGE_TABLE_BASE_ADDR_HI32(v)	(0x0ac + 2 * (v))
/* First and last page (VA >> 12) that the context translates. */
#define VM_CONTEXT_PAGE_TABLE_START_ADDR_LO32(v) (0x0cb + 2 * (v))
#define VM_CONTEXT_PAGE_TABLE_START_ADDR_HI32(v) (0x0cc + 2 * (v))
#define VM_CONTEXT_PAGE_TABLE_END_ADDR_LO32(v)	(0x0eb + 2 * (v))
#define VM_CONTEXT_PAGE_TABLE_END_ADDR_HI32(v)	(0x0ec + 2 * (v))

/*
 * The hub subtracts an offset from VRAM addresses in PTEs and PDEs. The register
 * holds this offset >> 24.
 */
#define MC_VM_FB_OFFSET			0x12b
#define MC_VM_SYSTEM_APERTURE_DEFAULT_ADDR_LSB	0x12c	/* address 43:12 */
#define MC_VM_SYSTEM_APERTURE_DEFAULT_ADDR_MSB	0x12d	/* address 47:44 */
#define MC_VM_XGMI_LFB_CNTL		0x138
#define MC_VM_XGMI_LFB_CNTL__PF_LFB_REGION	0x0000000fu	/* number of this node */
#define MC_VM_XGMI_LFB_CNTL__PF_MAX_REGION	0x000000f0u	/* number of the last node */
#define MC_VM_XGMI_LFB_SIZE		0x139	/* (bytes per node of the hive) >> 24 */
#define MC_VM_FB_LOCATION_BASE		0x140	/* first address >> 24 */
#define MC_VM_FB_LOCATION_TOP		0x141	/* last address >> 24 */
#define MC_VM_AGP_TOP			0x142	/* last address >> 24 */
#define MC_VM_AGP_BOT			0x143	/* first address >> 24 */
/* Bus address >> 24 to which AGP_BOT is mapped. */
#define MC_VM_AGP_BASE			0x144
#define MC_VM_SYSTEM_APERTURE_LOW_ADDR	0x145	/* first address >> 18 */
#define MC_VM_SYSTEM_APERTURE_HIGH_ADDR	0x146	/* last address >> 18 */
#define MC_VM_MX_L1_TLB_CNTL		0x147
#define MC_VM_MX_L1_TLB_CNTL__ENABLE_L1_TLB		0x00000001u
/*
 * With SYSTEM_ACCESS_MODE 3, accesses to addresses in an aperture bypass the
 * page tables; accesses to other addresses use them.
 */
#define MC_VM_MX_L1_TLB_CNTL__SYSTEM_ACCESS_MODE	0x00000018u
#define MC_VM_MX_L1_TLB_CNTL__ENABLE_ADVANCED_DRIVER_MODEL 0x00000040u

/*
 * PASID of each VMID (ATHUB 1.0, base 0xc20). A write to MAPPING(v) sets bit v
 * of UPDATE_STATUS.
 */
#define ATHUB_BASE			0x0c20
#define ATC_VMID_PASID_MAPPING_UPDATE_STATUS	(ATHUB_BASE + 0x00b)
/* v: VMID for the GFX hub, 16 + VMID for the MM hub. */
#define ATC_VMID_PASID_MAPPING(v)	(ATHUB_BASE + 0x00c + (v))
#define ATC_VMID_PASID_MAPPING__PASID			0x0000ffffu
#define ATC_VMID_PASID_MAPPING__VALID			0x80000000u

/*
 * GPU clock (RLC), 100 MHz. Write 1 to CAPTURE, then read the captured clock
 * from LSB and MSB.
 */
#define RLC_GPU_CLOCK_COUNT_LSB		(0xa000 + 0x4c24)
#define RLC_GPU_CLOCK_COUNT_MSB		(0xa000 + 0x4c25)
#define RLC_CAPTURE_GPU_CLOCK_COUNT	(0xa000 + 0x4c26)
#define VGPU_CLOCK_HZ			100000000u

#define GB_ADDR_CONFIG			(0x2000 + 0x063e)	/* read-only */

/* Client id of SDMA engine n in VM_L2_PROTECTION_FAULT_STATUS.CID (MM hub). */
#define VGPU_CID_SDMA(n)		(0x80 + (n))

#endif /* VGPU_GMC_H */
