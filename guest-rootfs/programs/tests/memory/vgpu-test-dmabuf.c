// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Share memory between devices by dma-bufs. tests.list runs this program twice: with and without
 * peer access between the GPUs. Catches: an importer uses the memory's old location; memory is
 * freed while in use.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <drm/amdgpu_drm.h>
#include <linux/dma-buf.h>
#include <linux/udmabuf.h>

#include "render.h"
#include "tap.h"

#define SEED	0xd3a
#define SIZE	(3 * VG_MIB)

static struct vg vg;
static struct vg_queue q[2];
static struct vg_bo stage[2];	/* BOs in GTT, for data that an engine copies */

static void start(int gpus)
{
	int i;

	tap_open(&vg, 1);
	for (i = 0; i < gpus; i++) {
		OK(vg_queue_create(&vg, &vg.gpu[i], 4096, &q[i]));
		OK(vg_bo_create(&vg, &vg.gpu[i], SIZE, VG_GTT, &stage[i]));
	}
}

/* KFD's ioctls for the export and import of dma-bufs */

static int kfd_export(struct vg_bo *bo, int *fd)
{
	struct kfd_ioctl_export_dmabuf_args args = {
		.handle = bo->handle,
		.flags = O_CLOEXEC,
	};
	int r = tap_ioctl(vg.kfd, AMDKFD_IOC_EXPORT_DMABUF, &args);

	*fd = r ? -1 : (int)args.dmabuf_fd;
	return r;
}

static int kfd_import(struct vg_gpu *gpu, int fd, uint64_t size,
		      struct vg_bo *bo)
{
	struct kfd_ioctl_import_dmabuf_args args = {
		.gpu_id = gpu->gpu_id,
		.dmabuf_fd = (uint32_t)fd,
	};
	void *va = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS |
			MAP_NORESERVE, -1, 0);
	int r;

	CHECK(va != MAP_FAILED, "no address range");
	args.va_addr = (uintptr_t)va;
	r = tap_ioctl(vg.kfd, AMDKFD_IOC_IMPORT_DMABUF, &args);
	if (r) {
		munmap(va, size);
		return r;
	}
	*bo = (struct vg_bo) {
		.vg = &vg, .gpu = gpu, .va = args.va_addr, .size = size,
		.handle = args.handle,
	};
	return 0;
}

static int import_and_map(struct vg_gpu *gpu, int fd, struct vg_bo *bo)
{
	ERRNO(0, kfd_import(gpu, fd, SIZE, bo));
	return vg_bo_map_gpu(bo);
}

/* Check that GPU @i reads the pattern of @seed from @bo. */
static void gpu_check(int i, const struct vg_bo *bo, uint64_t seed)
{
	memset(stage[i].cpu, 0x5a, SIZE);
	OK(vg_copy(&q[i], stage[i].cpu, (void *)bo->va, SIZE));
	OK(vg_pattern_check(stage[i].cpu, SIZE, seed, 0));
}

static void gpu_write(int i, const struct vg_bo *bo, uint64_t seed)
{
	vg_pattern_fill(stage[i].cpu, SIZE, seed, 0);
	OK(vg_copy(&q[i], (void *)bo->va, stage[i].cpu, SIZE));
}

/*
 * The import must move the BO out of VRAM if and only if GPUs lack peer access. @before: VRAM
 * used before the import, in bytes.
 */
static void vram_follows(uint64_t before)
{
	uint64_t end = vg_deadline();
	struct vg_mem_info info;

	/*
	 * Without peer access, poll until the BO's VRAM is freed: the import returns before the
	 * BO has been copied out of VRAM.
	 */
	do {
		OK(vg_mem_info(&vg.gpu[0], &info));
	} while (!tap_pcie_p2p() && before - info.vram_used < SIZE && vg_now() < end);
	CHECK((before - info.vram_used >= SIZE) == !tap_pcie_p2p(),
	      "VRAM in use went from %lu to %lu", before, info.vram_used);
}

