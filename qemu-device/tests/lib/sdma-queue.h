/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Test-side driver of vgpu-kfd: SDMA queues and packets. */
#ifndef VGPU_TEST_SDMA_QUEUE_H
#define VGPU_TEST_SDMA_QUEUE_H

#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"

/* An SDMA queue. Fields may be changed between init and load. */
typedef struct QVGPUQueue {
    QVGPU *v;
    QVGPUSpace *space;          /* NULL: VMID 0 */
    unsigned engine;
    unsigned index;
    uint32_t cntl;              /* RB_CNTL without RB_ENABLE */
    uint64_t ring;              /* CPU address */
    uint64_t ring_va;
    uint64_t bytes;
    uint64_t rptr;              /* CPU address of the write-back */
    uint64_t rptr_va;
    uint64_t wptr;              /* emitted so far */
    uint32_t doorbell;          /* byte offset in BAR 2; 0: by register */
} QVGPUQueue;

/* A queue of 4 KiB in guest RAM; nothing is written to the device yet. */
void qvgpu_queue_init(QVGPUQueue *q, QVGPU *v, unsigned engine,
                      unsigned index, QVGPUSpace *s);
/* With a ring of @bytes (a power of two) in @kind. */
void qvgpu_queue_init_ring(QVGPUQueue *q, QVGPU *v, unsigned engine,
                           unsigned index, QVGPUSpace *s, QVGPUKind kind,
                           uint64_t bytes);
/* init and load. */
void qvgpu_queue_open(QVGPUQueue *q, QVGPU *v, unsigned engine,
                      unsigned index, QVGPUSpace *s);
/*
 * init and load a queue that uses VRAM alone: a ring of @bytes, and no
 * write-back of the read pointer.
 */
void qvgpu_queue_open_vram(QVGPUQueue *q, QVGPU *v, unsigned engine,
                           unsigned index, QVGPUSpace *s, uint64_t bytes);
/* Program and enable; pointers start at q->wptr. */
void qvgpu_queue_load(QVGPUQueue *q);
/* Disable and wait for IDLE. */
void qvgpu_queue_disable(QVGPUQueue *q);
void qvgpu_queue_enable(QVGPUQueue *q);
uint32_t qvgpu_queue_rd(QVGPUQueue *q, uint32_t reg);
void qvgpu_queue_wr(QVGPUQueue *q, uint32_t reg, uint32_t val);
uint64_t qvgpu_queue_rptr(QVGPUQueue *q);
bool qvgpu_queue_idle(QVGPUQueue *q);
unsigned qvgpu_queue_exception(QVGPUQueue *q);

/* Put dwords into the ring; the device does not see them before a kick. */
void qvgpu_emit(QVGPUQueue *q, const uint32_t *dw, unsigned n);
#define QVGPU_EMIT(q, ...)                                      \
    qvgpu_emit(q, (const uint32_t[]) { __VA_ARGS__ },           \
               sizeof((const uint32_t[]) { __VA_ARGS__ }) / 4)
/* Tell the device the write pointer. */
void qvgpu_kick(QVGPUQueue *q);
/* Kick; wait until all is done and the queue idle without an error. */
void qvgpu_finish(QVGPUQueue *q);
/*
 * Run two packets on @q. When this returns, an engine that takes queues in
 * turn has looked at all its others: a stall that should have ended has.
 */
void qvgpu_engine_pass(QVGPUQueue *q);

/* Doorbell of RLC @i of engine @n in a process's slice, as KFD lays it out. */
uint32_t qvgpu_doorbell(unsigned slice, unsigned n, unsigned i);
/*
 * Move what was emitted since @from from the ring to a page of its own.
 * Returns its CPU address.
 */
uint64_t qvgpu_to_buffer(QVGPUQueue *q, uint64_t from, uint32_t *dwords);

/* Packets. Addresses are GPU addresses in the queue's VMID. */
void qvgpu_pkt_copy(QVGPUQueue *q, uint64_t src, uint64_t dst, uint64_t bytes);
void qvgpu_pkt_fill(QVGPUQueue *q, uint64_t dst, uint32_t data,
                    uint64_t bytes, unsigned size);
void qvgpu_pkt_fence(QVGPUQueue *q, uint64_t dst, uint32_t data);
void qvgpu_pkt_trap(QVGPUQueue *q, uint32_t context);
void qvgpu_pkt_poll_mem(QVGPUQueue *q, unsigned func, uint64_t addr,
                        uint32_t value, uint32_t mask, unsigned retry);
void qvgpu_pkt_add64(QVGPUQueue *q, uint64_t addr, uint64_t add);
void qvgpu_pkt_indirect(QVGPUQueue *q, unsigned vmid, uint64_t base,
                        uint32_t dwords);
/* POLL_REGMEM's functions and its "for ever". */
enum {
    QVGPU_POLL_ALWAYS, QVGPU_POLL_LT, QVGPU_POLL_LE, QVGPU_POLL_EQ,
    QVGPU_POLL_NE, QVGPU_POLL_GE, QVGPU_POLL_GT,
};
#define QVGPU_POLL_FOREVER  0xfff

#endif /* VGPU_TEST_SDMA_QUEUE_H */
