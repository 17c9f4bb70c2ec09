// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * This program tests BOs: sizes and domains, coherence between CPU and engine, mappings.
 * Catches: page tables are wrong for odd sizes; a TLB entry is stale after an unmap;
 * memory is not cleared; memory leaks.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tap.h"

#define SEED 0xb0

static struct vg vg;
static struct vg_gpu *gpu;
static struct vg_queue q;
static struct vg_mem_info base;

static void start(void)
{
	tap_open(&vg, 1);
	gpu = &vg.gpu[0];
	OK(vg_mem_info(gpu, &base));
	OK(vg_queue_create(&vg, gpu, 16 * VG_KIB, &q));
}

/*
 * A new BO of @size must be zero. Then the engine must read what the CPU wrote, and the
 * CPU must read what the engine wrote.
 */
static void one_size(uint64_t size, uint32_t flags)
{
	struct vg_bo bo = { 0 }, other = { 0 };

	OK(vg_bo_create(&vg, gpu, size, flags, &bo));
	OK(vg_bo_create(&vg, gpu, size, VG_GTT, &other));
	OK(vg_fill_check(bo.cpu, size, 0));
	vg_pattern_fill(bo.cpu, size, SEED + size, 0);
	OK(vg_copy(&q, other.cpu, bo.cpu, size));
	OK(vg_pattern_check(other.cpu, size, SEED + size, 0));
	OK(vg_fill(&q, bo.cpu, 0x01020304, size));
	OK(vg_fill_check(bo.cpu, size, 0x01020304));
	OK(vg_copy(&q, bo.cpu, other.cpu, size));
	OK(vg_pattern_check(bo.cpu, size, SEED + size, 0));
	OK(vg_bo_free(&bo));
	OK(vg_bo_free(&other));
}

static void all_sizes(uint32_t flags)
{
	static const uint64_t sizes[] = {
		4 * VG_KIB, 8 * VG_KIB, 12 * VG_KIB, 64 * VG_KIB,
		68 * VG_KIB, VG_MIB, 2 * VG_MIB, 2 * VG_MIB + VG_PAGE,
		4 * VG_MIB - VG_PAGE, 16 * VG_MIB, 64 * VG_MIB,
	};
	unsigned int i;

	start();
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (sizes[i] <= base.vram_total / 4)
			one_size(sizes[i], flags);
	OK(vg_queue_destroy(&q));
}

static void sizes_vram(void)
{
	all_sizes(VG_VRAM);
}

static void sizes_gtt(void)
{
	all_sizes(VG_GTT);
}

/* A size that is not a multiple of the page size must be rounded up. */
static void odd_size(void)
{
	struct kfd_ioctl_alloc_memory_of_gpu_args args = {
		.va_addr = 0x7e0000000000, .size = 5000, .flags = VG_VRAM,
	};
	struct kfd_ioctl_free_memory_of_gpu_args done;
	char *p;

	start();
	args.gpu_id = gpu->gpu_id;
	OK(vg_ioctl(&vg, AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, &args));
	p = mmap(NULL, 2 * VG_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED,
		 gpu->fd, (off_t)args.mmap_offset);
	CHECK(p != MAP_FAILED, "mmap of 2 pages: %s", strerror(errno));
	OK(vg_fill_check(p, 2 * VG_PAGE, 0));
	munmap(p, 2 * VG_PAGE);
	done.handle = args.handle;
	OK(vg_ioctl(&vg, AMDKFD_IOC_FREE_MEMORY_OF_GPU, &done));
	OK(vg_queue_destroy(&q));
}

