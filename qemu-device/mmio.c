/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: register and doorbell windows, NBIO, the model's own block.
 */
#include "qemu/osdep.h"
#include "qemu/bitops.h"
#include "qemu/log.h"
#include "qemu/units.h"
#include "vgpu/doorbell.h"
#include "vgpu/nbio.h"
#include "vgpu-kfd.h"
#include "trace.h"

#define GB_ADDR_CONFIG_GFX90A   0x2a114042  /* pipes, banks: for user space */

static const struct {
    uint32_t reg;
    unsigned index;
} nbio_ranges[] = {
    { BIF_SDMA0_DOORBELL_RANGE, 0 },
    { BIF_SDMA1_DOORBELL_RANGE, 1 },
    { BIF_IH_DOORBELL_RANGE, 2 },
};

/* One complaint an offset: a guest must not fill the log. */
static void complain(VGPUState *s, uint32_t reg, bool write, uint32_t val)
{
    if (test_and_set_bit(reg, s->guest_errors)) {
        return;
    }
    if (write) {
        qemu_log_mask(LOG_UNIMP, "%s: write of 0x%08x to register 0x%05x, "
                      "which does not exist here\n", s->id, val, reg);
    } else {
        qemu_log_mask(LOG_UNIMP, "%s: read of register 0x%05x, which does not "
                      "exist here\n", s->id, reg);
    }
}

static bool nbio_read(VGPUState *s, uint32_t reg, uint32_t *val)
{
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(nbio_ranges); i++) {
        if (nbio_ranges[i].reg == reg) {
            *val = s->nbio_range[nbio_ranges[i].index];
            return true;
        }
    }
    switch (reg) {
    case RCC_DOORBELL_APER_EN:
        *val = s->nbio_aper_en;
        break;
    case RCC_CONFIG_MEMSIZE:
        *val = s->vram_size / MiB;
        break;
    case RCC_IOV_FUNC_IDENTIFIER:
        *val = 0;
        break;
    case BIF_FB_EN:
        *val = s->nbio_fb_en;
        break;
    case GPU_HDP_FLUSH_REQ:
    case GPU_HDP_FLUSH_DONE:
        /* VRAM is coherent: a flush is done when it is asked for. */
        *val = qatomic_read(&s->nbio_hdp_req);
        break;
    case REMAP_HDP_MEM_FLUSH_CNTL:
    case REMAP_HDP_REG_FLUSH_CNTL:
        *val = s->nbio_remap[reg - REMAP_HDP_MEM_FLUSH_CNTL];
        break;
    case PCIE_INDEX2:
        *val = s->pcie_index;
        break;
    case PCIE_DATA2:
        *val = s->pcie_index / 4 < VGPU_MMIO_DWORDS &&
               s->pcie_index / 4 != PCIE_DATA2 ?
               vgpu_reg_read(s, s->pcie_index / 4) : 0;
        break;
    case GB_ADDR_CONFIG:
        *val = GB_ADDR_CONFIG_GFX90A;
        break;
    case RLC_GPU_CLOCK_COUNT_LSB:
        *val = s->clock_capture;
        break;
    case RLC_GPU_CLOCK_COUNT_MSB:
        *val = s->clock_capture >> 32;
        break;
    case RLC_CAPTURE_GPU_CLOCK_COUNT:
        *val = 0;
        break;
    default:
        return false;
    }
    return true;
}

static bool nbio_write(VGPUState *s, uint32_t reg, uint32_t val)
{
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(nbio_ranges); i++) {
        if (nbio_ranges[i].reg == reg) {
            s->nbio_range[nbio_ranges[i].index] =
                val & (BIF_DOORBELL_RANGE__OFFSET | BIF_DOORBELL_RANGE__SIZE);
            return true;
        }
    }
    switch (reg) {
    case RCC_DOORBELL_APER_EN:
        s->nbio_aper_en = val & RCC_DOORBELL_APER_EN__BIF_DOORBELL_APER_EN;
        break;
    case RCC_CONFIG_MEMSIZE:
    case RCC_IOV_FUNC_IDENTIFIER:
    case GPU_HDP_FLUSH_DONE:
    case GB_ADDR_CONFIG:
    case RLC_GPU_CLOCK_COUNT_LSB:
    case RLC_GPU_CLOCK_COUNT_MSB:
        break;                          /* read-only */
    case BIF_FB_EN:
        s->nbio_fb_en = val & (BIF_FB_EN__FB_READ_EN | BIF_FB_EN__FB_WRITE_EN);
        break;
    case GPU_HDP_FLUSH_REQ:
        qatomic_set(&s->nbio_hdp_req, val);
        break;
    case REMAP_HDP_MEM_FLUSH_CNTL:
    case REMAP_HDP_REG_FLUSH_CNTL:
        s->nbio_remap[reg - REMAP_HDP_MEM_FLUSH_CNTL] = val;
        break;
    case PCIE_INDEX2:
        s->pcie_index = val;
        break;
    case PCIE_DATA2:
        if (s->pcie_index / 4 < VGPU_MMIO_DWORDS &&
            s->pcie_index / 4 != PCIE_DATA2) {
            vgpu_reg_write(s, s->pcie_index / 4, val);
        }
        break;
    case RLC_CAPTURE_GPU_CLOCK_COUNT:
        if (val & 1) {
            s->clock_capture = vgpu_clock();
        }
        break;
    default:
        return false;
    }
    return true;
}

