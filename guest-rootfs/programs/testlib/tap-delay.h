/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Run a case once. If VGPU_TEST_DELAY_POINT is "each", run it again for each of its delay points
 * (delay.h).
 */
#ifndef TAP_DELAY_H
#define TAP_DELAY_H

#include <stdarg.h>

#include "tap.h"

#define EXIT_SKIP	77

/*
 * Return true if VGPU_TEST_DELAY_POINT is "each". The TAP plan then comes last, because the number
 * of results is known only at the end.
 */
bool tap_delay_each(void);
/*
 * Set the reason of a skipped case, which its result shows. Called in a process of the case, before
 * it exits with EXIT_SKIP.
 */
void tap_delay_skip(const char *fmt, va_list ap);
/* Print the TAP version and, unless VGPU_TEST_DELAY_POINT is "each", the plan of @planned cases. */
void tap_delay_start(int planned);

/*
 * Run the case @c by @run(@c), and print the result. @run returns 0 (passed), 1 (failed) or
 * EXIT_SKIP.
 *
 * If tap_delay_each() is true and the first run passes, run the case again for each delay point,
 * and print a result for each. A case for which delay_has_peers() is false runs only once.
 */
void tap_delay_run(const struct tap_case *c,
		   int (*run)(const struct tap_case *c));
/* Print the plan if tap_delay_start() did not print it. Return the exit status. */
int tap_delay_end(void);

#endif /* TAP_DELAY_H */
