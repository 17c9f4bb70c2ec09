// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * RUNTIME_ENABLE of a process without a debugger. Catches: the enabled state of the runtime is
 * lost, or outlives its process; two threads enable the runtime, and both calls succeed; a queue
 * exception does not reach the runtime; an errno is wrong.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

#define ENABLE		KFD_RUNTIME_ENABLE_MODE_ENABLE_MASK
#define TTMP		KFD_RUNTIME_ENABLE_MODE_TTMP_SAVE_MASK
#define THREADS		4

static struct vg vg;
static struct vg_gpu *gpu;

static int runtime(uint32_t mode)
{
	struct kfd_ioctl_runtime_enable_args args = {
		.r_debug = 0x1234, .mode_mask = mode, .capabilities_mask = ~0u,
	};
	int r = tap_ioctl(vg.kfd, AMDKFD_IOC_RUNTIME_ENABLE, &args);

	CHECK(r == -EINVAL || r == -EBADF || !args.capabilities_mask, "capabilities 0x%x",
	      args.capabilities_mask);
	CHECK(args.r_debug == 0x1234 && args.mode_mask == mode,
	      "what went in has changed");
	return r;
}

static void start(void)
{
	tap_open(&vg, 0);
	gpu = &vg.gpu[0];
}

static void on_and_off(void)
{
	struct kfd_ioctl_runtime_enable_args args = { .mode_mask = ENABLE };
	unsigned int i;

	start();
	for (i = 0; i < 3; i++) {
		ERRNO(0, runtime(ENABLE | (i & 1 ? TTMP : 0)));
		ERRNO(EBUSY, runtime(ENABLE));
		ERRNO(EBUSY, runtime(ENABLE | TTMP));
		ERRNO(0, runtime(i & 1 ? TTMP : 0));
		ERRNO(0, runtime(0));
	}
	for (i = 2; i < 32; i++) {
		ERRNO(EINVAL, runtime(1u << i));
		ERRNO(EINVAL, runtime(ENABLE | 1u << i));
	}
	/*
	 * A caller may pass a shorter structure; the kernel must treat the missing members as zero.
	 */
	ERRNO(0, tap_ioctl(vg.kfd, _IOC(_IOC_READ | _IOC_WRITE, 'K', 0x25, 8),
			   &args));
	ERRNO(EFAULT, tap_ioctl(vg.kfd, AMDKFD_IOC_RUNTIME_ENABLE, (void *)8));
	ERRNO(0, runtime(ENABLE));
}

/*
 * While the process has queues, RUNTIME_ENABLE must fail to enable the runtime, but must be able to
 * disable it.
 */
static void with_queues(void)
{
	struct vg_queue q;

	start();
	OK(vg_queue_create(&vg, gpu, 4096, &q));
	ERRNO(EEXIST, runtime(ENABLE));
	ERRNO(0, runtime(0));
	OK(vg_queue_destroy(&q));
	ERRNO(0, runtime(ENABLE));
	OK(vg_queue_create(&vg, gpu, 4096, &q));
	ERRNO(EBUSY, runtime(ENABLE));
	OK(vg_queue_finish(&q, VG_TIMEOUT_MS));
	ERRNO(0, runtime(0));
	ERRNO(EEXIST, runtime(ENABLE));
	OK(vg_queue_finish(&q, VG_TIMEOUT_MS));
	OK(vg_queue_destroy(&q));
}

static void fresh(void *arg)
{
	(void)arg;
	/*
	 * RUNTIME_ENABLE must fail on the file that this process inherited from its parent, and
	 * succeed on a file that this process opened.
	 */
	ERRNO(EBADF, runtime(ENABLE));
	start();
	ERRNO(0, runtime(ENABLE));
	ERRNO(EBUSY, runtime(ENABLE));
}

static void forked(void)
{
	start();
	ERRNO(0, runtime(ENABLE));
	tap_in_child(fresh, NULL);
	ERRNO(EBUSY, runtime(ENABLE));
	ERRNO(0, runtime(0));
	tap_in_child(fresh, NULL);
	ERRNO(0, runtime(ENABLE));
}

