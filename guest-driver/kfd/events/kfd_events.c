// SPDX-License-Identifier: GPL-2.0
/*
 * Events of a process. To signal a SIGNAL or DEBUG_EVENT event, the GPU writes the event's 64-bit
 * slot in the signal page and raises an interrupt.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <drm/amdgpu_drm.h>

#include <kunit/static_stub.h>
#include <kunit/visibility.h>

#include "mm/vgpu_bo.h"
#include "process/kfd_mem.h"
#include "process/kfd_process.h"
#include "process/kfd_uapi.h"
#include "kfd_events.h"
#include "kfd_events_priv.h"

/* No event has the id 0, because packets without an event id raise interrupts with the id 0. */
#define KFD_SIGNAL_IDS	XA_LIMIT(1, KFD_SIGNAL_EVENT_LIMIT - 1)
#define KFD_OTHER_IDS	XA_LIMIT(KFD_SIGNAL_EVENT_LIMIT, INT_MAX)
/*
 * Largest number of WAIT_EVENTS calls that the interrupt handler wakes. If more calls wait for an
 * event, scan_work signals the event.
 */
#define KFD_WAKE_AT_ONCE	64u

/* Return true if the GPU has written the slot. The GPU may write a slot at any time. */
static bool slot_signaled(const u64 *slots, u32 id)
{
	return READ_ONCE(slots[id]) != KFD_EVENT_UNSIGNALED;
}

/*
 * If the GPU has written slot @id, and event @id exists, reset the slot, signal the event, and
 * return true. The lock of kfd_events.all is held.
 */
static bool signal_slot(struct kfd_events *events, u64 *slots, u32 id)
{
	struct kfd_event *ev;

	if (!slot_signaled(slots, id))
		return false;
	ev = xa_load(&events->all, id);
	if (!ev)
		return false;
	WRITE_ONCE(slots[id], KFD_EVENT_UNSIGNALED);
	kfd_event_set(ev);
	return true;
}

static void scan_slots(struct kfd_events *events)
{
	/* Pairs with smp_store_release() in events_set_page(). */
	u64 *slots = smp_load_acquire(&events->signal_page);
	u32 id;

	for (id = 1; id < KFD_SIGNAL_EVENT_LIMIT; id++) {
		if (!slot_signaled(slots, id))
			continue;
		xa_lock(&events->all);
		signal_slot(events, slots, id);
		xa_unlock(&events->all);
		cond_resched();
	}
}

static void scan_work(struct work_struct *work)
{
	scan_slots(container_of(work, struct kfd_events, scan_work));
}

/**
 * kfd_events_scan() - signal the events of all signalled slots
 * @p: process; its queues are off the hardware, so that the GPU writes no slot during the scan
 *
 * Context: kfd_process.mutex is held.
 */
void kfd_events_scan(struct kfd_process *p)
{
	/*
	 * No barrier is needed, because signal_page is set under kfd_process.mutex, which the
	 * caller holds.
	 */
	if (p->events->signal_page)
		scan_slots(p->events);
}

/**
 * kfd_events_scan_later() - queue a scan of all slots
 * @p: process with a signal page; the caller holds a reference to @p
 *
 * Context: any.
 */
void kfd_events_scan_later(struct kfd_process *p)
{
	/* Use an unbound workqueue, because a scan may wake any number of waiters and take long. */
	queue_work(system_unbound_wq, &p->events->scan_work);
}

/*
 * Signal an event in hard interrupt context. Return false if the caller must queue scan_work
 * instead.
 */
static bool signal_at_once(struct vgpu_device *vdev, struct kfd_events *events,
			   u64 *slots, u32 id)
{
	struct kfd_event *ev;
	bool done = false;

	/*
	 * Do not spin on the lock. The interrupt may have hit this CPU while it held the lock, and
	 * this CPU would then spin forever. Another CPU may hold the lock for a long time, because
	 * kfd_event_set() and kfd_event_abandon() wake all threads that wait for the
	 * event.
	 */
	if (!xa_trylock(&events->all))
		return false;
	ev = xa_load(&events->all, id);
	if (ev && ev->n_waits > KFD_WAKE_AT_ONCE)
		vgpu_stat_add(vdev, VGPU_STAT_EVENTS_DEFERRED, 1);
	else
		done = signal_slot(events, slots, id);
	xa_unlock(&events->all);
	return done;
}

