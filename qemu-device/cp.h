/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: the command processor's compute side (MEC): its parts among
 * themselves.
 *
 *   cp.c         registers, selection, doorbells
 *   cp-hqd.c     queues as their thread sees them
 *   cp-access.c  memory as packets use it
 *   cp-pm4.c     PM4 packets of any queue
 *   cp-aql.c     AQL packets
 *   cp-kiq.c     packets that map queues
 *   cp-vmstate.c what is saved
 *
 * One worker serves all queues in turn; its lock guards them, as that of an
 * SDMA engine does its queues.
 */
#ifndef HW_MISC_VGPU_KFD_CP_H
#define HW_MISC_VGPU_KFD_CP_H

#include "vgpu-kfd.h"
#include "vgpu/cp.h"
#include "vgpu/pm4.h"

#define CP_PKT_MAX_DWORDS   16          /* fixed part that is fetched */
#define CP_NUM_GC_REGS      0x100       /* CP registers from CP_GC_FIRST on */
#define CP_GC_FIRST         (GC_BASE + 0x1040)

/* How a packet left the thread. */
typedef enum CpStep {
    CP_STEP_DONE,               /* go on */
    CP_STEP_AGAIN,              /* more of the same packet; others first */
    CP_STEP_STALL,              /* exec.mem.stall says what for */
    CP_STEP_BAD,                /* exec.error: the queue stops */
} CpStep;

/* The work of a queue, kept over stalls. See VGPUExec for who may touch it. */
typedef struct CpExec {
    VGPUView mem;
    /* The HQD as of the packet's start or resumption. Pointers in dwords. */
    uint64_t ring_base;
    uint64_t ring_dwords;
    uint64_t rptr;
    uint64_t wptr;
    uint64_t rptr_addr;         /* 0: rptr is not reported */
    uint64_t wptr_addr;
    uint8_t vmid;
    bool aql;
    bool priv;                  /* may write registers, select VMIDs */
    bool poll_wptr;             /* wptr is to be read from wptr_addr */
    bool report;                /* rptr is to be reported */
    bool clamped;               /* there is more to wptr than fits the ring */
    bool in_ib;
    VGPUIndirect ib;
    bool packet;                /* dw holds a packet in execution */
    uint32_t dw[CP_PKT_MAX_DWORDS];
    uint32_t ndw;               /* its length in dwords */
    uint32_t fetched;           /* of which are in dw */
    uint32_t done;              /* steps, or dwords of payload */
    uint32_t tries;             /* of a wait */
    int budget;                 /* dwords and steps left of the turn */
    /* A register write that waits for the main loop: VGPU_WAIT_REG. */
    uint32_t reg;
    uint32_t reg_val;
    unsigned error;             /* CP_ERROR_* */
    uint32_t error_bits;        /* CP_HQD_ERROR__* */
    bool priv_error;            /* register access without privilege */
} CpExec;

typedef struct CpQueue {
    uint32_t regs[CP_HQD_SPAN];
    uint32_t sh[PM4_SH_COMPUTE_COUNT];  /* SET_SH_REG; thread, or inactive */
    uint64_t rptr;              /* dwords, counting on like wptr */
    uint64_t wptr;
    bool poll_wptr;             /* read wptr from memory once */
    bool error;                 /* stopped; cleared by a new start */
    uint32_t phase;             /* of the AQL packet at rptr; thread */
    bool mapped;                /* by MAP_QUEUES */
    bool hiq;                   /* as HIQ: takes scheduling packets */
    bool fixed;                 /* static: stays when others are unmapped */
    bool unsaved;               /* unmapped, MQD not written; thread */
    bool dequeue;               /* leave the HQD at the packet's boundary */
    VGPUWait wait;              /* exec.mem.stall.why, while it lasts */
    CpExec exec;
} CpQueue;

struct VGPUCp {
    VGPUClient client;
    VGPUState *s;
    VGPUWorker w;
    CpQueue queues[CP_NUM_HQDS];
    uint32_t regs[CP_NUM_GC_REGS];      /* BQL; read atomically */
    uint32_t grbm_gfx_cntl;
    uint32_t mec_cntl;
    uint32_t schedulers;
    uint64_t queue_mask;        /* SET_RESOURCES: HQDs to choose from */
    uint32_t sh_mem_bases[VGPU_NUM_VMIDS];
    uint32_t sh_mem_config[VGPU_NUM_VMIDS];
    uint32_t nowhere[CP_HQD_SPAN];      /* no queue is selected */
};

