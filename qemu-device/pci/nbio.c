/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: NBIO, the bus interface: size of VRAM, indirect access to registers
 * and VRAM, HDP flush, and the ranges of doorbells (doorbell.c).
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "vgpu/pci.h"
#include "hw/misc/vgpu-kfd/core/vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/memory/phys.h"
#include "hw/misc/vgpu-kfd/memory/span.h"
#include "hw/misc/vgpu-kfd/pci/internal.h"

#define OFF(reg)    ((reg) - NBIO_BASE)

static uint32_t *nbio_store(VGPUState *s, unsigned inst)
{
    return s->pci->nbio;
}

static uint32_t memsize_read(VGPUState *s, unsigned inst, unsigned off)
{
    return s->vram_size / MiB;
}

/* An HDP flush completes when it is requested, since VRAM is coherent. */
static uint32_t hdp_done_read(VGPUState *s, unsigned inst, unsigned off)
{
    return qatomic_read(&s->pci->nbio[OFF(GPU_HDP_FLUSH_REQ)]);
}

static bool nbio_engine_read(VGPUState *s, unsigned inst, unsigned off,
                             uint32_t *val)
{
    if (off != OFF(GPU_HDP_FLUSH_DONE)) {
        return false;
    }
    *val = hdp_done_read(s, inst, off);
    return true;
}

static bool nbio_engine_write(VGPUState *s, unsigned inst, unsigned off,
                              uint32_t val)
{
    if (off != OFF(GPU_HDP_FLUSH_REQ)) {
        return false;
    }
    qatomic_set(&s->pci->nbio[off], val);
    return true;
}

bool vgpu_nbio_is_hdp_remap(VGPUState *s, uint32_t reg)
{
    uint32_t mem = s->pci->nbio[OFF(REMAP_HDP_MEM_FLUSH_CNTL)];
    uint32_t regs = s->pci->nbio[OFF(REMAP_HDP_REG_FLUSH_CNTL)];

    return (mem && reg == mem / 4) || (regs && reg == regs / 4);
}

#define DOORBELL_RANGE \
    VGPU_REG_RW(BIF_DOORBELL_RANGE__OFFSET | BIF_DOORBELL_RANGE__SIZE)

static const VGPUReg nbio_regs[VGPU_NBIO_SPAN] = {
    [OFF(RCC_DOORBELL_APER_EN)] =
        VGPU_REG_RW(RCC_DOORBELL_APER_EN__BIF_DOORBELL_APER_EN),
    [OFF(RCC_CONFIG_MEMSIZE)] = VGPU_REG_READ(memsize_read),
    [OFF(RCC_IOV_FUNC_IDENTIFIER)] = VGPU_REG_RO,
    [OFF(BIF_FB_EN)] = {
        .exists = true,
        .mask = BIF_FB_EN__FB_READ_EN | BIF_FB_EN__FB_WRITE_EN,
        .reset = BIF_FB_EN__FB_READ_EN | BIF_FB_EN__FB_WRITE_EN,
    },
    [OFF(GPU_HDP_FLUSH_REQ)] = VGPU_REG_RW(UINT32_MAX),
    [OFF(GPU_HDP_FLUSH_DONE)] = VGPU_REG_READ(hdp_done_read),
    [OFF(REMAP_HDP_MEM_FLUSH_CNTL)] = VGPU_REG_RW(0x7fffc),
    [OFF(REMAP_HDP_REG_FLUSH_CNTL)] = VGPU_REG_RW(0x7fffc),
    [OFF(BIF_SDMA0_DOORBELL_RANGE)] = DOORBELL_RANGE,
    [OFF(BIF_SDMA1_DOORBELL_RANGE)] = DOORBELL_RANGE,
    [OFF(BIF_SDMA2_DOORBELL_RANGE)] = DOORBELL_RANGE,
    [OFF(BIF_SDMA3_DOORBELL_RANGE)] = DOORBELL_RANGE,
    [OFF(BIF_SDMA4_DOORBELL_RANGE)] = DOORBELL_RANGE,
    [OFF(BIF_IH_DOORBELL_RANGE)] = DOORBELL_RANGE,
};

