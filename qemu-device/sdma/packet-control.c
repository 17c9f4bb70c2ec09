/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: SDMA packets that enter indirect buffers, skip packets on a
 * condition, or write registers.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "vgpu/bits.h"
#include "vgpu/gmc.h"
#include "vgpu/ih.h"
#include "hw/misc/vgpu-kfd/core/trace.h"
#include "hw/misc/vgpu-kfd/core/vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/sdma/packet.h"

VGPUStep vgpu_sdma_nop(VGPUSdmaEngine *e, VGPUQueue *q)
{
    return VGPU_STEP_DONE;
}

/*
 * Return true if the packet is privileged: the queue is privileged, and the
 * packet is not in an indirect buffer of another VMID.
 */
static bool sdma_packet_is_privileged(const VGPUExec *x)
{
    return x->priv && vgpu_exec_vmid(x) == x->ring_vmid;
}

/* Check an INDIRECT_BUFFER packet. sdma_packet_retire() enters the buffer. */
VGPUStep vgpu_sdma_indirect_buffer(VGPUSdmaEngine *e, VGPUQueue *q)
{
    VGPUExec *x = &q->exec;
    unsigned vmid = VGPU_GET(x->dw[0], SDMA_INDIRECT__VMID);

    /*
     * Only a privileged packet may name a VMID other than its own. VMID 0 means
     * the packet's own VMID.
     */
    if (!sdma_packet_is_privileged(x) && vmid && vmid != vgpu_exec_vmid(x)) {
        return VGPU_STEP_BAD_PACKET;
    }
    if (x->ib_depth == ARRAY_SIZE(x->ib) || (x->dw[1] & 3)) {
        return VGPU_STEP_BAD_PACKET;
    }
    return VGPU_STEP_DONE;
}

/*
 * Skip the @count dwords after the packet: add them to the length of the
 * packet, which is @fixed dwords without them.
 */
static VGPUStep sdma_skip(VGPUSdmaEngine *e, VGPUQueue *q, uint32_t fixed,
                          uint32_t count)
{
    VGPUExec *x = &q->exec;

    trace_vgpu_skip(e->s->id, e->index, x->mem.queue, x->mem.vmid, x->dw[0],
                    count);
    return vgpu_sdma_packet_extend(x, fixed + count);
}

VGPUStep vgpu_sdma_cond_exe(VGPUSdmaEngine *e, VGPUQueue *q)
{
    VGPUExec *x = &q->exec;
    uint32_t val;

    if (vgpu_dma_read(&x->mem, vgpu_dw64(&x->dw[1]) & ~3ull, &val,
                      sizeof(val)) == VGPU_DMA_STALL) {
        return VGPU_STEP_STALL;
    }
    if (le32_to_cpu(val) == x->dw[3]) {
        return VGPU_STEP_DONE;
    }
    return sdma_skip(e, q, SDMA_COND_EXE_DWORDS,
                     VGPU_GET(x->dw[4], SDMA_COND_EXE_DW4__COUNT));
}

VGPUStep vgpu_sdma_pre_exe(VGPUSdmaEngine *e, VGPUQueue *q)
{
    VGPUExec *x = &q->exec;

    if (VGPU_GET(x->dw[0], SDMA_PRE_EXE__DEVICES) & 1) {
        return VGPU_STEP_DONE;
    }
    return sdma_skip(e, q, SDMA_PRE_EXE_DWORDS,
                     VGPU_GET(x->dw[1], SDMA_PRE_EXE_DW1__COUNT));
}

/*
 * A driver may use SRBM_WRITE to set the page table or PASID of a VMID, and to
 * invalidate translations. So only hub registers and IH_VMID_LUT are allowed.
 */
bool vgpu_sdma_srbm_allowed(uint32_t reg)
{
    return reg - HUB(VGPU_HUB_GFX) < HUB_SPAN ||
           reg - HUB(VGPU_HUB_MM) < HUB_SPAN ||
           (reg >= IH_VMID_LUT(0) && reg <= IH_VMID_LUT_MM(15));
}

/*
 * A register write needs the BQL, which the engine's thread never takes. The
 * queue stalls until worker_reg_bh() (queue/scheduler.c) has written the
 * register and increased exec->done.
 */
VGPUStep vgpu_sdma_srbm_write(VGPUSdmaEngine *e, VGPUQueue *q)
{
    VGPUExec *x = &q->exec;
    uint32_t reg = VGPU_GET(x->dw[1], SDMA_SRBM_WRITE_DW1__REG);

    if (!sdma_packet_is_privileged(x) ||
        VGPU_GET(x->dw[0], SDMA_SRBM_WRITE__BYTE_EN) != 0xf ||
        !vgpu_sdma_srbm_allowed(reg)) {
        return VGPU_STEP_BAD_PACKET;
    }
    return x->done ? VGPU_STEP_DONE : vgpu_exec_write_reg(x, reg, x->dw[2]);
}
