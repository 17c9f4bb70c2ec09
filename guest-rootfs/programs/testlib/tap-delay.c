// SPDX-License-Identifier: GPL-2.0-or-later
/* Run a case, and repeat it with delays. tap-delay.h describes the functions. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "delay.h"
#include "tap-delay.h"

/* Limit of runs for one delay point: run_each() repeats a run that has not reached its point. */
#define ATTEMPTS	2

typedef int run_fn(const struct tap_case *c);

/*
 * IDs of the delay points that the runs of the case have reached, in the order of the first hits.
 */
static uint64_t known[DELAY_POINTS];
static int n_known;
static int reported, failed;
/* Why the case was skipped: REASON bytes that tap_delay_start() shares with all later processes. */
static char *reason;
#define REASON	VG_PAGE

bool tap_delay_each(void)
{
	const char *mode = delay_point_mode();

	return mode && !strcmp(mode, "each");
}

void tap_delay_skip(const char *fmt, va_list ap)
{
	vsnprintf(reason, REASON, fmt, ap);
}

void tap_delay_start(int planned)
{
	reason = mmap(NULL, REASON, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(reason != MAP_FAILED, "mmap: %s", strerror(errno));
	printf("TAP version 13\n");
	if (!tap_delay_each())
		printf("1..%d\n", planned);
	if (delay_seed())
		tap_diag("VGPU_TEST_DELAYS=%s", delay_seed());
}

int tap_delay_end(void)
{
	if (tap_delay_each())
		printf("1..%d\n", reported);
	return failed ? 1 : 0;
}

static void report(int r, uint64_t start, const char *name, const char *more)
{
	failed += r == 1;
	printf("%s %d - %s%s%s%s\n", r == 1 ? "not ok" : "ok", ++reported,
	       name, more, r == EXIT_SKIP ? " # SKIP " : "",
	       r == EXIT_SKIP ? reason : "");
	printf("# %.3f s\n", (double)(vg_now() - start) / 1e9);
	fflush(stdout);
}

static bool is_known(uint64_t id)
{
	int i;

	for (i = 0; i < n_known; i++)
		if (known[i] == id)
			return true;
	return false;
}

/*
 * Add to known[] the delay points that the last run has reached. Called after each run: a run that
 * fails early does not reach all the points.
 */
static void add_points(void)
{
	unsigned int i, n = delay_count();

	for (i = 1; i <= n && n_known < DELAY_POINTS; i++)
		if (!is_known(delay_get(i)->id))
			known[n_known++] = delay_get(i)->id;
}

/* Print which point was delayed. Return false if no point was delayed. */
static bool print_delayed_point(void)
{
	unsigned int i, j, n = delay_count();

	for (i = 1; i <= n; i++) {
		const struct delay_point *p = delay_get(i);
		char path[DELAY_FRAMES * 20] = "";
		size_t at = 0;

		if (!p->hits)
			continue;
		for (j = 0; j < DELAY_FRAMES && p->pc[j]; j++)
			at += (size_t)snprintf(path + at, sizeof(path) - at,
					       " %#lx", p->pc[j]);
		tap_diag("delay point %u of %u: %s, 0x%016lx, %u times, at%s", i,
			 n, p->what, p->id, p->hits, path);
		return true;
	}
	return false;
}

static void run_each(const struct tap_case *c, run_fn *run)
{
	uint64_t start = vg_now();
	int i, r, attempt;
	char more[48];

	tap_diag("case %s", c->name);
	n_known = 0;
	delay_prepare(0, 0);
	r = run(c);
	tap_diag("delay points: %u, %s", delay_count(),
		 delay_has_peers() ? "with peers" : "alone");
	report(r, start, c->name, ", no delay");
	if (r || !delay_has_peers())
		return;
	add_points();
	for (i = 0; i < n_known; i++) {
		start = vg_now();
		for (attempt = 0; attempt < ATTEMPTS; attempt++) {
			delay_prepare(known[i], 0);
			r = run(c);
			add_points();
			if (print_delayed_point() || r)
				break;
		}
		if (attempt == ATTEMPTS)
			tap_diag("delay point 0x%016lx was not reached",
				 known[i]);
		snprintf(more, sizeof(more), ", delay 0x%016lx", known[i]);
		report(r, start, c->name, more);
	}
}

void tap_delay_run(const struct tap_case *c, run_fn *run)
{
	const char *mode = delay_point_mode();
	uint64_t start = vg_now();
	bool by_id;
	int r;

	if (tap_delay_each()) {
		run_each(c, run);
		return;
	}
	if (mode && strcmp(mode, "count")) {
		by_id = !strncmp(mode, "0x", 2);
		delay_prepare(by_id ? strtoull(mode, NULL, 0) : 0,
			      by_id ? 0 : (unsigned int)atoi(mode));
	} else {
		delay_prepare(0, 0);
	}
	r = run(c);
	if (mode && strcmp(mode, "count") && !print_delayed_point())
		tap_diag("delay point %s was not reached", mode);
	if (mode && !strcmp(mode, "count"))
		tap_diag("delay points: %u, %s", delay_count(),
			 delay_has_peers() ? "with peers" : "alone");
	report(r, start, c->name, "");
}
