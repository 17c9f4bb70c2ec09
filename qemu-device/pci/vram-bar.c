/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: BAR 0, through which the CPU accesses the first part of VRAM. The
 * guest may change the size of BAR 0 while memory decoding is off (Resizable
 * BAR).
 */
#include "qemu/osdep.h"
#include "qemu/host-utils.h"
#include "qemu/log.h"
#include "hw/pci/pci.h"
#include "hw/pci/pcie.h"
#include "vgpu/bits.h"
#include "vgpu/pci.h"
#include "hw/misc/vgpu-kfd/core/trace.h"
#include "hw/misc/vgpu-kfd/core/vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/memory/vram.h"
#include "hw/misc/vgpu-kfd/pci/internal.h"

#define VISIBLE_MIN     (1 * MiB)
#define REBAR_AT        PCI_CONFIG_SPACE_SIZE
#define REBAR_SIZEOF    12
/* Code 0 in the Resizable BAR registers means 1 << REBAR_UNIT bytes (1 MiB). */
#define REBAR_UNIT      20

bool vgpu_vram_bar_check(VGPUState *s, Error **errp)
{
    if (!s->visible_vram) {
        s->visible_vram = s->vram_size;
    }
    if (!vgpu_vram_check_size(errp, "visible-vram", s->visible_vram,
                              VISIBLE_MIN, s->vram_size)) {
        return false;
    }
    memory_region_init(&s->pci->vram_bar, OBJECT(s), "vgpu-kfd.vram-bar",
                       s->visible_vram);
    vgpu_vram_init_alias(s, &s->pci->vram_alias, "vgpu-kfd.vram-alias",
                         s->vram_size);
    memory_region_add_subregion(&s->pci->vram_bar, 0, &s->pci->vram_alias);
    return true;
}

void vgpu_vram_bar_exit(VGPUState *s)
{
    /*
     * A subregion holds a reference to its owner, the device. If the subregion
     * stayed, the device would never be freed.
     */
    memory_region_del_subregion(&s->pci->vram_bar,
                                s->removed ? &s->pci->absent
                                           : &s->pci->vram_alias);
}

static unsigned rebar_encode(uint64_t size)
{
    return ctz64(size) - REBAR_UNIT;
}

void vgpu_vram_bar_init(VGPUState *s)
{
    PCIDevice *pci = PCI_DEVICE(s);
    uint8_t *config = pci->config + REBAR_AT;
    uint64_t size;
    uint32_t sizes = 0;

    pci_register_bar(pci, VGPU_BAR_VRAM, PCI_BASE_ADDRESS_SPACE_MEMORY |
                     PCI_BASE_ADDRESS_MEM_TYPE_64 |
                     PCI_BASE_ADDRESS_MEM_PREFETCH, &s->pci->vram_bar);
    /*
     * A load must not compare the BAR's address bits: a smaller saved BAR may
     * have bits set that are read-only in this BAR.
     */
    pci_set_quad(pci->cmask + PCI_BASE_ADDRESS_0, 0xf);
    if (!pci_is_express(pci)) {
        return;
    }
    for (size = VISIBLE_MIN; size <= s->vram_size; size *= 2) {
        sizes |= 1u << (4 + rebar_encode(size));
    }
    pcie_add_capability(pci, PCI_EXT_CAP_ID_REBAR, 1, REBAR_AT, REBAR_SIZEOF);
    pci_set_long(config + PCI_REBAR_CAP, sizes);
    pci_set_long(config + PCI_REBAR_CTRL, VGPU_BAR_VRAM |
                 1u << PCI_REBAR_CTRL_NBAR_SHIFT |
                 rebar_encode(s->visible_vram) << PCI_REBAR_CTRL_BAR_SHIFT);
    pci_set_long(pci->wmask + REBAR_AT + PCI_REBAR_CTRL,
                 PCI_REBAR_CTRL_BAR_SIZE);
}

/*
 * Return the size in bytes that the Resizable BAR control register requests, or
 * 0 if that size is not supported.
 */
static uint64_t rebar_size(VGPUState *s)
{
    const uint8_t *config = PCI_DEVICE(s)->config + REBAR_AT;
    unsigned code = VGPU_GET(pci_get_long(config + PCI_REBAR_CTRL),
                             PCI_REBAR_CTRL_BAR_SIZE);

    return code < 28 && (pci_get_long(config + PCI_REBAR_CAP) >> code & 0x10) ?
           1ull << (REBAR_UNIT + code) : 0;
}

static uint64_t vram_bar_size(VGPUState *s)
{
    return memory_region_size(&s->pci->vram_bar);
}

static void vram_bar_resize(VGPUState *s, uint64_t size)
{
    trace_vgpu_vram_bar(s->id, size);
    pci_resize_bar(PCI_DEVICE(s), VGPU_BAR_VRAM, size);
}

void vgpu_vram_bar_config_written(VGPUState *s, uint32_t addr, int len)
{
    PCIDevice *pci = PCI_DEVICE(s);
    uint8_t *ctrl = pci->config + REBAR_AT + PCI_REBAR_CTRL;
    uint64_t size;

    if (!pci_is_express(pci) ||
        !ranges_overlap(addr, len, REBAR_AT + PCI_REBAR_CTRL, 4)) {
        return;
    }
    size = rebar_size(s);
    if (size == vram_bar_size(s)) {
        return;
    }
    if (!size || (pci_get_word(pci->config + PCI_COMMAND) &
                  PCI_COMMAND_MEMORY)) {
        qemu_log_mask(LOG_GUEST_ERROR, "%s: BAR 0 cannot be resized: %s\n",
                      s->id, size ? "memory decoding is on" : "no such size");
        pci_set_long(ctrl, VGPU_SET(pci_get_long(ctrl),
                                    PCI_REBAR_CTRL_BAR_SIZE,
                                    rebar_encode(vram_bar_size(s))));
        return;
    }
    vram_bar_resize(s, size);
}

void vgpu_vram_bar_reset(VGPUState *s)
{
    PCIDevice *pci = PCI_DEVICE(s);
    uint8_t *ctrl = pci->config + REBAR_AT + PCI_REBAR_CTRL;

    if (pci_is_express(pci)) {
        pci_set_long(ctrl, VGPU_SET(pci_get_long(ctrl),
                                    PCI_REBAR_CTRL_BAR_SIZE,
                                    rebar_encode(s->visible_vram)));
    }
    if (vram_bar_size(s) != s->visible_vram) {
        vram_bar_resize(s, s->visible_vram);
    }
}

bool vgpu_vram_bar_load(VGPUState *s)
{
    uint64_t size = pci_is_express(PCI_DEVICE(s)) ? rebar_size(s)
                                                  : s->visible_vram;

    if (size) {
        vram_bar_resize(s, size);
    }
    return size;
}
