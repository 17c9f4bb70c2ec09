// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Memory ioctls and mmap with wrong arguments must return the errno that amdgpu
 * returns, and must have no side effects. Catches: arithmetic overflows; a handle or
 * offset of another process is accepted; a BO is freed while in use.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "render.h"
#include "tap.h"

#define BAD_GPU 0xdeadu

static int try_alloc(struct vg *vg, uint32_t gpu_id, uint64_t va,
		     uint64_t size, uint32_t flags)
{
	struct kfd_ioctl_alloc_memory_of_gpu_args args = {
		.va_addr = va, .size = size, .gpu_id = gpu_id, .flags = flags,
	};

	return tap_ioctl(vg->kfd, AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, &args);
}

static void alloc(void)
{
	struct vg_mem_info before;
	uint64_t va = 0x20000000;
	struct vg vg;
	uint32_t id;

	tap_open(&vg, -1);
	id = vg.gpu[0].gpu_id;
	OK(vg_mem_info(&vg.gpu[0], &before));
	ERRNO(EINVAL, try_alloc(&vg, id, va, 0, VG_VRAM));
	ERRNO(EINVAL, try_alloc(&vg, BAD_GPU, va, VG_PAGE, VG_VRAM));
	ERRNO(EINVAL, try_alloc(&vg, id, va, VG_PAGE, VG_BO_ACCESS));
	ERRNO(EINVAL, try_alloc(&vg, id, va, VG_PAGE, VG_DOORBELL));
	ERRNO(EINVAL, try_alloc(&vg, id, va, 2 * VG_PAGE, VG_MMIO_REMAP));
	ERRNO(ENOMEM, try_alloc(&vg, id, va, before.vram_total + VG_MIB,
				VG_VRAM));
	ERRNO(ENOMEM, try_alloc(&vg, id, va, 1ull << 46, VG_VRAM));
	ERRNO(ENOMEM, try_alloc(&vg, id, va, 1ull << 46, VG_GTT));
	OK(vg_mem_wait_freed(&vg.gpu[0], &before, VG_TIMEOUT_MS));
}

/* ALLOC must refuse sizes that overflow when they are rounded up to a page. */
static void alloc_overflow(void)
{
	struct vg_mem_info before;
	struct vg vg;
	uint32_t id;
	int r;

	tap_open(&vg, -1);
	id = vg.gpu[0].gpu_id;
	OK(vg_mem_info(&vg.gpu[0], &before));
	r = try_alloc(&vg, id, 0x20000000, ~0ull, VG_VRAM);
	CHECK(r == -EINVAL || r == -ENOMEM, "size ~0 in VRAM: %d", r);
	r = try_alloc(&vg, id, 0x20000000, ~0ull - VG_PAGE, VG_GTT);
	CHECK(r == -EINVAL || r == -ENOMEM, "size ~0 - 4096 in GTT: %d", r);
	r = try_alloc(&vg, id, 0x20000000, 1ull << 63, VG_GTT);
	CHECK(r == -EINVAL || r == -ENOMEM, "size 2^63 in GTT: %d", r);
	OK(vg_mem_wait_freed(&vg.gpu[0], &before, VG_TIMEOUT_MS));
}

static int try_map(struct vg *vg, uint64_t handle, const uint32_t *ids,
		   uint32_t n, uint32_t done)
{
	struct kfd_ioctl_map_memory_to_gpu_args args = {
		.handle = handle, .device_ids_array_ptr = (uintptr_t)ids,
		.n_devices = n, .n_success = done,
	};

	return tap_ioctl(vg->kfd, AMDKFD_IOC_MAP_MEMORY_TO_GPU, &args);
}

static int try_unmap(struct vg *vg, uint64_t handle, const uint32_t *ids,
		     uint32_t n, uint32_t done)
{
	struct kfd_ioctl_unmap_memory_from_gpu_args args = {
		.handle = handle, .device_ids_array_ptr = (uintptr_t)ids,
		.n_devices = n, .n_success = done,
	};

	return tap_ioctl(vg->kfd, AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU, &args);
}

static int try_free(struct vg *vg, uint64_t handle)
{
	struct kfd_ioctl_free_memory_of_gpu_args args = { .handle = handle };

	return tap_ioctl(vg->kfd, AMDKFD_IOC_FREE_MEMORY_OF_GPU, &args);
}

