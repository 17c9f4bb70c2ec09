/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Race two calls. A real-time thread makes the second call after a random time, by default on the
 * CPU of the first call.
 */
#ifndef RACE_H
#define RACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "vg.h"

/* Seed the random numbers from VGPU_TEST_SEED or the clock, and print the seed. */
void race_seed(void);
/*
 * Mix @salt into the state of the random numbers, so that children that inherit one seed draw
 * different numbers.
 */
void race_salt(uint64_t salt);
/* Return a random number below @n. */
uint64_t race_below(uint64_t n);

/*
 * Each race() makes two calls, the second one in a real-time thread. If both calls run on CPU 0,
 * this thread preempts the first call. With CONFIG_PREEMPT, this happens even in kernel code.
 */

/* race_begin() starts the thread for the second call of each race; race_end() ends the thread. */
void race_begin(void);
void race_end(void);
/*
 * From the next race() on, run the second call on CPU 1 if @apart is true, else on CPU 0,
 * where the first call runs.
 */
void race_apart(bool apart);
/*
 * From the next race() on, interrupt the first call by repeated signals if @storm, else send no
 * signals.
 */
void race_storm(bool storm);
/*
 * Run @call, and start @opponent during @call or shortly after. Return the result of @call; store
 * that of @opponent in *@theirs unless NULL.
 */
int race(int (*call)(void), int (*opponent)(void), int *theirs);

/**
 * struct race_use - resources in use, which must be released when a process ends
 * @mem: memory in use
 * @held: counters of the debugfs file vgpu_in_use
 */
struct race_use {
	struct vg_mem_info mem;
	struct vg_counters held;
};

/* Store in *@use the resources that are in use now. */
void race_use(const struct vg_gpu *gpu, struct race_use *use);
/*
 * Wait until the memory in use is at most that of @before and the counters equal those of @before.
 * The case fails if this takes longer than VG_TIMEOUT_MS.
 */
void race_wait_released(const struct vg_gpu *gpu,
			const struct race_use *before);
/* Call fork(); a failure ends the case. */
pid_t race_child(void);
/* Reap @n killed processes. The case fails if a process was not ended by SIGKILL. */
void race_reap_killed(const pid_t *pids, int n);
/*
 * Run @round() in a child, as often as tap_goes_on() with @rounds; kill each child except the first
 * at a random time. Each child's memory must become free.
 */
void race_kill(const struct vg_gpu *gpu, void (*round)(void), int rounds);
/*
 * A function that a child of race_unbind() calls. Returns 0 or -errno, which race_unbind() ignores.
 */
typedef int race_call(void);

/**
 * struct race_calls - functions that race_unbind() calls in its child
 * @start: open the GPU, call race_begin() and create what the calls use
 * @choose: return a random call
 * @bound_only: a function that @choose may return, but that race_unbind() calls only before the
 * unbind; NULL if there is no such function
 */
struct race_calls {
	void (*start)(void);
	race_call *(*choose)(void);
	race_call *bound_only;
};

/*
 * Repeat, as often as tap_goes_on() with @rounds: a child makes random calls, and unbinds the GPU
 * during one of these calls. Then the parent binds the GPU. A failed unbind ends the case.
 */
void race_unbind(const struct race_calls *calls, int rounds);

/* Calls that vgpu-test-race and vgpu-test-race-kfd share. Each returns 0 or -errno. */

/* Read a file to its end. */
int race_read(const char *path);
/* Read a random file of the GPU in debugfs to its end. */
int race_read_debugfs(const struct vg_gpu *gpu);
/* Choose VRAM or GTT at random, and evict all BOs from the chosen memory. */
int race_evict(const struct vg_gpu *gpu);
/*
 * Let the kernel write to @p by a read() of /dev/zero. With a bad address, read() returns -EFAULT,
 * whereas a store by the program would raise a signal.
 */
int race_touch(void *p, uint64_t bytes);

#endif /* RACE_H */
