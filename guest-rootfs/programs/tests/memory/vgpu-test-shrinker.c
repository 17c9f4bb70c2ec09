// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The kernel swaps out idle BOs. Catches: bytes are lost; a BO in use is swapped out. The tests
 * overwrite the guest's disk with swap.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <drm/amdgpu_drm.h>

#include "race.h"
#include "render.h"
#include "tap.h"

#define BO_BYTES	(2 * VG_MIB)
#define BO_PAGES	(BO_BYTES / VG_PAGE)
#define MAX_BOS		128
/* GPU addresses of the render node's BOs. */
#define VA(i)		(0x100000000ull + (uint64_t)(i) * 2 * BO_BYTES)

static struct vg vg;
static struct vg_gpu *gpu;
static int node;	/* file descriptor of the render node, in addition to gpu->fd */

static uint64_t meminfo(const char *name)
{
	return tap_read_number("/proc/meminfo", name) * VG_KIB;
}

static uint64_t available(void)
{
	return meminfo("MemAvailable:");
}

static uint64_t swap_free(void)
{
	return meminfo("SwapFree:");
}

static uint64_t shrunk(void)
{
	return tap_driver_counter(gpu, "shrunk_pages");
}

/* Make every shrinker reclaim all its objects. */
static void ask_for_all(void)
{
	CHECK(!vg_put("/proc/sys/vm/drop_caches", "2"), "drop_caches");
}

/* Reclaim until the number of swapped-out pages is at least @before + @pages. */
static void ask_until(uint64_t before, uint64_t pages)
{
	uint64_t end = vg_deadline();

	do {
		ask_for_all();
		CHECK(vg_now() < end, "%" PRIu64 " pages swapped out of %" PRIu64,
		      shrunk() - before, pages);
	} while (shrunk() - before < pages);
}

static bool long_form(void)
{
	return getenv("VGPU_TEST_SECONDS");
}

static void start(int xnack)
{
	tap_open(&vg, xnack);
	gpu = &vg.gpu[0];
	node = vr_open(gpu);
	ERRNO(0, node < 0 ? node : 0);
}

/*
 * Catches: BOs are swapped out without a swap device. This would free no memory,
 * because the contents would move to shmem pages.
 */
static void no_swap(void)
{
	struct vg_bo bo;
	uint64_t before;

	if (swap_free())
		tap_skip("there is swap already");
	start(-1);
	OK(vg_bo_alloc(&vg, gpu, BO_BYTES, VG_GTT, &bo));
	OK(vg_bo_map_cpu(&bo));
	vg_pattern_fill(bo.cpu, BO_BYTES, 1, 0);
	CHECK(tap_driver_counter(gpu, "swappable_pages") >= BO_PAGES,
	      "an idle BO is not counted");
	before = tap_driver_counter(gpu, "swapouts");
	for (int i = 0; i < 20; i++)
		ask_for_all();
	OK(vg_pattern_check(bo.cpu, BO_BYTES, 1, 0));
	CHECK(tap_driver_counter(gpu, "swapouts") == before,
	      "BOs were swapped out to nowhere");
	OK(vg_bo_free(&bo));
}

/* BOs of the render node, each with its own pattern, and an IB */
static struct vr_bo bo[MAX_BOS];
static struct vr_ib ib;
static uint32_t ctx;
static int n_bos;

static void bos_create(int n)
{
	n_bos = n;
	for (int i = 0; i < n; i++) {
		OK(vr_bo_create(node, BO_BYTES, AMDGPU_GEM_DOMAIN_GTT, 0,
				VA(i), &bo[i]));
		vg_pattern_fill(bo[i].cpu, BO_BYTES, (uint64_t)i, 0);
	}
}

/*
 * Copy BO @i to @stage by SDMA, and check the copy. Return the submission's error: -ENOMEM if BO
 * @i gets no pages.
 */
static int try_by_sdma(int i, struct vr_bo *stage)
{
	uint32_t handles[] = { bo[i].handle, stage->handle, ib.bo.handle };
	uint64_t seq;
	int err;

	ib.ndw = 0;
	vr_ib_copy(&ib, stage->va, bo[i].va, BO_BYTES);
	err = vr_submit(node, ctx, 0, &ib, handles, 3, &seq);
	if (err)
		return err;
	ERRNO(0, vr_wait(node, ctx, 0, seq, ~0ull));
	CHECK(!vg_pattern_check(stage->cpu, BO_BYTES, (uint64_t)i, 0),
	      "BO %d, by SDMA: %s", i, vg_error());
	return 0;
}

