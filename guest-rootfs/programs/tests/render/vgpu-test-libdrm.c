// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * This program uses the distribution's libdrm_amdgpu on this driver's render node, as Mesa does.
 * Catches: the library rejects a result of the driver; CS rejects arguments of the library (user
 * fences, BO lists by handle, raw chunks).
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <drm/amdgpu_drm.h>
#include <libdrm/amdgpu.h>

#include <vgpu/bits.h>
#include <vgpu/sdma_packets.h>

#include "tap.h"

#define SEED	0xdb
#define NS	1000000000ull

static amdgpu_device_handle dev;
static struct vg vg;

static void start(void)
{
	uint32_t major, minor;

	OK(vg_open_bare(&vg));
	ERRNO(0, amdgpu_device_initialize(vg.gpu[0].fd, &major, &minor, &dev));
	CHECK(major == 3, "version %u.%u", major, minor);
}

/* A BO that is mapped at the GPU address @va and at the CPU address @cpu. @size is in bytes. */
struct mem {
	amdgpu_bo_handle bo;
	amdgpu_va_handle va_range;
	uint64_t va, size;
	void *cpu;
};

static void mem_alloc(struct mem *m, uint64_t size, uint32_t heap)
{
	struct amdgpu_bo_alloc_request req = {
		.alloc_size = size,
		.phys_alignment = VG_PAGE,
		.preferred_heap = heap,
	};

	m->size = size;
	ERRNO(0, amdgpu_bo_alloc(dev, &req, &m->bo));
	ERRNO(0, amdgpu_va_range_alloc(dev, amdgpu_gpu_va_range_general, size,
				       VG_PAGE, 0, &m->va, &m->va_range, 0));
	ERRNO(0, amdgpu_bo_va_op(m->bo, 0, size, m->va, 0, AMDGPU_VA_OP_MAP));
	ERRNO(0, amdgpu_bo_cpu_map(m->bo, &m->cpu));
}

static void mem_free(struct mem *m)
{
	ERRNO(0, amdgpu_bo_cpu_unmap(m->bo));
	ERRNO(0, amdgpu_bo_va_op(m->bo, 0, m->size, m->va, 0,
				 AMDGPU_VA_OP_UNMAP));
	ERRNO(0, amdgpu_va_range_free(m->va_range));
	ERRNO(0, amdgpu_bo_free(m->bo));
}

/* Write a linear copy at the start of @ib. Return the number of dwords. */
static uint32_t emit_copy(const struct mem *ib, uint64_t dst, uint64_t src,
			  uint64_t bytes)
{
	const uint32_t dw[SDMA_COPY_LINEAR_DWORDS] = {
		SDMA_PKT(SDMA_OP_COPY, SDMA_SUBOP_COPY_LINEAR),
		VGPU_PREP(SDMA_COPY_LINEAR_DW1__COUNT, (uint32_t)bytes - 1), 0,
		(uint32_t)src, (uint32_t)(src >> 32),
		(uint32_t)dst, (uint32_t)(dst >> 32),
	};

	memcpy(ib->cpu, dw, sizeof(dw));
	return SDMA_COPY_LINEAR_DWORDS;
}

static void device_info(void)
{
	struct amdgpu_heap_info heap;
	struct drm_amdgpu_info_hw_ip ip;
	struct amdgpu_gpu_info info;
	amdgpu_device_handle again;
	uint32_t n, major, minor, version, feature;
	uint64_t value;

	start();
	ERRNO(0, amdgpu_device_initialize(vg.gpu[0].fd, &major, &minor,
					  &again));
	CHECK(again == dev, "a second device");
	ERRNO(0, amdgpu_device_deinitialize(again));
	ERRNO(0, amdgpu_query_gpu_info(dev, &info));
	CHECK(info.asic_id == 0x740f && info.family_id == AMDGPU_FAMILY_AI,
	      "asic %#x, family %u", info.asic_id, info.family_id);
	CHECK(info.gb_addr_cfg == 0x2a114042, "gb_addr_cfg %#x",
	      info.gb_addr_cfg);
	ERRNO(0, amdgpu_query_heap_info(dev, AMDGPU_GEM_DOMAIN_VRAM, 0, &heap));
	CHECK(heap.heap_size, "no VRAM");
	ERRNO(0, amdgpu_query_heap_info(dev, AMDGPU_GEM_DOMAIN_GTT, 0, &heap));
	CHECK(heap.heap_size, "no GTT");
	ERRNO(0, amdgpu_query_hw_ip_count(dev, AMDGPU_HW_IP_DMA, &n));
	ERRNO(0, amdgpu_query_hw_ip_info(dev, AMDGPU_HW_IP_DMA, 0, &ip));
	CHECK(n == 2 && ip.available_rings == 3, "%u engines, rings %#x", n,
	      ip.available_rings);
	ERRNO(0, amdgpu_query_hw_ip_info(dev, AMDGPU_HW_IP_GFX, 0, &ip));
	CHECK(!ip.available_rings, "graphics rings %#x", ip.available_rings);
	ERRNO(0, amdgpu_query_firmware_version(dev, AMDGPU_INFO_FW_SDMA, 0, 0,
					       &version, &feature));
	ERRNO(0, amdgpu_query_info(dev, AMDGPU_INFO_TIMESTAMP, sizeof(value),
				   &value));
	ERRNO(0, amdgpu_device_deinitialize(dev));
}

