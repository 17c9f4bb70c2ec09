/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: what the files of sdma/ share. */
#ifndef HW_MISC_VGPU_KFD_SDMA_INTERNAL_H
#define HW_MISC_VGPU_KFD_SDMA_INTERNAL_H

#include "vgpu/sdma.h"
#include "hw/misc/vgpu-kfd/memory/client.h"
#include "hw/misc/vgpu-kfd/queue/dma.h"
#include "hw/misc/vgpu-kfd/queue/scheduler.h"

#define VGPU_CHUNK              (2 * MiB)   /* bytes between quiescent points */
#define VGPU_PKT_MAX_DWORDS     16          /* longest fixed part of a packet */
#define VGPU_SDMA_ENGINE_SPAN   SDMA_QUEUE(0)
#define VGPU_SDMA_QUEUE_SPAN    (SDMA_QUEUE(1) - SDMA_QUEUE(0))

/*
 * The work of a queue, kept over stalls. While the queue is current it belongs
 * to the engine's thread, otherwise to engine->w.lock.
 */
typedef struct VGPUExec {
    /* The queue's registers as of the packet's start or resumption. */
    uint64_t ring_base;         /* GPU address */
    uint64_t ring_bytes;
    uint64_t rptr_addr;         /* GPU address of the write-back */
    uint64_t rptr;              /* bytes, as VGPUQueue.rptr */
    uint64_t wptr;              /* the same */
    uint8_t ring_vmid;
    bool priv;                  /* SDMA_RB_CNTL.RB_PRIV */
    bool rptr_writeback;        /* SDMA_RB_CNTL.RPTR_WRITEBACK_ENABLE */
    bool trap_enable;           /* SDMA_CNTL.TRAP_ENABLE */

    VGPUView mem;               /* faulted: since the packet's start */
    bool packet;                /* dw holds a packet in execution */
    bool writeback;             /* rptr is to be written back */
    unsigned ib_depth;          /* indirect buffers in use; 0: the ring */
    VGPUIndirect ib[2];         /* outermost first */
    uint32_t dw[VGPU_PKT_MAX_DWORDS];   /* the packet's fixed part */
    uint32_t ndw;               /* length of the packet in dwords */
    uint32_t ring_ndw;          /* of the packet in the ring that led here */
    uint64_t done;              /* bytes of the payload */
    int64_t budget;             /* bytes that are left of the time slice */
    bool poll_wptr;             /* wptr is to be read from wptr_addr */
    uint64_t wptr_addr;         /* GPU address */
    uint32_t polls;             /* tries of a POLL_REGMEM or atomic loop */
    int64_t began;              /* atomic loop: start, as VGPUStall.until */
    /* Injected into the packet: packet-inject.c. */
    uint64_t slow;              /* bytes/s; 0: full speed */
    uint64_t wrong_at;          /* offset of the wrong byte in the payload */
    uint8_t wrong_xor;          /* 0: none */
} VGPUExec;

/* Whether MAP_QUEUES has mapped an SDMA queue. */
typedef enum VGPUSdmaMapped {
    VGPU_SDMA_UNMAPPED,
    VGPU_SDMA_MAPPED,
    VGPU_SDMA_LEAVES,           /* to be saved in its MQD */
    VGPU_SDMA_RESETS,           /* to be dropped */
} VGPUSdmaMapped;

/*
 * A queue of an SDMA engine. engine->w.lock, unless a member says otherwise.
 */
typedef struct VGPUQueue {
    uint32_t regs[VGPU_SDMA_QUEUE_SPAN];    /* read atomically */
    uint64_t rptr;              /* bytes, not wrapped at the end of the ring */
    uint64_t wptr;              /* the same */
    uint32_t exception;         /* VGPU_SDMA_EXC_* */
    bool restart;               /* pointers were written: exec is void */
    bool poll_wptr;             /* read wptr from memory once */
    VGPUSdmaMapped mapped;
    bool listed;                /* by a run list */
    bool fixed;                 /* static: stays when others are unmapped */
    uint64_t mqd;               /* GPU address of its MQD, in VMID 0 */
    VGPUWait wait;              /* exec.mem.stall.why while the queue waits */
    VGPUExec exec;              /* the thread's while the queue is current */
} VGPUQueue;

