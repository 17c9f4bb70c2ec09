/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: the SDMA engines: doorbells, start and stop, reset, and mapping of
 * queues.
 */
#ifndef HW_MISC_VGPU_KFD_SDMA_SDMA_H
#define HW_MISC_VGPU_KFD_SDMA_SDMA_H

#include "qapi/qapi-types-vgpu-kfd.h"
#include "vgpu/sdma.h"
#include "hw/misc/vgpu-kfd/core/regs.h"

typedef struct VGPUState VGPUState;

extern const VGPUBlock vgpu_sdma_engine_blocks[SDMA_NUM_ENGINES];
extern const VGPUBlock vgpu_sdma_queue_blocks[SDMA_NUM_ENGINES];
/* Saved state. The opaque pointer is to VGPUSdma. */
extern const VMStateDescription vmstate_vgpu_sdma;

/**
 * vgpu_sdma_doorbell: handle a doorbell in an engine's range
 * @s: device
 * @engine: number of the engine
 * @offset: byte offset in BAR 2
 * @val: value
 * @size: 4 or 8 bytes
 *
 * Context: BQL held.
 * Return: true if a queue of the engine has the doorbell.
 */
bool vgpu_sdma_doorbell(VGPUState *s, unsigned engine, uint32_t offset,
                        uint64_t val, unsigned size);

/**
 * vgpu_sdma_alloc: allocate s->sdma
 * @s: device
 *
 * Context: instance_init.
 */
void vgpu_sdma_alloc(VGPUState *s);

/**
 * vgpu_sdma_free: undo vgpu_sdma_alloc()
 * @s: device
 *
 * Context: instance_finalize. The engines' threads have ended.
 */
void vgpu_sdma_free(VGPUState *s);

/**
 * vgpu_sdma_start: initialise the VGPUClient of each engine, and start the
 * engines' threads
 * @s: device
 *
 * Context: BQL held.
 */
void vgpu_sdma_start(VGPUState *s);

/**
 * vgpu_sdma_stop: end the engines' threads
 * @s: device
 *
 * The engines' clients remain, because other threads may use them.
 *
 * Context: BQL held. Waits for the threads.
 */
void vgpu_sdma_stop(VGPUState *s);

/**
 * vgpu_sdma_destroy: destroy the engines' workers and clients
 * @s: device
 *
 * Context: BQL held. All threads of the device have ended.
 */
void vgpu_sdma_destroy(VGPUState *s);

/**
 * vgpu_sdma_engine_reset: reset the queues of an engine
 * @s: device
 * @engine: number of the engine
 *
 * The registers of the engine itself keep their values.
 *
 * Context: BQL held, and the engine's worker held by vgpu_worker_hold().
 */
void vgpu_sdma_engine_reset(VGPUState *s, unsigned engine);

/**
 * vgpu_sdma_pause: pause or resume the engines when the machine stops or runs
 * @s: device
 * @paused: true: pause, and wait until no engine executes a step; false: resume
 *
 * Context: BQL held.
 */
void vgpu_sdma_pause(VGPUState *s, bool paused);

/**
 * vgpu_sdma_hold: stop all engines until vgpu_sdma_release()
 * @s: device
 *
 * Context: BQL held. Waits until each engine has completed its current step.
 * Returns with the locks of all engines' workers held.
 */
void vgpu_sdma_hold(VGPUState *s);

/**
 * vgpu_sdma_release: let the engines run after vgpu_sdma_hold()
 * @s: device
 *
 * Context: BQL held. Releases the locks of all engines' workers.
 */
void vgpu_sdma_release(VGPUState *s);

/**
 * vgpu_query_sdma_engine: describe an engine for query-vgpu (query.c)
 * @s: device
 * @i: number of the engine
 *
 * Context: BQL held. Holds the engine's worker during the call.
 * Return: description, which the caller frees.
 */
VgpuEngineInfo *vgpu_query_sdma_engine(VGPUState *s, unsigned i);

/* map.c: mapping of SDMA queues by the CP. */

