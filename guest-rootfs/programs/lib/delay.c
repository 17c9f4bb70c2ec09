// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Delays around the calls that delay_wrap.c wraps: random delays at all calls, or delays at
 * one selected point. delay.h explains what a point is.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "delay.h"
#include "delay_priv.h"

#define POINT_NS	300000000
#define POINT_TIMES	3	/* maximum number of delays at one point in a case */
#define BUDGET_US	10000000	/* maximum sum of a case's random delays, in us */

/* State that the processes of a case share. */
struct shared {
	uint64_t target;		/* ID of the point to delay */
	uint32_t target_number;
	uint32_t peers;
	uint64_t spent_us;
	struct delay_point point[DELAY_POINTS];
};

int delay_mode;

static const char *seed_text, *point_text;
static struct shared *shared;
static pid_t root_pid;

static __thread struct {
	uint64_t rng;
	/*
	 * ID of the point (delay.h) at which this process or thread was created, or 0 in the first
	 * process of a case.
	 */
	uint64_t path;
	/*
	 * @root: frame address of the function that called delay_begin() and then tap_case.fn. In a
	 * thread: frame address of the function that called run_thread().
	 *
	 * @base: frame address at which find_path() ends. In the main thread of a forked child,
	 * @base is the frame address of the function F that called fork(). After F has returned in
	 * the child, F's frame no longer exists, and find_path() ends at @root. In all other
	 * threads, @base equals @root.
	 */
	void **root, **base;
} me;

const char *delay_seed(void)
{
	return seed_text;
}

const char *delay_point_mode(void)
{
	return point_text;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

static void __attribute__((constructor)) delay_init(void)
{
	const char *seed = getenv("VGPU_TEST_DELAYS");
	const char *point = getenv("VGPU_TEST_DELAY_POINT");

	seed_text = seed && *seed ? seed : NULL;
	point_text = point && *point ? point : NULL;
	if (!seed_text && !point_text)
		return;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED) {
		perror("no memory for delays");
		_exit(2);
	}
	if (seed_text && !point_text) {
		me.rng = mix(strtoull(seed_text, NULL, 0), 1) | 1;
		delay_mode = DELAY_RANDOM;
	}
}

void delay_prepare(uint64_t id, unsigned int number)
{
	if (!shared)
		return;
	memset(shared, 0, sizeof(*shared));
	shared->target = id;
	shared->target_number = number;
}

void delay_begin(const char *name, void *frame)
{
	if (point_text) {
		root_pid = getpid();
		me.root = frame;
		me.base = frame;
		delay_mode = DELAY_AT_POINT;
	} else if (seed_text) {
		/*
		 * Seed again, so that a case has the same delays alone and in a run of all
		 * cases. The name makes cases differ.
		 */
		me.rng = mix(strtoull(seed_text, NULL, 0), 1);
		while (*name)
			me.rng = mix(me.rng, (uint64_t)*name++);
		me.rng |= 1;
	}
}

unsigned int delay_count(void)
{
	unsigned int n = 0;

	while (shared && n < DELAY_POINTS && shared->point[n].id)
		n++;
	return n;
}

const struct delay_point *delay_get(unsigned int number)
{
	return &shared->point[number - 1];
}

bool delay_has_peers(void)
{
	return shared && shared->peers;
}

/* Sleep for @ns, even if signals interrupt the sleep. */
static void sleep_ns(uint64_t ns)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	ns += (uint64_t)until.tv_nsec;
	until.tv_sec += (time_t)(ns / 1000000000);
	until.tv_nsec = (long)(ns % 1000000000);
	while (__real_clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until,
				      NULL) == EINTR)
		;
}

/* Random delays */

static uint64_t draw(void)
{
	/* me.rng is 0 if libc created this thread without a call of __wrap_pthread_create(). */
	if (!me.rng)
		me.rng = mix(strtoull(seed_text, NULL, 0), 2) | 1;
	me.rng ^= me.rng << 13;
	me.rng ^= me.rng >> 7;
	me.rng ^= me.rng << 17;
	return me.rng >> 11;
}

/*
 * Delay a call at random: of 128 calls on average, 112 have no delay, 5 yield the CPU, 10
 * sleep up to 100 us, and 1 sleeps up to 4 ms.
 */
static void random_delay(void)
{
	uint64_t dice = draw() % 128, us;

	if (dice >= 16)
		return;
	if (dice >= 11) {
		sched_yield();
		return;
	}
	us = 1 + draw() % (dice ? 100 : 4000);
	if (__atomic_load_n(&shared->spent_us, __ATOMIC_RELAXED) > BUDGET_US)
		return;
	__atomic_fetch_add(&shared->spent_us, us, __ATOMIC_RELAXED);
	sleep_ns(us * 1000);
}

