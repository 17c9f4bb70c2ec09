/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: status of no-retry faults in the hubs' registers, and the bits of
 * VM_CONTEXT_CNTL that belong to each class of faults.
 */
#include "qemu/osdep.h"
#include "vgpu/bits.h"
#include "vgpu/pte.h"
#include "hw/misc/vgpu-kfd/core/vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/memory/hub.h"
#include "hw/misc/vgpu-kfd/memory/internal.h"
#include "hw/misc/vgpu-kfd/memory/span.h"
#include "hw/misc/vgpu-kfd/memory/tlb-priv.h"

void vgpu_hub_clear_fault(VGPUState *s, unsigned hub)
{
    uint32_t *regs = s->memory->hubs[hub].regs;

    qatomic_set(&regs[VM_L2_PROTECTION_FAULT_STATUS], 0);
    qatomic_set(&regs[VM_L2_PROTECTION_FAULT_ADDR_LO32], 0);
    qatomic_set(&regs[VM_L2_PROTECTION_FAULT_ADDR_HI32], 0);
}

uint32_t vgpu_fault_interrupt_bit(uint16_t fault)
{
    switch (fault) {
    case VGPU_FAULT_CLASS(RANGE):
        return VM_CONTEXT_CNTL__RANGE_INTERRUPT;
    case VGPU_FAULT_CLASS(PDE0):
    case VGPU_FAULT_CLASS(PDE1):
    case VGPU_FAULT_CLASS(PDE2):
        return VM_CONTEXT_CNTL__PDE0_INTERRUPT;
    case VGPU_FAULT_CLASS(VALID):
        return VM_CONTEXT_CNTL__VALID_INTERRUPT;
    case VGPU_FAULT_CLASS(READ):
        return VM_CONTEXT_CNTL__READ_INTERRUPT;
    case VGPU_FAULT_CLASS(WRITE):
        return VM_CONTEXT_CNTL__WRITE_INTERRUPT;
    case VGPU_FAULT_CLASS(EXECUTE):
        return VM_CONTEXT_CNTL__EXECUTE_INTERRUPT;
    default:
        return 0;
    }
}

uint32_t vgpu_fault_redirect_bit(uint16_t fault)
{
    /* In VM_CONTEXT_CNTL, X_DEFAULT is the bit above X_INTERRUPT. */
    return vgpu_fault_interrupt_bit(fault) << 1;
}

static unsigned fault_status_permission(uint16_t fault)
{
    switch (fault) {
    case VGPU_FAULT_CLASS(READ):
        return VGPU_PERMISSION_READ;
    case VGPU_FAULT_CLASS(WRITE):
        return VGPU_PERMISSION_WRITE;
    case VGPU_FAULT_CLASS(EXECUTE):
        return VGPU_PERMISSION_EXECUTE;
    default:
        return VGPU_PERMISSION_VALID;
    }
}

void vgpu_hub_latch_fault(const VGPUClient *c, unsigned vmid, uint64_t va,
                          const VGPUSpan *span)
{
    uint32_t *regs = c->tlb->hub->regs;
    uint32_t status = regs[VM_L2_PROTECTION_FAULT_STATUS];

    if (status && !(regs[VM_L2_PROTECTION_FAULT_CNTL] &
                    VM_L2_PROTECTION_FAULT_CNTL__ALLOW_SUBSEQUENT)) {
        status |= VM_L2_PROTECTION_FAULT_STATUS__MORE_FAULTS;
    } else {
        status =
            VGPU_PREP(VM_L2_PROTECTION_FAULT_STATUS__WALKER_ERROR,
                      (uint32_t)span->walker_error) |
            VGPU_PREP(VM_L2_PROTECTION_FAULT_STATUS__PERMISSION,
                      fault_status_permission(span->fault)) |
            VGPU_PREP(VM_L2_PROTECTION_FAULT_STATUS__CID,
                      (uint32_t)c->tlb->cid) |
            VGPU_PREP(VM_L2_PROTECTION_FAULT_STATUS__VMID, vmid);
        if (span->walker_error == VGPU_WALKER_NACK) {
            status |= VM_L2_PROTECTION_FAULT_STATUS__MAPPING_ERROR;
        }
        if (span->write) {
            status |= VM_L2_PROTECTION_FAULT_STATUS__RW;
        }
        qatomic_set(&regs[VM_L2_PROTECTION_FAULT_ADDR_LO32],
                    va >> VGPU_PAGE_SHIFT);
        qatomic_set(&regs[VM_L2_PROTECTION_FAULT_ADDR_HI32], va >> 44);
    }
    qatomic_set(&regs[VM_L2_PROTECTION_FAULT_STATUS], status);
}