static void map_and_free(void)
{
	struct vg_bo bo = { 0 };
	uint64_t no_handle;
	const uint32_t *id;
	uint32_t bad = BAD_GPU;
	struct vg vg;

	tap_open(&vg, -1);
	id = &vg.gpu[0].gpu_id;
	no_handle = (uint64_t)*id << 32 | 0x7ffffff0;
	OK(vg_bo_alloc(&vg, &vg.gpu[0], VG_PAGE, VG_GTT, &bo));
	ERRNO(EINVAL, try_map(&vg, bo.handle, id, 0, 0));
	ERRNO(EINVAL, try_map(&vg, bo.handle, id, 1, 2));
	ERRNO(EFAULT, try_map(&vg, bo.handle, (void *)8, 1, 0));
	ERRNO(EINVAL, try_map(&vg, bo.handle, &bad, 1, 0));
	ERRNO(EINVAL, try_map(&vg, 0x12345678, id, 1, 0));
	ERRNO(ENOMEM, try_map(&vg, no_handle, id, 1, 0));
	ERRNO(EINVAL, try_unmap(&vg, bo.handle, id, 1, 0));
	ERRNO(0, try_map(&vg, bo.handle, id, 1, 0));
	/* Mapping a BO that is already mapped must succeed. */
	ERRNO(0, try_map(&vg, bo.handle, id, 1, 0));
	ERRNO(EBUSY, try_free(&vg, bo.handle));
	ERRNO(EINVAL, try_unmap(&vg, bo.handle, id, 0, 0));
	ERRNO(ENOMEM, try_unmap(&vg, no_handle, id, 1, 0));
	ERRNO(0, try_unmap(&vg, bo.handle, id, 1, 0));
	ERRNO(EINVAL, try_unmap(&vg, bo.handle, id, 1, 0));
	ERRNO(0, try_free(&vg, bo.handle));
	ERRNO(EINVAL, try_free(&vg, bo.handle));
	ERRNO(EINVAL, try_free(&vg, no_handle));
	ERRNO(EINVAL, try_free(&vg, 0));
	ERRNO(EINVAL, try_free(&vg, ~0ull));
}

/* A huge number of devices must cause no huge allocation and no long loop. */
static void map_many(void)
{
	struct vg_bo bo = { 0 };
	struct vg vg;
	int r;

	tap_open(&vg, -1);
	OK(vg_bo_alloc(&vg, &vg.gpu[0], VG_PAGE, VG_GTT, &bo));
	r = try_map(&vg, bo.handle, &vg.gpu[0].gpu_id, 0xffffffff, 0);
	CHECK(r == -ENOMEM || r == -EFAULT || r == -EINVAL,
	      "mapping on 2^32-1 devices: %d", r);
}

/*
 * Allocate a KFD BO with @flags and import it into the render node's file. Set its
 * placement to @domain in this file, and free the BO.
 */
static void place_and_free(struct vg *vg, uint32_t flags, uint64_t domain)
{
	struct kfd_ioctl_export_dmabuf_args export = { .flags = O_CLOEXEC };
	struct drm_amdgpu_gem_op op = {
		.op = AMDGPU_GEM_OP_SET_PLACEMENT, .value = domain,
	};
	struct drm_prime_handle prime = { 0 };
	struct vg_bo bo = { 0 };

	OK(vg_bo_alloc(vg, &vg->gpu[0], VG_MIB, flags, &bo));
	export.handle = bo.handle;
	ERRNO(0, tap_ioctl(vg->kfd, AMDKFD_IOC_EXPORT_DMABUF, &export));
	prime.fd = (int)export.dmabuf_fd;
	ERRNO(0, tap_ioctl(vg->gpu[0].fd, DRM_IOCTL_PRIME_FD_TO_HANDLE,
			   &prime));
	op.handle = prime.handle;
	ERRNO(0, tap_ioctl(vg->gpu[0].fd, DRM_IOCTL_AMDGPU_GEM_OP, &op));
	ERRNO(0, vr_gem_close(vg->gpu[0].fd, prime.handle));
	close(prime.fd);
	OK(vg_bo_free(&bo));
}

