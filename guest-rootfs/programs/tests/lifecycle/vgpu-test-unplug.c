// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Remove the device while in use, and add it again. Catches: a process crashes or hangs; SVM data
 * is lost; old state or memory remains.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <drm/amdgpu_drm.h>
#include <drm/drm.h>

#include "render.h"
#include "tap.h"

#define SEED 0x9106

enum { BYTES = 1 << 20, SVM_BYTES = 4 << 20, WORKERS = 5 };

static struct vg vg;
static struct vg_gpu *gpu;
static char name[VG_PCI_NAME];

static void start(void)
{
	tap_open(&vg, 1);
	gpu = &vg.gpu[0];
	OK(vg_pci_name(gpu, name));
}

static unsigned long generation(void)
{
	FILE *f = fopen("/sys/class/kfd/kfd/topology/generation_id", "re");
	unsigned long id = 0;

	CHECK(f && fscanf(f, "%lu", &id) == 1, "no generation_id");
	fclose(f);
	return id;
}

/* Create a BO in VRAM through the render node @fd, and map the BO for the CPU. */
static int gem_new(int fd, uint64_t size, uint32_t *handle, char **cpu)
{
	union drm_amdgpu_gem_mmap map = { 0 };
	int r = vr_gem_create(fd, size, AMDGPU_GEM_DOMAIN_VRAM,
			      AMDGPU_GEM_CREATE_CPU_ACCESS_REQUIRED, handle);

	if (r)
		return r;
	map.in.handle = *handle;
	r = tap_ioctl(fd, DRM_IOCTL_AMDGPU_GEM_MMAP, &map);
	if (r)
		return r;
	*cpu = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		    (off_t)map.out.addr_ptr);
	return *cpu == MAP_FAILED ? -errno : 0;
}

static int drm_ioctl_works(int fd)
{
	struct drm_amdgpu_info_device info;
	struct drm_amdgpu_info args = {
		.return_pointer = (uintptr_t)&info,
		.return_size = sizeof(info),
		.query = AMDGPU_INFO_DEV_INFO,
	};

	return tap_ioctl(fd, DRM_IOCTL_AMDGPU_INFO, &args);
}

static int kfd_ioctl_works(int fd)
{
	struct kfd_ioctl_get_version_args version;

	return tap_ioctl(fd, AMDKFD_IOC_GET_VERSION, &version);
}

static sigjmp_buf on_bus_error;
/*
 * True in the tests of surprise removal. A surprise removal may lose SVM data in VRAM, and
 * then an access to this data raises SIGBUS.
 */
static bool may_lose;

static void bus_error(int sig)
{
	siglongjmp(on_bus_error, sig);
}

/*
 * Write to a doorbell or register of the removed device. Return true if the write
 * raises SIGBUS.
 */
static bool register_is_dead(volatile uint64_t *at, uint64_t value)
{
	struct sigaction act = { .sa_handler = bus_error }, old;
	volatile bool dead = true;

	sigaction(SIGBUS, &act, &old);
	if (!sigsetjmp(on_bus_error, 1)) {
		*at = value;
		dead = false;
	}
	sigaction(SIGBUS, &old, NULL);
	return dead;
}

/* The GPU resources of a process, one of each kind. */
struct things {
	struct vg_bo vram, gtt, mmio;
	struct vg_queue q;
	volatile uint64_t *hdp;
	char *svm, *gem;
	uint32_t gem_handle;
};

static void make_things(struct things *t)
{
	OK(vg_queue_create(&vg, gpu, 4096, &t->q));
	OK(vg_bo_create(&vg, gpu, BYTES, VG_VRAM, &t->vram));
	OK(vg_bo_create(&vg, gpu, BYTES, VG_GTT, &t->gtt));
	vg_pattern_fill(t->gtt.cpu, BYTES, SEED, 0);
	OK(vg_copy(&t->q, t->vram.cpu, t->gtt.cpu, BYTES));
	OK(vg_pattern_check(t->vram.cpu, BYTES, SEED, 0));
	OK(vg_bo_alloc(&vg, gpu, VG_PAGE, VG_MMIO_REMAP, &t->mmio));
	OK(vg_bo_map_gpu(&t->mmio));
	t->hdp = mmap(NULL, VG_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, vg.kfd,
		      (off_t)t->mmio.mmap_offset);
	CHECK(t->hdp != MAP_FAILED, "%s", strerror(errno));
	*t->hdp = 0;
	ERRNO(0, gem_new(gpu->fd, BYTES, &t->gem_handle, &t->gem));
	vg_pattern_fill(t->gem, BYTES, SEED, 1);
	t->svm = vg_map_anon(SVM_BYTES);
	CHECK(t->svm, "%s", vg_error());
	vg_pattern_fill(t->svm, SVM_BYTES, SEED, 2);
	OK(vg_svm_prefetch(&vg, t->svm, SVM_BYTES, gpu->gpu_id));
	CHECK(vg_pages_in_vram(t->svm, SVM_BYTES) > 0, "SVM is not in VRAM");
}

