// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Events of KFD, set by ioctls, interrupts and faults. Catches: a wake-up is lost or consumed
 * twice; an interrupt sets the wrong event or none; a signal page can be freed while the kernel
 * uses it; an errno is wrong.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vgpu/sdma_packets.h>

#include "tap.h"

#define SLOTS		KFD_SIGNAL_EVENT_LIMIT
#define PAGE_BYTES	(SLOTS * 8ul)
#define UNSIGNALED	(~0ull)
#define FOREVER		(~0u)
#define SOON		20u	/* length in ms of a wait that must time out */
#define EVENTS_OFFSET	(1ull << 63)

static struct vg vg;
static struct vg_gpu *gpu;

static void start(void)
{
	tap_open(&vg, 1);
	gpu = &vg.gpu[0];
}

/**
 * struct ev - an event
 * @id: event ID of KFD
 * @slot: slot in the signal page, for signal events
 */
struct ev {
	uint32_t id, slot;
};

static int create(uint32_t type, bool auto_reset, uint64_t page, struct ev *ev)
{
	struct kfd_ioctl_create_event_args args = {
		.event_page_offset = page,
		.event_type = type,
		.auto_reset = auto_reset,
	};
	int r = vg_ioctl(&vg, AMDKFD_IOC_CREATE_EVENT, &args);

	if (r)
		return r;
	CHECK(args.event_trigger_data == args.event_id, "trigger data %u of %u",
	      args.event_trigger_data, args.event_id);
	if (type == KFD_IOC_EVENT_SIGNAL)
		CHECK(args.event_page_offset, "no event page");
	*ev = (struct ev){ args.event_id, args.event_slot_index };
	return 0;
}

static struct ev make(uint32_t type, bool auto_reset)
{
	struct ev ev;

	ERRNO(0, create(type, auto_reset, 0, &ev));
	return ev;
}

static int set(struct ev ev)
{
	struct kfd_ioctl_set_event_args args = { .event_id = ev.id };

	return vg_ioctl(&vg, AMDKFD_IOC_SET_EVENT, &args);
}

static int reset(struct ev ev)
{
	struct kfd_ioctl_reset_event_args args = { .event_id = ev.id };

	return vg_ioctl(&vg, AMDKFD_IOC_RESET_EVENT, &args);
}

static int destroy(struct ev ev)
{
	struct kfd_ioctl_destroy_event_args args = { .event_id = ev.id };

	return vg_ioctl(&vg, AMDKFD_IOC_DESTROY_EVENT, &args);
}

/*
 * Wait for @n events. Return 0 or -errno of WAIT_EVENTS, and store the ioctl's wait_result in
 * *@result.
 */
static int wait_on(struct kfd_event_data *data, uint32_t n, bool all,
		   uint32_t ms, uint32_t *result)
{
	struct kfd_ioctl_wait_events_args args = {
		.events_ptr = (uintptr_t)data,
		.num_events = n,
		.wait_for_all = all,
		.timeout = ms,
		.wait_result = 99,
	};
	int r = vg_ioctl(&vg, AMDKFD_IOC_WAIT_EVENTS, &args);

	*result = args.wait_result;
	return r;
}

/* Return true if the event is set within @ms. */
static bool happens(struct ev ev, uint32_t ms)
{
	struct kfd_event_data data = { .event_id = ev.id };
	uint32_t result;

	ERRNO(0, wait_on(&data, 1, true, ms, &result));
	CHECK(result == KFD_IOC_WAIT_RESULT_COMPLETE ||
	      result == KFD_IOC_WAIT_RESULT_TIMEOUT, "result %u", result);
	return result == KFD_IOC_WAIT_RESULT_COMPLETE;
}

