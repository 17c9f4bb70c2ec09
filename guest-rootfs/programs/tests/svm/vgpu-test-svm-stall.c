// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A GPU fault of one process waits for a file system that does not reply (slow-file.h).
 * Another process must continue while this fault waits.
 */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "slow-file.h"

#define SEED	0x57a11
#define BYTES	(64 * VG_KIB)
/* Number of slots of the device's retry CAM. Each faulting page occupies a slot. */
#define CAM_SLOTS	16
#define RING		4096
#define WORDS		64

static struct vg vg;
static struct vg_gpu *gpu;
static struct slow_file file;
static int to_beside[2], to_server[2];

/*
 * Start a child that runs @fn. The caller then serves the file (slow-file.h), that is, replies to
 * the child's reads.
 */
static pid_t start(void (*fn)(void))
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	CHECK(pid >= 0, "fork: %s", strerror(errno));
	if (!pid) {
		fn();
		_exit(0);
	}
	return pid;
}

/*
 * Let the GPU copy a page of the slow file (slow-file.h), and fault on this page. The file's server
 * delays the read of the page. The driver can repair the fault only after this read.
 */
static void stalled(void)
{
	struct vg_bo dst = { 0 };
	struct vg_queue q;
	char *src;

	close(to_server[1]);
	close(to_beside[0]);
	src = slow_file_map(&file);
	tap_open(&vg, 1);
	gpu = &vg.gpu[0];
	OK(vg_queue_create(&vg, gpu, 4096, &q));
	OK(vg_bo_create(&vg, gpu, VG_PAGE, VG_GTT, &dst));
	OK(vg_emit_copy(&q, dst.va, (uintptr_t)src, VG_PAGE));
	/*
	 * Wait longer than beside() in the other process: if both stall, beside() must fail first,
	 * because only its failure shows the bug.
	 */
	OK(vg_queue_finish(&q, 2 * VG_TIMEOUT_MS));
	OK(vg_pattern_check(dst.cpu, VG_PAGE, SEED, 0));
}

/*
 * Cause faults that the driver can repair without waiting for a file system: three times map
 * memory, let the GPU access it, and unmap it.
 */
static void beside(void)
{
	const int fds[2] = { to_beside[0], to_server[1] };
	struct vg_bo dst = { 0 };
	struct vg_queue q;
	unsigned int i;
	char *src;

	close(to_server[0]);
	close(to_beside[1]);
	slow_file_leave(&file);
	tap_open(&vg, 1);
	gpu = &vg.gpu[0];
	OK(vg_queue_create(&vg, gpu, 4096, &q));
	OK(vg_bo_create(&vg, gpu, BYTES, VG_GTT, &dst));
	tap_step(fds);
	tap_await(fds);
	for (i = 0; i < 3; i++) {
		src = tap_anon(BYTES);
		vg_pattern_fill(src, BYTES, SEED, i);
		OK(vg_copy(&q, dst.cpu, src, BYTES));
		OK(vg_pattern_check(dst.cpu, BYTES, SEED, i));
		vg_unmap_anon(src, BYTES);
	}
	tap_step(fds);
}

/*
 * Create as many queues as the CAM has slots. Each queue copies a different page of the file
 * that slow_file_map() maps, and faults on this page.
 */
static void stalled_queues(void)
{
	static struct vg_queue q[CAM_SLOTS];
	struct vg_bo dst = { 0 };
	uint32_t seq[CAM_SLOTS];
	unsigned int i;
	uint64_t at;
	char *src;

	close(to_server[1]);
	close(to_beside[0]);
	src = slow_file_map(&file);
	tap_open(&vg, 1);
	gpu = &vg.gpu[0];
	OK(vg_bo_create(&vg, gpu, CAM_SLOTS * VG_PAGE, VG_GTT, &dst));
	for (i = 0; i < CAM_SLOTS; i++) {
		at = i * VG_PAGE;
		OK(vg_queue_create(&vg, gpu, RING, &q[i]));
		OK(vg_emit_copy(&q[i], dst.va + at, (uintptr_t)src + at, VG_PAGE));
		OK(vg_emit_fence(&q[i], &seq[i]));
	}
	for (i = 0; i < CAM_SLOTS; i++)
		vg_queue_submit(&q[i]);
	for (i = 0; i < CAM_SLOTS; i++)
		OK(vg_wait(&q[i], seq[i], 2 * VG_TIMEOUT_MS));
	OK(vg_pattern_check(dst.cpu, CAM_SLOTS * VG_PAGE, SEED, 0));
}

