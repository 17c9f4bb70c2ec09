// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Submit jobs to the render node. Catches: a job runs early or never; a wait uses the wrong fence;
 * a bad job affects other jobs.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vgpu/bits.h>
#include <vgpu/gmc.h>
#include <vgpu/sdma_packets.h>

#include "render.h"
#include "tap.h"

#define SEED	0xc5
#define VA	0x200000000ull
#define VA_IB	0x8000000ull
#define VA_FLAG	0x9000000ull
#define VRAM	AMDGPU_GEM_DOMAIN_VRAM
#define GTT	AMDGPU_GEM_DOMAIN_GTT
#define SECOND	1000000000ull
/*
 * Some jobs poll a dword until the test writes it. After this write, such a job must complete
 * within this time in ms.
 */
#define JOB_MS	(VG_TIMEOUT_MS / 3)
#define JOB_NS	(JOB_MS * 1000000ull)
#define LOCKUP	"/sys/module/vgpu_kfd/parameters/lockup_timeout"

static struct vg vg;
static struct vg_gpu *gpu;

/*
 * An open render node (@fd), and what its jobs need. @flag is a page of dwords that the jobs and
 * the CPU read and write: see flag().
 */
struct user {
	int fd;
	uint32_t ctx;
	struct vr_ib ib;
	struct vr_bo flag;
};

static void user_init(struct user *u, int fd)
{
	u->fd = fd;
	ERRNO(0, vr_ctx_alloc(fd, 0, &u->ctx));
	ERRNO(0, vr_ib_create(fd, 64 * VG_KIB, VA_IB, &u->ib));
	ERRNO(0, vr_bo_create(fd, VG_PAGE, GTT, 0, VA_FLAG, &u->flag));
}

static void user_open(struct user *u)
{
	int fd = vr_open(gpu);

	CHECK(fd >= 0, "render node: %d", fd);
	user_init(u, fd);
}

static void start(struct user *u)
{
	OK(vg_open_bare(&vg));
	gpu = &vg.gpu[0];
	user_init(u, gpu->fd);
}

static volatile uint32_t *flag(struct user *u, unsigned int i)
{
	return (volatile uint32_t *)u->flag.cpu + i;
}

static uint64_t flag_va(unsigned int i)
{
	return VA_FLAG + 4 * i;
}

/* Submit the IB with the flag page and up to 8 other BOs. Then empty the IB. */
static int try_submit(struct user *u, struct vr_cs *cs, const uint32_t *bos,
		      unsigned int n, uint64_t *seq)
{
	uint32_t handles[10];
	int r;

	memcpy(handles, bos, n * sizeof(*bos));
	handles[n] = u->ib.bo.handle;
	handles[n + 1] = u->flag.handle;
	cs->ctx = u->ctx;
	cs->ib = &u->ib;
	cs->handles = handles;
	cs->n_handles = n + 2;
	r = vr_cs_submit(u->fd, cs, seq);
	u->ib.ndw = 0;
	return r;
}

static uint64_t submit(struct user *u, uint32_t ring)
{
	struct vr_cs cs = { .ring = ring };
	uint64_t seq;

	ERRNO(0, try_submit(u, &cs, NULL, 0, &seq));
	return seq;
}

static void finish(struct user *u, uint32_t ring)
{
	uint64_t seq = submit(u, ring);

	ERRNO(0, vr_wait(u->fd, u->ctx, ring, seq, ~0ull));
}

static void copies(void)
{
	struct user u;
	struct vr_bo a, b;
	uint32_t ring, handles[4];
	uint64_t seq;

	start(&u);
	ERRNO(0, vr_bo_create(u.fd, 4 * VG_MIB, VRAM, 0, VA, &a));
	ERRNO(0, vr_bo_create(u.fd, 4 * VG_MIB, GTT, 0, VA + VG_GIB, &b));
	for (ring = 0; ring < 2; ring++) {
		struct vr_cs cs = { .ring = ring };

		vg_pattern_fill(a.cpu, a.size, SEED + ring, 0);
		vr_ib_copy(&u.ib, b.va, a.va, a.size);
		vr_ib_add(&u.ib, flag_va(8), 3);
		handles[0] = a.handle;
		handles[1] = b.handle;
		ERRNO(0, try_submit(&u, &cs, handles, 2, &seq));
		CHECK(seq == 1, "the first job of a ring is %lu", seq);
		ERRNO(0, vr_wait(u.fd, u.ctx, ring, seq, ~0ull));
		OK(vg_pattern_check(b.cpu, b.size, SEED + ring, 0));
	}
	CHECK(*flag(&u, 8) == 6, "atomics add up to %u", *flag(&u, 8));
}

/*
 * Jobs of one ring must run in order. After a job has completed, a wait for an earlier job
 * must return without waiting.
 */
static void in_order(void)
{
	struct user u;
	uint64_t seq = 0;
	unsigned int i;

	start(&u);
	for (i = 1; i <= 100; i++) {
		/*
		 * The IB of each job has its own part of the BO, because the engine may
		 * still read earlier IBs.
		 */
		struct vr_ib ib = u.ib;

		ib.bo.va += i * 256;
		ib.bo.cpu = (char *)ib.bo.cpu + i * 256;
		vr_ib_poll(&ib, flag_va(0), i - 1);
		vr_ib_write(&ib, flag_va(0), i);
		ERRNO(0, vr_submit(u.fd, u.ctx, 0, &ib,
				   (uint32_t[]){ ib.bo.handle, u.flag.handle },
				   2, &seq));
		CHECK(seq == i, "job %u has number %lu", i, seq);
	}
	ERRNO(0, vr_wait(u.fd, u.ctx, 0, seq, ~0ull));
	CHECK(*flag(&u, 0) == 100, "%u", *flag(&u, 0));
	ERRNO(0, vr_wait(u.fd, u.ctx, 0, 1, 0));
	ERRNO(0, vr_wait(u.fd, u.ctx, 0, ~0ull, 0));
	ERRNO(EINVAL, vr_wait(u.fd, u.ctx, 0, 101, 0));
	ERRNO(0, vr_wait(u.fd, u.ctx, 1, ~0ull, 0));
}

