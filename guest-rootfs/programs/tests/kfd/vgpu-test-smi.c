// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Test SMI events of faults, migrations, evictions and resets. Catches: missing, repeated or false
 * events; events shown to another process without permission.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tap.h"

#define SEED		0x51
#define BIT_OF(event)	KFD_SMI_EVENT_MASK_FROM_INDEX(KFD_SMI_EVENT_##event)
#define ALL_EVENTS	(BIT_OF(ALL_PROCESS) - 1)
#define FIFO_BYTES	1024

static struct vg vg;
static struct vg_gpu *gpu;
static struct vg_queue q;

static void start(int xnack)
{
	tap_open(&vg, xnack);
	gpu = &vg.gpu[0];
	OK(vg_queue_create(&vg, gpu, 16 * VG_KIB, &q));
}

static long long boot_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

/**
 * struct watch - an open SMI event file
 * @fd: file descriptor
 * @text: bytes that were read and are not parsed yet
 * @len: number of bytes in @text
 */
struct watch {
	int fd;
	char text[4 * FIFO_BYTES];
	size_t len;
};

/* Open an SMI event file of GPU @gpu_id. Return 0 or -errno. */
static int watch_open(struct watch *w, uint32_t gpu_id)
{
	struct kfd_ioctl_smi_events_args args = { .gpuid = gpu_id };
	int r = vg_ioctl(&vg, AMDKFD_IOC_SMI_EVENTS, &args);

	w->fd = args.anon_fd;
	w->len = 0;
	return r;
}

static void watch_mask(struct watch *w, uint64_t mask)
{
	CHECK(write(w->fd, &mask, sizeof(mask)) == sizeof(mask), "write");
}

static void watch_start(struct watch *w, uint64_t mask)
{
	ERRNO(0, watch_open(w, gpu->gpu_id));
	watch_mask(w, mask);
}

/* Read all available bytes. Return 0 or -errno. */
static int watch_fill(struct watch *w)
{
	ssize_t n = read(w->fd, w->text + w->len, sizeof(w->text) - w->len - 1);

	if (n < 0)
		return -errno;
	w->len += n;
	w->text[w->len] = 0;
	return 0;
}

/* Store the next line in @line, without its newline. Return false if there is no line. */
static bool watch_line(struct watch *w, char line[KFD_SMI_EVENT_MSG_SIZE])
{
	char *end = memchr(w->text, '\n', w->len);
	size_t n;

	if (!end && !watch_fill(w))
		end = memchr(w->text, '\n', w->len);
	if (!end) {
		CHECK(!w->len, "half a line: \"%s\"", w->text);
		return false;
	}
	n = end - w->text;
	CHECK(n < KFD_SMI_EVENT_MSG_SIZE, "a line of %zu bytes", n);
	memcpy(line, w->text, n);
	line[n] = 0;
	w->len -= n + 1;
	memmove(w->text, end + 1, w->len);
	return true;
}

/* Store the next line in @line. The case fails if no line arrives within VG_TIMEOUT_MS. */
static void watch_wait(struct watch *w, char line[KFD_SMI_EVENT_MSG_SIZE])
{
	struct pollfd p = { .fd = w->fd, .events = POLLIN };

	if (watch_line(w, line))
		return;
	CHECK(poll(&p, 1, VG_TIMEOUT_MS) == 1 && p.revents == POLLIN,
	      "no event");
	CHECK(watch_line(w, line), "POLLIN, but nothing is to be read");
}

/* Fields of an event line that reports the start or the end of a migration. */
struct move {
	unsigned int event, from, to, trigger;
	int pid;
	long long ns;
	uint64_t page, pages;
};