static void between(uint32_t flags)
{
	struct vg_bo bo = { 0 }, peer = { 0 };
	struct vg_mem_info before;
	int fd;

	start(2);
	OK(vg_bo_alloc(&vg, &vg.gpu[0], SIZE, flags, &bo));
	OK(vg_bo_map_cpu(&bo));
	vg_pattern_fill(bo.cpu, SIZE, SEED, 0);
	OK(vg_mem_info(&vg.gpu[0], &before));
	ERRNO(0, kfd_export(&bo, &fd));
	OK(import_and_map(&vg.gpu[1], fd, &peer));
	if (flags == VG_VRAM)
		vram_follows(before.vram_used);
	gpu_check(1, &peer, SEED);
	gpu_write(1, &peer, SEED + 1);
	OK(vg_pattern_check(bo.cpu, SIZE, SEED + 1, 0));
	OK(vg_bo_map_gpu(&bo));
	gpu_check(0, &bo, SEED + 1);
	gpu_write(0, &bo, SEED + 2);
	gpu_check(1, &peer, SEED + 2);
	close(fd);
	OK(vg_bo_free(&peer));
	OK(vg_bo_free(&bo));
}

static void vram_between(void)
{
	between(VG_VRAM);
}

static void gtt_between(void)
{
	between(VG_GTT);
}

/*
 * Descriptor of the dma-buf that same_child() imports. The imported BO must share the memory
 * of the exported BO, and must not be a copy.
 */
static int same_fd;

static void same_child(void *arg)
{
	struct kfd_ioctl_get_dmabuf_info_args info = {
		.dmabuf_fd = (uint32_t)same_fd,
	};
	struct vg_mem_info before, after;
	struct vg_bo bo = { 0 };

	(void)arg;
	start(1);
	ERRNO(0, tap_ioctl(vg.kfd, AMDKFD_IOC_GET_DMABUF_INFO, &info));
	CHECK(info.size == SIZE && info.gpu_id == vg.gpu[0].gpu_id &&
	      info.flags & KFD_IOC_ALLOC_MEM_FLAGS_VRAM &&
	      info.flags & KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC,
	      "GET_DMABUF_INFO: %llu bytes, GPU 0x%x, flags 0x%x", info.size,
	      info.gpu_id, info.flags);
	OK(vg_mem_info(&vg.gpu[0], &before));
	OK(import_and_map(&vg.gpu[0], same_fd, &bo));
	OK(vg_mem_info(&vg.gpu[0], &after));
	CHECK(after.gtt_used == before.gtt_used &&
	      after.vram_used < before.vram_used + SIZE,
	      "the import takes memory of its own");
	gpu_check(0, &bo, SEED);
	gpu_write(0, &bo, SEED + 7);
	/* Children with an even PID do not free the BO: their exit must free it. */
	if (getpid() & 1)
		OK(vg_bo_free(&bo));
}

static void same_gpu(void)
{
	struct vg_mem_info before;
	struct vg_bo bo = { 0 };
	int i;

	OK(vg_open(&vg));
	for (i = 0; i < 4; i++) {
		OK(vg_bo_create(&vg, &vg.gpu[0], SIZE, VG_VRAM, &bo));
		vg_pattern_fill(bo.cpu, SIZE, SEED, 0);
		ERRNO(0, kfd_export(&bo, &same_fd));
		OK(vg_mem_info(&vg.gpu[0], &before));
		/* The child inherits the descriptor, because CLOEXEC applies only to exec(). */
		tap_in_child(same_child, NULL);
		/*
		 * Wait until the child's memory is free, because the next round
		 * measures usage.
		 */
		OK(vg_mem_wait_freed(&vg.gpu[0], &before, VG_TIMEOUT_MS));
		OK(vg_pattern_check(bo.cpu, SIZE, SEED + 7, 0));
		close(same_fd);
		OK(vg_bo_free(&bo));
	}
}

/* Free the exported BO (b), the descriptor (f) and the imported BO (i) in every order. */
static void orders(void)
{
	static const char order[6][4] = {
		"bfi", "bif", "fbi", "fib", "ibf", "ifb"
	};
	struct vg_mem_info base[2];
	struct vg_bo bo, peer;
	int i, j, fd;

	start(2);
	for (i = 0; i < 2; i++)
		OK(vg_mem_info(&vg.gpu[i], &base[i]));
	for (i = 0; i < 12; i++) {
		OK(vg_bo_create(&vg, &vg.gpu[0], SIZE,
				i % 2 ? VG_VRAM : VG_GTT, &bo));
		vg_pattern_fill(bo.cpu, SIZE, SEED + i, 0);
		OK(vg_bo_unmap_gpu(&bo));
		OK(vg_bo_unmap_cpu(&bo));
		ERRNO(0, kfd_export(&bo, &fd));
		OK(import_and_map(&vg.gpu[1], fd, &peer));
		for (j = 0; j < 3; j++) {
			if (order[i / 2][j] == 'b')
				OK(vg_bo_free(&bo));
			else if (order[i / 2][j] == 'f')
				close(fd);
			else
				OK(vg_bo_free(&peer));
			if (peer.size)
				gpu_check(1, &peer, SEED + i);
		}
		for (j = 0; j < 2; j++)
			OK(vg_mem_wait_freed(&vg.gpu[j], &base[j],
					     VG_TIMEOUT_MS));
	}
}

