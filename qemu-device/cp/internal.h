/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: the command processor's compute side (MEC): what the files of cp/
 * share.
 *
 * One worker serves all queues round-robin; its lock guards them, as that of
 * an SDMA engine does its queues.
 */
#ifndef HW_MISC_VGPU_KFD_CP_INTERNAL_H
#define HW_MISC_VGPU_KFD_CP_INTERNAL_H

#include "hw/misc/vgpu-kfd/core/vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/memory/client.h"
#include "hw/misc/vgpu-kfd/queue/dma.h"
#include "hw/misc/vgpu-kfd/queue/queue.h"
#include "hw/misc/vgpu-kfd/queue/scheduler.h"
#include "vgpu/cp.h"
#include "vgpu/pm4.h"

#define CP_NUM_GC_REGS      0x100       /* CP registers from CP_GC_FIRST on */
#define CP_GC_FIRST         (GC_BASE + 0x1040)

/* An HQD. cp->w.lock, unless a member says otherwise. */
typedef struct CpQueue {
    VGPUQueue queue;            /* rptr, wptr: dwords */
    uint32_t regs[CP_HQD_SPAN]; /* read atomically */
    /* SET_SH_REG: thread; cp->w.lock while the queue is inactive. */
    uint32_t sh[PM4_SH_COMPUTE_COUNT];
    bool error;                 /* stopped; cleared by a new start */
    bool aql;                   /* ring of AQL packets, not PM4; as exec */
    bool clamped;               /* wptr is beyond the ring's end; as exec */
    uint32_t phase;             /* of the AQL packet at rptr; thread */
    bool mapped;                /* by MAP_QUEUES */
    bool listed;                /* by a MAP_QUEUES in a run list */
    bool hiq;                   /* mapped as HIQ: takes scheduling packets */
    bool fixed;                 /* static: stays when others are unmapped */
    bool unsaved;               /* unmapped, MQD not written; thread */
} CpQueue;

typedef enum CpHwsPhase {
    CP_HWS_NONE,                /* no list */
    CP_HWS_SAVE,                /* its queues leave */
    CP_HWS_MAP,                 /* the next of them come */
    CP_HWS_RUN,                 /* they run; unless settled, for a time */
} CpHwsPhase;

/* MAP_PROCESS of a run list, for the MAP_QUEUES that follow it. */
typedef struct CpProcess {
    bool valid;                 /* there was one */
    uint16_t pasid;
    uint8_t quantum;            /* ms */
    uint64_t page_table;        /* root: as the hubs' registers have it */
    uint32_t sh_mem_bases;      /* register values for its VMID */
    uint32_t sh_mem_config;
    uint8_t num_gws;            /* GWS resources that it requests */
} CpProcess;

/*
 * The scheduler, for the worker a queue more. The list itself stays in memory:
 * this is where we are in it. A slice is what fits the VMIDs and HQDs at a
 * time. The thread's, but phase changes under the lock.
 */
typedef struct CpHws {
    CpHwsPhase phase;
    uint8_t owner;              /* number of the queue with the RUN_LIST */
    uint8_t max_processes;      /* of a slice; 0: no limit */
    uint8_t chains;             /* followed in this slice */
    uint8_t quantum;            /* ms, of this slice */
    bool settled;               /* all that is listed is mapped */
    bool starved;               /* nothing fits: logged once */
    VGPUIndirect list;          /* the run list; pos: next packet */
    VGPUIndirect slice;         /* @list as of the start of this slice */
    CpProcess process;          /* that the next MAP_QUEUES belongs to */
    uint16_t vmids;             /* mask: VMIDs of mapped processes */
    uint16_t pasids[VGPU_NUM_VMIDS];    /* of the processes, by VMID */
    uint64_t gws[VGPU_NUM_VMIDS];       /* mask of GWS resources, by VMID */
    /*
     * The list's packets are in ib[0]. Stalls: for memory, and for the end of
     * the slice.
     */
    VGPUQueue queue;
} CpHws;

/*
 * The MECs: one thread for all HQDs. Registers are written under the BQL and
 * read by any thread, atomically.
 */
