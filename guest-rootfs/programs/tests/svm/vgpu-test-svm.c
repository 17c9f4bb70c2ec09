// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tests shared virtual memory: faults, migration, attributes, XNACK modes. Catches: lost or
 * repeated writes; a wrong page; data left in VRAM; attributes outside their range.
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tap.h"

#define SEED	   0x5f
#define STOPPED_MS 500

static struct vg vg;
static struct vg_gpu *gpu;
static struct vg_queue q;

static void start(int xnack)
{
	tap_open(&vg, xnack);
	gpu = &vg.gpu[0];
	OK(vg_queue_create(&vg, gpu, 16 * VG_KIB, &q));
}

static void in_vram(const void *p, uint64_t size, uint64_t pages)
{
	long n = vg_pages_in_vram(p, size);

	OK((int)n);
	CHECK((uint64_t)n == pages, "%ld pages are in VRAM, not %lu", n, pages);
}

/* Copy at odd addresses and lengths, in memory that the GPU has not mapped yet. */
static void fault_through(void)
{
	static const struct { uint64_t dst, src, n; } c[] = {
		{ 0, 0, 1 }, { 1, 3, 2 }, { 4095, 4095, 2 }, { 0, 4095, 1 },
		{ 17, 4095, 8193 }, { 4090, 1, VG_MIB + 5 },
		{ 123, 456, 4 * VG_MIB + 789 },
		{ 2 * VG_MIB - 1, 2 * VG_MIB + 1, 2 * VG_MIB + 3 },
	};
	const uint64_t size = 8 * VG_MIB;
	unsigned int i;
	uint64_t k;

	start(1);
	for (i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
		uint64_t faults = tap_device_counter(gpu, "faults_retry");
		char *src = tap_anon(size), *dst = tap_anon(size);

		vg_pattern_fill(src, size, SEED + i, 0);
		OK(vg_copy(&q, dst + c[i].dst, src + c[i].src, c[i].n));
		OK(vg_pattern_check(dst + c[i].dst, c[i].n, SEED + i,
				    c[i].src));
		for (k = c[i].dst & ~(VG_PAGE - 1); k < c[i].dst; k++)
			CHECK(!dst[k], "wrote before its start, at 0x%lx", k);
		for (k = c[i].dst + c[i].n; k % VG_PAGE; k++)
			CHECK(!dst[k], "wrote beyond its end, at 0x%lx", k);
		OK(vg_pattern_check(src, size, SEED + i, 0));
		CHECK(tap_device_counter(gpu, "faults_retry") > faults,
		      "no fault was taken");
		vg_unmap_anon(src, size);
		vg_unmap_anon(dst, size);
	}
}

/* The GPU must read untouched memory as zero, and must be able to write untouched memory. */
static void untouched(void)
{
	char *src, *dst;

	start(1);
	src = tap_anon(VG_MIB);
	dst = tap_anon(VG_MIB);
	memset(dst, 0xff, VG_MIB);
	OK(vg_copy(&q, dst, src, VG_MIB));
	OK(vg_fill_check(dst, VG_MIB, 0));
	OK(vg_fill(&q, src, 0x12345678, VG_MIB));
	OK(vg_fill_check(src, VG_MIB, 0x12345678));
}

