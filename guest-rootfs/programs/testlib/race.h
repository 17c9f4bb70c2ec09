/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two calls at once. The second runs in a real-time thread on the CPU of the
 * first, so that it preempts the first call at the place where the thread's timer
 * expires, as far as the kernel can be preempted there (the debug kernel). race_apart()
 * moves the thread to another CPU.
 */
#ifndef RACE_H
#define RACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "vg.h"

/* Seed the random numbers from VGPU_TEST_SEED or the clock, and print the seed. */
void race_seed(void);
/* Derive other numbers from the same seed, for a child. */
void race_salt(uint64_t salt);
/* A random number below @n. */
uint64_t race_below(uint64_t n);

/* Start the thread of the second call; race_end() ends it. */
void race_begin(void);
void race_end(void);
/* From the next race() on, run the thread on CPU 1 (@apart) or on CPU 0 with the first call. */
void race_apart(bool apart);
/* From the next race() on, send the first call signals all the time, or none. */
void race_storm(bool storm);
/*
 * Run both calls. Return the result of @call; store that of @opponent in @theirs unless
 * it is NULL.
 */
int race(int (*call)(void), int (*opponent)(void), int *theirs);

/**
 * struct race_use - resources that a process must release: memory, and the counters of
 * debugfs vgpu_in_use
 * @mem: memory in use
 * @held: counters of vgpu_in_use
 */
struct race_use {
	struct vg_mem_info mem;
	struct vg_counters held;
};

/* Store the current usage. */
void race_use(const struct vg_gpu *gpu, struct race_use *use);
/*
 * Wait until memory is at most, and the counters are again, as in @before; otherwise
 * end the case.
 */
void race_settle(const struct vg_gpu *gpu, const struct race_use *before);
/* fork(); a failure ends the case. */
pid_t race_child(void);
/* Reap @n killed processes; the case ends if one was not ended by SIGKILL. */
void race_reap_killed(const pid_t *pids, int n);
/*
 * Run @round() in a child and kill the child at a random time, @rounds times. The child
 * may end before that. Memory in use must return to the value before the first round.
 */
void race_kill(const struct vg_gpu *gpu, void (*round)(void), int rounds);
/* A call; returns 0 or -errno. */
typedef int race_call(void);

/**
 * struct race_calls - what race_unbind() runs in its child
 * @start: open the GPU, call race_begin() and create what the calls use
 * @choose: return a random call
 * @bound_only: a call that needs a bound GPU, or NULL
 */
struct race_calls {
	void (*start)(void);
	race_call *(*choose)(void);
	race_call *bound_only;
};

/*
 * Seed the random numbers. Then, @rounds times, run in a child up to three calls, one
 * during which the GPU is unbound, and up to eight after that, whose errors are
 * ignored. Bind the GPU again after each round. The case ends if an unbind fails.
 */
void race_unbind(const struct race_calls *calls, int rounds);

/* Calls that vgpu-test-race and vgpu-test-race-kfd share. 0 or -errno. */

/* Read a file to its end; race_watch() reads a random file of debugfs. */
int race_read(const char *path);
int race_watch(const struct vg_gpu *gpu);
/* Evict VRAM or GTT, at random. */
int race_evict(const struct vg_gpu *gpu);
/* Write to @p by the kernel (read() of /dev/zero): a bad address is -EFAULT and no signal. */
int race_touch(void *p, uint64_t bytes);

#endif /* RACE_H */
