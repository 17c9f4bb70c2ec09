// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Guest program of "./vgpu check-recovery" (tools/vgpu_tools/testing/recovery.py). The host sends
 * commands as lines on stdin; the program answers each with one line.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <drm/amdgpu_drm.h>

#include "vg.h"

#define SEED 0x5ec0e
/* Time limit for a devcoredump: 5 s on the reference machine */
#define DUMP_MS (VG_TIMEOUT_MS / 6)

enum {
	BOS = 500, MAX_PAGES = 8, SVM_BYTES = 8 << 20, RING = 64 << 10,
	LOST_BOS = 40, MOVING = 15, FRESH = 3, MOVING_BYTES = 16 << 20,
};

static struct vg vg;
static struct vg_gpu *gpu;
static struct vg_bo bo[BOS], stage;
static struct vg_queue q;
static void *svm;

static uint64_t bo_bytes(int i)
{
	return (1 + i % MAX_PAGES) * VG_PAGE;
}

static uint64_t counter(const char *name)
{
	struct vg_counters c;

	return vg_driver_counters(gpu, &c) ? 0 : vg_counter(&c, name, NULL);
}

static int make_bos(void)
{
	uint64_t total = 0;
	int i, ret = 0;

	for (i = 0; i < BOS && !ret; i++) {
		ret = vg_bo_create(&vg, gpu, bo_bytes(i), VG_GTT, &bo[i]);
		if (!ret)
			vg_pattern_fill(bo[i].cpu, bo_bytes(i), SEED, i);
		total += bo_bytes(i);
	}
	ret = ret ?: vg_bo_create(&vg, gpu, total, VG_GTT, &stage);
	ret = ret ?: vg_queue_create(&vg, gpu, RING, &q);
	svm = vg_map_anon(SVM_BYTES);
	if (!svm)
		ret = vg_fail(-ENOMEM, "no memory");
	if (!ret)
		vg_pattern_fill(svm, SVM_BYTES, SEED, 7);
	return ret;
}

/*
 * Return the number of intact BOs. A BO is intact if the BO has the right bytes, and the copy that
 * copy_all() made in "stage" also has the right bytes.
 */
static int count_intact(void)
{
	char *copy = stage.cpu;
	int i, n = 0;

	for (i = 0; i < BOS; i++) {
		n += !vg_pattern_check(bo[i].cpu, bo_bytes(i), SEED, i) &&
		     !vg_pattern_check(copy, bo_bytes(i), SEED, i);
		copy += bo_bytes(i);
	}
	return n;
}

static void reply_us(const char *copy, int good, int of, uint64_t us)
{
	printf("copy %s good %d of %d gart %lu engine %lu device %lu gaveup %lu stopped %lu poisoned %lu failed %lu us %lu\n",
	       copy, good, of, counter("gart_recoveries"),
	       counter("engine_resets"), counter("device_resets"),
	       counter("recovery_failures"), counter("queues_stopped"),
	       counter("processes_poisoned"), counter("jobs_failed"), us);
	fflush(stdout);
}

static void reply(const char *copy, int good, int of)
{
	reply_us(copy, good, of, counter("recovery_us"));
}

/*
 * Let the kernel's ring migrate the SVM memory to VRAM and back. The ring copies through the GART.
 * If @reset, reset the device between the two migrations.
 */
static int migrate(bool reset)
{
	int ret = vg_svm_prefetch(&vg, svm, SVM_BYTES, gpu->gpu_id);

	if (!ret && reset)
		ret = vg_gpu_reset(gpu);
	ret = ret ?: vg_svm_prefetch(&vg, svm, SVM_BYTES, 0);
	ret = ret ?: vg_pattern_check(svm, SVM_BYTES, SEED, 7);
	if (ret) {
		fprintf(stderr, "%s\n", vg_error());
		vg_pattern_fill(svm, SVM_BYTES, SEED, 7);
	}
	return ret;
}

