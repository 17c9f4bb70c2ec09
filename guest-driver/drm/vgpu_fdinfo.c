// SPDX-License-Identifier: GPL-2.0
/*
 * Prints fdinfo of a render node's file (Documentation/gpu/drm-usage-stats.rst), with amdgpu's
 * keys. Pages that SVM has migrated do not count, since they belong to the process.
 */
#include <linux/dma-resv.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <drm/amdgpu_drm.h>
#include <drm/drm_file.h>
#include <drm/drm_print.h>
#include <drm/ttm/ttm_tt.h>

#include "mm/vgpu_bo.h"
#include "process/kfd_mem.h"
#include "vm/vgpu_vm.h"
#include "vgpu_file.h"

/**
 * struct fdinfo_region - memory of one kind
 */
struct fdinfo_region {
	/** @name: name of the region in the keys of the fdinfo text */
	const char *name;
	/**
	 * @stats: sums in bytes. private and shared: BOs whose domains prefer this region;
	 * resident and active: BOs that are placed in this region now
	 */
	struct drm_memory_stats stats;
};

enum { REGION_CPU, REGION_GTT, REGION_VRAM, REGION_DOORBELL, N_REGIONS };

/**
 * struct fdinfo_sums - sums of a client's memory, in bytes
 */
struct fdinfo_sums {
	/** @region: indexed by REGION_CPU to REGION_DOORBELL */
	struct fdinfo_region region[N_REGIONS];
	/** @requested_vram: size of the BOs whose domains prefer VRAM */
	u64 requested_vram;
	/** @requested_visible: part of @requested_vram in BOs with CPU_ACCESS_REQUIRED */
	u64 requested_visible;
	/** @requested_gtt: size of the BOs whose domains prefer GTT */
	u64 requested_gtt;
	/** @evicted_vram: part of @requested_vram in BOs that are not placed in VRAM */
	u64 evicted_vram;
	/** @evicted_visible: part of @evicted_vram in BOs with CPU_ACCESS_REQUIRED */
	u64 evicted_visible;
};

static unsigned int fdinfo_home(const struct vgpu_bo *bo)
{
	if (bo->domains & AMDGPU_GEM_DOMAIN_VRAM)
		return REGION_VRAM;
	if (bo->domains & AMDGPU_GEM_DOMAIN_GTT)
		return REGION_GTT;
	if (bo->domains & AMDGPU_GEM_DOMAIN_DOORBELL)
		return REGION_DOORBELL;
	return REGION_CPU;
}

/*
 * Return the region in which the BO is placed, or -1 if it has no memory. The caller holds the
 * reservation.
 */
static int fdinfo_place(const struct vgpu_bo *bo)
{
	const struct ttm_resource *res = bo->tbo.resource;

	if (!res)
		return -1;
	switch (res->mem_type) {
	case TTM_PL_VRAM:
		return REGION_VRAM;
	case TTM_PL_TT:
		return REGION_GTT;
	case VGPU_PL_DOORBELL:
		return REGION_DOORBELL;
	default:
		/* A BO that is swapped out or was not used yet has no pages. */
		return bo->tbo.ttm && ttm_tt_is_populated(bo->tbo.ttm) ?
		       REGION_CPU : -1;
	}
}

/* Add a BO to the sums. The caller holds the reservation. */
static void fdinfo_count(struct fdinfo_sums *sums, struct vgpu_bo *bo)
{
	struct drm_memory_stats *home = &sums->region[fdinfo_home(bo)].stats;
	bool visible = bo->flags & AMDGPU_GEM_CREATE_CPU_ACCESS_REQUIRED;
	struct drm_gem_object *gem = &bo->tbo.base;
	int place = fdinfo_place(bo);

	if (drm_gem_object_is_shared_for_memory_stats(gem))
		home->shared += gem->size;
	else
		home->private += gem->size;
	if (place >= 0) {
		struct drm_memory_stats *here = &sums->region[place].stats;

		here->resident += gem->size;
		if (!dma_resv_test_signaled(gem->resv,
					    DMA_RESV_USAGE_READ))
			here->active += gem->size;
	}

	if (bo->domains & AMDGPU_GEM_DOMAIN_VRAM) {
		sums->requested_vram += gem->size;
		if (visible)
			sums->requested_visible += gem->size;
		if (place != REGION_VRAM) {
			sums->evicted_vram += gem->size;
			if (visible)
				sums->evicted_visible += gem->size;
		}
	} else if (bo->domains & AMDGPU_GEM_DOMAIN_GTT) {
		sums->requested_gtt += gem->size;
	}
}

