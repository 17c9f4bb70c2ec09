// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * This program maps BOs by GEM_VA and accesses the mapped addresses with SDMA jobs. Catches: a
 * mapping points to the wrong memory; a mapping is removed too late or too early, or split at the
 * wrong address; an errno is wrong.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "render.h"
#include "tap.h"

#define SEED	0xa5
#define VA	0x100000000ull
#define VA_IB	0x8000000ull
#define MAP	AMDGPU_VA_OP_MAP
#define UNMAP	AMDGPU_VA_OP_UNMAP
#define CLEAR	AMDGPU_VA_OP_CLEAR
#define REPLACE	AMDGPU_VA_OP_REPLACE
#define VRAM	AMDGPU_GEM_DOMAIN_VRAM
#define GTT	AMDGPU_GEM_DOMAIN_GTT
#define FREE_MS	(VG_TIMEOUT_MS / 3)

static struct vg vg;
static struct vg_gpu *gpu;
static int fd;
static uint32_t ctx;
static struct vr_ib ib;

static void start(void)
{
	OK(vg_open_bare(&vg));
	gpu = &vg.gpu[0];
	fd = gpu->fd;
	ERRNO(0, vr_ctx_alloc(fd, 0, &ctx));
	ERRNO(0, vr_ib_create(fd, 64 * VG_KIB, VA_IB, &ib));
}

/* Run the packets in the IB in a job that lists the @n BOs @bos. */
static void run(const uint32_t *bos, uint32_t n)
{
	uint32_t handles[16];
	uint64_t seq;

	memcpy(handles, bos, n * sizeof(*bos));
	handles[n] = ib.bo.handle;
	ERRNO(0, vr_submit(fd, ctx, 0, &ib, handles, n + 1, &seq));
	ERRNO(0, vr_wait(fd, ctx, 0, seq, ~0ull));
	ib.ndw = 0;
}

static void copy(uint64_t dst, uint64_t src, uint64_t bytes,
		 const struct vr_bo *a, const struct vr_bo *b)
{
	const uint32_t handles[] = { a->handle, b->handle };

	vr_ib_copy(&ib, dst, src, bytes);
	run(handles, 2);
}

/* Copy between all domains. Some sizes allow large page table leaves, others do not. */
static void data(void)
{
	static const uint64_t size[] = {
		VG_PAGE, 17 * VG_PAGE, 2 * VG_MIB, 5 * VG_MIB + VG_PAGE,
	};
	unsigned int i, k;

	start();
	for (i = 0; i < 4; i++) {
		for (k = 0; k < 4; k++) {
			uint64_t va = VA + (k & 1 ? VG_PAGE : 0);
			struct vr_bo a, b;

			ERRNO(0, vr_bo_create(fd, size[i], k & 1 ? VRAM : GTT,
					      0, va, &a));
			ERRNO(0, vr_bo_create(fd, size[i], k & 2 ? VRAM : GTT,
					      0, va + 16 * VG_MIB, &b));
			vg_pattern_fill(a.cpu, size[i], SEED + i, 0);
			copy(b.va, a.va, size[i], &a, &b);
			OK(vg_pattern_check(b.cpu, size[i], SEED + i, 0));
			vr_bo_free(&a);
			vr_bo_free(&b);
		}
	}
}

/* Map parts of a BO, and map one part at two addresses. */
static void parts(void)
{
	struct vr_bo src, dst;
	uint64_t k;

	start();
	ERRNO(0, vr_bo_create(fd, 4 * VG_MIB, VRAM, 0, 0, &src));
	ERRNO(0, vr_bo_create(fd, VG_MIB, GTT, 0, VA, &dst));
	vg_pattern_fill(src.cpu, src.size, SEED, 0);
	for (k = 1; k <= 3; k++)
		ERRNO(0, vr_gem_va(fd, src.handle, MAP, VR_MAP_RW,
				   VA + k * 16 * VG_MIB, 3 * VG_MIB - k * VG_PAGE,
				   VG_MIB));
	ERRNO(0, vr_gem_va(fd, src.handle, MAP, VR_MAP_RW, VA + 64 * VG_MIB,
			   3 * VG_MIB - VG_PAGE, VG_MIB));
	for (k = 1; k <= 4; k++) {
		uint64_t off = 3 * VG_MIB - (k == 4 ? 1 : k) * VG_PAGE;

		memset(dst.cpu, 0, dst.size);
		copy(VA, VA + k * 16 * VG_MIB, VG_MIB, &src, &dst);
		OK(vg_pattern_check(dst.cpu, VG_MIB, SEED, off));
	}
	/* Unmap one of the two addresses. The other must keep its mapping. */
	ERRNO(0, vr_gem_va(fd, src.handle, UNMAP, 0, VA + 16 * VG_MIB, 0, 0));
	memset(dst.cpu, 0, dst.size);
	copy(VA, VA + 64 * VG_MIB, VG_MIB, &src, &dst);
	OK(vg_pattern_check(dst.cpu, VG_MIB, SEED, 3 * VG_MIB - VG_PAGE));
}

