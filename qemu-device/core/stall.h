/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: the reason why a queue waits in the middle of a packet. The code
 * that executes the packet fills in a VGPUStall; the queue's worker (queue/)
 * ends the wait.
 */
#ifndef HW_MISC_VGPU_KFD_CORE_STALL_H
#define HW_MISC_VGPU_KFD_CORE_STALL_H

/*
 * What a queue waits for in the middle of a packet. The values up to
 * VGPU_WAIT_RETRY are part of the saved state.
 */
typedef enum VGPUWait {
    VGPU_WAIT_NONE,
    /* A new write pointer: the ring does not have the complete packet yet. */
    VGPU_WAIT_WPTR,
    /* The time VGPUStall.until: a poll's next try, or the end of a delay. */
    VGPU_WAIT_POLL,
    /* A register write: requested by the packet, done by the main loop. */
    VGPU_WAIT_REG,
    /*
     * After a retry fault: the driver's acknowledge of the CAM slot
     * VGPUStall.cam.
     */
    VGPU_WAIT_CAM,
    VGPU_WAIT_CAM_FREE,         /* after a retry fault: any free CAM slot */
    /* After a retry fault with the CAM off: next try at VGPUStall.until. */
    VGPU_WAIT_RETRY,
    /*
     * The access read an injected memory error. The queue does not wait, but
     * stops.
     */
    VGPU_WAIT_POISON,
    VGPU_WAIT_IOMMU,            /* reply of the IOMMU (memory/iommu.c) */
    /* Progress of another queue or host thread; next try at VGPUStall.until. */
    VGPU_WAIT_DEVICE,
} VGPUWait;

/*
 * Why an access or a packet waits, and until when. Accessed by the worker's
 * thread while the queue is current, otherwise under the lock of the worker.
 */
typedef struct VGPUStall {
    VGPUWait why;               /* VGPU_WAIT_NONE if the queue does not wait */
    uint8_t hub;                /* hub of the access that faulted: VGPU_HUB_* */
    uint8_t vmid;
    uint8_t cam;                /* for VGPU_WAIT_CAM: slot of the retry CAM */
    bool write;                 /* the access that faulted is a write */
    uint64_t va;                /* GPU address of the fault */
    /* Serial number of the fault; 0 if the fault is not reported yet. */
    uint32_t serial;
    /* Value of vgpu_hub_invalidations() before the access that faulted. */
    uint32_t invs;
    /* Number of this wait, unique within the worker. */
    uint32_t number;
    /*
     * True: the access waits for the IOMMU to reply to the request in
     * VGPUView.iotlb. Then ignore the members other than @number: their values
     * may be those of an earlier retry fault.
     */
    bool iommu;
    /*
     * Time of the next try in ns of QEMU_CLOCK_VIRTUAL. VGPU_WAIT_DEVICE uses
     * QEMU_CLOCK_REALTIME: the virtual clock may stand still while the queue
     * waits for a host thread.
     */
    int64_t until;
} VGPUStall;

#endif /* HW_MISC_VGPU_KFD_CORE_STALL_H */
