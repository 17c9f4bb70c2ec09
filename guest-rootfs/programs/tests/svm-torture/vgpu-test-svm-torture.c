// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Eight threads change the address space, while four threads let the GPU copy. Catches: stale GPU
 * page table entries; lost pages; denied faults; hanging ops.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "race.h"
#include "torture.h"

#define GPU_THREADS	4
#define CPU_THREADS	8
#define THREADS		(GPU_THREADS + CPU_THREADS)
#define MAX_OPS		40
/* The test fails if an op for which possible() is true never succeeded in this many attempts. */
#define MANY_ATTEMPTS	40
/*
 * In a test of this length or more, every op for which possible() is true must succeed at least
 * once.
 */
#define LONG_SECONDS	600

static struct t_thread threads[THREADS];
static unsigned long done[2][MAX_OPS], tried[2][MAX_OPS], took_us[2][MAX_OPS];
static atomic_bool over;

static bool possible(const struct t_op *op)
{
	return (t_xnack || op->no_retry) && (!op->may || op->may());
}

static const struct t_op *choose(struct t_thread *t, const struct t_op *ops)
{
	const struct t_op *op;
	uint64_t all = 0, at;

	for (op = ops; op->name; op++)
		all += op->weight;
	for (;;) {
		at = t_below(t, all);
		for (op = ops; at >= op->weight; op++)
			at -= op->weight;
		if (possible(op))
			return op;
	}
}

/*
 * With XNACK off, let some copies complete. Ops of this thread evict queues; without pauses, the
 * queues would stay stopped.
 */
static void let_copy(void)
{
	unsigned long seen = atomic_load(&t_copies);

	while (!t_xnack && !over && atomic_load(&t_copies) < seen + 4)
		vg_sleep_us(500);
}

static void count(unsigned long *n, unsigned long more)
{
	__atomic_fetch_add(n, more, __ATOMIC_RELAXED);
}

static void *work(void *arg)
{
	struct t_thread *t = arg;
	bool gpu = t->id < GPU_THREADS;
	const struct t_op *ops = gpu ? t_gpu_ops : t_cpu_ops;

	for (; !over; t->nth++) {
		long i;

		t_begin_op(t, NULL);
		t->op = choose(t, ops);
		i = t->op - ops;
		count(&tried[gpu][i], 1);
		if (t->op->fn(t))
			count(&done[gpu][i], 1);
		count(&took_us[gpu][i], (vg_now() - t->since) / 1000);
		if (!gpu)
			let_copy();
	}
	atomic_store(&t->since, 0);
	return NULL;
}

static void show_threads(uint64_t now)
{
	int i;

	for (i = 0; i < THREADS; i++) {
		const struct t_thread *t = &threads[i];
		uint64_t since = atomic_load(&t->since);

		if (since)
			tap_diag("thread %d: op %lu, %s, for %lu ms; slots %d %d",
				 i, t->nth, t->op ? t->op->name : "-",
				 (now - since) / 1000000,
				 t->slot[0] ? t->slot[0]->index : -1,
				 t->slot[1] ? t->slot[1]->index : -1);
	}
}

/* Return true if any thread still works. An op that exceeds T_STUCK_NS ends the case. */
static bool watch(void)
{
	uint64_t now = vg_now();
	bool any = false;
	int i;

	for (i = 0; i < THREADS; i++) {
		uint64_t since = atomic_load(&threads[i].since);

		any |= since;
		if (!since || now < since + T_STUCK_NS)
			continue;
		show_threads(now);
		t_fail(&threads[i], __LINE__, "an op does not end");
	}
	return any;
}

static unsigned int seconds(void)
{
	const char *s = getenv("VGPU_TEST_SECONDS");

	return s ? (unsigned int)atoi(s) : tap_debug_kernel() ? 25 :
	       tap_short() ? 4 : 12;
}

static void start(int id)
{
	struct t_thread *t = &threads[id];

	t->id = id;
	t->render = -1;
	t->since = vg_now();
	if (id < GPU_THREADS) {
		OK(vg_queue_create(&t_vg, t_gpu, 16 * VG_KIB, &t->q));
		OK(vg_bo_create(&t_vg, t_gpu, T_STAGE, VG_GTT, &t->stage));
	}
	CHECK(!pthread_create(&t->thread, NULL, work, t), "pthread_create");
}

