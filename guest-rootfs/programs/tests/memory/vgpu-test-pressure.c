// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Several processes need more VRAM than the GPU has. Catches: moved bytes are wrong; a queue runs
 * without its memory; a process is never restored.
 */
#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <drm/amdgpu_drm.h>

#include "tap.h"

enum {
	MAX_PROCESSES = 8,
	VRAM_BOS = 6,		/* BOs per process that are allocated in VRAM */
	GTT_BOS = 2,
	BOS = VRAM_BOS + GTT_BOS,
	ROUNDS = 30,
};

#define PIECE	(64 * VG_KIB)
#define PAGES_LIMIT "/sys/module/ttm/parameters/pages_limit"

static uint64_t seed = 0x9e55;

static struct vg vg;
static struct vg_gpu *gpu;

static uint64_t rnd_state;

static uint64_t rnd(uint64_t below)
{
	rnd_state ^= rnd_state << 13;
	rnd_state ^= rnd_state >> 7;
	rnd_state ^= rnd_state << 17;
	return rnd_state % below;
}

/*
 * Expected contents of a piece of a BO. If @filled is true, each dword of the piece has the
 * value @fill. Otherwise the piece has the pattern of @seed.
 */
struct shadow {
	uint64_t seed;
	uint32_t fill;
	bool filled;
};

struct buffer {
	struct vg_bo bo;	/* BO of KFD; unused for a BO of the render node */
	uint32_t handle;	/* handle of a BO of the render node; 0 for a BO of KFD */
	char *cpu;
	struct shadow *shadow;
};

static struct buffer buf[BOS], stage;
static struct vg_queue queue;
static bool have_queue;
static uint32_t *all_are_there;
static uint64_t bo_bytes, next_seed;
static int me;

static void shadow_zero(struct buffer *b)
{
	memset(b->shadow, 0, bo_bytes / PIECE * sizeof(*b->shadow));
	for (uint64_t i = 0; i < bo_bytes / PIECE; i++)
		b->shadow[i].filled = true;
}

static void check_bytes(const void *p, const struct shadow *s, int b,
			uint64_t piece, const char *who)
{
	int r = s->filled ? vg_fill_check(p, PIECE, s->fill) :
			    vg_pattern_check(p, PIECE, s->seed, 0);

	CHECK(!r, "process %d, BO %d, piece %" PRIu64 ", by %s: %s", me, b,
	      piece, who, vg_error());
}

static void gem_alloc(struct buffer *b, uint32_t domain)
{
	b->handle = tap_gem_create(gpu->fd, bo_bytes, domain, 0);
	b->cpu = tap_gem_mmap(gpu->fd, b->handle, bo_bytes);
}

static void gem_free(struct buffer *b)
{
	munmap(b->cpu, bo_bytes);
	tap_gem_close(gpu->fd, b->handle);
}

static bool by_render_node(void)
{
	return me % 4 == 3;
}

/* Allocate buffer @i. New memory must contain zeros. */
static void buffer_alloc(int i)
{
	struct buffer *b = &buf[i];

	if (by_render_node()) {
		gem_alloc(b, i < VRAM_BOS ? AMDGPU_GEM_DOMAIN_VRAM :
					    AMDGPU_GEM_DOMAIN_GTT);
	} else {
		OK(vg_bo_create(&vg, gpu, bo_bytes,
				i < VRAM_BOS ? VG_VRAM : VG_GTT, &b->bo));
		b->cpu = b->bo.cpu;
	}
	if (!b->shadow)
		b->shadow = malloc(bo_bytes / PIECE * sizeof(*b->shadow));
	shadow_zero(b);
}

static void buffer_free(int i)
{
	if (by_render_node())
		gem_free(&buf[i]);
	else
		OK(vg_bo_free(&buf[i].bo));
}

static void *piece_at(const struct buffer *b, uint64_t piece)
{
	return b->cpu + piece * PIECE;
}

static uint64_t rnd_piece(void)
{
	return rnd(bo_bytes / PIECE);
}

static void cpu_write(void)
{
	uint64_t p = rnd_piece();
	struct buffer *b = &buf[rnd(BOS)];

	b->shadow[p] = (struct shadow){ .seed = next_seed++ };
	vg_pattern_fill(piece_at(b, p), PIECE, b->shadow[p].seed, 0);
}

