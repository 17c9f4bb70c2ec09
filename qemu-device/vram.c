/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: VRAM and what the CPU sees of it. The memory is the device's own or
 * a backend of the operator's. BAR 0 shows its first part, of a size that the
 * guest may change while memory decoding is off (resizable BAR).
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/cutils.h"
#include "qemu/host-utils.h"
#include "qemu/log.h"
#include "hw/pci/pci.h"
#include "hw/pci/pcie.h"
#include "migration/vmstate.h"
#include "system/hostmem.h"
#include "hw/misc/vgpu-kfd/core/vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/core/trace.h"

#define VRAM_MIN        (64 * MiB)
#define VRAM_MAX        (64 * GiB)
#define VISIBLE_MIN     (1 * MiB)
#define REBAR_AT        PCI_CONFIG_SPACE_SIZE
#define REBAR_SIZEOF    12
#define REBAR_UNIT      20              /* log2: encoded size 0 */

static bool size_good(Error **errp, const char *name, uint64_t size,
                      uint64_t min, uint64_t max)
{
    if (size < min || size > max || !is_power_of_2(size)) {
        error_setg(errp, "%s must be a power of two from %" PRIu64 " MiB to %"
                   PRIu64 " MiB, not %" PRIu64 " bytes", name, min / MiB,
                   max / MiB, size);
        return false;
    }
    return true;
}

static bool init_backend(VGPUState *s, Error **errp)
{
    if (host_memory_backend_is_mapped(s->memdev)) {
        error_setg(errp, "memdev is in use already");
        return false;
    }
    s->vram = host_memory_backend_get_memory(s->memdev);
    s->vram_size = memory_region_size(s->vram);
    if (memory_region_is_rom(s->vram)) {
        error_setg(errp, "memdev cannot be written");
        return false;
    }
    if (!size_good(errp, "the size of memdev", s->vram_size, VRAM_MIN,
                   VRAM_MAX)) {
        return false;
    }
    host_memory_backend_set_mapped(s->memdev, true);
    return true;
}

static bool init_own(VGPUState *s, Error **errp)
{
    s->vram = &s->own_vram;
    return size_good(errp, "vram", s->vram_size, VRAM_MIN, VRAM_MAX) &&
           memory_region_init_ram_flags_nomigrate(s->vram, OBJECT(s),
                                                  "vgpu-kfd.vram",
                                                  s->vram_size, RAM_NORESERVE,
                                                  errp);
}

bool vgpu_vram_init(VGPUState *s, Error **errp)
{
    if (!(s->memdev ? init_backend(s, errp) : init_own(s, errp))) {
        return false;
    }
    vmstate_register_ram(s->vram, DEVICE(s));
    s->vram_ptr = memory_region_get_ram_ptr(s->vram);
    if (!s->visible_vram) {
        s->visible_vram = s->vram_size;
    }
    if (!size_good(errp, "visible-vram", s->visible_vram, VISIBLE_MIN,
                   s->vram_size)) {
        vgpu_vram_exit(s);
        return false;
    }
    memory_region_init_alias(&s->vram_bar, OBJECT(s), "vgpu-kfd.vram-bar",
                             s->vram, 0, s->visible_vram);
    return true;
}

void vgpu_vram_exit(VGPUState *s)
{
    vmstate_unregister_ram(s->vram, DEVICE(s));
    if (s->memdev) {
        host_memory_backend_set_mapped(s->memdev, false);
    }
}

static unsigned rebar_encode(uint64_t size)
{
    return ctz64(size) - REBAR_UNIT;
}

