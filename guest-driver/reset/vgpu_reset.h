/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Recovery of a device. hw/ requests a recovery by vgpu_reset_request(), and reset_work() runs it.
 * Files of reset/ may use device/, hw/, mm/. A recovery calls kfd/ through struct
 * vgpu_reset_client. reset/ has no locks, because requests are bits that only one worker takes.
 */
#ifndef VGPU_RESET_H
#define VGPU_RESET_H

#include <linux/types.h>

struct vgpu_device;

/**
 * struct vgpu_reset_client - functions of kfd/ that a recovery calls, without a lock held
 *
 * Fences depend on @pre_reset and @post_reset, so these two functions neither allocate memory nor
 * take a reservation.
 */
struct vgpu_reset_client {
	/** @pre_reset: called when a reset of the device starts; cause is the reason, as a text */
	void (*pre_reset)(struct vgpu_device *vdev, const char *cause);
	/**
	 * @zap_mappings: remove CPU page-table entries of BAR pages that the client has mapped into
	 * user space. Called in a separate work item, because the removal may wait for fences, and
	 * fences depend on the recovery
	 */
	void (*zap_mappings)(struct vgpu_device *vdev);
	/**
	 * @post_reset: called when the reset of the device has ended and the engines run again. Not
	 * called if the engines were given up
	 */
	void (*post_reset)(struct vgpu_device *vdev, const char *cause);
	/**
	 * @engine_recovered: called when an engine was reset and runs again; VGPU_ENGINE_CP stands
	 * for the command processor. Also called, for each engine, when the engines were given up
	 * after a loss of VRAM. Called in a separate work item, because the function may wait for
	 * another recovery
	 */
	void (*engine_recovered)(struct vgpu_device *vdev, unsigned int engine);
};

int vgpu_reset_init(struct vgpu_device *vdev);
void vgpu_reset_set_client(struct vgpu_device *vdev,
			   const struct vgpu_reset_client *client);
bool vgpu_reset_request(struct vgpu_device *vdev, unsigned long what);
void vgpu_reset_start(struct vgpu_device *vdev);
void vgpu_reset_stop(struct vgpu_device *vdev);
void vgpu_reset_fini(struct vgpu_device *vdev);
int vgpu_reset_device(struct vgpu_device *vdev);
void vgpu_reset_give_up(struct vgpu_device *vdev, bool vram_lost);
bool vgpu_reset_in_progress(struct vgpu_device *vdev);
u32 vgpu_vram_lost_counter(struct vgpu_device *vdev);

#endif /* VGPU_RESET_H */