static int fdinfo_cmp(const void *a, const void *b)
{
	const struct vgpu_bo *x = *(const struct vgpu_bo * const *)a;
	const struct vgpu_bo *y = *(const struct vgpu_bo * const *)b;

	return x < y ? -1 : x > y;
}

/*
 * Add to @set all BOs for which @file has a handle, except BOs of another device. Returns 0 or
 * -ENOMEM.
 */
static int fdinfo_add_handles(struct drm_file *file, struct vgpu_bo_set *set)
{
	struct drm_gem_object *gem;
	int id, ret = 0;

	for (id = 0; !ret; id++) {
		spin_lock(&file->table_lock);
		gem = idr_get_next(&file->object_idr, &id);
		if (gem)
			drm_gem_object_get(gem);
		spin_unlock(&file->table_lock);
		if (!gem)
			break;
		if (gem->dev == file->minor->dev)
			ret = vgpu_bo_set_add(set, gem_to_vgpu_bo(gem));
		drm_gem_object_put(gem);
	}
	return ret;
}

/* Sum up each BO of @set once. Returns 0, -EINTR or -ERESTARTSYS. */
static int fdinfo_sum(struct fdinfo_sums *sums, struct vgpu_bo_set *set)
{
	size_t i;
	int ret;

	sort(set->bo, set->n, sizeof(*set->bo), fdinfo_cmp, NULL);
	for (i = 0; i < set->n; i++) {
		struct vgpu_bo *bo = set->bo[i];

		if (i && bo == set->bo[i - 1])
			continue;
		ret = dma_resv_lock_interruptible(bo->tbo.base.resv, NULL);
		if (ret)
			return ret;
		fdinfo_count(sums, bo);
		dma_resv_unlock(bo->tbo.base.resv);
	}
	return 0;
}

static void fdinfo_print(struct drm_printer *p, const char *key, u64 bytes)
{
	drm_printf(p, "%s:\t%llu KiB\n", key, bytes / SZ_1K);
}

/**
 * vgpu_show_fdinfo() - print the driver's part of /proc/PID/fdinfo/FD
 * @p: output
 * @file: client
 *
 * Prints nothing if a signal arrives or an allocation fails. Does not print engine times,
 * because the hardware does not measure them.
 */
void vgpu_show_fdinfo(struct drm_printer *p, struct drm_file *file)
{
	struct fdinfo_sums sums = {
		.region = {
			[REGION_CPU].name = "cpu", [REGION_GTT].name = "gtt",
			[REGION_VRAM].name = "vram",
			[REGION_DOORBELL].name = "doorbell",
		},
	};
	struct drm_memory_stats *vram = &sums.region[REGION_VRAM].stats;
	struct vgpu_file *vf = to_vgpu_file(file);
	struct vgpu_bo_set set = { };
	struct vgpu_vm *vm;
	u64 tables = 0;
	unsigned int i;
	int pasid, ret;

	ret = fdinfo_add_handles(file, &set);
	if (ret)
		goto out;
	/*
	 * If a KFD process has acquired the file, count also the BOs and the page tables that this
	 * process has on the GPU of the file.
	 */
	pasid = kfd_file_memory(to_vgpu(file->minor->dev), file, &set,
				&tables);
	ret = pasid < 0 ? pasid : fdinfo_sum(&sums, &set);
	if (ret)
		goto out;
	/* Pairs with the release in file_create_vm(). */
	vm = smp_load_acquire(&vf->vm);
	if (vm) {
		tables += vgpu_vm_table_bytes(vm);
		if (!pasid)
			pasid = vf->pasid;
	}
	vram->private += tables;
	vram->resident += tables;

	if (pasid)
		drm_printf(p, "pasid:\t%d\n", pasid);
	for (i = 0; i < N_REGIONS; i++) {
		const struct fdinfo_region *r = &sums.region[i];

		/* Also print the older key of resident memory, which some tools read. */
		drm_printf(p, "drm-memory-%s:\t%llu KiB\n", r->name,
			   r->stats.resident / SZ_1K);
		drm_print_memory_stats(p, &r->stats, DRM_GEM_OBJECT_RESIDENT |
				       DRM_GEM_OBJECT_PURGEABLE, r->name);
	}
	/* All VRAM is CPU-visible. */
	fdinfo_print(p, "amd-memory-visible-vram", vram->resident);
	fdinfo_print(p, "amd-evicted-vram", sums.evicted_vram);
	fdinfo_print(p, "amd-evicted-visible-vram", sums.evicted_visible);
	fdinfo_print(p, "amd-requested-vram", sums.requested_vram);
	fdinfo_print(p, "amd-requested-visible-vram", sums.requested_visible);
	fdinfo_print(p, "amd-requested-gtt", sums.requested_gtt);
out:
	vgpu_bo_set_free(&set);
}
