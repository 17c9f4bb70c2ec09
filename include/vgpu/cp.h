/* SPDX-License-Identifier: MIT */
/*
 * Registers and interrupts of the command processor's compute side (MEC).
 *
 * Sources: Linux asic_reg/gc/gc_9_4_2_{offset,sh_mask}.h, gfx_v9_0.c,
 * amdgpu_amdkfd_gfx_v9.c, kfd_mqd_manager_v9.c.
 */
#ifndef VGPU_CP_H
#define VGPU_CP_H

/* Segment 0 of GC: dword offset in BAR 5. */
#define GC_BASE				0x2000

#define CP_NUM_MECS			2	/* ME 1 and 2 */
#define CP_NUM_PIPES			4	/* per MEC */
#define CP_NUM_QUEUES			8	/* per pipe */
/* HQD: hardware queue descriptor, the registers of one hardware queue. */
#define CP_NUM_HQDS			(CP_NUM_MECS * CP_NUM_PIPES * CP_NUM_QUEUES)

/*
 * Selects an HQD (ME, pipe, queue) and a VMID for the registers that exist once
 * for each HQD, pipe or VMID.
 */
#define GRBM_GFX_CNTL			(GC_BASE + 0x0022)
#define GRBM_GFX_CNTL__PIPEID			0x00000003u
#define GRBM_GFX_CNTL__MEID			0x0000000cu	/* number of the MEC: 1 or 2 */
#define GRBM_GFX_CNTL__VMID			0x000000f0u
#define GRBM_GFX_CNTL__QUEUEID			0x00000700u

#define CP_MEC_CNTL			(GC_BASE + 0x008d)
#define CP_MEC_CNTL__MEC_ME2_HALT		0x10000000u
#define CP_MEC_CNTL__MEC_ME1_HALT		0x40000000u

/* Registers of the VMID that GRBM_GFX_CNTL selects. */
#define SH_MEM_BASES			(GC_BASE + 0x030a)
#define SH_MEM_CONFIG			(GC_BASE + 0x030d)
#define SH_MEM_CONFIG__RETRY_DISABLE		0x00001000u

/*
 * Waves of VMID n may use the GWS (global wave sync) resources with numbers
 * from BASE to BASE + SIZE - 1.
 */
#define GDS_GWS_VMID0			(GC_BASE + 0x1320)
#define GDS_GWS_VMID(n)			(GDS_GWS_VMID0 + (n))
#define GDS_GWS_VMID__BASE			0x0000003fu
#define GDS_GWS_VMID__SIZE			0x007f0000u
#define GDS_GWS_VMID_RESET			0x00400000u
#define GWS_NUM					64

/*
 * First and last doorbell of the MECs in each 4 KiB page of BAR 2. OFFSET is a
 * byte offset in the page.
 */
#define CP_MEC_DOORBELL_RANGE_LOWER	(GC_BASE + 0x105c)
#define CP_MEC_DOORBELL_RANGE_UPPER	(GC_BASE + 0x105d)
#define CP_MEC_DOORBELL_RANGE__OFFSET		0x0ffffffcu

/*
 * If bit n is written as 1, queue n % 8 of pipe n / 8 of ME 1 reads its write
 * pointer from CP_HQD_PQ_WPTR_POLL_ADDR once.
 */
#define CP_PQ_WPTR_POLL_CNTL1		(GC_BASE + 0x1084)

#define CP_ME1_PIPE0_INT_CNTL		(GC_BASE + 0x1085)
#define CP_PIPE_INT_CNTL(me, pipe)	(CP_ME1_PIPE0_INT_CNTL + 4 * ((me) - 1) + (pipe))
/* Interrupt control of the pipe that GRBM_GFX_CNTL selects. */
#define CPC_INT_CNTL			(GC_BASE + 0x10b4)
#define CP_INT_CNTL__DEQUEUE_REQUEST		0x00002000u
#define CP_INT_CNTL__PRIV_REG			0x00800000u
#define CP_INT_CNTL__OPCODE_ERROR		0x01000000u
#define CP_INT_CNTL__TIME_STAMP			0x04000000u

/*
 * Selects the kernel interface queue (KIQ), which executes MAP_QUEUES and other
 * scheduler packets of the driver.
 */
#define RLC_CP_SCHEDULERS		(0xa000 + 0x4caa)
#define RLC_CP_SCHEDULERS__QUEUE		0x00000007u
#define RLC_CP_SCHEDULERS__PIPE			0x00000018u
#define RLC_CP_SCHEDULERS__ME			0x00000060u
#define RLC_CP_SCHEDULERS__VALID		0x00000080u

/*
 * Registers of the HQD that GRBM_GFX_CNTL selects, as dword offsets from
 * CP_HQD.
 */
