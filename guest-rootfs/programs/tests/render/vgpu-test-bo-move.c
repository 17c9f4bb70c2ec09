// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Move a BO that jobs use. Catches: a submission waits for the move; the move does not wait for
 * jobs; a job reads old memory.
 */
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <drm/vgem_drm.h>

#include "render.h"
#include "tap.h"

#define SEED	0x3e
#define SIZE	(4 * VG_MIB)
#define VA	0x200000000ull
#define VA_OUT	0x300000000ull
#define VA_IB	0x8000000ull
#define VRAM	AMDGPU_GEM_DOMAIN_VRAM
#define GTT	AMDGPU_GEM_DOMAIN_GTT
#define SECOND	1000000000ull

enum { IBS = 4, TURNS = 40 };

static struct vg vg;
static struct vg_gpu *gpu;
static int vgem;

/* A DRM file with a context. Jobs of the context copy to the BO @out. */
struct user {
	int fd;
	uint32_t ctx;
	struct vr_ib ib[IBS];
	struct vr_bo out;
};

static void user_init(struct user *u, int fd)
{
	unsigned int i;

	u->fd = fd;
	ERRNO(0, vr_ctx_alloc(fd, 0, &u->ctx));
	for (i = 0; i < IBS; i++)
		ERRNO(0, vr_ib_create(fd, VG_PAGE, VA_IB + i * VG_PAGE,
				      &u->ib[i]));
	ERRNO(0, vr_bo_create(fd, SIZE, GTT, 0, VA_OUT, &u->out));
	memset(u->out.cpu, 0, SIZE);
}

static void start(struct user *u, struct user *v)
{
	int fd;

	OK(vg_open_bare(&vg));
	gpu = &vg.gpu[0];
	vgem = tap_open_vgem();
	user_init(u, gpu->fd);
	fd = vr_open(gpu);
	CHECK(fd >= 0, "render node: %d", fd);
	user_init(v, fd);
}

/**
 * struct hold - a fence that delays a job. The delayed job occupies no engine.
 * @fence: handle of a vgem fence, which hold_release() signals
 * @syncobj: syncobj that contains the fence
 */
struct hold {
	uint32_t fence;
	struct drm_amdgpu_cs_chunk_sem syncobj;
};

/*
 * Make a fence that hold_release() signals later. Before this call, do all the work that may take
 * long: ten seconds after the fence was made, vgem signals the fence itself.
 */
static void hold_make(struct hold *h, int fd)
{
	struct drm_mode_create_dumb dumb = { .width = 1024, .height = 1,
					     .bpp = 32 };
	struct dma_buf_export_sync_file sync = { .flags = DMA_BUF_SYNC_RW };
	struct drm_prime_handle prime = { .flags = DRM_CLOEXEC | DRM_RDWR };
	struct drm_vgem_fence_attach attach = { .flags = VGEM_FENCE_WRITE };
	struct drm_syncobj_handle import = {
		.flags = DRM_SYNCOBJ_FD_TO_HANDLE_FLAGS_IMPORT_SYNC_FILE,
	};
	struct drm_syncobj_create obj = { 0 };

	ERRNO(0, vr_ioctl(vgem, DRM_IOCTL_MODE_CREATE_DUMB, &dumb));
	attach.handle = dumb.handle;
	ERRNO(0, vr_ioctl(vgem, DRM_IOCTL_VGEM_FENCE_ATTACH, &attach));
	h->fence = attach.out_fence;
	prime.handle = dumb.handle;
	ERRNO(0, vr_ioctl(vgem, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime));
	ERRNO(0, vr_ioctl(prime.fd, DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &sync));
	ERRNO(0, vr_ioctl(fd, DRM_IOCTL_SYNCOBJ_CREATE, &obj));
	import.handle = obj.handle;
	import.fd = sync.fd;
	ERRNO(0, vr_ioctl(fd, DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE, &import));
	h->syncobj.handle = obj.handle;
	close(sync.fd);
	close(prime.fd);
}