static void by_cpu(void)
{
	struct ev manual, self;

	start();
	manual = make(KFD_IOC_EVENT_SIGNAL, false);
	self = make(KFD_IOC_EVENT_SIGNAL, true);
	CHECK(manual.id != self.id && manual.slot != self.slot,
	      "two events are one");
	CHECK(!happens(manual, 0), "a new event has happened");
	CHECK(!happens(manual, SOON), "a new event has happened");
	ERRNO(0, set(manual));
	CHECK(happens(manual, 0) && happens(manual, FOREVER),
	      "a set event has not happened");
	ERRNO(0, reset(manual));
	CHECK(!happens(manual, 0), "a reset event has happened");
	ERRNO(0, set(self));
	ERRNO(0, set(self));
	CHECK(happens(self, FOREVER), "a set event has not happened");
	CHECK(!happens(self, 0), "an event did not reset itself");
	CHECK(!happens(manual, 0), "the wrong event has happened");
	ERRNO(0, destroy(manual));
	ERRNO(EINVAL, destroy(manual));
	ERRNO(EINVAL, set(manual));
	ERRNO(EINVAL, reset(manual));
	ERRNO(0, destroy(self));
}

static void any_all(void)
{
	struct kfd_event_data data[3] = { 0 };
	struct ev ev[3];
	uint32_t i, result;

	start();
	for (i = 0; i < 3; i++) {
		ev[i] = make(KFD_IOC_EVENT_SIGNAL, true);
		data[i].event_id = ev[i].id;
	}
	ERRNO(0, set(ev[1]));
	ERRNO(0, wait_on(data, 3, true, SOON, &result));
	CHECK(result == KFD_IOC_WAIT_RESULT_TIMEOUT, "result %u", result);
	/*
	 * The wait for all three events timed out but consumed event 1. During the next wait, for
	 * any event, only event 2 is set.
	 */
	ERRNO(0, set(ev[2]));
	ERRNO(0, wait_on(data, 3, false, FOREVER, &result));
	CHECK(result == KFD_IOC_WAIT_RESULT_COMPLETE, "result %u", result);
	for (i = 0; i < 3; i++)
		ERRNO(0, set(ev[i]));
	ERRNO(0, wait_on(data, 3, true, FOREVER, &result));
	CHECK(result == KFD_IOC_WAIT_RESULT_COMPLETE, "result %u", result);
	for (i = 0; i < 3; i++)
		CHECK(!happens(ev[i], 0), "event %u was not taken", i);
	ERRNO(0, wait_on(NULL, 0, true, FOREVER, &result));
	CHECK(result == KFD_IOC_WAIT_RESULT_COMPLETE, "result %u", result);
}

/*
 * WAIT_EVENTS must not block if the event was set since the wait that returned last_event_age, even
 * if another wait consumed the event.
 */
static void ages(void)
{
	struct kfd_event_data data = { 0 };
	struct ev ev;
	uint32_t result;

	start();
	ev = make(KFD_IOC_EVENT_SIGNAL, true);
	data.event_id = ev.id;
	data.signal_event_data.last_event_age = 1;
	ERRNO(0, wait_on(&data, 1, true, SOON, &result));
	CHECK(result == KFD_IOC_WAIT_RESULT_TIMEOUT, "result %u", result);
	ERRNO(0, set(ev));
	CHECK(happens(ev, 0), "it has not happened");
	/*
	 * happens() has consumed the event. But the event's age must have changed, so a wait with
	 * the old age must complete at once.
	 */
	ERRNO(0, wait_on(&data, 1, true, FOREVER, &result));
	CHECK(result == KFD_IOC_WAIT_RESULT_COMPLETE, "result %u", result);
	CHECK(data.signal_event_data.last_event_age == 2, "age %lu",
	      (unsigned long)data.signal_event_data.last_event_age);
	ERRNO(0, wait_on(&data, 1, true, SOON, &result));
	CHECK(result == KFD_IOC_WAIT_RESULT_TIMEOUT, "result %u", result);
}

/**
 * struct waiter - a thread that waits for an event
 * @result: KFD_IOC_WAIT_RESULT_* of the wait
 * @r: 0 or -errno of WAIT_EVENTS
 */
struct waiter {
	pthread_t thread;
	struct ev ev;
	uint32_t result;
	int r;
};

static void *waiter_run(void *arg)
{
	struct waiter *w = arg;
	struct kfd_event_data data = { .event_id = w->ev.id };

	w->r = wait_on(&data, 1, true, FOREVER, &w->result);
	return NULL;
}