static struct drm_amdgpu_info_gpuvm_fault last_fault(int file)
{
	struct drm_amdgpu_info_gpuvm_fault fault = { 0 };
	struct drm_amdgpu_info args = {
		.query = AMDGPU_INFO_GPUVM_FAULT,
		.return_pointer = (uintptr_t)&fault,
		.return_size = sizeof(fault),
	};

	ERRNO(0, vr_ioctl(file, DRM_IOCTL_AMDGPU_INFO, &args));
	return fault;
}

/*
 * At unmapped addresses reads must return zeros, writes must be dropped, and no job may
 * fail.
 */
static void nowhere(void)
{
	struct vr_bo bo;
	int other;

	start();
	ERRNO(0, vr_bo_create(fd, VG_MIB, GTT, 0, VA, &bo));
	memset(bo.cpu, 0x77, bo.size);
	ERRNO(0, vr_gem_va(fd, bo.handle, UNMAP, 0, VA, 0, 0));
	ERRNO(0, vr_gem_va(fd, bo.handle, MAP, VR_MAP_RW, VA + VG_GIB, 0,
			   VG_MIB));
	vr_ib_fill(&ib, VA, 0x12345678, VG_MIB);
	run(&bo.handle, 1);
	OK(vg_fill_check(bo.cpu, bo.size, 0x77777777));
	CHECK(last_fault(fd).addr == VA && last_fault(fd).status & 1u << 18,
	      "the last fault is at %#llx, status %#x", last_fault(fd).addr,
	      last_fault(fd).status);
	copy(VA + VG_GIB, VA, VG_MIB, &bo, &bo);
	OK(vg_fill_check(bo.cpu, bo.size, 0));
	CHECK(last_fault(fd).addr == VA && !(last_fault(fd).status & 1u << 18),
	      "the last fault is at %#llx, status %#x", last_fault(fd).addr,
	      last_fault(fd).status);
	other = vr_open(gpu);
	CHECK(!last_fault(other).addr, "another file's fault");
	close(other);
}

/* A read-only mapping must drop writes. */
static void read_only(void)
{
	struct vr_bo bo;

	start();
	ERRNO(0, vr_bo_create(fd, VG_PAGE, VRAM, 0, 0, &bo));
	ERRNO(0, vr_gem_va(fd, bo.handle, MAP, AMDGPU_VM_PAGE_READABLE, VA, 0,
			   VG_PAGE));
	memset(bo.cpu, 0x77, bo.size);
	vr_ib_fill(&ib, VA, 0, VG_PAGE);
	run(&bo.handle, 1);
	OK(vg_fill_check(bo.cpu, bo.size, 0x77777777));
}

/*
 * CLEAR must split the mappings that contain its first or last address. Catches: a mapping
 * is split at the wrong address.
 */