/**
 * kfd_events_interrupt_process() - signal the event that an interrupt names
 * @vdev: GPU that raised the interrupt
 * @p: process; the caller holds a reference
 * @id: event id of the interrupt
 *
 * Queues a scan of all slots unless signal_at_once() signals event @id. Does nothing if @p has no
 * signal page.
 *
 * Context: hard interrupt. Takes bounded time.
 */
void kfd_events_interrupt_process(struct vgpu_device *vdev,
				  struct kfd_process *p, u32 id)
{
	/* Pairs with smp_store_release() in events_set_page(). */
	u64 *slots = smp_load_acquire(&p->events->signal_page);
	bool done = false;

	if (!slots)
		return;
	if (id && id < KFD_SIGNAL_EVENT_LIMIT)
		done = signal_at_once(vdev, p->events, slots, id);
	if (!done)
		kfd_events_scan_later(p);
}
EXPORT_SYMBOL_IF_KUNIT(kfd_events_interrupt_process);

/**
 * kfd_events_interrupt() - call kfd_events_interrupt_process() for the process with PASID @pasid
 * @vdev: GPU that raised the interrupt
 * @pasid: PASID of the interrupt
 * @id: event id of the interrupt
 *
 * Does nothing if no process has this PASID.
 *
 * Context: hard interrupt. Takes bounded time.
 */
void kfd_events_interrupt(struct vgpu_device *vdev, u16 pasid, u32 id)
{
	struct kfd_process *p = kfd_lookup_process_by_pasid(pasid);

	if (!p)
		return;
	kfd_events_interrupt_process(vdev, p, id);
	kfd_unref_process(p);
}

/*
 * Signal @ev with the data of the report @news, if @ev and @news have the same type. The lock of
 * kfd_events.all is held.
 */
static void event_report(struct kfd_event *ev, const struct kfd_event *news)
{
	if (ev->type != news->type)
		return;
	if (ev->type == KFD_IOC_EVENT_MEMORY)
		ev->memory = news->memory;
	else
		ev->hw = news->hw;
	kfd_event_set(ev);
}

/*
 * Signal all events of @news's type with the data of @news. Drop the lock of kfd_events.all after
 * each event, because a process may have any number of events.
 */
static void events_report(struct kfd_process *p, const struct kfd_event *news)
{
	struct xarray *all = &p->events->all;
	struct kfd_event *ev;
	unsigned long id;

	xa_for_each_start(all, id, ev, KFD_SIGNAL_EVENT_LIMIT) {
		xa_lock(all);
		ev = xa_load(all, id);
		if (ev)
			event_report(ev, news);
		xa_unlock(all);
	}
}

/**
 * kfd_events_fill_memory() - describe a memory fault for MEMORY events
 * @pdd: state of the process on the GPU
 * @va: address of the access
 * @not_present: the page-table entry was not valid
 * @write: the access was a write
 * @data: set to the description, for kfd_events_memory()
 *
 * Context: any.
 */
void kfd_events_fill_memory(struct kfd_process_device *pdd, u64 va,
			    bool not_present, bool write,
			    struct kfd_hsa_memory_exception_data *data)
{
	*data = (struct kfd_hsa_memory_exception_data) {
		.failure.NotPresent = not_present,
		.failure.ReadOnly = write,
		.va = va,
		.gpu_id = pdd->gpu_id,
	};
}

/**
 * kfd_events_memory() - signal the MEMORY events of a process
 * @pdd: state of the process on the GPU
 * @data: description of the fault
 *
 * Context: process context; spinlocks may be held.
 */
void kfd_events_memory(struct kfd_process_device *pdd,
		       const struct kfd_hsa_memory_exception_data *data)
{
	const struct kfd_event news = {
		.type = KFD_IOC_EVENT_MEMORY,
		.memory = *data,
	};

	events_report(pdd->process, &news);
}