/*
 * Command "broken": call migrate(). The host makes the kernel's engine hang repeatedly, until
 * the driver gives up and lets the CPU copy.
 */
static void do_broken(void)
{
	int ret = migrate(false);

	reply(ret ? "wrong" : "right", BOS, BOS);
}

/* Copy all BOs on the user queue, and call migrate() at the same time. */
static int copy_all(bool reset)
{
	uint64_t at = stage.va;
	int ret = 0, i;

	memset(stage.cpu, 0, stage.size);
	for (i = 0; i < BOS && !ret; i++) {
		ret = vg_emit_copy(&q, at, bo[i].va, bo_bytes(i));
		at += bo_bytes(i);
	}
	vg_queue_submit(&q);
	ret = ret ?: migrate(reset);
	if (vg_queue_finish(&q, VG_TIMEOUT_MS)) {
		fprintf(stderr, "%s\n", vg_error());
		ret = -1;
	}
	return ret;
}

/* Command "copy", or "reset" if @reset: call copy_all(), and check every byte. */
static void do_copy(bool reset)
{
	int ret = copy_all(reset);

	reply(ret ? "wrong" : "right", count_intact(), BOS);
}

/*
 * Command "flush": unmap the BO "stage" and map it again, then call copy_all(). The host suppresses
 * the acknowledgement of the unmap's TLB flush.
 */
static void do_flush(void)
{
	int ret = vg_bo_unmap_gpu(&stage);

	ret = ret ?: vg_bo_map_gpu(&stage);
	if (ret)
		fprintf(stderr, "%s\n", vg_error());
	ret = ret ?: copy_all(false);
	reply(ret ? "wrong" : "right", count_intact(), BOS);
}

/* Return 1 if the debugfs file vram_lost_bos lists the BO, 0 if not, or -errno. */
static int said_lost(const struct vg_bo *b)
{
	unsigned long long offset, size;
	char path[96];
	int found = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/kernel/debug/dri/%d/vram_lost_bos",
		 gpu->minor);
	f = fopen(path, "re");
	if (!f)
		return vg_fail(-errno, "cannot open %s", path);
	while (fscanf(f, "%llx %llu", &offset, &size) == 2)
		found += offset == b->mmap_offset && size == b->size;
	fclose(f);
	return found;
}

static uint32_t vram_lost_counter(void)
{
	uint32_t value = ~0u;
	struct drm_amdgpu_info info = {
		.return_pointer = (uintptr_t)&value,
		.return_size = sizeof(value),
		.query = AMDGPU_INFO_VRAM_LOST_COUNTER,
	};

	return ioctl(gpu->fd, DRM_IOCTL_AMDGPU_INFO, &info) ? ~0u : value;
}

static sigjmp_buf bus;

static void on_bus(int signal)
{
	siglongjmp(bus, signal);
}

/* Return true if an access to *@p raises SIGBUS. */
static bool is_bus_error(const volatile char *p)
{
	struct sigaction action = { .sa_handler = on_bus }, old;
	bool refused = true;

	sigaction(SIGBUS, &action, &old);
	if (!sigsetjmp(bus, 1)) {
		(void)*p;
		refused = false;
	}
	sigaction(SIGBUS, &old, NULL);
	return refused;
}

/*
 * Runs in a child: reset the device, which loses VRAM. Return the number of BOs with the expected
 * state (lost or intact), or a negative number on an error.
 */