static void clear(void)
{
	const uint64_t size = 8 * VG_MIB, at = 3 * VG_MIB + VG_PAGE;
	const uint64_t len = 2 * VG_MIB;
	struct vr_bo src, dst;

	start();
	ERRNO(0, vr_bo_create(fd, size, VRAM, 0, VA, &src));
	ERRNO(0, vr_bo_create(fd, size, GTT, 0, VA + VG_GIB, &dst));
	vg_pattern_fill(src.cpu, size, SEED, 0);
	memset(dst.cpu, 0x55, size);
	ERRNO(0, vr_gem_va(fd, 0, CLEAR, 0, VA + at, 0, len));
	copy(dst.va, src.va, size, &src, &dst);
	OK(vg_pattern_check(dst.cpu, at, SEED, 0));
	OK(vg_fill_check((char *)dst.cpu + at, len, 0));
	OK(vg_pattern_check((char *)dst.cpu + at + len, size - at - len, SEED,
			    at + len));
	/*
	 * The two ends must still be mapped, as separate mappings, and the addresses between
	 * them must be free.
	 */
	ERRNO(EINVAL, vr_gem_va(fd, src.handle, MAP, VR_MAP_RW,
				VA + at - VG_PAGE, 0, VG_PAGE));
	ERRNO(0, vr_gem_va(fd, src.handle, MAP, VR_MAP_RW, VA + at, at, len));
	copy(dst.va, src.va, size, &src, &dst);
	OK(vg_pattern_check(dst.cpu, size, SEED, 0));
	ERRNO(0, vr_gem_va(fd, src.handle, UNMAP, 0, VA + at + len, 0, 0));
	ERRNO(0, vr_gem_va(fd, src.handle, UNMAP, 0, VA, 0, 0));
	ERRNO(0, vr_gem_va(fd, src.handle, UNMAP, 0, VA + at, 0, 0));
	ERRNO(ENOENT, vr_gem_va(fd, src.handle, UNMAP, 0, VA, 0, 0));
	/* CLEAR of free addresses must succeed. */
	ERRNO(0, vr_gem_va(fd, 0, CLEAR, 0, VA, 0, size));
}

/* REPLACE must map a BO over the mappings of other BOs. */
static void replace(void)
{
	const uint64_t size = 4 * VG_MIB;
	struct vr_bo a, b, dst;

	start();
	ERRNO(0, vr_bo_create(fd, size, VRAM, 0, VA, &a));
	ERRNO(0, vr_bo_create(fd, size, GTT, 0, VA + size, &b));
	ERRNO(0, vr_bo_create(fd, 2 * size, GTT, 0, VA + VG_GIB, &dst));
	vg_pattern_fill(a.cpu, size, SEED, 0);
	vg_pattern_fill(b.cpu, size, SEED + 1, 0);
	ERRNO(0, vr_gem_va(fd, b.handle, REPLACE, VR_MAP_RW,
			   VA + size - VG_MIB, VG_PAGE, VG_MIB + VG_PAGE));
	vr_ib_copy(&ib, dst.va, VA, 2 * size);
	run((uint32_t[]){ a.handle, b.handle, dst.handle }, 3);
	OK(vg_pattern_check(dst.cpu, size - VG_MIB, SEED, 0));
	OK(vg_pattern_check((char *)dst.cpu + size - VG_MIB, VG_MIB + VG_PAGE,
			    SEED + 1, VG_PAGE));
	OK(vg_pattern_check((char *)dst.cpu + size + VG_PAGE, size - VG_PAGE,
			    SEED + 1, VG_PAGE));
}

/*
 * In a PRT mapping, which has no BO, reads must return zeros and writes must be dropped.
 * This must also hold where the PRT mapping replaces the mapping of a BO.
 */
static void prt(void)
{
	const uint32_t flag = AMDGPU_VM_PAGE_PRT;
	struct vr_bo bo;

	start();
	ERRNO(0, vr_bo_create(fd, 2 * VG_MIB, GTT, 0, VA, &bo));
	memset(bo.cpu, 0x77, bo.size);
	ERRNO(0, vr_gem_va(fd, 0, MAP, flag, VA + VG_GIB, 0, 64 * VG_MIB));
	ERRNO(EINVAL, vr_gem_va(fd, 0, MAP, flag, VA, 0, VG_PAGE));
	vr_ib_fill(&ib, VA + VG_GIB, 0x11111111, VG_MIB);
	copy(VA, VA + VG_GIB, VG_MIB, &bo, &bo);
	OK(vg_fill_check(bo.cpu, VG_MIB, 0));
	OK(vg_fill_check((char *)bo.cpu + VG_MIB, VG_MIB, 0x77777777));
	ERRNO(0, vr_gem_va(fd, bo.handle, REPLACE, VR_MAP_RW,
			   VA + VG_GIB + VG_MIB, VG_MIB, VG_MIB));
	copy(VA, VA + VG_GIB + VG_MIB, VG_MIB, &bo, &bo);
	OK(vg_fill_check(bo.cpu, bo.size, 0x77777777));
	ERRNO(0, vr_gem_va(fd, 0, REPLACE, flag, VA + VG_GIB + VG_MIB, 0,
			   VG_MIB));
	copy(VA, VA + VG_GIB + VG_MIB, VG_MIB, &bo, &bo);
	OK(vg_fill_check(bo.cpu, VG_MIB, 0));
	ERRNO(ENOENT, vr_gem_va(fd, bo.handle, UNMAP, 0, VA + VG_GIB, 0, 0));
	ERRNO(0, vr_gem_va(fd, 0, UNMAP, flag, VA + VG_GIB, 0, 0));
}

