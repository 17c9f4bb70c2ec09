// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Processes repeat an SVM operation until they are killed. Catches: the teardown frees memory in
 * use (KASAN), deadlocks, or leaks pages, BOs or VMIDs.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "race.h"
#include "tap.h"

enum { VICTIMS = 3 };

#define RING	(16 * VG_KIB)
/* The region is smaller on the debug kernel, where migrating a page takes about 2 ms. */
#define REGION	(tap_debug_kernel() ? VG_MIB : 4 * VG_MIB)

/**
 * struct stage - state of a victim, shared with its killer
 * @done: number of completed operations
 * @inside: 1 while the victim executes an operation, else 0
 */
struct stage {
	uint64_t done;
	uint32_t inside;
};

static struct vg vg;
static struct vg_gpu *gpu;
static struct vg_queue q;
static struct stage *stage;

static void enter(void)
{
	__atomic_store_n(&stage->inside, 1, __ATOMIC_SEQ_CST);
}

static void leave(void)
{
	__atomic_store_n(&stage->inside, 0, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&stage->done, 1, __ATOMIC_SEQ_CST);
}

/*
 * Repeat the allocation until it succeeds. Do not use tap_anon(), because a failure in tap_anon()
 * would end the victim.
 */
static char *region(uint64_t bytes)
{
	char *p;

	do
		p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	while (p == MAP_FAILED);
	return p;
}

/* Return memory in which each page causes a GPU fault of its own (granularity 0). */
static char *faulting(uint64_t bytes)
{
	char *p = region(bytes);

	vg_svm_set1(&vg, p, bytes, KFD_IOCTL_SVM_ATTR_ACCESS, gpu->gpu_id);
	vg_svm_set1(&vg, p, bytes, KFD_IOCTL_SVM_ATTR_GRANULARITY, 0);
	if (race_below(2))
		vg_svm_set1(&vg, p, bytes, KFD_IOCTL_SVM_ATTR_PREFERRED_LOC,
			    race_below(2) ? gpu->gpu_id : 0);
	if (race_below(2))
		memset(p, 1, bytes);
	return p;
}

static void emit_fill(char *p, uint64_t bytes)
{
	vg_emit_fill(&q, (uintptr_t)p, 0x5eed, bytes);
	vg_queue_submit(&q);
}

static void in_fault(void)
{
	char *p = faulting(REGION / 4);

	emit_fill(p, REGION / 4);
	enter();
	vg_queue_finish(&q, VG_TIMEOUT_MS);
	leave();
	munmap(p, REGION / 4);
}

static void in_migration(void)
{
	char *p = region(REGION);

	memset(p, 1, REGION);
	enter();
	vg_svm_prefetch(&vg, p, REGION, gpu->gpu_id);
	if (race_below(2))
		vg_svm_prefetch(&vg, p, REGION, 0);
	else
		memset(p, 2, REGION);
	leave();
	munmap(p, REGION);
}

/*
 * Prefetch half of VRAM. The other victims do the same, so the victims evict each other's pages.
 * On a debug kernel, prefetch only REGION bytes.
 */
static void in_eviction(void)
{
	static char *p;
	static uint64_t bytes;
	struct vg_mem_info mem;

	if (!p && !vg_mem_info(gpu, &mem)) {
		bytes = tap_debug_kernel() ? REGION :
			(mem.vram_total / 2) & ~(REGION - 1);
		p = region(bytes);
		memset(p, 1, bytes);
	}
	enter();
	vg_svm_prefetch(&vg, p, bytes, gpu->gpu_id);
	/*
	 * On a debug kernel, the prefetch is too small to fill VRAM, and evicts nothing. Only
	 * race_evict() causes evictions there, so always call race_evict().
	 */
	if (tap_debug_kernel() || !race_below(4))
		race_evict(gpu);
	leave();
}

/*
 * Unmap memory while the engine faults on it, so that pending faults become stale. The victim may
 * be killed while the driver handles these stale faults.
 */
static void in_drain(void)
{
	char *p = faulting(REGION);
	uint64_t until = vg_now() + 1000 * race_below(4000);

	emit_fill(p, REGION);
	while (vg_now() < until)
		;
	enter();
	munmap(p, REGION);
	/*
	 * In a few rounds the fill completes. In the others a fault has stopped the queue, and
	 * this wait times out.
	 */
	vg_queue_finish(&q, 20);
	vg_queue_destroy(&q);
	memset(&q, 0, sizeof(q));
	vg_queue_create(&vg, gpu, RING, &q);
	leave();
}

/* Unmap single pages within many ranges, which leaves deferred work. */
static void in_deferred(void)
{
	char *p = region(REGION), *to;
	uint64_t i;

	for (i = 0; i < 16; i++)
		vg_svm_set1(&vg, p + i * REGION / 16, REGION / 16,
			    KFD_IOCTL_SVM_ATTR_GRANULARITY, (uint32_t)i);
	if (race_below(2))
		vg_svm_prefetch(&vg, p, REGION / 4, gpu->gpu_id);
	enter();
	/* Punch no holes into the first quarter, so that mremap() can move it as a whole. */
	for (i = 0; i < 32; i++)
		munmap(p + REGION / 4 +
		       race_below(REGION * 3 / 4 / VG_PAGE) * VG_PAGE, VG_PAGE);
	to = region(REGION / 4);
	CHECK(mremap(p, REGION / 4, REGION / 4,
		     MREMAP_MAYMOVE | MREMAP_FIXED, to) == to, "mremap");
	munmap(p, REGION);
	leave();
	munmap(to, REGION / 4);
}