static void cpu_check(void)
{
	int i = (int)rnd(BOS);
	uint64_t p = rnd_piece();

	check_bytes(piece_at(&buf[i], p), &buf[i].shadow[p], i, p, "CPU");
}

static void sdma_copy(void)
{
	struct buffer *src = &buf[rnd(BOS)], *dst = &buf[rnd(BOS)];
	uint64_t from = rnd_piece(), to = rnd_piece();

	if (src == dst && from == to)
		return;
	OK(vg_emit_copy(&queue, (uintptr_t)piece_at(dst, to),
			(uintptr_t)piece_at(src, from), PIECE));
	dst->shadow[to] = src->shadow[from];
}

static void sdma_fill(void)
{
	struct buffer *b = &buf[rnd(BOS)];
	uint64_t p = rnd_piece();

	b->shadow[p] = (struct shadow){
		.filled = true, .fill = (uint32_t)rnd(UINT32_MAX),
	};
	OK(vg_emit_fill(&queue, (uintptr_t)piece_at(b, p), b->shadow[p].fill,
			PIECE));
}

static void sdma_check(void)
{
	int i = (int)rnd(BOS);
	uint64_t p = rnd_piece();

	OK(vg_copy(&queue, stage.cpu, piece_at(&buf[i], p), PIECE));
	check_bytes(stage.cpu, &buf[i].shadow[p], i, p, "SDMA");
}

/* Submit a batch to the queue; the CPU checks memory only after the batch. */
static void sdma_batch(void)
{
	for (uint64_t n = 1 + rnd(16); n; n--) {
		if (rnd(4))
			sdma_copy();
		else
			sdma_fill();
	}
	OK(vg_queue_finish(&queue, VG_TIMEOUT_MS));
}

static void queue_toggle(void)
{
	if (have_queue)
		OK(vg_queue_destroy(&queue));
	else
		OK(vg_queue_create(&vg, gpu, 16384, &queue));
	have_queue = !have_queue;
}

static void remap_or_renew(void)
{
	int i = (int)rnd(BOS);

	if (by_render_node() || rnd(2)) {
		buffer_free(i);
		buffer_alloc(i);
	} else {
		OK(vg_bo_unmap_gpu(&buf[i].bo));
		cpu_check();
		OK(vg_bo_map_gpu(&buf[i].bo));
	}
}

static void check_everything(bool by_sdma)
{
	for (int i = 0; i < BOS; i++) {
		for (uint64_t p = 0; p < bo_bytes / PIECE; p++) {
			const char *at = piece_at(&buf[i], p);

			if (by_sdma) {
				OK(vg_copy(&queue, stage.cpu, at, PIECE));
				at = stage.cpu;
			}
			check_bytes(at, &buf[i].shadow[p], i, p,
				    by_sdma ? "SDMA, at the end" :
					      "CPU, at the end");
		}
	}
}

static void one_round(int round)
{
	for (int n = 0; n < 8; n++) {
		switch (rnd(have_queue ? 8 : 3)) {
		case 0:
			cpu_write();
			break;
		case 1:
		case 2:
			cpu_check();
			break;
		case 3:
		case 4:
			sdma_check();
			break;
		default:
			sdma_batch();
		}
	}
	if (!(round % 8))
		remap_or_renew();
	/* A quarter of the processes destroy their queue and create it again. */
	if (me % 4 == 2 && !(round % 4))
		queue_toggle();
}

static void process_main(int index, uint32_t processes)
{
	int round;

	me = index;
	rnd_state = seed * 0x9e3779b97f4a7c15ull + (uint64_t)index + 1;
	next_seed = (uint64_t)index << 48;
	tap_open(&vg, index & 1);
	gpu = &vg.gpu[0];
	if (!by_render_node()) {
		OK(vg_bo_create(&vg, gpu, PIECE, VG_GTT, &stage.bo));
		stage.cpu = stage.bo.cpu;
		queue_toggle();
	}
	for (int i = 0; i < BOS; i++)
		buffer_alloc(i);
	/* No process starts its work before all have allocated their memory. */
	tap_meet(all_are_there, processes);
	for (round = 0; tap_goes_on(round, ROUNDS); round++)
		one_round(round);
	check_everything(false);
	if (!by_render_node()) {
		if (!have_queue)
			queue_toggle();
		check_everything(true);
	}
	tap_diag("process %d: %d rounds", index, round);
	_exit(0);
}