static void check_by_sdma(int i, struct vr_bo *stage)
{
	ERRNO(0, try_by_sdma(i, stage));
}

static void check_by_cpu(int i)
{
	CHECK(!vg_pattern_check(bo[i].cpu, BO_BYTES, (uint64_t)i, 0),
	      "BO %d, by CPU: %s", i, vg_error());
}

static void bos_check(void)
{
	struct vr_bo stage;

	OK(vr_bo_create(node, BO_BYTES, AMDGPU_GEM_DOMAIN_VRAM, 0,
			VA(n_bos), &stage));
	for (int i = 0; i < n_bos; i++) {
		if (i & 1)
			check_by_cpu(i);
		else
			check_by_sdma(i, &stage);
	}
	vr_bo_free(&stage);
}

static void bos_free(void)
{
	for (int i = 0; i < n_bos; i++)
		vr_bo_free(&bo[i]);
	vr_bo_free(&ib.bo);
}

static void bos_start(int n)
{
	ERRNO(0, vr_ib_create(node, VG_PAGE, VA(MAX_BOS + 1), &ib));
	ERRNO(0, vr_ctx_alloc(node, 0, &ctx));
	bos_create(n);
}

/* Swap all BOs out and in. Catches: a counter is wrong; bytes are lost. */
static void out_and_back(void)
{
	uint64_t before, counted;
	struct vg_mem_info full, empty;

	start(-1);
	tap_swap_on();
	counted = tap_driver_counter(gpu, "swappable_pages");
	bos_start(4);
	CHECK(tap_driver_counter(gpu, "swappable_pages") ==
	      counted + 4 * BO_PAGES + 1, "not counted right");
	OK(vg_mem_info(gpu, &full));
	before = shrunk();
	ask_until(before, 4 * BO_PAGES);
	OK(vg_mem_info(gpu, &empty));
	CHECK(full.gtt_used - empty.gtt_used >= 4 * BO_BYTES,
	      "GTT: %" PRIu64 " bytes in use before, %" PRIu64 " after",
	      full.gtt_used, empty.gtt_used);
	bos_check();
	bos_free();
	for (uint64_t end = vg_deadline();
	     tap_driver_counter(gpu, "swappable_pages") > counted;)
		CHECK(vg_now() < end, "%" PRIu64 " pages counted, were %" PRIu64,
		      tap_driver_counter(gpu, "swappable_pages"), counted);
}

/*
 * Catches: memory of a process is swapped out while the process has a queue, or is not
 * swapped out after the queue was destroyed; reclaim evicts the queue.
 */
static void queues_keep(void)
{
	uint64_t before, evicted;
	struct vg_bo src, dst;
	struct vg_queue q;

	start(0);
	tap_swap_on();
	OK(vg_bo_create(&vg, gpu, BO_BYTES, VG_GTT, &src));
	OK(vg_bo_create(&vg, gpu, BO_BYTES, VG_GTT, &dst));
	OK(vg_queue_create(&vg, gpu, 16384, &q));
	vg_pattern_fill(src.cpu, BO_BYTES, 7, 0);
	before = tap_driver_counter(gpu, "swapouts");
	evicted = tap_driver_counter(gpu, "process_evictions");
	for (int i = 0; i < 10; i++) {
		OK(vg_emit_copy(&q, dst.va, src.va, BO_BYTES));
		vg_queue_submit(&q);
		ask_for_all();
		OK(vg_queue_finish(&q, VG_TIMEOUT_MS));
	}
	OK(vg_pattern_check(dst.cpu, BO_BYTES, 7, 0));
	CHECK(tap_driver_counter(gpu, "swapouts") == before,
	      "memory of a process with a queue was swapped out");
	CHECK(tap_driver_counter(gpu, "process_evictions") == evicted,
	      "queues were taken off");
	OK(vg_queue_destroy(&q));

	ask_until(shrunk(), 2 * BO_PAGES);
	OK(vg_queue_create(&vg, gpu, 16384, &q));
	memset(dst.cpu, 0, BO_BYTES);
	OK(vg_copy(&q, dst.cpu, src.cpu, BO_BYTES));
	OK(vg_pattern_check(dst.cpu, BO_BYTES, 7, 0));
	OK(vg_queue_destroy(&q));
	OK(vg_bo_free(&src));
	OK(vg_bo_free(&dst));
}

