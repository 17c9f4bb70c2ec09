/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: a queue of packets. A worker (queue/scheduler.h) executes the
 * packets in time slices. Each engine implements its packets and registers as
 * VGPUQueueOps.
 */
#ifndef HW_MISC_VGPU_KFD_QUEUE_QUEUE_H
#define HW_MISC_VGPU_KFD_QUEUE_QUEUE_H

#include "hw/misc/vgpu-kfd/core/stall.h"
#include "hw/misc/vgpu-kfd/queue/dma.h"

typedef struct VGPUWorker VGPUWorker;

/* Size of VGPUExec.dw, in dwords. A packet can be longer. */
#define VGPU_PKT_MAX_DWORDS     16
/* Maximum depth of nested indirect buffers. */
#define VGPU_MAX_IBS            2

/* Result of a step of a packet. */
typedef enum VGPUStep {
    /* The step is complete. The time slice may go on with another step. */
    VGPU_STEP_DONE,
    VGPU_STEP_AGAIN,            /* continue in the next time slice */
    VGPU_STEP_STALL,            /* the queue waits; see exec.mem.stall */
    /*
     * After one of the results below, vgpu_queue_timeslice() calls
     * VGPUQueueOps.stopped(), which stops the queue.
     */
    VGPU_STEP_BAD_PACKET,
    VGPU_STEP_BAD_RING,
    VGPU_STEP_POISON,           /* a read found an injected memory error */
    /* An injection prevents the packet from completing. */
    VGPU_STEP_HANG,
} VGPUStep;

/* An indirect buffer: a range of memory with packets, outside of the ring. */
typedef struct VGPUIndirect {
    uint64_t base;              /* GPU address, a multiple of 4 */
    uint32_t size;              /* dwords */
    uint32_t pos;               /* index of the next dword to execute */
    uint8_t vmid;               /* VMID in which @base is translated */
} VGPUIndirect;

/*
 * The execution state of a queue, which is kept while the queue waits. Accessed
 * by the worker's thread while the queue is current, otherwise under w->lock.
 */
typedef struct VGPUExec {
    /* mem.faulted: the current packet has reported a no-retry fault. */
    VGPUView mem;
    /*
     * The members ring_base to rptr_writeback hold the values that the queue's
     * registers had at the start of the step.
     */
    uint64_t ring_base;         /* GPU address of the ring */
    uint64_t ring_dwords;       /* size of the ring, a power of two */
    uint64_t rptr;              /* copy of VGPUQueue.rptr */
    uint64_t wptr;              /* copy of VGPUQueue.wptr */
    uint64_t rptr_addr;         /* GPU address to which rptr is written back */
    uint64_t wptr_addr;         /* GPU address from which wptr is polled */
    /* Right shift that converts rptr and wptr to dwords. */
    uint8_t ptr_shift;
    uint8_t ring_vmid;
    bool priv;                  /* packets in the ring are privileged */
    bool rptr_writeback;        /* write rptr back after each packet */

    bool poll_wptr;             /* the next step reads wptr from memory */
    bool writeback;             /* the next step writes rptr back */
    bool packet;                /* @dw holds a packet in execution */
    /* Depth of indirect buffers; 0 while packets in the ring are executed. */
    unsigned ib_depth;
    VGPUIndirect ib[VGPU_MAX_IBS];      /* outermost first */
    uint32_t dw[VGPU_PKT_MAX_DWORDS];   /* first dwords of the packet */
    uint32_t ndw;               /* length of the packet in dwords */
    /*
     * SDMA only: length in dwords of the INDIRECT_BUFFER packet in the ring,
     * while the indirect buffer is executed.
     */
    uint32_t ring_ndw;
    uint64_t done;              /* packet's progress: bytes, dwords or steps */
    int64_t budget;             /* bytes or steps left in the time slice */
    uint32_t polls;             /* number of tries of the packet */
    /* Time of the packet's first try: ns, QEMU_CLOCK_VIRTUAL. */
    int64_t began;
    /*
     * In VGPU_WAIT_REG, the queue waits until the main loop has written
     * @reg_val to register @reg.
     */
    uint32_t reg;               /* dword offset in BAR 5 */
    uint32_t reg_val;
    /*
     * For VGPU_STEP_BAD_PACKET: error code of the engine, and bits of the
     * engine's error register.
     */
    unsigned error;
    uint32_t error_bits;
} VGPUExec;

