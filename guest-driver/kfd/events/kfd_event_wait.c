// SPDX-License-Identifier: GPL-2.0
/*
 * Implements WAIT_EVENTS. One signal of an auto-reset event satisfies all calls that wait. If no
 * call waits, the event stays signalled until the next call.
 */
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/wait.h>
#include <linux/xarray.h>

#include "process/kfd_process.h"
#include "kfd_events.h"
#include "kfd_events_priv.h"

/*
 * Maximum number of events that a call may name. The limit bounds the memory that the call
 * allocates.
 */
#define KFD_WAIT_MAX_EVENTS	65536u
#define KFD_WAIT_FOREVER	(~0u)

struct kfd_wait;

/**
 * struct kfd_wait_entry - an element of WAIT_EVENTS's array; each element names an event
 *
 * Several entries of a call may name the same event. Only the first of them uses @took, @sets,
 * @pending, @link and @event, on behalf of all.
 */
struct kfd_wait_entry {
	/** @wait: the call of WAIT_EVENTS */
	struct kfd_wait *wait;
	/**
	 * @first: the call's first entry that names the same event; may point to this entry. NULL
	 * before wait_add() has found the event
	 */
	struct kfd_wait_entry *first;
	/**
	 * @seen: copy of @first->sets, made when this entry was added. @first->sets counts signals
	 * of the event: a value other than @seen means a signal after this entry was added
	 */
	u32 seen;
	/** @set: the event satisfied this entry at once, when this entry was added */
	bool set;
	/** @wants_age: report the event's age to user space */
	bool wants_age;
	/** @took: the event has satisfied at least one entry of the call */
	bool took;
	/** @sets: how often the event was signalled since this entry was added */
	u32 sets;
	/** @pending: number of the call's entries that name the event and are not satisfied yet */
	u32 pending;
	/**
	 * @link: link in kfd_event.waits, while @event is not NULL. A call links only its first
	 * entry for the event, so kfd_event.n_waits counts calls
	 */
	struct list_head link;
	/**
	 * @event: the event that the entry waits for; NULL after the event was destroyed or the
	 * process was detached from KFD
	 */
	struct kfd_event *event;
};

/**
 * struct kfd_wait - a call of WAIT_EVENTS
 *
 * The lock of kfd_events.all protects @broken, @n_set and the entries. @broken and @n_set may be
 * read without the lock.
 */
struct kfd_wait {
	/** @wq: the calling thread sleeps here */
	wait_queue_head_t wq;
	/** @all: true: the call waits for all events; false: the call waits for any of them */
	bool all;
	/** @broken: one of the events was destroyed, or the process was detached from KFD */
	bool broken;
	/** @n: number of entries */
	u32 n;
	/** @n_set: number of entries that are satisfied */
	u32 n_set;
	/**
	 * @named: maps the id of an event to the call's first entry for this event. Only the
	 * calling thread uses @named
	 */
	struct xarray named;
	/** @entry: entries, in the order of the ioctl's array */
	struct kfd_wait_entry entry[] __counted_by(n);
};

static bool wait_over(const struct kfd_wait *w)
{
	u32 n_set = READ_ONCE(w->n_set);

	return READ_ONCE(w->broken) || n_set == w->n || (!w->all && n_set);
}

/*
 * Count @names more entries of a WAIT_EVENTS call as satisfied. Wake the calling thread if its wait
 * is now over. All these entries name the same event, and @first is the first of the call's entries
 * for this event. The lock of kfd_events.all is held.
 */
static void wait_count(struct kfd_wait_entry *first, u32 names)
{
	struct kfd_wait *w = first->wait;
	bool over = wait_over(w);

	first->took = true;
	WRITE_ONCE(w->n_set, w->n_set + names);
	if (!over && wait_over(w))
		wake_up(&w->wq);
}

void kfd_event_set(struct kfd_event *ev)
{
	struct kfd_wait_entry *e;
	bool taken = false;

	ev->age++;
	list_for_each_entry(e, &ev->waits, link) {
		e->sets++;
		if (!e->pending)
			continue;
		wait_count(e, e->pending);
		e->pending = 0;
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
		if (e->wait->broken)
			continue;
		WRITE_ONCE(e->wait->broken, true);
		wake_up(&e->wait->wq);
	}
	ev->n_waits = 0;
}

