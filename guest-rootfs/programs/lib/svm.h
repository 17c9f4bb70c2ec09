/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared virtual memory: set and get attributes, migrate ranges, and count the pages that are
 * in VRAM.
 */
#ifndef VG_SVM_H
#define VG_SVM_H

#include <stdint.h>

#include <linux/kfd_ioctl.h>

#include "device.h"

/*
 * Call SET_ATTR or GET_ATTR. vg_svm_get() stores the values in @attrs. The functions return
 * -E2BIG if @n is above 16.
 */
int vg_svm_set(struct vg *vg, const void *addr, uint64_t size,
	       const struct kfd_ioctl_svm_attribute *attrs, unsigned int n);
int vg_svm_get(struct vg *vg, const void *addr, uint64_t size,
	       struct kfd_ioctl_svm_attribute *attrs, unsigned int n);
/* Call SET_ATTR with one attribute. */
int vg_svm_set1(struct vg *vg, const void *addr, uint64_t size, uint32_t type,
		uint32_t value);
/*
 * Migrate the range to @loc, a gpu_id or 0 for system memory, and wait for the
 * migration.
 */
int vg_svm_prefetch(struct vg *vg, const void *addr, uint64_t size,
		    uint32_t loc);
/*
 * Return the number of pages of the range in device-private memory (VRAM), or -errno.
 */
long vg_pages_in_vram(const void *addr, uint64_t size);

#endif /* VG_SVM_H */