static int lose_vram(int to, int from)
{
	static struct vg_bo b[LOST_BOS];
	uint64_t losses;
	uint32_t before;
	int i, n = 0;

	(void)to;
	(void)from;
	if (vg_open(&vg))
		return -1;
	gpu = &vg.gpu[0];
	for (i = 0; i < LOST_BOS; i++) {
		if (vg_bo_create(&vg, gpu, bo_bytes(i),
				 i % 2 ? VG_VRAM : VG_GTT, &b[i]))
			return -1;
		vg_pattern_fill(b[i].cpu, bo_bytes(i), SEED, i);
	}
	svm = vg_map_anon(SVM_BYTES);
	if (!svm)
		return -1;
	vg_pattern_fill(svm, SVM_BYTES, SEED, 7);
	if (vg_svm_prefetch(&vg, svm, SVM_BYTES / 2, gpu->gpu_id))
		return -1;
	before = vram_lost_counter();
	losses = counter("vram_lost");
	if (vg_gpu_reset(gpu))
		return -1;
	if (counter("vram_lost") != losses + 1 ||
	    vram_lost_counter() != before + 1) {
		vg_fail(-EIO, "VRAM lost: not counted");
		return -1;
	}
	for (i = 0; i < LOST_BOS; i++) {
		bool right = !vg_pattern_check(b[i].cpu, bo_bytes(i), SEED, i);

		/*
		 * BOs in VRAM (odd @i) must be lost, and reported as lost. BOs in GTT must be
		 * intact, and not reported.
		 */
		n += said_lost(&b[i]) == i % 2 && right == !(i % 2);
	}
	/*
	 * The first half of the SVM memory was migrated to VRAM, so an access to it must raise
	 * SIGBUS. The second half must be intact.
	 */
	if (!is_bus_error(svm) || !is_bus_error((char *)svm + SVM_BYTES / 2 - 1) ||
	    vg_pattern_check((char *)svm + SVM_BYTES / 2, SVM_BYTES / 2, SEED,
			     7 + SVM_BYTES / 2))
		return vg_fail(-EIO, "migrated pages: lost and not said so");
	/* A BO allocated after the reset must not be reported as lost. */
	if (vg_bo_create(&vg, gpu, VG_MIB, VG_VRAM, &stage) ||
	    said_lost(&stage) || vg_fill_check(stage.cpu, VG_MIB, 0))
		return -1;
	return n;
}

static void mark_bo(const struct vg_bo *b, int seed)
{
	uint64_t at;

	for (at = 0; at < b->size; at += VG_MIB)
		vg_pattern_fill((char *)b->cpu + at, VG_PAGE, SEED + seed, at);
}

static bool is_marked(const struct vg_bo *b, int seed)
{
	uint64_t at;

	for (at = 0; at < b->size; at += VG_MIB)
		if (vg_pattern_check((char *)b->cpu + at, VG_PAGE, SEED + seed,
				     at))
			return false;
	return true;
}

/*
 * Runs in a child: reset the device during evictions from VRAM. Return the number of correctly
 * reported BOs (lost or not), or a negative number.
 */
static int lose_moving(int to, int from)
{
	static struct vg_bo b[MOVING + FRESH];
	int i, n = 0, whole = 0;

	(void)to;
	(void)from;
	if (vg_open(&vg))
		return -1;
	gpu = &vg.gpu[0];
	for (i = 0; i < MOVING; i++) {
		if (vg_bo_alloc(&vg, gpu, MOVING_BYTES, VG_VRAM, &b[i]) ||
		    vg_bo_map_cpu(&b[i]))
			return -1;
		mark_bo(&b[i], i);
	}
	for (; i < MOVING + FRESH; i++)
		if (vg_bo_alloc(&vg, gpu, MOVING_BYTES, VG_VRAM, &b[i]))
			return -1;
	if (vg_gpu_reset(gpu))
		return -1;
	for (i = 0; i < MOVING; i++) {
		bool right = is_marked(&b[i], i);

		whole += right;
		n += said_lost(&b[i]) == !right;
	}
	/*
	 * The BO that was written last was still in VRAM at the reset, and VRAM lost its content.
	 * So at least this BO must have changed.
	 */
	if (whole == MOVING) {
		vg_fail(-EIO, "all BOs are whole: nothing was lost");
		return -1;
	}
	return n;
}

