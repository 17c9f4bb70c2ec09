// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * This program tests amdgpu's GEM ioctls and INFO on the render node. Catches: memory is not
 * cleared, not freed, or in the wrong domain; another DRM file can use a handle; metadata is lost;
 * bad sizes or flags are accepted.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <drm/amdgpu_drm.h>

#include "render.h"
#include "tap.h"

#define SEED	0x6e

static struct vg vg;
static struct vg_gpu *gpu;
static int fd;

static void start(void)
{
	OK(vg_open_bare(&vg));
	gpu = &vg.gpu[0];
	fd = gpu->fd;
}

/* Create a BO in VRAM with an alignment, which vr_gem_create() does not pass. */
static int create_aligned(uint64_t size, uint64_t align, uint64_t flags,
			  uint32_t *handle)
{
	union drm_amdgpu_gem_create args = {
		.in = {
			.bo_size = size,
			.alignment = align,
			.domains = AMDGPU_GEM_DOMAIN_VRAM,
			.domain_flags = flags,
		},
	};
	int r = tap_ioctl(fd, DRM_IOCTL_AMDGPU_GEM_CREATE, &args);

	*handle = r ? 0 : args.out.handle;
	return r;
}

static int gem_offset(int file, uint32_t handle, uint64_t *offset)
{
	union drm_amdgpu_gem_mmap args = { .in.handle = handle };
	int r = tap_ioctl(file, DRM_IOCTL_AMDGPU_GEM_MMAP, &args);

	*offset = r ? 0 : args.out.addr_ptr;
	return r;
}

static int gem_op(int file, uint32_t handle, uint32_t op, uint64_t value)
{
	struct drm_amdgpu_gem_op args = {
		.handle = handle, .op = op, .value = value,
	};

	return tap_ioctl(file, DRM_IOCTL_AMDGPU_GEM_OP, &args);
}

static int wait_idle(int file, uint32_t handle, uint64_t timeout,
		     uint32_t *status)
{
	union drm_amdgpu_gem_wait_idle args = {
		.in = { .handle = handle, .timeout = timeout },
	};
	int r = tap_ioctl(file, DRM_IOCTL_AMDGPU_GEM_WAIT_IDLE, &args);

	*status = r ? ~0u : args.out.status;
	return r;
}

/* A new BO must be zero. A second CPU mapping must show what the first has written. */
static void one_bo(uint64_t size, uint64_t domains, uint64_t flags)
{
	uint64_t full = (size + VG_PAGE - 1) & ~(VG_PAGE - 1);
	uint32_t handle, status;
	void *a, *b;

	ERRNO(0, vr_gem_create(fd, size, domains, flags, &handle));
	a = tap_gem_mmap(fd, handle, full);
	OK(vg_fill_check(a, full, 0));
	vg_pattern_fill(a, full, SEED + size, 0);
	b = tap_gem_mmap(fd, handle, full);
	OK(vg_pattern_check(b, full, SEED + size, 0));
	munmap(a, full);
	munmap(b, full);
	ERRNO(0, wait_idle(fd, handle, ~0ull, &status));
	CHECK(!status, "an idle BO is not idle");
	ERRNO(0, vr_gem_close(fd, handle));
	ERRNO(EINVAL, vr_gem_close(fd, handle));
}

static void sizes(void)
{
	static const uint64_t size[] = {
		1, VG_PAGE, 5000, 64 * VG_KIB, 2 * VG_MIB + VG_PAGE, 9 * VG_MIB,
	};
	unsigned int i;

	start();
	for (i = 0; i < sizeof(size) / sizeof(size[0]); i++) {
		one_bo(size[i], AMDGPU_GEM_DOMAIN_VRAM,
		       AMDGPU_GEM_CREATE_CPU_ACCESS_REQUIRED);
		one_bo(size[i], AMDGPU_GEM_DOMAIN_GTT, 0);
		one_bo(size[i], AMDGPU_GEM_DOMAIN_GTT,
		       AMDGPU_GEM_CREATE_CPU_GTT_USWC);
		one_bo(size[i], AMDGPU_GEM_DOMAIN_CPU, 0);
		one_bo(size[i], AMDGPU_GEM_DOMAIN_VRAM | AMDGPU_GEM_DOMAIN_GTT,
		       0);
		one_bo(size[i], 0, 0);
	}
}