static void waiter_start(struct waiter *w, struct ev ev)
{
	w->ev = ev;
	CHECK(!pthread_create(&w->thread, NULL, waiter_run, w), "no thread");
}

/* Two threads pass a token. Catches: a wake-up is lost or delivered twice. */
static void *pong(void *arg)
{
	const struct ev *ev = arg;
	int i;

	for (i = 0; i < 500; i++)
		if (!happens(ev[0], FOREVER) || set(ev[1]))
			return arg;
	return NULL;
}

static void ping_pong(void)
{
	pthread_t thread;
	struct ev ev[2];
	void *failed;
	int i;

	start();
	ev[0] = make(KFD_IOC_EVENT_SIGNAL, true);
	ev[1] = make(KFD_IOC_EVENT_SIGNAL, true);
	CHECK(!pthread_create(&thread, NULL, pong, ev), "no thread");
	for (i = 0; i < 500; i++) {
		ERRNO(0, set(ev[0]));
		CHECK(happens(ev[1], VG_TIMEOUT_MS), "round %d: no answer", i);
	}
	pthread_join(thread, &failed);
	CHECK(!failed, "the other thread failed");
	CHECK(!happens(ev[0], 0) && !happens(ev[1], 0), "a token too many");
}

/* Destroy an event while threads wait for it. The wait of each thread must fail. */
static void destroyed(void)
{
	struct waiter w[4];
	struct ev ev;
	int i;

	start();
	ev = make(KFD_IOC_EVENT_SIGNAL, false);
	for (i = 0; i < 4; i++)
		waiter_start(&w[i], ev);
	sched_yield();
	ERRNO(0, destroy(ev));
	for (i = 0; i < 4; i++) {
		pthread_join(w[i].thread, NULL);
		/* The error is EINVAL if the wait began after the event was destroyed. */
		CHECK(w[i].r == -EIO || w[i].r == -EINVAL, "%d", w[i].r);
		CHECK(w[i].result == KFD_IOC_WAIT_RESULT_FAIL, "result %u",
		      w[i].result);
	}
}

/**
 * struct either - a thread that waits for one of two events
 * @ev: the events
 * @result: KFD_IOC_WAIT_RESULT_* of the wait
 * @r: 0 or -errno of WAIT_EVENTS
 */
struct either {
	struct ev ev[2];
	uint32_t result;
	int r;
};

static void *either_run(void *arg)
{
	struct either *e = arg;
	struct kfd_event_data data[2] = {
		{ .event_id = e->ev[0].id }, { .event_id = e->ev[1].id },
	};

	e->r = wait_on(data, 2, false, FOREVER, &e->result);
	return NULL;
}

/*
 * Set an event and destroy another one, without a sleep in between. The wrapper of ioctl()
 * (lib/delay_wrap.c) may sleep, so do not call it.
 */
static void set_and_destroy_at_once(struct ev to_set, struct ev to_destroy)
{
	struct kfd_ioctl_set_event_args set_args = { .event_id = to_set.id };
	struct kfd_ioctl_destroy_event_args destroy_args = { .event_id = to_destroy.id };
	long set_result, destroy_result;

	set_result = syscall(SYS_ioctl, vg.kfd, AMDKFD_IOC_SET_EVENT, &set_args);
	destroy_result = syscall(SYS_ioctl, vg.kfd, AMDKFD_IOC_DESTROY_EVENT, &destroy_args);
	CHECK(!set_result && !destroy_result, "%ld, %ld", set_result, destroy_result);
}

/*
 * Let a new thread wait for either of two events. Set event @n, destroy the other event, and return
 * 0 or -errno of the wait.
 */
static int set_and_destroy(int n)
{
	struct sched_param first = { .sched_priority = 2 }, second = { .sched_priority = 1 };
	struct sched_param normal = { 0 };
	pthread_t thread;
	struct either e;
	int i;

	for (i = 0; i < 2; i++)
		e.ev[i] = make(KFD_IOC_EVENT_SIGNAL, false);
	CHECK(!pthread_create(&thread, NULL, either_run, &e), "no thread");
	/*
	 * The new thread needs real-time priority, too: the kernel's fair server may run a thread
	 * of normal priority before a real-time thread.
	 */
	CHECK(!pthread_setschedparam(thread, SCHED_FIFO, &second), "priority");
	usleep(SOON * 1000);
	/* The new thread, on the same CPU, must not run between the two system calls. */
	CHECK(!sched_setscheduler(0, SCHED_FIFO, &first), "priority");
	set_and_destroy_at_once(e.ev[n], e.ev[!n]);
	CHECK(!sched_setscheduler(0, SCHED_OTHER, &normal), "priority");
	pthread_join(thread, NULL);
	CHECK(e.result == KFD_IOC_WAIT_RESULT_FAIL, "result %u", e.result);
	return e.r;
}

