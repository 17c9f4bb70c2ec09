// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A reset with lost VRAM (device option vram-lost-on-reset=on) makes the copy of a migration fail.
 * Catches: svm_move_abort() lets the kernel map unfilled pages.
 */
#include <pthread.h>
#include <sys/mman.h>

#include "hold.h"

#define SEED	0xab027
#define PAGES	32ul
#define BYTES	(PAGES * VG_PAGE)

static struct vg vg;
static struct vg_gpu *gpu;
static char *memory;

static void start(void)
{
	tap_open(&vg, 1);
	gpu = &vg.gpu[0];
	memory = tap_anon(BYTES);
	vg_pattern_fill(memory, BYTES, SEED, 0);
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

static void in_vram(unsigned long pages)
{
	long n = vg_pages_in_vram(memory, BYTES);

	OK((int)n);
	CHECK((unsigned long)n == pages, "%ld pages are in VRAM, not %lu", n,
	      pages);
}

/*
 * Call @move, which starts a migration with a copy on @engine. Make this copy fail by a reset.
 * Return the result of @move.
 */
static int fail_copy(uint32_t engine, void *(*move)(void *))
{
	uint64_t end = vg_deadline();
	struct hold hold = { 0 };
	uint32_t before = losses();
	unsigned long jobs;
	uint64_t failed;
	pthread_t thread;
	void *result;

	/* Occupy all engines, so that the copy waits on the ring of @engine until the reset. */
	hold_engines(&hold, gpu, NULL, 0);
	jobs = hold_pending(gpu, engine);
	failed = tap_driver_counter(gpu, "jobs_failed");
	CHECK(!pthread_create(&thread, NULL, move, NULL), "thread");
	while (hold_pending(gpu, engine) == jobs) {
		CHECK(vg_now() < end, "no copy");
		vg_sleep_us(1000);
	}
	OK(vg_gpu_reset(gpu));
	CHECK(!pthread_join(thread, &result), "join");
	if (losses() == before)
		tap_skip("needs --device-opts vram-lost-on-reset=on");
	CHECK(tap_driver_counter(gpu, "jobs_failed") > failed + HOLD_ENGINES,
	      "%lu jobs failed, and not the copy besides",
	      tap_driver_counter(gpu, "jobs_failed") - failed);
	return (int)(intptr_t)result;
}

/*
 * All pages must stay in VRAM, and each access to them must fail, because their
 * contents are lost.
 */
static void all_lost(void)
{
	unsigned long i;

	in_vram(PAGES);
	for (i = 0; i < PAGES; i++)
		ERRNO(EFAULT, tap_touch(memory + i * VG_PAGE));
	in_vram(PAGES);
}

static void *touch_first(void *arg)
{
	(void)arg;
	return (void *)(intptr_t)tap_touch(memory);
}

static void *prefetch_back(void *arg)
{
	(void)arg;
	return (void *)(intptr_t)vg_svm_prefetch(&vg, memory, BYTES, 0);
}

static void *prefetch(void *arg)
{
	(void)arg;
	return (void *)(intptr_t)vg_svm_prefetch(&vg, memory, BYTES,
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
	start();
	OK(vg_svm_prefetch(&vg, memory, BYTES, gpu->gpu_id));
	in_vram(PAGES);
	ERRNO(EFAULT, fail_copy(HOLD_OUT_OF_VRAM, touch_first));
	all_lost();
}

static void to_system(void)
{
	start();
	OK(vg_svm_prefetch(&vg, memory, BYTES, gpu->gpu_id));
	in_vram(PAGES);
	ERRNO(EIO, fail_copy(HOLD_OUT_OF_VRAM, prefetch_back));
	all_lost();
}

static void eviction(void)
{
	start();
	OK(vg_svm_prefetch(&vg, memory, BYTES, gpu->gpu_id));
	in_vram(PAGES);
	fail_copy(HOLD_OUT_OF_VRAM, evict);
	all_lost();
}

/*
 * If the copy of a prefetch to VRAM fails, the prefetch must return 0 (as with full VRAM). The
 * pages must stay in system memory.
 */
static void to_vram(void)
{
	start();
	ERRNO(0, fail_copy(HOLD_INTO_VRAM, prefetch));
	in_vram(0);
	OK(vg_pattern_check(memory, BYTES, SEED, 0));
	OK(vg_svm_prefetch(&vg, memory, BYTES, gpu->gpu_id));
	in_vram(PAGES);
	OK(vg_pattern_check(memory, BYTES, SEED, 0));
	in_vram(0);
}

static const struct tap_case cases[] = {
	{ "the copy of a CPU fault fails", cpu_fault, 1 },
	{ "the copy of a prefetch to system memory fails", to_system, 1 },
	{ "the copy of an eviction fails", eviction, 1 },
	{ "the copy of a prefetch to VRAM fails", to_vram, 1 },
};

int main(int argc, char **argv)
{
	return hold_main(TAP_CASES(cases), argc, argv);
}
