// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Resets that clear VRAM and page tables (vram-lost-on-reset=on). Catches: jobs use lost page
 * tables; the loss is not reported; BOs show old contents; lost SVM data counts as valid.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hold.h"

#define SEED	0x105
#define VA	0x200000000ull
#define VA_IB	0x8000000ull
#define SIZE	(3 * VG_MIB)

static struct vg vg;
static struct vg_gpu *gpu;

static uint32_t losses(int fd)
{
	uint32_t n = ~0u;
	struct drm_amdgpu_info args = {
		.query = AMDGPU_INFO_VRAM_LOST_COUNTER,
		.return_pointer = (uintptr_t)&n,
		.return_size = sizeof(n),
	};

	ERRNO(0, vr_ioctl(fd, DRM_IOCTL_AMDGPU_INFO, &args));
	return n;
}

static uint32_t state(int fd, uint32_t ctx)
{
	union drm_amdgpu_ctx args = {
		.in = { .op = AMDGPU_CTX_OP_QUERY_STATE2, .ctx_id = ctx },
	};

	ERRNO(0, vr_ioctl(fd, DRM_IOCTL_AMDGPU_CTX, &args));
	return args.out.state.flags;
}

static void copy(int fd, uint32_t ctx, struct vr_ib *ib, const struct vr_bo *dst,
		 const struct vr_bo *src)
{
	uint32_t handles[] = { ib->bo.handle, dst->handle, src->handle };
	uint64_t seq;

	ib->ndw = 0;
	vr_ib_copy(ib, dst->va, src->va, SIZE);
	ERRNO(0, vr_submit(fd, ctx, 0, ib, handles, 3, &seq));
	ERRNO(0, vr_wait(fd, ctx, 0, seq, ~0ull));
}

static void lost(void)
{
	const uint32_t want = AMDGPU_CTX_QUERY2_FLAGS_RESET |
			      AMDGPU_CTX_QUERY2_FLAGS_VRAMLOST;
	struct vr_bo gtt, vram, out, prt_out;
	uint32_t ctx, fresh, before;
	struct vr_ib ib;
	uint64_t seq;
	int fd, round;

	OK(vg_open_bare(&vg));
	gpu = &vg.gpu[0];
	fd = vr_open(gpu);
	ERRNO(0, vr_ctx_alloc(fd, 0, &ctx));
	ERRNO(0, vr_ib_create(fd, VG_PAGE, VA_IB, &ib));
	ERRNO(0, vr_bo_create(fd, SIZE, AMDGPU_GEM_DOMAIN_GTT, 0, VA, &gtt));
	ERRNO(0, vr_bo_create(fd, SIZE, AMDGPU_GEM_DOMAIN_VRAM, 0, VA + VG_GIB,
			      &vram));
	ERRNO(0, vr_bo_create(fd, SIZE, AMDGPU_GEM_DOMAIN_GTT, 0,
			      VA + 2 * VG_GIB, &out));
	ERRNO(0, vr_bo_create(fd, SIZE, AMDGPU_GEM_DOMAIN_GTT, 0, 0, &prt_out));
	ERRNO(0, vr_gem_va(fd, 0, AMDGPU_VA_OP_MAP, AMDGPU_VM_PAGE_PRT,
			   VA + 3 * VG_GIB, 0, SIZE));
	prt_out.va = VA + 3 * VG_GIB;
	vg_pattern_fill(gtt.cpu, SIZE, SEED, 0);
	copy(fd, ctx, &ib, &vram, &gtt);

	for (round = 0; round < 3; round++) {
		before = losses(fd);
		OK(vg_gpu_reset(gpu));
		if (losses(fd) == before)
			tap_skip("needs --device-opts vram-lost-on-reset=on");
		CHECK((state(fd, ctx) & want) == want, "flags %#x",
		      state(fd, ctx));
		ib.ndw = 0;
		vr_ib_write(&ib, gtt.va, 1);
		ERRNO(ECANCELED, vr_submit(fd, ctx, 0, &ib, &ib.bo.handle, 1,
					   &seq));

		ERRNO(0, vr_ctx_alloc(fd, 0, &fresh));
		CHECK(!state(fd, fresh), "flags of a new context: %#x",
		      state(fd, fresh));
		/* System memory must keep its contents and its mapping. */
		memset(out.cpu, 0, SIZE);
		copy(fd, fresh, &ib, &out, &gtt);
		OK(vg_pattern_check(out.cpu, SIZE, SEED, 0));
		/* VRAM must contain no old data, and must work. */
		copy(fd, fresh, &ib, &out, &vram);
		OK(vg_fill_check(out.cpu, SIZE, 0));
		copy(fd, fresh, &ib, &vram, &gtt);
		copy(fd, fresh, &ib, &out, &vram);
		OK(vg_pattern_check(out.cpu, SIZE, SEED, 0));
		/* PRT mappings must work after the loss of VRAM: a read must return zeros. */
		copy(fd, fresh, &ib, &prt_out, &gtt);
		copy(fd, fresh, &ib, &out, &prt_out);
		OK(vg_fill_check(out.cpu, SIZE, 0));
		ERRNO(0, vr_ctx_free(fd, ctx));
		ctx = fresh;
	}
}