/* A wait must return when the job completes or the timeout expires, and not before. */
static void waits(void)
{
	struct drm_amdgpu_fence f[2] = { 0 };
	union drm_amdgpu_wait_fences w;
	struct user u, v;
	uint64_t begin;
	int all;

	start(&u);
	user_open(&v);
	vr_ib_poll(&u.ib, flag_va(0), 1);
	f[0] = (struct drm_amdgpu_fence){
		.ctx_id = u.ctx, .ip_type = AMDGPU_HW_IP_DMA,
		.seq_no = submit(&u, 0),
	};
	begin = vg_now();
	ERRNO(ETIME, vr_wait(u.fd, u.ctx, 0, f[0].seq_no, 0));
	ERRNO(ETIME, vr_wait(u.fd, u.ctx, 0, f[0].seq_no, SECOND / 20));
	CHECK(vg_now() - begin >= SECOND / 20, "a wait was too short");

	/*
	 * f[0] is the delayed job's fence. f[1] is a fence of ring 1: no job was submitted there,
	 * so f[1] must count as signalled.
	 */
	f[1] = f[0];
	f[1].ring = 1;
	for (all = 0; all < 2; all++) {
		w = (union drm_amdgpu_wait_fences){
			.in = {
				.fences = (uintptr_t)f,
				.fence_count = 2,
				.wait_all = all,
				.timeout_ns = vr_deadline(SECOND / 20),
			},
		};
		f[1].seq_no = ~0ull;	/* the last job of the ring */
		ERRNO(0, vr_ioctl(u.fd, DRM_IOCTL_AMDGPU_WAIT_FENCES, &w));
		CHECK(w.out.status == !all, "all %d: status %u", all,
		      w.out.status);
		CHECK(all || w.out.first_signaled == 1, "first is %u",
		      w.out.first_signaled);
	}
	*flag(&u, 0) = 1;
	w = (union drm_amdgpu_wait_fences){
		.in = {
			.fences = (uintptr_t)f,
			.fence_count = 2,
			.wait_all = 1,
			.timeout_ns = ~0ull,
		},
	};
	ERRNO(0, vr_ioctl(u.fd, DRM_IOCTL_AMDGPU_WAIT_FENCES, &w));
	CHECK(w.out.status == 1, "status %u", w.out.status);
	ERRNO(0, vr_wait(u.fd, u.ctx, 0, f[0].seq_no, 0));
	/*
	 * v.fd has no context u.ctx + 1: each DRM file counts its context IDs from 1, and v.fd has
	 * only one context.
	 */
	ERRNO(EINVAL, vr_wait(v.fd, u.ctx + 1, 0, 1, 0));
	/* v.ctx has no job 1. (Context u.ctx of u.fd, which has the same ID, has a job 1.) */
	ERRNO(EINVAL, vr_wait(v.fd, v.ctx, 0, 1, 0));
}

/*
 * A job depends on a job of another context. Catches: with DEPENDENCIES, the dependent job runs
 * before the other job completes. (SCHEDULED_DEPENDENCIES allows this.)
 */
static void dependencies(void)
{
	struct drm_amdgpu_cs_chunk_dep dep = { .ip_type = AMDGPU_HW_IP_DMA };
	struct user u;
	uint32_t first = 0, second;
	struct vr_ib other;
	uint64_t a, b;
	unsigned int i;

	start(&u);
	first = u.ctx;
	ERRNO(0, vr_ctx_alloc(u.fd, 0, &second));
	ERRNO(0, vr_ib_create(u.fd, VG_PAGE, VA, &other));
	for (i = 0; i < 2; i++) {
		struct vr_cs cs = { .ctx = second, .ring = 1, .ib = &other };
		const uint32_t bos[] = { other.bo.handle, u.flag.handle };

		*flag(&u, 0) = 0;
		*flag(&u, 1) = 0;
		vr_ib_poll(&u.ib, flag_va(0), 1);
		vr_ib_write(&u.ib, flag_va(1), 7);
		a = submit(&u, 0);
		other.ndw = 0;
		vr_ib_copy(&other, flag_va(2), flag_va(1), 4);
		dep.ctx_id = first;
		dep.handle = a;
		vr_cs_chunk(&cs, i ? AMDGPU_CHUNK_ID_DEPENDENCIES :
				     AMDGPU_CHUNK_ID_SCHEDULED_DEPENDENCIES,
			    &dep, sizeof(dep));
		cs.handles = bos;
		cs.n_handles = 2;
		ERRNO(0, vr_cs_submit(u.fd, &cs, &b));
		if (i)
			ERRNO(ETIME, vr_wait(u.fd, second, 1, b, SECOND / 20));
		*flag(&u, 0) = 1;
		ERRNO(0, vr_wait(u.fd, second, 1, b, ~0ull));
		if (i)
			CHECK(*flag(&u, 2) == 7, "the job ran too early");
		ERRNO(0, vr_wait(u.fd, first, 0, a, ~0ull));
	}
	dep.handle = 99;
	{
		struct vr_cs cs = { .ring = 0 };

		vr_cs_chunk(&cs, AMDGPU_CHUNK_ID_DEPENDENCIES, &dep,
			    sizeof(dep));
		ERRNO(EINVAL, try_submit(&u, &cs, NULL, 0, &a));
	}
}

static uint32_t syncobj_create(int fd)
{
	struct drm_syncobj_create args = { 0 };

	ERRNO(0, vr_ioctl(fd, DRM_IOCTL_SYNCOBJ_CREATE, &args));
	return args.handle;
}

static int syncobj_wait(int fd, uint32_t handle, uint64_t ns)
{
	struct drm_syncobj_wait args = {
		.handles = (uintptr_t)&handle,
		.count_handles = 1,
		.timeout_nsec = (int64_t)vr_deadline(ns),
	};

	return vr_ioctl(fd, DRM_IOCTL_SYNCOBJ_WAIT, &args);
}

static int timeline_wait(int fd, uint32_t handle, uint64_t point, uint64_t ns)
{
	struct drm_syncobj_timeline_wait args = {
		.handles = (uintptr_t)&handle,
		.points = (uintptr_t)&point,
		.count_handles = 1,
		.timeout_nsec = (int64_t)vr_deadline(ns),
	};

	return vr_ioctl(fd, DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, &args);
}

