/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: the memory side of an AMD gfx90a GPU.
 *
 * docs/hardware.md specifies the device; include/vgpu/ has register names and
 * formats.
 *
 * Locks, outermost first:
 *
 *   BQL          register and doorbell access, realize, reset, run state
 *   worker->lock the queues of an SDMA engine, or the compute queues, which
 *                register accesses and the worker's thread share. A thread
 *                holds at most one, except a chip reset: the CP's, then those
 *                of all engines
 *   s->sdma->share_lock  engines that wait for others (sdma/share.c)
 *   s->lock      fault status, retry CAM, invalidation, interrupt ring
 *   s->inject->lock  injections (inject/inject.c)
 *
 * Each SDMA engine has a thread, the MECs share one (queue/scheduler.h). These
 * threads never take the BQL, so that a holder of the BQL may wait for them: a
 * bottom half sends MSIs, engines access memory only, never another device's
 * registers (memory/phys.c), and a bottom half calls the IOMMU
 * (queue/iommu-requests.c). The thread executes packets with no lock held.
 * Meanwhile worker->current is the queue, and only the thread accesses that
 * queue's exec.
 *
 * Plain registers are written under the BQL and read by any thread, with
 * qatomic_read(): see vgpu_hub_reg().
 *
 * Translations: each client of a hub has a TLB, which only its thread accesses.
 * An entry has the generation of its VMID as of the page walk. An invalidation
 * of all pages increments the generation. An invalidation of a range of pages
 * is added to the hub's log, and a client applies new entries of the log to its
 * TLB before it uses translations again. client->access is odd while the client
 * uses translations: an invalidation is acknowledged when each client that was
 * odd at its start has changed the value.
 */
#ifndef HW_MISC_VGPU_KFD_CORE_VGPU_KFD_H
#define HW_MISC_VGPU_KFD_CORE_VGPU_KFD_H

#include "qemu/units.h"
#include "qemu/stats64.h"
#include "qemu/thread.h"
#include "hw/pci/pci_device.h"
#include "system/hostmem.h"
#include "qom/object.h"

#include "vgpu/model.h"
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
    uint64_t vram_size;         /* bytes: vram=, or the size of memdev= */
    HostMemoryBackend *memdev;  /* NULL: VRAM is the device's own */
    uint64_t visible_vram;      /* size of BAR 0 after reset */
    VGPUHive *hive;             /* NULL: none */
    int32_t node;               /* in the hive; VGPU_NODE_AUTO before realize */
    bool vram_lost_on_reset;
    uint32_t poll_ns;           /* host time that an idle engine spins */
#ifdef VGPU_KFD_DELAYS
    VGPUDelays delays;
#endif

    char *id;                   /* for traces and messages */
    bool removed;               /* injected: surprise removal; BQL, atomic */
    uint32_t inject_armed;      /* kinds that may fire, 1 << kind; atomic */

    /* Blocks, from instance_init to instance_finalize. */
    VGPUInjector *inject;       /* inject/inject.c */
    VGPUMemory *memory;         /* memory/internal.h */
    VGPUIh *ih;                 /* ih/internal.h */
    VGPUWorkers *workers;       /* queue/internal.h */
    VGPUSdma *sdma;             /* sdma/internal.h */
    VGPUCp *cp;                 /* cp/internal.h */
    VGPUPsp *psp;               /* psp/psp.c */
    VGPUPci *pci;               /* pci/internal.h */

    VGPURegs regs;
    /* Written often, by any thread. The members above are mostly read. */
    QemuMutex lock;             /* see the order of locks above */
    Stat64 counters[VGPU_NUM_COUNTERS]; /* VGPU_CNT_*; any thread */
};

#endif /* HW_MISC_VGPU_KFD_CORE_VGPU_KFD_H */
