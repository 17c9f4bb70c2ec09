/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Run guest tests and report the results in TAP. Each case runs in its own process with a time
 * limit, so that a crash or a hang fails only this case. A case that leaves GPU memory in use also
 * fails.
 */
#ifndef TAP_H
#define TAP_H

#include <errno.h>
#include <string.h>
#include <sys/types.h>

#include "vg.h"

/**
 * struct tap_case - one case
 * @name: property that the case checks
 * @fn: returns if the case passes; otherwise it ends the process by CHECK or tap_skip()
 * @min_gpus: number of GPUs that the case needs; with fewer, the case is skipped
 */
struct tap_case {
	const char *name;
	void (*fn)(void);
	int min_gpus;
};

/*
 * Return the running case as a pointer into @cases of tap_main(). If several cases have the same
 * @fn, @fn can choose parameters by the index of the case.
 */
const struct tap_case *tap_this(void);
/* The environment variable VGPU_TEST_LEAVE_OUT lists cases not to run, one full name a line. */

/*
 * Run the cases that argv[1] selects (tap_chosen()). Return:
 *
 *   0  no case failed, or all left out
 *   1  a case failed
 *   2  nothing selected, or unknown name in VGPU_TEST_LEAVE_OUT
 */
int tap_main(const struct tap_case *cases, int n, int argc, char **argv);

/* End the case as failed; print the source line and a message. */
void tap_fail(const char *file, int line, const char *fmt, ...)
	__attribute__((noreturn, format(printf, 3, 4)));
/* End the case as skipped. */
void tap_skip(const char *fmt, ...)
	__attribute__((noreturn, format(printf, 1, 2)));