/*
 * Change the domain of a BO between allocation and free. Catches: at the free, KFD credits another
 * limit than it charged at the allocation.
 */
static void placed_elsewhere(void)
{
	struct vg_mem_info before;
	struct vg_bo bo = { 0 };
	struct vg vg;

	tap_open(&vg, -1);
	OK(vg_mem_info(&vg.gpu[0], &before));
	place_and_free(&vg, VG_VRAM, AMDGPU_GEM_DOMAIN_GTT);
	OK(vg_bo_alloc(&vg, &vg.gpu[0], VG_PAGE, VG_VRAM, &bo));
	OK(vg_bo_free(&bo));
	place_and_free(&vg, VG_GTT, AMDGPU_GEM_DOMAIN_VRAM);
	OK(vg_bo_alloc(&vg, &vg.gpu[0], VG_PAGE, VG_GTT, &bo));
	OK(vg_bo_free(&bo));
	OK(vg_mem_wait_freed(&vg.gpu[0], &before, VG_TIMEOUT_MS));
}

/* MAP must fail at addresses that page tables cannot map, or that another mapping uses. */
static void map_addresses(void)
{
	static const uint64_t bad_va[] = {
		0x123456,			/* not page aligned */
		1ull << 48,			/* beyond 48 bits */
		0xfffffffffffff000,		/* wraps around */
		0,
	};
	struct kfd_ioctl_alloc_memory_of_gpu_args args;
	struct vg_bo bo = { 0 };
	unsigned int i;
	struct vg vg;
	int r;

	tap_open(&vg, -1);
	for (i = 0; i < sizeof(bad_va) / sizeof(bad_va[0]); i++) {
		args = (struct kfd_ioctl_alloc_memory_of_gpu_args) {
			.va_addr = bad_va[i], .size = 2 * VG_PAGE,
			.gpu_id = vg.gpu[0].gpu_id, .flags = VG_VRAM,
		};
		/* Either ALLOC or MAP must refuse the address. In amdgpu, MAP refuses it. */
		r = tap_ioctl(vg.kfd, AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, &args);
		if (!r)
			r = try_map(&vg, args.handle, &vg.gpu[0].gpu_id, 1, 0);
		CHECK(r == -EINVAL, "va 0x%lx: %d", bad_va[i], r);
	}
	OK(vg_bo_create(&vg, &vg.gpu[0], 8 * VG_PAGE, VG_GTT, &bo));
	args = (struct kfd_ioctl_alloc_memory_of_gpu_args) {
		.va_addr = bo.va + 4 * VG_PAGE, .size = 8 * VG_PAGE,
		.gpu_id = vg.gpu[0].gpu_id, .flags = VG_VRAM,
	};
	ERRNO(0, tap_ioctl(vg.kfd, AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, &args));
	ERRNO(EINVAL, try_map(&vg, args.handle, &vg.gpu[0].gpu_id, 1, 0));
	ERRNO(0, try_free(&vg, args.handle));
}

/* Catches: an address can belong to both an SVM range and a BO. */
static void svm_and_bo(void)
{
	struct vg_bo bo = { 0 };
	struct vg vg;
	char *p;
	int r;

	tap_open(&vg, 1);
	p = vg_map_anon(4 * VG_PAGE);
	CHECK(p, "%s", vg_error());
	OK(vg_svm_set1(&vg, p, 4 * VG_PAGE, KFD_IOCTL_SVM_ATTR_GRANULARITY, 9));
	ERRNO(EADDRINUSE, try_alloc(&vg, vg.gpu[0].gpu_id, (uintptr_t)p,
				    VG_PAGE, VG_GTT));
	OK(vg_bo_create(&vg, &vg.gpu[0], 4 * VG_PAGE, VG_GTT, &bo));
	r = vg_svm_set1(&vg, bo.cpu, VG_PAGE, KFD_IOCTL_SVM_ATTR_GRANULARITY,
			9);
	CHECK(r == -EFAULT || r == -EADDRINUSE, "SVM over a BO: %d", r);
}

/*
 * Catches: MAP accepts an address for which an SVM range was created after ALLOC; MAP still
 * refuses the address after munmap() has removed the SVM range.
 */
