/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: the command processor's compute side (MEC): declarations shared by
 * the files of cp/.
 *
 * One worker serves all queues round-robin; the worker's lock guards them.
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

/* An HQD. cp->w.lock, except as noted. */
typedef struct CpQueue {
    VGPUQueue queue;            /* rptr, wptr: dwords */
    uint32_t regs[CP_HQD_SPAN]; /* read atomically */
    /* SET_SH_REG: thread; cp->w.lock while the queue is inactive. */
    uint32_t sh[PM4_SH_COMPUTE_COUNT];
    bool error;                 /* stopped, until the queue starts again */
    bool aql;                   /* AQL packets, not PM4; locking as exec */
    bool clamped;               /* wptr cut to the ring; locking as exec */
    uint32_t phase;             /* of the AQL packet at rptr; thread */
    bool mapped;                /* by MAP_QUEUES */
    bool listed;                /* by a MAP_QUEUES in a run list */
    bool hiq;                   /* mapped as HIQ: runs scheduler packets */
    bool fixed;                 /* static: NON_STATIC and run lists keep it */
    bool unsaved;               /* unmapped, MQD not written; thread */
} CpQueue;

/* Phase of the scheduler: see the picture in hws.c. */
typedef enum CpHwsPhase {
    CP_HWS_NONE,                /* no run list */
    CP_HWS_SAVE,                /* unmaps the queues of the last slice */
    CP_HWS_MAP,                 /* maps the queues of the next slice */
    CP_HWS_RUN,                 /* the slice runs: for @quantum, or settled */
} CpHwsPhase;

/* The last MAP_PROCESS of a run list, for the MAP_QUEUES that follow. */
typedef struct CpProcess {
    bool valid;                 /* false: no MAP_PROCESS yet */
    uint16_t pasid;
    uint8_t quantum;            /* ms */
    uint64_t page_table;        /* VM_CONTEXT_PAGE_TABLE_BASE_ADDR */
    uint32_t sh_mem_bases;      /* register value for the process's VMID */
    uint32_t sh_mem_config;     /* register value for the process's VMID */
    uint8_t num_gws;            /* number of GWS resources requested */
} CpProcess;

/*
 * The scheduler, which the worker serves as one more queue. The run list stays
 * in memory; these are the positions in it. A slice is a part of the list that
 * fits the VMIDs and HQDs. Accessed by the thread. Other threads may set @phase
 * to CP_HWS_NONE, under the lock, while the scheduler is not current.
 */
typedef struct CpHws {
    CpHwsPhase phase;
    uint8_t owner;              /* number of the queue with the RUN_LIST */
    uint8_t max_processes;      /* in a slice; 0: no limit */
    uint8_t chains;             /* chained lists entered in this slice */
    uint8_t quantum;            /* ms, of this slice */
    bool settled;               /* all queues of the list are mapped */
    bool starved;               /* a packet cannot be mapped: logged once */
    VGPUIndirect list;          /* the run list; pos: next packet */
    VGPUIndirect slice;         /* @list at the start of this slice */
    CpProcess process;          /* process of the next MAP_QUEUES */
    uint16_t vmids;             /* mask: VMIDs of mapped processes */
    uint16_t pasids[VGPU_NUM_VMIDS];    /* of the processes, by VMID */
    uint64_t gws[VGPU_NUM_VMIDS];       /* mask of GWS resources, by VMID */
    /*
     * exec.ib[0] is the list. Stalls for memory, and for the end of the slice.
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
    /* SET_RESOURCES: masks of what the scheduler may use. Thread. */
    uint64_t queue_mask;        /* HQDs */
    uint16_t vmid_mask;         /* VMIDs */
    uint64_t gws_mask;          /* GWS resources */
    /* SH_MEM_BASES and SH_MEM_CONFIG, by VMID; also written by the thread. */
    uint32_t sh_mem_bases[VGPU_NUM_VMIDS];
    uint32_t sh_mem_config[VGPU_NUM_VMIDS];
    uint32_t gws_vmid[VGPU_NUM_VMIDS];  /* GDS_GWS_VMIDn; also the thread */
    uint32_t nowhere[CP_HQD_SPAN];      /* store if no HQD is selected */
    uint64_t clock_captured;    /* RLC_GPU_CLOCK_COUNT, in ticks; BQL */
};