/*
 * Entry @e names event @id. Return the first entry of the call that names this event, or
 * ERR_PTR(-ENOMEM). If no earlier entry names the event, return @e, and record @e in
 * kfd_wait.named. A call with a single entry needs no record.
 */
static struct kfd_wait_entry *wait_first(struct kfd_wait_entry *e, u32 id)
{
	struct kfd_wait *w = e->wait;
	void *first;

	if (w->n == 1)
		return e;
	first = xa_cmpxchg(&w->named, id, NULL, e, GFP_KERNEL_ACCOUNT);
	if (xa_is_err(first))
		return ERR_PTR(xa_err(first));
	return first ?: e;
}

/*
 * Let entry @e wait for event @id. The lock of kfd_events.all is held.
 *
 * @first: result of wait_first()
 * @age: last_event_age, which user space passes to WAIT_EVENTS; 0: user space does not use ages
 *
 * Returns 0, or -EINVAL if there is no event @id.
 */
static int wait_add(struct kfd_process *p, struct kfd_wait_entry *e,
		    struct kfd_wait_entry *first, u32 id, u64 age)
{
	struct kfd_event *ev = first == e ? xa_load(&p->events->all, id) :
					    first->event;

	if (!ev)
		return -EINVAL;
	if (first == e) {
		e->event = ev;
		list_add_tail(&e->link, &ev->waits);
		ev->n_waits++;
	}
	e->first = first;
	e->seen = first->sets;
	/* The entry is satisfied, too, if the event has been set since user space read @age. */
	e->wants_age = age && ev->type == KFD_IOC_EVENT_SIGNAL;
	e->set = ev->signaled || (e->wants_age && age != ev->age);
	if (e->set)
		wait_count(first, 1);
	else
		first->pending++;
	if (ev->auto_reset)
		ev->signaled = false;
	return 0;
}

static int wait_begin(struct kfd_process *p, struct kfd_wait *w,
		      const struct kfd_event_data __user *user)
{
	struct kfd_wait_entry *e, *first;
	struct kfd_event_data data;
	int ret = 0;
	u32 i;

	for (i = 0; !ret && i < w->n; i++) {
		e = &w->entry[i];
		e->wait = w;
		if (copy_from_user(&data, &user[i], sizeof(data)))
			return -EFAULT;
		first = wait_first(e, data.event_id);
		if (IS_ERR(first))
			return PTR_ERR(first);
		xa_lock(&p->events->all);
		if (p->events->closed)
			ret = -EIO;
		else
			ret = wait_add(p, e, first, data.event_id,
				       data.signal_event_data.last_event_age);
		xa_unlock(&p->events->all);
	}
	return ret;
}

/*
 * Return true if the event has satisfied @e, either when @e was added or by a signal after that.
 * The lock of kfd_events.all is held.
 */
static bool wait_entry_set(const struct kfd_wait_entry *e)
{
	return e->set || e->seen != e->first->sets;
}

/*
 * Return true if the ioctl's array has a signalled event before the first destroyed event. If an
 * event was destroyed, wait_do() returns -EIO for the result false, and -EINVAL for true.
 */
static bool wait_any_set(struct kfd_process *p, struct kfd_wait *w)
{
	struct kfd_event *ev;
	bool set;
	u32 i;

	for (i = 0; i < w->n; i++) {
		xa_lock(&p->events->all);
		ev = w->entry[i].first->event;
		set = ev && wait_entry_set(&w->entry[i]);
		xa_unlock(&p->events->all);
		if (!ev || set)
			return set;
	}
	return false;
}

/*
 * Copy the data of an event to user space, if it was signalled. Returns -EINVAL if the event was
 * destroyed.
 */
static int wait_report(struct kfd_process *p, struct kfd_wait_entry *e,
		       struct kfd_event_data __user *user)
{
	struct kfd_event_data data;
	struct kfd_event *ev;
	size_t size = 0;
	u32 type = 0;