/* The render node */

static int gem_export(int file, uint32_t handle)
{
	struct drm_prime_handle args = {
		.handle = handle,
		.flags = DRM_CLOEXEC | DRM_RDWR,
	};

	ERRNO(0, tap_ioctl(file, DRM_IOCTL_PRIME_HANDLE_TO_FD, &args));
	return args.fd;
}

static int gem_import(int file, int fd, uint32_t *handle)
{
	struct drm_prime_handle args = { .fd = fd };
	int r = tap_ioctl(file, DRM_IOCTL_PRIME_FD_TO_HANDLE, &args);

	*handle = r ? 0 : args.handle;
	return r;
}

/*
 * Import a BO into another GPU's file and map it for the CPU. An import back into the
 * exporter's file must return the same handle.
 */
static void gem_two_gpus(void)
{
	uint32_t h, h1, again;
	char *p, *p1;
	int fd, back;

	OK(vg_open_bare(&vg));
	h = tap_gem_create(vg.gpu[0].fd, SIZE, AMDGPU_GEM_DOMAIN_VRAM, 0);
	fd = gem_export(vg.gpu[0].fd, h);
	ERRNO(0, gem_import(vg.gpu[1].fd, fd, &h1));
	p = tap_gem_mmap(vg.gpu[0].fd, h, SIZE);
	p1 = tap_gem_mmap(vg.gpu[1].fd, h1, SIZE);
	vg_pattern_fill(p, SIZE, SEED, 0);
	OK(vg_pattern_check(p1, SIZE, SEED, 0));
	tap_evict(&vg.gpu[0], "vram");
	tap_evict(&vg.gpu[0], "gtt");
	OK(vg_pattern_check(p1, SIZE, SEED, 0));
	vg_pattern_fill(p1, SIZE, SEED + 1, 0);
	OK(vg_pattern_check(p, SIZE, SEED + 1, 0));
	/*
	 * The export of GPU 1's imported BO must return the original dma-buf. The import of
	 * this dma-buf into GPU 0's file must return the original BO.
	 */
	back = gem_export(vg.gpu[1].fd, h1);
	ERRNO(0, gem_import(vg.gpu[0].fd, back, &again));
	CHECK(again == h, "handle %u came home as %u", h, again);
	tap_gem_close(vg.gpu[0].fd, h);
	close(fd);
	close(back);
	OK(vg_pattern_check(p1, SIZE, SEED + 1, 0));
	munmap(p, SIZE);
	munmap(p1, SIZE);
	/*
	 * GPU 1's handle is now the only reference to the memory, and must keep it
	 * allocated.
	 */
	p1 = tap_gem_mmap(vg.gpu[1].fd, h1, SIZE);
	OK(vg_pattern_check(p1, SIZE, SEED + 1, 0));
	munmap(p1, SIZE);
	tap_gem_close(vg.gpu[1].fd, h1);
}

/*
 * Move a BO that another GPU has imported and mapped. Catches: the importer accesses the old
 * location of the BO.
 */
