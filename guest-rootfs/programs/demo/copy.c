// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Part 1: a user-mode queue copies a BO in VRAM to a BO in GTT and back. The engine translates
 * the addresses through the process's GPU page tables.
 */
#include <string.h>

#include "demo.h"

#define SEED_A 0x11a
#define SEED_B 0x11b

static int vram_to_gtt(struct demo *d, struct vg_bo *vram, struct vg_bo *gtt)
{
	vg_pattern_fill(vram->cpu, vram->size, SEED_A, 0);
	memset(gtt->cpu, 0, gtt->size);
	step_begin(d);
	return vg_copy(&d->queue, gtt->cpu, vram->cpu, gtt->size) ?:
	       vg_pattern_check(gtt->cpu, gtt->size, SEED_A, 0);
}

static int gtt_to_vram(struct demo *d, struct vg_bo *vram, struct vg_bo *gtt)
{
	vg_pattern_fill(gtt->cpu, gtt->size, SEED_B, 0);
	step_begin(d);
	return vg_copy(&d->queue, vram->cpu, gtt->cpu, gtt->size) ?:
	       vg_pattern_check(vram->cpu, vram->size, SEED_B, 0);
}

/* Fill one page in the middle of @vram, and check that the other pages did not change. */
static int fill_in_place(struct demo *d, struct vg_bo *vram)
{
	uint64_t at = vram->size / 2;
	char *p = vram->cpu;

	step_begin(d);
	return vg_fill(&d->queue, p + at, 0xfeedc0de, VG_PAGE) ?:
	       vg_fill_check(p + at, VG_PAGE, 0xfeedc0de) ?:
	       vg_pattern_check(p, at, SEED_B, 0) ?:
	       vg_pattern_check(p + at + VG_PAGE, vram->size - at - VG_PAGE,
				SEED_B, at + VG_PAGE);
}

void part_copy(struct demo *d)
{
	struct vg_bo vram = { 0 }, gtt = { 0 };
	int r;

	report_part("1. VRAM and GTT, copied by a user-mode SDMA queue");
	step_begin(d);
	r = vg_bo_create(&d->vg, d->gpu, d->xfer, VG_VRAM, &vram) ?:
	    vg_bo_create(&d->vg, d->gpu, d->xfer, VG_GTT, &gtt);
	if (step_end(d, "1.1", "one BO in VRAM, one in GTT, mapped on CPU and GPU",
		     r))
		goto out;
	r = vram_to_gtt(d, &vram, &gtt);
	if (step_end(d, "1.2", "engine copies VRAM to GTT, CPU compares", r))
		goto out;
	r = gtt_to_vram(d, &vram, &gtt);
	if (step_end(d, "1.3", "engine copies GTT to VRAM, CPU compares over BAR 0",
		     r))
		goto out;
	r = fill_in_place(d, &vram);
	step_end(d, "1.4", "engine fills one page of VRAM, neighbours keep theirs",
		 r);
out:
	step_begin(d);
	r = vg_bo_free(&vram) ?: vg_bo_free(&gtt);
	if (r)
		step_end(d, "1.5", "both BOs are freed", r);
}
