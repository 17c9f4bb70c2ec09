/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: memory and registers of compute queues, for packets of either kind:
 * where they are fetched from, what they load and store, pointers, waits.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/timer.h"
#include "vgpu/aql.h"
#include "vgpu/pci.h"
#include "hw/misc/vgpu-kfd/core/regs.h"
#include "hw/misc/vgpu-kfd/core/stall.h"
#include "hw/misc/vgpu-kfd/cp/internal.h"
#include "hw/misc/vgpu-kfd/memory/hub.h"

/* A wait: tries in a row, then one a while. */
#define WAIT_TRIES      64
#define WAIT_NS         SCALE_MS

CpStep vgpu_cp_bad(CpExec *x, unsigned error)
{
    x->error = error;
    x->priv_error = false;
    x->error_bits = x->aql ? CP_HQD_ERROR__AQL_ERROR : 0;
    return CP_STEP_BAD;
}

CpStep vgpu_cp_fetch(CpExec *x, uint64_t at, uint32_t *dw, unsigned n)
{
    unsigned i;

    while (n) {
        uint64_t off = x->in_ib ? x->ib.pos + at
                                : (x->rptr + at) & (x->ring_dwords - 1);
        uint64_t base = x->in_ib ? x->ib.base : x->ring_base;
        uint64_t left = (x->in_ib ? x->ib.size : x->ring_dwords) - off;
        unsigned part = MIN(n, left);

        switch (vgpu_access_read(&x->mem, base + off * 4, dw, part * 4)) {
        case VGPU_ACCESS_STALL:
            return CP_STEP_STALL;
        case VGPU_ACCESS_FAULT:
            /* Reported as VM fault; what was read is no packet. */
            x->error = 0;
            x->error_bits = x->in_ib ? CP_HQD_ERROR__IB_UTCL1_ERROR
                                     : CP_HQD_ERROR__PQ_UTCL1_ERROR;
            return CP_STEP_BAD;
        default:
            break;
        }
        for (i = 0; i < part; i++) {
            dw[i] = le32_to_cpu(dw[i]);
        }
        at += part;
        dw += part;
        n -= part;
    }
    return CP_STEP_DONE;
}

CpStep vgpu_cp_store(CpExec *x, uint64_t va, uint64_t val, unsigned len)
{
    VGPUAccess a;

    val = cpu_to_le64(val);
    if (len == 4) {
        uint32_t low = cpu_to_le32(le64_to_cpu(val));

        a = vgpu_access_write(&x->mem, va & ~3ull, &low, 4);
    } else {
        a = vgpu_access_write(&x->mem, va & ~7ull, &val, 8);
    }
    return cp_stalls(a) ? CP_STEP_STALL : CP_STEP_DONE;
}

CpStep vgpu_cp_load(CpExec *x, uint64_t va, uint64_t *val, unsigned len)
{
    *val = 0;
    if (cp_stalls(vgpu_access_read(&x->mem, va & -(uint64_t)len, val, len))) {
        return CP_STEP_STALL;
    }
    *val = le64_to_cpu(*val);
    return CP_STEP_DONE;
}

/* The packet touches a register that is not the queue's to touch. */
static CpStep not_privileged(CpExec *x)
{
    x->error = CP_ERROR_REGISTER_INVALID;
    x->priv_error = true;
    x->error_bits = CP_HQD_ERROR__SUA_ERROR;
    return CP_STEP_BAD;
}

CpStep vgpu_cp_write_reg(CpExec *x, uint32_t reg, uint32_t val)
{
    if (!x->priv) {
        return not_privileged(x);
    }
    if (reg >= VGPU_MMIO_DWORDS) {
        return vgpu_cp_bad(x, CP_ERROR_REGISTER_INVALID);
    }
    x->reg = reg;
    x->reg_val = val;
    x->mem.stall = (VGPUStall) { .why = VGPU_WAIT_REG };
    return CP_STEP_STALL;
}

CpStep vgpu_cp_read_reg(VGPUCp *cp, CpExec *x, uint32_t reg, uint32_t *val)
{
    if (!x->priv) {
        return not_privileged(x);
    }
    if (!vgpu_hub_has(reg) || !vgpu_reg_engine_read(cp->s, reg, val)) {
        return vgpu_cp_bad(x, CP_ERROR_REGISTER_INVALID);
    }
    return CP_STEP_DONE;
}

/* Try again: with others' turns between at first, then after a while. */
CpStep vgpu_cp_wait(CpExec *x)
{
    x->budget = 0;
    if (++x->tries <= WAIT_TRIES) {
        return CP_STEP_AGAIN;
    }
    x->mem.stall = (VGPUStall) {
        .why = VGPU_WAIT_POLL,
        .until = qemu_clock_get_ns(QEMU_CLOCK_REALTIME) + WAIT_NS,
    };
    return CP_STEP_STALL;
}

CpStep vgpu_cp_pointers(CpExec *x)
{
    CpStep step = CP_STEP_DONE;
    uint64_t val;

    x->mem.vmid = x->vmid;
    if (x->poll_wptr) {
        x->mem.faulted = false;
        val = x->wptr;
        if (x->wptr_addr) {
            step = vgpu_cp_load(x, x->wptr_addr, &val, 8);
            val *= x->aql ? AQL_PACKET_DWORDS : 1;
        }
        if (step == CP_STEP_DONE) {
            x->poll_wptr = false;
            /* Packets may be reserved for which there is no room yet. */
            x->clamped = x->aql && (int64_t)(val - x->rptr) >
                                   (int64_t)x->ring_dwords;
            if (x->clamped) {
                val = x->rptr + x->ring_dwords;
            }
            if (!x->aql || val - x->rptr <= x->ring_dwords) {
                x->wptr = val;
            }
        }
    } else if (x->report) {
        x->mem.faulted = false;
        if (x->rptr_addr) {
            step = x->aql ? vgpu_cp_store(x, x->rptr_addr, x->rptr / 16, 8)
                          : vgpu_cp_store(x, x->rptr_addr,
                                  x->rptr & (x->ring_dwords - 1), 4);
        }
        x->report = step != CP_STEP_DONE;
    }
    return step;
}