static void moves(void)
{
	struct vg_bo peer = { 0 };
	int round, fd;
	uint32_t h;
	char *p;

	OK(vg_open(&vg));
	for (round = 0; round < 4; round++) {
		h = tap_gem_create(vg.gpu[0].fd, SIZE, AMDGPU_GEM_DOMAIN_VRAM, 0);
		p = tap_gem_mmap(vg.gpu[0].fd, h, SIZE);
		vg_pattern_fill(p, SIZE, SEED + round, 0);
		munmap(p, SIZE);
		fd = gem_export(vg.gpu[0].fd, h);
		OK(import_and_map(&vg.gpu[1], fd, &peer));
		if (round & 1) {
			/* From here on, only the import keeps the BO allocated. */
			tap_gem_close(vg.gpu[0].fd, h);
			close(fd);
		}
		tap_evict(&vg.gpu[0], "vram");
		if (round & 2)
			tap_evict(&vg.gpu[0], "gtt");
		OK(vg_queue_create(&vg, &vg.gpu[1], 4096, &q[1]));
		OK(vg_bo_create(&vg, &vg.gpu[1], SIZE, VG_GTT, &stage[1]));
		gpu_check(1, &peer, SEED + round);
		gpu_write(1, &peer, SEED + 9);
		gpu_check(1, &peer, SEED + 9);
		OK(vg_queue_destroy(&q[1]));
		OK(vg_bo_free(&stage[1]));
		OK(vg_bo_free(&peer));
		if (!(round & 1)) {
			p = tap_gem_mmap(vg.gpu[0].fd, h, SIZE);
			OK(vg_pattern_check(p, SIZE, SEED + 9, 0));
			munmap(p, SIZE);
			close(fd);
			tap_gem_close(vg.gpu[0].fd, h);
		}
	}
}

/*
 * GPU 0 and GPU 1 copy from a BO of GPU 0 while the BO is moved. The queues must be
 * evicted, and must then use the new location of the BO.
 */
static void moves_under_queues(void)
{
	struct vg_bo bo = { 0 }, peer = { 0 };
	uint32_t seq[2];
	int round, i, fd;

	start(2);
	OK(vg_bo_create(&vg, &vg.gpu[0], SIZE, VG_VRAM, &bo));
	vg_pattern_fill(bo.cpu, SIZE, SEED, 0);
	ERRNO(0, kfd_export(&bo, &fd));
	/*
	 * Let GPU 0 use the BO before the import: without peer access, the import then has to move
	 * a mapped and used BO to GTT.
	 */
	gpu_check(0, &bo, SEED);
	OK(import_and_map(&vg.gpu[1], fd, &peer));
	close(fd);
	for (round = 0; tap_goes_on(round, 4); round++) {
		for (i = 0; i < 2; i++) {
			memset(stage[i].cpu, 0x5a, SIZE);
			OK(vg_emit_copy(&q[i], stage[i].va,
					i ? peer.va : bo.va, SIZE));
			OK(vg_emit_fence(&q[i], &seq[i]));
			vg_queue_submit(&q[i]);
		}
		tap_evict(&vg.gpu[0], "vram");
		tap_evict(&vg.gpu[round & 1], "gtt");
		for (i = 0; i < 2; i++) {
			OK(vg_wait(&q[i], seq[i], VG_TIMEOUT_MS));
			OK(vg_pattern_check(stage[i].cpu, SIZE, SEED, 0));
		}
	}
	gpu_write(1, &peer, SEED + 1);
	gpu_check(0, &bo, SEED + 1);
	OK(vg_bo_free(&bo));
	gpu_check(1, &peer, SEED + 1);
	OK(vg_bo_free(&peer));
}

/*
 * Let the engines of both GPUs access memory that another device exports. @fd is the
 * dma-buf of this memory, @p the CPU mapping of this memory.
 */
static void foreign(int fd, char *p)
{
	struct vg_bo bo[2] = { 0 };
	int i;

	for (i = 0; i < 2; i++) {
		vg_pattern_fill(p, SIZE, SEED + i, 0);
		OK(import_and_map(&vg.gpu[i], fd, &bo[i]));
		gpu_check(i, &bo[i], SEED + i);
		gpu_write(i, &bo[i], SEED + 10 + i);
		OK(vg_pattern_check(p, SIZE, SEED + 10 + i, 0));
	}
	/* Both BOs are the same memory. */
	gpu_write(0, &bo[0], SEED + 20);
	gpu_check(1, &bo[1], SEED + 20);
	close(fd);
	OK(vg_bo_free(&bo[0]));
	gpu_check(1, &bo[1], SEED + 20);
	OK(vg_bo_free(&bo[1]));
}