/**
 * struct hog - a process that allocates memory and locks it
 */
struct hog {
	/** @pid: the process, which the OOM killer would kill first */
	pid_t pid;
	/**
	 * @to: write end of a pipe. Each byte requests HOG_PIECE more bytes of memory. Closing the
	 * pipe ends the process.
	 */
	/**
	 * @from: read end of a pipe, with one byte for each request: 1 if the memory is locked,
	 * else 0
	 */
	int to, from;
};

#define HOG_PIECE	(4 * VG_MIB)

static void hog_main(int from, int to)
{
	char ask;

	vg_put("/proc/self/oom_score_adj", "1000");
	while (read(from, &ask, 1) == 1) {
		void *p = mmap(NULL, HOG_PIECE, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		char has = p != MAP_FAILED && !mlock(p, HOG_PIECE);

		if (write(to, &has, 1) != 1)
			_exit(1);
	}
	_exit(0);
}

static void hog_start(struct hog *h)
{
	int up[2], down[2];

	CHECK(!pipe(up) && !pipe(down), "pipe");
	h->pid = fork();
	CHECK(h->pid >= 0, "fork");
	if (!h->pid) {
		close(up[0]);
		close(down[1]);
		hog_main(down[0], up[1]);
	}
	close(up[1]);
	close(down[0]);
	h->from = up[0];
	h->to = down[1];
}

/* Let the hog @h lock HOG_PIECE more bytes. The hog has locked @has bytes so far. */
static void hog_eat(struct hog *h, uint64_t has)
{
	char got = 0;

	CHECK(write(h->to, "m", 1) == 1 && read(h->from, &got, 1) == 1,
	      "a process with %" PRIu64 " MiB was killed", has / VG_MIB);
	CHECK(got, "mlock beyond %" PRIu64 " MiB failed", has / VG_MIB);
}

static void hog_end(struct hog *h)
{
	int status;

	close(h->to);
	CHECK(waitpid(h->pid, &status, 0) == h->pid && !status, "status %#x",
	      status);
	close(h->from);
}

/*
 * Catches: the driver creates a BO larger than TTM's limit, or allocates pages for a BO larger than
 * free memory. The OOM killer would then kill the hog (struct hog).
 */
static void too_large(void)
{
	uint64_t limit, bytes, has = 0;
	struct vr_bo large;
	struct hog hog;
	uint32_t handle;
	int i, zero, status;
	pid_t pid;

	if (swap_free())
		tap_skip("there is swap already");
	start(-1);
	limit = tap_read_number("/sys/module/ttm/parameters/pages_limit", "") *
		VG_PAGE;
	ERRNO(ENOMEM, vr_gem_create(node, limit + VG_PAGE,
				    AMDGPU_GEM_DOMAIN_CPU, 0, &handle));
	ERRNO(ENOMEM, vr_gem_create(node, limit + VG_PAGE,
				    AMDGPU_GEM_DOMAIN_GTT, 0, &handle));

	bytes = limit / 2 & ~(VG_PAGE - 1);
	ERRNO(0, vr_bo_create(node, bytes, AMDGPU_GEM_DOMAIN_CPU, 0, 0,
			      &large));
	hog_start(&hog);
	for (; available() > bytes / 2; has += HOG_PIECE)
		hog_eat(&hog, has);
	zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	CHECK(zero >= 0, "/dev/zero");
	/* This first access must fail before any page of the BO is allocated. */
	CHECK(read(zero, large.cpu, 1) < 0 && errno == EFAULT,
	      "a BO of %" PRIu64 " MiB got its memory, %" PRIu64
	      " MiB are available", bytes / VG_MIB, available() / VG_MIB);
	ERRNO(ENOMEM, vr_gem_create(node, bytes, AMDGPU_GEM_DOMAIN_GTT, 0,
				    &handle));
	/*
	 * A child repeats the read() into the BO, and each read() must fail. At the same time, the
	 * hog must get memory.
	 */
	pid = fork();
	CHECK(pid >= 0, "fork");
	while (!pid)
		if (read(zero, large.cpu, 1) == 1)
			_exit(1);
	for (i = 0; i < 8; i++, has += HOG_PIECE)
		hog_eat(&hog, has);
	kill(pid, SIGKILL);
	CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status),
	      "the BO got its memory: status %#x", status);
	hog_end(&hog);

	CHECK(read(zero, large.cpu, 1) == 1, "%s with memory available",
	      strerror(errno));
	vg_pattern_fill(large.cpu, bytes, 1, 0);
	OK(vg_pattern_check(large.cpu, bytes, 1, 0));
	vr_bo_free(&large);
	close(zero);
}

