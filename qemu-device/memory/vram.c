/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: the host memory of VRAM. The device allocates this memory, or uses
 * the memory backend of property memdev.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/cutils.h"
#include "qemu/host-utils.h"
#include "exec/cpu-common.h"
#include "exec/memory.h"
#include "migration/vmstate.h"
#include "system/hostmem.h"
#include "vgpu/pte.h"
#include "hw/misc/vgpu-kfd/core/trace.h"
#include "hw/misc/vgpu-kfd/core/vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/inject/inject.h"
#include "hw/misc/vgpu-kfd/memory/internal.h"
#include "hw/misc/vgpu-kfd/memory/vram.h"

#define VRAM_MIN        (64 * MiB)
#define VRAM_MAX        (64 * GiB)

bool vgpu_vram_check_size(Error **errp, const char *name, uint64_t size,
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

static bool vram_init_backend(VGPUState *s, Error **errp)
{
    VGPUMemory *m = s->memory;

    if (host_memory_backend_is_mapped(s->memdev)) {
        error_setg(errp, "memdev is in use already");
        return false;
    }
    m->vram = host_memory_backend_get_memory(s->memdev);
    s->vram_size = memory_region_size(m->vram);
    if (memory_region_is_rom(m->vram)) {
        error_setg(errp, "memdev is not writable");
        return false;
    }
    if (!vgpu_vram_check_size(errp, "the size of memdev", s->vram_size,
                              VRAM_MIN, VRAM_MAX)) {
        return false;
    }
    host_memory_backend_set_mapped(s->memdev, true);
    return true;
}

static bool vram_init_own(VGPUState *s, Error **errp)
{
    VGPUMemory *m = s->memory;

    m->vram = &m->own_vram;
    return vgpu_vram_check_size(errp, "vram", s->vram_size, VRAM_MIN,
                                VRAM_MAX) &&
           memory_region_init_ram_flags_nomigrate(m->vram, OBJECT(s),
                                                  "vgpu-kfd.vram",
                                                  s->vram_size, RAM_NORESERVE,
                                                  errp);
}

bool vgpu_vram_init(VGPUState *s, Error **errp)
{
    VGPUMemory *m = s->memory;

    if (!(s->memdev ? vram_init_backend(s, errp) : vram_init_own(s, errp))) {
        return false;
    }
    vmstate_register_ram(m->vram, DEVICE(s));
    m->vram_ptr = memory_region_get_ram_ptr(m->vram);
    return true;
}

void vgpu_vram_exit(VGPUState *s)
{
    vmstate_unregister_ram(s->memory->vram, DEVICE(s));
    if (s->memdev) {
        host_memory_backend_set_mapped(s->memdev, false);
    }
}

void vgpu_vram_init_alias(VGPUState *s, MemoryRegion *alias, const char *name,
                          uint64_t size)
{
    memory_region_init_alias(alias, OBJECT(s), name, s->memory->vram, 0, size);
}

void vgpu_vram_lose(VGPUState *s)
{
    ram_addr_t offset;
    RAMBlock *rb = qemu_ram_block_from_host(s->memory->vram_ptr, false,
                                            &offset);

    trace_vgpu_vram_lost(s->id);
    /*
     * Prefer a discard, which also frees the host's pages. While memory is
     * pinned, a discard is not allowed.
     */
    if (ram_block_discard_is_disabled() ||
        ram_block_discard_range(rb, offset, s->vram_size)) {
        memset(s->memory->vram_ptr, 0, s->vram_size);
    }
    memory_region_set_dirty(s->memory->vram, 0, s->vram_size);
}

/*
 * @f selects a range of VRAM. Overwrite this range with random bytes, which
 * @seed determines. Skip pages of zeros, so that the host need not allocate
 * pages for unused VRAM.
 */
void vgpu_vram_inject_lost(VGPUState *s, const VGPUFilter *f, uint64_t seed)
{
    uint64_t start = f->first, end, at, i;

    if (start >= s->vram_size) {
        return;
    }
    end = MIN(f->last, s->vram_size - 1) + 1;
    for (at = start; at < end;) {
        uint64_t n = MIN(end - at, VGPU_PAGE_SIZE - at % VGPU_PAGE_SIZE);

        bool used = !buffer_is_zero(s->memory->vram_ptr + at, n);

        for (i = 0; used && i < n; i++) {
            /* Use the high bits of Knuth's LCG (MMIX). */
            seed = seed * 6364136223846793005ull + 1442695040888963407ull;
            s->memory->vram_ptr[at + i] = seed >> 56;
        }
        at += n;
    }
    memory_region_set_dirty(s->memory->vram, start, end - start);
}

void vgpu_vram_inject_reset(VGPUState *s)
{
    vgpu_inject_each(s, VGPU_INJECT_KIND_VRAM_LOST_AT_RESET,
                     vgpu_vram_inject_lost);
}