/* Allocate a vgem BO of SIZE bytes. Return the CPU mapping. */
static char *vgem_create(int vgem, uint32_t *handle)
{
	struct drm_mode_create_dumb dumb = {
		.width = 1024, .height = SIZE / 4096, .bpp = 32,
	};
	struct drm_mode_map_dumb map = { 0 };
	char *p;

	ERRNO(0, tap_ioctl(vgem, DRM_IOCTL_MODE_CREATE_DUMB, &dumb));
	CHECK(dumb.size == SIZE, "vgem makes %llu bytes", dumb.size);
	map.handle = dumb.handle;
	ERRNO(0, tap_ioctl(vgem, DRM_IOCTL_MODE_MAP_DUMB, &map));
	p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, vgem,
		 (off_t)map.offset);
	CHECK(p != MAP_FAILED, "mmap of vgem: %s", strerror(errno));
	*handle = dumb.handle;
	return p;
}

static void from_vgem(void)
{
	uint32_t handle;
	char *p;
	int vgem;

	vgem = tap_open_vgem();
	start(2);
	p = vgem_create(vgem, &handle);
	foreign(gem_export(vgem, handle), p);
	tap_gem_close(vgem, handle);
}

/*
 * vgem as an importer does not support moves of the BO, so the driver must pin the BO in
 * GTT.
 */
static void to_vgem(void)
{
	struct vg_mem_info base, now;
	struct vg_bo bo = { 0 };
	uint32_t h;
	int fd, vgem;

	vgem = tap_open_vgem();
	OK(vg_open(&vg));
	OK(vg_bo_alloc(&vg, &vg.gpu[0], SIZE, VG_VRAM, &bo));
	OK(vg_bo_map_cpu(&bo));
	vg_pattern_fill(bo.cpu, SIZE, SEED, 0);
	ERRNO(0, kfd_export(&bo, &fd));
	OK(vg_mem_info(&vg.gpu[0], &base));
	ERRNO(0, gem_import(vgem, fd, &h));
	OK(vg_mem_info(&vg.gpu[0], &now));
	CHECK(now.gtt_used >= base.gtt_used + SIZE, "the BO is not in GTT");
	tap_evict(&vg.gpu[0], "gtt");
	OK(vg_mem_info(&vg.gpu[0], &now));
	CHECK(now.gtt_used >= SIZE, "evicted under its importer: %lu of %lu in GTT", now.gtt_used, base.gtt_used);
	OK(vg_pattern_check(bo.cpu, SIZE, SEED, 0));
	/* GPUs must be able to use the BO while vgem's import pins the BO in GTT. */
	OK(vg_bo_map_gpu(&bo));
	OK(vg_queue_create(&vg, &vg.gpu[0], 4096, &q[0]));
	OK(vg_bo_create(&vg, &vg.gpu[0], SIZE, VG_GTT, &stage[0]));
	gpu_check(0, &bo, SEED);
	tap_gem_close(vgem, h);
	close(fd);
	OK(vg_queue_destroy(&q[0]));
	OK(vg_bo_free(&stage[0]));
	OK(vg_bo_unmap_gpu(&bo));
	OK(vg_mem_info(&vg.gpu[0], &base));
	/* vgem has released the BO. So the next map on the GPU must move the BO back to VRAM. */
	OK(vg_bo_map_gpu(&bo));
	OK(vg_mem_info(&vg.gpu[0], &now));
	CHECK(now.vram_used >= base.vram_used + SIZE, "the BO stays in GTT");
	OK(vg_pattern_check(bo.cpu, SIZE, SEED, 0));
}

static void from_udmabuf(void)
{
	struct udmabuf_create create = { .size = SIZE };
	int memfd, dev, fd;
	char *p;

	dev = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
	if (dev < 0)
		tap_skip("no udmabuf");
	start(2);
	memfd = memfd_create("vgpu", MFD_ALLOW_SEALING | MFD_CLOEXEC);
	CHECK(memfd >= 0 && !ftruncate(memfd, SIZE) &&
	      !fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK), "memfd");
	p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	CHECK(p != MAP_FAILED, "mmap of memfd");
	create.memfd = (uint32_t)memfd;
	fd = ioctl(dev, UDMABUF_CREATE, &create);
	CHECK(fd >= 0, "UDMABUF_CREATE: %s", strerror(errno));
	foreign(fd, p);
}

static int dmabuf_info(int fd, void *metadata, uint32_t *size)
{
	struct kfd_ioctl_get_dmabuf_info_args args = {
		.dmabuf_fd = (uint32_t)fd,
		.metadata_ptr = (uintptr_t)metadata,
		.metadata_size = *size,
	};
	int r = tap_ioctl(vg.kfd, AMDKFD_IOC_GET_DMABUF_INFO, &args);

	*size = args.metadata_size;
	return r;
}

