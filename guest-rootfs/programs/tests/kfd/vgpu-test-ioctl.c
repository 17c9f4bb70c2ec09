// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Ioctls of /dev/kfd with wrong arguments must return the errno that amdgpu returns, and must have
 * no side effects. Catches: a check of an argument is missing, comes after a side effect, or
 * returns another errno.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

/* An errno that is internal to the kernel; amdgpu returns it to user space nevertheless. */
#define ENOTSUPP	524
#define BAD_GPU		0xdeadu
#define KERNEL_VA	0xffff888000000000ull

static void get_version(void)
{
	struct vg vg;

	tap_open(&vg, -1);
	CHECK(vg.major == KFD_IOCTL_MAJOR_VERSION, "major %u", vg.major);
	CHECK(vg.minor >= 17 && vg.minor <= KFD_IOCTL_MINOR_VERSION,
	      "minor %u", vg.minor);
}

static void unknown_ioctls(void)
{
	struct vg vg;
	char buf[256] = { 0 };

	tap_open(&vg, -1);
	ERRNO(ENOTTY, tap_ioctl(vg.kfd, _IOWR('K', 0x00, char[8]), buf));
	ERRNO(ENOTTY, tap_ioctl(vg.kfd, _IOWR('K', 0x7f, char[8]), buf));
	ERRNO(ENOTTY, tap_ioctl(vg.kfd, _IOWR('K', 0x84, char[8]), buf));
	ERRNO(ENOTTY, tap_ioctl(vg.kfd, _IOWR('F', 0x85, char[8]), buf));
	/* This GPU does not support PC sampling. */
	ERRNO(EOPNOTSUPP, tap_ioctl(vg.kfd, _IOWR('K', 0x85, char[40]), buf));
	ERRNO(EFAULT, tap_ioctl(vg.kfd, AMDKFD_IOC_SET_XNACK_MODE, (void *)8));
	ERRNO(EFAULT, tap_ioctl(vg.kfd, AMDKFD_IOC_GET_VERSION, NULL));
}

/*
 * An older user space passes a smaller structure. The kernel must treat the members that are
 * missing at the structure's end as zero.
 */
static void short_structures(void)
{
	struct { uint32_t major; } v = { 0 };
	struct vg vg;

	tap_open(&vg, -1);
	ERRNO(0, tap_ioctl(vg.kfd, _IOR('K', 0x01, v), &v));
	CHECK(v.major == 1, "major %u", v.major);
	/* The kernel must copy out only as many bytes as the caller's ioctl number specifies. */
	uint32_t guard[4] = { 0, 0x1234, 0x1234, 0x1234 };

	ERRNO(0, tap_ioctl(vg.kfd, _IOR('K', 0x01, uint32_t), guard));
	CHECK(guard[1] == 0x1234, "wrote beyond the caller's structure");
}

static void on_alarm(int sig)
{
	(void)sig;
}

/*
 * Open KFD with signals every @interval us; after EINTR, again without signals. Exit status: 0
 * (opened at once), 1 (opened after EINTR), above 1 (error).
 */
static void interrupted_child(int interval)
{
	struct itimerval storm = { { 0, interval }, { 0, interval } };
	struct sigaction action = { .sa_handler = on_alarm };
	int fd, status = 0;

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &storm, NULL);
	fd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		status = errno == EINTR ? 1 : 2;
	memset(&storm, 0, sizeof(storm));
	setitimer(ITIMER_REAL, &storm, NULL);
	if (fd < 0 && open("/dev/kfd", O_RDWR | O_CLOEXEC) < 0)
		status = 3;
	_exit(status);
}

/*
 * Catches: an interrupted open() of /dev/kfd leaves a half-created KFD process, or puts a reference
 * twice (the debug kernel detects this).
 */
static void interrupted_open(void)
{
	int i, status, interrupted = 0;
	pid_t pid;

	for (i = 0; i < 200; i++) {
		pid = fork();
		CHECK(pid >= 0, "fork");
		if (!pid)
			interrupted_child(50 + i * 20);
		CHECK(waitpid(pid, &status, 0) == pid, "waitpid");
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) < 2,
		      "interrupted open: status 0x%x", status);
		interrupted += WEXITSTATUS(status);
	}
	tap_diag("%d of 200 were interrupted", interrupted);
}

