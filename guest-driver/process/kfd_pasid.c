// SPDX-License-Identifier: GPL-2.0
/*
 * PASIDs: a process has the same one on every device, so they are handed out
 * for all devices together. 0 means the kernel.
 */
#include <linux/atomic.h>
#include <linux/idr.h>
#include <kunit/visibility.h>

#include "kfd_pasid.h"

#define PASID_MAX	0xffff

static DEFINE_IDA(kfd_pasids);
static atomic_t kfd_pasids_used = ATOMIC_INIT(0);

/**
 * kfd_pasid_alloc() - a PASID that nobody has
 *
 * Return: 1 to 0xffff, or -ENOSPC, -ENOMEM.
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
 * kfd_pasid_free() - give a PASID back
 * @pasid: from kfd_pasid_alloc(); no VMID has it any more
 */
void kfd_pasid_free(u16 pasid)
{
	ida_free(&kfd_pasids, pasid);
	atomic_dec(&kfd_pasids_used);
}
EXPORT_SYMBOL_IF_KUNIT(kfd_pasid_free);

/**
 * kfd_pasids_in_use() - how many there are
 *
 * Return: PASIDs of processes and of render-node files, of all devices.
 */
unsigned int kfd_pasids_in_use(void)
{
	return atomic_read(&kfd_pasids_used);
}
