// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kill processes that use all features of a GPU. Catches: a killed process leaves resources; the
 * teardown collides with a fault, migration or eviction.
 */
#include <linux/mman.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "race.h"
#include "render.h"
#include "tap.h"

enum { VICTIMS = 3, BOS = 8, QUEUES = 3, REGIONS = 3 };

#define REGION	(4 * VG_MIB)
#define RING	(16 * VG_KIB)

static struct vg vg;
static struct vg_gpu *gpu;
static struct vg_mem_info mem;

/* Current resources of a victim; an unused entry is zero. */
static struct {
	struct vg_bo bo[BOS];
	struct vg_queue q[QUEUES];
	struct vg_cq cq;
	struct vg_bo save;
	char *region[REGIONS];
	uint64_t user[REGIONS];	/* handle of the region's userptr BO, or 0 */
} v;

static void do_bo(void)
{
	struct vg_bo *bo = &v.bo[race_below(BOS)];
	uint64_t pages = 1 + race_below(race_below(4) ? 64 :
					mem.vram_total / 12 / VG_PAGE);

	if (bo->size) {
		vg_bo_free(bo);
		return;
	}
	/* The allocation may fail, which is no error. */
	if (vg_bo_create(&vg, gpu, pages * VG_PAGE,
			 race_below(3) ? VG_VRAM : VG_GTT, bo))
		vg_bo_free(bo);
	else
		memset(bo->cpu, 0x5a, VG_PAGE);
}

static void do_queue(void)
{
	struct vg_queue *q = &v.q[race_below(QUEUES)];

	if (q->doorbell)
		vg_queue_destroy(q);
	else if (vg_queue_create(&vg, gpu, RING, q))
		vg_queue_destroy(q);
	if (!q->doorbell)
		memset(q, 0, sizeof(*q));
}

static void do_compute(void)
{
	const uint32_t word = 0x5eed;

	if (!v.save.size && vg_save_area(&vg, gpu,
					 KFD_IOC_ALLOC_MEM_FLAGS_GTT, &v.save))
		return;
	if (!v.cq.doorbell) {
		if (vg_cq_create(&vg, gpu, &v.save, VG_PAGE, false, &v.cq)) {
			vg_cq_destroy(&v.cq);
			memset(&v.cq, 0, sizeof(v.cq));
		}
	} else if (v.cq.wptr > 256 || !race_below(4)) {
		vg_cq_destroy(&v.cq);
		memset(&v.cq, 0, sizeof(v.cq));
	} else if (v.region[0]) {
		vg_pm4_write(&v.cq, (uintptr_t)v.region[0], &word, 1);
		vg_cq_submit(&v.cq);
	}
}

/*
 * Return a GPU address that the victim can write to, or 0. Reduce *@bytes to the number of
 * writable bytes at this address.
 */
static uint64_t somewhere(uint64_t *bytes)
{
	uint64_t i = race_below(BOS + REGIONS), at = 0, size = 0;

	if (i < BOS) {
		at = v.bo[i].mapped ? v.bo[i].va : 0;
		size = v.bo[i].size;
	} else {
		at = (uintptr_t)v.region[i - BOS];
		size = REGION;
	}
	if (size < *bytes)
		*bytes = size;
	return at;
}

/* Submit work without waiting for it. Memory may be freed while this work uses it. */
static void do_work(void)
{
	struct vg_queue *q = &v.q[race_below(QUEUES)];
	uint64_t bytes = 256 * VG_KIB, to, from;

	/* Submit no more than half a ring in all, so that no call waits for space. */
	if (!q->doorbell || q->wptr > RING / 2)
		return;
	to = somewhere(&bytes);
	from = somewhere(&bytes);
	if (!to || !from)
		return;
	if (race_below(2))
		vg_emit_copy(q, to, from, bytes);
	else
		vg_emit_fill(q, to, 0x5eed, bytes);
	vg_queue_submit(q);
}

