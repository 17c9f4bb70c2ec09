/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: fetch and execution of PM4 packets of compute queues. The model has
 * no caches and no waves, so cache flushes and waits for waves complete
 * immediately.
 */
#include "qemu/osdep.h"
#include "vgpu/bits.h"
#include "vgpu/device_info.h"
#include "hw/misc/vgpu-kfd/core/clock.h"
#include "hw/misc/vgpu-kfd/core/counters.h"
#include "hw/misc/vgpu-kfd/core/trace.h"
#include "hw/misc/vgpu-kfd/cp/internal.h"
#include "hw/misc/vgpu-kfd/shader/shader.h"

static VGPUStep pm4_fetch(VGPUCp *cp, VGPUExec *x, uint64_t left)
{
    uint32_t header;
    VGPUStep step;

    x->mem.faulted = false;
    x->dw[0] = 0;
    step = vgpu_cp_fetch(x, 0, &header, 1);
    if (step != VGPU_STEP_DONE) {
        return step;
    }
    x->dw[0] = header;
    x->ndw = 1;
    if (header >> 30 == 3) {
        uint32_t count = VGPU_GET(header, PM4_HDR__COUNT);

        if (VGPU_GET(header, PM4_HDR__OPCODE) != PM4_NOP ||
            count != PM4_COUNT_HEADER_ONLY) {
            x->ndw = count + 2;
        }
    } else if (header >> 30 != 2) {
        return vgpu_cp_packet_error(x, CP_ERROR_PACKET_RESERVED);
    }
    if (x->ndw > left) {
        if (x->ib_depth) {
            return vgpu_cp_packet_error(x, CP_ERROR_PACKET_RESERVED);
        }
        return vgpu_exec_wait_wptr(x);
    }
    step = vgpu_cp_fetch(x, 0, x->dw, MIN(x->ndw, VGPU_PKT_MAX_DWORDS));
    if (step == VGPU_STEP_DONE) {
        x->packet = true;
        x->done = 0;
        trace_vgpu_cp_packet(cp->s->id, x->mem.queue, x->mem.vmid,
                             vgpu_exec_pos(x), x->dw[0], x->ndw);
    }
    return step;
}

/*
 * Set *@val to dword @n of the packet. @n is below x->ndw; the dword may be
 * beyond the VGPU_PKT_MAX_DWORDS dwords that x->dw holds.
 */
static VGPUStep pm4_dword(VGPUExec *x, uint32_t n, uint32_t *val)
{
    if (n < VGPU_PKT_MAX_DWORDS) {
        *val = x->dw[n];
        return VGPU_STEP_DONE;
    }
    return vgpu_cp_fetch(x, n, val, 1);
}

static uint64_t pm4_dw64(const VGPUExec *x, unsigned n)
{
    return x->dw[n] | (uint64_t)x->dw[n + 1] << 32;
}

static VGPUStep pm4_nop(VGPUCp *cp, CpQueue *q)
{
    return VGPU_STEP_DONE;
}

static VGPUStep pm4_write_data(VGPUCp *cp, CpQueue *q)
{
    VGPUExec *x = &q->queue.exec;
    unsigned dst = VGPU_GET(x->dw[1], PM4_WRITE_DATA_DW1__DST_SEL);
    bool one = x->dw[1] & PM4_WRITE_DATA_DW1__ONE_ADDR;
    VGPUStep step = VGPU_STEP_DONE;

    if (dst != PM4_DST_REG && dst != PM4_DST_MEM_SYNC && dst != PM4_DST_L2 &&
        dst != PM4_DST_MEM) {
        return vgpu_cp_packet_error(x, CP_ERROR_PACKET_UNSUPPORTED);
    }
    while (x->done < x->ndw - 4) {
        uint32_t at = one ? 0 : x->done;
        uint32_t val;

        if (x->budget-- <= 0) {
            return VGPU_STEP_AGAIN;
        }
        step = pm4_dword(x, 4 + x->done, &val);
        if (step != VGPU_STEP_DONE) {
            return step;
        }
        if (dst == PM4_DST_REG) {
            return vgpu_cp_write_reg(x, x->dw[2] + at, val);
        }
        step = vgpu_cp_store(x, pm4_dw64(x, 2) + 4ull * at, val, 4);
        if (step != VGPU_STEP_DONE) {
            return step;
        }
        x->done++;
    }
    return step;
}