/*
 * Check the resources of @t after the removal of the GPU. @dword: expected dwords at @t->gem (0 in
 * the first call, 0x5a5a5a5a in the second).
 */
static void check_things(struct things *t, uint32_t dword)
{
	ERRNO(ENODEV, kfd_ioctl_works(vg.kfd));
	ERRNO(ENODEV, drm_ioctl_works(gpu->fd));
	CHECK(register_is_dead(t->q.doorbell, t->q.wptr),
	      "the doorbell still rings");
	CHECK(register_is_dead(t->hdp, 0), "the HDP register is still mapped");
	/* BOs of KFD must read as zero. */
	OK(vg_fill_check(t->vram.cpu, BYTES, 0));
	OK(vg_fill_check(t->gtt.cpu, BYTES, 0));
	/* After the removal, DRM maps other pages instead of the BO's memory. */
	OK(vg_fill_check(t->gem, BYTES, dword));
	/* The second call of check_things() must find this content. */
	memset(t->gem, 0x5a, BYTES);
	OK(vg_pattern_check(t->svm, SVM_BYTES, SEED, 2));
}

/* Open /dev/kfd and the render node again, and check that the GPU works. */
static void use(void *arg)
{
	struct vg_queue q = { 0 };
	struct vg_bo bo = { 0 };
	struct vg fresh;
	char *p;

	(void)arg;
	tap_open(&fresh, 1);
	OK(vg_queue_create(&fresh, &fresh.gpu[0], 4096, &q));
	OK(vg_bo_create(&fresh, &fresh.gpu[0], BYTES, VG_VRAM, &bo));
	OK(vg_fill_check(bo.cpu, BYTES, 0));
	p = vg_map_anon(BYTES);
	CHECK(p, "%s", vg_error());
	vg_pattern_fill(p, BYTES, SEED, 3);
	OK(vg_copy(&q, bo.cpu, p, BYTES));
	OK(vg_pattern_check(bo.cpu, BYTES, SEED, 3));
	OK(vg_svm_prefetch(&fresh, p, BYTES, fresh.gpu[0].gpu_id));
	OK(vg_copy(&q, p, bo.cpu, BYTES));
	OK(vg_pattern_check(p, BYTES, SEED, 3));
	OK(vg_queue_destroy(&q));
	OK(vg_bo_free(&bo));
	vg_unmap_anon(p, BYTES);
	vg_close(&fresh);
}

static void survive(bool remove)
{
	struct things t = { 0 };
	int nodes = vg_topology_nodes();
	unsigned long id = generation();

	start();
	make_things(&t);
	OK(remove ? vg_pci_remove(name) : vg_pci_unbind(name));
	CHECK(!vg_pci_bound(name), "the driver still has the device");
	CHECK(vg_topology_nodes() == nodes - 1, "the node is still there");
	CHECK(generation() != id, "generation_id is the same");
	check_things(&t, 0);
	OK(remove ? vg_pci_rescan() : vg_pci_bind(name));
	CHECK(vg_pci_bound(name), "the device did not come back");
	CHECK(vg_topology_nodes() == nodes, "the node did not come back");
	check_things(&t, 0x5a5a5a5a);
	/* Use the GPU in this process, which had the removed device open; then in a new process. */
	use(NULL);
	tap_in_child(use, NULL);
	OK(vg_fill_check(t.gem, BYTES, 0x5a5a5a5a));
	OK(vg_pattern_check(t.svm, SVM_BYTES, SEED, 2));
}

static void unbind(void)
{
	survive(false);
}

static void remove_rescan(void)
{
	survive(true);
}

/* State that the workers share with the process that removes the device */

