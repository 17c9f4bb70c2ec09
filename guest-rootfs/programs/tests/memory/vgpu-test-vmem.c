// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Map BOs for a KFD process by GEM_VA, as ROCr does. Catches: a page table entry is missing, wrong,
 * or stale after a move; a split unmaps too much; imported memory is freed too early or never; an
 * address is mapped twice.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "render.h"
#include "tap.h"

#define SEED	0x7e3
#define SIZE	(6 * VG_MIB)
#define HUGE	(2 * VG_MIB)

static struct vg vg;
static struct vg_gpu *gpu;
static struct vg_queue q;
static struct vg_bo stage;	/* BO in GTT, for data that an engine copies */
static uint32_t event;		/* event for memory faults */

static void start_on(int i)
{
	event = tap_fault_event(&vg);
	gpu = &vg.gpu[i];
	OK(vg_queue_create(&vg, gpu, 8192, &q));
	OK(vg_bo_create(&vg, gpu, SIZE, VG_GTT, &stage));
}

static void start(void)
{
	tap_open(&vg, -1);
	start_on(0);
}

/* Reserve addresses without memory, aligned to 2 MiB. */
static uint64_t reserve(uint64_t size)
{
	char *p = mmap(NULL, size + HUGE, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	CHECK(p != MAP_FAILED, "no address range");
	return ((uintptr_t)p + HUGE - 1) & ~(HUGE - 1);
}

static int map(uint32_t handle, uint64_t va, uint64_t offset, uint64_t size)
{
	return vr_gem_va(gpu->fd, handle, AMDGPU_VA_OP_MAP, VR_MAP_RW, va,
			 offset, size);
}

static int unmap(uint32_t handle, uint64_t va)
{
	return vr_gem_va(gpu->fd, handle, AMDGPU_VA_OP_UNMAP, 0, va, 0,
			 VG_PAGE);
}

static int clear(uint64_t va, uint64_t size)
{
	return vr_gem_va(gpu->fd, 0, AMDGPU_VA_OP_CLEAR, 0, va, 0, size);
}

static int kfd_export(const struct vg_bo *bo)
{
	struct kfd_ioctl_export_dmabuf_args args = {
		.handle = bo->handle, .flags = O_CLOEXEC,
	};

	OK(vg_ioctl(bo->vg, AMDKFD_IOC_EXPORT_DMABUF, &args));
	return (int)args.dmabuf_fd;
}

static uint32_t import(int fd)
{
	struct drm_prime_handle args = { .fd = fd };

	ERRNO(0, tap_ioctl(gpu->fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &args));
	return args.handle;
}

/*
 * Allocate a BO of KFD and map it for the CPU. Return its handle in the render node's
 * file.
 */
static uint32_t shared_bo(uint64_t size, uint32_t flags, struct vg_bo *bo)
{
	uint32_t handle;
	int fd;

	OK(vg_bo_alloc(&vg, gpu, size, flags, bo));
	OK(vg_bo_map_cpu(bo));
	fd = kfd_export(bo);
	handle = import(fd);
	close(fd);
	return handle;
}

static void gpu_check(uint64_t va, uint64_t size, uint64_t seed,
		      uint64_t offset)
{
	memset(stage.cpu, 0x5a, size);
	OK(vg_copy(&q, stage.cpu, (void *)va, size));
	OK(vg_pattern_check(stage.cpu, size, seed, offset));
}

static void gpu_write(uint64_t va, uint64_t size, uint64_t seed)
{
	vg_pattern_fill(stage.cpu, size, seed, 0);
	OK(vg_copy(&q, (void *)va, stage.cpu, size));
}

/* A read of @va must fault and stop the queue. The function then creates a new queue. */
static void expect_fault(uint64_t va)
{
	struct kfd_hsa_memory_exception_data data;

	OK(vg_emit_copy(&q, stage.va, va, VG_PAGE));
	vg_queue_submit(&q);
	data = tap_await_fault(&vg, event);
	CHECK(data.va == va, "a fault at 0x%llx, not 0x%lx", data.va, va);
	OK(vg_queue_destroy(&q));
	OK(vg_queue_create(&vg, gpu, 8192, &q));
}

/* Map a whole BO, and a part of it at another address; unmap both. */
static void kfd_memory_of(uint32_t flags)
{
	struct vg_bo bo = { 0 };
	uint64_t part = reserve(VG_MIB);
	uint32_t h;

	h = shared_bo(SIZE, flags, &bo);
	vg_pattern_fill(bo.cpu, SIZE, SEED, 0);
	ERRNO(0, map(h, bo.va, 0, SIZE));
	gpu_check(bo.va, SIZE, SEED, 0);
	gpu_write(bo.va, SIZE, SEED + 1);
	OK(vg_pattern_check(bo.cpu, SIZE, SEED + 1, 0));
	ERRNO(0, map(h, part, 3 * VG_MIB, VG_MIB));
	gpu_check(part, VG_MIB, SEED + 1, 3 * VG_MIB);
	ERRNO(0, unmap(h, bo.va));
	gpu_check(part, VG_MIB, SEED + 1, 3 * VG_MIB);
	expect_fault(bo.va);
	/*
	 * After KFD has freed the BO, the handle of the render node's file must keep
	 * the memory.
	 */
	OK(vg_bo_free(&bo));
	gpu_check(part, VG_MIB, SEED + 1, 3 * VG_MIB);
	ERRNO(0, unmap(h, part));
	ERRNO(ENOENT, unmap(h, part));
	expect_fault(part);
	ERRNO(0, vr_gem_close(gpu->fd, h));
}

static void kfd_memory(void)
{
	struct vg_mem_info base;

	start();
	OK(vg_mem_info(gpu, &base));
	kfd_memory_of(VG_VRAM);
	kfd_memory_of(VG_GTT);
	OK(vg_mem_wait_freed(gpu, &base, VG_TIMEOUT_MS));
}

/*
 * Evict the render node's BOs while a queue writes to them, and allocate the memory that
 * becomes free. Catches: a write is lost, or reaches the old location of a BO.
 */
static void own_bos(void)
{
	static const uint32_t domain[] = {
		AMDGPU_GEM_DOMAIN_VRAM, AMDGPU_GEM_DOMAIN_GTT,
	};
	uint32_t h[2], next, seq;
	char *cpu[2], *found;
	int round, i, other;
	uint64_t va[2];

	start();
	other = vr_open(gpu);
	for (i = 0; i < 2; i++) {
		ERRNO(0, vr_gem_create(gpu->fd, SIZE, domain[i], 0, &h[i]));
		va[i] = reserve(SIZE);
		ERRNO(0, map(h[i], va[i], 0, SIZE));
		cpu[i] = tap_gem_mmap(gpu->fd, h[i], SIZE);
	}
	for (round = 0; tap_goes_on(round, 6); round++) {
		uint64_t before = tap_driver_counter(gpu, "process_evictions");

		vg_pattern_fill(stage.cpu, SIZE, SEED + round, 0);
		for (i = 0; i < 16; i++)
			OK(vg_emit_copy(&q, va[i & 1], stage.va, SIZE));
		OK(vg_emit_fence(&q, &seq));
		vg_queue_submit(&q);
		tap_evict(gpu, round & 1 ? "gtt" : "vram");
		/* New memory must be zero, even if it was the old location of the BOs. */
		ERRNO(0, vr_gem_create(other, 4 * SIZE, domain[round & 1], 0,
				       &next));
		found = tap_gem_mmap(other, next, 4 * SIZE);
		OK(vg_fill_check(found, 4 * SIZE, 0));
		OK(vg_wait(&q, seq, VG_TIMEOUT_MS));
		OK(vg_fill_check(found, 4 * SIZE, 0));
		CHECK(tap_driver_counter(gpu, "process_evictions") > before,
		      "no process was evicted");
		munmap(found, 4 * SIZE);
		ERRNO(0, vr_gem_close(other, next));
		for (i = 0; i < 2; i++) {
			OK(vg_pattern_check(cpu[i], SIZE, SEED + round, 0));
			gpu_check(va[i], SIZE, SEED + round, 0);
		}
	}
}

/* Unmap the middle of a mapping while the queue uses both ends. */
static void cut(void)
{
	struct vg_bo bo = { 0 }, with = { 0 };
	uint64_t va = reserve(SIZE), end = va + SIZE - VG_MIB;
	uint32_t h, h2, seq;
	int i, round;

	start();
	h = shared_bo(SIZE, VG_VRAM, &bo);
	h2 = shared_bo(VG_MIB, VG_GTT, &with);
	vg_pattern_fill(bo.cpu, SIZE, SEED, 0);
	vg_pattern_fill(with.cpu, VG_MIB, SEED + 1, 0);
	for (round = 0; round < 4; round++) {
		uint64_t hole = va + 2 * VG_MIB + (uint64_t)round * 5 * VG_PAGE;

		ERRNO(0, map(h, va, 0, SIZE));
		/*
		 * In the last round, evict the BO. So clear() below splits a mapping whose page
		 * table entries may still point to the BO's old location.
		 */
		if (round == 3)
			tap_evict(gpu, "vram");
		memset(stage.cpu, 0x5a, 2 * VG_MIB);
		for (i = 0; i < 24; i++) {
			OK(vg_emit_copy(&q, stage.va, va, VG_MIB));
			OK(vg_emit_copy(&q, stage.va + VG_MIB, end, VG_MIB));
		}
		OK(vg_emit_fence(&q, &seq));
		vg_queue_submit(&q);
		ERRNO(0, clear(hole, VG_MIB));
		OK(vg_wait(&q, seq, VG_TIMEOUT_MS));
		OK(vg_pattern_check(stage.cpu, VG_MIB, SEED, 0));
		OK(vg_pattern_check((char *)stage.cpu + VG_MIB, VG_MIB, SEED,
				    SIZE - VG_MIB));
		gpu_check(va, hole - va, SEED, 0);
		expect_fault(hole);
		expect_fault(hole + VG_MIB - VG_PAGE);
		gpu_check(hole + VG_MIB, VG_PAGE, SEED, hole + VG_MIB - va);
		/*
		 * Map another BO from three pages before the hole on. This BO is as long as the
		 * hole, so the last three pages of the hole stay unmapped.
		 */
		ERRNO(0, vr_gem_va(gpu->fd, h2, AMDGPU_VA_OP_REPLACE, VR_MAP_RW,
				   hole - 3 * VG_PAGE, 0, VG_MIB));
		gpu_check(hole - 3 * VG_PAGE, VG_MIB, SEED + 1, 0);
		gpu_check(va, hole - va - 3 * VG_PAGE, SEED, 0);
		expect_fault(hole + VG_MIB - VG_PAGE);
		gpu_check(end, VG_MIB, SEED, SIZE - VG_MIB);
		/*
		 * An unmap must succeed only if its address is the first address of a part of the
		 * split mapping, and its BO is the BO of this part.
		 */
		ERRNO(ENOENT, unmap(h, hole));
		ERRNO(ENOENT, unmap(h2, va));
		ERRNO(0, unmap(h, va));
		ERRNO(0, unmap(h, hole + VG_MIB));
		gpu_check(hole - 3 * VG_PAGE, VG_MIB, SEED + 1, 0);
		ERRNO(0, clear(va, SIZE));
		expect_fault(hole);
	}
	OK(vg_bo_free(&bo));
	OK(vg_bo_free(&with));
}

/* PRT mappings have no memory: reads must return zeros, writes must be dropped. */
static void prt(void)
{
	uint64_t va = reserve(SIZE);

	start();
	ERRNO(0, vr_gem_va(gpu->fd, 0, AMDGPU_VA_OP_MAP, AMDGPU_VM_PAGE_PRT, va,
			   0, SIZE));
	gpu_write(va, SIZE, SEED);
	memset(stage.cpu, 0x5a, SIZE);
	OK(vg_copy(&q, stage.cpu, (void *)va, SIZE));
	OK(vg_fill_check(stage.cpu, SIZE, 0));
	ERRNO(0, vr_gem_va(gpu->fd, 0, AMDGPU_VA_OP_UNMAP, AMDGPU_VM_PAGE_PRT,
			   va, 0, SIZE));
	expect_fault(va);
	/* Leave a PRT mapping for the end of the process, which must remove the mapping. */
	ERRNO(0, vr_gem_va(gpu->fd, 0, AMDGPU_VA_OP_MAP, AMDGPU_VM_PAGE_PRT, va,
			   0, SIZE));
}

enum { N_BOS = 4 };

static uint32_t *both_are_there;

/*
 * In each round, copy each BO to the next BO (cyclically), and check all BOs. @gem: map the BOs by
 * GEM_VA, not by KFD.
 */
static void work(bool gem)
{
	struct vg_bo bo[N_BOS];
	struct vg_mem_info info;
	uint64_t bytes, seed = SEED + (uint64_t)getpid();
	uint32_t h[N_BOS];
	int i, round;

	start();
	OK(vg_mem_info(gpu, &info));
	/* The BOs of one process take three fifths of VRAM: VRAM is too small for two processes. */
	bytes = info.vram_total * 3 / (5 * N_BOS) & ~(VG_PAGE - 1);
	for (i = 0; i < N_BOS; i++) {
		h[i] = shared_bo(bytes, VG_VRAM, &bo[i]);
		if (gem)
			ERRNO(0, map(h[i], bo[i].va, 0, bytes));
		else
			OK(vg_bo_map_gpu(&bo[i]));
	}
	/* Neither process starts its work before both have allocated their BOs. */
	tap_meet(both_are_there, 2);
	for (round = 0; tap_goes_on(round, 8); round++) {
		vg_pattern_fill(bo[0].cpu, bytes, seed, (uint64_t)round);
		for (i = 0; i < N_BOS; i++)
			OK(vg_copy(&q, (void *)bo[(i + 1) % N_BOS].va,
				   (void *)bo[i].va, bytes));
		for (i = 0; i < N_BOS; i++)
			OK(vg_pattern_check(bo[i].cpu, bytes, seed,
					    (uint64_t)round));
	}
}

static void worker(void *gem)
{
	work(gem);
}

/*
 * Run two busy processes, whose BOs do not fit into VRAM together. GEM_VA maps the BOs of
 * the first process, and KFD maps the BOs of the second process.
 */
static void pressure(void)
{
	static struct vg before;
	uint64_t evictions;
	int status;
	pid_t pid;

	OK(vg_open_bare(&before));
	evictions = tap_driver_counter(&before.gpu[0], "process_evictions");
	vg_close(&before);
	both_are_there = tap_shared_page();
	pid = fork();
	CHECK(pid >= 0, "fork");
	if (!pid) {
		worker(&vg);
		_exit(0);
	}
	tap_in_child(worker, NULL);
	CHECK(waitpid(pid, &status, 0) == pid && !status,
	      "the process ended with 0x%x", status);
	OK(vg_open_bare(&before));
	CHECK(tap_driver_counter(&before.gpu[0], "process_evictions") >
	      evictions, "there was room for both");
	vg_close(&before);
}

/*
 * Body of a process that exports a BO, writes the descriptor's number to the pipe, and
 * copies from the BO until the process is killed.
 */
static void exporter(int to)
{
	struct vg_bo bo = { 0 };
	int fd;

	start();
	OK(vg_bo_create(&vg, gpu, SIZE, VG_VRAM, &bo));
	vg_pattern_fill(stage.cpu, SIZE, SEED, 0);
	OK(vg_copy(&q, bo.cpu, stage.cpu, SIZE));
	fd = kfd_export(&bo);
	CHECK(write(to, &fd, sizeof(fd)) == sizeof(fd), "write");
	/*
	 * Copy without end, so that the BO is mapped and the queue uses it when the process is
	 * killed.
	 */
	for (;;) {
		OK(vg_emit_copy(&q, stage.va, bo.va, SIZE));
		vg_queue_submit(&q);
		vg_sleep_us(100);
	}
}

/*
 * Memory must stay when its exporter is killed, and must be freed when its last importer
 * releases it.
 */
static void exporter_killed(void)
{
	uint64_t va = reserve(SIZE);
	struct vg_mem_info base;
	int up[2], fd, theirs, round, status;
	uint32_t h;
	pid_t pid;

	start();
	OK(vg_mem_info(gpu, &base));
	for (round = 0; round < 2; round++) {
		CHECK(!pipe(up), "pipe");
		pid = fork();
		CHECK(pid >= 0, "fork");
		if (!pid) {
			exporter(up[1]);
			_exit(1);
		}
		close(up[1]);
		CHECK(read(up[0], &theirs, sizeof(theirs)) == sizeof(theirs),
		      "the exporter has ended");
		fd = (int)syscall(SYS_pidfd_getfd,
				  (int)syscall(SYS_pidfd_open, pid, 0), theirs,
				  0);
		CHECK(fd >= 0, "pidfd_getfd: %s", strerror(errno));
		h = import(fd);
		close(fd);
		ERRNO(0, map(h, va, 0, SIZE));
		gpu_check(va, SIZE, SEED, 0);
		if (round)
			tap_evict(gpu, "vram");
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		gpu_check(va, SIZE, SEED, 0);
		tap_evict(gpu, "vram");
		gpu_check(va, SIZE, SEED, 0);
		gpu_write(va, SIZE, SEED + 1);
		gpu_check(va, SIZE, SEED + 1, 0);
		ERRNO(0, vr_gem_close(gpu->fd, h));
		expect_fault(va);
		close(up[0]);
	}
	OK(vg_mem_wait_freed(gpu, &base, VG_TIMEOUT_MS));
}

/* Map memory of another GPU, and move it while the queue uses it. */
static void other_gpu(void)
{
	uint64_t va = reserve(SIZE);
	struct vg_bo bo = { 0 };
	uint32_t h, seq;
	int fd, i, round;

	tap_open(&vg, -1);
	OK(vg_bo_alloc(&vg, &vg.gpu[0], SIZE, VG_VRAM, &bo));
	OK(vg_bo_map_cpu(&bo));
	vg_pattern_fill(bo.cpu, SIZE, SEED, 0);
	fd = kfd_export(&bo);
	start_on(1);
	h = import(fd);
	close(fd);
	ERRNO(0, map(h, va, 0, SIZE));
	gpu_check(va, SIZE, SEED, 0);
	for (round = 0; tap_goes_on(round, 4); round++) {
		vg_pattern_fill(stage.cpu, SIZE, SEED + round, 0);
		for (i = 0; i < 8; i++)
			OK(vg_emit_copy(&q, va, stage.va, SIZE));
		OK(vg_emit_fence(&q, &seq));
		vg_queue_submit(&q);
		tap_evict(&vg.gpu[0], round & 1 ? "gtt" : "vram");
		OK(vg_wait(&q, seq, VG_TIMEOUT_MS));
		OK(vg_pattern_check(bo.cpu, SIZE, SEED + round, 0));
		gpu_check(va, SIZE, SEED + round, 0);
	}
	/* Freeing the exporter's handle must not free the memory. */
	OK(vg_bo_free(&bo));
	gpu_check(va, SIZE, SEED + round - 1, 0);
}

/*
 * While there is no queue, mapped BOs can be evicted; the creation of a queue must
 * restore them.
 */
static void no_queue(void)
{
	struct vg_bo bo = { 0 };
	uint32_t h, own;
	uint64_t va = reserve(SIZE);
	char *cpu;

	tap_open(&vg, -1);
	gpu = &vg.gpu[0];
	h = shared_bo(SIZE, VG_VRAM, &bo);
	vg_pattern_fill(bo.cpu, SIZE, SEED, 0);
	ERRNO(0, map(h, bo.va, 0, SIZE));
	ERRNO(0, vr_gem_create(gpu->fd, SIZE, AMDGPU_GEM_DOMAIN_VRAM, 0, &own));
	cpu = tap_gem_mmap(gpu->fd, own, SIZE);
	vg_pattern_fill(cpu, SIZE, SEED + 1, 0);
	ERRNO(0, vr_gem_va(gpu->fd, own, AMDGPU_VA_OP_MAP,
			   VR_MAP_RW | AMDGPU_VM_DELAY_UPDATE, va, 0, SIZE));
	tap_evict(gpu, "vram");
	tap_evict(gpu, "gtt");
	start_on(0);
	gpu_check(bo.va, SIZE, SEED, 0);
	gpu_check(va, SIZE, SEED + 1, 0);
	/* After an eviction without any queue, the creation of a queue must restore the BOs. */
	OK(vg_queue_destroy(&q));
	tap_evict(gpu, "vram");
	OK(vg_queue_create(&vg, gpu, 8192, &q));
	gpu_check(bo.va, SIZE, SEED, 0);
	gpu_check(va, SIZE, SEED + 1, 0);
}

/* When a BO's last handle is closed, the BO's mappings must be removed. */
static void handles(void)
{
	struct vg_mem_info base;
	struct vg_bo bo = { 0 };
	uint64_t va = reserve(SIZE);
	uint32_t h, again;
	int fd;

	start();
	OK(vg_mem_info(gpu, &base));
	OK(vg_bo_alloc(&vg, gpu, SIZE, VG_VRAM, &bo));
	fd = kfd_export(&bo);
	h = import(fd);
	again = import(fd);
	CHECK(again == h, "two handles of one BO");
	ERRNO(0, map(h, va, 0, VG_MIB));
	ERRNO(0, map(h, va + 2 * VG_MIB, 0, SIZE - 2 * VG_MIB));
	gpu_write(va, VG_MIB, SEED);
	ERRNO(0, vr_gem_close(gpu->fd, h));
	expect_fault(va);
	expect_fault(va + 2 * VG_MIB);
	ERRNO(ENOENT, map(h, va, 0, SIZE));
	h = import(fd);
	ERRNO(0, map(h, va, 0, SIZE));
	gpu_check(va, VG_MIB, SEED, 0);
	OK(vg_bo_free(&bo));
	close(fd);
	gpu_check(va, VG_MIB, SEED, 0);
	ERRNO(0, vr_gem_close(gpu->fd, h));
	expect_fault(va);
	OK(vg_mem_wait_freed(gpu, &base, VG_TIMEOUT_MS));
}

/* Catches: GEM_VA and KFD, or GEM_VA and SVM, can use an address at the same time. */
static void taken(void)
{
	struct vg_bo bo = { 0 }, mine = { 0 };
	uint64_t va;
	uint32_t h;
	char *p;

	start();
	h = shared_bo(SIZE, VG_VRAM, &bo);
	OK(vg_bo_create(&vg, gpu, VG_MIB, VG_GTT, &mine));
	vg_pattern_fill(mine.cpu, VG_MIB, SEED, 0);
	/* GEM_VA must refuse to change KFD's mappings. */
	ERRNO(EINVAL, map(h, mine.va, 0, VG_PAGE));
	ERRNO(EINVAL, map(h, mine.va - VG_PAGE, 0, 2 * VG_PAGE));
	ERRNO(EINVAL, clear(mine.va, VG_MIB));
	ERRNO(EINVAL, vr_gem_va(gpu->fd, h, AMDGPU_VA_OP_REPLACE, VR_MAP_RW,
				mine.va, 0, VG_PAGE));
	ERRNO(ENOENT, unmap(h, mine.va));
	OK(vg_bo_map_gpu(&bo));
	ERRNO(ENOENT, unmap(h, bo.va));
	OK(vg_bo_unmap_gpu(&bo));
	gpu_check(mine.va, VG_MIB, SEED, 0);
	/* KFD must refuse to map over GEM_VA's mappings. */
	ERRNO(0, map(h, bo.va, 0, SIZE));
	ERRNO(EINVAL, vg_bo_map_gpu(&bo));
	ERRNO(EINVAL, map(h, bo.va + SIZE - VG_PAGE, 0, 2 * VG_PAGE));
	ERRNO(0, unmap(h, bo.va));
	OK(vg_bo_map_gpu(&bo));
	OK(vg_bo_unmap_gpu(&bo));
	/* SVM and GEM_VA must refuse each other's addresses. */
	p = tap_anon(VG_MIB);
	va = (uintptr_t)p;
	memset(p, 1, VG_MIB);
	OK(vg_svm_set1(&vg, p, VG_MIB, KFD_IOCTL_SVM_ATTR_GRANULARITY, 7));
	ERRNO(EADDRINUSE, map(h, va, 0, VG_MIB));
	ERRNO(EADDRINUSE, vr_gem_va(gpu->fd, h, AMDGPU_VA_OP_REPLACE, VR_MAP_RW,
				    va - VG_PAGE, 0, 2 * VG_PAGE));
	p = tap_anon(VG_MIB);
	va = (uintptr_t)p;
	memset(p, 1, VG_MIB);
	ERRNO(0, map(h, va, 0, VG_PAGE));
	ERRNO(EADDRINUSE, vg_svm_set1(&vg, p, VG_MIB,
				      KFD_IOCTL_SVM_ATTR_GRANULARITY, 7));
	ERRNO(0, clear(va, VG_MIB));
	OK(vg_svm_set1(&vg, p, VG_MIB, KFD_IOCTL_SVM_ATTR_GRANULARITY, 7));
}

/* GEM_VA with invalid arguments must fail. */
static void refused(void)
{
	struct drm_amdgpu_gem_userptr user = {
		.size = VG_MIB,
		.flags = AMDGPU_GEM_USERPTR_REGISTER |
			 AMDGPU_GEM_USERPTR_ANONONLY,
	};
	struct kfd_ioctl_acquire_vm_args acquire = { 0 };
	union drm_amdgpu_vm vm = { .in = { .op = AMDGPU_VM_OP_RESERVE_VMID } };
	uint64_t va = reserve(SIZE);
	uint32_t h, x, ctx;
	struct vr_ib ib = { .ndw = 1 };

	start();
	ERRNO(0, vr_gem_create(gpu->fd, SIZE, AMDGPU_GEM_DOMAIN_GTT, 0, &h));
	ERRNO(ENOENT, map(h + 7, va, 0, SIZE));
	ERRNO(ENOENT, unmap(h, va));
	ERRNO(EINVAL, map(h, va + 1, 0, SIZE));
	ERRNO(EINVAL, map(h, va, 1, VG_PAGE));
	ERRNO(EINVAL, map(h, va, 0, 0));
	ERRNO(EINVAL, map(h, va, 0, SIZE + VG_PAGE));
	ERRNO(EINVAL, map(h, va, SIZE, VG_PAGE));
	ERRNO(EINVAL, map(h, va, ~0ull << 12, VG_PAGE));
	ERRNO(EINVAL, map(h, 0, 0, SIZE));
	ERRNO(EINVAL, map(h, 1ull << 47, 0, SIZE));
	ERRNO(EINVAL, map(h, ~0ull << 12, 0, VG_PAGE));
	ERRNO(EINVAL, vr_gem_va(gpu->fd, h, AMDGPU_VA_OP_MAP, 1u << 31, va, 0,
				SIZE));
	ERRNO(EINVAL, vr_gem_va(gpu->fd, h, 77, VR_MAP_RW, va, 0, SIZE));
	ERRNO(EINVAL, clear(va, 1));
	ERRNO(0, clear(va, SIZE));
	/*
	 * MAP must refuse a BO of the CPU domain, because such a BO belongs to no GPU. MAP
	 * must also refuse a userptr BO.
	 */
	ERRNO(0, vr_gem_create(gpu->fd, SIZE, AMDGPU_GEM_DOMAIN_CPU, 0, &x));
	ERRNO(EINVAL, map(x, va, 0, SIZE));
	user.addr = (uintptr_t)tap_anon(VG_MIB);
	ERRNO(0, tap_ioctl(gpu->fd, DRM_IOCTL_AMDGPU_GEM_USERPTR, &user));
	ERRNO(EINVAL, map(user.handle, va, 0, VG_MIB));
	/*
	 * A file with a KFD address space must refuse always-valid BOs, reserved VMIDs
	 * and jobs.
	 */
	ERRNO(EINVAL, vr_gem_create(gpu->fd, SIZE, AMDGPU_GEM_DOMAIN_GTT,
				    AMDGPU_GEM_CREATE_VM_ALWAYS_VALID, &x));
	ERRNO(EINVAL, tap_ioctl(gpu->fd, DRM_IOCTL_AMDGPU_VM, &vm));
	ERRNO(0, vr_ctx_alloc(gpu->fd, 0, &ctx));
	ib.bo.va = va;
	ERRNO(EINVAL, vr_submit(gpu->fd, ctx, 0, &ib, &h, 1,
				&(uint64_t){ 0 }));

	/* ACQUIRE_VM must reject a file that has mappings. */
	vg_close(&vg);
	OK(vg_open_bare(&vg));
	gpu = &vg.gpu[0];
	ERRNO(0, vr_gem_create(gpu->fd, SIZE, AMDGPU_GEM_DOMAIN_GTT, 0, &h));
	ERRNO(0, map(h, va, 0, SIZE));
	acquire.gpu_id = gpu->gpu_id;
	acquire.drm_fd = (uint32_t)gpu->fd;
	CHECK(tap_ioctl(vg.kfd, AMDKFD_IOC_ACQUIRE_VM, &acquire) < 0,
	      "a file with mappings was taken");
	ERRNO(0, unmap(h, va));
}

/*
 * A child shares a render-node file with its parent. After the parent's KFD process has ended, the
 * child's GEM_VA calls must fail with ESRCH.
 */
static void after_the_end(void)
{
	uint64_t end, va = reserve(SIZE);
	int pipes[2], up[2], r;
	struct vg_bo bo = { 0 };
	uint32_t h;
	pid_t pid;
	char c;

	CHECK(!pipe(pipes) && !pipe(up), "pipe");
	pid = fork();
	CHECK(pid >= 0, "fork");
	if (!pid) {
		start();
		h = shared_bo(SIZE, VG_VRAM, &bo);
		vg_pattern_fill(bo.cpu, SIZE, SEED, 0);
		pid = fork();
		if (pid) {
			close(pipes[1]);
			CHECK(read(pipes[0], &c, 1) == 1, "read");
			gpu_check(va, SIZE, SEED, 0);
			_exit(0);
		}
		/*
		 * The child's MAP acts on the parent's address space. So a repeated MAP fails with
		 * EINVAL (the address is mapped), and with ESRCH after the end of the parent.
		 */
		ERRNO(0, map(h, va, 0, SIZE));
		CHECK(write(pipes[1], "m", 1) == 1, "write");
		end = vg_deadline();
		do {
			r = map(h, va, 0, SIZE);
			CHECK(r == -EINVAL || r == -ESRCH, "MAP: %d", r);
			vg_sleep_us(1000);
		} while (r != -ESRCH && vg_now() < end);
		ERRNO(ESRCH, unmap(h, va));
		ERRNO(ESRCH, clear(va, SIZE));
		ERRNO(0, vr_gem_close(gpu->fd, h));
		CHECK(write(up[1], "k", 1) == 1, "write");
		_exit(0);
	}
	close(up[1]);
	close(pipes[1]);
	CHECK(waitpid(pid, &r, 0) == pid && !r, "the process: 0x%x", r);
	CHECK(read(up[0], &c, 1) == 1 && c == 'k', "its child has failed");
}

/*
 * Return the number of contiguous runs of VRAM of the BO at GPU address @va, or 0 if
 * the BO is not in VRAM.
 */
static unsigned int vram_runs(uint64_t va, uint64_t size)
{
	static char text[256 * 1024];
	char path[80], want[64];
	unsigned int runs = 0;
	const char *line;

	snprintf(path, sizeof(path), "/sys/kernel/debug/dri/%d/amdgpu_vm_info",
		 gpu->minor);
	tap_read(path, text, sizeof(text));
	snprintf(want, sizeof(want), "[%#lx %#lx]", va / VG_PAGE,
		 (va + size) / VG_PAGE - 1);
	line = strstr(text, want);
	CHECK(line, "no mapping %s", want);
	line = strstr(line, " in ");
	CHECK(line, "no place");
	sscanf(line, " in vram, %u run", &runs);
	return runs;
}

/*
 * Fill VRAM with BOs of 1 MiB, and free every second BO. Return the number of elements of
 * @bo that were used, including those of the freed BOs.
 */
static unsigned int fragment(struct vg_bo *bo, unsigned int n)
{
	unsigned int i, have;

	for (have = 0; have < n; have++)
		if (vg_bo_alloc(&vg, gpu, VG_MIB, VG_VRAM, &bo[have]))
			break;
	for (i = 0; i < have; i += 2)
		OK(vg_bo_free(&bo[i]));
	return have;
}

/* CONTIGUOUS memory must be physically contiguous in fragmented VRAM, also after evictions. */
static void contiguous(void)
{
	enum { MOST = 60 };
	static struct vg_bo chip[MOST];
	struct vg_bo bo = { 0 }, loose = { 0 };
	unsigned int n, i, runs;
	int round;

	start();
	n = fragment(chip, MOST);
	OK(vg_bo_create(&vg, gpu, 5 * VG_MIB, VG_VRAM, &loose));
	runs = vram_runs(loose.va, loose.size);
	CHECK(runs > 1, "VRAM is not in pieces: %u", runs);
	OK(vg_bo_create(&vg, gpu, 3 * VG_MIB + VG_PAGE,
			VG_VRAM | KFD_IOC_ALLOC_MEM_FLAGS_CONTIGUOUS, &bo));
	vg_pattern_fill(bo.cpu, bo.size, SEED, 0);
	for (round = 0; round < 4; round++) {
		runs = vram_runs(bo.va, bo.size);
		CHECK(runs == 1, "%u runs after %d evictions", runs, round);
		gpu_check(bo.va, bo.size, SEED, 0);
		OK(vg_queue_destroy(&q));
		tap_evict(gpu, "vram");
		CHECK(!vram_runs(bo.va, bo.size), "it is still in VRAM");
		for (i = 0; i < n; i++)
			OK(vg_bo_free(&chip[i]));
		n = fragment(chip, MOST - 10 * (unsigned int)round);
		OK(vg_queue_create(&vg, gpu, 8192, &q));
	}
}

static const struct tap_case cases[] = {
	{ "memory of KFD, all and a part of it", kfd_memory, 1 },
	{ "the render node's BOs move while a queue writes", own_bos, 1 },
	{ "parts of mappings go while a queue works beside them", cut, 1 },
	{ "addresses without memory", prt, 1 },
	{ "processes at work that do not fit together", pressure, 1 },
	{ "another process's memory, which is killed", exporter_killed, 1 },
	{ "another GPU's memory", other_gpu, 2 },
	{ "before there are queues", no_queue, 1 },
	{ "the last handle", handles, 1 },
	{ "addresses that are taken", taken, 1 },
	{ "what cannot be", refused, 1 },
	{ "when the process has ended", after_the_end, 1 },
	{ "VRAM in one piece", contiguous, 1 },
};

int main(int argc, char **argv)
{
	return tap_main(TAP_CASES(cases), argc, argv);
}
