// SPDX-License-Identifier: GPL-2.0
/* Decides where SVM memory is placed (docs/faults.md, "Where a fault brings memory"). */
#include <linux/ktime.h>
#include <linux/moduleparam.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <kunit/visibility.h>

#include "hw/vgpu_xgmi.h"
#include "mm/vgpu_res_mgr.h"
#include "svm_attr.h"
#include "svm_policy.h"
#include "svm_range.h"

/*
 * Time for which svm_policy_contested() regards a migration to VRAM as recent. Must exceed a few
 * fault repairs, also on a slow debug kernel.
 */
#define SVM_RECENT_NS		NSEC_PER_SEC
/* Adaptive policy: memory migrates to the leading GPU if svm_range.lead exceeds this number. */
#define SVM_LEAD_PULLS		4
/* Adaptive policy: limit of svm_range.lead, so that another GPU can catch up. */
#define SVM_LEAD_MAX		8

/*
 * A policy decides where memory moves when a GPU with ACCESS (not ACCESS_IN_PLACE) faults. A
 * preferred location takes precedence, if this GPU can reach it. The policies:
 *
 *	amdgpu		migrate to the GPU's VRAM
 *	in_place	no migration if the GPU reaches the memory, else to system memory
 *	adaptive	as amdgpu if svm_adaptive_pulls(), else as in_place
 */
static const char * const svm_policy_names[] = {
	[SVM_POLICY_AMDGPU] = "amdgpu",
	[SVM_POLICY_IN_PLACE] = "in_place",
	[SVM_POLICY_ADAPTIVE] = "adaptive",
};

const char *svm_policy_name(enum svm_policy policy)
{
	return svm_policy_names[policy];
}

static enum svm_policy svm_policy = SVM_POLICY_AMDGPU;

static int svm_policy_param_set(const char *val, const struct kernel_param *kp)
{
	int i = sysfs_match_string(svm_policy_names, val);

	if (i < 0)
		return i;
	WRITE_ONCE(svm_policy, i);
	return 0;
}

static int svm_policy_param_get(char *buf, const struct kernel_param *kp)
{
	return sysfs_emit(buf, "%s\n", svm_policy_name(READ_ONCE(svm_policy)));
}

static const struct kernel_param_ops svm_policy_ops = {
	.set = svm_policy_param_set,
	.get = svm_policy_param_get,
};

module_param_cb(svm_policy, &svm_policy_ops, NULL, 0644);
MODULE_PARM_DESC(svm_policy,
		 "where a GPU's faults bring shared memory, for processes to come: amdgpu (default; to its VRAM), in_place, adaptive");

enum svm_policy svm_policy_now(void)
{
	return READ_ONCE(svm_policy);
}

static u32 svm_gpu_id(const struct svm_range *r, unsigned int gpu)
{
	return svm_process(r->svms)->pdds[gpu]->gpu_id;
}

/*
 * Return true if GPU index @gpu reaches VRAM of GPU index @home. SVM uses a peer's VRAM over a hive
 * link, not over PCIe (svm_owner_get()).
 */
static bool svm_reaches(const struct svm_range *r, unsigned int gpu,
			unsigned int home)
{
	return home == gpu || vgpu_xgmi_linked(svm_gpu_vdev(r->svms, gpu),
					       svm_gpu_vdev(r->svms, home));
}

/* Return true if pages of the range may be placed in VRAM of GPU index @home. */
static bool svm_may_live_at(const struct svm_range *r, unsigned int home)
{
	DECLARE_BITMAP(here, SVM_MAX_GPU);
	unsigned int gpu;

	bitmap_copy(here, r->attrs.bitmap_aip, SVM_MAX_GPU);
	if (svm_range_stays_mapped(r))
		bitmap_or(here, here, r->attrs.bitmap_access, SVM_MAX_GPU);
	/*
	 * The driver maps the range for GPUs in @here without a fault. If such a GPU does not reach
	 * the VRAM, the mapping would migrate the pages away.
	 */
	for_each_set_bit(gpu, here, r->svms->n_gpus)
		if (!svm_reaches(r, gpu, home))
			return false;
	return true;
}

static bool svm_pull_is_recent(const struct svm_pull *pull, unsigned long page,
			       u64 now)
{
	return now < pull->until && svm_interval_has(pull->iv, page);
}