/* Print "# ", the formatted text and a newline: TAP diagnostics. */
void tap_diag(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#define TAP_CASES(c) (c), (int)(sizeof(c) / sizeof((c)[0]))

#define CHECK(cond, ...)						\
	do {								\
		if (!(cond))						\
			tap_fail(__FILE__, __LINE__, __VA_ARGS__);	\
	} while (0)

/* If @expr is a negative errno, end the case as failed with the text of vg_error(). */
#define OK(expr)							\
	do {								\
		int ok_ = (expr);					\
		if (ok_ < 0)						\
			tap_fail(__FILE__, __LINE__, "%s: %s", #expr,	\
				 vg_error());				\
	} while (0)

/* @expr is 0 or a negative errno. If @expr is not -@want, end the case as failed. */
#define ERRNO(want, expr)						\
	do {								\
		int errno_ = (expr);					\
		if (errno_ != -(want))					\
			tap_fail(__FILE__, __LINE__,			\
				 "%s is %d (%s), should be %d (%s)",	\
				 #expr, errno_, strerror(-errno_),	\
				 -(want), strerror(want));		\
	} while (0)

/*
 * Return true if the short form of the tests is selected (VGPU_TEST_SHORT). In the short form, a
 * case runs fewer rounds and uses less memory.
 */
bool tap_short(void);
/*
 * Return true if a loop must run round @round (from 0). Rounds:
 *
 *   normally             @rounds
 *   on the debug kernel  @rounds / 2, at least min(@rounds, 2)
 *   short form           @rounds / 4, at least min(@rounds, 2), on each kernel
 *   VGPU_TEST_SECONDS    as without it, then more within these seconds
 */
bool tap_goes_on(int round, int rounds);
/* As tap_goes_on(), for a result of tap_rounds(): always at least @rounds rounds. */
bool tap_goes_on_all(int round, int rounds);
/*
 * Return VGPU_TEST_ROUNDS if it is set, else @many if VGPU_TEST_SECONDS is set, else @few. The
 * short form and the debug kernel reduce @few as for tap_goes_on().
 */
int tap_rounds(int few, int many);
/*
 * Return true if the kernel has lockdep and KASAN, which make all code many times
 * slower.
 */
bool tap_debug_kernel(void);
/*
 * On the debug kernel, skip the case unless VGPU_TEST_SECONDS is set. For cases that migrate many
 * pages (over 1 ms a page).
 */
void tap_long_on_debug(void);
/*
 * Call an ioctl, without a restart after signals. Return 0 or -errno. An error does not change the
 * text of vg_error().
 */
int tap_ioctl(int fd, unsigned long request, void *arg);
/*
 * Call vg_open(), then set the XNACK mode to @xnack unless it is -1. A failure ends the case.
 */
void tap_open(struct vg *vg, int xnack);
/* Call vg_map_anon(); a failure ends the case. */
char *tap_anon(uint64_t size);
/* Load vgem and open its DRM node. Without such a node, the case is skipped. */
int tap_open_vgem(void);
/*
 * Run @fn(&fd) in a child. @fn writes one byte to fd and then works without end; @us microseconds
 * later, the child is killed.
 */
void tap_kill_at_work(void (*fn)(void *), unsigned int us);
/*
 * Run @fn(arg) in a child to its end; return the child's pid. tap_skip() in the child skips the
 * case; another nonzero status fails the case.
 */
pid_t tap_in_child(void (*fn)(void *), void *arg);
/*
 * Read a whole file as a string into @text. The case fails if the file has more than @size - 2
 * bytes: one byte is for the NUL, and a free byte shows that the file has ended.
 */
void tap_read(const char *path, char *text, size_t size);
/*
 * Return the number that follows the first occurrence of @name in a file. If @name is "", return
 * the number at the start of the file. The case fails if @name does not occur.
 */
uint64_t tap_read_number(const char *path, const char *name);
/*
 * Return the value of a counter of the device or of the driver. The case fails if there is no such
 * counter.
 */
uint64_t tap_device_counter(struct vg_gpu *gpu, const char *name);
uint64_t tap_driver_counter(struct vg_gpu *gpu, const char *name);
/*
 * Submit a copy that faults. The case fails unless the driver counts an unrepaired fault and the
 * queue stops before the copy's fence.
 */
void tap_expect_stop(struct vg_queue *q, uint64_t dst, uint64_t src,
		     uint64_t bytes);

/*
 * Try once to evict all unpinned BOs, even BOs that queues use, from @what ("vram" or "gtt").
 * tap_evict_some() ignores a failure; tap_evict() fails the case.
 */
void tap_evict(const struct vg_gpu *gpu, const char *what);
void tap_evict_some(const struct vg_gpu *gpu, const char *what);
/*
 * Use TAP_SWAP, a disk that tests.list must provide, as a swap device. The contents of
 * the disk are lost. The swap device stays for later cases.
 */
#define TAP_SWAP "/dev/vda"
void tap_swap_on(void);
/* Open the render node of @gpu again: a file with its own GEM handles. A failure ends the case. */
int tap_open_render(const struct vg_gpu *gpu);
/*
 * tap_gem_create() returns the handle of a new BO, and tap_gem_mmap() a CPU mapping of a BO. @fd is
 * an open file of the render node. A failure ends the case.
 */
uint32_t tap_gem_create(int fd, uint64_t size, uint64_t domains, uint64_t flags);
void tap_gem_close(int fd, uint32_t handle);
void *tap_gem_mmap(int fd, uint32_t handle, uint64_t size);
/* Create an event for memory faults and return the event's ID. A failure ends the case. */
uint32_t tap_fault_event(struct vg *vg);
/*
 * Await an event of tap_fault_event(); the case fails after VG_TIMEOUT_MS. Before the event, the
 * driver stops the process's queues on the faulting GPU.
 */
struct kfd_hsa_memory_exception_data tap_await_fault(struct vg *vg,
						     uint32_t event);

/*
 * Return true if Linux allows PCIe peer-to-peer between the GPUs. Assumption: only on AMD CPUs from
 * Zen on.
 */
bool tap_pcie_p2p(void);
/*
 * Two processes alternate: tap_await() reads from the pipe fds[0], tap_step() writes to the pipe
 * fds[1]. The case fails if the other process has ended.
 */
void tap_step(const int *fds);
void tap_await(const int *fds);
/*
 * Barrier on the shared word *@here, initially 0: wait until @n processes have called tap_meet().
 * The case fails after VG_TIMEOUT_MS.
 */
void tap_meet(uint32_t *here, uint32_t n);
/*
 * Let the kernel read the byte at @p. Return 0, or -EFAULT if the program would get SIGBUS or
 * SIGSEGV for this access.
 */
int tap_touch(const void *p);
/* Map a page of zeros that children share; a failure ends the case. */
void *tap_shared_page(void);
/*
 * Reap @n children in the order of their ends. The case fails at the first failed child, because
 * others may wait for that child forever.
 */
void tap_reap(const pid_t *pids, int n);

#endif /* TAP_H */