/* A queue. Guarded by the lock of its worker, except as noted. */
typedef struct VGPUQueue {
    /* Read pointer, not wrapped at the ring's end. */
    uint64_t rptr;
    uint64_t wptr;              /* write pointer, in the unit of rptr */
    bool poll_wptr;             /* the next step is to read wptr from memory */
    bool restart;               /* discard exec after the current step */
    bool dequeue;               /* call dequeued() after the current step */
    VGPUWait wait;              /* reason of the wait, or VGPU_WAIT_NONE */
    VGPUExec exec;              /* locking: see VGPUExec */
} VGPUQueue;

/*
 * Operations of an engine on its queues in a time slice. Parameter @n of the
 * functions is the number of the queue, below VGPUWorkerOps.num_queues.
 */
typedef struct VGPUQueueOps {
    unsigned steps;             /* maximum number of steps in a time slice */
    /*
     * exec.budget at the start of a time slice. At 0, the time slice ends. SDMA
     * subtracts bytes (see PIECE_COST). CP subtracts steps, and dwords of
     * WRITE_DATA.
     */
    int64_t budget;
    /*
     * Copy the queue's registers, but not rptr and wptr, to exec. Set
     * exec.mem.client and exec.mem.queue. Return false for an invalid ring.
     * w->lock held.
     */
    bool (*load)(VGPUWorker *w, unsigned n);
    /*
     * Execute the queue's packet, or a part of the packet. The caller holds no
     * lock.
     */
    VGPUStep (*step)(VGPUWorker *w, unsigned n);
    /*
     * Stop the queue because of @step, the result of its last step. The caller
     * holds w->lock.
     */
    void (*stopped)(VGPUWorker *w, unsigned n, VGPUStep step);
    /*
     * Remove the queue from the engine, because VGPUQueue.dequeue is set. The
     * caller holds w->lock. NULL if the engine never sets VGPUQueue.dequeue.
     */
    void (*dequeued)(VGPUWorker *w, unsigned n);
} VGPUQueueOps;

/* The caller of the functions below holds w->lock. */

/**
 * vgpu_queue_pending: check whether a queue has work
 * @q: queue
 *
 * Context: w->lock held.
 * Return: true if a packet is in execution or may be in the ring, or if rptr is
 * to be written back.
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
 * @q: queue; the worker must not be executing a step of this queue
 *
 * Context: w->lock held.
 */
void vgpu_queue_discard(VGPUQueue *q);

/**
 * vgpu_queue_restart: discard a queue's work, because rptr or the ring's base
 * was written
 * @w: worker
 * @q: queue; if it is current, the work is discarded after the current step
 *
 * Context: w->lock held.
 */
void vgpu_queue_restart(VGPUWorker *w, VGPUQueue *q);

/**
 * vgpu_queue_timeslice: run a time slice, for VGPUWorkerOps.timeslice()
 * @w: worker
 * @n: number of the queue, which must be w->current
 * @ops: operations of the engine
 *
 * Context: the worker's thread, w->lock held; dropped during each step.
 */
void vgpu_queue_timeslice(VGPUWorker *w, unsigned n, const VGPUQueueOps *ops);

/**
 * vgpu_queue_run: run a time slice of a given length
 * @w: worker
 * @n: number of the queue, which must be w->current
 * @ops: operations of the engine
 * @steps: maximum number of steps, in place of ops->steps
 * @budget: exec.budget at the start, in place of ops->budget
 *
 * Context: as vgpu_queue_timeslice(), or in vgpu_worker_run_here().
 */
void vgpu_queue_run(VGPUWorker *w, unsigned n, const VGPUQueueOps *ops,
                    unsigned steps, int64_t budget);