/* After MAP with DELAY_UPDATE, the next job must be able to use the mapping. */
static void delayed(void)
{
	struct vr_bo a, b;

	start();
	ERRNO(0, vr_bo_create(fd, VG_MIB, VRAM, 0, 0, &a));
	ERRNO(0, vr_bo_create(fd, VG_MIB, GTT, 0, VA, &b));
	vg_pattern_fill(a.cpu, VG_MIB, SEED, 0);
	ERRNO(0, vr_gem_va(fd, a.handle, MAP, VR_MAP_RW |
			   AMDGPU_VM_DELAY_UPDATE, VA + VG_GIB, 0, VG_MIB));
	copy(VA, VA + VG_GIB, VG_MIB, &a, &b);
	OK(vg_pattern_check(b.cpu, VG_MIB, SEED, 0));
}

/* Catches: a job accesses the memory of another file at the same address. */
static void files_apart(void)
{
	struct vr_bo mine, theirs;
	int other;

	start();
	other = vr_open(gpu);
	CHECK(other >= 0, "second file: %d", other);
	ERRNO(0, vr_bo_create(other, VG_MIB, VRAM, 0, VA, &theirs));
	memset(theirs.cpu, 0x99, VG_MIB);
	ERRNO(0, vr_bo_create(fd, VG_MIB, GTT, 0, VA + VG_GIB, &mine));
	memset(mine.cpu, 0x77, VG_MIB);
	copy(mine.va, VA, VG_MIB, &mine, &mine);
	OK(vg_fill_check(mine.cpu, VG_MIB, 0));
	ERRNO(ENOENT, vr_gem_va(fd, theirs.handle + 50, MAP, VR_MAP_RW, VA, 0,
				VG_PAGE));
	close(other);
}

/* When a BO's last handle is closed, the BO's mappings must be removed. */
static void handle_closed(void)
{
	struct vr_bo a, b;
	unsigned int i;

	start();
	ERRNO(0, vr_bo_create(fd, VG_MIB, GTT, 0, VA + VG_GIB, &b));
	for (i = 0; i < 20; i++) {
		ERRNO(0, vr_bo_create(fd, VG_MIB, VRAM, 0, VA, &a));
		ERRNO(0, vr_gem_va(fd, a.handle, MAP, VR_MAP_RW, VA + VG_MIB, 0,
				   VG_MIB));
		memset(a.cpu, 0x40 + i, VG_MIB);
		copy(b.va, VA + VG_MIB * (i & 1), VG_MIB, &a, &b);
		OK(vg_fill_check(b.cpu, VG_MIB, 0x01010101 * (0x40 + i)));
		vr_bo_free(&a);
	}
	copy(b.va, VA, VG_MIB, &b, &b);
	OK(vg_fill_check(b.cpu, VG_MIB, 0));
}

/*
 * Close a BO's handle while a job uses the BO. Catches: the memory is freed while the
 * job uses it.
 */
