// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Part 5: XNACK is off. A queue of a child process accesses memory that was never mapped for
 * the GPU. The driver must stop the child's queue and report the fault, while the parent's
 * queue continues.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "demo.h"

#define BYTES		(4 * VG_MIB)
#define SEED		0x55
#define UNTOUCHED	0x5a5a5a5au
#define REPORT_MS	(VG_TIMEOUT_MS / 3)	/* time limit in ms for the report of the fault */
#define SILENCE_MS	500	/* time in ms in which a stopped queue must make no progress */

/**
 * struct victim - the child process
 * @memory: memory from malloc, which is not mapped for the GPU
 */
struct victim {
	struct vg vg;
	struct vg_queue queue;
	struct vg_bo dst;
	void *memory;
	uint32_t fence;
};

static int victim_open(struct victim *v)
{
	int r = vg_open(&v->vg);

	if (r)
		return r;
	r = vg_set_xnack(&v->vg, 0);
	if (r)
		return r < 0 ? r : vg_fail(-EPROTO, "XNACK stays on");
	v->memory = malloc(BYTES);
	if (!v->memory)
		return vg_fail(-ENOMEM, "malloc");
	vg_pattern_fill(v->memory, BYTES, SEED, 0);
	return vg_queue_create(&v->vg, &v->vg.gpu[0], 4 * VG_KIB, &v->queue) ?:
	       vg_bo_create(&v->vg, &v->vg.gpu[0], BYTES, VG_GTT, &v->dst);
}

/*
 * Fill dst by the queue, as victim_check_stopped() expects. Then submit a copy that must fail: its
 * source is not mapped for the GPU.
 */
static int victim_access(struct victim *v)
{
	int r = vg_fill(&v->queue, v->dst.cpu, UNTOUCHED, BYTES);
	struct vg_tally before;

	if (r)
		return r;
	before = *vg_tally();
	r = vg_emit_copy(&v->queue, v->dst.va, (uintptr_t)v->memory, BYTES) ?:
	    vg_emit_fence(&v->queue, &v->fence);
	/*
	 * vg_emit_copy() has added BYTES to the tally. Undo this, because the device copies none of
	 * these bytes.
	 */
	*vg_tally() = before;
	vg_queue_submit(&v->queue);
	return r;
}

static int victim_check_stopped(struct victim *v)
{
	uint32_t again;
	int r;

	if (vg_wait(&v->queue, v->fence, SILENCE_MS) != -ETIMEDOUT)
		return vg_fail(-EPROTO, "the failed copy's fence was written");
	r = vg_fill_check(v->dst.cpu, BYTES, UNTOUCHED) ?:
	    vg_emit_fence(&v->queue, &again);
	if (r)
		return r;
	vg_queue_submit(&v->queue);
	if (vg_wait(&v->queue, again, SILENCE_MS) != -ETIMEDOUT)
		return vg_fail(-EPROTO, "the stopped queue still takes work");
	return 0;
}

static int victim_serve(void *state, char command)
{
	struct victim *v = state;

	switch (command) {
	case 'o': return victim_open(v);
	case 'a': return victim_access(v);
	case 's': return victim_check_stopped(v);
	case 'd': return vg_queue_destroy(&v->queue) ?: vg_bo_free(&v->dst);
	}
	return vg_fail(-EINVAL, "child command '%c'", command);
}

/*
 * Read the new lines of the kernel log. If a line reports a fault of @pid, store this line in @line
 * and return true.
 */
static bool log_names(int kmsg, pid_t pid, char *line, size_t size)
{
	char record[1024], want[32];
	ssize_t n;

	snprintf(want, sizeof(want), "pid %d", pid);
	while ((n = read(kmsg, record, sizeof(record) - 1)) > 0 ||
	       (n < 0 && errno == EPIPE)) {
		char *text, *at;

		if (n < 0)
			continue;
		record[n] = 0;
		text = strchr(record, ';');
		at = text ? strstr(text, want) : NULL;
		if (!at || !strstr(text, "fault") ||
		    (at[strlen(want)] >= '0' && at[strlen(want)] <= '9'))
			continue;
		text[1 + strcspn(text + 1, "\n")] = 0;
		snprintf(line, size, "%s", text + 1);
		return true;
	}
	return false;
}

