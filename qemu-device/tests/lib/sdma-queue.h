/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Test-side driver of vgpu-kfd: sets up SDMA queues and emits packets. */
#ifndef VGPU_TEST_SDMA_QUEUE_H
#define VGPU_TEST_SDMA_QUEUE_H

#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"

/*
 * An SDMA queue. Tests may change fields after qvgpu_sdma_init() and before
 * qvgpu_sdma_load().
 */
typedef struct QVGPUSdma {
    QVGPU *v;
    QVGPUSpace *space;          /* NULL for VMID 0 */
    unsigned engine;
    unsigned index;
    uint32_t cntl;              /* RB_CNTL without RB_ENABLE */
    uint64_t ring;              /* CPU address of the ring */
    uint64_t ring_va;           /* GPU address of the ring */
    uint64_t bytes;             /* ring size, a power of two */
    /* CPU address to which the device reports rptr */
    uint64_t rptr;
    uint64_t rptr_va;
    uint64_t wptr;              /* bytes emitted so far */
    /*
     * Byte offset in BAR 2, or 0 if the queue has no doorbell. Without a
     * doorbell, qvgpu_sdma_kick() writes wptr to a register.
     */
    uint32_t doorbell;
} QVGPUSdma;

/*
 * Initialise @q with a ring of 4 KiB in guest RAM. Does not write the queue's
 * registers.
 */
void qvgpu_sdma_init(QVGPUSdma *q, QVGPU *v, unsigned engine,
                     unsigned index, QVGPUSpace *s);
/*
 * As qvgpu_sdma_init(), with a ring of @bytes, a power of two, in memory of
 * @kind.
 */
void qvgpu_sdma_init_ring(QVGPUSdma *q, QVGPU *v, unsigned engine,
                          unsigned index, QVGPUSpace *s, QVGPUKind kind,
                          uint64_t bytes);
/* As qvgpu_sdma_init() followed by qvgpu_sdma_load(). */
void qvgpu_sdma_open(QVGPUSdma *q, QVGPU *v, unsigned engine,
                     unsigned index, QVGPUSpace *s);
/*
 * Initialise and load a queue that uses no guest RAM: the ring of @bytes is in
 * VRAM, and the device does not report the queue's read pointer.
 */
void qvgpu_sdma_open_vram(QVGPUSdma *q, QVGPU *v, unsigned engine,
                          unsigned index, QVGPUSpace *s, uint64_t bytes);
/* Program and enable the queue; rptr and wptr start at q->wptr. */
void qvgpu_sdma_load(QVGPUSdma *q);
/* Disable the queue and wait until it is idle. */
void qvgpu_sdma_disable(QVGPUSdma *q);
void qvgpu_sdma_enable(QVGPUSdma *q);
/*
 * Access a register of the queue, by its offset from the queue's first
 * register.
 */
uint32_t qvgpu_sdma_rd(QVGPUSdma *q, uint32_t reg);
void qvgpu_sdma_wr(QVGPUSdma *q, uint32_t reg, uint32_t val);
uint64_t qvgpu_sdma_rptr(QVGPUSdma *q);
bool qvgpu_sdma_idle(QVGPUSdma *q);
unsigned qvgpu_sdma_exception(QVGPUSdma *q);

/* Put @n dwords into the ring. The device reads them only after a kick. */
void qvgpu_sdma_emit(QVGPUSdma *q, const uint32_t *dw, unsigned n);
#define QVGPU_EMIT(q, ...)                                      \
    qvgpu_sdma_emit(q, (const uint32_t[]) { __VA_ARGS__ },      \
                    sizeof((const uint32_t[]) { __VA_ARGS__ }) / 4)
/*
 * Write the write pointer to the doorbell, or to the register if the queue has
 * no doorbell.
 */
void qvgpu_sdma_kick(QVGPUSdma *q);
/*
 * Kick, wait until the queue is idle, and fail the test unless all packets are
 * done without an error.
 */
void qvgpu_sdma_finish(QVGPUSdma *q);
/*
 * Run two packets on @q. Between the two packets, the engine serves all other
 * queues that can run (round-robin). Call this before a check that another
 * queue of the engine has done nothing.
 */
void qvgpu_sdma_pass(QVGPUSdma *q);

/*
 * Return the offset in BAR 2, in bytes, of KFD's doorbell for RLC queue @i of
 * SDMA engine @n. @slice: doorbell slice of the process.
 */
uint32_t qvgpu_sdma_doorbell(unsigned slice, unsigned n, unsigned i);
/*
 * Copy the ring's packets, from byte @from on, to an indirect buffer in a new
 * page. Remove these packets from the ring. *@dwords receives the buffer's
 * length. Returns the buffer's CPU address.
 */
uint64_t qvgpu_sdma_to_buffer(QVGPUSdma *q, uint64_t from, uint32_t *dwords);

/* Emit a packet. Addresses are GPU addresses in the queue's VMID. */
void qvgpu_pkt_copy(QVGPUSdma *q, uint64_t src, uint64_t dst, uint64_t bytes);
void qvgpu_pkt_fill(QVGPUSdma *q, uint64_t dst, uint32_t data,
                    uint64_t bytes, unsigned size);
void qvgpu_pkt_fence(QVGPUSdma *q, uint64_t dst, uint32_t data);
void qvgpu_pkt_trap(QVGPUSdma *q, uint32_t context);
void qvgpu_pkt_poll_mem(QVGPUSdma *q, unsigned func, uint64_t addr,
                        uint32_t value, uint32_t mask, unsigned retry);
void qvgpu_pkt_add64(QVGPUSdma *q, uint64_t addr, uint64_t add);
void qvgpu_pkt_indirect(QVGPUSdma *q, unsigned vmid, uint64_t base,
                        uint32_t dwords);
/* Compare functions of POLL_REGMEM. */
enum {
    QVGPU_POLL_ALWAYS, QVGPU_POLL_LT, QVGPU_POLL_LE, QVGPU_POLL_EQ,
    QVGPU_POLL_NE, QVGPU_POLL_GE, QVGPU_POLL_GT,
};
/* Retry count of POLL_REGMEM that means no limit. */
#define QVGPU_POLL_FOREVER  0xfff

#endif /* VGPU_TEST_SDMA_QUEUE_H */
