/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: what each file of the device offers the others. Part of
 * vgpu-kfd.h, which has the state that all of it is about, and the order of
 * locks.
 */
#ifndef HW_MISC_VGPU_PARTS_H
#define HW_MISC_VGPU_PARTS_H

/* mmio.c: the register window */

extern const MemoryRegionOps vgpu_mmio_ops;

/* nbio.c: doorbells, VRAM size, HDP flush */

extern const VGPUBlock vgpu_pcie_block, vgpu_nbio_block;
extern const MemoryRegionOps vgpu_doorbell_ops;

/* Is @reg in the remapped page that flushes the HDP? BQL held. */
bool vgpu_nbio_is_hdp_remap(VGPUState *s, uint32_t reg);
/* Write GPU_HDP_FLUSH_REQ, read GPU_HDP_FLUSH_DONE. Any thread. */
void vgpu_nbio_hdp_request(VGPUState *s, uint32_t val);
uint32_t vgpu_nbio_hdp_done(VGPUState *s);

/* model.c: identity of the model, counters; and GC's clock */

extern const VGPUBlock vgpu_model_block, vgpu_clock_block, vgpu_gc_block;

/* sdma.c: registers of engines and queues */

extern const VGPUBlock vgpu_sdma_engine_blocks[SDMA_NUM_ENGINES];
extern const VGPUBlock vgpu_sdma_queue_blocks[SDMA_NUM_ENGINES];

/*
 * A doorbell in an engine's range; @offset in bytes. True if a queue took it.
 * BQL held.
 */
bool vgpu_sdma_doorbell(VGPUState *s, unsigned engine, uint32_t offset,
                        uint64_t val, unsigned size);

/* sdma-engine.c: queues as an engine's worker sees them */

void vgpu_engine_start(VGPUState *s);
/* End the threads, but keep the clients: other threads use them. BQL held. */
void vgpu_engine_stop(VGPUState *s);
/* Free the clients. All threads of the device have ended. BQL held. */
void vgpu_engine_destroy(VGPUState *s);
/* Bring its queues to their reset state. BQL; the engine's worker is held. */
void vgpu_engine_reset(VGPUState *s, unsigned engine);
/* The machine stops or goes on. Returns with engines parked if @paused. BQL. */
void vgpu_engine_pause(VGPUState *s, bool paused);
/* These with engine->w.lock held. */

/* Registers allow the queue to run. */
bool vgpu_queue_enabled(const VGPUQueue *q);
/* There is something under way, or something new in the ring. */
bool vgpu_queue_pending(const VGPUQueue *q);
/* The write pointer moved; vgpu_worker_kick() is to follow. */
void vgpu_queue_more(VGPUQueue *q);
/* Pointers or base were written: forget what was under way. */
void vgpu_queue_restart(VGPUEngine *e, VGPUQueue *q);

/* sdma-packet.c: what packets do. Engine thread, no lock held. */

typedef enum VGPUStep {
    VGPU_STEP_DONE,             /* go on */
    VGPU_STEP_AGAIN,            /* give others a turn, then go on */
    VGPU_STEP_STALL,            /* exec.stall says what for */
    VGPU_STEP_BAD_PACKET,
    VGPU_STEP_BAD_RING,
    VGPU_STEP_HANG,             /* never: injected */
} VGPUStep;

/* Do a packet of the queue, or a part of it. */
VGPUStep vgpu_packet_step(VGPUEngine *e, VGPUQueue *q);
/*
 * Can exec->dw be a packet in execution? Its length is the header's, and the
 * indirect buffer, whose pos is not past its size, holds all of it. The ring's
 * pointers are not in @x, and not looked at. Any thread.
 */
bool vgpu_packet_valid(const VGPUExec *x);
/* The ring field of a queue's interrupts. */
uint8_t vgpu_queue_ih_ring(const VGPUEngine *e, const VGPUQueue *q);

/* sdma-mqd.c: a queue's image, SDMA_MQD_DWORDS. engine->w.lock held. */

void vgpu_sdma_mqd_save(const VGPUQueue *q, uint32_t *mqd);
/*
 * Registers and work of a queue that is not enabled, then enable it; in @vmid,
 * or (negative) in the image's.
 */
void vgpu_sdma_mqd_load(VGPUEngine *e, VGPUQueue *q, const uint32_t *mqd,
                        int vmid);

/* sdma-fetch.c: where packets come from. Engine thread, no lock held. */

/* @n dwords at dword @pos of what is executed: ring or indirect buffer. */
VGPUAccess vgpu_sdma_fetch(VGPUExec *x, uint64_t pos, uint32_t *dw, unsigned n);
/* GPU address of dword @pos, and how many dwords follow without a break. */
uint64_t vgpu_sdma_position(const VGPUExec *x, uint64_t pos, uint64_t *left);
/* The VMID of what is executed: ring or indirect buffer. */
unsigned vgpu_sdma_vmid(const VGPUExec *x);
/* May that do what only a privileged queue may? */
bool vgpu_sdma_priv(const VGPUExec *x);

/* reset.c: the chip's resets, and the PSP that a driver asks for one */

extern const VGPUBlock vgpu_psp_block;

/* Bring everything but PCI's configuration to its reset state. BQL held. */
void vgpu_chip_reset(VGPUState *s);
/* vram.c: VRAM and its BAR. BQL held. */

/* Register BAR 0, add the capability that resizes it. */
void vgpu_vram_init_bar(VGPUState *s);
/* The guest wrote these bytes of the configuration space. */
void vgpu_vram_config_written(VGPUState *s, uint32_t addr, int len);
/* Give BAR 0 its first size again. */
void vgpu_vram_reset_bar(VGPUState *s);
/* Give BAR 0 the size that the loaded configuration asks for, if it can be. */
bool vgpu_vram_load_bar(VGPUState *s);

/* vmstate.c: what is saved and migrated */

extern const VMStateDescription vmstate_vgpu, vmstate_vgpu_view;

/* Can this be a queue's work? It may come from anywhere. */
bool vgpu_exec_valid(const VGPUExec *x);

/* cp.c, cp-hqd.c: compute queues. As the SDMA engines' functions above. */

extern const VMStateDescription vmstate_vgpu_cp;

#define VGPU_NUM_CP_BLOCKS      7
extern const VGPUBlock vgpu_cp_blocks[VGPU_NUM_CP_BLOCKS];

void vgpu_cp_start(VGPUState *s);
void vgpu_cp_stop(VGPUState *s);
void vgpu_cp_destroy(VGPUState *s);
/* Bring all but registers to its reset state. BQL; the worker is held. */
void vgpu_cp_reset(VGPUState *s);
void vgpu_cp_pause(VGPUState *s, bool paused);
/* A doorbell; @offset in bytes. True if a queue took it. BQL held. */
bool vgpu_cp_doorbell(VGPUState *s, uint32_t offset, uint64_t val,
                      unsigned size);

#endif /* HW_MISC_VGPU_PARTS_H */
