// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Wrappers of the calls for which programs/Makefile passes --wrap to the linker. If delay_mode
 * is set, a wrapper calls delay_before() and delay_after() around the real call (delay_priv.h).
 */
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "delay_priv.h"

#define FRAME		__builtin_frame_address(0)
#define OFF		__builtin_expect(!delay_mode, 1)

#define WRAP(type, name, kind, params, args)				\
type __real_##name params;						\
type __wrap_##name params;						\
type __wrap_##name params						\
{									\
	type r_;							\
									\
	if (OFF)							\
		return __real_##name args;				\
	delay_before(FRAME, #name, kind);				\
	r_ = __real_##name args;					\
	delay_after();							\
	return r_;							\
}

WRAP(ssize_t, read, delay_kind_of_file(fd), (int fd, void *p, size_t n),
     (fd, p, n))
WRAP(ssize_t, write, delay_kind_of_file(fd), (int fd, const void *p, size_t n),
     (fd, p, n))
WRAP(int, close, DELAY_UNCOUNTED, (int fd), (fd))
WRAP(int, poll, DELAY_PEER, (struct pollfd *p, nfds_t n, int ms), (p, n, ms))
WRAP(pid_t, waitpid, DELAY_PEER, (pid_t pid, int *status, int options),
     (pid, status, options))
WRAP(int, kill, DELAY_PEER, (pid_t pid, int sig), (pid, sig))
WRAP(int, setitimer, DELAY_PEER,
     (__itimer_which_t which, const struct itimerval *new,
      struct itimerval *old), (which, new, old))

WRAP(int, nanosleep, DELAY_UNCOUNTED,
     (const struct timespec *t, struct timespec *left), (t, left))
WRAP(int, clock_nanosleep, DELAY_UNCOUNTED,
     (clockid_t clock, int flags, const struct timespec *t,
      struct timespec *left), (clock, flags, t, left))
WRAP(int, usleep, DELAY_UNCOUNTED, (useconds_t us), (us))

WRAP(void *, mmap, DELAY_UNCOUNTED,
     (void *p, size_t n, int prot, int flags, int fd, off_t at),
     (p, n, prot, flags, fd, at))
WRAP(int, munmap, DELAY_UNCOUNTED, (void *p, size_t n), (p, n))
WRAP(int, mprotect, DELAY_UNCOUNTED, (void *p, size_t n, int prot),
     (p, n, prot))
WRAP(int, madvise, DELAY_UNCOUNTED, (void *p, size_t n, int how), (p, n, how))
WRAP(ssize_t, process_vm_readv, DELAY_UNCOUNTED,
     (pid_t pid, const struct iovec *here, unsigned long n,
      const struct iovec *there, unsigned long m, unsigned long flags),
     (pid, here, n, there, m, flags))
WRAP(ssize_t, process_vm_writev, DELAY_UNCOUNTED,
     (pid_t pid, const struct iovec *here, unsigned long n,
      const struct iovec *there, unsigned long m, unsigned long flags),
     (pid, here, n, there, m, flags))

WRAP(int, sem_wait, DELAY_PEER, (sem_t *s), (s))
WRAP(int, sem_post, DELAY_PEER, (sem_t *s), (s))
WRAP(int, pthread_join, DELAY_PEER, (pthread_t t, void **p), (t, p))
WRAP(int, pthread_kill, DELAY_PEER, (pthread_t t, int sig), (t, sig))
WRAP(int, pthread_mutex_lock, DELAY_UNCOUNTED, (pthread_mutex_t *m), (m))
WRAP(int, pthread_rwlock_rdlock, DELAY_UNCOUNTED, (pthread_rwlock_t *l), (l))
WRAP(int, pthread_rwlock_wrlock, DELAY_UNCOUNTED, (pthread_rwlock_t *l), (l))

/* ioctls of KFD and DRM are delay points (delay.h); other ioctls are not. */
int __wrap_ioctl(int fd, unsigned long request, ...)
{
	char type = (char)_IOC_TYPE(request);
	va_list ap;
	void *arg;
	int r;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (OFF)
		return __real_ioctl(fd, request, arg);
	delay_before(FRAME, "ioctl", type == 'K' || type == 'd' ?
		     DELAY_DEVICE : DELAY_UNCOUNTED);
	r = __real_ioctl(fd, request, arg);
	delay_after();
	return r;
}

long __wrap_ptrace(enum __ptrace_request request, ...)
{
	void *addr, *data;
	va_list ap;
	pid_t pid;
	long r;

	va_start(ap, request);
	pid = va_arg(ap, pid_t);
	addr = va_arg(ap, void *);
	data = va_arg(ap, void *);
	va_end(ap);
	if (OFF)
		return __real_ptrace(request, pid, addr, data);
	delay_before(FRAME, "ptrace", DELAY_PEER);
	r = __real_ptrace(request, pid, addr, data);
	delay_after();
	return r;
}

/*
 * The parent and the child each have a delay point (delay.h) directly after the fork, so that a
 * delay can make either of them late.
 */
pid_t __wrap_fork(void)
{
	struct delay_origin origin;
	pid_t pid;

	if (OFF)
		return __real_fork();
	if (delay_mode == DELAY_RANDOM)
		delay_before(FRAME, "fork", DELAY_UNCOUNTED);
	origin = delay_fork_origin(FRAME, "fork");
	pid = __real_fork();
	if (!pid)
		delay_enter(&origin, NULL, *(void **)FRAME);
	delay_before(FRAME, pid ? "fork" : "child", DELAY_PEER);
	return pid;
}

struct thread {
	struct delay_origin origin;
	void *(*fn)(void *);
	void *arg;
};

static void *run_thread(void *opaque)
{
	struct thread t = *(struct thread *)opaque;
	void *r;

	free(opaque);
	delay_enter(&t.origin, *(void **)FRAME, *(void **)FRAME);
	delay_before(FRAME, "thread", DELAY_PEER);
	r = t.fn(t.arg);
	delay_before(FRAME, "thread's end", DELAY_PEER);
	return r;
}

int __wrap_pthread_create(pthread_t *id, const pthread_attr_t *attr,
			  void *(*fn)(void *), void *arg)
{
	struct thread *t;
	int r;

	if (OFF)
		return __real_pthread_create(id, attr, fn, arg);
	t = malloc(sizeof(*t));
	if (!t)
		return __real_pthread_create(id, attr, fn, arg);
	t->origin = delay_fork_origin(FRAME, "pthread_create");
	t->fn = fn;
	t->arg = arg;
	r = __real_pthread_create(id, attr, run_thread, t);
	if (r)
		free(t);
	else
		delay_before(FRAME, "pthread_create", DELAY_PEER);
	return r;
}

/*
 * The exit of the case's first process is no delay point: only tap.c's process waits for this exit,
 * and that process is no part of the case. (With random delays, delay_is_root() is false, so each
 * exit may be delayed.)
 */
void __wrap__exit(int status)
{
	if (!OFF && !delay_is_root())
		delay_before(FRAME, "_exit", DELAY_PEER);
	__real__exit(status);
}