/* Number of a queue: its place in cp->queues. */
static inline unsigned cp_queue_number(const VGPUCp *cp, const CpQueue *q)
{
    return q - cp->queues;
}

/* Read a pair of HQD registers, the low half at @lo. Any thread. */
static inline uint64_t cp_hqd64(const CpQueue *q, unsigned lo)
{
    return qatomic_read(&q->regs[lo]) |
           (uint64_t)qatomic_read(&q->regs[lo + 1]) << 32;
}

/* hqd.c. Called with cp->w.lock held. */

/* Return whether CP_HQD_ACTIVE is set. Any thread. */
bool vgpu_cp_queue_active(const CpQueue *q);
/* Return the size of the ring from CP_HQD_PQ_CONTROL. Any thread. */
uint64_t vgpu_cp_ring_dwords(const CpQueue *q);
/* Start a queue from its registers: pointers, position in a buffer, phase. */
void vgpu_cp_queue_start(VGPUCp *cp, CpQueue *q);
/*
 * Stop an active queue: at once, or after the current step if the thread
 * executes a packet of the queue or the run list that the queue submitted.
 */
void vgpu_cp_queue_dequeue(VGPUCp *cp, CpQueue *q);
/* Stop a queue now and save its progress to its registers. */
void vgpu_cp_queue_stop(VGPUCp *cp, CpQueue *q);
/* Wake a queue whose write pointer may have moved. */
void vgpu_cp_queue_kick(VGPUCp *cp, CpQueue *q);
/* End the run list; queues that it mapped stay mapped. */
void vgpu_cp_hws_end(VGPUCp *cp);

/* interrupt.c */

/*
 * Stop the queue with exec.error and exec.error_bits, and report the error.
 * Thread, cp->w.lock held.
 */
void vgpu_cp_queue_error(VGPUCp *cp, CpQueue *q);
/*
 * Push an interrupt of the queue: @source with @data0, if CP_INT_CNTL of the
 * queue's pipe has a bit of @enable (CP_INT_CNTL__*). Thread.
 */
void vgpu_cp_interrupt(VGPUCp *cp, CpQueue *q, unsigned source,
                       uint32_t enable, uint32_t data0);

/* pm4.c. Called by the thread with no lock held. */

/* Execute a packet of the queue, or a part of it. */
VGPUStep vgpu_cp_pm4_step(VGPUCp *cp, CpQueue *q);
/* aql.c: as vgpu_cp_pm4_step(), for a queue with AQL packets. */
VGPUStep vgpu_cp_aql_step(VGPUCp *cp, CpQueue *q);
/* Execute a PM4 or AQL dispatch packet by the shader unit. */
VGPUStep vgpu_cp_dispatch(VGPUCp *cp, CpQueue *q);
/* kiq.c: packets of schedulers. Called by the thread with no lock held. */
VGPUStep vgpu_cp_invalidate_tlbs(VGPUCp *cp, CpQueue *kiq);
VGPUStep vgpu_cp_map_queues(VGPUCp *cp, CpQueue *kiq);
VGPUStep vgpu_cp_unmap_queues(VGPUCp *cp, CpQueue *kiq);
VGPUStep vgpu_cp_query_status(VGPUCp *cp, CpQueue *kiq);
VGPUStep vgpu_cp_set_resources(VGPUCp *cp, CpQueue *kiq);

/*
 * mqd.c. Called by the thread with no lock held. Memory is accessed and errors
 * are set in @x.
 */

/*
 * Execute the MAP_QUEUES in @dw. @vmid: VMID of a queue in a run list, which is
 * left as it is if it is mapped already; negative: no run list. *@full is set
 * if no HQD is free; then nothing was done.
 */
VGPUStep vgpu_cp_hqd_map(VGPUCp *cp, VGPUExec *x, const uint32_t *dw, int vmid,
                         bool *full);
/*
 * Unmap a queue, which is not current, and save it to its MQD unless @reset.
 * After VGPU_STEP_STALL, call again: the queue has left its HQD, and is saved.
 */