/* One job signals a binary syncobj for which another job waits. */
static void syncobjs(void)
{
	struct drm_amdgpu_cs_chunk_sem sem;
	struct vr_cs out = { .ring = 0 }, in = { .ring = 1 };
	struct user u;
	uint64_t a, b;

	start(&u);
	sem.handle = syncobj_create(u.fd);
	vr_cs_chunk(&in, AMDGPU_CHUNK_ID_SYNCOBJ_IN, &sem, sizeof(sem));
	/* CS must fail, because the syncobj has no fence yet. */
	vr_ib_write(&u.ib, flag_va(2), 1);
	ERRNO(EINVAL, try_submit(&u, &in, NULL, 0, &b));

	vr_ib_poll(&u.ib, flag_va(0), 1);
	vr_ib_write(&u.ib, flag_va(1), 7);
	vr_cs_chunk(&out, AMDGPU_CHUNK_ID_SYNCOBJ_OUT, &sem, sizeof(sem));
	ERRNO(0, try_submit(&u, &out, NULL, 0, &a));
	ERRNO(ETIME, syncobj_wait(u.fd, sem.handle, SECOND / 20));
	{
		struct vr_ib keep = u.ib;

		u.ib.bo.va += VG_PAGE;
		u.ib.bo.cpu = (char *)u.ib.bo.cpu + VG_PAGE;
		vr_ib_copy(&u.ib, flag_va(2), flag_va(1), 4);
		ERRNO(0, try_submit(&u, &in, NULL, 0, &b));
		u.ib = keep;
	}
	ERRNO(ETIME, vr_wait(u.fd, u.ctx, 1, b, SECOND / 20));
	*flag(&u, 0) = 1;
	ERRNO(0, syncobj_wait(u.fd, sem.handle, JOB_NS));
	ERRNO(0, vr_wait(u.fd, u.ctx, 1, b, ~0ull));
	CHECK(*flag(&u, 2) == 7, "the job ran too early");

	sem.handle = 77;
	vr_ib_write(&u.ib, flag_va(3), 1);
	ERRNO(ENOENT, try_submit(&u, &in, NULL, 0, &b));
	vr_ib_write(&u.ib, flag_va(3), 1);
	ERRNO(EINVAL, try_submit(&u, &out, NULL, 0, &b));
	CHECK(!*flag(&u, 3), "a refused job has run");
}

/* Jobs signal points of a timeline syncobj, and other jobs wait for them. */
static void timelines(void)
{
	struct drm_amdgpu_cs_chunk_syncobj point = { 0 };
	struct user u;
	uint64_t seq;
	unsigned int i;

	start(&u);
	point.handle = syncobj_create(u.fd);
	for (i = 1; i <= 3; i++) {
		struct vr_cs cs = { .ring = i & 1 };
		struct drm_amdgpu_cs_chunk_syncobj before = point;

		point.point = i * 10;
		before.point = (i - 1) * 10;
		if (i == 1)
			vr_ib_poll(&u.ib, flag_va(0), 1);
		else
			vr_cs_chunk(&cs, AMDGPU_CHUNK_ID_SYNCOBJ_TIMELINE_WAIT,
				    &before, sizeof(before));
		vr_ib_add(&u.ib, flag_va(2), i);
		vr_ib_copy(&u.ib, flag_va(10 + i), flag_va(2), 4);
		vr_cs_chunk(&cs, AMDGPU_CHUNK_ID_SYNCOBJ_TIMELINE_SIGNAL, &point,
			    sizeof(point));
		ERRNO(0, try_submit(&u, &cs, NULL, 0, &seq));
		/*
		 * Write the next IB to another page, because the engine may still read the
		 * current IB.
		 */
		u.ib.bo.va += VG_PAGE;
		u.ib.bo.cpu = (char *)u.ib.bo.cpu + VG_PAGE;
	}
	ERRNO(ETIME, timeline_wait(u.fd, point.handle, 10, SECOND / 20));
	*flag(&u, 0) = 1;
	ERRNO(0, timeline_wait(u.fd, point.handle, 30, JOB_NS));
	CHECK(*flag(&u, 11) == 1 && *flag(&u, 12) == 3 && *flag(&u, 13) == 6,
	      "%u %u %u", *flag(&u, 11), *flag(&u, 12), *flag(&u, 13));
}

/**
 * struct early - a CS that waits for another CS; submit_early() makes the waiting CS
 */
struct early {
	/** @u: DRM file, context and IB of the waiting CS */
	struct user *u;
	/** @point: timeline point that the CS waits for */
	struct drm_amdgpu_cs_chunk_syncobj point;
	/** @tid: ID of the thread in submit_early(); 0: the thread does not run yet */
	_Atomic pid_t tid;
	/** @seq: sequence number of the job of the CS */
	uint64_t seq;
	/** @r: result of the CS */
	int r;
};

static void *submit_early(void *arg)
{
	struct early *e = arg;
	struct vr_cs cs = { .ring = 1 };

	e->tid = gettid();
	vr_cs_chunk(&cs, AMDGPU_CHUNK_ID_SYNCOBJ_TIMELINE_WAIT, &e->point,
		    sizeof(e->point));
	e->r = try_submit(e->u, &cs, NULL, 0, &e->seq);
	return NULL;
}

/* Wait until thread *@tid sleeps in CS, or has ended. */
static void until_asleep(_Atomic pid_t *tid)
{
	char path[64], text[256];
	const char *state;
	ssize_t n;
	int fd;

	while (!*tid)
		sched_yield();
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", *tid);
	for (;;) {
		fd = open(path, O_RDONLY);
		if (fd < 0)
			return;
		n = read(fd, text, sizeof(text) - 1);
		close(fd);
		if (n <= 0)
			return;
		text[n] = 0;
		state = strrchr(text, ')');
		CHECK(state, "%s: %s", path, text);
		if (state[2] != 'R')
			return;
		sched_yield();
	}
}

/*
 * WAIT_FOR_SUBMIT: CS waits for a point that another thread submits later. Catches: CS
 * holds locks during the wait, which lockdep reports on the debug kernel.
 */
static void submitted_later(void)
{
	struct early e = {
		.point = { .flags = DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT },
	};
	struct vr_cs cs = { .ring = 0 };
	struct user u, second;
	pthread_t thread;
	uint64_t seq;

	start(&u);
	e.point.handle = syncobj_create(u.fd);
	e.point.point = 5;
	/* The thread that is created below submits through the same DRM file, with another IB. */
	second = u;
	ERRNO(0, vr_ib_create(u.fd, VG_PAGE, VA, &second.ib));
	vr_ib_copy(&second.ib, flag_va(2), flag_va(1), 4);
	e.u = &second;
	CHECK(!pthread_create(&thread, NULL, submit_early, &e), "no thread");
	until_asleep(&e.tid);

	vr_ib_poll(&u.ib, flag_va(0), 1);
	vr_ib_write(&u.ib, flag_va(1), 7);
	vr_cs_chunk(&cs, AMDGPU_CHUNK_ID_SYNCOBJ_TIMELINE_SIGNAL, &e.point,
		    sizeof(e.point));
	/* WAIT_FOR_SUBMIT applies only to waits. A signal must ignore this flag. */
	ERRNO(0, try_submit(&u, &cs, NULL, 0, &seq));
	pthread_join(thread, NULL);
	ERRNO(0, e.r);
	ERRNO(ETIME, vr_wait(u.fd, u.ctx, 1, e.seq, SECOND / 20));
	*flag(&u, 0) = 1;
	ERRNO(0, vr_wait(u.fd, u.ctx, 1, e.seq, ~0ull));
	CHECK(*flag(&u, 2) == 7, "the job ran too early");

	/* The point is never submitted, so CS must time out. */
	e.point.point = 6;
	vr_ib_write(&second.ib, flag_va(3), 1);
	submit_early(&e);
	ERRNO(ETIME, e.r);
	CHECK(!*flag(&u, 3), "a refused job has run");
}