/*
 * If the current fault takes @page from a GPU that recently pulled @page (struct svm_pull), mark
 * the pull as contested.
 * - If @in_place is false, the fault migrates @page to VRAM of @gpu.
 * - If @in_place is true, @gpu raised the fault. @page moves (to system memory) only if @gpu cannot
 *   reach @page.
 */
static void svm_policy_contest(const struct svm_range *r, unsigned int gpu,
			       unsigned long page, bool in_place)
{
	struct svm_range_list *svms = r->svms;
	u64 now = ktime_get_ns();
	unsigned int i, k;

	for (i = 0; i < svms->n_gpus; i++) {
		struct svm_gpu *g = &svms->gpus[i];

		/*
		 * If @in_place is true and @gpu reaches the VRAM of GPU i, pages in this VRAM stay
		 * there, so nothing is contested.
		 */
		for (k = 0; i != gpu && k < SVM_PULLS; k++)
			if (svm_pull_is_recent(&g->pulls[k], page, now) &&
			    !(in_place && svm_reaches(r, gpu, i)))
				g->pulls[k].contested = true;
	}
}

/*
 * Return true if GPU index @home recently pulled @page and another GPU took @page away. Then @page
 * must not return, or GPUs take pages from each other forever.
 */
static bool svm_policy_contested(const struct svm_range *r, unsigned int home,
				 unsigned long page)
{
	const struct svm_gpu *g = &r->svms->gpus[home];
	u64 now = ktime_get_ns();
	unsigned int k;

	for (k = 0; k < SVM_PULLS; k++)
		if (g->pulls[k].contested &&
		    svm_pull_is_recent(&g->pulls[k], page, now))
			return true;
	return false;
}

void svm_policy_pulled(struct svm_range_list *svms, unsigned int home,
		       struct svm_interval iv)
{
	struct svm_gpu *g = &svms->gpus[home];

	g->pulls[g->next_pull++ % SVM_PULLS] = (struct svm_pull) {
		.iv = iv, .until = ktime_get_ns() + SVM_RECENT_NS,
	};
}
EXPORT_SYMBOL_IF_KUNIT(svm_policy_pulled);

/*
 * Return true if VRAM of GPU index @home has no space for @pages pages, and this fault must not
 * evict other memory.
 */
static bool svm_policy_full(struct svm_range_list *svms, unsigned int home,
			    u64 pages)
{
	struct vgpu_device *vdev = svm_gpu_vdev(svms, home);
	u64 size = vgpu_vram_mgr_size(vdev);
	u64 used = vgpu_vram_mgr_usage(vdev);

	/*
	 * If the free VRAM is too small for @pages, only every second fault may evict memory.
	 * Otherwise pages that do not fit into VRAM together would evict each other at every fault.
	 */
	return size - min(used, size) < pages << PAGE_SHIFT &&
	       svms->gpus[home].full_faults++ & 1;
}

/*
 * Count a fault of @gpu, as in a majority vote (Boyer-Moore). Faults of the leader raise r->lead,
 * faults of other GPUs lower r->lead.
 */
static void svm_policy_count(struct svm_range *r, unsigned int gpu)
{
	if (!r->lead) {
		r->leader = gpu;
		r->lead = 1;
	} else if (r->leader != gpu) {
		r->lead--;
	} else if (r->lead < SVM_LEAD_MAX) {
		r->lead++;
	}
}

/*
 * Adaptive policy: return true if a fault of GPU index @gpu migrates memory to that GPU's VRAM. The
 * caller has checked that the GPU has ACCESS, and not ACCESS_IN_PLACE.
 */
static bool svm_adaptive_pulls(const struct svm_range *r, unsigned int gpu)
{
	u64 pages = svm_interval_pages(svm_range_interval(r));
	bool ahead = r->lead && r->leader == gpu;

	if (r->attrs.prefetch_loc == svm_gpu_id(r, gpu))
		return true;
	if (ahead && r->lead > SVM_LEAD_PULLS)
		return true;
	return ahead && r->attrs.granularity < BITS_PER_LONG &&
	       pages < BIT_ULL(r->attrs.granularity);
}

/*
 * Return true if, on a fault of a GPU with plain ACCESS, the policy migrates memory to the
 * GPU's VRAM.
 */
