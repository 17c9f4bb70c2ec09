/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-demo: its parts, and the report they write into.
 */
#ifndef DEMO_H
#define DEMO_H

#include <sys/types.h>

#include "vg.h"

/* A row of the memory usage table of part 2. */
struct usage {
	const char *when;
	struct vg_mem_info mem;
};

#define MAX_USAGE 8

/**
 * struct demo - one run
 * @gpu: the GPU it runs on, the first one
 * @xfer: bytes of the transfers, adapted to the VRAM there is
 * @failures: steps that did not hold
 * @usage: what part 2 saw
 * @step_*: state at the start of the current step
 */
struct demo {
	struct vg vg;
	struct vg_gpu *gpu;
	struct vg_queue queue;
	struct vg_mem_info mem;
	uint64_t xfer;
	int failures;
	struct usage usage[MAX_USAGE];
	int n_usage;
	uint64_t step_start;
	struct vg_counters step_counters;
};

/* The parts; each reports its steps and stops at the first that fails. */
void part_copy(struct demo *d);
void part_pressure(struct demo *d);
void part_fault_and_migrate(struct demo *d);
void part_no_retry(struct demo *d);

/* report.c: streamed table of steps. */
void report_open(const struct demo *d);
void report_part(const char *title);
void step_begin(struct demo *d);
/*
 * Closes the step with result @r (0 or -errno with vg_error() set) and prints
 * its row. Returns @r.
 */
int step_end(struct demo *d, const char *step, const char *what, int r);
void report_close(struct demo *d);

/* The memory usage table of part 2. */
void report_usage(const struct demo *d);

/*
 * Device's counts beside the driver's, both since @dev and @drv were taken.
 * Waits for both sides to come to rest. Counts a failure per row that differs.
 */
void report_agreement(struct demo *d, const struct vg_counters *dev,
		      const struct vg_counters *drv);

/* child.c: a child process that does one thing at a time for its parent. */

/**
 * struct child - the child, from the parent's side
 */
struct child {
	pid_t pid;
	int to, from;
};

/* Runs in the child for each command; 0 or -errno with vg_error() set. */
typedef int (*child_fn)(void *state, char command);

/*
 * Forks. The child serves commands with @fn until the pipe closes. @state is
 * the child's copy.
 */
int child_start(struct child *p, child_fn fn, void *state);
/* Sends @command, waits for its result; the child's sentence in vg_error(). */
int child_request(struct child *p, char command);
/* Ends the child; -ECHILD if it did not end well. */
int child_stop(struct child *p);

#endif /* DEMO_H */
