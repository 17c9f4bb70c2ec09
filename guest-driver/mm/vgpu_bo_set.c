// SPDX-License-Identifier: GPL-2.0
/* Implements struct vgpu_bo_set, a growing list of referenced BOs. */
#include <linux/slab.h>

#include "vgpu_mm_priv.h"

#define BO_SET_FIRST	32u

/**
 * vgpu_bo_set_add() - add a BO to a set
 * @set: set; the caller has zeroed it before adding the first BO
 * @bo: BO, referenced by the caller; the set takes another reference
 *
 * A set may contain a BO several times.
 *
 * Context: sleeps.
 *
 * Return: 0 or -ENOMEM.
 */
int vgpu_bo_set_add(struct vgpu_bo_set *set, struct vgpu_bo *bo)
{
	if (set->n == set->room) {
		size_t room = max(2 * set->room, (size_t)BO_SET_FIRST);
		struct vgpu_bo **more;

		more = kvmalloc_array(room, sizeof(*more), GFP_KERNEL);
		if (!more)
			return -ENOMEM;
		if (set->n)
			memcpy(more, set->bo, set->n * sizeof(*more));
		kvfree(set->bo);
		set->bo = more;
		set->room = room;
	}
	drm_gem_object_get(&bo->tbo.base);
	set->bo[set->n++] = bo;
	return 0;
}

/**
 * vgpu_bo_set_free() - drop all references of a set, and free the set's array
 * @set: set; the caller holds no reservation
 */
void vgpu_bo_set_free(struct vgpu_bo_set *set)
{
	while (set->n)
		vgpu_bo_put(set->bo[--set->n]);
	kvfree(set->bo);
	*set = (struct vgpu_bo_set) { };
}
