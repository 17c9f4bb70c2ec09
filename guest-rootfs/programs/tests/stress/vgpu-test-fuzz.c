// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Give random ioctls, IBs and mappings to the render node, the primary node and /dev/kfd. Catches:
 * the kernel reports an error (KASAN, lockdep, refcounts); memory or handles leak; the device does
 * not work afterwards.
 *
 * VGPU_TEST_SEED sets the seed.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vgpu/sdma_packets.h>

#include "render.h"
#include "tap.h"

#define VA	0x200000000ull
#define VA_IB	0x8000000ull
#define LOCKUP	"/sys/module/vgpu_kfd/parameters/lockup_timeout"
#define PROCESSES	3
#define CALLS	1500	/* number of calls of each thread */

static struct vg vg;
static struct vg_gpu *gpu;
static __thread uint64_t rng;
/* The two threads of a process share these variables. */
static int fd, kfd;
static uint64_t seed;
static uint32_t scratch[1024];

static uint32_t rnd(void)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (uint32_t)(rng >> 16);
}

static uint32_t below(uint32_t n)
{
	return rnd() % n;
}

/* Return a 64-bit value at or near a boundary that an argument check may have. */
static uint64_t word(void)
{
	static const uint64_t odd[] = {
		0, 1, 2, 3, 4, 8, 4095, 4096, 8192, 0x10000, 0x200000,
		0x7fffffff, 0x80000000, 0xffffffff, 0x100000000ull, VA, VA_IB,
		(1ull << 47) - 4096, 1ull << 47, 1ull << 48, ~0ull, ~0xfffull,
		1ull << 63,
	};

	switch (below(9)) {
	case 0:
	case 1:
		return below(10);	/* may be a valid DRM handle, ID or operation */
	case 8:
		/* a gpu_id; or a KFD handle: gpu_id in the high half, ID in the low half */
		return below(2) ? gpu->gpu_id :
				  (uint64_t)gpu->gpu_id << 32 | below(6);
	case 2:
		return (uintptr_t)&scratch[below(64)];
	case 3:
		return 1ull << below(64);
	case 4:
		return (uint64_t)rnd() << 32 | rnd();
	case 5:
		return VA + ((uint64_t)below(64) << 12);
	default:
		return odd[below(sizeof(odd) / sizeof(odd[0]))];
	}
}

static void fill(void *buf, size_t bytes)
{
	uint64_t w;
	size_t i;

	for (i = 0; i < bytes; i += 4) {
		w = word();
		memcpy((char *)buf + i, &w, bytes - i < 8 || below(2) ? 4 : 8);
	}
}

static const unsigned long requests[] = {
	DRM_IOCTL_AMDGPU_GEM_CREATE, DRM_IOCTL_AMDGPU_GEM_MMAP,
	DRM_IOCTL_AMDGPU_CTX, DRM_IOCTL_AMDGPU_BO_LIST, DRM_IOCTL_AMDGPU_CS,
	DRM_IOCTL_AMDGPU_INFO, DRM_IOCTL_AMDGPU_GEM_METADATA,
	DRM_IOCTL_AMDGPU_GEM_WAIT_IDLE, DRM_IOCTL_AMDGPU_GEM_VA,
	DRM_IOCTL_AMDGPU_GEM_VA, DRM_IOCTL_AMDGPU_WAIT_CS,
	DRM_IOCTL_AMDGPU_GEM_OP, DRM_IOCTL_AMDGPU_GEM_USERPTR,
	DRM_IOCTL_AMDGPU_WAIT_FENCES, DRM_IOCTL_AMDGPU_VM,
	DRM_IOCTL_AMDGPU_FENCE_TO_HANDLE, DRM_IOCTL_AMDGPU_SCHED,
	DRM_IOCTL_GEM_CLOSE, DRM_IOCTL_SYNCOBJ_CREATE,
	DRM_IOCTL_SYNCOBJ_DESTROY, DRM_IOCTL_SYNCOBJ_TRANSFER,
	DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL, DRM_IOCTL_SYNCOBJ_RESET,
	DRM_IOCTL_SYNCOBJ_WAIT, DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT,
	DRM_IOCTL_SYNCOBJ_QUERY, DRM_IOCTL_SYNCOBJ_SIGNAL,
	DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE,
	DRM_IOCTL_SYNCOBJ_EVENTFD, DRM_IOCTL_GEM_FLINK, DRM_IOCTL_GEM_OPEN,
	DRM_IOCTL_PRIME_HANDLE_TO_FD, DRM_IOCTL_PRIME_FD_TO_HANDLE,
	DRM_IOCTL_VERSION, DRM_IOCTL_GET_UNIQUE, DRM_IOCTL_GET_CLIENT,
	DRM_IOCTL_GET_CAP, DRM_IOCTL_SET_CLIENT_CAP, DRM_IOCTL_GET_MAGIC,
	DRM_IOCTL_AUTH_MAGIC, DRM_IOCTL_SET_MASTER, DRM_IOCTL_DROP_MASTER,
};

