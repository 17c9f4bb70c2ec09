// SPDX-License-Identifier: GPL-2.0
/* Saves and restores the events of a checkpoint. */
#include <linux/slab.h>

#include "process/kfd_process.h"
#include "kfd_events.h"
#include "kfd_events_criu.h"
#include "kfd_events_priv.h"

static bool event_has_slot(u32 type)
{
	return type == KFD_IOC_EVENT_SIGNAL || type == KFD_IOC_EVENT_DEBUG_EVENT;
}

/**
 * kfd_events_criu_count() - number of a process's events
 * @p: process; kfd_process.mutex is held
 *
 * DESTROY_EVENT does not take kfd_process.mutex, so events may be destroyed during and after the
 * call.
 *
 * Return: the number of events; it may be outdated when the caller reads it.
 */
u32 kfd_events_criu_count(struct kfd_process *p)
{
	struct kfd_event *ev;
	unsigned long id;
	u32 n = 0;

	/* DESTROY_EVENT may free an event during the loop, so the loop does not dereference @ev. */
	xa_for_each(&p->events->all, id, ev)
		n++;
	return n;
}

/* The caller holds the lock of kfd_events.all. */
static void event_save(const struct kfd_event *ev, struct kfd_saved_event *s)
{
	s->id = ev->id;
	s->type = ev->type;
	s->flags = (ev->auto_reset ? KFD_SAVED_EVENT_AUTO_RESET : 0) |
		   (ev->signaled ? KFD_SAVED_EVENT_SIGNALED : 0);
	s->age = ev->age;
	if (ev->type == KFD_IOC_EVENT_MEMORY)
		s->memory = ev->memory;
	else if (ev->type == KFD_IOC_EVENT_HW_EXCEPTION)
		s->hw = ev->hw;
}

/**
 * kfd_events_criu_save() - describe a process's events for a checkpoint
 * @p: process; kfd_process.mutex is held
 * @events: array of @n entries; receives the events
 * @n: from kfd_events_criu_count()
 *
 * Return: 0, or -EINVAL if the process does not have @n events.
 */
int kfd_events_criu_save(struct kfd_process *p, struct kfd_saved_event *events,
			 u32 n)
{
	struct xarray *all = &p->events->all;
	struct kfd_event *ev;
	unsigned long id;
	u32 i = 0;

	/* Signal the events of signalled slots, so that the saved events include these signals. */
	kfd_events_scan(p);
	xa_for_each(all, id, ev) {
		if (i == n)
			return -EINVAL;
		xa_lock(all);
		ev = xa_load(all, id);
		if (ev)
			event_save(ev, &events[i++]);
		xa_unlock(all);
	}
	return i == n ? 0 : -EINVAL;
}

static bool event_ok(const struct kfd_saved_event *s)
{
	if (s->type > KFD_IOC_EVENT_MEMORY ||
	    s->flags & ~KFD_SAVED_EVENT_FLAGS || s->pad)
		return false;
	if (event_has_slot(s->type))
		return s->id && s->id < KFD_SIGNAL_EVENT_LIMIT;
	return s->id >= KFD_SIGNAL_EVENT_LIMIT && s->id <= INT_MAX;
}

/**
 * kfd_events_criu_restore() - create an event of a checkpoint
 * @p: process; kfd_process.mutex is held
 * @s: the event; @s comes from user space, and the function checks it
 *
 * Return: 0; -EINVAL if @s is not valid; -ENOSPC if the id is taken; -ENOMEM.
 */
int kfd_events_criu_restore(struct kfd_process *p,
			    const struct kfd_saved_event *s)
{
	struct kfd_event *ev;
	int ret;

	if (!event_ok(s))
		return -EINVAL;
	ev = kzalloc(sizeof(*ev), GFP_KERNEL_ACCOUNT);
	if (!ev)
		return -ENOMEM;
	ev->id = s->id;
	ev->type = s->type;
	ev->auto_reset = s->flags & KFD_SAVED_EVENT_AUTO_RESET;
	ev->signaled = s->flags & KFD_SAVED_EVENT_SIGNALED;
	ev->age = s->age;
	if (s->type == KFD_IOC_EVENT_MEMORY)
		ev->memory = s->memory;
	else if (s->type == KFD_IOC_EVENT_HW_EXCEPTION)
		ev->hw = s->hw;
	INIT_LIST_HEAD(&ev->waits);
	ret = xa_insert(&p->events->all, ev->id, ev, GFP_KERNEL);
	if (ret) {
		kfree(ev);
		return ret == -EBUSY ? -ENOSPC : ret;
	}
	return 0;
}

/**
 * kfd_events_criu_drop() - destroy all events of a process
 * @p: process whose restore has failed; kfd_process.mutex is held
 */
void kfd_events_criu_drop(struct kfd_process *p)
{
	struct xarray *all = &p->events->all;
	struct kfd_event *ev;
	unsigned long id;

	xa_for_each(all, id, ev) {
		xa_lock(all);
		ev = __xa_erase(all, id);
		if (ev)
			kfd_event_abandon(ev);
		xa_unlock(all);
		kfree(ev);
	}
}