/* A BO's memory must count in its domain until the BO is freed. */
static void usage(void)
{
	const uint64_t size = 4 * VG_MIB;
	struct vg_mem_info base, now;
	uint32_t vram, gtt;

	start();
	OK(vg_mem_info(gpu, &base));
	ERRNO(0, vr_gem_create(fd, size, AMDGPU_GEM_DOMAIN_VRAM, 0, &vram));
	ERRNO(0, vr_gem_create(fd, size, AMDGPU_GEM_DOMAIN_GTT, 0, &gtt));
	OK(vg_mem_info(gpu, &now));
	CHECK(now.vram_used >= base.vram_used + size, "VRAM is not counted");
	CHECK(now.gtt_used >= base.gtt_used + size, "GTT is not counted");
	ERRNO(0, vr_gem_close(fd, vram));
	ERRNO(0, vr_gem_close(fd, gtt));
	OK(vg_mem_wait_freed(gpu, &base, VG_TIMEOUT_MS));
}

/* Create more BOs than VRAM holds, so that some are evicted. Catches: contents are lost. */
static void overcommit(void)
{
	uint32_t handle[12];
	struct vg_mem_info info;
	uint64_t size;
	unsigned int i;
	void *p;

	start();
	OK(vg_mem_info(gpu, &info));
	size = (info.vram_total / 8) & ~(VG_PAGE - 1);
	if (size > 16 * VG_MIB)
		tap_skip("for a GPU with at most 128 MiB of VRAM");
	for (i = 0; i < 12; i++) {
		ERRNO(0, vr_gem_create(fd, size, AMDGPU_GEM_DOMAIN_VRAM, 0,
				       &handle[i]));
		p = tap_gem_mmap(fd, handle[i], size);
		vg_pattern_fill(p, size, SEED + i, 0);
		munmap(p, size);
	}
	for (i = 0; i < 12; i++) {
		p = tap_gem_mmap(fd, handle[i], size);
		OK(vg_pattern_check(p, size, SEED + i, 0));
		munmap(p, size);
	}
}

static void create_info(void)
{
	struct drm_amdgpu_gem_create_in info = { 0 };
	uint32_t handle;

	start();
	ERRNO(0, create_aligned(5000, 64 * VG_KIB,
				AMDGPU_GEM_CREATE_NO_CPU_ACCESS, &handle));
	ERRNO(0, gem_op(fd, handle, AMDGPU_GEM_OP_GET_GEM_CREATE_INFO,
			(uintptr_t)&info));
	CHECK(info.bo_size == 2 * VG_PAGE, "size %llu", info.bo_size);
	CHECK(info.alignment == 64 * VG_KIB, "alignment %llu", info.alignment);
	CHECK(info.domains == AMDGPU_GEM_DOMAIN_VRAM, "domains %#llx",
	      info.domains);
	CHECK(info.domain_flags == (AMDGPU_GEM_CREATE_NO_CPU_ACCESS |
				    AMDGPU_GEM_CREATE_VRAM_CLEARED),
	      "flags %#llx", info.domain_flags);
	ERRNO(0, gem_op(fd, handle, AMDGPU_GEM_OP_SET_PLACEMENT,
			AMDGPU_GEM_DOMAIN_GTT | AMDGPU_GEM_DOMAIN_GDS));
	ERRNO(0, gem_op(fd, handle, AMDGPU_GEM_OP_GET_GEM_CREATE_INFO,
			(uintptr_t)&info));
	CHECK(info.domains == AMDGPU_GEM_DOMAIN_GTT, "domains %#llx",
	      info.domains);
	ERRNO(EFAULT, gem_op(fd, handle, AMDGPU_GEM_OP_GET_GEM_CREATE_INFO, 8));
	ERRNO(EINVAL, gem_op(fd, handle, 77, 0));
	ERRNO(ENOENT, gem_op(fd, handle + 1, AMDGPU_GEM_OP_SET_PLACEMENT, 4));
}

static int metadata(struct drm_amdgpu_gem_metadata *m, uint32_t handle,
		    uint32_t op)
{
	m->handle = handle;
	m->op = op;
	return tap_ioctl(fd, DRM_IOCTL_AMDGPU_GEM_METADATA, m);
}

