/* SPDX-License-Identifier: GPL-2.0 */
/* A device with nothing but its memory managers, for unit tests. */
#ifndef VGPU_MOCK_H
#define VGPU_MOCK_H

#include <kunit/test.h>
#include <linux/prandom.h>

#include "../mm/vgpu_mm_priv.h"

#define VGPU_MOCK_VRAM		SZ_64M
#define VGPU_MOCK_GTT		SZ_64M		/* bytes of memory */
#define VGPU_MOCK_GART_PAGES	8192u		/* the first 4096 are windows */
#define VGPU_MOCK_SEED		0x5eed0001ull

/**
 * struct vgpu_mock - the device and a BO to allocate for
 * @vdev: all zero but for the managers
 * @bo: its size and alignment are set by vgpu_mock_alloc()
 * @rnd: random numbers, the same in every run
 */
struct vgpu_mock {
	struct vgpu_device vdev;
	struct vgpu_bo bo;
	struct rnd_state rnd;
};

/* Both managers are up; goes with the test, when all memory is free again. */
struct vgpu_mock *vgpu_mock_new(struct kunit *test);

/* A number below @bound. */
u64 vgpu_mock_random(struct vgpu_mock *mock, u64 bound);

/*
 * Allocate @pages pages at a multiple of @align pages. 0 or the manager's
 * error.
 */
int vgpu_mock_alloc(struct vgpu_mock *mock, u64 pages, u32 align,
		    const struct ttm_place *place, struct ttm_resource **res);
void vgpu_mock_free(struct vgpu_mock *mock, struct ttm_resource *res);

/* Bytes that the manager of @mem_type counts as used. */
u64 vgpu_mock_usage(struct vgpu_mock *mock, u32 mem_type);

/*
 * The oracle: address of every page of a VRAM resource, block by block.
 * @pages: room for PFN_UP(res->size). Returns how many there are.
 */
u64 vgpu_mock_vram_pages(struct vgpu_mock *mock, struct ttm_resource *res,
			 u64 *pages);

#endif /* VGPU_MOCK_H */