static void buffers(void)
{
	struct amdgpu_bo_import_result import;
	struct amdgpu_bo_metadata meta = { .tiling_info = 0x1234 };
	struct amdgpu_bo_info info;
	struct mem a;
	uint32_t fd;
	bool busy;
	void *p;

	start();
	mem_alloc(&a, 2 * VG_MIB, AMDGPU_GEM_DOMAIN_VRAM);
	OK(vg_fill_check(a.cpu, a.size, 0));
	vg_pattern_fill(a.cpu, a.size, SEED, 0);
	meta.size_metadata = 8;
	meta.umd_metadata[1] = 77;
	ERRNO(0, amdgpu_bo_set_metadata(a.bo, &meta));
	ERRNO(0, amdgpu_bo_query_info(a.bo, &info));
	CHECK(info.alloc_size == a.size && info.metadata.umd_metadata[1] == 77 &&
	      info.metadata.tiling_info == 0x1234,
	      "size %lu", info.alloc_size);
	ERRNO(0, amdgpu_bo_wait_for_idle(a.bo, NS, &busy));
	CHECK(!busy, "busy");
	ERRNO(0, amdgpu_bo_export(a.bo, amdgpu_bo_handle_type_dma_buf_fd, &fd));
	ERRNO(0, amdgpu_bo_import(dev, amdgpu_bo_handle_type_dma_buf_fd, fd,
				  &import));
	CHECK(import.buf_handle == a.bo, "the same BO is another one");
	ERRNO(0, amdgpu_bo_cpu_map(import.buf_handle, &p));
	OK(vg_pattern_check(p, a.size, SEED, 0));
	ERRNO(0, amdgpu_bo_cpu_unmap(import.buf_handle));
	ERRNO(0, amdgpu_bo_free(import.buf_handle));
	close((int)fd);
	mem_free(&a);
	ERRNO(0, amdgpu_device_deinitialize(dev));
}

/*
 * Call amdgpu_cs_submit() with a user fence and a BO list. The library passes the list
 * by handle.
 */
static void submit(void)
{
	struct amdgpu_cs_request req = { .ip_type = AMDGPU_HW_IP_DMA };
	struct amdgpu_cs_fence fence = { .ip_type = AMDGPU_HW_IP_DMA };
	struct amdgpu_cs_ib_info ib_info = { 0 };
	struct mem src, dst, ib, uf;
	amdgpu_context_handle ctx;
	uint32_t state, hangs, expired;
	uint64_t flags;
	int i;

	start();
	ERRNO(0, amdgpu_cs_ctx_create(dev, &ctx));
	mem_alloc(&src, 4 * VG_MIB, AMDGPU_GEM_DOMAIN_VRAM);
	mem_alloc(&dst, 4 * VG_MIB, AMDGPU_GEM_DOMAIN_GTT);
	mem_alloc(&ib, VG_PAGE, AMDGPU_GEM_DOMAIN_GTT);
	mem_alloc(&uf, VG_PAGE, AMDGPU_GEM_DOMAIN_GTT);
	{
		amdgpu_bo_handle all[] = { src.bo, dst.bo, ib.bo, uf.bo };

		ERRNO(0, amdgpu_bo_list_create(dev, 4, all, NULL,
					       &req.resources));
	}
	for (i = 0; i < 4; i++) {
		vg_pattern_fill(src.cpu, src.size, SEED + i, 0);
		ib_info.ib_mc_address = ib.va;
		ib_info.size = emit_copy(&ib, dst.va, src.va, src.size);
		req.ring = i & 1;
		req.number_of_ibs = 1;
		req.ibs = &ib_info;
		req.fence_info.handle = uf.bo;
		req.fence_info.offset = 2;
		ERRNO(0, amdgpu_cs_submit(ctx, 0, &req, 1));
		fence.context = ctx;
		fence.ring = i & 1;
		fence.fence = req.seq_no;
		ERRNO(0, amdgpu_cs_query_fence_status(&fence,
						      AMDGPU_TIMEOUT_INFINITE,
						      0, &expired));
		CHECK(expired, "the job is not done");
		OK(vg_pattern_check(dst.cpu, dst.size, SEED + i, 0));
		CHECK(((volatile uint64_t *)uf.cpu)[2] == req.seq_no,
		      "user fence %lu", ((volatile uint64_t *)uf.cpu)[2]);
	}
	ERRNO(0, amdgpu_cs_query_reset_state(ctx, &state, &hangs));
	CHECK(state == AMDGPU_CTX_NO_RESET, "reset state %u", state);
	ERRNO(0, amdgpu_cs_query_reset_state2(ctx, &flags));
	CHECK(!flags, "reset flags %#lx", flags);
	ERRNO(0, amdgpu_bo_list_destroy(req.resources));
	mem_free(&src);
	mem_free(&dst);
	mem_free(&ib);
	mem_free(&uf);
	ERRNO(0, amdgpu_cs_ctx_free(ctx));
	ERRNO(0, amdgpu_device_deinitialize(dev));
}

