// SPDX-License-Identifier: GPL-2.0
/*
 * Allocates PASIDs. A process has the same PASID on every device, so there is one allocator
 * for all devices. PASID 0 belongs to the kernel.
 */
#include <linux/atomic.h>
#include <linux/idr.h>
#include <kunit/visibility.h>

#include "kfd_pasid.h"

#define PASID_MAX	0xffff

static DEFINE_IDA(kfd_pasids);
static atomic_t kfd_pasids_used = ATOMIC_INIT(0);

/**
 * kfd_pasid_alloc() - allocate a PASID
 *
 * Context: sleeps.
 *
 * Return: 1 to 0xffff; -ENOSPC if all are in use; -ENOMEM.
 */
int kfd_pasid_alloc(void)
{
	int pasid = ida_alloc_range(&kfd_pasids, 1, PASID_MAX, GFP_KERNEL);

	if (pasid > 0)
		atomic_inc(&kfd_pasids_used);
	return pasid;
}
EXPORT_SYMBOL_IF_KUNIT(kfd_pasid_alloc);

/**
 * kfd_pasid_free() - free a PASID
 * @pasid: from kfd_pasid_alloc(); the caller has removed it from all VMIDs
 *
 * Context: any.
 */
void kfd_pasid_free(u16 pasid)
{
	ida_free(&kfd_pasids, pasid);
	atomic_dec(&kfd_pasids_used);
}
EXPORT_SYMBOL_IF_KUNIT(kfd_pasid_free);

/**
 * kfd_pasids_in_use() - count the PASIDs in use
 *
 * Context: any.
 *
 * Return: number of PASIDs of processes and of render-node files, on all devices.
 */
unsigned int kfd_pasids_in_use(void)
{
	return atomic_read(&kfd_pasids_used);
}
