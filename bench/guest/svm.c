// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Measure shared virtual memory of large sizes: the migration of 1 GiB compared with copies by
 * the engine, operations while a million ranges exist, munmap with and without KFD, and faults of
 * several GPUs at once.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench.h"
#include "curves.h"

#define BIG		VG_GIB
#define COPY_BYTES	(64 * VG_MIB)

/*
 * RANGE: pages of a range.
 * STRIDE: pages from the start of a range to the start of the next.
 * TRIES: operations of a measurement.
 */
enum { RANGE = 3, STRIDE = 4, MAX_RANGES = 1000000, TRIES = 500 };

static double rate(uint64_t bytes, uint64_t start)
{
	return (double)bytes / (double)(vg_now() - start);
}

/* Measure the throughput of the engine when it copies BIG / 2 bytes between BOs, without SVM. */
static void engine_rate(struct bench *b, const char *name, struct vg_bo *dst,
			struct vg_bo *src)
{
	uint64_t start = vg_now(), at;

	for (at = 0; at < BIG / 2; at += COPY_BYTES)
		must(vg_emit_copy(&b->queue, dst->va + at, src->va + at,
				  COPY_BYTES), name);
	must(vg_queue_finish(&b->queue, VG_TIMEOUT_MS), name);
	sample(name, BIG / 2, rate(BIG / 2, start), "GB/s");
}

static void engine_rates(struct bench *b)
{
	struct vg_bo vram, gtt;
	int s;

	must(vg_bo_create(&b->vg, b->gpu, BIG / 2, VG_VRAM, &vram), "VRAM");
	must(vg_bo_create(&b->vg, b->gpu, BIG / 2, VG_GTT, &gtt), "GTT");
	/*
	 * The first round fills the host's page tables, so its samples are not used; their
	 * name is "warm".
	 */
	for (s = 0; s <= SAMPLES; s++) {
		engine_rate(b, s ? "svm-engine-in" : "warm", &vram, &gtt);
		engine_rate(b, s ? "svm-engine-out" : "warm", &gtt, &vram);
	}
	must(vg_bo_free(&gtt), "free");
	must(vg_bo_free(&vram), "free");
}

static void migrate_big(struct bench *b)
{
	char *p = must_reserve(BIG);
	uint64_t start;
	int s;

	memset(p, 1, BIG);
	for (s = 0; s <= SAMPLES; s++) {
		start = vg_now();
		must(vg_svm_prefetch(&b->vg, p, BIG, b->gpu->gpu_id),
		     "prefetch");
		if (s)
			sample("svm-big-in", BIG, rate(BIG, start), "GB/s");
		must(vg_pages_in_vram(p, BIG) == (long)(BIG / VG_PAGE) ? 0 :
		     vg_fail(-EIO, "pages stayed"), "migration");
		start = vg_now();
		must(vg_svm_prefetch(&b->vg, p, BIG, 0), "prefetch");
		if (s)
			sample("svm-big-out", BIG, rate(BIG, start), "GB/s");
		must(vg_pages_in_vram(p, BIG) ? vg_fail(-EIO, "pages stayed") :
		     0, "migration");
	}
	munmap(p, BIG);
}

static char *range_at(char *base, uint64_t i)
{
	return base + i * STRIDE * VG_PAGE;
}

/* Create the ranges @from to @to - 1. */
static void create_ranges(struct vg *vg, char *base, uint64_t from, uint64_t to)
{
	uint64_t i;

	for (i = from; i < to; i++)
		must(vg_svm_set1(vg, range_at(base, i), RANGE * VG_PAGE,
				 KFD_IOCTL_SVM_ATTR_GRANULARITY, 7),
		     "SET_ATTR");
}

/* Return the mean time in us of the look-up of one of @n ranges. */
static double lookup_us(struct vg *vg, char *base, uint64_t n)
{
	struct kfd_ioctl_svm_attribute attr;
	uint64_t start = vg_now();
	int i;

	for (i = 0; i < TRIES; i++) {
		attr.type = KFD_IOCTL_SVM_ATTR_GRANULARITY;
		must(vg_svm_get(vg, range_at(base, (uint64_t)random() % n),
				VG_PAGE, &attr, 1), "GET_ATTR");
	}
	return (double)(vg_now() - start) / 1e3 / TRIES;
}

/*
 * Measure the look-up of one of @n ranges, and the split of a range into three. *@used is the
 * number of earlier calls with the same @n. It selects ranges that those calls have not split.
 */
static void measure_ranges(struct bench *b, char *base, uint64_t n,
			   uint64_t *used)
{
	uint64_t start, i;
	char name[40];

	snprintf(name, sizeof(name), "svm-lookup-%lu", n);
	sample(name, 0, lookup_us(&b->vg, base, n), "us");

	/*
	 * Split TRIES / 2 different ranges at regular distances, so that they are spread over the
	 * tree.
	 */
	start = vg_now();
	for (i = 0; i < TRIES / 2; i++) {
		/*
		 * Each call of measure_ranges() with the same @n has another value of *@used, and
		 * so splits other ranges.
		 */
		uint64_t at = n / (TRIES / 2) * i + *used;

		must(vg_svm_set1(&b->vg, range_at(base, at) + VG_PAGE, VG_PAGE,
				 KFD_IOCTL_SVM_ATTR_GRANULARITY, 5), "split");
	}
	(*used)++;
	snprintf(name, sizeof(name), "svm-split-%lu", n);
	sample(name, 0, (double)(vg_now() - start) / 1e3 / (TRIES / 2), "us");
}