static void bo_after_svm(void)
{
	const uint64_t size = 4 * VG_PAGE;
	struct kfd_ioctl_alloc_memory_of_gpu_args args = {
		.size = size, .flags = VG_GTT,
	};
	const uint32_t *id;
	struct vg vg;
	char *p;

	tap_open(&vg, 1);
	id = &vg.gpu[0].gpu_id;
	p = tap_anon(size);
	args.va_addr = (uintptr_t)p;
	args.gpu_id = *id;
	ERRNO(0, tap_ioctl(vg.kfd, AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, &args));
	/* An SVM range on only the last page of the BO must be enough to make MAP fail. */
	OK(vg_svm_set1(&vg, p + size - VG_PAGE, VG_PAGE,
		       KFD_IOCTL_SVM_ATTR_GRANULARITY, 9));
	ERRNO(EADDRINUSE, try_map(&vg, args.handle, id, 1, 0));
	ERRNO(EINVAL, try_unmap(&vg, args.handle, id, 1, 0));
	CHECK(!munmap(p, size), "munmap");
	ERRNO(0, try_map(&vg, args.handle, id, 1, 0));
	CHECK(mmap(p, size, PROT_READ | PROT_WRITE, MAP_PRIVATE |
		   MAP_ANONYMOUS | MAP_FIXED, -1, 0) == p, "mmap");
	ERRNO(EADDRINUSE, vg_svm_set1(&vg, p, size,
				      KFD_IOCTL_SVM_ATTR_GRANULARITY, 9));
	ERRNO(0, try_unmap(&vg, args.handle, id, 1, 0));
	OK(vg_svm_set1(&vg, p, size, KFD_IOCTL_SVM_ATTR_GRANULARITY, 9));
	ERRNO(0, try_free(&vg, args.handle));
}

static void *try_mmap(int fd, uint64_t size, uint64_t offset)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		       (off_t)offset);

	return p == MAP_FAILED ? NULL : p;
}

static void mmaps(void)
{
	uint64_t doorbell = 3ull << 62, gpu;
	struct vg_queue q = { 0 };
	struct vg_bo bo = { 0 };
	struct vg vg;

	tap_open(&vg, -1);
	gpu = (uint64_t)(vg.gpu[0].gpu_id & 0xffff) << 46;
	OK(vg_queue_create(&vg, &vg.gpu[0], 4096, &q));
#define NO_MMAP(err, fd, size, offset)					\
	do {								\
		CHECK(!try_mmap(fd, size, offset), "mapped");		\
		CHECK(errno == (err), "%s, not %s", strerror(errno),	\
		      strerror(err));					\
	} while (0)
	NO_MMAP(EINVAL, vg.kfd, 4096, doorbell | gpu);
	NO_MMAP(EINVAL, vg.kfd, 16384, doorbell | gpu);
	NO_MMAP(ENODEV, vg.kfd, 8192, doorbell);
	NO_MMAP(ENODEV, vg.kfd, 4096, 0);
	NO_MMAP(EINVAL, vg.kfd, 8192, gpu);
	NO_MMAP(EINVAL, vg.kfd, 4096, 1ull << 62 | gpu);
	NO_MMAP(EINVAL, vg.gpu[0].fd, 4096, 0x7ffffffff000);
	OK(vg_bo_alloc(&vg, &vg.gpu[0], 2 * VG_PAGE, VG_VRAM, &bo));
	/* mmap() must refuse a mapping that is larger than the BO. */
	NO_MMAP(EINVAL, vg.gpu[0].fd, 3 * VG_PAGE, bo.mmap_offset);
#undef NO_MMAP
}

/*
 * Body of a child that maps the page with the HDP flush registers. The page must contain
 * no other register, and every process must be able to map it.
 */