static void inherited_file(void)
{
	struct kfd_ioctl_get_version_args args = { 0 };
	struct vg vg;
	int status;
	pid_t pid;

	tap_open(&vg, -1);
	pid = fork();
	CHECK(pid >= 0, "fork");
	if (!pid)
		_exit(-tap_ioctl(vg.kfd, AMDKFD_IOC_GET_VERSION, &args));
	CHECK(waitpid(pid, &status, 0) == pid, "waitpid");
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == EBADF,
	      "a child using its parent's file got status 0x%x, not EBADF",
	      status);
	ERRNO(0, tap_ioctl(vg.kfd, AMDKFD_IOC_GET_VERSION, &args));
}

static void acquire_vm(void)
{
	struct kfd_ioctl_acquire_vm_args args;
	struct vg_gpu *gpu;
	struct vg vg;
	char path[64];
	int other;

	OK(vg_open_bare(&vg));
	gpu = &vg.gpu[0];
	args = (struct kfd_ioctl_acquire_vm_args) { 9999, gpu->gpu_id };
	ERRNO(EINVAL, tap_ioctl(vg.kfd, AMDKFD_IOC_ACQUIRE_VM, &args));
	args.drm_fd = vg.kfd;
	ERRNO(EINVAL, tap_ioctl(vg.kfd, AMDKFD_IOC_ACQUIRE_VM, &args));
	args.drm_fd = gpu->fd;
	args.gpu_id = BAD_GPU;
	ERRNO(EINVAL, tap_ioctl(vg.kfd, AMDKFD_IOC_ACQUIRE_VM, &args));
	OK(vg_acquire_vm(&vg, gpu));
	/* ROCr acquires the VM a second time with the same file, so a second call must succeed. */
	OK(vg_acquire_vm(&vg, gpu));
	snprintf(path, sizeof(path), "/dev/dri/renderD%d", gpu->minor);
	other = open(path, O_RDWR | O_CLOEXEC);
	CHECK(other >= 0, "open %s", path);
	args = (struct kfd_ioctl_acquire_vm_args) { other, gpu->gpu_id };
	ERRNO(EBUSY, tap_ioctl(vg.kfd, AMDKFD_IOC_ACQUIRE_VM, &args));
}

static void before_acquire_vm(void)
{
	struct kfd_ioctl_alloc_memory_of_gpu_args alloc = {
		.va_addr = 0x10000000, .size = VG_PAGE, .flags = VG_GTT,
	};
	struct kfd_ioctl_create_queue_args queue = {
		.ring_size = 4096, .queue_type = KFD_IOC_QUEUE_TYPE_SDMA,
		.ring_base_address = 0x10000000,
		.read_pointer_address = 0x10001000,
		.write_pointer_address = 0x10001008,
	};
	struct kfd_ioctl_set_memory_policy_args policy = { 0 };
	struct vg vg;

	OK(vg_open_bare(&vg));
	alloc.gpu_id = queue.gpu_id = policy.gpu_id = vg.gpu[0].gpu_id;
	ERRNO(ENODEV, tap_ioctl(vg.kfd, AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, &alloc));
	ERRNO(ESRCH, tap_ioctl(vg.kfd, AMDKFD_IOC_CREATE_QUEUE, &queue));
	ERRNO(ESRCH, tap_ioctl(vg.kfd, AMDKFD_IOC_SET_MEMORY_POLICY, &policy));
}

static void memory_policy(void)
{
	struct kfd_ioctl_set_memory_policy_args args = { 0 };
	struct vg vg;

	tap_open(&vg, -1);
	args.gpu_id = BAD_GPU;
	ERRNO(EINVAL, tap_ioctl(vg.kfd, AMDKFD_IOC_SET_MEMORY_POLICY, &args));
	args.gpu_id = vg.gpu[0].gpu_id;
	args.default_policy = 2;
	ERRNO(EINVAL, tap_ioctl(vg.kfd, AMDKFD_IOC_SET_MEMORY_POLICY, &args));
	args.default_policy = 0;
	args.alternate_policy = 2;
	ERRNO(EINVAL, tap_ioctl(vg.kfd, AMDKFD_IOC_SET_MEMORY_POLICY, &args));
}

