/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions that use the render node over the raw uAPI (drm/amdgpu_drm.h). Unless stated otherwise,
 * a function returns 0 or -errno and does not change the text of vg_error().
 */
#ifndef VR_H
#define VR_H

#include <stddef.h>
#include <stdint.h>

#include <drm/amdgpu_drm.h>

#include "device.h"

#define VR_MAP_RW	(AMDGPU_VM_PAGE_READABLE | AMDGPU_VM_PAGE_WRITEABLE)

/* Call an ioctl, without a restart after signals. Return 0 or -errno. */
int vr_ioctl(int fd, unsigned long request, void *arg);
/*
 * Open the render node of @gpu, in addition to @gpu->fd. Return the file descriptor, or -errno.
 */
int vr_open(const struct vg_gpu *gpu);

/*
 * vr_gem_create(), vr_gem_close() and vr_gem_va() each call one ioctl. vr_gem_create() sets
 * *@handle to 0 on an error.
 */
int vr_gem_create(int fd, uint64_t size, uint64_t domains, uint64_t flags,
		  uint32_t *handle);
int vr_gem_close(int fd, uint32_t handle);
int vr_gem_va(int fd, uint32_t handle, uint32_t op, uint32_t flags, uint64_t va,
	      uint64_t offset, uint64_t size);

/**
 * struct vr_bo - a BO with a CPU and a GPU address
 */
struct vr_bo {
	/** @fd: open file of the render node */
	int fd;
	/** @handle: GEM handle, or 0 if the structure holds no BO */
	uint32_t handle;
	/** @va: GPU address, or 0 if the BO is not mapped for the GPU */
	/** @size: size in bytes, a multiple of the page size */
	uint64_t va, size;
	/** @cpu: CPU mapping */
	void *cpu;
};

/* Create a BO, map it for the CPU and, unless @va is 0, for the GPU. */
int vr_bo_create(int fd, uint64_t size, uint64_t domains, uint64_t flags,
		 uint64_t va, struct vr_bo *bo);
/* Unmap and close the BO. Do nothing for a zeroed structure. */
void vr_bo_free(struct vr_bo *bo);

/*
 * Allocate a context, and store its ID in *@id. On an error, store 0 in *@id. Return 0 or -errno.
 */
int vr_ctx_alloc(int fd, int32_t priority, uint32_t *id);
/* Free a context. */
int vr_ctx_free(int fd, uint32_t id);

/**
 * struct vr_ib - an indirect buffer (IB): packets in a BO
 * @bo: buffer of the packets
 * @ndw: number of dwords emitted so far
 */
struct vr_ib {
	struct vr_bo bo;
	uint32_t ndw;
};
/*
 * Except vr_ib_create(), each vr_ib function appends a packet. The caller ensures that @ib->bo has
 * space for the packet.
 */

/* Create a BO in GTT for packets. The caller frees it with vr_bo_free(&ib->bo). */
int vr_ib_create(int fd, uint64_t size, uint64_t va, struct vr_ib *ib);
void vr_ib_emit(struct vr_ib *ib, const uint32_t *dw, unsigned int n);
void vr_ib_copy(struct vr_ib *ib, uint64_t dst, uint64_t src, uint64_t bytes);
void vr_ib_fill(struct vr_ib *ib, uint64_t dst, uint32_t value, uint64_t bytes);
void vr_ib_write(struct vr_ib *ib, uint64_t dst, uint32_t value);
void vr_ib_add(struct vr_ib *ib, uint64_t dst, uint64_t value);
/* Append a POLL_REGMEM that waits without limit until the dword at @va is @value. */
void vr_ib_poll(struct vr_ib *ib, uint64_t va, uint32_t value);

#define VR_MAX_CHUNKS	8

/**
 * struct vr_cs - arguments of a submission
 */
struct vr_cs {
	/** @ctx: context */
	/** @ring: index of the SDMA ring */
	uint32_t ctx, ring;
	/** @ib: packets to execute, or NULL for a submission without an IB chunk */
	const struct vr_ib *ib;
	/** @handles: GEM handles for a BO_HANDLES chunk, or NULL for a submission without one */
	const uint32_t *handles;
	/** @n_handles: number of @handles; vr_cs_submit() fails with -E2BIG if it is above 64 */
	/** @bo_list: handle of a BO list, or 0 */
	uint32_t n_handles, bo_list;
	/** @chunk: further chunks, added by vr_cs_chunk() */
	struct drm_amdgpu_cs_chunk chunk[VR_MAX_CHUNKS];
	unsigned int n_chunks;
};
/* Add a chunk of @bytes bytes at @data. @data must stay valid until the submission. */
void vr_cs_chunk(struct vr_cs *cs, uint32_t id, const void *data, size_t bytes);
/*
 * Submit @cs. Unless @seq is NULL, store the job's sequence number in *@seq, or 0 on an error.
 */
int vr_cs_submit(int fd, const struct vr_cs *cs, uint64_t *seq);
/* As vr_cs_submit(), for an IB and @n BO handles, without other chunks. */
int vr_submit(int fd, uint32_t ctx, uint32_t ring, const struct vr_ib *ib,
	      const uint32_t *handles, uint32_t n, uint64_t *seq);
/*
 * Wait for job @seq at most @ns nanoseconds (~0: without a limit). Return 0, -ETIME after @ns, or
 * another -errno, such as the job's error.
 */
int vr_wait(int fd, uint32_t ctx, uint32_t ring, uint64_t seq, uint64_t ns);
/* Return the CLOCK_MONOTONIC time @ns from now, or ~0 if @ns is ~0. */
uint64_t vr_deadline(uint64_t ns);

#endif /* VR_H */