static VGPUStep pm4_copy_data(VGPUCp *cp, CpQueue *q)
{
    VGPUExec *x = &q->queue.exec;
    unsigned src = VGPU_GET(x->dw[1], PM4_COPY_DATA_DW1__SRC_SEL);
    unsigned dst = VGPU_GET(x->dw[1], PM4_COPY_DATA_DW1__DST_SEL);
    unsigned len = x->dw[1] & PM4_COPY_DATA_DW1__COUNT_64 ? 8 : 4;
    VGPUStep step = VGPU_STEP_DONE;
    uint64_t val = 0;
    uint32_t low;

    switch (src) {
    case PM4_SRC_REG:
        step = len == 4 ? vgpu_cp_read_reg(cp, x, x->dw[2], &low)
                        : vgpu_cp_packet_error(x, CP_ERROR_PACKET_UNSUPPORTED);
        if (step == VGPU_STEP_DONE) {
            val = low;
        }
        break;
    case PM4_SRC_MEM:
    case PM4_SRC_L2:
        step = vgpu_cp_load(x, pm4_dw64(x, 2), &val, len);
        break;
    case PM4_SRC_IMMEDIATE:
        val = pm4_dw64(x, 2);
        break;
    case PM4_SRC_CLOCK:
        val = vgpu_clock();
        break;
    default:
        step = vgpu_cp_packet_error(x, CP_ERROR_PACKET_UNSUPPORTED);
        break;
    }
    if (step != VGPU_STEP_DONE) {
        return step;
    }
    switch (dst) {
    case PM4_DST_REG:
        if (len == 8) {
            return vgpu_cp_packet_error(x, CP_ERROR_PACKET_UNSUPPORTED);
        }
        return x->done ? VGPU_STEP_DONE : vgpu_cp_write_reg(x, x->dw[4], val);
    case PM4_DST_MEM_SYNC:
    case PM4_DST_L2:
    case PM4_DST_MEM:
        return vgpu_cp_store(x, pm4_dw64(x, 4), val, len);
    default:
        return vgpu_cp_packet_error(x, CP_ERROR_PACKET_UNSUPPORTED);
    }
}

static VGPUStep pm4_wait_reg_mem(VGPUCp *cp, CpQueue *q)
{
    VGPUExec *x = &q->queue.exec;
    uint32_t ref = x->dw[4], mask = x->dw[5], low = 0;
    unsigned operation = VGPU_GET(x->dw[1], PM4_WAIT_DW1__OPERATION);
    bool mem = x->dw[1] & PM4_WAIT_DW1__MEM_SPACE;
    uint64_t val;
    VGPUStep step;

    if (operation > 1 || (operation && mem)) {
        return vgpu_cp_packet_error(x, CP_ERROR_PACKET_UNSUPPORTED);
    }
    if (mem) {
        step = vgpu_cp_load(x, pm4_dw64(x, 2), &val, 4);
        low = val;
    } else if (operation == 0) {
        step = vgpu_cp_read_reg(cp, x, x->dw[2], &low);
    } else if (x->done == 0) {
        step = vgpu_cp_write_reg(x, x->dw[2], ref);
    } else {
        step = vgpu_cp_read_reg(cp, x, x->dw[3], &low);
        ref &= mask;
    }
    if (step != VGPU_STEP_DONE ||
        vgpu_exec_compare(VGPU_GET(x->dw[1], PM4_WAIT_DW1__FUNCTION),
                          low & mask, ref)) {
        return step;
    }
    return vgpu_cp_poll(x);
}

static VGPUStep pm4_indirect_buffer(VGPUCp *cp, CpQueue *q)
{
    VGPUExec *x = &q->queue.exec;
    VGPUIndirect ib = {
        .base = (x->dw[1] & PM4_IB_DW1__BASE_LO) |
                (uint64_t)(x->dw[2] & PM4_IB_DW2__BASE_HI) << 32,
        .size = VGPU_GET(x->dw[3], PM4_IB_DW3__SIZE),
        .vmid = x->ring_vmid ?: VGPU_GET(x->dw[3], PM4_IB_DW3__VMID),
    };

    /*
     * Indirect buffers do not nest. CHAIN must be clear in the ring, and set in
     * a buffer: execution does not return to the old buffer.
     */
    if (!x->ib_depth != !(x->dw[3] & PM4_IB_DW3__CHAIN)) {
        return vgpu_cp_packet_error(x, CP_ERROR_PACKET_UNSUPPORTED);
    }
    if (!x->ib_depth) {
        x->rptr += x->ndw;
    }
    x->ib[0] = ib;
    x->ib_depth = 1;
    x->packet = false;
    return VGPU_STEP_DONE;
}