static bool model_read(VGPUState *s, uint32_t reg, uint32_t *val)
{
    if (reg < VGPU_BASE || reg >= VGPU_COUNTER(VGPU_NUM_COUNTERS)) {
        return false;
    }
    if (reg >= VGPU_COUNTER(0)) {
        unsigned i = (reg - VGPU_COUNTER(0)) / 2;

        if ((reg - VGPU_COUNTER(0)) & 1) {
            *val = s->counter_hi;
        } else {
            uint64_t n;

            if (i == VGPU_CNT_INVALIDATIONS) {
                vgpu_gmc_settle(s);
            }
            n = stat64_get(&s->counters[i]);
            s->counter_hi = n >> 32;
            *val = n;
        }
        return true;
    }
    switch (reg) {
    case VGPU_MAGIC:
        *val = VGPU_MAGIC_VALUE;
        return true;
    case VGPU_VERSION:
        *val = VGPU_VERSION_VALUE;
        return true;
    case VGPU_SDMA_COUNT:
        *val = VGPU_NUM_SDMA;
        return true;
    case VGPU_FAULT_SERIAL:
        *val = qatomic_read(&s->serial);
        return true;
    }
    return false;
}

/* Is @reg the remapped HDP flush page? Then a write of any value flushes. */
static bool is_hdp_remap(VGPUState *s, uint32_t reg)
{
    return (s->nbio_remap[0] && reg == s->nbio_remap[0] / 4) ||
           (s->nbio_remap[1] && reg == s->nbio_remap[1] / 4);
}

uint32_t vgpu_reg_read(VGPUState *s, uint32_t reg)
{
    uint32_t val = 0;

    if (!nbio_read(s, reg, &val) && !vgpu_gmc_read(s, reg, &val) &&
        !vgpu_ih_read(s, reg, &val) && !vgpu_sdma_read(s, reg, &val) &&
        !model_read(s, reg, &val) && !is_hdp_remap(s, reg)) {
        complain(s, reg, false, 0);
    }
    return val;
}

void vgpu_reg_write(VGPUState *s, uint32_t reg, uint32_t val)
{
    if (!nbio_write(s, reg, val) && !vgpu_gmc_write(s, reg, val) &&
        !vgpu_ih_write(s, reg, val) && !vgpu_sdma_write(s, reg, val) &&
        !is_hdp_remap(s, reg)) {
        complain(s, reg, true, val);
    }
}

uint32_t vgpu_reg_poll(VGPUState *s, uint32_t reg)
{
    unsigned h;

    if (reg == GPU_HDP_FLUSH_DONE) {
        return qatomic_read(&s->nbio_hdp_req);
    }
    for (h = 0; h < VGPU_NUM_HUBS; h++) {
        uint32_t base = HUB(h);

        if (reg >= base && reg < base + HUB_SPAN) {
            return qatomic_read(&s->hubs[h].regs[reg - base]);
        }
    }
    return 0;
}

void vgpu_reg_poll_request(VGPUState *s, uint32_t reg, uint32_t val)
{
    if (reg == GPU_HDP_FLUSH_REQ) {
        qatomic_set(&s->nbio_hdp_req, val);
    }
}

static uint64_t mmio_read(void *opaque, hwaddr addr, unsigned size)
{
    VGPUState *s = opaque;
    uint32_t val = vgpu_reg_read(s, addr / 4);

    trace_vgpu_reg_read(s->id, (uint32_t)(addr / 4), val);
    return val;
}

static void mmio_write(void *opaque, hwaddr addr, uint64_t val, unsigned size)
{
    VGPUState *s = opaque;

    trace_vgpu_reg_write(s->id, (uint32_t)(addr / 4), (uint32_t)val);
    vgpu_reg_write(s, addr / 4, val);
}

const MemoryRegionOps vgpu_mmio_ops = {
    .read = mmio_read,
    .write = mmio_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 4, .max_access_size = 4 },
    .impl = { .min_access_size = 4, .max_access_size = 4 },
};

static uint64_t doorbell_read(void *opaque, hwaddr addr, unsigned size)
{
    return 0;
}

/* The bus interface routes on the low 12 bits of the address. */
static bool in_range(uint32_t range, hwaddr addr)
{
    uint32_t low = addr & 0xfff;
    uint32_t off = range & BIF_DOORBELL_RANGE__OFFSET;
    uint32_t bytes = 4 * VGPU_GET(range, BIF_DOORBELL_RANGE__SIZE);

    return low >= off && low < off + bytes;
}

static void doorbell_write(void *opaque, hwaddr addr, uint64_t val,
                           unsigned size)
{
    VGPUState *s = opaque;
    unsigned i;

    if (!s->nbio_aper_en) {
        return;
    }
    vgpu_count(s, VGPU_CNT_DOORBELLS, 1);
    if (in_range(s->nbio_range[2], addr)) {
        vgpu_ih_doorbell(s, addr / 4, val);
        return;
    }
    for (i = 0; i < VGPU_NUM_SDMA; i++) {
        if (in_range(s->nbio_range[i], addr) &&
            vgpu_sdma_doorbell(s, i, addr, val, size)) {
            return;
        }
    }
    trace_vgpu_doorbell_lost(s->id, addr, val);
}

const MemoryRegionOps vgpu_doorbell_ops = {
    .read = doorbell_read,
    .write = doorbell_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 4, .max_access_size = 8 },
    .impl = { .min_access_size = 4, .max_access_size = 8 },
};
