/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: the command processor's compute side (MEC). */
#ifndef HW_MISC_VGPU_KFD_CP_CP_H
#define HW_MISC_VGPU_KFD_CP_CP_H

#include "migration/vmstate.h"
#include "qapi/qapi-types-vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/core/regs.h"

typedef struct VGPUState VGPUState;

/* Parts of the device's saved state. The opaque pointer points to VGPUCp. */
extern const VMStateDescription vmstate_vgpu_clock;
extern const VMStateDescription vmstate_vgpu_cp;

/* Indices of the CP's blocks of registers in vgpu_cp_blocks. */
enum {
    VGPU_CP_GRBM,
    VGPU_CP_MEC,
    VGPU_CP_SH_MEM,
    VGPU_CP_GC,
    VGPU_CP_HQD,
    VGPU_CP_GWS,
    VGPU_CP_SCHEDULERS,
    VGPU_NUM_CP_BLOCKS,
};

extern const VGPUBlock vgpu_cp_blocks[VGPU_NUM_CP_BLOCKS];
extern const VGPUBlock vgpu_clock_block, vgpu_gc_block;

/**
 * vgpu_cp_alloc: allocate s->cp
 * @s: device
 *
 * Context: instance_init.
 */
void vgpu_cp_alloc(VGPUState *s);

/**
 * vgpu_cp_free: free s->cp
 * @s: device
 *
 * Context: instance_finalize.
 */
void vgpu_cp_free(VGPUState *s);

/**
 * vgpu_cp_start: initialise the CP as a client of the GFX hub (VGPUClient), and
 * start the CP's thread
 * @s: device
 *
 * Context: BQL held.
 */
void vgpu_cp_start(VGPUState *s);

/**
 * vgpu_cp_stop: end the CP's thread
 * @s: device
 *
 * The CP's client remains, since other threads may use the client.
 *
 * Context: BQL held. Waits for the thread.
 */
void vgpu_cp_stop(VGPUState *s);

/**
 * vgpu_cp_destroy: destroy the CP's worker and client
 * @s: device
 *
 * Context: BQL held. All threads of the device have ended.
 */
void vgpu_cp_destroy(VGPUState *s);

/**
 * vgpu_cp_reset: reset the queues, the scheduler, the masks of SET_RESOURCES,
 * the SH_MEM registers, and the captured value of the clock
 * @s: device
 *
 * vgpu_reg_reset() resets the other registers of the CP.
 *
 * Context: BQL held, between vgpu_cp_hold() and vgpu_cp_release().
 */
void vgpu_cp_reset(VGPUState *s);

/**
 * vgpu_cp_pause: pause or resume the CP when the machine stops or runs
 * @s: device
 * @paused: true: pause, and wait until the CP executes no step; false: resume
 *
 * Context: BQL held.
 */
void vgpu_cp_pause(VGPUState *s, bool paused);

/**
 * vgpu_cp_hold: stop the CP's thread between two steps, until vgpu_cp_release()
 * @s: device
 *
 * Context: BQL held, before vgpu_sdma_hold(). Returns with the lock of the CP's
 * worker held.
 */
void vgpu_cp_hold(VGPUState *s);

/**
 * vgpu_cp_release: let the CP's thread run after vgpu_cp_hold()
 * @s: device
 *
 * Context: BQL held, after vgpu_sdma_release(). Releases the lock of the CP's
 * worker.
 */
void vgpu_cp_release(VGPUState *s);

/**
 * vgpu_cp_doorbell: handle a doorbell
 * @s: device
 * @offset: offset in BAR 2, in bytes
 * @val: value
 * @size: size of the write: 4 or 8 bytes
 *
 * Context: BQL held.
 * Return: true if a compute queue has the doorbell.
 */
bool vgpu_cp_doorbell(VGPUState *s, uint32_t offset, uint64_t val,
                      unsigned size);

/**
 * vgpu_query_compute: describe the compute queues for query-vgpu (query.c)
 * @s: device
 *
 * Context: BQL held. Holds the CP's worker during the call.
 * Return: description, which the caller frees.
 */
VgpuComputeInfo *vgpu_query_compute(VGPUState *s);

#endif /* HW_MISC_VGPU_KFD_CP_CP_H */