/* Use a compute queue, because the other process uses all queues of the SDMA engines. */
static void beside_compute(void)
{
	const int fds[2] = { to_beside[0], to_server[1] };
	struct vg_bo save = { 0 };
	uint32_t data[WORDS];
	struct vg_cq q;
	unsigned int i;
	char *dst;

	close(to_server[0]);
	close(to_beside[1]);
	slow_file_leave(&file);
	tap_open(&vg, 1);
	gpu = &vg.gpu[0];
	OK(vg_save_area(&vg, gpu, KFD_IOC_ALLOC_MEM_FLAGS_VRAM, &save));
	OK(vg_cq_create(&vg, gpu, &save, RING, false, &q));
	tap_step(fds);
	tap_await(fds);
	for (i = 0; i < 3; i++) {
		dst = tap_anon(VG_PAGE);
		vg_pattern_fill(data, sizeof(data), SEED, i);
		OK(vg_pm4_write(&q, (uintptr_t)dst, data, WORDS));
		OK(vg_cq_finish(&q, VG_TIMEOUT_MS));
		OK(vg_pattern_check(dst, sizeof(data), SEED, i));
		vg_unmap_anon(dst, VG_PAGE);
	}
	tap_step(fds);
}

static uint64_t processes(void)
{
	struct vg_counters c;

	OK(vg_in_use(gpu, &c));
	return vg_counter(&c, "kfd_processes", NULL);
}

/* Wait until the driver has freed all but @n KFD processes. */
static void await_processes(uint64_t n)
{
	uint64_t end = vg_deadline();

	while (processes() != n) {
		CHECK(vg_now() < end, "%lu processes, not %lu: one does not end",
		      processes(), n);
		vg_sleep_us(1000);
	}
}

/* Wait until the counter of retry faults, which was @before, has grown by @n. */
static void await_faults(uint64_t before, uint64_t n)
{
	uint64_t end = vg_deadline();

	while (tap_driver_counter(gpu, "faults_retry") < before + n) {
		CHECK(vg_now() < end, "no fault");
		vg_sleep_us(1000);
	}
}

/*
 * Create the file, and start pid[0] with @fn and pid[1] with @other. GPU faults in @fn wait for the
 * file's pages.
 */
static void start_both(uint64_t bytes, void (*fn)(void), void (*other)(void),
		       pid_t pid[2], int fds[2])
{
	slow_file_make(&file, bytes, SEED);
	CHECK(!pipe(to_beside) && !pipe(to_server), "pipe: %s", strerror(errno));
	/* The caller reads from pid[1] through fds[0], and writes to pid[1] through fds[1]. */
	fds[0] = to_server[0];
	fds[1] = to_beside[1];
	pid[0] = start(fn);
	pid[1] = start(other);
	close(to_beside[0]);
	close(to_server[1]);
	OK(vg_open_bare(&vg));
	gpu = &vg.gpu[0];
}

/*
 * Catches: a stalled page-in for one process blocks another process, so that the other process can
 * neither fault nor end.
 */
static void goes_on(void)
{
	int fds[2];
	pid_t pid[2];

	start_both(VG_PAGE, stalled, beside, pid, fds);
	slow_file_await_read(&file);
	/*
	 * The driver's worker for the first process waits for the file's page. Let the second
	 * process fault, and wait for its end.
	 */
	tap_await(fds);
	tap_step(fds);
	tap_await(fds);
	tap_reap(&pid[1], 1);
	/* Two KFD processes are left: the stalled one and this one. */
	await_processes(2);

	slow_file_answer(&file);
	tap_reap(&pid[0], 1);
}

/*
 * Catches: a process with a stalled page-in keeps all slots of the retry CAM, so that no other
 * process can fault.
 */
static void cam_is_left(void)
{
	uint64_t faults, stalls;
	unsigned int i;
	pid_t pid[2];
	int fds[2];

	start_both(CAM_SLOTS * VG_PAGE, stalled_queues, beside_compute, pid, fds);
	faults = tap_driver_counter(gpu, "faults_retry");
	stalls = tap_driver_counter(gpu, "cam_stalls");
	slow_file_await_read(&file);
	await_faults(faults, CAM_SLOTS);
	tap_await(fds);
	tap_step(fds);
	tap_await(fds);
	tap_reap(&pid[1], 1);
	CHECK(tap_driver_counter(gpu, "cam_stalls") > stalls, "the CAM was not full");

	for (i = 0; i < CAM_SLOTS; i++) {
		slow_file_await_read(&file);
		slow_file_answer(&file);
	}
	/* Catches: the queues of the stalled process do not continue after the page-in. */
	tap_reap(&pid[0], 1);
}

static const struct tap_case cases[] = {
	{ "a process goes on beside one whose page-in stalls", goes_on, 1 },
	{ "and beside one with as many faults as the CAM has slots", cam_is_left, 1 },
};

int main(int argc, char **argv)
{
	return tap_main(TAP_CASES(cases), argc, argv);
}