/* Points */

/*
 * Store in @pc the return addresses from the wrapper's frame @frame outwards, up to the frame
 * me.base or me.root. Return the number of stored addresses.
 */
static int find_path(void **frame, uintptr_t *pc)
{
	uintptr_t ring[DELAY_FRAMES];
	void **innermost = frame;
	int i, n = 0, kept;

	for (;;) {
		void **next = *frame;

		ring[n++ % DELAY_FRAMES] = (uintptr_t)frame[1];
		if (next == me.base || next == me.root)
			break;
		/*
		 * If @next cannot be an outer frame, code without frame pointers has broken the
		 * chain of frames. Then store only innermost[1], the wrapper's return address.
		 */
		if (next <= frame || next > me.root || (uintptr_t)next % 8) {
			pc[0] = (uintptr_t)innermost[1];
			return 1;
		}
		frame = next;
	}
	/* If there are more than DELAY_FRAMES addresses, keep only the outermost ones. */
	kept = n < DELAY_FRAMES ? n : DELAY_FRAMES;
	for (i = 0; i < kept; i++)
		pc[i] = ring[(n - kept + i) % DELAY_FRAMES];
	return kept;
}

/*
 * Return the index of point @id in the table of points. If @id is not in the table, add it. Return
 * -1 if the table is full.
 */
static int find_slot(uint64_t id, const char *what, const uintptr_t *pc)
{
	int i;

	for (i = 0; i < DELAY_POINTS; i++) {
		struct delay_point *p = &shared->point[i];
		uint64_t free = 0;

		if (__atomic_load_n(&p->id, __ATOMIC_ACQUIRE) == id)
			return i;
		if (p->id)
			continue;
		if (__atomic_compare_exchange_n(&p->id, &free, id, false,
						__ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE)) {
			p->what = what;
			memcpy(p->pc, pc, sizeof(p->pc));
			return i;
		}
		if (free == id)
			return i;
	}
	return -1;
}

static uint64_t point_id(void **frame, const char *what, uintptr_t *pc)
{
	int i, n = find_path(frame, pc);
	uint64_t id = me.path;

	for (i = 0; i < n; i++)
		id = mix(id, pc[i]);
	while (*what)
		id = mix(id, (uint64_t)*what++);
	return id | 1;
}

static void at_point(void **frame, const char *what)
{
	uintptr_t pc[DELAY_FRAMES] = { 0 };
	uint64_t id = point_id(frame, what, pc);
	int slot = find_slot(id, what, pc);

	if (slot < 0 || (shared->target != id &&
			 shared->target_number != (uint32_t)slot + 1))
		return;
	if (__atomic_fetch_add(&shared->point[slot].hits, 1,
			       __ATOMIC_RELAXED) < POINT_TIMES)
		sleep_ns(POINT_NS);
}

/* Functions that delay_wrap.c calls */

void delay_before(void *frame, const char *what, enum delay_kind kind)
{
	int err = errno;

	if (delay_mode == DELAY_RANDOM) {
		random_delay();
	} else if (kind != DELAY_UNCOUNTED) {
		if (kind == DELAY_PEER)
			__atomic_store_n(&shared->peers, 1, __ATOMIC_RELAXED);
		at_point(frame, what);
	}
	errno = err;
}

void delay_after(void)
{
	int err = errno;

	if (delay_mode == DELAY_RANDOM)
		random_delay();
	errno = err;
}

enum delay_kind delay_kind_of_file(int fd)
{
	struct stat st;
	int err = errno;
	bool peer;

	/* The type bits of anonymous inodes (eventfd, KFD's SMI, userfaultfd) are 0. */
	peer = delay_mode == DELAY_AT_POINT && !fstat(fd, &st) &&
	       (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) ||
		!(st.st_mode & S_IFMT));
	errno = err;
	return peer ? DELAY_PEER : DELAY_UNCOUNTED;
}

bool delay_is_root(void)
{
	return getpid() == root_pid;
}

struct delay_origin delay_fork_origin(void *frame, const char *what)
{
	uintptr_t pc[DELAY_FRAMES] = { 0 };
	struct delay_origin o = { 0 };

	if (delay_mode == DELAY_RANDOM)
		o.rng = mix(draw(), 3) | 1;
	else
		o.path = point_id(frame, what, pc);
	return o;
}

void delay_enter(const struct delay_origin *o, void *root, void *base)
{
	me.rng = o->rng;
	me.path = o->path;
	if (root)
		me.root = root;
	me.base = base;
}