/* A KFD process must get a HW_EXCEPTION event for the loss of VRAM, even without a queue. */
static void hw_exception(void)
{
	struct kfd_ioctl_create_event_args create = {
		.event_type = KFD_IOC_EVENT_HW_EXCEPTION,
		.auto_reset = 1,
	};
	struct kfd_event_data data = { 0 };
	struct kfd_ioctl_wait_events_args wait = {
		.events_ptr = (uintptr_t)&data,
		.num_events = 1,
	};
	int i;

	tap_open(&vg, 0);
	gpu = &vg.gpu[0];
	ERRNO(0, vg_ioctl(&vg, AMDKFD_IOC_CREATE_EVENT, &create));
	data.event_id = create.event_id;
	ERRNO(0, vg_ioctl(&vg, AMDKFD_IOC_WAIT_EVENTS, &wait));
	CHECK(wait.wait_result == KFD_IOC_WAIT_RESULT_TIMEOUT, "result %u",
	      wait.wait_result);
	OK(vg_gpu_reset(gpu));
	wait.timeout = VG_TIMEOUT_MS;
	ERRNO(0, vg_ioctl(&vg, AMDKFD_IOC_WAIT_EVENTS, &wait));
	CHECK(wait.wait_result == KFD_IOC_WAIT_RESULT_COMPLETE, "result %u",
	      wait.wait_result);
	CHECK(data.hw_exception_data.memory_lost == 1 &&
	      data.hw_exception_data.reset_type ==
		      KFD_HW_EXCEPTION_WHOLE_GPU_RESET &&
	      data.hw_exception_data.reset_cause == KFD_HW_EXCEPTION_GPU_HANG &&
	      data.hw_exception_data.gpu_id == gpu->gpu_id, "what happened");
	/*
	 * The event must come only once: the page tables of the process stay lost, so another
	 * reset loses nothing more of this process.
	 */
	for (i = 0; i < 2; i++) {
		wait.timeout = 0;
		ERRNO(0, vg_ioctl(&vg, AMDKFD_IOC_WAIT_EVENTS, &wait));
		CHECK(wait.wait_result == KFD_IOC_WAIT_RESULT_TIMEOUT,
		      "another event after %d more resets", i);
		OK(vg_gpu_reset(gpu));
	}
}

/* Fill memory and free it, so that pages allocated next are not zero. */
static void soil_memory(void)
{
	const size_t size = 128 * VG_MIB;
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED, "mmap: %s", strerror(errno));
	memset(p, 0xa5, size);
	munmap(p, size);
}

static void *evict(void *arg)
{
	(void)arg;
	tap_evict_some(gpu, "vram");
	return NULL;
}

/*
 * Start a thread (*@thread) that evicts VRAM. On return, the copies of @n BOs are queued behind the
 * jobs of @hold, which occupy the engines.
 */
