// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * This program uses two GPUs. Catches: devices share state that should be separate
 * (VMIDs, doorbells, fault CAM); an SVM range is invalidated on only one GPU; an SVM
 * range overlaps a BO of the other GPU.
 */
#include <dirent.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "tap.h"

#define SEED 0x2222
#define SIZE (4 * VG_MIB)

static struct vg vg;
static struct vg_queue q[2];

static void start(int xnack)
{
	int i;

	tap_open(&vg, xnack);
	CHECK(vg.n_gpus >= 2, "%d GPUs", vg.n_gpus);
	for (i = 0; i < 2; i++)
		OK(vg_queue_create(&vg, &vg.gpu[i], 4096, &q[i]));
}

static void topology(void)
{
	OK(vg_open(&vg));
	CHECK(vg.n_gpus == 2, "%d GPUs", vg.n_gpus);
	CHECK(vg_topology_nodes() == 3, "%d nodes", vg_topology_nodes());
	CHECK(vg.gpu[0].gpu_id != vg.gpu[1].gpu_id, "both are GPU 0x%x",
	      vg.gpu[0].gpu_id);
	CHECK(vg.gpu[0].minor != vg.gpu[1].minor, "both are renderD%d",
	      vg.gpu[0].minor);
	CHECK(vg_node_property(vg.gpu[0].node, "location_id", 0) !=
	      vg_node_property(vg.gpu[1].node, "location_id", 0),
	      "both are at one PCI address");
}

/* GPU 0 and GPU 1 copy at the same time, each GPU between its own BOs. */
static void both_copy(void)
{
	struct vg_bo a[2] = { 0 }, b[2] = { 0 };
	uint32_t seq[2];
	int i, round;

	start(1);
	for (i = 0; i < 2; i++) {
		OK(vg_bo_create(&vg, &vg.gpu[i], SIZE, VG_VRAM, &a[i]));
		OK(vg_bo_create(&vg, &vg.gpu[i], SIZE, VG_GTT, &b[i]));
	}
	for (round = 0; round < 5; round++) {
		for (i = 0; i < 2; i++) {
			vg_pattern_fill(a[i].cpu, SIZE, SEED + round, i);
			OK(vg_emit_copy(&q[i], b[i].va, a[i].va, SIZE));
			OK(vg_emit_fence(&q[i], &seq[i]));
		}
		vg_queue_submit(&q[0]);
		vg_queue_submit(&q[1]);
		for (i = 0; i < 2; i++) {
			OK(vg_wait(&q[i], seq[i], VG_TIMEOUT_MS));
			OK(vg_pattern_check(b[i].cpu, SIZE, SEED + round, i));
		}
	}
}

/* Map a GTT BO on both GPUs: each GPU must read what the other wrote. */
static void shared_gtt(void)
{
	struct vg_bo bo = { 0 }, vram = { 0 };

	start(1);
	OK(vg_bo_create(&vg, &vg.gpu[0], SIZE, VG_GTT, &bo));
	OK(vg_bo_map_peer(&bo, &vg.gpu[1]));
	OK(vg_bo_create(&vg, &vg.gpu[1], SIZE, VG_VRAM, &vram));
	OK(vg_fill(&q[0], bo.cpu, 0x5151, SIZE));
	OK(vg_copy(&q[1], vram.cpu, bo.cpu, SIZE));
	OK(vg_fill_check(vram.cpu, SIZE, 0x5151));
	OK(vg_bo_unmap_peer(&bo, &vg.gpu[1]));
	OK(vg_bo_free(&bo));
	OK(vg_bo_free(&vram));
}

/*
 * GPU 0 and GPU 1 fault on the same anonymous memory. Catches: one of the GPUs reads old
 * contents.
 */
static void shared_malloc(void)
{
	uint32_t seq[2];
	char *src, *dst;
	int i;

	start(1);
	src = tap_anon(SIZE);
	dst = tap_anon(2 * SIZE);
	vg_pattern_fill(src, SIZE, SEED, 0);
	for (i = 0; i < 2; i++) {
		OK(vg_emit_copy(&q[i], (uintptr_t)dst + i * SIZE,
				(uintptr_t)src, SIZE));
		OK(vg_emit_fence(&q[i], &seq[i]));
	}
	vg_queue_submit(&q[0]);
	vg_queue_submit(&q[1]);
	for (i = 0; i < 2; i++) {
		OK(vg_wait(&q[i], seq[i], VG_TIMEOUT_MS));
		OK(vg_pattern_check(dst + i * SIZE, SIZE, SEED, 0));
	}
	OK(vg_fill(&q[0], src, 0x77, SIZE));
	OK(vg_copy(&q[1], dst, src, SIZE));
	OK(vg_fill_check(dst, SIZE, 0x77));
	/* Replace the memory: this must unmap the old memory from both GPUs. */
	CHECK(mmap(src, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE |
		   MAP_ANONYMOUS | MAP_FIXED, -1, 0) == src, "mmap");
	for (i = 0; i < 2; i++) {
		OK(vg_copy(&q[i], dst, src, SIZE));
		OK(vg_fill_check(dst, SIZE, 0));
		memset(dst, 1, SIZE);
	}
}

