/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: declarations of cp/, the command processor's compute side (MEC).
 * One worker serves all queues round-robin, in a thread of its own: the CP's
 * thread. The worker's lock guards the queues.
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

/* Number of registers from CP_GC_FIRST on. */
#define CP_NUM_GC_REGS      0x100
#define CP_GC_FIRST         (GC_BASE + 0x1040)

/*
 * An HQD and its queue. Guarded by cp->w.lock, except as noted. VGPUExec
 * describes how queue.exec is guarded.
 */
typedef struct CpQueue {
    VGPUQueue queue;            /* rptr and wptr are in dwords */
    uint32_t regs[CP_HQD_SPAN]; /* HQD registers; read atomically */
    /*
     * Registers that SET_SH_REG sets. Accessed by the CP's thread while the
     * queue is active, and under cp->w.lock while the queue is inactive.
     */
    uint32_t sh[PM4_SH_COMPUTE_COUNT];
    /* The queue stopped on an error. Cleared by a start or a dequeue. */
    bool error;
    /*
     * True if the ring holds AQL packets, false if it holds PM4 packets.
     * Guarded like queue.exec.
     */
    bool aql;
    /*
     * Wptr in memory is ahead of rptr by more than the ring's size. So
     * exec.wptr is limited to rptr plus this size. Guarded like queue.exec.
     */
    bool clamped;
    /* AQL_PHASE_* of the packet at rptr. Guarded like queue.exec. */
    uint32_t phase;
    bool mapped;                /* mapped by MAP_QUEUES */
    bool listed;                /* mapped by a MAP_QUEUES in a run list */
    bool hiq;                   /* mapped as HIQ: executes scheduler packets */
    /* Mapped as a "static" queue: stays mapped at the end of a slice. */
    bool fixed;
    /*
     * True if an unmap that saves the queue has started, but has not written
     * the MQD yet. Accessed by the CP's thread.
     */
    bool unsaved;
} CpQueue;

/* Phase of the scheduler: see the diagram in hws.c. */
typedef enum CpHwsPhase {
    CP_HWS_NONE,                /* there is no run list */
    CP_HWS_SAVE,                /* unmap the queues of the previous slice */
    CP_HWS_MAP,                 /* map the queues of the next slice */
    /*
     * The slice runs for CpHws.quantum ms, or without a time limit if
     * CpHws.whole_list is set.
     */
    CP_HWS_RUN,
} CpHwsPhase;

/*
 * The process of the last MAP_PROCESS in a run list. The MAP_QUEUES packets
 * that follow that MAP_PROCESS map queues of this process.
 */
typedef struct CpProcess {
    bool valid;                 /* false before the first MAP_PROCESS */
    uint16_t pasid;
    uint8_t quantum;            /* time slice in ms */
    uint64_t page_table;        /* value of VM_CONTEXT_PAGE_TABLE_BASE_ADDR */
    /* Values for two registers of the process's VMID. */
    uint32_t sh_mem_bases;
    uint32_t sh_mem_config;
    uint8_t num_gws;            /* number of GWS resources requested */
} CpProcess;

/*
 * The scheduler, which executes a run list in slices: see hws.c. Written by the
 * CP's thread. Another thread may only call vgpu_cp_hws_end().
 */
typedef struct CpHws {
    CpHwsPhase phase;
    /* Number of the queue that submitted the list. */
    uint8_t owner;
    /* Maximum number of processes in a slice; 0 means no limit. */
    uint8_t max_processes;
    uint8_t chains;             /* number of chains in this slice */
    uint8_t quantum;            /* length of this slice in ms */
    /*
     * True if no packets of the list are left for another slice. In that case
     * this slice has no time limit.
     */
    bool whole_list;
    /*
     * A stall of this run list was logged: the first packet of a slice got no
     * free VMID, HQD or other resource, so nothing was mapped.
     */
    bool starved;
    /* The run list, which is in memory. list.pos is the next packet. */
    VGPUIndirect list;
    /*
     * Copy of @list at the start of this slice. Chained lists may form a loop.
     * If @list is at this position again, this slice has mapped the whole loop.
     */
    VGPUIndirect slice;
    CpProcess process;          /* process of the next MAP_QUEUES */
    uint16_t vmids;             /* mask of the VMIDs of mapped processes */
    uint16_t pasids[VGPU_NUM_VMIDS];
    /* Mask of the GWS resources that are allocated to each VMID's process. */
    uint64_t gws[VGPU_NUM_VMIDS];
    /*
     * The worker runs the scheduler like a queue, with queue number
     * CP_NUM_HQDS. The scheduler may wait for the IOMMU, the end of a slice, or
     * an SDMA queue that is in use.
     */
    VGPUQueue queue;
} CpHws;