static void evict_behind(struct hold *hold, unsigned int n, pthread_t *thread)
{
	uint64_t end = vg_deadline(), before;

	hold_engines(hold, gpu, NULL, 0);
	soil_memory();
	before = tap_driver_counter(gpu, "evictions");
	CHECK(!pthread_create(thread, NULL, evict, NULL), "thread");
	while (tap_driver_counter(gpu, "evictions") - before < n) {
		CHECK(vg_now() < end, "BOs do not leave VRAM");
		vg_sleep_us(1000);
	}
}

/*
 * Number of small BOs that cancelled() evicts. The ring cannot hold the moves of all these BOs at
 * the same time.
 */
enum { SMALL = 160 };

/* Size in bytes of the large BO of cancelled(). The move of this BO consists of many jobs. */
#define BIG	(40 * VG_MIB)

/*
 * Loss of VRAM cancels copies that evict BOs to system memory. Catches: the driver does not clear
 * the system pages, and user space reads data of their last owner.
 */
static void cancelled(void)
{
	struct vr_bo small[SMALL], big, out;
	struct hold hold = { 0 };
	uint32_t ctx, before;
	pthread_t thread;
	struct vr_ib ib;
	uint64_t seq;
	int i, fd;

	OK(vg_open_bare(&vg));
	gpu = &vg.gpu[0];
	fd = vr_open(gpu);
	before = losses(fd);
	ERRNO(0, vr_ib_create(fd, VG_PAGE, VA_IB, &ib));
	ERRNO(0, vr_bo_create(fd, BIG, AMDGPU_GEM_DOMAIN_GTT, 0, VA + VG_GIB,
			      &out));
	for (i = 0; i < SMALL; i++) {
		ERRNO(0, vr_bo_create(fd, VG_PAGE, AMDGPU_GEM_DOMAIN_VRAM, 0,
				      0, &small[i]));
		vg_pattern_fill(small[i].cpu, VG_PAGE, SEED, 0);
	}
	ERRNO(0, vr_bo_create(fd, BIG, AMDGPU_GEM_DOMAIN_VRAM, 0, VA, &big));
	vg_pattern_fill(big.cpu, BIG, SEED, 0);
	evict_behind(&hold, SMALL + 1, &thread);
	OK(vg_gpu_reset(gpu));
	if (losses(fd) == before)
		tap_skip("needs --device-opts vram-lost-on-reset=on");
	CHECK(!pthread_join(thread, NULL), "join");

	for (i = 0; i < SMALL; i++)
		OK(vg_fill_check(small[i].cpu, VG_PAGE, 0));
	OK(vg_fill_check(big.cpu, BIG, 0));
	ERRNO(0, vr_ctx_alloc(fd, 0, &ctx));
	memset(out.cpu, 0x5a, BIG);
	vr_ib_copy(&ib, out.va, big.va, BIG);
	ERRNO(0, vr_submit(fd, ctx, 0, &ib,
			   (uint32_t[]){ ib.bo.handle, out.handle, big.handle },
			   3, &seq));
	ERRNO(0, vr_wait(fd, ctx, 0, seq, ~0ull));
	OK(vg_fill_check(out.cpu, BIG, 0));
}

/**
 * struct reader - a thread that reads a BO's CPU mapping through /proc/PID/mem, as a debugger does
 */
struct reader {
	/** @thread: thread */
	pthread_t thread;
	/** @tid: thread ID; 0: the thread does not read yet */
	volatile int tid;
	/** @from: the BO's CPU mapping */
	const void *from;
	/** @to: destination */
	void *to;
	/** @done: result of pread(); 0: pread() has not returned */
	volatile ssize_t done;
};

static void *read_mem(void *arg)
{
	struct reader *r = arg;
	int fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);

	CHECK(fd >= 0, "/proc/self/mem: %s", strerror(errno));
	r->tid = gettid();
	r->done = pread(fd, r->to, SIZE, (off_t)(uintptr_t)r->from);
	return NULL;
}

