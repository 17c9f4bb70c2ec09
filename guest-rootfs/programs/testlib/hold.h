/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Jobs of the render node that occupy the kernel's SDMA rings until the test releases the jobs.
 * Commands that the driver queues later on these rings wait for the jobs. If the jobs use user
 * pages, an invalidation of these pages also waits for the jobs.
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
 * struct hold - jobs, one on each engine, that poll a word of memory
 * @fd: open file of the render node, which only this structure uses
 * @ib: packets of all jobs
 * @flag: BO with the polled word, followed by one word for each job, which the job sets to 1
 * when it starts
 * @jobs: number of jobs
 * @handles: GEM handles of the BOs that each job uses
 * @n_handles: number of @handles
 */
struct hold {
	int fd;
	struct vr_ib ib;
	struct vr_bo flag;
	unsigned int jobs;
	uint32_t handles[3];
	unsigned int n_handles;
};

/*
 * The two steps of hold_engines(). hold_open() creates the BOs of @h. For this, the driver may need
 * to run copies on the engines, so open every hold before jobs occupy the engines. hold_add_job()
 * submits one job and does not wait for its start.
 */
void hold_open(struct hold *h, const struct vg_gpu *gpu, void *user,
	       uint64_t bytes);
void hold_add_job(struct hold *h);
/*
 * Occupy all engines: when the function returns, a job runs on each engine. The jobs use
 * @user, page-aligned memory of @bytes bytes, unless @user is NULL. An error ends the case.
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