/*
 * The MECs, with one thread for all HQDs. Registers are written under the BQL,
 * except as noted. Any thread reads them, with qatomic_read().
 */
struct VGPUCp {
    VGPUClient client;
    VGPUState *s;               /* constant */
    VGPUWorker w;
    CpHws hws;
    CpQueue queues[CP_NUM_HQDS];
    uint32_t regs[CP_NUM_GC_REGS];      /* registers from CP_GC_FIRST on */
    uint32_t grbm_gfx_cntl;     /* GRBM_GFX_CNTL: selects an HQD and a VMID */
    uint32_t mec_cntl;          /* halt bits of the two MECs */
    uint32_t schedulers;        /* RLC_CP_SCHEDULERS */
    /*
     * Masks of the last SET_RESOURCES: resources that run lists may use.
     * Accessed by the CP's thread.
     */
    uint64_t queue_mask;        /* mask of HQDs */
    uint16_t vmid_mask;         /* bit 0 is 0: VMID 0 is the kernel's */
    uint64_t gws_mask;
    /*
     * SH_MEM_BASES and SH_MEM_CONFIG of each VMID. Written atomically, by
     * register accesses under the BQL and by the CP's thread without the BQL.
     */
    uint32_t sh_mem_bases[VGPU_NUM_VMIDS];
    uint32_t sh_mem_config[VGPU_NUM_VMIDS];
    /* GDS_GWS_VMIDn registers. Written like @sh_mem_bases. */
    uint32_t gws_vmid[VGPU_NUM_VMIDS];
    /*
     * Values of the HQD registers while GRBM_GFX_CNTL selects no HQD: always 0.
     */
    uint32_t nowhere[CP_HQD_SPAN];
    /* Last captured value of the GPU clock in ticks. Guarded by the BQL. */
    uint64_t clock_captured;
};

/*
 * Return the number that identifies the queue in CpHws.owner and in trace
 * events. The number is below CP_NUM_HQDS. Any thread.
 */
static inline unsigned cp_queue_number(const VGPUCp *cp, const CpQueue *q)
{
    return q - cp->queues;
}

/*
 * Return the value of a pair of HQD registers; @lo is the low half. Any thread.
 */
static inline uint64_t cp_hqd64(const CpQueue *q, unsigned lo)
{
    return qatomic_read(&q->regs[lo]) |
           (uint64_t)qatomic_read(&q->regs[lo + 1]) << 32;
}

/*
 * Functions in hqd.c. The caller holds cp->w.lock. Only functions marked "Any
 * thread" need no lock.
 */

/* Return true if CP_HQD_ACTIVE is set. Any thread. */
bool vgpu_cp_queue_active(const CpQueue *q);
/* Return the size of the ring in dwords (CP_HQD_PQ_CONTROL). Any thread. */
uint64_t vgpu_cp_ring_dwords(const CpQueue *q);
/*
 * Start a queue with the state in the queue's registers: rptr, wptr, position
 * in an indirect buffer, and progress of the AQL packet at rptr (AQL_PHASE_*).
 */
void vgpu_cp_queue_start(VGPUCp *cp, CpQueue *q);
/*
 * Stop an active queue. If the CP's thread executes a packet of @q, or the run
 * list that @q submitted, stop @q after the current step. Otherwise stop @q
 * immediately.
 */
