// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * This program resets the device while it is in use. Catches: memory contents change; a queue, a
 * page table or a PASID is not restored; a doorbell is lost; user space can write through BAR
 * mappings during the reset.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tap.h"

#define SEED 0x5ec0e
/* Time limit for a device dump to appear; 20 s on the reference machine */
#define DUMP_MS (VG_TIMEOUT_MS / 3 * 2)

enum { BOS = 32, BO_BYTES = 256 << 10, SVM_BYTES = 16 << 20 };

static struct vg vg;
static struct vg_gpu *gpu;
static struct vg_bo bo[BOS], stage;
static struct vg_queue q;

/*
 * Allocate BOs with known bytes. If @vram, every second BO is in VRAM; all others are
 * in GTT.
 */
static int make_bos(bool vram)
{
	int i, ret = vg_bo_create(&vg, gpu, BO_BYTES, VG_GTT, &stage);

	for (i = 0; i < BOS && !ret; i++) {
		ret = vg_bo_create(&vg, gpu, BO_BYTES,
				   vram && i % 2 ? VG_VRAM : VG_GTT, &bo[i]);
		if (!ret)
			vg_pattern_fill(bo[i].cpu, BO_BYTES, SEED, i);
	}
	return ret ?: vg_queue_create(&vg, gpu, 4096, &q);
}

/* Return the number of BOs from which both the CPU and the engine read the right bytes. */
static int count_intact(void)
{
	int i, n = 0;

	for (i = 0; i < BOS; i++) {
		if (vg_pattern_check(bo[i].cpu, BO_BYTES, SEED, i))
			continue;
		memset(stage.cpu, 0, BO_BYTES);
		if (vg_copy(&q, stage.cpu, bo[i].cpu, BO_BYTES))
			continue;
		n += !vg_pattern_check(stage.cpu, BO_BYTES, SEED, i);
	}
	return n;
}

static uint64_t counter(const char *name)
{
	struct vg_counters c;

	return vg_driver_counters(gpu, &c) ? 0 : vg_counter(&c, name, NULL);
}

static void start(bool vram)
{
	tap_open(&vg, 1);
	gpu = &vg.gpu[0];
	OK(make_bos(vram));
}

static void test_kept(void)
{
	uint64_t before, lost, stopped;
	int i, n;

	start(true);
	before = counter("device_resets");
	lost = counter("bos_lost");
	stopped = counter("queues_stopped");
	for (i = 1; i <= 3; i++) {
		OK(vg_gpu_reset(gpu));
		n = count_intact();
		CHECK(n == BOS, "%d of %d BOs intact after reset %d: %s", n,
		      BOS, i, vg_error());
	}
	CHECK(counter("device_resets") == before + 3, "resets are not counted");
	CHECK(counter("bos_lost") == lost, "BOs lost");
	CHECK(counter("queues_stopped") == stopped, "a queue was stopped");
}

/* Reset the device while a queue executes copies: every copy must complete. */
static void test_at_work(void)
{
	struct vg_bo big[2];
	uint64_t size = 32 * VG_MIB;
	uint32_t seq;
	int i, k;

	start(false);
	OK(vg_bo_create(&vg, gpu, size, VG_VRAM, &big[0]));
	OK(vg_bo_create(&vg, gpu, size, VG_GTT, &big[1]));
	for (i = 0; i < 4; i++) {
		vg_pattern_fill(big[0].cpu, size, SEED, i);
		memset(big[1].cpu, 0, size);
		for (k = 0; k < 16; k++)
			OK(vg_emit_copy(&q, big[1].va + k * 2 * VG_MIB,
					big[0].va + k * 2 * VG_MIB,
					2 * VG_MIB));
		OK(vg_emit_fence(&q, &seq));
		vg_queue_submit(&q);
		OK(vg_gpu_reset(gpu));
		OK(vg_wait(&q, seq, VG_TIMEOUT_MS));
		OK(vg_pattern_check(big[1].cpu, size, SEED, i));
	}
}

/* Copies by the kernel, which migrate SVM memory, must work before and after a reset. */
static void test_migrate(void)
{
	void *p;
	int i;

	start(false);
	p = vg_map_anon(SVM_BYTES);
	CHECK(p, "no memory");
	vg_pattern_fill(p, SVM_BYTES, SEED, 7);
	for (i = 0; i < 3; i++) {
		if (vg_svm_prefetch(&vg, p, SVM_BYTES, gpu->gpu_id) < 0)
			tap_skip("no SVM: %s", vg_error());
		OK(vg_gpu_reset(gpu));
		OK(vg_svm_prefetch(&vg, p, SVM_BYTES, 0));
		OK(vg_pattern_check(p, SVM_BYTES, SEED, 7));
	}
	vg_unmap_anon(p, SVM_BYTES);
}