/*
 * After a job, the engine must write the job's sequence number to the user fence in
 * memory.
 */
static void user_fence(void)
{
	struct drm_amdgpu_cs_chunk_fence fence;
	static const uint32_t domains[] = { GTT, VRAM };
	struct vr_bo bo, big;
	struct user u;
	uint64_t seq;
	unsigned int i;

	start(&u);
	ERRNO(0, vr_bo_create(u.fd, 2 * VG_PAGE, GTT, 0, 0, &big));
	for (i = 0; i < 2; i++) {
		struct vr_cs cs = { .ring = i }, bad = { .ring = i };
		volatile uint64_t *at;

		ERRNO(0, vr_bo_create(u.fd, VG_PAGE, domains[i], 0, 0, &bo));
		memset(bo.cpu, 0xff, VG_PAGE);
		at = (volatile uint64_t *)((char *)bo.cpu + 64);
		fence.handle = bo.handle;
		fence.offset = 64;
		vr_cs_chunk(&cs, AMDGPU_CHUNK_ID_FENCE, &fence, sizeof(fence));
		vr_ib_write(&u.ib, flag_va(0), 1);
		ERRNO(0, try_submit(&u, &cs, NULL, 0, &seq));
		ERRNO(0, vr_wait(u.fd, u.ctx, i, seq, ~0ull));
		CHECK(*at == seq && at[1] == ~0ull && at[-1] == ~0ull,
		      "%#lx %#lx", *at, at[1]);
		fence.offset = VG_PAGE - 4;
		ERRNO(EINVAL, try_submit(&u, &cs, NULL, 0, &seq));
		fence.offset = 0;
		fence.handle = big.handle;
		vr_cs_chunk(&bad, AMDGPU_CHUNK_ID_FENCE, &fence, sizeof(fence));
		ERRNO(EINVAL, try_submit(&u, &bad, NULL, 0, &seq));
		fence.handle = 99;
		ERRNO(EINVAL, try_submit(&u, &bad, NULL, 0, &seq));
		vr_bo_free(&bo);
	}
}

static int fence_to_handle(struct user *u, uint64_t seq, uint32_t what,
			   uint32_t *handle)
{
	union drm_amdgpu_fence_to_handle args = {
		.in = {
			.fence = {
				.ctx_id = u->ctx,
				.ip_type = AMDGPU_HW_IP_DMA,
				.seq_no = seq,
			},
			.what = what,
		},
	};
	int r = vr_ioctl(u->fd, DRM_IOCTL_AMDGPU_FENCE_TO_HANDLE, &args);

	*handle = r ? 0 : args.out.handle;
	return r;
}

static void to_handle(void)
{
	struct drm_syncobj_handle import = { 0 };
	struct pollfd pfd = { .events = POLLIN };
	uint32_t obj, objfd, sync, none;
	struct user u;
	uint64_t seq;

	start(&u);
	vr_ib_poll(&u.ib, flag_va(0), 1);
	seq = submit(&u, 0);
	ERRNO(0, fence_to_handle(&u, seq, AMDGPU_FENCE_TO_HANDLE_GET_SYNCOBJ,
				 &obj));
	ERRNO(0, fence_to_handle(&u, seq,
				 AMDGPU_FENCE_TO_HANDLE_GET_SYNCOBJ_FD, &objfd));
	ERRNO(0, fence_to_handle(&u, ~0ull,
				 AMDGPU_FENCE_TO_HANDLE_GET_SYNC_FILE_FD,
				 &sync));
	ERRNO(EINVAL, fence_to_handle(&u, seq, 3, &none));
	ERRNO(EINVAL, fence_to_handle(&u, seq + 1, 0, &none));
	pfd.fd = (int)sync;
	CHECK(!poll(&pfd, 1, 50), "a sync file of a running job");
	import.fd = (int)objfd;
	ERRNO(0, vr_ioctl(u.fd, DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE, &import));
	ERRNO(ETIME, syncobj_wait(u.fd, obj, SECOND / 50));
	ERRNO(ETIME, syncobj_wait(u.fd, import.handle, SECOND / 50));
	*flag(&u, 0) = 1;
	ERRNO(0, syncobj_wait(u.fd, obj, JOB_NS));
	ERRNO(0, syncobj_wait(u.fd, import.handle, JOB_NS));
	CHECK(poll(&pfd, 1, JOB_MS) == 1, "the sync file does not signal");
}

/*
 * Use more address spaces than VMIDs. Catches: a job accesses the memory of another
 * file.
 */
static void many_files(void)
{
	enum { N = 6, ROUNDS = 30 };
	struct user u[N];
	struct vr_bo bo[N];
	uint64_t seq[N];
	int i, round;

	start(&u[0]);
	for (i = 0; i < N; i++) {
		if (i)
			user_open(&u[i]);
		ERRNO(0, vr_bo_create(u[i].fd, VG_MIB, i & 1 ? VRAM : GTT, 0, VA,
				      &bo[i]));
		vg_pattern_fill(bo[i].cpu, VG_MIB / 2, SEED + i, 0);
	}
	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < N; i++) {
			struct vr_cs cs = { .ring = (round + i) & 1 };

			memset((char *)bo[i].cpu + VG_MIB / 2, 0, VG_MIB / 2);
			vr_ib_copy(&u[i].ib, VA + VG_MIB / 2, VA, VG_MIB / 2);
			vr_ib_add(&u[i].ib, flag_va(0), i + 1);
			ERRNO(0, try_submit(&u[i], &cs, &bo[i].handle, 1,
					    &seq[i]));
		}
		for (i = 0; i < N; i++) {
			ERRNO(0, vr_wait(u[i].fd, u[i].ctx, (round + i) & 1,
					 seq[i], ~0ull));
			OK(vg_pattern_check((char *)bo[i].cpu + VG_MIB / 2,
					    VG_MIB / 2, SEED + i, 0));
		}
	}
	for (i = 0; i < N; i++)
		CHECK(*flag(&u[i], 0) == (uint32_t)(ROUNDS * (i + 1)),
		      "file %d: %u", i, *flag(&u[i], 0));
}

/*
 * Two DRM files submit jobs that use a shared BO. The second job must wait for the first,
 * unless the BO was created with EXPLICIT_SYNC.
 */
