/* SPDX-License-Identifier: MIT */
/*
 * SDMA packets. Dword 0 is the header. In a 64-bit value, the low dword ("lo")
 * comes first.
 *
 * Sources: Linux vega10_sdma_pkt_open.h, sdma_v4_0.c; ROCr for user queues.
 */
#ifndef VGPU_SDMA_PACKETS_H
#define VGPU_SDMA_PACKETS_H

#define SDMA_PKT(op, sub)		((op) | (sub) << 8)
#define SDMA_PKT__OP			0x000000ffu
#define SDMA_PKT__SUB_OP		0x0000ff00u

/* A packet that is not defined here stops the queue (VGPU_SDMA_EXC_PACKET). */
#define SDMA_OP_NOP			0
#define SDMA_OP_COPY			1
#define SDMA_OP_WRITE			2
#define SDMA_OP_INDIRECT		4
#define SDMA_OP_FENCE			5
#define SDMA_OP_TRAP			6
#define SDMA_OP_POLL_REGMEM		8
#define SDMA_OP_COND_EXE		9
#define SDMA_OP_ATOMIC			10
#define SDMA_OP_CONST_FILL		11
#define SDMA_OP_PTEPDE			12
#define SDMA_OP_TIMESTAMP		13
#define SDMA_OP_SRBM_WRITE		14
#define SDMA_OP_PRE_EXE			15

#define SDMA_SUBOP_COPY_LINEAR		0
#define SDMA_SUBOP_COPY_LINEAR_RECT	4	/* called SUB_WIND in Linux */
#define SDMA_SUBOP_WRITE_LINEAR		0
#define SDMA_SUBOP_PTEPDE_GEN		0
#define SDMA_SUBOP_POLL_REGMEM		0
#define SDMA_SUBOP_POLL_REG_WRITE_MEM	1
#define SDMA_SUBOP_TIMESTAMP_SET	0	/* sets the engine's own clock */
#define SDMA_SUBOP_TIMESTAMP_GET	1	/* reads the engine's own clock */
#define SDMA_SUBOP_TIMESTAMP_GET_GLOBAL	2	/* reads the GPU clock */

/* NOP: header, then COUNT dwords that the engine skips. */
#define SDMA_NOP__COUNT			0x3fff0000u

/*
 * COPY_LINEAR: header, bytes - 1, swap, src lo/hi, dst lo/hi and, if BROADCAST
 * is set, dst2 lo/hi.
 */
#define SDMA_COPY_LINEAR_DWORDS		7
#define SDMA_COPY_BROADCAST_DWORDS	9
#define SDMA_COPY_LINEAR__BROADCAST	0x08000000u
#define SDMA_COPY_LINEAR_DW1__COUNT	0x3fffffffu	/* bytes - 1 */

/*
 * COPY_LINEAR_RECT. Sizes and pitches are in elements, stored minus 1.
 *
 *   dword 0   header
 *   1, 2      source: address lo, hi
 *   3         source: x, y of the first element
 *   4         source: z of the first element, pitch
 *   5         source: slice pitch
 *   6 to 10   destination, like 1 to 5
 *   11        rectangle: size in x, y
 *   12        rectangle: size in z
 */
#define SDMA_COPY_RECT_DWORDS		13
#define SDMA_COPY_RECT__ELEMENT		0xe0000000u	/* log2 of the element's bytes, 0 to 4 */
/* Index, in the packet, of the first dword of the source or destination. */
#define SDMA_COPY_RECT_SRC_DW		1
#define SDMA_COPY_RECT_DST_DW		6
/* Fields of dwords 3, 8, 11 (XY), dwords 4, 9, 12 (Z), dwords 5, 10 (SLICE). */
#define SDMA_COPY_RECT_XY__X		0x00003fffu
#define SDMA_COPY_RECT_XY__Y		0x3fff0000u
#define SDMA_COPY_RECT_Z__Z		0x000007ffu
#define SDMA_COPY_RECT_Z__PITCH		0xffffe000u
/* Without effect if the rectangle is in slice 0 only. */
#define SDMA_COPY_RECT_SLICE__PITCH	0x0fffffffu

/* WRITE_LINEAR: header, dst lo/hi, number of data dwords - 1, data. */
#define SDMA_WRITE_LINEAR_DWORDS	4		/* without the data */
#define SDMA_WRITE_LINEAR_DW3__COUNT	0x000fffffu	/* data dwords - 1 */

/*
 * INDIRECT_BUFFER: header (VMID 19:16), base lo/hi, size in dwords, context
 * save area lo/hi.
 */
#define SDMA_INDIRECT_DWORDS		6
#define SDMA_INDIRECT__VMID		0x000f0000u
#define SDMA_INDIRECT_DW3__SIZE		0x000fffffu

/* FENCE: header, address lo/hi, 32-bit data. */
#define SDMA_FENCE_DWORDS		4