/*
 * Close the descriptors that random calls have opened, because they would fill the descriptor
 * table.
 */
static void close_new(void)
{
	int i, last = fd > kfd ? fd : kfd;

	for (i = last + 1; i < last + 16; i++)
		close(i);
}

/*
 * In most calls return a size that fits, otherwise a size that never fits, because sizes
 * in between would use up the memory. vgpu-test-shrinker tests sizes in between.
 */
static uint64_t bo_size(uint64_t word)
{
	return below(8) ? word & 0xffffff : word | 1ull << 40;
}

static void random_ioctl(void)
{
	unsigned long req = requests[below(sizeof(requests) /
					   sizeof(requests[0]))];
	char args[256];

	fill(args, sizeof(args));
	if (req == DRM_IOCTL_AMDGPU_GEM_CREATE) {
		union drm_amdgpu_gem_create *c = (void *)args;

		c->in.bo_size = bo_size(c->in.bo_size);
	} else if (req == DRM_IOCTL_AMDGPU_GEM_WAIT_IDLE) {
		((union drm_amdgpu_gem_wait_idle *)args)->in.timeout = 0;
	} else if (req == DRM_IOCTL_AMDGPU_WAIT_CS) {
		((union drm_amdgpu_wait_cs *)args)->in.timeout = 0;
	} else if (req == DRM_IOCTL_AMDGPU_WAIT_FENCES) {
		((union drm_amdgpu_wait_fences *)args)->in.timeout_ns = 0;
	} else if (req == DRM_IOCTL_SYNCOBJ_RESET ||
		   req == DRM_IOCTL_SYNCOBJ_SIGNAL) {
		/*
		 * Limit the count, because the DRM core allocates an array of this many
		 * entries, and the kernel warns if the array is too large.
		 */
		((struct drm_syncobj_array *)args)->count_handles &= 0xff;
	} else if (req == DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL ||
		   req == DRM_IOCTL_SYNCOBJ_QUERY) {
		((struct drm_syncobj_timeline_array *)args)->count_handles &=
			0xff;
	} else if (req == DRM_IOCTL_SYNCOBJ_WAIT) {
		((struct drm_syncobj_wait *)args)->count_handles &= 0xff;
		((struct drm_syncobj_wait *)args)->timeout_nsec = 0;
	} else if (req == DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT) {
		((struct drm_syncobj_timeline_wait *)args)->count_handles &=
			0xff;
		((struct drm_syncobj_timeline_wait *)args)->timeout_nsec = 0;
	} else if (req == DRM_IOCTL_AMDGPU_SCHED) {
		/*
		 * The ioctl changes the DRM file with the descriptor in.fd. Let the ioctl change
		 * only the file under test, not any other open DRM file.
		 */
		((union drm_amdgpu_sched *)args)->in.fd = (uint32_t)fd;
	}
	/*
	 * In some calls pass another argument size, as for another version of the
	 * structure.
	 */
	if (!below(8))
		req = _IOC(_IOC_DIR(req), _IOC_TYPE(req), _IOC_NR(req),
			   below(sizeof(args)));
	fill(scratch, sizeof(scratch));
	vr_ioctl(fd, req, below(50) ? args : (void *)8);
}