static void drop_user(uint64_t i)
{
	struct kfd_ioctl_unmap_memory_from_gpu_args unmap = {
		.handle = v.user[i],
		.device_ids_array_ptr = (uintptr_t)&gpu->gpu_id,
		.n_devices = 1,
	};
	struct kfd_ioctl_free_memory_of_gpu_args args = { .handle = v.user[i] };

	if (!v.user[i])
		return;
	tap_ioctl(vg.kfd, AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU, &unmap);
	tap_ioctl(vg.kfd, AMDKFD_IOC_FREE_MEMORY_OF_GPU, &args);
	v.user[i] = 0;
}

/* Create or free a region, which is used as SVM memory or by a userptr BO. */
static void do_region(void)
{
	struct kfd_ioctl_alloc_memory_of_gpu_args args = {
		.size = REGION,
		.gpu_id = gpu->gpu_id,
		.flags = KFD_IOC_ALLOC_MEM_FLAGS_USERPTR | VG_BO_ACCESS,
	};
	struct kfd_ioctl_map_memory_to_gpu_args map = {
		.device_ids_array_ptr = (uintptr_t)&gpu->gpu_id,
		.n_devices = 1,
	};
	uint64_t i = race_below(REGIONS);
	char *p = v.region[i];

	if (p) {
		/* At random, free the memory first or the userptr BO first. */
		if (race_below(2))
			drop_user(i);
		munmap(p, REGION);
		drop_user(i);
		v.region[i] = NULL;
		return;
	}
	p = mmap(NULL, REGION, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return;
	if (race_below(2))
		memset(p, 1, REGION);
	v.region[i] = p;
	if (race_below(3)) {
		vg_svm_set1(&vg, p, REGION, KFD_IOCTL_SVM_ATTR_ACCESS,
			    gpu->gpu_id);
		return;
	}
	args.va_addr = (uintptr_t)p;
	args.mmap_offset = (uintptr_t)p;
	if (tap_ioctl(vg.kfd, AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, &args))
		return;
	v.user[i] = args.handle;
	map.handle = args.handle;
	tap_ioctl(vg.kfd, AMDKFD_IOC_MAP_MEMORY_TO_GPU, &map);
}

static void do_prefetch(void)
{
	char *p = v.region[race_below(REGIONS)];

	if (p)
		vg_svm_prefetch(&vg, p, REGION,
				race_below(3) ? gpu->gpu_id : 0);
}

static void do_change(void)
{
	static const int advice[] = {
		MADV_DONTNEED, MADV_PAGEOUT, MADV_FREE, MADV_COLLAPSE,
	};
	char *p = v.region[race_below(REGIONS)];

	if (!p)
		return;
	p += race_below(REGION / VG_PAGE / 2) * VG_PAGE;
	switch (race_below(4)) {
	case 0:
		mprotect(p, REGION / 4, PROT_READ);
		break;
	case 1:
		mprotect(p, REGION / 4, PROT_READ | PROT_WRITE);
		break;
	case 2:
		race_touch(p, REGION / 4);
		break;
	default:
		madvise(p, REGION / 4, advice[race_below(4)]);
	}
}

static void do_event(void)
{
	struct kfd_ioctl_create_event_args args = {
		.event_type = KFD_IOC_EVENT_SIGNAL, .auto_reset = 1,
	};
	struct kfd_event_data data = { 0 };
	struct kfd_ioctl_wait_events_args wait = {
		.events_ptr = (uintptr_t)&data,
		.num_events = 1,
		.timeout = (uint32_t)race_below(8),
	};

	if (tap_ioctl(vg.kfd, AMDKFD_IOC_CREATE_EVENT, &args))
		return;
	data.event_id = args.event_id;
	tap_ioctl(vg.kfd, AMDKFD_IOC_WAIT_EVENTS, &wait);
}

/*
 * Fork a child that touches the memory and does not use the GPU. The child ends with
 * its parent.
 */
static void do_fork(void)
{
	pid_t pid = fork();
	uint64_t i;

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (i = 0; i < REGIONS; i++)
			if (v.region[i])
				race_touch(v.region[i], REGION / 4);
		_exit(0);
	}
	if (pid > 0 && race_below(2))
		waitpid(pid, NULL, 0);
}