static uint64_t unrepaired(struct demo *d)
{
	struct vg_counters c;

	if (vg_driver_counters(d->gpu, &c))
		return 0;
	return vg_counter(&c, "faults_unrepaired", NULL);
}

static int wait_report(struct demo *d, int kmsg, pid_t pid, uint64_t before,
		       char *line, size_t size)
{
	uint64_t deadline = vg_now() + REPORT_MS * 1000000ull;
	bool logged = false;

	while (vg_now() < deadline) {
		logged = logged || log_names(kmsg, pid, line, size);
		if (logged && unrepaired(d) == before + 1)
			return 0;
		vg_sleep_us(2000);
	}
	return vg_fail(-ETIMEDOUT, "%s; the driver counts %lu such faults, not 1",
		       logged ? "it is in the kernel log" :
		       "no line of the kernel log names the process",
		       unrepaired(d) - before);
}

/* Copy on the parent's queue, which must work after the child's queue was stopped. */
static int carry_on(struct demo *d)
{
	struct vg_bo a = { 0 }, b = { 0 };
	int r;

	r = vg_bo_create(&d->vg, d->gpu, BYTES, VG_VRAM, &a) ?:
	    vg_bo_create(&d->vg, d->gpu, BYTES, VG_GTT, &b);
	if (!r) {
		vg_pattern_fill(a.cpu, BYTES, SEED + 1, 0);
		r = vg_copy(&d->queue, b.cpu, a.cpu, BYTES) ?:
		    vg_pattern_check(b.cpu, BYTES, SEED + 1, 0);
	}
	return r ?: vg_bo_free(&a) ?: vg_bo_free(&b);
}

static void run(struct demo *d, struct child *child, int kmsg, char *line,
		size_t size)
{
	uint64_t before = unrepaired(d);
	int r;

	step_begin(d);
	r = child_request(child, 'o') ?: child_request(child, 'a') ?:
	    wait_report(d, kmsg, child->pid, before, line, size);
	if (step_end(d, "5.1", "a child's engine reads foreign memory: reported",
		     r))
		return;
	step_begin(d);
	if (step_end(d, "5.2", "its queue has stopped, its buffer is untouched",
		     child_request(child, 's')))
		return;
	step_begin(d);
	if (step_end(d, "5.3", "this process's queue goes on", carry_on(d)))
		return;
	step_begin(d);
	step_end(d, "5.4", "the stopped queue can be destroyed",
		 child_request(child, 'd'));
}

void part_no_retry(struct demo *d)
{
	struct victim v = { 0 };
	struct vg_mem_info before;
	struct child child;
	char line[256] = "";
	int r, kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	report_part("5. The same kind of access, XNACK off");
	step_begin(d);
	r = kmsg < 0 ? vg_fail(-errno, "cannot open /dev/kmsg") :
	    lseek(kmsg, 0, SEEK_END) < 0 ? vg_fail(-errno, "/dev/kmsg") :
	    vg_mem_info(d->gpu, &before) ?:
	    child_start(&child, victim_serve, &v);
	if (r) {
		step_end(d, "5.0", "a child process", r);
		goto out;
	}
	run(d, &child, kmsg, line, sizeof(line));
	if (line[0])
		printf("│ kernel log: %s\n", line);
	step_begin(d);
	r = child_stop(&child) ?:
	    vg_mem_wait_freed(d->gpu, &before, VG_TIMEOUT_MS) ?: carry_on(d);
	step_end(d, "5.5", "child ends, its memory is back, the GPU still works",
		 r);
out:
	if (kmsg >= 0)
		close(kmsg);
}
