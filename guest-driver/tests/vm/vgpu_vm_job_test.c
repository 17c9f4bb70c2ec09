// SPDX-License-Identifier: GPL-2.0
/*
 * Run the packets of vm/vgpu_vm_job.c in an interpreter, and compare the result with the requested
 * entries.
 */
#include "vgpu/bits.h"
#include "vgpu/sdma_packets.h"
#include "hw/vgpu_hw.h"
#include "tests/lib/vgpu_mock.h"
#include "vm/vgpu_vm_job.h"

#define ENTRIES		2048u
#define AT		0x8000000000ull		/* MC address of the entries */
#define ROUNDS		400

static struct vgpu_vm_job *job_new(struct kunit *test, unsigned int ndw)
{
	struct vgpu_vm_job *job = vgpu_vm_job_new(ndw);

	KUNIT_ASSERT_NOT_NULL(test, job);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test,
							(kunit_action_t *)kvfree,
							job), 0);
	return job;
}

static u64 dw64(const u32 *dw)
{
	return dw[0] | (u64)dw[1] << 32;
}

/*
 * Interpret the packet at @dw. @out is the memory that the packet writes, from MC address AT on.
 * Returns the packet's length in dwords.
 */
static unsigned int job_packet(struct kunit *test, const u32 *dw, u64 *out)
{
	u64 i, n, at = (dw64(dw + 1) - AT) / sizeof(u64);

	KUNIT_ASSERT_EQ(test, dw[1] % sizeof(u64), 0);
	if (dw[0] == SDMA_PKT(SDMA_OP_WRITE, SDMA_SUBOP_WRITE_LINEAR)) {
		n = VGPU_GET(dw[3], SDMA_WRITE_LINEAR_DW3__COUNT) + 1;
		KUNIT_ASSERT_EQ(test, n % 2, 0);
		KUNIT_ASSERT_LE(test, at + n / 2, ENTRIES);
		for (i = 0; i < n / 2; i++)
			out[at + i] = dw64(dw + 4 + 2 * i);
		return 4 + n;
	}
	KUNIT_ASSERT_EQ(test, dw[0],
			SDMA_PKT(SDMA_OP_PTEPDE, SDMA_SUBOP_PTEPDE_GEN));
	n = VGPU_GET(dw[9], SDMA_PTEPDE_DW9__COUNT) + 1;
	KUNIT_ASSERT_LE(test, at + n, ENTRIES);
	for (i = 0; i < n; i++)
		out[at + i] = dw64(dw + 3) | (dw64(dw + 5) + i * dw64(dw + 7));
	return SDMA_PTEPDE_DWORDS;
}

static void job_run(struct kunit *test, struct vgpu_vm_job *job, u64 *out)
{
	unsigned int at = 0;

	while (at < job->ndw)
		at += job_packet(test, job->dw + at, out);
	KUNIT_ASSERT_EQ(test, at, job->ndw);
	vgpu_vm_job_reset(job);
}

/* Catches: an entry is in the wrong place or has a wrong value. */
static void job_random(struct kunit *test)
{
	struct vgpu_vm_job *job = job_new(test, 700);
	u64 *want = kunit_kcalloc(test, ENTRIES, sizeof(u64), GFP_KERNEL);
	u64 *out = kunit_kcalloc(test, ENTRIES, sizeof(u64), GFP_KERNEL);
	unsigned int round, i = 0, n, k, runs = 0;
	struct rnd_state rnd;

	KUNIT_ASSERT_TRUE(test, want && out);
	vgpu_test_rnd(test, &rnd);
	for (round = 0; round < ROUNDS; round++) {
		u64 flags = prandom_u32_state(&rnd) & 0xfff;
		u64 addr = (u64)prandom_u32_state(&rnd) << VGPU_PAGE_SHIFT;
		u64 step = prandom_u32_state(&rnd) % 2 * VGPU_PAGE_SIZE;

		/* Half of the writes begin where the previous write ended. */
		if (prandom_u32_state(&rnd) & 1 || i + 1 >= ENTRIES)
			i = prandom_u32_state(&rnd) % ENTRIES;
		n = 1 + prandom_u32_state(&rnd) % min(ENTRIES - i, 12u);
		flags |= (u64)(prandom_u32_state(&rnd) & 3) << 57;
		if (vgpu_vm_job_full(job)) {
			job_run(test, job, out);
			runs++;
			KUNIT_ASSERT_MEMEQ(test, out, want,
					   ENTRIES * sizeof(u64));
		}
		vgpu_vm_job_write(job, AT + i * sizeof(u64), n, addr | flags,
				  step);
		for (k = 0; k < n; k++, i++)
			want[i] = (addr + k * step) | flags;
	}
	job_run(test, job, out);
	KUNIT_EXPECT_MEMEQ(test, out, want, ENTRIES * sizeof(u64));
	KUNIT_EXPECT_GT(test, runs, 5);
}