static void metadata_kept(void)
{
	struct drm_amdgpu_gem_metadata in = { 0 }, out = { 0 };
	uint32_t handle;

	start();
	ERRNO(0, vr_gem_create(fd, VG_PAGE, AMDGPU_GEM_DOMAIN_GTT, 0, &handle));
	ERRNO(0, metadata(&out, handle, AMDGPU_GEM_METADATA_OP_GET_METADATA));
	CHECK(!out.data.data_size_bytes && !out.data.tiling_info,
	      "a new BO has metadata");

	in.data.flags = 0x123456789abcull;
	in.data.tiling_info = 0xfedcba987654ull;
	in.data.data_size_bytes = sizeof(in.data.data);
	vg_pattern_fill(in.data.data, sizeof(in.data.data), SEED, 0);
	ERRNO(0, metadata(&in, handle, AMDGPU_GEM_METADATA_OP_SET_METADATA));
	ERRNO(0, metadata(&out, handle, AMDGPU_GEM_METADATA_OP_GET_METADATA));
	CHECK(!memcmp(&in.data, &out.data, sizeof(in.data)),
	      "metadata has changed");

	in.data.data_size_bytes = sizeof(in.data.data) + 1;
	ERRNO(EINVAL, metadata(&in, handle,
			       AMDGPU_GEM_METADATA_OP_SET_METADATA));
	ERRNO(EINVAL, metadata(&in, handle, 0));
	ERRNO(ENOENT, metadata(&in, 99, AMDGPU_GEM_METADATA_OP_GET_METADATA));
	/* The failed calls must have changed nothing. */
	ERRNO(0, metadata(&out, handle, AMDGPU_GEM_METADATA_OP_GET_METADATA));
	CHECK(out.data.data_size_bytes == sizeof(in.data.data),
	      "%u bytes of metadata", out.data.data_size_bytes);
	in.data.data_size_bytes = 0;
	ERRNO(0, metadata(&in, handle, AMDGPU_GEM_METADATA_OP_SET_METADATA));
	ERRNO(0, metadata(&out, handle, AMDGPU_GEM_METADATA_OP_GET_METADATA));
	CHECK(!out.data.data_size_bytes, "metadata is still there");
}

static void bad_create(void)
{
	struct vg_mem_info info;
	uint32_t h;

	start();
	OK(vg_mem_info(gpu, &info));
	ERRNO(EINVAL, vr_gem_create(fd, 0, AMDGPU_GEM_DOMAIN_VRAM, 0, &h));
	ERRNO(EINVAL, vr_gem_create(fd, ~0ull, AMDGPU_GEM_DOMAIN_VRAM, 0, &h));
	ERRNO(ENOMEM, vr_gem_create(fd, 1ull << 62, AMDGPU_GEM_DOMAIN_VRAM, 0,
				    &h));
	ERRNO(ENOMEM, vr_gem_create(fd, info.gtt_total + VG_PAGE,
				    AMDGPU_GEM_DOMAIN_GTT, 0, &h));
	ERRNO(EINVAL, create_aligned(VG_PAGE, 3 * VG_PAGE, 0, &h));
	ERRNO(EINVAL, create_aligned(VG_PAGE, ~0ull, 0, &h));
	ERRNO(EINVAL, vr_gem_create(fd, VG_PAGE, AMDGPU_GEM_DOMAIN_DOORBELL, 0,
				    &h));
	ERRNO(EINVAL, vr_gem_create(fd, VG_PAGE, 1ull << 40, 0, &h));
	ERRNO(EINVAL, vr_gem_create(fd, VG_PAGE, AMDGPU_GEM_DOMAIN_GDS |
				    AMDGPU_GEM_DOMAIN_VRAM, 0, &h));
	ERRNO(ENOMEM, vr_gem_create(fd, VG_PAGE, AMDGPU_GEM_DOMAIN_GDS, 0, &h));
	ERRNO(EINVAL, vr_gem_create(fd, VG_PAGE, AMDGPU_GEM_DOMAIN_VRAM,
				    AMDGPU_GEM_CREATE_ENCRYPTED, &h));
	ERRNO(EINVAL, vr_gem_create(fd, VG_PAGE, AMDGPU_GEM_DOMAIN_VRAM,
				    AMDGPU_GEM_CREATE_VRAM_CONTIGUOUS, &h));
	ERRNO(EINVAL, vr_gem_create(fd, VG_PAGE, AMDGPU_GEM_DOMAIN_VRAM,
				    1ull << 60, &h));
}

