// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Parts 3 and 4: an SDMA engine uses memory from malloc. In part 3, XNACK is on, and the driver
 * maps the memory when the engine raises retry faults. In part 4, a prefetch migrates memory to
 * VRAM, and CPU faults migrate it back.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "demo.h"

#define SEED 0x33
#define FILL 0x4a4b4c4du

static uint64_t device_faults(struct demo *d)
{
	struct vg_counters c;

	if (vg_device_counters(d->gpu, &c))
		return 0;
	return vg_counter(&c, "faults_retry", NULL);
}

static int copy_with_faults(struct demo *d, void *dst, const void *src,
			    uint64_t bytes)
{
	uint64_t before = device_faults(d);
	int r = vg_copy(&d->queue, dst, src, bytes) ?:
		vg_pattern_check(dst, bytes, SEED, 0);

	if (!r && device_faults(d) == before)
		return vg_fail(-EPROTO,
			       "memory the GPU had never seen was copied without a fault");
	return r;
}

/*
 * Repeat the first copy, which raised @first faults. Pages that stayed mapped raise no fault, so
 * this copy must raise fewer faults.
 */
static int copy_again(struct demo *d, void *dst, const void *src,
		      uint64_t bytes, uint64_t first)
{
	uint64_t before = device_faults(d), faults;
	int r = vg_copy(&d->queue, dst, src, bytes) ?:
		vg_pattern_check(dst, bytes, SEED, 0);

	faults = device_faults(d) - before;
	if (!r && faults >= first)
		return vg_fail(-EPROTO,
			       "the second copy took %lu faults, the first %lu",
			       faults, first);
	return r;
}

static int check_location(const void *p, uint64_t bytes, bool in_vram)
{
	long pages = vg_pages_in_vram(p, bytes);
	long want = in_vram ? (long)(bytes / VG_PAGE) : 0;

	if (pages < 0)
		return (int)pages;
	if (pages != want)
		return vg_fail(-EPROTO, "%ld of %lu pages are in VRAM, not %ld",
			       pages, bytes / VG_PAGE, want);
	return 0;
}

static int prefetch(struct demo *d, void *p, uint64_t bytes)
{
	struct vg_mem_info before, after;
	int r = vg_mem_info(d->gpu, &before) ?:
		vg_svm_prefetch(&d->vg, p, bytes, d->gpu->gpu_id) ?:
		vg_mem_info(d->gpu, &after) ?: check_location(p, bytes, true);

	if (!r && after.vram_used < before.vram_used + bytes)
		return vg_fail(-EPROTO,
			       "VRAM in use went from %lu to %lu, not up by %lu",
			       before.vram_used, after.vram_used, bytes);
	return r;
}

/*
 * Read all bytes with the CPU, so that the pages migrate back. The @len bytes at @at must be FILL,
 * the rest must be the pattern.
 */
static int touch(const char *p, uint64_t bytes, uint64_t at, uint64_t len)
{
	return vg_fill_check(p + at, len, FILL) ?:
	       vg_pattern_check(p, at, SEED, 0) ?:
	       vg_pattern_check(p + at + len, bytes - at - len, SEED,
				at + len) ?:
	       check_location(p, bytes, false);
}

static void migrate(struct demo *d, char *p, uint64_t bytes)
{
	uint64_t at = bytes / 4 + 64, len = bytes / 4;

	report_part("4. The same memory moved to VRAM and back");
	step_begin(d);
	if (step_end(d, "4.1", "prefetched: every page is in VRAM",
		     prefetch(d, p, bytes)))
		return;
	step_begin(d);
	if (step_end(d, "4.2", "a quarter of it changed there by the engine",
		     vg_fill(&d->queue, p + at, FILL, len) ?:
		     check_location(p, bytes, true)))
		return;
	step_begin(d);
	step_end(d, "4.3", "CPU touches all: pages return with the engine's data",
		 touch(p, bytes, at, len));
}

void part_fault_and_migrate(struct demo *d)
{
	uint64_t bytes = 64 * VG_MIB, first, whole = d->xfer;
	char *src = malloc(bytes), *dst = malloc(bytes), *aligned;
	int r;

	report_part("3. Memory from malloc, XNACK on");
	if (!src || !dst) {
		step_begin(d);
		step_end(d, "3.0", "malloc", vg_fail(-ENOMEM, "malloc"));
		goto out;
	}
	vg_pattern_fill(src, bytes, SEED, 0);
	first = device_faults(d);
	step_begin(d);
	r = copy_with_faults(d, dst, src, bytes);
	if (step_end(d, "3.1", "engine faults its way through 2 x 64 MiB", r))
		goto out;
	first = device_faults(d) - first;
	memset(dst, 0, bytes);
	step_begin(d);
	r = copy_again(d, dst, src, bytes, first);
	if (step_end(d, "3.2", "the same copy again finds what was repaired", r))
		goto out;

	/*
	 * Part 4 (migrate()) uses only the whole pages of dst. Write the pattern again, because
	 * part 4 expects the pattern to begin at the first of these pages.
	 */
	aligned = (char *)(((uintptr_t)dst + VG_PAGE - 1) & ~(VG_PAGE - 1));
	whole = whole < bytes ? whole : bytes - VG_PAGE;
	vg_pattern_fill(aligned, whole, SEED, 0);
	migrate(d, aligned, whole);
out:
	free(src);
	free(dst);
}