struct VGPUCp {
    VGPUClient client;
    VGPUState *s;               /* constant */
    VGPUWorker w;
    CpHws hws;
    CpQueue queues[CP_NUM_HQDS];
    uint32_t regs[CP_NUM_GC_REGS];      /* registers from CP_GC_FIRST on */
    uint32_t grbm_gfx_cntl;     /* register: selected HQD and VMID */
    uint32_t mec_cntl;          /* register CP_MEC_CNTL */
    uint32_t schedulers;        /* register RLC_CP_SCHEDULERS */
    uint64_t queue_mask;        /* SET_RESOURCES: HQDs to choose from; thread */
    uint16_t vmid_mask;         /* VMIDs to choose from; thread */
    uint64_t gws_mask;          /* GWS resources to choose from; thread */
    /* SH_MEM_BASES and SH_MEM_CONFIG, by VMID; also written by the thread. */
    uint32_t sh_mem_bases[VGPU_NUM_VMIDS];
    uint32_t sh_mem_config[VGPU_NUM_VMIDS];
    uint32_t gws_vmid[VGPU_NUM_VMIDS];  /* GDS_GWS_VMIDn; also the thread */
    uint32_t nowhere[CP_HQD_SPAN];      /* HQD registers, if none is selected */
    uint64_t clock_captured;    /* RLC_GPU_CLOCK_COUNT, in ticks; BQL */
};

/* Number of a queue: its place in cp->queues. */
static inline unsigned cp_queue_number(const VGPUCp *cp, const CpQueue *q)
{
    return q - cp->queues;
}

/* A pair of HQD registers, the low half at @lo. Any thread. */
static inline uint64_t cp_hqd64(const CpQueue *q, unsigned lo)
{
    return qatomic_read(&q->regs[lo]) |
           (uint64_t)qatomic_read(&q->regs[lo + 1]) << 32;
}

/* hqd.c. These with cp->w.lock held. */

/* Does the queue run? */
bool vgpu_cp_queue_active(const CpQueue *q);
/* Size of the ring as CP_HQD_PQ_CONTROL says. Any thread. */
uint64_t vgpu_cp_ring_dwords(const CpQueue *q);
/* Take over pointers and place in an indirect buffer from registers. */
void vgpu_cp_queue_start(VGPUCp *cp, CpQueue *q);
/*
 * Leave the HQD: at once, or at the next boundary if the thread is at the
 * queue's packets or at its run list.
 */
void vgpu_cp_queue_dequeue(VGPUCp *cp, CpQueue *q);
/* Leave the HQD now; its registers then say where the queue was. */
void vgpu_cp_queue_stop(VGPUCp *cp, CpQueue *q);
/* Something that the queue may wait for has come. */
void vgpu_cp_queue_kick(VGPUCp *cp, CpQueue *q);
/* The run list is not in force any more; what it mapped stays. */
void vgpu_cp_hws_end(VGPUCp *cp);

/* interrupt.c */

/* The queue stops with exec.error. cp->w.lock held. */
void vgpu_cp_queue_error(VGPUCp *cp, CpQueue *q);

/* Thread. */

/*
 * Interrupt @source with @data0, if the queue's pipe lets @enable
 * (CP_INT_CNTL__*) through.
 */
void vgpu_cp_interrupt(VGPUCp *cp, CpQueue *q, unsigned source,
                       uint32_t enable, uint32_t data0);

/* pm4.c. Thread, no lock held. */

/* Do a packet of the queue, or a part of it. */
VGPUStep vgpu_cp_pm4_step(VGPUCp *cp, CpQueue *q);
/* aql.c: the same, of a queue that holds AQL packets. */
VGPUStep vgpu_cp_aql_step(VGPUCp *cp, CpQueue *q);
/* Dispatch packets of either kind: have the shader unit execute the waves. */
VGPUStep vgpu_cp_dispatch(VGPUCp *cp, CpQueue *q);
/* kiq.c: packets, as the above. */
VGPUStep vgpu_cp_invalidate_tlbs(VGPUCp *cp, CpQueue *kiq);
VGPUStep vgpu_cp_map_queues(VGPUCp *cp, CpQueue *kiq);
VGPUStep vgpu_cp_unmap_queues(VGPUCp *cp, CpQueue *kiq);
VGPUStep vgpu_cp_query_status(VGPUCp *cp, CpQueue *kiq);
VGPUStep vgpu_cp_set_resources(VGPUCp *cp, CpQueue *kiq);

