/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: an IOMMU between device and bus. Workers never take the BQL, so a
 * bottom half (queue/iommu-requests.c) calls the IOMMU while the access
 * stalls.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/main-loop.h"
#include "qemu/rcu.h"
#include "qemu/timer.h"
#include "exec/memory.h"
#include "hw/pci/pci.h"
#include "vgpu/pte.h"
#include "hw/misc/vgpu-kfd/core/trace.h"
#include "hw/misc/vgpu-kfd/core/vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/memory/hub.h"
#include "hw/misc/vgpu-kfd/memory/internal.h"
#include "hw/misc/vgpu-kfd/memory/iommu.h"
#include "hw/misc/vgpu-kfd/memory/memory.h"

/*
 * Virtual time after which a reply is stale. This limits the use of a removed
 * mapping if the IOMMU does not notify unmappings.
 */
#define REPLY_NS        (100 * SCALE_MS)

/* A notifier that an IOMMU calls when the IOMMU unmaps memory. */
typedef struct VGPUIommuNotifier {
    IOMMUNotifier n;
    VGPUState *s;
    MemoryRegion *mr;
    hwaddr offset;
    QLIST_ENTRY(VGPUIommuNotifier) next;
} VGPUIommuNotifier;

void vgpu_iommu_begin(VGPUState *s, VGPUIotlb *iotlb, unsigned hub,
                      unsigned vmid)
{
    VGPUMemory *m = s->memory;

    iotlb->began = (VGPUIommuStamp) {
        .drops = qatomic_read(&m->bus_drops), .hub = hub, .vmid = vmid,
        .invs = hub < VGPU_NUM_HUBS ? qatomic_read(&m->hubs[hub].invs[vmid])
                                    : 0,
    };
}

bool vgpu_iommu_is_current(VGPUState *s, const VGPUIommuStamp *stamp)
{
    return stamp->drops == qatomic_read(&s->memory->bus_drops) &&
           (stamp->hub == VGPU_NUM_HUBS ||
            stamp->invs == vgpu_hub_invalidations(s, stamp->hub, stamp->vmid));
}

const VGPUIommuReply *vgpu_iommu_reply(VGPUState *s, VGPUIotlb *iotlb,
                                       hwaddr addr, bool write)
{
    int64_t now = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    unsigned i;

    for (i = 0; i < iotlb->used; i++) {
        const VGPUIommuReply *r = &iotlb->replies[i];

        if (addr >= r->start && addr <= r->last && r->write == write &&
            now < r->until && vgpu_iommu_is_current(s, &r->stamp)) {
            return r;
        }
    }
    iotlb->addr = addr;
    iotlb->write = write;
    iotlb->stamp = iotlb->began;
    trace_vgpu_bus_wait(s->id, addr, write);
    return NULL;
}

bool vgpu_iommu_request(VGPUState *s, hwaddr addr, bool write,
                        VGPUIommuReply *r)
{
    AddressSpace *as = pci_get_address_space(PCI_DEVICE(s));
    IOMMUTLBEntry t;
    bool here;

    /*
     * Keep @s allocated. The IOMMU may report a fault by MSI, which is a write.
     * The guest may direct this write to a register that unplugs @s.
     */
    object_ref(OBJECT(s));
    /*
     * The caller holds the BQL, because the IOMMU may access other devices: the
     * IOMMU may report a fault by MSI, or read a table in the BAR of a device.
     */
    WITH_RCU_READ_LOCK_GUARD() {
        t = address_space_get_iotlb_entry(as, addr, write,
                                          MEMTXATTRS_UNSPECIFIED);
    }
    here = qdev_is_realized(DEVICE(s));
    object_unref(OBJECT(s));
    if (t.perm == IOMMU_NONE) {
        hwaddr page = addr & ~(hwaddr)(VGPU_PAGE_SIZE - 1);

        *r = (VGPUIommuReply) {
            .start = page, .last = page + (VGPU_PAGE_SIZE - 1), .write = write,
            .denied = true,
        };
    } else {
        *r = (VGPUIommuReply) {
            .start = t.iova, .last = t.iova | t.addr_mask, .write = write,
            .as = t.target_as, .addr = t.translated_addr,
        };
    }
    return here;
}

