/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of vgpu-demo, and the report that these parts write. */
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
 */
struct demo {
	struct vg vg;
	/** @gpu: the first GPU, on which all parts run */
	struct vg_gpu *gpu;
	struct vg_queue queue;
	struct vg_mem_info mem;
	/** @xfer: size of the transfers in bytes, which depends on the size of VRAM */
	uint64_t xfer;
	/** @failures: number of failed steps */
	int failures;
	/** @usage: rows of the memory usage table of part 2 */
	struct usage usage[MAX_USAGE];
	int n_usage;
	/** @step_start: vg_now() at the start of the current step */
	uint64_t step_start;
	/** @step_counters: counters of the device at the start of the current step */
	struct vg_counters step_counters;
};

/* The parts. Each part reports its steps and stops at the first step that fails. */
void part_copy(struct demo *d);
void part_pressure(struct demo *d);
void part_fault_and_migrate(struct demo *d);
void part_no_retry(struct demo *d);

/* report.c: the table of steps, printed step by step. */
void report_open(const struct demo *d);
void report_part(const char *title);
void step_begin(struct demo *d);
/*
 * End the step with result @r (0 or -errno with vg_error() set) and print its row.
 * Return @r.
 */
int step_end(struct demo *d, const char *step, const char *what, int r);
void report_close(struct demo *d);

/* Print the table of memory usage that part_pressure() has recorded. */
void report_usage(const struct demo *d);

/*
 * Print a table that compares the increase of device counters since @dev with that of driver
 * counters since @drv. Count each row that differs as a failure.
 */
void report_agreement(struct demo *d, const struct vg_counters *dev,
		      const struct vg_counters *drv);

/* child.c: a child process that executes one command of its parent at a time. */

/**
 * struct child - the parent's view of a child process
 * @to: pipe on which the parent writes commands
 * @from: pipe on which the parent reads results
 */
struct child {
	pid_t pid;
	int to, from;
};

/* Execute one command in the child. Return 0, or -errno with vg_error() set. */
typedef int (*child_fn)(void *state, char command);

/*
 * Fork a child that executes commands with @fn until the parent closes the pipe. The child
 * has its own copy of @state.
 */
int child_start(struct child *p, child_fn fn, void *state);
/* Send @command and return its result. If @command fails, vg_error() returns the child's error. */
int child_request(struct child *p, char command);
/*
 * End the child. Return 0, -ECHILD if the child failed, or -ETIMEDOUT if the child did not end in
 * time and was killed.
 */
int child_stop(struct child *p);

#endif /* DEMO_H */
