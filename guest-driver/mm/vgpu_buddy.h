/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Newer kernels have renamed the buddy allocator from drm_buddy to gpu_buddy. For
 * kernels that have only drm_buddy, this header defines the newer names.
 */
#ifndef VGPU_BUDDY_H
#define VGPU_BUDDY_H

#include <linux/kconfig.h>
#include <linux/sched.h>
#include <drm/drm_buddy.h>

#if !IS_ENABLED(CONFIG_GPU_BUDDY)
#define gpu_buddy			drm_buddy
#define gpu_buddy_block			drm_buddy_block
#define gpu_buddy_init			drm_buddy_init
#define gpu_buddy_fini			drm_buddy_fini
#define gpu_buddy_alloc_blocks		drm_buddy_alloc_blocks
#define gpu_buddy_free_list		drm_buddy_free_list
#define gpu_buddy_block_offset		drm_buddy_block_offset
#define gpu_buddy_block_size		drm_buddy_block_size
#define gpu_buddy_block_is_clear	drm_buddy_block_is_clear
#define GPU_BUDDY_RANGE_ALLOCATION	DRM_BUDDY_RANGE_ALLOCATION
#define GPU_BUDDY_TOPDOWN_ALLOCATION	DRM_BUDDY_TOPDOWN_ALLOCATION
#define GPU_BUDDY_CONTIGUOUS_ALLOCATION	DRM_BUDDY_CONTIGUOUS_ALLOCATION
#define GPU_BUDDY_CLEAR_ALLOCATION	DRM_BUDDY_CLEAR_ALLOCATION
#define GPU_BUDDY_CLEARED		DRM_BUDDY_CLEARED
#endif

/*
 * Disable fault injection for this thread: a failed split would corrupt this kernel's buddy
 * allocator. The allocator's mutex is held. Returns the state for vgpu_buddy_failure_again().
 */
static inline unsigned int vgpu_buddy_no_failure(void)
{
	unsigned int nth = 0;

#ifdef CONFIG_FAULT_INJECTION
	nth = READ_ONCE(current->fail_nth);
	WRITE_ONCE(current->fail_nth, 0);
#endif
	return nth;
}

static inline void vgpu_buddy_failure_again(unsigned int nth)
{
#ifdef CONFIG_FAULT_INJECTION
	WRITE_ONCE(current->fail_nth, nth);
#endif
}

#endif /* VGPU_BUDDY_H */