/*
 * Queues of user space fault on many pages while the kernel copies. Catches: a user
 * fault stalls the kernel's ring, or is treated as a kernel fault.
 */
static void test_user_faults(void)
{
	uint64_t faults, gart, engines, outside = 1ull << 48;
	uint64_t bytes = 2 * VG_MIB, until = vg_deadline();
	struct vg_queue bad = { 0 };
	void *p;
	int i;

	start(false);
	faults = counter("faults_noretry");
	gart = counter("gart_recoveries");
	engines = counter("engine_resets");
	p = vg_map_anon(bytes);
	CHECK(p, "no memory");
	vg_pattern_fill(p, bytes, SEED, 7);
	/*
	 * Each round destroys its queue soon after the submission, maybe before an engine has
	 * executed the copy that faults. So go on after 24 rounds until a fault is counted.
	 */
	for (i = 0; i < 24 || counter("faults_noretry") == faults; i++) {
		CHECK(i < 24 || vg_now() < until, "no fault");
		OK(vg_queue_create(&vg, gpu, 4096, &bad));
		OK(vg_emit_copy(&bad, stage.va, outside, BO_BYTES));
		vg_queue_submit(&bad);
		if (vg_svm_prefetch(&vg, p, bytes,
				    i % 2 ? 0 : gpu->gpu_id) < 0)
			tap_skip("no SVM: %s", vg_error());
		OK(vg_queue_destroy(&bad));
	}
	OK(vg_pattern_check(p, bytes, SEED, 7));
	CHECK(counter("gart_recoveries") == gart &&
	      counter("engine_resets") == engines, "a user fault was treated as the kernel's");
	vg_unmap_anon(p, bytes);
}

/* A reset must write a device dump, which shows the page table walk of the last fault. */
static void test_dump(void)
{
	static char text[64 << 10];
	uint64_t until = vg_deadline(), faults;
	char line[80];
	void *hole;

	tap_open(&vg, 0);
	gpu = &vg.gpu[0];
	OK(make_bos(false));
	hole = vg_map_anon(VG_MIB);
	CHECK(hole, "no memory");
	vg_unmap_anon(hole, VG_MIB);
	OK(vg_emit_copy(&q, (uintptr_t)hole, bo[0].va, 4096));
	faults = counter("faults_unrepaired");
	vg_queue_submit(&q);
	OK(vg_dump_take(text, sizeof(text), 0));
	while (counter("faults_unrepaired") == faults) {
		CHECK(vg_now() < until, "no fault");
		vg_sleep_us(1000);
	}
	OK(vg_gpu_reset(gpu));
	OK(vg_dump_take(text, sizeof(text), DUMP_MS));
	CHECK(strstr(text, "reason: reset of the device"), "no reason: %.200s",
	      text);
	snprintf(line, sizeof(line), "last fault of users: write of %#lx, ",
		 (unsigned long)hole);
	CHECK(strstr(text, line), "not in the dump: %s", line);
	CHECK(strstr(text, "> pdb2["), "no page table in the dump");
	CHECK(strstr(text, "sdma0 queue 2: rb_cntl "), "no user queue");
	CHECK(strstr(text, "interrupt ring: "), "no interrupts");
}

/* Return the number of page faults that one read of @p causes in this thread. */
static long faults_of(volatile uint32_t *p)
{
	struct rusage before, after;

	CHECK(!getrusage(RUSAGE_THREAD, &before), "getrusage");
	(void)*p;
	CHECK(!getrusage(RUSAGE_THREAD, &after), "getrusage");
	return after.ru_minflt - before.ru_minflt;
}

/*
 * Catches: a page of a BAR stays mapped while the device is reset; a page is not mapped
 * again after the reset.
 */