	xa_lock(&p->events->all);
	ev = e->first->event;
	if (ev && wait_entry_set(e)) {
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
	xa_unlock(&p->events->all);
	if (!ev)
		return -EINVAL;
	/*
	 * The data of every event type is in a union at the start of struct kfd_event_data, so one
	 * copy serves all types.
	 */
	return size && copy_to_user(user, &data, size) ? -EFAULT : 0;
}

/*
 * Remove the call's entries. If @again is true, the call will be restarted, so signal again each
 * auto-reset event that this call has consumed.
 */
static void wait_end(struct kfd_process *p, struct kfd_wait *w, bool again)
{
	u32 i;

	for (i = 0; i < w->n; i++) {
		struct kfd_wait_entry *e = &w->entry[i];
		struct kfd_event *ev;

		if (e->first != e)
			continue;
		xa_lock(&p->events->all);
		ev = e->event;
		if (ev) {
			list_del(&e->link);
			ev->n_waits--;
			if (again && e->took && ev->auto_reset)
				kfd_event_set(ev);
		}
		xa_unlock(&p->events->all);
	}
	xa_destroy(&w->named);
}

/*
 * Wait until the call of WAIT_EVENTS is satisfied, or one of its events was destroyed. Returns 0,
 * -ETIME if @ms have passed, or -ERESTARTSYS.
 */
static int wait_sleep(struct kfd_wait *w, u32 ms)
{
	if (ms == KFD_WAIT_FOREVER)
		return wait_event_interruptible(w->wq, wait_over(w));
	if (!ms)
		return wait_over(w) ? 0 : -ETIME;
	/*
	 * Do not measure the time in jiffies: late timer ticks are added to jiffies all at once, so
	 * a timeout in jiffies could expire too early.
	 */
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

		/*
		 * Replace the timeout by the time that is left, because the restarted call reads
		 * the timeout again.
		 */
		if (args->timeout != KFD_WAIT_FOREVER)
			args->timeout = left > 0 ?
				DIV_ROUND_UP_ULL(left, NSEC_PER_MSEC) : 0;
		return ret;
	}
	if (ret && !wait_over(w)) {
		args->wait_result = KFD_IOC_WAIT_RESULT_TIMEOUT;
		return 0;
	}
	/*
	 * As in amdkfd, a destroyed event gives -EIO. Exception: the call waits for any event, and
	 * its array has a signalled event before the first destroyed event. Then the loop below
	 * handles the signalled event, and ends with -EINVAL at the destroyed event.
	 */
	if (READ_ONCE(w->broken) && (w->all || !wait_any_set(p, w)))
		return -EIO;
	ret = 0;
	/* As in amdkfd, the loop ends with -EINVAL at a destroyed event. */
	for (i = 0; !ret && i < w->n; i++)
		ret = wait_report(p, &w->entry[i], &user[i]);
	if (!ret)
		args->wait_result = KFD_IOC_WAIT_RESULT_COMPLETE;
	return ret;
}

/**
 * kfd_ioctl_wait_events() - AMDKFD_IOC_WAIT_EVENTS
 * @p: process
 * @data: struct kfd_ioctl_wait_events_args; timeout in ms, ~0 for no limit
 *
 * Context: no locks are held.
 *
 * Return:
 * * 0: wait_result is COMPLETE or TIMEOUT
 * * -EINVAL: an event does not exist when the call begins
 * * -EIO: an event was destroyed during the call (sometimes -EINVAL: see wait_do())
 * * -EIO: the process is detached
 * * -ENOMEM: no memory, or more than KFD_WAIT_MAX_EVENTS events
 * * -EFAULT: the array cannot be accessed
 * * -ERESTARTSYS: a Linux signal
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
	xa_init(&w->named);
	w->n = args->num_events;
	w->all = args->wait_for_all;
	ret = wait_do(p, w, args);
	wait_end(p, w, ret == -ERESTARTSYS);
	kvfree(w);
	return ret;
}