/* A child process, and a pipe for ints in each direction. */
struct child {
	pid_t pid;
	int to, from;
};

static int take(int fd)
{
	int n;

	return read(fd, &n, sizeof(n)) == sizeof(n) ? n : -1;
}

static void give(int fd, int n)
{
	if (write(fd, &n, sizeof(n)) != sizeof(n))
		_exit(1);
}

/* Run @fn in a child. Before the child ends, it sends the return value of @fn to the parent. */
static int child_start(struct child *c, int (*fn)(int to, int from))
{
	int down[2], up[2];

	if (pipe(down) || pipe(up))
		return -1;
	fflush(stdout);
	c->pid = fork();
	if (!c->pid) {
		int n;

		/*
		 * Let the kernel kill the child when the parent ends, because the parent may end
		 * without a message on the pipe.
		 */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(down[1]);
		close(up[0]);
		n = fn(up[1], down[0]);
		if (n < 0)
			fprintf(stderr, "%s\n", vg_error());
		give(up[1], n);
		_exit(0);
	}
	close(down[0]);
	close(up[1]);
	c->to = down[1];
	c->from = up[0];
	return 0;
}

static int child_end(struct child *c)
{
	int n = take(c->from), status = 0;

	waitpid(c->pid, &status, 0);
	close(c->to);
	close(c->from);
	return status ? -1 : n;
}

/*
 * Command "lost": see lose_vram(). Commands "lost" and "moves" lose VRAM, and this loss stops
 * queue @q of this process. Other commands need @q, so the host sends "lost" and "moves" last.
 */
static void do_lost(void)
{
	struct child c;

	reply("none", child_start(&c, lose_vram) ? -1 : child_end(&c),
	      LOST_BOS);
}

static volatile sig_atomic_t got_bus;

static void note_bus(int signal)
{
	got_bus = signal;
}

/*
 * This process has read poison. Wait for its events @memory and @hw, check their data, and wait for
 * SIGBUS.
 */
static int poison_told(uint32_t memory, uint32_t hw)
{
	struct kfd_event_data data[2] = {
		{ .event_id = memory }, { .event_id = hw },
	};
	struct kfd_ioctl_wait_events_args wait = {
		.events_ptr = (uintptr_t)data,
		.num_events = 2,
		.wait_for_all = 1,
		.timeout = VG_TIMEOUT_MS,
	};
	uint64_t until = vg_deadline();
	int ret = vg_ioctl(&vg, AMDKFD_IOC_WAIT_EVENTS, &wait);

	if (ret || wait.wait_result != KFD_IOC_WAIT_RESULT_COMPLETE)
		return vg_fail(ret ? ret : -ETIMEDOUT, "poison: no events");
	if (data[0].memory_exception_data.ErrorType != KFD_MEM_ERR_POISON_CONSUMED ||
	    data[0].memory_exception_data.gpu_id != gpu->gpu_id ||
	    data[1].hw_exception_data.reset_cause != KFD_HW_EXCEPTION_ECC ||
	    data[1].hw_exception_data.gpu_id != gpu->gpu_id)
		return vg_fail(-EIO, "poison: unexpected event data");
	/* The driver sends SIGBUS after it signals the events. */
	while (!got_bus && vg_now() < until)
		vg_sleep_us(1000);
	return got_bus ? 0 : vg_fail(-EIO, "poison: no SIGBUS");
}

static int make_event(uint32_t type, uint32_t *id)
{
	struct kfd_ioctl_create_event_args args = { .event_type = type };
	int ret = vg_ioctl(&vg, AMDKFD_IOC_CREATE_EVENT, &args);

	*id = args.event_id;
	return ret;
}

/*
 * Let a queue read the poison in @src: SDMA copies from @src to @dst, or the CP polls @src and then
 * writes to @dst.
 */