static struct load {
	volatile bool removing, removed;
	volatile int rounds[WORKERS];
} *load;

/*
 * A worker calls gone() after a failure. Return if the device is being or was removed; otherwise
 * end the worker with status 1.
 */
static void gone(const char *what)
{
	if (!load->removing && !load->removed) {
		printf("# %s: %s\n", what, vg_error());
		fflush(stdout);
		_exit(1);
	}
}

/* Submit a fence and wait for it. Return 0, or -ENODEV if the device was removed. */
static int finish(struct vg_queue *q)
{
	uint64_t deadline = vg_deadline();
	uint32_t seq;
	int r = vg_emit_fence(q, &seq);

	if (r)
		return r;
	vg_queue_submit(q);
	while ((int32_t)(vg_queue_fence_value(q) - seq) < 0) {
		if (load->removed)
			return -ENODEV;
		if (vg_now() > deadline)
			return vg_fail(-ETIMEDOUT, "fence %u", seq);
		vg_sleep_us(100);
	}
	return 0;
}

static int copy(struct vg_queue *q, void *dst, const void *src, uint64_t bytes)
{
	int r = vg_emit_copy(q, (uintptr_t)dst, (uintptr_t)src, bytes);

	return r ? r : finish(q);
}

/* Copy to and from VRAM with a queue. The CPU checks the destination of each copy. */
static void work_bo(volatile int *round)
{
	struct vg_bo a = { 0 }, b = { 0 }, v = { 0 };
	struct vg_queue q = { 0 };

	if (vg_queue_create(&vg, gpu, 4096, &q) ||
	    vg_bo_create(&vg, gpu, BYTES, VG_GTT, &a) ||
	    vg_bo_create(&vg, gpu, BYTES, VG_GTT, &b) ||
	    vg_bo_create(&vg, gpu, BYTES, VG_VRAM, &v))
		return gone("BOs");
	for (;; ++*round) {
		vg_pattern_fill(a.cpu, BYTES, SEED, *round);
		if (copy(&q, v.cpu, a.cpu, BYTES) ||
		    vg_pattern_check(v.cpu, BYTES, SEED, *round) ||
		    copy(&q, b.cpu, v.cpu, BYTES) ||
		    vg_pattern_check(b.cpu, BYTES, SEED, *round))
			return gone("copies");
	}
}

static char *svm_src;

/*
 * In each round the engine faults on memory that the CPU has migrated back to system
 * memory.
 */
static void work_svm(volatile int *round)
{
	struct vg_queue q = { 0 };
	char *dst = vg_map_anon(SVM_BYTES);

	if (!dst || vg_queue_create(&vg, gpu, 4096, &q))
		return gone("queue");
	for (;; ++*round) {
		memset(dst, 0, SVM_BYTES);
		if (vg_svm_prefetch(&vg, *round % 2 ? dst : svm_src, SVM_BYTES,
				    gpu->gpu_id) ||
		    copy(&q, dst, svm_src, SVM_BYTES) ||
		    vg_pattern_check(dst, SVM_BYTES, SEED, 4))
			return gone("SVM");
	}
}

/* Create, write, check and close BOs of the render node. */
static void work_gem(volatile int *round)
{
	uint32_t handle;
	char *p;
	int r;

	for (;; ++*round) {
		if (gem_new(gpu->fd, BYTES, &handle, &p))
			return gone("GEM_CREATE");
		vg_pattern_fill(p, BYTES, SEED, *round);
		r = vg_pattern_check(p, BYTES, SEED, *round);
		munmap(p, BYTES);
		if (r)
			return gone("GEM BO");
		vr_gem_close(gpu->fd, handle);
	}
}

