/* SPDX-License-Identifier: MIT */
/*
 * SDMA 4.2.2: registers of the engines and their queues.
 *
 * Sources: Linux asic_reg/sdma0/sdma0_4_2_2_{offset,sh_mask}.h, sdma_v4_0.c,
 * amdgpu_amdkfd_arcturus.c.
 */
#ifndef VGPU_SDMA_H
#define VGPU_SDMA_H

#define SDMA_NUM_ENGINES		5	/* 2 for general use, 3 for XGMI */
#define VGPU_NUM_SDMA			2	/* number of engines with a kernel ring (0 and 1) */
#define SDMA_NUM_RLC			8

/* Dword offset in BAR 5 of the first register of engine n. */
#define SDMA_ENGINE(n)			((n) == 0 ? 0x1260 : (n) == 1 ? 0x1860 : \
					 0x1e000 + 0x400 * ((n) - 2))

/* Offsets of an engine's registers from SDMA_ENGINE(n). */
#define SDMA_POWER_CNTL			0x01a
#define SDMA_CLK_CTRL			0x01b
#define SDMA_CNTL			0x01c
#define SDMA_CNTL__TRAP_ENABLE			0x00000001u
#define SDMA_CNTL__UTC_L1_ENABLE		0x00000002u
#define SDMA_CNTL__AUTO_CTXSW_ENABLE		0x00040000u
#define SDMA_CHICKEN_BITS		0x01d
#define SDMA_GB_ADDR_CONFIG		0x01e
#define SDMA_GB_ADDR_CONFIG_READ	0x01f
#define SDMA_STATUS_REG			0x025
#define SDMA_STATUS_REG__IDLE			0x00000001u
#define SDMA_F32_CNTL			0x02a
#define SDMA_F32_CNTL__HALT			0x00000001u
#define SDMA_F32_CNTL__RESET			0x00000100u
#define SDMA_FREEZE			0x02b
#define SDMA_FREEZE__FREEZE			0x00000010u
#define SDMA_FREEZE__FROZEN			0x00000020u
#define SDMA_PHASE0_QUANTUM		0x02c
#define SDMA_PHASE1_QUANTUM		0x02d
#define SDMA_VERSION			0x035
#define SDMA_ATOMIC_CNTL		0x039
#define SDMA_ATOMIC_CNTL__LOOP_TIMER		0x7fffffffu	/* GPU clocks; 0: no time limit */
#define SDMA_ATOMIC_CNTL__ATOMIC_RTN_INT_ENABLE	0x80000000u
#define SDMA_ATOMIC_PREOP_LO		0x03a	/* old value of the last atomic with return */
#define SDMA_ATOMIC_PREOP_HI		0x03b
#define SDMA_UTCL1_CNTL			0x03c
#define SDMA_UTCL1_WATERMK		0x03d
#define SDMA_UTCL1_TIMEOUT		0x047
#define SDMA_UTCL1_TIMEOUT__RD_XNACK_LIMIT	0x0000ffffu
#define SDMA_UTCL1_TIMEOUT__WR_XNACK_LIMIT	0xffff0000u
#define SDMA_UTCL1_PAGE			0x048
#define SDMA_CHICKEN_BITS_2		0x04b
#define SDMA_PHASE2_QUANTUM		0x04f

/* Offset of the first register of queue q from SDMA_ENGINE(n). */
#define SDMA_QUEUE(q)			(0x080 + 0x58 * (q))
#define SDMA_QUEUE_GFX			0	/* queue of the kernel */
#define SDMA_QUEUE_PAGE			1
#define SDMA_QUEUE_RLC(i)		(2 + (i))	/* user queues */
#define SDMA_NUM_QUEUES			(2 + SDMA_NUM_RLC)