/*
 * A thread waits for either of two events. One event is set, then the other event is destroyed.
 * Catches: the errno of the wait differs from that of amdkfd.
 */
static void set_then_destroyed(void)
{
	cpu_set_t one;
	int r;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	CHECK(!sched_setaffinity(0, sizeof(one), &one), "CPU");
	start();
	/*
	 * amdkfd checks the events in the order of the array: event 0, which is set, ends the wait.
	 * Then amdkfd copies event data, and returns -EINVAL because event 1 is destroyed.
	 */
	r = set_and_destroy(0);
	CHECK(r == -EINVAL, "%d", r);
	r = set_and_destroy(1);
	/*
	 * Now event 0 is destroyed. amdkfd checks event 0 first and returns -EIO. If the wait
	 * begins too late, after the destroy, amdkfd returns -EINVAL instead.
	 */
	CHECK(r == -EIO || r == -EINVAL, "%d", r);
}

static volatile sig_atomic_t signals;

static void on_signal(int n)
{
	(void)n;
	signals++;
}

/*
 * Signals interrupt a wait: the handler must run, and the wait must continue until the event is
 * set. A later wait must last its whole time.
 */
static void interrupted(void)
{
	struct sigaction action = {
		.sa_handler = on_signal,
		.sa_flags = SA_RESTART,
	};
	struct waiter w;
	struct ev ev;
	uint64_t begin;
	int i;

	start();
	CHECK(!sigaction(SIGUSR1, &action, NULL), "sigaction");
	ev = make(KFD_IOC_EVENT_SIGNAL, true);
	waiter_start(&w, ev);
	for (i = 0; i < 20; i++) {
		pthread_kill(w.thread, SIGUSR1);
		while (signals <= i)
			sched_yield();
	}
	ERRNO(0, set(ev));
	pthread_join(w.thread, NULL);
	ERRNO(0, w.r);
	CHECK(w.result == KFD_IOC_WAIT_RESULT_COMPLETE, "result %u", w.result);
	CHECK(!happens(ev, 0), "it was not taken");
	begin = vg_now();
	CHECK(!happens(ev, 3 * SOON), "it has happened");
	CHECK(vg_now() - begin >= 3 * SOON * 1000000ull, "too short a wait");
}

/*
 * Use a GTT BO as the signal page, and create the first event. The driver must then set all slots
 * of the page to UNSIGNALED.
 */
static void page_create(struct vg_bo *page, struct ev *first)
{
	uint32_t i;

	OK(vg_bo_create(&vg, gpu, PAGE_BYTES, VG_GTT, page));
	memset(page->cpu, 0, PAGE_BYTES);
	ERRNO(0, create(KFD_IOC_EVENT_SIGNAL, true, page->handle, first));
	for (i = 0; i < SLOTS; i++)
		CHECK(((uint64_t *)page->cpu)[i] == UNSIGNALED, "slot %u", i);
}

/*
 * Emit the packets that signal @ev, as ROCr does: a write to the event's slot in the signal page,
 * and a TRAP with @context.
 */
static void emit_signal(struct vg_queue *q, const struct vg_bo *page,
			struct ev ev, uint32_t context)
{
	const uint32_t value[2] = { ev.id, 0 };
	uint32_t *p;

	OK(vg_emit_write(q, page->va + ev.slot * 8, value, 2));
	p = vg_queue_reserve(q, SDMA_TRAP_DWORDS);
	CHECK(p, "%s", vg_error());
	p[0] = SDMA_OP_TRAP;
	p[1] = context;
}

enum { ENGINES = 5 };