static void bad_handles(void)
{
	uint32_t h, status;
	uint64_t offset;
	void *p;
	int other;

	start();
	ERRNO(ENOENT, gem_offset(fd, 1, &offset));
	ERRNO(ENOENT, wait_idle(fd, 1, 0, &status));
	ERRNO(0, vr_gem_create(fd, VG_PAGE, AMDGPU_GEM_DOMAIN_VRAM,
			       AMDGPU_GEM_CREATE_NO_CPU_ACCESS, &h));
	ERRNO(EPERM, gem_offset(fd, h, &offset));

	/* Another file can use neither the handle nor the offset. */
	other = tap_open_render(gpu);
	ERRNO(ENOENT, gem_offset(other, h, &offset));
	ERRNO(0, vr_gem_create(fd, VG_PAGE, AMDGPU_GEM_DOMAIN_GTT, 0, &h));
	ERRNO(0, gem_offset(fd, h, &offset));
	p = mmap(NULL, VG_PAGE, PROT_READ, MAP_SHARED, other, (off_t)offset);
	CHECK(p == MAP_FAILED && errno == EACCES, "another file maps the BO");
	p = mmap(NULL, 2 * VG_PAGE, PROT_READ, MAP_SHARED, fd, (off_t)offset);
	CHECK(p == MAP_FAILED && errno == EINVAL, "mapped beyond its end");
	close(other);
}

/* A mapping must keep the memory after the handle and the file are closed. */
static void closed_early(void)
{
	const uint64_t size = 3 * VG_MIB;
	struct vg_mem_info base;
	uint32_t h, i;
	int other;
	void *p;

	start();
	OK(vg_mem_info(gpu, &base));
	other = tap_open_render(gpu);
	ERRNO(0, vr_gem_create(other, size, AMDGPU_GEM_DOMAIN_VRAM, 0, &h));
	p = tap_gem_mmap(other, h, size);
	vg_pattern_fill(p, size, SEED, 0);
	ERRNO(0, vr_gem_close(other, h));
	OK(vg_pattern_check(p, size, SEED, 0));
	for (i = 0; i < 100; i++)
		ERRNO(0, vr_gem_create(other, VG_PAGE, i & 1 ?
				       AMDGPU_GEM_DOMAIN_VRAM :
				       AMDGPU_GEM_DOMAIN_GTT, 0, &h));
	close(other);
	OK(vg_pattern_check(p, size, SEED, 0));
	munmap(p, size);
	OK(vg_mem_wait_freed(gpu, &base, VG_TIMEOUT_MS));
}

static void hold_and_die(void *arg)
{
	uint32_t h;
	int other = tap_open_render(gpu), i;

	(void)arg;
	for (i = 0; i < 8; i++) {
		ERRNO(0, vr_gem_create(other, VG_MIB, AMDGPU_GEM_DOMAIN_VRAM, 0,
				       &h));
		vg_pattern_fill(tap_gem_mmap(other, h, VG_MIB), VG_MIB, SEED,
				0);
	}
}

static void process_ends(void)
{
	struct vg_mem_info base;
	uint32_t h;

	start();
	OK(vg_mem_info(gpu, &base));
	tap_in_child(hold_and_die, NULL);
	OK(vg_mem_wait_freed(gpu, &base, VG_TIMEOUT_MS));
	/* A new BO must not contain what the child has written. */
	ERRNO(0, vr_gem_create(fd, 8 * VG_MIB, AMDGPU_GEM_DOMAIN_VRAM, 0, &h));
	OK(vg_fill_check(tap_gem_mmap(fd, h, 8 * VG_MIB), 8 * VG_MIB, 0));
}

/*
 * Export a BO as a dma-buf, and import the dma-buf in a second DRM file. The new handle must refer
 * to the BO's memory.
 */