static void closed_while_used(void)
{
	struct vr_bo flag, a, b;
	uint32_t handles[4];
	uint64_t seq;
	unsigned int i;

	start();
	ERRNO(0, vr_bo_create(fd, VG_PAGE, GTT, 0, VA, &flag));
	ERRNO(0, vr_bo_create(fd, VG_MIB, VRAM, 0, VA + VG_MIB, &a));
	ERRNO(0, vr_bo_create(fd, VG_MIB, GTT, 0, VA + 2 * VG_MIB, &b));
	vg_pattern_fill(a.cpu, VG_MIB, SEED, 0);
	/* Emit enough work that the handle is closed before the job ends. */
	for (i = 0; i < 200; i++)
		vr_ib_copy(&ib, b.va, a.va, VG_MIB);
	vr_ib_write(&ib, flag.va, 1);
	handles[0] = flag.handle;
	handles[1] = a.handle;
	handles[2] = b.handle;
	handles[3] = ib.bo.handle;
	ERRNO(0, vr_submit(fd, ctx, 0, &ib, handles, 4, &seq));
	ERRNO(0, vr_gem_close(fd, a.handle));
	ERRNO(0, vr_wait(fd, ctx, 0, seq, ~0ull));
	OK(vg_pattern_check(b.cpu, VG_MIB, SEED, 0));
	CHECK(*(volatile uint32_t *)flag.cpu == 1, "the IB did not end");
}

/*
 * A job can use a BO with VM_ALWAYS_VALID without listing the BO. No other file can import such a
 * BO. Catches: a job that does not list the BO cannot use the BO; another file can import the BO.
 */
static void always_valid(void)
{
	const uint64_t flags = AMDGPU_GEM_CREATE_VM_ALWAYS_VALID;
	struct drm_prime_handle prime = { 0 };
	struct vr_bo a, b;
	unsigned int i;
	int other, r;

	start();
	ERRNO(0, vr_bo_create(fd, VG_MIB, VRAM, flags, VA, &a));
	ERRNO(0, vr_bo_create(fd, VG_MIB, GTT, flags, VA + VG_MIB, &b));
	for (i = 0; i < 4; i++) {
		vg_pattern_fill(a.cpu, VG_MIB, SEED + i, 0);
		vr_ib_copy(&ib, b.va, a.va, VG_MIB);
		run(&a.handle, i & 1);
		OK(vg_pattern_check(b.cpu, VG_MIB, SEED + i, 0));
	}
	other = vr_open(gpu);
	prime.handle = a.handle;
	prime.flags = DRM_CLOEXEC;
	r = vr_ioctl(fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime);
	if (!r)
		r = vr_ioctl(other, DRM_IOCTL_PRIME_FD_TO_HANDLE, &prime);
	ERRNO(EPERM, r);
}

static void wait_vram_freed(uint64_t most)
{
	uint64_t end = vg_now() + FREE_MS * 1000000ull;
	struct vg_mem_info info;

	for (;;) {
		OK(vg_mem_info(gpu, &info));
		if (info.vram_used <= most)
			return;
		CHECK(vg_now() < end, "%lu bytes of VRAM, should be %lu",
		      info.vram_used, most);
	}
}

/* After SET_PLACEMENT of GEM_OP, the next job that lists the BO must move it. */
static void placement(void)
{
	const uint64_t size = 4 * VG_MIB;
	struct drm_amdgpu_gem_op op = { .op = AMDGPU_GEM_OP_SET_PLACEMENT };
	struct vg_mem_info before, with, now;
	struct vr_bo bo, out;

	start();
	ERRNO(0, vr_bo_create(fd, size, GTT, 0, VA + VG_GIB, &out));
	OK(vg_mem_info(gpu, &before));
	ERRNO(0, vr_bo_create(fd, size, VRAM, 0, VA, &bo));
	vg_pattern_fill(bo.cpu, size, SEED, 0);
	OK(vg_mem_info(gpu, &with));
	op.handle = bo.handle;
	op.value = GTT;
	ERRNO(0, vr_ioctl(fd, DRM_IOCTL_AMDGPU_GEM_OP, &op));
	copy(out.va, bo.va, size, &bo, &out);
	OK(vg_pattern_check(out.cpu, size, SEED, 0));
	wait_vram_freed(with.vram_used - size);
	OK(vg_mem_info(gpu, &now));
	CHECK(now.gtt_used >= with.gtt_used + size, "GTT %lu, was %lu",
	      now.gtt_used, with.gtt_used);
	op.value = VRAM;
	ERRNO(0, vr_ioctl(fd, DRM_IOCTL_AMDGPU_GEM_OP, &op));
	memset(out.cpu, 0, size);
	copy(out.va, bo.va, size, &bo, &out);
	OK(vg_pattern_check(out.cpu, size, SEED, 0));
	OK(vg_mem_info(gpu, &now));
	CHECK(now.vram_used >= before.vram_used + size, "VRAM %lu, was %lu",
	      now.vram_used, before.vram_used);
}

