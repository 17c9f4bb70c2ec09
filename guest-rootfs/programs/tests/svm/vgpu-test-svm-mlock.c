// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Memory that mlock() has locked migrates while its thread moves between CPUs. Catches: pages do
 * not migrate, because the mlock batch of another CPU has references to them.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "tap.h"

#define SEED	0x10cced
#define PAGES	64
#define SIZE	(PAGES * VG_PAGE)

static pthread_t main_thread;
static atomic_bool ended;

/* Move the main thread from CPU 0 to CPU 1 and back, at random times. */
static void *push(void *arg)
{
	unsigned int seed = SEED;
	cpu_set_t one;
	int i;

	for (i = 0; !ended; i++) {
		CPU_ZERO(&one);
		CPU_SET(i % 2, &one);
		CHECK(!pthread_setaffinity_np(main_thread, sizeof(one), &one), "CPU %d", i % 2);
		vg_sleep_us(rand_r(&seed) % 200);
	}
	return arg;
}

static void expect_in_vram(char *p, long want, const char *when)
{
	long got = vg_pages_in_vram(p, SIZE);

	CHECK(got == want, "%ld of %d pages are in VRAM %s, not %ld", got, PAGES, when, want);
}

static void on_all_cpus(void)
{
	uint32_t gpu_id;
	pthread_t thread;
	struct vg vg;
	char *p;
	int i;

	tap_open(&vg, 1);
	gpu_id = vg.gpu[0].gpu_id;
	p = tap_anon(SIZE);
	CHECK(!mlock(p, SIZE), "mlock: %s", strerror(errno));
	main_thread = pthread_self();
	CHECK(!pthread_create(&thread, NULL, push, NULL), "thread");
	for (i = 0; tap_goes_on(i, 60); i++) {
		vg_pattern_fill(p, SIZE, SEED + i, 0);
		OK(vg_svm_prefetch(&vg, p, SIZE, gpu_id));
		expect_in_vram(p, PAGES, "after a prefetch to VRAM");
		/* A prefetch migrates the pages back in odd rounds, CPU faults in even rounds. */
		if (i % 2) {
			OK(vg_svm_prefetch(&vg, p, SIZE, 0));
			expect_in_vram(p, 0, "after a prefetch to system memory");
		}
		OK(vg_pattern_check(p, SIZE, SEED + i, 0));
		expect_in_vram(p, 0, "after the CPU has read them");
	}
	ended = true;
	CHECK(!pthread_join(thread, NULL), "join");
}

static const struct tap_case cases[] = {
	{ "locked memory migrates while its thread changes CPUs", on_all_cpus, 1 },
};

int main(int argc, char **argv)
{
	return tap_main(TAP_CASES(cases), argc, argv);
}
