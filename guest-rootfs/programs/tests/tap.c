// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The runner behind tap.h.
 */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

#define CASE_LIMIT_MS	(3 * VG_TIMEOUT_MS)
#define EXIT_SKIP	77

static void diag(const char *fmt, va_list ap)
{
	printf("# ");
	vprintf(fmt, ap);
	printf("\n");
	fflush(stdout);
}

void tap_diag(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	diag(fmt, ap);
	va_end(ap);
}

void tap_fail(const char *file, int line, const char *fmt, ...)
{
	const char *base = strrchr(file, '/');
	va_list ap;

	printf("# %s:%d: ", base ? base + 1 : file, line);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
	_exit(1);
}

void tap_skip(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	diag(fmt, ap);
	va_end(ap);
	_exit(EXIT_SKIP);
}

static unsigned int long_seconds(void)
{
	const char *s = getenv("VGPU_TEST_SECONDS");

	return s ? (unsigned int)atoi(s) : 0;
}

bool tap_goes_on(int round, int rounds)
{
	static uint64_t begin;

	if (!round || !begin)
		begin = vg_now();
	return round < rounds ||
	       vg_now() - begin < long_seconds() * 1000000000ull;
}

int tap_ioctl(int fd, unsigned long request, void *arg)
{
	return ioctl(fd, request, arg) < 0 ? -errno : 0;
}

void tap_open(struct vg *vg, int xnack)
{
	int mode;

	OK(vg_open(vg));
	if (xnack < 0)
		return;
	mode = vg_set_xnack(vg, xnack);
	OK(mode);
	CHECK(mode == xnack, "XNACK is %d after setting %d", mode, xnack);
}

/*
 * Waits for @pid. Its status, or -1 if it had to be killed. A process that
 * cannot even be killed is the end of the run.
 */
static int wait_limited(pid_t pid, unsigned int limit_ms)
{
	uint64_t deadline = vg_now() + limit_ms * 1000000ull;
	bool killed = false;
	int status;

	for (;;) {
		pid_t r = waitpid(pid, &status, WNOHANG);

		if (r == pid)
			return killed ? -1 : status;
		if (r < 0)
			return -1;
		if (vg_now() > deadline) {
			if (killed) {
				printf("Bail out! process %d cannot be killed\n",
				       pid);
				fflush(stdout);
				_exit(1);
			}
			tap_diag("no result after %u s: killed",
				 limit_ms / 1000);
			kill(pid, SIGKILL);
			killed = true;
			deadline = vg_now() + VG_TIMEOUT_MS * 1000000ull;
		}
		vg_sleep_us(1000);
	}
}

void tap_in_child(void (*fn)(void *), void *arg)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	CHECK(pid >= 0, "fork: %s", strerror(errno));
	if (!pid) {
		fn(arg);
		_exit(0);
	}
	status = wait_limited(pid, CASE_LIMIT_MS / 2 + 2000 * long_seconds());
	if (status == EXIT_SKIP << 8)
		_exit(EXIT_SKIP);
	CHECK(status == 0, "the child process ended with status 0x%x", status);
}

static uint64_t counter(const struct vg_counters *c, const char *name)
{
	bool found;
	uint64_t value = vg_counter(c, name, &found);

	CHECK(found, "there is no counter %s", name);
	return value;
}

uint64_t tap_device_counter(struct vg_gpu *gpu, const char *name)
{
	struct vg_counters c;

	OK(vg_device_counters(gpu, &c));
	return counter(&c, name);
}

uint64_t tap_driver_counter(struct vg_gpu *gpu, const char *name)
{
	struct vg_counters c;

	OK(vg_driver_counters(gpu, &c));
	return counter(&c, name);
}

/* The GPUs by their render nodes alone: no file of the runner is open. */
static struct vg_gpu gpus[VG_MAX_GPUS];
static struct vg_mem_info used[VG_MAX_GPUS];
static int n_gpus;

static void find_gpus(void)
{
	int i, nodes = vg_topology_nodes();

	for (i = 0; i < nodes && n_gpus < VG_MAX_GPUS; i++) {
		gpus[n_gpus].minor = (int)vg_node_property(i,
							   "drm_render_minor",
							   0);
		n_gpus += gpus[n_gpus].minor != 0;
	}
}

static void note_usage(void)
{
	int i;

	for (i = 0; i < n_gpus; i++)
		if (vg_mem_info(&gpus[i], &used[i]))
			tap_diag("%s", vg_error());
}

/* With its process every byte of a case must be gone. */
static bool usage_is_back(void)
{
	int i;

	for (i = 0; i < n_gpus; i++)
		if (vg_mem_settle(&gpus[i], &used[i], VG_TIMEOUT_MS)) {
			tap_diag("after the process's end: %s", vg_error());
			return false;
		}
	return true;
}

/* 0 passed, 1 failed, EXIT_SKIP skipped. */
static int run_case(const struct tap_case *c)
{
	int status;
	pid_t pid;

	if (n_gpus < c->min_gpus) {
		tap_diag("needs %d GPUs, there are %d", c->min_gpus, n_gpus);
		return EXIT_SKIP;
	}
	note_usage();
	fflush(stdout);
	pid = fork();
	if (pid < 0) {
		tap_diag("fork: %s", strerror(errno));
		return 1;
	}
	if (!pid) {
		c->fn();
		_exit(0);
	}
	status = wait_limited(pid, CASE_LIMIT_MS + 4000 * long_seconds());
	if (status >= 0 && WIFSIGNALED(status))
		tap_diag("killed by signal %d", WTERMSIG(status));
	if (!usage_is_back())
		return 1;
	if (status >= 0 && WIFEXITED(status) &&
	    (!WEXITSTATUS(status) || WEXITSTATUS(status) == EXIT_SKIP))
		return WEXITSTATUS(status);
	return 1;
}

int tap_main(const struct tap_case *cases, int n, int argc, char **argv)
{
	const char *only = argc > 1 ? argv[1] : "";
	int i, at = 0, planned = 0, failed = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	find_gpus();
	for (i = 0; i < n; i++)
		planned += strstr(cases[i].name, only) != NULL;
	printf("TAP version 13\n1..%d\n", planned);
	for (i = 0; i < n; i++) {
		uint64_t start = vg_now();
		int r;

		if (!strstr(cases[i].name, only))
			continue;
		r = run_case(&cases[i]);
		failed += r == 1;
		printf("%s %d - %s%s\n", r == 1 ? "not ok" : "ok", ++at,
		       cases[i].name, r == EXIT_SKIP ? " # SKIP see above" :
		       "");
		printf("# %.3f s\n", (double)(vg_now() - start) / 1e9);
		fflush(stdout);
	}
	return failed ? 1 : 0;
}