static void do_evict(void)
{
	if (!race_below(8))
		race_evict(gpu);
}

static void do_exec(void)
{
	char salt[24];

	if (race_below(16))
		return;
	snprintf(salt, sizeof(salt), "%lu", race_below(1ull << 40));
	execl("/proc/self/exe", "vgpu-test-kill", "--victim", salt, NULL);
}

static void (*const acts[])(void) = {
	do_bo, do_bo, do_bo, do_queue, do_queue, do_compute, do_work, do_work,
	do_work, do_work, do_work, do_work, do_region, do_region, do_prefetch,
	do_prefetch, do_change, do_event, do_fork, do_evict, do_exec,
};

/* Execute random acts until killed. Count the acts in *@done unless @done is NULL. */
static void victim(uint64_t salt, uint64_t *done)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	race_salt(salt);
	memset(&v, 0, sizeof(v));
	/* vg_open() must not fail. (Calls in the functions of acts[] may fail.) */
	if (vg_open(&vg)) {
		fprintf(stderr, "%s\n", vg_error());
		_exit(1);
	}
	gpu = &vg.gpu[0];
	vg_mem_info(gpu, &mem);
	vg_set_xnack(&vg, (int)race_below(2));
	for (;;) {
		acts[race_below(sizeof(acts) / sizeof(acts[0]))]();
		if (done)
			__atomic_add_fetch(done, 1, __ATOMIC_RELAXED);
	}
}

/*
 * Wait until the victim has done a random number of acts, for two seconds at most. Then wait for a
 * random time.
 */
static void await(const uint64_t *done)
{
	uint64_t enough = race_below(4) ? race_below(80) : 0;
	uint64_t until = vg_now() + 2000000000;

	while (__atomic_load_n(done, __ATOMIC_RELAXED) < enough &&
	       vg_now() < until)
		vg_sleep_us(500);
	vg_sleep_us((unsigned int)race_below(1ull << (7 + race_below(8))));
}

static void killed(void)
{
	static const char *const work[] = {
		"faults_retry", "faults_noretry", "pages_to_vram",
		"pages_to_system", "evictions", "process_evictions",
	};
	struct vg_counters first, last;
	struct race_use before;
	uint64_t *done, all = 0;
	int i, k, rounds;
	pid_t pid[VICTIMS];
	struct vg own;

	race_seed();
	tap_open(&own, 0);
	gpu = &own.gpu[0];
	race_use(gpu, &before);
	OK(vg_driver_counters(gpu, &first));
	done = mmap(NULL, VG_PAGE, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(done != MAP_FAILED, "mmap");
	rounds = tap_rounds(10, 40);
	for (i = 0; tap_goes_on_all(i, rounds); i++) {
		memset(done, 0, VICTIMS * sizeof(*done));
		for (k = 0; k < VICTIMS; k++) {
			pid[k] = race_child();
			if (!pid[k])
				victim((uint64_t)(i * VICTIMS + k), &done[k]);
		}
		for (k = 0; k < VICTIMS; k++) {
			await(&done[k]);
			kill(pid[k], SIGKILL);
		}
		race_reap_killed(pid, VICTIMS);
		for (k = 0; k < VICTIMS; k++)
			all += done[k];
		race_wait_released(gpu, &before);
		if (!((i + 1) % 50))
			tap_diag("%d processes", (i + 1) * VICTIMS);
	}
	OK(vg_driver_counters(gpu, &last));
	tap_diag("%d processes were killed after %lu calls or more", i * VICTIMS,
		 all);
	for (k = 0; k < (int)(sizeof(work) / sizeof(work[0])); k++)
		tap_diag("%s %lu", work[k], vg_counter(&last, work[k], NULL) -
			 vg_counter(&first, work[k], NULL));
}

static const struct tap_case cases[] = {
	{ "killed anywhere, several at once: nothing is left", killed, 1 },
};

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "--victim"))
		victim(strtoull(argv[2], NULL, 0), NULL);
	return tap_main(TAP_CASES(cases), argc, argv);
}
