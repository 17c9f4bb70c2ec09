/* SPDX-License-Identifier: MIT */
/*
 * AQL packets (64 bytes): HSA's packets for user-mode queues, and AMD's vendor
 * packets. Positions in a packet are dword offsets.
 *
 * Sources: HSA Platform System Architecture Specification 1.2, sections 2.8 and
 * 2.9; ROCr hsa.h, hsa_ext_amd.h, amd_hsa_signal.h.
 */
#ifndef VGPU_AQL_H
#define VGPU_AQL_H

#define AQL_PACKET_DWORDS		16

#define AQL_DW0__TYPE			0x000000ffu
#define AQL_DW0__BARRIER		0x00000100u
#define AQL_DW0__ACQUIRE		0x00000600u
#define AQL_DW0__RELEASE		0x00001800u
#define AQL_DW0__HEADER			0x0000ffffu
#define AQL_DW0__AMD_FORMAT		0x00ff0000u	/* if TYPE is AQL_VENDOR: AQL_AMD_* */

#define AQL_VENDOR			0
#define AQL_INVALID			1
#define AQL_KERNEL_DISPATCH		2
#define AQL_BARRIER_AND			3
#define AQL_AGENT_DISPATCH		4
#define AQL_BARRIER_OR			5

#define AQL_AMD_PM4_IB			1
#define AQL_AMD_BARRIER_VALUE		2

/* Dword offset of the address of the completion signal. Address 0: no signal. */
#define AQL_COMPLETION_SIGNAL		14

/* Number of signals in a BARRIER_AND or BARRIER_OR packet. */
#define AQL_BARRIER_SIGNALS		5
/* Dword offset of the address of signal i in BARRIER_AND and BARRIER_OR. */
#define AQL_BARRIER_SIGNAL(i)		(2 + 2 * (i))

/*
 * Dword offsets in BARRIER_VALUE. The packet waits until this comparison is
 * true: ((value of the signal at address SIGNAL) & MASK) COND VALUE.
 */
#define AQL_VALUE_SIGNAL		2
#define AQL_VALUE_VALUE			4
#define AQL_VALUE_MASK			6
/* Signed comparison. 0: ==, 1: !=, 2: <, 3: >=. */
#define AQL_VALUE_COND			8

/* AQL_AMD_PM4_IB: dword offset of the INDIRECT_BUFFER packet in the AQL packet. */
#define AQL_PM4_IB_PACKET		1

/* Byte offsets in a signal (amd_signal_t of ROCr's amd_hsa_signal.h). */
#define AMD_SIGNAL_VALUE		8
#define AMD_SIGNAL_EVENT_MAILBOX_PTR	16
#define AMD_SIGNAL_EVENT_ID		24

#endif /* VGPU_AQL_H */
