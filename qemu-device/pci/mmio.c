/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: the register window (BAR 5), and the list of its blocks of
 * registers.
 */
#include "qemu/osdep.h"
#include "hw/misc/vgpu-kfd/core/trace.h"
#include "hw/misc/vgpu-kfd/core/vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/cp/cp.h"
#include "hw/misc/vgpu-kfd/ih/ih.h"
#include "hw/misc/vgpu-kfd/memory/hub.h"
#include "hw/misc/vgpu-kfd/pci/internal.h"
#include "hw/misc/vgpu-kfd/psp/psp.h"
#include "hw/misc/vgpu-kfd/sdma/sdma.h"

/* The blocks of registers, in ascending order of VGPUBlock.base. */
static const VGPUBlock *const blocks[] = {
    &vgpu_pcie_block,
    &vgpu_athub_block,
    &vgpu_nbio_block,
    &vgpu_ih_block,
    &vgpu_sdma_engine_blocks[0],
    &vgpu_sdma_queue_blocks[0],
    &vgpu_sdma_engine_blocks[1],
    &vgpu_sdma_queue_blocks[1],
    &vgpu_cp_blocks[VGPU_CP_GRBM],
    &vgpu_cp_blocks[VGPU_CP_MEC],
    &vgpu_cp_blocks[VGPU_CP_SH_MEM],
    &vgpu_gc_block,
    &vgpu_hub_gfx_block,
    &vgpu_cp_blocks[VGPU_CP_GC],
    &vgpu_cp_blocks[VGPU_CP_HQD],
    &vgpu_cp_blocks[VGPU_CP_GWS],
    &vgpu_clock_block,
    &vgpu_cp_blocks[VGPU_CP_SCHEDULERS],
    &vgpu_psp_block,
    &vgpu_hub_mm_block,
    &vgpu_sdma_engine_blocks[2],
    &vgpu_sdma_queue_blocks[2],
    &vgpu_sdma_engine_blocks[3],
    &vgpu_sdma_queue_blocks[3],
    &vgpu_sdma_engine_blocks[4],
    &vgpu_sdma_queue_blocks[4],
    &vgpu_device_info_block,
};

void vgpu_mmio_init(VGPUState *s)
{
    vgpu_regs_init(s, blocks, ARRAY_SIZE(blocks), vgpu_nbio_is_hdp_remap);
}

static uint64_t mmio_read(void *opaque, hwaddr addr, unsigned size)
{
    VGPUState *s = opaque;
    uint32_t val = s->removed ? UINT32_MAX : vgpu_reg_read(s, addr / 4);

    trace_vgpu_reg_read(s->id, addr / 4, val);
    return val;
}

static void mmio_write(void *opaque, hwaddr addr, uint64_t val, unsigned size)
{
    VGPUState *s = opaque;

    trace_vgpu_reg_write(s->id, addr / 4, val);
    if (!s->removed) {
        vgpu_ih_write_begin(s);
        vgpu_reg_write(s, addr / 4, val);
        vgpu_ih_write_end(s);
    }
}

const MemoryRegionOps vgpu_mmio_ops = {
    .read = mmio_read,
    .write = mmio_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 4, .max_access_size = 4 },
    .impl = { .min_access_size = 4, .max_access_size = 4 },
};
