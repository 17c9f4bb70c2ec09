// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tests of kfd/proc/<pid>/svm in debugfs: a process's SVM ranges and pages. Catches: a page count
 * is wrong; a range is listed twice or skipped.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

#define TEXT		(4 * VG_MIB)
#define PAGES		64
#define MANY		4096
#define CHURN		4	/* ranges that change while the file is read */
#define END_MS		(VG_TIMEOUT_MS / 3)

/**
 * struct line - the parsed line of a range
 */
struct line {
	/** @first: first address */
	/** @last: exclusive end of the range */
	uint64_t first, last;
	/** @pages: size of the range in pages, including pages without memory */
	uint64_t pages;
	/** @system: pages in system memory */
	/** @vram: pages in VRAM of all GPUs */
	/** @other: pages that are neither in system memory nor in VRAM */
	uint64_t system, vram, other;
};

static struct vg vg;
static char text[TEXT];

static const char *file_of(pid_t pid)
{
	static char path[64];

	snprintf(path, sizeof(path), "/sys/kernel/debug/kfd/proc/%d/svm", pid);
	return path;
}

/*
 * Return the line of the range that starts at @p. The case fails if the file has no
 * such line.
 */
static const char *line_at(const void *p)
{
	static char line[512];
	char want[32];
	const char *at;

	tap_read(file_of(getpid()), text, TEXT);
	snprintf(want, sizeof(want), "\n%#lx-", (uintptr_t)p);
	at = strstr(text, want);
	CHECK(at, "no range at %p in:\n%s", p, text);
	snprintf(line, sizeof(line), "%.*s", (int)strcspn(at + 1, "\n"), at + 1);
	return line;
}

