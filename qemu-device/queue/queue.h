/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: a queue that executes packets: its pointers, the place in ring and
 * indirect buffers, the progress of the packet, and the time slice in which a
 * worker (queue/scheduler.h) executes it. What packets are and do, and which
 * registers a queue has, is in the VGPUQueueOps of the engine.
 */
#ifndef HW_MISC_VGPU_KFD_QUEUE_QUEUE_H
#define HW_MISC_VGPU_KFD_QUEUE_QUEUE_H

#include "hw/misc/vgpu-kfd/core/stall.h"
#include "hw/misc/vgpu-kfd/queue/dma.h"

typedef struct VGPUWorker VGPUWorker;

#define VGPU_PKT_MAX_DWORDS     16          /* longest fixed part of a packet */
#define VGPU_MAX_IBS            2           /* nested indirect buffers */

/* How a step of a packet ended. */
typedef enum VGPUStep {
    VGPU_STEP_DONE,             /* go on */
    VGPU_STEP_AGAIN,            /* go on in the next time slice */
    VGPU_STEP_STALL,            /* exec.mem.stall says what for */
    /* The others stop the queue: VGPUQueueOps.stopped(). */
    VGPU_STEP_BAD_PACKET,
    VGPU_STEP_BAD_RING,
    VGPU_STEP_POISON,           /* an access met an injected memory error */
    VGPU_STEP_HANG,             /* injected: the packet never ends */
} VGPUStep;

/*
 * An indirect buffer: a range of addresses that packets are fetched from,
 * besides the ring.
 */
typedef struct VGPUIndirect {
    uint64_t base;              /* GPU address, a multiple of 4 */
    uint32_t size;              /* dwords */
    uint32_t pos;               /* next dword to execute */
    uint8_t vmid;               /* that @base is in */
} VGPUIndirect;

/*
 * The work of a queue, kept over stalls. While the queue is current it belongs
 * to the worker's thread, otherwise to w->lock.
 */
typedef struct VGPUExec {
    VGPUView mem;               /* faulted: since the packet's start */
    /* The queue's registers as of the packet's start or resumption. */
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

    bool poll_wptr;             /* wptr is to be read from wptr_addr */
    bool writeback;             /* rptr is to be written back */
    bool packet;                /* dw holds a packet in execution */
    unsigned ib_depth;          /* indirect buffers in use; 0: the ring */
    VGPUIndirect ib[VGPU_MAX_IBS];      /* outermost first */
    uint32_t dw[VGPU_PKT_MAX_DWORDS];   /* the packet's fixed part */
    uint32_t ndw;               /* length of the packet in dwords */
    uint32_t ring_ndw;          /* of the packet in the ring that led here */
    uint64_t done;              /* of the packet: bytes, dwords or steps */
    int64_t budget;             /* left of the time slice: bytes or steps */
    uint32_t polls;             /* tries of a packet that waits for a value */
    int64_t began;              /* first of them: ns, QEMU_CLOCK_VIRTUAL */
    /* A register write that waits for the main loop: VGPU_WAIT_REG. */
    uint32_t reg;               /* dword offset in BAR 5 */
    uint32_t reg_val;
    /* VGPU_STEP_BAD_PACKET: why, in codes of the engine. */
    unsigned error;
    uint32_t error_bits;
} VGPUExec;

/* A queue. w->lock, unless a member says otherwise. */
typedef struct VGPUQueue {
    uint64_t rptr;              /* not wrapped at the end of the ring */
    uint64_t wptr;              /* the same */
    bool poll_wptr;             /* read wptr from memory once */
    bool restart;               /* pointers were written: exec is void */
    bool dequeue;               /* leave after this step: dequeued() */
    VGPUWait wait;              /* exec.mem.stall.why while the queue waits */
    VGPUExec exec;              /* the thread's while the queue is current */
} VGPUQueue;