static int read_poison(bool cp, const struct vg_bo *src, const struct vg_bo *dst)
{
	static struct vg_queue q;
	static struct vg_bo save;
	static struct vg_cq cq;
	uint32_t word = *(uint32_t *)src->cpu;
	int ret;

	if (!cp) {
		ret = vg_queue_create(&vg, gpu, RING, &q) ?:
		      vg_emit_copy(&q, dst->va, src->va, VG_MIB);
		if (!ret)
			vg_queue_submit(&q);
		return ret;
	}
	ret = vg_save_area(&vg, gpu, KFD_IOC_ALLOC_MEM_FLAGS_GTT, &save) ?:
	      vg_cq_create(&vg, gpu, &save, RING, false, &cq) ?:
	      vg_pm4_wait(&cq, src->va, word) ?:
	      vg_pm4_write(&cq, dst->va, &word, 1);
	if (!ret)
		vg_cq_submit(&cq);
	return ret;
}

/*
 * In a child: let a queue read poison, and check the driver's reports. Return the time in us from
 * the call of read_poison() to the last report, or a negative number after an error.
 */
static int poisoned(bool cp)
{
	struct sigaction action = { .sa_handler = note_bus };
	struct vg_queue other = { 0 }, fresh = { 0 };
	struct vg_bo src = { 0 }, dst = { 0 };
	uint32_t memory, hw, seq;
	uint64_t began, us;

	sigaction(SIGBUS, &action, NULL);
	if (vg_open(&vg))
		return -1;
	gpu = &vg.gpu[0];
	if (make_event(KFD_IOC_EVENT_MEMORY, &memory) ||
	    make_event(KFD_IOC_EVENT_HW_EXCEPTION, &hw) ||
	    vg_bo_create(&vg, gpu, VG_MIB, VG_VRAM, &src) ||
	    vg_bo_create(&vg, gpu, VG_MIB, VG_GTT, &dst) ||
	    vg_queue_create(&vg, gpu, RING, &other))
		return -1;
	vg_pattern_fill(src.cpu, VG_MIB, SEED, 3);
	vg_pattern_fill(dst.cpu, VG_MIB, SEED, 4);
	began = vg_now();
	if (read_poison(cp, &src, &dst) || poison_told(memory, hw))
		return -1;
	us = (vg_now() - began) / 1000;
	/* The queue must not have written a byte, and all queues of the process must be stopped. */
	if (vg_pattern_check(dst.cpu, VG_MIB, SEED, 4) ||
	    vg_emit_fence(&other, &seq))
		return -1;
	vg_queue_submit(&other);
	if (vg_wait(&other, seq, 100) != -ETIMEDOUT)
		return vg_fail(-EIO, "a queue went on after poison");
	/* A new queue must work. */
	if (vg_queue_create(&vg, gpu, RING, &fresh) ||
	    vg_copy(&fresh, dst.cpu, src.cpu, VG_MIB) ||
	    vg_pattern_check(dst.cpu, VG_MIB, SEED, 3))
		return -1;
	return us;
}

static int poisoned_sdma(int to, int from)
{
	(void)to;
	(void)from;
	return poisoned(false);
}

static int poisoned_cp(int to, int from)
{
	(void)to;
	(void)from;
	return poisoned(true);
}

/*
 * Command "poison" (SDMA queue) or "cp" (compute queue): a child reads injected poison in VRAM.
 * Then copy_all() must still work.
 */
static void do_poison(int (*fn)(int to, int from))
{
	struct child c;
	int us, ret;

	us = child_start(&c, fn) ? -1 : child_end(&c);
	ret = copy_all(false);
	reply_us(ret ? "wrong" : "right", us < 0 ? -1 : count_intact(), BOS,
		 us < 0 ? 0 : us);
}

static void do_moves(void)
{
	struct child c;

	reply("none", child_start(&c, lose_moving) ? -1 : child_end(&c),
	      MOVING);
}

