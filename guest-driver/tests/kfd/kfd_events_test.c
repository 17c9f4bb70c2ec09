// SPDX-License-Identifier: GPL-2.0
/*
 * Test kfd/events/kfd_events.c with a process that has one event and no GPUs. Instead of a GPU, the
 * test writes the event's slot and calls the interrupt handler.
 */
#include <kunit/static_stub.h>
#include <kunit/test-bug.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "kfd/events/kfd_events.h"
#include "kfd/events/kfd_events_priv.h"
#include "process/kfd_process.h"
#include "tests/lib/vgpu_mock.h"

/**
 * struct events_mock - a process with one event of type SIGNAL
 * @p: process
 * @vdev: device that raises the interrupts; only its statistics (vgpu_stat_add()) are used
 * @ev: event without auto-reset
 */
struct events_mock {
	struct kfd_process p;
	struct vgpu_device *vdev;
	struct kfd_event *ev;
};

static void events_mock_fini(void *arg)
{
	struct events_mock *m = arg;

	kfd_events_fini(&m->p);
}

static struct events_mock *events_mock_new(struct kunit *test)
{
	struct kfd_ioctl_create_event_args args = {
		.event_type = KFD_IOC_EVENT_SIGNAL,
	};
	struct events_mock *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, m);
	m->vdev = kunit_kzalloc(test, sizeof(*m->vdev), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, m->vdev);
	mutex_init(&m->p.mutex);
	KUNIT_ASSERT_EQ(test, kfd_events_init(&m->p), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, events_mock_fini,
							m), 0);
	KUNIT_ASSERT_EQ(test, kfd_ioctl_create_event(&m->p, &args), 0);
	m->ev = xa_load(&m->p.events->all, args.event_id);
	KUNIT_ASSERT_NOT_NULL(test, m->ev);
	return m;
}

/* Write the event's slot in the signal page, as the GPU does before the interrupt. */
static void events_write_slot(struct events_mock *m)
{
	WRITE_ONCE(m->p.events->signal_page[m->ev->id], 1);
}

/*
 * Check that the event was signalled once, and that its slot can be used again. Call with
 * scan_work idle.
 */
static void events_expect_signaled(struct kunit *test, struct events_mock *m)
{
	KUNIT_EXPECT_TRUE(test, m->ev->signaled);
	KUNIT_EXPECT_EQ(test, m->ev->age, 2);
	KUNIT_EXPECT_EQ(test, m->p.events->signal_page[m->ev->id],
			KFD_EVENT_UNSIGNALED);
}

static s64 events_deferred(struct events_mock *m)
{
	return vgpu_stat_read(m->vdev, VGPU_STAT_EVENTS_DEFERRED);
}

/*
 * No call waits for the event, so the interrupt handler must signal the event itself. Catches: the
 * handler queues scan_work instead, as it does if many calls wait.
 */
static void events_at_once(struct kunit *test)
{
	struct events_mock *m = events_mock_new(test);

	events_write_slot(m);
	kfd_events_interrupt_process(m->vdev, &m->p, m->ev->id);
	KUNIT_EXPECT_EQ(test, work_busy(&m->p.events->scan_work), 0);
	events_expect_signaled(test, m);
	KUNIT_EXPECT_EQ(test, events_deferred(m), 0);
}

/*
 * The interrupt arrives on a CPU that holds the events' lock. Catches: the handler loses the event;
 * the handler signals the event without the lock.
 */
static void events_lock_taken(struct kunit *test)
{
	struct events_mock *m = events_mock_new(test);
	bool early;

	events_write_slot(m);
	xa_lock(&m->p.events->all);
	kfd_events_interrupt_process(m->vdev, &m->p, m->ev->id);
	early = m->ev->signaled;
	xa_unlock(&m->p.events->all);
	KUNIT_EXPECT_FALSE(test, early);
	flush_work(&m->p.events->scan_work);
	events_expect_signaled(test, m);
	/*
	 * VGPU_STAT_EVENTS_DEFERRED counts only events with more than KFD_WAKE_AT_ONCE waits. The
	 * handler left this event to scan_work because xa_lock() was held.
	 */
	KUNIT_EXPECT_EQ(test, events_deferred(m), 0);
}

