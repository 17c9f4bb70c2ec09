// SPDX-License-Identifier: GPL-2.0
/*
 * Where memory should be. Decisions only: nothing here moves or maps.
 *
 * A GPU reaches its own VRAM and system memory. A peer's VRAM SVM never maps,
 * though BOs may be there.
 */
#include <kunit/visibility.h>

#include "svm_priv.h"

static u32 svm_gpu_id(const struct svm_range *r, unsigned int gpu)
{
	return svm_process(r->svms)->pdds[gpu]->gpu_id;
}

/*
 * Unlike amdgpu, a fault does not pull memory into VRAM unless the preferred
 * location says so: memory that nobody placed stays where it is. And a
 * preferred location does not give access to a GPU that has none.
 */
int svm_policy_fault(const struct svm_range *r, unsigned int gpu, u32 *loc)
{
	u32 preferred = r->attrs.preferred_loc;

	if (!test_bit(gpu, r->attrs.bitmap_access) &&
	    !test_bit(gpu, r->attrs.bitmap_aip))
		return -EACCES;
	if (preferred == KFD_IOCTL_SVM_LOCATION_SYSMEM ||
	    preferred == svm_gpu_id(r, gpu))
		*loc = preferred;
	else
		*loc = KFD_IOCTL_SVM_LOCATION_UNDEFINED;
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(svm_policy_fault);

u32 svm_policy_prefetch(const struct svm_range *r)
{
	DECLARE_BITMAP(in_place, SVM_MAX_GPU);
	u32 loc = r->attrs.prefetch_loc;
	unsigned int gpu;

	if (loc == KFD_IOCTL_SVM_LOCATION_SYSMEM ||
	    loc == KFD_IOCTL_SVM_LOCATION_UNDEFINED)
		return loc;

	/* Memory must stay within reach of every GPU that cannot fault it. */
	bitmap_copy(in_place, r->attrs.bitmap_aip, SVM_MAX_GPU);
	if (!svm_process(r->svms)->xnack_enabled)
		bitmap_or(in_place, in_place, r->attrs.bitmap_access,
			  SVM_MAX_GPU);
	for_each_set_bit(gpu, in_place, r->svms->n_gpus)
		if (svm_gpu_id(r, gpu) != loc)
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
	/* The others will fault. */
	bitmap_copy(gpus, a->bitmap_aip, SVM_MAX_GPU);
	for_each_set_bit(gpu, a->bitmap_access, r->svms->n_gpus)
		if (placed && svm_gpu_id(r, gpu) == placed)
			__set_bit(gpu, gpus);
}
EXPORT_SYMBOL_IF_KUNIT(svm_policy_map_now);