static void metadata(int file, uint32_t h, int fd)
{
	struct drm_amdgpu_gem_metadata args = {
		.handle = h, .op = AMDGPU_GEM_METADATA_OP_SET_METADATA,
		.data = { .data_size_bytes = 12 },
	};
	char buf[16] = "";
	uint32_t size = 11;

	memcpy(args.data.data, "Hello, world", 12);
	ERRNO(0, tap_ioctl(file, DRM_IOCTL_AMDGPU_GEM_METADATA, &args));
	ERRNO(EINVAL, dmabuf_info(fd, buf, &size));
	size = sizeof(buf);
	ERRNO(EFAULT, dmabuf_info(fd, (void *)1, &size));
	size = sizeof(buf);
	ERRNO(0, dmabuf_info(fd, buf, &size));
	CHECK(size == 12 && !memcmp(buf, "Hello, world", 13),
	      "%u bytes of metadata: %.16s", size, buf);
}

static void bad_input(void)
{
	struct kfd_ioctl_import_dmabuf_args in = { 0 };
	struct vg_gpu unknown = { .gpu_id = 0xffff };
	struct vg_bo bo = { 0 }, other = { 0 };
	uint32_t h, none = 0;
	int fd, file;

	OK(vg_open(&vg));
	file = open("/proc/self/exe", O_RDONLY);
	ERRNO(EBADF, kfd_import(&vg.gpu[0], 999, SIZE, &other));
	ERRNO(EINVAL, kfd_import(&vg.gpu[0], file, SIZE, &other));
	ERRNO(EBADF, dmabuf_info(999, NULL, &none));
	ERRNO(EINVAL, dmabuf_info(file, NULL, &none));

	OK(vg_bo_alloc(&vg, &vg.gpu[0], SIZE, VG_VRAM, &bo));
	other = bo;
	other.handle += 77;
	ERRNO(EINVAL, kfd_export(&other, &fd));
	other.handle = 0xffffull << 32;
	ERRNO(EINVAL, kfd_export(&other, &fd));
	ERRNO(0, kfd_export(&bo, &fd));
	ERRNO(EINVAL, kfd_import(&unknown, fd, SIZE, &other));

	/*
	 * The driver detects addresses in use when the BO is mapped, not when it is
	 * imported.
	 */
	OK(vg_bo_map_gpu(&bo));
	in.gpu_id = vg.gpu[0].gpu_id;
	in.va_addr = bo.va;
	in.dmabuf_fd = (uint32_t)fd;
	ERRNO(0, tap_ioctl(vg.kfd, AMDKFD_IOC_IMPORT_DMABUF, &in));
	other = bo;
	other.handle = in.handle;
	ERRNO(EINVAL, vg_bo_map_gpu(&other));
	in.va_addr = VG_PAGE / 2;
	ERRNO(0, tap_ioctl(vg.kfd, AMDKFD_IOC_IMPORT_DMABUF, &in));
	other.handle = in.handle;
	ERRNO(EINVAL, vg_bo_map_gpu(&other));
	close(fd);

	OK(vg_bo_alloc(&vg, &vg.gpu[0], VG_DOORBELL_SLICE, VG_DOORBELL,
		       &other));
	ERRNO(EINVAL, kfd_export(&other, &fd));

	/*
	 * KFD must refuse to import a BO of the CPU domain, because such a BO belongs to no
	 * GPU.
	 */
	h = tap_gem_create(vg.gpu[0].fd, SIZE, AMDGPU_GEM_DOMAIN_CPU, 0);
	fd = gem_export(vg.gpu[0].fd, h);
	ERRNO(EINVAL, dmabuf_info(fd, NULL, &none));
	ERRNO(EINVAL, kfd_import(&vg.gpu[0], fd, SIZE, &other));
	close(fd);
	h = tap_gem_create(vg.gpu[0].fd, SIZE, AMDGPU_GEM_DOMAIN_GTT, 0);
	fd = gem_export(vg.gpu[0].fd, h);
	metadata(vg.gpu[0].fd, h, fd);
	close(fd);
	ERRNO(EBADF, gem_import(vg.gpu[0].fd, 999, &h));
	ERRNO(EINVAL, gem_import(vg.gpu[0].fd, file, &h));
}

