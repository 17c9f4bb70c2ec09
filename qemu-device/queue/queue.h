/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: a queue that executes packets: its pointers, the position in ring
 * and indirect buffers, the progress of the packet, and the time slice in which
 * a worker (queue/scheduler.h) executes it. The VGPUQueueOps of each engine
 * implement its packets and its registers.
 */
#ifndef HW_MISC_VGPU_KFD_QUEUE_QUEUE_H
#define HW_MISC_VGPU_KFD_QUEUE_QUEUE_H

#include "hw/misc/vgpu-kfd/core/stall.h"
#include "hw/misc/vgpu-kfd/queue/dma.h"

typedef struct VGPUWorker VGPUWorker;

#define VGPU_PKT_MAX_DWORDS     16          /* longest fixed part of a packet */
#define VGPU_MAX_IBS            2           /* nested indirect buffers */

/* Result of a step of a packet. */
typedef enum VGPUStep {
    VGPU_STEP_DONE,             /* continue */
    VGPU_STEP_AGAIN,            /* continue in the next time slice */
    VGPU_STEP_STALL,            /* the queue waits: exec.mem.stall */
    /* The results below stop the queue: VGPUQueueOps.stopped(). */
    VGPU_STEP_BAD_PACKET,
    VGPU_STEP_BAD_RING,
    VGPU_STEP_POISON,           /* an access hit an injected memory error */
    VGPU_STEP_HANG,             /* injected: the packet never completes */
} VGPUStep;

/* An indirect buffer: a range of memory with packets, outside of the ring. */
typedef struct VGPUIndirect {
    uint64_t base;              /* GPU address, a multiple of 4 */
    uint32_t size;              /* dwords */
    uint32_t pos;               /* next dword to execute */
    uint8_t vmid;               /* VMID of @base */
} VGPUIndirect;

/*
 * The work of a queue, kept across stalls. Accessed by the worker's thread
 * while the queue is current, otherwise under w->lock.
 */
typedef struct VGPUExec {
    VGPUView mem;               /* faulted: since the packet's start */
    /* Values of the queue's registers at the start of the step. */
    uint64_t ring_base;         /* GPU address */
    uint64_t ring_dwords;       /* a power of two */
    uint64_t rptr;              /* as VGPUQueue.rptr */
    uint64_t wptr;              /* the same */
    uint64_t rptr_addr;         /* GPU address of the write-back */
    uint64_t wptr_addr;         /* GPU address of wptr, for poll_wptr */
    uint8_t ptr_shift;          /* log2: units of rptr and wptr in a dword */
    uint8_t ring_vmid;
    bool priv;                  /* the ring's packets are privileged */
    bool rptr_writeback;        /* rptr is written back after packets */

    bool poll_wptr;             /* the next step reads wptr from wptr_addr */
    bool writeback;             /* the next step writes rptr back */
    bool packet;                /* dw holds a packet in execution */
    unsigned ib_depth;          /* indirect buffers in use; 0: the ring */
    VGPUIndirect ib[VGPU_MAX_IBS];      /* outermost first */
    uint32_t dw[VGPU_PKT_MAX_DWORDS];   /* the packet's fixed part */
    uint32_t ndw;               /* length of the packet in dwords */
    uint32_t ring_ndw;          /* of the ring's packet that entered ib[0] */
    uint64_t done;              /* part of the packet: bytes, dwords or steps */
    int64_t budget;             /* rest of the time slice: bytes or steps */
    uint32_t polls;             /* tries of a packet that waits for a value */
    int64_t began;              /* first try: ns, QEMU_CLOCK_VIRTUAL */
    /* The register write for the main loop: VGPU_WAIT_REG. */
    uint32_t reg;               /* dword offset in BAR 5 */
    uint32_t reg_val;
    /* VGPU_STEP_BAD_PACKET: why, in codes of the engine. */
    unsigned error;
    uint32_t error_bits;
} VGPUExec;

/* A queue. w->lock, except as noted. */
typedef struct VGPUQueue {
    uint64_t rptr;              /* not wrapped at the end of the ring */
    uint64_t wptr;              /* the same */
    bool poll_wptr;             /* read wptr from memory once */
    bool restart;               /* pointers were written: discard exec */
    bool dequeue;               /* call dequeued() after this step */
    VGPUWait wait;              /* exec.mem.stall.why while the queue waits */
    VGPUExec exec;              /* thread only, while the queue is current */
} VGPUQueue;

/*
 * Operations of an engine on its queues in a time slice. @n: number of the
 * queue, as in VGPUWorkerOps.
 */
typedef struct VGPUQueueOps {
    unsigned steps;             /* maximum number of steps of a time slice */
    int64_t budget;             /* initial exec.budget; step() lowers it */
    /*
     * Set exec's copies of registers, mem.client and mem.queue. Return false
     * if the registers describe no valid ring. w->lock held.
     */
    bool (*load)(VGPUWorker *w, unsigned n);
    /* Execute a packet of the queue, or a part of it. No lock held. */
    VGPUStep (*step)(VGPUWorker *w, unsigned n);
    /* Stop the queue, for the reason @step. w->lock held. */
    void (*stopped)(VGPUWorker *w, unsigned n, VGPUStep step);
    /* NULL, or: take a queue with @dequeue off its engine. w->lock held. */
    void (*dequeued)(VGPUWorker *w, unsigned n);
} VGPUQueueOps;

/* The caller of the functions below holds w->lock. */