static void apertures(void)
{
	struct kfd_ioctl_get_process_apertures_new_args args = { 0 };
	struct kfd_process_device_apertures *pa;
	struct vg vg;

	tap_open(&vg, -1);
	pa = &vg.gpu[0].aperture;
	CHECK(pa->gpuvm_base && pa->gpuvm_limit >= (1ull << 47) - 1,
	      "GPU VM aperture 0x%llx..0x%llx", pa->gpuvm_base,
	      pa->gpuvm_limit);
	CHECK(pa->lds_base >> 32 && pa->scratch_base > pa->lds_limit,
	      "LDS at 0x%llx, scratch at 0x%llx", pa->lds_base,
	      pa->scratch_base);
	ERRNO(0, tap_ioctl(vg.kfd, AMDKFD_IOC_GET_PROCESS_APERTURES_NEW, &args));
	CHECK(args.num_of_nodes == (unsigned int)vg.n_gpus,
	      "%u apertures for %d GPUs", args.num_of_nodes, vg.n_gpus);
	args.kfd_process_device_apertures_ptr = 8;
	ERRNO(EFAULT, tap_ioctl(vg.kfd, AMDKFD_IOC_GET_PROCESS_APERTURES_NEW, &args));
	args.num_of_nodes = 1000000;
	ERRNO(EINVAL, tap_ioctl(vg.kfd, AMDKFD_IOC_GET_PROCESS_APERTURES_NEW, &args));
}

static int try_queue(struct vg *vg, struct kfd_ioctl_create_queue_args args)
{
	return tap_ioctl(vg->kfd, AMDKFD_IOC_CREATE_QUEUE, &args);
}

static void create_queue(void)
{
	struct kfd_ioctl_create_queue_args good, bad;
	struct vg_bo ring = { 0 }, ptrs = { 0 };
	struct vg vg;

	tap_open(&vg, -1);
	OK(vg_bo_create(&vg, &vg.gpu[0], 4096, VG_GTT, &ring));
	OK(vg_bo_create(&vg, &vg.gpu[0], 4096, VG_GTT, &ptrs));
	good = (struct kfd_ioctl_create_queue_args) {
		.ring_base_address = ring.va, .ring_size = 4096,
		.read_pointer_address = ptrs.va,
		.write_pointer_address = ptrs.va + 64,
		.gpu_id = vg.gpu[0].gpu_id, .queue_percentage = 100,
		.queue_type = KFD_IOC_QUEUE_TYPE_SDMA, .queue_priority = 7,
	};
#define BAD(err, member, value)						\
	do {								\
		bad = good;						\
		bad.member = (value);					\
		ERRNO(err, try_queue(&vg, bad));			\
	} while (0)
	BAD(EINVAL, queue_percentage, 101);
	BAD(EINVAL, queue_priority, 16);
	BAD(EINVAL, ring_size, 4095);
	BAD(EINVAL, ring_size, 8192);		/* the ring's BO has only 4096 bytes */
	BAD(EFAULT, ring_base_address, KERNEL_VA);
	BAD(EFAULT, read_pointer_address, KERNEL_VA);
	BAD(EFAULT, write_pointer_address, KERNEL_VA);
	BAD(EINVAL, ring_base_address, 0x10000);	/* no BO is mapped at this address */
	BAD(EINVAL, read_pointer_address, 0x10000);
	BAD(EINVAL, write_pointer_address, 0x10000);
	BAD(EINVAL, gpu_id, BAD_GPU);
	BAD(ENOTSUPP, queue_type, 99);
#undef BAD
	ERRNO(0, try_queue(&vg, good));
}

