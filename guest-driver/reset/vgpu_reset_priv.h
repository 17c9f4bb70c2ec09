/* SPDX-License-Identifier: GPL-2.0 */
/* Limits how often a device is reset. No other folder includes this header. */
#ifndef VGPU_RESET_PRIV_H
#define VGPU_RESET_PRIV_H

#include <linux/jiffies.h>
#include <linux/types.h>

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

bool vgpu_reset_tries_next(struct vgpu_reset_tries *tries, unsigned long now);

#endif /* VGPU_RESET_PRIV_H */