/* Copy data through VRAM by jobs of the render node. Each round submits eight jobs, then waits. */
static void work_jobs(volatile int *round)
{
	const uint64_t va = 0x200000000ull;
	struct vr_bo src, vram, dst;
	uint32_t ctx, handles[3];
	uint64_t seq;
	struct vr_ib ib;
	int i, r, fd;

	/* Open another DRM file, because gpu->fd belongs to KFD and therefore refuses jobs. */
	fd = vr_open(gpu);
	if (fd < 0 || vr_ctx_alloc(fd, 0, &ctx) ||
	    vr_bo_create(fd, BYTES, AMDGPU_GEM_DOMAIN_GTT, 0, va, &src) ||
	    vr_bo_create(fd, BYTES, AMDGPU_GEM_DOMAIN_VRAM, 0, va + BYTES,
			 &vram) ||
	    vr_bo_create(fd, BYTES, AMDGPU_GEM_DOMAIN_GTT, 0,
			 va + 2 * BYTES, &dst) ||
	    vr_ib_create(fd, VG_PAGE, va + 3 * BYTES, &ib))
		return gone("render node");
	vr_ib_copy(&ib, vram.va, src.va, BYTES);
	vr_ib_copy(&ib, dst.va, vram.va, BYTES);
	handles[0] = src.handle;
	handles[1] = vram.handle;
	handles[2] = dst.handle;
	for (;; ++*round) {
		vg_pattern_fill(src.cpu, BYTES, SEED, *round);
		for (i = 0, r = 0; i < 8 && !r; i++)
			r = vr_submit(fd, ctx, 0, &ib, handles, 3, &seq);
		if (!r)
			r = vr_wait(fd, ctx, 0, seq,
				    VG_TIMEOUT_MS * 1000000ull);
		if (r)
			vg_fail(r, "jobs: %s", strerror(-r));
		if (r || vg_pattern_check(dst.cpu, BYTES, SEED, *round))
			return gone("jobs");
	}
}

/* Use two compute queues: one executes packets, the other waits without end and owns GWS. */
static void work_compute(volatile int *round)
{
	struct kfd_ioctl_alloc_queue_gws_args gws = { .num_gws = 64 };
	struct vg_bo save = { 0 }, vram = { 0 };
	struct vg_cq q, stuck;
	uint32_t word;

	if (vg_save_area(&vg, gpu, KFD_IOC_ALLOC_MEM_FLAGS_GTT, &save) ||
	    vg_bo_create(&vg, gpu, VG_PAGE, VG_VRAM, &vram) ||
	    vg_cq_create(&vg, gpu, &save, 4096, false, &q) ||
	    vg_cq_create(&vg, gpu, &save, 4096, false, &stuck) ||
	    vg_pm4_wait(&stuck, stuck.ptrs.va + 0x800, 1))
		return gone("compute queues");
	gws.queue_id = stuck.id;
	if (vg_ioctl(&vg, AMDKFD_IOC_ALLOC_QUEUE_GWS, &gws))
		return gone("GWS");
	vg_cq_submit(&stuck);
	for (;; ++*round) {
		word = *round + 1;
		if (vg_pm4_write(&q, vram.va, &word, 1) || vg_cq_emit_fence(&q))
			return gone("compute queue");
		vg_cq_submit(&q);
		while (vg_cq_wait(&q, 50))
			if (load->removing || load->removed)
				return gone("compute queue");
		if (*(volatile uint32_t *)vram.cpu != word)
			return gone("compute queue's VRAM");
	}
}

static void worker(int n, bool lingers)
{
	static void (*const work[WORKERS])(volatile int *) = {
		work_bo, work_svm, work_gem, work_jobs, work_compute,
	};
	struct sigaction act = { .sa_handler = bus_error };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	svm_src = vg_map_anon(SVM_BYTES);
	if (!svm_src || vg_open(&vg) || vg_set_xnack(&vg, 1) != 1) {
		gone("open");
		_exit(0);
	}
	gpu = &vg.gpu[0];
	vg_pattern_fill(svm_src, SVM_BYTES, SEED, 4);
	sigaction(SIGBUS, &act, NULL);
	if (sigsetjmp(on_bus_error, 1)) {
		gone("SIGBUS");
		if (may_lose)
			_exit(0);
	} else {
		work[n](&load->rounds[n]);
	}
	/*
	 * An access to svm_src may raise SIGBUS while the device is being removed, so wait
	 * for the end of the removal before the check.
	 */
	while (may_lose && !load->removed)
		vg_sleep_us(1000);
	/* The engine only reads from svm_src, so the data must be intact. */
	if (vg_pattern_check(svm_src, SVM_BYTES, SEED, 4)) {
		printf("# SVM data lost: %s\n", vg_error());
		fflush(stdout);
		_exit(1);
	}
	/*
	 * With @lingers, keep all files of the removed device open until the new device
	 * exists.
	 */
	while (lingers && load->removing)
		vg_sleep_us(1000);
	_exit(0);
}

