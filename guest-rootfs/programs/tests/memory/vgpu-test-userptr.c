// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tests of userptr BOs. Catches: an engine accesses unmapped pages, or writes read-only pages; a
 * queue is not restored; pages or notifiers outlive their BO.
 */
#include <fcntl.h>
#include <linux/loop.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/wait.h>
#include <unistd.h>

#include <drm/amdgpu_drm.h>

#include "tap.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

#define SEED	0x05e7
#define SIZE	(3 * VG_MIB)

static struct vg vg;
static struct vg_queue q[2];
static struct vg_bo stage[2];

static void start(int gpus, int xnack)
{
	int i;

	tap_open(&vg, xnack);
	for (i = 0; i < gpus; i++) {
		OK(vg_queue_create(&vg, &vg.gpu[i], 4096, &q[i]));
		OK(vg_bo_create(&vg, &vg.gpu[i], SIZE, VG_GTT, &stage[i]));
	}
}

static char *anon(uint64_t size)
{
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED, "mmap: %s", strerror(errno));
	return p;
}

#define VG_USERPTR (KFD_IOC_ALLOC_MEM_FLAGS_USERPTR | \
		    KFD_IOC_ALLOC_MEM_FLAGS_COHERENT | VG_BO_ACCESS)

/* Allocate a userptr BO with the same address for CPU and GPU. */
static int uptr_alloc(struct vg_gpu *gpu, uint64_t addr, uint64_t size,
		      struct vg_bo *bo)
{
	struct kfd_ioctl_alloc_memory_of_gpu_args args = {
		.va_addr = addr & -VG_PAGE,
		.size = size,
		.gpu_id = gpu->gpu_id,
		.flags = VG_USERPTR,
		.mmap_offset = addr,
	};
	int r = tap_ioctl(vg.kfd, AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, &args);

	memset(bo, 0, sizeof(*bo));
	if (!r)
		*bo = (struct vg_bo) {
			.vg = &vg, .gpu = gpu, .va = args.va_addr, .size = size,
			.handle = args.handle, .mmap_offset = args.mmap_offset,
			.flags = args.flags,
		};
	return r;
}

static void uptr_create(struct vg_gpu *gpu, void *p, struct vg_bo *bo)
{
	ERRNO(0, uptr_alloc(gpu, (uintptr_t)p, SIZE, bo));
	OK(vg_bo_map_gpu(bo));
}

/* Unmap and free a userptr BO. vg_bo_free() would also unmap the memory from the CPU. */
static void uptr_free(struct vg_bo *bo)
{
	struct kfd_ioctl_free_memory_of_gpu_args args = {
		.handle = bo->handle,
	};

	OK(vg_bo_unmap_gpu(bo));
	ERRNO(0, tap_ioctl(vg.kfd, AMDKFD_IOC_FREE_MEMORY_OF_GPU, &args));
}

/* Check that GPU @i reads the same bytes at @p as the CPU. */
static void gpu_reads(int i, const void *p)
{
	memset(stage[i].cpu, 0x5a, SIZE);
	OK(vg_copy(&q[i], stage[i].cpu, p, SIZE));
	CHECK(!memcmp(stage[i].cpu, p, SIZE), "GPU and CPU read different bytes");
}

static void gpu_writes(int i, void *p, uint64_t seed)
{
	vg_pattern_fill(stage[i].cpu, SIZE, seed, 0);
	OK(vg_copy(&q[i], p, stage[i].cpu, SIZE));
	OK(vg_pattern_check(p, SIZE, seed, 0));
}

