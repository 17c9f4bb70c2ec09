// SPDX-License-Identifier: GPL-2.0
/*
 * Test accesses to the BARs during a reset (hw/vgpu_io.c). Catches: pages of a BAR are inserted
 * into page tables during a reset; the kernel accesses a BAR during a reset; a reset does not
 * wait for accesses that began before it.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/kthread.h>

#include "hw/vgpu_hw_priv.h"
#include "tests/lib/vgpu_mock.h"

/*
 * Duration in microseconds of the access that io_linger() models, and of the reset that
 * io_access_waits_for_reset() models.
 */
#define LINGER_US	(20 * USEC_PER_MSEC)

/**
 * struct io_thread - a thread that accesses a BAR while the test blocks accesses, as a reset does
 */
struct io_thread {
	/** @vdev: device */
	struct vgpu_device *vdev;
	/** @inside: set by the thread when its access begins */
	/**
	 * @gone: set by the test as a signal to the thread. In io_linger(): the code under test
	 * has returned, so end the access. In io_reader(): io_lock is held, so begin the access
	 */
	/** @left: set by the thread when its access ends */
	bool inside, gone, left;
	/** @ended: completed when the thread ends */
	struct completion ended;
};

static struct io_thread *io_thread_new(struct kunit *test, struct vgpu_mock *mock)
{
	struct io_thread *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, t);
	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs: threads run at the same time");
	t->vdev = &mock->vdev;
	init_completion(&t->ended);
	return t;
}

/*
 * Model a BAR access with a duration of LINGER_US. The code under test must not return before
 * io_thread.left marks the end of the access.
 */
static void io_linger(struct io_thread *t)
{
	unsigned int us;

	WRITE_ONCE(t->inside, true);
	for (us = 0; us < LINGER_US && !READ_ONCE(t->gone); us++)
		udelay(1);
	WRITE_ONCE(t->left, true);
}

static void io_await_inside(struct io_thread *t)
{
	while (!READ_ONCE(t->inside) && !completion_done(&t->ended))
		usleep_range(50, 100);
}

static int io_mapper(void *arg)
{
	struct io_thread *t = arg;
	int token;

	vgpu_io_map_begin(&token);
	if (!vgpu_io_map_is_closed(t->vdev))
		io_linger(t);
	vgpu_io_map_end(token);
	kthread_complete_and_exit(&t->ended, 0);
}

/*
 * Catches: a fault handler inserts pages during a reset; a fault handler inserts no pages after a
 * reset.
 */
static void io_map_closed(struct kunit *test)
{
	struct vgpu_mock *mock = vgpu_mock_new(test), *other = vgpu_mock_new(test);
	unsigned int i;

	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_FALSE(test, vgpu_io_map_is_closed(&mock->vdev));
		vgpu_io_map_close(&mock->vdev);
		vgpu_io_map_sync();
		KUNIT_EXPECT_TRUE(test, vgpu_io_map_is_closed(&mock->vdev));
		KUNIT_EXPECT_FALSE(test, vgpu_io_map_is_closed(&other->vdev));
		vgpu_io_map_open(&mock->vdev);
	}
	KUNIT_EXPECT_FALSE(test, vgpu_io_map_is_closed(&mock->vdev));
}

/*
 * Catches: vgpu_io_map_sync() returns while a fault handler is about to insert a page, so that the
 * page stays mapped after the zap.
 */
static void io_map_waits_for_fault(struct kunit *test)
{
	struct vgpu_mock *mock = vgpu_mock_new(test);
	struct io_thread *t = io_thread_new(test, mock);
	bool left;

	vgpu_test_start_elsewhere(test, io_mapper, t);
	io_await_inside(t);
	vgpu_io_map_close(&mock->vdev);
	vgpu_io_map_sync();
	left = READ_ONCE(t->left);
	WRITE_ONCE(t->gone, true);
	wait_for_completion(&t->ended);
	migrate_enable();
	vgpu_io_map_open(&mock->vdev);
	KUNIT_EXPECT_TRUE(test, t->inside);
	KUNIT_EXPECT_TRUE(test, left);
}

static int io_reader(void *arg)
{
	struct io_thread *t = arg;

	while (!READ_ONCE(t->gone))
		cond_resched();
	WRITE_ONCE(t->inside, true);
	vgpu_clock_read(t->vdev);
	WRITE_ONCE(t->left, true);
	kthread_complete_and_exit(&t->ended, 0);
}

/* Catches: the kernel accesses registers of a device in reset. */
static void io_access_waits_for_reset(struct kunit *test)
{
	struct vgpu_mock *mock = vgpu_mock_new(test);
	struct io_thread *t = io_thread_new(test, mock);
	void *mmio = kunit_kzalloc(test, VGPU_MMIO_BAR_SIZE, GFP_KERNEL);
	unsigned int us;
	bool left;

	KUNIT_ASSERT_NOT_NULL(test, mmio);
	vgpu_mock_regs(test, mock);
	/*
	 * Use plain memory as registers, because the mock's register accessors only work in the
	 * test's thread.
	 */
	mock->hw.mmio = (void __iomem __force *)mmio;
	/*
	 * Create the thread before io_lock is taken, because allocations are forbidden under
	 * io_lock.
	 */
	vgpu_test_start_elsewhere(test, io_reader, t);
	down_write(&mock->hw.io_lock);
	WRITE_ONCE(t->gone, true);
	io_await_inside(t);
	/* io_lock is held, as in a reset, so vgpu_clock_read() in io_reader() must not return. */
	for (us = 0; us < LINGER_US && !READ_ONCE(t->left); us++)
		udelay(1);
	left = READ_ONCE(t->left);
	up_write(&mock->hw.io_lock);
	wait_for_completion(&t->ended);
	migrate_enable();
	KUNIT_EXPECT_FALSE(test, left);
	KUNIT_EXPECT_TRUE(test, t->left);
}

static int io_accessor(void *arg)
{
	struct io_thread *t = arg;

	vgpu_io_begin(t->vdev);
	io_linger(t);
	vgpu_io_end(t->vdev);
	kthread_complete_and_exit(&t->ended, 0);
}

/* Catches: a reset begins while the kernel writes to a BAR. */
static void io_reset_waits_for_access(struct kunit *test)
{
	struct vgpu_mock *mock = vgpu_mock_new(test);
	struct io_thread *t = io_thread_new(test, mock);
	bool left;

	vgpu_test_start_elsewhere(test, io_accessor, t);
	io_await_inside(t);
	down_write(&mock->hw.io_lock);
	left = READ_ONCE(t->left);
	WRITE_ONCE(t->gone, true);
	up_write(&mock->hw.io_lock);
	wait_for_completion(&t->ended);
	migrate_enable();
	KUNIT_EXPECT_TRUE(test, left);
}

static struct kunit_case io_cases[] = {
	KUNIT_CASE(io_map_closed),
	KUNIT_CASE(io_map_waits_for_fault),
	KUNIT_CASE(io_access_waits_for_reset),
	KUNIT_CASE(io_reset_waits_for_access),
	{}
};

static struct kunit_suite io_suite = {
	.name = "vgpu_io",
	.test_cases = io_cases,
};

kunit_test_suite(io_suite);
