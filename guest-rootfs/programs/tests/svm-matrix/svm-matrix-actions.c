// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Actions of the matrix that access the memory (by GPU, by CPU or in child processes) or migrate
 * it. The actions that call the memory manager are in svm-matrix-mm.c.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "svm-matrix.h"

static void once(void)
{
	mx_gpu_write(2);
	mx_gpu_check();
	mx_cpu_check();
	mx_cpu_write(3);
	mx_gpu_check();
}

static void many(void)
{
	int i;

	for (i = 0; i < 6; i++) {
		mx_gpu_write(10 + i);
		if (i % 2)
			mx_cpu_check();
		if (i % 3 == 2)
			mx_cpu_write(20 + i);
		mx_gpu_check();
	}
}

/* Write a few bytes across the end of each page. Catches: neighbouring bytes change. */
static void stride(void)
{
	struct mx_piece *pc;
	uint64_t at;

	mx_each(pc)
		for (at = VG_PAGE - 5; at + 13 < pc->size; at += VG_PAGE)
			mx_gpu_write_at(pc, at, 1 + at / VG_PAGE % 13, 4);
	mx_finish();
	mx_cpu_check();
	mx_gpu_check();
}

/* Read the memory before any write, then write a part of it. */
static void untouched(void)
{
	mx_gpu_check();
	stride();
	mx_gpu_write(5);
}

static void child_reads(void *arg)
{
	(void)arg;
	mx_cpu_check();
	mx_cpu_write(6);
	mx_cpu_check();
}

/*
 * The GPU writes. Then a child checks the contents and writes. The parent must see the child's
 * writes to shared memory, and no others.
 */
static void fork_reads(void)
{
	mx_gpu_write(2);
	tap_in_child(child_reads, NULL);
	mx_want(6, MX_SHARED);
	mx_gpu_check();
	mx_gpu_write(7);
}

/**
 * struct twins - a parent and a child that do their steps in turn
 * @pid: the child
 * @ends: pipe ends of the parent, then pipe ends of the child, for tap_step() and
 * tap_await()
 */
struct twins {
	pid_t pid;
	int ends[2][2];
};

static pid_t twins_fork(struct twins *t)
{
	int down[2], up[2];

	CHECK(!pipe(down) && !pipe(up), "pipe");
	t->ends[0][0] = up[0];
	t->ends[0][1] = down[1];
	t->ends[1][0] = down[0];
	t->ends[1][1] = up[1];
	fflush(stdout);
	t->pid = fork();
	CHECK(t->pid >= 0, "fork: %s", strerror(errno));
	/* Each of the two processes closes the pipe ends of the other. */
	close(t->ends[!!t->pid][0]);
	close(t->ends[!!t->pid][1]);
	return t->pid;
}

static void twins_end(struct twins *t)
{
	int status;

	CHECK(waitpid(t->pid, &status, 0) == t->pid && !status,
	      "the child ended with status 0x%x", status);
}

/*
 * In private memory, writes of the parent's GPU and writes of the child must stay
 * separate.
 */
static void fork_writes(void)
{
	struct twins t;

	if (!twins_fork(&t)) {
		tap_await(t.ends[1]);
		mx_want(8, MX_SHARED);
		mx_cpu_check();
		mx_cpu_write(9);
		tap_step(t.ends[1]);
		tap_await(t.ends[1]);
		mx_want(7, MX_SHARED);
		mx_cpu_check();
		_exit(0);
	}
	mx_gpu_write(8);
	tap_step(t.ends[0]);
	tap_await(t.ends[0]);
	mx_want(9, MX_SHARED);
	mx_gpu_check();
	mx_cpu_check();
	mx_gpu_write(7);
	tap_step(t.ends[0]);
	twins_end(&t);
}

static void fork_later(void)
{
	mx_gpu_write(2);
	fork_writes();
}

