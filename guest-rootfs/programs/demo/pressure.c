// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Part 2: memory pressure. The parent allocates VRAM until the driver has evicted the BOs of a
 * child process to GTT. After the parent has freed this VRAM, the child maps its BOs again, and
 * these BOs return to VRAM.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "demo.h"

#define CHILD_BOS 4
#define SEED	  0x22

/**
 * struct owner - the child process, which owns the BOs
 * @bytes: sum of the sizes of @bo
 */
struct owner {
	struct vg vg;
	struct vg_gpu *gpu;
	struct vg_bo bo[CHILD_BOS], stage;
	uint64_t bytes;
};

static int owner_open(struct owner *o)
{
	int i, r = vg_open(&o->vg);

	if (r)
		return r;
	o->gpu = &o->vg.gpu[0];
	for (i = 0; i < CHILD_BOS && !r; i++)
		r = vg_bo_alloc(&o->vg, o->gpu, o->bytes / CHILD_BOS, VG_VRAM,
				&o->bo[i]);
	return r ?: vg_bo_create(&o->vg, o->gpu, o->bytes / CHILD_BOS, VG_GTT,
				 &o->stage);
}

/*
 * Fill or check the BOs with a temporary queue. Destroy the queue afterwards, because the driver
 * moves evicted BOs back to VRAM as long as their process has a queue.
 */
static int owner_transfer(struct owner *o, bool fill)
{
	struct vg_queue q = { 0 };
	int i, r, r2;

	r = vg_queue_create(&o->vg, o->gpu, 4 * VG_KIB, &q);
	for (i = 0; i < CHILD_BOS && !r; i++) {
		struct vg_bo *bo = &o->bo[i];
		void *vram = (void *)bo->va;

		r = vg_bo_map_gpu(bo);
		if (r)
			break;
		if (fill) {
			vg_pattern_fill(o->stage.cpu, bo->size, SEED + i, 0);
			r = vg_copy(&q, vram, o->stage.cpu, bo->size);
		} else {
			vg_pattern_fill(o->stage.cpu, bo->size, 0, 0);
			r = vg_copy(&q, o->stage.cpu, vram, bo->size) ?:
			    vg_pattern_check(o->stage.cpu, bo->size, SEED + i,
					     0);
		}
	}
	r2 = vg_queue_destroy(&q);
	return r ? r : r2;
}

static int owner_let_go(struct owner *o)
{
	int i, r = 0;

	for (i = 0; i < CHILD_BOS && !r; i++)
		r = vg_bo_unmap_gpu(&o->bo[i]);
	return r;
}

static int owner_check_by_cpu(struct owner *o)
{
	int i, r = 0;

	for (i = 0; i < CHILD_BOS && !r; i++)
		r = vg_bo_map_cpu(&o->bo[i]) ?:
		    vg_pattern_check(o->bo[i].cpu, o->bo[i].size, SEED + i,
				     0) ?:
		    vg_bo_unmap_cpu(&o->bo[i]);
	return r;
}

static int owner_serve(void *state, char command)
{
	struct owner *o = state;

	switch (command) {
	case 'f': return owner_open(o) ?: owner_transfer(o, true) ?:
			 owner_let_go(o);
	case 'c': return owner_check_by_cpu(o);
	case 't': return owner_transfer(o, false);
	}
	return vg_fail(-EINVAL, "child command '%c'", command);
}

static int note_usage(struct demo *d, const char *when)
{
	struct usage *u = &d->usage[d->n_usage++];

	u->when = when;
	return vg_mem_info(d->gpu, &u->mem);
}

/*
 * Fill the first and the last page of the BO with patterns. @seed, which differs for each BO,
 * selects the patterns.
 */
static int stamp(struct vg_bo *bo, uint64_t seed)
{
	int r = vg_bo_map_cpu(bo);

	if (r)
		return r;
	vg_pattern_fill(bo->cpu, VG_PAGE, seed, 0);
	vg_pattern_fill((char *)bo->cpu + bo->size - VG_PAGE, VG_PAGE, seed, 1);
	return 0;
}

static int check_stamp(const struct vg_bo *bo, uint64_t seed)
{
	return vg_pattern_check(bo->cpu, VG_PAGE, seed, 0) ?:
	       vg_pattern_check((char *)bo->cpu + bo->size - VG_PAGE, VG_PAGE,
				seed, 1);
}

/**
 * struct hog - BOs that the demo's main process allocates to fill VRAM
 * @n: number of BOs allocated so far
 * @max: number of elements of @bo
 * @bytes: size of one BO in bytes
 */