/* Number of a queue: its place in cp->queues. */
static inline unsigned cp_number(const VGPUCp *cp, const CpQueue *q)
{
    return q - cp->queues;
}

/* A pair of HQD registers, the low half at @lo. Any thread. */
static inline uint64_t cp_hqd64(const CpQueue *q, unsigned lo)
{
    return qatomic_read(&q->regs[lo]) |
           (uint64_t)qatomic_read(&q->regs[lo + 1]) << 32;
}

/* cp-hqd.c. These with cp->w.lock held. */

/* Does the queue run? */
bool vgpu_cp_queue_active(const CpQueue *q);
/* Take over pointers and place in an indirect buffer from registers. */
void vgpu_cp_queue_start(VGPUCp *cp, CpQueue *q);
/* Leave the HQD: at once, or at the next boundary if it is current. */
void vgpu_cp_queue_dequeue(VGPUCp *cp, CpQueue *q);
/* Something that the queue may wait for has come. */
void vgpu_cp_queue_kick(VGPUCp *cp, CpQueue *q);

/* Thread, no lock held. */

/*
 * Interrupt @source with @data0, if the queue's pipe lets @enable
 * (CP_INT_CNTL__*) through.
 */
void vgpu_cp_interrupt(VGPUCp *cp, CpQueue *q, unsigned source,
                       uint32_t enable, uint32_t data0);

/* cp-pm4.c. Thread, no lock held. */

/* Do a packet of the queue, or a part of it. */
CpStep vgpu_cp_pm4_step(VGPUCp *cp, CpQueue *q);
/* cp-aql.c: the same, of a queue that holds AQL packets. */
CpStep vgpu_cp_aql_step(VGPUCp *cp, CpQueue *q);
/* The main loop writes the register, then counts exec.done up. */
CpStep vgpu_cp_write_reg(CpExec *x, uint32_t reg, uint32_t val);
/* cp-kiq.c: packets, as the above. */
CpStep vgpu_cp_invalidate_tlbs(VGPUCp *cp, CpQueue *kiq);
CpStep vgpu_cp_map_queues(VGPUCp *cp, CpQueue *kiq);
CpStep vgpu_cp_unmap_queues(VGPUCp *cp, CpQueue *kiq);
CpStep vgpu_cp_query_status(VGPUCp *cp, CpQueue *kiq);
CpStep vgpu_cp_set_resources(VGPUCp *cp, CpQueue *kiq);

/* cp-access.c. Thread, no lock held. */

/* The queue stops with CP_ERROR_@error. */
CpStep vgpu_cp_bad(CpExec *x, unsigned error);
/* 4 or 8 bytes, little endian, at an address that is made to fit them. */
CpStep vgpu_cp_store(CpExec *x, uint64_t va, uint64_t val, unsigned len);
CpStep vgpu_cp_load(CpExec *x, uint64_t va, uint64_t *val, unsigned len);
/* The packet waits for a value: try again after others. */
CpStep vgpu_cp_wait(CpExec *x);
/* @n dwords at dword @at of the packet. */
CpStep vgpu_cp_fetch(CpExec *x, uint64_t at, uint32_t *dw, unsigned n);
/* Read wptr or report rptr, as exec.poll_wptr and exec.report say. */
CpStep vgpu_cp_pointers(CpExec *x);
static inline bool cp_stalls(VGPUAccess a)
{
    return a == VGPU_ACCESS_STALL;
}

/*
 * The shader unit's place. A dispatch packet of @q has come: @q->sh holds the
 * compute registers (program, resources, user data), exec.dw the packet, and
 * exec.mem is memory as the waves see it. The unit will run the waves a bounded
 * number of instructions a call, and return CP_STEP_AGAIN until they are done,
 * or CP_STEP_STALL when an access faults: vgpu_access_*() then has filled in
 * exec.mem.stall, and the call is repeated when the fault is resolved. There is
 * no unit yet: the queue stops with an error.
 */
CpStep vgpu_shader_dispatch(VGPUCp *cp, CpQueue *q);

#endif /* HW_MISC_VGPU_KFD_CP_H */
