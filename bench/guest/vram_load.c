// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * "vgpu-bench vram-load idle|busy": the guest's side of the curves of live migration. The program
 * fills three quarters of VRAM and prints "filled BYTES". "idle": the engine then does nothing
 * until standard input ends. "busy": the engine overwrites the first BO again and again, and the
 * program prints "round N" after each round (vg_rounds()).
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

/* Size of a BO. "busy" dirties these bytes of VRAM between two scans by the migration. */
#define BO_BYTES	(16 * VG_MIB)

enum { FILLS = 32 };	/* fills of the first BO in a round */

struct load {
	struct bench b;
	struct vg_bo *bos;
	uint64_t n;
};

static int overwrite(void *arg, uint64_t round)
{
	struct load *l = arg;
	int i, r = 0;

	for (i = 0; !r && i < FILLS; i++)
		r = vg_emit_fill(&l->b.queue, l->bos[0].va,
				 (uint32_t)(round * FILLS + (uint64_t)i),
				 BO_BYTES);
	return r ? r : vg_queue_finish(&l->b.queue, VG_TIMEOUT_MS);
}

static void fill_vram(struct load *l)
{
	struct bench *b = &l->b;
	uint64_t i;

	l->n = b->mem.vram_total / 4 * 3 / BO_BYTES;
	l->bos = calloc(l->n, sizeof(*l->bos));
	must(l->n && l->bos ? 0 : vg_fail(-ENOMEM, "%lu BOs", l->n), "filling");
	for (i = 0; i < l->n; i++) {
		must(vg_bo_alloc(&b->vg, b->gpu, BO_BYTES, VG_VRAM,
				 &l->bos[i]), "filling");
		must(vg_bo_map_gpu(&l->bos[i]), "filling");
		/* No page is zero, because a migration sends such a page as a mark only. */
		must(vg_emit_fill(&b->queue, l->bos[i].va, (uint32_t)i + 1,
				  BO_BYTES), "filling");
	}
	must(vg_queue_finish(&b->queue, VG_TIMEOUT_MS), "filling");
	printf("filled %lu\n", l->n * BO_BYTES);
	fflush(stdout);
}

int bench_vram_load(const char *kind)
{
	static struct load l;
	bool busy = !strcmp(kind, "busy");
	struct bench *b = &l.b;
	char byte;

	if (!busy && strcmp(kind, "idle")) {
		fprintf(stderr, "vgpu-bench: want: vram-load idle|busy\n");
		return 2;
	}
	must(vg_open_xnack(&b->vg), "opening KFD");
	b->gpu = &b->vg.gpu[0];
	must(vg_mem_info(b->gpu, &b->mem), "mem_info");
	must(vg_queue_create(&b->vg, b->gpu, 64 * VG_KIB, &b->queue), "queue");
	fill_vram(&l);
	if (busy)
		must(vg_rounds(overwrite, &l), "rounds");
	else
		must(read(STDIN_FILENO, &byte, 1) < 0 ?
		     vg_fail(-errno, "standard input") : 0, "idle");
	/* After a migration, the engine still works. */
	must(overwrite(&l, 0), "the last round");
	return 0;
}
