/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: declarations shared by the files of queue/. */
#ifndef HW_MISC_VGPU_KFD_QUEUE_INTERNAL_H
#define HW_MISC_VGPU_KFD_QUEUE_INTERNAL_H

#include "hw/misc/vgpu-kfd/memory/client.h"
#include "hw/misc/vgpu-kfd/queue/scheduler.h"

/*
 * The workers of a device. Guarded by the BQL; constant while their threads
 * run.
 */
struct VGPUWorkers {
    /* The worker of each client, indexed by VGPUClient.index. */
    VGPUWorker *by_client[VGPU_NUM_CLIENTS];
};

#endif /* HW_MISC_VGPU_KFD_QUEUE_INTERNAL_H */
