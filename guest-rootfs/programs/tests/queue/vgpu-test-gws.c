// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Global wave sync (GWS), which a queue gets by ALLOC_QUEUE_GWS. Catches:
 * - a wrong errno
 * - GWS stays allocated after its owner has ended
 * - a queue owns GWS, but the run list gives no GWS to the queue's process
 * - two processes with GWS run at the same time
 * - a process never runs
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vgpu/pm4.h>

#include "tap.h"

#define RING		4096
#define NUM_GWS		64	/* GWS resources of an MI200 */
#define QUANTUM_MS	10	/* time slice in the driver's run lists, in ms */
#define ROUNDS		20
/*
 * While shared.turn has this value, all queues of partner() keep waiting: each of them waits until
 * shared.turn equals some number below 2 * ROUNDS.
 */
#define WAITS		~0u

static struct vg vg;
static struct vg_gpu *gpu;
static struct vg_bo save;

static void start(void)
{
	tap_open(&vg, 0);
	gpu = &vg.gpu[0];
	OK(vg_save_area(&vg, gpu, KFD_IOC_ALLOC_MEM_FLAGS_VRAM, &save));
}

static void make(struct vg_cq *q)
{
	OK(vg_cq_create(&vg, gpu, &save, RING, false, q));
}

static int gws_of(uint32_t queue, uint32_t num, uint32_t *first)
{
	struct kfd_ioctl_alloc_queue_gws_args args = {
		.queue_id = queue, .num_gws = num, .first_gws = 77,
	};
	int r = vg_ioctl(&vg, AMDKFD_IOC_ALLOC_QUEUE_GWS, &args);

	if (first)
		*first = args.first_gws;
	return r;
}

static int gws(const struct vg_cq *q, uint32_t num)
{
	return gws_of(q->id, num, NULL);
}

/*
 * Check the run list: exactly @processes processes must get GWS, and exactly @queues queues must
 * use GWS.
 */
static void expect_list(unsigned int processes, unsigned int queues)
{
	static char text[256 * 1024];
	uint32_t dw[64] = { 0 };
	unsigned int n = 0, i = 0;
	char *at, *end;

	tap_read("/sys/kernel/debug/kfd/rls", text, sizeof(text));
	for (at = strtok(text, " \n"); at; at = strtok(NULL, " \n")) {
		uint32_t v = strtoul(at, &end, 16);

		if (end != at + 8 || *end)
			continue;
		dw[i++ % 64] = v;
		/*
		 * If dword i - 14 is the header of a MAP_PROCESS packet, v is dword 13 of this
		 * packet.
		 */
		if (i > 13 && dw[(i - 14) % 64] == 0xc013a102) {
			/*
			 * A process with GWS gets all NUM_GWS resources, because two such
			 * processes never run in the same time slice.
			 */
			CHECK(!(v & 0x7f) || (v & 0x7f) == NUM_GWS,
			      "a process has %u", v & 0x7f);
			processes -= !!(v & 0x7f);
		}
		if (i > 1 && dw[(i - 2) % 64] == 0xc005a202)
			n += v >> 12 & 1;
	}
	CHECK(!processes, "%d processes more should have GWS", (int)processes);
	CHECK(n == queues, "%u queues have GWS, should be %u", n, queues);
}

static void rules(void)
{
	struct vg_queue sdma = { 0 };
	struct vg_cq q[2];
	uint32_t first;

	start();
	CHECK(vg_node_property(gpu->node, "num_gws", 0) == NUM_GWS,
	      "num_gws is %lu", vg_node_property(gpu->node, "num_gws", 0));
	ERRNO(EINVAL, gws_of(0, NUM_GWS, &first));
	CHECK(first == 77, "no queue, but first_gws is %u", first);
	make(&q[0]);
	make(&q[1]);
	OK(vg_queue_create(&vg, gpu, RING, &sdma));
	ERRNO(EINVAL, gws_of(1000, NUM_GWS, NULL));
	ERRNO(EINVAL, gws_of(~0u, 0, NULL));
	ERRNO(EINVAL, gws(&q[0], 0));

	ERRNO(0, gws_of(q[0].id, 1, &first));
	CHECK(first == 0, "first_gws is %u", first);
	ERRNO(EBUSY, gws_of(q[0].id, 1, &first));
	CHECK(first == 0, "first_gws is %u after EBUSY", first);
	ERRNO(EBUSY, gws(&q[1], NUM_GWS));
	ERRNO(EBUSY, gws_of(sdma.id, 1, NULL));
	ERRNO(EINVAL, gws(&q[1], 0));
	ERRNO(0, gws(&q[0], 0));
	ERRNO(EINVAL, gws(&q[0], 0));

	/* Any num_gws must allocate all GWS resources. DESTROY_QUEUE must free them. */
	ERRNO(0, gws(&q[1], ~0u));
	OK(vg_cq_destroy(&q[1]));
	ERRNO(0, gws_of(sdma.id, 1, NULL));
	ERRNO(EBUSY, gws(&q[0], 1));
	OK(vg_queue_destroy(&sdma));
	ERRNO(0, gws(&q[0], 1));
	OK(vg_cq_destroy(&q[0]));
	OK(vg_bo_free(&save));
}