static void destroy_queue(void)
{
	struct kfd_ioctl_destroy_queue_args args = { .queue_id = 12345 };
	struct vg_queue q = { 0 };
	struct vg vg;

	tap_open(&vg, -1);
	ERRNO(EINVAL, tap_ioctl(vg.kfd, AMDKFD_IOC_DESTROY_QUEUE, &args));
	args.queue_id = 0xffffffff;
	ERRNO(EINVAL, tap_ioctl(vg.kfd, AMDKFD_IOC_DESTROY_QUEUE, &args));
	OK(vg_queue_create(&vg, &vg.gpu[0], 4096, &q));
	args.queue_id = q.id;
	ERRNO(EBUSY, vg_bo_unmap_gpu(&q.ring));
	ERRNO(EBUSY, vg_bo_unmap_gpu(&q.ptrs));
	OK(vg_copy(&q, (char *)q.ptrs.cpu + 2048, q.ptrs.cpu, 4));
	ERRNO(0, tap_ioctl(vg.kfd, AMDKFD_IOC_DESTROY_QUEUE, &args));
	ERRNO(EINVAL, tap_ioctl(vg.kfd, AMDKFD_IOC_DESTROY_QUEUE, &args));
}

static void xnack_mode(void)
{
	struct vg_queue q = { 0 };
	struct vg vg;

	tap_open(&vg, 1);
	ERRNO(1, -vg_set_xnack(&vg, -1));
	CHECK(vg_set_xnack(&vg, 0) == 0, "%s", vg_error());
	CHECK(vg_set_xnack(&vg, -1) == 0, "%s", vg_error());
	OK(vg_queue_create(&vg, &vg.gpu[0], 4096, &q));
	ERRNO(EBUSY, vg_set_xnack(&vg, 1));
	CHECK(vg_set_xnack(&vg, -1) == 0, "asking is allowed: %s", vg_error());
	OK(vg_queue_destroy(&q));
	CHECK(vg_set_xnack(&vg, 1) == 1, "%s", vg_error());
}

static void clock_and_memory(void)
{
	struct kfd_ioctl_get_available_memory_args mem = { .gpu_id = BAD_GPU };
	struct kfd_ioctl_get_clock_counters_args clk = { .gpu_id = BAD_GPU };
	uint64_t first, second;
	struct vg vg;

	tap_open(&vg, -1);
	/*
	 * clk.gpu_id is not the ID of a GPU. In this case amdgpu returns the clocks of the CPU and
	 * no GPU clock.
	 */
	ERRNO(0, tap_ioctl(vg.kfd, AMDKFD_IOC_GET_CLOCK_COUNTERS, &clk));
	CHECK(!clk.gpu_clock_counter && clk.cpu_clock_counter &&
	      clk.system_clock_freq == 1000000000, "clocks without a GPU");
	first = vg_gpu_clock(&vg, &vg.gpu[0]);
	vg_sleep_us(2000);
	second = vg_gpu_clock(&vg, &vg.gpu[0]);
	CHECK(first && second > first, "GPU clock %lu, then %lu", first,
	      second);
	ERRNO(EINVAL, tap_ioctl(vg.kfd, AMDKFD_IOC_AVAILABLE_MEMORY, &mem));
	mem.gpu_id = vg.gpu[0].gpu_id;
	ERRNO(0, tap_ioctl(vg.kfd, AMDKFD_IOC_AVAILABLE_MEMORY, &mem));
	CHECK(mem.available, "no memory is available");
}

static int try_svm(struct vg *vg, uint64_t start, uint64_t size, uint32_t op,
		   uint32_t nattr, unsigned int room, uint32_t type,
		   uint32_t value)
{
	struct {
		struct kfd_ioctl_svm_args args;
		struct kfd_ioctl_svm_attribute attr[4];
	} a = {
		.args = { .start_addr = start, .size = size, .op = op,
			  .nattr = nattr },
		.attr = { { type, value } },
	};

	return tap_ioctl(vg->kfd, _IOC(_IOC_READ | _IOC_WRITE, 'K',
				 _IOC_NR(AMDKFD_IOC_SVM),
				 sizeof(a.args) + room * sizeof(a.attr[0])),
		   &a);
}