/*
 * Let each SDMA engine signal events. Catches: the driver expects an engine's interrupts from the
 * wrong interrupt client (IH_CLIENT_*), and so loses the engine's events.
 */
static void by_gpu(void)
{
	static struct ev ev[64];
	struct vg_queue q[ENGINES] = { 0 };
	struct vg_bo page = { 0 };
	unsigned int i, round;

	start();
	page_create(&page, &ev[0]);
	for (i = 1; i < 64; i++)
		ev[i] = make(KFD_IOC_EVENT_SIGNAL, true);
	for (i = 0; i < ENGINES; i++)
		OK(vg_queue_create_on(&vg, gpu, 4096,
				      KFD_IOC_QUEUE_TYPE_SDMA_BY_ENG_ID, i,
				      &q[i]));
	for (round = 0; round < 64; round++) {
		/*
		 * The driver must find the event by its slot, whatever id the TRAP's context has.
		 * (No event has the id 0xabcdef.)
		 */
		const uint32_t context[] = {
			ev[round].id, 0, ev[(round + 1) % 64].id, 0xabcdef,
		};

		emit_signal(&q[round % ENGINES], &page, ev[round],
			    context[round % 4]);
		vg_queue_submit(&q[round % ENGINES]);
		CHECK(happens(ev[round], VG_TIMEOUT_MS), "round %u: lost",
		      round);
		CHECK(((volatile uint64_t *)page.cpu)[ev[round].slot] ==
		      UNSIGNALED, "round %u: the slot stays set", round);
		for (i = 0; i < 64; i++)
			CHECK(!happens(ev[i], 0), "round %u: event %u, too",
			      round, i);
	}
	/* Send many interrupts without a wait between them: every event must be set. */
	for (i = 0; i < 2000; i++)
		emit_signal(&q[0], &page, ev[i % 64], i % 3 ? ev[i % 64].id : 0);
	vg_queue_submit(&q[0]);
	OK(vg_queue_finish(&q[0], VG_TIMEOUT_MS));
	for (i = 0; i < 64; i++)
		CHECK(happens(ev[i], VG_TIMEOUT_MS), "event %u: lost", i);
	for (i = 0; i < ENGINES; i++)
		OK(vg_queue_destroy(&q[i]));
}

/*
 * CREATE_EVENT must refuse a BO that cannot be the signal page, and a second signal page.
 * FREE_MEMORY_OF_GPU must refuse the signal page, even after the page was unmapped from the GPU.
 */
static void page_rules(void)
{
	struct kfd_ioctl_free_memory_of_gpu_args args;
	struct vg_bo page = { 0 }, other = { 0 };
	struct ev ev;

	start();
	OK(vg_bo_create(&vg, gpu, PAGE_BYTES / 2, VG_GTT, &other));
	ERRNO(EINVAL, create(KFD_IOC_EVENT_SIGNAL, true, other.handle, &ev));
	OK(vg_bo_free(&other));
	OK(vg_bo_create(&vg, gpu, PAGE_BYTES, VG_VRAM, &other));
	ERRNO(EINVAL, create(KFD_IOC_EVENT_SIGNAL, true, other.handle, &ev));
	ERRNO(EINVAL, create(KFD_IOC_EVENT_SIGNAL, true, 12345, &ev));
	page_create(&page, &ev);
	ERRNO(EINVAL, create(KFD_IOC_EVENT_SIGNAL, true, page.handle, &ev));
	args.handle = page.handle;
	ERRNO(EPERM, vg_ioctl(&vg, AMDKFD_IOC_FREE_MEMORY_OF_GPU, &args));
	OK(vg_bo_unmap_gpu(&page));
	ERRNO(EPERM, vg_ioctl(&vg, AMDKFD_IOC_FREE_MEMORY_OF_GPU, &args));
	/*
	 * The process uses a BO as its signal page. So the kernel has allocated no signal page, and
	 * mmap() must fail.
	 */
	CHECK(mmap(NULL, PAGE_BYTES, PROT_READ, MAP_SHARED, vg.kfd,
		   (off_t)EVENTS_OFFSET) == MAP_FAILED && errno == EINVAL,
	      "mmap of the event page: %m");
}

