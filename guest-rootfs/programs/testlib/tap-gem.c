// SPDX-License-Identifier: GPL-2.0-or-later
/* Functions of tap.h for tests of the render node. A failure ends the case. */
#include <sys/mman.h>

#include <drm/amdgpu_drm.h>

#include "render.h"
#include "tap.h"

int tap_open_render(const struct vg_gpu *gpu)
{
	int fd = vr_open(gpu);

	CHECK(fd >= 0, "render node: %s", strerror(-fd));
	return fd;
}

uint32_t tap_gem_create(int fd, uint64_t size, uint64_t domains, uint64_t flags)
{
	uint32_t handle;

	ERRNO(0, vr_gem_create(fd, size, domains, flags, &handle));
	return handle;
}

void tap_gem_close(int fd, uint32_t handle)
{
	ERRNO(0, vr_gem_close(fd, handle));
}

void *tap_gem_mmap(int fd, uint32_t handle, uint64_t size)
{
	union drm_amdgpu_gem_mmap args = { .in = { .handle = handle } };
	void *p;

	ERRNO(0, tap_ioctl(fd, DRM_IOCTL_AMDGPU_GEM_MMAP, &args));
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		 (off_t)args.out.addr_ptr);
	CHECK(p != MAP_FAILED, "mmap of a BO: %s", strerror(errno));
	return p;
}
