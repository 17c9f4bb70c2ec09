/* SPDX-License-Identifier: MIT */
/*
 * Interrupt handler block: ring registers, format of interrupt entries, client
 * ids and source ids.
 *
 * Sources: Linux asic_reg/oss/osssys_4_2_0_{offset,sh_mask}.h, vega20_ih.c,
 * amdgpu_ih.c, soc15_ih_clientid.h. OSSSYS starts at dword 0x10a0 of BAR 5.
 */
#ifndef VGPU_IH_H
#define VGPU_IH_H

#define OSSSYS_BASE			0x10a0

/* PASID of VMID v of the GFX hub. */
#define IH_VMID_LUT(v)			(OSSSYS_BASE + 0x00 + (v))
/* PASID of VMID v of the MM hub. */
#define IH_VMID_LUT_MM(v)		(OSSSYS_BASE + 0x10 + (v))

#define IH_RB_CNTL			(OSSSYS_BASE + 0x80)
#define IH_RB_CNTL__RB_ENABLE			0x00000001u
#define IH_RB_CNTL__RB_SIZE			0x0000003eu	/* log2(dwords of the ring) */
#define IH_RB_CNTL__RB_GPU_TS_ENABLE		0x00000080u
#define IH_RB_CNTL__WPTR_WRITEBACK_ENABLE	0x00000100u
#define IH_RB_CNTL__RB_FULL_DRAIN_ENABLE	0x00000200u
#define IH_RB_CNTL__WPTR_OVERFLOW_ENABLE	0x00010000u
#define IH_RB_CNTL__ENABLE_INTR			0x00020000u
#define IH_RB_CNTL__MC_SNOOP			0x00100000u
#define IH_RB_CNTL__RPTR_REARM			0x00200000u
#define IH_RB_CNTL__MC_VMID			0x0f000000u
#define IH_RB_CNTL__MC_SPACE			0x70000000u
/*
 * Value of MC_SPACE for a ring in VRAM. With other values, RB_BASE is a bus
 * address.
 */
#define IH_MC_SPACE_FB			4u
#define IH_RB_CNTL__WPTR_OVERFLOW_CLEAR		0x80000000u
#define IH_RB_BASE			(OSSSYS_BASE + 0x81)	/* address >> 8 */
#define IH_RB_BASE_HI			(OSSSYS_BASE + 0x82)
/* Read and write pointer: byte offsets in the ring. */
#define IH_RB_RPTR			(OSSSYS_BASE + 0x83)
#define IH_RB_WPTR			(OSSSYS_BASE + 0x84)
#define IH_RB_WPTR__RB_OVERFLOW			0x00000001u
#define IH_RB_WPTR__OFFSET			0x0003fffcu
/* Bus address to which the device writes a copy of the write pointer. */
#define IH_RB_WPTR_ADDR_HI		(OSSSYS_BASE + 0x85)
#define IH_RB_WPTR_ADDR_LO		(OSSSYS_BASE + 0x86)
#define IH_DOORBELL_RPTR		(OSSSYS_BASE + 0x87)
#define IH_DOORBELL_RPTR__OFFSET		0x03ffffffu	/* dword index in BAR 2 */
#define IH_DOORBELL_RPTR__ENABLE		0x10000000u
#define IH_DOORBELL_RETRY_CAM		(OSSSYS_BASE + 0x88)	/* fields as in IH_DOORBELL_RPTR */
/*
 * Rings 1 and 2 have registers RB_CNTL to RB_WPTR and DOORBELL_RPTR, but no
 * pointer write-back and no ENABLE_INTR. IH_SRC_RING in ring 0 announces their
 * entries.
 */
#define IH_NUM_RINGS			3
/* Offset of a register of ring n from the same register of ring 0. */
#define IH_RING(n)			(0x0c * (n))
#define IH_RETRY_CAM_ACK		(OSSSYS_BASE + 0xa4)	/* a write frees slot INDEX */
#define IH_RETRY_CAM_ACK__INDEX			0x000003ffu
#define IH_CNTL				(OSSSYS_BASE + 0xc0)
#define IH_STATUS			(OSSSYS_BASE + 0xc2)
#define IH_STATUS__IDLE				0x00000001u	/* nothing waits for an IOMMU */
/* This offset is Aldebaran's; other chips have the register elsewhere. */
#define IH_RETRY_INT_CAM_CNTL		(OSSSYS_BASE + 0xea)
#define IH_RETRY_INT_CAM_CNTL__CAM_SIZE		0x0000001fu
#define IH_RETRY_INT_CAM_CNTL__ENABLE		0x00010000u
#define VGPU_RETRY_CAM_SLOTS		16	/* number of slots in the model */
/*
 * These registers select the ring of each client. IH_CLIENT_CFG_INDEX has the
 * number of a client, and IH_CLIENT_CFG_DATA the ring of this client's entries.
 */