static VGPUStep pm4_event_write(VGPUCp *cp, CpQueue *q)
{
    VGPUExec *x = &q->queue.exec;
    unsigned index = VGPU_GET(x->dw[1], PM4_EVENT__INDEX);

    /* Events with index 1 to 3 sample counters that the model does not have. */
    return index >= 1 && index <= 3 ?
           vgpu_cp_packet_error(x, CP_ERROR_PACKET_UNSUPPORTED) :
           VGPU_STEP_DONE;
}

static VGPUStep pm4_release_mem(VGPUCp *cp, CpQueue *q)
{
    VGPUExec *x = &q->queue.exec;
    unsigned data_sel = VGPU_GET(x->dw[2], PM4_RELEASE_DW2__DATA_SEL);
    unsigned int_sel = VGPU_GET(x->dw[2], PM4_RELEASE_DW2__INT_SEL);
    uint64_t va = pm4_dw64(x, 3), data = pm4_dw64(x, 5), now;
    bool interrupt = int_sel == PM4_INT_ONLY || int_sel == PM4_INT_ALWAYS ||
                     int_sel == PM4_INT_AFTER_WRITE;
    VGPUStep step = VGPU_STEP_DONE;
    unsigned len;

    if (VGPU_GET(x->dw[2], PM4_RELEASE_DW2__DST_SEL) > 1 ||
        data_sel >= PM4_DATA_GDS || int_sel > PM4_INT_IF_64) {
        return vgpu_cp_packet_error(x, CP_ERROR_PACKET_UNSUPPORTED);
    }
    if (int_sel == PM4_INT_IF_32 || int_sel == PM4_INT_IF_64) {
        len = int_sel == PM4_INT_IF_32 ? 4 : 8;
        step = vgpu_cp_load(x, va, &now, len);
        interrupt = now == (len == 4 ? (uint32_t)data : data);
    } else if (data_sel == PM4_DATA_32) {
        step = vgpu_cp_store(x, va, data, 4);
    } else if (data_sel == PM4_DATA_64) {
        step = vgpu_cp_store(x, va, data, 8);
    } else if (data_sel != PM4_DATA_NONE) {
        step = vgpu_cp_store(x, va, vgpu_clock(), 8);
    }
    if (step == VGPU_STEP_DONE && interrupt) {
        vgpu_cp_interrupt(cp, q, IH_SRC_CP_END_OF_PIPE, CP_INT_CNTL__TIME_STAMP,
                          x->ndw > 7 ? x->dw[7] : 0);
    }
    return step;
}

static VGPUStep pm4_set_sh_reg(VGPUCp *cp, CpQueue *q)
{
    VGPUExec *x = &q->queue.exec;
    uint32_t first = PM4_SH_REG_FIRST + (x->dw[1] & 0xffff) -
                     PM4_SH_COMPUTE_FIRST;
    uint32_t n = x->ndw - 2;
    VGPUStep step = VGPU_STEP_DONE;

    if (first >= PM4_SH_COMPUTE_COUNT || n > PM4_SH_COMPUTE_COUNT - first) {
        return vgpu_cp_packet_error(x, CP_ERROR_REGISTER_INVALID);
    }
    for (; x->done < n && step == VGPU_STEP_DONE; x->done++) {
        step = pm4_dword(x, 2 + x->done, &q->sh[first + x->done]);
        if (step != VGPU_STEP_DONE) {
            break;
        }
    }
    return step;
}

VGPUStep vgpu_cp_dispatch(VGPUCp *cp, CpQueue *q)
{
    VGPUExec *x = &q->queue.exec;
    VGPUDispatch d = {
        .regs = q->sh, .packet = x->dw, .aql = q->aql, .mem = &x->mem,
    };

    switch (vgpu_shader_dispatch(&d)) {
    case VGPU_DISPATCH_DONE:
        return VGPU_STEP_DONE;
    case VGPU_DISPATCH_AGAIN:
        return VGPU_STEP_AGAIN;
    case VGPU_DISPATCH_STALL:
        return VGPU_STEP_STALL;
    default:
        return vgpu_cp_packet_error(x, CP_ERROR_PACKET_UNSUPPORTED);
    }
}