/* Prefetch to each GPU alternately; both GPUs and the CPU access the memory. */
static void migrate_between(void)
{
	char *p, *dst;
	int i;

	start(1);
	p = tap_anon(SIZE);
	dst = tap_anon(SIZE);
	vg_pattern_fill(p, SIZE, SEED, 0);
	for (i = 0; i < 6; i++) {
		OK(vg_svm_prefetch(&vg, p, SIZE, vg.gpu[i % 2].gpu_id));
		CHECK(vg_pages_in_vram(p, SIZE) == (long)(SIZE / VG_PAGE),
		      "%ld pages are in VRAM", vg_pages_in_vram(p, SIZE));
		OK(vg_copy(&q[i % 2], dst, p, SIZE));
		OK(vg_pattern_check(dst, SIZE, SEED, 0));
		memset(dst, 0, SIZE);
		/*
		 * Let the other GPU access the memory. Without a hive, its fault migrates the
		 * memory out of the VRAM of GPU i % 2.
		 */
		OK(vg_copy(&q[!(i % 2)], dst, p, SIZE));
		OK(vg_pattern_check(dst, SIZE, SEED, 0));
	}
	OK(vg_pattern_check(p, SIZE, SEED, 0));
}

/* Map a GTT page of GPU 0 at @at, where the process has ordinary memory. */
static void map_over(char *at)
{
	struct kfd_ioctl_alloc_memory_of_gpu_args args = {
		.va_addr = (uintptr_t)at,
		.size = VG_PAGE,
		.gpu_id = vg.gpu[0].gpu_id,
		.flags = VG_GTT,
	};
	struct vg_bo bo = {
		.vg = &vg, .gpu = &vg.gpu[0], .va = args.va_addr,
		.size = VG_PAGE,
	};

	ERRNO(0, tap_ioctl(vg.kfd, AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, &args));
	bo.handle = args.handle;
	OK(vg_bo_map_gpu(&bo));
}

/*
 * An SVM granule (2 MiB) has two BOs. GPU 1 faults above both BOs. Catches: the new SVM range
 * extends down over the upper BO.
 */
static void bos_in_granule(void)
{
	const uint64_t granule = 2 * VG_MIB;
	struct vg_bo dst = { 0 };
	char *p;

	start(1);
	p = tap_anon(2 * granule);
	p += -(uintptr_t)p & (granule - 1);
	vg_pattern_fill(p, granule, SEED, 0);
	map_over(p + 16 * VG_PAGE);
	map_over(p + 64 * VG_PAGE);
	OK(vg_bo_create(&vg, &vg.gpu[1], VG_PAGE, VG_GTT, &dst));
	/*
	 * GPU 1 reads ordinary memory that is not mapped on GPU 1. The read faults, and the driver
	 * must map the memory.
	 */
	OK(vg_copy(&q[1], dst.cpu, p + 100 * VG_PAGE, VG_PAGE));
	OK(vg_pattern_check(dst.cpu, VG_PAGE, SEED, 100 * VG_PAGE));
	memset(dst.cpu, 0x5a, VG_PAGE);
	/* GPU 1 reads the upper BO: the driver must deny this access. */
	tap_expect_stop(&q[1], dst.va, (uintptr_t)p + 64 * VG_PAGE, VG_PAGE);
	OK(vg_fill_check(dst.cpu, VG_PAGE, 0x5a5a5a5a));
}

static const struct tap_case cases[] = {
	{ "topology", topology, 2 },
	{ "both copy at once", both_copy, 2 },
	{ "one GTT BO on both", shared_gtt, 2 },
	{ "both fault on the same memory", shared_malloc, 2 },
	{ "memory that moves between the two", migrate_between, 2 },
	{ "BOs of one where the other faults", bos_in_granule, 2 },
};

int main(int argc, char **argv)
{
	return tap_main(TAP_CASES(cases), argc, argv);
}