#define CP_HQD				(GC_BASE + 0x1245)
#define CP_HQD_SPAN			0x38
#define CP_MQD_BASE_ADDR		0x00
#define CP_MQD_BASE_ADDR_HI		0x01
#define CP_HQD_ACTIVE			0x02
#define CP_HQD_ACTIVE__ACTIVE			0x00000001u
#define CP_HQD_VMID			0x03
#define CP_HQD_VMID__VMID			0x0000000fu
#define CP_HQD_VMID__IB_VMID			0x00000f00u
#define CP_HQD_PERSISTENT_STATE		0x04
#define CP_HQD_QUANTUM			0x07
#define CP_HQD_PQ_BASE			0x08	/* ring address >> 8 */
#define CP_HQD_PQ_BASE_HI		0x09
#define CP_HQD_PQ_RPTR			0x0a	/* in dwords, less than the ring size */
#define CP_HQD_PQ_RPTR_REPORT_ADDR	0x0b
#define CP_HQD_PQ_RPTR_REPORT_ADDR_HI	0x0c
#define CP_HQD_PQ_WPTR_POLL_ADDR	0x0d
#define CP_HQD_PQ_WPTR_POLL_ADDR_HI	0x0e
#define CP_HQD_PQ_DOORBELL_CONTROL	0x0f
#define CP_HQD_PQ_DOORBELL_CONTROL__OFFSET	0x0ffffffcu	/* byte offset in BAR 2 */
#define CP_HQD_PQ_DOORBELL_CONTROL__EN		0x40000000u
#define CP_HQD_PQ_DOORBELL_CONTROL__HIT		0x80000000u
/* There is no register at 0x10. */
#define CP_HQD_PQ_CONTROL		0x11
#define CP_HQD_PQ_CONTROL__QUEUE_SIZE		0x0000003fu	/* log2(dwords of the ring) - 1 */
#define CP_HQD_PQ_CONTROL__NO_UPDATE_RPTR	0x08000000u
#define CP_HQD_PQ_CONTROL__PRIV_STATE		0x40000000u
#define CP_HQD_PQ_CONTROL__KMD_QUEUE		0x80000000u
#define CP_HQD_IB_BASE_ADDR		0x12
#define CP_HQD_IB_BASE_ADDR_HI		0x13
#define CP_HQD_IB_RPTR			0x14	/* offset in the IB, in dwords */
#define CP_HQD_IB_CONTROL		0x15
#define CP_HQD_IB_CONTROL__IB_SIZE		0x000fffffu	/* in dwords */
#define CP_HQD_IB_CONTROL__PROCESSING_IB	0x80000000u
#define CP_HQD_DEQUEUE_REQUEST		0x18
#define CP_HQD_DEQUEUE_REQUEST__REQ		0x00000007u	/* 1: drain, 2: reset the queue */
#define CP_HQD_DEQUEUE_REQUEST__INT		0x00000100u
#define CP_HQD_HQ_STATUS0		0x20
#define CP_MQD_CONTROL			0x22
#define CP_HQD_HQ_STATUS1		0x23
/*
 * The fields of HQ_STATUS1 are specific to the model. The CP sets them when a
 * queue stops, and reads them when the queue starts again.
 */
#define CP_HQD_HQ_STATUS1__PHASE		0x00000003u	/* progress of the AQL packet */
#define CP_HQD_HQ_STATUS1__REPORT		0x40000000u	/* PQ_RPTR not yet written back */
/* If RPTR equals WPTR, the ring is full if FULL is 1, and empty if FULL is 0. */
#define CP_HQD_HQ_STATUS1__FULL			0x80000000u
#define CP_HQD_EOP_BASE_ADDR		0x25
#define CP_HQD_EOP_BASE_ADDR_HI		0x26
#define CP_HQD_EOP_CONTROL		0x27
#define CP_HQD_EOP_RPTR			0x28
#define CP_HQD_EOP_RPTR__INIT_FETCHER		0x80000000u
#define CP_HQD_ERROR			0x33
#define CP_HQD_ERROR__SUA_ERROR			0x00000010u
#define CP_HQD_ERROR__AQL_ERROR			0x00000020u
#define CP_HQD_ERROR__PQ_UTCL1_ERROR		0x00000100u
#define CP_HQD_ERROR__IB_UTCL1_ERROR		0x00000200u
#define CP_HQD_AQL_CONTROL		0x35
#define CP_HQD_AQL_CONTROL__CONTROL0		0x00007fffu	/* if not 0, packets are AQL */
#define CP_HQD_PQ_WPTR_LO		0x36	/* in dwords, not wrapped at the ring's end */
#define CP_HQD_PQ_WPTR_HI		0x37

/*
 * Dword offsets in a queue's image in memory (MQD):
 * - CP_MQD_SH: start of the registers that SET_SH_REG sets
 * - CP_MQD_HQD: start of the HQD registers (CP_HQD)
 */
#define CP_MQD_SH			1
#define CP_MQD_HQD			128
#define CP_MQD_DWORDS			512

/*
 * Interrupts of the CP. For END_OF_PIPE, data0 of the entry is the int_ctxid of
 * the packet.
 */
#define IH_CLIENT_CP			0x14
#define IH_SRC_CP_END_OF_PIPE		181
#define IH_SRC_CP_BAD_OPCODE		183
#define IH_SRC_CP_PRIV_REG		184
#define IH_SRC_CP_ECC			197	/* the queue read poisoned memory */
/* Fields of IH_DW0__RING in an entry of the CP. */
#define IH_RING_CP_PIPE			0x03
#define IH_RING_CP_ME			0x0c
#define IH_RING_CP_QUEUE		0x70
/*
 * Fields of data0 in an entry of BAD_OPCODE or PRIV_REG. DOORBELL is the number
 * of the 64-bit doorbell in the doorbell slice of the process.
 */
#define IH_CP_ERROR__DOORBELL		0x000003ffu
#define IH_CP_ERROR__CODE		0x03fffc00u
/* Values of IH_CP_ERROR__CODE: KFD_EC_QUEUE_PACKET_* of linux/kfd_ioctl.h. */
#define CP_ERROR_PACKET_RESERVED	19
#define CP_ERROR_PACKET_UNSUPPORTED	20
#define CP_ERROR_REGISTER_INVALID	22
#define CP_ERROR_VENDOR_UNSUPPORTED	23

/* Client id of the CPC in VM_L2_PROTECTION_FAULT_STATUS.CID (GFX hub). */
#define VGPU_CID_CPC			5

#endif /* VGPU_CP_H */