static void report(const struct t_op *ops, bool gpu)
{
	const struct t_op *op;
	char text[1500];
	int at = 0;

	tap_diag("completed ops (ms of each attempt, with waits for locks):");
	for (op = ops; op->name; op++) {
		at += snprintf(text + at, sizeof(text) - (size_t)at,
			       "%s%s %lu (%lu)", at ? ", " : "", op->name,
			       done[gpu][op - ops],
			       took_us[gpu][op - ops] / 1000 /
			       (tried[gpu][op - ops] | !tried[gpu][op - ops]));
		if (!possible(op))
			tap_diag("not possible on this machine: %s", op->name);
		else
			CHECK(done[gpu][op - ops] ||
			      (tried[gpu][op - ops] < MANY_ATTEMPTS &&
			       seconds() < LONG_SECONDS),
			      "%s never succeeded in %lu attempts", op->name,
			      tried[gpu][op - ops]);
	}
	tap_diag("%s", text);
}

/*
 * Compare all slots with the shadow: first the bytes that the engine copies to the staging BO, then
 * the bytes that the CPU reads.
 */
static void check_all(void)
{
	struct t_thread *t = &threads[0];
	int i;

	t->op = NULL;
	for (i = 0; i < T_SLOTS; i++) {
		struct t_slot *s = &t_slots[i];
		struct t_piece p = { s, 0, 0, T_STAGE };

		t->slot[0] = s;
		for (; p.off < s->size; p.off += p.bytes) {
			if (p.bytes > s->size - p.off)
				p.bytes = s->size - p.off;
			T_OK(t, vg_copy(&t->q, t->stage.cpu, s->at + p.off,
					p.bytes));
			t_compare(t, &p, t->stage.cpu, "GPU, at the end");
		}
		t_check_slot(t, s);
	}
}

static void torture(bool xnack, unsigned int length)
{
	uint64_t denied, evicted, end;
	int i;

	/*
	 * A case takes minutes on the debug kernel. Therefore skip it there unless
	 * VGPU_TEST_SECONDS is set.
	 */
	tap_long_on_debug();
	/*
	 * With VGPU_TEST_SEED, each op has the random numbers of an earlier run. But the threads'
	 * order differs, so slots may have other contents.
	 */
	race_seed();
	t_seed = race_below(1ull << 53);
	t_xnack = xnack;
	if (!access(TAP_SWAP, F_OK))
		tap_swap_on();
	t_lives_start();
	tap_open(&t_vg, xnack);
	t_gpu = &t_vg.gpu[0];
	denied = tap_driver_counter(t_gpu, "faults_unrepaired");
	evicted = tap_driver_counter(t_gpu, "svm_evictions");
	t_slots_init();
	end = vg_now() + length * 1000000000ull;
	for (i = 0; i < THREADS; i++)
		start(i);
	while (vg_now() < end) {
		watch();
		vg_sleep_us(20000);
	}
	over = true;
	while (watch())
		vg_sleep_us(1000);
	for (i = 0; i < THREADS; i++)
		CHECK(!pthread_join(threads[i].thread, NULL), "join");
	check_all();
	t_lives_end();
	tap_diag("%lu copies, %lu evictions, %lu other processes",
		 atomic_load(&t_copies),
		 tap_driver_counter(t_gpu, "svm_evictions") - evicted,
		 t_lives());
	report(t_gpu_ops, true);
	report(t_cpu_ops, false);
	/* A denied fault is a bug, because the ops let the GPU access only accessible memory. */
	CHECK(tap_driver_counter(t_gpu, "faults_unrepaired") == denied,
	      "faults were denied");
}

static void with_retry(void)
{
	torture(true, seconds());
}

static void without_retry(void)
{
	torture(false, seconds() / 2);
}

static const struct tap_case cases[] = {
	{ "with retry", with_retry, 1 },
	{ "without retry", without_retry, 1 },
};

int main(int argc, char **argv)
{
	return tap_main(TAP_CASES(cases), argc, argv);
}