/* Copy with various byte alignments, within and across pages and 2 MiB blocks. */
static void unaligned_copies(void)
{
	static const struct { uint64_t dst, src, n; } c[] = {
		{ 0, 1, 1 }, { 4095, 0, 2 }, { 1, 4095, 4097 },
		{ 2 * VG_MIB - 3, 17, 4099 }, { 5, 2 * VG_MIB - 1, VG_MIB },
		{ 4095, 4095, 3 * VG_MIB - 7 },
	};
	const uint64_t size = 6 * VG_MIB;
	struct vg_bo src = { 0 }, dst = { 0 };
	unsigned int i;

	start();
	OK(vg_bo_create(&vg, gpu, size, VG_VRAM, &src));
	OK(vg_bo_create(&vg, gpu, size, VG_GTT, &dst));
	vg_pattern_fill(src.cpu, size, SEED, 0);
	for (i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
		char *d = dst.cpu, *s = src.cpu;

		memset(d, 0, size);
		OK(vg_copy(&q, d + c[i].dst, s + c[i].src, c[i].n));
		OK(vg_fill_check(d, c[i].dst, 0));
		OK(vg_pattern_check(d + c[i].dst, c[i].n, SEED, c[i].src));
		for (uint64_t k = c[i].dst + c[i].n; k < size; k++)
			CHECK(!d[k], "copy %u wrote behind its end, at 0x%lx",
			      i, k);
	}
	OK(vg_bo_free(&src));
	OK(vg_bo_free(&dst));
	OK(vg_queue_destroy(&q));
}

/*
 * CPU and engine write the same words in turn. Catches: the CPU or the engine reads
 * stale data.
 */
static void ping_pong(void)
{
	struct vg_bo vram = { 0 }, gtt = { 0 };
	volatile uint32_t *v, *g;
	uint32_t i;

	start();
	OK(vg_bo_create(&vg, gpu, VG_PAGE, VG_VRAM, &vram));
	OK(vg_bo_create(&vg, gpu, VG_PAGE, VG_GTT, &gtt));
	v = vram.cpu;
	g = gtt.cpu;
	for (i = 1; i <= 200; i++) {
		v[i % 1024] = i;
		OK(vg_copy(&q, gtt.cpu, vram.cpu, VG_PAGE));
		CHECK(g[i % 1024] == i, "GTT has %u in turn %u", g[i % 1024],
		      i);
		g[i % 1024] = ~i;
		OK(vg_copy(&q, vram.cpu, gtt.cpu, VG_PAGE));
		CHECK(v[i % 1024] == ~i, "VRAM has %u in turn %u",
		      v[i % 1024], i);
	}
	OK(vg_bo_free(&vram));
	OK(vg_bo_free(&gtt));
	OK(vg_queue_destroy(&q));
}

static sigjmp_buf segv;

static void on_segv(int sig)
{
	siglongjmp(segv, sig);
}

/* A PROT_NONE mapping must succeed (ROCm uses it for invisible VRAM) and give no access. */
static void prot_none(void)
{
	struct vg_bo bo = { 0 };
	volatile char *p;
	int sig;

	start();
	OK(vg_bo_alloc(&vg, gpu, VG_PAGE, VG_VRAM, &bo));
	p = mmap(NULL, VG_PAGE, PROT_NONE, MAP_SHARED, gpu->fd,
		 (off_t)bo.mmap_offset);
	CHECK(p != MAP_FAILED, "mmap PROT_NONE: %s", strerror(errno));
	signal(SIGSEGV, on_segv);
	sig = sigsetjmp(segv, 1);
	if (!sig) {
		(void)*p;
		CHECK(false, "a PROT_NONE mapping could be read");
	}
	CHECK(!mprotect((void *)p, VG_PAGE, PROT_READ | PROT_WRITE),
	      "mprotect: %s", strerror(errno));
	*p = 42;
	CHECK(*p == 42, "reads %d", *p);
	munmap((void *)p, VG_PAGE);
	OK(vg_bo_free(&bo));
	OK(vg_queue_destroy(&q));
}

/* Two CPU mappings of one BO must show the same memory. */
static void two_cpu_mappings(void)
{
	struct vg_bo bo = { 0 };
	char *second;

	start();
	OK(vg_bo_create(&vg, gpu, VG_MIB, VG_VRAM, &bo));
	second = mmap(NULL, VG_MIB, PROT_READ, MAP_SHARED, gpu->fd,
		      (off_t)bo.mmap_offset);
	CHECK(second != MAP_FAILED, "mmap: %s", strerror(errno));
	vg_pattern_fill(bo.cpu, VG_MIB, SEED, 0);
	OK(vg_pattern_check(second, VG_MIB, SEED, 0));
	OK(vg_fill(&q, bo.cpu, 9, VG_MIB));
	OK(vg_fill_check(second, VG_MIB, 9));
	munmap(second, VG_MIB);
	OK(vg_bo_free(&bo));
	OK(vg_queue_destroy(&q));
}