/*
 * Create more BOs than VRAM holds. A job must find the contents of an evicted BO at the
 * BO's GPU address.
 */
static void evicted(void)
{
	struct vr_bo bo[12], out;
	struct vg_mem_info info;
	uint64_t size;
	unsigned int i, round;

	start();
	OK(vg_mem_info(gpu, &info));
	size = info.vram_total / 6 & ~(VG_MIB - 1);
	if (size > 16 * VG_MIB)
		tap_skip("for a GPU with at most 96 MiB of VRAM");
	ERRNO(0, vr_bo_create(fd, size, GTT, 0, VA, &out));
	for (i = 0; i < 12; i++) {
		ERRNO(0, vr_bo_create(fd, size, VRAM, 0,
				      VA + (i + 1) * VG_GIB, &bo[i]));
		vr_ib_fill(&ib, bo[i].va, 0x01000193 * (i + 1), size);
		run(&bo[i].handle, 1);
	}
	for (round = 0; round < 2; round++)
		for (i = 0; i < 12; i++) {
			copy(out.va, bo[i].va, size, &bo[i], &out);
			OK(vg_fill_check(out.cpu, size, 0x01000193 * (i + 1)));
		}
}

/*
 * Body of one of several processes that use BOs by SDMA and CPU in random order. VRAM is too small
 * for all these BOs.
 */
static void pressed(void *arg)
{
	enum { N = 10 };
	const uint64_t size = 3 * VG_MIB;
	uint32_t seed = (uint32_t)(uintptr_t)arg, what[N];
	struct vr_bo bo[N];
	int i, k, round;

	fd = vr_open(gpu);
	CHECK(fd >= 0, "render node: %d", fd);
	ERRNO(0, vr_ctx_alloc(fd, 0, &ctx));
	ERRNO(0, vr_ib_create(fd, 64 * VG_KIB, VA_IB, &ib));
	for (i = 0; i < N; i++) {
		ERRNO(0, vr_bo_create(fd, size, VRAM, i % 4 ? 0 :
				      AMDGPU_GEM_CREATE_VM_ALWAYS_VALID,
				      VA + i * VG_GIB, &bo[i]));
		what[i] = 0;
	}
	for (round = 0; tap_goes_on(round, 60); round++) {
		seed = seed * 1664525 + 1013904223;
		i = seed >> 16 & 0xff;
		k = (i / N) % N;
		i %= N;
		switch (seed >> 28 & 3) {
		case 0:
			what[i] = seed | 1;
			vr_ib_fill(&ib, bo[i].va, what[i], size);
			run(&bo[i].handle, 1);
			break;
		case 1:
			if (i == k)
				break;
			what[k] = what[i];
			copy(bo[k].va, bo[i].va, size, &bo[i], &bo[k]);
			break;
		case 2:
			OK(vg_fill_check(bo[i].cpu, size, what[i]));
			break;
		default:
			what[i] = 0x01010101 * (seed >> 8 & 0xff);
			memset(bo[i].cpu, seed >> 8 & 0xff, size);
		}
	}
	for (i = 0; i < N; i++)
		OK(vg_fill_check(bo[i].cpu, size, what[i]));
}

static void pressure(void)
{
	struct vg_mem_info base;
	pid_t pid[4];
	int i, status;

	OK(vg_open_bare(&vg));
	gpu = &vg.gpu[0];
	OK(vg_mem_info(gpu, &base));
	for (i = 0; i < 4; i++) {
		pid[i] = fork();
		CHECK(pid[i] >= 0, "fork");
		if (!pid[i]) {
			pressed((void *)(uintptr_t)(i + 1));
			_exit(0);
		}
	}
	for (i = 0; i < 4; i++)
		CHECK(waitpid(pid[i], &status, 0) == pid[i] && !status,
		      "process %d ended with %#x", i, status);
	OK(vg_mem_wait_freed(gpu, &base, VG_TIMEOUT_MS));
}