/* TRAP: header, int_context. */
#define SDMA_TRAP_DWORDS		2
#define SDMA_TRAP_DW1__CONTEXT		0x0fffffffu

/* POLL_REGMEM: header, address lo/hi, value, mask, interval and retry count. */
#define SDMA_POLL_REGMEM_DWORDS		6
#define SDMA_POLL_REGMEM__HDP_FLUSH	0x04000000u
/* 0: always, 1: <, 2: <=, 3: ==, 4: !=, 5: >=, 6: >. */
#define SDMA_POLL_REGMEM__FUNC		0x70000000u
#define SDMA_POLL_FUNC_ALWAYS		0u
#define SDMA_POLL_FUNC_MAX		6u
#define SDMA_POLL_REGMEM__MEM		0x80000000u	/* 0: address is a register's byte offset */
#define SDMA_POLL_REGMEM_DW5__INTERVAL	0x0000ffffu
#define SDMA_POLL_REGMEM_DW5__RETRY	0x0fff0000u
#define SDMA_POLL_RETRY_FOREVER		0xfffu

/*
 * POLL_REG_WRITE_MEM: header, byte offset of the register in BAR 5, address
 * lo/hi.
 */
#define SDMA_POLL_REG_WRITE_DWORDS	4

/*
 * COND_EXE: header, address lo/hi, reference, number of dwords to skip. The
 * engine skips them if the dword in memory differs from the reference.
 */
#define SDMA_COND_EXE_DWORDS		5
#define SDMA_COND_EXE_DW4__COUNT	0x00003fffu

/* PRE_EXE: header, number of dwords to skip unless DEVICES has bit 0. */
#define SDMA_PRE_EXE_DWORDS		2
#define SDMA_PRE_EXE__DEVICES		0x00ff0000u	/* mask; bit 0 is this device */
#define SDMA_PRE_EXE_DW1__COUNT		0x00003fffu

/* SRBM_WRITE: header, register (dword offset in BAR 5), data. */
#define SDMA_SRBM_WRITE_DWORDS		3
#define SDMA_SRBM_WRITE__BYTE_EN	0xf0000000u
#define SDMA_SRBM_WRITE_DW1__REG	0x0003ffffu

/* ATOMIC: header, address lo/hi, src lo/hi, cmp lo/hi, loop interval. */
#define SDMA_ATOMIC_DWORDS		8
/* CMPSWAP only: repeat until memory equals cmp or LOOP_TIMER has expired. */
#define SDMA_ATOMIC__LOOP		0x00010000u
#define SDMA_ATOMIC__OP			0xfe000000u
#define SDMA_ATOMIC_DW7__INTERVAL	0x00001fffu
/*
 * Values of OP. The operation is on 32 bits or, if OP_64 is set, on 64 bits. If
 * OP_NO_RTN is clear, the old value is stored in SDMA_ATOMIC_PREOP.
 */
#define SDMA_ATOMIC_OP_64		0x20
#define SDMA_ATOMIC_OP_NO_RTN		0x40
#define SDMA_ATOMIC_SWAP		0x07
#define SDMA_ATOMIC_CMPSWAP		0x08
#define SDMA_ATOMIC_ADD			0x0f
#define SDMA_ATOMIC_SUB			0x10
#define SDMA_ATOMIC_SMIN		0x11
#define SDMA_ATOMIC_UMIN		0x12
#define SDMA_ATOMIC_SMAX		0x13
#define SDMA_ATOMIC_UMAX		0x14
#define SDMA_ATOMIC_AND			0x15
#define SDMA_ATOMIC_OR			0x16
#define SDMA_ATOMIC_XOR			0x17
#define SDMA_ATOMIC_INC			0x18	/* old >= src ? 0 : old + 1 */
#define SDMA_ATOMIC_DEC			0x19	/* !old || old > src ? src : old - 1 */
#define SDMA_ATOMIC_ADD64		(SDMA_ATOMIC_ADD | SDMA_ATOMIC_OP_64)

/* CONST_FILL: header, dst lo/hi, data, bytes - 1. */
#define SDMA_CONST_FILL_DWORDS		5
#define SDMA_CONST_FILL__SIZE		0xc0000000u	/* 0 byte, 1 word, 2 dword */
#define SDMA_CONST_FILL_DW4__COUNT	0x3fffffffu

/*
 * PTEPDE GEN: header, dst lo/hi, flags lo/hi, first address lo/hi, increment
 * lo/hi, number of entries - 1. Entry i is
 * flags | (first address + i * increment).
 */
#define SDMA_PTEPDE_DWORDS		10
#define SDMA_PTEPDE_DW9__COUNT		0x0007ffffu

/*
 * TIMESTAMP SET: header, new clock value lo/hi. GET and GET_GLOBAL: header,
 * address lo/hi (8-byte aligned) of the result.
 */
#define SDMA_TIMESTAMP_DWORDS		3

#endif /* VGPU_SDMA_PACKETS_H */
