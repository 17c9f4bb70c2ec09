/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The runner's part of VGPU_TEST_DELAY_POINT: see delay.h.
 */
#ifndef TAP_DELAY_H
#define TAP_DELAY_H

#include "tap.h"

/* VGPU_TEST_DELAY_POINT=each: the number of results is known at the end. */
bool tap_delay_each(void);
/*
 * Run @c by @run, or as often as it has points, and give each result to @report,
 * with the time when the run began and what the name of the result ends in.
 */
void tap_delay_run(const struct tap_case *c,
		   int (*run)(const struct tap_case *c),
		   void (*report)(int r, uint64_t start, const char *name,
				  const char *more));

#endif /* TAP_DELAY_H */