static void both_ways(void)
{
	struct vg_bo bo;
	char *p = anon(SIZE);

	start(1, -1);
	/* This memory has no pages yet, because the CPU has not accessed it. */
	uptr_create(&vg.gpu[0], p, &bo);
	gpu_reads(0, p);
	gpu_writes(0, p, SEED);
	vg_pattern_fill(p, SIZE, SEED + 1, 0);
	gpu_reads(0, p);
	CHECK(mmap(NULL, SIZE, PROT_READ, MAP_SHARED, vg.gpu[0].fd,
		   (off_t)bo.mmap_offset) == MAP_FAILED,
	      "a user pointer can be mapped by its offset");
	uptr_free(&bo);
	OK(vg_pattern_check(p, SIZE, SEED + 1, 0));
	/* The GPU must also read the memory through a second userptr BO. */
	uptr_create(&vg.gpu[0], p, &bo);
	gpu_reads(0, p);
	uptr_free(&bo);
}

/* Operations on the memory of a userptr BO while a queue copies from this memory */

static void op_write(char *p)
{
	vg_pattern_fill(p, SIZE, SEED + 3, 0);
}

static void op_dontneed(char *p)
{
	CHECK(!madvise(p, SIZE, MADV_DONTNEED), "MADV_DONTNEED");
	OK(vg_fill_check(p, SIZE, 0));
}

static void op_map_over(char *p)
{
	CHECK(mmap(p + VG_MIB, VG_MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE |
		   MAP_ANONYMOUS | MAP_FIXED, -1, 0) == p + VG_MIB, "mmap");
	vg_pattern_fill(p + VG_MIB, VG_MIB, SEED + 4, 0);
}

/* After fork() both processes write: each process must have its own pages. */
static void op_fork(char *p)
{
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0, "fork");
	if (!pid) {
		memset(p, 0xee, SIZE);
		_exit(0);
	}
	vg_pattern_fill(p, SIZE, SEED + 5, 0);
	CHECK(waitpid(pid, &status, 0) == pid && !status, "the child");
	OK(vg_pattern_check(p, SIZE, SEED + 5, 0));
}

/* Write end of a pipe to @child, or -1 if there is no child. child_end() closes the pipe. */
static int child_pipe = -1;
/* The child of op_fork_later(). */
static pid_t child;

/*
 * Catches: an engine's write after fork() reaches the child's memory. Until child_end(), the CPU
 * must not write to @p. Such a write would give the parent new pages (copy-on-write), and the
 * driver would map the new pages for the engine. The engine could then not write to the child's
 * pages, and the bug would not show.
 */
static void op_fork_later(char *p)
{
	char *was = anon(SIZE), c;
	int pipes[2];

	memcpy(was, p, SIZE);
	CHECK(!pipe(pipes), "pipe");
	child = fork();
	CHECK(child >= 0, "fork");
	if (!child) {
		close(pipes[1]);
		/* Wait until child_end() closes the pipe. */
		while (read(pipes[0], &c, 1) > 0)
			;
		_exit(!!memcmp(was, p, SIZE));
	}
	close(pipes[0]);
	child_pipe = pipes[1];
	munmap(was, SIZE);
}

static void child_end(void)
{
	int status;

	if (child_pipe < 0)
		return;
	close(child_pipe);
	child_pipe = -1;
	CHECK(waitpid(child, &status, 0) == child && !status,
	      "the GPU has written to the child's memory");
}

static void op_mremap(char *p)
{
	char *away = mremap(p, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_DONTUNMAP,
			    NULL);

	CHECK(away != MAP_FAILED, "mremap: %s", strerror(errno));
	OK(vg_fill_check(p, SIZE, 0));
	memset(away, 0xdd, SIZE);
	munmap(away, SIZE);
}

/*
 * Remove the write permission and restore it: the queue waits meanwhile. With PROT_NONE, the queue
 * would fault instead of waiting (see no_access()).
 */
static void op_mprotect(char *p)
{
	CHECK(!mprotect(p, SIZE, PROT_READ), "mprotect");
	CHECK(!mprotect(p, SIZE, PROT_READ | PROT_WRITE), "mprotect");
	vg_pattern_fill(p, SIZE, SEED + 7, 0);
}

