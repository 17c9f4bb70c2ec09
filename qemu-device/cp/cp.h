/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: the command processor's compute side (MEC). */
#ifndef HW_MISC_VGPU_KFD_CP_CP_H
#define HW_MISC_VGPU_KFD_CP_CP_H

#include "migration/vmstate.h"
#include "qapi/qapi-types-vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/core/regs.h"

typedef struct VGPUState VGPUState;

/* Parts of the saved state: each of VGPUCp. */
extern const VMStateDescription vmstate_vgpu_clock;
extern const VMStateDescription vmstate_vgpu_cp;

/* Blocks of registers of the CP. */
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

/* Allocate and free s->cp: instance_init, instance_finalize. */
void vgpu_cp_alloc(VGPUState *s);
void vgpu_cp_free(VGPUState *s);
/* Begin client and thread. BQL held. */
void vgpu_cp_start(VGPUState *s);
/* End the thread, but keep the client: other threads use it. BQL held. */
void vgpu_cp_stop(VGPUState *s);
/* Free the client. All threads of the device have ended. BQL held. */
void vgpu_cp_destroy(VGPUState *s);
/* Bring all but registers to its reset state. BQL; the worker is held. */
void vgpu_cp_reset(VGPUState *s);
/* The machine stops or goes on. Returns with the CP parked if @paused. BQL. */
void vgpu_cp_pause(VGPUState *s, bool paused);
/* As vgpu_sdma_hold() and _release(). The CP is held first, released last. */
void vgpu_cp_hold(VGPUState *s);
void vgpu_cp_release(VGPUState *s);
/* A doorbell; @offset in bytes. True if a queue took it. BQL held. */
bool vgpu_cp_doorbell(VGPUState *s, uint32_t offset, uint64_t val,
                      unsigned size);

/* For query-vgpu. BQL held. */
VgpuComputeInfo *vgpu_query_compute(VGPUState *s);

#endif /* HW_MISC_VGPU_KFD_CP_CP_H */