static void works(struct vg_cq *q, const struct vg_bo *bo, uint32_t value)
{
	OK(vg_pm4_write(q, bo->va, &value, 1));
	OK(vg_cq_finish(q, VG_TIMEOUT_MS));
	CHECK(*(volatile uint32_t *)bo->cpu == value, "0x%x, should be 0x%x",
	      *(volatile uint32_t *)bo->cpu, value);
}

/*
 * The run list must give GWS to the process exactly while the compute queue that owns GWS is
 * enabled. Enabled queues must work with and without GWS.
 */
static void run_lists(void)
{
	struct vg_bo bo = { 0 };
	struct vg_queue sdma;
	struct vg_cq q[2];

	start();
	OK(vg_bo_create(&vg, gpu, VG_PAGE, VG_GTT, &bo));
	make(&q[0]);
	make(&q[1]);
	expect_list(0, 0);
	works(&q[1], &bo, 1);
	OK(gws(&q[1], 3));
	expect_list(1, 1);
	works(&q[0], &bo, 2);
	works(&q[1], &bo, 3);

	OK(vg_cq_update(&q[1], &q[1].ring, 0));
	expect_list(0, 0);
	OK(gws(&q[1], 0));
	OK(gws(&q[1], 1));
	expect_list(0, 0);
	OK(vg_cq_update(&q[1], &q[1].ring, 100));
	expect_list(1, 1);
	works(&q[1], &bo, 4);
	OK(gws(&q[1], 0));
	expect_list(0, 0);
	works(&q[1], &bo, 5);

	/* The queues and their GWS must survive a reset. */
	OK(gws(&q[0], 1));
	OK(vg_gpu_reset(gpu));
	works(&q[0], &bo, 6);
	expect_list(1, 1);
	OK(vg_cq_destroy(&q[0]));
	expect_list(0, 0);

	/*
	 * SDMA queues cannot use GWS, but the ioctl must succeed for an SDMA queue. Catches: the
	 * run list gives GWS to the process of this queue.
	 */
	OK(vg_queue_create(&vg, gpu, RING, &sdma));
	OK(gws_of(sdma.id, 1, NULL));
	expect_list(0, 0);
	OK(vg_queue_destroy(&sdma));
	works(&q[1], &bo, 7);
	OK(vg_cq_destroy(&q[1]));
	OK(vg_bo_free(&bo));
	OK(vg_bo_free(&save));
}

/*
 * One page of state that the processes share. Each process maps this page into its GPU address
 * space.
 */
struct shared {
	volatile uint32_t turn, ready, go;
};

static struct shared *share(void)
{
	struct shared *s = mmap(NULL, VG_PAGE, PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CHECK(s != MAP_FAILED, "mmap");
	return s;
}

static void map_shared(struct shared *s)
{
	struct kfd_ioctl_alloc_memory_of_gpu_args a = {
		.va_addr = (uintptr_t)s, .size = VG_PAGE, .gpu_id = gpu->gpu_id,
		.mmap_offset = (uintptr_t)s,
		.flags = KFD_IOC_ALLOC_MEM_FLAGS_USERPTR | VG_BO_ACCESS |
			 KFD_IOC_ALLOC_MEM_FLAGS_COHERENT,
	};
	struct kfd_ioctl_map_memory_to_gpu_args m = {
		.device_ids_array_ptr = (uintptr_t)&gpu->gpu_id, .n_devices = 1,
	};

	OK(vg_ioctl(&vg, AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, &a));
	m.handle = a.handle;
	OK(vg_ioctl(&vg, AMDKFD_IOC_MAP_MEMORY_TO_GPU, &m));
}

static pid_t child(void (*fn)(struct shared *s, unsigned int me),
		   struct shared *s, unsigned int me)
{
	pid_t pid = fork();

