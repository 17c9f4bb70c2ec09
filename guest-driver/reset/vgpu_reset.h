/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Recovery of a device: one work item, its state machine and its counters. hw/ requests a
 * recovery by vgpu_reset_request(): vgpu_hw_init() gets a pointer to this function. A recovery
 * calls kfd/ through struct vgpu_reset_client. Files of reset/ may use device/, hw/, mm/. Start
 * reading at reset_work(). There are no locks, because requests are bits that only one worker
 * takes.
 */
#ifndef VGPU_RESET_H
#define VGPU_RESET_H

#include <linux/types.h>

struct vgpu_device;

/**
 * struct vgpu_reset_client - functions of kfd/ that a recovery calls
 * @pre_reset: called when a reset of the device starts; cause is the reason of the reset
 * @zap_mappings: remove CPU page-table entries of BAR pages that the client has mapped into
 *                user space. The removal calls MMU notifiers, which may wait for fences. Fences
 *                depend on the recovery, so @zap_mappings runs in a separate work item. While the
 *                BARs are closed (vgpu_io_map_close()), the client's fault handlers wait
 * @post_reset: called when the reset of the device has ended and the engines run again. Not
 *              called if the engines were given up
 * @engine_recovered: called when an engine was reset and runs again; VGPU_ENGINE_CP stands for
 *                    the command processor. Runs in a separate work item, since it may wait
 *                    for something that needs another recovery
 *
 * The recovery holds no lock in these calls. Fences depend on @pre_reset and @post_reset, so
 * these two functions neither allocate memory nor take a reservation.
 */
struct vgpu_reset_client {
	void (*pre_reset)(struct vgpu_device *vdev, const char *cause);
	void (*zap_mappings)(struct vgpu_device *vdev);
	void (*post_reset)(struct vgpu_device *vdev, const char *cause);
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
bool vgpu_reset_in_progress(struct vgpu_device *vdev);
u32 vgpu_vram_lost_counter(struct vgpu_device *vdev);

#endif /* VGPU_RESET_H */