static struct {
	int rounds;
	int on, busy;
} raced[THREADS];

/*
 * Number of threads that have enabled the runtime. The number must not exceed 1, because
 * RUNTIME_ENABLE fails while the runtime is enabled.
 */
static volatile int owners;

static void *race_on(void *arg)
{
	int me = (int)(intptr_t)arg, i, r;

	for (i = 0; i < raced[me].rounds; i++) {
		r = runtime(ENABLE);
		if (r == -EBUSY) {
			raced[me].busy++;
			continue;
		}
		ERRNO(0, r);
		CHECK(__atomic_add_fetch(&owners, 1, __ATOMIC_SEQ_CST) == 1,
		      "two have enabled it");
		sched_yield();
		__atomic_sub_fetch(&owners, 1, __ATOMIC_SEQ_CST);
		ERRNO(0, runtime(0));
		raced[me].on++;
	}
	return NULL;
}

static void races(void)
{
	pthread_t thread[THREADS];
	int i, on = 0, busy = 0;

	start();
	for (i = 0; i < THREADS; i++) {
		raced[i].rounds = tap_rounds(500, 20000);
		CHECK(!pthread_create(&thread[i], NULL, race_on,
				      (void *)(intptr_t)i), "thread");
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(thread[i], NULL);
		on += raced[i].on;
		busy += raced[i].busy;
	}
	tap_diag("enabled %d times, busy %d times", on, busy);
	ERRNO(0, runtime(ENABLE));
}

/*
 * The driver must report a bad packet as ROCr expects: write the exception to the address
 * err_payload_addr, and set the event err_event_id. The header of the save area has both fields.
 */
static void report_bad_packet(void)
{
	struct kfd_ioctl_create_event_args ev = {
		.event_type = KFD_IOC_EVENT_SIGNAL, .auto_reset = 1,
	};
	struct kfd_context_save_area_header *header;
	struct kfd_event_data data = { 0 };
	struct kfd_ioctl_wait_events_args wait = {
		.events_ptr = (uintptr_t)&data, .num_events = 1,
		.timeout = VG_TIMEOUT_MS,
	};
	uint64_t want = 1ull << 62 | KFD_EC_MASK(EC_QUEUE_PACKET_RESERVED);
	static volatile uint64_t payload = 1ull << 62;
	struct vg_bo save = { 0 };
	struct vg_cq q;
	uint32_t *p;

	start();
	ERRNO(0, runtime(ENABLE));
	OK(vg_ioctl(&vg, AMDKFD_IOC_CREATE_EVENT, &ev));
	OK(vg_save_area(&vg, gpu, KFD_IOC_ALLOC_MEM_FLAGS_GTT |
			KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC, &save));
	OK(vg_bo_map_cpu(&save));
	header = save.cpu;
	header->err_payload_addr = (uintptr_t)&payload;
	header->err_event_id = ev.event_id;
	OK(vg_cq_create(&vg, gpu, &save, 4096, false, &q));
	p = vg_cq_reserve(&q, 1);
	CHECK(p, "%s", vg_error());
	*p = 0;		/* packet type 0, which is reserved */
	vg_cq_submit(&q);
	data.event_id = ev.event_id;
	OK(vg_ioctl(&vg, AMDKFD_IOC_WAIT_EVENTS, &wait));
	CHECK(wait.wait_result == KFD_IOC_WAIT_RESULT_COMPLETE,
	      "the runtime's event is not set");
	CHECK(payload == want, "payload 0x%lx, should be 0x%lx", payload,
	      want);
	OK(vg_cq_destroy(&q));
	OK(vg_bo_free(&save));
}

int main(int argc, char **argv)
{
	static const struct tap_case cases[] = {
		{ "enabled once, disabled, unknown modes", on_and_off, 0 },
		{ "not behind the back of queues", with_queues, 0 },
		{ "each process has its own", forked, 0 },
		{ "threads enable and disable", races, 0 },
		{ "a bad packet is told to the runtime", report_bad_packet, 0 },
	};

	return tap_main(TAP_CASES(cases), argc, argv);
}