static const struct {
    uint8_t opcode;
    uint16_t min, max;          /* limits of the length in dwords */
    VGPUStep (*fn)(VGPUCp *cp, CpQueue *q);
    bool scheduler;             /* allowed in KIQ and HIQ only */
} pm4_packets[] = {
    { PM4_NOP, 1, UINT16_MAX, pm4_nop },
    { PM4_DISPATCH_DIRECT, 5, 5, vgpu_cp_dispatch },
    { PM4_DISPATCH_INDIRECT, 4, 4, vgpu_cp_dispatch },
    { PM4_WRITE_DATA, 5, UINT16_MAX, pm4_write_data },
    { PM4_WAIT_REG_MEM, 7, 7, pm4_wait_reg_mem },
    { PM4_INDIRECT_BUFFER, 4, 4, pm4_indirect_buffer },
    { PM4_COPY_DATA, 6, 6, pm4_copy_data },
    { PM4_EVENT_WRITE, 2, 2, pm4_event_write },
    { PM4_RELEASE_MEM, 7, 8, pm4_release_mem },
    { PM4_ACQUIRE_MEM, 7, 7, pm4_nop },
    { PM4_SET_SH_REG, 3, UINT16_MAX, pm4_set_sh_reg },
    { PM4_INVALIDATE_TLBS, 2, 2, vgpu_cp_invalidate_tlbs, true },
    { PM4_SET_RESOURCES, 8, 8, vgpu_cp_set_resources, true },
    { PM4_MAP_QUEUES, 7, 7, vgpu_cp_map_queues, true },
    { PM4_UNMAP_QUEUES, 6, 6, vgpu_cp_unmap_queues, true },
    { PM4_QUERY_STATUS, 7, 7, vgpu_cp_query_status, true },
    { PM4_RUN_LIST, 4, 4, vgpu_cp_run_list, true },
};

/*
 * Return true if @q is allowed to execute a scheduler packet now:
 * - @q is the KIQ, or is mapped as HIQ.
 * - The ring is in VMID 0.
 * - The packet is in the ring, not in an indirect buffer.
 */
static bool pm4_is_scheduler(VGPUCp *cp, CpQueue *q)
{
    uint32_t kiq = qatomic_read(&cp->schedulers);
    unsigned n = cp_queue_number(cp, q);
    unsigned pipe = n / CP_NUM_QUEUES;

    return !q->queue.exec.ring_vmid && !q->queue.exec.ib_depth &&
           (q->hiq ||
            ((kiq & RLC_CP_SCHEDULERS__VALID) &&
             VGPU_GET(kiq, RLC_CP_SCHEDULERS__ME) == 1 + pipe / CP_NUM_PIPES &&
             VGPU_GET(kiq, RLC_CP_SCHEDULERS__PIPE) == pipe % CP_NUM_PIPES &&
             VGPU_GET(kiq, RLC_CP_SCHEDULERS__QUEUE) == n % CP_NUM_QUEUES));
}

static VGPUStep pm4_execute(VGPUCp *cp, CpQueue *q)
{
    VGPUExec *x = &q->queue.exec;
    uint32_t opcode = VGPU_GET(x->dw[0], PM4_HDR__OPCODE);
    unsigned i;

    if (x->dw[0] >> 30 == 2) {
        return VGPU_STEP_DONE;
    }
    for (i = 0; i < ARRAY_SIZE(pm4_packets); i++) {
        if (pm4_packets[i].opcode == opcode && x->ndw >= pm4_packets[i].min &&
            x->ndw <= pm4_packets[i].max &&
            (!pm4_packets[i].scheduler || pm4_is_scheduler(cp, q))) {
            return pm4_packets[i].fn(cp, q);
        }
    }
    return vgpu_cp_packet_error(x, CP_ERROR_PACKET_UNSUPPORTED);
}

VGPUStep vgpu_cp_pm4_step(VGPUCp *cp, CpQueue *q)
{
    VGPUExec *x = &q->queue.exec;
    VGPUStep step = VGPU_STEP_DONE;
    uint64_t left;

    if (!x->packet && (x->poll_wptr || x->writeback)) {
        return vgpu_cp_sync_pointers(q);
    }
    x->mem.vmid = vgpu_exec_vmid(x);
    if (!x->packet) {
        left = vgpu_exec_available(x);
        if (left) {
            step = pm4_fetch(cp, x, left);
        } else {
            x->writeback = x->ib_depth;
            x->ib_depth = 0;
            return VGPU_STEP_DONE;
        }
    }
    if (step == VGPU_STEP_DONE) {
        step = pm4_execute(cp, q);
    }
    if (step == VGPU_STEP_DONE) {
        vgpu_count(cp->s, VGPU_CNT_PACKETS, 1);
        x->polls = 0;
        /* x->packet is false if this packet has entered an indirect buffer. */
        if (x->packet) {
            x->packet = false;
            if (x->ib_depth) {
                x->ib[0].pos += x->ndw;
            } else {
                x->rptr += x->ndw;
                x->writeback = true;
            }
        }
    }
    return step;
}
