/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: the memory that is VRAM. */
#ifndef HW_MISC_VGPU_KFD_MEMORY_VRAM_H
#define HW_MISC_VGPU_KFD_MEMORY_VRAM_H

typedef struct VGPUFilter VGPUFilter;
typedef struct VGPUState VGPUState;

/*
 * Whether @size is a power of two from @min to @max. If not, *@errp says that
 * of @name.
 */
bool vgpu_vram_check_size(Error **errp, const char *name, uint64_t size,
                          uint64_t min, uint64_t max);
/* Have s->vram as the properties say. BQL held. */
bool vgpu_vram_init(VGPUState *s, Error **errp);
void vgpu_vram_exit(VGPUState *s);
/* Make @alias, of the device, the first @size bytes of VRAM. BQL held. */
void vgpu_vram_init_alias(VGPUState *s, MemoryRegion *alias, const char *name,
                          uint64_t size);
/* What was in VRAM is gone: it is zeros. BQL held. */
void vgpu_vram_lose(VGPUState *s);
/* VRAM in @f's range is lost: @seed chooses what it holds. BQL held. */
void vgpu_vram_inject_lost(VGPUState *s, const VGPUFilter *f, uint64_t seed);
/* Injections that a reset of the chip sets off. BQL held, engines parked. */
void vgpu_vram_inject_reset(VGPUState *s);

#endif /* HW_MISC_VGPU_KFD_MEMORY_VRAM_H */