/**
 * kfd_events_memory_exception() - signal MEMORY events after a fault that was not repaired
 * @pdd: state of the process on the GPU
 * @va: address of the access
 * @not_present: the page-table entry was not valid
 * @write: the access was a write
 *
 * Context: process context; spinlocks may be held.
 */
void kfd_events_memory_exception(struct kfd_process_device *pdd, u64 va,
				 bool not_present, bool write)
{
	struct kfd_hsa_memory_exception_data data;

	kfd_events_fill_memory(pdd, va, not_present, write, &data);
	kfd_events_memory(pdd, &data);
}

/**
 * kfd_events_reset() - signal HW_EXCEPTION events after a reset or a bad packet
 * @pdd: state of the process on the GPU
 * @engine: true if an engine was reset, or if a packet was bad and nothing was reset; false if the
 *          whole GPU was reset
 * @memory_lost: the process has lost VRAM
 *
 * Context: process context; spinlocks may be held.
 */
void kfd_events_reset(struct kfd_process_device *pdd, bool engine,
		      bool memory_lost)
{
	const struct kfd_event news = {
		.type = KFD_IOC_EVENT_HW_EXCEPTION,
		.hw = {
			.reset_type = engine ?
				KFD_HW_EXCEPTION_PER_ENGINE_RESET :
				KFD_HW_EXCEPTION_WHOLE_GPU_RESET,
			.reset_cause = KFD_HW_EXCEPTION_GPU_HANG,
			.memory_lost = memory_lost,
			.gpu_id = pdd->gpu_id,
		},
	};

	events_report(pdd->process, &news);
}

/**
 * kfd_events_poison() - signal events after a read of memory with an uncorrectable error
 * @pdd: state of the process on the GPU
 *
 * MEMORY events report POISON_CONSUMED, HW_EXCEPTION events report ECC.
 *
 * Context: process context; spinlocks may be held.
 */
void kfd_events_poison(struct kfd_process_device *pdd)
{
	const struct kfd_event memory = {
		.type = KFD_IOC_EVENT_MEMORY,
		.memory = {
			.failure.imprecise = 1,
			.gpu_id = pdd->gpu_id,
			.ErrorType = KFD_MEM_ERR_POISON_CONSUMED,
		},
	};
	const struct kfd_event hw = {
		.type = KFD_IOC_EVENT_HW_EXCEPTION,
		.hw = {
			.reset_type = KFD_HW_EXCEPTION_WHOLE_GPU_RESET,
			.reset_cause = KFD_HW_EXCEPTION_ECC,
			.memory_lost = 1,
			.gpu_id = pdd->gpu_id,
		},
	};

	events_report(pdd->process, &memory);
	events_report(pdd->process, &hw);
}

/*
 * Initialise @slots and publish it as the signal page, for interrupt handlers to use. The caller
 * holds kfd_process.mutex.
 */
static void events_set_page(struct kfd_events *events, u64 *slots)
{
	memset(slots, 0xff, KFD_EVENT_PAGE_BYTES);
	/*
	 * Pairs with smp_load_acquire() in scan_slots(), kfd_events_interrupt_process() and
	 * kfd_events_mmap().
	 */
	smp_store_release(&events->signal_page, slots);
}

/**
 * kfd_events_take_page() - use memory of user space as the signal page
 * @p: process
 * @handle: handle of GTT memory that @p has allocated
 *
 * Refuses imported memory, which another process may use as a signal page.
 *
 * Context: kfd_process.mutex is held. Takes the BO's reservation.
 *
 * Return: 0, -ENOMEM, -ERESTARTSYS or:
 *
 * * -EINVAL: @p has a signal page already
 * * -EINVAL: @p has no memory with this handle
 * * -EINVAL: the memory is userptr, imported, too small, or not in GTT
 */
