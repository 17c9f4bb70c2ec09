// SPDX-License-Identifier: GPL-2.0-or-later
/* Measure the GPU: copies between memory domains, faults, migrations. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bench.h"

/* Return the time in ns between the two timestamps that the engine stored in slots 0 and 1. */
static double engine_ns(const struct bench *b)
{
	return (double)(vg_timestamp(&b->queue, 1) -
			vg_timestamp(&b->queue, 0)) * VG_CLOCK_NS;
}

static void copy_between(struct bench *b, const char *name,
			 struct vg_bo *dst, struct vg_bo *src, uint64_t bytes)
{
	struct vg_queue *q = &b->queue;
	uint64_t k, n = 64 * VG_MIB / bytes;
	unsigned int s;

	n = n < 1 ? 1 : n > 256 ? 256 : n;
	for (s = 0; s <= SAMPLES; s++) {
		must(vg_emit_timestamp(q, 0), name);
		for (k = 0; k < n; k++)
			must(vg_emit_copy(q, dst->va, src->va, bytes), name);
		must(vg_emit_timestamp(q, 1), name);
		must(vg_queue_finish(q, VG_TIMEOUT_MS), name);
		/* The first round fills the host's page tables, so it prints no sample. */
		if (s)
			sample(name, bytes, (double)(n * bytes) / engine_ns(b),
			       "GB/s");
	}
}

/* Measure the time from the call of vg_copy() to its return, for a copy of one page. */
static void round_trip(struct bench *b, struct vg_bo *dst, struct vg_bo *src)
{
	unsigned int s;

	for (s = 0; s < 20 * SAMPLES; s++) {
		uint64_t start = vg_now();

		must(vg_copy(&b->queue, (void *)dst->va, (void *)src->va,
			     VG_PAGE), "round trip");
		sample("sdma-round-trip", VG_PAGE,
		       (double)(vg_now() - start) / 1e3, "us");
	}
}

/*
 * Measure the time from the doorbell write until the CPU reads the fence value in memory.
 */
static void first_byte(struct bench *b, const char *name, unsigned int sleep_us)
{
	struct vg_queue *q = &b->queue;
	uint64_t start, end;
	uint32_t seq;
	unsigned int s;

	for (s = 0; s < 40 * SAMPLES; s++) {
		/* Let the SDMA engine fall asleep before the doorbell write. */
		if (sleep_us)
			vg_sleep_us(sleep_us);
		must(vg_emit_fence(q, &seq), name);
		start = vg_now();
		vg_queue_submit(q);
		/*
		 * Poll without sleeping, because the wake-up of an idle CPU would add to the
		 * time.
		 */
		do
			end = vg_now();
		while (vg_queue_fence_value(q) != seq &&
		       end - start < VG_TIMEOUT_MS * 1000000ull);
		must(vg_wait(q, seq, VG_TIMEOUT_MS), name);
		sample(name, 0, (double)(end - start) / 1e3, "us");
	}
}

void bench_copy(struct bench *b)
{
	uint64_t bytes, max = 256 * VG_MIB;
	struct vg_bo vram[2], gtt;

	while (max > b->mem.vram_total / 3 || max > b->mem.gtt_total / 2)
		max /= 4;
	must(vg_bo_create(&b->vg, b->gpu, max, VG_VRAM, &vram[0]), "VRAM");
	must(vg_bo_create(&b->vg, b->gpu, max, VG_VRAM, &vram[1]), "VRAM");
	must(vg_bo_create(&b->vg, b->gpu, max, VG_GTT, &gtt), "GTT");
	for (bytes = 4 * VG_KIB; bytes <= max; bytes *= 4) {
		copy_between(b, "sdma-vram-vram", &vram[1], &vram[0], bytes);
		copy_between(b, "sdma-vram-gtt", &gtt, &vram[0], bytes);
		copy_between(b, "sdma-gtt-vram", &vram[0], &gtt, bytes);
	}
	round_trip(b, &gtt, &vram[0]);
	first_byte(b, "sdma-first-byte-idle", 2000);
	first_byte(b, "sdma-first-byte", 0);
	must(vg_bo_free(&gtt), "free");
	must(vg_bo_free(&vram[0]), "free");
	must(vg_bo_free(&vram[1]), "free");
}

static uint64_t faults(struct bench *b)
{
	struct vg_counters c;

	must(vg_device_counters(b->gpu, &c), "counters");
	return vg_counter(&c, "faults_retry", NULL);
}

static void sweep_sample(struct bench *b, const char *what, uint64_t before)
{
	const double pages = (double)(SWEEP / VG_PAGE);
	double ns = engine_ns(b), n = (double)(faults(b) - before);
	char name[64];

	strcpy(name, what);
	sample(name, SWEEP, pages / ns * 1e9, "pages/s");
	sample(name, SWEEP, ns / 1e3 / pages, "us/page");
	sample(name, SWEEP, n / ns * 1e9, "faults/s");
	sample(name, SWEEP, n ? pages / n : 0, "pages/fault");
}

