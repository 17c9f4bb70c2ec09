// SPDX-License-Identifier: GPL-2.0
/* Test with simulated time how often reset/vgpu_reset.c resets a device. */
#include <kunit/test.h>

#include "reset/vgpu_reset_priv.h"

/* Start of the simulated time, shortly before jiffies wrap. */
#define START	(-60ul * HZ)

/*
 * Catches: the number of resets has no limit if the device fails soon after each reset; the driver
 * resets a device that was given up.
 */
static void tries_in_a_row(struct kunit *test)
{
	struct vgpu_reset_tries tries = { 0 };
	unsigned long now = START;
	unsigned int i;

	for (i = 0; i < VGPU_RESET_TRIES; i++, now += VGPU_RESET_CALM)
		KUNIT_EXPECT_TRUE(test, vgpu_reset_tries_next(&tries, now));
	KUNIT_EXPECT_FALSE(test, vgpu_reset_tries_next(&tries, now));
	now += 10 * VGPU_RESET_CALM;
	KUNIT_EXPECT_FALSE(test, vgpu_reset_tries_next(&tries, now));
	/* Clear the number of tries, as vgpu_reset_device() does on an operator's request. */
	tries.n = 0;
	KUNIT_EXPECT_TRUE(test, vgpu_reset_tries_next(&tries, now));
}

/*
 * Catches: resets with long times between them count as consecutive, so that the driver gives the
 * device up.
 */
static void tries_apart(struct kunit *test)
{
	struct vgpu_reset_tries tries = { 0 };
	unsigned long now = START;
	unsigned int i;

	for (i = 0; i < 10 * VGPU_RESET_TRIES; i++, now += VGPU_RESET_CALM + 1)
		KUNIT_EXPECT_TRUE(test, vgpu_reset_tries_next(&tries, now));
}

static struct kunit_case reset_cases[] = {
	KUNIT_CASE(tries_in_a_row),
	KUNIT_CASE(tries_apart),
	{}
};

static struct kunit_suite reset_suite = {
	.name = "vgpu_reset",
	.test_cases = reset_cases,
};

kunit_test_suite(reset_suite);