static void bad(void)
{
	const uint64_t hole = 1ull << 47, top = hole - (4 * VG_MIB + 64 * VG_KIB);
	struct drm_amdgpu_gem_va args = { 0 };
	struct vr_bo bo;
	uint32_t h;

	start();
	ERRNO(0, vr_bo_create(fd, 2 * VG_MIB, GTT, 0, 0, &bo));
	h = bo.handle;
	ERRNO(EINVAL, vr_gem_va(fd, h, MAP, VR_MAP_RW, 0, 0, VG_PAGE));
	ERRNO(EINVAL, vr_gem_va(fd, h, MAP, VR_MAP_RW, 0xf000, 0, VG_PAGE));
	ERRNO(0, vr_gem_va(fd, h, MAP, VR_MAP_RW, 0x10000, 0, VG_PAGE));
	ERRNO(0, vr_gem_va(fd, h, UNMAP, 0, 0x10000, 0, 0));
	ERRNO(EINVAL, vr_gem_va(fd, h, MAP, VR_MAP_RW, top, 0, VG_PAGE));
	ERRNO(0, vr_gem_va(fd, h, MAP, VR_MAP_RW, top - VG_PAGE, 0, VG_PAGE));
	ERRNO(EINVAL, vr_gem_va(fd, h, MAP, VR_MAP_RW, top - VG_PAGE, 0,
				2 * VG_PAGE));
	ERRNO(EINVAL, vr_gem_va(fd, h, MAP, VR_MAP_RW, hole, 0, VG_PAGE));
	ERRNO(EINVAL, vr_gem_va(fd, h, MAP, VR_MAP_RW, ~0xfffull, 0, VG_PAGE));
	ERRNO(EINVAL, vr_gem_va(fd, h, MAP, VR_MAP_RW, VA, 0, ~0xfffull));
	ERRNO(EINVAL, vr_gem_va(fd, h, MAP, VR_MAP_RW, VA + 8, 0, VG_PAGE));
	ERRNO(EINVAL, vr_gem_va(fd, h, MAP, VR_MAP_RW, VA, 8, VG_PAGE));
	ERRNO(EINVAL, vr_gem_va(fd, h, MAP, VR_MAP_RW, VA, 0, VG_PAGE + 8));
	ERRNO(EINVAL, vr_gem_va(fd, h, MAP, VR_MAP_RW, VA, 0, 0));
	ERRNO(EINVAL, vr_gem_va(fd, h, MAP, VR_MAP_RW, VA, ~0xfffull, VG_PAGE));
	ERRNO(EINVAL, vr_gem_va(fd, h, MAP, VR_MAP_RW, VA, ~0xfffull,
				2 * VG_PAGE));
	ERRNO(EINVAL, vr_gem_va(fd, h, MAP, VR_MAP_RW, VA, 2 * VG_MIB,
				VG_PAGE));
	ERRNO(EINVAL, vr_gem_va(fd, h, MAP, VR_MAP_RW, VA, VG_PAGE,
				2 * VG_MIB));
	ERRNO(EINVAL, vr_gem_va(fd, h, MAP, 1u << 20, VA, 0, VG_PAGE));
	ERRNO(EINVAL, vr_gem_va(fd, h, MAP, VR_MAP_RW | AMDGPU_VM_PAGE_PRT, VA,
				0, VG_PAGE));
	ERRNO(EINVAL, vr_gem_va(fd, h, 0, VR_MAP_RW, VA, 0, VG_PAGE));
	ERRNO(EINVAL, vr_gem_va(fd, h, 5, VR_MAP_RW, VA, 0, VG_PAGE));
	ERRNO(ENOENT, vr_gem_va(fd, h + 9, MAP, VR_MAP_RW, VA, 0, VG_PAGE));
	ERRNO(ENOENT, vr_gem_va(fd, 0, MAP, VR_MAP_RW, VA, 0, VG_PAGE));
	ERRNO(EINVAL, vr_gem_va(fd, 0, CLEAR, 0, VA + 8, 0, VG_PAGE));
	ERRNO(EINVAL, vr_gem_va(fd, 0, CLEAR, 0, VA, 0, 0));
	ERRNO(EINVAL, vr_gem_va(fd, h, REPLACE, VR_MAP_RW, VA, 0, 3 * VG_MIB));
	ERRNO(ENOENT, vr_gem_va(fd, h, UNMAP, 0, VA, 0, 0));

	ERRNO(0, vr_gem_va(fd, h, MAP, VR_MAP_RW, VA, 0, VG_MIB));
	ERRNO(EINVAL, vr_gem_va(fd, h, MAP, VR_MAP_RW, VA, 0, VG_PAGE));
	ERRNO(EINVAL, vr_gem_va(fd, h, MAP, VR_MAP_RW, VA - VG_PAGE, 0,
				2 * VG_PAGE));
	ERRNO(EINVAL, vr_gem_va(fd, h, MAP, VR_MAP_RW, VA - VG_PAGE, 0,
				2 * VG_MIB));
	ERRNO(ENOENT, vr_gem_va(fd, h, UNMAP, 0, VA + VG_PAGE, 0, 0));
	ERRNO(ENOENT, vr_gem_va(fd, ib.bo.handle, UNMAP, 0, VA, 0, 0));
	ERRNO(EFAULT, vr_ioctl(fd, DRM_IOCTL_AMDGPU_GEM_VA, (void *)8));
	/*
	 * This ioctl number passes 16 bytes of @args, without the mapping's size. The kernel must
	 * use zero for this size, and refuse the mapping.
	 */
	args.handle = h;
	args.operation = MAP;
	ERRNO(EINVAL, vr_ioctl(fd, _IOC(_IOC_WRITE, DRM_IOCTL_BASE,
					DRM_COMMAND_BASE + DRM_AMDGPU_GEM_VA,
					16), &args));
}

