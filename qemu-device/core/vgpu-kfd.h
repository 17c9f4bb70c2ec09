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
#include "hw/misc/vgpu-kfd/cp/cp.h"
#include "hw/misc/vgpu-kfd/ih/fault.h"
#include "hw/misc/vgpu-kfd/ih/internal.h"
#include "hw/misc/vgpu-kfd/memory/client.h"
#include "hw/misc/vgpu-kfd/memory/internal.h"
#include "hw/misc/vgpu-kfd/memory/memory.h"
#include "hw/misc/vgpu-kfd/memory/phys.h"
#include "hw/misc/vgpu-kfd/memory/vram.h"
#include "hw/misc/vgpu-kfd/memory/xgmi.h"
#include "hw/misc/vgpu-kfd/pci/internal.h"
#include "hw/misc/vgpu-kfd/pci/removal.h"
#include "hw/misc/vgpu-kfd/psp/psp.h"
#include "hw/misc/vgpu-kfd/queue/dma.h"
#include "hw/misc/vgpu-kfd/queue/scheduler.h"
#include "hw/misc/vgpu-kfd/sdma/internal.h"
#include "hw/misc/vgpu-kfd/sdma/sdma.h"
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

#endif /* HW_MISC_VGPU_KFD_H */