/* The child, too, opens KFD and lets the GPU use the memory. */
static void fork_kfd(void)
{
	struct twins t;

	mx_gpu_write(2);
	if (!twins_fork(&t)) {
		mx_open();
		mx_register();
		mx_gpu_check();
		mx_gpu_write(8);
		tap_step(t.ends[1]);
		tap_await(t.ends[1]);
		mx_want(9, MX_SHARED);
		mx_gpu_check();
		mx_cpu_check();
		_exit(0);
	}
	tap_await(t.ends[0]);
	mx_want(8, MX_SHARED);
	mx_gpu_check();
	mx_gpu_write(9);
	tap_step(t.ends[0]);
	twins_end(&t);
}

/* Prefetch to VRAM and back, and let the GPU use the memory at each location. */
static void to_and_fro(void)
{
	uint64_t moved = mx_counted("pages_to_vram");
	int i;

	for (i = 0; i < 4; i++) {
		mx_prefetch(&mx.vg.gpu[i % mx_gpus()]);
		mx_gpu_check();
		mx_gpu_write(10 + i);
		if (i % 2)
			mx_prefetch(NULL);
		else
			mx_gpu_check();
		mx_cpu_check();
	}
	if (mx_must_move())
		CHECK(mx_counted("pages_to_vram") >=
		      moved + 3 * (uint64_t)mx_movable(),
		      "%lu pages went to VRAM",
		      mx_counted("pages_to_vram") - moved);
}

static void prefetch_under_writes(void)
{
	int i;

	for (i = 0; i < 6; i++) {
		mx_gpu_write_begin(10 + i);
		mx_attr(KFD_IOCTL_SVM_ATTR_PREFETCH_LOC,
			i % 2 ? 0 : mx.vg.gpu[i / 2 % mx_gpus()].gpu_id);
		mx_finish();
		mx_gpu_check();
	}
}

static void evict_all(void)
{
	int i;

	for (i = 0; i < mx_gpus(); i++)
		tap_evict_some(&mx.vg.gpu[i], "vram");
}

/* Evict the memory, once while the GPU reads it and once while the GPU writes it. */
static void evicted(void)
{
	uint64_t evictions = mx_counted("svm_evictions");

	mx_prefetch(&mx.vg.gpu[0]);
	mx_gpu_check_begin();
	evict_all();
	mx_gpu_check_end();
	mx_prefetch(&mx.vg.gpu[mx_gpus() - 1]);
	mx_gpu_write_begin(11);
	evict_all();
	mx_finish();
	mx_gpu_check();
	if (mx_must_move())
		CHECK(mx_counted("svm_evictions") > evictions,
		      "no page was evicted");
}

/* The CPU touches single pages, which must migrate back while other pages stay in VRAM. */
static void touched(void)
{
	struct mx_piece *pc;
	uint64_t at;
	long left;

	/*
	 * Start in system memory, because pages in VRAM keep the granularity that applied
	 * when they were migrated.
	 */
	mx_prefetch(NULL);
	mx_attr(KFD_IOCTL_SVM_ATTR_GRANULARITY, 1);
	mx_prefetch(&mx.vg.gpu[0]);
	mx_each(pc)
		for (at = VG_PAGE / 2; at < pc->size; at += 8 * VG_PAGE)
			CHECK(pc->cpu[at] == pc->want[at], "byte 0x%lx", at);
	left = mx_in_vram();
	if (mx_must_move())
		CHECK(left > 0 && left < mx_movable(),
		      "%ld of %ld pages are in VRAM", left, mx_movable());
	mx_gpu_check();
	mx_gpu_write(12);
	mx_each(pc)
		for (at = VG_PAGE; at < pc->size; at += 8 * VG_PAGE) {
			pc->cpu[at] ^= 0x55;
			pc->want[at] = pc->cpu[at];
		}
}

#define LINE	512ul
#define MOVES	6

static atomic_bool begun;

/* Write every second block of LINE bytes. The GPU writes the other blocks. */
static void *write_lines(void *arg)
{
	struct mx_piece *pc;
	uint64_t at;

	begun = true;
	mx_each(pc)
		for (at = LINE; at + LINE <= pc->size; at += 2 * LINE)
			vg_pattern_fill(pc->cpu + at, LINE, 14, at);
	return arg;
}