/* Catches: an event is lost when more calls wait for the event than the interrupt handler wakes. */
static void events_many_waits(struct kunit *test)
{
	struct events_mock *m = events_mock_new(test);

	m->ev->n_waits = 1000;
	events_write_slot(m);
	kfd_events_interrupt_process(m->vdev, &m->p, m->ev->id);
	KUNIT_EXPECT_EQ(test, events_deferred(m), 1);
	flush_work(&m->p.events->scan_work);
	events_expect_signaled(test, m);
}

/*
 * The interrupt has an id that no event has. Catches: the handler ignores this interrupt. (It must
 * scan the slots of all events.)
 */
static void events_no_id(struct kunit *test)
{
	static const u32 ids[] = {
		0, KFD_SIGNAL_EVENT_LIMIT - 1, KFD_SIGNAL_EVENT_LIMIT, U32_MAX,
	};
	struct events_mock *m;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ids); i++) {
		m = events_mock_new(test);
		KUNIT_ASSERT_NE(test, m->ev->id, ids[i]);
		events_write_slot(m);
		kfd_events_interrupt_process(m->vdev, &m->p, ids[i]);
		flush_work(&m->p.events->scan_work);
		events_expect_signaled(test, m);
	}
}

/* Replaces kfd_event_publish(): another thread destroys the event as soon as it is published. */
static int events_publish_and_destroy(struct kfd_process *p,
				      struct kfd_event *ev,
				      struct xa_limit limit, u32 *id)
{
	struct kfd_ioctl_destroy_event_args args = {};
	struct kunit *test = kunit_get_current_test();
	int ret;

	kunit_deactivate_static_stub(test, kfd_event_publish);
	ret = kfd_event_publish(p, ev, limit, id);
	KUNIT_ASSERT_EQ(test, ret, 0);
	args.event_id = *id;
	KUNIT_ASSERT_EQ(test, kfd_ioctl_destroy_event(p, &args), 0);
	vgpu_test_reuse(test, sizeof(*ev), GFP_KERNEL_ACCOUNT);
	return 0;
}

/*
 * Catches: CREATE_EVENT reads an event after DESTROY_EVENT has freed it. Without KASAN, only a
 * wrong id in the call's result shows the defect.
 */
static void events_destroyed_at_once(struct kunit *test)
{
	struct kfd_ioctl_create_event_args args = {
		.event_type = KFD_IOC_EVENT_SIGNAL,
	};
	struct events_mock *m = events_mock_new(test);

	kunit_activate_static_stub(test, kfd_event_publish,
				   events_publish_and_destroy);
	KUNIT_ASSERT_EQ(test, kfd_ioctl_create_event(&m->p, &args), 0);
	KUNIT_EXPECT_EQ(test, args.event_id, m->ev->id + 1);
	KUNIT_EXPECT_EQ(test, args.event_trigger_data, m->ev->id + 1);
	KUNIT_EXPECT_EQ(test, args.event_slot_index, m->ev->id + 1);
	KUNIT_EXPECT_NULL(test, xa_load(&m->p.events->all, args.event_id));
}

static struct kunit_case events_cases[] = {
	KUNIT_CASE(events_at_once),
	KUNIT_CASE(events_lock_taken),
	KUNIT_CASE(events_many_waits),
	KUNIT_CASE(events_no_id),
	KUNIT_CASE(events_destroyed_at_once),
	{}
};

static struct kunit_suite events_suite = {
	.name = "kfd_events",
	.test_cases = events_cases,
};

kunit_test_suite(events_suite);