/*
 * Map two BOs alternately at the same GPU address. Catches: a stale TLB or page table entry
 * points to the BO that was mapped previously.
 */
static void address_reuse(void)
{
	struct vg_bo a = { 0 }, b = { 0 }, dst = { 0 };
	struct kfd_ioctl_alloc_memory_of_gpu_args args = {
		.size = 2 * VG_MIB, .flags = VG_VRAM,
	};
	struct kfd_ioctl_free_memory_of_gpu_args done;
	int i;

	start();
	OK(vg_bo_create(&vg, gpu, 2 * VG_MIB, VG_VRAM, &a));
	OK(vg_bo_create(&vg, gpu, 2 * VG_MIB, VG_GTT, &dst));
	args.va_addr = a.va;
	args.gpu_id = gpu->gpu_id;
	OK(vg_ioctl(&vg, AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, &args));
	b = a;
	b.handle = args.handle;
	b.mmap_offset = args.mmap_offset;
	OK(vg_fill(&q, a.cpu, 0xaaaaaaaa, a.size));
	for (i = 0; i < 8; i++) {
		OK(vg_bo_unmap_gpu(&a));
		OK(vg_bo_map_gpu(&b));
		OK(vg_fill(&q, (void *)b.va, 0xbbbbbbbb, b.size));
		OK(vg_bo_unmap_gpu(&b));
		OK(vg_bo_map_gpu(&a));
		OK(vg_copy(&q, dst.cpu, (void *)a.va, a.size));
		OK(vg_fill_check(dst.cpu, dst.size, 0xaaaaaaaa));
	}
	done.handle = b.handle;
	OK(vg_ioctl(&vg, AMDKFD_IOC_FREE_MEMORY_OF_GPU, &done));
	OK(vg_bo_free(&a));
	OK(vg_bo_free(&dst));
	OK(vg_queue_destroy(&q));
}

/* Catches: new memory has the contents that an earlier process left in it. */
static void secrets(void *arg)
{
	struct vg_bo vram = { 0 }, gtt = { 0 };
	uint32_t mark = *(uint32_t *)arg;

	start();
	OK(vg_bo_create(&vg, gpu, base.vram_total / 4, VG_VRAM, &vram));
	OK(vg_bo_create(&vg, gpu, 4 * VG_MIB, VG_GTT, &gtt));
	OK(vg_fill_check(vram.cpu, vram.size < 16 * VG_MIB ? vram.size :
			 16 * VG_MIB, 0));
	OK(vg_fill_check(gtt.cpu, gtt.size, 0));
	OK(vg_fill(&q, vram.cpu, mark, vram.size));
	OK(vg_fill(&q, gtt.cpu, mark, gtt.size));
}

static void cleared(void)
{
	uint32_t mark;

	for (mark = 0xdead0001; mark < 0xdead0006; mark++)
		tap_in_child(secrets, &mark);
}

/* Create many BOs of many sizes, and free them in a different order. */
static void many(void)
{
	enum { COUNT = 200 };
	static struct vg_bo bo[COUNT];
	int i, round;

	start();
	for (round = 0; round < 2; round++) {
		unsigned int seed = 7;

		for (i = 0; i < COUNT; i++) {
			uint64_t size = (1 + rand_r(&seed) % 40) * VG_PAGE;

			OK(vg_bo_create(&vg, gpu, size,
					i % 2 ? VG_VRAM : VG_GTT, &bo[i]));
			*(uint32_t *)bo[i].cpu = i;
		}
		for (i = COUNT - 1; i >= 0; i--)
			CHECK(*(uint32_t *)bo[i].cpu == (uint32_t)i,
			      "BO %d holds %u", i, *(uint32_t *)bo[i].cpu);
		for (i = 0; i < COUNT; i += 2)
			OK(vg_bo_free(&bo[i]));
		for (i = 1; i < COUNT; i += 2)
			OK(vg_bo_free(&bo[i]));
		/*
		 * The page tables of round 0 stay allocated. Round 1 must need no further page
		 * tables.
		 */
		if (round)
			OK(vg_mem_wait_freed(gpu, &base, VG_TIMEOUT_MS));
		else
			OK(vg_mem_info(gpu, &base));
	}
	OK(vg_queue_destroy(&q));
}

