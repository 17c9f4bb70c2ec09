/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vr: the render node over the raw uAPI (drm/amdgpu_drm.h): BOs with GPU
 * addresses, contexts, submission. Functions return 0 or a negative errno.
 * A BO that is kept in no struct (ioctl tests) uses the handles directly.
 */
#ifndef VR_H
#define VR_H

#include <stddef.h>
#include <stdint.h>

#include <drm/amdgpu_drm.h>

#include "device.h"

#define VR_MAP_RW	(AMDGPU_VM_PAGE_READABLE | AMDGPU_VM_PAGE_WRITEABLE)

/* ioctl() without restart: 0 or -errno. */
int vr_ioctl(int fd, unsigned long request, void *arg);
/* The GPU's render node anew: a file of its own, or -errno. */
int vr_open(const struct vg_gpu *gpu);

int vr_gem_create(int fd, uint64_t size, uint64_t domains, uint64_t flags,
		  uint32_t *handle);
int vr_gem_close(int fd, uint32_t handle);
int vr_gem_va(int fd, uint32_t handle, uint32_t op, uint32_t flags, uint64_t va,
	      uint64_t offset, uint64_t size);

/**
 * struct vr_bo - a BO with a CPU and a GPU address
 */
struct vr_bo {
	int fd;
	uint32_t handle;
	uint64_t va, size;
	void *cpu;
};

/* Creates, maps for the CPU and, unless @va is 0, for the GPU. */
int vr_bo_create(int fd, uint64_t size, uint64_t domains, uint64_t flags,
		 uint64_t va, struct vr_bo *bo);
void vr_bo_free(struct vr_bo *bo);

int vr_ctx_alloc(int fd, int32_t priority, uint32_t *id);
int vr_ctx_free(int fd, uint32_t id);

/**
 * struct vr_ib - packets in a BO
 * @bo: BO
 * @ndw: dwords so far
 */
struct vr_ib {
	struct vr_bo bo;
	uint32_t ndw;
};

int vr_ib_create(int fd, uint64_t size, uint64_t va, struct vr_ib *ib);
void vr_ib_emit(struct vr_ib *ib, const uint32_t *dw, unsigned int n);
void vr_ib_copy(struct vr_ib *ib, uint64_t dst, uint64_t src, uint64_t bytes);
void vr_ib_fill(struct vr_ib *ib, uint64_t dst, uint32_t value, uint64_t bytes);
void vr_ib_write(struct vr_ib *ib, uint64_t dst, uint32_t value);
void vr_ib_add(struct vr_ib *ib, uint64_t dst, uint64_t value);
/* Waits for ever until the dword at @va is @value. */
void vr_ib_poll(struct vr_ib *ib, uint64_t va, uint32_t value);

#define VR_MAX_CHUNKS	8

/**
 * struct vr_cs - a submission: fill in, vr_cs_chunk() what is wanted
 */
struct vr_cs {
	uint32_t ctx, ring;
	const struct vr_ib *ib;
	/* BO_HANDLES; NULL: none */
	const uint32_t *handles;
	uint32_t n_handles, bo_list;
	struct drm_amdgpu_cs_chunk chunk[VR_MAX_CHUNKS];
	unsigned int n_chunks;
};

void vr_cs_chunk(struct vr_cs *cs, uint32_t id, const void *data, size_t bytes);
int vr_cs_submit(int fd, const struct vr_cs *cs, uint64_t *seq);
/* One IB and its BOs. */
int vr_submit(int fd, uint32_t ctx, uint32_t ring, const struct vr_ib *ib,
	      const uint32_t *handles, uint32_t n, uint64_t *seq);
/* @ns from now, ~0: for ever. 0, -ETIME if it takes longer, or the error. */
int vr_wait(int fd, uint32_t ctx, uint32_t ring, uint64_t seq, uint64_t ns);
/* CLOCK_MONOTONIC @ns from now. */
uint64_t vr_deadline(uint64_t ns);

#endif /* VR_H */