static void op_collapse(char *p)
{
	char *huge = (char *)(((uintptr_t)p + 2 * VG_MIB - 1) &
			      -(2 * VG_MIB));

	if (huge + 2 * VG_MIB > p + SIZE)
		return;
	if (madvise(huge, 2 * VG_MIB, MADV_COLLAPSE))
		tap_diag("MADV_COLLAPSE: %s", strerror(errno));
	gpu_reads(0, p);
	/* Undo the collapse: a change of the protection of one page splits the huge mapping. */
	CHECK(!mprotect(huge + VG_MIB, VG_PAGE, PROT_READ) &&
	      !mprotect(huge + VG_MIB, VG_PAGE, PROT_READ | PROT_WRITE),
	      "mprotect");
}

/* Map SIZE bytes aligned to 2 MiB, for huge pages. */
static char *anon_aligned(void)
{
	uintptr_t p = (uintptr_t)anon(SIZE + 2 * VG_MIB);

	return (char *)((p + 2 * VG_MIB - 1) & -(2 * VG_MIB));
}

static void changes(int xnack)
{
	static void (*const ops[])(char *) = {
		op_write, op_dontneed, op_map_over, op_fork, op_fork_later,
		op_mremap, op_mprotect, op_collapse,
	};
	struct vg_bo bo;
	char *p = anon_aligned();
	uint32_t seq;
	int round, i;

	start(1, xnack);
	uptr_create(&vg.gpu[0], p, &bo);
	for (round = 0; tap_goes_on(round, 2); round++) {
		for (i = 0; i < (int)(sizeof(ops) / sizeof(ops[0])); i++) {
			vg_pattern_fill(p, SIZE, SEED + round, 0);
			OK(vg_emit_copy(&q[0], stage[0].va, bo.va, SIZE));
			OK(vg_emit_copy(&q[0], stage[0].va, bo.va, SIZE));
			OK(vg_emit_copy(&q[0], stage[0].va, bo.va, SIZE));
			OK(vg_emit_fence(&q[0], &seq));
			vg_queue_submit(&q[0]);
			ops[i](p);
			OK(vg_wait(&q[0], seq, VG_TIMEOUT_MS));
			gpu_reads(0, p);
			gpu_writes(0, p, SEED + 100 + i);
			child_end();
		}
	}
	uptr_free(&bo);
}

static void changes_xnack_off(void)
{
	changes(0);
}

static void changes_xnack_on(void)
{
	changes(1);
}

/*
 * Make memory of a userptr BO read-only. The queue must be evicted, and must continue
 * when the memory is writable again.
 */
static void waits_for_write(void)
{
	struct vg_bo bo;
	char *p = anon(SIZE);
	uint32_t seq;

	start(1, 0);
	uptr_create(&vg.gpu[0], p, &bo);
	gpu_writes(0, p, SEED);
	CHECK(!mprotect(p, SIZE, PROT_READ), "mprotect");
	OK(vg_emit_copy(&q[0], stage[0].va, bo.va, SIZE));
	OK(vg_emit_fence(&q[0], &seq));
	vg_queue_submit(&q[0]);
	ERRNO(ETIMEDOUT, vg_wait(&q[0], seq, 300));
	CHECK(!mprotect(p, SIZE, PROT_READ | PROT_WRITE), "mprotect");
	OK(vg_wait(&q[0], seq, VG_TIMEOUT_MS));
	OK(vg_pattern_check(stage[0].cpu, SIZE, SEED, 0));
	uptr_free(&bo);
}

/*
 * While @p is PROT_NONE, the GPU has no mapping of @p, and the queue must still work with @p2.
 * Afterwards, the queue must read @p correctly.
 */