static void use_mmio(void *arg)
{
	struct kfd_ioctl_export_dmabuf_args export = { 0 };
	struct vg_bo bo = { 0 };
	volatile uint32_t *dw;
	struct vg vg;
	void *copy;
	unsigned int i;

	(void)arg;
	tap_open(&vg, -1);
	OK(vg_bo_alloc(&vg, &vg.gpu[0], VG_PAGE, VG_MMIO_REMAP, &bo));
	CHECK(bo.mmap_offset == (uint64_t)(vg.gpu[0].gpu_id & 0xffff) << 46,
	      "offset 0x%lx", bo.mmap_offset);
	OK(vg_bo_map_gpu(&bo));
	dw = try_mmap(vg.kfd, VG_PAGE, bo.mmap_offset);
	CHECK(dw, "%s", strerror(errno));
	copy = mmap(NULL, VG_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, vg.kfd,
		    (off_t)bo.mmap_offset);
	CHECK(copy == MAP_FAILED && errno == EINVAL, "a private mapping");
	for (i = 0; i < VG_PAGE / sizeof(*dw); i++)
		dw[i] = ~0u;
	for (i = 0; i < VG_PAGE / sizeof(*dw); i++)
		CHECK(!dw[i], "dword %u is 0x%x", i, dw[i]);
	export.handle = bo.handle;
	ERRNO(EINVAL, tap_ioctl(vg.kfd, AMDKFD_IOC_EXPORT_DMABUF, &export));
	OK(vg_bo_unmap_gpu(&bo));
	OK(vg_bo_free(&bo));
	dw[0] = 1;
}

static void mmio_page(void)
{
	struct vg_bo bo = { 0 };
	struct vg vg;

	tap_open(&vg, -1);
	OK(vg_bo_alloc(&vg, &vg.gpu[0], VG_PAGE, VG_MMIO_REMAP, &bo));
	tap_in_child(use_mmio, NULL);
	OK(vg_bo_free(&bo));
	tap_in_child(use_mmio, NULL);
}

struct offset {
	uint64_t mmap_offset;
};

static void foreign_bo(void *arg)
{
	const struct offset *o = arg;
	struct vg vg;

	tap_open(&vg, -1);
	CHECK(!try_mmap(vg.gpu[0].fd, VG_PAGE, o->mmap_offset),
	      "another process's BO was mapped");
	CHECK(errno == EACCES, "%s, not EACCES", strerror(errno));
}

static void mmap_of_another(void)
{
	struct vg_bo bo = { 0 };
	struct offset o;
	struct vg vg;

	tap_open(&vg, -1);
	OK(vg_bo_alloc(&vg, &vg.gpu[0], VG_PAGE, VG_GTT, &bo));
	o.mmap_offset = bo.mmap_offset;
	tap_in_child(foreign_bo, &o);
}

/* Close the render node's file, then KFD's, while all objects are in use. */
static void closed_early(void)
{
	struct kfd_ioctl_get_version_args version;
	struct vg_queue q = { 0 };
	struct vg_bo bo = { 0 };
	struct vg vg;

	tap_open(&vg, -1);
	OK(vg_queue_create(&vg, &vg.gpu[0], 4096, &q));
	OK(vg_bo_create(&vg, &vg.gpu[0], VG_MIB, VG_VRAM, &bo));
	close(vg.gpu[0].fd);
	/* KFD holds the VM, so the queue must continue. */
	OK(vg_fill(&q, bo.cpu, 0x77777777, VG_MIB));
	OK(vg_fill_check(bo.cpu, VG_MIB, 0x77777777));
	close(vg.kfd);
	/* The CPU mapping of the BO must still work after KFD's file is closed. */
	OK(vg_fill_check(bo.cpu, VG_MIB, 0x77777777));
	ERRNO(EBADF, tap_ioctl(vg.kfd, AMDKFD_IOC_GET_VERSION, &version));
}

static const struct tap_case cases[] = {
	{ "ALLOC_MEMORY_OF_GPU", alloc, 0 },
	{ "ALLOC sizes that overflow", alloc_overflow, 0 },
	{ "MAP, UNMAP, FREE", map_and_free, 0 },
	{ "MAP on very many devices", map_many, 0 },
	{ "memory that the render node places elsewhere", placed_elsewhere, 0 },
	{ "MAP at addresses that cannot be", map_addresses, 0 },
	{ "SVM over a BO, a BO over SVM", svm_and_bo, 0 },
	{ "MAP where SVM has come since ALLOC", bo_after_svm, 0 },
	{ "mmap of doorbells and BOs", mmaps, 0 },
	{ "the MMIO page", mmio_page, 0 },
	{ "mmap of another process's BO", mmap_of_another, 0 },
	{ "files closed with a queue running", closed_early, 0 },
};

int main(int argc, char **argv)
{
	return tap_main(TAP_CASES(cases), argc, argv);
}
