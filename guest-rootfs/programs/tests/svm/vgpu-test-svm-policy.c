// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tests where GPU faults place memory, for each svm_policy (module parameter). Catches: a wrong
 * place; endless migration; a process that stops when VRAM is full.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "tap.h"

#define SEED	0x9011
#define GRANULE	(2 * VG_MIB)
#define KNOB	"/sys/module/vgpu_kfd/parameters/svm_policy"

static const char * const policies[] = { "amdgpu", "in_place", "adaptive" };

#define N_POLICIES ((int)(sizeof(policies) / sizeof(policies[0])))

static struct vg vg;
static struct vg_queue q[VG_MAX_GPUS];
static struct vg_bo stage[VG_MAX_GPUS];	/* BOs in GTT, one for each GPU */

static void expect_knob(const char *want)
{
	char text[32];

	tap_read(KNOB, text, sizeof(text));
	text[strcspn(text, "\n")] = 0;
	CHECK(!strcmp(text, want), "the policy is %s, not %s", text, want);
}

/* Set @policy, then open KFD. A new policy applies to processes that open KFD later. */
static void start(const char *policy)
{
	int i;

	OK(vg_put(KNOB, policy));
	expect_knob(policy);
	tap_open(&vg, 1);
	for (i = 0; i < vg.n_gpus; i++) {
		OK(vg_queue_create(&vg, &vg.gpu[i], 16 * VG_KIB, &q[i]));
		OK(vg_bo_create(&vg, &vg.gpu[i], GRANULE, VG_GTT, &stage[i]));
	}
}

/* Return memory that starts at a granule's start, because a fault migrates a whole granule. */
static char *granules(uint64_t size)
{
	char *p = tap_anon(size + GRANULE);

	return (char *)(((uintptr_t)p + GRANULE - 1) & ~(GRANULE - 1));
}

static char *filled(uint64_t size, uint64_t seed)
{
	char *p = granules(size);

	vg_pattern_fill(p, size, seed, 0);
	return p;
}

static void expect_vram(const char *p, uint64_t size, uint64_t bytes)
{
	long n = vg_pages_in_vram(p, size);

	OK((int)n);
	CHECK((uint64_t)n == bytes / VG_PAGE, "%ld pages are in VRAM, not %lu",
	      n, bytes / VG_PAGE);
}

/* Check, granule by granule, that GPU @i reads the pattern of @seed. */
static void read_by(int i, const char *p, uint64_t size, uint64_t seed)
{
	uint64_t at, n;

	for (at = 0; at < size; at += GRANULE) {
		n = size - at < GRANULE ? size - at : GRANULE;
		OK(vg_copy(&q[i], stage[i].cpu, p + at, n));
		OK(vg_pattern_check(stage[i].cpu, n, seed, at));
	}
}

/* Check that GPU @i reads @value from each dword. */
static void read_fill_by(int i, const char *p, uint64_t size, uint32_t value)
{
	uint64_t at;

	for (at = 0; at < size; at += GRANULE) {
		memset(stage[i].cpu, 0x5a, GRANULE);
		OK(vg_copy(&q[i], stage[i].cpu, p + at, GRANULE));
		OK(vg_fill_check(stage[i].cpu, GRANULE, value));
	}
}

static void knob(void)
{
	const uint64_t size = 2 * GRANULE;
	char *p;
	int i;

	expect_knob("amdgpu");
	for (i = N_POLICIES; i--;) {
		OK(vg_put(KNOB, policies[i]));
		expect_knob(policies[i]);
		ERRNO(EINVAL, vg_put(KNOB, "amd"));
		ERRNO(EINVAL, vg_put(KNOB, "1"));
		expect_knob(policies[i]);
	}
	start("in_place");
	/* The process must keep its policy when the parameter changes. */
	OK(vg_put(KNOB, "amdgpu"));
	p = filled(size, SEED);
	read_by(0, p, size, SEED);
	expect_vram(p, size, 0);
}

/*
 * Policy amdgpu: a fault on unregistered memory must migrate a granule to the faulting
 * GPU.
 */