static void parse_move(const char *line, struct move *m)
{
	unsigned int prefetch, preferred;
	int n;

	if (*line == '5') {
		n = sscanf(line, "%x %lld -%d @%lx(%lx) %x->%x %x:%x %d",
			   &m->event, &m->ns, &m->pid, &m->page, &m->pages,
			   &m->from, &m->to, &prefetch, &preferred, &m->trigger);
		CHECK(n == 10, "no beginning of a migration: \"%s\"", line);
	} else {
		n = sscanf(line, "%x %lld -%d @%lx(%lx) %x->%x %d", &m->event,
			   &m->ns, &m->pid, &m->page, &m->pages, &m->from,
			   &m->to, &m->trigger);
		CHECK(n == 8 && m->event == KFD_SMI_EVENT_MIGRATE_END,
		      "no end of a migration: \"%s\"", line);
	}
}

/*
 * Check all lines: start and end events of migrations, each in ascending order, for exactly the
 * @npages pages from @p on. At most two migrations are in progress at a time.
 */
static void expect_moves(struct watch *w, const void *p, uint64_t npages,
			 uint32_t from, uint32_t to, unsigned int trigger)
{
	uint64_t page = (uintptr_t)p / VG_PAGE, end = page + npages;
	char line[KFD_SMI_EVENT_MSG_SIZE];
	struct move m, open[2] = { 0 };
	unsigned int n = 0;

	while (page < end || n) {
		CHECK(watch_line(w, line), "no start of %lu pages, no end of %u",
		      end - page, n);
		parse_move(line, &m);
		CHECK(m.from == from && m.to == to && m.trigger == trigger &&
		      m.pid == getpid() && m.ns <= boot_ns(), "\"%s\"", line);
		if (m.event == KFD_SMI_EVENT_MIGRATE_START) {
			CHECK(n < 2, "a third one starts: \"%s\"", line);
			CHECK(m.page == page && m.pages && m.pages <= end - page,
			      "\"%s\" at page 0x%lx", line, page);
			page += m.pages;
			open[n++] = m;
			continue;
		}
		CHECK(n && m.page == open[0].page && m.pages == open[0].pages &&
		      m.ns >= open[0].ns, "\"%s\" before its start", line);
		open[0] = open[1];
		n--;
	}
	CHECK(!watch_line(w, line), "one more: \"%s\"", line);
}

