/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel's SDMA rings: packets, submission, fences. All addresses are MC addresses
 * (addresses of VMID 0).
 */
#ifndef VGPU_HW_SDMA_H
#define VGPU_HW_SDMA_H

#include <linux/bits.h>
#include <linux/types.h>

struct dma_fence;
struct drm_printer;
struct vgpu_device;
struct vgpu_sdma_fence;

#define VGPU_SDMA_MAX_COPY		BIT(30)	/* bytes per packet */
#define VGPU_SDMA_MAX_JOB_DWORDS	8192u

/* vgpu_sdma_emit.c */
unsigned int vgpu_sdma_emit_copy(u32 *dw, u64 src, u64 dst, u32 bytes);
unsigned int vgpu_sdma_emit_fill(u32 *dw, u64 dst, u32 value, u32 bytes);
unsigned int vgpu_sdma_emit_ptepde(u32 *dw, u64 dst, u64 flags, u64 addr,
				   u64 incr, u32 count);

/* vgpu_sdma.c */
struct dma_fence *vgpu_sdma_submit(struct vgpu_device *vdev,
				   unsigned int engine, const u32 *dw,
				   unsigned int ndw);
/*
 * Called when a job has failed, before the job's fence signals with @error, a negative errno.
 * May sleep. Must not allocate with reclaim, since reclaim may wait for that fence.
 */
typedef void (*vgpu_sdma_failed_fn)(void *arg, int error);

struct vgpu_sdma_fence *vgpu_sdma_fence_alloc(gfp_t gfp);
void vgpu_sdma_fence_on_failure(struct vgpu_sdma_fence *fence,
				vgpu_sdma_failed_fn failed, void *arg);
void vgpu_sdma_fence_needs_vram(struct vgpu_sdma_fence *fence, int vram_epoch);
void vgpu_sdma_fence_free(struct vgpu_sdma_fence *fence);
struct dma_fence *vgpu_sdma_submit_with(struct vgpu_device *vdev,
					unsigned int engine, const u32 *dw,
					unsigned int ndw,
					struct vgpu_sdma_fence **fence);

/* vgpu_sdma_debugfs.c */
void vgpu_sdma_print_fences(struct vgpu_device *vdev, struct drm_printer *p);
void vgpu_sdma_print_rings(struct vgpu_device *vdev, struct drm_printer *p);

/* vgpu_sdma_cpu.c */
int vgpu_sdma_cpu_run(struct vgpu_device *vdev, const u32 *dw,
		      unsigned int ndw);

#endif /* VGPU_HW_SDMA_H */