void vgpu_cp_queue_dequeue(VGPUCp *cp, CpQueue *q);
/* Stop a queue immediately and save the queue's progress to its registers. */
void vgpu_cp_queue_stop(VGPUCp *cp, CpQueue *q);
/* Wake a queue whose write pointer may have moved. */
void vgpu_cp_queue_kick(VGPUCp *cp, CpQueue *q);
/*
 * End the run list, but do not unmap the queues of the list. While the CP's
 * thread executes the list (cp->w.current is &cp->hws.queue), no other thread
 * may call this function.
 */
void vgpu_cp_hws_end(VGPUCp *cp);

/* interrupt.c */

/*
 * Stop the queue, and report the error that exec.error and exec.error_bits
 * describe. Called by the CP's thread with cp->w.lock held.
 */
void vgpu_cp_queue_error(VGPUCp *cp, CpQueue *q);
/*
 * Push an interrupt entry with @source (IH_SRC_CP_*) if CP_INT_CNTL of the
 * queue's pipe has a bit of @enable. Called by the CP's thread.
 */
void vgpu_cp_interrupt(VGPUCp *cp, CpQueue *q, unsigned source,
                       uint32_t enable, uint32_t data0);

/*
 * Functions in pm4.c and aql.c. The CP's thread calls them with no lock held.
 */

/* Execute a PM4 packet of the queue, or a part of the packet. */
VGPUStep vgpu_cp_pm4_step(VGPUCp *cp, CpQueue *q);
/* Execute an AQL packet of the queue, or a part of the packet. */
VGPUStep vgpu_cp_aql_step(VGPUCp *cp, CpQueue *q);
/* Pass a PM4 or AQL dispatch packet to the shader unit. */
VGPUStep vgpu_cp_dispatch(VGPUCp *cp, CpQueue *q);
/*
 * Functions in kiq.c: execute packets that only the KIQ and the HIQ may
 * contain. The CP's thread calls them with no lock held.
 */
VGPUStep vgpu_cp_invalidate_tlbs(VGPUCp *cp, CpQueue *kiq);
VGPUStep vgpu_cp_map_queues(VGPUCp *cp, CpQueue *kiq);
VGPUStep vgpu_cp_unmap_queues(VGPUCp *cp, CpQueue *kiq);
VGPUStep vgpu_cp_query_status(VGPUCp *cp, CpQueue *kiq);
VGPUStep vgpu_cp_set_resources(VGPUCp *cp, CpQueue *kiq);

/*
 * Functions in mqd.c. The CP's thread calls them with no lock held. The
 * functions access memory through @x, and set errors in @x.
 */

/*
 * Execute the MAP_QUEUES in @dw. For a packet in a run list, @vmid is the VMID
 * of the queue. For a packet in a ring, @vmid is negative, and the MQD has the
 * VMID. Set *@full to true if no suitable HQD or SDMA queue is free, else to
 * false.
 */
VGPUStep vgpu_cp_hqd_map(VGPUCp *cp, VGPUExec *x, const uint32_t *dw, int vmid,
                         bool *full);
/*
 * Unmap a queue that is not the worker's current queue. Unless @reset is true,
 * also save the queue to the MQD. If the save stalls, return VGPU_STEP_STALL.
 * The caller then calls again until the result is VGPU_STEP_DONE.
 */
VGPUStep vgpu_cp_hqd_unmap(VGPUCp *cp, VGPUExec *x, CpQueue *q, bool reset);

/* Functions in sdma-queues.c. The CP's thread calls them with no lock held. */

/*
 * Return the number of the SDMA engine that dword 1 of a packet selects, or -1
 * if the packet selects no SDMA engine.
 */
int vgpu_cp_sdma_engine(uint32_t dw1);
/*
 * Like vgpu_cp_hqd_map(), for an SDMA engine. *@full must be false; set to true
 * if no suitable queue of the engine is free.
 */
VGPUStep vgpu_cp_sdma_map(VGPUCp *cp, VGPUExec *x, const uint32_t *dw, int vmid,
                          bool *full);
/*
 * Like vgpu_cp_hqd_unmap(), but for an SDMA queue that is mapped or being
 * unmapped. The caller calls again until the result is VGPU_STEP_DONE.
 */
