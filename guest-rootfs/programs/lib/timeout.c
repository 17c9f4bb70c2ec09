// SPDX-License-Identifier: GPL-2.0-or-later
/* Clock, sleep, and time limits. timeout.h describes the functions. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "timeout.h"

#define REFERENCE_MS	30000
#define UNSCALED_MS	60000
#define MOST_SCALE	4.0
/*
 * WORK_ROUNDS is the number of rounds of work(); WORK_NS is the time in ns that these rounds take
 * on the reference machine.
 */
#define WORK_ROUNDS	150000000u
#define WORK_NS		280000000ull

uint64_t vg_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

void vg_sleep_us(unsigned int us)
{
	struct timespec t = {
		.tv_sec = us / 1000000,
		.tv_nsec = us % 1000000 * 1000l,
	};

	nanosleep(&t, NULL);
}

static double known_scale(void)
{
	const char *s = getenv("VGPU_TEST_SCALE");
	double scale = s ? atof(s) : 0;

	return scale < MOST_SCALE ? scale : MOST_SCALE;
}

int vg_timeout_ms(void)
{
	double scale = known_scale();

	return scale < 1 ? UNSCALED_MS : (int)(REFERENCE_MS * scale);
}

uint64_t vg_deadline(void)
{
	return vg_now() + VG_TIMEOUT_MS * 1000000ull;
}

/*
 * Run the loop of tools/vgpu_tools/testing/limits.py, so that guest and host measure the same work.
 */
static void work(unsigned int rounds)
{
	unsigned int sum = 0;

	asm volatile("1:	addl %0, %1\n"
		     "	decl %0\n"
		     "	jnz 1b" : "+r"(rounds), "+m"(sum) : : "cc");
}

bool vg_scale_again(void)
{
	struct sched_param first = { .sched_priority = 1 }, normal = { 0 };
	double known = known_scale(), scale;
	uint64_t start;
	char buf[16];

	if (known < 1)
		return false;
	/*
	 * Use real-time priority, so that the time of other tasks on this CPU of the guest is not
	 * measured.
	 */
	sched_setscheduler(0, SCHED_FIFO, &first);
	start = vg_now();
	work(WORK_ROUNDS);
	scale = (double)(vg_now() - start) / WORK_NS;
	sched_setscheduler(0, SCHED_OTHER, &normal);
	if (scale <= known)
		return false;
	snprintf(buf, sizeof(buf), "%.2f",
		 scale < MOST_SCALE ? scale : MOST_SCALE);
	setenv("VGPU_TEST_SCALE", buf, 1);
	return known < MOST_SCALE;
}
