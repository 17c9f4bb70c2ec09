// SPDX-License-Identifier: GPL-2.0
/*
 * Test hw/sdma/vgpu_sdma_emit.c: decode packets by bit positions, and compare the fields with the
 * arguments. Test which jobs vgpu_sdma_cpu_can() accepts. Catches: the halves of a 64-bit value are
 * swapped; a count is off by one; a packet exceeds its length.
 */
#include "hw/vgpu_hw_priv.h"
#include "tests/lib/vgpu_mock.h"

#define ROUNDS	500
#define GUARD	0xa5a5a5a5u

static u64 pair(const u32 *dw)
{
	return dw[0] | (u64)dw[1] << 32;
}

static void emit_copy(struct kunit *test)
{
	struct rnd_state rnd;
	unsigned int i;

	vgpu_test_rnd(test, &rnd);
	for (i = 0; i < ROUNDS; i++) {
		u64 src = vgpu_test_random(&rnd, BIT_ULL(48));
		u64 dst = vgpu_test_random(&rnd, BIT_ULL(48));
		u32 bytes = 1 + vgpu_test_random(&rnd, BIT(30));
		u32 dw[8];

		memset(dw, 0xa5, sizeof(dw));
		KUNIT_ASSERT_EQ(test, vgpu_sdma_emit_copy(dw, src, dst, bytes),
				7);
		KUNIT_ASSERT_EQ(test, dw[0], 0x1);
		KUNIT_ASSERT_EQ(test, dw[1], bytes - 1);
		KUNIT_ASSERT_EQ(test, dw[2], 0);
		KUNIT_ASSERT_EQ(test, pair(dw + 3), src);
		KUNIT_ASSERT_EQ(test, pair(dw + 5), dst);
		KUNIT_ASSERT_EQ(test, dw[7], GUARD);
	}
}

static void emit_fill(struct kunit *test)
{
	struct rnd_state rnd;
	unsigned int i;

	vgpu_test_rnd(test, &rnd);
	for (i = 0; i < ROUNDS; i++) {
		u64 dst = 4 * vgpu_test_random(&rnd, BIT_ULL(46));
		u32 bytes = 4 + 4 * vgpu_test_random(&rnd, BIT(28));
		u32 value = vgpu_test_random(&rnd, BIT_ULL(32));
		u32 dw[6];

		memset(dw, 0xa5, sizeof(dw));
		KUNIT_ASSERT_EQ(test, vgpu_sdma_emit_fill(dw, dst, value,
							  bytes), 5);
		/* The field SIZE (bits 31:30) is 2, because the fill value is a dword. */
		KUNIT_ASSERT_EQ(test, dw[0], 0x8000000b);
		KUNIT_ASSERT_EQ(test, pair(dw + 1), dst);
		KUNIT_ASSERT_EQ(test, dw[3], value);
		KUNIT_ASSERT_EQ(test, dw[4], bytes - 1);
		KUNIT_ASSERT_EQ(test, dw[5], GUARD);
	}
}

static void emit_ptepde(struct kunit *test)
{
	struct rnd_state rnd;
	unsigned int i;

	vgpu_test_rnd(test, &rnd);
	for (i = 0; i < ROUNDS; i++) {
		u64 dst = 8 * vgpu_test_random(&rnd, BIT_ULL(45));
		u64 flags = vgpu_test_random(&rnd, U64_MAX);
		u64 addr = vgpu_test_random(&rnd, BIT_ULL(48));
		u64 incr = vgpu_test_random(&rnd, BIT_ULL(40));
		u32 count = 1 + vgpu_test_random(&rnd, BIT(19));
		u32 dw[11];

		memset(dw, 0xa5, sizeof(dw));
		KUNIT_ASSERT_EQ(test, vgpu_sdma_emit_ptepde(dw, dst, flags,
							    addr, incr, count),
				10);
		KUNIT_ASSERT_EQ(test, dw[0], 0xc);
		KUNIT_ASSERT_EQ(test, pair(dw + 1), dst);
		KUNIT_ASSERT_EQ(test, pair(dw + 3), flags);
		KUNIT_ASSERT_EQ(test, pair(dw + 5), addr);
		KUNIT_ASSERT_EQ(test, pair(dw + 7), incr);
		KUNIT_ASSERT_EQ(test, dw[9], count - 1);
		KUNIT_ASSERT_EQ(test, dw[10], GUARD);
	}
}

