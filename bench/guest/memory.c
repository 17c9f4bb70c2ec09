// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Measure the memory manager: the load of the module, the life of a BO, operations while many
 * other BOs exist, evictions.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <drm/amdgpu_drm.h>

#include "bench.h"
#include "curves.h"

#define MODULE		"vgpu_kfd"
#define LIFE_BYTES	(2 * VG_MIB)
#define EVICT_BO_BYTES	(16 * VG_MIB)

enum { FEW = 1000, MANY = 100000, OPERATIONS = 500, LIVES = 200 };

static char module_path[256];

static int is_module(const char *path, const struct stat *st, int type,
		     struct FTW *at)
{
	(void)st;
	if (type != FTW_F || strcmp(path + at->base, MODULE ".ko"))
		return 0;
	snprintf(module_path, sizeof(module_path), "%s", path);
	return 1;
}

static void read_all(const char *path, char **data, size_t *size)
{
	FILE *f = fopen(path, "re");

	must(f ? 0 : vg_fail(-errno, "cannot open %s", path), MODULE);
	*data = malloc(16 * VG_MIB);
	*size = fread(*data, 1, 16 * VG_MIB, f);
	fclose(f);
}

/* Find the module and read its file. The caller frees *@data. */
static void read_module(char **data, size_t *size)
{
	must(nftw("/lib/modules", is_module, 8, FTW_PHYS) == 1 ? 0 :
	     vg_fail(-ENOENT, MODULE ".ko not found"), "module");
	read_all(module_path, data, size);
}

/* Unload the module and load it again. Return the time of the load in ms. */
static double reload_ms(const char *data, size_t size)
{
	uint64_t start;
	int r;

	must(syscall(SYS_delete_module, MODULE, O_NONBLOCK) ?
	     vg_fail(-errno, "unloading " MODULE) : 0, "module");
	start = vg_now();
	r = (int)syscall(SYS_init_module, data, size, "");
	must(r ? vg_fail(-errno, "loading " MODULE) : 0, "module");
	return (double)(vg_now() - start) / 1e6;
}

/*
 * Measure the load of the module. The module's file is read before the measurement, so that a
 * sample has only the time of init_module().
 */
void bench_load(void)
{
	size_t size;
	char *data;
	int s;

	read_module(&data, &size);
	for (s = 0; s < SAMPLES; s++)
		sample("module-load", 0, reload_ms(data, size), "ms");
	free(data);
}

void curve_load(uint64_t n)
{
	size_t size;
	char *data;

	read_module(&data, &size);
	curve_point("load", n, reload_ms(data, size), "ms");
	free(data);
}

