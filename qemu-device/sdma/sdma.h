/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: the SDMA engines. */
#ifndef HW_MISC_VGPU_KFD_SDMA_SDMA_H
#define HW_MISC_VGPU_KFD_SDMA_SDMA_H

#include "vgpu/sdma.h"
#include "hw/misc/vgpu-kfd/core/regs.h"

extern const VGPUBlock vgpu_sdma_engine_blocks[SDMA_NUM_ENGINES];
extern const VGPUBlock vgpu_sdma_queue_blocks[SDMA_NUM_ENGINES];

/*
 * A doorbell in an engine's range; @offset in bytes. True if a queue took it.
 * BQL held.
 */
bool vgpu_sdma_doorbell(VGPUState *s, unsigned engine, uint32_t offset,
                        uint64_t val, unsigned size);
/* Begin clients and threads. BQL held. */
void vgpu_engine_start(VGPUState *s);
/* End the threads, but keep the clients: other threads use them. BQL held. */
void vgpu_engine_stop(VGPUState *s);
/* Free the clients. All threads of the device have ended. BQL held. */
void vgpu_engine_destroy(VGPUState *s);
/* Bring its queues to their reset state. BQL; the engine's worker is held. */
void vgpu_engine_reset(VGPUState *s, unsigned engine);
/* The machine stops or goes on. Returns with engines parked if @paused. BQL. */
void vgpu_engine_pause(VGPUState *s, bool paused);

#endif /* HW_MISC_VGPU_KFD_SDMA_SDMA_H */