/*
 * Code that executes packets calls the functions below, in the worker's thread
 * with no lock held.
 */

/**
 * vgpu_exec_pos: find where the packet in execution begins
 * @x: work of the queue
 *
 * Return: index of the packet's first dword in its indirect buffer, or in the
 * ring (not wrapped at the ring's end).
 */
uint64_t vgpu_exec_pos(const VGPUExec *x);

/**
 * vgpu_exec_available: find how many dwords can be fetched
 * @x: work of the queue
 *
 * Return: number of dwords from the start of the packet to the end of the
 * indirect buffer, or to the ring's write pointer.
 */
uint64_t vgpu_exec_available(const VGPUExec *x);

/**
 * vgpu_exec_vmid: find the VMID of the packet
 * @x: work of the queue
 *
 * Return: VMID of the indirect buffer that holds the packet, or else of the
 * ring.
 */
unsigned vgpu_exec_vmid(const VGPUExec *x);

/**
 * vgpu_exec_address: find the address of a dword of the packet
 * @x: work of the queue
 * @at: index of the dword in the packet
 * @left: set to the dwords until the end of the indirect buffer or ring
 *
 * Return: GPU address.
 */
uint64_t vgpu_exec_address(const VGPUExec *x, uint64_t at, uint64_t *left);

/**
 * vgpu_exec_fetch: fetch dwords of the packet
 * @x: work of the queue; mem.vmid is the packet's
 * @at: index of the first dword in the packet
 * @dw: set, in host byte order; undefined after an error
 * @n: at most vgpu_exec_available() - @at
 *
 * Return: as vgpu_dma_read().
 */
VGPUDmaResult vgpu_exec_fetch(VGPUExec *x, uint64_t at, uint32_t *dw,
                              unsigned n);

/**
 * vgpu_exec_wait_wptr: request a stall until the write pointer moves
 * @x: work of the queue
 *
 * Return: VGPU_STEP_STALL, which the packet code must return.
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
 * vgpu_exec_poll: wait before a packet polls a value of the guest again
 * @x: work of the queue
 * @eager: After this number of waits in the packet, each wait takes at least
 *         1 ms.
 * @ns: length of a wait in ns of QEMU_CLOCK_VIRTUAL; 0: until the queue's next
 *      time slice
 *
 * Return: VGPU_STEP_AGAIN (next time slice) or VGPU_STEP_STALL.
 */
VGPUStep vgpu_exec_poll(VGPUExec *x, unsigned eager, int64_t ns);

/**
 * vgpu_exec_poll_device: wait before a packet polls the device again
 * @x: work of the queue
 * @eager: After this number of waits in the packet, each wait takes 1 ms of
 *         host time. Before, each wait ends at the queue's next time slice.
 *
 * Return: VGPU_STEP_AGAIN (next time slice) or VGPU_STEP_STALL.
 */
VGPUStep vgpu_exec_poll_device(VGPUExec *x, unsigned eager);

/**
 * vgpu_exec_write_reg: stall until the main loop has written a register
 * @x: work of the queue
 * @reg: dword offset in BAR 5, below VGPU_MMIO_DWORDS
 * @val: value
 *
 * The main loop adds 1 to x->done when it writes the register. If x->done is
 * unchanged after the stall, the main loop has not written the register,
 * because the queue was stopped. The packet must then request the write again.
 *
 * Return: VGPU_STEP_STALL.
 */
VGPUStep vgpu_exec_write_reg(VGPUExec *x, uint32_t reg, uint32_t val);

/**
 * vgpu_exec_compare: evaluate a condition of POLL_REGMEM or WAIT_REG_MEM
 * @function: 0 to 6: always, <, <=, ==, !=, >=, >; other values: always
 * @val: left operand
 * @ref: right operand
 *
 * Return: true if the condition holds.
 */
bool vgpu_exec_compare(unsigned function, uint32_t val, uint32_t ref);

#endif /* HW_MISC_VGPU_KFD_QUEUE_QUEUE_H */
