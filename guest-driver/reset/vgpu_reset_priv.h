/* SPDX-License-Identifier: GPL-2.0 */
/* Limit of the resets of a device. No other folder includes this header. */
#ifndef VGPU_RESET_PRIV_H
#define VGPU_RESET_PRIV_H

#include <linux/jiffies.h>
#include <linux/types.h>

/* Device resets in a row, before the device is given up. */
#define VGPU_RESET_TRIES	2u
/*
 * Time after a device reset, in jiffies, after which the next one starts a new row. Longer than it
 * takes to detect a failure (lockup_timeout, 10 s unless changed).
 */
#define VGPU_RESET_CALM		(600 * HZ)

/**
 * struct vgpu_reset_tries - device resets in a row
 * @n: number of resets that were requested; VGPU_RESET_TRIES + 1: the device was given up
 * @last: jiffies at the last one, if @n
 */
struct vgpu_reset_tries {
	unsigned int n;
	unsigned long last;
};

bool vgpu_reset_tries_next(struct vgpu_reset_tries *tries, unsigned long now);

#endif /* VGPU_RESET_PRIV_H */