	CHECK(pid >= 0, "fork");
	if (!pid) {
		fn(s, me);
		_exit(0);
	}
	return pid;
}

static void ended(pid_t pid, int want)
{
	int status;

	CHECK(waitpid(pid, &status, 0) == pid && status == want,
	      "status 0x%x", status);
}

static bool with_gws;

/* Body of one of two processes whose queues take turns to increment shared.turn. */
static void partner(struct shared *s, unsigned int me)
{
	struct vg_cq q;
	uint32_t i;

	start();
	map_shared(s);
	make(&q);
	if (with_gws)
		OK(gws(&q, NUM_GWS));
	for (i = me; i < 2 * ROUNDS; i += 2) {
		const uint32_t next = i + 1;

		OK(vg_pm4_wait(&q, (uintptr_t)&s->turn, i));
		OK(vg_pm4_write(&q, (uintptr_t)&s->turn, &next, 1));
	}
	OK(vg_cq_emit_fence(&q));
	vg_cq_submit(&q);
	__atomic_fetch_add(&s->ready, 1, __ATOMIC_SEQ_CST);
	OK(vg_cq_wait(&q, VG_TIMEOUT_MS));
	/*
	 * Wait until all turns are done: a process that ends earlier changes the run list, and
	 * this cuts the current time slice short.
	 */
	OK(vg_wait_word(&s->turn, 2 * ROUNDS, VG_TIMEOUT_MS));
	OK(vg_wait_word(&s->go, 1, VG_TIMEOUT_MS));
}

static uint64_t play_ms(bool gws_too)
{
	struct shared *s = share();
	pid_t pid[2];
	uint64_t ms;

	with_gws = gws_too;
	s->turn = WAITS;
	pid[0] = child(partner, s, 0);
	pid[1] = child(partner, s, 1);
	OK(vg_wait_word(&s->ready, 2, VG_TIMEOUT_MS));
	expect_list(gws_too ? 2 : 0, gws_too ? 2 : 0);
	ms = vg_now();
	s->turn = 0;
	OK(vg_wait_word(&s->turn, 2 * ROUNDS, VG_TIMEOUT_MS));
	ms = (vg_now() - ms) / 1000000;
	s->go = 1;
	ended(pid[0], 0);
	ended(pid[1], 0);
	munmap(s, VG_PAGE);
	return ms;
}

/*
 * Two processes take turns to increment shared.turn. With GWS, only one process runs in a time
 * slice, so each increment takes one time slice.
 */
static void alone(void)
{
	uint64_t together = play_ms(false), apart = play_ms(true);

	tap_diag("%u turns: %lu ms, with GWS %lu ms", 2 * ROUNDS, together,
		 apart);
	/*
	 * Require only half of a time slice for each turn (increment of shared.turn), because the
	 * clocks of guest and host differ.
	 */
	CHECK(apart >= (2 * ROUNDS - 2) * QUANTUM_MS / 2,
	      "both have GWS at a time: %lu ms", apart);
}

/* Body of a process that holds GWS, with a queue that waits without end. */
static void hog(struct shared *s, unsigned int me)
{
	struct vg_cq q;

	start();
	map_shared(s);
	make(&q);
	OK(gws(&q, 1));
	OK(vg_pm4_wait(&q, (uintptr_t)&s->turn, WAITS - me));
	vg_cq_submit(&q);
	__atomic_fetch_add(&s->ready, 1, __ATOMIC_SEQ_CST);
	pause();
}

/*
 * Kill two processes that own GWS. Catches: GWS is not released; a queue that waits without end
 * keeps other processes from getting GWS.
 */
static void killed(void)
{
	struct shared *s = share();
	struct vg_bo bo = { 0 };
	pid_t pid[2];
	struct vg_cq q;

	/* Fork before start(), because children must not share the file of /dev/kfd. */
	pid[0] = child(hog, s, 1);
	pid[1] = child(hog, s, 2);
	start();
	OK(vg_bo_create(&vg, gpu, VG_PAGE, VG_GTT, &bo));
	make(&q);
	OK(vg_wait_word(&s->ready, 2, VG_TIMEOUT_MS));
	expect_list(2, 2);
	works(&q, &bo, 1);
	OK(gws(&q, 1));
	expect_list(3, 3);
	works(&q, &bo, 2);
	kill(pid[0], SIGKILL);
	ended(pid[0], SIGKILL);
	works(&q, &bo, 3);
	kill(pid[1], SIGKILL);
	ended(pid[1], SIGKILL);
	works(&q, &bo, 4);
	OK(vg_cq_destroy(&q));
	OK(vg_bo_free(&bo));
	OK(vg_bo_free(&save));
}

static const struct tap_case cases[] = {
	{ "rules and errors", rules, 0 },
	{ "run lists have it while its queue may run", run_lists, 0 },
	{ "processes that have it take turns", alone, 0 },
	{ "processes killed with it", killed, 0 },
};

int main(int argc, char **argv)
{
	return tap_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