/* Prefer system memory for the range, so that the measured faults cause no migration. */
static void stays(struct bench *b, void *p, uint64_t bytes)
{
	must(vg_svm_set1(&b->vg, p, bytes, KFD_IOCTL_SVM_ATTR_PREFERRED_LOC, 0),
	     "preferred location");
}

/*
 * Measure the faults of the engine on 64 MiB that have no GPU mapping: first on reads of present
 * pages, then on writes to untouched pages.
 */
static void sweeps(struct bench *b, struct vg_bo *bo)
{
	struct vg_queue *q = &b->queue;
	unsigned int s;

	for (s = 0; s < SAMPLES; s++) {
		char *p = must_map(SWEEP);
		uint64_t before;

		stays(b, p, SWEEP);
		memset(p, 1, SWEEP);
		before = faults(b);
		must(vg_emit_timestamp(q, 0), "sweep");
		must(vg_emit_copy(q, bo->va, (uintptr_t)p, SWEEP), "sweep");
		must(vg_emit_timestamp(q, 1), "sweep");
		must(vg_queue_finish(q, VG_TIMEOUT_MS), "sweep");
		sweep_sample(b, "fault-read-present", before);
		vg_unmap_anon(p, SWEEP);

		p = must_map(SWEEP);
		stays(b, p, SWEEP);
		before = faults(b);
		must(vg_emit_timestamp(q, 0), "sweep");
		must(vg_emit_copy(q, (uintptr_t)p, bo->va, SWEEP), "sweep");
		must(vg_emit_timestamp(q, 1), "sweep");
		must(vg_queue_finish(q, VG_TIMEOUT_MS), "sweep");
		sweep_sample(b, "fault-write-untouched", before);
		vg_unmap_anon(p, SWEEP);
	}
}

/* Distance of the pages of lone faults: each needs a page table of its own. */
#define STRIDE	(4 * VG_MIB)
/* Number of lone faults that follow each other before as many reads of the disk. */
#define BLOCK	16

/*
 * Map @n pages, STRIDE bytes apart, that the CPU has and no GPU has mapped. The neighbours of each
 * page are not accessible, so a fault on a page maps exactly this page.
 */