static void no_access(void)
{
	struct vg_bo bo, bo2;
	char *p = anon(SIZE), *p2 = anon(SIZE);
	int round;

	start(1, 0);
	uptr_create(&vg.gpu[0], p, &bo);
	uptr_create(&vg.gpu[0], p2, &bo2);
	for (round = 0; tap_goes_on(round, 3); round++) {
		gpu_writes(0, p, SEED + round);
		CHECK(!mprotect(p, SIZE, PROT_NONE), "mprotect");
		gpu_writes(0, p2, SEED + 100 + round);
		CHECK(!mprotect(p, SIZE, PROT_READ | PROT_WRITE), "mprotect");
		gpu_reads(0, p);
		OK(vg_pattern_check(p, SIZE, SEED + round, 0));
	}
	uptr_free(&bo);
	uptr_free(&bo2);
}

/* Unmap the memory, but keep the addresses reserved. */
static void unmap(char *p)
{
	CHECK(!munmap(p, SIZE) &&
	      mmap(p, SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		   -1, 0) == p, "munmap");
}

/*
 * Unmap the memory of a userptr BO. Catches: a queue is stopped although it does not access
 * the unmapped memory; an access to the unmapped memory causes no fault.
 */
static void unmapped(void)
{
	struct vg_queue other = { 0 };
	struct vg_bo bo, bo2;
	char *p = anon(SIZE), *p2 = anon(SIZE);

	start(1, 0);
	uptr_create(&vg.gpu[0], p, &bo);
	uptr_create(&vg.gpu[0], p2, &bo2);
	gpu_writes(0, p, SEED);
	gpu_writes(0, p2, SEED + 1);
	unmap(p);
	/* The queue must continue as long as it does not access the unmapped memory. */
	gpu_reads(0, p2);
	tap_expect_stop(&q[0], stage[0].va, bo.va, SIZE);
	OK(vg_queue_destroy(&q[0]));
	OK(vg_queue_create(&vg, &vg.gpu[0], 4096, &other));
	q[0] = other;
	gpu_reads(0, p2);
	/*
	 * MAP must fail while no memory is mapped at the addresses of the BO, and must
	 * succeed after new memory was mapped at these addresses.
	 */
	OK(vg_bo_unmap_gpu(&bo));
	ERRNO(EFAULT, vg_bo_map_gpu(&bo));
	CHECK(mmap(p, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE |
		   MAP_ANONYMOUS | MAP_FIXED, -1, 0) == p, "mmap");
	vg_pattern_fill(p, SIZE, SEED + 2, 0);
	OK(vg_bo_map_gpu(&bo));
	gpu_reads(0, p);
	unmap(p);
	uptr_free(&bo);
	uptr_free(&bo2);
}

static void two_gpus(void)
{
	struct vg_bo bo;
	char *p = anon(SIZE);
	int round;

	start(2, 0);
	uptr_create(&vg.gpu[0], p, &bo);
	OK(vg_bo_map_peer(&bo, &vg.gpu[1]));
	for (round = 0; round < 3; round++) {
		gpu_writes(0, p, SEED + round);
		gpu_reads(1, p);
		CHECK(!madvise(p, SIZE, MADV_DONTNEED), "madvise");
		gpu_writes(1, p, SEED + 10 + round);
		gpu_reads(0, p);
	}
	OK(vg_bo_unmap_peer(&bo, &vg.gpu[1]));
	uptr_free(&bo);
}

/*
 * The swap device is a loop device on a file in ramfs, because pages of ramfs are not swapped
 * out.
 */

#define SWAP_BYTES	(16 * VG_MIB)

static char swap_dev[32];

