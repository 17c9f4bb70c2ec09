// SPDX-License-Identifier: GPL-2.0-or-later
/* Run the cases of a test program, each in its own process. tap.h describes the functions. */
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <drm/amdgpu_drm.h>

#include "delay.h"
#include "tap.h"
#include "tap-choose.h"
#include "tap-delay.h"

#define STOPPED_MS	500	/* time in ms in which a stopped queue must make no progress */

/*
 * Time limit of a case in ms. The limit is longer than VG_TIMEOUT_MS, so that a wait inside the
 * case fails first, with its own message.
 */
#define CASE_LIMIT_MS	((tap_short() ? 3 : 6) * VG_TIMEOUT_MS / 2)
/*
 * If tap_short(), guest_tests.py relies on the report of a hang within 4 minutes. CASE_LIMIT_MS +
 * KILL_LIMIT_MS is then at most 220 s.
 */

/* Time limit in ms for the end of a killed process. */
#define KILL_LIMIT_MS	(VG_TIMEOUT_MS / 3)
#define ROUND_LIMIT_MS	30000
/*
 * Time limit of a case in ms if VGPU_TEST_DELAY_POINT is "each": longer than VG_TIMEOUT_MS, so that
 * a wait inside the case fails first.
 */
#define EACH_LIMIT_MS	(VG_TIMEOUT_MS + 15000)

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
	tap_delay_skip(fmt, ap);
	va_end(ap);
	_exit(EXIT_SKIP);
}

static unsigned int long_seconds(void)
{
	const char *s = getenv("VGPU_TEST_SECONDS");

	return s ? (unsigned int)atoi(s) : 0;
}

bool tap_short(void)
{
	return getenv("VGPU_TEST_SHORT");
}

/*
 * Return @rounds, or fewer in the short form and on the debug kernel. If @rounds is 2 or more, the
 * result is, too, so that a loop still repeats.
 */
static int shorter(int rounds)
{
	int part = tap_short() ? 4 : tap_debug_kernel() ? 2 : 1;

	return rounds > 2 * part ? rounds / part : rounds < 2 ? rounds : 2;
}

bool tap_goes_on(int round, int rounds)
{
	return tap_goes_on_all(round, shorter(rounds));
}

bool tap_goes_on_all(int round, int rounds)
{
	static uint64_t begin;

	if (!round || !begin)
		begin = vg_now();
	return round < rounds ||
	       vg_now() - begin < long_seconds() * 1000000000ull;
}

static unsigned int said_rounds(void)
{
	const char *s = getenv("VGPU_TEST_ROUNDS");
	int n = s ? atoi(s) : 0;

	return n > 0 ? (unsigned int)n : 0;
}

int tap_rounds(int few, int many)
{
	if (said_rounds())
		return (int)said_rounds();
	return long_seconds() ? many : shorter(few);
}

bool tap_debug_kernel(void)
{
	static int debug = -1;

	if (debug < 0)
		debug = !access("/proc/lockdep_stats", F_OK);
	return debug;
}

void tap_long_on_debug(void)
{
	if (tap_debug_kernel() && !getenv("VGPU_TEST_SECONDS"))
		tap_skip("takes minutes on a debug kernel; VGPU_TEST_SECONDS=1 runs it");
}

static unsigned int longer_ms(void)
{
	return 4000 * long_seconds() + ROUND_LIMIT_MS * said_rounds();
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
 * End the run, because @pid has not ended after SIGKILL. Sysrq-w writes the stacks of
 * blocked tasks to the console.
 */
static void bail_out(pid_t pid)
{
	vg_put("/proc/sysrq-trigger", "w");
	printf("Bail out! process %d cannot be killed\n", pid);
	fflush(stdout);
	_exit(1);
}

static unsigned int case_limit_ms(void)
{
	if (tap_delay_each())
		return EACH_LIMIT_MS;
	return CASE_LIMIT_MS + longer_ms();
}

static unsigned int child_limit_ms(void)
{
	return CASE_LIMIT_MS / 2 + longer_ms() / 2;
}

/*
 * Wait for @pid; after @limit_ms() ms, which vg_scale_again() may raise, kill @pid. Return the wait
 * status, or -1 (@pid killed or waitpid() failed).
 */
static int wait_limited(pid_t pid, unsigned int (*limit_ms)(void))
{
	uint64_t start = vg_now(), deadline = start + limit_ms() * 1000000ull;
	bool killed = false, measured = false;
	int status;

	for (;;) {
		pid_t r = waitpid(pid, &status, WNOHANG);

		if (r == pid)
			return killed ? -1 : status;
		if (r < 0)
			return -1;
		if (vg_now() > deadline && !measured) {
			/*
			 * vg_scale_again() may raise the limit, so compute the deadline again. Do
			 * not kill @pid before the next waitpid(): @pid may have ended during
			 * vg_scale_again(), which takes 0.3 s.
			 */
			measured = !vg_scale_again();
			deadline = start + limit_ms() * 1000000ull;
			continue;
		}
		if (vg_now() > deadline) {
			if (killed)
				bail_out(pid);
			tap_diag("no result after %llu s: killed",
				 (vg_now() - start) / 1000000000ull);
			kill(pid, SIGKILL);
			killed = true;
			deadline = vg_now() + KILL_LIMIT_MS * 1000000ull;
		}
		vg_sleep_us(1000);
	}
}

pid_t tap_in_child(void (*fn)(void *), void *arg)
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
	status = wait_limited(pid, child_limit_ms);
	if (status == EXIT_SKIP << 8)
		_exit(EXIT_SKIP);
	CHECK(status == 0, "the child process ended with status 0x%x", status);
	return pid;
}