static void bad_input(void)
{
	void *nowhere = mmap(NULL, VG_PAGE, PROT_NONE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct watch w;
	char *p;

	start(1);
	ERRNO(EINVAL, watch_open(&w, 0));
	ERRNO(EINVAL, watch_open(&w, gpu->gpu_id + 1));
	ERRNO(EINVAL, watch_open(&w, gpu->gpu_id | 1u << 31));
	ERRNO(0, watch_open(&w, gpu->gpu_id));
	ERRNO(EAGAIN, watch_fill(&w));
	CHECK(write(w.fd, "1234567", 7) < 0 && errno == EFAULT, "seven bytes");
	CHECK(write(w.fd, nowhere, 8) < 0 && errno == EFAULT, "bad address");
	/* While the mask is empty, no event must be reported. */
	p = tap_anon(VG_MIB);
	OK(vg_svm_prefetch(&vg, p, VG_MIB, gpu->gpu_id));
	ERRNO(EAGAIN, watch_fill(&w));
	watch_mask(&w, BIT_OF(MIGRATE_END));
	OK(vg_svm_prefetch(&vg, p, VG_MIB, 0));
	CHECK(read(w.fd, nowhere, 64) < 0 && errno == EFAULT, "bad address");
	close(w.fd);
}

static void migrations(void)
{
	const uint64_t size = 5 * VG_MIB + 3 * VG_PAGE;
	char line[KFD_SMI_EVENT_MSG_SIZE];
	struct watch w;
	struct move m;
	char *p;

	start(1);
	p = tap_anon(size);
	vg_pattern_fill(p, size, SEED, 0);
	watch_start(&w, BIT_OF(MIGRATE_START) | BIT_OF(MIGRATE_END));
	OK(vg_svm_prefetch(&vg, p, size, gpu->gpu_id));
	expect_moves(&w, p, size / VG_PAGE, 0, gpu->gpu_id,
		     KFD_MIGRATE_TRIGGER_PREFETCH);
	/*
	 * The pages are in VRAM already, but the driver reports a migration again, because it sends
	 * the start event before it looks at the pages.
	 */
	OK(vg_svm_prefetch(&vg, p, size, gpu->gpu_id));
	expect_moves(&w, p, size / VG_PAGE, 0, gpu->gpu_id,
		     KFD_MIGRATE_TRIGGER_PREFETCH);
	OK(vg_svm_prefetch(&vg, p, size, 0));
	expect_moves(&w, p, size / VG_PAGE, gpu->gpu_id, 0,
		     KFD_MIGRATE_TRIGGER_PREFETCH);
	OK(vg_svm_prefetch(&vg, p, VG_PAGE, gpu->gpu_id));
	expect_moves(&w, p, 1, 0, gpu->gpu_id, KFD_MIGRATE_TRIGGER_PREFETCH);
	/*
	 * The CPU access below faults and must cause one migration to system memory. The migration
	 * may cover more pages of the granule.
	 */
	OK(vg_pattern_check(p, VG_PAGE, SEED, 0));
	CHECK(watch_line(&w, line), "no event for the CPU's fault");
	parse_move(line, &m);
	CHECK(m.event == KFD_SMI_EVENT_MIGRATE_START &&
	      m.page == (uintptr_t)p / VG_PAGE && m.from == gpu->gpu_id &&
	      !m.to && m.trigger == KFD_MIGRATE_TRIGGER_PAGEFAULT_CPU &&
	      m.pid == getpid(), "\"%s\"", line);
	CHECK(watch_line(&w, line), "its migration does not end");
	CHECK(!watch_line(&w, line), "one more: \"%s\"", line);
	OK(vg_pattern_check(p, size, SEED, 0));
}

/*
 * Read all lines, pairs of fault start and end. Return the number of faults on @size bytes at @p;
 * *@moved counts those that migrated pages.
 */
static unsigned int faults_of(struct watch *w, const char *p, uint64_t size,
			      unsigned int *moved)
{
	char line[KFD_SMI_EVENT_MSG_SIZE], how;
	uint64_t page, open = 0;
	unsigned int event, node, n = 0;
	long long ns;
	int pid;

	*moved = 0;
	while (watch_line(w, line)) {
		CHECK(sscanf(line, "%x %lld -%d @%lx(%x) %c", &event, &ns, &pid,
			     &page, &node, &how) == 6, "\"%s\"", line);
		CHECK(pid == getpid() && node == gpu->gpu_id &&
		      ns <= boot_ns(), "\"%s\"", line);
		if (event == KFD_SMI_EVENT_PAGE_FAULT_START) {
			CHECK(!open, "a fault in a fault");
			open = page;
			continue;
		}
		CHECK(event == KFD_SMI_EVENT_PAGE_FAULT_END && page == open,
		      "\"%s\" after the beginning of 0x%lx", line, open);
		open = 0;
		if (page < (uintptr_t)p / VG_PAGE ||
		    page >= ((uintptr_t)p + size) / VG_PAGE)
			continue;
		n++;
		*moved += how == 'M';
	}
	CHECK(!open, "a fault does not end");
	return n;
}

static void faults(void)
{
	const uint64_t size = 2 * VG_MIB;
	char *src, *dst;
	unsigned int moved;
	struct watch w;

	start(1);
	src = tap_anon(size);
	dst = tap_anon(size);
	vg_pattern_fill(src, size, SEED, 0);
	/*
	 * Prefer system memory. Without this attribute a fault would migrate the memory
	 * to the GPU.
	 */
	OK(vg_svm_set1(&vg, src, size, KFD_IOCTL_SVM_ATTR_PREFERRED_LOC, 0));
	watch_start(&w, BIT_OF(PAGE_FAULT_START) | BIT_OF(PAGE_FAULT_END));
	OK(vg_copy(&q, dst, src, size));
	CHECK(faults_of(&w, src, size, &moved) && !moved,
	      "faults of the source: %u moved", moved);
	OK(vg_copy(&q, dst, src, size));
	CHECK(!faults_of(&w, dst, size, &moved), "a second fault event");
	OK(vg_pattern_check(dst, size, SEED, 0));

	vg_unmap_anon(dst, size);
	dst = tap_anon(size);
	OK(vg_svm_set1(&vg, dst, size, KFD_IOCTL_SVM_ATTR_PREFERRED_LOC,
		       gpu->gpu_id));
	OK(vg_copy(&q, dst, src, size));
	CHECK(faults_of(&w, dst, size, &moved) && moved,
	      "no fault moved the destination");
	OK(vg_pattern_check(dst, size, SEED, 0));
}

/*
 * Read the next line, which must report @event of this process. The text after the time and the pid
 * must be @rest.
 */
static void expect_text(struct watch *w, unsigned int event, const char *rest)
{
	char line[KFD_SMI_EVENT_MSG_SIZE];
	unsigned int e;
	long long ns;
	int pid, at = 0;

	watch_wait(w, line);
	CHECK(sscanf(line, "%x %lld -%d %n", &e, &ns, &pid, &at) == 3 &&
	      e == event && pid == getpid() && ns <= boot_ns() &&
	      !strcmp(line + at, rest), "\"%s\", not event %u \"%s\"", line,
	      event, rest);
}

static void evictions(void)
{
	const uint64_t size = VG_MIB;
	char unmap[64], off[32], on[32];
	struct watch w;
	char *p;

	start(0);
	p = tap_anon(size);
	vg_pattern_fill(p, size, SEED, 0);
	OK(vg_svm_set1(&vg, p, size, KFD_IOCTL_SVM_ATTR_ACCESS, gpu->gpu_id));
	watch_start(&w, BIT_OF(UNMAP_FROM_GPU) | BIT_OF(QUEUE_EVICTION) |
			BIT_OF(QUEUE_RESTORE));
	snprintf(off, sizeof(off), "%x %d", gpu->gpu_id,
		 KFD_QUEUE_EVICTION_TRIGGER_SVM);
	snprintf(on, sizeof(on), "%x 0", gpu->gpu_id);

	CHECK(!mprotect(p + VG_PAGE, 2 * VG_PAGE, PROT_READ), "mprotect");
	snprintf(unmap, sizeof(unmap), "@%lx(2) %x %d",
		 (uintptr_t)p / VG_PAGE + 1, gpu->gpu_id,
		 KFD_SVM_UNMAP_TRIGGER_MMU_NOTIFY);
	expect_text(&w, KFD_SMI_EVENT_QUEUE_EVICTION, off);
	expect_text(&w, KFD_SMI_EVENT_UNMAP_FROM_GPU, unmap);
	expect_text(&w, KFD_SMI_EVENT_QUEUE_RESTORE, on);

	/* munmap must unmap the range from the GPU without evicting queues. */
	CHECK(!munmap(p + size / 2, size / 2), "munmap");
	snprintf(unmap, sizeof(unmap), "@%lx(%lx) %x %d",
		 ((uintptr_t)p + size / 2) / VG_PAGE, size / 2 / VG_PAGE,
		 gpu->gpu_id, KFD_SVM_UNMAP_TRIGGER_UNMAP_FROM_CPU);
	expect_text(&w, KFD_SMI_EVENT_UNMAP_FROM_GPU, unmap);
}

static void memory_fault(void)
{
	char line[KFD_SMI_EVENT_MSG_SIZE], comm[20], want[64];
	struct watch w;
	uint32_t seq;
	char *p;

	start(0);
	p = tap_anon(VG_MIB);
	watch_start(&w, BIT_OF(VMFAULT));
	OK(vg_emit_fill(&q, (uintptr_t)p, 1, VG_PAGE));
	OK(vg_emit_fence(&q, &seq));
	vg_queue_submit(&q);
	watch_wait(&w, line);
	tap_read("/proc/self/comm", comm, sizeof(comm));
	comm[strcspn(comm, "\n")] = 0;
	snprintf(want, sizeof(want), "1 %x:%s", getpid(), comm);
	CHECK(!strcmp(line, want), "\"%s\", not \"%s\"", line, want);
}

static void child_prefetches(void *arg)
{
	char *p;

	(void)arg;
	start(1);
	p = tap_anon(VG_PAGE);
	OK(vg_svm_prefetch(&vg, p, VG_PAGE, gpu->gpu_id));
}

/* Runs in an unprivileged child. The child must see its own events, but not those of its parent. */
static void child_nobody(void *arg)
{
	int *pipes = arg;
	struct watch w;
	char c;
	char *p;

	start(1);
	CHECK(!setresuid(65534, 65534, 65534), "setresuid");
	watch_start(&w, ALL_EVENTS | BIT_OF(ALL_PROCESS));
	CHECK(write(pipes[1], "w", 1) == 1, "write");
	CHECK(read(pipes[2], &c, 1) == 1, "read");
	ERRNO(EAGAIN, watch_fill(&w));
	p = tap_anon(VG_PAGE);
	watch_mask(&w, BIT_OF(MIGRATE_START) | BIT_OF(MIGRATE_END) |
		       BIT_OF(ALL_PROCESS));
	OK(vg_svm_prefetch(&vg, p, VG_PAGE, gpu->gpu_id));
	expect_moves(&w, p, 1, 0, gpu->gpu_id,
		     KFD_MIGRATE_TRIGGER_PREFETCH);
}

static void whose(void)
{
	char line[KFD_SMI_EVENT_MSG_SIZE];
	int to_me[2], to_child[2];
	struct watch own, all;
	pid_t pid;
	int status;
	struct move m;
	char *p, c;

	start(1);
	watch_start(&own, BIT_OF(MIGRATE_START));
	watch_start(&all, BIT_OF(MIGRATE_START) | BIT_OF(ALL_PROCESS));
	tap_in_child(child_prefetches, NULL);
	ERRNO(EAGAIN, watch_fill(&own));
	CHECK(watch_line(&all, line), "no event of the child");
	parse_move(line, &m);
	CHECK(m.pid != getpid(), "the child's event has the parent's pid: \"%s\"", line);

	CHECK(!pipe(to_me) && !pipe(to_child), "pipe");
	pid = fork();
	CHECK(pid >= 0, "fork");
	if (!pid) {
		int pipes[] = { to_me[0], to_me[1], to_child[0], to_child[1] };

		child_nobody(pipes);
		_exit(0);
	}
	close(to_me[1]);
	CHECK(read(to_me[0], &c, 1) == 1, "the child has ended");
	p = tap_anon(VG_PAGE);
	OK(vg_svm_prefetch(&vg, p, VG_PAGE, gpu->gpu_id));
	CHECK(watch_line(&own, line), "no event of the parent");
	CHECK(write(to_child[1], "g", 1) == 1, "write");
	CHECK(waitpid(pid, &status, 0) == pid && !status,
	      "the child ended with status 0x%x", status);
	CHECK(!watch_line(&own, line), "not mine: \"%s\"", line);
}

static void resets(void)
{
	const uint64_t mask = BIT_OF(GPU_PRE_RESET) | BIT_OF(GPU_POST_RESET);
	char line[KFD_SMI_EVENT_MSG_SIZE];
	unsigned int event, seq, first = 0;
	struct watch w;
	int i;

	start(1);
	OK(vg_queue_destroy(&q));
	watch_start(&w, mask);
	for (i = 0; i < 3; i++) {
		OK(vg_gpu_reset(gpu));
		watch_wait(&w, line);
		CHECK(sscanf(line, "%x %x ", &event, &seq) == 2 &&
		      event == KFD_SMI_EVENT_GPU_PRE_RESET &&
		      strstr(line, "asked for"), "\"%s\"", line);
		CHECK(!i || seq == first + i, "\"%s\" is number %d", line, i);
		if (!i)
			first = seq;
		watch_wait(&w, line);
		CHECK(sscanf(line, "%x %x ", &event, &seq) == 2 &&
		      event == KFD_SMI_EVENT_GPU_POST_RESET &&
		      seq == first + i, "\"%s\"", line);
	}
	CHECK(!watch_line(&w, line), "one more: \"%s\"", line);
}

/* If the reader is too slow, the driver must drop whole lines, never part of a line. */
static void overflow(void)
{
	char line[KFD_SMI_EVENT_MSG_SIZE];
	struct watch w;
	struct move m;
	size_t bytes = 0;
	char *p;
	int i;

	start(1);
	p = tap_anon(VG_PAGE);
	watch_start(&w, BIT_OF(MIGRATE_START) | BIT_OF(MIGRATE_END));
	for (i = 0; i < 40; i++)
		OK(vg_svm_prefetch(&vg, p, VG_PAGE, i % 2 ? 0 : gpu->gpu_id));
	while (watch_line(&w, line)) {
		parse_move(line, &m);
		bytes += strlen(line) + 1;
	}
	CHECK(bytes <= FIFO_BYTES && bytes > FIFO_BYTES - sizeof(line),
	      "%zu bytes were kept", bytes);
	OK(vg_svm_prefetch(&vg, p, VG_PAGE, gpu->gpu_id));
	expect_moves(&w, p, 1, 0, gpu->gpu_id, KFD_MIGRATE_TRIGGER_PREFETCH);
}

/*
 * Unbind the GPU while an event is pending in the event file. The event must still be readable.
 * When it has been read, poll() must report only POLLHUP.
 */
static void gpu_goes(void)
{
	char name[VG_PCI_NAME], line[KFD_SMI_EVENT_MSG_SIZE];
	struct pollfd p = { .events = POLLIN };
	struct watch w;
	void *mem;

	start(1);
	mem = tap_anon(VG_PAGE);
	watch_start(&w, BIT_OF(MIGRATE_START));
	OK(vg_svm_prefetch(&vg, mem, VG_PAGE, gpu->gpu_id));
	OK(vg_pci_name(gpu, name));
	OK(vg_pci_unbind(name));
	p.fd = w.fd;
	CHECK(poll(&p, 1, VG_TIMEOUT_MS) == 1 &&
	      p.revents == (POLLIN | POLLHUP), "0x%x", p.revents);
	CHECK(watch_line(&w, line), "a pending event is lost");
	CHECK(poll(&p, 1, VG_TIMEOUT_MS) == 1 && p.revents == POLLHUP, "0x%x",
	      p.revents);
	ERRNO(ENODEV, watch_fill(&w));
	OK(vg_pci_bind(name));
	ERRNO(ENODEV, watch_fill(&w));
	close(w.fd);
}

static const struct tap_case cases[] = {
	{ "bad input", bad_input, 0 },
	{ "migrations", migrations, 0 },
	{ "faults that are repaired", faults, 0 },
	{ "queues off and on, XNACK off", evictions, 0 },
	{ "a fault that cannot be repaired", memory_fault, 0 },
	{ "whose events", whose, 0 },
	{ "resets of the device", resets, 0 },
	{ "nobody reads", overflow, 0 },
	{ "the GPU is taken away", gpu_goes, 0 },
};

int main(int argc, char **argv)
{
	return tap_main(TAP_CASES(cases), argc, argv);
}