/* Offsets of a queue's registers from SDMA_ENGINE(n) + SDMA_QUEUE(q). */
#define SDMA_RB_CNTL			0x00
#define SDMA_RB_CNTL__RB_ENABLE			0x00000001u
#define SDMA_RB_CNTL__RB_SIZE			0x0000003eu	/* log2(dwords of the ring) */
#define SDMA_RB_CNTL__RPTR_WRITEBACK_ENABLE	0x00001000u
#define SDMA_RB_CNTL__RPTR_WRITEBACK_TIMER	0x001f0000u
#define SDMA_RB_CNTL__RB_PRIV			0x00800000u
#define SDMA_RB_CNTL__RB_VMID			0x0f000000u
#define SDMA_RB_BASE			0x01	/* ring address >> 8 */
#define SDMA_RB_BASE_HI			0x02
#define SDMA_RB_RPTR			0x03	/* bytes, not wrapped at the ring's end */
#define SDMA_RB_RPTR_HI			0x04
#define SDMA_RB_WPTR			0x05
#define SDMA_RB_WPTR_HI			0x06
#define SDMA_RB_WPTR_POLL_CNTL		0x07
#define SDMA_RB_WPTR_POLL_CNTL__ENABLE		0x00000001u
/* GPU address, in the queue's VMID, to which the engine writes rptr. */
#define SDMA_RB_RPTR_ADDR_HI		0x08
#define SDMA_RB_RPTR_ADDR_LO		0x09
#define SDMA_IB_CNTL			0x0a
#define SDMA_IB_CNTL__IB_ENABLE			0x00000001u
#define SDMA_CONTEXT_STATUS		0x11
#define SDMA_CONTEXT_STATUS__SELECTED		0x00000001u
#define SDMA_CONTEXT_STATUS__IDLE		0x00000004u
#define SDMA_CONTEXT_STATUS__EXPIRED		0x00000008u
#define SDMA_CONTEXT_STATUS__EXCEPTION		0x00000070u	/* non-zero: stopped on an error */
#define SDMA_CONTEXT_STATUS__CTXSW_ABLE		0x00000080u
#define SDMA_CONTEXT_STATUS__CTXSW_READY	0x00000100u
#define SDMA_DOORBELL			0x12
#define SDMA_DOORBELL__ENABLE			0x10000000u
#define SDMA_DOORBELL__CAPTURED			0x40000000u
#define SDMA_STATUS			0x28
#define SDMA_DOORBELL_LOG		0x29
#define SDMA_WATERMARK			0x2a
#define SDMA_DOORBELL_OFFSET		0x2b	/* byte offset in BAR 2 */
#define SDMA_DOORBELL_OFFSET__OFFSET		0x0ffffffcu
#define SDMA_CSA_ADDR_LO		0x2c
#define SDMA_CSA_ADDR_HI		0x2d
#define SDMA_DUMMY_REG			0x31
#define SDMA_RB_WPTR_POLL_ADDR_HI	0x32
#define SDMA_RB_WPTR_POLL_ADDR_LO	0x33
/*
 * 1: pointers may be written while the queue is enabled. The model always
 * allows this.
 */
#define SDMA_MINOR_PTR_UPDATE		0x35

/* Values of CONTEXT_STATUS.EXCEPTION that the model uses. */
#define VGPU_SDMA_EXC_NONE		0
#define VGPU_SDMA_EXC_PACKET		1	/* unknown or malformed packet */
#define VGPU_SDMA_EXC_POISON		3	/* the queue read poisoned memory */
/* Invalid ring or pointer, or a fault while packets were fetched. */
#define VGPU_SDMA_EXC_RING		2

/*
 * Dword offsets in a queue's image in memory (MQD). The first SDMA_MQD_REGS
 * dwords hold registers, in the order of their offsets.
 */
#define SDMA_MQD_REGS			32
#define SDMA_MQD_DOORBELL_OFFSET	22
/*
 * Unfinished work of the queue, in the model's own format
 * (qemu-device/sdma/mqd.c). These dwords are reserved in Linux's struct.
 */
#define SDMA_MQD_WORK			42
#define SDMA_MQD_WORK_DWORDS		33
#define SDMA_MQD_DWORDS			(SDMA_MQD_WORK + SDMA_MQD_WORK_DWORDS)

#endif /* VGPU_SDMA_H */
