/* SPDX-License-Identifier: MIT */
/*
 * PM4 packets (type 3) of the compute queues. DWn is dword n of a packet.
 * "COPY_DATA: header, ..." lists the contents of a packet in order. Addresses
 * and 64-bit values take two dwords, the low one first.
 *
 * Sources: Linux soc15d.h, kfd_pm4_headers_ai.h, gfx_v9_0.c.
 */
#ifndef VGPU_PM4_H
#define VGPU_PM4_H

/* Type 3: the packets below. Type 2: a packet of one dword without effect. */
#define PM4_HDR__TYPE			0xc0000000u
#define PM4_HDR__COUNT			0x3fff0000u	/* dwords after the header, minus 1 */
#define PM4_HDR__OPCODE			0x0000ff00u
#define PM4_HDR__SHADER_TYPE		0x00000002u	/* 1: compute */
#define PM4_HEADER(op, dwords)		(0xc0000000u | ((dwords) - 2u) << 16 | \
					 (op) << 8 | PM4_HDR__SHADER_TYPE)
#define PM4_COUNT_HEADER_ONLY		0x3fff		/* COUNT of a NOP of one dword */

#define PM4_NOP				0x10
#define PM4_DISPATCH_DIRECT		0x15
#define PM4_DISPATCH_INDIRECT		0x16
#define PM4_WRITE_DATA			0x37
#define PM4_WAIT_REG_MEM		0x3c
#define PM4_INDIRECT_BUFFER		0x3f
#define PM4_COPY_DATA			0x40
#define PM4_EVENT_WRITE			0x46
#define PM4_RELEASE_MEM			0x49
#define PM4_ACQUIRE_MEM			0x58
#define PM4_SET_SH_REG			0x76
#define PM4_INVALIDATE_TLBS		0x98
#define PM4_SET_RESOURCES		0xa0
#define PM4_MAP_PROCESS			0xa1
#define PM4_MAP_QUEUES			0xa2
#define PM4_UNMAP_QUEUES		0xa3
#define PM4_QUERY_STATUS		0xa4
#define PM4_RUN_LIST			0xa5

/*
 * WRITE_DATA: header, control, address (for a register: dword offset in BAR 5),
 * data.
 */
#define PM4_WRITE_DATA_DW1__DST_SEL	0x00000f00u
#define PM4_WRITE_DATA_DW1__ONE_ADDR	0x00010000u
#define PM4_WRITE_DATA_DW1__CONFIRM	0x00100000u

/* Values of DST_SEL of WRITE_DATA and COPY_DATA. */
#define PM4_DST_REG			0
#define PM4_DST_MEM_SYNC		1
#define PM4_DST_L2			2
#define PM4_DST_MEM			5

/* COPY_DATA: header, control, source, destination. */
#define PM4_COPY_DATA_DW1__SRC_SEL	0x0000000fu
#define PM4_COPY_DATA_DW1__DST_SEL	0x00000f00u
#define PM4_COPY_DATA_DW1__COUNT_64	0x00010000u
#define PM4_COPY_DATA_DW1__CONFIRM	0x00100000u
#define PM4_SRC_REG			0
#define PM4_SRC_MEM			1
#define PM4_SRC_L2			2
#define PM4_SRC_IMMEDIATE		5
#define PM4_SRC_CLOCK			9

/*
 * WAIT_REG_MEM: header, control, address, reference, mask, interval.
 * Values 0 to 6 of FUNCTION: always, <, <=, ==, !=, >=, >.
 */
#define PM4_WAIT_DW1__FUNCTION		0x00000007u
#define PM4_WAIT_DW1__MEM_SPACE		0x00000010u
/*
 * Values of OPERATION:
 * - 0: poll memory at the address in dwords 2 and 3, or the register that dword
 *   2 selects
 * - 1: write the reference to the register that dword 2 selects, then poll the
 *   register that dword 3 selects
 * These dwords select a register by the dword offset in BAR 5.
 */
#define PM4_WAIT_DW1__OPERATION		0x000000c0u

/* INDIRECT_BUFFER: header, base, control. */
#define PM4_IB_DW1__BASE_LO		0xfffffffcu
#define PM4_IB_DW2__BASE_HI		0x0000ffffu
#define PM4_IB_DW3__SIZE		0x000fffffu	/* length in dwords */
#define PM4_IB_DW3__CHAIN		0x00100000u
#define PM4_IB_DW3__VALID		0x00800000u
#define PM4_IB_DW3__VMID		0x0f000000u	/* used only in queues of VMID 0 */

/* EVENT_WRITE: header, event. */
#define PM4_EVENT__TYPE			0x0000003fu
#define PM4_EVENT__INDEX		0x00000f00u

/* RELEASE_MEM: header, event, selections, address, data, int_ctxid. */
#define PM4_RELEASE_DW2__DST_SEL	0x00030000u	/* 0, 1: memory; the model rejects 2, 3 */
#define PM4_RELEASE_DW2__INT_SEL	0x07000000u
#define PM4_RELEASE_DW2__DATA_SEL	0xe0000000u
#define PM4_DATA_NONE			0
#define PM4_DATA_32			1
#define PM4_DATA_64			2
#define PM4_DATA_GPU_CLOCK		3
#define PM4_DATA_SYS_CLOCK		4
#define PM4_DATA_GDS			5
#define PM4_INT_NONE			0
#define PM4_INT_ONLY			1
#define PM4_INT_AFTER_WRITE		2
#define PM4_INT_DATA_AFTER_WRITE	3	/* the model raises no interrupt */
#define PM4_INT_ALWAYS			4
#define PM4_INT_IF_32			5	/* interrupt if memory equals the data */
#define PM4_INT_IF_64			6