static int page_fd;

static void import_page(void *arg)
{
	struct kfd_ioctl_import_dmabuf_args in = { .dmabuf_fd = page_fd };
	struct ev ev;

	(void)arg;
	start();
	in.gpu_id = gpu->gpu_id;
	ERRNO(0, vg_ioctl(&vg, AMDKFD_IOC_IMPORT_DMABUF, &in));
	ERRNO(EINVAL, create(KFD_IOC_EVENT_SIGNAL, true, in.handle, &ev));
	/*
	 * After the rejected call, the process must have no signal page. So this call, which names
	 * no BO, must make the kernel allocate a page.
	 */
	ERRNO(0, create(KFD_IOC_EVENT_SIGNAL, true, 0, &ev));
	ERRNO(0, set(ev));
	CHECK(happens(ev, 0), "it has not happened");
}

/*
 * Catches: a process can use the signal page of another process as its own, and overwrites the
 * slots of that process.
 */
static void foreign_page(void)
{
	struct kfd_ioctl_export_dmabuf_args out = { .flags = O_CLOEXEC };
	struct vg_queue q = { 0 };
	struct vg_bo page = { 0 };
	struct ev ev;

	start();
	page_create(&page, &ev);
	OK(vg_queue_create(&vg, gpu, 4096, &q));
	out.handle = page.handle;
	ERRNO(0, vg_ioctl(&vg, AMDKFD_IOC_EXPORT_DMABUF, &out));
	page_fd = (int)out.dmabuf_fd;
	tap_in_child(import_page, NULL);
	emit_signal(&q, &page, ev, ev.id);
	vg_queue_submit(&q);
	CHECK(happens(ev, VG_TIMEOUT_MS), "the event of the page's owner is lost");
	close(page_fd);
	OK(vg_queue_destroy(&q));
}

/* The kernel must allocate a signal page if user space passes none. */
static void kernel_page(void)
{
	uint64_t *slots;
	struct ev ev;

	start();
	CHECK(mmap(NULL, PAGE_BYTES, PROT_READ, MAP_SHARED, vg.kfd,
		   (off_t)EVENTS_OFFSET) == MAP_FAILED && errno == EINVAL,
	      "mmap before there is an event: %m");
	ev = make(KFD_IOC_EVENT_SIGNAL, true);
	CHECK(mmap(NULL, 2 * PAGE_BYTES, PROT_READ, MAP_SHARED, vg.kfd,
		   (off_t)EVENTS_OFFSET) == MAP_FAILED && errno == EINVAL,
	      "mmap of too much: %m");
	slots = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
		     vg.kfd, (off_t)EVENTS_OFFSET);
	CHECK(slots != MAP_FAILED, "mmap of the event page: %m");
	CHECK(slots[0] == UNSIGNALED && slots[SLOTS - 1] == UNSIGNALED,
	      "the page is not empty");
	slots[ev.slot] = 1;
	ERRNO(0, set(ev));
	CHECK(happens(ev, 0), "it has not happened");
}

static void limits(void)
{
	struct ev ev, last;
	uint32_t n, result;

	start();
	for (n = 0; !create(KFD_IOC_EVENT_SIGNAL, false, 0, &ev); n++)
		last = ev;
	CHECK(n == SLOTS - 1, "%u events", n);
	ERRNO(ENOSPC, create(KFD_IOC_EVENT_SIGNAL, false, 0, &ev));
	ERRNO(ENOSPC, create(KFD_IOC_EVENT_DEBUG_EVENT, false, 0, &ev));
	ERRNO(0, create(KFD_IOC_EVENT_MEMORY, false, 0, &ev));
	ERRNO(EINVAL, set(ev));
	ERRNO(EINVAL, reset(ev));
	ERRNO(0, destroy(last));
	ERRNO(0, create(KFD_IOC_EVENT_SIGNAL, false, 0, &ev));
	CHECK(ev.id == last.id, "id %u, not %u", ev.id, last.id);
	ERRNO(EINVAL, create(KFD_IOC_EVENT_MEMORY + 1, false, 0, &ev));
	ERRNO(EINVAL, create(~0u, false, 0, &ev));
	ERRNO(ENOMEM, wait_on(NULL, ~0u, true, 0, &result));
	ERRNO(EFAULT, wait_on((void *)8, 1, true, 0, &result));
	ERRNO(EFAULT, wait_on(NULL, 4, true, 0, &result));
	ev.id = 0;
	ERRNO(EINVAL, set(ev));
	ev.id = ~0u;
	ERRNO(EINVAL, set(ev));
}