static const unsigned long kfd_requests[] = {
	AMDKFD_IOC_GET_VERSION, AMDKFD_IOC_CREATE_QUEUE,
	AMDKFD_IOC_DESTROY_QUEUE, AMDKFD_IOC_SET_MEMORY_POLICY,
	AMDKFD_IOC_GET_CLOCK_COUNTERS, AMDKFD_IOC_GET_PROCESS_APERTURES,
	AMDKFD_IOC_UPDATE_QUEUE, AMDKFD_IOC_CREATE_EVENT,
	AMDKFD_IOC_GET_PROCESS_APERTURES_NEW, AMDKFD_IOC_ACQUIRE_VM,
	AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, AMDKFD_IOC_ALLOC_MEMORY_OF_GPU,
	AMDKFD_IOC_FREE_MEMORY_OF_GPU, AMDKFD_IOC_MAP_MEMORY_TO_GPU,
	AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU, AMDKFD_IOC_GET_DMABUF_INFO,
	AMDKFD_IOC_IMPORT_DMABUF, AMDKFD_IOC_SVM, AMDKFD_IOC_SVM,
	AMDKFD_IOC_SET_XNACK_MODE, AMDKFD_IOC_CRIU_OP,
	AMDKFD_IOC_AVAILABLE_MEMORY, AMDKFD_IOC_EXPORT_DMABUF,
	AMDKFD_IOC_RUNTIME_ENABLE, AMDKFD_IOC_DBG_TRAP,
};

static void random_kfd(void)
{
	unsigned long req = kfd_requests[below(sizeof(kfd_requests) /
					       sizeof(kfd_requests[0]))];
	char args[512];

	fill(args, sizeof(args));
	if (req == AMDKFD_IOC_ALLOC_MEMORY_OF_GPU) {
		struct kfd_ioctl_alloc_memory_of_gpu_args *a = (void *)args;

		a->size = bo_size(a->size);
		if (below(8))
			a->gpu_id = gpu->gpu_id;
	} else if (req == AMDKFD_IOC_ACQUIRE_VM && below(4)) {
		struct kfd_ioctl_acquire_vm_args *a = (void *)args;

		a->drm_fd = (uint32_t)fd;
		a->gpu_id = gpu->gpu_id;
	} else if (req == AMDKFD_IOC_MAP_MEMORY_TO_GPU && below(2)) {
		struct kfd_ioctl_map_memory_to_gpu_args *a = (void *)args;

		a->device_ids_array_ptr = (uintptr_t)&gpu->gpu_id;
		a->n_devices = 1;
		a->n_success = 0;
	} else if (req == AMDKFD_IOC_SVM && below(4)) {
		struct kfd_ioctl_svm_args *a = (void *)args;

		a->start_addr = (uintptr_t)scratch & ~(VG_PAGE - 1);
		a->size = VG_PAGE * (1 + below(2));
		a->op &= 1;
		a->nattr &= 7;
		req += (8ul * a->nattr) << _IOC_SIZESHIFT;
	}
	/*
	 * In some calls, choose the ioctl number and the argument size at random. KFD may not
	 * have an ioctl of this number, or may expect another size.
	 */
	if (!below(8))
		req = _IOC(below(4), 'K', below(48), below(sizeof(args)));
	/*
	 * The random ioctl number may be the number of WAIT_EVENTS. Let WAIT_EVENTS return
	 * without waiting.
	 */
	if (_IOC_NR(req) == _IOC_NR(AMDKFD_IOC_WAIT_EVENTS))
		((struct kfd_ioctl_wait_events_args *)args)->timeout = 0;
	vr_ioctl(kfd, req, below(50) ? args : (void *)8);
}

/*
 * Call mmap() on the render node or /dev/kfd. The offset is random, or a BO's mmap offset plus 0 to
 * 2 pages, or an mmap offset of /dev/kfd.
 */