static void wait_for_work(const pid_t *pids)
{
	uint64_t deadline = vg_deadline();
	int i;

	for (i = 0; i < WORKERS; i++)
		while (load->rounds[i] < 2) {
			CHECK(!waitpid(pids[i], NULL, WNOHANG),
			      "worker %d ended early", i);
			CHECK(vg_now() < deadline, "worker %d does nothing", i);
			vg_sleep_us(1000);
		}
}

static void start_work(pid_t *pids, bool lingers)
{
	int i;

	memset(load, 0, sizeof(*load));
	fflush(stdout);
	for (i = 0; i < WORKERS; i++) {
		pids[i] = fork();
		CHECK(pids[i] >= 0, "fork: %s", strerror(errno));
		if (!pids[i])
			worker(i, lingers);
	}
	wait_for_work(pids);
	load->removing = true;
}

static void end_work(const pid_t *pids)
{
	int i, status;

	for (i = 0; i < WORKERS; i++) {
		CHECK(waitpid(pids[i], &status, 0) == pids[i], "waitpid");
		CHECK(!status, "worker %d ended with 0x%x", i, status);
	}
}

static void load_round(bool lingers)
{
	pid_t pids[WORKERS];

	start_work(pids, lingers);
	OK(vg_pci_remove(name));
	load->removed = true;
	if (lingers) {
		OK(vg_pci_rescan());
		load->removing = false;
	}
	end_work(pids);
	if (!lingers)
		OK(vg_pci_rescan());
	CHECK(vg_pci_bound(name), "the device did not come back");
}


static struct vg_mem_info prepare_load(void)
{
	struct vg_mem_info info;

	load = mmap(NULL, sizeof(*load), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(load != MAP_FAILED, "mmap");
	start();
	OK(vg_mem_info(gpu, &info));
	vg_close(&vg);
	return info;
}

/* Memory is freed in the background, so wait until the memory usage is @before again. */
static void check_in_use(const struct vg_mem_info *before, int round)
{
	start();
	CHECK(!vg_mem_wait_freed(gpu, before, VG_TIMEOUT_MS), "round %d: %s",
	      round, vg_error());
	vg_close(&vg);
}

static void under_load(void)
{
	int i, rounds = tap_rounds(2, 20);
	struct vg_mem_info before = prepare_load();

	for (i = 0; i < rounds; i++) {
		load_round(i % 2);
		check_in_use(&before, i);
	}
	tap_diag("%d rounds; after each, in use: %lu KiB of VRAM, %lu of GTT",
		 rounds, before.vram_used / 1024, before.gtt_used / 1024);
	tap_in_child(use, NULL);
}

/*
 * Unbind one of two GPUs. Files of the other GPU must still work. The KFD process uses both
 * GPUs, so its ioctls must fail with ENODEV.
 */
static void other_gpu(void)
{
	uint32_t handle;
	struct vg again;
	char *p;

	start();
	ERRNO(0, gem_new(vg.gpu[1].fd, BYTES, &handle, &p));
	vg_pattern_fill(p, BYTES, SEED, 5);
	OK(vg_pci_unbind(name));
	OK(vg_pattern_check(p, BYTES, SEED, 5));
	ERRNO(0, drm_ioctl_works(vg.gpu[1].fd));
	ERRNO(ENODEV, kfd_ioctl_works(vg.kfd));
	OK(vg_open(&again));
	CHECK(again.n_gpus == vg.n_gpus - 1, "%d GPUs", again.n_gpus);
	tap_in_child(use, NULL);
	OK(vg_pci_bind(name));
	OK(vg_pattern_check(p, BYTES, SEED, 5));
}

/* Unbind while there are contexts, mappings, and jobs that run or wait. */
static void jobs(void)
{
	const uint64_t va = 0x100000000ull;
	uint32_t ctx[2], handles[2];
	struct vr_bo bo, always;
	struct vr_ib ib;
	uint64_t seq[20];
	unsigned int i;
	int fd, r;

	start();
	fd = vr_open(gpu);
	CHECK(fd >= 0, "render node: %d", fd);
	for (i = 0; i < 2; i++)
		ERRNO(0, vr_ctx_alloc(fd, 0, &ctx[i]));
	ERRNO(0, vr_ib_create(fd, VG_PAGE, va, &ib));
	ERRNO(0, vr_bo_create(fd, BYTES, AMDGPU_GEM_DOMAIN_VRAM, 0,
			      va + VG_GIB, &bo));
	ERRNO(0, vr_bo_create(fd, BYTES, AMDGPU_GEM_DOMAIN_VRAM,
			      AMDGPU_GEM_CREATE_VM_ALWAYS_VALID,
			      va + 2 * VG_GIB, &always));
	for (i = 0; i < 100; i++)
		vr_ib_copy(&ib, always.va, bo.va, BYTES);
	handles[0] = ib.bo.handle;
	handles[1] = bo.handle;
	for (i = 0; i < 20; i++)
		ERRNO(0, vr_submit(fd, ctx[i & 1], i & 1, &ib, handles, 2,
				   &seq[i]));
	OK(vg_pci_unbind(name));
	ERRNO(ENODEV, vr_submit(fd, ctx[0], 0, &ib, handles, 2, &seq[0]));
	ERRNO(ENODEV, vr_gem_va(fd, bo.handle, AMDGPU_VA_OP_UNMAP, 0, bo.va, 0,
				0));
	for (i = 0; i < 20; i++) {
		r = vr_wait(fd, ctx[i & 1], i & 1, seq[i], ~0ull);
		CHECK(!r || r == -ENODEV, "job %u ended with %d", i, r);
	}
	ERRNO(ENODEV, vr_gem_close(fd, bo.handle));
	OK(vg_pci_bind(name));
	ERRNO(ENODEV, vr_ctx_free(fd, ctx[0]));
	munmap(ib.bo.cpu, ib.bo.size);
	munmap(bo.cpu, bo.size);
	munmap(always.cpu, always.size);
	close(fd);
	tap_in_child(use, NULL);
}

static void no_users(void)
{
	int i, rounds = tap_rounds(3, 20);

	start();
	vg_close(&vg);
	for (i = 0; i < rounds; i++) {
		OK(vg_pci_unbind(name));
		OK(vg_pci_bind(name));
	}
	tap_in_child(use, NULL);
}

/*
 * Return the number of GPUs that a new child sees. (This process keeps seeing the GPUs of its first
 * open() of /dev/kfd.)
 */
static int gpus_for_others(void)
{
	struct vg t = { 0 };
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	CHECK(pid >= 0, "fork: %s", strerror(errno));
	if (!pid)
		_exit(vg_open_bare(&t) ? 0 : t.n_gpus);
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status),
	      "the child ended with 0x%x", status);
	return WEXITSTATUS(status);
}