/* mqd.c. Thread, no lock held; memory and errors are @x's. */

/*
 * Do the MAP_QUEUES in @dw. With @vmid not negative the queue is a run list's:
 * it runs in that VMID, and one that is mapped already is left alone.
 * *@full: there is no HQD for it, nothing happened.
 */
VGPUStep vgpu_cp_hqd_map(VGPUCp *cp, VGPUExec *x, const uint32_t *dw, int vmid,
                         bool *full);
/*
 * The queue leaves its HQD, or has left it: save it in its MQD, unless @reset.
 * After a stall, call it again. It is not current.
 */
VGPUStep vgpu_cp_hqd_unmap(VGPUCp *cp, VGPUExec *x, CpQueue *q, bool reset);

/* sdma-queues.c. Thread, no lock held. */

/* The SDMA engine that a packet's dword 1 names; -1: it names none. */
int vgpu_cp_sdma_engine(uint32_t dw1);
/* As vgpu_cp_hqd_map(), for a packet that names an engine. */
VGPUStep vgpu_cp_sdma_map(VGPUCp *cp, VGPUExec *x, const uint32_t *dw, int vmid,
                          bool *full);
/*
 * As vgpu_cp_hqd_unmap(), of a queue that is mapped or leaving. Unless it is
 * VGPU_STEP_DONE, call it again.
 */
VGPUStep vgpu_cp_sdma_unmap(VGPUCp *cp, VGPUExec *x, unsigned engine,
                            unsigned queue, bool reset);

/* hws.c. Thread, no lock held. */

/* RUN_LIST in a ring. */
VGPUStep vgpu_cp_run_list(VGPUCp *cp, CpQueue *kiq);
/* Queues have left: VMIDs of processes that have none are free. */
void vgpu_cp_hws_release(VGPUCp *cp);

/* These with cp->w.lock held. */

/* A step of the scheduler, which is a queue more. Drops the lock. */
void vgpu_cp_hws_step(VGPUCp *cp);
/* Has it something to do, now or when the slice ends? */
bool vgpu_cp_hws_pending(const VGPUCp *cp);

/* gws.c. Thread, no lock held. */

/*
 * The process with @vmid is to have @num resources, whatever it had. False: so
 * many are not free in a row, nothing happened.
 */
bool vgpu_cp_gws_grant(VGPUCp *cp, unsigned vmid, unsigned num);
/* It has left: nobody has them. */
void vgpu_cp_gws_revoke(VGPUCp *cp, unsigned vmid);
/* What of it moves with the machine; of VGPUCp. */
extern const VMStateDescription vmstate_vgpu_cp_gws;

/* load-store.c. Thread, no lock held. */

/* The queue stops with CP_ERROR_@error. */
VGPUStep vgpu_cp_packet_error(VGPUExec *x, unsigned error);
/* 4 or 8 bytes, little endian, at an address that is made to fit them. */
VGPUStep vgpu_cp_store(VGPUExec *x, uint64_t va, uint64_t val, unsigned len);
VGPUStep vgpu_cp_load(VGPUExec *x, uint64_t va, uint64_t *val, unsigned len);
/* As vgpu_exec_write_reg(), if the queue may write registers. */
VGPUStep vgpu_cp_write_reg(VGPUExec *x, uint32_t reg, uint32_t val);
/* Read a register of a hub: engines cannot read others. */
VGPUStep vgpu_cp_read_reg(VGPUCp *cp, VGPUExec *x, uint32_t reg, uint32_t *val);
/*
 * The packet waits for a value of the guest's: try again after others, then
 * less often.
 */
VGPUStep vgpu_cp_poll(VGPUExec *x);
/* The same, for another queue or another thread of the device. */
VGPUStep vgpu_cp_poll_device(VGPUExec *x);
/* @n dwords at dword @at of the packet. */
VGPUStep vgpu_cp_fetch(VGPUExec *x, uint64_t at, uint32_t *dw, unsigned n);
/* Read or write back pointers, as exec.poll_wptr and exec.writeback say. */
VGPUStep vgpu_cp_sync_pointers(CpQueue *q);
static inline bool cp_dma_stalls(VGPUDmaResult a)
{
    return a == VGPU_DMA_STALL;
}

#endif /* HW_MISC_VGPU_KFD_CP_INTERNAL_H */