static void lives_of_cpu(void)
{
	uint64_t i, start = vg_now();
	int n;

	for (n = 0; n < LIVES; n++) {
		char *p = mmap(NULL, LIFE_BYTES, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		must(p == MAP_FAILED ? vg_fail(-errno, "mmap") : 0, "life");
		for (i = 0; i < LIFE_BYTES; i += VG_PAGE)
			p[i] = 1;
		munmap(p, LIFE_BYTES);
	}
	sample("cpu-life", LIFE_BYTES, (double)(vg_now() - start) / 1e3 / LIVES,
	       "us");
}

static void lives_of_bo(struct bench *b)
{
	uint64_t start = vg_now();
	struct vg_bo bo;
	int n;

	for (n = 0; n < LIVES; n++) {
		must(vg_bo_alloc(&b->vg, b->gpu, LIFE_BYTES, VG_VRAM, &bo),
		     "life");
		must(vg_bo_map_gpu(&bo), "life");
		must(vg_bo_free(&bo), "life");
	}
	sample("bo-life", LIFE_BYTES, (double)(vg_now() - start) / 1e3 / LIVES,
	       "us");
}

static void bench_lives(struct bench *b)
{
	int s;

	for (s = 0; s < SAMPLES; s++) {
		lives_of_cpu();
		lives_of_bo(b);
	}
}

/* Return the mean time in us to create, map and free a BO of one page in VRAM. */
static double operation_us(struct vg *vg)
{
	uint64_t start = vg_now();
	struct vg_bo bo;
	int n;

	for (n = 0; n < OPERATIONS; n++) {
		must(vg_bo_alloc(vg, &vg->gpu[0], VG_PAGE, VG_VRAM, &bo), "BO");
		must(vg_bo_map_gpu(&bo), "BO");
		must(vg_bo_free(&bo), "BO");
	}
	return (double)(vg_now() - start) / 1e3 / OPERATIONS;
}

/* Create and map the BOs @from to @to - 1, of one page in VRAM each. */
static void create_bos(struct vg *vg, struct vg_bo *bos, uint64_t from,
		       uint64_t to)
{
	uint64_t i;

	for (i = from; i < to; i++) {
		must(vg_bo_alloc(vg, &vg->gpu[0], VG_PAGE, VG_VRAM, &bos[i]),
		     "many BOs");
		must(vg_bo_map_gpu(&bos[i]), "many BOs");
	}
}

static void free_bos(struct vg_bo *bos, uint64_t n)
{
	uint64_t i;

	for (i = 0; i < n; i++)
		must(vg_bo_free(&bos[i]), "many BOs");
}

static void bench_many(struct bench *b)
{
	struct vg_bo *bos = calloc(MANY, sizeof(*bos));
	int s;

	must(bos ? 0 : vg_fail(-ENOMEM, "%d BOs", MANY), "many BOs");
	create_bos(&b->vg, bos, 0, FEW);
	for (s = 0; s < SAMPLES; s++)
		sample("bo-among-1000", VG_PAGE, operation_us(&b->vg), "us");
	create_bos(&b->vg, bos, FEW, MANY);
	for (s = 0; s < SAMPLES; s++)
		sample("bo-among-100000", VG_PAGE, operation_us(&b->vg), "us");
	free_bos(bos, MANY);
	free(bos);
}

void curve_bos(uint64_t n)
{
	struct vg_bo *bos = calloc(n, sizeof(*bos));
	struct vg_queue queue;
	struct vg vg;
	uint64_t start;

	must(bos ? 0 : vg_fail(-ENOMEM, "%lu BOs", n), "BOs");
	must(vg_open_xnack(&vg), "opening KFD");
	/* With a queue, as in bench_many(): the driver keeps the BOs resident. */
	must(vg_queue_create(&vg, &vg.gpu[0], 64 * VG_KIB, &queue), "queue");
	curve_memory_begin("bos", n);
	start = vg_now();
	create_bos(&vg, bos, 0, n);
	curve_point("bos-create", n, curve_ms(start), "ms");
	curve_memory_end("bos", n);
	curve_point("bos-among", n, operation_us(&vg), "us");
	start = vg_now();
	free_bos(bos, n);
	curve_point("bos-free", n, curve_ms(start), "ms");
	create_bos(&vg, bos, 0, n);
}

static void evict_all(struct bench *b)
{
	char path[80], answer[16] = "";
	FILE *f;

	snprintf(path, sizeof(path),
		 "/sys/kernel/debug/dri/%d/amdgpu_evict_vram", b->gpu->minor);
	f = fopen(path, "re");
	must(f && fgets(answer, sizeof(answer), f) && !atoi(answer) ? 0 :
	     vg_fail(-errno, "%s returned %s", path, answer), "eviction");
	fclose(f);
}

/*
 * Compare two ways to move data from VRAM to GTT and back: copies by a user-mode queue, and
 * eviction by the driver.
 */
void bench_evict(struct bench *b)
{
	uint64_t n, i, start, bytes = VG_GIB;
	struct vg_bo *bos, *gtt;
	int s;

	while (bytes > b->mem.vram_total / 10 * 9 ||
	       bytes > b->mem.gtt_total / 20 * 9)
		bytes /= 2;
	n = bytes / EVICT_BO_BYTES;
	bos = calloc(n, sizeof(*bos));
	gtt = calloc(n, sizeof(*gtt));
	for (i = 0; i < n; i++) {
		must(vg_bo_create(&b->vg, b->gpu, EVICT_BO_BYTES, VG_GTT,
				  &gtt[i]), "eviction");
		must(vg_bo_alloc(&b->vg, b->gpu, EVICT_BO_BYTES, VG_VRAM,
				 &bos[i]), "eviction");
		must(vg_bo_map_gpu(&bos[i]), "eviction");
	}
	for (s = 0; s <= SAMPLES; s++) {
		start = vg_now();
		for (i = 0; i < n; i++)
			must(vg_emit_copy(&b->queue, gtt[i].va, bos[i].va,
					  EVICT_BO_BYTES), "copy");
		for (i = 0; i < n; i++)
			must(vg_emit_copy(&b->queue, bos[i].va, gtt[i].va,
					  EVICT_BO_BYTES), "copy");
		must(vg_queue_finish(&b->queue, VG_TIMEOUT_MS), "copy");
		/*
		 * The first round prints no sample, because the first access to a page of the BOs
		 * also costs a fault on the host.
		 */
		if (s)
			sample("copy-out-and-in", bytes,
			       (double)(vg_now() - start) / 1e6, "ms");

		must(vg_queue_destroy(&b->queue), "queue");
		start = vg_now();
		evict_all(b);
		if (s)
			sample("evict", bytes, (double)(vg_now() - start) / 1e6,
			       "ms");
		/* The creation of a queue moves the evicted BOs back to VRAM. */
		must(vg_queue_create(&b->vg, b->gpu, 64 * VG_KIB, &b->queue),
		     "queue");
		if (s)
			sample("evict-and-back", bytes,
			       (double)(vg_now() - start) / 1e6, "ms");
	}
	for (i = 0; i < n; i++) {
		must(vg_bo_free(&bos[i]), "free");
		must(vg_bo_free(&gtt[i]), "free");
	}
	free(bos);
	free(gtt);
}

void bench_memory(struct bench *b)
{
	bench_lives(b);
	bench_evict(b);
	bench_many(b);
}