static void swap_start(void)
{
	static const struct { uint32_t version, last_page, bad; } header = {
		1, SWAP_BYTES / VG_PAGE - 1, 0
	};
	int control, loop, file, n;

	mkdir("/tmp/swap", 0700);
	CHECK(!mount("none", "/tmp/swap", "ramfs", 0, NULL), "ramfs: %s",
	      strerror(errno));
	file = open("/tmp/swap/file", O_RDWR | O_CREAT, 0600);
	CHECK(file >= 0 && !ftruncate(file, SWAP_BYTES), "the swap file");
	CHECK(pwrite(file, &header, sizeof(header), 1024) == sizeof(header) &&
	      pwrite(file, "SWAPSPACE2", 10, VG_PAGE - 10) == 10,
	      "its header");
	control = open("/dev/loop-control", O_RDWR);
	CHECK(control >= 0, "loop-control: %s", strerror(errno));
	n = ioctl(control, LOOP_CTL_GET_FREE);
	snprintf(swap_dev, sizeof(swap_dev), "/dev/loop%d", n);
	loop = open(swap_dev, O_RDWR);
	CHECK(n >= 0 && loop >= 0 && !ioctl(loop, LOOP_SET_FD, file), "%s: %s",
	      swap_dev, strerror(errno));
	CHECK(!swapon(swap_dev, 0), "swapon: %s", strerror(errno));
	ioctl(loop, LOOP_SET_STATUS64, &(struct loop_info64) {
		.lo_flags = LO_FLAGS_AUTOCLEAR });
	close(loop);
	close(control);
	close(file);
}

static void swap_stop(void)
{
	CHECK(!swapoff(swap_dev), "swapoff: %s", strerror(errno));
	CHECK(!umount2("/tmp/swap", MNT_DETACH), "umount: %s", strerror(errno));
}

/* Return the number of sectors written to the swap device so far. */
static unsigned long swapped_out(void)
{
	char path[64], text[256];
	unsigned long n = 0;

	snprintf(path, sizeof(path), "/sys/block/%s/stat",
		 strrchr(swap_dev, '/') + 1);
	tap_read(path, text, sizeof(text));
	CHECK(sscanf(text, "%*u %*u %*u %*u %*u %*u %lu", &n) == 1, "%s: %s",
	      path, text);
	return n;
}

static void swapping(void)
{
	struct vg_bo bo;
	char *p = anon(SIZE);
	unsigned long before;
	uint64_t until;
	uint32_t seq;
	int round;

	start(1, 0);
	swap_start();
	uptr_create(&vg.gpu[0], p, &bo);
	for (round = 0; tap_goes_on(round, 3); round++) {
		gpu_writes(0, p, SEED + round);
		OK(vg_emit_copy(&q[0], stage[0].va, bo.va, SIZE));
		OK(vg_emit_fence(&q[0], &seq));
		vg_queue_submit(&q[0]);
		before = swapped_out();
		CHECK(!madvise(p, SIZE, MADV_PAGEOUT), "MADV_PAGEOUT: %s",
		      strerror(errno));
		/*
		 * Wait until pages were written to the swap device. Do not check that the
		 * pages are absent: the driver may have restored them by now.
		 */
		until = vg_deadline();
		while (swapped_out() == before) {
			CHECK(vg_now() < until, "nothing was swapped out");
			vg_sleep_us(1000);
		}
		OK(vg_wait(&q[0], seq, VG_TIMEOUT_MS));
		OK(vg_pattern_check(stage[0].cpu, SIZE, SEED + round, 0));
		gpu_reads(0, p);
	}
	uptr_free(&bo);
	swap_stop();
}

/*
 * The process ends with userptr BOs in use. Catches: memory is not freed at the end of the
 * process. tap_main() checks this.
 */
static void abandoned(void)
{
	static struct vg_bo bo[8];
	char *p = anon(SIZE);
	int i;

	start(1, 0);
	for (i = 0; i < 8; i++)
		ERRNO(0, uptr_alloc(&vg.gpu[0], (uintptr_t)p, SIZE, &bo[i]));
	OK(vg_bo_map_gpu(&bo[0]));
	OK(vg_emit_copy(&q[0], stage[0].va, bo[0].va, SIZE));
	vg_queue_submit(&q[0]);
}

static int file_of(uint64_t size)
{
	int fd = memfd_create("vgpu", 0);

	CHECK(fd >= 0 && !ftruncate(fd, (off_t)size), "memfd");
	return fd;
}