static void implicit(void)
{
	struct drm_prime_handle prime = { .flags = DRM_CLOEXEC | DRM_RDWR };
	struct user u, v;
	uint64_t a, b;
	int explicit;

	start(&u);
	user_open(&v);
	for (explicit = 0; explicit < 2; explicit++) {
		struct vr_cs cs = { .ring = 0 }, cs2 = { .ring = 1 };
		struct vr_bo bo;

		ERRNO(0, vr_bo_create(u.fd, VG_PAGE, GTT, explicit ?
				      AMDGPU_GEM_CREATE_EXPLICIT_SYNC : 0, VA,
				      &bo));
		prime.handle = bo.handle;
		ERRNO(0, vr_ioctl(u.fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime));
		ERRNO(0, vr_ioctl(v.fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &prime));
		ERRNO(0, vr_gem_va(v.fd, prime.handle, AMDGPU_VA_OP_MAP,
				   VR_MAP_RW, VA, 0, VG_PAGE));
		*flag(&u, 0) = 0;
		vr_ib_poll(&u.ib, flag_va(0), 1);
		vr_ib_write(&u.ib, VA, 7);
		ERRNO(0, try_submit(&u, &cs, &bo.handle, 1, &a));
		vr_ib_copy(&v.ib, flag_va(1), VA, 4);
		ERRNO(0, try_submit(&v, &cs2, &prime.handle, 1, &b));
		ERRNO(explicit ? 0 : ETIME,
		      vr_wait(v.fd, v.ctx, 1, b, explicit ? ~0ull : SECOND / 20));
		*flag(&u, 0) = 1;
		ERRNO(0, vr_wait(v.fd, v.ctx, 1, b, ~0ull));
		CHECK(*flag(&v, 1) == (explicit ? 0 : 7), "the copy read %u",
		      *flag(&v, 1));
		ERRNO(0, vr_wait(u.fd, u.ctx, 0, a, ~0ull));
		ERRNO(0, vr_gem_close(v.fd, prime.handle));
		close(prime.fd);
		vr_bo_free(&bo);
	}
}

static int query2(struct user *u, uint32_t *flags)
{
	union drm_amdgpu_ctx args = {
		.in = { .op = AMDGPU_CTX_OP_QUERY_STATE2, .ctx_id = u->ctx },
	};
	int r = vr_ioctl(u->fd, DRM_IOCTL_AMDGPU_CTX, &args);

	*flags = r ? 0 : args.out.state.flags;
	return r;
}

/*
 * Wait until job @seq fails. The context of @u must then be guilty. Catches: the context of
 * @innocent is guilty or stops working.
 */
static void expect_guilty(struct user *u, struct user *innocent, uint64_t seq,
			  const char *what)
{
	uint32_t flags;
	int r;

	r = vr_wait(u->fd, u->ctx, 0, seq, ~0ull);
	CHECK(r == -ETIME || r == -ECANCELED, "%s: its job ended with %d", what,
	      r);
	ERRNO(0, query2(u, &flags));
	CHECK(flags & AMDGPU_CTX_QUERY2_FLAGS_GUILTY, "%s: flags %#x", what,
	      flags);
	ERRNO(0, query2(innocent, &flags));
	CHECK(!(flags & AMDGPU_CTX_QUERY2_FLAGS_GUILTY), "%s: the innocent one",
	      what);
	vr_ib_write(&u->ib, flag_va(0), 1);
	{
		struct vr_cs cs = { 0 };

		ERRNO(ECANCELED, try_submit(u, &cs, NULL, 0, &seq));
	}
	*flag(innocent, 0) = 0;
	vr_ib_write(&innocent->ib, flag_va(0), 9);
	finish(innocent, 0);
	CHECK(*flag(innocent, 0) == 9, "%s: others do not run", what);
	/* A new context of the same file must work. */
	ERRNO(0, vr_ctx_free(u->fd, u->ctx));
	ERRNO(0, vr_ctx_alloc(u->fd, 0, &u->ctx));
	*flag(u, 0) = 0;
	vr_ib_write(&u->ib, flag_va(0), 9);
	finish(u, 1);
	CHECK(*flag(u, 0) == 9, "%s: a new context does not run", what);
}

/* Submit packets that an IB must not execute. Catches: a bad job affects other jobs. */
static void hostile(void)
{
	const struct {
		const char *what;
		uint32_t dw[8];
		unsigned int n;
	} bad[] = {
		{ "an unknown packet", { 0xff }, 1 },
		{ "a register",
		  { SDMA_PKT(SDMA_OP_SRBM_WRITE, 0) | SDMA_SRBM_WRITE__BYTE_EN,
		    HUB(VGPU_HUB_MM) + VM_CONTEXT_CNTL(0), 0 }, 3 },
		{ "an IB of another VMID",
		  { SDMA_PKT(SDMA_OP_INDIRECT, 0) |
		    VGPU_PREP(SDMA_INDIRECT__VMID, 5u), (uint32_t)VA_FLAG, 0, 4 },
		  6 },
		{ "a packet beyond the end",
		  { SDMA_PKT(SDMA_OP_FENCE, 0), (uint32_t)VA_FLAG }, 2 },
	};
	struct user u, v;
	unsigned int i;

	start(&u);
	user_open(&v);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		*flag(&u, 1) = 0;
		vr_ib_write(&u.ib, flag_va(1), 5);
		vr_ib_emit(&u.ib, bad[i].dw, bad[i].n);
		expect_guilty(&u, &v, submit(&u, 0), bad[i].what);
		CHECK(*flag(&u, 1) == 5, "%s: what came before", bad[i].what);
	}
}

/*
 * Submit many bad jobs, one after the other. Catches: the engine does not recover from
 * one of them.
 */
static void bad_row(void)
{
	enum { N = 16 };
	uint64_t seq[N], failures;
	struct user u, v;
	uint32_t ctx[N];
	int i, r;

	start(&u);
	user_open(&v);
	failures = tap_driver_counter(gpu, "recovery_failures");
	vr_ib_emit(&u.ib, (uint32_t[]){ 0xff }, 1);
	for (i = 0; i < N; i++) {
		ERRNO(0, vr_ctx_alloc(u.fd, 0, &ctx[i]));
		ERRNO(0, vr_submit(u.fd, ctx[i], i & 1, &u.ib,
				   &u.ib.bo.handle, 1, &seq[i]));
	}
	for (i = 0; i < N; i++) {
		r = vr_wait(u.fd, ctx[i], i & 1, seq[i], ~0ull);
		CHECK(r == -ETIME, "bad job %d ended with %d", i, r);
	}
	vr_ib_write(&v.ib, flag_va(0), 9);
	finish(&v, 0);
	vr_ib_write(&v.ib, flag_va(1), 9);
	finish(&v, 1);
	CHECK(*flag(&v, 0) == 9 && *flag(&v, 1) == 9, "the good ones");
	CHECK(tap_driver_counter(gpu, "recovery_failures") == failures,
	      "engines were given up");
}

