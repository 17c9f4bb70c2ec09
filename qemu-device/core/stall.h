/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: why a queue waits in the middle of a packet. The code that executes
 * the packet fills in a VGPUStall; the queue's worker ends the wait (queue/).
 */
#ifndef HW_MISC_VGPU_KFD_CORE_STALL_H
#define HW_MISC_VGPU_KFD_CORE_STALL_H

/*
 * What a queue waits for in the middle of its work. The numbers up to
 * VGPU_WAIT_RETRY are part of the saved state.
 */
typedef enum VGPUWait {
    VGPU_WAIT_NONE,
    VGPU_WAIT_WPTR,             /* the rest of the last packet */
    VGPU_WAIT_POLL,             /* POLL_REGMEM, until @until */
    VGPU_WAIT_REG,              /* register write by the main loop */
    VGPU_WAIT_CAM,              /* retry fault: CAM slot @cam */
    VGPU_WAIT_CAM_FREE,         /* retry fault: any CAM slot */
    VGPU_WAIT_RETRY,            /* retry fault without CAM, until @until */
    VGPU_WAIT_POISON,           /* injected memory error: stops the queue */
    VGPU_WAIT_IOMMU,            /* an IOMMU's reply (memory/iommu.c): @iommu */
    VGPU_WAIT_DEVICE,           /* another queue or thread, until @until */
} VGPUWait;

/*
 * A wait of one access or packet. Accessed by the worker's thread while the
 * queue is current, otherwise under the lock of the worker.
 */
typedef struct VGPUStall {
    VGPUWait why;               /* VGPU_WAIT_NONE: no wait */
    uint8_t hub;                /* VGPU_HUB_* that the access faulted in */
    uint8_t vmid;
    uint8_t cam;                /* VGPU_WAIT_CAM: slot of the retry CAM */
    bool write;                 /* the access that faulted is a write */
    uint64_t va;                /* GPU address of the fault */
    uint32_t serial;            /* of the fault; 0: not reported yet */
    uint32_t invs;              /* vgpu_hub_invalidations() before the access */
    uint32_t number;            /* of this wait, unique in its worker */
    /*
     * The access waits for a reply in VGPUView.iotlb. The other members still
     * describe the stall before that, such as a retry fault.
     */
    bool iommu;
    /*
     * When to try again, ns. POLL, RETRY: QEMU_CLOCK_VIRTUAL, since the guest
     * can see these times. DEVICE: QEMU_CLOCK_REALTIME, since the wait is for
     * another host thread.
     */
    int64_t until;
} VGPUStall;

#endif /* HW_MISC_VGPU_KFD_CORE_STALL_H */