int kfd_events_take_page(struct kfd_process *p, u64 handle)
{
	struct kgd_mem *mem;
	struct vgpu_bo *bo;
	void *slots;
	int ret;

	if (p->events->signal_page || !kfd_mem_by_handle(p, handle, &mem) || !mem)
		return -EINVAL;
	bo = mem->bo;
	if (mem->domain != AMDGPU_GEM_DOMAIN_GTT || bo->userptr ||
	    mem->is_imported || bo->tbo.base.size < KFD_EVENT_PAGE_BYTES)
		return -EINVAL;
	ret = ttm_bo_reserve(&bo->tbo, true, false, NULL);
	if (ret)
		return ret;
	ret = vgpu_bo_pin(bo, AMDGPU_GEM_DOMAIN_GTT);
	if (!ret) {
		slots = vgpu_bo_kmap(bo);
		ret = PTR_ERR_OR_ZERO(slots);
		if (ret)
			vgpu_bo_unpin(bo);
	}
	ttm_bo_unreserve(&bo->tbo);
	if (ret)
		return ret;
	drm_gem_object_get(&bo->tbo.base);
	p->events->signal_bo = bo;
	p->events->signal_handle = handle;
	events_set_page(p->events, slots);
	return 0;
}

/**
 * kfd_events_make_page() - allocate a signal page in kernel memory if the process has none
 * @p: process
 *
 * User space may map the page with kfd_events_mmap(). The GPU has no mapping of the page.
 *
 * Context: kfd_process.mutex is held.
 *
 * Return: 0 or -ENOMEM.
 */
int kfd_events_make_page(struct kfd_process *p)
{
	u64 *slots;

	if (p->events->signal_page)
		return 0;
	slots = vmalloc_user(KFD_EVENT_PAGE_BYTES);
	if (!slots)
		return -ENOMEM;
	events_set_page(p->events, slots);
	return 0;
}

/**
 * kfd_events_has_page() - whether a process has a signal page
 * @p: process; kfd_process.mutex is held
 *
 * Return: true after kfd_events_take_page() or kfd_events_make_page() has succeeded; a process
 * never loses its signal page.
 */
bool kfd_events_has_page(const struct kfd_process *p)
{
	return p->events->signal_page;
}

/**
 * kfd_events_user_page() - look up the signal page that user space has allocated
 * @p: process; kfd_process.mutex is held
 * @handle: set to the handle of the signal page's memory
 *
 * Return: true if user space allocated the signal page; false if the kernel did, or if @p has no
 * signal page.
 */
bool kfd_events_user_page(const struct kfd_process *p, u64 *handle)
{
	if (!p->events->signal_bo)
		return false;
	*handle = p->events->signal_handle;
	return true;
}

/**
 * kfd_events_holds() - whether a handle refers to the process's signal page
 * @p: process; kfd_process.mutex is held
 * @handle: handle of the memory
 *
 * Return: true if user space allocated the signal page, and @handle is the handle of this memory.
 */
bool kfd_events_holds(const struct kfd_process *p, u64 handle)
{
	return p->events->signal_bo && p->events->signal_handle == handle;
}

/**
 * kfd_events_mmap() - map the signal page that the kernel has allocated
 * @p: process
 * @vma: mapping
 *
 * Context: mmap_lock is held.
 *
 * Return: 0; -EINVAL if the kernel has allocated no signal page, or @vma is too long; or an error
 * of remap_vmalloc_range().
 */
int kfd_events_mmap(struct kfd_process *p, struct vm_area_struct *vma)
{
	/* Pairs with smp_store_release() in events_set_page(). */
	u64 *slots = smp_load_acquire(&p->events->signal_page);

	if (!slots || p->events->signal_bo ||
	    vma->vm_end - vma->vm_start > PAGE_ALIGN(KFD_EVENT_PAGE_BYTES))
		return -EINVAL;
	vm_flags_set(vma, VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP);
	return remap_vmalloc_range(vma, slots, 0);
}

/**
 * kfd_event_publish() - allocate an event's id, and let lookups find the event
 * @p: process
 * @ev: event; as soon as @ev is published, another thread may destroy @ev
 * @limit: range from which the id is allocated
 * @id: set to the event's id
 *
 * Return: 0; -EBUSY if no id is free; -ENOMEM.
 */
int kfd_event_publish(struct kfd_process *p, struct kfd_event *ev,
		      struct xa_limit limit, u32 *id)
{
	int ret;

