// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Unload and load the module. Catches: after the unload, memory stays allocated, a timer or worker
 * still runs, or an object stays registered; a load finds the device in an unexpected state.
 *
 * The argument is the number of rounds (default 5).
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/sync_file.h>

#include "render.h"
#include "tap.h"

#define MODULE "vgpu_kfd"
#define UNLOAD_MS (VG_TIMEOUT_MS / 3)

/*
 * Limit of the growth of kernel memory, in KiB: MAX_KIB, plus MAX_KIB_ROUND for each measured
 * round. The limit applies only to runs of at least ENOUGH rounds.
 */
#define MAX_KIB		64
#define MAX_KIB_ROUND	16
#define ENOUGH		50

#define EARLY_ROUNDS	3	/* of unload_early(); its first unload is not early */

static int rounds = 5;

static int unload(void)
{
	return syscall(SYS_delete_module, MODULE, O_NONBLOCK) ? -errno : 0;
}

static int load(void)
{
	int status = system("modprobe " MODULE);

	return status ? vg_fail(-EIO, "modprobe " MODULE " ended with 0x%x",
				status) : 0;
}

/*
 * Body of a child that uses the GPU through a BO, a queue, and SVM memory with pages in
 * VRAM.
 */
static void use(void *arg)
{
	struct vg_bo bo = { 0 };
	struct vg_queue q = { 0 };
	struct vg vg;
	char *p;

	(void)arg;
	tap_open(&vg, 1);
	OK(vg_queue_create(&vg, &vg.gpu[0], 4096, &q));
	OK(vg_bo_create(&vg, &vg.gpu[0], VG_MIB, VG_VRAM, &bo));
	p = vg_map_anon(VG_MIB);
	CHECK(p, "%s", vg_error());
	vg_pattern_fill(p, VG_MIB, 1, 0);
	OK(vg_copy(&q, bo.cpu, p, VG_MIB));
	OK(vg_pattern_check(bo.cpu, VG_MIB, 1, 0));
	OK(vg_svm_prefetch(&vg, p, VG_MIB, vg.gpu[0].gpu_id));
	OK(vg_fill(&q, p, 5, VG_MIB));
	OK(vg_fill_check(p, VG_MIB, 5));
}

/*
 * Retry the unload, because a process that has just ended may still hold a reference to
 * the module.
 */
static int unload_when_idle(void)
{
	uint64_t deadline = vg_now() + UNLOAD_MS * 1000000ull;
	int r;

	do {
		r = unload();
		if (r != -EAGAIN && r != -EBUSY && r != -EWOULDBLOCK)
			break;
		vg_sleep_us(2000);
	} while (vg_now() < deadline);
	return r;
}

/*
 * Return the size of the kernel memory that cannot be reclaimed, in KiB: slabs,
 * vmalloc(), page tables and per-CPU memory.
 */
static long kernel_kib(void)
{
	static const char *const names[] = {
		"SUnreclaim:", "VmallocUsed:", "PageTables:", "Percpu:",
	};
	char line[128], key[64];
	long value, sum = 0;
	unsigned int i;
	FILE *f = fopen("/proc/meminfo", "re");

	CHECK(f, "no /proc/meminfo");
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%63s %ld", key, &value) == 2)
			for (i = 0; i < sizeof(names) / sizeof(*names); i++)
				if (!strcmp(key, names[i]))
					sum += value;
	fclose(f);
	return sum;
}

/* Check that there are @n GPUs, each with the memory sizes and the memory usage of @base[i]. */
static void gpus_are_as(struct vg_mem_info *base, int n)
{
	struct vg_mem_info now;
	struct vg vg;
	int i;

	OK(vg_open_bare(&vg));
	CHECK(vg.n_gpus == n, "%d GPUs instead of %d", vg.n_gpus, n);
	for (i = 0; i < n; i++) {
		/* The driver frees memory asynchronously. */
		OK(vg_mem_wait_freed(&vg.gpu[i], &base[i], VG_TIMEOUT_MS));
		OK(vg_mem_info(&vg.gpu[i], &now));
		CHECK(!memcmp(&now, &base[i], sizeof(now)),
		      "GPU %d: VRAM %lu of %lu, GTT %lu of %lu; it was %lu of %lu, %lu of %lu",
		      i, now.vram_used, now.vram_total, now.gtt_used,
		      now.gtt_total, base[i].vram_used, base[i].vram_total,
		      base[i].gtt_used, base[i].gtt_total);
	}
	vg_close(&vg);
}

