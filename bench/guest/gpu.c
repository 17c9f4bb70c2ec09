// SPDX-License-Identifier: GPL-2.0-or-later
/* Measure the GPU: copies between memory domains, faults, migrations. */
#include <errno.h>
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

/*
 * Map @n pages, @stride bytes apart, that the CPU has and no GPU has mapped. The neighbours of each
 * page are not accessible, so a fault on a page maps exactly this page.
 */
static char *lone_pages(struct bench *b, unsigned int n, uint64_t stride)
{
	char *p = mmap(NULL, n * stride, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	unsigned int i;

	must(p == MAP_FAILED ? vg_fail(-errno, "mmap") : 0, "single faults");
	stays(b, p, n * stride);
	for (i = 0; i < n; i++) {
		must(mprotect(p + i * stride, VG_PAGE, PROT_READ | PROT_WRITE) ?
		     vg_fail(-errno, "mprotect") : 0, "single faults");
		memset(p + i * stride, 1, VG_PAGE);
	}
	return p;
}

/*
 * Measure the time from the raise of a fault to the replay, one fault at a time.
 *
 * The result is compared with disk-read. So, as in disk_read(), the program sleeps while the device
 * and the driver work: a virtual CPU halts, and has to be woken. vg_queue_finish() would yield or
 * sleep for 50 us at a time instead, and so keep a virtual CPU awake. SLEEP_US is longer than
 * almost every fault, so that the timer of the sleep does not wake a virtual CPU during the fault.
 * The engine has no work for the rest of the sleep. It spins for poll-ns at most, so the engine's
 * thread is asleep, too, before the next fault.
 */
static void single_faults(struct bench *b, unsigned int faults)
{
	enum { UNMEASURED = 10, SLEEP_US = 1000 };
	const uint64_t stride = 4 * VG_MIB;
	const uint32_t word = 1;
	static uint64_t ns[MAX_COUNT];
	struct vg_queue *q = &b->queue;
	char *p = lone_pages(b, UNMEASURED + faults, stride), *page = p;
	uint64_t deadline;
	uint32_t seq;
	int i;

	await_quiet();
	for (i = -UNMEASURED; i < (int)faults; i++, page += stride) {
		must(vg_emit_timestamp(q, 0), "single faults");
		must(vg_emit_write(q, (uintptr_t)page, &word, 1),
		     "single faults");
		must(vg_emit_timestamp(q, 1), "single faults");
		must(vg_emit_fence(q, &seq), "single faults");
		deadline = vg_deadline();
		vg_queue_submit(q);
		await_fence(&q->ptrs, seq, SLEEP_US, deadline);
		if (i >= 0)
			ns[i] = (uint64_t)engine_ns(b);
	}
	samples_us("fault-single", VG_PAGE, ns, (int)faults);
	munmap(p, (UNMEASURED + faults) * stride);
}

void bench_single_faults(struct bench *b)
{
	single_faults(b, b->count ? b->count : SINGLE_FAULTS);
}

void bench_faults(struct bench *b)
{
	struct vg_bo bo;

	must(vg_bo_create(&b->vg, b->gpu, SWEEP, VG_GTT, &bo), "GTT");
	sweeps(b, &bo);
	single_faults(b, SINGLE_FAULTS);
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