	KUNIT_STATIC_STUB_REDIRECT(kfd_event_publish, p, ev, limit, id);
	xa_lock(&p->events->all);
	ret = __xa_alloc(&p->events->all, &ev->id, ev, limit, GFP_KERNEL);
	*id = ev->id;
	xa_unlock(&p->events->all);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(kfd_event_publish);

/*
 * Create an event. The caller holds kfd_process.mutex. Returns 0, -ENOSPC if no id is free, or
 * -ENOMEM.
 */
static int event_add(struct kfd_process *p, u32 type, bool auto_reset, u32 *id)
{
	bool slot = type == KFD_IOC_EVENT_SIGNAL ||
		    type == KFD_IOC_EVENT_DEBUG_EVENT;
	struct kfd_event *ev;
	int ret = 0;

	if (slot)
		ret = kfd_events_make_page(p);
	if (ret)
		return ret;
	ev = kzalloc(sizeof(*ev), GFP_KERNEL_ACCOUNT);
	if (!ev)
		return -ENOMEM;
	ev->type = type;
	ev->auto_reset = auto_reset;
	ev->age = 1;
	INIT_LIST_HEAD(&ev->waits);
	ret = kfd_event_publish(p, ev, slot ? KFD_SIGNAL_IDS : KFD_OTHER_IDS,
				id);
	if (ret) {
		kfree(ev);
		return ret == -EBUSY ? -ENOSPC : ret;
	}
	return 0;
}

/**
 * kfd_ioctl_create_event() - AMDKFD_IOC_CREATE_EVENT
 * @p: process
 * @data: struct kfd_ioctl_create_event_args; event_page_offset is 0, or the handle of GTT memory
 *        for the signal page
 *
 * Context: no locks are held. Takes kfd_process.mutex.
 *
 * Return:
 * * 0, -ENOMEM or -ERESTARTSYS
 * * -EINVAL: unknown type, or kfd_events_take_page() refuses the memory
 * * -ENOSPC: no id is free
 */
int kfd_ioctl_create_event(struct kfd_process *p, void *data)
{
	struct kfd_ioctl_create_event_args *args = data;
	int ret = 0;
	u32 id;

	if (args->event_type > KFD_IOC_EVENT_MEMORY)
		return -EINVAL;
	mutex_lock(&p->mutex);
	if (args->event_page_offset)
		ret = kfd_events_take_page(p, args->event_page_offset);
	if (!ret)
		ret = event_add(p, args->event_type, args->auto_reset, &id);
	if (!ret) {
		args->event_id = id;
		args->event_trigger_data = id;
		if (id < KFD_SIGNAL_EVENT_LIMIT) {
			/* Offset for mmap() of a signal page that the kernel has allocated. */
			args->event_page_offset = KFD_MMAP_TYPE_EVENTS;
			args->event_slot_index = id;
		}
	}
	mutex_unlock(&p->mutex);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(kfd_ioctl_create_event);

/**
 * kfd_ioctl_destroy_event() - AMDKFD_IOC_DESTROY_EVENT
 * @p: process
 * @data: struct kfd_ioctl_destroy_event_args
 *
 * Calls that wait for the event fail, see kfd_ioctl_wait_events().
 *
 * Context: no locks are held.
 *
 * Return: 0, or -EINVAL if there is no such event.
 */
int kfd_ioctl_destroy_event(struct kfd_process *p, void *data)
{
	struct kfd_ioctl_destroy_event_args *args = data;
	struct kfd_event *ev;

	xa_lock(&p->events->all);
	ev = __xa_erase(&p->events->all, args->event_id);
	if (ev)
		kfd_event_abandon(ev);
	xa_unlock(&p->events->all);
	kfree(ev);
	return ev ? 0 : -EINVAL;
}
EXPORT_SYMBOL_IF_KUNIT(kfd_ioctl_destroy_event);

/*
 * Signal or reset an event from the CPU. Returns 0, or -EINVAL if @id is no event of type SIGNAL.
 */
static int event_change(struct kfd_process *p, u32 id, bool set)
{
	struct kfd_event *ev;
	int ret = -EINVAL;

	xa_lock(&p->events->all);
	ev = xa_load(&p->events->all, id);
	if (ev && ev->type == KFD_IOC_EVENT_SIGNAL) {
		if (set)
			kfd_event_set(ev);
		else
			ev->signaled = false;
		ret = 0;
	}
	xa_unlock(&p->events->all);
	return ret;
}

/**
 * kfd_events_signal() - signal an event of type SIGNAL
 * @p: process
 * @id: event id
 *
 * Context: process context; takes the lock of kfd_events.all.
 *
 * Return: 0, or -EINVAL if there is no such event.
 */
int kfd_events_signal(struct kfd_process *p, u32 id)
{
	return event_change(p, id, true);
}

/**
 * kfd_ioctl_set_event() - AMDKFD_IOC_SET_EVENT
 * @p: process
 * @data: struct kfd_ioctl_set_event_args
 *
 * Return: 0, or -EINVAL if event_id is no event of type SIGNAL.
 */
int kfd_ioctl_set_event(struct kfd_process *p, void *data)
{
	struct kfd_ioctl_set_event_args *args = data;

	return event_change(p, args->event_id, true);
}

/**
 * kfd_ioctl_reset_event() - AMDKFD_IOC_RESET_EVENT
 * @p: process
 * @data: struct kfd_ioctl_reset_event_args
 *
 * Return: 0, or -EINVAL if event_id is no event of type SIGNAL.
 */
int kfd_ioctl_reset_event(struct kfd_process *p, void *data)
{
	struct kfd_ioctl_reset_event_args *args = data;

	return event_change(p, args->event_id, false);
}

/**
 * kfd_events_init() - set up @p->events, with no event and no signal page
 * @p: process that is being created
 *
 * Return: 0 or -ENOMEM.
 */
int kfd_events_init(struct kfd_process *p)
{
	struct kfd_events *events = kzalloc(sizeof(*events), GFP_KERNEL);

	if (!events)
		return -ENOMEM;
	xa_init_flags(&events->all, XA_FLAGS_ALLOC1);
	INIT_WORK(&events->scan_work, scan_work);
	p->events = events;
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(kfd_events_init);

/**
 * kfd_events_close() - end all waits of a process that is being detached from KFD
 * @p: process
 *
 * Waiting and later calls of WAIT_EVENTS fail with -EIO. If an event is signalled meanwhile, a
 * waiting call may return 0 or -EINVAL instead (see wait_do()).
 *
 * Context: process context, also MMU notifiers.
 */
void kfd_events_close(struct kfd_process *p)
{
	struct kfd_event *ev;
	unsigned long id;

	xa_lock(&p->events->all);
	p->events->closed = true;
	xa_unlock(&p->events->all);
	xa_for_each(&p->events->all, id, ev) {
		xa_lock(&p->events->all);
		ev = xa_load(&p->events->all, id);
		if (ev)
			kfd_event_abandon(ev);
		xa_unlock(&p->events->all);
		cond_resched();
	}
}

/**
 * kfd_events_fini() - free a process's events
 * @p: process that is being freed, without queues and references. Either kfd_events_close() was
 *     called for the process, or the process was never in the hash table
 */
void kfd_events_fini(struct kfd_process *p)
{
	struct kfd_events *events = p->events;
	struct vgpu_bo *bo = events->signal_bo;
	struct kfd_event *ev;
	unsigned long id;

	/*
	 * The process cannot be looked up by PASID any more, so no interrupt handler queues
	 * scan_work again.
	 */
	cancel_work_sync(&events->scan_work);
	xa_for_each(&events->all, id, ev)
		kfree(ev);
	xa_destroy(&events->all);
	if (bo) {
		/*
		 * This call cannot fail, because the wait is not interruptible and uses no ww
		 * ticket.
		 */
		ttm_bo_reserve(&bo->tbo, false, false, NULL);
		vgpu_bo_kunmap(bo);
		vgpu_bo_unpin(bo);
		ttm_bo_unreserve(&bo->tbo);
		vgpu_bo_put(bo);
	} else {
		vfree(events->signal_page);
	}
	p->events = NULL;
	kfree(events);
}
EXPORT_SYMBOL_IF_KUNIT(kfd_events_fini);
