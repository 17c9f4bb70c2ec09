/* SPDX-License-Identifier: MIT */
/*
 * SDMA packets. Dword 0 is the header: opcode 7:0, sub-opcode 15:8, the rest
 * by packet. Addresses are low dword first.
 *
 * Facts: Linux vega10_sdma_pkt_open.h, sdma_v4_0.c; ROCr for the user-mode
 * uses. What is not listed here stops the queue with VGPU_SDMA_EXC_PACKET.
 */
#ifndef VGPU_SDMA_PACKETS_H
#define VGPU_SDMA_PACKETS_H

#define SDMA_PKT(op, sub)		((op) | (sub) << 8)
#define SDMA_PKT__OP			0x000000ffu
#define SDMA_PKT__SUB_OP		0x0000ff00u

#define SDMA_OP_NOP			0
#define SDMA_OP_COPY			1
#define SDMA_OP_WRITE			2
#define SDMA_OP_INDIRECT		4
#define SDMA_OP_FENCE			5
#define SDMA_OP_TRAP			6
#define SDMA_OP_POLL_REGMEM		8
#define SDMA_OP_ATOMIC			10
#define SDMA_OP_CONST_FILL		11
#define SDMA_OP_PTEPDE			12
#define SDMA_OP_TIMESTAMP		13

#define SDMA_SUBOP_COPY_LINEAR		0
#define SDMA_SUBOP_WRITE_LINEAR		0
#define SDMA_SUBOP_PTEPDE_GEN		0
#define SDMA_SUBOP_TIMESTAMP_GET_GLOBAL	2

/* NOP: header only, or COUNT dwords of payload that are skipped. */
#define SDMA_NOP__COUNT			0x3fff0000u

/* COPY_LINEAR: header, bytes-1, swap, src lo/hi, dst lo/hi. */
#define SDMA_COPY_LINEAR_DWORDS		7
#define SDMA_COPY_LINEAR__BROADCAST	0x08000000u	/* 9 dwords; not modelled yet */
#define SDMA_COPY_LINEAR_DW1__COUNT	0x3fffffffu	/* bytes - 1 */

/* WRITE_LINEAR: header, dst lo/hi, count-1, data... */
#define SDMA_WRITE_LINEAR_DWORDS	4		/* without data */
#define SDMA_WRITE_LINEAR_DW3__COUNT	0x000fffffu	/* dwords - 1 */

/* INDIRECT_BUFFER: header (VMID 19:16), base lo/hi, size in dwords, csa lo/hi. */
#define SDMA_INDIRECT_DWORDS		6
#define SDMA_INDIRECT__VMID		0x000f0000u
#define SDMA_INDIRECT_DW3__SIZE		0x000fffffu

/* FENCE: header, address lo/hi, 32-bit data. */
#define SDMA_FENCE_DWORDS		4

/* TRAP: header, int_context. */
#define SDMA_TRAP_DWORDS		2
#define SDMA_TRAP_DW1__CONTEXT		0x0fffffffu

/* POLL_REGMEM: header, address lo/hi, value, mask, interval + retry count. */
#define SDMA_POLL_REGMEM_DWORDS		6
#define SDMA_POLL_REGMEM__HDP_FLUSH	0x04000000u
#define SDMA_POLL_REGMEM__FUNC		0x70000000u	/* 0 always, 1 <, 2 <=, 3 ==, 4 !=, 5 >=, 6 > */
#define SDMA_POLL_REGMEM__MEM		0x80000000u	/* else a register, byte address */
#define SDMA_POLL_REGMEM_DW5__INTERVAL	0x0000ffffu
#define SDMA_POLL_REGMEM_DW5__RETRY	0x0fff0000u	/* 0xfff: for ever */

/* ATOMIC: header, address lo/hi, src lo/hi, cmp lo/hi, loop interval. */
#define SDMA_ATOMIC_DWORDS		8
#define SDMA_ATOMIC__LOOP		0x00010000u
#define SDMA_ATOMIC__OP			0xfe000000u
#define SDMA_ATOMIC_ADD64		47

/* CONST_FILL: header, dst lo/hi, data, bytes-1. */
#define SDMA_CONST_FILL_DWORDS		5
#define SDMA_CONST_FILL__SIZE		0xc0000000u	/* 0 byte, 2 dword */
#define SDMA_CONST_FILL_DW4__COUNT	0x3fffffffu	/* bytes - 1 */

/*
 * PTEPDE GEN: header, dst lo/hi, flags lo/hi, first address lo/hi,
 * increment lo/hi, count-1. Writes flags | (address + i * increment).
 */
#define SDMA_PTEPDE_DWORDS		10
#define SDMA_PTEPDE_DW9__COUNT		0x0007ffffu

/* TIMESTAMP GET_GLOBAL: header, address lo/hi (8-byte aligned), 64-bit. */
#define SDMA_TIMESTAMP_DWORDS		3

#endif /* VGPU_SDMA_PACKETS_H */
