/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: the SDMA engines. */
#ifndef HW_MISC_VGPU_KFD_SDMA_SDMA_H
#define HW_MISC_VGPU_KFD_SDMA_SDMA_H

#include "qapi/qapi-types-vgpu-kfd.h"
#include "vgpu/sdma.h"
#include "hw/misc/vgpu-kfd/core/regs.h"

typedef struct VGPUState VGPUState;

extern const VGPUBlock vgpu_sdma_engine_blocks[SDMA_NUM_ENGINES];
extern const VGPUBlock vgpu_sdma_queue_blocks[SDMA_NUM_ENGINES];
/* Of VGPUSdma. */
extern const VMStateDescription vmstate_vgpu_sdma;

/*
 * A doorbell in an engine's range; @offset in bytes. True if a queue took it.
 * BQL held.
 */
bool vgpu_sdma_doorbell(VGPUState *s, unsigned engine, uint32_t offset,
                        uint64_t val, unsigned size);
/* Allocate and free s->sdma: instance_init, instance_finalize. */
void vgpu_sdma_alloc(VGPUState *s);
void vgpu_sdma_free(VGPUState *s);
/* Begin clients and threads. BQL held. */
void vgpu_sdma_start(VGPUState *s);
/* End the threads, but keep the clients: other threads use them. BQL held. */
void vgpu_sdma_stop(VGPUState *s);
/* Free the clients. All threads of the device have ended. BQL held. */
void vgpu_sdma_destroy(VGPUState *s);
/* Bring its queues to their reset state. BQL; the engine's worker is held. */
void vgpu_sdma_engine_reset(VGPUState *s, unsigned engine);
/* The machine stops or goes on. Returns with engines parked if @paused. BQL. */
void vgpu_sdma_pause(VGPUState *s, bool paused);
/*
 * Have all engines at rest, between two chunks of work, until the release. BQL
 * held; the locks of all engines' workers are taken.
 */
void vgpu_sdma_hold(VGPUState *s);
void vgpu_sdma_release(VGPUState *s);

/* query.c: for query-vgpu. BQL held. */
VgpuEngineInfo *vgpu_query_sdma_engine(VGPUState *s, unsigned i);

/* map.c: queues that the CP maps. No lock held. */

/* The CP's order to map a queue. */
typedef struct VGPUSdmaMap {
    int queue;                  /* number of the RLC; negative: any */
    int vmid;                   /* of a run list's queue; negative: no list */
    bool fixed;                 /* static: stays when others are unmapped */
    uint32_t doorbell;          /* as in SDMA_DOORBELL_OFFSET */
    uint64_t mqd;               /* GPU address of the image, in VMID 0 */
    uint64_t wptr;              /* GPU address of wptr; 0: not in memory */
} VGPUSdmaMap;

/* How a queue is mapped. */
typedef struct VGPUSdmaMapping {
    bool mapped;                /* and does not leave */
    bool unmapping;             /* between vgpu_sdma_unmap_start and _finish */
    bool listed;                /* by a run list */
    bool fixed;                 /* as VGPUSdmaMap.fixed */
    uint8_t vmid;
    uint32_t doorbell;          /* SDMA_DOORBELL_OFFSET */
} VGPUSdmaMapping;

typedef enum VGPUSdmaUnmap {
    VGPU_SDMA_UNMAP_HELD,       /* its engine still executes it: try again */
    VGPU_SDMA_UNMAP_SAVE,       /* write its image, then finish */
    VGPU_SDMA_UNMAP_DROP,       /* finish: the image is not needed */
} VGPUSdmaUnmap;

/*
 * Map the queue with @image, SDMA_MQD_DWORDS; a run list's only if it is not
 * mapped yet. False: there is no free RLC.
 */
bool vgpu_sdma_map(VGPUState *s, unsigned engine, const VGPUSdmaMap *m,
                   const uint32_t *image);
/*
 * Stop the queue, which is mapped or leaving. Unless it is held, *@mqd and
 * @image are where its image belongs, and the image.
 */
VGPUSdmaUnmap vgpu_sdma_unmap_start(VGPUState *s, unsigned engine,
                                    unsigned queue, bool reset, uint64_t *mqd,
                                    uint32_t *image);
void vgpu_sdma_unmap_finish(VGPUState *s, unsigned engine, unsigned queue);
VGPUSdmaMapping vgpu_sdma_mapping(VGPUState *s, unsigned engine,
                                  unsigned queue);
/* Mask of the VMIDs that queues of a run list have. */
uint32_t vgpu_sdma_listed_vmids(VGPUState *s);

#endif /* HW_MISC_VGPU_KFD_SDMA_SDMA_H */