/* Call amdgpu_cs_submit_raw2() with syncobjs and dependencies, as Mesa does. */
static void submit_raw(void)
{
	struct drm_amdgpu_cs_chunk_ib ib_data = { .ip_type = AMDGPU_HW_IP_DMA };
	struct drm_amdgpu_bo_list_entry entry[3] = { 0 };
	struct drm_amdgpu_bo_list_in list = { .operation = ~0u };
	struct drm_amdgpu_cs_chunk_sem sem;
	struct drm_amdgpu_cs_chunk chunk[4];
	struct amdgpu_cs_fence fence[2] = { 0 };
	struct mem src, dst, ib;
	amdgpu_context_handle ctx;
	uint32_t handle, status, first;
	uint64_t seq = 0;
	int i;

	start();
	ERRNO(0, amdgpu_cs_ctx_create2(dev, AMDGPU_CTX_PRIORITY_HIGH, &ctx));
	ERRNO(0, amdgpu_vm_reserve_vmid(dev, 0));
	mem_alloc(&src, VG_MIB, AMDGPU_GEM_DOMAIN_GTT);
	mem_alloc(&dst, VG_MIB, AMDGPU_GEM_DOMAIN_VRAM);
	mem_alloc(&ib, VG_PAGE, AMDGPU_GEM_DOMAIN_GTT);
	vg_pattern_fill(src.cpu, src.size, SEED, 0);
	ERRNO(0, amdgpu_bo_export(src.bo, amdgpu_bo_handle_type_kms,
				  &entry[0].bo_handle));
	ERRNO(0, amdgpu_bo_export(dst.bo, amdgpu_bo_handle_type_kms,
				  &entry[1].bo_handle));
	ERRNO(0, amdgpu_bo_export(ib.bo, amdgpu_bo_handle_type_kms,
				  &entry[2].bo_handle));
	list.bo_number = 3;
	list.bo_info_size = sizeof(entry[0]);
	list.bo_info_ptr = (uintptr_t)entry;
	ERRNO(0, amdgpu_cs_create_syncobj(dev, &sem.handle));
	ib_data.va_start = ib.va;
	ib_data.ib_bytes = 4 * emit_copy(&ib, dst.va, src.va, VG_MIB);
	for (i = 0; i < 2; i++) {
		ib_data.ring = i;
		chunk[0] = (struct drm_amdgpu_cs_chunk){
			AMDGPU_CHUNK_ID_IB, sizeof(ib_data) / 4,
			(uintptr_t)&ib_data,
		};
		chunk[1] = (struct drm_amdgpu_cs_chunk){
			AMDGPU_CHUNK_ID_BO_HANDLES, sizeof(list) / 4,
			(uintptr_t)&list,
		};
		chunk[2] = (struct drm_amdgpu_cs_chunk){
			i ? AMDGPU_CHUNK_ID_SYNCOBJ_IN :
			    AMDGPU_CHUNK_ID_SYNCOBJ_OUT,
			sizeof(sem) / 4, (uintptr_t)&sem,
		};
		ERRNO(0, amdgpu_cs_submit_raw2(dev, ctx, 0, 3, chunk, &seq));
		fence[i].context = ctx;
		fence[i].ip_type = AMDGPU_HW_IP_DMA;
		fence[i].ring = i;
		fence[i].fence = seq;
	}
	ERRNO(0, amdgpu_cs_wait_fences(fence, 2, true, ~0ull, &status, &first));
	CHECK(status, "the jobs are not done");
	OK(vg_pattern_check(dst.cpu, dst.size, SEED, 0));
	ERRNO(0, amdgpu_cs_syncobj_wait(dev, &sem.handle, 1, INT64_MAX, 0,
					&first));
	ERRNO(0, amdgpu_cs_fence_to_handle(dev, &fence[0],
					   AMDGPU_FENCE_TO_HANDLE_GET_SYNC_FILE_FD,
					   &handle));
	close((int)handle);
	ERRNO(0, amdgpu_cs_destroy_syncobj(dev, sem.handle));
	ERRNO(0, amdgpu_vm_unreserve_vmid(dev, 0));
	mem_free(&src);
	mem_free(&dst);
	mem_free(&ib);
	ERRNO(0, amdgpu_cs_ctx_free(ctx));
	ERRNO(0, amdgpu_device_deinitialize(dev));
}

static const struct tap_case cases[] = {
	{ "device and what it says of itself", device_info, 1 },
	{ "BOs: allocate, map, describe, share", buffers, 1 },
	{ "submit with a BO list and a user fence", submit, 1 },
	{ "submit chunks, with syncobjs", submit_raw, 1 },
};

int main(int argc, char **argv)
{
	return tap_main(TAP_CASES(cases), argc, argv);
}
