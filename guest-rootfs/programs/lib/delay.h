/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Delays at calls that synchronise, to reveal wrong assumptions about order. Every program is
 * linked with --wrap for these calls (programs/Makefile).
 *
 * A delay point, or point, is a wrapped call together with the path that led to the call. (Calls of
 * kind DELAY_UNCOUNTED are not points.) The path consists of return addresses. The innermost is
 * that of the call's wrapper. The outermost is:
 *
 *   in the case's process  the return address of the case's function
 *   in a thread            that of run_thread() (delay_wrap.c), which calls the thread's function
 *   in a forked process    an address in the function that called fork(). After this function has
 *                          returned, the same as in the thread that called fork()
 *
 * Only the outermost DELAY_FRAMES addresses belong to the path.
 *
 * The ID of a point is a hash of the call and its path. In a forked process or a thread, the hash
 * includes the ID of the point at which the process or thread was created. The ID is the same in
 * each run of one build. The number K of a point is its index, from 1, in the order in which the
 * case first reaches its points. All processes and threads of the case share this count.
 *
 * A wrapper costs one branch unless one of these environment variables is set:
 *
 *   VGPU_TEST_DELAYS=SEED        random delays before and after wrapped calls
 *   VGPU_TEST_DELAY_POINT=count  print the number of points of each case
 *   VGPU_TEST_DELAY_POINT=K|0xID a delay at the K-th point of each case, or at the point of that ID
 *   VGPU_TEST_DELAY_POINT=each   run each case once for each of its points
 */
#ifndef DELAY_H
#define DELAY_H

#include <stdbool.h>
#include <stdint.h>

#define DELAY_FRAMES	4
/* maximum number of delay points (see above) in one case; delay.c ignores all further points */
#define DELAY_POINTS	1024

/**
 * struct delay_point - a point that a process of the case has reached
 * @id: ID of the point (see above); 0 if this entry of the table is free
 * @what: name of the wrapped call
 * @hits: how often the point was reached, if it is the selected point; otherwise 0
 * @pc: return addresses of the path, innermost first; unused elements are 0
 */
struct delay_point {
	uint64_t id;
	const char *what;
	uint32_t hits;
	uintptr_t pc[DELAY_FRAMES];
};

/* Return the value of VGPU_TEST_DELAYS, or NULL. */
const char *delay_seed(void);
/* Return the value of VGPU_TEST_DELAY_POINT (see above), or NULL if it is empty or not set. */
const char *delay_point_mode(void);

/*
 * Clear the table of points, and select the point to delay. @id is the point's ID and @number is 0,
 * or @number is the point's number K (see above) and @id is 0. If both are 0, no point is delayed.
 * The runner calls this function before it forks the process of a case.
 */
void delay_prepare(uint64_t id, unsigned int number);
/*
 * Start the delays in the process of case @name. @frame is the frame address of the function that
 * calls the case's function. To find the path to a point, delay.c walks from the point up to this
 * frame. So the outermost address of the path is the return address of the case's function.
 */
void delay_begin(const char *name, void *frame);
/* Return the number of points that the case reached. */
unsigned int delay_count(void);
/* Return the point with @number, which is between 1 and delay_count(). */
const struct delay_point *delay_get(unsigned int number);
/*
 * Return true if a process of the case synchronised with another process, a thread or a
 * timer.
 */
bool delay_has_peers(void);

#endif /* DELAY_H */
