/* SPDX-License-Identifier: GPL-2.0 */
/* A device with nothing but its memory managers, for unit tests. */
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
#define VGPU_MOCK_GTT		SZ_64M		/* bytes of memory */
#define VGPU_MOCK_GART_PAGES	12288u		/* the first 8192 are windows */

/**
 * struct vgpu_mock - the device and a BO to allocate for
 * @vdev: all zero but for the managers and the pointers to the next members
 * @hw: of @vdev
 * @mman: of @vdev
 * @vmm: of @vdev
 * @sched: of @vdev
 * @bo: its size and alignment are set by vgpu_mock_alloc()
 * @rnd: random numbers, see vgpu_test_rnd()
 * @regs: registers by dword, once vgpu_mock_regs() was called
 * @writes: how often each was written
 * @doorbells: BAR 2
 * @inv_ack: what each hub's invalidation acknowledges, a bit for each VMID
 * @counters: of the model; each goes on by itself when it is looked at
 * @clock: of the GPU; goes on whenever a register is accessed
 */
struct vgpu_mock {
	struct vgpu_device vdev;
	struct vgpu_hw_state hw;
	struct vgpu_mman mman;
	struct vgpu_vm_manager vmm;
	struct vgpu_sched sched;
	struct vgpu_bo bo;
	struct rnd_state rnd;
	u32 *regs;
	u32 *writes;
	u32 *doorbells;
	u32 inv_ack[VGPU_NUM_HUBS];
	u64 counters[VGPU_NUM_COUNTERS];
	u64 clock;
};

/*
 * Random numbers of a run: another seed each time the module is loaded, or its
 * parameter "seed". The test's log says which.
 */
void vgpu_test_rnd(struct kunit *test, struct rnd_state *rnd);
/* A number below @bound. */
u64 vgpu_test_random(struct rnd_state *rnd, u64 bound);

/*
 * Start a thread that runs @fn(@arg) on another CPU than the test, which needs two CPUs.
 * Disables migration of the test's thread; the caller enables it when @fn has returned.
 */
void vgpu_test_start_elsewhere(struct kunit *test, int (*fn)(void *arg), void *arg);
/*
 * Allocate objects of @size bytes that are all ones, so that one takes the place of a
 * freed object of this size and @gfp. They go with the test.
 */
void vgpu_test_reuse(struct kunit *test, size_t size, gfp_t gfp);

/* Both managers are up; goes with the test, when all memory is free again. */
struct vgpu_mock *vgpu_mock_new(struct kunit *test);

/*
 * Give it registers that behave as docs/hardware.md says of those that the
 * driver waits for or that one access latches; all others keep what is written.
 * Only for code that the test itself calls.
 */
void vgpu_mock_regs(struct kunit *test, struct vgpu_mock *mock);

/*
 * The kernel's ring of SDMA engine 0, without an engine that runs it. @fence_wb and
 * @fence_mc: where an engine would write the number of a job. vgpu_mock_regs() was
 * called. Goes with the test; fences that are pending then signal.
 */
struct vgpu_sdma_ring *vgpu_mock_ring(struct kunit *test, struct vgpu_mock *mock,
				      __le32 *fence_wb, u64 fence_mc);

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
