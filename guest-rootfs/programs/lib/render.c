// SPDX-License-Identifier: GPL-2.0-or-later
/* Implementation of render.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <vgpu/bits.h>
#include <vgpu/sdma_packets.h>

#include "device.h"
#include "render.h"
#include "timeout.h"

int vr_ioctl(int fd, unsigned long request, void *arg)
{
	return ioctl(fd, request, arg) < 0 ? -errno : 0;
}

int vr_open(const struct vg_gpu *gpu)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/dev/dri/renderD%d", gpu->minor);
	fd = open(path, O_RDWR | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int vr_gem_create(int fd, uint64_t size, uint64_t domains, uint64_t flags,
		  uint32_t *handle)
{
	union drm_amdgpu_gem_create args = {
		.in = {
			.bo_size = size,
			.domains = domains,
			.domain_flags = flags,
		},
	};
	int r = vr_ioctl(fd, DRM_IOCTL_AMDGPU_GEM_CREATE, &args);

	*handle = r ? 0 : args.out.handle;
	return r;
}

int vr_gem_close(int fd, uint32_t handle)
{
	struct drm_gem_close args = { .handle = handle };

	return vr_ioctl(fd, DRM_IOCTL_GEM_CLOSE, &args);
}

int vr_gem_va(int fd, uint32_t handle, uint32_t op, uint32_t flags, uint64_t va,
	      uint64_t offset, uint64_t size)
{
	struct drm_amdgpu_gem_va args = {
		.handle = handle,
		.operation = op,
		.flags = flags,
		.va_address = va,
		.offset_in_bo = offset,
		.map_size = size,
	};

	return vr_ioctl(fd, DRM_IOCTL_AMDGPU_GEM_VA, &args);
}

static int map_cpu(struct vr_bo *bo)
{
	union drm_amdgpu_gem_mmap args = { .in.handle = bo->handle };
	int r = vr_ioctl(bo->fd, DRM_IOCTL_AMDGPU_GEM_MMAP, &args);

	if (r)
		return r;
	bo->cpu = mmap(NULL, bo->size, PROT_READ | PROT_WRITE, MAP_SHARED,
		       bo->fd, (off_t)args.out.addr_ptr);
	if (bo->cpu == MAP_FAILED) {
		bo->cpu = NULL;
		return -errno;
	}
	return 0;
}

int vr_bo_create(int fd, uint64_t size, uint64_t domains, uint64_t flags,
		 uint64_t va, struct vr_bo *bo)
{
	int r;

	*bo = (struct vr_bo){ .fd = fd, .va = va };
	bo->size = (size + VG_PAGE - 1) & ~(VG_PAGE - 1);
	r = vr_gem_create(fd, bo->size, domains, flags, &bo->handle);
	if (!r)
		r = map_cpu(bo);
	if (!r && va)
		r = vr_gem_va(fd, bo->handle, AMDGPU_VA_OP_MAP, VR_MAP_RW, va,
			      0, bo->size);
	if (r)
		vr_bo_free(bo);
	return r;
}

void vr_bo_free(struct vr_bo *bo)
{
	if (bo->cpu)
		munmap(bo->cpu, bo->size);
	if (bo->handle)
		vr_gem_close(bo->fd, bo->handle);
	*bo = (struct vr_bo){ 0 };
}

int vr_ctx_alloc(int fd, int32_t priority, uint32_t *id)
{
	union drm_amdgpu_ctx args = {
		.in = { .op = AMDGPU_CTX_OP_ALLOC_CTX, .priority = priority },
	};
	int r = vr_ioctl(fd, DRM_IOCTL_AMDGPU_CTX, &args);

	*id = r ? 0 : args.out.alloc.ctx_id;
	return r;
}

int vr_ctx_free(int fd, uint32_t id)
{
	union drm_amdgpu_ctx args = {
		.in = { .op = AMDGPU_CTX_OP_FREE_CTX, .ctx_id = id },
	};

	return vr_ioctl(fd, DRM_IOCTL_AMDGPU_CTX, &args);
}

int vr_ib_create(int fd, uint64_t size, uint64_t va, struct vr_ib *ib)
{
	ib->ndw = 0;
	return vr_bo_create(fd, size, AMDGPU_GEM_DOMAIN_GTT, 0, va, &ib->bo);
}

void vr_ib_emit(struct vr_ib *ib, const uint32_t *dw, unsigned int n)
{
	memcpy((uint32_t *)ib->bo.cpu + ib->ndw, dw, n * 4);
	ib->ndw += n;
}

void vr_ib_copy(struct vr_ib *ib, uint64_t dst, uint64_t src, uint64_t bytes)
{
	const uint32_t dw[SDMA_COPY_LINEAR_DWORDS] = {
		SDMA_PKT(SDMA_OP_COPY, SDMA_SUBOP_COPY_LINEAR),
		VGPU_PREP(SDMA_COPY_LINEAR_DW1__COUNT, (uint32_t)bytes - 1), 0,
		(uint32_t)src, (uint32_t)(src >> 32),
		(uint32_t)dst, (uint32_t)(dst >> 32),
	};

	vr_ib_emit(ib, dw, SDMA_COPY_LINEAR_DWORDS);
}

void vr_ib_fill(struct vr_ib *ib, uint64_t dst, uint32_t value, uint64_t bytes)
{
	const uint32_t dw[SDMA_CONST_FILL_DWORDS] = {
		SDMA_PKT(SDMA_OP_CONST_FILL, 0) |
			VGPU_PREP(SDMA_CONST_FILL__SIZE, 2u),
		(uint32_t)dst, (uint32_t)(dst >> 32), value,
		VGPU_PREP(SDMA_CONST_FILL_DW4__COUNT, (uint32_t)bytes - 1),
	};

	vr_ib_emit(ib, dw, SDMA_CONST_FILL_DWORDS);
}

void vr_ib_write(struct vr_ib *ib, uint64_t dst, uint32_t value)
{
	const uint32_t dw[SDMA_FENCE_DWORDS] = {
		SDMA_PKT(SDMA_OP_FENCE, 0), (uint32_t)dst,
		(uint32_t)(dst >> 32), value,
	};

	vr_ib_emit(ib, dw, SDMA_FENCE_DWORDS);
}

void vr_ib_add(struct vr_ib *ib, uint64_t dst, uint64_t value)
{
	const uint32_t dw[SDMA_ATOMIC_DWORDS] = {
		SDMA_PKT(SDMA_OP_ATOMIC, 0) |
			VGPU_PREP(SDMA_ATOMIC__OP, (uint32_t)SDMA_ATOMIC_ADD64 |
						   SDMA_ATOMIC_OP_NO_RTN),
		(uint32_t)dst, (uint32_t)(dst >> 32),
		(uint32_t)value, (uint32_t)(value >> 32),
	};

	vr_ib_emit(ib, dw, SDMA_ATOMIC_DWORDS);
}

void vr_ib_poll(struct vr_ib *ib, uint64_t va, uint32_t value)
{
	const uint32_t dw[SDMA_POLL_REGMEM_DWORDS] = {
		SDMA_PKT(SDMA_OP_POLL_REGMEM, SDMA_SUBOP_POLL_REGMEM) |
			VGPU_PREP(SDMA_POLL_REGMEM__FUNC, 3u) |
			SDMA_POLL_REGMEM__MEM,
		(uint32_t)va, (uint32_t)(va >> 32), value, ~0u,
		VGPU_PREP(SDMA_POLL_REGMEM_DW5__INTERVAL, 10u) |
			SDMA_POLL_REGMEM_DW5__RETRY,
	};

	vr_ib_emit(ib, dw, SDMA_POLL_REGMEM_DWORDS);
}

void vr_cs_chunk(struct vr_cs *cs, uint32_t id, const void *data, size_t bytes)
{
	cs->chunk[cs->n_chunks++] = (struct drm_amdgpu_cs_chunk){
		.chunk_id = id,
		.length_dw = (uint32_t)(bytes / 4),
		.chunk_data = (uintptr_t)data,
	};
}

int vr_cs_submit(int fd, const struct vr_cs *cs, uint64_t *seq)
{
	struct drm_amdgpu_cs_chunk_ib ib = {
		.ip_type = AMDGPU_HW_IP_DMA,
		.ring = cs->ring,
	};
	struct drm_amdgpu_bo_list_entry entry[64] = { 0 };
	struct drm_amdgpu_bo_list_in list = {
		.operation = ~0u,
		.list_handle = ~0u,
		.bo_number = cs->n_handles,
		.bo_info_size = sizeof(entry[0]),
		.bo_info_ptr = (uintptr_t)entry,
	};
	uint64_t pointer[VR_MAX_CHUNKS];
	union drm_amdgpu_cs args = { 0 };
	struct vr_cs all = *cs;
	unsigned int i;
	int r;

	if (cs->n_handles > 64)
		return -E2BIG;
	if (cs->ib) {
		ib.va_start = cs->ib->bo.va;
		ib.ib_bytes = cs->ib->ndw * 4;
		vr_cs_chunk(&all, AMDGPU_CHUNK_ID_IB, &ib, sizeof(ib));
	}
	if (cs->handles) {
		for (i = 0; i < cs->n_handles; i++)
			entry[i].bo_handle = cs->handles[i];
		vr_cs_chunk(&all, AMDGPU_CHUNK_ID_BO_HANDLES, &list,
			    sizeof(list));
	}
	for (i = 0; i < all.n_chunks; i++)
		pointer[i] = (uintptr_t)&all.chunk[i];
	args.in.ctx_id = cs->ctx;
	args.in.bo_list_handle = cs->bo_list;
	args.in.num_chunks = all.n_chunks;
	args.in.chunks = (uintptr_t)pointer;
	r = vr_ioctl(fd, DRM_IOCTL_AMDGPU_CS, &args);
	if (seq)
		*seq = r ? 0 : args.out.handle;
	return r;
}

int vr_submit(int fd, uint32_t ctx, uint32_t ring, const struct vr_ib *ib,
	      const uint32_t *handles, uint32_t n, uint64_t *seq)
{
	struct vr_cs cs = {
		.ctx = ctx,
		.ring = ring,
		.ib = ib,
		.handles = handles,
		.n_handles = n,
	};

	return vr_cs_submit(fd, &cs, seq);
}

uint64_t vr_deadline(uint64_t ns)
{
	return ns == ~0ull ? ns : vg_now() + ns;
}

int vr_wait(int fd, uint32_t ctx, uint32_t ring, uint64_t seq, uint64_t ns)
{
	union drm_amdgpu_wait_cs args = {
		.in = {
			.handle = seq,
			.timeout = vr_deadline(ns),
			.ip_type = AMDGPU_HW_IP_DMA,
			.ring = ring,
			.ctx_id = ctx,
		},
	};
	int r = vr_ioctl(fd, DRM_IOCTL_AMDGPU_WAIT_CS, &args);

	if (r)
		return r;
	return args.out.status ? -ETIME : 0;
}
