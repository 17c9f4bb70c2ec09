/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Declarations that delay.c and delay_wrap.c share. */
#ifndef DELAY_PRIV_H
#define DELAY_PRIV_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <time.h>

enum { DELAY_OFF, DELAY_RANDOM, DELAY_AT_POINT };

/*
 * Kinds of wrapped calls. DELAY_RANDOM delays calls of all kinds. For DELAY_AT_POINT, only calls of
 * the last two kinds are delay points (delay.h).
 */
enum delay_kind {
	DELAY_UNCOUNTED,	/* call of neither kind below */
	DELAY_DEVICE,		/* ioctl of KFD or DRM */
	DELAY_PEER,		/* call that synchronises with a process, thread or timer */
};

/* State that a new process or thread inherits from its creator. */
struct delay_origin {
	uint64_t rng, path;
};

extern int delay_mode;

/*
 * With the linker option --wrap=X, calls of X go to __wrap_X. The name __real_X stands for the
 * original X.
 */
int __real_clock_nanosleep(clockid_t clock, int flags,
			   const struct timespec *at, struct timespec *left);
int __real_ioctl(int fd, unsigned long request, ...);
int __wrap_ioctl(int fd, unsigned long request, ...);
long __real_ptrace(enum __ptrace_request request, ...);
long __wrap_ptrace(enum __ptrace_request request, ...);
pid_t __real_fork(void);
pid_t __wrap_fork(void);
int __real_pthread_create(pthread_t *id, const pthread_attr_t *attr,
			  void *(*fn)(void *), void *arg);
int __wrap_pthread_create(pthread_t *id, const pthread_attr_t *attr,
			  void *(*fn)(void *), void *arg);
void __real__exit(int status) __attribute__((noreturn));
void __wrap__exit(int status) __attribute__((noreturn));

/*
 * Delay a wrapped call: the wrapper calls delay_before() before the call and delay_after() after
 * the call. Both functions may sleep, and both preserve errno. @frame is the wrapper's frame
 * address. @what is the call's name, "child", "thread" or "thread's end".
 */
void delay_before(void *frame, const char *what, enum delay_kind kind);
void delay_after(void);
/* Return the kind of a call that reads or writes @fd. */
enum delay_kind delay_kind_of_file(int fd);
/*
 * Return true in the process in which the case's function runs, false in its children. If
 * VGPU_TEST_DELAY_POINT is not set, return false in all processes.
 */
bool delay_is_root(void);
struct delay_origin delay_fork_origin(void *frame, const char *what);
/*
 * Set the variable `me` of delay.c in a new process or thread. @o comes from delay_fork_origin().
 * @base becomes me.base; @root, unless NULL, becomes me.root.
 */
void delay_enter(const struct delay_origin *o, void *root, void *base);

#endif /* DELAY_PRIV_H */