static void wait_there(int gpus, bool there)
{
	uint64_t deadline = vg_deadline();

	/*
	 * Wait for the last step. When a device is added, this is the addition of the
	 * topology node; when a device is removed, it is the removal of the PCI device.
	 */
	while (there ? gpus_for_others() != gpus : vg_pci_exists(name)) {
		CHECK(vg_now() < deadline, "the device did not %s: %s",
		      there ? "come" : "go", vg_error());
		vg_sleep_us(1000);
	}
}

static void say(const char *word)
{
	puts(word);
	fflush(stdout);
}

/*
 * Main program for tests/avocado/test_unplug.py. The host removes the device and adds a new one;
 * lines on stdout and stdin synchronize this process and the host.
 */
static int campaign(void)
{
	struct vg_mem_info before = prepare_load();
	int round = 0, gpus = gpus_for_others();
	char line[8];

	do {
		pid_t pids[WORKERS];

		start_work(pids, false);
		say("working");
		wait_there(gpus, false);
		load->removed = true;
		end_work(pids);
		say("gone");
		wait_there(gpus, true);
		check_in_use(&before, round++);
		tap_in_child(use, NULL);
		say("back");
	} while (fgets(line, sizeof(line), stdin));
	return 0;
}

static const struct tap_case cases[] = {
	{ "unbind and bind, nobody there", no_users, 1 },
	{ "unbind under open files and mappings", unbind, 1 },
	{ "remove under open files and mappings", remove_rescan, 1 },
	{ "unbind under the render node's jobs", jobs, 1 },
	{ "the other GPU stays", other_gpu, 2 },
	{ "remove and rescan under load", under_load, 1 },
};

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "button"))
		return campaign();
	if (argc == 2 && !strcmp(argv[1], "surprise")) {
		may_lose = true;
		return campaign();
	}
	return tap_main(TAP_CASES(cases), argc, argv);
}