static void random_mmap(void)
{
	union drm_amdgpu_gem_mmap args = { .in.handle = 1 + below(8) };
	uint64_t at = word(), size = (1 + below(40)) * VG_PAGE;
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	void *p;

	if (!vr_ioctl(fd, DRM_IOCTL_AMDGPU_GEM_MMAP, &args) && below(4))
		at = args.out.addr_ptr + below(3) * VG_PAGE;
	else if (below(2))
		at = (uint64_t)below(4) << 62 | (uint64_t)gpu->gpu_id << 46;
	/*
	 * Choose a random size before mmap(), and use the same size for munmap(). A larger
	 * size in munmap() would unmap the IBs, which lie beside the mapping.
	 */
	if (!below(16))
		size = word();
	p = mmap(NULL, size, (int)below(4),
		 below(4) ? MAP_SHARED : MAP_PRIVATE, below(4) ? fd : kfd,
		 (off_t)(at & ~(VG_PAGE - 1)));
	if (p != MAP_FAILED) {
		/*
		 * Let the kernel access the mapping, so that a bad page raises no
		 * signal.
		 */
		if (read(zero, p, VG_PAGE) < 0)
			madvise(p, size, MADV_DONTNEED);
		munmap(p, size);
	}
	close(zero);
}

/* Emit known packets with random words. */
static void random_packets(struct vr_ib *ib)
{
	static const uint8_t ops[] = {
		SDMA_OP_NOP, SDMA_OP_COPY, SDMA_OP_WRITE, SDMA_OP_FENCE,
		SDMA_OP_TRAP, SDMA_OP_CONST_FILL, SDMA_OP_INDIRECT,
		SDMA_OP_ATOMIC, SDMA_OP_SRBM_WRITE, SDMA_OP_TIMESTAMP,
		SDMA_OP_PTEPDE, SDMA_OP_COND_EXE, SDMA_OP_POLL_REGMEM,
	};
	uint32_t dw[16];
	unsigned int i, n = 1 + below(8);

	ib->ndw = 0;
	for (i = 0; i < n; i++) {
		fill(dw, sizeof(dw));
		if (below(4))
			dw[0] = SDMA_PKT(ops[below(sizeof(ops))], 0) |
				(below(4) ? 0 : rnd() & 0xffffff00);
		vr_ib_emit(ib, dw, 1 + below(10));
	}
	if (below(2)) {
		/* In half of the calls, emit a valid packet instead. */
		ib->ndw = 0;
		vr_ib_write(ib, VA + 4 * below(4096), rnd());
	}
}

static void random_cs(uint32_t ctx, struct vr_ib *ib)
{
	uint32_t handles[4];
	struct vr_cs cs = {
		.ctx = below(8) ? ctx : (uint32_t)word(),
		.ring = below(8) ? below(2) : (uint32_t)word(),
		.ib = below(10) ? ib : NULL,
		.handles = below(8) ? handles : NULL,
		.n_handles = below(5),
		.bo_list = below(8) ? 0 : below(4),
	};
	unsigned int i, n = below(4);

	random_packets(ib);
	fill(scratch, sizeof(scratch));
	for (i = 0; i < 4; i++)
		handles[i] = below(8) ? 1 + below(4) : (uint32_t)word();
	for (i = 0; i < n; i++)
		vr_cs_chunk(&cs, below(16), &scratch[below(64)], below(100));
	vr_cs_submit(fd, &cs, NULL);
}

/*
 * IBs of the two threads. process() creates both IBs before the threads make random calls. A random
 * call could close the handle of an IB that is being created.
 */
static struct vr_ib ibs[2];

static void *nonsense(void *arg)
{
	uint64_t salt = (uintptr_t)arg + 1;
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	struct vr_ib *ib = &ibs[(uintptr_t)arg];
	uint32_t ctx;
	int i;

	rng = seed ^ salt * 0x9e3779b97f4a7c15ull;
	rng |= !rng;
	ERRNO(0, vr_ctx_alloc(fd, 0, &ctx));
	/*
	 * A random call may close the handle of the IB. random_cs() can still write packets to the
	 * IB, because the IB's CPU mapping stays.
	 */
	for (i = 0; i < CALLS; i++) {
		switch (below(12)) {
		case 0:
		case 1:
			random_cs(ctx, ib);
			break;
		case 2:
			vr_ctx_alloc(fd, 0, &ctx);
			vr_gem_va(fd, 1 + below(4), AMDGPU_VA_OP_REPLACE,
				  VR_MAP_RW, VA + below(64) * VG_PAGE, 0,
				  VG_PAGE * (1 + below(16)));
			break;
		case 3:
		case 4:
			random_kfd();
			break;
		case 5:
			random_mmap();
			poll(&poll_fd, 1, 0);
			break;
		default:
			random_ioctl();
		}
		if (!(i % 256))
			close_new();
	}
	return NULL;
}