static void victim(void (*fn)(void), uint64_t salt, struct stage *ours)
{
	int xnack;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	race_salt(salt);
	stage = ours;
	/* Faults and their drain need XNACK: without it there are no retry faults. */
	xnack = fn == in_fault || fn == in_drain || race_below(2);
	if (vg_open(&vg) || vg_set_xnack(&vg, xnack) != xnack) {
		fprintf(stderr, "%s\n", vg_error());
		_exit(1);
	}
	gpu = &vg.gpu[0];
	if (vg_queue_create(&vg, gpu, RING, &q)) {
		fprintf(stderr, "%s\n", vg_error());
		_exit(1);
	}
	for (;;)
		fn();
}

/*
 * Wait until the victim is at a random point, often inside an operation. Return after 10 s in any
 * case, because the victim may have exited.
 */
static void await(const struct stage *s)
{
	uint64_t until = vg_now() + 10000000000ull;
	uint64_t enough = race_below(4);

	while ((__atomic_load_n(&s->done, __ATOMIC_SEQ_CST) < enough ||
		!__atomic_load_n(&s->inside, __ATOMIC_SEQ_CST)) &&
	       vg_now() < until)
		vg_sleep_us(50);
	vg_sleep_us((unsigned int)race_below(1ull << (4 + race_below(10))));
}

/* Return true if all of @counters have grown since @first. */
static bool all_grew(const char *const *counters, const struct vg_counters *first)
{
	struct vg_counters now;

	OK(vg_driver_counters(gpu, &now));
	for (; *counters; counters++)
		if (vg_counter(&now, *counters, NULL) ==
		    vg_counter(first, *counters, NULL))
			return false;
	return true;
}

/*
 * Kill victims that repeat @fn. Enough victims must die inside the operation, which is between
 * enter() and leave(). All @counters must grow.
 */
static void kill_in(void (*fn)(void), const char *const *counters)
{
	int i, k, rounds = tap_rounds(4, 40);
	struct vg_counters first, last;
	struct race_use before;
	struct stage *shared;
	pid_t pid[VICTIMS];
	int inside = 0;
	struct vg own;
	uint64_t end;

	race_seed();
	tap_open(&own, 0);
	gpu = &own.gpu[0];
	race_use(gpu, &before);
	OK(vg_driver_counters(gpu, &first));
	shared = mmap(NULL, VG_PAGE, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(shared != MAP_FAILED, "mmap");
	end = vg_deadline();
	/*
	 * After @rounds rounds, continue until enough kills hit an operation, at most until @end.
	 * With too few kills, the checks below fail.
	 */
	for (i = 0; tap_goes_on_all(i, rounds) ||
	     ((inside < rounds * VICTIMS / 2 || !all_grew(counters, &first)) &&
	      vg_now() < end); i++) {
		memset(shared, 0, VICTIMS * sizeof(*shared));
		for (k = 0; k < VICTIMS; k++) {
			pid[k] = race_child();
			if (!pid[k])
				victim(fn, (uint64_t)(i * VICTIMS + k),
				       &shared[k]);
		}
		for (k = 0; k < VICTIMS; k++) {
			await(&shared[k]);
			inside += shared[k].inside;
			kill(pid[k], SIGKILL);
		}
		race_reap_killed(pid, VICTIMS);
		race_wait_released(gpu, &before);
		if (!((i + 1) % 20))
			tap_diag("%d processes", (i + 1) * VICTIMS);
	}
	OK(vg_driver_counters(gpu, &last));
	tap_diag("%d of %d were killed inside the operation", inside, i * VICTIMS);
	CHECK(inside >= rounds * VICTIMS / 2, "too few");
	for (; *counters; counters++) {
		uint64_t n = vg_counter(&last, *counters, NULL) -
			     vg_counter(&first, *counters, NULL);

		tap_diag("%s %lu", *counters, n);
		CHECK(n, "no %s", *counters);
	}
}

static void fault(void)
{
	static const char *const counters[] = { "faults_retry", NULL };

	kill_in(in_fault, counters);
}

static void migration(void)
{
	static const char *const counters[] = {
		"pages_to_vram", "pages_to_system", NULL,
	};

	kill_in(in_migration, counters);
}

static void eviction(void)
{
	static const char *const counters[] = {
		"pages_to_vram", "svm_evictions", NULL,
	};

	kill_in(in_eviction, counters);
}

static void drain(void)
{
	static const char *const counters[] = { "faults_retry", NULL };

	kill_in(in_drain, counters);
}

static void deferred(void)
{
	static const char *const counters[] = { "pages_to_vram", NULL };

	kill_in(in_deferred, counters);
}

static const struct tap_case cases[] = {
	{ "killed in a fault", fault, 1 },
	{ "killed in a migration", migration, 1 },
	{ "killed in an eviction", eviction, 1 },
	{ "killed while stale faults come", drain, 1 },
	{ "killed while munmap's work is pending", deferred, 1 },
};

int main(int argc, char **argv)
{
	return tap_main(TAP_CASES(cases), argc, argv);
}