static void svm(void)
{
	enum { SET = KFD_IOCTL_SVM_OP_SET_ATTR, GET = KFD_IOCTL_SVM_OP_GET_ATTR };
	const uint32_t gran = KFD_IOCTL_SVM_ATTR_GRANULARITY;
	uint64_t va;
	struct vg vg;

	tap_open(&vg, 1);
	va = (uintptr_t)vg_map_anon(16 * VG_PAGE);
	ERRNO(EINVAL, try_svm(&vg, va + 1, VG_PAGE, SET, 1, 1, gran, 9));
	ERRNO(EINVAL, try_svm(&vg, va, 100, SET, 1, 1, gran, 9));
	ERRNO(EINVAL, try_svm(&vg, 0, VG_PAGE, SET, 1, 1, gran, 9));
	ERRNO(EINVAL, try_svm(&vg, va, 0, SET, 1, 1, gran, 9));
	ERRNO(EINVAL, try_svm(&vg, va, VG_PAGE, 7, 1, 1, gran, 9));
	ERRNO(EINVAL, try_svm(&vg, va, VG_PAGE, SET, 1, 1, 99, 0));
	ERRNO(EINVAL, try_svm(&vg, va, VG_PAGE, GET, 1, 1, 99, 0));
	/* In the next two calls, nattr is 2 or more, but the argument has space for 1 attribute. */
	ERRNO(EINVAL, try_svm(&vg, va, VG_PAGE, SET, 2, 1, gran, 9));
	ERRNO(EINVAL, try_svm(&vg, va, VG_PAGE, SET, 0xffffffff, 1, gran, 9));
	ERRNO(EINVAL, try_svm(&vg, va, VG_PAGE, SET, 1, 1,
			      KFD_IOCTL_SVM_ATTR_PREFETCH_LOC, BAD_GPU));
	ERRNO(EINVAL, try_svm(&vg, va, VG_PAGE, SET, 1, 1,
			      KFD_IOCTL_SVM_ATTR_ACCESS, BAD_GPU));
	ERRNO(EINVAL, try_svm(&vg, va, VG_PAGE, GET, 1, 1,
			      KFD_IOCTL_SVM_ATTR_ACCESS, BAD_GPU));
	ERRNO(EFAULT, try_svm(&vg, 0x10000, VG_PAGE, SET, 1, 1, gran, 9));
	/* The range extends one page past the end of the memory mapping. */
	munmap((void *)(va + 8 * VG_PAGE), 8 * VG_PAGE);
	ERRNO(EFAULT, try_svm(&vg, va, 9 * VG_PAGE, SET, 1, 1, gran, 9));
	/* The end of the range would be 2^64, which is not a valid address. */
	int r = try_svm(&vg, va, -va, SET, 1, 1, gran, 9);

	CHECK(r == -EFAULT || r == -EOVERFLOW || r == -EINVAL,
	      "a range up to 2^64: %d", r);
	ERRNO(0, try_svm(&vg, va, 8 * VG_PAGE, SET, 1, 1, gran, 9));
}

static const struct tap_case cases[] = {
	{ "GET_VERSION", get_version, 0 },
	{ "unknown ioctls and bad pointers", unknown_ioctls, 0 },
	{ "structures of another size", short_structures, 0 },
	{ "open under a storm of signals", interrupted_open, 0 },
	{ "an inherited file is EBADF in the child", inherited_file, 0 },
	{ "ACQUIRE_VM", acquire_vm, 0 },
	{ "calls before ACQUIRE_VM", before_acquire_vm, 0 },
	{ "SET_MEMORY_POLICY", memory_policy, 0 },
	{ "GET_PROCESS_APERTURES_NEW", apertures, 0 },
	{ "CREATE_QUEUE", create_queue, 0 },
	{ "DESTROY_QUEUE and its buffers", destroy_queue, 0 },
	{ "SET_XNACK_MODE", xnack_mode, 0 },
	{ "GET_CLOCK_COUNTERS, AVAILABLE_MEMORY", clock_and_memory, 0 },
	{ "SVM", svm, 0 },
};

int main(int argc, char **argv)
{
	return tap_main(TAP_CASES(cases), argc, argv);
}