static void hold_release(struct hold *h)
{
	struct drm_vgem_fence_signal signal = { .fence = h->fence };

	ERRNO(0, vr_ioctl(vgem, DRM_IOCTL_VGEM_FENCE_SIGNAL, &signal));
}

/*
 * Submit IB @i of @u to @ring. The job also lists the BO with handle @bo (unless 0), and waits for
 * @after (unless NULL).
 */
static uint64_t submit(struct user *u, unsigned int i, uint32_t ring,
		       uint32_t bo, const struct hold *after)
{
	struct vr_ib *ib = &u->ib[i];
	uint32_t handles[3] = { ib->bo.handle, u->out.handle, bo };
	struct vr_cs cs = {
		.ctx = u->ctx, .ring = ring, .ib = ib, .handles = handles,
		.n_handles = bo ? 3 : 2,
	};
	uint64_t seq;

	if (after)
		vr_cs_chunk(&cs, AMDGPU_CHUNK_ID_SYNCOBJ_IN, &after->syncobj,
			    sizeof(after->syncobj));
	ERRNO(0, vr_cs_submit(u->fd, &cs, &seq));
	return seq;
}

/* In the file of @u, create a BO in VRAM with a pattern. Share the BO with the file of @v. */
static void share(struct user *u, struct user *v, struct vr_bo *bo,
		  uint32_t *handle)
{
	struct drm_prime_handle prime = { .flags = DRM_CLOEXEC | DRM_RDWR };

	ERRNO(0, vr_bo_create(u->fd, SIZE, VRAM, 0, VA, bo));
	vg_pattern_fill(bo->cpu, SIZE, SEED, 0);
	prime.handle = bo->handle;
	ERRNO(0, vr_ioctl(u->fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime));
	ERRNO(0, vr_ioctl(v->fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &prime));
	*handle = prime.handle;
	close(prime.fd);
	ERRNO(0, vr_gem_va(v->fd, *handle, AMDGPU_VA_OP_MAP, VR_MAP_RW, VA, 0,
			   SIZE));
}

static void place(int fd, uint32_t handle, uint64_t domain)
{
	struct drm_amdgpu_gem_op op = {
		.handle = handle,
		.op = AMDGPU_GEM_OP_SET_PLACEMENT,
		.value = domain,
	};

	ERRNO(0, vr_ioctl(fd, DRM_IOCTL_AMDGPU_GEM_OP, &op));
}

/*
 * User v's job lists the BO, so the driver moves the BO from domain @from to @to. The move must
 * wait for user u's delayed job.
 */
static void moves_behind(uint64_t from, uint64_t to)
{
	struct user u, v;
	struct hold hold;
	struct vr_bo bo;
	uint32_t shared;
	uint64_t a, b, start_ns;
	double took;

	start(&u, &v);
	share(&u, &v, &bo, &shared);
	place(u.fd, bo.handle, from);
	ERRNO(0, vr_wait(u.fd, u.ctx, 0, submit(&u, 0, 0, bo.handle, NULL),
			 ~0ull));

	hold_make(&hold, u.fd);
	/* If the move to @to did not wait for this write to the BO, the data would be lost. */
	vr_ib_copy(&u.ib[1], VA + SIZE / 2, VA, SIZE / 2);
	a = submit(&u, 1, 0, bo.handle, &hold);
	place(v.fd, shared, to);
	vr_ib_copy(&v.ib[0], VA_OUT, VA, SIZE);
	start_ns = vg_now();
	b = submit(&v, 0, 1, shared, NULL);
	took = (double)(vg_now() - start_ns) / 1e6;
	ERRNO(ETIME, vr_wait(u.fd, u.ctx, 0, a, 0));
	ERRNO(ETIME, vr_wait(v.fd, v.ctx, 1, b, SECOND / 20));
	tap_diag("the submission with the move took %.1f ms", took);

	hold_release(&hold);
	ERRNO(0, vr_wait(u.fd, u.ctx, 0, a, ~0ull));
	ERRNO(0, vr_wait(v.fd, v.ctx, 1, b, ~0ull));
	OK(vg_pattern_check(v.out.cpu, SIZE / 2, SEED, 0));
	OK(vg_pattern_check((char *)v.out.cpu + SIZE / 2, SIZE / 2, SEED, 0));
	OK(vg_pattern_check(bo.cpu, SIZE / 2, SEED, 0));
	OK(vg_pattern_check((char *)bo.cpu + SIZE / 2, SIZE / 2, SEED, 0));

	/* A later job of user u must find the BO at its new location. */
	vr_ib_copy(&u.ib[2], VA_OUT, VA, SIZE);
	a = submit(&u, 2, 0, bo.handle, NULL);
	ERRNO(0, vr_wait(u.fd, u.ctx, 0, a, ~0ull));
	OK(vg_pattern_check(u.out.cpu, SIZE / 2, SEED, 0));
	OK(vg_pattern_check((char *)u.out.cpu + SIZE / 2, SIZE / 2, SEED, 0));
}