static void process(unsigned int number)
{
	pthread_t other;
	char path[32];
	int i;

	/* Process 0 tests the primary node. Its minor number is 128 less than the render node's. */
	snprintf(path, sizeof(path), "/dev/dri/card%d", gpu->minor - 128);
	fd = number ? vr_open(gpu) : open(path, O_RDWR | O_CLOEXEC);
	CHECK(fd >= 0, "no node: %d", fd);
	kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
	CHECK(kfd >= 0, "/dev/kfd: %s", strerror(errno));
	seed = rng + number;
	for (i = 0; i < 2; i++)
		ERRNO(0, vr_ib_create(fd, VG_PAGE, VA_IB + i * VG_MIB,
				      &ibs[i]));
	CHECK(!pthread_create(&other, NULL, nonsense, (void *)1), "thread");
	nonsense(NULL);
	pthread_join(other, NULL);
	_exit(0);
}

static void still_works(void)
{
	uint32_t ctx;
	uint64_t seq;
	struct vr_ib ib;
	int ring;

	fd = vr_open(gpu);
	ERRNO(0, vr_ctx_alloc(fd, 0, &ctx));
	ERRNO(0, vr_ib_create(fd, VG_PAGE, VA_IB, &ib));
	for (ring = 0; ring < 2; ring++) {
		ib.ndw = 0;
		vr_ib_write(&ib, VA_IB + 2048, 0x600d + ring);
		ERRNO(0, vr_submit(fd, ctx, ring, &ib, &ib.bo.handle, 1, &seq));
		ERRNO(0, vr_wait(fd, ctx, ring, seq, ~0ull));
		CHECK(((volatile uint32_t *)ib.bo.cpu)[512] ==
		      0x600du + (uint32_t)ring, "the job did not run");
	}
	munmap(ib.bo.cpu, ib.bo.size);
	close(fd);
}

static void set_lockup(const char *ms)
{
	int f = open(LOCKUP, O_WRONLY);

	CHECK(f >= 0 && write(f, ms, strlen(ms)) > 0, LOCKUP);
	close(f);
}

static void fuzz(void)
{
	const char *again = getenv("VGPU_TEST_SEED");
	uint64_t failures, gave_up;
	struct vg_mem_info base;
	int round, i, status;
	pid_t pid[PROCESSES];

	OK(vg_open_bare(&vg));
	gpu = &vg.gpu[0];
	OK(vg_mem_info(gpu, &base));
	gave_up = tap_driver_counter(gpu, "recovery_failures");
	set_lockup("200");
	rng = again ? strtoull(again, NULL, 0) : vg_now() | 1;
	for (round = 0; tap_goes_on(round, 2); round++) {
		tap_diag("VGPU_TEST_SEED=%#lx", rng);
		for (i = 0; i < PROCESSES; i++) {
			pid[i] = fork();
			CHECK(pid[i] >= 0, "fork");
			if (!pid[i])
				process((unsigned int)i);
		}
		for (i = 0; i < PROCESSES; i++)
			CHECK(waitpid(pid[i], &status, 0) == pid[i] && !status,
			      "process %d ended with %#x", i, status);
		rnd();
	}
	OK(vg_mem_wait_freed(gpu, &base, VG_TIMEOUT_MS));
	/* Good jobs may take longer than the lockup timeout of 200 ms, so use a longer timeout. */
	set_lockup("10000");
	still_works();
	OK(vg_mem_wait_freed(gpu, &base, VG_TIMEOUT_MS));
	failures = tap_driver_counter(gpu, "recovery_failures");
	CHECK(failures == gave_up, "engines were given up");
}

static const struct tap_case cases[] = {
	{ "nonsense from three processes", fuzz, 1 },
};

int main(int argc, char **argv)
{
	return tap_main(TAP_CASES(cases), argc, argv);
}
