/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Read a GPU's counters and memory usage in sysfs and debugfs, reset the GPU, take its devcoredump,
 * and count the bytes that the packets of user queues copy and fill.
 */
#ifndef VG_STATS_H
#define VG_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device.h"

/**
 * struct vg_mem_info - size and usage of a GPU's memory in bytes, from mem_info_* in sysfs
 */
struct vg_mem_info {
	uint64_t vram_total, vram_used, gtt_total, gtt_used;
};

int vg_mem_info(const struct vg_gpu *gpu, struct vg_mem_info *info);
/*
 * The driver frees memory asynchronously. Wait until the memory in use is at most that of @base.
 * Return 0, -ETIMEDOUT, or an error of vg_mem_info().
 */
int vg_mem_wait_freed(const struct vg_gpu *gpu, const struct vg_mem_info *base,
		      unsigned int timeout_ms);

#define VG_MAX_COUNTERS 48

/**
 * struct vg_counters - `name value` lines of a debugfs file
 * @n: number of lines
 * @c: the lines
 */
struct vg_counters {
	int n;
	struct {
		char name[32];
		uint64_t value;
	} c[VG_MAX_COUNTERS];
};

/* Read the counters of the driver (vgpu_counters). */
int vg_driver_counters(const struct vg_gpu *gpu, struct vg_counters *c);
/*
 * Read the counters that the device keeps (vgpu_device_counters, include/vgpu/device_info.h).
 */
int vg_device_counters(const struct vg_gpu *gpu, struct vg_counters *c);
/* Read the numbers of VMIDs, PASIDs, doorbells and processes in use (vgpu_in_use). */
int vg_in_use(const struct vg_gpu *gpu, struct vg_counters *c);
/*
 * Return the value of the line @name, or 0 if the line does not exist. Unless @found is NULL, set
 * *@found to true if the line exists, otherwise to false.
 */
uint64_t vg_counter(const struct vg_counters *c, const char *name, bool *found);

/*
 * Store the number of unacknowledged retry faults (faults_retry - cam_acks) in *@open. After a ring
 * overflow or a GART recovery, the number can be negative: the driver then acknowledges faults that
 * faults_retry does not count. Return 0 or -errno (-ENOENT if there are no such counters).
 */
int vg_faults_open(const struct vg_gpu *gpu, int64_t *open);

/*
 * Wait until the number of unacknowledged retry faults (vg_faults_open()) is @most or less. Return
 * 0, -ETIMEDOUT, or an error of vg_faults_open().
 */
int vg_faults_wait_acked(const struct vg_gpu *gpu, int64_t most,
			 unsigned int timeout_ms);

/*
 * Reset the device through amdgpu_gpu_recover in debugfs. Return the result of the reset,
 * which the file reports, or -errno if the file cannot be read.
 */
int vg_gpu_reset(const struct vg_gpu *gpu);

/*
 * Read a devcoredump into @text and remove the dump. If no dump appears within @timeout_ms, @text
 * becomes empty. Return -ETIMEDOUT if the kernel does not remove the dump in time, otherwise 0.
 */
int vg_dump_take(char *text, size_t size, unsigned int timeout_ms);

/**
 * struct vg_tally - number of bytes that this library's packets copy and fill
 * @bytes_copied: bytes of vg_emit_copy()
 * @bytes_filled: bytes of vg_emit_fill()
 */
struct vg_tally {
	uint64_t bytes_copied, bytes_filled;
};

/*
 * Return the byte sums of vg_emit_copy() and vg_emit_fill(), never NULL. Children that are forked
 * after the first vg_tally() share these sums.
 */
struct vg_tally *vg_tally(void);

#endif /* VG_STATS_H */
