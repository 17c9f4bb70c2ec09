// SPDX-License-Identifier: GPL-2.0
/*
 * Waiting for events.
 *
 * A call that waits has an entry in each event's list. Whoever sets an event
 * marks the entries and wakes the calls; an event that resets itself is taken
 * by those who waited, and by the next to come if nobody did.
 */
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/wait.h>

#include "kfd_events.h"
#include "kfd_room.h"

/* More is no use, and shall not make us allocate. */
#define KFD_WAIT_MAX_EVENTS	65536u
#define KFD_WAIT_FOREVER	(~0u)

struct kfd_wait;

/**
 * struct kfd_wait_entry - an event that a call waits for
 * @link: in kfd_event.waits, while @event is set
 * @wait: the call
 * @event: the event; NULL before it was looked up and after it is gone
 * @set: it has happened
 * @wants_age: tell its age
 */
struct kfd_wait_entry {
	struct list_head link;
	struct kfd_wait *wait;
	struct kfd_event *event;
	bool set;
	bool wants_age;
};

/**
 * struct kfd_wait - a call of WAIT_EVENTS
 * @wq: it sleeps here
 * @all: for all of them, not for one
 * @broken: one of them is gone
 * @n: number of entries
 * @n_set: how many have happened
 * @entry: they
 *
 * Under the lock of kfd_events.all; @broken and @n_set are read without.
 */
struct kfd_wait {
	wait_queue_head_t wq;
	bool all;
	bool broken;
	u32 n;
	u32 n_set;
	struct kfd_wait_entry entry[] __counted_by(n);
};

static void entry_set(struct kfd_wait_entry *e)
{
	e->set = true;
	WRITE_ONCE(e->wait->n_set, e->wait->n_set + 1);
	wake_up(&e->wait->wq);
}

void kfd_event_set(struct kfd_event *ev)
{
	struct kfd_wait_entry *e;
	bool taken = false;

	ev->age++;
	list_for_each_entry(e, &ev->waits, link) {
		if (e->set)
			continue;
		entry_set(e);
		taken = true;
	}
	ev->signaled = !ev->auto_reset || !taken;
}

void kfd_event_abandon(struct kfd_event *ev)
{
	struct kfd_wait_entry *e, *next;

	list_for_each_entry_safe(e, next, &ev->waits, link) {
		list_del(&e->link);
		e->event = NULL;
		WRITE_ONCE(e->wait->broken, true);
		wake_up(&e->wait->wq);
	}
}

static bool wait_over(const struct kfd_wait *w)
{
	u32 n_set = READ_ONCE(w->n_set);

	return READ_ONCE(w->broken) || n_set == w->n || (!w->all && n_set);
}

/* Lock held. @age: the event's when user space looked last, or 0. */
static int wait_add(struct kfd_process *p, struct kfd_wait_entry *e, u32 id,
		    u64 age)
{
	struct kfd_event *ev = xa_load(&p->events.all, id);

	if (!ev)
		return -EINVAL;
	e->event = ev;
	list_add_tail(&e->link, &ev->waits);
	e->wants_age = age && ev->type == KFD_IOC_EVENT_SIGNAL;
	if (ev->signaled || (e->wants_age && age != ev->age))
		entry_set(e);
	if (ev->auto_reset)
		ev->signaled = false;
	return 0;
}

static int wait_begin(struct kfd_process *p, struct kfd_wait *w,
		      const struct kfd_event_data __user *user)
{
	struct kfd_event_data data;
	int ret = 0;
	u32 i;

	for (i = 0; !ret && i < w->n; i++) {
		w->entry[i].wait = w;
		if (copy_from_user(&data, &user[i], sizeof(data)))
			return -EFAULT;
		xa_lock_irq(&p->events.all);
		if (p->events.closed)
			ret = -EIO;
		else
			ret = wait_add(p, &w->entry[i], data.event_id,
				       data.signal_event_data.last_event_age);
		xa_unlock_irq(&p->events.all);
	}
	return ret;
}

/* What has happened: the part of user space's structure that says so. */
static int wait_tell(struct kfd_process *p, struct kfd_wait_entry *e,
		     struct kfd_event_data __user *user)
{
	struct kfd_event_data data;
	struct kfd_event *ev;
	size_t size = 0;
	u32 type = 0;