/*
 * Catches: the packets for entries with scattered addresses are longer than the entries (8 bytes
 * for each entry) plus 5 % for packet headers.
 */
static void job_bytes_scattered(struct kunit *test)
{
	struct vgpu_vm_job *job = job_new(test, 2048);
	unsigned int i;

	for (i = 0; i < VGPU_PT_ENTRIES; i++)
		vgpu_vm_job_write(job, AT + i * sizeof(u64), 1,
				  VGPU_PTE_VALID | (u64)(i * 7919) <<
				  VGPU_PAGE_SHIFT, VGPU_PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, job->ndw, 4 + 2 * VGPU_PT_ENTRIES);
	KUNIT_EXPECT_LE(test, job->ndw * sizeof(u32) * 100,
			VGPU_PT_ENTRIES * sizeof(u64) * 105);
}

/* Catches: entries with contiguous addresses, or with one value, take more than one packet. */
static void job_bytes_run(struct kunit *test)
{
	struct vgpu_vm_job *job = job_new(test, 64);

	vgpu_vm_job_write(job, AT, VGPU_PT_ENTRIES, VGPU_PTE_VALID,
			  VGPU_PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, job->ndw, SDMA_PTEPDE_DWORDS);
	vgpu_vm_job_write(job, AT, VGPU_PT_ENTRIES, 0, 0);
	KUNIT_EXPECT_EQ(test, job->ndw, 2 * SDMA_PTEPDE_DWORDS);
}

/*
 * Catches: an entry is appended to a packet that is not the last one, or that does not end at the
 * entry's address.
 */
static void job_gap(struct kunit *test)
{
	struct vgpu_vm_job *job = job_new(test, 128);
	u64 *out = kunit_kcalloc(test, ENTRIES, sizeof(u64), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, out);
	vgpu_vm_job_write(job, AT, 1, 1, 0);
	vgpu_vm_job_write(job, AT + 16, 1, 3, 0);
	KUNIT_EXPECT_EQ(test, job->ndw, 12);
	vgpu_vm_job_write(job, AT + 24, 8, 4, 0);
	vgpu_vm_job_write(job, AT + 24, 1, 5, 0);
	KUNIT_EXPECT_EQ(test, job->ndw, 28);
	job_run(test, job, out);
	KUNIT_EXPECT_EQ(test, out[0], 1);
	KUNIT_EXPECT_EQ(test, out[1], 0);
	KUNIT_EXPECT_EQ(test, out[2], 3);
	KUNIT_EXPECT_EQ(test, out[3], 5);
	KUNIT_EXPECT_EQ(test, out[4], 4);
	/*
	 * job_run() has emptied the job. So this write starts a new packet, although it begins
	 * where the last write ended.
	 */
	vgpu_vm_job_write(job, AT + 32, 1, 6, 0);
	KUNIT_EXPECT_EQ(test, job->ndw, 6);
}

/*
 * Catches: vgpu_vm_job_full() returns false, although the job has no space for one more step of
 * VGPU_PT_STEP_WRITES writes, each of the largest size (VGPU_VM_WRITE_DWORDS).
 */
static void job_room(struct kunit *test)
{
	struct vgpu_vm_job *job = job_new(test, 1000);
	unsigned int steps = 0, i;

	for (; !vgpu_vm_job_full(job); steps++)
		for (i = 0; i < VGPU_PT_STEP_WRITES; i++)
			vgpu_vm_job_write(job, AT + i * 4096, 4, i, 0);
	KUNIT_EXPECT_EQ(test, job->ndw, steps * VGPU_PT_STEP_WRITES *
			VGPU_VM_WRITE_DWORDS);
	KUNIT_EXPECT_GE(test, steps, 3);
	KUNIT_EXPECT_LE(test, job->ndw, job->size);
}

static struct kunit_case job_cases[] = {
	KUNIT_CASE(job_random),
	KUNIT_CASE(job_bytes_scattered),
	KUNIT_CASE(job_bytes_run),
	KUNIT_CASE(job_gap),
	KUNIT_CASE(job_room),
	{}
};

static struct kunit_suite job_suite = {
	.name = "vgpu_vm_job",
	.test_cases = job_cases,
};

kunit_test_suite(job_suite);
