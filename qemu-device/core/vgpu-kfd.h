/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: the memory side of an AMD gfx90a GPU.
 *
 * What the device does is written down in docs/hardware.md; register names
 * and formats are in include/vgpu/.
 *
 * Locks, outermost first:
 *
 *   BQL          register and doorbell access, realize, reset, run state
 *   worker->lock an SDMA engine's queues or the compute queues, between
 *                register access and thread; of one worker only, but for a
 *                chip reset, which takes the CP's, then those of all engines
 *   s->lock      fault status, retry CAM, invalidation, interrupt ring
 *   s->inject.lock  injections (inject/inject.h)
 *
 * Each SDMA engine has a thread, the MECs share one (queue/scheduler.h). It
 * never takes the BQL, so that whoever holds the BQL may wait for it:
 * interrupts leave through a bottom half, engines reach memory only, never
 * another device's registers (phys.c), and a bottom half calls the IOMMU
 * (bus.c). The thread executes packets with no lock held. While it does,
 * worker->current is the queue, and only the thread touches that queue's exec.
 *
 * Plain registers are written under the BQL and read by anybody, by
 * qatomic_read(): vgpu_hub_reg() and the like.
 *
 * Translations: every client of a hub has a TLB of its own, which only its
 * thread touches. An entry carries the generation of its VMID; an invalidation
 * of everything increments the generation. One of a range of pages goes into
 * the hub's log, and clients do what is new there before they use translations
 * again. client->access is odd while the client uses translations, so that an
 * invalidation can tell when the old ones are gone.
 */
#ifndef HW_MISC_VGPU_KFD_H
#define HW_MISC_VGPU_KFD_H

#include "qemu/units.h"
#include "qemu/stats64.h"
#include "qemu/thread.h"
#include "hw/pci/pci_device.h"
#include "system/hostmem.h"
#include "qom/object.h"

#include "hw/misc/vgpu-kfd/core/clock.h"
#include "hw/misc/vgpu-kfd/core/delay.h"
#include "hw/misc/vgpu-kfd/core/regs.h"
#include "hw/misc/vgpu-kfd/core/stall.h"
#include "hw/misc/vgpu-kfd/inject/inject.h"
#include "hw/misc/vgpu-kfd/ih/fault.h"
#include "hw/misc/vgpu-kfd/ih/internal.h"
#include "hw/misc/vgpu-kfd/memory/client.h"
#include "hw/misc/vgpu-kfd/memory/internal.h"
#include "hw/misc/vgpu-kfd/memory/memory.h"
#include "hw/misc/vgpu-kfd/memory/phys.h"
#include "hw/misc/vgpu-kfd/memory/vram.h"
#include "hw/misc/vgpu-kfd/memory/xgmi.h"
#include "hw/misc/vgpu-kfd/queue/dma.h"
#include "hw/misc/vgpu-kfd/queue/scheduler.h"
#include "vgpu/bits.h"
#include "vgpu/cp.h"
#include "vgpu/gmc.h"
#include "vgpu/ih.h"
#include "vgpu/model.h"
#include "vgpu/nbio.h"
#include "vgpu/pci.h"
#include "vgpu/pte.h"
#include "vgpu/sdma.h"

#define TYPE_VGPU_KFD "vgpu-kfd"
OBJECT_DECLARE_SIMPLE_TYPE(VGPUState, VGPU_KFD)

typedef struct VGPUCp VGPUCp;

#define VGPU_CHUNK              (2 * MiB)   /* bytes between quiescent points */
#define VGPU_PKT_MAX_DWORDS     16          /* longest fixed part of a packet */

/* Blocks of registers that are kept as arrays, in dwords. */
#define VGPU_NBIO_SPAN          (BIF_SDMA4_DOORBELL_RANGE - NBIO_BASE + 1)
#define VGPU_PCIE_SPAN          (PCIE_DATA2 - MM_INDEX + 1)
#define VGPU_SDMA_ENGINE_SPAN   SDMA_QUEUE(0)
#define VGPU_SDMA_QUEUE_SPAN    (SDMA_QUEUE(1) - SDMA_QUEUE(0))

/*
 * The work of a queue, kept over stalls. While the queue is current it belongs
 * to the engine's thread, otherwise to engine->w.lock.
 */
typedef struct VGPUExec {
    /* The queue's registers as of the packet's start or resumption. */
    uint64_t ring_base;
    uint64_t ring_bytes;
    uint64_t rptr_addr;
    uint64_t rptr;
    uint64_t wptr;
    uint8_t ring_vmid;
    bool priv;
    bool rptr_writeback;
    bool trap_enable;

    VGPUView mem;               /* faulted: since the packet's start */
    bool packet;                /* dw holds a packet in execution */
    bool writeback;             /* rptr is to be written back */
    unsigned ib_depth;
    VGPUIndirect ib[2];
    uint32_t dw[VGPU_PKT_MAX_DWORDS];
    uint32_t ndw;               /* length of the packet in dwords */
    uint32_t ring_ndw;          /* of the packet in the ring that led here */
    uint64_t done;              /* bytes of the payload */
    int64_t budget;             /* bytes that are left of the turn */
    bool poll_wptr;             /* wptr is to be read from wptr_addr */
    uint64_t wptr_addr;
    uint32_t polls;
    int64_t began;              /* atomic loop: ns, as VGPUStall.until */
    /* What was injected into the packet: sdma-inject.c. */
    uint64_t slow;              /* bytes/s; 0: full speed */
    uint64_t wrong_at;          /* offset of the wrong byte in the payload */
    uint8_t wrong_xor;          /* 0: none */
} VGPUExec;

