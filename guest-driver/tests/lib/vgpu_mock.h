/* SPDX-License-Identifier: GPL-2.0 */
/* A mock of a device with memory managers, for unit tests. */
#ifndef VGPU_MOCK_H
#define VGPU_MOCK_H

#include <kunit/test.h>
#include <linux/prandom.h>

#include "vgpu/pci.h"
#include "drm/vgpu_sched.h"
#include "hw/vgpu_hw_priv.h"
#include "mm/vgpu_mm_priv.h"
#include "vm/vgpu_vm_priv.h"

#define VGPU_MOCK_VRAM		SZ_64M
#define VGPU_MOCK_GTT		SZ_64M
#define VGPU_MOCK_GART_PAGES	12288u		/* the first 8192 are transfer windows */

/**
 * struct vgpu_mock - a device, and the BO that vgpu_mock_alloc() passes to the memory managers
 */
struct vgpu_mock {
	/** @vdev: all zero at first, except the pointers to @hw, @mman, @vmm and @sched */
	struct vgpu_device vdev;
	/** @hw: vgpu_device.hw */
	struct vgpu_hw_state hw;
	/**
	 * @mman: vgpu_mock_new() initialises the VRAM and GTT managers, and only those members of
	 * @mman.bdev that the managers need
	 */
	struct vgpu_mman mman;
	/** @vmm: vgpu_device.vmm; @vmm.lock is not initialised */
	struct vgpu_vm_manager vmm;
	/** @sched: vgpu_device.sched; all zero at first */
	struct vgpu_sched sched;
	/**
	 * @bo: BO for which vgpu_mock_alloc() allocates memory. Each call sets the BO's size and
	 * alignment. @bo.base is the BO's struct vgpu_bo
	 */
	struct vgpu_bo_state bo;
	/** @rnd: state of the random numbers, see vgpu_test_rnd() */
	struct rnd_state rnd;
	/** @regs: registers, indexed by dword offset; NULL before vgpu_mock_regs() */
	u32 *regs;
	/** @writes: number of writes to each register */
	u32 *writes;
	/** @doorbells: BAR 2 */
	u32 *doorbells;
	/** @inv_ack: for each hub, mask of the VMIDs whose invalidation the hub acknowledges */
	u32 inv_ack[VGPU_NUM_HUBS];
	/** @counters: counters of the device; reading a counter increments it */
	u64 counters[VGPU_NUM_COUNTERS];
	/** @clock: GPU clock; incremented by each register access */
	u64 clock;
};

/*
 * Seed @rnd with the module parameter "seed". If the parameter is 0, each load of the module
 * chooses a new random seed. The seed is printed in the test's log.
 */
void vgpu_test_rnd(struct kunit *test, struct rnd_state *rnd);
/* Return a random number below @bound. */
u64 vgpu_test_random(struct rnd_state *rnd, u64 bound);

/*
 * Run @fn(@arg) in a thread on a second CPU. Disables migration of the calling thread; the caller
 * enables migration again after @fn has returned.
 */
void vgpu_test_start_elsewhere(struct kunit *test, int (*fn)(void *arg), void *arg);
/*
 * Overwrite freed objects of @size bytes with ones, to make a use after free visible. Allocates
 * objects with @gfp; the test's end frees them.
 */
void vgpu_test_reuse(struct kunit *test, size_t size, gfp_t gfp);

/*
 * Create a mock with VRAM and GTT managers. The mock is freed at the end of the test. The test must
 * free all memory of the managers before its end.
 */
struct vgpu_mock *vgpu_mock_new(struct kunit *test);

/*
 * Add registers to @mock. Most return the last written value (see mock_rreg() for others). At first
 * VGPU_MAGIC identifies the device, and the IH is idle. Only threads with the test's
 * current->kunit_test can access registers.
 */
void vgpu_mock_regs(struct kunit *test, struct vgpu_mock *mock);

/*
 * Initialise the locks and lists of the SDMA engines and of the CP that a recovery uses. The
 * engines are parked, without a kernel's ring, and the CP is off. Call vgpu_mock_ring() later, not
 * before.
 */
void vgpu_mock_engines(struct vgpu_mock *mock);

/*
 * Create the kernel's ring of SDMA engine 0, freed at the test's end. Requires vgpu_mock_regs().
 * The test writes job numbers to @fence_wb (GPU address @fence_mc).
 */
struct vgpu_sdma_ring *vgpu_mock_ring(struct kunit *test, struct vgpu_mock *mock,
				      __le32 *fence_wb, u64 fence_mc);

/* Return a random number below @bound. */
u64 vgpu_mock_random(struct vgpu_mock *mock, u64 bound);

/* Allocate @pages pages at a multiple of @align pages. Returns 0 or an error of the manager. */
int vgpu_mock_alloc(struct vgpu_mock *mock, u64 pages, u32 align,
		    const struct ttm_place *place, struct ttm_resource **res);
void vgpu_mock_free(struct vgpu_mock *mock, struct ttm_resource *res);

/* Return the number of bytes that the manager of @mem_type counts as used. */
u64 vgpu_mock_usage(struct vgpu_mock *mock, u32 mem_type);

/*
 * Store the address of each page of the VRAM resource @res in @pages, which has PFN_UP(res->size)
 * entries. Returns the number of pages.
 */
u64 vgpu_mock_vram_pages(struct vgpu_mock *mock, struct ttm_resource *res,
			 u64 *pages);

#endif /* VGPU_MOCK_H */
