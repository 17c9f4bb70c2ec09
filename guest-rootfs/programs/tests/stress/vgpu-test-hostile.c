// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A hostile process tries to delay other processes, the interrupt handler and the removal of a GPU.
 * Catches: the driver holds a global lock during a wait that a process can prolong; an interrupt
 * handler walks a list of unlimited length.
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vgpu/sdma_packets.h>

#include "hold.h"
#include "tap.h"

#define FOREVER		(~0u)
#define SOON		20u	/* length in ms of a wait that must time out */
#define PAGE_BYTES	(KFD_SIGNAL_EVENT_LIMIT * 8ul)
/*
 * Number of waiting calls, more than the 64 that the driver wakes from its interrupt
 * handler.
 */
#define WAITERS		80
#define NAMES		65536u
#define SEED		0x4057

enum { BYTES = 1 << 20 };

static struct vg vg;
static struct vg_queue queue;
static struct vg_bo page;

/* Data that the processes and threads of a case share. */
static struct shared {
	struct vg_gpu gpu;
	volatile uint32_t go[3];
	volatile uint32_t reading;
	uint32_t here[3];
} *shared;

static int open_kfd(void)
{
	int fd = open("/dev/kfd", O_RDWR | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static pid_t start_child(void (*fn)(void))
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	CHECK(pid >= 0, "fork: %s", strerror(errno));
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fn();
	_exit(0);
}

/*
 * Return true if @pid ends within half of VG_TIMEOUT_MS. Store its wait status in
 * *@status.
 */
static bool child_ends(pid_t pid, int *status)
{
	uint64_t end = vg_now() + VG_TIMEOUT_MS * 500000ull;

	while (waitpid(pid, status, WNOHANG) != pid) {
		if (vg_now() > end)
			return false;
		vg_sleep_us(1000);
	}
	return true;
}

/* Cases in which a process opens /dev/kfd for the first time */

/*
 * Store a GPU in shared->gpu. A child calls this function, because the process of the case must not
 * have opened /dev/kfd yet.
 */
static void find_gpu(void)
{
	OK(vg_open_bare(&vg));
	shared->gpu = vg.gpu[0];
}

static void open_and_exit(void)
{
	int fd;

	OK(vg_wait_word(&shared->go[2], 1, VG_TIMEOUT_MS));
	fd = open_kfd();
	CHECK(fd >= 0, "open: %s", strerror(-fd));
}

/**
 * struct helper - a thread that makes one call when *@go becomes 1
 * @thread: thread
 * @tid: thread ID; 0: the thread does not run yet
 * @go: word for which the thread waits
 * @memory: argument of the call
 * @r: result of the call
 */
struct helper {
	pthread_t thread;
	volatile int tid;
	volatile uint32_t *go;
	void *memory;
	int r;
};

static void *protect(void *arg)
{
	struct helper *h = arg;

	h->tid = gettid();
	if (!vg_wait_word(h->go, 1, VG_TIMEOUT_MS))
		h->r = mprotect(h->memory, BYTES, PROT_READ);
	return NULL;
}

static void *open_first(void *arg)
{
	struct helper *h = arg;

	h->tid = gettid();
	if (!vg_wait_word(h->go, 1, VG_TIMEOUT_MS))
		h->r = open_kfd();
	return NULL;
}

static void start_helper(struct helper *h, void *(*fn)(void *))
{
	CHECK(!pthread_create(&h->thread, NULL, fn, h), "no thread");
	while (!h->tid)
		vg_sleep_us(100);
}

/*
 * Catches: the first open() of /dev/kfd waits for mmap_lock with kfd_processes_mutex held, so that
 * no other process can open /dev/kfd or end.
 */
static void open_behind_mmap_lock(void)
{
	struct helper change = { .r = -1 }, first = { .r = -1 };
	struct hold h = { 0 };
	bool ended, held;
	int status = 0;
	pid_t other;

	shared = tap_shared_page();
	CHECK(child_ends(start_child(find_gpu), &status) && !status,
	      "no GPU: 0x%x", status);
	other = start_child(open_and_exit);
	change.memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(change.memory != MAP_FAILED, "mmap: %s", strerror(errno));
	memset(change.memory, 1, BYTES);
	change.go = &shared->go[0];
	first.go = &shared->go[1];
	start_helper(&change, protect);
	start_helper(&first, open_first);
	/* These jobs use the memory (userptr), so mprotect() of the memory waits for them. */
	hold_engines(&h, &shared->gpu, change.memory, BYTES);

	/*
	 * From here to hold_let_go() another thread holds mmap_lock, so this code must not
	 * need mmap_lock.
	 */
	shared->go[0] = 1;
	hold_await_sleep(change.tid);
	shared->go[1] = 1;
	hold_await_sleep(first.tid);
	shared->go[2] = 1;
	ended = child_ends(other, &status);
	held = pthread_tryjoin_np(change.thread, NULL) == EBUSY &&
	       pthread_tryjoin_np(first.thread, NULL) == EBUSY;
	hold_let_go(&h);

	CHECK(ended, "a process waits for the mmap_lock of another one");
	CHECK(!status, "the other process ended with 0x%x", status);
	CHECK(held, "nothing held the mmap_lock");
	CHECK(!pthread_join(change.thread, NULL) && !change.r, "mprotect");
	CHECK(!pthread_join(first.thread, NULL), "join");
	CHECK(first.r >= 0, "open: %s", strerror(-first.r));
	close(first.r);
}

/* Cases that restore evicted processes */

/* KEEPERS is KFD_RESTORE_ACTIVE, the number of processes that the driver restores at a time. */
enum { KEEPERS = 3, ROUNDS = 5 };

/* Create a queue and a userptr BO on the first page of @p, and let the queue read this page. */
static void open_user_pointer(char *p)
{
	struct kfd_ioctl_alloc_memory_of_gpu_args args = {
		.va_addr = (uintptr_t)p,
		.mmap_offset = (uintptr_t)p,
		.size = VG_PAGE,
		.flags = KFD_IOC_ALLOC_MEM_FLAGS_USERPTR | VG_BO_ACCESS,
	};
	struct vg_bo bo = { .vg = &vg, .va = (uintptr_t)p, .size = VG_PAGE };

	tap_open(&vg, 0);
	bo.gpu = &vg.gpu[0];
	OK(vg_queue_create(&vg, bo.gpu, 4096, &queue));
	OK(vg_bo_create(&vg, bo.gpu, VG_PAGE, VG_GTT, &page));
	args.gpu_id = bo.gpu->gpu_id;
	ERRNO(0, vg_ioctl(&vg, AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, &args));
	bo.handle = args.handle;
	OK(vg_bo_map_gpu(&bo));
	OK(vg_copy(&queue, page.cpu, p, VG_PAGE));
}

/*
 * Body of a child. A thread calls mprotect(), which holds mmap_lock and waits for the child's job.
 * This job waits for the parent's jobs, which end when the parent calls hold_let_go().
 */
static void keep_mmap_lock(void)
{
	static volatile uint32_t now;
	struct helper change = { .r = -1, .go = &now };
	char *p = tap_anon(BYTES);
	struct hold h = { 0 };

	open_user_pointer(p);
	hold_open(&h, &vg.gpu[0], p + BYTES - VG_PAGE, VG_PAGE);
	hold_let_go(&h);
	change.memory = p;
	start_helper(&change, protect);
	tap_meet(&shared->here[0], KEEPERS + 1);
	tap_meet(&shared->here[1], KEEPERS + 1);
	/* This job waits for the parent's jobs on the same engine. */
	hold_add_job(&h);
	/*
	 * Start mprotect(). It evicts the child's queue, because a userptr BO of KFD uses the first
	 * page. Then mprotect() waits for the job, which uses the last page.
	 */
	now = 1;
	hold_await_sleep(change.tid);
	tap_meet(&shared->here[2], KEEPERS + 1);
	CHECK(!pthread_join(change.thread, NULL) && !change.r, "mprotect");
	CHECK(!mprotect(p, BYTES, PROT_READ | PROT_WRITE), "mprotect");
	OK(vg_copy(&queue, page.cpu, p, VG_PAGE));
}

/*
 * Catches: restore_work keeps its slot (kfd_restore_order) during a wait for the process's
 * mmap_lock. If KEEPERS processes cause such waits, no slot is left for any other process.
 */
static void restore_behind_mmap_locks(void)
{
	char *p = tap_anon(BYTES);
	int i, status, r = 0;
	pid_t pid[KEEPERS];
	struct hold h = { 0 };
	uint64_t before, end;

	shared = tap_shared_page();
	for (i = 0; i < KEEPERS; i++)
		pid[i] = start_child(keep_mmap_lock);
	open_user_pointer(p);
	tap_meet(&shared->here[0], KEEPERS + 1);
	hold_engines(&h, &vg.gpu[0], NULL, 0);
	before = tap_driver_counter(&vg.gpu[0], "process_evictions");
	tap_meet(&shared->here[1], KEEPERS + 1);
	tap_meet(&shared->here[2], KEEPERS + 1);
	end = vg_deadline();
	while (tap_driver_counter(&vg.gpu[0], "process_evictions") - before <
	       KEEPERS)
		CHECK(vg_now() < end, "mprotect does not evict");
	for (i = 0; i < ROUNDS && !r; i++) {
		CHECK(!madvise(p, BYTES, MADV_DONTNEED), "MADV_DONTNEED");
		vg_pattern_fill(p, VG_PAGE, SEED, i);
		r = vg_copy(&queue, page.cpu, p, VG_PAGE);
		if (!r)
			r = vg_pattern_check(page.cpu, VG_PAGE, SEED, i);
	}
	hold_let_go(&h);
	CHECK(!r, "a process is not restored: %s", vg_error());
	for (i = 0; i < KEEPERS; i++)
		CHECK(child_ends(pid[i], &status) && !status, "0x%x", status);
}

/* Cases that unbind a GPU */

static char name[VG_PCI_NAME];
static char svm_file[64];

static void *read_file(void *page)
{
	int fd = open(svm_file, O_RDONLY | O_CLOEXEC);

	CHECK(fd >= 0 && read(fd, page, VG_PAGE) > 0, "%s: %s", svm_file,
	      strerror(errno));
	close(fd);
	return NULL;
}

/*
 * Stay in read() of a debugfs file until shared->go[0] is 1. The buffer of the read() is a
 * missing userfaultfd page, which is filled only when shared->go[0] is 1.
 */
static void read_until_go(void)
{
	char *page = mmap(NULL, VG_PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uffdio_register reg = {
		.range = { (uintptr_t)page, VG_PAGE },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	struct uffdio_zeropage zero = { .range = { (uintptr_t)page, VG_PAGE } };
	struct uffdio_api api = { .api = UFFD_API };
	struct uffd_msg msg;
	pthread_t thread;
	int fd;

	CHECK(page != MAP_FAILED, "mmap: %s", strerror(errno));
	fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	CHECK(fd >= 0, "userfaultfd: %s", strerror(errno));
	ERRNO(0, tap_ioctl(fd, UFFDIO_API, &api));
	ERRNO(0, tap_ioctl(fd, UFFDIO_REGISTER, &reg));
	CHECK(!pthread_create(&thread, NULL, read_file, page), "no thread");
	CHECK(read(fd, &msg, sizeof(msg)) == sizeof(msg) &&
	      msg.event == UFFD_EVENT_PAGEFAULT, "userfaultfd: %s",
	      strerror(errno));
	shared->reading = 1;
	OK(vg_wait_word(&shared->go[0], 1, 2 * VG_TIMEOUT_MS));
	ERRNO(0, tap_ioctl(fd, UFFDIO_ZEROPAGE, &zero));
	pthread_join(thread, NULL);
}

static void take_away(void)
{
	OK(vg_pci_unbind(name));
}

static int kfd_works(int fd)
{
	struct kfd_ioctl_get_version_args version;

	return tap_ioctl(fd, AMDKFD_IOC_GET_VERSION, &version);
}

/*
 * Body of a child that opens KFD and all GPUs, and uses the first GPU. @arg points to the expected
 * number of GPUs.
 */
static void use(void *arg)
{
	const int *gpus = arg;
	struct vg_bo bo = { 0 };
	struct vg fresh;

	tap_open(&fresh, 1);
	CHECK(fresh.n_gpus == *gpus, "%d GPUs", fresh.n_gpus);
	OK(vg_bo_create(&fresh, &fresh.gpu[0], BYTES, VG_VRAM, &bo));
	OK(vg_fill_check(bo.cpu, BYTES, 0));
	OK(vg_bo_free(&bo));
	vg_close(&fresh);
}

/*
 * Unbind a GPU, and open /dev/kfd before the old KFD process has ended. Catches: the new KFD
 * process reuses the old MMU notifier.
 */
static void open_while_taken_away(void)
{
	uint64_t end = vg_deadline();
	pid_t reader, remover;
	int fresh, status = 0;

	shared = tap_shared_page();
	tap_open(&vg, 1);
	OK(vg_pci_name(&vg.gpu[0], name));
	snprintf(svm_file, sizeof(svm_file), "/sys/kernel/debug/kfd/proc/%d/svm",
		 getpid());
	reader = start_child(read_until_go);
	OK(vg_wait_word(&shared->reading, 1, VG_TIMEOUT_MS));
	remover = start_child(take_away);
	/*
	 * Wait until the unbind has unhashed the KFD process: then ioctls fail. While @reader reads
	 * the debugfs file, the old MMU notifier stays registered. The open_kfd() below must not
	 * reuse this notifier.
	 */
	while (kfd_works(vg.kfd) != -ENODEV) {
		CHECK(vg_now() < end, "the process can still use KFD");
		vg_sleep_us(1000);
	}
	CHECK(!waitpid(remover, &status, WNOHANG),
	      "the unbind ended while a file of its process was read");
	/* Create a new KFD process for the same mm. */
	fresh = open_kfd();
	CHECK(fresh >= 0, "open: %s", strerror(-fresh));
	ERRNO(0, kfd_works(fresh));
	shared->go[0] = 1;
	CHECK(child_ends(reader, &status) && !status, "reader: 0x%x", status);
	CHECK(child_ends(remover, &status), "the removal does not end");
	CHECK(!status, "the removal ended with 0x%x", status);
	/* Check that the end of the old KFD process has not ended the new one. */
	ERRNO(0, kfd_works(fresh));
	OK(vg_pci_bind(name));
	/*
	 * The new KFD process also uses the second GPU, so the unbind of that GPU must end
	 * the new KFD process.
	 */
	if (vg.n_gpus > 1) {
		OK(vg_pci_name(&vg.gpu[1], name));
		OK(vg_pci_unbind(name));
		ERRNO(ENODEV, kfd_works(fresh));
		OK(vg_pci_bind(name));
	}
	close(fresh);
	tap_in_child(use, &vg.n_gpus);
}

/* Waiting for events */

static uint32_t event, slot;

/* Create a queue, a signal page, and an auto-reset event in this page. */
static void make_event(void)
{
	struct kfd_ioctl_create_event_args args = {
		.event_type = KFD_IOC_EVENT_SIGNAL,
		.auto_reset = true,
	};

	tap_open(&vg, 1);
	OK(vg_bo_create(&vg, &vg.gpu[0], PAGE_BYTES, VG_GTT, &page));
	args.event_page_offset = page.handle;
	ERRNO(0, vg_ioctl(&vg, AMDKFD_IOC_CREATE_EVENT, &args));
	event = args.event_id;
	slot = args.event_slot_index;
	OK(vg_queue_create(&vg, &vg.gpu[0], 4096, &queue));
}

/* Let the GPU signal the event: write its slot, and raise an interrupt that contains its id. */
static void signal_event(void)
{
	const uint32_t value[2] = { event, 0 };
	uint32_t *p;

	OK(vg_emit_write(&queue, page.va + slot * 8, value, 2));
	p = vg_queue_reserve(&queue, SDMA_TRAP_DWORDS);
	CHECK(p, "%s", vg_error());
	p[0] = SDMA_OP_TRAP;
	p[1] = event;
	vg_queue_submit(&queue);
}

static int set_event(void)
{
	struct kfd_ioctl_set_event_args args = { .event_id = event };

	return vg_ioctl(&vg, AMDKFD_IOC_SET_EVENT, &args);
}

/* Call WAIT_EVENTS. Return KFD_IOC_WAIT_RESULT_*, or -errno. */
static int wait_for(struct kfd_event_data *data, uint32_t n, bool all,
		    uint32_t ms)
{
	struct kfd_ioctl_wait_events_args args = {
		.events_ptr = (uintptr_t)data,
		.num_events = n,
		.wait_for_all = all,
		.timeout = ms,
	};
	int r = vg_ioctl(&vg, AMDKFD_IOC_WAIT_EVENTS, &args);

	return r ? r : (int)args.wait_result;
}

/* Return a list that names the event @n times. */
static struct kfd_event_data *names_of(uint32_t n)
{
	struct kfd_event_data *data = calloc(n, sizeof(*data));
	uint32_t i;

	CHECK(data, "no memory");
	for (i = 0; i < n; i++)
		data[i].event_id = event;
	return data;
}

/**
 * struct waiter - a thread in WAIT_EVENTS
 * @thread: thread
 * @tid: thread ID; 0: the thread does not run yet
 * @names: number of entries in @data
 * @data: list of events of the call
 * @r: result of wait_for()
 */
struct waiter {
	pthread_t thread;
	volatile int tid;
	uint32_t names;
	struct kfd_event_data *data;
	int r;
};

static void *waiter_run(void *arg)
{
	struct waiter *w = arg;

	w->tid = gettid();
	w->r = wait_for(w->data, w->names, true, FOREVER);
	return NULL;
}

/*
 * Wait until the thread is in state 'S' (interruptible sleep) in WAIT_EVENTS. The thread then waits
 * for the event, because WAIT_EVENTS has no other interruptible sleep.
 */
static void await_sleep(const struct waiter *w)
{
	uint64_t end = vg_deadline();

	while (!w->tid || !hold_thread_in_ioctl(w->tid, AMDKFD_IOC_WAIT_EVENTS) ||
	       hold_thread_state(w->tid) != 'S') {
		CHECK(vg_now() < end, "thread %d does not wait", w->tid);
		vg_sleep_us(1000);
	}
}

static void waiter_start(struct waiter *w, uint32_t names)
{
	w->names = names;
	w->data = names_of(names);
	CHECK(!pthread_create(&w->thread, NULL, waiter_run, w), "no thread");
}

static void waiter_join(struct waiter *w)
{
	pthread_join(w->thread, NULL);
	CHECK(w->r == KFD_IOC_WAIT_RESULT_COMPLETE, "the wait ended with %d",
	      w->r);
	free(w->data);
}

/* Catches: an interrupt handler wakes an unlimited number of waiting calls. */
static void many_wait(void)
{
	static struct waiter w[WAITERS];
	uint64_t before;
	int i;

	make_event();
	for (i = 0; i < WAITERS; i++)
		waiter_start(&w[i], 1);
	for (i = 0; i < WAITERS; i++)
		await_sleep(&w[i]);
	before = tap_driver_counter(&vg.gpu[0], "events_deferred");
	signal_event();
	for (i = 0; i < WAITERS; i++)
		waiter_join(&w[i]);
	CHECK(tap_driver_counter(&vg.gpu[0], "events_deferred") > before,
	      "the interrupt handler woke %d calls", WAITERS);
	CHECK(wait_for(names_of(1), 1, true, 0) == KFD_IOC_WAIT_RESULT_TIMEOUT,
	      "the event was not taken");
	OK(vg_queue_destroy(&queue));
}

/*
 * The event array of a WAIT_EVENTS call names one auto-reset event several times. A signal during
 * the call must satisfy all elements. A signal before the call must satisfy only the first element.
 */
static void many_names(void)
{
	struct kfd_event_data *two;
	struct waiter w = { 0 };
	uint64_t before;

	make_event();
	two = names_of(2);
	before = tap_driver_counter(&vg.gpu[0], "events_deferred");
	waiter_start(&w, NAMES);
	await_sleep(&w);
	signal_event();
	waiter_join(&w);
	/*
	 * Catches: a call that names the event NAMES times counts as NAMES waiters. The call is one
	 * waiter, and the interrupt handler defers signals of events with many waiters only.
	 */
	CHECK(tap_driver_counter(&vg.gpu[0], "events_deferred") == before,
	      "one call was more than the interrupt handler wakes");

	/*
	 * Both elements name the same event, which is set once. The first element consumes the
	 * signal, so a wait for both elements must time out.
	 */
	ERRNO(0, set_event());
	CHECK(wait_for(two, 2, true, SOON) == KFD_IOC_WAIT_RESULT_TIMEOUT,
	      "one signal satisfied two names");
	ERRNO(0, set_event());
	CHECK(wait_for(two, 2, false, SOON) == KFD_IOC_WAIT_RESULT_COMPLETE,
	      "a set event was not found");
	CHECK(wait_for(two, 2, false, 0) == KFD_IOC_WAIT_RESULT_TIMEOUT,
	      "the event was not taken");
	two[1].event_id = ~0u;
	ERRNO(EINVAL, wait_for(two, 2, false, 0));
	OK(vg_queue_destroy(&queue));
}

static const struct tap_case cases[] = {
	{ "first open behind another process's mmap_lock", open_behind_mmap_lock,
	  1 },
	{ "a process comes back behind three that cannot",
	  restore_behind_mmap_locks, 1 },
	{ "opened anew while the GPU is taken away", open_while_taken_away, 1 },
	{ "many wait for one event", many_wait, 1 },
	{ "one call names an event very often", many_names, 1 },
};

int main(int argc, char **argv)
{
	return hold_main(TAP_CASES(cases), argc, argv);
}