static void amdgpu(void)
{
	const uint64_t size = 4 * GRANULE;
	char *p, *shm;

	start("amdgpu");
	p = filled(size, SEED);
	read_by(0, p, GRANULE, SEED);
	expect_vram(p, size, GRANULE);
	OK(vg_copy(&q[0], p + 2 * GRANULE + 5, p + GRANULE - 3, 100));
	expect_vram(p, size, 3 * GRANULE);
	OK(vg_pattern_check(p + 2 * GRANULE + 5, 100, SEED, GRANULE - 3));
	OK(vg_pattern_check(p, 2 * GRANULE, SEED, 0));
	expect_vram(p, size, 0);
	/*
	 * The CPU migrates the memory back. New faults must migrate the memory to VRAM
	 * again.
	 */
	vg_pattern_fill(p, size, SEED, 0);
	read_by(0, p, size, SEED);
	expect_vram(p, size, size);

	/* Untouched memory must become zeros in VRAM. */
	p = granules(GRANULE);
	read_fill_by(0, p, GRANULE, 0);
	expect_vram(p, GRANULE, GRANULE);

	/* The shmem pages of a shared mapping cannot migrate. */
	shm = mmap(NULL, GRANULE, PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(shm != MAP_FAILED, "mmap: %s", strerror(errno));
	vg_pattern_fill(shm, GRANULE, SEED + 1, 0);
	read_by(0, shm, GRANULE, SEED + 1);
	expect_vram(shm, GRANULE, 0);
}

/* Attributes that the process sets must override the policy. */
static void attributes(const char *policy)
{
	const uint64_t size = 4 * GRANULE;
	uint32_t id;
	char *p;

	start(policy);
	id = vg.gpu[0].gpu_id;
	p = filled(size, SEED);
	OK(vg_svm_set1(&vg, p, size, KFD_IOCTL_SVM_ATTR_PREFERRED_LOC, 0));
	read_by(0, p, size, SEED);
	expect_vram(p, size, 0);
	OK(vg_svm_set1(&vg, p, size, KFD_IOCTL_SVM_ATTR_PREFERRED_LOC, id));
	/* mprotect() removes the GPU's page table entries, so that the GPU faults again. */
	CHECK(!mprotect(p, size, PROT_READ) &&
	      !mprotect(p, size, PROT_READ | PROT_WRITE), "mprotect");
	read_by(0, p, size, SEED);
	expect_vram(p, size, size);
	OK(vg_pattern_check(p, size, SEED, 0));

	OK(vg_svm_set1(&vg, p, size, KFD_IOCTL_SVM_ATTR_PREFERRED_LOC,
		       KFD_IOCTL_SVM_LOCATION_UNDEFINED));
	OK(vg_svm_set1(&vg, p, size, KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE, id));
	CHECK(!mprotect(p, size, PROT_READ), "mprotect");
	read_by(0, p, size, SEED);
	expect_vram(p, size, 0);
	OK(vg_pattern_check(p, size, SEED, 0));
}

static void attributes_amdgpu(void)
{
	attributes("amdgpu");
}

static void attributes_in_place(void)
{
	attributes("in_place");
}

static void attributes_adaptive(void)
{
	attributes("adaptive");
}

/*
 * Policy adaptive: the first four faults in a range must leave memory in place. Further faults must
 * migrate their granules to VRAM.
 */
static void adaptive(void)
{
	const uint64_t size = 8 * GRANULE;
	uint32_t id;
	char *p;

	start("adaptive");
	id = vg.gpu[0].gpu_id;
	p = filled(size, SEED);
	OK(vg_svm_set1(&vg, p, size, KFD_IOCTL_SVM_ATTR_ACCESS, id));
	read_by(0, p, 4 * GRANULE, SEED);
	expect_vram(p, size, 0);
	read_by(0, p, size, SEED);
	expect_vram(p, size, 4 * GRANULE);
	OK(vg_pattern_check(p, size, SEED, 0));

	/*
	 * The policy takes a prefetch as a sign that the GPU uses the range. So the first GPU fault
	 * after the CPU's read below must migrate the granule of the fault to VRAM.
	 */
	p = filled(size, SEED + 1);
	OK(vg_svm_set1(&vg, p, size, KFD_IOCTL_SVM_ATTR_ACCESS, id));
	OK(vg_svm_prefetch(&vg, p, size, id));
	/* The CPU reads the range, which migrates the range back. */
	OK(vg_pattern_check(p, size, SEED + 1, 0));
	expect_vram(p, size, 0);
	read_by(0, p, GRANULE, SEED + 1);
	expect_vram(p, size, GRANULE);

	/* Faults in a range that is smaller than a granule must migrate the range to VRAM. */
	p = filled(GRANULE, SEED + 2);
	OK(vg_svm_set1(&vg, p, VG_MIB, KFD_IOCTL_SVM_ATTR_ACCESS, id));
	read_by(0, p, VG_MIB, SEED + 2);
	expect_vram(p, GRANULE, VG_MIB);
	OK(vg_pattern_check(p, GRANULE, SEED + 2, 0));
}

/*
 * Let the GPU copy a buffer to another, each as large as VRAM. The copy must have the right bytes,
 * and some pages must be in VRAM.
 */
static void full(const char *policy, bool prefer)
{
	uint64_t size, at;
	struct vg_mem_info mem;
	char *p, *to;

	tap_long_on_debug();
	start(policy);
	OK(vg_mem_info(&vg.gpu[0], &mem));
	size = mem.vram_total / GRANULE * GRANULE;
	p = filled(size, SEED);
	to = granules(size);
	/* Register the memory, so that each buffer is one range. */
	OK(vg_svm_set1(&vg, p, size, KFD_IOCTL_SVM_ATTR_ACCESS,
		       vg.gpu[0].gpu_id));
	OK(vg_svm_set1(&vg, to, size, KFD_IOCTL_SVM_ATTR_ACCESS,
		       vg.gpu[0].gpu_id));
	if (prefer) {
		OK(vg_svm_set1(&vg, p, size, KFD_IOCTL_SVM_ATTR_PREFERRED_LOC,
			       vg.gpu[0].gpu_id));
		OK(vg_svm_set1(&vg, to, size, KFD_IOCTL_SVM_ATTR_PREFERRED_LOC,
			       vg.gpu[0].gpu_id));
	}
	for (at = 0; at < size; at += GRANULE)
		OK(vg_copy(&q[0], to + at, p + at, GRANULE));
	CHECK(vg_pages_in_vram(p, size) + vg_pages_in_vram(to, size) > 0,
	      "nothing is in VRAM");
	for (at = 0; at < size; at += GRANULE)
		OK(vg_pattern_check(to + at, GRANULE, SEED, at));
	OK(vg_pattern_check(p, size, SEED, 0));
}

static void full_amdgpu(void)
{
	full("amdgpu", false);
}

static void full_preferred(void)
{
	full("in_place", true);
}

static void full_adaptive(void)
{
	full("adaptive", false);
}

/*
 * BOs use all VRAM except about 3 MiB. The GPU copies one buffer of 16 MiB to another, so neither
 * buffer fits into the free VRAM. The copies must still have the right bytes.
 */
static void tight(void)
{
	const uint64_t size = 8 * GRANULE;
	struct vg_bo hog[512] = { 0 };
	char *p, *to;
	int i, n = 0;

	tap_long_on_debug();
	start("amdgpu");
	while (n < 512 && !vg_bo_create(&vg, &vg.gpu[0], VG_MIB, VG_VRAM,
					&hog[n]))
		n++;
	CHECK(n > 8, "%d BOs", n);
	/*
	 * Free three BOs. The driver does not evict the other BOs while queues of this process
	 * run, so no more VRAM becomes free.
	 */
	for (i = 0; i < 3; i++)
		OK(vg_bo_free(&hog[--n]));
	p = filled(size, SEED);
	to = granules(size);
	for (i = 0; i < 4; i++) {
		OK(vg_copy(&q[0], to, p, size));
		OK(vg_pattern_check(to, size, SEED, 0));
		OK(vg_pattern_check(p, size, SEED, 0));
	}
	while (n)
		OK(vg_bo_free(&hog[--n]));
}

/*
 * Two GPUs copy between two buffers in opposite directions. Each copy needs both buffers. Catches:
 * the GPUs migrate the buffers from each other without end.
 */
static void two_at_once(const char *policy)
{
	enum { COPIES = 12, PIECE = 64 * VG_KIB };
	const uint64_t size = 2 * GRANULE, half = PIECE / 2;
	uint64_t began = vg_now(), faults[2], moved = 0, at;
	char *a, *b;
	uint32_t seq[2];
	int i, k;

	start(policy);
	for (i = 0; i < 2; i++) {
		faults[i] = tap_device_counter(&vg.gpu[i], "faults_retry");
		moved -= tap_driver_counter(&vg.gpu[i], "pages_to_vram");
	}
	a = filled(size, SEED);
	b = filled(size, SEED + 1);
	/*
	 * GPU 0 copies the first half of each piece from a to b, GPU 1 the second half
	 * from b to a.
	 */
	for (k = 0; k < COPIES; k++) {
		for (at = 0; at < size; at += PIECE) {
			OK(vg_emit_copy(&q[0], (uintptr_t)b + at,
					(uintptr_t)a + at, half));
			OK(vg_emit_copy(&q[1], (uintptr_t)a + at + half,
					(uintptr_t)b + at + half, half));
			/* Submit often, because the rings are short. */
			if (at / PIECE % 16)
				continue;
			vg_queue_submit(&q[0]);
			vg_queue_submit(&q[1]);
		}
	}
	for (i = 0; i < 2; i++) {
		OK(vg_emit_fence(&q[i], &seq[i]));
		vg_queue_submit(&q[i]);
	}
	for (i = 0; i < 2; i++) {
		OK(vg_wait(&q[i], seq[i], VG_TIMEOUT_MS));
		faults[i] = tap_device_counter(&vg.gpu[i], "faults_retry") -
			    faults[i];
		moved += tap_driver_counter(&vg.gpu[i], "pages_to_vram");
	}
	tap_diag("%s: %lu ms, faults %lu and %lu, pages moved %lu", policy,
		 (vg_now() - began) / 1000000, faults[0], faults[1], moved);
	for (at = 0; at < size; at += PIECE) {
		OK(vg_pattern_check(b + at, half, SEED, at));
		OK(vg_pattern_check(a + at, half, SEED, at));
		OK(vg_pattern_check(a + at + half, half, SEED + 1, at + half));
		OK(vg_pattern_check(b + at + half, half, SEED + 1, at + half));
	}
}

static void two_amdgpu(void)
{
	two_at_once("amdgpu");
}

static void two_in_place(void)
{
	two_at_once("in_place");
}

static void two_adaptive(void)
{
	two_at_once("adaptive");
}

/*
 * Two GPUs use a range alternately. If @goes_along is true, the first use by GPU 1 must migrate the
 * whole range to GPU 1. If @goes_along is false, this use must migrate no page.
 */
static void in_turn(const char *policy, bool goes_along)
{
	const uint64_t size = 4 * GRANULE;
	uint64_t before;
	char *p;
	int i;

	tap_long_on_debug();
	start(policy);
	p = filled(size, SEED);
	read_by(0, p, size, SEED);
	before = tap_driver_counter(&vg.gpu[1], "pages_to_vram");
	read_by(1, p, size, SEED);
	CHECK(tap_driver_counter(&vg.gpu[1], "pages_to_vram") - before ==
	      (goes_along ? size / VG_PAGE : 0), "%lu pages migrated to GPU 1",
	      tap_driver_counter(&vg.gpu[1], "pages_to_vram") - before);
	for (i = 0; i < 6; i++) {
		OK(vg_fill(&q[i & 1], p, i, size));
		read_fill_by(!(i & 1), p, size, i);
	}
	OK(vg_fill_check(p, size, i - 1));
}

static void in_turn_amdgpu(void)
{
	in_turn("amdgpu", true);
}

static void in_turn_in_place(void)
{
	in_turn("in_place", false);
}

static const struct tap_case cases[] = {
	{ "the parameter", knob, 0 },
	{ "amdgpu: to who faults", amdgpu, 0 },
	{ "amdgpu: what the process says", attributes_amdgpu, 0 },
	{ "in_place: what the process says", attributes_in_place, 0 },
	{ "adaptive: what the process says", attributes_adaptive, 0 },
	{ "adaptive: counts, hints, small ranges", adaptive, 0 },
	{ "amdgpu: more than VRAM", full_amdgpu, 0 },
	{ "preferred location: more than VRAM", full_preferred, 0 },
	{ "adaptive: more than VRAM", full_adaptive, 0 },
	{ "amdgpu: VRAM for half of what is needed at once", tight, 0 },
	{ "amdgpu: two GPUs at once", two_amdgpu, 2 },
	{ "in_place: two GPUs at once", two_in_place, 2 },
	{ "adaptive: two GPUs at once", two_adaptive, 2 },
	{ "amdgpu: two GPUs in turn", in_turn_amdgpu, 2 },
	{ "in_place: two GPUs in turn", in_turn_in_place, 2 },
};

int main(int argc, char **argv)
{
	int status = tap_main(TAP_CASES(cases), argc, argv);

	vg_put(KNOB, "amdgpu");
	return status;
}