/* Does MAP_QUEUES have an SDMA queue? */
typedef enum VGPUSdmaMapped {
    VGPU_SDMA_UNMAPPED,
    VGPU_SDMA_MAPPED,
    VGPU_SDMA_LEAVES,           /* to be saved */
    VGPU_SDMA_RESETS,           /* to be forgotten */
} VGPUSdmaMapped;

typedef struct VGPUQueue {
    uint32_t regs[VGPU_SDMA_QUEUE_SPAN];
    uint64_t rptr;
    uint64_t wptr;
    uint32_t exception;         /* VGPU_SDMA_EXC_* */
    bool restart;               /* exec is void: pointers were written */
    bool poll_wptr;             /* read wptr from memory once */
    VGPUSdmaMapped mapped;
    bool listed;                /* by a run list */
    bool fixed;                 /* static: stays when others are unmapped */
    uint64_t mqd;               /* its image, in VMID 0 */
    VGPUWait wait;              /* exec.mem.stall.why, while it lasts */
    VGPUExec exec;
} VGPUQueue;

typedef struct VGPUEngine {
    VGPUClient client;
    VGPUState *s;
    unsigned index;
    VGPUWorker w;
    uint8_t hung;               /* injected: 1 + queue whose packet hangs it */
    bool busy;                  /* has queues that can run; atomic */
    unsigned spent;             /* KiB, to compare busy engines; atomic */
    unsigned lead_waits;        /* how often others went first; thread only */
    uint64_t clock_offset;      /* to the GPU's; thread only */
    uint32_t regs[VGPU_SDMA_ENGINE_SPAN];
    VGPUQueue queues[SDMA_NUM_QUEUES];
} VGPUEngine;

struct VGPUState {
    PCIDevice parent_obj;

    uint64_t vram_size;
    bool vram_lost_on_reset;
    uint64_t hive_id;           /* 0: none */
    struct VGPUHive *hive;      /* xgmi.c */
    uint8_t xgmi_node;
    uint32_t xgmi_down;         /* injected: links that are down; atomic */
    uint64_t vram_base;         /* of our VRAM in the hive */
    uint64_t visible_vram;      /* size of BAR 0 after reset */
    HostMemoryBackend *memdev;
    MemoryRegion *vram;         /* memdev's or own_vram */
    MemoryRegion own_vram;
    MemoryRegion vram_bar;
    MemoryRegion doorbell;
    MemoryRegion mmio;
    uint8_t *vram_ptr;
    QEMUBH *irq_bh;
    bool irq_due;               /* irq_bh has not run yet; atomic */
    VMChangeStateEntry *vmstate_entry;
    char *id;                   /* for traces and messages */
    unsigned long *complained;  /* registers, by dword offset */

    uint32_t pcie[VGPU_PCIE_SPAN];
    uint32_t nbio[VGPU_NBIO_SPAN];
    uint32_t athub[VGPU_ATHUB_SPAN];
    uint64_t clock_captured;
    uint32_t counter_latched;
    Stat64 counters[VGPU_NUM_COUNTERS];

    MemoryListener bus_listener;
    QEMUBH *bus_bh;             /* calls the IOMMU: bus.c */
    uint32_t bus_drops;         /* unmappings, changes of the bus; atomic */
    QLIST_HEAD(, VGPUBusNotifier) bus_notifiers;    /* BQL */
    QemuMutex window_lock;      /* phys.c; nothing is taken inside it */
    MemoryRegion vram_whole;    /* VRAM by its own addresses */
    AddressSpace vram_as;
    MemoryRegionCache vram_cache;
    struct VGPUWindow *windows[VGPU_BUS_WINDOWS];   /* RCU */
    unsigned next_window;

    QemuMutex lock;
    VGPUHub hubs[VGPU_NUM_HUBS];
    VGPUIh ih;
    VGPUCamSlot cam[VGPU_CAM_SLOTS];
    QEMUTimer *cam_timer;       /* entries that are due again */
    VGPUPace pace[VGPU_PACE_SLOTS];
    uint32_t fault_serial;      /* last one given out */
    /* Invalidations: of all of a VMID; and of anything. Atomic. */
    uint32_t gen[VGPU_NUM_HUBS][VGPU_NUM_VMIDS];
    uint32_t invs[VGPU_NUM_HUBS][VGPU_NUM_VMIDS];
    VGPUClient *clients[VGPU_NUM_CLIENTS];

    VGPUEngine engines[SDMA_NUM_ENGINES];
    VGPUCp *cp;                 /* cp/internal.h */
    VGPUInjector inject;
#ifdef VGPU_KFD_DELAYS
    VGPUDelays delays;
#endif
    bool removed;               /* injected: not on its bus any more; atomic */
    MemoryRegion absent;        /* then VRAM's BAR */
    Error *removed_blocker;
};

/* Is there an injection of one of @kinds, 1 << kind each? Any thread. */
static inline bool vgpu_inject_armed(VGPUState *s, uint32_t kinds)
{
    return unlikely(qatomic_read(&s->inject.armed) & kinds);
}

/* Is the doorbell lost? site.va: its byte offset. Any thread. */
static inline bool vgpu_inject_doorbell(VGPUState *s, VGPUSite site)
{
    site.hub = VGPU_SITE_NONE;
    return vgpu_inject_armed(s, 1u << VGPU_INJECT_KIND_DOORBELL_LOST) &&
           vgpu_inject_fires(s, VGPU_INJECT_KIND_DOORBELL_LOST, &site, NULL);
}

#include "hw/misc/vgpu-kfd/core/counters.h"
#include "hw/misc/vgpu-kfd/ih/ih.h"
#include "hw/misc/vgpu-kfd/memory/hub.h"
#include "hw/misc/vgpu-kfd/vgpu-parts.h"

#endif /* HW_MISC_VGPU_KFD_H */