/* A nested IB must run in the address space of its job, not in the kernel's address space. */
static void nested(void)
{
	struct vr_bo inner;
	struct user u;
	struct vr_ib ib;
	uint32_t dw[SDMA_INDIRECT_DWORDS] = { SDMA_PKT(SDMA_OP_INDIRECT, 0) };
	struct vr_cs cs = { 0 };
	uint64_t seq;

	start(&u);
	ERRNO(0, vr_bo_create(u.fd, VG_PAGE, GTT, 0, VA, &inner));
	ib = (struct vr_ib){ .bo = inner };
	vr_ib_write(&ib, flag_va(4), 0x33);
	dw[1] = (uint32_t)VA;
	dw[2] = VA >> 32;
	dw[3] = ib.ndw;
	vr_ib_emit(&u.ib, dw, SDMA_INDIRECT_DWORDS);
	vr_ib_add(&u.ib, flag_va(4), 0x100);
	ERRNO(0, try_submit(&u, &cs, &inner.handle, 1, &seq));
	ERRNO(0, vr_wait(u.fd, u.ctx, 0, seq, ~0ull));
	CHECK(*flag(&u, 4) == 0x133, "%#x", *flag(&u, 4));
}

/*
 * Catches: the driver signals a job's fence because of a TRAP in an IB. (Only the TRAP that the
 * driver emits at the job's end may signal the fence.)
 */
static void traps(void)
{
	struct user u, v;
	uint64_t seq;
	unsigned int i;

	start(&u);
	user_open(&v);
	for (i = 1; i < 500; i++)
		vr_ib_emit(&u.ib, (uint32_t[]){ SDMA_PKT(SDMA_OP_TRAP, 0),
			   i * (SDMA_TRAP_DW1__CONTEXT / 500) },
			   SDMA_TRAP_DWORDS);
	vr_ib_poll(&u.ib, flag_va(0), 1);
	seq = submit(&u, 0);
	ERRNO(ETIME, vr_wait(u.fd, u.ctx, 0, seq, SECOND / 10));
	*flag(&u, 0) = 1;
	ERRNO(0, vr_wait(u.fd, u.ctx, 0, seq, ~0ull));
	vr_ib_write(&v.ib, flag_va(0), 1);
	finish(&v, 0);
}

static void set_lockup(const char *ms)
{
	int f = open(LOCKUP, O_WRONLY);

	CHECK(f >= 0 && write(f, ms, strlen(ms)) > 0, LOCKUP);
	close(f);
}

/*
 * WAIT_FENCES (wait_all = 0) waits only for job @seq, which fails. Catches: the call returns the
 * job's error without storing the fence's index.
 */
static void expect_failed_first(struct user *u, uint64_t seq)
{
	struct drm_amdgpu_fence f = {
		.ctx_id = u->ctx, .ip_type = AMDGPU_HW_IP_DMA, .seq_no = seq,
	};
	union drm_amdgpu_wait_fences w = {
		.in = {
			.fences = (uintptr_t)&f,
			.fence_count = 1,
			.timeout_ns = ~0ull,
		},
	};
	int r = vr_ioctl(u->fd, DRM_IOCTL_AMDGPU_WAIT_FENCES, &w);

	CHECK(r == -ETIME || r == -ECANCELED, "the wait ended with %d", r);
	CHECK(w.out.status == 1 && !w.out.first_signaled,
	      "status %#x, first is %u", w.out.status, w.out.first_signaled);
}

/* The lockup timeout must end a job that never completes. */
static void hangs(void)
{
	struct user u, v;
	uint64_t seq;

	start(&u);
	user_open(&v);
	/* The job must not fail before the wait has begun, so the timeout is long. */
	set_lockup("2000");
	vr_ib_poll(&u.ib, flag_va(0), 1);
	seq = submit(&u, 0);
	expect_failed_first(&u, seq);
	/*
	 * Use a longer timeout, because the good jobs that follow may take more than 2
	 * seconds.
	 */
	set_lockup("10000");
	expect_guilty(&u, &v, seq, "a job without end");
}

static void submit_and_die(void *arg)
{
	struct user u;
	struct vr_bo bo;
	struct vr_cs cs = { 0 };
	unsigned int i;
	uint64_t seq;

	(void)arg;
	user_open(&u);
	ERRNO(0, vr_bo_create(u.fd, 4 * VG_MIB, VRAM, 0, VA, &bo));
	for (i = 0; i < 100; i++)
		vr_ib_fill(&u.ib, VA, i, 4 * VG_MIB);
	ERRNO(0, try_submit(&u, &cs, &bo.handle, 1, &seq));
	for (i = 0; i < 20; i++)
		ERRNO(0, try_submit(&u, &cs, &bo.handle, 1, &seq));
}

/*
 * Close files and end processes while their jobs are in flight. Catches: the memory of a
 * closed file or an ended process is not freed.
 */
static void left_behind(void)
{
	struct vg_mem_info base;
	struct user u, v;
	unsigned int i;
	pid_t pid;

	start(&u);
	OK(vg_mem_info(gpu, &base));
	for (i = 0; i < 5; i++) {
		tap_in_child(submit_and_die, NULL);
		pid = fork();
		if (!pid) {
			submit_and_die(NULL);
			raise(SIGKILL);
		}
		CHECK(pid > 0 && waitpid(pid, NULL, 0) == pid, "fork");
		user_open(&v);
		vr_ib_fill(&v.ib, VA_FLAG, i, VG_PAGE);
		submit(&v, i & 1);
		close(v.fd);
		munmap(v.flag.cpu, v.flag.size);
		munmap(v.ib.bo.cpu, v.ib.bo.size);
	}
	OK(vg_mem_wait_freed(gpu, &base, VG_TIMEOUT_MS));
	vr_ib_write(&u.ib, flag_va(0), 1);
	finish(&u, 0);
}

static int bo_list(int fd, uint32_t op, uint32_t *handle, const void *entries,
		   uint32_t n, uint32_t size)
{
	union drm_amdgpu_bo_list args = {
		.in = {
			.operation = op,
			.list_handle = *handle,
			.bo_number = n,
			.bo_info_size = size,
			.bo_info_ptr = (uintptr_t)entries,
		},
	};
	int r = vr_ioctl(fd, DRM_IOCTL_AMDGPU_BO_LIST, &args);

	if (!r)
		*handle = args.out.list_handle;
	return r;
}

