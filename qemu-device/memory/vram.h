/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: the host memory of VRAM. Functions for the allocation, for the loss
 * of the contents at a reset, and for fault injection.
 */
#ifndef HW_MISC_VGPU_KFD_MEMORY_VRAM_H
#define HW_MISC_VGPU_KFD_MEMORY_VRAM_H

typedef struct VGPUFilter VGPUFilter;
typedef struct VGPUState VGPUState;

/**
 * vgpu_vram_check_size: check that a size is a power of two in a range
 * @errp: set if the check fails
 * @name: subject of the error message
 * @size: bytes
 * @min: minimum
 * @max: maximum
 *
 * Return: true; false with @errp set.
 */
bool vgpu_vram_check_size(Error **errp, const char *name, uint64_t size,
                          uint64_t min, uint64_t max);

/**
 * vgpu_vram_init: allocate VRAM, or use the backend of property memdev
 * @s: device; with memdev, s->vram_size is set to the size of the backend
 * @errp: set if the size is bad, memdev is in use or read-only, or the
 *        allocation fails
 *
 * Context: BQL held.
 * Return: true; false with @errp set.
 */
bool vgpu_vram_init(VGPUState *s, Error **errp);

/**
 * vgpu_vram_exit: undo vgpu_vram_init()
 * @s: device
 *
 * Memory that vgpu_vram_init() allocated is freed with the device's object.
 *
 * Context: BQL held.
 */
void vgpu_vram_exit(VGPUState *s);

/**
 * vgpu_vram_init_alias: initialise an alias of the first bytes of VRAM
 * @s: device, the owner of @alias
 * @alias: memory region
 * @name: name of @alias
 * @size: bytes
 *
 * Context: BQL held.
 */
void vgpu_vram_init_alias(VGPUState *s, MemoryRegion *alias, const char *name,
                          uint64_t size);

/**
 * vgpu_vram_lose: fill VRAM with zeros
 * @s: device
 *
 * Context: BQL held.
 */
void vgpu_vram_lose(VGPUState *s);

/**
 * vgpu_vram_inject_lost: replace the content of a range by random bytes
 * @s: device
 * @f: filter; its addresses are the range, as offsets in VRAM
 * @seed: seed of the random bytes
 *
 * Pages that contain only zeros are not changed.
 *
 * Context: BQL held.
 */
void vgpu_vram_inject_lost(VGPUState *s, const VGPUFilter *f, uint64_t seed);

/**
 * vgpu_vram_inject_reset: let injections of kind vram-lost-at-reset take
 * effect at a reset of the chip
 * @s: device
 *
 * Context: BQL held. The caller holds the workers of all clients
 * (vgpu_worker_hold()).
 */
void vgpu_vram_inject_reset(VGPUState *s);

#endif /* HW_MISC_VGPU_KFD_MEMORY_VRAM_H */