/*
 * A fault that the driver cannot repair must set the memory event, whose data must have the
 * address of the fault.
 */
static void memory_exception(void)
{
	struct kfd_event_data data = { 0 };
	struct vg_queue q = { 0 };
	uint64_t va = 0x123456789000;
	uint32_t result;
	struct ev ev;

	tap_open(&vg, 0);
	gpu = &vg.gpu[0];
	ev = make(KFD_IOC_EVENT_MEMORY, false);
	CHECK(!happens(ev, 0), "it has happened");
	OK(vg_queue_create(&vg, gpu, 4096, &q));
	OK(vg_emit_fill(&q, va, 1, 4096));
	vg_queue_submit(&q);
	data.event_id = ev.id;
	ERRNO(0, wait_on(&data, 1, true, VG_TIMEOUT_MS, &result));
	CHECK(result == KFD_IOC_WAIT_RESULT_COMPLETE, "result %u", result);
	CHECK(data.memory_exception_data.va == va, "va 0x%llx",
	      (unsigned long long)data.memory_exception_data.va);
	CHECK(data.memory_exception_data.gpu_id == gpu->gpu_id, "gpu %u",
	      data.memory_exception_data.gpu_id);
	CHECK(data.memory_exception_data.failure.NotPresent == 1 &&
	      data.memory_exception_data.failure.ReadOnly == 1 &&
	      !data.memory_exception_data.failure.NoExecute &&
	      !data.memory_exception_data.ErrorType, "what failed");
	OK(vg_queue_destroy(&q));
}

static void wait_and_die(void)
{
	struct waiter w;

	start();
	waiter_start(&w, make(KFD_IOC_EVENT_SIGNAL, false));
	sched_yield();
	raise(SIGKILL);
}

/*
 * Kill a process while one of its threads waits for an event. The process must end, and not hang.
 */
static void killed(void)
{
	int i, status;
	pid_t pid;

	for (i = 0; i < tap_rounds(5, 100); i++) {
		pid = fork();
		CHECK(pid >= 0, "fork");
		if (!pid)
			wait_and_die();
		CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) &&
		      WTERMSIG(status) == SIGKILL, "status %x", status);
	}
}

/* Unbind the GPU while a thread waits: the wait must fail, and the unbind must complete. */
static void taken_away(void)
{
	char name[VG_PCI_NAME];
	struct waiter w;

	start();
	OK(vg_pci_name(gpu, name));
	waiter_start(&w, make(KFD_IOC_EVENT_SIGNAL, false));
	sched_yield();
	OK(vg_pci_unbind(name));
	pthread_join(w.thread, NULL);
	CHECK(w.r == -EIO || w.r == -ENODEV, "%d", w.r);
	OK(vg_pci_bind(name));
}

static const struct tap_case cases[] = {
	{ "set and reset by the CPU", by_cpu, 1 },
	{ "any and all", any_all, 1 },
	{ "ages", ages, 1 },
	{ "two threads and two events", ping_pong, 1 },
	{ "destroyed under those who wait", destroyed, 1 },
	{ "set and destroyed under those who wait", set_then_destroyed, 1 },
	{ "signals interrupt a wait", interrupted, 1 },
	{ "signalled by SDMA", by_gpu, 1 },
	{ "the signal page", page_rules, 1 },
	{ "the signal page of another process", foreign_page, 1 },
	{ "the kernel's page", kernel_page, 1 },
	{ "limits and bad input", limits, 1 },
	{ "a memory exception", memory_exception, 1 },
	{ "killed while waiting", killed, 1 },
	{ "the GPU goes while somebody waits", taken_away, 1 },
};

int main(int argc, char **argv)
{
	return tap_main(TAP_CASES(cases), argc, argv);
}
