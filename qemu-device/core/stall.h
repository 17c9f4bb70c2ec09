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
    VGPU_WAIT_WPTR,             /* write pointer: the packet is not complete */
    VGPU_WAIT_POLL,             /* poll or delay: next try at @until */
    VGPU_WAIT_REG,              /* the main loop writes a register */
    VGPU_WAIT_CAM,              /* retry fault: acknowledge of slot @cam */
    VGPU_WAIT_CAM_FREE,         /* retry fault: any free CAM slot */
    VGPU_WAIT_RETRY,            /* retry fault, CAM off: next try at @until */
    VGPU_WAIT_POISON,           /* injected memory error: stops the queue */
    VGPU_WAIT_IOMMU,            /* reply of the IOMMU (memory/iommu.c) */
    VGPU_WAIT_DEVICE,           /* queue or host thread: next try at @until */
} VGPUWait;

/*
 * The wait of an access or a packet. Accessed by the worker's thread while the
 * queue is current, otherwise under the lock of the worker.
 */
typedef struct VGPUStall {
    VGPUWait why;               /* VGPU_WAIT_NONE: no wait */
    uint8_t hub;                /* hub of the access that faulted: VGPU_HUB_* */
    uint8_t vmid;
    uint8_t cam;                /* for VGPU_WAIT_CAM: slot of the retry CAM */
    bool write;                 /* the access that faulted is a write */
    uint64_t va;                /* GPU address of the fault */
    uint32_t serial;            /* number of the fault; 0: not reported yet */
    uint32_t invs;              /* vgpu_hub_invalidations() before the access */
    uint32_t number;            /* number of this wait, unique in its worker */
    /*
     * The access waits for a reply of the IOMMU in VGPUView.iotlb. The other
     * members still describe the stall before this wait, such as a retry fault.
     */
    bool iommu;
    /*
     * Time of the next try in ns. For VGPU_WAIT_POLL and VGPU_WAIT_RETRY the
     * clock is QEMU_CLOCK_VIRTUAL, since the guest can see these times. For
     * VGPU_WAIT_DEVICE the clock is QEMU_CLOCK_REALTIME, since another host
     * thread ends the wait.
     */
    int64_t until;
} VGPUStall;

#endif /* HW_MISC_VGPU_KFD_CORE_STALL_H */