/*
 * What an engine adds to a time slice. @n: number of the queue, as in
 * VGPUWorkerOps.
 */
typedef struct VGPUQueueOps {
    unsigned steps;             /* of a time slice, at most */
    int64_t budget;             /* exec.budget at its start; step() lowers it */
    /*
     * Fill in what exec has of the queue's registers, mem.client and mem.queue.
     * False: there can be no such ring. w->lock held.
     */
    bool (*load)(VGPUWorker *w, unsigned n);
    /* Do a packet of the queue, or a part of it. No lock held. */
    VGPUStep (*step)(VGPUWorker *w, unsigned n);
    /* Stop the queue, for the reason @step. w->lock held. */
    void (*stopped)(VGPUWorker *w, unsigned n, VGPUStep step);
    /* NULL, or: take a queue with @dequeue off its engine. w->lock held. */
    void (*dequeued)(VGPUWorker *w, unsigned n);
} VGPUQueueOps;

/* w->lock held. */

/* Return whether the queue has work: begun, or new in the ring. */
bool vgpu_queue_pending(const VGPUQueue *q);
/* The write pointer moved. The caller kicks the worker. */
void vgpu_queue_wptr_moved(VGPUQueue *q);
/* Discard the work that was begun. Not while packets run. */
void vgpu_queue_discard(VGPUQueue *q);
/* Pointers or base were written: discard the work, at once or after a step. */
void vgpu_queue_restart(VGPUWorker *w, VGPUQueue *q);
/* A time slice of queue @n, for VGPUWorkerOps.timeslice(). Drops the lock. */
void vgpu_queue_timeslice(VGPUWorker *w, unsigned n, const VGPUQueueOps *ops);

/* For packets. The worker's thread, no lock held. */

/* Dword in the ring or indirect buffer where the packet begins. */
uint64_t vgpu_exec_pos(const VGPUExec *x);
/* Dwords from the packet's start to the end of what is there now. */
uint64_t vgpu_exec_available(const VGPUExec *x);
/* The VMID of what is executed: ring or indirect buffer. */
unsigned vgpu_exec_vmid(const VGPUExec *x);
/*
 * GPU address of dword @at of the packet. *@left: how many dwords, that one
 * included, follow without a break.
 */
uint64_t vgpu_exec_address(const VGPUExec *x, uint64_t at, uint64_t *left);
/* Fetch @n dwords from dword @at of the packet on. They are available. */
VGPUDmaResult vgpu_exec_fetch(VGPUExec *x, uint64_t at, uint32_t *dw,
                              unsigned n);
/* Stall until wptr moves. */
VGPUStep vgpu_exec_wait_wptr(VGPUExec *x);
/* Stall for @ns of virtual time. */
VGPUStep vgpu_exec_sleep(VGPUExec *x, int64_t ns);
/*
 * The value that the packet waits for is not there: try again after @ns of
 * virtual time (0: in the queue's next time slice), and after a millisecond at
 * least once there were @eager tries.
 */
VGPUStep vgpu_exec_poll(VGPUExec *x, unsigned eager, int64_t ns);
/*
 * The packet waits for another queue or another thread of the device: as
 * vgpu_exec_poll() with @ns 0, but a millisecond of host time.
 */
VGPUStep vgpu_exec_poll_device(VGPUExec *x, unsigned eager);
/*
 * Stall until the main loop has written the register, which adds 1 to
 * exec.done. @reg is below VGPU_MMIO_DWORDS.
 */
VGPUStep vgpu_exec_write_reg(VGPUExec *x, uint32_t reg, uint32_t val);
/*
 * Return whether @val compares with @ref as function 0 to 6 of POLL_REGMEM and
 * WAIT_REG_MEM says: always, <, <=, ==, !=, >=, >.
 */
bool vgpu_exec_compare(unsigned function, uint32_t val, uint32_t ref);

#endif /* HW_MISC_VGPU_KFD_QUEUE_QUEUE_H */