/**
 * vgpu_queue_pending: check whether a queue has work
 * @q: queue
 *
 * Context: w->lock held.
 * Return: true if a packet is in execution or may be in the ring.
 */
bool vgpu_queue_pending(const VGPUQueue *q);

/**
 * vgpu_queue_wptr_moved: end a wait for the write pointer
 * @q: queue whose write pointer has moved
 *
 * Context: w->lock held. The caller kicks the worker.
 */
void vgpu_queue_wptr_moved(VGPUQueue *q);

/**
 * vgpu_queue_discard: discard the packet in execution and any wait
 * @q: queue, for which no step runs
 *
 * Context: w->lock held.
 */
void vgpu_queue_discard(VGPUQueue *q);

/**
 * vgpu_queue_restart: discard the work since pointers or base were written
 * @w: worker
 * @q: queue; if it is current, the work is discarded after the current step
 *
 * Context: w->lock held.
 */
void vgpu_queue_restart(VGPUWorker *w, VGPUQueue *q);

/**
 * vgpu_queue_timeslice: run a time slice, for VGPUWorkerOps.timeslice()
 * @w: worker
 * @n: number of the queue, which is current
 * @ops: operations of the engine
 *
 * Context: the worker's thread, w->lock held; dropped during each step.
 */
void vgpu_queue_timeslice(VGPUWorker *w, unsigned n, const VGPUQueueOps *ops);

/* Packets call the functions below: the worker's thread, no lock held. */

/**
 * vgpu_exec_pos: find where the packet begins
 * @x: work of the queue
 *
 * Return: dword in the indirect buffer, or in the ring (not wrapped).
 */
uint64_t vgpu_exec_pos(const VGPUExec *x);

/**
 * vgpu_exec_available: count the dwords that may be fetched
 * @x: work of the queue
 *
 * Return: dwords from the start of the packet to the end of the indirect
 * buffer, or to the write pointer.
 */
uint64_t vgpu_exec_available(const VGPUExec *x);

/**
 * vgpu_exec_vmid: find the VMID of the packet
 * @x: work of the queue
 *
 * Return: VMID of the indirect buffer or of the ring.
 */
unsigned vgpu_exec_vmid(const VGPUExec *x);

/**
 * vgpu_exec_address: find the address of a dword of the packet
 * @x: work of the queue
 * @at: dword, from the start of the packet
 * @left: set to the number of contiguous dwords from @at on
 *
 * Return: GPU address.
 */
uint64_t vgpu_exec_address(const VGPUExec *x, uint64_t at, uint64_t *left);

/**
 * vgpu_exec_fetch: fetch dwords of the packet
 * @x: work of the queue; mem.vmid is that of the packet
 * @at: first dword, from the start of the packet
 * @dw: buffer, in the host's byte order
 * @n: number of dwords, which are available: vgpu_exec_available()
 *
 * Return: as vgpu_dma_read(). Stops at the first result other than VGPU_DMA_OK.
 */
VGPUDmaResult vgpu_exec_fetch(VGPUExec *x, uint64_t at, uint32_t *dw,
                              unsigned n);

/**
 * vgpu_exec_wait_wptr: stall until the write pointer moves
 * @x: work of the queue
 *
 * Return: VGPU_STEP_STALL.
 */
VGPUStep vgpu_exec_wait_wptr(VGPUExec *x);

/**
 * vgpu_exec_sleep: stall for a time
 * @x: work of the queue
 * @ns: ns of QEMU_CLOCK_VIRTUAL
 *
 * Return: VGPU_STEP_STALL.
 */
VGPUStep vgpu_exec_sleep(VGPUExec *x, int64_t ns);

/**
 * vgpu_exec_poll: have a packet that waits for a value of the guest tried again
 * @x: work of the queue
 * @eager: number of tries after which the interval is 1 ms at least
 * @ns: interval in ns of QEMU_CLOCK_VIRTUAL; 0: the queue's next time slice
 *
 * Return: VGPU_STEP_STALL or VGPU_STEP_AGAIN.
 */
VGPUStep vgpu_exec_poll(VGPUExec *x, unsigned eager, int64_t ns);

/**
 * vgpu_exec_poll_device: have a packet that waits for another queue or thread
 * of the device tried again
 * @x: work of the queue
 * @eager: number of tries in consecutive time slices; after these the interval
 *         is 1 ms of host time
 *
 * Return: VGPU_STEP_STALL or VGPU_STEP_AGAIN.
 */
VGPUStep vgpu_exec_poll_device(VGPUExec *x, unsigned eager);

/**
 * vgpu_exec_write_reg: stall until the main loop has written a register
 * @x: work of the queue; the main loop adds 1 to x->done before the write
 * @reg: dword offset in BAR 5, below VGPU_MMIO_DWORDS
 * @val: value
 *
 * Return: VGPU_STEP_STALL.
 */
VGPUStep vgpu_exec_write_reg(VGPUExec *x, uint32_t reg, uint32_t val);

/**
 * vgpu_exec_compare: evaluate a condition of POLL_REGMEM or WAIT_REG_MEM
 * @function: from 0 to 6: always, <, <=, ==, !=, >=, >; more: always
 * @val: left operand
 * @ref: right operand
 *
 * Return: true if the condition holds.
 */
bool vgpu_exec_compare(unsigned function, uint32_t val, uint32_t ref);

#endif /* HW_MISC_VGPU_KFD_QUEUE_QUEUE_H */