void vgpu_vram_init_bar(VGPUState *s)
{
    PCIDevice *pci = PCI_DEVICE(s);
    uint8_t *config = pci->config + REBAR_AT;
    uint64_t size;
    uint32_t sizes = 0;

    pci_register_bar(pci, VGPU_BAR_VRAM, PCI_BASE_ADDRESS_SPACE_MEMORY |
                     PCI_BASE_ADDRESS_MEM_TYPE_64 |
                     PCI_BASE_ADDRESS_MEM_PREFETCH, &s->vram_bar);
    /* A saved address may be one of another size of the BAR. */
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

/* Size that the capability's control register asks for; 0: impossible. */
static uint64_t rebar_size(VGPUState *s)
{
    const uint8_t *config = PCI_DEVICE(s)->config + REBAR_AT;
    unsigned code = VGPU_GET(pci_get_long(config + PCI_REBAR_CTRL),
                             PCI_REBAR_CTRL_BAR_SIZE);

    return code < 28 && (pci_get_long(config + PCI_REBAR_CAP) >> code & 0x10) ?
           1ull << (REBAR_UNIT + code) : 0;
}

static uint64_t bar_size(VGPUState *s)
{
    return PCI_DEVICE(s)->io_regions[VGPU_BAR_VRAM].size;
}

static void rebar_set(VGPUState *s, uint64_t size)
{
    PCIDevice *pci = PCI_DEVICE(s);
    uint8_t *bar = pci->config + PCI_BASE_ADDRESS_0;

    trace_vgpu_vram_bar(s->id, size);
    pci->io_regions[VGPU_BAR_VRAM].size = size;
    memory_region_set_size(&s->vram_bar, size);
    pci_set_quad(pci->wmask + PCI_BASE_ADDRESS_0, ~(size - 1));
    pci_set_quad(bar, pci_get_quad(bar) & (~(size - 1) | 0xf));
    /* Have PCI look at the BAR again. */
    pci_default_write_config(pci, PCI_BASE_ADDRESS_0, pci_get_long(bar), 4);
}

void vgpu_vram_config_written(VGPUState *s, uint32_t addr, int len)
{
    PCIDevice *pci = PCI_DEVICE(s);
    uint8_t *ctrl = pci->config + REBAR_AT + PCI_REBAR_CTRL;
    uint64_t size;

    if (!pci_is_express(pci) ||
        !ranges_overlap(addr, len, REBAR_AT + PCI_REBAR_CTRL, 4)) {
        return;
    }
    size = rebar_size(s);
    if (size == bar_size(s)) {
        return;
    }
    if (!size || (pci_get_word(pci->config + PCI_COMMAND) &
                  PCI_COMMAND_MEMORY)) {
        qemu_log_mask(LOG_GUEST_ERROR, "%s: BAR 0 cannot be resized: %s\n",
                      s->id, size ? "memory decoding is on" : "no such size");
        pci_set_long(ctrl, VGPU_SET(pci_get_long(ctrl),
                                    PCI_REBAR_CTRL_BAR_SIZE,
                                    rebar_encode(bar_size(s))));
        return;
    }
    rebar_set(s, size);
}

void vgpu_vram_reset_bar(VGPUState *s)
{
    PCIDevice *pci = PCI_DEVICE(s);
    uint8_t *ctrl = pci->config + REBAR_AT + PCI_REBAR_CTRL;

    if (pci_is_express(pci)) {
        pci_set_long(ctrl, VGPU_SET(pci_get_long(ctrl),
                                    PCI_REBAR_CTRL_BAR_SIZE,
                                    rebar_encode(s->visible_vram)));
    }
    if (bar_size(s) != s->visible_vram) {
        rebar_set(s, s->visible_vram);
    }
}

bool vgpu_vram_load_bar(VGPUState *s)
{
    uint64_t size = pci_is_express(PCI_DEVICE(s)) ? rebar_size(s)
                                                  : s->visible_vram;

    if (size) {
        rebar_set(s, size);
    }
    return size;
}

/*
 * Overwrite VRAM from @start on with bytes that @seed chooses. Pages of zeros
 * stay: a lost page that nobody used takes no memory. BQL held.
 */
static void scramble(VGPUState *s, uint64_t start, uint64_t len, uint64_t seed)
{
    uint64_t end, at, i;

    if (start >= s->vram_size) {
        return;
    }
    end = start + MIN(len, s->vram_size - start);
    for (at = start; at < end;) {
        uint64_t n = MIN(end - at, VGPU_PAGE_SIZE - at % VGPU_PAGE_SIZE);

        bool used = !buffer_is_zero(s->vram_ptr + at, n);

        for (i = 0; used && i < n; i++) {
            /* The high bits of an LCG of Knuth's. */
            seed = seed * 6364136223846793005ull + 1442695040888963407ull;
            s->vram_ptr[at + i] = seed >> 56;
        }
        at += n;
    }
    memory_region_set_dirty(s->vram, start, end - start);
}

void vgpu_inject_lose(VGPUState *s, const VgpuInjection *w, uint64_t seed)
{
    scramble(s, w->start, w->has_length ? w->length : UINT64_MAX, seed);
}

void vgpu_inject_reset(VGPUState *s)
{
    vgpu_inject_each(s, VGPU_INJECT_KIND_VRAM_LOST_AT_RESET, vgpu_inject_lose);
}