#define IH_CLIENT_CFG			(OSSSYS_BASE + 0x184)
#define IH_CLIENT_CFG__TOTAL_CLIENT_NUM		0x0000001fu
#define IH_CLIENT_CFG_INDEX		(OSSSYS_BASE + 0x188)
#define IH_CLIENT_CFG_INDEX__INDEX		0x0000001fu
#define IH_CLIENT_CFG_DATA		(OSSSYS_BASE + 0x189)
#define IH_CLIENT_CFG_DATA__RING_ID		0x00300000u
#define IH_NUM_CLIENTS			32

/* Size and fields of an interrupt entry. DWn: dword n. */
#define IH_ENTRY_DWORDS			8
#define IH_ENTRY_BYTES			32
#define IH_DW0__CLIENT			0x000000ffu
#define IH_DW0__SOURCE			0x0000ff00u
#define IH_DW0__RING			0x00ff0000u
#define IH_DW0__VMID			0x0f000000u
#define IH_DW0__VMID_SRC		0x80000000u	/* 1: VMID of MM hub, 0: of GFX hub */
/* dw1: timestamp 31:0. dw2: timestamp 47:32, and source of the timestamp. */
#define IH_DW2__TIMESTAMP_HI		0x0000ffffu
#define IH_DW2__TIMESTAMP_SRC		0x80000000u
#define IH_DW3__PASID			0x0000ffffu
#define IH_DW3__NODE			0x00ff0000u
/* dw4-dw7: source data 0-3. */

/* Values of IH_DW0__CLIENT. */
#define IH_CLIENT_IH			0x00
#define IH_CLIENT_SDMA0			0x08
#define IH_CLIENT_SDMA1			0x09
#define IH_CLIENT_SDMA2			0x01
#define IH_CLIENT_SDMA3			0x04
#define IH_CLIENT_SDMA4			0x05
#define IH_CLIENT_SDMA(n)		((n) < 2 ? IH_CLIENT_SDMA0 + (n) : \
					 (n) == 2 ? IH_CLIENT_SDMA2 : \
					 IH_CLIENT_SDMA3 + (n) - 3)
#define IH_CLIENT_VMC			0x12	/* VM faults of SDMA (MM hub) */
#define IH_CLIENT_UTCL2			0x1b	/* VM faults of CP (GFX hub) */
/* Values of IH_DW0__SOURCE. */
#define IH_SRC_SDMA_ATOMIC_RTN_DONE	217	/* data0, data1: old value */
#define IH_SRC_SDMA_ATOMIC_TIMEOUT	218	/* CMPSWAP loop timed out; data0: packet header */
#define IH_SRC_SDMA_POLL_TIMEOUT	246	/* POLL_REGMEM timed out; data0: packet header */
#define IH_SRC_SDMA_ECC			220	/* the queue read poisoned memory */
#define IH_SRC_SDMA_TRAP		224	/* data0: int_context */
/*
 * The queue stopped because of a bad packet or an invalid ring. data0: header
 * of the bad packet, or 0. data1: VGPU_SDMA_EXC_* (sdma.h).
 */
#define IH_SRC_SDMA_ILLEGAL		225
#define IH_SRC_VM_FAULT			0
/*
 * The only source of client IH_CLIENT_IH: announces new entries in ring
 * IH_DW0__RING (1 or 2). data0: write pointer of that ring.
 */
#define IH_SRC_RING			0

/*
 * In a VM fault entry, IH_DW0__RING is not a ring number, but has these bits for
 * KFD. KFD reads VALID as "page not present". The model always sets VALID.
 */
#define IH_RING_FAULT_VALID		0x08
#define IH_RING_FAULT_READ		0x10
#define IH_RING_FAULT_WRITE		0x20
/*
 * In a VM fault entry, source data 0 is VA 43:12. IH_FAULT_D1__* are bits of
 * source data 1, IH_FAULT_D2__* bits of source data 2.
 */
#define IH_FAULT_D1__VA_HI		0x0000000fu	/* VA 47:44 */
#define IH_FAULT_D1__WRITE		0x00000020u
#define IH_FAULT_D1__RETRY		0x00000080u
#define IH_FAULT_D2__CAM_INDEX		0x000003ffu
/*
 * Source data 3 of a VM fault entry is unspecified on real chips. In the model
 * it is the low 32 bits of the fault's serial number (VGPU_FAULT_SERIAL).
 */

#endif /* VGPU_IH_H */