	xa_lock_irq(&p->events.all);
	ev = e->event;
	if (ev && e->set) {
		type = ev->type;
		if (type == KFD_IOC_EVENT_MEMORY) {
			data.memory_exception_data = ev->memory;
			size = sizeof(ev->memory);
		} else if (type == KFD_IOC_EVENT_HW_EXCEPTION) {
			data.hw_exception_data = ev->hw;
			size = sizeof(ev->hw);
		} else if (e->wants_age) {
			data.signal_event_data.last_event_age = ev->age;
			size = sizeof(data.signal_event_data);
		}
	}
	xa_unlock_irq(&p->events.all);
	if (!ev)
		return -EINVAL;
	/* All of them begin the structure. */
	return size && copy_to_user(user, &data, size) ? -EFAULT : 0;
}

/* @again: the call will be made anew: give back what it took. */
static void wait_end(struct kfd_process *p, struct kfd_wait *w, bool again)
{
	u32 i;

	for (i = 0; i < w->n; i++) {
		struct kfd_wait_entry *e = &w->entry[i];
		struct kfd_event *ev;

		xa_lock_irq(&p->events.all);
		ev = e->event;
		if (ev) {
			list_del(&e->link);
			if (again && e->set && ev->auto_reset)
				kfd_event_set(ev);
		}
		xa_unlock_irq(&p->events.all);
	}
}

/* Returns 0, -ETIME if time is up, -ERESTARTSYS. */
static int wait_sleep(struct kfd_wait *w, u32 ms)
{
	if (ms == KFD_WAIT_FOREVER)
		return wait_event_interruptible(w->wq, wait_over(w));
	if (!ms)
		return wait_over(w) ? 0 : -ETIME;
	/* By the clock: jiffies count ticks that come late all at once. */
	return wait_event_interruptible_hrtimeout(w->wq, wait_over(w),
						  ms_to_ktime(ms));
}

static int wait_do(struct kfd_process *p, struct kfd_wait *w,
		   struct kfd_ioctl_wait_events_args *args)
{
	struct kfd_event_data __user *user = u64_to_user_ptr(args->events_ptr);
	ktime_t end = ktime_add_ms(ktime_get(), args->timeout);
	int ret;
	u32 i;

	ret = wait_begin(p, w, user);
	if (ret)
		return ret;
	ret = wait_sleep(w, args->timeout);
	if (ret == -ERESTARTSYS) {
		s64 left = ktime_to_ns(ktime_sub(end, ktime_get()));

		/* When the call is made anew, it waits for the rest. */
		if (args->timeout != KFD_WAIT_FOREVER)
			args->timeout = left > 0 ?
				DIV_ROUND_UP_ULL(left, NSEC_PER_MSEC) : 0;
		return ret;
	}
	if (ret && !wait_over(w)) {
		args->wait_result = KFD_IOC_WAIT_RESULT_TIMEOUT;
		return 0;
	}
	if (READ_ONCE(w->broken))
		return -EIO;
	ret = 0;
	for (i = 0; !ret && i < w->n; i++)
		ret = wait_tell(p, &w->entry[i], &user[i]);
	if (!ret)
		args->wait_result = KFD_IOC_WAIT_RESULT_COMPLETE;
	return ret;
}

/**
 * kfd_ioctl_wait_events() - AMDKFD_IOC_WAIT_EVENTS
 * @p: process
 * @data: struct kfd_ioctl_wait_events_args; timeout in ms, ~0: for ever
 *
 * Return: 0, and in wait_result whether time was up; -EINVAL for an event that
 * there is not, -EIO if one is destroyed meanwhile or the GPU goes, -EFAULT,
 * -ENOMEM, -ERESTARTSYS.
 */
int kfd_ioctl_wait_events(struct kfd_process *p, void *data)
{
	struct kfd_ioctl_wait_events_args *args = data;
	struct kfd_wait *w;
	int ret;

	args->wait_result = KFD_IOC_WAIT_RESULT_FAIL;
	if (args->num_events > KFD_WAIT_MAX_EVENTS)
		return -ENOMEM;
	w = kvzalloc(struct_size(w, entry, args->num_events),
		     GFP_KERNEL_ACCOUNT);
	if (!w)
		return -ENOMEM;
	init_waitqueue_head(&w->wq);
	w->n = args->num_events;
	w->all = args->wait_for_all;
	ret = wait_do(p, w, args);
	wait_end(p, w, ret == -ERESTARTSYS);
	kvfree(w);
	return ret;
}