VGPUStep vgpu_cp_sdma_unmap(VGPUCp *cp, VGPUExec *x, unsigned engine,
                            unsigned queue, bool reset);

/* Functions in hws.c. The CP's thread calls them with no lock held. */

/*
 * Execute a RUN_LIST in a ring. The packet completes when the first slice of
 * the run list runs.
 */
VGPUStep vgpu_cp_run_list(VGPUCp *cp, CpQueue *kiq);
/* Free the VMIDs and GWS resources of processes without mapped queues. */
void vgpu_cp_hws_release(VGPUCp *cp);

/* Functions in hws.c. The caller holds cp->w.lock. */

/*
 * Execute a step of the scheduler. Called by the CP's thread. The lock is
 * dropped during the step.
 */
void vgpu_cp_hws_step(VGPUCp *cp);
/*
 * Return true if the scheduler has work now, or will have work when the slice
 * ends.
 */
bool vgpu_cp_hws_pending(const VGPUCp *cp);

/* Functions in gws.c. The CP's thread calls them with no lock held. */

/*
 * Let the process with @vmid have @num contiguous GWS resources, and no others.
 * Return false, without a change, if no @num contiguous resources are free. For
 * this test, the process's old resources count as free.
 */
bool vgpu_cp_gws_grant(VGPUCp *cp, unsigned vmid, unsigned num);
/* Free the GWS resources, if any, of the process with @vmid. */
void vgpu_cp_gws_revoke(VGPUCp *cp, unsigned vmid);
/* Saved state of GWS. The opaque pointer points to VGPUCp. */
extern const VMStateDescription vmstate_vgpu_cp_gws;

/* Functions in load-store.c. The CP's thread calls them with no lock held. */

/* Set exec.error to @error (CP_ERROR_*) and return VGPU_STEP_BAD_PACKET. */
VGPUStep vgpu_cp_packet_error(VGPUExec *x, unsigned error);
/*
 * Write or read a little-endian value of @len bytes. @len is 4 or 8, and @va is
 * rounded down to a multiple of @len.
 */
VGPUStep vgpu_cp_store(VGPUExec *x, uint64_t va, uint64_t val, unsigned len);
VGPUStep vgpu_cp_load(VGPUExec *x, uint64_t va, uint64_t *val, unsigned len);
/*
 * Stall until the main loop has written a register: see vgpu_exec_write_reg().
 * Return VGPU_STEP_BAD_PACKET if the queue is not privileged, or if @reg is
 * beyond BAR 5.
 */
VGPUStep vgpu_cp_write_reg(VGPUExec *x, uint32_t reg, uint32_t val);
/*
 * Read register @reg. Return VGPU_STEP_BAD_PACKET if the queue is not
 * privileged, or if @reg is not a register of a hub.
 */
VGPUStep vgpu_cp_read_reg(VGPUCp *cp, VGPUExec *x, uint32_t reg, uint32_t *val);
/*
 * Wait before the next poll of a value that the guest changes. Each of the
 * first WAIT_TRIES waits lasts until the queue's next time slice. Each further
 * wait lasts 1 ms of virtual time.
 */
VGPUStep vgpu_cp_poll(VGPUExec *x);
/*
 * Like vgpu_cp_poll(), but for a packet that waits for another queue or thread
 * of the device. Further tries are 1 ms of host time apart.
 */
VGPUStep vgpu_cp_poll_device(VGPUExec *x);
/*
 * Fetch @n dwords of the packet, beginning with dword @at of the packet. Return
 * VGPU_STEP_BAD_PACKET after a no-retry fault.
 */
VGPUStep vgpu_cp_fetch(VGPUExec *x, uint64_t at, uint32_t *dw, unsigned n);
/*
 * Read wptr if exec.poll_wptr is set, else write rptr back if exec.writeback is
 * set. Clear the flag, but keep it on VGPU_STEP_STALL.
 */
VGPUStep vgpu_cp_sync_pointers(CpQueue *q);
static inline bool cp_dma_stalls(VGPUDmaResult a)
{
    return a == VGPU_DMA_STALL;
}

#endif /* HW_MISC_VGPU_KFD_CP_INTERNAL_H */
