/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: the PSP: the mailbox in which a driver requests a reset of the chip
 * ("mode 1").
 */
#include "qemu/osdep.h"
#include "qemu/log.h"
#include "vgpu/psp.h"
#include "hw/misc/vgpu-kfd/core/regs.h"
#include "hw/misc/vgpu-kfd/core/vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/psp/psp.h"

#define OFF(reg)    ((reg) - PSP_BASE)
#define PSP_SPAN    (OFF(MP0_SMN_C2PMSG_81) + 1)

/* The PSP of a device. Constant after realize. */
struct VGPUPsp {
    void (*reset)(VGPUState *s);        /* called with the BQL held */
};

/* The PSP is always ready, because a command completes at once. */
static uint32_t ready_read(VGPUState *s, unsigned inst, unsigned off)
{
    return MP0_SMN_C2PMSG__READY;
}

/* MP0_SMN_C2PMSG_81 reads 0, because no secure OS runs on the PSP. */
static uint32_t none_read(VGPUState *s, unsigned inst, unsigned off)
{
    return 0;
}

static void command_written(VGPUState *s, unsigned inst, unsigned off,
                            uint32_t old, uint32_t val)
{
    if (val == PSP_CMD_MODE1_RESET) {
        s->psp->reset(s);
    } else if (vgpu_reg_warn_once(s, PSP_BASE + off)) {
        qemu_log_mask(LOG_UNIMP, "%s: PSP command 0x%08x is not implemented\n",
                      s->id, val);
    }
}

static const VGPUReg psp_regs[PSP_SPAN] = {
    [OFF(MP0_SMN_C2PMSG_33)] = VGPU_REG_READ(ready_read),
    [OFF(MP0_SMN_C2PMSG_64)] = {
        .exists = true, .read = ready_read, .written = command_written,
    },
    [OFF(MP0_SMN_C2PMSG_81)] = VGPU_REG_READ(none_read),
};

const VGPUBlock vgpu_psp_block = {
    .base = PSP_BASE,
    .span = PSP_SPAN,
    .count = 1,
    .regs = psp_regs,
};

void vgpu_psp_alloc(VGPUState *s)
{
    s->psp = g_new0(VGPUPsp, 1);
}

void vgpu_psp_free(VGPUState *s)
{
    g_free(s->psp);
}

void vgpu_psp_init(VGPUState *s, void (*reset)(VGPUState *s))
{
    s->psp->reset = reset;
}
