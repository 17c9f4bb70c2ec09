// SPDX-License-Identifier: GPL-2.0
/*
 * Test hw/vgpu_mmio.c with a mock of BAR 2, and with counters and a clock that advance while they
 * are read. Catches: the halves of a 64-bit value are from different reads; a write goes to the
 * wrong doorbell.
 */
#include "hw/vgpu_hw_priv.h"
#include "tests/lib/vgpu_mock.h"

#define ROUNDS		500
#define ANY_REG		VGPU_FAULT_SERIAL

static struct vgpu_mock *mmio_mock(struct kunit *test)
{
	struct vgpu_mock *mock = vgpu_mock_new(test);

	vgpu_mock_regs(test, mock);
	return mock;
}

/* Read each counter while its high half changes. */
static void mmio_counters(struct kunit *test)
{
	struct vgpu_mock *mock = mmio_mock(test);
	unsigned int i, k;

	for (i = 0; i < VGPU_NUM_COUNTERS; i++)
		mock->counters[i] = ((u64)(i + 1) << 32) - 3;
	for (k = 0; k < 6; k++)
		for (i = 0; i < VGPU_NUM_COUNTERS; i++)
			KUNIT_ASSERT_EQ(test,
					vgpu_counter_read(&mock->vdev, i),
					((u64)(i + 1) << 32) - 3 + k);
}

static void mmio_clock(struct kunit *test)
{
	struct vgpu_mock *mock = mmio_mock(test);
	unsigned int i;

	mock->clock = (7ull << 32) - 100;
	for (i = 0; i < ROUNDS; i++) {
		u64 before = mock->clock;
		u64 value = vgpu_clock_read(&mock->vdev);

		KUNIT_ASSERT_GT(test, value, before);
		KUNIT_ASSERT_LE(test, value, mock->clock);
	}
	KUNIT_EXPECT_GT(test, mock->clock, 7ull << 32);
}

static void mmio_expect_doorbells(struct kunit *test, struct vgpu_mock *mock,
				  const u32 *want)
{
	KUNIT_ASSERT_EQ(test, memcmp(mock->doorbells, want,
				     VGPU_DOORBELL_BAR_SIZE), 0);
}

static void mmio_doorbell32(struct kunit *test)
{
	struct vgpu_mock *mock = mmio_mock(test);
	u32 *want = kunit_kzalloc(test, VGPU_DOORBELL_BAR_SIZE, GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, want);
	for (i = 0; i < ROUNDS; i++) {
		u32 dword = vgpu_mock_random(mock, VGPU_DOORBELL_BAR_SIZE / 4);
		u32 value = vgpu_mock_random(mock, U32_MAX);

		if (!i)
			dword = VGPU_DOORBELL_BAR_SIZE / 4 - 1;
		vgpu_wdoorbell32(&mock->vdev, dword, value);
		want[dword] = value;
	}
	mmio_expect_doorbells(test, mock, want);
}

static void mmio_doorbell64(struct kunit *test)
{
	struct vgpu_mock *mock = mmio_mock(test);
	u32 *want = kunit_kzalloc(test, VGPU_DOORBELL_BAR_SIZE, GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, want);
	for (i = 0; i < ROUNDS; i++) {
		u32 at = 8 * vgpu_mock_random(mock, VGPU_DOORBELL_BAR_SIZE / 8);
		u64 value = vgpu_mock_random(mock, U64_MAX);

		if (!i)
			at = VGPU_DOORBELL_BAR_SIZE - 8;
		vgpu_wdoorbell64(&mock->vdev, at, value);
		want[at / 4] = lower_32_bits(value);
		want[at / 4 + 1] = upper_32_bits(value);
	}
	mmio_expect_doorbells(test, mock, want);
}

/* Check that vgpu_hw_poll() compares only the bits of the mask. */
static void mmio_poll(struct kunit *test)
{
	struct vgpu_mock *mock = mmio_mock(test);
	unsigned int i;

	for (i = 0; i < ROUNDS; i++) {
		u32 value = vgpu_mock_random(mock, U32_MAX);
		u32 mask = vgpu_mock_random(mock, U32_MAX);

		mock->regs[ANY_REG] = value;
		KUNIT_ASSERT_TRUE(test, vgpu_hw_poll(&mock->vdev,
						     ANY_REG, mask,
						     value & mask));
	}
}

/* Check that an HDP flush is a write to the remapped page, followed by a read. */
static void mmio_hdp_flush(struct kunit *test)
{
	struct vgpu_mock *mock = mmio_mock(test);
	u64 before = mock->clock;

	vgpu_hdp_flush(&mock->vdev);
	KUNIT_EXPECT_EQ(test, mock->writes[VGPU_REMAP_PAGE / 4], 1);
	KUNIT_EXPECT_EQ(test, mock->clock - before, 2);
}

static struct kunit_case mmio_cases[] = {
	KUNIT_CASE(mmio_counters),
	KUNIT_CASE(mmio_clock),
	KUNIT_CASE(mmio_doorbell32),
	KUNIT_CASE(mmio_doorbell64),
	KUNIT_CASE(mmio_poll),
	KUNIT_CASE(mmio_hdp_flush),
	{}
};

static struct kunit_suite mmio_suite = {
	.name = "vgpu_mmio",
	.test_cases = mmio_cases,
};

kunit_test_suite(mmio_suite);