/*
 * Runs in a child: the child's second queue hangs the engine that the parent's queue uses. @to and
 * @from are pipes to and from the parent. Return a negative number on an error. Return BOS on
 * success: here BOS is only the code that do_hang() expects.
 */
static int guilty(int to, int from)
{
	struct vg_queue mine[2] = { 0 };
	uint32_t seq;
	int i;

	if (vg_open(&vg))
		return -1;
	gpu = &vg.gpu[0];
	for (i = 0; i < 2; i++)
		if (vg_queue_create(&vg, gpu, 4096, &mine[i]))
			return -1;
	if (vg_emit_fence(&mine[1], &seq))
		return -1;
	vg_queue_submit(&mine[1]);
	give(to, 0);
	take(from);
	/*
	 * The driver must have stopped the hung queue, and not the other queue of this
	 * process.
	 */
	if (vg_wait(&mine[1], seq, 100) != -ETIMEDOUT)
		return vg_fail(-EIO, "a queue that hung went on");
	/* do_hang() takes any value but BOS as an error. */
	return vg_queue_finish(&mine[0], VG_TIMEOUT_MS) ? -1 : BOS;
}

/*
 * Command "hang": a child's queue hangs the engine that copy_all() uses. The driver must stop this
 * queue only; other work must continue.
 */
static void do_hang(void)
{
	uint64_t stopped = counter("queues_stopped"), until;
	int ret, n;
	struct child c;

	if (child_start(&c, guilty))
		return;
	take(c.from);
	ret = copy_all(false);
	n = count_intact();
	give(c.to, 0);
	if (child_end(&c) != BOS)
		ret = -1;
	/* The driver increments queues_stopped after it has restarted the engine, so wait. */
	until = vg_deadline();
	while (counter("queues_stopped") == stopped && vg_now() < until)
		vg_sleep_us(1000);
	if (counter("queues_stopped") != stopped + 1)
		ret = -1;
	reply(ret ? "wrong" : "right", n, BOS);
}

/*
 * Command "dump": check that the devcoredump of the last failure has all sections. vg_dump_take()
 * also removes the dump.
 */
static void do_dump(void)
{
	static const char * const parts[] = {
		"vgpu-kfd device dump", "\nreason: ", "\nmm hub: status ",
		"\nlast fault of the kernel: ", "\n> gart[",
		"\nsdma0 queue 0: rb_cntl ", " ring from the oldest job:",
		"\nsdma1: ", "\ninterrupt ring: ",
	};
	const int of = sizeof(parts) / sizeof(*parts);
	static char text[64 << 10];
	int i, good = 0;

	if (vg_dump_take(text, sizeof(text), DUMP_MS))
		fprintf(stderr, "%s\n", vg_error());
	for (i = 0; i < of; i++) {
		if (strstr(text, parts[i]))
			good++;
		else
			fprintf(stderr, "dump without %s\n", parts[i]);
	}
	reply("none", good, of);
}

int main(void)
{
	char line[64];

	if (vg_open(&vg)) {
		fprintf(stderr, "%s\n", vg_error());
		return 1;
	}
	gpu = &vg.gpu[0];
	if (make_bos()) {
		fprintf(stderr, "%s\n", vg_error());
		return 1;
	}
	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		if (!strcmp(line, "copy\n") || !strcmp(line, "reset\n"))
			do_copy(*line == 'r');
		else if (!strcmp(line, "flush\n"))
			do_flush();
		else if (!strcmp(line, "broken\n"))
			do_broken();
		else if (!strcmp(line, "hang\n"))
			do_hang();
		else if (!strcmp(line, "dump\n"))
			do_dump();
		else if (!strcmp(line, "moves\n"))
			do_moves();
		else if (!strcmp(line, "poison\n"))
			do_poison(poisoned_sdma);
		else if (!strcmp(line, "cp\n"))
			do_poison(poisoned_cp);
		else if (!strcmp(line, "lost\n"))
			do_lost();
		else
			return 2;
	}
	return 0;
}