/*
 * Check that each packet type encodes its largest count. The count field contains the count minus
 * 1, so the largest count of a field of n bits is 2^n.
 */
static void emit_limits(struct kunit *test)
{
	u32 dw[10];

	vgpu_sdma_emit_copy(dw, 0, 0, VGPU_SDMA_MAX_COPY);
	KUNIT_EXPECT_EQ(test, dw[1], 0x3fffffff);
	vgpu_sdma_emit_copy(dw, 0, 0, 1);
	KUNIT_EXPECT_EQ(test, dw[1], 0);
	vgpu_sdma_emit_fill(dw, 0, 0, VGPU_SDMA_MAX_COPY);
	KUNIT_EXPECT_EQ(test, dw[4], 0x3fffffff);
	vgpu_sdma_emit_ptepde(dw, 0, 0, 0, 0, BIT(19));
	KUNIT_EXPECT_EQ(test, dw[9], 0x7ffff);
}

/*
 * Catches: vgpu_sdma_cpu_can() returns false for a job of copies, fills and NOPs, or true for a
 * job that ends in the middle of a packet.
 */
static void emit_cpu_can(struct kunit *test)
{
	struct rnd_state rnd;
	unsigned int i, k;

	vgpu_test_rnd(test, &rnd);
	for (i = 0; i < ROUNDS; i++) {
		unsigned int n = 0, packets = 1 + vgpu_test_random(&rnd, 8);
		DECLARE_BITMAP(ends, 65) = {};
		u32 dw[64];

		__set_bit(0, ends);
		while (packets--) {
			switch (vgpu_test_random(&rnd, 3)) {
			case 0:
				n += vgpu_sdma_emit_copy(dw + n, 64, 128, 8);
				break;
			case 1:
				n += vgpu_sdma_emit_fill(dw + n, 64, 7, 16);
				break;
			default:
				dw[n++] = SDMA_OP_NOP;
			}
			__set_bit(n, ends);
		}
		for (k = 0; k <= n; k++)
			KUNIT_ASSERT_EQ_MSG(test, vgpu_sdma_cpu_can(dw, k),
					    test_bit(k, ends),
					    "%u of %u dwords", k, n);
	}
}

/* Catches: vgpu_sdma_cpu_can() accepts a packet that vgpu_sdma_cpu_run() cannot run. */
static void emit_cpu_cannot(struct kunit *test)
{
	static const u32 headers[] = {
		SDMA_OP_COPY | SDMA_COPY_LINEAR__BROADCAST,
		SDMA_PKT(SDMA_OP_COPY, SDMA_SUBOP_COPY_LINEAR_RECT),
		SDMA_OP_CONST_FILL,			/* fill with bytes */
		SDMA_OP_CONST_FILL | 1u << 30,		/* fill with 16-bit words */
		SDMA_OP_NOP | 3u << 16,			/* NOP with payload */
		SDMA_OP_WRITE, SDMA_OP_INDIRECT, SDMA_OP_FENCE, SDMA_OP_TRAP,
		SDMA_OP_POLL_REGMEM, SDMA_OP_COND_EXE, SDMA_OP_ATOMIC,
		SDMA_PKT(SDMA_OP_PTEPDE, 1), SDMA_OP_TIMESTAMP,
		SDMA_OP_SRBM_WRITE,
		SDMA_OP_PRE_EXE, 0xff,
	};
	u32 dw[32] = {};
	unsigned int i, n;

	for (i = 0; i < ARRAY_SIZE(headers); i++) {
		n = vgpu_sdma_emit_copy(dw, 0, 64, 64);
		dw[n] = headers[i];
		KUNIT_EXPECT_FALSE_MSG(test,
				       vgpu_sdma_cpu_can(dw, ARRAY_SIZE(dw)),
				       "header %#x", headers[i]);
	}
}

static struct kunit_case emit_cases[] = {
	KUNIT_CASE(emit_copy),
	KUNIT_CASE(emit_fill),
	KUNIT_CASE(emit_ptepde),
	KUNIT_CASE(emit_limits),
	KUNIT_CASE(emit_cpu_can),
	KUNIT_CASE(emit_cpu_cannot),
	{}
};

static struct kunit_suite emit_suite = {
	.name = "vgpu_sdma_emit",
	.test_cases = emit_cases,
};

kunit_test_suite(emit_suite);
