// SPDX-License-Identifier: GPL-2.0
/* A growing set of BOs that somebody wants to look at. */
#include <linux/slab.h>

#include "vgpu_mm_priv.h"

#define BO_SET_FIRST	32u

/**
 * vgpu_bo_set_add() - put a BO into a set
 * @set: set, zeroed at first
 * @bo: BO, referenced by the caller; the set takes a reference of its own
 *
 * A BO may be in it several times. Sleeps.
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
 * vgpu_bo_set_free() - let all of it go
 * @set: set; no reservation is held
 */
void vgpu_bo_set_free(struct vgpu_bo_set *set)
{
	while (set->n)
		vgpu_bo_put(set->bo[--set->n]);
	kvfree(set->bo);
	*set = (struct vgpu_bo_set) { };
}
