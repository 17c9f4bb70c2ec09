/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: the memory side of an AMD gfx90a GPU: see docs/hardware.md. */

/*
 * Locks, outermost first, and what each guards:
 *
 *   BQL               CPU accesses to registers, realize, reset, run state
 *   worker->lock      queues of a worker (queue/scheduler.h)
 *   sdma->share_lock  waits of engines for other engines (sdma/share.c)
 *   s->lock           fault status, retry CAM, invalidations, interrupt rings
 *   inject->lock      injections (inject/inject.c)
 *   hive->lock        devices of an XGMI hive (memory/xgmi.c)
 */

/*
 * A thread holds the lock of at most one worker. Exception: a chip reset takes
 * the lock of the CP's worker, and then those of all engines' workers.
 */

/*
 * A worker's thread never takes the BQL, so a holder of the BQL may wait for
 * the thread. Bottom halves do the work that needs the BQL.
 *
 * While a worker's thread sleeps, a thread that holds the BQL may run a queue
 * in its place (vgpu_worker_run_here()). Comments then call this thread, too,
 * the worker's, the engine's or the client's thread. So the execution of a
 * packet must not wait for a holder of the BQL or for a worker.
 */
#ifndef HW_MISC_VGPU_KFD_CORE_VGPU_KFD_H
#define HW_MISC_VGPU_KFD_CORE_VGPU_KFD_H

#include "qemu/units.h"
#include "qemu/stats64.h"
#include "qemu/thread.h"
#include "hw/pci/pci_device.h"
#include "system/hostmem.h"
#include "qom/object.h"

#include "vgpu/device_info.h"
#include "hw/misc/vgpu-kfd/core/delay.h"
#include "hw/misc/vgpu-kfd/core/regs.h"

#define TYPE_VGPU_KFD "vgpu-kfd"
OBJECT_DECLARE_SIMPLE_TYPE(VGPUState, VGPU_KFD)

typedef struct VGPUCp VGPUCp;
typedef struct VGPUHive VGPUHive;
typedef struct VGPUIh VGPUIh;
typedef struct VGPUInjector VGPUInjector;
typedef struct VGPUMemory VGPUMemory;
typedef struct VGPUPci VGPUPci;
typedef struct VGPUPsp VGPUPsp;
typedef struct VGPUSdma VGPUSdma;
typedef struct VGPUWorkers VGPUWorkers;

/*
 * The device. A member without a lock in its comment is constant from realize
 * to unrealize.
 */
struct VGPUState {
    PCIDevice parent_obj;

    /* Properties. */
    /* Size of VRAM in bytes: property vram, or the size of @memdev. */
    uint64_t vram_size;
    /* Backend for VRAM; NULL if the device allocates VRAM. */
    HostMemoryBackend *memdev;
    uint64_t visible_vram;      /* size of BAR 0 after a reset, in bytes */
    VGPUHive *hive;             /* hive to join, or NULL */
    /* Node number in the hive. VGPU_NODE_AUTO: realize chooses the number. */
    int32_t node;
    bool vram_lost_on_reset;
    uint32_t poll_ns;           /* ns of host time that an idle engine spins */
    uint32_t inline_bytes;      /* payload that a doorbell executes itself */
#ifdef VGPU_KFD_DELAYS
    VGPUDelays delays;
#endif

    char *id;                   /* name in trace events and messages */
    /*
     * Set by a surprise removal, and at the end of unrealize. Written under the
     * BQL, read atomically.
     */
    bool removed;
    /* Bit n: injections of kind n may fire. Accessed atomically. */
    uint32_t inject_armed;

    /*
     * Blocks of the device. The comment at each member names the file that
     * defines its struct. Allocated in instance_init, freed in
     * instance_finalize.
     */
    VGPUInjector *inject;       /* in inject/inject.c */
    VGPUMemory *memory;         /* in memory/internal.h */
    VGPUIh *ih;                 /* in ih/internal.h */
    VGPUWorkers *workers;       /* in queue/internal.h */
    VGPUSdma *sdma;             /* in sdma/internal.h */
    VGPUCp *cp;                 /* in cp/internal.h */
    VGPUPsp *psp;               /* in psp/psp.c */
    VGPUPci *pci;               /* in pci/internal.h */

    VGPURegs regs;
    /*
     * Many threads often write the members below. These are at the end, away
     * from the members above, which are mostly read.
     */
    /* See the list of locks at the top of this file. */
    QemuMutex lock;
    /* Event counters, indexed by VGPU_CNT_*. Accessed by any thread. */
    Stat64 counters[VGPU_NUM_COUNTERS];
};

#endif /* HW_MISC_VGPU_KFD_CORE_VGPU_KFD_H */