/* Copy to and from shared (shmem) memory, and from read-only memory. */
static void other_memory(void)
{
	const uint64_t size = VG_MIB;
	char *shm, *src, *dst;

	start(1);
	shm = mmap(NULL, size, PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(shm != MAP_FAILED, "mmap: %s", strerror(errno));
	src = tap_anon(size);
	dst = tap_anon(size);
	vg_pattern_fill(src, size, SEED, 0);
	CHECK(!mprotect(src, size, PROT_READ), "mprotect");
	OK(vg_copy(&q, shm, src, size));
	OK(vg_pattern_check(shm, size, SEED, 0));
	OK(vg_copy(&q, dst, shm, size));
	OK(vg_pattern_check(dst, size, SEED, 0));
}

/* Eight queues fault on the same pages at the same time. */
static void same_pages(void)
{
	enum { QUEUES = 8 };
	static struct vg_queue many[QUEUES];
	const uint64_t size = 4 * VG_MIB;
	char *src, *dst[QUEUES];
	uint32_t seq[QUEUES];
	int i, round;

	start(1);
	for (i = 0; i < QUEUES; i++)
		OK(vg_queue_create(&vg, gpu, 4096, &many[i]));
	for (round = 0; round < 3; round++) {
		src = tap_anon(size);
		vg_pattern_fill(src, size, SEED + round, 0);
		for (i = 0; i < QUEUES; i++) {
			dst[i] = tap_anon(size);
			OK(vg_emit_copy(&many[i], (uintptr_t)dst[i],
					(uintptr_t)src, size));
			OK(vg_emit_fence(&many[i], &seq[i]));
		}
		for (i = 0; i < QUEUES; i++)
			vg_queue_submit(&many[i]);
		for (i = 0; i < QUEUES; i++)
			OK(vg_wait(&many[i], seq[i], VG_TIMEOUT_MS));
		for (i = 0; i < QUEUES; i++) {
			OK(vg_pattern_check(dst[i], size, SEED + round, 0));
			vg_unmap_anon(dst[i], size);
		}
		vg_unmap_anon(src, size);
	}
}

/* Queues and the CPU add atomically to the same word. */
static void same_words(void)
{
	enum { QUEUES = 4, ADDS = 400 };
	static struct vg_queue many[QUEUES];
	uint32_t seq[QUEUES];
	uint64_t *p;
	int i, k;

	start(1);
	p = (uint64_t *)tap_anon(VG_PAGE);
	for (i = 0; i < QUEUES; i++)
		OK(vg_queue_create(&vg, gpu, 16 * VG_KIB, &many[i]));
	for (i = 0; i < QUEUES; i++) {
		for (k = 0; k < ADDS; k++)
			OK(vg_emit_atomic_add(&many[i], (uintptr_t)p, 1));
		OK(vg_emit_fence(&many[i], &seq[i]));
		vg_queue_submit(&many[i]);
	}
	for (k = 0; k < ADDS; k++)
		__atomic_fetch_add(p, 1, __ATOMIC_SEQ_CST);
	for (i = 0; i < QUEUES; i++)
		OK(vg_wait(&many[i], seq[i], VG_TIMEOUT_MS));
	CHECK(*p == (QUEUES + 1) * ADDS, "%lu of %d adds", *p,
	      (QUEUES + 1) * ADDS);
}

static void prefetch_and_back(void)
{
	const uint64_t size = 8 * VG_MIB;
	struct vg_mem_info before, now;
	char *p;

	start(1);
	p = tap_anon(size);
	vg_pattern_fill(p, size, SEED, 0);
	OK(vg_mem_info(gpu, &before));
	OK(vg_svm_prefetch(&vg, p, size, gpu->gpu_id));
	in_vram(p, size, size / VG_PAGE);
	OK(vg_mem_info(gpu, &now));
	CHECK(now.vram_used >= before.vram_used + size,
	      "VRAM used went from %lu to %lu", before.vram_used,
	      now.vram_used);
	OK(vg_fill(&q, p + 5000, 0xabcdef01, 3 * VG_MIB));
	in_vram(p, size, size / VG_PAGE);
	OK(vg_svm_prefetch(&vg, p, size, 0));
	in_vram(p, size, 0);
	OK(vg_fill_check(p + 5000, 3 * VG_MIB, 0xabcdef01));
	OK(vg_pattern_check(p, 5000, SEED, 0));
	OK(vg_pattern_check(p + 5000 + 3 * VG_MIB, size - 5000 - 3 * VG_MIB,
			    SEED, 5000 + 3 * VG_MIB));
	/*
	 * munmap() must free the VRAM. Allow 1 MiB, because the driver may keep page
	 * tables.
	 */
	vg_unmap_anon(p, size);
	before.vram_used += VG_MIB;
	OK(vg_mem_wait_freed(gpu, &before, VG_TIMEOUT_MS));
}

/*
 * The CPU touches single pages. Each of these pages must migrate back, alone or with
 * pages of its granule. Pages of other granules must stay in VRAM.
 */
static void partial_return(void)
{
	const uint64_t size = 8 * VG_MIB, granule = 16 * VG_PAGE;
	const struct kfd_ioctl_svm_attribute attr[] = {
		{ KFD_IOCTL_SVM_ATTR_GRANULARITY, 4 },
		{ KFD_IOCTL_SVM_ATTR_PREFETCH_LOC, 0 },
	};
	struct kfd_ioctl_svm_attribute a[2];
	char *p, *dst;
	long left;
	int i;

	start(1);
	p = tap_anon(size);
	dst = tap_anon(size);
	vg_pattern_fill(p, size, SEED, 0);
	memcpy(a, attr, sizeof(a));
	a[1].value = gpu->gpu_id;
	OK(vg_svm_set(&vg, p, size, a, 2));
	in_vram(p, size, size / VG_PAGE);
	for (i = 0; i < 8; i++) {
		uint64_t at = i * VG_MIB + 3 * VG_PAGE;

		OK(vg_pattern_check(p + at, 100, SEED, at));
	}
	left = vg_pages_in_vram(p, size);
	CHECK(left >= (long)((size - 8 * granule) / VG_PAGE) &&
	      left <= (long)(size / VG_PAGE - 8),
	      "after 8 touches %ld of %lu pages are in VRAM", left,
	      size / VG_PAGE);
	/* Most pages are still in VRAM. The engine must be able to read all pages. */
	OK(vg_copy(&q, dst, p, size));
	OK(vg_pattern_check(dst, size, SEED, 0));
	OK(vg_pattern_check(p, size, SEED, 0));
	in_vram(p, size, 0);
}

/* CPU writes and prefetches alternate. Catches: a read returns bytes of an earlier round. */
static void to_and_fro(void)
{
	const uint64_t size = 2 * VG_MIB;
	char *p, *dst;
	int i;

	start(1);
	p = tap_anon(size);
	dst = tap_anon(size);
	for (i = 0; i < 12; i++) {
		vg_pattern_fill(p, size, SEED + i, 0);
		OK(vg_svm_prefetch(&vg, p, size, gpu->gpu_id));
		OK(vg_fill(&q, p + i * 4096, i, 4096));
		OK(vg_copy(&q, dst, p, size));
		OK(vg_pattern_check(dst, i * 4096, SEED + i, 0));
		OK(vg_fill_check(dst + i * 4096, 4096, i));
		OK(vg_fill_check(p + i * 4096, 4096, i));
		OK(vg_pattern_check(p + (i + 1) * 4096, size - (i + 1) * 4096,
				    SEED + i, (i + 1) * 4096));
	}
}

/* Prefetch a sparse range: untouched pages must be prefetched as zeros. */
static void prefetch_untouched(void)
{
	const uint64_t size = 4 * VG_MIB;
	uint64_t i;
	char *p, *dst;

	start(1);
	p = tap_anon(size);
	dst = tap_anon(size);
	for (i = 0; i < size; i += 8 * VG_PAGE)
		p[i] = 1;
	OK(vg_svm_prefetch(&vg, p, size, gpu->gpu_id));
	memset(dst, 0xff, size);
	OK(vg_copy(&q, dst, p, size));
	for (i = 0; i < size; i++)
		CHECK(dst[i] == !(i % (8 * VG_PAGE)), "byte 0x%lx is %d", i,
		      dst[i]);
}

/*
 * Prefetch several chunks. In the middle, each second page belongs to a file, and must stay in
 * system memory. Catches: the fault of such a page, for write access by the GPU, migrates the pages
 * behind it back; a page gets the content of another page; pages that stay are counted as moved.
 */
static void prefetch_mixed(void)
{
	const uint64_t size = 8 * VG_MIB, at = 3 * VG_MIB, part = 2 * VG_MIB;
	volatile char *touch;
	char *p, *dst, *file;
	uint64_t i;
	int fd;

	start(1);
	p = tap_anon(size);
	dst = tap_anon(size);
	fd = memfd_create("mixed", MFD_CLOEXEC);
	CHECK(fd >= 0 && !ftruncate(fd, part), "memfd: %s", strerror(errno));
	file = mmap(NULL, part, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(file != MAP_FAILED, "mmap: %s", strerror(errno));
	vg_pattern_fill(file, part, SEED, at);
	CHECK(mmap(p + at, part, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_FIXED, fd, 0) == p + at, "mmap: %s",
	      strerror(errno));
	vg_pattern_fill(p, at, SEED, 0);
	vg_pattern_fill(p + at + part, size - at - part, SEED, at + part);
	/* A write gives the process its own copy of the page. */
	for (touch = p + at, i = 0; i < part; i += 2 * VG_PAGE)
		touch[i] = touch[i];
	OK(vg_pattern_check(p, size, SEED, 0));

	OK(vg_svm_prefetch(&vg, p, size, gpu->gpu_id));
	in_vram(p, size, (size - part / 2) / VG_PAGE);
	OK(vg_copy(&q, dst, p, size));
	OK(vg_pattern_check(dst, size, SEED, 0));
	OK(vg_svm_prefetch(&vg, p, size, 0));
	in_vram(p, size, 0);
	OK(vg_pattern_check(p, size, SEED, 0));
}

static uint32_t get_attr(const char *p, uint64_t size, uint32_t type,
			 uint32_t value)
{
	struct kfd_ioctl_svm_attribute a = { type, value };

	OK(vg_svm_get(&vg, p, size, &a, 1));
	return type == KFD_IOCTL_SVM_ATTR_ACCESS ? a.type : a.value;
}

static void expect(const char *p, uint64_t size, uint32_t type, uint32_t value,
		   uint32_t want)
{
	uint32_t got = get_attr(p, size, type, value);

	CHECK(got == want, "attribute %u is 0x%x, should be 0x%x", type, got,
	      want);
}

static void attributes(void)
{
	const uint64_t size = 64 * VG_PAGE, half = size / 2;
	const uint32_t none = KFD_IOCTL_SVM_LOCATION_UNDEFINED;
	char *p;

	start(1);
	p = tap_anon(size);
	/* Check the defaults. Every GPU may access the memory, because XNACK is on. */
	expect(p, size, KFD_IOCTL_SVM_ATTR_PREFERRED_LOC, 0, none);
	expect(p, size, KFD_IOCTL_SVM_ATTR_PREFETCH_LOC, 0, none);
	expect(p, size, KFD_IOCTL_SVM_ATTR_GRANULARITY, 0, 9);
	expect(p, size, KFD_IOCTL_SVM_ATTR_SET_FLAGS, 0,
	       KFD_IOCTL_SVM_FLAG_HOST_ACCESS | KFD_IOCTL_SVM_FLAG_COHERENT);
	expect(p, size, KFD_IOCTL_SVM_ATTR_ACCESS, gpu->gpu_id,
	       KFD_IOCTL_SVM_ATTR_ACCESS);

	OK(vg_svm_set1(&vg, p, half, KFD_IOCTL_SVM_ATTR_PREFERRED_LOC,
		       gpu->gpu_id));
	expect(p, half, KFD_IOCTL_SVM_ATTR_PREFERRED_LOC, 0, gpu->gpu_id);
	/*
	 * The two halves have different values, so GET_ATTR must return "undefined" for the
	 * whole range.
	 */
	OK(vg_svm_set1(&vg, p + half, half, KFD_IOCTL_SVM_ATTR_PREFERRED_LOC,
		       0));
	expect(p, size, KFD_IOCTL_SVM_ATTR_PREFERRED_LOC, 0, none);
	expect(p + half, half, KFD_IOCTL_SVM_ATTR_PREFERRED_LOC, 0, 0);

	/*
	 * GET_ATTR must return the smallest granularity in the range. SET_ATTR must
	 * store values above 63 as 63.
	 */
	OK(vg_svm_set1(&vg, p, half, KFD_IOCTL_SVM_ATTR_GRANULARITY, 3));
	OK(vg_svm_set1(&vg, p + half, half, KFD_IOCTL_SVM_ATTR_GRANULARITY,
		       200));
	expect(p, size, KFD_IOCTL_SVM_ATTR_GRANULARITY, 0, 3);
	expect(p + half, half, KFD_IOCTL_SVM_ATTR_GRANULARITY, 0, 0x3f);

	/*
	 * For SET_FLAGS, GET_ATTR must return the flags that all pages have; for
	 * CLR_FLAGS, the flags that no page has.
	 */
	OK(vg_svm_set1(&vg, p, half, KFD_IOCTL_SVM_ATTR_SET_FLAGS,
		       KFD_IOCTL_SVM_FLAG_GPU_RO));
	OK(vg_svm_set1(&vg, p, half, KFD_IOCTL_SVM_ATTR_CLR_FLAGS,
		       KFD_IOCTL_SVM_FLAG_COHERENT));
	expect(p, half, KFD_IOCTL_SVM_ATTR_SET_FLAGS, 0,
	       KFD_IOCTL_SVM_FLAG_HOST_ACCESS | KFD_IOCTL_SVM_FLAG_GPU_RO);
	expect(p, size, KFD_IOCTL_SVM_ATTR_SET_FLAGS, 0,
	       KFD_IOCTL_SVM_FLAG_HOST_ACCESS);
	expect(p, size, KFD_IOCTL_SVM_ATTR_CLR_FLAGS, 0,
	       ~(uint32_t)(KFD_IOCTL_SVM_FLAG_HOST_ACCESS |
			   KFD_IOCTL_SVM_FLAG_GPU_RO |
			   KFD_IOCTL_SVM_FLAG_COHERENT));

	/*
	 * GET_ATTR must return the access of a GPU if all pages have the same access, and
	 * NO_ACCESS otherwise.
	 */
	OK(vg_svm_set1(&vg, p + 8 * VG_PAGE, VG_PAGE,
		       KFD_IOCTL_SVM_ATTR_NO_ACCESS, gpu->gpu_id));
	expect(p + 8 * VG_PAGE, VG_PAGE, KFD_IOCTL_SVM_ATTR_ACCESS,
	       gpu->gpu_id, KFD_IOCTL_SVM_ATTR_NO_ACCESS);
	expect(p, size, KFD_IOCTL_SVM_ATTR_ACCESS, gpu->gpu_id,
	       KFD_IOCTL_SVM_ATTR_NO_ACCESS);
	expect(p + half, half, KFD_IOCTL_SVM_ATTR_ACCESS, gpu->gpu_id,
	       KFD_IOCTL_SVM_ATTR_ACCESS);
	OK(vg_svm_set1(&vg, p, size, KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE,
		       gpu->gpu_id));
	expect(p, size, KFD_IOCTL_SVM_ATTR_ACCESS, gpu->gpu_id,
	       KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE);
}

/*
 * munmap must remove the attributes. New memory at the same addresses must have the
 * defaults.
 */
static void attributes_end(void)
{
	const uint64_t size = 16 * VG_PAGE;
	char *p, *again;

	start(1);
	p = tap_anon(size);
	OK(vg_svm_set1(&vg, p, size, KFD_IOCTL_SVM_ATTR_GRANULARITY, 2));
	expect(p, size, KFD_IOCTL_SVM_ATTR_GRANULARITY, 0, 2);
	CHECK(!munmap(p, size), "munmap");
	again = mmap(p, size, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	CHECK(again == p, "mmap: %s", strerror(errno));
	expect(p, size, KFD_IOCTL_SVM_ATTR_GRANULARITY, 0, 9);
}

static void xnack_off_unregistered(void *arg)
{
	const uint64_t size = VG_MIB;
	struct vg_bo dst = { 0 };
	char *src;

	(void)arg;
	start(0);
	src = tap_anon(size);
	vg_pattern_fill(src, size, SEED, 0);
	OK(vg_bo_create(&vg, gpu, size, VG_GTT, &dst));
	tap_expect_stop(&q, dst.va, (uintptr_t)src, size);
	OK(vg_fill_check(dst.cpu, size, 0));
	OK(vg_queue_destroy(&q));
	OK(vg_bo_free(&dst));
}

static void xnack_off_stops(void)
{
	struct vg_mem_info before;
	struct vg_bo bo = { 0 };

	start(1);
	OK(vg_bo_create(&vg, gpu, VG_MIB, VG_VRAM, &bo));
	OK(vg_mem_info(gpu, &before));
	tap_in_child(xnack_off_unregistered, NULL);
	OK(vg_mem_wait_freed(gpu, &before, VG_TIMEOUT_MS));
	/* The queue of this process, which has XNACK on, must still work. */
	OK(vg_fill(&q, bo.cpu, 31, VG_MIB));
	OK(vg_fill_check(bo.cpu, VG_MIB, 31));
	char *p = tap_anon(VG_MIB);

	OK(vg_copy(&q, p, bo.cpu, VG_MIB));
	OK(vg_fill_check(p, VG_MIB, 31));
}

/*
 * XNACK off: memory registered with ACCESS must be mapped before the GPU accesses it, so
 * that no fault occurs.
 */
static void xnack_off_registered(void)
{
	const uint64_t size = 4 * VG_MIB;
	uint64_t faults;
	char *src, *dst;

	start(0);
	src = tap_anon(size);
	dst = tap_anon(size);
	vg_pattern_fill(src, size, SEED, 0);
	expect(src, size, KFD_IOCTL_SVM_ATTR_ACCESS, gpu->gpu_id,
	       KFD_IOCTL_SVM_ATTR_NO_ACCESS);
	OK(vg_svm_set1(&vg, src, size, KFD_IOCTL_SVM_ATTR_ACCESS,
		       gpu->gpu_id));
	OK(vg_svm_set1(&vg, dst, size, KFD_IOCTL_SVM_ATTR_ACCESS,
		       gpu->gpu_id));
	faults = tap_device_counter(gpu, "faults_retry");
	OK(vg_copy(&q, dst, src, size));
	OK(vg_pattern_check(dst, size, SEED, 0));
	CHECK(tap_device_counter(gpu, "faults_retry") == faults,
	      "%lu faults", tap_device_counter(gpu, "faults_retry") - faults);
	/*
	 * Prefetch the memory to VRAM and let the GPU use it. Then an access by the CPU
	 * must migrate the memory back.
	 */
	OK(vg_svm_prefetch(&vg, src, size, gpu->gpu_id));
	in_vram(src, size, size / VG_PAGE);
	OK(vg_fill(&q, dst, 0, size));
	OK(vg_copy(&q, dst, src, size));
	OK(vg_pattern_check(dst, size, SEED, 0));
	OK(vg_pattern_check(src, size, SEED, 0));
	OK(vg_copy(&q, dst, src, size));
}

/* With XNACK off, create two ranges that the GPU may access, the first with a pattern. */
static void xnack_off_ranges(uint64_t size, char **src, char **dst)
{
	start(0);
	*src = tap_anon(size);
	*dst = tap_anon(size);
	vg_pattern_fill(*src, size, SEED, 0);
	OK(vg_svm_set1(&vg, *src, size, KFD_IOCTL_SVM_ATTR_ACCESS,
		       gpu->gpu_id));
	OK(vg_svm_set1(&vg, *dst, size, KFD_IOCTL_SVM_ATTR_ACCESS,
		       gpu->gpu_id));
}

/*
 * XNACK off: the kernel changes mappings of a registered range during a copy. The driver must evict
 * the queue and map the range again.
 */
static void xnack_off_invalidated(void)
{
	const uint64_t size = 4 * VG_MIB;
	char *src, *dst;
	uint32_t seq;
	int i;

	xnack_off_ranges(size, &src, &dst);
	for (i = 0; i < 10; i++) {
		OK(vg_emit_copy(&q, (uintptr_t)dst, (uintptr_t)src, size));
		OK(vg_emit_fence(&q, &seq));
		vg_queue_submit(&q);
		CHECK(!mprotect(src + i * VG_PAGE, 8 * VG_PAGE, PROT_READ),
		      "mprotect");
		CHECK(!mprotect(src + i * VG_PAGE, 8 * VG_PAGE,
				PROT_READ | PROT_WRITE), "mprotect");
		OK(vg_wait(&q, seq, VG_TIMEOUT_MS));
		OK(vg_pattern_check(dst, size, SEED, 0));
		memset(dst, 0, size);
	}
}

/*
 * End the process during copies. The exit clears page table entries before it stops the queues, so
 * copies access cleared entries.
 */
static void ends_under_copies(void *arg)
{
	const uint64_t size = 4 * VG_MIB;
	char *src, *dst;
	uint64_t i;

	(void)arg;
	xnack_off_ranges(size, &src, &dst);
	/*
	 * Create many ranges. The exit of the process clears the entries of one range after the
	 * other, so copies still run when the first entries are cleared.
	 */
	for (i = 0; i < size / VG_PAGE; i += 4)
		OK(vg_svm_set1(&vg, src + i * VG_PAGE, VG_PAGE,
			       KFD_IOCTL_SVM_ATTR_GRANULARITY, 3));
	for (i = 0; i < 32; i++)
		OK(vg_emit_copy(&q, (uintptr_t)dst, (uintptr_t)src, size));
	vg_queue_submit(&q);
}

/*
 * With XNACK off, the exit of a process clears page table entries that copies still use. Catches:
 * the driver counts these accesses as unrepaired faults.
 */
static void xnack_off_ends(void)
{
	struct vg_mem_info base;
	uint64_t denied;
	int i, rounds = tap_rounds(20, 200);

	tap_open(&vg, -1);
	gpu = &vg.gpu[0];
	denied = tap_driver_counter(gpu, "faults_unrepaired");
	OK(vg_mem_info(gpu, &base));
	for (i = 0; i < rounds; i++) {
		tap_in_child(ends_under_copies, NULL);
		OK(vg_mem_wait_freed(gpu, &base, VG_TIMEOUT_MS));
	}
	CHECK(tap_driver_counter(gpu, "faults_unrepaired") == denied,
	      "faults of processes that had ended were denied");
}

/*
 * XNACK off. Catches: SET_ATTR treats a range as mapped although some pages are not, and leaves
 * these pages unmapped. Catches: SET_ATTR writes the entries of mapped pages again.
 */
static void xnack_off_again(void)
{
	const uint64_t size = 4 * VG_MIB;
	uint64_t written;
	char *src, *dst;
	int i;

	xnack_off_ranges(size, &src, &dst);
	written = tap_driver_counter(gpu, "ptes_written");
	for (i = 0; i < 100; i++)
		OK(vg_svm_set1(&vg, src, size, KFD_IOCTL_SVM_ATTR_ACCESS,
			       gpu->gpu_id));
	written = tap_driver_counter(gpu, "ptes_written") - written;
	CHECK(!written, "%lu entries were written again", written);
	for (i = 0; i < 8; i++) {
		/* Discard the middle of the source, which then reads as zeros. */
		CHECK(!madvise(src + VG_MIB, VG_MIB, MADV_DONTNEED), "madvise");
		OK(vg_svm_set1(&vg, src, size, KFD_IOCTL_SVM_ATTR_ACCESS,
			       gpu->gpu_id));
		OK(vg_copy(&q, dst, src, size));
		OK(vg_pattern_check(dst, VG_MIB, SEED, 0));
		OK(vg_fill_check(dst + VG_MIB, VG_MIB, 0));
		OK(vg_pattern_check(dst + 2 * VG_MIB, 2 * VG_MIB, SEED,
				    2 * VG_MIB));
		vg_pattern_fill(src + VG_MIB, VG_MIB, SEED, VG_MIB);
		OK(vg_copy(&q, dst, src, size));
		OK(vg_pattern_check(dst, size, SEED, 0));
	}
}

/* With XNACK on, an access to memory with NO_ACCESS must stop the queue. */
static void no_access(void)
{
	const uint64_t size = 64 * VG_KIB;
	struct vg_bo dst = { 0 };
	char *p;

	start(1);
	p = tap_anon(size);
	vg_pattern_fill(p, size, SEED, 0);
	OK(vg_bo_create(&vg, gpu, size, VG_GTT, &dst));
	OK(vg_svm_set1(&vg, p, size, KFD_IOCTL_SVM_ATTR_NO_ACCESS,
		       gpu->gpu_id));
	tap_expect_stop(&q, dst.va, (uintptr_t)p, size);
	OK(vg_fill_check(dst.cpu, size, 0));
}

struct read_only {
	int xnack;
	bool vram;
};

/* With GPU_RO, the CPU can write, and the GPU only read. Without GPU_RO, the GPU can also write. */
static void read_only_at(void *arg)
{
	const struct read_only *how = arg;
	const uint64_t size = 64 * VG_KIB;
	struct vg_bo bo = { 0 };
	char *p;

	start(how->xnack);
	p = tap_anon(size);
	vg_pattern_fill(p, size, SEED, 0);
	OK(vg_bo_create(&vg, gpu, size, VG_GTT, &bo));
	OK(vg_svm_set1(&vg, p, size, KFD_IOCTL_SVM_ATTR_ACCESS, gpu->gpu_id));
	OK(vg_svm_set1(&vg, p, size, KFD_IOCTL_SVM_ATTR_SET_FLAGS,
		       KFD_IOCTL_SVM_FLAG_GPU_RO));
	if (how->vram)
		OK(vg_svm_prefetch(&vg, p, size, gpu->gpu_id));
	in_vram(p, size, how->vram ? size / VG_PAGE : 0);
	OK(vg_copy(&q, bo.cpu, p, size));
	OK(vg_pattern_check(bo.cpu, size, SEED, 0));

	memset(bo.cpu, 0x5a, size);
	tap_expect_stop(&q, (uintptr_t)p, bo.va, size);
	OK(vg_pattern_check(p, size, SEED, 0));
	vg_pattern_fill(p, size, SEED + 1, 0);

	OK(vg_queue_destroy(&q));
	OK(vg_svm_set1(&vg, p, size, KFD_IOCTL_SVM_ATTR_CLR_FLAGS,
		       KFD_IOCTL_SVM_FLAG_GPU_RO));
	OK(vg_queue_create(&vg, gpu, 4096, &q));
	OK(vg_copy(&q, bo.cpu, p, size));
	OK(vg_pattern_check(bo.cpu, size, SEED + 1, 0));
	OK(vg_fill(&q, p, 0x0badcafe, size));
	OK(vg_fill_check(p, size, 0x0badcafe));
}

static void read_only(void)
{
	struct read_only how;

	for (how.xnack = 0; how.xnack < 2; how.xnack++) {
		how.vram = false;
		tap_in_child(read_only_at, &how);
		how.vram = true;
		tap_in_child(read_only_at, &how);
	}
}

/* An access to an address without memory must be reported as unrepaired, even with XNACK. */
static void no_memory(void)
{
	struct vg_bo dst = { 0 };

	start(1);
	OK(vg_bo_create(&vg, gpu, VG_PAGE, VG_GTT, &dst));
	tap_expect_stop(&q, dst.va, 0x10000, VG_PAGE);
	OK(vg_fill_check(dst.cpu, VG_PAGE, 0));
}

static const struct tap_case cases[] = {
	{ "faults at odd starts and lengths", fault_through, 0 },
	{ "memory that was never touched", untouched, 0 },
	{ "shared and read-only memory", other_memory, 0 },
	{ "eight queues fault on the same pages", same_pages, 0 },
	{ "engines and CPU add to the same word", same_words, 0 },
	{ "prefetch to VRAM and back", prefetch_and_back, 0 },
	{ "CPU touches pages of a range in VRAM", partial_return, 0 },
	{ "to VRAM and back a dozen times", to_and_fro, 0 },
	{ "prefetch of untouched memory", prefetch_untouched, 0 },
	{ "prefetch of memory with pages of a file", prefetch_mixed, 0 },
	{ "attributes", attributes, 0 },
	{ "attributes end with the mapping", attributes_end, 0 },
	{ "XNACK off: unregistered memory stops the queue", xnack_off_stops, 0 },
	{ "XNACK off: registered memory needs no fault", xnack_off_registered, 0 },
	{ "XNACK off: invalidated under a copy", xnack_off_invalidated, 0 },
	{ "XNACK off: registered again", xnack_off_again, 0 },
	{ "XNACK off: the process ends under copies", xnack_off_ends, 0 },
	{ "XNACK on: NO_ACCESS stops the queue", no_access, 0 },
	{ "XNACK on: no memory stops the queue", no_memory, 0 },
	{ "GPU_RO denies the GPU's writes", read_only, 0 },
};

int main(int argc, char **argv)
{
	return tap_main(TAP_CASES(cases), argc, argv);
}