static void ranges(struct bench *b)
{
	char *base = must_reserve((uint64_t)MAX_RANGES * STRIDE * VG_PAGE);
	uint64_t n, have = 0;

	for (n = 1000; n <= MAX_RANGES; n *= 10) {
		uint64_t used = 0;

		create_ranges(&b->vg, base, have, n);
		have = n;
		measure_ranges(b, base, n, &used);
		measure_ranges(b, base, n, &used);
		measure_ranges(b, base, n, &used);
	}
	munmap(base, (uint64_t)MAX_RANGES * STRIDE * VG_PAGE);
}

void curve_ranges(uint64_t n)
{
	const uint64_t bytes = n * STRIDE * VG_PAGE;
	char *base, *other;
	struct vg vg;
	uint64_t start;

	must(vg_open_xnack(&vg), "opening KFD");
	other = must_reserve(VG_PAGE);
	base = must_reserve(bytes);
	curve_memory_begin("ranges", n);
	start = vg_now();
	create_ranges(&vg, base, 0, n);
	curve_point("ranges-set", n, curve_ms(start), "ms");
	curve_memory_end("ranges", n);
	curve_point("ranges-lookup", n, lookup_us(&vg, base, n), "us");

	/*
	 * munmap() only logs the unmapped pages. The next SVM call removes the ranges, unless the
	 * driver's worker has removed them already.
	 */
	start = vg_now();
	must(munmap(base, bytes) ? vg_fail(-errno, "munmap") : 0, "ranges");
	must(vg_svm_set1(&vg, other, VG_PAGE, KFD_IOCTL_SVM_ATTR_GRANULARITY,
			 7), "SET_ATTR");
	curve_point("ranges-munmap", n, curve_ms(start), "ms");

	base = must_reserve(bytes);
	create_ranges(&vg, base, 0, n);
}

/*
 * Measure munmap of memory that no GPU has mapped. @vg is the KFD of the process, or NULL if the
 * process has not opened KFD.
 */
static void unmap_big(struct vg *vg, const char *name)
{
	uint64_t start;
	char *p;
	int s;

	for (s = 0; s <= SAMPLES; s++) {
		p = must_reserve(BIG);
		if (vg)
			must(vg_svm_set1(vg, p, BIG,
					 KFD_IOCTL_SVM_ATTR_GRANULARITY, 9),
			     "SET_ATTR");
		memset(p, 1, BIG);
		start = vg_now();
		munmap(p, BIG);
		if (s)
			sample(name, BIG, (double)(vg_now() - start) / 1e6,
			       "ms");
	}
}

/* Measure munmap in a process that has not opened KFD. */
void bench_svm_bare(void)
{
	unmap_big(NULL, "unmap-without-kfd");
}

void bench_svm(struct bench *b)
{
	unmap_big(&b->vg, "unmap-with-range");
	engine_rates(b);
	migrate_big(b);
	ranges(b);
}

/*
 * Return the time in seconds in which @n GPUs, at the same time, write SWEEP untouched bytes each.
 */
static double faults_at_once(struct bench *b, struct vg_queue *q, int n)
{
	/*
	 * Keep the pages in system memory, and map only 2^4 pages (64 KiB) a fault. So the
	 * handling of faults takes most of the time.
	 */
	static const struct kfd_ioctl_svm_attribute stays[] = {
		{ KFD_IOCTL_SVM_ATTR_PREFERRED_LOC, 0 },
		{ KFD_IOCTL_SVM_ATTR_GRANULARITY, 4 },
	};
	char *p[VG_MAX_GPUS];
	double seconds;
	uint64_t start;
	int i;

	for (i = 0; i < n; i++) {
		p[i] = must_map(SWEEP);
		must(vg_svm_set(&b->vg, p[i], SWEEP, stays, 2), "SET_ATTR");
		must(vg_emit_fill(&q[i], (uintptr_t)p[i], 0x5a, SWEEP), "fill");
	}
	start = vg_now();
	for (i = 0; i < n; i++)
		vg_queue_submit(&q[i]);
	for (i = 0; i < n; i++)
		must(vg_queue_finish(&q[i], VG_TIMEOUT_MS), "fill");
	seconds = (double)(vg_now() - start) / 1e9;
	for (i = 0; i < n; i++)
		vg_unmap_anon(p[i], SWEEP);
	return seconds;
}

void bench_svm_gpus(struct bench *b)
{
	const double pages = (double)(SWEEP / VG_PAGE);
	struct vg_queue q[VG_MAX_GPUS];
	int i, s, n = b->vg.n_gpus;
	char name[40];

	must(n > 1 ? 0 : vg_fail(-ENODEV, "one GPU"), "GPUs");
	for (i = 0; i < n; i++)
		must(vg_queue_create(&b->vg, &b->vg.gpu[i], 64 * VG_KIB, &q[i]),
		     "queue");
	snprintf(name, sizeof(name), "faults-by-%d", n);
	for (s = 0; s <= SAMPLES; s++) {
		double one = faults_at_once(b, q, 1);
		double all = faults_at_once(b, q, n);

		if (!s)
			continue;
		sample("faults-by-1", SWEEP, pages / one, "pages/s");
		sample(name, SWEEP, pages * n / all, "pages/s");
	}
	for (i = 0; i < n; i++)
		must(vg_queue_destroy(&q[i]), "queue");
}
