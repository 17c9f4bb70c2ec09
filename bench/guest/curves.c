// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * "vgpu-bench curve PART SECONDS N...": measure PART at each N, in ascending order, for
 * ./vgpu bench-curves. Each measurement is a child process: it begins without KFD objects, the end
 * of the process can be measured, and SIGALRM ends it after SECONDS. Output is JSON lines:
 *
 *   {"curve": "ranges-set", "n": 1000, "value": 7.5, "unit": "ms"}
 *   {"part": "ranges", "n": 1000, "hold": "before"}          see curve_hold()
 *   {"part": "ranges", "n": 1000000, "left_out": "REASON"}   this N has no values, or not all
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "curves.h"

#define SECOND_NS	1000000000ull
#define POLL_US		200
/* Repeat a measurement while all repetitions together took less than 1 / SHARE of SECONDS. */
#define SHARE		8

static void curve_idle(uint64_t n);

static const struct part {
	const char *name;
	void (*fn)(uint64_t n);
	bool exits;	/* also measure the end of a process that has the objects: "NAME-exit" */
} parts[] = {
	{ "ranges", curve_ranges, true },
	{ "bos", curve_bos, true },
	{ "memory", curve_memory, true },
	{ "processes", curve_processes, false },
	{ "queues", curve_queues, true },
	{ "gpus", curve_gpus, false },
	{ "idle", curve_idle, false },
	{ "load", curve_load, false },
};

static uint64_t kernel_before;

void curve_point(const char *name, uint64_t n, double value, const char *unit)
{
	printf("{\"curve\": \"%s\", \"n\": %lu, \"value\": %.9g, \"unit\": \"%s\"}\n",
	       name, n, value, unit);
	fflush(stdout);
}

double curve_ms(uint64_t start)
{
	return (double)(vg_now() - start) / 1e6;
}

static void left_out(const struct part *part, uint64_t n, const char *reason)
{
	printf("{\"part\": \"%s\", \"n\": %lu, \"left_out\": \"%s\"}\n",
	       part->name, n, reason);
	fflush(stdout);
}

void curve_hold(const char *part, uint64_t n, const char *when)
{
	char byte;

	printf("{\"part\": \"%s\", \"n\": %lu, \"hold\": \"%s\"}\n", part, n,
	       when);
	fflush(stdout);
	must(read(STDIN_FILENO, &byte, 1) < 0 ?
	     vg_fail(-errno, "standard input") : 0, part);
}

/*
 * Return the bytes of memory that the kernel uses for itself. Page tables of the CPU are included,
 * memory of user space and the pages of GTT BOs are not.
 */
static uint64_t kernel_bytes(void)
{
	static const char *const fields[] = {
		"Slab", "KernelStack", "PageTables", "SecPageTables",
		"VmallocUsed", "Percpu",
	};
	FILE *f = fopen("/proc/meminfo", "re");
	char line[128], name[32];
	uint64_t kib, sum = 0;
	unsigned int i;

	must(f ? 0 : vg_fail(-errno, "/proc/meminfo"), "memory");
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%31[^:]: %lu", name, &kib) != 2)
			continue;
		for (i = 0; i < sizeof(fields) / sizeof(*fields); i++)
			if (!strcmp(name, fields[i]))
				sum += kib * VG_KIB;
	}
	fclose(f);
	must(sum ? 0 : vg_fail(-EIO, "/proc/meminfo has no Slab"), "memory");
	return sum;
}

void curve_memory_begin(const char *part, uint64_t n)
{
	curve_hold(part, n, "before");
	kernel_before = kernel_bytes();
}

void curve_memory_end(const char *part, uint64_t n)
{
	double grown = (double)kernel_bytes() - (double)kernel_before;
	char name[40];

	snprintf(name, sizeof(name), "%s-kernel", part);
	curve_point(name, n, grown, "B");
	curve_hold(part, n, "after");
}

/* Measure the memory of an idle guest. @n is the number of its GPUs. */
static void curve_idle(uint64_t n)
{
	curve_point("idle-kernel", n, (double)kernel_bytes(), "B");
	curve_hold("idle", n, "idle");
}

/* Return the number of processes of KFD, including those whose teardown goes on. */
static uint64_t kfd_processes(const struct vg_gpu *gpu)
{
	struct vg_counters c;
	uint64_t n;
	bool found;

	must(vg_in_use(gpu, &c), "processes of KFD");
	n = vg_counter(&c, "kfd_processes", &found);
	must(found ? 0 : vg_fail(-ENOENT, "no counter kfd_processes"),
	     "processes of KFD");
	return n;
}