static void test_mappings(void)
{
	static const char *const names[] = { "VRAM", "doorbells", "MMIO page" };
	struct vg_bo mmio;
	void *page;
	int i, k;

	start(true);
	OK(vg_bo_alloc(&vg, gpu, VG_PAGE, VG_MMIO_REMAP, &mmio));
	page = mmap(NULL, VG_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, vg.kfd,
		    (off_t)mmio.mmap_offset);
	CHECK(page != MAP_FAILED, "mmap of the MMIO page");
	for (i = 0; i < 3; i++) {
		volatile uint32_t *const at[] = { bo[1].cpu, q.doorbell_page, page };

		for (k = 0; k < 3; k++) {
			(void)*at[k];
			CHECK(!faults_of(at[k]), "%s: not mapped", names[k]);
		}
		OK(vg_gpu_reset(gpu));
		for (k = 0; k < 3; k++)
			CHECK(faults_of(at[k]), "%s: mapped during a reset",
			      names[k]);
	}
	munmap(page, VG_PAGE);
}

/**
 * struct writer - a thread that writes to VRAM or to a doorbell during resets
 * @thread: runs write_vram() or ring_doorbell()
 * @stop: request to end the thread
 * @rounds: number of completed writes
 */
struct writer {
	pthread_t thread;
	volatile bool stop;
	volatile uint64_t rounds;
};

enum { WORDS = BO_BYTES / 8 };

static void *write_vram(void *arg)
{
	volatile uint64_t *words = bo[1].cpu;
	struct writer *w = arg;
	uint64_t i;

	for (i = 0; !w->stop; i++) {
		words[i % WORDS] = i;
		w->rounds = i + 1;
	}
	return NULL;
}

/* Ring the doorbell, by the submission of copies, again and again, until w->stop is set. */
static void *ring_doorbell(void *arg)
{
	static struct vg_bo src, dst;
	static struct vg_queue mine;
	struct writer *w = arg;
	uint64_t i;

	OK(vg_bo_create(&vg, gpu, VG_PAGE, VG_GTT, &src));
	OK(vg_bo_create(&vg, gpu, VG_PAGE, VG_GTT, &dst));
	OK(vg_queue_create(&vg, gpu, 4096, &mine));
	for (i = 0; !w->stop; i++) {
		vg_pattern_fill(src.cpu, VG_PAGE, SEED, i);
		OK(vg_copy(&mine, dst.cpu, src.cpu, VG_PAGE));
		OK(vg_pattern_check(dst.cpu, VG_PAGE, SEED, i));
		w->rounds = i + 1;
	}
	return NULL;
}

/* Wait until the writer has completed @n more rounds. */
static void await_rounds(const struct writer *w, uint64_t n)
{
	uint64_t end = vg_deadline(), seen = w->rounds;

	while (w->rounds < seen + n) {
		CHECK(vg_now() < end, "a writer makes no progress");
		vg_sleep_us(100);
	}
}

/*
 * User space writes VRAM and doorbells while the device is reset. Catches: a write is
 * lost because the device is in reset; a thread does not return from its page fault.
 */
static void test_writers(void)
{
	static struct writer w[2];
	volatile uint64_t *words;
	uint64_t i, last;

	start(true);
	CHECK(!pthread_create(&w[0].thread, NULL, write_vram, &w[0]), "thread");
	CHECK(!pthread_create(&w[1].thread, NULL, ring_doorbell, &w[1]), "thread");
	for (i = 0; i < 12; i++) {
		await_rounds(&w[0], 2);
		await_rounds(&w[1], 2);
		OK(vg_gpu_reset(gpu));
	}
	await_rounds(&w[1], 2);
	await_rounds(&w[0], WORDS);
	for (i = 0; i < 2; i++) {
		w[i].stop = true;
		CHECK(!pthread_join(w[i].thread, NULL), "join");
	}
	/* Each word must hold the last number written to it. */
	words = bo[1].cpu;
	last = w[0].rounds - 1;
	for (i = last - WORDS + 1; i <= last; i++)
		CHECK(words[i % WORDS] == i, "write %lu was lost: %lu",
		      (unsigned long)i, (unsigned long)words[i % WORDS]);
}

int main(int argc, char **argv)
{
	static const struct tap_case cases[] = {
		{ "faults of users beside the kernel's copies", test_user_faults, 1 },
		{ "dump of a reset, with the user's fault", test_dump, 1 },
		{ "device reset, VRAM kept", test_kept, 1 },
		{ "device reset under a queue's work", test_at_work, 1 },
		{ "device reset between migrations", test_migrate, 1 },
		{ "device reset takes mappings of BARs away", test_mappings, 1 },
		{ "device reset beside writers of VRAM and doorbells", test_writers, 1 },
	};

	return tap_main(TAP_CASES(cases), argc, argv);
}
