/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: SDMA queues in MAP_QUEUES and UNMAP_QUEUES: decoding of the
 * packets, and access to the queues' images in memory (MQDs). sdma/map.c maps
 * the queues to the engines.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "vgpu/bits.h"
#include "vgpu/sdma.h"
#include "hw/misc/vgpu-kfd/cp/internal.h"
#include "hw/misc/vgpu-kfd/sdma/sdma.h"

static VGPUStep sdma_mqd_read(VGPUExec *x, uint64_t va, uint32_t *mqd)
{
    unsigned i;

    x->mem.vmid = 0;
    if (cp_dma_stalls(vgpu_dma_read(&x->mem, va, mqd, SDMA_MQD_DWORDS * 4))) {
        return VGPU_STEP_STALL;
    }
    for (i = 0; i < SDMA_MQD_DWORDS; i++) {
        mqd[i] = le32_to_cpu(mqd[i]);
    }
    return VGPU_STEP_DONE;
}

static VGPUStep sdma_mqd_write(VGPUExec *x, uint64_t va, const uint32_t *mqd)
{
    unsigned i;

    x->mem.vmid = 0;
    for (i = 0; i < SDMA_MQD_DWORDS; i++) {
        uint32_t val = cpu_to_le32(mqd[i]);

        /*
         * Do not write the dwords between the registers and the saved
         * unfinished work, because the device does not use these dwords.
         */
        if (i >= SDMA_MQD_REGS && i < SDMA_MQD_WORK) {
            continue;
        }
        if (cp_dma_stalls(vgpu_dma_write(&x->mem, va + 4 * i, &val, 4))) {
            return VGPU_STEP_STALL;
        }
    }
    return VGPU_STEP_DONE;
}

int vgpu_cp_sdma_engine(uint32_t dw1)
{
    unsigned sel = VGPU_GET(dw1, PM4_MAP_DW1__ENGINE_SEL);

    switch (VGPU_GET(dw1, PM4_MAP_DW1__EXT_ENGINE_SEL)) {
    case 0:
        return sel == PM4_ENGINE_SDMA0 || sel == PM4_ENGINE_SDMA1 ?
               (int)sel - PM4_ENGINE_SDMA0 : -1;
    case 1:
        return sel < SDMA_NUM_ENGINES ? (int)sel : -1;
    default:
        return -1;
    }
}

VGPUStep vgpu_cp_sdma_map(VGPUCp *cp, VGPUExec *x, const uint32_t *dw, int vmid,
                          bool *full)
{
    bool any = VGPU_GET(dw[1], PM4_MAP_DW1__QUEUE_SEL);
    VGPUSdmaMap map = {
        .queue = any ? -1 : (int)VGPU_GET(dw[1], PM4_MAP_DW1__QUEUE),
        .vmid = vmid,
        .fixed = VGPU_GET(dw[1], PM4_MAP_DW1__QUEUE_TYPE) >= 2,
        .doorbell = dw[2],
        .mqd = (dw[3] | (uint64_t)dw[4] << 32) & ~3ull,
        .wptr = (dw[5] | (uint64_t)dw[6] << 32) & ~7ull,
    };
    uint32_t mqd[SDMA_MQD_DWORDS];
    VGPUStep step = sdma_mqd_read(x, map.mqd, mqd);

    if (step == VGPU_STEP_DONE &&
        !vgpu_sdma_map(cp->s, vgpu_cp_sdma_engine(dw[1]), &map, mqd)) {
        *full = true;
    }
    return step;
}

VGPUStep vgpu_cp_sdma_unmap(VGPUCp *cp, VGPUExec *x, unsigned engine,
                            unsigned queue, bool reset)
{
    uint32_t mqd[SDMA_MQD_DWORDS] = { 0 };
    VGPUStep step = VGPU_STEP_DONE;
    uint64_t va;

    switch (vgpu_sdma_unmap_start(cp->s, engine, queue, reset, &va, mqd)) {
    case VGPU_SDMA_UNMAP_HELD:
        return vgpu_cp_poll_device(x);
    case VGPU_SDMA_UNMAP_SAVE:
        step = sdma_mqd_write(x, va, mqd);
        break;
    default:
        break;
    }
    if (step == VGPU_STEP_DONE) {
        vgpu_sdma_unmap_finish(cp->s, engine, queue);
        x->polls = 0;
    }
    return step;
}