/* BO_LIST: create, update and use a BO list. Then pass bad arguments. */
static void bo_lists(void)
{
	struct drm_amdgpu_bo_list_entry e[2] = { 0 };
	struct { struct drm_amdgpu_bo_list_entry e; uint32_t more; } l[2];
	uint32_t list = 0, none = 0, s[2];
	struct vr_cs cs = { 0 };
	struct user u;
	uint64_t seq;

	start(&u);
	e[0].bo_handle = u.ib.bo.handle;
	e[1].bo_handle = u.flag.handle;
	ERRNO(0, bo_list(u.fd, AMDGPU_BO_LIST_OP_CREATE, &list, e, 1,
			 sizeof(e[0])));
	ERRNO(0, bo_list(u.fd, AMDGPU_BO_LIST_OP_UPDATE, &list, e, 2,
			 sizeof(e[0])));
	memset(l, 0xff, sizeof(l));
	l[0].e = e[0];
	l[1].e = e[1];
	/* bo_info_size may be larger than the structure. */
	ERRNO(0, bo_list(u.fd, AMDGPU_BO_LIST_OP_UPDATE, &list, l, 2,
			 sizeof(l[0])));
	s[0] = e[0].bo_handle;
	s[1] = e[1].bo_handle;
	/* bo_info_size may be smaller than the structure. */
	ERRNO(0, bo_list(u.fd, AMDGPU_BO_LIST_OP_UPDATE, &list, s, 2, 4));
	cs.ctx = u.ctx;
	cs.ib = &u.ib;
	cs.bo_list = list;
	vr_ib_write(&u.ib, flag_va(0), 4);
	ERRNO(0, vr_cs_submit(u.fd, &cs, &seq));
	ERRNO(0, vr_wait(u.fd, u.ctx, 0, seq, ~0ull));
	CHECK(*flag(&u, 0) == 4, "the job did not run");
	/* CS must refuse a job that has both a BO list by handle and a list in a chunk. */
	cs.handles = s;
	cs.n_handles = 2;
	ERRNO(EINVAL, vr_cs_submit(u.fd, &cs, &seq));
	cs.handles = NULL;

	e[1].bo_handle = 99;
	ERRNO(ENOENT, bo_list(u.fd, AMDGPU_BO_LIST_OP_CREATE, &none, e, 2,
			      sizeof(e[0])));
	ERRNO(EINVAL, bo_list(u.fd, AMDGPU_BO_LIST_OP_CREATE, &none, e,
			      128 * 1024 + 1, sizeof(e[0])));
	ERRNO(EFAULT, bo_list(u.fd, AMDGPU_BO_LIST_OP_CREATE, &none, (void *)8,
			      2, sizeof(e[0])));
	ERRNO(EINVAL, bo_list(u.fd, 3, &none, e, 1, sizeof(e[0])));
	none = 50;
	ERRNO(ENOENT, bo_list(u.fd, AMDGPU_BO_LIST_OP_UPDATE, &none, e, 1,
			      sizeof(e[0])));
	ERRNO(0, bo_list(u.fd, AMDGPU_BO_LIST_OP_DESTROY, &list, e, 0,
			 sizeof(e[0])));
	cs.bo_list = 1;
	ERRNO(ENOENT, vr_cs_submit(u.fd, &cs, &seq));
}

static int ctx_op(int fd, uint32_t op, uint32_t flags, uint32_t id)
{
	union drm_amdgpu_ctx args = {
		.in = { .op = op, .flags = flags, .ctx_id = id },
	};

	return vr_ioctl(fd, DRM_IOCTL_AMDGPU_CTX, &args);
}

static void contexts(void)
{
	union drm_amdgpu_vm vm = { .in = { .op = AMDGPU_VM_OP_RESERVE_VMID } };
	union drm_amdgpu_sched sched = { 0 };
	struct user u;
	uint32_t a, b;
	int other;

	start(&u);
	ERRNO(0, vr_ctx_alloc(u.fd, AMDGPU_CTX_PRIORITY_LOW, &a));
	ERRNO(0, vr_ctx_alloc(u.fd, AMDGPU_CTX_PRIORITY_VERY_HIGH, &b));
	CHECK(a && b && a != b && a != u.ctx, "ids %u %u", a, b);
	/* An invalid priority must count as NORMAL. */
	ERRNO(0, vr_ctx_alloc(u.fd, 12345, &b));
	ERRNO(EINVAL, ctx_op(u.fd, AMDGPU_CTX_OP_ALLOC_CTX, 1, 0));
	ERRNO(EINVAL, ctx_op(u.fd, AMDGPU_CTX_OP_FREE_CTX, 1, a));
	ERRNO(0, ctx_op(u.fd, AMDGPU_CTX_OP_FREE_CTX, 0, a));
	ERRNO(EINVAL, ctx_op(u.fd, AMDGPU_CTX_OP_FREE_CTX, 0, a));
	ERRNO(EINVAL, ctx_op(u.fd, AMDGPU_CTX_OP_FREE_CTX, 0, 0));
	ERRNO(EINVAL, ctx_op(u.fd, AMDGPU_CTX_OP_QUERY_STATE, 0, a));
	ERRNO(0, ctx_op(u.fd, AMDGPU_CTX_OP_QUERY_STATE, 0, b));
	ERRNO(EINVAL, ctx_op(u.fd, AMDGPU_CTX_OP_QUERY_STATE2, 0, a));
	ERRNO(0, ctx_op(u.fd, AMDGPU_CTX_OP_GET_STABLE_PSTATE, 0, b));
	ERRNO(0, ctx_op(u.fd, AMDGPU_CTX_OP_SET_STABLE_PSTATE, 0, b));
	ERRNO(EOPNOTSUPP, ctx_op(u.fd, AMDGPU_CTX_OP_SET_STABLE_PSTATE, 4, b));
	ERRNO(EINVAL, ctx_op(u.fd, AMDGPU_CTX_OP_SET_STABLE_PSTATE, 5, b));
	ERRNO(EINVAL, ctx_op(u.fd, 0, 0, b));
	ERRNO(EINVAL, ctx_op(u.fd, 7, 0, b));
	other = vr_open(gpu);
	ERRNO(EINVAL, ctx_op(other, AMDGPU_CTX_OP_FREE_CTX, 0, b));
	close(other);

	ERRNO(0, vr_ioctl(u.fd, DRM_IOCTL_AMDGPU_VM, &vm));
	vm.in.op = AMDGPU_VM_OP_UNRESERVE_VMID;
	ERRNO(0, vr_ioctl(u.fd, DRM_IOCTL_AMDGPU_VM, &vm));
	vm.in.op = 3;
	ERRNO(EINVAL, vr_ioctl(u.fd, DRM_IOCTL_AMDGPU_VM, &vm));
	vm.in.op = AMDGPU_VM_OP_RESERVE_VMID;
	vm.in.flags = 1;
	ERRNO(EINVAL, vr_ioctl(u.fd, DRM_IOCTL_AMDGPU_VM, &vm));
	/*
	 * SCHED must fail: its caller must be the master of a primary node, and a
	 * render node has no master.
	 */
	ERRNO(EACCES, vr_ioctl(u.fd, DRM_IOCTL_AMDGPU_SCHED, &sched));
}