static char *lone_pages(struct bench *b, unsigned int n)
{
	char *p = mmap(NULL, n * STRIDE, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	unsigned int i;

	must(p == MAP_FAILED ? vg_fail(-errno, "mmap") : 0, "single faults");
	stays(b, p, n * STRIDE);
	for (i = 0; i < n; i++) {
		must(mprotect(p + i * STRIDE, VG_PAGE, PROT_READ | PROT_WRITE) ?
		     vg_fail(-errno, "mprotect") : 0, "single faults");
		memset(p + i * STRIDE, 1, VG_PAGE);
	}
	return p;
}

/*
 * Let the engine write to @page, which the GPU has not mapped. Return the time in ns from the raise
 * of the fault to the replay.
 *
 * The result is compared with null_disk_read(). So, as in that function, the program sleeps while
 * the device and the driver work: a virtual CPU halts, and has to be woken. vg_queue_finish() would
 * yield or sleep for 50 us at a time instead, and so keep a virtual CPU awake. SLEEP_US is longer
 * than almost every fault, so that the timer of the sleep does not wake a virtual CPU during the
 * fault. The engine has no work for the rest of the sleep. It spins for poll-ns at most, so the
 * engine's thread is asleep, too, before the next fault.
 */
static uint64_t lone_fault(struct bench *b, const char *page)
{
	enum { SLEEP_US = 1000 };
	struct vg_queue *q = &b->queue;
	const uint32_t word = 1;
	uint64_t deadline;
	uint32_t seq;

	must(vg_emit_timestamp(q, 0), "single faults");
	must(vg_emit_write(q, (uintptr_t)page, &word, 1), "single faults");
	must(vg_emit_timestamp(q, 1), "single faults");
	must(vg_emit_fence(q, &seq), "single faults");
	deadline = vg_deadline();
	vg_queue_submit(q);
	await_fence(&q->ptrs, seq, SLEEP_US, deadline);
	return (uint64_t)engine_ns(b);
}

static int by_value(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

	return (one > other) - (one < other);
}

/* Return the median of the BLOCK times at @ns. */
static double block_median(const uint64_t *ns)
{
	uint64_t sorted[BLOCK];

	memcpy(sorted, ns, sizeof(sorted));
	qsort(sorted, BLOCK, sizeof(sorted[0]), by_value);
	return (double)(sorted[BLOCK / 2 - 1] + sorted[BLOCK / 2]) / 2;
}

/*
 * Measure @n reads, if there is a @disk, then @n faults on the pages from @page on. Return the page
 * after the last one that was used. The first read and the first fault are not measured, because
 * the program has done other work before them.
 */
static char *fault_block(struct bench *b, const struct null_disk *disk,
			 char *page, unsigned int n, uint64_t *fault_ns,
			 uint64_t *read_ns)
{
	unsigned int i;

	if (disk) {
		null_disk_read(disk);
		for (i = 0; i < n; i++)
			read_ns[i] = null_disk_read(disk);
	}
	lone_fault(b, page);
	for (i = 0, page += STRIDE; i < n; i++, page += STRIDE)
		fault_ns[i] = lone_fault(b, page);
	return page;
}

/*
 * Measure lone faults, one at a time, and if there is a @disk, as many reads of it. A block of
 * reads and a block of faults follow each other in turn: the cost of a wake-up varies from guest to
 * guest and with the load of the host, and so both see the same machine. For each block, print the
 * ratio of the medians of faults and reads.
 */
static void single_faults(struct bench *b, unsigned int faults,
			  const struct null_disk *disk)
{
	static uint64_t fault_ns[MAX_COUNT], read_ns[MAX_COUNT];
	/* Two more blocks at most: the first one below, and one that is not full. */
	unsigned int done, n, blocks = faults / BLOCK + 2;
	char *p = lone_pages(b, blocks * (BLOCK + 1)), *page = p;

	await_quiet();
	/* The times of the first block, which fills caches, are overwritten. */
	page = fault_block(b, disk, page, BLOCK, fault_ns, read_ns);
	for (done = 0; done < faults; done += n) {
		n = faults - done < BLOCK ? faults - done : BLOCK;
		page = fault_block(b, disk, page, n, fault_ns + done,
				   read_ns + done);
	}
	samples_us("fault-single", VG_PAGE, fault_ns, faults);
	if (disk)
		samples_us("disk-read", VG_PAGE, read_ns, faults);
	for (done = 0; disk && done + BLOCK <= faults; done += BLOCK)
		sample("fault-per-disk-read", VG_PAGE,
		       block_median(fault_ns + done) /
		       block_median(read_ns + done), "x");
	munmap(p, blocks * (BLOCK + 1) * STRIDE);
}

static unsigned int single_faults_count(const struct bench *b)
{
	return b->count ? b->count : SINGLE_FAULTS;
}

void bench_single_faults(struct bench *b)
{
	single_faults(b, single_faults_count(b), NULL);
}

void bench_faults_and_reads(struct bench *b)
{
	struct null_disk disk;
	bool found = null_disk_open(&disk);

	single_faults(b, single_faults_count(b), found ? &disk : NULL);
	if (found)
		null_disk_close(&disk);
}

void bench_faults(struct bench *b)
{
	struct vg_bo bo;

	must(vg_bo_create(&b->vg, b->gpu, SWEEP, VG_GTT, &bo), "GTT");
	sweeps(b, &bo);
	bench_faults_and_reads(b);
	must(vg_bo_free(&bo), "free");
}

static void moved(const char *name, uint64_t bytes, uint64_t start)
{
	double ns = (double)(vg_now() - start);

	sample(name, bytes, (double)bytes / ns, "GB/s");
	sample(name, bytes, ns / 1e3 / (double)(bytes / VG_PAGE), "us/page");
}

static void check_in_vram(const char *p, uint64_t bytes)
{
	long n = vg_pages_in_vram(p, bytes);

	if (n >= 0 && (uint64_t)n != bytes / VG_PAGE)
		n = vg_fail(-1, "%ld of %lu pages went to VRAM", n,
			    bytes / VG_PAGE);
	must((int)n, "migration");
}

void bench_migration(struct bench *b)
{
	uint64_t i, start, bytes = SWEEP;
	unsigned int s;
	char *p;

	while (bytes > b->mem.vram_total / 4)
		bytes /= 2;
	p = must_map(bytes);
	memset(p, 1, bytes);
	for (s = 0; s < SAMPLES; s++) {
		start = vg_now();
		must(vg_svm_prefetch(&b->vg, p, bytes, b->gpu->gpu_id),
		     "prefetch");
		moved("migrate-to-vram", bytes, start);
		check_in_vram(p, bytes);
		start = vg_now();
		for (i = 0; i < bytes; i += VG_PAGE)
			p[i]++;
		moved("migrate-touch-back", bytes, start);
		must(vg_svm_prefetch(&b->vg, p, bytes, b->gpu->gpu_id),
		     "prefetch");
		check_in_vram(p, bytes);
		start = vg_now();
		must(vg_svm_prefetch(&b->vg, p, bytes, 0), "prefetch");
		moved("migrate-prefetch-back", bytes, start);
	}
	vg_unmap_anon(p, bytes);
}
