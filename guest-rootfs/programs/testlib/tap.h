/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * TAP for the guest tests. Each case runs in a process of its own, with a
 * time limit: a crash or a hang is one "not ok", and KFD sees a new process
 * each time, whose teardown is part of what is tested: when it has ended, the
 * GPUs' memory in use must be what it was.
 */
#ifndef TAP_H
#define TAP_H

#include <errno.h>
#include <string.h>
#include <sys/types.h>

#include "vg.h"

/**
 * struct tap_case - one case
 * @name: what it shows
 * @fn: returns when all is well; leaves through CHECK or tap_skip() otherwise
 * @min_gpus: skipped with fewer
 */
struct tap_case {
	const char *name;
	void (*fn)(void);
	int min_gpus;
};

/* The one that runs; for cases made from a table, by their place in it. */
const struct tap_case *tap_this(void);
/*
 * Runs all cases, or those whose name contains argv[1], without those that
 * VGPU_TEST_LEAVE_OUT names, a whole name a line. Exit status; 2 if there is no
 * such case.
 */
int tap_main(const struct tap_case *cases, int n, int argc, char **argv);

/* Ends the case as failed, with the place and a sentence. */
void tap_fail(const char *file, int line, const char *fmt, ...)
	__attribute__((noreturn, format(printf, 3, 4)));
/* Ends the case as skipped. */
void tap_skip(const char *fmt, ...)
	__attribute__((noreturn, format(printf, 1, 2)));
void tap_diag(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#define TAP_CASES(c) (c), (int)(sizeof(c) / sizeof((c)[0]))

#define CHECK(cond, ...)						\
	do {								\
		if (!(cond))						\
			tap_fail(__FILE__, __LINE__, __VA_ARGS__);	\
	} while (0)

/* @expr is 0 or a negative errno of vg_*(). */
#define OK(expr)							\
	do {								\
		int ok_ = (expr);					\
		if (ok_ < 0)						\
			tap_fail(__FILE__, __LINE__, "%s: %s", #expr,	\
				 vg_error());				\
	} while (0)

/* @expr is a negative errno and must be -@want (0: success). */
#define ERRNO(want, expr)						\
	do {								\
		int errno_ = (expr);					\
		if (errno_ != -(want))					\
			tap_fail(__FILE__, __LINE__,			\
				 "%s is %d (%s), should be %d (%s)",	\
				 #expr, errno_, strerror(-errno_),	\
				 -(want), strerror(want));		\
	} while (0)

/* The basic pass (VGPU_TEST_SHORT): fewer rounds, smaller memory. */
bool tap_short(void);
/*
 * For loops that can go on for ever: true for @rounds rounds (in the short form
 * a quarter of them), or as many seconds as VGPU_TEST_SECONDS says (the long
 * form).
 */
bool tap_goes_on(int round, int rounds);
/*
 * @few (in the short form a quarter), or @many in the long form, or as many as
 * VGPU_TEST_ROUNDS says.
 */
int tap_rounds(int few, int many);
/* Lockdep and KASAN are watching: everything takes many times as long. */
bool tap_debug_kernel(void);
/*
 * On the debug kernel, where a page that migrates takes more than a millisecond,
 * the case takes minutes: it is skipped there, unless VGPU_TEST_SECONDS is set.
 */
void tap_long_on_debug(void);
/* ioctl() without restart or sentence: 0 or -errno. */
int tap_ioctl(int fd, unsigned long request, void *arg);
/* Opens @vg with XNACK mode @xnack (-1: as it is), ends the case if not. */
void tap_open(struct vg *vg, int xnack);
/* vg_map_anon(), or the end of the case. */
char *tap_anon(uint64_t size);
/* A node of vgem, or the case is skipped. */
int tap_open_vgem(void);
/*
 * A child does @fn(&fd), which works until it is killed and writes a byte to fd
 * as soon as it does; it is killed @us microseconds after that.
 */
void tap_kill_at_work(void (*fn)(void *), unsigned int us);
/* Its child does @fn(arg) and ends; the case fails unless it ends well. */
void tap_in_child(void (*fn)(void *), void *arg);
/* All of a file as a string, which fits into @size bytes; else ends the case. */
void tap_read(const char *path, char *text, size_t size);
/* Value of a counter; ends the case if there is none of that name. */
uint64_t tap_device_counter(struct vg_gpu *gpu, const char *name);
uint64_t tap_driver_counter(struct vg_gpu *gpu, const char *name);
/*
 * The queue gets no further at a copy: the driver counts a fault that it denies,
 * and the queue has stopped before the copy is done.
 */
void tap_expect_stop(struct vg_queue *q, uint64_t dst, uint64_t src,
		     uint64_t bytes);

/*
 * What is not pinned leaves @what, "vram" or "gtt", once, also if queues use it; the
 * case ends if something cannot leave. tap_evict_some() does not mind.
 */
void tap_evict(const struct vg_gpu *gpu, const char *what);
void tap_evict_some(const struct vg_gpu *gpu, const char *what);
/*
 * Makes TAP_SWAP, which tests.list has to give, a swap device: what was in it is
 * gone. It stays one for later cases.
 */
#define TAP_SWAP "/dev/vda"
void tap_swap_on(void);
/* The CPU's view of a handle of the render node @fd; ends the case if there is none. */
void *tap_gem_mmap(int fd, uint32_t handle, uint64_t size);
/*
 * An event that tells of faults; and its next one, with what it tells: the queues
 * of the process on that GPU have stopped before. The case ends if none comes.
 */
uint32_t tap_fault_event(struct vg *vg);
struct kfd_hsa_memory_exception_data tap_await_fault(struct vg *vg,
						     uint32_t event);

/* Linux lets devices talk to each other: this is a Zen's host bridge. */
bool tap_pcie_p2p(void);
/*
 * Two processes take turns, with a pipe each way: read from fds[0], write to
 * fds[1]. The case ends if the other one has ended.
 */
void tap_step(const int *fds);
void tap_await(const int *fds);
/*
 * Waits until @n processes that share *@here are in this call; the case ends if one
 * does not come. Each barrier has a word of its own, which is 0 at first.
 */
void tap_meet(uint32_t *here, uint32_t n);
/* A page of zeros that children share; the case ends if there is none. */
void *tap_shared_page(void);
/*
 * Waits for @n children of the case, in the order in which they end: the case ends
 * with the first that fails, also if the others wait for that one.
 */
void tap_reap(const pid_t *pids, int n);

#endif /* TAP_H */
