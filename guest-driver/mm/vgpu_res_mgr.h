/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Managers of VRAM and of system memory. Code outside of mm/ does not access members of the
 * structures, which are here only for the inline functions of vgpu_res_cursor.h.
 */
#ifndef VGPU_RES_MGR_H
#define VGPU_RES_MGR_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <drm/ttm/ttm_resource.h>

#include "vgpu_buddy.h"

struct dma_fence;
struct drm_printer;
struct vgpu_device;

/**
 * struct vgpu_vram_mgr - allocates VRAM, and records which BOs lost their content in a reset
 */
struct vgpu_vram_mgr {
	/** @manager: TTM's manager; its size and usage are in bytes */
	struct ttm_resource_manager manager;
	/** @mm: buddy allocator of the blocks; protected by @lock */
	struct gpu_buddy mm;
	/** @resources: list of every struct vgpu_vram_resource, oldest first; protected by @lock */
	struct list_head resources;
	/** @next: vgpu_vram_resource.number of the next resource; protected by @lock */
	u64 next;
	/**
	 * @lost: list of BOs whose content was lost with VRAM, linked by vgpu_bo_state.lost_link;
	 * protected by @lock
	 */
	struct list_head lost;
	/**
	 * @leaving: list of BOs that the driver copies out of VRAM, oldest copy first. A copy may
	 * have ended. Linked by vgpu_bo_state.leaving_link; protected by @lock
	 */
	struct list_head leaving;
	/** @frees: number of frees of VRAM, modulo 2^32; written under @lock */
	unsigned int frees;
	/** @freed: woken when @frees changes */
	wait_queue_head_t freed;
	/**
	 * @distrust: true if VRAM was lost since probe, so that no free block is treated as clear
	 * any more
	 */
	bool distrust;
	/**
	 * @epoch: value of vgpu_hw.vram_epoch at the last vgpu_vram_mgr_loss_over(), or 0. Jobs
	 * that fill new VRAM are not cancelled because of a loss up to this epoch. Written by the
	 * recovery's worker
	 */
	int epoch;
	/**
	 * @lost_fill: value of vgpu_mman.fill_started at the last vgpu_vram_mgr_loss_over(), or 0.
	 * Later jobs that fill VRAM started, or will start, after all losses up to then. Written by
	 * the recovery's worker
	 */
	u64 lost_fill;
	/** @lock: protects @mm, @next, the lists and vgpu_vram_resource.lost */
	struct mutex lock;
};

/**
 * struct vgpu_vram_resource - VRAM of a BO
 */
struct vgpu_vram_resource {
	/**
	 * @base: TTM's resource. TTM_PL_FLAG_CONTIGUOUS is set in its placement if the blocks are
	 * adjacent and in order, even if the BO did not request that
	 */
	struct ttm_resource base;
	/** @link: link in vgpu_vram_mgr.resources */
	struct list_head link;
	/** @number: number in the order of allocation, from vgpu_vram_mgr.next */
	u64 number;
	/** @blocks: list of struct gpu_buddy_block, in the order of the BO's bytes */
	struct list_head blocks;
	/**
	 * @content_epoch: value of vgpu_vram_mgr.epoch at the allocation, and then at
	 * vgpu_vram_mgr_enters(). If the content was copied from other VRAM: value of that VRAM. If
	 * vgpu_hw.vram_epoch differs, the content was lost, except as @content_fill says. Protected
	 * by vgpu_vram_mgr.lock; the holder of the BO's reservation may read it without the lock
	 */
	int content_epoch;
	/**
	 * @content_fill: if the content is copied from GTT, the value of vgpu_mman.fill_pushed at
	 * vgpu_vram_mgr_enters(): the jobs of the copy have higher numbers. Otherwise 0. If the
	 * value is at least vgpu_vram_mgr.lost_fill, the copy had not started when VRAM was lost.
	 * Protected by vgpu_vram_mgr.lock
	 */
	u64 content_fill;
	/** @wiped: fence of the job that clears the blocks before they are freed, or NULL */
	struct dma_fence *wiped;
	/**
	 * @lost: true if an eviction left the BO in VRAM because its content was lost
	 * (vgpu_bo_owner_ops.lost). Never cleared; protected by vgpu_vram_mgr.lock
	 */
	bool lost;
};

u64 vgpu_vram_mgr_size(struct vgpu_device *vdev);
u64 vgpu_vram_mgr_usage(struct vgpu_device *vdev);
void vgpu_vram_mgr_distrust(struct vgpu_device *vdev);
void vgpu_vram_mgr_loss_over(struct vgpu_device *vdev);
unsigned int vgpu_vram_mgr_mark_lost(struct vgpu_device *vdev);
void vgpu_vram_mgr_show_lost(struct vgpu_device *vdev, struct drm_printer *p);
unsigned int vgpu_vram_mgr_frees(struct vgpu_device *vdev);
int vgpu_vram_mgr_make_room(struct vgpu_device *vdev, u64 size,
			    unsigned int frees);
u64 vgpu_gtt_mgr_size(struct vgpu_device *vdev);
u64 vgpu_gtt_mgr_usage(struct vgpu_device *vdev);
bool vgpu_gtt_mgr_has_gart_addr(struct ttm_resource *res);
int vgpu_gtt_mgr_recover(struct vgpu_device *vdev);

#endif /* VGPU_RES_MGR_H */