static void *map_file(int fd, int prot, int flags)
{
	void *p = mmap(NULL, SIZE, prot, flags, fd, 0);

	CHECK(p != MAP_FAILED, "mmap: %s", strerror(errno));
	return p;
}

static int uptr_errno(uint64_t addr, uint64_t size)
{
	struct vg_bo bo;

	return uptr_alloc(&vg.gpu[0], addr, size, &bo);
}

static void bad_input(void)
{
	uint64_t p = (uintptr_t)anon(SIZE);
	struct vg_mem_info before, after;
	struct kfd_ioctl_export_dmabuf_args ex = { 0 };
	struct vg_bo bo;
	int fd = file_of(SIZE);

	OK(vg_open(&vg));
	OK(vg_mem_info(&vg.gpu[0], &before));
	ERRNO(EINVAL, uptr_errno(0, SIZE));
	ERRNO(EINVAL, uptr_errno(p + 8, SIZE));
	ERRNO(EINVAL, uptr_errno(p, 0));
	ERRNO(EFAULT, uptr_errno(p + SIZE + (1ull << 30), SIZE));
	ERRNO(EFAULT, uptr_errno(0xffff888000000000, SIZE));
	ERRNO(EOVERFLOW, uptr_errno(-VG_PAGE, 2 * VG_PAGE));
	ERRNO(ENOMEM, uptr_errno(p, SIZE + 64 * VG_PAGE * VG_MIB));
	ERRNO(ENOMEM, uptr_errno(VG_PAGE, -2 * VG_PAGE));
	ERRNO(EPERM, uptr_errno((uintptr_t)map_file(fd, PROT_READ, MAP_SHARED),
				SIZE));
	ERRNO(EFAULT, uptr_errno((uintptr_t)map_file(fd, PROT_NONE, MAP_SHARED),
				 SIZE));
	/* Memory of which one half is unmapped must be refused. */
	munmap((void *)(p + SIZE / 2), SIZE / 2);
	ERRNO(EFAULT, uptr_errno(p, SIZE));
	/* A mapping of which one half is beyond the end of the file must be refused. */
	CHECK(!ftruncate(fd, SIZE / 2), "ftruncate");
	ERRNO(EFAULT, uptr_errno((uintptr_t)map_file(fd, PROT_READ | PROT_WRITE,
						     MAP_SHARED), SIZE));
	OK(vg_mem_info(&vg.gpu[0], &after));
	CHECK(after.gtt_used <= before.gtt_used, "GTT in use: %lu, was %lu",
	      after.gtt_used, before.gtt_used);

	ERRNO(0, uptr_alloc(&vg.gpu[0], p, SIZE / 2, &bo));
	ex.handle = bo.handle;
	ERRNO(EPERM, tap_ioctl(vg.kfd, AMDKFD_IOC_EXPORT_DMABUF, &ex));
	/* A userptr BO on memory of an SVM range must be refused. */
	p = (uintptr_t)anon(SIZE);
	OK(vg_svm_set1(&vg, (void *)p, SIZE, KFD_IOCTL_SVM_ATTR_ACCESS,
		       vg.gpu[0].gpu_id));
	ERRNO(EADDRINUSE, uptr_errno(p, SIZE));
}

/*
 * Writes through a shared mapping must change the file; writes through a private
 * mapping must not.
 */