/* Wait until the reader is blocked or has finished. */
static void await_reader(const struct reader *r)
{
	uint64_t end = vg_deadline();

	while (!r->done && (!r->tid || !strchr("SD", hold_thread_state(r->tid)))) {
		CHECK(vg_now() < end, "thread %d neither reads nor waits",
		      r->tid);
		vg_sleep_us(1000);
	}
}

static void on_signal(int number)
{
	(void)number;
}

/*
 * Catches: a read through /proc/PID/mem does not wait for the copy out of VRAM and returns old
 * contents; a handled signal makes the read fail.
 */
static void moving(void)
{
	struct reader reader = { 0 };
	struct hold hold = { 0 };
	pthread_t thread;
	struct vr_bo bo;
	int fd;

	OK(vg_open_bare(&vg));
	gpu = &vg.gpu[0];
	fd = vr_open(gpu);
	ERRNO(0, vr_bo_create(fd, SIZE, AMDGPU_GEM_DOMAIN_VRAM, 0, 0, &bo));
	vg_pattern_fill(bo.cpu, SIZE, SEED, 0);
	reader.from = bo.cpu;
	reader.to = tap_anon(SIZE);
	CHECK(signal(SIGUSR1, on_signal) != SIG_ERR, "no handler");
	evict_behind(&hold, 1, &thread);
	CHECK(!pthread_create(&reader.thread, NULL, read_mem, &reader),
	      "thread");
	await_reader(&reader);
	/* A signal with a handler must not end the access. (If it did, pread() would fail.) */
	CHECK(!pthread_kill(reader.thread, SIGUSR1), "no signal");
	hold_let_go(&hold);
	CHECK(!pthread_join(reader.thread, NULL), "join");
	CHECK(reader.done == (ssize_t)SIZE, "%zd bytes were read", reader.done);
	OK(vg_pattern_check(reader.to, SIZE, SEED, 0));
	CHECK(!pthread_join(thread, NULL), "join");
}

/**
 * struct early - a job whose CS waits for a point of a timeline
 */
struct early {
	/** @fd: file of the job */
	int fd;
	/** @ctx: ID of a context that is created before VRAM is lost */
	uint32_t ctx;
	/** @ib: packets of the job */
	struct vr_ib ib;
	/** @point: timeline point for which CS waits */
	struct drm_amdgpu_cs_chunk_syncobj point;
	/** @tid: ID of the thread that calls CS; 0: the thread does not call CS yet */
	volatile int tid;
	/** @seq: sequence number of the job */
	uint64_t seq;
	/** @r: result of CS; > 0: CS has not returned */
	volatile int r;
};

static void *submit_early(void *arg)
{
	struct early *e = arg;
	struct vr_cs cs = {
		.ctx = e->ctx, .ib = &e->ib,
		.handles = &e->ib.bo.handle, .n_handles = 1,
	};

	e->tid = gettid();
	vr_cs_chunk(&cs, AMDGPU_CHUNK_ID_SYNCOBJ_TIMELINE_WAIT, &e->point,
		    sizeof(e->point));
	e->r = vr_cs_submit(e->fd, &cs, &e->seq);
	return NULL;
}

static void await_early(const struct early *e)
{
	uint64_t end = vg_deadline();

	while (!e->tid || hold_thread_state(e->tid) != 'S') {
		CHECK(e->r > 0, "CS does not wait: %d", e->r);
		CHECK(vg_now() < end, "thread %d does not sleep", e->tid);
		vg_sleep_us(1000);
	}
}

/*
 * VRAM is lost after CS has checked the context. Catches: CS rebuilds the page tables, and the job
 * runs with lost data and reports success. (The job must be cancelled, because the context is older
 * than the loss.)
 */