VGPUStep vgpu_cp_hqd_unmap(VGPUCp *cp, VGPUExec *x, CpQueue *q, bool reset);

/* sdma-queues.c. Called by the thread with no lock held. */

/* Return the SDMA engine in dword 1 of a packet; -1: no SDMA engine. */
int vgpu_cp_sdma_engine(uint32_t dw1);
/* As vgpu_cp_hqd_map(), for a packet with an SDMA engine. */
VGPUStep vgpu_cp_sdma_map(VGPUCp *cp, VGPUExec *x, const uint32_t *dw, int vmid,
                          bool *full);
/*
 * As vgpu_cp_hqd_unmap(), for an SDMA queue that is mapped or being unmapped.
 * Call again until the result is VGPU_STEP_DONE.
 */
VGPUStep vgpu_cp_sdma_unmap(VGPUCp *cp, VGPUExec *x, unsigned engine,
                            unsigned queue, bool reset);

/* hws.c. Called by the thread with no lock held. */

/* Execute a RUN_LIST in a ring: wait until the first slice runs. */
VGPUStep vgpu_cp_run_list(VGPUCp *cp, CpQueue *kiq);
/* Free the VMIDs and GWS resources of processes without mapped queues. */
void vgpu_cp_hws_release(VGPUCp *cp);

/* hws.c. Called with cp->w.lock held. */

/* Run a step of the scheduler. Thread. Drops the lock. */
void vgpu_cp_hws_step(VGPUCp *cp);
/* Return whether the scheduler has work, now or when the slice ends. */
bool vgpu_cp_hws_pending(const VGPUCp *cp);

/* gws.c. Called by the thread with no lock held. */

/*
 * Give @num GWS resources to the process with @vmid, instead of those it has.
 * Return false if that many contiguous ones are not free; then nothing was
 * done.
 */
bool vgpu_cp_gws_grant(VGPUCp *cp, unsigned vmid, unsigned num);
/* Free the GWS resources of the process with @vmid. */
void vgpu_cp_gws_revoke(VGPUCp *cp, unsigned vmid);
/* Saved state of GWS; of VGPUCp. */
extern const VMStateDescription vmstate_vgpu_cp_gws;

/* load-store.c. Called by the thread with no lock held. */

/* Set exec.error to @error, CP_ERROR_*. Return VGPU_STEP_BAD_PACKET. */
VGPUStep vgpu_cp_packet_error(VGPUExec *x, unsigned error);
/* Write or read @len bytes, 4 or 8, little endian; @va is rounded down. */
VGPUStep vgpu_cp_store(VGPUExec *x, uint64_t va, uint64_t val, unsigned len);
VGPUStep vgpu_cp_load(VGPUExec *x, uint64_t va, uint64_t *val, unsigned len);
/* As vgpu_exec_write_reg(); an error if the queue is not privileged. */
VGPUStep vgpu_cp_write_reg(VGPUExec *x, uint32_t reg, uint32_t val);
/*
 * Read a register of a hub; an error if the queue is not privileged, or @reg is
 * another register.
 */
VGPUStep vgpu_cp_read_reg(VGPUCp *cp, VGPUExec *x, uint32_t reg, uint32_t *val);
/*
 * The packet waits for a value of the guest: try again in the next time slice,
 * after WAIT_TRIES tries once per ms of virtual time.
 */
VGPUStep vgpu_cp_poll(VGPUExec *x);
/* As vgpu_cp_poll(), for another queue or thread of the device: host time. */
VGPUStep vgpu_cp_poll_device(VGPUExec *x);
/* Fetch @n dwords from dword @at of the packet on; an error after a fault. */
VGPUStep vgpu_cp_fetch(VGPUExec *x, uint64_t at, uint32_t *dw, unsigned n);
/* Read wptr if exec.poll_wptr is set, or write back rptr if exec.writeback. */
VGPUStep vgpu_cp_sync_pointers(CpQueue *q);
static inline bool cp_dma_stalls(VGPUDmaResult a)
{
    return a == VGPU_DMA_STALL;
}

#endif /* HW_MISC_VGPU_KFD_CP_INTERNAL_H */