/* Store the render minor of the first GPU in @gpu, without opening KFD. */
static void find_gpu(struct vg_gpu *gpu)
{
	int i, nodes = vg_topology_nodes();

	must(nodes, "topology");
	for (i = 0; i < nodes && !gpu->minor; i++)
		gpu->minor = (int)vg_node_property(i, "drm_render_minor", 0);
	must(gpu->minor ? 0 : vg_fail(-ENODEV, "no GPU"), "topology");
}

/*
 * Wait until KFD has @before processes again: the teardown of a process goes on after its end.
 * Return false if it takes more than @seconds.
 */
static bool await_teardown(const struct vg_gpu *gpu, uint64_t before,
			   unsigned int seconds)
{
	uint64_t deadline = vg_now() + seconds * SECOND_NS;

	while (kfd_processes(gpu) > before) {
		if (vg_now() > deadline)
			return false;
		vg_sleep_us(POLL_US);
	}
	return true;
}

/* Measure @part at @n in a child process. Return the status of waitpid(). */
static int run_child(const struct part *part, uint64_t n, unsigned int seconds,
		     uint64_t *exit_begun)
{
	pid_t pid = fork();
	int status;

	must(pid < 0 ? vg_fail(-errno, "fork") : 0, part->name);
	if (!pid) {
		must(signal(SIGALRM, SIG_DFL) == SIG_ERR ?
		     vg_fail(-errno, "signal") : 0, part->name);
		alarm(seconds);
		part->fn(n);
		*exit_begun = vg_now();
		_exit(0);
	}
	must(waitpid(pid, &status, 0) != pid ? vg_fail(-errno, "waitpid") : 0,
	     part->name);
	return status;
}

/* Measure @part at @n once. Return false if @n is left out. */
static bool run_once(const struct part *part, uint64_t n, unsigned int seconds,
		     uint64_t *exit_begun)
{
	struct vg_gpu gpu = { 0 };
	uint64_t before = 0;
	char text[64];
	int status;

	if (part->exits) {
		find_gpu(&gpu);
		before = kfd_processes(&gpu);
	}
	status = run_child(part, n, seconds, exit_begun);
	snprintf(text, sizeof(text), "no end within %u s", seconds);
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) {
		left_out(part, n, text);
		return false;
	}
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
		left_out(part, n, "killed, so the guest has too little memory");
		return false;
	}
	must(status ? vg_fail(-EIO, "%lu: status 0x%x", n, status) : 0,
	     part->name);
	if (!part->exits)
		return true;
	if (!await_teardown(&gpu, before, seconds)) {
		left_out(part, n, text);
		return false;
	}
	snprintf(text, sizeof(text), "%s-exit", part->name);
	curve_point(text, n, curve_ms(*exit_begun), "ms");
	return true;
}

/* Measure @part at @n up to SAMPLES times. Return false if @n is left out. */
static bool run_point(const struct part *part, uint64_t n, unsigned int seconds,
		      uint64_t *exit_begun)
{
	uint64_t start = vg_now();
	int s;

	for (s = 0; s < SAMPLES; s++) {
		if (s && vg_now() - start > seconds * SECOND_NS / SHARE)
			break;
		if (!run_once(part, n, seconds, exit_begun))
			return false;
	}
	return true;
}

static bool parse_number(const char *text, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 10);
	return !errno && end != text && !*end;
}

static const struct part *find_part(const char *name)
{
	unsigned int i;

	for (i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (!strcmp(name, parts[i].name))
			return &parts[i];
	return NULL;
}

int bench_curve(int argc, char **argv)
{
	const struct part *part = argc ? find_part(argv[0]) : NULL;
	uint64_t *exit_begun, seconds, n;
	bool stopped = false;
	int i;

	if (!part || argc < 3 || !parse_number(argv[1], &seconds) || !seconds ||
	    seconds > 3600) {
		fprintf(stderr, "vgpu-bench: want: curve PART SECONDS N...\n");
		return 2;
	}
	/* The child stores the begin of its exit in shared memory. */
	exit_begun = mmap(NULL, VG_PAGE, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(exit_begun == MAP_FAILED ? vg_fail(-errno, "mmap") : 0, "curve");
	for (i = 2; i < argc; i++) {
		if (!parse_number(argv[i], &n)) {
			fprintf(stderr, "vgpu-bench: %s: no number\n", argv[i]);
			return 2;
		}
		if (stopped)
			left_out(part, n, "a smaller number was left out");
		else
			stopped = !run_point(part, n, (unsigned int)seconds,
					     exit_begun);
	}
	return 0;
}