/*
 * The hog (struct hog) locks more and more memory. Catches: the OOM killer kills the hog, although
 * the driver could swap out idle BOs.
 */
static void memory_runs_out(void)
{
	uint64_t before, room, bytes, most, swap, end;
	struct vg_mem_info info;
	struct vr_bo stage;
	struct hog hog;
	int n, err;

	start(-1);
	tap_swap_on();
	OK(vg_mem_info(gpu, &info));
	n = (int)(info.gtt_total / BO_BYTES / (long_form() ? 2 : 6));
	if (n > MAX_BOS)
		n = MAX_BOS;
	bos_start(n);
	OK(vr_bo_create(node, BO_BYTES, AMDGPU_GEM_DOMAIN_VRAM, 0, VA(n),
			&stage));
	room = meminfo("MemFree:");
	most = meminfo("MemTotal:");
	before = shrunk();
	swap = swap_free();
	hog_start(&hog);
	/*
	 * The driver swaps a BO out into shmem pages. The kernel later writes these pages to the
	 * swap device, so wait for both steps.
	 */
	for (bytes = 0; shrunk() - before < (uint64_t)n * BO_PAGES / 4 ||
	     swap - swap_free() < (uint64_t)n * BO_BYTES / 8;
	     bytes += HOG_PIECE) {
		CHECK(bytes < most, "%" PRIu64 " pages came from BOs, %" PRIu64
		      " bytes are on the swap device", shrunk() - before,
		      swap - swap_free());
		/*
		 * Reclaim may free page cache and tmpfs first, so the necessary amount of memory
		 * is unknown.
		 */
		hog_eat(&hog, bytes);
	}
	tap_diag("%d MiB of BOs, %" PRIu64 " MiB free, %" PRIu64
		 " MiB taken: %" PRIu64 " MiB of BOs swapped out, %" PRIu64
		 " MiB of the device used", n * (int)(BO_BYTES / VG_MIB),
		 room / VG_MIB, bytes / VG_MIB,
		 (shrunk() - before) * VG_PAGE / VG_MIB,
		 (swap - swap_free()) / VG_MIB);
	/*
	 * To swap a BO in, the kernel must swap other BOs out. A submission does not wait
	 * until this has happened: it fails with ENOMEM, and the test repeats it.
	 */
	end = vg_deadline();
	while ((err = try_by_sdma(0, &stage)) == -ENOMEM)
		CHECK(vg_now() < end, "no BO makes room for another one");
	ERRNO(0, err);
	check_by_cpu(1);
	hog_end(&hog);
	vr_bo_free(&stage);
	bos_check();
	bos_free();
}

/*
 * Work of the child processes that run during reclaim: churn_render() uses BOs of the render
 * node, churn_kfd() BOs of KFD with a queue, churn_svm() SVM memory.
 */

static void churn_render(uint64_t round)
{
	race_salt(round);
	bos_start(3);
	for (int n = 0; n < 10; n++) {
		int i = (int)race_below(3);

		if (race_below(2)) {
			check_by_cpu(i);
			vr_bo_free(&bo[i]);
			OK(vr_bo_create(node, BO_BYTES,
					race_below(2) ? AMDGPU_GEM_DOMAIN_GTT :
							AMDGPU_GEM_DOMAIN_VRAM,
					0, VA(i), &bo[i]));
			vg_pattern_fill(bo[i].cpu, BO_BYTES, (uint64_t)i, 0);
		}
	}
	bos_check();
	bos_free();
}

static void churn_kfd(uint64_t round)
{
	struct vg_bo src, dst;
	struct vg_queue q;

	OK(vg_bo_create(&vg, gpu, BO_BYTES, round & 2 ? VG_GTT : VG_VRAM, &src));
	OK(vg_bo_create(&vg, gpu, BO_BYTES, VG_GTT, &dst));
	vg_pattern_fill(src.cpu, BO_BYTES, round, 0);
	for (int n = 0; n < 4; n++) {
		OK(vg_queue_create(&vg, gpu, 16384, &q));
		memset(dst.cpu, 0, BO_BYTES);
		OK(vg_copy(&q, dst.cpu, src.cpu, BO_BYTES));
		OK(vg_queue_destroy(&q));
		CHECK(!vg_pattern_check(dst.cpu, BO_BYTES, round, 0),
		      "copy of KFD: %s", vg_error());
	}
	OK(vg_bo_free(&dst));
	OK(vg_bo_free(&src));
}