/*
 * Create many small mappings. Catches: closing the file does not free the memory of the
 * mappings.
 */
static void many(void)
{
	struct vg_mem_info base;
	uint32_t h[500];
	unsigned int i;
	int other;

	start();
	OK(vg_mem_info(gpu, &base));
	other = vr_open(gpu);
	for (i = 0; i < 500; i++) {
		ERRNO(0, vr_gem_create(other, VG_PAGE, i & 1 ? VRAM : GTT, 0,
				       &h[i]));
		ERRNO(0, vr_gem_va(other, h[i], MAP, VR_MAP_RW,
				   VA + i * 3 * VG_PAGE, 0, VG_PAGE));
		ERRNO(0, vr_gem_va(other, h[i], MAP, VR_MAP_RW,
				   VA + i * 513 * VG_MIB + VG_GIB, 0,
				   VG_PAGE));
	}
	for (i = 0; i < 500; i += 3)
		ERRNO(0, vr_gem_close(other, h[i]));
	ERRNO(0, vr_gem_va(other, 0, CLEAR, 0, VA + 30 * VG_PAGE, 0,
			   500 * VG_PAGE));
	close(other);
	OK(vg_mem_wait_freed(gpu, &base, VG_TIMEOUT_MS));
}

static const struct tap_case cases[] = {
	{ "data goes where the addresses say", data, 1 },
	{ "parts of a BO, at several addresses", parts, 1 },
	{ "what is not mapped reads as zeros and takes no write", nowhere, 1 },
	{ "a read-only mapping", read_only, 1 },
	{ "CLEAR cuts mappings", clear, 1 },
	{ "REPLACE puts one BO over others", replace, 1 },
	{ "PRT", prt, 1 },
	{ "DELAY_UPDATE", delayed, 1 },
	{ "files have addresses of their own", files_apart, 1 },
	{ "the last handle takes the mappings with it", handle_closed, 1 },
	{ "a handle closed while a job uses the BO", closed_while_used, 1 },
	{ "VM_ALWAYS_VALID", always_valid, 1 },
	{ "SET_PLACEMENT takes effect with the next job", placement, 1 },
	{ "more BOs than VRAM, each used in turn", evicted, 1 },
	{ "processes whose BOs do not fit into VRAM together", pressure, 1 },
	{ "bad input", bad, 1 },
	{ "many mappings leave nothing behind", many, 1 },
};

int main(int argc, char **argv)
{
	return tap_main(TAP_CASES(cases), argc, argv);
}