static void shared(void)
{
	const uint64_t size = 3 * VG_MIB;
	struct drm_prime_handle prime = { 0 };
	uint32_t h;
	int other;
	void *p;

	start();
	other = tap_open_render(gpu);
	ERRNO(0, vr_gem_create(fd, size, AMDGPU_GEM_DOMAIN_VRAM, 0, &h));
	p = tap_gem_mmap(fd, h, size);
	vg_pattern_fill(p, size, SEED, 0);
	munmap(p, size);
	prime.handle = h;
	prime.flags = DRM_CLOEXEC | DRM_RDWR;
	ERRNO(0, tap_ioctl(fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime));
	ERRNO(0, vr_gem_close(fd, h));
	ERRNO(0, tap_ioctl(other, DRM_IOCTL_PRIME_FD_TO_HANDLE, &prime));
	p = mmap(NULL, size, PROT_READ, MAP_SHARED, prime.fd, 0);
	CHECK(p != MAP_FAILED, "mmap of a dma-buf: %s", strerror(errno));
	OK(vg_pattern_check(p, size, SEED, 0));
	munmap(p, size);
	close(prime.fd);
	OK(vg_pattern_check(tap_gem_mmap(other, prime.handle, size), size, SEED,
			    0));
	prime.handle = 99;
	ERRNO(ENOENT, tap_ioctl(fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime));
}

static int info(struct drm_amdgpu_info *args, uint32_t query, void *out,
		uint32_t size)
{
	args->query = query;
	args->return_pointer = (uintptr_t)out;
	args->return_size = size;
	return tap_ioctl(fd, DRM_IOCTL_AMDGPU_INFO, args);
}

static uint64_t info_u64(uint32_t query)
{
	struct drm_amdgpu_info args = { 0 };
	uint64_t value = ~0ull;

	ERRNO(0, info(&args, query, &value, sizeof(value)));
	return value;
}

/* INFO, sysfs and the topology must report the same values. */
static void info_memory(void)
{
	const uint64_t size = 4 * VG_MIB;
	struct drm_amdgpu_memory_info mem = { 0 };
	struct drm_amdgpu_info_device dev = { 0 };
	struct drm_amdgpu_info args = { 0 };
	uint64_t before, evictions;
	struct vg_mem_info sys;
	uint32_t h, hs[12];
	int i;

	start();
	OK(vg_mem_info(gpu, &sys));
	before = info_u64(AMDGPU_INFO_VRAM_USAGE);
	ERRNO(0, vr_gem_create(fd, size, AMDGPU_GEM_DOMAIN_VRAM, 0, &h));
	CHECK(info_u64(AMDGPU_INFO_VRAM_USAGE) >= before + size,
	      "VRAM_USAGE does not count a BO");
	ERRNO(0, info(&args, AMDGPU_INFO_MEMORY, &mem, sizeof(mem)));
	CHECK(mem.vram.total_heap_size == sys.vram_total &&
	      mem.gtt.total_heap_size == sys.gtt_total,
	      "MEMORY and sysfs disagree");
	CHECK(mem.vram.heap_usage >= before + size, "MEMORY's usage");
	ERRNO(0, info(&args, AMDGPU_INFO_DEV_INFO, &dev, sizeof(dev)));
	CHECK(dev.device_id == vg_node_property(gpu->node, "device_id", 0),
	      "device id %#x", dev.device_id);
	CHECK(dev.cu_active_number * 4 ==
	      vg_node_property(gpu->node, "simd_count", 0), "%u CUs",
	      dev.cu_active_number);

	if (sys.vram_total > 128 * VG_MIB)
		return;
	evictions = info_u64(AMDGPU_INFO_NUM_EVICTIONS);
	for (i = 0; i < 12; i++)
		ERRNO(0, vr_gem_create(fd, sys.vram_total / 8 & ~(VG_PAGE - 1),
				       AMDGPU_GEM_DOMAIN_VRAM, 0, &hs[i]));
	CHECK(info_u64(AMDGPU_INFO_NUM_EVICTIONS) > evictions,
	      "NUM_EVICTIONS does not count");
}

