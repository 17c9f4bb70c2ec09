/* SPDX-License-Identifier: GPL-2.0 */
/*
 * State of the recovery, and functions that its unit test calls. No other folder includes this
 * header.
 */
#ifndef VGPU_RESET_PRIV_H
#define VGPU_RESET_PRIV_H

#include <linux/atomic.h>
#include <linux/jiffies.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

struct vgpu_device;
struct vgpu_reset_client;

/* Limit of consecutive device resets. At the next failure the driver gives up the device. */
#define VGPU_RESET_TRIES	2u
/*
 * Time in jiffies without a reset, after which the count of resets restarts. Must exceed
 * lockup_timeout, the time to detect a failure (default 10 s).
 */
#define VGPU_RESET_CALM		(600 * HZ)

/**
 * struct vgpu_reset_tries - count of consecutive device resets
 * @n: number of resets that were requested; VGPU_RESET_TRIES + 1 if the device was given up
 * @last: time in jiffies of the last request; valid if @n is not 0
 */
struct vgpu_reset_tries {
	unsigned int n;
	unsigned long last;
};

/**
 * struct vgpu_reset - recovery requests of a device, and the work items that serve these requests
 */
struct vgpu_reset {
	/** @vdev: device */
	struct vgpu_device *vdev;
	/** @client: functions set by vgpu_reset_set_client(), or NULL; set once */
	const struct vgpu_reset_client *client;
	/** @wq: ordered workqueue that runs @work */
	struct workqueue_struct *wq;
	/** @work: performs the recoveries of @pending */
	struct work_struct work;
	/** @pending: requests that @work has not taken yet, a bitmap of VGPU_RECOVER_* */
	atomic_t pending;
	/** @notify_work: performs the notifications of @notify */
	struct work_struct notify_work;
	/**
	 * @notify: bitmap of notifications to perform. Bit VGPU_RECOVER_ENGINE(n): tell @client
	 * that engine n was recovered. Bit RESET_NOTIFY_LOST: mark the BOs that lost their content
	 */
	atomic_t notify;
	/** @zap_work: removes user-space mappings of BARs */
	struct work_struct zap_work;
	/** @zap_wait: woken when @zap_done changes */
	wait_queue_head_t zap_wait;
	/** @zap_wanted: number of the newest request for @zap_work; written by @work only */
	unsigned int zap_wanted;
	/**
	 * @zap_done: number of the newest request that @zap_work has completed. A run of @zap_work
	 * completes all requests that were made before the run started
	 */
	unsigned int zap_done;
	/**
	 * @since: time in ns of the first request since the last recovery ended, or 0 if no
	 * recovery is requested or running
	 */
	atomic64_t since;
	/**
	 * @tries: count of consecutive device resets. A successful engine reset and a request by an
	 * operator set the count to 0
	 */
	struct vgpu_reset_tries tries;
	/** @enabled: true if requests are accepted */
	bool enabled;
};

bool vgpu_reset_tries_next(struct vgpu_reset_tries *tries, unsigned long now);
int vgpu_reset_setup(struct vgpu_device *vdev, struct vgpu_reset *reset);

#endif /* VGPU_RESET_PRIV_H */