static void churn_svm(uint64_t round)
{
	char *src = vg_map_anon(BO_BYTES), *dst = vg_map_anon(BO_BYTES);
	struct vg_queue q;

	OK(vg_queue_create(&vg, gpu, 16384, &q));
	CHECK(src && dst, "no memory");
	vg_pattern_fill(src, BO_BYTES, round, 0);
	OK(vg_svm_prefetch(&vg, src, BO_BYTES, gpu->gpu_id));
	OK(vg_copy(&q, dst, src, BO_BYTES));
	CHECK(!vg_pattern_check(dst, BO_BYTES, round, 0), "copy of SVM: %s",
	      vg_error());
	OK(vg_queue_destroy(&q));
	vg_unmap_anon(src, BO_BYTES);
	vg_unmap_anon(dst, BO_BYTES);
}

enum { CHURNERS = 4 };

static pid_t churn_start(int kind, uint64_t round)
{
	static void (*const churn[])(uint64_t) = {
		churn_render, churn_kfd, churn_svm,
	};
	pid_t pid;

	fflush(stdout);
	pid = fork();
	CHECK(pid >= 0, "fork");
	if (!pid) {
		start(kind == 2);
		churn[kind](round);
		_exit(0);
	}
	return pid;
}

static pid_t asker_start(void)
{
	pid_t pid = fork();

	CHECK(pid >= 0, "fork");
	for (; !pid; vg_sleep_us(20000))
		ask_for_all();
	return pid;
}

static void child_kill(pid_t pid)
{
	kill(pid, SIGKILL);
	CHECK(waitpid(pid, NULL, 0) == pid, "waitpid");
}

/*
 * Kill one of several children at a random time. The other children must find the contents
 * of their BOs intact.
 */
static void churn_round(int round)
{
	int status, victim = (int)race_below(CHURNERS);
	pid_t pid[CHURNERS];

	for (int i = 0; i < CHURNERS; i++)
		pid[i] = churn_start((round + i) % 3, (uint64_t)round);
	vg_sleep_us((unsigned int)race_below(500000));
	child_kill(pid[victim]);
	for (int i = 0; i < CHURNERS; i++)
		CHECK(i == victim || (waitpid(pid[i], &status, 0) == pid[i] &&
				      !status), "see above");
}

static void all_at_once(void)
{
	uint64_t before, most, end;
	struct vg_mem_info base;
	struct hog hog;
	pid_t asker;

	race_seed();
	start(-1);
	tap_swap_on();
	OK(vg_mem_info(gpu, &base));
	before = shrunk();
	/*
	 * Locking 85 % of the available memory (long form) causes reclaim. With 25 % (short form),
	 * only the child @asker causes reclaim.
	 */
	most = available() * (long_form() ? 17 : 5) / 20;
	hog_start(&hog);
	for (uint64_t has = 0; has < most; has += HOG_PIECE)
		hog_eat(&hog, has);
	asker = asker_start();
	/* After the usual rounds, go on until reclaim has swapped out an idle BO. */
	end = vg_deadline();
	for (int round = 0; tap_goes_on(round, 3) ||
	     (shrunk() == before && vg_now() < end); round++)
		churn_round(round);
	child_kill(asker);
	hog_end(&hog);
	tap_diag("%" PRIu64 " pages of BOs swapped out", shrunk() - before);
	CHECK(shrunk() > before, "nothing was swapped out");
	OK(vg_mem_wait_freed(gpu, &base, VG_TIMEOUT_MS));
}

static const struct tap_case cases[] = {
	{ "nothing is swapped out without swap", no_swap, 0 },
	{ "a BO larger than free memory is refused", too_large, 0 },
	{ "idle BOs go out when asked, and come back", out_and_back, 0 },
	{ "queues keep their memory", queues_keep, 0 },
	{ "BOs go out for who needs memory, nobody is killed", memory_runs_out, 0 },
	{ "reclaim while BOs, queues and ranges come and go", all_at_once, 0 },
};

int main(int argc, char **argv)
{
	return tap_main(TAP_CASES(cases), argc, argv);
}
