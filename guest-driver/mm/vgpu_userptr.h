/* SPDX-License-Identifier: GPL-2.0 */
/*
 * User pointers: BOs whose memory is pages of a process. Functions are documented where they are
 * defined.
 */
#ifndef VGPU_USERPTR_H
#define VGPU_USERPTR_H

#include <linux/types.h>

struct page;
struct vgpu_bo;
struct vgpu_device;

/*
 * End all use of a user pointer's pages by @owner and by engines before returning. Called in an MMU
 * notifier: must not allocate or take reservations.
 */
typedef void (*vgpu_userptr_invalidate_fn)(void *owner);

int vgpu_userptr_create(struct vgpu_device *vdev, u64 addr, u64 size, u32 flags,
			vgpu_userptr_invalidate_fn invalidate, void *owner,
			struct vgpu_bo **out);
u64 vgpu_userptr_addr(const struct vgpu_bo *bo);
void vgpu_userptr_stop(struct vgpu_bo *bo);
bool vgpu_userptr_current(const struct vgpu_bo *bo);
int vgpu_userptr_prepare(struct vgpu_bo *bo);
int vgpu_userptr_bind(struct vgpu_bo *bo);
int vgpu_userptr_unbind(struct vgpu_bo *bo);
int vgpu_userptr_populate(struct vgpu_bo *bo);
bool vgpu_userptr_valid(struct vgpu_bo *bo);
bool vgpu_userptr_lock(struct vgpu_bo *bo);
void vgpu_userptr_unlock(struct vgpu_bo *bo);
bool vgpu_bo_readonly(const struct vgpu_bo *bo);
void vgpu_page_set_dirty(struct page *page);

#endif /* VGPU_USERPTR_H */