/* A request of the CP to map a queue. */
typedef struct VGPUSdmaMap {
    int queue;                  /* number of the RLC, or negative for any RLC */
    /* VMID of the queue. Negative if the queue is not from a run list. */
    int vmid;
    /* Static queue: not unmapped when the run list's time slice ends */
    bool fixed;
    uint32_t doorbell;          /* value of SDMA_DOORBELL_OFFSET */
    uint64_t mqd;               /* GPU address of the MQD in VMID 0 */
    /* GPU address of wptr in memory, or 0 if wptr is not in memory. */
    uint64_t wptr;
} VGPUSdmaMap;

/* State of a queue, as it was during the call of vgpu_sdma_mapping(). */
typedef struct VGPUSdmaMapping {
    bool mapped;                /* mapped, and not being unmapped */
    /*
     * True from vgpu_sdma_unmap_start() until vgpu_sdma_unmap_finish() or a
     * reset of the engine.
     */
    bool unmapping;
    bool listed;                /* mapped by a run list */
    bool fixed;                 /* see VGPUSdmaMap.fixed */
    uint8_t vmid;
    uint32_t doorbell;          /* value of SDMA_DOORBELL_OFFSET */
} VGPUSdmaMapping;

/* Result of vgpu_sdma_unmap_start(): what the caller has to do next. */
typedef enum VGPUSdmaUnmap {
    /*
     * The queue is still in use. Call vgpu_sdma_unmap_start() again later. @mqd
     * and @image are not set.
     */
    VGPU_SDMA_UNMAP_HELD,
    /*
     * vgpu_sdma_unmap_start() has filled in @image. Write @image to the MQD,
     * then call vgpu_sdma_unmap_finish().
     */
    VGPU_SDMA_UNMAP_SAVE,
    /* Do not write @image to the MQD. Call vgpu_sdma_unmap_finish(). */
    VGPU_SDMA_UNMAP_DROP,
} VGPUSdmaUnmap;

/**
 * vgpu_sdma_map: map a queue to an RLC and enable the queue
 * @s: device
 * @engine: number of the engine
 * @m: request
 * @image: MQD, SDMA_MQD_DWORDS dwords
 *
 * Context: the CP's thread, no lock held.
 * Return: false if no RLC for @m is free.
 */
bool vgpu_sdma_map(VGPUState *s, unsigned engine, const VGPUSdmaMap *m,
                   const uint32_t *image);

/**
 * vgpu_sdma_unmap_start: start or continue to unmap a queue
 * @s: device
 * @engine: number of the engine
 * @queue: number of the queue
 * @reset: drop the queue's work; no effect if the unmap has already started
 * @mqd: set to the GPU address of the MQD
 * @image: buffer of SDMA_MQD_DWORDS dwords for the MQD. The function stores the
 *         queue's registers and work there.
 *
 * Context: the CP's thread, no lock held.
 * Return: see VGPUSdmaUnmap.
 */
VGPUSdmaUnmap vgpu_sdma_unmap_start(VGPUState *s, unsigned engine,
                                    unsigned queue, bool reset, uint64_t *mqd,
                                    uint32_t *image);

/**
 * vgpu_sdma_unmap_finish: free the RLC of a queue after vgpu_sdma_unmap_start()
 * @s: device
 * @engine: number of the engine
 * @queue: number of the queue in the engine
 *
 * Context: the CP's thread, no lock held.
 */
void vgpu_sdma_unmap_finish(VGPUState *s, unsigned engine, unsigned queue);

/**
 * vgpu_sdma_mapping: read how a queue is mapped
 * @s: device
 * @engine: number of the engine
 * @queue: number of the queue in the engine
 *
 * Context: the CP's thread, no lock held.
 * Return: mapping.
 */
VGPUSdmaMapping vgpu_sdma_mapping(VGPUState *s, unsigned engine,
                                  unsigned queue);

/**
 * vgpu_sdma_listed_vmids: find the VMIDs of the run list's SDMA queues
 * @s: device
 *
 * Context: the CP's thread, no lock held.
 * Return: mask of VMIDs, also of queues being unmapped.
 */
uint32_t vgpu_sdma_listed_vmids(VGPUState *s);

#endif /* HW_MISC_VGPU_KFD_SDMA_SDMA_H */