static void reload(void)
{
	struct vg_mem_info base[VG_MAX_GPUS];
	long before = 0, after;
	struct vg vg;
	int i, n;

	OK(vg_open_bare(&vg));
	n = vg.n_gpus;
	for (i = 0; i < n; i++)
		OK(vg_mem_info(&vg.gpu[i], &base[i]));
	vg_close(&vg);
	for (i = 0; i < rounds; i++) {
		/* Measure only after the first rounds, which fill the kernel's caches. */
		if (i == rounds / 2)
			before = kernel_kib();
		tap_in_child(use, NULL);
		gpus_are_as(base, n);
		ERRNO(0, unload_when_idle());
		CHECK(access("/dev/kfd", F_OK), "/dev/kfd is still there");
		CHECK(access("/sys/class/kfd", F_OK),
		      "/sys/class/kfd is still there");
		OK(load());
		CHECK(!access("/dev/kfd", F_OK), "/dev/kfd is not there");
		gpus_are_as(base, n);
	}
	after = kernel_kib();
	tap_diag("%d rounds; the kernel's own memory: %ld KiB after half of them, %ld KiB at the end",
		 rounds, before, after);
	/*
	 * In a short run, kernel caches (mainly KASAN's quarantine) still grow after half of the
	 * rounds. So the limit applies only from ENOUGH rounds on.
	 */
	CHECK(rounds < ENOUGH || after - before <
	      MAX_KIB + MAX_KIB_ROUND * (rounds - rounds / 2),
	      "%ld KiB more", after - before);
	tap_in_child(use, NULL);
}

/*
 * Catches: a module in use is unloaded; a failed unload disturbs the users of the
 * module.
 */
static void in_use(void)
{
	struct vg_queue q = { 0 };
	struct vg_bo bo = { 0 };
	struct vg vg;

	tap_open(&vg, 1);
	OK(vg_queue_create(&vg, &vg.gpu[0], 4096, &q));
	OK(vg_bo_create(&vg, &vg.gpu[0], VG_MIB, VG_VRAM, &bo));
	ERRNO(EAGAIN, unload());
	OK(vg_fill(&q, bo.cpu, 3, VG_MIB));
	OK(vg_fill_check(bo.cpu, VG_MIB, 3));
}

/* PCI names of the GPUs that unload_with_process() unbinds. */
static char names[VG_MAX_GPUS][VG_PCI_NAME];

static void unload_with_process(void *arg)
{
	int i, fd, n = *(int *)arg;

	for (i = 0; i < n; i++)
		OK(vg_pci_unbind(names[i]));
	fd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
	CHECK(fd >= 0, "cannot open /dev/kfd: %s", strerror(errno));
	close(fd);
	ERRNO(0, unload_when_idle());
	CHECK(access("/dev/kfd", F_OK), "/dev/kfd is still there");
	OK(load());
	for (i = 0; i < n; i++)
		CHECK(vg_pci_bound(names[i]), "%s is not bound", names[i]);
}

/*
 * A process opens and closes /dev/kfd while the driver has no GPU. The driver keeps a kfd_process
 * for this process, with a folder in debugfs. Catches: the module unload removes this folder, and
 * the kfd_process then removes the folder again.
 */