static void pages_limit_set(uint64_t pages)
{
	int fd = open(PAGES_LIMIT, O_WRONLY);

	CHECK(fd >= 0 && dprintf(fd, "%" PRIu64, pages) > 0, PAGES_LIMIT);
	close(fd);
}

static void end_all(const pid_t *pid, int processes)
{
	for (int i = 0; i < processes; i++)
		kill(pid[i], SIGKILL);
}

/*
 * Wait for all processes. When a process fails, end all others. Return true if no
 * process failed.
 */
static bool wait_all(const pid_t *pid, int processes)
{
	bool good = true;
	int status;

	for (int i = 0; i < processes; i++) {
		if (waitpid(-1, &status, 0) < 0)
			return false;
		if (status && good) {
			tap_diag("a process ended with status 0x%x", status);
			good = false;
			end_all(pid, processes);
		}
	}
	return good;
}

/*
 * Run @processes processes, each of which allocates @share bytes of VRAM. If @swap is true, lower
 * TTM's limit, so that BOs must be swapped out.
 */
static void pressure(int processes, uint64_t share, bool swap)
{
	uint64_t moved, evicted, swapped, limit = tap_read_number(PAGES_LIMIT, "");
	struct vg_mem_info base;
	pid_t pid[MAX_PROCESSES];
	bool good;

	OK(vg_mem_info(gpu, &base));
	moved = tap_driver_counter(gpu, "evictions");
	evicted = tap_driver_counter(gpu, "process_evictions");
	swapped = tap_driver_counter(gpu, "swapouts");
	bo_bytes = share / VRAM_BOS & ~(PIECE - 1);
	/*
	 * Set TTM's limit so that a quarter of the BO memory that does not fit into VRAM must
	 * be swapped out.
	 */
	if (swap)
		pages_limit_set((processes * BOS * bo_bytes - base.vram_total) /
				VG_PAGE * 3 / 4);
	all_are_there = tap_shared_page();
	fflush(stdout);
	for (int i = 0; i < processes; i++) {
		pid[i] = fork();
		CHECK(pid[i] >= 0, "fork");
		if (!pid[i])
			process_main(i, (uint32_t)processes);
	}
	good = wait_all(pid, processes);
	pages_limit_set(limit);
	CHECK(good, "see above");
	moved = tap_driver_counter(gpu, "evictions") - moved;
	evicted = tap_driver_counter(gpu, "process_evictions") - evicted;
	swapped = tap_driver_counter(gpu, "swapouts") - swapped;
	tap_diag("%" PRIu64 " moves out of VRAM, %" PRIu64
		 " evictions of processes with queues, %" PRIu64 " swapouts",
		 moved, evicted, swapped);
	CHECK(moved && evicted && (swapped || !swap), "there was no pressure");
	/* Catches: the counters of used memory do not return to their old values. */
	OK(vg_mem_wait_freed(gpu, &base, VG_TIMEOUT_MS));
}

static void start(struct vg_mem_info *info)
{
	tap_open(&vg, -1);
	gpu = &vg.gpu[0];
	OK(vg_mem_info(gpu, info));
}

/* Use three times the VRAM, and more system memory than TTM's limit. */
static void all_at_once(void)
{
	struct vg_mem_info info;

	start(&info);
	pressure(MAX_PROCESSES, 3 * info.vram_total / MAX_PROCESSES, true);
}

/*
 * VRAM has room for the VRAM_BOS BOs of one process, but not for those of both processes. A
 * sixteenth of VRAM is left for page tables.
 */
static void two(void)
{
	struct vg_mem_info info;

	start(&info);
	pressure(2, info.vram_total - info.vram_used - info.vram_total / 16, false);
}

static const struct tap_case cases[] = {
	{ "8 processes, 3 times VRAM, SDMA and CPU", all_at_once, 0 },
	{ "2 processes, all of VRAM each, queues at work", two, 0 },
};

/* Arguments: [SECONDS [SEED [PART OF A CASE'S NAME]]] */
int main(int argc, char **argv)
{
	if (argc > 1 && isdigit((unsigned char)argv[1][0])) {
		setenv("VGPU_TEST_SECONDS", argv[1], 1);
		if (argc > 2)
			seed = strtoull(argv[2], NULL, 0);
		argv += argc > 3 ? 2 : 0;
		argc = argc > 3 ? 2 : 1;
	}
	tap_diag("seed %" PRIu64, seed);
	return tap_main(TAP_CASES(cases), argc, argv);
}