static void out_behind(void)
{
	moves_behind(VRAM, GTT);
}

static void in_behind(void)
{
	moves_behind(GTT, VRAM);
}

/*
 * A job that reads the BO but does not list it is submitted before the move. Catches: the
 * move does not wait for this job.
 */
static void unnamed(void)
{
	struct hold hold, late;
	struct user u, v;
	struct vr_bo bo;
	uint32_t shared;
	uint64_t a, b, c;

	start(&u, &v);
	share(&u, &v, &bo, &shared);
	ERRNO(0, vr_wait(u.fd, u.ctx, 0, submit(&u, 0, 0, bo.handle, NULL),
			 ~0ull));
	hold_make(&hold, u.fd);
	hold_make(&late, u.fd);
	vr_ib_copy(&u.ib[1], VA + SIZE / 2, VA, SIZE / 2);
	a = submit(&u, 1, 0, bo.handle, &hold);
	vr_ib_copy(&u.ib[2], VA_OUT, VA, SIZE);
	c = submit(&u, 2, 1, 0, &late);

	place(v.fd, shared, GTT);
	vr_ib_copy(&v.ib[0], VA_OUT, VA, SIZE);
	b = submit(&v, 0, 1, shared, NULL);
	hold_release(&hold);
	ERRNO(0, vr_wait(u.fd, u.ctx, 0, a, ~0ull));
	ERRNO(ETIME, vr_wait(v.fd, v.ctx, 1, b, SECOND / 10));
	hold_release(&late);
	ERRNO(0, vr_wait(u.fd, u.ctx, 1, c, ~0ull));
	ERRNO(0, vr_wait(v.fd, v.ctx, 1, b, ~0ull));
	OK(vg_pattern_check(v.out.cpu, SIZE / 2, SEED, 0));
	OK(vg_pattern_check((char *)v.out.cpu + SIZE / 2, SIZE / 2, SEED, 0));
	/* Job @c, which does not list the BO, must also have read the BO's contents. */
	OK(vg_pattern_check(u.out.cpu, SIZE / 2, SEED, 0));
	OK(vg_pattern_check((char *)u.out.cpu + SIZE / 2, SIZE / 2, SEED, 0));
}

/*
 * After a BO was moved, a job that does not list the BO reads the BO. Catches: the job reads the
 * BO's old memory.
 */