static void bad(void)
{
	struct drm_amdgpu_cs_chunk_ib ib = { .ip_type = AMDGPU_HW_IP_DMA };
	struct drm_amdgpu_cs_chunk chunk[2] = { 0 };
	uint64_t ptr[2] = { (uintptr_t)&chunk[0], (uintptr_t)&chunk[1] };
	union drm_amdgpu_cs args;
	struct user u;
	unsigned int i;

#define CS(want, ctxid, n, p) do {					\
		args = (union drm_amdgpu_cs){				\
			.in = { .ctx_id = (ctxid), .num_chunks = (n),	\
				.chunks = (uintptr_t)(p) },		\
		};							\
		ERRNO(want, vr_ioctl(u.fd, DRM_IOCTL_AMDGPU_CS, &args));\
	} while (0)

	start(&u);
	chunk[0].chunk_id = AMDGPU_CHUNK_ID_IB;
	chunk[0].length_dw = sizeof(ib) / 4;
	chunk[0].chunk_data = (uintptr_t)&ib;
	ib.va_start = VA_IB;
	vr_ib_write(&u.ib, flag_va(0), 1);
	ib.ib_bytes = u.ib.ndw * 4;
	CS(0, u.ctx, 1, ptr);
	CS(EINVAL, u.ctx, 0, ptr);
	CS(EINVAL, u.ctx + 1, 1, ptr);
	CS(EFAULT, u.ctx, 1, 8);
	CS(EFAULT, u.ctx, 1, 1ull << 60);
	CS(EINVAL, u.ctx, ~0u, ptr);
	ptr[0] = 8;
	CS(EFAULT, u.ctx, 1, ptr);
	ptr[0] = (uintptr_t)&chunk[0];
	chunk[0].length_dw--;
	CS(EINVAL, u.ctx, 1, ptr);
	chunk[0].length_dw = ~0u;
	CS(EINVAL, u.ctx, 1, ptr);
	chunk[0].length_dw = sizeof(ib) / 4;
	chunk[0].chunk_data = 8;
	CS(EFAULT, u.ctx, 1, ptr);
	chunk[0].chunk_data = (uintptr_t)&ib;
	for (i = 0; i < 20; i++) {
		ib.ip_type = i;
		if (i != AMDGPU_HW_IP_DMA)
			CS(EINVAL, u.ctx, 1, ptr);
	}
	ib.ip_type = AMDGPU_HW_IP_DMA;
	ib.ip_instance = 1;
	CS(EINVAL, u.ctx, 1, ptr);
	ib.ip_instance = 0;
	ib.ring = 2;
	CS(EINVAL, u.ctx, 1, ptr);
	ib.ring = 0;
	ib.ib_bytes = 1u << 22;
	CS(EINVAL, u.ctx, 1, ptr);
	ib.ib_bytes = u.ib.ndw * 4;
	/*
	 * CS must refuse chunks of the kinds FENCE, BO_HANDLES and CP_GFX_SHADOW that lack
	 * the required data, and chunks of unknown kinds.
	 */
	chunk[1].chunk_data = (uintptr_t)&ib;
	chunk[1].chunk_id = AMDGPU_CHUNK_ID_FENCE;
	CS(EINVAL, u.ctx, 2, ptr);
	chunk[1].chunk_id = AMDGPU_CHUNK_ID_BO_HANDLES;
	CS(EINVAL, u.ctx, 2, ptr);
	chunk[1].chunk_id = AMDGPU_CHUNK_ID_CP_GFX_SHADOW;
	CS(EINVAL, u.ctx, 2, ptr);
	chunk[1].chunk_id = 0;
	CS(EINVAL, u.ctx, 2, ptr);
	chunk[1].chunk_id = 99;
	CS(EINVAL, u.ctx, 2, ptr);
	/* A submission without an IB must fail. */
	chunk[1].chunk_id = AMDGPU_CHUNK_ID_DEPENDENCIES;
	CS(EINVAL, u.ctx, 1, &ptr[1]);
	CS(0, u.ctx, 2, ptr);
	ERRNO(0, vr_wait(u.fd, u.ctx, 0, args.out.handle, ~0ull));
#undef CS
	ERRNO(EINVAL, vr_wait(u.fd, u.ctx, 2, 1, 0));
	ERRNO(EINVAL, vr_wait(u.fd, 0, 0, 1, 0));
	{
		union drm_amdgpu_wait_fences w = {
			.in = { .fences = 8, .fence_count = 1, .wait_all = 1 },
		};

		ERRNO(EFAULT, vr_ioctl(u.fd, DRM_IOCTL_AMDGPU_WAIT_FENCES, &w));
		w.in.fence_count = ~0u;
		ERRNO(EINVAL, vr_ioctl(u.fd, DRM_IOCTL_AMDGPU_WAIT_FENCES, &w));
		w.in.fence_count = 0;
		w.in.wait_all = 0;
		ERRNO(EINVAL, vr_ioctl(u.fd, DRM_IOCTL_AMDGPU_WAIT_FENCES, &w));
	}
}

static const struct tap_case cases[] = {
	{ "copies on both rings", copies, 1 },
	{ "jobs of a ring run in order", in_order, 1 },
	{ "WAIT_CS and WAIT_FENCES", waits, 1 },
	{ "DEPENDENCIES", dependencies, 1 },
	{ "syncobjs in and out", syncobjs, 1 },
	{ "points of a timeline", timelines, 1 },
	{ "a point that is submitted later", submitted_later, 1 },
	{ "the user fence", user_fence, 1 },
	{ "FENCE_TO_HANDLE", to_handle, 1 },
	{ "six address spaces share two VMIDs", many_files, 1 },
	{ "implicit synchronisation, and EXPLICIT_SYNC", implicit, 1 },
	{ "an IB in an IB", nested, 1 },
	{ "TRAPs of an IB", traps, 1 },
	{ "what an IB must not do", hostile, 1 },
	{ "many bad jobs in a row", bad_row, 1 },
	{ "a job without end", hangs, 1 },
	{ "files closed and processes killed with jobs in flight", left_behind, 1 },
	{ "BO lists", bo_lists, 1 },
	{ "contexts", contexts, 1 },
	{ "bad input", bad, 1 },
};

int main(int argc, char **argv)
{
	return tap_main(TAP_CASES(cases), argc, argv);
}