/* Memory usage must grow by the allocated size, in the right domain. */
static void usage(void)
{
	struct vg_mem_info now;
	struct vg_bo a = { 0 }, b = { 0 };

	start();
	OK(vg_mem_info(gpu, &base));
	OK(vg_bo_alloc(&vg, gpu, 8 * VG_MIB, VG_VRAM, &a));
	OK(vg_mem_info(gpu, &now));
	CHECK(now.vram_used >= base.vram_used + 8 * VG_MIB,
	      "VRAM used went from %lu to %lu", base.vram_used, now.vram_used);
	OK(vg_bo_create(&vg, gpu, 4 * VG_MIB, VG_GTT, &b));
	OK(vg_mem_info(gpu, &now));
	CHECK(now.gtt_used >= base.gtt_used + 4 * VG_MIB,
	      "GTT used went from %lu to %lu", base.gtt_used, now.gtt_used);
}

/* Body of a process that exits without unmapping or freeing its BOs. */
static void drop(void *arg)
{
	struct vg_bo bo[6] = { 0 };
	int i;

	(void)arg;
	start();
	for (i = 0; i < 6; i++) {
		OK(vg_bo_alloc(&vg, gpu, VG_MIB, i % 2 ? VG_VRAM : VG_GTT,
			       &bo[i]));
		if (i < 4)
			OK(vg_bo_map_gpu(&bo[i]));
		if (i < 2)
			OK(vg_bo_map_cpu(&bo[i]));
	}
}

static void dropped(void)
{
	struct vg_mem_info before;
	struct vg v;
	int i;

	OK(vg_open_bare(&v));
	OK(vg_mem_info(&v.gpu[0], &before));
	for (i = 0; i < 5; i++)
		tap_in_child(drop, NULL);
	OK(vg_mem_wait_freed(&v.gpu[0], &before, VG_TIMEOUT_MS));
}

/*
 * Mapping the two pages of the doorbell slice as a BO, and unmapping them, must succeed
 * while a queue uses the slice.
 */
static void doorbell_bo(void)
{
	struct vg_bo bo = { 0 };

	start();
	OK(vg_bo_alloc(&vg, gpu, VG_DOORBELL_SLICE, VG_DOORBELL, &bo));
	OK(vg_bo_map_gpu(&bo));
	OK(vg_bo_unmap_gpu(&bo));
	OK(vg_bo_free(&bo));
	OK(vg_queue_destroy(&q));
}

static const struct tap_case cases[] = {
	{ "VRAM, 4 KiB to 64 MiB", sizes_vram, 0 },
	{ "GTT, 4 KiB to 64 MiB", sizes_gtt, 0 },
	{ "a size that is no multiple of the page", odd_size, 0 },
	{ "copies at odd addresses and lengths", unaligned_copies, 0 },
	{ "CPU and engine in turns", ping_pong, 0 },
	{ "mmap PROT_NONE", prot_none, 0 },
	{ "two CPU mappings of a BO", two_cpu_mappings, 0 },
	{ "two BOs in turns at one address", address_reuse, 0 },
	{ "memory of a dead process is cleared", cleared, 0 },
	{ "hundreds of BOs", many, 0 },
	{ "usage counters follow", usage, 0 },
	{ "BOs of a process that exits", dropped, 0 },
	{ "DOORBELL BO", doorbell_bo, 0 },
};

int main(int argc, char **argv)
{
	return tap_main(TAP_CASES(cases), argc, argv);
}
