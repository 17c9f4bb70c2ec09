/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Delays at calls that synchronise, to reveal wrong assumptions about order. A delay point, or
 * point, is identified by a wrapped call (delay_wrap.c) and the chain of callers.
 */
#ifndef DELAY_H
#define DELAY_H

#include <stdbool.h>
#include <stdint.h>

#define DELAY_FRAMES	4
/* maximum number of delay points in one case; delay.c ignores all further points */
#define DELAY_POINTS	1024

/**
 * struct delay_point - a delay point that a process of the case has reached
 */
struct delay_point {
	/**
	 * @id: 0 in a free entry; otherwise a hash, the same in each run of one build. The hash
	 * covers @what, @pc and the ID of the point at which the process or thread was created
	 */
	uint64_t id;
	/** @what: name of the wrapped call */
	const char *what;
	/** @hits: how often the point was reached, if it is the selected point; otherwise 0 */
	uint32_t hits;
	/**
	 * @pc: return addresses that led to the call, the innermost first. If there are more than
	 * DELAY_FRAMES, only the outermost ones are kept. Unused elements are 0
	 */
	uintptr_t pc[DELAY_FRAMES];
};

/*
 * Return the value of VGPU_TEST_DELAYS: the seed of random delays before and after wrapped calls.
 * Return NULL if the variable is empty or not set.
 */
const char *delay_seed(void);
/*
 * Return the value of VGPU_TEST_DELAY_POINT, or NULL if it is empty or not set:
 *
 *   count  print the number of points of each case
 *   K      delay at the K-th point of each case
 *   0xID   delay at the point with this ID
 *   each   run each case once for each of its points
 */
const char *delay_point_mode(void);

/*
 * Clear the table of points, and select the point to delay. Called before a case is forked.
 *
 *   @id != 0, @number == 0  select the point with the ID @id
 *   @id == 0, @number != 0  select the point that delay_get(@number) will return
 *   both 0                  select no point
 */
void delay_prepare(uint64_t id, unsigned int number);
/*
 * Start the delays in the process of case @name. @frame is the frame address of the function F
 * that calls the case's function. Each backtrace (delay_point.pc) of the calling thread ends with
 * the return address into F, or into a function that F has called.
 */
void delay_begin(const char *name, void *frame);
/* Return the number of points that the case reached. */
unsigned int delay_count(void);
/*
 * Return the point with @number, between 1 and delay_count(). Points are numbered in the order in
 * which the processes and threads of the case first reach them.
 */
const struct delay_point *delay_get(unsigned int number);
/*
 * Return true if a process of the case synchronised with another process, a thread or a
 * timer.
 */
bool delay_has_peers(void);

#endif /* DELAY_H */
