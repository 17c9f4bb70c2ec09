// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Test the order of eviction from VRAM. Each job of a DRM file uses all VM_ALWAYS_VALID BOs of the
 * file. Catches: such BOs are evicted before BOs that were unused for longer; an LRU list is
 * corrupted.
 */
#include <stdio.h>
#include <stdlib.h>

#include "race.h"
#include "render.h"
#include "tap.h"

#define VRAM		AMDGPU_GEM_DOMAIN_VRAM
#define GTT		AMDGPU_GEM_DOMAIN_GTT
#define ALWAYS		AMDGPU_GEM_CREATE_VM_ALWAYS_VALID
#define BO_BYTES	(4 * VG_MIB)
#define VA(i)		(0x100000000ull + (uint64_t)(i) * BO_BYTES)
#define MAX_BOS		64

static struct vg vg;
static struct vg_gpu *gpu;
static int fd;
static uint32_t ctx;
static struct vr_ib ib;
static struct vr_bo bo[MAX_BOS];

static void start(void)
{
	OK(vg_open_bare(&vg));
	gpu = &vg.gpu[0];
	fd = vr_open(gpu);
	ERRNO(0, fd < 0 ? fd : 0);
	ERRNO(0, vr_ctx_alloc(fd, 0, &ctx));
	ERRNO(0, vr_ib_create(fd, VG_PAGE, VA(MAX_BOS), &ib));
}

static void create(int i, uint64_t flags)
{
	ERRNO(0, vr_bo_create(fd, BO_BYTES, VRAM, flags, VA(i), &bo[i]));
	vg_pattern_fill(bo[i].cpu, BO_BYTES, (uint64_t)i, 0);
}

/* Submit a job, and wait for it. The only BO in the job's list is its IB. */
static void job(void)
{
	uint64_t seq;

	ib.ndw = 0;
	vr_ib_write(&ib, ib.bo.va + VG_PAGE - 8, 1);
	ERRNO(0, vr_submit(fd, ctx, 0, &ib, &ib.bo.handle, 1, &seq));
	ERRNO(0, vr_wait(fd, ctx, 0, seq, ~0ull));
}

/* Wait until BO @i is not being moved. Return true if debugfs then shows it in VRAM. */
static bool in_vram(int i)
{
	char path[64], line[64], text[65536], *at, *end;

	snprintf(path, sizeof(path), "/sys/kernel/debug/dri/%d/amdgpu_vm_info",
		 gpu->minor);
	snprintf(line, sizeof(line), "[%#llx %#llx]",
		 VA(i) / VG_PAGE, (VA(i) + BO_BYTES) / VG_PAGE - 1);
	do {
		tap_read(path, text, sizeof(text));
		at = strstr(text, line);
		CHECK(at, "BO %d: no %s in %s", i, line, path);
		end = strchr(at, '\n');
		CHECK(end, "no end of line");
		*end = 0;
	} while (strstr(at, "in moving"));
	return strstr(at, "in vram");
}

static void check_where(int from, int n, bool vram, const char *what)
{
	for (int i = from; i < from + n; i++)
		CHECK(in_vram(i) == vram, "%s, BO %d, is %sin VRAM", what, i,
		      vram ? "not " : "");
}

/*
 * Create BOs that fill free VRAM, and @n more, which evict @n other BOs. Number the BOs from
 * @next. Return the next free number.
 */
static int push_out(int next, int n)
{
	struct vg_mem_info info;

	OK(vg_mem_info(gpu, &info));
	n += (int)((info.vram_total - info.vram_used) / BO_BYTES);
	CHECK(next + n <= MAX_BOS, "too much VRAM for the test");
	for (; n; n--)
		create(next++, 0);
	return next;
}

/*
 * The least recently used BOs must be evicted first. These are BOs 8 to 11, because each job uses
 * the VM_ALWAYS_VALID BOs 0 to 7. BOs 0 to 7 must follow in the order of their creation.
 */
static void order(void)
{
	int next;

	start();
	for (int i = 0; i < 12; i++)
		create(i, i < 8 ? ALWAYS : 0);
	/*
	 * The job uses BOs 0 to 7 again, so that BOs 8 to 11, although created later, are the least
	 * recently used BOs.
	 */
	job();
	next = push_out(12, 3);
	check_where(0, 8, true, "always valid");
	check_where(8, 3, false, "not used since");
	next = push_out(next, 3);
	check_where(8, 4, false, "not used since");
	check_where(0, 2, false, "always valid, oldest");
	check_where(3, 5, true, "always valid, younger");
	/*
	 * The next job must move the eight BOs back to VRAM, where they are the last to be
	 * evicted.
	 */
	job();
	check_where(0, 8, true, "always valid");
	push_out(next, 3);
	check_where(0, 8, true, "always valid");
	for (int i = 0; i < next; i++)
		OK(vg_pattern_check(bo[i].cpu, BO_BYTES, (uint64_t)i, 0));
}

/*
 * Create, free and evict BOs between jobs, in random order. Catches: an LRU list of always-valid
 * BOs is corrupted.
 */
static void churn(void)
{
	start();
	race_seed();
	for (int round = 0; tap_goes_on(round, 60); round++) {
		int i = (int)race_below(20);

		switch (race_below(4)) {
		case 0:
		case 1:
			if (bo[i].handle) {
				OK(vg_pattern_check(bo[i].cpu, BO_BYTES,
						    (uint64_t)i, 0));
				vr_bo_free(&bo[i]);
			} else {
				create(i, race_below(3) ? ALWAYS : 0);
			}
			break;
		case 2:
			job();
			break;
		default:
			ERRNO(0, race_evict(gpu));
		}
	}
	job();
	for (int i = 0; i < 20; i++)
		if (bo[i].handle)
			OK(vg_pattern_check(bo[i].cpu, BO_BYTES, (uint64_t)i, 0));
}

static const struct tap_case cases[] = {
	{ "a job makes what is always valid the last to go", order, 0 },
	{ "always valid BOs come and go", churn, 0 },
};

int main(int argc, char **argv)
{
	return tap_main(TAP_CASES(cases), argc, argv);
}