static void of_files(void)
{
	struct vg_bo bo;
	int fd = file_of(SIZE);
	char *shared = map_file(fd, PROT_READ | PROT_WRITE, MAP_SHARED);
	char *priv = map_file(fd, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	char *view = map_file(fd, PROT_READ, MAP_SHARED);

	start(1, 0);
	uptr_create(&vg.gpu[0], shared, &bo);
	gpu_writes(0, shared, SEED);
	OK(vg_pattern_check(view, SIZE, SEED, 0));
	uptr_free(&bo);
	uptr_create(&vg.gpu[0], priv, &bo);
	gpu_reads(0, priv);
	gpu_writes(0, priv, SEED + 1);
	OK(vg_pattern_check(view, SIZE, SEED, 0));
	uptr_free(&bo);
	/* Truncate and extend the file, so that for a moment the mapping has no memory. */
	uptr_create(&vg.gpu[0], shared, &bo);
	gpu_reads(0, shared);
	CHECK(!ftruncate(fd, 0) && !ftruncate(fd, SIZE), "ftruncate");
	OK(vg_bo_unmap_gpu(&bo));
	OK(vg_bo_map_gpu(&bo));
	gpu_reads(0, shared);
	gpu_writes(0, shared, SEED + 2);
	OK(vg_pattern_check(view, SIZE, SEED + 2, 0));
	uptr_free(&bo);
}

static int gem_userptr(uint64_t addr, uint64_t size, uint32_t flags,
		       uint32_t *handle)
{
	struct drm_amdgpu_gem_userptr args = {
		.addr = addr, .size = size, .flags = flags,
	};
	int r = tap_ioctl(vg.gpu[0].fd, DRM_IOCTL_AMDGPU_GEM_USERPTR, &args);

	*handle = r ? 0 : args.handle;
	return r;
}

static void render_node(void)
{
	const uint32_t reg = AMDGPU_GEM_USERPTR_REGISTER;
	const uint32_t val = reg | AMDGPU_GEM_USERPTR_VALIDATE;
	const uint32_t ro = AMDGPU_GEM_USERPTR_READONLY;
	const uint32_t ano = AMDGPU_GEM_USERPTR_ANONONLY;
	union drm_amdgpu_gem_mmap map = { 0 };
	struct drm_prime_handle prime = { 0 };
	struct vg_mem_info before, now;
	uint64_t p = (uintptr_t)anon(16 * SIZE);
	int i, fd = file_of(SIZE);
	uint64_t rofile = (uintptr_t)map_file(fd, PROT_READ, MAP_SHARED);
	uint32_t h, handles[16];

	OK(vg_open_bare(&vg));
	OK(vg_mem_info(&vg.gpu[0], &before));
	ERRNO(EINVAL, gem_userptr(p + 1, SIZE, reg, &h));
	ERRNO(EINVAL, gem_userptr(p, SIZE + 1, reg, &h));
	ERRNO(EINVAL, gem_userptr(p, 0, reg, &h));
	ERRNO(EINVAL, gem_userptr(p, SIZE, 0x10 | reg, &h));
	ERRNO(EACCES, gem_userptr(p, SIZE, 0, &h));
	ERRNO(EACCES, gem_userptr(p, SIZE, ano | AMDGPU_GEM_USERPTR_VALIDATE,
				  &h));
	ERRNO(EOVERFLOW, gem_userptr(-VG_PAGE, 2 * VG_PAGE, val, &h));
	ERRNO(EFAULT, gem_userptr(0xffff888000000000, SIZE, val, &h));
	ERRNO(EFAULT, gem_userptr(p + (1ull << 32), SIZE, val, &h));
	ERRNO(EPERM, gem_userptr(rofile, SIZE, val, &h));
	ERRNO(EPERM, gem_userptr(rofile, SIZE, val | ro | ano, &h));
	OK(vg_mem_info(&vg.gpu[0], &now));
	CHECK(now.gtt_used <= before.gtt_used, "GTT in use: %lu, was %lu",
	      now.gtt_used, before.gtt_used);
	/*
	 * Without VALIDATE, the first call succeeds although no memory is at the address. With
	 * READONLY, the second call succeeds although @rofile is mapped read-only.
	 */
	ERRNO(0, gem_userptr(p + (1ull << 32), SIZE, reg, &h));
	ERRNO(0, gem_userptr(rofile, SIZE, val | ro, &h));
	/*
	 * Use separate pages for the 16 BOs, because dma-debug reports more than eight mappings of
	 * one page as a leak.
	 */
	for (i = 0; i < 16; i++)
		ERRNO(0, gem_userptr(p + i * SIZE, SIZE, val | ano,
				     &handles[i]));
	OK(vg_mem_info(&vg.gpu[0], &now));
	CHECK(now.gtt_used >= before.gtt_used + 17 * SIZE,
	      "17 of %lu bytes are bound, but GTT in use is %lu", SIZE,
	      now.gtt_used);
	map.in.handle = handles[0];
	ERRNO(EPERM, tap_ioctl(vg.gpu[0].fd, DRM_IOCTL_AMDGPU_GEM_MMAP, &map));
	prime.handle = handles[0];
	ERRNO(EPERM, tap_ioctl(vg.gpu[0].fd, DRM_IOCTL_PRIME_HANDLE_TO_FD,
			       &prime));
	/*
	 * After munmap(), close the first 8 of the 16 handles. The end of the process closes the
	 * rest.
	 */
	munmap((void *)p, 16 * SIZE);
	for (i = 0; i < 8; i++)
		tap_gem_close(vg.gpu[0].fd, handles[i]);
}

/*
 * The GPU writes pages that MADV_FREE made clean; then reclaim examines the pages.
 * Catches: pages are not marked dirty after the GPU's write.
 */
static void written_since_free(void)
{
	char *p = anon(SIZE), *unused = anon(SIZE);
	struct vg_bo bo;
	cpu_set_t one;

	/*
	 * Stay on one CPU. MADV_FREE leaves pages in a list of its CPU, and MADV_PAGEOUT processes
	 * this list only if it runs on the same CPU.
	 */
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	CHECK(!sched_setaffinity(0, sizeof(one), &one), "CPU");
	start(1, -1);
	memset(unused, 1, SIZE);
	vg_pattern_fill(p, SIZE, SEED, 0);
	uptr_create(&vg.gpu[0], p, &bo);
	CHECK(!madvise(p, SIZE, MADV_FREE), "madvise: %s", strerror(errno));
	CHECK(!madvise(unused, SIZE, MADV_FREE), "madvise");
	vg_pattern_fill(stage[0].cpu, SIZE, SEED + 1, 0);
	OK(vg_copy(&q[0], p, stage[0].cpu, SIZE));
	CHECK(!madvise(p, SIZE, MADV_PAGEOUT), "madvise: %s", strerror(errno));
	CHECK(!madvise(unused, SIZE, MADV_PAGEOUT), "madvise");
	/*
	 * MADV_PAGEOUT drops pages that were not written after MADV_FREE: @unused must read as 0.
	 * The GPU has written @p, so @p must stay.
	 */
	OK(vg_fill_check(unused, SIZE, 0));
	OK(vg_pattern_check(p, SIZE, SEED + 1, 0));
	uptr_free(&bo);
}

static const struct tap_case cases[] = {
	{ "the GPU reads and writes the process's pages", both_ways, 1 },
	{ "pages change under a running queue, XNACK off", changes_xnack_off,
	  1 },
	{ "pages change under a running queue, XNACK on", changes_xnack_on, 1 },
	{ "read-only memory is waited for", waits_for_write, 1 },
	{ "memory without access", no_access, 1 },
	{ "memory that is unmapped", unmapped, 1 },
	{ "pages that are swapped out", swapping, 1 },
	{ "pages that are written since MADV_FREE", written_since_free, 1 },
	{ "one for two GPUs", two_gpus, 2 },
	{ "memory of files", of_files, 1 },
	{ "abandoned", abandoned, 1 },
	{ "bad input", bad_input, 1 },
	{ "handles of the render node", render_node, 1 },
};

int main(int argc, char **argv)
{
	return tap_main(TAP_CASES(cases), argc, argv);
}