static void info_blocks(void)
{
	struct drm_amdgpu_info_hw_ip ip;
	struct drm_amdgpu_info_firmware fw;
	struct drm_amdgpu_info args = { 0 };
	uint32_t n = 0;

	start();
	args.query_hw_ip.type = AMDGPU_HW_IP_DMA;
	ERRNO(0, info(&args, AMDGPU_INFO_HW_IP_COUNT, &n, sizeof(n)));
	CHECK(n == vg_node_property(gpu->node, "num_sdma_engines", 0),
	      "%u SDMA engines", n);
	ERRNO(0, info(&args, AMDGPU_INFO_HW_IP_INFO, &ip, sizeof(ip)));
	CHECK(ip.hw_ip_version_major == 4, "SDMA %u", ip.hw_ip_version_major);
	CHECK(ip.available_rings == (1u << n) - 1, "rings %#x",
	      ip.available_rings);
	args.query_hw_ip.type = AMDGPU_HW_IP_GFX;
	memset(&ip, 0xff, sizeof(ip));
	ERRNO(0, info(&args, AMDGPU_INFO_HW_IP_INFO, &ip, sizeof(ip)));
	CHECK(!ip.hw_ip_version_major && !ip.available_rings, "there is GFX");
	ERRNO(EINVAL, info(&args, AMDGPU_INFO_HW_IP_COUNT, &n, sizeof(n)));
	args.query_hw_ip.type = AMDGPU_HW_IP_NUM;
	ERRNO(EINVAL, info(&args, AMDGPU_INFO_HW_IP_INFO, &ip, sizeof(ip)));

	memset(&args, 0, sizeof(args));
	memset(&fw, 0xff, sizeof(fw));
	args.query_fw.fw_type = AMDGPU_INFO_FW_SDMA;
	args.query_fw.index = n - 1;
	ERRNO(0, info(&args, AMDGPU_INFO_FW_VERSION, &fw, sizeof(fw)));
	CHECK(!fw.ver && !fw.feature, "firmware %u", fw.ver);
	args.query_fw.index = n;
	ERRNO(EINVAL, info(&args, AMDGPU_INFO_FW_VERSION, &fw, sizeof(fw)));
	args.query_fw.fw_type = 0x7777;
	ERRNO(EINVAL, info(&args, AMDGPU_INFO_FW_VERSION, &fw, sizeof(fw)));
}

static void info_bad(void)
{
	struct drm_amdgpu_info args = { 0 };
	uint8_t buf[64];
	unsigned int i;

	start();
	ERRNO(EINVAL, info(&args, AMDGPU_INFO_VRAM_USAGE, NULL, 8));
	ERRNO(EINVAL, info(&args, AMDGPU_INFO_VRAM_USAGE, buf, 0));
	ERRNO(EFAULT, info(&args, AMDGPU_INFO_VRAM_USAGE, (void *)8, 8));
	ERRNO(EINVAL, info(&args, 0x7777, buf, sizeof(buf)));
	ERRNO(ENOENT, info(&args, AMDGPU_INFO_SENSOR, buf, sizeof(buf)));
	args.vbios_info.type = AMDGPU_INFO_VBIOS_IMAGE;
	ERRNO(EINVAL, info(&args, AMDGPU_INFO_VBIOS, buf, sizeof(buf)));
	memset(&args, 0, sizeof(args));
	args.read_mmr_reg.dword_offset = 0x1234;
	args.read_mmr_reg.count = 1;
	ERRNO(EFAULT, info(&args, AMDGPU_INFO_READ_MMR_REG, buf, sizeof(buf)));
	args.read_mmr_reg.count = 129;
	ERRNO(EINVAL, info(&args, AMDGPU_INFO_READ_MMR_REG, buf, sizeof(buf)));

	/* INFO must not write more bytes than the caller allows. */
	memset(buf, 0x5a, sizeof(buf));
	ERRNO(0, info(&args, AMDGPU_INFO_MEMORY, buf, 5));
	for (i = 5; i < sizeof(buf); i++)
		CHECK(buf[i] == 0x5a, "byte %u was written", i);
}

static const struct tap_case cases[] = {
	{ "sizes and domains: zero at first, then what is written", sizes, 1 },
	{ "memory in use is counted and given back", usage, 1 },
	{ "more BOs than VRAM keep their contents", overcommit, 1 },
	{ "GEM_OP tells what was asked for", create_info, 1 },
	{ "metadata stays as it was set", metadata_kept, 1 },
	{ "sizes, domains and flags that cannot be", bad_create, 1 },
	{ "handles and offsets of others", bad_handles, 1 },
	{ "handle and file closed before the mapping", closed_early, 1 },
	{ "a process that ends leaves nothing", process_ends, 1 },
	{ "a dma-buf between two files", shared, 1 },
	{ "INFO: memory, as sysfs and the topology have it", info_memory, 1 },
	{ "INFO: engines and firmware", info_blocks, 1 },
	{ "INFO: bad input", info_bad, 1 },
};

int main(int argc, char **argv)
{
	return tap_main(TAP_CASES(cases), argc, argv);
}