const VGPUBlock vgpu_nbio_block = {
    .base = NBIO_BASE,
    .span = VGPU_NBIO_SPAN,
    .count = 1,
    .regs = nbio_regs,
    .store = nbio_store,
    .engine_read = nbio_engine_read,
    .engine_write = nbio_engine_write,
};

static uint32_t *pcie_store(VGPUState *s, unsigned inst)
{
    return s->pci->pcie;
}

/*
 * Set *@reg to the register that PCIE_DATA2 accesses. Return false if
 * PCIE_INDEX2 selects no register, or PCIE_DATA2 itself.
 */
static bool pcie_index2_reg(VGPUState *s, uint32_t *reg)
{
    *reg = s->pci->pcie[PCIE_INDEX2 - MM_INDEX] / 4;
    return *reg < VGPU_MMIO_DWORDS && *reg != PCIE_DATA2;
}

static uint32_t data2_read(VGPUState *s, unsigned inst, unsigned off)
{
    uint32_t reg;

    return pcie_index2_reg(s, &reg) ? vgpu_reg_read(s, reg) : 0;
}

static void data2_written(VGPUState *s, unsigned inst, unsigned off,
                          uint32_t old, uint32_t val)
{
    uint32_t reg;

    if (pcie_index2_reg(s, &reg)) {
        vgpu_reg_write(s, reg, val);
    }
}

/*
 * Map the dword of VRAM that MM_DATA accesses. Return false if MM_INDEX selects
 * no dword of VRAM.
 */
static bool mm_index_map(VGPUState *s, VGPUSpan *span, bool write)
{
    uint32_t index = s->pci->pcie[MM_INDEX - MM_INDEX];

    *span = (VGPUSpan) {
        .kind = VGPU_TARGET_VRAM,
        .write = write,
        .addr = (uint64_t)s->pci->pcie[MM_INDEX_HI - MM_INDEX] << 31 |
                (index & MM_INDEX__OFFSET & ~3u),
        .len = 4,
    };
    return (index & MM_INDEX__APERTURE) &&
           vgpu_phys_map(s, NULL, span) == VGPU_PHYS_OK;
}

static uint32_t mm_data_read(VGPUState *s, unsigned inst, unsigned off)
{
    uint32_t val = 0;
    VGPUSpan span;

    if (mm_index_map(s, &span, false)) {
        val = le32_to_cpu(qatomic_read((uint32_t *)span.host));
        vgpu_phys_unmap(s, &span, 4);
    }
    return val;
}

static void mm_data_written(VGPUState *s, unsigned inst, unsigned off,
                            uint32_t old, uint32_t val)
{
    VGPUSpan span;

    if (mm_index_map(s, &span, true)) {
        qatomic_set((uint32_t *)span.host, cpu_to_le32(val));
        vgpu_phys_unmap(s, &span, 4);
    }
}

static const VGPUReg pcie_regs[VGPU_PCIE_SPAN] = {
    [MM_INDEX - MM_INDEX] = VGPU_REG_RW(UINT32_MAX),
    [MM_DATA - MM_INDEX] = {
        .exists = true,
        .read = mm_data_read,
        .written = mm_data_written,
    },
    [MM_INDEX_HI - MM_INDEX] = VGPU_REG_RW(UINT32_MAX),
    [PCIE_INDEX2 - MM_INDEX] = VGPU_REG_RW(UINT32_MAX),
    [PCIE_DATA2 - MM_INDEX] = {
        .exists = true,
        .read = data2_read,
        .written = data2_written,
    },
};

const VGPUBlock vgpu_pcie_block = {
    .base = MM_INDEX,
    .span = VGPU_PCIE_SPAN,
    .count = 1,
    .regs = pcie_regs,
    .store = pcie_store,
};