static bool svm_policy_pulls(const struct svm_range *r, unsigned int gpu)
{
	switch (r->svms->policy) {
	case SVM_POLICY_AMDGPU:
		return true;
	case SVM_POLICY_ADAPTIVE:
		return svm_adaptive_pulls(r, gpu);
	default:
		return false;
	}
}

/*
 * Without an access attribute, a GPU gets -EACCES even if it is the preferred location of @r. (In
 * amdgpu, the preferred location has access.)
 */
int svm_policy_fault(struct svm_range *r, unsigned int gpu, unsigned long page,
		     struct svm_interval win, u32 *loc)
{
	struct svm_range_list *svms = r->svms;
	u32 preferred = r->attrs.preferred_loc;
	bool in_place = test_bit(gpu, r->attrs.bitmap_aip);
	int home = -1;

	if (!in_place && !test_bit(gpu, r->attrs.bitmap_access))
		return -EACCES;
	if (svms->policy == SVM_POLICY_ADAPTIVE)
		svm_policy_count(r, gpu);
	*loc = KFD_IOCTL_SVM_LOCATION_UNDEFINED;
	if (preferred == KFD_IOCTL_SVM_LOCATION_SYSMEM) {
		*loc = preferred;
		return 0;
	}
	if (preferred != KFD_IOCTL_SVM_LOCATION_UNDEFINED)
		home = svm_gpu_index(svm_process(svms), preferred);
	if (home >= 0 && !svm_reaches(r, gpu, home))
		home = -1;
	if (home < 0 && !in_place && svm_policy_pulls(r, gpu))
		home = gpu;
	if (home >= 0 && svm_range_stays_mapped(r) && !svm_may_live_at(r, home))
		home = -1;

	if (home >= 0 && (svm_policy_contested(r, home, page) ||
			  svm_policy_full(svms, home, svm_interval_pages(win))))
		home = -1;
	if (home >= 0)
		*loc = svm_gpu_id(r, home);
	svm_policy_contest(r, home < 0 ? gpu : home, page, home < 0);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(svm_policy_fault);

bool svm_policy_stays(const struct svm_range *r, unsigned int gpu)
{
	u32 preferred = r->attrs.preferred_loc;
	bool in_place = test_bit(gpu, r->attrs.bitmap_aip);

	if (!in_place && !test_bit(gpu, r->attrs.bitmap_access))
		return false;
	/* svm_policy_fault() counts faults, also if a location is preferred. So avoid none. */
	if (r->svms->policy == SVM_POLICY_ADAPTIVE)
		return false;
	if (preferred == KFD_IOCTL_SVM_LOCATION_SYSMEM)
		return true;
	if (preferred != KFD_IOCTL_SVM_LOCATION_UNDEFINED)
		return false;
	return in_place || r->svms->policy == SVM_POLICY_IN_PLACE;
}

u32 svm_policy_prefetch(const struct svm_range *r)
{
	u32 loc = r->attrs.prefetch_loc;
	int home;

	if (loc == KFD_IOCTL_SVM_LOCATION_SYSMEM ||
	    loc == KFD_IOCTL_SVM_LOCATION_UNDEFINED)
		return loc;
	home = svm_gpu_index(svm_process(r->svms), loc);
	if (home < 0)
		return KFD_IOCTL_SVM_LOCATION_SYSMEM;

	if (!svm_may_live_at(r, home))
		return KFD_IOCTL_SVM_LOCATION_SYSMEM;
	return loc;
}
EXPORT_SYMBOL_IF_KUNIT(svm_policy_prefetch);

void svm_policy_map_now(const struct svm_range *r, u32 placed,
			unsigned long *gpus)
{
	const struct svm_attrs *a = &r->attrs;
	unsigned int gpu;

	if (svm_range_stays_mapped(r)) {
		bitmap_or(gpus, a->bitmap_access, a->bitmap_aip, SVM_MAX_GPU);
		return;
	}
	/*
	 * GPUs with plain ACCESS get entries by faults, except for the GPU to which the range was
	 * prefetched.
	 */
	bitmap_copy(gpus, a->bitmap_aip, SVM_MAX_GPU);
	for_each_set_bit(gpu, a->bitmap_access, r->svms->n_gpus)
		if (placed && svm_gpu_id(r, gpu) == placed)
			__set_bit(gpu, gpus);
}
EXPORT_SYMBOL_IF_KUNIT(svm_policy_map_now);
