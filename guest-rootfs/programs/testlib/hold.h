/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Jobs of the render node that occupy the kernel's SDMA rings until hold_let_go(). Until then,
 * later commands of the driver on these rings wait. An invalidation of user pages that the jobs use
 * also waits.
 */
#ifndef HOLD_H
#define HOLD_H

#include "render.h"
#include "tap.h"

/*
 * Numbers of the SDMA engines. Each is named after the direction of the driver's own copies on this
 * engine. Jobs of the render node run on any engine.
 */
enum { HOLD_OUT_OF_VRAM, HOLD_INTO_VRAM, HOLD_ENGINES };

/**
 * struct hold - jobs that occupy the SDMA engines by polling a word of memory
 */
struct hold {
	/** @fd: open file of the render node, for these jobs alone */
	int fd;
	/** @ib: packets of all jobs */
	struct vr_ib ib;
	/**
	 * @flag: BO. All jobs poll the first word until hold_let_go() sets this word to 1. One word
	 * for each job follows: a job sets its own word to 1 when the job starts.
	 */
	struct vr_bo flag;
	/** @jobs: number of jobs submitted so far */
	unsigned int jobs;
	/** @handles: GEM handles of the BOs that each job uses */
	uint32_t handles[3];
	unsigned int n_handles;
};

/*
 * First step of hold_engines(): create the BOs of @h. Open every hold before a job occupies the
 * engines, because the creation may need an engine.
 */
void hold_open(struct hold *h, const struct vg_gpu *gpu, void *user,
	       uint64_t bytes);
/* Second step of hold_engines(): submit one job, and do not wait for the start of the job. */
void hold_add_job(struct hold *h);
/*
 * Occupy all engines: wait until a job runs on each. The jobs use @bytes bytes at @user
 * (page-aligned or NULL). An error ends the case.
 */
void hold_engines(struct hold *h, const struct vg_gpu *gpu, void *user,
		  uint64_t bytes);
/* Let the jobs of @h complete: write the word that they poll. */
void hold_let_go(struct hold *h);
/*
 * Return the number of pending jobs on the kernel's ring of SDMA engine @engine. A job is pending
 * until its fence signals.
 */
unsigned long hold_pending(const struct vg_gpu *gpu, uint32_t engine);
/*
 * Return the state of thread @tid of this process as one of the letters of proc(5): 'R', 'S',
 * 'D', ...
 */
char hold_thread_state(int tid);
/*
 * Return true if thread @tid of this process is blocked in the ioctl @request. Return false if the
 * thread runs or is blocked elsewhere.
 */
bool hold_thread_in_ioctl(int tid, unsigned long request);
/* Wait until thread @tid of this process is in uninterruptible sleep. */
void hold_await_sleep(int tid);
/*
 * Run tap_main() with an engine lockup timeout (vgpu_kfd.lockup_timeout) longer than
 * any held job, so that the driver does not treat the job as a hang.
 */
int hold_main(const struct tap_case *cases, int n, int argc, char **argv);

#endif /* HOLD_H */
