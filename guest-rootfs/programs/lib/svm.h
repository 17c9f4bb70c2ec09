/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared virtual memory: attributes, migration, and where its pages are.
 */
#ifndef VG_SVM_H
#define VG_SVM_H

#include <stdint.h>

#include <linux/kfd_ioctl.h>

#include "device.h"

/* At most 16 attributes. @attrs is written back by get. */
int vg_svm_set(struct vg *vg, const void *addr, uint64_t size,
	       const struct kfd_ioctl_svm_attribute *attrs, unsigned int n);
int vg_svm_get(struct vg *vg, const void *addr, uint64_t size,
	       struct kfd_ioctl_svm_attribute *attrs, unsigned int n);
/* One attribute. */
int vg_svm_set1(struct vg *vg, const void *addr, uint64_t size, uint32_t type,
		uint32_t value);
/* @loc: a gpu_id, or 0 for system memory. Migrates before it returns. */
int vg_svm_prefetch(struct vg *vg, const void *addr, uint64_t size,
		    uint32_t loc);
/*
 * Pages of the range that are in device-private memory (in VRAM, as the
 * kernel's pagemap tells it), or -errno.
 */
long vg_pages_in_vram(const void *addr, uint64_t size);

#endif /* VG_SVM_H */