/*
 * SET_SH_REG: header, offset, values. The offset is the first register minus
 * PM4_SH_REG_FIRST.
 */
#define PM4_SH_REG_FIRST		0x2c00
#define PM4_SH_COMPUTE_FIRST		0x2e00	/* COMPUTE_DISPATCH_INITIATOR */
#define PM4_SH_COMPUTE_COUNT		0x50	/* up to COMPUTE_USER_DATA_15 */

/*
 * Only the KIQ and the HIQ execute the packets below. MAP_PROCESS occurs only
 * in run lists.
 */

/*
 * MAP_QUEUES: header, control, byte offset of the doorbell in BAR 2, address of
 * the MQD, address of the write pointer.
 */
#define PM4_MAP_QUEUES_DWORDS		7
/* 1: ENGINE_SEL is the number of an SDMA engine. */
#define PM4_MAP_DW1__EXT_ENGINE_SEL	0x0000000cu
/* 0: the HQD that QUEUE, PIPE and ME select; 1: any free HQD. */
#define PM4_MAP_DW1__QUEUE_SEL		0x00000030u
#define PM4_MAP_DW1__GWS_CONTROL		0x00001000u	/* waves of the queue use GWS */
#define PM4_MAP_DW1__QUEUE		0x0000e000u
#define PM4_MAP_DW1__PIPE		0x00030000u
#define PM4_MAP_DW1__ME			0x00040000u	/* 0: ME 1; 1: ME 2 */
/* 2 or 3: the queue is static, so PM4_SEL_NON_STATIC does not unmap it. */
#define PM4_MAP_DW1__QUEUE_TYPE		0x00e00000u
#define PM4_MAP_DW1__ENGINE_SEL		0x1c000000u
#define PM4_MAP_DW1__NUM_QUEUES		0xe0000000u	/* must be 1 */
#define PM4_ENGINE_COMPUTE		0
#define PM4_ENGINE_HIQ			1
#define PM4_ENGINE_SDMA0		2
#define PM4_ENGINE_SDMA1		3

/*
 * UNMAP_QUEUES: header, control, four dwords. Only PM4_SEL_DOORBELLS and
 * PM4_SEL_PASID use the four dwords.
 */
#define PM4_UNMAP_DW1__ACTION		0x00000003u
#define PM4_UNMAP_DW1__QUEUE_SEL	0x00000030u
#define PM4_UNMAP_DW1__NUM_QUEUES	0xe0000000u
#define PM4_UNMAP_PREEMPT		0
#define PM4_UNMAP_RESET			1	/* the queue is not saved to its MQD */
/*
 * Value of QUEUE_SEL: unmap up to four queues. The four dwords at the end of
 * the packet are the byte offsets of the doorbells of these queues.
 */
#define PM4_SEL_DOORBELLS		0
/*
 * Value of QUEUE_SEL: unmap the queues of one PASID, which is the first of the
 * four dwords.
 */
#define PM4_SEL_PASID			1
#define PM4_SEL_ALL			2
#define PM4_SEL_NON_STATIC		3

/*
 * QUERY_STATUS: header, control, queue (not used by the model), address, 64-bit
 * data.
 */
#define PM4_QUERY_DW1__CONTEXT_ID	0x0fffffffu
#define PM4_QUERY_DW1__COMMAND		0xc0000000u
#define PM4_QUERY_INTERRUPT_ONLY	0
#define PM4_QUERY_FENCE			1
#define PM4_QUERY_FENCE_ACK		2
#define PM4_QUERY_FENCE_INTERRUPT	3

/* INVALIDATE_TLBS: header, control (PASID to invalidate, and hubs). */
#define PM4_INVALIDATE_DW1__ALL_HUB	0x00000010u	/* 1: both hubs, 0: only the GFX hub */
#define PM4_INVALIDATE_DW1__PASID	0x001fffe0u
#define PM4_INVALIDATE_DW1__FLUSH_TYPE	0x60000000u

/*
 * SET_RESOURCES: header, control, 64-bit mask of HQDs that run lists may use,
 * 64-bit mask of GWS resources, unused dwords.
 */
#define PM4_RESOURCES_DW1__VMID_MASK	0x0000ffffu

/*
 * RUN_LIST: header, address of the list, control. The list consists of
 * MAP_PROCESS, MAP_QUEUES and NOP packets, and may end with RUN_LIST.
 */
#define PM4_RUN_LIST_DWORDS		4
#define PM4_RUN_DW1__BASE_LO		0xfffffffcu
#define PM4_RUN_DW3__SIZE		0x000fffffu	/* length in dwords */
/*
 * 1: the packet is in a run list, and the CP continues with the list at BASE.
 * 0: the packet is in a ring, and the CP starts the list at BASE.
 */
#define PM4_RUN_DW3__CHAIN		0x00100000u
#define PM4_RUN_DW3__VALID		0x00800000u
/* Maximum number of processes that are mapped at a time; 0: no limit. */
#define PM4_RUN_DW3__PROCESS_CNT	0x0f000000u

/*
 * MAP_PROCESS in the layout of gfx90a: header, control, page table base,
 * SH_MEM_BASES and SH_MEM_CONFIG, then fields for shaders, GDS and debuggers.
 */
#define PM4_MAP_PROCESS_DWORDS		21
#define PM4_PROCESS_DW1__PASID		0x0000ffffu
#define PM4_PROCESS_DW1__QUANTUM	0xfe000000u	/* time slice in ms */
#define PM4_PROCESS_DW13__NUM_GWS	0x0000007fu

#endif /* VGPU_PM4_H */
