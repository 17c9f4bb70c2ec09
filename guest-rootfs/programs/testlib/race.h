/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two calls at once. The second one's thread shares our CPU and goes before us,
 * so that it runs from beginning to end in whichever place of our call its
 * timer rings, as far as the kernel can be preempted (the debug kernel); or it
 * has a CPU of its own.
 */
#ifndef RACE_H
#define RACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "vg.h"

/* Random numbers; VGPU_TEST_SEED or the clock, printed. */
void race_seed(void);
/* Other numbers, from the same seed: for a child. */
void race_salt(uint64_t salt);
uint64_t race_below(uint64_t n);

/* Makes the thread; race_end() ends it. */
void race_begin(void);
void race_end(void);
/* Has the thread run beside us from the next race() on, or on our CPU. */
void race_apart(bool apart);
/* The first call gets signals all the time from the next race() on, or none. */
void race_storm(bool storm);
/* Runs both; what @opponent returned is in @theirs, unless that is NULL. */
int race(int (*call)(void), int (*opponent)(void), int *theirs);

/**
 * struct race_use - what processes may leave behind: memory, and what debugfs's
 * vgpu_in_use counts
 */
struct race_use {
	struct vg_mem_info mem;
	struct vg_counters held;
};

/* As it is now. */
void race_use(const struct vg_gpu *gpu, struct race_use *use);
/* Waits until all of it is as it was; the case ends if it stays. */
void race_settle(const struct vg_gpu *gpu, const struct race_use *before);
/* fork(), or the end of the case. */
pid_t race_child(void);
/* Waits for @n processes that were killed; the case ends if one ended otherwise. */
void race_reap_killed(const pid_t *pids, int n);
/*
 * @round(), in a process of its own, is killed somewhere, @rounds times; memory
 * in use returns. @round() may also end by itself.
 */
void race_kill(const struct vg_gpu *gpu, void (*round)(void), int rounds);
/*
 * The GPU is taken away by unbind() while @round(), in a process of its own,
 * does other things; then it is back.
 */
void race_unbind(void (*round)(int (*unbind)(void)), int rounds);

/* What both programs do. 0 or -errno. */

/* Reads all of a file, or one of those in debugfs. */
int race_read(const char *path);
int race_watch(const struct vg_gpu *gpu);
/* Moves out what may move. */
int race_evict(const struct vg_gpu *gpu);
/* Writes memory by the kernel, which gets no signal for what is not there. */
int race_touch(void *p, uint64_t bytes);

#endif /* RACE_H */
