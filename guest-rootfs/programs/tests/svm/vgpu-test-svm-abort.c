// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A reset with lost VRAM (device option vram-lost-on-reset=on) makes the copy of a migration fail.
 * Catches: svm_move_abort() lets the kernel map unfilled pages.
 */
#include <pthread.h>
#include <sys/mman.h>

#include "hold.h"

#define SEED	0xab027
#define FEW	32ul	/* pages in one chunk of a migration, or two */
#define MANY	1400ul	/* pages in at least three chunks: a chunk has at most 512 */

static struct vg vg;
static struct vg_gpu *gpu;
static char *memory;
static unsigned long pages, bytes;

static void start(unsigned long n)
{
	tap_open(&vg, 1);
	gpu = &vg.gpu[0];
	pages = n;
	bytes = n * VG_PAGE;
	memory = tap_anon(bytes);
	vg_pattern_fill(memory, bytes, SEED, 0);
}

static uint32_t losses(void)
{
	uint32_t n = ~0u;
	struct drm_amdgpu_info args = {
		.query = AMDGPU_INFO_VRAM_LOST_COUNTER,
		.return_pointer = (uintptr_t)&n,
		.return_size = sizeof(n),
	};

	ERRNO(0, vr_ioctl(gpu->fd, DRM_IOCTL_AMDGPU_INFO, &args));
	return n;
}

static void in_vram(unsigned long want)
{
	long n = vg_pages_in_vram(memory, bytes);

	OK((int)n);
	CHECK((unsigned long)n == want, "%ld pages are in VRAM, not %lu", n,
	      want);
}

/*
 * Call @move, which starts a migration with @copies copies at a time on @engine. Make these copies
 * fail by a reset. Return the result of @move.
 */
static int fail_copies(uint32_t engine, unsigned long copies,
		       void *(*move)(void *))
{
	uint64_t end = vg_deadline();
	struct hold hold = { 0 };
	uint32_t before = losses();
	unsigned long jobs;
	uint64_t failed;
	pthread_t thread;
	void *result;

	/* Occupy all engines, so that the copies wait on the ring of @engine until the reset. */
	hold_engines(&hold, gpu, NULL, 0);
	jobs = hold_pending(gpu, engine);
	failed = tap_driver_counter(gpu, "jobs_failed");
	CHECK(!pthread_create(&thread, NULL, move, NULL), "thread");
	while (hold_pending(gpu, engine) < jobs + copies) {
		CHECK(vg_now() < end, "%lu copies, not %lu",
		      hold_pending(gpu, engine) - jobs, copies);
		vg_sleep_us(1000);
	}
	OK(vg_gpu_reset(gpu));
	CHECK(!pthread_join(thread, &result), "join");
	if (losses() == before)
		tap_skip("needs --device-opts vram-lost-on-reset=on");
	CHECK(tap_driver_counter(gpu, "jobs_failed") >=
	      failed + HOLD_ENGINES + copies,
	      "%lu jobs failed, and not %lu copies besides",
	      tap_driver_counter(gpu, "jobs_failed") - failed, copies);
	return (int)(intptr_t)result;
}

/*
 * All pages must stay in VRAM, and each access to them must fail, because their contents are lost.
 * Access FEW of them: a CPU fault tries to migrate the whole granule.
 */
static void all_lost(void)
{
	unsigned long i;

	in_vram(pages);
	for (i = 0; i < pages; i += pages / FEW)
		ERRNO(EFAULT, tap_touch(memory + i * VG_PAGE));
	in_vram(pages);
}

static void *touch_first(void *arg)
{
	(void)arg;
	return (void *)(intptr_t)tap_touch(memory);
}

static void *prefetch_back(void *arg)
{
	(void)arg;
	return (void *)(intptr_t)vg_svm_prefetch(&vg, memory, bytes, 0);
}

static void *prefetch(void *arg)
{
	(void)arg;
	return (void *)(intptr_t)vg_svm_prefetch(&vg, memory, bytes,
						 gpu->gpu_id);
}

static void *evict(void *arg)
{
	(void)arg;
	tap_evict_some(gpu, "vram");
	return NULL;
}

static void cpu_fault(void)
{
	start(FEW);
	OK(vg_svm_prefetch(&vg, memory, bytes, gpu->gpu_id));
	in_vram(pages);
	ERRNO(EFAULT, fail_copies(HOLD_OUT_OF_VRAM, 1, touch_first));
	all_lost();
}

static void fail_to_system(unsigned long n, unsigned long copies)
{
	start(n);
	OK(vg_svm_prefetch(&vg, memory, bytes, gpu->gpu_id));
	in_vram(pages);
	ERRNO(EIO, fail_copies(HOLD_OUT_OF_VRAM, copies, prefetch_back));
	all_lost();
}

static void to_system(void)
{
	fail_to_system(FEW, 1);
}

static void eviction(void)
{
	start(FEW);
	OK(vg_svm_prefetch(&vg, memory, bytes, gpu->gpu_id));
	in_vram(pages);
	fail_copies(HOLD_OUT_OF_VRAM, 1, evict);
	all_lost();
}

/*
 * If the copy of a prefetch to VRAM fails, the prefetch must return 0 (as with full VRAM). The
 * pages must stay in system memory.
 */
static void fail_to_vram(unsigned long n, unsigned long copies)
{
	start(n);
	ERRNO(0, fail_copies(HOLD_INTO_VRAM, copies, prefetch));
	in_vram(0);
	OK(vg_pattern_check(memory, bytes, SEED, 0));
	OK(vg_svm_prefetch(&vg, memory, bytes, gpu->gpu_id));
	in_vram(pages);
	OK(vg_pattern_check(memory, bytes, SEED, 0));
	in_vram(0);
}

static void to_vram(void)
{
	fail_to_vram(FEW, 1);
}

/*
 * The copies of two chunks fail together. Catches: the driver waits for a copy before it submits
 * the next one; a migration ends while pages of its last chunk are locked or their BO is pinned.
 */
static void to_system_two(void)
{
	fail_to_system(MANY, 2);
}

/* As to_system_two(), to VRAM. */
static void to_vram_two(void)
{
	fail_to_vram(MANY, 2);
}

static const struct tap_case cases[] = {
	{ "the copy of a CPU fault fails", cpu_fault, 1 },
	{ "the copy of a prefetch to system memory fails", to_system, 1 },
	{ "the copy of an eviction fails", eviction, 1 },
	{ "the copy of a prefetch to VRAM fails", to_vram, 1 },
	{ "two copies of a prefetch to system memory fail", to_system_two, 1 },
	{ "two copies of a prefetch to VRAM fail", to_vram_two, 1 },
};

int main(int argc, char **argv)
{
	return hold_main(TAP_CASES(cases), argc, argv);
}