static void submitted_across(void)
{
	struct early e = {
		.point = {
			.flags = DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT,
			.point = 1,
		},
		.r = 1,
	};
	struct drm_syncobj_create create = { 0 };
	struct drm_syncobj_timeline_array signal = {
		.handles = (uintptr_t)&e.point.handle,
		.points = (uintptr_t)&e.point.point,
		.count_handles = 1,
	};
	volatile uint32_t *word;
	pthread_t thread;
	uint32_t before;
	bool lost_it;

	OK(vg_open_bare(&vg));
	gpu = &vg.gpu[0];
	e.fd = vr_open(gpu);
	ERRNO(0, vr_ctx_alloc(e.fd, 0, &e.ctx));
	ERRNO(0, vr_ib_create(e.fd, VG_PAGE, VA_IB, &e.ib));
	word = (uint32_t *)e.ib.bo.cpu + VG_PAGE / 8;
	*word = 0;
	vr_ib_write(&e.ib, VA_IB + VG_PAGE / 2, 1);
	ERRNO(0, vr_ioctl(e.fd, DRM_IOCTL_SYNCOBJ_CREATE, &create));
	e.point.handle = create.handle;
	before = losses(e.fd);
	CHECK(!pthread_create(&thread, NULL, submit_early, &e), "thread");
	await_early(&e);
	OK(vg_gpu_reset(gpu));
	lost_it = losses(e.fd) != before;
	ERRNO(0, vr_ioctl(e.fd, DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL, &signal));
	CHECK(!pthread_join(thread, NULL), "join");
	if (!lost_it)
		tap_skip("needs --device-opts vram-lost-on-reset=on");
	if (!e.r)
		e.r = vr_wait(e.fd, e.ctx, 0, e.seq, ~0ull);
	ERRNO(ECANCELED, e.r);
	CHECK(!*word, "a job from before the loss has run");
}

static volatile sig_atomic_t bus_error;

static void on_bus_error(int number)
{
	bus_error = number;
}

/*
 * A reset loses SVM pages in VRAM, then the driver is unbound. Catches: the removal saves the
 * current content of VRAM as if it were valid, and the process gets no SIGBUS; valid pages are
 * treated as lost.
 */
static void unbound(void)
{
	char name[VG_PCI_NAME], *svm, *kept;
	uint32_t before;

	tap_open(&vg, 1);
	gpu = &vg.gpu[0];
	OK(vg_pci_name(gpu, name));
	svm = tap_anon(2 * SIZE);
	kept = svm + SIZE;
	vg_pattern_fill(svm, 2 * SIZE, SEED, 0);
	OK(vg_svm_prefetch(&vg, svm, SIZE, gpu->gpu_id));
	CHECK(vg_pages_in_vram(svm, SIZE) == (long)(SIZE / VG_PAGE),
	      "SVM is not in VRAM");
	before = losses(gpu->fd);
	OK(vg_gpu_reset(gpu));
	if (losses(gpu->fd) == before)
		tap_skip("needs --device-opts vram-lost-on-reset=on");
	/* Pages that come to VRAM after the loss are valid. */
	OK(vg_svm_prefetch(&vg, kept, SIZE, gpu->gpu_id));
	CHECK(vg_pages_in_vram(kept, SIZE) > 0, "SVM is not in VRAM");

	CHECK(signal(SIGBUS, on_bus_error) != SIG_ERR, "no handler");
	OK(vg_pci_unbind(name));
	/* Bind the driver before the checks, so that a failure does not affect later cases. */
	OK(vg_pci_bind(name));
	CHECK(bus_error, "no SIGBUS");
	CHECK(!vg_pages_in_vram(svm, 2 * SIZE), "SVM is still in VRAM");
	OK(vg_fill_check(svm, SIZE, 0));
	OK(vg_pattern_check(kept, SIZE, SEED, SIZE));
}

static const struct tap_case cases[] = {
	{ "files go on after VRAM was lost, with new contexts", lost, 1 },
	{ "a job that is submitted across the loss is cancelled",
	  submitted_across, 1 },
	{ "processes of KFD are told of it", hw_exception, 1 },
	{ "BOs on their way out of VRAM become zeros", cancelled, 1 },
	{ "/proc/PID/mem waits for a BO that moves", moving, 1 },
	{ "lost SVM pages raise SIGBUS when the driver is unbound", unbound, 1 },
};

int main(int argc, char **argv)
{
	return hold_main(TAP_CASES(cases), argc, argv);
}
