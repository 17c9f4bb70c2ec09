// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Measures how long the host takes to wake a sleeping thread: half of the time in which two threads
 * wake each other by condition variables, as the device's threads are woken. Prints JSON lines like
 * those of vgpu-bench.
 */
#include <pthread.h>
#include <stdio.h>
#include <time.h>

/* Round trips, and how many precede them without a sample. */
enum { TRIPS = 2000, UNMEASURED = 100 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake[2] = { PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER };
static int turn; /* the thread that may run; protected by @lock */

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Sleep until it is the turn of thread @me. The caller holds @lock. */
static void await(int me)
{
	while (turn != me)
		pthread_cond_wait(&wake[me], &lock);
}

/* Wake thread @other. The caller holds @lock, and releases it in await(). */
static void pass(int other)
{
	turn = other;
	pthread_cond_signal(&wake[other]);
}

static void *echo(void *arg)
{
	int i;

	(void)arg;
	pthread_mutex_lock(&lock);
	for (i = 0; i < UNMEASURED + TRIPS; i++) {
		await(1);
		pass(0);
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(void)
{
	static double us[UNMEASURED + TRIPS];
	pthread_t other;
	int i;

	if (pthread_create(&other, NULL, echo, NULL)) {
		fprintf(stderr, "wakeup: no thread\n");
		return 1;
	}
	pthread_mutex_lock(&lock);
	for (i = 0; i < UNMEASURED + TRIPS; i++) {
		double start = now_ns();

		pass(1);
		await(0);
		us[i] = (now_ns() - start) / 2e3;
	}
	pthread_mutex_unlock(&lock);
	pthread_join(other, NULL);
	for (i = UNMEASURED; i < UNMEASURED + TRIPS; i++)
		printf("{\"name\": \"host-wakeup\", \"bytes\": 0, \"value\": %.9g, \"unit\": \"us\"}\n",
		       us[i]);
	return 0;
}