static int place(int file, uint32_t handle, uint64_t domains)
{
	struct drm_amdgpu_gem_op op = {
		.handle = handle,
		.op = AMDGPU_GEM_OP_SET_PLACEMENT,
		.value = domains,
	};

	return tap_ioctl(file, DRM_IOCTL_AMDGPU_GEM_OP, &op);
}

/*
 * Catches: memory of another device is placed in VRAM. Back in GTT, such memory has no DMA
 * addresses, so the driver would use address 0.
 */
static void foreign_placement(void)
{
	struct vg_mem_info before, after;
	uint32_t h, handle;
	uint64_t va;
	char *p;
	int vgem;

	vgem = tap_open_vgem();
	start(1);
	p = vgem_create(vgem, &handle);
	vg_pattern_fill(p, SIZE, SEED, 0);
	ERRNO(0, gem_import(vg.gpu[0].fd, gem_export(vgem, handle), &h));
	OK(vg_mem_info(&vg.gpu[0], &before));
	ERRNO(EINVAL, place(vg.gpu[0].fd, h, AMDGPU_GEM_DOMAIN_VRAM));
	ERRNO(EINVAL, place(vg.gpu[0].fd, h, AMDGPU_GEM_DOMAIN_VRAM |
					     AMDGPU_GEM_DOMAIN_GTT));
	ERRNO(0, place(vg.gpu[0].fd, h, AMDGPU_GEM_DOMAIN_GTT));
	/*
	 * Map the memory with GEM_VA in the process's address space, and access it
	 * before and after evictions.
	 */
	va = (uintptr_t)tap_anon(SIZE);
	ERRNO(0, vr_gem_va(vg.gpu[0].fd, h, AMDGPU_VA_OP_MAP, VR_MAP_RW, va, 0,
			   SIZE));
	OK(vg_mem_info(&vg.gpu[0], &after));
	CHECK(after.vram_used < before.vram_used + SIZE, "the memory is in VRAM");
	memset(stage[0].cpu, 0x5a, SIZE);
	OK(vg_copy(&q[0], stage[0].cpu, (void *)va, SIZE));
	OK(vg_pattern_check(stage[0].cpu, SIZE, SEED, 0));
	tap_evict(&vg.gpu[0], "vram");
	tap_evict(&vg.gpu[0], "gtt");
	vg_pattern_fill(p, SIZE, SEED + 1, 0);
	OK(vg_copy(&q[0], stage[0].cpu, (void *)va, SIZE));
	OK(vg_pattern_check(stage[0].cpu, SIZE, SEED + 1, 0));
}

/* Catches: a userptr BO, which consists of pages of the process, is placed in VRAM. */
static void user_placement(void)
{
	struct drm_amdgpu_gem_userptr user = {
		.addr = (uintptr_t)tap_anon(SIZE), .size = SIZE,
		.flags = AMDGPU_GEM_USERPTR_REGISTER |
			 AMDGPU_GEM_USERPTR_ANONONLY,
	};

	OK(vg_open_bare(&vg));
	ERRNO(0, tap_ioctl(vg.gpu[0].fd, DRM_IOCTL_AMDGPU_GEM_USERPTR, &user));
	ERRNO(EPERM, place(vg.gpu[0].fd, user.handle, AMDGPU_GEM_DOMAIN_VRAM));
	ERRNO(EPERM, place(vg.gpu[0].fd, user.handle, AMDGPU_GEM_DOMAIN_GTT));
}

static const struct tap_case cases[] = {
	{ "VRAM of one GPU on the other", vram_between, 2 },
	{ "GTT of one GPU on the other", gtt_between, 2 },
	{ "the same GPU has the same memory", same_gpu, 1 },
	{ "every order of close", orders, 2 },
	{ "handles on two GPUs", gem_two_gpus, 2 },
	{ "the exporter's memory moves", moves, 2 },
	{ "it moves under running queues", moves_under_queues, 2 },
	{ "memory of vgem", from_vgem, 2 },
	{ "memory for vgem", to_vgem, 1 },
	{ "memory of udmabuf", from_udmabuf, 2 },
	{ "SET_PLACEMENT of foreign memory", foreign_placement, 1 },
	{ "SET_PLACEMENT of a process's pages", user_placement, 1 },
	{ "bad input", bad_input, 1 },
};

int main(int argc, char **argv)
{
	return tap_main(TAP_CASES(cases), argc, argv);
}