static void unnamed_after(void)
{
	struct user u, v;
	struct hold hold;
	struct vr_bo bo, other;
	uint32_t shared;
	uint64_t b, c;
	uint32_t *got;
	size_t i;

	start(&u, &v);
	share(&u, &v, &bo, &shared);
	memset(bo.cpu, 0x11, SIZE);
	ERRNO(0, vr_wait(u.fd, u.ctx, 0, submit(&u, 0, 0, bo.handle, NULL),
			 ~0ull));
	hold_make(&hold, u.fd);
	submit(&u, 1, 0, bo.handle, &hold);
	place(v.fd, shared, GTT);
	b = submit(&v, 0, 1, shared, NULL);
	hold_release(&hold);
	ERRNO(0, vr_wait(v.fd, v.ctx, 1, b, ~0ull));
	/* Create another BO, which takes the VRAM that the moved BO has left. */
	ERRNO(0, vr_bo_create(v.fd, 16 * SIZE, VRAM, 0, VA + VG_GIB, &other));
	memset(other.cpu, 0x77, other.size);

	vr_ib_copy(&u.ib[2], VA_OUT, VA, SIZE);
	c = submit(&u, 2, 1, 0, NULL);
	ERRNO(0, vr_wait(u.fd, u.ctx, 1, c, ~0ull));
	got = u.out.cpu;
	for (i = 0; i < SIZE / 4; i++)
		/* Zero is correct, too, if the BO's page table entries were cleared. */
		CHECK(got[i] == 0x11111111 || !got[i], "dword %zu is %#x", i,
		      got[i]);
}

/*
 * Jobs move the BO out of VRAM and back into VRAM. The test waits for a job only before it
 * reuses the job's IB.
 */
static void back_and_forth(void)
{
	struct vg_mem_info before;
	struct user u, v;
	struct vr_bo bo;
	uint32_t shared;
	uint64_t seq[2 * IBS], *count;
	unsigned int i;

	start(&u, &v);
	OK(vg_mem_info(gpu, &before));
	share(&u, &v, &bo, &shared);
	memset(bo.cpu, 0, VG_PAGE);
	for (i = 0; i < TURNS; i++) {
		struct user *w = i & 1 ? &v : &u;
		uint32_t handle = i & 1 ? shared : bo.handle;

		place(w->fd, handle, i & 2 ? GTT : VRAM);
		/* Reuse an IB only after its last job has completed. */
		if (i >= 2 * IBS)
			ERRNO(0, vr_wait(w->fd, w->ctx, 0, seq[i % (2 * IBS)],
					 ~0ull));
		w->ib[i / 2 % IBS].ndw = 0;
		vr_ib_add(&w->ib[i / 2 % IBS], VA + 8 * (i % 8), 1);
		seq[i % (2 * IBS)] = submit(w, i / 2 % IBS, 0, handle, NULL);
	}
	for (i = 0; i < 2 * IBS; i++)
		ERRNO(0, vr_wait(i & 1 ? v.fd : u.fd, i & 1 ? v.ctx : u.ctx, 0,
				 seq[i], ~0ull));
	/* The BO must contain the result of all additions. */
	count = bo.cpu;
	for (i = 0; i < 8; i++)
		CHECK(count[i] == TURNS / 8, "word %u: %lu", i, count[i]);
	OK(vg_pattern_check((char *)bo.cpu + VG_PAGE, SIZE - VG_PAGE, SEED,
			    VG_PAGE));
	ERRNO(0, vr_gem_close(v.fd, shared));
	vr_bo_free(&bo);
	/*
	 * The VRAM that the moved BOs occupied is freed some time after the moves. Allow 1 MiB
	 * more than at the start, because the driver may keep page tables.
	 */
	before.vram_used += VG_MIB;
	OK(vg_mem_wait_freed(gpu, &before, VG_TIMEOUT_MS));
}

static const struct tap_case cases[] = {
	{ "out of VRAM, behind a job", out_behind, 1 },
	{ "into VRAM, behind a job", in_behind, 1 },
	{ "behind a job that does not name it", unnamed, 1 },
	{ "before a job that does not name it", unnamed_after, 1 },
	{ "back and forth", back_and_forth, 1 },
};

int main(int argc, char **argv)
{
	return tap_main(TAP_CASES(cases), argc, argv);
}