static void process_without_gpu(void)
{
	struct vg vg;
	int i, n;

	OK(vg_open_bare(&vg));
	n = vg.n_gpus;
	for (i = 0; i < n; i++)
		OK(vg_pci_name(&vg.gpu[i], names[i]));
	vg_close(&vg);
	tap_in_child(unload_with_process, &n);
	OK(vg_open_bare(&vg));
	CHECK(vg.n_gpus == n, "%d GPUs instead of %d", vg.n_gpus, n);
	vg_close(&vg);
	tap_in_child(use, NULL);
}

/* Return a sync file of the fence of a job that has completed. */
static int sync_file(const struct vg_gpu *gpu)
{
	const uint64_t va = 0x100000000ull;
	union drm_amdgpu_fence_to_handle args = { .in = {
		.fence = { .ip_type = AMDGPU_HW_IP_DMA },
		.what = AMDGPU_FENCE_TO_HANDLE_GET_SYNC_FILE_FD,
	} };
	struct vr_ib ib;
	uint64_t seq;
	uint32_t ctx;
	int fd = vr_open(gpu);

	CHECK(fd >= 0, "render node: %d", fd);
	ERRNO(0, vr_ctx_alloc(fd, 0, &ctx));
	ERRNO(0, vr_ib_create(fd, VG_PAGE, va, &ib));
	vr_ib_write(&ib, va + VG_PAGE / 2, 1);
	ERRNO(0, vr_submit(fd, ctx, 0, &ib, &ib.bo.handle, 1, &seq));
	ERRNO(0, vr_wait(fd, ctx, 0, seq, ~0ull));
	args.in.fence.ctx_id = ctx;
	args.in.fence.seq_no = seq;
	ERRNO(0, vr_ioctl(fd, DRM_IOCTL_AMDGPU_FENCE_TO_HANDLE, &args));
	vr_bo_free(&ib.bo);
	close(fd);
	return (int)args.out.handle;
}

/*
 * Unload the module while a sync file is open. (The file holds no reference to the module.)
 * Catches: the fence of a completed job still accesses the device or the module.
 */
static void fence_kept(void)
{
	struct sync_file_info before = { 0 }, after = { 0 };
	struct vg vg;
	int fd;

	OK(vg_open_bare(&vg));
	fd = sync_file(&vg.gpu[0]);
	vg_close(&vg);
	ERRNO(0, vr_ioctl(fd, SYNC_IOC_FILE_INFO, &before));
	ERRNO(0, unload_when_idle());
	ERRNO(0, vr_ioctl(fd, SYNC_IOC_FILE_INFO, &after));
	close(fd);
	OK(load());
	CHECK(after.status == 1, "status %d", after.status);
	CHECK(!strcmp(before.name, after.name), "fence %s was %s", after.name,
	      before.name);
	tap_in_child(use, NULL);
}

/*
 * Unload the module directly after a load, while a work item still makes the struct pages of VRAM.
 * Catches: the unload does not wait for the work item, which then accesses the freed state of the
 * GPU (KASAN); the unload waits for a work item that never runs.
 */
static void unload_early(void)
{
	int i;

	for (i = 0; i < EARLY_ROUNDS; i++) {
		ERRNO(0, unload_when_idle());
		OK(load());
	}
	tap_in_child(use, NULL);
}

static const struct tap_case cases[] = {
	{ "a module in use stays", in_use, 0 },
	{ "unload and load", reload, 1 },
	{ "unload directly after a load", unload_early, 1 },
	{ "unload under a sync file", fence_kept, 1 },
	{ "unload under a process that opened /dev/kfd without a GPU", process_without_gpu, 1 },
};

int main(int argc, char **argv)
{
	if (argc > 1 && atoi(argv[1]) > 0) {
		char seconds[16];

		rounds = atoi(argv[1]);
		/*
		 * The default time limit of a case is too short for many rounds on the slow
		 * debug kernel, so allow 10 s for each round.
		 */
		snprintf(seconds, sizeof(seconds), "%d", 10 * rounds);
		setenv("VGPU_TEST_SECONDS", seconds, 1);
		argc = 1;
	}
	return tap_main(TAP_CASES(cases), argc, argv);
}
