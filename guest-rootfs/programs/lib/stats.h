/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What sysfs and debugfs report of a GPU, its reset and devcoredump, and the bytes
 * that user queues were asked to move.
 */
#ifndef VG_STATS_H
#define VG_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device.h"

/**
 * struct vg_mem_info - what sysfs says about a GPU's memory, in bytes
 */
struct vg_mem_info {
	uint64_t vram_total, vram_used, gtt_total, gtt_used;
};

int vg_mem_info(const struct vg_gpu *gpu, struct vg_mem_info *info);
/*
 * Waits until usage is back at (or below) @base: freeing is asynchronous.
 * 0 or -ETIMEDOUT.
 */
int vg_mem_settle(const struct vg_gpu *gpu, const struct vg_mem_info *base,
		  unsigned int timeout_ms);

#define VG_MAX_COUNTERS 48

/**
 * struct vg_counters - `name value` lines of a debugfs file
 */
struct vg_counters {
	int n;
	struct {
		char name[32];
		uint64_t value;
	} c[VG_MAX_COUNTERS];
};

/* The driver's own counts. */
int vg_driver_counters(const struct vg_gpu *gpu, struct vg_counters *c);
/* What the device itself counted (model block). */
int vg_device_counters(const struct vg_gpu *gpu, struct vg_counters *c);
/* VMIDs, PASIDs, doorbells, processes that there are now (vgpu_in_use). */
int vg_in_use(const struct vg_gpu *gpu, struct vg_counters *c);
/* Value of @name; *found (may be NULL) says whether it is there. */
uint64_t vg_counter(const struct vg_counters *c, const char *name, bool *found);

/*
 * Retry-fault entries that the driver has taken from the interrupt ring and not
 * acknowledged yet, in *@open. 0 while no queue faults; negative after the
 * driver has acknowledged slots without an entry (ring overflow, GART recovery).
 * 0, -ENOENT without these counters, or another -errno.
 */
int vg_faults_open(const struct vg_gpu *gpu, int64_t *open);

/* Wait until at most @most are open. 0, -ETIMEDOUT, or as vg_faults_open(). */
int vg_faults_settle(const struct vg_gpu *gpu, int64_t most,
		     unsigned int timeout_ms);

/* Resets the device, as an operator would: amdgpu_gpu_recover in debugfs. */
int vg_gpu_reset(const struct vg_gpu *gpu);

/*
 * Read the devcoredump that appears within @timeout_ms and remove it. The kernel
 * removes a dump in a worker and drops further dumps of the device until then, so
 * the function waits for the removal. 0 (@text is empty without a dump) or
 * -ETIMEDOUT.
 */
int vg_dump_take(char *text, size_t size, unsigned int timeout_ms);

/**
 * struct vg_tally - payload bytes that user queues were asked to move
 */
struct vg_tally {
	uint64_t bytes_copied, bytes_filled;
};

/*
 * Where vg_emit_copy() and vg_emit_fill() count. Shared with children that
 * are forked after its first call. Never NULL.
 */
struct vg_tally *vg_tally(void);

#endif /* VG_STATS_H */