static void expect(const void *p, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Check that the line of the range at @p has PAGES pages and continues with @fmt. */
static void expect(const void *p, const char *fmt, ...)
{
	const char *line = line_at(p);
	char want[512];
	va_list args;
	int n;

	n = snprintf(want, sizeof(want), "%#lx-%#lx pages %d ", (uintptr_t)p,
		     (uintptr_t)p + PAGES * VG_PAGE, PAGES);
	va_start(args, fmt);
	vsnprintf(want + n, sizeof(want) - (size_t)n, fmt, args);
	va_end(args);
	CHECK(!strcmp(line, want), "the line is\n%s\nand not\n%s", line, want);
}

/*
 * Check the line of a range in the debugfs file after changes of attributes, and after migrations
 * to VRAM and back.
 */
static void attributes(void)
{
	const uint32_t flags = KFD_IOCTL_SVM_FLAG_HOST_ACCESS |
			       KFD_IOCTL_SVM_FLAG_COHERENT;
	struct vg_queue q;
	char want[32];
	uint32_t id;
	char *p;
	int i;

	tap_open(&vg, 1);
	id = vg.gpu[0].gpu_id;
	p = tap_anon(PAGES * VG_PAGE);
	for (i = 0; i < vg.n_gpus; i++)
		OK(vg_svm_set1(&vg, p, PAGES * VG_PAGE,
			       KFD_IOCTL_SVM_ATTR_NO_ACCESS,
			       vg.gpu[i].gpu_id));
	expect(p, "granularity 9 flags %#x preferred_loc undefined prefetch_loc undefined access none in_place none mapped none complete none actual_loc system:0 other:%d",
	       flags, PAGES);

	memset(p, 1, 5 * VG_PAGE);
	OK(vg_svm_set1(&vg, p, PAGES * VG_PAGE, KFD_IOCTL_SVM_ATTR_GRANULARITY,
		       4));
	OK(vg_svm_set1(&vg, p, PAGES * VG_PAGE, KFD_IOCTL_SVM_ATTR_SET_FLAGS,
		       KFD_IOCTL_SVM_FLAG_GPU_RO));
	OK(vg_svm_set1(&vg, p, PAGES * VG_PAGE,
		       KFD_IOCTL_SVM_ATTR_PREFERRED_LOC, 0));
	expect(p, "granularity 4 flags %#x preferred_loc system prefetch_loc undefined access none in_place none mapped none complete none actual_loc system:5 other:%d",
	       flags | KFD_IOCTL_SVM_FLAG_GPU_RO, PAGES - 5);

	OK(vg_svm_set1(&vg, p, PAGES * VG_PAGE, KFD_IOCTL_SVM_ATTR_CLR_FLAGS,
		       KFD_IOCTL_SVM_FLAG_GPU_RO));
	OK(vg_svm_set1(&vg, p, PAGES * VG_PAGE,
		       KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE, id));
	OK(vg_svm_set1(&vg, p, PAGES * VG_PAGE,
		       KFD_IOCTL_SVM_ATTR_PREFERRED_LOC, id));
	OK(vg_svm_prefetch(&vg, p, PAGES * VG_PAGE, id));
	expect(p, "granularity 4 flags %#x preferred_loc %u prefetch_loc %u access none in_place %u mapped %u complete %u actual_loc system:0 %u:%d other:0",
	       flags, id, id, id, id, id, id, PAGES);

	/* The granularity is 4, so a CPU fault must migrate 16 pages to system memory. */
	CHECK(p[20 * VG_PAGE] == 0, "the page is not zero");
	expect(p, "granularity 4 flags %#x preferred_loc %u prefetch_loc %u access none in_place %u mapped %u complete none actual_loc system:16 %u:%d other:0",
	       flags, id, id, id, id, id, PAGES - 16);
	OK(vg_svm_prefetch(&vg, p, PAGES * VG_PAGE, 0));
	OK(vg_svm_set1(&vg, p, PAGES * VG_PAGE, KFD_IOCTL_SVM_ATTR_ACCESS, id));
	expect(p, "granularity 4 flags %#x preferred_loc %u prefetch_loc system access %u in_place none mapped none complete none actual_loc system:%d other:0",
	       flags, id, id, PAGES);

	/* A GPU fault must migrate 16 pages to VRAM, because the granularity is 4 (2^4 pages). */
	OK(vg_queue_create(&vg, &vg.gpu[0], 4096, &q));
	OK(vg_fill(&q, p + 40 * VG_PAGE, 7, VG_PAGE));
	expect(p, "granularity 4 flags %#x preferred_loc %u prefetch_loc system access %u in_place none mapped %u complete none actual_loc system:%d %u:16 other:0",
	       flags, id, id, id, PAGES - 16, id);
	OK(vg_queue_destroy(&q));
	CHECK(!munmap(p, PAGES * VG_PAGE), "munmap");
	tap_read(file_of(getpid()), text, TEXT);
	snprintf(want, sizeof(want), "%#lx-", (uintptr_t)p);
	CHECK(!strstr(text, want), "an unmapped range is still shown:\n%s",
	      text);
}

/* Check the first line of the file, which describes the process. */
static void process(void)
{
	static const char policy[] = "/sys/module/vgpu_kfd/parameters/svm_policy";
	char name[32], want[128];
	int xnack;

	tap_read(policy, name, sizeof(name));
	name[strcspn(name, "\n")] = 0;
	tap_open(&vg, -1);
	for (xnack = 0; xnack < 2; xnack++) {
		OK(vg_set_xnack(&vg, xnack));
		tap_read(file_of(getpid()), text, TEXT);
		snprintf(want, sizeof(want),
			 " xnack %s policy %s default_granularity 9 queues in_place\n",
			 xnack ? "on" : "off", name);
		CHECK(strstr(text, want) && !strncmp(text, "pasid 0x", 8),
		      "the file has %s", text);
	}
}

/*
 * Migrate the first page of a range to the first GPU, the second page to the second GPU, and so
 * on. Leave the other pages in system memory.
 */
static void several_gpus(void)
{
	char want[128];
	int n = 0, i;
	char *p;

	tap_open(&vg, 1);
	p = tap_anon(PAGES * VG_PAGE);
	memset(p, 1, PAGES * VG_PAGE);
	for (i = 0; i < vg.n_gpus; i++)
		OK(vg_svm_set1(&vg, p, PAGES * VG_PAGE,
			       KFD_IOCTL_SVM_ATTR_ACCESS, vg.gpu[i].gpu_id));
	OK(vg_svm_set1(&vg, p, PAGES * VG_PAGE, KFD_IOCTL_SVM_ATTR_GRANULARITY,
		       0));
	for (i = 0; i < vg.n_gpus; i++) {
		struct vg_queue q;

		/* The granularity is 0, so a fault migrates one page to the preferred GPU. */
		OK(vg_svm_set1(&vg, p, PAGES * VG_PAGE,
			       KFD_IOCTL_SVM_ATTR_PREFERRED_LOC,
			       vg.gpu[i].gpu_id));
		OK(vg_queue_create(&vg, &vg.gpu[i], 4096, &q));
		OK(vg_fill(&q, p + i * VG_PAGE, 7, VG_PAGE));
		OK(vg_queue_destroy(&q));
		n += snprintf(want + n, sizeof(want) - (size_t)n, "%u:1 ",
			      vg.gpu[i].gpu_id);
	}
	snprintf(want + n, sizeof(want) - (size_t)n, "other:0");
	CHECK(strstr(line_at(p), want), "%s: that should end with %s",
	      line_at(p), want);
	snprintf(want, sizeof(want), " actual_loc system:%d ",
		 PAGES - vg.n_gpus);
	CHECK(strstr(line_at(p), want), "%s: that should have%s", line_at(p),
	      want);
}

/* Parse a line. Return false if it is not a complete line of a range. */
static bool parse(const char *at, struct line *l)
{
	/*
	 * sscanf() computes the length of its whole input string, so let it parse a copy
	 * of the line instead of the rest of the file.
	 */
	char copy[512];
	size_t len = strcspn(at, "\n");
	unsigned long pages;
	unsigned int id;
	const char *loc;
	int n;

	memset(l, 0, sizeof(*l));
	if (len >= sizeof(copy))
		return false;
	memcpy(copy, at, len);
	copy[len] = 0;
	loc = strstr(copy, " actual_loc system:");
	if (!loc ||
	    sscanf(copy, "%lx-%lx pages %lu ", &l->first, &l->last,
		   &l->pages) != 3 ||
	    sscanf(loc, " actual_loc system:%lu%n", &l->system, &n) != 1)
		return false;
	for (loc += n; sscanf(loc, " %u:%lu%n", &id, &pages, &n) == 2; loc += n)
		l->vram += pages;
	return sscanf(loc, " other:%lu%n", &l->other, &n) == 1 && !loc[n];
}

/* Check each range's line in text[] and the order of the lines. Return the number of lines. */
static int check_lines(void)
{
	uint64_t behind = 0;
	struct line l;
	char *at;
	int n;

	at = strchr(text, '\n');
	CHECK(at, "no line in '%s'", text);
	for (n = 0, at++; *at; n++, at = strchr(at, '\n') + 1) {
		CHECK(parse(at, &l), "cannot be parsed: %s", at);
		CHECK(l.first >= behind, "%#lx comes after %#lx", l.first,
		      behind);
		behind = l.last;
		CHECK(l.last - l.first == l.pages * VG_PAGE &&
		      l.system + l.vram <= l.pages &&
		      l.system + l.vram + l.other == l.pages,
		      "inconsistent: %s", at);
	}
	return n;
}

/* Return memory in which each of @n pages is a separate range. */
static char *single_pages(int n)
{
	char *p = tap_anon((uint64_t)n * VG_PAGE);
	int i;

	for (i = 0; i < n; i++)
		OK(vg_svm_set1(&vg, p + i * VG_PAGE, VG_PAGE,
			       KFD_IOCTL_SVM_ATTR_GRANULARITY, i & 1));
	return p;
}

/* Create more ranges than one read() returns. Every range must be listed exactly once. */
static void many_ranges(void)
{
	struct line l;
	char *p, *at;
	int i;

	tap_open(&vg, 1);
	p = single_pages(MANY);
	tap_read(file_of(getpid()), text, TEXT);
	i = check_lines();
	CHECK(i == MANY, "%d ranges, not %d", i, MANY);
	at = strchr(text, '\n') + 1;
	for (i = 0; i < MANY; i++, at = strchr(at, '\n') + 1) {
		CHECK(parse(at, &l), "line %d", i);
		CHECK(l.first == (uintptr_t)p + (uint64_t)i * VG_PAGE,
		      "line %d is of %#lx", i, l.first);
	}
}

/* Split, migrate, unmap and create ranges until killed. */
static void churn(void *arg)
{
	const int *ready = arg;
	const uint64_t size = PAGES * VG_PAGE;
	unsigned int i;
	char *p;

	tap_open(&vg, 1);
	p = tap_anon(CHURN * size);
	for (i = 0;; i++) {
		char *at = p + i % CHURN * size;

		memset(at, (int)i, size);
		OK(vg_svm_prefetch(&vg, at, size,
				   vg.gpu[i % (unsigned int)vg.n_gpus].gpu_id));
		OK(vg_svm_set1(&vg, at + 3 * VG_PAGE, 7 * VG_PAGE,
			       KFD_IOCTL_SVM_ATTR_GRANULARITY, i % 5));
		at[9 * VG_PAGE]++;
		if (i == CHURN)
			CHECK(write(*ready, "", 1) == 1, "write");
		CHECK(!munmap(at + size / 2, size / 2) &&
		      mmap(at + size / 2, size / 2, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
			   0) == at + size / 2,
		      "mmap: %s", strerror(errno));
	}
}

/*
 * Run @fn in a child, with the write end of a pipe as argument. Wait for the byte that @fn writes
 * after creating its ranges.
 */
static pid_t start(void (*fn)(void *))
{
	int fds[2];
	pid_t pid;
	char c;

	CHECK(!pipe(fds), "pipe");
	pid = fork();
	CHECK(pid >= 0, "fork");
	if (!pid) {
		close(fds[0]);
		fn(&fds[1]);
		_exit(1);
	}
	close(fds[1]);
	CHECK(read(fds[0], &c, 1) == 1, "the child has ended");
	close(fds[0]);
	return pid;
}

static void stop(pid_t pid)
{
	int status;

	CHECK(!kill(pid, SIGKILL) && waitpid(pid, &status, 0) == pid,
	      "the child");
	CHECK(WIFSIGNALED(status), "the child ended by itself, status %#x",
	      status);
}

static void read_while_changing(void)
{
	pid_t pid = start(churn);
	int round;

	for (round = 0; tap_goes_on(round, 200); round++) {
		tap_read(file_of(pid), text, TEXT);
		check_lines();
	}
	stop(pid);
}

static void wait_to_die(void *arg)
{
	const int *ready = arg;

	tap_open(&vg, 1);
	single_pages(PAGES);
	CHECK(write(*ready, "", 1) == 1, "write");
	for (;;)
		pause();
}

/*
 * Kill a process after part of its debugfs file was read. Catches: the teardown waits until the
 * file is closed; a later read() returns ranges.
 */
static void ends_while_read(void)
{
	pid_t pid = start(wait_to_die);
	int file = open(file_of(pid), O_RDONLY);
	uint64_t end;
	ssize_t n;

	CHECK(file >= 0, "%s: %s", file_of(pid), strerror(errno));
	CHECK(read(file, text, 64) == 64, "read: %s", strerror(errno));
	stop(pid);
	end = vg_now() + END_MS * 1000000ull;
	while (!access(file_of(pid), F_OK)) {
		CHECK(vg_now() < end, "%s does not go", file_of(pid));
		usleep(1000);
	}
	n = read(file, text, TEXT);
	CHECK(n < 0 && (errno == EIO || errno == ESRCH),
	      "read() of a file that has gone gives %zd", n);
	close(file);
}

static void read_on(pid_t pid)
{
	int file = open(file_of(pid), O_RDONLY);

	if (file < 0)
		return;
	while (pread(file, text, TEXT, 0) > 0)
		;
	close(file);
}

/*
 * Kill the process at a random time while its debugfs file is read. Catches: the reader
 * hangs; memory is not freed.
 */
static void killed_while_read(void)
{
	int round;

	for (round = 0; tap_goes_on(round, 20); round++) {
		pid_t reader, pid = start(churn);
		int status;

		reader = fork();
		CHECK(reader >= 0, "fork");
		if (!reader) {
			read_on(pid);
			_exit(0);
		}
		usleep((useconds_t)(round % 10 * 5000));
		stop(pid);
		CHECK(waitpid(reader, &status, 0) == reader && !status,
		      "the reader: status %#x", status);
	}
}

static const struct tap_case cases[] = {
	{ "the process", process, 1 },
	{ "attributes, and where pages are", attributes, 1 },
	{ "pages with several GPUs", several_gpus, 2 },
	{ "many ranges", many_ranges, 1 },
	{ "read while ranges change", read_while_changing, 1 },
	{ "the process ends between two reads", ends_while_read, 1 },
	{ "the process is killed while it is read", killed_while_read, 1 },
};

int main(int argc, char **argv)
{
	return tap_main(TAP_CASES(cases), argc, argv);
}