/* Migrate the memory back and forth while it is in use. */
static void move_about(void)
{
	int i;

	while (!begun)
		sched_yield();
	for (i = 0; i < MOVES; i++)
		mx_attr(KFD_IOCTL_SVM_ATTR_PREFETCH_LOC,
			i % 2 ? 0 : mx.vg.gpu[i / 2 % mx_gpus()].gpu_id);
}

/* CPU and GPU write different bytes of the same pages at the same time. */
static void both_write(void)
{
	struct mx_piece *pc;
	pthread_t cpu;
	uint64_t at, step = 2 * LINE;

	mx_each(pc)
		for (at = 0; at + LINE <= pc->size; at += step)
			mx_gpu_write_at(pc, at, LINE, 13);
	mx_submit();
	CHECK(!pthread_create(&cpu, NULL, write_lines, NULL), "thread");
	move_about();
	mx_finish();
	CHECK(!pthread_join(cpu, NULL), "join");
	mx_each(pc)
		for (at = LINE; at + LINE <= pc->size; at += step)
			vg_pattern_fill(pc->want + at, LINE, 14, at);
}

#define ADDS		64
#define CPU_ADDS	500

/* atomics() uses four words in each piece, far apart. Return the offset of word @i in @pc. */
static uint64_t word(const struct mx_piece *pc, int i)
{
	uint64_t skew = -(uintptr_t)pc->p & 7;

	return skew + i * ((pc->size - 16) / 3 & ~7ul);
}

static void *add_to_words(void *arg)
{
	struct mx_piece *pc;
	int i, k;

	begun = true;
	for (k = 0; k < CPU_ADDS; k++)
		mx_each(pc)
			for (i = 0; i < 4; i++)
				__atomic_fetch_add((uint64_t *)(pc->cpu +
								word(pc, i)), 1,
						   __ATOMIC_SEQ_CST);
	return arg;
}

/*
 * All queues and the CPU add to the same words while the words migrate. Catches: an
 * addition is lost.
 */
static void atomics(void)
{
	struct mx_piece *pc;
	pthread_t cpu;
	uint64_t sum;
	int i, k, q;

	for (k = 0; k < ADDS; k++)
		for (q = 0; q < mx.users->queues; q++)
			mx_each(pc)
				for (i = 0; i < 4; i++)
					OK(vg_emit_atomic_add(&mx.q[q],
							      (uintptr_t)pc->p +
							      word(pc, i),
							      3));
	mx_submit();
	CHECK(!pthread_create(&cpu, NULL, add_to_words, NULL), "thread");
	move_about();
	mx_finish();
	CHECK(!pthread_join(cpu, NULL), "join");
	mx_each(pc)
		for (i = 0; i < 4; i++) {
			memcpy(&sum, pc->want + word(pc, i), 8);
			sum += 3 * ADDS * (uint64_t)mx.users->queues + CPU_ADDS;
			memcpy(pc->want + word(pc, i), &sum, 8);
		}
}

const struct mx_action mx_actions[] = {
	{ "once", once, 0, MX_READ_ONLY, 0 },
	{ "many times", many, 0, 0, MX_READS },
	{ "strides", stride, 0, MX_READ_ONLY, 0 },
	{ "untouched", untouched, MX_FRESH, MX_LOCKED, MX_UNTOUCHED },
	{ "fork reads", fork_reads, 0, MX_READ_ONLY, 0 },
	{ "fork writes, first use", fork_writes, 0, MX_READ_ONLY, 0 },
	{ "fork writes", fork_later, 0, MX_READ_ONLY, 0 },
	{ "fork has KFD", fork_kfd, 0, 0, MX_READS },
	{ "to and fro", to_and_fro, 0, 0, MX_READS | MX_MOVES_IT },
	{ "prefetch under writes", prefetch_under_writes, 0, MX_READ_ONLY,
	  MX_MOVES_IT },
	{ "evicted", evicted, 0, 0, MX_READS | MX_MOVES_IT },
	{ "touched by CPU", touched, 0, MX_READ_ONLY, MX_MOVES_IT },
	{ "CPU writes at once", both_write, 0, MX_READ_ONLY, 0 },
	{ "atomics", atomics, 0, MX_READ_ONLY, 0 },
};

const int mx_n_actions = sizeof(mx_actions) / sizeof(mx_actions[0]);