struct hog {
	struct vg_bo *bo;
	int n, max;
	uint64_t bytes;
};

/* Allocate VRAM until GTT usage is @moved bytes above its value at the start of this function. */
static int press(struct demo *d, struct hog *hog, uint64_t moved)
{
	struct vg_mem_info before, now;
	int r = vg_mem_info(d->gpu, &before);

	while (!r) {
		r = vg_mem_info(d->gpu, &now);
		if (r || now.gtt_used >= before.gtt_used + moved)
			break;
		if (hog->n == hog->max)
			return vg_fail(-ENOSPC,
				       "%lu MiB more than there is of VRAM were allocated, and only %ld MiB went to GTT",
				       (hog->n * hog->bytes + moved -
					now.vram_total) / VG_MIB,
				       (long)(now.gtt_used - before.gtt_used) /
				       (long)VG_MIB);
		r = vg_bo_alloc(&d->vg, d->gpu, hog->bytes, VG_VRAM,
				&hog->bo[hog->n]);
		if (r)
			break;
		r = stamp(&hog->bo[hog->n], hog->n);
		hog->n++;
	}
	if (!r && now.vram_used > now.vram_total)
		return vg_fail(-ERANGE, "%lu of %lu bytes of VRAM are in use",
			       now.vram_used, now.vram_total);
	return r;
}

static int release(struct hog *hog)
{
	int i, r = 0;

	for (i = 0; i < hog->n && !r; i++)
		r = check_stamp(&hog->bo[i], i);
	for (i = 0; i < hog->n && !r; i++)
		r = vg_bo_free(&hog->bo[i]);
	return r;
}

/*
 * Check that the child's BOs have returned to VRAM: GTT usage must be at most that of @filled,
 * which was read before the pressure.
 */
static int check_returned(struct demo *d, const struct usage *filled)
{
	struct vg_mem_info now;
	int r = vg_mem_info(d->gpu, &now);

	if (r)
		return r;
	if (now.gtt_used > filled->mem.gtt_used)
		return vg_fail(-ENOMEM,
			       "%lu bytes are in GTT, %lu before the pressure",
			       now.gtt_used, filled->mem.gtt_used);
	return 0;
}

static void run(struct demo *d, struct child *child, struct hog *hog,
		uint64_t bytes)
{
	int r;

	step_begin(d);
	r = child_request(child, 'f') ?: note_usage(d, "child has filled its BOs");
	if (step_end(d, "2.1", "a child process fills 4 BOs in VRAM, lets go of the GPU",
		     r))
		return;
	step_begin(d);
	r = press(d, hog, bytes) ?: note_usage(d, "under pressure");
	if (step_end(d, "2.2", "VRAM overcommitted: the child's BOs move to GTT",
		     r))
		return;
	step_begin(d);
	if (step_end(d, "2.3", "child reads its BOs by CPU, now in system memory",
		     child_request(child, 'c')))
		return;
	step_begin(d);
	r = release(hog) ?: note_usage(d, "pressure gone");
	if (step_end(d, "2.4", "pressure released, its BOs had kept their contents",
		     r))
		return;
	step_begin(d);
	r = child_request(child, 't') ?:
	    note_usage(d, "child has mapped its BOs again") ?:
	    check_returned(d, &d->usage[1]);
	step_end(d, "2.5", "child maps its BOs: back in VRAM, read by the engine",
		 r);
}

void part_pressure(struct demo *d)
{
	struct owner o = { .bytes = d->xfer / CHILD_BOS * CHILD_BOS };
	struct hog hog = { .bytes = d->xfer / 2 };
	struct child child;
	int r;

	report_part("2. Memory pressure: a BO goes VRAM, GTT, VRAM");
	hog.max = (int)((d->mem.vram_total + o.bytes) / hog.bytes) + 1;
	hog.bo = calloc(hog.max, sizeof(*hog.bo));
	note_usage(d, "before");
	step_begin(d);
	r = child_start(&child, owner_serve, &o);
	if (r) {
		step_end(d, "2.0", "a child process", r);
		goto out;
	}
	run(d, &child, &hog, o.bytes);
	step_begin(d);
	r = child_stop(&child);
	while (hog.n)
		vg_bo_free(&hog.bo[--hog.n]);
	r = r ?: vg_mem_wait_freed(d->gpu, &d->usage[0].mem, VG_TIMEOUT_MS) ?:
	    note_usage(d, "child has ended");
	step_end(d, "2.6", "child ends, every byte of VRAM and GTT is back", r);
out:
	free(hog.bo);
}