/* An SDMA engine. */
typedef struct VGPUEngine {
    VGPUClient client;
    VGPUState *s;               /* constant, as index */
    unsigned index;             /* number of the engine */
    VGPUWorker w;
    uint8_t hung;               /* injected: 1 + queue that hangs; w.lock */
    bool busy;                  /* has queues that can run; atomic */
    unsigned spent;             /* KiB, to compare busy engines; atomic */
    unsigned lead_waits;        /* how often others went first; thread only */
    uint64_t clock_offset;      /* to vgpu_clock(), in ticks; thread only */
    uint32_t regs[VGPU_SDMA_ENGINE_SPAN];   /* BQL; read atomically */
    VGPUQueue queues[SDMA_NUM_QUEUES];      /* w.lock */
} VGPUEngine;

struct VGPUSdma {
    VGPUEngine engines[SDMA_NUM_ENGINES];
};

/* engine.c: queues, with engine->w.lock held. */

/* Registers allow the queue to run. */
bool vgpu_queue_enabled(const VGPUQueue *q);
/* There is something under way, or something new in the ring. */
bool vgpu_queue_pending(const VGPUQueue *q);
/* The write pointer moved; vgpu_worker_kick() is to follow. */
void vgpu_queue_more(VGPUQueue *q);
/* Pointers or base were written: forget what was under way. */
void vgpu_queue_restart(VGPUEngine *e, VGPUQueue *q);

/* packet.c: what packets do. Engine thread, no lock held. */

typedef enum VGPUStep {
    VGPU_STEP_DONE,             /* go on */
    VGPU_STEP_AGAIN,            /* give others a turn, then go on */
    VGPU_STEP_STALL,            /* exec.stall says what for */
    VGPU_STEP_BAD_PACKET,
    VGPU_STEP_BAD_RING,
    VGPU_STEP_HANG,             /* never: injected */
} VGPUStep;

/* Do a packet of the queue, or a part of it. */
VGPUStep vgpu_packet_step(VGPUEngine *e, VGPUQueue *q);
/*
 * Can exec->dw be a packet in execution? Its length is the header's, and the
 * indirect buffer, whose pos is not past its size, holds all of it. The ring's
 * pointers are not in @x, and not looked at. Any thread.
 */
bool vgpu_packet_valid(const VGPUExec *x);
/* payload.c: the ring field of a queue's interrupts. Any thread. */
uint8_t vgpu_queue_ih_ring(const VGPUEngine *e, const VGPUQueue *q);

/* mqd.c: a queue's image, SDMA_MQD_DWORDS. engine->w.lock held. */

void vgpu_sdma_mqd_save(const VGPUQueue *q, uint32_t *mqd);
/*
 * Registers and work of a queue that is not enabled, then enable it; in @vmid,
 * or (negative) in the image's.
 */
void vgpu_sdma_mqd_load(VGPUEngine *e, VGPUQueue *q, const uint32_t *mqd,
                        int vmid);

/* fetch.c: where packets come from. Engine thread, no lock held. */

/* @n dwords at dword @pos of what is executed: ring or indirect buffer. */
VGPUAccess vgpu_sdma_fetch(VGPUExec *x, uint64_t pos, uint32_t *dw, unsigned n);
/* GPU address of dword @pos, and how many dwords follow without a break. */
uint64_t vgpu_sdma_position(const VGPUExec *x, uint64_t pos, uint64_t *left);
/* The VMID of what is executed: ring or indirect buffer. */
unsigned vgpu_sdma_vmid(const VGPUExec *x);
/* May that do what only a privileged queue may? */
bool vgpu_sdma_priv(const VGPUExec *x);

/* vmstate.c */

/* Can this be a queue's work? It may come from anywhere. */
bool vgpu_exec_valid(const VGPUExec *x);

#endif /* HW_MISC_VGPU_KFD_SDMA_INTERNAL_H */
