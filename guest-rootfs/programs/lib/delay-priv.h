/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Between delay.c and delay-wrap.c.
 */
#ifndef DELAY_PRIV_H
#define DELAY_PRIV_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

enum { DELAY_OFF, DELAY_RANDOM, DELAY_AT_POINT };

/* What a call is for VGPU_TEST_DELAY_POINT. */
enum delay_kind {
	DELAY_UNCOUNTED,	/* no point: random delays only */
	DELAY_DEVICE,		/* a point */
	DELAY_PEER,		/* a point, and the case has a peer */
};

/* Where a process or a thread begins. */
struct delay_origin {
	uint64_t rng, path;
};

extern int delay_mode;

int __real_clock_nanosleep(clockid_t clock, int flags,
			   const struct timespec *at, struct timespec *left);

/* @frame: of the wrapper. errno stays. */
void delay_before(void *frame, const char *what, enum delay_kind kind);
void delay_after(void);
/* A call that reads or writes @fd. */
enum delay_kind delay_kind_of_file(int fd);
/* Whether this is the process of the case, and not one of its children. */
bool delay_is_root(void);
struct delay_origin delay_fork_origin(void *frame, const char *what);
/* In the new process (@root NULL) or thread. */
void delay_enter(const struct delay_origin *o, void *root, void *base);

#endif /* DELAY_PRIV_H */
