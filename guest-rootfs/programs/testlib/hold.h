/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Jobs of the render node that keep the kernel's rings of the SDMA engines until the
 * test lets them go. What the driver queues behind them waits, and so does whoever
 * takes pages away that the jobs name: both last until the test releases them.
 */
#ifndef HOLD_H
#define HOLD_H

#include "render.h"
#include "tap.h"

/* The driver's copies use one engine for each direction; jobs go to any. */
enum { HOLD_OUT_OF_VRAM, HOLD_INTO_VRAM, HOLD_ENGINES };

/**
 * struct hold - jobs that poll a word of memory, one on each engine
 * @fd: render node, a file of its own
 * @ib: the packets of all
 * @flag: the word, then one for each job that runs
 * @jobs: how many there are
 * @handles: what each job names
 * @n_handles: how many that are
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
 * The two steps of hold_engines(): what the jobs need, which may take the driver's copies
 * to make; and one job, which need not have begun on return.
 */
void hold_open(struct hold *h, const struct vg_gpu *gpu, void *user,
	       uint64_t bytes);
void hold_add_job(struct hold *h);
/*
 * Jobs run on all engines when this returns. They name @user, page-aligned memory
 * of @bytes bytes, unless that is NULL. Ends the case on an error.
 */
void hold_engines(struct hold *h, const struct vg_gpu *gpu, void *user,
		  uint64_t bytes);
void hold_let_go(struct hold *h);
/* Jobs on the kernel's ring of @engine that have not ended. */
unsigned long hold_pending(const struct vg_gpu *gpu, uint32_t engine);
/* State of thread @tid of this process, as in proc(5): 'R', 'S', 'D', ... */
char hold_thread_state(int tid);
/* Waits until thread @tid of this process sleeps and cannot be interrupted. */
void hold_await_sleep(int tid);
/*
 * tap_main() with an engine's lockup timeout (vgpu_kfd.lockup_timeout) that no held
 * job reaches: it would be taken for a hang.
 */
int hold_main(const struct tap_case *cases, int n, int argc, char **argv);

#endif /* HOLD_H */
