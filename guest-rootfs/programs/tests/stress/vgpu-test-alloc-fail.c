// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * This program lets each allocation in a system call fail once (every_site()). Catches: the kernel
 * crashes; memory leaks; a lock stays held; a call that fails takes effect in part. The tests need
 * a kernel with fault injection.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <drm/amdgpu_drm.h>

#include "render.h"
#include "tap.h"

#define DEBUGFS "/sys/kernel/debug"

enum { MAX_SITES = 5000 };

static struct vg vg;
static struct vg_gpu *gpu;
/* File /proc/thread-self/fail-nth, opened before injection begins, because open() allocates. */
static int nth_fd;

static bool put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	bool good = fd >= 0 &&
		    write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return good;
}

/* Let fail-nth apply to every allocation, and let the kernel print nothing when one fails. */
static void fault_injection(void)
{
	static const char * const settings[][2] = {
		{ DEBUGFS "/failslab/ignore-gfp-wait", "N" },
		{ DEBUGFS "/failslab/verbose", "0" },
		{ DEBUGFS "/fail_page_alloc/ignore-gfp-wait", "N" },
		{ DEBUGFS "/fail_page_alloc/ignore-gfp-highmem", "N" },
		{ DEBUGFS "/fail_page_alloc/min-order", "0" },
		{ DEBUGFS "/fail_page_alloc/verbose", "0" },
	};
	unsigned int i;

	if (access("/proc/thread-self/fail-nth", W_OK))
		tap_skip("this kernel has no fault injection");
	for (i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		CHECK(put(settings[i][0], settings[i][1]), "%s",
		      settings[i][0]);
}

static void open_nth(void)
{
	nth_fd = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	CHECK(nth_fd >= 0, "fail-nth: %s", strerror(errno));
}

static void start(void)
{
	fault_injection();
	open_nth();
	tap_open(&vg, 1);
	gpu = &vg.gpu[0];
}

/*
 * Make one allocation fail: the @n-th that this thread makes after this call. With @n = 0,
 * no allocation fails.
 */
static void fail_nth(unsigned int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", n);

	CHECK(pwrite(nth_fd, text, (size_t)len, 0) == len, "fail-nth");
}

/* Return true if an allocation has failed since the last call of fail_nth(). */
static bool failed_one(void)
{
	char text[16] = "";

	CHECK(pread(nth_fd, text, sizeof(text) - 1, 0) > 0, "fail-nth");
	return !atoi(text);
}

/* every_site() calls this function before each attempt, unless it is NULL. */
static void (*prepare)(void);

/*
 * Repeat @call until no allocation fails: attempt n makes the n-th allocation fail. @undo undoes a
 * successful @call.
 */
static void every_site(const char *name, int (*call)(void), void (*undo)(void),
		       int other_error)
{
	unsigned int n, refused = 0;
	bool failed;
	int r;

	for (n = 1; n < MAX_SITES; n++) {
		if (prepare)
			prepare();
		fail_nth(n);
		r = call();
		failed = failed_one();
		fail_nth(0);
		CHECK(!r || failed, "%s: %d (%s) without a failure", name, r,
		      strerror(-r));
		CHECK(!r || r == -ENOMEM || r == other_error,
		      "%s: %d (%s) when allocation %u fails", name, r,
		      strerror(-r), n);
		refused += r != 0;
		if (!r && undo)
			undo();
		if (!failed)
			break;
	}
	CHECK(n < MAX_SITES, "%s: more than %u allocations", name, n);
	tap_diag("%s: %u allocations, %u made it fail", name, n - 1, refused);
}

/* Ioctls of KFD */

static struct kfd_ioctl_alloc_memory_of_gpu_args alloc_args;
static struct vg_bo bo, other;
static uint64_t alloc_size;
static uint32_t alloc_flags;

static int call_alloc(void)
{
	alloc_args = (struct kfd_ioctl_alloc_memory_of_gpu_args) {
		.va_addr = 0x7000000000, .size = alloc_size,
		.gpu_id = gpu->gpu_id, .flags = alloc_flags,
	};
	return tap_ioctl(vg.kfd, AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, &alloc_args);
}

static void undo_alloc(void)
{
	struct kfd_ioctl_free_memory_of_gpu_args args = {
		.handle = alloc_args.handle,
	};

	ERRNO(0, tap_ioctl(vg.kfd, AMDKFD_IOC_FREE_MEMORY_OF_GPU, &args));
}

/*
 * ALLOC may return -EFAULT instead of -ENOMEM if the failed allocation was for the handle, as in
 * amdkfd.
 */
static void allocate(void)
{
	static const uint64_t sizes[] = { VG_PAGE, 3 * VG_MIB - VG_PAGE };
	unsigned int i;

	start();
	for (i = 0; i < 2; i++) {
		alloc_size = sizes[i];
		alloc_flags = VG_VRAM;
		every_site("VRAM", call_alloc, undo_alloc, -EFAULT);
		alloc_flags = VG_VRAM | KFD_IOC_ALLOC_MEM_FLAGS_CONTIGUOUS;
		every_site("contiguous VRAM", call_alloc, undo_alloc, -EFAULT);
		alloc_flags = VG_GTT;
		every_site("GTT", call_alloc, undo_alloc, -EFAULT);
	}
}

static int call_map(void)
{
	struct kfd_ioctl_map_memory_to_gpu_args args = {
		.handle = bo.handle,
		.device_ids_array_ptr = (uintptr_t)&gpu->gpu_id,
		.n_devices = 1,
	};

	return tap_ioctl(vg.kfd, AMDKFD_IOC_MAP_MEMORY_TO_GPU, &args);
}

static int call_unmap(void)
{
	struct kfd_ioctl_unmap_memory_from_gpu_args args = {
		.handle = bo.handle,
		.device_ids_array_ptr = (uintptr_t)&gpu->gpu_id,
		.n_devices = 1,
	};

	return tap_ioctl(vg.kfd, AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU, &args);
}

static void undo_map(void)
{
	ERRNO(0, call_unmap());
}

static void undo_unmap(void)
{
	ERRNO(0, call_map());
}

static void map(void)
{
	start();
	OK(vg_bo_alloc(&vg, gpu, 3 * VG_MIB, VG_VRAM, &bo));
	every_site("map", call_map, undo_map, 0);
	ERRNO(0, call_map());
	every_site("unmap", call_unmap, undo_unmap, 0);
	ERRNO(0, call_unmap());
	OK(vg_bo_free(&bo));
}

static struct kfd_ioctl_create_queue_args queue_args;

static int call_queue(void)
{
	queue_args = (struct kfd_ioctl_create_queue_args) {
		.ring_base_address = bo.va,
		.ring_size = VG_PAGE,
		.read_pointer_address = other.va,
		.write_pointer_address = other.va + 64,
		.gpu_id = gpu->gpu_id,
		.queue_type = KFD_IOC_QUEUE_TYPE_SDMA,
		.queue_percentage = 100,
	};
	return tap_ioctl(vg.kfd, AMDKFD_IOC_CREATE_QUEUE, &queue_args);
}

static int call_destroy_queue(void)
{
	struct kfd_ioctl_destroy_queue_args args = {
		.queue_id = queue_args.queue_id,
	};

	return tap_ioctl(vg.kfd, AMDKFD_IOC_DESTROY_QUEUE, &args);
}

static void undo_queue(void)
{
	ERRNO(0, call_destroy_queue());
}

static void undo_destroy_queue(void)
{
	ERRNO(0, call_queue());
}

static void queue(void)
{
	start();
	OK(vg_bo_create(&vg, gpu, VG_PAGE, VG_GTT, &bo));
	OK(vg_bo_create(&vg, gpu, VG_PAGE, VG_GTT, &other));
	memset(other.cpu, 0, VG_PAGE);
	every_site("create a queue", call_queue, undo_queue, 0);
	ERRNO(0, call_queue());
	every_site("destroy a queue", call_destroy_queue, undo_destroy_queue,
		   0);
	ERRNO(0, call_destroy_queue());
	OK(vg_bo_free(&bo));
	OK(vg_bo_free(&other));
}

/*
 * The functions below fill VRAM with BOs. An allocation in VRAM then evicts BOs. Mapping an evicted
 * BO brings the BO back to VRAM, and evicts other BOs.
 */

static struct vg_bo *filler;
static int n_filler;

/*
 * Create BOs with known contents until one of them evicts another one. Then all BOs but one
 * fit into VRAM.
 */
static void fill_vram(void)
{
	uint64_t before = tap_driver_counter(gpu, "evictions");
	struct vg_mem_info info;
	int max;

	OK(vg_mem_info(gpu, &info));
	max = (int)(info.vram_total / (8 * VG_MIB)) + 1;
	filler = calloc((size_t)max, sizeof(*filler));
	for (n_filler = 0; tap_driver_counter(gpu, "evictions") == before;
	     n_filler++) {
		CHECK(n_filler < max, "no eviction");
		OK(vg_bo_create(&vg, gpu, 8 * VG_MIB, VG_VRAM,
				&filler[n_filler]));
		vg_pattern_fill(filler[n_filler].cpu, VG_PAGE,
				(uint64_t)n_filler, 0);
	}
}

static void check_filler(void)
{
	int i;

	for (i = 0; i < n_filler; i++)
		OK(vg_pattern_check(filler[i].cpu, VG_PAGE, (uint64_t)i, 0));
}

static void free_filler(void)
{
	int i;

	for (i = 0; i < n_filler; i++)
		OK(vg_bo_free(&filler[i]));
	free(filler);
}

/* Move all BOs except the first to VRAM, so that VRAM has no space for the first BO. */
static void evict_first(void)
{
	static bool backwards;
	int i;

	for (i = 1; i < n_filler; i++) {
		struct vg_bo *b = &filler[backwards ? n_filler - i : i];

		OK(vg_bo_map_gpu(b));
		OK(vg_bo_unmap_gpu(b));
	}
	/*
	 * Alternate the order: a map evicts the BO that was mapped longest ago, so in a fixed order
	 * each map would evict the next BO to be mapped.
	 */
	backwards = !backwards;
}

/* every_site(), and check that BOs were evicted and that all BOs kept their contents. */
static void every_site_evicts(const char *name, int (*call)(void),
			      void (*undo)(void), int other_error)
{
	uint64_t before = tap_driver_counter(gpu, "evictions");

	every_site(name, call, undo, other_error);
	CHECK(tap_driver_counter(gpu, "evictions") > before, "%s: no eviction",
	      name);
	check_filler();
}

static void evict(void)
{
	int i;

	start();
	fill_vram();
	for (i = 0; i < n_filler; i++)
		OK(vg_bo_unmap_gpu(&filler[i]));
	prepare = evict_first;
	alloc_size = 9 * VG_MIB;
	alloc_flags = VG_VRAM;
	every_site_evicts("VRAM by eviction", call_alloc, undo_alloc, -EFAULT);
	bo = filler[0];
	every_site_evicts("eviction and return", call_map, undo_map, 0);
	free_filler();
}

/* Swap a BO out by lowering TTM's limit; the next map of the BO must swap it in. */

#define PAGES_LIMIT	"/sys/module/ttm/parameters/pages_limit"

static char pages_limit[32];

static void swap_out(void)
{
	uint64_t before = tap_driver_counter(gpu, "swapouts");
	struct vg_bo one;

	/*
	 * Bring the BO back into memory in case the previous call of this function has swapped
	 * it out. Do so by a GPU mapping, because the driver spares a BO for some time after a CPU
	 * fault has brought it back.
	 */
	OK(vg_bo_map_gpu(&bo));
	OK(vg_bo_unmap_gpu(&bo));
	CHECK(put(PAGES_LIMIT, "1"), PAGES_LIMIT);
	OK(vg_bo_alloc(&vg, gpu, VG_PAGE, VG_GTT, &one));
	CHECK(put(PAGES_LIMIT, pages_limit), PAGES_LIMIT);
	OK(vg_bo_free(&one));
	CHECK(tap_driver_counter(gpu, "swapouts") > before,
	      "nothing was swapped out");
}

static void swap(void)
{
	int fd = open(PAGES_LIMIT, O_RDONLY);

	start();
	CHECK(fd >= 0 && read(fd, pages_limit, sizeof(pages_limit) - 1) > 0,
	      PAGES_LIMIT);
	OK(vg_bo_alloc(&vg, gpu, VG_MIB, VG_GTT, &bo));
	OK(vg_bo_map_cpu(&bo));
	vg_pattern_fill(bo.cpu, VG_MIB, 5, 0);
	prepare = swap_out;
	every_site("map what is swapped out", call_map, undo_map, 0);
	OK(vg_pattern_check(bo.cpu, VG_MIB, 5, 0));
	OK(vg_bo_free(&bo));
}

/* The render node */

static uint32_t gem_handle;
static uint64_t gem_domain;

static int call_gem(void)
{
	return vr_gem_create(gpu->fd, VG_MIB, gem_domain, 0, &gem_handle);
}

static void undo_gem(void)
{
	tap_gem_close(gpu->fd, gem_handle);
}

static void render_node(void)
{
	start();
	gem_domain = AMDGPU_GEM_DOMAIN_VRAM;
	every_site("GEM, VRAM", call_gem, undo_gem, 0);
	gem_domain = AMDGPU_GEM_DOMAIN_GTT;
	every_site("GEM, GTT", call_gem, undo_gem, 0);
	gem_domain = AMDGPU_GEM_DOMAIN_CPU;
	every_site("GEM, CPU", call_gem, undo_gem, 0);
}

/*
 * An allocation fails in a page fault of the CPU. The process must not get a signal. The CPU
 * must repeat the access, and the repeated access must succeed.
 */

static int call_touch(void)
{
	*(volatile char *)bo.cpu = 1;
	return 0;
}

/* Map the BO of 2 MiB again, so that the next page fault must allocate a page table. */
static void map_anew(void)
{
	OK(vg_bo_unmap_cpu(&bo));
	OK(vg_bo_map_cpu(&bo));
}

static void touch(void)
{
	static const uint32_t kinds[] = { VG_VRAM, VG_GTT };
	unsigned int i;

	start();
	prepare = map_anew;
	for (i = 0; i < 2; i++) {
		OK(vg_bo_create(&vg, gpu, 2 * VG_MIB, kinds[i], &bo));
		every_site(i ? "touch GTT" : "touch VRAM", call_touch, NULL, 0);
		OK(vg_bo_free(&bo));
	}
}

/* Files of a new KFD process: /dev/kfd and the render node for ACQUIRE_VM */

static int fresh_kfd, fresh_node;

static int call_open(void)
{
	fresh_kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
	return fresh_kfd < 0 ? -errno : 0;
}

static int call_acquire(void)
{
	struct kfd_ioctl_acquire_vm_args args = {
		.gpu_id = gpu->gpu_id, .drm_fd = (uint32_t)fresh_node,
	};

	return tap_ioctl(fresh_kfd, AMDKFD_IOC_ACQUIRE_VM, &args);
}

/* Runs in a child, because only a process's first open() of /dev/kfd creates a KFD process. */
static void newcomer(void *arg)
{
	unsigned int n = *(unsigned int *)arg;
	int r;

	open_nth();
	fail_nth(n);
	r = call_open();
	if (!r)
		r = call_acquire();
	fail_nth(0);
	_exit(r == 0 || r == -ENOMEM ? 0 : 1);
}

static void newcomers(void)
{
	char path[40];
	unsigned int n;

	fault_injection();
	OK(vg_open_bare(&vg));
	gpu = &vg.gpu[0];
	for (n = 1; n <= 60; n++) {
		snprintf(path, sizeof(path), "/dev/dri/renderD%d", gpu->minor);
		fresh_node = open(path, O_RDWR | O_CLOEXEC);
		CHECK(fresh_node >= 0, "%s", path);
		tap_in_child(newcomer, &n);
		close(fresh_node);
	}
}

static const struct tap_case cases[] = {
	{ "allocate", allocate, 0 },
	{ "map and unmap", map, 0 },
	{ "queues", queue, 0 },
	{ "evict and bring back", evict, 0 },
	{ "swap", swap, 0 },
	{ "render node", render_node, 0 },
	{ "page faults", touch, 0 },
	{ "new processes", newcomers, 0 },
};

int main(int argc, char **argv)
{
	return tap_main(TAP_CASES(cases), argc, argv);
}