int tap_touch(const void *p)
{
	int fds[2], ret;

	CHECK(!pipe(fds), "pipe: %s", strerror(errno));
	ret = write(fds[1], p, 1) == 1 ? 0 : -errno;
	close(fds[0]);
	close(fds[1]);
	return ret;
}

char *tap_anon(uint64_t size)
{
	char *p = vg_map_anon(size);

	CHECK(p, "%s", vg_error());
	return p;
}

int tap_open_vgem(void)
{
	char path[40], driver[32];
	struct drm_version v = { .name = driver };
	int i, fd;

	CHECK(!system("modprobe vgem"), "modprobe vgem");
	for (i = 0; i < 8; i++) {
		snprintf(path, sizeof(path), "/dev/dri/card%d", i);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			continue;
		memset(driver, 0, sizeof(driver));
		v.name_len = sizeof(driver) - 1;
		if (!tap_ioctl(fd, DRM_IOCTL_VERSION, &v) &&
		    !strcmp(driver, "vgem"))
			return fd;
		close(fd);
	}
	tap_skip("no vgem");
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

void tap_expect_stop(struct vg_queue *q, uint64_t dst, uint64_t src,
		     uint64_t bytes)
{
	uint64_t before = tap_driver_counter(q->gpu, "faults_unrepaired");
	uint64_t end = vg_deadline();
	uint32_t seq;

	OK(vg_emit_copy(q, dst, src, bytes));
	OK(vg_emit_fence(q, &seq));
	vg_queue_submit(q);
	while (tap_driver_counter(q->gpu, "faults_unrepaired") == before) {
		CHECK(vg_now() < end, "the access is not denied");
		vg_sleep_us(1000);
	}
	ERRNO(ETIMEDOUT, vg_wait(q, seq, STOPPED_MS));
}

/* The GPUs. Only vg_gpu.minor is set, because this process opens no render node. */
static struct vg_gpu gpus[VG_MAX_GPUS];
static struct vg_mem_info used[VG_MAX_GPUS];
/* Number of retry faults that were not acknowledged when the case started. */
static int64_t faults[VG_MAX_GPUS];
static int n_gpus;

static void find_gpus(void)
{
	int i, nodes = vg_topology_nodes();

	n_gpus = 0;
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
		if (vg_mem_info(&gpus[i], &used[i]) ||
		    vg_faults_open(&gpus[i], &faults[i]))
			tap_diag("%s", vg_error());
}

/*
 * After the end of a case's process, check that the process's memory becomes free, and that the
 * driver acknowledges every retry fault that it has taken from the interrupt ring.
 */
static bool usage_is_back(void)
{
	int i, before = n_gpus;

	/*
	 * Find the GPUs again, because a GPU that was removed and added again may have another DRM
	 * minor.
	 */
	find_gpus();
	if (n_gpus != before) {
		tap_diag("%d GPUs instead of %d", n_gpus, before);
		return false;
	}
	for (i = 0; i < n_gpus; i++)
		if (vg_mem_wait_freed(&gpus[i], &used[i], VG_TIMEOUT_MS) ||
		    vg_faults_wait_acked(&gpus[i],
					 faults[i] > 0 ? faults[i] : 0,
					 VG_TIMEOUT_MS)) {
			tap_diag("after the process's end: %s", vg_error());
			return false;
		}
	return true;
}

static const struct tap_case *this_case;

const struct tap_case *tap_this(void)
{
	return this_case;
}

/*
 * Kill and reap all processes of a case. Being a subreaper, the runner can also reap children of
 * the case's dead process.
 */
static void end_group(pid_t group)
{
	uint64_t deadline = vg_deadline();
	pid_t r;

	kill(-group, SIGKILL);
	while ((r = waitpid(-group, NULL, WNOHANG)) >= 0) {
		if (vg_now() > deadline)
			bail_out(group);
		if (!r)
			vg_sleep_us(1000);
	}
}

/* Return 0 if the case passed, 1 if it failed, EXIT_SKIP if it was skipped. */
static int run_case(const struct tap_case *c)
{
	int status;
	pid_t pid;

	this_case = c;
	note_usage();
	fflush(stdout);
	pid = fork();
	if (pid < 0) {
		tap_diag("fork: %s", strerror(errno));
		return 1;
	}
	if (!pid) {
		setpgid(0, 0);
		if (n_gpus < c->min_gpus)
			tap_skip("needs %d GPUs, there are %d", c->min_gpus,
				 n_gpus);
		delay_begin(c->name, __builtin_frame_address(0));
		c->fn();
		_exit(0);
	}
	setpgid(pid, pid);
	status = wait_limited(pid, case_limit_ms);
	/*
	 * Kill the children that a failed case left behind, because they would disturb the next
	 * case.
	 */
	end_group(pid);
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
	int i, planned = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	find_gpus();
	/*
	 * Stop proactive compaction, which moves pages: tests check where pages are in
	 * physical memory.
	 */
	vg_put("/proc/sys/vm/compaction_proactiveness", "0");
	if (!tap_left_out_known(cases, n))
		return 2;
	for (i = 0; i < n; i++)
		planned += tap_chosen(&cases[i], only);
	if (!planned && tap_any_selected(cases, n, only)) {
		printf("1..0 # SKIP VGPU_TEST_LEAVE_OUT or _DONE names all cases\n");
		return 0;
	}
	if (!planned) {
		fprintf(stderr, "no case has \"%s\" in its name; there are:\n",
			only);
		for (i = 0; i < n; i++)
			fprintf(stderr, "\t%s\n", cases[i].name);
		return 2;
	}
	tap_delay_start(planned);
	for (i = 0; i < n; i++)
		if (tap_chosen(&cases[i], only))
			tap_delay_run(&cases[i], run_case);
	return tap_delay_end();
}

void tap_read(const char *path, char *text, size_t size)
{
	int file = open(path, O_RDONLY | O_CLOEXEC);
	size_t n = 0;
	ssize_t r;

	CHECK(file >= 0, "%s: %s", path, strerror(errno));
	while ((r = read(file, text + n, size - 1 - n)) > 0)
		n += (size_t)r;
	CHECK(r == 0, "%s: %s", path, strerror(errno));
	CHECK(n < size - 1, "%s has more than %zu bytes", path, size);
	text[n] = 0;
	close(file);
}

uint64_t tap_read_number(const char *path, const char *name)
{
	char text[4096], *at;

	tap_read(path, text, sizeof(text));
	at = strstr(text, name);
	CHECK(at, "no %s in %s", name, path);
	return strtoull(at + strlen(name), NULL, 10);
}

static int evict(const struct vg_gpu *gpu, const char *what)
{
	char path[64], text[32];

	snprintf(path, sizeof(path), "/sys/kernel/debug/dri/%d/amdgpu_evict_%s",
		 gpu->minor, what);
	tap_read(path, text, sizeof(text));
	return atoi(text);
}

void tap_evict(const struct vg_gpu *gpu, const char *what)
{
	int r = evict(gpu, what);

	CHECK(!r, "amdgpu_evict_%s returned %d", what, r);
}

void tap_evict_some(const struct vg_gpu *gpu, const char *what)
{
	evict(gpu, what);
}

uint32_t tap_fault_event(struct vg *vg)
{
	struct kfd_ioctl_create_event_args args = {
		.event_type = KFD_IOC_EVENT_MEMORY, .auto_reset = 1,
	};

	OK(vg_ioctl(vg, AMDKFD_IOC_CREATE_EVENT, &args));
	return args.event_id;
}

struct kfd_hsa_memory_exception_data tap_await_fault(struct vg *vg,
						     uint32_t event)
{
	struct kfd_event_data data = { .event_id = event };
	struct kfd_ioctl_wait_events_args args = {
		.events_ptr = (uintptr_t)&data,
		.num_events = 1,
		.wait_for_all = 1,
		.timeout = VG_TIMEOUT_MS,
	};

	OK(vg_ioctl(vg, AMDKFD_IOC_WAIT_EVENTS, &args));
	CHECK(args.wait_result == KFD_IOC_WAIT_RESULT_COMPLETE, "no fault");
	return data.memory_exception_data;
}

bool tap_pcie_p2p(void)
{
	bool amd = false;
	char line[256];
	int family = 0;
	FILE *f = fopen("/proc/cpuinfo", "re");

	CHECK(f, "/proc/cpuinfo");
	while (fgets(line, sizeof(line), f)) {
		amd |= !!strstr(line, "AuthenticAMD");
		sscanf(line, "cpu family : %d", &family);
	}
	fclose(f);
	return amd && family >= 0x17;
}