void vgpu_iommu_put_reply(VGPUState *s, VGPUIotlb *iotlb,
                          const VGPUIommuReply *r)
{
    unsigned i;

    for (i = 0; i < iotlb->used; i++) {
        if (iotlb->replies[i].start == r->start &&
            iotlb->replies[i].write == r->write) {
            break;
        }
    }
    if (i == VGPU_IOMMU_REPLIES) {
        i = iotlb->next++ % VGPU_IOMMU_REPLIES;
    } else if (i == iotlb->used) {
        iotlb->used++;
    }
    iotlb->replies[i] = *r;
    iotlb->replies[i].stamp = iotlb->stamp;
    iotlb->replies[i].until = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) + REPLY_NS;
}

void vgpu_bus_quiesce(VGPUState *s)
{
    vgpu_clients_drain(s);
    /*
     * Interrupt entries are written under s->lock, so taking the lock waits for
     * a write in progress.
     */
    qemu_mutex_lock(&s->lock);
    qemu_mutex_unlock(&s->lock);
}

/*
 * Called by the IOMMU when the IOMMU has removed a mapping. Wait until no
 * access uses the mapping. The caller holds the BQL.
 */
static void iommu_unmap_notify(IOMMUNotifier *n, IOMMUTLBEntry *entry)
{
    VGPUState *s = container_of(n, VGPUIommuNotifier, n)->s;

    qatomic_inc(&s->memory->bus_drops);
    vgpu_bus_quiesce(s);
}

void vgpu_iommu_region_add(MemoryListener *l, MemoryRegionSection *section)
{
    VGPUState *s = container_of(l, VGPUMemory, bus_listener)->s;
    VGPUIommuNotifier *b;

    if (!memory_region_is_iommu(section->mr)) {
        return;
    }
    b = g_new0(VGPUIommuNotifier, 1);
    b->s = s;
    b->mr = section->mr;
    b->offset = section->offset_within_region;
    iommu_notifier_init(&b->n, iommu_unmap_notify, IOMMU_NOTIFIER_UNMAP, 0,
                        HWADDR_MAX,
                        memory_region_iommu_attrs_to_index(
                            IOMMU_MEMORY_REGION(b->mr),
                            MEMTXATTRS_UNSPECIFIED));
    if (memory_region_register_iommu_notifier(b->mr, &b->n, NULL)) {
        /*
         * This IOMMU accepts no notifier, so the device may use a removed
         * mapping, for REPLY_NS at most: see vgpu_iommu_put_reply().
         */
        g_free(b);
        return;
    }
    memory_region_ref(b->mr);
    QLIST_INSERT_HEAD(&s->memory->iommu_notifiers, b, next);
}

void vgpu_iommu_region_del(MemoryListener *l, MemoryRegionSection *section)
{
    VGPUState *s = container_of(l, VGPUMemory, bus_listener)->s;
    VGPUIommuNotifier *b;

    QLIST_FOREACH(b, &s->memory->iommu_notifiers, next) {
        if (b->mr == section->mr &&
            b->offset == section->offset_within_region) {
            QLIST_REMOVE(b, next);
            memory_region_unregister_iommu_notifier(b->mr, &b->n);
            memory_region_unref(b->mr);
            g_free(b);
            return;
        }
    }
}

void vgpu_iommu_schedule(VGPUState *s)
{
    qemu_bh_schedule(s->memory->iommu_bh);
}

void vgpu_iommu_init(VGPUState *s, QEMUBHFunc *serve)
{
    QLIST_INIT(&s->memory->iommu_notifiers);
    s->memory->iommu_bh =
        qemu_bh_new_guarded(serve, s, &DEVICE(s)->mem_reentrancy_guard);
}

void vgpu_iommu_exit(VGPUState *s)
{
    qemu_bh_delete(s->memory->iommu_bh);
}
